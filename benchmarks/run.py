"""Run the benchmark: `python -m benchmarks.run [PATTERN ...]`.

For each job the tools take turns, every run in a process of its own, so that a busy moment of the
machine hits all of them. Storm has several ways to do a job; each is tried once, the fastest one is
then repeated. A run over the cap is stopped and counts as not finished. Rows are printed as they
come; with `--write` the table in README.md is rewritten after every job, so that an interrupted run
keeps what it has. With `--keep FILE` it can be continued: the jobs in the file are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.instances import Instance
from benchmarks.job import write_models
from benchmarks.suite import SMALL, SUITE
from benchmarks.table import Run, Series, Timing, machine, printed_table, replace_table, row

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "benchmarks" / "README.md"
RUN_LONG = 20.0

WAYS: dict[str, tuple[str, ...]] = {
    "dpcheck": ("dpcheck",),
    "storm-exact": (
        *("storm-exact-acyclic", "storm-exact-elimination", "storm-exact-eigen", "storm-exact"),
    ),
    "storm-sound": ("storm-sound",),
    "storm-exact-forward": ("storm-exact-forward",),
    "storm-sound-forward": ("storm-sound-forward",),
}
FOR_CYCLES = ("storm-exact-elimination", "storm-exact-eigen")


@dataclass
class Options:
    """What the command line asks for."""

    patterns: list[str]
    repeat: int
    cap: float
    total: float
    is_written: bool
    tools: list[str]
    kept: Path | None


def main() -> None:
    """Run what the command line asks for; print, and write, the table as far as it came."""
    options = parsed_options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # no job outlives its runner
    known = {**SUITE, **SMALL}
    names = [
        name
        for name in known
        if any(fnmatchcase(name, pattern) for pattern in options.patterns or ["*"])
        and (name in SUITE or options.patterns)
    ]
    timings = kept_timings(options)
    is_interrupted = False
    try:
        done = {timing.name for timing in timings}
        for timing in all_timings([name for name in names if name not in done], options):
            timings.append(timing)
            print(row(timing, options.cap), flush=True)
            keep(timings, options)
            if options.is_written:
                replace_table(README, printed_table(timings, names, options))
    except KeyboardInterrupt:
        is_interrupted = True
    print(f"\n{printed_table(timings, names, options)}")
    if is_interrupted:
        sys.exit(130)


def parsed_options() -> Options:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, `*` matches all")
    parser.add_argument("--repeat", type=int, default=5, help="runs of jobs under 20 s (5)")
    parser.add_argument("--cap", type=float, default=300.0, help="seconds a job may take (300)")
    parser.add_argument(
        "--total", type=float, default=float("inf"), help="start no job after so many minutes"
    )
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    parser.add_argument("--tools", default=",".join(WAYS), help=f"some of {', '.join(WAYS)}")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="go on from what a file keeps")
    given = parser.parse_args()
    tools = given.tools.split(",")
    if unknown := [tool for tool in tools if tool not in WAYS]:
        parser.error(f"unknown tools: {', '.join(unknown)}")
    return Options(
        given.patterns, given.repeat, given.cap, given.total, given.write, tools, given.keep
    )


def circumstances(options: Options) -> dict[str, object]:
    """Return what has to be equal for timings to stand in one table."""
    return {
        "machine": machine(),
        "repeat": options.repeat,
        "cap": options.cap,
        "tools": options.tools,
    }


def kept_timings(options: Options) -> list[Timing]:
    """Return the timings of an earlier run, if one is to be continued and was like this one."""
    if options.kept is None or not options.kept.exists():
        return []
    record = json.loads(options.kept.read_text())
    if record["circumstances"] != circumstances(options):
        sys.exit(f"{options.kept} was measured otherwise: {record['circumstances']}")
    return [Timing.from_record(timing) for timing in record["timings"]]


def keep(timings: list[Timing], options: Options) -> None:
    """Write what was measured so far, if it is to be kept."""
    if options.kept is not None:
        record = {
            "circumstances": circumstances(options),
            "timings": [asdict(timing) for timing in timings],
        }
        options.kept.write_text(json.dumps(record))


def all_timings(names: list[str], options: Options) -> Iterator[Timing]:
    """Yield the timing of every job, until the total time is over."""
    end = time.monotonic() + options.total * 60
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if time.monotonic() > end:
                return
            yield measured({**SUITE, **SMALL}[name](), Path(folder), options)


def measured(instance: Instance, folder: Path, options: Options) -> Timing:
    """Return the runs of every tool on a job; says so where answers differ."""
    write_models(instance, folder)
    found = {}
    for tool in options.tools:
        if tool.endswith("-forward") and not instance.is_all_ends:
            continue
        found[tool] = fastest_way(tool, instance, folder, options.cap)
    for _ in range(options.repeat):
        for series in found.values():
            if len(series.runs) < options.repeat and series.is_short(RUN_LONG):
                add_run(series, instance.name, folder, options.cap)
    for _ in range(options.repeat):
        for series in found.values():
            if len(series.whole) < options.repeat and series.is_short(RUN_LONG):
                add_whole_process(series, instance.name, folder, options.cap)
    for path in folder.glob(f"{instance.name}.*"):
        path.unlink()
    timing = Timing(instance.name, instance.family, found)
    for tool, answer in timing.other_answers():
        print(f"{instance.name}: {tool} answers {answer!r}", file=sys.stderr)
    return timing


def fastest_way(tool: str, instance: Instance, folder: Path, cap: float) -> Series:
    """Return the way of a tool that is fastest on a job, with its first run.

    Where the model could not be built in time, no other way is tried: they all build it.
    """
    tried: list[Series] = []
    for way in WAYS[tool]:
        if tried and tried[-1].problem == "time" and not tried[-1].is_built:
            break
        if way in FOR_CYCLES and tried[0].problem in (None, "time"):
            continue  # the acyclic solver took the model, and does the same without a matrix
        best = min((series.median for series in tried if series.runs), default=cap)
        series = Series(way)
        # A way that takes longer than the best one so far need not finish.
        add_run(series, instance.name, folder, min(cap, best + 2))
        tried.append(series)
    finished = [series for series in tried if series.runs]
    return min(finished, key=lambda series: series.median) if finished else tried[-1]


def add_run(series: Series, name: str, folder: Path, cap: float) -> None:
    """Run one job and add what it took, or what went wrong."""
    command = [sys.executable, "-m", "benchmarks.job", series.way, name, str(folder)]
    ended = process(command, cap + 20)
    series.is_built = b"the model is built" in ended.errors
    if ended.code is None:
        series.problem = "time"
        return
    lines = ended.output.decode().splitlines()
    if ended.code or not lines:
        is_memory = b"bad_alloc" in ended.errors or b"MemoryError" in ended.errors
        series.problem = "memory" if is_memory else "failed"
        if b"not acyclic" not in ended.errors:
            print(f"{name}: {series.way}: {ended.errors.decode()[-300:]}", file=sys.stderr)
        return
    record = json.loads(lines[-1])
    if record["seconds"] > cap:
        series.problem = "time"
        return
    series.runs.append(Run(record["seconds"], record["cpu"], record["peak_mib"], record["answer"]))


def add_whole_process(series: Series, name: str, folder: Path, cap: float) -> None:
    """Run a job as a user does, from nothing, and add how long the process took."""
    if series.way == "dpcheck":
        command = [sys.executable, "-m", "dpcheck", "check", str(folder / f"{name}.dpm")]
        ended = process(command, cap + 20)
        prepared = 0.0
    else:
        command = [sys.executable, "-m", "benchmarks.job", series.way, name, str(folder), "--cold"]
        ended = process(command, cap + 20)
        lines = ended.output.decode().splitlines()
        prepared = json.loads(lines[-1])["prepared"] if lines and not ended.code else 0.0
    if ended.code is not None:
        series.whole.append(ended.seconds - prepared)


@dataclass
class Ended:
    """How a process ended; the code is None where it was stopped."""

    code: int | None
    seconds: float
    output: bytes
    errors: bytes = field(repr=False)


def process(command: list[str], limit: float) -> Ended:
    """Run a process from the root, for no longer than the limit.

    Compiled modules are kept, as they are of an installed package.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    job = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = job.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        output, errors = job.communicate()
        return Ended(None, time.perf_counter() - start, output, errors)
    finally:
        if job.poll() is None:  # this process is being interrupted
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    return Ended(job.returncode, time.perf_counter() - start, output, errors)


if __name__ == "__main__":
    main()
