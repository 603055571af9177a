"""The least ε and δ that evidence about output sequences shows.

Evidence knows, for a factor E, the largest gap P(S) - E Q(S) over all sets S of sequences, and the
largest ratio. So

    delta(ε)    is the largest gap at E = e^ε, or 0;
    epsilon     is ln of the largest ratio (ε >= 0), infinite over zero;
    epsilon(δ)  is ln of the least E >= 1 at which the largest gap is at most δ.

The last is found by Newton's method: the largest gap f(E) is the maximum of the affine functions
P(S) - E Q(S), so it is convex, falling and piecewise linear. From an E with f(E) > δ the worst
affine function there reaches δ at an E' that f does not reach earlier; E' is the answer if
f(E') <= δ, else f has another, flatter piece there. There are finitely many.
"""

from __future__ import annotations

from typing import Protocol

from dpcheck import exact
from dpcheck.check.values.event_text import EventText
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.logic import claims
from dpcheck.records import dataclass

Least = exact.Epsilon | exact.Number | exact.Excess | None
"""A least ε, of which None is infinite, or a least δ."""


class Evidence(Protocol):
    """What is known of the output sequences of some pairs of neighbors."""

    @property
    def tells_in_the_long_run(self) -> bool:
        """Return whether some of its events are shown by no finite number of outputs."""

    def worst_ratio(self) -> EventGap | None:
        """Return an event with the largest ratio; None where all pairs have equal rows."""

    def worst_gap(self, factor: ExpFactor) -> EventGap | None:
        """Return the event with the largest gap; None where no event has a positive one."""

    def event_text(self, gap: EventGap, factor: ExpFactor | None) -> EventText:
        """Return the event of a gap in words; it came from `worst_ratio` if there is no factor."""


@dataclass(frozen=True)
class Found:
    """The value of a quantity (an infinite ε is None) and the event that shows it.

    `factor` is where the event's gap is largest; None for an event of the largest ratio.
    """

    value: Least
    gap: EventGap | None
    factor: ExpFactor | None


def tight_quantity(quantity: claims.Quantity, evidence: Evidence) -> Found:
    """Return ε, ε(δ) or δ(ε) of the evidence."""
    match quantity:
        case claims.TightEpsilon(delta=delta):
            return tight_epsilon(evidence, delta)
        case claims.TightDelta(epsilon=epsilon):
            return tight_delta(evidence, epsilon)
        case _:
            raise AssertionError("other quantities are decided elsewhere")


def tight_epsilon(evidence: Evidence, delta: exact.Number) -> Found:
    """Return the least ε >= 0 with dp(ε, δ), and an event that needs it."""
    if delta == 0:
        gap = evidence.worst_ratio()
        if gap is None:
            return Found(exact.Budget.of(0), None, None)
        return Found(None if gap.q == 0 else exact.log(exact.divide(gap.p, gap.q)), gap, None)
    factor = ExpFactor.of_number(1)
    gap = evidence.worst_gap(factor)
    shown = gap, factor
    while gap is not None and exact.excess_sign(gap.p, gap.q, factor.epsilon, delta) > 0:
        if gap.q == 0:
            return Found(None, gap, factor)
        shown = gap, factor
        factor = ExpFactor.of_number(exact.divide(exact.subtract(gap.p, delta), gap.q))
        gap = evidence.worst_gap(factor)
    return Found(factor.epsilon, *shown)


def tight_delta(evidence: Evidence, epsilon: exact.Budget) -> Found:
    """Return the least δ >= 0 with dp(ε, δ), and the event that needs it."""
    factor = ExpFactor.of(epsilon)
    gap = evidence.worst_gap(factor)
    return Found(0 if gap is None else exact.excess(gap.p, gap.q, epsilon), gap, factor)


def least_delta(evidence: Evidence, epsilon: exact.Budget) -> exact.Number | exact.Excess:
    """Return the least δ >= 0 with dp(ε, δ)."""
    gap = evidence.worst_gap(ExpFactor.of(epsilon))
    return 0 if gap is None else exact.excess(gap.p, gap.q, epsilon)
