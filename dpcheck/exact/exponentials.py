"""Sums of exponentials f(n) = Σ a_k ρ_k^n with ρ_1 > ... > ρ_N > 0: certain signs for all n.

Let D_N = f and D_k(n) = D_(k+1)(n+1) - ρ_(k+1) D_(k+1)(n), which is the sum of the first k terms
with other coefficients. By Newton's interpolation of ρ^m at ρ_N, ρ_(N-1), ..., ρ_1,

    f(n + m) = Σ_k D_k(n) h_(m-N+k)(ρ_k, ..., ρ_N)

where h_j is the sum of all products of j factors, 0 for j < 0: a divided difference of ρ^m. No h is
negative, so where no D_k(n) is, no value from n on is. For large n all have one sign: that of the
first a_k that is not 0, by which D_k is a_k ρ_k^n Π_(l>k) (ρ_k - ρ_l) and D_l, l > k, its like.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from dpcheck.exact.number import Number, add, multiply, subtract


def differences(values: Iterable[Number], ratios: Sequence[Number]) -> list[Number]:
    """Return D_1(n), ..., D_N(n) from f(n), ..., f(n+N-1).

    >>> differences([5, 7], (2, 1))
    [2, 5]
    """
    left, found = list(values), []
    for ratio in reversed(ratios):
        found.append(left[0])
        left = [subtract(b, multiply(ratio, a)) for a, b in pairwise(left)]
    return found[::-1]


def next_differences(found: Sequence[Number], ratios: Sequence[Number]) -> list[Number]:
    """Return D_1(n+1), ..., D_N(n+1) from those at n.

    >>> next_differences([2, 5], (2, 1))
    [4, 7]
    """
    kept = [multiply(ratio, one) for ratio, one in zip(ratios, found, strict=True)]
    return [*kept[:1], *(add(one, before) for one, before in zip(kept[1:], found, strict=False))]
