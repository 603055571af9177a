"""Trees of the parser printed with the fewest parentheses with which it reads them again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from dpcheck.model import surface, trees
from dpcheck.model.surface_text import free_names

# How tight each kind of expression binds, as in the grammar: an operand that binds less tight
# than its place demands stands in parentheses.
_CONDITIONAL, _POLICY, _IMPLICATION, _OR, _AND, _UNTIL, _PREFIX, _COMPARISON, _RANGE = range(9)
_SUM, _PRODUCT, _UNARY, _POWER, _POSTFIX, _ATOM = range(9, 15)

Node = TypeVar("Node", bound=surface.Expression | surface.Argument | surface.Target)


def surface_text(node: surface.Expression | surface.Argument | surface.Target) -> str:
    """Return the text of an expression, argument or target, canonical and on one line.

    >>> from dpcheck.source import SourceText, Span
    >>> here = Span(SourceText("a", ""), 0, 0)
    >>> total = surface.Arithmetic("+", surface.Name("a", span=here), surface.Name("b", span=here),
    ...                            span=here)
    >>> surface_text(surface.Negative(total, span=here))
    '-(a + b)'
    """
    match node:
        case surface.Target(arguments=()):
            return node.name.name
        case surface.Target():
            return f"{node.name.name}({_joined_arguments(node.arguments)})"
        case surface.Argument():
            return _argument(node)
        case _:
            return _text(node, _CONDITIONAL)


def filled(node: Node, values: Mapping[str, surface.Expression]) -> Node:
    """Return the tree with expressions in place of free names; bound names stay.

    The values are meant to be closed (numbers, symbols): no care is taken that a binder does not
    capture a name inside of one.
    """
    free = {id(name): values.get(name.name) for name in free_names(node)}
    return trees.replaced(node, lambda part: free.get(id(part)))


def _text(node: surface.Expression, place: int) -> str:
    """Return the text of an expression for a place that demands at least this tightness."""
    level, text = _level_and_text(node)
    return text if level >= place else f"({text})"


def _level_and_text(node: surface.Expression) -> tuple[int, str]:
    """Return how tight an expression binds, and its text without parentheses around it."""
    match node:
        case surface.Conditional(condition, then, otherwise):
            parts = (_text(part, _CONDITIONAL) for part in (condition, then, otherwise))
            return _CONDITIONAL, "if {} then {} else {}".format(*parts)
        case surface.WithPolicy(distribution, policy, low, high):
            bounds = _range(low, high)
            return _POLICY, f"{_text(distribution, _IMPLICATION)} {policy} {bounds}"
        case surface.Unbounded(distribution):
            return _POLICY, f"{_text(distribution, _IMPLICATION)} unbounded"
        case surface.Implication(left, right):
            return _IMPLICATION, f"{_text(left, _OR)} => {_text(right, _IMPLICATION)}"
        case surface.Junction(operator, operands):
            level = _OR if operator == "|" else _AND
            return level, f" {operator} ".join(_text(operand, level + 1) for operand in operands)
        case surface.Comparison(operands, operators):
            texts = [_text(operand, _RANGE) for operand in operands]
            pairs = zip(operators, texts[1:], strict=True)
            return _COMPARISON, texts[0] + "".join(f" {sign} {text}" for sign, text in pairs)
        case surface.Range(low, high):
            return _RANGE, _range(low, high)
        case surface.EndlessRange(low):
            return _RANGE, f"{_text(low, _SUM)}.."
        case surface.Not(operand):
            return _PREFIX, "!" + _text(operand, _PREFIX)
        case surface.Arithmetic():
            return _arithmetic(node)
        case surface.Negative(operand):
            return _UNARY, "-" + _text(operand, _UNARY)
        case surface.Logarithm(operand):
            text = _text(operand, _UNARY)
            return _UNARY, f"ln{text}" if text.startswith("(") else f"ln {text}"
        case surface.Index(base, indices):
            return _POSTFIX, f"{_text(base, _POSTFIX)}[{_joined_items(indices)}]"
        case surface.TemporalInfix() | surface.TemporalPrefix():
            return _temporal(node)
        case _:
            return _ATOM, _atom(node)


def _arithmetic(node: surface.Arithmetic) -> tuple[int, str]:
    operator, right = node.operator, node.right
    if operator == "^":
        signs = ""
        while isinstance(right, surface.Negative):  # an exponent may have signs without parentheses
            signs, right = signs + "-", right.operand
        return _POWER, f"{_text(node.left, _POSTFIX)}^{signs}{_text(right, _POWER)}"
    level = _SUM if operator in ("+", "-") else _PRODUCT
    left_text, right_text = _text(node.left, level), _text(right, level + 1)
    if operator == "/" and isinstance(node.left, surface.Logarithm):
        left_text = f"({left_text})"  # never `ln a/b`, which looks like ln(a/b)
    if operator == "/" and not _has_outer_space(left_text + right_text):
        return level, f"{left_text}/{right_text}"
    return level, f"{left_text} {operator} {right_text}"


def _has_outer_space(text: str) -> bool:
    """Return whether there is a space outside of all brackets."""
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == " " and depth == 0:
            return True
    return False


def _temporal(node: surface.TemporalInfix | surface.TemporalPrefix) -> tuple[int, str]:
    bound = "" if node.bound is None else f"<={_bound(node.bound)}"
    match node:
        case surface.TemporalPrefix():
            return _PREFIX, f"{node.operator}{bound} {_text(node.operand, _PREFIX)}"
        case surface.TemporalInfix():
            right = _text(node.right, _UNTIL)
            return _UNTIL, f"{_text(node.left, _PREFIX)} {node.operator}{bound} {right}"


def _atom(node: surface.Expression) -> str:
    match node:
        case surface.Number():
            return node.text
        case surface.Boolean(value):
            return "true" if value else "false"
        case surface.Name(name, primed, quoted):
            return f'"{name}"' if quoted else name + "'" * primed
        case surface.Call():
            name = f'"{node.function.name}"' if node.function.quoted else node.function.name
            return f"{name}({_joined_arguments(node.arguments)})"
        case surface.Tuple(items):
            return f"({_joined_items(items)})"
        case surface.SetLiteral(items):
            return f"{{{_joined_items(items)}}}"
        case surface.Binder():
            return _binder(node)
        case surface.Branches(branches, normalized):
            pairs = ", ".join(_pair(branch.value, branch.weight) for branch in branches)
            return f"{{{pairs}}}" + " normalized" * normalized
        case surface.WeightedBranches(value, weight, normalized=normalized):
            return f"{{{_pair(value, weight)}{_generator(node)}}}" + " normalized" * normalized
        case surface.ProbabilityIs(sign, bound, path):
            return f"P{sign}{_bound(bound)} [ {surface_text(path)} ]"
        case surface.ProbabilityIn(low, high, path):
            return f"P in [{_joined_items((low, high))}] [ {surface_text(path)} ]"
        case surface.ProbabilityOf(path):
            return f"P=? [ {surface_text(path)} ]"
        case surface.Expectation(relations, value):
            return f"E{_relations(relations)} [ {surface_text(value)} ]"
        case surface.Private(epsilon, delta, path):
            budget = (epsilon,) if delta is None else (epsilon, delta)
            return f"D{{{_joined_items(budget)}}} [ {surface_text(path)} ]"
        case _:
            raise AssertionError(f"{type(node).__name__} binds less tight than an atom")


def _range(low: surface.Expression, high: surface.Expression) -> str:
    upper = _text(high, _SUM)
    if upper.startswith("{"):  # `..` before a brace has no upper end
        upper = f"({upper})"
    return f"{_text(low, _SUM)}..{upper}"


def _relations(relations: tuple[tuple[str, surface.Expression], ...]) -> str:
    match relations:
        case ():
            return "=?"
        case ((sign, surface.Negative(operand=bound)),):
            return f"{sign}-{_bound(bound)}"
        case ((sign, bound),):
            return f"{sign}{_bound(bound)}"
        case _:
            return f" in [{_joined_items(tuple(bound for _, bound in relations))}]"


def _binder(node: surface.Binder) -> str:
    if node.kind == "set":
        return f"{{{surface_text(node.body)}{_generator(node)}}}"
    member = f"{node.variable.name} in {_text(node.domain, _RANGE)}{_where(node.where)}"
    return f"{node.kind}({member} : {surface_text(node.body)})"


def _generator(node: surface.Binder | surface.WeightedBranches) -> str:
    return f" for {node.variable.name} in {surface_text(node.domain)}{_where(node.where)}"


def _where(condition: surface.Expression | None) -> str:
    return "" if condition is None else f" where {surface_text(condition)}"


def _pair(value: surface.Expression, weight: surface.Expression) -> str:
    return f"{surface_text(value)}: {surface_text(weight)}"


def _bound(bound: surface.Expression) -> str:
    """Return the text of a bound: a number, a name, a quotient of these, or parentheses."""
    match bound:
        case surface.Arithmetic(operator="/", left=left, right=right) if _is_bound_atom(
            left
        ) and _is_bound_atom(right):
            return f"{surface_text(left)}/{surface_text(right)}"
        case _ if _is_bound_atom(bound):
            return surface_text(bound)
        case _:
            return f"({surface_text(bound)})"


def _is_bound_atom(node: surface.Expression) -> bool:
    match node:
        case surface.Number():
            return True
        case surface.Name(name, primed, quoted):
            return not primed and not quoted and name != "output"
        case _:
            return False


def _joined_items(items: tuple[surface.Expression, ...]) -> str:
    return ", ".join(surface_text(item) for item in items)


def _joined_arguments(arguments: tuple[surface.Argument, ...]) -> str:
    return ", ".join(_argument(argument) for argument in arguments)


def _argument(argument: surface.Argument) -> str:
    text = surface_text(argument.value)
    if argument.name is not None:
        return f"{argument.name.name} = {text}"
    # A comparison `x = e` by position would read as the argument named x.
    return f"({text})" if re.match(r"[^\W\d]\w* = ", text) else text
