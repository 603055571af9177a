"""Rows of silent states level by level, from the last: row(s) = Σ_t P(s, t) row(t)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dpcheck.chain.arrays import differences, marked
from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.contraction.limb_table import LimbTable, are_limbs_few, few_targets
from dpcheck.chain.contraction.silent_graph import SilentGraph
from dpcheck.chain.weights.denominators import as_objects, concatenated, multiplied, repeated
from dpcheck.chain.weights.rows import Rows, Scaled, ranges, rows_of_scaled, shortened
from dpcheck.limits import Tick

BLOCK_ENTRIES = 1 << 18
"""How many entries of whole rows are expanded at once: what is made on the way fits a cache."""


def possible_table(graph: SilentGraph, levels: list[IntArray]) -> LimbTable | None:
    """Return a table for levels[n_levels][n_states], None for many targets or long numbers."""
    targets = few_targets(graph) if levels else None
    return (
        None if targets is None or not are_limbs_few(graph, levels) else LimbTable(graph, targets)
    )


def backward_rows(
    store: RowStore | LimbTable, wanted: IntArray, levels: list[IntArray], tick: Tick
) -> list[Rows]:
    """Build the rows of levels[n_levels][n_states], one by one, then return those of wanted[n]."""
    n_kept = 0
    for states in levels:
        for block in _blocks(store.costs(states)):
            tick(f"{n_kept} states without output summed")
            store.keep(states[block])
            n_kept += block.stop - block.start
    parts = []
    for block in _blocks(store.costs(wanted)):
        tick("summing what leads to the outputs")
        parts.append(store.combined(wanted[block]))
    return parts


def _blocks(costs: IntArray) -> list[slice]:
    """Cut rows of costs[n_rows] into runs of at most `BLOCK_ENTRIES`, one row at least."""
    if costs.sum() < BLOCK_ENTRIES:
        return [slice(0, len(costs))] if len(costs) else []
    marks = marked(differences(costs.cumsum() // BLOCK_ENTRIES)) + 1
    edges = [0, *marks.tolist(), len(costs)]
    return [slice(a, b) for a, b in pairwise(edges)]


class RowStore:
    """Rows of silent states found so far: `length`, `start` [n] index one growing table."""

    def __init__(self, graph: SilentGraph) -> None:
        """Start without rows."""
        self.graph = graph
        self.length = np.zeros(graph.n_targets, np.int64)
        self.start = np.zeros(graph.n_targets, np.int64)
        self.scale = np.zeros(graph.n_targets, np.int64)
        self.targets = np.empty(0, np.int64)
        self.numerators: WeightArray = np.empty(0, np.int64)
        self.n_entries = 0

    def costs(self, states: IntArray) -> IntArray:
        """Return how many entries each state's row expands to, [n_states]."""
        graph = self.graph
        lengths = graph.indptr[states + 1] - graph.indptr[states]
        targets = graph.targets[ranges(graph.indptr[states], lengths)]
        each = np.where(graph.silent[targets], self.length[targets], 1)
        total = np.concatenate(([0], each.cumsum()))
        ends = lengths.cumsum()
        return np.asarray(total[ends] - total[ends - lengths], np.int64)

    def combined(self, states: IntArray) -> Rows:
        """Return the rows of states [n] with silent targets replaced by their rows.

        Steps are brought to the scale of their row before they are multiplied along: there are
        fewer steps than entries, and no numerator then exceeds its row's scale.
        """
        graph, scales = self.graph, self.graph.scales
        lengths = graph.indptr[states + 1] - graph.indptr[states]
        steps = ranges(graph.indptr[states], lengths)
        rows = np.arange(len(states)).repeat(lengths)
        targets, weights = graph.targets[steps], graph.numerators[steps]
        is_inner = graph.silent[targets]
        inner = marked(is_inner)
        if not len(inner):
            own = Scaled(rows, targets, weights, graph.scale[states])
            return rows_of_scaled(own, graph.n_targets, scales)
        via = targets[inner]
        scale = graph.scale[states][rows]
        scale[inner] = scales.products(scale[inner], self.scale[via])
        row_scales = scales.segment_lcms(rows, scale, len(states))
        bound = scales.bound(row_scales)
        weights = multiplied(weights, scales.quotients(row_scales[rows], scale), bound)
        reach = self.length[via]
        picked = ranges(self.start[via], reach)
        product = multiplied(self.numerators[picked], repeated(weights[inner], reach), bound)
        entries = rows[inner].repeat(reach), self.targets[picked], product
        if len(inner) < len(rows):
            ends = marked(~is_inner)
            entries = (
                np.concatenate([rows[ends], entries[0]]),
                np.concatenate([targets[ends], entries[1]]),
                concatenated([weights[ends], product]),
            )
        return rows_of_scaled(Scaled(*entries, row_scales), graph.n_targets, scales)

    def keep(self, states: IntArray) -> None:
        """Add the rows of silent states [n] whose silent successors are there already."""
        rows = self.combined(states)
        scales = self.graph.scales
        sources = np.arange(rows.n_rows).repeat(differences(rows.indptr))
        numerators, scale = shortened(
            sources, rows.numerators, scales.codes(rows.denominators), scales
        )
        n_new = len(rows.targets)
        if self.n_entries + n_new > len(self.targets):
            self._grow(self.n_entries + n_new)
        if numerators.dtype != np.int64:
            self.numerators = as_objects(self.numerators)
        place = slice(self.n_entries, self.n_entries + n_new)
        self.targets[place] = rows.targets
        self.numerators[place] = numerators
        self.length[states] = differences(rows.indptr)
        self.start[states] = rows.indptr[:-1] + self.n_entries
        self.scale[states] = scale
        self.n_entries += n_new

    def _grow(self, n_entries: int) -> None:
        size = max(1024, 2 * len(self.targets), n_entries)
        targets = np.empty(size, np.int64)
        numerators = np.empty_like(self.numerators, shape=size)
        targets[: self.n_entries] = self.targets[: self.n_entries]
        numerators[: self.n_entries] = self.numerators[: self.n_entries]
        self.targets, self.numerators = targets, numerators
