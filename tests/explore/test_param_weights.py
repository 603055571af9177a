"""Weights that depend on a parameter: what is proved of them before their values are forgotten."""

from __future__ import annotations

import pytest
from flint import fmpq

from dpcheck.diagnostics.params import ParamAsValue, WeightOutsideUnit
from dpcheck.exact import Budget, Param, ParamNumber, exponential
from dpcheck.exact.parametric import combined, exponential_of
from dpcheck.explore.values.codes import ValueTable
from dpcheck.explore.values.mistakes import MistakeFault
from dpcheck.explore.values.weights import are_positive, sum_for_some_values, weight_value
from dpcheck.source import SourceText, Span

PLACE = Span(SourceText("m.dpm", "{0: p, 1: 1 - p}"), 4, 5)
P = Param("p", 0, 1)
p = ParamNumber(P.stand_in, P)
rest = combined("-", 1, p)
middle = combined("-", p, fmpq(1, 2))
square = combined("*", middle, middle)
eps = ParamNumber(Param("eps", 0, None).stand_in, Param("eps", 0, None))


def refused(value, table=None, **how):
    """Return the mistake of a value that is no weight."""
    with pytest.raises(MistakeFault) as found:
        weight_value(value, PLACE, ValueTable() if table is None else table, **how)
    return found.value.mistake


def test_a_weight_loses_its_parameter_and_the_table_keeps_it():
    table = ValueTable()
    assert weight_value(p, PLACE, table) == p.value
    assert weight_value(rest, PLACE, table) == rest.value
    assert table.weights.param == (P, False)
    assert not table.weights.has_exp
    assert not table.weights.vanishing
    for value in (1, fmpq(1, 3), True, Budget.ln(2)):
        assert weight_value(value, PLACE, ValueTable()) is value


@pytest.mark.parametrize(
    ("value", "how", "wrong", "place"),
    [
        (combined("*", 2, p), {}, "no probability", "at p = 2/3"),
        (middle, {}, "no probability", "at p = 1/3"),
        (middle, {"has_top": False}, "negative", "at p = 1/3"),
        (square, {"is_strict": True}, "not strictly between 0 and 1", "at p = 1/2"),
        (
            combined("-", 1, square),
            {"is_strict": True},
            "not strictly between 0 and 1",
            "at p = 1/2",
        ),
    ],
)
def test_a_weight_that_is_none_for_some_value_says_which(value, how, wrong, place):
    mistake = refused(value, **how)
    assert isinstance(mistake, WeightOutsideUnit)
    assert (mistake.wrong, mistake.place, mistake.span) == (wrong, place, PLACE)
    assert mistake.run == ()


def test_weights_that_vanish_are_kept_where_they_change_the_runs():
    table = ValueTable()
    weight_value(square, PLACE, table)
    weight_value(square, PLACE, table)
    weight_value(combined("-", 1, square), PLACE, table)
    weight_value(p, PLACE, table)
    assert list(table.weights.vanishing) == [square.value]
    powers = ValueTable()
    half = exponential_of(combined("*", fmpq(-1, 2), eps))
    weight_value(half, PLACE, powers)
    twice = combined("-", combined("*", 2, half), 1)
    weight_value(combined("*", twice, twice), PLACE, powers)
    assert list(powers.weights.vanishing) == [combined("*", twice, twice).value]
    relative = ValueTable()
    weight_value(combined("-", 1, square), PLACE, relative, has_top=False)
    weight_value(combined("+", 1, p), PLACE, relative, has_top=False)
    assert not relative.weights.vanishing
    weight_value(square, PLACE, relative, has_top=False)
    assert list(relative.weights.vanishing) == [square.value]


def test_one_parameter_stands_alone_in_the_weights_of_a_target():
    for first, second, why in (
        (p, exponential_of(combined("*", -1, eps)), "beside another"),
        (
            combined("/", eps, combined("+", 1, eps)),
            exponential_of(-eps_budget()),
            "beside another",
        ),
        (exponential(-1), p, "`exp` of a number stands beside `p`"),
        (p, exponential(-1), "`exp` of a number stands beside `p`"),
    ):
        table = ValueTable()
        weight_value(first, PLACE, table)
        mistake = refused(second, table)
        assert isinstance(mistake, ParamAsValue)
        assert why in mistake.title
        assert (mistake.span, mistake.run) == (PLACE, ())
    table = ValueTable()
    weight_value(exponential(-1), PLACE, table)
    assert weight_value(exponential(-2), PLACE, table) == exponential(-2)
    assert weight_value(fmpq(1, 2), PLACE, table) == fmpq(1, 2)


def eps_budget():
    """Return ε as a budget."""
    return combined("*", 1, combined("+", eps, Budget.of(0)))


def test_numbers_are_positive_where_they_are_for_all_values():
    numbers = [p.value, square.value, middle.value, -p.value, combined("-", 2, p).value, 3]
    table = ValueTable()
    assert list(are_positive(numbers, table)) == [True, True, False, False, True, True]
    weight_value(p, PLACE, table)
    assert list(are_positive(numbers, table)) == [True, False, False, False, True, True]
    assert list(are_positive([0, -1], ValueTable())) == [False, False]
    powers, decay = ValueTable(), exponential_of(combined("*", fmpq(-1, 3), eps))
    weight_value(decay, PLACE, powers)
    numbers = [decay.value, combined("-", combined("*", 2, decay), 1).value]
    assert list(are_positive(numbers, powers)) == [True, False]


def test_a_sum_of_weights_that_is_not_1_says_for_which_value():
    table = ValueTable()
    weight_value(p, PLACE, table)
    for total, text, place in (
        (combined("*", 2, p), "2*p", "at p = 1/3"),
        (combined("+", p, fmpq(1, 2)), "(2*p + 1)/2", "at p = 1/3"),
        (combined("+", p, 1), "p + 1", "at p = 1/2"),
    ):
        mistake = sum_for_some_values(total.value, PLACE, table)
        assert mistake.title == f"the sum of these weights, {text}, is not 1 {place}"
        assert (mistake.span, mistake.run) == (PLACE, ())
