"""Claims about all values of a parameter against the ordinary engine at single values."""

import random
import re
from fractions import Fraction
from math import comb, exp, log
from pathlib import Path

import pytest

import dpcheck
from dpcheck.check.all_values import formulas
from dpcheck.check.all_values.decide import violated_somewhere
from dpcheck.check.all_values.piecewise import between_for_all
from dpcheck.check.quantities import seen_pairs
from dpcheck.check.values.verdicts import (
    AllValues,
    Counterexample,
    Holds,
    Outcome,
    Phrase,
    Piece,
    Vacuity,
    Violated,
)
from dpcheck.exact import Budget, Param
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.limits import Limit, LimitReached
from dpcheck.logic.claims import ForAll, PrivacyClaim, QuantityValue, TightDelta
from dpcheck.pipeline.claims.search import NOTHING
from tests.check.building import SPAN
from tests.checking import called, check_text, error_codes, verdicts

MODELS = Path(__file__).parents[2] / "models" / "all_values"

MODEL = """
param alpha in (0, 1)

mechanism geometric_count(n = 3) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  y ~ geometric(x, alpha) clamped 0..n
  output y
}
mechanism cut(n = 3) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  y ~ geometric(x, alpha) conditioned 0..n
  output y
}
mechanism rr(k = 3) {
  input x in {true, false}
  adjacent all
  for i in 1..k { y ~ bernoulli(if x then alpha else 1 - alpha)  output y }
}
mechanism above(k = 2, n = 2) {
  input  q[1..k] in 0..n
  public t in 0..n
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, alpha^2) clamped 0..n
  for i in 1..k {
    noisy_q ~ geometric(q[i], alpha) clamped 0..n
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
mechanism rejecting(n = 2) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  y := 0
  while y = 0 { y ~ geometric(x, alpha) clamped 0..n }
  output y
}
"""

CLAIMS = [
    "geometric_count: dp(-ln alpha)",
    "geometric_count: dp(-ln(alpha)/2)",
    "geometric_count: dp(ln 3)",
    "geometric_count: dp(ln(2)/2)",
    "geometric_count: epsilon = -ln alpha",
    "geometric_count: epsilon < ln 2",
    "geometric_count: epsilon >= ln 2",
    "geometric_count: epsilon != ln 2",
    "geometric_count: P>=1/4 [ X output = 0 ]",
    "geometric_count: P<alpha [ X output = x ] | D{ln 2} [ X output = 1 ]",
    "geometric_count: D{ln(2)/2, 1/9} [ X output = 0 ] & P>0 [ X output = 3 ]",
    "geometric_count: D{-ln(alpha)/2, alpha/9} [ X output = 0 ]",
    "geometric_count at x = 1 : P=? [ X output = x ] < 1/3",
    "geometric_count at x = 1 : P=? [ X output = x ] = 1/3",
    "cut: dp(ln(5/2))",
    "cut: dp(-ln alpha, 3/50)",
    "rr: dp(-ln alpha, 1/4)",
    "rr: dp(ln(3)/2, 1/3)",
    "rr: delta(-ln alpha) <= 1/4",
    "rr: delta(ln 2) = alpha",
    "rr: delta(ln 2) >= 1/5",
    "rr: delta(0) < 1/2",
    "rr: epsilon(1/10) <= ln 3",
    "rr: epsilon(1/10) > ln 3",
    "rr: epsilon(1/10) < ln 3",
    "cut: epsilon(1/20) >= ln 2",
    "cut: epsilon(alpha/20) = ln 2",
    "above: epsilon(1/5) != ln 2",
    "group(rr(k = 1), 1): dp(ln 2)",
    "group(geometric_count, 2): dp(ln 4)",
    "above: dp(-2 * ln alpha)",
    "above: dp(ln 5)",
    "above: epsilon < ln 8",
    "rejecting: dp(ln 3)",
    "rejecting: epsilon <= -2 * ln alpha",
]


def asked(head, claims=CLAIMS):
    """Return the model with its parameter declared as `head` says, and the claims."""
    checks = "\n".join(f"check {claim}" for claim in claims)
    return MODEL.replace("param alpha in (0, 1)", head) + checks


def fails_at(result, value):
    """Return whether a report says that a claim fails at a value."""
    for interval in result["values"]["fails_for"]:
        ends = (interval["from"], interval["to"])
        low, high = (end_of(end) for end in ends)
        first, last = (not is_open for is_open in interval["open"])
        if low < value < high or (first and value == low) or (last and value == high):
            return True
    return False


def end_of(end):
    """Return an end as a number: an irrational one by its digits, and no end as one far away."""
    if "inf" in end["decimal"]:
        return Fraction(end["decimal"].replace("inf", "1e9"))
    exact = end.get("exact", "ln")
    return Fraction(end["decimal"] if "ln" in exact else exact)


def beside_ends(result):
    """Return values just beside the ends of a set, and its rational ends."""
    values = set()
    for interval in result["values"]["fails_for"]:
        for end in (interval["from"], interval["to"]):
            at = Fraction(end.get("exact", end["decimal"]))
            values |= {at - Fraction(1, 10**9), at + Fraction(1, 10**9)}
            values |= {at} if "exact" in end else set()
    return {value for value in values if 0 < value < 1}


def test_the_failing_sets_are_those_of_the_ordinary_engine():
    every = check_text(asked("param alpha in (0, 1)"), "--explain", "none")["results"]
    results = dict(zip(CLAIMS, every, strict=True))
    draw = random.Random(1)
    wanted = {claim: beside_ends(result) for claim, result in results.items()}
    values = draw.sample(sorted(set().union(*wanted.values())), 12)
    values += [Fraction(draw.randint(1, 99), 100) for _ in range(2)]
    seen = []
    for value in values:
        claims = [claim for claim in CLAIMS if value in wanted[claim]] + draw.sample(CLAIMS, 4)
        text = asked(f"const alpha = {value}", claims)
        ordinary = verdicts(check_text(text, "--explain", "none"))
        for claim, verdict in zip(claims, ordinary, strict=True):
            assert fails_at(results[claim], value) == (verdict == "violated"), (claim, value)
            seen.append(verdict)
    assert min(seen.count("holds"), seen.count("violated")) > 15


