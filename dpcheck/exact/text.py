"""Exact values as text that a model may contain, and decimals correctly rounded.

>>> from dpcheck.exact import exponential
>>> exact_text(fmpq(75, 128)), exact_text(3 * exponential(fmpq(-1, 2)) / 4 + fmpq(1, 4))
('75/128', '1/4 + 3/4*exp(-1/2)')
>>> exact_text(Budget.ln(3) + fmpq(1, 2)), exp_text(Budget.ln(3) + fmpq(1, 2))
('ln(3) + 1/2', '3*exp(1/2)')
>>> decimal(Budget.ln(3)), decimal(fmpq(1, 4)), decimal(fmpq(1, 3)), decimal(10**20)
('1.0986122886681097', '0.25', '0.33333333333333333', '1e+20')
"""

from __future__ import annotations

from flint import arb, ctx, fmpq, fmpz, fmpz_poly

from dpcheck.exact.budget import Budget, Epsilon, LogOf
from dpcheck.exact.comparison import Excess
from dpcheck.exact.errors import TooLarge
from dpcheck.exact.number import MAX_BITS, ExpNumber, Number, Rational, negate, sign
from dpcheck.exact.polynomial import enclosing, precisions

Value = Number | Epsilon | Excess

DIGITS = 17
"""Significant digits of a decimal, as many as a float has."""

_MAX_ROOT = 1_000
"""Roots of numbers beyond that have no text that is read."""


def exact_text(value: Value) -> str:
    """Return the exact value as an expression of the language.

    (A power with a fractional exponent, 2^(1/2), appears only in an `Excess`: no expression of the
    language has such a value.)

    >>> exact_text(Budget.ln(2) / 2 - 1), exact_text(10**9 * Budget.ln(3))
    ('1/2*ln(2) - 1', '1000000000*ln(3)')
    """
    match value:
        case int() | fmpq():
            return _rational_text(value)
        case ExpNumber():
            return _fraction_text(value)
        case Budget():
            return _budget_text(value)
        case LogOf(argument):
            return f"ln({_fraction_text(argument)})"
        case Excess(p, q, epsilon):
            return _excess_text(p, q, epsilon)


def exp_text(epsilon: Epsilon) -> str:
    """Return e^ε exactly: in the language where it is rational times a power of e.

    >>> exp_text(Budget.ln(9)), exp_text(Budget.of(fmpq(-1, 2))), exp_text(Budget.ln(2) / 2)
    ('9', 'exp(-1/2)', '2^(1/2)')
    """
    if isinstance(epsilon, LogOf):
        return _fraction_text(epsilon.argument)
    factors = [_power_text(*_without_powers(power)) for power in epsilon.powers]
    if epsilon.offset != 0:
        factors.append(f"exp({_rational_text(epsilon.offset)})")
    return "*".join(factors) if factors else "1"


def _rational_text(value: int | fmpq | fmpz) -> str:
    """Return p or p/q. Python refuses to print more than 4300 digits; flint does not."""
    return str(fmpq(value).str())


def _sum_text(terms: list[str]) -> str:
    """Return the terms with signs between them: a term that starts with `-` is subtracted."""
    text = terms[0]
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text


def _term_text(coefficient: fmpq, factor: str) -> str:
    """Return coefficient·factor, or the coefficient alone for an empty factor."""
    if not factor:
        return _rational_text(coefficient)
    if coefficient == 1:
        return factor
    return f"-{factor}" if coefficient == -1 else f"{_rational_text(coefficient)}*{factor}"


def _polynomial_terms(
    polynomial: fmpz_poly, unit: fmpq, *, over: fmpz | int = 1, shift: int = 0
) -> list[str]:
    """Return the terms of polynomial(t)/(over·t^shift), t = e^unit, the constant one first."""
    exponents = [i for i in range(polynomial.degree() + 1) if polynomial[i] != 0]
    exponents.sort(key=lambda i: (abs(i - shift), i))
    return [
        _term_text(
            fmpq(polynomial[i], over),
            f"exp({_rational_text(unit * (i - shift))})" if i != shift else "",
        )
        for i in exponents
    ]


