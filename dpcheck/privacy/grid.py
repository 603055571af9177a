"""Certified bounds on the composition of any privacy losses, from a grid of likelihood ratios.

Exact composition has as many losses as there are different products of ratios, which is few only
where ratios share bases. On the grid x_j = e^(jh) there are as many as grid points. Two laws, both
elementary, no float in either:

Above. An output (p, q) with x_i <= p/q <= x_j is split into two outputs, with ratios x_i and x_j
and p = p' + p'', q = q' + q''. Who forgets which half was drawn has the original pair, so that is
a post-processing of the split pair, and so is every composition of such pairs: the split ones have
the larger δ(ε), for every ε (this is "connect the dots": Doroshenko, Ghazi, Kamath, Kumar,
Manurangsi, PETS 2022). Masses, products and what is cut off are rounded up; what is cut off moves
to the infinite loss.

Below. Every event S has δ(ε) >= P(S) - e^ε Q(S). Taken is S_j: the rounded losses of the runs
add up to at least j and no partial sum was cut off, or some loss is infinite. P is rounded down, Q
up; Q is kept as q e^(rh), r the rounded loss, which is about as large as p.

Both errors are of second order in h: where the sums of losses have density f, about k h² f. A loss
that is a whole multiple of h, as a power of e may be, stays where it is and adds none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import accumulate

import numpy as np
from flint import arb, ctx, fmpq, fmpz, fmpz_poly

from dpcheck.exact import Budget, Number
from dpcheck.exact.number import ball as number_ball
from dpcheck.limits import Limits
from dpcheck.privacy.losses import Loss, LossDistribution, exponent_of
from dpcheck.records import dataclass

WORK_BITS = 256
"""Precision of enclosures on the way to the grid."""

SPARE_BITS = 36
"""Masses have so many bits more than the lightest tail that is kept: 2^36 products lose none."""

Part = tuple[LossDistribution, int]
"""The losses of one run, and how often it runs."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Masses at the grid points from `low` on, in units of 2^-bits; `lost` was cut off."""

    masses: fmpz_poly
    low: int
    lost: int = 0


