"""Which pairs of neighbors violate p <= e^ε q + δ, as far as floats make it clear.

Probabilities are known within floats: low <= p <= high, each 0 or above 2^-1000; so are E = e^ε
and δ. Two correctly rounded steps compute E q + δ, with a relative error below 4u (`exact.floats`;
a product below the normal range is wrong by at most 2^-1074, nothing beside a positive p). So
p_low > (E q + δ)_high (1 + 8u) is a violation, and p_high (1 + 8u) <= (E q + δ)_low is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.exact import UNIT_ROUNDOFF, Epsilon, Number, exp_float_bounds, float_bounds

if TYPE_CHECKING:
    from dpcheck.solve.reachability.rounding import FloatBounds

VIOLATED, OPEN, SATISFIED = 1, 0, -1
_MARGIN = 8 * UNIT_ROUNDOFF


def clear_verdicts(epsilon: Epsilon, delta: Number, p: FloatBounds, q: FloatBounds) -> IntArray:
    """Return `VIOLATED`, `SATISFIED` or `OPEN` for each pair, both directions, [n_pairs].

    >>> from dpcheck.exact import Budget
    >>> p, q = np.array([0.75, 0.5, 0.25]), np.array([0.25, 0.25, 0.25])
    >>> clear_verdicts(Budget.ln(2), 0, (p, p), (q, q)).tolist()
    [1, 0, -1]
    """
    verdicts = np.full(len(p[0]), OPEN, np.int64)
    factor, extra = exp_float_bounds(epsilon), float_bounds(delta)
    if factor is None or extra is None or extra[0] < 0:
        return verdicts
    exceeds = np.zeros(len(verdicts), np.bool_)
    stays = np.ones(len(verdicts), np.bool_)
    for (p_low, p_high), (q_low, q_high) in ((p, q), (q, p)):
        exceeds |= p_low > (factor[1] * q_high + extra[1]) * (1 + _MARGIN)
        stays &= p_high * (1 + _MARGIN) <= factor[0] * q_low + extra[0]
    verdicts[exceeds], verdicts[stays] = VIOLATED, SATISFIED
    return verdicts
