"""Claims that read shown numbers without bounds, and the chain where less is told of such numbers.

Where a number beyond the window was shown, claims compute with all that it may be at once
(`model.far_numbers`), and the window grows, or is given cells, until every comparison has one
result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import eq
from typing import Final

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.diagnostics.structure import ComputedWithUnbounded
from dpcheck.exact import Number, add, floor, multiply
from dpcheck.explore.tails.laws import cell_moment, kind_moment
from dpcheck.explore.tails.tails import Window, WindowTooSmall
from dpcheck.explore.values.codes import FIRST_FAULT, PLAIN, ValueTable
from dpcheck.explore.values.mistakes import MistakesFound
from dpcheck.model.evaluation import Fault, evaluate
from dpcheck.model.expressions import Apply, Expr, reads
from dpcheck.model.far_numbers import FarNumber, NotFarEnough, combined, far_integer, mean
from dpcheck.model.trees import descendants
from dpcheck.model.values import ArrayValue, Beyond, Value
from dpcheck.records import replace
from dpcheck.source import Span

OUTPUT: Final = "output"

MANY_STEPS: Final = 14
"""From so wide a margin on it is asked whether any window would do."""
MANY_PARTS: Final = 64
"""So many parts of cells are looked at before there is another chain."""
FAR_OUT: Final = 2**65536
"""Farther out than all that claims compare numbers with."""


def values_beyond(
    expr: Expr, columns: Mapping[str, IntArray], table: ValueTable, window: Window
) -> tuple[IntArray, list[Value | None]]:
    """Return the rows [n_beyond] that show numbers beyond the window, and an expression's values.

    columns: by name, each [n_rows]. A value is None where there is none.
    """
    rows = marked(np.isin(columns[OUTPUT], list(_codes_beyond(columns[OUTPUT], table))))
    names = sorted({OUTPUT, *reads(expr)} & columns.keys())
    first, of_row = distinct_rows([columns[name][rows] for name in names])
    values, needed = [], window
    for k in rows[first].tolist():
        beyond: list[Beyond] = []
        codes = {name: columns[name].item(k) for name in names}
        environment = {
            name: as_far(table.value(code), beyond)
            for name, code in codes.items()
            if code < FIRST_FAULT
        }
        try:
            values.append(value_beyond(expr, environment, window))
        except WindowTooSmall as found:
            needed = needed.joined(found.window)
    if needed != window:
        raise WindowTooSmall(needed)
    return rows, [values[k] for k in of_row.tolist()]


def value_beyond(expr: Expr, environment: Mapping[str, Value], window: Window) -> Value | None:
    """Return the value of an expression on numbers beyond a window; None where there is none.

    Raises `WindowTooSmall` where it depends on which of the numbers they are, and `MistakesFound`
    where no window is known to tell.
    """
    try:
        return evaluate(expr, environment)
    except NotFarEnough:
        is_wide = bool(window.breaks) or window.margin >= MANY_STEPS
        if is_wide and not _is_told_far_out(expr, environment):
            what = "a comparison of two shown numbers"
            raise MistakesFound([_not_of_all(expr, what, expr.span)]) from None
        raise WindowTooSmall(_with_cells(expr, environment, window)) from None
    except Fault as fault:
        if fault.kind != "without bounds":
            return None
        title = fault.title.removesuffix(" needs a number with bounds")
        raise MistakesFound([_not_of_all(expr, title, fault.span or expr.span)]) from None


def _with_cells(expr: Expr, environment: Mapping[str, Value], window: Window) -> Window:
    """Return a window in whose cells an expression has more values than in this one.

    Where it has none, cells are parted at the places where a comparison changes, and so are these.
    """
    parts, wider = [environment], window.widened()
    for _ in range(MANY_PARTS):
        if not parts:
            break
        part = parts.pop()
        try:
            evaluate(expr, part)
        except Fault:
            continue  # which the next chain has, too
        except NotFarEnough as found:
            if not found.breaks:
                window = window.joined(wider)
                continue
            places, more = _parted(part, found)
            window = window.with_breaks(places)
            parts += more
    return window


def _parted(
    environment: Mapping[str, Value], found: NotFarEnough
) -> tuple[set[int], list[dict[str, Value]]]:
    """Return the first numbers of parts of a cell but the first, and values for each part."""
    places: set[int] = set()

    def part(value: Value, start: int, end: int | None) -> Value:
        if not isinstance(value, FarNumber) or (found.step,) not in value.terms:
            return value
        way, most = value.terms[found.step,], value.most.get(found.step)
        first = floor(add(value.terms.get((), 0), multiply(way, start)))
        if start:
            places.add(first)
        last = most if end is None else end - 1
        if last == start:
            return first
        return far_integer(found.step, first, floor(way), None if last is None else last - start)

    parts = []
    for start, end in pairwise([0, *found.breaks, None]):
        assert start is not None, "the last one has no end"
        change = partial(part, start=start, end=end)
        parts.append({name: _changed(value, change) for name, value in environment.items()})
    return places, parts


def _not_of_all(expr: Expr, what: str, span: Span) -> ComputedWithUnbounded:
    """Return that an expression has no value for all shown numbers at once."""
    parts = (part for part in descendants(expr) if isinstance(part, Apply) and part.op == "index")
    return ComputedWithUnbounded(span, what, next((p.span.text for p in parts), OUTPUT), None)


def _is_told_far_out(expr: Expr, environment: Mapping[str, Value]) -> bool:
    """Return whether an expression has a value far out, where other numbers are still farther.

    If it has none, numbers beyond the window are compared with others inside, to its very end.
    """

    def moved(value: Value, to: int) -> Value:
        if isinstance(value, FarNumber):
            (way,) = (c for steps, c in value.terms.items() if steps)
            return combined("+", FarNumber(value.terms), multiply(way, FAR_OUT))
        return to if type(value) is int else value

    try:
        for to in (2 * FAR_OUT, -2 * FAR_OUT):
            move = partial(moved, to=to)
            shown = {k: _changed(v, move) for k, v in environment.items() if k.startswith(OUTPUT)}
            evaluate(expr, {**environment, **shown})
    except (NotFarEnough, Fault):
        return False
    return True


def as_far(value: Value, beyond: list[Beyond]) -> Value:
    """Return a value with a `FarNumber` for each number beyond the window, which is put down."""

    def far(one: Value) -> Value:
        if not isinstance(one, Beyond):
            return one
        beyond.append(one)
        most = None if one.last is None else abs(one.last - one.first)
        return far_integer(len(beyond) - 1, one.first, 1 if one.is_above else -1, most)

    return _changed(value, far)


def mean_beyond(number: FarNumber, beyond: Sequence[Beyond], window: Window) -> Number:
    """Return the mean over all that the numbers put down by `as_far` may be.

    See `kind_moment`, and `cell_moment`, where there is one ratio. Given the states of a run they
    are independent: what is read after a number was shown does not depend on it.
    """

    def moment(step: int, k: int) -> Number:
        one = beyond[step]
        if one.last is None:
            return kind_moment(window.ratios, one.level, k)
        return cell_moment(window.ratios[0], abs(one.last - one.first) + 1, k)

    return mean(number, moment)


def with_integers(columns: Mapping[str, IntArray], table: ValueTable) -> dict[str, IntArray]:
    """Return the columns, each [n_rows], with the integer next to the window for what is beyond."""

    def integer(value: Value) -> Value:
        return value.first if isinstance(value, Beyond) else value

    changed = columns[OUTPUT].copy()
    for code in _codes_beyond(changed, table):
        changed[columns[OUTPUT] == code] = table.code(_changed(table.value(code), integer))
    return {**columns, OUTPUT: changed}


def rows_in_cells(columns: Mapping[str, IntArray], table: ValueTable) -> list[int]:
    """Return the rows that show a number in a cell with an end; columns [n_rows] each."""
    shown = columns[OUTPUT]
    found: list[int] = []
    for code in _codes_beyond(shown, table):
        beyond: list[Beyond] = []
        as_far(table.value(code), beyond)
        if any(one.last is not None for one in beyond):
            found += marked(shown == code).tolist()
    return found


def _codes_beyond(codes: IntArray, table: ValueTable) -> list[int]:
    """Return the codes of values that hold numbers beyond the window; codes [n_codes]."""
    among = np.unique(codes[(codes >= PLAIN) & (codes < FIRST_FAULT)]).tolist()
    return [code for code in among if as_far(table.value(code), []) != table.value(code)]


def with_less_told(codes: IntArray, table: ValueTable, *, keeps_far: bool) -> IntArray:
    """Return for each value that is observed, [n_values], the code of what is told of it.

    Of a number beyond the window only that is told; with `keeps_far`, also whether it is of the
    farthest kind of those that are shown there.
    """
    values = [table.value(code) for code in codes.tolist()]
    alike = [_changed(value, _without_kind) for value in values]
    if not keeps_far:
        return table.codes(alike)
    farthest: dict[Value, list[int]] = {}
    for value, key in zip(values, alike, strict=True):
        kinds = _kinds(value)
        known = farthest.setdefault(key, kinds)
        farthest[key] = list(map(min, known, kinds))

    def told(value: Value, farthest: Sequence[int]) -> Value:
        are_far = map(eq, _kinds(value), farthest)
        return _changed(value, lambda one: _far_or_near(one, are_far))

    return table.codes(told(value, farthest[key]) for value, key in zip(values, alike, strict=True))


def _kinds(value: Value) -> list[int]:
    """Return the kinds of all numbers beyond the window in a value."""
    beyond: list[Beyond] = []
    as_far(value, beyond)
    return [one.level for one in beyond]


def _without_kind(value: Value) -> Value:
    return replace(value, level=1, n_kinds=1) if isinstance(value, Beyond) else value


def _far_or_near(value: Value, are_far: Iterator[bool]) -> Value:
    """Return a number beyond the window of its kind if it is far, else of the nearest one."""
    if not isinstance(value, Beyond) or next(are_far):
        return value
    return replace(value, level=value.n_kinds)


def _changed(value: Value, change: Callable[[Value], Value]) -> Value:
    """Return a value with all single values in it changed."""
    match value:
        case tuple():
            return tuple(_changed(item, change) for item in value)
        case ArrayValue(lo=lo, items=items):
            return ArrayValue(lo, tuple(_changed(item, change) for item in items))
        case _:
            return change(value)
