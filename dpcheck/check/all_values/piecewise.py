"""Pieces of a quantity, or of a claim, for all values of a parameter, as they are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from dpcheck.check.values.amounts import epsilon_amount, number_amount
from dpcheck.check.values.verdicts import (
    AT_LEAST,
    AllValues,
    Amount,
    Holds,
    Outcome,
    Piece,
    Table,
    Value,
    Violated,
)
from dpcheck.exact import Budget, exact_text
from dpcheck.exact.line import Chosen, end_at
from dpcheck.exact.reading import as_budget as as_budget_text
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.limits import Limit, LimitReached
from dpcheck.logic.claims import (
    Claim,
    Expectation,
    ForAll,
    PathProbability,
    QuantityClaim,
    QuantityValue,
    TightDelta,
    TightEpsilon,
)
from dpcheck.records import replace

WORDS = {TightEpsilon: "epsilon", TightDelta: "delta", PathProbability: "P", Expectation: "E"}


AtRoots = Mapping[ParamEnd, Mapping[str, str]]
"""For irrational values what expressions around them are there, as least polynomials."""


def joined_pieces(pieces: Sequence[Piece], name: str, at_roots: AtRoots) -> list[Piece]:
    """Return ordered pieces, where single values are of those beside them that have them too."""
    found: list[Piece] = []
    for piece in pieces:
        one = None if not found else _as_one(found[-1], piece, name, at_roots)
        if one is None:
            found.append(piece)
        else:
            found[-1] = one
    return found


def _as_one(left: Piece, right: Piece, name: str, at_roots: AtRoots) -> Piece | None:
    """Return two pieces that meet as one, None where they are two."""
    if left.most is not None or right.most is not None:
        return None
    low, high = left.interval, right.interval
    end = replace(low.high, is_open=False)
    if end != replace(high.low, is_open=False) or (low.high.is_open and high.low.is_open):
        return None
    texts = left.exact, right.exact
    whole = texts[low.low == low.high]  # of a single value the other one is the function
    alike = at_roots.get(end, {})
    is_one = len({_text_at(alike.get(text, text), name, end.exact) for text in texts}) == 1
    if len(set(texts)) > 1 and (not is_one or (low.low != low.high and high.low != high.high)):
        return None
    return Piece(ParamInterval(low.low, high.high), whole)


def _text_at(text: str, name: str, value: str | None) -> Budget | str:
    """Return what an expression is, at a rational value if one is given: a budget, or the text."""
    if value is not None:
        text = re.sub(rf"\b{re.escape(name)}\b", f"({value})", text)
    known = as_budget_text(text)
    return text if known is None else known


def value_of_pieces(known: AllValues, word: str) -> Value:
    """Return pieces of a quantity as a value: the one expression, or a table of them."""
    pieces, name = known.pieces, known.param
    texts = list(dict.fromkeys(piece.text for piece in pieces))
    shown = texts[0] if len(texts) == 1 else f"{len(pieces)} pieces"
    amount = _one_amount(shown, name, is_epsilon=word == "epsilon")
    columns: tuple[str, ...] = f"{name} in", word
    rows: tuple[tuple[str, ...], ...] = tuple((p.interval.text, p.exact) for p in pieces)
    is_within = any(piece.most is not None for piece in pieces)
    if is_within:  # a piece that is known exactly has no bounds beside those of others
        columns = f"{name} in", word, "at most"
        rows = tuple(
            (p.interval.text, p.exact if p.most is None else f"{AT_LEAST}{p.exact}", p.most or "")
            for p in pieces
        )
    is_one = len(texts) == 1 and not is_within
    return Value(amount, len(pieces), None if is_one else Table(word, columns, rows))


def _one_amount(text: str, name: str, *, is_epsilon: bool) -> Amount:
    """Return what is shown of all pieces: a number where it is one for all values."""
    if text in ("inf", "-inf"):
        return Amount(text, text, text if is_epsilon else None)
    constant = as_budget_text(text)
    if constant is None:
        return Amount(text, text, param=name)
    number = None if is_epsilon else constant.as_number()
    return epsilon_amount(constant) if number is None else number_amount(number)


def of_one_value(outcome: Outcome, value: Chosen, for_all: ForAll) -> Outcome:
    """Return the outcome of an ordinary mechanism as that of a claim about one value."""
    end = end_at(value)
    here, verdict = ParamInterval(end, end), outcome.verdict
    known = AllValues(for_all.param.name, here.text, is_part=bool(for_all.part))
    if isinstance(verdict, Violated):
        sample = exact_text(value)
        known = replace(known, fails_for=(here,), sample=sample, shown_at=value)
    elif isinstance(verdict, Holds):
        known = replace(known, holds_for=(here,))
    elif isinstance(verdict, Value) and verdict.table is None:
        low, most = verdict.amount.enclosure or (verdict.amount.exact, None)
        known = replace(known, pieces=(Piece(here, low, most),))
    return replace(outcome, all_values=known)


# --- what lies between two -----------------------------------------------------------------


def between_for_all(claim: Claim, low: Outcome, high: Outcome, limit: Limit) -> Outcome | None:
    """Return the outcome of a claim about a quantity that lies between those of two others.

    What says that it is small fails where the lower one is too large, and perhaps for more values:
    it surely holds only where the upper one is small.
    Raises `LimitReached`, with those that may, where no value is sure to fail.
    """
    least, most = low.all_values, high.all_values
    assert least is not None, "one is for all values"
    assert most is not None, "so is the other"
    if isinstance(claim, QuantityValue):
        pieces = *least.pieces, *most.pieces
        ends = {end for p in pieces for end in (p.interval.low, p.interval.high)}
        if len({(e.exact, e.equation) for e in ends}) > len({e.decimal for e in ends}):
            raise LimitReached(limit, "two of its pieces begin at values with the same 17 digits")
        known = replace(least, pieces=_pieces_between(least.pieces, most.pieces))
        shown = value_of_pieces(known, WORDS[type(claim.quantity)])
        return replace(low, verdict=shown, all_values=known)
    comparison = claim.comparison if isinstance(claim, QuantityClaim) else "<="
    if comparison in ("=", "!="):
        return None
    outcome, sure, possible = (low, least, most) if "<" in comparison else (high, most, least)
    if sure.fails_for:
        is_exact = sure.is_exact and not sure.holds_for
        known = replace(sure, is_exact=is_exact, holds_for=possible.holds_for)
        return replace(outcome, all_values=known)
    where = " and ".join(interval.text for interval in possible.fails_for)
    raise LimitReached(limit, f"it holds but for {possible.param} in {where}, where it may fail")


def _pieces_between(below: Sequence[Piece], above: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return which expression is the least, and which the most, of pieces of the same values."""
    found = []
    for low in below:
        for high in above:
            start = max(low.interval.low, high.interval.low, key=_as_start)
            ends = low.interval.high, high.interval.high
            end = min(ends, key=lambda end: (Decimal(end.decimal), not end.is_open))
            is_single = start == end and not end.is_open
            if is_single or Decimal(start.decimal) < Decimal(end.decimal):
                most = None if low.exact == high.exact else high.exact
                found.append(Piece(ParamInterval(start, end), low.exact, most))
    return tuple(found)


def _as_start(end: ParamEnd) -> tuple[Decimal, bool]:
    """Return what orders ends as the starts of intervals."""
    return Decimal(end.decimal), end.is_open
