"""Sizes far beyond memory end in a verdict, in a mistake that says so, or in a limit; quickly."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

from dpcheck.exact import divide
from dpcheck.explore.explicit.families import Families
from dpcheck.explore.explicit.layout import _Layout
from dpcheck.explore.sampling.closed_forms import geometric_clamped
from dpcheck.explore.sampling.distributions import whole_weights
from dpcheck.explore.values.codes import ValueTable
from dpcheck.explore.values.evaluate import Frame, _sum_in_parts
from dpcheck.explore.values.mistakes import MistakeFault
from dpcheck.explore.values.weights import total_of
from dpcheck.front import loads
from dpcheck.limits import LimitReached, Limits
from dpcheck.model.evaluation import Fault, apply
from dpcheck.model.expressions import Const
from dpcheck.model.program import RowsIf
from dpcheck.model.values import ArrayValue, Symbol
from dpcheck.source import SourceText, Span
from tests.checking import check_text, verdicts

PLACE = Span(SourceText("test.dpm", "text"), 0, 4)
TWO_INPUTS = """
mechanism m { input x in 0..1 adjacent all y ~ DIST output y }
check m: dp(0)
"""


@pytest.mark.parametrize("domain", ["1..10^12", "1..10^30", "-10^30..10^30"])
def test_a_universe_beyond_the_limit_is_undecided(domain):
    text = f"mechanism m {{ input x in {domain} adjacent all output 1 }} check m: dp(0)"
    report = check_text(text)
    assert verdicts(report) == ["undecided"], report
    assert "errors" not in report


@pytest.mark.parametrize("support", ["1..10^12", "1..10^30"])
def test_a_distribution_with_more_values_than_states_allowed_is_undecided(support):
    report = check_text(TWO_INPUTS.replace("DIST", f"uniform({support})"))
    assert verdicts(report) == ["undecided"], report
    report = check_text(TWO_INPUTS.replace("DIST", f"geometric(x, 1/2) clamped {support}"))
    assert verdicts(report) == ["undecided"], report


def test_a_center_far_outside_of_the_window_costs_one_power():
    report = check_text(TWO_INPUTS.replace("DIST", "geometric(10^6, 1/2) clamped 0..3"))
    assert verdicts(report) == ["holds"], report


@pytest.mark.parametrize("center", [-9, -4, -3, -2, 0, 3, 4, 5, 11])
@pytest.mark.parametrize("window", [(-3, 4), (0, 1), (4, 6)])
def test_clamped_noise_with_the_center_anywhere_has_the_defined_probabilities(center, window):
    lo, hi = window
    alpha = Fraction(2, 5)
    made = geometric_clamped(center, 2, 5, lo, hi)

    def below(z):  # P(Z <= z), from the series
        return alpha ** (center - z) / (1 + alpha) if z < center else 1 - above(z + 1)

    def above(z):  # P(Z >= z)
        return alpha ** (z - center) / (1 + alpha) if z > center else 1 - below(z - 1)

    expected = [below(lo)] + [below(z) - below(z - 1) for z in range(lo + 1, hi)] + [above(hi)]
    weights = [Fraction(w, made.denominator) for w in made.numerators.tolist()]
    assert weights == expected
    assert made.values.tolist() == list(range(lo, hi + 1))


def test_codes_of_a_range_are_its_numbers():
    assert ValueTable().codes(range(2, 6)).tolist() == [2, 3, 4, 5]
    assert ValueTable().codes(range(3, 3)).dtype == np.int64


@pytest.mark.parametrize(
    "expr",
    ["forall(i in 1..10^9 : i > 0)", "{i for i in 1..10^12}", "sum(i in x..10^30 : i)"],
)
def test_a_binder_over_more_elements_than_memory_holds_is_a_mistake(expr):
    text = f"mechanism m {{ input x in 0..1 adjacent all output {expr} }} check m: dp(0)"
    assert [error["code"] for error in check_text(text)["errors"]] == ["DP208"]


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        ("2^(10^10)", "2^10000000000 has too many digits to write down"),
        ("(1/2)^(2^40)", "(1/2)^1099511627776 has too many digits to write down"),
        ("(-3)^(2^40)", "(-3)^1099511627776 has too many digits to write down"),
        ("(2^999)^(2^99)", None),
    ],
)
def test_a_power_beyond_memory_is_named_shortly(expr, message):
    report = check_text(f"const c = {expr} check m: dp(0)")
    (error,) = [error for error in report["errors"] if error["code"] == "DP208"]
    assert len(error["message"]) < 160
    assert message is None or error["message"] == message


@pytest.mark.parametrize("family", ["s[i in 1..10^9]", "s[i in 1..10^5, j in 1..10^5]"])
def test_a_family_beyond_the_limit_is_undecided_before_it_is_listed(monkeypatch, family):
    monkeypatch.setattr(ValueTable, "codes", None)  # would list the members of an index set
    report = check_text(
        f"chain c {{ state a state {family} a -> 1: a init a }} check c: P=1 [ F a ]"
    )
    assert verdicts(report) == ["undecided"], report
    reason = report["results"][0]["reason"]
    assert reason["text"] == "more than 10000000 states"
    assert reason["option"].startswith("shrink the sets")


@pytest.mark.parametrize(
    "program",
    [
        "y ~ {v : (2/3)^(v*v) for v in 0..10000} normalized output y",
        "y := sum(v in 1..400000 : 1/(v + x)) output y",
        "y ~ binomial(60000, (1 + x)/3) output y",
    ],
)
def test_the_time_limit_is_kept_within_one_distribution_or_expression(program):
    start = time.process_time()
    text = f"mechanism m {{ input x in 0..1 adjacent all {program} }} check m: dp(0)"
    report = check_text(text, "--timeout", "0.3")
    assert time.process_time() - start < 5
    assert verdicts(report) == ["undecided"], report
    assert report["results"][0]["reason"]["option"] == "--timeout"


@pytest.mark.parametrize("work", [total_of, lambda n, t: whole_weights([0, 1], n, PLACE, t)])
def test_weights_are_added_and_brought_to_one_denominator_within_the_time_limit(work):
    numbers = [divide(1, 3), divide(2, 3)]
    work(numbers, ValueTable())
    with pytest.raises(LimitReached):
        work(numbers, ValueTable(Limits(deadline=0, timeout=1)))


def test_a_distribution_of_too_many_digits_is_refused():
    numbers = [divide(1, 3 ** (10**6)), *range(1, 20_000)]
    with pytest.raises(MistakeFault, match="too many digits"):
        whole_weights(list(range(20_000)), numbers, PLACE, ValueTable())


@pytest.mark.parametrize("values", [(1, 2), (1, True, 2), tuple(range(1000)), (), (Symbol("a"),)])
def test_a_sum_in_parts_is_the_sum(values):
    def outcome(reduce):
        try:
            return reduce(values)
        except Fault as fault:
            return fault.kind, fault.title

    whole = outcome(lambda items: apply("sum", (ArrayValue(0, items),)))
    assert outcome(lambda items: _sum_in_parts(ValueTable(), items)) == whole


def test_a_row_statement_costs_the_same_however_many_came_before():
    table = ValueTable()
    span = Span(SourceText("test.dpm", "text"), 0, 4)
    limits = Limits()
    layout = _Layout(Families({}, 0, table), table, limits)
    layout.sources.extend([np.zeros(1, np.int64)] * 100_000)
    statement = RowsIf(Const(value=False, span=span), (), (), span)
    start = time.process_time()
    layout.add([statement] * 5_000, Frame(1, {}), ())
    assert time.process_time() - start < 2


def test_states_are_found_by_number_whatever_their_families_are():
    text = "chain c { state a state b[i in 1..3, j in 0..1] state e init a }"
    chain = loads(text).target("c").chain()
    expected = ["a", *(f"b[{i}, {j}]" for i in (1, 2, 3) for j in (0, 1)), "e"]
    assert [chain.state_text(state) for state in range(8)] == expected
