"""Claims about all analysts who have fixed queries for histories of any length.

They cannot be tried one by one. An analyst who makes one choice again and again from some query on
is an ordinary public input, and what such a one violates is violated. What not even an analyst who
sees the outputs violates holds: for δ = 0 that is the same question, since the ratio of what was
seen contains no strategy. For δ > 0 the greatest δ or ε lies between both. P, D and E hold where
the least and the greatest values that any analyst reaches satisfy them (`solve.choices`). What lies
between is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Final

from dpcheck.chain.chain import IntArray
from dpcheck.check.all_values.piecewise import of_one_value
from dpcheck.check.decide import selected_states
from dpcheck.check.formulas.over_analysts import BETWEEN, OVER_ALL, TruthsOverAnalysts
from dpcheck.check.formulas.told import hull, told_bounds
from dpcheck.check.quantities.between import between_outcomes
from dpcheck.check.quantities.endless_claims import FEWEST_DIGITS
from dpcheck.check.quantities.expectations import extreme_means
from dpcheck.check.quantities.privacy import EventClaim, quantity_of, quantity_text
from dpcheck.check.values.amounts import between_amount, number_amount
from dpcheck.check.values.comparisons import as_number, truth_between
from dpcheck.check.values.measures import ClaimRejected, EndValue
from dpcheck.check.values.verdicts import (
    Amount,
    Beside,
    Bounds,
    Comparison,
    Counterexample,
    Coverage,
    Holds,
    Outcome,
    Phrase,
    Undecided,
    Value,
    Violated,
)
from dpcheck.diagnostics.claims import SeveralStates
from dpcheck.exact import Number, Param, compare
from dpcheck.explore import Explored, open_queries
from dpcheck.explore.explored import at_end
from dpcheck.explore.tails.tails import WindowTooSmall
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic import formulas as f
from dpcheck.logic.claims import (
    Claim,
    Expectation,
    ExpectationClaim,
    FormulaClaim,
    PathProbability,
    PrivacyClaim,
    QuantityClaim,
    QuantityValue,
    TightDelta,
    TightEpsilon,
)
from dpcheck.logic.formula_text import formula_text
from dpcheck.model.atoms import AtEnd
from dpcheck.model.fixed_queries import MOST_LENGTHS, adaptive, n_analysts, with_choices
from dpcheck.model.program import Mechanism
from dpcheck.model.values import Value as Chosen
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.claims.outcomes import Ready, asked_at, made_ready, outcome_of
from dpcheck.records import replace
from dpcheck.resolve import Resolved, ResolvedCheck

MOST_TRIED: Final = 64
"""So many analysts are tried who at last make one choice again and again, as many queries as that
leaves different."""

AGAIN: Final = "by an analyst who at last makes one query again and again"
SEEN: Final = "even by an analyst who sees the outputs"
ATTAINED: Final = ", for one who always asks the same,"
FOR_ONE_WHO_SEES: Final = ", for one who sees the outputs"


def outcome_over_analysts(check: ResolvedCheck, limits: Limits) -> tuple[Outcome, Ready | None]:
    """Return the outcome of a claim, and the ordinary claim that its counterexample is about.

    Raises `LimitReached` where a claim is of a kind that these bounds say nothing of.
    """
    if check.for_all is not None and check.for_all.single is not None:
        value = check.for_all.single
        outcome, shown = outcome_over_analysts(asked_at(check, value), limits)
        for one in islice(_steady(check, limits), 1):  # weights are such for all values
            made_ready(one, Explorations(), limits)
        return of_one_value(outcome, value, check.for_all), shown
    if check.leaves_out is not None or any(one.target is not check.target for one in check.parts):
        raise LimitReached(open_queries.UNBOUNDED)
    given = _given(check, limits)
    for one in _steady(check, limits) if _is_refuted_by_one(check.claim) else ():
        outcome, ready = _of_one(one, limits)
        if isinstance(outcome.verdict, Violated):
            ready, known = replace(ready, of_analysts=check), outcome.all_values
            some = None if known is None else known.some
            return replace(outcome, beside=(*outcome.beside, Beside(AGAIN)), all_values=some), ready
    if check.for_all is not None:
        raise LimitReached(open_queries.UNBOUNDED)
    is_one_run = sum(part.times for part in check.parts) <= 1
    match check.claim:
        case (
            PrivacyClaim()
            | QuantityClaim(quantity=TightEpsilon() | TightDelta())
            | QuantityValue(quantity=TightEpsilon() | TightDelta())
        ) as claim if is_one_run:
            return _of_events(check, claim, given, limits), None
        case _ if check.parts:
            raise LimitReached(open_queries.UNBOUNDED)
        case FormulaClaim(formula=formula):
            return _of_formula(check, formula, given, limits), None
        case (
            QuantityValue(quantity=PathProbability() | Expectation() as quantity)
            | QuantityClaim(quantity=PathProbability() | Expectation() as quantity)
            | ExpectationClaim(quantity=quantity)
        ):
            return _between(check, quantity, given, limits), None
    raise LimitReached(open_queries.UNBOUNDED)


# --- one analyst violates it ---------------------------------------------------------------


def _of_one(check: ResolvedCheck, limits: Limits) -> tuple[Outcome, Ready]:
    """Return the outcome of a claim about an ordinary mechanism, and what it is about."""
    return outcome_of(made_ready(check, Explorations(), limits), limits)


def _steady(check: ResolvedCheck, limits: Limits) -> Iterator[ResolvedCheck]:
    """Yield the claim about analysts who fix the first queries, and make the last one for ever."""
    assert isinstance(check.target, Mechanism), "it has queries"
    lengths, named = (
        open_queries.explored_lengths(check.target, limits),
        open_queries.n_named(check.atoms, check.target),
    )
    for n in (max(1, named) << k for k in range(MOST_TRIED.bit_length())):
        first = {node: sorted(each)[:n] for node, each in lengths.items()}
        if n > max(1, named) and n_analysts(check.target, first) > MOST_TRIED:
            break
        yield _about(check, partial(_again, n_first=n, limits=limits))


def _again(target: Mechanism, *, n_first: int, limits: Limits) -> Mechanism:
    """Return the target where the first choices are fixed, and the last of them made for ever."""
    lengths = open_queries.explored_lengths(target, limits)
    first = {node: sorted(each)[:n_first] for node, each in lengths.items()}
    return with_choices(target, first, "again")


def _about(check: ResolvedCheck, change: Callable[[Mechanism], Mechanism]) -> ResolvedCheck:
    """Return the claim about a target that is changed, for every value of a parameter."""
    assert isinstance(check.target, Mechanism), "it has queries"
    target, choose = change(check.target), check.chosen

    def chosen(value: Chosen | Param) -> Resolved:
        assert choose is not None, "a parameter can be chosen"
        found = choose(value)
        return replace(found, checks=tuple(_about(one, change) for one in found.checks))

    parts = tuple(replace(part, target=target) for part in check.parts)
    return replace(check, target=target, parts=parts, chosen=choose and chosen)


def _given(check: ResolvedCheck, limits: Limits) -> Mechanism:
    """Return the target where the choices that the claim names are public inputs.

    An analyst who sees the outputs makes all others. Raises `MistakesFound` where one that is named
    is not there.
    """
    assert isinstance(check.target, Mechanism), "it has queries"
    named, given = open_queries.n_named(check.atoms, check.target), check.target
    if named:
        lengths = open_queries.explored_lengths(given, limits)
        first = {node: sorted(each - {MOST_LENGTHS})[:named] for node, each in lengths.items()}
        given = with_choices(given, first, "open")
        open_queries.check_named(check.atoms, check.target, given, check.span)
    return adaptive(given)


def _is_refuted_by_one(claim: Claim) -> bool:
    """Return whether what some analysts violate is violated: the claim is about each of them."""
    match claim:
        case FormulaClaim(formula=formula):
            parts = formula.arguments if isinstance(formula, f.And) else (formula,)
            kinds = f.ProbabilityIs | f.Private
            return all(isinstance(part, kinds) and not f.is_nested(part.path) for part in parts)
        case QuantityClaim(quantity=TightEpsilon() | TightDelta(), comparison=comparison):
            return comparison in ("<=", "<")
        case PrivacyClaim() | ExpectationClaim():
            return True
    return False


# --- no analyst violates it ----------------------------------------------------------------


def _of_events(
    check: ResolvedCheck, claim: EventClaim, given: Mechanism, limits: Limits
) -> Outcome:
    """Return the outcome of a claim about ε or δ, by an analyst who sees the outputs."""
    seeing = _about(check, lambda _: given)
    outcome, quantity = _of_one(seeing, limits)[0], quantity_of(claim)
    if quantity == TightEpsilon(0, quantity.span):
        return outcome
    is_above = isinstance(claim, PrivacyClaim) or (
        isinstance(claim, QuantityClaim) and claim.comparison in ("<=", "<")
    )
    if is_above and isinstance(outcome.verdict, Holds):
        return replace(outcome, value=None, beside=(*outcome.beside, Beside(SEEN)))
    steady = next(_steady(check, limits))
    if not is_above:  # both are asked the same
        attained, _ = _of_one(steady, limits)
        low, high = _ends(attained)[0], _ends(outcome)[1]
        if low == high and low is not None and isinstance(claim, QuantityValue):
            return outcome
        found = between_outcomes(claim, attained, outcome, may_be_wide=_are_close(low, high))
        if found is not None:
            return found
    if not isinstance(claim, QuantityValue):
        asked = (
            replace(one, claim=QuantityValue(quantity, claim.span)) for one in (steady, seeing)
        )
        low, high = (_ends(_of_one(one, limits)[0])[k] for k, one in enumerate(asked))
    if low is None or high is None:
        return Outcome(Undecided(BETWEEN), outcome.coverage)
    words = "it is at least ", low, ATTAINED, " and at most ", high, FOR_ONE_WHO_SEES
    bounds = Bounds(quantity_text(quantity), low, high)
    return Outcome(Undecided(BETWEEN, Phrase.of(*words), bounds), outcome.coverage)


def _are_close(low: Amount | None, high: Amount | None) -> bool:
    """Return whether bounds agree in as many digits as a value is told for."""
    if low is None or high is None or "inf" in (low.decimal, high.decimal):
        return False
    below, above = Decimal(low.decimal), Decimal(high.decimal)
    return above - below <= above.scaleb(-FEWEST_DIGITS)


def _ends(outcome: Outcome) -> tuple[Amount, Amount] | tuple[None, None]:
    """Return what a value is at least and at most, as far as it is known."""
    match outcome.verdict:
        case Value(amount=Amount(enclosure=(below, above))):
            return Amount(below, below), Amount(above, above)
        case Value(amount=amount):
            return amount, amount
        case Undecided(bounds=Bounds(low=low, high=high)):
            return low, high
    return None, None


def _between(
    check: ResolvedCheck, quantity: PathProbability | Expectation, given: Mechanism, limits: Limits
) -> Outcome:
    """Return the outcome of a claim about a probability or a mean, by bounds over all analysts."""
    explorations, check = Explorations(), replace(check, target=given)
    while True:
        explored, truths, selected = _bounded(check, explorations, limits)
        name = truths.chain.state_text
        is_one = isinstance(check.claim, QuantityValue | QuantityClaim)
        if is_one and len(selected) > len(truths.initial_alike(int(selected[0]))):
            names = tuple(map(name, selected.tolist()))
            word = "P=?" if isinstance(quantity, PathProbability) else "E=?"
            raise ClaimRejected(SeveralStates(quantity.span, names, word))
        try:
            found = _bounds(quantity, check, explored, truths, selected)
            break
        except WindowTooSmall as small:  # as what shown numbers are at the ends of runs is read
            explorations.widen(check, small.window)
    low, high = hull(found)
    text, told = quantity_text(quantity), Phrase.of("it is ", between_amount(low, high), OVER_ALL)
    coverage = _coverage(truths, selected)
    if isinstance(check.claim, QuantityValue) and low == high:
        amount = number_amount(low)
        return Outcome(Value(amount, low), coverage, value=amount)
    relations = _relations(check.claim)
    verdicts = [
        [truth_between(each, *(compare(end, bound) for end in ends)) for each, bound in relations]
        for ends in found
    ]
    for state, (least, most), each in zip(selected.tolist(), found, verdicts, strict=True):
        if False in each:
            known = Phrase.of("it is ", between_amount(least, most), OVER_ALL)
            example = Counterexample((name(state),), Phrase.of(text), (), known)
            return Outcome(Violated(example), coverage)
    if relations and all(all(each) for each in verdicts):
        return Outcome(Holds(), coverage)
    bounds = Bounds(text, number_amount(low), number_amount(high))
    return Outcome(Undecided(BETWEEN, told, bounds), coverage)


def _bounds(
    quantity: PathProbability | Expectation,
    check: ResolvedCheck,
    explored: Explored,
    truths: TruthsOverAnalysts,
    selected: IntArray,
) -> list[tuple[Number, Number]]:
    """Return bounds of a probability, or of a mean, from selected[n_selected]."""
    if isinstance(quantity, PathProbability):
        return truths.bounds(quantity.path, selected)
    meaning = check.atoms[quantity.key]
    assert isinstance(meaning, AtEnd), "the end of a run determines it"
    known = meaning.positions, meaning.reads_last, meaning.degree
    end = EndValue(*known, at_end(explored, meaning))
    return extreme_means(truths.chain, end, selected, quantity.span, truths.limits)


def _relations(claim: Claim) -> Sequence[tuple[Comparison, Number]]:
    """Return what a claim compares a number with."""
    match claim:
        case QuantityClaim(comparison=comparison, bound=bound):
            return ((comparison, as_number(bound)),)
        case ExpectationClaim(relations=relations):
            return relations
    return ()


def _of_formula(
    check: ResolvedCheck, formula: f.StateFormula, given: Mechanism, limits: Limits
) -> Outcome:
    """Return the outcome of a state formula, by bounds of probabilities."""
    _, truths, selected = _bounded(replace(check, target=given), Explorations(), limits)
    coverage = _coverage(truths, selected)
    try:
        failing = selected[~truths.at(formula, selected)]
    except LimitReached as reached:
        if reached.limit != BETWEEN:
            raise
        return Outcome(
            Undecided(BETWEEN, told_bounds(formula, selected, truths, OVER_ALL)), coverage
        )
    if len(failing) == 0:
        return Outcome(Holds(), coverage)
    state = truths.chain.state_text(int(failing[0]))
    known = told_bounds(formula, failing, truths, OVER_ALL)
    example = Counterexample((state,), Phrase.of(formula_text(formula)), (), known)
    return Outcome(Violated(example), coverage)


def _bounded(
    check: ResolvedCheck, explorations: Explorations, limits: Limits
) -> tuple[Explored, TruthsOverAnalysts, IntArray]:
    """Return the chain with bounds over all analysts, and the states of the claim, [n_selected]."""
    explored, chain = explorations.labelled(check, limits)
    truths = TruthsOverAnalysts(chain, limits)
    return explored, truths, selected_states(truths, check.at)


def _coverage(truths: TruthsOverAnalysts, selected: IntArray) -> Coverage:
    """Return how much was looked at, from selected[n_selected]."""
    return Coverage(len(truths.pairs_at(selected)))
