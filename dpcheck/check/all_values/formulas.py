"""Boolean combinations of P and D for all values at once: where each is true.

Nothing with a P or D stands in the brackets of another, so that the probability of a path formula
is one rational function of the parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from operator import and_, or_
from typing import assert_never

import numpy as np
from flint import fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct, in_order
from dpcheck.check.all_values.rows import growth_on
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.comparisons import SIGNS, holds, order
from dpcheck.check.values.verdicts import Comparison
from dpcheck.exact import Extended, MinusInfinity, Number, growth_of, subtract
from dpcheck.exact.line import Line
from dpcheck.exact.roots import Region, complement, everywhere, joined, where_above
from dpcheck.logic import formulas as f
from dpcheck.records import dataclass, field


@dataclass(frozen=True, eq=False)
class Where:
    """For which values formulas are true at states."""

    truths: Truths
    line: Line
    comparisons: dict[f.Private, _Comparisons] = field(default_factory=dict)

    def where_true(self, formula: f.StateFormula, state: int) -> Region:
        """Return for which values a formula is true at a state."""
        truths, line = self.truths, self.line
        match formula:
            case f.Truth(value=value):
                return everywhere(value, line.low, line.high)
            case f.Atom(key=key):
                return everywhere(bool(truths.chain.labelling[key][state]), line.low, line.high)
            case f.Not(argument=argument):
                return complement(self._whatever_is_asked(argument, state))
            case f.And(arguments=arguments):
                parts = [self.where_true(each, state) for each in arguments]
                return joined(and_, [everywhere(True, line.low, line.high), *parts])
            case f.Or(arguments=arguments):
                parts = [self._whatever_is_asked(each, state) for each in arguments]
                return joined(or_, [everywhere(False, line.low, line.high), *parts])
            case f.ProbabilityIs(relations=relations, path=path):
                (p,) = truths.probabilities(path, np.array([state]))
                return joined(and_, [compared(p, *relation, line) for relation in relations])
            case f.Private():
                return complement(self._where_violated(formula, state))
            case _:
                assert_never(formula)

    def _whatever_is_asked(self, formula: f.StateFormula, state: int) -> Region:
        """Return for which values it is true for all states that may be asked (`Truths`)."""
        states = self.truths.initial_alike(state)
        return joined(and_, [self.where_true(formula, each) for each in states])

    def _where_violated(self, formula: f.Private, state: int) -> Region:
        """Return for which values some neighbor of a state violates D{ε, δ}."""
        if formula not in self.comparisons:
            self.comparisons[formula] = _Comparisons(formula, self.truths, self.line)
        known, (starts, ends) = self.comparisons[formula], self.neighbors
        found = [everywhere(False, self.line.low, self.line.high)]
        for pair in known.pairs(state, ends[starts[state] : starts[state + 1]]):
            region = known.where_exceeded(pair)
            if region.is_everything:
                return region
            if not region.is_empty:
                found.append(region)
        return joined(or_, found)

    @cached_property
    def neighbors(self) -> tuple[IntArray, IntArray]:
        """Where the neighbors of each state begin, [n_states + 1], and all of these in order."""
        pairs = self.truths.pairs
        both_ways = np.concatenate([pairs, pairs[:, ::-1]])
        n_states = self.truths.chain.n_states
        first, order = in_order(both_ways[:, 0], n_states)
        return np.searchsorted(first, np.arange(n_states + 1)), both_ways[order, 1]


class _Comparisons:
    """Where p > e^ε q + δ, for the ε and δ of a formula: different numbers are compared once."""

    def __init__(self, formula: f.Private, truths: Truths, line: Line) -> None:
        """Know no probability yet."""
        self.formula, self.truths, self.line = formula, truths, line
        self.growth = growth_on(line, growth_of(formula.epsilon))
        self.places: dict[Number, int] = {}
        self.quotients: list[tuple[tuple[fmpz_poly, fmpz_poly], ...]] = []  # of p - δ and of p
        self.codes = np.full(truths.chain.n_states, -1, np.int64)
        self.known: dict[tuple[int, int], Region] = {}

    def pairs(self, state: int, neighbors: IntArray) -> Iterator[tuple[int, int]]:
        """Yield the different places of the probabilities of a state and neighbors, both ways."""
        states = np.append(neighbors, state)
        missing = distinct(states[self.codes[states] < 0])
        for each, p in zip(
            missing, self.truths.probabilities(self.formula.path, missing), strict=True
        ):
            self.codes[each] = place = self.places.setdefault(p, len(self.quotients))
            if place == len(self.quotients):
                sides = subtract(p, self.formula.delta), p
                self.quotients.append(tuple(map(self.line.polynomials, sides)))
        own = int(self.codes[state])
        for other in distinct(self.codes[neighbors]).tolist():
            yield own, other
            yield other, own

    def where_exceeded(self, pair: tuple[int, int]) -> Region:
        """Return where the first number is more than the second one allows."""
        if pair not in self.known:
            (rest, under), _ = self.quotients[pair[0]]
            _, (above, below) = self.quotients[pair[1]]
            sides, ends = (rest * below, above * under), (self.line.low, self.line.high)
            self.known[pair] = where_above(*sides, self.growth, *ends, or_equal=False)
        return self.known[pair]


def compared(value: Extended, comparison: Comparison, bound: Extended, line: Line) -> Region:
    """Return for which values of a parameter a comparison is true."""
    if isinstance(value, MinusInfinity | None) or isinstance(bound, MinusInfinity | None):
        return everywhere(holds(comparison, order(value, bound)), line.low, line.high)
    return line.where(subtract(value, bound), SIGNS[comparison])
