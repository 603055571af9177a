"""Quantities beyond ε and δ: their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpcheck.diagnostics.claims import WordTaken
from dpcheck.diagnostics.quantities import QuantityArgument
from dpcheck.exact import Rational
from dpcheck.logic.claims import (
    ChannelQuantity,
    LeastError,
    LossName,
    LossQuantity,
    LossTable,
    Quantity,
)
from dpcheck.model import surface
from dpcheck.model.atoms import Measure
from dpcheck.model.expressions import Apply, reads
from dpcheck.model.program import Mechanism
from dpcheck.model.surface_text import written_text
from dpcheck.model.values import value_text
from dpcheck.resolve.claims.formulas import Reader, budget, filled_in_texts, probability
from dpcheck.resolve.expressions.expressions import constant, expression, has_hole
from dpcheck.source import Span

ONE_VALUE: Final = {
    "profile": "delta(epsilon)",
    "losses": "loss_tail(epsilon)",
    "tradeoff": "tradeoff(type_one)",
}
"""The number that is one value of a function."""

ACCURACY: Final = (
    "`accuracy(value, beta)`, or `accuracy(output(i), value, beta)` of the i-th output"
)
DIGITS: Final = 17
MAX_DIGITS: Final = 1000
LAST_OUTPUT: Final = 10_000


def other_quantity(
    word: str, arguments: Sequence[surface.Expression], span: Span, reader: Reader
) -> Quantity | None:
    """Return a quantity that is not `epsilon` or `delta`; None, with a mistake, for bad arguments.

    The number of arguments is right.
    """
    match word, len(arguments):
        case "profile" | "losses" as name, _:
            return LossTable(name, span)
        case "tradeoff", 0:
            return LossTable("tradeoff", span)
        case "bayes_vulnerability" | "min_entropy_leakage" as name, _:
            return ChannelQuantity(name, span)
        case "accuracy", _:
            return _accuracy(arguments, span, reader)
        case "total_variation" as name, _:
            return LossQuantity(name, None, DIGITS, span)
        case "zcdp" as name, n:
            digits = _digits(arguments[0], reader) if n else DIGITS
            return None if digits is None else LossQuantity(name, None, digits, span)
        case "renyi", _:
            return _renyi(arguments, span, reader)
        case "loss_tail" as name, _:
            epsilon = budget(arguments[0], reader.scope)
            return None if epsilon is None else LossQuantity(name, epsilon, DIGITS, span)
        case "tradeoff", _:
            return _of_probability("tradeoff", "the type I error", arguments[0], span, reader)
        case "posterior_max" | "posterior_min" as name, _:
            return _of_probability(name, "a prior", arguments[0], span, reader)
    raise AssertionError(f"{word} is a quantity")


def _of_probability(
    name: LossName, what: str, tree: surface.Expression, span: Span, reader: Reader
) -> LossQuantity | None:
    known = probability(tree, what, reader.scope)
    return None if known is None else LossQuantity(name, known, DIGITS, span)


def _renyi(
    arguments: Sequence[surface.Expression], span: Span, reader: Reader
) -> LossQuantity | None:
    order = _order(arguments[0], reader)
    digits = _digits(arguments[1], reader) if len(arguments) > 1 else DIGITS
    if order is None or digits is None:
        return None
    return LossQuantity("renyi", order, digits, span)


def _order(tree: surface.Expression, reader: Reader) -> int | Rational | None:
    value = constant(tree, reader.scope, "the order of `renyi`")
    if value is None:
        return None
    is_rational = isinstance(value, int | Rational) and not isinstance(value, bool)
    if is_rational and isinstance(value, int | Rational) and value > 0:
        return value
    wanted = "the order of `renyi` is a rational number above 0"
    reader.scope.report(QuantityArgument(tree.span, wanted, value_text(value)))
    return None


def _digits(tree: surface.Expression, reader: Reader) -> int | None:
    return _integer(tree, "the number of digits", MAX_DIGITS, reader)


def _integer(tree: surface.Expression, what: str, largest: int, reader: Reader) -> int | None:
    value = constant(tree, reader.scope, what)
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= largest:
        return value
    wanted = f"{what} is an integer from 1 to {largest}"
    reader.scope.report(QuantityArgument(tree.span, wanted, value_text(value)))
    return None


def _accuracy(
    arguments: Sequence[surface.Expression], span: Span, reader: Reader
) -> LeastError | None:
    """Return the least α for the distances of some outputs from some values."""
    *shown, goal, failure = arguments
    if not shown and _is_output(goal):
        reader.scope.report(WordTaken(span, "accuracy", ACCURACY))
        return None
    beta = probability(failure, "β", reader.scope)
    if not isinstance(reader.target, Mechanism):
        wanted = "`accuracy` is about the numbers that a mechanism outputs"
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
    return LeastError(tuple(found), beta, f"accuracy({written})", span)


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
    number = _integer(tree, "the number of an output", LAST_OUTPUT, reader)
    return number, _distance(read, goal, reader)


def _is_output(tree: surface.Expression) -> bool:
    """Return whether a tree is `output(i)`, or a component of it."""
    call = tree.base if isinstance(tree, surface.Index) else tree
    return isinstance(call, surface.Call) and call.function.name == "output"


def _distance(shown: surface.Expression, goal: surface.Expression, reader: Reader) -> str | None:
    """Return the key of a new measure: how far an output, or each component, is from a value."""
    output, value = expression(shown, reader.scope), expression(goal, reader.scope)
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
