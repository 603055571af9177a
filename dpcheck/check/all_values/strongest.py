"""Pairs of neighbors that are enough: for every value, one of them loses as much as any other.

On an interval let c_k(g) be the coefficients of a polynomial in y > 0 that has the signs of g there
(see `exact.roots`). As max(0, g) <= Σ max(0, c_k(g)) y^k, the loss of a pair has the bound

    Σ_s max(0, g p_s - f q_s) <= R     if     Σ_s max(0, c_k(g p_s - f q_s)) <= c_k(R) for all k,

sums over the sequences s. With e^ε = f/g that shows δ(ε) to be at most what is claimed, or what
another pair loses by one set of sequences; and as ε(δ) <= ln(f/g) means δ(ln(f/g)) <= δ, it shows
ε(δ) to be at most that of another pair. A root in e^ε is a power of another variable, times a
constant (see `losses`). Many pairs are asked at once. Those of which neither is
shown are asked again on both halves of the interval; what is left after some halvings is needed,
and so are all pairs where the ε of one is infinite.

The other pair is the strongest one at the middle of the interval. That is a guess, by exact values:
whatever pair is taken, a pair is left out only where the coefficients show that it may be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from math import lcm

import numpy as np
from flint import arb, fmpq, fmpz, fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct, distinct_rows
from dpcheck.check.all_values.losses import (
    RATIONAL,
    Interval,
    Known,
    Radical,
    Rows,
    Table,
    n_bits,
    not_below,
    sums_above,
)
from dpcheck.check.all_values.rows import ONE, ZERO, PolynomialRows, numbered
from dpcheck.exact.polynomial import is_term
from dpcheck.exact.roots import Bound, Growth, Region, Root, everywhere, rational_between
from dpcheck.limits import Limits
from dpcheck.records import dataclass, field

HALVINGS = 14
"""So often an interval is halved: pairs that are alike at its end are not told apart before."""

WORK = 24
"""So often pairs are asked, one interval after the other, before those that are left are needed."""

LEAST_PAIRS = 1 << 12
"""Where fewer pairs differ, as much work is done as for so many."""

FEW = 2
"""So many pairs are needed rather than asked again: cells of a pair take less than halving."""

BLOCK = 1 << 18
"""So many pairs times sequences at once; the pairs that are needed are asked with the next ones."""

Strength = Callable[[Sequence[fmpz_poly], Sequence[fmpz_poly], fmpq], Known | None]
"""What is known by the rows p and q of a pair, chosen at a value; None where ε is infinite."""


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of pairs: what is known before any is asked, and by one of them.

    All polynomials are those in t^(1/power), and multiples of the `root` stand beside others.
    """

    floor: Known
    strength: Strength
    root: Radical = RATIONAL
    power: int = 1