def test_a_violated_claim_shows_what_the_ordinary_engine_finds_there():
    results = check_text(asked("param alpha in (0, 1)"))["results"]
    violated = [(c, r) for c, r in zip(CLAIMS, results, strict=True) if r["verdict"] == "violated"]
    sample = violated[0][1]["values"]["sample"]
    assert sample == "1/2"
    same = [(c, r) for c, r in violated if r["values"].get("sample") == sample]
    ordinary = check_text(asked(f"const alpha = {sample}", [c for c, _ in same]))["results"]
    for (_, result), other in zip(same, ordinary, strict=True):
        assert result["counterexample"] == other["counterexample"]


QUANTITIES = [
    "geometric_count: epsilon",
    "cut: epsilon",
    "cut(n = 5): epsilon",
    "rr(k = 2): epsilon",
    "above: epsilon",
    "cut: epsilon(1/20)",
    "rr(k = 2): epsilon(alpha/9)",
    "above: epsilon(1/5)",
    "rr: delta(-ln alpha)",
    "rr: delta(ln 2)",
    "rr: delta(0)",
    "geometric_count at x = 1 : P=? [ X output = 0 ]",
    "rejecting at x = 1 : P=? [ X output = 2 ]",
]


def test_pieces_have_the_values_of_the_ordinary_engine():
    text = MODEL + "\n".join(f"compute {quantity}" for quantity in QUANTITIES)
    results = check_text(text)["results"]
    assert any(len(result["pieces"]) > 2 for result in results)
    for value in ("1/9", "3/7", "1/2", "4/7", "8/9"):
        chosen = [expression_at(result, Fraction(value)) for result in results]
        head = f"const alpha = {value}\n" + MODEL.replace("param alpha in (0, 1)", "")
        claims = zip(QUANTITIES, chosen, strict=True)
        checks = "\n".join(f"check {quantity} = {exact}" for quantity, exact in claims)
        assert set(verdicts(check_text(head + checks))) == {"holds"}, value


def expression_at(result, value):
    """Return the expression of the piece that a value lies in."""
    for piece in result["pieces"]:
        low, high = (Fraction(end) for end in piece["in"][1:-1].split(","))
        if low < value < high or (value == low and piece["in"][0] == "["):
            return piece["exact"]
    raise AssertionError(f"{value} lies in no piece")


DELTA = "check m: delta(eps/4) <= 1/10"


def test_budgets_of_a_parameter_that_stands_in_exp():
    text = """
    param eps > 0
    mechanism m(n = 2) {
      input x in 0..n
      adjacent abs(x - x') <= 1
      y ~ geometric(x, exp(-eps/2)) clamped 0..n
      output y
    }
    check m: dp(eps/2)
    check m: dp(eps/3)
    check m for eps in (0, ln 9]: dp(ln 3)
    check m: dp(ln 3)
    """
    first, second, third, fourth, fifth = check_text(text + DELTA)["results"]
    assert first["verdict"] == "holds"
    assert second["values"]["fails_for"][0]["to"]["exact"] == "inf"
    assert second["values"]["sample"] == "1"
    assert third["verdict"] == "holds"
    assert third["values"]["in"] == "(0, ln(9)]"
    assert fourth["values"]["fails_for"][0]["from"]["exact"] == "ln(9)"
    end = Fraction(fifth["values"]["fails_for"][0]["from"]["decimal"])
    for step, verdict in ((-1, "holds"), (1, "violated")):
        at = f"const eps = {(end + Fraction(step, 500)).limit_denominator(1000)}"
        chosen = text[: text.index("check m")].replace("param eps > 0", at)
        assert verdicts(check_text(chosen + DELTA, "--explain", "none")) == [verdict]


RESPONSE = """
param p in [0, 1]
mechanism rr(truth = p) {
  input x in {true, false}
  adjacent all
  b ~ bernoulli(truth)
  output if b then x else !x
}
"""


@pytest.mark.parametrize(
    ("asked", "pieces"),
    [
        ("rr: delta(0)", {"[0, 1/2)": "1 - 2*p", "[1/2, 1]": "2*p - 1"}),
        (
            "rr: epsilon",
            {"{0}": "inf", "(0, 1/2)": "ln((1 - p)/p)", "[1/2, 1)": "ln(p/(1 - p))", "{1}": "inf"},
        ),
        ("rr for p in (0, 1/2]: delta(0)", {"(0, 1/2]": "1 - 2*p"}),
        (
            "rr(truth = (2*p - 1)^2) at x = true: P=? [ X output = true ]",
            {"[0, 1]": "4*p^2 - 4*p + 1"},
        ),
    ],
)
def test_single_values_belong_to_the_pieces_beside_them_that_have_them(asked, pieces):
    (result,) = check_text(f"{RESPONSE}compute {asked}")["results"]
    assert {each["in"]: each["exact"] for each in result["pieces"]} == pieces


@pytest.mark.parametrize(
    ("asked", "pieces"),
    [
        ("rr: delta(0)", {"[0, inf)": "(exp(eps) - 1)/(exp(eps) + 1)"}),
        ("rr: delta(eps/2)", {"[0, inf)": "(exp(eps) - exp(eps/2))/(exp(eps) + 1)"}),
        ("rr: delta(ln 2)", {"[0, ln(2)]": "0", "(ln(2), inf)": "(exp(eps) - 2)/(exp(eps) + 1)"}),
        ("rr at x = true: P=? [ X output = true ]", {"[0, inf)": "exp(eps)/(exp(eps) + 1)"}),
    ],
)
def test_the_end_of_an_exponent_belongs_to_the_piece_that_has_its_value(asked, pieces):
    text = RESPONSE.replace("p in [0, 1]", "eps in [0, inf)")
    text = text.replace("truth = p", "truth = exp(eps)/(1 + exp(eps))")
    (result,) = check_text(f"{text}compute {asked}")["results"]
    assert {each["in"]: each["exact"] for each in result["pieces"]} == pieces


