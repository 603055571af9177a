"""Event-level privacy claims, decided on evidence about complete output sequences.

`dp(ε, δ)` asks for P(S) <= e^ε Q(S) + δ for all neighbors, both ways, and *every set* S of output
sequences. Evidence knows, for a factor E, the largest gap P(S) - E Q(S), and the largest ratio. So

    delta(ε)    is the largest gap at E = e^ε, or 0;
    epsilon     is ln of the largest ratio (ε >= 0), infinite over zero;
    epsilon(δ)  is ln of the least E >= 1 at which the largest gap is at most δ.

The last is found by Newton's method: the largest gap f(E) is the maximum of the affine functions
P(S) - E Q(S), so it is convex, falling and piecewise linear. From an E with f(E) > δ the worst
affine function there reaches δ at an E' that f does not reach earlier; E' is the answer if
f(E') <= δ, else f has another, flatter piece there. There are finitely many.

Where sequences are infinitely many, finished sequences and the prefixes of all others are a
partition into finitely many events: what it shows is a lower bound of ε and δ, at every depth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, assert_never

from flint import arb, ctx

from dpcheck.certify import certify_violation
from dpcheck.check.values import comparisons, verdicts
from dpcheck.check.values.amounts import (
    INFINITE_EPSILON,
    between_amount,
    bound_amount,
    epsilon_amount,
    epsilon_between,
    growth_amount,
    number_amount,
    quantity_amount,
    ratio_amount,
)
from dpcheck.check.values.event_text import EventText
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.exact import (
    Budget,
    Epsilon,
    Excess,
    Extended,
    LogOf,
    Number,
    compare_epsilon,
    compare_values,
    divide,
    exact_text,
    excess,
    excess_sign,
    log,
    subtract,
)
from dpcheck.limits import Limit
from dpcheck.logic import claims
from dpcheck.logic.formula_text import formula_text
from dpcheck.logic.formulas import Private
from dpcheck.privacy.enclosed import Enclosed, ball_of, compare_measures
from dpcheck.records import dataclass, replace

EventClaim = claims.PrivacyClaim | claims.QuantityClaim | claims.QuantityValue

_BITS = 256
"""Of an enclosure, where digits are counted that two bounds have in common."""
_SMALL_DIGITS = 10
"""A δ between 0 and 10^-30 is told where three digits are enough: it may be 0, and have none."""

_TOLD_AS_FACTOR = Budget.of(100)
"""Up to here a budget is told as e^ε, which has 44 digits; a larger one as ε."""


class Evidence(Protocol):
    """What is known of the output sequences of some pairs of neighbors."""

    def worst_ratio(self) -> EventGap | None:
        """Return an event with the largest ratio; None where all pairs have equal rows."""

    def worst_gap(self, factor: ExpFactor) -> EventGap | None:
        """Return the event with the largest gap; None where no event has a positive one."""

    def event_text(self, gap: EventGap, factor: ExpFactor | None) -> EventText:
        """Return the event of a gap in words; it came from `worst_ratio` if there is no factor."""


@dataclass(frozen=True)
class Found:
    """The value of a quantity (an infinite ε is None) and the event that shows it.

    `factor` is where the event's gap is largest; None for an event of the largest ratio.
    """

    value: Epsilon | Number | Excess | None
    gap: EventGap | None
    factor: ExpFactor | None


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


@dataclass(frozen=True)
class Setting:
    """Evidence, the number and the names of its pairs, and whether it shows all sequences."""

    evidence: Evidence
    n_pairs: int
    names: Callable[[int], tuple[str, str]]
    is_complete: bool


def decide_event_claim(claim: EventClaim, setting: Setting) -> Decision:
    """Return what the evidence says about a claim; partial evidence only bounds from below."""
    match claim:
        case claims.PrivacyClaim():
            return _decide_privacy(claim, setting)
        case claims.QuantityValue():
            found = tight_quantity(claim.quantity, setting.evidence)
            amount = quantity_amount(found.value)
            if setting.is_complete or _is_greatest(found.value, claim.quantity):
                return Decision(verdicts.Value(amount, found.value), amount, shown=found)
            return Decision(None, None, amount, found)
        case claims.QuantityClaim():
            return _decide_comparison(claim, setting)
        case _:
            assert_never(claim)


def _decide_privacy(claim: claims.PrivacyClaim, setting: Setting) -> Decision:
    """Decide dp(ε, δ): by the largest ratio for δ = 0, else by the largest gap."""
    factor = None if claim.delta == 0 else ExpFactor.of(claim.epsilon)
    evidence = setting.evidence
    gap = evidence.worst_ratio() if factor is None else evidence.worst_gap(factor)
    gap = _at_least_everything(gap, claim.epsilon, setting)
    if gap is None or excess_sign(gap.p, gap.q, claim.epsilon, claim.delta) <= 0:
        if setting.is_complete:
            return Decision(verdicts.Holds(), closest=Found(None, gap, factor))
        found = tight_quantity(quantity_of(claim), evidence)
        return Decision(None, None, quantity_amount(found.value), found)
    example = _counterexample(gap, factor, claim.epsilon, claim.delta, setting)
    certify_violation(gap.p, gap.q, claim.epsilon, claim.delta)
    return Decision(verdicts.Violated(example), shown=Found(None, gap, factor))


def closest_text(
    claim: claims.PrivacyClaim | Private,
    gap: EventGap,
    pair: tuple[str, str],
    shown: verdicts.OutputSequence | None,
) -> verdicts.Phrase:
    """Return how close a gap of a pair comes to the budget of a claim that holds.

    `shown` is a sequence of outputs in its event.
    """
    lead = f"tightest: {pair[0]} against {pair[1]}, "
    at: tuple[str | verdicts.OutputSequence, ...] = ()
    if shown is not None:
        at = " at output " if len(shown.outputs) == 1 else " at ", shown
    if claim.delta == 0 and compare_epsilon(claim.epsilon, _TOLD_AS_FACTOR) > 0:
        least = epsilon_amount(log(divide(gap.p, gap.q)))
        return verdicts.Phrase.of(
            f"{lead}epsilon ", least, " of ", epsilon_amount(claim.epsilon), *at
        )
    if claim.delta == 0:
        ratio = number_amount(divide(gap.p, gap.q))
        return verdicts.Phrase.of(f"{lead}ratio ", ratio, " of ", growth_amount(claim.epsilon), *at)
    is_needed = excess_sign(gap.p, gap.q, claim.epsilon) > 0
    needed = number_amount(excess(gap.p, gap.q, claim.epsilon) if is_needed else 0)
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


def budget_of(claim: EventClaim) -> tuple[Budget, Number] | None:
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


def _at_least_everything(
    gap: EventGap | None, epsilon: Budget, setting: Setting
) -> EventGap | None:
    """Return the gap, or for ε < 0 that of the sure event if it is larger (equal rows have it)."""
    if setting.n_pairs == 0 or epsilon.sign() >= 0:
        return gap
    sure = EventGap(1, 1, 0, True)
    return sure if gap is None or sure.exceeds(gap, ExpFactor.of(epsilon)) else gap


def tight_quantity(quantity: claims.Quantity, evidence: Evidence) -> Found:
    """Return ε, ε(δ) or δ(ε) of the evidence."""
    match quantity:
        case claims.TightEpsilon(delta=delta):
            return tight_epsilon(evidence, delta)
        case claims.TightDelta(epsilon=epsilon):
            return tight_delta(evidence, epsilon)
        case _:
            raise AssertionError("other quantities are decided elsewhere")


def tight_epsilon(evidence: Evidence, delta: Number) -> Found:
    """Return the least ε >= 0 with dp(ε, δ), and an event that needs it."""
    if delta == 0:
        gap = evidence.worst_ratio()
        if gap is None:
            return Found(Budget.of(0), None, None)
        return Found(None if gap.q == 0 else log(divide(gap.p, gap.q)), gap, None)
    factor = ExpFactor.of_number(1)
    gap = evidence.worst_gap(factor)
    if gap is None or excess_sign(gap.p, gap.q, factor.epsilon, delta) <= 0:
        return Found(Budget.of(0), gap, factor)
    while True:
        if gap.q == 0:
            return Found(None, gap, factor)
        reached = ExpFactor.of_number(divide(subtract(gap.p, delta), gap.q))
        following = evidence.worst_gap(reached)
        if following is None or (
            excess_sign(following.p, following.q, reached.epsilon, delta) <= 0
        ):
            return Found(reached.epsilon, gap, factor)
        gap, factor = following, reached


def tight_delta(evidence: Evidence, epsilon: Budget) -> Found:
    """Return the least δ >= 0 with dp(ε, δ), and the event that needs it."""
    factor = ExpFactor.of(epsilon)
    gap = evidence.worst_gap(factor)
    value: Number | Excess = 0 if gap is None else excess(gap.p, gap.q, epsilon)
    return Found(value, gap, factor)


def _decide_comparison(claim: claims.QuantityClaim, setting: Setting) -> Decision:
    """Decide `quantity comparison bound`."""
    found = tight_quantity(claim.quantity, setting.evidence)
    amount = quantity_amount(found.value)
    sign = _compared(found.value, claim.bound)
    truth: bool | None = comparisons.holds(claim.comparison, sign)
    if not setting.is_complete:
        is_greatest = _is_greatest(found.value, claim.quantity)
        truth = _bounded_below(claim.comparison, sign, is_greatest=is_greatest)
        if truth is None or (truth and not is_greatest):
            return Decision(verdicts.Holds() if truth else None, None, amount, found)
    if truth:
        return Decision(verdicts.Holds(), amount, closest=found)
    example = _quantity_counterexample(claim, found, setting)
    return Decision(
        verdicts.Violated(example), amount if setting.is_complete else None, shown=found
    )


def _is_greatest(value: Epsilon | Number | Excess | None, quantity: claims.Quantity) -> bool:
    """Return whether no larger value is possible, so that a lower bound is the value: ε = ∞, δ = 1.

    P(S) - E Q(S) is at most 1.
    """
    if value is None:
        return True
    if not isinstance(quantity, claims.TightDelta):
        return False
    assert not isinstance(value, Budget | LogOf), "a δ is a number"
    return compare_values(value, 1) == 0


def _bounded_below(comparison: verdicts.Comparison, sign: int, *, is_greatest: bool) -> bool | None:
    """Return the truth of a comparison for every value from a lower bound on, None if it varies.

    `sign` compares the lower bound with the claim's bound; with `is_greatest` it is the value.
    """
    if is_greatest or sign > 0:
        return comparisons.holds(comparison, sign)
    if sign == 0 and comparison in (">=", "<"):
        return comparison == ">="
    return None


def _compared(value: Epsilon | Number | Excess | None, bound: Budget | Extended) -> int:
    """Return -1, 0 or 1 as an ε or δ is less than, equal to or greater than a bound."""
    sign = comparisons.compared(value, bound)
    assert sign is not None, "only enclosures stay undecided"
    return sign


def _counterexample(
    gap: EventGap, factor: ExpFactor | None, epsilon: Budget, delta: Number, setting: Setting
) -> verdicts.Counterexample:
    """Return the counterexample to p <= e^ε q + δ that a gap is."""
    return _example(
        gap,
        factor,
        setting,
        requirement=comparisons.inequality(gap.p, gap.q, epsilon, delta),
        sides=comparisons.inequality_sides(gap.p, gap.q, epsilon, delta),
        over=excess(subtract(gap.p, delta), gap.q, epsilon),
    )


def _example(
    gap: EventGap,
    factor: ExpFactor | None,
    setting: Setting,
    *,
    requirement: verdicts.Phrase,
    over: Number | Excess | None,
    sides: verdicts.Sides | None = None,
) -> verdicts.Counterexample:
    """Return a gap as a counterexample."""
    names = setting.names(gap.pair)
    event = setting.evidence.event_text(gap, factor)
    return verdicts.Counterexample(
        states=names if gap.is_forward else (names[1], names[0]),
        event=event.event,
        probabilities=(number_amount(gap.p), number_amount(gap.q)),
        requirement=requirement,
        sides=sides,
        ratio=ratio_amount(gap),
        excess=None if over is None else number_amount(over),
        runs=tuple(
            verdicts.Run(run, (number_amount(p), number_amount(q))) for run, p, q in event.runs
        ),
        n_sequences=event.n_sequences,
    )


def quantity_text(quantity: claims.Quantity) -> str:
    """Return a quantity as a claim writes it: `delta(ln(2))`, `epsilon` for `epsilon(0)`."""
    match quantity:
        case claims.TightDelta(epsilon=epsilon):
            return f"delta({exact_text(epsilon)})"
        case claims.TightEpsilon(delta=delta):
            return "epsilon" if delta == 0 else f"epsilon({exact_text(delta)})"
        case claims.LossQuantity(word=word, arguments=arguments):
            return f"{word}({', '.join(map(exact_text, arguments))})" if arguments else word
        case claims.PathProbability(path=path):
            return f"P=? [ {formula_text(path)} ]"
        case claims.LeastError(text=text) | claims.Expectation(text=text):
            return text
        case claims.ChannelQuantity(word=word) | claims.LossTable(word=word):
            return word
        case _:
            assert_never(quantity)


def _quantity_counterexample(
    claim: claims.QuantityClaim, found: Found, setting: Setting
) -> verdicts.Counterexample:
    """Return why a comparison is false: the value, and the event that shows it if there is one."""
    value, relation = quantity_amount(found.value), "=" if setting.is_complete else ">="
    plain = false_comparison(quantity_text(claim.quantity), claim, value, relation)
    if found.gap is None:
        return plain
    over: Number | Excess | None = None
    budget = budget_of(claim)
    if budget is not None and _compared(found.value, claim.bound) > 0:
        over = excess(subtract(found.gap.p, budget[1]), found.gap.q, budget[0])
    said = plain.requirement
    return _example(
        found.gap, found.factor, setting, requirement=said, over=over, sides=plain.sides
    )


def false_comparison(
    name: str,
    claim: claims.QuantityClaim,
    value: verdicts.Amount,
    relation: str = "=",
    states: tuple[str, ...] = (),
) -> verdicts.Counterexample:
    """Return that a quantity is this, or not less or more, so that a comparison is false.

    The requirement says both: `ε <= 1, but ε = ln(3)`.
    """
    bound = bound_amount(claim.bound)
    said = f"{name} {claim.comparison} ", bound, f", but {name} {relation} ", value
    return verdicts.Counterexample(
        states, (), (), verdicts.Phrase.of(*said), verdicts.Sides(value, claim.comparison, bound)
    )


INFINITELY_MANY = "there are infinitely many output sequences (outputs inside an unbounded loop)"


def asked_bound(claim: EventClaim) -> Budget | Extended:
    """Return what a claim compares a quantity with; None for infinity, and for no comparison."""
    asked = as_comparison(claim)
    return asked.bound if isinstance(asked, claims.QuantityClaim) else None


def decide_infinite(
    claim: EventClaim, states: tuple[str, ...], event: verdicts.ShownEvent
) -> Decision:
    """Decide a claim about an ε that is infinite because ratios grow, as an event shows."""
    asked = as_comparison(claim)
    if isinstance(asked, claims.QuantityValue):
        return Decision(verdicts.Value(INFINITE_EPSILON, None), INFINITE_EPSILON)
    if comparisons.holds(asked.comparison, _compared(None, asked.bound)):
        return Decision(verdicts.Holds())
    example = false_comparison(quantity_text(asked.quantity), asked, INFINITE_EPSILON)
    return Decision(verdicts.Violated(replace(example, states=states, event=event)))


def greatest(claim: EventClaim) -> Epsilon | Number | Excess | None:
    """Return the greatest value that the quantity of a claim can have: 1 for δ, infinity for ε."""
    return 1 if isinstance(quantity_of(claim), claims.TightDelta) else None


def decide_between(
    claim: EventClaim, low: Decision, high: Epsilon | Number | Excess | None, *, n_digits: int
) -> Decision:
    """Decide a claim about a quantity from a lower bound that leaves it open, and an upper one.

    What is computed has a value if both agree in so many digits.
    """
    assert low.shown is not None, "a lower bound was found"
    least, asked = low.shown.value, as_comparison(claim)
    if isinstance(asked, claims.QuantityValue):
        return _value_between(least, high, n_digits)
    if isinstance(claim, claims.PrivacyClaim) and claim.epsilon.sign() < 0:
        return low
    signs = _compared(least, asked.bound), _compared(high, asked.bound)
    truth = comparisons.truth_between(asked.comparison, *signs)
    if truth is True:
        return Decision(verdicts.Holds())
    if truth is False and isinstance(claim, claims.QuantityClaim):
        name, most = quantity_text(claim.quantity), quantity_amount(high)
        return Decision(verdicts.Violated(false_comparison(name, claim, most, "<=")))
    return low


def _value_between(
    low: Epsilon | Number | Excess | None, high: Epsilon | Number | Excess | None, n_digits: int
) -> Decision:
    """Return a value that lies between two, if these agree in so many digits, or are near 0."""
    if low is None or high is None:
        return Decision(None)
    amount, value = quantity_amount(high), Enclosed(lambda bits: _ball_between(low, high, bits))
    if compare_measures(low, high) == 0:
        return Decision(verdicts.Value(amount, high), amount)
    found = value.ball(_BITS)
    is_known = found.rel_accuracy_bits() > n_digits * 10 // 3
    if not is_known and not found < arb(10) ** (-_SMALL_DIGITS * n_digits):
        return Decision(None)
    if isinstance(low, Budget | LogOf):
        assert isinstance(high, Budget | LogOf), "both are an ε"
        amount = epsilon_between(low, high)
    else:
        assert not isinstance(high, Budget | LogOf), "both are a δ"
        amount = between_amount(low, high)
    return Decision(verdicts.Value(amount, value), amount)


def _ball_between(
    low: Epsilon | Number | Excess, high: Epsilon | Number | Excess, bits: int
) -> arb:
    """Return an enclosure of all numbers between two."""
    with ctx.workprec(bits):
        return ball_of(low, bits).union(ball_of(high, bits))


def undecided_sequences(
    claim: EventClaim,
    at_least: verdicts.Amount | None,
    high: Epsilon | Number | Excess | None,
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
    epsilon: Budget | Extended = None
    delta: Budget | Extended = 0
    match as_comparison(claim):
        case claims.QuantityClaim(quantity=claims.TightDelta(epsilon=given), bound=bound):
            epsilon, delta = given, bound
        case claims.QuantityValue(quantity=claims.TightDelta(epsilon=given)):
            epsilon = given
        case claims.QuantityClaim(quantity=claims.TightEpsilon(delta=given), bound=bound):
            epsilon, delta = bound, given
        case claims.QuantityValue(quantity=claims.TightEpsilon(delta=given)):
            delta = given
    texts = ["1" if epsilon is None else bound_amount(epsilon).exact]
    return ", ".join([*texts, bound_amount(delta).exact] if delta else texts)
