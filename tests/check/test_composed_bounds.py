"""Claims about compositions decided by bounds: as exact composition decides them, or undecided."""

from __future__ import annotations

from itertools import product
from math import expm1, log, log1p, prod
from random import Random

import pytest
from flint import fmpq

from dpcheck.certify.scores import certify_score_event
from dpcheck.exact import Budget, number, subtract
from dpcheck.limits import Limits
from dpcheck.privacy.composition import is_short
from dpcheck.privacy.losses import LossDistribution
from tests.checking import check_text, verdicts

MIX = """
mechanism mix {
  input x in 0..1
  adjacent all
  w ~ bernoulli(1/2)
  y ~ bernoulli(if w then (if x = 1 then 11/20 else 9/20) else (if x = 1 then 13/25 else 12/25))
  output (w, y)
}
mechanism noise {
  input x in 0..3
  adjacent abs(x - x') <= 1
  y ~ geometric(x, exp(-1/10)) clamped 0..3
  output y
}
mechanism leak {
  input x in 0..1
  adjacent all
  y ~ if x = 1 then {a: 1/50, b: 1/2, c: 12/25} else {b: 2/5, c: 3/5}
  output y
}
"""

TARGETS = ["compose(mix, 7)", "compose(noise, 5)", "compose(leak, 4)", "compose(mix, 5, leak, 2)"]
QUANTITIES = ["epsilon", "epsilon(1/100)", "epsilon(1/5)", "delta(1/3)", "delta(ln 2)", "delta(20)"]
ON_GRID = ["loss_tail(1/3)", "loss_tail(20)", "tradeoff(0)", "tradeoff(1/50)", "tradeoff(9/10)"]
OTHERS = ["total_variation", "renyi(2)"]


@pytest.fixture
def bounds_only(monkeypatch):
    """Let no composition be short enough to be composed exactly."""

    def choose(chosen):
        monkeypatch.setattr("dpcheck.check.arrangements.is_short", lambda parts: not chosen)

    return choose


def values_of(target, quantities):
    text = MIX + "\n".join(f"compute {target}: {quantity}" for quantity in quantities)
    return [result["value"] for result in check_text(text)["results"]]


@pytest.mark.parametrize("target", TARGETS)
def test_bounds_enclose_the_exact_values(target, bounds_only):
    bounds_only(False)
    exact = values_of(target, QUANTITIES + OTHERS)
    bounds_only(True)
    found = values_of(target, QUANTITIES + OTHERS)
    for one, other in zip(exact, found, strict=True):
        value = float(one["decimal"])
        low, high = map(float, other.get("enclosure", [other["decimal"]] * 2))
        assert low * (1 - 1e-13) <= value <= high * (1 + 1e-13)
        assert high == low or high - low <= 3.1e-4 * high


@pytest.mark.parametrize("target", ["compose(leak, 4)", "compose(mix, 2, leak, 2)"])
def test_loss_tails_and_errors_of_tests_are_enclosed(target, bounds_only, monkeypatch):
    monkeypatch.setattr("dpcheck.check.quantities.grid_bounds.MAX_POINTS", 1 << 12)
    claims = [
        f"{quantity} {comparison}"
        for quantity in ON_GRID[:1] + ON_GRID[3:]
        for comparison in ("<= 99/100", "> 1/1000", ">= 99/100", "< 1/1000")
    ]
    text = MIX + "\n".join(f"check {target}: {claim}" for claim in claims)
    bounds_only(False)
    exact = values_of(target, ON_GRID)
    verdicts = [result["verdict"] for result in check_text(text)["results"]]
    bounds_only(True)
    assert [result["verdict"] for result in check_text(text)["results"]] == verdicts
    for one, other in zip(exact, values_of(target, ON_GRID), strict=True):
        value = float(one["decimal"])
        low, high = map(float, other.get("enclosure", [other["decimal"]] * 2))
        assert low * (1 - 1e-13) <= value <= high * (1 + 1e-13)
        assert high - low <= 0.1


