"""Is p <= e^ε q + δ? Decided for p, q, δ in ℚ or ℚ(e^r) and every budget ε.

The law. With q = 0 the question is the sign of p - δ, decided in the field. Let q > 0; if p <= δ
the answer is yes. Otherwise x = p - δ > 0 is compared with e^ε q as ln(x/q) with ε. A tie means
x/q = c·e^s where ε = s + ln c with c algebraic. As x/q is a fraction of polynomials in e^r, and e^r
is transcendental over the algebraic numbers (Lindemann 1882), raising to a power N with Ns ∈ rℤ
makes this an identity of polynomials, so x/q is itself a rational multiple of a power of e^r, and
`log(x/q)` is a `Budget`: a tie is an equality of canonical budgets, decided without enclosures.
Where there is no tie, ln(x/q) - ε is a real number other than 0 and enclosures of it shrink until
one excludes 0. This covers irrational c as well: x/q = √2 is no tie for rational x/q because the
budgets ln(x/q) and (ln 2)/2 differ. Comparing logarithms never writes e^ε down, so ε = 10^9 · ln 3
costs no more than ε = ln 3.
"""

from __future__ import annotations

from flint import arb, ctx, fmpq

from dpcheck.exact.budget import Budget, Epsilon, log
from dpcheck.exact.errors import IrrationalExponential, TooLarge
from dpcheck.exact.number import (
    ExpNumber,
    Number,
    Rational,
    ball,
    compare,
    divide,
    multiply,
    negate,
    sign,
    subtract,
)
from dpcheck.exact.polynomial import FIRST_PRECISION, enclosing, precisions
from dpcheck.records import dataclass


def within(p: Number, q: Number, epsilon: Epsilon, delta: Number = 0) -> bool:
    """Return whether p <= e^ε q + δ.

    >>> within(fmpq(3, 4), fmpq(1, 4), Budget.ln(3)), within(fmpq(3, 4), fmpq(1, 4), Budget.ln(2))
    (True, False)
    >>> within(fmpq(3, 4), fmpq(1, 4), Budget.ln(2), fmpq(1, 4))
    True
    """
    return excess_sign(p, q, epsilon, delta) <= 0


def excess_sign(p: Number, q: Number, epsilon: Epsilon, delta: Number = 0) -> int:
    """Return the sign of p - e^ε q - δ: 1 where the budget is exceeded, 0 where it is used up.

    >>> excess_sign(fmpq(3, 4), fmpq(1, 4), Budget.ln(3)), excess_sign(1, 0, Budget.ln(3), 1)
    (0, 0)
    """
    left = subtract(p, delta) if delta != 0 else p
    if not isinstance(left, ExpNumber) and not isinstance(q, ExpNumber):
        factor = _rational_factor(epsilon)
        if factor is not None:
            difference = left - factor * q
            return (difference > 0) - (difference < 0)
    sign_left, sign_right = sign(left), sign(q)
    if sign_left != sign_right or sign_left == 0:
        return (sign_left > sign_right) - (sign_left < sign_right)
    if sign_left < 0:
        return -_compare_positive(negate(left), negate(q), epsilon)
    return _compare_positive(left, q, epsilon)


def _rational_factor(epsilon: Epsilon) -> fmpq | None:
    """Return e^ε where it is rational and short, else None."""
    if isinstance(epsilon, Budget) and epsilon.offset == 0:
        factor = epsilon.factor()
        return None if factor is None else fmpq(factor)
    return None


def _compare_positive(x: Number, q: Number, epsilon: Epsilon) -> int:
    """Return the sign of x - e^ε q for x, q > 0.

    Equality is decided once, after two enclosures have failed to separate the sides: most
    comparisons never need it.
    """
    for bits in precisions():
        with ctx.workprec(bits):
            difference = ball(x, bits).log() - ball(q, bits).log() - epsilon.ball(bits)
        if difference > 0:
            return 1
        if difference < 0:
            return -1
        if bits == 2 * FIRST_PRECISION and log(divide(x, q)) == epsilon:
            return 0
    raise AssertionError("precisions are unbounded")


@dataclass(frozen=True)
class Excess:
    """The real number p - e^ε q where e^ε lies in no ℚ(e^r), or is too long: see `excess`."""

    p: Number
    q: Number
    epsilon: Epsilon

    def ball(self, bits: int) -> arb:
        """Return an enclosure computed with `bits` bits."""
        with ctx.workprec(bits):
            return ball(self.p, bits) - self.epsilon.exp_ball(bits) * ball(self.q, bits)

    def sign(self) -> int:
        """Return -1, 0 or 1, decided."""
        return excess_sign(self.p, self.q, self.epsilon)

    def compare(self, other: Number) -> int:
        """Return -1, 0 or 1 as this is less than, equal to or greater than a number, decided."""
        return excess_sign(self.p, self.q, self.epsilon, other)


def excess(p: Number, q: Number, epsilon: Epsilon) -> Number | Excess:
    """Return p - e^ε q exactly: a `Number` where e^ε is one, else an `Excess`.

    >>> excess(fmpq(3, 4), fmpq(1, 4), Budget.ln(2))
    1/4
    """
    if q == 0:
        return p
    try:
        return subtract(p, multiply(epsilon.exp(), q))
    except (IrrationalExponential, TooLarge):
        return Excess(p, q, epsilon)


def compare_values(left: Number | Excess, right: Number) -> int:
    """Return -1, 0 or 1 as left is less than, equal to or greater than right, decided."""
    return left.compare(right) if isinstance(left, Excess) else compare(left, right)


def exp_bounds(epsilon: Epsilon, bits: int = FIRST_PRECISION) -> tuple[Rational, Rational]:
    """Return rationals lower <= e^ε <= upper that agree to about `bits` bits.

    For comparing whole arrays at once: rows that the bounds do not separate go to `within`.
    Raises `TooLarge` when e^ε is out of the range where bounds can be written down.

    >>> lower, upper = exp_bounds(Budget.of(1))
    >>> lower < fmpq(271828183, 100000000), fmpq(271828182, 100000000) < lower < upper
    (True, True)
    """
    return enclosing(epsilon.exp_ball, bits + 1, bits + 32)
