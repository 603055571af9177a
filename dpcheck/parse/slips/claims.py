"""Slips in claims: `check m satisfies c`, `P[ c ] >= 0.5`, `check m, x = 1: c`."""

from __future__ import annotations

import re
from itertools import pairwise

from dpcheck.logic.quantities import QUANTITIES
from dpcheck.parse.slips.reader import NAMES, OPERANDS, RELATIONS, Edit, Reader, Slip
from dpcheck.parse.slips.vocabulary import BETWEEN_OPERANDS, GIVEN, SATISFIES
from dpcheck.parse.tokens import ARITHMETIC, END, QUESTION_WORDS


def question(r: Reader, i: int) -> Slip | None:
    """`check m satisfies c`, `check m c`, `check: c`, `check m.epsilon = 1`."""
    start = i + (2 if r.type(i + 1) == "STRING" else 1)
    if r.type(start) == "COLON":
        name = _declared(r)
        return None if name is None else r.slip(i, start, r.after(start - 1, f" {name}"))
    if r.type(start) not in NAMES | {"P", "D"}:
        return None
    if r.text(start) in QUANTITIES and not _has_colon(r, start):
        name = _declared(r)
        return None if name is None else r.slip(start, start, r.before(start, f"{name}: "))
    end = start
    if r.type(end + 1) == "OPEN":
        end = r.partners.get(end + 1, end)
    after = end + 1
    kind = r.type(after)
    if r.is_first[after] or kind in ("COLON", "AT", END) or r.text(after) == "at":
        return None
    if r.text(after) in GIVEN:
        return _given(r, end, after)
    if r.text(after) in SATISFIES or kind == "DOT":
        return r.slip(end, after, r.after(end, ":", after))
    if kind == "OR" and r.type(after + 1) == "EQ":
        return r.slip(end, after + 1, r.after(end, ":", after + 1))
    is_claim = kind in OPERANDS | {"P", "D"} and r.text(after) not in BETWEEN_OPERANDS
    if is_claim and not _has_colon(r, after):
        return r.slip(end, after, r.after(end, ":"))
    return None


def _has_colon(r: Reader, i: int) -> bool:
    """Return whether a colon stands in the rest of a claim, outside of brackets."""
    k = i
    while k <= r.part_ends[i] and r.type(k) not in QUESTION_WORDS | {"COLON"}:
        k = max(r.partners.get(k, k), k) + 1
    return r.type(k) == "COLON"


def _given(r: Reader, end: int, word: int) -> Slip | None:
    """`check m, x = 1: c` is `check m at x = 1: c`, and `m with n = 1: c` is `m(n = 1): c`.

    The first names an input, the second a parameter. Of `param p` it is `m for p in [1, 1]: c`,
    and for `p > 1` all above it.
    """
    first = word + 1
    colon = next((k for k in range(first, r.part_ends[word]) if r.type(k) == "COLON"), first + 1)
    is_part = r.type(word) == "FOR" and r.type(first + 1) not in RELATIONS
    if r.type(first) not in NAMES or colon == first + 1 or is_part:
        return None
    declared = {(one.type, r.text(k + 1)) for k, one in enumerate(r.tokens[:-1])}
    if ("PARAM", r.text(first)) in declared and r.type(first + 1) in RELATIONS:
        values = _interval(r, r.text(first), r.type(first + 1), r.span(first + 2, colon - 1).text)
        part = f"{r.text(end)} for {r.text(first)} in {values}:"
        return r.slip(end, colon, r.put(end, part, colon))
    if {("INPUT", r.text(first)), ("PUBLIC", r.text(first))} & declared or r.type(
        first + 1
    ) != "EQ":
        return r.slip(end, word, r.after(end, " at", word))
    opening = ", " if r.type(end) == "CLOSE" else f"{r.text(end)}("
    values = r.span(first, colon - 1).text
    return r.slip(end, colon, r.put(end, f"{opening}{values}):", colon))


