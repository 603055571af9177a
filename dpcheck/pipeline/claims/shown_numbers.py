"""Claims about shown numbers without bounds, between two chains with finitely many outputs.

Where a number was chosen among hidden ones, or compared with them, its laws beyond the window
differ from input to input, and the chain tells one of several kinds of it: at least as much as the
number itself would (`explore.tails.laws.shown_kinds`). An adversary who is told only that it is
beyond knows at most as much. What comes out alike for both is so, where telling more can only make
it larger, or only smaller (data processing); else the window grows. What stays apart in every
window lies between both: all ratios count for a Rényi divergence, however far beyond.

With δ = 0, ε is that of a sequence of kinds, and exact where it is the same if each number is only
known to be *far*, of the first kind that is shown where all else is alike, or not. Then all kinds
that are told as one there have this ratio, or probability 0 on both sides. Let the far numbers go
to infinity, one after the other: only the first kind is left of each. At s = N - k the kinds before
k have probability 0, so for kinds of the others that no others there exceed, all s so, these alone
are left. So ε is approached, or attained.

P(loss > ε) may rise and fall where more is told. It is exact where P(A) and Q(A) are alike for all
pairs, in both directions, A being the outputs with P - e^ε Q > 0. Then δ(ε) = P(A) - e^ε Q(A) is
alike, and it is the sum of all positive parts: so of the kinds that are one output for who is told
less, none is above while another is below. Where some are above, P(A) has all of them, if less is
told, so those that are on the line have probability 0, and at every number P - e^ε Q, the sum of
what the kinds have there, is positive; else it is nowhere. Far enough out one of both is so: all
kinds then have the sign of the first coefficient of P - e^ε Q, unless that is 0 for P > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, cast

from dpcheck.chain.chain import Chain
from dpcheck.check.values import verdicts
from dpcheck.check.values.verdicts import Outcome, Undecided, Value, Violated
from dpcheck.exact import Budget, LogOf, Number, Param
from dpcheck.explore import Explored
from dpcheck.explore.tails.tails import Window
from dpcheck.limits import Limit, LimitReached, too_large
from dpcheck.logic import claims
from dpcheck.records import dataclass, replace
from dpcheck.resolve import ResolvedCheck

MAX_MARGIN = 62
"""So many numbers beyond the window are shown at most before a claim is left undecided."""

MAX_MARGIN_FOR_ALL = 14
"""The same for all values of a parameter: 2 s where each further number is one more piece of δ."""

_OF_ALL_LOSSES = frozenset({"renyi", "zcdp", "profile", "losses", "tradeoff"})

_NOT_OF_LOSSES = claims.PathProbability | claims.LeastError | claims.Expectation

Told = Literal["less", "far", "kinds"]
"""What is told of shown numbers: that they are beyond, if they are far, too, or of which kind."""


@dataclass(frozen=True, eq=False)
class Source:
    """A chain that a claim is about, labelled, and the claim that it was explored for."""

    check: ResolvedCheck
    explored: Explored
    chain: Chain

    @property
    def window(self) -> Window:
        """Where shown numbers are known."""
        return Window() if self.explored.window is None else self.explored.window

    def telling(self, told: Told) -> Source:
        """Return the chain where so much is told of shown numbers beyond the window."""
        if told == "kinds" or not self.window.has_kinds:
            return self
        explored = self.explored.told_less(self.chain, keeps_far=told == "far")
        return replace(self, explored=explored, chain=explored.chain)


Decide = Callable[[Told, claims.Claim], Outcome]

MassesAbove = Callable[[Told, Budget], "list[tuple[Number, Number]] | None"]
"""P(A) and Q(A) of all pairs, A being the outputs of a loss above ε; None where none is known."""


def told_in_kinds(sources: Sequence[Source], claim: claims.Claim) -> list[Source]:
    """Return those on which a claim's outcome may depend on how much is told of shown numbers."""
    quantities = () if isinstance(claim, claims.QuantityComparison) else claims.quantities_of(claim)
    if isinstance(claim, claims.FormulaClaim) or any(
        isinstance(q, _NOT_OF_LOSSES) for q in quantities
    ):
        return []
    return [source for source in sources if source.window.has_kinds]


