"""Values outside of bounds: P and E say what is wanted at every input, and what is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dpcheck.check.values.amounts import bare, bound_amount, number_amount
from dpcheck.check.values.comparisons import by_size, distance, holds, order
from dpcheck.check.values.verdicts import Enough, Phrase, PhrasePart
from dpcheck.exact import Extended, MinusInfinity, Number
from dpcheck.explain.explanation import Remark, RunKind, Tight
from dpcheck.logic.formulas import Relation
from dpcheck.records import dataclass

_INPUTS_NAMED = 4
"""Inputs that are named."""

_WANTED = {
    ">=": ", wanted at least ", ">": ", wanted more than ", "<=": ", wanted at most ",
    "<": ", wanted less than ", "=": ", wanted exactly ",
}  # fmt: skip


@dataclass(frozen=True)
class Outside:
    """The state furthest outside of a bound, and which runs should be fewer there."""

    state: int
    bound: Number
    side: RunKind
    remarks: tuple[Remark, ...]
    tight: Tight


def outside(
    word: str,
    relations: Sequence[Relation],
    known: Mapping[int, Extended],
    name: Callable[[int], str],
    *,
    is_all: bool = True,
) -> Outside:
    """Return which states are outside of some bounds, `known` are their values by states.

    `name` are the states as people see them; not all inputs are among them unless `is_all`. At
    least one is outside.
    """
    failing = {state: wanted for state in known if (wanted := _wanted(relations, known[state]))}
    worst = max(failing, key=lambda state: by_size(distance(known[state], failing[state][1])))
    comparison, bound = failing[worst]
    wants_more = comparison in (">=", ">") or order(known[worst], bound) < 0
    told = bound_amount(known[worst]), _WANTED[comparison], number_amount(bound)
    remarks = [Remark("from", Phrase.of(f"{name(worst)}: ", *told))]
    if len(known) > 1:
        among = f"{len(known):,}" if is_all else f"the {len(known):,} looked at"
        remarks.append(Remark("inputs", _inputs(known, set(failing), name, among)))
    tight = Tight(_bound(word, relations, list(known.values())))
    return Outside(worst, bound, "outside" if wants_more else "inside", tuple(remarks), tight)


def _wanted(relations: Sequence[Relation], value: Extended) -> Relation | None:
    """Return the first comparison that is false of a value."""
    return next((each for each in relations if not holds(each[0], order(value, each[1]))), None)


def _inputs(
    known: Mapping[int, Extended], lost: set[int], name: Callable[[int], str], among: str
) -> Phrase:
    """Return how many inputs fail and which values some of them, and some others, have."""
    bad = [state for state in known if state in lost]
    good = [state for state in known if state not in lost]
    parts: list[PhrasePart] = [f"{len(bad):,} of {among} fail: "]
    for k, state in enumerate(bad[:_INPUTS_NAMED]):
        parts += [", " * (k > 0) + f"{name(state)} (", bare(known[state]), ")"]
    if len(bad) > _INPUTS_NAMED:
        parts.append(" and others")
    for k, state in enumerate(good[: _INPUTS_NAMED - 1]):
        parts += [("; " if k == 0 else ", ") + f"{name(state)} has ", bare(known[state])]
    return Phrase.of(*parts)


def _bound(word: str, relations: Sequence[Relation], values: Sequence[Extended]) -> Phrase:
    """Return the bounds within which all values are."""
    kept = kept_by(word, relations, values)
    if not kept:
        return Phrase.of(f"no bound would do: {word} is infinite")
    if word == "P" and says_nothing(kept):
        ends = "0, for another 1" if len(kept) > 2 else kept[1]
        return Phrase.of("no bound would do: for some input it is ", ends)
    match [comparison for comparison, _ in relations]:
        case [">=" | ">"]:
            return Phrase.of(f"holds up to {word}", *kept)
        case ["<=" | "<"]:
            return Phrase.of(f"holds from {word}", *kept, " on")
        case _:
            return Phrase.of(f"holds as {word}", *kept)


def says_nothing(kept: Sequence[PhrasePart]) -> bool:
    """Return whether every probability keeps some bounds."""
    return "".join(map(str, kept)) in (">=0", "<=1", " in [0, 1]")


def kept_by(
    word: str, relations: Sequence[Relation], values: Sequence[Extended]
) -> list[PhrasePart]:
    """Return what all values keep in place of some comparisons, as `>=1/3`; empty for nothing."""
    least, most = extremes(values)
    low = Enough(bound_amount(least), ">=")
    high = Enough(bound_amount(most), "<=", is_chance=word == "P")
    lower: list[PhrasePart] = [] if isinstance(least, MinusInfinity | None) else [">=", low]
    upper: list[PhrasePart] = [] if isinstance(most, MinusInfinity | None) else ["<=", high]
    match [comparison for comparison, _ in relations]:
        case [">=" | ">"]:
            return lower
        case ["<=" | "<"]:
            return upper
        case _ if lower and upper and low.amount == high.amount and isinstance(bare(least), str):
            return ["=", low]
        case _ if lower and upper:
            return [" in [", low, ", ", high, "]"]
        case _:
            return lower or upper


def extremes(values: Sequence[Extended]) -> tuple[Extended, Extended]:
    """Return the least and the largest of some values."""
    return min(values, key=by_size), max(values, key=by_size)
