"""Claims for all values of a parameter against the same claim at one rational value: CPU seconds.

    python -m benchmarks.all_values

Each job runs in a process of its own, from the text of the model to the answer.
"""

from __future__ import annotations

import resource
import subprocess
import sys

MODEL = """
mechanism above_threshold(k, n) {
  input  q[1..k] in 0..n
  public t in 0..n
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, alpha^2) clamped 0..n
  for i in 1..k {
    noisy_q ~ geometric(q[i], alpha) clamped 0..n
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
mechanism count(n) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  y ~ geometric(x, alpha) clamped 0..n
  output y
}
"""
CLAIMS = (
    "check above_threshold(k = 3, n = 5): dp(-3 * ln alpha)",
    "check above_threshold(k = 4, n = 5): dp(-4 * ln alpha)",
    "refute above_threshold(k = 4, n = 5): dp(-3 * ln alpha)",
    "check above_threshold(k = 5, n = 4): dp(-5 * ln alpha)",
    "check count(n = 50): dp(-ln alpha)",
    "check count(n = 200): dp(-ln alpha)",
)
HEADS = ("param alpha in (0, 1)", "const alpha = 1/3")


def seconds(head: str, claim: str) -> float:
    """Return the CPU time of a check, [s], the start of the process included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "dpcheck", "check", "-", "-q"]
    subprocess.run(command, input=f"{head}\n{MODEL}\n{claim}\n".encode(), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one row a claim."""
    sys.stdout.write("| claim | all values | alpha = 1/3 | ratio |\n|---|---|---|---|\n")
    for claim in CLAIMS:
        general, single = (seconds(head, claim) for head in HEADS)
        sys.stdout.write(f"| `{claim}` | {general:.2f} | {single:.2f} | {general / single:.1f} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
