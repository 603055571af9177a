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
    try:
        match subject.claim:
            case PrivacyClaim() | QuantityClaim(quantity=TightEpsilon() | TightDelta()):
                if not subject.parts:
                    return explain_event_claim(subject, example, is_short=is_short)
    except (LimitReached, TooLarge):
        return None
    return None
