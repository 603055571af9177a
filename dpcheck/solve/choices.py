"""The least and greatest probability of a path formula where an analyst chooses among queries.

The chain has transitions to *choices*: after each output all that may be asked, drawn uniformly
(`Chain.offers`). Here the analyst picks, and sees even the state: no analyst who sees less, and no
one who has fixed the queries beforehand, gets beyond. A choice is no step of a path: in the product
with the formula, the formula goes through it as it is. States decide literals only, since what
almost all paths do depends on the analyst.

The greatest probability to reach a target is the least x with x_s >= Σ_o p_o max_c x_(s, o, c), o
over what is offered (Bellman; Puterman, Markov Decision Processes, 1994, §7.2). Policies are
improved until none is better at any state: then x is such a solution, and that of a policy. The
least one is the only solution of the same with min where states at which the analyst can avoid the
target have 0 (Baier & Katoen 2008, theorem 10.109).

A path formula without unbounded W and G holds exactly if it has come true after some steps; one
without unbounded U and F fails exactly if it has come false. Of others both are bounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain, IntArray, WeightArray
from dpcheck.chain.graph import Graph, graph_of
from dpcheck.chain.weights.rows import indptr_of
from dpcheck.exact import Number, add, compare, multiply, number, subtract
from dpcheck.limits import Limits
from dpcheck.logic import formulas as f
from dpcheck.records import dataclass
from dpcheck.solve.formulas.almost_sure import progression_of_runs
from dpcheck.solve.formulas.independent_parts import Factors
from dpcheck.solve.formulas.product import Product, product
from dpcheck.solve.formulas.terms import StrongUntil, Term, WeakUntil
from dpcheck.solve.paths import Literals, Satisfying, term_of
from dpcheck.solve.reachability.reach import reach_probabilities


def path_extremes(
    chain: Chain, path: f.PathFormula, *, satisfying: Satisfying, states: IntArray, limits: Limits
) -> list[tuple[Number, Number]]:
    """Return bounds of the probability of a path formula at states [n], whatever is asked.

    `satisfying` gives the truth of a state formula at every state, [n_states].
    """
    literals, term = term_of(path, satisfying)
    truth = literals.truth(term, chain.n_states)
    if truth is not None:
        return [(int(holds), int(holds)) for holds in truth[states].tolist()]
    found = _progressions(chain, literals, term, states, limits)
    game, denominators, is_choice = _with_offers(found, chain)
    kinds = [literals.terms[each] for each in literals.terms.subterms(term)]
    is_endless = bool(game.staying(is_choice)[0].any())  # asking without end, nothing more is shown
    comes_true = not is_endless and not _has_unbounded(WeakUntil, kinds)
    comes_false = not is_endless and not _has_unbounded(StrongUntil, kinds)

    def extreme(target: int, sign: int) -> list[Number]:
        every = np.arange(game.graph.n_states)

        def values(played: Graph, kept: BoolArray) -> list[Number]:
            weights = game.numerators[kept], denominators
            everywhere = np.ones(len(every), np.bool_)
            return reach_probabilities(played, weights, every == target, everywhere, every, limits)

        options = game.first_options() if sign > 0 else game.options_in(every != target)
        return game.best(sign, options, values, limits)

    true, false = found.true, found.false
    low = _complements(extreme(false, 1)) if comes_false else extreme(true, -1)
    high = extreme(true, 1) if comes_true else _complements(extreme(false, -1))
    return [(low[s], high[s]) for s in found.starts.tolist()]


def _has_unbounded(kind: type[WeakUntil | StrongUntil], terms: list[Term]) -> bool:
    return any(isinstance(each, kind) and each.bound is None for each in terms)


def _complements(values: list[Number]) -> list[Number]:
    return [subtract(1, value) for value in values]


class _Steps:
    """How formulas progress through a chain; choices leave them as they are."""

    def __init__(self, progression: Factors, choice: int) -> None:
        """Take the class of the choices."""
        self._of_states, self._choice = progression, choice

    def step(self, formula: int, state_class: int) -> int:
        """Return the formula after a first state of the class."""
        is_choice = state_class == self._choice
        return formula if is_choice else self._of_states.step(formula, state_class)

    def settled(self, formula: int, state_class: int) -> int:
        """Return the formula with what the class of the first state decides put in place."""
        is_choice = state_class == self._choice
        return formula if is_choice else self._of_states.settled(formula, state_class)


def _progressions(
    chain: Chain, literals: Literals, term: int, states: IntArray, limits: Limits
) -> Product:
    """Return the product of the chain and a term from states[n]."""
    graph, nowhere = graph_of(chain), np.zeros(chain.n_states, np.bool_)
    progression, classes = progression_of_runs(
        graph, literals.terms, literals.arrays, term, nowhere
    )
    is_choice = np.isin(chain.observation, list(chain.offers))
    choice = int(classes.max()) + 1
    classes = np.where(is_choice, choice, classes)
    formulas = np.full(len(states), progression.root(), np.int64)
    steps = _Steps(progression, choice)
    return product(graph, classes, steps, states, formulas, limits)


@dataclass(frozen=True, eq=False)
class Game:
    """A graph in which the analyst chooses among some edges.

    numerators [n_edges]; of an edge to a choice it is that where it is the one made. option:
    [n_edges] which choice an edge belongs to, -1 for none; offer: [n_options] of which offer it is,
    made at the state `place` [n_offers]. Options of an offer are next to each other.
    """

    graph: Graph
    numerators: WeightArray
    option: IntArray
    offer: IntArray
    place: IntArray

    def first_options(self) -> IntArray:
        """Return an option of each offer, [n_offers]."""
        return np.searchsorted(self.offer, np.arange(len(self.place)))

    def options_in(self, safe: BoolArray) -> IntArray:
        """Return an option of each offer, [n_offers]: one that stays in safe states, if any."""
        _, is_good = self.staying(safe)
        first = self.first_options()
        good = np.flatnonzero(is_good)[::-1]
        first[self.offer[good]] = good
        return first

    def staying(self, safe: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Return from which safe states [n_states] the analyst can stay among them for good.

        And the options [n_options] that lead to these alone.
        """
        graph, chosen = self.graph, self.option >= 0
        while True:
            leaves = ~safe[graph.targets]
            is_bad = np.bincount(self.option[chosen & leaves], minlength=len(self.offer)) > 0
            n_good = np.bincount(self.offer[~is_bad], minlength=len(self.place))
            unsafe = np.zeros(graph.n_states, np.bool_)
            unsafe[graph.sources[~chosen & leaves]] = True
            unsafe[self.place[n_good == 0]] = True
            if not (safe & unsafe).any():
                return safe, ~is_bad
            safe = safe & ~unsafe

    def best(
        self,
        sign: int,
        options: IntArray,
        values_of: Callable[[Graph, BoolArray], list[Number]],
        limits: Limits,
    ) -> list[Number]:
        """Return the values [n_states] of a policy that no change of options[n_offers] improves.

        Those are the greatest with sign 1, the least with -1. `values_of` gives the values of a
        policy, from the graph of the edges that are kept, and which these are, [n_edges].
        """
        while True:
            limits.check_time("policies of the analyst compared")
            kept = (self.option < 0) | np.isin(self.option, options)
            rows = np.bincount(self.graph.sources[kept], minlength=self.graph.n_states)
            values = values_of(Graph(indptr_of(rows), self.graph.targets[kept]), kept)
            gains = self._gains(values)
            is_improved = False
            for option, place in enumerate(self.offer.tolist()):
                if compare(gains[option], gains[options[place]]) * sign > 0:
                    options[place], is_improved = option, True
            if not is_improved:
                return values

    def _gains(self, values: list[Number]) -> list[Number]:
        """Return what follows from each option, [n_options], times the denominator of its place."""
        gains: list[Number] = [0] * len(self.offer)
        chosen = self.option >= 0
        edges = (self.option, self.numerators, self.graph.targets)
        for option, weight, after in zip(*(each[chosen].tolist() for each in edges), strict=True):
            gains[option] = add(gains[option], multiply(number(weight, 1), values[after]))
        return gains


