"""Event-level privacy from a table of output sequences: worst events and ratios of pairs of rows.

For one pair of rows p, q and a factor E the worst event is {o : p_o > E q_o}, so the least δ is
Σ max(0, p_o - E q_o), the hockey-stick divergence (Barthe, Olmedo, ICALP 2013), and the least E for
δ = 0 is max p_o / q_o. Sources with equal rows are one class, and pairs of classes are compared
once. Weights stay whole numbers over the denominators of their rows: with E = a/b,

    p/D > E q/D'   exactly if   p X > q Y   with X : Y = D' b : a D in lowest terms,

in int64 where D X and D' Y are below 2^62 (p <= D and q <= D'), in Python integers or ℤ[e^r] else.
An irrational E is first replaced by a lower and an upper rational bound; only outputs between the
two are decided one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.rows import ranges
from dpcheck.chain.scales import as_objects, weight_array
from dpcheck.check.events import MAX_LISTED, N_RUNS, EventText, many_sequences, sequence_text
from dpcheck.check.factors import Factor, Gap
from dpcheck.check.sequences import SequenceTable
from dpcheck.exact import (
    ExpPolynomial,
    Number,
    Whole,
    as_fraction_parts,
    compare,
    divide,
    exact_quotient,
    excess_sign,
    number,
    whole_gcd,
)
from dpcheck.limits import Limits

_INT64_LIMIT = 2**62
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class TableEvidence:
    """The rows of a sequence table and the pairs of its sources that are neighbors.

    pairs [n_pairs, 2] are indices into the table's sources.
    """

    table: SequenceTable
    pairs: IntArray
    output_text: Callable[[int], str]
    limits: Limits = field(default_factory=Limits)

    @property
    def n_sequences(self) -> int:
        """The number of different sequences."""
        return self.table.n_sequences

    def worst_ratio(self) -> Gap | None:
        """Return (p, q) of an event with the largest p/q over all pairs and directions.

        The event is a set of sequences with one and the same ratio: all of them. With q = 0 it is
        the one with the largest p. None where no pair has different rows.
        """
        without = self._largest_without_counterpart()
        return self._largest_ratio() if without is None else without

    def worst_gap(self, factor: Factor) -> Gap | None:
        """Return p - E q, the largest over all events, pairs and directions; None without pairs."""
        best: Gap | None = None
        for block in self._blocks:
            mask = block.exceeding(factor)
            p_sums, q_sums = block.sums(mask)
            for k in block.segments_with(mask):
                gap = block.gap(k, p_sums[k], q_sums[k])
                if best is None or gap.exceeds(best, factor):
                    best = gap
        return best

    def event(self, gap: Gap, factor: Factor | None) -> tuple[int, ...]:
        """Return the sequences of a gap's event, in its pair and direction.

        They are those with p > E q; without a factor, those with the gap's own ratio.
        """
        block = self._block_of(gap)
        return tuple(block.sequence[block.event(gap, factor)].tolist())

    def event_text(self, gap: Gap, factor: Factor | None) -> EventText:
        """Return a gap's event in words, and the sequences that carry most of p - q."""
        block = self._block_of(gap)
        entries = np.flatnonzero(block.event(gap, factor))
        runs = tuple(
            (self.sequence_text(int(block.sequence[j])), *block.probabilities(j))
            for j in block.heaviest(entries)[:N_RUNS]
        )
        if len(entries) > MAX_LISTED:
            return EventText((many_sequences(len(entries), gap, factor),), runs, len(entries))
        listed = tuple(self.sequence_text(k) for k in block.sequence[entries].tolist())
        return EventText(listed, runs)

    def sequence_text(self, sequence: int) -> str:
        """Return the outputs of a sequence, and how it ends."""
        shown = [self.output_text(code) for code in self.table.outputs(sequence)]
        return sequence_text(shown, int(self.table.end[sequence]))

    def _largest_without_counterpart(self) -> Gap | None:
        """Return the largest p of an event with q = 0."""
        best: Gap | None = None
        for block in self._blocks:
            mask = block.without_counterpart()
            p_sums, q_sums = block.sums(mask)
            for k in block.segments_with(mask):
                gap = block.gap(k, p_sums[k], q_sums[k])
                if best is None or compare(gap.p, best.p) > 0:
                    best = gap
        return best

    def _largest_ratio(self) -> Gap | None:
        """Return the event of all sequences with the largest ratio, where q is never 0.

        Different rows have a ratio above 1 in some direction, since both sum to 1.
        """
        ratio: Number = 1
        found: tuple[_Block, int] | None = None
        for block in self._blocks:
            larger = block.largest_ratio(ratio)
            if larger is not None:
                ratio, found = larger[0], (block, larger[1])
        if found is None:
            return None
        block, k = found
        p_sums, q_sums = block.sums(block.equal_ratio(ratio))
        return block.gap(k, p_sums[k], q_sums[k])

    def has_certain_rows(self) -> bool:
        """Tell whether every pair has one and the same sequence, with certainty, on both sides."""
        widths = np.diff(self.table.indptr)
        ends = np.unique(self.pairs)
        return bool(np.all(widths[ends] == 1)) and len(self._class_pairs) == 0

    @cached_property
    def _rows(self) -> tuple[WeightArray, tuple[Whole, ...]]:
        """Weights and denominators with each integer row in lowest terms."""
        return _in_lowest_terms(self.table)

    @cached_property
    def _classes(self) -> IntArray:
        """The number of each source's class of equal rows, [n_sources]."""
        weights, denominators = self._rows
        indptr, sequences = self.table.indptr.tolist(), self.table.sequences
        found: dict[Any, int] = {}
        classes = np.empty(len(denominators), np.int64)
        for i, denominator in enumerate(denominators):
            row = slice(indptr[i], indptr[i + 1])
            part = weights[row]
            content = part.tobytes() if part.dtype == np.int64 else tuple(part.tolist())
            key = (sequences[row].tobytes(), content, denominator)
            classes[i] = found.setdefault(key, len(found))
        return classes

    @cached_property
    def _class_pairs(self) -> IntArray:
        """One representative pair for each pair of different classes: rows of `pairs`."""
        classes = self._classes[self.pairs]
        different = np.flatnonzero(classes[:, 0] != classes[:, 1])
        low, high = classes[different].min(axis=1), classes[different].max(axis=1)
        _, first = np.unique(low * (int(self._classes.max()) + 1) + high, return_index=True)
        return different[first]

    @property
    def _blocks(self) -> Iterator[_Block]:
        """Pairs of rows side by side, both directions, in blocks of bounded size."""
        widths = np.diff(self.table.indptr)
        sizes = widths[self.pairs[self._class_pairs]].sum(axis=1)
        chunk = np.cumsum(sizes) // _BLOCK
        bounds = np.flatnonzero(np.diff(chunk, prepend=-1))
        for k, start in enumerate(bounds.tolist()):
            stop = bounds[k + 1] if k + 1 < len(bounds) else len(sizes)
            self.limits.check_time(f"{start} of {len(sizes)} pairs of rows compared")
            forward = self._block(self._class_pairs[start:stop])
            yield forward
            yield forward.reversed()

    def _block_of(self, gap: Gap) -> _Block:
        """Return the one pair of rows a gap is about, in its direction."""
        block = self._block(np.array([gap.pair], np.int64))
        return block if gap.is_forward else block.reversed()

    def _block(self, chosen: IntArray) -> _Block:
        """Return rows side by side for the chosen rows of `pairs`."""
        weights, denominators = self._rows
        left, right = self.pairs[chosen].T
        (segment_p, at_p), (segment_q, at_q) = self._entries(left), self._entries(right)
        keys_p = segment_p * self.n_sequences + self.table.sequences[at_p]
        keys_q = segment_q * self.n_sequences + self.table.sequences[at_q]
        if np.array_equal(keys_p, keys_q):
            keys, p, q = keys_p, weights[at_p], weights[at_q]
        else:
            keys, where = np.unique(np.concatenate([keys_p, keys_q]), return_inverse=True)
            p = _placed(weights[at_p], where[: len(keys_p)], len(keys))
            q = _placed(weights[at_q], where[len(keys_p) :], len(keys))
        segment = keys // self.n_sequences
        return _Block(
            pair=chosen,
            is_forward=True,
            starts=np.flatnonzero(np.diff(segment, prepend=-1)),
            segment=segment,
            sequence=keys % self.n_sequences,
            p=p,
            q=q,
            p_scales=[denominators[i] for i in left.tolist()],
            q_scales=[denominators[i] for i in right.tolist()],
        )

    def _entries(self, sources: IntArray) -> tuple[IntArray, IntArray]:
        """Return for all entries of the given rows: which of them, and where in the table."""
        starts = self.table.indptr[sources]
        widths = self.table.indptr[sources + 1] - starts
        return np.repeat(np.arange(len(sources)), widths), ranges(starts, widths)


