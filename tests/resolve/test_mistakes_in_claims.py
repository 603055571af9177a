"""A mistake in a claim costs that claim; one elsewhere costs all that may depend on it."""

from __future__ import annotations

import pytest

from tests.checking import check_files, check_text
from tests.resolve.reading import resolved

MODEL = """
param p in (0, 1)
mechanism m(k = 1) {
  input x in 0..3
  adjacent abs(x - x') <= 1
  n ~ geometric(x, 1/2) clamped 0..3
  output n
}
mechanism coin {
  input x in {pos, neg}
  adjacent all
  t ~ bernoulli(p)
  output if (x = pos) = t then Y else N
}
chain table { state s state t : a state u  s -> 1: t  u -> 1: t  adjacent s ~ u  observe a }
"""
BESIDE = "\ncheck m: dp(ln 2)\ncheck coin: epsilon <= ln 9"


def claims_left(text: str) -> list[str]:
    return [f"{check.target_text}: {check.claim_text}" for check in resolved(text).checks]


BAD = [
    ("DP301", "compute m: epsilonn"),
    ("DP301", "check m: D{1} [ X output = oops ]"),
    ("DP301", "check m(k = oops): dp(1)"),
    ("DP305", "check k: dp(ln 2)"),
    ("DP602", "check m: epsilon <= ln 3 & true"),
    ("DP612", "compute m: delta"),
    ("DP620", "compute m: renyi(0)"),
    ("DP622", "compute group(m, 0): epsilon"),
    ("DP622", "check subsample(m, 2): dp(1)"),
    ("DP622", "check subsample(table, 1/2): dp(1)"),
    ("DP626", "check coin: dp(1)"),
    ("DP627", "check coin: D{ln 2} [ F D{ln 2} [ X Y ] ]"),
    ("DP628", "check coin: dp(ln p)"),
]


@pytest.mark.parametrize(("code", "claim"), BAD)
def test_a_mistake_in_a_claim_costs_that_claim(code, claim):
    report = check_text(f"{MODEL}{claim}{BESIDE}\n{claim}")
    errors = [(error["code"], error["line"]) for error in report["errors"]]
    assert errors == [(code, 16), (code, 19)]
    assert [answer["claim"] for answer in report["results"]] == ["dp(ln 2)", "epsilon <= ln 9"]
    assert not report["ok"]


def test_a_round_of_a_loop_is_a_claim_of_its_own():
    loop = "for k in 0..2 { compute m: renyi(k) check m(k = k): dp(1) }"
    kept = ["m(k = 0): dp(1)", "m(k = 1): dp(1)", "m(k = 2): dp(1)", "m: renyi(1)", "m: renyi(2)"]
    assert sorted(claims_left(MODEL + loop)) == kept


@pytest.mark.parametrize(
    "loop",
    [
        "for k in 1..oops { check m: dp(k) }",
        "for k in 1..2, k in 1..2 { check m: dp(k) }",
        "for k in 1..2 { check m: dp(3) for j in 1..2 where oops > j { check m: dp(k) } }",
    ],
)
def test_a_mistake_in_the_head_of_a_loop_costs_the_claims_in_it(loop):
    assert claims_left(f"{MODEL}{loop}{BESIDE}") == ["m: dp(ln 2)", "coin: epsilon <= ln 9"]


@pytest.mark.parametrize(
    "claim",
    [
        "check m: dp(share(0))",
        "check m(k = share(0)): dp(1)",
        "for k in 1..share(0) { check m: dp(k) }",
        "check m: P>=(share(0)) [ X stopped ]",
        "check m: P>=1 [ X (output = 7 & share(0) > 1) ]",
    ],
)
def test_a_fault_of_a_function_in_what_a_claim_calls_it_with_costs_that_claim(claim):
    report = check_text(f"{MODEL}fun share(k) = 1/k\ncheck m: dp(share(1/2))\n{claim}{BESIDE}")
    kept = ["dp(share(1/2))", "dp(ln 2)", "epsilon <= ln 9"]
    assert [answer["claim"] for answer in report["results"]] == kept
    assert {error["code"] for error in report["errors"]} <= {"DP207"}


