"""Every example of the language contract runs as written, with the answers it promises."""

from __future__ import annotations

import pytest

from tests.checking import check_files, check_text, error_codes, outcome, verdicts

SURVEY = """
mechanism survey {
  input x in {pos, neg}
  adjacent all
  y ~ if x = pos then {Y: 3/4, N: 1/4} else {Y: 1/4, N: 3/4}
  output y
}
"""

# --- top level -------------------------------------------------------------------------------

TOP_LEVEL = """
const n = 5                      # overridden by  -D n=8  (an expression; some file must declare the name)
fun  near(a, b) = abs(a - b) <= 1
dist coin(p) = {true: p, false: 1 - p}
import "noise.dpm"               # its names come in; its checks do not run; a clash of names is an error
import std.above_threshold       # the library that ships with the package

mechanism m {
  input x in 0..n
  adjacent near(x, x')
  heads ~ coin(1/3)
  if heads { output x mod 2 } else { output 0 }
}
chain c {
  state s
  state t
  state u : U1
  state v : U2
  s -> 2/3: u + 1/3: v
  t -> 1/3: u + 2/3: v
  adjacent s ~ t
  observe U1, U2
}

check  survey: dp(ln 3)          # must hold
refute survey: dp(ln 2)          # must be violated: a known bug stays known
compute survey: epsilon          # report a value
for k in 1..4 { check rr(k = k): epsilon = k * ln 3 }
"""  # noqa: E501

NOISE = (
    SURVEY
    + """
mechanism rr(k = 1) {
  input x in {pos, neg}
  adjacent all
  repeat k { y ~ survey(x = x)  output y }
}
check survey: dp(0)              # does not run where this file is imported
"""
)


def test_the_top_level_example_runs_with_both_imports():
    report = check_files({"main.dpm": TOP_LEVEL, "noise.dpm": NOISE}, "main.dpm")
    assert outcome(report) == [
        ("check", "survey", "dp(ln 3)", "holds"),
        ("refute", "survey", "dp(ln 2)", "violated"),
        ("compute", "survey", "epsilon", "value"),
        ("check", "rr(k = 1)", "epsilon = 1 * ln 3", "holds"),
        ("check", "rr(k = 2)", "epsilon = 2 * ln 3", "holds"),
        ("check", "rr(k = 3)", "epsilon = 3 * ln 3", "holds"),
        ("check", "rr(k = 4)", "epsilon = 4 * ln 3", "holds"),
    ]
    assert report["ok"]


def test_the_other_declarations_of_the_top_level_example_mean_what_they_say():
    claims = """
    check m: epsilon = inf
    check m: delta(0) = 1/3
    check m at x = 3 : P=1/3 [ X output = 1 ]
    check c: epsilon = ln 2
    check above_threshold(k = 1): epsilon = ln 2
    """
    report = check_files({"main.dpm": TOP_LEVEL + claims, "noise.dpm": NOISE}, "main.dpm")
    assert report["ok"], report


def test_a_constant_is_overridden_from_the_command_line_by_an_expression():
    text = TOP_LEVEL + "check m at x = 8 : P=1 [ X output = 0 ]"
    files = {"main.dpm": text, "noise.dpm": NOISE}
    assert not check_files(files, "main.dpm")["ok"], "without -D there is no input 8"
    assert check_files(files, "main.dpm", "-D", "n=2^3")["ok"]


def test_overriding_a_constant_nobody_declares_is_an_error():
    assert error_codes(check_text(SURVEY + "check survey: dp(ln 3)", "-D", "m=8"))


def test_a_clash_of_imported_names_is_an_error():
    clash = 'import "noise.dpm"\nmechanism survey { input x in 0..1 adjacent all output 1 }'
    report = check_files({"main.dpm": clash, "noise.dpm": NOISE}, "main.dpm")
    assert error_codes(report)


def test_a_check_may_have_a_name():
    report = check_text(SURVEY + 'check "a name" survey: dp(ln 3)')
    assert [result["name"] for result in report["results"]] == ["a name"]


def test_newlines_mean_nothing_and_semicolons_may_end_statements():
    one_line = "mechanism m { input x in 0..1; adjacent all; y ~ bernoulli(1/2); output y; stop; }"
    assert check_text(one_line + " check m: dp(0) check m: epsilon = 0")["ok"]