def _fraction_text(value: ExpNumber) -> str:
    """Return a sum of terms where the denominator is one term, else (sum)/(sum)."""
    degree = value.denominator.degree()
    if not value.denominator.truncate(degree):
        return _sum_text(
            _polynomial_terms(
                value.numerator, value.unit, over=value.denominator[degree], shift=degree
            )
        )
    above = _polynomial_terms(value.numerator, value.unit)
    below = _sum_text(_polynomial_terms(value.denominator, value.unit))
    return f"{above[0] if len(above) == 1 else f'({_sum_text(above)})'}/({below})"


def _budget_text(budget: Budget) -> str:
    """Return Σ m·ln(a) + offset."""
    terms = [
        _term_text(exponent, f"ln({_rational_text(base)})")
        for base, exponent in map(_without_powers, budget.powers)
    ]
    if budget.offset != 0 or not terms:
        terms.append(_rational_text(budget.offset))
    return _sum_text(terms)


def _without_powers(power: tuple[int | fmpq, int | fmpq]) -> tuple[int | fmpq, fmpq]:
    """Return an irrational power with the least base: 512^(1/10) as 2^(9/10).

    >>> exact_text(99 * Budget.ln(2) / 100), exp_text(Budget.ln(fmpq(4, 9)) / 3)
    ('99/100*ln(2)', '(2/3)^(2/3)')
    """
    base, exponent = power[0], fmpq(power[1])
    above, below = fmpq(base).p, fmpq(base).q
    if exponent.q == 1 or not (above.is_perfect_power() and below.is_perfect_power()):
        return base, exponent
    longest = min(max(above.bit_length(), below.bit_length()), _MAX_ROOT)
    for degree in range(longest, 1, -1):
        roots = above.root(degree), below.root(degree)
        if roots[0] ** degree == above and roots[1] ** degree == below:
            return fmpq(*roots), exponent * degree
    return base, exponent


def _power_text(base: int | fmpq, exponent: fmpq) -> str:
    """Return base^exponent with the parentheses it needs."""
    base_text, exponent_text = _rational_text(base), _rational_text(exponent)
    if exponent == 1:
        return base_text
    base_text = f"({base_text})" if "/" in base_text else base_text
    is_plain = exponent.q == 1 and exponent > 0
    return f"{base_text}^{exponent_text if is_plain else f'({exponent_text})'}"


def _excess_text(p: Number, q: Number, epsilon: Epsilon) -> str:
    """Return p - q*e^ε, or p + (-q)*e^ε for q < 0."""
    is_less, size = sign(q) > 0, q if sign(q) > 0 else negate(q)
    factor = f"({exact_text(size)})" if isinstance(size, ExpNumber) else _rational_text(size)
    growth = f"({exp_text(epsilon)})" if isinstance(epsilon, LogOf) else exp_text(epsilon)
    product = growth if size == 1 else f"{factor}*{growth}"
    if p == 0:
        return f"-{product}" if is_less else product
    return f"{exact_text(p)} {'-' if is_less else '+'} {product}"


def decimal(value: Value, digits: int = DIGITS) -> str:
    """Return the value correctly rounded to `digits` significant digits, trailing zeros dropped.

    A rational is rounded in integer arithmetic, ties to even. Any other value is irrational, so no
    tie exists and enclosures are refined until both ends round alike. Written as Python writes
    floats: with an exponent below 10^-4 and from 10^16 on.

    >>> decimal(fmpq(1, 10**6)), decimal(Budget.of(0)), decimal(-12345), decimal(5, 1)
    ('1e-06', '0', '-12345', '5')
    """
    if isinstance(value, Budget) and not value.powers:
        value = value.offset
    if isinstance(value, int | fmpq):
        if value == 0:
            return "0"
        mantissa, exponent = _rational_digits(abs(fmpq(value)), digits)
        return _decimal_text(value < 0, mantissa, exponent)
    is_negative = (sign(value) if isinstance(value, ExpNumber) else _sign(value)) < 0
    mantissa, exponent = _irrational_digits(value, digits)
    return _decimal_text(is_negative, mantissa, exponent)


