"""Event-level claims on a chain: from its output sequences to an outcome."""

from __future__ import annotations

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.check.evidence.table_evidence import TableEvidence, n_listed
from dpcheck.check.quantities import privacy
from dpcheck.check.quantities.seen_pairs import (
    SeenPairs,
    complete_evidence,
    endless_prefixes,
    seen_pairs,
)
from dpcheck.check.quantities.tight import Evidence
from dpcheck.check.values import verdicts
from dpcheck.exact import TooLarge
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic.claims import PrivacyClaim, is_pure
from dpcheck.records import replace

SURE = verdicts.Vacuity(
    "trivial probability", "one and the same output sequence is certain on both sides of every pair"
)


def decide_on_sequences(
    claim: privacy.EventClaim, chain: Chain, selected: IntArray, limits: Limits
) -> verdicts.Outcome:
    """Return the outcome of an event-level claim about the pairs with an end in selected[n]."""
    seen = seen_pairs(chain, selected, limits)
    evidence = None if _grows(claim, seen) else complete_evidence(seen)
    if evidence is None:
        from dpcheck.check.quantities.endless_claims import decide_endless

        return decide_endless(claim, seen)
    decision = privacy.decide_event_claim(claim, evidence, seen)
    if isinstance(decision.verdict, verdicts.Violated) and not seen.are_finite:
        # A few outputs are easier to follow than all that merged prefixes stand for.
        from dpcheck.check.quantities.endless_claims import finite_evidence

        short = finite_evidence(claim, seen, decision, evidence)
        decision = decision if short is None else replace(decision, verdict=short[1].verdict)
    assert decision.verdict is not None, "complete evidence decides"
    return verdicts.Outcome(
        decision.verdict,
        seen.coverage(n_listed(evidence)),
        _vacuity(evidence, len(seen.pairs)),
        decision.value,
        (*_closest(claim, seen, decision, evidence), *why_infinite(seen, decision, evidence)),
        strategy=_strategy(decision, evidence),
    )


def _grows(claim: privacy.EventClaim, seen: SeenPairs) -> bool:
    """Return whether a claim is about ratios, and outputs make one grow beyond all bounds."""
    if seen.are_finite or not is_pure(claim):
        return False
    return endless_prefixes(seen).growth(seen.limits) is not None


def why_infinite(
    seen: SeenPairs, decision: privacy.Decision, evidence: Evidence
) -> tuple[verdicts.Beside, ...]:
    """Return an output that is possible on one side only, where that makes an ε infinite."""
    shown, value = decision.shown, decision.value
    if isinstance(decision.verdict, verdicts.Violated) or value is None or value.exact != "inf":
        return ()
    if shown is None or shown.gap is None:
        return ()
    left, right = seen.names(shown.gap.pair, is_forward=shown.gap.is_forward)
    there = f"possible from {left}, and not from {right}"
    told: tuple[verdicts.PhrasePart, ...] = ("some outputs are ", there)
    if isinstance(evidence, TableEvidence):
        (outputs, _, _), *_ = evidence.event_text(shown.gap, shown.factor).runs
        told = "output " * (len(outputs.outputs) == 1), outputs, " is ", there
    elif evidence.tells_in_the_long_run:
        told = ("what is seen in the long run is ", there)
    return (verdicts.Beside(verdicts.Phrase.of(*told)),)


def _closest(
    claim: privacy.EventClaim, seen: SeenPairs, decision: privacy.Decision, evidence: Evidence
) -> tuple[verdicts.Beside, ...]:
    """Return the pair that comes closest to the budget of a claim that holds, with an output."""
    found = decision.closest
    if found is None or found.gap is None or not isinstance(claim, PrivacyClaim):
        return ()
    pair = seen.names(found.gap.pair, is_forward=found.gap.is_forward)
    shown: verdicts.OutputSequence | None = None
    has_others = False
    try:
        if isinstance(evidence, TableEvidence):
            text = evidence.event_text(found.gap, found.factor)
            (shown, _, _), *_ = text.runs
            has_others = isinstance(text.event, verdicts.Phrase) or len(text.event) > 1
        near = privacy.closest_text(claim, found.gap, pair, shown, has_others=has_others)
        return (verdicts.Beside(near),)
    except (LimitReached, TooLarge):  # which costs the words, and no verdict
        return ()


def _strategy(decision: privacy.Decision, evidence: Evidence) -> verdicts.Strategy | None:
    """Return what the worst analyst asks, where one adapts and there is an event to gain."""
    shown = decision.shown or decision.closest
    if isinstance(evidence, TableEvidence) or shown is None or shown.gap is None:
        return None
    from dpcheck.check.evidence.strategies import StrategyEvidence

    if not isinstance(evidence, StrategyEvidence):
        return None
    try:
        return evidence.strategy(shown.gap, shown.factor)
    except (LimitReached, TooLarge):  # which costs the words, and no verdict
        return None


def evidence_against(
    claim: privacy.EventClaim, chain: Chain, selected: IntArray, limits: Limits
) -> tuple[SeenPairs, Evidence]:
    """Return pairs and the evidence about them by which a claim is violated: it is known to be.

    selected [n_selected] are the states that it is about.
    """
    seen = seen_pairs(chain, selected, limits)
    complete = complete_evidence(seen)
    if complete is not None and seen.are_finite:
        return seen, complete
    from dpcheck.check.quantities.endless_claims import evidence_of_prefixes, finite_evidence

    if complete is None or _grows(claim, seen):
        return seen, evidence_of_prefixes(claim, seen)
    decision = privacy.decide_event_claim(claim, complete, seen)
    short = finite_evidence(claim, seen, decision, complete)
    return seen, complete if short is None else short[0]


def _vacuity(evidence: Evidence, n_pairs: int) -> tuple[verdicts.Vacuity, ...]:
    """Return why an event-level claim says little."""
    if n_pairs == 0:
        from dpcheck.check.formulas.vacuity import NO_NEIGHBORS

        return (NO_NEIGHBORS,)
    return (SURE,) if isinstance(evidence, TableEvidence) and evidence.certain().all() else ()
