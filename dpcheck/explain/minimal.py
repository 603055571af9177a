"""The smallest evidence against dp(ε, δ): neighbors that differ least, and fewest sequences.

Of an ordered pair let g_k = p_k - e^ε q_k be the gap of sequence k. The pair violates the claim if
the sum of its positive gaps exceeds δ. The m largest gaps have the greatest sum of all sets of m
sequences, so taking the largest until the sum exceeds δ gives an event with the fewest sequences;
for δ = 0 it is always one. Which gaps are positive, and sums near δ, are decided exactly; floats
order what is further apart than their errors.

Pairs are ordered by (1) how many cells of the inputs differ, (2) the sum of their changes, (3) the
size of the smallest event, (4) the sum of the ranks of both inputs in their domains, (5) the larger
total gap, (6) the numbers of the states.
"""

from __future__ import annotations

from functools import cmp_to_key

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.check.evidence.blocks import Block
from dpcheck.check.evidence.float_probabilities import FloatArray
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.exact import (
    UNIT_ROUNDOFF,
    Budget,
    Number,
    add,
    excess_sign,
    exp_float_bounds,
    float_bounds,
    subtract,
)
from dpcheck.explain.inputs import InputCells
from dpcheck.limits import LimitReached, Limits
from dpcheck.records import dataclass

_NO_ESTIMATE = 2.0**-900
"""Numbers without an estimate are below it."""
_TIED = 1e-12
"""Total gaps this close order no pairs: what symmetry makes equal is rounded in different ways."""


@dataclass(frozen=True, eq=False)
class Violations:
    """Which ordered pairs of rows violate a claim, both [n_pairs, 2]: first over second, and back.

    `totals` are estimates of the sums of positive gaps. Where the time was over, `n_compared` pairs
    are fewer than there are.
    """

    evidence: TableEvidence
    factor: ExpFactor
    delta: Number
    is_violating: BoolArray
    totals: FloatArray
    n_compared: int

    @property
    def is_complete(self) -> bool:
        """Return whether all pairs were compared."""
        return self.n_compared == len(self.is_violating)

    @property
    def n_violating(self) -> int:
        """The number of unordered pairs that violate the claim in some direction."""
        return int(self.is_violating.any(axis=1).sum())


def violations(
    evidence: TableEvidence, epsilon: Budget, delta: Number, limits: Limits
) -> Violations:
    """Return which pairs of neighbors violate dp(ε, δ), ε >= 0."""
    rows, factor = evidence.rows, ExpFactor.of(epsilon)
    compared, violating = np.zeros((2, len(rows.pairs), 2), np.bool_)
    totals = np.zeros((len(rows.pairs), 2))
    try:
        for block in rows.blocks(limits):
            side = int(not block.is_forward)
            mask = block.exceeding(factor)
            gaps = np.add.reduceat(block.excesses(mask, factor), block.starts)
            compared[block.pair, side] = True
            totals[block.pair, side] = gaps
            violating[block.pair, side] = _exceeds(block, mask, gaps, factor, delta)
    except LimitReached:
        pass
    found, is_turned = rows.representatives()
    column = np.stack([is_turned, ~is_turned], axis=1).astype(np.int64)
    is_known = compared[found].all(axis=1) | (found < 0)
    is_shown = (found >= 0) & is_known
    return Violations(
        evidence,
        factor,
        delta,
        np.take_along_axis(violating[found], column, axis=1) & is_shown[:, None],
        np.where(is_shown[:, None], np.take_along_axis(totals[found], column, axis=1), 0.0),
        int(is_known.sum()),
    )


