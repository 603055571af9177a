"""Blocks of inputs, and which inputs may be the neighbors of a block's.

A block is halved at the middle of its widest variable as long as it is large (a k-d tree: Bentley,
Multidimensional binary search trees, 1975), so that it is about as wide in all directions and few
neighbors lie apart: of k counts that one person changes by one, cut in two each, one in so many
inputs as a count has values is next to a cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.explore.inputs.adjacency import primed_names
from dpcheck.explore.inputs.adjacency_patterns import Distance, conjunctions, distances
from dpcheck.explore.inputs.certain_values import TRUTH, shape, shape_of_column
from dpcheck.explore.values.codes import PLAIN, ValueTable
from dpcheck.model.expressions import Expr
from dpcheck.model.program import AdjacentWhere, Mechanism
from dpcheck.records import replace

Columns = Mapping[str, IntArray]

Reach = Sequence[Distance]
"""Bounds on how far neighbors are apart, all of which hold; the pairs are of input variables."""


def input_blocks(inputs: Columns, n_inputs: int, size: int) -> list[IntArray]:
    """Return rows of the inputs, increasing, [n] each and mostly at most `size`: a partition."""
    waiting, found = [np.arange(n_inputs)], list[IntArray]()
    while waiting:
        rows = waiting.pop()
        ranges = {name: _range(column[rows]) for name, column in inputs.items()}
        widest = max(ranges, key=lambda name: ranges[name][1] - ranges[name][0])
        low, high = ranges[widest]
        if len(rows) <= size or low == high:
            found.append(rows)
            continue
        is_low = inputs[widest][rows] < low + (high - low + 1) // 2
        waiting += [rows[~is_low], rows[is_low]]
    return found


def _range(column: IntArray) -> tuple[int, int]:
    """Return the least and the largest code of a column [n]."""
    return int(column.min()), int(column.max())


def reaches(mechanism: Mechanism, inputs: Columns, table: ValueTable) -> list[Reach] | None:
    """Return bounds of which every pair of neighbors keeps some; None where there are none.

    A part of a condition is skipped for pairs that break a bound, so all of it has to have a value
    for certain: else a mistake of the user's might not be met.
    """
    found: list[Reach] = []
    shapes = {name: shape_of_column(column, table) for name, column in inputs.items()}
    for clause in mechanism.adjacency:
        if not isinstance(clause, AdjacentWhere):
            return None
        primed = primed_names(inputs, clause.condition)
        known = shapes | {primed[name]: each for name, each in shapes.items()}
        if shape(clause.condition, known) != TRUTH:
            return None
        found += [_reach(part, inputs, primed) for part in conjunctions(clause.condition)]
    return found if found and all(found) else None


def _reach(conjuncts: Sequence[Expr], inputs: Columns, primed: Mapping[str, str]) -> Reach:
    """Return the bounds of a conjunction that codes of inputs can be held against.

    Codes of integers are these integers; other codes tell only whether values are equal.
    """
    names = {other: name for name, other in primed.items()}
    numeric = {name for name, column in inputs.items() if _range(column)[1] < PLAIN}
    found = []
    for bound in distances(conjuncts, (frozenset(inputs), frozenset(names))):
        pairs = tuple((left, names[right]) for left, right in bound.pairs)
        if bound.norm == "hamming" or numeric.issuperset(name for pair in pairs for name in pair):
            found.append(replace(bound, pairs=pairs))
    return found


def within_reach(inputs: Columns, rows: IntArray, known: Sequence[Reach]) -> IntArray:
    """Return rows of the inputs, increasing, among which are the given ones [n] and all neighbors.

    What differs from each value between the least and the largest of a block differs by the way to
    the nearer of the two at least.
    """
    ranges = {name: _range(column[rows]) for name, column in inputs.items()}
    found = np.zeros(len(next(iter(inputs.values()))), np.bool_)
    found[rows] = True
    for reach in known:
        found |= _is_within(inputs, ranges, reach)
        turned = [replace(each, pairs=tuple((b, a) for a, b in each.pairs)) for each in reach]
        if any(one.pairs != other.pairs for one, other in zip(reach, turned, strict=True)):
            found |= _is_within(inputs, ranges, turned)
    return marked(found)


def _is_within(inputs: Columns, ranges: Mapping[str, tuple[int, int]], reach: Reach) -> BoolArray:
    """Return which inputs [n_inputs] all bounds allow beside some values in the ranges."""
    found = np.ones(len(next(iter(inputs.values()))), np.bool_)
    for bound in reach:
        n_outside = np.zeros(len(found), np.int64)
        far = 0 if bound.norm == "hamming" else bound.bound
        for name, other in bound.pairs:
            low, high = ranges[name]
            n_outside += (inputs[other] < low - far) | (inputs[other] > high + far)
        found &= n_outside <= (bound.bound if bound.norm == "hamming" else 0)
    return found
