"""Probabilities at all numbers beyond a window: sums of exponentials, and their signs.

With the differences D_k of `exact.exponentials`: where f = D_N is positive and no D_k is negative,
all values from there on are positive. The same holds of p(n) - e^ε q(n) - δ, a sum with ρ_1 = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dpcheck import exact
from dpcheck.exact.exponentials import differences, next_differences
from dpcheck.limits import too_large
from dpcheck.records import dataclass

MAX_STEPS = 200
"""So many numbers beyond the window are looked at one by one, until no sign can change."""


ZERO: Final = exact.Budget(0, ())


@dataclass(frozen=True, eq=False)
class ExponentialSum:
    """A function of n = 0, 1, 2, ... by its first values, one a ratio; the first ratio is 1."""

    values: tuple[exact.Number, ...]
    ratios: tuple[exact.Number, ...]

    def excess_signs(
        self, other: ExponentialSum, epsilon: exact.Epsilon, delta: exact.Number
    ) -> list[int]:
        """Return the signs of p(n) - e^ε q(n) - δ for n from the number of ratios on.

        The last is that of all n from there on. Both sums have the same ratios.
        """
        constant = (delta,) * len(self.ratios)
        sides = [differences(v, self.ratios) for v in (self.values, other.values, constant)]
        for _ in self.ratios:
            sides = [next_differences(each, self.ratios) for each in sides]
        found: list[int] = []
        for _ in range(MAX_STEPS):
            signs = [exact.excess_sign(p, q, epsilon, d) for p, q, d in zip(*sides, strict=True)]
            found.append(signs[-1])
            if set(signs) <= {0, signs[-1]}:
                return found
            sides = [next_differences(each, self.ratios) for each in sides]
        raise too_large(f"{MAX_STEPS} numbers beyond the window were compared", "another budget")

    def signs_above(self, bound: exact.Number) -> list[int]:
        """Return the signs of p(n) - bound, as `excess_signs` does."""
        nothing = ExponentialSum((0,) * len(self.ratios), self.ratios)
        return self.excess_signs(nothing, ZERO, bound)


def at_each(*signs: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the signs of functions at each number; the last ones go on.

    >>> list(at_each([1, 0], [0, 1, -1]))
    [(1, 0), (0, 1), (0, -1)]
    """
    for n in range(max(map(len, signs))):
        yield tuple(each[min(n, len(each) - 1)] for each in signs)
