"""Exact text that reads back, and decimals correctly rounded, against mpmath and `decimal`."""

from __future__ import annotations

import decimal as standard
import re
from dataclasses import dataclass

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.exact import (
    Budget,
    Excess,
    Number,
    add,
    decimal,
    divide,
    enclosure,
    exact_text,
    excess,
    exp_text,
    exponential,
    log,
    multiply,
    negate,
    number,
    power,
    subtract,
)
from tests.numbers import rational

ROOT = exponential(number(1, 2))


@dataclass(frozen=True)
class Term:
    """A number with Python's operators, all exact."""

    value: Number

    def __add__(self, other):
        return Term(add(self.value, other.value))

    def __sub__(self, other):
        return Term(subtract(self.value, other.value))

    def __mul__(self, other):
        return Term(multiply(self.value, other.value))

    def __truediv__(self, other):
        return Term(divide(self.value, other.value))

    def __neg__(self):
        return Term(negate(self.value))


def value_of(text):
    """Read exact text back with Python's own grammar and our arithmetic."""
    names = {"Term": Term, "exp": lambda exponent: Term(exponential(exponent.value))}
    return eval(re.sub(r"(\d+)", r"Term(\1)", text), names).value


coefficients = st.builds(number, st.integers(-60, 60), st.integers(1, 12))
exponents = st.builds(number, st.integers(-12, 12), st.integers(1, 6))
sums = st.lists(st.tuples(coefficients, exponents), min_size=1, max_size=3)


def total(terms):
    result = 0
    for coefficient, exponent in terms:
        result = add(result, multiply(coefficient, exponential(exponent)))
    return result


@given(sums, sums)
def test_exact_text_reads_back_as_the_same_number(above, below):
    value = divide(total(above), total(below)) if total(below) != 0 else total(above)
    assert value_of(exact_text(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (number(75, 128), "75/128"),
        (number(-1, 2), "-1/2"),
        (subtract(number(3, 4), multiply(number(1, 4), ROOT)), "3/4 - 1/4*exp(1/2)"),
        (exponential(-1), "exp(-1)"),
        (-exponential(1), "-exp(1)"),
        (divide(1, add(1, ROOT)), "1/(1 + exp(1/2))"),
        (divide(ROOT, add(1, ROOT)), "exp(1/2)/(1 + exp(1/2))"),
        (divide(subtract(ROOT, 1), add(1, ROOT)), "(-1 + exp(1/2))/(1 + exp(1/2))"),
        (Budget.ln(3), "ln(3)"),
        (Budget.of(0), "0"),
        (Budget.of(number(-1, 2)), "-1/2"),
        (Budget.ln(9), "ln(9)"),
        (2 * Budget.ln(2) + number(1, 2), "ln(4) + 1/2"),
        (Budget.ln(number(943, 292)), "ln(943/292)"),
        (Budget.ln(2) / 2 - 1, "1/2*ln(2) - 1"),
        (10**9 * Budget.ln(3), "1000000000*ln(3)"),
        (log(divide(add(1, ROOT), 2)), "ln(1/2 + 1/2*exp(1/2))"),
        (excess(1, number(1, 2), Budget.ln(2) / 2), "1 - 1/2*2^(1/2)"),
        (excess(0, 1, Budget.ln(number(2, 3)) / 2), "-(2/3)^(1/2)"),
        (excess(number(1, 8), number(-1, 2), Budget.ln(2) / 2), "1/8 + 1/2*2^(1/2)"),
        (excess(0, -1, Budget.ln(2) / 2), "2^(1/2)"),
        (Excess(0, 2, log(add(1, ROOT))), "-2*(1 + exp(1/2))"),
    ],
)
def test_exact_text(value, text):
    assert exact_text(value) == text


