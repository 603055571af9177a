"""A violated claim, explained: which parts its kind has, each within what is left of the time."""

from __future__ import annotations

import time

from dpcheck.check.arrangements import at_distance
from dpcheck.check.values.comparisons import as_number
from dpcheck.check.values.verdicts import Counterexample, Outcome, Violated
from dpcheck.explain.compositions import explain_composition
from dpcheck.explain.event_claims import explain_event_claim
from dpcheck.explain.explanation import Detail, Explanation
from dpcheck.explain.formulas import explain_formula
from dpcheck.explain.quantities import explain_error, explain_losses
from dpcheck.explain.subject import Subject
from dpcheck.limits import Limits
from dpcheck.logic.claims import (
    FormulaClaim,
    LeastError,
    LossQuantity,
    PrivacyClaim,
    QuantityClaim,
    TightDelta,
    TightEpsilon,
)
from dpcheck.records import replace

SECONDS = 2
"""What an explanation may take of the processor: a reader waits that long without wondering."""

MAX_STATES = 200_000


def short_limits(limits: Limits) -> Limits:
    """Return the limits of explaining a claim: tighter ones than those of the claim."""
    end, most = time.process_time() + SECONDS, min(limits.max_states, MAX_STATES)
    return replace(limits, max_states=most, cpu_deadline=end)


def explain(subject: Subject, outcome: Outcome, detail: Detail) -> Explanation | None:
    """Return why a claim is violated; None where the counterexample says all that is known."""
    if not isinstance(outcome.verdict, Violated):
        return None
    example, is_short = outcome.verdict.counterexample, detail == "short"
    explain_it = _explain_arranged if subject.parts else _explain_one
    made = subject.part("explanation", lambda: explain_it(subject, example, is_short=is_short))
    if made is None and not subject.omitted:
        return None
    left_out = tuple(dict.fromkeys(subject.omitted))
    return replace(made or Explanation(), omitted=left_out, faulty=tuple(subject.faults))


def _explain_one(
    subject: Subject, example: Counterexample, *, is_short: bool
) -> Explanation | None:
    """Return why a claim about one target is violated."""
    match subject.claim:
        case PrivacyClaim() | QuantityClaim(quantity=TightEpsilon() | TightDelta()):
            return explain_event_claim(subject, example, is_short=is_short)
        case FormulaClaim():
            return explain_formula(subject, example, is_short=is_short)
        case QuantityClaim(quantity=LossQuantity() as quantity):
            return explain_losses(subject, quantity, example)
        case QuantityClaim(quantity=LeastError() as quantity, bound=bound):
            most = None if bound is None else as_number(bound)
            return explain_error(subject, quantity, most, example)
        case _:
            return None


def _explain_arranged(
    subject: Subject, example: Counterexample, *, is_short: bool
) -> Explanation | None:
    """Return why a claim about an arrangement is violated: one of one run is about its chain."""
    (chain, distance, times), *more = subject.parts
    if times == 1 and not more:
        grouped = at_distance(chain, distance, subject.limits)
        return _explain_one(replace(subject, chain=grouped, parts=()), example, is_short=is_short)
    match subject.claim:
        case PrivacyClaim() | QuantityClaim(quantity=TightEpsilon() | TightDelta()) as claim:
            return explain_composition(subject, claim, example, is_short=is_short)
        case _:
            return None
