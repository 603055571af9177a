"""Exact probabilities of reaching a target through allowed states.

Probability 0 and 1 are decided on the graph first (Baier & Katoen, Principles of Model Checking,
2008, §10.1): 0 where no allowed path leads to the target, 1 where no path avoids it for good. Only
the states in between that the wanted ones can visit enter a linear system.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.graph import Graph, reachable
from dpcheck.chain.rows import ranges
from dpcheck.exact import Number
from dpcheck.limits import Limits
from dpcheck.solve.bounded import bounded_solution
from dpcheck.solve.solution import solution
from dpcheck.solve.system import System, indptr_of, without_self_loops

Weights = tuple[WeightArray, WeightArray]


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
    possible = reachable(graph.backward, np.flatnonzero(target), allowed | target)
    doubtful = reachable(graph.backward, np.flatnonzero(~possible), ~target)
    sure = possible & ~doubtful
    open_states = possible & doubtful

    def solve(asked: IntArray) -> list[Number]:
        region = reachable(graph, asked, open_states)
        system, place = _system(graph, weights, region, sure)
        return solution(without_self_loops(system), place[asked], limits)

    return _answers(sure, open_states, wanted, solve)


def bounded_reach_probabilities(
    graph: Graph,
    weights: Weights,
    target: BoolArray,
    allowed: BoolArray,
    bound: int,
    wanted: IntArray,
    limits: Limits,
) -> list[Number]:
    """Return, for each wanted state, the probability of `allowed U<=bound target`.

    A state of probability 1 without the bound may need more steps: only targets are sure.
    """
    possible = reachable(graph.backward, np.flatnonzero(target), allowed | target)
    open_states = possible & ~target

    def solve(asked: IntArray) -> list[Number]:
        region = reachable(graph, asked, open_states)
        system, place = _system(graph, weights, region, target)
        return bounded_solution(system, place[asked], bound, limits)

    return _answers(target, open_states, wanted, solve)


def _answers(
    sure: BoolArray,
    open_states: BoolArray,
    wanted: IntArray,
    solve: Callable[[IntArray], list[Number]],
) -> list[Number]:
    """Return 1, 0 or what `solve` finds for the different open states among the wanted."""
    answers: list[Number] = [1 if certain else 0 for certain in sure[wanted].tolist()]
    asking = np.flatnonzero(open_states[wanted])
    if len(asking):
        asked, back = np.unique(wanted[asking], return_inverse=True)
        values = solve(asked)
        for i, k in zip(asking.tolist(), back.tolist(), strict=True):
            answers[i] = values[k]
    return answers


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
