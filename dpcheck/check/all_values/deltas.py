"""Event-level δ for all values at once: Σ max(0, p_s - e^ε q_s) <= δ.

The sum is the largest P(S) - e^ε Q(S) over sets S of sequences. On a cell of the line where no
p_s - e^ε q_s changes its sign, one set S is the worst; and what it gives elsewhere is no more than
the true sum. So the claim holds for all values exactly if, for the worst set of every cell,
P(S) - e^ε Q(S) <= δ on the *whole* line: no algebraic number is ever put into anything.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from flint import fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct
from dpcheck.check.all_values.rows import ZERO, PolynomialRows, positive_fraction
from dpcheck.exact import Number, Region, everywhere, joined, where_sign
from dpcheck.exact.roots import Root, samples, sign_at
from dpcheck.limits import Limits
from dpcheck.records import dataclass, field

Sides = tuple[fmpz_poly, fmpz_poly]


@dataclass(frozen=True, eq=False)
class WorstSets:
    """P(S) and Q(S) of the worst sets of all cells of all pairs, each pair of sums once.

    Both are numerators over the rows' denominator; the empty set is among them.
    """

    rows: PolynomialRows
    growth: tuple[Number, int]
    sides: tuple[Sides, ...]

    def where_above(self, delta: Number, *, or_equal: bool = False) -> Region:
        """Return where some sum is above δ, or equal to it."""
        line = self.rows.line
        (f, g), n = positive_fraction(self.growth[0], line), self.growth[1]
        above, below = positive_fraction(delta, line)
        regions = [everywhere(False, line.low, line.high)]
        strict = (1,)
        for p, q in self.sides:
            rest = below * p - above * self.rows.denominator  # against e^ε q, times below
            signs = (1, 0) if or_equal else strict
            excess = g * rest**n - f * (below * q) ** n
            region = where_sign(excess, signs, line.low, line.high)
            if n % 2 == 0:  # a negative rest is below e^ε q, whatever its even power is
                least = where_sign(rest, signs, line.low, line.high)
                region = joined(_both, [region, least])
            if region.is_everything:
                return region
            if not region.is_empty:
                regions.append(region)
        return joined(_either, regions)

    def functions(self) -> list[Sides]:
        """Return P(S) - e^ε Q(S) as quotients of polynomials, for a rational e^ε."""
        (f, g), n = positive_fraction(self.growth[0], self.rows.line), self.growth[1]
        assert n == 1, "e^ε is a rational function"
        return [(g * p - f * q, g * self.rows.denominator) for p, q in self.sides]


def _both(left: bool, right: bool) -> bool:
    return left and right


def _either(left: bool, right: bool) -> bool:
    return left or right


def worst_sets(
    rows: PolynomialRows, pairs: IntArray, growth: tuple[Number, int], limits: Limits
) -> WorstSets:
    """Return the worst sets of pairs of sources, [n_pairs, 2], in both directions."""
    search = _Search(rows, growth)
    different, which = np.unique(rows.index, axis=1, return_inverse=True)
    ends = which.reshape(-1)[np.concatenate([pairs, pairs[:, ::-1]])]
    found: dict[object, Sides] = {(): (ZERO, ZERO)}
    keys = distinct(ends[:, 0] * different.shape[1] + ends[:, 1])
    for k, (i, j) in enumerate(divmod(key, different.shape[1]) for key in keys.tolist()):
        limits.check_time(f"the worst sets of {k} pairs")
        for sides in search.cells(different[:, i].tolist(), different[:, j].tolist()):
            key = tuple(sides[0].coeffs()), tuple(sides[1].coeffs())
            found.setdefault(key, sides)
    return WorstSets(rows, growth, tuple(found.values()))


@dataclass(frozen=True, eq=False)
class _Search:
    """Where p_s > e^ε q_s, by sequence and the numbers of both polynomials; each found once."""

    rows: PolynomialRows
    growth: tuple[Number, int]
    known: dict[tuple[int, int, int], tuple[fmpz_poly, Region]] = field(default_factory=dict)

    def cells(self, first: list[int], second: list[int]) -> Iterator[Sides]:
        """Yield P(S) and Q(S) for the worst set of every cell of one pair of rows."""
        members, line = self.rows.members, self.rows.line
        found = [self._where(s, *each) for s, each in enumerate(zip(first, second, strict=True))]
        ends: list[Root] = list(joined(_either, [_marked(region) for _, region in found]).ends)
        for x in samples(ends, line.low, line.high):
            chosen = [s for s, (g, _) in enumerate(found) if sign_at(g, x) > 0]
            p = sum((members[s][first[s]] for s in chosen), ZERO)
            yield p, sum((members[s][second[s]] for s in chosen), ZERO)

    def _where(self, s: int, i: int, j: int) -> tuple[fmpz_poly, Region]:
        if (s, i, j) not in self.known:
            line, (factor, n) = self.rows.line, self.growth
            f, g = positive_fraction(factor, line)
            p, q = self.rows.members[s][i], self.rows.members[s][j]
            difference = g * p**n - f * q**n
            region = where_sign(difference, (1,), line.low, line.high)
            self.known[s, i, j] = difference, region
        return self.known[s, i, j]


def _marked(region: Region) -> Region:
    """Return the set of the ends of another."""
    truths = tuple(bool(k % 2) for k in range(len(region.truths)))
    return Region(region.low, region.high, region.ends, truths)