def _interval(r: Reader, name: str, relation: str, value: str) -> str:
    """Return the values of a parameter that compare so with one, as an interval."""
    declared = re.search(rf"param +{name} +in *([(\[][^,\n]+), *([^,\n]+[)\]])", r.source.text)
    low, high = ("(0", "inf)") if declared is None else declared.groups()
    return {
        "EQ": f"[{value}, {value}]",
        "GT": f"({value}, {high}",
        "GE": f"[{value}, {high}",
        "LT": f"{low}, {value})",
        "LE": f"{low}, {value}]",
    }[relation]


def _declared(r: Reader) -> str | None:
    """Return the first mechanism or chain of the text."""
    kinds = ("MECHANISM", "CHAIN")
    heads = (i + 1 for i, token in enumerate(r.tokens) if token.type in kinds)
    return next((r.text(i) for i in heads if r.type(i) in NAMES), None)


def bound(r: Reader, i: int) -> Slip | None:
    """`P>=exp(-1)/2 [ c ]` is `P>=(exp(-1)/2) [ c ]`: without `(` a bound is a or a/b."""
    first = i + 2
    if r.type(i + 1) not in RELATIONS:
        return None
    last, units = _bound_units(r, first)
    if r.type(last + 1) != "OPEN_BRACKET" or not units or _is_bound(r.type(i), units):
        return None
    why = "with the bound in parentheses"
    return r.slip(i, last, r.before(first, "("), r.after(last, ")"), why=why)


def bound_behind(r: Reader, i: int) -> Slip | None:
    """`P[ c ] >= 0.5` is `P>=0.5 [ c ]`; the whole bound moves, in parentheses if it needs them."""
    close = r.partners.get(i + 1)
    is_word = r.type(i) in ("P", "E") or (r.text(i), r.text(i + 1)) in (("Pr", "["), ("Prob", "["))
    if close is None or not is_word or r.type(close + 1) not in RELATIONS:
        return None
    word = r.text(i)[0]
    first = close + 2
    last, units = _bound_units(r, first)
    if r.text(first) == "?" and r.type(close + 1) == "EQ":
        last, units = first, ["NUMBER"]
    if not units:
        return None
    opening, closing = ("", " ") if _is_bound(word, units) else ("(", ") ")
    at = r.tokens[i + 1].start
    moved = (
        Edit(r.tokens[i].start, at, word),
        Edit(at, at, r.text(close + 1), r.tokens[close + 1].start),
        Edit(at, at, opening),
        Edit(at, at, r.span(first, last).text, r.tokens[first].start),
        Edit(at, at + 1, f"{closing}["),
    )
    return r.slip(i, last, *moved, r.put(close, "]", last))


def _bound_units(r: Reader, first: int) -> tuple[int, list[str]]:
    """Return the last token of the expression that begins at one, and the types of its tokens.

    A bracket and what is in it are one. The types are none where they can be no expression's.
    """
    k = first
    units: list[str] = []
    while r.type(k) in OPERANDS | ARITHMETIC:
        units.append(r.type(k))
        k = r.partners.get(k, k) + 1
    return k - 1, units if _is_expression(units) else []


def _is_bound(word: str, units: list[str]) -> bool:
    """Return whether an expression needs no parentheses as a bound of P or E."""
    unsigned = units[1:] if word == "E" and units[0] == "MINUS" else units
    return unsigned == ["OPEN"] or (len(unsigned) in (1, 3) and _BOUNDS.issuperset(unsigned))


_BOUNDS = frozenset({"NUMBER", "NAME", "STRING", "SLASH"})
_CALLED = frozenset({("NAME", "OPEN"), ("LN", "OPEN"), ("LN", "NUMBER")})


def _is_expression(units: list[str]) -> bool:
    """Return whether types of tokens, and of brackets as one, may be those of an expression."""
    if not units or units[-1] in ARITHMETIC or units[0] in ARITHMETIC - {"MINUS"}:
        return False
    pairs = pairwise(units)
    return all(pair in _CALLED or not ARITHMETIC.isdisjoint(pair) for pair in pairs)
