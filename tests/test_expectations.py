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


def test_an_infinite_mean():
    text = """
mechanism m {
  input x in {1, 2}
  adjacent all
  b ~ bernoulli(1/2)
  if b { stop }
  while true { output x }
}
"""
    assert value_of(text, "m at x = 1 : E=? [ outputs ]") == "inf"
    assert value_of(text, "m at x = 1 : E=? [ (x - 1) * outputs + 3 ]") == "3"
    assert error_codes(check_text(text + "compute m at x = 1 : E=? [ output ]")) == ["DP630"]
    assert error_codes(check_text(text + "compute m at x = 1 : E=? [ -outputs ]")) == ["DP630"]
    assert verdicts(check_text(text + "check m: E>=1000 [ outputs ]")) == ["holds"]


def test_an_infinite_mean_hides_no_run_without_a_value():
    text = """
mechanism m {
  input x in {1, 2}
  adjacent all
  b ~ bernoulli(1/2)
  if b { stop }
  while true { output x }
}
compute m at x = 1 : E=? [ outputs + output(1) ]
"""
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
