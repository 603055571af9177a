"""Claims about all analysts who have fixed queries for histories of any length.

They cannot be tried one by one. An analyst who makes one choice again and again from some query on
is an ordinary public input, and what such a one violates is violated. What not even an analyst who
sees the outputs violates holds: for δ = 0 that is the same question, since the ratio of what was
seen contains no strategy. P and D hold where the least and the greatest probabilities that any
analyst reaches satisfy them (`check.formulas.over_analysts`). What lies between is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dpcheck.chain.chain import IntArray
from dpcheck.check.decide import selected_states
from dpcheck.check.formulas.over_analysts import (
    BETWEEN,
    OVER_ALL,
    TruthsOverAnalysts,
    hull,
    told_bounds,
)
from dpcheck.check.values.amounts import between_amount, number_amount
from dpcheck.check.values.verdicts import (
    Amount,
    Beside,
    Bounds,
    Counterexample,
    Coverage,
    Holds,
    Outcome,
    Phrase,
    Undecided,
    Value,
    Violated,
)
from dpcheck.explore import explore, labelled
from dpcheck.explore.open_queries import (
    UNBOUNDED,
    check_named,
    explored_lengths,
    n_named,
)
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic import formulas as f
from dpcheck.logic.claims import (
    Claim,
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
from dpcheck.model.fixed_queries import (
    MOST_LENGTHS,
    adaptive,
    n_analysts,
    with_choices,
)
from dpcheck.model.program import Mechanism
from dpcheck.records import replace
from dpcheck.resolve import ResolvedCheck

MOST_TRIED: Final = 64
"""So many analysts are tried who at last make one choice again and again, as many queries as that
leaves different."""

AGAIN: Final = "from there on the last query is made again and again"
SEEN: Final = "even by an analyst who sees the outputs"


def over_all_analysts(
    check: ResolvedCheck, decide: Callable[[ResolvedCheck], Outcome], limits: Limits
) -> tuple[Outcome, ResolvedCheck | None]:
    """Return the outcome of a claim, and the ordinary claim that its counterexample is about.

    `decide` decides claims about ordinary mechanisms. Raises `LimitReached` where a claim is of a
    kind that these bounds say nothing of.
    """
    if check.parts or check.for_all is not None or check.leaves_out is not None:
        raise LimitReached(UNBOUNDED)
    given = _given(check, limits)
    for one in _steady(check, limits) if _is_refuted_by_one(check.claim) else ():
        outcome = decide(one)
        if isinstance(outcome.verdict, Violated):
            return replace(outcome, beside=(*outcome.beside, Beside(AGAIN))), one
    match check.claim:
        case FormulaClaim(formula=formula):
            return _of_formula(check, formula, given, limits), None
        case (
            QuantityValue(quantity=PathProbability(path=path))
            | QuantityClaim(quantity=PathProbability(path=path))
        ):
            truths, selected = _bounded(check, given, limits)
            low, high = hull(truths.bounds(path, selected))
            bounds = Bounds("P=?", number_amount(low), number_amount(high))
            told = Phrase.of("it is ", between_amount(low, high), OVER_ALL)
            unknown = Undecided(BETWEEN, told, bounds)
            return Outcome(unknown, _coverage(truths, selected)), None
        case PrivacyClaim() | QuantityClaim() | QuantityValue():
            return _for_one_who_sees(check, given, decide), None
    raise LimitReached(UNBOUNDED)


# --- one analyst violates it ---------------------------------------------------------------


def _steady(check: ResolvedCheck, limits: Limits) -> Iterator[ResolvedCheck]:
    """Yield the claim about analysts who fix the first queries, and make the last one for ever."""
    assert isinstance(check.target, Mechanism), "it has queries"
    lengths, named = explored_lengths(check.target, limits), n_named(check.atoms, check.target)
    for n in (max(1, named) << k for k in range(MOST_TRIED.bit_length())):
        first = {node: sorted(each)[:n] for node, each in lengths.items()}
        if n > max(1, named) and n_analysts(check.target, first) > MOST_TRIED:
            break
        yield replace(check, target=with_choices(check.target, first, "again"))


def _given(check: ResolvedCheck, limits: Limits) -> Mechanism:
    """Return the target where the choices that the claim names are public inputs.

    An analyst who sees the outputs makes all others. Raises `MistakesFound` where one that is named
    is not there.
    """
    assert isinstance(check.target, Mechanism), "it has queries"
    named, given = n_named(check.atoms, check.target), check.target
    if named:
        lengths = explored_lengths(given, limits)
        first = {node: sorted(each - {MOST_LENGTHS})[:named] for node, each in lengths.items()}
        given = with_choices(given, first, "open")
        check_named(check.atoms, check.target, given, check.span)
    return adaptive(given)


def _is_refuted_by_one(claim: Claim) -> bool:
    """Return whether what some analysts violate is violated: the claim is about each of them."""
    match claim:
        case FormulaClaim(formula=formula):
            parts = formula.arguments if isinstance(formula, f.And) else (formula,)
            kinds = f.ProbabilityIs | f.ProbabilityIn | f.Private
            return all(isinstance(part, kinds) and not f.is_nested(part.path) for part in parts)
        case QuantityClaim(quantity=TightEpsilon() | TightDelta(), comparison=comparison):
            return comparison in ("<=", "<")
        case PrivacyClaim() | ExpectationClaim():
            return True
    return False


# --- no analyst violates it ----------------------------------------------------------------


def _for_one_who_sees(
    check: ResolvedCheck, given: Mechanism, decide: Callable[[ResolvedCheck], Outcome]
) -> Outcome:
    """Return the outcome of a claim about ε or δ, by an analyst who sees the outputs."""
    outcome = decide(replace(check, target=given))
    match check.claim:
        case (
            PrivacyClaim(delta=0)
            | QuantityClaim(quantity=TightEpsilon(delta=0))
            | QuantityValue(quantity=TightEpsilon(delta=0))
        ):
            return outcome
        case PrivacyClaim() | QuantityClaim(comparison="<=" | "<") if isinstance(
            outcome.verdict, Holds
        ):
            return replace(outcome, value=None, beside=(*outcome.beside, Beside(SEEN)))
    if isinstance(outcome.verdict, Undecided):
        return outcome
    known = outcome.verdict.amount if isinstance(outcome.verdict, Value) else outcome.value
    told = (
        () if known is None else ("it is at most ", _upper(known), ", for one who sees the outputs")
    )
    return Outcome(Undecided(BETWEEN, Phrase.of(*told)), outcome.coverage)


def _upper(amount: Amount) -> Amount:
    """Return the amount that another one is at most."""
    above = amount.enclosure and amount.enclosure[1]
    return amount if above is None else Amount(above, above)


def _of_formula(
    check: ResolvedCheck, formula: f.StateFormula, given: Mechanism, limits: Limits
) -> Outcome:
    """Return the outcome of a state formula, by bounds of probabilities."""
    truths, selected = _bounded(check, given, limits)
    coverage = _coverage(truths, selected)
    try:
        failing = selected[~truths.at(formula, selected)]
    except LimitReached as reached:
        if reached.limit != BETWEEN:
            raise
        return Outcome(Undecided(BETWEEN, told_bounds(formula, selected, truths)), coverage)
    if len(failing) == 0:
        return Outcome(Holds(), coverage)
    state = truths.chain.state_text(int(failing[0]))
    known = told_bounds(formula, failing, truths)
    example = Counterexample((state,), Phrase.of(formula_text(formula)), (), known)
    return Outcome(Violated(example), coverage)


def _bounded(
    check: ResolvedCheck, given: Mechanism, limits: Limits
) -> tuple[TruthsOverAnalysts, IntArray]:
    """Return bounds over all analysts, and the states of the claim, [n_selected]."""
    explored = explore(
        given,
        kept_inputs=frozenset(check.kept_inputs),
        later_neighbors=check.needs_later_neighbors,
        limits=limits,
    )
    truths = TruthsOverAnalysts(labelled(explored, check.atoms), limits)
    return truths, selected_states(truths, check.at)


def _coverage(truths: TruthsOverAnalysts, selected: IntArray) -> Coverage:
    """Return how much was looked at, from selected[n_selected]."""
    return Coverage(len(selected), len(truths.pairs_at(selected)))
