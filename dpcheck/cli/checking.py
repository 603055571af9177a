"""Checking model files: what is found goes to standard output, complaints to standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from dpcheck.cli import signals
from dpcheck.records import Frozen, dataclass, replace
from dpcheck.report.characters import visible

if TYPE_CHECKING:
    from dpcheck.diagnostics.mistakes import Mistake
    from dpcheck.pipeline.options import Options
    from dpcheck.report.answers import Crash, Event, Summary
    from dpcheck.report.formats.findings import Checkout
    from dpcheck.report.styled import Line

CANNOT_WRITE: Final = 2
"""The exit status of a run that cannot write, that of a wrong call."""


class Output(Frozen):
    """How a run is written: the function of `report`, which is imported when it is asked for.

    A file is only written over one of the same first line; where that says what came out, `head`
    begins it. Files that are `is_plain` begin with anything, and are known by their names.
    """

    function: str
    head: str | None = None
    is_plain: bool = False


OUTPUTS: Final[Mapping[str, Output]] = {
    "text": Output("formats.findings.report_text", is_plain=True),
    "json": Output("json_output.json_text"),
    "sarif": Output("formats.sarif.sarif_text"),
    "junit": Output("formats.junit.junit_text"),
    "github": Output("formats.github.github_text", is_plain=True),
    "markdown": Output("formats.markdown.markdown_text", head="# dpcheck: "),
    "html": Output("formats.page.html_text"),
}
"""What `--format` and `--output` may name. A new format is a file in `report.formats` and a row
here. Text goes to standard output while the work goes on, all else is written once everything is
known."""

STANDARD_OUTPUT: Final = "-"
"""The name of a file that stands for standard output."""


@dataclass(frozen=True)
class Report:
    """How results are written: in a format of `OUTPUTS` on standard output, more into files.

    `files` has the format and the name of each. With `is_quiet`, text has only what is not as
    claimed. `witnesses` is the directory for files of evidence. What mechanisms cost is held beside
    a `baseline`, or written there with `is_update`.
    """

    form: str = "text"
    files: tuple[tuple[str, str], ...] = ()
    is_quiet: bool = False
    witnesses: str | None = None
    baseline: str | None = None
    is_update: bool = False


def checked(paths: Sequence[str], options: Options, report: Report) -> int:
    """Check the claims of model files and write what is found; return the exit status."""
    forms = {report.form, *(form for form, _ in report.files)}
    options = replace(options, has_portraits="html" in forms)
    try:
        compared, measures = _comparison(report)
    except ValueError as wrong:
        return _refused(report, str(wrong))
    options = replace(options, measures=measures)
    if report.form == "text":
        summary = _told_as_text(paths, options, compared, report)
    else:
        summary = compared(_collected(_events(paths, options, say), lambda _event: None))
        _print(_written(report.form, summary))
    complain_of_bugs(summary.crashes)
    has_written = [_has_written(form, file, summary) for form, file in report.files]
    if report.witnesses is not None:
        has_written.append(_has_witnessed(report.witnesses, summary))
    if report.is_update:
        has_written.append(_has_recorded(report, summary))
    if "github" in forms:
        has_written.append(_has_summarized(summary))
    if summary.is_interrupted:
        say("interrupted; the results above are complete as far as they go")
        return signals.status()
    is_lost = not all(has_written) and not summary.crashes
    return CANNOT_WRITE if is_lost else summary.exit_status


def cache_directory(named: str | None = None) -> Path:
    """Return where results are kept: where the call says, else in the user's cache directory."""
    if named is not None:
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return Path(base if Path(base).is_absolute() else Path.home() / ".cache") / "dpcheck"


def trusted_cache(paths: Sequence[str], named: str | None) -> Path | None:
    """Return the directory of results that a run may read; None if it lies in what is checked.

    Whoever can change the models could put verdicts there. A directory that the call names is
    trusted.
    """
    try:
        directory = cache_directory(named).resolve()
        if named is not None:
            return directory
        checked = [Path(path).resolve() for path in ("", *paths)]
        roots = {_work_tree(path) for path in checked}
    except (OSError, RuntimeError, ValueError):
        return None
    return None if any(directory.is_relative_to(root) for root in roots) else directory


