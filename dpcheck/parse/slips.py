"""Plain slips: what was written another way elsewhere, and how it is written here.

A text with a syntax error is searched for habits of other languages: `return x`, `[0, 3]`,
`|x - x'|`, `if c:`, `3 ln 2`. Each is one mistake, and an edit of the text after which the text is
read again, so that it hides no other mistake. A text without a syntax error is never searched:
nothing that the grammar accepts can be taken for a slip. What stands in the help of a slip is the
edit itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from dpcheck.diagnostics import syntax
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.logic.quantities import QUANTITIES
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.parse.tokens import (
    BLOCK_HEADS,
    CLOSER_OF,
    CLOSERS,
    END,
    ENDERS,
    ITEM_WORDS,
    POLICY_TOKENS,
    QUESTION_WORDS,
    STATEMENT_WORDS,
    Token,
)
from dpcheck.source import SourceText, Span

MOST_SLIPS = 200
"""Mistakes after which no more slips are looked for: nobody reads more."""
LONG_LINE = 500
"""Slips shown at once, and tokens of a line beyond which nobody wrote it: a hostile text costs a
pass over it for each slip, and no more."""


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


class Edit(NamedTuple):
    """The characters `start <= offset < end` become `text`.

    `origin` is where in the text as written the new text stands, if it is moved from there.
    """

    start: int
    end: int
    text: str
    origin: int | None = None


class Slip(NamedTuple):
    """A mistake whose meaning is plain, and the edits that mend it."""

    mistake: Mistake
    edits: tuple[Edit, ...]


# fmt: off
AT_TOP_LEVEL = {
    **dict.fromkeys(["assert", "verify", "prove", "claim", "property", "theorem"], "check"),
    **dict.fromkeys(["print", "show", "eval", "evaluate", "report"], "compute"),
    **dict.fromkeys(["let", "define", "val", "var"], "const"),
    **dict.fromkeys(["def", "func", "function", "fn"], "fun"),
    **dict.fromkeys(["module", "algorithm", "procedure", "proc", "program"], "mechanism"),
    **dict.fromkeys(["include", "require", "source", "use", "load"], "import"),
}
IN_A_BLOCK = {
    **dict.fromkeys(["return", "print", "emit", "yield", "release", "publish", "show"], "output"),
    **dict.fromkeys(["halt", "exit", "quit", "abort"], "stop"),
    **dict.fromkeys(["private", "secret", "sensitive"], "input"),
    **dict.fromkeys(["neighbors", "neighbours", "neighbor", "neighbour", "adjacency"], "adjacent"),
    **dict.fromkeys(["let", "local", "val"], ""),
    **dict.fromkeys(["pass", "skip"], ""),
    "foreach": "for", "loop": "while true",
}
"""The first word of an element elsewhere, and here."""

BETWEEN_OPERANDS = {
    "and": "&", "or": "|", "implies": "=>", "iff": "=", "xor": "!=", "equals": "=", "to": "..",
}
TYPES = frozenset({"int", "integer", "float", "double", "real", "bool", "boolean", "str", "string"})
SATISFIES = frozenset({"satisfies", "is", "has", "fulfills", "ensures"})
ELSE_IF = frozenset({"elif", "elsif", "elseif"})
CLAIM_WORDS = frozenset({*QUANTITIES, "P", "D"})
DRAWN = frozenset({*DISTRIBUTIONS, "laplace"})
POLICY_WORDS = {
    **dict.fromkeys(["truncated", "bounded", "clipped", "clamp", "censored"], "clamped"),
    **dict.fromkeys(["reflected", "mirrored"], "folded"),
    **dict.fromkeys(["renormalized", "restricted", "rejected"], "conditioned"),
}
NORMS = {"_1": "l1", "_inf": "linf", "_infty": "linf", "_∞": "linf", "_0": "hamming"}
# fmt: on

LINE_WORDS = STATEMENT_WORDS - BLOCK_HEADS
RELATIONS = frozenset({"EQ", "GE", "GT", "LE", "LT"})
OPENERS = frozenset({*CLOSER_OF, "PATTERN_OPEN"})
NAMES = frozenset({"NAME", "ARG_NAME", "BREAK"})
OPERANDS = NAMES | {"NUMBER", "PRIMED", "STRING", "OPEN", "LN", "TRUE", "FALSE", "OUTPUT"}
PREFIXES = frozenset({"NOT", "X", "F", "G", "P", "D", "FORALL", "EXISTS", "MINUS"})
GOES_ON = frozenset({"ASSIGN", "TILDE", "EQ", "OPEN_BRACKET", "ARROW", "COLON"})
AFTER_A_NAME = GOES_ON | {"DOT", "COMMA", "PLUS", "MINUS", "STAR", "SLASH", "LT", "IN"}
"""What goes on from a name at the start of a statement that is meant as a name."""


def slips_in(tokens: list[Token], source: SourceText, near: list[int]) -> list[Slip]:
    """Return the slips in the items around the offsets `near`, no two of which overlap."""
    reader = _Reader(tokens, source)
    wanted = {reader.item_of(offset) for offset in near}
    wanted |= {item - 1 for item in wanted}  # what is left open is seen at the next item
    found: list[Slip] = []
    edited: list[tuple[int, int]] = []
    for i, token in enumerate(tokens[:-1]):
        if token.type not in _RULES or reader.item_of(token.start) not in wanted:
            continue
        if len(found) == MOST_SLIPS or reader.is_long_line(i):
            continue
        for rule in _RULES.get(token.type, ()):
            slip = rule(reader, i)
            if slip is None:
                continue
            places = [(edit.start, edit.end) for edit in slip.edits]
            if not any(a < d and c < b for a, b in places for c, d in edited):
                found.append(slip)
                edited += places
                break
    return found


class Mended(NamedTuple):
    """A text after edits, and where in the text as written each of its characters comes from."""

    text: str
    origins: list[tuple[int, int]]

    def token(self, token: Token) -> Token:
        """Return a token of the mended text with its place in the text as written."""
        if token.start == token.end:
            at = self.origins[token.start - 1][1] if token.start else 0
            return token._replace(start=at, end=at)
        start, end = self.origins[token.start][0], self.origins[token.end - 1][1]
        return token._replace(start=start, end=end)


def mended(text: str, slips: list[Slip]) -> Mended:
    """Return the text after the edits of all slips."""
    edits = [edit for slip in slips for edit in slip.edits]
    pieces: list[str] = []
    origins: list[tuple[int, int]] = []
    at = 0
    for edit in [*sorted(edits, key=lambda edit: edit[:2]), Edit(len(text), len(text), "")]:
        pieces += text[at : edit.start], edit.text
        origins += [(k, k + 1) for k in range(at, edit.start)]
        for k in range(len(edit.text)):
            place = (edit.start, edit.end)
            origins.append(place if edit.origin is None else (edit.origin + k, edit.origin + k + 1))
        at = edit.end
    return Mended("".join(pieces), origins)


class _Reader:
    """The tokens of a text, with what the rules ask about them, found in one pass each."""

    def __init__(self, tokens: list[Token], source: SourceText) -> None:
        self.tokens = tokens
        self.source = source
        self.lines = [source.position(token.start)[0] for token in tokens]
        ends = [0, *(source.position(token.end)[0] for token in tokens[:-1])]
        self.is_first = [i == 0 or line != ends[i] for i, line in enumerate(self.lines)]
        firsts = [0]
        for i in range(1, len(tokens)):
            firsts.append(i if self.is_first[i] else firsts[-1])
        self.line_firsts = firsts
        self.partners, self.blocks = _brackets_of(tokens)
        self.part_ends = self._part_ends()
        self.item_starts = [
            token.start
            for i, token in enumerate(tokens)
            if token.type in ITEM_WORDS and self.is_first[i]
        ]

    def _part_ends(self) -> list[int]:
        """Return for each token the last of its line, before `;` or the end of its bracket."""
        found = list(range(len(self.tokens)))
        for i in range(len(self.tokens) - 2, -1, -1):
            last = self.partners.get(i, i) if self.type(i) in OPENERS else i
            ends = self.type(last + 1) in CLOSERS | {END, "SEMICOLON"} or self.is_first[last + 1]
            found[i] = last if ends else found[last + 1]
        return found

    def item_of(self, offset: int) -> int:
        return bisect_right(self.item_starts, offset)

    def type(self, i: int) -> str:
        return self.tokens[i].type if 0 <= i < len(self.tokens) else END

    def text(self, i: int) -> str:
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def span(self, first: int, last: int) -> Span:
        return Span(self.source, self.tokens[first].start, self.tokens[last].end)

    def column(self, i: int) -> int:
        return self.source.position(self.tokens[i].start)[1]

    def is_long_line(self, i: int) -> bool:
        """Return whether the line is longer than anybody writes: rules look along it."""
        return i - self.line_firsts[i] > LONG_LINE or self.part_ends[i] - i > LONG_LINE

    def ends_operand(self, i: int) -> bool:
        return self.type(i) in ENDERS | NAMES and i >= 0

    def begins_element(self, i: int) -> bool:
        """Return whether a statement, declaration or item may begin at token i."""
        return self.is_first[i] or self.type(i - 1) in ("OPEN_BRACE", "CLOSE_BRACE", "SEMICOLON")

    def slip(self, first: int, last: int, *edits: Edit, why: str = "") -> Slip:
        """Return that tokens first to last are written as they are after the edits, and why."""
        span = self.span(first, last)
        local = [Edit(e.start - span.start, e.end - span.start, e.text) for e in edits]
        wanted = mended(span.text, [Slip(_NOTHING, tuple(local))]).text
        return Slip(syntax.ForeignSpelling(span, span.text, wanted, why), edits)

    def put(self, i: int, text: str, last: int | None = None) -> Edit:
        """Return the edit that writes the text in place of tokens i to last."""
        return Edit(self.tokens[i].start, self.tokens[i if last is None else last].end, text)

    def before(self, i: int, text: str) -> Edit:
        """Return the edit that inserts the text before token i."""
        return Edit(self.tokens[i].start, self.tokens[i].start, text)

    def after(self, i: int, text: str, last: int | None = None) -> Edit:
        """Return the edit that writes the text in place of what follows token i, up to the last."""
        return Edit(self.tokens[i].end, self.tokens[i if last is None else last].end, text)


_NOTHING = Mistake(None)


def _brackets_of(tokens: list[Token]) -> tuple[dict[int, int], list[int | None]]:
    """Return the partner of each bracket, and the innermost `{` open at each token.

    Both by position alone, whatever items begin; blocks are told from braces only.
    """
    partners: dict[int, int] = {}
    blocks: list[int | None] = []
    opened: list[int] = []
    braces: list[int] = []
    for i, token in enumerate(tokens):
        if token.type == "CLOSE_BRACE" and braces:
            braces.pop()
        blocks.append(braces[-1] if braces else None)
        if token.type == "OPEN_BRACE":
            braces.append(i)
        if token.type in OPENERS:
            opened.append(i)
        elif token.type in CLOSERS and opened:
            partners[i] = opened.pop()
            partners[partners[i]] = i
    return partners, blocks


Rule = Callable[[_Reader, int], Slip | None]


# --- words ---------------------------------------------------------------------------------


def _first_word(r: _Reader, i: int) -> Slip | None:
    """`return x` is `output x`, `assert m: dp(1)` is `check m: dp(1)`."""
    word = r.text(i)
    if not r.begins_element(i) or (r.type(i + 1) in AFTER_A_NAME and word != "loop"):
        return None
    is_inner = r.blocks[i] is not None or r.column(i) > 1
    meant = (IN_A_BLOCK if is_inner else AT_TOP_LEVEL).get(word)
    has_operand = r.type(i + 1) in OPERANDS | {"OPEN_BRACE", "MINUS"} and not r.is_first[i + 1]
    if meant == "" and has_operand:
        return r.slip(i, i + 1, Edit(r.tokens[i].start, r.tokens[i + 1].start, ""))
    if meant == "output" and not has_operand:
        meant = "stop"
    if meant == "fun" and r.text(r.part_ends[i]) in (":", "{"):
        meant = "mechanism"
    return r.slip(i, i, r.put(i, meant)) if meant else None


def _else_if(r: _Reader, i: int) -> Slip | None:
    """`elif` is `else if`."""
    return r.slip(i, i, r.put(i, "else if")) if r.text(i) in ELSE_IF else None


def _operator_word(r: _Reader, i: int) -> Slip | None:
    """Words: `a and b` is `a & b`; `not a` is `!a`; `x not in S` is `!(x in S)`."""
    word = r.text(i).lower()
    ends = r.ends_operand(i - 1) and not r.is_first[i]
    ends = ends and r.text(i - 1).lower() not in BETWEEN_OPERANDS
    if word in BETWEEN_OPERANDS and ends and r.type(i + 1) in OPERANDS | PREFIXES:
        return r.slip(i, i, r.put(i, BETWEEN_OPERANDS[word]))
    if word != "not":
        return None
    if not ends and r.type(i + 1) in OPERANDS | PREFIXES and not r.is_first[i + 1]:
        return r.slip(i, i, Edit(r.tokens[i].start, r.tokens[i + 1].start, "!"))
    if ends and r.type(i + 1) == "IN":
        left = i - 1
        while r.ends_operand(left - 1) or r.type(left) in CLOSERS:
            left = r.partners.get(left, left) if r.type(left) in CLOSERS else left - 1
        right = i + 2
        right = r.partners.get(right, right)
        while r.type(right + 1) in ("DOTS", "PLUS", "MINUS", "STAR") or r.type(right) == "DOTS":
            right += 1
        edits = r.before(left, "!("), r.put(i, "in", i + 1), r.after(right, ")")
        return r.slip(left, right, *edits)
    return None


def _idle_word(r: _Reader, i: int) -> Slip | None:
    """`while c do {`, `repeat 3 times {`: the block needs no word before it."""
    is_idle = r.text(i) in ("do", "times", "begin") and r.type(i + 1) == "OPEN_BRACE"
    if not is_idle or r.begins_element(i):
        return None
    return r.slip(i - 1, i, r.after(i - 1, "", i))


def _logarithm(r: _Reader, i: int) -> Slip | None:
    """`log 2` is `ln 2`."""
    is_log = r.text(i) == "log" and r.type(i + 1) in ("NUMBER", "NAME")
    return r.slip(i, i, r.put(i, "ln")) if is_log and not r.is_first[i + 1] else None


def _typed(r: _Reader, i: int) -> Slip | None:
    """`float eps`, `const int n`, `eps: float`: a name has no type."""
    word = r.text(i)
    if word not in TYPES:
        return None
    if r.type(i + 1) in NAMES and not r.is_first[i + 1]:
        is_constant = r.is_first[i] and r.blocks[i] is None
        word = "const " if is_constant else ""
        return r.slip(i, i + 1, Edit(r.tokens[i].start, r.tokens[i + 1].start, word))
    if r.type(i - 1) == "COLON" and r.type(i - 2) in NAMES and r.type(i - 3) != "STATE":
        return r.slip(i - 2, i, r.after(i - 2, "", i))
    return None


def _top_level_constant(r: _Reader, i: int) -> Slip | None:
    """`n = 3` outside of everything is `const n = 3`."""
    is_outer = r.is_first[i] and r.column(i) == 1 and r.blocks[i] is None
    if is_outer and r.type(i + 1) in ("EQ", "ASSIGN"):
        return r.slip(i, i + 1, r.before(i, "const "), r.put(i + 1, "="))
    return None


# --- operators -----------------------------------------------------------------------------


def _product(r: _Reader, i: int) -> Slip | None:
    """`3 ln 2`, `2 eps` and `2(x + 1)` need their `*`."""
    if not r.ends_operand(i - 1) or r.is_first[i]:
        return None
    kind = r.type(i)
    if kind != "LN" and r.type(i - 1) != "NUMBER":
        return None
    if kind in NAMES and (r.type(i + 1) in GOES_ON or _is_word(r, i)):
        return None
    if r.type(i - 2) in ("LE", "SLASH") and {r.text(i - 3), r.text(i - 5)} & set("FGU"):
        return None  # a bound of steps
    last = r.partners.get(i, i + (kind == "LN"))
    is_row = any(r.type(k) == "ARROW" for k in range(r.line_firsts[i], i))
    sign = ": " if is_row and kind in NAMES else " * "
    first = i - 3 if is_row and r.type(i - 2) == "SLASH" else i - 1
    return r.slip(first, last, Edit(r.tokens[i - 1].end, r.tokens[i].start, sign))


def _is_word(r: _Reader, i: int) -> bool:
    known = AT_TOP_LEVEL.keys() | IN_A_BLOCK.keys() | BETWEEN_OPERANDS.keys() | ELSE_IF
    return r.text(i) in known | {"not", "at"}


def _assignment(r: _Reader, i: int) -> Slip | None:
    """`c += 1`, `c++`, `y <- 3`."""
    name = i - 1
    if r.type(name) not in NAMES or not r.begins_element(name):
        return None
    sign = r.text(i)
    joined = r.tokens[i].end == r.tokens[i + 1].start
    if not joined:
        return None
    if r.type(i + 1) == "EQ" and sign in "+-*/":
        return r.slip(i, i + 1, r.put(i, f":= {r.text(name)} {sign}", i + 1))
    if r.text(i + 1) == sign and sign in "+-":
        return r.slip(i, i + 1, r.put(i, f":= {r.text(name)} {sign} 1", i + 1))
    if sign == "<" and r.type(i + 1) == "MINUS":
        is_dollar = r.text(i + 2) == "$"
        is_draw = is_dollar or r.text(i + 2) in DRAWN
        return r.slip(i, i + 1 + is_dollar, r.put(i, "~" if is_draw else ":=", i + 1 + is_dollar))
    if sign + r.text(i + 1) in ("<~", "~~", ":~"):
        return r.slip(i, i + 1, r.put(i, "~", i + 1))
    return None


def _percent(r: _Reader, i: int) -> Slip | None:
    """`75%` is `75/100`."""
    if r.span(i, i).text == "%" and r.type(i - 1) == "NUMBER" and r.type(i + 1) not in OPERANDS:
        return r.slip(i - 1, i, r.put(i, "/100"))
    return None


def _bars(r: _Reader, i: int) -> Slip | None:
    """`|x - x'|` is `abs(x - x')`, and `||x - x'||_1` is `l1(x, x')`."""
    if r.ends_operand(i - 1) and not (r.type(i - 1) in NAMES and r.is_first[i - 1]):
        return None
    bar = r.span(i, i).text
    end = r.part_ends[i]
    for j in range(i + 1, end + 1):
        if r.span(j, j).text == bar and r.ends_operand(j - 1):
            break
    else:
        return None
    if bar == "|":
        return r.slip(i, j, r.put(i, "abs("), r.put(j, ")"))
    norm = NORMS.get(r.text(j + 1))
    minus = [k for k in range(i, j) if r.type(k) == "MINUS"]
    if norm is None or len(minus) != 1:
        return None
    comma = r.after(minus[0] - 1, ",", minus[0])
    return r.slip(i, j + 1, r.put(i, f"{norm}("), comma, r.put(j, ")", j + 1))


def _choice(r: _Reader, i: int) -> Slip | None:
    """`c ? a : b` is `if c then a else b`."""
    colon = next((k for k in range(i, r.part_ends[i]) if r.type(k) == "COLON"), None)
    left = _operand_start(r, i)
    if colon is None or left is None or not r.ends_operand(i - 1):
        return None
    edits = r.before(left, "if "), r.put(i, "then"), r.after(colon - 1, " else", colon)
    return r.slip(left, r.part_ends[i], *edits)


def _choice_behind(r: _Reader, i: int) -> Slip | None:
    """Python's `a if c else b` is `if c then a else b`."""
    end = r.part_ends[i]
    other = next((k for k in range(i, end) if r.type(k) == "ELSE"), None)
    left = _operand_start(r, i)
    if other is None or left is None or left == i or r.begins_element(i):
        return None
    if any(r.type(k) in ("THEN", "OPEN_BRACE") for k in range(i, other)):
        return None
    condition = r.span(i, other - 1).text
    return r.slip(left, end, r.before(left, f"{condition} then "), r.after(i - 1, "", other - 1))


