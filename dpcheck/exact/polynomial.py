"""The ring ℤ[e^r]: polynomials with integer coefficients in t = e^r, for a rational r > 0.

e^r is transcendental (Lindemann 1882), so a polynomial in it is zero exactly if all its
coefficients are: equality is an identity of coefficients, and the sign of any other element is
found by refining an enclosure, which ends. Chains over ℚ(e^r) keep their weights in this ring, as
whole numerators over a whole denominator: a transition carries a `Whole = int | ExpPolynomial`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, reduce, total_ordering
from numbers import Integral
from typing import SupportsInt

from flint import arb, ctx, fmpq, fmpz, fmpz_poly

from dpcheck.exact.errors import LONGEST_TOLD, TooLarge
from dpcheck.records import dataclass

MAX_DEGREE = 1_000_000
"""Bounds elements of ℤ[e^r] whose unit r is small beside their exponents."""
FIRST_PRECISION = 64
"""Bits of the first enclosure; each further one has twice as many."""
LONG = 1 << 2000  # flint is faster from there on: 17 times for 16000 denominators 3 * 2^k


def precisions(first: int = FIRST_PRECISION) -> Iterator[int]:
    """Yield 64, 128, 256, ... bits: the precisions at which an enclosure is refined.

    Only for quantities proved to be non-zero; the loop that consumes it then ends.
    """
    bits = first
    while True:
        yield bits
        bits *= 2


def refined_sign(difference: Callable[[int], arb]) -> int:
    """Return -1 or 1, the sign of a real that is not 0, from enclosures with so many bits."""
    for bits in precisions():
        with ctx.workprec(bits):
            around = difference(bits)
        if around > 0:
            return 1
        if around < 0:
            return -1
    raise AssertionError("precisions are unbounded")


def enclosing(ball_at: Callable[[int], arb], accuracy: int, first: int) -> tuple[fmpq, fmpq]:
    """Return rationals below and above a number that agree to more bits than `accuracy`.

    `ball_at` returns an enclosure with so many bits, or raises; it is asked for `first` at first.
    """
    for bits in precisions(first):
        around = ball_at(bits)
        if around.is_finite() and around.rel_accuracy_bits() > accuracy:
            with ctx.workprec(bits):  # to which the ends are rounded outwards
                return around.lower().fmpq(), around.upper().fmpq()
    raise AssertionError("precisions are unbounded")


def exponential_ball(exponent: fmpq, bits: int) -> arb:
    """Return an enclosure of e^exponent computed with `bits` bits."""
    # Its parts are the key: a rational of flint's takes four times as long to hash.
    return _exponential_ball(int(exponent.p), int(exponent.q), bits)


@lru_cache(maxsize=1024)
def _exponential_ball(numerator: int, denominator: int, bits: int) -> arb:
    with ctx.workprec(bits):
        return arb(fmpq(numerator, denominator)).exp()


@total_ordering
@dataclass(frozen=True, eq=False)
class ExpPolynomial:
    """The real number Σ coefficients[i]·e^(i·unit), an element of ℤ[e^unit].

    Integers mix in; two elements with different units meet over the gcd of the units. Two elements
    are equal, and hash equally, exactly if they are the same real number.

    >>> t = ExpPolynomial.exp(fmpq(1, 2))
    >>> t * t == ExpPolynomial.exp(fmpq(1)), hash(t * t) == hash(ExpPolynomial.exp(fmpq(1)))
    (True, True)
    >>> t * 0 == 0, 2 * t - t - t == 0, (t + 1).sign(), (t - 2).sign()
    (True, True, 1, -1)
    """

    coefficients: fmpz_poly
    unit: fmpq

    @staticmethod
    def exp(exponent: fmpq) -> ExpPolynomial:
        """Return e^exponent for a rational exponent > 0."""
        assert exponent > 0, "negative powers of e are fractions, not polynomials"
        return ExpPolynomial(fmpz_poly([0, 1]), exponent)

    @staticmethod
    def constant(value: int | fmpz) -> ExpPolynomial:
        """Return an integer as a (constant) polynomial."""
        return ExpPolynomial(fmpz_poly([value]), _ONE)

    def __add__(self, other: object) -> ExpPolynomial:
        """Return the sum."""
        if isinstance(other, ExpPolynomial):
            left, right, unit = aligned(self, other)
            return ExpPolynomial(left + right, unit)
        if isinstance(other, _INTEGERS):
            return ExpPolynomial(self.coefficients + _plain(other), self.unit)
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: object) -> ExpPolynomial:
        """Return the difference."""
        if isinstance(other, ExpPolynomial):
            left, right, unit = aligned(self, other)
            return ExpPolynomial(left - right, unit)
        if isinstance(other, _INTEGERS):
            return ExpPolynomial(self.coefficients - _plain(other), self.unit)
        return NotImplemented

    def __rsub__(self, other: object) -> ExpPolynomial:
        """Return an integer minus this."""
        if isinstance(other, _INTEGERS):
            return ExpPolynomial(_plain(other) - self.coefficients, self.unit)
        return NotImplemented

    def __mul__(self, other: object) -> ExpPolynomial:
        """Return the product; by the integer 1 it is this very object."""
        if isinstance(other, ExpPolynomial):
            left, right, unit = aligned(self, other)
            return ExpPolynomial(left * right, unit)
        if isinstance(other, _INTEGERS):
            if other == 1:
                return self
            return ExpPolynomial(self.coefficients * _plain(other), self.unit)
        return NotImplemented

    __rmul__ = __mul__

    def __neg__(self) -> ExpPolynomial:
        """Return the negated element."""
        return ExpPolynomial(-self.coefficients, self.unit)

    def __pow__(self, exponent: int) -> ExpPolynomial:
        """Return a power with an exponent >= 0."""
        degree = self.coefficients.degree()
        if degree >= 0 and is_term(self.coefficients):
            term = self.coefficients[degree] ** exponent
            return ExpPolynomial(fmpz_poly([0] * (degree * exponent) + [term]), self.unit)
        return ExpPolynomial(self.coefficients**exponent, self.unit)

    def __bool__(self) -> bool:
        """Return whether the element is not zero."""
        return bool(self.coefficients)

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same real number: an identity of coefficients."""
        if isinstance(other, ExpPolynomial):
            if self.unit == other.unit:
                return self.coefficients == other.coefficients
            mine, theirs = self.deflated(), other.deflated()
            return mine.coefficients == theirs.coefficients and (
                mine.is_constant or mine.unit == theirs.unit
            )
        if isinstance(other, _INTEGERS):
            return self.is_constant and self.coefficients[0] == _plain(other)
        return NotImplemented

    def __hash__(self) -> int:
        """Hash by value: a constant hashes like its integer."""
        if self.is_constant:
            return hash(int(self.coefficients[0]))
        canonical = self.deflated()
        return hash((canonical.unit, tuple(canonical.coefficients.coeffs())))

    def __lt__(self, other: ExpPolynomial | int) -> bool:
        """Compare the real values, exactly."""
        return (self - other).sign() < 0

    @property
    def is_constant(self) -> bool:
        """Whether the element is an integer."""
        return bool(self.coefficients.degree() <= 0)

    def deflated(self) -> ExpPolynomial:
        """Return the same number over its greatest unit: the gcd of the exponents that occur."""
        if self.is_constant:
            return self
        coefficients, step = self.coefficients.deflation()
        return ExpPolynomial(coefficients, self.unit * step)

    def sign(self) -> int:
        """Return -1, 0 or 1, decided: a term's is its coefficient's, else enclosures shrink."""
        if not self.coefficients:
            return 0
        if is_term(self.coefficients):
            return 1 if self.coefficients[self.coefficients.degree()] > 0 else -1
        return refined_sign(self.ball)

    def ball(self, bits: int) -> arb:
        """Return an enclosure of the value computed with `bits` bits."""
        with ctx.workprec(bits):
            return self.coefficients(exponential_ball(self.unit, bits))

    def __repr__(self) -> str:
        """Show the sum as in a model."""
        return f"ExpPolynomial({self.coefficients.coeffs()!r}, unit={self.unit.str()})"


