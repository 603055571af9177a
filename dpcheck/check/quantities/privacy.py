"""Event-level privacy claims, decided on evidence about output sequences.

`dp(ε, δ)` asks for P(S) <= e^ε Q(S) + δ for all neighbors, both ways, and *every set* S of output
sequences: so it bounds the least ε or δ that evidence shows (`tight`). Where sequences are
infinitely many, finished sequences and the prefixes of all others are a partition into finitely
many events: what it shows is a lower bound of ε and δ, at every depth.
"""

from __future__ import annotations

from typing import assert_never

from flint import arb

from dpcheck import exact
from dpcheck.certify.evidence import certify_violation
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities.seen_pairs import SeenPairs
from dpcheck.check.quantities.tight import Evidence, Found, Least, tight_quantity
from dpcheck.check.values import comparisons, verdicts
from dpcheck.check.values.amounts import (
    between_amount,
    bound_amount,
    enclosed_between,
    epsilon_amount,
    epsilon_between,
    growth_amount,
    number_amount,
    quantity_amount,
    ratio_amount,
)
from dpcheck.check.values.event_text import EventText
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.limits import Limit
from dpcheck.logic import claims
from dpcheck.logic.formula_text import formula_text
from dpcheck.logic.formulas import Private
from dpcheck.privacy.enclosed import Measure, compare_measures
from dpcheck.records import dataclass, replace

EventClaim = claims.PrivacyClaim | claims.QuantityClaim | claims.QuantityValue

_BITS = 256
"""Of an enclosure, where digits are counted that two bounds have in common."""
_SMALL_DIGITS = 10
"""A δ between 0 and 10^-30 is told where three digits are enough: it may be 0, and have none."""

_TOLD_AS_FACTOR = exact.Budget.of(100)
"""Up to here a budget is told as e^ε, which has 44 digits; a larger one as ε."""


@dataclass(frozen=True)
class Decision:
    """A verdict (None: this evidence does not decide) and the value found on the way.

    `at_least` bounds a value that stayed unknown; `shown` is the event behind a value or a
    violation, which is certified. `closest` is the event that comes closest to the budget of a
    claim that holds.
    """

    verdict: verdicts.Verdict | None
    value: verdicts.Amount | None = None
    at_least: verdicts.Amount | None = None
    shown: Found | None = None
    closest: Found | None = None


def decide_event_claim(
    claim: EventClaim,
    evidence: Evidence,
    seen: SeenPairs,
    *,
    is_complete: bool = True,
    by_excess: bool = False,
) -> Decision:
    """Return what evidence about pairs says about a claim; a part of it only bounds from below.

    What violates it is shown `by_excess`, where an event of the largest ratio is a rare one.
    """
    how = {"is_complete": is_complete, "by_excess": by_excess}
    if isinstance(claim, claims.PrivacyClaim):
        decision = _decide_privacy(claim, evidence, seen, **how)
    else:
        decision = _decide_quantity(claim, evidence, seen, **how)
    shown = decision.shown if isinstance(decision.verdict, verdicts.Violated) else None
    if shown is not None and shown.gap is not None and isinstance(evidence, TableEvidence):
        sequences = evidence.short_event(shown.gap, shown.factor)
        if sequences is not None:
            seen.certify(shown.gap, sequences)
    return decision


def _decide_privacy(
    claim: claims.PrivacyClaim,
    evidence: Evidence,
    seen: SeenPairs,
    *,
    is_complete: bool,
    by_excess: bool,
) -> Decision:
    """Decide dp(ε, δ): by the largest ratio for δ = 0, else by the largest gap."""
    budget = claim.epsilon, claim.delta
    factor = None if claim.delta == 0 else ExpFactor.of(claim.epsilon)
    gap = evidence.worst_ratio() if factor is None else evidence.worst_gap(factor)
    if by_excess:
        found = _of_largest_excess(Found(None, gap, factor), evidence, claim.epsilon)
        gap, factor = found.gap, found.factor
    if gap is None or exact.excess_sign(gap.p, gap.q, *budget) <= 0:
        if is_complete:
            return Decision(verdicts.Holds(), closest=Found(None, gap, factor))
        found = tight_quantity(quantity_of(claim), evidence)
        return Decision(None, None, quantity_amount(found.value), found)
    shown, event = _smallest(gap, evidence.event_text(gap, factor), budget)
    certify_violation(shown.p, shown.q, *budget)
    requirement = comparisons.inequality(shown.p, shown.q, *budget)
    sides = comparisons.inequality_sides(shown.p, shown.q, *budget)
    found = Found(None, gap, factor)
    plain = verdicts.Counterexample((), (), (), requirement, sides)
    example = _example(plain, shown, event, seen, budget)
    return Decision(verdicts.Violated(example), shown=found)


