"""Bounds of compositions on a grid contain the exact values, and are narrow."""

from __future__ import annotations

from functools import reduce
from random import Random

import pytest
from flint import arb, ctx, fmpq, fmpz_poly

from dpcheck.check.quantities.loss_values import loss_tail
from dpcheck.exact import Budget, divide, exponential, number, subtract, sum_of
from dpcheck.limits import Limits
from dpcheck.privacy.composition import composed
from dpcheck.privacy.enclosed import ball_of
from dpcheck.privacy.grid import GridLosses
from dpcheck.privacy.lattices import GridSum, Lattice
from dpcheck.privacy.losses import LossDistribution, both_directions
from dpcheck.privacy.tradeoff import type_two_error
from tests.numbers import rational

EPSILONS = [Budget.of(0), Budget.of(fmpq(1, 3)), Budget.ln(2), Budget.ln(3) * 2, Budget.of(4)]
DELTAS = [fmpq(1, 10**6), fmpq(1, 100), fmpq(1, 7), fmpq(1, 2)]


def random_losses(drawn, *, is_one_sided=False, with_exp=False):
    """Return the losses of two distributions over a few outputs; some may be impossible."""
    n = drawn.randrange(2, 5)
    rows = [[drawn.randrange(1, 9) for _ in range(n)] for _ in range(2)]
    if with_exp:
        rows = [[w * exponential(fmpq(drawn.randrange(-3, 4), 7)) for w in row] for row in rows]
    if is_one_sided:
        rows[drawn.randrange(2)][0] = 0
    totals = [sum_of(row) for row in rows]
    return LossDistribution.of(
        [(divide(p, totals[0]), divide(q, totals[1])) for p, q in zip(*rows, strict=True)]
    )


def exact_epsilon(losses, delta):
    """Return an enclosure of the least ε >= 0 with δ(ε) <= delta, None if it is infinite.

    δ(ε) is the largest of P(S) - e^ε Q(S) over the corners, so ε is the largest root of one.
    """
    with ctx.workprec(300):
        roots = [arb(0)]
        for p, q in losses.corners:
            if ball_of(p, 300) > ball_of(delta, 300):
                if q == 0:
                    return None
                roots.append(((ball_of(p, 300) - ball_of(delta, 300)) / ball_of(q, 300)).log())
        return reduce(arb.max, roots)


def exact_delta(losses, epsilon):
    """Return an enclosure of δ(ε), the largest of P(S) - e^ε Q(S) over the corners."""
    with ctx.workprec(300):
        factor = epsilon.exp_ball(300)
        gaps = [ball_of(p, 300) - factor * ball_of(q, 300) for p, q in losses.corners]
        return reduce(arb.max, gaps)


def assert_encloses(found, losses, width):
    """Assert that all bounds of δ and ε hold the exact values, and lie near them."""
    with ctx.workprec(300):
        for epsilon in EPSILONS:
            value = exact_delta(losses, epsilon)
            low, _ = found.delta_below(epsilon)
            high = found.delta_above(epsilon)
            assert low.lower() <= value.upper()
            assert high.upper() >= value.lower()
            assert high - low.max(0 * low) < width
        for delta in DELTAS:
            value, low, high = (
                exact_epsilon(losses, delta),
                found.epsilon_below(delta),
                found.epsilon_above(delta),
            )
            if value is None:
                assert high is None
                continue
            assert low is not None
            assert low.lower() <= value.upper()
            assert high is None or high.upper() >= value.lower()
            assert high is None or high - low < 4 * width


@pytest.mark.parametrize("seed", range(14))
def test_bounds_hold_the_exact_values_of_compositions(seed):
    drawn = Random(seed)
    parts = [(random_losses(drawn, is_one_sided=seed % 3 == 0), drawn.randrange(1, 6))]
    if seed % 2:
        parts.append((random_losses(drawn), drawn.randrange(1, 4)))
    step = fmpq(1, drawn.choice([37, 250, 1009]))
    for is_forward in (True, False):
        turned = [(d if is_forward else d.reversed(), times) for d, times in parts]
        found = GridLosses.of(turned, step, 60, Limits())
        assert_encloses(found, composed(turned), 2 * float(step) * sum(t for _, t in turned))


