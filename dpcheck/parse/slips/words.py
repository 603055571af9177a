"""Slips in words and operators: `return x`, `a and b`, `state := 1`, `3 ln 2`."""

from __future__ import annotations

from dpcheck.diagnostics import syntax
from dpcheck.logic.quantities import QUANTITIES
from dpcheck.model.words import BEFORE_OPERANDS, RESERVED
from dpcheck.parse.slips.reader import (
    AFTER_A_NAME,
    GOES_ON,
    NAMES,
    OPERANDS,
    PREFIXES,
    RELATIONS,
    Edit,
    Reader,
    Slip,
)
from dpcheck.parse.slips.vocabulary import AT_TOP_LEVEL, BETWEEN_OPERANDS, ELSE_IF, IN_A_BLOCK
from dpcheck.parse.tokens import QUESTION_WORDS

MOST_READ = 50
"""Places at which one reserved word gets another name."""


def first_word(r: Reader, i: int) -> Slip | None:
    """`return x` is `output x`, `assert m: dp(1)` is `check m: dp(1)`."""
    word = r.text(i)
    if _returns_on_a_line(r, i):
        return r.slip(i, i, r.put(i, "output"))
    if not r.begins_element(i) or (r.type(i + 1) in AFTER_A_NAME and word != "loop"):
        return None
    is_inner = r.blocks[i] is not None or r.column(i) > 1
    meant = (IN_A_BLOCK if is_inner else AT_TOP_LEVEL).get(word)
    has_operand = r.type(i + 1) in OPERANDS | {"OPEN_BRACE", "MINUS"} and not r.is_first[i + 1]
    if (r.type(i + 1), r.type(i + 2)) == ("OPEN", "CLOSE") and meant in ("output", "stop"):
        return r.slip(i, i + 2, r.put(i, "stop", i + 2))
    if meant == "" and has_operand:
        return r.slip(i, i + 1, Edit(r.tokens[i].start, r.tokens[i + 1].start, ""))
    if meant == "" and word in ("pass", "skip"):
        return r.slip(i, i, r.put(i, ""))
    if meant == "output" and not has_operand:
        meant = "stop"
    after = r.partners.get(i + 2, i + 1) + 1
    if meant == "fun" and (r.text(r.part_ends[i]) == ":" or r.type(after) == "OPEN_BRACE"):
        meant = "mechanism"
    return r.slip(i, i, r.put(i, meant)) if meant else None


def _returns_on_a_line(r: Reader, i: int) -> bool:
    """Return whether `return x` follows another statement: no name stands between two operands."""
    if r.blocks[i] is None or IN_A_BLOCK.get(r.text(i)) != "output" or r.begins_element(i):
        return False
    is_before_operand = r.type(i + 1) in OPERANDS and not r.is_first[i + 1]
    return is_before_operand and r.ends_operand(i - 1) and r.type(r.line_firsts[i]) != "ADJACENT"


def reserved_word(r: Reader, i: int) -> Slip | None:
    """`state := 1` needs another name, which stands for it wherever it is read in the mechanism."""
    home = r.blocks[i]
    if home is None or not r.begins_element(i) or not _is_assigned(r, i) or i in r.renamed:
        return None
    while (outer := r.blocks[home]) is not None:
        home = outer
    alike = (k for k in range(home, r.partners.get(home, i + 1)) if r.type(k) == r.type(i))
    names = [
        k
        for k in alike
        if (_is_assigned(r, k) if r.begins_element(k) else not r.ends_operand(k - 1))
    ]
    r.renamed.update(names)
    mistake = syntax.KeywordAsName(r.span(i, i), r.text(i), RESERVED, False, False)
    return Slip(mistake, tuple(r.put(k, f"{r.text(i)}_") for k in names[:MOST_READ]))