def test_a_quantity_that_is_one_number_for_all_values_has_it_as_value():
    text = RESPONSE.replace("bernoulli(truth)", "bernoulli(1/3) c ~ bernoulli(truth)")
    results = check_text(f"{text}compute rr: epsilon compute rr: delta(0)")["results"]
    assert [result["value"]["exact"] for result in results] == ["ln(2)", "1/3"]
    (result,) = check_text(f"{RESPONSE}compute rr: delta(0)")["results"]
    assert "value" not in result
    shown = RESPONSE.replace("output", "output x\n  output")
    (result,) = check_text(f"{shown}compute rr: epsilon")["results"]
    assert result["value"] == {"exact": "inf", "exp": "inf", "decimal": "inf"}


def failing(claim, text=RESPONSE):
    """Return the values for which a claim fails, as intervals are written."""
    (result,) = check_text(f"{text}check {claim}", "--explain", "none")["results"]
    found = []
    for each in result["values"]["fails_for"]:
        low, high = each["from"]["exact"], each["to"]["exact"]
        first, last = each["open"]
        interval = f"{'(' if first else '['}{low}, {high}{')' if last else ']'}"
        found.append(f"{{{low}}}" if low == high else interval)
    return " ".join(found)


OUTER, INNER = "[0, 1/4) (3/4, 1]", "(1/4, 3/4)"
OUTER_WITH_ENDS, INNER_WITH_ENDS, ENDS = "[0, 1/4] [3/4, 1]", "[1/4, 3/4]", "{1/4} {3/4}"
EACH = {
    "<=": OUTER,
    "<": OUTER_WITH_ENDS,
    ">=": INNER,
    ">": INNER_WITH_ENDS,
    "=": f"[0, 1/4) {INNER} (3/4, 1]",
    "!=": ENDS,
}


@pytest.mark.parametrize("comparison", EACH)
def test_each_comparison_fails_exactly_where_it_is_false(comparison):
    """At 1/4 and 3/4 δ(0) is 1/2, and ε is ln 3; at 0 and 1 ε is infinite."""
    assert failing(f"rr: delta(0) {comparison} 1/2") == EACH[comparison]
    assert failing(f"rr: epsilon {comparison} ln 3") == EACH[comparison]
    squared = "rr(truth = (2*p - 1)^2) at x = true: P=? [ X output = true ]"
    assert failing(f"{squared} {comparison} 1/4") == EACH[comparison]


@pytest.mark.parametrize(
    ("claim", "fails"),
    [
        ("epsilon < inf", "{0} {1}"),
        ("epsilon = inf", "(0, 1)"),
        ("epsilon > 0", "{1/2}"),
        ("epsilon <= 0", "[0, 1/2) (1/2, 1]"),
        ("epsilon >= 0", ""),
        ("dp(0)", "[0, 1/2) (1/2, 1]"),
        ("epsilon(1/10) <= ln 3", "[0, 9/40) (31/40, 1]"),  # p - 3(1 - p) > 1/10
        ("epsilon(1/10) > ln 3", "[9/40, 31/40]"),
        ("dp(ln 3, 1/10)", "[0, 9/40) (31/40, 1]"),
        ("delta(ln 3) < 1/10", "[0, 9/40] [31/40, 1]"),
        ("D{ln 3} [ X output = true ]", OUTER),
        ("D{ln 3, 1/10} [ X output = true ]", "[0, 9/40) (31/40, 1]"),
        ("P>=1/4 [ X output = true ]", OUTER),
        ("P>1/4 [ X output = true ]", OUTER_WITH_ENDS),
        ("P<=3/4 [ X output = true ]", OUTER),
        ("P<3/4 [ X output = true ]", OUTER_WITH_ENDS),
        ("P in [1/4, 3/4] [ X output = true ]", OUTER),
        ("!(P in [1/4, 3/4] [ X output = true ])", INNER_WITH_ENDS),
        ("P=p [ X output = x ]", ""),
        ("P>=1/4 [ X output = true ] & P<=1 [ X output = x ]", OUTER),
        ("P<1/4 [ X output = true ] | P>1/4 [ X output = true ]", ENDS),
    ],
)
def test_sets_of_values_are_those_of_arithmetic(claim, fails):
    assert failing(f"rr: {claim}") == fails


def test_one_expression_is_shown_without_a_table(tmp_path):
    model = tmp_path / "rr.dpm"
    model.write_text(f"{RESPONSE}compute rr for p in (0, 1/2]: delta(0)")
    text = called("check", model).stdout
    assert "1 - 2*p for all p in (0, 1/2]" in text
    assert "rows" not in text


@pytest.mark.parametrize(
    ("head", "claim"),
    [
        ("rr", "P>=1/3 [ X P>=0 [ X true ] ]"),
        ("rr", "D{ln 3} [ F D{ln 2} [ X output = true ] ]"),
        ("rr", "renyi(2) <= ln 2"),
        ("rr", "epsilon = renyi(2)"),
        ("rr", "dp(1)"),  # a budget that has no place beside a parameter
        ("compose(rr, 2)", "dp(ln 3)"),
    ],
)
@pytest.mark.parametrize(
    ("declared", "part"),
    [("(0, 1)", "[1/3, 1/3]"), ("[1/3, 1)", "[0, 1/3]"), ("(0, 1/3]", "[1/3, 2/3)")],
)
def test_a_part_of_one_value_asks_of_the_ordinary_mechanism(head, claim, declared, part):
    model = RESPONSE.replace("[0, 1]", declared)
    (chosen,) = check_text(f"{RESPONSE}check {head}: {claim}", "-D", "p=1/3")["results"]
    report = check_text(f"{model}check {head} for p in {part}: {claim}")
    (result,) = report["results"]
    assert result["verdict"] == chosen["verdict"]
    assert result["values"]["in"] == "{1/3}"
    assert result.get("counterexample") == chosen.get("counterexample")