@pytest.mark.parametrize(
    "elsewhere",
    [
        "const n = oops",
        "fun f(x) = oops",
        "fun f(k) = 1/k mechanism g(k) { input x in 1..f(k) adjacent all } check g(k = 0): true",
        "mechanism unused { input x in 0..1 output x }",
        "mechanism used { input x in 0..1 adjacent all output oops + 1 } check used: dp(1)",
        "mechanism of(k) { input x in 1..k adjacent l output x } check of(k = 2): dp(1)",
    ],
)
def test_a_mistake_elsewhere_costs_all_claims(elsewhere):
    assert resolved(f"{MODEL}{elsewhere}{BESIDE}").mistakes
    assert claims_left(f"{MODEL}{elsewhere}{BESIDE}") == []


def test_a_constant_that_a_claim_needs_first_is_another_claims_too():
    """A constant is kept without a value: what else reads it would never hear of the mistake."""
    target = "mechanism of(k) { input x in 0..1 adjacent all output x + none }"
    text = f'import "other.dpm"\n{MODEL}{target} check m: dp(none) check of(k = 1): dp(1)'
    report = check_files({"other.dpm": "const none = 1/0", "main.dpm": text}, "main.dpm")
    assert report["results"] == []
    assert [error["code"] for error in report["errors"]] == ["DP207"]


def test_what_a_claim_is_asked_again_with_hears_of_no_other_claim():
    text = f"{MODEL}for k in 1..oops {{ check m: dp(k) }} compute m: renyi(0)\ncheck coin: dp(ln 2)"
    report = check_text(text)
    (answer,) = report["results"]
    assert answer["verdict"] == "violated"
    assert answer["counterexample"]


ARRAYS = """
mechanism bits {
  input x[0..2] in 0..1
  adjacent hamming(x, x') <= 1
  for i in 0..1 {
    query c in {low, high} fixed
    y ~ bernoulli(if c = low then (1 + x[i])/4 else (1 + x[i])/8)
    output y
  }
}
"""


@pytest.mark.parametrize(
    "claim",
    [
        "check bits at x[3] = 1: dp(ln 3)",
        "check bits at c[3] = low: dp(ln 3)",
        "check bits: P<=0 [ X x[3] = 1 ]",
        "check bits: P>=1 [ X !(x[-1] = 1) ]",
        "check bits: P>=1 [ X forall(i in 1..3 : x[i] >= 0) ]",
        "check bits: E>=0 [ x[3] ]",
        "check bits: accuracy(x[3], 1/2) <= 1",
    ],
)
def test_an_index_that_no_value_of_an_input_has_is_a_mistake(claim):
    """An atom without its cell would be false, and its negation would hold, whatever is asked."""
    report = check_text(f"{ARRAYS}{claim}\ncheck bits: dp(ln 9)")
    assert [(error["code"], error["line"]) for error in report["errors"]] == [("DP501", 11)]
    assert [answer["ok"] for answer in report["results"]] == [True]
    assert claims_left(f"{ARRAYS}check bits at x[2] = 1 & c[2] = low: dp(ln 3)")


@pytest.mark.parametrize(
    "claim",
    [
        "check bits at forall(i in 0..2 : i = 2 | x[i] <= x[i + 1]): dp(ln 9)",
        "check bits at forall(i in 0..2 : i < 2 => x[i] <= x[i + 1]): dp(ln 9)",
        "check bits at forall(i in 0..2 : if i < 2 then x[i] <= x[i + 1] else true): dp(ln 9)",
        "check bits: forall(i in 0..2 : i = 2 | P>=(1/(2 - i) - 1/2) [ X !stopped ])",
        "check bits: exists(i in 0..2 : !(i = 0) & D{ln(3 * i)} [ X output = true ])",
        "check bits: P>=1 [ X forall(i in 0..2 : i = 0 | F<=(i - 1) true & 1/i > 0) ]",
        "check cells: forall(i in 0..2 : i = 2 | P>=0 [ X cell[i + 1] ])",
    ],
)
def test_after_an_operand_that_decides_no_other_is_evaluated(claim):
    cells = "chain cells { state cell[i in 0..2]  cell[0] -> 1: cell[1]  init cell[0] }\n"
    assert check_text(f"{ARRAYS}{cells}{claim}")["ok"]


def test_where_no_value_is_needed_all_other_mistakes_are():
    parts = "true | 1/0 > 2 & nobody = 1 | P>=nowhere [ X output = oops ] | x + 1 = 2 | dp(1)"
    report = check_text(f"{ARRAYS}check bits: forall(i in 0..2 : {parts})")
    assert [error["code"] for error in report["errors"]] == [*["DP301"] * 3, "DP401", "DP602"]
    assert not report["results"]
