"""Real roots and sets of numbers against sympy, and against signs at many rational numbers."""

import random
from math import e, exp
from operator import and_, or_

import pytest
import sympy
from flint import fmpq, fmpz_poly

from dpcheck.exact import Budget
from dpcheck.exact.roots import (
    PowerOfE,
    Root,
    complement,
    everywhere,
    joined,
    rational_between,
    roots_between,
    samples,
    sign_above,
    sign_at,
    sign_at_root,
    where_above,
    where_sign,
)


def some_polynomials(n, seed):
    """Yield products of small polynomials, some of them squares, with rational and other roots."""
    draw = random.Random(seed)
    for _ in range(n):
        f = fmpz_poly([draw.choice([-1, 1])])
        for _ in range(draw.randint(1, 4)):
            part = fmpz_poly([draw.randint(-9, 9) for _ in range(draw.randint(2, 4))])
            f *= part ** draw.choice([1, 1, 2])
        if f:
            yield f


def contains(region, x):
    """Return whether a rational number belongs to a region."""
    place = 0
    for k, end in enumerate(region.ends):
        order = end.compare(Root.of(x))
        if order == 0:
            return region.truths[2 * k + 1]
        place = 2 * k + 2 if order < 0 else place
    return region.truths[place]


@pytest.mark.parametrize(("low", "high"), [(1, None), (0, 1), (-2, 3), (None, None), (None, 1)])
def test_roots_are_those_that_sympy_isolates(low, high):
    x = sympy.Symbol("x")
    bounds = [None if end is None else Root.of(end) for end in (low, high)]
    for f in some_polynomials(20, seed=low):
        own = roots_between(f, *bounds)
        polynomial = sympy.Poly([int(c) for c in reversed(f.coeffs())], x)
        theirs = {r for r in polynomial.real_roots() if low is None or r > low}
        theirs = {r for r in theirs if high is None or r < high}
        assert len(own) == len(theirs), f
        for root, other in zip(own, sorted(theirs), strict=True):
            below, above = (sympy.Rational(int(q.p), int(q.q)) for q in (root.low, root.high))
            assert below <= other <= above


@pytest.mark.parametrize(
    ("low", "high"), [(0, None), (1, None), ("3/4", None), ("-5/3", "7/4"), ("1/3", "1/2")]
)
def test_regions_have_the_signs_of_their_polynomials(low, high):
    draw = random.Random(2)
    low, high = fmpq(*map(int, str(low).split("/"))), high and fmpq(*map(int, high.split("/")))
    width = 400 if high is None else high - low
    for f in some_polynomials(30, seed=3):
        ends = Root.of(low), None if high is None else Root.of(high)
        negative = where_sign(f, (-1,), *ends)
        at_most_zero = where_sign(f, (-1, 0), *ends)
        values = [low + width * fmpq(draw.randint(1, 599), 600) for _ in range(12)]
        values += [r.rational for r in roots_between(f, *ends) if r.rational is not None]
        for x in values:
            assert contains(negative, x) == (sign_at(f, x) < 0)
            assert contains(at_most_zero, x) == (sign_at(f, x) <= 0)
        roots = roots_between(f, *ends)
        (*_, last) = samples(roots, *ends)
        assert negative.is_everything == (not roots and sign_at(f, last) < 0)


@pytest.mark.parametrize(("low", "root"), [(fmpq(0), fmpq(1, 2)), (fmpq(3, 4), fmpq(4, 5))])
def test_a_root_a_little_above_the_end_of_a_half_line_is_found(low, root):
    (found,) = roots_between(fmpz_poly([-root.p, root.q]), Root.of(low), None)
    assert found.rational == root
    assert not roots_between(fmpz_poly([-root.p, root.q]), Root.of(root), None)


def test_unions_and_complements_are_those_of_every_number():
    draw = random.Random(4)
    regions = [where_sign(f, (-1,), Root.of(1), None) for f in some_polynomials(24, seed=5)]
    for k in range(0, 24, 3):
        parts = regions[k : k + 3]
        union = joined(lambda a, b: a or b, parts)
        rest = complement(union)
        ends = [end.rational for part in parts for end in part.ends if end.rational is not None]
        for x in [*ends, *(fmpq(draw.randint(101, 900), 100) for _ in range(20))]:
            assert contains(union, x) == any(contains(part, x) for part in parts)
            assert contains(rest, x) != contains(union, x)


