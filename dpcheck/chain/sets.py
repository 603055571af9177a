"""Sets of integers as sorted arrays.

numpy's own `unique`, `setdiff1d` and `union1d` import all of `numpy.ma` when they are first called,
which takes longer than a small check.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import IntArray


def distinct(values: IntArray) -> IntArray:
    """Return the values of an array of any shape, sorted, each once.

    >>> distinct(np.array([[3, 1], [1, 2]])).tolist(), distinct(np.array([], np.int64)).tolist()
    ([1, 2, 3], [])
    """
    ordered: IntArray = np.sort(values, axis=None)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


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