def _exceeds(
    block: Block, mask: BoolArray, gaps: FloatArray, factor: ExpFactor, delta: Number
) -> BoolArray:
    """Return of each segment whether the sum of its positive gaps exceeds δ, [n_segments].

    A sum of n estimates is off by less than (n + 64)u, since the p of a row sum to 1, and by what
    has no estimate.
    """
    found: BoolArray = np.zeros(len(block.pair), np.bool_)
    if delta == 0:
        found[block.segments_with(mask)] = True
        return found
    low, high = float_bounds(delta) or (0.0, np.inf)
    widths = np.diff(block.starts, append=len(mask))
    errors = 2 * (widths + 64) * UNIT_ROUNDOFF + _not_estimated(factor) * widths
    found = gaps - errors > high
    near = marked(~(found | (gaps + errors < low)))
    if len(near):
        p_sums, q_sums = block.sums(mask)
        for k in near.tolist():
            gap = block.gap(k, p_sums[k], q_sums[k])
            found[k] = excess_sign(gap.p, gap.q, factor.epsilon, delta) > 0
    return found


def _not_estimated(factor: ExpFactor) -> float:
    """Return what numbers without an estimate may add to a gap p - e^ε q: p, and e^ε q."""
    bounds = exp_float_bounds(factor.epsilon)
    return np.inf if bounds is None else _NO_ESTIMATE * (1 + bounds[1])


def _untold(found: Violations) -> float:
    """Return how close estimates of gaps are that are compared exactly."""
    return 256 * UNIT_ROUNDOFF + _not_estimated(found.factor)


def smallest_pair(
    found: Violations, cells: InputCells, states: IntArray, limits: Limits
) -> EventGap:
    """Return the smallest ordered pair that violates, with the probabilities of its optimal event.

    states [n_pairs, 2] are the states of the pairs; there is a pair that violates.
    """
    pairs, sides = np.nonzero(found.is_violating)
    ends = states[pairs]
    count, size, weight = cells.distances(ends)
    chosen = _least([count, size], np.arange(len(pairs)))
    pairs, sides, weight = pairs[chosen], sides[chosen], weight[chosen]
    ends = np.where(sides[:, None] == 1, ends[chosen][:, ::-1], ends[chosen])
    totals = found.totals[pairs, sides]
    sizes = _event_sizes(found, pairs, sides, limits)
    best = _least([sizes, weight], np.arange(len(pairs)))
    best = best[totals[best] >= totals[best].max() - _TIED]
    best = _least([ends.min(axis=1), ends.max(axis=1), sides], best)
    return _optimal(found, int(pairs[best[0]]), is_forward=not sides[best[0]])


def _least(columns: list[IntArray], chosen: IntArray) -> IntArray:
    """Return those of the chosen rows that are least by the columns, [n_least] of [n_chosen]."""
    for column in columns:
        chosen = chosen[column[chosen] == column[chosen].min()]
    return chosen


def worst_pair(found: Violations, states: IntArray) -> EventGap:
    """Return the ordered pair with the largest total gap, in state order on ties.

    states [n_pairs, 2] are the states of the pairs. Estimates choose the candidates, and the first
    of them is taken that no pair exceeds.
    """
    largest = found.evidence.worst_gap(found.factor)
    assert largest is not None, "some pair violates the claim"
    pairs, sides = np.nonzero(found.is_violating)
    totals = found.totals[pairs, sides]
    best = marked(totals >= totals.max() - _TIED)
    for k in best[np.lexsort((sides[best], *states[pairs[best]].T[::-1]))].tolist():
        gap = _optimal(found, int(pairs[k]), is_forward=not sides[k])
        if not largest.exceeds(gap, found.factor):
            return gap
    return largest


def _optimal(found: Violations, pair: int, *, is_forward: bool) -> EventGap:
    """Return the event of all positive gaps of an ordered pair."""
    block = found.evidence.rows.block_of(EventGap(0, 0, pair, is_forward))
    p_sums, q_sums = block.sums(block.exceeding(found.factor))
    return block.gap(0, p_sums[0], q_sums[0])


