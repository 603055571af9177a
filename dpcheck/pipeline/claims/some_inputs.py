"""Claims about more inputs than can be listed: whether some of them lose too much.

Of each set the two middle values are left, and of long arrays inputs where one number at most is
unlike all others. These are some of all inputs, and their neighbors some of all: what they violate
is violated.
"""

from __future__ import annotations

from time import process_time

from dpcheck.align.windows import with_few_inputs
from dpcheck.check.values.verdicts import Outcome, Violated
from dpcheck.explore import MistakesFound
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic import claims
from dpcheck.model.program import AdjacentPairs, Mechanism
from dpcheck.pipeline.claims.everywhere import of_all
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.claims.outcomes import Ready, made_ready, outcome_of
from dpcheck.records import replace
from dpcheck.resolve import ResolvedCheck

SECONDS = 5.0
"""So long the few may take, CPU time: nobody asked about them alone."""


def violated_by_some(check: ResolvedCheck, limits: Limits) -> tuple[Outcome, Ready] | None:
    """Return that a few inputs violate a claim `dp`, or that ε or δ is at most a bound, if so."""
    mechanism = check.target
    if not isinstance(mechanism, Mechanism) or mechanism.has_analyst or not _is_bound(check.claim):
        return None
    has_list = any(isinstance(clause, AdjacentPairs) for clause in mechanism.adjacency)
    if check.parts or check.leaves_out or check.for_all or check.at or has_list:
        return None
    soon = replace(limits, cpu_deadline=process_time() + SECONDS)
    try:
        few = replace(check, target=with_few_inputs(mechanism))
        outcome, ready = outcome_of(made_ready(few, Explorations(), soon), soon)
    except (LimitReached, MistakesFound):
        return None
    if not isinstance(outcome.verdict, Violated) or outcome.vacuity:
        return None  # where few say nothing, of all it is not known if they do
    found = of_all(outcome.verdict.counterexample, check.claim, None)
    outcome = replace(outcome, verdict=Violated(found), value=None)  # that is of these inputs
    return outcome, replace(ready, whole=check)


def _is_bound(claim: claims.Claim) -> bool:
    """Return whether a claim says that no pair of neighbors loses more than it allows."""
    match claim:
        case claims.PrivacyClaim():
            return True
        case claims.QuantityClaim(
            quantity=claims.TightEpsilon() | claims.TightDelta(), comparison="<=" | "<"
        ):
            return True
    return False
