"""Which subterms of a path formula a state decides: true, or false, for almost all its paths.

A subterm decided at s may be replaced by the constant at s without changing any probability. That
keeps formulas few, and in the bottom components of the chain it does more: there *every* formula
comes to true or false on almost all paths, so no acceptance condition is left to check at the end.
The laws, for a bottom component C (almost every path that enters C visits each of its states
infinitely often, and takes every finite path infinitely often):

  φ U ψ  if ψ has probability 0 everywhere in C, then so has φ U ψ. Otherwise ψ holds infinitely
         often, hence F ψ is surely true, and φ U ψ is known when the first ψ is.
  φ W ψ  if φ has probability 1 everywhere in C, then so has φ W ψ. Otherwise φ fails infinitely
         often, hence G φ is surely false, and φ W ψ is known when the first failure of φ is.

By induction over subterms each formula is known after finitely many steps, almost surely, and
then its progression is the constant. (The 0-1 law of C is the one behind Courcoubetis & Yannakakis,
JACM 1995, §3; replacing infinitely-often parts by constants is the idea of Esparza, Křetínský &
Sickert, LICS 2018, where it takes a guess per run: in a chain, C makes the guess.)

Outside bottom components: φ U ψ has probability 0 where no path of states that may satisfy φ
leads to one that may satisfy ψ, and 1 where such a path to those surely satisfying ψ cannot be
left (Baier & Katoen 2008, §10.1.1); approximations of φ and ψ from the safe side keep both sound.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.graph import Graph, bottom_components, reachable, strong_components
from dpcheck.chain.weights.rows import indptr_of
from dpcheck.limits import Limits
from dpcheck.records import dataclass
from dpcheck.solve.formulas.independent_parts import Factors
from dpcheck.solve.formulas.product import product
from dpcheck.solve.formulas.terms import (
    FALSE,
    Conjunction,
    Constant,
    Disjunction,
    Literal,
    Next,
    StrongUntil,
    Terms,
    WeakUntil,
)


@dataclass(frozen=True, eq=False)
class Known:
    """Where a term is surely true and where surely false, both [n_states]."""

    true: BoolArray
    false: BoolArray


@dataclass(frozen=True, eq=False)
class Interpretation:
    """What the terms are about: the chain's graph, the truth of each literal, the states at stake.

    literals: [n_states] each; region [n_states]: the states some path of interest visits (closed
    under successors); recurrent [n_states]: the bottom component of a state of the region that
    lies in one with several states, else -1.
    """

    graph: Graph
    terms: Terms
    literals: list[BoolArray]
    region: BoolArray
    recurrent: IntArray
    n_recurrent: int
    limits: Limits


def interpretation(
    graph: Graph, terms: Terms, literals: list[BoolArray], region: BoolArray, limits: Limits
) -> Interpretation:
    """Return what literals [n_states] mean on a region, and its bottom components that cycle."""
    recurrent = np.full(graph.n_states, -1, np.int64)
    absorbing = np.flatnonzero(region & (graph.degrees == 1))
    absorbing = absorbing[graph.targets[graph.indptr[absorbing]] == absorbing]
    trapped = np.flatnonzero(region & ~reachable(graph.backward, absorbing, region))
    count = 0
    if len(trapped):
        # No path from a trapped state leads to an absorbing one, so its successors are trapped.
        place = np.full(graph.n_states, -1, np.int64)
        place[trapped] = np.arange(len(trapped))
        inner = Graph(indptr_of(graph.degrees[trapped]), place[graph.successors(trapped)])
        component, n_components = strong_components(inner)
        bottom = bottom_components(inner, component, n_components)
        renumbered = np.where(bottom, np.cumsum(bottom) - 1, -1)
        recurrent[trapped] = renumbered[component]
        count = int(np.count_nonzero(bottom))
    return Interpretation(graph, terms, literals, region, recurrent, count, limits)


def decided(meaning: Interpretation, root: int) -> dict[int, Known]:
    """Return for each subterm of the root where it is surely true and surely false."""
    known: dict[int, Known] = {}
    for term in meaning.terms.subterms(root):
        known[term] = _known(meaning, term, known)
    return known


def _known(meaning: Interpretation, term: int, known: dict[int, Known]) -> Known:
    match meaning.terms[term]:
        case Constant(value):
            everywhere = np.full(meaning.graph.n_states, value, np.bool_)
            return Known(everywhere, ~everywhere)
        case Literal(state, positive):
            truth = meaning.literals[state]
            return Known(truth, ~truth) if positive else Known(~truth, truth)
        case Conjunction(parts):
            return Known(
                np.logical_and.reduce([known[part].true for part in parts]),
                np.logical_or.reduce([known[part].false for part in parts]),
            )
        case Disjunction(parts):
            return Known(
                np.logical_or.reduce([known[part].true for part in parts]),
                np.logical_and.reduce([known[part].false for part in parts]),
            )
        case Next(argument):
            inner = known[argument]
            return Known(
                _everywhere_next(meaning, inner.true), _everywhere_next(meaning, inner.false)
            )
        case StrongUntil(left, right, bound):
            found = _until(meaning, known[left], known[right], _nothing(meaning))
            if bound is not None:
                return Known(known[right].true, found.false)
            surely = _in_bottom_components(meaning, term, found, known)
            return found if surely is None else _until(meaning, known[left], known[right], surely)
        case WeakUntil(left, right, bound):
            found = _weak(meaning, known[left], known[right], _nothing(meaning))
            if bound is not None:
                return Known(found.true, known[left].false & known[right].false)
            surely = _in_bottom_components(meaning, term, found, known)
            return found if surely is None else _weak(meaning, known[left], known[right], surely)


def _nothing(meaning: Interpretation) -> Known:
    nowhere = np.zeros(meaning.graph.n_states, np.bool_)
    return Known(nowhere, nowhere)


def _everywhere_next(meaning: Interpretation, holds: BoolArray) -> BoolArray:
    """Return the states [n_states] all of whose successors satisfy `holds` (each has one)."""
    result: BoolArray = np.logical_and.reduceat(
        holds[meaning.graph.targets], meaning.graph.indptr[:-1]
    )
    return result


def _until(meaning: Interpretation, left: Known, right: Known, surely: Known) -> Known:
    """Return where φ U ψ is decided; `surely` are the states where it is decided already."""
    false = ~_leads_to(meaning, ~left.false & ~surely.false, ~right.false & ~surely.false)
    true = _surely_reaches(meaning, left.true, right.true | surely.true)
    return Known(true, false)


def _weak(meaning: Interpretation, left: Known, right: Known, surely: Known) -> Known:
    """Return where φ W ψ is decided: where ¬(φ W ψ) = ¬ψ U (¬φ ∧ ¬ψ) is."""
    fails = Known(right.false, right.true)
    both_fail = Known(left.false & right.false, left.true | right.true)
    found = _until(meaning, fails, both_fail, Known(surely.false, surely.true))
    return Known(found.false, found.true)


def _leads_to(meaning: Interpretation, through: BoolArray, goal: BoolArray) -> BoolArray:
    """Return the states [n_states] from which a path `through` the region leads to `goal`."""
    start = np.flatnonzero(goal & meaning.region)
    return reachable(meaning.graph.backward, start, (through | goal) & meaning.region)


def _surely_reaches(meaning: Interpretation, through: BoolArray, goal: BoolArray) -> BoolArray:
    """Return the states [n_states] from which almost all paths go `through` to `goal`."""
    never = meaning.region & ~_leads_to(meaning, through, goal)
    escaping = reachable(meaning.graph.backward, np.flatnonzero(never), meaning.region & ~goal)
    return meaning.region & ~escaping


def _in_bottom_components(
    meaning: Interpretation, term: int, found: Known, known: dict[int, Known]
) -> Known | None:
    """Return where bottom components decide φ U ψ or φ W ψ; None when nothing is added."""
    open_states = (meaning.recurrent >= 0) & ~found.true & ~found.false
    if not np.any(open_states):
        return None
    asked = np.zeros(meaning.n_recurrent, np.bool_)
    asked[meaning.recurrent[open_states]] = True
    match meaning.terms[term]:
        case StrongUntil(left, right, _):
            possible = asked & _sometimes(meaning, right, known, asked)[0]
            certain = possible & ~asked if not _is_true(meaning, left) else possible
            false = asked & ~possible
        case WeakUntil(left, right, _):
            fails = asked & _sometimes(meaning, left, known, asked)[1]
            certain = asked & ~fails
            false = fails if right == FALSE else fails & ~asked
        case _:
            raise AssertionError("only U and W are open in a bottom component")
    return Known(_spread(meaning, certain), _spread(meaning, false))


def _is_true(meaning: Interpretation, term: int) -> bool:
    match meaning.terms[term]:
        case Constant(value):
            return value
        case _:
            return False


def _spread(meaning: Interpretation, components: BoolArray) -> BoolArray:
    """Return the states [n_states] in bottom components[n_components]."""
    return (meaning.recurrent >= 0) & components[meaning.recurrent]


def _sometimes(
    meaning: Interpretation, term: int, known: dict[int, Known], asked: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Return in which of the bottom components asked some state may satisfy, and may fail, a term.

    "May" is: with positive probability. Known states answer at once; from the others the product
    with the term's progression is searched for true and false, into which almost all paths go.
    """
    may_hold, may_fail = np.zeros_like(asked), np.zeros_like(asked)
    here = _spread(meaning, asked)
    may_hold[meaning.recurrent[here & known[term].true]] = True
    may_fail[meaning.recurrent[here & known[term].false]] = True
    unclear = np.flatnonzero(here & ~known[term].true & ~known[term].false)
    if len(unclear):
        progression, classes = progression_by_class(meaning, term, known, here)
        formulas = np.full(len(unclear), progression.root(), np.int64)
        found = product(meaning.graph, classes, progression, unclear, formulas, meaning.limits)
        component = meaning.recurrent[found.states]
        for goal, mark in ((found.true, may_hold), (found.false, may_fail)):
            mark[component[found.graph.sources[found.graph.targets == goal]]] = True
            # Where all that is decided is put in place at once, what is left may be φ ∨ ¬φ.
            mark[meaning.recurrent[unclear[found.starts == goal]]] = True
    return may_hold, may_fail


