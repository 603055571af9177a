"""Text with roles: what is printed, before anybody decides about colors.

A line is made of pieces; a piece is characters and the role they play. Without a terminal the
characters alone are written; on a terminal, or with FORCE_COLOR, rich gives every role its color.
rich takes 90 ms to import, so it is imported only when somebody is there to see it. Long lines
that may be folded are folded between words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, TextIO

from dpcheck.records import dataclass, replace
from dpcheck.report.characters import width

if TYPE_CHECKING:
    from rich.console import Console

Role = Literal[
    "plain", "strong", "faint", "good", "bad", "unsure", "mark", "other_mark", "help", "number"
]

WIDTH = 100
"""Columns of a report away from a terminal, and the most it takes on one."""

_LEAST_WIDTH = 40
"""A narrower terminal gets lines of this width."""

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


@dataclass(frozen=True)
class Piece:
    """Characters of one line that play one role."""

    text: str
    role: Role = "plain"


@dataclass(frozen=True)
class Line:
    """Pieces side by side.

    A line with `hang` is folded where it is too wide; what follows is indented by so many columns.
    `place` stands at the right margin.
    """

    pieces: tuple[Piece, ...]
    hang: int | None = None
    place: Piece | None = None


def line(*pieces: Piece | str, hang: int | None = None, place: Piece | None = None) -> Line:
    """Return a line of pieces; a bare string is a plain piece, empty pieces are dropped.

    >>> plain(line("a ", Piece("b", "good")))
    'a b'
    """
    made = (Piece(piece) if isinstance(piece, str) else piece for piece in pieces)
    return Line(tuple(piece for piece in made if piece.text), hang, place)


def plain(styled: Line) -> str:
    """Return the characters of a line, without roles or trailing blanks."""
    return "".join(piece.text for piece in styled.pieces).rstrip()


# --- layout --------------------------------------------------------------------------------


def laid_out(styled: Line, columns: int) -> Iterator[Line]:
    """Yield a line as it fits in so many columns, its place at the right margin of the first row.

    >>> long = line("  from  count = [2, 1] and then some words", hang=8, place=Piece("a.dpm:3"))
    >>> for row in laid_out(long, 40): print(plain(row))
      from  count = [2, 1] and then  a.dpm:3
            some words
    """
    place = styled.place
    taken = 0 if place is None else width(place.text) + 2
    is_beside = place is not None and taken < columns // 2
    rows = [styled]
    if styled.hang is not None:
        rows = list(_folded(styled, columns - 1, columns - taken if is_beside else columns - 1))
    if place is not None and is_beside and width(plain(rows[0])) + taken <= columns:
        rows[0] = _with_place(rows[0], place, columns)
    elif place is not None:
        rows.append(_with_place(line(), place, columns))
    yield from (replace(row, place=None) for row in rows)


def _with_place(styled: Line, place: Piece, columns: int) -> Line:
    taken = sum(width(piece.text) for piece in styled.pieces)  # where a row ends there is a blank
    gap = max(0, columns - taken - width(place.text))
    return line(*styled.pieces, " " * gap, place)


def _folded(styled: Line, most: int, most_at_first: int) -> Iterator[Line]:
    """Yield the rows of a line of which the first has another width than the rest."""
    text = "".join(piece.text for piece in styled.pieces).rstrip()
    hang, start, room = styled.hang or 0, 0, most_at_first
    if hang > most // 2:
        hang = most // 4
    while width(text[start:]) > room:
        end = _break(text, start, room, start or hang)
        if end is None:
            break
        yield line(" " * hang if start else "", *_cut(styled.pieces, start, end))
        start = len(text) - len(text[end:].lstrip())
        room = most - hang
    yield line(" " * hang if start else "", *_cut(styled.pieces, start, len(text)))


_OPERATOR = r"[≈=<>*/+\-|&!]+|in"
_BEGINS_NO_ROW = rf"{_OPERATOR}|·"
_ENDS_NO_ROW = rf"{_OPERATOR}|against|and|ratio|allowed|delta"


def _break(text: str, start: int, room: int, after: int) -> int | None:
    """Return the blank to break a row at: the last that fits, outside of brackets and numbers.

    Of facts joined by `·` it is one between facts. A row is not broken before `after`. Where no
    better blank is left, any one will do.
    """
    usable = inner = good = joint = None
    depth, at = 0, 0
    for i in range(start, len(text)):
        char = text[i]
        if char == " " and i > after and text[start:i].strip():
            if at > room and (good is not None or usable is not None):
                break
            usable = i if at <= room or usable is None else usable
            if at <= room and not _is_inside_term(text, i):
                inner, good = i, i if depth == 0 else good
                joint = i if text[i - 1] == "·" else joint
        depth += (char in "([{") - (char in ")]}")
        at += width(char)
    for best in (joint, good, inner):
        if best is not None and best - start > room // 3:
            return best
    return usable


def _is_inside_term(text: str, blank: int) -> bool:
    """Return whether a blank stands beside an operator, so that `1/3 ≈ 0.33` stays together."""
    before = text[:blank].rsplit(" ", 1)[-1]
    behind = text[blank + 1 :].split(" ", 1)[0]
    return bool(re.fullmatch(_ENDS_NO_ROW, before) or re.fullmatch(_BEGINS_NO_ROW, behind))


def _cut(pieces: tuple[Piece, ...], start: int, end: int) -> Iterator[Piece]:
    """Yield the pieces of the characters from `start` to `end`."""
    at = 0
    for piece in pieces:
        text = piece.text[max(0, start - at) : max(0, end - at)]
        yield Piece(text, piece.role)
        at += len(piece.text)


# --- writers -------------------------------------------------------------------------------


def writer(stream: TextIO) -> Writer:
    """Return what writes lines to a stream and flushes it: colored on a terminal, else plain.

    FORCE_COLOR asks for colors everywhere, NO_COLOR for none, and wins.
    """
    is_forced = bool(os.environ.get("FORCE_COLOR")) and not os.environ.get("NO_COLOR")
    if not stream.isatty() and not is_forced:
        return PlainWriter(stream)
    from shutil import get_terminal_size

    from rich.console import Console

    columns = None
    if stream.isatty():
        columns = max(_LEAST_WIDTH, get_terminal_size((WIDTH, 24)).columns)
    # A width of its own, since rich would cut what it believes not to fit.
    console = Console(
        file=stream, highlight=False, soft_wrap=True, width=columns or WIDTH, force_terminal=True
    )
    return TerminalWriter(console, columns)


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
    columns: int | None = None

    def __call__(self, lines: Iterable[Line], /) -> None:
        """Write the lines and flush."""
        encoding = self.stream.encoding or "utf-8"
        for row in _rows(lines, self.columns):
            text = plain(row)
            if not _can_write(text, encoding):
                text = text.translate(_IN_ASCII).encode(encoding, "replace").decode(encoding)
            self.stream.write(text + "\n")
        self.stream.flush()


def _rows(lines: Iterable[Line], columns: int | None) -> Iterator[Line]:
    """Yield lines as they fit; each is made only when the one before was written."""
    for styled in lines:
        yield from laid_out(styled, min(WIDTH, columns or WIDTH))


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
    columns: int | None

    def __call__(self, lines: Iterable[Line], /) -> None:
        """Write the lines and flush."""
        from rich.text import Text

        for row in _rows(lines, self.columns):
            text = Text()
            for piece in row.pieces:
                text.append(piece.text, style=_COLORS[piece.role])
            text.rstrip()
            self.console.print(text)
        self.console.file.flush()


Writer = PlainWriter | TerminalWriter
"""Somewhere lines can be written; `columns` is the width of a terminal, None elsewhere."""
