"""Expected values against the mean over all runs, one by one, and against closed forms."""

from __future__ import annotations

import re
from fractions import Fraction
from random import Random

import pytest

import dpcheck
from tests.checking import check_text, error_codes, verdicts


def value_of(text, question):
    report = check_text(f"{text}\ncompute {question}\n")
    assert not report.get("errors"), report["errors"]
    return report["results"][0]["value"]["exact"]


def random_mechanism(choose):
    """Return a mechanism with one to three outputs, which are numbers from 0 to 3."""
    weights = [choose.randrange(1, 4) for _ in range(3)]
    noise = ", ".join(f"{k}: {w}/{sum(weights)}" for k, w in enumerate(weights))
    return f"""
mechanism m {{
  input x in 0..1
  adjacent all
  a ~ {{{noise}}}
  output a + x
  b ~ bernoulli({choose.choice(["1/3", "(a + 1)/4"])})
  if b {{ stop }}
  c ~ uniform(0..2)
  output {choose.choice(["c", "a + c", "c * x"])}
  d ~ bernoulli(if c = x then 1/2 else 1/5)
  if d {{ output a }}
}}
"""


VALUES = {
    "output": lambda x, run: run[-1],
    "outputs": lambda x, run: len(run),
    "(output - x)^2": lambda x, run: (run[-1] - x) ** 2,
    "output(1) * outputs": lambda x, run: run[0] * len(run),
    "outputs^2 * output - 3 * outputs": lambda x, run: len(run) ** 2 * run[-1] - 3 * len(run),
    "if outputs = 2 then output(1) else 1/2": lambda x, run: (
        run[0] if len(run) == 2 else Fraction(1, 2)
    ),
    "if outputs >= 2 then output(2) else 7": lambda x, run: run[1] if len(run) >= 2 else 7,
    "max(output, output(1)) / (outputs + x)": lambda x, run: Fraction(
        max(run[-1], run[0]), len(run) + x
    ),
}


@pytest.mark.parametrize("seed", range(6))
def test_the_mean_over_all_runs(seed):
    text = random_mechanism(Random(seed))
    rows = dpcheck.loads(text).target("m").output_distributions()
    asked = [f"compute m at x = {x} : E=? [ {value} ]" for x in (0, 1) for value in VALUES]
    report = check_text("\n".join([text, *asked]))
    found = [Fraction(result["value"]["exact"]) for result in report["results"]]
    expected = [
        sum(
            Fraction(str(chance)) * mean(x, [int(shown) for shown in re.findall(r"\d+", run)])
            for run, chance in rows[f"x = {x}"].items()
        )
        for x in (0, 1)
        for mean in VALUES.values()
    ]
    assert found == expected


LOOP = """
mechanism loop(p = 1/3) {
  input x in {1, 2}
  adjacent all
  go := true
  while go {
    go ~ bernoulli(p)
    output if go then x else 0
  }
}
"""


@pytest.mark.parametrize(
    ("value", "mean"),
    [
        ("outputs", "3/2"),  # geometric with success 2/3
        ("outputs^2", "3"),
        ("outputs^3", "33/4"),
        ("output(1)", "2/3"),
        ("outputs * (output + output(1))", "5/3"),  # x only where it goes on: 2 (1/3 * (1 + 3/2))
    ],
)
def test_loops_without_bound(value, mean):
    assert value_of(LOOP, f"loop at x = 2 : E=? [ {value} ]") == mean


@pytest.mark.parametrize(
    ("question", "mean"),
    [
        ("loop at x = 2 : E=? [ outputs ]", "exp(1)/(-1 + exp(1))"),  # 1/(1 - p)
        # 2 in the first round with p, 0 else; then 1 + 1/(1 - p) outputs
        ("loop at x = 2 : E=? [ outputs * output(1) ]", "(-2 + 4*exp(1))/(-exp(1) + exp(2))"),
    ],
)
def test_weights_with_powers_of_e(question, mean):
    assert value_of(LOOP.replace("1/3", "exp(-1)"), question) == mean


MAY_GO_ON = """
mechanism m {
  input x in {1, 2}
  adjacent all
  b ~ bernoulli(1/2)
  if b { stop }
  while true { output x }
}
"""


