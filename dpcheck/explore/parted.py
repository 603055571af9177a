"""The inputs of a mechanism in blocks, each a chain of its own.

A block has the inputs of its part, and those of other parts that come after a neighbor of theirs in
it. So every pair of neighbors is in exactly one block, and a row of a block's chain is that of the
chain of all inputs: it hangs on its input alone. Blocks know nothing of each other, and may be
explored at any time and place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.graph import graph_of
from dpcheck.chain.sets import distinct
from dpcheck.explore.explored import Explored
from dpcheck.explore.inputs.adjacency import neighbor_pairs
from dpcheck.explore.inputs.blocks import Reach, input_blocks, reaches, within_reach
from dpcheck.explore.mechanism import Given, Runs, explored_of, followed, mechanism_chain
from dpcheck.explore.values.codes import FIRST_FAULT, ValueTable
from dpcheck.model.values import value_text
from dpcheck.records import Frozen, dataclass

BLOCK = 1 << 19
"""About how many inputs a block has at most, which are some 0.5 GB of five probabilities each."""

MANY_INPUTS = 2 * BLOCK
"""So many inputs are explored in blocks, where the neighbor relation allows."""

MAX_TWICE = 1.0
"""So many inputs may be within reach of blocks they are not in, for each input.

About half of these are explored twice.
"""

ShownState = tuple[object, ...]
"""What tells states after outputs apart: the cut point, and the values that are held there."""


class Block(Frozen):
    """The chain of a block, and what is to be counted of all of them.

    inputs [n_initial] are rows of all inputs; n_transitions: those of the block's own inputs.
    """

    explored: Explored
    inputs: IntArray
    n_transitions: int
    shown: frozenset[ShownState]


@dataclass(frozen=True, eq=False)
class PartedInputs:
    """All inputs, and the rows that are the parts of them."""

    given: Given
    parts: Sequence[IntArray]
    known: Sequence[Reach]

    def block(self, number: int) -> Block:
        """Return a block; raises what exploring its inputs, and finding their neighbors, does."""
        given, own = self.given, self.parts[number]
        near = within_reach(given.inputs, own, self.known)
        inputs = {name: column[near] for name, column in given.inputs.items()}
        pairs = neighbor_pairs(given.mechanism, inputs, len(near), given.table, given.limits)
        is_own = np.zeros(len(near), np.bool_)
        is_own[np.searchsorted(near, own)] = True
        pairs = pairs[is_own[pairs[:, 0]]]
        is_member = is_own.copy()
        is_member[pairs] = True
        members, places = near[is_member], np.cumsum(is_member) - 1
        some = given.some(members, places[pairs])
        found = followed(some)
        explored = explored_of(some, found)
        edges = graph_of(explored.chain).edges_of(places[is_own])
        n_transitions = int((explored.chain.targets[edges] < found.seen.n_states).sum())
        shown = _shown_states(found, some.table)
        return Block(explored, members, n_transitions, shown)

    def alone(self, pairs: IntArray) -> Explored:
        """Return the chain of some pairs of neighbors [n_pairs, 2], in order; of an input without.

        They are rows of all inputs.
        """
        rows = distinct(pairs) if len(pairs) else np.zeros(1, np.int64)
        return mechanism_chain(self.given.some(rows, np.searchsorted(rows, pairs)))


def _shown_states(found: Runs, table: ValueTable) -> frozenset[ShownState]:
    """Return what tells the states after outputs apart, the same for all tables of values."""
    states: set[ShownState] = set()
    for cut, shown in found.seen.shown.items():
        columns = [_texts(column, table) for column in shown.columns.values()]
        states.update((cut, *held) for held in zip(*columns, strict=True))
    return frozenset(states)


def _texts(column: IntArray, table: ValueTable) -> list[str]:
    """Return values as texts that tell them apart, [n]; what has no value is unassigned."""
    codes = column.tolist()
    known = {code: table.value(code) for code in set(codes) if code < FIRST_FAULT}
    texts = {code: f"{type(value).__name__} {value_text(value)}" for code, value in known.items()}
    return [texts.get(code, "") for code in codes]


def parted_inputs(given: Given) -> PartedInputs | None:
    """Return many inputs in blocks; None where they are few, or have neighbors in all blocks."""
    if given.n_inputs < MANY_INPUTS or given.wide.groups or given.labelled:
        return None
    known = reaches(given.mechanism, given.inputs, given.table)
    if known is None:
        return None
    parts = input_blocks(given.inputs, given.n_inputs, BLOCK)
    n_near = sum(len(within_reach(given.inputs, part, known)) for part in parts)
    if n_near > (1 + MAX_TWICE) * given.n_inputs:
        return None
    return PartedInputs(given, parts, known)
