"""What is true at all numbers beyond a window: signs of sums of products of powers.

A function of gaps n_1, n_2, ... >= 0 is Σ_k a_k Π_j ρ_kj^(n_j), ρ_kj being among ratios of a gap.
Taken along each gap, the differences of `exact.exponentials` are coefficients D_K with

    f(n) = Σ_K D_K Π_j h(n_j, K_j)   where no h is negative, and the last D_K is f(0),

so f has the sign of f(0) everywhere if that is not 0 and no other coefficient has the other one. So
it is for p - e^ε q - δ, a sum of that kind, as 1 is one of the ratios. Where signs differ, a gap is
taken apart: where it is 0, the last coefficients along it are those of the other gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.chain.chain import Gap
from dpcheck.check.values.comparisons import truth_between
from dpcheck.exact import Number, compare, excess_sign
from dpcheck.exact.exponentials import differences, next_differences
from dpcheck.logic.formulas import Private, ProbabilityIs

MAX_PARTS = 200
"""So many parts of what is beyond the window are taken apart, until no sign can change."""

Ratios = tuple[tuple[Number, ...], ...]
"""Those of each gap."""

Coefficients = NDArray[Any]
"""Exact numbers, as many along each gap as it has ratios."""

Told = Callable[[list[list[Number]]], bool | None]
"""What the coefficients of functions tell of a part: is something true of all, or of none in it."""


Part = tuple[list[Coefficients], Ratios]
"""The coefficients of several functions of some gaps, and the ratios of these."""


class TruthBeyond:
    """Whether something is true, as functions of gaps tell."""

    def __init__(self, values: Sequence[Sequence[Number]], ratios: Ratios, told: Told) -> None:
        """Take the values of functions where each gap is below the number of its ratios.

        The last gap runs fastest.
        """
        self.told = told
        self._start: Part = [_coefficients(each, ratios) for each in values], ratios
        self._parts: dict[tuple[Gap, ...], list[Part]] = {}
        self._truths: dict[tuple[Gap, ...], bool | None] = {}

    def at(self, gaps: tuple[Gap, ...]) -> bool | None:
        """Return whether it is true at all gaps, or at none; None where it seems to be at some."""
        if gaps not in self._truths:
            self._truths[gaps] = self._truth(self._part(gaps))
        return self._truths[gaps]

    def _part(self, gaps: tuple[Gap, ...]) -> Part:
        """Return the functions of those of the first gaps that are not known, after the others."""
        if not gaps:
            return self._start
        part = self._longer(gaps[:-1], gaps[-1].length)
        return _at_0(part) if gaps[-1].is_known else _others_first(part)

    def _longer(self, gaps: tuple[Gap, ...], length: int) -> Part:
        """Return the functions after the first gaps where the next one is longer."""
        by_length = self._parts.setdefault(gaps, [])
        while len(by_length) <= length:
            by_length.append(_next(by_length[-1]) if by_length else self._part(gaps))
        return by_length[length]

    def _truth(self, part: Part) -> bool | None:
        parts, n_apart, truth = [part], 0, None
        while parts and n_apart <= MAX_PARTS:
            part = parts.pop(0)
            found = self.told([each.ravel().tolist() for each in part[0]])
            if found is None:
                n_apart += 1
                parts += [_at_0(part), _others_first(_next(part))]
            elif truth not in {None, found}:
                return None
            else:
                truth = found
        return None if parts else truth


def continued(values: Sequence[Number], ratios: tuple[Number, ...], length: int) -> list[Number]:
    """Return as many values of a function of one gap, from a length on, as there are from 0 on."""
    found, later = differences(values, ratios), list[Number]()
    for _ in range(length + len(ratios)):
        later.append(found[-1])
        found = next_differences(found, ratios)
    return later[length:]


def are_violating(formula: Private) -> Told:
    """Return what tells whether a D is violated, by functions p, q and δ, in either direction."""

    def told(functions: list[list[Number]]) -> bool | None:
        p, q, delta = functions
        there = [excess_sign(a, b, formula.epsilon, d) for a, b, d in zip(p, q, delta, strict=True)]
        back = [excess_sign(b, a, formula.epsilon, d) for a, b, d in zip(p, q, delta, strict=True)]
        truths = [truth_between(">", *_least_and_greatest(signs)) for signs in (there, back)]
        return True if True in truths else None if None in truths else False

    return told


def are_satisfying(formula: ProbabilityIs) -> Told:
    """Return what tells whether a P holds, by the function p and the bounds it is compared with."""

    def told(functions: list[list[Number]]) -> bool | None:
        p, *bounds = functions
        truths = [
            truth_between(comparison, *_least_and_greatest(list(map(compare, p, bound))))
            for (comparison, _), bound in zip(formula.relations, bounds, strict=True)
        ]
        return False if False in truths else None if None in truths else True

    return told


def _least_and_greatest(signs: list[int]) -> tuple[int, int]:
    """Return between which signs a function is in a part, by the signs of its coefficients."""
    return (signs[-1],) * 2 if set(signs) <= {0, signs[-1]} else (min(signs), max(signs))


def _coefficients(values: Sequence[Number], ratios: Ratios) -> Coefficients:
    """Return the coefficients of a function by its first values."""
    found = np.empty(len(values), object)
    found[:] = values
    found = found.reshape([len(each) for each in ratios])
    for each in ratios:  # as many times as there are gaps, so that these are in order again
        found = np.moveaxis(_along_first(found, differences, each), 0, -1)
    return found


def _along_first(
    found: Coefficients,
    change: Callable[[list[Number], tuple[Number, ...]], list[Number]],
    ratios: tuple[Number, ...],
) -> Coefficients:
    """Return what becomes of the numbers along the first gap."""
    changed = found.reshape(len(ratios), -1).copy()
    for column in changed.T:
        column[:] = change(column.tolist(), ratios)
    return changed.reshape(found.shape)


def _next(part: Part) -> Part:
    """Return the functions where the first gap is longer by 1."""
    functions, ratios = part
    return [_along_first(each, next_differences, ratios[0]) for each in functions], ratios


def _at_0(part: Part) -> Part:
    """Return the functions of the other gaps where the first one is 0."""
    functions, ratios = part
    return [each[-1, ...] for each in functions], ratios[1:]


def _others_first(part: Part) -> Part:
    """Return the functions where the first gap is the last one: the others' turn comes."""
    functions, ratios = part
    return [np.moveaxis(each, 0, -1) for each in functions], (*ratios[1:], *ratios[:1])
