"""Exact probabilities of reaching a target through allowed states.

Probability 0 and 1 are decided on the graph first (Baier & Katoen, Principles of Model Checking,
2008, §10.1): 0 where no allowed path leads to the target, 1 where no path avoids it for good. Only
the states in between that the wanted ones can visit enter a linear system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.graph import Graph, reachable
from dpcheck.chain.rows import ranges
from dpcheck.exact import Number, subtract
from dpcheck.limits import Limits
from dpcheck.solve.bounded import bounded_solution
from dpcheck.solve.solution import solution, solution_bounds
from dpcheck.solve.system import System, indptr_of, without_self_loops

Weights = tuple[WeightArray, WeightArray]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Answers(Generic[Answer]):
    """How probabilities are answered: as exact numbers, or as certified bounds.

    zero and one: the answers for 0 and 1; complement: from the answer for p to that for 1 - p;
    exact: from a number to an answer; solve: the answers for the wanted states of a system.
    """

    zero: Answer
    one: Answer
    complement: Callable[[Answer], Answer]
    exact: Callable[[Number], Answer]
    solve: Callable[[System, IntArray, Limits], list[Answer]]


EXACT: Answers[Number] = Answers(0, 1, lambda p: subtract(1, p), lambda p: p, solution)


def within_bits(bits: int) -> Answers[tuple[Number, Number]]:
    """Return the answers (low, high) with low <= p <= high, at most 2^-bits apart."""
    return Answers(
        (0, 0),
        (1, 1),
        lambda p: (subtract(1, p[1]), subtract(1, p[0])),
        lambda p: (p, p),
        lambda system, wanted, limits: solution_bounds(system, wanted, bits, limits),
    )


def reach_probabilities(
    graph: Graph,
    weights: Weights,
    target: BoolArray,
    allowed: BoolArray,
    wanted: IntArray,
    limits: Limits,
) -> list[Number]:
    """Return, for each wanted state, the probability of `allowed U target`.

    weights: numerators [n_edges] and denominators [n_states]; target, allowed [n_states].

    >>> coin = Graph(np.array([0, 3, 4, 5]), np.array([0, 1, 2, 1, 2]))
    >>> weights = np.array([2, 1, 3, 1, 1]), np.array([6, 1, 1])
    >>> heads, everywhere = np.array([False, True, False]), np.ones(3, np.bool_)
    >>> reach_probabilities(coin, weights, heads, everywhere, np.array([0, 1, 2]), Limits())
    [1/4, 1, 0]
    """
    return reach_answers(EXACT, graph, weights, target, allowed, None, wanted, limits)


def reach_answers(
    answers: Answers[Answer],
    graph: Graph,
    weights: Weights,
    target: BoolArray,
    allowed: BoolArray,
    bound: int | None,
    wanted: IntArray,
    limits: Limits,
) -> list[Answer]:
    """Return the answers for `allowed U<=bound target` at the wanted states.

    With a bound only targets are sure: a state of probability 1 without it may need more steps.
    """
    possible = reachable(graph.backward, np.flatnonzero(target), allowed | target)
    if bound is None:
        doubtful = reachable(graph.backward, np.flatnonzero(~possible), ~target)
        sure, open_states = possible & ~doubtful, possible & doubtful
    else:
        sure, open_states = target, possible & ~target
    found = [answers.one if certain else answers.zero for certain in sure[wanted].tolist()]
    asking = np.flatnonzero(open_states[wanted])
    if not len(asking):
        return found
    asked, back = np.unique(wanted[asking], return_inverse=True)
    system, place = _system(graph, weights, reachable(graph, asked, open_states), sure)
    if bound is None:
        values = answers.solve(without_self_loops(system), place[asked], limits)
    else:
        exact = bounded_solution(system, place[asked], bound, limits)
        values = [answers.exact(value) for value in exact]
    for i, k in zip(asking.tolist(), back.tolist(), strict=True):
        found[i] = values[k]
    return found


def _system(
    graph: Graph, weights: Weights, region: BoolArray, sure: BoolArray
) -> tuple[System, IntArray]:
    """Return the system of the region's states, and each one's place in it, [n_states].

    An entry leads on within the region, counts as a constant where it leads to a sure state, and is
    lost where it leads to a state of probability 0.
    """
    numerators, denominators = weights
    states = np.flatnonzero(region)
    place = np.full(graph.n_states, -1, np.int64)
    place[states] = np.arange(len(states))
    lengths = graph.degrees[states]
    entries = ranges(graph.indptr[states], lengths)
    targets = graph.targets[entries]
    # Every state of the region has a successor, so no segment is empty; sums stay below D.
    constants = np.add.reduceat(
        np.where(sure[targets], numerators[entries], 0), indptr_of(lengths)[:-1]
    )
    inside = place[targets] >= 0
    rows = np.repeat(np.arange(len(states)), lengths)[inside]
    inner = Graph(indptr_of(np.bincount(rows, minlength=len(states))), place[targets[inside]])
    system = System(inner, numerators[entries[inside]], denominators[states], constants)
    return system, place
