"""Event-level privacy from rows of a sequence table side by side: worst events and ratios.

For one pair of rows p, q and a factor E the worst event is {o : p_o > E q_o}, so the least δ is
Σ max(0, p_o - E q_o), the hockey-stick divergence (Barthe, Olmedo, ICALP 2013), and the least E for
δ = 0 is max p_o / q_o. Weights stay whole numbers over the denominators of their rows: with
E = a/b,

    p/D > E q/D'   exactly if   p X > q Y   with X : Y = D' b : a D in lowest terms,

in int64 where D X and D' Y are below 2^62 (p <= D and q <= D'), in Python integers or ℤ[e^r] else,
there once for each different pair of numbers (`number_codes`).
An irrational E is first replaced by a lower and an upper rational bound; only outputs between the
two are decided one by one.

Floats come before the products: a quotient of `rounded_chances` is (p/D)/(q/D') after at most
eleven correctly rounded steps, so its error is below 22u of it (`exact.floats`). Where it is
further than that from E, the comparison is decided; the others, as a rule a few ties, are compared
exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from dpcheck import exact
from dpcheck.chain.arrays import marked, ranked_keys
from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.sets import distinct
from dpcheck.chain.weights.denominators import (
    INT64_LIMIT,
    as_objects,
    distinct_pairs,
    shared_sums,
    weight_array,
)
from dpcheck.check.evidence.float_probabilities import FloatArray
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.records import dataclass, replace

FloatPair = tuple[FloatArray, FloatArray]

_FIRST_ASKED = 64
"""Entries that are compared at once, at first, where the first of equal ones is looked for."""
_MARGIN = 32 * exact.UNIT_ROUNDOFF
_HUGE = 2**1000
"""Stands for e^ε beyond floats: above every quotient of two estimates."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some pairs of rows side by side, on the union of their sequences.

    pair [n_segments] rows of the evidence's pairs; segment k holds the entries from `starts[k]`.
    segment, sequence, p, q [n_entries]; p is over the denominator `scales[p_scales[segment]]`, and
    q over that of `q_scales`, [n_segments]. `chances` makes both probabilities, [n_entries], as
    `rounded_chances` gives them, when they are first needed. Over ℤ[e^r], `numbers` are the codes
    of p and q, from 1, [n_entries]; 0 where there is no entry.
    """

    pair: IntArray
    is_forward: bool
    starts: IntArray
    segment: IntArray
    sequence: IntArray
    p: WeightArray
    q: WeightArray
    scales: Sequence[exact.Whole]
    p_scales: IntArray
    q_scales: IntArray
    chances: Callable[[], FloatPair]
    numbers: tuple[IntArray, IntArray] | None

    def reversed(self) -> Block:
        """Return the same rows with p and q exchanged."""
        return replace(
            self,
            is_forward=not self.is_forward,
            p=self.q,
            q=self.p,
            p_scales=self.q_scales,
            q_scales=self.p_scales,
            chances=lambda: self._chances[::-1],
            numbers=None if self.numbers is None else self.numbers[::-1],
        )

    def exceeding(self, factor: ExpFactor) -> BoolArray:
        """Return where p > E q, [n_entries]."""
        if factor.value is not None and (factor.is_rational or self.numbers is not None):
            return self._exceeding_at(factor.value, None)
        low, high = factor.bounds()
        sure = self.without_counterpart() if high is None else self._exceeding_at(high, None)
        for j in marked(self._exceeding_at(low, None) & ~sure).tolist():
            sure[j] = exact.excess_sign(*self.probabilities(j), factor.epsilon) > 0
        return sure

    def _exceeding_at(self, value: exact.Number, entries: IntArray | None) -> BoolArray:
        """Return where p > value · q among entries[n] (all of them if None)."""
        products = self._shared_products(value, entries)
        if products is not None:
            return products[0] > products[1]
        above, near = self._clearly_above(value, entries)
        if len(near):
            above[near] = self._signs(value, near if entries is None else entries[near]) > 0
        return above

    def _shared_products(
        self, value: exact.Number, entries: IntArray | None
    ) -> tuple[WeightArray, WeightArray] | None:
        """Return p X, q Y [n_entries] where all rows share X and Y and both fit int64, else None.

        They are exact, and no slower than floats.
        """
        scales, _ = self._distinct_scales
        if len(scales) > 1 or self.p.dtype != np.int64:
            return None
        p_factors, q_factors, fits = _factors(value, scales)
        if not fits:
            return None
        p, q = (self.p, self.q) if entries is None else (self.p[entries], self.q[entries])
        x, y = p_factors.item(0), q_factors.item(0)
        return (p if x == 1 else p * x), (q if y == 1 else q * y)

    def equal_ratio(self, value: exact.Number, entries: IntArray) -> IntArray:
        """Return those of some entries [n] where p = value · q and p is not 0."""
        products, chosen = self._shared_products(value, entries), entries
        if products is None:
            chosen = entries[self._clearly_above(value, entries)[1]]
            are_equal = self._signs(value, chosen) == 0
        else:
            are_equal = np.asarray(products[0] == products[1], np.bool_)
        found: IntArray = chosen[are_equal & (self._zeros_of(0)[chosen] != 0)]
        return found

    def _zeros_of(self, side: int) -> WeightArray:
        """Return what is 0 where p (side 0) or q (side 1) is 0, [n_entries]: codes or weights."""
        return (self.p, self.q)[side] if self.numbers is None else self.numbers[side]

    def _signs(self, value: exact.Number, entries: IntArray) -> IntArray:
        """Return the signs of p - value · q for some entries, exactly.

        Over ℤ[e^r] each different pair of numbers is compared once. First whether they are equal,
        an identity of coefficients: where floats are near each other, that is the rule.
        """
        if self.numbers is None:
            back = None
        else:
            keys = self.numbers[0][entries] * (int(self.numbers[1].max()) + 1)
            _, first, back = np.unique(
                keys + self.numbers[1][entries], return_index=True, return_inverse=True
            )
            entries = entries[first]
        p, q = self._cross_multiplied(value, entries)
        differ = marked(~np.asarray(p == q, np.bool_))
        signs: IntArray = np.zeros(len(entries), np.int64)
        signs[differ] = np.where(np.asarray(p[differ] > q[differ], np.bool_), 1, -1)
        return signs if back is None else signs[back]

    def ratio_gap(self, value: exact.Number) -> EventGap | None:
        """Return p - E q for all entries of the first segment where some p = value · q.

        Entries that floats leave undecided are asked in runs, each as long as all before: among
        many that are equal, the first is found soon.
        """
        near, first = self._clearly_above(value, None)[1], 0
        while first < len(near):
            last = 2 * first + _FIRST_ASKED
            chosen = self.equal_ratio(value, near[first:last])
            if len(chosen):
                k = self.segment.item(chosen.item(0))
                chosen = self.equal_ratio(value, near[self.segment[near] == k])
                return self.gap(k, self.p[chosen].sum(), self.q[chosen].sum())
            first = last
        return None

    def _clearly_above(
        self, value: exact.Number, entries: IntArray | None
    ) -> tuple[BoolArray, IntArray]:
        """Return where floats tell p > value · q, [n_entries], and the entries left undecided."""
        ratios, bounds = self._ratios, exact.float_bounds(value)
        if bounds is None:
            n_asked = len(self.p) if entries is None else len(entries)
            return np.zeros(n_asked, np.bool_), np.arange(n_asked)
        ratios = ratios if entries is None else ratios[entries]
        low, high = bounds
        above: BoolArray = ratios > high * (1 + _MARGIN)
        return above, marked(~(above | (ratios < low * (1 - _MARGIN))))

    @cached_property
    def _ratios(self) -> FloatArray:
        """Estimates of p/q as probabilities, [n_entries]: inf for p/0, not a number for 0/0."""
        p, q = self._chances
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios: FloatArray = p / q
        return ratios

    @cached_property
    def _chances(self) -> FloatPair:
        """The probabilities of p and of q, rounded."""
        return self.chances()

    def _cross_multiplied(
        self, value: exact.Number, entries: IntArray
    ) -> tuple[WeightArray, WeightArray]:
        """Return p X, q Y [n_entries], whole, that compare as p/D and value · q/D' do."""
        p, q = self.p[entries], self.q[entries]
        scales, which = self._distinct_scales
        kinds, which = ranked_keys(which[self.segment[entries]])
        p_factors, q_factors, fits = _factors(value, [scales[k] for k in kinds.tolist()])
        if not fits or p.dtype != np.int64:
            p_factors, q_factors = as_objects(p_factors), as_objects(q_factors)
        return _scaled(p, p_factors, which), _scaled(q, q_factors, which)

    @cached_property
    def _distinct_scales(self) -> tuple[list[tuple[exact.Whole, exact.Whole]], IntArray]:
        """The different pairs of scales, and which of them each segment has, [n_segments]."""
        pairs, which = distinct_pairs(self.p_scales, self.q_scales, len(self.scales))
        return [(self.scales[a], self.scales[b]) for a, b in pairs], which

    def sums(self, mask: BoolArray) -> tuple[WeightArray, WeightArray]:
        """Return the sums of p and q over the masked entries of each segment, [n_segments]."""
        zero = np.zeros(1, self.p.dtype)
        p, q = np.where(mask, self.p, zero), np.where(mask, self.q, zero)
        return np.add.reduceat(p, self.starts), np.add.reduceat(q, self.starts)

    def excesses(self, mask: BoolArray, factor: ExpFactor) -> FloatArray:
        """Return p - E q rounded where the mask says that it is positive, else 0, [n_entries].

        Off by less than 32u p, since E q < p, and both come from at most twelve rounded steps; and
        numbers below 2^-900 that have no estimate count as 0.
        """
        bounds = exact.exp_float_bounds(factor.epsilon)
        p, q = self._chances
        gaps = p - (_HUGE if bounds is None else bounds[0]) * np.where(np.isnan(q), 0, q)
        found: FloatArray = np.where(mask & ~np.isnan(gaps), gaps, 0)
        return found

    def excess_bounds(self, mask: BoolArray, factor: ExpFactor) -> tuple[FloatArray, FloatArray]:
        """Return floats below and above each segment's p - E q, masked where that is positive.

        Both are [n_segments]. The p of a segment add up to at most 1, so the errors of `excesses`
        to 32u at most, and n sums of floats below 2 are off by 2nu; 16u pay for what is rounded
        here and for numbers below 2^-900. Where an estimate is missing there is no bound above.
        """
        gaps = self.excesses(mask, factor)
        sums = np.add.reduceat(gaps, self.starts)
        n_entries = np.diff(np.append(self.starts, len(self.p)))
        off = (48 + 2 * n_entries) * exact.UNIT_ROUNDOFF
        p, q = self._chances
        unknown = np.logical_or.reduceat(mask & np.isnan(p + q), self.starts)
        if exact.exp_float_bounds(factor.epsilon) is None:
            unknown[:] = True
        low: FloatArray = np.where(unknown, 0, sums - off)
        high: FloatArray = np.where(unknown, np.inf, sums + off)
        return low, high

    def sums_of(
        self, mask: BoolArray, chosen: BoolArray
    ) -> tuple[IntArray, WeightArray, WeightArray]:
        """Return the chosen segments with some masked entry, and their sums of p and of q.

        chosen: [n_segments]. Over ℤ[e^r], of segments with the same sums the first.
        """
        entries = marked(mask & chosen[self.segment])
        if not len(entries):
            return entries, self.p[entries], self.q[entries]
        segments = self.segment[entries]
        starts = marked(np.diff(segments, prepend=-1) != 0)
        p, q, found = self.p[entries], self.q[entries], segments[starts]
        if self.numbers is None:
            return found, np.add.reduceat(p, starts), np.add.reduceat(q, starts)
        p = shared_sums(p, starts, self.numbers[0][entries])
        q = shared_sums(q, starts, self.numbers[1][entries])
        scales = zip(self.p_scales[found].tolist(), self.q_scales[found].tolist(), strict=True)
        keys = zip(map(id, p), map(id, q), scales, strict=True)
        first = {key: k for k, key in reversed(list(enumerate(keys)))}
        kept = np.sort(np.fromiter(first.values(), np.int64, len(first)))
        return found[kept], p[kept], q[kept]

    def segments_with(self, mask: BoolArray) -> list[int]:
        """Return the segments with some masked entry (`mask` [n_entries])."""
        return [int(k) for k in distinct(self.segment[mask])]

    def gap(self, k: int, p: exact.Whole, q: exact.Whole) -> EventGap:
        """Return p - E q for whole sums over the scales of segment k."""
        return EventGap(
            exact.number(exact.whole(p), self.scales[self.p_scales[k]]),
            exact.number(exact.whole(q), self.scales[self.q_scales[k]]),
            int(self.pair[k]),
            self.is_forward,
        )

    def probabilities(self, j: int) -> tuple[exact.Number, exact.Number]:
        """Return p and q of one entry."""
        gap = self.gap(int(self.segment[j]), self.p[j], self.q[j])
        return gap.p, gap.q

    def event(self, gap: EventGap, factor: ExpFactor | None) -> BoolArray:
        """Return where p > E q, [n_entries]; without a factor, where p/q is the ratio of a gap."""
        if factor is not None:
            return self.exceeding(factor)
        if gap.q == 0:
            return self.without_counterpart()
        equal = np.zeros(len(self.p), np.bool_)
        equal[self.equal_ratio(exact.divide(gap.p, gap.q), np.arange(len(self.p)))] = True
        return equal

    def heaviest(self, entries: IntArray) -> list[int]:
        """Return some entries [n] of one segment by falling p - q."""
        p, q = self._cross_multiplied(1, entries)
        order = np.argsort(q - p, kind="stable")
        return [int(j) for j in entries[order]]

    def without_counterpart(self) -> BoolArray:
        """Return where q is 0 and p is not, [n_entries]."""
        return np.asarray((self._zeros_of(1) == 0) & (self._zeros_of(0) != 0), np.bool_)

    def largest_ratio(self, least: exact.Number) -> exact.Number | None:
        """Return the largest p/q above `least` where q is not 0; None where none is above.

        Quickselect, from the entry that is greatest in floats: as a rule none is above it. Then an
        entry in the middle of those above the best so far becomes the best.
        """
        best: exact.Number | None = None
        has_ratio = np.asarray(self._zeros_of(1) != 0, np.bool_)
        estimates = np.where(has_ratio & (self._ratios < np.inf), self._ratios, 0)
        greatest = int(estimates.argmax())
        if has_ratio[greatest]:
            found = exact.divide(*self.probabilities(greatest))
            if exact.compare(found, least) > 0:
                best = least = found
        above = marked(self._exceeding_at(least, None) & has_ratio)
        while len(above):
            best = exact.divide(*self.probabilities(int(above[len(above) // 2])))
            above = above[self._exceeding_at(best, above)]
        return best


def _factors(
    value: exact.Number, scales: list[tuple[exact.Whole, exact.Whole]]
) -> tuple[WeightArray, WeightArray, bool]:
    """Return X, Y [n_scales], by pair of scales, and whether all products with them fit int64."""
    above, below = exact.as_fraction_parts(value)
    p_factors: list[exact.Whole] = []
    q_factors: list[exact.Whole] = []
    fits = True
    for p_scale, q_scale in scales:
        x, y = below * q_scale, above * p_scale
        divisor = exact.whole_gcd(x, y)
        x, y = exact.exact_quotient(x, divisor), exact.exact_quotient(y, divisor)
        fits = fits and _is_small(p_scale * x) and _is_small(q_scale * y)
        p_factors.append(x)
        q_factors.append(y)
    return weight_array(p_factors), weight_array(q_factors), fits


def _scaled(weights: WeightArray, factors: WeightArray, which: IntArray) -> WeightArray:
    """Return weights[n] by factors[which[n]]; by 1 where all rows have one denominator.

    In int64 only if the caller has proved that the products fit: factors come as objects otherwise.
    """
    if bool((factors == 1).all()):
        return weights
    if factors.dtype == object:
        weights = as_objects(weights)
    return weights * factors[which]


def _is_small(value: exact.Whole) -> bool:
    """Return whether a non-negative weight of at most this size fits int64."""
    return isinstance(value, int) and value < INT64_LIMIT
