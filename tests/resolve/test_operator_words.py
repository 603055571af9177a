"""Operator words are names outside of formulas, and in quotes inside of them."""

from __future__ import annotations

import pytest

from dpcheck.model.words import OPERATOR_WORDS
from tests.checking import check_text

WORDS = sorted(OPERATOR_WORDS)

ROLES = {
    "input": (
        "mechanism m {{ input {0}[1..2] in 0..1 adjacent hamming({0}, {0}') <= 1\n"
        "y ~ geometric({0}[1] + {0}[2], 1/2) clamped 0..2 output y }}\n"
        "compute m: epsilon\n"
        "compute m at {1}[1] = 1 & {1}[2] = 0: P=? [ X output = {1}[1] ]\n"
    ),
    "local": (
        "mechanism m {{ input x in 0..1 adjacent all\n"
        "{0} ~ bernoulli(if x = 1 then 1/3 else 2/3) output {0} }}\n"
        "compute m: epsilon\n"
    ),
    "parameter": (
        "mechanism m({0} = 2) {{ input x in 0..{0} adjacent abs(x - x') <= 1\n"
        "y ~ geometric(x, 1/2) clamped 0..{0} output y }}\n"
        "compute m({0} = 3): epsilon\n"
        "for {0} in 1..2 {{ compute m at x = {1}: P=? [ X output = {1} ] }}\n"
    ),
    "constant": (
        "const {0} = 1/3\n"
        "mechanism m {{ input x in 0..1 adjacent all\n"
        "y ~ {{0: if x = 0 then {0} else 1 - {0}, 1: if x = 0 then 1 - {0} else {0}}} output y }}\n"
        "compute m: epsilon\ncheck m: dp(ln(1/{1}), {1}/2)\ncheck m: P>={1}/2 [ X output < {1} ]\n"
    ),
    "function": (
        "fun {0}(a) = a + 1\ndist {0}_(a) = {{0: 1/{0}(a), 1: 1 - 1/{0}(a)}}\n"
        "mechanism m {{ input x in 1..2 adjacent all y ~ {0}_(x) output {0}(y) }}\n"
        "compute m: epsilon\ncheck m: dp(ln {1}(1))\n"
    ),
    "mechanism": (
        "mechanism {0} {{ input x in 1..2 adjacent all y ~ bernoulli(x/3) output y }}\n"
        "mechanism m {{ input x in 1..2 adjacent all run {0}(x = x) }}\n"
        "compute {0}: epsilon\ncompute {0} at x = 1: P=? [ X output ]\ncompute m: epsilon\n"
        "compute compose({0}, 2): epsilon\n"
    ),
    "symbol": (
        "mechanism m {{ input x in {{{0}, other}} adjacent all\n"
        "y ~ {{{0}: if x = {0} then 2/3 else 1/3, b: if x = {0} then 1/3 else 2/3}} output y }}\n"
        "compute m at x = {1}: P=? [ X {1} ]\ncompute m at x = other: P=? [ F output = {1} ]\n"
        "check m: forall(v in {{{1}, b}} : D{{ln 2}} [ X v ])\n"
    ),
    "state": (
        "chain c {{ state {0}[i in 0..1] state s : l\n"
        "{0}[0] -> 1/2: {0}[1] + 1/2: s s -> 1: {0}[0]\n"
        "adjacent {0}[0] ~ s observe l }}\n"
        "compute c at {1}[0]: P=? [ X {1} ]\ncompute c at s: P=? [ X {1}[0] ]\n"
    ),
    "label": (
        "chain c {{ state s state t : {0} s -> 1/2: s + 1/2: t adjacent s ~ t observe {0} }}\n"
        "compute c at s: P=? [ X {1} ]\ncheck c: D{{0}} [ F {1} ]\n"
    ),
}


def results(text):
    """Return what a text answers, without names."""
    report = check_text(text)
    assert not report.get("mistakes"), report["mistakes"]
    keys = ("verdict", "value", "states", "transitions", "neighbor_pairs", "vacuous")
    return [{key: result.get(key) for key in keys} for result in report["results"]]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("role", ROLES)
def test_an_operator_word_is_a_name_like_any_other(role, word):
    named = results(ROLES[role].format(word, f'"{word}"'))
    assert named == results(ROLES[role].format("word", "word"))
    assert len(named) == ROLES[role].count("check ") + ROLES[role].count("compute ") + (
        1 if role == "parameter" else 0
    )


def test_a_quoted_operator_word_is_what_hides_a_symbol_in_formulas_and_a_symbol_elsewhere():
    text = """
mechanism m {
  input R in {true, "R"}
  adjacent all
  output "R"
}
check m at "R" : P=1 [ X output != "R" ]
check m at "R" != true : P=1 [ X output = "R" ]
check m: forall(v in {1, 2} : P=1 [ X output != v ])
"""
    assert [result["verdict"] for result in results(text)] == ["holds"] * 3


def test_a_symbol_that_a_name_hides_is_told_apart_from_what_the_name_means():
    text = """
mechanism m {
  input R in {true, "R"}
  adjacent all
  output "R"
}
for v in {"R"} { check m at "R" = true : P=1 [ X (output = v & !(output = "R")) ] }
"""
    assert [result["verdict"] for result in results(text)] == ["holds"]


def test_values_of_a_quoted_parameter_tell_claims_apart():
    text = """
mechanism m(R = 0) { input x in 0..2 adjacent all output x }
for R in 0..2 { compute m at x = 1 : P=? [ X output = "R" ] }
"""
    values = [result["value"]["exact"] for result in results(text)]
    assert values == ["0", "1", "0"]
