"""Claims for all values of a parameter that small intervals around some of them complete."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import exp

import pytest

from tests.checking import check_text

LARGEST = """
param {param}
mechanism largest {{
  input q[1..2] in 0..2
  adjacent l1(q, q') <= 1
  u ~ geometric(q[1], {ratio}) unbounded
  v ~ geometric(q[2], {ratio}) unbounded
  output max(u, v, 2)
}}
"""
IN_ALPHA = LARGEST.format(param="alpha in (0, 1)", ratio="alpha")
IN_EPS = LARGEST.format(param="eps > 0", ratio="exp(-eps)")

CLOSE = Decimal("1e-9")


def asked(text, *options):
    """Return the result of the one claim of a model."""
    (result,) = check_text(text, "--explain", "none", *options)["results"]
    return result


def ends_of(result):
    """Return the ends of the one interval for which a claim fails, and which are left out."""
    (fails,) = result["values"]["fails_for"]
    return [Decimal(fails[side]["decimal"]) for side in ("from", "to")], fails["open"]


@pytest.mark.parametrize(
    ("text", "claim", "of_values", "is_open"),
    [
        (IN_ALPHA, "check largest:", "(0, 1)", [True, True]),
        (IN_ALPHA, "refute largest:", "(0, 1)", [True, True]),
        (IN_ALPHA, "check largest for alpha in [1/3, 9/20]:", "[1/3, 9/20]", [False, True]),
        (IN_EPS, "check largest:", "(0, inf)", [True, True]),
    ],
)
def test_where_a_claim_begins_to_fail_is_exact(text, claim, of_values, is_open):
    """No window of 14 numbers tells where δ is alpha^40/2, next to sqrt(2) - 1: one of 30 does."""
    name, bound = ("alpha", "alpha^40/2") if text is IN_ALPHA else ("eps", "exp(-40*eps)/2")
    model = f"{text}{claim} dp(ln 2, {bound})\n"
    result = asked(model)
    assert result["verdict"] == "violated"
    assert result["values"]["in"] == of_values
    assert "at_least" not in result["values"]
    (low, high), found_open = ends_of(result)
    assert found_open == is_open
    end, inward = (high, -CLOSE) if name == "alpha" else (low, CLOSE)
    alpha = float(end) if name == "alpha" else exp(-end)
    assert alpha == pytest.approx(2**0.5 - 1, abs=1e-7)
    for value, verdict in ((end + inward, "violated"), (end - inward, "holds")):
        assert asked(model, "-D", f"{name}={Fraction(value)}")["verdict"] == verdict


def test_what_small_intervals_leave_open_is_told_as_before(monkeypatch):
    model = f"{IN_ALPHA}check largest: dp(ln 2, alpha^40/2)\n"
    exact = ends_of(asked(model))[0][1]
    for name, value in (("outcomes.NEARER_SECONDS", 0), ("shown_numbers.MAX_MARGIN", 14)):
        with monkeypatch.context() as changed:
            changed.setattr(f"dpcheck.pipeline.claims.{name}", value)
            result = asked(model)
        (holds,) = result["values"]["holds_for"]
        assert (result["verdict"], result["values"]["at_least"]) == ("violated", True)
        assert ends_of(result)[0][1] < exact < Decimal(holds["from"]["decimal"])
