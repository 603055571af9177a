"""The states of an explicit chain: families over index sets, numbered by arithmetic."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.explore.values.codes import ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated
from dpcheck.model.atoms import Label
from dpcheck.model.expressions import Const
from dpcheck.model.program import ExplicitChain, Family, StateReference
from dpcheck.model.values import SetValue
from dpcheck.records import dataclass

NO_STATE = -1
"""Stands for a member that no family has."""


def number_of_members(family: Family) -> int:
    """Return how many states a family has, without listing any: it may be any number."""
    return prod(members.size for members in _index_sets(family))


def _index_sets(family: Family) -> list[SetValue]:
    sets = []
    for _, domain in family.indices:
        assert isinstance(domain, Const), "index sets are known"
        assert isinstance(domain.value, SetValue), "index sets are sets"
        sets.append(domain.value)
    return sets


@dataclass(frozen=True, eq=False)
class IndexSet:
    """The codes of an index set, in order."""

    codes: IntArray

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def _sorted(self) -> IntArray:
        return self.codes[self._order]

    @cached_property
    def _is_run(self) -> bool:
        """Whether the codes are a, a + 1, a + 2, ...; there is at least one."""
        n = len(self.codes)
        return bool(np.array_equal(self.codes, np.arange(n) + self.codes[0]))

    def places(self, codes: IntArray) -> tuple[IntArray, BoolArray]:
        """Return where each code [n] stands in the set, and whether it does (else any place).

        In a run a, a + 1, ... the code c stands at c - a: there is nothing to search. The
        difference of two codes is int64, as none is below -2^61 or reaches 2^62 + 2^61.
        """
        if self._is_run:
            place = codes - self.codes[0]
            is_member: BoolArray = (place >= 0) & (place < len(self.codes))
            return (place if is_member.all() else np.where(is_member, place, 0)), is_member
        found = np.searchsorted(self._sorted, codes).clip(max=len(self.codes) - 1)
        return self._order[found], self._sorted[found] == codes


@dataclass(frozen=True, eq=False)
class Block:
    """The states of a family: from `first` on, the last index varying fastest.

    sets: per index the codes of its set, in order.
    """

    family: Family
    first: int
    size: int
    sets: tuple[IndexSet, ...]

    def members(self, indices: list[IntArray]) -> IntArray:
        """Return the state of each row of index codes [n], `NO_STATE` where there is none."""
        place = np.zeros(len(indices[0]), np.int64)
        exists = np.ones(len(indices[0]), np.bool_)
        for codes, members in zip(indices, self.sets, strict=True):
            if not len(members.codes):
                return np.full(len(codes), NO_STATE, np.int64)
            digit, is_member = members.places(codes)
            exists &= is_member
            place = place * len(members.codes) + digit
        states = self.first + place
        return states if exists.all() else np.where(exists, states, NO_STATE)

    def indices(self, place: int) -> list[int]:
        """Return the index codes of the member at a place."""
        codes = []
        for members in reversed(self.sets):
            place, digit = divmod(place, len(members.codes))
            codes.append(int(members.codes[digit]))
        return codes[::-1]


@dataclass(frozen=True, eq=False)
class Families:
    """All states of a chain by name."""

    blocks: Mapping[str, Block]
    n_states: int
    table: ValueTable

    @staticmethod
    def of(chain: ExplicitChain, table: ValueTable) -> Families:
        """Return the families of a chain, numbered in the order of declaration."""
        blocks: dict[str, Block] = {}
        first = 0
        for family in chain.families:
            sets = [IndexSet(table.codes(members.items)) for members in _index_sets(family)]
            size = 1
            for members in sets:
                size *= len(members.codes)
            blocks[family.name] = Block(family, first, size, tuple(sets))
            first += size
        return Families(blocks, first, table)

    def states(self, reference: StateReference, frame: Frame) -> IntArray:
        """Return the state that a reference means on each row, [n_rows], or `NO_STATE`."""
        columns = [evaluated(i, frame, self.table) for i in reference.indices]
        return self.members(reference.name, columns, frame.n_rows)

    def members(self, name: str, columns: list[IntArray], n_rows: int) -> IntArray:
        """Return the state of a family on each row of index codes [n_rows], or `NO_STATE`."""
        block = self.blocks[name]
        if not columns:
            assert not block.sets, "a row's end is a single state"
            return np.full(n_rows, block.first, np.int64)
        return block.members(columns)

    def all_of(self, reference: StateReference) -> IntArray:
        """Return the states [n] a reference without variables means: one, or a whole family."""
        block = self.blocks[reference.name]
        if reference.indices:
            return self.states(reference, Frame(1, {}))
        return block.first + np.arange(block.size)

    def text(self, state: int) -> str:
        """Return a state's name, in quotes where a member or a sink is written so."""
        assert 0 <= state < self.n_states, "every state belongs to a family"
        block = self._in_order[bisect_right(self._in_order, state, key=lambda b: b.first) - 1]
        name = block.family.name
        if block.sets:
            return self.written(name, block.indices(state - block.first))
        family = self.blocks.get(name.partition("[")[0])
        is_like_member = name.endswith("]") and family is not None and bool(family.sets)
        return f'"{name}"' if is_like_member or name in ("stopped", "diverged") else name

    @cached_property
    def _in_order(self) -> tuple[Block, ...]:
        """The families by their first states, as they were declared."""
        return tuple(self.blocks.values())

    def written(self, name: str, codes: list[int]) -> str:
        """Return the name of a member."""
        return Label(name, tuple(map(self.table.value, codes))).text

    def labelled(self, label: Label) -> IntArray:
        """Return the states [n] that a label, family or state, or a member, names."""
        if label.indices is not None:
            codes = [self.table.codes((value,)) for value in label.indices]
            return self.members(label.name, codes, 1)
        blocks = (
            block.first + np.arange(block.size)
            for block in self.blocks.values()
            if label.name == block.family.name or label.name in block.family.labels
        )
        return np.concatenate([np.empty(0, np.int64), *blocks])


class StateLabels(Mapping[str, BoolArray]):
    """The labels of a chain's states, and the names of states and families, made on demand."""

    def __init__(self, families: Families, n_states: int) -> None:
        """Label the declared states; of the `n_states` the sinks have no label."""
        self._families = families
        self._n_states = n_states

    def __getitem__(self, key: str) -> BoolArray:
        """Return [n_states] Booleans."""
        if key not in self._names:
            raise KeyError(key)
        holds = np.zeros(self._n_states, np.bool_)
        holds[self._families.labelled(Label(key, None))] = True
        return holds

    @cached_property
    def _names(self) -> dict[str, None]:
        blocks = self._families.blocks.values()
        return dict.fromkeys(name for b in blocks for name in (b.family.name, *b.family.labels))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of families and states and over the labels."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._names)