@pytest.mark.parametrize("seed", range(24))
def test_grids_that_become_coarser_hold_the_exact_values_of_compositions(seed):
    drawn = Random(seed)
    times = drawn.randrange(4, 40)
    parts = [(random_losses(drawn, is_one_sided=seed % 3 == 0), times)]
    if seed % 2:
        parts = [(parts[0][0], times % 7 + 1), (random_losses(drawn), drawn.randrange(1, 9))]
    step = fmpq(1, drawn.choice([3, 37, 250]))
    for losses, _ in both_directions(parts[0][0]):
        turned = [(losses, parts[0][1]), *parts[1:]]
        n_runs = sum(each for _, each in turned)
        found = GridLosses.of(turned, step, 60, Limits(), becomes_coarser=True)
        exact = composed(turned)
        assert found.step > step or n_runs < 4 * len(turned)
        # Sums are moved by less than a step of the last grid for each time it became coarser.
        assert_encloses(found, exact, 2 * float(step) * n_runs + 6 * float(found.step))
        for type_one in (fmpq(1, 30), fmpq(1, 2)):
            with ctx.workprec(300):
                power = 1 - ball_of(type_two_error(exact.reversed(), type_one), 300)
                low, high = found.power_below(type_one), found.power_above(type_one)
                assert low.lower() <= power.upper()
                assert high.upper() >= power.lower()


def test_a_coarser_grid_has_the_split_of_outputs_between_every_second_point():
    """Masses and Q's sums of one point stay: p' + p'' = p, and p' e^-x + p'' e^-y = p e^-r."""
    step, bits = fmpq(1, 5), 96
    mass = fmpz_poly([1 << 90])
    for low in (-3, -2, 4, 7):
        lattice = Lattice(mass, low)
        made = GridSum(step, lattice, lattice, lattice, bits, 60).coarser()
        with ctx.workprec(200):

            def total(found, rate, step):
                points = enumerate(found.masses.coeffs(), found.low)
                return sum((m * (arb(step) * j * rate).exp() for j, m in points), arb(0))

            for found, rates in (
                (made.upper, (0, -1)),
                (made.p_lower, (0,)),
                (made.q_upper, (-1,)),
            ):
                for rate in rates:
                    before, after = (total(lattice, rate, step), total(found, rate, step * 2))
                    assert abs(before - after) < 100
                    assert (after <= before) if found is made.p_lower else (after >= before - 1)
            points = {
                2 * j for j, m in enumerate(made.upper.masses.coeffs(), made.upper.low) if m > 9
            }
            assert points == ({low} if low % 2 == 0 else {low - 1, low + 1})


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_the_exact_values_of_compositions_with_powers_of_e(seed):
    drawn = Random(seed)
    parts = [(random_losses(drawn, is_one_sided=seed % 2 == 0, with_exp=True), 2)]
    parts.append((random_losses(drawn), drawn.randrange(1, 3)))
    step = fmpq(1, drawn.choice([7, 50]))
    assert_encloses(GridLosses.of(parts, step, 60, Limits()), composed(parts), 8 * float(step))


def test_rows_without_common_outputs_have_infinite_losses_only():
    drawn, apart = Random(1), LossDistribution((), 1, 1)
    for parts in ([(apart, 2)], [(random_losses(drawn), 3), (apart, 2)]):
        found = GridLosses.of(parts, fmpq(1, 10), 60, Limits())
        assert found.delta_below(Budget.of(3))[0] == found.delta_above(Budget.of(3)) == 1
        assert found.epsilon_below(fmpq(1, 2)) is None
        assert found.epsilon_above(fmpq(1, 2)) is None


@pytest.mark.parametrize("step", [fmpq(1, 10), fmpq(1, 30), fmpq(1, 7)])
def test_powers_of_e_that_lie_on_the_grid_stay_there(step):
    ratio = exponential(fmpq(1, 10))
    p = ratio / (ratio + 1)
    losses = LossDistribution.of([(p, 1 - p), (1 - p, p)])
    found = GridLosses.of([(losses, 4)], step, 60, Limits())
    exact = composed([(losses, 4)])
    width = 2e-15 if step.q % 10 == 0 else 0.2
    with ctx.workprec(300):
        for epsilon in (Budget.of(0), Budget.of(fmpq(1, 10)), Budget.of(fmpq(1, 4))):
            value = ball_of(exact.delta(epsilon.exp()), 300)
            low, high = found.delta_below(epsilon)[0], found.delta_above(epsilon)
            assert low.lower() <= value.upper()
            assert high.upper() >= value.lower()
            assert high - low < width


@pytest.mark.parametrize("seed", range(10))
def test_tails_and_errors_of_tests_are_enclosed(seed):
    drawn = Random(seed)
    parts = [(random_losses(drawn, is_one_sided=seed % 2 == 0), drawn.randrange(1, 5))]
    parts.append((random_losses(drawn, is_one_sided=seed % 3 == 0), drawn.randrange(1, 3)))
    exact = composed(parts)
    found = GridLosses.of(parts, fmpq(1, drawn.choice([20, 300])), 60, Limits())
    with ctx.workprec(300):
        for epsilon in (*EPSILONS, Budget.of(fmpq(-1, 2)), Budget.ln(fmpq(1, 3))):
            value = ball_of(loss_tail(exact, epsilon), 300)
            low, high = found.loss_tail(epsilon)
            assert low.lower() <= value.upper()
            assert high.upper() >= value.lower()
        for type_one in (0, fmpq(1, 10**6), fmpq(1, 30), fmpq(1, 2), fmpq(29, 30), 1):
            power = 1 - ball_of(type_two_error(exact.reversed(), type_one), 300)
            low, high = found.power_below(type_one), found.power_above(type_one)
            assert low.lower() <= power.upper()
            assert high.upper() >= power.lower()
            assert high - low < fmpq(1, 2)


