"""From text to the surface tree, with all syntax mistakes that can be seen at once."""

from __future__ import annotations

from typing import cast

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.syntax import NestedTooDeeply
from dpcheck.model import surface
from dpcheck.parse.automaton import Machine
from dpcheck.parse.depth import too_deep_place
from dpcheck.parse.tokens import tokens_of
from dpcheck.records import dataclass
from dpcheck.source import SourceText


@dataclass(frozen=True)
class Parsed:
    """What could be read of a file, and the mistakes, in the order of the text.

    `model` has every item without a syntax error; `broken_names` are the names that the others
    declare, so that nobody calls them unknown.
    """

    model: surface.SurfaceModel
    mistakes: tuple[Mistake, ...]
    broken_names: frozenset[str]


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
    tokens, mistakes = tokens_of(source)
    machine = Machine(tokens, source, "model")
    items = cast(list[surface.Item] | None, machine.run())
    mistakes += machine.builder.mistakes
    return Parsed(
        surface.SurfaceModel(source, tuple(items or ())),
        _in_order(mistakes),
        frozenset(machine.builder.broken_names),
    )


def parse_expression(source: SourceText) -> ParsedExpression:
    """Return the expression, distribution or formula that a text writes down.

    >>> parse_expression(SourceText("-D n", "2 * 3")).expression.operator
    '*'
    """
    tokens, mistakes = tokens_of(source)
    machine = Machine(tokens, source, "expression")
    expression = cast(surface.Expression | None, machine.run())
    mistakes += machine.builder.mistakes
    if expression is not None:
        deep = too_deep_place(expression, surface.MAX_NESTING)
        if deep is not None:
            mistakes.append(NestedTooDeeply(deep, surface.MAX_NESTING))
    if any(mistake.severity == "error" for mistake in mistakes):
        expression = None
    return ParsedExpression(expression, _in_order(mistakes))


def _in_order(mistakes: list[Mistake]) -> tuple[Mistake, ...]:
    return tuple(sorted(mistakes, key=lambda found: -1 if found.span is None else found.span.start))