def _of_largest_excess(found: Found, evidence: Evidence, epsilon: exact.Budget) -> Found:
    """Return the event that exceeds ε most, in place of one that the right side can show, too."""
    if found.gap is None or found.gap.q == 0:
        return found
    factor = ExpFactor.of(epsilon)
    return Found(found.value, evidence.worst_gap(factor), factor)


def _decide_quantity(
    claim: claims.QuantityClaim | claims.QuantityValue,
    evidence: Evidence,
    seen: SeenPairs,
    *,
    is_complete: bool,
    by_excess: bool,
) -> Decision:
    """Report a least ε or δ, or decide `quantity comparison bound`."""
    found = tight_quantity(claim.quantity, evidence)
    amount = quantity_amount(found.value)
    is_known = is_complete or compare_measures(found.value, greatest(claim)) == 0
    if isinstance(claim, claims.QuantityValue):
        if is_known:
            return Decision(verdicts.Value(amount, found.value), amount, shown=found)
        return Decision(None, None, amount, found)
    sign = _compared(found.value, claim.bound)
    truth = comparisons.truth_between(claim.comparison, sign, sign if is_known else 1)
    if truth is None or (truth and not is_known):
        return Decision(verdicts.Holds() if truth else None, None, amount, found)
    if truth:
        return Decision(verdicts.Holds(), amount, closest=found)
    relation = "=" if is_complete else ">="
    example = false_comparison(quantity_text(claim.quantity), claim, amount, relation)
    if found.gap is not None:
        over = budget_of(claim) if sign > 0 else None
        if by_excess and over is not None:
            found = _of_largest_excess(found, evidence, over[0])
        assert found.gap is not None, "its value is too large"
        event = evidence.event_text(found.gap, found.factor)
        example = _example(example, *_smallest(found.gap, event, over), seen, over)
    return Decision(verdicts.Violated(example), amount if is_complete else None, shown=found)


def closest_text(
    claim: claims.PrivacyClaim | Private,
    gap: EventGap,
    pair: tuple[str, str],
    shown: verdicts.OutputSequence | None,
    *,
    has_others: bool = False,
) -> verdicts.Phrase:
    """Return how close a gap of a pair comes to the budget of a claim that holds.

    `shown` is a sequence of outputs in its event, which may have others.
    """
    lead = f"tightest: {pair[0]} against {pair[1]}, "
    at: tuple[str | verdicts.OutputSequence, ...] = ()
    if shown is not None:
        at = " at output " if len(shown.outputs) == 1 else " at ", shown, " and others" * has_others
    if claim.delta == 0 and exact.compare_epsilon(claim.epsilon, _TOLD_AS_FACTOR) > 0:
        least = epsilon_amount(exact.log(exact.divide(gap.p, gap.q)))
        return verdicts.Phrase.of(
            f"{lead}epsilon ", least, " of ", epsilon_amount(claim.epsilon), *at
        )
    if claim.delta == 0:
        ratio = number_amount(exact.divide(gap.p, gap.q))
        return verdicts.Phrase.of(f"{lead}ratio ", ratio, " of ", growth_amount(claim.epsilon), *at)
    is_needed = exact.excess_sign(gap.p, gap.q, claim.epsilon) > 0
    needed = number_amount(exact.excess(gap.p, gap.q, claim.epsilon) if is_needed else 0)
    return verdicts.Phrase.of(f"{lead}delta ", needed, " of ", number_amount(claim.delta), *at)


def as_comparison(claim: EventClaim) -> claims.QuantityClaim | claims.QuantityValue:
    """Return what a claim says of ε or δ: dp(ε) is `epsilon <= ε`, dp(ε, δ) `delta(ε) <= δ`."""
    if not isinstance(claim, claims.PrivacyClaim):
        return claim
    if claim.delta == 0:
        quantity = claims.TightEpsilon(0, claim.span)
        return claims.QuantityClaim(quantity, "<=", claim.epsilon, claim.span)
    tight = claims.TightDelta(claim.epsilon, claim.span)
    return claims.QuantityClaim(tight, "<=", claim.delta, claim.span)


def quantity_of(claim: EventClaim) -> claims.Quantity:
    """Return the quantity that a claim bounds: of dp(ε) it is ε, of dp(ε, δ) with δ > 0 it is δ."""
    return as_comparison(claim).quantity


