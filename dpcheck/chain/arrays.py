"""What numpy does in Python, several calls deep, in one or two calls of its compiled part.

A chain of a few states takes a few hundred numpy calls, and half of their time are wrappers of
`flatnonzero`, `diff` and `unique`. So these are here; `cumsum`, `repeat`, `all`, ... are methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray

FEW = 4096
"""So few values are found among the different ones faster than numpy sorts their places."""


def marked(mask: Any) -> IntArray:  # noqa: ANN401 (any array of one dimension)
    """Return where an array of one dimension is not 0, in order.

    >>> marked(np.array([0, 7, 0, 1])).tolist()
    [1, 3]
    """
    places: IntArray = mask.nonzero()[0]
    return places


def end_to_end(arrays: Sequence[IntArray]) -> IntArray:
    """Return arrays of integers one after the other; a single one is not copied.

    >>> end_to_end([]).tolist(), end_to_end([np.array([1]), np.array([0, 2])]).tolist()
    ([], [1, 0, 2])
    """
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)


def differences(values: IntArray) -> IntArray:
    """Return each value but the first, less the one before it: the lengths of rows by `indptr`.

    >>> differences(np.array([0, 2, 5])).tolist()
    [2, 3]
    """
    return values[1:] - values[:-1]


def are_first(values: IntArray) -> BoolArray:
    """Return which values differ from the one before; the first one does.

    >>> are_first(np.array([4, 4, 5])).tolist()
    [True, False, True]
    """
    is_first = np.empty(len(values), np.bool_)
    is_first[:1] = True
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return is_first


def ranked(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different values in order, and which of them each one is.

    >>> values, rank = ranked(np.array([7, 2, 7]))
    >>> values.tolist(), rank.tolist()
    ([2, 7], [1, 0, 1])
    """
    if len(values) > FEW:
        if (values[1:] > values[:-1]).all():
            return values, np.arange(len(values))
        different, rank = np.unique(values, return_inverse=True)
        return different, rank
    ordered = np.sort(values)
    different = ordered[are_first(ordered)]
    return different, different.searchsorted(values)


def ranked_keys(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different keys [n] >= 0 in order, and which of them each one is.

    They are counted where the greatest is not much larger than n.
    """
    top = int(keys.max(initial=0)) + 1
    if top > 4 * len(keys):
        return ranked(keys)
    is_present = np.zeros(top, np.bool_)
    is_present[keys] = True
    return marked(is_present), (is_present.cumsum() - 1)[keys]
