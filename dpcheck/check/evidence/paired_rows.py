"""The rows of a sequence table in pairs: neighbors side by side, equal rows compared once.

Sources with equal rows are one class, and pairs of classes are compared once, many at a time
(`blocks`). Rows are told apart by their beginnings first; only those that begin alike are read on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from dpcheck.chain.arrays import are_first, marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.sets import distinct, distinct_rows
from dpcheck.chain.weights.rows import ranges
from dpcheck.check.evidence.blocks import Block
from dpcheck.check.evidence.float_probabilities import FloatArray, rounded_chances
from dpcheck.check.evidence.number_codes import NumberCodes, number_codes
from dpcheck.check.evidence.sequences import SequenceTable
from dpcheck.check.values.exp_factor import EventGap
from dpcheck.exact import Whole
from dpcheck.limits import Limits
from dpcheck.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Entry = TypeVar("Entry", bound=np.generic)

_LaidOut = tuple[IntArray, IntArray, Callable[[Any], Any], Callable[[Any], Any]]
"""Segments and sequences [n_entries] of rows side by side, and functions from values of all entries
of the table to those of the left rows and of the right ones, 0 where a row has none."""

_BLOCK = 1 << 20
"""Entries that are compared at once: bounds the memory that a comparison takes."""
_KEPT = 1 << 22
"""Bounds the entries of all blocks that are kept for later claims."""
_HEAD = 8
"""Entries at the start of a row that tell most rows apart."""

_Key = tuple[bytes, Whole, bytes | tuple[Whole, ...]]


@dataclass(frozen=True, eq=False)
class PairedRows:
    """The rows of a sequence table, and pairs of them.

    pairs [n_pairs, 2] are indices into the table's sources.
    """

    table: SequenceTable
    pairs: IntArray

    def blocks(self, limits: Limits) -> Iterator[Block]:
        """Pairs of rows side by side, both directions; kept where all of them are not many."""
        if self._n_compared > _KEPT:
            return self.blocks_of(self._class_pairs, limits)
        return iter(self._kept_blocks)

    def representatives(self) -> tuple[IntArray, BoolArray]:
        """Return which pair stands for each one in `blocks`, and which are turned, both [n_pairs].

        A pair of equal rows is not in the blocks: -1 stands for it.
        """
        chosen, keys, classes = self._class_pairs, self._keys, self._classes[self.pairs]
        found = np.full(len(keys), -1, np.int64)
        if len(chosen):
            order = chosen[np.argsort(keys[chosen])]
            places = np.searchsorted(keys[order], keys)
            are_equal = classes[:, 0] == classes[:, 1]
            found = np.where(are_equal, -1, order[np.minimum(places, len(order) - 1)])
        return found, np.asarray(classes[:, 0] != classes[found, 0], np.bool_)

    def block_of(self, gap: EventGap) -> Block:
        """Return the one pair of rows a gap is about, in its direction."""
        block = self._block(np.array([gap.pair], np.int64))
        return block if gap.is_forward else block.reversed()

    @cached_property
    def _classes(self) -> IntArray:
        """The number of each source's class of equal rows, [n_sources].

        Rows with different beginnings differ: only the others are read to their ends.
        """
        classes = self._beginnings.copy()
        sizes = np.bincount(classes)
        if self._are_beginnings_exact and int(self.table.indptr[1]) <= _HEAD:
            return classes
        numbers: dict[tuple[int, _Key], int] = {}
        for i in np.flatnonzero(sizes[classes] > 1).tolist():
            key = int(classes[i]), self._key(i, None)
            classes[i] = numbers.setdefault(key, len(sizes) + len(numbers))
        return classes

    @property
    def _are_beginnings_exact(self) -> bool:
        """Return whether rows of one class of `_beginnings` do begin equally."""
        return self.have_one_support and self.table.weights.dtype == np.int64

    @cached_property
    def _beginnings(self) -> IntArray:
        """The number of each source's class of rows that may begin equally, [n_sources]."""
        if self._are_beginnings_exact:
            starts, width = self.table.indptr[:-1], int(self.table.indptr[1])
            heads = self.table.weights[starts[:, None] + np.arange(min(width, _HEAD))]
            whole = np.column_stack([np.array(self.table.denominators, np.int64), heads])
            lowest = whole // np.gcd.reduce(whole, axis=1)[:, None]
            return distinct_rows(list(lowest.T))[1]
        found: dict[object, int] = {}
        n_sources = len(self.table.denominators)
        keys = (self._head(i) for i in range(n_sources))
        return np.array([found.setdefault(key, len(found)) for key in keys], np.int64)

    def _head(self, i: int) -> object:
        """Return what rows that begin equally have in common.

        Python rounds a quotient of integers correctly: equal rationals become equal floats. So
        rows with different floats differ, and rows with the same ones are read to their ends.
        """
        start, end = self._bounds[i]
        row = slice(start, min(end, start + _HEAD))
        if self._numbers is not None:
            return self._key(i, _HEAD)
        denominator = self.table.denominators[i]
        head = tuple([weight / denominator for weight in self.table.weights[row].tolist()])
        return head if self.have_one_support else (head, self.table.sequences[row].tobytes())

    def _key(self, i: int, width: int | None) -> _Key:
        """Return what equal rows have in common, of all their entries or of the first few.

        Weights of equal rows are in one proportion to the rows' denominators; where all have one
        denominator, they are the same.
        """
        start, end = self._bounds[i]
        row = slice(start, end if width is None else min(end, start + width))
        support = b"" if self.have_one_support else self.table.sequences[row].tobytes()
        if self._numbers is not None:
            return support, 1, self._numbers.codes[row].tobytes()
        if len(self.table.scales[0]) == 1 and self.table.weights.dtype == np.int64:
            return support, 1, self.table.weights[row].tobytes()
        numbers = [self.table.denominators[i], *self.table.weights[row].tolist()]
        divisor = gcd(*cast("list[int]", numbers))
        return support, numbers[0] // divisor, tuple([n // divisor for n in numbers[1:]])

    @cached_property
    def _numbers(self) -> NumberCodes | None:
        """The different numbers of the table, where some are no rationals."""
        return number_codes(self.table, *self.table.scales)

    @cached_property
    def _chances(self) -> FloatArray:
        """The probabilities of the table's entries, rounded, [n_entries]."""
        if self._numbers is not None:
            return self._numbers.chances[self._numbers.codes]
        scales, codes = self.table.scales
        return rounded_chances(self.table, cast("list[int]", scales), codes)

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        """Where each row begins and ends in the table."""
        return list(pairwise(self.table.indptr.tolist()))

    @cached_property
    def _class_pairs(self) -> IntArray:
        """One pair for each pair of different classes, [n_pairs]: rows of `pairs`, in order.

        No pair is there twice, nor a source beside itself: where all rows differ, that is all.
        """
        if len(distinct(self._classes)) == len(self._classes):
            return np.arange(len(self.pairs))
        classes = self._classes[self.pairs]
        different = marked(classes[:, 0] != classes[:, 1])
        order = different[np.argsort(self._keys[different], kind="stable")]
        return np.sort(order[are_first(self._keys[order])])

    @cached_property
    def _keys(self) -> IntArray:
        """A number for each pair of classes, in whichever order, [n_pairs]."""
        classes = self._classes[self.pairs]
        low, high = classes.min(axis=1), classes.max(axis=1)
        keys: IntArray = low * (int(self._classes.max(initial=0)) + 1) + high
        return keys

    @cached_property
    def _kept_blocks(self) -> list[Block]:
        """All blocks."""
        return list(self.blocks_of(self._class_pairs, Limits()))

    @property
    def _n_compared(self) -> int:
        """The number of entries in all pairs of rows."""
        return int(self._sizes(self._class_pairs).sum())

    def _sizes(self, chosen: IntArray) -> IntArray:
        """Return the number of entries in both rows of the chosen pairs, [n_chosen]."""
        widths = np.diff(self.table.indptr)
        if self.have_one_support:
            return np.full(len(chosen), 2 * widths[0])
        return np.asarray(widths[self.pairs[chosen]].sum(axis=1), np.int64)

    def blocks_of(self, chosen: IntArray, limits: Limits) -> Iterator[Block]:
        """Yield chosen pairs [n], rows of `pairs`, both directions, in blocks of bounded size."""
        sizes = self._sizes(chosen)
        chunk = np.cumsum(sizes) // _BLOCK
        bounds = np.flatnonzero(np.diff(chunk, prepend=-1))
        for k, start in enumerate(bounds.tolist()):
            stop = bounds[k + 1] if k + 1 < len(bounds) else len(sizes)
            limits.check_time(f"{start} of {len(sizes)} pairs of rows compared")
            forward = self._block(chosen[start:stop])
            yield forward
            yield forward.reversed()

    @cached_property
    def have_one_support(self) -> bool:
        """Return whether all rows list the same sequences, each with a positive probability."""
        starts, ends = self.table.indptr[:-1], self.table.indptr[1:]
        widths = distinct(ends - starts)
        if len(widths) != 1 or widths[0] == 0:
            return False
        grid = self.table.sequences.reshape(-1, int(widths[0]))
        entries = self.table.weights if self._numbers is None else self._numbers.codes
        return bool((grid == grid[0]).all() and (entries != 0).all())

    def _block(self, chosen: IntArray) -> Block:
        """Return rows side by side for chosen[n], rows of `pairs`."""
        scales, codes = self.table.scales
        left, right = self.pairs[chosen].T
        laid_out = self._aligned if self.have_one_support else self._united
        segment, sequence, p_of, q_of = laid_out(left, right)
        numbers = None
        if self._numbers is not None:
            numbers = p_of(self._numbers.codes), q_of(self._numbers.codes)
        return Block(
            pair=chosen,
            is_forward=True,
            starts=marked(np.diff(segment, prepend=-1)),
            segment=segment,
            sequence=sequence,
            p=p_of(self.table.weights),
            q=q_of(self.table.weights),
            scales=scales,
            p_scales=codes[left],
            q_scales=codes[right],
            chances=lambda: (p_of(self._chances), q_of(self._chances)),
            numbers=numbers,
        )

    def _aligned(self, left: IntArray, right: IntArray) -> _LaidOut:
        """Lay out rows where all have one support: nothing has to be merged."""
        width = int(self.table.indptr[1])

        def rows_of(sources: IntArray, values: NDArray[Entry]) -> NDArray[Entry]:
            return values.reshape(-1, width)[sources].reshape(-1)

        segment = np.arange(len(left)).repeat(width)
        sequence = np.tile(self.table.sequences[:width], len(left))
        return segment, sequence, partial(rows_of, left), partial(rows_of, right)

    def _united(self, left: IntArray, right: IntArray) -> _LaidOut:
        """Lay out rows on the union of their sequences."""
        (segment_p, at_p), (segment_q, at_q) = self._entries(left), self._entries(right)
        keys_p = segment_p * self.table.n_sequences + self.table.sequences[at_p]
        keys_q = segment_q * self.table.n_sequences + self.table.sequences[at_q]
        keys, where = np.unique(np.concatenate([keys_p, keys_q]), return_inverse=True)

        def placed(entries: IntArray, places: IntArray, values: NDArray[Entry]) -> NDArray[Entry]:
            row = np.zeros(len(keys), values.dtype)
            row[places] = values[entries]
            return row

        segment, sequence = np.divmod(keys, self.table.n_sequences)
        p_of = partial(placed, at_p, where[: len(keys_p)])
        return segment, sequence, p_of, partial(placed, at_q, where[len(keys_p) :])

    def _entries(self, sources: IntArray) -> tuple[IntArray, IntArray]:
        """Return for all entries of rows sources[n]: which of them, and where in the table."""
        starts = self.table.indptr[sources]
        widths = self.table.indptr[sources + 1] - starts
        return np.arange(len(sources)).repeat(widths), ranges(starts, widths)