def _work_tree(path: Path) -> Path:
    """Return the checkout that a path is in, or the directory itself where there is none."""
    folder = path if path.is_dir() else path.parent
    trees = (each for each in (folder, *folder.parents) if (each / ".git").exists())
    return next(trees, folder)


def _comparison(
    report: Report,
) -> tuple[Callable[[Summary], Summary], Mapping[str, Mapping[str, tuple[str, ...]]] | None]:
    """Return what adds to a run how it differs from the baseline, and what to measure for that.

    Raises `ValueError` for a baseline that cannot be read.
    """
    if report.baseline is None or report.is_update:
        return lambda summary: summary, {} if report.is_update else None
    from dpcheck.cli.baseline import asked_by, changes_since, read_baseline

    place = Path(report.baseline)
    before, folder = read_baseline(place), place.resolve().parent

    def compared(summary: Summary) -> Summary:
        return replace(summary, changes=changes_since(before, summary, folder))

    return compared, asked_by(before, folder)


def _has_recorded(report: Report, summary: Summary) -> bool:
    """Write the baseline anew, if all that was asked for was read and decided so far."""
    from dpcheck.cli.baseline import baseline_of, baseline_text, read_baseline

    assert report.baseline is not None, "an update has a file"
    if summary.errors or summary.stopped or summary.crashes or summary.is_interrupted:
        say(f"{report.baseline} stays as it is: not every file was read")
        return False
    place = Path(report.baseline)
    try:
        before = read_baseline(place) if place.exists() else {}
    except ValueError as wrong:
        say(f"{report.baseline} stays as it is: {wrong}")
        return False
    folder = place.resolve().parent
    kept = {file: said for file, said in before.items() if (folder / file).exists()}
    known = {**kept, **baseline_of(summary, folder)}
    return has_written(report.baseline, baseline_text(known))


def _refused(report: Report, reason: str) -> int:
    """Say that a baseline cannot be read; nothing is checked."""
    from dpcheck.diagnostics.files import WrongCall

    words = f"the baseline {report.baseline} cannot be read: {reason}"
    if report.form != "text":
        refuse_as(report.form, words)
    else:
        complain([WrongCall(None, words)])
    return CANNOT_WRITE


def _has_written(form: str, file: str, summary: Summary) -> bool:
    """Write a run into a file and say so, or complain."""
    text = _written(form, summary)
    if file != STANDARD_OUTPUT:
        how = OUTPUTS[form]
        return has_written(file, text + "\n", head=how.head, is_plain=how.is_plain)
    _print(text)
    return True


def _has_witnessed(directory: str, summary: Summary) -> bool:
    """Write the evidence for all answers into a directory, and say so, or complain."""
    from dpcheck.pipeline.sources.library import written_witnesses

    witnesses = [each.witness for each in summary.answers if each.witness is not None]
    refused = written_witnesses(directory, [(each.name, each.text) for each in witnesses])
    files = "1 witness" if len(witnesses) == 1 else f"{len(witnesses)} witnesses"
    return _is_said(f"wrote {files} into {visible(directory)}", refused)


