"""Claims about compositions that are too long to be composed exactly, decided by certified bounds.

The bounds come from a grid of losses (`privacy.grid`), which is made finer until they decide the
claim, or are 3 in 10,000 apart. The value is the largest over pairs of neighbors and both
directions: the largest lower and the largest upper bound enclose it, and what lies below the
largest lower bound is not looked at again. A claim that is exactly tight never separates, and ends
undecided with the enclosure.

The least ε for δ > 0 lies above b > 0 where δ(b) > δ and below where δ(b) < δ, so that claims about
both are decided by bounds of δ(b). δ = 0 needs no grid: the largest losses of the runs add up, and
so do Rényi divergences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, reduce

import numpy as np
from flint import arb, ctx, fmpq

from dpcheck.certify import ScoredRun, certify_score_event
from dpcheck.check.quantities.decide_quantity import decide_comparison, verdict_on
from dpcheck.check.quantities.loss_values import Measured
from dpcheck.check.quantities.privacy import quantity_text
from dpcheck.check.values.amounts import (
    DIGITS,
    INFINITE_EPSILON,
    bound_amount,
    bounds_amount,
    growth_amount,
    number_amount,
)
from dpcheck.check.values.comparisons import as_budget, as_number, holds
from dpcheck.check.values.verdicts import (
    Amount,
    Beside,
    Counterexample,
    Coverage,
    Holds,
    Outcome,
    Phrase,
    Sides,
    Undecided,
    Value,
    Verdict,
    Violated,
)
from dpcheck.exact import Budget, Number, decimal, log
from dpcheck.exact.number import ball as number_ball
from dpcheck.limits import Limit, LimitReached, Limits, too_large
from dpcheck.logic.claims import (
    Claim,
    LossQuantity,
    PrivacyClaim,
    Quantity,
    QuantityClaim,
    QuantityComparison,
    QuantityValue,
    TightDelta,
    TightEpsilon,
)
from dpcheck.privacy.concentrated import zcdp
from dpcheck.privacy.enclosed import Enclosed, Measure, ball_of, compare_measures
from dpcheck.privacy.grid import GridLosses, Part, scores
from dpcheck.privacy.losses import LossDistribution, common_exponent
from dpcheck.privacy.renyi import Divergence, renyi
from dpcheck.records import dataclass
from dpcheck.records import replace as with_fields

WIDTH = 3e-4
"""Values are enclosed to this relative width."""

FIRST_WIDTH = 1e-2
"""The first grid is to enclose values to about this relative width: a thousand points, mostly."""

FEWEST_POINTS, MOST_POINTS = 8, 100
"""Grid points of one run at first, at least and at most."""

MAX_POINTS = 1 << 18
"""Grid points of all runs together at most."""

MOST_MULTIPLES = 1 << 10
"""So many multiples of one exponent are losses of one run at most, for that to be the step."""

BOUND_BITS = 256

SPARE_BITS, MARGIN_BITS, MAX_TAIL_BITS = 40, 30, 1 << 10
"""Tails below δ 2^-40 are cut off: a violation by more than δ 2^-30 does not hang on them."""


@dataclass(frozen=True, eq=False)
class Direction:
    """One direction of a pair of neighbors: the losses of the parts, and how often each runs."""

    parts: tuple[Part, ...]
    pair: int
    is_forward: bool

    @cached_property
    def epsilon(self) -> Divergence | None:
        """The largest loss of all runs together: the least ε with δ = 0."""
        ratios = [(losses.largest_ratio, times) for losses, times in self.parts]
        return total([(None if ratio is None else log(ratio), times) for ratio, times in ratios])


@dataclass(frozen=True, eq=False)
class Composition:
    """Independent runs on one input: every pair's losses of the parts, how often each runs."""

    pairs: Sequence[tuple[LossDistribution, ...]]
    times: Sequence[int]
    names: Callable[[int], tuple[str, str]]
    n_initial: int

    @cached_property
    def directions(self) -> list[Direction]:
        """Both directions of all pairs with different rows; of equal losses the first."""
        first: dict[tuple[LossDistribution, ...], int] = {}
        for pair, together in enumerate(self.pairs):
            first.setdefault(together, pair)
        found: dict[tuple[LossDistribution, ...], tuple[int, bool]] = {}
        for together, pair in first.items():
            if not all(losses.is_certain for losses in together):
                found.setdefault(together, (pair, True))
                found.setdefault(tuple(losses.reversed() for losses in together), (pair, False))
        return [
            Direction(tuple(zip(losses, self.times, strict=True)), *where)
            for losses, where in found.items()
        ]

    def names_of(self, direction: Direction) -> tuple[str, str]:
        """Return the two states, P's first."""
        first, second = self.names(direction.pair)
        return (first, second) if direction.is_forward else (second, first)


