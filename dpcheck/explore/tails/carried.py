"""Tuples that carry a number without bounds to where it is output: their components apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from dpcheck.explore.tails.wide import holding_numbers
from dpcheck.model import program
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr, Var, reads
from dpcheck.model.trees import descendants, parts, replaced
from dpcheck.records import replace

Cells = Mapping[str, tuple[str, ...]]
"""Variables that hold tuples, with a variable for each component."""


def with_tuples_apart(nodes: tuple[program.Node, ...]) -> tuple[program.Node, ...]:
    """Return the nodes where a tuple with a number without bounds is a variable a component.

    So `t := (z, b)  output t` copies z and outputs a tuple, as `output (z, b)` does. Law: where all
    that a variable is given are tuples of one length, none of which reads it, it is what its
    components are, of which each is given the same values at the same nodes. Other tuples stay,
    also those of which more is asked than to be output: mistakes name what the user wrote.
    """
    while cells := _carried(nodes):  # a copy, or a tuple in a tuple, is one after that
        nodes = _apart(nodes, cells)
    return nodes


def _carried(nodes: tuple[program.Node, ...]) -> Cells:
    """Return the variables of which all values are tuples of one length, some with such numbers."""
    wide = holding_numbers(nodes).keys()
    if not wide:
        return {}
    given: dict[str, list[tuple[Expr, ...] | None]] = {}
    for node in nodes:
        for name in () if isinstance(node, program.Forget) else program.written(node):
            given.setdefault(name, []).append(_items_given(node))
    every = (part for node in nodes for part in descendants(node))
    kept = {cell for part in every if isinstance(part, ArrayVar) for cell in part.cells}
    kept |= {name for node in nodes for name in _read_as_one(node)}
    return {
        name: tuple(f"{name}[{k}]" for k in range(1, length + 1))
        for name, values in given.items()
        if name not in kept and (length := _length(values))
        if any(not wide.isdisjoint(reads(*items)) for items in values if items)
    }


def _read_as_one(part: object, *, is_apart: bool = False) -> Iterator[str]:
    """Yield the variables read where something is asked of a tuple as one: `t = (0, 1)`."""
    match part:
        case Var(name=name):
            if not is_apart:
                yield name
        case program.Output(value=value) | program.Assign(value=value, within=None):
            yield from _read_as_one(value, is_apart=True)
        case Apply(op="tuple" | "array", args=items) if is_apart:
            for item in items:
                yield from _read_as_one(item, is_apart=True)
        case Apply(op="index", args=(among, index)):
            yield from _read_as_one(among, is_apart=True)
            yield from _read_as_one(index)
        case _:
            for each in parts(part):
                yield from _read_as_one(each)


def _items_given(node: program.Node) -> tuple[Expr, ...] | None:
    """Return the components of the tuple that a variable is given, None of anything else."""
    match node:
        case program.Assign(target=name, value=Apply(op="tuple", args=items), within=None):
            return None if name in reads(*items) else items
        case program.Assign(value=Const(value=tuple() as values, span=span), within=None):
            return tuple(Const(value, span) for value in values)
    return None


def _length(values: list[tuple[Expr, ...] | None]) -> int:
    """Return how many components all values have, 0 where they have no one number."""
    lengths = {0 if items is None else len(items) for items in values}
    return lengths.pop() if len(lengths) == 1 else 0


def _apart(nodes: tuple[program.Node, ...], cells: Cells) -> tuple[program.Node, ...]:
    """Return the nodes with the components of some variables in their place."""
    result = [replaced(node, partial(_read, cells)) for node in nodes]
    for k, node in enumerate(tuple(result)):
        match node:
            case program.Assign(target=name, next=after) if name in cells:
                items = _items_given(node)
                assert items is not None, "all its values are tuples"
                for cell, item in reversed([*zip(cells[name], items, strict=True)][1:]):
                    result.append(replace(node, target=cell, value=item, next=after))
                    after = len(result) - 1
                result[k] = replace(node, target=cells[name][0], value=items[0], next=after)
            case program.Forget(targets=targets):
                every = (cell for name in targets for cell in cells.get(name, (name,)))
                result[k] = replace(node, targets=tuple(every))
    return tuple(result)


def _read(cells: Cells, part: object) -> Expr | None:
    """Return the tuple of its components for a variable that is read, or a component of it."""
    match part:
        case Apply(op="index", args=(Var(name=name), Const(value=int(k))), span=span) if (
            0 < k <= len(cells.get(name, ()))
        ):
            return Var(cells[name][k - 1], span)
        case Var(name=name, span=span) if name in cells:
            return Apply("tuple", tuple(Var(cell, span) for cell in cells[name]), span)
    return None
