"""Numbers: fractions, and quotients of sums of c e^r with rational c and r; budgets r + Σ m ln a.

Σ c e^r with different r is 0 only if every c is (Lindemann, Weierstrass, 1885).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context
from fractions import Fraction
from functools import cache, cached_property, total_ordering
from itertools import product
from math import floor, lcm, prod
from typing import Any, TypeAlias

from dpcheck.reference.values import NotCovered, Value, WrongProgram, as_text

Number: TypeAlias = Any
"""An `int`, a `Fraction` or an `Exp`; `quotient` divides, as that of two `int` is a float."""
Terms = dict[Fraction, Fraction]
"""{r: c, ...} is the sum of c e^r."""
ZERO = Fraction(0)
ONE = Fraction(1)
MAX_POWER = 1_000_000
"""Budgets are compared by powers of numbers and of e up to this: some seconds."""


@total_ordering
class Amount:
    """Operators that follow from +, * and the sign."""

    __add__: Value
    __mul__: Value
    sign: Value

    def __radd__(self, other: Value) -> Value:
        return self + other

    def __rmul__(self, other: Value) -> Value:
        return self * other

    def __neg__(self) -> Value:
        return self * -1

    def __sub__(self, other: Value) -> Value:
        return self + -other

    def __rsub__(self, other: Value) -> Value:
        return -self + other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | Fraction | type(self)) and sign(self - other) == 0

    def __lt__(self, other: Value) -> bool:
        return sign(self - other) < 0

    def __abs__(self) -> Value:
        return self * sign(self)

    def __hash__(self) -> int:
        return 0  # equal ones may be written in different ways


class Exp(Amount):
    """over / under, two sums of c e^r; `made` makes one, or a fraction where it is one."""

    def __init__(self, over: Terms, under: Terms) -> None:
        self.over, self.under = over, under

    def __add__(self, other: Number) -> Number:
        b = as_exp(other)
        if self.under == b.under:
            return made(summed([*self.over.items(), *b.over.items()]), b.under)
        left, right = times(self.over, b.under), times(b.over, self.under)
        return made(summed([*left.items(), *right.items()]), times(self.under, b.under))

    def __mul__(self, other: Number) -> Number:
        b = as_exp(other)
        return made(times(self.over, b.over), times(self.under, b.under))

    def __pow__(self, n: int) -> Number:
        return prod([self if n >= 0 else quotient(1, self)] * abs(n), start=ONE)

    def sign(self) -> int:
        """Return the sign."""
        return sign_of_terms(self.over) * sign_of_terms(self.under)

    def __float__(self) -> float:
        over, under = (
            sum(c * exp_bounds(r, 80)[0] for r, c in terms.items())
            for terms in (self.over, self.under)
        )
        return float(over / under)

    def __str__(self) -> str:
        """Write a number as the language does: `3/4 + 1/4*exp(1/2)`."""
        over, under = (
            " + ".join(f"{c}*exp({r})" if r else str(c) for r, c in sorted(terms.items()))
            for terms in (self.over, self.under)
        )
        return over if under == "1" else f"({over})/({under})"


def number(value: Value) -> Number:
    """Return the value if it is a number."""
    if not isinstance(value, int | Fraction | Exp):
        raise WrongProgram(f"{as_text(value)} is no number")
    return value


def amount(value: Value) -> Value:
    """Return the value if it is a number or a budget."""
    return value if isinstance(value, Budget) else number(value)


def as_exp(value: Number) -> Exp:
    """Return any number as a quotient."""
    return value if isinstance(value, Exp) else Exp(summed([(ZERO, number(value))]), {ZERO: ONE})


def made(over: Terms, under: Terms) -> Number:
    """Return a quotient, or the fraction that it is; the last term of `under` becomes 1."""
    last, scale = max(under.items())
    over, under = ({r - last: c / scale for r, c in terms.items()} for terms in (over, under))
    ratio = over.get(ZERO, ZERO)
    return ratio if over == summed((r, ratio * c) for r, c in under.items()) else Exp(over, under)


def summed(pairs: Iterable[tuple[Any, Number]]) -> dict[Any, Number]:
    """Return {key: the sum of its numbers}, without those that are 0."""
    found: dict[Any, Number] = {}
    for key, n in pairs:
        found[key] = found[key] + n if key in found else n
    return {key: n for key, n in found.items() if n}


def times(left: Terms, right: Terms) -> Terms:
    """Return (Σ c e^r) (Σ d e^s)."""
    pairs = product(left.items(), right.items())
    return summed((r + s, c * d) for (r, c), (s, d) in pairs)


def sign_of_terms(terms: Terms) -> int:
    """Return the sign of Σ c e^r, in which no c is 0: enclosures shrink until they show it."""
    digits = 20
    while terms:
        ends = [[c * end for end in exp_bounds(r, digits)] for r, c in terms.items()]
        low, high = sum(map(min, ends)), sum(map(max, ends))
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        digits *= 2
    return 0


@cache
def exp_bounds(r: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return rationals below and above e^r, a relative 10^-digits apart or so.

    What is rounded to digits stands between the neighbors of that, and `exp` of the decimal module
    is rounded correctly (Cowlishaw, General Decimal Arithmetic, 2009).
    """
    context = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)
    near = context.divide(*r.as_integer_ratio())
    low, high = context.exp(context.next_minus(near)), context.exp(context.next_plus(near))
    return Fraction(context.next_minus(low)), Fraction(context.next_plus(high))


