"""How deep a surface tree is, found without recursion."""

from __future__ import annotations

from functools import cache
from typing import Any

from dpcheck.records import fields
from dpcheck.source import Span


def too_deep_place(root: Any, limit: int) -> Span | None:  # noqa: ANN401 (any node, or a part of one)
    """Return the place of the first node found more than `limit` levels below the root.

    Flat parts (the items of a list) do not count as levels. None if the tree is not so deep.
    A text of n characters has fewer than n levels, so short ones need no walk.
    """
    if root.span.end - root.span.start <= limit:
        return None
    level = [root]
    for _ in range(limit):
        below: list[Any] = []
        for node in level:
            for name in _parts(type(node)):  # type: ignore[arg-type] # mypy: a type is no Hashable
                part = getattr(node, name)
                if type(part) is tuple:
                    _add_items(below, part)
                elif part is not None and type(part) not in _LEAVES:
                    below.append(part)
        if not below:
            return None
        level = below
    span = level[0].span
    assert isinstance(span, Span)
    return Span(span.source, span.start, min(span.end, span.start + 1))


_LEAVES = frozenset({str, int, bool})


def _add_items(below: list[Any], items: tuple[Any, ...]) -> None:
    for item in items:
        if type(item) is tuple:
            _add_items(below, item)
        elif type(item) not in _LEAVES:
            below.append(item)


@cache
def _parts(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.compare)
