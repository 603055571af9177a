"""Guesses of the input are made by somebody who knows the public inputs."""

from __future__ import annotations

from tests.checking import check_text, verdicts

RESPONSE = """
mechanism rr {
  input x in 0..1
  public t in 1..4
  adjacent all
  y ~ bernoulli(if t = 1 then 1/2 else if x = 1 then 3/4 else 1/4)
  output (t, y)
}
"""


def test_what_everybody_knows_is_no_secret():
    claims = """
check rr: bayes_vulnerability = 3/4
check rr: min_entropy_leakage = ln(3/2)
check rr at t = 1 : bayes_vulnerability = 1/2
check rr at t = 1 : min_entropy_leakage = 0
"""
    assert verdicts(check_text(RESPONSE + claims)) == ["holds"] * 4


def test_fewer_inputs_are_guessed_more_easily_and_may_leak_less():
    text = """
mechanism m {
  public t in 1..2
  input x in 1..4 where t = 1 | x <= 2
  adjacent all
  output if t = 1 then x mod 2 else 0
}
check m: bayes_vulnerability = 1/2
check m: min_entropy_leakage = ln 2
check m: min_entropy_leakage <= 0
"""
    report = check_text(text)
    assert verdicts(report) == ["holds", "holds", "violated"]
    guesses = str(report["results"][2]["explanation"]["remarks"])
    assert "t = 1" in guesses
    assert "t = 2" not in guesses


def test_choices_fixed_beforehand_are_no_secret():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  query c in 0..3 fixed
  output nothing
}
check m: min_entropy_leakage = 0
"""
    assert verdicts(check_text(text)) == ["holds"]
