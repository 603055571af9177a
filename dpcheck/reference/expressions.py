"""What expressions mean, by recursion on their trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, prod
from typing import Any

from dpcheck.reference.numbers import Budget, Exp, Number, sign
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import (
    FALSE,
    TRUE,
    Arr,
    FiniteSet,
    NotCovered,
    Sym,
    Value,
    WrongProgram,
    as_text,
    boolean,
    elements,
    finite_set,
    integer,
    is_true,
    number,
    rational,
)

Env = dict[str, Value]
MOST = 100_000
"""A range, or a power, with more elements or digits is not covered."""


class Scope:
    """The declarations of a file and its imports, by kind and name; constants may be overridden."""

    def __init__(self, items: Iterable[Tree], definitions: dict[str, Tree]) -> None:
        """Sort the items; a constant has its value when it is first asked for."""
        self.items: dict[str, dict[str, Tree]] = {}
        for item in items:
            self.items.setdefault(item[0], {})[item[1]] = item
        self.definitions = definitions
        self.constants: Env = {}

    def of(self, kind: str, name: str) -> Tree:
        """Return a declaration, or None."""
        return self.items.get(kind, {}).get(name)

    def constant(self, name: str) -> Value:
        """Return the value of a constant."""
        if name not in self.constants:
            tree = self.definitions.get(name, self.of("const", name)[3])
            self.constants[name] = evaluate(tree, {}, self)
        return self.constants[name]


def evaluate(tree: Tree, env: Env, scope: Scope) -> Value:
    """Return the value of an expression; unknown names are symbols."""

    def value(inner: Tree, more: Env | None = None) -> Value:
        return evaluate(inner, {**env, **more} if more else env, scope)

    match tree:
        case ("number", constant):
            return constant
        case ("boolean", truth):
            return boolean(truth)
        case ("name", name, quoted):
            return named(name, quoted, env, scope)
        case ("negative", a):
            return negative(value(a))
        case ("ln", a):
            return Budget(Fraction(0), ((positive(value(a)), Fraction(1)),))
        case ("+" | "-" | "*" | "/" | "div" | "mod" | "^" as sign_, a, b):
            return arithmetic(sign_, value(a), value(b))
        case ("..", a, b):
            low, high = integer(value(a)), integer(value(b))
            if high - low > MOST:
                raise NotCovered("a very long range")
            return FiniteSet(tuple(Fraction(k) for k in range(low, high + 1)))
        case ("compare", signs, parts):
            values = [value(part) for part in parts]
            steps = zip(signs, pairwise(values), strict=True)
            return boolean(all(compare(sign_, a, b) for sign_, (a, b) in steps))
        case ("!", a):
            return boolean(not is_true(value(a)))
        case ("&", parts):
            return boolean(all(is_true(value(part)) for part in parts))
        case ("|", parts):
            return boolean(any(is_true(value(part)) for part in parts))
        case ("=>", a, b):
            return boolean(not is_true(value(a)) or is_true(value(b)))
        case ("if", condition, a, b):
            return value(a if is_true(value(condition)) else b)
        case ("tuple", parts):
            return tuple(value(part) for part in parts)
        case ("set", parts):
            return finite_set(value(part) for part in parts)
        case ("comprehension", element, variable, domain, where):
            chosen = chosen_from(value(domain), variable, where, value)
            return finite_set(value(element, {variable: e}) for e in chosen)
        case ("binder", name, variable, domain, where, body):
            chosen = chosen_from(value(domain), variable, where, value)
            return bound(name, chosen, lambda e: value(body, {variable: e}))
        case ("index", base, indices):
            return indexed(value(base), [value(index) for index in indices])
        case ("call", name, arguments):
            return called(name, [value(a) for _, a in arguments], scope)
    raise NotCovered(f"the expression `{tree[0]}`")


def named(name: str, quoted: bool, env: Env, scope: Scope) -> Value:
    """Return what a name stands for: variables before constants before symbols."""
    if name in env and (not quoted or "output" in env):  # quoted, only formulas read variables
        if env[name] is None:
            raise WrongProgram(f"{name} is unassigned")
        return env[name]
    if scope.of("const", name) is not None and (not quoted or "output" in env):
        return scope.constant(name)
    if scope.of("dist", name) is not None and not quoted:
        return ("dist", name)
    return Sym(name)


def negative(a: Value) -> Value:
    """Return -a, of a number or a budget."""
    return a.times(Fraction(-1)) if isinstance(a, Budget) else -number(a)


def positive(a: Value) -> Fraction:
    """Return what a logarithm may be taken of."""
    if rational(a) <= 0:
        raise WrongProgram(f"ln of {a}")
    return rational(a)


def as_budget(a: Value) -> Budget:
    """Return a budget, or a rational number as one."""
    return a if isinstance(a, Budget) else Budget(rational(a))


def arithmetic(sign_: str, a: Value, b: Value) -> Value:
    """Return `a sign b`."""
    if isinstance(a, FiniteSet) and isinstance(b, FiniteSet) and sign_ == "*":
        return FiniteSet(tuple((x, y) for x in a.items for y in b.items))
    if isinstance(a, Budget) or isinstance(b, Budget):
        return budget_arithmetic(sign_, a, b)
    x, y = number(a), number(b)
    match sign_:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "^":
            return power(x, integer(b))
    if sign(y) == 0:
        raise WrongProgram("division by zero")
    match sign_:
        case "/":
            return x / y
        case "div":
            return Fraction(floor_of(x / y))
        case _:
            return x - y * floor_of(x / y)


def power(x: Number, n: int) -> Number:
    """Return x^n."""
    if sign(x) == 0 and n < 0:
        raise WrongProgram("division by zero")
    if abs(n) > MOST:
        raise NotCovered("a very large power")
    return Fraction(x) ** n if isinstance(x, int | Fraction) else x**n


def budget_arithmetic(sign_: str, a: Value, b: Value) -> Value:
    """Return a sum, a difference, a multiple or a quotient of budgets and rational numbers."""
    match sign_:
        case "+":
            return as_budget(a).plus(as_budget(b))
        case "-":
            return as_budget(a).plus(as_budget(b).times(Fraction(-1)))
        case "*":
            return a.times(rational(b)) if isinstance(a, Budget) else b.times(rational(a))
        case "/" if isinstance(b, int | Fraction):
            return a.times(1 / Fraction(b))
        case "/":
            return ("quotient", as_budget(a), as_budget(b))
        case "div":
            return Fraction(floor_of(("quotient", as_budget(a), as_budget(b))))
    raise NotCovered(f"`{sign_}` of budgets")


def floor_of(x: Value) -> int:
    """Return the greatest integer below or at a number or a quotient of budgets."""
    if isinstance(x, int | Fraction):
        return floor(x)

    def is_at_most(k: int) -> bool:
        if isinstance(x, Exp):
            return sign(x - Fraction(k)) >= 0
        _, over, under = x
        return bool(over.plus(under.times(Fraction(-k))).sign() * under.sign() >= 0)

    low, high = -1, 1
    while not is_at_most(low):
        low *= 2
    while is_at_most(high):
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_at_most(middle) else (low, middle)
    return low


def order(a: Value, b: Value) -> int:
    """Return the sign of a - b, of numbers or budgets."""
    if isinstance(a, Budget) or isinstance(b, Budget):
        return as_budget(a).plus(as_budget(b).times(Fraction(-1))).sign()
    return sign(number(a) - number(b))


def compare(sign_: str, a: Value, b: Value) -> bool:
    """Return whether `a sign b`."""
    if sign_ == "in":
        return any(is_equal(a, item) for item in elements(b))
    if sign_ in ("=", "!="):
        return is_equal(a, b) == (sign_ == "=")
    wanted = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}[sign_]
    return order(a, b) in wanted


def is_equal(a: Value, b: Value) -> bool:
    """Return whether two values are the same; those of different kinds are not."""
    if isinstance(a, Budget) != isinstance(b, Budget):
        return isinstance(a if isinstance(b, Budget) else b, int | Fraction) and order(a, b) == 0
    if isinstance(a, Budget) and isinstance(b, Budget):
        return order(a, b) == 0
    return bool(a == b)


def chosen_from(
    domain: Value, variable: str, where: Tree, value: Callable[[Tree, Env], Value]
) -> list[Value]:
    """Return the elements of a set that satisfy a condition."""
    return [e for e in elements(domain) if where is None or is_true(value(where, {variable: e}))]


def bound(name: str, chosen: list[Value], body: Callable[[Value], Value]) -> Value:
    """Return the value of `name(variable in domain where condition : body)`."""
    bodies = (body(e) for e in chosen)
    match name:
        case "forall":
            return boolean(all(is_true(each) for each in bodies))
        case "exists":
            return boolean(any(is_true(each) for each in bodies))
        case "sum":
            return total(bodies)
        case "product":
            return prod((number(each) for each in bodies), start=Fraction(1))
        case "count":
            return Fraction(sum(is_true(each) for each in bodies))
        case "max" | "min" | "argmax" | "argmin":
            found = list(bodies)
            best = extreme(name[-3:], found)
            return best if name in ("max", "min") else chosen[found.index(best)]
    raise NotCovered(f"the binder {name}")


def total(values: Iterable[Value]) -> Value:
    """Return the sum of numbers, or of budgets."""
    found: Value = Fraction(0)
    for value in values:
        found = arithmetic("+", found, value)
    return found


def extreme(name: str, values: list[Value]) -> Value:
    """Return the first largest (`max`) or least value."""
    if not values:
        raise WrongProgram(f"{name} of nothing")
    best = values[0]
    for value in values[1:]:
        best = value if order(value, best) == (1 if name == "max" else -1) else best
    return best


def indexed(base: Value, indices: list[Value]) -> Value:
    """Return an array element, or a tuple component (counted from 1)."""
    for index in indices:
        items = Arr(1, base) if isinstance(base, tuple) else base
        if not isinstance(items, Arr):
            raise WrongProgram(f"{as_text(base)} has no elements")
        base = items.items[items.place(index)]
        if base is None:
            raise WrongProgram("an element is unassigned")
    return base


def items_of(arguments: list[Value]) -> tuple[Value, ...]:
    """Return what `sum`, `max` and the like range over: one collection, or the arguments."""
    if len(arguments) == 1 and isinstance(arguments[0], Arr | FiniteSet):
        return arguments[0].items
    return (
        arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else (*arguments,)
    )


def called(name: str, arguments: list[Value], scope: Scope) -> Value:
    """Return the value of a function of the file, or of one that is built in."""
    function = scope.of("fun", name)
    if function is not None:
        return evaluate(function[3], dict(zip(function[2], arguments, strict=True)), scope)
    items = items_of(arguments)
    match name:
        case "abs":
            a = arguments[0]
            return negative(a) if order(a, Fraction(0)) < 0 else a
        case "floor":
            return Fraction(floor_of(arguments[0]))
        case "ceil":
            a = arguments[0]
            flipped = (
                ("quotient", a[1].times(Fraction(-1)), a[2]) if type(a) is tuple else negative(a)
            )
            return Fraction(ceil(-floor_of(flipped)))
        case "exp":
            found = as_budget(arguments[0]).exp()
            if found is None:
                raise WrongProgram("this power of e is no number here")
            return found
        case "clamp":
            return extreme("max", [arguments[1], extreme("min", [arguments[2], arguments[0]])])
        case "len":
            return Fraction(len(items))
        case "sum":
            return total(items)
        case "count":
            return Fraction(sum(is_true(item) for item in items))
        case "max" | "min":
            return extreme(name, list(items))
        case "argmax" | "argmin":
            first = arguments[0].lo if isinstance(arguments[0], Arr) else 1
            return Fraction(first + items.index(extreme(name[-3:], list(items))))
        case "hamming" | "l1" | "linf":
            return distance(name, items_of(arguments[:1]), items_of(arguments[1:]))
    raise NotCovered(f"the function {name}")


def distance(name: str, left: tuple[Value, ...], right: tuple[Value, ...]) -> Number:
    """Return the distance of two sequences of equal length."""
    if len(left) != len(right):
        raise WrongProgram("lengths differ")
    if name == "hamming":
        return Fraction(sum(a != b for a, b in zip(left, right, strict=True)))
    gaps: list[Any] = [abs(number(a) - number(b)) for a, b in zip(left, right, strict=True)]
    return sum(gaps, Fraction(0)) if name == "l1" else max(gaps, default=Fraction(0))


__all__ = ["FALSE", "TRUE", "Env", "Scope", "evaluate", "is_equal"]
