"""Outputs that are repeated any number of times: what they tell is a sum of geometric series.

The law. A cycle leads a direction back to itself and multiplies the weights of both sides by x, y
< 1; other ways on lead to leaves of weights p, q. So after n = 0, 1, ... turns these are x^n p and
y^n q, and turns without end have probability 0. If x > y, there is for every E a least n from which
on x^n p > E y^n q: of each leaf the worst event for E takes the turns from n on, of the weights
Σ x^k p = p x^n / (1 - x) and q y^n / (1 - y). If x < y, it takes those before some n. Where powers
are long, p rounded down and q up bound δ from below, and the other way round from above.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from flint import ctx, fmpq

from dpcheck import exact
from dpcheck.check.evidence.directions import EQUAL
from dpcheck.check.evidence.growth import DirectionGraph, GrowingRatio, Sides
from dpcheck.check.evidence.merged_evidence import best_gap, exceeding_more
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.exact import add, divide, excess_sign, multiply, power, subtract
from dpcheck.privacy.enclosed import ball_of

Series = tuple[Sides, Sides]
"""The weights of a leaf, and what every turn multiplies them by: 0 where there is one only."""
_ONCE: Sides = 0, 0
_MAX_WAYS = 10_000
"""Ways to leaves: they are not merged on the way."""
_MAX_BITS = 1 << 18
"""Of a power that is written out; longer ones are rounded."""
_BITS = 512
"""Of powers that are rounded."""


def series_from(graph: DirectionGraph, root: int) -> list[Series] | None:
    """Return what follows a direction; None for a cycle after another, or two that meet."""
    found: dict[tuple[Sides, exact.Number], Sides] = {}
    waiting: list[tuple[int, Sides, Sides]] = [(root, (1, 1), _ONCE)]
    for node, sides, turn in waiting:
        if node == EQUAL:
            ratio = divide(sides[0], add(*sides))
            found[turn, ratio] = _sum(found.get((turn, ratio), (0, 0)), sides)
            continue
        one = _one_turn(graph, node)
        if one is None or _ONCE not in (turn, one[1]) or len(waiting) > _MAX_WAYS:
            return None
        after = one[1] if turn == _ONCE else turn
        waiting += [(child, _product(sides, factors), after) for child, factors in one[0]]
    return [(sides, turn) for (turn, _), sides in found.items()]


def _one_turn(graph: DirectionGraph, node: int) -> tuple[list[tuple[int, Sides]], Sides] | None:
    """Return the ways out of the cycle through a direction, and the factors of a turn.

    None where there are several cycles, or one that is never left. Without any, all ways lead out.
    """
    sides: Sides = 1, 1
    exits, at = list[tuple[int, Sides]](), node
    while True:
        steps = [(child, _product(sides, way[1])) for way, child in graph.steps(at)]
        inside = [step for step in steps if graph.are_on_a_cycle(at, step[0])]
        exits += [step for step in steps if step not in inside]
        if len({(child, divide(*factors)) for child, factors in inside}) != 1:
            return None if inside else (exits, _ONCE)
        at, sides = inside[0][0], reduce(_sum, (factors for _, factors in inside))
        if at == node:
            return None if 1 in sides else (exits, sides)


def worst_gap(
    series: Sequence[Sequence[Series]], epsilon: exact.Budget, rounding: int
) -> EventGap | None:
    """Return p - E q of what pairs tell, [n_pairs], the largest over events, pairs, directions.

    Where powers are too long it is less (rounding -1) or more (1); raises `TooLarge` (0).
    """
    back = [[(start[::-1], turn[::-1]) for start, turn in row] for row in series]
    masses = {
        side: [reduce(_sum, (_worst(*each, epsilon, rounding) for each in row)) for row in rows]
        for side, rows in ((True, series), (False, back))
    }
    return best_gap(masses, exceeding_more(ExpFactor.of(epsilon)))


def _worst(start: Sides, turn: Sides, epsilon: exact.Budget, rounding: int) -> Sides:
    """Return p and q of the worst event of a series."""
    x, y = turn
    total = divide(start[0], subtract(1, x)), divide(start[1], subtract(1, y))
    change = exact.compare(x, y)
    if change == 0 or 0 in start:
        return total if excess_sign(*start, epsilon) > 0 else (0, 0)
    sides = (start, turn) if change > 0 else (start[::-1], turn[::-1])
    n = GrowingRatio(0, True, (), (), (), *sides).least_turns(epsilon if change > 0 else -epsilon)
    up = change * rounding
    later = _product(total, (_power(x, n, up), _power(y, n, -up)))
    return later if change > 0 else (subtract(total[0], later[0]), subtract(total[1], later[1]))


def _power(base: exact.Number, n: int, rounding: int) -> exact.Number:
    """Return base^n < 1; where that is long, a number below (-1) or above (1), or `TooLarge`."""
    try:
        return power(base, n, _MAX_BITS)
    except exact.TooLarge:
        if not rounding:
            raise
    with ctx.workprec(_BITS):
        found, least = ball_of(base, _BITS) ** n, fmpq(1, 2**_BITS)
        if found < least:
            return least if rounding > 0 else 0
        return (found.upper() if rounding > 0 else found.lower()).fmpq()


def _product(left: Sides, right: Sides) -> Sides:
    """Return the products of both sides."""
    return multiply(left[0], right[0]), multiply(left[1], right[1])


def _sum(left: Sides, right: Sides) -> Sides:
    """Return the sums of both sides."""
    return add(left[0], right[0]), add(left[1], right[1])
