"""The probabilities of a sequence table as floats, with a proved error.

A probability p/D takes at most five correctly rounded steps, or steps that change no more: integers
beyond the range of floats first lose their last bits, as many of p as of D, which changes p by less
than 1 of at least 2^54, and D by less; both are rounded, and so is their quotient. Where p has too
few bits left, the result is not a number, and no comparison with it is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ldexp
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.weights.denominators import as_objects
from dpcheck.check.evidence.sequences import SequenceTable
from dpcheck.exact import MAX_FLOAT_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
else:
    FloatArray = np.ndarray


def rounded_chances(table: SequenceTable, scales: Sequence[int], codes: IntArray) -> FloatArray:
    """Return the probabilities of a table of integers as floats, [n_entries].

    scales: the different denominators; codes [n_sources]: which of them each row has. Each
    probability is at least 2^-1000, or not a number where it is too small for its denominator.
    """
    widths, weights = np.diff(table.indptr), table.weights
    lost = [max(0, scale.bit_length() - MAX_FLOAT_BITS) for scale in scales]
    is_long = any(lost)
    if is_long:
        weights = as_objects(weights) >> np.repeat(np.array(lost, object)[codes], widths)
    above = weights.astype(np.float64)
    below = np.array([scale >> bits for scale, bits in zip(scales, lost, strict=True)], float)
    chances: FloatArray = above / np.repeat(below[codes], widths)
    if is_long:
        has_lost = np.repeat(np.array(lost)[codes] > 0, widths)
        chances[has_lost & (above < ldexp(1, 54))] = np.nan
    return chances
