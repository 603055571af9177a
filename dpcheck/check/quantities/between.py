"""What is known of a quantity that lies between two values: bounds, or a comparison with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import groupby, pairwise
from typing import Final

from flint import arb, ctx, fmpq

from dpcheck.check.values.amounts import ENCLOSED_DIGITS, bounds_amount, number_amount
from dpcheck.check.values.verdicts import Amount, Beside, Cell, Outcome, Table, Undecided, Value
from dpcheck.exact.reading import ball_of_text
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
            return _table_between(low, high) if may_be_wide else None
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


def _table_between(low: Outcome, high: Outcome) -> Outcome | None:
    """Return the lower one of two tables, and by how much it may be off; None for other pairs."""
    tables = [v.table for v in (low.verdict, high.verdict) if isinstance(v, Value) and v.table]
    if len(tables) < 2:
        return None
    below, above = tables
    if _numbers(below) == _numbers(above):
        return replace(low, beside=())
    with ctx.workprec(BITS):
        match below.name:
            case "profile":
                text, gap = "δ is larger by at most", _gap(_lines(below), _lines(above))
            case "tradeoff":
                text = "a type II error is smaller by at most"
                gap = _gap(_sides(below), _sides(above))
            case _:
                text = "losses far out are told together, of probability at most"
                gap = _changed(below, above)
    return None if gap is None else replace(low, beside=(Beside(text, _power_of_two_above(gap)),))


def _numbers(table: Table) -> list[list[Cell]]:
    return [[cell for cell in row if isinstance(cell, Amount)] for row in table.rows]


Line = tuple[arb, arb]
"""A value at 0, and a slope."""
Curve = tuple[Sequence[arb], Sequence[Line]]
"""The corners of a function that is convex, and lines of which it is the largest."""


def _lines(table: Table) -> dict[Sequence[Cell], Curve]:
    """Return a profile: the lines p - E q of its rows, each from where it is the largest."""
    rows = [[_ball(row[k]) for k in (0, 3, 4)] for row in table.rows]
    return {(): ([e for e, _, _ in rows], [(p, -q) for _, p, q in rows])}


def _sides(table: Table) -> dict[Sequence[Cell], Curve]:
    """Return the trade-off curves by their pairs: the lines through corners next to each other."""
    found: dict[Sequence[Cell], Curve] = {}
    for names, rows in groupby(table.rows, lambda row: row[:2]):
        corners = [(_ball(row[2]), _ball(row[3])) for row in rows]
        slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(corners)]
        lines = [(b - a * slope, slope) for (a, b), slope in zip(corners, slopes, strict=False)]
        found[names] = [a for a, _ in corners], lines
    return found


def _gap(low: Mapping[Sequence[Cell], Curve], high: Mapping[Sequence[Cell], Curve]) -> arb | None:
    """Return how far apart functions are at most: at a corner; None if they are of other pairs."""
    if list(low) != list(high):
        return None
    gaps = [
        abs(_largest(low[pair][1], x) - _largest(high[pair][1], x))
        for pair in low
        for x in (*low[pair][0], *high[pair][0])
    ]
    return reduce(arb.max, gaps)


def _largest(lines: Sequence[Line], x: arb) -> arb:
    return reduce(arb.max, (start + x * slope for start, slope in lines))


def _changed(low: Table, high: Table) -> arb | None:
    """Return the greatest probability of a pair's losses that only one of two tables has."""
    kept, parts = set(high.rows), dict.fromkeys((row[:2] for row in low.rows), arb(0))
    if parts.keys() != {row[:2] for row in high.rows}:
        return None
    for row in low.rows:
        if row not in kept:
            parts[row[:2]] += _ball(row[3])
    return reduce(arb.max, parts.values())


def _ball(cell: Cell) -> arb:
    assert isinstance(cell, Amount), "a number stands there"
    return ball_of_text(cell.exact, BITS)


def _power_of_two_above(gap: arb) -> Amount:
    digits, exponent = gap.upper().man_exp()
    return number_amount(fmpq(2) ** int(exponent + digits.bit_length()))
