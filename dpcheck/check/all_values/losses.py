"""Bounds on what pairs of neighbors lose on an interval, by coefficients of polynomials there.

What is lost by an e^ε with a root in it has the coefficients x - ρ y for integers x and y and a
constant ρ = (a/b)^(1/n) that is irrational. b x^n - a y^n is an integer, and 0 only where both
are; so x - ρ y is 0 or at least 1/(b n M^(n-1)) where x and ρ |y| are at most M (it divides that
integer if both have one sign, and else it is at least 1 or ρ). Enough digits of ρ decide it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpz, fmpz_poly

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.exact.matrices import integer_product
from dpcheck.records import dataclass, replace

EXACT = 1 << 12
"""So many pairs at once are compared by coefficients as they are, where rounded ones are equal."""

MOST = 1 << 62
"""No bound by rounded coefficients is as large."""

CACHED = 1 << 11
"""So many pairs at once are summed up: their coefficients stay in the processor's cache."""

BITS = 60
"""Sums of rounded coefficients have fewer bits."""

Table = npt.NDArray[np.object_]
"""Integers of any length."""

Sums = TypeVar("Sums", IntArray, Table)
"""Numbers that are added up, rounded or not."""


@dataclass(frozen=True)
class Radical:
    """(above/below)^(1/degree), irrational unless the degree is 1: then both are 1."""

    above: int
    below: int
    degree: int

    @property
    def about(self) -> fmpq:
        """A rational number next to it."""
        return fmpq(self.rounded(BITS), 1 << BITS)

    def bits(self, size: int, n_terms: int) -> int:
        """Return how many digits tell the sign of sums of so many terms of `size` bits."""
        if self.degree == 1:
            return 0
        most = size + n_terms.bit_length() + self.above.bit_length()
        apart = self.below.bit_length() + self.degree.bit_length() + (self.degree - 1) * most
        return apart + n_terms.bit_length() + 3

    def rounded(self, bits: int) -> int:
        """Return 2^bits times the number, rounded down."""
        power = fmpz(self.above) << (bits * self.degree)
        return int((power // self.below).root(self.degree))

    def multiples(self, values: Table, bits: int) -> Table:
        """Return 2^bits times multiples of the number, less than 2 below or above."""
        if self.degree == 1:
            return values
        more = _size(values)
        found: Table = (values * self.rounded(bits + more)) >> more
        return found


RATIONAL = Radical(1, 1, 1)


@dataclass(frozen=True)
class Known:
    """Pairs for which Σ max(0, g p - ρ f q) <= above - ρ below are no stronger than what is known.

    All are polynomials, the constant ρ is the same for all that is known.
    """

    f: fmpz_poly
    g: fmpz_poly
    above: fmpz_poly
    below: fmpz_poly


@dataclass(frozen=True)
class Interval:
    """Numbers t between two; None is infinite. y = 1 is the middle."""

    low: fmpq
    high: fmpq | None

    @property
    def middle(self) -> fmpq:
        """The t of y = 1."""
        return self.low + self._step if self.high is None else (self.low + self.high) / 2

    @property
    def _step(self) -> fmpq:
        return max(self.low, fmpq(1))

    def halves(self) -> tuple[Interval, Interval]:
        """Return both sides of the middle."""
        return Interval(self.low, self.middle), Interval(self.middle, self.high)

    def powers(self, factor: fmpz_poly, n_powers: int, degree: int) -> Table:
        """Return coefficients of (1 + y)^degree f(t) t^k, [n_powers, degree + 1].

        On the half line, of f(t) t^k; all times the same number > 0.
        """
        low = self.low
        if self.high is None:
            line, unit = (low, self._step), (fmpq(1), fmpq(0))
        else:
            line, unit = (low, self.high), (fmpq(1), fmpq(1))
        common = int(low.q * line[1].q)
        above, below = (fmpz_poly([int((x * common).p) for x in each]) for each in (line, unit))
        last = factor.degree()
        terms = [c * above**k * below ** (last - k) for k, c in enumerate(factor.coeffs())]
        first = sum(terms, fmpz_poly([]))
        missing = degree - last
        found = [first * above**k * below ** (missing - k) for k in range(n_powers)]
        return coefficient_table(found, degree + 1)


@dataclass(frozen=True, eq=False)
class Rows:
    """Coefficients of polynomials, [n_polynomials, n_coefficients], lowest first.

    `rounded` are these in units 2^`shifts` [n_coefficients], rounded down. `size` are the bits of
    the largest one.
    """

    exact: Table
    rounded: IntArray
    shifts: IntArray
    size: int

    @classmethod
    def of(cls, polynomials: Sequence[fmpz_poly], n_bits: int) -> Rows:
        """Return the rows of polynomials, coefficients rounded to so many bits."""
        exact = coefficient_table(polynomials)
        shifts = _shifts(np.abs(exact).max(axis=0), n_bits)
        return cls(exact, _shifted(exact, shifts), shifts, _size(exact))

    def __getitem__(self, which: IntArray) -> Rows:
        """Return some of the rows."""
        return replace(self, exact=self.exact[which], rounded=self.rounded[which])


@dataclass(frozen=True, eq=False)
class Losses:
    """Σ_s max(0, g p_s - ρ f q_s) for pairs on an interval, in units 2^-`bits`.

    `small` and `large` [n_coefficients, degree + 1] make coefficients of g p and f q of those of p
    and q; `codes` [n_sequences, n_pairs, 2] are the rows that each pair has.
    """

    rows: Rows
    small: Table
    large: Table
    root: Radical
    bits: int
    codes: IntArray

    def above(self, limit: Table) -> IntArray:
        """Return the pairs [n] that are not shown to lose at most R, `limit` [degree + 1]."""
        small, large, shifts, errors = self._rounded()
        sides: tuple[IntArray, IntArray] = small + errors, large - errors
        bounds = sums_above(*sides, self.codes)
        rounded = np.clip(limit >> shifts.astype(object), -MOST, MOST).astype(np.int64)
        is_above: BoolArray = np.any(bounds > rounded, axis=1)
        if errors.any():  # bounds are above the sums by less than this
            near = rounded + 4 * len(self.codes) * errors + 1
            open_pairs = np.flatnonzero(is_above & (bounds <= near).all(axis=1))
            for start in range(0, len(open_pairs), EXACT):
                some = open_pairs[start : start + EXACT]
                is_above[some] = (self._exact(self.codes[:, some]) > limit).any(axis=1)
        found: IntArray = np.flatnonzero(is_above)
        return found

    def _rounded(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return coefficients of g p and ρ f q in units 2^shifts, with the shifts and errors.

        With x = 2^r x' + μ and 2^r y = 2^s y' + τ, both rests smaller than their units, x y is
        2^s x' y' but for less than |x'| + 1 (from τ) and |y'| + 1 (from μ) units 2^s.
        """
        sizes = np.abs(self.rows.rounded).max(axis=0) + 1
        wide = self.rows.shifts.astype(object)[:, None]
        sides = (
            self.small << wide << self.bits,
            self.root.multiples(self.large << wide, self.bits),
        )
        tops = (sizes.astype(object) @ np.abs(side) for side in sides)
        shifts = _shifts(np.maximum(*tops), n_bits(len(self.codes)))
        small, large = (_shifted(side, shifts) for side in sides)
        errors: IntArray = sizes.sum() * ((shifts > 0) + 2 * (self.bits > 0))
        unknown = np.maximum(np.abs(small), np.abs(large))[self.rows.shifts > 0] + 1
        products = (self.rows.rounded @ side for side in (small, large))
        return *products, shifts, errors + unknown.sum(axis=0)

    def _exact(self, codes: IntArray) -> Table:
        """Return the sums of some pairs, all terms rounded by less than 2 units if ρ is no 1."""
        used, places = np.unique(codes, return_inverse=True)
        rows, shape = self.rows.exact[used], (len(used), self.small.shape[1])
        left = rows.ravel().tolist()
        small, large = (
            np.array(integer_product(left, side.ravel().tolist(), *shape), object).reshape(shape)
            for side in (self.small, self.large)
        )
        small <<= self.bits
        return sums_above(small, self.root.multiples(large, self.bits), places.reshape(codes.shape))


def not_below(
    known: Known, root: Radical, rows: Rows, codes: IntArray, interval: Interval
) -> IntArray:
    """Return the pairs [n] that are not shown to be weaker than what is known.

    `codes` [n_sequences, n_pairs, 2] are their rows.
    """
    sides = known.above, known.below
    n_powers = rows.exact.shape[1]
    width = max(n_powers, 1 + max(p.degree() for p in sides))
    degree = max(known.f.degree(), known.g.degree()) + width - 1
    small, large = (interval.powers(p, n_powers, degree) for p in (known.g, known.f))
    limits = coefficient_table(sides, width) @ interval.powers(fmpz_poly([1]), width, degree)
    n_terms = len(codes) + 1
    tops = (rows.size + width.bit_length() + _size(side) for side in (small, large))
    bits = root.bits(max(*tops, _size(limits)), n_terms)
    limit = (limits[0] << bits) - root.multiples(limits[1], bits)
    if bits:  # all terms together are rounded by less than this, and sums that are not 0 are larger
        limit += 2 * n_terms
    return Losses(rows, small, large, root, bits, codes).above(limit)


def coefficient_table(polynomials: Sequence[fmpz_poly], width: int = 1) -> Table:
    """Return the coefficients of polynomials, lowest first, [n_polynomials, width or more]."""
    width = max(width, *(1 + p.degree() for p in polynomials))
    table: Table = np.zeros((len(polynomials), width), object)
    for k, p in enumerate(polynomials):
        row = [int(c) for c in p.coeffs()]
        table[k, : len(row)] = row
    return table


def sums_above(small: Sums, large: Sums, codes: IntArray) -> Sums:
    """Return Σ_s max(0, p_s - q_s), [n_pairs, ..], `codes` [n_sequences, n_pairs, 2] being both."""
    total = np.zeros((codes.shape[1], *small.shape[1:]), small.dtype)
    for start in range(0, len(total), CACHED):
        for ends in codes[:, start : start + CACHED]:
            losses = small[ends[:, 0]]
            losses -= large[ends[:, 1]]
            total[start : start + CACHED] += np.maximum(losses, 0, out=losses)
    return total


def n_bits(n_terms: int) -> int:
    """Return how many bits terms may have, so that their sum is an int64."""
    return BITS - n_terms.bit_length()


def _shifts(tops: Table, n_bits: int) -> IntArray:
    """Return how many bits are left out of numbers, so that the largest ones have `n_bits`."""
    return np.array([max(int(top).bit_length() - n_bits, 0) for top in tops], np.int64)


def _shifted(coefficients: Table, shifts: IntArray) -> IntArray:
    """Return coefficients in units 2^shifts, rounded down."""
    rounded: IntArray = (coefficients >> shifts.astype(object)).astype(np.int64)
    return rounded


def _size(coefficients: Table) -> int:
    """Return the bits of the largest one."""
    return max((int(c).bit_length() for c in coefficients.ravel()), default=0)
