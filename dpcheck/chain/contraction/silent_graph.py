"""The rows of a chain as a graph in which silent states are known."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.graph import Graph
from dpcheck.chain.sets import distinct
from dpcheck.chain.weights.denominators import Scales
from dpcheck.chain.weights.rows import Rows, ranges
from dpcheck.limits import Tick
from dpcheck.records import dataclass


@dataclass(frozen=True, eq=False)
class SilentGraph:
    """The rows, with denominators as codes of `scales` [n_states], and who is silent."""

    indptr: IntArray
    targets: IntArray
    numerators: WeightArray
    scale: IntArray
    silent: BoolArray
    diverged: int
    scales: Scales

    @staticmethod
    def of(rows: Rows, silent: BoolArray, diverged: int) -> SilentGraph:
        """Return rows as a graph, silent [n_states]; `diverged` has a place behind all states."""
        scales = Scales()
        scale = scales.codes(rows.denominators)
        padded = np.append(silent, np.False_)
        return SilentGraph(
            rows.indptr, rows.targets, rows.numerators, scale, padded, diverged, scales
        )

    @property
    def n_targets(self) -> int:
        """The number of states, and one more."""
        return len(self.silent)

    @cached_property
    def is_met(self) -> BoolArray:
        """The states that edges lead to, [n_targets]."""
        is_met = np.zeros(self.n_targets, np.bool_)
        is_met[self.targets] = True
        return is_met

    @cached_property
    def steps(self) -> Graph:
        """The entries as a graph."""
        return Graph(self.indptr, self.targets)


def silent_edges(graph: SilentGraph) -> tuple[IntArray, IntArray]:
    """Return sources and targets [n_edges] of the edges between silent states."""
    states = np.flatnonzero(graph.silent[:-1])
    targets = graph.steps.successors(states)
    inner = np.flatnonzero(graph.silent[targets])
    return np.repeat(states, graph.steps.degrees[states])[inner], targets[inner]


def peeling_levels(sources: IntArray, targets: IntArray, n_states: int, tick: Tick) -> IntArray:
    """Return [n_states] the length of the longest path from each state; -1 where there is none.

    States without successor are removed again and again; those on the way to a cycle remain.
    """
    bits = n_states.bit_length()
    before = targets << bits
    before |= sources
    before.sort()
    before &= (1 << bits) - 1
    starts = np.zeros(n_states + 1, np.int64)
    np.cumsum(np.bincount(targets, minlength=n_states), out=starts[1:])
    remaining = np.bincount(sources, minlength=n_states)
    is_last = remaining == 0
    level = np.where(is_last, 0, -1)
    # Most states have no edge at all: there is nothing to follow from them.
    ready, depth = np.flatnonzero(is_last & (starts[1:] > starts[:-1])), 0
    while len(ready):
        tick("ordering states without output")
        level[ready] = depth
        predecessors = before[ranges(starts[ready], starts[ready + 1] - starts[ready])]
        if len(predecessors) * 8 > n_states:
            remaining -= np.bincount(predecessors, minlength=n_states)
            ready = marked((remaining == 0) & (level < 0))
        else:
            np.subtract.at(remaining, predecessors, 1)
            ready = distinct(predecessors[remaining[predecessors] == 0])
        depth += 1
    return level
