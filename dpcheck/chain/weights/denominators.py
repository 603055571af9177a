"""Denominators and the arithmetic of rows of exact weights.

A weight array is int64 or holds Python integers and `ExpPolynomial`s. A numerator never exceeds
its denominator, so a product of numerators is safe in int64 as soon as the product of their
denominators is below 2^62; whoever multiplies passes that bound. A chain has few different
denominators: `Scales` numbers them, and an array of denominators is an array of small codes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.chain.arrays import are_first, differences, marked, ranked_keys
from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.sets import distinct, distinct_rows
from dpcheck.exact import ExpPolynomial, Whole, exact_quotient, whole_lcm

INT64_LIMIT = 2**62
"""Bounds numbers of int64 arrays: a sum of two does not wrap."""


class Scales:
    """Numbers for denominators, with products, least common multiples and quotients remembered.

    >>> scales = Scales()
    >>> four, six = scales.code(4), scales.code(6)
    >>> scales.values[scales.lcms(np.array([four]), np.array([six]))[0]]
    12
    """

    def __init__(self) -> None:
        """Start with code 0 for the denominator 1."""
        self.values: list[Whole] = [1]
        self._codes: dict[Whole, int] = {1: 0}
        self._products: dict[tuple[int, int], int] = {}
        self._lcms: dict[tuple[int, int], int] = {}
        self._quotients: dict[tuple[int, int], Whole] = {}

    def code(self, value: Whole) -> int:
        """Return the code of one denominator."""
        found = self._codes.get(value)
        if found is None:
            found = self._codes[value] = len(self.values)
            self.values.append(value)
        return found

    def codes(self, values: WeightArray) -> IntArray:
        """Return the codes [n] of denominators [n]."""
        if values.dtype == np.int64:
            present = distinct(np.asarray(values, np.int64))
            codes = np.array([self.code(v) for v in present.tolist()], np.int64)
            return codes[np.searchsorted(present, values)]
        known: dict[int, int] = {}  # by identity: polynomials take long to hash, and are shared
        found = []
        for value in values.tolist():
            code = known.get(id(value))
            if code is None:
                code = known[id(value)] = self.code(value)
            found.append(code)
        return np.array(found, np.int64)

    def weights(self, codes: IntArray) -> WeightArray:
        """Return the denominators [n] behind codes [n]."""
        return gathered(self.values, codes)

    def products(self, left: IntArray, right: IntArray) -> IntArray:
        """Return the codes [n] of the products, elementwise."""
        return self._pairwise(left, right, self._product)

    def lcms(self, left: IntArray, right: IntArray) -> IntArray:
        """Return the codes [n] of the least common multiples, elementwise."""
        return self._pairwise(left, right, self._lcm)

    def quotients(self, dividends: IntArray, divisors: IntArray) -> WeightArray:
        """Return `dividend / divisor` elementwise, [n]; the caller knows they are exact."""
        if np.array_equal(dividends, divisors):
            return np.ones(len(divisors), np.int64)
        pairs, inverse = distinct_pairs(dividends, divisors, len(self.values))
        return gathered([self._quotient(a, b) for a, b in pairs], inverse)

    def segment_lcms(self, segments: IntArray, codes: IntArray, n_segments: int) -> IntArray:
        """Return the code of each segment's lcm (1 for an empty one), [n_segments].

        In rounds of pairwise merging: in each, every segment of m different codes keeps ⌈m/2⌉.
        """
        result = np.zeros(n_segments, np.int64)
        if is_uniform(codes):
            result[segments] = codes
            return result
        while len(segments):
            m = len(self.values)
            keys = ranked_keys(segments * m + codes)[0]
            segments, codes = keys // m, keys % m
            first = marked(are_first(segments))
            if len(first) == len(segments):
                result[segments] = codes
                break
            lengths = differences(np.append(first, len(segments)))
            place = np.arange(len(segments)) - first.repeat(lengths)
            is_right = place % 2 == 1
            merged = marked(is_right)
            codes = codes.copy()
            codes[merged - 1] = self.lcms(codes[merged - 1], codes[merged])
            segments, codes = segments[~is_right], codes[~is_right]
        return result

    def bound(self, codes: IntArray) -> int | None:
        """Return the largest of the denominators [n], or None if one is not an integer."""
        if not len(codes):
            return 1
        used = codes[:1] if is_uniform(codes) else marked(np.bincount(codes))
        values = [self.values[code] for code in used.tolist()]
        integers = [value for value in values if isinstance(value, int)]
        return max(integers) if len(integers) == len(values) else None

    def _pairwise(
        self, left: IntArray, right: IntArray, operation: Callable[[int, int], int]
    ) -> IntArray:
        if is_uniform(left) and is_uniform(right):
            return np.full(len(left), operation(int(left[0]), int(right[0])), np.int64)
        pairs, inverse = distinct_pairs(left, right, len(self.values))
        return np.array([operation(a, b) for a, b in pairs], np.int64)[inverse]

    def _product(self, a: int, b: int) -> int:
        found = self._products.get((a, b))
        if found is None:
            found = self._products[a, b] = self.code(self.values[a] * self.values[b])
        return found

    def _lcm(self, a: int, b: int) -> int:
        if a == b or b == 0:
            return a
        found = self._lcms.get((a, b))
        if found is None:
            found = self._lcms[a, b] = self.code(whole_lcm(self.values[a], self.values[b]))
        return found

    def _quotient(self, a: int, b: int) -> Whole:
        if a == b:
            return 1
        found = self._quotients.get((a, b))
        if found is None:
            found = self._quotients[a, b] = exact_quotient(self.values[a], self.values[b])
        return found


def is_uniform(codes: IntArray) -> bool:
    """Return whether there are codes [n], and all are the same; much cheaper than sorting them."""
    return len(codes) > 0 and bool(codes[0] == codes[-1] and (codes == codes[0]).all())


def distinct_pairs(
    left: IntArray, right: IntArray, n_codes: int
) -> tuple[list[tuple[int, int]], IntArray]:
    """Return the different pairs of codes [n] below n_codes, and each one's index [n]."""
    pairs, inverse = ranked_keys(left * n_codes + right)
    return [divmod(key, n_codes) for key in pairs.tolist()], inverse


