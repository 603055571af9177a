"""Bounds of the largest value over pairs and directions, from grids that are made finer.

The bounds of one direction come from a grid of losses (`privacy.grid`). The largest lower and the
largest upper bound enclose the largest value, and what lies below the largest lower bound is not
looked at again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, reduce

import numpy as np
from flint import arb, ctx, fmpq

from dpcheck.check.quantities.seen_pairs import SeenPairs
from dpcheck.check.values.comparisons import as_number
from dpcheck.exact import Budget, Number, log
from dpcheck.exact.number import ball as number_ball
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.logic.claims import LossQuantity, TightDelta, TightEpsilon
from dpcheck.privacy.enclosed import Enclosed, Finite, ball_of, compare_measures
from dpcheck.privacy.grid import GridLosses, Part
from dpcheck.privacy.losses import LossDistribution, common_exponent
from dpcheck.privacy.renyi import Divergence
from dpcheck.records import dataclass
from dpcheck.records import replace as with_fields

WIDTH = 3e-4
"""Values are enclosed to this relative width."""

TIE = 1e-12
"""Where bounds are so near each other and a claim is open, no finer grid will tell."""

FIRST_WIDTH = 1e-2
"""The first grid is to enclose values to about this relative width: a thousand points, mostly."""

FEWEST_POINTS, MOST_POINTS = 8, 100
"""Grid points of one run at first, at least and at most."""

MAX_POINTS = 1 << 18
"""Grid points of all runs together at most."""

MOST_MULTIPLES = 1 << 10
"""So many multiples of one exponent are losses of one run at most, for that to be the step."""

BOUND_BITS = 256
"""The precision of bounds: far more than a grid resolves."""

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
    """Independent runs on one input: every pair's losses of the parts, how often each runs.

    `seen` are the pairs, as they are seen in one of the parts.
    """

    pairs: Sequence[tuple[LossDistribution, ...]]
    times: Sequence[int]
    seen: SeenPairs

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

    @property
    def limits(self) -> Limits:
        """What the claim may use."""
        return self.seen.limits

    def names_of(self, direction: Direction) -> tuple[str, str]:
        """Return the two states, P's first."""
        return self.seen.names(direction.pair, is_forward=direction.is_forward)


def total(terms: Sequence[tuple[Finite | None, int]]) -> Divergence | None:
    """Return Σ n · value of budgets, logarithms and enclosed numbers; None (infinite) if one is."""
    finite = [(value, n) for value, n in terms if value is not None]
    if len(finite) < len(terms):
        return None
    budgets = [value * n for value, n in finite if isinstance(value, Budget)]
    return sum(budgets, Budget.of(0)) if len(budgets) == len(terms) else enclosed_sum(finite)


def enclosed_sum(terms: Sequence[tuple[Finite, int]]) -> Enclosed:
    """Return Σ n · value of finite values."""

    def enclosure(bits: int) -> arb:
        with ctx.workprec(bits):
            return sum((ball_of(value, bits) * n for value, n in terms), arb(0))

    return Enclosed(enclosure)


@dataclass(frozen=True, eq=False)
class Bounded:
    """The bounds of a quantity in one direction, and the grid that they come from."""

    direction: Direction
    grid: GridLosses
    low: arb
    high: arb


@dataclass(frozen=True, eq=False)
class Bounds:
    """What the largest value of all directions lies between; `limit` stopped the refinement."""

    low: arb
    high: arb
    top: Bounded
    limit: Limit | None = None


Tight = TightEpsilon | TightDelta
OnGrid = Tight | LossQuantity
"""What grids bound; of trade-off curves, the power of a test: 1 minus its type II error."""


def on_grid(quantity: OnGrid, direction: Direction, grid: GridLosses) -> Bounded:
    """Return the bounds of ε(δ), δ(ε), P(loss > ε), or of the power of tests, not below 0."""
    low: arb | None
    high: arb | None
    match quantity:
        case TightEpsilon(delta=delta):
            low, high = grid.epsilon_below(delta), grid.epsilon_above(delta)
        case TightDelta(epsilon=epsilon):
            low, high = grid.delta_below(epsilon)[0].max(arb(0)), grid.delta_above(epsilon)
            high = high.upper().min(arb(1))
        case LossQuantity(word="loss_tail", arguments=(Budget() as epsilon,)):
            low, high = grid.loss_tail(epsilon)
        case LossQuantity(arguments=(type_one,)):
            level = as_number(type_one)
            low, high = grid.power_below(level), grid.power_above(level)
        case _:
            raise AssertionError("grids bound no other quantity")
    infinite = arb("inf")
    low, high = infinite if low is None else low, infinite if high is None else high
    if isinstance(quantity, TightEpsilon) and direction.epsilon is not None:
        high = high.min(ball_of(direction.epsilon, BOUND_BITS))  # the least ε for δ = 0
    return Bounded(direction, grid, low, high)


def ends_of(quantity: OnGrid, found: Bounds) -> tuple[arb, arb]:
    """Return what a quantity lies between: a type II error is 1 minus a power."""
    if isinstance(quantity, LossQuantity) and quantity.word == "tradeoff":
        with ctx.workprec(BOUND_BITS):
            return (1 - found.high).max(arb(0)), 1 - found.low
    return found.low, found.high


