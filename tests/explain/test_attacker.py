"""Runs that tell two inputs apart: bounds by Bhattacharyya, and the exact number."""

from __future__ import annotations

from itertools import count

import pytest
from flint import fmpq

from dpcheck.exact import add, divide, exponential, multiply, subtract
from dpcheck.exact.number import ball
from dpcheck.explain.attacker import _n_runs
from dpcheck.limits import Limits
from dpcheck.privacy.composition import composed
from dpcheck.privacy.losses import (
    LossDistribution,
    runs_to_reach,
    total_variation,
    total_variation_of_runs,
)
from tests.explain.explaining import seeded


def drawn_law(random):
    weights = [random.choice([0, 1, 2, 3, 9]) for _ in range(3)]
    return [fmpq(w, sum(weights)) for w in weights] if any(weights) else drawn_law(random)


@pytest.mark.parametrize("seed", range(40))
def test_the_least_number_of_runs_is_found_and_lies_between_its_bounds(seed):
    random = seeded(seed)
    p, q = drawn_law(random), drawn_law(random)
    if p == q:
        return
    losses, limits = LossDistribution.of(zip(p, q, strict=True)), Limits()
    fewest, most = runs_to_reach(fmpq(98, 100), losses)
    for n in count(1):
        if total_variation(composed([(losses, n)], limits)) >= fmpq(98, 100):
            break
        if n == 30:
            assert most > n
            return
    assert fewest <= n <= most
    found = _n_runs(losses, limits)
    assert found[0] <= n <= found[1]
    assert found in ((n, n), (fewest, most))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_enclosures_have_the_total_variation_of_runs(n):
    """Of weights with e in them, and with outputs that one side alone shows."""
    less = exponential(fmpq(-1, 2))
    weights = [(1, less), (less, 1), (1, 1)]
    for end in (0, fmpq(1, 3)):
        share = divide(subtract(1, end), add(2, less))
        laws = [(multiply(p, share), multiply(q, share)) for p, q in weights]
        losses = LossDistribution.of([*laws, (end, 0), (0, end)])
        found = total_variation_of_runs(losses, n)
        assert found.contains(ball(total_variation(composed([(losses, n)])), 500))
        assert found.rad() < 1e-40


def test_a_tie_is_enough():
    losses = LossDistribution.of([(fmpq(99, 100), fmpq(1, 100)), (fmpq(1, 100), fmpq(99, 100))])
    assert _n_runs(losses, Limits()) == (1, 1)
