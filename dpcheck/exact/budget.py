"""Privacy budgets: the real numbers r' + Σ m_i ln a_i with rational r', m_i and a_i > 0.

Equality. r' + ln c = s' + ln c' with c = Π a_i^m_i and c' algebraic forces e^(r'-s') to be
algebraic, so r' = s' (Lindemann 1882) and c = c'. A radical c ≠ 1 has a unique form (u/v)^(1/N)
with N >= 1 least and u/v rational: that is the canonical form kept here, so equal budgets are equal
objects (`ln 4 = 2 ln 2`, `ln 2 + ln 3 = ln 6`). To find it, the bases are refined to pairwise
coprime ones by gcds (`factors`); nothing is ever factored. Only when u and v together have more
than `LARGE_BITS` bits (10^9 · ln 3) do the coprime powers stay as they are, and equality is decided
by refining the difference of two budgets. Which of the two forms is used depends on the value
alone.

A positive number ρ of ℚ(e^r) has its logarithm here exactly if ρ = c·e^s; any other logarithm is a
`LogOf`, and never equal to a budget: ρ(e^r) = c e^s with c algebraic is, raised to a power N with
Ns ∈ rℤ, an identity of polynomials in the transcendental e^r, so ρ itself is a monomial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from flint import arb, ctx, fmpq, fmpz

from dpcheck.exact.errors import IrrationalExponential, TooLarge
from dpcheck.exact.factors import coprime_bases, multiplicity
from dpcheck.exact.number import (
    MAX_BITS,
    MAX_EXPONENT,
    ExpNumber,
    Number,
    compare,
    exponential,
    multiply,
    power,
    sign,
)
from dpcheck.exact.polynomial import precisions, refined_sign
from dpcheck.records import dataclass

LARGE_BITS = 1 << 20
"""Bounds powers that are written out to be compared; beyond, factors are looked for."""


@dataclass(frozen=True, eq=False)
class Budget:
    """offset + Σ exponent·ln base over `powers`, canonical (see the module's first lines).

    `powers` is empty, or one pair (u/v, 1/N), or, for a very large u/v, several pairs of an integer
    base and an exponent, bases pairwise coprime.

    >>> Budget.ln(4) == 2 * Budget.ln(2), Budget.ln(3) + Budget.ln(3) == Budget.ln(9)
    (True, True)
    >>> Budget.ln(2) + fmpq(1, 2) < Budget.ln(4), (Budget.ln(6) - Budget.ln(2)).exp()
    (True, 3)
    """

    offset: int | fmpq
    powers: tuple[tuple[int | fmpq, int | fmpq], ...]

    @staticmethod
    def of(value: int | fmpq) -> Budget:
        """Return a rational number as a budget."""
        return Budget(_rational(value), ())

    @staticmethod
    def ln(argument: int | fmpq) -> Budget:
        """Return ln a for a rational a > 0."""
        if argument <= 0:
            raise ValueError("ln of a number that is not positive")
        return _budget(0, [(argument, fmpq(1))])

    @property
    def is_large(self) -> bool:
        """Whether the logarithms are kept as coprime powers because their product is too long."""
        return not _is_radical(self.powers)

    def as_number(self) -> int | fmpq | None:
        """Return the budget as a rational number, or None when it is irrational.

        It is rational only without logarithms: ln c = s ≠ 0 would make e^s algebraic.
        """
        return None if self.powers else self.offset

    def plain(self) -> Budget | int | fmpq:
        """Return the budget as the value it is: a rational number where it has no logarithm."""
        known = self.as_number()
        return self if known is None else known

    def factor(self) -> int | fmpq | None:
        """Return c = Π a_i^m_i where it is rational and can be written down, else None."""
        if not self.powers:
            return 1
        ((base, exponent),) = self.powers if len(self.powers) == 1 else ((0, 0),)
        return base if exponent == 1 and base else None

    def exp(self) -> Number:
        """Return e^budget = c·e^offset.

        Raises `IrrationalExponential` when c is irrational, `TooLarge` when it is too long.

        >>> (Budget.ln(3) + 0).exp(), Budget.of(0).exp()
        (3, 1)
        """
        if not self.has_exact_power:
            raise IrrationalExponential
        factor: Number = 1
        for base, exponent in self.powers:
            factor = multiply(factor, power(base, int(fmpq(exponent).p)))
        return multiply(factor, exponential(self.offset))

    @property
    def has_exact_power(self) -> bool:
        """Whether e^budget is a rational number times a power of e.

        >>> (Budget.ln(4) / 2).has_exact_power, (Budget.ln(2) / 2).has_exact_power
        (True, False)
        """
        return all(fmpq(exponent).q == 1 for _, exponent in self.powers)

    def ball(self, bits: int) -> arb:
        """Return an enclosure of the budget computed with `bits` bits."""
        with ctx.workprec(bits):
            total = arb(self.offset)
            for base, exponent in self.powers:
                total += arb(base).log() * arb(exponent)
            return total

    def exp_ball(self, bits: int) -> arb:
        """Return an enclosure of e^budget computed with `bits` bits.

        Raises `TooLarge` when |budget| > 2^30: e^budget has over 400 million digits.
        """
        with ctx.workprec(bits):
            around = self.ball(bits)
            if not abs(around) < MAX_EXPONENT:
                raise TooLarge("e to the power of this budget", MAX_BITS + 1, MAX_BITS)
            return around.exp()

    def sign(self) -> int:
        """Return -1, 0 or 1, decided."""
        return self.compare(ZERO)

    def compare(self, other: Budget) -> int:
        """Return -1, 0 or 1 as this is less than, equal to or greater than the other, decided."""
        if self == other:
            return 0
        return refined_sign(lambda bits: self.ball(bits) - other.ball(bits))

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same real number."""
        if not isinstance(other, Budget):
            return NotImplemented
        if self.offset != other.offset:
            return False
        if self.powers == other.powers:
            return True
        if not (self.is_large and other.is_large):
            return False
        difference = [*self.powers, *((base, -exponent) for base, exponent in other.powers)]
        return not _budget(0, difference).powers

    def __hash__(self) -> int:
        """Hash by value; large budgets with one offset share a hash."""
        return hash((self.offset, None if self.is_large else self.powers))

    def __add__(self, other: Budget | int | fmpq) -> Budget:
        """Return the sum with a budget or a rational number."""
        if isinstance(other, int | fmpq):
            return Budget(_rational(fmpq(self.offset) + other), self.powers)
        if not isinstance(other, Budget):
            return NotImplemented
        offset = _rational(fmpq(self.offset) + other.offset)
        if not self.powers or not other.powers:
            return Budget(offset, self.powers or other.powers)
        return _budget(offset, [*self.powers, *other.powers])

    __radd__ = __add__

    def __neg__(self) -> Budget:
        """Return the negated budget."""
        return self * -1

    def __sub__(self, other: Budget | int | fmpq) -> Budget:
        """Return the difference."""
        return self + (-other)

    def __rsub__(self, other: int | fmpq) -> Budget:
        """Return a rational number minus this."""
        return -self + other

    def __mul__(self, scale: int | fmpq) -> Budget:
        """Return the budget times a rational number."""
        if not isinstance(scale, int | fmpq):
            return NotImplemented
        powers = [(base, fmpq(exponent) * scale) for base, exponent in self.powers]
        return _budget(_rational(fmpq(self.offset) * scale), powers)

    __rmul__ = __mul__

    def __truediv__(self, divisor: int | fmpq) -> Budget:
        """Return the budget divided by a rational number."""
        return self * (1 / fmpq(divisor))

    def __repr__(self) -> str:
        """Show the canonical form through flint, which prints integers of any length."""
        terms = [f"{fmpq(m).str()}*ln({fmpq(base).str()})" for base, m in self.powers]
        return f"Budget({' + '.join([*terms, fmpq(self.offset).str()])})"

    def __lt__(self, other: Budget | int | fmpq) -> bool:
        """Compare, decided."""
        return self.compare(_as_budget(other)) < 0

    def __le__(self, other: Budget | int | fmpq) -> bool:
        """Compare, decided."""
        return self.compare(_as_budget(other)) <= 0

    def __gt__(self, other: Budget | int | fmpq) -> bool:
        """Compare, decided."""
        return self.compare(_as_budget(other)) > 0

    def __ge__(self, other: Budget | int | fmpq) -> bool:
        """Compare, decided."""
        return self.compare(_as_budget(other)) >= 0


@dataclass(frozen=True)
class LogOf:
    """ln(argument) for a positive number that is not c·e^s, so no `Budget`: see `log`."""

    argument: ExpNumber

    def ball(self, bits: int) -> arb:
        """Return an enclosure computed with `bits` bits; not finite at a low precision."""
        with ctx.workprec(bits):
            return self.argument.ball(bits).log()

    def exp(self) -> Number:
        """Return the argument."""
        return self.argument

    def exp_ball(self, bits: int) -> arb:
        """Return an enclosure of the argument."""
        return self.argument.ball(bits)


Epsilon = Budget | LogOf

ZERO = Budget(0, ())


def log(argument: Number) -> Epsilon:
    """Return ln of a positive number: a `Budget` when the number is c·e^s, else a `LogOf`.

    >>> log(multiply(3, exponential(fmpq(1, 2)))) == Budget.ln(3) + fmpq(1, 2)
    True
    """
    if sign(argument) <= 0:
        raise ValueError("ln of a number that is not positive")
    if not isinstance(argument, ExpNumber):
        return Budget.ln(argument)
    monomial = argument.monomial()
    if monomial is None:
        return LogOf(argument)
    factor, exponent = monomial
    return Budget.ln(factor) + exponent


def compare_epsilon(left: Epsilon, right: Epsilon) -> int:
    """Return -1, 0 or 1 as left is less than, equal to or greater than right, decided.

    A `LogOf` equals only the `LogOf` of the same number; different values are separated by
    enclosures.
    """
    match left, right:
        case Budget(), Budget():
            return left.compare(right)
        case LogOf(), LogOf():
            return compare(left.argument, right.argument)
    return refined_sign(lambda bits: left.ball(bits) - right.ball(bits))


def floor_of_quotient(left: Budget, right: Budget) -> int:
    """Return the greatest integer <= left/right, for right != 0, decided.

    The quotient is an integer n exactly if left = n·right, an equality of canonical budgets. Any
    other quotient has a distance from the integers, which enclosures of it come to show. With
    right = 1: a budget with logarithms is irrational (see `as_number`), so no tie is possible.

    Raises `TooLarge` when the quotient has too many digits.

    >>> floor_of_quotient(Budget.ln(8), Budget.ln(2)), floor_of_quotient(Budget.ln(3), Budget.of(1))
    (3, 1)
    """
    for bits in precisions():
        with ctx.workprec(bits):
            around = left.ball(bits) / right.ball(bits)
            if around.is_finite() and around.abs_lower() > arb(2) ** MAX_BITS:
                raise TooLarge("the integer part of this quotient", MAX_BITS + 1, MAX_BITS)
            lowest = around.floor().unique_fmpz()
            nearest = (around + fmpq(1, 2)).floor().unique_fmpz()
        if lowest is not None:
            return int(lowest)
        if nearest is not None and left == right * int(nearest):
            return int(nearest)
    raise AssertionError("precisions are unbounded")


def _as_budget(value: Budget | int | fmpq) -> Budget:
    """Return a rational number as a budget."""
    return value if isinstance(value, Budget) else Budget.of(value)


def _rational(value: int | fmpq) -> int | fmpq:
    """Return an integral fmpq as an int."""
    return int(value.p) if isinstance(value, fmpq) and value.q == 1 else value


def _bits(value: int | fmpq) -> int:
    """Return the bits of numerator and denominator together."""
    exact = fmpq(value)
    return exact.p.bit_length() + exact.q.bit_length()


def _is_radical(powers: tuple[tuple[int | fmpq, int | fmpq], ...]) -> bool:
    """Return whether the powers are the short canonical form: (), or one (u/v)^(1/N)."""
    if len(powers) != 1:
        return not powers
    ((base, exponent),) = powers
    return fmpq(exponent).p == 1 and _bits(base) <= LARGE_BITS


def _budget(offset: int | fmpq, powers: Iterable[tuple[int | fmpq, int | fmpq]]) -> Budget:
    """Return the canonical budget offset + Σ exponent·ln base."""
    pairs = [(fmpq(base), fmpq(exponent)) for base, exponent in powers]
    if all(m.q == 1 for _, m in pairs) and sum(_bits(a) * abs(m) for a, m in pairs) <= LARGE_BITS:
        product = math.prod((base ** int(m.p) for base, m in pairs), start=fmpq(1))
        return Budget(offset, () if product == 1 else ((_rational(product), 1),))
    integers = [
        (part, weight)
        for base, exponent in pairs
        for part, weight in ((base.p, exponent), (base.q, -exponent))
    ]
    coprime = [_without_roots(*pair) for pair in _coprime_powers(integers)]
    return Budget(offset, _collected(sorted(coprime, key=lambda pair: pair[0])))


def _coprime_powers(powers: Sequence[tuple[fmpz, fmpq]]) -> list[tuple[fmpz, fmpq]]:
    """Return powers with the same product, bases > 1 pairwise coprime, exponents not 0."""
    found = []
    for base in coprime_bases(part for part, weight in powers if weight != 0):
        exponent = sum((multiplicity(part, base)[0] * m for part, m in powers), fmpq(0))
        if exponent != 0:
            found.append((base, exponent))
    return found


def _without_roots(base: fmpz, exponent: fmpq) -> tuple[fmpz, fmpq]:
    """Return the same power with a base that is no d-th power for a prime d of the denominator.

    Then base^exponent is rational only for an integer exponent. A base of b bits is a d-th power
    only for d < b, so the denominator is not factored beyond that.
    """
    for degree in range(2, base.bit_length()):
        if degree > exponent.q:
            break
        while exponent.q % degree == 0:
            root = base.root(degree)
            if root**degree != base:
                break
            base, exponent = root, exponent * degree
    return base, exponent


def _collected(powers: list[tuple[fmpz, fmpq]]) -> tuple[tuple[int | fmpq, int | fmpq], ...]:
    """Return () or ((u/v, 1/N),) with the product of the powers, or the powers if that is too long.

    Bases are coprime and without roots, so N = lcm of the denominators is least, u and v are
    coprime, and their sizes, which depend on the product alone, are estimated within a factor of 2.
    """
    if not powers:
        return ()
    index = math.lcm(*(int(exponent.q) for _, exponent in powers))
    whole = [(base, int((exponent * index).p)) for base, exponent in powers]
    if sum(abs(exponent) * (base.bit_length() - 1) for base, exponent in whole) <= LARGE_BITS:
        above, below = fmpz(1), fmpz(1)
        for base, exponent in whole:
            if exponent > 0:
                above *= base**exponent
            else:
                below *= base**-exponent
        radicand = fmpq(above, below)
        if _bits(radicand) <= LARGE_BITS:
            return ((_rational(radicand), _rational(fmpq(1, index))),)
    return tuple((int(base), _rational(exponent)) for base, exponent in powers)
