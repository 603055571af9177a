"""Floats on the two sides of a number, for comparisons that are clear without exact arithmetic.

The law. IEEE 754 doubles round every integer, sum, product and quotient correctly: the result is
the exact one times some 1 + e with |e| <= u = 2^-53, as long as it stays in the normal range,
2^-1022 to 2^1024. So a value computed in k such steps from non-negative numbers, without any
difference, is the exact one times a factor between (1 - u)^k and (1 + u)^k, and these lie within
1 ± 2ku while k <= 2^50. Whatever is beyond such a margin is decided; the rest is compared exactly.
"""

from __future__ import annotations

from math import inf, ldexp, nextafter

from dpcheck.exact.number import ExpNumber, Number, as_fraction_parts

UNIT_ROUNDOFF = ldexp(1, -53)
MAX_FLOAT_BITS = 1000


def float_bounds(low: Number, high: Number) -> tuple[float, float] | None:
    """Return floats below and above all numbers from `low` to `high`; None where none are known.

    Python rounds a quotient of integers correctly, so the next float on either side is a bound.

    >>> float_bounds(1, 1), float_bounds(0, 10**400)
    ((0.9999999999999999, 1.0000000000000002), None)
    """
    if isinstance(low, ExpNumber) or isinstance(high, ExpNumber):
        return None
    try:
        below, above = _quotient(low), _quotient(high)
    except OverflowError:
        return None
    return nextafter(below, -inf) if low else below, nextafter(above, inf) if high else above


def _quotient(value: Number) -> float:
    """Return a rational, rounded."""
    above, below = as_fraction_parts(value)
    assert isinstance(above, int), "a rational has whole parts"
    assert isinstance(below, int), "a rational has whole parts"
    return above / below
