"""Claims with syntax errors, apart from the rest of a text: they cost no other claim.

A text is cut into parts at the words that begin an item, or a loop around claims, where they begin
a line: an error leaves off there, whatever is open. Where each error and all that was lost stands
in parts that claims begin, whatever came before them was read to its end, and what declares
anything was read, so that every other claim means what it says. The rest of a body that ended too
early stands in no such part: it comes before the next claim.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from dpcheck.model import surface
from dpcheck.parse.tables import WORDS
from dpcheck.parse.tokens import (
    DECLARATION_WORDS,
    END,
    ITEM_WORDS,
    QUESTION_WORDS,
    Token,
    begins_line,
)
from dpcheck.source import SourceText, Span

CLAIM_WORDS = QUESTION_WORDS | {"FOR"}


def mistaken_claims(
    items: Sequence[surface.Item], tokens: Sequence[Token], wrong: Sequence[int], source: SourceText
) -> tuple[Span, ...] | None:
    """Return the claims among the items, which are in order, in whose parts of the text errors are.

    None where an error, or what it cost, is not in the text of claims. `wrong` are the offsets of
    errors.
    """
    firsts = [token for i, token in enumerate(tokens) if _begins_part(tokens, i, source)]
    starts = [token.start for token in firsts]

    def part(offset: int) -> int:
        return bisect_right(starts, offset) - 1

    bad = {part(offset) for offset in (*wrong, *_lost(items, tokens))}
    # A reserved word may have been read as a name.
    declaring = {part(each.start) for each in tokens if WORDS.get(each.text) in DECLARATION_WORDS}
    if -1 in bad or bad & declaring or any(firsts[k].type not in CLAIM_WORDS for k in bad):
        return None
    mistaken = []
    for item in items:
        if bad.isdisjoint(range(part(item.span.start), part(item.span.end) + 1)):
            continue
        if not isinstance(item, surface.Question | surface.QuestionsFor):
            return None
        mistaken.append(item.span)
    return tuple(mistaken)


def _lost(items: Sequence[surface.Item], tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the offsets of tokens that stand in no item."""
    ends = [item.span.end for item in items]
    for token in tokens:
        k = bisect_right(ends, token.start)
        is_lost = k == len(items) or token.start < items[k].span.start
        if is_lost and token.type not in ("SEMICOLON", END):
            yield token.start


def _begins_part(tokens: Sequence[Token], i: int, source: SourceText) -> bool:
    """Return whether a token begins an item, or a loop around claims, and its line."""
    kind = tokens[i].type
    if kind not in ITEM_WORDS | CLAIM_WORDS or not begins_line(tokens, i, source):
        return False
    return kind in ITEM_WORDS or _is_around_claims(tokens, i, source)


def _is_around_claims(tokens: Sequence[Token], i: int, source: SourceText) -> bool:
    """Return whether a claim begins in the block of the loop whose head begins at a token."""
    opened = 0
    for k in range(i + 1, len(tokens)):
        kind = tokens[k].type
        opened += (kind == "OPEN_BRACE") - (kind == "CLOSE_BRACE")
        if kind in ITEM_WORDS:
            return opened > 0 and kind in QUESTION_WORDS
        if opened <= 0 and begins_line(tokens, k, source):
            return False
    return False
