"""Words of the language: a symbol or label that is spelled like one is written in quotes."""

from __future__ import annotations

import re
from typing import Final

OPERATOR_WORDS: Final = frozenset("PDXFGUWRE")
"""Operators inside formulas, and names everywhere else."""

_WORDS: Final = """
import const fun dist mechanism chain check refute compute input public adjacent var while repeat
run stop output state init observe if then else for in where true false ln div mod forall exists
normalized clamped conditioned folded wrapped param query prior unbounded
"""

KEYWORDS: Final = frozenset(_WORDS.split())

RESERVED: Final = "a reserved word"
"""What a keyword is called where somebody takes it for a name."""

_NAME = re.compile(r"[^\W\d]\w*")


def is_plain(name: str) -> bool:
    """Return whether a name needs no quotes inside a formula.

    >>> is_plain("top"), is_plain("R"), is_plain("a b")
    (True, False, False)
    """
    return name not in KEYWORDS | OPERATOR_WORDS and _NAME.fullmatch(name) is not None


def word_text(name: str) -> str:
    """Return a symbol or label so that it is read as one: in quotes where it has to be.

    >>> word_text("top"), word_text("a, b"), word_text("diverged")
    ('top', '"a, b"', '"diverged"')
    """
    return name if is_plain(name) and name not in ("stopped", "diverged") else f'"{name}"'


BEFORE_OPERANDS: Final = {
    "not": "!",
    "next": "X",
    **dict.fromkeys(["eventually", "finally"], "F"),
    **dict.fromkeys(["always", "globally", "henceforth"], "G"),
}
"""Words that other languages have for what stands before an operand."""
