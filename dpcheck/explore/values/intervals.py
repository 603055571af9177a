"""Interval arithmetic on columns, to tell what can still hold while variables are unknown.

The answer `True` is always safe. Sums, differences, products, extremes and comparisons of integers
are bounded (Moore, Interval Analysis, 1966); anything else counts as unknown.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.explore.values.codes import PLAIN
from dpcheck.explore.values.evaluate import Frame
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr, Logic, Var
from dpcheck.records import dataclass

LIMIT = 2**40
"""Bounds stay below this, so that sums of many of them stay far from 2^63."""


@dataclass(frozen=True, eq=False)
class _Interval:
    low: IntArray
    high: IntArray


def may_hold(condition: Expr, frame: Frame, missing: frozenset[str], pool: IntArray) -> BoolArray:
    """Return where the condition can be true for some of the missing values, [n_rows].

    Missing variables take values of `pool`. A row where the condition might be a fault stays.
    """
    if int(pool.max()) >= LIMIT or int(pool.min()) <= -LIMIT:
        return np.ones(frame.n_rows, np.bool_)
    known = _Known(frame, missing, int(pool.min()), int(pool.max()))
    return np.broadcast_to(_possible(condition, known), (frame.n_rows,))


@dataclass(frozen=True, eq=False)
class _Known:
    frame: Frame
    missing: frozenset[str]
    low: int
    high: int


_ALWAYS = np.ones(1, np.bool_)


def _possible(condition: Expr, known: _Known) -> BoolArray:
    """Return whether the condition can be true, [n_rows]."""
    match condition:
        case Logic(op="and", args=args):
            result = _ALWAYS
            for arg in args:
                result = result & _possible(arg, known)
            return result
        case Logic(op="or", args=args):
            result = ~_ALWAYS
            for arg in args:
                result = result | _possible(arg, known)
            return result
        case Apply(op="<=" | "<" | ">=" | ">" | "=" as op, args=(first, second)):
            left, right = _interval(first, known), _interval(second, known)
            if left is None or right is None:
                return _ALWAYS
            match op:
                case "<=":
                    return left.low <= right.high
                case "<":
                    return left.low < right.high
                case ">=":
                    return left.high >= right.low
                case ">":
                    return left.high > right.low
                case _:
                    return (left.low <= right.high) & (left.high >= right.low)
        case _:
            return _ALWAYS


def _interval(expr: Expr, known: _Known) -> _Interval | None:
    """Return bounds of an expression whose parts are integers, or None."""
    match expr:
        case Const(value=bool()):
            return None
        case Const(value=int(value)) if -LIMIT < value < LIMIT:
            return _checked(np.array([value]), np.array([value]))
        case Var(name=name):
            return _variable(name, known)
        case Apply(op="sum" | "max" | "min" as op, args=(ArrayVar(cells=cells),)) if cells:
            parts = [_variable(cell, known) for cell in cells]
            return _collected(op, parts)
        case Apply(op="sum" | "max" | "min" as op, args=args) if len(args) > 1:
            return _collected(op, [_interval(arg, known) for arg in args])
        case Apply(op="+", args=args):
            return _collected("sum", [_interval(arg, known) for arg in args])
        case Apply(op="-", args=(first, second)):
            left, right = _interval(first, known), _interval(second, known)
            if left is None or right is None:
                return None
            return _checked(left.low - right.high, left.high - right.low)
        case Apply(op="*", args=(Const(value=int(factor)), part)) if 0 <= factor < 2**20:
            inner = _interval(part, known)
            if inner is None:
                return None
            return _checked(factor * inner.low, factor * inner.high)
        case _:
            return None


def _variable(name: str, known: _Known) -> _Interval | None:
    if name in known.missing:
        return _checked(np.array([known.low]), np.array([known.high]))
    column = known.frame[name]
    return _checked(column, column)


def _collected(op: str, parts: list[_Interval | None]) -> _Interval | None:
    low: IntArray | None = None
    high: IntArray | None = None
    for part in parts:
        if part is None:
            return None
        if low is None or high is None:
            low, high = part.low, part.high
        elif op == "sum":
            low, high = low + part.low, high + part.high
        elif op == "max":
            low, high = np.maximum(low, part.low), np.maximum(high, part.high)
        else:
            low, high = np.minimum(low, part.low), np.minimum(high, part.high)
    return None if low is None or high is None else _checked(low, high)


def _checked(low: IntArray, high: IntArray) -> _Interval | None:
    """Return the interval of ends [n_rows] if it is small enough to be added without a wrap."""
    assert LIMIT < PLAIN, "plain integers only"
    if len(low) and (int(low.min()) <= -LIMIT or int(high.max()) >= LIMIT):
        return None
    return _Interval(low, high)
