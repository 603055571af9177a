"""What is known of a quantity that lies between two values: bounds, or a comparison with one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from flint import arb, ctx, fmpq

from dpcheck.check.values.amounts import ENCLOSED_DIGITS, bounds_amount, number_amount
from dpcheck.check.values.verdicts import Amount, Beside, Cell, Outcome, Undecided, Value
from dpcheck.exact.reading import as_rational
from dpcheck.logic.claims import Claim, LossTable, QuantityClaim, QuantityValue
from dpcheck.privacy.enclosed import Enclosed, ball_of
from dpcheck.records import replace

BITS: Final = 256
"""Balls of both values are far smaller than the 10^-15 of them that is shown."""


def between_outcomes(
    claim: Claim, low: Outcome, high: Outcome, *, may_be_wide: bool
) -> Outcome | None:
    """Return the outcome of a claim about a quantity that lies between those of two others.

    None where bounds may be closer elsewhere, except if they `may_be_wide`; and where neither says
    anything about it.
    """
    match claim:
        case QuantityValue(quantity=LossTable()):
            return _profile_between(low, high) if may_be_wide else None
        case QuantityValue():
            return _value_between(low, high, may_be_wide=may_be_wide)
        case QuantityClaim(comparison="<=" | "<" | ">=" | ">"):
            if isinstance(low.verdict, Undecided) or type(low.verdict) is not type(high.verdict):
                return None
            return replace(low, value=None)  # both ends are in the interval asked for, or none is
        case _:
            return None


def _value_between(low: Outcome, high: Outcome, *, may_be_wide: bool) -> Outcome | None:
    """Return a finite value as bounds."""
    if not isinstance(low.verdict, Value) or not isinstance(high.verdict, Value):
        return None
    one, other = low.verdict.exact, high.verdict.exact
    if low.verdict.table is not None or one is None or other is None:
        return None
    with ctx.workprec(BITS):
        balls = [ball_of(value, BITS) for value in (one, other)]
        least = reduce(arb.min, (ball.lower() for ball in balls))
        most = reduce(arb.max, (ball.upper() for ball in balls))
        if not may_be_wide and most - least > most / 10**ENCLOSED_DIGITS:
            return None
        amount = bounds_amount(least, most)
    value = Value(amount, Enclosed(lambda _: least.union(most)))
    states = tuple(each for each in low.beside if each.names_states)
    return replace(low, verdict=value, value=amount, beside=states)


def _profile_between(low: Outcome, high: Outcome) -> Outcome | None:
    """Return the lower one of two profiles, and by how much δ may be larger.

    Both are largest values of the lines p - E q of their rows, so their difference is largest where
    one of them has a corner. None for other tables, and where numbers are not rational.
    """
    tables = [v.table for v in (low.verdict, high.verdict) if isinstance(v, Value) and v.table]
    if [table.name for table in tables] != ["profile"] * 2:
        return None
    lines = [[_line(row) for row in table.rows] for table in tables]
    below, above = ([line for line in each if line is not None] for each in lines)
    if len(below) + len(above) < sum(map(len, lines)):
        return None
    gap = max(_largest(above, e) - _largest(below, e) for e, _, _ in [*below, *above])
    beside = (Beside("δ is larger by at most", number_amount(gap)),) if gap else ()
    return replace(low, beside=beside)


def _line(row: Sequence[Cell]) -> tuple[fmpq, fmpq, fmpq] | None:
    """Return the start, p and q of a piece of a profile; None where they are not rational."""
    start, p, q = (as_rational(c.exact) if isinstance(c, Amount) else None for c in _numbers(row))
    return None if start is None or p is None or q is None else (start, p, q)


def _numbers(row: Sequence[Cell]) -> tuple[Cell, Cell, Cell]:
    return row[0], row[3], row[4]


def _largest(lines: Sequence[tuple[fmpq, fmpq, fmpq]], e: fmpq) -> fmpq:
    return max(p - e * q for _, p, q in lines)
