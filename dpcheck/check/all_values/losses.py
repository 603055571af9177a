"""Bounds on what pairs of neighbors lose on an interval, by coefficients of polynomials there.

What is lost by an e^ε with a root in it has the coefficients x - ρ y for integers x and y and a
constant ρ = (a/b)^(1/n) that is irrational. b x^n - a y^n is an integer, and 0 only where both
are; so x - ρ y is 0 or at least 1/(b n M^(n-1)) where x and ρ |y| are at most M (it divides that
integer if both have one sign, and else it is at least 1 or ρ). Enough digits of ρ decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpz, fmpz_poly

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.records import dataclass, replace

MOST = 1 << 62
"""No bound by rounded coefficients is as large."""

CACHED = 1 << 11
"""So many pairs at once are summed up: their coefficients stay in the processor's cache."""

TERMS = 8
"""So many terms are added up exactly in the time in which a polynomial is composed."""

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

    def at(self, polynomial: fmpz_poly, degree: int) -> fmpz_poly:
        """Return (1 + y)^degree f(t), on the half line f(t); times the same number > 0 for all f.

        No degree is above `degree`, and f g `at` the sum of two degrees is the product of f and g
        at each. t is low + step y, or high + (low - high) / (1 + y): the coefficients of powers of
        1 / (1 + y) are those of powers of 1 + y in reverse order.
        """
        above = self._step if self.high is None else self.high - self.low
        common = int(self.low.q * above.q)
        low, step = (int((x * common).p) for x in (self.low, above))
        rising = common**degree
        scaled = fmpz_poly([c * rising // common**k for k, c in enumerate(polynomial.coeffs())])
        if self.high is None:
            return scaled(fmpz_poly([low, step]))
        falling = scaled(fmpz_poly([low + step, -step])).coeffs()
        missing = [0] * (degree + 1 - len(falling))
        return fmpz_poly([*missing, *reversed(falling)])(fmpz_poly([1, 1]))

    def powers(self, degree: int) -> list[fmpz_poly]:
        """Return 1, t, t^2, ... `at` a degree, up to it."""
        one, t = self.at(fmpz_poly([1]), 1), self.at(fmpz_poly([0, 1]), 1)
        rising, falling = [fmpz_poly([1])], [fmpz_poly([1])]
        for _ in range(degree):
            rising.append(rising[-1] * t)
            falling.append(falling[-1] * one)
        return [p * q for p, q in zip(rising, reversed(falling), strict=True)]


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
    """Σ_s max(0, g p_s - ρ f q_s) of pairs on an interval, beside a limit R.

    `codes` [n_sequences, n_pairs, 2] are the rows that each pair has, `factors` are g and f, and
    the limit is R = r - ρ r', `limits` [2, degree + 1]: no polynomial has a larger degree.
    """

    rows: Rows
    codes: IntArray
    interval: Interval
    factors: tuple[fmpz_poly, fmpz_poly]
    limits: Table
    root: Radical

    def above(self) -> IntArray:
        """Return the pairs [n] that are not shown to lose at most R.

        Rounded coefficients show it of most pairs, or its opposite; where they come close to R,
        which they do where pairs lose alike, these coefficients alone are added up as they are.
        """
        n_rows, n_powers = self.rows.exact.shape
        n_terms = self.codes[..., 0].size
        if n_rows + n_terms // TERMS <= n_powers:
            polynomials = [fmpz_poly(row) for row in self.rows.exact.tolist()]
            exact = self._products([self.interval.at(p, n_powers - 1) for p in polynomials])
            few: IntArray = np.flatnonzero(self._exceed(exact, self.codes))
            return few
        powers = self._products(self.interval.powers(n_powers - 1))
        is_above, is_unsure = self._bounded(powers)
        for k in np.flatnonzero(is_unsure.any(axis=0)).tolist():
            pairs = np.flatnonzero(is_unsure[:, k])
            codes = self.codes[:, pairs]
            is_used = np.zeros(n_rows, np.bool_)
            is_used[codes] = True
            used = self.rows.exact[is_used]
            sides = used @ powers[0][:, [k]], used @ powers[1][:, [k]]
            is_above[pairs] |= self._exceed(sides, (is_used.cumsum() - 1)[codes], [k])
        found: IntArray = np.flatnonzero(is_above)
        return found

    def _exceed(
        self, sides: tuple[Table, Table], codes: IntArray, which: list[int] | slice = slice(None)
    ) -> BoolArray:
        """Return whether pairs [n] are above R, by some of the coefficients, as they are.

        `sides` [n_rows, n_coefficients] are those of g p and of f q, `codes` the rows of the pairs.
        """
        small, large = sides
        bits = self._bits(lambda: max(_size(small), _size(large)))
        sums = sums_above(small << bits, self.root.multiples(large, bits), codes)
        is_above: BoolArray = (sums > self._limit(bits)[which]).any(axis=1)
        return is_above

    def _bounded(self, powers: tuple[Table, Table]) -> tuple[BoolArray, BoolArray]:
        """Return which pairs [n] are above R, and by which coefficients [n, degree + 1] others may.

        `powers` [n_powers, degree + 1] are the coefficients of g and f times powers. Those of g p
        and ρ f q come in units 2^shifts. With x = 2^r x' + μ and 2^r y = 2^s y' + τ, both rests
        smaller than their units, x y is 2^s x' y' but for less than |x'| + 1 (from τ) and |y'| + 1
        (from μ) units 2^s.
        """
        (small, large), n_powers = powers, len(powers[0])
        row_bits = self.rows.size + n_powers.bit_length()
        bits = self._bits(lambda: row_bits + max(_size(small), _size(large)))
        sizes = np.abs(self.rows.rounded).max(axis=0) + 1
        wide = self.rows.shifts.astype(object)[:, None]
        sides = small << wide << bits, self.root.multiples(large << wide, bits)
        tops = (sizes.astype(object) @ np.abs(side) for side in sides)
        shifts = _shifts(np.maximum(*tops), n_bits(len(self.codes)))
        above, below = (_shifted(side, shifts) for side in sides)
        errors: IntArray = sizes.sum() * ((shifts > 0) + 2 * (bits > 0))
        unknown = np.maximum(np.abs(above), np.abs(below))[self.rows.shifts > 0] + 1
        errors += unknown.sum(axis=0)
        rounded = self.rows.rounded
        bounds = sums_above(rounded @ above + errors, rounded @ below - errors, self.codes)
        units = shifts.astype(object)
        limit = np.clip(self._limit(bits) >> units, -MOST, MOST).astype(np.int64)
        near = limit + 4 * len(self.codes) * errors + 1  # bounds are above the sums by less
        is_above: BoolArray = np.any(bounds > near, axis=1)
        return is_above, (bounds > limit) & ~is_above[:, None]

    def _products(self, transformed: Sequence[fmpz_poly]) -> tuple[Table, Table]:
        """Return the coefficients of g and f times polynomials, [n_polynomials, degree + 1].

        These are given as the interval has them `at` the degree of the rows.
        """
        degree, n_powers = self.limits.shape[1] - 1, self.rows.exact.shape[1]
        factors = [self.interval.at(each, degree - n_powers + 1) for each in self.factors]
        small, large = (
            coefficient_table([factor * p for p in transformed], degree + 1) for factor in factors
        )
        return small, large

    def _bits(self, size: Callable[[], int]) -> int:
        """Return how many bits of ρ tell sums of terms of `size` bits from R; none where ρ is 1."""
        if self.root.degree == 1:
            return 0
        return self.root.bits(max(size(), _size(self.limits)), len(self.codes) + 1)

    def _limit(self, bits: int) -> Table:
        """Return R in units 2^-bits, and more than all terms together are rounded by if ρ is no 1.

        Sums that are not R differ by more than that.
        """
        limit: Table = (self.limits[0] << bits) - self.root.multiples(self.limits[1], bits)
        return limit + 2 * (len(self.codes) + 1) if bits else limit


def not_below(
    known: Known, root: Radical, rows: Rows, codes: IntArray, interval: Interval
) -> IntArray:
    """Return the pairs [n] that are not shown to be weaker than what is known.

    `codes` [n_sequences, n_pairs, 2] are their rows.
    """
    factors, sides = (known.g, known.f), (known.above, known.below)
    products = max(p.degree() for p in factors) + rows.exact.shape[1] - 1
    degree = max(products, *(p.degree() for p in sides))
    limits = coefficient_table([interval.at(side, degree) for side in sides], degree + 1)
    return Losses(rows, codes, interval, factors, limits, root).above()


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
    return max(map(int.bit_length, coefficients.ravel().tolist()), default=0)
