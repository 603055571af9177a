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

import time
from collections.abc import Sequence
from functools import reduce

from flint import arb, ctx, fmpq

from dpcheck.certify.scores import ScoredRun, certify_score_event
from dpcheck.check.quantities import privacy
from dpcheck.check.quantities.decide_quantity import between, decide_comparison, tabulated
from dpcheck.check.quantities.grid_bounds import (
    BOUND_BITS,
    MARGIN_BITS,
    Bounded,
    Bounds,
    Composition,
    Direction,
    OnGrid,
    concerned,
    ends_of,
    largest_bounds,
    narrow,
    on_grid,
    places_up_to,
    refined,
    total,
)
from dpcheck.check.quantities.loss_values import Measured
from dpcheck.check.values import amounts, verdicts
from dpcheck.check.values.comparisons import as_number, holds
from dpcheck.exact import DIGITS, Budget, Number, decimal
from dpcheck.exact.number import ball as number_ball
from dpcheck.limits import LimitReached, Limits, too_large
from dpcheck.logic import claims
from dpcheck.privacy.concentrated import zcdp
from dpcheck.privacy.enclosed import Enclosed, ball_of, compare_measures
from dpcheck.privacy.grid import GridLosses, scores
from dpcheck.privacy.losses import LossDistribution
from dpcheck.privacy.renyi import Divergence, renyi
from dpcheck.records import replace as with_fields


def decide_by_bounds(claim: claims.Claim, runs: Composition) -> verdicts.Outcome:
    """Return the outcome of a claim about runs that are not composed exactly."""
    match claim:
        case claims.QuantityComparison():
            return decide_comparison(claim, lambda side: decide_by_bounds(side, runs))
        case claims.PrivacyClaim():
            asked = privacy.as_comparison(claim)
            assert isinstance(asked, claims.QuantityClaim), "dp(ε, δ) is one"
            found = _decide_quantity(asked, asked.quantity, runs, of_quantity=False)
            return verdicts.Outcome(found.verdict, runs.seen.coverage())
        case claims.QuantityClaim(quantity=quantity) | claims.QuantityValue(quantity=quantity):
            return _decide_quantity(claim, quantity, runs)
        case _:
            raise AssertionError("formulas are not asked about compositions")


def _decide_quantity(
    claim: claims.QuantityClaim | claims.QuantityValue,
    quantity: claims.Quantity,
    runs: Composition,
    *,
    of_quantity: bool = True,
) -> verdicts.Outcome:
    """Return the outcome of a claim about a quantity; else than `of_quantity`, it was dp(ε, δ)."""
    coverage = runs.seen.coverage()
    match quantity:
        case claims.LossTable():
            return tabulated(_bounds_table(quantity, runs), coverage)
        case claims.TightEpsilon(delta=0):
            found, direction = _largest([(each.epsilon, each) for each in runs.directions])
        case (
            claims.TightEpsilon()
            | claims.TightDelta()
            | claims.LossQuantity(word="loss_tail" | "tradeoff")
        ):
            if isinstance(claim, claims.QuantityValue):
                value, beside = _enclosed_value(quantity, runs)
                return verdicts.Outcome(value, coverage, (), value.amount, beside)
            verdict, amount = _compared(claim, quantity, runs, of_quantity=of_quantity)
            return verdicts.Outcome(verdict, coverage, (), amount)
        case _:
            found, direction = _sum(quantity, runs)
    word = quantity.word if isinstance(quantity, claims.LossQuantity) else ""
    amount = Measured(found, None, is_loss=word != "zcdp").amount(DIGITS)
    names = runs.names_of(direction)
    verdict = privacy.verdict_on(claim, privacy.quantity_text(quantity), found, amount, names)
    if isinstance(verdict, verdicts.Violated) and isinstance(quantity, claims.TightEpsilon):
        assert isinstance(claim, claims.QuantityClaim), "a value is not violated"
        is_finite = found is not None
        where = "with the largest loss in every run" if is_finite else "possible on one side only"
        event = verdicts.Phrase.of(f"the outputs {where}")
        plain = with_fields(verdict.counterexample, event=event)
        is_more = is_finite and compare_measures(found, claim.bound) == 1
        how = {"is_more": is_more, "of_quantity": of_quantity}
        verdict = _violated(plain, claim, direction, runs, **how)
    return verdicts.Outcome(verdict, coverage, (), amount, (between(names),))


