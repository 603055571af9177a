"""Pairs of neighbors that are enough: for every value, one of them loses as much as any other.

On an interval let c_k(g) be the coefficients of a polynomial in y > 0 that has the signs of g there
(see `exact.roots`). As max(0, g) <= Σ max(0, c_k(g)) y^k, the loss of a pair has the bound

    Σ_s max(0, g p_s - f q_s) <= R     if     Σ_s max(0, c_k(g p_s - f q_s)) <= c_k(R) for all k,

sums over the sequences s. With e^ε = f/g that shows δ(ε) to be at most what is claimed, or what
another pair loses by one set of sequences; and as ε(δ) <= ln(f/g) means δ(ln(f/g)) <= δ, it shows
ε(δ) to be at most that of another pair. Many pairs are asked at once. Those of which neither is
shown are asked again on both halves of the interval; what is left after some halvings is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct
from dpcheck.check.all_values.rows import ZERO, PolynomialRows
from dpcheck.exact.matrices import integer_product
from dpcheck.exact.roots import sign_at
from dpcheck.limits import Limits
from dpcheck.records import dataclass

HALVINGS = 14
"""So often an interval is halved: pairs that are alike at its end are not told apart before."""

FEW = 2
"""So many pairs are needed rather than asked again: cells of a pair take less than halving."""

BLOCK = 1 << 18
"""So many pairs times sequences at once; the pairs that are needed are asked with the next ones."""

EXACT = 1 << 12
"""Of so many pairs the coefficients are compared as they are where rounded ones do not tell."""

BITS = 60
"""Sums of rounded coefficients have fewer bits."""

Table = npt.NDArray[np.object_]
"""Integers of any length."""

Known = tuple[fmpz_poly, fmpz_poly, fmpz_poly]
"""(f, g, R): all pairs for which Σ max(0, g p - f q) <= R are no stronger than what is known."""

Strength = Callable[[Sequence[fmpz_poly], Sequence[fmpz_poly], fmpq], Known | None]
"""What is known by the rows p and q of a pair, chosen at a value; None if that tells nothing."""


def strongest_pairs(
    rows: PolynomialRows, pairs: IntArray, floor: Known, strength: Strength, limits: Limits
) -> IntArray:
    """Return pairs of sources, [n, 2], that are as strong as all (`pairs` [n_pairs, 2]) together.

    Or as the floor. Both directions of a pair are asked; that returned comes with its direction.
    """
    low, high = rows.line.low, rows.line.high
    _, first, which = np.unique(rows.index, axis=1, return_index=True, return_inverse=True)
    columns = which.reshape(-1)[np.concatenate([pairs, pairs[:, ::-1]])]
    keys = distinct(columns[:, 0] * len(first) + columns[:, 1])
    ends: IntArray = first[np.stack(np.divmod(keys, len(first)), axis=1)]
    if low is None or len(ends) <= FEW:
        return ends
    search = _Search(*_numbered(rows), floor, strength, limits)
    whole = _Interval(low.low, None if high is None else high.high)
    step = max(BLOCK // max(len(rows.members), 1), 1)
    kept = search.needed(ends[:step], whole)
    for start in range(step, len(ends), step):
        kept = search.needed(np.concatenate([kept, ends[start : start + step]]), whole)
    return kept


def by_delta(
    growth: tuple[fmpz_poly, fmpz_poly], delta: tuple[fmpz_poly, fmpz_poly], rows: PolynomialRows
) -> tuple[Known, Strength]:
    """Return floor and strength for the largest δ(ln(f/g)), if that is at least some δ = a/b."""
    (f, g), (a, b) = growth, delta
    floor = b * f, b * g, a * g * rows.denominator

    def strength(p: Sequence[fmpz_poly], q: Sequence[fmpz_poly], t: fmpq) -> Known:
        losses = [floor[1] * one - floor[0] * other for one, other in zip(p, q, strict=True)]
        return *floor[:2], sum((each for each in losses if sign_at(each, t) > 0), ZERO)

    return floor, strength


def by_epsilon(delta: tuple[fmpz_poly, fmpz_poly], rows: PolynomialRows) -> tuple[Known, Strength]:
    """Return floor and strength for the largest ε(δ), δ = a/b: ε >= 0, and that of one set.

    P(S) - e^ε Q(S) = δ for e^ε = (b P(S) - a)/(b Q(S)). Where Q(S) is 0 at single values a weight
    is 0, and these are asked by themselves; S is none with a Q(S) that is 0 everywhere.
    """
    a, b = delta
    ceiling = a * rows.denominator

    def strength(p: Sequence[fmpz_poly], q: Sequence[fmpz_poly], t: fmpq) -> Known | None:
        sides = [side for side in zip(p, q, strict=True) if side[0](t) + side[1](t) != 0]
        best, total, growth = None, (ZERO, ZERO), fmpq(0)
        for side in sorted(sides, key=lambda side: side[1](t) / fmpq(side[0](t) + side[1](t))):
            total = total[0] + side[0], total[1] + side[1]
            rest, under = b * total[0] - ceiling, b * total[1]
            if under(t) != 0 and rest(t) > growth * under(t):
                best, growth = (rest, under, ceiling * total[1]), rest(t) / fmpq(under(t))
        return best

    return (b, b, ceiling), strength


@dataclass(frozen=True)
class _Interval:
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

    def halves(self) -> tuple[_Interval, _Interval]:
        """Return both sides of the middle."""
        return _Interval(self.low, self.middle), _Interval(self.middle, self.high)

    def coefficients(self, polynomials: Sequence[fmpz_poly], degree: int) -> Table:
        """Return those of (1 + y)^degree p(t) times a number > 0, [n_polynomials, degree + 1].

        On the half line, of p(t).
        """
        low = self.low
        if self.high is None:
            line, unit = (low, self._step), (fmpq(1), fmpq(0))
        else:
            line, unit = (low, self.high), (fmpq(1), fmpq(1))
        common = int(low.q * line[1].q)
        above, below = (fmpz_poly([int((x * common).p) for x in each]) for each in (line, unit))
        powers = [above**k * below ** (degree - k) for k in range(degree + 1)]
        width = range(degree + 1)
        left = [int(p[k]) for p in polynomials for k in width]
        right = [int(p[k]) for p in powers for k in width]
        made = integer_product(left, right, len(polynomials), degree + 1)
        table: Table = np.array(made, object).reshape(len(polynomials), degree + 1)
        return table


@dataclass(frozen=True, eq=False)
class _Losses:
    """Bounds on Σ_s max(0, g p_s - f q_s) for pairs on an interval.

    `small` and `large` [n_polynomials, n_coefficients] are those of g p and f q, `codes`
    [n_sequences, n_pairs, 2] which of them each pair has. `bounds` [n_pairs, n_coefficients] are
    in units 2^`shifts` [n_coefficients], and `values` [n_pairs] about the sums at y = 1.
    """

    small: Table
    large: Table
    codes: IntArray
    shifts: IntArray
    bounds: IntArray
    values: IntArray

    @classmethod
    def of(cls, small: Table, large: Table, codes: IntArray) -> _Losses:
        """Sum rounded coefficients."""
        n_sequences, n_pairs, _ = codes.shape
        n_bits = BITS - (n_sequences * small.shape[1]).bit_length()
        tops = np.maximum(np.abs(small).max(axis=0), np.abs(large).max(axis=0))
        shifts = np.array([max(int(top).bit_length() - n_bits, 0) for top in tops], np.int64)
        above, below = -_rounded(-small, shifts), _rounded(large, shifts)
        bounds = np.zeros((n_pairs, small.shape[1]), np.int64)
        values = np.zeros(n_pairs, np.int64)
        less = np.minimum(shifts.max() - shifts, 63)
        for p, q in zip(codes[:, :, 0], codes[:, :, 1], strict=True):
            differences = above[p] - below[q]
            bounds += np.maximum(differences, 0)
            values += np.maximum((differences >> less).sum(axis=1), 0)
        return cls(small, large, codes, shifts, bounds, values)

    def above(self, limit: Table) -> IntArray:
        """Return the pairs [n] that are not shown to lose at most R, `limit` [n_coefficients]."""
        left: IntArray = np.flatnonzero((self.bounds > _rounded(limit, self.shifts)).any(axis=1))
        if not self.shifts.any() or len(left) > EXACT:
            return left
        exact = sum(
            np.maximum(self.small[p] - self.large[q], 0)
            for p, q in zip(self.codes[:, left, 0], self.codes[:, left, 1], strict=True)
        )
        found: IntArray = left[(exact > limit).any(axis=1)]
        return found

    def exceeds(self, limit: Table, among: IntArray) -> bool:
        """Return whether one of some pairs seems to lose more than R at y = 1."""
        most = sum(int(c) for c in limit) >> int(self.shifts.max())
        return bool((self.values[among] > most).any())


@dataclass(frozen=True, eq=False)
class _Search:
    """Polynomials and, [n_sequences, n_sources], which of them each source has."""

    polynomials: Sequence[fmpz_poly]
    numbers: IntArray
    floor: Known
    strength: Strength
    limits: Limits

    def needed(self, pairs: IntArray, whole: _Interval) -> IntArray:
        """Return some of the pairs, [n, 2], that are as strong as all of them and the floor."""
        needed: set[tuple[int, int]] = set()
        waiting = [(whole, pairs, HALVINGS)]
        while waiting:
            interval, asked, times = waiting.pop()
            self.limits.check_time(f"{len(needed)} pairs that lose most")
            left = self._not_weaker(asked, interval, needed)
            others = [pair for pair in map(tuple, left.tolist()) if pair not in needed]
            if len(others) <= FEW or times == 0:
                needed.update(others)
            else:
                waiting += [(half, left, times - 1) for half in interval.halves()]
        return np.array(sorted(needed), np.int64).reshape(-1, 2)

    def _not_weaker(
        self, pairs: IntArray, interval: _Interval, needed: set[tuple[int, int]]
    ) -> IntArray:
        """Return the pairs not shown to be weaker than the floor and some, which become needed.

        Of the pairs that are left the one that loses most at the middle is the next of these, as
        long as half of them are shown to be weaker: else it is time for smaller intervals.
        """
        known: Known | None = self.floor
        while known is not None:
            losses, limit = self._losses(pairs, interval, known)
            left = losses.above(limit)
            is_enough = known is not self.floor and 2 * len(left) > len(pairs)
            pairs = pairs[left]
            if is_enough or not losses.exceeds(limit, left):
                break
            first, second = pairs[losses.values[left].argmax()].tolist()
            known = self.strength(self._row(first), self._row(second), interval.middle)
            if known is not None:
                needed.add((first, second))
        return pairs

    def _losses(self, pairs: IntArray, interval: _Interval, known: Known) -> tuple[_Losses, Table]:
        f, g, limit = known
        used, codes = np.unique(self.numbers[:, pairs], return_inverse=True)
        members = [self.polynomials[k] for k in used.tolist()]
        both = [*(g * p for p in members), *(f * p for p in members), limit]
        table = interval.coefficients(both, max(0, *(p.degree() for p in both)))
        n = len(members)
        codes = codes.reshape(len(self.numbers), len(pairs), 2)
        return _Losses.of(table[:n], table[n : 2 * n], codes), table[-1]

    def _row(self, source: int) -> list[fmpz_poly]:
        return [self.polynomials[k] for k in self.numbers[:, source].tolist()]


def _rounded(coefficients: Table, shifts: IntArray) -> IntArray:
    """Return coefficients in units 2^shifts, rounded down."""
    rounded: IntArray = (coefficients >> shifts.astype(object)).astype(np.int64)
    return rounded


def _numbered(rows: PolynomialRows) -> tuple[list[fmpz_poly], IntArray]:
    """Return the different polynomials of all sequences, and which each source has of each."""
    known: dict[object, int] = {}
    found: list[fmpz_poly] = []
    numbers = np.zeros_like(rows.index)
    for s, members in enumerate(rows.members):
        for p in members:
            if known.setdefault(tuple(p.coeffs()), len(found)) == len(found):
                found.append(p)
        codes = np.array([known[tuple(p.coeffs())] for p in members], np.int64)
        numbers[s] = codes[rows.index[s]]
    return found, numbers
