"""Claims about more inputs than can be listed: proved of all integers, or violated by some inputs.

What is proved of all integers is so of some. Of each set the two middle values are left, and of
long arrays inputs where one number at most is unlike all others: these are some of all inputs, and
their neighbors some of all, so that what they violate is violated.
"""

from __future__ import annotations

from time import process_time
from typing import NoReturn

from dpcheck.align.neighbors import Unreadable
from dpcheck.align.windows import on_all_integers, with_few_inputs
from dpcheck.check.values.verdicts import Holds, Outcome, Violated
from dpcheck.exact import Budget
from dpcheck.explore import MistakesFound
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic import claims
from dpcheck.model.program import AdjacentPairs, Mechanism
from dpcheck.pipeline.claims.everywhere import of_all, on_window
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.claims.left_open import amount_of
from dpcheck.pipeline.claims.outcomes import Ready, made_ready, outcome_of
from dpcheck.pipeline.claims.search import Search, vacuity_of
from dpcheck.pipeline.claims.window_sizes import smallest_size
from dpcheck.records import replace
from dpcheck.resolve import ResolvedCheck

SECONDS = 5.0
"""So long the few may take, CPU time: nobody asked about them alone."""


def proved_everywhere(check: ResolvedCheck, limits: Limits) -> tuple[Outcome | None, str]:
    """Return that a claim holds as it does where inputs are all integers, None where it may not.

    Then the text is a claim that does, if there is one. Inputs from finite sets are some of all
    integers, and so are neighbors: they lose no more. The claim is `dp(ε)`, of which `dp(ε, δ)`
    follows, or that ε is at most a budget. Which inputs `at` selects is not known: where it is
    none, or a value is missing, that is a mistake, and no claim holds.
    """
    mechanism, epsilon = check.target, _largest_budget(check.claim)
    if not isinstance(mechanism, Mechanism) or mechanism.has_analyst or epsilon is None:
        return None, ""
    is_single = check.for_all is not None and check.for_all.single is not None
    if check.parts or check.leaves_out or mechanism.sampled_at is not None or is_single:
        return None, ""
    wide = replace(check, target=on_all_integers(mechanism))

    def unasked(*_: object) -> NoReturn:
        raise AssertionError("no window is asked whether the claim holds")

    try:
        search = Search(wide, unasked, unasked, limits)
        smallest = smallest_size(search.mechanism)
        on_window(wide, limits, smallest, check.claim)  # runs meet no mistake
        vacuity = vacuity_of(mechanism)  # sets with holes have fewer neighbors, or none
    except (LimitReached, MistakesFound, Unreadable):
        return None, ""
    if search.most is None:
        return None, ""
    if check.at is not None or not search.is_below("<=", epsilon):
        return None, f"check {check.target_text}: dp({amount_of(search.most).exact})"
    return replace(search.proved(Holds()), vacuity=vacuity), ""


def _largest_budget(claim: claims.Claim) -> Budget | None:
    """Return the ε up to which a claim holds, None if that is no such claim."""
    match claim:
        case claims.PrivacyClaim(epsilon=epsilon):
            return epsilon
        case claims.QuantityClaim(
            quantity=claims.TightEpsilon(), comparison="<=", bound=Budget() as bound
        ):
            return bound
    return None


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
