"""Walks over the surface tree that need no meaning: parts, names that statements assign, calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

from dpcheck.model import surface

_NODES: dict[type[object], bool] = {}
_TEXTS = frozenset({"str", "bool", "int"})


@cache
def _fields(kind: type[object]) -> tuple[str, ...]:
    """Return the fields that can hold other nodes: those that are compared, and no texts."""
    assert dataclasses.is_dataclass(kind), "nodes are dataclasses"
    return tuple(f.name for f in dataclasses.fields(kind) if f.compare and f.type not in _TEXTS)


def parts(node: object) -> list[object]:
    """Return the nodes directly below a node, in source order.

    >>> parts(surface.Identifier("x", span=None))
    []
    """
    found: list[object] = []
    for name in _fields(type(node)):
        _collect(getattr(node, name), found)
    return found


def _collect(value: object, found: list[object]) -> None:
    kind = type(value)
    if kind is tuple:
        for item in value:  # type: ignore[attr-defined]
            _collect(item, found)
    elif _is_node(kind):
        found.append(value)


def _is_node(kind: type[object]) -> bool:
    known = _NODES.get(kind)
    if known is None:
        known = _NODES[kind] = dataclasses.is_dataclass(kind)
    return known


def descendants(node: object) -> Iterator[object]:
    """Yield a node and everything below it."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(parts(current))


def statements(body: tuple[surface.Statement, ...]) -> Iterator[surface.Statement]:
    """Yield all statements of a mechanism's body, each before those inside of it.

    Statements stand in bodies only, never below an expression: those are not looked through.
    """
    for statement in body:
        waiting = [statement]
        while waiting:
            current = waiting.pop()
            yield current
            match current:
                case surface.If(branches=branches, otherwise=otherwise):
                    for _, inner in branches:
                        waiting.extend(inner)
                    waiting.extend(otherwise)
                case surface.For(body=inner) | surface.While(body=inner) | surface.Repeat(body=inner):
                    waiting.extend(inner)


def assigned_names(body: tuple[surface.Statement, ...]) -> tuple[str, ...]:
    """Return the names that some statement of a mechanism's body assigns: its locals."""
    found: dict[str, None] = {}
    for statement in statements(body):
        match statement:
            case surface.Assign(place=place) | surface.Sample(place=place):
                found.update((identifier.name, None) for identifier in place_names(place))
            case surface.Var(name=identifier):
                found[identifier.name] = None
    return tuple(found)


def place_names(place: surface.Place) -> tuple[surface.Identifier, ...]:
    """Return the names on the left of `:=` or `~`."""
    match place:
        case surface.Identifier():
            return (place,)
        case surface.Cell():
            return (place.name,)
        case surface.Pattern():
            return place.names


def called_names(node: object) -> Iterator[surface.Identifier]:
    """Yield the names that are called below a node: `f(x)`, `run m()`, and plain names.

    A distribution without parameters is called by its name alone.
    """
    for below in descendants(node):
        match below:
            case surface.Call(function=function):
                yield function
            case surface.Run(mechanism=mechanism):
                yield mechanism
            case surface.Sample(distribution=surface.Name(name=name, span=span)):
                yield surface.Identifier(name, span=span)
