"""Numbers of the language: ℚ and the fields ℚ(e^r), always in normal form.

A `Number` is an `int`, a `Rational` (flint's `fmpq`) that is no integer, or an `ExpNumber`, which
is irrational. In this form equal numbers are equal objects with equal hashes, whatever r they were
computed over. The functions here take and return normal forms; flint's own operators do not
(`Rational(1, 2) + Rational(1, 2)` is an `fmpq`, not an `int`), so use the functions.

>>> half = number(1, 2)
>>> add(half, half), multiply(half, 3), power(half, -2)
(1, 3/2, 4)
>>> e = exponential(1)
>>> divide(e, e), compare(e, number(2718281828459045235, 10**18)), floor(e)
(1, 1, 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cmp_to_key, total_ordering
from typing import TYPE_CHECKING, Any

from flint import arb, ctx, fmpq, fmpz, fmpz_poly

from dpcheck.exact.errors import LONGEST_TOLD, TooLarge
from dpcheck.exact.polynomial import (
    ExpPolynomial,
    Whole,
    aligned,
    as_polynomial,
    as_whole,
    is_term,
    precisions,
    refined_sign,
)
from dpcheck.records import dataclass

if TYPE_CHECKING:
    from fractions import Fraction

Rational = fmpq

MAX_BITS = 1 << 25
"""Bounds a rational number: 4 MiB, ten million digits."""
MAX_EXPONENT = 1 << 30
"""Bounds the exponent of a power of e, so that its size can be told before it is made."""


@total_ordering
@dataclass(frozen=True, eq=False)
class ExpNumber:
    """An element of ℚ(e^r) outside ℚ: numerator/denominator, polynomials in t = e^unit.

    Canonical: coprime over ℤ[t] (contents too), a denominator that is positive as a real number,
    and the greatest unit over which both are polynomials. The unit is unique: a fraction that lies
    in ℚ(t^k) is reduced there already, so `unit` is the gcd of the exponents that occur. Made by
    `number`, `exponential` and the arithmetic; the operators return normal forms.
    """

    numerator: fmpz_poly
    denominator: fmpz_poly
    unit: fmpq

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same real number."""
        if isinstance(other, ExpNumber):
            return (
                self.unit == other.unit
                and self.numerator == other.numerator
                and self.denominator == other.denominator
            )
        return False if isinstance(other, int | fmpq | fmpz) else NotImplemented

    def __hash__(self) -> int:
        """Hash the canonical form."""
        return hash((self.unit, tuple(self.numerator.coeffs()), tuple(self.denominator.coeffs())))

    def ball(self, bits: int) -> arb:
        """Return an enclosure of the value; not finite while the denominator's contains 0."""
        with ctx.workprec(bits):
            over = ExpPolynomial(self.denominator, self.unit).ball(bits)
            return ExpPolynomial(self.numerator, self.unit).ball(bits) / over

    def monomial(self) -> tuple[int | fmpq, fmpq] | None:
        """Return (c, s) when the number is c·e^s with rational c and s, else None."""
        if is_term(self.numerator) and is_term(self.denominator):
            above, below = self.numerator.degree(), self.denominator.degree()
            factor = fmpq(self.numerator[above], self.denominator[below])
            return _normal(factor), self.unit * (above - below)
        return None

    def __add__(self, other: Number) -> Number:
        """Return the sum."""
        return add(self, other)

    def __radd__(self, other: Number) -> Number:
        """Return the sum."""
        return add(other, self)

    def __sub__(self, other: Number) -> Number:
        """Return the difference."""
        return subtract(self, other)

    def __rsub__(self, other: Number) -> Number:
        """Return the difference."""
        return subtract(other, self)

    def __mul__(self, other: Number) -> Number:
        """Return the product."""
        return multiply(self, other)

    def __rmul__(self, other: Number) -> Number:
        """Return the product."""
        return multiply(other, self)

    def __truediv__(self, other: Number) -> Number:
        """Return the quotient."""
        return divide(self, other)

    def __rtruediv__(self, other: Number) -> Number:
        """Return the quotient."""
        return divide(other, self)

    def __neg__(self) -> ExpNumber:
        """Return the negated number."""
        return ExpNumber(-self.numerator, self.denominator, self.unit)

    def __lt__(self, other: Number) -> bool:
        """Compare, decided."""
        return compare(self, other) < 0


Number = int | Rational | ExpNumber


class MinusInfinity(Enum):
    """What a sum is that falls without end; one that grows so is None, wherever it may."""

    VALUE = "-inf"


Extended = Number | MinusInfinity | None
"""A number, or what diverges."""


def _normal(value: fmpq) -> int | fmpq:
    """Return an integral fmpq as an int."""
    return int(value.p) if value.q == 1 else value


