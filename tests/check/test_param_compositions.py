"""Compositions for all values of a parameter: against the ordinary engine, and runs written out."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_poly

from dpcheck.check.all_values import composed
from dpcheck.check.all_values.composed import RunRows, composed_rows
from dpcheck.check.all_values.rows import ONE, ZERO, PolynomialRows
from dpcheck.exact import Param
from dpcheck.exact.line import line_of
from dpcheck.exact.roots import Root, roots_between
from dpcheck.limits import LimitReached, Limits
from tests.check.test_all_values import beside_ends, expression_at, fails_at
from tests.checking import check_text, error_codes, verdicts

HEAD = "param p in (0, 1)"
WEIGHTS = ("p", "1 - p", "p^2", "p * (1 - p)", "1/2", "1/3", "2/5", "1 - p/2", "1 + p", "p/3")
CLAIMS = [
    "dp(ln 3)",
    "dp(-3 * ln p)",
    "dp(ln(5)/2)",
    "epsilon < ln 4",
    "epsilon >= ln 3",
    "epsilon = ln 4",
    "dp(ln 2, 1/5)",
    "dp(-ln p, p/4)",
    "dp(ln(2)/2, 1/4)",
    "delta(ln 2) <= 1/4",
    "delta(0) > 1/3",
    "delta(ln 3) = 0",
    "epsilon(1/10) <= ln 3",
    "epsilon(p/9) >= ln 2",
]
QUANTITIES = ["epsilon", "delta(ln 2)", "delta(0)", "epsilon(1/10)", "epsilon(p/9)"]


TIMES = [(0, (2, 1)), (1, (1, 1)), (2, (3, 0))]


def drawn_mechanism(draw, name):
    """Return a mechanism on 0..2 with random weights in its rows, of which two may be alike."""
    rows = [", ".join(f"{y}: {draw.choice(WEIGHTS)}" for y in range(3)) for _ in range(3)]
    if draw.random() < 0.4:
        rows[draw.choice((0, 2))] = rows[1]
    rows = [f"{{{row}}} normalized" for row in rows]
    return (
        f"mechanism {name} {{\n  input x in 0..2\n  adjacent abs(x - x') <= 1\n"
        f"  if x = 0 {{ y ~ {rows[0]} }} else {{ if x = 1 {{ y ~ {rows[1]} }} "
        f"else {{ y ~ {rows[2]} }} }}\n  output y\n}}\n"
    )


def drawn_model(draw, times):
    """Return two mechanisms, a composition of them, and a program that does all of its runs.

    The first one runs times[0] times, the second one times[1] times.
    """
    written = [f"{name}, {n}" for name, n in zip("ab", times, strict=True) if n]
    runs = "".join(f"  run {name}(x = x)\n" * n for name, n in zip("ab", times, strict=True))
    whole = f"mechanism both {{\n  input x in 0..2\n  adjacent abs(x - x') <= 1\n{runs}}}\n"
    parts = "".join(drawn_mechanism(draw, name) for name in "ab")
    return f"{HEAD}\n{parts}{whole}", f"compose({', '.join(written)})"


@pytest.mark.parametrize(("seed", "times"), TIMES)
def test_a_composition_fails_where_the_program_that_runs_its_parts_does(seed, times):
    draw = random.Random(seed)
    text, composition = drawn_model(draw, times)
    checks = [f"check {target}: {claim}" for target in (composition, "both") for claim in CLAIMS]
    found = check_text("\n".join([text, *checks]), "--explain", "none")["results"]
    composed, written = found[: len(CLAIMS)], found[len(CLAIMS) :]
    for one, other in zip(composed, written, strict=True):
        assert one["verdict"] == other["verdict"] != "undecided"
        assert one["values"] == other["values"]
    assert "violated" in {one["verdict"] for one in composed}


@pytest.mark.parametrize(("seed", "times"), TIMES)
def test_a_composition_fails_where_the_ordinary_engine_says(seed, times):
    draw = random.Random(seed)
    text, composition = drawn_model(draw, times)
    checks = [f"check {composition}: {claim}" for claim in CLAIMS]
    results = check_text("\n".join([text, *checks]), "--explain", "none")["results"]
    ends = [beside_ends(result) for result in results]
    values = [*draw.sample(sorted(set().union(*ends)), 4), Fraction(draw.randint(1, 99), 100)]
    for value in values:
        single = "\n".join([text.replace(HEAD, f"const p = {value}"), *checks])
        ordinary = verdicts(check_text(single, "--explain", "none"))
        for claim, result, verdict in zip(CLAIMS, results, ordinary, strict=True):
            assert fails_at(result, value) == (verdict == "violated"), (claim, value)


@pytest.mark.parametrize(("seed", "times"), TIMES)
def test_a_computed_piece_has_the_value_of_the_ordinary_engine(seed, times):
    draw = random.Random(seed)
    text, composition = drawn_model(draw, times)
    asked = [f"compute {composition}: {quantity}" for quantity in QUANTITIES]
    results = check_text("\n".join([text, *asked]))["results"]
    value = Fraction(draw.randint(1, 99), 100)
    checks = []
    for quantity, result in zip(QUANTITIES, results, strict=True):
        checks.append(f"check {composition}: {quantity} = {expression_at(result, value)}")
    single = text.replace(HEAD, f"const p = {value}")
    assert set(verdicts(check_text("\n".join([single, *checks])))) == {"holds"}


PARTS = """
param p in (0, 1)
mechanism survey {
  input x in {true, false}
  adjacent all
  y ~ bernoulli(if x then p else 1/3)
  output y
}
mechanism waits {
  input x in {true, false}
  adjacent all
  while true {
    now ~ bernoulli(1/10)
    if now { y ~ bernoulli(if x then p else 1 - p)  output y  stop }
    output wait
  }
}
mechanism leaks {
  input x in {true, false}
  adjacent all
  while true {
    now ~ bernoulli(if x then p else 1/2)
    if now { output top  stop }
    output bot
  }
}
mechanism coin {
  input x in {true, false}
  adjacent all
  while true { y ~ bernoulli(if x then p else 1/3)  output y }
}
mechanism noisy {
  input x in {true, false}
  adjacent all
  z ~ geometric(if x then 0 else 1, p) unbounded
  output z
}
mechanism irrational {
  input x in {true, false}
  adjacent all
  y ~ {0: if x then (2*p^2 - 1)^2 else 1/4, 1: if x then p^2 else 1/2, 2: 1/2} normalized
  output y
}
mechanism both {
  input x in {true, false}
  adjacent all
  run FIRST(x = x)
  run SECOND(x = x)
}
"""


@pytest.mark.parametrize(
    ("first", "second", "asked"),
    [
        ("waits", "survey", "epsilon"),
        ("waits", "survey", "delta(ln 2)"),
        ("waits", "survey", "epsilon(1/10)"),
        ("survey", "leaks", "epsilon"),
        ("coin", "survey", "delta(ln 2)"),
        ("noisy", "survey", "epsilon"),
        ("noisy", "noisy", "delta(ln 2)"),
        ("irrational", "survey", "delta(ln 2)"),
        ("survey", "irrational", "epsilon"),
    ],
)
def test_parts_of_any_kind_have_the_pieces_of_the_program_that_runs_them(first, second, asked):
    text = PARTS.replace("FIRST", first).replace("SECOND", second)
    claims = f"compute compose({first}, {second}): {asked}\ncompute both: {asked}\n"
    one, other = check_text(text + claims)["results"]
    assert one["pieces"] == other["pieces"]


def test_runs_of_which_one_has_ratios_that_grow_lose_more_than_any_budget():
    epsilon, budget = check_text(
        PARTS.replace("FIRST", "leaks").replace("SECOND", "survey")
        + "compute compose(leaks, survey, 2): epsilon\ncheck compose(leaks, survey): dp(ln 9)"
    )["results"]
    pieces = {piece["in"]: piece["exact"] for piece in epsilon["pieces"]}
    assert pieces == {"(0, 1/2)": "inf", "{1/2}": "ln(9/4)", "(1/2, 1)": "inf"}
    assert [each["open"] for each in budget["values"]["fails_for"]] == [[True, True]] * 2


def test_first_outputs_tell_of_endless_parts_for_which_values_a_claim_fails_at_least():
    text = PARTS.replace("FIRST", "leaks").replace("SECOND", "survey")
    one, other = check_text(
        f"{text}check compose(leaks, survey): dp(ln 2, 1/4)\ncheck both: dp(ln 2, 1/4)"
    )["results"]
    for value in (Fraction(1, 5), Fraction(1, 2), Fraction(4, 5)):
        assert fails_at(one, value) == fails_at(other, value) == (value != Fraction(1, 2))
    assert one["values"]["holds_for"]


def test_runs_with_too_many_ratios_are_violated_where_a_value_that_is_tried_is(monkeypatch):
    monkeypatch.setattr(composed, "MAX_SIZE", 10)
    text = PARTS.replace("FIRST", "survey").replace("SECOND", "survey")
    asked = "check compose(survey, 4): delta(0) <= 1/10\ncompute compose(survey, 4): delta(0)"
    violated, undecided = check_text(text + asked, "--explain", "none")["results"]
    assert violated["verdict"] == "violated"
    assert violated["values"]["sample"] == "1/2"
    assert undecided["verdict"] == "undecided"
    assert "too many ratios" in undecided["reason"]["text"]


def test_runs_that_are_too_many_to_be_listed_have_too_many_ratios():
    text = PARTS.replace("FIRST", "survey").replace("SECOND", "survey")
    (result,) = check_text(text + "compute compose(survey, 10^12): delta(0)")["results"]
    assert "too many ratios" in result["reason"]["text"]


def test_first_outputs_are_followed_as_long_as_runs_have_few_ratios(monkeypatch):
    monkeypatch.setattr(composed, "MAX_SIZE", 200)
    text = PARTS.replace("FIRST", "leaks").replace("SECOND", "leaks")
    asked = "check compose(leaks, 2): dp(ln 2, 1/4)\ncheck both: dp(ln 2, 1/4)"
    one, other = check_text(text + asked, "--explain", "none")["results"]
    for value in (Fraction(1, 50), Fraction(1, 2), Fraction(49, 50)):
        assert fails_at(one, value) == fails_at(other, value) == (value != Fraction(1, 2))


TWO_PAIRS = """
param p in (0, 1)
mechanism low {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ bernoulli(if x = 0 then p else 1 - p)
  output y
}
mechanism high {
  input x in 0..2
  adjacent abs(x - x') <= 1
  while true {
    now ~ bernoulli(1/10)
    if now { y ~ bernoulli(if x = 2 then p else 1/20)  output y  stop }
    output wait
  }
}
mechanism both {
  input x in 0..2
  adjacent abs(x - x') <= 1
  run FIRST(x = x)
  run SECOND(x = x)
}
"""


@pytest.mark.parametrize(("first", "second"), [("low", "high"), ("high", "low")])
def test_runs_lose_for_each_pair_what_each_loses_for_that_pair(first, second):
    asked = ["epsilon", "delta(ln 2)"]
    text = TWO_PAIRS.replace("FIRST", first).replace("SECOND", second)
    targets = f"compose({first}, {second})", "both"
    claims = [f"compute {target}: {each}" for target in targets for each in asked]
    bound = f"check compose({first}, {second}): delta(ln 2) <= 1/3"
    *found, bounded = check_text("\n".join([text, *claims, bound]), "--explain", "none")["results"]
    assert fails_at(bounded, Fraction(1, 2))  # as 1/2 - 2/20 is more
    assert [each["pieces"] for each in found[:2]] == [each["pieces"] for each in found[2:]]
    assert all(len(each["pieces"]) > 2 for each in found)


def test_any_number_of_equal_runs_multiplies_epsilon():
    text = PARTS.replace("FIRST", "survey").replace("SECOND", "survey")
    claims = """
    check compose(survey, 2000) for p in [1/6, 2/3]: dp(2000 * ln 2)
    check compose(survey, 2000): dp(2000 * ln 2)
    check compose(survey, 6, waits, 4) for p in [1/2, 2/3]:
      epsilon = 6 * ln(3 * p) + 4 * ln(p / (1 - p))
    """
    first, second, third = check_text(text + claims, "--explain", "none")["results"]
    assert first["verdict"] == third["verdict"] == "holds"
    ends = [
        each[end].get("exact") for each in second["values"]["fails_for"] for end in ("from", "to")
    ]
    assert ends == ["0", "1/6", "2/3", "1"]


def test_budgets_of_exponents_are_shared_by_equal_runs():
    text = """
    param eps > 0
    mechanism m {
      input x in 0..2
      adjacent abs(x - x') <= 1
      y ~ geometric(x, exp(-eps/2)) clamped 0..2
      output y
    }
    check compose(m, 4): dp(2 * eps)
    check compose(m, 3): dp(eps)
    compute compose(m, 6): epsilon
    check compose(m, 3): dp(ln 8)
    """
    first, second, third, fourth = check_text(text)["results"]
    assert first["verdict"] == "holds"
    assert second["values"]["fails_for"][0]["to"]["exact"] == "inf"
    assert [piece["exact"] for piece in third["pieces"]] == ["3*eps"]
    assert fourth["values"]["fails_for"][0]["from"]["exact"] == "ln(4)"


def test_parts_with_other_inputs_are_a_mistake():
    other = "mechanism more { input x in 0..3  adjacent all  y ~ bernoulli(p)  output y }\n"
    text = PARTS.replace("FIRST", "survey").replace("SECOND", "survey") + other
    assert error_codes(check_text(f"{text}check compose(survey, more): dp(ln 2)")) == ["DP624"]


# --- rows ----------------------------------------------------------------------------------

T = fmpz_poly([0, 1])
LINE = line_of(Param("p", 0, 1), [], is_exponential=False)


def run_of(sides, times=1, line=LINE):
    """Return a run with the probabilities of one pair, for each sequence p and q."""
    members = tuple((ZERO, p, q) for p, q in sides)
    index = np.array([[1, 2]] * len(sides))
    return RunRows(PolynomialRows(line, T + 1, members, index), np.array([[0, 1]]), times)


def sides_of(rows):
    """Return p and q of every sequence of the first pair."""
    return [
        (m[i], m[j]) for m, (i, j) in zip(rows.members, rows.index[:, :2].tolist(), strict=True)
    ]


def test_outputs_of_one_ratio_are_merged():
    rows, pairs = composed_rows([run_of([(T, ONE), (ONE, T)], 8)], Limits(), is_pure=False)
    assert pairs.tolist() == [[0, 1]]
    assert len(rows.members) == 9
    assert rows.denominator == (T + 1) ** 8
    assert sum((p for p, _ in sides_of(rows)), ZERO) == (T + 1) ** 8
    assert (28 * T**6, 28 * T**2) in sides_of(rows)


def test_what_ratios_share_may_be_negative_as_a_polynomial():
    ends = roots_between((T**2 - 2) * (T**2 - 3), Root.of(1), None)
    line = line_of(LINE.within(*ends), [], is_exponential=False)
    assert line.high is not None
    run = run_of([((5 - T) * T, 2 * (5 - T))], line=line)
    rows, _ = composed_rows([run, run], Limits(), is_pure=True)
    assert sides_of(rows) == [(T**2, 4 * ONE)]
    run = run_of([((5 - T) * T, 2 * (5 - T))], 3, line=line)
    rows, _ = composed_rows([run], Limits(), is_pure=True)
    assert sides_of(rows) == [(T**3, 8 * ONE)]


def test_outputs_that_one_side_alone_shows_are_merged():
    rows, _ = composed_rows(
        [run_of([(T, ZERO), (ONE, ONE), (ZERO, T)], 3)], Limits(), is_pure=False
    )
    both = (T + 1) ** 3 - 1
    found = sides_of(rows)
    assert len(found) == 3
    assert all(each in found for each in [(both, ZERO), (ONE, ONE), (ZERO, both)])


def test_outputs_of_ratios_that_are_alike_at_the_point_alone_are_not_merged(monkeypatch):
    monkeypatch.setattr(composed, "POINT", 1)
    run = run_of([(T, ONE), (ONE, T)], 2)
    rows, _ = composed_rows([run], Limits(), is_pure=False)
    assert len(rows.members) >= 3
    assert sum((p for p, _ in sides_of(rows)), ZERO) == (T + 1) ** 2
    assert all(p * q == T**2 or p == q for p, q in sides_of(rows))


def test_runs_are_composed_until_the_time_is_over():
    run = run_of([(T, ONE), (ONE, T)], 8)
    with pytest.raises(LimitReached, match="privacy losses composed"):
        composed_rows([run], Limits(deadline=0), is_pure=False)