def test_a_part_of_one_value_is_computed_as_the_ordinary_mechanism():
    model = f"{RESPONSE}compute rr for p in [1/3, 1/3]:"
    (result,) = check_text(f"{model} epsilon")["results"]
    assert result["value"]["exact"] == result["pieces"][0]["exact"] == "ln(2)"
    (result,) = check_text(f"{model} profile")["results"]
    assert result["table"]["name"] == "profile"


FAR = """
param p in (0, 1)
mechanism asks {
  input x in 0..1
  adjacent all
  query c in {low, high}
  b ~ bernoulli(if x = 0 then (if c = low then p/2 else p) else 1/4)
  output b
}
mechanism goes_on {
  input x in 0..1
  adjacent all
  go := true
  while go {
    query c in {low, high} fixed
    b ~ bernoulli(if x = 0 then (if c = low then p/2 else p) else 1/4)
    output b
    go ~ bernoulli(1/2)
  }
}
mechanism counts {
  input x in integers
  adjacent abs(x - x') <= 1
  z ~ geometric(x, p) unbounded
  output z
}
"""


@pytest.mark.parametrize(
    "claim",
    [
        *("asks: dp(0)", "asks: dp(10)", "asks: delta(1) <= 1/3", "goes_on: dp(4)"),
        *("goes_on: P<=1/3 [ X output ]", "counts: dp(0)", "counts: dp(1)", "counts: epsilon = 1"),
    ],
)
def test_one_value_is_asked_of_analysts_and_all_integers_as_if_it_were_chosen(claim):
    target, _, asked = claim.partition(": ")
    (chosen,) = check_text(f"{FAR}check {claim}", "-D", "p=1/2")["results"]
    (result,) = check_text(f"{FAR}check {target} for p in [1/2, 1/2]: {asked}")["results"]
    assert result["verdict"] == chosen["verdict"] != "undecided"
    assert result["values"]["in"] == "{1/2}"
    for key in ("counterexample", "value", "beside", "strategy"):
        assert result.get(key) == chosen.get(key)


@pytest.mark.parametrize("target", ["asks", "goes_on", "counts"])
def test_weights_are_such_for_all_values_where_one_is_asked_of_analysts_and_integers(target):
    text = f"{FAR}check {target} for p in [1/4, 1/4]: dp(10)"
    assert error_codes(check_text(text)) == []
    wrong = text.replace("then p/2", "then 2*p").replace("(x, p)", "(x, 2*p)")
    assert error_codes(check_text(wrong)) == ["DP211"]


def test_one_value_of_several_parameters_is_still_too_little():
    model = f"param q in (0, 1)\n{RESPONSE}check rr for p in [1/3, 1/3]: dp(-ln q)"
    assert error_codes(check_text(model)) == ["DP626"]


def test_a_loop_over_the_name_of_a_parameter_asks_of_it_only_where_it_says_so():
    model = f"{RESPONSE}for p in {{1/2, 1/3}} {{ check rr%s }}"
    assert error_codes(check_text(model % ": dp(ln 2)")) == ["DP414"]
    assert error_codes(check_text(model % ": dp(-ln p)")) == ["DP414"]
    report = check_text(model % " for p in [p, p]: dp(ln 2)")
    assert [r["values"]["in"] for r in report["results"]] == ["{1/2}", "{1/3}"]
    assert verdicts(check_text(model % "(truth = p): dp(-ln p)")) == ["holds", "holds"]
    assert verdicts(check_text(model % ": dp(-ln p)", "-D", "p=1/2")) == ["holds", "holds"]


STRICT = """
param a in [0, 1]
mechanism noise(ratio = 1/2) {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ geometric(x, ratio) clamped 0..2
  output y
}
mechanism either(first = a, second = a^2) {
  input x in 0..2
  adjacent all
  y ~ {A: first, B: second} normalized
  output y
}
check %s for a in (1/3, 1/2): dp(ln 3)
"""


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("noise(ratio = a)", "a = 0"),
        ("noise(ratio = (1 + a)/2)", "a = 1"),
        ("noise(ratio = 2*a + 1/4)", "a = 1/2"),  # inside of the interval
        ("either", "a = 0"),
        ("either(second = 1 - a)", None),
        ("noise(ratio = (1 + a)/4)", None),
    ],
)
def test_weights_are_weights_on_the_whole_interval_whatever_part_is_asked(target, place):
    report = check_text(STRICT % target)
    assert error_codes(report) == ([] if place is None else ["DP211"])
    assert all(mistake["message"].endswith(place) for mistake in report.get("errors", ()))


@pytest.mark.parametrize(
    ("part", "value"), [("[1/4, 1/3]", "1/3"), ("(1/4, 1/3)", "2/7"), ("(0, 1)", "1/2")]
)
def test_a_value_that_is_offered_is_one_of_those_asked(part, value):
    for claim in ("renyi(2) <= ln 2", "dp(1)"):
        (mistake,) = check_text(f"{RESPONSE}check rr for p in {part}: {claim}")["errors"]
        assert f"`for p in [{value}, {value}]` in place of" in mistake["help"]


ENDLESS = """
param p in (0, 1)
param eps > 0
mechanism endless(truth = p) {
  input x in 0..1
  adjacent all
  y ~ bernoulli(if x = 0 then truth else 1/2)
  while true {
    z ~ bernoulli(1/3)
    output if z then y else z
  }
}
"""

MAY_END = ENDLESS.replace(
    "if z then y else z", "if z then y else z  s ~ bernoulli(1/8)  if s { stop }"
)