def _is_assigned(r: Reader, i: int) -> bool:
    """Return whether `:=` or `~` follows, also after an index."""
    bracket = r.partners.get(i + 1, i) if r.type(i + 1) == "OPEN_BRACKET" else i
    after = r.type(bracket + 1)
    return after == "ASSIGN" or (after == "TILDE" and r.type(i) not in ("PRIOR", "ADJACENT"))


def operator_word(r: Reader, i: int) -> Slip | None:
    """Words: `a and b` is `a & b`; `not a` is `!a`; `next a` is `X a`."""
    word = r.text(i).lower()
    ends = r.ends_operand(i - 1) and not r.is_first[i]
    ends = ends and r.text(i - 1).lower() not in BETWEEN_OPERANDS
    if word in BETWEEN_OPERANDS and ends and r.type(i + 1) in OPERANDS | PREFIXES:
        claim = _next_claim(r, i)
        why = "because quantities are claims of their own" if claim else ""
        return r.slip(i, i, r.put(i, claim or BETWEEN_OPERANDS[word]), why=why)
    is_before = not ends and r.type(i + 1) in OPERANDS | PREFIXES and not r.is_first[i + 1]
    is_formula = r.type(r.line_firsts[i]) in QUESTION_WORDS and r.type(i + 1) != "OPEN"
    if is_before and word in BEFORE_OPERANDS and (word == "not" or is_formula):
        after = r.tokens[i + 1].start if word == "not" else r.tokens[i].end
        return r.slip(i, i, Edit(r.tokens[i].start, after, BEFORE_OPERANDS[word]))
    return None


def _next_claim(r: Reader, i: int) -> str | None:
    """Return `check m:` for the `and` of `check m: dp(1) and c`: claims of quantities stand alone.

    All of a line of `check` holds if each claim does; of `refute` that is not so.
    """
    first = r.line_firsts[i]
    line = range(first, r.part_ends[i] + 1)
    colon = next((k for k in range(first, i) if r.type(k) == "COLON"), i)
    has_quantity = any(r.text(k) in QUANTITIES for k in line)
    if r.text(first) != "check" or r.text(i) != "and" or colon == i or not has_quantity:
        return None
    return r.span(first, colon).text


def top_level_constant(r: Reader, i: int) -> Slip | None:
    """`n = 3` outside of everything is `const n = 3`."""
    is_outer = r.is_first[i] and r.column(i) == 1 and r.blocks[i] is None
    if is_outer and r.type(i + 1) in ("EQ", "ASSIGN"):
        return r.slip(i, i + 1, r.before(i, "const "), r.put(i + 1, "="))
    return None


def product(r: Reader, i: int) -> Slip | None:
    """`3 ln 2`, `2 eps` and `2(x + 1)` need their `*`."""
    if not r.ends_operand(i - 1) or r.is_first[i] or r.text(i - 1) in QUANTITIES:
        return None
    kind = r.type(i)
    if kind != "LN" and r.type(i - 1) != "NUMBER":
        return None
    known = AT_TOP_LEVEL.keys() | IN_A_BLOCK.keys() | BETWEEN_OPERANDS.keys() | ELSE_IF
    if kind in NAMES and (r.type(i + 1) in GOES_ON or r.text(i) in known | {"not", "at"}):
        return None
    if r.type(i - 2) in ("LE", "GE", "SLASH") and {r.text(i - 3), r.text(i - 5)} & set("FGU"):
        return None  # a bound of steps
    bound = i - 1
    while r.type(bound) in ("NUMBER", "SLASH"):
        bound -= 1
    if r.type(bound) in RELATIONS and r.text(bound - 1) == "P":
        return None
    last = r.partners.get(i, i + (kind == "LN"))
    is_row = any(r.type(k) == "ARROW" for k in range(r.line_firsts[i], i))
    sign = ": " if is_row and kind in NAMES else " * "
    first = i - 3 if is_row and r.type(i - 2) == "SLASH" else i - 1
    return r.slip(first, last, Edit(r.tokens[i - 1].end, r.tokens[i].start, sign))
