"""Claims for all values of a parameter where ratios are ordered otherwise beyond some value."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
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

VALUES = [Fraction(k, 12) for k in (1, 3, 4, 6, 8, 11)]


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


def test_a_claim_within_bounds_holds_where_the_upper_one_does():
    """Next to 2/3 the worst output, beyond all windows, has a ratio just above 3."""
    model = MODEL.format(
        interval="(0, 1)", first="alpha/2", second="1/3", center="x", shown="max(v, w, 1)"
    )
    claim, beside = "check m: epsilon <= ln 3\n", Fraction(2, 3) - Fraction(1, 10**8)
    (found,) = check_text(model + claim)["results"]
    assert at_value(model, claim, beside)["verdict"] == "violated"
    assert found["values"]["at_least"]
    assert not lies_in(beside, found["values"]["holds_for"])
    assert lies_in(Fraction(1, 2), found["values"]["fails_for"])
    assert lies_in(Fraction(3, 4), found["values"]["holds_for"])


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


def test_a_reason_why_a_claim_says_little_in_one_part_is_none_for_all():
    """At 1/2, which is a part by itself, one output is certain."""
    model = """
param a in (0, 1)
mechanism m {
  input x in 0..1
  adjacent all
  c ~ bernoulli((2*a - 1)^2)
  if c {
    v ~ geometric(x, a) unbounded
    w ~ geometric(x, 1/2) unbounded
    output max(v, w)
  } else {
    output 0
  }
}
"""
    asked = ("check", "dp(ln 4)"), ("compute", "epsilon")
    claims = [f"{kind} m for a in [1/2, {end}]: {claim}\n" for kind, claim in asked for end in ENDS]
    results = check_text(model + "".join(claims))["results"]
    assert [each["vacuous"] for each in results] == [True, False] * 2


ENDS = ("1/2", "3/4")


# --- where ratios are equal at an irrational value, or at a logarithm ----------------------------

RISING = [Fraction(k, 23) for k in (2, 14, 16, 19)]
"""On both sides of 1/sqrt(2), of the golden ratio less 1, and of ln 2."""


def model_of(first, second, *, name="alpha", center="0", shown="max(v, w)", interval="(0, 1)"):
    """Return a model of two numbers, with `alpha` or `eps` as its parameter."""
    texts = {"first": first, "second": second, "center": center, "shown": shown}
    return MODEL.format(interval=interval, **texts).replace("param alpha", f"param {name}")


def place(end):
    """Return an end as a number."""
    return float(end["decimal"])


def is_among(x, intervals):
    """Return whether a value that is no end lies in one of some intervals."""
    return any(place(each["from"]) < x < place(each["to"]) for each in intervals)


def computed_at(result, name, x):
    """Return what was computed, at a value that is no end, as floats between which it lies."""
    (piece,) = (each for each in result["pieces"] if is_among(x, [each]))
    texts = piece.get("enclosure") or [piece["exact"]] * 2
    names = {"ln": log, "exp": exp, name: x}
    return [eval(str(text).replace("^", "**"), names) for text in texts]


@pytest.mark.parametrize("shown", ["max(v, w)", "min(v, w, 1)"])
@pytest.mark.parametrize(
    ("name", "interval", "first", "second", "center"),
    [
        ("alpha", "(0, 1)", "alpha", "1 - alpha^2", "0"),
        ("alpha", "(0, 1)", "alpha^2", "1/2", "x"),
        ("eps", "(0, inf)", "exp(-eps)", "1/2", "0"),
        ("eps", "(0, inf)", "exp(-eps)", "exp(-eps/2)/2", "x"),
        ("eps", "(-inf, 0)", "exp(eps)", "1 - exp(2 * eps)", "x"),
    ],
)
def test_parts_with_irrational_ends_are_decided_as_their_values_are(
    name, interval, first, second, center, shown
):
    texts = {"name": name, "interval": interval, "center": center, "shown": shown}
    model, turn = model_of(first, second, **texts), -1 if "-inf" in interval else 1
    claims, quantities = ["dp(ln 3)", "delta(ln 2) <= 1/10"], ["epsilon", "delta(ln 2)"]
    asked = "".join(
        [*(f"check m: {c}\n" for c in claims), *(f"compute m: {q}\n" for q in quantities)]
    )
    found = check_text(model + asked, "--explain", "none")["results"]
    assert {each["verdict"] for each in found} <= {"holds", "violated", "value"}
    for value in [turn * each for each in RISING]:
        alone = check_text(model + asked, "--explain", "none", "-D", f"{name}={value}")["results"]
        for one, known in zip(alone[:2], found, strict=False):
            fails = is_among(float(value), known["values"]["fails_for"])
            is_partial = known["values"].get("at_least", False)
            assert fails == (one["verdict"] == "violated") or (is_partial and not fails), value
        for one, known in zip(alone[2:], found[2:], strict=True):
            low, high = computed_at(known, name, float(value))
            ends = one["value"].get("enclosure") or [one["value"]["decimal"]] * 2
            assert low <= float(ends[1]) + 1e-7, (known["claim"], value)
            assert float(ends[0]) <= high + 1e-7, (known["claim"], value)


@pytest.mark.parametrize("shown", ["max(v, w)", "min(v, w, 1)"])
@pytest.mark.parametrize("center", ["0", "x"])
def test_at_an_irrational_value_two_equal_ratios_are_one(center, shown):
    """At 1/sqrt(2) a^2 is the ratio 1/2, and nothing else depends on a."""
    model = model_of("alpha^2", "1/2", center=center, shown=shown)
    twin, quantities = model.replace("alpha^2", "1/2"), ["epsilon", "delta(ln 2)", "epsilon(1/9)"]
    asked = "".join(f"compute m: {quantity}\n" for quantity in quantities)
    found = check_text(model + asked, "--explain", "none")["results"]
    known = check_text(twin + asked, "--explain", "none")["results"]
    for result, one in zip(found, known, strict=True):
        x = 0.70710678118654752
        at = [p for p in result["pieces"] if place(p["from"]) <= x <= place(p["to"])]
        at = [p for p in at if is_closed_at(p, x)]
        names = {"ln": log, "exp": exp, "alpha": x}
        (value,) = (eval(piece["exact"].replace("^", "**"), names) for piece in at)
        assert isclose(value, float(one["value"]["decimal"]), abs_tol=1e-7)
    claims = "".join(f"check m: {each['claim']} = {each['value']['exact']}\n" for each in known[:2])
    for result in check_text(model + claims, "--explain", "none")["results"]:
        assert not any(is_closed_at(each, x) for each in result["values"]["fails_for"])


def is_closed_at(interval, x):
    """Return whether a value that may be an end belongs to an interval."""
    ends = (place(interval["from"]) - x, x - place(interval["to"]))
    is_open = interval["open"]
    return all(
        end < 0 or (end == 0 and not is_open_there)
        for end, is_open_there in zip(ends, is_open, strict=True)
    )


@pytest.mark.parametrize(
    ("name", "interval", "ratios", "ask", "pieces"),
    [
        ("alpha", "(0, 1)", ("alpha", "1 - alpha^2"), "epsilon", [("(0, 1)", "ln(1/alpha)")]),
        ("eps", "(0, inf)", ("exp(-eps)", "1/2"), "epsilon", [("(0, inf)", "eps")]),
        (
            "alpha",
            "(0, 1)",
            ("alpha^2", "1/2"),
            "epsilon(1/10)",
            [
                ("(0, 0.859727)", "ln((17 - 3*alpha^2)/(20*alpha^2))"),
                ("[0.859727, 1)", "0"),
            ],
        ),
    ],
)
def test_pieces_that_meet_at_such_a_value_are_one(name, interval, ratios, ask, pieces):
    model = model_of(*ratios, name=name, interval=interval)
    (result,) = check_text(f"{model}compute m: {ask}\n", "--explain", "none")["results"]
    assert [(piece["in"], piece["exact"]) for piece in result["pieces"]] == pieces


@pytest.mark.parametrize(
    ("part", "fails"),
    [
        ("(0, ln 2]", None),
        ("(0, ln 2)", None),
        ("[ln 2, 3)", "(ln(2), 3)"),
        ("(1/2, 2]", "(ln(2), 2]"),
        ("(ln 2, 1]", "(ln(2), 1]"),
    ],
)
def test_a_part_may_end_at_the_logarithm_where_ratios_are_equal(part, fails):
    """With exp(-eps/2) there are no rational numbers there: it is asked as an irrational value."""
    model = model_of("exp(-eps)", "1/2", name="eps", interval="(0, inf)")
    coin = "\n  z ~ bernoulli(exp(-eps/2))\n  output z\n}"
    for text in (model, model.replace("\n}", coin)):
        claim = f"check m for eps in {part}: dp(ln 2)\n"
        (result,) = check_text(text + claim, "--explain", "none")["results"]
        assert result["verdict"] == ("holds" if fails is None else "violated")
        where = [
            f"{'(['[not each['open'][0]]}{each['from']['exact']}, "
            f"{each['to']['exact']}{')]'[not each['open'][1]]}"
            for each in result["values"]["fails_for"]
        ]
        assert where == ([] if fails is None else [fails])


def test_a_law_without_the_largest_ratio_is_none_where_two_others_are_equal():
    """What would be told of w by the ratio of v is 0 at 1/sqrt(2), and only there."""
    model = """
