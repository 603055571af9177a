"""Sparse rows of exact weights, and their arithmetic on whole arrays.

Row s of `Rows` is P(s, targets[j]) = numerators[j] / denominators[s] for
indptr[s] <= j < indptr[s+1], as in `Chain`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from dpcheck.chain.arrays import are_first, differences, marked
from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.sets import in_order, is_increasing
from dpcheck.chain.weights.denominators import (
    Scales,
    as_objects,
    concatenated,
    is_uniform,
    multiplied,
    summed,
    weight_array,
)
from dpcheck.exact import Whole, exact_quotient, gcd_of, whole_bits, whole_gcd
from dpcheck.records import dataclass

SMALL_ENOUGH_TO_REDUCE = 20_000
"""Bounds a table of long numbers whose gcds are taken one by one, in Python."""

LONG_SCALE = 512
"""Scales of so many bits may be divided: below, products are as fast as what it takes to see."""
SHORTENING_PAYS = 3
"""Rows are divided where that takes one in so many bits of the longest scale at least."""

ENTRIES_AT_ONCE = 1 << 16
"""So many entries are renumbered together: what is made on the way fits a cache."""


@dataclass(frozen=True, eq=False)
class Rows:
    """indptr [n+1], targets [n_entries], numerators [n_entries], denominators [n]."""

    indptr: IntArray
    targets: IntArray
    numerators: WeightArray
    denominators: WeightArray

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries of some rows in any order: `numerators[i] / scale` at (`rows[i]`, `targets[i]`).

    `scales` [n_entries] are codes of a `Scales`; a row may hold several scales and repeat targets.
    """

    rows: IntArray
    targets: IntArray
    numerators: WeightArray
    scales: IntArray


def joined(parts: Sequence[Entries]) -> Entries:
    """Return the entries of all parts, at least one, in their order."""
    if len(parts) == 1:
        return parts[0]
    return Entries(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.targets for part in parts]),
        concatenated([part.numerators for part in parts]),
        np.concatenate([part.scales for part in parts]),
    )


def indptr_of(lengths: IntArray) -> IntArray:
    """Return where rows of the given lengths [n] start and end, [n + 1]."""
    indptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the concatenation of `starts[i], ..., starts[i] + lengths[i] - 1`.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    if not len(starts):
        return np.empty(0, np.int64)
    ends = lengths.cumsum()
    found: IntArray = (starts - ends + lengths).repeat(lengths)
    found += np.arange(ends[-1])
    return found


def merged(
    entries: Entries, n_rows: int, n_targets: int, scales: Scales
) -> tuple[IntArray, IntArray, WeightArray, IntArray]:
    """Return (row, target, numerator) [n_entries], row-major, no repeats; scales [n_rows].

    The scale of a row is the lcm of the scales of its entries, so equal targets just add up.
    The sum of a row is at most 1, hence no numerator exceeds its row's scale.
    """
    row_scales = scales.segment_lcms(entries.rows, entries.scales, n_rows)
    bound = scales.bound(row_scales)
    numerators = entries.numerators
    if not is_uniform(entries.scales):
        factors = scales.quotients(row_scales[entries.rows], entries.scales)
        numerators = multiplied(numerators, factors, bound)
    whole = Scaled(entries.rows, entries.targets, numerators, row_scales)
    return *_added_up(whole, n_targets, bound), row_scales


def shortened(
    rows: IntArray, numerators: WeightArray, row_scales: IntArray, scales: Scales
) -> tuple[WeightArray, IntArray]:
    """Return numerators [n_entries] and scales [n_rows] as `merged` does, in fewer digits.

    Each row is divided by what its numerators and its scale have in common, if scales are long and
    the row of the longest becomes much shorter by that: else that few scales are different is worth
    more. A law given what was seen before is a quotient, and its denominator a factor of what leads
    there: undivided, the scales of nine such numbers are products of all.
    """
    if numerators.dtype != object or not len(rows):
        return numerators, row_scales
    values = [scales.values[code] for code in row_scales.tolist()]
    sizes = [whole_bits(value) for value in values]
    longest = max(range(len(sizes)), key=sizes.__getitem__)
    if sizes[longest] < LONG_SCALE:
        return numerators, row_scales
    edges = np.searchsorted(rows, np.arange(len(values) + 1))
    common, quotient = _remembered(whole_gcd), _remembered(exact_quotient)

    def divisor_of(row: int) -> Whole:
        weights: list[Whole] = numerators[edges[row] : edges[row + 1]].tolist()
        divisor: Whole = reduce(common, sorted(weights, key=whole_bits), values[row])
        return divisor

    if SHORTENING_PAYS * whole_bits(divisor_of(longest)) < sizes[longest]:
        return numerators, row_scales
    divisors = [divisor_of(row) for row in range(len(values))]
    of_entries = [divisors[row] for row in rows.tolist()]
    divided = weight_array(list(map(quotient, numerators.tolist(), of_entries)))
    codes = [scales.code(scale) for scale in map(quotient, values, divisors)]
    return divided, np.array(codes, np.int64)


