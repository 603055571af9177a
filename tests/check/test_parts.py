"""Claims for all values of a parameter where ratios are ordered otherwise beyond some value."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp, isclose, log

import pytest

from tests.checking import check_text

MODEL = """
param alpha in {interval}
mechanism m {{
  input x in 0..1
  adjacent all
  v ~ geometric(x, {first}) unbounded
  w ~ geometric({center}, {second}) unbounded
  output {shown}
}}
"""

VALUES = [Fraction(k, 12) for k in (1, 2, 3, 4, 6, 8, 9, 10, 11)]


def at_value(model, claim, value):
    """Return the result of a claim at one value, by the ordinary engine."""
    (result,) = check_text(model + claim, "-D", f"alpha={value}")["results"]
    return result


def lies_in(value, intervals):
    """Return whether a value lies in one of some intervals, as JSON has them."""
    for each in intervals:
        low, high = (
            Fraction(each[side].get("exact") or each[side]["decimal"]) for side in ("from", "to")
        )
        is_open = each["open"]
        above = low < value or (low == value and not is_open[0])
        below = value < high or (value == high and not is_open[1])
        if above and below:
            return True
    return False


@pytest.mark.parametrize("shown", ["max(v, w, 1)", "min(v, w)"])
@pytest.mark.parametrize(
    ("first", "second", "center"),
    [("alpha", "1/2", "0"), ("alpha/2", "1/3", "x"), ("alpha", "1 - alpha", "0")],
)
def test_a_claim_fails_for_the_values_for_which_it_fails_alone(first, second, center, shown):
    model = MODEL.format(interval="(0, 1)", first=first, second=second, center=center, shown=shown)
    for claim in ("check m: dp(ln 3)\n", "check m: epsilon <= ln 5\n", "check m: dp(-ln alpha)\n"):
        (found,) = check_text(model + claim)["results"]
        assert found["verdict"] in {"holds", "violated"}, found
        fails_for = found["values"]["fails_for"] if found["verdict"] == "violated" else []
        is_partial = found["values"].get("at_least", False)
        for value in VALUES:
            alone = at_value(model, claim, value)["verdict"]
            fails = lies_in(value, fails_for)
            assert fails == (alone == "violated") or (is_partial and not fails), (claim, value)


def test_pieces_are_those_of_each_value():
    model = MODEL.format(
        interval="(0, 1]", first="alpha/2", second="1/3", center="0", shown="max(v, w)"
    )
    for claim in ("compute m: epsilon\n", "compute m: delta(ln 2)\n"):
        (found,) = check_text(model + claim)["results"]
        (piece,) = found["pieces"]
        assert piece["in"] == "(0, 1]"
        for value in [*VALUES, Fraction(1)]:
            text = re.sub(r"\balpha\b", f"({value})", piece["exact"]).replace("^", "**")
            alone = at_value(model, claim, value)["value"]
            assert isclose(eval(text, {"ln": log, "exp": exp}), float(alone["decimal"]))


def test_pieces_within_bounds_stay_bounds():
    """Next to 2/3 the worst output moves ever farther away."""
    model = MODEL.format(
        interval="(0, 1)", first="alpha/2", second="1/3", center="x", shown="max(v, w, 1)"
    )
    (found,) = check_text(model + "compute m: epsilon\n")["results"]
    near = [piece for piece in found["pieces"] if piece["in"].endswith(", 2/3)")]
    assert all("enclosure" in piece for piece in near)
    assert near
    (at,) = (piece for piece in found["pieces"] if piece["in"] == "{2/3}")
    assert at["exact"] == "ln(3)"


@pytest.mark.parametrize(
    ("part", "verdict"), [("(0, 1/3]", "holds"), ("[1/2, 1/2]", "holds"), ("[1/3, 3/4)", "holds")]
)
def test_a_part_may_lie_on_one_side_of_such_a_value_or_on_both(part, verdict):
    model = MODEL.format(
        interval="(0, 1)", first="alpha", second="1/2", center="0", shown="max(v, w)"
    )
    claims = f"check m for alpha in {part}: dp(-ln alpha)\ncheck m for alpha in {part}: dp(0)\n"
    holds, fails = check_text(model + claims)["results"]
    assert (holds["verdict"], holds["values"]["in"]) == (
        verdict,
        part.replace("[1/2, 1/2]", "{1/2}"),
    )
    assert fails["verdict"] == "violated"


def test_what_is_shown_is_the_counterexample_at_the_simplest_value_of_all_parts():
    model = MODEL.format(
        interval="(0, 1)", first="alpha", second="1/5", center="0", shown="max(v, w)"
    )
    (found,) = check_text(model + "check m: dp(ln 4)\n")["results"]
    assert found["values"]["sample"] == "1/5"
    assert found["counterexample"]["ratio"] == "5"
    (interval,) = found["values"]["fails_for"]
    assert (interval["from"]["exact"], interval["to"]["exact"]) == ("0", "1/4")