def refined(
    quantity: OnGrid,
    directions: Sequence[Direction],
    delta: Number | None,
    is_settled: Callable[[Bounds], bool],
    limits: Limits,
    *,
    is_value: bool = False,
    is_uniform: bool = False,
) -> Bounds:
    """Return bounds on a grid that is made finer until they are settled, or a limit is reached.

    `delta` is the δ that matters, if that is known: it says which tails are cut off. With
    `is_value` they are to be narrow; a claim may be decided long before. Grids become coarser
    while runs add up, unless the grid is to be uniform, as scores in words are.
    """
    n_runs = sum(times for _, times in directions[0].parts)
    step, is_exact = _first_step(directions, n_runs, is_uniform=is_uniform)
    coarser = not (is_exact or is_uniform)
    tail_bits = tail_bits_for(1 if delta is None else delta, n_runs)
    bounds: Bounds | None = None

    def bounded(each: Direction) -> Bounded:
        grid = GridLosses.of(each.parts, step, tail_bits, limits, becomes_coarser=coarser)
        return on_grid(quantity, each, grid)

    while True:
        try:
            found = [bounded(each) for each in directions]
        except LimitReached as reached:
            if bounds is None:
                raise
            return with_fields(bounds, limit=reached.limit)
        bounds = largest_bounds(found)
        top = bounds.top
        if is_settled(bounds) or not bounds.high - bounds.low > bounds.high * TIE:
            return bounds
        directions = [each.direction for each in found if not each.high < top.low]
        is_cut = delta is None and bool(top.grid.lost * 4 > bounds.high * WIDTH)
        if is_exact or is_cut:
            # What was cut off is too much of the upper bound: no finer step helps.
            finer = step
            enough = tail_bits_for(top.low, n_runs) if is_cut and top.low > 0 else 0
            tail_bits = enough if enough > tail_bits else 2 * tail_bits
        else:
            finer = _finer(step, bounds, is_value=is_value)
        n_points = max(each.grid.most_points for each in found)
        if n_points * float(step / finer) > MAX_POINTS or tail_bits > MAX_TAIL_BITS:
            return bounds
        step = finer


def largest_bounds(found: Sequence[Bounded]) -> Bounds:
    """Return what the largest value lies between, and which has the largest lower bound."""
    top = reduce(lambda best, each: each if each.low > best.low else best, found)
    return Bounds(top.low, reduce(arb.max, [each.high for each in found]), top)


def _first_step(
    directions: Sequence[Direction], n_runs: int, *, is_uniform: bool
) -> tuple[fmpq, bool]:
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
    # Bounds of ε are about k h² / 6 apart, and k h² / 8 more each time that the grid becomes
    # coarser; ε is some standard deviations above the mean loss.
    n_coarser = 0 if is_uniform else (n_runs.bit_length() - 1) // 2
    likely = max(map(_likely_loss, directions))
    wanted = math.sqrt(FIRST_WIDTH * likely / (n_runs * (1 / 6 + n_coarser / 8)))
    return two_digits(min(spread / FEWEST_POINTS, max(wanted, spread / MOST_POINTS))), False


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


def _finer(step: fmpq, bounds: Bounds, *, is_value: bool) -> fmpq:
    """Return the next step: widths fall with its square, where they are small.

    A claim may be decided long before its value is narrow, so there steps are smaller.
    """
    is_near = bounds.low > 0 and bounds.high.is_finite()
    width = float(((bounds.high - bounds.low) / bounds.high).mid()) if is_near else 1.0
    width = max(width, WIDTH**2)
    least = 1 / 64 if is_value and is_near else 1 / 10
    return two_digits(float(step) * min(1 / 2, max(least, math.sqrt(0.7 * WIDTH / width))))


def places_up_to(last: arb, n: int) -> list[fmpq]:
    """Return 0 and n places after it, evenly spaced, up to about the last."""
    spaced = two_digits(float(last.mid()) / n)
    return [spaced * i for i in range(n + 1)]


def two_digits(value: float) -> fmpq:
    """Return a positive float rounded to two digits, which is what people read."""
    exponent = math.floor(math.log10(value)) - 1
    return fmpq(round(value / 10.0**exponent)) * fmpq(10) ** exponent


def tail_bits_for(delta: arb | Number, n_runs: int) -> int:
    """Return which tails are too light to matter beside δ, though every product cuts some off."""
    with ctx.workprec(64):
        ball = delta if isinstance(delta, arb) else number_ball(delta, 64)
        leading = -ball.log_base(2).lower() if ball > 0 else arb(0)
        bits = max(0, int(leading.ceil().fmpq().p)) + n_runs.bit_length()
        return SPARE_BITS + min(MAX_TAIL_BITS, bits)


def concerned(quantity: OnGrid, runs: Composition) -> list[Direction]:
    """Return the directions whose value may be positive: δ(ε) = 0 from the largest loss on."""
    match quantity:
        case TightDelta(epsilon=epsilon) | LossQuantity(arguments=(Budget() as epsilon,)):
            largest = [(compare_measures(each.epsilon, epsilon), each) for each in runs.directions]
            return [each for sign, each in largest if sign != -1]
        case _:
            return runs.directions


def narrow(quantity: OnGrid, directions: Sequence[Direction], limits: Limits) -> Bounds:
    """Return bounds of a quantity to the relative width of values, or what a limit allows."""

    def is_narrow(found: Bounds) -> bool:
        low, high = ends_of(quantity, found)
        return not low.is_finite() or bool(high - low <= high * WIDTH)

    delta = quantity.delta if isinstance(quantity, TightEpsilon) else None
    return refined(quantity, directions, delta, is_narrow, limits, is_value=True)
