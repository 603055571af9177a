"""The factor E = e^ε of a privacy inequality p <= E q + δ, and gaps p - E q between events."""

from __future__ import annotations

from dpcheck.exact import (
    Budget,
    Epsilon,
    ExpNumber,
    IrrationalExponential,
    Number,
    TooLarge,
    excess_sign,
    exp_bounds,
    log,
    subtract,
)
from dpcheck.records import dataclass

_LARGE = 2**4096


@dataclass(frozen=True, slots=True)
class Factor:
    """E = e^ε; `value` is None where E lies in no ℚ(e^r), as √2, or is too long to write down."""

    epsilon: Epsilon
    value: Number | None

    @staticmethod
    def of(epsilon: Budget) -> Factor:
        """Return e^ε for a budget.

        >>> Factor.of(Budget.ln(3)).value
        3
        """
        try:
            return Factor(epsilon, epsilon.exp())
        except (IrrationalExponential, TooLarge):
            return Factor(epsilon, None)

    @staticmethod
    def of_number(value: Number) -> Factor:
        """Return a positive number as e^ε with ε = ln value."""
        return Factor(log(value), value)

    @property
    def is_rational(self) -> bool:
        """Return whether E is rational and written down."""
        return self.value is not None and not isinstance(self.value, ExpNumber)

    def bounds(self) -> tuple[Number, Number | None]:
        """Return numbers below and above E; None where there is no short upper one.

        Above 2^4096 a lower one is enough: hardly any event exceeds that.
        """
        if excess_sign(_LARGE, 1, self.epsilon) <= 0:
            return _LARGE, None
        try:
            return exp_bounds(self.epsilon, 128)
        except TooLarge:
            return (0, 1) if excess_sign(1, 1, self.epsilon) > 0 else (1, None)


@dataclass(frozen=True, slots=True)
class Gap:
    """The affine function p - E q of the factor, for an event of a pair of neighbors.

    `pair` is a row of the pairs asked about; `is_forward` tells whether p belongs to its first
    state and q to its second.
    """

    p: Number
    q: Number
    pair: int
    is_forward: bool

    def exceeds(self, other: Gap, factor: Factor) -> bool:
        """Return whether p - E q is greater than for the other."""
        p, q = subtract(self.p, other.p), subtract(self.q, other.q)
        return excess_sign(p, q, factor.epsilon) > 0
