"""Probabilities for all lengths of gaps beyond a window: sums of exponentials, and their signs.

f(n_1, ..., n_m) = Σ a Π_i ρ_i^n_i is a sum of exponentials in each n_i. With the differences of
`exact.exponentials` along one after the other, f(n + s) is Σ D_k(n) Π_i h_ki(s_i), where no h is
negative, and all are positive for the last k, where D_k = f. So where f is positive and no D_k is
negative, f is positive from n on, in all directions; it is 0 where all are. The same holds of
p - e^ε q - δ, a sum with a ratio of 1. What is left are slices with one n_i each, less by one
dimension, and all that lies farther.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from dpcheck import exact
from dpcheck.exact.exponentials import differences, next_differences
from dpcheck.limits import too_large
from dpcheck.records import dataclass

MAX_STEPS = 500
"""At so many places beyond the window signs are looked at, until none can change."""

ZERO: Final = exact.Budget(0, ())

Place = tuple[int, ...]
Table = dict[Place, exact.Number]
Ratios = tuple[exact.Number, ...]


@dataclass(frozen=True, eq=False)
class ExponentialSum:
    """A function of places n by its first values along each axis, one a ratio: from 1 downwards."""

    values: Table
    ratios: tuple[Ratios, ...]

    def excess_signs(
        self, other: ExponentialSum, epsilon: exact.Epsilon, delta: exact.Number
    ) -> set[int]:
        """Return the signs of p(n) - e^ε q(n) - δ where each n_i is at least its number of ratios.

        There may be 0 among them where that is one of an end. Both sums have the same ratios.
        """
        sides = [self.values, other.values, dict.fromkeys(self.values, delta)]
        for axis, ratios in enumerate(self.ratios):
            sides = [_along(side, axis, ratios, differences) for side in sides]
            for _ in ratios:
                sides = [_along(side, axis, ratios, next_differences) for side in sides]

        def sign(p: exact.Number, q: exact.Number, d: exact.Number) -> int:
            return exact.excess_sign(p, q, epsilon, d)

        return _signs(sides, self.ratios, sign, iter(range(MAX_STEPS)))

    def signs_above(self, bound: exact.Number) -> set[int]:
        """Return the signs of p(n) - bound, as `excess_signs` does."""
        nothing = ExponentialSum(dict.fromkeys(self.values, 0), self.ratios)
        return self.excess_signs(nothing, ZERO, bound)


def _signs(
    sides: Sequence[Table],
    ratios: tuple[Ratios, ...],
    sign: Callable[[exact.Number, exact.Number, exact.Number], int],
    steps: Iterator[int],
) -> set[int]:
    """Return the signs from a place on, by the differences there."""
    found: set[int] = set()
    for _ in steps:
        signs = {place: sign(*(side[place] for side in sides)) for place in sides[0]}
        here, each = signs[max(signs)], set(signs.values())
        if len(each - {0}) <= 1:
            return found | ({here} if here else each)
        for axis, own in enumerate(ratios):
            last = len(own) - 1
            slices = [
                {p[:axis] + p[axis + 1 :]: n for p, n in side.items() if p[axis] == last}
                for side in sides
            ]
            found |= _signs(slices, ratios[:axis] + ratios[axis + 1 :], sign, steps)
            sides = [_along(side, axis, own, next_differences) for side in sides]
    raise too_large(f"{MAX_STEPS} places beyond the window were compared", "another budget")


def _along(
    table: Table,
    axis: int,
    ratios: Ratios,
    change: Callable[[Sequence[exact.Number], Ratios], Sequence[exact.Number]],
) -> Table:
    """Return a table where each line along an axis is replaced."""
    lines: dict[Place, list[exact.Number]] = {}
    for place in sorted(table):
        lines.setdefault(place[:axis] + place[axis + 1 :], []).append(table[place])
    return {
        (*rest[:axis], k, *rest[axis:]): number
        for rest, line in lines.items()
        for k, number in enumerate(change(line, ratios))
    }