@pytest.mark.parametrize(
    ("claim", "ends", "is_exact"),
    [
        ("endless: dp(ln(5/4))", [("0", "2/5"), ("0.60000", "1")], False),
        ("endless: delta(0) <= 1/10", [("0", "0.37499"), ("0.62500", "1")], False),
        ("endless for p in (1/4, 1/2): dp(ln(5/4))", [("1/4", "2/5")], True),
        ("endless for p in [1/3, 1/2): epsilon <= ln(5/4)", [("1/3", "2/5")], True),
        ("endless for p in [2/5, 3/5]: dp(ln(5/4))", [], True),
        ("endless: dp(-ln(p*(1-p)))", [], True),
        ("endless(truth = 1/(1 + exp(-eps))): dp(eps/4)", [("0", "49.1269")], False),
        (
            "endless(truth = 1/(1 + exp(-eps))) for eps in (0, ln 2): dp(eps/4)",
            [("0", "ln(2)")],
            True,
        ),
    ],
)
def test_what_is_hidden_is_told_by_more_outputs_better_and_better(claim, ends, is_exact):
    """A run that may end tells what it hides with some probability only."""
    result = check_text(f"{MAY_END}check {claim}", "--explain", "none")["results"][0]
    assert fails_between(result) == ends
    assert ("at_least" not in result["values"]) == is_exact
    assert result["verdict"] == ("violated" if ends else "holds")


@pytest.mark.parametrize(
    ("claim", "ends"),
    [
        ("endless: dp(ln(5/4))", [("0", "2/5"), ("3/5", "1")]),
        ("endless: delta(0) <= 1/10", [("0", "2/5"), ("3/5", "1")]),
        ("endless(truth = 1/(1 + exp(-eps))): dp(eps/4)", [("0", "inf")]),
    ],
)
def test_what_is_hidden_is_known_of_runs_that_never_end(claim, ends):
    result = check_text(f"{ENDLESS}check {claim}", "--explain", "none")["results"][0]
    assert fails_between(result) == ends
    assert "at_least" not in result["values"]


def fails_between(result):
    """Return the ends of the intervals for which a claim fails, in short."""
    return [
        tuple(
            min(end.get("exact", end["decimal"]), end["decimal"][:7], key=len)
            for end in (interval["from"], interval["to"])
        )
        for interval in result["values"]["fails_for"]
    ]


ASKED_FOR_EVER = ENDLESS.replace("while true {", "while true {\n    query c in {1, 2}")


@pytest.mark.parametrize(
    ("claim", "at"),
    [
        ("endless: dp(ln(5/4))", "2/3"),  # at 1/2 it holds
        ("endless for p in (1/4, 1/2): dp(ln(5/4))", "1/3"),
        ("endless for p in [1/3, 1/2): epsilon <= ln(5/4)", "1/3"),
        ("endless(truth = 1/(1 + exp(-eps))): dp(eps/4)", "1"),
        ("endless(truth = 1/(1 + exp(-eps))) for eps in (0, ln 2): dp(eps/4)", "1/2"),
    ],
)
def test_what_is_too_much_for_all_values_is_violated_where_one_that_is_tried_fails(claim, at):
    """Strategies of an analyst who asks for ever are not compared; the set may be larger."""
    refuted, result = check_text(f"{ASKED_FOR_EVER}refute {claim} check {claim}")["results"]
    assert refuted["ok"]
    assert result["verdict"] == "violated"
    (single,) = result["values"]["fails_for"]
    assert (single["from"]["exact"], single["to"]["exact"]) == (at, at)
    assert result["values"]["sample"] == at
    assert result["values"]["at_least"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"{ASKED_FOR_EVER}check endless: epsilon = ln(5/4)", "1/2"),  # the one that was tried
        (f"{RESPONSE}check rr for p in [1/3, 1/3]: epsilon = 0", "1/3"),
    ],
)
def test_a_quantity_that_violates_stands_with_the_value_at_which_it_is_that(tmp_path, text, value):
    model = tmp_path / "model.dpm"
    model.write_text(text)
    (line,) = re.findall(".*violated: it is.*", called("check", model).stdout)
    assert f" at p = {value}" in line


def test_what_is_too_much_for_all_values_stays_undecided_where_none_fails():
    claims = "check endless: dp(-ln(p*(1-p))) compute endless: epsilon"
    assert verdicts(check_text(ASKED_FOR_EVER + claims)) == ["undecided", "undecided"]
    assert verdicts(check_text(f"{MAY_END}compute endless: epsilon")) == ["undecided"]


def test_a_budget_with_a_long_exponent_has_a_sign_but_no_power():
    """e^budget = alpha^-(2^63) is too long to write down; that it is at least 1 is read off."""
    text = """
param alpha in (0, 1)
mechanism m {
  input x in 0..1
  adjacent all
  z ~ geometric(x, alpha) unbounded
  output z >= 1
}
check m: dp(SIGN(2^63) * ln alpha)
"""
    (result,) = check_text(text.replace("SIGN", "-"))["results"]
    assert result["verdict"] == "undecided"
    (mistake,) = check_text(text.replace("SIGN", ""))["errors"]
    assert mistake["code"] == "DP628"


def test_epsilon_is_0_for_all_values_where_no_inputs_are_neighbors():
    text = """
param a in (0, 1)
mechanism m { input x in 0..0  adjacent all  y ~ bernoulli(a)  output y }
check  m: epsilon = 0
check  m: epsilon >= 0
refute m: epsilon > 0
"""
    report = check_text(text)
    assert verdicts(report) == ["holds", "holds", "violated"]
    assert all(result["vacuous"] for result in report["results"])


WAITING = """
param p in [0, 1]
mechanism m(a = p) {
  input x in 0..1
  adjacent all
  c := 0
  while c = 0 {
    y ~ bernoulli(a)
    if y { c := 1  output x }
  }
}
mechanism never(a = p) {
  input x in 0..1
  adjacent all
  while true {
    y ~ bernoulli(a)
    if y { output x }
  }
}
"""