def total(terms: Sequence[tuple[Measure, int]]) -> Divergence | None:
    """Return Σ n · value of budgets, logarithms and enclosed numbers; None (infinite) if one is."""
    finite = [(value, n) for value, n in terms if value is not None]
    if len(finite) < len(terms):
        return None
    budgets = [value * n for value, n in finite if isinstance(value, Budget)]
    if len(budgets) == len(terms):
        return sum(budgets, Budget.of(0))

    def enclosure(bits: int) -> arb:
        with ctx.workprec(bits):
            return sum((ball_of(value, bits) * n for value, n in finite), arb(0))

    return Enclosed(enclosure)


def decide_by_bounds(claim: Claim, runs: Composition, limits: Limits) -> Outcome:
    """Return the outcome of a claim about runs that are not composed exactly."""
    coverage = Coverage(runs.n_initial, len(runs.pairs))
    match claim:
        case QuantityComparison(left=left, right=right, span=span):
            sides = [QuantityValue(quantity, span) for quantity in (left, right)]
            return decide_comparison(claim, [decide_by_bounds(q, runs, limits) for q in sides])
        case PrivacyClaim(epsilon=epsilon, delta=0):
            return Outcome(_pure_privacy(epsilon, runs), coverage)
        case PrivacyClaim(epsilon=epsilon, delta=delta, span=span):
            quantity = TightDelta(epsilon, span)
            asked = QuantityClaim(quantity, "<=", delta, span)
            verdict, _ = _compared(asked, quantity, runs, limits, of_quantity=False)
            return Outcome(verdict, coverage)
        case QuantityClaim(quantity=quantity) | QuantityValue(quantity=quantity):
            return _decide_quantity(claim, quantity, runs, coverage, limits)
        case _:
            raise AssertionError("formulas are not asked about compositions")


def _decide_quantity(
    claim: QuantityClaim | QuantityValue,
    quantity: Quantity,
    runs: Composition,
    coverage: Coverage,
    limits: Limits,
) -> Outcome:
    if isinstance(quantity, LossQuantity) and quantity.word == "total_variation":
        quantity = TightDelta(Budget.of(0), quantity.span)
    match quantity:
        case TightEpsilon(delta=0):
            found, direction = _largest([(each.epsilon, each) for each in runs.directions])
        case TightEpsilon() | TightDelta():
            if isinstance(claim, QuantityValue):
                return _enclosed_value(quantity, runs, coverage, limits)
            verdict, amount = _compared(claim, quantity, runs, limits)
            return Outcome(verdict, coverage, (), amount)
        case _:
            found, direction = _sum(quantity, runs)
    word = quantity.word if isinstance(quantity, LossQuantity) else ""
    amount = Measured(found, None, is_loss=word != "zcdp").amount(DIGITS)
    names = runs.names_of(direction)
    of_pair = Beside(f"between {names[0]} and {names[1]}")
    name = quantity_text(quantity)
    return Outcome(verdict_on(claim, name, found, amount, names), coverage, (), amount, (of_pair,))


# --- what adds up --------------------------------------------------------------------------


def _sum(quantity: Quantity, runs: Composition) -> tuple[Divergence | None, Direction]:
    """Return the largest Σ times · value of one run, and which direction has it."""
    match quantity:
        case LossQuantity(word="renyi", arguments=(int() | fmpq() as order,)):
            sums = [
                total([(renyi(losses, order), times) for losses, times in each.parts])
                for each in runs.directions
            ]
            return _largest(list(zip(sums, runs.directions, strict=True)))
        case LossQuantity(word="zcdp") if len(runs.times) == 1:
            found = zcdp([each.parts[0][0] for each in runs.directions])
            assert found is not None, "some pair has different rows"
            return total([(found.rho, runs.times[0])]), runs.directions[found.index]
    raise too_large(
        "the runs have too many different privacy losses to compose them exactly",
        "ask for epsilon(δ), delta(ε) or renyi(order), or about fewer runs",
    )


def _largest(
    found: Sequence[tuple[Divergence | None, Direction]],
) -> tuple[Divergence | None, Direction]:
    """Return the largest value; of those that no enclosure separates, the first."""
    return reduce(
        lambda best, each: each if compare_measures(each[0], best[0]) == 1 else best, found
    )


