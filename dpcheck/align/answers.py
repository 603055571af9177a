"""How noise may be moved so that a path is kept: all answers that are worth looking at.

A need about one number whose shift is open only narrows the shifts that are left for it. A need
about several fixes all but one of them: the one that most other needs are about first, then the
oldest. What is paid at once is the least that the shifts left cost, also where the number is read
again, so that every beginning of a run is paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from dpcheck.align.moves import Need
from dpcheck.certify.moved import Draw

Draws = tuple[Draw, ...]


def answers(
    draws: Draws, needs: Sequence[Need], kept: AbstractSet[int], far: int, rates: Sequence[float]
) -> list[Draws]:
    """Return what may be left of all draws so that a path has what it needs.

    Of answers that leave the same of the draws that are `kept` there is the cheapest. far: the
    greatest difference of inputs; rates[n_ratios]: the price of a shift by 1.
    """
    found = [draws]
    for i in range(len(needs)):
        after = [more for one in found for more in _after(one, needs[i:], far)]
        read_later = {draw for number, _ in needs[i + 1 :] for draw, _ in number.draws}
        found = _cheapest(after, kept | read_later, rates)
    return found


def _after(draws: Draws, needs: Sequence[Need], far: int) -> list[Draws]:
    """Return what may be left where the first of the needs is fulfilled."""
    number, sign = needs[0]
    left = [(draw, n) for draw, n in number.draws if not draws[draw].is_fixed]
    by = number.by + sum(n * draws[draw].low for draw, n in number.draws if draws[draw].is_fixed)
    if not left:
        return [draws] if (by <= 0 or sign > 0) and (by >= 0 or sign < 0) else []
    if len(left) == 1:
        ((draw, n),) = left
        narrowed = _narrowed(draws[draw], by, n, sign)
        return [_with(draws, draw, narrowed)] if narrowed.low <= narrowed.high else []
    moved_by = [draw for each, _ in needs for draw in {draw for draw, _ in each.draws}]
    first = max((draw for draw, _ in left), key=lambda draw: (moved_by.count(draw), -draw))
    return [
        more
        for shift in draws[first].choices(far)
        for more in _after(_with(draws, first, draws[first].at(shift)), needs, far)
    ]


def _with(draws: Draws, place: int, draw: Draw) -> Draws:
    return (*draws[:place], draw, *draws[place + 1 :])


def _narrowed(draw: Draw, by: int, times: int, sign: int) -> Draw:
    """Return a draw whose shift s fulfils by + times s >= 0 (sign 1), <= 0 (-1) or = 0 (0)."""
    low, high = draw.low, draw.high
    if times < 0:
        by, times, sign = -by, -times, -sign
    if sign >= 0:
        low = max(low, -(by // times))
    if sign <= 0:
        high = min(high, -by // times)
    return draw._replace(low=low, high=high)


def _cheapest(
    found: Sequence[Draws], kept: AbstractSet[int], rates: Sequence[float]
) -> list[Draws]:
    best: dict[object, tuple[float, Draws]] = {}
    for draws in found:
        price = sum(rates[draw.ratio] * abs(draw.moved) for draw in draws)
        key = tuple((draw.low, draw.high) for i, draw in enumerate(draws) if i in kept)
        if key not in best or price < best[key][0]:
            best[key] = price, draws
    return [draws for _, draws in best.values()]
