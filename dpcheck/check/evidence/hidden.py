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

Where weights are functions of a parameter, so are the factors of cycles, and all of this is true at
values at which in each of these parts some cycle changes a ratio. At others L(s) and L(t) may be
the same law: every output has the same probability from both, which is that each step n -> m of
factors a and b has M(n) = a/b M(m), for the ratios M of what beliefs weigh on both sides. There s
and t are one state. Finitely many functions are all 0 at such values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from dpcheck.check.evidence.directions import EQUAL, Directions
from dpcheck.check.evidence.futures import Futures, StateWeights
from dpcheck.check.evidence.growth import DirectionGraph, ratio_of
from dpcheck.exact import Number, multiply, subtract
from dpcheck.limits import Limits
from dpcheck.records import dataclass

_MAX_DIRECTIONS = 200
"""So many directions are looked at to tell two states apart."""
_MAX_SUPPORTS = 1000
"""So many sets of states are looked at, in which runs may be before their states are seen."""

Supports = tuple[frozenset[int], frozenset[int]]
"""The states that have weight on both sides."""


@dataclass(frozen=True)
class HiddenPair:
    """Two states that outputs tell apart in the long run, and at which values of a parameter.

    changes: numbers that are all 0 exactly at values at which both show the same; parts: for each
    part that is never left, numbers of which one at least is not 0 where they are told apart.
    """

    states: tuple[int, int]
    changes: tuple[Number, ...]
    parts: tuple[tuple[Number, ...], ...]


HiddenPairs = frozenset[HiddenPair]


class HiddenStates:
    """What is known of states with the given futures.

    needed: the pairs that are told apart where all states are seen, once `soon` found that so.
    """

    def __init__(self, futures: Futures, doubtful: HiddenPairs) -> None:
        """Know nothing yet; `doubtful` pairs count as not told apart."""
        self._futures, self._doubtful = futures, doubtful
        self._apart: dict[tuple[int, int], HiddenPair | None] = {}
        self.needed: dict[HiddenPair, None] = {}

    def are_seen(self, belief: tuple[StateWeights, StateWeights]) -> bool:
        """Return whether all states that have weight are told apart in the long run."""
        return self._pairs_of(frozenset(s for side in belief for s, _ in side)) is not None

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
            if supports in done or not (first and second):
                continue
            done.add(supports)
            told = self._pairs_of(first | second)
            if told is not None:
                self.needed |= dict.fromkeys(told)
                continue
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

    def _pairs_of(self, states: frozenset[int]) -> list[HiddenPair] | None:
        """Return all pairs of states, None where outputs do not tell all of them apart."""
        found = []
        for s, t in combinations(sorted(states), 2):
            if (s, t) not in self._apart:
                self._apart[s, t] = _told_apart(self._futures, s, t)
            pair = self._apart[s, t]
            if pair is None or pair in self._doubtful:
                return None
            found.append(pair)
        return found


def _alone(s: int, t: int) -> Supports:
    return frozenset([s]), frozenset([t])


def _told_apart(futures: Futures, s: int, t: int) -> HiddenPair | None:
    """Return two states of different futures if outputs tell them apart for sure."""
    directions, node = Directions(futures), 0
    if s not in futures.rows or t not in futures.rows:  # a run that has ended
        return None
    directions.of_states(s, t)
    while node < len(directions):
        _, steps = directions.steps(node)
        if any(child == EQUAL and 0 not in (a, b) for _, _, child, a, b in steps):
            return None
        if len(directions) > _MAX_DIRECTIONS:
            return None
        node += 1
    graph = DirectionGraph(directions)
    parts = tuple(dict.fromkeys(_never_left(graph)))
    return HiddenPair((s, t), _differences(graph), parts) if all(parts) else None


def _never_left(graph: DirectionGraph) -> Iterator[tuple[Number, ...]]:
    """Yield for parts without a way out numbers, all 0 where no cycle changes a ratio."""
    seen = set[int]()
    for node in range(len(graph.directions)):
        if node not in seen:
            there = graph.tree(node)
            seen |= there.keys()
            if all(child in there for n in there for _, child in graph.steps(n)):
                yield graph.changes(there)


def _differences(graph: DirectionGraph) -> tuple[Number, ...]:
    """Return numbers that are all 0 exactly where all outputs are as probable on both sides."""
    found: dict[Number, None] = {}
    for node in range(len(graph.directions)):
        ratio = ratio_of(((), graph.masses(node)))
        for way, child in graph.steps(node):
            if 0 in way[1]:
                return (1,)
            after = ratio_of(((), graph.masses(child)))
            found[subtract(multiply(ratio_of(way), after), ratio)] = None
    return tuple(each for each in found if each != 0)