@pytest.mark.parametrize("word", ["profile", "tradeoff", "losses"])
def test_tables_of_long_compositions_enclose_what_is_asked_alone(word, bounds_only):
    bounds_only(True)
    one = {"profile": "delta", "tradeoff": "tradeoff", "losses": "loss_tail"}[word]
    (table,) = check_text(MIX + f"compute compose(mix, 7): {word}")["results"]
    rows = table["table"]["rows"][1:6:2]
    places = [row[0]["exact"] for row in rows]
    bounds_only(False)
    values = values_of("compose(mix, 7)", [f"{one}({place})" for place in places])
    for (_, low, high, *names), value in zip(rows, values, strict=True):
        assert float(low["decimal"]) <= float(value["decimal"]) <= float(high["decimal"])
        assert float(high["decimal"]) - float(low["decimal"]) < (0.1 if word == "losses" else 1e-2)
        assert sorted(names) == ["x = 0", "x = 1"]


@pytest.mark.parametrize("target", TARGETS)
def test_claims_are_decided_as_exact_composition_decides_them(target, bounds_only):
    bounds_only(False)
    delta, epsilon = (
        float(v["decimal"]) for v in values_of(target, ["delta(1/3)", "epsilon(1/5)"])
    )
    claims = [
        claim
        for scale in (0.5, 0.99, 1.01, 1.5)
        for claim in (
            f"dp(1/3, {scale * delta:.12f})",
            f"dp({scale * epsilon:.12f}, 1/5)",
            f"delta(1/3) >= {scale * delta:.12f}",
            f"epsilon(1/5) < {scale * epsilon:.12f}",
            f"epsilon(1/5) = {scale * epsilon:.12f}",
        )
    ] + ["dp(1)", "dp(5)", "epsilon <= -1", "epsilon = inf", "epsilon(1/100) < inf"]
    text = MIX + "\n".join(f"check {target}: {claim}" for claim in claims)
    exact = [result["verdict"] for result in check_text(text)["results"]]
    assert len(exact) == len(claims)
    bounds_only(True)
    assert [result["verdict"] for result in check_text(text)["results"]] == exact


def test_a_tight_claim_is_undecided_and_says_what_is_known():
    text = MIX + "check compose(mix, 400): delta(0) <= total_variation"
    (result,) = check_text(text)["results"]
    assert result["verdict"] == "undecided"
    assert "no enclosure separates" in result["reason"]["text"]


def test_a_bound_that_every_chance_keeps_is_decided_at_the_end_of_an_enclosure():
    step = """
mechanism step {
  input x in 0..1
  adjacent all
  y ~ {a: 1/(3 + x), b: 1/(4 + 2 * x), c: 1 - 1/(3 + x) - 1/(4 + 2 * x)}
  output y
}
"""
    claims = "delta(0) <= 1", "dp(0, 1)", "tradeoff(1/2) >= 0", "delta(0) < 1", "tradeoff(1/2) > 0"
    text = step + "\n".join(f"check compose(step, 60000): {claim}" for claim in claims)
    assert verdicts(check_text(text)) == ["holds"] * 3 + ["undecided"] * 2


def test_long_compositions_are_decided_with_an_event_that_is_checked_again():
    text = (
        MIX
        + """
    check   compose(mix, 400): dp(10, 1e-5)
    check   compose(mix, 400): dp(30, 1e-5)
    compute compose(mix, 400): epsilon(1e-5)
    compute compose(mix, 400): posterior_max(1/2)
    check   compose(mix, 400): dp(100)
    check   compose(mix, 400): dp(10)
    """
    )
    bad, good, value, table, pure, impure = check_text(text)["results"]
    assert [bad["verdict"], good["verdict"], pure["verdict"]] == ["violated", "holds", "holds"]
    assert "add up to at least" in bad["counterexample"]["event"][0]
    p, q = map(float, bad["counterexample"]["decimals"])
    assert p > 2.718281828459045**10 * q + 1e-5
    low, high = map(float, value["value"]["enclosure"])
    assert "exact" not in value["value"]
    assert 10 < low < high < low * 1.0004
    assert table["verdict"] == "undecided"
    assert "states" not in table["reason"]["text"]
    assert impure["verdict"] == "violated"