def progression_by_class(
    meaning: Interpretation, root: int, known: dict[int, Known], within: BoolArray
) -> tuple[Factors, IntArray]:
    """Return a progression for the root, and the class of each state `within`, [n_states].

    Two states are in one class when they decide the same subterms in the same way. `within` must
    be closed under successors; other states get class -1.
    """
    elements = [
        term
        for term in meaning.terms.subterms(root)
        if not isinstance(meaning.terms[term], Constant | Conjunction | Disjunction)
    ]
    states = np.flatnonzero(within)
    codes = np.zeros(len(states), np.int64)
    n_codes = 1
    for term in elements:
        codes = codes * 3 + known[term].true[states] + 2 * known[term].false[states]
        n_codes *= 3
        if n_codes > 2**60:
            distinct, codes = np.unique(codes, return_inverse=True)
            n_codes = len(distinct)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    progression = Factors(meaning.terms, root, elements)
    for example in states[first].tolist():
        progression.add_class(
            [term for term in elements if known[term].true[example]],
            [term for term in elements if known[term].false[example]],
        )
    classes = np.full(meaning.graph.n_states, -1, np.int64)
    classes[states] = codes
    return progression, classes


def progression_of_runs(
    graph: Graph, terms: Terms, literals: list[BoolArray], root: int, ends: BoolArray
) -> tuple[Factors, IntArray]:
    """Return a progression of the root along single runs, and the class of each state, [n_states].

    States decide literals, [n_states] each, and the absorbing ones among them in `ends` [n_states]
    everything: the run stays there. What almost all runs from elsewhere do is left open.
    """
    meaning = interpretation(graph, terms, literals, ends, Limits())
    known = {
        term: found
        if isinstance(terms[term], Literal)
        else Known(found.true & ends, found.false & ends)
        for term, found in decided(meaning, root).items()
    }
    return progression_by_class(meaning, root, known, np.ones(graph.n_states, np.bool_))
