"""Products of two tables of exact weights, row by row: what a step through states in between adds.

Where numbers are longer than a machine word, rows that have entries at the same places are
multiplied as one dense block (`dpcheck.exact.integer_product`): a sum of products then costs a
fraction of what it does number by number.

Where the right rows that a left row meets are one row moved along and overlap, as when noise is
added, the product is one of polynomials: with right row m = Σ_k w_k z^(s_m + k),

    Σ_m p_m Σ_k w_k z^(s_m + k)  =  (Σ_m p_m z^s_m) (Σ_k w_k z^k).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.sets import distinct, distinct_rows, is_increasing
from dpcheck.chain.weights.denominators import INT64_LIMIT, Scales, is_uniform, multiplied, repeated
from dpcheck.chain.weights.rows import Entries, indptr_of, joined, merged, ranges
from dpcheck.exact.matrices import convolution, integer_product
from dpcheck.limits import Tick
from dpcheck.records import dataclass

LEAST_BLOCK = 4
"""Smaller blocks have too few products to pay for being looked for and laid out."""
LONG_BITS = 512
"""From so many bits on, numbers cost more than the Python around them."""
MANY_PRODUCTS = 1024
"""Fewer products are over before blocks are found."""
MOST_FILL = 3
"""A dense block multiplies its zeros, too: at most so many cells for an entry."""
LEAST_OVERLAP = 2
"""With fewer entries a column, polynomials took 30 times as long as single products."""
PRODUCTS_AT_ONCE = 2_000_000
"""Bounds the products between two looks at the clock."""
LEAST_ROWS_AT_ONCE = 64
"""But so many rows at least, so that each call of flint has work to do."""


@dataclass(frozen=True, eq=False)
class Right:
    """The right table: row m is indptr[m]:indptr[m+1], over the scale with its code.

    Targets of a row may be in any order, and repeat.
    """

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


@dataclass(frozen=True, eq=False)
class _Moved:
    """Rows that are one row moved along: row m has weights [n] at starts[m] + offsets [n] >= 0."""

    starts: IntArray
    offsets: IntArray
    weights: WeightArray


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
    indptr = indptr_of(np.bincount(rows, minlength=n_middles))
    table = Right(indptr, targets, numerators, row_scales)
    parts = _parts(left, table, scales, limit, tick)
    return None if parts is None else _added_up(parts, n_rows, n_targets, scales)


def long_product(
    left: Entries, right: Right, shape: tuple[int, int], scales: Scales, tick: Tick
) -> Entries | None:
    """Return left · right, row-major without repeats; None where the numbers are not very long.

    shape: the number of rows of the left table and of the columns of the right one. The left table
    has no repeats; all rows of both have a sum of at most 1.
    """
    bound = scales.bound(scales.products(left.scales, right.row_scales[left.targets]))
    if bound is None or bound.bit_length() < LONG_BITS:
        return None
    lengths = right.indptr[left.targets + 1] - right.indptr[left.targets]
    if int(lengths.sum()) < MANY_PRODUCTS:
        return None
    n_rows, n_targets = shape
    rows, middles, numerators, row_scales = merged(left, n_rows, len(right.indptr), scales)
    by_rows = Entries(rows, middles, numerators, row_scales[rows])
    parts = _parts(by_rows, right, scales, None, tick)
    assert parts is not None, "without a limit"
    return _added_up(parts, n_rows, n_targets, scales)


def _added_up(parts: list[Entries], n_rows: int, n_targets: int, scales: Scales) -> Entries:
    """Return all entries row-major, equal places added up."""
    rows, targets, numerators, row_scales = merged(joined(parts), n_rows, n_targets, scales)
    return Entries(rows, targets, numerators, row_scales[rows])


def _parts(
    left: Entries, right: Right, scales: Scales, limit: int | None, tick: Tick
) -> list[Entries] | None:
    """Return the product in parts: blocks, and what is left entry by entry; None over the limit.

    The left table is row-major without repeats, and every row has one scale.
    """
    products = scales.products(left.scales, right.row_scales[left.targets])
    bound = scales.bound(products)
    parts, is_left_over = [], np.ones(len(left.rows), np.bool_)
    if bound is not None and bound >= INT64_LIMIT:
        least_rows = 1 if bound.bit_length() >= LONG_BITS else LEAST_BLOCK
        for block in _blocks(left, least_rows):
            part = _block_product(left, block, right, products, scales, tick)
            if part is not None:
                parts.append(part)
                is_left_over[block.entries] = False
    n_entries = sum(len(part.rows) for part in parts)
    middles = left.targets[is_left_over]
    n_entries += int((right.indptr[middles + 1] - right.indptr[middles]).sum())
    if limit is not None and n_entries > limit:
        return None
    parts.append(_entry_product(left, is_left_over, right, products, bound))
    return parts


def _entry_product(
    left: Entries, mask: BoolArray, right: Right, products: IntArray, bound: int | None
) -> Entries:
    """Return products of the left entries in mask[n_entries] with rows of the right, not summed."""
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


def _blocks(left: Entries, least_rows: int) -> Iterator[_Block]:
    """Yield the rows with entries at the same places, where there are enough of both."""
    if not len(left.rows):
        return
    starts = np.flatnonzero(np.diff(left.rows, prepend=-1))
    lengths = np.diff(np.append(starts, len(left.rows)))
    ends = left.targets[starts + lengths - 1]
    first, group = distinct_rows([left.targets[starts], ends, lengths])
    if len(first) * least_rows > len(starts):
        return
    # What is equal in the first place, the last, and the number of them need not be equal.
    alike = left.targets == left.targets[ranges(starts[first[group]], lengths)]
    is_equal = np.logical_and.reduceat(alike, starts)
    equal = np.flatnonzero(is_equal)
    by_group = equal[np.argsort(group[equal], kind="stable")]
    cuts = np.cumsum(np.bincount(group[equal], minlength=len(first)))[:-1]
    for representative, members in zip(first.tolist(), np.split(by_group, cuts), strict=True):
        start, length = int(starts[representative]), int(lengths[representative])
        if len(members) >= least_rows and length >= LEAST_BLOCK:
            entries = ranges(starts[members], lengths[members])
            yield _Block(entries, left.targets[start : start + length], len(members))


def _block_product(
    left: Entries, block: _Block, right: Right, products: IntArray, scales: Scales, tick: Tick
) -> Entries | None:
    """Return the product of a block, summed; None where it is better made entry by entry.

    `products` are the scales of each entry of the left table times the row that it meets. The rows
    of the right table that a block meets get the lcm of their scales. They may all be empty: a
    table of what is over, or goes on, has no entries for a state that does not.
    """
    middles = block.middles
    lengths = right.indptr[middles + 1] - right.indptr[middles]
    if not lengths.any():
        return None
    edges = ranges(right.indptr[middles], lengths)
    targets, weights = right.targets[edges], right.numerators[edges]
    columns = distinct(targets)
    place = np.searchsorted(columns, targets)
    firsts, codes = block.entries[:: len(middles)], right.row_scales[middles]
    row_scales = products[firsts]
    if not is_uniform(codes):
        common = scales.segment_lcms(np.zeros(len(codes), np.int64), codes, 1).repeat(len(codes))
        factors = scales.quotients(common, codes)
        weights = multiplied(weights, repeated(factors, lengths), None)
        row_scales = scales.products(left.scales[firsts], common[:1].repeat(len(firsts)))
    chances = left.numerators[block.entries]
    if not (_are_integers(chances) and _are_integers(weights)):
        return None
    # A polynomial takes a step for each column, so it pays where several entries meet in one.
    overlaps = len(edges) >= LEAST_OVERLAP * len(columns)
    moved = _moved_row(lengths, place, weights) if overlaps else None
    if moved is not None:
        found = _moved_sums(chances, moved, block.n_rows, len(columns), tick)
    elif block.n_rows >= LEAST_BLOCK and len(middles) * len(columns) <= MOST_FILL * len(edges):
        found = _dense_product(chances, _dense(lengths, place, weights, len(columns)), tick)
    else:
        return None
    numerators = np.array(found, object)
    kept = np.flatnonzero(numerators)
    row, column = np.divmod(kept, len(columns))
    return Entries(left.rows[firsts][row], columns[column], numerators[kept], row_scales[row])


def _are_integers(weights: WeightArray) -> bool:
    """Return whether none of weights [n] has powers of e: over an integer denominator, some may."""
    return weights.dtype == np.int64 or set(map(type, weights.tolist())) <= {int}


def _moved_row(lengths: IntArray, place: IntArray, weights: WeightArray) -> _Moved | None:
    """Return how rows of lengths [n_rows] are one row moved along, None if they are not."""
    n, length = len(lengths), int(lengths[0])
    if np.any(lengths != length) or (n > 1 and weights[0] != weights[length]):
        return None
    places = place.reshape(n, length)
    starts = places.min(axis=1)
    offsets = places - starts[:, None]
    table = weights.reshape(n, length)
    if np.any(offsets != offsets[0]) or np.any(table != table[0]):
        return None
    return _Moved(starts, offsets[0], table[0])


def _moved_sums(
    chances: WeightArray, moved: _Moved, n_rows: int, n_columns: int, tick: Tick
) -> list[int]:
    """Return the sums of a row moved along, by chances [n_rows * n], row by row."""
    pattern = [0] * (int(moved.offsets.max()) + 1)
    for offset, weight in zip(moved.offsets.tolist(), moved.weights.tolist(), strict=True):
        pattern[offset] += weight
    starts, found = moved.starts.tolist(), []
    for first in range(0, len(chances), len(starts)):
        tick(f"{n_rows} sums of independent draws")
        sums = [0] * (max(starts) + 1)
        for start, chance in zip(
            starts, chances[first : first + len(starts)].tolist(), strict=True
        ):
            sums[start] += chance
        row = convolution(sums, pattern)
        found += row + [0] * (n_columns - len(row))
    return found


def _dense(lengths: IntArray, place: IntArray, weights: WeightArray, n_columns: int) -> WeightArray:
    """Return rows of some lengths as a table [n, n_columns]; equal places of a row add up."""
    shape = len(lengths), n_columns
    cells = np.repeat(np.arange(len(lengths)) * n_columns, lengths) + place
    if not is_increasing(cells):
        dense = np.zeros(shape, object)
        np.add.at(dense.reshape(-1), cells, weights)
        return dense
    if len(cells) == len(lengths) * n_columns:
        return weights.reshape(shape)
    dense = np.zeros(shape, object)
    dense.reshape(-1)[cells] = weights
    return dense


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
