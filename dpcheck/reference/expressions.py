"""What expressions mean, by recursion on their trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor, lcm, prod

from dpcheck.reference.numbers import ONE, ZERO, Budget, Exp, Number, quotient, sign
from dpcheck.reference.syntax import Tree, by_place
from dpcheck.reference.values import (
    Arr,
    Dist,
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
MAX_POWER = 1_000_000
"""Budgets are compared by powers of numbers and of e up to this: some seconds."""


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
            tree = self.definitions.get(name) or self.of("const", name)[3]
            self.constants[name] = evaluate(tree, {}, self)
        return self.constants[name]


def evaluate(tree: Tree, env: Env, scope: Scope) -> Value:
    """Return the value of an expression; unknown names are symbols."""

    def value(part: Tree) -> Value:
        return evaluate(part, env, scope)

    match tree:
        case ("number", constant):
            return constant
        case ("name", name, is_quoted):
            return named(env, scope, name, is_quoted)
        case ("compare", signs, parts):
            steps = zip(signs, pairwise([value(part) for part in parts]), strict=True)
            return boolean(all(compare(sign_, a, b) for sign_, (a, b) in steps))
        case ("+" | "-" | "*" | "/" | "div" | "mod" | "^" as sign_, a, b):
            return arithmetic(sign_, value(a), value(b))
        case ("index", base, indices):
            return indexed(value(base), [value(index) for index in indices])
        case ("call", name, arguments):
            return called(scope, name, [value(a) for a in by_place(arguments)])
        case ("if", condition, a, b):
            return value(a if holds(condition, env, scope) else b)
        case ("&", parts):
            return boolean(all(holds(part, env, scope) for part in parts))
        case ("|", parts):
            return boolean(any(holds(part, env, scope) for part in parts))
        case ("!", a):
            return boolean(not holds(a, env, scope))
        case ("=>", a, b):
            return boolean(not holds(a, env, scope) or holds(b, env, scope))
        case ("boolean", truth):
            return boolean(truth)
        case ("negative", a):
            return negative(value(a))
        case ("ln", a):
            return logarithm(rational(value(a)))
        case ("..", a, b) if b is not None:
            return range_of(integer(value(a)), integer(value(b)))
        case ("tuple", parts):
            return tuple(map(value, parts))
        case ("set", parts):
            return finite_set(map(value, parts))
        case ("comprehension", element, variable, domain, where):
            chosen = chosen_from(env, scope, variable, domain, where)
            return finite_set(evaluate(element, {**env, variable: e}, scope) for e in chosen)
        case ("binder", name, variable, domain, where, body):
            chosen = chosen_from(env, scope, variable, domain, where)
            bodies = (evaluate(body, {**env, variable: e}, scope) for e in chosen)
            return bound(name, chosen, bodies)
    raise NotCovered(f"the expression `{tree[0]}`")


def holds(tree: Tree, env: Env, scope: Scope) -> bool:
    """Return whether a condition is true; one that is left out is."""
    return tree is None or is_true(evaluate(tree, env, scope))


def logarithm(of: Fraction) -> Budget:
    """Return `ln of`."""
    if of <= 0:
        raise WrongProgram(f"ln of {of}")
    return Budget(ZERO, ((of, ONE),))


def range_of(low: int, high: int) -> FiniteSet:
    """Return `low..high`."""
    if high - low > MOST:
        raise NotCovered("a very long range")
    return FiniteSet(tuple(range(low, high + 1)))


def bound(name: str, chosen: list[Value], bodies: Iterable[Value]) -> Value:
    """Return the value of `name(variable in chosen : body)`."""
    match name:
        case "forall":
            return boolean(all(map(is_true, bodies)))
        case "exists":
            return boolean(any(map(is_true, bodies)))
        case "argmax" | "argmin":
            found = list(bodies)
            return chosen[found.index(extreme(name[-3:], found))]
        case "product":
            return prod(map(number, bodies))
    return BUILT_IN[name](tuple(bodies))


def chosen_from(env: Env, scope: Scope, variable: str, domain: Tree, where: Tree) -> list[Value]:
    """Return the elements of a set that satisfy a condition."""
    items = elements(evaluate(domain, env, scope))
    return [e for e in items if where is None or holds(where, {**env, variable: e}, scope)]


def bindings(indices: list[tuple[str, Tree]], where: Tree, env: Env, scope: Scope) -> Iterator[Env]:
    """Yield the environments of `for i in a, j in b where condition`."""
    if not indices:
        yield from [env] if holds(where, env, scope) else []
        return
    (name, domain), *inner = indices
    for element in elements(evaluate(domain, env, scope)):
        yield from bindings(inner, where, {**env, name: element}, scope)


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


def named(env: Env, scope: Scope, name: str, is_quoted: bool) -> Value:
    """Return what a name stands for: variables before constants before symbols."""
    is_read = not is_quoted or "output" in env  # only formulas read what is quoted
    if name in env and is_read:
        if env[name] is None:
            raise WrongProgram(f"{name} is unassigned")
        return env[name]
    if scope.of("const", name) is not None and is_read:
        return scope.constant(name)
    if scope.of("dist", name) is not None and not is_quoted:
        return Dist(name)
    if scope.of("param", name) is not None:
        if name not in scope.definitions:
            raise NotCovered(f"the parameter {name}, which has no value")
        return scope.constant(name)
    if name == "integers" and not is_quoted:
        raise NotCovered("all integers")
    return Sym(name)


def negative(a: Value) -> Value:
    """Return -a, of a number or a budget."""
    return a * -ONE if isinstance(a, Budget) else -number(a)


def as_budget(a: Value) -> Budget:
    """Return a budget, or a rational number as one.

    Raises `NotCovered` where comparing it would take too long a power of a number or of e.
    """
    budget = a if isinstance(a, Budget) else Budget(rational(a))
    root = lcm(*(m.denominator for _, m in budget.logs))
    powers = (abs(budget.offset), *(abs(m) + 1 for _, m in budget.logs))
    if any(power * root > MAX_POWER for power in powers):
        raise NotCovered(f"a budget with a power or a root above {MAX_POWER:,}")
    return budget


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
            return quotient(x, y)
        case "div":
            return floor_of(quotient(x, y))
        case _:
            return x - y * floor_of(quotient(x, y))


def power(x: Number, n: int) -> Number:
    """Return x^n."""
    if sign(x) == 0 and n < 0:
        raise WrongProgram("division by zero")
    if abs(n) > MOST:
        raise NotCovered("a very large power")
    return quotient(1, x) ** -n if n < 0 else x**n


def budget_arithmetic(sign_: str, a: Value, b: Value) -> Value:
    """Return a sum, a difference, a multiple or a quotient of budgets and rational numbers."""
    match sign_:
        case "+":
            return as_budget(a) + as_budget(b)
        case "-":
            return as_budget(a) - as_budget(b)
        case "*":
            return a * rational(b) if isinstance(a, Budget) else b * rational(a)
        case "/" if isinstance(b, int | Fraction):
            return a * (1 / Fraction(b))
        case "/":
            return ("quotient", as_budget(a), as_budget(b))
        case "div":
            return floor_of(("quotient", as_budget(a), as_budget(b)))
    raise NotCovered(f"`{sign_}` of budgets")


def floor_of(x: Value) -> int:
    """Return the greatest integer below or at a number or a quotient of budgets."""
    if isinstance(x, int | Fraction):
        return floor(x)

    def is_at_most(k: int) -> bool:
        if isinstance(x, Exp):
            return sign(x - k) >= 0
        _, over, under = x
        return bool((over - under * Fraction(k)).sign() * under.sign() >= 0)

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
        return (as_budget(a) - as_budget(b)).sign()
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
    if isinstance(a, Budget) or isinstance(b, Budget):
        are_amounts = all(isinstance(x, Budget | int | Fraction) for x in (a, b))
        return are_amounts and order(a, b) == 0
    return bool(a == b)


def total(values: Iterable[Value]) -> Value:
    """Return the sum of numbers, or of budgets."""
    found: Value = 0
    for value in values:
        found = arithmetic("+", found, value)
    return found


def extreme(name: str, values: Sequence[Value]) -> Value:
    """Return the first largest (`max`) or least value."""
    if not values:
        raise WrongProgram(f"{name} of nothing")
    best = values[0]
    for value in values[1:]:
        best = value if order(value, best) == (1 if name == "max" else -1) else best
    return best


def items_of(arguments: list[Value]) -> tuple[Value, ...]:
    """Return what `sum`, `max` and the like range over: one collection, or the arguments."""
    match arguments:
        case [Arr(items=items) | FiniteSet(items=items)]:
            return items
        case [tuple(items)]:
            return items
    return tuple(arguments)


def called(scope: Scope, name: str, values: list[Value]) -> Value:
    """Return the value of a function of the file, or of one that is built in."""
    function = scope.of("fun", name)
    if function is not None:
        return evaluate(function[3], dict(zip(function[2], values, strict=True)), scope)
    if name in BUILT_IN:
        return BUILT_IN[name](items_of(values))
    if name in FUNCTIONS:
        return FUNCTIONS[name](*values)
    raise NotCovered(f"the function {name}")


def absolute(a: Value) -> Value:
    """Return abs(a)."""
    return negative(a) if order(a, 0) < 0 else a


def ceil_of(a: Value) -> int:
    """Return the least integer above or at a number or a quotient of budgets."""
    if type(a) is tuple:
        return -floor_of(("quotient", negative(a[1]), a[2]))
    return -floor_of(negative(a))


def exponential(a: Value) -> Number:
    """Return exp(a)."""
    found = as_budget(a).exp()
    if found is None:
        raise WrongProgram("this power of e is no number here")
    return found


def clamped(x: Value, low: Value, high: Value) -> Value:
    """Return the nearest number to x in low..high."""
    return extreme("max", (low, extreme("min", (high, x))))


def place_of(name: str) -> Callable[[Value], Value]:
    """Return what finds the first index with the largest or least item."""

    def place(a: Value) -> Value:
        items = items_of([a])
        return (a.lo if isinstance(a, Arr) else 1) + items.index(extreme(name, items))

    return place


def distance(name: str) -> Callable[[Value, Value], Number]:
    """Return what finds the distance of two sequences of equal length."""

    def found(a: Value, b: Value) -> Number:
        left, right = items_of([a]), items_of([b])
        if len(left) != len(right):
            raise WrongProgram("lengths differ")
        if name == "hamming":
            return sum(x != y for x, y in zip(left, right, strict=True))
        gaps = [abs(number(x) - number(y)) for x, y in zip(left, right, strict=True)]
        return sum(gaps) if name == "l1" else max(gaps, default=0)

    return found


BUILT_IN: dict[str, Callable[[tuple[Value, ...]], Value]] = {
    "len": len,
    "sum": total,
    "count": lambda items: sum(map(is_true, items)),
    "max": lambda items: extreme("max", items),
    "min": lambda items: extreme("min", items),
}
"""Of one collection, or of the arguments; also binders."""
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": absolute,
    "floor": floor_of,
    "ceil": ceil_of,
    "exp": exponential,
    "clamp": clamped,
    "argmax": place_of("max"),
    "argmin": place_of("min"),
    **{name: distance(name) for name in ("hamming", "l1", "linf")},
}