@dataclass(frozen=True, eq=False)
class _Block:
    """Some pairs of rows side by side, on the union of their sequences.

    pair [n_segments] rows of the evidence's pairs; segment k holds the entries from `starts[k]`.
    segment, sequence, p, q [n_entries]; p is over `p_scales[segment]`, q over `q_scales[segment]`.
    """

    pair: IntArray
    is_forward: bool
    starts: IntArray
    segment: IntArray
    sequence: IntArray
    p: WeightArray
    q: WeightArray
    p_scales: list[Whole]
    q_scales: list[Whole]

    def reversed(self) -> _Block:
        """Return the same rows with p and q exchanged."""
        return _Block(
            self.pair,
            not self.is_forward,
            self.starts,
            self.segment,
            self.sequence,
            self.q,
            self.p,
            self.q_scales,
            self.p_scales,
        )

    def exceeding(self, factor: Factor) -> BoolArray:
        """Return where p > E q, [n_entries]."""
        if factor.value is not None and (factor.is_rational or self._has_powers):
            return self._exceeding_at(factor.value, None)
        low, high = factor.bounds()
        sure = self.without_counterpart() if high is None else self._exceeding_at(high, None)
        for j in np.flatnonzero(self._exceeding_at(low, None) & ~sure).tolist():
            sure[j] = excess_sign(*self.probabilities(j), factor.epsilon) > 0
        return sure

    def _exceeding_at(self, value: Number, entries: IntArray | None) -> BoolArray:
        """Return where p > value · q among some entries (all of them if None)."""
        p, q = self._cross_multiplied(value, entries)
        above: BoolArray = np.asarray(p > q, np.bool_)
        return above

    def equal_ratio(self, value: Number) -> BoolArray:
        """Return where p = value · q and p is not 0, [n_entries]."""
        p, q = self._cross_multiplied(value, None)
        return np.asarray((p == q) & (self.p != 0), np.bool_)

    def _cross_multiplied(
        self, value: Number, entries: IntArray | None
    ) -> tuple[WeightArray, WeightArray]:
        """Return p X and q Y, whole, whose comparison is that of p/D and value · q/D'."""
        p, q = self.p, self.q
        segment = self.segment
        if entries is not None:
            p, q, segment = p[entries], q[entries], segment[entries]
        p_factors, q_factors, fits = self._factors(value)
        if fits and p.dtype == np.int64:
            return p * p_factors[segment], q * q_factors[segment]
        return _scaled(p, p_factors, segment), _scaled(q, q_factors, segment)

    def _factors(self, value: Number) -> tuple[WeightArray, WeightArray, bool]:
        """Return X and Y per segment, and whether all products with them fit int64."""
        above, below = as_fraction_parts(value)
        known: dict[tuple[Whole, Whole], tuple[Whole, Whole]] = {}
        p_factors: list[Whole] = []
        q_factors: list[Whole] = []
        fits = True
        for scales in zip(self.p_scales, self.q_scales, strict=True):
            if scales not in known:
                x, y = below * scales[1], above * scales[0]
                divisor = whole_gcd(x, y)
                x, y = exact_quotient(x, divisor), exact_quotient(y, divisor)
                known[scales] = x, y
                fits = fits and _is_small(scales[0] * x) and _is_small(scales[1] * y)
            x, y = known[scales]
            p_factors.append(x)
            q_factors.append(y)
        return weight_array(p_factors), weight_array(q_factors), fits

    def sums(self, mask: BoolArray) -> tuple[WeightArray, WeightArray]:
        """Return the sums of p and of q over the masked entries of each segment."""
        zero = np.zeros(1, self.p.dtype)
        p, q = np.where(mask, self.p, zero), np.where(mask, self.q, zero)
        return np.add.reduceat(p, self.starts), np.add.reduceat(q, self.starts)

    def segments_with(self, mask: BoolArray) -> list[int]:
        """Return the segments with some masked entry."""
        return [int(k) for k in np.unique(self.segment[mask])]

    def gap(self, k: int, p: Whole, q: Whole) -> Gap:
        """Return p - E q for whole sums over the scales of segment k."""
        return Gap(
            number(_whole(p), self.p_scales[k]),
            number(_whole(q), self.q_scales[k]),
            int(self.pair[k]),
            self.is_forward,
        )

    def probabilities(self, j: int) -> tuple[Number, Number]:
        """Return p and q of one entry."""
        gap = self.gap(int(self.segment[j]), self.p[j], self.q[j])
        return gap.p, gap.q

    def event(self, gap: Gap, factor: Factor | None) -> BoolArray:
        """Return where p > E q; without a factor, where p/q is the ratio of the gap."""
        if factor is not None:
            return self.exceeding(factor)
        if gap.q == 0:
            return self.without_counterpart()
        return self.equal_ratio(divide(gap.p, gap.q))

    def heaviest(self, entries: IntArray) -> list[int]:
        """Return some entries of one segment by falling p - q."""
        p, q = self._cross_multiplied(1, entries)
        order = np.argsort(q - p, kind="stable")
        return [int(j) for j in entries[order]]

    def without_counterpart(self) -> BoolArray:
        """Return where q is 0 and p is not, [n_entries]."""
        return np.asarray((self.q == 0) & (self.p != 0), np.bool_)

    def largest_ratio(self, least: Number) -> tuple[Number, int] | None:
        """Return the largest p/q above `least` where q is not 0, and its segment; None without.

        Quickselect: an entry in the middle of those above the best so far becomes the best.
        """
        best: tuple[Number, int] | None = None
        above = np.flatnonzero(self._exceeding_at(least, None) & (self.q != 0))
        while len(above):
            j = int(above[len(above) // 2])
            p, q = self.probabilities(j)
            best = divide(p, q), int(self.segment[j])
            above = above[self._exceeding_at(best[0], above)]
        return best

    @cached_property
    def _has_powers(self) -> bool:
        """Tell whether some weight or scale lies outside the integers."""
        if self.p.dtype != object:
            return False
        weights = (*self.p_scales, *self.q_scales, *self.p.tolist(), *self.q.tolist())
        return any(isinstance(weight, ExpPolynomial) for weight in weights)


def _in_lowest_terms(table: SequenceTable) -> tuple[WeightArray, tuple[Whole, ...]]:
    """Return weights and denominators, each row of integers divided by its gcd."""
    weights = table.weights.copy()
    denominators = list(table.denominators)
    indptr = table.indptr.tolist()
    for i, denominator in enumerate(denominators):
        row = weights[indptr[i] : indptr[i + 1]]
        if not isinstance(denominator, int) or not all(isinstance(w, int) for w in row.tolist()):
            continue
        divisor = gcd(denominator, *row.tolist())
        if divisor > 1:
            row //= divisor
            denominators[i] = denominator // divisor
    return weights, tuple(denominators)


def _placed(weights: WeightArray, where: IntArray, size: int) -> WeightArray:
    """Return an array of that size with the weights at the given places and 0 elsewhere."""
    placed: WeightArray = np.zeros(size, np.int64)
    placed = as_objects(placed) if weights.dtype == object else placed
    placed[where] = weights
    return placed


def _scaled(weights: WeightArray, factors: WeightArray, segment: IntArray) -> WeightArray:
    """Return exact products, without multiplying by 1."""
    if bool(np.all(factors == 1)):
        return weights
    return as_objects(weights) * as_objects(factors)[segment]


def _is_small(value: Whole) -> bool:
    """Tell whether a non-negative weight of at most this size fits int64."""
    return isinstance(value, int) and value < _INT64_LIMIT


def _whole(value: Whole) -> Whole:
    """Return a numpy integer as a Python one, other weights as they are."""
    return value if isinstance(value, ExpPolynomial) else int(value)
