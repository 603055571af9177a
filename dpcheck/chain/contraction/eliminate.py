"""Eliminating silent states, so that one transition per output remains.

A silent state shows nothing to the adversary. `eliminated` returns, for every other state, the
distribution of the first non-silent state after it; runs that stay silent forever go to `diverged`.

1. A strongly connected component C of silent states is replaced by its exits: with Q the steps
   within C and B those out of it, the first exit from C is distributed as (I - Q)^-1 B. A component
   without exit is left with probability 0; one with an exit is left with probability 1, since
   every state of C reaches it (the standard fact on finite absorbing chains; Kemeny and Snell,
   Finite Markov Chains, 1960, chapter 3). A self-loop alone is a division by 1 - P(s, s).
2. What is left is acyclic. Backward: levels of silent states from the last, row(s) = Σ_t P(s,t)
   row(t). Forward: levels from the sources, the mass of each source pushed along. Backward costs
   about one output row per silent transition and is shared by all sources; forward costs one
   transition per source that gets there. Both are estimated by counting, and the cheaper is taken.
   Where all lead to few targets, backward is a few operations on columns (see `limb_table`).

Everything is exact; see `denominators` for why int64 products are safe.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.contraction.backward import RowStore, backward_rows, possible_table
from dpcheck.chain.contraction.cycles import acyclic
from dpcheck.chain.contraction.limb_table import NoTable
from dpcheck.chain.contraction.silent_graph import SilentGraph
from dpcheck.chain.graph import STATES_AT_ONCE
from dpcheck.chain.sets import in_order
from dpcheck.chain.weights.rows import Rows, as_slice, in_lowest_terms, in_places, indptr_of, ranges
from dpcheck.limits import Tick


def eliminated(
    rows: Rows, *, silent: BoolArray, wanted: IntArray, diverged: int, tick: Tick, n_more: int = 0
) -> Rows:
    """Return the rows of the `wanted` states over non-silent states and `diverged`, in that order.

    silent, [n_states]; wanted, [n_wanted] distinct states, silent or not; `diverged` is a
    state number that is not silent (it may equal n_states where no such state exists yet). Behind
    these rows come `n_more` that lead to `diverged`: they are there to become others.

    >>> half = Rows(np.array([0, 2, 4, 5]), np.array([1, 2, 1, 2, 2]),
    ...             np.array([1, 1, 1, 2, 1]), np.array([2, 3, 1]))
    >>> first = eliminated(half, silent=np.array([False, True, False]), wanted=np.array([0]),
    ...                    diverged=3, tick=lambda progress: None)
    >>> first.targets.tolist(), first.numerators.tolist(), first.denominators.tolist()
    ([2], [1], [1])
    """
    graph, level = acyclic(SilentGraph.of(rows, silent, diverged), tick)
    tick("joining draws without output")
    levels = _levels(graph, level)
    del level  # as long as all states, and there may be millions
    parts, others = _whole_rows(graph, wanted)
    first = 0
    for rows in _eliminated(graph, wanted[others], levels, tick):
        parts.append((others[first : first + rows.n_rows], rows))
        first += rows.n_rows
    return in_places(parts, len(wanted) + n_more, diverged)


def _eliminated(
    graph: SilentGraph, wanted: IntArray, levels: list[IntArray], tick: Tick
) -> list[Rows]:
    """Return the rows of wanted states [n] over non-silent states, some after the others."""
    if not len(wanted):
        return []
    table = possible_table(graph, levels)
    if table is not None:
        tick("summing states without output")
        try:
            return backward_rows(table, wanted, levels, tick)
        except NoTable:
            tick("summing large numbers")
    if forward_is_cheaper(graph, wanted, levels):
        from dpcheck.chain.contraction.forward import forward_rows

        return forward_rows(graph, wanted, levels, tick)
    return backward_rows(RowStore(graph), wanted, levels, tick)


def _whole_rows(
    graph: SilentGraph, wanted: IntArray
) -> tuple[list[tuple[IntArray | slice, Rows]], IntArray]:
    """Return rows of wanted[n] that are their own result, with their places, and the other states.

    They lead to no silent state, and to each target once, in order: there is nothing to eliminate,
    sort or add up. They are found some at a time, so that what is made on the way fits a cache.
    """
    parts: list[tuple[IntArray | slice, Rows]] = []
    others = [np.empty(0, np.int64)]
    for first in range(0, len(wanted), STATES_AT_ONCE):
        states = wanted[first : first + STATES_AT_ONCE]
        are_whole = _are_whole(graph, as_slice(states))
        if are_whole.all():
            parts.append((slice(first, first + len(states)), _rows_at(graph, as_slice(states))))
            continue
        whole = marked(are_whole)
        if len(whole):
            parts.append((first + whole, _rows_at(graph, states[whole])))
        others.append(first + marked(~are_whole))
    return parts, np.concatenate(others)


def _are_whole(graph: SilentGraph, states: IntArray | slice) -> BoolArray:
    """Return [n_given] which rows lead to no silent state, and to each target once, in order."""
    targets = graph.targets[graph.steps.edges_of(states)]
    lengths = graph.steps.degrees[states]
    has_targets = lengths > 0
    starts = (np.cumsum(lengths) - lengths)[has_targets]
    is_good = np.ones(len(targets), np.bool_)
    np.greater(targets[1:], targets[:-1], out=is_good[1:])
    is_good[starts] = True
    is_good &= ~graph.silent[targets]
    are_whole = np.ones(len(lengths), np.bool_)
    if not is_good.all():
        are_whole[has_targets] = np.logical_and.reduceat(is_good, starts)
    return are_whole


def _rows_at(graph: SilentGraph, states: IntArray | slice) -> Rows:
    """Return the rows of some states [n] as they are, in lowest terms."""
    edges = graph.steps.edges_of(states)
    indptr = indptr_of(graph.steps.degrees[states])
    denominators = graph.scales.weights(graph.scale[states])
    return in_lowest_terms(
        Rows(indptr, graph.targets[edges], graph.numerators[edges], denominators)
    )


def _levels(graph: SilentGraph, level: IntArray) -> list[IntArray]:
    """Return the silent states by level [n_states], so that silent edges lead to earlier parts."""
    silent = marked(graph.silent)
    if not len(silent):
        return []
    ordered, order = in_order(level[silent], int(level.max()) + 1)
    return np.split(silent[order], marked(ordered[1:] != ordered[:-1]) + 1)


def forward_is_cheaper(graph: SilentGraph, wanted: IntArray, levels: list[IntArray]) -> bool:
    """Estimate both costs for wanted [n] by counting paths, capped where nothing more can be met.

    The first level leads to no silent state, so each of its edges costs 1, and paths through it
    need not be followed.
    """
    if len(levels) < 2 or len(wanted) == 0:
        return False
    lengths = np.diff(graph.indptr)
    n_outputs = np.count_nonzero(graph.is_met & ~graph.silent)
    out = np.zeros(graph.n_targets)
    backward = 0.0
    for depth, states in enumerate(levels):
        costs = lengths[states].astype(float)
        if depth:
            targets = graph.targets[ranges(graph.indptr[states], lengths[states])]
            cost = np.where(graph.silent[targets], out[targets], 1.0)
            costs = np.add.reduceat(cost, lengths[states].cumsum() - lengths[states])
        backward += float(costs.sum())
        out[states] = np.minimum(costs, n_outputs)
    reach = np.bincount(wanted, minlength=graph.n_targets).astype(float)
    forward = 0.0
    starting = wanted[~graph.silent[wanted]]
    for states in [starting, *reversed(levels)]:
        if not len(states):
            continue
        many = np.minimum(reach[states], len(wanted))
        forward += float(many @ lengths[states])
        if states is not levels[0]:
            entries = ranges(graph.indptr[states], lengths[states])
            many = many.repeat(lengths[states])
            reach += np.bincount(graph.targets[entries], many, graph.n_targets)
    return forward < backward
