"""Walks over the surface tree that need no meaning: statements, names they assign, calls."""

from __future__ import annotations

from collections.abc import Iterator

from dpcheck.model import surface, trees


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
                case surface.For() | surface.While() | surface.Repeat():
                    waiting.extend(current.body)


def assigned_names(body: tuple[surface.Statement, ...]) -> tuple[str, ...]:
    """Return the names that some statement of a mechanism's body assigns: its locals."""
    found: dict[str, None] = {}
    for statement in statements(body):
        match statement:
            case surface.Assign(place=place) | surface.Sample(place=place):
                found.update((identifier.name, None) for identifier in place_names(place))
            case surface.Var(name=identifier) | surface.Query(name=identifier):
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
    for below in trees.descendants(node):
        match below:
            case surface.Call(function=function):
                yield function
            case surface.Run(mechanism=mechanism):
                yield mechanism
            case surface.Sample(distribution=surface.Name(name=name, span=span)):
                yield surface.Identifier(name, span=span)
