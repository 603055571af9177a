"""`subsample(m, q)`: the law of m on Poisson samples of the records that its inputs count."""

from __future__ import annotations

import random
from math import comb, exp

import pytest

from tests.checking import check_text

HISTOGRAM = """
mechanism histogram(n = {n}) {{
  input h[1..2] in 0..n
  public t in 0..1
  adjacent l1(h, h') <= 1
  {body}
}}
"""
BODIES = [
    "for i in 1..2 { y ~ geometric(h[i], 1/2) clamped 0..n output y }",
    "y ~ geometric(h[1] + 2 * h[2], 1/3) clamped 0..3 * n  output y  output t",
    "y ~ geometric(h[1], exp(-1/2)) clamped 0..n if y > t { z ~ bernoulli((1 + h[2])/9) output z }",
    "w ~ {0: 1/2, 1: 1/2}  output (if w = t then h[1] else h[2])",
]
QUANTITIES = ["epsilon", "delta(1/10)", "total_variation", "renyi(2)", "loss_tail(0)", "profile"]
FORMULAS = ["P=? [ X output = h[1] ]", "P=? [ F output = 1 ]"]
# A record each: kept by a draw of its own.
FLIPS = """
mechanism by_hand(n = {n}) {{
  input h[1..2] in 0..n
  public t in 0..1
  adjacent l1(h, h') <= 1
  var s[1..2] := 0
  for i in 1..2 {{ for r in 1..n {{
    there ~ bernoulli({q})
    if r <= h[i] & there {{ s[i] := s[i] + 1 }}
  }} }}
  run histogram(h = s, t = t)
}}
"""


def values(text, claims):
    results = check_text(text + "\n".join(claims))["results"]
    return [(each["value"], each.get("table")) for each in results]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(("n", "q"), [(1, "1/10"), (2, "2/3")])
def test_a_sample_is_the_program_that_draws_each_record(body, n, q):
    text = HISTOGRAM.format(n=n, body=body) + FLIPS.format(n=n, q=q)
    found = [
        values(text, [f"compute {target}: {quantity}" for quantity in QUANTITIES])
        for target in (f"subsample(histogram, {q})", "by_hand")
    ]
    assert found[0] == found[1]
    at = f"h[1] = {n} & h[2] = 1 & t = 1"
    found = [
        values(text, [f"compute {target} at {at}: {formula}" for formula in FORMULAS])
        for target in (f"subsample(histogram, {q})", "by_hand")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("body", BODIES)
def test_samples_are_composed_and_grouped_as_the_program_is(body):
    text = HISTOGRAM.format(n=1, body=body) + FLIPS.format(n=1, q="1/5")
    arranged = ["compose({}, 3)", "group({}, 2)", "compose({}, 2, histogram)", "group({}, 2)"]
    found = [
        values(text, [f"compute {each.format(target)}: delta(1/10)" for each in arranged])
        for target in ("subsample(histogram, 1/5)", "by_hand")
    ]
    assert found[0] == found[1]


def test_a_sample_of_a_sample_is_a_smaller_one_and_a_sure_one_the_database():
    text = HISTOGRAM.format(n=2, body=BODIES[0])
    targets = [
        ("subsample(subsample(histogram, 1/2), 1/5)", "subsample(histogram, 1/10)"),
        ("subsample(histogram, 1)", "histogram"),
    ]
    for pair in targets:
        left, right = (values(text, [f"compute {target}: profile"]) for target in pair)
        assert left == right
    (nothing,) = values(text, ["compute subsample(histogram, 0): epsilon"])
    assert nothing[0]["exact"] == "0"


@pytest.mark.parametrize("seed", range(6))
def test_sampling_amplifies_as_much_as_the_theorem_says(seed):
    """δ'(ln(1 + q(e^ε - 1))) <= q δ(ε): Balle, Barthe, Gaboardi, 2018, records added or removed."""
    drawn = random.Random(seed)
    body = BODIES[seed % len(BODIES)]
    n, k = drawn.randrange(1, 3), drawn.randrange(2, 6)
    text = HISTOGRAM.format(n=n, body=body)
    factors = [1, 5, 3]  # e^ε = 1 + (f - 1)/2
    claims = [
        claim
        for f in factors
        for claim in (
            f"compute subsample(histogram, 1/{k}): delta(ln(1 + {f - 1}/2/{k}))",
            f"compute histogram: delta(ln(1 + {f - 1}/2))",
        )
    ]
    found = [float(value["decimal"]) for value, _ in values(text, claims)]
    for sampled, whole in zip(found[::2], found[1::2], strict=True):
        assert sampled <= whole / k * (1 + 1e-12)


@pytest.mark.parametrize("q", ["1/10", "2/3"])
def test_the_law_of_a_count_is_a_mixture_over_binomially_many_records(q):
    text = "mechanism count { input x in 0..4 adjacent abs(x - x') <= 1 output x }"
    top, under = map(int, q.split("/"))
    chance = top / under
    for x in (1, 4):
        claims = [
            f"compute subsample(count, {q}) at x = {x}: P=? [ X output = {k} ]" for k in (0, 1)
        ]
        for k, (value, _) in enumerate(values(text, claims)):
            expected = comb(x, k) * chance**k * (1 - chance) ** (x - k)
            assert float(value["decimal"]) == pytest.approx(expected, rel=1e-14)


MODEL = """
mechanism step {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ geometric(x, exp(-1/2)) clamped 0..2
  output y
}
"""


def test_a_long_composition_of_samples_lies_between_simple_bounds():
    text = MODEL + "compute compose(subsample(step, 1/100), 1000): epsilon(1e-5)"
    (result,) = check_text(text)["results"]
    low, high = map(float, result["value"]["enclosure"])
    most = 1000 * (exp(1 / 2) - 1) / 100
    assert 0 < low < high <= low * 1.0004
    assert high < most


def test_what_is_public_may_exclude_a_sample_too():
    text = """
    mechanism shares {
      input x in 0..2
      public least in 0..2 where least <= x
      adjacent abs(x - x') <= 1
      y ~ bernoulli((1 + abs(x - least))/4)
      output y
    }
    """
    (error,) = check_text(text + "compute subsample(shares, 1/2): epsilon")["errors"]
    assert (error["code"], error["line"]) == ("DP507", 9)
    assert "the `where` of `least`" in error["message"]
    at = "compute subsample(shares, 1/2) at least = 0: epsilon"
    assert check_text(text.replace("0..2 where", "0..0 where") + at)["results"]
