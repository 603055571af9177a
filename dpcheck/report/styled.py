"""Text with roles: what is printed, before anybody decides about colors.

A line is a tuple of pieces; a piece is characters and the role they play. Without a terminal
the characters alone are written; on a terminal rich gives every role its color. rich takes 90 ms
to import, so it is imported only when a terminal is there to see it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

from dpcheck.records import dataclass

if TYPE_CHECKING:
    from rich.console import Console

Role = Literal[
    "plain", "strong", "faint", "good", "bad", "unsure", "mark", "other_mark", "help", "number"
]

_COLORS: dict[Role, str] = {
    "plain": "",
    "strong": "bold",
    "faint": "dim",
    "good": "green",
    "bad": "bold red",
    "unsure": "yellow",
    "mark": "bold red",
    "other_mark": "bold blue",
    "help": "bold cyan",
    "number": "cyan",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of one line that play one role."""

    text: str
    role: Role = "plain"


Line = tuple[Piece, ...]


def line(*pieces: Piece | str) -> Line:
    """Return a line of pieces; a bare string is a plain piece, empty pieces are dropped.

    >>> plain(line("a ", Piece("b", "good")))
    'a b'
    """
    made = (Piece(piece) if isinstance(piece, str) else piece for piece in pieces)
    return tuple(piece for piece in made if piece.text)


def plain(styled: Line) -> str:
    """Return the characters of a line, without roles or trailing blanks."""
    return "".join(piece.text for piece in styled).rstrip()


class Writer(Protocol):
    """Somewhere lines can be written."""

    def __call__(self, lines: Iterable[Line], /) -> None:
        """Write the lines, each with its line break, and flush."""


def writer(stream: TextIO) -> Writer:
    """Return what writes lines to a stream: colored on a terminal, plain everywhere else."""
    if not stream.isatty():
        return PlainWriter(stream)
    from rich.console import Console

    return TerminalWriter(Console(file=stream, highlight=False, soft_wrap=True))


_IN_ASCII = str.maketrans(
    {
        "✓": "+", "✗": "x", "·": "-", "…": "...", "≈": "~", "ε": "epsilon", "δ": "delta",
        "†": "stopped", "α": "alpha", "ℚ": "Q", "≤": "<=", "≥": ">=",
    }
)  # fmt: skip


@dataclass(frozen=True)
class PlainWriter:
    """Writes characters only, in words where the stream's encoding lacks our symbols.

    Characters of the user's that the encoding lacks become `?`.
    """

    stream: TextIO

    def __call__(self, lines: Iterable[Line], /) -> None:
        """Write the lines and flush."""
        encoding = self.stream.encoding or "utf-8"
        for styled in lines:
            text = plain(styled)
            if not _can_write(text, encoding):
                text = text.translate(_IN_ASCII).encode(encoding, "replace").decode(encoding)
            self.stream.write(text + "\n")
        self.stream.flush()


def _can_write(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class TerminalWriter:
    """Writes through rich, which knows the terminal's colors and honors NO_COLOR."""

    console: Console

    def __call__(self, lines: Iterable[Line], /) -> None:
        """Write the lines and flush."""
        from rich.text import Text

        for styled in lines:
            text = Text()
            for piece in styled:
                text.append(piece.text, style=_COLORS[piece.role])
            text.rstrip()
            self.console.print(text)
        self.console.file.flush()