# --- numbers and budgets ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "equation",
    [
        "3/4 = 0.75",
        "0.1 = 1/10",
        "1e-6 = 1/1000000",
        "2^10 = 1024",
        "2^(-1) = 1/2",
        "-2^2 = -4",
        "7 div 2 = 3",
        "-7 div 2 = -4",
        "-7 mod 3 = 2",
        "floor(-1/2) = -1",
        "ceil(1/2) = 1",
        "clamp(7, 0, 5) = 5",
        "0 <= 1 < 3",
        "!(0 <= 3 < 3)",
        "false => 1/0 = 1",
        "!(false & 1/0 = 1)",
        "true | 1/0 = 1",
        "(if true then 1 else 1/0) = 1",
        "!(1 = true)",
        "2 in 1..3 & !(4 in 1..3)",
        "max(1, 5, 3) = 5",
        "sum(i in 1..3 : i^2) = 14",
        "count(i in 1..5 where i > 1 : i mod 2 = 0) = 2",
        "argmax(i in 1..4 : (i - 2)^2) = 4",
        "argmax(i in 1..3 : (i - 2)^2) = 1",
        "argmin(i in 1..4 : (i - 3)^2) = 3",
        "len({1, 2, 2}) = 2",
        "(1, 2) in {1, 3} * {2}",
        "{z^2 for z in -1..1} = {0, 1}",
        "{z for z in 1..4 where z mod 2 = 0} = {2, 4}",
        "(3, 4)[2] = 4",
        "forall(i in {} : 1 = 2)",
        "!exists(i in 1..3 : i = 4)",
        "min(i in 1..3 : -i) = -3",
        "2 + 3 * 4 = 14",
        "2^3^1 = 8",
        "1 - 2 - 3 = -4",
        "8 / 4 / 2 = 1",
    ],
)
def test_expressions_have_the_values_the_reference_gives(equation):
    text = "mechanism m { input x in 0..0 adjacent all output EQ }".replace("EQ", equation)
    report = check_text(text + " check m: P=1 [ X output = true ]")
    assert verdicts(report) == ["holds"], report


@pytest.mark.parametrize(
    ("budget", "e_epsilon"),
    [
        ("ln 3", "3"),
        ("2 * ln 2", "4"),
        ("ln 2^3", "8"),
        ("ln(3/2)", "3/2"),
        ("ln 3 + ln 2", "6"),
        ("ln 12 - ln 4", "3"),
        ("1/2 * ln 9", "3"),
    ],
)
def test_budgets_add_and_scale_and_exp_of_them_is_rational(budget, e_epsilon):
    text = """
    const eps = BUDGET
    mechanism m { input x in 0..1 adjacent all
      y ~ geometric(x, exp(-eps)) clamped 0..1  output y }
    check m: epsilon = BUDGET
    check m: dp(eps)
    check m: delta(0) = 1 - 2/(1 + E)
    """
    text = text.replace("BUDGET", budget).replace("E)", f"{e_epsilon})")
    assert check_text(text)["ok"], check_text(text)


def test_a_rational_budget_is_decided_against_e_to_its_power():
    # ln 3 = 1.0986...; e^(1/2) = 1.6487...
    text = (
        SURVEY
        + """
    refute survey: dp(1)
    refute survey: dp(1/2)
    check  survey: dp(11/10)
    check  survey: dp(ln 2 + 1/2)
    refute survey: dp(ln 3 - 1e-30)
    check  survey: dp(ln 3 + 1e-30)
    check  survey: epsilon < 1.0986122886681097
    check  survey: epsilon > 1.0986122886681096
    """
    )
    assert check_text(text)["ok"], check_text(text)


# --- mechanisms ------------------------------------------------------------------------------

ABOVE_THRESHOLD = """
mechanism above_threshold(k = 3, n = 5, alpha_t = 1/4, alpha_q = 1/2) {
  input  q[1..k] in 0..n                       # private; one initial state per value
  public t in 0..n                             # known to everyone: neighbors agree on it
  adjacent linf(q, q') <= 1                    # required; the primed name is the neighbor's value

  noisy_t ~ geometric(t, alpha_t) clamped 0..n
  for i in 1..k {
    noisy_q ~ geometric(q[i], alpha_q) clamped 0..n
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
"""


def test_above_threshold_runs_as_written():
    text = (
        ABOVE_THRESHOLD
        + """
    check  above_threshold: epsilon = ln 8
    check  above_threshold(k = 1, n = 2): epsilon = ln 2
    check  above_threshold: D{ln 8} [ X (bot & X (bot & X bot)) ]
    check  above_threshold: D{ln 2} [ X top ]
    """
    )
    assert check_text(text)["ok"], check_text(text)


