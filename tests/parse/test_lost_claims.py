"""A syntax error in a claim costs that claim; one in what claims are about costs all of them."""

from __future__ import annotations

import pytest

from dpcheck.model import surface
from dpcheck.parse import parse_model
from dpcheck.parse.tokens import tokens_of
from dpcheck.source import SourceText
from tests.checking import check_text

DECLARED = """\
import std.survey
const n = 3
param p in (0, 1)
fun f(x) = x + 1
dist d(q) = {0: q, 1: 1 - q}
mechanism m(k = 2) {
  input x in 0..3
  adjacent abs(x - x') <= 1
  for i in 1..2 {
    y ~ geometric(x, 1/k) clamped 0..3
    if y > i { output y }
  }
  while y > 3 { y := 0 }
}
chain c {
  state s[k in 0..1]
  state t : a
  for k in 0..1 { s[k] -> 1: t }
  adjacent s[0] ~ s[1]
  observe a
}
"""
CLAIMS = """\
check m: dp(1)
for k in 2..3 {
  check m(k = k): dp(k)
  compute m(k = k): epsilon
}
check "named" c: P>=1 [ X a ]
refute m at x = 1: D{ln 2} [ X output = 3 ]
"""
MARKS = ["}", "{", "(", ")", "[", "check", "for", "==", "and", ";", "const", "\ncheck", "\n}", '"']


def mutations(text):
    """Yield the text with a token left out, or another one before it, and where that is."""
    for i, token in enumerate(tokens_of(SourceText("main.dpm", text)).tokens):
        yield token.start, text[: token.start] + text[token.end :]
        for mark in (MARKS * 2)[i % len(MARKS) :][:3]:
            yield token.start, f"{text[: token.start]} {mark}  {text[token.start :]}"


def declarations(parsed):
    claims = surface.Question | surface.QuestionsFor
    return [item.span.text for item in parsed.model.items if not isinstance(item, claims)]


def test_an_error_in_a_declaration_costs_all_claims():
    for place, text in mutations(DECLARED + CLAIMS):
        if place < len(DECLARED) and "\ncheck  " not in text:  # which begins a claim
            parsed = parse_model(SourceText("main.dpm", text))
            assert parsed.mistaken is None or not parsed.mistakes, text


def test_a_body_that_was_closed_before_a_claim_in_it_costs_all_claims():
    for claim in ("check m: dp(1)", "check"):
        text = DECLARED.replace("  for i", f"  {claim} for i")
        assert parse_model(SourceText("main.dpm", text)).mistaken is None


def test_an_error_in_a_claim_leaves_all_declarations_and_only_claims_on_lines_without_one():
    whole = parse_model(SourceText("main.dpm", DECLARED + CLAIMS))
    n_apart = 0
    for place, text in mutations(DECLARED + CLAIMS):
        parsed = parse_model(SourceText("main.dpm", text))
        if place < len(DECLARED) or parsed.mistaken is None or not parsed.mistakes:
            continue
        n_apart += 1
        assert declarations(parsed) == declarations(whole), text
        for item in (one for one in parsed.model.items if one.span not in parsed.mistaken):
            last = item.span.source.position(item.span.end)[0]
            for mistake in parsed.mistakes:
                is_before = mistake.span.start == item.span.start and mistake.code == "DP101"
                assert is_before or not item.span.line <= mistake.span.line <= last, text
    assert n_apart > 100


@pytest.mark.parametrize(
    "slip",
    [
        "check m: dp(ln 2) and P>=0 [ X output = 1 ]",  # the first half is no claim either
        "check m with n = 3: dp(1)",
        "check m: P>= [ X stopped ]",
        "check m: P>=1 [ F((output = 1 ]",
        "check m dp(1)",
        "check m: dp(1) &",  # the rest is missed at the next claim, which is as it should be
        "for k in 2..3 {\n  check m(k = k) dp(1)\n  check m: dp(2)\n}",
        "for k in 2..3 { check m(k = k): epsilon == 1 }",
    ],
)
def test_a_slip_in_a_claim_costs_that_claim(slip):
    report = check_text(f"{DECLARED}check m: dp(2)\n{slip}\ncheck m: dp(3)\ncheck m: dp(oops)")
    assert [answer["claim"] for answer in report["results"]] == ["dp(2)", "dp(3)"]
    codes = {error["code"] for error in report["errors"]}
    assert "DP301" in codes, "what else is wrong is told, too"
    assert any(code.startswith("DP1") for code in codes)
    assert not report["ok"]


def test_what_a_lost_claim_reads_is_not_called_unread():
    text = DECLARED.replace("output y }", "output if y = 2 then noisy else noise }")
    claims = "check m: P>=0 [ X noisy ]\ncheck m: P>= [ X noise ]\n"
    assert len(check_text(text + claims)["errors"]) == 1
