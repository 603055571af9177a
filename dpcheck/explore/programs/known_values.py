"""What is known of variables after each node, by values from constants, inputs and bounded draws.

Such a draw has finitely many values, each of which is known after it, whatever its weight. What is
not known has no value: `UNASSIGNED`, a fault that spreads to all that needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

import numpy as np

from dpcheck.explore.sampling.values_drawn import values_drawn
from dpcheck.explore.tails.carried import cells_of, tuples_given, with_components_read
from dpcheck.explore.values.codes import FALSE, FIRST_FAULT, TRUE, UNASSIGNED, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated
from dpcheck.model import program
from dpcheck.model.expressions import Apply, ArrayVar, Expr, Logic, Var, reads
from dpcheck.model.trees import replaced
from dpcheck.model.values import SetValue

Codes = Mapping[str, int]
"""Variables with the codes of their values; of others nothing is known."""


def with_components_apart(nodes: tuple[program.Node, ...]) -> tuple[program.Node, ...]:
    """Return the nodes where a variable for each component stands for one that holds tuples.

    So one component is known where another is not. Law: a variable that is given tuples of one
    length alone is what its components are, which are given their values at once.
    """
    while cells := cells_of(tuples_given(nodes)):  # a copy is given tuples after that
        nodes = tuple(
            program.Unpack(cells[node.target], node.value, node.next, node.span)
            if isinstance(node, program.Assign) and node.target in cells
            else node
            for node in with_components_read(nodes, cells)
        )
    return nodes


def counting(nodes: Sequence[program.Node], unknown: AbstractSet[str]) -> frozenset[str]:
    """Return the variables that conditions read beside loops, and all they are assigned from.

    Conditions that read what is always unknown tell nothing.
    """
    branches = [node for node in nodes if isinstance(node, program.Branch)]
    if not any(node.is_loop_head for node in branches):
        return frozenset()
    asked = [set(reads(part)) for node in branches for part in _parts(node.condition)]
    names, before = set[str]().union(*(e for e in asked if unknown.isdisjoint(e))), set[str]()
    given = [(program.written(node), set(reads(*_given(node)))) for node in nodes]
    while names != before:
        before = set(names)
        names.update(*(read for written, read in given if not names.isdisjoint(written)))
    return frozenset(names)


def steps(
    node: program.Node,
    known: Codes,
    names: AbstractSet[str],
    most_drawn: int,
    table: ValueTable,
) -> Iterator[tuple[int, Codes]]:
    """Yield the nodes that may come next, and what is known then; what is unknown is a fault.

    So it is for other names, and for draws with more than so many values.
    """
    ways = program.successors(node)
    if isinstance(node, program.Branch) and not known.keys().isdisjoint(reads(node.condition)):
        truth = _truth(node.condition, known, table)
        ways = {TRUE: (node.then,), FALSE: (node.orelse,)}.get(truth, ways)
    unknown = dict.fromkeys(program.written(node), UNASSIGNED)
    is_read = not names.isdisjoint(unknown)
    for given in _changes(node, known, most_drawn, table) if is_read else ({},):
        yield from ((way, {**known, **unknown, **given}) for way in ways)


def _given(node: program.Node) -> tuple[Expr, ...]:
    """Return the expressions that tell which values a node gives."""
    match node:
        case program.Assign(value=value) | program.Unpack(value=value):
            return (value,)
        case program.AssignCell(index=index, value=value):
            return index, value
        case program.Sample(distribution=distribution):
            values = values_drawn(distribution)
            return () if values is None else (values,)
    return ()


def _changes(
    node: program.Node, known: Codes, most_drawn: int, table: ValueTable
) -> Iterator[Codes]:
    """Yield which values a node may give; those left out are unknown."""
    match node:
        case program.Sample(target=target) if most_drawn > 0:
            drawn = [_code(each, known, table) for each in _given(node)]
            values = [table.value(code) for code in drawn if code < FIRST_FAULT]
            match values:
                case [SetValue(size=size) as found] if 0 < size <= most_drawn:
                    yield from ({target: table.code(value)} for value in found)
                case _:
                    yield {}
        case program.Assign(target=target, value=value):
            yield {target: _code(value, known, table)}
        case program.AssignCell(lo=lo, cells=cells, index=index, value=value):
            place = _code(index, known, table) - lo
            others = {cell: known[cell] for cell in cells if cell in known}
            code = _code(value, known, table)
            yield {**others, cells[place]: code} if 0 <= place < len(cells) else {}
        case program.Unpack(targets=targets, value=value):
            yield dict(zip(targets, _items(value, known, table), strict=False))
        case _:
            yield {}


def _items(value: Expr, known: Codes, table: ValueTable) -> list[int]:
    """Return the components of a tuple, none where it is not known."""
    if isinstance(value, Apply) and value.op == "tuple":
        return [_code(item, known, table) for item in value.args]
    code = _code(value, known, table)
    items = () if code >= FIRST_FAULT else table.value(code)
    return [table.code(item) for item in items] if isinstance(items, tuple) else []


def _truth(condition: Expr, known: Codes, table: ValueTable) -> int:
    """Return `TRUE`, `FALSE`, or a fault where what is known does not decide a condition.

    One part may decide it, wherever it stands: no run meets a fault in what stands before.
    """
    if isinstance(condition, Logic) and condition.op in ("and", "or"):
        found = [_truth(each, known, table) for each in condition.args]
        deciding = FALSE if condition.op == "and" else TRUE
        return deciding if deciding in found else max(found)
    return _code(condition, known, table)


def _parts(condition: Expr) -> Iterator[Expr]:
    """Yield the parts that `_truth` looks at."""
    if isinstance(condition, Logic) and condition.op in ("and", "or"):
        for each in condition.args:
            yield from _parts(each)
    else:
        yield condition


def _code(expr: Expr, known: Codes, table: ValueTable) -> int:
    """Return the code of a value, or a fault where it is not known.

    No run meets a fault in a cell that is not chosen.
    """
    code = _evaluated(expr, known, table)
    if code < FIRST_FAULT or known.keys().isdisjoint(reads(expr)):
        return code
    return _evaluated(replaced(expr, partial(_chosen, known, table)), known, table)


def _chosen(known: Codes, table: ValueTable, part: object) -> Expr | None:
    """Return the cell or component that a known index chooses."""
    match part:
        case Apply(op="index", args=(ArrayVar(lo=lo, cells=cells, span=span), index)):
            items = tuple(Var(cell, span) for cell in cells)
        case Apply(op="index", args=(Apply(op="tuple", args=items), index)):
            lo = 1
        case _:
            return None
    place = _evaluated(index, known, table) - lo
    return items[place] if 0 <= place < len(items) else None


def _evaluated(expr: Expr, known: Codes, table: ValueTable) -> int:
    """Return the code of a value, or a fault; a variable that is not known has no value."""
    frame = Frame(1, {name: np.array([known.get(name, UNASSIGNED)]) for name in reads(expr)})
    return int(evaluated(expr, frame, table)[0])
