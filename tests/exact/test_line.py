"""All values of a parameter: sets of them, their ends and texts, against rational values tried."""

from __future__ import annotations

import random
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import exp, isclose, log

import pytest
from flint import fmpq, fmpz_poly

from dpcheck.exact import (
    Budget,
    Param,
    add,
    decimal,
    divide,
    exponential,
    multiply,
    power,
    subtract,
)
from dpcheck.exact.line import Line, end_at, line_of, simplest
from dpcheck.exact.polynomial import ExpPolynomial
from dpcheck.exact.roots import Region, Root, complement, everywhere, rational_between
from dpcheck.intervals import ParamInterval

PARAMS = [
    Param("a", 0, 1),
    Param("a", fmpq(1, 3), fmpq(3, 4)),
    Param("a", -2, 3),
    Param("a", fmpq(5, 2), None),
    Param("a", None, fmpq(-1, 2)),
    Param("a", None, None),
]
EPS = Param("eps", 0, None)
HALVES = Line(EPS, fmpq(1, 2), is_exponential=True)


def plain(param):
    """Return the line of a parameter that is used itself."""
    return line_of(param, [], is_exponential=False)


def t_of(line, value):
    """Return the rational t of a value that is not an end, None where it is none."""
    ends = line.beside(value, (0,)).ends
    return ends[0].rational if ends else None


def at(coefficients, x):
    """Return Σ c_i x^i."""
    return reduce(lambda found, c: add(multiply(found, x), c), reversed(coefficients), 0)


def values_of(param, draw, n=12):
    """Return rational values strictly inside of an interval."""
    low = param.low if param.low is not None else (param.high or 3) - 6
    high = param.high if param.high is not None else low + 6
    return [low + (fmpq(high) - low) * fmpq(draw.randint(1, 119), 120) for _ in range(n)]


def functions_of(param, draw, n=12):
    """Yield coefficients of polynomials, of which many have roots inside of an interval."""
    for _ in range(n):
        inside = values_of(param, draw, 2)
        square = fmpz_poly(
            [-(int(inside[1].p) ** 2) * 2, 0, int(inside[1].q) ** 2 * draw.randint(1, 3)]
        )
        linear = fmpz_poly([-inside[0].p, inside[0].q])
        found = draw.choice([square, linear, linear * square, linear**2])
        yield [int(c) for c in (found * draw.choice([-1, 1])).coeffs()]


def fraction(x):
    """Return a rational number as one of Python's."""
    return Fraction(int(fmpq(x).p), int(fmpq(x).q))


def contains(interval, x):
    """Return whether an interval with rational ends, or irrational ones by digits, has a value."""
    for end, is_low in ((interval.low, True), (interval.high, False)):
        if end.exact in ("inf", "-inf"):
            assert end.is_open
            continue
        place = Fraction(end.decimal if end.exact is None else end.exact)
        assert abs(place - Fraction(end.decimal)) <= abs(place) / 10**16
        if (x < place) if is_low else (x > place):
            return False
        if x == place and end.is_open:
            return False
    return True


@pytest.mark.parametrize("param", PARAMS, ids=lambda param: param.text)
def test_sets_of_values_are_those_where_a_function_has_a_sign(param):
    draw, line = random.Random(1), plain(param)
    for coefficients in functions_of(param, draw):
        number = divide(at(coefficients, param.stand_in), 7)
        assert line.polynomials(number)[1].degree() >= 0
        for signs in ((-1,), (0, 1), (0,)):
            region = line.where(number, signs)
            intervals = line.intervals(region)
            ends = [
                Fraction(end.decimal)
                for each in intervals
                for end in (each.low, each.high)
                if end.exact not in ("inf", "-inf")
            ]
            assert ends == sorted(ends)
            roots = [fmpq(-coefficients[0], coefficients[1])] if len(coefficients) == 2 else []
            for x in [*values_of(param, draw), *roots]:
                value = at(coefficients, x)
                sign = (value > 0) - (value < 0)
                assert line.value_at(t_of(line, x)) == x
                assert any(contains(each, fraction(x)) for each in intervals) == (sign in signs)
            for root in region.ends:
                x = line.value_of(line.of_param(root))
                assert x is None or at(coefficients, x) == 0
            for each in intervals:
                for end in (each.low, each.high):
                    if end.equation is not None:
                        assert end.equation[0] != "-"
                        shown = end.equation.replace("^", "**")
                        root = Fraction(end.decimal)
                        tiny = Fraction(1, 10**15)
                        below, above = (eval(shown, {"a": root + d}) for d in (-tiny, tiny))
                        assert below * above < 0