param alpha in (0, 4/5)
mechanism m {
  input x in 0..1
  adjacent all
  c ~ bernoulli(1/2)
  u ~ geometric(0, 3/4) unbounded
  v ~ geometric(x, alpha^2) unbounded
  w ~ geometric(0, 1/2) unbounded
  y := if c then u else (if x = 0 then v else w)
  output y
}
check m: dp(0)
"""
    (found,) = check_text(model, "--explain", "none")["results"]
    ends = [(each["from"], each["to"]) for each in found["values"]["fails_for"]]
    root = {"root_of": "2*alpha^2 - 1", "decimal": "0.70710678118654752"}
    assert [ends[0][1], ends[1][0]] == [root, root]
    assert [each["open"] for each in found["values"]["fails_for"]] == [[True, True]] * 2


@pytest.mark.parametrize(
    ("name", "interval", "ratios", "values"),
    [
        ("alpha", "[1/2, 9/10]", ("alpha^2", "1/2"), ["1/2", "7/10", "5/7", "9/10"]),
        ("eps", "(-2, 2)", ("(1 + exp(2 * eps))/99", "exp(eps)/33"), ["-1", "-9/10", "9/10", "1"]),
    ],
)
def test_parts_beside_ends_that_are_asked_and_of_both_signs(name, interval, ratios, values):
    """A part has no end of the whole but its own; exp(eps) has two roots, on both sides of 0."""
    model = model_of(*ratios, name=name, interval=interval)
    (result,) = check_text(f"{model}compute m: epsilon\n", "--explain", "none")["results"]
    for piece, after in pairwise(result["pieces"]):
        assert place(piece["to"]) == place(after["from"])
        assert piece["open"][1] != after["open"][0]
    for value in values:
        asked = model + "compute m: epsilon\n"
        (one,) = check_text(asked, "--explain", "none", "-D", f"{name}={value}")["results"]
        x = float(Fraction(value))
        (piece,) = (each for each in result["pieces"] if is_closed_at(each, x))
        found = eval(piece["exact"].replace("^", "**"), {"ln": log, "exp": exp, name: x})
        assert isclose(found, float(one["value"]["decimal"]))


LARGEST = """
param alpha in (2/5, 1/2)
mechanism largest {
  input q[1..2] in 0..2
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], alpha) unbounded
  b ~ geometric(q[2], alpha) unbounded
  d ~ geometric(0, 2071/5000) unbounded
  output (max(a, b, 2), d)
}
check largest: delta(ln 2) > 1/1000000000000000000000000000000
"""


@pytest.mark.parametrize(
    ("part", "verdict"),
    [("alpha in (2/5, 2071/5000)", "undecided"), ("alpha in (2/5, 1/2)", "violated")],
)
def test_a_part_that_is_undecided_hides_no_other_one_that_fails(part, verdict, monkeypatch):
    """δ is 0 from sqrt(2) - 1 on; before it has infinitely many pieces, few with this margin."""
    monkeypatch.setattr("dpcheck.pipeline.claims.shown_numbers.MAX_MARGIN_FOR_ALL", 2)
    text = LARGEST.replace("largest:", f"largest for {part}:")
    (result,) = check_text(text, "--explain", "none")["results"]
    assert result["verdict"] == verdict
    if verdict == "violated":
        (fails,) = result["values"]["fails_for"]
        ends = float(fails["from"]["decimal"]), float(fails["to"]["decimal"])
        assert ends == pytest.approx((2**0.5 - 1, 0.5), abs=1e-12)
        assert result["values"]["at_least"]
        assert Fraction(result["values"]["sample"]) > Fraction(2071, 5000)
