"""Functions of a parameter: arithmetic at the stand-in, budgets, what is refused, and texts."""

from __future__ import annotations

import random
from math import exp, isclose, log

import pytest
from flint import fmpq

from dpcheck.exact import (
    Budget,
    IrrationalExponential,
    Param,
    ParamBudget,
    ParamError,
    ParamNumber,
    exponential,
    growth_of,
    param_text,
)
from dpcheck.exact.parametric import (
    as_budget,
    combined,
    example_where,
    exponential_of,
    logarithm,
    logarithm_of,
    negative,
    raised,
    summed,
)

ALPHA = Param("alpha", 0, 1)
EPS = Param("eps", 0, None)
alpha = ParamNumber(ALPHA.stand_in, ALPHA)
eps = ParamNumber(EPS.stand_in, EPS)
WIDE = Param("eps", -1, None)
decay = exponential_of(combined("*", -1, eps))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (combined("+", alpha, 1), "alpha + 1"),
        (combined("-", 1, alpha), "1 - alpha"),
        (combined("/", 1, combined("+", alpha, 1)), "1/(alpha + 1)"),
        (raised(alpha, -2, 10**6), "1/alpha^2"),
        (negative(alpha), "-alpha"),
        (combined("*", decay, decay), "1/exp(2*eps)"),
        (logarithm_of(alpha), "ln(alpha)"),
        (combined("*", -1, logarithm_of(alpha)), "-ln(alpha)"),
        (combined("/", logarithm_of(alpha), 2), "ln(alpha)/2"),
        (as_budget(eps), "eps"),
        (combined("*", fmpq(3, 2), as_budget(eps)), "3*eps/2"),
        (combined("-", 0, as_budget(eps)), "-eps"),
        (logarithm(ALPHA.stand_in, fmpq(2), ALPHA, False), "2*ln(alpha)"),
        (logarithm_of(combined("/", 1, combined("*", decay, decay))), "2*eps"),
        (logarithm_of(combined("*", 2, decay)), "ln(2/exp(eps))"),
        (logarithm_of(combined("+", 1, decay)) / 3, "ln((exp(eps) + 1)/exp(eps))/3"),
    ],
)
def test_texts_are_expressions_of_the_language(value, text):
    assert param_text(value) == text


def floating(value):
    """Return a value as a float, at the number that stands for the parameter."""
    if isinstance(value, ParamNumber):
        value = value.value
    if isinstance(value, ParamBudget):
        return float(value.exponent) * log(float(value.argument.ball(64)))
    return float(value) if isinstance(value, int | fmpq) else float(value.ball(64))


@pytest.mark.parametrize("own", [alpha, decay])
def test_sums_products_quotients_and_powers_are_those_of_functions(own):
    draw = random.Random(1)
    operations = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
    }
    pool = [(own, floating(own)), (combined("-", own, 1), floating(own) - 1), (2, 2.0)]
    pool += [(fmpq(-1, 3), -1 / 3), (negative(own), -floating(own))]
    for _ in range(120):
        (left, a), (right, b) = draw.choice(pool), draw.choice(pool)
        symbol = draw.choice("+-*/")
        if not isinstance(left, ParamNumber) and not isinstance(right, ParamNumber):
            continue
        try:
            made = combined(symbol, left, right)
        except ParamError:
            assert symbol == "/"
            continue
        wanted = operations[symbol](a, b)
        assert isclose(floating(made), wanted, abs_tol=1e-9)
        if isinstance(made, ParamNumber) and len(pool) < 12:
            pool.append((made, wanted))
            power = draw.randint(0, 3)
            assert isclose(floating(raised(made, power, 10**6)), wanted**power, abs_tol=1e-9)


def test_sums_of_budgets_are_those_of_logarithms():
    draw = random.Random(2)
    for one, two in (
        (logarithm_of(alpha), logarithm_of(combined("+", alpha, 1))),
        (logarithm_of(combined("*", 4, decay)), as_budget(eps)),
    ):
        pool = [one, two, one / 2, fmpq(2, 3) * two, Budget.ln(2) / 2, Budget.ln(3), -one / 6]
        for _ in range(60):
            symbol, left, right = draw.choice("+-"), draw.choice(pool), draw.choice(pool)
            if not isinstance(left, ParamBudget) and not isinstance(right, ParamBudget):
                continue
            made = combined(symbol, left, right)
            wanted = floating(left) + floating(right) * (1 if symbol == "+" else -1)
            assert isclose(floating(made), wanted, abs_tol=1e-9)
            if isinstance(made, Budget):
                growth, root = growth_of(made)
                assert isclose(floating(growth) ** (1 / root), exp(wanted), rel_tol=1e-9)
    assert logarithm(4, fmpq(1, 2), ALPHA, False) == Budget.ln(2)
    assert growth_of(logarithm_of(combined("*", 4, decay)) / 2) == (2 * exponential(fmpq(-1, 2)), 1)


def test_what_no_longer_depends_on_the_parameter_is_a_number():
    assert combined("-", alpha, alpha) == 0
    assert combined("/", alpha, alpha) == 1
    assert combined("-", logarithm_of(alpha), logarithm_of(alpha)) == 0
    assert combined("*", logarithm_of(alpha), 0) == 0
    assert exponential_of(combined("*", 2, logarithm_of(alpha))) == combined("*", alpha, alpha)
    assert raised(combined("-", alpha, fmpq(1, 2)), 0, 10**6) == 1


