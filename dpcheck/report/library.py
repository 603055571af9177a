"""`dpcheck list`: the libraries that ship with dpcheck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpcheck.report.styled import Line, Piece, line


def library_lines(titles: Iterable[tuple[str, str]]) -> Iterator[Line]:
    """Yield a line for every library, its name and its title, the titles one below the other.

    >>> from dpcheck.report.styled import plain
    >>> [plain(each) for each in library_lines([("rappor", "RAPPOR."), ("survey", "A survey.")])]
    ['std.rappor  RAPPOR.', 'std.survey  A survey.']
    """
    known = tuple(titles)
    width = max((len(name) for name, _ in known), default=0)
    for name, title in known:
        yield line(Piece(f"std.{name}".ljust(width + 4), "strong"), "  ", title)