def _event_sizes(found: Violations, pairs: IntArray, sides: IntArray, limits: Limits) -> IntArray:
    """Return the size of the smallest event of each ordered pair, [n_pairs], by estimates.

    They only order pairs, so what they cannot tell apart does no harm.
    """
    if found.delta == 0:
        return np.ones(len(pairs), np.int64)
    most = (float_bounds(found.delta) or (0.0, 0.0))[1]
    chosen = np.unique(pairs)
    known = np.ones((len(chosen), 2), np.int64)
    for block in found.evidence.rows.blocks_of(chosen, limits):
        gaps = block.excesses(block.exceeding(found.factor), found.factor)
        order = np.lexsort((-gaps, block.segment))
        sums = np.cumsum(gaps[order])
        before = np.where(block.starts > 0, sums[block.starts - 1], 0.0)
        needed = (sums - before[block.segment] <= most + _TIED) & (gaps[order] > 0)
        places = np.searchsorted(chosen, block.pair)
        known[places, int(not block.is_forward)] += np.add.reduceat(needed, block.starts)
    found_sizes: IntArray = known[np.searchsorted(chosen, pairs), sides]
    return found_sizes


@dataclass(frozen=True)
class SmallestEvent:
    """Sequences of the table by falling gap, and the probabilities of their set on both sides."""

    sequences: tuple[int, ...]
    p: Number
    q: Number


def smallest_event(found: Violations, gap: EventGap, limits: Limits) -> SmallestEvent:
    """Return an event of the fewest sequences that violates the claim, for the pair of a gap.

    For δ = 0 that is any with a positive gap: one that is impossible on the right if there is one,
    which no ε allows.
    """
    block = found.evidence.rows.block_of(gap)
    mask = block.exceeding(found.factor)
    if found.delta == 0:
        mask = _first(found, block, mask)
    order = _by_falling_gap(found, block, mask, limits)
    taken: list[int] = []
    p: Number = 0
    q: Number = 0
    for j in order:
        limits.check_time(f"{len(taken)} sequences of an event chosen")
        p_j, q_j = block.probabilities(j)
        p, q = add(p, p_j), add(q, q_j)
        taken.append(int(block.sequence[j]))
        if excess_sign(p, q, found.factor.epsilon, found.delta) > 0:
            break
    return SmallestEvent(tuple(taken), p, q)


def largest_gaps(found: Violations, gap: EventGap, limits: Limits) -> list[int]:
    """Return the sequences of a pair's optimal event, by falling gap."""
    block = found.evidence.rows.block_of(gap)
    order = _by_falling_gap(found, block, block.exceeding(found.factor), limits)
    return [int(block.sequence[j]) for j in order]


def _first(found: Violations, block: Block, mask: BoolArray) -> BoolArray:
    """Return which of some entries may come first: those that floats do not tell from the first.

    To order all of 250,000 for one of them took a second.
    """
    impossible = mask & block.without_counterpart()
    mask = impossible if impossible.any() else mask
    estimates = block.excesses(mask, found.factor)
    candidates: BoolArray = mask & (estimates >= estimates.max() - _untold(found))
    return candidates


def _by_falling_gap(found: Violations, block: Block, mask: BoolArray, limits: Limits) -> list[int]:
    """Return the entries of a mask, which have a positive gap, the largest first.

    Equal gaps stand in the order of shorter sequences, then of the table. Gaps that floats do not
    tell apart are compared exactly.
    """
    estimates, table = block.excesses(mask, found.factor), found.evidence.rows.table
    lengths = {j: len(table.outputs(int(block.sequence[j]))) for j in marked(mask).tolist()}
    known, untold = {j: float(estimates[j]) for j in lengths}, _untold(found)
    limits.check_time(f"{len(known)} sequences of an event ordered")

    def order(one: int, other: int) -> int:
        difference = known[other] - known[one]
        if abs(difference) > untold:
            return 1 if difference > 0 else -1
        (p, q), (p_other, q_other) = block.probabilities(one), block.probabilities(other)
        exact = excess_sign(subtract(p_other, p), subtract(q_other, q), found.factor.epsilon)
        return exact or lengths[one] - lengths[other] or one - other

    return sorted(known, key=cmp_to_key(order))