def test_budgets_are_equal_where_they_are_one_function():
    one = logarithm_of(combined("*", alpha, alpha))
    assert one == 2 * logarithm_of(alpha)
    assert hash(one) == hash(2 * logarithm_of(alpha))
    assert one != logarithm_of(alpha)
    assert one != 3 * logarithm_of(alpha)
    assert logarithm_of(alpha) != Budget.ln(2)
    assert logarithm_of(alpha) != "ln(alpha)"
    assert 2 * logarithm_of(alpha) + Budget.ln(3) == summed(one, Budget.ln(3))
    assert logarithm_of(alpha) + 0 == logarithm_of(alpha)


def test_a_growth_is_a_root_where_no_power_is_one():
    half = logarithm_of(alpha) / 2
    assert growth_of(half) == (ALPHA.stand_in, 2)
    assert growth_of(3 * logarithm_of(alpha)) == (raised(alpha, 3, 10**6).value, 1)
    assert growth_of(summed(half, Budget.ln(3) / 3))[1] == 6
    with pytest.raises(IrrationalExponential):
        half.exp()
    assert isinstance(as_budget(eps), ParamBudget)
    assert growth_of(as_budget(eps) / 3) == (exponential(fmpq(1, 3)), 1)


REFUSED = {
    "stand together": [
        lambda: combined("+", alpha, eps),
        lambda: summed(logarithm_of(alpha), as_budget(eps)),
    ],
    "both inside and outside": [
        lambda: combined("*", eps, decay),
        lambda: summed(logarithm_of(eps), as_budget(eps)),
    ],
    "`exp` of a number": [lambda: combined("+", alpha, exponential(2))],
    "a divisor": [
        lambda: combined("/", 1, combined("-", alpha, fmpq(1, 2))),
        lambda: raised(combined("-", alpha, fmpq(1, 2)), -1, 10**6),
    ],
    "rational numbers only": [
        lambda: combined("*", logarithm_of(alpha), alpha),
        lambda: combined("/", 2, logarithm_of(alpha)),
        lambda: combined("*", logarithm_of(alpha), logarithm_of(alpha)),
    ],
    "rational part": [
        lambda: logarithm_of(alpha) + 1,
        lambda: growth_of(Budget.of(1)),
    ],
    "rational multiple": [
        lambda: as_budget(combined("-", alpha, 1)),
        lambda: as_budget(combined("*", eps, eps)),
        lambda: as_budget(decay),
        lambda: as_budget(combined("/", 1, decay)),
    ],
    "too large": [lambda: as_budget(combined("*", 10**6, alpha))],
    "this is no budget": [lambda: as_budget(exponential(1))],
    "no rational function": [
        lambda: exponential_of(logarithm_of(alpha) / 2),
        lambda: exponential_of(logarithm_of(combined("+", 1, decay)) / 2),
    ],
    "is not positive": [
        lambda: logarithm_of(combined("-", alpha, fmpq(1, 2))),
        lambda: logarithm_of(combined("-", alpha, 2)),
        lambda: logarithm_of(raised(combined("-", alpha, fmpq(1, 2)), 2, 10**6)),
    ],
    "depends on the value": [
        lambda: logarithm_of(alpha).compare(Budget.of(1)),
        lambda: logarithm_of(alpha).ball(64),
    ],
}


@pytest.mark.parametrize(("why", "made"), [(w, m) for w, all_ in REFUSED.items() for m in all_])
def test_what_has_no_value_is_refused(why, made):
    with pytest.raises(ParamError, match=why):
        made()


def test_a_budget_of_a_parameter_is_equal_to_none_without_one():
    depends = logarithm_of(alpha)
    for plain in (Budget.of(0), Budget.ln(2)):
        assert plain != depends
        assert depends != plain
        with pytest.raises(ParamError):
            plain.compare(depends)
    with pytest.raises(ParamError):
        depends.sign()
    assert depends == combined("*", fmpq(1, 2), combined("*", 2, depends))


def test_a_value_at_which_a_number_has_a_sign_is_an_example():
    negative, not_positive = (-1,), (-1, 0)
    assert example_where(alpha, negative) is None
    assert example_where(combined("-", 1, combined("*", 2, alpha)), negative) == "at alpha = 2/3"
    middle = combined("-", alpha, fmpq(1, 2))
    assert example_where(middle, negative) == "at alpha = 1/3"
    square = combined("*", middle, middle)
    assert example_where(square, negative) is None
    assert example_where(square, not_positive) == "at alpha = 1/2"
    assert example_where(combined("-", alpha, 2), not_positive) == "at alpha = 1/2"
    assert example_where(combined("+", 1, square), not_positive) is None


def test_a_divisor_may_be_negative_and_a_factor_of_a_budget_is_rational():
    below = combined("-", alpha, 1)
    assert combined("*", combined("/", 1, below), below) == 1
    assert combined("*", raised(below, -1, 10**6), below) == 1
    with pytest.raises(TypeError):
        logarithm_of(alpha) * 0.5
