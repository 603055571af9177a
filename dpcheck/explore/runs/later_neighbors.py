"""Later neighbors: states that runs from neighboring inputs reach in lock step.

Two runs are in lock step while every `~` gives equal results and every output shows equal values;
a `prior` may give any two, since the data are not compared, only what is seen of them. Where one
draws and the other shows, or they end, they part. The pairs of raw states that lock-step runs from
neighboring inputs are in are searched breadth first. Those just after an output, at one program
point, are the neighbors that a nested `D` quantifies over.

A state that remembers numbers beyond the window stands for one state for each such number. As long
as both runs of a pair remember the same of these, and draw alike, numbers with equal labels are
equal, and the pair is *sure*: for each number of one state there is the other with that number.
From where they differ on, a pair is *doubtful*: its states stand for runs that may be in lock step.
There any two numbers beyond one end may be equal, which makes more pairs than there are, never
fewer. What is revealed or resolved of far numbers is no `~` of the program: a run does that alone,
unless both do it with equal numbers.

Which numbers of doubtful states are neighbors is told by `explore.runs.partners`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.sets import distinct, distinct_rows, union, without
from dpcheck.explore.runs.gaps import ordered
from dpcheck.explore.runs.lock_step import CERTAIN, NOWHERE, Steps, far_alike
from dpcheck.explore.runs.program_points import DRAWS, SHOWN
from dpcheck.explore.runs.raw_graph import LabelledEdges, RawGraph
from dpcheck.explore.tails.tails import Tails, with_codes
from dpcheck.limits import Limits, too_large
from dpcheck.model.expressions import Apply, Const
from dpcheck.model.program import (
    Assign,
    Branches,
    Mechanism,
    Node,
    Output,
    Parametric,
    Sample,
    unbounded_policy,
)
from dpcheck.records import dataclass, replace

COPIES = 3
"""Stands for draws of far numbers that are remembered, told by their levels."""


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


@dataclass(frozen=True, eq=False)
class LaterPairs:
    """Unordered pairs [n, 2] of raw states after an output, sorted: sure ones, and doubtful ones.

    Sure ones differ; doubtful ones are no sure ones, and may be one state twice. draw_alike:
    whether runs in lock step draw all numbers without bounds at the same places of the program.
    """

    sure: IntArray
    doubtful: IntArray
    draw_alike: bool = True


def later_pairs(
    mechanism: Mechanism, raw: RawGraph, pairs: IntArray, tails: Tails | None, limits: Limits
) -> LaterPairs:
    """Return the pairs of raw states after an output that are neighbors, or may be.

    pairs, [n_pairs, 2]: neighboring inputs. Nothing if the raw graph was explored without labels.
    Raises `LimitReached` where an analyst is asked in one of two runs alone: fixed queries are no
    steps, and here they are.
    """
    if raw.labelled is None:
        return LaterPairs(*np.empty((2, 0, 2), np.int64))
    lock_step = _LockStep.of(mechanism, raw, raw.labelled, tails)
    n = raw.stopped + 1
    seen, maybe = np.empty((2, 0), np.int64)
    frontier = lock_step.going(lock_step.steps.follow(pairs), np.empty((0, 2), np.int64))
    while len(frontier.sure) or len(frontier.doubtful):
        limits.check_time(f"{len(seen) + len(maybe)} pairs of states compared")
        limits.check_states(len(seen) + len(maybe))
        keys = without(_keys(frontier.sure, n, lock_step.steps.is_prior), seen)
        seen = union(seen, keys)
        others = without(_keys(frontier.doubtful, n, lock_step.may_differ), maybe)
        others = without(others, seen)
        maybe = union(maybe, others)
        frontier = lock_step.after(_pairs(keys, n), _pairs(others, n))
    every_pair = np.concatenate([_pairs(seen, n), _pairs(maybe, n)])
    sure, doubtful = lock_step.neighbors(_pairs(seen, n), _pairs(maybe, n))
    if tails is not None:
        classes = _classes(raw, tails, lock_step.steps.far_shown)
        doubtful = np.concatenate([_in_classes(doubtful, classes), _without_partner(sure, classes)])
    every = np.ones(n, np.bool_)
    keys = without(_keys(doubtful, n, every), _keys(sure, n, every))
    draw_alike = True
    if tails is not None:
        draw_alike, bounded = _drawn_alike(mechanism, raw, every_pair, tails)
        tails.met = with_codes(tails.met, bounded, tails.table)  # equal numbers go on
    return LaterPairs(sure, _pairs(keys, n), draw_alike)


def pairs_after(
    mechanism: Mechanism, raw: RawGraph, tails: Tails | None, limits: Limits
) -> Callable[[IntArray], IntArray]:
    """Return what finds the sure pairs of raw states [m, 2] after the next output, of some [n, 2].

    First and second stay what they are; equal states are left out. The graph has labels.
    """
    assert raw.labelled is not None, "lock step was asked for"
    lock_step, n = _LockStep.of(mechanism, raw, raw.labelled, tails), raw.stopped + 1
    nothing = np.empty((0, 2), np.int64)

    def after(pairs: IntArray) -> IntArray:
        found, seen = [nothing], np.empty(0, np.int64)
        here = lock_step.going(lock_step.steps.follow(pairs), nothing).sure
        while len(here):
            limits.check_time(f"{len(seen)} pairs of states compared")
            found.append(lock_step.neighbors(here, nothing)[0])
            is_shown = np.any(lock_step.steps.shown[here] != NOWHERE, axis=1)
            first, second = here[~is_shown].T
            is_able = (first > NOWHERE) & (second > NOWHERE)
            is_able &= (first != second) | lock_step.steps.is_prior[first]
            keys = without(distinct((first * n + second)[is_able]), seen)
            seen = union(seen, keys)
            here = lock_step.after(_pairs(keys, n), nothing).sure
        first, second = np.concatenate(found).T
        return _pairs(distinct((first * n + second)[first != second]), n)

    return after


def _pairs(keys: IntArray, n: int) -> IntArray:
    """Return the pairs [n_pairs, 2] of some keys of n states."""
    return np.stack([keys // n, keys % n], axis=1)


@dataclass(frozen=True, eq=False)
class _Going:
    """Where pairs of states go on: pairs [n, 2] of states, sure ones and doubtful ones."""

    sure: IntArray
    doubtful: IntArray


@dataclass(frozen=True, eq=False)
class _LockStep:
    """What decides how two runs go on together; all arrays are [n_states], † included.

    remembered: numbers of what is remembered beyond the window, 0 for nothing; asked: of the query
    whose choice is drawn, else 0; silent: of what is revealed or resolved of far numbers, and by
    which distribution, else 0; draws_far: how numbers beyond the window are told that are drawn.
    """

    steps: Steps
    remembered: IntArray
    asked: IntArray
    silent: IntArray
    draws_far: IntArray

    @staticmethod
    def of(
        mechanism: Mechanism, raw: RawGraph, edges: LabelledEdges, tails: Tails | None
    ) -> _LockStep:
        nothing = np.zeros(raw.stopped + 1, np.int64)
        silent = nothing if tails is None else _silent(mechanism, raw, edges, tails)
        draws_far = nothing if tails is None else _draws_far(mechanism, raw, edges, tails)
        steps = Steps.of(mechanism, raw, edges, silent, draws_far == COPIES, tails)
        return _LockStep(
            steps,
            nothing if tails is None else _remembered(raw, tails),
            _asked(mechanism, raw),
            np.where(steps.is_sample, silent, 0),
            draws_far,
        )

    @property
    def may_differ(self) -> BoolArray:
        """Where two runs in one state may go on differently: [n_states]."""
        differ: BoolArray = self.steps.is_prior | (self.remembered != 0) | (self.silent != 0)
        return differ

    def after(self, sure: IntArray, doubtful: IntArray) -> _Going:
        """Return where sure pairs and doubtful ones, each [n, 2], go on."""
        asked = self.asked
        if any((asked[here[:, 0]] != asked[here[:, 1]]).any() for here in (sure, doubtful)):
            raise too_large(
                "a D inside of a path compares runs, and one of them alone makes a query",
                "a loop with fewer rounds, such as `for i in 1..3`, where every analyst is tried",
            )
        ways = [*self._after_sure(sure), *self._after_doubtful(doubtful)]
        found = np.concatenate([way.sure for way in ways])
        return self.going(found, np.concatenate([way.doubtful for way in ways]))

    def going(self, pairs: IntArray, doubtful: IntArray) -> _Going:
        """Return pairs [n, 2] as sure ones unless they do not remember the same, and others."""
        is_sure = self.remembered[pairs[:, 0]] == self.remembered[pairs[:, 1]]
        return _Going(pairs[is_sure], np.concatenate([pairs[~is_sure], doubtful]))

    def _after_sure(self, here: IntArray) -> Iterator[_Going]:
        """Yield where sure pairs, here[n, 2], go on."""
        steps, nothing = self.steps, np.empty((0, 2), np.int64)
        silent = self.silent[here]
        alone = silent[:, 0] != silent[:, 1]
        yield _Going(nothing, self._one_alone(here[alone]))
        drawing = here[~alone & np.all(steps.is_sample[here], axis=1)]
        is_prior = steps.is_prior[drawing].all(axis=1)
        yield _Going(*steps.with_any(drawing[is_prior]))
        drawing = drawing[~is_prior]
        is_mixed = self._are_mixed(drawing)
        yield _Going(steps.with_equal(drawing[~is_mixed]), nothing)
        near = steps.with_equal(drawing[is_mixed], are_near=True)
        yield _Going(near, steps.with_equal_beyond(drawing[is_mixed]))
        showing = here[np.all(steps.shown[here] != NOWHERE, axis=1)]
        surely, possibly = (steps.follow(showing[rows]) for rows in steps.shows_equal(showing))
        yield _Going(surely, possibly)

    def _after_doubtful(self, here: IntArray) -> Iterator[_Going]:
        """Yield where doubtful pairs, here[n, 2], go on."""
        steps, nothing = self.steps, np.empty((0, 2), np.int64)
        alone = np.any(self.silent[here] != 0, axis=1)
        yield _Going(nothing, self._one_alone(here[alone]))
        drawing = here[~alone & np.all(steps.is_sample[here], axis=1)]
        is_prior = steps.is_prior[drawing].all(axis=1)
        yield _Going(nothing, np.concatenate(steps.with_any(drawing[is_prior])))
        drawing = drawing[~is_prior]
        may_differ = np.any(self.remembered[drawing] != 0, axis=1) | self._are_mixed(drawing)
        yield _Going(nothing, steps.with_equal(drawing[~may_differ]))
        yield _Going(nothing, steps.with_equal_beyond(drawing[may_differ]))
        showing = here[np.all(steps.shown[here] != NOWHERE, axis=1)]
        surely, possibly = steps.shows_equal(showing)
        yield _Going(nothing, steps.follow(showing[surely | possibly]))

    def neighbors(self, sure: IntArray, doubtful: IntArray) -> tuple[IntArray, IntArray]:
        """Return those of pairs, each [n, 2], that are after equal outputs at one point.

        Sure ones first, and doubtful ones.
        """
        point, steps = self.steps.point, self.steps
        sure, doubtful = (
            pairs[point[pairs[:, 0]] == point[pairs[:, 1]]] for pairs in (sure, doubtful)
        )
        equal, perhaps = (sure[rows] for rows in steps.shows_equal(sure))
        others = [doubtful[rows] for rows in steps.shows_equal(doubtful)]
        return equal, np.concatenate([perhaps, *others])

    def _are_mixed(self, drawing: IntArray) -> BoolArray:
        """Return whether pairs[n, 2] tell numbers beyond the window in different ways, [n]."""
        first, second = self.draws_far[drawing[:, 0]], self.draws_far[drawing[:, 1]]
        mixed: BoolArray = (first != second) & (first != 0) & (second != 0)
        return mixed

    def _one_alone(self, pairs: IntArray) -> IntArray:
        """Return where pairs[n, 2] lead when one state goes on that reveals or resolves."""
        is_second = self.silent[pairs[:, 0]] == 0
        return self.steps.with_one_alone(np.where(is_second[:, None], pairs[:, ::-1], pairs))


def _classes(raw: RawGraph, tails: Tails, far_shown: IntArray) -> IntArray:
    """Return numbers of the states [n_states] after outputs, -1 for others.

    States of one number differ in what is known of far numbers alone, by what they were compared
    with before, and hold these in one order: they may stand for the same states, which have the
    neighbors of all of them.
    """
    found, n_known = np.full(raw.stopped + 1, NOWHERE), 0
    for (kind, _), states in raw.cuts.items():
        if kind != "shown":
            continue
        columns = {**ordered(states, tails), SHOWN: far_shown[states.numbers]}
        first, of_row = distinct_rows(list(columns.values()))
        found[states.numbers] = of_row + n_known
        n_known += len(first)
    return found


def _in_classes(pairs: IntArray, classes: IntArray) -> IntArray:
    """Return all pairs [n, 2] of states whose classes are those of some given pair [n_given, 2]."""
    members = _members(classes)
    found = {(a, b) for a, b in classes[pairs].tolist()}
    return _every_pair([(members[a], members[b]) for a, b in found])


def _without_partner(sure: IntArray, classes: IntArray) -> IntArray:
    """Return states with all of a class where none is its partner, as pairs [n, 2].

    Of their own classes others are partners, in sure pairs [n_sure, 2].
    """
    both = np.concatenate([sure, sure[:, ::-1]])
    sizes = np.bincount(classes[classes >= 0], minlength=1)
    both = both[np.any(sizes[classes[both]] > 1, axis=1)]
    partners: dict[tuple[int, int], set[int]] = {}
    for (own, other), state in zip(classes[both].tolist(), both[:, 0].tolist(), strict=True):
        partners.setdefault((own, other), set()).add(state)
    members = _members(classes) if partners else {}
    lonely = [
        (np.array(sorted(set(members[own].tolist()) - known), np.int64), members[other])
        for (own, other), known in partners.items()
    ]
    return _every_pair(lonely)


def _members(classes: IntArray) -> dict[int, IntArray]:
    """Return the states of each class."""
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=NOWHERE - 1))
    parts = np.split(order, starts[1:])
    return {int(classes[part[0]]): part for part in parts}


def _every_pair(products: Sequence[tuple[IntArray, IntArray]]) -> IntArray:
    """Return each state of a first part with each of the second one, as pairs [n, 2]."""
    pairs = [np.stack([np.repeat(a, len(b)), np.tile(b, len(a))], axis=1) for a, b in products]
    return np.concatenate([np.empty((0, 2), np.int64), *pairs])


def _remembered(raw: RawGraph, tails: Tails) -> IntArray:
    """Return [n_raw_states + 1] numbers of what is remembered beyond the window, 0 for nothing."""
    found, n_known = np.zeros(raw.stopped + 1, np.int64), 0
    for states in raw.cuts.values():
        columns = tails.memory(states.columns)
        if not columns:
            continue
        _, of_row = distinct_rows(columns)
        is_beyond = np.any(columns, axis=0)
        found[states.numbers] = np.where(is_beyond, of_row + 1 + n_known, 0)
        n_known += len(of_row)
    return found


def _draws_far(mechanism: Mechanism, raw: RawGraph, edges: LabelledEdges, tails: Tails) -> IntArray:
    """Return how numbers beyond the window are told where states draw them, [n_states], else 0.

    By their values (1) where they have bounds, as arrivals (2), or as `COPIES` of far numbers: of
    equal numbers told in different ways the labels are not known to be equal.
    """
    found = np.zeros(raw.stopped + 1, np.int64)
    found[edges.sources[tails.is_beyond(edges.labels)]] = 1
    for (kind, place), states in raw.cuts.items():
        node = mechanism.nodes[place] if kind == "sample" else None
        if isinstance(node, Sample) and place in tails.wide.arriving:
            found[states.numbers] = 2
        elif isinstance(node, Sample) and node.target in tails.wide.names:
            found[states.numbers] *= COPIES
    return found


def _drawn_alike(
    mechanism: Mechanism, raw: RawGraph, pairs: IntArray, tails: Tails
) -> tuple[bool, IntArray]:
    """Return whether both states of pairs [n, 2] draw at one place, if one draws without bounds.

    And the codes [n_codes] that are drawn with bounds where others, or the other, draw without.
    """
    place, is_wide = np.full(raw.stopped + 1, NOWHERE), np.zeros(raw.stopped + 1, np.bool_)
    bounded = is_wide.copy()
    for (kind, k), states in raw.cuts.items():
        node = mechanism.nodes[k] if kind == "sample" else None
        if isinstance(node, Sample) and not _is_resolving(node):
            place[states.numbers], is_wide[states.numbers] = k, _is_drawn_wide(node, k, tails)
            bounded[states.numbers] = node.target in tails.wide.names
    apart = (place[pairs[:, 0]] != place[pairs[:, 1]]) & np.all(place[pairs] != NOWHERE, axis=1)
    apart &= is_wide[pairs].any(axis=1)
    bounded[pairs[apart]] = True
    assert raw.labelled is not None, "lock step was asked for"
    return not apart.any(), raw.labelled.labels[(bounded & ~is_wide)[raw.labelled.sources]]


def _is_drawn_wide(node: Sample, place: int, tails: Tails) -> bool:
    """Return whether a `~` draws noise without bounds, or copies of such numbers."""
    is_noise = unbounded_policy(node.distribution) is not None
    return node.target in tails.wide.names and (is_noise or place not in tails.wide.arriving)


def _silent(mechanism: Mechanism, raw: RawGraph, edges: LabelledEdges, tails: Tails) -> IntArray:
    """Return numbers [n_states], † included, where far numbers are revealed or resolved, else 0.

    That is no `~` of the program. Two runs do it with equal numbers where the distribution is one
    and, of what is revealed, the place. Where only one thing can come of it nothing is drawn,
    unless that stands for several numbers: which of them it is may differ.
    """
    vague = edges.sources[far_alike(edges.labels, tails)[2]]
    found, names = np.zeros(raw.stopped + 1, np.int64), dict[object, int]()
    n_ways = np.bincount(edges.sources, minlength=raw.stopped + 1)
    for (kind, place), states in raw.cuts.items():
        is_revealing = place in tails.wide.revealing
        if kind != "sample" or not (is_revealing or _is_resolving(mechanism.nodes[place])):
            continue
        drawn, of_row = np.unique(states.columns[DRAWS], return_inverse=True)
        where = place if is_revealing else None
        numbers = [names.setdefault((where, each), len(names) + 1) for each in drawn.tolist()]
        has_ways = (n_ways[states.numbers] > 1) | np.isin(states.numbers, vague)
        found[states.numbers] = np.where(has_ways, np.array(numbers, np.int64)[of_row], CERTAIN)
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


def _is_resolving(node: Node) -> bool:
    """Return whether a node draws how far numbers beyond the window are apart."""
    distribution = node.distribution if isinstance(node, Sample) else None
    return isinstance(distribution, Parametric) and distribution.word == "resolve"


def _keys(pairs: IntArray, n: int, may_differ: BoolArray) -> IntArray:
    """Return one number per unordered pair of states that may part, distinct and sorted.

    Equal states never part but where two runs may go on differently, may_differ[n_states].
    """
    low, high = pairs.min(axis=1, initial=n), pairs.max(axis=1, initial=NOWHERE)
    return distinct((low * n + high)[((low != high) | may_differ[low]) & (low > NOWHERE)])
