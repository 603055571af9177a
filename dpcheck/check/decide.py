"""Claims decided on a chain: the verdict, what was looked at, and why it may say little."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, assert_never

import numpy as np

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.check.formulas.truths import BEYOND, LARGE_CHAIN, Truths
from dpcheck.check.quantities.event_claims import decide_on_sequences
from dpcheck.check.quantities.privacy import closest_text, quantity_text, verdict_on
from dpcheck.check.quantities.seen_pairs import seen_pairs
from dpcheck.check.values.amounts import (
    between_amount,
    bound_amount,
    enclosed_between,
    number_amount,
)
from dpcheck.check.values.comparisons import by_size, distance, holds, order
from dpcheck.check.values.measures import ClaimRejected, Measures
from dpcheck.check.values.verdicts import (
    Amount,
    Beside,
    Bounds,
    Counterexample,
    Coverage,
    Holds,
    Outcome,
    Phrase,
    Sides,
    Undecided,
    Vacuity,
    Value,
    Violated,
)
from dpcheck.diagnostics.claims import AtSelectsNothing, SeveralStates
from dpcheck.exact import Extended, MinusInfinity, TooLarge, compare, exact_text, multiply, subtract
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic import claims
from dpcheck.logic.formula_text import formula_text
from dpcheck.logic.formulas import Private, ProbabilityIs, Relation, StateFormula
from dpcheck.records import dataclass, replace
from dpcheck.source import Span

NOTHING_MEASURED = Measures()


@dataclass(frozen=True, eq=False)
class Asked:
    """The states [n_selected] a claim is about, in a chain of which `truths` are known."""

    selected: IntArray
    truths: Truths
    measures: Measures

    @property
    def coverage(self) -> Coverage:
        """How much is looked at."""
        return Coverage(len(self.truths.pairs_at(self.selected)))

    def name(self, k: int) -> str:
        """Return the text of the selected state k."""
        return self.truths.chain.state_text(int(self.selected[k]))


def decide(
    chain: Chain,
    claim: claims.Claim,
    *,
    at: claims.At | None,
    limits: Limits,
    measures: Measures = NOTHING_MEASURED,
    truths: Truths | None = None,
) -> Outcome:
    """Return the outcome of a claim on a chain, restricted by `at` if there is one.

    What is computed of formulas is kept in `truths`, if they are given.

    Raises `ClaimRejected` when `at` selects nothing, or `P=?` has no single state.
    """
    truths = truths or Truths(chain, limits)
    asked = Asked(chain.initial, truths, measures)
    try:
        asked = Asked(selected_states(truths, at), truths, measures)
        return _decide(claim, asked)
    except LimitReached as limit:
        return Outcome(Undecided(limit.limit, Phrase.of(limit.progress)), asked.coverage)


def decide_arranged(
    parts: Sequence[tuple[Chain, int, int]],
    titles: Sequence[str],
    claim: claims.Claim,
    *,
    at: claims.At | None,
    span: Span,
    limits: Limits,
    measures: Measures = NOTHING_MEASURED,
) -> Outcome:
    """Return the outcome of a claim about an arrangement of chains (chain, distance, times).

    Raises `ClaimRejected` also where the parts do not have the same inputs and neighbors.
    """
    from dpcheck.check.arrangements import decide_composition, group_promise, independent_runs

    own = parts[0][0]
    selected = own.initial
    try:
        runs = independent_runs(parts, titles, span, limits)
        if len(runs) == 1 and runs[0][1] == 1:
            outcome = decide(runs[0][0], claim, at=at, limits=limits, measures=measures)
            beside = group_promise(claim, own, parts[0][1], limits)
            return replace(outcome, beside=(*outcome.beside, *beside))
        selected = selected_states(Truths(runs[0][0], limits), at)
        return decide_composition(claim, runs, selected, limits)
    except LimitReached as limit:
        coverage = Coverage(len(own.neighbors.pairs))
        return Outcome(Undecided(limit.limit, Phrase.of(limit.progress)), coverage)


def nothing_asked(kind: Literal["check", "refute", "compute"], chosen: str) -> Outcome:
    """Return the outcome of a claim about some values of a parameter, without the one `chosen`."""
    vacuity = Vacuity("no value", f"it asks about other values than {chosen}, which was chosen")
    nothing = Value(Amount("not asked", "not asked", param=chosen.partition(" = ")[0]), 0)
    verdict = nothing if kind == "compute" else Holds()
    return Outcome(verdict, Coverage(0), (vacuity,))


def selected_states(truths: Truths, at: claims.At | None) -> IntArray:
    """Return the states a claim is about, [n_selected]; raises `ClaimRejected` without any."""
    chain = truths.chain
    match at:
        case None:
            return chain.initial
        case claims.AtCondition(condition=condition, span=span, member=member):
            found = chain.initial[truths.at(condition, chain.initial)]
            if len(found) == 0:
                raise ClaimRejected(AtSelectsNothing(span, formula_text(condition), member))
            return found
        case claims.AtState(key=key, span=span):
            states = np.flatnonzero(chain.labelling[key])
            if len(states) == 0:
                raise ClaimRejected(AtSelectsNothing(span, key.removeprefix("at ")))
            return states
        case _:
            assert_never(at)


def _decide(claim: claims.Claim, asked: Asked) -> Outcome:
    """Return the outcome of a claim about the selected states."""
    match claim:
        case claims.FormulaClaim():
            return _decide_formula(claim, asked)
        case claims.PrivacyClaim():
            truths = asked.truths
            return decide_on_sequences(claim, truths.chain, asked.selected, truths.limits)
        case claims.QuantityClaim(quantity=quantity) | claims.QuantityValue(quantity=quantity):
            return _decide_quantity(claim, quantity, asked)
        case claims.QuantityComparison():
            from dpcheck.check.quantities.decide_quantity import decide_comparison

            return decide_comparison(claim, lambda side: _decide(side, asked))
        case claims.ExpectationClaim(quantity=quantity, relations=relations):
            return _decide_expectations(quantity, relations, asked)
        case _:
            assert_never(claim)


def _decide_quantity(
    claim: claims.QuantityClaim | claims.QuantityValue, quantity: claims.Quantity, asked: Asked
) -> Outcome:
    """Report or compare a quantity of the selected states."""
    chain, limits = asked.truths.chain, asked.truths.limits
    match quantity:
        case claims.PathProbability() | claims.Expectation():
            return _decide_number(claim, quantity, asked)
        case claims.TightEpsilon() | claims.TightDelta():
            return decide_on_sequences(claim, chain, asked.selected, limits)
        case (
            claims.LossQuantity()
            | claims.LossTable()
            | claims.ChannelQuantity()
            | claims.LeastError()
        ):
            from dpcheck.check.quantities.decide_quantity import decide_quantity

            seen = seen_pairs(chain, asked.selected, limits)
            return decide_quantity(claim, quantity, seen, asked.measures)
        case _:
            assert_never(quantity)


def _decide_formula(claim: claims.FormulaClaim, asked: Asked) -> Outcome:
    """Decide a state formula at every selected state.

    A limit that is reached beside the verdict costs the words that it is for.
    """
    from dpcheck.check.formulas.counterexamples import counterexample
    from dpcheck.check.formulas.vacuity import formula_vacuity

    selected, truths = asked.selected, asked.truths
    truth = truths.bounds_at(claim.formula, selected)
    failing = selected[~truth.possibly]
    if len(failing) == 0 and not truth.are_known:
        return _undecided_beyond(claim.formula, asked)
    is_violated, vacuity, beside = len(failing) > 0, tuple[Vacuity, ...](), tuple[Beside, ...]()
    verdict = Violated(counterexample(claim.formula, failing, truths)) if is_violated else Holds()
    with suppress(LimitReached):
        vacuity = formula_vacuity(claim.formula, selected, truths)
    with suppress(LimitReached, TooLarge):
        beside = () if is_violated else _closest(claim.formula, asked)
    return Outcome(verdict, asked.coverage, vacuity, beside=beside)


def _undecided_beyond(formula: StateFormula, asked: Asked) -> Outcome:
    """Return what is known of a formula that depends on how far beyond a window numbers are.

    Raises `LimitReached` where a wider window may tell more.
    """
    if not asked.truths.tells_bounds:
        raise LimitReached(BEYOND)
    from dpcheck.check.formulas.told import told_bounds

    return Outcome(
        Undecided(BEYOND, told_bounds(formula, asked.selected, asked.truths)), asked.coverage
    )


def _closest(formula: StateFormula, asked: Asked) -> tuple[Beside, ...]:
    """Return the pair or state closest to the budget of a D, or the bound of a P, that holds."""
    from dpcheck.check.formulas.closest import closest_pair

    truths = asked.truths
    if truths.chain.lumped or truths.chain.n_states >= LARGE_CHAIN:
        return ()
    if isinstance(formula, ProbabilityIs):
        values = truths.probabilities(formula.path, asked.selected)
        return _closest_state(formula.relations, values, asked)
    if not isinstance(formula, Private):
        return ()
    pairs = truths.pairs_at(asked.selected)
    gap, is_exact = closest_pair(formula, pairs, truths) if len(pairs) else (None, False)
    if gap is None or not is_exact or gap.p == gap.q:
        return ()
    first, second = pairs[gap.pair][:: 1 if gap.is_forward else -1].tolist()
    names = truths.chain.state_text(first), truths.chain.state_text(second)
    return (Beside(closest_text(formula, gap, names, None)),)


def _closest_state(
    relations: Sequence[Relation], values: Sequence[Extended], asked: Asked
) -> tuple[Beside, ...]:
    """Return which of the selected states has the value closest to a bound, unless all have it.

    values [n_selected] are within all bounds.
    """
    near = [
        (distance(value, bound), k, comparison, bound)
        for k, value in enumerate(values)
        if not isinstance(value, MinusInfinity | None)
        for comparison, bound in relations
    ]
    if all(far == 0 for far, *_ in near):
        return ()
    _, k, comparison, bound = min(near, key=lambda each: by_size(each[0]))
    compares = f" {comparison} {exact_text(bound)}"
    told = Phrase.of(f"tightest: {asked.name(k)} with ", bound_amount(values[k]), compares)
    return (Beside(told),)


def _decide_number(
    claim: claims.QuantityClaim | claims.QuantityValue,
    quantity: claims.PathProbability | claims.Expectation,
    asked: Asked,
) -> Outcome:
    """Report or compare a probability or a mean at the one state that is selected."""
    try:
        value = one_number(quantity, asked)
    except LimitReached as reached:
        is_known = reached.limit == BEYOND and asked.truths.tells_bounds
        if not is_known or isinstance(quantity, claims.Expectation):
            raise
        return _number_within(claim, quantity, asked)
    name, amount = asked.name(0), bound_amount(value)
    verdict = verdict_on(claim, quantity_text(quantity), value, amount, (name,))
    if isinstance(verdict, Violated) and isinstance(quantity, claims.PathProbability):
        assert isinstance(claim, claims.QuantityClaim), "a value is not violated"
        sides = Sides(amount, claim.comparison, bound_amount(claim.bound))
        verdict = _violated(name, formula_text(quantity.path), sides, amount)
    return Outcome(verdict, *looked_at(quantity, asked), amount)


def _number_within(
    claim: claims.QuantityClaim | claims.QuantityValue,
    quantity: claims.PathProbability,
    asked: Asked,
) -> Outcome:
    """Report or compare a probability that is known by bounds, as far as these tell."""
    from dpcheck.check.quantities.endless_claims import FEWEST_DIGITS

    ((low, high),) = asked.truths.bounds(quantity.path, asked.selected)
    name, amount = quantity_text(quantity), between_amount(low, high)
    verdict = verdict_on(claim, name, enclosed_between(low, high), amount, (asked.name(0),))
    is_rough = compare(multiply(subtract(high, low), 10**FEWEST_DIGITS), 1) > 0
    if isinstance(verdict, Undecided) or (isinstance(verdict, Value) and is_rough):
        known = Bounds(name, number_amount(low), number_amount(high))
        verdict = Undecided(BEYOND, Phrase.of("it is ", amount), known)
        return Outcome(verdict, asked.coverage)
    return Outcome(verdict, *looked_at(quantity, asked), amount)


def one_number(quantity: claims.PathProbability | claims.Expectation, asked: Asked) -> Extended:
    """Return the probability or the mean at the one state that is selected."""
    is_mean = isinstance(quantity, claims.Expectation)
    if len(asked.selected) != 1:
        names = tuple(map(asked.name, range(len(asked.selected))))
        raise ClaimRejected(SeveralStates(quantity.span, names, "E=?" if is_mean else "P=?"))
    if isinstance(quantity, claims.Expectation):
        return means(quantity, asked)[0]
    return asked.truths.probabilities(quantity.path, asked.selected)[0]


def looked_at(
    quantity: claims.PathProbability | claims.Expectation, asked: Asked
) -> tuple[Coverage, tuple[Vacuity, ...]]:
    """Return how much was looked at, and why that may say little."""
    from dpcheck.check.formulas.vacuity import formula_vacuity

    if isinstance(quantity, claims.Expectation):
        return asked.coverage, ()
    return asked.coverage, formula_vacuity(quantity.path, asked.selected, asked.truths)


def _decide_expectations(
    quantity: claims.Expectation, relations: Sequence[Relation], asked: Asked
) -> Outcome:
    """Compare the mean of a number from every selected state."""
    found = means(quantity, asked)
    failing = [
        (
            by_size(distance(mean, bound)),
            k,
            Sides(bound_amount(mean), comparison, number_amount(bound)),
        )
        for k, mean in enumerate(found)
        for comparison, bound in relations
        if not holds(comparison, order(mean, bound))
    ]
    if failing:
        _, k, sides = max(failing, key=lambda each: each[0])  # the one furthest from its bound
        return Outcome(_violated(asked.name(k), quantity.text, sides), asked.coverage)
    return Outcome(Holds(), asked.coverage, beside=_closest_state(relations, found, asked))


def _violated(state: str, measured: str, sides: Sides, *probabilities: Amount) -> Violated:
    """Return that what is measured at a state does not compare so."""
    said = Phrase.of(sides.left, f" {sides.comparison} ", sides.right)
    return Violated(Counterexample((state,), Phrase.of(measured), probabilities, said, sides))


def means(quantity: claims.Expectation, asked: Asked) -> list[Extended]:
    """Return the means from the selected states [n_selected]."""
    from dpcheck.check.quantities.expectations import expectations

    end, truths = asked.measures.at_ends[quantity.key], asked.truths
    return expectations(truths.chain, end, asked.selected, quantity.span, truths.limits)
