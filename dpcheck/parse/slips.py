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
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from dpcheck.diagnostics import syntax
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.logic.quantities import QUANTITIES
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.words import BEFORE_OPERANDS, RESERVED
from dpcheck.parse.tables import WORDS
from dpcheck.parse.tokens import (
    ARITHMETIC,
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
MOST_READ = 50
"""Places at which one reserved word gets another name."""
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
    "until": "U", "unless": "W", "releases": "R",
}
TYPES = frozenset({"int", "integer", "float", "double", "real", "bool", "boolean", "str", "string"})
GIVEN = frozenset({",", "with", "where", "given", "using", "for", "when", "if"})
SATISFIES = frozenset({"satisfies", "is", "has", "fulfills", "ensures"})
ELSE_IF = frozenset({"elif", "elsif", "elseif"})
CLAIM_WORDS = frozenset({*QUANTITIES, "P", "D"})
DRAWN = frozenset({*DISTRIBUTIONS, "laplace"})
BINDING = {word: word for word in ("sum", "product", "max", "min", "count", "argmax", "argmin")}
BINDING |= {"all": "forall", "any": "exists"}
POLICY_WORDS = {
    **dict.fromkeys(["truncated", "bounded", "clipped", "clamp", "censored"], "clamped"),
    **dict.fromkeys(["reflected", "mirrored"], "folded"),
    **dict.fromkeys(["renormalized", "restricted", "rejected"], "conditioned"),
}
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
        if reader.item_of(token.start) not in wanted:
            continue
        if len(found) == MOST_SLIPS or reader.is_long_line(i):
            continue
        is_word = WORDS.get(token.text) == token.type != "OUTPUT"
        rules = _RULES.get(token.type, (_as_elsewhere,))
        for rule in (_reserved_word, *rules) if is_word else rules:
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
        self.renamed: set[int] = set()  # reserved words, each looked for once in a mechanism
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

    def directly_in(self, opening: int, close: int) -> Iterator[int]:
        """Yield the tokens between two brackets, but for those in other brackets."""
        i = opening + 1
        while i < close:
            yield i
            i = max(self.partners.get(i, i), i) + 1

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


def _returns_on_a_line(r: _Reader, i: int) -> bool:
    """Return whether `return x` follows another statement: no name stands between two operands."""
    if r.blocks[i] is None or IN_A_BLOCK.get(r.text(i)) != "output" or r.begins_element(i):
        return False
    is_before_operand = r.type(i + 1) in OPERANDS and not r.is_first[i + 1]
    return is_before_operand and r.ends_operand(i - 1) and r.type(r.line_firsts[i]) != "ADJACENT"


def _reserved_word(r: _Reader, i: int) -> Slip | None:
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


def _is_assigned(r: _Reader, i: int) -> bool:
    """Return whether `:=` or `~` follows, also after an index."""
    bracket = r.partners.get(i + 1, i) if r.type(i + 1) == "OPEN_BRACKET" else i
    after = r.type(bracket + 1)
    return after == "ASSIGN" or (after == "TILDE" and r.type(i) not in ("PRIOR", "ADJACENT"))


def _operator_word(r: _Reader, i: int) -> Slip | None:
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


def _next_claim(r: _Reader, i: int) -> str | None:
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


def _top_level_constant(r: _Reader, i: int) -> Slip | None:
    """`n = 3` outside of everything is `const n = 3`."""
    is_outer = r.is_first[i] and r.column(i) == 1 and r.blocks[i] is None
    if is_outer and r.type(i + 1) in ("EQ", "ASSIGN"):
        return r.slip(i, i + 1, r.before(i, "const "), r.put(i + 1, "="))
    return None


# --- operators -----------------------------------------------------------------------------


def _product(r: _Reader, i: int) -> Slip | None:
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


# --- sets ----------------------------------------------------------------------------------


def _brackets(r: _Reader, i: int) -> Slip | None:
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


def _array(r: _Reader, i: int, close: int) -> Slip | None:
    """`v := [0, 0]`, of which elements are assigned, is `var v[1..2] := 0`."""
    name, n = r.text(i - 2), (close - i) // 2
    assigned = re.findall(rf"\b{name}\[([^\]\n]*)\] *(?::=|~)", r.source.text)
    items = [r.text(k) for k in range(i + 1, close)]
    if not assigned or [*items, ","] != [items[0], ","] * n:
        return None
    indices = f"0..{n - 1}" if "0" in assigned else f"1..{n}"
    return r.slip(i - 2, close, r.put(i - 2, f"var {name}[{indices}] := {r.text(i + 1)}", close))


