"""Laws of profiles, divergences, trade-off curves and composition, on random exact pairs."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import exp, log

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.exact import Budget, LogOf, compare, exponential, number
from dpcheck.privacy.composition import composed
from dpcheck.privacy.concentrated import zcdp
from dpcheck.privacy.enclosed import Enclosed
from dpcheck.privacy.losses import LossDistribution, both_directions, total_variation
from dpcheck.privacy.profile import profile
from dpcheck.privacy.renyi import renyi
from dpcheck.privacy.tradeoff import curve, type_two_error


@st.composite
def rows(draw, size=4, least=0):
    weights = draw(
        st.lists(st.integers(least, 9), min_size=size, max_size=size).filter(lambda w: sum(w) > 0)
    )
    return [Fraction(w, sum(weights)) for w in weights]


def losses_of(p, q):
    return LossDistribution.of(
        (number(x.numerator, x.denominator), number(y.numerator, y.denominator))
        for x, y in zip(p, q, strict=True)
    )


def fraction(value):
    return Fraction(str(value))


def plain_delta(p, q, factor):
    return sum((max(Fraction(0), x - factor * y) for x, y in zip(p, q, strict=True)), Fraction(0))


FACTORS = [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(7, 2), Fraction(10)]


@given(rows(), rows())
def test_the_profile_is_the_hockey_stick_divergence_of_both_directions(p, q):
    pieces = profile([(0, losses_of(p, q))])
    for factor in FACTORS:
        expected = max(plain_delta(p, q, factor), plain_delta(q, p, factor))
        at = fmpq(factor.numerator, factor.denominator)
        piece = next(piece for piece in pieces if piece.end is None or at <= piece.end)
        assert fraction(piece.line.at(at)) == expected


@given(st.lists(st.tuples(rows(), rows()), min_size=1, max_size=4))
def test_the_profile_of_several_pairs_is_their_maximum_and_each_piece_names_its_pair(pairs):
    pieces = profile([(i, losses_of(p, q)) for i, (p, q) in enumerate(pairs)])
    for piece in pieces:
        start = fraction(piece.start)
        expected = max(max(plain_delta(p, q, start), plain_delta(q, p, start)) for p, q in pairs)
        assert fraction(piece.line.at(piece.start)) == expected
        if piece.line.pair >= 0:
            p, q = pairs[piece.line.pair] if piece.line.is_forward else pairs[piece.line.pair][::-1]
            inside = start if piece.end is None else (start + fraction(piece.end)) / 2
            assert plain_delta(p, q, inside) == fraction(piece.line.p) - inside * fraction(
                piece.line.q
            )


@given(rows(), rows())
def test_profiles_are_convex_and_falling(p, q):
    pieces = profile([(0, losses_of(p, q))])
    slopes = [fraction(piece.line.q) for piece in pieces]
    assert slopes == sorted(slopes, reverse=True)
    assert all(slope >= 0 for slope in slopes)


@given(rows(), rows())
def test_merging_outputs_never_loses_less_privacy_than_before(p, q):
    merged_p, merged_q = [p[0] + p[1], *p[2:]], [q[0] + q[1], *q[2:]]
    before, after = losses_of(p, q), losses_of(merged_p, merged_q)
    for factor in (1, 2, 5):
        assert compare(after.delta(factor), before.delta(factor)) <= 0
    for order in (2, fmpq(3, 2), 3):
        assert less_or_equal(renyi(after, order), renyi(before, order))


def value_of(divergence):
    if divergence is None:
        return float("inf")
    ball = divergence.ball(100)
    return float(ball.mid())


def less_or_equal(left, right):
    return value_of(left) <= value_of(right) + 1e-12


@given(rows(least=1), rows(least=1))
def test_renyi_divergence_rises_with_the_order_and_stays_below_epsilon(p, q):
    losses = losses_of(p, q)
    orders = [fmpq(1, 2), 1, fmpq(3, 2), 2, fmpq(7, 3), 5]
    values = [value_of(renyi(losses, order)) for order in orders]
    assert all(a <= b + 1e-12 for a, b in pairwise(values))
    assert values[-1] <= log(float(fraction(losses.largest_ratio))) + 1e-12


@given(rows(least=1), rows(least=1), st.sampled_from([2, 3, fmpq(3, 2), fmpq(1, 2), 1]))
def test_renyi_divergence_is_its_definition(p, q, order):
    a = float(Fraction(str(order)))
    pairs = list(zip(p, q, strict=True))
    if a == 1:
        expected = sum(float(x) * log(x / y) for x, y in pairs)
    else:
        expected = log(sum(float(x) ** a * float(y) ** (1 - a) for x, y in pairs)) / (a - 1)
    assert value_of(renyi(losses_of(p, q), order)) == pytest.approx(expected, abs=1e-12)


@given(rows(3), rows(3), rows(3), rows(3))
@settings(max_examples=50)
def test_composition_is_the_product_distribution(p, q, r, s):
    together = composed([(losses_of(p, q), 1), (losses_of(r, s), 1)])
    p_product = [x * y for x, y in product(p, r)]
    q_product = [x * y for x, y in product(q, s)]
    assert together == losses_of(p_product, q_product)


@given(rows(3), rows(3), st.integers(1, 4))
@settings(max_examples=40)
def test_repeated_composition_is_the_power(p, q, times):
    expected_p, expected_q = [Fraction(1)], [Fraction(1)]
    for _ in range(times):
        expected_p = [x * y for x, y in product(expected_p, p)]
        expected_q = [x * y for x, y in product(expected_q, q)]
    assert composed([(losses_of(p, q), times)]) == losses_of(expected_p, expected_q)


@given(rows(3, least=1), rows(3, least=1))
@settings(max_examples=40)
def test_divergences_add_under_composition(p, q):
    losses = losses_of(p, q)
    twice = composed([(losses, 2)])
    for order in (1, 2, 3):
        single = renyi(losses, order)
        assert value_of(renyi(twice, order)) == pytest.approx(2 * value_of(single), abs=1e-12)


def test_composition_outside_the_rationals_merges_powers_of_e():
    t = exponential(fmpq(1, 2))
    p, q = t / (1 + t), 1 / (1 + t)
    losses = LossDistribution.of([(p, q), (q, p)])
    thrice = composed([(losses, 3)])
    assert [loss.ratio for loss in thrice.losses] == [
        exponential(fmpq(k, 2)) for k in (3, 1, -1, -3)
    ]
    assert sum((loss.p for loss in thrice.losses), 0) == 1


def test_the_survey_composed_a_thousand_times_has_a_thousand_and_one_losses():
    survey = losses_of([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)])
    many = composed([(survey, 1000)])
    assert len(many.losses) == 1001
    assert many.losses[0].ratio == 3**1000
    assert sum((loss.p for loss in many.losses), fmpq(0)) == 1


@given(rows(), rows())
def test_the_tradeoff_curve_is_convex_and_touches_every_likelihood_test(p, q):
    losses = losses_of(p, q)
    corners = [(fraction(c.type_one), fraction(c.type_two)) for c in curve(losses)]
    assert corners[0][0] == 0
    assert corners[-1] == (1, 0)
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(corners)]
    assert slopes == sorted(slopes)
    for chosen in product([False, True], repeat=len(p)):
        type_one = sum((x for x, c in zip(p, chosen, strict=True) if c), Fraction(0))
        type_two = 1 - sum((y for y, c in zip(q, chosen, strict=True) if c), Fraction(0))
        least = type_two_error(losses, number(type_one.numerator, type_one.denominator))
        assert fraction(least) <= type_two


@given(rows(), rows())
def test_profile_and_tradeoff_curve_are_dual(p, q):
    losses = losses_of(p, q)
    corners = [(fraction(c.type_one), fraction(c.type_two)) for c in curve(losses)]
    for factor in FACTORS:
        dual = max(1 - b - factor * a for a, b in corners)
        assert max(dual, 0) == plain_delta(q, p, factor)


@given(rows(), rows())
def test_total_variation_is_half_the_absolute_difference(p, q):
    expected = sum((abs(x - y) for x, y in zip(p, q, strict=True)), Fraction(0)) / 2
    assert fraction(total_variation(losses_of(p, q))) == expected


@given(rows(least=1), rows(least=1))
@settings(max_examples=15)
def test_the_least_rho_bounds_every_order_and_some_order_reaches_it(p, q):
    sides = [losses for losses, _ in both_directions(losses_of(p, q))]
    if sides[0].is_certain:
        return
    found = zcdp(sides)
    rho = value_of(found.rho)
    for order in (fmpq(11, 10), fmpq(3, 2), 2, 3, 5, 10, 30):
        for losses in sides:
            assert value_of(renyi(losses, order)) / float(Fraction(str(order))) <= rho + 1e-12
    low, high = (float(Fraction(str(end))) for end in found.orders)
    middle = fmpq(*Fraction((low + high) / 2).limit_denominator(10**6).as_integer_ratio())
    reached = value_of(renyi(sides[found.index], middle)) / float(Fraction(str(middle)))
    assert reached == pytest.approx(rho, rel=1e-3)


def test_of_lines_that_meet_at_one_the_flatter_begins():
    quarter, eighth = Fraction(1, 4), Fraction(1, 8)
    steep = losses_of([2 * quarter, 2 * quarter], [quarter, 3 * quarter])
    flat = losses_of([3 * eighth, 5 * eighth], [eighth, 7 * eighth])
    pieces = profile([(0, steep), (1, flat)])
    assert pieces[0].line.pair == 1
    assert all(piece.end is None or compare(piece.start, piece.end) < 0 for piece in pieces)


@pytest.mark.parametrize("runs", [[2, 0], [1, 1], [2, 3]])
def test_beside_a_run_that_shows_everything_others_show_nothing_more(runs):
    copy = losses_of([Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)])
    survey = losses_of([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)])
    assert composed(list(zip([copy, survey], runs, strict=True))) == LossDistribution((), 1, 1)


@pytest.mark.parametrize("bits", [10, 28, 40])
def test_the_least_rho_of_nearly_equal_rows_is_found(bits):
    aside = Fraction(1, 2**bits)
    first, second = Fraction(1, 3) + aside, Fraction(1, 3)
    one, other = [first, second, 1 - first - second], [second, first, 1 - first - second]
    found = zcdp([losses for losses, _ in both_directions(losses_of(one, other))])
    # ln(1 + y) = y - y²/2 + ..., so of y = 3·aside the divergence of order 1 is y²/3 (1 - y/2 + ..)
    assert value_of(found.rho) == pytest.approx(3 * 4.0**-bits * (1 - 1.5 / 2**bits), rel=1e-5)


def test_a_divergence_is_a_budget_where_one_radical_remains():
    survey = losses_of([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)])
    assert renyi(survey, fmpq(3, 2)) == Budget.ln(fmpq(25, 12))
    three = losses_of([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 3)] * 3)
    assert isinstance(renyi(three, fmpq(3, 2)), Enclosed)
    assert isinstance(renyi(three, 2), Budget)


def test_enclosures_hold_the_value_to_the_digits_asked():
    three = losses_of([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 3)] * 3)
    value = renyi(three, fmpq(3, 2))
    low, high = value.bounds(60)
    assert low < high
    assert (high - low) * 10**60 <= high
    again = renyi(three, fmpq(3, 2)).bounds(100)
    assert low <= again[0] <= again[1] <= high


def test_an_infinite_loss_makes_divergences_infinite_but_not_small_orders():
    losses = losses_of([Fraction(1, 2), Fraction(1, 2)], [Fraction(0), Fraction(1)])
    assert renyi(losses, 2) is None
    assert renyi(losses, 1) is None
    assert value_of(renyi(losses, fmpq(1, 2))) == pytest.approx(log(2))
    assert zcdp([losses]).rho is None
    assert not isinstance(renyi(losses, fmpq(1, 2)), LogOf)
    assert exp(0) == 1
