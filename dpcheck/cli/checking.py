"""Checking model files: what is found goes to standard output, complaints to standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, TextIO

from dpcheck import __version__

if TYPE_CHECKING:
    from dpcheck.cli.workers import Stopped, Waiting
    from dpcheck.pipeline import Options
    from dpcheck.report.answers import Event, Summary


def check_as_json(paths: Sequence[str], options: Options) -> int:
    """Check the claims of model files and write one JSON object; return the exit status."""
    from dpcheck.report import crash_lines, json_text, writer

    summary = _collected(_events(paths, options), lambda _event: None, say)
    sys.stdout.write(json_text(summary, __version__) + "\n")
    sys.stdout.flush()
    if summary.crashes:
        writer(sys.stderr)(crash_lines(summary.crashes))
    return _ended(summary)


def refuse_as_json(reason: str) -> None:
    """Write the JSON object of a call that cannot be read: nothing is checked."""
    from dpcheck.diagnostics.files import WrongCall
    from dpcheck.report import Summary, json_text

    words = reason[:1].lower() + reason[1:].rstrip(".")
    sys.stdout.write(json_text(Summary((), (WrongCall(None, words),)), __version__) + "\n")


def check_as_text(paths: Sequence[str], options: Options, *, is_quiet: bool = False) -> int:
    """Check the claims of model files and tell what is found; return the exit status."""
    from dpcheck.report import TextReport, closing_lines, crash_lines, writer

    started = time.monotonic()
    write, complain = writer(sys.stdout), writer(sys.stderr)
    progress = _progress(is_quiet=is_quiet)
    tell = None if is_quiet or progress is not None else say
    with TextReport(write, complain, progress, only_wrong=is_quiet) as report:
        summary = _collected(_events(paths, options), report.add, tell)
    if summary.crashes:
        complain(crash_lines(summary.crashes))
    if not is_quiet:
        write(closing_lines(summary, time.monotonic() - started))
    return _ended(summary)


def _collected(
    events: Generator[Event | Waiting, None, None],
    hear: Callable[[Event], None],
    tell: Callable[[str], None] | None,
) -> Summary:
    """Return the summary of a run; what was found before an interruption is kept.

    `tell` takes a line now and then where one thing takes long.
    """
    from dpcheck.cli.workers import Waiting
    from dpcheck.report import Collector, Reading, Started, visible, work_text

    collector, at = Collector(), "looking for files"
    try:
        with closing(events):
            for event in events:
                if isinstance(event, Waiting):
                    if tell is not None:
                        tell(f"after {event.seconds:g} s still {visible(at)}")
                    continue
                if isinstance(event, Reading | Started):
                    at = work_text(event)
                collector.add(event)
                hear(event)
    except KeyboardInterrupt:
        collector.is_interrupted = True
    return collector.summary()


def _ended(summary: Summary) -> int:
    if summary.is_interrupted:
        say("interrupted; the results above are complete as far as they go")
    return summary.exit_status


def _progress(*, is_quiet: bool) -> TextIO | None:
    """Return where progress may be shown: standard error, if a person is looking."""
    return sys.stderr if sys.stderr.isatty() and not is_quiet else None


def say(text: str) -> None:
    """Write a line to standard error that says whose it is."""
    sys.stderr.write(f"dpcheck: {text}\n")
    sys.stderr.flush()


# --- work in workers -----------------------------------------------------------------------


def _events(paths: Sequence[str], options: Options) -> Generator[Event | Waiting, None, None]:
    """Return what is found in model files, as it is found."""
    from dpcheck.cli.workers import Work, supervised
    from dpcheck.pipeline import check_paths

    work = Work(lambda told: check_paths(paths, options, told), _after, _is_short_of_memory)
    return supervised(work, options.limits)


def _after(told: Sequence[Event], stopped: Stopped) -> tuple[Sequence[Event], bool]:
    """Return what a worker left undone, and whether there is something to go on with."""
    from dpcheck.pipeline.stopped import after_crash, after_limit, run_stopped
    from dpcheck.report import Crash

    if stopped.limit is None:
        found = after_crash(told, stopped.said)
        return found or (Crash("the command line", stopped.said),), bool(found)
    found = after_limit(told, stopped.limit, stopped.seconds)
    return found or (run_stopped(stopped.limit),), bool(found)


def _is_short_of_memory(event: Event) -> bool:
    """Return whether a worker got no more memory: what is free now may be in small pieces."""
    from dpcheck.check.values.verdicts import Undecided
    from dpcheck.report import Answer

    verdict = event.outcome.verdict if isinstance(event, Answer) else None
    return isinstance(verdict, Undecided) and verdict.limit.kind == "memory"
