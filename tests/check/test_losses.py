"""Losses by rounded coefficients, and by digits of a root: as exact numbers tell them."""

import random

import numpy as np
import pytest
from flint import fmpq, fmpz, fmpz_poly

from dpcheck.check.all_values import losses
from dpcheck.check.all_values.losses import RATIONAL, Interval, Known, Radical, Rows, not_below

ROOTS = [
    RATIONAL,
    Radical(2, 1, 2),
    Radical(1, 2, 2),
    Radical(9, 2, 3),
    Radical(10**6 + 1, 10**6, 5),
]
INTERVALS = [(1, None), (1, 2), (fmpq(7, 5), fmpq(23, 16)), (3, None)]
DIGITS = 4000


def numbers_near(root, draw):
    """Return x and y with x - ρ y next to 0, and such that are not: convergents, and their sums."""
    scale = fmpz(1) << DIGITS
    rest = fmpq(root.rounded(DIGITS), scale)
    found, before, here = [0, 1, 2, 3], (1, 0), (int(rest.floor()), 1)
    for _ in range(draw.randint(1, 60)):
        found += here
        if rest == rest.floor():
            break
        rest = 1 / (rest - rest.floor())
        n = int(rest.floor())
        before, here = here, (n * here[0] + before[0], n * here[1] + before[1])
    return found


def is_above(root, sides, limit):
    """Return whether Σ max(0, x - ρ y) > a - ρ b, by so many digits that it is decided."""
    rho = root.rounded(DIGITS)
    losing = [(x, y) for x, y in sides if (x << DIGITS) > rho * y]
    a, b = (sum(side[k] for side in losing) - limit[k] for k in (0, 1))
    return a - b > 0 if root.degree == 1 else (a << DIGITS) > rho * b and (a, b) != (0, 0)


def pairs_above(known, root, polynomials, codes, interval):
    """Return the pairs that lose more than what is known by some coefficient."""
    width = 1 + max(p.degree() for p in [*polynomials, known.above, known.below])
    degree = width - 1 + max(known.f.degree(), known.g.degree())
    line, unit = (interval.low, max(interval.low, 1)), (1, 0)
    if interval.high is not None:
        line, unit = (interval.low, interval.high), (1, 1)
    common = int(fmpq(line[0]).q * fmpq(line[1]).q)
    above, below = (fmpz_poly([int(fmpq(x) * common) for x in each]) for each in (line, unit))

    def shifted(p):
        terms = (c * above**k * below ** (degree - k) for k, c in enumerate(p.coeffs()))
        total = sum(terms, fmpz_poly([]))
        return [int(total[k]) for k in range(degree + 1)]

    small = [shifted(known.g * p) for p in polynomials]
    large = [shifted(known.f * p) for p in polynomials]
    limit = list(zip(shifted(known.above), shifted(known.below), strict=True))
    return [
        k
        for k in range(codes.shape[1])
        if any(
            is_above(root, [(small[i][c], large[j][c]) for i, j in codes[:, k].tolist()], limit[c])
            for c in range(degree + 1)
        )
    ]


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
@pytest.mark.parametrize("root", ROOTS, ids=str)
def test_losses_are_those_of_exact_numbers(root, interval, monkeypatch):
    draw = random.Random(3)
    monkeypatch.setattr(losses, "CACHED", 7)
    for _ in range(25):
        monkeypatch.setattr(losses, "BITS", draw.choice([16, 30, 60]))
        near, width = numbers_near(root, draw), draw.choice([1, 1, 3, 6, 20])
        polynomials = [
            fmpz_poly([draw.choice([1, 1, -1]) * draw.choice(near) for _ in range(width)])
            for _ in range(12)
        ]
        polynomials[:2] = fmpz_poly([near[-2]]), fmpz_poly([near[-1]])
        f, g = (fmpz_poly(draw.choice([[1], [1], [3], [0, 1]])) for _ in range(2))
        n_sequences, n_pairs = draw.choice([1, 2, 9]), draw.choice([2, 40])
        codes = np.array(
            [[draw.choices(range(12), k=2) for _ in range(n_pairs)] for _ in range(n_sequences)]
        )
        codes[0, 1] = 0, 1
        sides = [0 * f, 0 * f]
        for i, j in codes[:, 0].tolist() if draw.random() < 0.5 else []:
            sides = [sides[0] + g * polynomials[i], sides[1] + f * polynomials[j]]
        known, ends = Known(f, g, *sides), [None if x is None else fmpq(x) for x in interval]
        rows = Rows.of(polynomials, draw.choice([5, 12, 28]))
        found = not_below(known, root, rows, codes, Interval(*ends)).tolist()
        assert found == pairs_above(known, root, polynomials, codes, Interval(*ends))


def test_long_factors_are_rounded_to_what_is_above():
    """A pair that loses more by the last digit of a long number is not shown to lose less."""
    draw = random.Random(5)
    for _ in range(25):
        polynomials = [fmpz_poly([draw.randrange(1, 99) for _ in range(3)]) for _ in range(12)]
        f, g = (fmpz_poly([draw.getrandbits(90)]) for _ in range(2))
        codes = np.array([[draw.choices(range(12), k=2) for _ in range(4)] for _ in range(9)])
        losing = [(g * polynomials[i], f * polynomials[j]) for i, j in codes[:, 0].tolist()]
        above, below = (sum((side[k] for side in losing), 0 * f) for k in (0, 1))
        known, interval = Known(f, g, above - 1, below), Interval(fmpq(1), None)
        found = not_below(known, RATIONAL, Rows.of(polynomials, 28), codes, interval).tolist()
        assert found == pairs_above(known, RATIONAL, polynomials, codes, interval)
        assert 0 in found
