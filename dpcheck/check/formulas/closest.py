"""Which neighbors come closest to the budget of a formula D, or are furthest beyond it."""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.exact import compare, multiply
from dpcheck.logic.formulas import Private


def closest_pair(formula: Private, pairs: IntArray, truths: Truths) -> tuple[EventGap, bool]:
    """Return the gap of one of pairs [n_pairs, 2], the likelier side first, and if all are exact.

    With δ = 0 its ratio p/q is the largest, of infinite ones with the largest p, else its
    p - e^ε q; of equals it is the first, and one without a difference where all are. Pairs are
    compared by lower bounds of probabilities, exact where exact values are short. There is a pair.
    """
    different, which = truths.paired_bounds(formula.path, pairs)
    factor, best = ExpFactor.of(formula.epsilon), EventGap(0, 1, -1, True)
    for pair in np.sort(np.unique(which, return_index=True)[1]).tolist():
        (first, _), (second, _) = different[which[pair]]
        is_forward = compare(first, second) >= 0
        p, q = (first, second) if is_forward else (second, first)
        gap = EventGap(p, q, pair, is_forward)
        is_closer = best.p == best.q or _is_closer(gap, best, factor, is_ratio=formula.delta == 0)
        if best.pair < 0 or (p != q and is_closer):
            best = gap
    return best, all(low == high for ends in different for low, high in ends)


def _is_closer(gap: EventGap, other: EventGap, factor: ExpFactor, *, is_ratio: bool) -> bool:
    """Return whether a gap, or its ratio p/q, is larger; of infinite ratios the larger p counts."""
    if not is_ratio:
        return gap.exceeds(other, factor)
    order = compare(multiply(gap.p, other.q), multiply(other.p, gap.q))
    return order > 0 or (order == 0 and compare(gap.p, other.p) > 0)
