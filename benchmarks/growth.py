"""Mechanisms with millions of inputs, in blocks and slices and at once: CPU, wall time and memory.

    python -m benchmarks.growth [NAME ...] [--ways WAY ...]

Every job is `dpcheck check` in a process of its own, with at most 8 GB: as it is, with two
processes, slice by slice with all rows held (without `parted.MANY_INPUTS`), and with all inputs
explored at once (nor `visible.MANY_INPUTS`). Memory is that of the largest process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.families.maximum import noisy_max

WITHOUT = """
import sys
from dpcheck.explore import parted
from dpcheck.explore.runs import visible
way = sys.argv.pop(1)
if way in ("slices", "at once"):
    parted.MANY_INPUTS = 10**18
if way == "at once":
    visible.MANY_INPUTS = 10**18
from dpcheck.__main__ import main
main()
"""
LIMITS = ["--max-memory", "8G", "--max-states", "100000000", "--timeout", "0", "--no-cache"]
WAYS = {"blocks": [], "two processes": ["--jobs", "2"], "slices": [], "at once": []}


def _maximum(m: int, bound: int) -> str:
    """Return noisy max of m counts in 0..bound, and a claim that holds with nothing to spare."""
    return noisy_max(m, bound).model + "check m: epsilon = ln 2\n"


JOBS = {
    "noisy max 4x20": (21**4, _maximum(4, 20)),
    "noisy max 6x10": (11**6, _maximum(6, 10)),
    "noisy max 5x20": (21**5, _maximum(5, 20)),
    "noisy max 5x30": (31**5, _maximum(5, 30)),
}


def measured(model: str, way: str) -> str:
    """Return CPU and wall seconds and GB of a check, and what became of it, as cells of a table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.dpm"
        path.write_text(model, "utf-8")
        call = ["check", str(path), "-q", *LIMITS, *WAYS[way]]
        began = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-c", WITHOUT, way, *call], stdout=subprocess.DEVNULL
        ) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = status
    seconds, elapsed = used.ru_utime + used.ru_stime, time.monotonic() - began
    ends = {0: "", 1: " violated", 3: " undecided"}
    end = ends[os.waitstatus_to_exitcode(status)]
    return f"{seconds:.1f}{end} | {elapsed:.1f} | {used.ru_maxrss / 2**20:.2f}"


def main() -> None:
    """Print the table as Markdown."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*")
    options.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    given = options.parse_args()
    print("| job | inputs | way | CPU s | wall s | GB |")
    print("|---|--:|---|--:|--:|--:|")
    for name, (n_inputs, model) in JOBS.items():
        if given.names and not any(each in name for each in given.names):
            continue
        for way in given.ways:
            print(f"| {name} | {n_inputs:,} | {way} | {measured(model, way)} |", flush=True)


if __name__ == "__main__":
    main()