# --- what adds up --------------------------------------------------------------------------


def _sum(quantity: claims.Quantity, runs: Composition) -> tuple[Divergence | None, Direction]:
    """Return the largest Σ times · value of one run, and which direction has it."""
    match quantity:
        case claims.LossQuantity(word="renyi", arguments=(int() | fmpq() as order,)):
            sums = [
                total([(renyi(losses, order), times) for losses, times in each.parts])
                for each in runs.directions
            ]
            return _largest(list(zip(sums, runs.directions, strict=True)))
        case claims.LossQuantity(word="zcdp") if len(runs.times) == 1:
            found = zcdp([each.parts[0][0] for each in runs.directions])
            assert found is not None, "some pair has different rows"
            return total([(found.rho, runs.times[0])]), runs.directions[found.index]
    raise too_large(
        "the runs have too many different privacy losses to compose them exactly",
        "ask for epsilon(δ), delta(ε), loss_tail(ε), tradeoff(a) or renyi(order), or fewer runs",
    )


def _largest(
    found: Sequence[tuple[Divergence | None, Direction]],
) -> tuple[Divergence | None, Direction]:
    """Return the largest value; of those that no enclosure separates, the first."""
    return reduce(
        lambda best, each: each if compare_measures(each[0], best[0]) == 1 else best, found
    )


# --- values ------------------------------------------------------------------------------


def _enclosed_value(
    quantity: OnGrid, runs: Composition
) -> tuple[verdicts.Value, tuple[verdicts.Beside, ...]]:
    """Return the bounds of a quantity, and which end is safe: the lower one of an error."""
    directions = concerned(quantity, runs)
    if not directions:
        return verdicts.Value(amounts.number_amount(0), 0), ()
    found = narrow(quantity, directions, runs.limits)
    if not found.low.is_finite():
        return verdicts.Value(amounts.INFINITE_EPSILON, None), ()
    low, high = ends_of(quantity, found)
    amount, value = amounts.bounds_amount(low, high), Enclosed(lambda _: low.union(high))
    if amount.enclosure is None:
        return verdicts.Value(amount, value), ()
    is_error = isinstance(quantity, claims.LossQuantity) and quantity.word == "tradeoff"
    end = amount.enclosure[0 if is_error else 1]
    safe = verdicts.Beside("safe to use is", verdicts.Amount(end, end))
    return verdicts.Value(amount, value), (safe,)


# --- tables --------------------------------------------------------------------------------

TABLE_DELTA = fmpq(1, 10**9)
"""A profile is tabulated up to the ε at which δ is about this small."""

TABLE_ROWS = 12
"""Rows of a profile that has no exact pieces."""
SHOWN_SECONDS = 3
"""What an event takes of the processor that shows a claim with δ = 0: of 10^5 runs one."""
FINER_TAILS = 4
"""Tails of losses are slopes of δ: their bounds are as far apart as the step is long."""

TABLE_ERRORS = [fmpq(n, 1000) for n in (0, 1, 5, 10, 25, 50, 100, 200, 300, 400, 500)]


_HEADS = {
    "profile": ("ε", "δ"),
    "losses": ("ε", "P(loss > ε)"),
    "tradeoff": ("type I error", "type II error"),
}


