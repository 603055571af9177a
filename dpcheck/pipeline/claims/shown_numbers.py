"""Claims about shown numbers without bounds, between two chains with finitely many outputs.

Where a number was chosen among hidden ones, or compared with them, its laws beyond the window
differ from input to input, and the chain tells one of several kinds of it: at least as much as the
number itself would (`explore.tails.laws.shown_kinds`). An adversary who is told only that it is
beyond knows at most as much. What comes out alike for both is so, where telling more can only make
it larger, or only smaller (data processing); else the window grows. With δ = 0 the far end and the
near one are attained or approached: ε is exact if it comes from one of them. What stays apart in
every window lies between both: all ratios count for a Rényi divergence, however far beyond.
"""

from __future__ import annotations

from collections.abc import Callable

from dpcheck.chain.chain import Chain
from dpcheck.check.quantities.between import between_outcomes
from dpcheck.check.values.verdicts import Beside, Holds, Outcome, Undecided, Value, Violated
from dpcheck.exact import Param
from dpcheck.explore import Explored
from dpcheck.explore.explored import with_less_told
from dpcheck.explore.tails.tails import Window
from dpcheck.limits import LimitReached, too_large
from dpcheck.logic import claims
from dpcheck.records import replace

MAX_MARGIN = 62
"""So many numbers beyond the window are shown at most before a claim is left undecided."""

_OF_ALL_LOSSES = frozenset({"renyi", "zcdp", "profile", "losses", "tradeoff"})

Decide = Callable[[Chain, claims.Claim], Outcome]


def is_told_in_kinds(explored: Explored, claim: claims.Claim) -> bool:
    """Return whether a claim's outcome may depend on how much is told of shown numbers."""
    match claim:
        case claims.FormulaClaim() | claims.ExpectationClaim():
            return False
        case claims.QuantityClaim(
            quantity=claims.PathProbability() | claims.LeastError() | claims.Expectation()
        ):
            return False
        case claims.QuantityValue(
            quantity=claims.PathProbability() | claims.LeastError() | claims.Expectation()
        ):
            return False
        case _:
            return explored.window is not None and len(explored.window.ratios) > 1


def decided_between(
    explored: Explored, chain: Chain, claim: claims.Claim, decide: Decide, *, is_last: bool
) -> tuple[Outcome, Chain] | None:
    """Return the outcome of a claim and the chain it is about; None if a wider window is needed.

    A violated `dp` is shown by an event of real outputs, not of kinds: a wider window has one. In
    the last window, where there may be none, kinds have to do.
    """
    assert explored.window is not None, "numbers are shown"
    if isinstance(claim, claims.QuantityComparison):
        return _compared(explored, chain, claim, decide, is_last=is_last)
    outcome = decide(chain, claim)
    if isinstance(outcome.verdict, Undecided):
        return outcome, chain
    if isinstance(claim, claims.PrivacyClaim) and isinstance(outcome.verdict, Holds):
        return replace(outcome, beside=()), chain  # the pair that comes closest if more is told
    told = with_less_told(explored, chain, keeps_far=False)
    less = decide(told, claim)
    if _are_alike(outcome, less) and not _may_rise_and_fall(claim):
        return less, told
    exact = _of_an_end(explored, chain, claim, outcome, decide, is_last=is_last)
    if exact is not None:
        return exact, chain
    if _may_rise_and_fall(claim):
        return None
    between = between_outcomes(claim, less, outcome, may_be_wide=is_last)
    return None if between is None else (between, told)


def _of_an_end(
    explored: Explored,
    chain: Chain,
    claim: claims.Claim,
    outcome: Outcome,
    decide: Decide,
    *,
    is_last: bool,
) -> Outcome | None:
    """Return the outcome where a pure ε comes from the far end of all values, or the near one."""
    assert explored.window is not None, "numbers are shown"
    if not _is_pure(claim) or (isinstance(claim, claims.PrivacyClaim) and not is_last):
        return None
    if not isinstance(claim, claims.PrivacyClaim):
        low, high = explored.window.shown
        what = "a limit of" if _words(claim) else "a supremum over"
        text = f"{what} numbers beyond {low}..{high}, which no output need attain"
        outcome = replace(outcome, beside=(*outcome.beside, Beside(text)))
    return outcome if _comes_from_an_end(explored, chain, claim, decide) else None


def _comes_from_an_end(
    explored: Explored, chain: Chain, claim: claims.Claim, decide: Decide
) -> bool:
    """Return whether ε is the same if a number beyond the window is known to be far, or near."""
    if explored.window is not None and len(explored.window.ratios) == 2:
        return True
    asked = claims.QuantityValue(claims.TightEpsilon(0, claim.span), claim.span)
    less = decide(with_less_told(explored, chain, keeps_far=True), asked)
    return _are_alike(decide(chain, asked), less)