APART = """
mechanism apart {
  input x in 0..2
  adjacent all
  w ~ bernoulli(1/2)
  y ~ bernoulli(if w then (if x = 1 then 11/20 else 9/20) else (if x = 1 then 13/25 else 12/25))
  output (w, if x = 2 then false else y, x = 2)
}
mechanism rare {
  input x in 0..1
  adjacent all
  y ~ if x = 1 then {a: 1/10^9, b: 1 - 1/10^9} else {b: 1}
  output y
}
check compose(apart, 1000): dp(100, 1/10)
check compose(apart, 1000): epsilon(1/10) = inf
compute compose(apart, 1000): delta(200)
compute compose(rare, 10^8): delta(1/10)
"""


def test_inputs_without_common_outputs_and_outputs_of_one_loss_have_bounds():
    bad, infinite, sure, rare = check_text(APART)["results"]
    assert bad["counterexample"]["states"] in (["x = 0", "x = 2"], ["x = 2", "x = 0"])
    assert infinite["verdict"] == "holds"
    assert sure["value"]["exact"] == "1"
    low, high = map(float, rare["value"]["enclosure"])
    assert low <= -expm1(10**8 * log1p(-1e-9)) <= high
    assert high - low < 1e-4


def test_a_delta_far_below_the_first_tails_is_found_on_a_coarse_grid():
    (result,) = check_text(MIX + "compute compose(mix, 120): delta(16)")["results"]
    low, high = map(float, result["value"]["enclosure"])
    assert 0 < low < high < 1.001 * low < 1e-20


EXTREME = """
compute compose(mix, 400): epsilon(10^-310)
compute compose(mix, 400): epsilon(10^-400)
check   compose(mix, 400): dp(1, 10^-400)
check   compose(mix, 400): epsilon(99/100) >= -1
check   compose(mix, 400): epsilon(99/100) <= -1
"""


def test_epsilon_is_at_most_the_sum_of_the_largest_losses_and_at_least_0():
    tiny, tinier, bad, good, negative = check_text(MIX + EXTREME)["results"]
    largest = 400 * log(11 / 9)
    for result in (tiny, tinier):
        low, high = map(float, result["value"]["enclosure"])
        assert 0.99 * largest < low < largest <= high < 1.001 * largest
    verdicts = [result["verdict"] for result in (bad, good, negative)]
    assert verdicts == ["violated", "holds", "violated"]


def random_run(drawn):
    """Return the outputs of one run with scores, and what only one side shows."""
    n = drawn.randrange(2, 4)
    rows = [[drawn.randrange(1, 9) for _ in range(n + 1)] for _ in range(2)]
    p, q = ([number(weight, sum(row)) for weight in row] for row in rows)
    outputs = [(drawn.randrange(-3, 4), p[i], q[i]) for i in range(n)]
    return outputs, (p[n], q[n])


@pytest.mark.parametrize("seed", range(8))
def test_score_events_have_the_probabilities_that_all_outcomes_add_up_to(seed):
    drawn = Random(seed)
    runs = [(*random_run(drawn), drawn.randrange(1, 4)) for _ in range(2)]
    single = [run for run in runs for _ in range(run[2])]
    least = drawn.randrange(-2, 3)
    exact = [0, 0]
    for side in (0, 1):
        for outcome in product(*(outputs for outputs, _, _ in single)):
            if sum(score for score, _, _ in outcome) >= least:
                exact[side] += prod((chances[side] for _, *chances in outcome), start=fmpq(1))
    exact[0] += 1 - prod((1 - only[0] for _, only, _ in single), start=fmpq(1))
    (p_low, p_high), (q_low, q_high) = certify_score_event(
        runs, least, Budget.of(-20), fmpq(1, 10**6), fmpq(1, 10**6), Limits()
    )
    assert p_low <= exact[0] <= p_high
    assert q_low <= exact[1] <= q_high
    assert p_high - p_low < fmpq(1, 10**25)
    gap = subtract(exact[0], exact[1])
    delta = gap if gap > 0 else number(1, 10**6)
    with pytest.raises(AssertionError, match="exceeds its budget"):
        certify_score_event(runs, least, Budget.of(0), delta, delta, Limits())


