"""Which mistake a syntax error is, in words, from the tokens around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from dpcheck.diagnostics import syntax
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.model.words import OPERATOR_WORDS, RESERVED
from dpcheck.parse.tables import OPERATORS, WORDS
from dpcheck.parse.tokens import (
    ARITHMETIC,
    BAD,
    BLOCK_HEADS,
    CHAIN_WORDS,
    CLOSER_OF,
    CLOSERS,
    END,
    ITEM_WORDS,
    MECHANISM_WORDS,
    POLICY_TOKENS,
    QUESTION_WORDS,
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
OPERATOR_STARTS = (
    ARITHMETIC
    | POLICY_TOKENS
    | {
        *("DOTS", "ENDLESS", "EQ", "NE", "LT", "LE", "GT", "GE", "IN", "AND", "OR", "IMPLIES"),
        *("U", "W", "R", "UNBOUNDED"),
    }
)
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
BOUNDED = frozenset({"F", "G", "U"})
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


BEGINNINGS = ITEM_WORDS | STATEMENT_WORDS | MECHANISM_WORDS | CHAIN_WORDS
NEVER_READ = BEGINNINGS - {"IF", "FOR", "OUTPUT"}
AFTER_AN_OPERAND = ARITHMETIC | CLOSERS | {"EQ", "NE", "LT", "LE", "GT", "GE", "COMMA", "AND", "OR"}
"""Where a word that begins an element stands before one of these, it is meant as a name."""


def innermost_openers(tokens: list[Token]) -> list[int | None]:
    """Return, for each token, the index of the innermost bracket that is open before it."""
    found: list[int | None] = []
    stack: list[int] = []
    for i, token in enumerate(tokens):
        found.append(stack[-1] if stack else None)
        if token.type in ("MECHANISM", "CHAIN", "CONST", "PARAM", "FUN", "DIST", "IMPORT"):
            stack.clear()
        elif token.type in CLOSER_OF or token.type == "PATTERN_OPEN":
            stack.append(i)
        elif token.type in CLOSERS and stack:
            stack.pop()
    return found


class _Place(NamedTuple):
    """A token that the grammar does not accept, what is around it, and what could stand there.

    `opener` is the index of the innermost bracket open there.
    """

    tokens: list[Token]
    i: int
    opener: int | None
    source: SourceText
    accepts: Accepts

    def token(self, offset: int = 0) -> Token:
        """Return the token so far behind this one, a bad one where there is none."""
        at = self.i + offset
        return self.tokens[at] if at >= 0 else Token(BAD, "", 0, 0)

    def span(self, offset: int = 0) -> Span:
        """Return the place of the token so far behind this one."""
        return _span(self.token(offset), self.source)

    def begins_line(self, offset: int = 0) -> bool:
        """Return whether the token so far behind this one is the first of its line."""
        return begins_line(self.tokens, self.i + offset, self.source)

    def begins_statement(self) -> bool:
        """Return whether what was read may be a name that a statement begins with."""
        return self.accepts("ASSIGN") and self.accepts("TILDE")


def _span(token: Token, source: SourceText) -> Span:
    return Span(source, token.start, token.end)


def mistake_at(
    tokens: list[Token], i: int, opener: int | None, source: SourceText, accepts: Accepts
) -> Explained:
    """Return the mistake at token i, which the grammar does not accept there.

    `opener` is the index of the innermost bracket open there; `accepts` tells which types of
    token could stand there.
    """
    here = _Place(tokens, i, opener, source, accepts)
    for explain in (
        _equals_sign,
        _word_elsewhere,
        _misspelt,
        _declaration_inside,
        _second_policy,
        _name,
        _operator_alone,
        _two_statements,
        _misplaced,
        _bracket,
    ):
        found = explain(here)
        if found is not None:
            return found
    edit = _edit(here)
    if _wants_path(accepts) and here.begins_line():
        place = Span(source, tokens[i - 1].end, tokens[i - 1].end)
        return Explained(
            syntax.Unexpected(place, ("`[`",), "the end of the line", edit), is_before=True
        )
    expected = tuple(_expected(accepts)) or ("the end of the text",)
    return Explained(syntax.Unexpected(here.span(), expected, _shown(here.token()), edit))


def _equals_sign(here: _Place) -> Explained | None:
    match here.token().type:
        case "EQ" if here.accepts("ASSIGN"):
            return Explained(syntax.WrongEqualsSign(here.span(), "="), "ASSIGN")
        case "ASSIGN" if here.accepts("EQ"):
            return Explained(syntax.WrongEqualsSign(here.span(), ":="), "EQ")
        case _:
            return None


def _word_elsewhere(here: _Place) -> Explained | None:
    """Explain a statement that another language has."""
    before = here.token(-1)
    if before.text not in WORDS_ELSEWHERE or not here.begins_statement():
        return None
    edit = f"there is no `{before.text}`: {WORDS_ELSEWHERE[before.text]}"
    return Explained(syntax.Unexpected(here.span(-1), ("a statement",), _shown(before), edit))


def _misspelt(here: _Place) -> Explained | None:
    """Explain a word that looks like a keyword: what begins an item, or a statement just before."""
    kind = here.token().type
    if kind == "NAME" and here.accepts("MECHANISM") and here.accepts("IMPORT"):
        return _meant(here, 0, ITEM_WORDS | {"FOR"})
    if here.token(-1).type != "NAME" or not (here.accepts("ARROW") or here.begins_statement()):
        return None
    if kind not in EXPRESSION_STARTS | {"STRING", "OPEN_BRACE"}:
        return None
    meant = _meant(here, -1, MECHANISM_STARTS | CHAIN_WORDS)
    return _meant(here, -1, POLICY_TOKENS) if meant is None else meant


def _meant(here: _Place, offset: int, kinds: AbstractSet[str]) -> Explained | None:
    """Explain a word that is nearly a keyword, whatever the case of its letters."""
    token = here.token(offset)
    if token.text in WORDS_ELSEWHERE:
        return None
    from difflib import get_close_matches

    words = sorted(TEXT_OF[kind] for kind in kinds if TEXT_OF[kind].isalpha())
    for word in get_close_matches(token.text.lower(), words, n=1, cutoff=0.75):
        mistake = syntax.Unexpected(
            here.span(offset), (f"`{word}`",), _shown(token), f"did you mean `{word}`?"
        )
        return Explained(mistake, is_before=offset < 0)
    return None


def _name(here: _Place) -> Explained | None:
    """Explain a keyword where a name is meant; reading goes on as if it were one."""
    token, accepts = here.token(), here.accepts
    if WORDS.get(token.text) != token.type or not accepts("NAME"):
        return None
    wants_expression = accepts("NUMBER")
    is_operator_word = token.type in OPERATOR_MEANINGS
    is_read = token.type in NEVER_READ and here.token(1).type in AFTER_AN_OPERAND
    if not is_operator_word and ((wants_expression and not is_read) or here.begins_line()):
        return None
    meaning = OPERATOR_MEANINGS.get(token.type, RESERVED)
    is_bound = here.token(-1).type == "OPEN" and here.token(1).type == "IN"
    can_quote = accepts("STRING") and (wants_expression or not accepts("OPEN_BRACE"))
    can_quote = can_quote and not is_bound
    mistake = syntax.KeywordAsName(here.span(), token.text, meaning, can_quote, is_operator_word)
    return Explained(mistake, "NAME")


def _second_policy(here: _Place) -> Explained | None:
    """Explain a policy behind another one, of the same distribution."""
    policies = POLICY_TOKENS | {"UNBOUNDED"}
    token, before = here.token(), -1
    if token.type not in policies or here.begins_line() or not here.accepts("SEMICOLON"):
        return None
    while here.token(before).type not in policies | {"TILDE", "SEMICOLON", "CLOSE_BRACE", BAD}:
        before -= 1
    first = here.token(before)
    if first.type not in policies or here.span(before).line != here.span().line:
        return None
    edit = "leave one of the two out: a distribution has one policy"
    expected = ("the end of the statement",)
    return Explained(syntax.Unexpected(here.span(), expected, _shown(token), edit))


def _declaration_inside(here: _Place) -> Explained | None:
    """Explain a declaration among the statements on a line, where one may begin."""
    token = here.token()
    is_declaration = token.type in ("CONST", "FUN", "DIST") and here.token(1).type == "NAME"
    if not is_declaration or here.begins_line() or not here.accepts("SEMICOLON"):
        return None
    return Explained(syntax.Misplaced(here.span(), token.text, "at the top level of the file"))


def _operator_alone(here: _Place) -> Explained | None:
    """Explain an operator word just before, which was probably meant as a symbol."""
    before, kind = here.token(-1), here.token().type
    meaning = OPERATOR_MEANINGS.get(before.type)
    if meaning is None or kind in EXPRESSION_STARTS:
        return None
    if kind == "OPEN_BRACKET" and before.type in ("P", "D", "E"):
        return None
    if before.type in TEMPORAL and kind in ("LE", "LT", "GE", "GT"):
        return None  # a bound of steps
    if before.type in BOUNDED and kind == "OPEN_BRACKET" and here.token(2).type == "COMMA":
        return None  # bounds of steps, as other tools write them
    return Explained(syntax.KeywordAsName(here.span(-1), before.text, meaning, True, True))


def _two_statements(here: _Place) -> Explained | None:
    """Explain a name left over at the end of a line: the fault is there, not on the next one."""
    before = here.token(-1)
    if before.type != "NAME" or here.begins_line(-1) or not here.begins_statement():
        return None
    if here.token().type not in (END, "CLOSE_BRACE") and not here.begins_line():
        return None
    if here.token(-2).type in ("OPEN_BRACE", "CLOSE_BRACE", "SEMICOLON", "VAR"):
        return None
    policy = _meant(here, -1, {"UNBOUNDED"})
    if policy is not None:
        return policy
    expected = ("an operator", "the end of the statement")
    return Explained(syntax.Unexpected(here.span(-1), expected, _shown(before)), is_before=True)


def _misplaced(here: _Place) -> Explained | None:
    """Explain a statement or declaration at the start of a line of the wrong kind of block."""
    token = here.token()
    home = HOMES.get(token.type)
    in_a_list = here.accepts("SEMICOLON") and not here.accepts("PLUS")
    if home is None or not in_a_list:
        return None
    return Explained(syntax.Misplaced(here.span(), token.text, home))


def _bracket(here: _Place) -> Explained | None:
    """Explain a bracket that is not closed, or closes nothing."""
    tokens, token, span, opener = here.tokens, here.token(), here.span(), here.opener
    is_closer = token.type in CLOSERS
    in_items = here.accepts("MECHANISM") and here.accepts("SEMICOLON")
    if is_closer and (opener is None or in_items):
        return Explained(syntax.UnmatchedBracket(span, token.text))
    if opener is None:
        return None
    bracket = tokens[opener]
    closer = CLOSER_OF["OPEN" if bracket.type == "PATTERN_OPEN" else bracket.type]
    place = _span(bracket, here.source)
    ends = token.type in ITEM_WORDS or (is_closer and token.type != closer)
    if closer != "CLOSE_BRACE" and not is_closer:
        ends = ends or token.type == "OPEN_BRACE" or place.line < span.line
    if token.type != END and not (ends and here.accepts(closer)):
        return None
    opened, found = f"`{bracket.text}`", _shown(token)
    if closer == "CLOSE_BRACE":
        opened = _block(tokens, opener)
        left_open = _left_open(tokens, opener, here.i, here.source)
        if left_open is not None:
            inner, outer, end = left_open
            span, place = (_span(tokens[k], here.source) for k in (end, inner))
            opened, found = _block(tokens, inner), f"the `}}` of the {_block(tokens, outer)}"
    return Explained(syntax.UnclosedBracket(span, place, TEXT_OF[closer], opened, found))


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


_BEFORE_BLOCK = frozenset({"NAME", "CLOSE", "CLOSE_BRACE", "CLOSE_BRACKET", "NUMBER", "ELSE"})


def _block(tokens: list[Token], opener: int) -> str:
    """Return what a `{` opens: `mechanism`, `if`, or the brace itself for a set."""
    if tokens[opener - 1].type in _BEFORE_BLOCK:
        for token in reversed(tokens[:opener]):
            if token.type in BLOCK_HEADS:
                return token.text if token.type in ("MECHANISM", "CHAIN") else f"`{token.text}`"
            if token.type in ("OPEN_BRACE", "SEMICOLON", "ASSIGN"):
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


def _edit(here: _Place) -> str | None:
    """Return the edit for a few well-known slips: the first of these that knows one."""
    edits = (_edit_of_word, _edit_of_row, _edit_of_variables, _edit_of_comma, _edit_of_tokens)
    return next((edit for known in (*edits, _edit_of_path) if (edit := known(here))), None)


def _edit_of_word(here: _Place) -> str | None:
    """Return the edit for an operator of claims, or of other logics, among other words."""
    for near in (here.token(), here.token(-1)):
        if near.type == "NAME" and near.text in OPERATOR_WORDS:
            return f"`{near.text}` is an operator in claims only: after the `:` of a `check`"
        if near.type == "NAME" and near.text in BRANCHING:
            return f"`{near.text}` of CTL is {BRANCHING[near.text]} here"
    return None


def _edit_of_row(here: _Place) -> str | None:
    """Return the edit for a transition of a chain, or a label, as other tools write them."""
    before = here.token(-1)
    if (
        here.token(-2).type == "ARROW"
        and before.type in ("NAME", "STRING")
        and here.accepts("COLON")
    ):
        return f"give each state its probability: `-> 1: {before.text}`"
    if here.token().type == "COMMA" and here.accepts("PLUS") and here.accepts("OBSERVE"):
        return "join transitions by `+`, as in `s -> 1/2: s + 1/2: t`"
    if before.text == "label" and here.accepts("ARROW"):
        return "labels follow their state, as in `state s : a, b`"
    return None


_RELATIONS = "LE LT GE GT"
_BOUND_OR_VALUE = "give the bound: `{} [ ... ]`, or ask for the value: `{} [ ... ]`"
_EDITS: tuple[tuple[str, str, str, str, str], ...] = (
    ("", "NUMBER", "DOT", "", "write `{before}` or `{before}.0`; ranges have two dots"),
    ("", "", "IF NOT X F G", "NUMBER", "put parentheses around what begins with `{here}`"),
    ("", "D", "OPEN_BRACKET", "", "give the budget: `D{{ln 2}} [ ... ]`"),
    ("D", "OPEN_BRACE", "CLOSE_BRACE", "", "give the budget: `D{{ln 2}} [ ... ]`"),
    ("", "E", "OPEN_BRACKET", "", _BOUND_OR_VALUE.format("E<=3", "E=?")),
    ("", "P", "OPEN_BRACKET", "", _BOUND_OR_VALUE.format("P>=1/2", "P=?")),
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
    (
        *("", "F G U", "OPEN_BRACKET", ""),
        "a bound of steps is written `{before}<=k`; from step 1 on is `X` before it",
    ),
    (" ".join(sorted(TEMPORAL)), "LE", "MINUS", "", "a bound of steps is 0, 1, 2, ..."),
    ("", "", "ARROW", "IMPLIES", "write `=>` for implication"),
    (
        *("", "DOTS", "COLON", ""),
        "give the range its end, as in `1..n`; endless ranges stand in `for i in 1..` alone",
    ),
    (
        *("", "", "COLON", "OPEN_BRACE"),
        "a block stands in braces: `{{ ... }}` in place of the colon",
    ),
    ("", "", "THEN", "OPEN_BRACE", "a statement `if` has a block and no `then`"),
    ("", "", "EQ", "IN", "write `in`"),
    ("FOR", "NAME", "COMMA", "", "give each variable its set, as in `for i in S, j in T`"),
    ("", "", "IF", "WHERE", "write `where`"),
    ("", "ADJACENT", "OPEN", "", "between states write `adjacent s ~ t`"),
    ("", "IN", "OPEN_BRACKET", "", "a set is `0..3`; of a quantity write a claim for each end"),
    ("", "", "PLUS STAR", "AT", "independent runs are `compose(m, 3)`, of two `compose(a, b)`"),
    ("IMPORT", "NAME", "", "", 'import a file by its path: `import "{before}.dpm"`'),
)
"""Types of the token found and of the two before it (all if empty), a type that could stand there
(if any has to), and the edit."""


def _edit_of_tokens(here: _Place) -> str | None:
    """Return the edit that two or three tokens in a row tell."""
    near = [here.token(offset) for offset in (-2, -1, 0)]
    for *types, accepted, edit in _EDITS:
        pairs = zip(types, near, strict=True)
        fits = all(not known or token.type in known.split() for known, token in pairs)
        if fits and (not accepted or here.accepts(accepted)):
            return edit.format(before=near[1].text, here=near[2].text)
    return None


def _edit_of_variables(here: _Place) -> str | None:
    """Return the edit for two variables where a loop, a set or a binder has one."""
    token = here.token()
    if token.type == "OPEN":
        is_second = here.token(-1).type == "FOR"
    elif token.type == "COMMA":
        is_second = here.accepts("WHERE") and _is_variable(here.tokens, here.i + 1)
    else:
        is_call = token.type == "COLON" and here.accepts("COMMA") and here.opener is not None
        is_second = is_call and _is_variable(here.tokens, (here.opener or 0) + 1)
    if not is_second:
        return None
    return "one variable goes through pairs, `t in S * T`: they are `t[1]` and `t[2]`"


def _is_variable(tokens: list[Token], i: int) -> bool:
    """Return whether a variable and its set, `v in S`, begin at token i."""
    return [token.type for token in tokens[i : i + 2]] == ["NAME", "IN"]


def _edit_of_comma(here: _Place) -> str | None:
    """Return the edit for a comma where the list before it is complete."""
    if here.token().type != "COMMA":
        return None
    if here.opener and here.tokens[here.opener - 1].type == "D":
        return "D takes a budget and at most one δ: `D{ln 2, 1/8} [ ... ]`"
    if here.accepts("OPEN_BRACE") and _is_after_where(here):
        return "`where` comes after the last set"
    if here.accepts("COLON") and here.accepts("AND"):
        return "join conditions by `&`"
    if here.accepts("CHECK") and here.accepts("PLUS"):
        return "write a claim for each, `check m: ...`"
    return None


def _edit_of_path(here: _Place) -> str | None:
    """Return the edit for what stands in place of the path formula of an operator."""
    if not _wants_path(here.accepts):
        return None
    token, before = here.token(), here.token(-1)
    is_call = (before.type, token.type) == ("NAME", "OPEN") and before.end == token.start
    if token.type in ARITHMETIC or is_call:
        return "put the bound in parentheses, as in `P=(1 - q) [ F top ]`"
    return "the path formula stands in brackets, as in `P>=1/2 [ F top ]`"


def _is_after_where(here: _Place) -> bool:
    """Return whether the head of a block that a token is in has got to its `where`."""
    heads = BLOCK_HEADS | {"WHERE"}
    words = (token.type for token in reversed(here.tokens[: here.i]) if token.type in heads)
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
    ("MECHANISM", "the next declaration or check", ITEM_WORDS | {"FOR", "STRING"}),
    ("WHILE", "a statement", MECHANISM_STARTS | {"NAME", "OPEN"}),
    (
        "STATE",
        "a state, row, `adjacent`, `init` or `observe`",
        CHAIN_WORDS | {"NAME", "STRING", "IF", "FOR"},
    ),
    ("CHECK", "`check`, `refute` or `compute`", QUESTION_WORDS | {"FOR"}),
)
"""The elements of lists: a terminal that tells the list, the words for it, what begins one."""
