"""Rows of small integers, found by their place in an array: as a rule states are such rows.

The values of each column lie in a range; a row's slot is its number in the mixed radix of these
ranges, and an array says which row is there. Looking up a row takes a few multiplications and one
access; by a hash in sorted runs it takes some twenty.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from dpcheck.chain.chain import IntArray

MAX_SLOTS = 8
"""There are so many slots for each row at most, or"""

FEW_SLOTS = 1024
"""so many that making them takes no longer than a numpy call or two."""

MANY_TIMES = 8
"""Slots are made anew for a batch if the rows that are there already are so many times more."""

Range = tuple[int, int]


class Slots:
    """Slots for the rows of a table, whose columns are passed whenever it is asked.

    numbers [n_slots]: the number of the row in each slot, -1 where there is none; it holds the
    first `n_entered` rows.

    >>> slots = Slots()
    >>> slots.of([np.array([7, 5, 7])], [np.array([5, 6])]).tolist(), slots.numbers.tolist()
    ([2, 0, 2], [0, 1, -1])
    """

    def __init__(self) -> None:
        """Start without any."""
        self.numbers = np.empty(0, np.int64)
        self.n_entered = 0
        self._ranges: list[Range] = []

    def of(self, columns: Sequence[IntArray], known: Sequence[IntArray]) -> IntArray | None:
        """Return the slot of each row, all known rows being entered; None if slots are too many.

        columns, each [n_rows], and known, each [n_known]; there is a row at least.
        """
        late = [column[self.n_entered :] for column in known]
        ranges = _together(_ranges(columns), _ranges(late))
        if not self._hold(ranges):
            made = self._enlarged(ranges, len(columns[0]), len(known[0]))
            if made is None:
                return None
            self._ranges, late = made, list(known)
            self.numbers = np.full(_size(made), -1, np.int64)
            self.n_entered = 0
        if len(late[0]):
            self.numbers[self._slots(late)] = np.arange(self.n_entered, len(known[0]))
            self.n_entered = len(known[0])
        return self._slots(columns)

    def _hold(self, ranges: list[Range]) -> bool:
        """Return whether all values in some ranges have their slots."""
        return bool(self._ranges) and _together(self._ranges, ranges) == self._ranges

    def _enlarged(self, ranges: list[Range], n_rows: int, n_known: int) -> list[Range] | None:
        """Return ranges that hold some more values; None if that takes too many slots, or too long.

        A range that grows is given twice its width, if it can be: it may grow again.
        """
        most = max(MAX_SLOTS * (n_rows + n_known), FEW_SLOTS)
        tight = _together(self._ranges, ranges)
        ample = [_ample(*pair) for pair in zip(tight, self._ranges or tight, strict=True)]
        if _size(ample) <= most:
            return ample
        is_soon_made = n_known <= MANY_TIMES * n_rows
        return tight if is_soon_made and _size(tight) <= most else None

    def _slots(self, columns: Sequence[IntArray]) -> IntArray:
        """Return the slots [n_rows] of rows within the ranges."""
        slots = np.zeros(len(columns[0]), np.int64)
        for column, (low, high) in zip(columns, self._ranges, strict=True):
            slots *= high - low + 1
            slots += column - low
        return slots


def _ranges(columns: Sequence[IntArray]) -> list[Range]:
    """Return the least and greatest value of each column [n_rows]; none where there are no rows."""
    return [(int(column.min()), int(column.max())) for column in columns if len(column)]


def _together(left: list[Range], right: list[Range]) -> list[Range]:
    """Return the ranges that hold those of both; either may be empty."""
    pairs = zip(left, right, strict=True) if left and right else ()
    return [(min(a, c), max(b, d)) for (a, b), (c, d) in pairs] or left or right


def _ample(now: Range, before: Range) -> Range:
    """Return a range with as many values again at the ends where it has grown."""
    (low, high), width = now, now[1] - now[0] + 1
    return low - (low < before[0]) * width, high + (high > before[1]) * width


def _size(ranges: list[Range]) -> int:
    return prod(high - low + 1 for low, high in ranges)