@pytest.mark.parametrize(
    ("epsilon", "text"),
    [
        (Budget.ln(3), "3"),
        (Budget.of(0), "1"),
        (Budget.of(number(1, 2)), "exp(1/2)"),
        (Budget.ln(3) + number(1, 2), "3*exp(1/2)"),
        (Budget.ln(2) / 2, "2^(1/2)"),
        (Budget.ln(number(4, 9)) / 3, "(2/3)^(2/3)"),
        (10**9 * Budget.ln(3), "3^1000000000"),
        (log(add(1, ROOT)), "1 + exp(1/2)"),
    ],
)
def test_exponential_text(epsilon, text):
    assert exp_text(epsilon) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (number(1, 4), "0.25"),
        (Budget.ln(3), "1.0986122886681097"),
        (number(1, 3), "0.33333333333333333"),
        (number(2, 3), "0.66666666666666667"),
        (-7, "-7"),
        (10**15, "1000000000000000"),
        (10**16, "1e+16"),
        (number(1, 10**4), "0.0001"),
        (number(1, 10**5), "1e-05"),
        (number(-12345678901234567890123, 1), "-1.2345678901234568e+22"),
        (10**17 - 1, "9.9999999999999999e+16"),
        (10**18 - 1, "1e+18"),
        (exponential(-1), "0.36787944117144232"),
        (power(number(1, 10), 400), "1e-400"),
        (log(divide(add(1, ROOT), 2)), "0.28092980362016137"),
        (Budget.of(10**1000) + Budget.ln(3), "1e+1000"),
        (excess(1, number(1, 2), Budget.ln(2) / 2), "0.29289321881345248"),
        (excess(number(1, 2), 1, Budget.ln(2) / 2), "-0.91421356237309505"),
    ],
)
def test_decimals(value, text):
    assert decimal(value) == text


@given(st.fractions(), st.integers(1, 30))
def test_decimals_of_rationals_agree_with_the_standard_library(value, digits):
    context = standard.Context(
        prec=digits, rounding=standard.ROUND_HALF_EVEN, Emax=10**6, Emin=-(10**6)
    )
    expected = context.divide(
        standard.Decimal(value.numerator), standard.Decimal(value.denominator)
    )
    assert standard.Decimal(decimal(number(value.numerator, value.denominator), digits)) == expected


@given(st.integers(10**16, 10**17 - 1), st.integers(-30, 30))
def test_ties_of_rationals_are_rounded_to_even(digits, exponent):
    value = multiply(number(2 * digits + 1, 2), power(10, exponent))
    even = digits + digits % 2
    assert rational(decimal(value)) == multiply(even, power(10, exponent))


@given(sums)
def test_decimals_of_exponential_sums_agree_with_mpmath(terms):
    value = total(terms)
    with mpmath.workdps(80):
        expected = mpmath.mpf(0)
        for c, s in terms:
            expected += _mpf(c) * mpmath.exp(_mpf(s))
        assert value == 0 or mpmath.almosteq(
            mpmath.mpf(decimal(value, 30)), expected, mpmath.mpf(10) ** -29
        )


def _mpf(value):
    return (
        mpmath.mpf(int(value))
        if isinstance(value, int)
        else mpmath.mpf(int(value.p)) / int(value.q)
    )


@given(st.integers(2, 10**6), st.integers(1, 9), st.fractions(-9, 9, max_denominator=20))
def test_decimals_of_budgets_agree_with_mpmath(base, index, offset):
    value = Budget.ln(base) / index + number(offset.numerator, offset.denominator)
    with mpmath.workdps(60):
        expected = mpmath.log(base) / index + mpmath.mpf(offset.numerator) / offset.denominator
        assert mpmath.mpf(decimal(value)) == pytest.approx(expected, rel=1e-16)
        assert (
            abs(mpmath.mpf(decimal(value, 40)) - expected) <= abs(expected) * mpmath.mpf(10) ** -39
        )


@given(st.integers(2, 10**6), st.integers(1, 60))
def test_enclosures_are_as_narrow_as_asked(base, digits):
    lower, upper = enclosure(Budget.ln(base), digits)
    assert lower < upper
    assert Budget.of(lower) < Budget.ln(base) < Budget.of(upper)
    assert (upper - lower) * 10**digits <= abs(lower)
    assert enclosure(number(base, 7), digits) == (number(base, 7), number(base, 7))


def test_numbers_of_any_length_are_printed_in_full():
    assert exact_text(10**100_000) == "1" + "0" * 100_000
    assert len(repr(Budget.ln(10**5000))) > 5000
    assert decimal(10**6000) == "1e+6000"