def _elements(r: _Reader, name: int, close: int) -> Slip | None:
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


# --- blocks --------------------------------------------------------------------------------


def _indented_block(r: _Reader, i: int) -> Slip | None:
    """`if c:` before an indented block, or before a statement on its line."""
    head = r.line_firsts[i]
    is_word = r.text(head) in ELSE_IF or AT_TOP_LEVEL.get(r.text(head)) in ("fun", "mechanism")
    if r.type(head) not in BLOCK_HEADS | {"FORALL"} and not is_word:
        return None
    before = range(head + 1, i)
    if any(r.type(k) in OPENERS and r.partners.get(k, i) >= i for k in before):
        return None
    if any(r.type(k) in QUESTION_WORDS | {"EXISTS", "FORALL"} for k in before):
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


def _is_statement(r: _Reader, i: int) -> bool:
    """Return whether token i begins a statement of one line."""
    assigns = r.type(i) in NAMES and r.type(i + 1) in ("ASSIGN", "TILDE")
    return r.type(i) in LINE_WORDS or assigns or r.text(i) in ("return", "print")


def _else_alone(r: _Reader, i: int) -> Slip | None:
    """`else` before the `}` of its `if`."""
    brace = r.blocks[i]
    if r.type(i - 1) == "CLOSE_BRACE" or brace is None or r.type(r.line_firsts[brace]) != "IF":
        return None
    if r.lines[brace] == r.lines[i]:
        is_expression = any(r.type(k) in ("IF", "THEN") for k in range(brace, i))
        is_closed = r.lines[r.partners.get(brace, -1)] == r.lines[i]
        if is_expression or is_closed or r.type(i + 1) not in ("OPEN_BRACE", "IF"):
            return None
    elif r.column(r.line_firsts[brace]) != r.column(i):
        return None
    place = r.span(brace, brace)
    mistake = syntax.UnclosedBracket(r.span(i, i), place, "}", "`if`", "`else`", "} else")
    return Slip(mistake, (r.before(i, "} "),))


def _repeated(r: _Reader, i: int) -> Slip | None:
    """`repeat { ... } until c` is `while true { ... if c { break } }`; so is `do { ... } while`."""
    close = r.partners.get(i + 1, -1)
    word, last = r.text(close + 1), r.part_ends[close + 1]
    is_loop = r.type(i + 1) == "OPEN_BRACE" and r.text(i) in ("repeat", "do")
    is_test = word in ("until", "while") and close + 1 < last and r.type(last) != "CLOSE_BRACE"
    if not is_loop or not is_test:
        return None
    condition = r.span(close + 2, last).text
    test = condition if word == "until" else f"!({condition})"
    return r.slip(i, last, r.put(i, "while true"), r.put(close, f"if {test} {{ break }} }}", last))


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


def _output(r: _Reader, i: int) -> Slip | None:
    """`output x, y` is `output (x, y)`; `output = x` is `output x`; `output ~ d` needs a name."""
    if r.blocks[i] is None or not r.begins_element(i):
        return None
    if r.type(i + 1) == "TILDE":
        taken = {token.text for token in r.tokens}
        name = next(name for name in ("y", "z", "shown", "what_is_shown") if name not in taken)
        return r.slip(i, r.part_ends[i], r.put(i, name), r.after(r.part_ends[i], f" output {name}"))
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


def _has_colon(r: _Reader, i: int) -> bool:
    """Return whether a colon stands in the rest of a claim, outside of brackets."""
    k = i
    while k <= r.part_ends[i] and r.type(k) not in QUESTION_WORDS | {"COLON"}:
        k = max(r.partners.get(k, k), k) + 1
    return r.type(k) == "COLON"


def _given(r: _Reader, end: int, word: int) -> Slip | None:
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


def _interval(r: _Reader, name: str, relation: str, value: str) -> str:
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


def _declared(r: _Reader) -> str | None:
    """Return the first mechanism or chain of the text."""
    kinds = ("MECHANISM", "CHAIN")
    heads = (i + 1 for i, token in enumerate(r.tokens) if token.type in kinds)
    return next((r.text(i) for i in heads if r.type(i) in NAMES), None)


