"""The comparisons of DiPC with noise on all integers: a row a claim, beside DiPC's own times.

    python -m benchmarks.dipc

The model is checked three times, each time by a process of its own; seconds are medians of what a
claim took. DiPC decides another problem, continuous Laplace noise, and its times are published ones
of its authors' machine: a row says both problems, and `-` where DiPC publishes no time for its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MODEL = Path(__file__).with_name("dipc_unbounded.dpm")
RUNS = 3

SVT1 = "threshold 2/ε, queries 4/ε"
SVT4 = "threshold 4/ε, queries 4/(3ε)"
SVT6 = "threshold and queries 2/ε"
ARGMAX = "counts 2/ε"
PUBLISHED = {
    "algorithm 1 (above threshold), 1 answer": (SVT1, 17),
    "algorithm 1, 2 answers": (SVT1, 116),
    "algorithm 1, 3 answers": (SVT1, 851),
    "algorithm 1, 4 answers": (SVT1, 4648),
    "algorithm 1, 5 answers": (SVT1, None),
    "algorithm 1 without its limit, 5 answers": (None, None),
    "algorithm 4, 2 answers": (SVT4, 63),
    "algorithm 4, 3 answers": (SVT4, 294),
    "algorithm 6 (no limit), 2 answers": (SVT6, None),
    "algorithm 6, 3 answers": (SVT6, 680),
    "noisy argmax of 3": (ARGMAX, 211),
    "noisy argmax of 4": (ARGMAX, None),
    "noisy argmax of 5": (ARGMAX, None),
    "noisy argmax of 6": (ARGMAX, None),
}
"""The scales of DiPC's Laplace noise, for ε-privacy, and its seconds, by our claims' names."""

NOISE = {
    SVT1: "threshold α², queries α",
    SVT4: "threshold α, queries α³",
    SVT6: "threshold and queries α",
    ARGMAX: "counts α",
    None: "threshold α², queries α",
}
HEAD = """\
| claim | noise on ℤ, ratios | budget | α | verdict | states | neighbor pairs | dpcheck [s] \
| DiPC's problem: Laplace noise on ℝ, scales, ε-private | DiPC [s] |
|---|---|---|---|---|--:|--:|--:|---|--:|
"""


def checked() -> list[Mapping[str, Any]]:
    """Return the results of all claims of the model, by a process of its own."""
    command = [sys.executable, "-m", "dpcheck", "check", MODEL, "--no-cache", "--format", "json"]
    done = subprocess.run(command, check=True, capture_output=True)
    results: list[Mapping[str, Any]] = json.loads(done.stdout)["results"]
    return results


def row(result: Mapping[str, Any], seconds: float) -> str:
    """Return the line of the table for a claim."""
    scales, theirs = PUBLISHED[result["name"]]
    exponent = result["claim"].removeprefix("dp(-").partition(" ")[0]
    cells = (
        result["name"],
        NOISE[scales],
        f"`{result['claim']}`",
        f"e^(-ε/{exponent})",
        result["verdict"],
        f"{result['states']:,}",
        f"{result['neighbor_pairs']:,}",
        f"{seconds:.2g}",
        "none: it is not in their list" if scales is None else scales,
        "-" if theirs is None else f"{theirs:,}",
    )
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Print the table."""
    sys.stdout.write(HEAD)
    for same in zip(*(checked() for _ in range(RUNS)), strict=True):
        sys.stdout.write(row(same[0], statistics.median(result["seconds"] for result in same)))


if __name__ == "__main__":
    main()
