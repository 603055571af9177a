"""Small chains written down row by row, and path formulas without positions, for the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm

import numpy as np
from flint import fmpq

from dpcheck.chain.chain import BoolArray, Chain, IntArray, NeighborRelation
from dpcheck.chain.weights.denominators import weight_array
from dpcheck.exact import Number
from dpcheck.limits import Limits
from dpcheck.logic import formulas as f
from dpcheck.solve import path_probabilities
from dpcheck.source import SourceText, Span

HERE = Span(SourceText("test", ""), 0, 0)

Row = dict[int, Fraction]


def make_chain(rows: Sequence[Row], labels: Sequence[str]) -> Chain:
    """Return the chain with these rows (each sums to 1); `labels[s]` holds one letter a label."""
    indptr, targets, numerators, denominators = [0], [], [], []
    for row in rows:
        assert sum(row.values()) == 1
        scale = lcm(*(weight.denominator for weight in row.values()))
        for target in sorted(row):
            if row[target]:
                targets.append(target)
                numerators.append(int(row[target] * scale))
        denominators.append(scale)
        indptr.append(len(targets))
    letters = sorted(set("".join(labels)))
    n = len(rows)
    return Chain(
        np.array(indptr, np.int64),
        np.array(targets, np.int64),
        weight_array(numerators),
        weight_array(denominators),
        np.arange(n),
        NeighborRelation(np.empty((0, 2), np.int64)),
        np.full(n, -1, np.int64),
        {letter: np.array([letter in label for label in labels]) for letter in letters},
        n - 1,
        None,
        str,
        str,
    )


def truth(chain: Chain) -> Callable[[f.StateFormula], BoolArray]:
    """Return the evaluation of Boolean combinations of atoms on a chain."""

    def satisfying(state: f.StateFormula) -> BoolArray:
        match state:
            case f.Truth(value):
                return np.full(chain.n_states, value)
            case f.Atom(key):
                return chain.labelling.get(key, np.zeros(chain.n_states, np.bool_))
            case f.Not(argument):
                return ~satisfying(argument)
            case f.And(arguments):
                return np.logical_and.reduce([satisfying(a) for a in arguments])
            case f.Or(arguments):
                return np.logical_or.reduce([satisfying(a) for a in arguments])
        raise AssertionError(state)

    return satisfying


def probabilities(
    chain: Chain,
    path: f.PathFormula,
    states: IntArray | None = None,
    limits: Limits | None = None,
) -> list[Number]:
    """Return the probability of the path formula from the given states (all by default)."""
    asked = np.arange(chain.n_states) if states is None else states
    return path_probabilities(
        chain, path, satisfying=truth(chain), states=asked, limits=limits or Limits()
    )


def as_fraction(value: Number) -> Fraction:
    """Return a rational number as a `Fraction`."""
    if isinstance(value, int):
        return Fraction(value)
    assert isinstance(value, fmpq)
    return Fraction(int(value.p), int(value.q))


def atom(key: str) -> f.PathFormula:
    return f.Holds(f.Atom(key, HERE), HERE)


def no(path: f.PathFormula) -> f.PathFormula:
    return f.PathNot(path, HERE)


def both(*paths: f.PathFormula) -> f.PathFormula:
    return f.PathAnd(paths, HERE)


def either(*paths: f.PathFormula) -> f.PathFormula:
    return f.PathOr(paths, HERE)


def following(path: f.PathFormula) -> f.PathFormula:
    return f.Next(path, HERE)


def finally_(path: f.PathFormula, bound: int | None = None) -> f.PathFormula:
    return f.Finally(path, bound, HERE)


def globally(path: f.PathFormula, bound: int | None = None) -> f.PathFormula:
    return f.Globally(path, bound, HERE)


def until(left: f.PathFormula, right: f.PathFormula, bound: int | None = None) -> f.PathFormula:
    return f.Until(left, right, bound, HERE)


def weak(left: f.PathFormula, right: f.PathFormula) -> f.PathFormula:
    return f.WeakUntil(left, right, HERE)


def release(left: f.PathFormula, right: f.PathFormula) -> f.PathFormula:
    return f.Release(left, right, HERE)