def test_half_the_step_makes_a_quarter_of_the_width():
    half = rational("0.5")
    third = number(1, 3)
    losses = LossDistribution.of([(half, third), (half, 1 - third)])
    widths = []
    for step in (fmpq(1, 50), fmpq(1, 100), fmpq(1, 200)):
        found = GridLosses.of([(losses, 300)], step, 60, Limits())
        delta = fmpq(1, 10**5)
        with ctx.workprec(128):
            widths.append(float((found.epsilon_above(delta) - found.epsilon_below(delta)).mid()))
    assert widths[2] < widths[0] / 8
    assert widths[0] < 0.1


def test_mass_at_infinite_losses_bounds_delta_from_both_sides():
    losses = LossDistribution.of([(number(1, 100), 0), (number(99, 100), 1)])
    found = GridLosses.of([(losses, 3)], fmpq(1, 100), 60, Limits())
    expected = 1 - number(99, 100) ** 3
    low, high = found.delta_below(Budget.of(5))[0], found.delta_above(Budget.of(5))
    assert abs(float(low.mid()) - float(expected)) < 1e-12
    assert abs(float(high.mid()) - float(expected)) < 1e-12
    assert found.epsilon_above(number(1, 1000)) is None
    assert found.epsilon_below(number(1, 1000)) is None


def test_what_is_cut_off_counts_as_an_infinite_loss():
    drawn = Random(3)
    losses = random_losses(drawn)
    for direction, _ in both_directions(losses):
        wide = GridLosses.of([(direction, 20)], fmpq(1, 50), 60, Limits())
        cut = GridLosses.of([(direction, 20)], fmpq(1, 50), 12, Limits())
        assert cut.n_points < wide.n_points
        for epsilon in EPSILONS:
            value = ball_of(composed([(direction, 20)]).delta(epsilon.exp()), 128)
            assert cut.delta_above(epsilon).upper() >= value.lower()
            assert cut.delta_below(epsilon)[0].lower() <= value.upper()


def test_products_of_masses_are_rounded_to_the_side_that_bounds():
    drawn = Random(5)
    for n in (1, 3, 200):
        masses = [[drawn.randrange(1 << 17, 1 << 20) for _ in range(n)] for _ in range(2)]
        left, right = (Lattice(fmpz_poly(each), 0) for each in masses)
        exact = (left.masses * right.masses).coeffs()
        both = (GridSum(fmpq(1), one, one, one, 30, 30) for one in (left, right))
        product = next(both).times(next(both))
        up, down, also_up = product.upper, product.p_lower, product.q_upper
        assert up.masses.coeffs() == [-(-int(mass) >> 30) for mass in exact]
        assert also_up.masses.coeffs() == [-(-int(mass) >> 30) for mass in exact]
        assert down.masses == fmpz_poly([int(mass) >> 30 for mass in exact])


def test_outputs_too_light_for_the_grid_are_in_no_event():
    light = [number(1, 10**n) for n in (40, 60)]
    rows = [(light[0], light[1]), (number(1, 2), number(1, 3))]
    losses = LossDistribution.of([*rows, tuple(1 - sum(side) for side in zip(*rows, strict=True))])
    assert_encloses(GridLosses.of([(losses, 1)], fmpq(1, 10), 40, Limits()), losses, 1 / 5)


def test_a_delta_too_small_for_floats_has_bounds():
    half, third = number(1, 2), number(1, 3)
    losses = LossDistribution.of([(half, third), (half, 1 - third)])
    found = GridLosses.of([(losses, 30)], fmpq(1, 10), 1064, Limits())
    delta = fmpq(1, 10**310)
    value = exact_epsilon(composed([(losses, 30)]), delta)
    assert found.epsilon_below(delta) <= value <= found.epsilon_above(delta)


def test_errors_of_tests_are_enclosed_where_ratios_have_no_floats():
    rare = number(1, 10**400)
    losses = LossDistribution.of([(rare, number(1, 2)), (subtract(1, rare), number(1, 2))])
    found = GridLosses.of([(losses, 1)], fmpq(1, 2), 60, Limits())
    assert found.power_below(number(1, 4)) <= 0.5 <= found.power_above(number(1, 4)) < 0.6
