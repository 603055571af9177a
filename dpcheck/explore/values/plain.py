"""Operators on whole columns of integers by numpy, where a proof says that they are exact.

Operands are plain integers, below 2^61 in size, and their extremes bound the result. Where there is
no proof, None comes back: the operator is applied value by value then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.explore.values.codes import FALSE, FIRST_FAULT, PLAIN, TRUE, truth_codes
from dpcheck.model.expressions import BinderKind, Operator
from dpcheck.records import dataclass


@dataclass(frozen=True)
class Cells:
    """An array (or a tuple, if `lo` is None) known by its cells, each a column."""

    lo: int | None
    items: tuple[IntArray, ...]


def is_plain(column: IntArray) -> bool:
    """Return whether all codes [n_rows] are integers that stand for themselves."""
    return len(column) == 0 or int(np.maximum.reduce(column)) < PLAIN


def on_plain(op: Operator, columns: list[IntArray]) -> IntArray | None:
    """Return the result of an operator on integers [n_rows] by numpy, if it is provably exact."""
    if op in ("=", "!="):
        left, right = columns
        if has_fault(left) or has_fault(right):
            return None
        return truth_codes(left == right if op == "=" else left != right)
    if op == "not":
        (operand,) = columns
        return TRUE + FALSE - operand if are_truths(operand) else None
    if not all(is_plain(column) for column in columns):
        return None
    match op, columns:
        case ("+" | "-" | "*" | "div" | "mod" | "/", [left, right]):
            return _arithmetic(op, left, right)
        case ("neg", [operand]):
            return -operand
        case ("abs", [operand]):
            return np.abs(operand)
        case ("floor" | "ceil", [operand]):
            return operand
        case ("<" | "<=" | ">" | ">=", [left, right]):
            return truth_codes(_COMPARISONS[op](left, right))
        case ("clamp", [value, lo, hi]) if (lo <= hi).all():
            return np.minimum(np.maximum(value, lo), hi)
        case ("min" | "max" | "sum", [first, second, *others]):
            return _folded(op, [first, second, *others])
        case _:
            return None


_COMPARISONS: Mapping[str, Callable[[IntArray, IntArray], BoolArray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _arithmetic(op: Operator, left: IntArray, right: IntArray) -> IntArray | None:
    """Return the result [n_rows] where it is an integer below 2^61 in size on every row."""
    if len(left) == 0 or len(right) == 0:
        return np.empty(0, np.int64)
    if op in ("+", "-"):
        # |left|, |right| < 2^61, so int64 holds the result and only its size is in question.
        result = left + right if op == "+" else left - right
        return result if _is_small(result) else None
    if op == "*":
        largest = max(-int(left.min()), int(left.max())) * max(-int(right.min()), int(right.max()))
        return left * right if largest < PLAIN else None
    if (right == 0).any():
        return None
    if op == "div":
        return left // right
    if op == "mod":
        return left % right
    return left // right if not (left % right).any() else None


def _is_small(column: IntArray) -> bool:
    return len(column) == 0 or (int(column.min()) > -PLAIN and int(column.max()) < PLAIN)


_FOLDS = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def _folded(op: str, columns: Sequence[IntArray]) -> IntArray | None:
    """Return the sum, least or greatest of some columns of integers, each [n_rows]."""
    total: IntArray = columns[0]
    for column in columns[1:]:
        total = _FOLDS[op](total, column)
        if op == "sum" and not _is_small(total):
            return None
    return total


def on_cells(op: Operator, cells: list[Cells | None], columns: list[IntArray]) -> IntArray | None:
    """Return the result of an operator on arrays known by their cells, by numpy if exact."""
    match op, cells:
        case "len", [Cells(items=items)]:
            return None if any(has_fault(item) for item in items) else np.array([len(items)])
        case "index", [Cells() as base, None]:
            return _indexed(base, columns[1])
        case (("hamming" | "l1" | "linf"), [Cells(items=left), Cells(items=right)]):
            return _distance(op, left, right)
        case (("sum" | "min" | "max"), [Cells(items=items)]) if items:
            return _folded(op, items) if all(map(is_plain, items)) else None
        case (("argmax" | "argmin"), [Cells(lo=lo, items=items)]) if items:
            if not all(map(is_plain, items)):
                return None
            stacked = np.stack(np.broadcast_arrays(*items))
            best: IntArray = stacked.argmax(axis=0) if op == "argmax" else stacked.argmin(axis=0)
            return best + (1 if lo is None else lo)
        case "count", [Cells(items=items)] if items:
            if not all(((item == TRUE) | (item == FALSE)).all() for item in items):
                return None
            return _folded("sum", [(item == TRUE).astype(np.int64) for item in items])
        case _:
            return None


def has_fault(column: IntArray) -> bool:
    """Return whether some of the codes [n_rows] is a fault."""
    return len(column) > 0 and int(np.maximum.reduce(column)) >= FIRST_FAULT


def are_truths(column: IntArray) -> bool:
    """Return whether all codes [n_rows] are `FALSE` or `TRUE`, which differ in one bit."""
    return int(np.bitwise_or.reduce(column ^ FALSE)) & ~(FALSE ^ TRUE) == 0


def _indexed(base: Cells, index: IntArray) -> IntArray | None:
    place = index - (1 if base.lo is None else base.lo)
    if ((index >= PLAIN) | (place < 0) | (place >= len(base.items))).any():
        return None
    if any(has_fault(item) for item in base.items):
        return None
    if len(place) == 1:
        return base.items[int(place[0])]
    stacked = np.stack([np.broadcast_to(item, place.shape) for item in base.items])
    return stacked[place, np.arange(len(place))]


def _distance(
    op: Operator, left: tuple[IntArray, ...], right: tuple[IntArray, ...]
) -> IntArray | None:
    if len(left) != len(right):
        return None
    if op == "hamming":
        if any(has_fault(item) for item in (*left, *right)):
            return None
        apart = [(a != b).astype(np.int64) for a, b in zip(left, right, strict=True)]
        return _folded("sum", apart) if apart else np.zeros(1, np.int64)
    if not all(map(is_plain, (*left, *right))):
        return None
    gaps = [np.abs(a - b) for a, b in zip(left, right, strict=True)]
    if not all(map(_is_small, gaps)):
        return None
    return _folded("sum" if op == "l1" else "max", gaps) if gaps else np.zeros(1, np.int64)


def reduced(
    kind: BinderKind, owner: IntArray, element: IntArray, body: IntArray, counts: IntArray
) -> IntArray | None:
    """Return what a binder makes of the bodies [n] of each row, of which there are counts [n_rows].

    owner [n]: the row of each body, increasing; element [n]: what it was computed for.
    """
    starts = counts.cumsum() - counts
    if kind == "count" and ((body == TRUE) | (body == FALSE)).all():
        return np.bincount(owner, body == TRUE, len(counts)).astype(np.int64)
    if not is_plain(body) or kind in ("count", "set"):
        return None
    if kind == "sum":
        largest = max(int(body.max()), -int(body.min())) if len(body) else 0
        if largest * int(counts.max(initial=0)) >= PLAIN:
            return None
        sums = np.concatenate((np.zeros(1, np.int64), body.cumsum()))
        # int64 wraps around consistently: a difference of prefix sums below 2^61 is right.
        return np.asarray(sums[starts + counts] - sums[starts], np.int64)
    if kind == "product":
        return _products(owner, body, starts, counts)
    if not len(counts) or (counts == 0).any():
        return None
    lowest = kind in ("min", "argmin")
    best: IntArray = (np.minimum if lowest else np.maximum).reduceat(body, starts)
    if kind in ("min", "max"):
        return best
    attained = marked(body == best[owner])
    _, first = np.unique(owner[attained], return_index=True)
    return element[attained[first]]


def _products(
    owner: IntArray, body: IntArray, starts: IntArray, counts: IntArray
) -> IntArray | None:
    """Return each row's product [n_rows] of integers if all are below 2^61 in size."""
    size = np.abs(body)
    # A factor x with |x| > 1 is below 2^bits(x) in size; rounding x to a float can only add a bit.
    bits = np.where(size > 1, np.frexp(size.astype(np.float64))[1], 0)
    if (np.bincount(owner, bits, len(counts)) >= PLAIN.bit_length()).any():
        return None
    result = np.ones(len(counts), np.int64)
    there = counts > 0
    if len(body):
        result[there] = np.multiply.reduceat(body, starts[there])
    return result
