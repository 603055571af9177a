"""Rows of silent states over few targets, as a table: a column of numerators for each target.

A mechanism that shows one of a few values (a winner, yes or no) has few targets but perhaps
millions of silent steps. Each step then adds a multiple of one line of the table to another, and
whole columns are gathered, multiplied and summed, limb by limb (`limbs`): no targets are sorted or
looked up. Lines that are added up are over one scale, so that weights are short: those of a
row sum to at most the least common multiple of the denominators of the rows added up together.
Nothing is reduced on the way. Numbers of a few limbs take a tenth of the time and of the memory of
Python's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct
from dpcheck.chain.weights.denominators import Scales, is_uniform, multiplied, repeated
from dpcheck.chain.weights.limbs import LIMB_BITS, as_weights, carried, n_limbs_for, scaled
from dpcheck.chain.weights.rows import Rows, in_lowest_terms, indptr_of, ranges
from dpcheck.exact import exact_quotient

if TYPE_CHECKING:
    from dpcheck.chain.contraction.silent_graph import SilentGraph

MAX_WIDTH = 16
"""With so many targets at most there is a table."""
MAX_LONG_BITS = 256
"""Common denominators of all levels together have so many bits at most."""


class NoTable(Exception):
    """The table cannot hold the rows: a common multiple is too long, or a state leads nowhere."""


def few_targets(graph: SilentGraph) -> IntArray | None:
    """Return the states [n], not silent, that edges lead to, None if a table is no use."""
    targets = np.flatnonzero(graph.is_met & ~graph.silent)
    return targets if graph.numerators.dtype == np.int64 and len(targets) <= MAX_WIDTH else None


def are_limbs_few(graph: SilentGraph, levels: Sequence[IntArray]) -> bool:
    """Return whether each level's denominators have a short common multiple, all a bearable one.

    The scale of a line is a divisor of the product of the multiples of its level and those below.
    """
    multiples = [_common_multiple(graph.scales, graph.scale[states]) for states in levels]
    n_bits = [0 if multiple is None else multiple.bit_length() for multiple in multiples]
    return None not in multiples and max(n_bits) <= LIMB_BITS and sum(n_bits) <= MAX_LONG_BITS


class LimbTable:
    """The rows found so far: line of each state [n_targets], scale of each line [n_lines].

    `columns` [width][n_limbs][n_lines]; a target has a line as well: it is where it is, with
    probability 1.
    """

    def __init__(self, graph: SilentGraph, targets: IntArray) -> None:
        """Start with the lines of targets [n]."""
        self.graph, self.targets = graph, targets
        n_lines = len(targets) + np.count_nonzero(graph.silent)
        self.columns = [[np.zeros(n_lines, np.int64)] for _ in targets]
        for k, column in enumerate(self.columns):
            column[0][k] = 1
        self.line = np.full(graph.n_targets, -1, np.int64)
        self.line[targets] = np.arange(len(targets))
        self.scale = np.zeros(n_lines, np.int64)
        self.n_lines = len(targets)

    def costs(self, states: IntArray) -> IntArray:
        """Return how many entries each state's row expands to, [n_states]."""
        return self.graph.indptr[states + 1] - self.graph.indptr[states]

    def keep(self, states: IntArray) -> None:
        """Add the rows of silent states [n] whose successors are there already."""
        sums, scale = self._summed(states)
        lines = slice(self.n_lines, self.n_lines + len(states))
        for column, limbs in zip(self.columns, sums, strict=True):
            for limb, values in zip(column, limbs, strict=True):
                limb[lines] = values
        self.line[states] = np.arange(lines.start, lines.stop)
        self.scale[lines] = scale
        self.n_lines = lines.stop

    def combined(self, states: IntArray) -> Rows:
        """Return the rows of some states [n]."""
        sums, scale = self._summed(states)
        is_entry = np.stack([reduce(np.bitwise_or, limbs) != 0 for limbs in sums], axis=1)
        row, column = np.nonzero(is_entry)
        indptr = indptr_of(np.bincount(row, minlength=len(states)))
        by_limb = [np.stack(limbs, axis=1)[is_entry] for limbs in zip(*sums, strict=True)]
        denominators = self.graph.scales.weights(np.full(len(states), scale))
        return in_lowest_terms(
            Rows(indptr, self.targets[column], as_weights(by_limb), denominators)
        )

    def _summed(self, states: IntArray) -> tuple[list[list[IntArray]], int]:
        """Return columns [width][n_limbs][n_states], and the code of the scale of all rows.

        Numerators of a row sum to at most its denominator, so its weights to at most `common`, and
        the sums are at most `common` times the scale of the lines.
        """
        graph, scales = self.graph, self.graph.scales
        lengths, own = self.costs(states), graph.scale[states]
        common = _common_multiple(scales, own)
        if not np.all(lengths) or common is None or common >> LIMB_BITS:
            raise NoTable
        steps = ranges(graph.indptr[states], lengths)
        lines = self.line[graph.targets[steps]]
        bound = common * self._brought_to_one_scale(lines)
        self._widen(bound)
        factors = scales.quotients(np.full(len(own), scales.code(common)), own)
        weights = multiplied(graph.numerators[steps], repeated(factors, lengths), common)
        starts, n_limbs = np.cumsum(lengths) - lengths, len(self.columns[0])
        sums = [
            carried([np.add.reduceat(limb[lines] * weights, starts) for limb in column], n_limbs)
            for column in self.columns
        ]
        return sums, scales.code(bound)

    def _brought_to_one_scale(self, lines: IntArray) -> int:
        """Bring some lines [n] to the least common multiple of their scales, and return that."""
        is_used = np.zeros(self.n_lines, np.bool_)
        is_used[lines] = True
        used = np.flatnonzero(is_used)
        codes, scales = self.scale[used], self.graph.scales
        common = _common_multiple(scales, codes)
        assert common is not None, "all denominators are integers"
        if is_uniform(codes):
            return common
        self._widen(common)
        for code in distinct(codes).tolist():
            factor, chosen = exact_quotient(common, scales.values[code]), used[codes == code]
            assert isinstance(factor, int), "all denominators are integers"
            for column in self.columns if factor > 1 else ():
                products = scaled([limb[chosen] for limb in column], factor, len(column))
                for limb, values in zip(column, products, strict=True):
                    limb[chosen] = values
        self.scale[used] = scales.code(common)
        return common

    def _widen(self, bound: int) -> None:
        """Give all columns limbs for numbers up to a bound."""
        n_limbs = n_limbs_for(bound)
        if n_limbs > len(self.columns[0]):
            self.columns = [carried(column, n_limbs) for column in self.columns]


def _common_multiple(scales: Scales, codes: IntArray) -> int | None:
    """Return the least common multiple of denominators [n], None if one is not an integer."""
    if scales.bound(codes) is None:
        return None
    common = scales.segment_lcms(np.zeros(len(codes), np.int64), codes, 1)
    value = scales.values[common.item(0)]
    assert isinstance(value, int), "a multiple of integers"
    return value