def game_of(graph: Graph, numerators: WeightArray, shown: IntArray, chain: Chain) -> Game:
    """Return a graph with what is chosen, by what the target of each edge shows, [n_edges]."""
    different_offers = dict.fromkeys(offer for offer, _ in chain.offers.values())
    offers = {offer: k for k, offer in enumerate(different_offers)}
    edges = np.flatnonzero(np.isin(shown, list(chain.offers)))
    labels = shown[edges].tolist()
    offered = np.array([offers[chain.offers[label][0]] for label in labels], np.int64)
    made = graph.sources[edges] * len(offers) + offered
    different, offer_of = np.unique(made, return_inverse=True)
    n_shown = int(shown.max(initial=0)) + 1
    options, option_of = np.unique(offer_of * n_shown + shown[edges], return_inverse=True)
    option = np.full(len(shown), -1, np.int64)
    option[edges] = option_of
    numerators = numerators.copy()
    numerators[edges] *= np.array([chain.offers[label][1] for label in labels], numerators.dtype)
    return Game(graph, numerators, option, options // n_shown, different // max(1, len(offers)))


def _with_offers(found: Product, chain: Chain) -> tuple[Game, IntArray, BoolArray]:
    """Return a product with what its edges to choices are chosen among, and its denominators.

    Last which of its states are choices. [n_states] both, true and false at the end.
    """
    shown = chain.observation[chain.targets[found.edges]]
    game = game_of(found.graph, chain.numerators[found.edges], shown, chain)
    is_choice = np.isin(chain.observation[found.states], list(chain.offers))
    denominators = np.append(chain.denominators[found.states], [1, 1])
    return game, denominators, np.append(is_choice, [False, False])