@pytest.mark.parametrize("param", PARAMS, ids=lambda param: param.text)
def test_functions_and_their_texts_have_the_values_of_what_they_are_made_of(param):
    draw, line = random.Random(2), plain(param)
    for above, other in zip(functions_of(param, draw), functions_of(param, draw), strict=True):
        below = [int(c) for c in (fmpz_poly(other) ** 2 + 1).coeffs()]  # 0 nowhere
        number = divide(at(above, param.stand_in), at(below, param.stand_in))
        for one in (1, -1):
            _, under = line.polynomials(divide(1, multiply(one, at(below, param.stand_in))))
            assert all(under(t_of(line, x)) > 0 for x in values_of(param, draw, 3))
        n, d = line.function(*line.polynomials(number))
        assert n.gcd(d).is_one()
        assert d(line.somewhere) > 0
        for x in values_of(param, draw, 5):
            wanted = fmpq(at(above, x)) / at(below, x)
            assert fmpq(n(x)) / d(x) == wanted
            shown = eval(line.text(number).replace("^", "**"), {"a": fraction(x)})
            assert shown == fraction(wanted)
            if wanted > 0:
                text = line.logarithm_text(*line.polynomials(number)).replace("^", "**")
                assert isclose(
                    eval(text, {"a": float(fraction(x)), "ln": log}), log(wanted), abs_tol=1e-9
                )


@pytest.mark.parametrize("param", PARAMS, ids=lambda param: param.text)
def test_common_factors_change_no_function(param):
    line, (above, below) = plain(param), (fmpz_poly([-3, 1]), fmpz_poly([1, 2]))
    n, d = line.function(above, below)
    for factor in (fmpz_poly([-1, 1]), fmpz_poly([1, 1]), fmpz_poly([-1, 3]), -below):
        assert line.function(above * factor, below * factor) == (n, d)
        assert d(line.somewhere) > 0
    assert param.low is None or param.low < line.somewhere
    assert param.high is None or line.somewhere < param.high


def test_texts_are_as_short_as_people_write_them():
    line = plain(Param("a", 0, 1))
    texts = {
        (0, 1): "a",
        (0, -1): "-a",
        (0, 0, 3): "3*a^2",
        (1, -1): "1 - a",
        (-1, 1): "a - 1",
        (-2, 0, -1): "-a^2 - 2",
        (4,): "4",
        (): "0",
    }
    for coefficients, text in texts.items():
        assert line.polynomial_text(fmpz_poly(list(coefficients))) == text
    t = Param("a", 0, 1).stand_in
    assert line.text(divide(1, t)) == "1/a"
    assert line.text(divide(t, add(t, 1))) == "a/(a + 1)"
    assert line.text(divide(add(t, 1), 2)) == "(a + 1)/2"
    assert line.text(divide(1, multiply(2, t))) == "1/(2*a)"
    assert line.logarithm_text(fmpz_poly([3]), fmpz_poly([3])) == "0"
    assert line.logarithm_text(fmpz_poly([1]), fmpz_poly([0, 1])) == "ln(a)"
    up = HALVES.polynomial_text(fmpz_poly([2, -1, 0, 1, 5]))
    assert up == "5*exp(2*eps) + exp(3*eps/2) - exp(eps/2) + 2"
    assert HALVES.logarithm_text(fmpz_poly([0, 0, 1]), fmpz_poly([1])) == "eps"
    assert HALVES.logarithm_text(fmpz_poly([0, 0, 2]), fmpz_poly([1])) == "ln(2*exp(eps))"
    assert HALVES.logarithm_text(fmpz_poly([1]), fmpz_poly([0, 1])) == "ln(1/exp(eps/2))"


@pytest.mark.parametrize("param", PARAMS, ids=lambda param: param.text)
def test_the_simplest_value_of_a_set_has_the_least_denominator(param):
    draw, line = random.Random(3), plain(param)
    for coefficients in functions_of(param, draw):
        number = at(coefficients, param.stand_in)
        for signs in ((-1,), (0, 1)):
            region = line.where(number, signs)
            found = line.simplest(region)
            intervals = line.intervals(region)
            if found is None:
                assert all(each.low.exact is None for each in intervals)
                continue
            assert any(contains(each, fraction(found)) for each in intervals)
            place = f"at a = {fraction(found)}"
            assert line.example_text(region) == place
            for q in range(1, min(9, int(fmpq(found).q))):
                for p in range(-8 * q, 8 * q):
                    assert not any(contains(each, Fraction(p, q)) for each in intervals)


