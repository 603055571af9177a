"""Exact probabilities of path formulas, for many states at once.

One evaluation goes through these steps:

1. State subformulas become literals, arrays of Booleans; Boolean combinations of them are merged.
   The rest becomes a term in negation normal form (`terms`).
2. An until or weak until over state formulas is reachability on the chain itself (`reach`), or,
   with a bound, vector iteration (`bounded`): φ W ψ is the complement of an until. X over a state
   formula is a sum.
3. Any other formula is progressed along the paths (`progression`), with subterms that a state
   decides replaced by constants (`almost_sure`); this gives a product (`product`), in which almost
   every path reaches true or false, so that what remains is reachability of true. Where all bounded
   operators have run out after some steps, formulas are followed step by step instead
   (`bounded_formulas`).

Exactness: literals are Booleans, weights are whole, and no step rounds.

Measured on chains of 100,000 states (layers, a band that is one component, many small components, a
grid, a random sparse graph) and formulas of ten temporal operators: the product takes 4 s and less,
16 s for F(p & X X q) four times over (2.5 million states); bounds of the probabilities 15 s and
mostly less. They miss a minute where more than a million product states are one component that is
left slowly. Exact values depend on their length: six nested F on a band that is one component have
18,000 bits at 2,000 states (4 s) and 44,000 at 5,000 (17 s), and the time grows with the square.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain, IntArray
from dpcheck.chain.graph import graph_of, reachable
from dpcheck.exact import Number, subtract
from dpcheck.limits import Limits
from dpcheck.logic import formulas as f
from dpcheck.records import dataclass
from dpcheck.solve.formulas import bounded_formulas
from dpcheck.solve.formulas import terms as term_kinds
from dpcheck.solve.formulas.almost_sure import decided, interpretation, progression_by_class
from dpcheck.solve.formulas.independent_parts import Factors
from dpcheck.solve.formulas.product import Product, counting, product
from dpcheck.solve.formulas.terms import FALSE, TRUE, Constant, Literal, StrongUntil, Terms
from dpcheck.solve.reachability import reach
from dpcheck.solve.reachability.float_bounds import reach_estimates
from dpcheck.solve.reachability.rounding import FloatBounds

Satisfying = Callable[[f.StateFormula], BoolArray]


def path_probabilities(
    chain: Chain, path: f.PathFormula, *, satisfying: Satisfying, states: IntArray, limits: Limits
) -> list[Number]:
    """Return, for each of `states`, the probability of the paths from it that satisfy `path`.

    `satisfying` gives the truth of a state formula at every state, [n_states]. Raises
    `LimitReached`, with how far it got.
    """
    question = _Question(chain, *term_of(path, satisfying), None, limits)
    return [p for p, _ in question.bounds(states)]


def path_bounds(
    chain: Chain,
    path: f.PathFormula,
    *,
    satisfying: Satisfying,
    below_negations: Satisfying | None = None,
    states: IntArray,
    bits: int,
    limits: Limits,
) -> list[reach.Bounds]:
    """Return certified bounds (low, high) at the states [n], at most 2^-bits apart.

    `below_negations` gives the truth of state formulas that an odd number of negations is around,
    where it is another one.

    The two are equal wherever exact values cost about as much: they differ only where a strong
    component is so large that its exact numbers have thousands of bits.
    """
    literals, term = term_of(path, satisfying, below_negations)
    return _Question(chain, literals, term, bits, limits).bounds(states)


def path_estimates(
    chain: Chain, path: f.PathFormula, *, satisfying: Satisfying, limits: Limits
) -> FloatBounds | None:
    """Return floats below and above the probability from every state, each [n_states].

    A few roundings apart, and equal where they are exactly 0 or 1. None where none are cheap: they
    are where the formula is reachability on a chain that `float_bounds` covers.
    """
    literals, term = term_of(path, satisfying)
    question = literals.reachability(term, chain.n_states)
    if question is None or question.bound is not None:
        return None
    found = reach_estimates(chain, question.target, question.allowed, limits)
    if found is None or not question.is_complement:
        return found
    low, high = found
    is_exact = low == high
    # Other differences are rounded once: the next float is a bound.
    return (
        np.where(is_exact | (high == 1), 1 - high, np.nextafter(1 - high, -1)),
        np.where(is_exact, 1 - low, np.nextafter(1 - low, 2)),
    )


@dataclass(frozen=True, eq=False)
class Reachability:
    """The question `allowed U<=bound target`, or its complement; arrays [n_states]."""

    allowed: BoolArray
    target: BoolArray
    bound: int | None
    is_complement: bool


class Literals:
    """The state formulas of a path formula as arrays, and the terms over them."""

    def __init__(self) -> None:
        """Start without literals."""
        self.terms = Terms()
        self.arrays: list[BoolArray] = []
        self._numbers: dict[bytes, int] = {}

    def truth(self, term: int, n_states: int) -> BoolArray | None:
        """Return where a constant or literal holds, [n_states]; None for other terms."""
        match self.terms[term]:
            case Constant(value):
                return np.full(n_states, value, np.bool_)
            case Literal(state, positive):
                return self.arrays[state] if positive else ~self.arrays[state]
            case _:
                return None

    def reachability(self, term: int, n_states: int) -> Reachability | None:
        """Return a term as an until over state formulas, or as the complement of one, or None."""
        for is_complement in (False, True):
            match self.terms[self.terms.negation(term) if is_complement else term]:
                case StrongUntil(left, right, bound):
                    allowed, target = self.truth(left, n_states), self.truth(right, n_states)
                    if allowed is not None and target is not None:
                        return Reachability(allowed, target, bound, is_complement)
        return None

    def term(self, part: BoolArray | int) -> int:
        """Return a term: a literal for an array [n_states]; equal and opposite ones share it."""
        if isinstance(part, int):
            return part
        if part.all():
            return TRUE
        if not part.any():
            return FALSE
        positive = not part[0]
        base = part if positive else ~part
        state = self._numbers.setdefault(np.packbits(base).tobytes(), len(self.arrays))
        if state == len(self.arrays):
            self.arrays.append(base)
        return self.terms.literal(state, positive)

    def translated(
        self, path: f.PathFormula, satisfying: Satisfying, below_negations: Satisfying
    ) -> BoolArray | int:
        """Return a path formula as an array [n_states] if it is a state formula, else a term."""
        terms = self.terms

        def part(argument: f.PathFormula) -> BoolArray | int:
            return self.translated(argument, satisfying, below_negations)

        def inner(argument: f.PathFormula) -> int:
            return self.term(part(argument))

        match path:
            case f.Holds(state):
                return satisfying(state)
            case f.PathNot(argument):
                negated = self.translated(argument, below_negations, satisfying)
                return terms.negation(negated) if isinstance(negated, int) else ~negated
            case f.PathAnd(arguments):
                return self._joined_parts(list(map(part, arguments)), all_=True)
            case f.PathOr(arguments):
                return self._joined_parts(list(map(part, arguments)), all_=False)
            case f.Next(argument):
                return terms.after(inner(argument))
            case f.Finally(argument, bound):
                return terms.until(TRUE, inner(argument), bound)
            case f.Globally(argument, bound):
                return terms.weak(inner(argument), FALSE, bound)
            case f.Until(left, right, bound):
                return terms.until(inner(left), inner(right), bound)
            case f.WeakUntil(left, right):
                return terms.weak(inner(left), inner(right))
            case f.Release(left, right):
                second = inner(right)
                return terms.weak(second, terms.both(inner(left), second))
            case _:
                assert_never(path)

    def _joined_parts(self, parts: list[BoolArray | int], *, all_: bool) -> BoolArray | int:
        """Return a conjunction or disjunction, of arrays pointwise."""
        arrays = [part for part in parts if not isinstance(part, int)]
        members = [part for part in parts if isinstance(part, int)]
        if arrays:
            merged: BoolArray = (
                np.logical_and.reduce(arrays) if all_ else np.logical_or.reduce(arrays)
            )
            if not members:
                return merged
            members.append(self.term(merged))
        return self.terms.both(*members) if all_ else self.terms.either(*members)


def term_of(
    path: f.PathFormula, satisfying: Satisfying, below_negations: Satisfying | None = None
) -> tuple[Literals, int]:
    """Return a path formula as a term, with the literals that it is over (`path_bounds`)."""
    literals = Literals()
    return literals, literals.term(
        literals.translated(path, satisfying, below_negations or satisfying)
    )


@dataclass(frozen=True, eq=False)
class _Question:
    """A path formula on a chain, as a term; bounds are at most 2^-bits apart, exact for None."""

    chain: Chain
    literals: Literals
    term: int
    bits: int | None
    limits: Limits

    @property
    def weights(self) -> reach.Weights:
        """The numerators [n_edges] and denominators [n_states] of the chain."""
        return self.chain.numerators, self.chain.denominators

    def bounds(self, states: IntArray) -> list[reach.Bounds]:
        """Return bounds of the probability at each of the states [n]."""
        chain, literals, n_states = self.chain, self.literals, self.chain.n_states
        truth = literals.truth(self.term, n_states)
        if truth is not None:
            return [(p, p) for p in truth[states].astype(np.int64).tolist()]
        match literals.terms[self.term]:
            case term_kinds.Next(argument):
                target = literals.truth(argument, n_states)
                if target is not None:
                    exact = reach.next_probabilities(graph_of(chain), self.weights, target, states)
                    return [(p, p) for p in exact]
        until = literals.reachability(self.term, n_states)
        if until is None:
            return self._by_progression(states)
        found = reach.reach_bounds(
            *(graph_of(chain), self.weights, until.target, until.allowed, until.bound),
            *(states, self.bits, self.limits),
        )
        return [_complement(each) for each in found] if until.is_complement else found

    def _by_progression(self, states: IntArray) -> list[reach.Bounds]:
        """Return bounds for any formula at each of the states [n]."""
        asked, back = np.unique(states, return_inverse=True)
        progressed = self.progressed(asked)
        steps = bounded_formulas.horizon(self.literals.terms, self.term)
        if steps is not None and steps >= bounded_formulas.COUNTING_PAYS_FROM:
            values = self._counted(progressed, asked)
        else:
            formulas = np.full(len(asked), progressed[0].root(), np.int64)
            values = self._in_product(progressed, asked, formulas, self.bits)
        return [values[k] for k in back.tolist()]

    def progressed(self, asked: IntArray) -> tuple[Factors, IntArray]:
        """Return how the term progresses from [n_asked], and the classes of states, [n_states]."""
        graph = graph_of(self.chain)
        region = reachable(graph, asked, np.ones(self.chain.n_states, np.bool_))
        terms, arrays = self.literals.terms, self.literals.arrays
        meaning = interpretation(graph, terms, arrays, region, self.limits)
        return progression_by_class(meaning, self.term, decided(meaning, self.term), region)

    def _counted(self, progressed: tuple[Factors, IntArray], asked: IntArray) -> list[reach.Bounds]:
        """Return bounds for a formula whose bounded operators all run out, step by step."""
        chain, (progression, classes) = self.chain, progressed
        is_rational = chain.numerators.dtype == np.int64 or all(
            isinstance(weight, int) for weight in chain.numerators.tolist()
        )
        bits = self.bits if is_rational else None
        rest_bits = None if bits is None else bits + 1

        def rest(states: IntArray, formulas: IntArray) -> list[reach.Bounds]:
            return self._in_product(progressed, states, formulas, rest_bits)

        walk = bounded_formulas.walk_of(chain, classes, progression, self.limits)
        return bounded_formulas.counted_bounds(walk, asked, rest, bits, self.limits)

    def _in_product(
        self,
        progressed: tuple[Factors, IntArray],
        states: IntArray,
        formulas: IntArray,
        bits: int | None,
    ) -> list[reach.Bounds]:
        """Return bounds for formulas [n] at states [n], by reachability of true in the product."""
        chain, (progression, classes) = self.chain, progressed
        found = product(graph_of(chain), classes, progression, states, formulas, self.limits)
        everywhere = np.ones(found.graph.n_states, np.bool_)
        ends = np.array([found.true, found.false])
        assert reachable(found.graph.backward, ends, everywhere).all(), (
            "almost every path of the product comes to true or false"
        )
        target = ~everywhere
        target[found.true] = True
        below = np.append(chain.denominators[found.states], [1, 1])
        weights = chain.numerators[found.edges], below
        with counting(len(found.states)):
            return reach.reach_bounds(
                *(found.graph, weights, target, everywhere, None),
                *(found.starts, bits, self.limits),
            )


def _complement(bounds: reach.Bounds) -> reach.Bounds:
    low, high = bounds
    least = subtract(1, high)
    return least, least if low is high else subtract(1, low)


def path_product(
    chain: Chain, path: f.PathFormula, *, satisfying: Satisfying, states: IntArray, limits: Limits
) -> Product:
    """Return the product of a chain with a path formula, from different states [n_given].

    Almost every path of it comes to true or false. Raises `LimitReached`.
    """
    question = _Question(chain, *term_of(path, satisfying), None, limits)
    progression, classes = question.progressed(states)
    formulas = np.full(len(states), progression.root(), np.int64)
    return product(graph_of(chain), classes, progression, states, formulas, limits)
