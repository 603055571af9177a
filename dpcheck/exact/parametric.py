"""What depends on a parameter: numbers and budgets as functions of it, and their arithmetic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, reduce
from math import lcm
from operator import and_
from typing import Literal

from flint import arb, fmpq

from dpcheck.exact.budget import Budget
from dpcheck.exact.errors import IrrationalExponential
from dpcheck.exact.number import (
    ExpNumber,
    Number,
    add,
    divide,
    exponential,
    multiply,
    power,
    subtract,
)
from dpcheck.exact.param import Param
from dpcheck.exact.text import exact_text, multiple_text
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.records import dataclass, replace

ONE, ZERO = fmpq(1), fmpq(0)
MOST = 1 << 16
"""No greater exponent is written at an end of the values of a parameter: some 100,000 bits."""


class ParamError(Exception):
    """What depends on a parameter has no value, or none that is known: why, as a sentence.

    `help` is what to write instead, where that is known.
    """

    def __init__(self, why: str, help_text: str = "") -> None:
        """Keep why."""
        super().__init__(why)
        self.help = help_text


@dataclass(frozen=True)
class ParamNumber:
    """A number that depends on a parameter, by its value at the stand-in.

    With `is_exponential` it is a rational function of exp(q·eps), else of the parameter itself. It
    was made of powers of e^`made_of`: `exp(-eps/2)^2` of e^(x/2), of which it has whole powers.
    """

    value: ExpNumber
    param: Param
    is_exponential: bool = False
    made_of: fmpq = ZERO

    @property
    def unit(self) -> fmpq:
        """The largest r such that all that it was made of is a function of e^r."""
        return fmpq(self.value.unit).gcd(self.made_of)

    def exponent(self) -> fmpq | None:
        """Return q where the number is q times the parameter, and may stand in an exponent."""
        if self.is_exponential:
            return None
        ratio = divide(self.value, self.param.stand_in)
        return None if isinstance(ratio, ExpNumber) else fmpq(ratio)


@dataclass(frozen=True, eq=False)
class ParamBudget(Budget):
    """A budget that depends on a parameter: exponent·ln(argument), the argument positive.

    As a `Budget` it has no offset and no powers: only what knows of parameters may look at it.
    """

    argument: ExpNumber
    exponent: fmpq
    param: Param
    is_exponential: bool

    def as_number(self) -> None:
        """Return None: a logarithm of what depends on a parameter is no rational number."""

    def exp(self) -> Number:
        """Return e^budget at the stand-in; raises `IrrationalExponential` for a root."""
        if self.exponent.q == 1:
            return power(self.argument, int(self.exponent.p))
        monomial = self.argument.monomial()
        if not self.is_exponential or monomial is None:
            raise IrrationalExponential
        factor, exponent = monomial
        root = (Budget.ln(factor) * self.exponent).exp()
        return multiply(root, exponential(exponent * self.exponent))

    def growth(self) -> tuple[Number, int]:
        """Return (F, n) with e^budget = F^(1/n), F at the stand-in; n is 1 where it can be."""
        try:
            return self.exp(), 1
        except IrrationalExponential:
            pass
        return power(self.argument, int(self.exponent.p)), int(self.exponent.q)

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same function of the parameter."""
        if not isinstance(other, ParamBudget):
            return False
        return (self - other).as_number() == 0

    def __hash__(self) -> int:
        """Hash by the parameter: equal budgets may be written with other exponents."""
        return hash(self.param)

    def __add__(self, other: Budget | int | fmpq) -> Budget:
        """Return the sum; raises `ParamError` where it has a rational part."""
        return summed(self, other if isinstance(other, Budget) else Budget.of(other))

    __radd__ = __add__

    def __mul__(self, scale: int | fmpq) -> Budget:
        """Return the budget times a rational number."""
        if scale == 0:
            return Budget.of(0)
        return logarithm(self.argument, self.exponent * scale, self.param, self.is_exponential)

    __rmul__ = __mul__

    def ball(self, bits: int) -> arb:  # noqa: ARG002
        """Raise `ParamError`: there is no value to enclose, and none to compare with others."""
        raise ParamError(f"it depends on the value of `{self.param.name}`")


