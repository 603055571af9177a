"""Plain slips: what was written another way elsewhere, and how it is written here.

A text with a syntax error is searched for habits of other languages: `return x`, `[0, 3]`,
`|x - x'|`, `if c:`, `3 ln 2`. Each is one mistake, and an edit of the text after which the text is
read again, so that it hides no other mistake. A text without a syntax error is never searched:
nothing that the grammar accepts can be taken for a slip. What stands in the help of a slip is the
edit itself.
"""

from __future__ import annotations

import re

from dpcheck.diagnostics import syntax
from dpcheck.parse.slips.blocks import else_alone, indented_block, inner_item, output, repeated
from dpcheck.parse.slips.chains import (
    bare_neighbors,
    dash_comment,
    empty_adjacent,
    states_of_mechanism,
)
from dpcheck.parse.slips.claims import bound, bound_behind, question
from dpcheck.parse.slips.patterns import as_elsewhere
from dpcheck.parse.slips.reader import Reader, Rule, Slip
from dpcheck.parse.slips.sets import brackets
from dpcheck.parse.slips.words import (
    first_word,
    operator_word,
    product,
    reserved_word,
    top_level_constant,
)
from dpcheck.parse.tables import WORDS
from dpcheck.parse.tokens import QUESTION_WORDS, Token
from dpcheck.source import SourceText, Span

MOST_SLIPS = 200
"""Mistakes after which no more slips are looked for: nobody reads more."""

_A_MODEL = "`dpcheck new NAME` writes a mechanism to start from"
LANGUAGES = {
    r"(?:dtmc|ctmc|mdp|pta|endmodule)\b": (
        "a model of PRISM",
        "a chain is `chain c { state s[i in 0..2]  s[0] -> 1/2: s[1] + 1/2: s[2]  init s[0] }`",
    ),
    r"import [\w.]+ as \w+|class \w+.*:|if __name__": ("a program in Python", _A_MODEL),
    r"library\(\w+\)|\w+ <- function\(": ("a program in R", _A_MODEL),
    r"\\(?:documentclass|usepackage|begin)\b": ("LaTeX", _A_MODEL),
    r"int main\(|public class": ("a program in C or Java", _A_MODEL),
}
"""What begins a line of a text of another language, and of no model."""


def foreign_language(source: SourceText) -> syntax.ForeignLanguage | None:
    """Return that a text with syntax errors is one of another language, if it is."""
    for pattern, (language, advice) in LANGUAGES.items():
        match = re.search(rf"^[ \t]*(?P<word>{pattern})", source.text, re.MULTILINE)
        if match:
            place = Span(source, match.start("word"), match.end("word"))
            return syntax.ForeignLanguage(place, language, advice)
    return None


def slips_in(tokens: list[Token], source: SourceText, near: list[int]) -> list[Slip]:
    """Return the slips in the items around the offsets `near`, no two of which overlap."""
    reader = Reader(tokens, source)
    wanted = {reader.item_of(offset) for offset in near}
    wanted |= {item - 1 for item in wanted}  # what is left open is seen at the next item
    found: list[Slip] = []
    edited: list[tuple[int, int]] = []
    for i, token in enumerate(tokens[:-1]):
        if reader.item_of(token.start) not in wanted:
            continue
        if len(found) == MOST_SLIPS or reader.is_long_line(i):
            continue
        is_word = WORDS.get(token.text) == token.type != "OUTPUT"
        rules = _RULES.get(token.type, (as_elsewhere,))
        for rule in (reserved_word, *rules) if is_word else rules:
            slip = rule(reader, i)
            if slip is None:
                continue
            places = [(edit.start, edit.end) for edit in slip.edits]
            if not any(a < d and c < b for a, b in places for c, d in edited):
                found.append(slip)
                edited += places
                break
    return found


_RULES: dict[str, tuple[Rule, ...]] = {
    "NAME": (
        *(as_elsewhere, first_word, repeated, operator_word, product, top_level_constant),
        bound_behind,
    ),
    "VAR": (first_word,),
    "LN": (product,),
    "OPEN": (product, as_elsewhere),
    **dict.fromkeys(("P", "E"), (bound, bound_behind, as_elsewhere)),
    "MINUS": (dash_comment, as_elsewhere),
    "TILDE": (as_elsewhere, states_of_mechanism, bare_neighbors),
    "MOD": (dash_comment,),
    "OPEN_BRACKET": (as_elsewhere, brackets),
    "COLON": (indented_block, as_elsewhere),
    "ELSE": (else_alone, as_elsewhere),
    "REPEAT": (repeated,),
    "ADJACENT": (empty_adjacent,),
    "OUTPUT": (as_elsewhere, output),
    **dict.fromkeys(QUESTION_WORDS, (inner_item, as_elsewhere, question)),
    **dict.fromkeys(("FUN", "DIST"), (inner_item,)),
    "IMPORT": (inner_item, as_elsewhere),
    **dict.fromkeys(("CONST", "PARAM"), (inner_item, as_elsewhere)),
}
"""The rules by the type of the token at which each looks; at others are the patterns alone."""
