"""Numbers: fractions, and quotients of sums of c e^r with rational c and r; budgets r + Σ m ln a.

Σ c e^r with different r is 0 only if every c is (Lindemann, Weierstrass, 1885).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

    def __hash__(self) -> int:
        return 0  # equal ones may be written in different ways


class Exp(Amount):
    """over / under, two sums of c e^r; `made` makes one, or a fraction where it is one."""

    def __init__(self, over: Terms, under: Terms) -> None:
        self.over, self.under = over, under

    def __add__(self, other: Number) -> Number:
        b = as_exp(other)
        if self.under == b.under:
            return made(sum_of_terms(self.over, b.over), b.under)
        left, right = product_of_terms(self.over, b.under), product_of_terms(b.over, self.under)
        return made(sum_of_terms(left, right), product_of_terms(self.under, b.under))

    def __mul__(self, other: Number) -> Number:
        b = as_exp(other)
        return made(product_of_terms(self.over, b.over), product_of_terms(self.under, b.under))

    def __pow__(self, n: int) -> Number:
        return prod([self if n >= 0 else quotient(1, self)] * abs(n), start=ONE)

    def sign(self) -> int:
        """Return the sign."""
        return sign_of_terms(self.over) * sign_of_terms(self.under)

    def __float__(self) -> float:
        over, under = (
            sum((c * exp_bounds(r, 256)[0] for r, c in terms.items()), ZERO)
            for terms in (self.over, self.under)
        )
        return float(over / under)


def number(value: Value) -> Number:
    """Return the value if it is a number."""
    if not isinstance(value, int | Fraction | Exp):
        raise WrongProgram(f"{as_text(value)} is no number")
    return value


def as_exp(value: Number) -> Exp:
    """Return any number as a quotient."""
    if isinstance(value, Exp):
        return value
    return Exp({ZERO: Fraction(number(value))} if value else {}, {ZERO: ONE})


def made(over: Terms, under: Terms) -> Number:
    """Return a quotient, a fraction where it is one as written; `under` is no zero."""
    if len(under) == 1:
        ((s, d),) = under.items()
        over, under = {r - s: c / d for r, c in over.items()}, {ZERO: ONE}
        if not over.keys() - {ZERO}:
            return over.get(ZERO, ZERO)
    elif over.keys() == under.keys() and len({c / under[r] for r, c in over.items()}) == 1:
        return next(c / under[r] for r, c in over.items())
    return Exp(over, under) if over else ZERO


def sum_of_terms(left: Terms, right: Terms) -> Terms:
    """Return Σ c e^r + Σ d e^s."""
    found = {r: left.get(r, ZERO) + right.get(r, ZERO) for r in left | right}
    return {r: c for r, c in found.items() if c}


def product_of_terms(left: Terms, right: Terms) -> Terms:
    """Return (Σ c e^r) (Σ d e^s)."""
    found: Terms = {}
    for (r, c), (s, d) in product(left.items(), right.items()):
        found[r + s] = found.get(r + s, ZERO) + c * d
    return {r: c for r, c in found.items() if c}


def sign_of_terms(terms: Terms) -> int:
    """Return the sign of Σ c e^r, in which no c is 0: enclosures shrink until they show it."""
    bits = 64
    while terms:
        low = high = ZERO
        for r, c in terms.items():
            below, above = exp_bounds(r, bits)
            low += c * (below if c > 0 else above)
            high += c * (above if c > 0 else below)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        bits *= 2
    return 0


@cache
def exp_bounds(r: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals below and above e^r, a relative 2^-bits apart or so."""
    if r < 0:
        low, high = exp_bounds(-r, bits)
        return 1 / high, 1 / low
    halvings = max(0, int(2 * r).bit_length())
    grid = 2 ** (bits + 3 * halvings + 8)
    y, total, term, n = r / 2**halvings, ONE, ONE, 0
    while term * grid > 1:
        n += 1
        term = term * y / n
        total += term
    low, high = total, total + 2 * term  # y <= 1/2: the rest is less than twice the last term
    for _ in range(halvings):
        low = Fraction(int(low * low * grid), grid)
        high = Fraction(int(high * high * grid) + 1, grid)
    return low, high


def number_text(value: Number) -> str:
    """Write a number as the language does: `3/4 + 1/4*exp(1/2)`."""
    if not isinstance(value, Exp):
        return str(value)
    over, under = (
        " + ".join(f"{c}*exp({r})" if r else str(c) for r, c in sorted(terms.items()))
        for terms in (value.over, value.under)
    )
    return over if under == "1" else f"({over})/({under})"


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
    if isinstance(y, Exp):
        return Exp(y.under, y.over) * x
    return x * Fraction(1, y) if isinstance(x, Amount) else Fraction(x) / y


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


def excess_sign(p: Number, q: Number, epsilon: Budget, delta: Number = ZERO) -> int:
    """Return the sign of p - δ - e^ε q, for q >= 0.

    Both sides to the power n are sums of c e^r, where e^(n ε) is one.
    """
    left = p - delta
    if sign(q) == 0 or sign(left) <= 0:
        return sign(left) if sign(q) == 0 else -1
    n, power = epsilon.power
    return sign(left**n - power * q**n)
