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
    components are, of which each is given the same values at the same nodes. So `(a, b) := t` gives
    a and b their components one after the other. Other tuples stay, also those of which more is
    asked than to be output or taken apart: mistakes name what the user wrote.
    """
    if not holding_numbers(nodes):
        return nodes
    nodes = _one_by_one(nodes)
    while cells := _carried(nodes):  # a copy, or a tuple in a tuple, is one after that
        nodes = _one_by_one(_apart(nodes, cells))
    return nodes


def _one_by_one(nodes: tuple[program.Node, ...]) -> tuple[program.Node, ...]:
    """Return the nodes where each component of a tuple that is written out is assigned by itself.

    `(a, b) := (b, a)` reads both before it assigns any: where one assigned before is read, all are
    kept in other variables first.
    """
    result = list(nodes)
    for k, node in enumerate(nodes):
        match node:
            case program.Unpack(targets=names, value=Apply(op="tuple", args=items)):
                if len(names) != len(items):
                    continue  # a mistake, where a run meets it
                given = [*zip(names, items, strict=True)]
                if not set(names).isdisjoint(reads(*items)):
                    kept = [f"{name}#kept{k}" for name in names]
                    copies = [Var(name, node.span) for name in kept]
                    given = [*zip(kept, items, strict=True), *zip(names, copies, strict=True)]
                after = node.next
                for name, value in reversed(given[1:]):
                    result.append(program.Assign(name, value, None, after, node.span))
                    after = len(result) - 1
                result[k] = program.Assign(*given[0], None, after, node.span)
    return tuple(result)


def tuples_given(nodes: tuple[program.Node, ...]) -> dict[str, list[tuple[Expr, ...]]]:
    """Return the variables of which all values are tuples of one length, with those of each.

    Cells of arrays that are read as such are none of them.
    """
    given: dict[str, list[tuple[Expr, ...]]] = {}
    for node in nodes:
        for name in () if isinstance(node, program.Forget) else program.written(node):
            given.setdefault(name, []).append(_items_given(node))
    every = (part for node in nodes for part in descendants(node))
    kept = {cell for part in every if isinstance(part, ArrayVar) for cell in part.cells}
    return {
        name: values
        for name, values in given.items()
        if name not in kept and values[0] and len(set(map(len, values))) == 1
    }


def cells_of(tuples: Mapping[str, list[tuple[Expr, ...]]]) -> Cells:
    """Return a variable for each component."""
    return {
        name: tuple(f"{name}[{k}]" for k in range(1, len(values[0]) + 1))
        for name, values in tuples.items()
    }


def _carried(nodes: tuple[program.Node, ...]) -> Cells:
    """Return the variables of which all values are tuples of one length, some with such numbers."""
    wide = holding_numbers(nodes).keys()
    kept = {name for node in nodes for name in _read_as_one(node)}
    tuples = {
        name: values
        for name, values in tuples_given(nodes).items()
        if name not in kept and not any(name in reads(*items) for items in values)
        if any(not wide.isdisjoint(reads(*items)) for items in values)
    }
    return cells_of(tuples)


def _read_as_one(part: object, *, is_apart: bool = False) -> Iterator[str]:
    """Yield the variables read where something is asked of a tuple as one: `t = (0, 1)`."""
    match part:
        case Var(name=name):
            if not is_apart:
                yield name
        case (
            program.Output(value=value)
            | program.Assign(value=value, within=None)
            | program.Unpack(value=value)
        ):
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


def _items_given(node: program.Node) -> tuple[Expr, ...]:
    """Return the components of the tuple that a variable is given, none of anything else."""
    match node:
        case program.Assign(value=Apply(op="tuple", args=items), within=None):
            return items
        case program.Assign(value=Const(value=tuple() as values, span=span), within=None):
            return tuple(Const(value, span) for value in values)
    return ()


def _apart(nodes: tuple[program.Node, ...], cells: Cells) -> tuple[program.Node, ...]:
    """Return the nodes with the components of some variables in their place."""
    result = [*with_components_read(nodes, cells)]
    for k, node in enumerate(tuple(result)):
        match node:
            case program.Assign(target=name, next=after) if name in cells:
                items = _items_given(node)
                for cell, item in reversed([*zip(cells[name], items, strict=True)][1:]):
                    result.append(replace(node, target=cell, value=item, next=after))
                    after = len(result) - 1
                result[k] = replace(node, target=cells[name][0], value=items[0], next=after)
            case program.Forget(targets=targets):
                every = (cell for name in targets for cell in cells.get(name, (name,)))
                result[k] = replace(node, targets=tuple(every))
    return tuple(result)


def with_components_read(nodes: tuple[program.Node, ...], cells: Cells) -> tuple[program.Node, ...]:
    """Return the nodes where the components of some variables are read in their place."""
    return tuple(replaced(node, partial(_read, cells)) for node in nodes)


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
