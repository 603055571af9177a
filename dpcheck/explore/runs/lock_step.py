"""The steps of single runs, where each state is next and by which results, and of two at a time.

Results are told by codes. Those of numbers beyond the window say what is known of them, a level or
a cell, so that equal numbers may have different codes where runs know different things.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.weights.rows import ranges
from dpcheck.explore.runs.program_points import SHOWN
from dpcheck.explore.runs.raw_graph import LabelledEdges, RawGraph
from dpcheck.explore.tails.tails import FIRST_ARRIVAL, Tails
from dpcheck.model.program import Mechanism, Sample
from dpcheck.model.values import ArrayValue, Beyond, Value, value_key
from dpcheck.records import dataclass

NOWHERE = -1
"""Stands for what a state does not show."""

CERTAIN = -1
"""Stands for what is revealed or resolved with certainty."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The labelled edges, sorted by sources and labels, as keys; and where each state is next.

    is_sample [n], and is_prior [n] where data are drawn; shown [n] the code shown on entering a
    state (`NOWHERE`: nothing), and far_shown [n] what is left of it where numbers beyond one end of
    the window are all alike; is_vague [n] where it stands for several numbers; point [n] the cut
    point after an output; event [n] the next `~`, output or end after a deterministic state.
    far_labels and are_vague [n_edges] are the same for labels; is_far [n_edges] where these are
    beyond the window.
    """

    keys: IntArray
    labels: IntArray
    far_labels: IntArray
    is_far: BoolArray
    are_vague: BoolArray
    targets: IntArray
    indptr: IntArray
    is_sample: BoolArray
    is_prior: BoolArray
    shown: IntArray
    far_shown: IntArray
    is_vague: BoolArray
    point: IntArray
    event: IntArray

    @staticmethod
    def of(
        mechanism: Mechanism,
        raw: RawGraph,
        edges: LabelledEdges,
        silent: IntArray,
        copies: BoolArray,
        tails: Tails | None,
    ) -> Steps:
        """Return the steps of a raw graph, where what is silent, [n_states], is no `~`.

        copies [n_states]: where copies of far numbers are drawn, told by their levels.
        """
        n = raw.stopped + 1
        is_sample, is_prior, is_head = np.zeros((3, n), np.bool_)
        for (kind, place), states in raw.cuts.items():
            is_sample[states.numbers] = kind == "sample"
            node = mechanism.nodes[place] if kind == "sample" else None
            is_prior[states.numbers] = isinstance(node, Sample) and node.is_prior
            is_head[states.numbers] = kind == "head"
        is_sample[silent == CERTAIN] = False
        is_head[silent == CERTAIN] = True
        order = np.lexsort((edges.labels, edges.sources))
        sources, targets = edges.sources[order], edges.targets[order]
        following = np.full(n, NOWHERE, np.int64)
        single = ~is_sample[sources]
        following[sources[single]] = targets[single]
        indptr = np.searchsorted(sources, np.arange(n + 1))
        event = _next_event(following, is_head)
        far_labels, is_far, are_vague = far_alike(edges.labels[order], tails)
        _, labels = np.unique(edges.labels[order], return_inverse=True)
        keys = sources * (int(labels.max(initial=0)) + 1) + labels
        return Steps(
            keys,
            labels,
            far_labels,
            is_far,
            are_vague | (is_far & copies[sources]),
            targets,
            indptr,
            is_sample,
            is_prior,
            *_shown(raw, tails),
            event,
        )

    def follow(self, pairs: IntArray) -> IntArray:
        """Return where deterministic states lead next, pairwise: [n_pairs, 2]."""
        return self.event[pairs]

    def with_any(self, pairs: IntArray) -> tuple[IntArray, IntArray]:
        """Return where pairs[n, 2] of states at a `~` lead with any two results.

        With two that are in the window first, then with others.
        """
        left, right = self._any_edges(pairs)
        are_near = ~(self.is_far[left] | self.is_far[right])
        near, others = ((left[rows], right[rows]) for rows in (are_near, ~are_near))
        return self._both(*near), self._both(*others)

    def with_equal_beyond(self, pairs: IntArray) -> IntArray:
        """Return where pairs[n, 2] of states at a `~` lead with results that may be equal.

        These are any two beyond one end of the window, one of which stands for several.
        """
        left, right = self._any_edges(pairs)
        is_vague = self.are_vague[left] | self.are_vague[right]
        may_be_equal = is_vague & (self.far_labels[left] == self.far_labels[right])
        may_be_equal |= self.labels[left] == self.labels[right]
        return self._both(left[may_be_equal], right[may_be_equal])

    def shows_equal(self, pairs: IntArray) -> tuple[BoolArray, BoolArray]:
        """Return where pairs[n, 2] surely show equal values, and where they may if not so, [n]."""
        shown, far = self.shown[pairs], self.far_shown[pairs]
        surely: BoolArray = (shown[:, 0] == shown[:, 1]) & (shown[:, 0] != NOWHERE)
        possibly: BoolArray = (far[:, 0] == far[:, 1]) & self.is_vague[pairs].any(axis=1)
        return surely, possibly & ~surely

    def with_one_alone(self, pairs: IntArray) -> IntArray:
        """Return where pairs[n, 2] lead when the first state goes on with any result."""
        lengths = self.indptr[pairs[:, 0] + 1] - self.indptr[pairs[:, 0]]
        edges = ranges(self.indptr[pairs[:, 0]], lengths)
        others = np.repeat(pairs[:, 1], lengths)
        return np.stack([self._settled(self.targets[edges]), others], axis=1)

    def _any_edges(self, pairs: IntArray) -> tuple[IntArray, IntArray]:
        """Return the edges of both states of pairs[n, 2], each with each, [n_ways]."""
        left, right = pairs[:, 0], pairs[:, 1]
        n_left, n_right = (self.indptr[s + 1] - self.indptr[s] for s in (left, right))
        first = ranges(self.indptr[left], n_left)
        owner = np.repeat(np.arange(len(pairs)), n_left)
        n_others = n_right[owner]
        return np.repeat(first, n_others), ranges(self.indptr[right][owner], n_others)

    def _both(self, left: IntArray, right: IntArray) -> IntArray:
        """Return where two edges lead, pairwise: [n_edges, 2]."""
        ends = [self._settled(self.targets[edges]) for edges in (left, right)]
        return np.stack(ends, axis=1)

    def with_equal(self, pairs: IntArray, *, are_near: bool = False) -> IntArray:
        """Return where pairs[n, 2] of states at a `~` lead with equal results.

        are_near: of these only which are not beyond the window.
        """
        left, right = pairs[:, 0], pairs[:, 1]
        lengths = self.indptr[left + 1] - self.indptr[left]
        picked = ranges(self.indptr[left], lengths)
        other = np.repeat(right, lengths)
        if are_near:
            is_near = ~self.is_far[picked]
            picked, other = picked[is_near], other[is_near]
        n_labels, keys = int(self.labels.max(initial=0)) + 1, self.keys
        wanted = other * n_labels + self.labels[picked]
        place = np.searchsorted(keys, wanted).clip(max=max(len(keys) - 1, 0))
        hit = keys[place] == wanted if len(keys) else np.zeros(0, np.bool_)
        return self._both(picked[hit], place[hit])

    def _settled(self, states: IntArray) -> IntArray:
        """Return the states, with heads of loops replaced by the event after them."""
        waiting = ~self.is_sample[states] & (self.shown[states] == NOWHERE)
        return np.where(waiting, self.event[states], states)


def _shown(raw: RawGraph, tails: Tails | None) -> tuple[IntArray, IntArray, BoolArray, IntArray]:
    """Return what states show, what is left of it, where it is vague, and the points (`Steps`)."""
    n = raw.stopped + 1
    shown, far_shown, point = np.full((3, n), NOWHERE, np.int64)
    is_vague = np.zeros(n, np.bool_)
    for k, ((kind, _), states) in enumerate(raw.cuts.items()):
        if kind == "shown":
            codes = states.columns[SHOWN]
            alike, _, is_vague[states.numbers] = far_alike(codes, tails)
            shown[states.numbers], far_shown[states.numbers] = _ranks(codes), _ranks(alike)
            point[states.numbers] = k
    return shown, far_shown, is_vague, point


def _ranks(codes: IntArray) -> IntArray:
    """Return the codes themselves, which are never `NOWHERE` once shifted to be positive."""
    return np.where(codes < 0, codes - 1, codes)


def far_alike(codes: IntArray, tails: Tails | None) -> tuple[IntArray, BoolArray, BoolArray]:
    """Return what codes may be equal to, as the least of these codes, each [n_codes].

    And which are beyond the window, and which are vague: these may be any beyond one end of it.
    """
    if tails is None:
        return codes, *np.zeros((2, len(codes)), np.bool_)
    distinct_codes, of_row = np.unique(codes, return_inverse=True)
    values = [  # what is resolved are no values
        code if code >= FIRST_ARRIVAL else tails.table.value(code)
        for code in distinct_codes.tolist()
    ]
    ends = [with_ends(value, (tails.window.low, tails.window.high)) for value in values]
    least: dict[Hashable, int] = {}
    for end, code in zip(ends, distinct_codes.tolist(), strict=True):
        least.setdefault(end, code)
    alike = np.array([least[end] for end in ends], np.int64)
    is_far = np.array([isinstance(end, Beyond) for end in ends], np.bool_)
    is_vague = np.array([_is_vague(value) for value in values], np.bool_)
    alone = ~np.isin(alike, alike[is_vague])
    alike[alone] = distinct_codes[alone]
    return alike[of_row], is_far[of_row], is_vague[of_row]


def _is_vague(value: Value) -> bool:
    """Return whether a value stands for several."""
    match value:
        case Beyond():
            return True
        case ArrayValue(items=items) | (tuple() as items):
            return any(map(_is_vague, items))
        case _:
            return False


def with_ends(value: Value, ends: tuple[int, int]) -> Hashable:
    """Return what is left of a value where all numbers beyond one of two ends are alike."""
    low, high = ends
    match value:
        case Beyond(is_above=is_above):
            return Beyond(is_above, 0)
        case int() if not isinstance(value, bool) and not low <= value <= high:
            return Beyond(value > high, 0)
        case ArrayValue(items=items) | (tuple() as items):
            return tuple(with_ends(item, ends) for item in items)
        case _:
            return value_key(value)


def _next_event(following: IntArray, is_head: BoolArray) -> IntArray:
    """Return per deterministic state the first state after it that is no head of a loop.

    Pointers are doubled; a head that still points to a head after log2(n) rounds loops forever.
    """
    event = following.copy()
    for _ in range(len(following).bit_length() + 1):
        behind = np.flatnonzero((event != NOWHERE) & is_head[event])
        if not len(behind):
            return event
        event[behind] = event[event[behind]]
    event[is_head[event] & (event != NOWHERE)] = NOWHERE
    return event
