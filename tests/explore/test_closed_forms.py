"""Ready distributions: whole numbers over one denominator, int64 only where both are short.

Sums of numerators of one distribution are at most its denominator, and whoever adds them up in
int64 relies on that.
"""

import random
from fractions import Fraction
from math import gcd

import numpy as np
import pytest

from dpcheck.explore import closed_forms
from dpcheck.explore.closed_forms import Weights
from dpcheck.explore.columns import ValueTable
from dpcheck.explore.distributions import Supports
from tests.checking import check_text


def all_made(a, b, lo, hi, center):
    """Yield what every maker of the room makes of some parameters."""
    yield closed_forms.geometric_clamped(center, a, b, lo, hi)
    yield closed_forms.geometric_conditioned(min(max(center, lo), hi), a, b, lo, hi)
    yield closed_forms.geometric_wrapped(center, a, b, lo, hi)
    yield closed_forms.positive_clamped(a, b, lo, hi)
    yield closed_forms.positive_wrapped(a, b, lo, hi)
    yield closed_forms.binomial(max(0, hi), a, b, lambda: None)
    yield closed_forms.gaussian_conditioned(2 * center, a, b, lo, lo + (hi - lo) % 8)
    if hi > lo:
        yield closed_forms.geometric_folded(center, a, b, lo, hi)
        yield closed_forms.positive_folded(a, b, lo, hi)
    if hi >= 0:
        yield closed_forms.positive_conditioned(a, b, lo, hi)


@pytest.mark.parametrize("seed", range(300))
def test_numbers_are_int64_only_where_their_denominator_fits_as_well(seed):
    rng = random.Random(seed)
    b = rng.randint(2, 12)
    a = rng.choice([a for a in range(1, b) if gcd(a, b) == 1])
    lo = rng.randint(-5, 20)
    hi = lo + rng.randint(0, 70)
    for made in all_made(a, b, lo, hi, center=rng.randint(lo - 10, hi + 10)):
        assert sum(made.numerators.tolist()) == made.denominator
        assert made.numerators.dtype == object or made.denominator < 2**62


def test_a_distribution_that_breaks_this_is_refused():
    values = np.arange(2)
    with pytest.raises(AssertionError):
        Supports(ValueTable()).add(Weights(values, np.full(2, 2**61), 2**62))


@pytest.mark.parametrize("noise", ["wrapped 0..39", "folded 0..20"])
def test_parallel_steps_of_long_numbers_add_up(noise):
    """Numerators fit int64 one by one, and their sums do not."""
    n = 40
    powers = [Fraction(2, 3) ** k for k in range(n)]
    if noise.startswith("folded"):
        powers = [powers[z] + (powers[n - z] if z not in (0, 20) else 0) for z in range(n // 2 + 1)]
    chance = sum(powers[:20]) / sum(powers)
    (result,) = check_text(
        f"""mechanism m {{
          z ~ geometric_positive(2/3) {noise}
          output if z < 20 then 0 else 1
        }}
        compute m: P=? [ X output = 0 ]"""
    )["results"]
    assert Fraction(result["value"]["exact"]) == chance