def _remembered(operation: Callable[[Whole, Whole], Whole]) -> Callable[[Whole, Whole], Whole]:
    """Return an operation that is done once for the same two objects.

    They are known by their addresses, and kept, so that no other object is given one.
    """
    known: dict[tuple[int, int], tuple[Whole, Whole, Whole]] = {}

    def result(left: Whole, right: Whole) -> Whole:
        key = id(left), id(right)
        if key not in known:
            known[key] = left, right, operation(left, right)
        return known[key][2]

    return result


@dataclass(frozen=True, eq=False)
class Scaled:
    """Entries in any order: `numerators[i]` over the scale of `rows[i]`, at `targets[i]`.

    `row_scales` [n_rows] are codes of a `Scales`; targets may repeat; numerators are positive.
    """

    rows: IntArray
    targets: IntArray
    numerators: WeightArray
    row_scales: IntArray


def _added_up(
    entries: Scaled, n_targets: int, bound: int | None
) -> tuple[IntArray, IntArray, WeightArray]:
    """Return row, target, numerator [n] in row-major order, without repeats, at most `bound`."""
    bits = n_targets.bit_length()
    keys = entries.rows << bits
    keys |= entries.targets
    if is_increasing(keys):
        return entries.rows, entries.targets, entries.numerators
    keys, order = in_order(keys, len(entries.row_scales) << bits)
    starts = marked(are_first(keys))
    sums = summed(entries.numerators[order], starts, bound)
    keys = keys[starts]
    rows = keys >> bits
    keys &= (1 << bits) - 1
    return rows, keys, sums


def rows_of(entries: Entries, n_rows: int, n_targets: int, scales: Scales) -> Rows:
    """Return the entries as rows in lowest terms."""
    rows, targets, numerators, row_scales = merged(entries, n_rows, n_targets, scales)
    return _as_rows(rows, targets, numerators, scales.weights(row_scales))


def rows_of_scaled(entries: Scaled, n_targets: int, scales: Scales) -> Rows:
    """Return entries that are over the scales of their rows as rows in lowest terms."""
    found = _added_up(entries, n_targets, scales.bound(entries.row_scales))
    return _as_rows(*found, scales.weights(entries.row_scales))


def _as_rows(
    rows: IntArray, targets: IntArray, numerators: WeightArray, denominators: WeightArray
) -> Rows:
    indptr = indptr_of(np.bincount(rows, minlength=len(denominators)))
    return in_lowest_terms(Rows(indptr, targets, numerators, denominators))


def as_slice(states: IntArray | slice) -> IntArray | slice:
    """Return the states as an index, a slice where they follow one another.

    >>> as_slice(np.array([3, 4, 5])), as_slice(np.array([3, 5, 4, 6]))
    (slice(3, 6, None), array([3, 5, 4, 6]))
    """
    if isinstance(states, slice):
        return states
    n = len(states)
    if n and int(states[-1]) - int(states[0]) == n - 1 and is_increasing(states):
        return slice(int(states[0]), int(states[-1]) + 1)
    return states


def entries_of(indptr: IntArray, states: IntArray | slice) -> IntArray | slice:
    """Return where the entries of rows [n] are, row by row; a slice where the rows are one."""
    rows = as_slice(states)
    if isinstance(rows, slice):
        return slice(int(indptr[rows.start]), int(indptr[rows.stop]))
    starts = indptr[rows]
    return ranges(starts, indptr[rows + 1] - starts)


def in_places(parts: list[tuple[IntArray | slice, Rows]], n_rows: int, end: int) -> Rows:
    """Return rows that come in parts, each with the places [n] of its rows; others lead to `end`.

    The list is emptied: what is in place is let go.
    """
    indptr, are_given = np.ones(n_rows + 1, np.int64), np.zeros(n_rows, np.bool_)
    indptr[0], lengths = 0, indptr[1:]
    for places, rows in parts:
        lengths[as_slice(places)] = differences(rows.indptr)
        are_given[places] = True
    np.cumsum(lengths, out=lengths)
    are_small = all(
        rows.numerators.dtype == rows.denominators.dtype == np.int64 for _, rows in parts
    )
    targets = np.empty(indptr[-1], np.int64)
    numerators: WeightArray = np.empty(indptr[-1], np.int64 if are_small else object)
    denominators: WeightArray = np.empty(n_rows, np.int64 if are_small else object)
    others = marked(~are_given)
    targets[indptr[others]], numerators[indptr[others]], denominators[others] = end, 1, 1
    while parts:
        places, rows = parts.pop()
        entries = entries_of(indptr, places)
        targets[entries] = rows.targets
        numerators[entries] = rows.numerators
        denominators[as_slice(places)] = rows.denominators
    return Rows(indptr, targets, numerators, denominators)