def test_an_infinite_mean():
    assert value_of(MAY_GO_ON, "m at x = 1 : E=? [ outputs ]") == "inf"
    assert value_of(MAY_GO_ON, "m at x = 1 : E=? [ (x - 1) * outputs + 3 ]") == "3"
    assert error_codes(check_text(MAY_GO_ON + "compute m at x = 1 : E=? [ output ]")) == ["DP630"]
    assert value_of(MAY_GO_ON, "m at x = 1 : E=? [ -outputs ]") == "-inf"
    claims = {
        "E>=1000 [ outputs ]": "holds",
        "E<=-1000 [ -outputs ]": "holds",
        "E>=-1000 [ -outputs ]": "violated",
        "E in [-1000, 1000] [ -outputs ]": "violated",
        "E>=0 [ (3 - 2 * x) * outputs ]": "violated",
        "E=0 [ 0 * outputs ]": "holds",
    }
    asked = "".join(f"check m: {claim}\n" for claim in claims)
    for comparison, verdict in {"=": "holds", "<=": "holds", ">": "violated"}.items():
        for sign, claim in {"": "inf", "-": "-inf"}.items():
            word = comparison.replace("<", ">") if comparison == "<=" and not sign else comparison
            word = "<" if (word, sign) == (">", "") else word
            claims[f"{sign}{comparison}"] = verdict
            asked += f"check m at x = 1 : E=? [ {sign}outputs ] {word} {claim}\n"
    asked += "check m at x = 1 : E=? [ -outputs ] < E=? [ -(10^9) ]\n"
    report = check_text(MAY_GO_ON + asked)
    assert verdicts(report) == [*claims.values(), "holds"]
    told = str(report["results"][2]["explanation"])
    assert "x = 1: -inf, wanted at least -1000" in told
    assert "no bound would do" in told


@pytest.mark.parametrize("value", ["output(1) * outputs", "outputs^2 * output(1) + outputs"])
def test_where_some_runs_grow_and_others_fall_there_is_no_mean(value):
    text = """
mechanism m {
  input x in 1..2
  adjacent all
  b ~ bernoulli(1/2)
  output if b then x else -1
  while true { output x }
}
"""
    for claim in (f"compute m at x = 1 : E=? [ {value} ]", f"check m: E<=0 [ {value} ]"):
        report = check_text(f"{text}{claim}\n")
        assert error_codes(report) == ["DP630"]
        assert "some runs grow for ever, and others fall" in report["errors"][0]["message"]
    # Either alone is infinite, for the other runs have finite values.
    assert value_of(text, "m at x = 1 : E=? [ (output(1) + 1) * outputs ]") == "inf"
    assert value_of(text, "m at x = 1 : E=? [ (output(1) - 1) * outputs ]") == "-inf"


def test_an_infinite_mean_hides_no_run_without_a_value():
    text = f"{MAY_GO_ON}compute m at x = 1 : E=? [ outputs + output(1) ]"
    assert error_codes(check_text(text)) == ["DP630"]


def test_a_run_of_probability_zero_needs_no_value():
    text = """
mechanism m {
  input x in {1, 2}
  adjacent all
  b ~ {true: 0, false: 1}
  if b { output top; stop }
  while true { c ~ bernoulli(1/2) if c { output x; stop } }
}
"""
    assert value_of(text, "m at x = 2 : E=? [ output ]") == "2"


def test_comparisons_are_exact_and_about_every_input():
    text = (
        "mechanism m { input x in 0..3 adjacent all y ~ geometric(x, 1/2) clamped 0..3 output y }"
    )
    claims = """
check m: E>=7/12 [ output ]
check m: E>7/12 [ output ]
check m: E in [7/12, 29/12] [ output ]
check m: E<=-1 [ -output - 5/12 ]
check m at x = 0 : E=? [ output ] = 7/12
check m at x = 0 : E=? [ output ] < E=? [ 1 ]
"""
    found = verdicts(check_text(text + claims))
    assert found == ["holds", "violated", "holds", "holds", "holds", "holds"]


# --- all values of a parameter -------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_means_for_all_values_are_those_at_each(seed):
    """Where the claim fails, and each piece, against the claim at values on both sides."""
    choose = Random(seed)
    text = random_mechanism(choose).replace("else 1/5", "else p")
    text = text.replace("bernoulli(1/3)", "bernoulli(p)")
    value, bound = choose.choice(list(VALUES)[:5]), Fraction(choose.randrange(1, 9), 3)
    loop = choose.choice(["", "d ~ bernoulli(p)  while d { output 1  d ~ bernoulli(p) }"])
    text = text.replace("  if d {", f"  {loop}  if d {{")
    asked = f"check m: E<={bound} [ {value} ]\ncompute m at x = 1 : E=? [ {value} ]\n"
    claimed, computed = check_text(f"param p in (0, 1)\n{text}{asked}")["results"]
    for k in range(1, 8):
        p = Fraction(k, 8)
        at_p, value_at_p = check_text(f"param p in (0, 1)\n{text}{asked}", "-D", f"p={p}")[
            "results"
        ]
        fails = any(
            Fraction(each["from"]["decimal"]) < p < Fraction(each["to"]["decimal"])
            for each in claimed["values"]["fails_for"]
        )
        assert at_p["verdict"] == ("violated" if fails else "holds")
        (piece,) = computed["pieces"]
        found = eval(piece["exact"].replace("^", "**"), {"p": p})
        assert found == Fraction(value_at_p["value"]["exact"])


