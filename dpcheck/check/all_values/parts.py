"""Claims about all values of a parameter, part by part: where numbers are ordered otherwise.

Kinds of shown numbers (`explore.tails.laws.shown_kinds`) know the order of the ratios of all their
laws, and two ratios that depend on the parameter, or one beside 1/2, may be equal at some value and
ordered otherwise on its sides. The open intervals between such values are parameters of their own,
and the values are asked one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise

from flint import fmpq

from dpcheck.check.all_values.piecewise import (
    WORDS,
    joined_pieces,
    of_one_value,
    value_of_pieces,
)
from dpcheck.check.values.verdicts import AllValues, Outcome, Piece, Undecided, Violated
from dpcheck.exact import Budget, Number, Param, exact_text, subtract
from dpcheck.exact.line import Chosen, line_of, simplest
from dpcheck.exact.roots import Root
from dpcheck.intervals import ParamInterval
from dpcheck.logic.claims import Claim, ForAll, QuantityValue
from dpcheck.records import replace

Part = Param | Chosen
"""An open interval of values, or one of them."""


def parts_of(for_all: ForAll, ratios: Sequence[Number]) -> list[Part]:
    """Return the values that are asked, in parts on each of which ratios have one order.

    None if they have it for all values of the parameter; nor where two are equal at an irrational
    value among those asked, or `exp` of the parameter is used: its ends are rational.
    """
    param = _asked(for_all)
    if for_all.is_exponential or param.is_single:
        return []
    line = line_of(for_all.param, ratios, is_exponential=False)
    equal = [
        line.of_param(t)
        for first, second in combinations(dict.fromkeys(ratios), 2)
        for t in line.where(subtract(first, second), (0,)).ends
    ]
    inside = [root for root in equal if _is_between(root, *param.ends)]
    values = sorted({fmpq(root.rational) for root in inside if root.rational is not None})
    if not equal or any(root.rational is None for root in inside):
        return []
    first, *others = (
        replace(param, low=low, high=high, has_low=False, has_high=False)
        for low, high in pairwise([param.low, *values, param.high])
    )
    parts: list[Part] = [first]
    for value, after in zip(values, others, strict=True):
        parts += [_chosen(value), after]
    low, high = param.ends
    start: list[Part] = [] if low is None or not param.has_low else [low]
    end: list[Part] = [] if high is None or not param.has_high else [high]
    return [*start, *parts, *end]


def _asked(for_all: ForAll) -> Param:
    """Return a parameter that has the asked values alone."""
    param = for_all.param
    for value, signs in for_all.part if not for_all.is_exponential else ():
        assert not isinstance(value, Budget), "logarithms are ends where `exp` is used"
        if 1 in signs and (param.low is None or param.low < value):
            param = replace(param, low=value, has_low=0 in signs)
        if -1 in signs and (param.high is None or param.high > value):
            param = replace(param, high=value, has_high=0 in signs)
    return param


def _is_between(root: Root, low: int | fmpq | None, high: int | fmpq | None) -> bool:
    """Return whether a value lies strictly between two ends."""
    is_above = low is None or root.compare(Root.of(low)) > 0
    return is_above and (high is None or root.compare(Root.of(high)) < 0)


def _chosen(value: fmpq) -> Chosen:
    return int(value.p) if value.q == 1 else value


def joined_outcome(
    claim: Claim, for_all: ForAll, parts: Sequence[Part], outcomes: Sequence[Outcome]
) -> Outcome:
    """Return the outcome for all values, by those of parts in their order."""
    undecided = [each for each in outcomes if isinstance(each.verdict, Undecided)]
    if undecided:
        return undecided[0]
    known = [_known(*each, for_all) for each in zip(parts, outcomes, strict=True)]
    name = for_all.param.name
    pieces = joined_pieces([piece for each in known for piece in each.pieces], name, {})
    shown_at = simplest([each.shown_at for each in known])
    whole = AllValues(
        name,
        _asked(for_all).text,
        _joined((one for each in known for one in each.fails_for), name),
        None if shown_at is None else exact_text(shown_at),
        tuple(pieces),
        shown_at,
        all(each.is_exact for each in known),
        _joined((one for each in known for one in each.holds_for), name),
        bool(for_all.part),
    )
    if isinstance(claim, QuantityValue):
        verdict = value_of_pieces(whole, WORDS[type(claim.quantity)])
        return replace(outcomes[0], verdict=verdict, value=None, all_values=whole)
    shows = [each.shown_at is not None and each.shown_at == shown_at for each in known]
    shown = outcomes[shows.index(True)] if True in shows else _first_violated(outcomes)
    return replace(shown, value=None, beside=(), all_values=whole)


def _first_violated(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the first outcome that is violated, at irrational values; the first one if none is."""
    violated = [each for each in outcomes if isinstance(each.verdict, Violated)]
    return (violated or outcomes)[0]


def _known(part: Part, outcome: Outcome, for_all: ForAll) -> AllValues:
    """Return what is known for the values of a part."""
    if outcome.all_values is None:
        assert not isinstance(part, Param), "of an interval it is known for which values"
        outcome = of_one_value(outcome, part, for_all)
    assert outcome.all_values is not None, "now it is known of one value, too"
    return outcome.all_values


def _joined(intervals: Iterable[ParamInterval], name: str) -> tuple[ParamInterval, ...]:
    """Return intervals in order, those that meet as one."""
    pieces = joined_pieces([Piece(interval, "") for interval in intervals], name, {})
    return tuple(piece.interval for piece in pieces)