def _operand_start(r: _Reader, i: int) -> int | None:
    """Return where, on the line, the expression before token i begins."""
    k = i
    while not r.is_first[k]:
        if r.type(k - 1) in OPENERS | {"ASSIGN", "TILDE", "OUTPUT", "COMMA", "COLON"}:
            return k
        k = r.partners.get(k - 1, k - 1) if r.type(k - 1) in CLOSERS else k - 1
    return None


# --- sets ----------------------------------------------------------------------------------


def _brackets(r: _Reader, i: int) -> Slip | None:
    """`[0, 3]` is `0..3` or `{0, 3}`, `[0..3]` is `0..3`; a list `[1, 2]` is a tuple `(1, 2)`.

    `~ [0: 1/2, 1: 1/2]` is `~ {0: 1/2, 1: 1/2}`.
    """
    close = r.partners.get(i)
    before = r.type(i - 1)
    if close == i + 1:
        return _modality(r, i)
    if close is None or r.text(i - 2) in ("P", "E") or r.text(i - 1) in ("P", "D", "Pr", "Prob"):
        return None
    inner = [k for k in range(i + 1, close) if r.type(k) in ("COMMA", "DOTS")]
    if before in POLICY_TOKENS | {"IN"}:
        if r.type(r.line_firsts[i]) in QUESTION_WORDS:
            return None
        is_range = len(inner) == 1 and (before in POLICY_TOKENS or r.type(i + 1) == "NUMBER")
        if is_range and r.type(inner[0]) == "COMMA":
            comma = Edit(r.tokens[inner[0]].start, r.tokens[inner[0] + 1].start, "..")
            items = r.span(i + 1, close - 1).text
            other = f"for all from one to the other, or `{{{items}}}` for these two alone"
            why = "" if before in POLICY_TOKENS else other
            return r.slip(i, close, r.put(i, ""), comma, r.put(close, ""), why=why)
        if is_range:
            return r.slip(i, close, r.put(i, ""), r.put(close, ""))
        return r.slip(i, close, r.put(i, "{"), r.put(close, "}"))
    if r.ends_operand(i - 1) or not inner:
        return None
    if any(r.type(k) == "COLON" for k in range(i, close)):
        return r.slip(i, close, r.put(i, "{"), r.put(close, "}")) if before == "TILDE" else None
    return r.slip(i, close, r.put(i, "("), r.put(close, ")"))


