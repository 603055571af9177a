"""How deep a surface tree is, found without recursion."""

from __future__ import annotations

from typing import Any

from dpcheck.model import trees
from dpcheck.source import Span


def too_deep_place(root: Any, limit: int) -> Span | None:  # noqa: ANN401 (any node, or a part of one)
    """Return the place of the first node found more than `limit` levels below the root.

    Flat parts (the items of a list) do not count as levels. None if the tree is not so deep.
    A text of n characters has fewer than n levels, so short ones need no walk.
    """
    if root.span.end - root.span.start <= limit:
        return None
    level: list[Any] = [root]
    for _ in range(limit):
        below = [part for node in level for part in trees.parts(node)]
        if not below:
            return None
        level = below
    span = level[0].span
    assert isinstance(span, Span)
    return Span(span.source, span.start, min(span.end, span.start + 1))