def weight_array(values: list[Whole]) -> WeightArray:
    """Return the weights as an array [n]: int64 when all are integers below 2^62 in size."""
    if set(map(type, values)) <= {int}:
        integers: list[int] = values  # type: ignore[assignment]
        if max(integers, default=0) < INT64_LIMIT and min(integers, default=0) > -INT64_LIMIT:
            return np.array(integers, np.int64)
    array = np.empty(len(values), np.object_)
    array[:] = values
    return array


def gathered(values: list[Whole], index: IntArray) -> WeightArray:
    """Return `values[index]` [n_index] as a weight array.

    Where few of many values are meant, the others are not looked at: a chain of n levels asks n
    times for the denominators of one level.
    """
    if len(index) < len(values):
        return weight_array([values[place] for place in index.tolist()])
    return weight_array(values)[index]


def as_objects(weights: WeightArray) -> WeightArray:
    """Return the weights [n] as an object array [n]."""
    return weights.astype(object) if weights.dtype == np.int64 else weights


def concatenated(parts: list[WeightArray]) -> WeightArray:
    """Return one array [n] of all weights, objects if any part holds objects."""
    if not parts:
        return np.empty(0, np.int64)
    if all(part.dtype == np.int64 for part in parts):
        return np.concatenate(parts).astype(np.int64, copy=False)
    joined: WeightArray = np.concatenate([as_objects(part) for part in parts])
    return joined


def repeated(weights: WeightArray, counts: IntArray) -> WeightArray:
    """Return each weight repeated as often as `counts` [n_weights] says."""
    chosen: WeightArray = weights.repeat(counts)
    return chosen


