"""Probabilities at all numbers beyond a window: sums of exponentials, and their signs.

Where f(n) = Σ a_k ρ_k^n with 1 = ρ_1 > ρ_2 > ... > 0, let S_k(m) = Σ_(i <= k) a_i ρ_i^m. Then

    f(m + n) = Σ_k S_k(m) (ρ_k^n - ρ_(k+1)^n),      with ρ^n = 0 after the last

(summation by parts), and all factors are positive for n > 0. So if no S_k(m) is positive, no value
from m on is; if none is negative and one is positive, all values after m are positive. For large m
one of the two is so: the first a_k that is not 0 is the largest part of every sum. The same holds
of p(n) - e^ε q(n) - δ, where δ belongs to ρ_1 = 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final

from dpcheck.exact import (
    Budget,
    Epsilon,
    Number,
    add,
    divide,
    excess_sign,
    multiply,
    power,
    subtract,
)
from dpcheck.limits import too_large
from dpcheck.records import dataclass

MAX_STEPS = 200
"""So many numbers beyond the window are looked at one by one, until partial sums have one sign."""


ZERO: Final = Budget(0, ())


@dataclass(frozen=True, eq=False)
class ExponentialSum:
    """The function Σ coefficients_k ratios_k^n for n = 0, 1, 2, ...; the first ratio is 1."""

    coefficients: tuple[Number, ...]
    ratios: tuple[Number, ...]

    def partial_sums(self, n: int) -> list[Number]:
        """Return the sums of the first terms, of more and more, [n_ratios]; the last is f(n)."""
        terms = zip(self.coefficients, self.ratios, strict=True)
        return list(accumulate((multiply(a, power(r, n)) for a, r in terms), add))

    def excess_signs(self, other: ExponentialSum, epsilon: Epsilon, delta: Number) -> list[int]:
        """Return the signs of p(n) - e^ε q(n) - δ for n from the number of ratios on.

        The last is that of all n from there on. Both sums have the same ratios.
        """
        found: list[int] = []
        for n in range(len(self.ratios), len(self.ratios) + MAX_STEPS):
            sides = zip(self.partial_sums(n), other.partial_sums(n), strict=True)
            signs = [excess_sign(p, q, epsilon, delta) for p, q in sides]
            found.append(signs[-1])
            if not {-1, 1} <= set(signs):
                return [*found, max(signs, key=abs)]
        raise too_large(f"{MAX_STEPS} numbers beyond the window were compared", "another budget")

    def signs_above(self, bound: Number) -> list[int]:
        """Return the signs of p(n) - bound, as `excess_signs` does."""
        nothing = ExponentialSum((0,) * len(self.ratios), self.ratios)
        return self.excess_signs(nothing, ZERO, bound)


def at_each(left: list[int], right: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the signs of two functions at each number; the last ones go on.

    >>> list(at_each([1, 0], [0, 1, -1]))
    [(1, 0), (0, 1), (0, -1)]
    """
    for n in range(max(len(left), len(right))):
        yield left[min(n, len(left) - 1)], right[min(n, len(right) - 1)]


def exponential_sum(values: Sequence[Number], ratios: tuple[Number, ...]) -> ExponentialSum:
    """Return the sum with these values at n = 0, 1, ...: as many as there are ratios.

    f(n + 1) - ρ f(n) is the sum without the ratio ρ; without all but one it has one term.

    >>> from flint import fmpq
    >>> exponential_sum([2, 1], (1, fmpq(1, 2))).coefficients
    (0, 2)
    """
    coefficients = []
    for ratio in ratios:
        left = list(values)
        scale: Number = 1
        for other in ratios:
            if other != ratio:
                left = [subtract(b, multiply(other, a)) for a, b in pairwise(left)]
                scale = multiply(scale, subtract(ratio, other))
        coefficients.append(divide(left[0], scale))
    return ExponentialSum(tuple(coefficients), ratios)