def _bounds_table(function: claims.LossTable, runs: Composition) -> verdicts.Table:
    """Return bounds of a function at some places, from the grid that bounds ε(10^-9) narrowly."""
    word, span, limits = function.word, function.span, runs.limits
    last = narrow(claims.TightEpsilon(TABLE_DELTA, span), runs.directions, limits)
    made, finer = last.top.grid.like, FINER_TAILS if word == "losses" else 1
    grids = [(each, made(each.parts, finer, limits)) for each in runs.directions]
    asked: list[tuple[fmpq, OnGrid]]

    def at_budget(epsilon: Budget) -> OnGrid:
        is_profile = word == "profile"
        tail = claims.LossQuantity("loss_tail", (epsilon,), DIGITS, span)
        return claims.TightDelta(epsilon, span) if is_profile else tail

    if word != "tradeoff":
        end = last.high
        if not end.is_finite():
            end = reduce(arb.max, [grid.largest_loss for _, grid in grids])
        places = places_up_to(end.max(arb(last.top.grid.step)), TABLE_ROWS)
        asked = [(place, at_budget(Budget.of(place))) for place in places]
    else:
        asked = [(a, claims.LossQuantity(word, (a,), DIGITS, span)) for a in TABLE_ERRORS]
    rows: list[tuple[verdicts.Cell, ...]] = []
    for place, quantity in asked:
        limits.check_time(f"{len(rows)} of {len(asked)} rows of the table")
        bounds = largest_bounds([on_grid(quantity, *each) for each in grids])
        amount = amounts.bounds_amount(*ends_of(quantity, bounds))
        shown_ends = amount.enclosure or (amount.exact, amount.exact)
        shown = [verdicts.Amount(text, text) for text in (decimal(place), *shown_ends)]
        names = runs.names_of(bounds.top.direction)
        rows.append((*shown, *(names if word != "tradeoff" else names[::-1])))
    what, of = _HEADS[word]
    columns = (what, f"{of} at least", f"{of} at most", "P from", "Q from")
    return verdicts.Table(f"bounds of the {word}", columns, tuple(rows))


# --- claims --------------------------------------------------------------------------------


def _compared(
    claim: claims.QuantityClaim, quantity: OnGrid, runs: Composition, *, of_quantity: bool
) -> tuple[verdicts.Verdict, verdicts.Amount | None]:
    """Decide whether ε(δ) or δ(ε) compares with the bound as claimed; return its bounds too.

    Else than `of_quantity`, the claim was dp(ε, δ), and its counterexample speaks of the event.
    """
    name, directions = privacy.quantity_text(quantity), concerned(quantity, runs)
    if not directions:
        return privacy.verdict_on(
            claim, name, 0, amounts.number_amount(0), ()
        ), amounts.number_amount(0)
    bound = ball_of(claim.bound, BOUND_BITS)

    def sign(found: Bounds) -> int | None:
        low, high = ends_of(quantity, found)  # an end may be that of all chances, 0 or 1
        if high < bound or (claim.comparison == "<=" and high <= bound):
            return -1
        if low > bound or (claim.comparison == ">=" and low >= bound):
            return 1
        return 0 if low == high == bound else None

    delta = quantity.delta if isinstance(quantity, claims.TightEpsilon) else as_number(claim.bound)
    found = refined(
        quantity, directions, delta, lambda bounds: sign(bounds) is not None, runs.limits
    )
    amount, decided = amounts.bounds_amount(*ends_of(quantity, found)), sign(found)
    if decided is None:
        return privacy.undecided_between(name, claim.bound, amount, found.limit), None
    if holds(claim.comparison, decided):
        return verdicts.Holds(), amount
    has_pair = decided > 0 or isinstance(quantity, claims.LossQuantity)
    names = runs.names_of(found.top.direction) if has_pair else ()
    verdict = _violated(
        _plain_example(name, claim, amount, decided, names),
        *(with_fields(claim, quantity=quantity), found.top.direction, runs),
        is_more=decided > 0,
        of_quantity=of_quantity,
    )
    return verdict, amount


def _violated(
    plain: verdicts.Counterexample,
    claim: claims.QuantityClaim,
    direction: Direction,
    runs: Composition,
    *,
    is_more: bool,
    of_quantity: bool,
) -> verdicts.Violated:
    """Return a violation with an event that shows it, of ε or δ that `is_more` than claimed."""
    budget, example = privacy.budget_of(claim), None
    if is_more and budget is not None and budget[0].sign() >= 0:
        tight = claims.TightDelta(budget[0], claim.span)
        example = _shown_event(tight, direction, runs, budget[1])
    if example is not None and of_quantity:
        example = with_fields(example, requirement=plain.requirement, sides=plain.sides)
    return verdicts.Violated(example or plain)


