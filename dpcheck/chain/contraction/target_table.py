"""Rows of silent states over few targets, as a table: a column of numerators for each target.

A mechanism that shows one of a few values (a winner, yes or no) has few targets but perhaps
millions of silent steps. Each step then adds a multiple of one line of the table to another, and
whole columns are gathered, multiplied and summed: no targets are sorted or looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.weights.denominators import fits, multiplied
from dpcheck.chain.weights.rows import Rows, ranges

if TYPE_CHECKING:
    from dpcheck.chain.contraction.silent_graph import SilentGraph

MAX_WIDTH = 16
"""With so many targets at most there is a table."""


class NoTable(Exception):
    """A table cannot hold the rows: a denominator is no int64, or a state leads nowhere."""


MAX_BITS = 78
"""Denominators of all levels together have so many bits at most; they are multiplied, and reduced
a little: with more, they seldom stay below 2^62."""


def few_targets(graph: SilentGraph) -> IntArray | None:
    """Return the states [n], not silent, that edges lead to, None if a table is no use."""
    targets = np.flatnonzero(graph.is_met & ~graph.silent)
    return targets if graph.numerators.dtype == np.int64 and len(targets) <= MAX_WIDTH else None


def are_short(graph: SilentGraph, levels: Sequence[IntArray]) -> bool:
    """Return whether denominators of levels[n_levels][n_states] may have a product below 2^62."""
    bounds = [graph.scales.bound(graph.scale[states]) for states in levels]
    n_bits = sum(0 if bound is None else bound.bit_length() for bound in bounds)
    return n_bits <= MAX_BITS and None not in bounds


class TargetTable:
    """The rows found so far: `columns` [width][n_lines], line and scale of each state [n_targets].

    A target has a line as well: it is where it is, with probability 1.
    """

    def __init__(self, graph: SilentGraph, targets: IntArray) -> None:
        """Start with the lines of targets [n]."""
        self.graph, self.targets = graph, targets
        n_lines = len(targets) + np.count_nonzero(graph.silent)
        self.columns = [np.zeros(n_lines, np.int64) for _ in targets]
        for k, column in enumerate(self.columns):
            column[k] = 1
        self.line = np.full(graph.n_targets, -1, np.int64)
        self.line[targets] = np.arange(len(targets))
        self.scale = np.zeros(graph.n_targets, np.int64)
        self.n_lines = len(targets)

    def costs(self, states: IntArray) -> IntArray:
        """Return how many entries each state's row expands to, [n_states]."""
        return self.graph.indptr[states + 1] - self.graph.indptr[states]

    def keep(self, states: IntArray) -> None:
        """Add the rows of silent states [n] whose successors are there already."""
        sums, scale = self._summed(states)
        lines = slice(self.n_lines, self.n_lines + len(states))
        for column, values in zip(self.columns, sums, strict=True):
            column[lines] = values
        self.line[states] = np.arange(lines.start, lines.stop)
        self.scale[states] = scale
        self.n_lines = lines.stop

    def combined(self, states: IntArray) -> Rows:
        """Return the rows of some states [n]."""
        sums, scale = self._summed(states)
        table = np.stack(sums, axis=1)
        row, column = table.nonzero()
        indptr = np.zeros(len(states) + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=len(states)), out=indptr[1:])
        denominators = self.graph.scales.weights(scale)
        return Rows(indptr, self.targets[column], table[row, column], denominators)

    def _summed(self, states: IntArray) -> tuple[list[IntArray], IntArray]:
        """Return columns [width][n_states] in lowest terms, and the code of each row's scale.

        Steps are brought to the scale of their row; no sum exceeds it, so it bounds all numbers.
        """
        graph, scales = self.graph, self.graph.scales
        lengths = self.costs(states)
        steps = ranges(graph.indptr[states], lengths)
        rows = np.arange(len(states)).repeat(lengths)
        targets = graph.targets[steps]
        scale = scales.products(graph.scale[states][rows], self.scale[targets])
        row_scales = scales.segment_lcms(rows, scale, len(states))
        bound = scales.bound(row_scales)
        if not fits(bound) or not lengths.all():
            raise NoTable
        factors = scales.quotients(row_scales[rows], scale)
        weights = multiplied(graph.numerators[steps], factors, bound)
        lines, starts = self.line[targets], lengths.cumsum() - lengths
        sums = [np.add.reduceat(column[lines] * weights, starts) for column in self.columns]
        divisors = reduce(np.gcd, sums)
        if (divisors == 1).all():
            return sums, row_scales
        denominators = scales.weights(row_scales) // divisors
        return [column // divisors for column in sums], scales.codes(denominators)
