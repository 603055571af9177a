"""Later neighbors: states that runs from neighboring inputs reach in lock step.

Two runs are in lock step while every `~` gives equal results and every output shows equal values;
a `prior` may give any two, since the data are not compared, only what is seen of them. Where one
draws and the other shows, or they end, they part. The pairs of raw states that lock-step runs from
neighboring inputs are in are searched breadth first. Those just after an output, at one program
point, are the neighbors that a nested `D` quantifies over.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.sets import distinct, distinct_rows, union, without
from dpcheck.chain.weights.rows import ranges
from dpcheck.explore.runs.program_points import DRAWS, SHOWN
from dpcheck.explore.runs.raw_graph import LabelledEdges, RawGraph
from dpcheck.explore.tails.tails import Tails
from dpcheck.explore.values.codes import FALSE
from dpcheck.limits import LimitReached, Limits, too_large
from dpcheck.model.expressions import Apply, Const
from dpcheck.model.program import Assign, Branches, Mechanism, Node, Output, Parametric, Sample
from dpcheck.records import dataclass, replace

NOWHERE = -1
"""Stands for what a state does not show."""


def with_results_drawn(mechanism: Mechanism) -> Mechanism:
    """Return the same runs, where the results of sampled mechanisms are drawn with certainty.

    So they are compared as those of every `~` are.
    """

    def drawn(node: Node) -> Node:
        if not isinstance(node, Assign) or not node.is_drawn:
            return node
        certain = Branches(((node.value, Const(1, node.span)),), normalized=False, span=node.span)
        return Sample(node.target, certain, node.within, node.next, node.span)

    return replace(mechanism, nodes=tuple(map(drawn, mechanism.nodes)))


def later_pairs(
    mechanism: Mechanism, raw: RawGraph, pairs: IntArray, tails: Tails | None, limits: Limits
) -> IntArray:
    """Return the unordered pairs [n, 2] of different raw states after an output, sorted.

    pairs, [n_pairs, 2]: neighboring inputs. Nothing if the raw graph was explored without labels.
    Raises `LimitReached` where two runs remember different numbers beyond the window, move them
    differently, or draw with bounds in one alone: which of their draws are equal is not known then.
    So it does where an analyst is asked in one of them alone: fixed queries are no steps, and here
    they are.
    """
    if raw.labelled is None:
        return np.empty((0, 2), np.int64)
    steps = _Steps.of(mechanism, raw, raw.labelled)
    resolved, remembered = _resolved(mechanism, raw, steps), _remembered(mechanism, raw, tails)
    asked = _asked(mechanism, raw)
    arrives, is_far = _beyond(raw, raw.labelled, tails)
    n = raw.stopped + 1
    seen = np.empty(0, np.int64)
    frontier = steps.follow(pairs)
    while len(frontier):
        limits.check_time(f"{len(seen)} pairs of states compared")
        limits.check_states(len(seen))
        keys = without(_keys(frontier, n, steps.is_prior), seen)
        seen = union(seen, keys)
        here = np.stack([keys // n, keys % n], axis=1)
        if _differ(asked, here):
            raise too_large(
                "a D inside of a path compares runs, and one of them alone makes a query",
                "a loop with fewer rounds, such as `for i in 1..3`, where every analyst is tried",
            )
        drawing = here[np.all(steps.is_sample[here], axis=1)]
        showing = here[np.all(steps.shown[here] != NOWHERE, axis=1)]
        showing = showing[steps.shown[showing[:, 0]] == steps.shown[showing[:, 1]]]
        going_on = np.concatenate([drawing, showing])  # others have parted
        if _differ(remembered, going_on) or _differ(resolved, here):
            raise _different_memories()
        if (is_far[drawing] & arrives[drawing[:, ::-1]]).any():
            raise _different_memories()
        frontier = np.concatenate([steps.joined(drawing), steps.follow(showing)])
    found: IntArray = np.stack([seen // n, seen % n], axis=1)
    alike: BoolArray = (steps.shown[found[:, 0]] == steps.shown[found[:, 1]]) & (
        steps.point[found[:, 0]] == steps.point[found[:, 1]]
    )
    later: IntArray = found[alike & (steps.shown[found[:, 0]] != NOWHERE)]
    return later


def _differ(known: IntArray, pairs: IntArray) -> bool:
    """Return whether something known of states, [n_states], differs in one of pairs [n, 2]."""
    return bool((known[pairs[:, 0]] != known[pairs[:, 1]]).any())


def _remembered(mechanism: Mechanism, raw: RawGraph, tails: Tails | None) -> IntArray:
    """Return [n_raw_states + 1] numbers of what is remembered beyond the window, 0 for nothing."""
    found, n_known = np.zeros(raw.stopped + 1, np.int64), 0
    if tails is None:
        return found
    for node in mechanism.nodes:
        if isinstance(node, Sample) and node.is_prior and node.target in tails.wide.names:
            raise _different_memories()
    for states in raw.cuts.values():
        columns = tails.memory(states.columns)
        if not columns:
            continue
        _, of_row = distinct_rows(columns)
        is_beyond = np.any(columns, axis=0)
        found[states.numbers] = np.where(is_beyond, of_row + 1 + n_known, 0)
        n_known += len(of_row)
    return found


def _beyond(
    raw: RawGraph, edges: LabelledEdges, tails: Tails | None
) -> tuple[BoolArray, BoolArray]:
    """Return which states [n_states], † included, draw numbers without bounds, and other far ones.

    Those are beyond the window, too, and may be equal, though they are told by their values.
    """
    arrives, is_far = np.zeros((2, raw.stopped + 1), np.bool_)
    if tails is None:
        return arrives, is_far
    for (kind, place), states in raw.cuts.items():
        if kind == "sample" and place in tails.wide.arriving:
            arrives[states.numbers] = True
    is_far[edges.sources[tails.is_beyond(edges.labels)]] = True
    return arrives, is_far & ~arrives


def _resolved(mechanism: Mechanism, raw: RawGraph, steps: _Steps) -> IntArray:
    """Return numbers [n_states], † included, where gaps beyond the window are resolved, else 0.

    That is no `~` of the program, but equal where it is drawn from one distribution.
    """
    found = np.zeros(raw.stopped + 1, np.int64)
    for (kind, place), states in raw.cuts.items():
        if kind == "sample" and _is_resolving(mechanism.nodes[place]):
            drawn = states.columns[DRAWS] + 1
            found[states.numbers] = np.where(steps.is_sample[states.numbers], drawn, 0)
    return found


def _asked(mechanism: Mechanism, raw: RawGraph) -> IntArray:
    """Return numbers [n_states], † included, of the query whose choice a state draws, else 0."""
    found, names = np.zeros(raw.stopped + 1, np.int64), dict[object, int]()
    for (kind, place), states in raw.cuts.items():
        node = mechanism.nodes[place] if kind == "sample" else None
        shown = mechanism.nodes[node.next] if isinstance(node, Sample) else None
        match shown:
            case Output(query="adaptive", value=Apply(args=(Const(value=mark), *_))):
                found[states.numbers] = names.setdefault(mark, len(names) + 1)
    return found


def _different_memories() -> LimitReached:
    return too_large(
        "a D inside of a path compares runs that remember different numbers beyond the window",
        "a policy such as `clamped -20..20`",
    )


def _is_resolving(node: Node) -> bool:
    """Return whether a node draws how far numbers beyond the window are apart."""
    distribution = node.distribution if isinstance(node, Sample) else None
    return isinstance(distribution, Parametric) and distribution.word == "resolve"


def _keys(pairs: IntArray, n: int, is_prior: BoolArray) -> IntArray:
    """Return one number per unordered pair of states that may part, distinct and sorted.

    Equal states never part but where they draw data, is_prior[n_states].
    """
    low, high = pairs.min(axis=1, initial=n), pairs.max(axis=1, initial=NOWHERE)
    return distinct((low * n + high)[((low != high) | is_prior[low]) & (low > NOWHERE)])


@dataclass(frozen=True, eq=False)
class _Steps:
    """The labelled edges, sorted; where each state is next at an event.

    is_sample [n], and is_prior [n] where data are drawn; shown [n] the code shown on entering a
    state (`NOWHERE`: nothing); point [n] the cut point after an output; event [n] the next `~`,
    output or end after a deterministic state.
    """

    sources: IntArray
    labels: IntArray
    targets: IntArray
    indptr: IntArray
    is_sample: BoolArray
    is_prior: BoolArray
    shown: IntArray
    point: IntArray
    event: IntArray

    @staticmethod
    def of(mechanism: Mechanism, raw: RawGraph, edges: LabelledEdges) -> _Steps:
        n = raw.stopped + 1
        is_sample = np.zeros(n, np.bool_)
        is_prior = np.zeros(n, np.bool_)
        is_head = np.zeros(n, np.bool_)
        shown = np.full(n, NOWHERE, np.int64)
        point = np.full(n, NOWHERE, np.int64)
        for k, (cut, states) in enumerate(raw.cuts.items()):
            is_sample[states.numbers] = cut[0] == "sample"
            node = mechanism.nodes[cut[1]] if cut[0] == "sample" else None
            is_prior[states.numbers] = isinstance(node, Sample) and node.is_prior
            is_head[states.numbers] = cut[0] == "head"
            if cut[0] == "shown":
                shown[states.numbers] = _ranks(states.columns[SHOWN])
                point[states.numbers] = k
            if node is not None and _is_resolving(node):
                is_told = np.isin(edges.sources, states.numbers) & (edges.labels == FALSE)
                is_sample[edges.sources[is_told]] = False  # nothing is beyond
                is_head[edges.sources[is_told]] = True
        order = np.lexsort((edges.labels, edges.sources))
        sources, targets = edges.sources[order], edges.targets[order]
        following = np.full(n, NOWHERE, np.int64)
        single = ~is_sample[sources]
        following[sources[single]] = targets[single]
        indptr = np.searchsorted(sources, np.arange(n + 1))
        event = _next_event(following, is_head)
        labels = edges.labels[order]
        return _Steps(sources, labels, targets, indptr, is_sample, is_prior, shown, point, event)

    def follow(self, pairs: IntArray) -> IntArray:
        """Return where deterministic states lead next, pairwise: [n_pairs, 2]."""
        return self.event[pairs]

    def joined(self, pairs: IntArray) -> IntArray:
        """Return where pairs[n, 2] of states at a `~` lead: with equal results but of a prior."""
        of_priors = self.is_prior[pairs].all(axis=1)
        ways = self._with_equal(pairs[~of_priors]), self._with_any(pairs[of_priors])
        return np.concatenate(ways)

    def _with_any(self, pairs: IntArray) -> IntArray:
        """Return where pairs[n, 2] of states lead with any two results."""
        left, right = pairs[:, 0], pairs[:, 1]
        first = ranges(self.indptr[left], self.indptr[left + 1] - self.indptr[left])
        owner = np.repeat(np.arange(len(pairs)), self.indptr[left + 1] - self.indptr[left])
        n_others = (self.indptr[right + 1] - self.indptr[right])[owner]
        left_to = self.targets[np.repeat(first, n_others)]
        right_to = self.targets[ranges(self.indptr[right][owner], n_others)]
        return np.stack([self._settled(left_to), self._settled(right_to)], axis=1)

    def _with_equal(self, pairs: IntArray) -> IntArray:
        """Return where pairs[n, 2] of states lead with equal results."""
        left, right = pairs[:, 0], pairs[:, 1]
        lengths = self.indptr[left + 1] - self.indptr[left]
        picked = ranges(self.indptr[left], lengths)
        other = np.repeat(right, lengths)
        labels, rank = np.unique(self.labels, return_inverse=True)
        keys = self.sources * len(labels) + rank
        wanted = other * len(labels) + rank[picked]
        place = np.searchsorted(keys, wanted).clip(max=max(len(keys) - 1, 0))
        hit = keys[place] == wanted if len(keys) else np.zeros(0, np.bool_)
        left_to, right_to = self.targets[picked[hit]], self.targets[place[hit]]
        return np.stack([self._settled(left_to), self._settled(right_to)], axis=1)

    def _settled(self, states: IntArray) -> IntArray:
        """Return the states, with heads of loops replaced by the event after them."""
        waiting = ~self.is_sample[states] & (self.shown[states] == NOWHERE)
        return np.where(waiting, self.event[states], states)


def _ranks(codes: IntArray) -> IntArray:
    """Return the codes themselves, which are never `NOWHERE` once shifted to be positive."""
    return np.where(codes < 0, codes - 1, codes)


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
