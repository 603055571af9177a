"""Parts of the graph of directions that both sides never leave, and in which outputs tell all.

Let a strongly connected part never be left: no step from it ends a run, is impossible on one side,
or leads to another part. Then under Q its directions are a finite Markov chain that meets every
cycle again and again, and p/q of the outputs so far is a positive martingale, which converges with
probability 1. Each turn of a cycle of factor c multiplies p/q by c. If c is not 1, the limit can
only be 0: P and Q of what follows are *mutually singular* (Lebesgue's decomposition: the limit is
the density of the part of P that Q knows). Some event has all of P's weight and none of Q's; it is
seen in the long run, by no finite number of outputs.

Nor is anything else told where a part is left by steps that are impossible on one side, and by no
others. If P has such a step, it leaves the part with probability 1 (a finite chain with a way out),
by what Q does not show, whether Q stays or leaves: all the same they are mutually singular, then
also where no cycle changes a ratio.

Where weights are functions of a parameter, c is not 1 but for finitely many values. If all cycles
of a part have the factor 1 at one of these, its martingale is constant there (`merged_prefixes`).
"""

from __future__ import annotations

from dpcheck.check.evidence.directions import Directions
from dpcheck.check.evidence.growth import DirectionGraph
from dpcheck.exact import Number
from dpcheck.records import dataclass


@dataclass(frozen=True)
class SingularPart:
    """Directions of a part, and numbers of which one at least is not 0 where it is singular."""

    directions: frozenset[int]
    changes: tuple[Number, ...]


def singular_parts(directions: Directions) -> tuple[SingularPart, ...] | None:
    """Return the parts with cycles that change a ratio; None if both sides can leave one.

    directions: all that pairs reach, with their steps.
    """
    graph = DirectionGraph(directions)
    found, seen = [], set[int]()
    for node in range(len(directions)):
        if node in seen:
            continue
        there = graph.tree(node)
        seen |= there.keys()
        changes = graph.changes(there)
        steps = [step for n in there for step in graph.steps(n)]
        ways_out = [sides for (_, sides), child in steps if child not in there]
        if changes and any(0 not in sides for sides in ways_out):
            return None
        if changes:
            found.append(SingularPart(frozenset(there), (1,) if ways_out else changes))
    return tuple(found)
