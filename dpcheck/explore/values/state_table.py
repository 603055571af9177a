"""Tables of distinct states: rows of int64 columns, each numbered once, in order of discovery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.explore.values.growing import Growing
from dpcheck.explore.values.slots import Slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    UIntArray = NDArray[np.uint64]

_MIXERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class HashCollision(Exception):
    """Two different rows had one hash; the table takes another seed."""


class StateTable:
    """Distinct rows of `n_columns` values, numbered from 0.

    From the second batch on rows are looked up in `Slots`. Where values are too many for that, they
    are found again by a 64-bit hash in sorted runs (a few, each at least twice as long as the
    next), and every hit is compared with the row itself: a collision leads to another seed, never
    to a wrong answer.

    >>> table = StateTable(2)
    >>> numbers, new = table.numbers([np.array([5, 5, 7]), np.array([1, 1, 2])])
    >>> numbers.tolist(), new.tolist()
    ([0, 0, 1], [0, 2])
    """

    def __init__(self, n_columns: int) -> None:
        """Start empty."""
        self.n_rows = 0
        self._columns = [Growing() for _ in range(n_columns)]
        self._slots = Slots()
        self._runs: list[tuple[UIntArray, IntArray]] = []
        self._n_in_runs = 0
        self._seed = 1

    def column(self, k: int) -> IntArray:
        """Return column k of all rows [n_rows]."""
        return self._columns[k].values

    @property
    def columns(self) -> list[IntArray]:
        """All columns [n_rows]."""
        return [column.values for column in self._columns]

    def numbers(self, columns: Sequence[IntArray], n_rows: int = 1) -> tuple[IntArray, IntArray]:
        """Return each row's number [n_rows], and the first place of each new row [n_new].

        New rows are numbered in the order of their first places. Without columns there is one
        state; `n_rows` says how many rows ask for it.
        """
        if not columns:
            new = np.arange(1 if self.n_rows == 0 and n_rows else 0)
            self.n_rows = max(self.n_rows, min(n_rows, 1))
            return np.zeros(n_rows, np.int64), new
        if self.n_rows and len(columns[0]):
            found = self._found_by_slots(columns)
            if found is not None:
                return found
        first, group = distinct_rows(columns)
        if not self.n_rows and len(first) == len(group):
            # All are different, and new: they are numbered as they stand.
            self._extend(columns)
            every = np.arange(len(group))
            return every, every
        rows = [column[first] for column in columns]
        known = self._found(rows) if self.n_rows else np.full(len(first), -1, np.int64)
        missing = marked(known < 0)
        if len(missing):
            missing = missing[np.argsort(first[missing], kind="stable")]
            known[missing] = self.n_rows + np.arange(len(missing))
            self._extend([row[missing] for row in rows])
        return known[group], first[missing]

    def _found_by_slots(self, columns: Sequence[IntArray]) -> tuple[IntArray, IntArray] | None:
        """Return what `numbers` does, by slots; None if those are too many."""
        slots = self._slots.of(columns, self.columns)
        if slots is None:
            return None
        in_slot = self._slots.numbers
        found = in_slot[slots]
        missing = np.flatnonzero(found < 0)
        if len(missing):
            places = slots[missing]
            # Of rows that are written into one slot the last one stays: here, the first of all.
            in_slot[places[::-1]] = missing[::-1]
            new = missing[in_slot[places] == missing]
            in_slot[slots[new]] = self.n_rows + np.arange(len(new))
            found[missing] = in_slot[places]
            self._extend([column[new] for column in columns])
            self._slots.n_entered = self.n_rows
            return found, new
        return found, missing

    def _found(self, rows: list[IntArray]) -> IntArray:
        """Return the numbers [n_rows] of distinct rows, -1 where they are new."""
        while True:
            try:
                self._index()
                return self._looked_up(rows)
            except HashCollision:
                self._seed += 1
                self._runs, self._n_in_runs = [], 0

    def _index(self) -> None:
        """Hash the rows that are in no run yet."""
        first, self._n_in_runs = self._n_in_runs, self.n_rows
        if first < self.n_rows:
            new = [column[first:] for column in self.columns]
            self._add_run(self._hashes(new), np.arange(first, self.n_rows))

    def _looked_up(self, rows: list[IntArray]) -> IntArray:
        known = np.full(len(rows[0]), -1, np.int64)
        hashes = self._hashes(rows)
        for sorted_hashes, numbers in self._runs:
            place = np.searchsorted(sorted_hashes, hashes).clip(max=len(sorted_hashes) - 1)
            hits = marked(sorted_hashes[place] == hashes)
            if not len(hits):
                continue
            found = numbers[place[hits]]
            for stored, row in zip(self.columns, rows, strict=True):
                if not np.array_equal(stored[found], row[hits]):
                    raise HashCollision
            known[hits] = found
        return known

    def _extend(self, rows: Sequence[IntArray]) -> None:
        for column, row in zip(self._columns, rows, strict=True):
            column.extend(row)
        self.n_rows += len(rows[0])

    def _add_run(self, hashes: UIntArray, numbers: IntArray) -> None:
        while self._runs and len(self._runs[-1][0]) < 2 * len(hashes):
            more, others = self._runs.pop()
            hashes, numbers = np.concatenate([more, hashes]), np.concatenate([others, numbers])
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        if (hashes[1:] == hashes[:-1]).any():
            raise HashCollision
        self._runs.append((hashes, numbers[order]))

    def _hashes(self, rows: list[IntArray]) -> UIntArray:
        """Return a 64-bit mix of rows [n] (after Steele, Lea, Flood, SplitMix, OOPSLA 2014)."""
        first, second, third = (np.uint64(m) for m in _MIXERS)
        state = np.full(len(rows[0]), self._seed, np.uint64)
        for row in rows:
            state = (state ^ row.view(np.uint64)) * first + second
            state ^= state >> np.uint64(29)
            state *= third
            state ^= state >> np.uint64(32)
        return state
