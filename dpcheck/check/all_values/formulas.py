"""Boolean combinations of P and D for all values at once: where each is true.

Nothing with a P or D stands in the brackets of another, so that the probability of a path formula
is one rational function of the parameter.
"""

from __future__ import annotations

from operator import and_, or_
from typing import assert_never

import numpy as np

from dpcheck.check.all_values.rows import growth_on
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.comparisons import SIGNS, holds, order
from dpcheck.check.values.verdicts import Comparison
from dpcheck.exact import Extended, MinusInfinity, Number, growth_of, subtract
from dpcheck.exact.line import Line
from dpcheck.exact.roots import Region, complement, everywhere, joined, where_above
from dpcheck.logic import formulas as f


def where_true(formula: f.StateFormula, state: int, truths: Truths, line: Line) -> Region:
    """Return for which values a formula is true at a state."""
    match formula:
        case f.Truth(value=value):
            return everywhere(value, line.low, line.high)
        case f.Atom(key=key):
            return everywhere(bool(truths.chain.labelling[key][state]), line.low, line.high)
        case f.Not(argument=argument):
            return complement(_whatever_is_asked(argument, state, truths, line))
        case f.And(arguments=arguments):
            parts = [where_true(each, state, truths, line) for each in arguments]
            return joined(and_, [everywhere(True, line.low, line.high), *parts])
        case f.Or(arguments=arguments):
            parts = [_whatever_is_asked(each, state, truths, line) for each in arguments]
            return joined(or_, [everywhere(False, line.low, line.high), *parts])
        case f.ProbabilityIs(relations=relations, path=path):
            (p,) = truths.probabilities(path, np.array([state]))
            return joined(and_, [compared(p, *relation, line) for relation in relations])
        case f.Private():
            return complement(_where_violated(formula, state, truths, line))
        case _:
            assert_never(formula)


def _whatever_is_asked(formula: f.StateFormula, state: int, truths: Truths, line: Line) -> Region:
    """Return for which values a formula is true at a state for all that may be asked (`Truths`)."""
    states = truths.initial_alike(state)
    return joined(and_, [where_true(formula, each, truths, line) for each in states])


def compared(value: Extended, comparison: Comparison, bound: Extended, line: Line) -> Region:
    """Return for which values of a parameter a comparison is true."""
    if isinstance(value, MinusInfinity | None) or isinstance(bound, MinusInfinity | None):
        return everywhere(holds(comparison, order(value, bound)), line.low, line.high)
    return line.where(subtract(value, bound), SIGNS[comparison])


def _where_violated(formula: f.Private, state: int, truths: Truths, line: Line) -> Region:
    """Return for which values some neighbor of a state violates D{ε, δ}."""
    pairs = truths.pairs_at(np.array([state]))
    ends = truths.probabilities(formula.path, pairs.T.ravel())
    n = len(pairs)
    different = {(p, q) for p, q in zip(ends[:n], ends[n:], strict=True)}
    different |= {(q, p) for p, q in different}
    found = [everywhere(False, line.low, line.high)]
    for p, q in different:
        found.append(_where_exceeded(p, q, formula, line))
        if found[-1].is_everything:
            return found[-1]
    return joined(or_, found)


def _where_exceeded(p: Number, q: Number, formula: f.Private, line: Line) -> Region:
    """Return where p > e^ε q + δ."""
    rest, under = line.polynomials(subtract(p, formula.delta))
    above, below = line.polynomials(q)
    growth = growth_on(line, growth_of(formula.epsilon))
    sides = rest * below, above * under
    return where_above(*sides, growth, line.low, line.high, or_equal=False)
