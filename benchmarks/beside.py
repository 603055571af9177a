"""Two builds side by side: `python -m benchmarks.beside OTHER [NAME ...]`.

OTHER is a checkout of another build. Each job is done by both, in turns, every run in a process of
its own; what is compared is CPU time, user and system, children included. *In process* is the job
alone, as `benchmarks.job` times it, without collections of garbage; *whole process* is
`python -m dpcheck check FILE`, with all it does. A ratio is the median of the ratios of two runs
side by side: above 1 this build takes longer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.job import write_models
from benchmarks.processes import ROOT
from benchmarks.suite import SMALL, SUITE

NAMES = [
    "geometric-200",
    "above-threshold-20x20",
    "above-threshold-forever-20",
    "above-threshold-release-20",
    "randomized-response-10",
    "response-count-1000",
    "noisy-max-4x10",
    "ruin-1-2-1000",
    "ruin-2-5-1000",
    "grid-50x50",
    "bernoulli-sampler-1001",
    "laplace-sampler-50",
    "deep-100000",
    "wide-1000000",
    "layered-100000x10",
    "exactdp-response-2",
    "above-threshold-list-4x2",
]

JOB = """
import gc, os, runpy
gc.disable()
os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    from dpcheck.cli.memory import keep_memory
except ImportError:
    pass  # another build
else:
    keep_memory()
runpy.run_module("benchmarks.job", run_name="__main__")
"""
"""A job with what the command sets, but for garbage: a collection takes as long as a short job, and
where it falls depends on how many objects there were before, those of imports included (grid-50x50
was 0.04 or 0.08 s). Threads of BLAS turn for 20 ms of CPU time after numpy is loaded.
"""


def main() -> None:
    """Print a row of a table for each job."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.beside",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("other", type=Path, metavar="OTHER")
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--repeat", type=int, default=7, help="pairs of runs (7)")
    given = parser.parse_args()
    print(
        "| job | in process: other s | this s | ratio | whole process: other s | this s | ratio |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in given.names:
            write_models({**SUITE, **SMALL}[name](), Path(folder))
            cells = [*compared(given.other.resolve(), name, folder, given.repeat)]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def compared(other: Path, name: str, folder: str, repeat: int) -> list[str]:
    """Return the cells of a row: median seconds of both builds and the ratio, for both ways."""
    cells = []
    for seconds in (job_seconds, whole_seconds):
        pairs = []
        for turn in range(repeat + 1):
            order = (other, ROOT) if turn % 2 else (ROOT, other)
            taken = {build: seconds(build, name, folder) for build in order}
            pairs.append((taken[other], taken[ROOT]))
        del pairs[0]  # it may have compiled modules
        cells += [f"{median(column):.3g}" for column in zip(*pairs, strict=True)]
        cells.append(f"{median(this / before for before, this in pairs):.2f}")
    return cells


def job_seconds(build: Path, name: str, folder: str) -> float:
    """Return the CPU seconds of a job without imports."""
    output, _ = run(build, ["-c", JOB, "dpcheck", name, folder])
    return float(json.loads(output.splitlines()[-1])["cpu"])


def whole_seconds(build: Path, name: str, folder: str) -> float:
    """Return the CPU seconds of a whole process that does a job."""
    return run(build, ["-m", "dpcheck", "check", f"{folder}/{name}.dpm"])[1]


def run(build: Path, arguments: list[str]) -> tuple[bytes, float]:
    """Return what Python prints in a checkout, and its CPU seconds."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["XDG_CACHE_HOME"] = os.devnull  # what is timed is done, not looked up
    environment |= {"PYTHONPATH": str(build), "XDG_CACHE_HOME": os.devnull}  # no result is kept
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=build,
        env=environment,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None, "it is piped"
    output = process.stdout.read()
    _, process.returncode, used = os.wait4(process.pid, 0)
    process.stdout.close()
    return output, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
