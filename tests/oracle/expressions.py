"""Values of expressions of the surface tree, by recursion on the tree."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

from dpcheck.model import surface
from dpcheck.parse import parse_model
from dpcheck.source import SourceText
from tests.oracle.values import (
    Arr,
    FiniteSet,
    NotCovered,
    OracleError,
    Sym,
    boolean,
    finite_set,
    integer,
    is_true,
    number,
)


class File:
    """The declarations of one file by name; constants may be overridden."""

    def __init__(self, model, constants=None, imported=()):
        items = [item for file in (*imported, model) for item in file.items]
        self.functions = by_name(items, surface.Function)
        self.distributions = by_name(items, surface.DistributionFunction)
        self.mechanisms = by_name(items, surface.Mechanism)
        self.constants = {}
        for name, item in by_name(items, surface.Constant).items():
            given = (constants or {}).get(name)
            self.constants[name] = evaluate(item.value, {}, self) if given is None else given


def by_name(items, kind):
    """Return the items of one kind by their names."""
    return {item.name.name: item for item in items if isinstance(item, kind)}


def evaluate(expr, env, file):
    """Return the value of an expression; unknown names are symbols."""

    def value(inner, **more):
        return evaluate(inner, {**env, **more} if more else env, file)

    match expr:
        case surface.Number():
            return Fraction(expr.numerator, expr.denominator)
        case surface.Boolean():
            return boolean(expr.value)
        case surface.Name():
            return named(expr, env, file)
        case surface.Negative():
            return -number(value(expr.operand))
        case surface.Arithmetic():
            return arithmetic(expr.operator, value(expr.left), value(expr.right))
        case surface.Range():
            return integers(value(expr.low), value(expr.high))
        case surface.Comparison():
            operands = [value(operand) for operand in expr.operands]
            steps = zip(pairwise(operands), expr.operators, strict=True)
            return boolean(all(compare(op, a, b) for (a, b), op in steps))
        case surface.Not():
            return boolean(not is_true(value(expr.operand)))
        case surface.Junction(operator="&"):
            return boolean(all(is_true(value(operand)) for operand in expr.operands))
        case surface.Junction():
            return boolean(any(is_true(value(operand)) for operand in expr.operands))
        case surface.Implication():
            return boolean(not is_true(value(expr.left)) or is_true(value(expr.right)))
        case surface.Conditional():
            return value(expr.then if is_true(value(expr.condition)) else expr.otherwise)
        case surface.Tuple():
            return tuple(value(item) for item in expr.items)
        case surface.SetLiteral():
            return finite_set(value(item) for item in expr.items)
        case surface.SetComprehension():
            chosen = elements_where(expr, value)
            return finite_set(value(expr.element, **{expr.variable.name: e}) for e in chosen)
        case surface.Binder():
            return binder(expr, value)
        case surface.Index():
            return element(value(expr.base), [value(index) for index in expr.indices])
        case surface.Call():
            return call(expr, value, file)
    raise NotCovered(type(expr).__name__)


def named(expr, env, file):
    """Return what a name stands for: variables before constants before symbols."""
    name = expr.name + ("'" if expr.primed else "")
    if expr.quoted:
        return Sym(expr.name)
    if name in env:
        if env[name] is None:
            raise OracleError(f"{name} is unassigned")
        return env[name]
    if name in file.constants:
        return file.constants[name]
    return Sym(name)


def integers(low, high):
    """Return the range of integers low..high."""
    return FiniteSet(tuple(Fraction(v) for v in range(integer(low), integer(high) + 1)))


def arithmetic(operator, left, right):
    """Return `left operator right`."""
    if operator == "*" and isinstance(left, FiniteSet) and isinstance(right, FiniteSet):
        return FiniteSet(tuple((a, b) for a in left.items for b in right.items))
    a, b = number(left), number(right)
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "^":
            if a == 0 and b < 0:
                raise OracleError("division by zero")
            return Fraction(a ** integer(b))
    if b == 0:
        raise OracleError("division by zero")
    match operator:
        case "/":
            return a / b
        case "div":
            return Fraction(floor(a / b))
        case "mod":
            return a - b * floor(a / b)
    raise NotCovered(operator)


def compare(operator, a, b):
    """Return whether `a operator b`."""
    match operator:
        case "=":
            return a == b
        case "!=":
            return a != b
        case "in":
            if not isinstance(b, FiniteSet):
                raise OracleError(f"{b} is no set")
            return a in b.items
        case "<":
            return number(a) < number(b)
        case "<=":
            return number(a) <= number(b)
        case ">":
            return number(a) > number(b)
        case ">=":
            return number(a) >= number(b)
    raise NotCovered(operator)


def elements_where(expr, value):
    """Return the elements of a binder's domain that satisfy its condition."""
    domain = value(expr.domain)
    if not isinstance(domain, FiniteSet):
        raise OracleError(f"{domain} is no set")
    return [
        e
        for e in domain.items
        if expr.where is None or is_true(value(expr.where, **{expr.variable.name: e}))
    ]