@dataclass(frozen=True, eq=False)
class GridLosses:
    """The composed losses of some runs on a grid with step h, in one direction.

    upper: P's masses of the split pair, rounded up. p_lower, q_upper: masses of the events S_j, Q's
    times e^(jh). All are in units of 2^-bits. `infinite` encloses P's mass at infinite losses.
    """

    step: fmpq
    bits: int
    upper: Lattice
    p_lower: Lattice
    q_upper: Lattice
    infinite: arb

    @staticmethod
    def of(parts: Sequence[Part], step: fmpq, tail_bits: int, limits: Limits) -> GridLosses:
        """Return the composition of independent runs; tails below 2^-tail_bits are cut off.

        Raises `LimitReached` where the time is up, or where there would be more grid points than
        states allowed.
        """
        bits = tail_bits + SPARE_BITS
        made = []
        with ctx.workprec(WORK_BITS):
            for losses, times in parts:
                grid = _OnGrid(losses, step, bits)
                made.append(_power(grid.split(), grid.rounded(), times, bits, tail_bits, limits))
            infinite = 1 - reduce(_times_power, parts, arb(1))
        upper, p_lower, q_upper = made[0]
        for one in made[1:]:
            upper = _rounded_up(upper, one[0], bits, tail_bits)
            p_lower, q_upper = _event_product((p_lower, q_upper), one[1:], bits, tail_bits)
        return GridLosses(step, bits, upper, p_lower, q_upper, infinite)

    @property
    def n_points(self) -> int:
        """The number of grid points that are kept."""
        return int(self.upper.masses.degree()) + 1

    # --- above -----------------------------------------------------------------------------

    @cached_property
    def _upper_tails(self) -> tuple[list[arb], list[arb]]:
        """Σ_{i >= j} of P's masses and of Q's, by place j of the upper lattice, with one 0 more."""
        return self._tails(self.upper, is_tilted=False)

    def delta_above(self, epsilon: Budget) -> arb:
        """Return an upper bound of δ(ε): the largest of Σ_{i >= j} p_i - e^ε q_i.

        It is reached at the first point whose loss is at least ε.
        """
        with ctx.workprec(WORK_BITS):
            place = epsilon.ball(WORK_BITS) / arb(self.step) - self.upper.low
            found = [
                self._delta_from(min(max(each, 0), self.n_points), epsilon)
                for each in {_ceil(place.lower()), _ceil(place)}
            ]
            return reduce(arb.max, found)

    def _delta_from(self, place: int, epsilon: Budget) -> arb:
        p, q = (tails[place] for tails in self._upper_tails)
        return p - epsilon.exp_ball(WORK_BITS) * q + self._infinite_above

    @cached_property
    def _infinite_above(self) -> arb:
        return self.infinite + arb(self.upper.lost) / arb(2) ** self.bits

    def epsilon_above(self, delta: Number) -> arb | None:
        """Return an upper bound of the least ε >= 0 with δ(ε) <= delta; None if it is infinite.

        From the loss of one point to that of the next, the bound of δ is p_j - e^ε q_j + infinite;
        it falls with ε. Where it reaches delta is found by bisection, and there in closed form.
        """
        with ctx.workprec(WORK_BITS):
            room = number_ball(delta, WORK_BITS) - self._infinite_above
            if not room >= 0:
                return None
            p_tails, q_tails = self._upper_tails
            first, last = 0, self.n_points
            while first < last:
                middle = (first + last) // 2
                factor = self._factor(middle + self.upper.low)
                if p_tails[middle] - factor * q_tails[middle] <= room:
                    last = middle
                else:
                    first = middle + 1
            # Where a comparison was too close to call, the last point's loss is the larger one.
            found = arb(self.step) * (self.upper.low + first - 1) if first else arb(0)
            if p_tails[first] > room:
                found = found.max(((p_tails[first] - room) / q_tails[first]).log())
            return found.max(arb(0))

    # --- below -----------------------------------------------------------------------------

    @cached_property
    def _lower_tails(self) -> tuple[list[arb], list[arb]]:
        """P(S_j) and Q(S_j) without infinite losses, by place j of the lower lattices."""
        p, _ = self._tails(self.p_lower, is_tilted=None)
        _, q = self._tails(self.q_upper, is_tilted=True)
        return p, q

    @cached_property
    def _guessed_tails(self) -> tuple[np.ndarray, np.ndarray]:
        """The logarithms of P(S_j) and Q(S_j) as floats, to guess the best event with."""
        p, q = self._lower_tails
        with ctx.workprec(64):
            infinite = self.infinite
            return (
                np.array([_guessed_log(each + infinite) for each in p]),
                np.array([_guessed_log(each) for each in q]),
            )

    def delta_below(self, epsilon: Budget) -> tuple[arb, int]:
        """Return P(S_j) - e^ε Q(S_j) for a j that makes it large, and j: a lower bound of δ(ε)."""
        p, q = self._guessed_tails
        guess = float(epsilon.ball(64).mid())
        with np.errstate(over="ignore"):
            gaps = np.exp(p) - np.exp(np.minimum(q + guess, 700.0))
        place = int(np.argmax(gaps))
        with ctx.workprec(WORK_BITS):
            p_event, q_event = self.event(place)
            return p_event - epsilon.exp_ball(WORK_BITS) * q_event, place + self.p_lower.low

    def epsilon_below(self, delta: Number) -> arb | None:
        """Return a lower bound of the least ε >= 0 with δ(ε) <= delta; None if it is infinite."""
        with ctx.workprec(WORK_BITS):
            room = number_ball(delta, WORK_BITS)
            if self.infinite > room:
                return None
            p, q = self._guessed_tails
            with np.errstate(divide="ignore", invalid="ignore"):
                found = np.log(np.exp(p) - float(room.mid())) - q
            found[~np.isfinite(found)] = -np.inf
            place = int(np.argmax(found))
            p_event, q_event = self.event(place)
            if not (p_event - room > 0 and q_event > 0):
                return arb(0)
            return ((p_event - room) / q_event).log().max(arb(0))

    def event(self, place: int) -> tuple[arb, arb]:
        """Return a lower bound of P(S_j) and an upper bound of Q(S_j), infinite losses included."""
        p, q = self._lower_tails
        return p[place] + self.infinite, q[place]

    # --- both ------------------------------------------------------------------------------

    def _factor(self, point: int) -> arb:
        return (arb(self.step) * point).exp()

    def _tails(self, lattice: Lattice, *, is_tilted: bool | None) -> tuple[list[arb], list[arb]]:
        """Return sums from each place on: of the masses, and of them divided by e^(jh).

        is_tilted: the masses are Q's times e^(jh); only the second sums are wanted then.
        """
        with ctx.workprec(WORK_BITS):
            unit = arb(2) ** -self.bits
            masses = [arb(mass) * unit for mass in reversed(lattice.masses.coeffs())]
            sums = [arb(0), *accumulate(masses)]
            if is_tilted is None:
                return sums[::-1], []
            top = self._factor(-(lattice.low + len(masses) - 1))
            growth = arb(self.step).exp()
            factors = accumulate([top, *[growth] * (len(masses) - 1)], lambda x, y: x * y)
            tilted = accumulate(m * x for m, x in zip(masses, factors, strict=False))
            return sums[::-1], [arb(0), *tilted][::-1]