def _bound(r: _Reader, i: int) -> Slip | None:
    """`P>=exp(-1)/2 [ c ]` is `P>=(exp(-1)/2) [ c ]`: without `(` a bound is a or a/b."""
    first = i + 2
    if r.type(i + 1) not in RELATIONS:
        return None
    last, units = _bound_units(r, first)
    if r.type(last + 1) != "OPEN_BRACKET" or not units or _is_bound(r.type(i), units):
        return None
    why = "with the bound in parentheses"
    return r.slip(i, last, r.before(first, "("), r.after(last, ")"), why=why)


def _bound_behind(r: _Reader, i: int) -> Slip | None:
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


def _bound_units(r: _Reader, first: int) -> tuple[int, list[str]]:
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


# --- chains --------------------------------------------------------------------------------


def _empty_adjacent(r: _Reader, i: int) -> Slip | None:
    """Say what may stand after an `adjacent` of a mechanism with nothing on its line."""
    brace, after = r.blocks[i], i + 1
    if brace is None or r.type(r.line_firsts[brace]) != "MECHANISM" or not r.is_first[after]:
        return None
    if not (_is_statement(r, after) or r.type(after) in CLOSERS | BLOCK_HEADS | {"INPUT", "VAR"}):
        return None
    example = _example_of_adjacency(r, brace, i)
    wanted, edit = "which inputs are neighbors", f"write `adjacent {example}`"
    mistake = syntax.Unexpected(r.span(i, i), (wanted,), "the end of the line", edit)
    return Slip(mistake, (r.after(i, " all"),))


def _example_of_adjacency(r: _Reader, brace: int, i: int) -> str:
    """Return a condition for the first input of numbers in a mechanism, `all` if there is none."""
    for k in range(brace, r.partners.get(brace, i)):
        if r.type(k) == "INPUT" and r.type(k + 3) == "NUMBER":
            is_array, name = r.type(k + 2) == "OPEN_BRACKET", r.text(k + 1)
            return f"linf({name}, {name}') <= 1" if is_array else f"abs({name} - {name}') <= 1"
    return "all"


def _states_of_mechanism(r: _Reader, i: int) -> Slip | None:
    """`adjacent x ~ x'`, as in a chain, says in a mechanism which inputs are neighbors."""
    brace = r.blocks[i]
    if brace is None or r.type(r.line_firsts[brace]) != "MECHANISM" or r.type(i + 1) != "PRIMED":
        return None
    if r.type(i - 2) != "ADJACENT" or r.text(i + 1) != f"{r.text(i - 1)}'":
        return None
    example = _example_of_adjacency(r, brace, i)
    why = "" if example == "all" else "or `adjacent all`"
    return r.slip(i - 2, i + 1, r.put(i - 1, example, i + 1), why=why)


def _bare_neighbors(r: _Reader, i: int) -> Slip | None:
    """`s ~ t` in a chain is `adjacent s ~ t`."""
    block = r.blocks[i]
    if block is None or r.type(r.line_firsts[block]) != "CHAIN" or not r.is_first[i - 1]:
        return None
    return r.slip(i - 1, i + 1, r.before(i - 1, "adjacent "))


def _dash_comment(r: _Reader, i: int) -> Slip | None:
    """`-- a comment`, and `% a comment` at the start of a line."""
    start = r.tokens[i].start
    match = re.compile(r"((?<!\S)--(?=\s)|%).*").match(r.source.text, start)
    if match is None or (match[1] == "%" and not r.is_first[i]):
        return None
    place = Span(r.source, start, start + len(match[1]))
    return Slip(syntax.SlashComment(place, match[1]), (Edit(*match.span(), ""),))