def test_sets_have_no_ends_at_which_nothing_changes():
    for f in some_polynomials(10, seed=8):
        region = where_sign(f, (-1,), Root.of(1), None)
        assert joined(or_, [region, complement(region)]).ends == ()
        assert joined(and_, [region, complement(region)]).is_empty
        whole, nothing = everywhere(True, Root.of(1), None), everywhere(False, Root.of(1), None)
        assert (whole.truths, nothing.truths) == ((True,), (False,))
        assert joined(and_, [region, whole]).truths == region.truths
        assert joined(or_, [region, nothing]).ends == region.ends


def test_roots_of_one_polynomial_are_told_apart_where_their_intervals_overlap():
    f = fmpz_poly([-2, 0, 1])
    for order in (-1, 1):
        ends = [Root(f, fmpq(-2), fmpq(1)), Root(f, fmpq(0), fmpq(2))][::-order]
        assert ends[0].compare(ends[1]) == order
    assert Root(f, fmpq(1), fmpq(2)).compare(Root(f, fmpq(0), fmpq(3))) == 0
    half = where_sign(f, (-1,), Root.of(0), Root.of(2))
    assert not half.is_empty
    assert not half.is_everything


def test_a_rational_root_is_told_from_the_interval_that_begins_there():
    f = fmpz_poly([-1, 2]) * fmpz_poly([-1, 0, 2])  # 1/2 and 0.707
    assert where_sign(f, (-1,), Root.of(0), Root.of(1)).truths == (False, False, True, False, False)


def test_equal_roots_of_different_polynomials_are_equal():
    golden = fmpz_poly([-1, -1, 1])
    (one,) = roots_between(
        golden * fmpz_poly([-5, 2]) ** 2 * fmpz_poly([1, 0, 1]), Root.of(1), Root.of(2)
    )
    (two,) = roots_between(golden * fmpz_poly([-7, 3]), Root.of(1), Root.of(2))
    assert one.compare(two) == 0
    (near,) = roots_between(fmpz_poly([-161803399, 100000000]), Root.of(1), Root.of(2))
    assert one.compare(near) == -1
    assert near.compare(two) == 1


def test_the_simplest_rational_is_the_simplest():
    draw = random.Random(6)
    for _ in range(200):
        low = fmpq(draw.randint(-50, 50), draw.randint(1, 12))
        high = low + fmpq(draw.randint(1, 9), draw.randint(1, 40))
        found = rational_between(low, high)
        assert low < found < high
        for q in range(1, int(found.q)):
            assert low * q >= (high * q).ceil() - 1, "no smaller denominator fits"


def test_powers_of_e_are_told_from_algebraic_numbers_however_near_they_are():
    below, above = PowerOfE(Budget.of(fmpq(1, 2))), PowerOfE(Budget.ln(2) + 1)  # 1.648..., 5.436...
    near = fmpz_poly([-1648721270700128146848650787814, 10**30])
    assert below.compare(roots_between(near, Root.of(1), None)[0]) == 1
    assert below.compare(above) == -1
    assert below.compare(PowerOfE(Budget.of(fmpq(1, 2)))) == 0
    for f in some_polynomials(30, seed=11):
        every, inside = roots_between(f, None, None), roots_between(f, below, above)
        for root in every * 40:
            root.narrow()
        values = [root.low for root in every]
        kept = [x for x in values if exp(0.5) < float(x.p) / float(x.q) < 2 * e]
        assert len(inside) == len(kept)
        for x in samples(inside, below, above):
            assert exp(0.5) < float(x.p) / float(x.q) < 2 * e


def test_where_a_root_of_a_function_times_another_is_exceeded():
    draw = random.Random(5)
    seen = set()
    for _ in range(60):
        left, right = (fmpz_poly([draw.randint(-4, 4) for _ in range(3)]) for _ in range(2))
        f, g = (fmpz_poly([draw.randint(1, 4), draw.randint(0, 3)]) for _ in range(2))
        growth = f, g, draw.choice([2, 3, 4])
        for or_equal in (False, True):
            region = where_above(left, right, growth, Root.of(1), None, or_equal=or_equal)
            points = samples(region.ends, region.low, region.high)
            for x, truth in zip(points, region.truths[::2], strict=True):
                a, b, c = (float(v.p) / float(v.q) for v in (left(x), right(x), f(x) / g(x)))
                value = a - b * c ** (1 / growth[2])
                if abs(value) > 1e-9:
                    assert truth == (value > 0) == (sign_above(left, right, growth, x) > 0)
                    seen.add((truth, a > 0, b > 0))
    assert len(seen) == 6