@pytest.mark.parametrize(
    ("asked", "kinds"),
    [
        ("m: P<1/2 [ F diverged ]", []),  # at 0 no run ends
        ("m for p in [0, 1/2]: P<1/2 [ F diverged ]", []),
        ("m at x = 1: P=? [ F diverged ] = 0", []),
        ("m for p in (0, 1]: P<1/2 [ F diverged ]", ["unsatisfied atom"]),
        ("m for p in [0, 1/2]: P<=1 [ F output = 1 ]", []),  # at 0 there is no output
        ("m for p in [1/4, 1/2]: P<1/2 [ F diverged ]", ["unsatisfied atom"]),
        ("m for p in [0, 0]: P<1/2 [ F diverged ]", []),
        ("m: P<1/2 [ F output = 2 ]", ["unsatisfied atom"]),
        ("m: P<1/2 [ F (diverged | output = 2) ]", ["unsatisfied atom"]),
        ("m: D{0} [ F diverged ]", []),  # 0 on both sides, but at 0 it is 1
        ("m for p in (0, 1]: D{0} [ F diverged ]", ["trivial probability", "unsatisfied atom"]),
        ("m for p in [0, 1/2]: D{0} [ F output = 2 ]", ["trivial probability", "unsatisfied atom"]),
        ("never: P<1/2 [ F diverged ]", []),
    ],
)
def test_a_reason_why_a_claim_says_little_is_one_for_every_value(asked, kinds):
    results = check_text(f"{WAITING}check {asked} refute {asked}")["results"]
    assert [[why["kind"] for why in each.get("vacuity", ())] for each in results] == [kinds] * 2


def test_a_computed_value_says_little_where_it_does_for_every_value():
    asked = "compute m at x = 1: P=? [ F {} ]\n"
    dead, alive = check_text(WAITING + asked.format("output = 2") + asked.format("diverged"))[
        "results"
    ]
    assert (dead["vacuous"], alive["vacuous"]) == (True, False)


def test_a_reason_at_the_one_value_that_was_tried_is_none_for_all_values():
    param = Param("p", 0, 1)
    why = Vacuity("unsatisfied atom", "no reachable state satisfies `diverged`")
    violated = Violated(Counterexample((), (), (), Phrase(())))
    claim = PrivacyClaim(Budget.of(0), 0, SPAN)
    for_all = ForAll(param, is_exponential=False, span=SPAN)
    found = violated_somewhere(claim, for_all, (), lambda _: Outcome(violated, NOTHING, (why,)))
    assert found is not None
    assert found.vacuity == ()


EXPONENTS = """
dist scored(x, e) = { k: exp(-e * abs(k - x) / 2) for k in 0..2 } normalized

mechanism direct {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ { k: exp(-eps * abs(k - x) / 2) for k in 0..2 } normalized
  output y
}
mechanism given(e = eps) {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ scored(x, e)
  output y
}
"""


def test_exponents_that_are_known_on_a_run_are_multiples_of_a_parameter():
    asked = ["direct: epsilon", "given: delta(ln 2)", "given(e = eps/3): epsilon"]
    text = EXPONENTS + "".join(f"compute {each}\n" for each in asked)
    results = check_text("param eps > 0\n" + text)["results"]
    texts = [result["pieces"][-1]["exact"] for result in results]
    for value in (2, 7 / 3, 5):
        expected = [eval(each, {"ln": log, "exp": exp, "eps": value}) for each in texts]
        ordinary = check_text(f"const eps = {Fraction(value).limit_denominator(9)}\n" + text)
        found = [float(result["value"]["decimal"]) for result in ordinary["results"]]
        assert found == pytest.approx(expected)


def test_an_argument_that_stands_inside_and_outside_of_exp_is_a_mistake():
    drawn = EXPONENTS.replace("exp(-e *", "(1 + e) * exp(-e *")
    report = check_text("param eps > 0\n" + drawn + "check given: dp(eps)")
    assert error_codes(report) == ["DP626"]


POWERS = """
mechanism answer {
  input x in {true, false}
  adjacent all
  y ~ bernoulli(if x then YES else NO)
  output y
}
mechanism count {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ geometric(x, exp(-eps/2)) clamped 0..2
  output y
}
"""
POWER_CLAIMS = [
    "answer: dp(eps)",
    "answer: dp(eps/4, 1/5)",
    "answer: dp(ln 2)",
    "answer: epsilon >= ln 3",
    "answer: delta(ln 2) <= 1/10",
    "answer: P>=1/2 [ X output = true ] | D{eps/3} [ X output = false ]",
    "count: dp(ln 3)",
    "count: epsilon = eps/2",
    "count: dp(eps/3, 1/9)",
]


