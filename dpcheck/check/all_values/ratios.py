"""Pure ε for all values at once: p <= e^ε q for every pair of neighbors and every sequence.

With e^ε = F^(1/n) that is a polynomial F q^n - p^n >= 0 for t > 1. Descartes' rule is the sieve:
shifted to y = t - 1 > 0, a polynomial without negative coefficients has no root, so one comparison
of coefficient rows decides most of them at once. Only what is left has its roots isolated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from flint import fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.check.all_values.rows import PolynomialRows, positive_fraction
from dpcheck.exact import Line, Number, Region, everywhere, joined, where_sign
from dpcheck.exact.roots import on_half_line
from dpcheck.limits import Limits

BLOCK = 1 << 14
"""So many comparisons at a time are a few megabytes of coefficients."""

INT64 = 2**62
"""Coefficients below this are compared as int64: no difference of two is taken."""


def where_exceeded(
    rows: PolynomialRows,
    pairs: IntArray,
    growth: tuple[Number, int],
    limits: Limits,
    *,
    or_equal: bool = False,
) -> Region:
    """Return where p > e^ε q for some pair (`pairs` [n_pairs, 2]), in either order, and sequence.

    e^ε is F^(1/n) for `growth` (F, n). With `or_equal`, where p >= e^ε q and p > 0.
    """
    line = rows.line
    found: list[Region] = []
    seen: set[object] = set()
    for s in range(len(rows.members)):
        for difference in _undecided(rows, s, pairs, growth, limits, or_equal=or_equal):
            key = tuple(difference.coeffs())
            if key in seen:
                continue
            seen.add(key)
            limits.check_time(f"{len(seen)} comparisons with roots")
            signs = (-1, 0) if or_equal else (-1,)
            region = where_sign(difference, signs, line.low, line.high)
            if region.is_everything:
                return region
            if not region.is_empty:
                found.append(region)
    return joined(_either, [everywhere(False, line.low, line.high), *found])


def _either(left: bool, right: bool) -> bool:
    return left or right


def _undecided(
    rows: PolynomialRows,
    sequence: int,
    pairs: IntArray,
    growth: tuple[Number, int],
    limits: Limits,
    *,
    or_equal: bool,
) -> Iterator[fmpz_poly]:
    """Yield F q^n - p^n where the sieve does not show that it is at least (or above) 0.

    `pairs` [n_pairs, 2] are sources.
    """
    members = rows.members[sequence]
    factor, root = growth
    above, below = positive_fraction(factor, rows.line)
    left = [below * p**root for p in members]
    right = [above * p**root for p in members]
    small, large = coefficient_rows([left, right], rows.line)
    codes = rows.index[sequence][pairs]
    both = np.concatenate([codes, codes[:, ::-1]])
    wanted = np.unique(both[:, 0] * len(members) + both[:, 1])
    for start in range(0, len(wanted), BLOCK):
        limits.check_time(f"{start} comparisons of one sequence")
        p, q = np.divmod(wanted[start : start + BLOCK], len(members))
        is_clear = (large[q] >= small[p]).all(axis=1)
        if or_equal:
            is_clear &= (large[q] != small[p]).any(axis=1) | (p == 0)
        for i, j in zip(p[~is_clear].tolist(), q[~is_clear].tolist(), strict=True):
            yield right[j] - left[i]


def coefficient_rows(
    groups: Sequence[Sequence[fmpz_poly]], line: Line
) -> list[npt.NDArray[np.object_] | IntArray]:
    """Return the coefficients of polynomials moved to y > 0, [n_polynomials, n_coefficients] each.

    All of one width; int64 where all fit.
    """
    degree = max((p.degree() for group in groups for p in group), default=0)
    moved = [[_moved(p, degree, line) for p in group] for group in groups]
    size = max((abs(c) for group in moved for row in group for c in row), default=0)
    kind = np.int64 if size < INT64 else object
    return [np.array(group, kind).reshape(len(group), max(degree, 0) + 1) for group in moved]


def _moved(polynomial: fmpz_poly, degree: int, line: Line) -> list[int]:
    """Return the coefficients on the half line, lowest first, as of a polynomial of a degree."""
    if not polynomial:
        return [0] * (max(degree, 0) + 1)
    assert line.high is None, "the sieve compares polynomials shifted by the same map"
    coefficients = [int(c) for c in on_half_line(polynomial, line.low, None).coeffs()]
    return coefficients + [0] * (max(degree, 0) + 1 - len(coefficients))
