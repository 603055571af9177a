"""Tables of distinct states: rows of int64 columns, each numbered once, in order of discovery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    UIntArray = NDArray[np.uint64]

FEW = 512
"""Batches up to this many rows are looked up one by one, in a table of at most `MANY` rows."""

MANY = 1 << 16

_MIXERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class HashCollision(Exception):
    """Two different rows had one hash; the table takes another seed."""


class StateTable:
    """Distinct rows of `n_columns` values, numbered from 0.

    While rows come a few at a time they are keys of a dictionary: a loop that goes one step a batch
    would spend its time in numpy calls. From the first large batch on, rows are found again by a
    64-bit hash in sorted runs (a few, each at least twice as long as the next), and every hit is
    compared with the row itself: a collision leads to another seed, never to a wrong answer.

    >>> table = StateTable(2)
    >>> numbers, new = table.numbers([np.array([5, 5, 7]), np.array([1, 1, 2])])
    >>> numbers.tolist(), new.tolist()
    ([0, 0, 1], [0, 2])
    """

    def __init__(self, n_columns: int) -> None:
        """Start empty."""
        self.n_rows = 0
        self._columns = [np.empty(16, np.int64) for _ in range(n_columns)]
        self._numbers: dict[tuple[int, ...], int] | None = {}
        self._runs: list[tuple[UIntArray, IntArray]] = []
        self._seed = 1

    def column(self, k: int) -> IntArray:
        """Return column k of all rows [n_rows]."""
        return self._columns[k][: self.n_rows]

    @property
    def columns(self) -> list[IntArray]:
        """All columns [n_rows]."""
        return [column[: self.n_rows] for column in self._columns]

    def numbers(self, columns: Sequence[IntArray], n_rows: int = 1) -> tuple[IntArray, IntArray]:
        """Return each row's number, and for each row that is new the first place it stands at.

        New rows are numbered in the order of their first places. Without columns there is one
        state; `n_rows` says how many rows ask for it.
        """
        if not columns:
            new = np.arange(1 if self.n_rows == 0 and n_rows else 0)
            self.n_rows = max(self.n_rows, min(n_rows, 1))
            return np.zeros(n_rows, np.int64), new
        if self._numbers is not None:
            if len(columns[0]) <= FEW and self.n_rows <= MANY:
                return self._counted(columns, self._numbers)
            self._numbers = None
            self._reseed()
        first, group = distinct_rows(columns)
        rows = [column[first] for column in columns]
        known = self._found(rows)
        missing = np.flatnonzero(known < 0)
        missing = missing[np.argsort(first[missing], kind="stable")]
        known[missing] = self.n_rows + np.arange(len(missing))
        if len(missing):
            self._append([row[missing] for row in rows])
        return known[group], first[missing]

    def _counted(
        self, columns: Sequence[IntArray], known: dict[tuple[int, ...], int]
    ) -> tuple[IntArray, IntArray]:
        """Return what `numbers` does, by the dictionary, row by row."""
        numbers: list[int] = []
        new: list[int] = []
        for place, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            number = known.setdefault(row, len(known))
            if number == self.n_rows + len(new):
                new.append(place)
            numbers.append(number)
        first = np.array(new, np.int64)
        if new:
            self._extend([column[first] for column in columns])
        return np.array(numbers, np.int64), first

    def _found(self, rows: list[IntArray]) -> IntArray:
        """Return the numbers of distinct rows, -1 where they are new."""
        while True:
            try:
                return self._looked_up(rows)
            except HashCollision:
                self._reseed()

    def _looked_up(self, rows: list[IntArray]) -> IntArray:
        known = np.full(len(rows[0]), -1, np.int64)
        if not self._runs:
            return known
        hashes = self._hashes(rows)
        for sorted_hashes, numbers in self._runs:
            place = np.searchsorted(sorted_hashes, hashes).clip(max=len(sorted_hashes) - 1)
            hits = np.flatnonzero(sorted_hashes[place] == hashes)
            if not len(hits):
                continue
            found = numbers[place[hits]]
            for stored, row in zip(self._columns, rows, strict=True):
                if not np.array_equal(stored[found], row[hits]):
                    raise HashCollision
            known[hits] = found
        return known

    def _append(self, rows: list[IntArray]) -> None:
        start = self.n_rows
        self._extend(rows)
        try:
            self._add_run(self._hashes(rows), np.arange(start, self.n_rows))
        except HashCollision:
            self._reseed()

    def _extend(self, rows: list[IntArray]) -> None:
        start, end = self.n_rows, self.n_rows + len(rows[0])
        if end > len(self._columns[0]):
            size = max(end, 2 * len(self._columns[0]))
            for k, column in enumerate(self._columns):
                self._columns[k] = np.empty(size, np.int64)
                self._columns[k][:start] = column[:start]
        for column, row in zip(self._columns, rows, strict=True):
            column[start:end] = row
        self.n_rows = end

    def _add_run(self, hashes: UIntArray, numbers: IntArray) -> None:
        while self._runs and len(self._runs[-1][0]) < 2 * len(hashes):
            more, others = self._runs.pop()
            hashes, numbers = np.concatenate([more, hashes]), np.concatenate([others, numbers])
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        if np.any(hashes[1:] == hashes[:-1]):
            raise HashCollision
        self._runs.append((hashes, numbers[order]))

    def _reseed(self) -> None:
        while self.n_rows:
            self._seed += 1
            self._runs = []
            try:
                self._add_run(self._hashes(self.columns), np.arange(self.n_rows))
            except HashCollision:
                continue
            return

    def _hashes(self, rows: list[IntArray]) -> UIntArray:
        """Return a 64-bit mix of each row (after Steele, Lea, Flood, SplitMix, OOPSLA 2014)."""
        first, second, third = (np.uint64(m) for m in _MIXERS)
        state = np.full(len(rows[0]), self._seed, np.uint64)
        for row in rows:
            state = (state ^ row.view(np.uint64)) * first + second
            state ^= state >> np.uint64(29)
            state *= third
            state ^= state >> np.uint64(32)
        return state