_INNER = r"((?:[^()\[\]{}\n]|\([^()\n]*\)|\{[^{}\n]*\}|\[[^\[\]\n]*\])*)"
"""Text between brackets, with brackets in it."""
_PLAIN = r"((?:[^():\n]|\([^():\n]*\))+)"
"""Text without a colon."""
_TYPE = f"(?:{'|'.join(sorted(TYPES))})"
_DRAWN = f"(?:{'|'.join(sorted(DRAWN))})"
_CLAIM = f"(?:{'|'.join(sorted(CLAIM_WORDS))})"
_OF_ONE = "argmax|argmin|max|min|sum|count|len|abs|floor|ceil|exp"
_WORD = f"(?:{'|'.join(WORDS)})"
_BUDGET = r"\d[\d./]*|ln\b[^:;#\n]*?"
_QUANTITY = f"({'|'.join(sorted(QUANTITIES))})"
_PROBABILITY = (
    (r"P(?:max|min|rob|r)(?= *[<>=])", "P"),
    (rf"P_\{{{_INNER}\}}", r"P\1"),
    (rf"P *([<>]=?|=) *([\w./]+(?= )|[\d./]+|\?) *\({_INNER}\)(?! *\[)", r"P\1\2 [\3]"),
)
_END = r"(?=\s*(?:[\n;}),]|$))"
_BEFORE = r"(output|:=|~|=|\() *(?!if\b)"
_TEST = r"((?:(?!then| else )[^\n{}])+?)"
_ASKED = r"((?:[^?:\n;{}()]|\([^()\n]*\))+?)"
_CHOICES = (
    (
        rf"{_BEFORE}{_ASKED}(?<![=<>]) *\? *([^:\n]+?) *: *([^\n;}}]+?){_END}",
        r"\1 if \2 then \3 else \4",
    ),
    (
        rf"{_BEFORE}((?:(?! if )[^\n;{{}}(])+?) if {_TEST} else ([^\n;}}]+?){_END}",
        r"\1 if \3 then \2 else \4",
    ),
)
_STATEMENT = r"((?:output|stop|run|return|print|break|\w+(?:\[\w+\])? *(?::=|~))[^\n;{}]*?)"
_CONDITION = r"((?:(?! then |:)[^\n;{}])+?)"
_IF_THEN = rf"if +{_CONDITION} +(?:then +)?{_STATEMENT}"
_ELSE_IF = rf" +else +{_IF_THEN}"
_STATES = tuple(
    (
        "states? +" + " *, *".join([r"(\w+)"] * n) + r"\b(?! *[:,])",
        " ".join(rf"state \{k}" for k in range(1, n + 1)),
    )
    for n in range(9, 1, -1)
)
_NOT_IN = ((r"([\w']+(?:\[\w+\])?) not in (\{[^{}]*\}|[\w.+-]+)", r"!(\1 in \2)"),)
_RANGE = r"(-?\w+\.\.-?\w+)"
_BETWEEN = "for all numbers between"
_NO_ENDS = "or, without ends, `in integers`"
_PAIRS = ((rf"(?<!-){_RANGE} *\* *{_RANGE}", r"(\1) * (\2)"),)
MOST_NEXT = 5
"""The longest row of `X` that anybody would write for a lower bound of steps."""
_STEPS = (
    (r"([FGU]) *\[ *0 *, *(\w+) *\]", r"\1<=\2"),
    (r"([FGU]) *\[ *(\d+) *\]", r"\1<=\2"),
    *(
        (rf"([FG]) *\[ *{n} *, *(\w+) *\]", rf"{'X ' * n}\1<=(\2 - {n})")
        for n in range(1, MOST_NEXT + 1)
    ),
    *((rf"([FG]) *>= *{n}(?= +[\w(!])", rf"{'X ' * n}\1") for n in range(1, MOST_NEXT + 1)),
)
_ENDS = r"([^\[\]\n,]+, *[^\[\]\n,]+?) *"
_LINE_END = r"(?= *(?:[\n;#]|$))"
_SET = r"([^:\n\[\]]+?)"
_ALL_OF = (
    (
        rf"(?:(?<=[\[(:&|!>] )|(?<=[\[(!]))(\w+) +(\w+) +in +{_SET} *: *{_SET}(?= *[\n\]])",
        r"\1(\2 in \3 : \4)",
    ),
    (rf"(?<!if )(\w+) +(\w+) *: *([^:;#\n]+){_LINE_END}", r"\1(\2 in 1..3 : \3)"),
    (rf"(?<=:= )(\w+) +(\w+) +in +{_SET} *: *([^:;#\n]+){_LINE_END}", r"\1(\2 in \3 : \4)"),
    (r"(?<=if )(\w+) +(\w+) *: *([^:{\n]+?)(?= *\{)", r"\1(\2 in 1..3 : \3)"),
    (rf"(?<=: )(\w+) +(\w+) +in +{_SET} *: *([^:;#\n]*\]){_LINE_END}", r"\1(\2 in \3 : \4)"),
    (rf"(?<=if )(\w+) +(\w+) +in +{_SET} *: *([^:{{\n]+?)(?= *\{{)", r"\1(\2 in \3 : \4)"),
)
_QUESTION = r"(\w+ [^:;#\n]+?) *: *([^:;#\n]*[\w)\]}])"
_PART = r"for +(?:all +)?(\w+) +in"
_INTERVAL = r"([(\[][^:;#{}\n]+,[^:;#{}\n]+[)\]])"
_ONE_INTERVAL = r"([(\[][^:;#{}\n,]+,[^:;#{}\n,]+?[)\]])"
_TWO_INTERVALS = rf"{_ONE_INTERVAL} *(?:and|or|&|\||,|∪) *{_ONE_INTERVAL}"
_ONE_VALUE = r"\{ *([^:,{}\n]+?) *\}"
_END_VALUE = r"(\d+(?:/\d+|\.\d+)?)"
_STATEMENT_END = r"(?=\s*(?:[\n;}#]|$))"
_BALANCED = r"(?:[^()\[\]\n;{}]|\([^()\n]*\)|\[[^\[\]\n]*\])+?"
_LOOP_BEHIND = ((rf"{_STATEMENT} +for +(\w+ +in +{_BALANCED}){_STATEMENT_END}", r"for \2 { \1 }"),)
_GENERATOR = rf"\(\[?([^\n;{{}}]+?) +for +(\w+) +in +({_BALANCED})"
_GENERATORS = tuple(
    (f"{word}{_GENERATOR}{part}", rf"{meant}(\2 in \3{condition} : \1)")
    for word, meant in BINDING.items()
    for part, condition in (
        (rf" +if +({_BALANCED})\]?\)", r" where \4"),
        (r"\]?\)", ""),
    )
)
_LOOP = r"for *\((?:int +)?(\w+) *:?= *([^;\n]+?) *; *\1 *"
PATTERNS = {
    "NAME": (
        (r"el(?:s|se)?if\b", "else if"),
        (r"(?<=[\w)\]] )(?:do|times|begin) *\{", "{"),
        (rf"count\((\w+) in {_PLAIN} where {_PLAIN}\)", r"count(\1 in \2 : \3)"),
        (r"log(?= +(?!in\b|mod\b|div\b)\w)", "ln"),
        (r"from +(\w+) +import +(\w+)", r"import \1.\2"),
        (r"(\w+) *: *(\w+) *\|=", r"\1 at \2:"),
        (rf"(?<![^\n]){_TYPE} +(\w+)", r"const \1"),
        (rf"{_TYPE} +([^\W\d]\w*)", r"\1"),
        (rf"(?<!state )(\w+) *: *{_TYPE}\b", r"\1"),
        *((rf"(?<=\) ){word}\b(?= *[-\w(\[])", meant) for word, meant in POLICY_WORDS.items()),
        (r"(?<=\) )(?:un(?:clamped|truncated|limited)|infinite)\b", "unbounded"),
        (r"(?:pure|approx\w*|\((?:ε|eps)\w*\))[- ]+(?=dp\()", ""),
        *_GENERATORS,
        (r"(?<=\} )(?:re)?normali[sz]ed?\b", "normalized"),
        (
            rf"({_OF_ONE}) +(?!(?:{_WORD}|{_CLAIM})\b)(\w+(?:\[\w+\])?)(?![\w\[(]| *(?:\(|:=|~))",
            r"\1(\2)",
        ),
        (rf"{_QUANTITY} *\{{{_INNER}\}}", r"\1(\2)"),
        (rf"(dp) +({_BUDGET}|[^\W\d]\w*){_LINE_END}", r"\1(\2)"),
        (rf"(delta) +(ln\b[^:;#\n]*?|[^\W\d]\w*){_LINE_END}", r"\1(\2)"),
        (rf"({_QUANTITY}(?:\([^()\n]*\))?) +({_BUDGET}){_LINE_END}", r"\1 <= \3"),
        (rf"D_ *\{{{_INNER}\}} *[\[(]{_INNER}[\])]", r"D{\1} [\2]"),
        *_PROBABILITY,
        *_STATES,
        *_NOT_IN,
        *_PAIRS,
    ),
    "PRIMED": _NOT_IN,
    **dict.fromkeys(("F", "G", "U"), _STEPS),
    **dict.fromkeys(("FORALL", "EXISTS"), _ALL_OF),
    "OUTPUT": (*_CHOICES, *_NOT_IN),
    **dict.fromkeys(("ASSIGN", "TILDE", "OPEN"), _CHOICES),
    "P": _PROBABILITY,
    "D": (
        (rf"D *[\[(]{_INNER}[\])] *[\[(]{_INNER}[\])]", r"D{\1} [\2]"),
        (rf"D *\{{{_INNER}\}} *\({_INNER}\)", r"D{\1} [\2]"),
    ),
    "STATE": ((r"state +(\w+) *: *init\b", r"state \1 init \1"), *_STATES),
    "PARAM": (
        (r"param +(\w+) *= *(\d\S*)", r"const \1 = \2"),
        (rf"(param +\w+ +in) *\] *{_ENDS}\[", r"\1 (\2)"),
        (rf"(param +\w+ +in) *\] *{_ENDS}\]", r"\1 (\2]"),
        (rf"(param +\w+ +in) *\[ *{_ENDS}\[", r"\1 [\2)"),
        (rf"param +(\w+) *, *(\w+) *((?:>|in\b)[^\n;#]*?){_LINE_END}", r"param \1 \3 param \2 \3"),
        (r"param +(\w+) *>= *(\d[\w./]*)", r"param \1 in [\2, inf)"),
        (rf"param +{_END_VALUE} *< *(\w+) *< *{_END_VALUE}", r"param \2 in (\1, \3)"),
        (rf"param +{_END_VALUE} *<= *(\w+) *< *{_END_VALUE}", r"param \2 in [\1, \3)"),
        (rf"param +{_END_VALUE} *< *(\w+) *<= *{_END_VALUE}", r"param \2 in (\1, \3]"),
        (rf"param +{_END_VALUE} *<= *(\w+) *<= *{_END_VALUE}", r"param \2 in [\1, \3]"),
        (r"param +(\w+) +in +0\.\.1\b", r"param \1 in (0, 1)"),
        (rf"param +(\w+) +in +{_END_VALUE}\.\.{_END_VALUE}", r"param \1 in [\2, \3]", _BETWEEN),
        (rf"param +(e(?:ps\w*)?){_LINE_END}", r"param \1 > 0"),
        (rf"param +(\w+){_LINE_END}", r"param \1 in (0, 1)"),
    ),
    "ASK": ((rf"query +(\w+){_LINE_END}(?!\s*in\b)", r"query \1 in {a, b}"),),
    "STOP": ((r"stop *\( *\)", "stop"),),
    "CONST": ((r"const +(\w+) +(\d\S*)", r"const \1 = \2"),),
    "NUMBER": (
        *_PAIRS,
        (r"(\d+(?:\.\d+)?) ?%(?! *[\w(\"{])", r"\1/100"),
        (r"(?<![({\[,])(?<![({\[,] )(\d{1,3}),(\d{3})(?:,(\d{3}))?(?!,?\d)", r"\1\2\3"),
    ),
    "IN": ((r"in +(\d+):(\d+)", r"in \1..\2"),),
    "EQ": ((r"= +([<>])", r"\1="), *_CHOICES),
    **dict.fromkeys(("LT", "GT", "NOT", "COLON"), ((r"([<>!:]) +=", r"\1="),)),
    **dict.fromkeys(
        ("INPUT", "PUBLIC"),
        (
            (rf"(\w+) +(\w+(?:\[[^\]\n]*\])?) *: *{_TYPE}(?= +in\b)", r"\1 \2"),
            (r"(\w+) +(\w+) *: *int(?:eger)?\b", r"\1 \2 in 0..3", _NO_ENDS),
            (r"(\w+) +(\w+) *: *bool(?:ean)?\b", r"\1 \2 in {false, true}"),
            (r"(\w+) +(\w+) *[:=](?! *=) *(\S+)", r"\1 \2 in \3"),
            (r"(\w+) +(\w+) *, *(\w+) +in +(\S+)", r"\1 \2 in \4 \1 \3 in \4"),
            (rf"(\w+) +(\w+(?:\[[^\]\n]*\])?){_LINE_END}(?!\s*in\b)", r"\1 \2 in 0..3"),
        ),
    ),
    "FOR": (
        (r"for +(?:each|all)\b(?= +\w+ +in\b)", "for"),
        (r"for +(\w+) *[:=](?! *=) *(\S+)", r"for \1 in \2"),
        (_LOOP + r"<= *([^;\n]+?) *;[^;{\n]*\)", r"for \1 in \2..\3"),
        (_LOOP + r"< *([^;\n]+?) *;[^;{\n]*\)", r"for \1 in \2..\3 - 1"),
        (rf"for *\( *(\w+ +in\b{_INNER})\)", r"for \1"),
    ),
    **dict.fromkeys(POLICY_TOKENS, ((r"(\w+) *\(([^,()\n]*), *([^,()\n]*)\)", r"\1 \2..\3"),)),
    **dict.fromkeys(
        QUESTION_WORDS,
        (
            (r"(\w+) +(\w+)\^(\w+)", r"\1 compose(\2, \3)"),
            (r"(\w+ [^:\n]+) (at [^:\n]+?) +(for \w+ in [(\[][^:\n]+?) *:", r"\1 \3 \2:"),
            (rf"{_QUESTION} +{_PART} +{_INTERVAL}{_LINE_END}", r"\1 for \3 in \4: \2"),
            (rf"{_QUESTION} +{_PART} +{_ONE_VALUE}{_LINE_END}", r"\1 for \3 in [\4, \4]: \2"),
            (rf"{_QUESTION} +(for +\w+ +in +[^\n;#{{}}]+?){_LINE_END}", r"\3 { \1: \2 }"),
            (rf"{_QUESTION} +(at [\w(!][^:;#\n]*?){_LINE_END}", r"\1 \3: \2"),
            (rf"(\w+ [^:\n]+?) +{_PART} +{_ONE_VALUE}(?=[^:\n]*:)", r"\1 for \2 in [\3, \3]"),
            (rf"(\w+ [^:\n]+?) +{_PART} +0\.\.1\b", r"\1 for \2 in (0, 1)"),
            (rf"(\w+ [^:\n]+?) +{_PART} +{_END_VALUE}\.\.{_END_VALUE}", r"\1 for \2 in [\3, \4]"),
            (r"(\w+ [^:\n]+?) +for +(?:all|every|any) +\w+(?= *(?:at\b[^:\n]*)?:)", r"\1"),
            (
                rf"(\w+ [^:\n]+?) +{_PART} +(\{{[^{{}}\n]*\}}) *: *([^:;#\n]+?){_LINE_END}",
                r"for \2 in \3 { \1 for \2 in [\2, \2]: \4 }",
            ),
            (
                rf"(check [^:\n]+?) +{_PART} +{_TWO_INTERVALS} *: *([^:;#\n]*[\w)\]}}])",
                r"\1 for \2 in \3: \5 \1 for \2 in \4: \5",
            ),
            (rf"(\w+) +({_CLAIM}\b *[^:\s][^:\n]*?) *: *(\w+)(?=\s*\n|$)", r"\1 \3: \2"),
        ),
    ),
}
"""What a text is elsewhere that begins with a token of a type, what it is here, and why."""

