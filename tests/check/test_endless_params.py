"""Outputs without end, for all values of a parameter: against the ordinary engine at values."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.check.test_all_values import beside_ends, fails_at
from tests.checking import called, check_text, verdicts

COIN = """
param p in (0, 1)
param c in [0, 1]
param eps > 0
mechanism coin(left = p, right = 1 - p, first = 1/2, second = 1/2) {
  input x in {true, false}
  adjacent all
  f ~ bernoulli(if x then first else second)
  output f
  while true { y ~ bernoulli(if x then left else right)  output y }
}
mechanism waits(rate = 1/10, truth = p, other = 1 - p) {
  input x in {true, false}
  adjacent all
  while true {
    now ~ bernoulli(rate)
    if now { y ~ bernoulli(if x then truth else other)  output y  stop }
    output wait
  }
}
mechanism fades(left = p^2, right = 1 - p) {
  input x in {true, false}
  adjacent all
  y ~ bernoulli(if x then left else right)
  while true {
    z ~ bernoulli(if y then 1/2 else 1/4)
    y ~ bernoulli(if x then left else right)
    output z
  }
}
mechanism parts(third = 1/3) {
  input x in {true, false}
  adjacent all
  f ~ bernoulli(1/2)
  output f
  while true { y ~ bernoulli(if x then p else if f then 1/3 else third)  output y }
}
mechanism one_sided(stays = 1/2) {
  input x in {true, false}
  adjacent all
  f ~ bernoulli(if x then 1/2 else 1/3)
  output f
  while f {
    if x { y ~ {0: p, 1: 1 - p} } else { y ~ {0: stays, 2: 1 - stays} }
    output y
    if y > 0 { stop }
  }
}
mechanism half(there = p, other = 1/3) {
  input x in {true, false}
  adjacent all
  f ~ bernoulli(if x then 1/2 else 1/3)
  output f
  while true { y ~ bernoulli(if !f then 1/5 else if x then there else other)  output y }
}
"""


def sets_of(result):
    """Return the intervals of a set as the language writes them."""
    found = []
    for each in result["values"]["fails_for"]:
        low, high = (end.get("exact", end["decimal"][:5]) for end in (each["from"], each["to"]))
        left, right = each["open"]
        found.append(f"{'(' if left else '['}{low}, {high}{')' if right else ']'}")
    return " ".join(found)


@pytest.mark.parametrize(
    ("claim", "fails_for"),
    [
        ("coin: dp(0)", "(0, 1/2) (1/2, 1)"),
        ("coin: dp(ln 4)", "(0, 1/2) (1/2, 1)"),
        ("coin: epsilon < inf", "(0, 1/2) (1/2, 1)"),
        ("coin: epsilon = inf", "[1/2, 1/2]"),
        ("coin(left = p^2): dp(ln 4)", "(0, 0.618) (0.618, 1)"),
        ("coin(left = c, right = 1/2): dp(ln 2)", "[0, 1/2) (1/2, 1]"),
        ("coin(left = c, right = 1/2) for c in (0, 1/2]: dp(ln 2)", "(0, 1/2)"),
        ("coin(left = (2*c - 1)^2, right = 1/4): dp(ln 2)", "[0, 1/4) (1/4, 3/4) (3/4, 1]"),
        ("coin(left = 1/(1 + exp(-eps)), right = 2/3): dp(eps)", "(0, ln(2)) (ln(2), inf)"),
        ("coin(right = 1/3, first = p, second = 1 - p): dp(ln 2)", "(0, 1/3) (1/3, 1)"),
        ("coin(right = 1/3, first = p, second = 1 - p): dp(ln(2)/2)", "(0, 1)"),
        ("coin(right = 1/3, first = p, second = 0): dp(ln 9)", "(0, 1)"),
        ("coin: delta(ln 2) <= 1/2", "(0, 1/2) (1/2, 1)"),
        ("coin: delta(ln 2) < 1", "(0, 1/2) (1/2, 1)"),
        ("coin: dp(ln(2)/2, 99/100)", "(0, 1/2) (1/2, 1)"),
        ("coin: epsilon(1/2) < inf", "(0, 1/2) (1/2, 1)"),
        ("coin: delta(0) = 0", "(0, 1/2) (1/2, 1)"),
        ("coin(left = p^2): delta(ln 2) <= p", "(0, 0.618) (0.618, 1)"),
        ("coin(left = 1/(1 + exp(-eps)), right = 2/3): dp(eps, 1/2)", "(0, ln(2)) (ln(2), inf)"),
        ("one_sided: delta(0) <= 1/4", "(0, 1)"),
        ("one_sided(stays = 1): delta(0) <= 1/4", "(0, 1)"),
        ("one_sided(stays = 1): delta(0) != 1/2", "(0, 1)"),
        ("half: dp(0, 1/6)", "(0, 1/3) (1/3, 1)"),
        ("half: dp(0, 1/2)", ""),
        ("half: delta(0) < 1/2", "(0, 1/3) (1/3, 1)"),
        ("half for p in [1/3, 1/3]: delta(0) = 1/6", ""),
        ("half: epsilon(1/4) <= ln 2", "(0, 1/3) (1/3, 1)"),
        ("parts(third = 2/3): delta(0) = 1", "[1/3, 1/3] [2/3, 2/3]"),
        (
            "coin(left = p * (1 - p), right = 2/9, first = p, second = 1/5): epsilon = ln(5/3)",
            "(0, 1/3) (1/3, 1)",
        ),
        ("fades: dp(0)", "(0, 0.618) (0.618, 1)"),
        ("parts: dp(0)", "(0, 1/3) (1/3, 1)"),
        ("parts(third = 2/3): dp(ln 9)", "(0, 1)"),
        ("waits: dp(ln 3)", "(0, 1/4) (3/4, 1)"),
        ("waits: epsilon >= ln 3", "(1/4, 3/4)"),
        ("waits(rate = p): dp(ln 3)", "(0, 1/4) (3/4, 1)"),
        ("waits: delta(ln 2) <= 1/4", "(0, 1/4) (3/4, 1)"),
        ("waits: dp(0, 1/2)", "(0, 1/4) (3/4, 1)"),
        ("waits: dp(-ln(p * (1 - p)))", ""),
        ("waits: epsilon(1/4) <= ln 2", "(0, 1/4) (3/4, 1)"),
        ("waits(other = 1): epsilon(1/2) = inf", "[1/2, 1)"),
        ("waits(truth = 1/(1 + exp(-eps)), other = 1/2): dp(ln 2)", "(ln(3), inf)"),
        ("waits(truth = 1/(1 + exp(-eps)), other = 1/2): dp(eps/2)", "(0, inf)"),
    ],
)
def test_a_claim_about_outputs_without_end_fails_for_exactly_these_values(claim, fails_for):
    (result,) = check_text(f"{COIN}check {claim}", "--explain", "none")["results"]
    assert result["verdict"] == ("violated" if fails_for else "holds")
    assert sets_of(result) == fails_for
    assert "at_least" not in result["values"]


@pytest.mark.parametrize(
    ("asked", "pieces"),
    [
        ("coin: epsilon", ["(0, 1/2): inf", "{1/2}: 0", "(1/2, 1): inf"]),
        (
            "coin(left = p^2): epsilon",
            ["(0, 0.618034): inf", "{0.618034}: 0", "(0.618034, 1): inf"],
        ),
        (
            "coin(left = p * (1 - p), right = 2/9, first = p, second = 1/5): epsilon",
            ["(0, 1/3): inf", "{1/3}: ln(5/3)", "(1/3, 2/3): inf", "{2/3}: ln(10/3)",
             "(2/3, 1): inf"],
        ),
        (
            "coin(left = p^2, first = p^3): epsilon",  # there 1/p^3 is 3 + 2p
            ["(0, 0.618034): inf", "{0.618034}: ln((2*p + 3)/2)", "(0.618034, 1): inf"],
        ),
        ("parts(third = 2/3): epsilon", ["(0, 1): inf"]),
        ("coin: delta(ln 2)", ["(0, 1/2): 1", "{1/2}: 0", "(1/2, 1): 1"]),
        ("parts(third = 2/3): delta(0)",
            ["(0, 1/3): 1", "{1/3}: 1/2", "(1/3, 2/3): 1", "{2/3}: 1/2", "(2/3, 1): 1"]),
        ("half: delta(0)", ["(0, 1/3): 1/2", "{1/3}: 1/6", "(1/3, 1): 1/2"]),
        (
            "coin(left = p^2, first = p^3): delta(0)",
            ["(0, 0.618034): 1", "{0.618034}: (3 - 4*p)/2", "(0.618034, 1): 1"],
        ),
        ("half: epsilon(1/4)", ["(0, 1/3): inf", "{1/3}: 0", "(1/3, 1): inf"]),
        ("waits: epsilon", ["(0, 1/2): ln((1 - p)/p)", "[1/2, 1): ln(p/(1 - p))"]),
        ("waits: delta(ln 2)", ["(0, 1/3): 1 - 3*p", "[1/3, 2/3): 0", "[2/3, 1): 3*p - 2"]),
    ],
)  # fmt: skip
def test_a_quantity_of_outputs_without_end_is_told_as_pieces(asked, pieces):
    (result,) = check_text(f"{COIN}compute {asked}")["results"]
    assert [f"{piece['in']}: {piece['exact']}" for piece in result["pieces"]] == pieces


def test_an_analyst_who_asks_without_end_is_decided_for_all_values():
    text = COIN.replace("now ~ bernoulli(rate)", "query r in {1/10, 1/2}  now ~ bernoulli(r)")
    (result,) = check_text(f"{text}check waits: dp(ln 3)", "--explain", "none")["results"]
    assert sets_of(result) == "(0, 1/4) (3/4, 1)"


def test_what_a_claim_looked_at_counts_no_sequences_where_they_have_no_end():
    (result,) = check_text(f"{COIN}check waits(rate = p): dp(-ln(p*(1-p)))")["results"]
    assert result["verdict"] == "holds"
    assert "sequences" not in result


PAID = """
param p in (0, 1)
mechanism paid(truth = p, other = 1 - p) {
  input x in {true, false}
  adjacent all
  while true {
    now ~ bernoulli(1/3)
    if now { stop }
    y ~ bernoulli(if x then truth else other)
    output y
  }
}
"""
STEADY = "(truth = (1 + p)/4, other = 1/4)"


@pytest.mark.parametrize(
    ("claim", "is_exact", "inside", "outside"),
    [
        ("paid: delta(ln 2) <= 1/2", False, ["1/9", "8/9"], ["1/6", "1/2", "5/6"]),
        ("paid: delta(ln 2) < 1/2", False, ["1/9", "8/9"], ["1/6", "1/2", "5/6"]),
        ("paid: delta(ln 2) > 1/2", False, ["1/6", "1/2", "5/6"], ["1/9", "8/9"]),
        ("paid: delta(ln 2) >= 1/2", False, ["1/6", "1/2", "5/6"], ["1/9", "8/9"]),
        ("paid: delta(ln 2) = 1/2", False, ["1/9", "1/6", "1/2", "5/6", "8/9"], []),
        ("paid: delta(ln 2) != 1/2", None, [], []),
        ("paid: dp(ln(2)/2, 1/2)", False, ["1/9", "8/9"], ["1/5", "1/2", "4/5"]),
        ("paid: epsilon(2/5) <= ln 3", False, ["1/9", "8/9"], ["1/5", "1/2", "4/5"]),
        ("paid: delta(ln 2) >= p/9", False, ["1/2"], ["1/9", "8/9"]),
        (f"paid{STEADY}: delta(ln 2) <= 9/10", True, [], ["1/9", "1/2", "8/9"]),
        (f"paid{STEADY}: dp(ln(3)/2, 9/10)", True, [], ["1/9", "1/2", "8/9"]),
        (f"paid{STEADY}: delta(ln 2) != 9/10", True, [], ["1/9", "1/2", "8/9"]),
        (f"paid{STEADY}: delta(ln 2) >= 9/10", True, ["1/9", "1/2", "8/9"], []),
        ("paid for p in [1/4, 3/4]: delta(ln 2) <= 1/2", True, [], ["1/4", "1/2", "3/4"]),
        ("paid for p in (0, 1/9): delta(ln 2) <= 1/2", True, ["1/10", "1/11"], ["1/2"]),
    ],
)
def test_sets_between_those_of_first_outputs_with_and_without_a_state(
    claim, is_exact, inside, outside
):
    (result,) = check_text(f"{PAID}check {claim}", "--explain", "none")["results"]
    if is_exact is None:
        assert result["verdict"] == "undecided"
        return
    assert ("at_least" not in result["values"]) == is_exact
    assert all(fails_at(result, Fraction(value)) for value in inside)
    assert not any(fails_at(result, Fraction(value)) for value in outside)


def test_it_is_told_for_which_values_a_claim_surely_holds(tmp_path):
    (result,) = check_text(f"{PAID}check paid: delta(ln 2) <= 1/2", "--explain", "none")["results"]
    (held,) = result["values"]["holds_for"]
    assert result["values"]["at_least"]
    first, last = result["values"]["fails_for"]
    low, high = (Fraction(held[end]["decimal"]) for end in ("from", "to"))
    assert 0 <= low - Fraction(first["to"]["decimal"]) < Fraction(1, 10**6)
    assert 0 <= Fraction(last["from"]["decimal"]) - high < Fraction(1, 10**6)
    model = tmp_path / "paid.dpm"
    model.write_text(f"{PAID}check paid: delta(ln 2) <= 1/2\n")
    assert "        holds for    p in [" in called("check", model).stdout


WEIGHTS = ["p", "1 - p", "1/2", "1/3", "p/2", "p * (1 - p)", "(1 + p)/3", "p^2"]
CLAIMS = [
    "dp(0)",
    "dp(ln 2)",
    "dp(-ln p)",
    "epsilon < ln 3",
    "epsilon >= ln 2",
    "epsilon = inf",
    "delta(ln 2) <= 1/5",
    "dp(ln(3)/2, 1/10)",
    "epsilon(1/10) > ln 2",
]


def random_model(draw):
    """Return a machine with up to three states that outputs for ever, or until it stops."""
    n_states = draw.randint(1, 3)
    rows = []
    for state in range(n_states):
        left = draw.choice(WEIGHTS)
        right = left if draw.random() < 0.5 else draw.choice(WEIGHTS)
        ways = [*(f"s := {k}" for k in range(n_states)), "stop", "stop"]
        first, second = draw.choice(ways), draw.choice(ways)
        rows.append(
            f"if s = {state} {{ y ~ bernoulli(if x then {left} else {right})  output (s, y)\n"
            f"      if y {{ {first} }} else {{ {second} }} }}"
        )
    other = draw.choice(["p", "1/3"])
    order = "\n    else ".join(rows)
    return f"""
