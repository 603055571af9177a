"""Where state formulas hold, on a chain, and why not.

`D{ε, δ} [ φ ]` holds at s if for every neighbor t of s (never s itself) P_s(φ) <= e^ε P_t(φ) + δ
and P_t(φ) <= e^ε P_s(φ) + δ (Liu, Wang, Zhang, APLAS 2018); so it holds where a state has none.
Neighbors are the declared pairs and, for mechanisms, the later pairs that neighboring runs reach.
One evaluation of a path formula gives its probabilities at all states asked for, and serves
every pair; it is remembered by the formula object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain, IntArray
from dpcheck.check.factors import Gap
from dpcheck.check.privacy import holds
from dpcheck.exact import Number, compare, excess_sign
from dpcheck.limits import Limits
from dpcheck.logic.formulas import (
    And,
    Atom,
    Not,
    Or,
    PathFormula,
    Private,
    ProbabilityIn,
    ProbabilityIs,
    StateFormula,
    Truth,
)
from dpcheck.solve import path_probabilities


class Truths:
    """The truth of formulas on one chain, each computed once.

    >>> # satisfied = Truths(chain, Limits()).at(formula, chain.initial)
    """

    def __init__(self, chain: Chain, limits: Limits) -> None:
        """Remember nothing yet; `pairs` [n, 2] are all neighbors, declared and later."""
        self.chain = chain
        self.limits = limits
        self.pairs: IntArray = np.concatenate([chain.neighbors.pairs, chain.neighbors.later])
        self._everywhere: dict[int, tuple[StateFormula, BoolArray]] = {}
        self._known: dict[int, tuple[PathFormula, dict[int, Number]]] = {}

    def at(self, formula: StateFormula, states: IntArray) -> BoolArray:
        """Return where a formula holds among some states, [n_given]."""
        match formula:
            case Truth(value=value):
                return np.full(len(states), value)
            case Atom(key=key):
                return self.chain.labelling[key][states]
            case Not(argument=argument):
                return ~self.at(argument, states)
            case And(arguments=arguments):
                truth: BoolArray = np.all([self.at(each, states) for each in arguments], axis=0)
                return truth
            case Or(arguments=arguments):
                return ~self.at(And(tuple(Not(a, a.span) for a in arguments), formula.span), states)
            case ProbabilityIs() | ProbabilityIn():
                probabilities = self.probabilities(formula.path, states)
                satisfied = {p: satisfies(p, formula) for p in set(probabilities)}
                return np.array([satisfied[p] for p in probabilities], np.bool_)
            case Private():
                failing = np.zeros(self.chain.n_states, np.bool_)
                failing[self.violating(formula, self.pairs_at(states))] = True
                return ~failing[states]
            case _:
                assert_never(formula)

    def everywhere(self, formula: StateFormula) -> BoolArray:
        """Return where a formula holds among all states, [n_states]."""
        known = self._everywhere.get(id(formula))
        if known is None:
            states = np.arange(self.chain.n_states, dtype=np.int64)
            known = self._everywhere[id(formula)] = formula, self.at(formula, states)
        return known[1]

    def probabilities(self, path: PathFormula, states: IntArray) -> list[Number]:
        """Return the probability of a path formula from each of some states."""
        known = self._known.setdefault(id(path), (path, {}))[1]
        wanted = states.tolist()
        missing = sorted({s for s in wanted if s not in known})
        if missing:
            found = path_probabilities(
                self.chain,
                path,
                satisfying=self.everywhere,
                states=np.array(missing, np.int64),
                limits=self.limits,
            )
            known.update(zip(missing, found, strict=True))
        return [known[s] for s in wanted]

    def pairs_at(self, states: IntArray) -> IntArray:
        """Return the pairs of neighbors with an end among some states, [n_pairs, 2]."""
        chosen = np.zeros(self.chain.n_states, np.bool_)
        chosen[states] = True
        return self.pairs[chosen[self.pairs].any(axis=1)]

    def gaps(self, path: PathFormula, pairs: IntArray) -> Iterator[Gap]:
        """Yield the probabilities of a path formula at both ends of each pair, the larger first."""
        first = self.probabilities(path, pairs[:, 0])
        second = self.probabilities(path, pairs[:, 1])
        for k, (p, q) in enumerate(zip(first, second, strict=True)):
            is_forward = compare(p, q) >= 0
            yield Gap(p, q, k, True) if is_forward else Gap(q, p, k, False)

    def violating(self, formula: Private, pairs: IntArray) -> IntArray:
        """Return the pairs, of the given ones, that violate a formula D, [n_violating, 2].

        For ε >= 0 the larger probability is the one to look at; for ε < 0 a pair may violate in
        either direction, and does in this one if it does in the other.
        """
        decided: dict[tuple[Number, Number], bool] = {}
        violated: list[int] = []
        for gap in self.gaps(formula.path, pairs):
            key = (gap.p, gap.q)
            if key not in decided:
                decided[key] = excess_sign(gap.p, gap.q, formula.epsilon, formula.delta) > 0
            if decided[key]:
                violated.append(gap.pair)
        return pairs[violated]


def satisfies(p: Number, formula: ProbabilityIs | ProbabilityIn) -> bool:
    """Tell whether a probability is as a P formula asks."""
    match formula:
        case ProbabilityIs(comparison=comparison, bound=bound):
            return holds(comparison, compare(p, bound))
        case ProbabilityIn(low=low, high=high):
            return compare(low, p) <= 0 <= compare(high, p)
        case _:
            assert_never(formula)