def _guessed_log(value: arb) -> float:
    return float(value.log().mid()) if value > 0 else -math.inf


def _times_power(product: arb, part: Part) -> arb:
    """Return the product with the probability that none of a part's runs has an infinite loss."""
    losses, times = part
    return product * (1 - number_ball(losses.p_only, WORK_BITS)) ** times


class _OnGrid:
    """The losses of one run, brought to grid points."""

    def __init__(self, losses: LossDistribution, step: fmpq, bits: int) -> None:
        self._losses, self._step, self._unit = losses.losses, step, arb(2) ** bits

    def split(self) -> Lattice:
        """Return P's masses after splitting each output between two grid points."""
        masses: dict[int, int] = {}
        for loss in self._losses:
            exact = _multiple(loss.ratio, self._step)
            if exact is not None:
                self._add_up(masses, exact, number_ball(loss.p, WORK_BITS))
                continue
            low, high = self._around(loss.ratio)
            x, y = self._factor(low), self._factor(high)
            p, q = number_ball(loss.p, WORK_BITS), number_ball(loss.q, WORK_BITS)
            q_high = (p - x * q) / (y - x)
            self._add_up(masses, low, x * (q - q_high))
            self._add_up(masses, high, y * q_high)
        return _lattice(masses)

    def rounded(self) -> tuple[Lattice, Lattice]:
        """Return P's masses rounded down, and Q's times e^(rh) up, at the nearest points r."""
        below: dict[int, int] = {}
        above: dict[int, int] = {}
        for loss, point in zip(self._losses, scores(self._losses, self._step), strict=True):
            p, q = number_ball(loss.p, WORK_BITS), number_ball(loss.q, WORK_BITS)
            mass = _floor((p * self._unit).lower())
            below[point] = below.get(point, 0) + max(0, mass)
            self._add_up(above, point, q * self._factor(point))
        ends = min(above), max(above)
        return _lattice(below, ends), _lattice(above, ends)

    def _around(self, ratio: Number) -> tuple[int, int]:
        """Return grid points with x_low <= ratio <= x_high, next to each other as a rule."""
        place = number_ball(ratio, WORK_BITS).log() / arb(self._step)
        low = _floor(place.lower())
        high = _ceil(place)
        return low, max(high, low + 1)

    def _factor(self, point: int) -> arb:
        return (arb(self._step) * point).exp()

    def _add_up(self, masses: dict[int, int], point: int, mass: arb) -> None:
        rounded = _ceil(mass * self._unit)
        masses[point] = masses.get(point, 0) + max(0, rounded)


def scores(losses: Sequence[Loss], step: fmpq) -> list[int]:
    """Return each loss in units of the step, rounded to the nearest (any rounding is sound)."""
    found = []
    for loss in losses:
        exact = _multiple(loss.ratio, step)
        with ctx.workprec(WORK_BITS):
            place = number_ball(loss.ratio, WORK_BITS).log() / arb(step)
        found.append(round(float(place.mid())) if exact is None else exact)
    return found


