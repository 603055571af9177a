"""A violated claim about a smaller model: with integer parameters as small as they may be.

Each parameter is made smaller by one as long as the claim is violated and there are fewer inputs,
in the order of their declaration. What runs into a limit, or makes no sense, ends that, and so does
a claim that reads the parameter: dp(k) is told as dp(4), which may well hold with k = 1.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import inf

from dpcheck.check.values.measures import ClaimRejected
from dpcheck.check.values.verdicts import Violated
from dpcheck.exact import TooLarge
from dpcheck.explore import MistakesFound
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic.claims import FormulaClaim, PrivacyClaim, QuantityClaim
from dpcheck.logic.formulas import Private
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.claims.outcomes import made_ready, outcome_of
from dpcheck.records import replace
from dpcheck.resolve import ResolvedCheck

SECONDS = 1
"""What looking for smaller models may take of the processor."""


def smaller_model(check: ResolvedCheck, n_inputs: int, limits: Limits) -> Mapping[str, int]:
    """Return parameters of fewer inputs with which a claim is violated, too, by their names."""
    found: dict[str, int] = {}
    if check.with_parameters is None or not _may_only_gain(check):
        return found
    deadline = min(limits.cpu_deadline or inf, time.process_time() + SECONDS)
    limits = replace(limits, cpu_deadline=deadline)
    for name, value in check.parameters.items():
        for smaller in range(value - 1, -1, -1):
            resolved = check.with_parameters({**found, name: smaller})
            if any(mistake.severity == "error" for mistake in resolved.mistakes):
                break
            tried = resolved.checks[0]
            if (tried.claim_text, tried.at_text) != (check.claim_text, check.at_text):
                break
            try:
                limits.check_time("smaller models tried")
                fewer = _violating(tried, limits)
            except (LimitReached, TooLarge, MistakesFound, ClaimRejected):
                break
            if fewer is None or fewer >= n_inputs:
                break
            found[name], n_inputs = smaller, fewer
    return found


def _violating(check: ResolvedCheck, limits: Limits) -> int | None:
    """Return how many inputs the target of a violated claim has; None if it is not violated."""
    outcome, ready = outcome_of(made_ready(check, Explorations(), limits), limits)
    return len(ready.explored.chain.initial) if isinstance(outcome.verdict, Violated) else None


def _may_only_gain(check: ResolvedCheck) -> bool:
    """Return whether a claim says that something is not too large, so that less is better."""
    match check.claim:
        case PrivacyClaim() | QuantityClaim(comparison="<=" | "<"):
            return True
        case FormulaClaim(formula=Private()):
            return True
        case _:
            return False