def binder(expr, value):
    """Return the value of `kind(variable in domain where condition : body)`."""
    chosen = elements_where(expr, value)
    bodies = (value(expr.body, **{expr.variable.name: e}) for e in chosen)
    match expr.kind:
        case "forall":
            return boolean(all(is_true(body) for body in bodies))
        case "exists":
            return boolean(any(is_true(body) for body in bodies))
        case "sum":
            return sum((number(body) for body in bodies), Fraction(0))
        case "product":
            return math.prod((number(body) for body in bodies), start=Fraction(1))
        case "count":
            return Fraction(sum(is_true(body) for body in bodies))
    if not chosen:
        raise OracleError(f"{expr.kind} of nothing")
    scores = [number(body) for body in bodies]
    best = max(scores) if expr.kind in ("max", "argmax") else min(scores)
    return best if expr.kind in ("max", "min") else chosen[scores.index(best)]


def element(base, indices):
    """Return an array element, or a tuple component (counted from 1)."""
    for index in indices:
        if isinstance(base, Arr):
            base = base.at(index)
        elif isinstance(base, tuple):
            base = Arr(1, base).at(index)
        else:
            raise OracleError(f"{base} has no elements")
    return base


def items_of(args):
    """Return what `sum`, `max` and the like range over: one collection, or the arguments."""
    if len(args) == 1 and isinstance(args[0], Arr | FiniteSet):
        return args[0].items
    if len(args) == 1 and isinstance(args[0], tuple):
        return args[0]
    return tuple(args)


def call(expr, value, file):
    """Return the value of a built-in function or a function of the file."""
    name = expr.function.name
    args = [value(surface.positional(argument)) for argument in expr.arguments]
    if name in file.functions:
        function = file.functions[name]
        names = [parameter.name for parameter in function.parameters]
        return evaluate(function.body, dict(zip(names, args, strict=True)), file)
    items = items_of(args)
    match name:
        case "abs":
            return abs(number(args[0]))
        case "floor":
            return Fraction(floor(number(args[0])))
        case "ceil":
            return Fraction(ceil(number(args[0])))
        case "clamp":
            return max(number(args[1]), min(number(args[2]), number(args[0])))
        case "len":
            return Fraction(len(items))
        case "sum":
            return sum((number(item) for item in items), Fraction(0))
        case "max":
            return max(number(item) for item in items)
        case "min":
            return min(number(item) for item in items)
        case "argmax":
            return args[0].lo + Fraction(items.index(max(number(item) for item in items)))
        case "argmin":
            return args[0].lo + Fraction(items.index(min(number(item) for item in items)))
        case "hamming" | "l1" | "linf":
            return distance(name, items_of(args[:1]), items_of(args[1:]))
    raise NotCovered(name)


def distance(name, left, right):
    """Return the distance of two sequences of equal length."""
    if len(left) != len(right):
        raise OracleError("lengths differ")
    if name == "hamming":
        return Fraction(sum(a != b for a, b in zip(left, right, strict=True)))
    gaps = [abs(number(a) - number(b)) for a, b in zip(left, right, strict=True)]
    return sum(gaps, Fraction(0)) if name == "l1" else max(gaps, default=Fraction(0))


def parsed(text):
    """Return the surface tree of a text without mistakes."""
    result = parse_model(SourceText("oracle.dpm", text))
    errors = [mistake for mistake in result.mistakes if mistake.severity == "error"]
    assert not errors, [(mistake.span, mistake.title) for mistake in errors]
    return result.model
