"""What two neighbors differ in: cells of the inputs, by how much, and where in their domains."""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.sets import distinct
from dpcheck.explain.explanation import Difference, Neighbors
from dpcheck.explore import Explored
from dpcheck.model.values import Value, value_text
from dpcheck.records import dataclass

_MAX_NAMED = 20_000
"""States whose names are compared, in a tenth of a second."""


@dataclass(frozen=True, eq=False)
class InputCells:
    """The inputs of a mechanism by cell, [n_initial] each; an explicit chain has none.

    `places` [n_states] is which initial state each state is, -1 for none. `values` are codes of the
    explored table; `ranks` number the values of a cell in the order of its domain; `numbers` are
    the values themselves where all are integers, else None.
    """

    explored: Explored
    places: IntArray
    values: dict[str, IntArray]
    ranks: dict[str, IntArray]
    numbers: dict[str, IntArray | None]

    def neighbors(self, left: int, right: int, note: str = "") -> Neighbors:
        """Return two states and the cells in which they differ, if there are several cells."""
        text = self.explored.chain.state_text
        differences = tuple(
            Difference(
                name, value_text(self.value(name, left)), value_text(self.value(name, right))
            )
            for name in self.changed(left, right)
        )
        return Neighbors(text(left), text(right), differences, note)

    def changed(self, left: int, right: int) -> list[str]:
        """Return the cells whose values differ, in the order of their declaration."""
        if min(self.places[[left, right]]) < 0:
            return []
        places = self.places[left], self.places[right]
        return [name for name, codes in self.values.items() if codes[places[0]] != codes[places[1]]]

    def value(self, name: str, state: int) -> Value:
        """Return the value of a cell at an initial state."""
        return self.explored.table.value(int(self.values[name][self.places[state]]))

    def environment(self, state: int) -> dict[str, Value]:
        """Return the values of all cells at an initial state."""
        return {name: self.value(name, state) for name in self.values}

    def distances(self, pairs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return of each pair [n_pairs, 2] of states three numbers [n_pairs].

        How many cells differ, the sum of their changes (of a cell without integers it is 1), and
        the sum of the ranks of both inputs. States of explicit chains have one cell, and the number
        of a state is its rank.
        """
        if not self.values:
            ones = np.ones(len(pairs), np.int64)
            return ones, ones, pairs.sum(axis=1)
        left, right = self.places[pairs].T
        count, size, weight = np.zeros((3, len(pairs)), np.int64)
        for name, codes in self.values.items():
            differs = codes[left] != codes[right]
            numbers, ranks = self.numbers[name], self.ranks[name]
            count += differs
            size += differs if numbers is None else np.abs(numbers[left] - numbers[right])
            weight += ranks[left] + ranks[right]
        return count, size, weight


def named_states(chain: Chain, names: tuple[str, str]) -> tuple[int, int]:
    """Return the states with two names among those that have neighbors, -1 where it takes long."""
    places = dict.fromkeys(names, -1)
    for state in distinct(chain.neighbors.pairs)[:_MAX_NAMED].tolist():
        places.update({text: state for text in [chain.state_text(state)] if text in places})
    return places[names[0]], places[names[1]]


def differences(explored: Explored, pair: Neighbors) -> tuple[Difference, ...]:
    """Return the cells in which two neighbors differ that are known by their names."""
    ends = named_states(explored.chain, (pair.left, pair.right))
    return () if min(ends) < 0 else input_cells(explored).neighbors(*ends).differences


def input_cells(explored: Explored) -> InputCells:
    """Return the inputs of an explored target by cell."""
    chain, table = explored.chain, explored.table
    places = np.full(chain.n_states, -1, np.int64)
    ranks: dict[str, IntArray] = {}
    numbers: dict[str, IntArray | None] = {}
    if explored.inputs:
        places[chain.initial] = np.arange(len(chain.initial))
    for name, codes in explored.inputs.items():
        different = distinct(codes)
        values = [table.value(int(code)) for code in different.tolist()]
        are_integers = all(type(value) is int and abs(value) < 1 << 31 for value in values)
        where = np.searchsorted(different, codes)
        if are_integers:
            numbers[name] = np.array(values, np.int64)[where]
            order = np.argsort(np.array(values, np.int64), kind="stable")
        else:  # inputs are listed in the order of their domains
            numbers[name] = None
            order = np.argsort(np.unique(where, return_index=True)[1], kind="stable")
        ranks[name] = np.argsort(order)[where]
    return InputCells(explored, places, dict(explored.inputs), ranks, numbers)
