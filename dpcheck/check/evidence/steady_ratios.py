"""Ratios of endless outputs where no cycle changes them, for all values of a parameter at once.

On an open interval where all weights are positive there is one graph of directions, and the factors
of its steps are functions of the parameter. ε is finite exactly where all cycles have the factor 1
(see `growth`): where every step n -> m of factors a and b inside of a strongly connected part has
π(n) a/b = π(m), for potentials π along a tree. So that is where finitely many functions are 0; it
is everywhere, or at finitely many values.

At such a value a step inside of a part multiplies the ratio by π(m)/π(n). Written so, no cycle has
another factor at any value, so prefixes lead to finitely many ratios, and the ratios of sequences
there are these functions. In a part that is never left, all ways to go on have the ratio of what is
left of both sides (see `merged_prefixes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpcheck.check.evidence.directions import EQUAL, Directions
from dpcheck.check.evidence.growth import DirectionGraph, Sides, ratio_of
from dpcheck.exact import Number, as_fraction_parts, divide, multiply, number
from dpcheck.limits import Limits, too_large
from dpcheck.records import dataclass

INSTEAD = "ask about some outputs, such as D{..} [ X .. ]"
"""What is asked where all outputs are too many."""
_MAX_RATIOS = 20_000
"""Of prefixes, in half a minute."""


@dataclass(frozen=True)
class SteadyRatios:
    """Where ε is finite, and the ratios of sequences there.

    changes: numbers that are all 0 exactly at values at which no cycle changes a ratio. sides: for
    each ratio p/q of sequences at these values p and q, q = 0 for what one side alone shows.
    """

    changes: tuple[Number, ...]
    sides: tuple[Sides, ...]


def steady_ratios(directions: Directions, roots: Sequence[int], limits: Limits) -> SteadyRatios:
    """Return the ratios of pairs that begin at roots [n_pairs], which lead to all directions."""
    graph = DirectionGraph(directions)
    potentials, changes = _potentials(graph)
    found: dict[Sides, None] = {(1, 1): None}
    prefixes: list[tuple[int, Number]] = [
        (root, 1) for root in dict.fromkeys(roots) if root != EQUAL
    ]
    seen = set(prefixes)
    for node, ratio in prefixes:
        limits.check_time(f"{len(prefixes)} ratios of prefixes found")
        if len(prefixes) > _MAX_RATIOS:
            raise too_large("outputs without end have too many ratios of probabilities", INSTEAD)
        for sides, child in _ways_on(graph, node):
            if 0 in sides:
                found[1, 0] = None
                continue
            is_inside = graph.are_on_a_cycle(node, child)
            factor = (potentials[child], potentials[node]) if is_inside else sides
            after = multiply(ratio, divide(*factor))
            if child == EQUAL:
                above, below = as_fraction_parts(after)
                found[number(above), number(below)] = None
            elif (child, after) not in seen:
                seen.add((child, after))
                prefixes.append((child, after))
    return SteadyRatios(changes, tuple(found))


def _potentials(graph: DirectionGraph) -> tuple[dict[int, Number], tuple[Number, ...]]:
    """Return a potential of each direction, and by how much steps disagree with that."""
    potentials: dict[int, Number] = {}
    changes: dict[Number, None] = {}
    for node in range(len(graph.directions)):
        if node not in potentials:
            there = graph.tree(node)
            potentials |= {n: ratio_of(way) for n, way in there.items()}
            changes |= dict.fromkeys(graph.changes(there))
    return potentials, tuple(changes)


def _ways_on(graph: DirectionGraph, node: int) -> Iterator[tuple[Sides, int]]:
    """Yield how a prefix goes on; to `EQUAL` also as it is, where that may be for ever."""
    steps = [(sides, child) for (_, sides), child in graph.steps(node)]
    yield from steps
    if all(graph.are_on_a_cycle(node, child) for _, child in steps):
        yield graph.masses(node), EQUAL
