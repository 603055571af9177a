"""The trade-off curve: the least type II error of a test whose type I error is at most a.

A test between P (the null hypothesis) and Q rejects on a set of outputs, or on one at random with
some probability. By the lemma of Neyman and Pearson (1933) best tests reject by falling Q/P, so the
curve T(P, Q)(a) joins, by straight lines, the points

    (P(S), 1 - Q(S))   for S the outputs with Q/P above a bound,

from (0, 1 - Q{P = 0}) to (1, 0): convex, falling, piecewise linear (Dong, Roth, Su, "Gaussian
differential privacy", JRSS B 2022). For several pairs in both directions the least error at a is
the minimum of their curves; as the adversary picks the pair first, it need not be convex.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from dpcheck.exact import Number, add, compare, divide, multiply, subtract
from dpcheck.privacy.losses import LossDistribution
from dpcheck.records import dataclass


@dataclass(frozen=True)
class Errors:
    """One corner of a curve: the best test with this type I error has this type II error."""

    type_one: Number
    type_two: Number


def curve(losses: LossDistribution) -> tuple[Errors, ...]:
    """Return the corners of T(P, Q) by rising type I error.

    >>> from dpcheck.exact import number
    >>> survey = LossDistribution.of([(number(3, 4), number(1, 4)),
    ...                               (number(1, 4), number(3, 4))])
    >>> [(corner.type_one, corner.type_two) for corner in curve(survey)]
    [(0, 1), (1/4, 1/4), (1, 0)]
    """
    # Rejecting on all outputs of Q leaves those that only P shows: they cost without any gain.
    corners = [Errors(q, subtract(1, p)) for p, q in _starts(losses.reversed())]
    if corners[-1].type_one != 1:
        corners.append(Errors(1, 0))
    return tuple(corners)


def _starts(losses: LossDistribution) -> Iterable[tuple[Number, Number]]:
    """Yield the masses of rejection sets; without a free one, from the empty set."""
    return losses.corners if losses.p_only == 0 else losses.corners[1:]


def type_two_error(losses: LossDistribution, type_one: Number) -> Number:
    """Return T(P, Q)(a), the least type II error of a test whose type I error is at most a."""
    corners = curve(losses)
    for left, right in pairwise(corners):
        if compare(type_one, right.type_one) <= 0:
            share = divide(
                subtract(type_one, left.type_one), subtract(right.type_one, left.type_one)
            )
            return add(left.type_two, multiply(share, subtract(right.type_two, left.type_two)))
    return 0
