"""Batches: rows of states that walk through deterministic code together, and parts of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.explore.values.evaluate import Frame
from dpcheck.records import dataclass


@dataclass(frozen=True, eq=False)
class Part:
    """Rows on their way through deterministic code; `origin` counts rows of the batch."""

    frame: Frame
    origin: IntArray

    def at(self, rows: IntArray) -> Part:
        """Return some of the rows [n]."""
        if len(rows) == len(self.origin):
            return self
        return Part(self.frame.at(rows), self.origin[rows])

    def bound(self, name: str, column: IntArray) -> Part:
        """Return the rows with a new value [n_rows] of a variable."""
        return Part(self.frame.bound(name, column), self.origin)


@dataclass(frozen=True, eq=False)
class Arrived:
    """Where a number without bounds came to stand, and the column of tail states that changed.

    side [n_rows]: 1 above the window, -1 below, 0 inside.
    """

    column: str
    side: IntArray


@dataclass(frozen=True, eq=False)
class Batch:
    """Where rows of deterministic code come from.

    source [n_rows] raw state, increasing; weight [n_rows]; drawn [n_rows] the code of the result
    of `~`, 0 where the batch does not leave a `~`; arrived: where that is, if it has no bounds.
    """

    source: IntArray
    weight: WeightArray
    drawn: IntArray
    arrived: Arrived | None = None

    @cached_property
    def every(self) -> IntArray:
        """All rows; a part whose `origin` is this very array is the batch as it stands."""
        return np.arange(len(self.source))

    def source_of(self, part: Part) -> IntArray:
        """Return the raw state each row of a part comes from, [n_rows]."""
        return self.source if part.origin is self.every else self.source[part.origin]

    def drawn_of(self, part: Part) -> IntArray:
        """Return what `~` gave to each row of a part, [n_rows]."""
        return self.drawn if part.origin is self.every else self.drawn[part.origin]

    def weight_of(self, part: Part) -> WeightArray:
        """Return the weight of each row of a part, [n_rows]."""
        return self.weight if part.origin is self.every else self.weight[part.origin]
