"""Events of compositions checked again: "the scores of the outputs of all runs add up to t".

The law of the sum is a power of polynomials whose coefficients are integers, multiples of 10^-n.
Every mass is rounded down: the masses of the event's scores bound its probability from below, those
of all other scores its complement's. A polynomial is packed into the digits of one number, which
`decimal` multiplies fast.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence

from dpcheck import exact
from dpcheck.limits import Limits, too_large

ScoredRun = tuple[
    Sequence[tuple[int, exact.Number, exact.Number]], tuple[exact.Number, exact.Number], int
]
"""The score, P and Q of each output of one run; the mass that only P, and only Q, shows; times."""

Ends = tuple[exact.Number, exact.Number]
"""What a probability lies between."""

_Masses = tuple[list[int], int]
"""Masses of scores in units of 10^-digits, by falling score, and the least score."""

_DIGITS = 30
"""Digits that a sum of logarithms is known to beyond those that it may lose."""
_MOST_DIGITS = 4_000
"""Of a mass: Python writes no integer with more than 4,300."""
_EXACT = decimal.Context(
    prec=decimal.MAX_PREC,
    Emax=decimal.MAX_EMAX,
    Emin=decimal.MIN_EMIN,
    traps=[decimal.Inexact, decimal.InvalidOperation],
)


def certify_score_event(
    runs: Sequence[ScoredRun],
    least: int,
    epsilon: exact.Budget,
    delta: exact.Number,
    gap: exact.Number,
    limits: Limits,
) -> tuple[Ends, Ends]:
    """Check P(S) > e^ε Q(S) + δ, and return what P(S) and Q(S) lie between.

    S: the scores of all runs add up to at least `least`, or one run shows what only P shows (and
    none what only Q shows). P(S) - e^ε Q(S) is at least `gap`: so many digits show it. Raises
    `LimitReached` where they are too many.
    """
    growth = abs(int(float(epsilon.ball(64).mid()) / 2))
    digits = _DIGITS + growth + _leading_zeros(gap)
    if digits > _MOST_DIGITS:
        needed = f"an event of a violation would be checked with {digits} digits"
        raise too_large(needed, "a smaller ε")
    p, q = (_probability(runs, side, least, digits, limits) for side in (0, 1))
    assert exact.excess_sign(p[0], q[1], epsilon, delta) > 0, "a violation exceeds its budget"
    return p, q


def _leading_zeros(value: exact.Number) -> int:
    """Return how many digits after the point of a number are 0; 1000 if those all are."""
    return next(
        (n for n in range(1000) if exact.floor(exact.multiply(value, 10 ** (n + 1))) > 0), 1000
    )


def _probability(
    runs: Sequence[ScoredRun], side: int, least: int, digits: int, limits: Limits
) -> Ends:
    """Return what P(S) (side 0) or Q(S) (side 1) lies between."""
    one = 10**digits
    total: _Masses = [one], 0
    finite = one
    for outputs, only, times in runs:
        found: dict[int, int] = {}
        for score, *chances in outputs:
            found[score] = found.get(score, 0) + exact.floor(exact.multiply(chances[side], one))
        low, high = min(found, default=0), max(found, default=0)
        square: _Masses = [found.get(score, 0) for score in range(high, low - 1, -1)], low
        finite_run = exact.ceil(exact.multiply(exact.subtract(1, only[side]), one))
        for n in range(times.bit_length()):
            limits.check_time("an event is checked again")
            if n:
                square = _product(square, square, digits)
                finite_run = -(-finite_run * finite_run // one)
            if times >> n & 1:
                total = _product(total, square, digits)
                finite = -(-finite * finite_run // one)
    masses, low = total
    place = max(0, low + len(masses) - least)
    infinite = one - finite if side == 0 else 0
    above, below = sum(masses[:place]), sum(masses[place:])
    return exact.number(above + infinite, one), exact.number(finite + infinite - below, one)


def _product(left: _Masses, right: _Masses, digits: int) -> _Masses:
    """Return the product, rounded down; without masses of 0 at the ends.

    Masses sum to at most 1, so a coefficient has at most 2 digits + 1 decimal digits.
    """
    width = 2 * digits + 1
    packed = [
        decimal.Decimal("".join(str(mass).zfill(width) for mass in masses))
        for masses, _ in (left, right)
    ]
    size = len(left[0]) + len(right[0]) - 1
    text = f"{_EXACT.multiply(*packed):f}".zfill(size * width)
    masses = [int(text[i : i + digits + 1]) for i in range(0, size * width, width)]
    positive = [i for i, mass in enumerate(masses) if mass] or [0]
    first, last = positive[0], positive[-1] + 1
    return masses[first:last], left[1] + right[1] + size - last