def _multiple(ratio: Number, step: fmpq) -> int | None:
    """Return j where the ratio is e^(jh) exactly, else None."""
    exponent = exponent_of(ratio)
    if exponent is None:
        return None
    place = exponent / step
    return int(place.p) if place.q == 1 else None


def _ceil(value: arb) -> int:
    """Return the least integer above everything that a ball contains."""
    return -_floor(-value.upper())


def _floor(exact: arb) -> int:
    """Return the floor of a ball that holds one number, such as an end of another."""
    found = exact.floor().unique_fmpz()
    assert found is not None, "a ball with one number has one floor"
    return int(found)


def _lattice(masses: dict[int, int], ends: tuple[int, int] | None = None) -> Lattice:
    low, high = ends or (min(masses), max(masses))
    return Lattice(fmpz_poly([masses.get(j, 0) for j in range(low, high + 1)]), low)


def _power(
    upper: Lattice,
    event: tuple[Lattice, Lattice],
    times: int,
    bits: int,
    tail_bits: int,
    limits: Limits,
) -> tuple[Lattice, Lattice, Lattice]:
    """Return the lattices of so many runs, by squaring."""
    found: tuple[Lattice, tuple[Lattice, Lattice]] | None = None
    while True:
        limits.check_time(f"{upper.masses.degree() + 1} grid points composed")
        limits.check_states(int(upper.masses.degree()) + 1, "grid points")
        if times % 2:
            found = (
                (upper, event)
                if found is None
                else (
                    _rounded_up(found[0], upper, bits, tail_bits),
                    _event_product(found[1], event, bits, tail_bits),
                )
            )
        times //= 2
        if not times:
            assert found is not None, "there is at least one run"
            return found[0], *found[1]
        upper = _rounded_up(upper, upper, bits, tail_bits)
        event = _event_product(event, event, bits, tail_bits)


def _rounded_up(left: Lattice, right: Lattice, bits: int, tail_bits: int) -> Lattice:
    """Return the product with masses rounded up, and light tails cut off.

    What either side lost is lost: at most the sum, by the union bound.
    """
    masses = _divided_up(left.masses * right.masses, bits).coeffs()
    first, last, light = _heavy(masses, bits - tail_bits)
    low = left.low + right.low + first
    return Lattice(fmpz_poly(masses[first:last]), low, left.lost + right.lost + light)


def _divided_up(product: fmpz_poly, bits: int) -> fmpz_poly:
    """Return a polynomial's masses over 2^bits, rounded up; flint's `//` rounds towards zero."""
    almost = (fmpz(1) << bits) - 1
    return (product + fmpz_poly([almost] * (product.degree() + 1))) // (almost + 1)


def _event_product(
    left: tuple[Lattice, Lattice], right: tuple[Lattice, Lattice], bits: int, tail_bits: int
) -> tuple[Lattice, Lattice]:
    """Return the products, P's rounded down and Q's up, cut at the same places.

    Runs whose partial sum is cut off are not in the event, on neither side.
    """
    unit = fmpz(1) << bits
    p_masses = ((left[0].masses * right[0].masses) // unit).coeffs()
    q_masses = _divided_up(left[1].masses * right[1].masses, bits).coeffs()
    width = max(len(p_masses), len(q_masses))
    p_masses += [fmpz(0)] * (width - len(p_masses))
    q_masses += [fmpz(0)] * (width - len(q_masses))
    first, last, _ = _heavy(p_masses, bits - tail_bits)
    low = left[0].low + right[0].low + first
    return Lattice(fmpz_poly(p_masses[first:last]), low), Lattice(
        fmpz_poly(q_masses[first:last]), low
    )


def _heavy(masses: list[fmpz], light_bits: int) -> tuple[int, int, int]:
    """Return where masses begin and end without tails below 2^light_bits, and what these weigh."""
    light = 1 << light_bits
    first, last, below, above = 0, len(masses), 0, 0
    while first < last - 1 and below + masses[first] <= light:
        below += int(masses[first])
        first += 1
    while last > first + 1 and above + masses[last - 1] <= light:
        above += int(masses[last - 1])
        last -= 1
    return first, last, below + above