def _decimal(r: _Reader, i: int) -> Slip | None:
    """`.5` is `0.5`."""
    if r.type(i + 1) != "NUMBER" or r.ends_operand(i - 1):
        return None
    return r.slip(i, i + 1, r.before(i, "0"))


def _modality(r: _Reader, i: int) -> Slip | None:
    """`<> a` is `F a`, `[] a` is `G a`, inside of a claim."""
    if r.ends_operand(i - 1) or r.type(r.line_firsts[i]) not in QUESTION_WORDS:
        return None
    box = r.type(i) == "OPEN_BRACKET"
    if not box and r.span(i, i).text != "<>":
        return None
    return r.slip(i, i + box, r.put(i, "G" if box else "F", i + box))


def _thousands(r: _Reader, i: int) -> Slip | None:
    """`1,000,000` is `1000000`."""
    last = i
    while r.type(last + 1) == "COMMA" and re.fullmatch(r"\d{3}", r.text(last + 2)):
        if r.tokens[last + 2].start != r.tokens[last].end + 1:
            break
        last += 2
    if last == i or r.type(i - 1) in OPENERS | {"COMMA"}:
        return None
    edits = [Edit(r.tokens[k].start, r.tokens[k].end, "") for k in range(i + 1, last, 2)]
    return r.slip(i, last, *edits)