@pytest.mark.parametrize(
    ("param", "square", "equation"),
    [
        (Param("a", 0, fmpq(1, 2)), fmpq(1, 8), "8*a^2 - 1"),
        (Param("a", 0, 2), fmpq(1, 2), "2*a^2 - 1"),
        (Param("a", fmpq(5, 2), None), fmpq(10), "a^2 - 10"),
    ],
)
def test_the_equation_of_an_end_has_no_common_factor(param, square, equation):
    value = param.stand_in
    line = plain(param)
    (interval,) = line.intervals(line.where(add(multiply(value, value), -square), (-1,)))
    assert interval.high.equation == equation


def test_digits_of_an_end_are_rounded_after_it_is_known_well_enough():
    middle = fmpq(500_000_000_000_000_005, 10**18)
    for tiny, text in ((fmpq(1, 10**30), "0.50000000000000001"), (fmpq(-1, 10**30), "0.5")):
        line = plain(Param("a", 0, 1))
        square = multiply(line.param.stand_in, line.param.stand_in)
        region = line.where(add(square, -(middle**2) - tiny), (0,))
        assert line.intervals(region)[0].low.decimal == text


def test_whole_numbers_are_polynomials_on_the_line():
    power = ExpPolynomial.exp(fmpq(3, 2)) + 4
    assert HALVES.polynomial(power) == fmpz_poly([4, 0, 0, 1])
    assert HALVES.polynomial(4) == fmpz_poly([4])


def test_a_set_of_irrational_values_shows_digits():
    line = plain(Param("a", 0, 1))
    half = add(multiply(2, multiply(line.param.stand_in, line.param.stand_in)), -1)
    region = line.where(half, (0,))
    assert line.simplest(region) is None
    assert line.example_text(region) == "at a = 0.70710678118654752..."
    assert line.value_of(line.of_param(region.ends[0])) is None


def test_functions_at_an_irrational_value_are_polynomials_of_least_degree():
    line = plain(Param("a", 0, 1))
    a = line.param.stand_in
    (root,) = line.where(add(multiply(2, multiply(a, a)), -1), (0,)).ends
    here = line.at_root(root)
    third = divide(1, add(multiply(a, multiply(a, a)), 1))  # 1/(a^3 + 1), a^3 = a/2 there
    assert here.text(third) == "(8 - 4*a)/7"  # (8 - 4a) (1 + a/2) = 8 - 2a^2 = 7
    assert here.logarithm_text(*line.polynomials(multiply(2, multiply(a, a)))) == "0"
    assert line.text(third) == "1/(a^3 + 1)"


def test_ends_are_closed_open_or_infinite():
    line = plain(Param("a", 0, None))
    square = add(multiply(line.param.stand_in, line.param.stand_in), -2)
    texts = {
        signs: [each.text for each in line.intervals(line.where(square, signs))]
        for signs in ((-1,), (1,), (-1, 0), (0, 1))
    }
    assert texts == {
        (-1,): ["(0, 1.41421)"],
        (1,): ["(1.41421, inf)"],
        (-1, 0): ["(0, 1.41421]"],
        (0, 1): ["[1.41421, inf)"],
    }
    below = plain(PARAMS[-2])
    assert [each.text for each in below.intervals(below.where(1, (1,)))] == ["(-inf, -1/2)"]


def test_an_interval_around_an_irrational_exponent_has_rational_ends():
    number = at([-1, -1, 1], exponential(fmpq(1, 2)))
    (root,) = HALVES.where(number, (0,)).ends
    around = HALVES.only(root, [number])
    golden = (1 + 5**0.5) / 2
    assert around.is_single
    assert fraction(around.low) < 2 * log(golden) < fraction(around.high)


@pytest.mark.parametrize(
    ("param", "square"),
    [
        (Param("a", 0, 1), fmpq(1, 2)),
        (Param("a", fmpq(7, 10), fmpq(177, 250)), fmpq(1, 2)),
        (Param("a", fmpq(70710678, 10**8), fmpq(70710679, 10**8)), fmpq(1, 2)),
        (Param("a", fmpq(1414, 1000), None), fmpq(2)),
        (Param("a", None, fmpq(-1414, 1000)), fmpq(2)),
    ],
)
def test_an_interval_around_an_irrational_value_lies_in_the_set(param, square):
    line = plain(param)
    number = add(multiply(param.stand_in, param.stand_in), -square)
    (root,) = line.where(number, (0,)).ends
    around = line.only(root, [number])
    below, above = fraction(around.low), fraction(around.high)
    assert (around.has_low, around.has_high, around.is_single) == (False, False, True)
    assert param.low is None or fraction(param.low) < below
    assert param.high is None or above < fraction(param.high)
    order = 1 if below > 0 else -1
    assert order * below**2 < order * fraction(square) < order * above**2