PATTERNS_OF_STATEMENTS = {
    "NAME": (
        (r"(\w+) *([-+*/])= *(\S+)", r"\1 := \1 \2 \3"),
        (rf"(\w+) *, *(\w+) *~ *({_DRAWN}\([^\n;#{{}}]*[\w)])", r"\1 ~ \3 \2 ~ \3"),
        (r"(\w+) *, *(\w+) *(:=|~)", r"(\1, \2) \3"),
        (r"(\w+)\+\+", r"\1 := \1 + 1"),
        (r"(\w+)--(?! )", r"\1 := \1 - 1"),
        (rf"(\w+) *<- *(?:\$ *(?=\w)|(?={_DRAWN}\b))(\w+)", r"\1 ~ \2"),
        (r"(\w+) *<- *(\S+)", r"\1 := \2"),
        (r"(\w+) *(?:<~|~~|:~) *(\S+)", r"\1 ~ \2"),
        *_LOOP_BEHIND,
    ),
    "OUTPUT": _LOOP_BEHIND,
    "ELSE": (
        (rf"else +{_STATEMENT} *{_END}", r"else { \1 }"),
        (rf"else +if +{_CONDITION} +then *\{{", r"else if \1 {"),
        (rf"else +{_IF_THEN}(?={_ELSE_IF})", r"else if \1 { \2 }"),
        (
            rf"else +{_IF_THEN} +else +{_STATEMENT} *{_END}",
            r"else if \1 { \2 } else { \3 }",
        ),
        (rf"else +{_IF_THEN} *{_END}", r"else if \1 { \2 }"),
    ),
    "IF": (
        (rf"if +{_CONDITION} +then *\{{", r"if \1 {"),
        (rf"{_IF_THEN}(?={_ELSE_IF})", r"if \1 { \2 }"),
        (
            rf"{_IF_THEN} +else +{_STATEMENT} *{_END}",
            r"if \1 { \2 } else { \3 }",
        ),
        (rf"{_IF_THEN} *{_END}", r"if \1 { \2 }"),
    ),
    "IMPORT": ((rf"import +(?!std\b)(\w+){_LINE_END}", r'import "\1.dpm"'),),
    "FORALL": ((r"forall(?= +\w+ +in\b)", "for"),),
}
"""The same where a statement or an item may begin."""