def _shown_event(
    quantity: claims.TightDelta, direction: Direction, runs: Composition, delta: Number
) -> verdicts.Counterexample | None:
    """Return the event of a violation, on a uniform grid: sums on coarser ones are no scores.

    None where no grid that is worth its time has one; the violation is proved without it. For δ = 0
    no grid was needed to prove it.
    """
    budget, limits = (quantity.epsilon, delta), runs.limits
    if delta == 0:
        limits = with_fields(limits, cpu_deadline=time.process_time() + SHOWN_SECONDS)

    def is_shown(bounds: Bounds) -> bool:
        return _is_surely_violated(bounds.top.grid, budget)

    try:
        shown = refined(quantity, [direction], delta or None, is_shown, limits, is_uniform=True)
        return _event_example(shown.top, runs, *budget, limits) if is_shown(shown) else None
    except LimitReached:
        return None


def _plain_example(
    name: str,
    claim: claims.QuantityClaim,
    amount: verdicts.Amount,
    sign: int,
    names: tuple[str, ...],
) -> verdicts.Counterexample:
    """Return what a claim says and the end of the bounds that says otherwise."""
    if amount.enclosure is None:
        return privacy.false_comparison(name, claim, amount, states=names)
    end = amount.enclosure[0 if sign > 0 else 1]
    return privacy.false_comparison(
        name, claim, verdicts.Amount(end, end), ">=" if sign > 0 else "<=", names
    )


def _is_surely_violated(grid: GridLosses, budget: tuple[Budget, Number]) -> bool:
    """Return whether an event exceeds δ by more than what was cut off could matter."""
    epsilon, delta = budget
    gap, _ = grid.delta_below(epsilon)
    with ctx.workprec(BOUND_BITS):
        return bool(gap > number_ball(delta, BOUND_BITS) * (1 + arb(2) ** -MARGIN_BITS))


def _event_example(
    found: Bounded, runs: Composition, epsilon: Budget, delta: Number, limits: Limits
) -> verdicts.Counterexample:
    """Return the event with P(S) > e^ε Q(S) + δ that a grid shows, checked again."""
    step, (gap, least) = found.grid.step, found.grid.delta_below(epsilon)
    scored = [_scored(*part, step) for part in found.direction.parts]
    size = gap.lower().fmpq()
    p_ends, q_ends = certify_score_event(scored, least, epsilon, delta, size, limits)
    with ctx.workprec(BOUND_BITS):
        p, q = ([ball_of(end, BOUND_BITS) for end in ends] for ends in (p_ends, q_ends))
        factor, room = epsilon.exp_ball(BOUND_BITS), number_ball(delta, BOUND_BITS)
        right = [factor * end + room for end in q]
        p_amount, q_amount, right_amount = (amounts.bounds_amount(*ends) for ends in (p, q, right))
        over = amounts.bounds_amount(p[0] - right[1], p[1] - right[0])
        ratio = amounts.bounds_amount(p[0] / q[1], p[1] / q[0] if q[0] > 0 else arb("inf"))
    event = (
        f"the outputs of all runs whose privacy losses, each rounded to a multiple of "
        f"{decimal(step)}, add up to at least {decimal(least * step)}"
    )
    plus = () if delta == 0 else (" + ", amounts.number_amount(delta))
    times = amounts.growth_amount(epsilon)
    return verdicts.Counterexample(
        runs.names_of(found.direction),
        verdicts.Phrase.of(event),
        (p_amount, q_amount),
        verdicts.Phrase.of(p_amount, " <= ", times, " * ", q_amount, *plus),
        verdicts.Sides(p_amount, "<=", right_amount),
        ratio,
        over,
    )


def _scored(losses: LossDistribution, times: int, step: fmpq) -> ScoredRun:
    """Return one part's outputs with their scores."""
    listed = zip(scores(losses.losses, step), losses.losses, strict=True)
    outputs = [(score, loss.p, loss.q) for score, loss in listed]
    return outputs, (losses.p_only, losses.q_only), times
