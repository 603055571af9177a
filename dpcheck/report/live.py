"""Answers as they come: the text of each once it is known, and what is worked on now."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO, assert_never

from dpcheck.check.values.verdicts import Undecided
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.records import dataclass, field
from dpcheck.report import answers, notation
from dpcheck.report.characters import visible
from dpcheck.report.drawing import draw_mistake
from dpcheck.report.styled import Writer, line
from dpcheck.report.text import AnswerLines

if TYPE_CHECKING:
    from rich.status import Status

Begun = answers.Reading | answers.Started | answers.Known | answers.Measuring
"""What says that work on something begins, or how far it is."""


@dataclass
class TextReport:
    """Writes events as text: results with `write`, mistakes with `complain`.

    `progress` is a terminal for the line that says what is worked on, or None. Closing it writes
    what has not been written, also after an interruption.
    """

    write: Writer
    complain: Writer
    progress: TextIO | None
    only_wrong: bool = False
    _file: answers.FileRead | None = None
    _lines: AnswerLines | None = None
    _waiting: list[Mistake] = field(default_factory=list)
    _told: set[Mistake] = field(default_factory=set)
    _status: Status | None = None

    def add(self, event: answers.Event) -> None:
        """Take in an event; an answer is written at once, mistakes when their file is done."""
        match event:
            case answers.Reading() | answers.Started() | answers.Known() | answers.Measuring():
                self._show(event)
            case answers.FileRead():
                self._begin_file(event)
            case answers.Answer():
                self._stop_progress()
                assert self._lines is not None, "the claims of a file are known before its answers"
                self.write(self._lines.add(event))
            case Mistake():
                if event not in self._told:
                    self._told.add(event)
                    self._waiting.append(event)
            case answers.FileDone():
                self.close()
            case answers.Decided() | answers.Crash() | answers.Portrait() | answers.Measured():
                pass
            case _ as never:
                assert_never(never)

    def _begin_file(self, read: answers.FileRead) -> None:
        """Take in the claims of a file; one that was read again goes on."""
        if read != self._file:
            self._file, self._lines = read, AnswerLines(read.asked, only_wrong=self.only_wrong)

    def close(self) -> None:
        """Write the end of a file's results, then its mistakes; each mistake once in a run."""
        self._stop_progress()
        if self._lines is not None:
            self.write(self._lines.end())
        for mistake in answers.in_reading_order(self._waiting):
            self.complain((*draw_mistake(mistake, self.complain.columns), line()))
        self._file = self._lines = None
        self._waiting.clear()

    def _show(self, event: Begun) -> None:
        """Show what is worked on, on a terminal."""
        if self.progress is None:
            return
        from rich.console import Console
        from rich.markup import escape

        if self._status is None:
            self._status = Console(file=self.progress).status("")
        room = max(20, self._status.console.width - 8)
        self._status.update(escape(visible(work_text(event))[:room]))  # brackets are no markup
        self._status.start()

    def _stop_progress(self) -> None:
        if self._status is not None:
            self._status.stop()


def work_text(event: Begun) -> str:
    """Return what is worked on, in a line, and what is known of it."""
    if isinstance(event, answers.Reading):
        return f"reading {event.file}"
    if isinstance(event, answers.Measuring):
        return f"{event.file}: {event.quantity} of {event.target}, for the baseline"
    asked = event.asked
    at = "" if asked.at is None else f" at {asked.at}"
    claim = f"{asked.file}:{asked.line}: {asked.kind} {asked.target}{at}: {asked.claim}"
    verdict = event.outcome.verdict if isinstance(event, answers.Known) else None
    if not isinstance(verdict, Undecided):
        return claim
    return f"{claim}; {notation.phrase_text(verdict.progress)}"
