"""Ready distributions: whole numbers over one denominator, int64 only where both are short.

Sums of numerators of one distribution are at most its denominator, and whoever adds them up in
int64 relies on that.
"""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from math import gcd

import numpy as np
import pytest

import dpcheck
from dpcheck.explore.sampling import closed_forms
from dpcheck.explore.sampling.closed_forms import Weights
from dpcheck.explore.sampling.distributions import Supports
from dpcheck.explore.values.codes import ValueTable
from tests.checking import check_text


def all_made(a, b, lo, hi, center):
    """Yield what every closed form makes of some parameters."""
    for (word, policy), form in closed_forms.closed_forms(lambda: None).items():
        window = lo, lo + (hi - lo) % 8 if word == "gaussian" else hi
        match word, policy:
            case "binomial", _:
                yield form(max(0, hi), a, b)
            case _, "folded" if lo == hi:
                pass
            case "geometric_positive", "conditioned" if hi < 0:
                pass
            case "geometric_positive", _:
                yield form(a, b, *window)
            case (("geometric" | "gaussian"), _):
                yield form(2 * center if word == "gaussian" else center, a, b, *window)


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


def random_noise(rng):
    """Return a distribution with up to 62 values, its numbers short, about 62 bits, or long."""
    b = rng.randint(2, 12)
    alpha = f"{rng.choice([1, b - 1])}/{b}"
    lo = rng.randint(-3, 3)
    hi = lo + rng.choice([1, 5, 59, *[int(math.log(2**62, b))] * 3])
    policy = rng.choice(["clamped", "wrapped", "folded", "conditioned"])
    return rng.choice(
        [
            f"geometric({rng.randint(lo, hi)}, {alpha}) {policy} {lo}..{hi}",
            f"geometric_positive({alpha}) {policy} {lo}..{hi}",
            f"binomial({hi - lo}, {alpha})",
        ]
    )


def distribution_of(shown, draws):
    """Return the exact distribution of an expression in what is drawn."""
    text = "\n".join(f"{name} ~ {noise}" for name, noise in draws.items())
    target = dpcheck.loads(f"mechanism m {{\n{text}\noutput {shown}\n}}").target("m")
    (row,) = target.output_distributions().values()
    return {int(value): chance for value, chance in row.items()}


@pytest.mark.parametrize("seed", range(100))
def test_what_is_drawn_adds_up_where_outputs_do_not_tell_it_apart(seed):
    rng = random.Random(seed)
    draws = {"y": random_noise(rng), "z": random_noise(rng)}
    ys, zs = (distribution_of(name, {name: noise}) for name, noise in draws.items())
    least = rng.choice([3, 30, 1000])
    expected = Counter()
    for y, z in itertools.product(ys, zs):
        expected[max(y + 2 * z, least)] += ys[y] * zs[z]
    assert distribution_of(f"max(y + 2 * z, {least})", draws) == expected
    assert sum(ys.values()) == sum(zs.values()) == 1


@pytest.mark.parametrize("seed", range(6))
def test_weights_with_powers_of_e_count_in_proportion(seed):
    drawn = random.Random(seed)
    names, factors = "abcd", ["1", "2/3", "0", "5"]
    powers = ["1", "exp(-1/2)", "exp(1/3)", "exp(-7/6)", "exp(2)"]
    weights = [f"{drawn.choice(factors)} * {drawn.choice(powers)}" for _ in names[1:]]
    weights.append(drawn.choice(powers) + (" + 1" if seed % 2 else ""))
    branches = ", ".join(f"{n}: {w}" for n, w in zip(names, weights, strict=True))
    text = (
        f"mechanism m {{ input x in 0..1 adjacent all y ~ {{{branches}}} normalized output y }}\n"
    )
    total = " + ".join(weights)
    for name, weight in zip(names, weights, strict=True):
        text += f"check m at x = 0 : P=? [ X {name} ] = ({weight}) / ({total})\n"
    assert [result["verdict"] for result in check_text(text)["results"]] == ["holds"] * 4