def _fraction(numerator: fmpz_poly, denominator: fmpz_poly, unit: fmpq) -> Number:
    """Return the normal form of numerator/denominator, polynomials in e^unit."""
    if not denominator:
        raise ZeroDivisionError("division by zero")
    divisor = numerator.gcd(denominator)
    if not divisor.is_one():
        numerator, denominator = numerator / divisor, denominator / divisor
    if numerator.degree() <= 0 and denominator.degree() == 0:
        return _normal(fmpq(numerator[0], denominator[0]))
    if ExpPolynomial(denominator, unit).sign() < 0:
        numerator, denominator = -numerator, -denominator
    # deflation() reports step 1 for a constant, whose only exponent 0 restricts nothing.
    steps = [part.deflation()[1] for part in (numerator, denominator) if part.degree() > 0]
    step = math.gcd(*steps)
    if step > 1:
        numerator, denominator = numerator.deflate(step), denominator.deflate(step)
    return ExpNumber(numerator, denominator, unit * step)


def number(numerator: Whole, denominator: Whole = 1) -> Number:
    """Return numerator/denominator in normal form; the inverse of `as_fraction_parts`.

    >>> t = ExpPolynomial.exp(fmpq(1, 2))
    >>> number(6, 4), number(6, 3), number(t * t - 1, 2 * t - 2) == number(t + 1, 2)
    (3/2, 2, True)
    """
    if isinstance(numerator, int) and isinstance(denominator, int):
        if denominator == 0:
            raise ZeroDivisionError("division by zero")
        return numerator if denominator == 1 else _normal(fmpq(numerator, denominator))
    return _fraction(*aligned(as_polynomial(numerator), as_polynomial(denominator)))


def as_fraction(value: Number) -> Fraction | ExpNumber:
    """Return the number as Python's own fraction where it is rational.

    >>> as_fraction(number(6, 4)), as_fraction(2)
    (Fraction(3, 2), Fraction(2, 1))
    """
    from fractions import Fraction

    if isinstance(value, ExpNumber):
        return value
    return Fraction(value) if isinstance(value, int) else Fraction(int(value.p), int(value.q))


def as_fraction_parts(value: Number) -> tuple[Whole, Whole]:
    """Return (numerator, denominator), both whole, the denominator positive as a real number.

    >>> as_fraction_parts(number(3, 4))
    (3, 4)
    """
    match value:
        case int():
            return value, 1
        case ExpNumber():
            return (
                as_whole(ExpPolynomial(value.numerator, value.unit)),
                as_whole(ExpPolynomial(value.denominator, value.unit)),
            )
        case _:
            return int(value.p), int(value.q)


def exponential(exponent: int | Rational) -> Number:
    """Return e^exponent for a rational exponent: 1 for 0, else an element of ℚ(e^|exponent|).

    Raises `TooLarge` when |exponent| > 2^30: such a number has over 400 million digits.
    """
    if exponent == 0:
        return 1
    if not -MAX_EXPONENT <= exponent <= MAX_EXPONENT:
        raise TooLarge("this power of e", MAX_BITS + 1, MAX_BITS)
    one, variable = fmpz_poly([1]), fmpz_poly([0, 1])
    if exponent > 0:
        return ExpNumber(variable, one, fmpq(exponent))
    return ExpNumber(one, variable, fmpq(-exponent))


def _parts(value: Number) -> tuple[ExpPolynomial, ExpPolynomial]:
    """Return numerator and denominator as polynomials."""
    if isinstance(value, ExpNumber):
        return (
            ExpPolynomial(value.numerator, value.unit),
            ExpPolynomial(value.denominator, value.unit),
        )
    if isinstance(value, int):
        return ExpPolynomial.constant(value), ExpPolynomial.constant(1)
    return ExpPolynomial.constant(value.p), ExpPolynomial.constant(value.q)


def _of_polynomials(numerator: ExpPolynomial, denominator: ExpPolynomial) -> Number:
    """Return the normal form of a quotient of polynomials."""
    return _fraction(*aligned(numerator, denominator))


def add(left: Number, right: Number) -> Number:
    """Return left + right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, ExpNumber) or isinstance(right, ExpNumber):
        (n, d), (m, c) = _parts(left), _parts(right)
        return _of_polynomials(n + m, d) if d == c else _of_polynomials(n * c + m * d, d * c)
    return _normal(fmpq(left) + right)


def sum_of(numbers: Iterable[Number]) -> Number:
    """Return the sum of some numbers, 0 of none."""
    total: Number = 0
    for each in numbers:
        total = add(total, each)
    return total


def subtract(left: Number, right: Number) -> Number:
    """Return left - right."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    if isinstance(left, ExpNumber) or isinstance(right, ExpNumber):
        return add(left, negate(right))
    return _normal(fmpq(left) - right)


