"""The tokens of a text with syntax errors, what rules ask about them, and edits of the text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dpcheck.diagnostics import syntax
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.parse.tokens import (
    BLOCK_HEADS,
    CLOSER_OF,
    CLOSERS,
    END,
    ENDERS,
    ITEM_WORDS,
    STATEMENT_WORDS,
    Token,
)
from dpcheck.source import SourceText, Span

LONG_LINE = 500
"""Tokens of a line beyond which nobody wrote it: a hostile text costs a pass over it for each slip,
and no more."""


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


LINE_WORDS = STATEMENT_WORDS - BLOCK_HEADS
RELATIONS = frozenset({"EQ", "GE", "GT", "LE", "LT"})
OPENERS = frozenset({*CLOSER_OF, "PATTERN_OPEN"})
NAMES = frozenset({"NAME", "ARG_NAME", "BREAK"})
OPERANDS = NAMES | {"NUMBER", "PRIMED", "STRING", "OPEN", "LN", "TRUE", "FALSE", "OUTPUT"}
PREFIXES = frozenset({"NOT", "X", "F", "G", "P", "D", "FORALL", "EXISTS", "MINUS"})
GOES_ON = frozenset({"ASSIGN", "TILDE", "EQ", "OPEN_BRACKET", "ARROW", "COLON"})
AFTER_A_NAME = GOES_ON | {"DOT", "COMMA", "PLUS", "MINUS", "STAR", "SLASH", "LT", "IN"}
"""What goes on from a name at the start of a statement that is meant as a name."""


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


class Reader:
    """The tokens of a text, with what the rules ask about them, found in one pass each."""

    def __init__(self, tokens: list[Token], source: SourceText) -> None:
        """Find lines, brackets and items."""
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
        """Return the number of the item in which a character stands, 0 before the first."""
        return bisect_right(self.item_starts, offset)

    def type(self, i: int) -> str:
        """Return the type of token i, `END` where there is none."""
        return self.tokens[i].type if 0 <= i < len(self.tokens) else END

    def text(self, i: int) -> str:
        """Return the text of token i, none where there is none."""
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def span(self, first: int, last: int) -> Span:
        """Return the place from one token to another."""
        return Span(self.source, self.tokens[first].start, self.tokens[last].end)

    def directly_in(self, opening: int, close: int) -> Iterator[int]:
        """Yield the tokens between two brackets, but for those in other brackets."""
        i = opening + 1
        while i < close:
            yield i
            i = max(self.partners.get(i, i), i) + 1

    def column(self, i: int) -> int:
        """Return the column at which token i begins, from 1."""
        return self.source.position(self.tokens[i].start)[1]

    def is_long_line(self, i: int) -> bool:
        """Return whether the line is longer than anybody writes: rules look along it."""
        return i - self.line_firsts[i] > LONG_LINE or self.part_ends[i] - i > LONG_LINE

    def ends_operand(self, i: int) -> bool:
        """Return whether an operand may end with token i."""
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


Rule = Callable[[Reader, int], Slip | None]
