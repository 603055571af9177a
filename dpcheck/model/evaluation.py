"""The meaning of every operator on values, in one place.

`apply` gives an operator's result, `evaluate` an expression's, by plain recursion. The resolver
folds constants with them, and the explorer takes them wherever its vectorised path has no proof
that it is exact; so the language has one arithmetic, and it is this one. An operation without a
result raises `Fault`, which says what kind of fault it is and names the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import lcm
from typing import Literal, assert_never

from dpcheck import exact
from dpcheck.model import expressions, far_numbers
from dpcheck.model.far_numbers import FarNumber, NotForAll
from dpcheck.model.values import (
    ArrayValue,
    Number,
    SetValue,
    Symbol,
    Value,
    same_value,
    value_key,
    value_text,
)
from dpcheck.source import Span

FaultKind = Literal[
    "division by zero",
    "not an integer exponent",
    "index out of range",
    "wrong kind",
    "empty",
    "lengths differ",
    "too large",
    "no exact value",
    "parameter",
    "no function of a parameter",
    "without bounds",
]

MAX_BITS = 4_000_000
"""A number with more bits than this (about 1.2 million digits) is "too large"."""

MAX_ELEMENTS = 1_000_000
"""A set with more elements than this is "too large" to be written out or gone through."""

MAX_ITEMS = 100_000
"""A tuple with more items than this, the items of its items included, is "too large"."""

LONG = 60
"""A number of more characters than this is not written out in a title."""

Quantity = int | exact.Rational | exact.ExpNumber | exact.ParamNumber | exact.Budget | FarNumber

OF_PARAMS = frozenset({"+", "-", "*", "/", "^", "neg", "ln", "exp", "sum"})
"""Operators that apply to what depends on a `param`."""


_PLACES: Mapping[str, str] = {
    "neg": "`-`",
    "not": "`!`",
    "tuple": "a component of a tuple",
    "array": "an element of an array",
    "set": "an element of a set",
    "range": "an end of a range",
    "rounds": "`repeat`",
    "index": "an index",
}
"""What stands in an operation without a word of its own."""


class Fault(Exception):
    """An operation that has no result on these values.

    `title` is a lower-case sentence with the values in it; `span` is the place of the operation,
    filled in by `evaluate`, and `help` what to write instead, where that is known.
    """

    def __init__(
        self,
        kind: FaultKind,
        title: str,
        values: Sequence[Value],
        span: Span | None = None,
        help_text: str = "",
    ) -> None:
        """Keep what happened."""
        super().__init__(title)
        self.kind = kind
        self.title = title
        self.values = tuple(values)
        self.span = span
        self.help = help_text

    def at(self, span: Span) -> Fault:
        """Return the fault with a place, unless it has one already (the innermost counts)."""
        if self.span is not None:
            return self
        return Fault(self.kind, self.title, self.values, span, self.help)


def apply(op: expressions.Operator, args: Sequence[Value]) -> Value:
    """Return the value of a strict operator or built-in function.

    Raises `Fault`; the resolver guarantees the number of arguments. A comparison of integers
    beyond a window may raise `NotFarEnough`.

    >>> apply("^", (2, -1)), apply("div", (-7, 2)), apply("=", (True, 1))
    (1/2, -4, False)
    """
    if op not in OF_PARAMS:
        for arg in args:
            if isinstance(arg, exact.ParamNumber | exact.ParamBudget):
                raise _no_value(op, arg)
    try:
        return _OPERATIONS[op](*args)
    except exact.TooLarge as error:
        raise Fault("too large", str(error), args) from None
    except exact.ParamError as error:
        kind: FaultKind = "no function of a parameter"
        raise Fault(kind, str(error), args, help_text=error.help) from None
    except NotForAll:
        raise Fault("without bounds", f"{_spoken(op)} needs a number with bounds", args) from None


def _no_value(op: str, value: exact.ParamNumber | exact.ParamBudget) -> Fault:
    """Return the fault of an operation that needs a value where nobody has chosen one."""
    name, text = value.param.name, value_text(value)
    what = f"`{name}`" if text == name else f"`{text}`, which depends on `{name}`,"
    why = f"{_spoken(op)} needs a value, and {what} has none before it is chosen"
    constant = f"const {name} = {value_text(value.param.simplest)}"
    return Fault("parameter", why, (), help_text=constant)


def _spoken(op: str) -> str:
    """Return what stands in an operation: `max`, or what it is called that has no such word.

    >>> _spoken("<="), _spoken("range")
    ('`<=`', 'an end of a range')
    """
    return _PLACES.get(op, f"`{op}`")


def evaluate(expr: expressions.Expr, environment: Mapping[str, Value]) -> Value:
    """Return the value of an expression; every variable it reads must be in the environment.

    Raises `Fault` with the place of the innermost operation that has no result.
    """
    match expr:
        case expressions.Const(value=value):
            return value
        case expressions.Var(name=name):
            return environment[name]
        case expressions.ArrayVar(lo=lo, cells=cells):
            return ArrayValue(lo, tuple(environment[cell] for cell in cells))
        case expressions.Apply(op=op, args=args, span=span):
            values = [evaluate(arg, environment) for arg in args]
            try:
                return apply(op, values)
            except Fault as fault:
                raise fault.at(span) from None
        case expressions.Logic():
            return _logic(expr, environment)
        case expressions.If(condition=condition, then=then, orelse=orelse):
            chosen = then if truth(condition, environment) else orelse
            return evaluate(chosen, environment)
        case expressions.Let(name=name, value=bound, body=body):
            return evaluate(body, {**environment, name: evaluate(bound, environment)})
        case expressions.Binder():
            try:
                return _binder(expr, environment)
            except Fault as fault:
                raise fault.at(expr.span) from None
    assert_never(expr)


def truth(condition: expressions.Expr, environment: Mapping[str, Value]) -> bool:
    """Return the Boolean an expression yields; another kind of value is a fault."""
    value = evaluate(condition, environment)
    if not isinstance(value, bool):
        raise no_condition(value, condition.span)
    return value


def no_condition(value: Value, span: Span) -> Fault:
    """Return the fault of a condition with another value than a Boolean."""
    title = f"a condition must be true or false, not {described(value)}"
    return Fault("wrong kind", title, (value,), span)


def _logic(expr: expressions.Logic, environment: Mapping[str, Value]) -> bool:
    """Evaluate from left to right, no further than needed."""
    match expr.op:
        case "and":
            return all(truth(arg, environment) for arg in expr.args)
        case "or":
            return any(truth(arg, environment) for arg in expr.args)
        case "implies":
            left, right = expr.args
            return not truth(left, environment) or truth(right, environment)
    assert_never(expr.op)


def _binder(expr: expressions.Binder, environment: Mapping[str, Value]) -> Value:
    """Evaluate a binder over the elements of its domain that satisfy its condition."""
    bodies = _bodies(expr, environment)
    match expr.kind:
        case "forall":
            return all(_boolean(body, "forall") for _, body in bodies)
        case "exists":
            return any(_boolean(body, "exists") for _, body in bodies)
    pairs = list(bodies)
    found = reduced(expr.kind, [body for _, body in pairs])
    if expr.kind in ("argmax", "argmin"):
        assert isinstance(found, int), "it is a place"
        return pairs[found][0]
    return found


def reduced(kind: expressions.BinderKind, values: Sequence[Value]) -> Value:
    """Return what a binder, but a quantifier, makes of the values of its body.

    Of `argmax` and `argmin` it is the place of the best one, counted from 0.
    """
    match kind:
        case "count":
            return sum(_boolean(value, "count") for value in values)
        case "set":
            return set_of(values)
        case "sum":
            return _sum(values)
        case "product":
            return product_of(values)
        case "max" | "min":
            return values[_best_position(kind, values)]
        case "argmax" | "argmin":
            return _best_position(kind, values)
        case _:
            raise AssertionError("a quantifier looks at no more values than it needs")


def _bodies(
    expr: expressions.Binder, environment: Mapping[str, Value]
) -> Iterator[tuple[Value, Value]]:
    """Yield each element that satisfies the condition, with the value of the body."""
    domain = elements_of(evaluate(expr.domain, environment), expr.domain.span)
    check_size(domain)
    for element in domain:
        inner = {**environment, expr.name: element}
        if expr.where is None or truth(expr.where, inner):
            yield element, evaluate(expr.body, inner)


# --- kinds ---------------------------------------------------------------------------------

Kind = Literal["number", "budget", "Boolean", "symbol", "tuple", "array", "set"]


def kind_of(value: Value) -> Kind:
    """Return what kind of value it is; a budget without logarithms is a number.

    >>> kind_of(True), kind_of(1), kind_of((1, 2))
    ('Boolean', 'number', 'tuple')
    """
    match value:
        case bool():
            return "Boolean"
        case Symbol():
            return "symbol"
        case tuple():
            return "tuple"
        case ArrayValue():
            return "array"
        case SetValue():
            return "set"
        case exact.Budget():
            return "budget"
        case _:
            return "number"


def described(value: Value) -> str:
    """Return a value with its kind, for messages.

    >>> described(True), described(Symbol("Y"))
    ('the Boolean true', 'the symbol Y')
    """
    return f"the {kind_of(value)} {value_text(value)}"


def elements_of(value: Value, span: Span | None = None) -> SetValue:
    """Return the value as a set; another kind of value is a fault."""
    if not isinstance(value, SetValue):
        raise Fault("wrong kind", f"a set is needed, not {described(value)}", (value,), span)
    return value


def check_size(elements: SetValue, most: int = MAX_ELEMENTS) -> None:
    """Raise the fault of a set that is too large to go through."""
    if elements.size > most:
        raise _too_many(elements.size)


def set_of(values: Iterable[Value]) -> SetValue:
    """Return the set of the values, in the order in which each comes first."""
    kept: dict[Hashable, Value] = {}
    for value in values:
        kept.setdefault(value_key(value), value)
        if len(kept) > MAX_ELEMENTS:
            raise _too_many(len(kept))
    return SetValue(tuple(kept.values()))


def _wrong(symbol: str, needed: str, value: Value) -> Fault:
    return Fault("wrong kind", f"{symbol} needs {needed}, not {described(value)}", (value,))


def _boolean(value: Value, symbol: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(f"`{symbol}`", "true or false", value)
    return value


def _number(value: Value, symbol: str) -> Number:
    if isinstance(value, exact.ParamNumber):
        raise _no_value(symbol.strip("`"), value)
    if isinstance(value, FarNumber):
        raise NotForAll
    if isinstance(value, bool) or not isinstance(value, int | exact.Rational | exact.ExpNumber):
        raise _wrong(f"`{symbol}`", "a number", value)
    return value


def _rational(value: Value, symbol: str) -> int | exact.Rational:
    number = _number(value, symbol)
    if isinstance(number, exact.ExpNumber):
        raise _wrong(f"`{symbol}`", "a rational number", value)
    return number


def _quantity(value: Value, symbol: str) -> Quantity:
    if isinstance(value, bool) or not isinstance(value, Quantity):
        raise _wrong(f"`{symbol}`", "a number", value)
    return value


def _integer(value: Value, symbol: str) -> int:
    if isinstance(value, FarNumber):
        raise NotForAll
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(f"`{symbol}`", "an integer", value)
    return value


# --- arithmetic ----------------------------------------------------------------------------


def _bits(number: Quantity) -> int:
    """Return the bits of numerator and denominator together; 0 where nobody counts them."""
    match number:
        case int():
            return number.bit_length()
        case exact.Rational():
            return int(number.p).bit_length() + int(number.q).bit_length()
        case _:
            return 0


_PARAMETRIC = (exact.ParamNumber, exact.ParamBudget)


def _arithmetic(symbol: Literal["+", "-", "*"], left: Value, right: Value) -> Value:
    """Return `left symbol right` for `+ - *` on numbers and budgets."""
    a, b = _quantity(left, symbol), _quantity(right, symbol)
    if type(a) is int and type(b) is int and symbol != "*":
        return a + b if symbol == "+" else a - b
    if isinstance(a, FarNumber) or isinstance(b, FarNumber):
        return far_numbers.combined(symbol, a, b)
    if isinstance(a, _PARAMETRIC) or isinstance(b, _PARAMETRIC):
        return exact.parametric.combined(symbol, a, b)
    if isinstance(a, exact.Budget) or isinstance(b, exact.Budget):
        return _budget_arithmetic(symbol, a, b)
    if symbol == "*":
        if _bits(a) + _bits(b) > MAX_BITS:
            raise _product_too_large()
        return exact.multiply(a, b)
    return exact.add(a, b) if symbol == "+" else exact.subtract(a, b)


def _product_too_large() -> Fault:
    return Fault("too large", "the product has too many digits to write down", ())


def _budget_arithmetic(symbol: str, a: Quantity, b: Quantity) -> Value:
    """Return the sum, difference or multiple where at least one operand has a logarithm."""
    if symbol == "*":
        budget, factor = (a, b) if isinstance(a, exact.Budget) else (b, a)
        if isinstance(factor, exact.Budget | exact.ExpNumber):
            title = f"a budget is multiplied by rational numbers only, not by {described(factor)}"
            raise Fault("wrong kind", title, (a, b))
        assert not isinstance(factor, exact.ParamNumber | FarNumber), (
            "its own arithmetic multiplies it"
        )
        return (_budget(budget, "`*`") * factor).plain()
    first, second = _budget(a, f"`{symbol}` on a budget"), _budget(b, f"`{symbol}` on a budget")
    return (first + second if symbol == "+" else first - second).plain()


def _budget(quantity: Quantity, what: str) -> exact.Budget:
    match quantity:
        case exact.ExpNumber() | exact.ParamNumber():
            raise _wrong(what, "a rational number or a budget", quantity)
        case FarNumber():
            raise NotForAll
        case exact.Budget():
            return quantity
        case _:
            return exact.Budget.of(quantity)


def _divide(left: Value, right: Value) -> Value:
    """Return the exact quotient; a budget is divided by rational numbers only."""
    a, b = _quantity(left, "/"), _quantity(right, "/")
    if isinstance(b, int) and b == 0:
        title = f"division by zero: {value_text(a)} / 0"
        raise Fault("division by zero", title, (left, right))
    if isinstance(a, FarNumber) or isinstance(b, FarNumber):
        return far_numbers.combined("*", a, exact.divide(1, _number(b, "/")))
    if isinstance(a, _PARAMETRIC) or isinstance(b, _PARAMETRIC):
        return exact.parametric.combined("/", a, b)
    b = _number(right, "/")
    if isinstance(a, exact.Budget):
        return (a / _rational(b, "/")).plain()
    return exact.divide(a, b)


def _floored(symbol: str, left: Value, right: Value) -> Value:
    """Return `left div right` (the floor of the quotient, of budgets too) or `left mod right`."""
    if symbol == "div" and (isinstance(left, exact.Budget) or isinstance(right, exact.Budget)):
        return _floor_of_quotient(_quantity(left, symbol), _quantity(right, symbol))
    a, b = _rational(left, symbol), _rational(right, symbol)
    if b == 0:
        title = f"division by zero: {value_text(a)} {symbol} {value_text(b)}"
        raise Fault("division by zero", title, (a, b))
    if isinstance(a, int) and isinstance(b, int):
        return a // b if symbol == "div" else a % b
    quotient = exact.floor(exact.divide(a, b))
    if symbol == "div":
        return quotient
    return exact.subtract(a, exact.multiply(quotient, b))


def _floor_of_quotient(left: Quantity, right: Quantity) -> Value:
    if right == 0:
        title = f"division by zero: {value_text(left)} div 0"
        raise Fault("division by zero", title, (left, right))
    what = "dividing budgets"
    return exact.floor_of_quotient(_budget(left, what), _budget(right, what))


def _power(base: Value, exponent: Value) -> Value:
    """Return `base ^ exponent`, for an integer exponent of a reasonable size."""
    if isinstance(base, exact.ParamNumber) and isinstance(exponent, int):
        return exact.parametric.raised(base, exponent, MAX_BITS)
    if isinstance(exponent, FarNumber):
        raise NotForAll
    if isinstance(base, FarNumber) and isinstance(exponent, int):
        return far_numbers.raised(base, exponent)
    b = _number(base, "^")
    if isinstance(exponent, bool) or not isinstance(exponent, int):
        title = f"the exponent of `^` must be an integer, not {described(exponent)}"
        raise Fault("not an integer exponent", title, (base, exponent))
    if b == 0 and exponent < 0:
        title = f"division by zero: 0^({exponent})"
        raise Fault("division by zero", title, (base, exponent))
    try:
        return exact.power(b, exponent, MAX_BITS)
    except exact.TooLarge:
        written = value_text(b) if isinstance(b, int) and b >= 0 else f"({value_text(b)})"
        if len(written) > LONG:
            written = f"a number of {len(written)} digits"
        title = f"{written}^{value_text(exponent)} has too many digits to write down"
        if len(title) > 2 * LONG:
            title = f"{written}, to a power, has too many digits to write down"
        raise Fault("too large", title, (base, exponent)) from None


def _negative(value: Value) -> Value:
    quantity = _quantity(value, "-")
    if isinstance(quantity, FarNumber):
        return far_numbers.combined("-", 0, quantity)
    if isinstance(quantity, exact.ParamNumber):
        return exact.parametric.negative(quantity)
    return -quantity if isinstance(quantity, exact.Budget) else exact.negate(quantity)


def _logarithm(value: Value) -> Value:
    """Return `ln value`, a budget, for a positive number c·e^r with rational c and r."""
    if isinstance(value, exact.ParamNumber):
        return exact.parametric.logarithm_of(value)
    number = _number(value, "ln")
    if exact.sign(number) <= 0:
        title = f"`ln` needs a positive number, not {value_text(number)}"
        raise Fault("no exact value", title, (value,))
    result = exact.log(number)
    if not isinstance(result, exact.Budget):
        title = f"ln({value_text(value)}) is not a sum of a rational number and logarithms of such"
        raise Fault("no exact value", title, (value,))
    return result.plain()


def _short(value: Value) -> str:
    """Return a number as a title shows it."""
    written = value_text(value)
    return written if len(written) <= LONG else f"a number of {len(written)} digits"


def _exponential(value: Value) -> Value:
    """Return `exp value`, where it is c·e^r with rational c and r."""
    quantity = _quantity(value, "exp")
    if isinstance(quantity, _PARAMETRIC):
        return exact.parametric.exponential_of(quantity)
    budget = _budget(quantity, "`exp`")
    try:
        return budget.exp()
    except exact.IrrationalExponential:
        title = f"exp({_short(value)}) is not a rational multiple of a rational power of e"
        times = lcm(*(int(exact.Rational(power).q) for _, power in budget.powers))
        advice = f"it has one where the budget is {times} times as large, or rational, as `7/10`"
        raise Fault("no exact value", title, (value,), help_text=advice) from None
    except exact.TooLarge:
        title = f"exp({_short(value)}) has too many digits to write down"
        raise Fault("too large", title, (value,)) from None


def _compare(left: Value, right: Value, symbol: str) -> int:
    """Return the sign of `left - right` for two numbers or budgets."""
    a, b = _quantity(left, symbol), _quantity(right, symbol)
    if type(a) is int and type(b) is int:
        return (a > b) - (a < b)
    if isinstance(a, FarNumber) or isinstance(b, FarNumber):
        return far_numbers.order(a, b)
    if isinstance(a, exact.Budget) or isinstance(b, exact.Budget):
        what = f"comparing with a budget by `{symbol}`"
        return _budget(a, what).compare(_budget(b, what))
    return exact.compare(_number(a, symbol), _number(b, symbol))


def _rounded(symbol: Literal["floor", "ceil"], value: Value) -> Value:
    quantity = _quantity(value, symbol)
    if isinstance(quantity, exact.Budget):
        below = symbol == "floor"
        part = exact.floor_of_quotient(quantity if below else -quantity, exact.Budget.of(1))
        return part if below else -part
    number = _number(quantity, symbol)
    return exact.floor(number) if symbol == "floor" else exact.ceil(number)


def _magnitude(value: Value) -> Value:
    return _negative(value) if _compare(value, 0, "abs") < 0 else value


def _clamp(value: Value, lo: Value, hi: Value) -> Value:
    """Return the nearest value of `lo..hi`."""
    if _compare(lo, hi, "clamp") > 0:
        title = f"clamp needs lo <= hi, not {value_text(lo)} and {value_text(hi)}"
        raise Fault("empty", title, (value, lo, hi))
    if _compare(value, lo, "clamp") < 0:
        return lo
    return hi if _compare(value, hi, "clamp") > 0 else value


# --- collections ---------------------------------------------------------------------------


def _items(symbol: str, args: Sequence[Value]) -> Sequence[Value]:
    """Return what a collecting function works on: its arguments, or the items of the only one."""
    return args if len(args) != 1 else _members(symbol, args[0])


def _collected(kind: expressions.BinderKind, *args: Value) -> Value:
    return reduced(kind, _items(kind, args))


def _members(symbol: str, value: Value) -> Sequence[Value]:
    match value:
        case SetValue(items=items):
            check_size(value)
            return items
        case ArrayValue(items=items):
            return items
        case tuple():
            return value
    raise _wrong(f"`{symbol}` of one argument", "an array, a set or a tuple", value)


def _sum(values: Sequence[Value]) -> Value:
    if isinstance(values, range):
        return (values[0] + values[-1]) * len(values) // 2 if values else 0
    if all(type(value) is int for value in values):
        return sum(value for value in values if type(value) is int)
    total: Value = 0
    for value in values:
        total = _arithmetic("+", total, value)
    return total


def product_of(values: Sequence[Value]) -> Value:
    """Return the product of numbers, 1 if there are none.

    >>> product_of([2, 3, 7])
    42
    """
    factors: list[Value] = [
        value if isinstance(value, exact.ParamNumber) else _number(value, "product")
        for value in values
    ]
    if any(factor == 0 for factor in factors):
        return 0
    # An integer of b bits is at least 2^(b-1) in size: say early what cannot end well.
    integers = [factor for factor in factors if type(factor) is int]
    if len(integers) == len(factors) and sum(map(_bits, integers)) - len(integers) > MAX_BITS:
        raise _product_too_large()
    while len(factors) > 1:  # in pairs: the long factors are multiplied last
        last = factors[-1:] if len(factors) % 2 else []
        pairs = zip(factors[::2], factors[1::2], strict=False)
        factors = [_arithmetic("*", left, right) for left, right in pairs] + last
    return factors[0] if factors else 1


def _best_position(symbol: str, values: Sequence[Value]) -> int:
    """Return the first position of the largest (`max`, `argmax`) or smallest value."""
    if len(values) == 0:
        raise Fault("empty", f"`{symbol}` of nothing", ())
    sign = 1 if symbol.endswith("max") else -1
    best = 0
    for i in range(len(values)):
        if sign * _compare(values[i], values[best], symbol) > 0:
            best = i
    return best


def _argbest(symbol: str, *args: Value) -> Value:
    """Return the index of the best item: of an array its own index, else counted from 1."""
    if len(args) == 1 and isinstance(args[0], SetValue):
        raise _wrong(f"`{symbol}` of one argument", "an array or a tuple", args[0])
    first = args[0].lo if len(args) == 1 and isinstance(args[0], ArrayValue) else 1
    return first + _best_position(symbol, _items(symbol, args))


def _length(value: Value) -> Value:
    return value.size if isinstance(value, SetValue) else len(_members("len", value))


def _range(lo: Value, hi: Value) -> Value:
    low, high = _integer(lo, ".."), _integer(hi, "..")
    return SetValue(range(low, max(low, high + 1)))


def _rounds(times: Value) -> Value:
    """Return the numbers of the rounds of `repeat times`."""
    return SetValue(range(1, max(0, _integer(times, "repeat")) + 1))


def _product(left: Value, right: Value) -> Value:
    """Return `left * right` of two sets: the pairs, or of two numbers: the product."""
    if not isinstance(left, SetValue) and not isinstance(right, SetValue):
        return _arithmetic("*", left, right)
    first, second = elements_of(left), elements_of(right)
    if first.size * second.size > MAX_ELEMENTS:
        raise _too_many(first.size * second.size)
    return SetValue(tuple(product(first.items, second.items)))


def _too_many(n_elements: int) -> Fault:
    title = f"a set of {value_text(n_elements)} elements is too large to go through"
    return Fault("too large", title, ())


def _contains(value: Value, domain: Value) -> bool:
    elements = elements_of(domain)
    items = elements.items
    if not isinstance(items, range):
        return any(same_value(element, value) for element in items)
    if isinstance(value, FarNumber):
        return bool(items) and far_numbers.is_between(value, items[0], items[-1])
    return type(value) is int and value in items


def _index(base: Value, index: Value) -> Value:
    """Return an array's element, or a tuple's component (counted from 1)."""
    match base:
        case ArrayValue(lo=lo, items=items):
            what = "array"
        case tuple():
            lo, items, what = 1, base, "tuple"
        case _:
            raise _wrong("`[ ]`", "an array or a tuple", base)
    i = _integer(index, "[ ]")
    if not lo <= i < lo + len(items):
        raise Fault("index out of range", outside_text(i, lo, len(items), what), (base, index))
    return items[i - lo]


def outside_text(index: int, lo: int, n_items: int, what: str = "array") -> str:
    """Say that an index is none of an array's or a tuple's.

    >>> outside_text(4, 1, 3)
    'index 4 is outside 1..3, the indices of this array'
    """
    bounds = f"{value_text(lo)}..{value_text(lo + n_items - 1)}"
    return f"index {value_text(index)} is outside {bounds}, the indices of this {what}"


def _element(domain: Value, position: Value) -> Value:
    """Return an element of a set by its position from 0 (loops over sets use it)."""
    return elements_of(domain).items[_integer(position, "element")]


def _tuple(*args: Value) -> Value:
    """Return the tuple of values, unless with all it holds it is too large.

    A tuple that holds another one twice, which holds another one twice, has 2^n items after n.
    """
    n_items = len(args)
    waiting = [value for value in args if isinstance(value, tuple | ArrayValue)]
    while waiting:
        value = waiting.pop()
        items = value.items if isinstance(value, ArrayValue) else value
        n_items += len(items)
        if n_items > MAX_ITEMS:
            title = f"a tuple with more than {MAX_ITEMS} items, those of its items included"
            raise Fault("too large", f"{title}, is too large", ())
        waiting.extend(item for item in items if isinstance(item, tuple | ArrayValue))
    return args


def _distance_pairs(symbol: str, left: Value, right: Value) -> list[tuple[Value, Value]]:
    for operand in (left, right):
        if not isinstance(operand, ArrayValue | tuple):
            raise _wrong(f"`{symbol}`", "arrays or tuples", operand)
    a, b = _members(symbol, left), _members(symbol, right)
    if len(a) != len(b):
        title = f"`{symbol}` needs two of equal length, not {len(a)} and {len(b)} items"
        raise Fault("lengths differ", title, (left, right))
    return list(zip(a, b, strict=True))


def _hamming(left: Value, right: Value) -> Value:
    return sum(not same_value(a, b) for a, b in _distance_pairs("hamming", left, right))


def _distances(symbol: str, left: Value, right: Value) -> list[Value]:
    pairs = _distance_pairs(symbol, left, right)
    return [_magnitude(_arithmetic("-", a, b)) for a, b in pairs]


def _linf(left: Value, right: Value) -> Value:
    distances = _distances("linf", left, right)
    return reduced("max", distances) if distances else 0


_OPERATIONS: Mapping[expressions.Operator, Callable[..., Value]] = {
    "+": partial(_arithmetic, "+"),
    "-": partial(_arithmetic, "-"),
    "*": _product,
    "/": _divide,
    "div": partial(_floored, "div"),
    "mod": partial(_floored, "mod"),
    "^": _power,
    "neg": _negative,
    "ln": _logarithm,
    "exp": _exponential,
    "abs": _magnitude,
    "floor": partial(_rounded, "floor"),
    "ceil": partial(_rounded, "ceil"),
    "clamp": _clamp,
    "sum": partial(_collected, "sum"),
    "min": partial(_collected, "min"),
    "max": partial(_collected, "max"),
    "count": partial(_collected, "count"),
    "argmax": partial(_argbest, "argmax"),
    "argmin": partial(_argbest, "argmin"),
    "len": _length,
    "=": same_value,
    "!=": lambda left, right: not same_value(left, right),
    "<": lambda left, right: _compare(left, right, "<") < 0,
    "<=": lambda left, right: _compare(left, right, "<=") <= 0,
    ">": lambda left, right: _compare(left, right, ">") > 0,
    ">=": lambda left, right: _compare(left, right, ">=") >= 0,
    "in": _contains,
    "not": lambda value: not _boolean(value, "!"),
    "tuple": _tuple,
    "array": lambda lo, *items: ArrayValue(_integer(lo, "array"), items),
    "set": lambda *args: set_of(args),
    "range": _range,
    "rounds": _rounds,
    "index": _index,
    "hamming": _hamming,
    "l1": lambda left, right: _sum(_distances("l1", left, right)),
    "linf": _linf,
    "element": _element,
}