def _declared_with_colon(r: _Reader, i: int) -> Slip | None:
    """`input x : 0..3` is `input x in 0..3`; `for i = 1..3` is `for i in 1..3`."""
    if r.type(i - 2) in ("INPUT", "PUBLIC", "FOR") and r.type(i - 1) in NAMES:
        if r.tokens[i - 1].end < r.tokens[i].start:
            return r.slip(i, i, r.put(i, "in"))
        return r.slip(i - 1, i, r.after(i - 1, " in", i))
    is_range = r.type(i - 2) == "IN" and r.type(i - 1) == r.type(i + 1) == "NUMBER"
    return r.slip(i - 1, i + 1, r.put(i, "..")) if is_range else None


def _policy_call(r: _Reader, i: int) -> Slip | None:
    """`clamped(0, 3)` is `clamped 0..3`."""
    close = r.partners.get(i)
    commas = [k for k in range(i, close or i) if r.type(k) == "COMMA"]
    if r.type(i - 1) not in POLICY_TOKENS or close is None or len(commas) != 1:
        return None
    opening = Edit(r.tokens[i - 1].end, r.tokens[i].end, " ")
    dots = Edit(r.tokens[commas[0]].start, r.tokens[commas[0] + 1].start, "..")
    return r.slip(i - 1, close, opening, dots, r.put(close, ""))