def test_above_threshold_needs_more_for_five_queries():
    text = ABOVE_THRESHOLD + "check above_threshold(k = 5, n = 2): epsilon = 5 * ln 2"
    assert check_text(text)["ok"], check_text(text)


def test_an_input_array_may_be_restricted_by_where():
    text = """
    mechanism h4 {
      input h[1..3] in 0..4 where sum(h) = 4
      adjacent l1(h, h') <= 2
      output h[1]
    }
    check h4: epsilon = inf
    """
    report = check_text(text)
    assert report["ok"], report
    assert check_text(text + "check h4 at h[1] = 4 : P=1 [ X output = 4 ]")["ok"]
    # 15 ways to write 4 as a sum of three; one state per (first bin) output after them.
    assert report["results"][0]["states"] == 15 + 5


def test_adjacency_may_be_written_as_pairs():
    text = """
    mechanism m {
      input x in {pos, neg, unknown}
      adjacent (pos, neg), (neg, unknown)
      y ~ {a: if x = pos then 1/2 else if x = neg then 1/4 else 1/8,
           b: if x = pos then 1/2 else if x = neg then 3/4 else 7/8}
      output y
    }
    check m: epsilon = ln 2
    """
    report = check_text(text)
    assert report["ok"], report
    assert report["results"][0]["neighbor_pairs"] == 2


def test_several_adjacent_clauses_are_united():
    text = """
    mechanism m {
      input x in 0..4
      adjacent x' = x + 1
      adjacent x = 0 & x' = 4
      output 1
    }
    check m: dp(0)
    """
    report = check_text(text)
    assert report["results"][0]["neighbor_pairs"] == 5


def test_every_form_of_statement_runs():
    text = """
    mechanism callee(k = 1, lo = 0) {
      input x in 0..3
      adjacent all
      y ~ uniform(lo..k)
      output x + y
      stop
      output never
    }
    mechanism m {
      input x in 0..2
      adjacent all
      var a[1..3] := 0
      var c in 0..9 := 0
      a[1] := x
      a[2] ~ uniform({a[1]})
      (u, v) := (a[2], 7)
      if x = 0 { c := 1 } else if x = 1 { c := 2 } else { c := 3 }
      for i in {3, 1} { c := c + i }
      repeat 2 { c := c - 1 }
      z := 0
      while z < 3 { z := z + 1 }
      output (a[3], u, v, c, z)
      run callee(k = 0, x = x)
      y ~ callee(k = 0, lo = 0, x = x)
      output y
    }
    for v in 0..2 {
      check m at x = v : P=1 [ X (output = (0, v, 7, v + 3, 3) & X (output = v & X (output = v & X stopped))) ]
    }
    check m: P=1 [ F stopped ]
    """  # noqa: E501
    assert check_text(text)["ok"], check_text(text)


@pytest.mark.parametrize(
    ("distribution", "event", "probability"),
    [
        ("bernoulli(1/3)", "true", "1/3"),
        ("uniform(2..5)", "4", "1/4"),
        ("{a: 1/4, b: 3/4}", "b", "3/4"),
        ("{r: 2^r for r in 0..2} normalized", "2", "4/7"),
        ("{r: 1/3 for r in 0..2}", "1", "1/3"),
        ("binomial(4, 1/2)", "2", "3/8"),
        ("geometric(0, 1/2) clamped 0..3", "0", "2/3"),
        ("geometric(7, 1/2) clamped 0..5", "5", "11/12"),
        ("geometric(0, 1/2) conditioned 0..1", "0", "2/3"),
        ("geometric(0, 1/2) wrapped 0..1", "0", "5/9"),
        ("geometric(0, 1/2) folded 0..1", "0", "5/9"),
        ("geometric(0, 1/2) folded 0..2", "0", "17/45"),
        ("geometric_positive(1/2) clamped 0..2", "2", "1/4"),
        ("geometric_positive(1/2) conditioned 0..2", "2", "1/7"),
        ("gaussian(1, 1/2) conditioned 0..2", "1", "1/2"),
    ],
)
def test_every_distribution_has_its_defined_probabilities(distribution, event, probability):
    text = """
    mechanism m { input x in 0..0 adjacent all y ~ DIST output y }
    check m: P=? [ X output = EVENT ] = P
    """
    text = text.replace("DIST", distribution).replace("EVENT", event)
    report = check_text(text.replace("= P\n", f"= {probability}\n"))
    assert verdicts(report) == ["holds"], report


