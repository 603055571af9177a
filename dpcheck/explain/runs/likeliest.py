"""The likeliest way through a graph whose steps have probabilities: Dijkstra's algorithm.

Probabilities only fall along a way. Floats order ways that are further apart than their rounding,
and exact products all others, so that of nearly equal ways the likelier one is found.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count
from math import inf, log2
from typing import Generic, TypeVar

from dpcheck.exact import Number, compare, float_bounds, multiply
from dpcheck.limits import Limits

Node = TypeVar("Node")
Step = TypeVar("Step")

_UNSURE = 1e-9
"""Costs that differ by less of themselves may be equal: each is a sum of rounded logarithms."""


def ways(
    start: Node,
    following: Callable[[Node], Iterable[tuple[Step, Number]]],
    after: Callable[[Node, Step], Node | None],
    key: Callable[[Node], Hashable],
    is_end: Callable[[Node], bool],
    limits: Limits,
) -> Iterator[tuple[Node, list[Step], Number]]:
    """Yield each end, the steps of the likeliest way there, and its probability, likeliest first.

    `following` are steps with probabilities, and `after` is where they lead, None for nowhere: it
    is asked of few of them. Nodes with equal keys are equal. Of ways that are as likely the one
    found first is taken. Raises `LimitReached`.
    """
    order = count()
    waiting: list[_Way[Node, Step]] = [_Way(0.0, next(order), start)]
    known: set[Hashable] = set()
    costs: dict[int, tuple[Number, float]] = {}
    while waiting:
        limits.check_time(f"{len(known)} states of runs followed")
        limits.check_states(next(order), "states of runs")
        way = heappop(waiting)
        node = way.node(after)
        if node is None or key(node) in known:
            continue
        known.add(key(node))
        if is_end(node):
            yield node, way.steps(), way.probability()
            continue
        for step, probability in following(node):
            if id(probability) not in costs:
                costs[id(probability)] = probability, _bits(probability)
            cost = way.cost + costs[id(probability)][1]
            heappush(waiting, _Way(cost, next(order), None, (step, probability), way))


def _bits(probability: Number) -> float:
    """Return -log2 of a probability, rounded: the cost of a step."""
    bounds = float_bounds(probability)
    return inf if bounds is None or bounds[1] <= 0 else -log2(bounds[1])


class _Way(Generic[Node, Step]):
    """A way to a node, by its last step and the way before that; likelier ways come first."""

    __slots__ = ("before", "cost", "end", "known", "last", "order")

    def __init__(
        self,
        cost: float,
        order: int,
        end: Node | None,
        last: tuple[Step, Number] | None = None,
        before: _Way[Node, Step] | None = None,
    ) -> None:
        self.cost, self.order, self.end, self.last, self.before = cost, order, end, last, before
        self.known: Number | None = 1 if last is None else None

    def node(self, after: Callable[[Node, Step], Node | None]) -> Node | None:
        """Return where it ends, None for nowhere; the way before it does somewhere."""
        if self.end is None and self.before is not None and self.last is not None:
            assert self.before.end is not None, "a way goes on from a node"
            self.end = after(self.before.end, self.last[0])
        return self.end

    def steps(self) -> list[Step]:
        """Return all steps, the first one first."""
        found: list[Step] = []
        way: _Way[Node, Step] | None = self
        while way is not None and way.last is not None:
            found.append(way.last[0])
            way = way.before
        return found[::-1]

    def probability(self) -> Number:
        """Return the product of the probabilities of all steps."""
        unknown: list[_Way[Node, Step]] = []
        way = self
        while way.known is None and way.before is not None:
            unknown.append(way)
            way = way.before
        product = way.known
        assert product is not None, "the empty way has the probability 1"
        for way in reversed(unknown):
            assert way.last is not None, "only the empty way has no last step"
            product = way.known = multiply(product, way.last[1])
        return product

    def __lt__(self, other: _Way[Node, Step]) -> bool:
        if abs(self.cost - other.cost) > _UNSURE * (1 + self.cost):
            return self.cost < other.cost
        sign = compare(self.probability(), other.probability())
        return sign > 0 or (sign == 0 and self.order < other.order)
