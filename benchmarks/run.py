"""Run the benchmark: `python -m benchmarks.run [PATTERN ...]`.

For each instance the tools take turns, each job in a process of its own, so that a busy moment of
the machine hits all of them. A run over the cap is stopped and counts as not finished. Storm's
exact engine is tried with several equation solvers once; the fastest one is then repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.suite import SUITE

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "benchmarks" / "README.md"
MARKS = "<!-- table: begin -->", "<!-- table: end -->"
EXACT_SOLVERS = ("storm-exact", "storm-exact-elimination", "storm-exact-eigen")
RUN_LONG = 20.0


@dataclass(frozen=True)
class Run:
    """One finished job: seconds inside the process, of the whole process, and its peak memory."""

    seconds: float
    whole: float
    peak_mib: float
    answer: str


@dataclass
class Series:
    """All runs of one tool on one instance; `problem` says why there are none."""

    runs: list[Run] = field(default_factory=list)
    problem: str | None = None

    @property
    def median(self) -> float | None:
        """The median of the seconds inside the process."""
        return statistics.median(run.seconds for run in self.runs) if self.runs else None


def main() -> None:
    """Run what the command line asks for and print, or write, the table."""
    arguments = parsed_arguments()
    names = [n for n in SUITE if any(fnmatchcase(n, p) for p in arguments.patterns or ["*"])]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            series = measured(name, Path(folder), arguments)
            rows.append(table_row(name, series, arguments.cap))
            print(rows[-1], flush=True)
    table = "\n".join([*HEADER, *rows])
    if arguments.write:
        write_table(f"{machine()}, cap {arguments.cap:g} s:\n\n{table}")


def parsed_arguments() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, `*` matches all")
    parser.add_argument("--repeat", type=int, default=5, help="runs of jobs under 20 s (5)")
    parser.add_argument("--cap", type=float, default=300.0, help="seconds a job may take (300)")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    tools = "dpcheck,storm-exact,storm-float,storm-sound"
    parser.add_argument("--tools", default=tools, help=f"which tools take part ({tools})")
    return parser.parse_args()


def measured(name: str, folder: Path, arguments: argparse.Namespace) -> dict[str, Series]:
    """Return the runs of every tool on an instance; checks that all answers agree."""
    instance = SUITE[name]()
    (folder / f"{name}.dpm").write_text(instance.dpm)
    (folder / f"{name}.prism").write_text(instance.prism)
    chosen = {tool: tool for tool in arguments.tools.split(",")}
    found = {tool: Series() for tool in chosen}
    if "storm-exact" in chosen:
        chosen["storm-exact"], found["storm-exact"] = best_exact(name, folder, arguments.cap)
    for _ in range(arguments.repeat):
        for tool, series in found.items():
            if needs_more(series, arguments.repeat):
                add_run(series, chosen[tool], name, folder, arguments.cap)
    answers = {run.answer for series in found.values() for run in series.runs}
    if len(answers) > 1:
        print(f"{name}: the answers differ: {sorted(answers)}", file=sys.stderr)
    return found


def best_exact(name: str, folder: Path, cap: float) -> tuple[str, Series]:
    """Return the exact solver of Storm that is fastest on an instance, with its first run."""
    tried = {}
    for tool in EXACT_SOLVERS:
        series = tried[tool] = Series()
        best = min((s.median for s in tried.values() if s.median is not None), default=None)
        # A solver that takes longer than the best one so far need not finish.
        add_run(series, tool, name, folder, cap if best is None else min(cap, best + 2))
    finished = {t: s for t, s in tried.items() if s.median is not None}
    if not finished:
        return EXACT_SOLVERS[0], tried[EXACT_SOLVERS[0]]
    best_tool = min(finished, key=lambda tool: finished[tool].median or 0.0)
    return best_tool, finished[best_tool]


def needs_more(series: Series, repeat: int) -> bool:
    """Tell whether a series goes on: short jobs are repeated, long and failed ones are not."""
    if series.problem is not None or len(series.runs) >= repeat:
        return False
    return not series.runs or series.runs[0].seconds < RUN_LONG


def add_run(series: Series, tool: str, name: str, folder: Path, cap: float) -> None:
    """Run one job and add what it took, or what went wrong."""
    command = [sys.executable, "-m", "benchmarks.job", tool, name, str(folder)]
    start = time.perf_counter()
    job = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        output, errors = job.communicate(timeout=cap + 20)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()
        series.problem = f"> {cap:g}"
        return
    whole = time.perf_counter() - start
    lines = output.decode().splitlines()
    if job.returncode or not lines:
        reason = "memory" if b"bad_alloc" in errors or b"MemoryError" in errors else "failed"
        series.problem = reason
        print(f"{name}: {tool} {reason}: {errors.decode()[-300:]}", file=sys.stderr)
        return
    record = json.loads(lines[-1])
    if record["seconds"] > cap:
        series.problem = f"> {cap:g}"
        return
    series.runs.append(Run(record["seconds"], whole, record["peak_mib"], record["answer"]))


# --- the table -----------------------------------------------------------------------------

COLUMNS = (
    *("job", "dpcheck s", "MiB", "Storm exact s", "ratio", "MiB", "Storm float s", "ratio"),
    *("Storm sound s", "whole process: dpcheck, float"),
)
HEADER = (f"| {' | '.join(COLUMNS)} |", "|---|" + "--:|" * (len(COLUMNS) - 1))


def table_row(name: str, found: dict[str, Series], cap: float) -> str:
    """Return one line: medians, and ratios of the runs side by side with their spread."""
    nothing = Series(problem="not run")
    ours, exact = found.get("dpcheck", nothing), found.get("storm-exact", nothing)
    floats, sound = found.get("storm-float", nothing), found.get("storm-sound", nothing)
    cells = [
        name,
        seconds_text(ours),
        memory_text(ours),
        seconds_text(exact),
        ratio_text(exact, ours, cap),
        memory_text(exact),
        seconds_text(floats),
        ratio_text(floats, ours, cap),
        seconds_text(sound),
        f"{whole_text(ours)}, {whole_text(floats)}",
    ]
    return f"| {' | '.join(cells)} |"


def seconds_text(series: Series) -> str:
    """Return the median, marked where it is of fewer than five runs."""
    if series.median is None:
        return series.problem or "-"
    return f"{series.median:.3g}" + ("" if len(series.runs) >= 5 else f" ({len(series.runs)})")


def memory_text(series: Series) -> str:
    """Return the largest peak memory in MiB."""
    return f"{max(run.peak_mib for run in series.runs):.0f}" if series.runs else "-"


def whole_text(series: Series) -> str:
    """Return the median of whole processes, interpreter and imports included."""
    return f"{statistics.median(run.whole for run in series.runs):.3g}" if series.runs else "-"


def ratio_text(theirs: Series, ours: Series, cap: float) -> str:
    """Return how many times longer the other tool takes: median [least .. most]."""
    if ours.median is None:
        return "-"
    if theirs.median is None:
        return f"> {cap / ours.median:.3g}" if theirs.problem == f"> {cap:g}" else "-"
    ratios = [
        a.seconds / b.seconds
        for a, b in zip(theirs.runs, ours.runs[: len(theirs.runs)], strict=False)
    ]
    middle = theirs.median / ours.median
    return f"{middle:.3g} [{min(ratios):.2g} .. {max(ratios):.2g}]"


def machine() -> str:
    """Return what made the table: processor count, memory and versions."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(
        f"{name} {installed(name)}" for name in ("stormpy", "numpy", "python-flint")
    )
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {pages:.0f} GiB, "
        f"Python {platform.python_version()}, {versions}"
    )


def installed(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def write_table(text: str) -> None:
    """Replace the table between the marks of README.md."""
    before, _, rest = README.read_text().partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    README.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
