"""Budgets: equality by value without factoring, order, exponentials."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.exact import (
    Budget,
    IrrationalExponential,
    LogOf,
    Rational,
    TooLarge,
    add,
    compare_epsilon,
    divide,
    exponential,
    floor_of_quotient,
    log,
    multiply,
    number,
    subtract,
)
from tests.numbers import rational

mpmath.mp.dps = 60

scales = st.builds(Fraction, st.integers(-18, 18), st.integers(1, 6))
terms = st.lists(
    st.tuples(scales, st.builds(Fraction, st.integers(1, 30), st.integers(1, 30))), max_size=4
)


def exact(value):
    return number(value.numerator, value.denominator)


def budget(offset, logs):
    total = Budget.of(exact(offset))
    for scale, argument in logs:
        total = total + Budget.ln(exact(argument)) * exact(scale)
    return total


def valuations(logs):
    """The exponent of every prime in Π a^m: the oracle of equality, by trial division."""
    found = {}
    for scale, argument in logs:
        for part, direction in ((argument.numerator, 1), (argument.denominator, -1)):
            rest = part
            for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29):
                while rest % prime == 0:
                    rest //= prime
                    found[prime] = found.get(prime, 0) + direction * scale
            if rest > 1:
                found[rest] = found.get(rest, 0) + direction * scale
    return {prime: exponent for prime, exponent in found.items() if exponent}


def as_mpf(offset, logs):
    total = mpmath.mpf(offset.numerator) / offset.denominator
    for scale, argument in logs:
        ratio = mpmath.mpf(argument.numerator) / argument.denominator
        total += mpmath.log(ratio) * scale.numerator / scale.denominator
    return total


@given(scales, terms, scales, terms)
def test_budgets_are_equal_exactly_if_offset_and_prime_exponents_agree(x, a, y, b):
    left, right = budget(x, a), budget(y, b)
    is_same = x == y and valuations(a) == valuations(b)
    assert (left == right) == is_same
    if is_same:
        assert hash(left) == hash(right)


@given(scales, terms, st.randoms())
def test_the_order_of_terms_and_splitting_them_changes_nothing(x, a, random):
    shuffled = [(scale / 2, argument) for scale, argument in a for _ in range(2)]
    random.shuffle(shuffled)
    assert budget(x, a) == budget(x, shuffled)
    assert hash(budget(x, a)) == hash(budget(x, shuffled))
    assert budget(x, a) - budget(x, a) == Budget.of(0)


@given(scales, terms, scales, terms)
def test_order_agrees_with_sixty_digits(x, a, y, b):
    left, right = budget(x, a), budget(y, b)
    difference = as_mpf(x, a) - as_mpf(y, b)
    expected = 0 if abs(difference) < mpmath.mpf(10) ** -40 else int(mpmath.sign(difference))
    assert left.compare(right) == expected
    assert (left < right) == (expected < 0)
    assert (left >= right) == (expected >= 0)


@given(
    scales,
    st.lists(
        st.tuples(
            st.integers(-3, 3).map(Fraction), terms.map(lambda t: t[0][1] if t else Fraction(2))
        ),
        max_size=3,
    ),
)
def test_exp_undoes_log(x, logs):
    value = budget(x, logs)
    assert log(value.exp()) == value


def test_familiar_identities():
    assert Budget.ln(4) == 2 * Budget.ln(2)
    assert Budget.ln(3) + Budget.ln(3) == Budget.ln(9)
    assert Budget.ln(6) - Budget.ln(2) == Budget.ln(3)
    assert Budget.ln(number(1, 3)) == -Budget.ln(3)
    assert Budget.ln(8) / 3 == Budget.ln(2)
    assert Budget.ln(2) / 2 + Budget.ln(2) / 2 == Budget.ln(2)
    assert Budget.ln(2) + number(1, 2) == number(1, 2) + Budget.ln(2)
    assert 1 - Budget.ln(2) == -(Budget.ln(2) - 1)
    assert (Budget.ln(3) - Budget.ln(3) + number(1, 2)).as_number() == number(1, 2)
    assert Budget.ln(2).as_number() is None


def test_large_multiples_stay_short_and_equal():
    m = 10**9
    left = m * Budget.ln(6) + Budget.ln(5)
    right = Budget.ln(5) + m * Budget.ln(2) + m * Budget.ln(3)
    assert left == right
    assert hash(left) == hash(right)
    assert left != right + Budget.ln(2)
    assert left < right + rational("1e-30")
    assert left - m * Budget.ln(6) == Budget.ln(5)
    with pytest.raises(TooLarge):
        left.exp()


def test_bases_of_thousands_of_digits_are_not_factored():
    p, q = 3**8000 * (2**9689 - 1), 3**5000 * (2**9941 - 1)
    total = Budget.ln(number(p, q)) + Budget.ln(q) / 2 + Budget.ln(q) / 2
    assert total == Budget.ln(p)
    assert (Budget.ln(p**3) / 3).exp() == p
    assert Budget.ln(p) / 12345678901 != Budget.ln(q) / 12345678901


def test_budgets_that_differ_in_the_fortieth_digit_are_told_apart():
    assert Budget.ln(3) < Budget.ln(add(3, rational("1e-40")))
    digits = rational("1.09861228866810969139524523692252570464749")
    assert Budget.ln(3) > digits
    assert Budget.ln(3) < digits + rational("1e-41")


def test_exp_of_an_irrational_factor_is_an_error():
    with pytest.raises(IrrationalExponential):
        (Budget.ln(2) / 2).exp()
    assert (Budget.ln(4) / 2).exp() == 2
    assert (Budget.ln(3) + number(1, 2)).exp() == multiply(3, exponential(number(1, 2)))


def test_the_logarithm_of_a_sum_is_no_budget():
    ratio = divide(add(1, exponential(number(1, 2))), 2)
    epsilon = log(ratio)
    assert isinstance(epsilon, LogOf)
    assert epsilon == log(ratio)
    assert compare_epsilon(epsilon, epsilon) == 0
    assert compare_epsilon(epsilon, Budget.of(number(1, 4))) == 1  # cosh(1/4) > 1
    assert compare_epsilon(Budget.of(number(1, 2)), epsilon) == 1
    assert compare_epsilon(epsilon, log(divide(add(2, exponential(number(1, 2))), 3))) == 1


@pytest.mark.parametrize("argument", [0, -1, number(-1, 2)])
def test_logarithms_need_a_positive_argument(argument):
    with pytest.raises(ValueError, match="not positive"):
        Budget.ln(argument)
    with pytest.raises(ValueError, match="not positive"):
        log(argument)


def test_a_budget_is_no_number():
    assert Budget.of(1) != 1
    assert Budget.of(Rational(1, 2)).as_number() == number(1, 2)


@pytest.mark.parametrize(
    ("left", "right", "floor"),
    [
        (Budget.ln(9), Budget.ln(3), 2),  # ties, which no enclosure decides
        (Budget.ln(number(1, 8)), Budget.ln(2), -3),
        (Budget.ln(2) / 3, Budget.ln(2) / 12, 4),
        (Budget.ln(3) + number(1, 2), Budget.ln(9) + 1, 0),
        ((Budget.ln(3) + number(1, 2)) * 7, -Budget.ln(3) - number(1, 2), -7),
        (Budget.ln(add(9, rational("1e-60"))), Budget.ln(3), 2),  # nearly ties
        (Budget.ln(subtract(9, rational("1e-60"))), Budget.ln(3), 1),
        (Budget.ln(8), Budget.ln(4), 1),  # 3/2 is rational, and no integer
        (Budget.ln(10**6), Budget.of(number(1, 10)), 138),
        (-Budget.ln(3), Budget.of(1), -2),
        (Budget.of(1), Budget.ln(3), 0),
        (Budget.ln(3) * 10**30, Budget.of(1), 1098612288668109691395245236922),
    ],
)
def test_the_floor_of_a_quotient_of_budgets_is_decided(left, right, floor):
    assert floor_of_quotient(left, right) == floor


@given(a=st.fractions(min_value="1/50", max_value=50), n=st.integers(-20, 20))
def test_the_floor_of_a_quotient_of_budgets_is_the_integer_below(a, n):
    right = Budget.ln(number(7, 5)) + number(a.numerator, a.denominator)
    assert floor_of_quotient(right * n, right) == n
    left = Budget.ln(number(a.numerator, a.denominator)) + n
    below = floor_of_quotient(left, right)
    assert right * below <= left < right * (below + 1)


def test_a_quotient_of_budgets_too_long_to_write_down_is_a_limit():
    with pytest.raises(TooLarge):
        floor_of_quotient(Budget.ln(3) * 2**70_000_000, Budget.of(1))
