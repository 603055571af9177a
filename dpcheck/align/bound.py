"""The cost of the dearest run, where noise is moved as cheaply as can be.

V(state) is the least solution of V = max over moves, min over their options, of cost + V(target):
no state costs anything at first, and costs grow until nothing changes. In a strongly connected
part a finite V is at most what leaves it costs, and the dearest step once for every state: beyond,
some cycle that costs something cannot be avoided, and V is infinite. Floats choose; `certify`
checks what was chosen exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import cast

from dpcheck.align.arena import Arena, Option
from dpcheck.align.ways import Cost, Step, plus
from dpcheck.chain.graph import graph_from, strong_components
from dpcheck.limits import Limits
from dpcheck.records import dataclass

TOLERANCE = 1e-9
"""Costs nearer than that are taken for one: rates are far larger, and the check is exact."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """The shifts chosen, and what they cost at most from each state.

    answers[state][move] is the option chosen, where the state's cost is finite (None if not).
    dearest[state] is the cheapest option of the move that made its cost grow, None for a move
    without any: where costs have no end, they lead there.
    """

    arena: Arena
    costs: list[Cost | None]
    answers: list[list[Option]]
    dearest: dict[int, Option | None]

    @property
    def cost(self) -> Cost | None:
        """The cost of the dearest run; None without a bound."""
        starts = [self.costs[state] for state in self.arena.starts]
        known = [cost for cost in starts if cost is not None]
        if len(known) < len(starts):
            return None
        return max(known, key=lambda cost: price(cost, self.arena.ratios.rates), default=())

    def reached(self) -> Iterator[int]:
        """Yield the states that runs get to."""
        seen, waiting = set(self.arena.starts), list(self.arena.starts)
        while waiting:
            state = waiting.pop()
            yield state
            after = {option.target for option in self.answers[state]} - seen
            seen |= after
            waiting += sorted(after)

    def steps(self) -> Iterator[Step]:
        """Yield the shifts chosen in all states that runs get to."""
        for state in self.reached():
            for option in self.answers[state]:
                yield from option.steps


def price(cost: Cost, rates: list[float]) -> float:
    """Return a cost as a float."""
    return sum(rates[ratio] * n for ratio, n in cost)


def aligned(arena: Arena, limits: Limits) -> Alignment:
    """Return the cheapest shifts; raises `LimitReached` when the time is over."""
    values = [0.0] * len(arena.moves)
    costs: list[Cost] = [()] * len(arena.moves)
    rates = arena.ratios.rates
    dearest: dict[int, Option | None] = {}
    greatest = max(
        (price(o.cost, rates) for moves in arena.moves for move in moves for o in move), default=0.0
    )
    for part in _parts(arena):
        members = set(part)
        leaving = (
            values[o.target]
            for state in part
            for move in arena.moves[state]
            for o in move
            if o.target not in members and values[o.target] < inf
        )
        most = max(leaving, default=0.0) + len(part) * greatest + 1.0
        changed = True
        while changed:
            limits.check_time("an alignment is being looked for")
            changed = False
            for state in part:
                value, cost, worst = _value(arena, state, values, costs)
                is_ours = worst is not None and worst.target in members
                if value > values[state] + TOLERANCE and not (value == inf and is_ours):
                    dearest[state] = worst
                if value > most:
                    value = inf
                if value > values[state] + TOLERANCE:
                    values[state], costs[state], changed = value, cost, True
    answers = [
        [min(move, key=lambda o: _price(o, arena, values)) for move in moves] if value < inf else []
        for moves, value in zip(arena.moves, values, strict=True)
    ]
    known = [cost if value < inf else None for cost, value in zip(costs, values, strict=True)]
    return Alignment(arena, known, answers, dearest)


def _value(
    arena: Arena, state: int, values: list[float], costs: list[Cost]
) -> tuple[float, Cost, Option | None]:
    """Return what a state costs, given what others do, and the option that is paid, if any."""
    worst, cost = 0.0, cast("Cost", ())
    paid: Option | None = None
    for move in arena.moves[state]:
        best = min(move, key=lambda o: _price(o, arena, values), default=None)
        value = inf if best is None else _price(best, arena, values)
        if value > worst:
            worst, paid = value, best
            cost = () if best is None or value == inf else plus(best.cost, costs[best.target])
    return worst, cost, paid


def _price(option: Option, arena: Arena, values: list[float]) -> float:
    return price(option.cost, arena.ratios.rates) + values[option.target]


def _parts(arena: Arena) -> list[list[int]]:
    """Return the strongly connected parts of the states, each after those that it leads to."""
    component, count = strong_components(
        graph_from([[o.target for move in moves for o in move] for moves in arena.moves])
    )
    parts: list[list[int]] = [[] for _ in range(count)]
    for state, number in enumerate(component.tolist()):
        parts[number].append(state)
    return parts
