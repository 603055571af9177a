"""What numbers without bounds still meet after outputs: draws, and how far they are moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.weights.rows import Rows
from dpcheck.exact import Number
from dpcheck.explore.tails.tails import Tails
from dpcheck.model.program import Node, Sample, alternatives

MOVED: Final = "moved"
ENDLESS: Final = 1 << 10
"""So many draws, or steps, may as well be infinitely many."""

Key = int | tuple[int, Number] | str
"""The draws of a group; those with a ratio; by how much numbers are `MOVED` where they are kept.

A sum asks how far numbers of a group are apart: as a draw with a ratio of 1, that parts no gap.
"""

ToCome = Counter[Key]
"""The most on any run that follows."""


def most_to_come(
    rows: Rows, draws: Mapping[int, IntArray], nodes: tuple[Node, ...], tails: Tails
) -> dict[Key, IntArray]:
    """Return the most that follows each raw state, [n_raw_states].

    rows: the raw graph. draws: by node that draws, the raw states that do.
    """
    here: dict[Key, IntArray] = {}
    for k, states in draws.items():
        for key, count in _drawn(nodes[k], k, tails):
            load = here.setdefault(key, np.zeros(len(rows.indptr) - 1, np.int64))
            load[states] += count
    return {key: _most(rows, load) for key, load in here.items()}


def _drawn(node: Node, k: int, tails: Tails) -> Iterator[tuple[Key, int]]:
    """Yield what a node adds to what follows."""
    group = tails.wide.arriving.get(k)
    if group is not None and k in tails.moved:
        yield MOVED, tails.moved[k]
        yield (group, 1), 1
    if group is not None and isinstance(node, Sample) and node.target in tails.wide.groups[group]:
        yield group, 1
        spans = {one.span for one in alternatives(node.distribution)}
        for ratio in set().union(*(tails.states.ratios.get(span, ()) for span in spans)):
            yield (group, ratio), 1


def _most(rows: Rows, load: IntArray) -> IntArray:
    """Return the largest sum of loads on any path from each state, `ENDLESS` at most."""
    found, has_next = load, np.diff(rows.indptr) > 0
    while True:
        ahead = np.zeros(len(load), np.int64)
        ahead[has_next] = np.maximum.reduceat(found[rows.targets], rows.indptr[:-1][has_next])
        after = np.minimum(load + ahead, ENDLESS)
        if (after == found).all():
            return found
        found = after