def budget_of(claim: EventClaim) -> tuple[exact.Budget, exact.Number] | None:
    """Return ε and δ of the dp(ε, δ) that a claim asks for; None where it asks for the contrary."""
    match as_comparison(claim):
        case claims.QuantityClaim(comparison=">=" | ">" | "!=") | claims.QuantityClaim(bound=None):
            return None
        case claims.QuantityClaim(quantity=claims.TightEpsilon(delta=delta), bound=bound):
            return comparisons.as_budget(bound), delta
        case claims.QuantityClaim(quantity=claims.TightDelta(epsilon=epsilon), bound=bound):
            return epsilon, comparisons.as_number(bound)
        case _:
            return None


def _compared(value: Least, bound: exact.Budget | exact.Extended) -> int:
    """Return -1, 0 or 1 as an ε or δ is less than, equal to or greater than a bound."""
    sign = comparisons.compared(value, bound)
    assert sign is not None, "only enclosures stay undecided"
    return sign


def _smallest(
    gap: EventGap, event: EventText, budget: tuple[exact.Budget, exact.Number] | None
) -> tuple[EventGap, EventText]:
    """Return a gap and its event, or one sequence of it if that exceeds a budget alone, δ = 0.

    Each sequence with p > e^ε q does; an event of many is read by nobody.
    """
    if budget is None or budget[1] != 0 or not event.runs:
        return gap, event
    shown, p, q = event.runs[0]
    if exact.excess_sign(p, q, budget[0]) <= 0:
        return gap, event
    return replace(gap, p=p, q=q), EventText((shown,), event.runs[:1])


def _example(
    plain: verdicts.Counterexample,
    gap: EventGap,
    event: EventText,
    seen: SeenPairs,
    budget: tuple[exact.Budget, exact.Number] | None,
) -> verdicts.Counterexample:
    """Return a counterexample with an event and its gap, and its excess over a budget."""
    over, shown = None, event.event
    ended = seen.ended(gap.pair)
    if not isinstance(shown, verdicts.Phrase):
        shown = tuple(map(ended, shown))
    if budget is not None:
        over = number_amount(exact.excess(exact.subtract(gap.p, budget[1]), gap.q, budget[0]))
    return replace(
        plain,
        states=seen.names(gap.pair, is_forward=gap.is_forward),
        event=shown,
        probabilities=(number_amount(gap.p), number_amount(gap.q)),
        ratio=ratio_amount(gap.p, gap.q),
        excess=over,
        runs=tuple(
            verdicts.Run(ended(run), (number_amount(p), number_amount(q)))
            for run, p, q in event.runs
        ),
        n_sequences=event.n_sequences,
    )


def quantity_text(quantity: claims.Quantity) -> str:
    """Return a quantity as a claim writes it: `delta(ln(2))`, `epsilon` for `epsilon(0)`."""
    match quantity:
        case claims.TightDelta(epsilon=epsilon, word=word):
            return f"delta({exact.exact_text(epsilon)})" if word == "delta" else word
        case claims.TightEpsilon(delta=delta):
            return "epsilon" if delta == 0 else f"epsilon({exact.exact_text(delta)})"
        case claims.LossQuantity(word=word, arguments=arguments):
            return f"{word}({', '.join(map(exact.exact_text, arguments))})" if arguments else word
        case claims.PathProbability(path=path):
            return f"P=? [ {formula_text(path)} ]"
        case claims.LeastError(text=text) | claims.Expectation(text=text):
            return text
        case claims.ChannelQuantity(word=word) | claims.LossTable(word=word):
            return word
        case _:
            assert_never(quantity)


def false_comparison(
    name: str,
    claim: claims.QuantityClaim,
    value: verdicts.Amount,
    relation: str = "=",
    states: tuple[str, ...] = (),
) -> verdicts.Counterexample:
    """Return that a quantity is this, or not less or more, so that a comparison is false."""
    sides = verdicts.Sides(value, claim.comparison, bound_amount(claim.bound))
    return verdicts.Counterexample(states, (), (), requirement_of(name, sides, relation), sides)


def requirement_of(name: str, sides: verdicts.Sides, relation: str = "=") -> verdicts.Phrase:
    """Return what is claimed of a quantity, and what it is: `epsilon <= 1, but it is ln(3)`."""
    known = {"=": "", ">=": "at least ", "<=": "at most "}.get(relation, f"{relation} ")
    said = f"{name} {sides.comparison} ", sides.right, f", but it is {known}", sides.left
    return verdicts.Phrase.of(*said)


INFINITELY_MANY = "there are infinitely many output sequences (outputs inside an unbounded loop)"


def asked_bound(claim: EventClaim) -> exact.Budget | exact.Extended:
    """Return what a claim compares a quantity with; None for infinity, and for no comparison."""
    asked = as_comparison(claim)
    return asked.bound if isinstance(asked, claims.QuantityClaim) else None