def test_values_where_runs_never_end_are_asked_by_themselves():
    text = """
param p in [0, 1]
mechanism m {
  input x in 1..2
  adjacent all
  b ~ bernoulli(p)
  while true { output x if b { stop } }
}
compute m at x = 1 : E=? [ outputs ]
check m: E<=1 [ outputs ]
check m: E>=-3 [ -outputs ]
check m: E=1 [ output(1)/x ]
"""
    computed, above, below, first = check_text(text)["results"]
    pieces = {piece["in"]: piece["exact"] for piece in computed["pieces"]}
    assert pieces == {"[0, 1)": "inf", "{1}": "1"}
    for each in (above, below):
        (interval,) = each["values"]["fails_for"]
        assert interval["open"] == [False, True]
        assert "omitted" not in each["explanation"], "no run that never ends is looked for"
    assert first["verdict"] == "holds"
    assert error_codes(check_text(text + "check m: E<=3 [ output ]\n")) == ["DP630"]


def test_means_of_far_numbers_for_all_values_compute_with_what_is_shown():
    """P(z = k) is (1 - r)/(1 + r) r^|k|; 3 and 9 are outside of what the program compares."""
    text = """
param p in (0, 1)
mechanism m {
  input x in 0..1
  adjacent all
  z ~ geometric(x, p/2) unbounded
  output z
}
compute m at x = 0 : E=? [ abs(output) ]
compute m at x = 0 : E=? [ if output > 9 then 1 else 0 ]
check m: E<=4 [ max(output, 3) - min(output, 3) ]
check m at x = 0 : E<=1/2 [ abs(output) ]
"""
    mean, far, holds, fails = check_text(text)["results"]
    for r in (Fraction(1, 8), Fraction(1, 3)):
        (expected,), (above,) = mean["pieces"], far["pieces"]
        p = {"p": 2 * r}
        assert eval(expected["exact"].replace("^", "**"), p) == 2 * r / (1 - r * r)
        assert eval(above["exact"].replace("^", "**"), p) == r**10 / (1 + r)
    assert (holds["verdict"], fails["verdict"]) == ("holds", "violated")
    (interval,) = fails["values"]["fails_for"]
    assert interval["from"]["root_of"] == "p^2 + 8*p - 4"  # 2 r/(1 - r^2) = 1/2


def test_a_run_without_a_value_at_one_value_names_it():
    text = """
param p in [0, 1)
mechanism m {
  input x in 1..2
  adjacent all
  b := false
  while !b { b ~ bernoulli(p)  output x }
}
check m: E<=3 [ output ]
"""
    (error,) = check_text(text)["errors"]
    assert error["code"] == "DP630"
    assert error["notes"] == ["on the run: p = 0; then x = 1; then output 1"]
    assert verdicts(check_text(text.replace("m: E", "m for p in (0, 1): E"))) == ["holds"]


# --- chains --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_number_of_outputs_of_a_chain(seed):
    """States lead to later ones; some are silent, one is observed by a label of its own."""
    choose = Random(seed)
    n = 6
    rows = {
        s: [(t, Fraction(choose.randrange(1, 5))) for t in range(s + 1, n + 1)] for s in range(n)
    }
    shown = {t for t in range(1, n + 1) if choose.random() < 0.6} | {n}
    states = [f"state s{t}{' : Y' if t in shown else ''}" for t in range(n + 1)]
    for s, row in rows.items():
        total = sum(weight for _, weight in row)
        rows[s] = [(t, weight / total) for t, weight in row]
        states.append(f"s{s} -> " + " + ".join(f"{weight}: s{t}" for t, weight in rows[s]))
    text = "chain c { " + "\n".join(states) + "\ninit s0 observe Y }\n"

    def mean(state, count, power):
        if state == n:
            return Fraction(count**power)
        return sum(w * mean(t, count + (t in shown), power) for t, w in rows[state])

    for power in (1, 2):
        value = "outputs" if power == 1 else "outputs^2"
        assert Fraction(value_of(text, f"c: E=? [ {value} ]")) == mean(0, 0, power)
        assert Fraction(value_of(text, f"c at s2 : E=? [ {value} ]")) == mean(2, 0, power)


def test_a_chain_that_shows_labels_for_ever_or_none():
    text = "chain c { state s state t : Y  s -> 1: t  t -> 1: s  init s %s }\n"
    assert value_of(text % "observe Y", "c: E=? [ 3 - outputs ]") == "-inf"
    assert error_codes(check_text(text % "" + "check c: E<=1 [ outputs ]")) == ["DP608"]
    for value in ("output", "output(1)", "if output = Y then 1 else 0"):
        report = check_text(text % "observe Y" + f"check c: E<=1 [ {value} ]")
        assert error_codes(report) == ["DP620"]
