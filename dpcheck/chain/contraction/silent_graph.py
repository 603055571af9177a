"""The rows of a chain as a graph in which silent states are known."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.graph import Graph
from dpcheck.chain.weights.denominators import Scales
from dpcheck.chain.weights.rows import Rows
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
    """Return sources, in order, and targets [n_edges] of the edges between silent states."""
    states = np.flatnonzero(graph.silent[:-1])
    targets = graph.steps.successors(states)
    inner = np.flatnonzero(graph.silent[targets])
    return np.repeat(states, graph.steps.degrees[states])[inner], targets[inner]