@dataclass(frozen=True, eq=False)
class Budget(Amount):
    """offset + Σ m ln a, for the pairs (a, m) of `logs`."""

    offset: Fraction
    logs: tuple[tuple[Fraction, Fraction], ...] = ()

    def __add__(self, other: Budget | Fraction | int) -> Budget:
        b = budget_of(other)
        return Budget(self.offset + b.offset, (*self.logs, *b.logs))

    def __mul__(self, scale: Fraction | int) -> Budget:
        if isinstance(scale, Amount):
            raise NotCovered("products of budgets")
        return Budget(self.offset * scale, tuple((a, m * scale) for a, m in self.logs))

    @cached_property
    def power(self) -> tuple[int, Number]:
        """n, and e^(n budget), which is c e^s with rational c and s."""
        n = lcm(*(m.denominator for _, m in self.logs))
        powers = (abs(self.offset), *(abs(m) + 1 for _, m in self.logs))
        if max(powers) * n > MAX_POWER:
            raise NotCovered(f"a budget with a power or a root above {MAX_POWER:,}")
        c = prod((a ** int(m * n) for a, m in self.logs), start=ONE)
        return n, made({self.offset * n: c}, {ZERO: ONE})

    def exp(self) -> Number:
        """Return e^budget, which is a mistake where it is none of the numbers here."""
        n, power = self.power
        ((s, c),) = as_exp(power).over.items()
        over, under = c.as_integer_ratio()
        root = Fraction(greatest(lambda k: k**n <= over), greatest(lambda k: k**n <= under))
        if root**n != c:
            raise WrongProgram("this power of e is no number here")
        return made({s / n: root}, {ZERO: ONE})

    def sign(self) -> int:
        """Return the sign."""
        return excess_sign(ONE, ONE, -self)


def budget_of(amount: Value) -> Budget:
    """Return a budget, or a rational number as one."""
    return amount if isinstance(amount, Budget) else Budget(rational(amount))


def rational(value: Value) -> Fraction:
    """Return the value if it is a rational number."""
    if not isinstance(value, int | Fraction):
        raise WrongProgram(f"{as_text(value)} is no rational number")
    return Fraction(value)


def quotient(x: Value, y: Value) -> Value:
    """Return x / y, of numbers or budgets."""
    if sign(y) == 0:
        raise WrongProgram("division by zero")
    if isinstance(y, Budget):
        raise NotCovered("quotients of budgets")
    return x * (made(y.under, y.over) if isinstance(y, Exp) else Fraction(1, y))


def sign(value: Value) -> int:
    """Return the sign of a number or a budget."""
    return value.sign() if isinstance(value, Amount) else int(value > 0) - int(value < 0)


def floor_of(x: Value) -> int:
    """Return the greatest integer below or at a number or a budget."""
    return greatest(lambda k: k <= x) if isinstance(x, Amount) else floor(rational(x))


def greatest(holds: Callable[[int], bool]) -> int:
    """Return the greatest integer for which a condition holds that is false for all above it."""
    low, high = -1, 1
    while not holds(low):
        low *= 2
    while holds(high):
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def excess_sign(p: Number, q: Number, epsilon: Value, delta: Number = ZERO) -> int:
    """Return the sign of p - δ - e^ε q, for q >= 0.

    Both sides to the power n are sums of c e^r, where e^(n ε) is one.
    """
    left = p - delta
    if sign(q) == 0 or sign(left) <= 0:
        return sign(left) if sign(q) == 0 else -1
    n, power = budget_of(epsilon).power
    return sign(left**n - power * q**n)
