"""The largest of some functions of a parameter, as pieces: for which values, which function."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import and_

from flint import fmpq, fmpz_poly

from dpcheck.exact.line import Line
from dpcheck.exact.roots import (
    Growth,
    Region,
    Root,
    between,
    distinct_roots,
    everywhere,
    joined,
    roots_between,
    samples,
    sign_above,
    where_above,
)
from dpcheck.limits import Limits
from dpcheck.records import dataclass

Function = tuple[fmpz_poly, fmpz_poly, fmpz_poly]
"""(p, q, d) for (p - φ q)/d, where d is positive on the line, and φ is the same for all."""


def envelope(
    functions: Sequence[Function], growth: Growth, line: Line, limits: Limits
) -> list[tuple[Region, Function]]:
    """Return where each of the functions that are the largest somewhere is it, in order of t.

    φ is given by `growth`. Neighboring pieces both have the value where they meet, which is an end
    of the first.
    """
    search = _Search(growth, line, limits)
    kept = search.needed(functions)
    ends = search.crossings(kept)
    best = [search.best(kept, x) for x in samples(ends, line.low, line.high)]
    starts = [k for k in range(len(best)) if k == 0 or best[k] is not best[k - 1]]
    found: list[tuple[Region, Function]] = []
    for start, stop in pairwise([*starts, len(best)]):
        truths = tuple(start <= i // 2 < stop for i in range(2 * len(best) - 1))
        found.append((Region(line.low, line.high, tuple(ends), truths), best[start]))
    return found


@dataclass(frozen=True, eq=False)
class _Search:
    """Comparisons of functions on a line."""

    growth: Growth
    line: Line
    limits: Limits

    def needed(self, functions: Sequence[Function]) -> list[Function]:
        """Return some of the functions that are the largest of all at every value."""
        kept: list[Function] = []
        x = between(self.line.low, self.line.high)
        live = [(each, everywhere(True, self.line.low, self.line.high)) for each in functions]
        while live:
            self.limits.check_time(f"{len(kept)} pieces found, {len(live)} functions left")
            best = self.best([each for each, _ in live], x)
            kept.append(best)
            regions = [joined(and_, [left, self._where_above(each, best)]) for each, left in live]
            live = [
                (each, left)
                for (each, _), left in zip(live, regions, strict=True)
                if not left.is_empty
            ]
            if live:
                x = _somewhere(live[0][1])
        return kept

    def crossings(self, kept: Sequence[Function]) -> list[Root]:
        """Return where one may become larger than another, in order."""
        f, g, n = self.growth
        roots: list[Root] = []
        for k, first in enumerate(kept):
            for second in kept[:k]:
                p, q = _difference(first, second)
                roots += roots_between(g * p**n - f * q**n, self.line.low, self.line.high)
        return distinct_roots(roots)

    def best(self, functions: Sequence[Function], x: fmpq) -> Function:
        """Return the largest of some functions at x."""
        best = functions[0]
        for each in functions[1:]:
            if sign_above(*_difference(each, best), self.growth, x) > 0:
                best = each
        return best

    def _where_above(self, left: Function, right: Function) -> Region:
        ends = self.line.low, self.line.high
        return where_above(*_difference(left, right), self.growth, *ends, or_equal=False)


def _somewhere(region: Region) -> fmpq:
    """Return a rational number of an open set that is not empty."""
    gaps = samples(region.ends, region.low, region.high)
    return next(x for x, truth in zip(gaps, region.truths[::2], strict=True) if truth)


def _difference(left: Function, right: Function) -> tuple[fmpz_poly, fmpz_poly]:
    """Return p and q for which p - φ q has the sign of left - right."""
    return (left[0] * right[2] - right[0] * left[2], left[1] * right[2] - right[1] * left[2])