def _compared(
    explored: Explored,
    chain: Chain,
    claim: claims.QuantityComparison,
    decide: Decide,
    *,
    is_last: bool,
) -> tuple[Outcome, Chain] | None:
    """Return the outcome of a comparison of two quantities by what is known of each."""
    from dpcheck.check.quantities.decide_quantity import decide_comparison

    sides: list[Outcome] = []
    for quantity in (claim.left, claim.right):
        asked = claims.QuantityValue(quantity, claim.span)
        if is_told_in_kinds(explored, asked):
            found = decided_between(explored, chain, asked, decide, is_last=is_last)
            if found is None:
                return None
            sides.append(found[0])
        else:
            sides.append(decide(chain, asked))
    outcomes = iter(sides)
    return decide_comparison(claim, lambda _: next(outcomes)), chain


def decided_for_all(
    explored: Explored, chain: Chain, claim: claims.Claim, decide: Decide
) -> Outcome | None:
    """Return the outcome of a claim about all values of a parameter; None if it is not known.

    At each value what is claimed lies between what it is where more, and where less, is told. A
    `dp` that fails where less is told fails, perhaps for more values.
    """
    if not explored.has_sure_kinds:
        return None
    outcome, is_dp = decide(chain, claim), isinstance(claim, claims.PrivacyClaim)
    if is_dp and isinstance(outcome.verdict, Holds):
        return outcome
    if _is_pure(claim) and _comes_from_an_end(explored, chain, claim, decide):
        return outcome
    less = decide(with_less_told(explored, chain, keeps_far=False), claim)
    if _are_alike(outcome, less):
        return None if _is_unequal(claim, less) else less
    at = less.all_values
    if not is_dp or not isinstance(less.verdict, Violated) or at is None:
        return None
    return replace(less, all_values=replace(at, is_exact=at.fails_for_all))


def _is_unequal(claim: claims.Claim, outcome: Outcome) -> bool:
    """Return whether a quantity differs from a bound at both ends of where it is known to lie."""
    is_equation = isinstance(claim, claims.QuantityClaim) and claim.comparison in {"=", "!="}
    return is_equation and isinstance(outcome.verdict, Violated)


def undecided_beyond(explored: Explored, param: Param | None = None) -> LimitReached:
    """Return that no window was wide enough, for all values of a parameter where there is one."""
    assert explored.window is not None, "numbers are shown"
    low, high = explored.window.shown
    instead = "`dp(ε)` or `epsilon`"
    if param is not None:
        instead = f"a value: `-D {param.name}={param.simplest_text}`"
    return too_large(
        f"how much is told of numbers shown beyond {low}..{high} still matters",
        f"{instead}, or output `clamp(..., lo, hi)`",
    )


def _is_pure(claim: claims.Claim) -> bool:
    match claim:
        case claims.PrivacyClaim(delta=delta):
            return delta == 0
        case claims.QuantityClaim(quantity=quantity) | claims.QuantityValue(quantity=quantity):
            if isinstance(quantity, claims.LossQuantity):
                return quantity.word in ("posterior_max", "posterior_min")  # by the largest ratio
            return isinstance(quantity, claims.TightEpsilon) and quantity.delta == 0
        case _:
            return False


def wider_window(explored: Explored, claim: claims.Claim) -> Window | None:
    """Return the next window, None if this is the last one that is tried.

    After the first comes the widest where all losses count.
    """
    assert explored.window is not None, "numbers are shown"
    if _may_rise_and_fall(claim) or explored.window.margin >= MAX_MARGIN:
        return None
    return explored.window.widened(MAX_MARGIN if _OF_ALL_LOSSES & set(_words(claim)) else 0)


def _may_rise_and_fall(claim: claims.Claim) -> bool:
    """Return whether more that is told may let a quantity rise as well as fall.

    Then it may lie outside of what it is where less, and where more, is told.
    """
    return "loss_tail" in _words(claim)


def _words(claim: claims.Claim) -> list[str]:
    """Return the words of the quantities of losses that a claim is about."""
    quantities: list[object] = []
    match claim:
        case claims.QuantityClaim(quantity=quantity) | claims.QuantityValue(quantity=quantity):
            quantities = [quantity]
        case claims.QuantityComparison(left=left, right=right):
            quantities = [left, right]
    losses = claims.LossQuantity | claims.LossTable
    return [quantity.word for quantity in quantities if isinstance(quantity, losses)]


def _are_alike(left: Outcome, right: Outcome) -> bool:
    """Return whether two outcomes of a claim are decided and agree, counterexamples aside."""
    if isinstance(left.verdict, Undecided) or type(left.verdict) is not type(right.verdict):
        return False
    is_same = not isinstance(left.verdict, Value) or left.verdict == right.verdict
    return is_same and left.value == right.value and left.all_values == right.all_values