# --- blocks --------------------------------------------------------------------------------


def _indented_block(r: _Reader, i: int) -> Slip | None:
    """`if c:` before an indented block, or before a statement on its line."""
    head = r.line_firsts[i]
    is_word = r.text(head) in ELSE_IF or AT_TOP_LEVEL.get(r.text(head)) in ("fun", "mechanism")
    if r.type(head) not in BLOCK_HEADS | {"FORALL"} and not is_word:
        return None
    before = range(head, i)
    if any(r.type(k) in OPENERS and r.partners.get(k, i) >= i for k in before):
        return None
    if any(r.type(k) in QUESTION_WORDS for k in before):
        return None
    colon = r.after(i - 1, " {", i)
    if not r.is_first[i + 1]:
        if r.type(i + 1) not in LINE_WORDS | NAMES | QUESTION_WORDS:
            return None
        last = r.part_ends[i]
        return r.slip(i - 1, last, colon, r.after(last, " }"))
    after = i + 1
    while r.type(after) != END and (not r.is_first[after] or r.column(after) > r.column(head)):
        after += 1
    if after == i + 1:
        return None
    last_line = r.lines[after - 1]
    mistake = syntax.IndentedBlock(r.span(i, i), r.text(head), last_line)
    return Slip(mistake, (colon, r.after(after - 1, "\n}")))


