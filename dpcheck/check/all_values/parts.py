"""Claims about all values of a parameter, part by part: where numbers are ordered otherwise.

Kinds of shown numbers (`explore.tails.laws.shown_kinds`) know the order of the ratios of all their
laws, and two ratios that depend on the parameter, or one beside 1/2, may be equal at some value and
ordered otherwise on its sides. The open intervals between such values are parameters of their own,
and the values are asked one by one: an irrational one as the only one of a small interval, in which
one ratio stands for both (`explore.values.weights.told_apart`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from operator import and_
from typing import TypeGuard

from dpcheck.check.all_values.decide import text_of_asked
from dpcheck.check.all_values.piecewise import WORDS, joined_pieces, of_one_value, value_of_pieces
from dpcheck.check.all_values.setting import told_by_all
from dpcheck.check.values.verdicts import AllValues, Outcome, Piece, Undecided, Violated
from dpcheck.exact import Number, Param, exact_text, subtract
from dpcheck.exact.line import Chosen, simplest
from dpcheck.exact.roots import Region, Root, distinct_roots, joined
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.limits import LimitReached
from dpcheck.logic.claims import Claim, ForAll, QuantityValue
from dpcheck.records import replace

Part = Param | Chosen
"""Values of an open interval, the irrational one that lies in one, or a value by itself."""


def parts_of(
    for_all: ForAll, ratios: Sequence[Number], others: Iterable[Number], zeros: Collection[Number]
) -> list[Part]:
    """Return the values that are asked, in parts on each of which ratios have one order.

    None if they have it for all values of the parameter. `others` are weights and what is claimed:
    a value is asked by itself where these are exact numbers, too; `zeros` are weights that are 0
    for some value, which no interval around an irrational one may have beside it.
    """
    param, gaps = for_all.param, gaps_of(ratios)
    if param.is_single:
        return []
    line = for_all.line([*gaps, *others])
    equal = distinct_roots(t for gap in gaps for t in line.where(gap, (0,)).ends)
    if not equal:
        return []
    asked = for_all.asked(line)
    ends = line.cut(is_high=line.is_turned), *equal, line.cut(is_high=not line.is_turned)
    parts: list[Part] = []
    for k, is_asked in enumerate(_meets(asked, equal)):
        if not is_asked:
            continue
        if k % 2 == 0:
            parts.append(line.within(*ends[k // 2 : k // 2 + 2]))
            continue
        t = equal[k // 2]
        value = line.value_of(line.of_param(t))
        parts.append(line.only(t, [*gaps, *zeros]) if value is None else value)
    return parts[::-1] if line.is_turned else parts


def gaps_of(ratios: Sequence[Number]) -> list[Number]:
    """Return the differences of ratios: where one is 0, two of them are equal."""
    return [subtract(*pair) for pair in combinations(dict.fromkeys(ratios), 2)]


def _meets(asked: Region, ends: Sequence[Root]) -> Iterator[bool]:
    """Yield whether gaps between ends, and these, have values that are asked, in order."""
    n_parts = 2 * len(ends) + 1
    for k in range(n_parts):
        part = Region(asked.low, asked.high, tuple(ends), tuple(i == k for i in range(n_parts)))
        yield not joined(and_, [asked, part]).is_empty


def joined_outcome(
    claim: Claim, for_all: ForAll, parts: Sequence[Part], found: Sequence[Outcome | LimitReached]
) -> Outcome:
    """Return the outcome for all values, by what was found of parts in their order.

    A claim that fails in a part is violated, for the values of that part at least, whatever limit
    was reached in others. Raises the first such limit where it is not known to fail.
    """
    told = [(part, each) for part, each in zip(parts, found, strict=True) if _is_decided(each)]
    outcomes = [each for _, each in told]
    open_ = next((each for each in found if not _is_decided(each)), None)
    if open_ is not None and not any(isinstance(each.verdict, Violated) for each in outcomes):
        if isinstance(open_, LimitReached):
            raise open_
        return open_
    known, are_told = [_known(*each, for_all) for each in told], len(told) == len(parts)
    line = for_all.line()
    name = for_all.param.name
    at_cuts: dict[ParamEnd, dict[str, str]] = {}
    for end, texts in (pair for each in known for pair in each.at_cuts):
        at_cuts.setdefault(end, {}).update(texts)
    pieces = joined_pieces([piece for each in known for piece in each.pieces], name, at_cuts)
    shown_at = simplest([each.shown_at for each in known])
    whole = AllValues(
        name,
        text_of_asked(for_all, line, for_all.asked(line)),
        joined_intervals((one for each in known for one in each.fails_for), name),
        None if shown_at is None else exact_text(shown_at),
        tuple(pieces),
        shown_at,
        are_told and all(each.is_exact for each in known),
        joined_intervals((one for each in known for one in each.holds_for), name),
        bool(for_all.part),
    )
    vacuity = told_by_all(each.vacuity for each in outcomes) if are_told else ()
    if isinstance(claim, QuantityValue):
        verdict = value_of_pieces(whole, WORDS[type(claim.quantity)])
        return replace(outcomes[0], verdict=verdict, vacuity=vacuity, value=None, all_values=whole)
    shows = [each.shown_at is not None and each.shown_at == shown_at for each in known]
    violated = [each for each in outcomes if isinstance(each.verdict, Violated)]
    shown = outcomes[shows.index(True)] if True in shows else (violated or outcomes)[0]
    return replace(shown, vacuity=vacuity, value=None, beside=(), all_values=whole)


def _is_decided(found: Outcome | LimitReached) -> TypeGuard[Outcome]:
    return isinstance(found, Outcome) and not isinstance(found.verdict, Undecided)


def _known(part: Part, outcome: Outcome, for_all: ForAll) -> AllValues:
    """Return what is known for the values of a part."""
    if outcome.all_values is None:
        assert not isinstance(part, Param), "of an interval it is known for which values"
        outcome = of_one_value(outcome, part, for_all)
    assert outcome.all_values is not None, "now it is known of one value, too"
    return outcome.all_values


def joined_intervals(intervals: Iterable[ParamInterval], name: str) -> tuple[ParamInterval, ...]:
    """Return intervals in order, those that meet as one."""
    pieces = joined_pieces([Piece(interval, "") for interval in intervals], name, {})
    return tuple(piece.interval for piece in pieces)
