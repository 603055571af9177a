"""Which neighbors come closest to the budget of a formula D that holds.

Floats with proved errors leave the pairs that may be the closest; those are compared exactly.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.check.evidence.float_probabilities import FloatArray
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.exact import UNIT_ROUNDOFF, compare, exp_float_bounds, multiply
from dpcheck.logic.formulas import Private


def closest_pair(
    formula: Private, pairs: IntArray, truths: Truths
) -> tuple[EventGap, tuple[int, int]] | None:
    """Return the closest of pairs [n_pairs, 2], the likelier side first, with its probabilities.

    For δ = 0 its ratio is the largest, else its p - e^ε q. None where both sides are alike
    everywhere, and where exact values are too long.
    """
    estimated = truths.estimates(formula.path, pairs)
    if estimated is not None:
        pairs = pairs[_may_be_closest(formula, *estimated)]
    different, which = truths.paired_bounds(formula.path, pairs)
    if any(low != high for ends in different for low, high in ends):
        return None
    best: EventGap | None = None
    for k, ((first, _), (second, _)) in enumerate(different):
        is_forward = compare(first, second) > 0
        p, q = (first, second) if is_forward else (second, first)
        gap = EventGap(p, q, int(np.flatnonzero(which == k)[0]), is_forward)
        if compare(p, q) > 0 and (best is None or _is_closer(gap, best, formula)):
            best = gap
    if best is None:
        return None
    left, right = pairs[best.pair].tolist()
    return best, (left, right) if best.is_forward else (right, left)


def _is_closer(gap: EventGap, other: EventGap, formula: Private) -> bool:
    """Return whether a gap comes closer to the budget of a formula that holds than another."""
    if formula.delta != 0:
        return gap.exceeds(other, ExpFactor.of(formula.epsilon))
    return compare(multiply(gap.p, other.q), multiply(other.p, gap.q)) > 0


def _may_be_closest(formula: Private, low: FloatArray, high: FloatArray) -> IntArray:
    """Return which pairs [n_closest] may be the closest, by bounds [n_pairs, 2] of probabilities.

    A quotient is off by a unit roundoff of itself, a difference of products by a few of the terms.
    """
    below, above = low[:, ::-1], high[:, ::-1]
    scale: float = 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if formula.delta == 0:
            least, most = low / above, high / below
        else:
            ends = exp_float_bounds(formula.epsilon)
            if ends is None:
                return np.arange(len(low))
            least, most, scale = low - ends[1] * above, high - ends[0] * below, ends[1]
    largest = np.maximum(scale, np.abs(np.nan_to_num(most, posinf=scale)))
    margin = 16 * UNIT_ROUNDOFF * largest
    reached = np.nanmax(least - margin, initial=-np.inf)
    return np.flatnonzero((~(most + margin < reached)).any(axis=1))