def _block_without_braces(r: _Reader, i: int) -> Slip | None:
    """`if c output a`, `if c then output a`, `else output b`."""
    first = i - 1 if r.type(i - 1) == "ELSE" else i
    if not r.begins_element(first):
        return None
    end = r.part_ends[i]
    for k in range(i + 1, end + 1):
        if r.type(k) in ("OPEN_BRACE", "COLON"):
            return None
        if r.type(k) == "THEN" or _is_statement(r, k):
            break
    else:
        return None
    last = next((m - 1 for m in range(k, end + 1) if r.type(m) == "ELSE"), end)
    first = k + 1 if r.type(k) == "THEN" else k
    if r.type(first) == "OPEN_BRACE":
        return r.slip(i, k, r.after(k - 1, "", k))
    if not _is_statement(r, first):
        return None
    opening = Edit(r.tokens[k].start, r.tokens[first].start, "{ ")
    edits = [opening, r.after(last, " }")]
    if last < end and r.type(last + 2) != "OPEN_BRACE":
        edits += r.after(last + 1, " {"), r.after(end, " }")
    return r.slip(i, end, *edits)


def _is_statement(r: _Reader, i: int) -> bool:
    """Return whether token i begins a statement of one line."""
    assigns = r.type(i) in NAMES and r.type(i + 1) in ("ASSIGN", "TILDE")
    return r.type(i) in LINE_WORDS or assigns or r.text(i) in ("return", "print")


def _else_alone(r: _Reader, i: int) -> Slip | None:
    """`else` before the `}` of its `if`."""
    brace = r.blocks[i]
    if r.type(i - 1) == "CLOSE_BRACE" or brace is None or r.type(r.line_firsts[brace]) != "IF":
        return None
    if r.lines[brace] == r.lines[i] or r.column(r.line_firsts[brace]) != r.column(i):
        return None
    place = r.span(brace, brace)
    mistake = syntax.UnclosedBracket(r.span(i, i), place, "}", "`if`", "`else`", "} else")
    return Slip(mistake, (r.before(i, "} "),))


def _inner_item(r: _Reader, i: int) -> Slip | None:
    """`fun`, `const`, `check` inside of a mechanism: they belong outside."""
    brace = r.blocks[i]
    if brace is None:
        return None
    head, close = r.line_firsts[brace], r.partners.get(brace, len(r.tokens) - 1)
    if r.type(head) not in ("MECHANISM", "CHAIN") or not r.is_first[i]:
        return None
    if r.column(i) <= r.column(head) or r.blocks[brace] is not None:
        return None
    after = i + 1
    while after < close and (not r.is_first[after] or r.column(after) > r.column(i)):
        after += 1
    start, end = r.tokens[i].start, r.tokens[after - 1].end
    home = f"at the top level of the file, outside of the {r.text(head)}"
    mistake = syntax.Misplaced(
        r.span(i, i), r.text(i), home, (r.lines[i], r.lines[after - 1], r.lines[head])
    )
    text, target = r.source.text[start:end], r.tokens[head].start
    # The line break keeps the item on lines of its own; it comes from nowhere.
    moved = Edit(target, target, text, start), Edit(target, target, "\n")
    return Slip(mistake, (Edit(start, end, ""), *moved))


def _import_from(r: _Reader, i: int) -> Slip | None:
    """`from std import survey` is `import std.survey`."""
    if r.text(i) != "from" or r.type(i + 2) != "IMPORT" or r.type(i + 3) not in NAMES:
        return None
    return r.slip(i, i + 3, r.put(i, f"import {r.text(i + 1)}.{r.text(i + 3)}", i + 3))


def _constant_without_sign(r: _Reader, i: int) -> Slip | None:
    """`const n 3` is `const n = 3`."""
    if r.type(i - 1) in NAMES and r.type(i - 2) == "CONST":
        return r.slip(i - 1, i, r.after(i - 1, " ="))
    return None


def _for_all(r: _Reader, i: int) -> Slip | None:
    """`forall k in S: check ...` is `for k in S { check ... }`."""
    return r.slip(i, i, r.put(i, "for")) if r.is_first[i] and r.type(i + 2) == "IN" else None


def _loop_of_c(r: _Reader, i: int) -> Slip | None:
    """`for (i = 0; i < 3; i++)` and `for each i in S`."""
    if r.text(i + 1) == "each":
        return r.slip(i, i + 1, r.after(i, "", i + 1))
    close = r.partners.get(i + 1)
    if r.type(i + 1) != "OPEN" or close is None:
        return None
    if r.type(i + 3) == "IN":
        return r.slip(i, close, r.put(i + 1, ""), r.put(close, ""))
    head = r.span(i + 1, close).text
    shape = r"\((?:int )?\s*(\w+)\s*:?=\s*([^;]+?)\s*;\s*\1\s*(<=?)\s*([^;]+?)\s*;[^;]*\)"
    match = re.fullmatch(shape, head)
    if match is None:
        return None
    name, low, sign, high = match.groups()
    high += "" if sign == "<=" else " - 1"
    return r.slip(i, close, r.put(i + 1, f"{name} in {low}..{high}", close))