@pytest.mark.parametrize(
    ("head", "yes", "no"),
    [
        ("[1/2, 3]", "exp(eps)/(1 + exp(eps))", "1/(1 + exp(eps))"),
        ("(0, 2/3)", "exp(eps) - 1", "(exp(eps) - 1)^2"),  # no probability at eps = 1
        ("(2, 3)", "1/(exp(eps) - 6)", "1/2"),  # another sign at eps = 1
        ("[2, inf)", "1/2", "1/(exp(eps/2) - 1)"),
        ("(-1, 3/2)", "exp(eps)/(1 + exp(eps))", "1/(3 + exp(3 * eps/2))"),
        ("(-inf, inf)", "exp(eps)/(1 + exp(eps))", "(1 + exp(eps))/(5 + 2 * exp(2 * eps))"),
    ],
)
@pytest.mark.parametrize("is_negative", [False, True])
def test_powers_of_e_between_ends_fail_where_the_ordinary_engine_says(head, yes, no, is_negative):
    text = POWERS.replace("YES", yes).replace("NO", no)
    low, high = (Fraction(end.replace("inf", "6")) for end in head[1:-1].split(", "))
    claims = POWER_CLAIMS
    if low < 0:
        claims, text = POWER_CLAIMS[2:5], text.replace("exp(-eps/2)", "1/2")
    text += "".join(f"check {claim}\n" for claim in claims)
    if is_negative:
        text = re.sub(r"\beps\b", "(-eps)", text)
        first, last = head[1:-1].split(", ")
        turned = f"{head[-1]}-{last}, -{first}{head[0]}".replace("--", "")
        head = turned.translate(str.maketrans("()[]", ")(]["))
        low, high = -high, -low
    results = check_text(f"param eps in {head}\n{text}", "--explain", "none")["results"]
    draw, seen = random.Random(5), []
    values = [low + (high - low) * Fraction(draw.randint(1, 59), 60) for _ in range(5)]
    values += [low] if head[0] == "[" else []
    values += [high] if head[-1] == "]" else []
    for value in values:
        ordinary = verdicts(check_text(f"const eps = {value}\n{text}", "--explain", "none"))
        for result, claim, verdict in zip(results, claims, ordinary, strict=True):
            assert result["verdict"] in ("holds", "violated")
            assert fails_at(result, value) == (verdict == "violated"), (claim, value)
            seen.append(verdict)
    assert min(seen.count("holds"), seen.count("violated")) > 5


def test_pieces_that_begin_within_17_digits_of_each_other_are_put_in_no_order():
    """Both ends are roots: which comes first is not told by their digits."""
    claim = QuantityValue(TightDelta(Budget.of(0), None), None)
    sides = []
    for root in ("a^2 - 2*a + 1/2", "a^3 - 3*a + 1"):
        middle = ParamEnd(None, root, "0.29289321881345248", is_open=True)
        first = ParamInterval(ParamEnd("0", None, "0", is_open=True), middle)
        last = ParamInterval(middle, ParamEnd("1", None, "1", is_open=True))
        known = AllValues("a", "(0, 1)", pieces=(Piece(first, "a"), Piece(last, "1")))
        sides.append(Outcome(Holds(), NOTHING, all_values=known))
    limit = Limit("size")
    with pytest.raises(LimitReached, match="17 digits"):
        between_for_all(claim, *sides, limit)
    assert len(between_for_all(claim, sides[0], sides[0], limit).all_values.pieces) == 2


@pytest.mark.parametrize(
    ("yes", "no"),
    [("(3 - exp(eps))/4", "(3 - exp(eps))/2"), ("1/(3 - exp(eps))", "1/(6 - 2 * exp(eps))")],
)
def test_common_factors_that_fall_below_0_beyond_the_last_value_turn_no_comparison(yes, no):
    """3 - e^eps is positive up to ln 3, and its gcd with others is e^eps - 3."""
    text = POWERS.split("mechanism count", maxsplit=1)[0].replace("YES", yes).replace("NO", no)
    asked = text + "compute answer: epsilon\ncompute answer: epsilon(1/20)\n"
    results = check_text("param eps in (0, 2/3]\n" + asked)["results"]
    words = {"ln": log, "exp": exp, "inf": float("inf")}
    for value in ("1/100", "1/5", "1/2", "2/3"):
        ordinary = check_text(f"const eps = {value}\n" + asked)["results"]
        for result, other in zip(results, ordinary, strict=True):
            (text,) = [
                piece["exact"]
                for piece in result["pieces"]
                if end_of(piece["from"]) < Fraction(value) <= end_of(piece["to"])
            ]
            found = eval(text, {**words, "eps": float(Fraction(value))})
            assert found == pytest.approx(float(other["value"]["decimal"]))


def test_outputs_that_are_impossible_on_both_sides_at_a_value_have_a_place_among_ratios():
    report = check_text("""param p in (-inf, inf)
mechanism m {
  input x in 0..1
  adjacent all
  y ~ { 0: p^2, 1: if x = 0 then 1 else 1 } normalized
  output y
}
compute m: epsilon(1/4)
check m: epsilon(1/4) < ln 2
""")
    assert verdicts(report) == ["value", "holds"]


PLANE = """
param alpha in (0, 1)
mechanism count(n = 4) {
  input q[1..2] in 0..n
  adjacent linf(q, q') <= 1
  x ~ geometric(q[1], alpha) clamped 0..n
  output x
}
"""


@pytest.mark.parametrize("budget", ["-ln alpha", "ln(3)", "-ln(alpha)/2"])
def test_two_probabilities_of_neighbors_are_compared_once(monkeypatch, budget):
    compared = []
    above = formulas.where_above
    monkeypatch.setattr(
        formulas, "where_above", lambda *a, **k: compared.append(a[:2]) or above(*a, **k)
    )
    text = f"{PLANE}check count : D{{{budget}}} [ X output = 0 ]"
    check_text(text)
    assert 0 < len(compared) <= 2 * 4 + 5  # of 5 numbers, neighboring or equal ones


def test_no_neighbor_is_asked_after_one_that_violates_a_formula_for_all_values(monkeypatch):
    compared, above = [], formulas.where_above
    monkeypatch.setattr(
        formulas, "where_above", lambda *a, **k: compared.append(a) or above(*a, **k)
    )
    check_text(f"{PLANE}check count : D{{ln 1}} [ X output = 0 ]", "--explain", "none")
    assert len(compared) == 2  # own against own, then the first neighbor


def test_a_probability_is_asked_once_for_all_neighbors_that_it_is_compared_with(monkeypatch):
    asked, known = [], formulas.Truths.probabilities

    def counting(self, path, states):
        asked.extend(states.tolist())
        return known(self, path, states)

    monkeypatch.setattr(formulas.Truths, "probabilities", counting)
    check_text(f"{PLANE}check count : D{{-ln alpha}} [ X output = 0 ]", "--explain", "none")
    assert len(asked) <= 2 * 5 * 5  # of each input, and for what the line is


ANSWERS = """
param p in (1/2, 1)
mechanism answers(k = 30) {
  input x in 0..1
  adjacent all
  repeat k { y ~ bernoulli(if x = 1 then p else 1 - p)  output y }
}
"""


