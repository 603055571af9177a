"""The universe of a mechanism's inputs: one row per database, one column per input variable.

Rows are built input by input and cell by cell, in the order of the declared sets (the first input
varies slowest). A condition prunes as soon as it can: evaluated once everything it reads is there,
and before that wherever the bounds of what is missing already decide it.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.diagnostics.runs import EmptyUniverse
from dpcheck.explore.inputs.certain_values import TRUTH, shape, shape_of_column
from dpcheck.explore.values.codes import FIRST_FAULT, TRUE, ValueTable
from dpcheck.explore.values.evaluate import Frame, truths
from dpcheck.explore.values.intervals import may_hold
from dpcheck.explore.values.mistakes import MistakesFound, mistake_of
from dpcheck.limits import HOPELESS, Limits
from dpcheck.model.expressions import Expr, Logic, reads
from dpcheck.model.program import Input, Mechanism

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
    limits.check_states(one.domain.size)
    pool = table.codes(one.domain.items)
    conditions = _conjuncts(one.where)
    used = frozenset(name for condition in conditions for name in reads(condition))
    shapes = {name: shape_of_column(columns[name], table) for name in used & set(columns)}
    shapes |= dict.fromkeys(one.cells, shape_of_column(pool, table))
    certain = frozenset(id(c) for c in conditions if shape(c, shapes) == TRUTH)
    if not conditions:
        limits.check_states(_free_rows(n_rows, len(pool), len(one.cells)))
    for k, name in enumerate(one.cells):
        kept: list[Columns] = []
        unsettled: set[int] = set()
        n_kept = 0
        for rows in _blocks(n_rows, len(pool)):
            limits.check_time(f"{n_kept} inputs built")
            part = {known: column[rows].repeat(len(pool)) for known, column in columns.items()}
            part[name] = np.tile(pool, len(rows))
            if conditions:
                good, unsure = _kept(conditions, part, one.cells[k + 1 :], pool, certain, table)
                unsettled |= unsure
                part = {known: column[good] for known, column in part.items()}
            kept.append(part)
            n_kept += len(part[name])
            limits.check_states(n_kept)
        n_rows = n_kept
        columns = {
            known: np.concatenate([np.empty(0, np.int64), *(part[known] for part in kept)])
            for known in (*columns, name)
        }
        known_now = frozenset(columns)
        conditions = [
            c for c in conditions if id(c) in unsettled or not known_now.issuperset(reads(c))
        ]
    return columns, n_rows


def _free_rows(n_rows: int, n_values: int, n_cells: int) -> int:
    """Return how many rows come of rows with `n_cells` free cells, or at least `HOPELESS`.

    Counting stops there, because the number itself may be too long to write.
    """
    for _ in range(n_cells if n_values != 1 else 0):
        n_rows *= n_values
        if n_rows >= HOPELESS:
            break
    return n_rows


def _blocks(n_rows: int, n_values: int) -> list[IntArray]:
    """Cut rows so that each block expands to about `BLOCK` rows, if each gets so many values."""
    at_once = max(1, BLOCK // max(n_values, 1))
    return [np.arange(k, min(k + at_once, n_rows)) for k in range(0, n_rows, at_once)]


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
    n_rows = len(next(iter(columns.values())))
    good = np.ones(n_rows, np.bool_)
    unsettled: set[int] = set()
    is_waiting = False
    for place, condition in enumerate(conditions):
        rows = marked(good)
        frame = Frame(n_rows, columns).at(rows)
        if frozenset(columns).issuperset(reads(condition)):
            truth = truths(condition, frame, table)
            good[rows] = (truth == TRUE) | (truth >= FIRST_FAULT)
            if int(truth.max(initial=0)) < FIRST_FAULT:
                continue
            if not is_waiting:
                fault = table.fault_of(int(truth.max()))
                raise MistakesFound([mistake_of(fault, condition.span, ())])
        elif id(condition) in certain:
            is_waiting = True
            if len(pool):
                good[rows] = may_hold(condition, frame, frozenset(missing), pool)
            continue
        unsettled.update(id(later) for later in conditions[place:])
        break
    return good, unsettled
