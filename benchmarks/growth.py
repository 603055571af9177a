"""Mechanisms with millions of inputs, with slices and all at once: CPU seconds and memory.

    python -m benchmarks.growth [NAME ...]

Every job is `dpcheck check` in a process of its own, with at most 8 GB, as it is and with all
inputs explored at once (`visible.MANY_INPUTS`), in turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.families.maximum import noisy_max

AT_ONCE = """
import sys
from dpcheck.explore.runs import visible
if sys.argv.pop(1) == "at once":
    visible.MANY_INPUTS = 10**18
from dpcheck.__main__ import main
main()
"""
LIMITS = ["--max-memory", "8G", "--max-states", "100000000", "--timeout", "0", "--no-cache"]


def _maximum(m: int, bound: int) -> str:
    """Return noisy max of m counts in 0..bound, and a claim that holds with nothing to spare."""
    return noisy_max(m, bound).model + "check m: epsilon = ln 2\n"


JOBS = {
    "noisy max 4x20": (21**4, _maximum(4, 20)),
    "noisy max 6x10": (11**6, _maximum(6, 10)),
    "noisy max 5x20": (21**5, _maximum(5, 20)),
}


def measured(model: str, way: str) -> tuple[float, float, str]:
    """Return CPU seconds and GB of a check, and what became of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dpm"
        path.write_text(model, "utf-8")
        command = [sys.executable, "-c", AT_ONCE, way, "check", str(path), "-q", *LIMITS]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = status
    seconds = used.ru_utime + used.ru_stime
    ends = {0: "", 1: " violated", 3: " undecided"}
    return seconds, used.ru_maxrss / 2**20, ends[os.waitstatus_to_exitcode(status)]


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*")
    given = options.parse_args()
    print("| job | inputs | slices s | GB | at once s | GB |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, (n_inputs, model) in JOBS.items():
        if given.names and not any(each in name for each in given.names):
            continue
        cells = [name, f"{n_inputs:,}"]
        for way in ("in slices", "at once"):
            seconds, memory, end = measured(model, way)
            cells += [f"{seconds:.1f}{end}", f"{memory:.2f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
