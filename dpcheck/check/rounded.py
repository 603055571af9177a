"""The probabilities of a sequence table as floats, with a proved error.

A probability p/D takes at most five correctly rounded steps, or steps that change no more: integers
beyond the range of floats first lose their last bits, as many of p as of D, which changes p by less
than 1 of at least 2^54, and D by less; both are rounded, and so is their quotient. Where p has too
few bits left, the result is not a number, and no comparison with it is decided.
"""

from __future__ import annotations

from math import ldexp
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.chain.arrays import differences
from dpcheck.chain.scales import as_objects
from dpcheck.check.sequences import SequenceTable
from dpcheck.exact import MAX_FLOAT_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
else:
    FloatArray = np.ndarray


def rounded_chances(table: SequenceTable) -> FloatArray | None:
    """Return the entries' probabilities as floats, [n_entries]; None where some are no rationals.

    Each is at least 2^-1000, or not a number where it is too small for its row's denominator.
    """
    widths = differences(table.indptr)
    weights = table.weights
    scales: list[int] = []
    for scale in table.denominators:
        if not isinstance(scale, int):
            return None
        scales.append(scale)
    lost = [max(0, scale.bit_length() - MAX_FLOAT_BITS) for scale in scales]
    is_long = any(lost)
    try:
        if is_long:
            weights = as_objects(weights) >> np.array(lost, object).repeat(widths)
        above = weights.astype(np.float64)
    except TypeError:
        return None
    below = np.array([scale >> bits for scale, bits in zip(scales, lost, strict=True)], np.float64)
    chances: FloatArray = above / below.repeat(widths)
    if is_long:
        has_lost = (np.array(lost) > 0).repeat(widths)
        chances[has_lost & (above < ldexp(1, 54))] = np.nan
    return chances