param p in (0, 1)
mechanism m {{
  input x in {{true, false}}
  adjacent all
  var s in 0..2 := 0
  h ~ bernoulli(if x then p else {other})
  output h
  while true {{
    {order}
  }}
}}
"""


def piece_at(result, value):
    """Return the expression of the piece that a value lies in."""
    for piece in result["pieces"]:
        interval = piece["in"]
        low, high = (Fraction(end) for end in (2 * interval[1:-1].split(","))[:2])
        is_end = value in [low] * (interval[0] in "[{") + [high] * (interval[-1] in "]}")
        if is_end or low < value < high:
            return piece["exact"]
    raise AssertionError(f"{value} lies in no piece")


@pytest.mark.parametrize("seed", [*range(6), 7, 8, 10])  # others take 7 to 13 s
def test_random_models_without_end_agree_with_the_ordinary_engine(seed):
    """At a random value, beside the ends of all sets that are found, and at the rational ones."""
    draw = random.Random(seed)
    model, value = random_model(draw), Fraction(draw.randint(1, 59), 60)
    claims = "\n".join(f"check m: {claim}" for claim in CLAIMS)
    asked = f"{model}{claims}\ncompute m: epsilon\ncompute m: delta(ln 2)"
    *results, epsilon, delta = check_text(asked, "--explain", "none")["results"]
    told = [result for result in results if result["verdict"] != "undecided"]
    exact = [result for result in told if "at_least" not in result["values"]]
    assert all(result in exact for result in results if result["claim"].startswith("epsilon "))
    values = sorted({each for result in told for each in beside_ends(result)})
    claims = "\n".join(f"check m: {result['claim']}" for result in told)
    quantities = [("epsilon", epsilon), ("delta(ln 2)", delta)]
    known = [each for each in quantities if each[1]["verdict"] == "value"]
    equal = "\n".join(f"check m: {word} = {piece_at(each, value)}" for word, each in known)
    for each in [value, *draw.sample(values, min(len(values), 5))]:
        text = f"{model}{claims}\n{equal if each == value else ''}"
        found = verdicts(check_text(text, "--explain", "none", "-D", f"p={each}"))
        for result, verdict in zip(told, found, strict=False):
            fails = fails_at(result, each)
            is_right = fails == (verdict == "violated") or (result not in exact and not fails)
            assert is_right, (result["claim"], each)
        assert all(verdict == "holds" for verdict in found[len(told) :])
