"""Columns of whole numbers longer than a machine word, as columns of limbs in int64.

A number N >= 0 of n limbs is Σ_i l_i 2^(31 i), where all limbs but the last are below 2^31 and the
last is what is left, N >> 31 (n - 1). It has to be below 2^62, so n limbs hold numbers below
2^(62 + 31 (n - 1)). For weights w_e >= 0 with Σ_e w_e <= W < 2^31,

    Σ_e w_e N_e = Σ_i 2^(31 i) Σ_e w_e l_{e,i},

and limb by limb these sums are below W 2^31 <= 2^62, that of the last limb at most the whole sum
>> 31 (n - 1). A carry into the next limb is then at most W, and W (2^31 - 1) + W <= 2^62 as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.chain.chain import IntArray, WeightArray

LIMB_BITS = 31
"""Bits of a limb: a product of two, and the carry, fit a word."""
LAST_BITS = 62
"""Bits of the highest limb, which nothing is carried out of."""
_MASK = (1 << LIMB_BITS) - 1
_AT_ONCE = 1 << 12
"""Bounds the integers of Python that exist at once while limbs are made or read."""

Limbs = Sequence[IntArray]
"""One column's limbs from the lowest, each [n_numbers]."""


def n_limbs_for(bound: int) -> int:
    """Return how many limbs hold the numbers up to a bound.

    >>> n_limbs_for(2**62 - 1), n_limbs_for(2**62), n_limbs_for(2**93 - 1), n_limbs_for(2**93)
    (1, 2, 2, 3)
    """
    return 1 + max(0, -(-(bound.bit_length() - LAST_BITS) // LIMB_BITS))


def carried(sums: Limbs, n_limbs: int) -> list[IntArray]:
    """Return the numbers Σ_i sums_i 2^(31 i) in n limbs, at least as many as there are sums.

    Every sum is below 2^62 - 2^31, or is the last limb of n and stays below 2^62 with its carry.

    >>> [limb.tolist() for limb in carried([np.array([2**40 + 3])], 2)]
    [[3], [512]]
    """
    limbs, carry = [], np.zeros(len(sums[0]), np.int64)
    for k in range(n_limbs - 1):
        total = sums[k] + carry if k < len(sums) else carry
        limbs.append(total & _MASK)
        carry = total >> LIMB_BITS
    return [*limbs, sums[n_limbs - 1] + carry if n_limbs == len(sums) else carry]


def scaled(limbs: Limbs, factor: int, n_limbs: int) -> list[IntArray]:
    """Return the numbers times a factor > 0, in n limbs that hold the products.

    >>> [limb.tolist() for limb in scaled([np.array([5, 1])], 2**70, 3)]
    [[0, 0], [0, 0], [1280, 256]]
    """
    digits = [factor >> k & _MASK for k in range(0, factor.bit_length(), LIMB_BITS)]
    parts = carried(limbs, len(limbs) + 1)
    # Parts and digits are below 2^31, so a product is below 2^62; its halves are added up.
    sums = [np.zeros(len(parts[0]), np.int64) for _ in range(len(parts) + len(digits))]
    for i, part in enumerate(parts):
        for j, digit in enumerate(digits):
            product = part * digit
            sums[i + j] += product & _MASK
            sums[i + j + 1] += product >> LIMB_BITS
    whole = carried(sums, len(sums))
    # The product is below 2^62 from the last limb on: what is beyond the limb after it is 0.
    last = [limb << LIMB_BITS * k for k, limb in enumerate(whole[n_limbs - 1 : n_limbs + 1])]
    missing = [np.zeros_like(whole[0])] * (n_limbs - 1 - len(whole))
    return [*whole[: n_limbs - 1], *missing, sum(last, np.zeros_like(whole[0]))]


def as_weights(limbs: Limbs) -> WeightArray:
    """Return the numbers: int64 for one limb, Python integers for more.

    They are made a few at a time, so that there are never many that are still without all limbs.

    >>> as_weights([np.array([1, 2]), np.array([0, 1])]).tolist()
    [1, 2147483650]
    """
    if len(limbs) == 1:
        return limbs[0]
    weights = np.empty(len(limbs[0]), object)
    for start in range(0, len(weights), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        weights[some] = limbs[-1][some]
        for limb in reversed(limbs[:-1]):
            weights[some] <<= LIMB_BITS
            weights[some] += limb[some]
    return weights