def exponents(region):
    """Return the ends of the intervals of a set of eps, as floats."""
    return [
        (float(each.low.decimal), float(each.high.decimal)) for each in HALVES.intervals(region)
    ]


@pytest.mark.parametrize(
    ("coefficients", "signs"),
    [
        ([-2, 1], (-1,)),
        ([-2, 1], (1,)),
        ([-2, 1], (0,)),
        ([6, -5, 1], (-1, 0)),
        ([-2, 0, 1], (-1,)),
        ([-1000001, 1000000], (-1,)),
        ([-1, -1, 1], (1,)),
        ([-(10**12), 1], (1,)),
    ],
)
def test_sets_of_exponents_have_logarithms_as_ends(coefficients, signs):
    t = exponential(fmpq(1, 2))
    region = HALVES.where(at(coefficients, t), signs)
    found = HALVES.simplest(region)  # before digits are asked for, which narrow the ends
    known = exponents(region)
    for k in range(1, 400):
        x = k * known[0][1] / 200 if k < 200 and signs == (-1,) else k / 7
        value = sum(c * exp(x / 2) ** i for i, c in enumerate(coefficients))
        if abs(value) > 1e-6:
            sign = 1 if value > 0 else -1
            assert any(low < x < high for low, high in known) == (sign in signs)
    assert HALVES.example_text(region) == f"at eps = {HALVES.intervals(region)[0].low.exact}" or (
        isinstance(found, int | fmpq)
    )
    if signs == (0,):
        assert found == 2 * Budget.ln(2)
        return
    low, high = known[0]
    assert low < float(fraction(found)) < high
    for q in range(1, min(40, int(fmpq(found).q))):
        assert not any(low < p / q < high for p in range(min(400, int(high * q) + 2)) if high < 300)
    chosen = HALVES.simplest(region, at_logarithms=True)
    assert low < float(chosen.ball(64)) < high
    assert t_of(HALVES, chosen) is not None


def test_the_simplest_value_lies_beyond_an_end_that_is_known_roughly():
    line = plain(Param("a", 0, None))
    square = multiply(line.param.stand_in, line.param.stand_in)
    assert line.simplest(line.where(add(square, -2), (1,))) == 2
    assert line.simplest(line.where(add(square, -2), (-1,))) == 1
    assert line.simplest(line.where(add(square, fmpq(-1, 2)), (-1,))) == fmpq(1, 2)


@pytest.mark.parametrize(("step", "sign", "value"), [(1, 1, 2), (0, -1, fmpq(1, 2))])
def test_the_simplest_exponent_is_not_taken_for_a_logarithm_next_to_it(step, sign, value):
    exact = Context(prec=60)
    near = fmpq(int(exact.scaleb(exact.exp(Decimal("0.5")), 40)) + step, 10**40)
    region = HALVES.where(add(exponential(fmpq(1, 2)), -near), (sign,))
    assert HALVES.simplest(region) == value


def test_values_of_exponents_go_to_the_line_and_back():
    assert t_of(HALVES, Budget.ln(9)) == 3
    assert t_of(HALVES, 0) is None
    assert t_of(HALVES, 1) is None
    assert HALVES.value_of(Root.of(3)) == Budget.ln(9)
    end = end_at(Budget.ln(9))
    assert (end.exact, end.is_open) == ("ln(9)", False)
    end = end_at(2)
    assert (end.exact, end.decimal, end.is_open) == ("2", "2", False)
    (whole,) = HALVES.intervals(complement(HALVES.where(1, (0,))))
    assert whole.text == "(0, inf)"
    golden = HALVES.where(at([-1, -1, 1], exponential(fmpq(1, 2))), (0,))
    (single,) = HALVES.intervals(golden)
    assert isinstance(single, ParamInterval)
    assert isclose(float(single.low.decimal), 2 * log((1 + 5**0.5) / 2))
    assert single.low.equation == "exp(eps) - exp(eps/2) - 1"


def test_the_ends_of_a_parameter_go_to_those_of_the_line():
    for param in PARAMS[:-1]:
        line = plain(param)
        for end in param.ends:
            t = None if end is None else t_of(line, end)
            assert t in (None, 1)
        one_side = param.low is None or param.high is None
        assert line.value_at(fmpq(1)) == (param.low if param.high is None else param.high)
        assert one_side or t_of(line, param.low) is None


