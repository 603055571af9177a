"""Beliefs about the states of two runs up to scaling: what prefixes of outputs lead to.

After a prefix of outputs, μ and ν are the weights of the states that runs from one and from the
other of two neighbors are in. A *direction* is such a pair with both sides in lowest terms, each by
itself; a step multiplies the side of μ by a and that of ν by b, so that a/b is what the output does
to the ratio of the two probabilities. All prefixes that differ by weights only share a direction.
"""

from __future__ import annotations

from dpcheck.check.evidence.futures import (
    Futures,
    Label,
    StateWeights,
    common_divisor,
    mass,
    state_weights,
)
from dpcheck.exact import Whole, common_multiple, exact_quotient, whole_gcd

EQUAL = -1
"""The direction of proportional beliefs, and of those where one side is impossible."""

Step = tuple[Label, Whole, int, Whole, Whole]
"""A label, a weight g, and the direction it leads to, with factors g a and g b; a, b coprime."""


class Directions:
    """The directions that were found, numbered, with their steps as far as somebody asked.

    beliefs: (μ, ν) of each direction; masses: their total weights.
    """

    def __init__(self, futures: Futures) -> None:
        """Begin with no direction, on states with the given futures."""
        self.futures = futures
        self.beliefs: list[tuple[StateWeights, StateWeights]] = []
        self.masses: list[tuple[Whole, Whole]] = []
        self._numbers: dict[tuple[StateWeights, StateWeights], int] = {}
        self._steps: dict[int, tuple[Whole, list[Step]]] = {}

    def __len__(self) -> int:
        """Return how many directions were found."""
        return len(self.beliefs)

    def of_states(self, first: int, second: int) -> int:
        """Return the direction of two states before anything is output."""
        alike = self.futures.alike
        return self._direction(((alike[first], 1),), ((alike[second], 1),))[0]

    def steps(self, direction: int) -> tuple[Whole, list[Step]]:
        """Return the scale of a direction's row, and its steps: weights are over the scale."""
        found = self._steps.get(direction)
        if found is None:
            found = self._steps[direction] = self._expanded(*self.beliefs[direction])
        return found

    def _direction(self, mu: StateWeights, nu: StateWeights) -> tuple[int, Whole, Whole]:
        """Return the direction of (μ, ν) and the factors taken out of them.

        Where that is `EQUAL`, these are the weights of both sides.
        """
        if not mu or not nu:
            return EQUAL, mass(mu), mass(nu)
        a, b = (common_divisor(weight for _, weight in side) for side in (mu, nu))
        key = _over(mu, a), _over(nu, b)
        if key[0] == key[1]:
            total = mass(key[0])
            return EQUAL, a * total, b * total
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.beliefs)
            self.beliefs.append(key)
            self.masses.append((mass(key[0]), mass(key[1])))
        return known, a, b

    def _expanded(self, mu: StateWeights, nu: StateWeights) -> tuple[Whole, list[Step]]:
        """Return how a pair of beliefs goes on."""
        rows = self.futures.rows
        scale = common_multiple(rows[s][0] for s, _ in mu + nu)
        after: dict[Label, tuple[dict[int, Whole], dict[int, Whole]]] = {}
        for side, weights in enumerate((mu, nu)):
            for s, weight in weights:
                below, following = rows[s]
                factor = weight * exact_quotient(scale, below)
                for label, targets in following.items():
                    states = after.setdefault(label, ({}, {}))[side]
                    for t, numerator in targets:
                        states[t] = states.get(t, 0) + factor * numerator
        steps: list[Step] = []
        for label, (first, second) in after.items():
            target, a, b = self._direction(state_weights(first), state_weights(second))
            divisor = whole_gcd(a, b)
            a, b = exact_quotient(a, divisor), exact_quotient(b, divisor)
            steps.append((label, divisor, target, a, b))
        return scale, steps


def _over(weights: StateWeights, divisor: Whole) -> StateWeights:
    """Return weights divided by a common divisor."""
    if divisor == 1:
        return weights
    return tuple((s, exact_quotient(weight, divisor)) for s, weight in weights)