def _pure_privacy(epsilon: Budget, runs: Composition) -> Verdict:
    """Decide dp(ε, 0) by the largest loss of all runs together."""
    value, direction = _largest([(each.epsilon, each) for each in runs.directions])
    sign = compare_measures(value, epsilon)
    amount = Measured(value, None).amount(DIGITS)
    if sign is None:
        return _undecided("epsilon", epsilon, amount)
    if sign <= 0:
        return Holds()
    requirement = Phrase.of("epsilon <= ", bound_amount(epsilon), ", but epsilon = ", amount)
    names, sides = runs.names_of(direction), Sides(amount, "<=", bound_amount(epsilon))
    return Violated(Counterexample(names, _worst_outputs(value), (), requirement, sides))


def _worst_outputs(value: Measure) -> Phrase:
    if value is None:
        return Phrase.of("the outputs that are possible on one side only")
    return Phrase.of("the outputs with the largest loss in every run")


def _undecided(
    name: str, bound: Budget | Number | None, value: Amount, limit: Limit | None = None
) -> Undecided:
    unsure = f"no bounds separate {name} from {bound_amount(bound).exact}"
    size = Limit("size", unit=unsure, advice="a bound that differs from it")
    return Undecided(limit or size, Phrase.of(f"{name} is ", value))


# --- bounds --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Bounded:
    """The bounds of a quantity in one direction, and the grid that they come from."""

    direction: Direction
    grid: GridLosses
    low: arb
    high: arb


@dataclass(frozen=True, eq=False)
class _Bounds:
    """What the largest value of all directions lies between; `limit` stopped the refinement."""

    low: arb
    high: arb
    top: _Bounded
    limit: Limit | None = None


_Tight = TightEpsilon | TightDelta


def _on_grid(quantity: _Tight, direction: Direction, grid: GridLosses) -> _Bounded:
    """Return the bounds of ε(δ) or δ(ε), not below 0."""
    if isinstance(quantity, TightDelta):
        low: arb | None = grid.delta_below(quantity.epsilon)[0].max(arb(0))
        high: arb | None = grid.delta_above(quantity.epsilon).min(arb(1))
    else:
        low, high = grid.epsilon_below(quantity.delta), grid.epsilon_above(quantity.delta)
    infinite = arb("inf")
    return _Bounded(
        direction, grid, infinite if low is None else low, infinite if high is None else high
    )


def _refined(
    quantity: _Tight,
    directions: Sequence[Direction],
    delta: Number | None,
    is_settled: Callable[[_Bounds], bool],
    limits: Limits,
) -> _Bounds:
    """Return bounds on a grid that is made finer until they are settled, or a limit is reached.

    `delta` is the δ that matters, if that is known: it says which tails are cut off.
    """
    step, is_exact = _first_step(directions)
    tail_bits = _tail_bits(1 if delta is None else delta)
    bounds: _Bounds | None = None
    while True:
        try:
            found = [
                _on_grid(quantity, each, GridLosses.of(each.parts, step, tail_bits, limits))
                for each in directions
            ]
        except LimitReached as reached:
            if bounds is None:
                raise
            return with_fields(bounds, limit=reached.limit)
        top = reduce(lambda best, each: each if each.low > best.low else best, found)
        bounds = _Bounds(top.low, reduce(arb.max, [each.high for each in found]), top)
        if is_settled(bounds):
            return bounds
        directions = [each.direction for each in found if not each.high < top.low]
        is_cut = delta is None and bool(top.grid.lost * 4 > bounds.high * WIDTH)
        if is_exact or is_cut:
            # What was cut off is too much of the upper bound: no finer step helps.
            finer = step
            tail_bits = _tail_bits(top.low) if is_cut and top.low > 0 else 2 * tail_bits
        else:
            finer = _finer(step, bounds, is_value=is_settled is _is_narrow)
        n_points = max(each.grid.n_points for each in found)
        if n_points * float(step / finer) > MAX_POINTS or tail_bits > MAX_TAIL_BITS:
            return bounds
        step = finer


