"""Numbers: fractions, and quotients of sums of c e^r with rational c and r; budgets r + Σ m ln a.

Σ c e^r with different r is 0 only if every c is (Lindemann, Weierstrass, 1885).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm, prod
from typing import Any, TypeAlias

_ZERO = Fraction(0)
Terms = dict[Fraction, Fraction]
"""{r: c, ...} is the sum of c e^r."""


@cache
def exp_bounds(r: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals below and above e^r, a relative 2^-bits apart or so."""
    if r < 0:
        low, high = exp_bounds(-r, bits)
        return 1 / high, 1 / low
    halvings = max(0, int(2 * r).bit_length())
    grid = 2 ** (bits + 3 * halvings + 8)
    y, total, term, n = r / 2**halvings, Fraction(1), Fraction(1), 0
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
    """Return the sign of Σ c e^r: enclosures shrink until they show it."""
    terms = {r: c for r, c in terms.items() if c}
    bits = 64
    while terms:
        low = high = Fraction(0)
        for r, c in terms.items():
            below, above = exp_bounds(r, bits)
            low += c * (below if c > 0 else above)
            high += c * (above if c > 0 else below)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        bits *= 2
    return 0


def product_of_terms(left: Terms, right: Terms) -> Terms:
    """Return (Σ c e^r) (Σ d e^s)."""
    found: Terms = {}
    for r, c in left.items():
        for s, d in right.items():
            found[r + s] = found.get(r + s, Fraction(0)) + c * d
    return {r: c for r, c in found.items() if c}


@dataclass(frozen=True, eq=False)
class Exp:
    """over / under, two sums of c e^r."""

    over: Terms
    under: Terms

    def __add__(self, other: Number) -> Number:
        """Return the sum."""
        b = as_exp(other)
        if self.under == b.under:
            keys = self.over.keys() | b.over.keys()
            zero = Fraction(0)
            return made({r: self.over.get(r, zero) + b.over.get(r, zero) for r in keys}, b.under)
        left, right = product_of_terms(self.over, b.under), product_of_terms(b.over, self.under)
        one = {Fraction(0): Fraction(1)}
        over = as_exp(Exp(left, one) + Exp(right, one)).over
        return made(over, product_of_terms(self.under, b.under))

    def __mul__(self, other: Number) -> Number:
        """Return the product."""
        b = as_exp(other)
        return made(product_of_terms(self.over, b.over), product_of_terms(self.under, b.under))

    def __neg__(self) -> Number:
        """Return the negation."""
        return self * Fraction(-1)

    def __sub__(self, other: Number) -> Number:
        """Return the difference."""
        return self + -other

    def __rsub__(self, other: Number) -> Number:
        """Return the difference."""
        return -self + other

    def __truediv__(self, other: Number) -> Number:
        """Return the quotient."""
        b = as_exp(other)
        return self * Exp(b.under, b.over)

    def __rtruediv__(self, other: Number) -> Number:
        """Return the quotient."""
        return as_exp(other) / self

    def __pow__(self, n: int) -> Number:
        """Return a power."""
        base: Number = self if n >= 0 else 1 / self
        return prod([base] * abs(n), start=Fraction(1))

    def __abs__(self) -> Number:
        """Return the absolute value."""
        return -self if sign(self) < 0 else self

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same number."""
        return isinstance(other, int | Fraction | Exp) and sign(self - other) == 0

    def __hash__(self) -> int:
        """Return a number that equal numbers share, however they are written."""
        return 0

    def __lt__(self, other: Number) -> bool:
        """Compare, decided."""
        return sign(self - other) < 0

    def __gt__(self, other: Number) -> bool:
        """Compare, decided."""
        return sign(self - other) > 0

    def __le__(self, other: Number) -> bool:
        """Compare, decided."""
        return sign(self - other) <= 0

    def __ge__(self, other: Number) -> bool:
        """Compare, decided."""
        return sign(self - other) >= 0

    def decimal(self) -> float:
        """Return the number for the eye."""
        over, under = (
            sum((c * exp_bounds(r, 256)[0] for r, c in terms.items()), _ZERO)
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
    one = {Fraction(0): Fraction(1)}
    return value if isinstance(value, Exp) else Exp({Fraction(0): Fraction(value)}, one)


def made(over: Terms, under: Terms) -> Number:
    """Return a quotient, a fraction where it is one as written; `under` is no zero."""
    over = {r: c for r, c in over.items() if c}
    if len(under) == 1:
        ((s, d),) = under.items()
        over, under = {r - s: c / d for r, c in over.items()}, {Fraction(0): Fraction(1)}
        if not over.keys() - {Fraction(0)}:
            return over.get(Fraction(0), Fraction(0))
    elif over.keys() == under.keys() and len({c / under[r] for r, c in over.items()}) == 1:
        return next(c / under[r] for r, c in over.items())
    return Exp(over, under) if over else Fraction(0)


def sign(value: Number) -> int:
    """Return the sign of a number."""
    if isinstance(value, Exp):
        return sign_of_terms(value.over) * sign_of_terms(value.under)
    return int(value > 0) - int(value < 0)


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

    def plus(self, other: Budget) -> Budget:
        """Return the sum."""
        return Budget(self.offset + other.offset, (*self.logs, *other.logs))

    def times(self, scale: Fraction) -> Budget:
        """Return the budget times a rational number."""
        return Budget(self.offset * scale, tuple((a, m * scale) for a, m in self.logs))

    def power(self) -> tuple[int, Fraction, Fraction]:
        """Return n, c, s such that e^(n budget) = c e^s with rational c and s."""
        n = lcm(*(m.denominator for _, m in self.logs))
        c = prod((a ** int(m * n) for a, m in self.logs), start=Fraction(1))
        return n, c, self.offset * n

    def exp(self) -> Number | None:
        """Return e^budget where it is a number, else None."""
        n, c, s = self.power()
        root = Fraction(_root(c.numerator, n), _root(c.denominator, n))
        return Exp({s / n: root}, {Fraction(0): Fraction(1)}) * 1 if root**n == c else None

    def sign(self) -> int:
        """Return the sign."""
        return excess_sign(Fraction(1), Fraction(1), self.times(Fraction(-1)))


def _root(x: int, n: int) -> int:
    """Return an integer near the n-th root."""
    low, high = 0, x + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**n <= x else (low, middle)
    return low


def excess_sign(p: Number, q: Number, epsilon: Budget, delta: Number = _ZERO) -> int:
    """Return the sign of p - δ - e^ε q, for q >= 0.

    Both sides to the power n are sums of c e^r, where e^(n ε) is one.
    """
    left = p - delta
    if sign(q) == 0 or sign(left) <= 0:
        return sign(left) if sign(q) == 0 else -1
    n, c, s = epsilon.power()
    right = Exp({s: c}, {Fraction(0): Fraction(1)}) * as_exp(q) ** n
    return sign(as_exp(left) ** n - right)