def strongest_pairs(
    rows: PolynomialRows,
    pairs: IntArray,
    question: Question,
    limits: Limits,
    asked: Region | None = None,
) -> IntArray:
    """Return pairs of sources, [n, 2], that are as strong as all (`pairs` [n_pairs, 2]) together.

    Or as the floor, at the t that are asked, by default on the whole line. Both directions of a
    pair are asked; that returned comes with its direction.
    """
    low, high = _ends(everywhere(True, rows.line.low, rows.line.high) if asked is None else asked)
    _, first, which = np.unique(rows.index, axis=1, return_index=True, return_inverse=True)
    columns = which.reshape(-1)[np.concatenate([pairs, pairs[:, ::-1]])]
    keys = distinct(columns[:, 0] * len(first) + columns[:, 1])
    ends: IntArray = first[np.stack(np.divmod(keys, len(first)), axis=1)]
    if low is None or len(ends) <= FEW:
        return ends
    polynomials, numbers = numbered(rows)
    polynomials = [p.inflate(question.power) for p in polynomials]
    row_bits = n_bits(len(rows.members) * (1 + max(p.degree() for p in polynomials))) // 2
    search = _Search(polynomials, Rows.of(polynomials, row_bits), numbers, question, limits)
    whole = _around(low, high, question.power)
    step = max(BLOCK // max(len(rows.members), 1), 1)
    kept = search.needed(ends[:step], whole)
    for start in range(step, len(ends), step):
        kept = search.needed(np.concatenate([kept, ends[start : start + step]]), whole)
    return kept


def by_delta(
    growth: Growth, delta: tuple[fmpz_poly, fmpz_poly], rows: PolynomialRows
) -> Question | None:
    """Return what to ask for the largest δ(ε), e^ε = (f/g)^(1/n), if that is at least δ = a/b.

    With f/g = c t^k and n > 1, e^ε is a multiple of c^(1/n) by a power of t^(1/n); None if f/g is
    no such term.
    """
    found = _by_root(growth)
    if found is None:
        return None
    f, g, root, power = found
    a, b, whole = (p.inflate(power) for p in (*delta, rows.denominator))
    floor = Known(b * f, b * g, a * g * whole, ZERO)
    about = root.about

    def strength(p: Sequence[fmpz_poly], q: Sequence[fmpz_poly], t: fmpq) -> Known:
        losing = [
            (floor.g * one, floor.f * other)
            for one, other in zip(p, q, strict=True)
            if floor.g(t) * one(t) > about * floor.f(t) * other(t)
        ]
        above, below = (sum((side[k] for side in losing), ZERO) for k in (0, 1))
        return Known(floor.f, floor.g, above, below)

    return Question(floor, strength, root, power)


def by_epsilon(delta: tuple[fmpz_poly, fmpz_poly], rows: PolynomialRows) -> Question:
    """Return what to ask for the largest ε(δ), δ = a/b: ε >= 0, and that of one set.

    P(S) - e^ε Q(S) = δ for e^ε = (b P(S) - a)/(b Q(S)). Where Q(S) is 0 at single values a weight
    is 0, and these are asked by themselves; S is none with a Q(S) that is 0 everywhere. Where
    nothing is asked, δ may be below 0: the empty set exceeds it, whatever ε is.
    """
    a, b = delta
    ceiling = a * rows.denominator

    def strength(p: Sequence[fmpz_poly], q: Sequence[fmpz_poly], t: fmpq) -> Known | None:
        if ceiling(t) < 0:
            return None
        sides = [side for side in zip(p, q, strict=True) if side[0](t) + side[1](t) != 0]
        best, total, growth = None, (ZERO, ZERO), fmpq(0)
        for side in sorted(sides, key=lambda side: side[1](t) / fmpq(side[0](t) + side[1](t))):
            total = total[0] + side[0], total[1] + side[1]
            rest, under = b * total[0] - ceiling, b * total[1]
            if under(t) == 0 and rest(t) > 0:
                return None
            if under(t) != 0 and rest(t) > growth * under(t):
                best, growth = Known(rest, under, ceiling * total[1], ZERO), rest(t) / under(t)
        return best

    return Question(Known(b, b, ceiling, ZERO), strength)


@dataclass(frozen=True, eq=False)
class _Search:
    """Polynomials, their coefficients, and, [n_sequences, n_sources], which each source has.

    On intervals that are `too_long` no pair of a block was shown to be weaker: of others none is
    asked there, which keeps all of them.
    """

    polynomials: Sequence[fmpz_poly]
    rows: Rows
    numbers: IntArray
    question: Question
    limits: Limits
    too_long: set[Interval] = field(default_factory=set)

    def needed(self, pairs: IntArray, whole: Interval) -> IntArray:
        """Return some of the pairs, [n, 2], that are as strong as all of them and the floor."""
        needed: set[tuple[int, int]] = set()
        different = self._different(pairs)
        waiting = deque([(whole, different, HALVINGS)])
        work = WORK * max(len(different), LEAST_PAIRS)
        while waiting:
            interval, asked, times = waiting.popleft()
            self.limits.check_time(f"{len(needed)} pairs that lose most")
            if interval in self.too_long and times > 0:
                waiting.extend((half, asked, times - 1) for half in interval.halves())
                continue
            work -= len(asked)
            used, codes = self._used(asked)
            best, known = self._strongest_at(interval.middle, asked, used, codes)
            if known is None:
                return different
            if best is not None:
                needed.add(best)
            # All coefficients of the best pair are close to what is known, which is by itself.
            is_other = (asked != (best or (-1, -1))).any(axis=1)
            asked, codes, rows = asked[is_other], codes[:, is_other], self.rows[used]
            left = asked[not_below(known, self.question.root, rows, codes, interval)]
            if len(left) == len(asked):
                self.too_long.add(interval)
            if times > 0 and work >= 0 and self._are_more(left, needed):
                left = left if best is None else np.append(left, [best], axis=0)
                waiting.extend((half, left, times - 1) for half in interval.halves())
            else:
                needed.update(map(tuple, left.tolist()))
        return np.array(sorted(needed), np.int64).reshape(-1, 2)

    @staticmethod
    def _are_more(pairs: IntArray, needed: AbstractSet[tuple[int, int]]) -> bool:
        """Return whether more than a few of the pairs, [n, 2], are not needed so far."""
        if len(pairs) > len(needed) + FEW:
            return True
        return sum(pair not in needed for pair in map(tuple, pairs.tolist())) > FEW

    def _different(self, pairs: IntArray) -> IntArray:
        """Return one of pairs that differ in the order of sequences: no sum depends on that."""
        first, second = self.numbers[:, pairs[:, 0]], self.numbers[:, pairs[:, 1]]
        sides = np.sort(first * len(self.polynomials) + second, axis=0)
        found: IntArray = pairs[distinct_rows(list(sides))[0]]
        return found

    def _strongest_at(
        self, t: fmpq, pairs: IntArray, used: IntArray, codes: IntArray
    ) -> tuple[tuple[int, int] | None, Known | None]:
        """Return the pair that is strongest at t, None at the floor, and what is known by it.

        Whatever loses most for one e^ε has an e^ε of its own, for which some pair loses most. Each
        pair that is taken loses more than what is known, by exact numbers.
        """
        values, unit = _whole(self.polynomials[k](t) for k in used.tolist())
        about = self.question.root.about
        best: tuple[int, int] | None = None
        known: Known | None = self.question.floor
        while known is not None and len(pairs):
            at_t = known.f(t) * about, known.g(t), known.above(t) - about * known.below(t)
            (f, g, limit), _ = _whole(at_t)
            small, large = g * values, f * values
            unit_bits = max(int(max(small.max(), large.max())).bit_length() - n_bits(len(codes)), 0)
            rounded = [(side >> unit_bits).astype(np.int64) for side in (small, large)]
            k = int(sums_above(rounded[0], rounded[1], codes).argmax())
            if sums_above(small, large, codes[:, [k]])[0] <= limit * unit:
                break
            best = first, second = tuple(pairs[k].tolist())
            known = self.question.strength(self._row(first), self._row(second), t)
        return best, known

    def _used(self, pairs: IntArray) -> tuple[IntArray, IntArray]:
        """Return the numbers of the polynomials of pairs, and their places among these.

        [n_used], and [n_sequences, n_pairs, 2].
        """
        numbers = self.numbers[:, pairs]
        is_used = np.zeros(len(self.polynomials), np.bool_)
        is_used[numbers] = True
        return np.flatnonzero(is_used), (is_used.cumsum() - 1)[numbers]

    def _row(self, source: int) -> list[fmpz_poly]:
        return [self.polynomials[k] for k in self.numbers[:, source].tolist()]


def _by_root(growth: Growth) -> tuple[fmpz_poly, fmpz_poly, Radical, int] | None:
    """Return (f, g, ρ, d) with e^ε = ρ f/g, both polynomials in t^(1/d); None if there are none."""
    above, below, n = growth
    if n == 1:
        return above, below, RATIONAL, 1
    if not (is_term(above) and is_term(below)):
        return None
    factor = fmpq(above.leading_coefficient(), below.leading_coefficient())
    exponent = fmpq(above.degree() - below.degree(), n)
    f, g = (ONE.left_shift(max(int(sign * exponent.p), 0)) for sign in (1, -1))
    roots = factor.p.root(n), factor.q.root(n)
    if fmpq(roots[0] ** n, roots[1] ** n) == factor:
        return f * roots[0], g * roots[1], RATIONAL, int(exponent.q)
    return f, g, Radical(int(factor.p), int(factor.q), n), int(exponent.q)


def _ends(asked: Region) -> tuple[Bound, Bound]:
    """Return ends between which a set lies; of the whole interval if it is empty."""
    found = asked.intervals()
    if not found:
        return asked.low, asked.high
    return found[0][0] or asked.low, found[-1][2] or asked.high


def _around(low: Root, high: Root | None, power: int) -> Interval:
    """Return an interval of t^(1/power) that has all of those between two roots.

    However often it is halved, the middle lies between them: elsewhere numbers may be no chances.
    """
    ends, width = [end for end in (low, high) if end is not None], fmpq(0)
    while any((end.high - end.low) * 2 ** (HALVINGS + 3) >= width for end in ends):
        for end in ends:
            end.narrow()
        width = fmpq(1) if high is None or high is low else high.low - low.high
    step = width / 2 ** (HALVINGS + 3)
    first, last = low.low, None if high is None else high.high
    if low.rational is None and first > 0:  # few digits make polynomials small
        first = rational_between(max(first - step, first / 2), first)
    if last is not None and high is not None and high.rational is None:
        last = rational_between(last, last + step)
    if power > 1 and first != 1:
        first = (arb(first).root(power)).lower().fmpq()
    if power > 1 and last is not None:
        last = (arb(last).root(power)).upper().fmpq()
    return Interval(first, last)


def _whole(values: Iterable[fmpq | fmpz]) -> tuple[Table, int]:
    """Return integers, [n], and what values are multiplied by for that."""
    exact = [fmpq(value) for value in values]
    unit = lcm(*(int(value.q) for value in exact))
    table: Table = np.array([int((value * unit).p) for value in exact], object)
    return table, unit
