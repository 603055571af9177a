"""An index one past either end is a mistake on every run that meets it, and on no other."""

from __future__ import annotations

import pytest

from tests.checking import check_text, error_codes

USES = {
    "read": "y := a[i]",
    "write": "a[i] := 5  y := a[1]",
    "draw": "a[i] ~ bernoulli(1/2)  y := 0",
    "nested": "y := a[a[i]]",
    "component": "t := (1, 1)  y := t[i]",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("n_others", [1, 40, 3000])
@pytest.mark.parametrize(("indices", "is_mistake"), [("1..2", 0), ("1..3", 1), ("0..2", 1)])
def test_an_index_one_past_the_end_is_a_mistake(use, n_others, indices, is_mistake):
    """Few rows together, and many."""
    text = f"""mechanism m {{
      input i in {indices}
      input other in 1..{n_others}
      adjacent abs(i - i') + abs(other - other') <= 1
      var a[1..2] := 1
      {USES[use]}
      output y
    }}
    check m: dp(0)
    """
    report = check_text(text)
    assert bool(error_codes(report)) == bool(is_mistake), report


@pytest.mark.parametrize(
    "value",
    [
        "if x = 1 then b else d",
        "chosen(x, b, d)",
        "if x = 0 then d else if x = 1 then b else chosen(x, b, d)",
    ],
)
def test_an_array_that_begins_as_one_of_two_is_copied(value):
    """As an assignment does; a single value goes into every cell."""
    text = f"""
    fun chosen(x, b, d) = if x = 1 then b else d
    mechanism m {{
      input x in 0..1
      adjacent all
      var b[1..2] := 3
      var d[1..2] := 4
      b[2] := 5
      var a[1..2] := {value}
      var e[1..2] := if x = 1 then 7 else 8
      output (a[1], a[2], e[1])
    }}
    check m at x = 1 : P=1 [ X output = (3, 5, 7) ]
    check m at x = 0 : P=1 [ X output = (4, 4, 8) ]
    """
    report = check_text(text)
    assert report["ok"], report
