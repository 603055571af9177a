"""What expressions mean, by recursion on their trees."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from itertools import pairwise
from math import prod
from typing import Any

from dpcheck.reference import numbers
from dpcheck.reference.syntax import Block, Tree
from dpcheck.reference.values import (
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
    in_one_order,
    integer,
    is_true,
)

Env = dict[str, Value]
Formula = Any
"""A Boolean combination: True, False, ("!", f), ("&" or "|", set of f), or what stands in one."""
MOST = 100_000
"""A range, or a power, with more elements or digits is not covered."""


class Scope:
    """The declarations of a file and its imports, by kind and name; constants may be overridden.

    around: names that have values unless binders give them others. reach: how far from its center
    noise without bounds is looked at; None where it is not.
    """

    def __init__(self, items: Iterable[Tree], definitions: dict[str, Tree]) -> None:
        """Sort the items; a constant has its value when it is first asked for."""
        self.items: dict[str, dict[str, Tree]] = {}
        for item in items:
            self.items.setdefault(item[0], {})[item[1]] = item
        self.definitions = definitions
        self.constants: Env = {}
        self.around: Env = {}
        self.reach: int | None = None

    def of(self, kind: str, name: str) -> Tree:
        """Return a declaration, or None."""
        return self.items.get(kind, {}).get(name)

    def but(self, **changes: object) -> Scope:
        """Return the scope with another `around` or `reach`."""
        found = copy(self)
        vars(found).update(changes)
        return found

    def named(self, name: str) -> Value:
        """Return what a name stands for that is no variable: without a declaration, a symbol."""
        if name in self.around:
            return self.around[name]
        constant = self.of("const", name)
        if constant is None and self.of("param", name) is None:
            return Sym(name)
        if name not in self.constants:
            if constant is None and name not in self.definitions:
                raise NotCovered(f"the parameter {name}, which has no value")
            tree = self.definitions[name] if name in self.definitions else constant[-1]
            self.constants[name] = evaluate(tree, {}, self)
        return self.constants[name]


def evaluate(tree: Tree, env: Env, scope: Scope) -> Value:
    """Return the value of an expression in which the names of `env` are variables."""

    def value(part: Tree) -> Value:
        return evaluate(part, env, scope)

    match tree:
        case ("constant", constant):
            return constant
        case ("name", name):
            return meant(name, env, scope)
        case ("quoted", name):  # only formulas read what is quoted
            return meant(name, env, scope) if "output" in env else Sym(name)
        case ("compare", signs, parts):
            steps = zip(signs, pairwise([value(part) for part in parts]), strict=True)
            return boolean(all(compare(sign_, a, b) for sign_, (a, b) in steps))
        case ("!" | "&" | "|" | "=>", *_) | ("binder", "forall" | "exists", *_):
            return boolean(combined(tree, env, scope, holds))
        case ("-", a):
            return -numbers.amount(value(a))
        case ("ln", a):
            return logarithm(value(a))
        case ("..", a, b) if b is not None:
            return integers(integer(value(a)), integer(value(b)))
        case (sign_, a, b) if sign_ in ARITHMETIC:
            return arithmetic(sign_, value(a), value(b))
        case ("index", base, indices):
            return indexed(value(base), map(value, indices))
        case ("call", name, arguments):
            return called(scope, name, [held(a, env, scope) for a in arguments])
        case ("if", condition, a, b):
            return value(a if is_true(value(condition)) else b)
        case ("tuple", parts):
            return tuple(map(value, parts))
        case ("set", pairs, source, None) if all(weight is None for _, weight in pairs):
            inners = [env] if source is None else each(source, env, scope)
            return finite_set(evaluate(e, inner, scope) for inner in inners for e, _ in pairs)
        case ("binder", name, source, body):
            inners = list(each(source, env, scope))
            items = [evaluate(body, inner, scope) for inner in inners]
            if name in ("argmax", "argmin"):
                return place_of(name, [inner[source[0]] for inner in inners], items)
            return COLLECTIVE[name](items)
    raise NotCovered(f"the expression `{tree[0]}`")


def integers(low: int, high: int) -> Value:
    """Return the set low..high."""
    if high - low > MOST:
        raise NotCovered("a very long range")
    return FiniteSet(tuple(range(low, high + 1)))


def meant(name: str, env: Env, scope: Scope) -> Value:
    """Return what a name stands for: a variable, or what the scope has of it."""
    if name in env:
        return assigned(env[name], name)
    if name == "integers":
        raise NotCovered("all integers")
    return scope.named(name)


def holds(tree: Tree, env: Env, scope: Scope) -> bool:
    """Return whether a condition is true; one that is left out is."""
    return tree is None or is_true(evaluate(tree, env, scope))


def each(source: Block, env: Env, scope: Scope) -> Iterator[Env]:
    """Yield the variables of `i in S where c`, for each element."""
    variable, domain, where = source
    for element in visited(domain, env, scope):
        inner = {**env, variable: element}
        if holds(where, inner, scope):
            yield inner


def visited(domain: Tree, env: Env, scope: Scope) -> tuple[Value, ...]:
    """Return the elements of a set in order: as written, or as a run holds it."""
    is_written = domain[0] == "set" and domain[2] is None
    value = evaluate(domain, env, scope) if is_written else held(domain, env, scope)
    return elements(value)


def held(tree: Tree, env: Env, scope: Scope) -> Value:
    """Return a value as a run holds it: what variables decide has the one order of equal sets."""
    value = evaluate(tree, env, scope)
    is_known = tree[0] == "name" or words(tree).isdisjoint(env)
    return value if is_known else in_one_order(value)


@cache
def words(tree: Tree) -> frozenset[str]:
    """Return the words that occur in a tree."""
    if isinstance(tree, str):
        return frozenset((tree,))
    return frozenset().union(*map(words, tree)) if isinstance(tree, tuple) else frozenset()


def unrolled(block: Block, env: Env, scope: Scope) -> Iterator[tuple[Tree, Env]]:
    """Yield what stands in a block, and in each `for` and `if` of it, with the variables there."""
    for part in block:
        match part:
            case ("loop", parts):
                yield from unrolled(parts, env, scope)
            case ("for", name, domain, parts):
                for inner in each((name, domain, None), env, scope):
                    yield from unrolled(parts, inner, scope)
            case ("if", condition, then, otherwise):
                chosen = then if holds(condition, env, scope) else otherwise or ()
                yield from unrolled(chosen, env, scope)
            case _:
                yield part, env


# --- Booleans and formulas ---------------------------------------------------------------------


def combined(
    tree: Tree, env: Env, scope: Scope, inner: Callable[[Tree, Env, Scope], Formula]
) -> Formula:
    """Return what `! & | => if forall exists` make of others, which are `inner`."""

    def parts(*trees: Tree, around: Iterable[Env] = (env,)) -> Iterator[Formula]:
        return (combined(part, variables, scope, inner) for variables in around for part in trees)

    match tree:
        case ("!", a):
            return negation(*parts(a))
        case ("&" | "|" as sign_, a, b):
            return junction(sign_, parts(a, b))
        case ("=>", a, b):
            return junction("|", parts(("!", a), b))
        case ("if", condition, a, b):
            ways = parts(condition, a), parts(("!", condition), b)
            return junction("|", (junction("&", way) for way in ways))
        case ("binder", "forall" | "exists" as name, source, body):
            sign_ = "&" if name == "forall" else "|"
            return junction(sign_, parts(body, around=each(source, env, scope)))
    return inner(tree, env, scope)


def negation(f: Formula) -> Formula:
    """Return not f."""
    if isinstance(f, bool):
        return not f
    return f[1] if f[0] == "!" else ("!", f)


def junction(sign_: str, parts: Iterable[Formula]) -> Formula:
    """Return a conjunction or disjunction, without what is true or false."""
    strong = sign_ == "|"
    kept: set[Formula] = set()
    for part in parts:
        if part is strong:
            return strong
        if not isinstance(part, bool):
            kept |= part[1] if part[0] == sign_ else {part}
    return (sign_, frozenset(kept)) if len(kept) > 1 else next(iter(kept), not strong)


# --- numbers, budgets and collections ----------------------------------------------------------


def assigned(value: Value, name: str) -> Value:
    """Return the value of a variable or an element."""
    if value is None:
        raise WrongProgram(f"{name} is unassigned")
    return value


def indexed(base: Value, indices: Iterable[Value]) -> Value:
    """Return an array element, or a tuple component (counted from 1)."""
    for index in indices:
        items = Arr(1, base) if isinstance(base, tuple) else base
        if not isinstance(items, Arr):
            raise WrongProgram(f"{as_text(base)} has no elements")
        base = assigned(items.items[items.place(index)], "an element")
    return base


def arithmetic(sign_: str, a: Value, b: Value) -> Value:
    """Return `a sign b` of numbers or budgets, or the pairs of two sets."""
    if isinstance(a, FiniteSet) and isinstance(b, FiniteSet) and sign_ == "*":
        return FiniteSet(tuple((x, y) for x in a.items for y in b.items))
    return ARITHMETIC[sign_](numbers.amount(a), numbers.amount(b))


def power(x: numbers.Number, n: Value) -> numbers.Number:
    """Return x^n."""
    if abs(integer(n)) > MOST:
        raise NotCovered("a very large power")
    return numbers.quotient(1, numbers.number(x)) ** -n if n < 0 else numbers.number(x) ** n


def logarithm(of: Value) -> numbers.Budget:
    """Return `ln of`."""
    if numbers.rational(of) <= 0:
        raise WrongProgram(f"ln of {of}")
    return numbers.Budget(numbers.ZERO, ((numbers.rational(of), numbers.ONE),))


ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": numbers.quotient,
    "div": lambda a, b: numbers.floor_of(numbers.quotient(a, b)),
    "mod": lambda a, b: a - b * numbers.floor_of(numbers.quotient(a, b)),
    "^": power,
}
TESTS = {"=": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
"""The signs of a - b with which `a sign b` is true."""


def compare(sign_: str, a: Value, b: Value) -> bool:
    """Return whether `a sign b`; values of different kinds differ."""
    if sign_ == "in":
        return a in elements(b)
    if sign_ in ("=", "!="):
        return bool(a == b) == (sign_ == "=")
    return numbers.sign(numbers.amount(a) - numbers.amount(b)) in TESTS[sign_]


# --- functions and binders ---------------------------------------------------------------------


def called(scope: Scope, name: str, values: list[Value]) -> Value:
    """Return the value of a function of the file, or of one that is built in."""
    function = scope.of("fun", name)
    if function is not None:
        _, _, names, body = function
        return evaluate(body, dict(zip(names, values, strict=True)), scope)
    if name in COLLECTIVE:
        return COLLECTIVE[name](items_of(*values))
    if name in FUNCTIONS:
        return FUNCTIONS[name](*values)
    raise NotCovered(f"`{name}(...)`")


def items_of(*values: Value) -> Sequence[Value]:
    """Return what `sum`, `max` and the like range over: one collection, or the arguments."""
    match values:
        case (Arr(items=items) | FiniteSet(items=items) | tuple(items),):
            return items
    return values


def places(a: Value) -> range:
    """Return the indices of a collection."""
    first = a.lo if isinstance(a, Arr) else 1
    return range(first, first + len(items_of(a)))


def extreme(name: str, values: Sequence[Value]) -> Value:
    """Return the first largest (`max`) or least value."""
    if not values:
        raise WrongProgram(f"{name} of nothing")
    return {"max": max, "min": min}[name](map(numbers.amount, values))


def place_of(name: str, places: Sequence[Value], items: Sequence[Value]) -> Value:
    """Return the first place with the largest (`argmax`) or least item."""
    return places[items.index(extreme(name[-3:], items))]


def distances(a: Value, b: Value) -> list[numbers.Number]:
    """Return how far two sequences are apart in each place."""
    return [abs(numbers.number(x) - numbers.number(y)) for x, y in pairs(a, b)]


def pairs(a: Value, b: Value) -> list[tuple[Value, Value]]:
    """Return what two sequences of equal length have in the same places."""
    left, right = items_of(a), items_of(b)
    if len(left) != len(right):
        raise WrongProgram("lengths differ")
    return list(zip(left, right, strict=True))


COLLECTIVE: dict[str, Callable[[Sequence[Value]], Value]] = {
    "len": len,
    "sum": lambda items: sum(map(numbers.amount, items)),
    "product": lambda items: prod(map(numbers.number, items)),
    "count": lambda items: sum(map(is_true, items)),
    "max": lambda items: extreme("max", items),
    "min": lambda items: extreme("min", items),
}
"""Of one collection, or of the arguments; also binders."""
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": lambda a: abs(numbers.amount(a)),
    "floor": numbers.floor_of,
    "ceil": lambda a: -numbers.floor_of(-numbers.amount(a)),
    "exp": lambda a: numbers.budget_of(a).exp(),
    "clamp": lambda x, low, high: extreme("max", (low, extreme("min", (high, x)))),
    "argmax": lambda a: place_of("argmax", places(a), items_of(a)),
    "argmin": lambda a: place_of("argmin", places(a), items_of(a)),
    "hamming": lambda a, b: sum(x != y for x, y in pairs(a, b)),
    "l1": lambda a, b: sum(distances(a, b)),
    "linf": lambda a, b: max(distances(a, b), default=0),
}
