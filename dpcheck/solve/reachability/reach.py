"""Exact probabilities of reaching a target through allowed states.

Probability 0 and 1 are decided on the graph first (Baier & Katoen, Principles of Model Checking,
2008, §10.1): 0 where no allowed path leads to the target, 1 where no path avoids it for good. Only
the states in between that the wanted ones can visit enter a linear system.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.graph import Graph, reachable
from dpcheck.chain.weights.rows import indptr_of
from dpcheck.exact import Number, number
from dpcheck.limits import Limits
from dpcheck.records import dataclass
from dpcheck.solve.reachability.bounded import bounded_solution
from dpcheck.solve.systems.solution import solution_bounds
from dpcheck.solve.systems.system import System, without_self_loops

Weights = tuple[WeightArray, WeightArray]
Bounds = tuple[Number, Number]
"""What a probability lies between; one object twice where it is known exactly."""


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
    found = reach_bounds(graph, weights, target, allowed, None, wanted, None, limits)
    return [p for p, _ in found]


def reach_bounds(
    graph: Graph,
    weights: Weights,
    target: BoolArray,
    allowed: BoolArray,
    bound: int | None,
    wanted: IntArray,
    bits: int | None,
    limits: Limits,
) -> list[Bounds]:
    """Return bounds for `allowed U<=bound target` [n_states] at wanted states, 2^-bits apart.

    Equal ones where exact values are cheap, or `bits` is None.
    """
    possible = reachable(graph.backward, np.flatnonzero(target), allowed | target)
    found: list[Bounds] = [(p, p) for p in target[wanted].astype(np.int64).tolist()]
    asking = np.flatnonzero((possible & ~target)[wanted])
    if not len(asking):
        return found
    part = _open_part(graph, target, possible)
    asked, back = np.unique(part.place[wanted[asking]], return_inverse=True)
    doubtful = part.doubtful if bound is None else np.ones_like(part.leaking)
    values: list[Bounds] = [(1, 1)] * len(asked)
    unknown = np.flatnonzero(doubtful[asked])
    if len(unknown):
        system, place = part.system(weights, asked[unknown], doubtful)
        places = place[asked[unknown]]
        if bound is None:
            solved = solution_bounds(without_self_loops(system), places, bits, limits)
        else:
            solved = [(p, p) for p in bounded_solution(system, places, bound, limits)]
        for i, value in zip(unknown.tolist(), solved, strict=True):
            values[i] = value
    for i, k in zip(asking.tolist(), back.tolist(), strict=True):
        found[i] = values[k]
    return found


def next_probabilities(
    graph: Graph, weights: Weights, target: BoolArray, wanted: IntArray
) -> list[Number]:
    """Return for each wanted state [n] the probability that the next is a target."""
    numerators, denominators = weights
    asked, back = np.unique(wanted, return_inverse=True)
    edges = graph.edges_of(asked)
    hits = np.flatnonzero(target[graph.targets[edges]])
    rows = np.searchsorted(graph.degrees[asked].cumsum(), hits, side="right")
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    chances: list[Number] = [0] * len(asked)
    if len(starts):
        sums = np.add.reduceat(numerators[edges][hits], starts).tolist()
        for k, total in zip(rows[starts].tolist(), sums, strict=True):
            chances[k] = number(total, denominators.item(asked[k]))
    return [chances[k] for k in back.tolist()]


@dataclass(frozen=True, eq=False)
class _OpenPart:
    """The open states, from which a target is possible but not reached: 0 .. n_open-1.

    graph, edges: the chain's graph and the edges from open states to possible ones, in increasing
    order. states [n_open] are the chain's numbers, place
    [n_states] their inverse. inner: the graph of the edges between open states.
    leaking [n_open]: some edge leads to a state of probability 0.
    """

    graph: Graph
    edges: IntArray
    states: IntArray
    place: IntArray
    inner: Graph
    leaking: BoolArray

    @cached_property
    def doubtful(self) -> BoolArray:
        """The open states of probability below 1: those that can reach a leaking one, [n_open]."""
        everywhere = np.ones_like(self.leaking)
        if self.leaking.all() or not self.leaking.any():
            return self.leaking
        return reachable(self.inner.backward, np.flatnonzero(self.leaking), everywhere)

    def system(
        self, weights: Weights, asked: IntArray, doubtful: BoolArray
    ) -> tuple[System, IntArray]:
        """Return equations of the doubtful states that `asked` reach, and places [n_states].

        An edge leads on within these states, or to a state of probability 1, where it counts as a
        constant; edges to states of probability 0 are not among the edges.
        """
        numerators, denominators = weights
        region = reachable(self.inner, asked, doubtful)
        states = np.flatnonzero(region)
        number_of = np.full(len(self.states) + 1, -1, np.int64)
        number_of[states] = np.arange(len(states))
        rows = number_of[self.place[self.graph.sources[self.edges]]]
        edges, rows = self.edges[rows >= 0], rows[rows >= 0]
        # A target has no place (-1) and no number: it counts as a constant like a sure state.
        targets = number_of[self.place[self.graph.targets[edges]]]
        on, ends = targets >= 0, targets < 0
        constants: WeightArray = np.zeros(len(states), np.int64)
        if numerators.dtype != np.int64:
            constants = constants.astype(object)
        firsts = np.flatnonzero(np.diff(rows[ends], prepend=-1))
        if len(firsts):
            # The sum of a row's numerators is its denominator: nothing overflows.
            sums = np.add.reduceat(numerators[edges[ends]], firsts)
            constants[rows[ends][firsts]] = sums
        inner = Graph(indptr_of(np.bincount(rows[on], minlength=len(states))), targets[on])
        system = System(
            *(inner, numerators[edges[on]], denominators[self.states[states]], constants),
            self.graph,
        )
        return system, number_of


def _open_part(graph: Graph, target: BoolArray, possible: BoolArray) -> _OpenPart:
    """Return the open states and their edges, collected forwards or backwards as is cheaper."""
    is_open = possible & ~target
    states, members = np.flatnonzero(is_open), np.flatnonzero(possible)
    if 4 * graph.backward.degrees[members].sum() < graph.degrees[states].sum():
        edges = graph.edges_into(members)
        edges = edges[is_open[graph.sources[edges]]]
    else:
        edges = graph.edges_from(states)
        edges = edges[possible[graph.targets[edges]]]
    place = np.full(graph.n_states, -1, np.int64)
    place[states] = np.arange(len(states))
    sources, targets = place[graph.sources[edges]], place[graph.targets[edges]]
    leaking = np.bincount(sources, minlength=len(states)) < graph.degrees[states]
    on = targets >= 0
    inner = Graph(indptr_of(np.bincount(sources[on], minlength=len(states))), targets[on])
    return _OpenPart(graph, edges, states, place, inner, leaking)