def multiplied(left: WeightArray, right: WeightArray, bound: int | None) -> WeightArray:
    """Return the elementwise product [n], each at most `bound` (None: not integers).

    Factors 1 are skipped (by elements of ℤ[e^r] themselves), so that large numbers stay shared
    between rows.
    """
    if right.dtype == np.int64:
        are_others = right != 1
        if not are_others.any():
            return left
        if left.dtype == np.int64 and fits(bound):
            return left * right
        others = marked(are_others)
    elif left.dtype == np.int64:
        return multiplied(right, left, bound)
    elif bound is None:
        return _shared_products(left, right)
    else:
        return left * right
    product = as_objects(left).copy()
    product[others] = product[others] * as_objects(right)[others]
    return product


def _shared_products(left: WeightArray, right: WeightArray) -> WeightArray:
    """Return the elementwise products [n] of elements of ℤ[e^r], one object for equal factors.

    Weights come from few distributions, so the same two numbers meet again and again, and a product
    takes fifty times as long as finding it again.
    """
    (first, left_values), (second, right_values) = interned(left), interned(right)
    kinds, which = np.unique(first * len(right_values) + second, return_inverse=True)
    pairs = [divmod(kind, len(right_values)) for kind in kinds.tolist()]
    products = np.empty(len(pairs), np.object_)
    products[:] = [left_values[i] * right_values[j] for i, j in pairs]
    found: WeightArray = products[which]
    return found


_POINT = 1_000_003
"""Polynomials with different values here differ; those with one value are compared."""


def interned(weights: WeightArray) -> tuple[IntArray, list[Whole]]:
    """Return codes [n] of elements of ℤ[e^r], and the element of each code.

    Equal codes are equal elements. (Not the other way: one over two units has two.)
    """
    addresses = np.fromiter(map(id, weights), np.int64, len(weights))
    _, first, which = np.unique(addresses, return_index=True, return_inverse=True)
    values: list[Whole] = []
    alike: dict[object, list[int]] = {}
    codes = np.empty(len(first), np.int64)
    for k, value in enumerate(weights[first].tolist()):
        at_point = int(value.coefficients(_POINT)) if isinstance(value, ExpPolynomial) else value
        known = alike.setdefault(at_point, [])
        code = next((c for c in known if values[c] == value), None)
        if code is None:
            code = len(values)
            known.append(code)
            values.append(value)
        codes[k] = code
    return codes[which], values


def summed(weights: WeightArray, starts: IntArray, bound: int | None) -> WeightArray:
    """Return the sums [n] of non-empty segments that begin at `starts`, each at most `bound`."""
    if not len(starts):
        return weights[:0]
    if len(starts) == len(weights):
        return weights
    if weights.dtype == np.int64 and not fits(bound):
        weights = weights.astype(object)
    if weights.dtype == object and ExpPolynomial in set(map(type, weights)):
        return shared_sums(weights, starts, interned(weights)[0])
    sums: WeightArray = np.add.reduceat(weights, starts)
    return sums


MAX_SHARED, LEAST_ALIKE = 256, 8
"""Segments up to so long, so many of a length, are compared before they are added up."""


def shared_sums(weights: WeightArray, starts: IntArray, codes: IntArray) -> WeightArray:
    """Return the sums [n_starts] of segments of elements of ℤ[e^r]; equal segments share one.

    codes [n]: equal ones stand for equal weights. A segment is the multiset of its codes. Numbers
    of a table are few, and a sum takes fifty times as long as finding it again.
    """
    lengths = np.diff(np.append(starts, len(weights)))
    sums = np.empty(len(starts), np.object_)
    kinds, counts = np.unique(lengths, return_counts=True)
    many = kinds[(kinds <= MAX_SHARED) & (counts >= LEAST_ALIKE)]
    for length in many.tolist():
        segments = marked(lengths == length)
        places = starts[segments][:, None] + np.arange(length)
        first, group = distinct_rows(list(np.sort(codes[places], axis=1).T))
        chosen = places[first].reshape(-1)
        found = np.add.reduceat(weights[chosen], np.arange(0, len(chosen), length))
        sums[segments] = found[group]
    for k in marked(~np.isin(lengths, many)).tolist():
        sums[k] = np.add.reduce(weights[starts[k] : starts[k] + lengths[k]])
    return sums


def fits(bound: int | None) -> bool:
    """Return whether numbers up to the bound are int64 (None: they are not integers)."""
    return bound is not None and bound < INT64_LIMIT
