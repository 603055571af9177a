"""Claims that are known but for values in small gaps, asked again of small intervals around these.

With each number further out that is told of shown numbers, a δ for all values has one more piece,
and next to a value at which all far ones change sides it has infinitely many. On a small interval
few are left, so that wider windows tell where in a gap a claim begins to fail, if not just there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise

from flint import fmpq

from dpcheck.check.all_values.parts import joined_intervals
from dpcheck.check.values.verdicts import AllValues, Outcome
from dpcheck.exact import Param
from dpcheck.exact.line import end_at
from dpcheck.exact.roots import rational_between
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.logic.claims import ForAll
from dpcheck.records import replace

_MAX_GAP = Decimal(2) ** -16
"""No longer gap is asked again: too many pieces would be left."""

_BESIDE = Decimal(2) ** -17
"""As much of what is known on each of its sides is asked again, or up to twice as much.

That is far more than the last of the 17 digits of an end of at most 100,000.
"""

_SMALL = fmpq(5, 1 << 16)


def is_small(param: Param) -> bool:
    """Return whether an interval is so small that wide windows are tried for all its values."""
    low, high = param.ends
    return low is not None and high is not None and high - low <= _SMALL


def small_intervals(known: AllValues, for_all: ForAll) -> list[Param]:
    """Return small open intervals around all values for which it is not known if a claim fails.

    At their ends, which are rational, it is. There are none if some gap is too long, or too close
    to another one or to an end of what is asked.
    """
    told = _in_order([*known.fails_for, *known.holds_for])
    if known.is_exact or not known.fails_for or is_small(for_all.param):
        return []
    line = for_all.line()
    asked = line.intervals(for_all.asked(line))
    if not (_is_same(told[0].low, asked[0].low) and _is_same(told[-1].high, asked[-1].high)):
        return []
    gaps = [pair for pair in pairwise(told) if len(joined_intervals(pair, known.param)) == 2]
    found = [_around(known.param, *gap) for gap in gaps]
    return [] if None in found else [each for each in found if each is not None]


def _around(name: str, left: ParamInterval, right: ParamInterval) -> Param | None:
    """Return a small interval around the gap between two others, None if there is none."""
    start, low, high, end = map(_place, (left.low, left.high, right.low, right.high))
    is_short = high - low <= _MAX_GAP and min(low - start, end - high) > 4 * _BESIDE
    if not is_short or max(-low, high) * _BESIDE > 1:
        return None
    below = rational_between(_exact(low - 2 * _BESIDE), _exact(low - _BESIDE))
    return Param(name, below, rational_between(_exact(high + _BESIDE), _exact(high + 2 * _BESIDE)))


def with_nearer(outcome: Outcome, nearer: Sequence[Param], found: Sequence[Outcome]) -> Outcome:
    """Return the outcome of a violated claim with those of small intervals, if these are exact."""
    known, inside = outcome.all_values, [each.all_values for each in found]
    assert known is not None, "it has gaps"
    exact = [each for each in inside if each is not None and each.is_exact]
    if len(exact) < len(found):
        return outcome
    fails = *_outside(known.fails_for, nearer), *(one for each in exact for one in each.fails_for)
    holds = *_outside(known.holds_for, nearer), *(one for each in exact for one in each.holds_for)
    fails_for = joined_intervals(_in_order(fails), known.param)
    holds_for = joined_intervals(_in_order(holds), known.param)
    known = replace(known, fails_for=fails_for, holds_for=holds_for, is_exact=True)
    return replace(outcome, all_values=known)


def _outside(known: Iterable[ParamInterval], nearer: Sequence[Param]) -> list[ParamInterval]:
    """Return what intervals have outside of others, each of which lies around ends of two.

    Its rational ends replace those: an irrational one that a window finds is not compared with that
    of a wider one, which may be very close to it.
    """
    found = []
    for each in known:
        low, high = each.low, each.high
        for first, last in ([end_at(x) for x in p.ends if x is not None] for p in nearer):
            high = first if _place(low) < _place(first) < _place(high) else high
            low = last if _place(low) < _place(last) < _place(high) else low
        found.append(ParamInterval(low, high))
    return found


def _exact(place: Decimal) -> fmpq:
    return fmpq(*place.as_integer_ratio())


def _place(end: ParamEnd) -> Decimal:
    return Decimal(end.decimal)


def _in_order(intervals: Iterable[ParamInterval]) -> list[ParamInterval]:
    return sorted(intervals, key=lambda each: (_place(each.low), each.low.is_open))


def _is_same(left: ParamEnd, right: ParamEnd) -> bool:
    return replace(left, is_open=False) == replace(right, is_open=False)