def with_sinks(rows: Rows, number: IntArray, *, has_diverged: bool = False) -> Rows:
    """Return the rows of a chain with targets renumbered, the last two rows being its sinks.

    `number` [n_targets] gives the new number of each target, in increasing order. The last two rows
    have an entry each: the first becomes †, and the other, `diverged`, is cut off if nothing leads
    there (and it is not there in any case). The given targets are overwritten, some at a time:
    there may be many millions, and memory that is fresh costs more than the work.
    """
    n_rows, n_entries, targets = rows.n_rows, len(rows.targets), rows.targets
    for first in range(0, n_entries - 2, ENTRIES_AT_ONCE):
        some = targets[first : min(first + ENTRIES_AT_ONCE, n_entries - 2)]
        some[:] = number[some]
        has_diverged = has_diverged or bool((some == n_rows - 1).any())
    targets[-2:] = n_rows - 2, n_rows - 1
    n_cut = 0 if has_diverged else 1
    return Rows(
        rows.indptr[: n_rows + 1 - n_cut],
        targets[: n_entries - n_cut],
        rows.numerators[: n_entries - n_cut],
        rows.denominators[: n_rows - n_cut],
    )


def with_sorted_targets(rows: Rows) -> Rows:
    """Return the rows with increasing targets."""
    sources = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
    order = np.lexsort((rows.targets, sources))
    return Rows(rows.indptr, rows.targets[order], rows.numerators[order], rows.denominators)


def in_lowest_terms(rows: Rows) -> Rows:
    """Divide each row by the greatest common divisor of its numerators.

    Cheap in int64; with large numbers only small tables are reduced, since rows may share them.
    """
    if rows.numerators.dtype == np.int64 and rows.denominators.dtype == np.int64:
        return _divided(rows, _row_gcds(rows))
    if len(rows.numerators) > SMALL_ENOUGH_TO_REDUCE or not _are_integers(rows):
        return rows
    divisors = np.ones(rows.n_rows, object)
    for s in range(rows.n_rows):
        row = rows.numerators[rows.indptr[s] : rows.indptr[s + 1]]
        divisors[s] = gcd_of(row.tolist()) or 1
    return _in_int64_if_possible(_divided(rows, divisors))


def _are_integers(rows: Rows) -> bool:
    return all(isinstance(w, int) for w in as_objects(rows.numerators)) and all(
        isinstance(w, int) for w in as_objects(rows.denominators)
    )


def _row_gcds(rows: Rows) -> IntArray:
    """Return the divisor of each row, [n_rows]: 1 for one that is empty or 0.

    It divides the first and the last numerator: where these have no common divisor, it is 1.
    """
    divisors = np.ones(rows.n_rows, np.int64)
    starts, ends = rows.indptr[:-1], rows.indptr[1:]
    nonempty = marked(ends > starts)
    if not len(nonempty):
        return divisors
    divisors[nonempty] = np.gcd(
        rows.numerators[starts[nonempty]], rows.numerators[ends[nonempty] - 1]
    )
    open_rows = marked(divisors != 1)
    if len(open_rows):
        lengths = (ends - starts)[open_rows]
        entries = rows.numerators[ranges(starts[open_rows], lengths)]
        divisors[open_rows] = np.gcd.reduceat(entries, lengths.cumsum() - lengths)
    return np.maximum(divisors, 1)


def _divided(rows: Rows, divisors: WeightArray) -> Rows:
    if (divisors == 1).all():
        return rows
    lengths = differences(rows.indptr)
    return Rows(
        rows.indptr,
        rows.targets,
        rows.numerators // divisors.repeat(lengths),
        rows.denominators // divisors,
    )


def _in_int64_if_possible(rows: Rows) -> Rows:
    if not len(rows.denominators) or max(int(d) for d in rows.denominators) >= 2**62:
        return rows
    return Rows(
        rows.indptr,
        rows.targets,
        rows.numerators.astype(np.int64),
        rows.denominators.astype(np.int64),
    )
