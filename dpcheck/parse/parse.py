"""From text to the surface tree, with all syntax mistakes that can be seen at once."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, cast

from dpcheck.diagnostics.mistakes import Mistake, has_errors
from dpcheck.diagnostics.syntax import NestedTooDeeply, Unexpected
from dpcheck.model import surface
from dpcheck.model.trees import too_deep_place
from dpcheck.parse.automaton import Machine
from dpcheck.parse.tokens import Token, tokens_of
from dpcheck.records import dataclass
from dpcheck.source import SourceText, Span

if TYPE_CHECKING:
    from dpcheck.parse.slips.reader import Edit


@dataclass(frozen=True)
class Parsed:
    """What could be read of a file, and the mistakes, in the order of the text.

    `model` has every item without a syntax error; `lost_words` are the words of the others, so
    that nobody calls a name unknown that they may introduce. These are none where all errors stand
    in the text of claims: `mistaken` are those that could be mended, and None if errors are
    elsewhere.
    """

    model: surface.SurfaceModel
    mistakes: tuple[Mistake, ...]
    lost_words: frozenset[str]
    mistaken: tuple[Span, ...] | None


@dataclass(frozen=True)
class ParsedExpression:
    """An expression or formula, None if it cannot be used, and the mistakes."""

    expression: surface.Expression | None
    mistakes: tuple[Mistake, ...]


def parse_model(source: SourceText) -> Parsed:
    """Return the model that a text writes down, as far as it can be read.

    >>> parsed = parse_model(SourceText("a.dpm", "const n = 5"))
    >>> parsed.model.items[0].name, parsed.mistakes
    (Identifier(name='n', quoted=False), ())
    """
    found, mistakes, tokens = _read(source, "model")
    items = cast(list[surface.Item] | None, found) or []
    errors = [mistake for mistake in mistakes if mistake.severity == "error"]
    lost = frozenset[str]()
    mistaken: tuple[Span, ...] | None = ()
    if errors:
        from dpcheck.parse.lost_claims import mistaken_claims

        mistaken = mistaken_claims(items, tokens, list(map(_place, errors)), source)
        if mistaken is None:
            lost = _words_outside(items, tokens)
    model = surface.SurfaceModel(source, tuple(items))
    return Parsed(model, _in_order(mistakes), lost, mistaken)


def _place(error: Mistake) -> int:
    """Return where an error is: before what is found in place of the rest of a text."""
    return -1 if error.span is None else error.span.start - isinstance(error, Unexpected)


def _words_outside(items: list[surface.Item], tokens: list[Token]) -> frozenset[str]:
    """Return the words of the text that stand in none of the items, which are in order."""
    starts = [item.span.start for item in items]
    words: set[str] = set()
    for token in tokens:
        k = bisect_right(starts, token.start) - 1
        if k < 0 or token.start >= items[k].span.end:
            words.update(re.findall(r"\w+", token.text))
    return frozenset(words)


def parse_expression(source: SourceText) -> ParsedExpression:
    """Return the expression, distribution or formula that a text writes down.

    >>> parse_expression(SourceText("-D n", "2 * 3")).expression.operator
    '*'
    """
    found, mistakes, _ = _read(source, "expression")
    expression = cast(surface.Expression | None, found)
    if expression is not None:
        deep = too_deep_place(expression, surface.MAX_NESTING)
        if deep is not None:
            mistakes.append(NestedTooDeeply(deep, surface.MAX_NESTING))
    if has_errors(mistakes):
        expression = None
    return ParsedExpression(expression, _in_order(mistakes))


def _read(source: SourceText, start: str) -> tuple[object | None, list[Mistake], list[Token]]:
    """Return what a text means from a start symbol, the mistakes, and the tokens that were read.

    If there is a syntax error, slips whose meaning is plain are mended and the text is read again:
    each is then one mistake, which hides no other.
    """
    read = tokens_of(source)
    tokens, mistakes = read.tokens, read.mistakes
    machine = Machine(list(tokens), source, start)
    value = machine.run()
    errors = [found for found in mistakes + machine.builder.mistakes if found.severity == "error"]
    places = [label.span.start for found in errors for label in found.labels]
    if places:
        from dpcheck.parse.slips.reader import mended
        from dpcheck.parse.slips.slips import foreign_language, slips_in

        foreign = foreign_language(source) if start == "model" else None
        if foreign is not None:
            return None, [foreign], tokens
    if places and (slips := slips_in(tokens, source, places)):
        new = mended(source.text, slips)
        again = tokens_of(SourceText(source.name, new.text)).tokens
        machine = Machine([new.token(token) for token in again], source, start)
        value = machine.run()
        edits = [edit for slip in slips for edit in slip.edits]
        mistakes = [found for found in mistakes if not _is_within(found, edits)]
        mistakes += [slip.mistake for slip in slips]
    seen = {found.span for found in mistakes}
    mistakes += [found for found in machine.builder.mistakes if found.span not in seen]
    return value, mistakes, machine.tokens


def _is_within(mistake: Mistake, edits: list[Edit]) -> bool:
    """Return whether a mistake is in characters that an edit replaces."""
    span = mistake.span
    return span is not None and any(e.start <= span.start and span.end <= e.end for e in edits)


def _in_order(mistakes: list[Mistake]) -> tuple[Mistake, ...]:
    return tuple(sorted(mistakes, key=lambda found: -1 if found.span is None else found.span.start))
