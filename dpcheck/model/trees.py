"""Walks that are the same on all trees, of the surface and of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar, cast

from dpcheck.records import fields, replace
from dpcheck.source import Span

Tree = TypeVar("Tree")
Rule = Callable[[object], object | None]


def parts(node: object) -> list[object]:
    """Return the nodes directly below a node, in source order; values and places are no nodes.

    >>> from dpcheck.model.surface import Identifier
    >>> parts(Identifier("x", span=None))
    []
    """
    found: list[object] = []
    kind: Any = type(node)  # to mypy, a type is no key of a cache
    names = _fields_of_nodes(kind)
    if names:
        _collect([getattr(node, name) for name in names], found)
    return found


def _collect(values: Iterable[Any], found: list[object]) -> None:
    for value in values:
        kind: Any = type(value)
        if kind is tuple:
            _collect(value, found)
        elif _is_node(kind):
            found.append(value)


_is_node = cache(is_dataclass)


def descendants(node: object) -> Iterator[object]:
    """Yield a node and everything below it."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(parts(current))


def too_deep_place(root: Any, limit: int) -> Span | None:  # noqa: ANN401 (any node, or a part of one)
    """Return the place of the first node found more than `limit` levels below the root.

    Flat parts (the items of a list) do not count as levels. None if the tree is not so deep.
    A text of n characters has fewer than n levels, so short ones need no walk. No recursion.
    """
    if root.span.end - root.span.start <= limit:
        return None
    level: list[Any] = [root]
    for _ in range(limit):
        level = [part for node in level for part in parts(node)]
        if not level:
            return None
    span = level[0].span
    assert isinstance(span, Span)
    return Span(span.source, span.start, min(span.end, span.start + 1))


def replaced(node: Tree, rule: Rule) -> Tree:
    """Return a tree with what a rule puts in place of a node, where it puts anything there."""
    found: Any = rule(node)
    if found is not None:
        return cast("Tree", found)
    given: Any = node
    kind: Any = type(given)
    if kind is tuple:
        return cast("Tree", tuple(replaced(item, rule) for item in given))
    if not _is_node(kind):
        return node
    below = {name: replaced(getattr(node, name), rule) for name in _fields_of_nodes(kind)}
    return cast("Tree", replace(given, **below))


@cache
def _fields_of_nodes(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 (see `parts`)
    """Return the fields that can hold other nodes: those that are compared, and no leaves."""
    texts = ("str", "bool", "int", "Span")
    known = (field for field in fields(kind) if field.compare and field.type not in texts)
    return tuple(field.name for field in known if "Value" not in str(field.type))
