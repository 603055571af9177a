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

Coarser. Sums of many runs are wide and smooth, so after each second squaring every second point is
given up, and the number of points stays about what it is: with k runs, h² is added where uniform
grids add it k times. Above, the mass of such a point is split between its neighbors as an output
is. Below, a coin decides to which neighbor a sum is rounded: tests that toss coins bound δ(ε) too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from itertools import accumulate

import numpy as np
import numpy.typing as npt
from flint import arb, ctx, fmpq, fmpz, fmpz_poly

from dpcheck.exact import Budget, Number
from dpcheck.exact.number import ball as number_ball
from dpcheck.limits import Limits
from dpcheck.privacy.lattices import WORK_BITS, GridSum, Lattice, added, ceil, floor, power
from dpcheck.privacy.losses import Loss, LossDistribution, exponent_of
from dpcheck.records import dataclass

SPARE_BITS = 36
"""Masses have so many bits more than the lightest tail that is kept: 2^36 products lose none."""

FloatArray = npt.NDArray[np.float64]

Part = tuple[LossDistribution, int]
"""The losses of one run, and how often it runs."""


@dataclass(frozen=True, eq=False)
class GridLosses:
    """The composed losses of some runs on a grid with step h, in one direction.

    upper: P's masses of the split pair, rounded up. p_lower, q_upper: masses of the events S_j, Q's
    times e^(jh). All are in units of 2^-bits. `infinite` encloses P's mass at infinite losses. The
    grid of one run had `first_step`, and `most_points` were there at once.
    """

    step: fmpq
    bits: int
    upper: Lattice
    p_lower: Lattice
    q_upper: Lattice
    infinite: arb
    first_step: fmpq
    most_points: int

    @staticmethod
    def of(
        parts: Sequence[Part],
        step: fmpq,
        tail_bits: int,
        limits: Limits,
        *,
        becomes_coarser: bool = False,
    ) -> GridLosses:
        """Return the composition of independent runs; tails below 2^-tail_bits are cut off.

        Raises `LimitReached` where the time is up, or where there would be more grid points than
        states allowed.
        """
        bits = tail_bits + SPARE_BITS
        with ctx.workprec(WORK_BITS):
            made = []
            for losses, times in parts:
                grid = _OnGrid(losses, step, bits)
                one = GridSum(step, grid.split(), *grid.rounded(), bits, tail_bits)
                made.append(power(one, times, limits, becomes_coarser=becomes_coarser))
            finite = (
                (1 - number_ball(losses.p_only, WORK_BITS)) ** times for losses, times in parts
            )
            infinite = 1 - math.prod(finite, start=arb(1))
            most = max(n_points for _, n_points in made)
            whole = reduce(added, (runs for runs, _ in made))
        return GridLosses(
            whole.step, bits, whole.upper, whole.p_lower, whole.q_upper, infinite, step, most
        )

    @property
    def n_points(self) -> int:
        """The number of grid points that are kept."""
        return self.upper.n_points

    def like(self, parts: Sequence[Part], finer: int, limits: Limits) -> GridLosses:
        """Return the composition of other runs, made as this one but for a finer step."""
        step, tail_bits = self.first_step / finer, self.bits - SPARE_BITS
        is_coarser = self.step != self.first_step
        return GridLosses.of(parts, step, tail_bits, limits, becomes_coarser=is_coarser)

    @property
    def largest_loss(self) -> arb:
        """The loss of the last point."""
        with ctx.workprec(WORK_BITS):
            return arb(self.step) * (self.upper.low + self.n_points - 1)

    # --- above -----------------------------------------------------------------------------

    @cached_property
    def _upper_tails(self) -> _Tails:
        """Upper bounds of P's masses and of Q's, infinite losses apart."""
        return _Tails.of(self.upper, self.upper, self)

    @cached_property
    def _upper_gaps(self) -> tuple[FloatArray, FloatArray]:
        """p_j - x_j q_j of `_upper_tails`, and x_j, by place, with one place more: floats."""
        p, q = _guessed_tails(self.upper, self.upper, self)
        losses = float(self.step) * (self.upper.low + np.arange(len(p)))
        return np.exp(p) - np.exp(q + losses), np.exp(np.minimum(losses, LARGEST_LOG))

    def delta_above(self, epsilon: Budget) -> arb:
        """Return an upper bound of δ(ε): the largest of Σ_{i >= j} p_i - e^ε q_i.

        It is reached at the first point whose loss is at least ε.
        """
        with ctx.workprec(WORK_BITS):
            place = epsilon.ball(WORK_BITS) / arb(self.step) - self.upper.low
            factor, found = epsilon.exp_ball(WORK_BITS), []
            for each in {ceil(place.lower()), ceil(place)}:
                p, q = self._upper_tails.from_place(min(max(each, 0), self.n_points))
                found.append(p - factor * q + self._infinite_above)
            return reduce(arb.max, found)

    @property
    def lost(self) -> arb:
        """P's mass that was cut off, at most."""
        return arb(self.upper.lost) / arb(2) ** self.bits

    @cached_property
    def _infinite_above(self) -> arb:
        return self.infinite + self.lost

    def epsilon_above(self, delta: Number) -> arb | None:
        """Return an upper bound of the least ε >= 0 with δ(ε) <= delta; None if it is infinite.

        From the loss of point j - 1 to that of j, the bound of δ is p_j - e^ε q_j + infinite; it
        falls with ε. So where it is at most delta at point j, it is so from the place on between
        the two where it reaches delta, in closed form. Floats guess the least such j.
        """
        with ctx.workprec(WORK_BITS):
            room = number_ball(delta, WORK_BITS) - self._infinite_above
            if not room >= 0:
                return None
            place = int(np.argmax(self._upper_gaps[0] <= float(room.mid())))
            while True:
                p, q = self._upper_tails.from_place(place)
                if (
                    place == self.n_points
                    or p - _ratio_at(place + self.upper.low, self.step) * q <= room
                ):
                    break
                place += 1
            found = arb(self.step) * (self.upper.low + place - 1) if place else arb(0)
            gap = (p - room).upper()
            return (found.max((gap / q).log()) if gap > 0 else found).max(arb(0))

    # --- below -----------------------------------------------------------------------------

    @cached_property
    def _lower_guesses(self) -> tuple[FloatArray, FloatArray]:
        """The logarithms of `event`, by place, to find the best event with."""
        p, q = _guessed_tails(self.p_lower, self.q_upper, self)
        infinite = float(self.infinite.mid())
        return np.logaddexp(p, math.log(infinite)) if infinite > 0 else p, q

    def delta_below(self, epsilon: Budget) -> tuple[arb, int]:
        """Return P(S_j) - e^ε Q(S_j) for a j that makes it large, and j: a lower bound of δ(ε)."""
        p, q = self._lower_guesses
        guess = float(epsilon.ball(64).mid())
        gaps = np.exp(p) - np.exp(np.minimum(q + guess, LARGEST_LOG))
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
            p, q = self._lower_guesses
            with np.errstate(divide="ignore", invalid="ignore"):
                found = np.log(np.exp(p) - float(room.mid())) - q
            found[~np.isfinite(found)] = -np.inf
            p_event, q_event = self.event(int(np.argmax(found)))
            if not (p_event - room > 0 and q_event > 0):
                return arb(0)
            return ((p_event - room) / q_event).log().max(arb(0))

    def event(self, place: int) -> tuple[arb, arb]:
        """Return a lower bound of P(S_j) and an upper bound of Q(S_j), infinite losses included."""
        with ctx.workprec(WORK_BITS):
            p, q = self._event_tails.from_place(place)
            return p + self.infinite, q

    @cached_property
    def _event_tails(self) -> _Tails:
        return _Tails.of(self.p_lower, self.q_upper, self)

    # --- what follows from both ------------------------------------------------------------

    def loss_tail(self, epsilon: Budget) -> tuple[arb, arb]:
        """Return bounds of P(loss > ε), by difference quotients of δ.

        δ is convex in E = e^ε with the slopes -Q(loss > ε) and P(loss > ε) = δ(E) + E Q(loss > ε).
        So for every t > 0, with E' = e^(ε - t) and E'' = e^(ε + t),

            (e^t δ(E) - δ(E''))/(e^t - 1) <= P(loss > ε) <= (δ(E') - e^-t δ(E))/(1 - e^-t).
        """
        low = self.delta_below(epsilon)[0].max(arb(0))
        lows, highs = [low], [arb(1)]
        for n_steps in STEPS_ASIDE:
            aside = self.step * n_steps
            with ctx.workprec(WORK_BITS):
                before = self.delta_above(epsilon - Budget.of(aside))
                after = self.delta_above(epsilon + Budget.of(aside))
                growth = arb(aside).exp()
                lows.append((growth * low - after) / (growth - 1))
                highs.append((growth * before - low) / (growth - 1))
        with ctx.workprec(WORK_BITS):
            return max(lows, key=arb.lower), min(highs, key=arb.upper)

    def power_above(self, type_one: Number) -> arb:
        """Return an upper bound of P(S) over tests S with Q(S) <= a: of δ(ε) + e^ε a, for every ε.

        The least of them is at a grid point.
        """
        gaps, growth = self._upper_gaps
        place = int(np.argmin(gaps + growth * float(number_ball(type_one, 64).mid())))
        with ctx.workprec(WORK_BITS):
            p, q = self._upper_tails.from_place(place)
            factor = _ratio_at(self.upper.low + place, self.step)
            found = p + self._infinite_above + factor * (number_ball(type_one, WORK_BITS) - q)
            return found.min(arb(1))

    def power_below(self, type_one: Number) -> arb:
        """Return P(S) for a test S with Q(S) <= a: one of two events S_j next to each other.

        The second is drawn with the probability that makes Q(S) = a; before all events comes the
        sure one.
        """
        level = float(number_ball(type_one, 64).mid())
        most_log = math.log(level) if level else -math.inf
        place = int(np.argmax(self._lower_guesses[1] <= most_log))
        with ctx.workprec(WORK_BITS):
            most = number_ball(type_one, WORK_BITS)
            p, q = self.event(place)
            while not q <= most:
                place += 1
                p, q = self.event(place)
            p_more, q_more = self.event(place - 1) if place else (arb(1), arb(1))
            if not q_more > most:
                return p
            return p.max(p + (most - q) / (q_more - q) * (p_more - p))


