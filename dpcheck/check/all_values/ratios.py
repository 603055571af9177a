"""Pure ε for all values at once: p <= e^ε q for every pair of neighbors and every sequence.

With e^ε = F^(1/n) that is a polynomial F q^n - p^n >= 0 for t > 1. Descartes' rule is the sieve:
shifted to y = t - 1, a polynomial without negative coefficients has no root t > 1, so one
comparison of coefficient rows decides most of them at once; sums of coefficients often do before
the shift. Only what is left has its roots isolated. What is clear for all t > 1 is clear on every
line but the whole one, which has no sieve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import or_

import numpy as np
import numpy.typing as npt
from flint import fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct
from dpcheck.check.all_values.rows import PolynomialRows
from dpcheck.exact import Number
from dpcheck.exact.polynomial import is_term
from dpcheck.exact.roots import SHIFT, Region, Root, everywhere, joined, where_sign
from dpcheck.limits import Limits

BLOCK = 1 << 14
"""So many comparisons at a time are a few megabytes of coefficients."""

Rows = npt.NDArray[np.object_] | IntArray
"""Coefficients, a row a polynomial; different sizes of numbers."""

ROOT_AT_ONE = fmpz_poly([-1, 1])

INT64_BITS = 62
"""Sums of all coefficients of fewer bits are compared as int64: no difference is taken."""


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
    return joined(or_, [everywhere(False, line.low, line.high), *found])


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
    line, low = rows.line, rows.line.low
    is_above_1 = low is not None and low.compare(Root.of(1)) >= 0
    members: Sequence[fmpz_poly] = rows.members[sequence]
    members = _without_common_roots(members) if is_above_1 else members
    (above, below), root = line.polynomials(growth[0]), growth[1]
    codes = rows.index[sequence][pairs]
    both_ways = np.concatenate([codes, codes[:, ::-1]])
    keys = distinct(both_ways[:, 0] * len(members) + both_ways[:, 1])
    wanted = np.stack(np.divmod(keys[keys != 0], len(members)), axis=1)  # 0 is 0 against 0
    if is_above_1 and root == 1 and is_term(above) and is_term(below):  # before the shift
        plain = _coefficients(members, max(p.degree() for p in members))
        width = plain.shape[1] + max(above.degree(), below.degree())
        small, large = (_sums_from(plain, side, width) for side in (below, above))
        wanted = _not_clear(small, large, wanted, limits, or_equal=or_equal)
    used, places = np.unique(wanted, return_inverse=True)
    open_pairs = places.reshape(-1, 2)
    left, right = ([side * members[k] ** root for k in used.tolist()] for side in (below, above))
    if is_above_1 and len(used):
        degree = max(p.degree() for p in [*left, *right])
        small, large = (_coefficients([p(SHIFT) for p in side], degree) for side in (left, right))
        open_pairs = _not_clear(small, large, open_pairs, limits, or_equal=or_equal)
    for i, j in open_pairs.tolist():
        yield right[j] - left[i]


def _without_common_roots(members: Sequence[fmpz_poly]) -> Sequence[fmpz_poly]:
    """Return polynomials without the powers of t - 1 that all have: they are positive for t > 1."""
    while any(members) and all(p(1) == 0 for p in members):
        members = [p // ROOT_AT_ONE for p in members]
    return members


def _not_clear(
    small: Rows, large: Rows, wanted: IntArray, limits: Limits, *, or_equal: bool
) -> IntArray:
    """Return the pairs [n_left, 2] for which not every coefficient of q is at least that of p.

    `wanted` [n_pairs, 2] are rows of `small` (p) and `large` (q). With `or_equal` one that is
    clear has a greater coefficient, too, unless p is 0.
    """
    left = [wanted[:0]]
    for start in range(0, len(wanted), BLOCK):
        limits.check_time(f"{start} comparisons of one sequence")
        block = wanted[start : start + BLOCK]
        p, q = small[block[:, 0]], large[block[:, 1]]
        is_clear = (q >= p).all(axis=1)
        if or_equal:
            is_clear &= (q != p).any(axis=1)
        left.append(block[~is_clear])
    found: IntArray = np.concatenate(left)
    return found


def _sums_from(rows: Rows, term: fmpz_poly, width: int) -> Rows:
    """Return S_j = c_j + c_(j+1) + ... of polynomials times c·t^k, [n_rows, width], from theirs.

    Σ c_j t^j = S_0 + Σ S_j (t^j - t^(j-1)) (Abel), so no S_j < 0 means no negative value for t > 1.
    """
    factor, degree = int(term[term.degree()]), term.degree()
    scaled = rows.astype(object) * factor if factor != 1 else rows
    wide: Rows = np.zeros((len(rows), width), scaled.dtype)
    wide[:, degree : degree + rows.shape[1]] = scaled
    sums: Rows = wide[:, ::-1].cumsum(axis=1)[:, ::-1]
    return sums


def _coefficients(polynomials: Sequence[fmpz_poly], degree: int) -> Rows:
    """Return the coefficients, lowest first, [n_polynomials, degree + 1]; int64 where all fit."""
    width = max(degree, 0) + 1
    n_bits = max((p.height_bits() for p in polynomials), default=0) + width.bit_length()
    made: Rows = np.zeros((len(polynomials), width), np.int64 if n_bits < INT64_BITS else object)
    for k, polynomial in enumerate(polynomials):
        row = list(map(int, polynomial.coeffs()))
        made[k, : len(row)] = row
    return made