Whole = int | ExpPolynomial

_INTEGERS = (int, fmpz, Integral)
_ONE = fmpq(1)


def is_term(polynomial: fmpz_poly) -> bool:
    """Return whether a non-zero polynomial is c·t^k."""
    degree = polynomial.degree()
    return degree == 0 or not polynomial.truncate(degree)


def _plain(value: object) -> int | fmpz:
    """Return an integer that flint accepts: numpy's integers become Python's."""
    if isinstance(value, int | fmpz):
        return value
    assert isinstance(value, Integral)
    return int(value)


def aligned(left: ExpPolynomial, right: ExpPolynomial) -> tuple[fmpz_poly, fmpz_poly, fmpq]:
    """Return both coefficient polynomials over one common unit, and that unit.

    Raises `TooLarge` when the common unit is so small that a degree would exceed `MAX_DEGREE`.
    """
    if left.unit is right.unit or left.unit == right.unit or right.is_constant:
        return left.coefficients, right.coefficients, left.unit
    if left.is_constant:
        return left.coefficients, right.coefficients, right.unit
    unit = left.unit.gcd(right.unit)
    return _inflated(left, unit), _inflated(right, unit), unit


def _inflated(polynomial: ExpPolynomial, unit: fmpq) -> fmpz_poly:
    """Return the coefficients over a unit that divides the polynomial's own."""
    step = int((polynomial.unit / unit).numerator)
    degree = polynomial.coefficients.degree() * step
    if degree > MAX_DEGREE:
        of = f" of degree {degree} in exp({unit.str()})" if degree < LONGEST_TOLD else ""
        raise TooLarge(f"a polynomial{of}", degree, MAX_DEGREE)
    return polynomial.coefficients.inflate(step) if step > 1 else polynomial.coefficients


