"""Which mistake a syntax error is, in words, from the tokens around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.syntax import (
    KeywordAsName,
    Misplaced,
    UnclosedBracket,
    Unexpected,
    UnmatchedBracket,
    WrongEqualsSign,
)
from dpcheck.model.words import OPERATOR_WORDS
from dpcheck.parse.tables import OPERATORS, WORDS
from dpcheck.parse.tokens import (
    BAD,
    BLOCK_HEADS,
    CHAIN_WORDS,
    CLOSER_OF,
    END,
    ITEM_WORDS,
    MECHANISM_WORDS,
    POLICY_TOKENS,
    STATEMENT_WORDS,
    Token,
    begins_line,
)
from dpcheck.source import SourceText, Span


class Explained(NamedTuple):
    """A mistake, and how to go on: what to read in place of the token found, if that is plain.

    `is_before`: the token found is not at fault, something before it is.
    """

    mistake: Mistake
    substitute: str | None = None
    is_before: bool = False


Accepts = Callable[[str], bool]

TEXT_OF = {kind: text for texts in (WORDS, OPERATORS) for text, kind in texts.items()}
TEXT_OF |= {"PATTERN_OPEN": "(", "BREAK": "break", "ENDLESS": ".."}

MECHANISM_STARTS = STATEMENT_WORDS | MECHANISM_WORDS | {"PATTERN_OPEN"}
OPERATOR_STARTS = frozenset(
    {
        *("PLUS", "MINUS", "STAR", "SLASH", "DIV", "MOD", "CARET", "DOTS", "ENDLESS"),
        *("EQ", "NE", "LT", "LE", "GT", "GE", "IN", "AND", "OR", "IMPLIES", "U", "W", "R"),
        *("CLAMPED", "CONDITIONED", "FOLDED", "WRAPPED", "UNBOUNDED"),
    }
)
ARITHMETIC = frozenset({"PLUS", "MINUS", "STAR", "SLASH", "DIV", "MOD", "CARET"})
EXPRESSION_STARTS = frozenset(
    {
        *("NUMBER", "NAME", "PRIMED", "STRING", "TRUE", "FALSE", "OPEN", "OPEN_BRACE", "OUTPUT"),
        *("P", "D", "E", "FORALL", "EXISTS", "MINUS", "LN", "NOT", "X", "F", "G", "IF", "ARG_NAME"),
    }
)
OPERATOR_MEANINGS = {
    "P": "the probability operator",
    "D": "the privacy operator",
    "E": "the expected value",
    "X": "the operator 'next'",
    "F": "the operator 'finally'",
    "G": "the operator 'globally'",
    "U": "the operator 'until'",
    "W": "the operator 'weak until'",
    "R": "the operator 'release'",
}
TEMPORAL = frozenset({"X", "F", "G", "U", "W", "R"})
WORDS_ELSEWHERE = {
    "continue": "put the rest of the loop's body into an `if`",
    "switch": "write `if x = 1 { ... } else if x = 2 { ... }`",
    "match": "write `if x = 1 { ... } else if x = 2 { ... }`",
    "case": "write `if x = 1 { ... } else if x = 2 { ... }`",
    "do": "write the body once before `while c { ... }`",
    "until": "write `while !(c) { ... }`",
    "try": "a run cannot fail halfway: test with `if` before",
}
"""Statements of other languages that have no like here, and what to do."""

BRANCHING = {
    **{f"A{op}": f"`P>=1 [ {op} ... ]`" for op in "GFX"},
    **{f"E{op}": f"`P>0 [ {op} ... ]`" for op in "GFX"},
}
"""Operators of CTL, and what comes nearest."""


HOMES = {
    **dict.fromkeys(STATEMENT_WORDS - {"FOR"}, "inside a mechanism"),
    "BREAK": "inside a loop of a mechanism",
    **dict.fromkeys(MECHANISM_WORDS, "at the level of the mechanism's braces"),
    **dict.fromkeys(CHAIN_WORDS, "at the level of a chain's braces"),
    "ADJACENT": "at the level of the braces of a mechanism or chain",
    "IF": "inside a mechanism or a chain",
}


def innermost_openers(tokens: list[Token]) -> list[int | None]:
    """Return, for each token, the index of the innermost bracket that is open before it."""
    found: list[int | None] = []
    stack: list[int] = []
    closers = frozenset(CLOSER_OF.values())
    for i, token in enumerate(tokens):
        found.append(stack[-1] if stack else None)
        if token.type in ("MECHANISM", "CHAIN", "CONST", "PARAM", "FUN", "DIST", "IMPORT"):
            stack.clear()
        elif token.type in CLOSER_OF or token.type == "PATTERN_OPEN":
            stack.append(i)
        elif token.type in closers and stack:
            stack.pop()
    return found


def mistake_at(
    tokens: list[Token], i: int, opener: int | None, source: SourceText, accepts: Accepts
) -> Explained:
    """Return the mistake at token i, which the grammar does not accept there.

    `opener` is the index of the innermost bracket open there; `accepts` tells which types of
    token could stand there.
    """
    token = tokens[i]
    span = Span(source, token.start, token.end)
    for explain in (
        _equals_sign,
        _word_elsewhere,
        _misspelt,
        _declaration_inside,
        _name,
        _operator_alone,
        _two_statements,
        _misplaced,
    ):
        found = explain(tokens, i, span, accepts)
        if found is not None:
            return found
    bracket = _bracket(tokens, i, span, opener, accepts)
    if bracket is not None:
        return Explained(bracket)
    edit = _edit(tokens, i, opener, accepts)
    if _wants_path(accepts) and begins_line(tokens, i, source):
        place = Span(source, tokens[i - 1].end, tokens[i - 1].end)
        return Explained(Unexpected(place, ("`[`",), "the end of the line", edit), is_before=True)
    expected = tuple(_expected(accepts)) or ("the end of the text",)
    return Explained(Unexpected(span, expected, _shown(token), edit))


def _equals_sign(tokens: list[Token], i: int, span: Span, accepts: Accepts) -> Explained | None:
    match tokens[i].type:
        case "EQ" if accepts("ASSIGN"):
            return Explained(WrongEqualsSign(span, "="), "ASSIGN")
        case "ASSIGN" if accepts("EQ"):
            return Explained(WrongEqualsSign(span, ":="), "EQ")
        case _:
            return None


def _word_elsewhere(tokens: list[Token], i: int, span: Span, accepts: Accepts) -> Explained | None:
    """Explain a statement that another language has."""
    before = tokens[i - 1] if i else Token(BAD, "", 0, 0)
    if before.text not in WORDS_ELSEWHERE or not (accepts("ASSIGN") and accepts("TILDE")):
        return None
    place = Span(span.source, before.start, before.end)
    edit = f"there is no `{before.text}`: {WORDS_ELSEWHERE[before.text]}"
    return Explained(Unexpected(place, ("a statement",), _shown(before), edit))


def _misspelt(tokens: list[Token], i: int, span: Span, accepts: Accepts) -> Explained | None:
    """Explain a word that looks like a keyword: what begins an item, or a statement just before."""
    token = tokens[i]
    if token.type == "NAME" and accepts("MECHANISM") and accepts("IMPORT"):
        close = _similar_word(token.text, ITEM_WORDS | {"FOR"})
        return None if close is None else _meant(token, span.source, close, is_before=False)
    if i == 0 or tokens[i - 1].type != "NAME":
        return None
    if not (accepts("ARROW") or (accepts("ASSIGN") and accepts("TILDE"))):
        return None
    if token.type not in EXPRESSION_STARTS | {"STRING", "OPEN_BRACE"}:
        return None
    before = tokens[i - 1]
    close = _similar_word(before.text, MECHANISM_STARTS | CHAIN_WORDS)
    if close is None:
        close = _similar_word(before.text, POLICY_TOKENS)
    return None if close is None else _meant(before, span.source, close, is_before=True)


def _meant(token: Token, source: SourceText, word: str, *, is_before: bool) -> Explained:
    place = Span(source, token.start, token.end)
    mistake = Unexpected(place, (f"`{word}`",), _shown(token), f"did you mean `{word}`?")
    return Explained(mistake, is_before=is_before)


def _similar_word(text: str, kinds: AbstractSet[str]) -> str | None:
    """Return the keyword that a word is nearly, whatever the case of its letters."""
    if text in WORDS_ELSEWHERE:
        return None
    from difflib import get_close_matches

    words = sorted(TEXT_OF[kind] for kind in kinds if TEXT_OF[kind].isalpha())
    close = get_close_matches(text.lower(), words, n=1, cutoff=0.75)
    return close[0] if close else None


def _name(tokens: list[Token], i: int, span: Span, accepts: Accepts) -> Explained | None:
    """Explain a keyword where a name is meant; reading goes on as if it were one."""
    token = tokens[i]
    if WORDS.get(token.text) != token.type or not accepts("NAME"):
        return None
    wants_expression = accepts("NUMBER")
    is_operator_word = token.type in OPERATOR_MEANINGS
    if wants_expression and not is_operator_word:
        return None
    if not is_operator_word and begins_line(tokens, i, span.source):
        return None
    meaning = OPERATOR_MEANINGS.get(token.type, "a word of the language")
    is_bound = tokens[i - 1].type == "OPEN" and tokens[i + 1].type == "IN"
    can_quote = accepts("STRING") and (wants_expression or not accepts("OPEN_BRACE"))
    can_quote = can_quote and not is_bound
    return Explained(KeywordAsName(span, token.text, meaning, can_quote, is_operator_word), "NAME")


def _declaration_inside(
    tokens: list[Token], i: int, span: Span, accepts: Accepts
) -> Explained | None:
    """Explain a declaration among the statements on a line, where one may begin."""
    is_declaration = tokens[i].type in ("CONST", "FUN", "DIST") and tokens[i + 1].type == "NAME"
    if not is_declaration or begins_line(tokens, i, span.source) or not accepts("SEMICOLON"):
        return None
    return Explained(Misplaced(span, tokens[i].text, "at the top level of the file"))


def _operator_alone(tokens: list[Token], i: int, span: Span, _: Accepts) -> Explained | None:
    """Explain an operator word just before, which was probably meant as a symbol."""
    before = tokens[i - 1] if i else None
    if before is None or before.type not in OPERATOR_MEANINGS:
        return None
    kind = tokens[i].type
    if kind in EXPRESSION_STARTS or (kind == "OPEN_BRACKET" and before.type in ("P", "D", "E")):
        return None
    if before.type in TEMPORAL and kind in ("LE", "LT", "GE", "GT"):
        return None  # a bound of steps
    place = Span(span.source, before.start, before.end)
    meaning = OPERATOR_MEANINGS[before.type]
    return Explained(KeywordAsName(place, before.text, meaning, True, True))


def _two_statements(tokens: list[Token], i: int, span: Span, accepts: Accepts) -> Explained | None:
    """Explain a name left over at the end of a line: the fault is there, not on the next one."""
    before = tokens[i - 1] if i else None
    if before is None or before.type != "NAME" or begins_line(tokens, i - 1, span.source):
        return None
    ends = tokens[i].type in (END, "CLOSE_BRACE") or begins_line(tokens, i, span.source)
    if not ends or not (accepts("ASSIGN") and accepts("TILDE")):
        return None
    if tokens[i - 2].type in ("OPEN_BRACE", "CLOSE_BRACE", "SEMICOLON", "VAR"):
        return None
    place = Span(span.source, before.start, before.end)
    expected = ("an operator", "the end of the statement")
    return Explained(Unexpected(place, expected, _shown(before)), is_before=True)


def _misplaced(tokens: list[Token], i: int, span: Span, accepts: Accepts) -> Explained | None:
    """Explain a statement or declaration at the start of a line of the wrong kind of block."""
    token = tokens[i]
    home = HOMES.get(token.type)
    in_a_list = accepts("SEMICOLON") and not accepts("PLUS")
    if home is None or not in_a_list:
        return None
    return Explained(Misplaced(span, token.text, home))


def _bracket(
    tokens: list[Token], i: int, span: Span, opener: int | None, accepts: Accepts
) -> Mistake | None:
    """Explain a bracket that is not closed, or closes nothing."""
    token = tokens[i]
    is_closer = token.type in CLOSER_OF.values()
    if is_closer and (opener is None or (accepts("MECHANISM") and accepts("SEMICOLON"))):
        return UnmatchedBracket(span, token.text)
    if opener is None:
        return None
    bracket = tokens[opener]
    closer = CLOSER_OF["OPEN" if bracket.type == "PATTERN_OPEN" else bracket.type]
    place = Span(span.source, bracket.start, bracket.end)
    ends = token.type in ITEM_WORDS or (is_closer and token.type != closer)
    if closer != "CLOSE_BRACE" and not is_closer:
        ends = ends or token.type == "OPEN_BRACE" or place.line < span.line
    if token.type != END and not (ends and accepts(closer)):
        return None
    if closer != "CLOSE_BRACE":
        return UnclosedBracket(span, place, TEXT_OF[closer], f"`{bracket.text}`", _shown(token))
    left_open = _left_open(tokens, opener, i, span.source)
    if left_open is None:
        return UnclosedBracket(span, place, "}", _block(tokens, opener), _shown(token))
    inner, outer, end = left_open
    span = Span(span.source, tokens[end].start, tokens[end].end)
    place = Span(span.source, tokens[inner].start, tokens[inner].end)
    found = f"the `}}` of the {_block(tokens, outer)}"
    return UnclosedBracket(span, place, "}", _block(tokens, inner), found)


def _left_open(
    tokens: list[Token], opener: int, i: int, source: SourceText
) -> tuple[int, int, int] | None:
    """Return the block that was left open: its `{`, that of an outer block, and the outer's `}`.

    A `}` that begins a line stands under the line that its block begins on. The first that stands
    under an outer block shows that the inner one was not closed.
    """
    columns: dict[int, int] = {}
    stack: list[int] = []
    column = 0
    for k in range(opener, i):
        if begins_line(tokens, k, source) or k == opener:
            column = source.position(tokens[k].start)[1]
        if k == opener:
            line = source.position(tokens[k].start)[0]
            column = len(source.line(line)) - len(source.line(line).lstrip()) + 1
        if tokens[k].type == "OPEN_BRACE":
            stack.append(k)
            columns[k] = column
        elif tokens[k].type == "CLOSE_BRACE" and stack:
            inner = stack.pop()
            if not begins_line(tokens, k, source) or column >= columns[inner]:
                continue
            for outer in stack:
                if columns[outer] == column:
                    return inner, outer, k
    return None


def _block(tokens: list[Token], opener: int) -> str:
    """Return what a `{` opens: `mechanism`, `if`, or the brace itself for a set."""
    if tokens[opener - 1].type in (
        "NAME",
        "CLOSE",
        "CLOSE_BRACE",
        "CLOSE_BRACKET",
        "NUMBER",
        "ELSE",
    ):
        for j in range(opener - 1, -1, -1):
            kind = tokens[j].type
            if kind in BLOCK_HEADS:
                return (
                    f"`{tokens[j].text}`" if kind not in ("MECHANISM", "CHAIN") else tokens[j].text
                )
            if kind in ("OPEN_BRACE", "SEMICOLON", "ASSIGN"):
                break
    return "`{`"


def _shown(token: Token) -> str:
    """Return a token as a message shows it."""
    match token.type:
        case "$END":
            return "the end of the text"
        case "NUMBER" | "NAME" | "STRING" | "PRIMED":
            shown = token.text if len(token.text) <= 40 else token.text[:37] + "..."
            return f"`{shown}`"
        case _:
            return f"`{token.text}`"


def _edit(tokens: list[Token], i: int, opener: int | None, accepts: Accepts) -> str | None:
    """Return the edit for a few well-known slips: the first of these that knows one."""
    return (
        _edit_of_word(tokens, i)
        or _edit_of_comma(tokens, i, opener, accepts)
        or _edit_of_tokens(tokens, i, accepts)
        or _edit_of_path(tokens, i, accepts)
    )


def _before(tokens: list[Token], i: int, distance: int = 1) -> Token:
    """Return the token so far before token i, a bad one where there is none."""
    return tokens[i - distance] if i >= distance else Token(BAD, "", 0, 0)


def _edit_of_word(tokens: list[Token], i: int) -> str | None:
    """Return the edit for an operator of claims, or of other logics, among other words."""
    for near in (tokens[i], _before(tokens, i)):
        if near.type == "NAME" and near.text in OPERATOR_WORDS:
            return f"`{near.text}` is an operator in claims only: after the `:` of a `check`"
        if near.type == "NAME" and near.text in BRANCHING:
            return f"`{near.text}` of CTL is {BRANCHING[near.text]} here"
    return None


_RELATIONS = "LE LT GE GT"
_EDITS: tuple[tuple[str, str, str, str, str], ...] = (
    ("", "NUMBER", "DOT", "", "write `{before}` or `{before}.0`; ranges have two dots"),
    ("", "", "IF NOT X F G", "NUMBER", "put parentheses around what begins with `{here}`"),
    ("", "D", "OPEN_BRACKET", "", "give the budget: `D{{ln 2}} [ ... ]`"),
    ("D", "OPEN_BRACE", "CLOSE_BRACE", "", "give the budget: `D{{ln 2}} [ ... ]`"),
    *(
        (
            "",
            word,
            "OPEN_BRACKET",
            "",
            f"give the bound: `{bound}`, or ask for the value: `{value}`",
        )
        for word, bound, value in (
            ("E", "E<=3 [ ... ]", "E=? [ ... ]"),
            ("P", "P>=1/2 [ ... ]", "P=? [ ... ]"),
        )
    ),
    (
        *("", "D", "OPEN", ""),
        "write `D{{ln 2}} [ ... ]`: the budget in braces, the path formula in brackets",
    ),
    (
        *("", "OPEN_BRACKET", "CLOSE_BRACKET", "NUMBER"),
        "put a path formula between the brackets, such as `F top`",
    ),
    ("", "X", _RELATIONS, "", "`X` is one step and has no bound; nest it, or use `F<=k`"),
    ("", "W R", _RELATIONS, "", "`{before}` has no bound; `F<=k`, `G<=k` and `U<=k` have"),
    ("", "F G U", "LT GE GT", "", "a bound of steps is written `{before}<=k`"),
    (" ".join(sorted(TEMPORAL)), "LE", "MINUS", "", "a bound of steps is 0, 1, 2, ..."),
    ("", "", "ARROW", "IMPLIES", "write `=>` for implication"),
    (
        *("", "", "COLON", "OPEN_BRACE"),
        "a block stands in braces: `{{ ... }}` in place of the colon",
    ),
    ("", "", "THEN", "OPEN_BRACE", "a statement `if` has a block and no `then`"),
    ("", "", "EQ", "IN", "write `in`"),
    ("FOR", "NAME", "COMMA", "", "give each variable its set, as in `for i in S, j in T`"),
    ("", "", "IF", "WHERE", "write `where`"),
    ("", "ADJACENT", "OPEN", "", "between states write `adjacent s ~ t`"),
    ("IMPORT", "NAME", "", "", 'import a file by its path: `import "{before}.dpm"`'),
)
"""Types of the token found and of the two before it (all if empty), a type that could stand there
(if any has to), and the edit."""


def _edit_of_tokens(tokens: list[Token], i: int, accepts: Accepts) -> str | None:
    """Return the edit that two or three tokens in a row tell."""
    near = [_before(tokens, i, k) for k in (2, 1, 0)]
    for *types, accepted, edit in _EDITS:
        pairs = zip(types, near, strict=True)
        fits = all(not known or token.type in known.split() for known, token in pairs)
        if fits and (not accepted or accepts(accepted)):
            return edit.format(before=near[1].text, here=near[2].text)
    return None


def _edit_of_comma(tokens: list[Token], i: int, opener: int | None, accepts: Accepts) -> str | None:
    """Return the edit for a comma where the list before it is complete."""
    if tokens[i].type == "COMMA" and opener and tokens[opener - 1].type == "D":
        return "D takes a budget and at most one δ: `D{ln 2, 1/8} [ ... ]`"
    if tokens[i].type == "COMMA" and accepts("OPEN_BRACE") and _is_after_where(tokens, i):
        return "`where` comes after the last set"
    return None


def _edit_of_path(tokens: list[Token], i: int, accepts: Accepts) -> str | None:
    """Return the edit for what stands in place of the path formula of an operator."""
    if not _wants_path(accepts):
        return None
    token, before = tokens[i], _before(tokens, i)
    is_call = (before.type, token.type) == ("NAME", "OPEN") and before.end == token.start
    if token.type in ARITHMETIC or is_call:
        return "put the bound in parentheses, as in `P=(1 - q) [ F top ]`"
    return "the path formula stands in brackets, as in `P>=1/2 [ F top ]`"


def _is_after_where(tokens: list[Token], i: int) -> bool:
    """Return whether the head of a block that token i is in has got to its `where`."""
    heads = ("WHERE", "FOR", "IF", "ELSE", "WHILE", "REPEAT", "MECHANISM", "CHAIN")
    words = (token.type for token in reversed(tokens[:i]) if token.type in heads)
    return next(words, None) == "WHERE"


_NOT_IN_A_BOUND = frozenset(TEXT_OF) - {"SLASH", "OPEN_BRACKET"}


def _wants_path(accepts: Accepts) -> bool:
    """Return whether only the brackets of P or D can follow."""
    return accepts("OPEN_BRACKET") and not any(map(accepts, _NOT_IN_A_BOUND))


def _expected(accepts: Accepts) -> Iterator[str]:
    """Yield what can come next, in words, the likely before the general."""
    kinds = {kind for kind in (*TEXT_OF, "NAME", "NUMBER", "STRING", "AT") if accepts(kind)}
    if {"PLUS", "STAR"} <= kinds:
        kinds -= OPERATOR_STARTS | {"OPEN", "OPEN_BRACKET"}
        if kinds & {"WHILE", "STATE", "MECHANISM", "CHECK"}:
            yield "an operator"
    elif {"NUMBER", "OPEN", "OPEN_BRACE"} <= kinds:
        yield "an expression"
        kinds -= EXPRESSION_STARTS
    element = next((words for kind, words, _ in ELEMENTS if kind in kinds), None)
    for kind, _, starts in ELEMENTS:
        if kind in kinds:
            kinds -= starts | {"SEMICOLON", "CLOSE_BRACE", "OPEN_BRACKET"}
    if "NAME" in kinds:
        yield "a name"
        kinds.discard("STRING")
    if "NUMBER" in kinds:
        yield "a number"
    if "STRING" in kinds:
        yield "a text in quotes"
    kinds -= {"NAME", "NUMBER", "STRING", "ARG_NAME", "PATTERN_OPEN"}
    for kind in sorted(kinds, key=lambda kind: (kind in LESS_LIKELY, kind)):
        yield f"`{TEXT_OF.get(kind, kind.lower())}`"
    if element is not None:
        yield element


LESS_LIKELY = frozenset({"OPEN", "OPEN_BRACKET", "AT", "WHERE", "CARET"})
"""What may come, but is seldom what is missing."""

ELEMENTS = (
    (
        "MECHANISM",
        "the next declaration or check",
        ITEM_WORDS | {"FOR", "STRING"},
    ),
    ("WHILE", "a statement", MECHANISM_STARTS | {"NAME", "OPEN"}),
    (
        "STATE",
        "a state, row, `adjacent`, `init` or `observe`",
        CHAIN_WORDS | {"NAME", "STRING", "IF", "FOR"},
    ),
    ("CHECK", "`check`, `refute` or `compute`", frozenset({"CHECK", "REFUTE", "COMPUTE", "FOR"})),
)
"""The elements of lists: a terminal that tells the list, the words for it, what begins one."""
