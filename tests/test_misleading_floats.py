"""Models that floating-point numbers get wrong, decided right."""

from __future__ import annotations

import pytest

from tests.checking import check_text, verdicts

RARE = """
mechanism rare {{
  input x in 0..1
  adjacent all
  y ~ {{0: 1 - p(x), 1: p(x)}}
  output y
}}
fun p(x) = if x = 0 then 1 - 1/10^30 else 1 - 2/10^30
{claims}
"""


def test_one_minus_ten_to_the_minus_thirty_is_not_one():
    claims = """
    check  rare at x = 0 : P<1 [ X output = 1 ]
    check  rare at x = 0 : P>=(1 - 1/10^30) [ X output = 1 ]
    refute rare at x = 0 : P>(1 - 1/10^30) [ X output = 1 ]
    check  rare: epsilon = ln 2
    refute rare: dp(ln(2 - 1/10^40))
    """
    report = check_text(RARE.format(claims=claims))
    assert report["ok"]
    assert verdicts(report) == ["holds", "holds", "violated", "holds", "violated"]


@pytest.mark.parametrize("sign", ["+", "-"])
def test_a_ratio_that_leaves_the_budget_in_its_fortieth_digit_is_seen(sign):
    text = f"""
    const q = 1/4
    mechanism near {{
      input x in 0..1
      adjacent all
      y ~ {{0: if x = 0 then 2 * q {sign} 1/10^41 else q,
            1: if x = 0 then 1 - (2 * q {sign} 1/10^41) else 1 - q}}
      output y
    }}
    check near: dp(ln 2)
    check near: D{{ln 2}} [ X output = 0 ]
    """
    assert verdicts(check_text(text)) == [{"+": "violated", "-": "holds"}[sign]] * 2


def test_a_budget_near_e_is_told_from_a_ratio_that_agrees_in_forty_digits():
    # e = 2.7182818284590452353602874713526624977572470936999595749669676...
    below, above = (
        "27182818284590452353602874713526624977572",
        "27182818284590452353602874713526624977573",
    )
    for digits, verdict in ((below, "holds"), (above, "violated")):
        text = f"""
        mechanism near {{
          input x in 0..1
          adjacent all
          y ~ {{0: (if x = 0 then {digits}/10^40 else 1)/10,
                1: 1 - (if x = 0 then {digits}/10^40 else 1)/10}}
          output y
        }}
        check near: D{{1}} [ X output = 0 ]
        """
        assert verdicts(check_text(text)) == [verdict]


def test_a_long_walk_that_almost_surely_fails_is_not_taken_for_a_sure_failure():
    text = """
    chain ruin {
      state s[k in 0..2000]
      for k in 1..1999 { s[k] -> 2/5: s[k+1] + 3/5: s[k-1] }
      s[0] -> 1: s[0]
      s[2000] -> 1: s[2000]
      adjacent s[k] ~ s[l] where k = 1 & l = 2
    }
    check ruin at s[1] : P>0 [ F s[2000] ]
    check ruin at s[1] : P<(1/10^300) [ F s[2000] ]
    check ruin: D{ln(5/2)} [ F s[2000] ]
    check ruin: !D{ln(5/2 - 1/10^50)} [ F s[2000] ]
    """
    assert verdicts(check_text(text)) == ["holds"] * 4
