"""Numbers: fractions, and quotients of sums of c e^r with rational c and r; budgets r + Σ m ln a.

Σ c e^r with different r is 0 only if every c is (Lindemann, Weierstrass, 1885).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, total_ordering
from itertools import product
from math import floor, lcm, prod
from typing import Any, TypeAlias

Terms = dict[Fraction, Fraction]
"""{r: c, ...} is the sum of c e^r."""
ZERO = Fraction(0)
ONE = Fraction(1)


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


@total_ordering
class Exp:
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

    def __neg__(self) -> Number:
        return self * -1

    def __sub__(self, other: Number) -> Number:
        return self + -other

    def __rsub__(self, other: Number) -> Number:
        return -self + other

    def __truediv__(self, other: Number) -> Number:
        b = as_exp(other)
        return self * Exp(b.under, b.over)

    def __rtruediv__(self, other: Number) -> Number:
        return as_exp(other) / self

    def __pow__(self, n: int) -> Number:
        return prod([self if n >= 0 else 1 / self] * abs(n), start=ONE)

    def __abs__(self) -> Number:
        return -self if sign(self) < 0 else self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | Fraction | Exp) and sign(self - other) == 0

    def __hash__(self) -> int:
        return 0  # equal numbers may be written in different ways

    def __lt__(self, other: Number) -> bool:
        return sign(self - other) < 0

    def __float__(self) -> float:
        over, under = (
            sum((c * exp_bounds(r, 256)[0] for r, c in terms.items()), ZERO)
            for terms in (self.over, self.under)
        )
        return float(over / under)

    __radd__, __rmul__ = __add__, __mul__


Number: TypeAlias = Any
"""An `int`, a `Fraction` or an `Exp`; `quotient` divides, as that of two `int` is a float."""


def quotient(x: Number, y: Number) -> Number:
    """Return x / y."""
    return (Fraction(x) if isinstance(x, int) else x) / y


def as_exp(value: Number) -> Exp:
    """Return any number as a quotient."""
    if isinstance(value, Exp):
        return value
    return Exp({ZERO: Fraction(value)} if value else {}, {ZERO: ONE})


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


def sign(value: Number | Budget | Ratio) -> int:
    """Return the sign of a number, a budget or a quotient of budgets."""
    if isinstance(value, Exp):
        return sign_of_terms(value.over) * sign_of_terms(value.under)
    if isinstance(value, Budget | Ratio):
        return value.sign()
    return int(value > 0) - int(value < 0)


def n_terms(value: Number) -> int:
    """Return how many terms c e^r a number has; two numbers are multiplied term by term."""
    return len(value.over) + len(value.under) if isinstance(value, Exp) else 1


def number_text(value: Number) -> str:
    """Write a number as the language does: `3/4 + 1/4*exp(1/2)`."""
    if not isinstance(value, Exp):
        return str(value)
    over, under = (
        " + ".join(f"{c}*exp({r})" if r else str(c) for r, c in sorted(terms.items()))
        for terms in (value.over, value.under)
    )
    return over if under == "1" else f"({over})/({under})"


@dataclass(frozen=True)
class Budget:
    """offset + Σ m ln a, for the pairs (a, m) of `logs`."""

    offset: Fraction
    logs: tuple[tuple[Fraction, Fraction], ...] = ()

    def __add__(self, other: Budget | Fraction | int) -> Budget:
        b = budget_of(other)
        return Budget(self.offset + b.offset, (*self.logs, *b.logs))

    def __mul__(self, scale: Fraction) -> Budget:
        return Budget(self.offset * scale, tuple((a, m * scale) for a, m in self.logs))

    def __truediv__(self, other: Budget | Fraction | int) -> Budget | Ratio:
        return Ratio(self, other) if isinstance(other, Budget) else self * (ONE / other)

    def __rtruediv__(self, other: Fraction) -> Ratio:
        return Ratio(budget_of(other), self)

    def __neg__(self) -> Budget:
        return self * -ONE

    def __sub__(self, other: Budget | Fraction | int) -> Budget:
        return self + -other

    def __rsub__(self, other: Fraction | int) -> Budget:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    @cached_property
    def power(self) -> tuple[int, Number]:
        """n, and e^(n budget), which is c e^s with rational c and s."""
        n = lcm(*(m.denominator for _, m in self.logs))
        c = prod((a ** int(m * n) for a, m in self.logs), start=ONE)
        return n, made({self.offset * n: c}, {ZERO: ONE})

    def exp(self) -> Number | None:
        """Return e^budget where it is a number, else None."""
        n, power = self.power
        ((s, c),) = as_exp(power).over.items()
        root = Fraction(_root(c.numerator, n), _root(c.denominator, n))
        return made({s / n: root}, {ZERO: ONE}) if root**n == c else None

    def sign(self) -> int:
        """Return the sign."""
        return excess_sign(ONE, ONE, -self)


def budget_of(amount: Budget | Fraction | int) -> Budget:
    """Return a budget, or a rational number as one."""
    return amount if isinstance(amount, Budget) else Budget(Fraction(amount))


@dataclass(frozen=True)
class Ratio:
    """The quotient of two budgets, of which only `floor` and `ceil` are values."""

    over: Budget
    under: Budget

    def __neg__(self) -> Ratio:
        return Ratio(-self.over, self.under)

    def __sub__(self, k: int) -> Ratio:
        return Ratio(self.over - self.under * Fraction(k), self.under)

    def sign(self) -> int:
        """Return the sign."""
        return self.over.sign() * self.under.sign()


def _root(x: int, n: int) -> int:
    """Return an integer near the n-th root."""
    low, high = 0, x + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**n <= x else (low, middle)
    return low


def floor_of(x: Number | Ratio) -> int:
    """Return the greatest integer below or at a number or a quotient of budgets."""
    if not isinstance(x, Exp | Ratio):
        return floor(Fraction(x))
    low, high = -1, 1
    while sign(x - low) < 0:
        low *= 2
    while sign(x - high) >= 0:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sign(x - middle) >= 0 else (low, middle)
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