def test_the_first_answer_is_the_next_state():
    text = (
        ABOVE_THRESHOLD
        + """
    check above_threshold(k = 2, n = 1) at q[1] = 0 & q[2] = 0 & t = 1 : P=? [ X top ] = 7/15
    check above_threshold(k = 2, n = 1): P=1 [ X top | X (bot & X top) | X (bot & X bot) ]
    """
    )
    assert check_text(text)["ok"], check_text(text)


def test_a_copy_hides_nothing_from_nested_neighbors():
    text = """
    mechanism shown { input x in 0..1 adjacent all output go output x }
    mechanism copied { input x in 0..1 adjacent all y := x output go output y }
    check shown:  P=1 [ X go ]
    check copied: P=1 [ X go ]
    check shown:  P=0 [ X (go & D{0} [ X output = 0 ]) ]
    check copied: P=0 [ X (go & D{0} [ X output = 0 ]) ]
    check copied: P=1 [ X (go & D{0, 1} [ X output = 0 ]) ]
    """
    assert check_text(text)["ok"], check_text(text)


# --- chains ----------------------------------------------------------------------------------

CHAINS = """
chain survey_table {
  state pos
  state neg
  state s : Y                          # labels after the colon
  state t : N
  pos -> 3/4: s + 1/4: t
  neg -> 1/4: s + 3/4: t
  adjacent pos ~ neg
  observe Y, N
}

chain geometric_table(n = 5, alpha = 1/2) {
  state s[k in 0..n] : start
  state t[l in 0..n] : answer
  for k in 0..n { s[k] -> l ~ geometric(k, alpha) clamped 0..n : t[l] }
  adjacent s[k] ~ s[l] where abs(k - l) = 1
  observe t
}
"""


def test_both_explicit_chains_run_as_written():
    text = (
        CHAINS
        + """
    check survey_table: epsilon = ln 3
    check survey_table: delta(0) = 1/2
    check survey_table: D{ln 3} [ X Y ]
    check geometric_table: epsilon = ln 2
    check geometric_table(alpha = 1/4, n = 3): epsilon = ln 4
    check geometric_table: P=1 [ X answer ]
    check geometric_table at s[3] : P=? [ X t[3] ] = 1/3
    check geometric_table at start : P=0 [ X start ]
    """
    )
    assert check_text(text)["ok"], check_text(text)


def test_a_row_that_does_not_sum_to_one_is_an_error_with_the_sum():
    wrong = CHAINS.replace("1/4: t\n", "3/8: t\n", 1) + "check survey_table: dp(ln 3)"
    report = check_text(wrong)
    assert report["errors"][0]["code"] == "DP203"
    assert "9/8" in report["errors"][0]["message"]


def test_families_may_have_several_indices():
    text = """
    chain walk(n = 2, m = 1) {
      state g[i in 0..n, j in 0..m] : grid
      state out : gone
      for i in 0..n { for j in 0..m {
        if i < n { g[i, j] -> 1/2: g[i + 1, j] + 1/2: out } else { g[i, j] -> 1: out }
      } }
      adjacent g[0, j] ~ g[1, j]
      observe gone
      init g[0, 0], g[1, 0]
    }
    check walk: P=1 [ F gone ]
    check walk: epsilon = 0
    check walk at g[0, 1] : P=? [ X X g[2, 1] ] = 1/4
    """
    assert check_text(text)["ok"], check_text(text)


# --- claims ----------------------------------------------------------------------------------


def test_the_formula_examples_of_the_claims_section_run():
    text = (
        SURVEY
        + """
    mechanism count5(n = 5) {
      input x in 0..n
      adjacent abs(x - x') <= 1
      y ~ geometric(x, 1/2) clamped 0..n
      output y
    }
    check count5: P>=1/2 [ X abs(output - x) <= 2 ]
    check count5: P>=1/2 [ X (abs(output - x) <= 2) ]
    check count5: forall(v in 0..5 : D{ln 2} [ F output = v ])
    check count5 at x = 0 : P=1 [ X !(output = 3) ] | P<1 [ X !(output = 3) ]
    check survey: epsilon = ln 3
    check survey: delta(ln 2) <= 1/4
    check survey at x = pos : P>=3/4 [ F Y ]
    check survey: P in [1/4, 3/4] [ F Y ]
    check survey: P<=(1 - 1/4) [ F<=1 Y ]
    """
    )
    assert check_text(text)["ok"], check_text(text)


def test_an_atom_that_reads_output_is_false_where_nothing_is_output():
    text = (
        SURVEY
        + """
    check survey: !(output = 3)
    check survey: P=0 [ output = output ]
    check survey: P=1 [ X output = output ]
    check survey: P=0 [ X output > 3 ]
    check survey: P=1 [ X !(output > 3) ]
    check survey: P=0 [ X output[1] = 3 ]
    """
    )
    assert check_text(text)["ok"], check_text(text)