@dataclass(frozen=True, eq=False)
class _Tails:
    """Sums of P's and of Q's masses from each place of a lattice on, and one place more."""

    p: list[fmpz]
    q: list[arb]
    low: int
    step: fmpq
    bits: int

    @staticmethod
    def of(p_lattice: Lattice, q_lattice: Lattice, grid: GridLosses) -> _Tails:
        """Add P's masses up, and Q's, which are kept times e^(jh), by Horner's rule."""
        with ctx.workprec(WORK_BITS):
            shrunk = (-arb(grid.step)).exp()
            p = accumulate(reversed(p_lattice.masses.coeffs()), initial=fmpz(0))
            q = accumulate(
                reversed(q_lattice.masses.coeffs()),
                lambda above, mass: above * shrunk + mass,
                initial=arb(0),
            )
            return _Tails(list(p)[::-1], list(q)[::-1], p_lattice.low, grid.step, grid.bits)

    def from_place(self, place: int) -> tuple[arb, arb]:
        """Return the sums of masses from a place on, of P and of Q."""
        with ctx.workprec(WORK_BITS):
            p, q = self.p[min(place, len(self.p) - 1)], self.q[min(place, len(self.q) - 1)]
            unit = arb(2) ** self.bits
            return arb(p) / unit, q * _ratio_at(-self.low - place, self.step) / unit


