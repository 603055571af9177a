"""What is printed of a comparison, read back as an expression, has the values it is about."""

from __future__ import annotations

import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.check.values.amounts import growth_amount, number_amount
from dpcheck.check.values.comparisons import inequality
from dpcheck.check.values.verdicts import Amount, Phrase, Sides
from dpcheck.exact import (
    Budget,
    add,
    divide,
    exact_text,
    excess,
    exponential,
    multiply,
    number,
    subtract,
)
from dpcheck.exact.number import ball
from dpcheck.exact.reading import ball_of_text
from dpcheck.report.notation import requirement_text

BITS = 256

rationals = st.builds(number, st.integers(-9, 9), st.integers(1, 9))
exponents = st.builds(number, st.integers(-4, 4), st.sampled_from([1, 2]))
sums = st.lists(st.tuples(rationals, exponents), min_size=1, max_size=3)


def total(terms):
    value = 0
    for coefficient, exponent in terms:
        value = add(value, multiply(coefficient, exponential(exponent)))
    return value


def quotient(above, below):
    return divide(above, below) if below != 0 else above


numbers = st.builds(quotient, sums.map(total), sums.map(total))
budgets = st.builds(
    lambda r, m, a: Budget.ln(a) * m + r, exponents, exponents, st.sampled_from([1, 2, 3])
)


def is_same(text, around):
    """Return whether a text has a value, which is known by a ball."""
    with ctx.workprec(BITS):
        read = ball_of_text(text, BITS)
        return read.overlaps(around) and (read - around).abs_upper() < 1e-30


def right_side(q, epsilon, delta):
    with ctx.workprec(BITS):
        return epsilon.exp_ball(BITS) * ball(q, BITS) + ball(delta, BITS)


@given(numbers, numbers, budgets, numbers)
def test_a_printed_inequality_reads_back_as_what_it_compares(p, q, epsilon, delta):
    printed = inequality(p, q, epsilon, delta)
    for text in (str(printed), printed.written(lambda part: getattr(part, "exact", part))):
        left, right = text.split(" <= ")
        assert is_same(left, ball(p, BITS))
        assert is_same(right, right_side(q, epsilon, delta))


@given(numbers, numbers, budgets)
def test_what_is_multiplied_or_subtracted_reads_back(p, q, epsilon):
    a, b, growth = number_amount(p), number_amount(q), growth_amount(epsilon)
    factor = ball(p, BITS)
    with ctx.workprec(BITS):
        assert is_same(str(Phrase.of(a, " * ", b)), factor * ball(q, BITS))
        assert is_same(str(Phrase.of(a, " - ", b)), factor - ball(q, BITS))
        assert is_same(str(Phrase.of(a, " * ", growth)), factor * epsilon.exp_ball(BITS))


@given(numbers, numbers, budgets)
def test_an_excess_reads_back(p, q, epsilon):
    value = excess(p, q, epsilon)
    with ctx.workprec(BITS):
        around = ball(p, BITS) - epsilon.exp_ball(BITS) * ball(q, BITS)
    assert is_same(exact_text(value), around)


HALF_LESS = subtract(number(1, 2), divide(exponential(-1), 2))


@pytest.mark.parametrize(
    ("q", "delta", "text"),
    [
        (HALF_LESS, 0, "19/20 <= exp(1) * (1/2 - 1/2*exp(-1))"),
        (divide(exponential(-1), 2), 0, "19/20 <= exp(1) * 1/2*exp(-1)"),
        (divide(1, add(1, exponential(1))), 0, "19/20 <= exp(1) * 1/(1 + exp(1))"),
        (number(1, 4), HALF_LESS, "19/20 <= exp(1) * 1/4 + 1/2 - 1/2*exp(-1)"),
        (number(-1, 4), number(-1, 8), "19/20 <= exp(1) * (-1/4) + (-1/8)"),
    ],
)
def test_brackets_stand_where_they_are_needed(q, delta, text):
    assert str(inequality(number(19, 20), q, Budget.of(1), delta)) == text


def test_a_rounded_number_has_no_brackets():
    p, long = Amount("1/2", "0.5"), Amount(" + ".join(["1/1000000007"] * 9), "9.0e-09")
    phrase = Phrase.of(p, " <= ", Amount("2", "2"), " * ", long)
    told = requirement_text(phrase, Sides(p, "<=", Amount("1.8e-08", "1.8e-08")))
    assert told == "1/2 <= 2 * ≈ 9e-9      0.5 > 1.8e-8"