_NORM = r"(?:\|\||‖)([^|‖\n]+?) *- *([^|‖\n]+?)(?:\|\||‖)"
PATTERNS_OF_OPERANDS = {
    "DOT": ((r"\.(\d+)", r"0.\1"),),
    "MINUS": _PAIRS,
    "NE": ((r"<>(?= *[\w(!])", "F"),),
    "OPEN_BRACKET": ((r"\[\](?= *[\w(!])", "G"),),
    "OR": (
        (_NORM + "_1", r"l1(\1, \2)"),
        (_NORM + "_(?:inf(?:ty)?|∞)", r"linf(\1, \2)"),
        (_NORM + "_0", r"hamming(\1, \2)"),
        (r"\|([^|\n]+)\|", r"abs(\1)"),
    ),
}
"""The same where an operand may begin."""


def _as_elsewhere(r: _Reader, i: int) -> Slip | None:
    """Look for what the tables of patterns know at token i."""
    kind = r.type(i)
    patterns = PATTERNS.get(kind, ())
    if r.begins_element(i):
        patterns += PATTERNS_OF_STATEMENTS.get(kind, ())
    if not r.ends_operand(i - 1) or r.is_first[i - 1]:
        patterns += PATTERNS_OF_OPERANDS.get(kind, ())
    for pattern, meant, *why in patterns:
        match = re.compile(pattern).match(r.source.text, r.tokens[i].start)
        if match:
            written, place = match.expand(meant), Span(r.source, *match.span())
            mistake = syntax.ForeignSpelling(place, match[0], written, *why)
            return Slip(mistake, tuple(_differences(match.start(), match[0], written)))
    return None


