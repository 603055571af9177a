"""Which rows of a sequence table are equal, where weights are long: by limbs, and by a hash.

All weights are brought to one denominator, in limbs (`chain.limbs`); rows are then equal exactly if
their sequences and limbs are. Rows are put together by a 64-bit hash and then compared entry by
entry: if two rows of one hash differ, another hash is taken, so none ever decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.weights.limbs import Limbs, limbs_of, n_limbs_for, scaled
from dpcheck.chain.weights.rows import ranges
from dpcheck.check.evidence.sequences import SequenceTable
from dpcheck.exact import Whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    UIntArray = NDArray[np.uint64]

_MANY_SCALES = 64
"""Bounds the denominators of which one common multiple is made."""
_MANY_LIMBS = 8
"""Bounds how many words each weight takes: with more, hashes are the shorter way."""
_MIXERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def classes_by_limbs(
    table: SequenceTable, scales: Sequence[Whole], codes: IntArray
) -> IntArray | None:
    """Return the number of each row's class of equal rows, [n_sources].

    scales: the different denominators; codes [n_sources]: which of them each row has. None where
    they are too many, or their common multiple too long, or where weights are no integers.
    """
    limbs = _over_one_denominator(table, scales, codes)
    if limbs is None or not np.all(np.diff(table.indptr)):
        return None
    columns = [table.sequences, *limbs]
    for seed in count(1):
        found = _classes_by_hash(table.indptr, columns, seed)
        if found is not None:
            return found
    raise AssertionError("counting does not end")


def _over_one_denominator(
    table: SequenceTable, scales: Sequence[Whole], codes: IntArray
) -> Limbs | None:
    """Return the limbs, each [n_entries], of all weights over the multiple of all denominators."""
    integers = [scale for scale in scales if isinstance(scale, int)]
    if len(integers) < len(scales) or len(scales) > _MANY_SCALES:
        return None
    common = lcm(*integers)
    n_limbs = n_limbs_for(common)
    if n_limbs > _MANY_LIMBS:
        return None
    try:
        limbs = limbs_of(table.weights, n_limbs)
    except TypeError:
        return None
    which = np.repeat(codes, np.diff(table.indptr)) if len(scales) > 1 else None
    for code, scale in enumerate(integers):
        if which is not None and scale != common:
            chosen = np.flatnonzero(which == code)
            products = scaled([limb[chosen] for limb in limbs], common // scale, n_limbs)
            for limb, values in zip(limbs, products, strict=True):
                limb[chosen] = values
    return limbs


def _classes_by_hash(indptr: IntArray, columns: Sequence[IntArray], seed: int) -> IntArray | None:
    """Return each row's class, None if different rows have one hash.

    columns: each [n_entries]; no row is empty, and the first column increases along a row, so that
    a row is the set of its entries: their hashes are added up.
    """
    starts, lengths = indptr[:-1], np.diff(indptr)
    hashes = np.add.reduceat(_hashes(columns, seed), starts)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    alike = first[group]
    if not np.array_equal(lengths[alike], lengths):
        return None
    entries = ranges(starts[alike], lengths)
    is_equal = all(np.array_equal(column[entries], column) for column in columns)
    return np.asarray(group, np.int64) if is_equal else None


def _hashes(columns: Sequence[IntArray], seed: int) -> UIntArray:
    """Return a 64-bit mix [n] of columns[n_columns][n].

    After SplitMix (Steele, Lea, Flood, OOPSLA 2014).
    """
    first, second, third = (np.uint64(m) for m in _MIXERS)
    state = np.full(len(columns[0]), seed, np.uint64)
    for column in columns:
        state = (state ^ column.view(np.uint64)) * first + second
        state ^= state >> np.uint64(29)
        state *= third
        state ^= state >> np.uint64(32)
    return state
