"""Quantities: their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from dpcheck.diagnostics.claims import WordTaken
from dpcheck.diagnostics.quantities import QuantityArgument
from dpcheck.exact import DIGITS, Budget, Number, Rational
from dpcheck.logic import claims
from dpcheck.logic.quantities import EPSILON, Parameter, QuantityWord
from dpcheck.model import surface
from dpcheck.model.atoms import Measure
from dpcheck.model.expressions import Apply, reads
from dpcheck.model.program import Mechanism
from dpcheck.model.surface_text import written_text
from dpcheck.model.values import value_text
from dpcheck.resolve.claims.formulas import (
    Reader,
    budget,
    filled_in_texts,
    probability,
    report_cells_that_are_none,
)
from dpcheck.resolve.expressions.expressions import constant, expression, has_hole
from dpcheck.source import Span

MAX_DIGITS: Final = 1000
"""Bounds the digits that a claim may ask for."""
LAST_OUTPUT: Final = 10_000
"""Bounds the number of the output that `output(i)` names."""


def quantity(
    row: QuantityWord, arguments: Sequence[surface.Expression], span: Span, reader: Reader
) -> claims.Quantity | None:
    """Return what a word with as many arguments as it takes is; None, with a mistake in them."""
    if row.of == "errors":
        return _accuracy(row, arguments, span, reader)
    if row.one_value and not arguments:
        return claims.LossTable(row.word, span)
    pairs = zip(row.parameters, arguments, strict=False)
    read = {parameter.kind: _argument(parameter, tree, reader) for parameter, tree in pairs}
    known = {kind: value for kind, value in read.items() if value is not None}
    if len(known) < len(read):
        return None
    digits = known.pop("digits", DIGITS)
    assert isinstance(digits, int), "a number of digits is an integer"
    if row.of == "channel":
        return claims.ChannelQuantity(row.word, span)
    if row.of == "losses":
        return claims.LossQuantity(row.word, tuple(known.values()), digits, span)
    if row.word == "total_variation":
        return claims.TightDelta(Budget.of(0), span, row.word)
    if row.parameters == (EPSILON,):
        epsilon = known["budget"]
        assert isinstance(epsilon, Budget), "an argument of the kind `budget`"
        return claims.TightDelta(epsilon, span)
    delta = known.get("probability", 0)
    assert not isinstance(delta, Budget), "an argument of the kind `probability`"
    return claims.TightEpsilon(delta, span)


def _argument(
    parameter: Parameter, tree: surface.Expression, reader: Reader
) -> Budget | Number | None:
    """Return an argument that is known before any run; None, with a mistake, for another."""
    match parameter.kind:
        case "budget":
            return budget(tree, reader.scope)
        case "probability":
            return probability(tree, parameter.title, reader.scope)
        case "order":
            return _order(tree, parameter.title, reader)
        case "digits":
            return integer_argument(tree, parameter.title, MAX_DIGITS, reader)
        case "written":
            raise AssertionError("its quantity reads it")
        case _:
            assert_never(parameter.kind)


def _order(tree: surface.Expression, what: str, reader: Reader) -> int | Rational | None:
    value = constant(tree, reader.scope, what)
    if value is None:
        return None
    if isinstance(value, int | Rational) and not isinstance(value, bool) and value > 0:
        return value
    wanted = f"{what} is a rational number above 0"
    reader.scope.report(QuantityArgument(tree.span, wanted, value_text(value)))
    return None


def integer_argument(
    tree: surface.Expression, what: str, largest: int, reader: Reader
) -> int | None:
    """Return an integer from 1 that is known before any run; None, with a mistake, for another."""
    value = constant(tree, reader.scope, what)
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= largest:
        return value
    wanted = f"{what} is an integer from 1 to {largest}"
    reader.scope.report(QuantityArgument(tree.span, wanted, value_text(value)))
    return None


def _accuracy(
    row: QuantityWord, arguments: Sequence[surface.Expression], span: Span, reader: Reader
) -> claims.LeastError | None:
    """Return the least α for the distances of some outputs from some values."""
    *shown, goal, failure = arguments
    if not shown and _is_output(goal):
        reader.scope.report(WordTaken(span, row.word, row.usage))
        return None
    beta = probability(failure, row.parameters[-1].title, reader.scope)
    if not isinstance(reader.target, Mechanism):
        wanted = f"`{row.word}` is about the numbers that a mechanism outputs"
        reader.scope.report(QuantityArgument(span, wanted, "about the states of a chain"))
        return None
    if shown:
        errors = [_error(*pair, reader) for pair in _outputs_and_goals(shown[0], goal, reader)]
    else:
        errors = [(1, _distance(surface.Name("output", span=goal.span), goal, reader))]
    found = [(number, key) for number, key in errors if number is not None and key is not None]
    if beta is None or not found or len(found) < len(errors):
        return None
    texts = filled_in_texts(reader)
    written = ", ".join(written_text(argument, texts) for argument in arguments)
    return claims.LeastError(tuple(found), beta, f"{row.word}({written})", span)


def _outputs_and_goals(
    shown: surface.Expression, goal: surface.Expression, reader: Reader
) -> Sequence[tuple[surface.Expression, surface.Expression]]:
    """Return each output with the value it is compared with; none, with a mistake, for others."""
    if not isinstance(shown, surface.Tuple):
        return [(shown, goal)]
    n = len(shown.items)
    if isinstance(goal, surface.Tuple) and len(goal.items) == n:
        return list(zip(shown.items, goal.items, strict=True))
    wanted = f"`accuracy` compares a tuple of {n} outputs with a tuple of {n} values"
    reader.scope.report(QuantityArgument(goal.span, wanted, f"`{written_text(goal, {})}`"))
    return []


def _error(
    shown: surface.Expression, goal: surface.Expression, reader: Reader
) -> tuple[int | None, str | None]:
    """Return the number of an output, and the measure of its distance from a value."""
    call = shown.base if isinstance(shown, surface.Index) else shown
    if not isinstance(call, surface.Call) or not _is_output(shown) or len(call.arguments) != 1:
        wanted = "`accuracy` is about outputs such as `output(2)` or `output(2)[1]`"
        reader.scope.report(QuantityArgument(shown.span, wanted, f"`{written_text(shown, {})}`"))
        return None, None
    read: surface.Expression = surface.Name("output", span=call.span)
    if isinstance(shown, surface.Index):
        read = surface.Index(read, shown.indices, span=shown.span)
    tree = surface.positional(call.arguments[0])
    number = integer_argument(tree, "the number of an output", LAST_OUTPUT, reader)
    return number, _distance(read, goal, reader)


def _is_output(tree: surface.Expression) -> bool:
    """Return whether a tree is `output(i)`, or a component of it."""
    call = tree.base if isinstance(tree, surface.Index) else tree
    return isinstance(call, surface.Call) and call.function.name == "output"


def _distance(shown: surface.Expression, goal: surface.Expression, reader: Reader) -> str | None:
    """Return the key of a new measure: how far an output, or each component, is from a value."""
    output, value = expression(shown, reader.scope), expression(goal, reader.scope)
    report_cells_that_are_none(value, reader)
    if has_hole(output) or has_hole(value):
        return None
    difference = Apply("-", (output, value), goal.span)
    errors = (
        Apply("abs", (difference,), goal.span),
        Apply("linf", (output, value), goal.span),  # of tuples
    )
    inputs = tuple(dict.fromkeys(name for name in reads(errors[0]) if name != "output"))
    key = f"error {len(reader.collected.atoms)}"
    reader.collected.atoms[key] = Measure(errors, inputs)
    reader.collected.kept_inputs.update(dict.fromkeys(inputs))
    return key
