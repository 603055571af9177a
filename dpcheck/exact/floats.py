"""Floats on the two sides of a number, for comparisons that are clear without exact arithmetic.

The law. IEEE 754 doubles round every integer, sum, product and quotient correctly: the result is
the exact one times some 1 + e with |e| <= u = 2^-53, as long as it stays in the normal range,
2^-1022 to 2^1024. So a value computed in k such steps from non-negative numbers, without any
difference, is the exact one times a factor between (1 - u)^k and (1 + u)^k, and these lie within
1 ± 2ku while k <= 2^50. Whatever is beyond such a margin is decided; the rest is compared exactly.
"""

from __future__ import annotations

from math import inf, ldexp, nextafter

from flint import arb, ctx

from dpcheck.exact.budget import Epsilon
from dpcheck.exact.errors import TooLarge
from dpcheck.exact.number import ExpNumber, Number, as_fraction_parts

UNIT_ROUNDOFF = ldexp(1, -53)
MAX_FLOAT_BITS = 1000
"""Numbers within 2^±1000 have floats that are normal, and so have their sums and quotients."""
_BITS = 64
"""The precision that floats are rounded from: 11 bits more than they have."""


def float_bounds(value: Number) -> tuple[float, float] | None:
    """Return floats below and above a number; None where it is beyond their range.

    Python rounds a quotient of integers correctly, so the next float on either side is a bound.

    >>> float_bounds(1), float_bounds(0), float_bounds(10**400)
    ((0.9999999999999999, 1.0000000000000002), (0.0, 0.0), None)
    """
    if isinstance(value, ExpNumber):
        return _ball_bounds(value.ball(_BITS))
    if value == 0:
        return ldexp(0, 0), ldexp(0, 0)
    try:
        return _next_to(_quotient(value), _quotient(value))
    except OverflowError:
        return None


def exp_float_bounds(epsilon: Epsilon) -> tuple[float, float] | None:
    """Return floats below and above e^ε; None where it is beyond their range.

    >>> from dpcheck.exact import Budget
    >>> low, high = exp_float_bounds(Budget.of(1))
    >>> low < 2.718281828459045 < high < low + 2e-15, exp_float_bounds(Budget.of(10**9))
    (True, None)
    """
    try:
        return _ball_bounds(epsilon.exp_ball(_BITS))
    except TooLarge:
        return None


def _ball_bounds(around: arb) -> tuple[float, float] | None:
    """Return floats below and above a positive ball of flint's; None if it may leave their range.

    Its ends are written down only then: those of e^(10^9) have 10^9 bits.
    """
    if not ldexp(1, -MAX_FLOAT_BITS) < around < ldexp(1, MAX_FLOAT_BITS):
        return None
    with ctx.workprec(_BITS):
        return _next_to(_quotient(around.lower().fmpq()), _quotient(around.upper().fmpq()))


def _next_to(low: float, high: float) -> tuple[float, float]:
    """Return the float below and the float above two that were rounded."""
    return nextafter(low, -inf), nextafter(high, inf)


def _quotient(value: Number) -> float:
    """Return a rational, rounded."""
    above, below = as_fraction_parts(value)
    assert isinstance(above, int), "a rational has whole parts"
    assert isinstance(below, int), "a rational has whole parts"
    return above / below