def decided_between(
    shown: Sequence[Source],
    claim: claims.Claim,
    decide: Decide,
    masses_above: MassesAbove,
    *,
    is_last: bool,
    is_first: bool = True,
    param: Param | None = None,
) -> tuple[Outcome, Told] | None:
    """Return the outcome of a claim and what is told then; None if a wider window is needed.

    What violates a bound of ε or a belief is shown by real outputs, not by kinds: a wider window
    has one. Where none attains it, or none in the last window, the closest is shown: its `beyond`
    says so. For all values of a parameter one of them is shown by itself.
    """
    if isinstance(claim, claims.QuantityComparison):
        return _compared(shown, claim, decide, masses_above, is_last=is_last)
    if not all(source.explored.has_sure_kinds for source in shown):
        return None
    tail = _tail_of(claim)
    if tail is not None:
        known = masses_above("less", tail)
        is_exact = known is not None and known == masses_above("kinds", tail)
        return (decide("less", claim), "less") if is_exact else None
    outcome = decide("kinds", claim)
    if isinstance(outcome.verdict, Undecided) and outcome.all_values is None:
        less = decide("less", claim)
        return replace(outcome, verdict=_undecided(less, outcome.verdict)), "less"
    if isinstance(claim, claims.PrivacyClaim) and isinstance(outcome.verdict, verdicts.Holds):
        return replace(outcome, beside=()), "kinds"  # the pair that comes closest if more is told
    less = decide("less", claim)
    if _are_alike(outcome, less):
        half = _half(claim, outcome)
        if half is None or _are_alike(decide("kinds", half), decide("less", half)):
            return _with_sure_words(less, outcome), "less"
    exact = _of_an_end(shown, claim, outcome, decide, is_first=is_first, is_last=is_last)
    if exact is not None:
        return exact
    limit = undecided_beyond(shown[0], param).limit
    between = _between(claim, (less, outcome), limit, is_last=is_last)
    return None if between is None else (between, "less")


def _between(
    claim: claims.Claim, ends: tuple[Outcome, Outcome], limit: Limit, *, is_last: bool
) -> Outcome | None:
    """Return the outcome by what it is where less is told, and where more is, if both are enough.

    The limit is that of values of a parameter for which they are not.
    """
    if ends[1].all_values is not None:
        from dpcheck.check.all_values.piecewise import between_for_all

        return between_for_all(claim, *ends, limit) if is_last else None
    from dpcheck.check.quantities.between import between_outcomes

    return between_outcomes(claim, *ends, may_be_wide=is_last)


def _undecided(less: Outcome, verdict: Undecided) -> Undecided:
    """Return what is known where telling less, and more, leaves a claim undecided.

    A quantity is at least what it is where less is told, and at most what it is where more is.
    """
    match less.verdict, verdict.bounds:
        case Undecided(bounds=verdicts.Bounds(low=least, shown_by=event)), known if known:
            pass
        case Value(amount=least), known if known and least.enclosure is None:
            event = verdicts.Phrase(())
        case _:
            return Undecided(verdict.limit)
    text = verdicts.Phrase.of(f"{known.quantity} is between ", least, " and ", known.high)
    return Undecided(verdict.limit, text, replace(known, low=least, shown_by=event))


def _with_sure_words(less: Outcome, outcome: Outcome) -> Outcome:
    """Return a violated claim without what differs if kinds are told, such as sums of budgets."""
    if isinstance(less.verdict, Violated) and less.beside != outcome.beside:
        return replace(less, beside=())
    return less