def as_polynomial(value: Whole) -> ExpPolynomial:
    """Return an integer or polynomial as a polynomial."""
    return value if isinstance(value, ExpPolynomial) else ExpPolynomial.constant(value)


def whole(weight: SupportsInt | ExpPolynomial) -> Whole:
    """Return an integer, also one of numpy's, as Python's; other weights as they are."""
    return weight if isinstance(weight, ExpPolynomial) else int(weight)


def as_whole(value: ExpPolynomial) -> Whole:
    """Return a constant polynomial as an integer, any other as it is, over its greatest unit."""
    return int(value.coefficients[0]) if value.is_constant else value.deflated()


def whole_bits(value: Whole) -> int:
    """Return how long an element is: about the bits of all its coefficients together."""
    if isinstance(value, int):
        return value.bit_length()
    return len(value.coefficients) * value.coefficients.height_bits()


def exact_quotient(dividend: Whole, divisor: Whole) -> Whole:
    """Return dividend/divisor where it is whole; anything else is a broken invariant.

    >>> t = ExpPolynomial.exp(fmpq(1))
    >>> exact_quotient(t * t - 1, t - 1) == t + 1
    True
    """
    if isinstance(dividend, int) and isinstance(divisor, int):
        quotient, rest = divmod(fmpz(dividend) if dividend > LONG else dividend, divisor)
        assert rest == 0, "an exact quotient leaves no rest"
        return int(quotient)
    left, right, unit = aligned(as_polynomial(dividend), as_polynomial(divisor))
    return as_whole(ExpPolynomial(left / right, unit))


def gcd_of(numbers: Iterable[int]) -> int:
    """Return the greatest common divisor of integers, by flint: Python's own is slow in long ones.

    >>> gcd_of([12, 18, 30]), gcd_of([])
    (6, 0)
    """
    return int(reduce(fmpz.gcd, map(fmpz, numbers), fmpz(0)))


def whole_gcd(left: Whole, right: Whole) -> Whole:
    """Return the greatest common divisor in ℤ[e^r] (contents included), positive as a real number.

    >>> t = ExpPolynomial.exp(fmpq(1))
    >>> whole_gcd(12, 18), whole_gcd(2 * t - 6, 4) == 2, whole_gcd(1 - t * t, 3 - 3 * t) == t - 1
    (6, True, True)
    """
    if isinstance(left, int) and isinstance(right, int):
        return math.gcd(left, right) if right < LONG else int(fmpz(left).gcd(right))
    first, second, unit = aligned(as_polynomial(left), as_polynomial(right))
    divisor = ExpPolynomial(first.gcd(second), unit)
    return as_whole(-divisor if divisor.sign() < 0 else divisor)


def common_multiple(values: Iterable[Whole]) -> Whole:
    """Return the least common multiple of some elements, 1 of none."""
    found: Whole = 1
    for value in values:
        found = whole_lcm(found, value)
    return found


def whole_lcm(left: Whole, right: Whole) -> Whole:
    """Return the least common multiple in ℤ[e^r], positive as a real number."""
    if isinstance(left, int) and isinstance(right, int):
        return math.lcm(left, right) if right < LONG else int(fmpz(left).lcm(right))
    multiple = exact_quotient(left, whole_gcd(left, right)) * right if left and right else 0
    if isinstance(multiple, ExpPolynomial):
        return as_whole(-multiple if multiple.sign() < 0 else multiple)
    return abs(multiple)
