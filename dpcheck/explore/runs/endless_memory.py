"""Loops in which what is known of numbers beyond the window never repeats.

A run comes back to a point of the program with equal values, and an equal order beyond the window,
but another law of the numbers there: one was compared with new ones since, or moved. The same steps
are possible from that law, and lead to the next one, so exploring would not end. A run that came
back very often is a mistake of the user, long before there are too many states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dpcheck.chain.arrays import end_to_end
from dpcheck.chain.chain import IntArray
from dpcheck.diagnostics.structure import EndlessMemory
from dpcheck.explore.programs.running_best import cell_behind
from dpcheck.explore.runs.program_points import DRAWS
from dpcheck.explore.runs.raw_graph import RawStates, StatesAtPoint
from dpcheck.explore.tails.tails import Tails
from dpcheck.explore.values.mistakes import spoken

FIRST_LOOK = 64
"""So many tail states before runs are looked at, and then whenever there are twice as many."""

MOST_RETURNS = 6
"""A loop that ends by a counter, or is written out, comes back with equal values never or once."""

Memory = tuple[object, ...]


def endless_memory(states: RawStates, tails: Tails) -> EndlessMemory | None:
    """Return the mistake that the run to the last state of some cut point shows."""
    parents = end_to_end(states.parents)
    tables = [t for t in states.tables.values() if not set(tails.columns).isdisjoint(t.names)]
    tables.sort(key=lambda table: table.cut[0] != "sample")  # to point at a draw
    table_of, row_of = _places(tables, len(parents))
    for table in tables:
        laws: dict[object, set[Memory]] = {}
        drawn = Counter[int]()
        state = int(table.numbers[-1])
        while state >= states.n_inputs:
            here = tables[table_of[state]] if table_of[state] >= 0 else None
            kind, node = here.cut if here is not None else ("", 0)
            drawn[node] += kind == "sample"
            row = int(row_of[state])
            if here is not None and (name := _name_beyond(here, row, tails)) is not None:
                values, law = _memory(here, row, tails)
                seen = laws.setdefault((here.cut, values), set())
                seen.add(law)
                if len(seen) > MOST_RETURNS:
                    if kind != "sample":
                        node = _draw_again(drawn, tails) or node
                    place = states.flow.nodes[node].span
                    return EndlessMemory(place, spoken(cell_behind(name)), bool(tails.moved))
            state = int(parents[state])
    return None


def _places(tables: Sequence[StatesAtPoint], n_states: int) -> tuple[IntArray, IntArray]:
    """Return for each state [n_states] which table it is in, -1 for none, and its row there."""
    table_of, row_of = np.full((2, n_states), -1, np.int64)
    for k, table in enumerate(tables):
        table_of[table.numbers] = k
        row_of[table.numbers] = np.arange(len(table.numbers))
    return table_of, row_of


def _draw_again(drawn: Counter[int], tails: Tails) -> int | None:
    """Return the node that draws, or tells sums apart, again and again on a run; None without one.

    Those come first that are about numbers without bounds.
    """
    again = {node: count for node, count in drawn.items() if count > 1}
    return max(again, key=lambda node: (node in tails.wide.arriving, again[node]), default=None)


def _memory(table: StatesAtPoint, k: int, tails: Tails) -> tuple[Memory, Memory]:
    """Return the values and the tail states of one state of a cut point.

    Of numbers beyond the window the order is a value, not how far they are.
    """
    codes = {name: int(c[k]) for name, c in zip(table.names, table.states.columns, strict=True)}
    low, high = tails.window.low, tails.window.high
    far = {c for name, c in codes.items() if name in tails.wide.names and not low <= c <= high}
    rank = {code: (i, code > high) for i, code in enumerate(sorted(far))}
    # The number of a distribution is another one for each tail state.
    law = tuple(code for name, code in codes.items() if name in tails.columns)
    values = tuple(
        rank.get(code, code) if name in tails.wide.names else code
        for name, code in codes.items()
        if name not in tails.columns and name != DRAWS
    )
    return values, law


def _name_beyond(table: StatesAtPoint, k: int, tails: Tails) -> str | None:
    """Return a variable that is beyond the window in one state of a cut point."""
    for name, column in zip(table.names, table.states.columns, strict=True):
        if name in tails.wide.names and tails.is_beyond(column[k : k + 1]).any():
            return name
    return None
