"""Why a program has no bound: what runs are followed on which noise is moved for ever, or not kept.

From a start the moves that cost most end at one that has no answer, or come back, and then what is
moved between is moved in every turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dpcheck.align.bound import Alignment
from dpcheck.align.ways import Step
from dpcheck.source import Span


class Obstacle(NamedTuple):
    """The place of a move without an answer, or the shifts that are made in every turn."""

    place: Span | None
    turn: tuple[Step, ...] = ()


def obstacle_of(alignment: Alignment) -> Obstacle:
    """Return what keeps a program without a bound; it has none."""
    arena = alignment.arena
    state = next(start for start in arena.starts if alignment.costs[start] is None)
    passed: dict[int, Sequence[Step]] = {}
    while state not in passed:
        option = alignment.dearest.get(state)
        if option is None:
            return Obstacle(arena.mechanism.nodes[arena.states[state].node].span)
        passed[state] = option.steps if option.cost else ()
        state = option.target
    turn = [*passed.values()][[*passed].index(state) :]
    return Obstacle(None, tuple(step for steps in turn for step in steps if step.moved))
