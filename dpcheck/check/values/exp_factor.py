"""The factor E = e^ε of a privacy inequality p <= E q + δ, and gaps p - E q between events."""

from __future__ import annotations

from dpcheck import exact
from dpcheck.records import dataclass

_LARGE = 2**4096
"""A larger e^ε has no upper bound: hardly any event exceeds this one."""


@dataclass(frozen=True)
class ExpFactor:
    """E = e^ε; `value` is None where E lies in no ℚ(e^r), as √2, or is too long to write down."""

    epsilon: exact.Epsilon
    value: exact.Number | None

    @staticmethod
    def of(epsilon: exact.Budget) -> ExpFactor:
        """Return e^ε for a budget.

        >>> ExpFactor.of(exact.Budget.ln(3)).value
        3
        """
        try:
            return ExpFactor(epsilon, epsilon.exp())
        except (exact.IrrationalExponential, exact.TooLarge):
            return ExpFactor(epsilon, None)

    @staticmethod
    def of_number(value: exact.Number) -> ExpFactor:
        """Return a positive number as e^ε with ε = ln value."""
        return ExpFactor(exact.log(value), value)

    @property
    def is_rational(self) -> bool:
        """Return whether E is rational and written down."""
        return self.value is not None and not isinstance(self.value, exact.ExpNumber)

    def bounds(self) -> tuple[exact.Number, exact.Number | None]:
        """Return numbers below and above E; None where there is no short upper one.

        Above 2^4096 a lower one is enough: hardly any event exceeds that.
        """
        if exact.excess_sign(_LARGE, 1, self.epsilon) <= 0:
            return _LARGE, None
        try:
            return exact.exp_bounds(self.epsilon, 128)
        except exact.TooLarge:
            return (0, 1) if exact.excess_sign(1, 1, self.epsilon) > 0 else (1, None)


@dataclass(frozen=True)
class EventGap:
    """The affine function p - E q of the factor, for an event of a pair of neighbors.

    `pair` is a row of the pairs asked about; `is_forward` tells whether p belongs to its first
    state and q to its second.
    """

    p: exact.Number
    q: exact.Number
    pair: int
    is_forward: bool

    def exceeds(self, other: EventGap, factor: ExpFactor) -> bool:
        """Return whether p - E q is greater than for the other."""
        p, q = exact.subtract(self.p, other.p), exact.subtract(self.q, other.q)
        return exact.excess_sign(p, q, factor.epsilon) > 0

    def is_before(self, other: EventGap) -> bool:
        """Return whether of equals this one is taken: the first pair, and forward before back."""
        return (self.pair, not self.is_forward) < (other.pair, not other.is_forward)
