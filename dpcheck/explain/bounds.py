"""Values outside of bounds: P and E say what is wanted at every input, and what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcheck.check.values.amounts import INFINITE, bare, number_amount
from dpcheck.check.values.comparisons import holds
from dpcheck.check.values.verdicts import Amount, Phrase
from dpcheck.exact import Number, compare
from dpcheck.explain.explanation import Remark, Tight
from dpcheck.logic.formulas import Relation
from dpcheck.records import dataclass

_INPUTS_NAMED = 4
"""Inputs that are named."""

_WANTED = {
    ">=": ", wanted at least ", ">": ", wanted more than ", "<=": ", wanted at most ",
    "<": ", wanted less than ", "=": ", wanted exactly ",
}  # fmt: skip

Value = Number | None
"""A number, or infinity."""


@dataclass(frozen=True)
class Outside:
    """The state furthest outside of the bounds, and whether more is wanted there."""

    state: int
    wants_more: bool
    remarks: tuple[Remark, ...]
    tight: Tight


def outside(
    word: str, relations: Sequence[Relation], known: Mapping[int, Value], name: Mapping[int, str]
) -> Outside:
    """Return which states are outside of some bounds, `known` are all values with their states.

    `name` are the states as people see them. At least one is outside.
    """
    failing = {state: wanted for state in known if (wanted := _wanted(relations, known[state]))}
    first, (comparison, bound) = next(iter(failing.items()))
    wants_more = _wants_more(comparison, known[first], bound)
    worst = first
    for state in failing:
        if _order(known[state], known[worst]) * (-1 if wants_more else 1) > 0:
            worst = state
    comparison, bound = failing[worst]
    told = _amount(known[worst]), _WANTED[comparison], number_amount(bound)
    remarks = [Remark("from", Phrase.of(f"{name[worst]}: ", *told))]
    if len(known) > 1:
        remarks.append(Remark("inputs", _inputs(known, set(failing), name)))
    tight = Tight(_bound(word, relations, list(known.values())))
    return Outside(worst, wants_more, tuple(remarks), tight)


def _wanted(relations: Sequence[Relation], value: Value) -> Relation | None:
    """Return the first comparison that is false of a value."""
    return next((each for each in relations if not holds(each[0], _order(value, each[1]))), None)


def _wants_more(comparison: str, value: Value, bound: Number) -> bool:
    """Return whether a larger value is wanted than one for which a comparison is false."""
    return comparison in (">=", ">") or (comparison == "=" and _order(value, bound) < 0)


def _order(one: Value, other: Value) -> int:
    """Return the sign of the difference of two values."""
    if one is None or other is None:
        return (one is None) - (other is None)
    return compare(one, other)


def _amount(value: Value) -> Amount:
    return INFINITE if value is None else number_amount(value)


def _short(value: Value) -> Amount | str:
    return INFINITE if value is None else bare(value)


def _inputs(known: Mapping[int, Value], lost: set[int], name: Mapping[int, str]) -> Phrase:
    """Return how many inputs fail and which values some of them, and some others, have."""
    bad = [state for state in known if state in lost]
    good = [state for state in known if state not in lost]
    parts: list[str | Amount] = [f"{len(bad):,} of {len(known):,} fail: "]
    for k, state in enumerate(bad[:_INPUTS_NAMED]):
        parts += [", " * (k > 0) + f"{name[state]} (", _short(known[state]), ")"]
    if len(bad) > _INPUTS_NAMED:
        parts.append(" and others")
    for k, state in enumerate(good[: _INPUTS_NAMED - 1]):
        parts += [("; " if k == 0 else ", ") + f"{name[state]} has ", _short(known[state])]
    return Phrase.of(*parts)


def _bound(word: str, relations: Sequence[Relation], values: Sequence[Value]) -> Phrase:
    """Return the bounds within which all values are."""
    kept = kept_by(relations, values)
    if not kept:
        return Phrase.of(f"no bound would do: {word} is infinite")
    match [comparison for comparison, _ in relations]:
        case [">=" | ">"]:
            return Phrase.of(f"holds up to {word}", *kept)
        case ["<=" | "<"]:
            return Phrase.of(f"holds from {word}", *kept, " on")
        case _:
            return Phrase.of(f"holds as {word}", *kept)


def kept_by(relations: Sequence[Relation], values: Sequence[Value]) -> list[str | Amount]:
    """Return what all values keep in place of some comparisons, as `>=1/3`; empty for nothing."""
    least, most = extremes(values)
    match [comparison for comparison, _ in relations]:
        case [">=" | ">"]:
            return [">=", _short(least)]
        case ["<=" | "<"]:
            return [] if most is None else ["<=", _short(most)]
        case _ if least is None:
            return []
        case _ if most is None:
            return [">=", _short(least)]
        case _:
            return [" in [", _short(least), ", ", _short(most), "]"]


def extremes(values: Sequence[Value]) -> tuple[Value, Value]:
    """Return the least and the largest of some values."""
    least, most = values[0], values[0]
    for value in values[1:]:
        least = value if _order(value, least) < 0 else least
        most = value if _order(value, most) > 0 else most
    return least, most
