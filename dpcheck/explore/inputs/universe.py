"""The universe of a mechanism's inputs: one row per database, one column per input variable.

Rows are built input by input and cell by cell, in the order of the declared sets (the first input
varies slowest). A condition prunes as soon as it can: evaluated once everything it reads is there,
and before that wherever the bounds of what is missing already decide it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dpcheck.chain.arrays import differences, marked, ranked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.weights.rows import ranges
from dpcheck.diagnostics.runs import EmptyUniverse, WrongKindOnRun
from dpcheck.explore.inputs.certain_values import TRUTH, shape, shape_of_column
from dpcheck.explore.values.codes import FIRST_FAULT, TRUE, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated, truths
from dpcheck.explore.values.intervals import may_hold
from dpcheck.explore.values.mistakes import MistakesFound, mistake_of
from dpcheck.limits import HOPELESS, Limits
from dpcheck.model.evaluation import described
from dpcheck.model.expressions import Expr, Logic, reads
from dpcheck.model.program import Input, Mechanism
from dpcheck.model.values import SetValue

Columns = dict[str, IntArray]

BLOCK = 1 << 20
"""Rows that are made at once: bounds the memory they take before conditions leave some out."""


def universe(mechanism: Mechanism, table: ValueTable, limits: Limits) -> tuple[Columns, int]:
    """Return the columns [n_inputs] of all inputs, and n_inputs.

    Raises `MistakesFound` for an empty universe or a faulty declaration.
    """
    columns: Columns = {}
    n_rows = 1
    for one in mechanism.inputs:
        columns, n_rows = _extended(one, columns, n_rows, table, limits)
        if n_rows == 0:
            raise MistakesFound([EmptyUniverse(one.span, one.name)])
    return columns, n_rows


def _extended(
    one: Input, columns: Columns, n_rows: int, table: ValueTable, limits: Limits
) -> tuple[Columns, int]:
    """Return the columns with one more input."""
    names = (one.name,) if one.lo is None else one.cells
    pool, starts, sizes = _elements(one, columns, n_rows, table, limits)
    conditions = _conjuncts(one.where)
    used = frozenset(name for condition in conditions for name in reads(condition))
    shapes = {name: shape_of_column(columns[name], table) for name in used & set(columns)}
    shapes |= dict.fromkeys(names, shape_of_column(pool, table))
    certain = frozenset(id(c) for c in conditions if shape(c, shapes) == TRUTH)
    for k, name in enumerate(names):
        total = int(sizes.sum())
        if k == 0 and not conditions:
            limits.check_states(_free_rows(sizes.tolist(), len(names)))
        kept: list[Columns] = []
        unsettled: set[int] = set()
        n_kept = 0
        for first, last in _blocks(sizes, total):
            limits.check_time(f"{n_kept} inputs built")
            part_sizes = sizes[first:last]
            owner = np.arange(first, last).repeat(part_sizes)
            part = {known: column[owner] for known, column in columns.items()}
            part[name] = pool[ranges(starts[first:last], part_sizes)]
            part["#row"] = owner
            if conditions:
                missing = names[k + 1 :]
                good, unsure = _kept(conditions, part, len(owner), missing, pool, certain, table)
                unsettled |= unsure
                part = {known: column[good] for known, column in part.items()}
            kept.append(part)
            n_kept += len(part["#row"])
            limits.check_states(n_kept)
        n_rows = n_kept
        columns = {
            known: np.concatenate([np.empty(0, np.int64), *(part[known] for part in kept)])
            for known in (*columns, name, "#row")
            if known != "#row" or kept
        }
        owner = columns.pop("#row", np.empty(0, np.int64))
        starts, sizes = starts[owner], sizes[owner]
        known_now = frozenset(columns)
        conditions = [
            c for c in conditions if id(c) in unsettled or not known_now.issuperset(reads(c))
        ]
    return columns, n_rows


def _free_rows(sizes: list[int], n_cells: int) -> int:
    """Return how many rows come of rows with `n_cells` free cells: size^n each, or `HOPELESS`.

    Counting stops there, because the number itself may be too long to write.
    """
    n_rows = 0
    for n in range(1, n_cells + 1):
        n_rows = sum(size**n for size in sizes)
        if n_rows >= HOPELESS or max(sizes) == 1:
            break
    return n_rows


def _blocks(sizes: IntArray, total: int) -> list[tuple[int, int]]:
    """Cut rows of sizes [n] so that each block expands to about `BLOCK` rows."""
    if total < BLOCK:
        return [(0, len(sizes))] if total else []
    cuts = marked(differences(sizes.cumsum() // BLOCK)) + 1
    edges = [0, *cuts.tolist(), len(sizes)]
    return list(pairwise(edges))


def _elements(
    one: Input, columns: Columns, n_rows: int, table: ValueTable, limits: Limits
) -> tuple[IntArray, IntArray, IntArray]:
    """Return a pool of element codes, and per row where its set starts in it and how long it is."""
    domains = evaluated(one.domain, Frame(n_rows, columns), table)
    distinct, group = ranked(domains)
    members = []
    for code in distinct.tolist():
        if code >= FIRST_FAULT:
            raise MistakesFound([mistake_of(table.fault_of(code), one.domain.span, ())])
        value = table.value(code)
        if not isinstance(value, SetValue):
            what = f"an input needs a set, not {described(value)}"
            raise MistakesFound([WrongKindOnRun(one.domain.span, (), what)])
        limits.check_states(value.size)
        members.append(table.codes(value.items))
    sizes = np.array([len(member) for member in members], np.int64)
    starts = sizes.cumsum() - sizes
    return np.concatenate(members), starts[group], sizes[group]


def _conjuncts(where: Expr | None) -> list[Expr]:
    match where:
        case None:
            return []
        case Logic(op="and", args=args):
            return [part for arg in args for part in _conjuncts(arg)]
        case _:
            return [where]


def _kept(
    conditions: list[Expr],
    columns: Columns,
    n_rows: int,
    missing: tuple[str, ...],
    pool: IntArray,
    certain: frozenset[int],
    table: ValueTable,
) -> tuple[BoolArray, set[int]]:
    """Return which rows satisfy the conditions, or still may once the missing cells are there.

    A condition without a value on some row is a mistake unless one before it, which waits for
    missing cells, may still rule the row out: the `id`s of such conditions come second. After one
    that waits and may turn out to have no value, no other one may rule a row out: all wait.
    """
    good = np.ones(n_rows, np.bool_)
    unsettled: set[int] = set()
    is_waiting = False
    for place, condition in enumerate(conditions):
        rows = marked(good)
        frame = Frame(n_rows, columns).at(rows)
        if frozenset(columns).issuperset(reads(condition)):
            truth = truths(condition, frame, table)
            if len(truth) and int(truth.max()) >= FIRST_FAULT:
                if not is_waiting:
                    fault = table.fault_of(int(truth.max()))
                    raise MistakesFound([mistake_of(fault, condition.span, ())])
                unsettled.add(id(condition))
                is_waiting = True
            good[rows] = (truth == TRUE) | (truth >= FIRST_FAULT)
        elif id(condition) not in certain:
            unsettled.update(id(later) for later in conditions[place:])
            break
        else:
            is_waiting = True
            if len(pool):
                good[rows] = may_hold(condition, frame, frozenset(missing), pool)
    return good, unsettled
