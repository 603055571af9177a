"""Compositions with parts that output without end, against one program that runs the parts."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.checking import check_text

PARTS = """
mechanism answers {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ geometric(x, 1/2) clamped 0..2
  output y
}

mechanism waits(step = 1/100) {
  input x in 0..2
  adjacent abs(x - x') <= 1
  while true {
    now ~ bernoulli(1/3 + step * x)
    if now { output top stop }
    output bot
  }
}

mechanism forgets {
  input x in 0..2
  adjacent abs(x - x') <= 1
  t ~ geometric(1, 1/4) clamped 0..2
  while true {
    y ~ geometric(x, 1/2) clamped 0..2
    if y >= t { output top stop }
    output bot
  }
}

mechanism FIRST_then_SECOND {
  input x in 0..2
  adjacent abs(x - x') <= 1
  run FIRST(x = x)
  run SECOND(x = x)
}
"""
SETS = [("answers", "waits"), ("answers", "forgets"), ("waits", "waits"), ("waits", "answers")]


def asked(first, second, claim):
    """Return what is said of the composition, and of the program that runs its parts."""
    text = PARTS.replace("FIRST", first).replace("SECOND", second)
    whole = f"compose({first}, {second})", f"{first}_then_{second}"
    return check_text("\n".join([text, *(claim.replace("TARGET", each) for each in whole)]))[
        "results"
    ]


@pytest.mark.parametrize(("first", "second"), SETS)
@pytest.mark.parametrize(
    "claim",
    [
        *(f"check TARGET: dp({epsilon})" for epsilon in ("1/2", "2", "5")),
        *(
            f"check TARGET: dp({budget})"
            for budget in ("1/2, 1/100", "1, 1/10", "1, 3/5", "2, 99/100")
        ),
        "check TARGET: delta(1) <= 1/2",
    ],
)
def test_a_composition_is_decided_as_the_program_that_runs_its_parts(first, second, claim):
    composed, program = asked(first, second, claim)
    assert composed["verdict"] == program["verdict"] != "undecided"


@pytest.mark.parametrize(("first", "second"), SETS)
def test_bounds_of_what_is_computed_overlap_those_of_the_program(first, second):
    composed, program = asked(first, second, "compute TARGET: delta(1)")
    ends = []
    for found in (composed, program):
        value = found.get("value") or found["bounds"]["low"]
        ends.append([float(end) for end in value.get("enclosure", [value["decimal"]] * 2)])
    (low, high), (least, most) = ends
    assert low <= most + 1e-12
    assert least <= high + 1e-12


def test_ratios_of_one_part_that_grow_make_epsilon_infinite():
    text = PARTS.replace("FIRST", "answers").replace("SECOND", "waits")
    claims = [
        "compute compose(answers, waits): epsilon",
        "check compose(answers, waits, 2): epsilon = inf",
        "refute compose(answers, 3, waits): dp(50)",
        "check compose(answers, waits(step = 0)): dp(ln 4)",
    ]
    found = check_text("\n".join([text, *claims]))["results"]
    assert found[0]["value"]["exact"] == "inf"
    assert [each["verdict"] for each in found[1:3]] == ["holds", "violated"]
    assert found[3]["verdict"] == "holds"  # nothing grows: all losses of both parts are known
    said = [each["text"] for each in found[2]["beside"]]
    assert "run 4 alone shows it" in said
    p, q = map(Decimal, found[2]["counterexample"]["decimals"])
    assert p / q > Decimal(50).exp()


def test_what_needs_all_losses_of_an_endless_part_is_left_open():
    text = PARTS.replace("FIRST", "answers").replace("SECOND", "waits")
    [found] = check_text(f"{text}compute compose(answers, waits): renyi(2)")["results"]
    assert found["verdict"] == "undecided"
    assert "infinitely many output sequences" in found["reason"]["text"]


def test_total_variation_of_endless_outputs_is_that_of_delta():
    text = """
mechanism m {
  input x in 0..3
  adjacent abs(x - x') <= 1
  s := false
  while !s {
    y ~ geometric(x, 1/2) clamped 0..3
    output y
    s ~ bernoulli(1/2)
  }
}
compute m: total_variation
compute m: delta(0)
"""
    variation, delta = check_text(text)["results"]
    assert variation["value"] == delta["value"]
