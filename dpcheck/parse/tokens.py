"""From characters to tokens, with the look around that the grammar cannot do itself.

Words, operators and patterns come from `grammar/dpm.lark`. What is no token of the language is
reported at once; where the meaning is plain (`==`, `&&`, `≤`, 'R') the token that was meant takes
its place, else a token of the type `BAD`, from which the parser recovers in silence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dpcheck.diagnostics import syntax
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.model.distributions import POLICIES
from dpcheck.model.surface import MAX_NESTING
from dpcheck.model.words import OPERATOR_WORDS
from dpcheck.parse.tables import OPERATORS, PATTERNS, WORDS
from dpcheck.records import Frozen
from dpcheck.source import SourceText, Span


class Token(NamedTuple):
    """A terminal of the grammar, and the characters `start <= offset < end` it stands for."""

    type: str
    text: str
    start: int
    end: int


def begins_line(tokens: Sequence[Token], i: int, source: SourceText) -> bool:
    """Return whether token i is the first of its line."""
    between = source.text[tokens[i - 1].end : tokens[i].start] if i else "\n"
    return "\n" in between or "\r" in between


BAD = "BAD"
END = "$END"

QUESTION_WORDS = frozenset({"CHECK", "REFUTE", "COMPUTE"})

DECLARATION_WORDS = frozenset({"CONST", "PARAM", "FUN", "DIST", "IMPORT", "MECHANISM", "CHAIN"})

ITEM_WORDS = QUESTION_WORDS | DECLARATION_WORDS
"""Terminals that begin a top-level item and occur nowhere else (in `for` blocks, questions)."""

STATEMENT_WORDS = frozenset(
    {*("VAR", "IF", "FOR", "WHILE", "REPEAT", "OUTPUT", "RUN", "ASK", "STOP", "BREAK")}
)
"""Terminals that begin a statement, beside names and the bracket of a pattern."""

MECHANISM_WORDS = frozenset({"INPUT", "PUBLIC", "ADJACENT", "PRIOR"})
"""Terminals that begin another part of a mechanism."""

CHAIN_WORDS = frozenset({"STATE", "ADJACENT", "INIT", "OBSERVE"})
"""Terminals that begin a part of a chain, beside the rows."""

BLOCK_HEADS = frozenset({"MECHANISM", "CHAIN", "IF", "ELSE", "FOR", "WHILE", "REPEAT"})
"""Terminals that begin what ends in a block."""

CLOSER_OF = {"OPEN": "CLOSE", "OPEN_BRACKET": "CLOSE_BRACKET", "OPEN_BRACE": "CLOSE_BRACE"}
CLOSERS = frozenset(CLOSER_OF.values())

ARITHMETIC = frozenset({"PLUS", "MINUS", "STAR", "SLASH", "DIV", "MOD", "CARET"})
ENDERS = CLOSERS | {
    *("NAME", "PRIMED", "NUMBER", "STRING", "TRUE", "FALSE", "NORMALIZED", "UNBOUNDED"),
    *("STOP", "BREAK"),
}
"""Terminals that may end an expression or a statement; no name goes on after them."""

AFTER_BREAK = STATEMENT_WORDS | {"CLOSE_BRACE", "SEMICOLON", "NAME", END}
"""Terminals before which `break` is a statement, and no name that is assigned or indexed."""

POLICY_TOKENS = frozenset(policy.upper() for policy in POLICIES)
"""The kinds of tokens that are the words of policies."""

# fmt: off
FOREIGN = {
    "==": "=", "===": "=", "&&": "&", "||": "|", "**": "^", "%": "mod", "=<": "<=", "<>": "!=",
    "...": "..", "==>": "=>", "/\\": "&", "\\/": "|", "≔": ":=", "←": ":=", "≤": "<=", "≥": ">=",
    "≠": "!=", "∧": "&", "∨": "|", "¬": "!", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-",
    "→": "->", "⇒": "=>", "∈": "in", "∀": "forall", "∃": "exists", "…": "..", "∼": "~",
    "⩽": "<=", "⩾": ">=", "≦": "<=", "≧": ">=", "—": "-", "―": "-", "‐": "-", "⋅": "*", "∗": "*",
    "⟹": "=>", "⟶": "->", "◇": "F", "□": "G", "◯": "X", "○": "X", "⊨": ":", "≡": "=",
    "∞": "inf", "⊤": "top", "⊥": "bot",
    r"\leq": "<=", r"\le": "<=", r"\geq": ">=", r"\ge": ">=", r"\neq": "!=", r"\ne": "!=",
    r"\ln": "ln", r"\log": "ln", r"\land": "&", r"\wedge": "&", r"\lor": "|", r"\vee": "|",
    r"\lnot": "!", r"\neg": "!", r"\in": "in", r"\cdot": "*", r"\times": "*", r"\sim": "~",
    r"\to": "->", r"\Rightarrow": "=>", r"\implies": "=>", r"\exp": "exp", r"\max": "max",
    r"\min": "min", r"\sum": "sum", r"\varepsilon": "epsilon", r"\epsilon": "epsilon",
    r"\delta": "delta", r"\forall": "forall", r"\exists": "exists", r"\Pr": "P", r"\ldots": "..",
}
# fmt: on
"""Spellings from elsewhere, and what they are here."""


def _alternatives(texts: dict[str, str]) -> str:
    """Return a pattern of the texts; one that ends in a letter is a whole word."""
    longest_first = sorted(texts, key=len, reverse=True)
    return "|".join(re.escape(text) + r"\b" * text[-1].isalpha() for text in longest_first)


_TOKEN = re.compile(
    rf"""
      (?P<SPACE>(?:[\s\ufeff]|\#[^\n\r]*)+)
    | (?P<PRIMED>{PATTERNS["PRIMED"]})
    | (?P<OTHER_PRIME>[^\W\d](?:(?![ʹʼ])\w)*[’′ʹʼ´`‵＇])
    | (?P<NAME>{PATTERNS["NAME"]})
    | (?P<OTHER_MINUS>\d+(?:\.\d+)?[eE][−–—]\d+)
    | (?P<NUMBER>{PATTERNS["NUMBER"]})(?P<TAIL>\w*)
    | (?P<STRING>{PATTERNS["STRING"]})
    | (?P<SLASHES>//[^\n\r]*|/\*(?s:.*?)(?:\*/|\Z)|\(\*(?s:.*?)(?:\*\)|\Z)|<!--(?s:.*?)(?:-->|\Z))
    | (?P<FOREIGN>{_alternatives(FOREIGN)})
    | (?P<OPERATOR>{_alternatives(OPERATORS)})
    | (?P<OTHER_QUOTE>'[^'"\n\r]*'|[“„][^”“\n\r]*[”“]|[‘‚][^’‘\n\r]*[’‘]|«[^»\n\r]*»)
    | (?P<UNCLOSED>["“][^\n\r]*)
    | (?P<STRAY>.[^\w\s"'(){{}}\[\]\#;,:=&|<>+*/~^!.-]*)
    """,
    re.VERBOSE,
)


class Tokens(Frozen):
    """The tokens of a text (the last is the end), and the mistakes seen so far."""

    tokens: list[Token]
    mistakes: list[Mistake]


def tokens_of(source: SourceText) -> Tokens:
    """Return the tokens of a text.

    >>> [token.type for token in tokens_of(SourceText("a", "0..n # all")).tokens]
    ['NUMBER', 'DOTS', 'NAME', '$END']
    """
    mistakes: list[Mistake] = []
    tokens = list(_raw_tokens(source, mistakes))
    tokens = _without_deep_brackets(tokens, source, mistakes)
    _mark_operators(tokens)
    _mark_contextual(tokens)
    return Tokens(tokens, mistakes)


def _raw_tokens(source: SourceText, mistakes: list[Mistake]) -> Iterator[Token]:
    """Yield the tokens as the characters alone tell them."""
    text = source.text
    words, operators = WORDS, OPERATORS
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "SPACE":
            continue
        start, end = match.span()
        word = match.group()
        if kind == "NAME":
            kind = "NAME" if word in OPERATOR_WORDS else words.get(word, "NAME")
            yield Token(kind, word, start, end)
        elif kind == "OPERATOR":
            yield Token(operators[word], word, start, end)
        elif kind == "TAIL" and not match.group("TAIL"):
            yield Token("NUMBER", word, start, end)
        elif kind in ("PRIMED", "STRING"):
            yield Token(kind, word, start, end)
        else:
            yield from _odd_tokens(match, Span(source, start, end), mistakes)


_MEANT: dict[str, Callable[[str], str]] = {
    "FOREIGN": FOREIGN.__getitem__,
    "OTHER_PRIME": lambda text: f"{text[:-1]}'",
    "OTHER_MINUS": lambda text: re.sub("[−–—]", "-", text),
    "OTHER_QUOTE": lambda text: f'"{text[1:-1]}"',
}
_TYPES = {"OTHER_PRIME": "PRIMED", "OTHER_MINUS": "NUMBER", "OTHER_QUOTE": "STRING"}


def _odd_tokens(match: re.Match[str], span: Span, mistakes: list[Mistake]) -> Iterator[Token]:
    """Report what is no token, and yield what it probably means, if that is plain."""
    text, start, end = match.group(), span.start, span.end
    match match.lastgroup:
        case "TAIL":
            tail = match.group("TAIL")
            number_end = end - len(tail)
            if tail in WORDS and tail not in OPERATOR_WORDS:
                yield Token("NUMBER", text[: -len(tail)], start, number_end)
                yield Token(WORDS[tail], tail, number_end, end)
                return
            mistakes.append(syntax.MalformedNumber(span, text, _number_meant(text, tail)))
            yield Token(BAD, text, start, end)
        case "FOREIGN" | "OTHER_PRIME" | "OTHER_MINUS" | "OTHER_QUOTE" as kind:
            meant = _MEANT[kind](text)
            mistakes.append(syntax.ForeignSpelling(span, text, meant))
            known = OPERATORS.get(meant) or WORDS.get(meant, "NAME")
            yield Token(_TYPES.get(kind, known), meant, start, end)
        case "SLASHES":
            mistakes.append(syntax.SlashComment(Span(span.source, start, start + 2), text[:2]))
        case "UNCLOSED":
            mistakes.append(syntax.UnclosedQuote(span))
            yield Token(BAD, text, start, end)
        case _:
            mistakes.append(syntax.StrayCharacters(span, text))
            yield Token(BAD, text, start, end)


def _number_meant(text: str, tail: str) -> str:
    """Return how a number with a tail is written: without `_`, as a power, or as a product."""
    number = text[: -len(tail)]
    if text.replace("_", "").isascii() and text.replace("_", "").isdigit():
        return text.replace("_", "")
    if all(unicodedata.decomposition(c).startswith("<super>") for c in tail):
        return f"{number}^{unicodedata.normalize('NFKC', tail)}"
    if tail[0] in "xXoObB" and number == "0":
        try:
            return str(int(text, 0))
        except ValueError:
            pass
    return f"{number} * {tail}"


def _without_deep_brackets(
    tokens: list[Token], source: SourceText, mistakes: list[Mistake]
) -> list[Token]:
    """Append the end; put one BAD token in place of whatever is nested too deeply.

    Nothing later can then be led into deep recursion by brackets.
    """
    kept: list[Token] = []
    depth = 0
    for token in tokens:
        if token.type in CLOSER_OF:
            depth += 1
            if depth == MAX_NESTING + 1:
                mistakes.append(
                    syntax.NestedTooDeeply(Span(source, token.start, token.end), MAX_NESTING)
                )
                kept.append(token._replace(type=BAD))
        elif token.type in CLOSERS:
            depth = max(0, depth - 1)
            if depth == MAX_NESTING:
                continue
        elif token.type in DECLARATION_WORDS:
            depth = 0
        if depth <= MAX_NESTING:
            kept.append(token)
    end = tokens[-1].end if tokens else 0
    kept.append(Token(END, "", end, end))
    return kept


def _mark_operators(tokens: list[Token]) -> None:
    """Tell operator words from names, in place: they are operators inside formulas only.

    A formula is what follows the target of a question, up to whatever ends the question.
    """
    formula_from: int | None = None
    depth = 0  # brackets open in the formula
    for i, token in enumerate(tokens):
        kind = token.type
        if kind in QUESTION_WORDS:
            formula_from, depth = _after_target(tokens, i), 0
        elif kind in ITEM_WORDS:
            formula_from = None
        if formula_from is None or i < formula_from:
            continue
        if kind == "SEMICOLON" or (kind == "FOR" and depth == 0):
            formula_from = None
            continue
        depth += (kind in CLOSER_OF) - (kind in CLOSERS)
        if depth < 0:
            formula_from = None
        elif token.text in OPERATOR_WORDS and kind == "NAME":
            tokens[i] = token._replace(type=WORDS[token.text])


def _mark_contextual(tokens: list[Token]) -> None:
    """Tell apart, in place, what one token of lookahead cannot: see the head of the grammar."""
    is_call: list[bool] = []  # for each open bracket: is it the `(` of a call?
    is_block: list[bool] = []  # for each open brace or bracket: does it hold statements?
    previous = BAD
    for i, token in enumerate(tokens):
        kind = token.type
        match kind:
            case "NAME" if previous in ("OPEN", "COMMA"):
                if is_call and is_call[-1] and tokens[i + 1].type == "EQ":
                    tokens[i] = token._replace(type="ARG_NAME")
            case "NAME" if token.text == "break" and is_block and is_block[-1]:
                if _is_statement(tokens, i):
                    tokens[i] = token._replace(type="BREAK")
            case "NAME" if token.text == "fixed" and _ends_query(tokens, i):
                tokens[i] = token._replace(type="FIXED")
            case "DOTS" if tokens[i + 1].type in ("OPEN_BRACE", "CLOSE_BRACKET"):
                tokens[i] = token._replace(type="ENDLESS")
            case "OPEN":
                after_bound = previous == "NAME" and _ends_temporal_bound(tokens, i - 1)
                is_call.append(previous == "NAME" and not after_bound)
                is_block.append(False)
                if _is_pattern(tokens, i):
                    tokens[i] = token._replace(type="PATTERN_OPEN")
            case "OPEN_BRACKET" | "OPEN_BRACE":
                is_call.append(False)
                is_block.append(kind == "OPEN_BRACE" and (previous in ENDERS or previous == "ELSE"))
            case "CLOSE" | "CLOSE_BRACKET" | "CLOSE_BRACE":
                if is_call:
                    is_call.pop()
                    is_block.pop()
            case "CHECK" | "REFUTE" | "COMPUTE":
                is_call.clear()
                is_block.clear()
                at = _after_target(tokens, i)
                if tokens[at].type == "NAME" and tokens[at].text == "at":
                    tokens[at] = tokens[at]._replace(type="AT")
        previous = tokens[i].type


def _ends_temporal_bound(tokens: list[Token], i: int) -> bool:
    """Return whether the name at i ends the bound of `F<=n` or `F<=n/m`."""
    while i >= 2 and tokens[i - 1].type == "SLASH":
        i -= 2
    return i >= 2 and tokens[i - 1].type == "LE" and tokens[i - 2].type in ("F", "G", "U")


def _is_statement(tokens: list[Token], i: int) -> bool:
    """Return whether the `break` at i, directly inside of a block, stands alone."""
    before, after = tokens[i - 1].type, tokens[i + 1].type
    if before not in ENDERS and before not in ("OPEN_BRACE", "SEMICOLON"):
        return False
    return after in AFTER_BREAK or (after == "OPEN" and _is_pattern(tokens, i + 1))


def _ends_query(tokens: list[Token], i: int) -> bool:
    """Return whether the `fixed` at i ends a query: what it stands behind, and what follows."""
    if tokens[i - 1].type not in ENDERS or tokens[i + 1].type in ("ASSIGN", "TILDE"):
        return False
    k = i - 1
    while k >= 0 and tokens[k].type not in ("ASK", "ASSIGN", "TILDE", "OUTPUT", "SEMICOLON"):
        k -= 1
    return k >= 0 and tokens[k].type == "ASK"


def _is_pattern(tokens: list[Token], i: int) -> bool:
    """Return whether the `(` at i begins `(a, b) :=` or `(a, b) ~`."""
    while tokens[i + 1].type == "NAME" and tokens[i + 2].type == "COMMA":
        i += 2
    return (
        tokens[i].type == "COMMA"
        and tokens[i + 1].type == "NAME"
        and tokens[i + 2].type == "CLOSE"
        and tokens[i + 3].type in ("ASSIGN", "TILDE")
    )


def _after_target(tokens: list[Token], i: int) -> int:
    """Return where the target ends of the question whose word is at i; there, if it has none."""
    start = i = i + (2 if tokens[i + 1].type == "STRING" else 1)
    if tokens[i].type != "NAME":
        return start
    i += 1
    if tokens[i].type == "OPEN":
        i = _after_brackets(tokens, i, {"OPEN": "CLOSE"})
    if [token.type for token in tokens[i : i + 3]] == ["FOR", "NAME", "IN"]:
        i = _after_brackets(tokens, i + 3, CLOSER_OF)  # `for alpha in (0, 1/2]`
    return i or start


def _after_brackets(tokens: list[Token], i: int, closer_of: dict[str, str]) -> int:
    """Return where the brackets end that open at i; 0 if they do not."""
    depth = 0
    while True:
        kind = tokens[i].type
        depth += (kind in closer_of) - (kind in closer_of.values())
        if kind == END or kind in ITEM_WORDS:
            return 0
        i += 1
        if depth <= 0:
            return i
