"""The user's text and places in it.

Every later stage points back here: a `Span` is a half-open range of character offsets in one
`SourceText`, and lines and columns (both counted from 1) are derived when somebody looks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from dpcheck.records import dataclass


def escaped(text: str) -> str:
    r"""Return the text with escapes for what does not show: control characters, direction marks.

    >>> escaped("a\x1b[31m"), escaped("\ud800\u202e")
    ('a\\x1b[31m', '\\ud800\\u202e')
    """
    if text.isprintable():
        return text
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(shown)


@dataclass(frozen=True)
class SourceText:
    """One text a user wrote: the name shown in messages, and the characters."""

    name: str
    text: str

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        r"""The offset at which each line begins; a line ends with LF, CR LF, or CR alone.

        >>> SourceText("a.dpm", "one\rtwo\r\nthree").line_starts
        (0, 4, 9)
        """
        starts = [0]
        starts.extend(match.end() for match in re.finditer(r"\r\n?|\n", self.text))
        return tuple(starts)

    def position(self, offset: int) -> tuple[int, int]:
        r"""Return the line and column of an offset, both counted from 1.

        >>> SourceText("a.dpm", "one\ntwo").position(5)
        (2, 2)
        """
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return a line as written, without its line break; lines count from 1."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True)
class Span:
    """The characters `start <= offset < end` of a source text; every node of a tree has one."""

    __slots__ = ("end", "source", "start")

    source: SourceText
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line the span starts on, from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """The column the span starts at, from 1."""
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        """The characters the span covers."""
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """Return the smallest span that covers this one and the other.

        >>> source = SourceText("a.dpm", "one two")
        >>> Span(source, 0, 3).to(Span(source, 4, 7)).text
        'one two'
        """
        if other.source is not self.source:
            return self
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def __contains__(self, other: Span) -> bool:
        """Return whether all characters of another span are characters of this one.

        >>> source = SourceText("a.dpm", "one two")
        >>> Span(source, 4, 6) in Span(source, 4, 7), Span(source, 3, 6) in Span(source, 4, 7)
        (True, False)
        """
        is_within = self.start <= other.start and other.end <= self.end
        return other.source is self.source and is_within

    def __repr__(self) -> str:
        """Show the place and the text, short enough for a failing test."""
        return f"<{self.source.name}:{self.line}:{self.column} {self.text[:30]!r}>"
