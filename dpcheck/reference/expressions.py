"""What expressions mean, by recursion on their trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm, prod
from typing import Any

from dpcheck.reference.numbers import (
    ONE,
    ZERO,
    Budget,
    Number,
    Ratio,
    budget_of,
    floor_of,
    quotient,
    sign,
)
from dpcheck.reference.syntax import Block, Tree
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
Amount = Any
"""A number or a budget."""
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
        """Return the value of a constant, or of a parameter that was given one."""
        if name not in self.constants:
            tree = self.definitions.get(name)
            if tree is None and self.of("const", name) is None:
                raise NotCovered(f"the parameter {name}, which has no value")
            tree = self.of("const", name)[3] if tree is None else tree
            self.constants[name] = evaluate(tree, {}, self)
        return self.constants[name]

    def named(self, name: str) -> Value:
        """Return what a name stands for that is no variable: without a declaration, a symbol."""
        if self.of("const", name) is not None or self.of("param", name) is not None:
            return self.constant(name)
        return Sym(name) if self.of("dist", name) is None else Dist(name)


def evaluate(tree: Tree, env: Env, scope: Scope) -> Value:
    """Return the value of an expression in which the names of `env` are variables."""

    def value(part: Tree) -> Value:
        return evaluate(part, env, scope)

    match tree:
        case ("constant", constant):
            return constant
        case ("name", name) if name in env:
            return assigned(name, env)
        case ("name", "integers"):
            raise NotCovered("all integers")
        case ("name", name):
            return scope.named(name)
        case ("quoted", name):  # only formulas read what is quoted
            is_read = "output" in env
            return value(("name", name)) if is_read else Sym(name)
        case ("compare", signs, parts):
            steps = zip(signs, pairwise([value(part) for part in parts]), strict=True)
            return boolean(all(compare(sign_, a, b) for sign_, (a, b) in steps))
        case ("+" | "-" | "*" | "/" | "div" | "mod" | "^" as sign_, a, b):
            return arithmetic(sign_, value(a), value(b))
        case ("index", base, indices):
            return indexed(value(base), [value(index) for index in indices])
        case ("call", name, arguments):
            return called(scope, name, [value(a) for a in arguments])
        case ("if", condition, a, b):
            return value(a if is_true(value(condition)) else b)
        case ("&", a, b):
            return boolean(is_true(value(a)) and is_true(value(b)))
        case ("|", a, b):
            return boolean(is_true(value(a)) or is_true(value(b)))
        case ("=>", a, b):
            return boolean(not is_true(value(a)) or is_true(value(b)))
        case ("!", a):
            return boolean(not is_true(value(a)))
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
        case ("comprehension", element, *source):
            return finite_set(evaluate(element, inner, scope) for inner in each(source, env, scope))
        case ("binder", name, *source, body):
            inners = list(each(source, env, scope))
            bodies = (evaluate(body, inner, scope) for inner in inners)
            return bound(name, [inner[source[0]] for inner in inners], bodies)
    raise NotCovered(f"the expression `{tree[0]}`")


def holds(tree: Tree, env: Env, scope: Scope) -> bool:
    """Return whether a condition is true; one that is left out is."""
    return tree is None or is_true(evaluate(tree, env, scope))


def each(source: Sequence[Tree], env: Env, scope: Scope) -> Iterator[Env]:
    """Yield the variables of `i in S where c`, for each element."""
    variable, domain, *where = source
    for element in elements(evaluate(domain, env, scope)):
        inner = {**env, variable: element}
        if all(holds(condition, inner, scope) for condition in where):
            yield inner


def unrolled(block: Block, env: Env, scope: Scope) -> Iterator[tuple[Tree, Env]]:
    """Yield what stands in a block, and in each `for` and `if` of it, with the variables there."""
    for part in block:
        match part:
            case ("for", name, domain, parts):
                for inner in each((name, domain), env, scope):
                    yield from unrolled(parts, inner, scope)
            case ("if", condition, then, otherwise):
                chosen = then if holds(condition, env, scope) else otherwise
                yield from unrolled(chosen, env, scope)
            case _:
                yield part, env


def assigned(name: str, env: Env) -> Value:
    """Return the value of a variable."""
    if env[name] is None:
        raise WrongProgram(f"{name} is unassigned")
    return env[name]


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


def range_of(low: int, high: int) -> FiniteSet:
    """Return `low..high`."""
    if high - low > MOST:
        raise NotCovered("a very long range")
    return FiniteSet(tuple(range(low, high + 1)))


# --- numbers and budgets -----------------------------------------------------------------------


def arithmetic(sign_: str, a: Value, b: Value) -> Value:
    """Return `a sign b` of numbers or budgets, or the pairs of two sets."""
    if isinstance(a, FiniteSet) and isinstance(b, FiniteSet) and sign_ == "*":
        return FiniteSet(tuple((x, y) for x in a.items for y in b.items))
    if sign_ == "^":
        return power(number(a), integer(b))
    x, y = amount(a), amount(b)
    if sign_ == "*" and isinstance(x, Budget) and isinstance(y, Budget):
        raise NotCovered("products of budgets")
    if sign_ in ("/", "div", "mod") and sign(y) == 0:
        raise WrongProgram("division by zero")
    match sign_:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            return quotient(x, y)
        case "div":
            return floor_of(quotient(x, y))
    return x - y * floor_of(quotient(x, y))


def amount(a: Value) -> Amount:
    """Return a number or a budget."""
    return comparable(a) if isinstance(a, Budget) else number(a)


def power(x: Number, n: int) -> Number:
    """Return x^n."""
    if sign(x) == 0 and n < 0:
        raise WrongProgram("division by zero")
    if abs(n) > MOST:
        raise NotCovered("a very large power")
    return quotient(1, x) ** -n if n < 0 else x**n


def comparable(budget: Budget) -> Budget:
    """Return a budget unless comparing it takes too long a power of a number or of e."""
    root = lcm(*(m.denominator for _, m in budget.logs))
    powers = (abs(budget.offset), *(abs(m) + 1 for _, m in budget.logs))
    if any(power * root > MAX_POWER for power in powers):
        raise NotCovered(f"a budget with a power or a root above {MAX_POWER:,}")
    return budget


def as_budget(a: Value) -> Budget:
    """Return a budget, or a rational number as one."""
    return comparable(budget_of(a if isinstance(a, Budget) else rational(a)))


def logarithm(of: Fraction) -> Budget:
    """Return `ln of`."""
    if of <= 0:
        raise WrongProgram(f"ln of {of}")
    return Budget(ZERO, ((of, ONE),))


def negative(a: Value) -> Value:
    """Return -a, of a number, a budget or a quotient of budgets."""
    return -a if isinstance(a, Ratio) else -amount(a)


def order(a: Value, b: Value) -> int:
    """Return the sign of a - b, of numbers or budgets."""
    return sign(amount(a) - amount(b))


def compare(sign_: str, a: Value, b: Value) -> bool:
    """Return whether `a sign b`."""
    if sign_ == "in":
        return any(is_equal(a, item) for item in elements(b))
    if sign_ in ("=", "!="):
        return is_equal(a, b) == (sign_ == "=")
    return order(a, b) in TESTS[sign_]


TESTS = {"=": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
"""The signs of a - b with which `a sign b` is true."""


def is_equal(a: Value, b: Value) -> bool:
    """Return whether two values are the same; those of different kinds are not."""
    if isinstance(a, Budget) or isinstance(b, Budget):
        are_amounts = all(isinstance(x, Budget | int | Fraction) for x in (a, b))
        return are_amounts and order(a, b) == 0
    return bool(a == b)


# --- functions and binders ---------------------------------------------------------------------


def called(scope: Scope, name: str, values: list[Value]) -> Value:
    """Return the value of a function of the file, or of one that is built in."""
    function = scope.of("fun", name)
    if function is not None:
        return evaluate(function[3], dict(zip(function[2], values, strict=True)), scope)
    if name in COLLECTIVE:
        return COLLECTIVE[name](items_of(*values))
    if name in FUNCTIONS:
        return FUNCTIONS[name](*values)
    raise NotCovered(f"the function {name}")


def bound(name: str, chosen: list[Value], bodies: Iterable[Value]) -> Value:
    """Return the value of `name(variable in chosen : body)`."""
    match name:
        case "forall":
            return boolean(all(map(is_true, bodies)))
        case "exists":
            return boolean(any(map(is_true, bodies)))
        case "argmax" | "argmin":
            found = tuple(bodies)
            return chosen[found.index(extreme(name[-3:], found))]
        case "product":
            return prod(map(number, bodies))
    return COLLECTIVE[name](tuple(bodies))


def items_of(*values: Value) -> tuple[Value, ...]:
    """Return what `sum`, `max` and the like range over: one collection, or the arguments."""
    match values:
        case (Arr(items=items) | FiniteSet(items=items),):
            return items
        case (tuple(items),):
            return items
    return values


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


def place_of(name: str, a: Value) -> int:
    """Return the first index with the largest or least item."""
    items = items_of(a)
    return (a.lo if isinstance(a, Arr) else 1) + items.index(extreme(name, items))


def pairs(a: Value, b: Value) -> list[tuple[Value, Value]]:
    """Return what two sequences of equal length have in the same places."""
    left, right = items_of(a), items_of(b)
    if len(left) != len(right):
        raise WrongProgram("lengths differ")
    return list(zip(left, right, strict=True))


def distances(a: Value, b: Value) -> list[Number]:
    """Return by how much two sequences differ, place by place."""
    return [abs(number(x) - number(y)) for x, y in pairs(a, b)]


def exponential(a: Value) -> Number:
    """Return exp(a)."""
    found = as_budget(a).exp()
    if found is None:
        raise WrongProgram("this power of e is no number here")
    return found


COLLECTIVE: dict[str, Callable[[tuple[Value, ...]], Value]] = {
    "len": len,
    "sum": total,
    "count": lambda items: sum(map(is_true, items)),
    "max": lambda items: extreme("max", items),
    "min": lambda items: extreme("min", items),
}
"""Of one collection, or of the arguments; also binders."""
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": lambda a: negative(a) if order(a, 0) < 0 else a,
    "floor": floor_of,
    "ceil": lambda a: -floor_of(negative(a)),
    "exp": exponential,
    "clamp": lambda x, low, high: extreme("max", (low, extreme("min", (high, x)))),
    "argmax": lambda a: place_of("max", a),
    "argmin": lambda a: place_of("min", a),
    "hamming": lambda a, b: sum(x != y for x, y in pairs(a, b)),
    "l1": lambda a, b: sum(distances(a, b)),
    "linf": lambda a, b: max(distances(a, b), default=0),
}