def multiply(left: Number, right: Number) -> Number:
    """Return left · right."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if isinstance(left, ExpNumber) or isinstance(right, ExpNumber):
        (n, d), (m, c) = _parts(left), _parts(right)
        return _of_polynomials(n * m, d * c)
    return _normal(fmpq(left) * right)


def divide(left: Number, right: Number) -> Number:
    """Return left / right; raises `ZeroDivisionError` when right is 0."""
    if right == 0:
        raise ZeroDivisionError("division by zero")
    if isinstance(left, ExpNumber) or isinstance(right, ExpNumber):
        (n, d), (m, c) = _parts(left), _parts(right)
        return _of_polynomials(n * c, d * m)
    return _normal(fmpq(left) / right)


def negate(value: Number) -> Number:
    """Return -value."""
    return -value


def power(base: Number, exponent: int, limit_bits: int = MAX_BITS) -> Number:
    """Return base^exponent for an integer exponent (0^0 = 1).

    Raises `ZeroDivisionError` for a negative power of 0, and `TooLarge` before anything is
    computed when the result would have more than `limit_bits` bits.

    >>> power(2, 10), power(number(1, 2), -3), power(exponential(1), 3) == exponential(3)
    (1024, 8, True)
    >>> power(2, 10**10)
    Traceback (most recent call last):
    dpcheck.exact.errors.TooLarge: a power with exponent 10000000000 is too large to write down
    """
    if exponent == 0 or base == 1:
        return 1
    if base == 0:
        if exponent < 0:
            raise ZeroDivisionError("a negative power of zero")
        return 0
    if base == -1:
        return 1 if exponent % 2 == 0 else -1
    if isinstance(base, ExpNumber):
        return _exp_power(base, exponent, limit_bits)
    value = fmpq(base)
    _refuse_power(exponent, value.p.bit_length() + value.q.bit_length() - 2, limit_bits)
    return _normal(value**exponent)


def _exp_power(base: ExpNumber, exponent: int, limit_bits: int) -> Number:
    """Return a power in ℚ(e^r); a power of c·e^s is written down at once, whatever its degree."""
    monomial = base.monomial()
    if monomial is not None:
        factor, exponent_of_e = monomial
        scaled = exponential(_normal(exponent_of_e * exponent))
        return multiply(power(factor, exponent, limit_bits), scaled)
    n, d = _parts(base) if exponent > 0 else _parts(base)[::-1]
    # A coefficient of f^m is at most (the sum of f's coefficients)^m; there are m·deg f + 1.
    bits = max(_sum_bits(part.coefficients) for part in (n, d))
    n_coefficients = max(part.coefficients.degree() for part in (n, d)) * abs(exponent) + 1
    _refuse_power(exponent, bits * n_coefficients, limit_bits)
    return _of_polynomials(n ** abs(exponent), d ** abs(exponent))


def _sum_bits(polynomial: fmpz_poly) -> int:
    """Return the bits of the sum of the absolute coefficients."""
    return sum((abs(c) for c in polynomial.coeffs()), fmpz(0)).bit_length()


def _refuse_power(exponent: int, bits: int, limit_bits: int) -> None:
    """Raise `TooLarge` when |exponent| · bits exceeds the limit."""
    if abs(exponent) * bits > limit_bits:
        is_short = abs(exponent) < LONGEST_TOLD
        what = f"a power with exponent {exponent}" if is_short else "a power with a long exponent"
        raise TooLarge(what, abs(exponent) * bits, limit_bits)


def sign(value: Number) -> int:
    """Return -1, 0 or 1, decided."""
    if isinstance(value, ExpNumber):
        return ExpPolynomial(value.numerator, value.unit).sign()
    return (value > 0) - (value < 0)


def compare(left: Number, right: Number) -> int:
    """Return -1, 0 or 1 as left is less than, equal to or greater than right, decided.

    Numbers in normal form are equal exactly if they are equal objects; different ones are told
    apart by enclosures, which shrink to two different reals. No common unit is needed.
    """
    if not isinstance(left, ExpNumber) and not isinstance(right, ExpNumber):
        return (left > right) - (left < right)
    if left == right:
        return 0
    return refined_sign(lambda bits: ball(left, bits) - ball(right, bits))


by_size: Callable[[Number], Any] = cmp_to_key(compare)
"""The key by which numbers are sorted, and the least or the greatest of some is found."""


def ball(value: Number, bits: int) -> arb:
    """Return an enclosure computed with `bits` bits; it may be infinite at a low precision."""
    if isinstance(value, ExpNumber):
        return value.ball(bits)
    with ctx.workprec(bits):
        return arb(value)


def floor(value: Number) -> int:
    """Return the greatest integer <= value; an `ExpNumber` is irrational, so refining ends."""
    match value:
        case int():
            return value
        case ExpNumber():
            return _irrational_floor(value)
        case _:
            return int(value.floor())


def _irrational_floor(value: ExpNumber) -> int:
    """Return the floor of an irrational number, refining until the enclosure has one floor."""
    for bits in precisions():
        around = value.ball(bits)
        if around.abs_lower() > arb(2) ** MAX_BITS:
            raise TooLarge("the integer part of this number", MAX_BITS + 1, MAX_BITS)
        with ctx.workprec(bits):
            lowest = around.floor().unique_fmpz()
        if lowest is not None:
            return int(lowest)
    raise AssertionError("precisions are unbounded")


def ceil(value: Number) -> int:
    """Return the least integer >= value."""
    return -floor(negate(value))
