"""Noise written with e beside noise with a rational ratio: whole jobs, CPU seconds and memory.

    python -m benchmarks.exponentials [NAME ...]

Every job is one model with a constant `a`: once 1/2, once exp(-1/2), each in a process of its own
(`dpcheck check`, the median of three runs). The quotient of the two is to stay below 3; that of a
thousand runs below 4.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RATIONAL, EXPONENTIAL = "1/2", "exp(-1/2)"


def _mechanism(name: str, domain: str, adjacent: str, body: str) -> str:
    """Return a mechanism with one input (an array `name[1..K]`), and the constant `a`."""
    return (
        f"const a = 1/2\nmechanism m {{ input {name} in {domain} adjacent {adjacent}\n{body}\n}}\n"
    )


GEOMETRIC = _mechanism(
    "x", "0..N", "abs(x - x') <= 1", "y ~ geometric(x, a) clamped 0..N\noutput y"
)

THRESHOLD = _mechanism(
    "q[1..K]",
    "0..N",
    "linf(q, q') <= 1",
    """
  t ~ geometric(N div 2, a) clamped 0..N
  for i in 1..K {
    y ~ geometric(q[i], a) clamped 0..N
    if y >= t { output top; stop }
    output bot
  }
""",
)

NOISY_MAX = _mechanism(
    "x[1..K]",
    "0..N",
    "linf(x, x') <= 1",
    """
  best := 0
  var most in 0..N := 0
  for i in 1..K {
    y ~ geometric(x[i], a) clamped 0..N
    if best = 0 | y > most { best := i; most := y }
  }
  output best
""",
)

RESPONSE = _mechanism(
    "x[1..K]",
    "0..1",
    "hamming(x, x') <= 1",
    "for i in 1..K { y ~ bernoulli(if x[i] = 1 then 1/(1 + a) else a/(1 + a)); output y }",
)

HISTOGRAM = _mechanism(
    "h[1..K]",
    "0..N",
    "l1(h, h') <= 1",
    "for i in 1..K { y ~ geometric(h[i], a) clamped 0..N\n output y }",
)

CHOICE = _mechanism(
    "s[1..K]",
    "0..N",
    "linf(s, s') <= 1",
    "y ~ {r: a^(N - s[r]) for r in 1..K} normalized\noutput y",
)

MEDIAN = _mechanism(
    "r[1..K]",
    "0..N",
    "hamming(r, r') <= 1",
    """
  y ~ {v: a^abs(count(i in 1..K : r[i] < v) - count(i in 1..K : r[i] > v)) for v in 0..N}
      normalized
  output y
""",
)


def _model(text: str, claims: str, **sizes: int) -> str:
    for name, size in sizes.items():
        text = text.replace(f" {name} ", f" {size} ")
        for before in ("..", "- ", ", ", "^("):
            text = text.replace(f"{before}{name}", f"{before}{size}")
        text = text.replace(f"({name} div", f"({size} div")
    return text + claims


EVENTS = "compute m: epsilon\ncompute m: delta(1/4)\ncheck m: dp(20)\n"

JOBS = {
    "geometric 0..300": _model(GEOMETRIC, EVENTS, N=300),
    "geometric 0..1000": _model(GEOMETRIC, "compute m: epsilon\n", N=1000),
    "above threshold 4 x 0..6": _model(THRESHOLD, EVENTS, K=4, N=6),
    "noisy max 3 x 0..8": _model(NOISY_MAX, EVENTS, K=3, N=8),
    "randomized response 8": _model(RESPONSE, EVENTS, K=8),
    "histogram 4 x 0..3": _model(HISTOGRAM, EVENTS, K=4, N=3),
    "exponential mechanism 4 x 0..8": _model(CHOICE, EVENTS, K=4, N=8),
    "median of 5 of 0..10": _model(MEDIAN, "compute m: epsilon\n", K=5, N=10),
    "a thousand runs": _model(GEOMETRIC, "compute compose(m, 1000): epsilon(1/10^6)\n", N=10),
    "P and D, nested": _model(
        THRESHOLD,
        "check m: P>0 [ F top ]\ncheck m: P>=1/2 [ F top ] => P>=1/4 [ X X true ]\n"
        "check m: D{20} [ X (bot & D{20} [ X top ]) ]\n",
        K=4,
        N=4,
    ),
    "profile and losses": _model(
        GEOMETRIC, "compute m: profile\ncompute m: losses\ncompute m: tradeoff\n", N=40
    ),
    "renyi and zcdp": _model(GEOMETRIC, "compute m: renyi(2)\ncompute m: zcdp\n", N=40),
    "randomized response 14, by prefixes": _model(
        RESPONSE.replace("hamming(x, x') <= 1", "all")
        .replace("x[1..K] in 0..1", "b in 0..1")
        .replace("x[i]", "b"),
        "compute m: epsilon\ncompute m: delta(1)\n",
        K=14,
    ),
}


def measured(model: str, ratio: str) -> tuple[float, float, bool]:
    """Return CPU seconds and MiB of a check, and whether all was decided."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dpm"
        path.write_text(model, "utf-8")
        command = [sys.executable, "-m", "dpcheck", "check", str(path), "-q", "-D", f"a={ratio}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = status
    seconds = used.ru_utime + used.ru_stime
    return seconds, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status) in (0, 1)


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*")
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    print("| job | rational s | MiB | exp s | MiB | CPU | memory |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, model in JOBS.items():
        if given.names and not any(each in name for each in given.names):
            continue
        found = [
            [measured(model, ratio) for ratio in (RATIONAL, EXPONENTIAL)] for _ in range(given.runs)
        ]
        cells = []
        for side in (0, 1):
            seconds = statistics.median(run[side][0] for run in found)
            memory = max(run[side][1] for run in found)
            is_decided = all(run[side][2] for run in found)
            cells += [f"{seconds:.2f}" + ("" if is_decided else " undecided"), f"{memory:.0f}"]
        quotients = [run[1][0] / run[0][0] for run in found]
        more = [max(run[1][1] for run in found) / max(run[0][1] for run in found)]
        row = [name, *cells, f"{statistics.median(quotients):.2f}", f"{more[0]:.2f}"]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