@pytest.mark.parametrize("param", [Param("a", None, 0), Param("a", -2, fmpq(-1, 3))])
@pytest.mark.parametrize("below", [[0, -2], [0, 0, 3], [0, -1], [0, 0, 0, -1], [5]])
def test_texts_of_quotients_by_one_term_have_their_values(param, below):
    number = divide(at([1, 1], param.stand_in), at(below, param.stand_in))
    text = plain(param).text(number).replace("^", "**")
    x = Fraction(-7, 9)
    assert eval(text, {"a": x}) == (1 + x) / sum(c * x**i for i, c in enumerate(below))


@pytest.mark.parametrize(
    ("power", "constant", "exact"),
    [(2, 3, "ln(3)"), (1, 2, "ln(4)"), (6, 2, "1/3*ln(2)"), (3, 8, "ln(4)")],
)
def test_ends_at_powers_that_are_rational_are_logarithms(power, constant, exact):
    """t is exp(eps/2), and t^6 = 2 at eps = ln(2)/3."""
    equation = add(exponential(fmpq(power, 2)), -constant)
    (interval,) = HALVES.intervals(HALVES.where(equation, (1,)))
    assert (interval.low.exact, interval.high.exact) == (exact, "inf")
    assert isclose(float(Decimal(interval.low.decimal)), 2 * log(constant) / power)


def test_the_unit_of_a_line_divides_those_of_its_numbers():
    numbers = [exponential(fmpq(1, 2)), exponential(fmpq(2, 3)), 5]
    line = line_of(EPS, numbers, is_exponential=True)
    assert (line.unit, line.is_exponential) == (fmpq(1, 6), True)
    for number in numbers:
        above, below = line.polynomials(number)
        assert isclose(
            float(fraction(above(fmpq(2)) / fmpq(below(fmpq(2))))),
            {0: 2**3, 1: 2**4, 2: 5}[numbers.index(number)],
        )
    assert line_of(EPS, [], is_exponential=True).unit == 1


def test_among_values_a_rational_one_with_the_least_denominator_is_simplest():
    assert simplest([Budget.ln(2), fmpq(1, 2), fmpq(-3), fmpq(2)]) == 2
    assert isinstance(simplest([fmpq(2)]), int)
    assert simplest([fmpq(3, 2), fmpq(1, 2)]) == fmpq(1, 2)
    assert simplest([Budget.ln(2)]) == Budget.ln(2)
    assert simplest([]) is None
    assert rational_between(fmpq(0), None) == 1


@pytest.mark.parametrize("param", [p for p in PARAMS if p.ends != (None, None)])
def test_what_stands_for_values_beside_irrational_ones_is_one_of_them(param):
    """Values with a^2 < 1/5, a^2 > 1/5 and the like, within the interval."""
    line = plain(param)
    for square in (fmpq(1, 5), fmpq(1, 2), 7, 30):
        t = line.where(subtract(power(param.stand_in, 2), square), (0,)).ends
        for low, high in pairwise([None, *t, None]):
            cell = line.within(low, high)
            own = plain(cell)
            inside = own.where(subtract(power(cell.stand_in, 2), square), (0,))
            assert inside.is_empty
            known = Line.intervals(line, cell_of(line, t, low))
            assert [each.text for each in known] == [
                each.text for each in own.intervals(everywhere(True, own.low, own.high))
            ]
            first, last = (Decimal(end.decimal) for end in (known[0].low, known[0].high))
            assert first < Decimal(decimal(cell.stand_in)) < last


def cell_of(line, ends, low):
    """Return the gap of the line above one of some ends, None for the first gap."""
    k = 0 if low is None else 1 + [end.compare(low) for end in ends].index(0)
    truths = tuple(place == 2 * k for place in range(2 * len(ends) + 1))
    return Region(line.low, line.high, tuple(ends), truths)


def test_an_irrational_end_is_one_on_every_line_of_an_exponential():
    """With t = e^eps, e^(eps/2), and where the parameter is below 0."""
    for low, high, sign in ((0, None, 1), (None, 0, -1)):
        param = Param("eps", low, high)
        number = exponential(param.exponent * sign)
        line = line_of(param, [number], is_exponential=True)
        (t,) = line.where(subtract(power(number, 2), add(number, 1)), (0,)).ends
        cell = line.within(t, None)
        own = exponential(cell.exponent * fmpq(sign, 2))
        for each in (
            line_of(cell, [own], is_exponential=True),
            line_of(cell, [], is_exponential=True),
        ):
            (interval,) = each.intervals(everywhere(True, each.low, each.high))
            ends = [float(end.decimal) for end in (interval.low, interval.high)]
            golden = log((1 + 5**0.5) / 2)
            assert isclose(ends[0] if sign > 0 else -ends[1], golden)
