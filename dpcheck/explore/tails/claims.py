"""Claims that read shown numbers without bounds, and the chain where less is told of such numbers.

Where a number beyond the window was shown, claims see the integer next to the window: all that they
may compare it with lies in the window, which grows until that is so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.explore.tails.tails import Window, WindowTooSmall, with_codes
from dpcheck.explore.tails.wide import uses_of_output
from dpcheck.explore.values.codes import FIRST_FAULT, PLAIN, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated
from dpcheck.explore.values.mistakes import MistakesFound
from dpcheck.model.expressions import Expr
from dpcheck.model.values import ArrayValue, Beyond, Value
from dpcheck.records import replace

OUTPUT: Final = "output"


def with_integers(
    expr: Expr, columns: Mapping[str, IntArray], table: ValueTable, window: Window
) -> Mapping[str, IntArray]:
    """Return the columns by name, each [n_states], that a claim's expression reads.

    Raises `WindowTooSmall` where it compares a number beyond the window with one outside, and
    `MistakesFound` where it does anything but compare.
    """
    codes = columns[OUTPUT]
    shown = beyond_among(codes, table)
    if not shown:
        return columns
    changed = codes.copy()
    for code, value in shown.items():
        changed[codes == code] = table.code(as_integers(value))
    integers = {**columns, OUTPUT: changed}
    check_reads(expr, (OUTPUT,), shown.values(), Frame(len(codes), integers), table, window)
    return integers


def beyond_among(codes: IntArray, table: ValueTable) -> dict[int, Value]:
    """Return the values, by code, that hold numbers beyond the window; codes [n_codes]."""
    return {
        code: value
        for code in np.unique(codes[(codes >= PLAIN) & (codes < FIRST_FAULT)]).tolist()
        if is_beyond(value := table.value(code))
    }


def check_reads(
    expr: Expr,
    names: Iterable[str],
    shown: Iterable[Value],
    frame: Frame,
    table: ValueTable,
    window: Window,
    what: str = "a condition",
) -> None:
    """Raise what `with_integers` does where an expression reads outputs, by their names.

    what: what needs the value of the expression, for the mistake.
    """
    parts = frozenset(k for value in shown for k in _places(value))
    guards, mistakes = uses_of_output(expr, names, parts, what)
    if mistakes:
        raise MistakesFound(mistakes)
    known = needed = Window(*window.shown)
    for guard in guards:
        needed = with_codes(needed, evaluated(guard, frame, table), table)
    if needed != known:
        raise WindowTooSmall(window.with_shown(needed.low, needed.high))


def as_integers(value: Value) -> Value:
    """Return a value with the integer next to the window for each number beyond it."""
    return _changed(value, _as_integer)


def with_less_told(codes: IntArray, table: ValueTable, *, keeps_far: bool) -> IntArray:
    """Return for each value that is observed, [n_values], the code of what is told of it.

    Of a number beyond the window only that is told; with `keeps_far`, also whether it is far away.
    """

    def told(value: Beyond) -> Beyond:
        if not keeps_far:
            return replace(value, level=1, n_kinds=1)
        return value if value.level == 1 else replace(value, level=value.n_kinds)

    return table.codes(_changed(table.value(code), told) for code in codes.tolist())


def _as_integer(value: Beyond) -> int:
    return value.bound + (1 if value.is_above else -1)


def is_beyond(value: Value) -> bool:
    """Return whether a number beyond the window is in a value."""
    return bool(_places(value))


def _places(value: Value) -> list[int]:
    """Return the components, from 1, that are beyond the window; 0 where the whole value is."""
    match value:
        case Beyond():
            return [0]
        case tuple():
            return [k for k, item in enumerate(value, start=1) if is_beyond(item)]
        case ArrayValue(items=items):
            return [k for k, item in enumerate(items, start=1) if is_beyond(item)]
        case _:
            return []


def _changed(value: Value, change: Callable[[Beyond], Value]) -> Value:
    """Return a value with all numbers beyond the window in it replaced."""
    match value:
        case Beyond():
            return change(value)
        case tuple():
            return tuple(_changed(item, change) for item in value)
        case ArrayValue(lo=lo, items=items):
            return ArrayValue(lo, tuple(_changed(item, change) for item in items))
        case _:
            return value