def verdict_on(
    claim: claims.QuantityClaim | claims.QuantityValue,
    name: str,
    value: Measure,
    amount: verdicts.Amount,
    states: tuple[str, ...],
) -> verdicts.Verdict:
    """Return the verdict on a value: report it, or compare it with the bound."""
    if isinstance(claim, claims.QuantityValue):
        return verdicts.Value(amount, value)
    sign = comparisons.compared(value, claim.bound)
    if sign is None:
        return undecided_between(name, claim.bound, amount)
    if comparisons.holds(claim.comparison, sign):
        return verdicts.Holds()
    return verdicts.Violated(false_comparison(name, claim, amount, states=states))


def undecided_between(
    name: str,
    bound: exact.Budget | exact.Extended,
    amount: verdicts.Amount,
    limit: Limit | None = None,
) -> verdicts.Undecided:
    """Return that enclosures of a value contain its bound, after a limit or without any."""
    unsure = f"no enclosure separates {name} from {bound_amount(bound).exact}"
    size = Limit("size", unit=unsure, advice="a bound that differs from it")
    return verdicts.Undecided(limit or size, verdicts.Phrase.of("it is ", amount))


def greatest(claim: EventClaim) -> Least:
    """Return the greatest value that the quantity of a claim can have: 1 for δ, infinity for ε."""
    return 1 if isinstance(quantity_of(claim), claims.TightDelta) else None


def decide_between(claim: EventClaim, low: Decision, high: Least, *, n_digits: int) -> Decision:
    """Decide a claim about a quantity from a lower bound that leaves it open, and an upper one.

    What is computed has a value if both agree in so many digits.
    """
    assert low.shown is not None, "a lower bound was found"
    least, asked = low.shown.value, as_comparison(claim)
    if isinstance(asked, claims.QuantityValue):
        return _value_between(least, high, n_digits)
    signs = _compared(least, asked.bound), _compared(high, asked.bound)
    truth = comparisons.truth_between(asked.comparison, *signs)
    if truth:
        return Decision(verdicts.Holds())
    if truth is False and isinstance(claim, claims.QuantityClaim):
        name, most = quantity_text(claim.quantity), quantity_amount(high)
        return Decision(verdicts.Violated(false_comparison(name, claim, most, "<=")))
    return low


def _value_between(low: Least, high: Least, n_digits: int) -> Decision:
    """Return a value that lies between two, if these agree in so many digits, or are near 0."""
    if low is None or high is None:
        return Decision(None)
    if compare_measures(low, high) == 0:
        amount = quantity_amount(high)
        return Decision(verdicts.Value(amount, high), amount)
    value = enclosed_between(low, high)
    ball = value.ball(_BITS)
    is_known = ball.rel_accuracy_bits() > n_digits * 10 // 3
    if not is_known and not ball < arb(10) ** (-_SMALL_DIGITS * n_digits):
        return Decision(None)
    if isinstance(low, exact.Budget | exact.LogOf):
        assert isinstance(high, exact.Budget | exact.LogOf), "both are an ε"
        amount = epsilon_between(low, high)
    else:
        assert not isinstance(high, exact.Budget | exact.LogOf), "both are a δ"
        amount = between_amount(low, high)
    return Decision(verdicts.Value(amount, value), amount)


def undecided_sequences(
    claim: EventClaim,
    at_least: verdicts.Amount | None,
    high: Least,
    depth: int,
    path: str | None,
    shown_by: verdicts.Phrase,
) -> verdicts.Undecided:
    """Return the verdict on a claim about infinitely many sequences that no prefix decides.

    `path` is a formula about some outputs, to show what can be asked, if there is one; `shown_by`
    says in which event the lower bound is seen.
    """
    some = "" if path is None else f", such as D{{{_budget_text(claim)}}} [ {path} ]"
    advice = f"ask about some outputs{some}; with more states allowed more are followed"
    limit = Limit("size", unit=INFINITELY_MANY, advice=advice)
    if at_least is None:
        return verdicts.Undecided(limit)
    most = quantity_amount(high)
    bounds = verdicts.Bounds(quantity_text(quantity_of(claim)), at_least, most, shown_by)
    lead, end = f"{bounds.quantity} is between ", f" ({depth:,} outputs of a run were followed)"
    return verdicts.Undecided(limit, verdicts.Phrase.of(lead, at_least, " and ", most, end), bounds)


def _budget_text(claim: EventClaim) -> str:
    """Return the budget of a claim as D takes it; 1 where the claim names none."""
    epsilon = delta = asked_bound(claim)
    match quantity_of(claim):
        case claims.TightDelta(epsilon=given):
            epsilon = given
        case claims.TightEpsilon(delta=given):
            delta = given
    texts = ["1" if epsilon is None else bound_amount(epsilon).exact]
    return ", ".join([*texts, bound_amount(delta).exact] if delta else texts)
