"""The mass of each wanted state, pushed along the levels of silent states."""

from __future__ import annotations

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import IntArray
from dpcheck.chain.contraction.silent_graph import SilentGraph
from dpcheck.chain.weights.denominators import multiplied, repeated
from dpcheck.chain.weights.products import Right, long_product
from dpcheck.chain.weights.rows import Entries, Rows, joined, merged, ranges, rows_of, shortened
from dpcheck.limits import Tick

MAX_ENTRIES = 1 << 20
"""How many temporary entries are expanded at once where each step makes more of them."""


def forward_rows(
    graph: SilentGraph, wanted: IntArray, levels: list[IntArray], tick: Tick
) -> list[Rows]:
    """Push the mass of each wanted state [n] along, level by level, many sources at a time."""
    parts: list[Rows] = []
    pending = [slice(0, len(wanted))]
    while pending:
        block = pending.pop()
        part = _pushed(graph, wanted[block], levels, tick)
        if part is None:
            middle = (block.start + block.stop) // 2
            pending += [slice(middle, block.stop), slice(block.start, middle)]
        else:
            parts.append(part)
    return parts


def _pushed(
    graph: SilentGraph, wanted: IntArray, levels: list[IntArray], tick: Tick
) -> Rows | None:
    """Return the rows of wanted states [n], or None if they should be pushed in smaller groups."""
    level = np.full(graph.n_targets, -1, np.int64)
    for depth, states in enumerate(levels):
        level[states] = depth
    waiting: list[list[Entries]] = [[] for _ in levels]
    done: list[Entries] = []
    start = Entries(
        np.arange(len(wanted)),
        wanted,
        np.ones(len(wanted), np.int64),
        np.zeros(len(wanted), np.int64),
    )
    _sort_in(_next_step(graph, start), level, waiting, done)
    n_entries = 0
    for depth in reversed(range(len(levels))):
        if not waiting[depth]:
            continue
        tick("pushing probabilities along states without output")
        here = _one_scale_per_target(joined(waiting[depth]), len(wanted), graph)
        waiting[depth] = []
        cost = int((graph.indptr[here.targets + 1] - graph.indptr[here.targets]).sum())
        n_entries += cost
        if max(cost, n_entries // 16) > MAX_ENTRIES and len(wanted) > 1:
            return None
        _sort_in(_next_entries(graph, here, len(wanted), tick), level, waiting, done)
    return rows_of(joined(done), len(wanted), graph.n_targets, graph.scales)


def _one_scale_per_target(entries: Entries, n_rows: int, graph: SilentGraph) -> Entries:
    """Add up entries at equal (row, target); equal targets get equal scales."""
    places, inverse = np.unique(entries.targets, return_inverse=True)
    turned = Entries(inverse, entries.rows, entries.numerators, entries.scales)
    targets, rows, numerators, scale = merged(turned, len(places), n_rows, graph.scales)
    numerators, scale = shortened(targets, numerators, scale, graph.scales)
    return Entries(rows, places[targets], numerators, scale[targets])


def _next_entries(graph: SilentGraph, entries: Entries, n_rows: int, tick: Tick) -> Entries:
    """Return where one step leads from the entries' targets; long numbers are added up."""
    rows = Right(graph.indptr, graph.targets, graph.numerators, graph.scale)
    return long_product(entries, rows, (n_rows, graph.n_targets), graph.scales, tick) or _next_step(
        graph, entries
    )


def _next_step(graph: SilentGraph, entries: Entries) -> Entries:
    """Return where one step leads from the entries' targets."""
    at = entries.targets
    lengths = graph.indptr[at + 1] - graph.indptr[at]
    picked = ranges(graph.indptr[at], lengths)
    total = graph.scales.products(entries.scales, graph.scale[at])
    weights = multiplied(
        graph.numerators[picked], repeated(entries.numerators, lengths), graph.scales.bound(total)
    )
    return Entries(
        entries.rows.repeat(lengths), graph.targets[picked], weights, total.repeat(lengths)
    )


def _sort_in(
    entries: Entries, level: IntArray, waiting: list[list[Entries]], done: list[Entries]
) -> None:
    """Put entries where the level[n_states] of their silent state is, others with the finished."""
    levels = level[entries.targets]
    levels += 1
    depths = marked(np.bincount(levels)).tolist()
    for depth in depths:
        part = entries
        if len(depths) > 1:
            chosen = marked(levels == depth)
            part = Entries(
                entries.rows[chosen],
                entries.targets[chosen],
                entries.numerators[chosen],
                entries.scales[chosen],
            )
        (waiting[depth - 1] if depth else done).append(part)
