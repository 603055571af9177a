"""Hidden states that outputs without end give away in the long run.

After a prefix of outputs runs are in states s with the weights μ(s) and ν(s) from both sides, and
what they show from there on has the laws L(s), the same on both sides. Let L(s) and L(t) be
mutually singular for all s and t of different futures that have weight. Finitely many laws then
have disjoint events A(s) with L(s)(A(s)) = 1, so that Σ μ(s) L(s) against Σ ν(s) L(s) loses what
μ against ν does: the state itself is seen in the long run, by no finite number of outputs.

L(s) and L(t) are mutually singular if the directions from (s, t) are finitely many, and no path of
steps that are possible on both sides leads to equal futures (the end of a run is one), or to a
part that is never left and in which no cycle changes a ratio. For a run of L(s) shows what L(t)
does not, or ends in a part that is never left: one that `singular` speaks of.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from dpcheck.check.evidence.directions import EQUAL, Directions
from dpcheck.check.evidence.futures import Futures, StateWeights
from dpcheck.check.evidence.growth import DirectionGraph
from dpcheck.limits import Limits

_MAX_DIRECTIONS = 200
"""So many directions are looked at to tell two states apart."""
_MAX_SUPPORTS = 1000
"""So many sets of states are looked at, in which runs may be before their states are seen."""

Supports = tuple[frozenset[int], frozenset[int]]
"""The states that have weight on both sides."""


class HiddenStates:
    """What is known of states with the given futures."""

    def __init__(self, futures: Futures) -> None:
        """Know nothing yet."""
        self._futures = futures
        self._apart: dict[tuple[int, int], bool] = {}

    def are_seen(self, belief: tuple[StateWeights, StateWeights]) -> bool:
        """Return whether all states that have weight are told apart in the long run."""
        return self._are_apart(frozenset(s for side in belief for s, _ in side))

    def soon(self, pairs: Iterable[tuple[int, int]], limits: Limits) -> bool:
        """Return whether in finitely many outputs from pairs of states all states are seen.

        Where one side is impossible nothing is left to be seen. Outputs that lead back to the same
        sets of states may lead to ever new weights, so that there is no such number.
        """
        alike, done, on_path = self._futures.alike, set[Supports](), set[Supports]()
        waiting = [(_alone(alike[s], alike[t]), False) for s, t in pairs]
        while waiting:
            limits.check_time("before what is seen of hidden states")
            supports, is_left = waiting.pop()
            if is_left:
                on_path.discard(supports)
                continue
            if supports in on_path or len(done) > _MAX_SUPPORTS:
                return False
            first, second = supports
            if supports in done or not (first and second) or self._are_apart(first | second):
                continue
            done.add(supports)
            on_path.add(supports)
            waiting.append((supports, True))
            waiting += [(following, False) for following in self._following(supports)]
        return True

    def _following(self, supports: Supports) -> list[Supports]:
        """Return the sets of states after one output, for each that is possible."""
        after: dict[int, tuple[set[int], set[int]]] = {}
        for side, states in enumerate(supports):
            for s in states:
                for label, targets in self._futures.rows[s][1].items():
                    there = after.setdefault(label, (set(), set()))[side]
                    there.update(t for t, _ in targets)
        return [(frozenset(first), frozenset(second)) for first, second in after.values()]

    def _are_apart(self, states: frozenset[int]) -> bool:
        return all(self._is_apart(s, t) for s, t in combinations(sorted(states), 2))

    def _is_apart(self, s: int, t: int) -> bool:
        if (s, t) not in self._apart:
            self._apart[s, t] = _told_apart(self._futures, s, t)
        return self._apart[s, t]


def _alone(s: int, t: int) -> Supports:
    return frozenset([s]), frozenset([t])


def _told_apart(futures: Futures, s: int, t: int) -> bool:
    """Return whether outputs from two states of different futures tell them apart for sure."""
    directions, node = Directions(futures), 0
    if s not in futures.rows or t not in futures.rows:  # a run that has ended
        return False
    directions.of_states(s, t)
    while node < len(directions):
        _, steps = directions.steps(node)
        if any(child == EQUAL and 0 not in (a, b) for _, _, child, a, b in steps):
            return False
        if len(directions) > _MAX_DIRECTIONS:
            return False
        node += 1
    graph = DirectionGraph(directions)
    return all(_is_left_or_changes(graph, node) for node in range(len(directions)))


def _is_left_or_changes(graph: DirectionGraph, node: int) -> bool:
    """Return whether the part of a direction has a way out, or a cycle that changes a ratio."""
    there = graph.tree(node)
    has_way_out = any(child not in there for n in there for _, child in graph.steps(n))
    return has_way_out or bool(graph.changes(there))
