"""Where state formulas hold, on a chain, and why not.

`D{ε, δ} [ φ ]` holds at s if for every neighbor t of s (never s itself) P_s(φ) <= e^ε P_t(φ) + δ
and P_t(φ) <= e^ε P_s(φ) + δ (Liu, Wang, Zhang, APLAS 2018); so it holds where a state has none.
Neighbors are the declared pairs and, for mechanisms, the later pairs that neighboring runs reach.
One evaluation of a path formula gives its probabilities at all states asked for, and serves
every pair; it is remembered by the formula object. Where pairs are many, floats with a proved error
come first, and where exact values are long, certified bounds: mostly they decide, and only the rest
is computed exactly.

Where an analyst has fixed queries beforehand, P and D at a state are about all that may be asked
from there on: states that differ in that alone (`Chain.alike`) are one, and a formula is true there
if it is at each of them. At the states of a claim one that is false is enough to refute it, so that
conjunctions of P and D tell which, and only below a negation states are taken together.

A state that stands for infinitely many (`Chain.lumped`) may satisfy a formula at some of these. So
there are two truths of each formula: where it *surely* holds, and where it *possibly* does. A path
formula only becomes more probable where state formulas in it become true that no negation is
around. So its probability lies between those with what surely holds and what possibly does, and
the other way round below negations; a formula is known where both truths are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Final, assert_never

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain, IntArray
from dpcheck.chain.sets import distinct
from dpcheck.check.values.comparisons import truth_between
from dpcheck.exact import Number, add, as_fraction_parts, compare, excess_sign, subtract
from dpcheck.limits import LimitReached, Limits, too_large
from dpcheck.logic import formulas as f
from dpcheck.records import dataclass

if TYPE_CHECKING:
    from dpcheck.chain.chain import Gap, Order, Ordered
    from dpcheck.check.formulas.beside import Beside
    from dpcheck.check.formulas.beyond import Told, TruthBeyond
    from dpcheck.solve.paths import Satisfying
    from dpcheck.solve.reachability.rounding import FloatBounds

Bounds = tuple[Number, Number]
Asking = f.ProbabilityIs | f.Private

LARGE_CHAIN = 5_000
"""From so many states on, one exact solution costs more than all estimates."""
ESTIMATING_PAYS_FROM = 16
"""Of fewer pairs in a small chain, exact values are had sooner than estimates."""
_BITS = 128
"""Certified bounds lie at most 2^-128 apart where exact values would be long."""


BEYOND: Final = too_large(
    "a formula inside of a path depends on how far beyond the window numbers without bounds are",
    "a policy such as `clamped -20..20`, or a formula without a P or D inside of a path",
).limit
"""What a wider window may help with."""


@dataclass(frozen=True, eq=False)
class TruthBounds:
    """Where a formula surely holds and where it possibly does, [n]: one array where it is known."""

    surely: BoolArray
    possibly: BoolArray

    @classmethod
    def known(cls, truth: BoolArray) -> TruthBounds:
        """Return a truth [n] that is known."""
        return cls(truth, truth)

    @property
    def are_known(self) -> bool:
        """Whether both are alike."""
        return self.surely is self.possibly or bool((self.surely == self.possibly).all())

    def negated(self) -> TruthBounds:
        """Return where the formula surely, and possibly, does not hold."""
        if self.surely is self.possibly:
            return self.known(~self.surely)
        return TruthBounds(~self.possibly, ~self.surely)

    def mapped(self, change: Callable[[BoolArray], BoolArray]) -> TruthBounds:
        """Return both changed."""
        if self.surely is self.possibly:
            return self.known(change(self.surely))
        return TruthBounds(change(self.surely), change(self.possibly))


class Truths:
    """The truth of formulas on one chain, each computed once.

    >>> # satisfied = Truths(chain, Limits()).at(formula, chain.initial)
    """

    def __init__(self, chain: Chain, limits: Limits) -> None:
        """Remember nothing yet; `pairs` [n, 2] are all neighbors, declared and later."""
        self.chain = chain
        self.limits = limits
        self.tells_bounds = False  # of probabilities, where a wider window may know these
        self.pairs: IntArray = np.concatenate([chain.neighbors.pairs, chain.neighbors.later])
        self._everywhere: dict[int, tuple[f.StateFormula, TruthBounds]] = {}
        self._known: dict[int, tuple[f.PathFormula, dict[int, Number]]] = {}
        self._bounded: dict[int, tuple[f.PathFormula, dict[int, Bounds]]] = {}
        self._beyond: dict[int, tuple[Asking, dict[tuple[int, ...], TruthBeyond]]] = {}
        self._settled: dict[tuple[int, int], tuple[f.PathFormula, bool]] = {}
        self._levels = {0}
        self._neighbors: dict[int, Beside | None] = {}
        self._estimated: dict[int, tuple[f.PathFormula, FloatBounds | None]] = {}

    def at(self, formula: f.StateFormula, states: IntArray) -> BoolArray:
        """Return where a formula holds among some states, [n_given].

        Raises `LimitReached` with `BEYOND` where it holds at some that a state stands for.
        """
        found = self.bounds_at(formula, states)
        if not found.are_known:
            raise LimitReached(BEYOND)
        return found.surely

    def false_at(self, formula: f.StateFormula, states: IntArray) -> BoolArray:
        """Return where a formula surely does not hold among some states, [n_given]."""
        return ~self.bounds_at(formula, states).possibly

    def telling_bounds(self) -> Truths:
        """Return the same truths, of which bounds may be told in place of exact probabilities."""
        found = copy(self)
        found.tells_bounds = True
        return found

    def bounds_at(self, formula: f.StateFormula, states: IntArray) -> TruthBounds:
        """Return where a formula surely and possibly holds among some states, each [n_given]."""
        match formula:
            case f.Truth(value=value):
                return TruthBounds.known(np.full(len(states), value))
            case f.Atom(key=key):
                return TruthBounds.known(self.chain.labelling[key][states])
            case f.Not(argument=argument):
                return self._whatever_is_asked(argument, states).negated()
            case f.And(arguments=arguments):
                parts = [self.bounds_at(each, states) for each in arguments]
                surely: BoolArray = np.all([part.surely for part in parts], axis=0)
                if all(part.surely is part.possibly for part in parts):
                    return TruthBounds.known(surely)
                return TruthBounds(surely, np.all([part.possibly for part in parts], axis=0))
            case f.Or(arguments=arguments):
                none = f.And(tuple(f.Not(a, a.span) for a in arguments), formula.span)
                return self.bounds_at(none, states).negated()
            case f.ProbabilityIs():
                return self._satisfying(formula, states)
            case f.Private():
                return self._private(formula, states)
            case _:
                assert_never(formula)

    def everywhere(self, formula: f.StateFormula) -> BoolArray:
        """Return where a formula holds among all states, [n_states]; raises as `at`."""
        if isinstance(formula, f.Atom):
            return self.chain.labelling[formula.key]
        found = self.bounds_everywhere(formula)
        if not found.are_known:
            raise LimitReached(BEYOND)
        return found.surely

    def bounds_everywhere(self, formula: f.StateFormula) -> TruthBounds:
        """Return where a formula surely and possibly holds among all states, each [n_states]."""
        known = self._everywhere.get(id(formula))
        if known is None:
            states = np.arange(self.chain.n_states, dtype=np.int64)
            found = self._whatever_is_asked(formula, states)
            known = self._everywhere[id(formula)] = formula, found
        return known[1]

    def surely(self, formula: f.StateFormula) -> BoolArray:
        """Return where a formula surely holds among all states, [n_states]."""
        return self.bounds_everywhere(formula).surely

    def possibly(self, formula: f.StateFormula) -> BoolArray:
        """Return where a formula possibly holds among all states, [n_states]."""
        return self.bounds_everywhere(formula).possibly

    def is_known(self, path: f.PathFormula) -> bool:
        """Return whether the formulas inside of a path are known at all states."""
        return all(self.bounds_everywhere(each).are_known for each in f.outermost_numbers(path))

    def _whatever_is_asked(self, formula: f.StateFormula, states: IntArray) -> TruthBounds:
        """Return where a formula holds for all that an analyst may have fixed, [n_given].

        One without P and D says nothing of what is to come: it may be of the choices themselves.
        """
        found, alike = self.bounds_at(formula, states), self.chain.alike
        if alike is None or next(f.outermost_numbers(formula), None) is None:
            return found

        def held(truth: BoolArray) -> BoolArray:
            fails = np.zeros(int(alike.max()) + 1, np.bool_)
            fails[alike[states[~truth]]] = True
            return ~fails[alike[states]]

        return found.mapped(held)

    def initial_alike(self, state: int) -> tuple[int, ...]:
        """Return the initial states that differ from one in what will be asked alone, with it."""
        return tuple(self.alike(state, self.chain.initial).tolist())

    def alike(self, state: int, among: IntArray | None = None) -> IntArray:
        """Return the states, [n_alike], that differ from one in what will be asked alone."""
        classes = self.chain.alike
        if classes is None:
            return np.array([state], np.int64)
        states = np.arange(self.chain.n_states, dtype=np.int64) if among is None else among
        found: IntArray = states[classes[states] == classes[state]]
        return found

    def probabilities(self, path: f.PathFormula, states: IntArray) -> list[Number]:
        """Return the probability of a path formula from each of some states [n]."""
        known = self._known.setdefault(id(path), (path, {}))[1]
        bounded = self._bounded.get(id(path), (path, {}))[1]
        wanted = states.tolist()
        ends = ((s, *bounded[s]) for s in wanted if s in bounded)
        known.update((s, low) for s, low, high in ends if low == high)
        missing = sorted({s for s in wanted if s not in known})
        if missing:
            found = self._exact(path, np.array(missing, np.int64))
            known.update(zip(missing, found, strict=True))
        return [known[s] for s in wanted]

    def _exact(self, path: f.PathFormula, states: IntArray) -> list[Number]:
        """Return the probabilities at states that are asked for the first time, [n]."""
        from dpcheck.solve import path_probabilities

        if not self.is_known(path):
            bounds = self.bounds(path, states)
            if any(low != high for low, high in bounds):
                raise LimitReached(BEYOND)
            return [low for low, _ in bounds]

        return path_probabilities(
            self.chain, path, satisfying=self.everywhere, states=states, limits=self.limits
        )

    def doubtful_at(self, states: IntArray) -> IntArray:
        """Return the pairs that may be neighbors with an end among some states, [n_pairs, 2]."""
        return _with_ends_in(self.chain.neighbors.doubtful, states, self.chain.n_states)

    def _beside(self, path: f.PathFormula) -> Beside | None:
        """Return what tells the neighbors of states that stand for several, for a path."""
        if not len(self.chain.neighbors.doubtful):
            return None
        from dpcheck.check.formulas.beside import Beside

        level, ordered = next(self._ordered(path), (0, None))
        if ordered is None:
            return None
        if level not in self._neighbors:
            partners = ordered.partners()
            told = None if partners is None else (ordered.placed(), partners)
            self._neighbors[level] = told and Beside(*told, self.probabilities)
        return self._neighbors[level]

    def pairs_at(self, states: IntArray) -> IntArray:
        """Return the pairs of neighbors with an end among some states, [n_pairs, 2]."""
        return _with_ends_in(self.pairs, states, self.chain.n_states)

    def bounds(self, path: f.PathFormula, states: IntArray) -> list[Bounds]:
        """Return certified bounds of probabilities [n], equal ones where exact values are short."""
        known = self._bounded.setdefault(id(path), (path, {}))[1]
        exact = self._known.get(id(path), (path, {}))[1]
        wanted = states.tolist()
        known.update((s, (exact[s], exact[s])) for s in wanted if s in exact)
        missing = sorted({s for s in wanted if s not in known})
        if missing:
            found = self._enclosed(path, np.array(missing, np.int64))
            known.update(zip(missing, found, strict=True))
        return [known[s] for s in wanted]

    def _enclosed(self, path: f.PathFormula, states: IntArray) -> list[Bounds]:
        """Return bounds at states that are asked for the first time, [n]."""
        if self.is_known(path):
            return self._between(path, states, self.everywhere, self.everywhere)

        lower = self._between(path, states, self.surely, self.possibly)
        upper = self._between(path, states, self.possibly, self.surely)
        return [(low, high) for (low, _), (_, high) in zip(lower, upper, strict=True)]

    def _between(
        self, path: f.PathFormula, states: IntArray, truth: Satisfying, below_negations: Satisfying
    ) -> list[Bounds]:
        """Return bounds at states [n], where truths differ for formulas below negations."""
        from dpcheck.solve import path_bounds

        return path_bounds(
            self.chain,
            path,
            satisfying=truth,
            below_negations=below_negations,
            states=states,
            bits=_BITS,
            limits=self.limits,
        )

    def paired_bounds(
        self, path: f.PathFormula, pairs: IntArray
    ) -> tuple[list[tuple[Bounds, Bounds]], IntArray]:
        """Return the different pairs of bounds at pairs of states, and which each has, [n_pairs].

        There are often far fewer than pairs. All states are one question: one system to solve.
        """
        return _paired(self.bounds, path, pairs)

    def estimates(self, path: f.PathFormula, pairs: IntArray) -> FloatBounds | None:
        """Return floats below and above the probabilities at pairs, each [n_pairs, 2].

        None where there are none, or the pairs are few and the chain is small.
        """
        if len(pairs) < ESTIMATING_PAYS_FROM and self.chain.n_states < LARGE_CHAIN:
            return None
        if not self.is_known(path):
            return None
        if id(path) not in self._estimated:
            from dpcheck.solve import path_estimates

            made = path_estimates(self.chain, path, satisfying=self.everywhere, limits=self.limits)
            self._estimated[id(path)] = path, made
        found = self._estimated[id(path)][1]
        return None if found is None else (found[0][pairs], found[1][pairs])

    def sure_ends(self, path: f.PathFormula, pairs: IntArray) -> set[int] | None:
        """Return which of 0 and 1 pairs [n, 2] have on both sides; None where one has neither."""
        estimated = self.estimates(path, pairs)
        if estimated is not None:
            low, high = estimated
            is_sure = (low == high) & (low[:, :1] == low)
            return set(low[:, 0].astype(np.int64).tolist()) if is_sure.all() else None
        seen, _ = self.paired_bounds(path, pairs)
        values = {p for ends in seen for p in (*ends[0], *ends[1])}
        are_alike = all(low == high == ends[0][0] for ends in seen for low, high in ends)
        return {int(p == 1) for p in values} if are_alike and values <= {0, 1} else None

    def violating(self, formula: f.Private, pairs: IntArray) -> IntArray:
        """Return the pairs, of the given ones, that surely violate a formula D, [n_violating, 2].

        Floats with a proved error decide what is clear, bounds or exact numbers the rest.
        """
        return pairs[self._violating(formula, pairs).surely]

    def _private(self, formula: f.Private, states: IntArray) -> TruthBounds:
        """Return where a formula D holds among some states, [n_given]."""
        pairs = self.pairs_at(states)
        violating = self._violating(formula, pairs)

        def ends(violates: BoolArray) -> BoolArray:
            fails = np.zeros(self.chain.n_states, np.bool_)
            fails[pairs[violates]] = True
            return fails

        found = violating.mapped(ends)
        neighbors, doubtful = self._beside(formula.path), self.doubtful_at(states)
        is_open = np.ones(self.chain.n_states, np.bool_)
        if neighbors is not None:
            is_open[neighbors.told] = False
            doubtful = doubtful[is_open[doubtful].any(axis=1)]
        if len(doubtful):
            maybe = found.possibly.copy()
            maybe[doubtful[self._may_violate(formula, doubtful)]] = True
            found = TruthBounds(found.surely, found.possibly | (maybe & is_open))
        there = found.mapped(lambda fails: fails[states])
        if neighbors is not None:
            beside = [neighbors.are_violating(formula, s) for s in states.tolist()]
            surely = [verdict is True for verdict in beside]
            possibly = [verdict is not False for verdict in beside]
            there = TruthBounds(there.surely | surely, there.possibly | possibly)
        return there.negated()

    def _may_violate(self, formula: f.Private, doubtful: IntArray) -> BoolArray:
        """Return whether any that doubtful pairs [n, 2] stand for may violate a formula D, [n]."""
        different, which = _paired(self._all_bounds, formula.path, doubtful)
        verdicts = [_is_violated(formula, *both) is not False for both in different]
        may_violate: BoolArray = np.array(verdicts, np.bool_)[which]
        return may_violate

    def _violating(self, formula: f.Private, pairs: IntArray) -> TruthBounds:
        """Return which of some pairs surely and possibly violate a formula D, each [n_pairs]."""
        if not self.chain.lumped:
            return self._are_clearly_violating(formula, pairs)
        surely, possibly = np.zeros((2, len(pairs)), np.bool_)
        are_lumped = np.isin(pairs, list(self.chain.lumped)).any(axis=1)
        near = self._are_clearly_violating(formula, pairs[~are_lumped])
        surely[~are_lumped], possibly[~are_lumped] = near.surely, near.possibly
        self.bounds(formula.path, distinct(pairs[are_lumped]))
        beyond = [self._is_violating_beyond(formula, *pair) for pair in pairs[are_lumped].tolist()]
        surely[are_lumped] = [verdict is True for verdict in beyond]
        possibly[are_lumped] = [verdict is not False for verdict in beyond]
        return TruthBounds(surely, possibly)

    def _are_clearly_violating(self, formula: f.Private, pairs: IntArray) -> TruthBounds:
        """Return which of some pairs violate a formula D, [n_pairs], by floats where these tell."""
        from dpcheck.check.formulas.float_verdicts import OPEN, VIOLATED, clear_verdicts

        estimated = self.estimates(formula.path, pairs)
        if estimated is None:
            return self._are_violating(formula, pairs)
        low, high = estimated
        first, second = (low[:, 0], high[:, 0]), (low[:, 1], high[:, 1])
        verdicts = clear_verdicts(formula.epsilon, formula.delta, first, second)
        violates: BoolArray = verdicts == VIOLATED
        is_open = verdicts == OPEN
        if is_open.any():  # there are estimates: the path is known
            violates[is_open] = self._are_violating(formula, pairs[is_open]).surely
        return TruthBounds.known(violates)

    def _are_violating(self, formula: f.Private, pairs: IntArray) -> TruthBounds:
        """Return which of some pairs violate a formula D, [n_pairs], by bounds or exact numbers."""
        different, which = self.paired_bounds(formula.path, pairs)
        verdicts = [_is_violated(formula, *both) for both in different]
        violates = np.array([bool(verdict) for verdict in verdicts], np.bool_)[which]
        is_open = np.array([verdict is None for verdict in verdicts], np.bool_)[which]
        if is_open.any() and not self.is_known(formula.path):
            return TruthBounds(violates, violates | is_open)
        open_pairs = np.flatnonzero(is_open)
        if len(open_pairs):
            exact = self.probabilities(formula.path, pairs[open_pairs].T.ravel())
            n_open = len(open_pairs)
            for k, p, q in zip(open_pairs.tolist(), exact[:n_open], exact[n_open:], strict=True):
                violates[k] = bool(_is_violated(formula, (p, p), (q, q)))
        return TruthBounds.known(violates)

    def _is_violating_beyond(self, formula: f.Private, *pair: int) -> bool | None:
        """Return whether a pair violates a formula D, with all that its states stand for."""
        from dpcheck.check.formulas.beyond import are_violating

        verdict = _is_violated(formula, *self._all_bounds(formula.path, np.array(pair, np.int64)))
        if verdict is not None:
            return verdict
        return self._truth_beyond(formula, pair, (formula.delta,), are_violating(formula))

    def _all_bounds(self, path: f.PathFormula, states: IntArray) -> list[Bounds]:
        """Return bounds of the probabilities at all that states [n] stand for."""
        return list(map(self._with_lumped, self.bounds(path, states), states.tolist()))

    def _with_lumped(self, bounds: Bounds, state: int) -> Bounds:
        """Return bounds of the probabilities at all states that a state stands for.

        It has their mean: where that is 0 or 1, all are.
        """
        error, (low, high) = self.chain.lumped.get(state), bounds
        if error is None or (low == high and low in {0, 1}):
            return bounds
        low, high = subtract(low, error), add(high, error)
        return low if compare(low, 0) > 0 else 0, high if compare(high, 1) < 0 else 1

    def _satisfying(self, formula: f.ProbabilityIs, states: IntArray) -> TruthBounds:
        """Return where the probability is as a P formula asks, among states [n]."""
        bounds, lumped = self._all_bounds(formula.path, states), self.chain.lumped
        decided = {each: _is_satisfied(each, formula) for each in set(bounds)}
        verdicts = [decided[each] for each in bounds]
        undecided = [k for k, verdict in enumerate(verdicts) if verdict is None]
        for k in undecided:
            if int(states[k]) in lumped:
                verdicts[k] = self._satisfies_beyond(formula, int(states[k]))
        undecided = [k for k in undecided if int(states[k]) not in lumped]
        if undecided and self.is_known(formula.path):
            exact = self.probabilities(formula.path, states[undecided])
            for k, p in zip(undecided, exact, strict=True):
                verdicts[k] = _is_satisfied((p, p), formula)
        surely = np.array([verdict is True for verdict in verdicts], np.bool_)
        if None not in verdicts:
            return TruthBounds.known(surely)
        return TruthBounds(surely, np.array([verdict is not False for verdict in verdicts]))

    def _satisfies_beyond(self, formula: f.ProbabilityIs, state: int) -> bool | None:
        """Return whether a P formula holds at all that a state stands for; None if at some."""
        from dpcheck.check.formulas.beyond import are_satisfying

        bounds = [bound for _, bound in formula.relations]
        return self._truth_beyond(formula, (state,), bounds, are_satisfying(formula))

    def _truth_beyond(
        self, formula: Asking, states: Sequence[int], bounds: Sequence[Number], told: Told
    ) -> bool | None:
        """Return what is told of probabilities at all that states stand for, beside bounds.

        None where nothing is known of these, or it is true of some: it may be told where more
        numbers are inside of the window.
        """
        from dpcheck.check.formulas.beyond import TruthBeyond

        placed = self._placed(formula.path, states)
        if placed is None:
            return None
        orders, (_, gaps) = [order for order, _ in placed], placed[0]
        known = self._beyond.setdefault(id(formula), (formula, {}))[1]
        key = tuple(map(id, orders))
        if key not in known:
            near = (np.array(each.near, np.int64) for each in orders)
            values = [self.probabilities(formula.path, each) for each in near]
            values += [[bound] * len(orders[0].near) for bound in bounds]
            known[key] = TruthBeyond(values, orders[0].ratios, told)
        return known[key].at(gaps)

    @property
    def level(self) -> int:
        """On which level numbers beyond the window are to be told apart that this one does not."""
        return max(self._levels)

    def _placed(
        self, path: f.PathFormula, states: Sequence[int]
    ) -> list[tuple[Order, tuple[Gap, ...]]] | None:
        """Return the orders of states, in which they have the same gaps; None where none is known.

        Formulas inside of the path tell no more than these orders do.
        """
        for _, ordered in self._ordered(path):
            known = ordered.placed()
            placed = [known[state] for state in states if state in known]
            shapes = {(order.ratios, gaps) for order, gaps in placed}
            if len(placed) == len(states) and len(shapes) == 1:
                return placed
        return None

    def _ordered(self, path: f.PathFormula) -> Iterator[tuple[int, Ordered]]:
        """Yield the levels, with what is told there, on which a path tells no more."""
        inner = [self.bounds_everywhere(each) for each in f.outermost_numbers(path)]
        if not all(each.are_known for each in inner):
            return
        level = 1 if inner else 0
        while (ordered := self.chain.orders(level)) is not None:
            if self._are_settled(path, level, ordered.alike):
                yield level, ordered
            level += 1
        self._levels.add(level)

    def _are_settled(self, path: f.PathFormula, level: int, alike: Sequence[IntArray]) -> bool:
        """Return whether all that a path asks of states is one in each class [n_alike] of these."""
        known = self._settled.get((id(path), level))
        if known is None:
            inner = [self.surely(each) for each in f.outermost_numbers(path)]
            atoms = [self.chain.labelling[each.key] for each in f.outermost_atoms(path)]
            known = self._settled[id(path), level] = path, _are_alike([*inner, *atoms], alike)
        return known[1]


def _are_alike(truths: Sequence[BoolArray], classes: Iterable[IntArray]) -> bool:
    """Return whether each of some truths [n_states] is one in every class [n_alike] of states."""
    return all((truth[s] == truth[s[0]]).all() for s in classes for truth in truths)


def _paired(
    bounds: Callable[[f.PathFormula, IntArray], list[Bounds]], path: f.PathFormula, pairs: IntArray
) -> tuple[list[tuple[Bounds, Bounds]], IntArray]:
    """Return the different pairs of bounds at pairs of states, and which each has, [n_pairs]."""
    states = distinct(pairs)
    numbers: dict[object, int] = {}
    different: list[Bounds] = []
    codes = np.empty(len(states), np.int64)
    for k, each in enumerate(bounds(path, states)):
        codes[k] = numbers.setdefault(_key(each), len(different))
        if codes[k] == len(different):
            different.append(each)
    ends = codes[np.searchsorted(states, pairs)]
    keys, which = np.unique(ends[:, 0] * len(different) + ends[:, 1], return_inverse=True)
    found = [divmod(key, len(different)) for key in keys.tolist()]
    return [(different[p], different[q]) for p, q in found], which


def _with_ends_in(pairs: IntArray, states: IntArray, n_states: int) -> IntArray:
    """Return the pairs [n_pairs, 2] with an end among states [n]."""
    chosen = np.zeros(n_states, np.bool_)
    chosen[states] = True
    found: IntArray = pairs[chosen[pairs].any(axis=1)]
    return found


def _key(bounds: Bounds) -> object:
    """Return what equal bounds have in common, cheaper to hash than rationals."""
    low, high = bounds
    return as_fraction_parts(low), None if low is high else as_fraction_parts(high)


def _is_violated(formula: f.Private, first: Bounds, second: Bounds) -> bool | None:
    """Return whether p <= E q + δ fails in some direction; None where the bounds do not tell."""
    is_open = False
    is_exact = first[0] is first[1] and second[0] is second[1]
    for (low_p, high_p), (low_q, high_q) in ((first, second), (second, first)):
        if excess_sign(low_p, high_q, formula.epsilon, formula.delta) > 0:
            return True
        if not is_exact and excess_sign(high_p, low_q, formula.epsilon, formula.delta) > 0:
            is_open = True
    return None if is_open else False


def _is_satisfied(bounds: Bounds, formula: f.ProbabilityIs) -> bool | None:
    """Return whether every probability within the bounds is as a P formula asks; None if some are.

    One comparison that fails everywhere between them is enough for none.
    """
    truths = {
        truth_between(comparison, *(compare(end, bound) for end in bounds))
        for comparison, bound in formula.relations
    }
    return False if False in truths else None if None in truths else True
