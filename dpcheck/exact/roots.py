"""Real roots of integer polynomials, exactly, and the sets of numbers that they bound.

Descartes: the coefficients of (1 + y)^d p((a + b y)/(1 + y)) change sign v times, and p has
v, v - 2, ... roots in (a, b), counted with multiplicity: none for v = 0, one for v = 1. Where they
change more often the interval is halved (Vincent; Collins and Akritas, 1976). Roots belong to
irreducible polynomials, so that two roots of different ones are never equal, and halving their
intervals comes to tell them apart.

>>> f = fmpz_poly([-1, -1, 1]) * fmpz_poly([-3, 2])  # (x^2 - x - 1)(2x - 3)
>>> [root.rational for root in roots_between(f, Root.of(0), None)]
[3/2, None]
>>> below = where_sign(f, (-1,), Root.of(0), None)  # between the roots
>>> below.truths
(False, False, True, False, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from itertools import pairwise
from operator import and_

from flint import ctx, fmpq, fmpz_poly

from dpcheck.exact.budget import Budget
from dpcheck.exact.polynomial import FIRST_PRECISION
from dpcheck.records import dataclass

Growth = tuple[fmpz_poly, fmpz_poly, int]
"""(f, g, n) for the function (f/g)^(1/n), both polynomials positive on an interval."""

SHIFT = fmpz_poly([1, 1])

SHORT_BITS = 16
"""Binary places of bounds in which roots are looked for: with all those of irrational ends, δ of
some noise took over 5 minutes in place of 25 s, of other noise 15 s in place of 3 s."""


def sign_changes(polynomial: fmpz_poly) -> int:
    """Return how often the sign changes from one non-zero coefficient to the next."""
    signs = [c > 0 for c in polynomial.coeffs() if c != 0]
    return sum(a != b for a, b in pairwise(signs))


def on_half_line(polynomial: fmpz_poly, low: fmpq, high: fmpq | None) -> fmpz_poly:
    """Return a polynomial in y > 0 with the signs that p has on (low, high), in order of y.

    p(low + y) for an infinite end, else (1 + y)^d p((low + high y)/(1 + y)), times a number > 0.
    """
    if high is None:
        return scaled(polynomial, low, fmpq(1))
    inside = scaled(polynomial, low, high - low)  # in x from 0 to 1; x = y/(1 + y)
    degree = polynomial.degree()
    turned = reversed_coefficients(inside, degree)(SHIFT)
    return reversed_coefficients(turned, degree)


def scaled(polynomial: fmpz_poly, start: fmpq, step: fmpq) -> fmpz_poly:
    """Return a multiple D^d p(start + step x), where D is a common denominator of both."""
    common = start.q * step.q
    line = fmpz_poly([start.p * step.q, step.p * start.q])
    if common == 1:
        return polynomial(line)
    degree = polynomial.degree()
    terms = [c * common ** (degree - k) for k, c in enumerate(polynomial.coeffs())]
    return fmpz_poly(terms)(line)


def reversed_coefficients(polynomial: fmpz_poly, degree: int) -> fmpz_poly:
    """Return x^degree p(1/x)."""
    return fmpz_poly([polynomial[degree - i] for i in range(degree + 1)])


def sign_at(polynomial: fmpz_poly, x: fmpq) -> int:
    """Return the sign of p(x)."""
    value = polynomial(x)
    return int(value > 0) - int(value < 0)


class Root:
    """A real root of an irreducible primitive polynomial: the only one in an interval.

    The interval (low, high) is open, and its ends are no roots; it shrinks by `narrow`. A rational
    root is its own interval.
    """

    __slots__ = ("high", "low", "polynomial")

    def __init__(self, polynomial: fmpz_poly, low: fmpq, high: fmpq) -> None:
        """Keep the polynomial and the interval that isolates the root."""
        self.polynomial = polynomial
        self.low, self.high = low, high
        if polynomial.degree() == 1:
            self.low = self.high = fmpq(-polynomial[0], polynomial[1])

    @classmethod
    def of(cls, number: fmpq | int) -> Root:
        """Return a rational number as a root."""
        x = fmpq(number)
        return cls(fmpz_poly([-x.p, x.q]), x, x)

    @property
    def rational(self) -> fmpq | None:
        """The number, where it is rational."""
        return self.low if self.low == self.high else None

    def narrow(self) -> None:
        """Halve the interval; an irrational root is no middle of one."""
        middle = (self.low + self.high) / 2
        if sign_at(self.polynomial, middle) == sign_at(self.polynomial, self.low):
            self.low = middle
        else:
            self.high = middle

    def compare(self, other: Root) -> int:
        """Return -1, 0 or 1 as this is less than, equal to or greater than the other."""
        is_same = self.polynomial == other.polynomial
        while True:
            if self.high <= other.low and (self.low < self.high or other.low < other.high):
                return -1
            if other.high <= self.low and (self.low < self.high or other.low < other.high):
                return 1
            if self.low == self.high and other.low == other.high:
                return int(self.low > other.low) - int(self.low < other.low)
            if is_same:
                low, high = min(self.low, other.low), max(self.high, other.high)
                if sign_changes(on_half_line(self.polynomial, low, high)) == 1:
                    return 0
            self.narrow()
            other.narrow()


class PowerOfE(Root):
    """e^x for a budget x with a rational part that is not 0: a transcendental number.

    So it is a root of no polynomial, and halving comes to tell it from all of them (Lindemann and
    Weierstrass).
    """

    __slots__ = ("bits", "exponent")

    def __init__(self, exponent: Budget) -> None:
        """Keep the exponent, and enclose its power."""
        self.exponent, self.bits = exponent, FIRST_PRECISION
        self.polynomial = fmpz_poly([])
        self.narrow()

    def narrow(self) -> None:
        """Compute the enclosure with a few more digits."""
        with ctx.workprec(self.bits):  # ends of a ball are rounded as well
            ball = self.exponent.exp_ball(self.bits)
            self.low, self.high = ball.lower().fmpq(), ball.upper().fmpq()
        self.bits += 8

    def compare(self, other: Root) -> int:
        """Return -1, 0 or 1 as this is less than, equal to or greater than the other."""
        if isinstance(other, PowerOfE):
            return self.exponent.compare(other.exponent)
        return super().compare(other)


def sign_at_root(polynomial: fmpz_poly, root: Root) -> int:
    """Return the sign of p at a root, whose interval shrinks until p has no root there."""
    if polynomial.gcd(root.polynomial).degree() > 0:
        return 0
    while sign_changes(on_half_line(polynomial, root.low, root.high)):
        root.narrow()
    return sign_at(polynomial, (root.low + root.high) / 2)


Bound = Root | None
"""An end of an interval; None is infinite."""


def roots_between(polynomial: fmpz_poly, low: Bound, high: Bound) -> list[Root]:
    """Return the distinct roots in the open interval (low, high), in order."""
    first = None if low is None else _short(low, low.low, is_low=True)
    last = None if high is None else _short(high, high.high, is_low=False)
    if first is not None and sign_changes(on_half_line(polynomial, first, last)) == 0:
        return []
    found: list[Root] = []
    for factor, _ in polynomial.factor()[1]:
        found += _isolated(factor, first, last)
    inside = [x for x in found if low is None or low.compare(x) < 0]
    inside = [x for x in inside if high is None or x.compare(high) < 0]
    return sorted(inside, key=cmp_to_key(Root.compare))


def _short(end: Root, bound: fmpq, *, is_low: bool) -> fmpq:
    """Return a short number beyond an end: a polynomial over a long one has long coefficients.

    An irrational end that was compared with many others has a bound of hundreds of digits. What is
    between both is not in the interval, and roots there are left out.
    """
    if end.rational is not None:
        return bound
    whole = bound * (1 << SHORT_BITS)
    return fmpq(whole.floor() if is_low else whole.ceil(), 1 << SHORT_BITS)


def distinct_roots(roots: Iterable[Root]) -> list[Root]:
    """Return roots in order, equal ones once."""
    found: list[Root] = []
    for root in sorted(roots, key=cmp_to_key(Root.compare)):
        if not found or found[-1].compare(root) != 0:
            found.append(root)
    return found


def _isolated(factor: fmpz_poly, low: fmpq | None, high: fmpq | None) -> list[Root]:
    """Return the roots of an irreducible polynomial in an interval, in any order."""
    bound = _root_bound(factor)
    first = min(-bound, bound if high is None else high - 1) if low is None else low
    found, waiting = [], [(first, max(bound, first + 1) if high is None else high)]
    while waiting:
        a, b = waiting.pop()
        changes = sign_changes(on_half_line(factor, a, b))
        if changes == 1:
            found.append(Root(factor, a, b))
        elif changes:
            middle = (a + b) / 2
            waiting += [(a, middle), (middle, b)]
    return found


def _root_bound(polynomial: fmpz_poly) -> fmpq:
    """Return a power of 2 above all real roots (Cauchy: 1 + max |c_i / c_d|)."""
    coefficients = [abs(int(c)) for c in polynomial.coeffs()]
    return fmpq(1 << (max(coefficients) // coefficients[-1] + 1).bit_length())


def rational_between(low: fmpq | None, high: fmpq | None) -> fmpq:
    """Return the simplest rational in the open interval (low, high): Stern and Brocot's tree.

    >>> rational_between(fmpq(3, 10), fmpq(1, 2)), rational_between(None, fmpq(-1, 2))
    (1/3, -1)
    """
    if (low is None or low < 0) and (high is None or high > 0):
        return fmpq(0)
    if low is None or low < 0:
        assert high is not None, "the interval is below 0"
        return -_simplest_positive(-high, None if low is None else -low)
    return _simplest_positive(low, high)


def between(low: Bound, high: Bound) -> fmpq:
    """Return the simplest rational in the open interval (low, high)."""
    while True:
        x = rational_between(None if low is None else low.low, None if high is None else high.high)
        here = Root.of(x)
        if (low is None or low.compare(here) < 0) and (high is None or here.compare(high) < 0):
            return x
        for end in (low, high):
            if end is not None and end.rational is None:
                end.narrow()


def _simplest_positive(low: fmpq, high: fmpq | None) -> fmpq:
    """Return the simplest rational in (low, high), 0 <= low, by continued fractions."""
    below = low.floor()
    if high is None or below + 1 < high:
        return fmpq(below + 1)
    rest = low - below
    top = high - below
    inner = _simplest_positive(1 / top, None if rest == 0 else 1 / rest)
    return below + 1 / inner


# --- sets ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Region:
    """A set of numbers in an open interval (low, high) that finitely many roots bound.

    `ends` [n] increase strictly; `truths` [2n + 1] say of the gap below the first root, of the
    root, of the gap above it, and so on, whether they belong to the set.
    """

    low: Bound
    high: Bound
    ends: tuple[Root, ...]
    truths: tuple[bool, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether nothing belongs to the set."""
        return not any(self.truths)

    @property
    def is_everything(self) -> bool:
        """Return whether the whole interval belongs to the set."""
        return all(self.truths)

    def intervals(self) -> list[tuple[Root | None, bool, Root | None, bool]]:
        """Return the maximal intervals: ends, each with whether it belongs to the set.

        None is an end of the whole interval. A single number is both ends of its interval.
        """
        found: list[tuple[Root | None, bool, Root | None, bool]] = []
        start: tuple[Root | None, bool] | None = None
        for k, truth in enumerate(self.truths):
            before = self.ends[k // 2 - 1] if k > 1 or k == 2 else None
            here = self.ends[k // 2] if k % 2 else None
            if truth and start is None:
                start = (here, True) if k % 2 else (before if k else None, False)
            if not truth and start is not None:
                end = (here, False) if k % 2 else (before, True)
                found.append((*start, *end))
                start = None
        if start is not None:
            found.append((*start, None, False))
        return found


def everywhere(truth: bool, low: Bound, high: Bound) -> Region:
    """Return the whole interval, or nothing of it."""
    return Region(low, high, (), (truth,))


def where_sign(polynomial: fmpz_poly, signs: Sequence[int], low: Bound, high: Bound) -> Region:
    """Return where the sign of a polynomial is one of some, on (low, high)."""
    roots = roots_between(polynomial, low, high)
    gaps = [sign_at(polynomial, x) in signs for x in samples(roots, low, high)]
    truths = [gaps[0]]
    for gap in gaps[1:]:
        truths += [0 in signs, gap]
    return _normal(Region(low, high, tuple(roots), tuple(truths)))


def where_above(
    left: fmpz_poly, right: fmpz_poly, growth: Growth, low: Bound, high: Bound, *, or_equal: bool
) -> Region:
    """Return where left - φ right > 0 (with `or_equal`, >= 0) for φ = (f/g)^(1/n), on (low, high).

    It is 0 at roots of g left^n - f right^n alone; and there, unless n is even and left = -φ right.
    """
    f, g, n = growth
    signs, excess = (1, 0) if or_equal else (1,), g * left**n - f * right**n
    if not excess:  # left is φ right or -φ right: φ is rational, and 0 nowhere
        is_zero = where_sign(left * right, (-1,), low, high).is_empty
        return everywhere(or_equal, low, high) if is_zero else where_sign(left, signs, low, high)
    roots = roots_between(excess, low, high)
    gaps = [sign_above(left, right, growth, x) for x in samples(roots, low, high)]
    truths = [gaps[0] in signs]
    for root, before, after in zip(roots, gaps, gaps[1:], strict=False):
        is_zero = before != after or sign_at_root(left * right, root) >= 0
        truths += [or_equal if is_zero else after in signs, after in signs]
    return _normal(Region(low, high, tuple(roots), tuple(truths)))


def sign_above(left: fmpz_poly, right: fmpz_poly, growth: Growth, x: fmpq) -> int:
    """Return the sign of left - φ right at x: see `where_above`."""
    f, g, n = growth
    signs = sign_at(left, x), sign_at(right, x)
    if signs[0] != signs[1]:
        return 1 if signs[0] > signs[1] else -1
    sign = sign_at(g * left**n - f * right**n, x)
    return -sign if n % 2 == 0 and signs[0] < 0 else sign


def samples(roots: Sequence[Root], low: Bound, high: Bound) -> list[fmpq]:
    """Return a rational number of every gap that increasing roots leave in (low, high)."""
    return [between(*gap) for gap in pairwise([low, *roots, high])]


def joined(operation: Callable[[bool, bool], bool], regions: Iterable[Region]) -> Region:
    """Return an associative Boolean operation of sets in one interval, at least one."""
    level = list(regions)
    while len(level) > 1:  # in pairs: the long lists of ends are merged last
        last = level[-1:] if len(level) % 2 else []
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [_joined(operation, *pair) for pair in pairs] + last
    return level[0]


def _joined(operation: Callable[[bool, bool], bool], left: Region, right: Region) -> Region:
    ends: list[Root] = []
    truths = [operation(left.truths[0], right.truths[0])]
    i = j = 0
    while i < len(left.ends) or j < len(right.ends):
        order = _order(left, i, right, j)
        ends.append(left.ends[i] if order <= 0 else right.ends[j])
        at_left = left.truths[2 * i + (order <= 0)]
        at_right = right.truths[2 * j + (order >= 0)]
        i, j = i + (order <= 0), j + (order >= 0)
        truths.append(operation(at_left, at_right))
        truths.append(operation(left.truths[2 * i], right.truths[2 * j]))
    return _normal(Region(left.low, left.high, tuple(ends), tuple(truths)))


def _order(left: Region, i: int, right: Region, j: int) -> int:
    """Return which of the next ends comes first: -1 the left one, 1 the right one, 0 both."""
    if i == len(left.ends):
        return 1
    return -1 if j == len(right.ends) else left.ends[i].compare(right.ends[j])


def complement(region: Region) -> Region:
    """Return what of the interval does not belong to a set."""
    return Region(region.low, region.high, region.ends, tuple(not t for t in region.truths))


def without(region: Region, others: Iterable[Region]) -> Region:
    """Return what of a region belongs to none of others."""
    return joined(and_, [region, *map(complement, others)])


def _normal(region: Region) -> Region:
    """Return the set without ends at which nothing changes."""
    ends, truths = [], [region.truths[0]]
    for k, root in enumerate(region.ends):
        here, after = region.truths[2 * k + 1 : 2 * k + 3]
        if truths[-1] == here == after:
            continue
        ends.append(root)
        truths += [here, after]
    return Region(region.low, region.high, tuple(ends), tuple(truths))