def test_a_billion_sequences_are_merged_by_their_ratios_for_all_values():
    """Thirty randomized answers: δ(0) is the distance of two binomial distributions."""
    report = check_text(
        f"{ANSWERS}check answers: dp(30 * ln(p/(1 - p)))\n"
        "refute answers: dp(29 * ln(p/(1 - p)))\n"
        "compute answers for p in [3/4, 3/4]: delta(0)\n"
        "check answers for p in [3/4, 1): delta(0) >= 0.99",
        *("--timeout", "60"),
    )
    assert verdicts(report) == ["holds", "violated", "value", "holds"]
    p, ways = Fraction(3, 4), [comb(30, k) for k in range(31)]
    yes, no = ([n * q**k * (1 - q) ** (30 - k) for k, n in enumerate(ways)] for q in (p, 1 - p))
    distance = sum(max(0, a - b) for a, b in zip(yes, no, strict=True))
    assert Fraction(report["results"][2]["value"]["exact"]) == distance


@pytest.mark.parametrize(("k", "n_sequences"), [(3, 8), (12, None)])
def test_merged_sequences_are_not_counted(k, n_sequences):
    (answer,) = dpcheck.loads(f"{ANSWERS}check answers(k = {k}): dp(30 * ln(p/(1 - p)))").answers()
    assert answer.outcome.coverage.n_sequences == n_sequences


@pytest.mark.parametrize("model", ["above_threshold", "randomized_response", "noisy_max"])
def test_merged_prefixes_say_for_all_values_what_sequences_say(model, monkeypatch):
    text = (MODELS / f"{model}.dpm").read_text("utf-8")
    listed = check_text(text)["results"]
    monkeypatch.setattr(seen_pairs, "_paired_rows", lambda seen, most: None)
    merged = check_text(text)["results"]
    keys = ("verdict", "values", "value")
    assert [[r.get(k) for k in keys] for r in merged] == [[r.get(k) for k in keys] for r in listed]


def test_delta_without_neighbors_is_0():
    model = "param p in (0, 1) mechanism m { input x in 0..1 adjacent (0, 0) y ~ bernoulli(p)"
    (found,) = check_text(f"{model} output y }}\ncompute m: delta(ln 2)")["results"]
    assert found["value"]["exact"] == "0"


def test_a_formula_at_one_input_is_violated_by_what_exceeds_its_probability():
    model = """param p in (0, 1)
mechanism m {
  input x in 0..1
  adjacent all
  y ~ bernoulli(if x = 1 then p/2 else p)
  output y
}
"""
    claims = [f"check m at x = {x} : D{{ln(3/2)}} [ X output = true ]\n" for x in (0, 1)]
    report = check_text(model + "".join(claims), "--explain", "none")
    assert verdicts(report) == ["violated", "violated"]


@pytest.mark.parametrize(
    ("formula", "fails"),
    [
        ("!P>=1/2 [ X output = true ]", ["{1/2}"]),
        ("P>=1/2 [ X output = true ] | P<1/2 [ X output = true ]", ["(0, 1/2)", "(1/2, 1)"]),
        ("P>=1/2 [ X output = true ] & P<=1/2 [ X output = true ]", ["(0, 1/2)", "(1/2, 1)"]),
    ],
)
def test_parts_of_a_formula_are_true_where_they_are_for_all_fixed_queries(formula, fails):
    model = """param p in (0, 1)
mechanism m {
  input x in 0..1
  adjacent all
  query c in 0..1 fixed
  y ~ bernoulli(if c = 0 then p else 1 - p)
  output y
}
"""
    (found,) = check_text(f"{model}check m: {formula}", "--explain", "none")["results"]
    intervals = found["values"]["fails_for"]
    assert [interval_text(each) for each in intervals] == fails


def interval_text(interval):
    """Return an interval as the language writes it."""
    low, high = (interval[side]["exact"] for side in ("from", "to"))
    if low == high:
        return f"{{{low}}}"
    first, last = interval["open"]
    return f"{'(' if first else '['}{low}, {high}{')' if last else ']'}"


AT_A_ROOT = """
param eps > 0
mechanism m {
  input x in 0..2
  adjacent abs(x - x') = 1
  y ~ geometric(x, exp(-eps/2)) clamped 0..2
  output y
}
"""


@pytest.mark.parametrize(
    ("at", "least"),  # delta(0) is (t - 1)/(t + 1), where t = e^(eps/2)
    [("ln 2", "0.1715728"), ("1 + ln 2", "0.399695"), ("ln 4", "0.3333333")],
)
def test_one_value_may_be_asked_at_which_weights_are_roots(at, least):
    """exp(-eps/2) has no exact value at ln 2: claims for all values of a part have it."""
    head = f"m for eps in [{at}, {at}]:"
    claims = ["dp(eps/2)", f"delta(0) >= {least}", "dp(eps/3)", f"delta(0) >= {least}9"]
    asked = "\n".join([*(f"check {head} {claim}" for claim in claims), f"refute {head} dp(0)"])
    *found, refuted = check_text(AT_A_ROOT + asked)["results"]
    assert [each["verdict"] for each in found] == ["holds", "holds", "violated", "violated"]
    assert refuted["ok"]


def test_what_is_asked_of_single_values_alone_wants_weights_that_have_a_value():
    text = AT_A_ROOT + "check m for eps in [ln 2, ln 2]: renyi(2) <= 1"
    (code,) = error_codes(check_text(text))
    assert code == "DP209"


def test_a_refutation_without_a_rational_value_names_its_only_one(tmp_path):
    place = tmp_path / "m.dpm"
    place.write_text(f"{AT_A_ROOT}refute m for eps in [ln 2, ln 2]: dp(eps/3)", "utf-8")
    assert "violated, as claimed for eps in {ln(2)}, all asked\n" in called("check", place).stdout
