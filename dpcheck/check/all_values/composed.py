"""Rows of independent runs on one input, for all values of a parameter at once.

Of a pair of neighbors the probabilities of independent outputs multiply, and so do their ratios
p/q. Outputs whose ratios are one function of t are merged before they are multiplied: whatever e^ε
is, a worst set has all of them or none (see `deltas`). Whether they are one is asked of functions
that are alike at a point, modulo a prime: p q' = q p'.

About ratios alone less is enough: the largest ratio of all runs is the product of the largest ones
of each, at every t. So k runs of a part have the k-th powers of its ratios, whatever their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np
from flint import fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.check.all_values.rows import ONE, ZERO, PolynomialRows, numbered
from dpcheck.exact.line import Line
from dpcheck.limits import Limits, too_large
from dpcheck.records import dataclass

MAX_SIZE = 20_000
"""Bounds the ratios of all runs of a pair times the degree of each: a minute for one pair."""

TOO_MANY = "probabilities of so many runs have too many ratios, of too high a degree"
INSTEAD = "ask about one value of the parameter, or about fewer runs"

PRIME, POINT = 2**61 - 1, 3**37
"""Any would do: two functions that are alike there are compared."""

INFINITE = -1
"""In place of a ratio at the point where q is 0 there: all others are at least 0."""

Sides = tuple[fmpz_poly, fmpz_poly]

Loss = tuple[fmpz_poly, fmpz_poly, int]
"""p and q of the outputs of one ratio, and p/q at the point; `INFINITE` where q is 0 there."""

Losses = dict[object, Loss]
"""The losses of a pair of neighbors, by p/q at the point; of several that are alike there one."""


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
    known = [_losses_of_pairs(part, limits, is_pure=is_pure) for part in parts]
    first, _ = distinct_rows([which for _, which in known])
    sides = list[list[Sides]]()
    for pair in first.tolist():
        runs = [losses[which[pair]] for losses, which in known]
        sides.append([(p, q) for p, q, _ in _all_runs(runs, limits).values()])
    below = ONE if is_pure else prod((p.rows.denominator**p.times for p in parts), start=ONE)
    pairs = np.arange(2 * len(sides)).reshape(-1, 2)
    return PolynomialRows(parts[0].rows.line, below, *_members(sides)), pairs


def _losses_of_pairs(
    part: RunRows, limits: Limits, *, is_pure: bool
) -> tuple[list[Losses], IntArray]:
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
                p, q = polynomials[i], polynomials[j]
                known[code] = _loss(*_reduced(p, q, part.rows.line)) if is_pure else _loss(p, q)
            _add(losses, *known[code])
        if is_pure:
            found.append(_powers(losses, part.times))
        else:
            _check_size(1, _degree(losses) * part.times)  # before so many runs are listed
            found.append(_all_runs([losses] * part.times, limits))
    return found, which


def _reduced(p: fmpz_poly, q: fmpz_poly, line: Line) -> Sides:
    """Return p and q without what they share, which has one sign on the line, as both have."""
    shared = line.positive(p.gcd(q))
    return (p, q) if shared == ZERO else (p // shared, q // shared)


def _loss(p: fmpz_poly, q: fmpz_poly) -> Loss:
    """Return the loss of an output."""
    above, below = (int(side(POINT)) % PRIME for side in (p, q))
    return p, q, above * pow(below, -1, PRIME) % PRIME if below else INFINITE


def _powers(losses: Losses, times: int) -> Losses:
    """Return the powers of ratios."""
    _check_size(len(losses), _degree(losses) * times)
    powers: Losses = {}
    for p, q, ratio in losses.values():
        at_point = INFINITE if ratio == INFINITE else pow(ratio, times, PRIME)
        _add(powers, p**times, q**times, at_point)
    return powers


def _all_runs(runs: Sequence[Losses], limits: Limits) -> Losses:
    """Return the losses of independent runs together."""

    def product(left: Losses, right: Losses) -> Losses:
        found: Losses = {}
        for p, q, ratio in left.values():
            limits.check_time(f"{len(found)} privacy losses composed")
            for other_p, other_q, other in right.values():
                is_finite = INFINITE not in (ratio, other)
                at_point = ratio * other % PRIME if is_finite else INFINITE
                _add(found, p * other_p, q * other_q, at_point)
        return found

    _check_runs(runs)
    return reduce(product, runs)


def _check_runs(runs: Sequence[Losses]) -> None:
    """Raise `LimitReached` where runs surely have too many ratios: that differ at the point."""
    degree, ratios = sum(map(_degree, runs)), {1}
    for losses in runs:
        own = [ratio for _, _, ratio in losses.values() if ratio != INFINITE]
        ratios = {one * other % PRIME for one in ratios for other in own}
        _check_size(len(ratios), degree)


def _check_size(n_ratios: int, degree: int) -> None:
    if n_ratios * degree > MAX_SIZE:
        raise too_large(TOO_MANY, INSTEAD)


def _degree(losses: Losses) -> int:
    """Return the degree of the largest polynomial."""
    return max((side.degree() for p, q, _ in losses.values() for side in (p, q)), default=0)


def _add(losses: Losses, p: fmpz_poly, q: fmpz_poly, ratio: int) -> None:
    """Add outputs to those of their ratio. Those that are impossible on both sides are none."""
    if p == ZERO and q == ZERO:
        return
    if ratio not in losses:
        losses[ratio] = p, q, ratio
        return
    known_p, known_q, _ = losses[ratio]
    if known_p * q == known_q * p:
        losses[ratio] = known_p + p, known_q + q, ratio
    else:
        losses[ratio, len(losses)] = p, q, ratio


def _members(
    pairs: Sequence[Sequence[Sides]],
) -> tuple[tuple[tuple[fmpz_poly, ...], ...], IntArray]:
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
