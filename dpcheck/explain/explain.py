"""A violated claim, explained: which parts its kind has, each within what is left of the time."""

from __future__ import annotations

import time

from dpcheck.check.values.verdicts import Outcome, Violated
from dpcheck.exact import TooLarge
from dpcheck.explain.event_claims import explain_event_claim
from dpcheck.explain.explanation import Detail, Explanation
from dpcheck.explain.subject import Subject
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic.claims import PrivacyClaim, QuantityClaim, TightDelta, TightEpsilon

SECONDS = 2
"""What an explanation may take: about what a reader waits without asking what goes on."""

MAX_STATES = 200_000


def short_limits(limits: Limits) -> Limits:
    """Return the limits of explaining a claim: those of the claim, or tighter ones."""
    end = time.monotonic() + SECONDS
    deadline = end if limits.deadline is None else min(end, limits.deadline)
    return Limits(min(limits.max_states, MAX_STATES), deadline, SECONDS)


def explain(subject: Subject, outcome: Outcome, detail: Detail) -> Explanation | None:
    """Return why a claim is violated; None where the counterexample says all that is known."""
    if not isinstance(outcome.verdict, Violated):
        return None
    example, is_short = outcome.verdict.counterexample, detail == "short"
    try:
        match subject.claim:
            case PrivacyClaim() | QuantityClaim(quantity=TightEpsilon() | TightDelta()):
                if not subject.parts:
                    return explain_event_claim(subject, example, is_short=is_short)
    except (LimitReached, TooLarge):
        return None
    return None
