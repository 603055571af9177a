"""Pairs of neighbors that are enough: for every value, one of them loses as much as any other.

On an interval let c_k(g) be the coefficients of a polynomial in y > 0 that has the signs of g there
(see `exact.roots`). As max(0, g) <= Σ max(0, c_k(g)) y^k, the loss of a pair has the bound

    Σ_s max(0, g p_s - f q_s) <= R     if     Σ_s max(0, c_k(g p_s - f q_s)) <= c_k(R) for all k,

sums over the sequences s. With e^ε = f/g that shows δ(ε) to be at most what is claimed, or what
another pair loses by one set of sequences; and as ε(δ) <= ln(f/g) means δ(ln(f/g)) <= δ, it shows
ε(δ) to be at most that of another pair. Many pairs are asked at once. Those of which neither is
shown are asked again on both halves of the interval; what is left after some halvings is needed,
and so are all pairs where the ε of one is infinite.

The other pair is the strongest one at the middle of the interval. That is a guess, by exact values:
whatever pair is taken, a pair is left out only where the coefficients show that it may be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import lcm
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpz, fmpz_poly

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.sets import distinct, distinct_rows
from dpcheck.check.all_values.rows import ZERO, PolynomialRows
from dpcheck.exact.matrices import integer_product
from dpcheck.exact.roots import sign_at
from dpcheck.limits import Limits
from dpcheck.records import dataclass

HALVINGS = 14
"""So often an interval is halved: pairs that are alike at its end are not told apart before."""

WORK = 24
"""So often pairs are asked, one interval after the other, before those that are left are needed."""

FEW = 2
"""So many pairs are needed rather than asked again: cells of a pair take less than halving."""

BLOCK = 1 << 18
"""So many pairs times sequences at once; the pairs that are needed are asked with the next ones."""

EXACT = 1 << 12
"""So many pairs at once are compared by coefficients as they are, where rounded ones are equal."""

BITS = 60
"""Sums of rounded coefficients have fewer bits."""

Table = npt.NDArray[np.object_]
"""Integers of any length."""

Sums = TypeVar("Sums", IntArray, Table)

Known = tuple[fmpz_poly, fmpz_poly, fmpz_poly]
"""(f, g, R): all pairs for which Σ max(0, g p - f q) <= R are no stronger than what is known."""

Strength = Callable[[Sequence[fmpz_poly], Sequence[fmpz_poly], fmpq], Known | None]
"""What is known by the rows p and q of a pair, chosen at a value; None where ε is infinite."""


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
            if under(t) == 0 and rest(t) > 0:
                return None
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
    in units 2^`shifts` [n_coefficients].
    """

    small: Table
    large: Table
    codes: IntArray
    shifts: IntArray
    bounds: IntArray

    @classmethod
    def of(cls, small: Table, large: Table, codes: IntArray) -> _Losses:
        """Sum rounded coefficients."""
        n_bits = BITS - len(codes).bit_length()
        tops = np.maximum(np.abs(small).max(axis=0), np.abs(large).max(axis=0))
        shifts = np.array([max(int(top).bit_length() - n_bits, 0) for top in tops], np.int64)
        above, below = -_rounded(-small, shifts), _rounded(large, shifts)
        return cls(small, large, codes, shifts, _sums_above(above, below, codes))

    def above(self, limit: Table) -> IntArray:
        """Return the pairs [n] that are not shown to lose at most R, `limit` [n_coefficients]."""
        rounded = _rounded(limit, self.shifts)
        is_above: BoolArray = np.any(self.bounds > rounded, axis=1)
        if self.shifts.any():  # rounded sums are above those of numbers by less than this
            near = rounded + 2 * len(self.codes) + 1
            open_pairs = np.flatnonzero(is_above & (self.bounds <= near).all(axis=1))
            for start in range(0, len(open_pairs), EXACT):
                some = open_pairs[start : start + EXACT]
                exact = _sums_above(self.small, self.large, self.codes[:, some])
                is_above[some] = (exact > limit).any(axis=1)
        found: IntArray = np.flatnonzero(is_above)
        return found


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
        different = self._different(pairs)
        waiting = deque([(whole, different, HALVINGS)])
        work = WORK * max(len(different), EXACT)
        while waiting:
            interval, asked, times = waiting.popleft()
            self.limits.check_time(f"{len(needed)} pairs that lose most")
            work -= len(asked)
            best, known = self._strongest_at(interval.middle, asked)
            if known is None:
                return different
            if best is not None:
                needed.add(best)
            left = self._not_below(known, asked, interval)
            others = [pair for pair in map(tuple, left.tolist()) if pair not in needed]
            if len(others) <= FEW or times == 0 or work < 0:
                needed.update(others)
            else:
                waiting.extend((half, left, times - 1) for half in interval.halves())
        return np.array(sorted(needed), np.int64).reshape(-1, 2)

    def _different(self, pairs: IntArray) -> IntArray:
        """Return one of pairs that differ in the order of sequences: no sum depends on that."""
        first, second = self.numbers[:, pairs[:, 0]], self.numbers[:, pairs[:, 1]]
        sides = np.sort(first * len(self.polynomials) + second, axis=0)
        found: IntArray = pairs[distinct_rows(list(sides))[0]]
        return found

    def _strongest_at(
        self, t: fmpq, pairs: IntArray
    ) -> tuple[tuple[int, int] | None, Known | None]:
        """Return the pair that is strongest at t, None at the floor, and what is known by it.

        Whatever loses most for one e^ε has an e^ε of its own, for which some pair loses most.
        """
        used, codes = self._used(pairs)
        values, unit = _whole([p(t) for p in used])
        best: tuple[int, int] | None = None
        known: Known | None = self.floor
        while known is not None and len(pairs):
            (f, g, limit), _ = _whole([p(t) for p in known])
            sums = _sums_above(g * values, f * values, codes)
            k = int(sums.argmax())
            if sums[k] <= limit * unit:
                break
            best = first, second = tuple(pairs[k].tolist())
            known = self.strength(self._row(first), self._row(second), t)
        return best, known

    def _not_below(self, known: Known, pairs: IntArray, interval: _Interval) -> IntArray:
        """Return the pairs that are not shown to be weaker than what is known."""
        f, g, limit = known
        used, codes = self._used(pairs)
        both = [*(g * p for p in used), *(f * p for p in used), limit]
        table = interval.coefficients(both, max(0, *(p.degree() for p in both)))
        losses = _Losses.of(table[: len(used)], table[len(used) : -1], codes)
        found: IntArray = pairs[losses.above(table[-1])]
        return found

    def _used(self, pairs: IntArray) -> tuple[list[fmpz_poly], IntArray]:
        """Return the polynomials of pairs, and, [n_sequences, n_pairs, 2], which each has."""
        numbers = self.numbers[:, pairs]
        is_used = np.zeros(len(self.polynomials), np.bool_)
        is_used[numbers] = True
        used = [self.polynomials[k] for k in np.flatnonzero(is_used).tolist()]
        return used, (is_used.cumsum() - 1)[numbers]

    def _row(self, source: int) -> list[fmpz_poly]:
        return [self.polynomials[k] for k in self.numbers[:, source].tolist()]


def _sums_above(small: Sums, large: Sums, codes: IntArray) -> Sums:
    """Return Σ_s max(0, p_s - q_s), [n_pairs, ..], `codes` [n_sequences, n_pairs, 2] being both."""
    total = np.zeros((codes.shape[1], *small.shape[1:]), small.dtype)
    for ends in codes:
        total += np.maximum(small[ends[:, 0]] - large[ends[:, 1]], 0)
    return total


def _whole(values: Sequence[fmpq | fmpz]) -> tuple[Table, int]:
    """Return integers, [n], and what values are multiplied by for that."""
    exact = [fmpq(value) for value in values]
    unit = lcm(*(int(value.q) for value in exact))
    table: Table = np.array([int((value * unit).p) for value in exact], object)
    return table, unit


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
