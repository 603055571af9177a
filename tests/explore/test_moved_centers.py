"""Sums of noise without bounds and bounded numbers, which are noise with another center."""

from __future__ import annotations

import pytest

import dpcheck
from tests.checking import check_text

WIDTH = 11

SUMS = {
    "both sides": """
      t ~ geometric(0, 1/9) POLICY  z ~ geometric(0, 1/8) POLICY
      output x + z >= 1 + t - x""",
    "two steps": """
      z ~ geometric(0, 1/8) POLICY  w ~ geometric(x, 1/9) POLICY
      y := 2 + z - x  best := y - 1
      output best > w""",
    "one-sided noise in an array": """
      var v[1..3] := 0
      for i in 1..3 { z ~ geometric_positive(1/8) POLICY  v[i] := i * x + z }
      output argmax(v)""",
    "two kinds of noise": """
      z ~ if x = 0 then geometric(0, 1/8) POLICY else geometric_positive(1/9) POLICY
      w ~ geometric(1, 1/8) POLICY
      output max(z + x, w - x) > 1""",
    "a loop with another number each time": """
      t ~ geometric(0, 1/8) POLICY  c := 0
      while c < 2 { z ~ geometric(0, 1/9) POLICY  if z + c > t - x { output up }  c := c + 1 }""",
    "one sum of two draws": """
      z ~ geometric(0, 1/8) POLICY  w ~ geometric(0, 1/9) POLICY
      if z + x > w { z := 2 }
      output z + x > 1""",
    "drawn again": """
      z ~ geometric(0, 1/8) POLICY  output z + x > 0
      z ~ geometric(0, 1/9) POLICY  output z - x > 0  z := z - x  output z = 1""",
    "shown": """
      z ~ geometric_positive(1/8) POLICY
      output clamp(z + x, -3, 3)""",
}


@pytest.mark.parametrize("statements", SUMS.values(), ids=SUMS)
def test_sums_are_as_with_clamped_noise(statements):
    def rows(policy):
        text = f"mechanism m {{ input x in 0..2  adjacent all {statements} }}"
        return dpcheck.loads(text.replace("POLICY", policy)).target("m").output_distributions()

    exact, near = rows("unbounded"), rows(f"clamped -{WIDTH}..{WIDTH}")
    for state, row in exact.items():
        assert sum(row.values()) == 1
        for shown in row.keys() | near[state].keys():
            assert abs(float(row.get(shown, 0) - near[state].get(shown, 0))) < 1e-7, (shown, state)


@pytest.mark.parametrize(
    "statements",
    [
        "if z > 0 { output a }  output z + x",
        "output (z + x > 0, z - x > 0)",
        "output x - z",
        "w ~ geometric(x, 1/2) unbounded  output z + w > 0",
        "w ~ bernoulli(1/2)  k := if w then 1 else x  output z + k > 0",
        "k := x  if z + k > 0 { k := 0  output z + k > 0 }",
        "output max(i in 0..x : z + i)",
    ],
)
def test_sums_that_are_no_moved_noise_are_mistakes(statements):
    text = f"""
mechanism m {{ input x in 0..2  adjacent all  z ~ geometric(0, 1/2) unbounded  {statements} }}
check m: dp(ln 2)
"""
    assert {mistake["code"] for mistake in check_text(text)["errors"]} == {"DP540"}


def test_theorems_are_the_same_with_noise_that_is_added():
    text = """
mechanism svt(k = 3, t = 1) {
  input q[1..k] in 0..2
  adjacent linf(q, q') <= 1
  rho ~ geometric(0, 1/4) unbounded
  for i in 1..k {
    nu ~ geometric(0, 1/2) unbounded
    if q[i] + nu >= t + rho { output top; stop }
    output bot
  }
}
mechanism count {
  input x in 0..2
  adjacent abs(x - x') <= 1
  z ~ geometric(0, 1/2) unbounded
  output x + z
}
check svt: epsilon = ln(3686/527)
check count: epsilon = ln 2
check count at x = 2: P=? [ X output = 4 ] = 1/12
"""
    assert check_text(text)["ok"]


def test_what_is_added_to_noise_is_an_integer():
    text = """
mechanism m {
  input x in {1/2, 1}
  adjacent all
  z ~ geometric(0, 1/2) unbounded
  output x + z > 0
}
check m: dp(1)
"""
    (mistake,) = check_text(text)["errors"]
    assert mistake["message"] == "what is added to noise must be an integer, not 1/2"
