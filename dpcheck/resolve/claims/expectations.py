"""Expected values: what stands between the brackets of `E`, and how it depends on the outputs."""

from __future__ import annotations

from typing import Final

from dpcheck.diagnostics.quantities import QuantityArgument
from dpcheck.logic.claims import Expectation
from dpcheck.model import surface, trees
from dpcheck.model.atoms import AtEnd
from dpcheck.model.expressions import Apply, Const, Expr, Var, reads
from dpcheck.model.program import ExplicitChain
from dpcheck.model.surface_text import written_text
from dpcheck.resolve.claims.formulas import Reader, filled_in_texts, report_cells_that_are_none
from dpcheck.resolve.claims.quantities import LAST_OUTPUT, integer_argument
from dpcheck.resolve.expressions.expressions import expression, has_hole
from dpcheck.resolve.names.scopes import Binding, Held
from dpcheck.source import Span

NUMBER_OF_OUTPUTS: Final = "outputs"


def expectation(tree: surface.Expression, span: Span, reader: Reader) -> Expectation | None:
    """Return the mean of a number that may read inputs, `output`, `output(i)` and `outputs`.

    What a chain shows are labels, which are no values; of these there is their number.
    """
    named = (getattr(node, "name", None) for node in trees.descendants(tree))
    if isinstance(reader.target, ExplicitChain) and "output" in named:
        wanted = "of a chain `E` reads `outputs`, their number (a label is asked of `P=? [ F .. ]`)"
        reader.scope.report(QuantityArgument(span, wanted, "`output`"))
        return None
    found = (node for node in trees.descendants(tree) if isinstance(node, surface.Call))
    calls = [call for call in found if call.function.name == "output"]
    positions = [_position(call, reader) for call in calls]
    names = {span: f"output({i})" for span, i in positions if i is not None}
    if len(names) < len(calls):
        return None
    bound: dict[str, Binding] = {n: Held(Var(n, s), "output", s) for s, n in names.items()}
    scope = reader.scope
    if NUMBER_OF_OUTPUTS not in {*scope.known_names(), *scope.file.visible}:
        bound[NUMBER_OF_OUTPUTS] = Held(Var(NUMBER_OF_OUTPUTS, span), "output", span)
    value = expression(trees.replaced(tree, _named(names)), scope.bound_all(bound))
    report_cells_that_are_none(value, reader)
    if has_hole(value):
        return None
    free = dict.fromkeys(reads(value))
    inputs = tuple(name for name in free if name not in {"output", *bound})
    known = sorted({i for _, i in positions if i is not None})
    degree = _degree(value) if NUMBER_OF_OUTPUTS in bound else 0
    key = f"expected {len(reader.collected.atoms)}"
    reader.collected.atoms[key] = AtEnd(value, inputs, tuple(known), "output" in free, degree)
    reader.collected.kept_inputs.update(dict.fromkeys(inputs))
    return Expectation(key, f"E=? [ {written_text(tree, filled_in_texts(reader))} ]", span)


def _position(call: surface.Call, reader: Reader) -> tuple[Span, int | None]:
    """Return the place of `output(i)`, and i."""
    what = "the number of an output"
    if len(call.arguments) != 1:
        wanted = "one output is `output(i)`, with its number"
        reader.scope.report(QuantityArgument(call.span, wanted, f"`{written_text(call, {})}`"))
        return call.span, None
    tree = surface.positional(call.arguments[0])
    return call.span, integer_argument(tree, what, LAST_OUTPUT, reader)


def _named(names: dict[Span, str]) -> trees.Rule:
    """Return the rule that puts a name in place of each numbered output."""

    def rule(node: object) -> surface.Expression | None:
        if isinstance(node, surface.Call) and node.span in names:
            return surface.Name(names[node.span], span=node.span)
        return None

    return rule


def _degree(expr: Expr) -> int | None:
    """Return a degree of which an expression is a polynomial in the number of outputs, or None.

    >>> span = Span(None, 0, 0)
    >>> n = Var("outputs", span)
    >>> _degree(Apply("*", (n, Apply("+", (n, Const(1, span)), span)), span))
    2
    """
    if NUMBER_OF_OUTPUTS not in reads(expr):
        return 0
    match expr:
        case Var():
            return 1
        case Apply(op="neg", args=(operand,)):
            return _degree(operand)
        case Apply(op="+" | "-" | "*" as op, args=(left, right)):
            first, second = _degree(left), _degree(right)
            if first is None or second is None:
                return None
            return first + second if op == "*" else max(first, second)
        case Apply(op="/", args=(left, right)) if _degree(right) == 0:
            return _degree(left)
        case Apply(op="^", args=(base, Const(value=int(exponent)))) if exponent >= 0:
            degree = _degree(base)
            return None if degree is None else degree * exponent
        case _:
            return None
