"""Event-level δ for all values at once: Σ max(0, p_s - e^ε q_s) <= δ.

The sum is the largest P(S) - e^ε Q(S) over sets S of sequences. On a cell of the line where no
p_s - e^ε q_s changes its sign, one set S is the worst; and what it gives elsewhere is no more than
the true sum. So the claim holds for all values exactly if, for the worst set of every cell,
P(S) - e^ε Q(S) <= δ on the *whole* line: no algebraic number is ever put into anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import or_

import numpy as np
from flint import fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct
from dpcheck.check.all_values.pieces import Function
from dpcheck.check.all_values.rows import ZERO, PolynomialRows, growth_on
from dpcheck.exact import Number, roots
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
    limits: Limits

    def where_above(self, delta: Number, *, or_equal: bool = False) -> roots.Region:
        """Return where some sum is above δ, or equal to it."""
        line, rows = self.rows.line, self.rows
        above, below = line.polynomials(delta)
        growth = growth_on(line, self.growth)
        regions = [roots.everywhere(False, line.low, line.high)]
        for k, (p, q) in enumerate(self.sides):
            self.limits.check_time(f"{k} of {len(self.sides)} worst sets compared")
            rest = below * p - above * rows.denominator  # against e^ε q, times below
            ends = line.low, line.high
            regions.append(roots.where_above(rest, below * q, growth, *ends, or_equal=or_equal))
            if regions[-1].is_everything:
                return regions[-1]
        return roots.joined(or_, regions)

    def functions(self) -> list[Function]:
        """Return P(S) - e^ε Q(S), as p - 0 e^ε over d where e^ε is a rational function."""
        f, g, n = growth_on(self.rows.line, self.growth)
        denominator = self.rows.denominator
        if n == 1:
            return [(g * p - f * q, ZERO, g * denominator) for p, q in self.sides]
        return [(p, q, denominator) for p, q in self.sides]


def worst_sets(
    rows: PolynomialRows, pairs: IntArray, growth: tuple[Number, int], limits: Limits
) -> WorstSets:
    """Return the worst sets of pairs of sources, [n_pairs, 2], in both directions."""
    search = _Search(rows, growth, limits)
    different, which = np.unique(rows.index, axis=1, return_inverse=True)
    ends = which.reshape(-1)[np.concatenate([pairs, pairs[:, ::-1]])]
    found: dict[object, Sides] = {((), ()): (ZERO, ZERO)}
    keys = distinct(ends[:, 0] * different.shape[1] + ends[:, 1])
    for k, (i, j) in enumerate(divmod(key, different.shape[1]) for key in keys.tolist()):
        limits.check_time(f"the worst sets of {k} pairs")
        for sides in search.cells(different[:, i].tolist(), different[:, j].tolist()):
            key = tuple(sides[0].coeffs()), tuple(sides[1].coeffs())
            found.setdefault(key, sides)
    return WorstSets(rows, growth, tuple(found.values()), limits)


def growing_sets(rows: PolynomialRows, pairs: IntArray, limits: Limits) -> Iterator[Sides]:
    """Yield P(S) and Q(S) for S of all sequences whose ratio p/q is at least one of them.

    On a cell of the line where these keep their order, for pairs [n_pairs, 2] in both directions:
    the worst S of e^ε is one of them, whatever ε is.
    """
    line = rows.line
    known: dict[tuple[object, object], list[roots.Root]] = {}
    found: set[object] = set()
    for i, j in np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0).tolist():
        keys, sides = _sides_by_ratio(rows, i, j)
        ends: list[roots.Root] = []
        for k, (p, q) in enumerate(sides):
            limits.check_time(f"the ratios of {k} sequences")
            ends += roots.roots_between(p + q, line.low, line.high)  # no ratio is 0/0 between
            for place, (other, under) in zip(keys[:k], sides, strict=False):
                if (key := (place, keys[k])) not in known:
                    known[key] = roots.roots_between(p * under - other * q, line.low, line.high)
                ends += known[key]
        for x in roots.samples(roots.distinct_roots(ends), line.low, line.high):
            total = ZERO, ZERO
            for p, q in sorted(sides, key=lambda side: side[1](x) / (side[0](x) + side[1](x))):
                total = total[0] + p, total[1] + q
                if (numbers := tuple(tuple(side.coeffs()) for side in total)) not in found:
                    found.add(numbers)
                    yield total


def _sides_by_ratio(rows: PolynomialRows, i: int, j: int) -> tuple[list[object], list[Sides]]:
    """Return different p and q of sequences, as what they hash by, and sums of those alike.

    A sum has the ratio of its parts, and S holds all sequences of one ratio or none.
    """
    found: dict[object, Sides] = {}
    for members, a, b in zip(rows.members, rows.index[:, i], rows.index[:, j], strict=True):
        if a or b:
            key = tuple(members[a].coeffs()), tuple(members[b].coeffs())
            p, q = found.get(key, (ZERO, ZERO))
            found[key] = p + members[a], q + members[b]
    return list(found), list(found.values())


@dataclass(frozen=True, eq=False)
class _Search:
    """Where p_s > e^ε q_s, by sequence and the numbers of both polynomials; each found once."""

    rows: PolynomialRows
    growth: tuple[Number, int]
    limits: Limits
    known: dict[tuple[int, int, int], tuple[fmpz_poly, roots.Region]] = field(default_factory=dict)

    def cells(self, first: list[int], second: list[int]) -> Iterator[Sides]:
        """Yield P(S) and Q(S) for the worst set of every cell of one pair of rows."""
        members, line = self.rows.members, self.rows.line
        found = [self._where(s, *each) for s, each in enumerate(zip(first, second, strict=True))]
        ends = roots.distinct_roots(root for _, region in found for root in region.ends)
        for k, x in enumerate(roots.samples(ends, line.low, line.high)):
            self.limits.check_time(f"the worst sets of {k} cells of a pair")
            chosen = [s for s, (g, _) in enumerate(found) if roots.sign_at(g, x) > 0]
            p = sum((members[s][first[s]] for s in chosen), ZERO)
            yield p, sum((members[s][second[s]] for s in chosen), ZERO)

    def _where(self, s: int, i: int, j: int) -> tuple[fmpz_poly, roots.Region]:
        if (s, i, j) not in self.known:
            self.limits.check_time(f"the signs of {len(self.known)} differences")
            line = self.rows.line
            f, g, n = growth_on(line, self.growth)
            p, q = self.rows.members[s][i], self.rows.members[s][j]
            difference = g * p**n - f * q**n
            region = roots.where_sign(difference, (1,), line.low, line.high)
            self.known[s, i, j] = difference, region
        return self.known[s, i, j]
