"""p <= e^ε q + δ: ties by identity, everything else by enclosure, against mpmath at 60 digits."""

from __future__ import annotations

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.exact import (
    Budget,
    Excess,
    add,
    compare_values,
    divide,
    excess,
    excess_sign,
    exp_bounds,
    exponential,
    log,
    multiply,
    number,
    power,
    subtract,
    within,
)
from tests.numbers import rational

mpmath.mp.dps = 60

HALF = number(1, 2)
ROOT = exponential(HALF)
KEEP = divide(ROOT, add(1, ROOT))
FLIP = subtract(1, KEEP)

probabilities = st.fractions(0, 1, max_denominator=40)
BUDGETS = [
    (Budget.of(0), mpmath.mpf(1)),
    (Budget.ln(3), mpmath.mpf(3)),
    (Budget.ln(2) / 2, mpmath.sqrt(2)),
    (Budget.ln(number(1, 2)), mpmath.mpf(1) / 2),
    (Budget.of(HALF), mpmath.exp(mpmath.mpf(1) / 2)),
    (Budget.ln(3) - HALF, 3 * mpmath.exp(-mpmath.mpf(1) / 2)),
    (Budget.ln(12) / 3 + 1, mpmath.mpf(12) ** (mpmath.mpf(1) / 3) * mpmath.e),
]


def exact(value):
    return number(value.numerator, value.denominator)


def as_mpf(value):
    return mpmath.mpf(value.numerator) / value.denominator


@given(probabilities, probabilities, probabilities, st.sampled_from(BUDGETS))
def test_rational_probabilities_agree_with_sixty_digits(p, q, delta, budget):
    epsilon, ratio = budget
    difference = as_mpf(p) - ratio * as_mpf(q) - as_mpf(delta)
    expected = 0 if abs(difference) < mpmath.mpf(10) ** -40 else int(mpmath.sign(difference))
    assert excess_sign(exact(p), exact(q), epsilon, exact(delta)) == expected
    assert within(exact(p), exact(q), epsilon, exact(delta)) == (expected <= 0)
    assert compare_values(excess(exact(p), exact(q), epsilon), exact(delta)) == expected


@given(
    st.lists(st.fractions(0, 5, max_denominator=9), min_size=6, max_size=6),
    st.sampled_from(BUDGETS),
)
def test_exponential_probabilities_agree_with_sixty_digits(weights, budget):
    epsilon, ratio = budget
    root = mpmath.exp(mpmath.mpf(1) / 2)
    p, q, delta = (
        add(exact(a), multiply(exact(b), ROOT))
        for a, b in zip(weights[::2], weights[1::2], strict=True)
    )
    x, y, z = (
        as_mpf(a) + as_mpf(b) * root for a, b in zip(weights[::2], weights[1::2], strict=True)
    )
    difference = x - ratio * y - z
    expected = 0 if abs(difference) < mpmath.mpf(10) ** -40 else int(mpmath.sign(difference))
    assert excess_sign(p, q, epsilon, delta) == expected


def test_randomized_response_with_an_exponential_bias_is_tight():
    assert excess_sign(KEEP, FLIP, Budget.of(HALF)) == 0
    assert within(KEEP, FLIP, Budget.of(HALF))
    assert not within(KEEP, FLIP, Budget.of(rational("0.4999999999999999999999999999999999999999")))
    assert log(divide(KEEP, FLIP)) == Budget.of(HALF)


def test_ties_over_other_units_than_the_probabilities_own():
    p = multiply(3, exponential(number(-3, 4)))
    assert excess_sign(p, exponential(number(-5, 4)), Budget.ln(3) + HALF) == 0
    assert excess_sign(p, exponential(number(-1, 4)), Budget.ln(9) / 2 - HALF) == 0


def test_a_square_root_is_never_a_rational_ratio():
    epsilon = Budget.ln(2) / 2
    convergent = (1, 1)
    for _ in range(60):
        a, b = convergent
        convergent = (a + 2 * b, a + b)
        expected = 1 if a * a > 2 * b * b else -1
        assert excess_sign(number(a, 2**200), number(b, 2**200), epsilon) == expected
    assert excess_sign(2, 1, Budget.ln(2) / 2 + Budget.ln(2) / 2) == 0


@pytest.mark.parametrize("digits", [40, 400, 4000])
@pytest.mark.parametrize("epsilon", [Budget.ln(3), Budget.of(HALF), Budget.ln(3) + HALF])
def test_near_ties_are_decided(epsilon, digits):
    q = number(1, 4)
    p = multiply(epsilon.exp(), q)
    little = power(number(1, 10), digits)
    assert excess_sign(p, q, epsilon) == 0
    assert excess_sign(add(p, little), q, epsilon) == 1
    assert excess_sign(subtract(p, little), q, epsilon) == -1
    assert excess_sign(add(p, little), q, epsilon, little) == 0


def test_zero_denominators_are_compared_in_the_field():
    assert excess_sign(FLIP, 0, Budget.ln(3), FLIP) == 0
    assert excess_sign(KEEP, 0, Budget.of(10**400), FLIP) == 1
    assert excess_sign(0, 0, Budget.ln(3)) == 0
    assert excess_sign(0, FLIP, Budget.ln(3)) == -1
    assert excess_sign(FLIP, HALF, Budget.ln(2) / 2, KEEP) == -1


def test_both_sides_negative_after_delta():
    assert excess_sign(0, -1, Budget.ln(2) / 2, number(3, 2)) == -1
    assert excess_sign(0, -1, Budget.ln(2) / 2, number(7, 5)) == 1


@pytest.mark.parametrize(
    "epsilon", [10**9 * Budget.ln(3), Budget.of(10**1000), Budget.ln(3) / 10**9]
)
def test_extreme_budgets_cost_nothing(epsilon):
    assert within(HALF, number(1, 3), 10**9 + epsilon)
    assert not within(1, HALF, -epsilon)


def test_huge_ties_are_found_without_writing_the_power_down():
    epsilon = 10**6 * Budget.ln(3)
    assert excess_sign(1, power(number(1, 3), 10**6), epsilon) == 0
    assert excess_sign(1, power(number(1, 3), 10**6 + 1), epsilon) == 1


def test_an_excess_is_a_number_where_the_field_has_one():
    assert excess(number(3, 4), number(1, 4), Budget.ln(2)) == number(1, 4)
    assert excess(1, HALF, Budget.of(HALF)) == subtract(1, multiply(HALF, ROOT))
    assert excess(HALF, 0, Budget.ln(2) / 2) == HALF
    irrational = excess(1, HALF, Budget.ln(2) / 2)
    assert isinstance(irrational, Excess)
    assert irrational.sign() == 1
    assert irrational.compare(number(29, 100)) == 1
    assert irrational.compare(number(293, 1000)) == -1


@given(st.sampled_from(BUDGETS), st.integers(10, 500))
def test_bounds_enclose_the_ratio(budget, bits):
    lower, upper = exp_bounds(budget[0], bits)
    assert excess_sign(lower, 1, budget[0]) <= 0 <= excess_sign(upper, 1, budget[0])
    assert upper - lower <= upper / 2 ** (bits - 1)