def test_the_simplest_number_between_two_may_be_zero():
    assert rational_between(fmpq(-1, 2), fmpq(1, 3)) == 0
    assert rational_between(fmpq(-3), None) == 0
    assert rational_between(fmpq(-1), fmpq(0)) == fmpq(-1, 2)


def test_the_zero_polynomial_has_sign_zero_everywhere():
    for high in (None, Root.of(1)):
        assert where_sign(fmpz_poly([]), (0,), high and Root.of(0), high).is_everything
        assert where_sign(fmpz_poly([]), (-1, 1), high and Root.of(0), high).is_empty


@pytest.mark.parametrize(
    ("left", "right", "root"), [(2, 1, 2), (-2, -1, 2), (2, 1, 3), (-2, -1, 3)]
)
def test_where_a_root_of_a_function_times_another_is_equal(left, right, root):
    x, one = fmpz_poly([0, 1]), fmpz_poly([1])  # 2 against x^(1/n)
    growth, meet = (x, one, root), fmpq(2**root)
    both = fmpz_poly([left]), fmpz_poly([right])
    more = where_above(*both, growth, Root.of(1), None, or_equal=False)
    least = where_above(*both, growth, Root.of(1), None, or_equal=True)
    assert not contains(more, meet)
    assert contains(least, meet)
    assert sign_above(*both, growth, meet) == 0
    for at in (meet - 1, meet + 1):
        is_above = (at < meet) == (left > 0)
        assert contains(more, at) == contains(least, at) == is_above
        assert sign_above(*both, growth, at) == (1 if is_above else -1)


def test_sides_that_meet_with_one_sign_or_opposite_ones_are_told_apart():
    draw, x = random.Random(6), fmpz_poly([0, 1])
    seen = set()
    for _ in range(300):
        m, is_square = draw.randint(2, 4), draw.random() < 0.2
        growth, factor = ((x**2, x**0, 2), x) if is_square else ((x, x**0, 2), m)
        meet = m if is_square else m * m
        rest = draw.choice([fmpz_poly([0]), x - meet, (x - meet) ** 2])
        right = draw.choice([-1, 0, 1, 2]) + (x - meet) * draw.randint(-2, 2)
        left = draw.choice([1, -1]) * factor * right + rest * draw.randint(-2, 2)
        for or_equal in (False, True):
            region = where_above(left, right, growth, Root.of(1), None, or_equal=or_equal)
            for at in (fmpq(meet), *samples(region.ends, region.low, region.high)):
                sign = sign_above(left, right, growth, at)
                assert contains(region, at) == (sign > 0 or (or_equal and sign == 0))
                seen.add((at == meet, is_square, sign))
    assert len(seen) == 12


@pytest.mark.parametrize("polynomial", [[-2, 0, 1], [-3, 1], [0, 1], [-8, 0, 4], [5], [-7, 5]])
def test_signs_at_roots_are_those_next_to_them(polynomial):
    p = fmpz_poly(polynomial)
    ends = fmpz_poly([-2, 0, 1]), Root.of(-9), None
    for root, near in zip(
        roots_between(*ends), (fmpq(-141421, 10**5), fmpq(141421, 10**5)), strict=True
    ):
        wanted = 0 if p(near) ** 2 < fmpq(1, 10**6) else int(p(near) > 0) - int(p(near) < 0)
        assert sign_at_root(p, root) == wanted
    assert sign_at_root(p, Root.of(3)) == int(p(3) > 0) - int(p(3) < 0)


def test_functions_of_other_signs_are_compared_by_these():
    one, zero = fmpz_poly([1]), fmpz_poly([])
    for root in (1, 2, 3):
        growth = fmpz_poly([0, 1]), one, root
        for left, right, sign in ((one, zero, 1), (zero, one, -1), (one, -one, 1), (zero, -one, 1)):
            assert sign_above(left, right, growth, fmpq(2)) == sign
            for or_equal in (False, True):
                where = where_above(left, right, growth, Root.of(1), None, or_equal=or_equal)
                assert where.is_everything == (sign > 0)
                assert where.is_empty == (sign < 0)
        zeros = where_above(zero, zero, growth, Root.of(1), None, or_equal=True)
        assert zeros.is_everything
        assert where_above(zero, zero, growth, Root.of(1), None, or_equal=False).is_empty