def _sign(value: Budget | LogOf | Excess) -> int:
    """Return the sign of a value that is not a number."""
    if isinstance(value, LogOf):
        return -1 if value.argument < 1 else 1
    return value.sign()


def _decimal_text(is_negative: bool, mantissa: str, exponent: int) -> str:
    """Return m.antissa·10^exponent in the shape of Python's `repr` of a float."""
    mantissa = mantissa.rstrip("0")
    if -4 <= exponent < 16:
        if exponent < 0:
            text = "0." + "0" * (-exponent - 1) + mantissa
        else:
            whole = mantissa[: exponent + 1].ljust(exponent + 1, "0")
            decimals = mantissa[exponent + 1 :]
            text = f"{whole}.{decimals}" if decimals else whole
    else:
        decimals = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
        text = f"{mantissa[0]}{decimals}e{exponent:+03d}"
    return f"-{text}" if is_negative else text


def _rational_digits(value: fmpq, digits: int) -> tuple[str, int]:
    """Return the digits d of a positive rational and k with value ≈ d[0].d[1:]·10^k."""
    least, bound = fmpz(10) ** (digits - 1), fmpz(10) ** digits
    # Bit lengths locate the value within a factor of 2; the loop corrects the guess.
    exponent = (value.p.bit_length() - value.q.bit_length()) * 30103 // 100000
    while True:
        shift = digits - 1 - exponent
        above = value.p * fmpz(10) ** max(shift, 0)
        below = value.q * fmpz(10) ** max(-shift, 0)
        whole, rest = divmod(above, below)
        if whole < least:
            exponent -= 1
        elif whole >= bound:
            exponent += 1
        else:
            break
    if 2 * rest > below or (2 * rest == below and whole % 2 == 1):
        whole += 1
    return _carried(whole, exponent, bound)


def _irrational_digits(value: ExpNumber | Budget | LogOf | Excess, digits: int) -> tuple[str, int]:
    """Return the digits d of an irrational |value| and k with |value| ≈ d[0].d[1:]·10^k."""
    for bits in precisions(128):
        if bits > MAX_BITS:
            raise TooLarge("the decimal expansion of this number", bits, MAX_BITS)
        with ctx.workprec(bits):
            magnitude = abs(value.ball(bits))
            exponent = (magnitude.log() / arb(10).log()).floor().unique_fmpz()
            if exponent is None:
                continue
            scaled = magnitude * arb(10) ** (digits - 1 - exponent)
            whole = (scaled + arb(0.5)).floor().unique_fmpz()
        if whole is not None:
            return _carried(whole, int(exponent), fmpz(10) ** digits)
    raise AssertionError("precisions are unbounded")


def _carried(whole: fmpz, exponent: int, bound: fmpz) -> tuple[str, int]:
    """Return digits and exponent after rounding up may have reached the next power of ten."""
    return ("1", exponent + 1) if whole == bound else (str(whole.str()), exponent)


def enclosure(value: Value, digits: int = DIGITS) -> tuple[Rational, Rational]:
    """Return rationals lower <= value <= upper with relative width at most 10^-digits.

    A rational encloses itself.

    >>> lower, upper = enclosure(Budget.ln(3), 5)
    >>> fmpq(10986122, 10**7) < lower < upper, upper - lower < fmpq(1, 10**5)
    (True, True)
    """
    if isinstance(value, Budget) and not value.powers:
        value = value.offset
    if isinstance(value, int | fmpq):
        return fmpq(value), fmpq(value)

    def ball_at(bits: int) -> arb:
        if bits > MAX_BITS:
            raise TooLarge("an enclosure of this number", bits, MAX_BITS)
        return value.ball(bits)

    needed = digits * 10 // 3 + 4
    return enclosing(ball_at, needed, 2 * needed)


def multiple_text(factor: fmpq, name: str) -> str:
    """Return a rational multiple as the language writes it.

    >>> multiple_text(fmpq(-3, 2), "eps"), multiple_text(fmpq(1), "ln(alpha)")
    ('-3*eps/2', 'ln(alpha)')
    """
    above = {1: name, -1: f"-{name}"}.get(int(factor.p), f"{factor.p}*{name}")
    return above if factor.q == 1 else f"{above}/{factor.q}"
