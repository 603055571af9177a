"""Answers as they come: the text of each file once it is done, and what is worked on now."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO, assert_never

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.records import dataclass, field
from dpcheck.report.answers import Answer, Crash, Event, FileDone, Started, in_reading_order
from dpcheck.report.characters import visible
from dpcheck.report.drawing import draw_mistake
from dpcheck.report.styled import Writer, line
from dpcheck.report.text import answer_lines

if TYPE_CHECKING:
    from rich.status import Status


@dataclass
class TextReport:
    """Writes events as text: results with `write`, mistakes with `complain`.

    `progress` is a terminal for the line that says what is worked on, or None. Leaving the
    context writes what has not been written, also after an interruption.
    """

    write: Writer
    complain: Writer
    progress: TextIO | None
    only_wrong: bool = False
    _answers: list[Answer] = field(default_factory=list)
    _waiting: list[Mistake] = field(default_factory=list)
    _told: set[Mistake] = field(default_factory=set)
    _status: Status | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Write the rest."""
        self._write_file()

    def add(self, event: Event) -> None:
        """Take in an event; a file's results are written when it is done."""
        match event:
            case Answer():
                self._answers.append(event)
            case Mistake():
                if event not in self._told:
                    self._told.add(event)
                    self._waiting.append(event)
            case Started():
                self._show(event)
            case FileDone():
                self._write_file()
            case Crash():
                pass
            case _ as never:
                assert_never(never)

    def _write_file(self) -> None:
        """Write the results of a file, then its mistakes; each mistake once in a run."""
        if self._status is not None:
            self._status.stop()
        self.write(answer_lines(self._answers, only_wrong=self.only_wrong))
        for mistake in in_reading_order(self._waiting):
            self.complain((*draw_mistake(mistake, self.complain.columns), line()))
        self._answers.clear()
        self._waiting.clear()

    def _show(self, started: Started) -> None:
        """Show what is worked on, on a terminal."""
        if self.progress is None:
            return
        text = visible(f"{started.file}: {started.what}")
        if self._status is None:
            self._status = _status(self.progress)
        self._status.update(_unmarked(text, self._status))
        self._status.start()


def _status(stream: TextIO) -> Status:
    from rich.console import Console

    return Console(file=stream).status("")


def _unmarked(text: str, status: Status) -> str:
    """Return the text in one line, its square brackets kept from being read as markup."""
    from rich.markup import escape

    return escape(text[: max(20, status.console.width - 8)])