def _of_an_end(
    shown: Sequence[Source],
    claim: claims.Claim,
    outcome: Outcome,
    decide: Decide,
    *,
    is_first: bool,
    is_last: bool,
) -> tuple[Outcome, Told] | None:
    """Return the outcome where a pure ε comes from the far end of all values, or the near one.

    δ(ε) is more than 0 where ε is less than the least one, so that is asked for all values, too.
    """
    is_dp, is_delta = isinstance(claim, claims.PrivacyClaim), _compares_delta_with_0(claim)
    may_be_shown = is_dp and outcome.all_values is None and not is_last
    of_ratios = {"posterior_max", "posterior_min"}
    is_pure = claims.is_pure(claim) or not of_ratios.isdisjoint(_words(claim))
    is_known = is_pure or (is_delta and outcome.all_values is not None)
    if not is_known or may_be_shown or not _comes_from_an_end(shown, claim, decide):
        return None
    if is_pure and not is_dp:
        low, high = shown[0].window.shown
        what = "a limit of" if _words(claim) else "a supremum over"
        text = f"{what} numbers beyond {low}..{high}, which no output need attain"
        outcome = replace(outcome, beside=(*outcome.beside, verdicts.Beside(text)))
    is_violated = isinstance(outcome.verdict, Violated) and outcome.all_values is None
    if is_violated:
        window = shown[0].window
        return _shown_by_outputs(window, claim, outcome, decide, is_sure=not is_first), "less"
    return outcome, "kinds"


def _shown_by_outputs(
    window: Window, claim: claims.Claim, outcome: Outcome, decide: Decide, *, is_sure: bool
) -> Outcome:
    """Return a violated claim about ε or a belief with outputs that exist.

    No output here attains its value: numbers further out come ever closer to it. So if that is
    beyond the bound, some of them violate the claim, if none here does. Otherwise the claim is
    false of the limit alone, and the closest output is as good as any. It `is_sure` that no output
    attains it where a smaller window was looked at: see `has_more_to_show`.
    """
    from dpcheck.check.quantities.privacy import as_comparison, false_comparison, quantity_text

    assert isinstance(claim, claims.PrivacyClaim | claims.QuantityClaim), "no value is violated"
    asked = as_comparison(claim)
    assert isinstance(asked, claims.QuantityClaim), "it has a bound"
    measured = claims.QuantityValue(asked.quantity, asked.span)
    value, known = decide("kinds", measured).value, decide("less", measured).verdict
    assert value is not None, "it is known"
    assert isinstance(known, Value), "outputs are finitely many"
    assert isinstance(known.exact, Budget | LogOf | Number), "what is not finite is attained"
    plain = false_comparison(quantity_text(asked.quantity), asked, value)
    is_least = "posterior_min" in _words(claim)
    most = replace(asked, comparison=">=" if is_least else "<=")
    is_bound = asked.comparison in ({">=", ">", "="} if is_least else {"<=", "<", "="})
    is_above = is_bound and isinstance(decide("kinds", most).verdict, Violated)
    found = decide("less", most if asked.comparison == "=" else asked).verdict
    if is_above and isinstance(found, Violated):
        return replace(outcome, verdict=Violated(_with_event_of(found, plain)))
    own = cast("Budget | Number", known.exact)  # a claim that nobody writes, about any logarithm
    closest = decide("less", replace(asked, comparison="!=", bound=own)).verdict
    assert isinstance(closest, Violated), "a value equals itself"
    low, high = window.shown
    which = "no output" if is_sure else f"no output within {low}..{high}"
    lead = f"{which} attains it: those further out come"
    if is_above:
        lead = f"outputs beyond {low}..{high} violate it, and come"
    told = f"{lead} ever closer to ", value, "; the closest here has ", known.amount
    beyond = verdicts.Beyond(verdicts.Phrase.of(*told), has_event=is_above)
    example = replace(_with_event_of(closest, plain), excess=None, beyond=beyond)
    return replace(outcome, verdict=Violated(example))


def has_more_to_show(outcome: Outcome, *, is_first: bool, is_last: bool) -> bool:
    """Return whether a wider window is worth it for a claim that is known to be violated.

    It shows an event that violates it, if there is one. If any number beyond a window attains ε,
    the first one does, since all laws beyond have its kind as a part (`tails.laws.shown_kinds`):
    so after one more window it is known whether any does.
    """
    match outcome.verdict:
        case Violated(verdicts.Counterexample(beyond=verdicts.Beyond(has_event=has_event))):
            return not is_last and (has_event or is_first)
        case _:
            return False


def _with_event_of(found: Violated, plain: verdicts.Counterexample) -> verdicts.Counterexample:
    """Return that a comparison is false, as a plain one says, with the event that was found."""
    shown = found.counterexample
    return replace(shown, requirement=plain.requirement, sides=plain.sides)