def _has_summarized(summary: Summary) -> bool:
    """Add a run to the summary of a job of GitHub Actions, if there is one."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        return True
    try:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(_written("markdown", summary) + "\n")
    except OSError as error:
        say(f"cannot write the summary of the job: {error.strerror}")
        return False
    return True


def has_written(file: str, text: str, *, head: str | None = None, is_plain: bool = False) -> bool:
    """Write a file and say so, or complain; only what dpcheck made is replaced.

    That is known by its first line, or as much of it as `head`; with `is_plain` by the name: files
    of text begin with anything.
    """
    from dpcheck.pipeline.sources.library import written_over_own

    refused = written_over_own(file, text, head=head, is_plain=is_plain)
    return _is_said(f"wrote {visible(file)}", refused)


def _is_said(written: str, refused: Mistake | None) -> bool:
    """Say what was written, or complain of why it was not; return whether it was."""
    if refused is None:
        say(written)
    else:
        complain([refused])
    return refused is None


def complain(mistakes: Iterable[Mistake]) -> None:
    """Draw mistakes on standard error."""
    from dpcheck.report.drawing import draw_mistake
    from dpcheck.report.styled import writer

    write = writer(sys.stderr)
    for mistake in mistakes:
        write(draw_mistake(mistake, write.columns))


def complain_of_bugs(crashes: Sequence[Crash]) -> None:
    """Write on standard error what to report about bugs in dpcheck, if there are any."""
    from dpcheck.report.text import crash_lines

    if crashes:
        show(crash_lines(crashes), sys.stderr)


def show(lines: Iterable[Line], stream: TextIO | None = None) -> None:
    """Write lines to a stream or standard output, in color where that is a terminal."""
    from dpcheck.report.styled import writer

    writer(stream or sys.stdout)(lines)


def _written(form: str, summary: Summary) -> str:
    """Return a run in a format of `OUTPUTS`.

    Files are named from here; in a workflow of GitHub's, from its checkout.
    """
    from dpcheck.report.formats.findings import Checkout

    module, _, name = OUTPUTS[form].function.rpartition(".")
    write: Callable[[Summary, Checkout], str] = getattr(
        import_module(f"dpcheck.report.{module}"), name
    )
    here = Path.cwd()
    return write(summary, Checkout(here, Path(os.environ.get("GITHUB_WORKSPACE") or here)))


def _print(text: str) -> None:
    """Write a text to standard output, characters that its encoding lacks as escapes."""
    encoding = sys.stdout.encoding or "utf-8"
    if text:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    sys.stdout.flush()


def refuse_as(form: str, reason: str) -> None:
    """Write, as one of `OUTPUTS`, why a call cannot be read: nothing is checked."""
    from dpcheck.diagnostics.files import WrongCall
    from dpcheck.report.answers import Summary

    words = reason[:1].lower() + reason[1:].rstrip(".")
    _print(_written(form, Summary((), (WrongCall(None, words),))))


def _told_as_text(
    paths: Sequence[str], options: Options, compared: Callable[[Summary], Summary], asked: Report
) -> Summary:
    """Check the claims of model files, tell what is found as it is found, and return it all."""
    from dpcheck.report.live import TextReport
    from dpcheck.report.styled import writer
    from dpcheck.report.text import change_lines, closing_lines

    is_quiet = asked.is_quiet
    started = time.monotonic()
    write, complain = writer(sys.stdout), writer(sys.stderr)
    progress = sys.stderr if sys.stderr.isatty() and not is_quiet else None  # for a person
    tell = None if is_quiet or progress is not None else say
    with closing(TextReport(write, complain, progress, only_wrong=is_quiet)) as report:
        summary = compared(_collected(_events(paths, options, tell), report.add))
    write(change_lines(summary.changes, asked.baseline or ""))
    if not is_quiet:
        in_full = options.n_explained if options.explain == "full" else None
        write(closing_lines(summary, time.monotonic() - started, in_full))
    return summary


def _collected(events: Generator[Event, None, None], hear: Callable[[Event], None]) -> Summary:
    """Return the summary of a run; what was found before an interruption is kept."""
    from dpcheck.report.answers import summary_of

    found: list[Event] = []
    try:
        with closing(events):
            for event in events:
                found.append(event)
                hear(event)
    except KeyboardInterrupt:
        return summary_of(found, is_interrupted=True)
    return summary_of(found)


def _events(
    paths: Sequence[str], options: Options, tell: Callable[[str], None] | None
) -> Generator[Event, None, None]:
    """Yield what is found in model files, as it is found; `tell` what takes long.

    What is known of all files takes no part of dpcheck that decides anything.
    """
    from dpcheck.pipeline.cache import known_run

    known = known_run(paths, options)
    if known is not None:
        yield from _shortened(known, options)
        return
    from dpcheck.cli.work import check_events

    with closing(check_events(paths, options, tell)) as found:
        yield from _shortened(found, options)


def _shortened(events: Iterable[Event], options: Options) -> Iterator[Event]:
    """Yield events with explanations in short after the first few."""
    from dpcheck.report.answers import Answer

    n_explained = 0
    for event in events:
        if isinstance(event, Answer) and event.explanation is not None:
            n_explained += 1
            if options.n_explained is not None and n_explained > options.n_explained:
                yield replace(event, explanation=event.explanation.in_short)
                continue
        yield event


def say(text: str) -> None:
    """Write a line to standard error that says whose it is."""
    sys.stderr.write(f"dpcheck: {text}\n")
    sys.stderr.flush()
