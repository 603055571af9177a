"""The largest of some functions of a parameter, as pieces: for which values, which function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from flint import fmpq, fmpz_poly

from dpcheck.exact import Line, Region, Root, joined, where_sign
from dpcheck.exact.roots import rational_between, roots_between, samples, sign_at
from dpcheck.limits import Limits

Fraction = tuple[fmpz_poly, fmpz_poly]
"""Numerator and denominator, the denominator positive on the line."""


def envelope(
    fractions: Sequence[Fraction], line: Line, limits: Limits
) -> list[tuple[Region, Fraction]]:
    """Return where each of the functions that are the largest somewhere is it, in order of t.

    Neighboring pieces both have the value where they meet, which is an end of the first.
    """
    kept = _needed(list(fractions), line, limits)
    roots: list[Root] = []
    for k, first in enumerate(kept):
        for second in kept[:k]:
            roots += roots_between(_difference(first, second), line.low, line.high)
    ends: list[Root] = []
    for root in sorted(roots, key=cmp_to_key(Root.compare)):
        if not ends or ends[-1].compare(root) != 0:
            ends.append(root)
    best = [_best(kept, x) for x in samples(ends, line.low, line.high)]
    found: list[tuple[Region, Fraction]] = []
    start = 0
    for k in range(len(best)):
        if k + 1 == len(best) or best[k + 1] is not best[k]:
            truths = tuple(start <= i // 2 <= k for i in range(2 * len(best) - 1))
            found.append((Region(line.low, line.high, tuple(ends), truths), best[k]))
            start = k + 1
    return found


def _both(left: bool, right: bool) -> bool:
    return left and right


def _needed(live: list[Fraction], line: Line, limits: Limits) -> list[Fraction]:
    """Return some of the functions that are the largest of all at every value."""
    kept: list[Fraction] = []
    x = rational_between(line.low, line.high)
    while live:
        limits.check_time(f"{len(kept)} pieces found, {len(live)} functions left")
        best = _best(live, x)
        kept.append(best)
        live = [each for each in live if not _is_below(each, best, line)]
        while live:
            above = [where_sign(_difference(live[0], k), (1,), line.low, line.high) for k in kept]
            region = joined(_both, above)
            if not region.is_empty:
                x = _somewhere(region)
                break
            live.pop(0)
    return kept


def _somewhere(region: Region) -> fmpq:
    """Return a rational number of an open set that is not empty."""
    gaps = samples(region.ends, region.low, region.high)
    return next(x for x, truth in zip(gaps, region.truths[::2], strict=True) if truth)


def _difference(left: Fraction, right: Fraction) -> fmpz_poly:
    """Return a polynomial with the sign of left - right."""
    return left[0] * right[1] - right[0] * left[1]


def _best(fractions: Sequence[Fraction], x: fmpq) -> Fraction:
    best = fractions[0]
    for each in fractions[1:]:
        if sign_at(_difference(each, best), x) > 0:
            best = each
    return best


def _is_below(low: Fraction, high: Fraction, line: Line) -> bool:
    """Return whether a function is nowhere above another."""
    return low is high or where_sign(_difference(low, high), (1,), line.low, line.high).is_empty