def growth_of(budget: Budget) -> tuple[Number, int]:
    """Return (F, n) with e^budget = F^(1/n), for a budget without a rational part.

    >>> growth_of(Budget.ln(8) / 2), growth_of(2 * Budget.ln(3))
    ((8, 2), (9, 1))
    """
    if isinstance(budget, ParamBudget):
        return budget.growth()
    if budget.offset != 0:
        part = exact_text(budget.offset)
        why = "beside a parameter a budget is a sum of logarithms, such as `ln 3`"
        raise ParamError(f"{why}, without a rational part, here {part}")
    root = lcm(*(int(fmpq(exponent).q) for _, exponent in budget.powers))
    factor: Number = 1
    for base, exponent in budget.powers:
        factor = multiply(factor, power(base, int((fmpq(exponent) * root).p)))
    return factor, root


def logarithm(argument: Number, exponent: fmpq, param: Param, is_exponential: bool) -> Budget:
    """Return exponent·ln(argument) for an argument that is positive everywhere."""
    if isinstance(argument, ExpNumber):
        return ParamBudget(0, (), argument, exponent, param, is_exponential)
    return Budget.ln(argument) * exponent


def summed(left: Budget, right: Budget) -> Budget:
    """Return the sum of budgets of which one depends on a parameter."""
    own = left if isinstance(left, ParamBudget) else right
    assert isinstance(own, ParamBudget), "one of them depends on a parameter"
    if isinstance(left, ParamBudget) and isinstance(right, ParamBudget):
        together(left, right)
    (f, n), (g, m) = growth_of(left), growth_of(right)
    root = lcm(n, m)
    growth = multiply(power(f, root // n), power(g, root // m))
    return logarithm(growth, fmpq(1, root), own.param, own.is_exponential)


def together(left: ParamNumber | ParamBudget, right: ParamNumber | ParamBudget) -> None:
    """Raise `ParamError` where two functions are of different parameters or variables."""
    if left.param != right.param:
        names = f"`{left.param.name}` and `{right.param.name}`"
        raise ParamError(f"{names} stand together, and a target has one `param`")
    if left.is_exponential != right.is_exponential:
        name = left.param.name
        raise ParamError(f"`{name}` stands both inside and outside of `exp` or a budget")


# --- arithmetic ----------------------------------------------------------------------------

Symbol = Literal["+", "-", "*", "/"]
Quantity = Number | ParamNumber | Budget


def combined(symbol: Symbol, left: Quantity, right: Quantity) -> Quantity:
    """Return `left symbol right` where one of them depends on a parameter.

    Raises `ParamError` where the result is none: two parameters, a budget times a function of one.
    """
    if isinstance(left, Budget) or isinstance(right, Budget):
        return _with_budget(symbol, left, right)
    own = left if isinstance(left, ParamNumber) else right
    assert isinstance(own, ParamNumber), "one of them depends on a parameter"
    if isinstance(left, ParamNumber) and isinstance(right, ParamNumber):
        together(left, right)
    elif isinstance(left, ExpNumber) or isinstance(right, ExpNumber):
        raise ParamError(f"`exp` of a number stands beside `{own.param.name}`")
    a, b = (each.value if isinstance(each, ParamNumber) else each for each in (left, right))
    if symbol == "/":
        if isinstance(right, ParamNumber):
            _refuse_divisor(right)
        return _wrapped(divide(a, b), left, right)
    operation = {"+": add, "-": subtract, "*": multiply}[symbol]
    return _wrapped(operation(a, b), left, right)


def _wrapped(value: Number, *parts: Quantity) -> Number | ParamNumber:
    """Return a number at the stand-in as what it is: constant, or a function of the parameter."""
    if not isinstance(value, ExpNumber):
        return value
    own = next(each for each in parts if isinstance(each, ParamNumber | ParamBudget))
    units = [each.unit for each in parts if isinstance(each, ParamNumber)]
    unit = reduce(fmpq.gcd, units, value.unit)
    made_of = unit if own.is_exponential and unit != value.unit else ZERO
    return ParamNumber(value, own.param, own.is_exponential, made_of)


def _with_budget(symbol: Symbol, left: Quantity, right: Quantity) -> Quantity:
    """Return an operation of which an operand is a budget."""
    if symbol == "*" or symbol == "/":
        budget, factor = (left, right) if isinstance(left, Budget) else (right, left)
        if not isinstance(factor, int | fmpq) or (symbol == "/" and budget is right):
            raise ParamError("a budget is multiplied by rational numbers only")
        assert isinstance(budget, Budget), "one of them is"
        return (budget * factor if symbol == "*" else budget / factor).plain()
    first, second = as_budget(left), as_budget(right)
    return summed(first, second if symbol == "+" else -second).plain()


def as_budget(value: Quantity) -> Budget:
    """Return a value as a budget: a rational number, or a rational multiple of the parameter."""
    if isinstance(value, Budget):
        return value
    if isinstance(value, int | fmpq):
        return Budget.of(value)
    if isinstance(value, ParamNumber):
        exponent, name = value.exponent(), value.param.name
        if exponent is None:
            why = f"is no rational multiple of `{name}`, to which logarithms may be added"
            title = f"`{param_text(value)}` {why}: `{name}/2 + ln 3`"
            raise ParamError(title, _without_power(value) or _as_multiple_of_another(value))
        if any(end is not None and abs(exponent * end) > MOST for end in value.param.ends):
            raise ParamError(f"`exp` of `{name}` is too large or small at an end of its values")
        argument = exponential(value.param.exponent)
        return logarithm(argument, exponent, value.param, is_exponential=True)
    raise ParamError("this is no budget")


def _without_power(value: ParamNumber) -> str:
    """Return the budget that a power of e is meant as, in words; "" for others."""
    power_of_e = re.fullmatch(r"exp\(([^()]*)\)", param_text(value))
    return f"a budget is the ε of e^ε: write `{power_of_e[1]}`" if power_of_e else ""


def _as_multiple_of_another(value: ParamNumber) -> str:
    """Return how to write q/b for a parameter b > 0: as a multiple of one for 1/b; "" for others.

    >>> _as_multiple_of_another(ParamNumber(ONE / (b := Param("b", 2, None)).stand_in, b))
    'declare `param eps in (0, 1/2)` for 1/b: `1/b` is `eps`'
    """
    param = value.param
    factor = multiply(value.value, param.stand_in)
    if value.is_exponential or isinstance(factor, ExpNumber) or param.low is None or param.low < 0:
        return ""
    low, high = (fmpq(1) / end if end else None for end in param.ends)
    name = "rate" if param.name == "eps" else "eps"
    other = Param(name, high or 0, low, param.has_high, param.has_low)
    declared = f"{name} > 0" if other.ends == (0, None) else f"{name} in {other.text}"
    multiple, inverse = multiply(factor, other.stand_in), divide(param.stand_in, factor)
    assert isinstance(multiple, ExpNumber), "of a parameter"
    assert isinstance(inverse, ExpNumber), "of a parameter"
    is_written = f"`{param_text(value)}` is `{param_text(ParamNumber(multiple, other))}`"
    scale = f"declare `param {declared}` for 1/{param.name}: {is_written}"
    if param.name not in ("eps", "epsilon"):
        return scale
    budget = param_text(ParamNumber(inverse, param))
    return f"noise of a budget has it above, `{budget}`; else {scale}"


def negative(value: ParamNumber) -> ParamNumber:
    """Return -value."""
    return replace(value, value=-value.value)


def raised(base: ParamNumber, exponent: int, limit_bits: int) -> Number | ParamNumber:
    """Return base^exponent; a negative power needs a base that is 0 nowhere."""
    if exponent < 0:
        _refuse_divisor(base)
    return _wrapped(power(base.value, exponent, limit_bits), base)


def exponential_of(value: ParamNumber | ParamBudget) -> Number | ParamNumber:
    """Return exp(value) for a multiple of the parameter or a budget with one."""
    budget = as_budget(value)
    assert isinstance(budget, ParamBudget), "it depends on a parameter"
    try:
        return _wrapped(budget.exp(), budget)
    except IrrationalExponential:
        name = budget.param.name
        raise ParamError(f"this `exp` is no rational function of `{name}`") from None


def logarithm_of(value: ParamNumber) -> Budget:
    """Return ln(value), for a value that is positive for all values of the parameter."""
    if place := example_where(value, (-1, 0)):
        raise ParamError(f"the argument of `ln`, `{param_text(value)}`, is not positive {place}")
    return logarithm(value.value, ONE, value.param, value.is_exponential)


@lru_cache(maxsize=1024)
def example_where(value: ParamNumber, signs: tuple[int, ...]) -> str | None:
    """Return one value of the parameter for which a number has one of some signs, as words."""
    from dpcheck.exact.line import line_of

    line = line_of(value.param, [value.value], is_exponential=value.is_exponential)
    failing = line.where(value.value, signs)
    return None if failing.is_empty else line.example_text(failing)


@lru_cache(maxsize=1024)
def zero_at_end(value: ParamNumber) -> str | None:
    """Return an end that is a value of the parameter and at which a number is 0, as words."""
    from dpcheck.exact.line import line_of

    param, is_exponential = value.param, value.is_exponential
    ends = [(param.low, param.has_low), (param.high, param.has_high)]
    closed = [end for end, has_end in ends if has_end and end is not None]
    line = line_of(param, [value.value], is_exponential=is_exponential)
    for end in closed:
        if is_exponential and end != 0:
            continue  # exp(end) is transcendental, and no polynomial is 0 there
        above, _ = line.function(*line.polynomials(value.value))
        if above(fmpq(1 if is_exponential else end)) == 0:
            return f"at {param.name} = {fmpq(end).str()}"
    return None


def no_weight(
    value: ParamNumber, *, is_strict: bool = False, has_top: bool = True
) -> tuple[str, str, str | None] | None:
    """Return what a number is, for which value of the parameter, and an edit, if it is no weight.

    That is in [0, 1] for all values; in (0, 1) if `is_strict`, and at least 0 without `has_top`.
    The edit is an interval on which it is one, where there is one.

    >>> p = Param("p", 0, 1)
    >>> no_weight(combined("*", 2, ParamNumber(p.stand_in, p)))
    ('no probability', 'at p = 2/3', 'declare `param p in (0, 1/2]`')
    """
    both = [value, combined("-", 1, value)][: 1 + has_top]
    sides = [each for each in both if isinstance(each, ParamNumber)]
    for side in sides:
        place = example_where(side, (-1, 0) if is_strict else (-1,))
        if place := place or (zero_at_end(side) if is_strict else None):
            wrong = "not strictly between 0 and 1" if is_strict else "no probability"
            return (wrong if has_top else "negative"), place, _narrower(sides, is_strict=is_strict)
    return None


def _narrower(sides: Sequence[ParamNumber], *, is_strict: bool) -> str | None:
    """Return the edit to the first interval on which all sides are positive, or at least 0."""
    from dpcheck.exact.line import line_of
    from dpcheck.exact.roots import joined

    param, is_exponential = sides[0].param, sides[0].is_exponential
    line = line_of(param, [side.value for side in sides], is_exponential=is_exponential)
    signs = (1,) if is_strict else (0, 1)
    fitting = joined(and_, [line.where(side.value, signs) for side in sides])
    for interval in line.intervals(fitting):
        low, high = _rational(interval.low), _rational(interval.high)
        found = ParamInterval(low, high).inside
        if found is None or found.low.exact == found.high.exact:
            continue
        if not is_strict:  # these are values, too, which a line leaves out
            ends = (found.low, param.low, param.has_low), (found.high, param.high, param.has_high)
            found = ParamInterval(*(_closed(*each) for each in ends))
        return f"declare `param {param.name} in {found.claimed}`"
    return None


def _rational(end: ParamEnd) -> ParamEnd:
    """Return an end whose exact text, if it has one, is that of a rational number."""
    return replace(end, exact=None) if end.exact and "ln" in end.exact else end


def _closed(end: ParamEnd, declared: int | fmpq | None, has_end: bool) -> ParamEnd:
    """Return an end that belongs to its interval where it is one that was declared so."""
    if declared is None or not has_end or end.exact != exact_text(declared):
        return end
    return replace(end, is_open=False)


def _refuse_divisor(value: ParamNumber) -> None:
    """Raise `ParamError` if a function is 0 for some value, which may be a closed end."""
    if place := example_where(value, (0,)) or zero_at_end(value):
        sides = value, combined("-", 0, value)
        edits = (
            _narrower([each], is_strict=True) for each in sides if isinstance(each, ParamNumber)
        )
        where = next(filter(None, edits), None)
        raise ParamError(f"a divisor, `{param_text(value)}`, is 0 {place}", where or "")


# --- text ----------------------------------------------------------------------------------


def param_text(value: ParamNumber | ParamBudget) -> str:
    """Return what depends on a parameter as an expression over it.

    >>> alpha = ParamNumber(Param("alpha", 0, 1).stand_in, Param("alpha", 0, 1))
    >>> param_text(combined("*", -3, logarithm_of(alpha)))
    '-3*ln(alpha)'
    """
    from dpcheck.exact.line import line_of

    shown = value.value if isinstance(value, ParamNumber) else value.argument
    line = line_of(value.param, [shown], is_exponential=value.is_exponential)
    if isinstance(value, ParamNumber):
        return line.text(shown)
    inside, exponent = f"ln({line.text(shown)})", value.exponent
    monomial = shown.monomial()
    if value.is_exponential and monomial is not None and monomial[0] == 1:
        inside, exponent = value.param.name, exponent * monomial[1] / value.param.exponent
    return multiple_text(fmpq(exponent), inside)