def _differences(start: int, found: str, written: str) -> Iterator[Edit]:
    """Yield the edits from one text to another: what stays keeps its places."""
    from difflib import SequenceMatcher

    for tag, i, j, k, m in SequenceMatcher(None, found, written, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Edit(start + i, start + j, written[k:m])


_RULES: dict[str, tuple[Rule, ...]] = {
    "NAME": (
        *(_as_elsewhere, _first_word, _repeated, _operator_word, _product, _top_level_constant),
        _bound_behind,
    ),
    "VAR": (_first_word,),
    "LN": (_product,),
    "OPEN": (_product, _as_elsewhere),
    **dict.fromkeys(("P", "E"), (_bound, _bound_behind, _as_elsewhere)),
    "MINUS": (_dash_comment, _as_elsewhere),
    "TILDE": (_as_elsewhere, _states_of_mechanism, _bare_neighbors),
    "MOD": (_dash_comment,),
    "OPEN_BRACKET": (_as_elsewhere, _brackets),
    "COLON": (_indented_block, _as_elsewhere),
    "ELSE": (_else_alone, _as_elsewhere),
    "REPEAT": (_repeated,),
    "ADJACENT": (_empty_adjacent,),
    "OUTPUT": (_as_elsewhere, _output),
    **dict.fromkeys(QUESTION_WORDS, (_inner_item, _as_elsewhere, _question)),
    **dict.fromkeys(("FUN", "DIST"), (_inner_item,)),
    "IMPORT": (_inner_item, _as_elsewhere),
    **dict.fromkeys(("CONST", "PARAM"), (_inner_item, _as_elsewhere)),
}
"""The rules by the type of the token at which each looks; at others are the patterns alone."""