def _first_step(directions: Sequence[Direction]) -> tuple[fmpq, bool]:
    """Return a step, and whether all losses are multiples of it, which no finer one improves."""
    parts = [losses for each in directions for losses, _ in each.parts if losses.losses]
    ends = [[number_ball(one.losses[i].ratio, 64).log() for i in (0, -1)] for one in parts]
    # Losses that are all one value are spread from 0 to it; the step for no losses is any.
    spread = max((float((most - least).mid()) for most, least in ends), default=0.0)
    spread = spread or max((float(abs(most).mid()) for most, _ in ends), default=0.0)
    if not spread:
        return fmpq(1), True
    unit = common_exponent(parts)
    if unit is not None and spread < MOST_MULTIPLES * float(unit):
        return unit, True
    # Bounds of ε are about k h² / 6 apart, and ε is some standard deviations above the mean loss.
    n_runs = sum(times for _, times in directions[0].parts)
    likely = max(map(_likely_loss, directions))
    wanted = math.sqrt(6 * FIRST_WIDTH * likely / n_runs)
    return _two_digits(min(spread / FEWEST_POINTS, max(wanted, spread / MOST_POINTS))), False


def _likely_loss(direction: Direction) -> float:
    """Return four standard deviations above the mean of all runs' losses, about."""
    mean = variance = 0.0
    for losses, times in direction.parts:
        masses = np.array([float(number_ball(each.p, 64).mid()) for each in losses.losses])
        values = [float(number_ball(each.ratio, 64).log().mid()) for each in losses.losses]
        one = float(masses @ values)
        mean += times * one
        variance += times * (float(masses @ np.square(values)) - one * one)
    return max(0.0, mean) + 4 * math.sqrt(max(0.0, variance))


def _finer(step: fmpq, bounds: _Bounds, *, is_value: bool) -> fmpq:
    """Return the next step: widths fall with its square, where they are small.

    A claim may be decided long before its value is narrow, so there steps are smaller.
    """
    is_near = bounds.low > 0 and bounds.high.is_finite()
    width = float(((bounds.high - bounds.low) / bounds.high).mid()) if is_near else 1.0
    least = 1 / 64 if is_value and is_near else 1 / 10
    return _two_digits(float(step) * min(1 / 2, max(least, math.sqrt(0.7 * WIDTH / width))))


def _two_digits(value: float) -> fmpq:
    """Return a positive float rounded to two digits, which is what people read."""
    exponent = math.floor(math.log10(value)) - 1
    return fmpq(round(value / 10.0**exponent)) * fmpq(10) ** exponent


def _tail_bits(delta: arb | Number) -> int:
    """Return which tails are too light to matter beside δ."""
    with ctx.workprec(64):
        ball = delta if isinstance(delta, arb) else number_ball(delta, 64)
        leading = -ball.log_base(2).lower() if ball > 0 else arb(0)
        return SPARE_BITS + min(MAX_TAIL_BITS, max(0, int(leading.ceil().fmpq().p)))


def _concerned(quantity: _Tight, runs: Composition) -> list[Direction]:
    """Return the directions whose value may be positive: δ(ε) = 0 from the largest loss on."""
    if isinstance(quantity, TightEpsilon):
        return runs.directions
    return [
        each for each in runs.directions if compare_measures(each.epsilon, quantity.epsilon) != -1
    ]


def _enclosed_value(
    quantity: _Tight, runs: Composition, coverage: Coverage, limits: Limits
) -> Outcome:
    """Return the bounds of ε(δ) or δ(ε)."""
    directions = _concerned(quantity, runs)
    if not directions:
        return Outcome(Value(number_amount(0), 0), coverage, (), number_amount(0))
    delta = quantity.delta if isinstance(quantity, TightEpsilon) else None
    found = _refined(quantity, directions, delta, _is_narrow, limits)
    if not found.low.is_finite():
        return Outcome(Value(INFINITE_EPSILON, None), coverage, (), INFINITE_EPSILON)
    amount = bounds_amount(found.low, found.high)
    value = Enclosed(lambda _: found.low.union(found.high))
    safe = Beside("safe to use is", Amount(amount.decimal, amount.decimal))
    is_exact = amount.enclosure is None
    return Outcome(Value(amount, value), coverage, (), amount, () if is_exact else (safe,))


def _is_narrow(found: _Bounds) -> bool:
    return not found.low.is_finite() or bool(found.high - found.low <= found.high * WIDTH)


# --- claims --------------------------------------------------------------------------------