def test_event_level_delta_is_larger_than_the_excess_of_any_output():
    text = """
    import std.survey
    mechanism four { input x in {pos, neg} adjacent all repeat 4 { run survey(x = x) } }
    check  four: delta(ln 3) = 75/128
    check  four: dp(ln 3, 75/128)
    refute four: dp(ln 3, 39/128)
    check  four: D{ln 3, 39/128} [ X (Y & X (Y & X (Y & X Y))) ]
    refute four: D{ln 3, 38/128} [ X (Y & X (Y & X (Y & X Y))) ]
    """
    assert check_text(text)["ok"], check_text(text)


def test_without_neighbors_epsilon_and_delta_are_zero_and_flagged_vacuous():
    text = """
    mechanism alone { input x in 0..2 adjacent x = x' output x }
    check alone: epsilon = 0
    check alone: delta(0) = 0
    check alone: dp(0)
    """
    report = check_text(text)
    assert report["ok"]
    assert all(result["vacuous"] for result in report["results"])


def test_a_probability_is_asked_at_one_state_only():
    report = check_text(SURVEY + "check survey: P=? [ X Y ] = 3/4")
    assert error_codes(report)


def test_at_that_selects_nothing_is_an_error():
    assert error_codes(check_text(SURVEY + "check survey at x = 3 : P>=3/4 [ F Y ]"))


def test_outputs_inside_an_unbounded_loop_are_refuted_or_proved():
    text = """
    mechanism ticking {
      input x in {fast, slow}
      adjacent all
      more := true
      while more { more ~ bernoulli(if x = fast then 1/2 else 2/3)  output tick }
    }
    check ticking: D{0} [ F stopped ]
    refute ticking: dp(ln 2)
    check ticking: P=1 [ F stopped ]
    """
    assert check_text(text)["ok"], check_text(text)
    same = text.replace("1/2 else 2/3", "1/2 else 1/2")
    assert verdicts(check_text(same))[1] == "holds"


# --- answers as JSON -------------------------------------------------------------------------


def test_the_survey_report_has_the_promised_keys_and_values():
    text = SURVEY + "refute survey: dp(ln 2)\ncompute survey: epsilon"
    report = check_text(text)
    assert report["schema"] == 1
    assert report["ok"] is True
    refuted, computed = report["results"]
    assert isinstance(refuted.pop("seconds"), float)
    expected = {
        "line": 8,
        "name": None,
        "kind": "refute",
        "target": "survey",
        "claim": "dp(ln 2)",
        "verdict": "violated",
        "ok": True,
        "states": 4,
        "transitions": 4,
        "neighbor_pairs": 1,
        "vacuous": False,
    }
    assert {key: refuted[key] for key in expected} == expected
    found = refuted["counterexample"]
    assert found["ratio"] == "3"
    assert found["excess"] == {"exact": "1/4", "decimal": "0.25"}
    assert (found["states"], found["event"], found["probabilities"]) in [
        (["x = pos", "x = neg"], ["Y"], ["3/4", "1/4"]),
        (["x = neg", "x = pos"], ["N"], ["3/4", "1/4"]),
    ]
    assert computed["kind"] == "compute"
    assert computed["verdict"] == "value"
    assert computed["ok"] is True
    assert computed["value"] == {"exact": "ln(3)", "exp": "3", "decimal": "1.0986122886681097"}
    assert computed["line"] == 9


def test_an_infinite_epsilon_is_written_inf():
    text = """
    mechanism exact { input x in 0..1 adjacent all output x }
    compute exact: epsilon
    refute exact: dp(10)
    compute exact: delta(0)
    """
    infinite, refuted, certain = check_text(text)["results"]
    assert infinite["value"]["exact"] == "inf"
    assert refuted["counterexample"]["ratio"] == "inf"
    assert certain["value"]["exact"] == "1"
    assert certain["value"]["decimal"] == "1"


def test_values_that_are_probabilities_are_exact_fractions_and_correct_decimals():
    text = (
        SURVEY
        + """
    mechanism four { input x in {pos, neg} adjacent all repeat 4 { run survey(x = x) } }
    compute four: delta(ln 3)
    compute four at x = pos : P=? [ X (Y & X N) ]
    """
    )
    delta, chance = check_text(text)["results"]
    assert delta["value"] == {"exact": "75/128", "decimal": "0.5859375"}
    assert chance["value"] == {"exact": "3/16", "decimal": "0.1875"}
