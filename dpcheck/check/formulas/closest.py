"""Which neighbors come closest to the budget of a formula D that holds, compared exactly."""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.exact import compare, multiply
from dpcheck.logic.formulas import Private


def closest_pair(
    formula: Private, pairs: IntArray, truths: Truths
) -> tuple[EventGap, tuple[int, int]] | None:
    """Return the closest of pairs [n_pairs, 2], the likelier side first, with its probabilities.

    For δ = 0 its ratio is the largest, else its p - e^ε q. None where both sides are alike
    everywhere, and where exact values are too long.
    """
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
