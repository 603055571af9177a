"""Real numbers that no exact form describes: known by enclosures as narrow as anybody asks.

An `Enclosed` is a number together with a function from a precision to an enclosure that surely
holds it (arb balls: Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval
arithmetic", IEEE TC 2017). Comparison refines until the other number lies outside, or gives up at a
precision, in which case the caller says so: it is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flint import arb, ctx, fmpq, fmpz

from dpcheck import exact
from dpcheck.exact.number import ball as number_ball
from dpcheck.exact.polynomial import enclosing
from dpcheck.records import dataclass

LAST_PRECISION = 1 << 12
"""Bits after which two numbers that enclosures do not separate are called undecided."""


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A real number given by enclosures; `text` is an exact expression for it, if there is one.

    `ball(bits)` returns an arb that contains the number; its radius shrinks as bits grow.
    """

    ball: Callable[[int], arb]
    text: str | None = None

    def compare(self, other: exact.Number | exact.Excess | exact.Epsilon | Enclosed) -> int | None:
        """Return -1 or 1 as this is less or greater than the other number, None if undecided."""
        bits = 64
        while bits <= LAST_PRECISION:
            with ctx.workprec(bits):
                difference = self.ball(bits) - ball_of(other, bits)
                if difference > 0:
                    return 1
                if difference < 0:
                    return -1
            bits *= 2
        return None

    def bounds(self, digits: int) -> tuple[exact.Rational, exact.Rational]:
        """Return rationals below and above that differ by at most 10^-digits relatively."""
        return enclosing(self.ball, digits * 10 // 3 + 4, 32 + digits * 4)

    def decimal(self, digits: int) -> str:
        """Return the value correctly rounded, or its lower bound where no precision decides."""
        for extra in (3, 20, 100):
            low, high = self.bounds(digits + extra)
            rounded = exact.decimal(low, digits)
            if rounded == exact.decimal(high, digits):
                return rounded
        return self.decimals(digits)[0]

    def decimals(self, digits: int) -> tuple[str, str]:
        """Return decimals below and above with `digits` significant digits, the last one apart.

        >>> Enclosed(lambda bits: arb(2).sqrt()).decimals(5)
        ('1.4142', '1.4143')
        """
        low, high = self.bounds(digits + 2)
        if low <= 0 <= high:
            return "0", "0"
        exponent = _exponent(max(abs(low), abs(high)))
        unit = fmpq(10) ** (digits - 1 - exponent)
        return (
            _decimal((low * unit).floor(), digits - 1 - exponent),
            _decimal((high * unit).ceil(), digits - 1 - exponent),
        )


Finite = exact.Number | exact.Excess | exact.Epsilon | Enclosed
Measure = Finite | exact.Extended
"""The value of a quantity; None is infinite."""


def compare_measures(left: Measure, right: Measure) -> int | None:
    """Return -1, 0 or 1 as left is less than, equal to or greater than right.

    Both are budgets or both numbers, where they are finite. None where no enclosure separates them,
    which can happen only to an `Enclosed` and to two different `Excess`.

    >>> compare_measures(None, exact.Budget.ln(3)), compare_measures(fmpq(1, 2), fmpq(2, 3))
    (1, -1)
    """
    if left is None or right is None:
        return (left is None) - (right is None)
    if isinstance(left, exact.MinusInfinity) or isinstance(right, exact.MinusInfinity):
        return isinstance(right, exact.MinusInfinity) - isinstance(left, exact.MinusInfinity)
    match left, right:
        case (int() | fmpq() | exact.ExpNumber(), int() | fmpq() | exact.ExpNumber()):
            return exact.compare(left, right)
        case (exact.Budget() | exact.LogOf(), exact.Budget() | exact.LogOf()):
            return exact.compare_epsilon(left, right)
        case (exact.Excess(), int() | fmpq() | exact.ExpNumber()):
            return left.compare(right)
        case (int() | fmpq() | exact.ExpNumber(), exact.Excess()):
            return -right.compare(left)
    return 0 if left == right else Enclosed(partial(ball_of, left)).compare(right)


def ball_of(value: Measure, bits: int) -> arb:
    """Return an enclosure of an exact value."""
    if isinstance(value, exact.MinusInfinity | None):
        return arb("inf" if value is None else value.value)
    if isinstance(value, exact.Budget | exact.LogOf | exact.ExpNumber | exact.Excess | Enclosed):
        return value.ball(bits)
    return number_ball(value, bits)


def _exponent(value: fmpq) -> int:
    """Return k with 10^k <= value < 10^(k+1)."""
    k = (value.p.bit_length() - value.q.bit_length()) * 30103 // 100000
    while value >= fmpq(10) ** (k + 1):
        k += 1
    while value < fmpq(10) ** k:
        k -= 1
    return k


def _decimal(scaled: fmpz, places: int) -> str:
    """Return scaled / 10^places as a decimal, without trailing zeros.

    >>> _decimal(fmpz(20), 2), _decimal(fmpz(-7), 1), _decimal(fmpz(5), -1)
    ('0.2', '-0.7', '50')
    """
    sign = "-" if scaled < 0 else ""
    digits = str(abs(scaled).str())
    if places <= 0:
        return sign + digits + "0" * -places
    digits = digits.rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}".rstrip("0").removesuffix(".")