def _compared(
    claim: QuantityClaim,
    quantity: _Tight,
    runs: Composition,
    limits: Limits,
    *,
    of_quantity: bool = True,
) -> tuple[Verdict, Amount | None]:
    """Decide whether ε(δ) or δ(ε) compares with the bound as claimed; return its bounds too.

    Else than `of_quantity`, the claim was dp(ε, δ), and its counterexample speaks of the event.
    """
    name, directions = quantity_text(quantity), _concerned(quantity, runs)
    if not directions:
        return verdict_on(claim, name, 0, number_amount(0), ()), number_amount(0)
    budget = _budget(quantity, claim.bound)
    bound = arb("inf") if claim.bound is None else ball_of(claim.bound, BOUND_BITS)

    def sign(found: _Bounds) -> int | None:
        if found.high < bound:
            return -1
        if found.low > bound and budget is not None:
            return 1 if _is_surely_violated(found.top.grid, *budget) else None
        return 0 if found.low == found.high == bound else None

    delta = quantity.delta if isinstance(quantity, TightEpsilon) else as_number(claim.bound)
    found = _refined(quantity, directions, delta, lambda bounds: sign(bounds) is not None, limits)
    amount, decided = bounds_amount(found.low, found.high), sign(found)
    if decided is None:
        return _undecided(name, claim.bound, amount, found.limit), None
    if holds(claim.comparison, decided):
        return Holds(), amount
    requirement, sides = _requirement(name, claim, amount, decided)
    if decided <= 0 or budget is None:
        return Violated(Counterexample((), (), (), requirement, sides)), amount
    example = _event_example(found.top, runs, *budget)
    if of_quantity:
        example = with_fields(example, requirement=requirement, sides=sides)
    return Violated(example), amount


def _requirement(
    name: str, claim: QuantityClaim, amount: Amount, sign: int
) -> tuple[Phrase, Sides]:
    """Return what a claim says and the end of the bounds that says otherwise."""
    bound, shown, relation = bound_amount(claim.bound), amount, "="
    if amount.enclosure is not None:
        end = amount.enclosure[0 if sign > 0 else 1]
        shown, relation = Amount(end, end), ">=" if sign > 0 else "<="
    said = (f"{name} {claim.comparison} ", bound, f", but {name} {relation} ", shown)
    return Phrase.of(*said), Sides(shown, claim.comparison, bound)


def _budget(quantity: _Tight, bound: Budget | Number | None) -> tuple[Budget, Number] | None:
    """Return the (ε, δ) that an event exceeds where the quantity exceeds the bound."""
    if isinstance(quantity, TightDelta):
        return quantity.epsilon, as_number(bound)
    return None if bound is None else (as_budget(bound), quantity.delta)


def _is_surely_violated(grid: GridLosses, epsilon: Budget, delta: Number) -> bool:
    """Return whether an event exceeds δ by more than what was cut off could matter."""
    gap, _ = grid.delta_below(epsilon)
    with ctx.workprec(BOUND_BITS):
        return bool(gap > number_ball(delta, BOUND_BITS) * (1 + arb(2) ** -MARGIN_BITS))


def _event_example(
    found: _Bounded, runs: Composition, epsilon: Budget, delta: Number
) -> Counterexample:
    """Return the event with P(S) > e^ε Q(S) + δ that a grid shows, checked again."""
    step, least = found.grid.step, found.grid.delta_below(epsilon)[1]
    p_ends, q_ends = certify_score_event(
        [_scored(*part, step) for part in found.direction.parts], least, epsilon, delta
    )
    with ctx.workprec(BOUND_BITS):
        p, q = ([ball_of(end, BOUND_BITS) for end in ends] for ends in (p_ends, q_ends))
        factor, room = epsilon.exp_ball(BOUND_BITS), number_ball(delta, BOUND_BITS)
        right = [factor * end + room for end in q]
        p_amount, q_amount, right_amount = (bounds_amount(*ends) for ends in (p, q, right))
        over = bounds_amount(p[0] - right[1], p[1] - right[0])
        ratio = bounds_amount(p[0] / q[1], p[1] / q[0] if q[0] > 0 else arb("inf"))
    event = (
        f"the outputs of all runs whose scores add up to at least {least}: the score of an output "
        f"is its privacy loss in units of {decimal(step)}, rounded"
    )
    plus = (" + ", number_amount(delta))
    times = growth_amount(epsilon)
    return Counterexample(
        runs.names_of(found.direction),
        Phrase.of(event),
        (p_amount, q_amount),
        Phrase.of(p_amount, " <= ", times, " * ", q_amount, *plus),
        Sides(p_amount, "<=", right_amount),
        ratio,
        over,
    )


def _scored(losses: LossDistribution, times: int, step: fmpq) -> ScoredRun:
    """Return one part's outputs with their scores."""
    listed = zip(scores(losses.losses, step), losses.losses, strict=True)
    outputs = [(score, loss.p, loss.q) for score, loss in listed]
    return outputs, (losses.p_only, losses.q_only), times
