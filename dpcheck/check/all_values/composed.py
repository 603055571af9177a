"""Rows of independent runs on one input, for all values of a parameter at once.

Of a pair of neighbors the probabilities of independent outputs multiply, and so do their ratios
p/q. Outputs whose ratios are one function of t are merged before they are multiplied: whatever e^ε
is, a worst set has all of them or none (see `deltas`). With p = w p' and q = w q', where p' and q'
have no common factor, p' and q' tell the ratio, up to one sign: as p and q are at least 0 on the
line, none of the three changes its sign there, and p' + q' is 0 nowhere.

About ratios alone less is enough: the largest ratio of all runs is the product of the largest ones
of each, at every t. So k runs of a part have the k-th powers of its ratios, whatever their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np
from flint import fmpq, fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.check.all_values.rows import ONE, ZERO, PolynomialRows, numbered
from dpcheck.exact.roots import between
from dpcheck.limits import Limits, too_large
from dpcheck.records import dataclass

MAX_LOSSES = 1000
"""Bounds the ratios of a pair: each is a function of a high degree, to be compared with others."""

TOO_MANY = f"independent runs have more than {MAX_LOSSES} ratios of probabilities"
INSTEAD = "ask about a value of the parameter, or about fewer runs"

Loss = tuple[fmpz_poly, fmpz_poly, fmpz_poly]
"""p', q' and w of the outputs of one ratio."""

Sides = tuple[fmpz_poly, fmpz_poly]
Members = tuple[tuple[fmpz_poly, ...], ...]
Losses = dict[object, Loss]
"""The losses of a pair of neighbors, by what their ratios hash by."""


@dataclass(frozen=True, eq=False)
class RunRows:
    """Rows of a part, the sources [n_pairs, 2] of each pair of neighbors, and how often it runs."""

    rows: PolynomialRows
    pairs: IntArray
    times: int


def composed_rows(
    parts: Sequence[RunRows], limits: Limits, *, is_pure: bool
) -> tuple[PolynomialRows, IntArray]:
    """Return the rows of all runs together, and the pairs [n, 2] of their sources.

    All parts have the same pairs in the same order. The rows are about ratios alone if what is
    asked `is_pure`. Raises `LimitReached` where ratios are many.
    """
    line = parts[0].rows.line
    search = _Search(between(line.low, line.high), limits, is_pure)
    known = [search.losses_of_pairs(part) for part in parts]
    first, _ = distinct_rows([which for _, which in known])
    sides = list[list[Sides]]()
    for pair in first.tolist():
        total = reduce(search.product, (losses[which[pair]] for losses, which in known))
        sides.append([(p, q) if is_pure else (w * p, w * q) for p, q, w in total.values()])
    below = ONE if is_pure else prod((p.rows.denominator**p.times for p in parts), start=ONE)
    return PolynomialRows(line, below, *_members(sides)), np.arange(2 * len(sides)).reshape(-1, 2)


def _members(pairs: Sequence[Sequence[Sides]]) -> tuple[Members, IntArray]:
    """Return the polynomials of sequences, and which of them each source has; two for each pair.

    pairs: for each p and q of its sequences, the first, the second...
    """
    width = max(map(len, pairs), default=0)
    numbers: list[dict[object, int]] = [{(): 0} for _ in range(width)]
    members = [[ZERO] for _ in range(width)]
    index = np.zeros((width, 2 * len(pairs)), np.int64)
    for k, sides in enumerate(pairs):
        for s, side in enumerate(sides):
            for place, polynomial in enumerate(side):
                number = numbers[s].setdefault(tuple(polynomial.coeffs()), len(members[s]))
                if number == len(members[s]):
                    members[s].append(polynomial)
                index[s, 2 * k + place] = number
    return tuple(map(tuple, members)), index


@dataclass(frozen=True, eq=False)
class _Search:
    """Losses of pairs, by a rational number inside of the line; of ratios alone if it `is_pure`."""

    inside: fmpq
    limits: Limits
    is_pure: bool

    def losses_of_pairs(self, part: RunRows) -> tuple[list[Losses], IntArray]:
        """Return the different losses of all runs of a part, and which each pair has, [n_pairs]."""
        polynomials, numbers = numbered(part.rows)
        sides = numbers[:, part.pairs[:, 0]], numbers[:, part.pairs[:, 1]]
        codes = np.sort(sides[0] * len(polynomials) + sides[1], axis=0)
        first, which = distinct_rows(list(codes))
        known, found = dict[int, Loss](), list[Losses]()
        for pair in first.tolist():
            losses: Losses = {}
            for code in codes[:, pair].tolist():
                if code not in known:
                    i, j = divmod(code, len(polynomials))
                    known[code] = self._reduced(polynomials[i], polynomials[j])
                _add(losses, known[code])
            found.append(self._power(losses, part.times))
        return found, which

    def _power(self, losses: Losses, times: int) -> Losses:
        """Return the losses of so many runs."""
        if not self.is_pure:
            return reduce(self.product, [losses] * times)
        powers: Losses = {}
        for p, q, w in losses.values():
            _add(powers, (p**times, q**times, w))
        return powers

    def product(self, left: Losses, right: Losses) -> Losses:
        """Return the losses of independent runs."""
        found: Losses = {}
        for p, q, w in left.values():
            self.limits.check_time(f"{len(found)} privacy losses composed")
            if len(found) > MAX_LOSSES:
                raise too_large(TOO_MANY, INSTEAD)
            for other_p, other_q, other_w in right.values():
                p_both, q_both, shared = self._reduced(p * other_p, q * other_q)
                _add(found, (p_both, q_both, w * other_w * shared))
        return found

    def _reduced(self, p: fmpz_poly, q: fmpz_poly) -> Loss:
        """Return the loss of outputs with these probabilities."""
        w = p.gcd(q)
        if w == ZERO:
            return ZERO, ZERO, ZERO
        p, q = p // w, q // w
        return (p, q, w) if (p + q)(self.inside) > 0 else (-p, -q, -w)


def _add(losses: Losses, loss: Loss) -> None:
    """Add outputs that have some probability to those of their ratio."""
    p, q, w = loss
    if w != ZERO:
        key = tuple(p.coeffs()), tuple(q.coeffs())
        losses[key] = p, q, w + losses[key][2] if key in losses else w