def _output(r: _Reader, i: int) -> Slip | None:
    """`output x, y` is `output (x, y)`; `output = x` and `output := x` are `output x`."""
    if r.blocks[i] is None or not r.begins_element(i):
        return None
    if r.type(i + 1) in ("EQ", "ASSIGN"):
        return r.slip(i, i + 1, r.after(i, "", i + 1))
    end = r.part_ends[i]
    depth = 0
    for k in range(i + 1, end + 1):
        depth += (r.type(k) in OPENERS) - (r.type(k) in CLOSERS)
        if r.type(k) == "COMMA" and depth == 0:
            return r.slip(i, end, r.before(i + 1, "("), r.after(end, ")"))
    return None


# --- claims --------------------------------------------------------------------------------


def _question(r: _Reader, i: int) -> Slip | None:
    """`check m satisfies c`, `check m c`, `check: c`, `check m.epsilon = 1`."""
    start = i + (2 if r.type(i + 1) == "STRING" else 1)
    if r.type(start) == "COLON":
        name = _declared(r)
        return None if name is None else r.slip(i, start, r.after(start - 1, f" {name}"))
    if r.type(start) not in NAMES | {"P", "D"}:
        return None
    reversed_ = _reversed_question(r, start)
    if reversed_ is not None:
        return reversed_
    end = start
    if r.type(end + 1) == "OPEN":
        end = r.partners.get(end + 1, end)
    after = end + 1
    kind = r.type(after)
    if r.is_first[after] or kind in ("COLON", "AT", END) or r.text(after) == "at":
        return None
    if kind == "COMMA" and r.type(after + 1) in NAMES and r.type(after + 2) != "COLON":
        return r.slip(end, after, r.after(end, " at", after))
    if r.text(after) in SATISFIES or kind == "DOT":
        return r.slip(end, after, r.after(end, ":", after))
    if kind == "OR" and r.type(after + 1) == "EQ":
        return r.slip(end, after + 1, r.after(end, ":", after + 1))
    if kind in OPERANDS | {"P", "D"}:
        return r.slip(end, after, r.after(end, ":"))
    return None


def _reversed_question(r: _Reader, start: int) -> Slip | None:
    """`check epsilon = 1 : m` is `check m: epsilon = 1`."""
    end = r.part_ends[start]
    if r.text(start) not in CLAIM_WORDS or r.type(end) not in NAMES or r.type(end - 1) != "COLON":
        return None
    if r.type(start + 1) == "COLON":
        return None
    claim = r.span(start, end - 2).text
    return r.slip(start, end, r.put(start, f"{r.text(end)}: {claim}", end))


def _declared(r: _Reader) -> str | None:
    """Return the first mechanism or chain of the text."""
    kinds = ("MECHANISM", "CHAIN")
    heads = (i + 1 for i, token in enumerate(r.tokens) if token.type in kinds)
    return next((r.text(i) for i in heads if r.type(i) in NAMES), None)


def _operator_in_tex(r: _Reader, i: int) -> Slip | None:
    """`D_{ε} [ p ]`, `P_{>=1/2} [ p ]`, `D(ε) [ p ]`, `P>=1/2 ( p )`, `Pmax=? [ p ]`."""
    word = r.text(i)
    if word in ("Pmax", "Pmin", "Pr", "Prob") and r.type(i + 1) in RELATIONS:
        return r.slip(i, i, r.put(i, "P"))
    if r.type(i + 1) == "OPEN_BRACKET" and word in ("P", "Pr", "Prob"):
        return _bound_behind(r, i)
    close = r.partners.get(i + 1)
    if close is None or r.type(close + 1) not in ("OPEN_BRACKET", "OPEN"):
        return None
    if word == "D_" or (word == "D" and r.type(i + 1) in ("OPEN", "OPEN_BRACKET")):
        return r.slip(i, close, r.put(i, "D{", i + 1), r.put(close, "}"))
    if word == "P_":
        return r.slip(i, close, r.put(i, "P", i + 1), r.put(close, ""))
    return None


def _path_in_parentheses(r: _Reader, i: int) -> Slip | None:
    """`P>=1/2 ( p )`, `D{ln 2} ( p )`: the path stands in brackets."""
    close = r.partners.get(i)
    if close is None or r.type(close + 1) == "OPEN_BRACKET":
        return None
    opener = r.partners.get(i - 1, -1)
    is_private = r.type(i - 1) in CLOSERS and r.text(opener - 1) in ("D", "D_")
    k = i - 1
    while r.type(k) in ("NUMBER", "NAME", "SLASH", "QUERY"):
        k -= 1
    is_probable = k < i - 1 and r.type(k) in RELATIONS and r.text(k - 1) == "P"
    if not is_private and not is_probable:
        return None
    return r.slip(i, close, r.put(i, "["), r.put(close, "]"))


def _claim_about_state(r: _Reader, i: int) -> Slip | None:
    """`check m: s |= c` is `check m at s: c`."""
    is_entailed = r.type(i + 1) == "EQ" and r.type(i - 1) in NAMES and r.type(i - 2) == "COLON"
    if not is_entailed or r.type(r.line_firsts[i]) not in QUESTION_WORDS:
        return None
    return r.slip(i - 3, i + 1, r.put(i - 2, f" at {r.text(i - 1)}:", i + 1))


