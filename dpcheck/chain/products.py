"""Products of two tables of exact weights, row by row: what a step through states in between adds.

Where numbers are longer than a machine word, rows that have entries at the same places are
multiplied as one dense block (`dpcheck.exact.integer_product`): a sum of products then costs a
fraction of what it does number by number.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.elimination import Tick
from dpcheck.chain.rows import Entries, merged, ranges
from dpcheck.chain.scales import INT64_LIMIT, Scales, as_objects, concatenated, multiplied
from dpcheck.chain.sets import distinct, distinct_rows
from dpcheck.exact import integer_product
from dpcheck.records import dataclass

LEAST_BLOCK = 4
MOST_FILL = 3
PRODUCTS_AT_ONCE = 2_000_000
LEAST_ROWS_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class _Right:
    """The right table, row-major: row m is indptr[m]:indptr[m+1], over the scale with its code."""

    indptr: IntArray
    targets: IntArray
    numerators: WeightArray
    row_scales: IntArray


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows of the left table that have entries at the same places: entries of each, row by row."""

    entries: IntArray
    middles: IntArray
    n_rows: int


def composed(
    left: Entries,
    right: Entries,
    shape: tuple[int, int, int],
    scales: Scales,
    *,
    limit: int | None,
    tick: Tick,
) -> Entries | None:
    """Return left · right, row-major without repeats; None if that takes more than `limit` entries.

    shape: the number of rows of the left table, of the right one, and of its columns. The left
    table is row-major without repeats and every row has one scale, as `merged` leaves them. All
    rows of both have a sum of at most 1, so that of their product has too. `tick` is called with a
    progress report now and then, and may raise to stop the work.
    """
    n_rows, n_middles, n_targets = shape
    rows, targets, numerators, row_scales = merged(right, n_middles, n_targets, scales)
    indptr = np.zeros(n_middles + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n_middles), out=indptr[1:])
    table = _Right(indptr, targets, numerators, row_scales)
    products = scales.products(left.scales, row_scales[left.targets])
    bound = scales.bound(products)
    parts, is_left_over = [], np.ones(len(left.rows), np.bool_)
    if bound is not None and bound >= INT64_LIMIT:
        for block in _blocks(left):
            part = _block_product(left, block, table, scales, tick)
            if part is not None:
                parts.append(part)
                is_left_over[block.entries] = False
    n_entries = sum(len(part.rows) for part in parts)
    lengths = np.diff(indptr)[left.targets[is_left_over]]
    if limit is not None and n_entries + int(lengths.sum()) > limit:
        return None
    parts.append(_entry_product(left, is_left_over, table, products, bound))
    all_parts = Entries(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.targets for part in parts]),
        concatenated([part.numerators for part in parts]),
        np.concatenate([part.scales for part in parts]),
    )
    rows, targets, numerators, row_scales = merged(all_parts, n_rows, n_targets, scales)
    return Entries(rows, targets, numerators, row_scales[rows])


def _entry_product(
    left: Entries, mask: BoolArray, right: _Right, products: IntArray, bound: int | None
) -> Entries:
    """Return the products of some entries of the left table with rows of the right, not summed."""
    middles = left.targets[mask]
    lengths = right.indptr[middles + 1] - right.indptr[middles]
    edges = ranges(right.indptr[middles], lengths)
    factors = left.numerators[np.repeat(np.flatnonzero(mask), lengths)]
    return Entries(
        np.repeat(left.rows[mask], lengths),
        right.targets[edges],
        multiplied(factors, right.numerators[edges], bound),
        np.repeat(products[mask], lengths),
    )


def _blocks(left: Entries) -> Iterator[_Block]:
    """Yield the rows with entries at the same places, where there are enough of both."""
    if not len(left.rows):
        return
    starts = np.flatnonzero(np.diff(left.rows, prepend=-1))
    lengths = np.diff(np.append(starts, len(left.rows)))
    ends = left.targets[starts + lengths - 1]
    first, group = distinct_rows([left.targets[starts], ends, lengths])
    if len(first) * LEAST_BLOCK > len(starts):
        return
    # What is equal in the first place, the last, and the number of them need not be equal.
    alike = left.targets == left.targets[ranges(starts[first[group]], lengths)]
    is_equal = np.logical_and.reduceat(alike, starts)
    for number, representative in enumerate(first.tolist()):
        members = np.flatnonzero((group == number) & is_equal)
        start, length = int(starts[representative]), int(lengths[representative])
        if len(members) >= LEAST_BLOCK and length >= LEAST_BLOCK:
            entries = ranges(starts[members], lengths[members])
            yield _Block(entries, left.targets[start : start + length], len(members))


def _block_product(
    left: Entries, block: _Block, right: _Right, scales: Scales, tick: Tick
) -> Entries | None:
    """Return the product of a dense block, summed; None where the right side is mostly zeros.

    The rows of the right table that it meets get the lcm of their scales.
    """
    middles = block.middles
    lengths = right.indptr[middles + 1] - right.indptr[middles]
    edges = ranges(right.indptr[middles], lengths)
    columns = distinct(right.targets[edges])
    if len(middles) * len(columns) > MOST_FILL * len(edges):
        return None
    codes = right.row_scales[middles]
    common = scales.segment_lcms(np.zeros(len(codes), np.int64), codes, 1)
    factors = scales.quotients(np.repeat(common, len(codes)), codes)
    weights = as_objects(right.numerators[edges]) * np.repeat(factors, lengths)
    dense = np.zeros((len(middles), len(columns)), object)
    place = np.searchsorted(columns, right.targets[edges])
    dense[np.repeat(np.arange(len(middles)), lengths), place] = weights
    numerators = np.array(_dense_product(left.numerators[block.entries], dense, tick), object)
    firsts = block.entries[:: len(middles)]
    products = scales.products(left.scales[firsts], np.repeat(common, len(firsts)))
    kept = np.flatnonzero(numerators)
    row, column = np.divmod(kept, len(columns))
    return Entries(left.rows[firsts][row], columns[column], numerators[kept], products[row])


def _dense_product(left: WeightArray, right: WeightArray, tick: Tick) -> list[int]:
    """Return the product, row by row, of left [n_rows * n] and right [n, n_columns]."""
    n, n_columns = right.shape
    columns, found = right.ravel().tolist(), []
    step = n * max(LEAST_ROWS_AT_ONCE, PRODUCTS_AT_ONCE // right.size)
    for start in range(0, len(left), step):
        tick(f"sums of {n} long products for {len(left) // n} rows and {n_columns} columns")
        rows = left[start : start + step].tolist()
        found += integer_product(rows, columns, len(rows) // n, n_columns)
    return found