STEPS_ASIDE = (1, 4, 16, 64, 256)
"""How many grid points aside δ is looked at, to bound how fast it falls."""

LARGEST_LOG = 700.0
"""Floats have exponentials of what is below."""


def _guessed_tails(
    p_lattice: Lattice, q_lattice: Lattice, grid: GridLosses
) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of Σ_{i >= j} of P's masses, and of Q's, which are kept times e^(jh).

    By place j of the lattices, which begin at one point, and one more; both [n_points + 1].
    """
    n_points = 1 + int(max(p_lattice.masses.degree(), q_lattice.masses.degree()))
    found = []
    for lattice, tilt in ((p_lattice, 0.0), (q_lattice, float(grid.step))):
        logs = np.full(n_points + 1, -np.inf)
        for i, mass in enumerate(lattice.masses.coeffs()):
            if mass:
                logs[i] = math.log(int(mass)) - grid.bits * math.log(2)
        logs -= tilt * (lattice.low + np.arange(len(logs)))
        found.append(np.logaddexp.accumulate(logs[::-1])[::-1])
    return found[0], found[1]


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
            x, y = _ratio_at(low, self._step), _ratio_at(high, self._step)
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
            mass = floor((p * self._unit).lower())
            below[point] = below.get(point, 0) + max(0, mass)
            self._add_up(above, point, q * _ratio_at(point, self._step))
        ends = _ends(above)
        return _lattice(below, ends), _lattice(above, ends)

    def _around(self, ratio: Number) -> tuple[int, int]:
        """Return grid points with x_low <= ratio <= x_high, next to each other as a rule."""
        place = number_ball(ratio, WORK_BITS).log() / arb(self._step)
        low = floor(place.lower())
        high = ceil(place)
        return low, max(high, low + 1)

    def _add_up(self, masses: dict[int, int], point: int, mass: arb) -> None:
        rounded = ceil(mass * self._unit)
        masses[point] = masses.get(point, 0) + max(0, rounded)


def _ratio_at(point: int, step: fmpq) -> arb:
    """Return the likelihood ratio of a grid point."""
    return (arb(step) * point).exp()


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


def _ends(masses: Mapping[int, int]) -> tuple[int, int]:
    """Return the first and the last point with a mass; of no points any."""
    return min(masses, default=0), max(masses, default=0)


def _lattice(masses: Mapping[int, int], ends: tuple[int, int] | None = None) -> Lattice:
    low, high = ends or _ends(masses)
    return Lattice(fmpz_poly([masses.get(j, 0) for j in range(low, high + 1)]), low)
