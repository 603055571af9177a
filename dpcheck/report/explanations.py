"""`dpcheck explain`: what the codes of mistakes mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.report.styled import Line, Piece, line


def explanation_lines(kind: type[Mistake]) -> Iterator[Line]:
    """Yield the code, its one-line meaning, and the explanation."""
    yield line(Piece(f"{kind.severity}[{kind.code}]", "strong"), ": ", _meaning(kind), hang=4)
    yield line()
    for text in kind.explanation.strip().splitlines():
        yield line(text)


def index_lines(kinds: Mapping[str, type[Mistake]]) -> Iterator[Line]:
    """Yield one line a code."""
    for code, kind in kinds.items():
        yield line(Piece(code, "strong"), "  ", _meaning(kind), hang=len(code) + 2)


def _meaning(kind: type[Mistake]) -> str:
    """Return the first line of the class's docstring, which says what is wrong, in plain text."""
    first = (kind.__doc__ or "").strip().split("\n", 1)[0]
    first = first if first.endswith("...") else first.removesuffix(".")
    is_name = len(first) > 1 and first[1].isupper()
    return first if is_name else first[:1].lower() + first[1:]
