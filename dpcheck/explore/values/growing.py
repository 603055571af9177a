"""Arrays of integers that grow at their end."""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import IntArray, WeightArray


class Growing:
    """An int64 array that grows; what is added costs a constant time each, over all.

    >>> codes = Growing()
    >>> codes.extend(np.array([3, 1]))
    >>> codes.extend(np.array([4]))
    >>> codes.values.tolist()
    [3, 1, 4]
    """

    def __init__(self) -> None:
        """Start empty."""
        self._store = np.empty(16, np.int64)
        self._length = 0

    @property
    def values(self) -> IntArray:
        """A view of all, [n]."""
        return self._store[: self._length]

    def extend(self, more: WeightArray) -> None:
        """Add integers [n] that fit at the end, an array that is not changed any more.

        The first ones are kept as they come, where the array is no view of another.
        """
        if not self._length and more.base is None and more.dtype == np.int64 and len(more) > 16:
            self._store, self._length = np.asarray(more, np.int64), len(more)
            return
        end = self._length + len(more)
        if end > len(self._store):
            longer = np.empty(max(end, 2 * len(self._store)), np.int64)
            longer[: self._length] = self.values
            self._store = longer
        self._store[self._length : end] = more
        self._length = end