def _comes_from_an_end(shown: Sequence[Source], claim: claims.Claim, decide: Decide) -> bool:
    """Return whether ε is the same if a number beyond the window is known to be far, or near."""
    if all(len(source.window.ratios) == 2 for source in shown):
        return True
    asked = claims.QuantityValue(claims.TightEpsilon(0, claim.span), claim.span)
    return _are_alike(decide("kinds", asked), decide("far", asked))


def _compared(
    shown: Sequence[Source],
    claim: claims.QuantityComparison,
    decide: Decide,
    masses_above: MassesAbove,
    *,
    is_last: bool,
) -> tuple[Outcome, Told] | None:
    """Return the outcome of a comparison of two quantities by what is known of each."""
    from dpcheck.check.quantities.decide_quantity import decide_comparison

    sides: list[Outcome] = []
    for quantity in (claim.left, claim.right):
        asked = claims.QuantityValue(quantity, claim.span)
        if told_in_kinds(shown, asked):
            found = decided_between(shown, asked, decide, masses_above, is_last=is_last)
            if found is None:
                return None
            sides.append(found[0])
        else:
            sides.append(decide("kinds", asked))
    outcomes = iter(sides)
    return decide_comparison(claim, lambda _: next(outcomes)), "kinds"


def _compares_delta_with_0(claim: claims.Claim) -> bool:
    match claim:
        case claims.QuantityClaim(quantity=claims.TightDelta(), bound=bound):
            return bound == 0
        case _:
            return False


def _half(claim: claims.Claim, outcome: Outcome) -> claims.QuantityClaim | None:
    """Return what else must be alike where a quantity is equal to a bound for some values only.

    Elsewhere it may be above where more is told, and below where less is.
    """
    if outcome.all_values is None or not isinstance(claim, claims.QuantityClaim):
        return None
    return replace(claim, comparison="<=") if claim.comparison in {"=", "!="} else None


def undecided_beyond(source: Source, param: Param | None = None) -> LimitReached:
    """Return that no window was wide enough, for all values of a parameter where there is one."""
    low, high = source.window.shown
    instead = "`dp(ε)` or `epsilon`"
    if param is not None:
        instead = f"a value: `-D {param.name}={param.simplest.str()}`"
    return too_large(
        f"how much is told of numbers shown beyond {low}..{high} still matters",
        f"{instead}, or output `clamp(..., {low}, {high})`",
    )


def wider_windows(
    shown: Sequence[Source], claim: claims.Claim, param: Param | None = None
) -> list[tuple[Source, Window]]:
    """Return the next windows, none if these are the last ones that are tried.

    After the first comes the widest where all losses count. For all values of a parameter they are
    narrower, unless these are in a small interval.
    """
    if shown[0].check.parts and "loss_tail" in _words(claim):
        return []
    most = MAX_MARGIN
    if param is not None:
        from dpcheck.check.all_values.nearer import is_small

        most = MAX_MARGIN if is_small(param) else MAX_MARGIN_FOR_ALL
    least = MAX_MARGIN if _OF_ALL_LOSSES & set(_words(claim)) else 0
    small = [source for source in shown if source.window.margin < most]
    return [(source, source.window.widened(least)) for source in small]


def _tail_of(claim: claims.Claim) -> Budget | None:
    """Return the ε of `loss_tail(ε)`, which a claim is about."""
    for each in claims.quantities_of(claim):
        match each:
            case claims.LossQuantity(word="loss_tail", arguments=(Budget() as epsilon,)):
                return epsilon
    return None


def _words(claim: claims.Claim) -> list[str]:
    """Return the words of the quantities of losses that a claim is about."""
    losses = claims.LossQuantity | claims.LossTable
    return [each.word for each in claims.quantities_of(claim) if isinstance(each, losses)]


def _are_alike(left: Outcome, right: Outcome) -> bool:
    """Return whether two outcomes of a claim are decided and agree, counterexamples aside."""
    if isinstance(left.verdict, Undecided) or type(left.verdict) is not type(right.verdict):
        return False
    is_same = not isinstance(left.verdict, Value) or left.verdict == right.verdict
    return is_same and left.value == right.value and left.all_values == right.all_values
