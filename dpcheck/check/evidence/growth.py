"""A cycle of outputs that multiplies the ratio of two probabilities: no ε bounds what it shows.

In a strongly connected part of the graph of directions, all cycles have the factor 1 if and only
if the steps have potentials: numbers with π(n) a/b = π(m) for every step n -> m of factors a and b.
They are found along a tree, and one step that disagrees shows a cycle with another factor. Turned k
times a cycle of factor a/b > 1 multiplies the ratio by (a/b)^k, and one of a/b < 1 does so seen
from the other side; so for pairs of neighbors, which count both ways, ε is infinite. If there is no
such cycle, every direction is met with finitely many ratios, and merged prefixes are finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cmp_to_key

from dpcheck import exact
from dpcheck.chain.graph import graph_from, strong_components
from dpcheck.check.evidence.directions import EQUAL, Directions
from dpcheck.check.evidence.futures import Label
from dpcheck.records import dataclass

MAX_BITS = 1 << 20
"""Probabilities of longer numerators are not written out."""

Sides = tuple[exact.Number, exact.Number]
Way = tuple[tuple[Label, ...], Sides]
"""Outputs, and the factors by which they multiply the weights of both sides."""


@dataclass(frozen=True)
class GrowingRatio:
    """Outputs that can be repeated: `lead`, then `turn` any number of times, then `tail`.

    start: the probabilities from both states of a pair where `turn` is left out; factor: by what
    each turn multiplies them. The first side is the one whose share grows: `is_forward` tells
    whether it is that of the pair's first state.
    """

    pair: int
    is_forward: bool
    lead: tuple[Label, ...]
    turn: tuple[Label, ...]
    tail: tuple[Label, ...]
    start: Sides
    factor: Sides

    def outputs(self, n_turns: int) -> tuple[Label, ...]:
        """Return the outputs with so many turns."""
        return (*self.lead, *self.turn * n_turns, *self.tail)

    def probabilities(self, n_turns: int) -> Sides:
        """Return the probabilities from both sides with so many turns; raises `TooLarge`."""
        p, q = (
            exact.multiply(first, exact.power(factor, n_turns, MAX_BITS))
            for first, factor in zip(self.start, self.factor, strict=True)
        )
        return p, q

    def least_turns(self, epsilon: exact.Budget) -> int:
        """Return the fewest turns with p > e^ε q; raises `TooLarge` for long numbers in ℚ(e^r)."""
        p, q = self.start
        base = None if q == 0 else exact.log(exact.divide(p, q))
        factor = exact.log(exact.divide(*self.factor))

        def exceeds(n_turns: int) -> bool:
            if isinstance(base, exact.Budget) and isinstance(factor, exact.Budget):
                return exact.compare_epsilon(base + factor * n_turns, epsilon) > 0
            return exact.excess_sign(*self.probabilities(n_turns), epsilon) > 0

        high = 0
        while not exceeds(high):
            high = 2 * high + 1
        low = (high - 1) // 2 if high else -1  # the one before did not; p/q grows with the turns
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if exceeds(middle) else (middle, high)
        return high


def growing_ratio(directions: Directions, roots: Sequence[int]) -> GrowingRatio | None:
    """Return the cycle with the largest factor that is looked at, None where all have factor 1.

    directions: all that pairs reach, with their steps; roots [n_pairs] are where the pairs begin.
    """
    search = DirectionGraph(directions)
    ways = search.from_pairs(roots)
    size = cmp_to_key(exact.compare)
    found = (search.growing(*ways[node], node, turn) for node, turn in search.turns())
    return max(found, key=lambda each: size(exact.divide(*each.factor)), default=None)


class DirectionGraph:
    """The graph of directions: its steps, with factors of both sides as numbers."""

    def __init__(self, directions: Directions) -> None:
        """Find the strongly connected components of all directions that were found."""
        self.directions = directions
        rows = [self._inner(node) for node in range(len(directions))]
        graph = graph_from([[child for _, child in row] for row in rows])
        self.rows = rows
        self.component = strong_components(graph)[0].tolist()

    def _inner(self, node: int) -> list[tuple[Way, int]]:
        return [(way, child) for way, child in self.steps(node) if child != EQUAL]

    def steps(self, node: int) -> Iterator[tuple[Way, int]]:
        """Yield the steps of a direction, with one output each."""
        scale, steps = self.directions.steps(node)
        for label, weight, child, a, b in steps:
            yield (
                ((label,), (exact.number(weight * a, scale), exact.number(weight * b, scale))),
                child,
            )

    def are_on_a_cycle(self, node: int, child: int) -> bool:
        """Return whether a step leads to a direction from which there is a way back."""
        return child != EQUAL and bool(self.component[node] == self.component[child])

    def from_pairs(self, roots: Sequence[int]) -> dict[int, tuple[int, Way]]:
        """Return for every direction a pair, and the fewest outputs that lead there from it."""
        found: dict[int, tuple[int, Way]] = {}
        for pair, root in enumerate(roots):
            if root != EQUAL:
                found.setdefault(root, (pair, ((), (1, 1))))
        waiting = list(found)
        for node in waiting:
            pair, way = found[node]
            for step, child in self.rows[node]:
                if child not in found:
                    found[child] = pair, _joined(way, step)
                    waiting.append(child)
        return found

    def turns(self) -> Iterator[tuple[int, Way]]:
        """Yield cycles whose factor is not 1: one at least in each component that has some."""
        seen: set[int] = set()
        for node, row in enumerate(self.rows):
            for way, child in row:
                if child == node and _changes(way):
                    yield node, way
            if self.component[node] not in seen:
                seen.add(self.component[node])
                yield from self._turns_at(node)

    def _turns_at(self, root: int) -> Iterator[tuple[int, Way]]:
        """Yield a cycle through a direction whose factor is not 1, if its component has one."""
        for child, one, other in self.disagreeing(self.tree(root)):
            back = self.tree(child)[root]
            turns = _joined(one, back), _joined(other, back)
            yield root, min(turns, key=lambda way: (not _changes(way), len(way[0])))
            return

    def disagreeing(self, there: dict[int, Way]) -> Iterator[tuple[int, Way, Way]]:
        """Yield directions with two ways there from a root whose factors have other ratios.

        there: the ways along a tree of the root's component. One step follows the other way.
        """
        for node, way in there.items():
            for step, child in self.rows[node]:
                if child in there:
                    longer = _joined(way, step)
                    if ratio_of(longer) != ratio_of(there[child]):
                        yield child, there[child], longer

    def changes(self, there: dict[int, Way]) -> tuple[exact.Number, ...]:
        """Return numbers that are all 0 exactly where no cycle of a component changes a ratio.

        there: the ways along a tree of the component.
        """
        found = self.disagreeing(there)
        numbers = (exact.subtract(ratio_of(one), ratio_of(other)) for _, one, other in found)
        return tuple(dict.fromkeys(numbers))

    def tree(self, root: int) -> dict[int, Way]:
        """Return the fewest outputs from a direction to each of its component."""
        found: dict[int, Way] = {root: ((), (1, 1))}
        waiting = [root]
        for node in waiting:
            for step, child in self.rows[node]:
                if child not in found and self.component[child] == self.component[root]:
                    found[child] = _joined(found[node], step)
                    waiting.append(child)
        return found

    def growing(self, pair: int, lead: Way, node: int, turn: Way) -> GrowingRatio:
        """Return a turn with what leads to it, and after it what shows most."""
        is_forward = exact.compare(*turn[1]) > 0
        tail: Way = (), self.masses(node)
        for step, child in self.steps(node):
            longer = _joined(step, ((), self.masses(child)))
            sides = longer[1], tail[1]
            if _exceeds(*sides) if is_forward else _exceeds(*sides[::-1]):
                tail = longer
        start, factor = _joined(lead, tail)[1], turn[1]
        if not is_forward:
            start, factor = start[::-1], factor[::-1]
        return GrowingRatio(pair, is_forward, lead[0], turn[0], tail[0], start, factor)

    def masses(self, node: int) -> Sides:
        """Return the weights of both sides of a direction."""
        if node == EQUAL:
            return 1, 1
        mu, nu = self.directions.masses[node]
        return exact.number(mu, 1), exact.number(nu, 1)


def _joined(first: Way, second: Way) -> Way:
    """Return outputs after others."""
    (p, q), (a, b) = first[1], second[1]
    return (*first[0], *second[0]), (exact.multiply(p, a), exact.multiply(q, b))


def ratio_of(way: Way) -> exact.Number:
    """Return p/q of the factors of both sides."""
    return exact.divide(*way[1])


def _changes(way: Way) -> bool:
    return exact.compare(*way[1]) != 0


def _exceeds(left: Sides, right: Sides) -> bool:
    """Return whether p/q is larger on the left; 0/0 is not."""
    return exact.compare(exact.multiply(left[0], right[1]), exact.multiply(right[0], left[1])) > 0
