"""Quantities, compositions and groups in the language: known truths, stated as models."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations, product
from math import exp, isqrt
from random import Random

import pytest

from tests.checking import called, check_text, error_codes, verdicts

SURVEY = """
mechanism survey(truth = 3/4) {
  input x in {pos, neg}
  adjacent all
  y ~ if x = pos then {Y: truth, N: 1 - truth} else {Y: 1 - truth, N: truth}
  output y
}
mechanism noise(alpha = 1/2, n = 5) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  y ~ geometric(x, alpha) clamped 0..n
  output y
}
"""


def assert_all_hold(text):
    report = check_text(text)
    wrong = [result for result in report["results"] if not result["ok"]]
    assert report["ok"], (wrong, report.get("errors"))
    assert report["results"]


def test_probabilities_and_budgets_in_powers_of_e():
    assert_all_hold(
        SURVEY
        + """
    const eps = 1/2
    mechanism weights { input s in 0..2 adjacent abs(s - s') <= 1
      y ~ {r: exp(-abs(r - s)/2) for r in 0..2} normalized output y }
    check noise(alpha = exp(-1/2)): epsilon = 1/2
    check noise(alpha = exp(-eps)): epsilon = eps
    check noise(alpha = exp(-ln 3)): epsilon = ln 3
    refute noise(alpha = exp(-1/2)): epsilon = 1/2 + 1e-60
    check noise(alpha = exp(-1/2)): dp(1/2)
    check noise(alpha = exp(-1/2)): dp(ln 2 - ln(6/5) + 1/10)
    refute noise(alpha = exp(-1/2)): dp(ln 2 - ln(6/5) - 1/50)
    check noise(alpha = exp(-1/2)): delta(1/2) = 0
    check noise(alpha = exp(-1/2)): delta(0) = (exp(1/2) - 1)/(exp(1/2) + 1)
    check compose(noise(alpha = exp(-1/2)), 2, noise): epsilon = 1 + ln 2
    check weights: epsilon <= 1
    """
    )


def test_composition_by_losses_agrees_with_the_program_that_runs_twice():
    text = (
        SURVEY
        + """
    mechanism answers(k = 2) { input x in {pos, neg} adjacent all repeat k { run survey(x = x) } }
    """
    )
    for k, delta in enumerate(["0", "3/8", "3/8", "75/128", "75/128", "735/1024"], start=1):
        text += f"check compose(survey, {k}): delta(ln 3) = {delta}\n"
        text += f"check answers(k = {k}): delta(ln 3) = {delta}\n"
        text += f"check compose(survey, {k}): epsilon = {k} * ln 3\n"
    assert_all_hold(text)


def test_basic_composition_promises_one_where_two_answers_show_a_half():
    report = check_text(SURVEY + "compute compose(survey, 2): delta(0)")
    (result,) = report["results"]
    assert result["value"]["exact"] == "1/2"
    assert [b["value"]["exact"] for b in result["beside"]] == ["1"]


def test_groups_lose_at_most_the_distance_times_epsilon():
    assert_all_hold(
        SURVEY
        + """
    for k in 1..5 { check group(noise, k): epsilon = k * ln 2 }
    check group(noise, 2): total_variation = 1/2
    check group(noise, 2): D{ln 4} [ X output = 0 ]
    refute group(noise, 2): D{ln 3} [ X output = 0 ]
    check group(compose(noise, 2), 2): epsilon = 4 * ln 2
    """
    )


TWO_PARTS = """
mechanism leaky {
  input x in 0..1
  adjacent all
  y ~ {0: if x = 0 then 6/10 else 3/10, 1: if x = 0 then 3/10 else 6/10, (x, x): 1/10}
  output y
}
mechanism pure {
  input x in 0..1
  adjacent all
  y ~ bernoulli(if x = 0 then 1/4 else 3/4)
  output y
}
"""


@pytest.mark.parametrize("claim", ["compute {}: delta(ln 6)", "check {}: dp(ln 6, 1/10)"])
@pytest.mark.parametrize("target", ["compose(leaky, pure)", "compose(pure, leaky)"])
def test_basic_composition_uses_the_budgets_of_the_parts(target, claim):
    """(ln 2, 1/10) and (ln 3, 0) promise (ln 6, 1/10)."""
    (result,) = check_text(TWO_PARTS + claim.format(target))["results"]
    assert [b["value"]["exact"] for b in result["beside"]] == ["1/10"]


def test_what_composition_promises_is_told_with_its_epsilon_and_rounded_up():
    (result,) = check_text(SURVEY + "compute compose(survey, 2): delta(ln 2)")["results"]
    (promise,) = result["beside"]  # 2 (3/4 - sqrt(2)/4)
    assert promise["text"] == "by basic composition delta(ln(2)) <="
    shown = Fraction(promise["value"]["exact"])
    assert 0 < shown - (Fraction(3, 2) - Fraction(isqrt(2 * 10**60), 2 * 10**30)) < 1e-15


@pytest.mark.parametrize("seed", range(10))
def test_no_split_of_the_budget_promises_less_than_basic_composition(seed):
    """Against splits on a grid, in floats: it is their least sum, and no less than the truth."""
    choose = Random(seed)
    times = [1, choose.randrange(1, 3), 1][: choose.randrange(2, 4)]
    rows = []
    for _ in times:
        weights = [[choose.randrange(0, 9) for _ in range(3)] for _ in "xy"]
        rows.append(
            [[Fraction(w + (k == 0), sum(ws) + 1) for k, w in enumerate(ws)] for ws in weights]
        )
    text = "\n".join(
        f"mechanism m{i} {{ input x in 0..1 adjacent all y ~ if x = 0 then "
        + " else ".join(f"{{0: {r[0]}, 1: {r[1]}, 2: {r[2]}}}" for r in pair)
        + " output y }"
        for i, pair in enumerate(rows)
    )
    total = Fraction(choose.randrange(1, 6), 2)
    target = ", ".join(f"m{i}, {n}" for i, n in enumerate(times))
    (result,) = check_text(f"{text}\ncompute compose({target}): delta({total})")["results"]
    promise = float(result["beside"][0]["value"]["decimal"])
    assert promise >= float(result["value"]["decimal"]) - 1e-12

    def delta(pair, epsilon):
        sides = pair, pair[::-1]
        return max(
            sum(max(0, p - exp(epsilon) * q) for p, q in zip(*s, strict=True)) for s in sides
        )

    steps = 60
    least = min(
        sum(
            n * delta(pair, total * k / steps / n)
            for n, pair, k in zip(times, rows, ks, strict=True)
        )
        for ks in product(range(steps + 1), repeat=len(times))
        if sum(ks) == steps
    )
    assert promise <= min(1, least) + 1e-12


def test_a_group_without_any_pair_of_neighbors_is_vacuous():
    text = "mechanism m { input x in 0..2 adjacent x = 5 & x' = 6 output x }\n"
    (result,) = check_text(text + "check group(m, 2): dp(0)")["results"]
    assert result["verdict"] == "holds"
    assert result["vacuous"]


def test_a_group_holds_those_who_are_nearer_too():
    """The parity is equal at distance 2 and differs at distance 1: groups of size at most k."""
    assert_all_hold(
        """
    mechanism parity {
      input x in 0..4
      adjacent abs(x - x') <= 1
      y ~ bernoulli(if x mod 2 = 0 then 3/4 else 1/4)
      output y
    }
    for k in 1..5 { check group(parity, k): epsilon = ln 3 }
    refute group(parity, 2): dp(0)
    check group(group(parity, 2), 2): D{ln 3} [ X (output = true) ]
    refute group(compose(parity, 2), 2): dp(ln 8)
    """
    )


@pytest.mark.parametrize("seed", range(8))
def test_groups_against_walks_in_the_graph_of_neighbors(seed):
    """Random graphs: the pairs of a group of k are those that 1 to k steps join, and no others."""
    choose = Random(seed)
    n = 7
    edges = choose.sample(list(combinations(range(n), 2)), choose.randrange(3, 10))
    near = {(i, j) for i, j in edges} | {(j, i) for i, j in edges}
    rows = [Fraction(1, choose.randrange(2, 40)) for _ in range(n)]
    lines = [f"state i{i} i{i} -> {p}: y + {1 - p}: z" for i, p in enumerate(rows)]
    lines += [f"adjacent i{i} ~ i{j}" for i, j in edges]
    claims = []
    reached = {(i, i) for i in range(n)}
    for k in range(1, 4):
        reached |= {(i, j) for i, h in reached for g, j in near if g == h}
        ratios = [
            max(rows[i] / rows[j], (1 - rows[i]) / (1 - rows[j])) for i, j in reached if i != j
        ]
        claims.append(f"check group(c, {k}): epsilon = ln({max(ratios)})")
        claims.append(f"check group(group(c, 1), {k}): dp(ln({max(ratios)}))")
    claims.append("check group(group(c, 3), 1): epsilon = " + claims[-1].rpartition("dp(")[2][:-1])
    assert_all_hold("\n".join(["chain c { state y state z", *lines, "observe y, z }", *claims]))


@pytest.mark.parametrize("quantity", ["epsilon", "delta(0)", "renyi(2)", "zcdp", "profile"])
def test_endless_outputs_that_tell_nothing_cost_nothing(quantity):
    text = """
    mechanism endless { input b in 0..1 adjacent all
      while true { c ~ bernoulli(1/2) if c { output 1 } else { output 1 } } }
    """
    (result,) = check_text(text + f"compute endless: {quantity}")["results"]
    assert result["verdict"] == "value"
    shown = result["table"]["rows"][0][2] if quantity == "profile" else result["value"]
    assert shown["exact"] == "0"


@pytest.mark.parametrize("quantity", ["renyi(2)", "zcdp", "profile"])
def test_endless_outputs_whose_ratios_grow_leave_other_quantities_undecided(quantity):
    text = """
    mechanism loop { input x in 0..1  adjacent all  more := true
      while more { more ~ bernoulli(if x = 0 then 1/2 else 1/3)  output tick } }
    """
    (result,) = check_text(text + f"compute loop: {quantity}")["results"]
    assert result["verdict"] == "undecided"


def test_posteriors_of_the_survey_reach_the_bound():
    assert_all_hold(
        SURVEY
        + """
    check survey: posterior_max(1/2) = 3/4
    check survey: posterior_min(1/2) = 1/4
    check survey: posterior_max(1/10) = 1/4
    check survey: posterior_max(0) = 0
    check survey: posterior_min(1) = 1
    """
    )


def test_leakage_of_a_channel():
    assert_all_hold(
        SURVEY
        + """
    mechanism copy { input x in 1..4 adjacent all output x }
    mechanism blind { input x in 1..4 adjacent all output 0 }
    check copy: bayes_vulnerability = 1
    check copy: min_entropy_leakage = ln 4
    check blind: bayes_vulnerability = 1/4
    check blind: min_entropy_leakage = 0
    check survey: bayes_vulnerability = 3/4
    check survey: min_entropy_leakage = ln(3/2)
    check copy: epsilon = inf
    check copy: renyi(2) = inf
    check copy: zcdp = inf
    check copy: total_variation = 1
    check copy: tradeoff(0) = 0
    """
    )


def test_accuracy_is_the_least_bound_of_its_formula():
    assert_all_hold(
        SURVEY
        + """
    check noise: accuracy(x, 1/20) = 3
    check noise: P>=19/20 [ X (abs(output - x) <= 3) ]
    refute noise: P>=19/20 [ X (abs(output - x) <= 2) ]
    check noise at x = 0: accuracy(x, 1/3) = 0
    check noise: accuracy(x, 0) = 5
    check survey: accuracy(0, 1/2) = inf
    """
    )


TWO_OUTPUTS = """
mechanism two(alpha = 1/2) {
  input x in 0..3
  adjacent abs(x - x') <= 1
  y ~ geometric(x, alpha) clamped 0..3
  output y
  z ~ geometric(3 - x, 1/4) clamped 0..3
  output (z, y)
  if y = 3 { stop }
  output late
}
"""


def test_accuracy_of_several_outputs_is_the_least_bound_of_their_conjunction():
    second = "(abs(output[1] - (3 - x)) <= {a} & abs(output[2] - x) <= {a})"
    both = "X (abs(output - x) <= {a} & X " + second + ")"
    shown = "(output(1), output(2)[1], output(2)[2])", "(x, 3 - x, x)"
    for beta in ("1/2", "1/4", "1/9", "1/100"):
        (value,) = check_text(f"{TWO_OUTPUTS}compute two: accuracy({', '.join(shown)}, {beta})")[
            "results"
        ]
        least = int(value["value"]["exact"])
        assert_all_hold(
            f"{TWO_OUTPUTS}check two: P>=(1 - {beta}) [ {both.format(a=least)} ]"
            f" refute two: P>=(1 - {beta}) [ {both.format(a=least - 1)} ]"
            f" check two: accuracy(output(2), (3 - x, x), {beta}) <= {least}"
        )


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("accuracy(output(1), x, 1/4) = accuracy(x, 1/4)", "holds"),
        ("accuracy(output(2), (3 - x, x), 1/4) = accuracy(output(2)[2], x, 1/4)", "holds"),
        ("accuracy(output(2), x, 1/4) = inf", "holds"),
        ("accuracy(output(2), (x, x, x), 1/4) = inf", "holds"),
        ("accuracy(output(3), x, 1/4) = inf", "holds"),
        ("accuracy(output(9), x, 1/4) = inf", "holds"),
        ("accuracy(output(9), x, 1) = 0", "holds"),
        ("accuracy((output(1), output(2)[1]), (x, 3 - x), 0) = 3", "holds"),
        ("accuracy((output(1), output(2)[1]), (x, 3 - x), 0) < 3", "violated"),
    ],
)
def test_accuracy_of_outputs_that_are_tuples_late_or_missing(claim, verdict):
    assert verdicts(check_text(f"{TWO_OUTPUTS}check two: {claim}")) == [verdict]


def test_accuracy_weighs_with_exact_exponentials():
    # P(output is x) = (1 - a)/(1 + a) for 0 < x < 3 and a = exp(-1); of both its square, .2136.
    assert_all_hold(
        """
    mechanism e {
      input x in 1..2
      adjacent all
      repeat 2 { y ~ geometric(x, exp(-1)) clamped 0..3  output y }
    }
    check e: accuracy((output(1), output(2)), (x, x), 3/4) = 1
    check e: accuracy((output(1), output(2)), (x, x), 1 - ((1 - exp(-1))/(1 + exp(-1)))^2) = 0
    check e: accuracy((output(1), output(2)), (x, x), 79/100) = 0
    check e: accuracy((output(1), output(2)), (x, x), 78/100) = 1
    """
    )


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("delta(1) < loss_tail(1)", "holds"),
        ("loss_tail(1) > delta(1)", "holds"),
        ("delta(1) = loss_tail(1)", "violated"),
        ("delta(0) = total_variation", "holds"),
        ("delta(1) < delta(1/2)", "holds"),
        ("delta(1/2 * ln 2) = delta(1/4 * ln 4)", "holds"),  # 3/4 - 2^(1/2)/4 lies in no ℚ(e^r)
        ("delta(1/2 * ln 2) < loss_tail(0)", "holds"),
        ("loss_tail(0) <= delta(1/2 * ln 2)", "violated"),
        ("delta(1/2 * ln 2) <= delta(1/3 * ln 5)", "violated"),
        ("delta(1) != delta(1)", "violated"),
        ("renyi(2) < epsilon", "holds"),
        ("zcdp <= epsilon", "holds"),
        ("epsilon > min_entropy_leakage", "holds"),
        ("posterior_min(1/2) < posterior_max(1/2)", "holds"),
        ("bayes_vulnerability >= posterior_max(1/2)", "holds"),
    ],
)
def test_two_quantities_of_one_target_compare_exactly(claim, verdict):
    assert verdicts(check_text(f"{SURVEY}check survey: {claim}")) == [verdict]
    assert verdicts(check_text(f"{SURVEY}check group(survey, 1): {claim}")) == [verdict]


def test_a_comparison_of_quantities_says_both_values():
    text = f"{SURVEY}check survey: delta(ln 2) >= loss_tail(ln 2)"
    (result,) = check_text(text)["results"]
    assert result["claim"] == "delta(ln 2) >= loss_tail(ln 2)"
    assert result["counterexample"]["requirement"] == (
        "delta(ln(2)) >= loss_tail(ln(2)), but delta(ln(2)) = 1/4 and loss_tail(ln(2)) = 3/4"
    )
    assert [(b["text"], b["value"]["exact"]) for b in result["beside"]] == [
        ("delta(ln(2)) is", "1/4"),
        ("loss_tail(ln(2)) is", "3/4"),
    ]


def test_a_declared_name_beside_a_quantity_is_its_bound():
    assert verdicts(check_text(f"{SURVEY}const zcdp = ln 3 check survey: epsilon = zcdp")) == [
        "holds"
    ]
    assert verdicts(
        check_text(f"{SURVEY}fun delta(e) = ln 3 check survey: epsilon = delta(0)")
    ) == ["holds"]


def test_equal_numbers_without_an_exact_form_are_no_verdict():
    text = SURVEY + "check noise(alpha = exp(-1)): zcdp(17) = zcdp(17)"
    assert verdicts(check_text(text)) == ["undecided"]


def test_a_divergence_of_different_rows_is_never_taken_for_zero():
    text = """
    chain c {
      state s  state t  state a : A  state b : B
      s -> 1/2 + 1/10^700: a + 1/2 - 1/10^700: b
      t -> 1/2: a + 1/2: b
      adjacent s ~ t
      observe A, B
    }
    check  c: renyi(3/2) <= 0
    check  c: renyi(3/2) = 0
    check  c: renyi(3/2) < 1/10^1300
    check  c: renyi(3/2) < renyi(2)
    """
    assert verdicts(check_text(text)) == ["undecided", "undecided", "undecided", "undecided"]


def test_one_side_without_an_end_leaves_a_comparison_undecided():
    text = """
    mechanism loop {
      input x in 0..1  adjacent all
      more := true
      while more { more ~ bernoulli(if x = 0 then 1/2 else 1/3)  output tick }
    }
    check loop: epsilon > renyi(2)
    check loop: epsilon(1/4) = epsilon(1/4)
    """
    assert verdicts(check_text(text)) == ["undecided", "holds"]


def test_tails_of_the_loss_are_no_smaller_than_delta():
    assert_all_hold(
        SURVEY
        + """
    check survey: loss_tail(ln 2) = 3/4
    check survey: delta(ln 2) = 1/4
    check survey: loss_tail(ln 3) = 0
    check survey: tradeoff(1/4) = 1/4
    check survey: tradeoff(1/8) = 5/8
    """
    )


def test_tables_hold_exact_numbers():
    report = check_text(SURVEY + "compute survey: profile\ncompute survey: losses")
    profile, losses = (result["table"] for result in report["results"])
    assert [[cell["exact"] for cell in row[:5]] for row in profile["rows"]] == [
        ["1", "3", "1/2", "3/4", "1/4"],
        ["3", "inf", "0", "0", "0"],
    ]
    assert profile["rows"][0][5:] == ["x = pos", "x = neg", "Y"]
    assert [row[2]["exp"] for row in losses["rows"]] == ["3", "1/3", "3", "1/3"]


def test_enclosures_say_so():
    (result,) = check_text(SURVEY + "compute noise(alpha = exp(-1/2)): renyi(1)")["results"]
    value = result["value"]
    assert "exact" not in value
    low, high = map(float, value["enclosure"])
    assert low <= float(value["decimal"]) <= high


@pytest.mark.parametrize("claim", ["renyi(1) <= 1/100", "renyi(8/5) < zcdp", "renyi(1) = 0"])
def test_a_sentence_says_of_an_enclosure_that_the_value_is_in_it(claim, tmp_path):
    text = f"{SURVEY}check noise(alpha = exp(-1/2)): {claim}"
    (result,) = check_text(text)["results"]
    assert re.search(", but (it|renyi)", result["counterexample"]["requirement"])
    (tmp_path / "m.dpm").write_text(text, "utf-8")
    told = called("check", "m.dpm", cwd=tmp_path).stdout + result["counterexample"]["requirement"]
    assert not re.search(r"= (≈|in \[)", told), told
    assert re.search(r"(\)|it) (is )?≈ 0\.", told), told
    assert re.search(r"(\)|it) (is )?in \[0\.", told), told


def test_declared_names_win_over_quantities():
    text = """
    fun renyi(x) = x
    mechanism profile { input b in 0..1 adjacent all output b }
    check profile: P>=0 [ X (output = renyi(1)) ]
    compute profile: total_variation
    """
    assert_all_hold(text)


def test_a_mechanism_called_compose_is_that_mechanism():
    text = """
    mechanism compose(k = 1) { input b in 0..1 adjacent all output k }
    check compose(k = 3): epsilon = 0
    """
    assert_all_hold(text)


def test_parts_need_the_same_inputs():
    assert error_codes(check_text(SURVEY + "check compose(survey, noise): epsilon = 0")) == [
        "DP624"
    ]


def test_randomized_response_with_k_answers():
    text = """
    mechanism kary(k = 2) {
      input x in 1..k
      adjacent all
      y ~ {v: if v = x then 3/(k + 2) else 1/(k + 2) for v in 1..k}
      output y
    }
    """
    for k, delta in ((2, "1/2"), (3, "2/5"), (5, "2/7")):
        text += (
            f"check kary(k = {k}): epsilon = ln 3\ncheck kary(k = {k}): total_variation = {delta}\n"
        )
    assert_all_hold(text)


def test_stability_based_release_has_the_same_delta_at_every_epsilon():
    text = """
    mechanism release(t = 3) {
      input present in {false, true}
      adjacent all
      z ~ geometric(1, 1/2) clamped -20..t
      output if present & z >= t then key else nothing
    }
    """
    for t, delta in ((3, "1/6"), (5, "1/24"), (10, "1/768")):
        for epsilon in ("0", "ln 2", "5"):
            text += f"check release(t = {t}): delta({epsilon}) = {delta}\n"
        text += f"check release(t = {t}): epsilon = inf\n"
        text += f"check release(t = {t}): posterior_max(1/1000) = 1\n"
    assert_all_hold(text)


def test_the_least_rho_is_enclosed_where_a_pair_attains_it_as_the_order_approaches_one():
    text = """mechanism m {
      input r[1..2] in -1..1
      adjacent hamming(r, r') <= 1
      y ~ gaussian(sum(r), 1/2) conditioned -6..6
      output y
    }
    check m: zcdp <= 4 * ln 2
    refute m: zcdp <= 39/10 * ln 2"""
    assert verdicts(check_text(text)) == ["holds", "violated"]
