"""Quantities beyond ε and δ: their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
from dpcheck.model.expressions import Apply, Var, reads
from dpcheck.model.program import Mechanism
from dpcheck.model.surface_text import written_text
from dpcheck.model.values import value_text
from dpcheck.resolve.claims.formulas import Reader, budget, probability
from dpcheck.resolve.expressions.expressions import constant, expression, has_hole
from dpcheck.source import Span

ONE_VALUE: Final = {
    "profile": "delta(epsilon)",
    "losses": "loss_tail(epsilon)",
    "tradeoff": "tradeoff(type_one)",
}
"""The number that is one value of a function."""

DIGITS: Final = 17
MAX_DIGITS: Final = 1000


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
            return _accuracy(arguments[0], arguments[1], span, reader)
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
    value = constant(tree, reader.scope, "a number of digits")
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_DIGITS:
        return value
    wanted = f"the number of digits is an integer from 1 to {MAX_DIGITS}"
    reader.scope.report(QuantityArgument(tree.span, wanted, value_text(value)))
    return None


def _accuracy(
    tree: surface.Expression, failure: surface.Expression, span: Span, reader: Reader
) -> LeastError | None:
    """Return the least α for abs(output - f), collected as a measure."""
    beta = probability(failure, "β", reader.scope)
    if not isinstance(reader.target, Mechanism):
        wanted = "`accuracy` is about the numbers that a mechanism outputs"
        reader.scope.report(QuantityArgument(span, wanted, "about the states of a chain"))
        return None
    value = expression(tree, reader.scope)
    if beta is None or has_hole(value):
        return None
    difference = Apply("-", (Var("output", tree.span), value), tree.span)
    error = Apply("abs", (difference,), tree.span)
    inputs = tuple(dict.fromkeys(name for name in reads(value) if name != "output"))
    texts = {name: value_text(known) for name, known in reader.filled_in.items()}
    key = f"abs(output - ({written_text(tree, texts)}))"
    reader.collected.atoms[key] = Measure(error, inputs)
    reader.collected.kept_inputs.update(dict.fromkeys(inputs))
    return LeastError(key, beta, span)
