"""Sets of integers as sorted arrays, and of rows of integers.

numpy's own `unique`, `setdiff1d` and `union1d` import all of `numpy.ma` when they are first called,
which takes longer than a small check.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.chain.arrays import are_first, marked
from dpcheck.chain.chain import IntArray

_RADIX_LIMIT = 2**62
"""Bounds keys that are made of several numbers: int64 holds them and one sum of two."""


def distinct(values: IntArray) -> IntArray:
    """Return the values of an array of any shape, sorted, each once.

    >>> distinct(np.array([[3, 1], [1, 2]])).tolist(), distinct(np.array([], np.int64)).tolist()
    ([1, 2, 3], [])
    """
    ordered: IntArray = np.sort(values, axis=None)
    return ordered[are_first(ordered)]


def union(left: IntArray, right: IntArray) -> IntArray:
    """Return the values of either array, sorted, each once.

    >>> union(np.array([3, 1]), np.array([1, 2])).tolist()
    [1, 2, 3]
    """
    return distinct(np.concatenate([left.ravel(), right.ravel()]))


def without(values: IntArray, others: IntArray) -> IntArray:
    """Return the values that are not among the others, sorted, each once.

    >>> without(np.array([3, 1, 2, 3]), np.array([2, 5])).tolist()
    [1, 3]
    """
    kept, removed = distinct(values), distinct(others)
    if not len(removed):
        return kept
    place = np.minimum(np.searchsorted(removed, kept), len(removed) - 1)
    left: IntArray = kept[removed[place] != kept]
    return left


def is_increasing(values: IntArray) -> bool:
    """Return whether each value is larger than the one before: then they are sorted and different.

    >>> [is_increasing(np.array(values)) for values in ([], [1, 3], [1, 1], [3, 1])]
    [True, True, False, False]
    """
    return bool(np.all(values[1:] > values[:-1]))


def in_order(keys: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """Return the keys sorted, and where each stood; equal keys stay in their order.

    The keys are at least 0 and below n_keys. Place and key are sorted as one integer where that
    fits: numpy sorts integers by vector instructions, several times faster than it sorts places.

    >>> keys, order = in_order(np.array([2, 0, 2]), 3)
    >>> keys.tolist(), order.tolist()
    ([0, 2, 2], [1, 0, 2])
    """
    bits = len(keys).bit_length()
    if n_keys << bits >= _RADIX_LIMIT:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    both = np.sort((keys << bits) + np.arange(len(keys)))
    return both >> bits, both & ((1 << bits) - 1)


def distinct_rows(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the first row of each group of equal rows, and every row's group.

    Groups are numbered in the order of their values. The columns have one length n; the key is
    built column by column, and compressed when its mixed radix would pass 2^62.

    >>> first, group = distinct_rows([np.array([5, 3, 5]), np.array([1, 1, 1])])
    >>> first.tolist(), group.tolist()
    ([1, 0], [1, 0, 1])
    """
    n = len(columns[0]) if columns else 0
    if n == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    key, size = np.zeros(n, np.int64), 1
    for column in columns:
        if column.strides == (0,):
            continue  # one value, seen as a column
        low, high = int(column.min()), int(column.max())
        width = high - low + 1
        if width == 1:
            continue
        digits = column - low if width < _RADIX_LIMIT else None
        if digits is None or size * width >= _RADIX_LIMIT:
            distinct, digits = np.unique(column, return_inverse=True)
            width = len(distinct)
            if size * width >= _RADIX_LIMIT:
                distinct, key = np.unique(key, return_inverse=True)
                size = len(distinct)
        key = key * width + digits if size > 1 else digits
        size *= width
    if size == 1:
        return np.zeros(1, np.int64), key
    if is_increasing(key):
        every = np.arange(n)
        return every, every
    if size <= 4 * n + 1024:
        return _distinct_small(key, size)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return first, group


def _distinct_small(key: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the same as `np.unique` for keys [n] below a small size, without sorting."""
    first = np.full(size, -1, np.int64)
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    present = marked(first >= 0)
    number = np.empty(size, np.int64)
    number[present] = np.arange(len(present))
    return first[present], number[key]
