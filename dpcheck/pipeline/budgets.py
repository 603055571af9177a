"""Budgets over a parameter, compared for all its values: texts, as a baseline keeps them.

A text is read as part of a claim in a model of its own, so that its numbers are those of claims.
"""

from __future__ import annotations

import re
from operator import and_
from typing import Literal, NamedTuple

from dpcheck.exact import ParamError, TooLarge, compare_epsilon, compare_values, subtract
from dpcheck.exact.reading import compare_texts
from dpcheck.exact.roots import joined
from dpcheck.logic.claims import ForAll, PrivacyClaim
from dpcheck.parse import parse_model
from dpcheck.pipeline.claims.proofs import where_false
from dpcheck.resolve import resolve_model
from dpcheck.source import SourceText

_ANY = "mechanism m { input x in 0..1  adjacent all  output x }"


def is_greater_somewhere(
    now: str, before: str, values: str, name: Literal["epsilon", "delta"]
) -> bool | None:
    """Return whether an ε or δ is greater than another for some values, `p in (0, 1)`.

    None where that is not known. Both are continuous: they compare at closed ends as inside.
    """
    if "inf" in (now, before):
        return before != "inf"
    left, right = (_claimed(text, values, name) for text in (now, before))
    if left is None or right is None:
        return None
    found = [each for _, each in (left, right) if each is not None]
    own, others = left[0], right[0]
    if not found and name == "epsilon":
        return compare_epsilon(own.epsilon, others.epsilon) > 0
    if not found:
        return compare_values(own.delta, others.delta) > 0
    if len({each.is_exponential for each in found}) > 1:
        return None
    for_all = found[0]
    try:
        if name == "epsilon":
            return not where_false(own.epsilon, "<=", others.epsilon, for_all, ())[1].is_empty
        numbers = own.delta, others.delta
        line = for_all.line(numbers)
        region = line.where(subtract(others.delta, own.delta), (-1,))
        return not joined(and_, [for_all.asked(line), region]).is_empty
    except (ParamError, TooLarge):
        return None


def _claimed(text: str, values: str, name: str) -> tuple[PrivacyClaim, ForAll | None] | None:
    """Return the claim that something is at most a budget, or δ; None where it is none."""
    budget = text if name == "epsilon" else f"0, {text}"
    parsed = parse_model(SourceText("baseline", f"param {values}\n{_ANY}\ncheck m: dp({budget})"))
    found = resolve_model(parsed.model)
    mistakes = *parsed.mistakes, *found.mistakes
    if len(found.checks) != 1 or any(each.severity != "warning" for each in mistakes):
        return None
    claim = found.checks[0].claim
    return (claim, found.checks[0].for_all) if isinstance(claim, PrivacyClaim) else None


# --- values of a parameter -----------------------------------------------------------------


class Values(NamedTuple):
    """An interval of values of a parameter; ends are exact texts."""

    name: str
    low: str
    has_low: bool
    high: str
    has_high: bool

    @staticmethod
    def of(text: str) -> Values | None:
        """Read `p in (0, 1/2]` or `p in {1/2}`; None for irrational ends, and any other form."""
        if single := re.fullmatch(r"(\w+) in \{([^,{}≈]+)\}", text):
            return Values(single[1], single[2], True, single[2], True)
        found = re.fullmatch(r"(\w+) in ([\[(])([^,≈]+), ([^,≈]+)([\])])", text)
        return found and Values(found[1], found[3], found[2] == "[", found[4], found[5] == "]")

    @property
    def text(self) -> str:
        """The interval as a declaration has it."""
        left, right = "[" if self.has_low else "(", "]" if self.has_high else ")"
        return f"{self.name} in {left}{self.low}, {self.high}{right}"

    def both(self, other: Values) -> Values | None:
        """Return the values that both have, None for none; raises `ValueError` if not known."""
        low, high = compare_texts(self.low, other.low), compare_texts(self.high, other.high)
        has_low = (low < 0 or self.has_low) and (low > 0 or other.has_low)
        has_high = (high > 0 or self.has_high) and (high < 0 or other.has_high)
        ends = other.low if low < 0 else self.low, other.high if high > 0 else self.high
        room = compare_texts(*ends)
        if room > 0 or (room == 0 and not (has_low and has_high)):
            return None
        return Values(self.name, ends[0], has_low, ends[1], has_high)


def has_all(wide: str, narrow: str) -> bool:
    """Return whether all values of one interval, `p in (0, 1/2]`, surely lie in another one.

    >>> has_all("p in (0, inf)", "p in (0, 1]"), has_all("p in (0, 1)", "p in (0, 1]")
    (True, False)
    """
    if wide == narrow:
        return True
    outer, inner = Values.of(wide), Values.of(narrow)
    if outer is None or inner is None or outer.name != inner.name:
        return False
    try:
        return outer.both(inner) == inner
    except ValueError:
        return False


def are_pieces_greater(now: str, before: str) -> bool | None:
    """Return whether ε, in pieces `for p in (0, 1): -ln(p); ...`, is greater for some value.

    None where that is not known, as where fewer values are left.
    """
    own, others = _pieces(now), _pieces(before)
    if own is None or others is None:
        return None
    try:
        whole = _hull(others)
        if _hull(own).both(whole) != whole:
            return None
        found: set[bool | None] = set()
        for values, text in own:
            for beside, was in others:
                shared = values.both(beside)
                if shared is not None and text != was:
                    found.add(is_greater_somewhere(text, was, shared.text, "epsilon"))
    except ValueError:
        return None
    return True if True in found else None if None in found else False


def _pieces(text: str) -> list[tuple[Values, str]] | None:
    found = []
    for piece in text.split("; "):
        values, _, amount = piece.removeprefix("for ").partition(": ")
        interval = Values.of(values)
        if interval is None or not amount:
            return None
        found.append((interval, amount))
    return found


def _hull(pieces: list[tuple[Values, str]]) -> Values:
    first, last = pieces[0][0], pieces[-1][0]
    return first._replace(high=last.high, has_high=last.has_high)
