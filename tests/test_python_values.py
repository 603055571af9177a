"""Answers and amounts in Python: printed, shown in notebooks, compared exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dpcheck
from dpcheck.check.values.verdicts import Amount
from dpcheck.exact import Budget


def test_an_answer_prints_its_report_and_is_true_as_its_claim_came_out():
    survey = dpcheck.mechanisms.survey()
    good, bad = survey.check("dp(ln 3)"), survey.check("dp(ln 2)")
    assert good
    assert not bad
    assert str(bad).splitlines()[1].strip().startswith("✗ check   dp(ln 2)  violated")
    assert "3/4 <= 2 * 1/4" in str(bad)
    shown = bad._repr_html_()
    assert shown.startswith("<article")
    assert "3/4 &lt;= 2 * 1/4" in shown
    assert survey.answer("dp(ln 2)", kind="refute")


def test_amounts_compare_with_numbers_and_budgets_exactly():
    epsilon = dpcheck.mechanisms.survey(truth=Fraction(4, 5)).epsilon()
    assert epsilon == "2 * ln 2"
    assert epsilon == Budget.ln(4)
    assert Budget.ln(4) == epsilon
    assert epsilon < Fraction(13863, 10000)
    assert epsilon > 1
    assert epsilon != float(epsilon)
    assert float(epsilon) == pytest.approx(1.3862943611)
    delta = dpcheck.mechanisms.survey().delta("ln 2")
    assert delta == Fraction(1, 4) == delta
    assert delta == 0.25
    assert delta <= 0.25 <= delta
    assert delta.fraction == Fraction(1, 4)
    assert {delta: 1}[Fraction(1, 4)] == 1
    tenth = Amount("1/10", "0.1")
    assert tenth < 0.1  # the float is a little more
    assert Amount("inf", "inf") > 10**9


def test_what_an_enclosure_leaves_open_is_said():
    known = Amount("in [0.1, 0.2]", "0.2", enclosure=("0.1", "0.2"))
    assert known < 1
    assert known > 0
    assert known != Fraction(3, 20)
    with pytest.raises(ValueError, match="cannot be told apart"):
        assert known < Fraction(3, 20)
    with pytest.raises(ValueError, match="not known to be rational"):
        _ = known.fraction


COIN = """
param p in (0, 1)
mechanism coin(truth = 3/4) {
  input x in {0, 1}
  adjacent all
  y ~ {x: truth, 1 - x: 1 - truth}
  z ~ {x: 3/4, 1 - x: 1/4}
  output (SHOWN)
}
"""


def test_what_depends_on_a_parameter_is_no_number_and_says_so():
    coin = dpcheck.loads(COIN.replace("SHOWN", "y, 0")).target("coin", truth="p")
    probability = coin.value("P=? [ X output = (0, 0) ]", at="x = 0")
    assert probability == "p"
    assert probability.exact == "p"
    assert str(probability.sympy()) == "p"
    assert hash(probability) == hash("p")
    for use in (float, lambda value: value < 1, lambda value: value.fraction):
        with pytest.raises(ValueError, match=r"depends on `p`.*`load\(path, p=...\)`"):
            use(probability)
    assert probability != 1
    assert probability != "1 - p"
    with pytest.raises(ValueError, match="depends on `p`"):
        coin.epsilon().sympy()


def test_what_is_one_number_for_all_values_of_a_parameter_is_a_number():
    coin = dpcheck.loads(COIN.replace("SHOWN", "z, 0")).target("coin", truth="p")
    assert coin.epsilon() == "ln 3"
    assert float(coin.epsilon()) == pytest.approx(1.0986122886681098)
    assert coin.epsilon().exp == "3"
    assert coin.delta(0).fraction == Fraction(1, 2)
    hidden = dpcheck.loads(COIN.replace("SHOWN", "0, 0")).target("coin", truth="p")
    assert hidden.epsilon().exact == "0"