def _bound_behind(r: _Reader, i: int) -> Slip | None:
    """`P[ p ] >= 1/2` is `P>=1/2 [ p ]`."""
    close = r.partners.get(i + 1)
    if close is None or r.type(close + 1) not in RELATIONS or r.type(close + 2) != "NUMBER":
        return None
    last = close + 2
    last += 2 * (r.type(last + 1) == "SLASH" and r.type(last + 2) == "NUMBER")
    bound = r.span(close + 1, last).text.replace(" ", "")
    path = r.span(i + 1, close).text
    return r.slip(i, last, r.put(i, f"P{bound} {path}", last))


def _power_of_target(r: _Reader, i: int) -> Slip | None:
    """`check m^10: c` is `check compose(m, 10): c`."""
    if r.type(i - 2) not in QUESTION_WORDS or r.type(i + 1) not in NAMES | {"NUMBER"}:
        return None
    return r.slip(i - 1, i + 1, r.put(i - 1, f"compose({r.text(i - 1)}, {r.text(i + 1)})", i + 1))


def _policy_word(r: _Reader, i: int) -> Slip | None:
    """Other policies: `truncated 0..n` is `clamped 0..n`."""
    meant = POLICY_WORDS.get(r.text(i))
    if meant is None or r.type(i - 1) != "CLOSE" or r.type(i + 1) in AFTER_A_NAME - {"MINUS"}:
        return None
    return r.slip(i, i, r.put(i, meant))


# --- chains --------------------------------------------------------------------------------


def _initial_state(r: _Reader, i: int) -> Slip | None:
    """`state s : init` is `state s`, and `init s`."""
    if r.type(i - 1) != "COLON" or r.type(i - 2) not in NAMES or r.type(i - 3) != "STATE":
        return None
    return r.slip(i - 3, i, r.put(i - 1, f" init {r.text(i - 2)}", i))


def _several_states(r: _Reader, i: int) -> Slip | None:
    """`states s, t` is `state s state t`."""
    first = i + 1
    last = first
    while r.type(last + 1) == "COMMA" and r.type(last + 2) in NAMES:
        last += 2
    is_list = r.text(i) in ("state", "states") and r.type(first) in NAMES and last > first
    if not is_list or r.type(last + 1) == "COLON":
        return None
    states = [f"state {r.text(k)}" for k in range(first, last + 1, 2)]
    return r.slip(i, last, r.put(i, " ".join(states), last))


def _bare_neighbors(r: _Reader, i: int) -> Slip | None:
    """`s ~ t` in a chain is `adjacent s ~ t`."""
    block = r.blocks[i]
    if block is None or r.type(r.line_firsts[block]) != "CHAIN" or not r.is_first[i - 1]:
        return None
    return r.slip(i - 1, i + 1, r.before(i - 1, "adjacent "))


def _dash_comment(r: _Reader, i: int) -> Slip | None:
    """`-- a comment`, and `% a comment` at the start of a line."""
    is_percent = r.span(i, i).text == "%" and r.is_first[i]
    is_dashes = r.type(i + 1) == "MINUS" and r.tokens[i].end == r.tokens[i + 1].start
    start = r.tokens[i].start
    spaced = (
        r.source.text[start + 2 : start + 3].isspace() and not r.source.text[:start][-1:].strip()
    )
    if not is_percent and not (is_dashes and spaced):
        return None
    line_end = start + len(r.source.line(r.lines[i])) - r.column(i) + 1
    sign = "%" if is_percent else "--"
    span = Span(r.source, start, start + len(sign))
    return Slip(syntax.SlashComment(span, sign), (Edit(start, line_end, ""),))


_RULES: dict[str, tuple[Rule, ...]] = {
    "NAME": (
        *(_policy_word, _several_states, _import_from, _else_if, _idle_word, _typed, _first_word),
        *(_operator_word, _logarithm, _product, _top_level_constant, _operator_in_tex),
    ),
    "VAR": (_first_word,),
    "P": (_operator_in_tex,),
    "D": (_operator_in_tex,),
    "INIT": (_initial_state,),
    "STATE": (_several_states,),
    "CARET": (_power_of_target,),
    "FORALL": (_for_all,),
    "LN": (_product,),
    "OPEN": (_policy_call, _path_in_parentheses, _product),
    "PLUS": (_assignment,),
    "MINUS": (_dash_comment, _assignment),
    "STAR": (_assignment,),
    "SLASH": (_assignment,),
    "LT": (_assignment,),
    "TILDE": (_assignment, _bare_neighbors),
    "MOD": (_dash_comment, _percent),
    "OR": (_claim_about_state, _bars),
    "QUERY": (_choice,),
    "OPEN_BRACKET": (_brackets,),
    "NUMBER": (_constant_without_sign, _thousands),
    "COLON": (_indented_block, _declared_with_colon, _assignment),
    "EQ": (_declared_with_colon,),
    "NE": (_modality,),
    "DOT": (_decimal,),
    "IF": (_block_without_braces, _choice_behind),
    "ELSE": (_else_alone, _block_without_braces),
    "FOR": (_loop_of_c,),
    "OUTPUT": (_output,),
    **dict.fromkeys(QUESTION_WORDS, (_inner_item, _question)),
    **dict.fromkeys(("CONST", "FUN", "DIST", "IMPORT"), (_inner_item,)),
}
"""The rules by the type of the token at which each looks."""
