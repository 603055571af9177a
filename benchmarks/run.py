"""Run the benchmark: `python -m benchmarks.run [PATTERN ...]`.

For each job the tools take turns, every run in a process of its own, so that a busy moment of the
machine hits all of them. Storm has several ways to do a job; each is tried once, the fastest one is
then repeated. A run over the cap is stopped and counts as not finished. Rows are printed as they
come; with `--write` the table in README.md is rewritten after every job, so that an interrupted run
keeps what it has. With `--keep FILE` it can be continued: the jobs in the file are not run again.
With `--unfinished FILE`, ways that ran into the cap are noted, and not run again by a later run.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.instances import Instance
from benchmarks.job import write_models
from benchmarks.processes import ROOT, add_run, add_whole_process
from benchmarks.suite import SMALL, SUITE
from benchmarks.table import SHOWN_AS_WHOLE, Timing, machine, printed_table, replace_table, row
from benchmarks.ways import WAYS, Ways, favorites_of

README = ROOT / "benchmarks" / "README.md"
RUN_LONG = 20.0


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
    unfinished: Path | None


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
        for timing in all_timings([n for n in names if n not in done], timings, options):
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
    parser.add_argument(
        "--unfinished", type=Path, metavar="FILE", help="do not repeat what ran into the cap"
    )
    given = parser.parse_args()
    tools = given.tools.split(",")
    if unknown := [tool for tool in tools if tool not in WAYS]:
        parser.error(f"unknown tools: {', '.join(unknown)}")
    return Options(
        *(given.patterns, given.repeat, given.cap, given.total, given.write, tools),
        *(given.keep, given.unfinished),
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


def all_timings(names: list[str], before: list[Timing], options: Options) -> Iterator[Timing]:
    """Yield the timing of every job, until the total time is over."""
    end = time.monotonic() + options.total * 60
    ways = Ways(options.cap, favorites_of(before), options.unfinished)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if time.monotonic() > end:
                return
            yield measured({**SUITE, **SMALL}[name](), Path(folder), options, ways)


def measured(instance: Instance, folder: Path, options: Options, ways: Ways) -> Timing:
    """Return the runs of every tool on a job; says so where answers differ."""
    write_models(instance, folder)
    found = {tool: ways.fastest(tool, instance, folder) for tool in options.tools}
    for _ in range(options.repeat):
        for series in found.values():
            if len(series.runs) < options.repeat and series.is_short(RUN_LONG):
                add_run(series, instance.name, folder, options.cap)
    for _ in range(options.repeat):
        for tool, series in found.items():
            if tool in SHOWN_AS_WHOLE and series.is_short(RUN_LONG):
                add_whole_process(series, instance.name, folder, options.cap)
    for path in folder.glob(f"{instance.name}.*"):
        path.unlink()
    timing = Timing(instance.name, instance.family, found)
    for tool, answer in timing.other_answers():
        print(f"{instance.name}: {tool} answers {answer!r}", file=sys.stderr)
    return timing


if __name__ == "__main__":
    main()
