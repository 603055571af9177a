"""Sums of privacy losses on a grid: masses rounded one way, light tails cut off, coarser grids.

What is bounded by them, and why, is said in `grid`.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, ctx, fmpq, fmpz, fmpz_poly

from dpcheck.limits import Limits
from dpcheck.records import dataclass

WORK_BITS = 256
"""Precision of enclosures on the way to the grid."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Masses at the grid points from `low` on, in units of 2^-bits; `lost` was cut off."""

    masses: fmpz_poly
    low: int
    lost: int = 0

    @property
    def n_points(self) -> int:
        """The number of grid points that are kept."""
        return int(self.masses.degree()) + 1


@dataclass(frozen=True, eq=False)
class GridSum:
    """The losses of some runs on one grid: the fields of `GridLosses` that they are."""

    step: fmpq
    upper: Lattice
    p_lower: Lattice
    q_upper: Lattice
    bits: int
    tail_bits: int

    def times(self, other: GridSum) -> GridSum:
        """Return the losses of both on their common grid.

        Masses are rounded up, and light tails cut off; what either side lost is lost: at most the
        sum, by the union bound. Those of P in events are rounded down, and events cut at the same
        places: runs whose partial sum is cut off are in them on neither side.
        """
        bits, light = self.bits, self.bits - self.tail_bits
        upper = _divided_up(self.upper.masses * other.upper.masses, bits).coeffs()
        first, last, lost = _heavy(upper, light)
        low = self.upper.low + other.upper.low + first
        kept = fmpz_poly(upper[first:last])
        both = Lattice(kept, low, self.upper.lost + other.upper.lost + lost)
        p = (self.p_lower.masses * other.p_lower.masses // (fmpz(1) << bits)).coeffs()
        q = _divided_up(self.q_upper.masses * other.q_upper.masses, bits).coeffs()
        width = max(len(p), len(q))
        p += [fmpz(0)] * (width - len(p))
        first, last, _ = _heavy(p, light)
        low = self.p_lower.low + other.p_lower.low + first
        p_lower, q_upper = (Lattice(fmpz_poly(each[first:last]), low) for each in (p, q))
        return GridSum(self.step, both, p_lower, q_upper, bits, self.tail_bits)

    def coarser(self) -> GridSum:
        """Return the losses on the grid of every second point.

        The ratio e^(jh) lies between those of points j - 1 and j + 1 so that 1/(1 + e^-h) of its
        mass goes up.
        """
        with ctx.workprec(WORK_BITS):
            growth, unit = arb(self.step).exp(), arb(2) ** self.bits
            up, down = (ceil(unit / (1 + growth**sign)) for sign in (-1, 1))
            grown, shrunk = (ceil(unit * growth**sign) for sign in (1, -1))
        upper = _merged(self.upper, (up, down), lambda masses: _divided_up(masses, self.bits))
        return GridSum(
            self.step * 2,
            upper,
            _merged(self.p_lower, (1, 1), lambda masses: masses // fmpz(2)),
            _merged(
                self.q_upper, (grown, shrunk), lambda masses: _divided_up(masses, self.bits + 1)
            ),
            self.bits,
            self.tail_bits,
        )


def _merged(
    lattice: Lattice, shares: tuple[int, int], divided: Callable[[fmpz_poly], fmpz_poly]
) -> Lattice:
    """Return a lattice whose odd points went up and down by shares of their masses, divided."""
    first = lattice.low % 2
    masses = [fmpz(0)] * first + lattice.masses.coeffs()
    odd = fmpz_poly(masses[1::2])
    up, down = (divided(odd * fmpz(share)) for share in shares)
    merged = fmpz_poly(masses[::2]) + down + up * fmpz_poly([0, 1])
    return Lattice(merged, (lattice.low - first) // 2, lattice.lost)


def added(left: GridSum, right: GridSum) -> GridSum:
    """Return the losses of both, on the grid that is coarser."""
    while left.step < right.step:
        left = left.coarser()
    while right.step < left.step:
        right = right.coarser()
    return left.times(right)


def power(
    one: GridSum, times: int, limits: Limits, *, becomes_coarser: bool
) -> tuple[GridSum, int]:
    """Return so many runs, by squaring from the left, and the most points on the way."""
    runs, most = one, one.upper.n_points
    for i, digit in enumerate(f"{times:b}"[1:], 1):
        limits.check_time(f"{runs.upper.n_points} grid points composed")
        limits.check_states(runs.upper.n_points, "grid points")
        runs = runs.times(runs)
        if digit == "1":
            runs = runs.times(one)
        most = max(most, runs.upper.n_points)
        if becomes_coarser and i % 2 == 0:
            runs, one = runs.coarser(), one.coarser()
    return runs, most


def _divided_up(product: fmpz_poly, bits: int) -> fmpz_poly:
    """Return a polynomial's masses over 2^bits, rounded up or one more; all are at least 0."""
    return product // (fmpz(1) << bits) + fmpz_poly([1] * (product.degree() + 1))


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


def ceil(value: arb) -> int:
    """Return the least integer above everything that a ball contains."""
    return -floor(-value.upper())


def floor(exact: arb) -> int:
    """Return the floor of a ball that holds one number, such as an end of another."""
    found = exact.floor().unique_fmpz()
    assert found is not None, "a ball with one number has one floor"
    return int(found)
