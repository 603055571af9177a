"""Slips in brackets: `[0, 3]` for a set, a range, a tuple or an array."""

from __future__ import annotations

import re

from dpcheck.parse.slips.reader import NAMES, OPENERS, Edit, Reader, Slip
from dpcheck.parse.tokens import POLICY_TOKENS, QUESTION_WORDS


def brackets(r: Reader, i: int) -> Slip | None:
    """`[0, 3]` is `0..3` or `{0, 3}`, `[0..3]` is `0..3`; a list `[1, 2]` is a tuple `(1, 2)`.

    `~ [0: 1/2, 1: 1/2]` is `~ {0: 1/2, 1: 1/2}`.
    """
    close = r.partners.get(i)
    before = r.type(i - 1)
    if (
        close is None
        or close == i + 1
        or before in ("QUERY", "F", "G", "U")
        or r.type(i - 2) in ("VAR", "INPUT", "PUBLIC")
        or r.text(i - 2) in ("P", "E")
        or r.text(i - 1) in ("P", "D", "Pr", "Prob")
    ):
        return None
    inner = [k for k in r.directly_in(i, close) if r.type(k) in ("COMMA", "DOTS")]
    if before in POLICY_TOKENS | {"IN"}:
        if r.type(r.line_firsts[i]) in QUESTION_WORDS | {"PARAM"}:
            return None  # an interval, whose brackets say whether an end belongs to it
        is_range = len(inner) == 1 and (before in POLICY_TOKENS or r.type(i + 1) == "NUMBER")
        if is_range and r.type(inner[0]) == "COMMA":
            comma = Edit(r.tokens[inner[0]].start, r.tokens[inner[0] + 1].start, "..")
            items = r.span(i + 1, close - 1).text
            other = f"for all from one to the other, or `{{{items}}}` for these two alone"
            why = "" if before in POLICY_TOKENS else other
            return r.slip(i, close, r.put(i, ""), comma, r.put(close, ""), why=why)
        opening, closing = ("", "") if is_range else ("{", "}")
        return r.slip(i, close, r.put(i, opening), r.put(close, closing))
    is_generator = any(r.type(k) == "FOR" for k in r.directly_in(i, close))
    if r.ends_operand(i - 1) or not inner or is_generator:
        return None
    is_read = r.type(i - 2) in (*NAMES, "OUTPUT")
    if before == "EQ" and is_read and r.type(r.line_firsts[i]) in QUESTION_WORDS:
        return _elements(r, i - 2, close)
    if any(r.type(k) == "COLON" for k in range(i, close)):
        return r.slip(i, close, r.put(i, "{"), r.put(close, "}")) if before == "TILDE" else None
    array = _array(r, i, close) if before == "ASSIGN" and is_read else None
    return array or r.slip(i, close, r.put(i, "("), r.put(close, ")"))


def _array(r: Reader, i: int, close: int) -> Slip | None:
    """`v := [0, 0]`, of which elements are assigned, is `var v[1..2] := 0`."""
    name, n = r.text(i - 2), (close - i) // 2
    assigned = re.findall(rf"\b{name}\[([^\]\n]*)\] *(?::=|~)", r.source.text)
    items = [r.text(k) for k in range(i + 1, close)]
    if not assigned or [*items, ","] != [items[0], ","] * n:
        return None
    indices = f"0..{n - 1}" if "0" in assigned else f"1..{n}"
    return r.slip(i - 2, close, r.put(i - 2, f"var {name}[{indices}] := {r.text(i + 1)}", close))


def _elements(r: Reader, name: int, close: int) -> Slip | None:
    """`q = [0, 1]`, as states are written, is `q[1] = 0 & q[2] = 1` in a claim.

    What is read of an output stands in brackets: it may be of the next state, `X output = [0, 1]`.
    """
    first = name + 3
    ends = [k for k in range(first, close) if r.type(k) == "COMMA"] + [close]
    starts = [first, *(k + 1 for k in ends[:-1])]
    if close in starts or any(r.type(k) in OPENERS for k in range(first, close)):
        return r.slip(name + 2, close, r.put(name + 2, "("), r.put(close, ")"))
    items = [r.span(k, end - 1).text for k, end in zip(starts, ends, strict=True)]
    array = r.text(name)
    wanted = " & ".join(f"{array}[{k}] = {item}" for k, item in enumerate(items, 1))
    if r.type(name) == "OUTPUT":
        wanted = f"({wanted})"
    return r.slip(name, close, r.put(name, wanted, close))
