"""Checking model files: what is found goes to standard output, complaints to standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final, TextIO

from dpcheck import __version__
from dpcheck.cli import signals

if TYPE_CHECKING:
    from dpcheck.pipeline import Options
    from dpcheck.report.answers import Event, Summary


def json_output(summary: Summary) -> str:
    """Return a run as one JSON object."""
    from dpcheck.report.json_output import json_text

    return json_text(summary, __version__)


OUTPUTS: Final[Mapping[str, Callable[[Summary], str]]] = {"json": json_output}
"""What is written once all is known, by the name that `--format` gives it. A new format is a file
in `report` and a row here; each imports what it needs when it is asked for."""

FORMATS: Final = ("text", *OUTPUTS)
"""What `--format` may name: text is written while the work goes on."""


def check_as(form: str, paths: Sequence[str], options: Options) -> int:
    """Check the claims of model files and write one of `OUTPUTS`; return the exit status."""
    from dpcheck.report import crash_lines, writer

    summary = _collected(_events(paths, options, say), lambda _event: None)
    sys.stdout.write(OUTPUTS[form](summary) + "\n")
    sys.stdout.flush()
    if summary.crashes:
        writer(sys.stderr)(crash_lines(summary.crashes))
    return _ended(summary)


def refuse_as(form: str, reason: str) -> None:
    """Write, as one of `OUTPUTS`, why a call cannot be read: nothing is checked."""
    from dpcheck.diagnostics.files import WrongCall
    from dpcheck.report import Summary

    words = reason[:1].lower() + reason[1:].rstrip(".")
    sys.stdout.write(OUTPUTS[form](Summary((), (WrongCall(None, words),))) + "\n")


def check_as_text(paths: Sequence[str], options: Options, *, is_quiet: bool = False) -> int:
    """Check the claims of model files and tell what is found; return the exit status."""
    from dpcheck.report import TextReport, closing_lines, crash_lines, writer

    started = time.monotonic()
    write, complain = writer(sys.stdout), writer(sys.stderr)
    progress = _progress(is_quiet=is_quiet)
    tell = None if is_quiet or progress is not None else say
    with TextReport(write, complain, progress, only_wrong=is_quiet) as report:
        summary = _collected(_events(paths, options, tell), report.add)
    if summary.crashes:
        complain(crash_lines(summary.crashes))
    if not is_quiet:
        write(closing_lines(summary, time.monotonic() - started))
    return _ended(summary)


def _collected(events: Generator[Event, None, None], hear: Callable[[Event], None]) -> Summary:
    """Return the summary of a run; what was found before an interruption is kept."""
    from dpcheck.report import Collector

    collector = Collector()
    try:
        with closing(events):
            for event in events:
                collector.add(event)
                hear(event)
    except KeyboardInterrupt:
        collector.is_interrupted = True
    return collector.summary()


def _events(
    paths: Sequence[str], options: Options, tell: Callable[[str], None] | None
) -> Generator[Event, None, None]:
    """Return what is found in model files, as it is found; `tell` what takes long."""
    from dpcheck.cli.work import check_events

    return check_events(paths, options, tell)


def _ended(summary: Summary) -> int:
    if summary.is_interrupted:
        say("interrupted; the results above are complete as far as they go")
        return signals.status()
    return summary.exit_status


def _progress(*, is_quiet: bool) -> TextIO | None:
    """Return where progress may be shown: standard error, if a person is looking."""
    return sys.stderr if sys.stderr.isatty() and not is_quiet else None


def say(text: str) -> None:
    """Write a line to standard error that says whose it is."""
    sys.stderr.write(f"dpcheck: {text}\n")
    sys.stderr.flush()