def test_a_million_runs_are_bounded_as_narrowly_as_a_thousand():
    text = MIX + "compute compose(mix, 10^6): epsilon(1e-5)"
    (result,) = check_text(text)["results"]
    low, high = map(float, result["value"]["enclosure"])
    mean = (2 / 20 * log(11 / 9) + 1 / 25 * log(13 / 12)) / 2
    assert 10**6 * mean < low < high <= low * (1 + 3.1e-4)


def test_short_is_what_has_few_losses():
    survey = LossDistribution.of([(number(3, 4), number(1, 4)), (number(1, 4), number(3, 4))])
    many = LossDistribution.of([(number(n, 5050), number(101 - n, 5050)) for n in range(1, 101)])
    assert is_short([(survey, 3000)])
    assert not is_short([(survey, 10**6)])
    assert is_short([(many, 1)])
    assert not is_short([(many, 1000)])


def test_runs_that_tell_nothing_are_composed_however_many():
    text = """
    mechanism coin { input x in 0..1  adjacent all  y ~ bernoulli(1/2)  output y }
    mechanism told { input x in 0..1  adjacent all  y ~ bernoulli((1 + x)/3)  output y }
    check   compose(coin, 10^9): dp(0)
    check   compose(coin, 10^9): tradeoff(1/10) = 9/10
    refute  compose(coin, 10^9): tradeoff(1/10) <= 1/2
    check   compose(coin, 10^9): zcdp = 0
    check   compose(told, coin, 10^9): posterior_max(1/2) = 2/3
    compute compose(coin, 10^9): profile
    """
    assert check_text(text)["ok"]


def test_many_runs_with_a_single_loss_in_powers_of_e_are_bounded():
    text = """
    chain once {
      state s  state t  state a : A  state b : B
      s -> 1/(1 + exp(1)): a + 1 - 1/(1 + exp(1)): b
      t -> 1: a
      adjacent s ~ t
      observe A, B
    }
    check   compose(once, 10^5): delta(1) >= 99/100
    check   compose(once, 10^5): epsilon(1/2) = inf
    compute compose(once, 3000): delta(1)
    """
    *claims, short = check_text(text, "--timeout", "20")["results"]
    assert [each["verdict"] for each in claims] == ["holds", "holds"]
    assert "enclosure" not in short["value"]


def test_no_bound_of_delta_is_above_one():
    text = """
    chain once {
      state s  state t  state a : A  state b : B  state c : C
      s -> exp(-1)/3: a + 1 - exp(-1)/3: b
      t -> 1/3: a + 2/3: c
      adjacent s ~ t
      observe A, B, C
    }
    compute compose(once, 10^4): delta(1)
    """
    (result,) = check_text(text)["results"]
    assert result["value"]["enclosure"][1] == "1"


def test_a_violation_at_a_loss_of_many_thousands_needs_no_event():
    text = """
    chain once {
      state s  state t  state a : A  state b : B
      s -> 1/30: a + 29/30: b
      t -> 75/101: a + 26/101: b
      adjacent s ~ t
      observe A, B
    }
    refute compose(once, 30000): dp(50000, 1/10)
    refute compose(once, 30000): delta(50000) <= 1/10
    """
    report = check_text(text)
    assert [result["verdict"] for result in report["results"]] == ["violated", "violated"]
