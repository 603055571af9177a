"""What is shown of a number without bounds: its value in the window, else that it is beyond.

Beyond the window a number that was never compared with hidden ones has one law, whatever the
input; then that it is beyond says as much about the input as its value does. Otherwise what is
shown is one of several kinds (`explore.tails.laws.shown_kinds`).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.diagnostics.structure import ShownStillInUse
from dpcheck.exact import subtract
from dpcheck.explore.sampling.distributions import Supports, whole_weights
from dpcheck.explore.tails.laws import Law, chance, shown_kinds
from dpcheck.explore.tails.tails import Tails, WindowTooSmall
from dpcheck.explore.values.codes import FIRST_FAULT
from dpcheck.explore.values.evaluate import Frame, evaluated
from dpcheck.explore.values.mistakes import MistakeFault
from dpcheck.explore.values.weights import are_positive
from dpcheck.model.program import Parametric
from dpcheck.model.values import Beyond
from dpcheck.source import Span


def revealing(
    distribution: Parametric,
    group: int,
    frame: Frame,
    live: tuple[str, ...],
    tails: Tails,
    supports: Supports,
) -> IntArray:
    """Return the number of each row's distribution [n_rows], or a fault's code.

    live: the variables that are read after the number is shown.
    """
    (value,) = distribution.arguments
    codes = evaluated(value, frame, supports.table)
    result = np.where(codes >= FIRST_FAULT, codes, -1)
    for rows, is_above, law in tails.shown_laws(group, codes, frame, live):
        result[rows] = _shown(law, is_above, tails, supports, value.span)
    known = supports.known("reveal", distribution.span)
    for code in np.unique(codes[result < 0]).tolist():
        if (code,) not in known:
            known[code,] = supports.add(whole_weights([code], [1], value.span, supports.table))
        result[(result < 0) & (codes == code)] = known[code,]
    return result


def _shown(law: Law | None, is_above: bool, tails: Tails, supports: Supports, span: Span) -> int:
    """Return the distribution of what is shown of a number beyond the window, or a fault."""
    window = tails.window
    if law is None:
        return supports.table.fault(MistakeFault(ShownStillInUse(span, (), span.text)))
    needed = window.with_ratios(ratio for (ratio,) in law)
    if needed != window:
        raise WindowTooSmall(needed)
    end, sign = (window.high, 1) if is_above else (window.low, -1)
    codes = [end + sign * step for step in range(1, window.margin + 1)]
    chances = [chance(law, step) for step in range(1, window.margin + 1)]
    farther = shown_kinds(law, window.ratios, window.margin)
    if farther is None:
        raise WindowTooSmall(window.widened())
    weights = [subtract(a, b) for a, b in pairwise(window.ratios)]
    weights += [chance for chance in farther if chance != 0]
    tails.has_sure_kinds &= all(are_positive(weights, supports.table))
    bound, n = end + sign * window.margin, len(farther)
    kinds = [Beyond(is_above, bound, k, False, n) for k in range(1, n + 1)]
    codes += [supports.table.code(kind) for kind in kinds]
    return supports.add(whole_weights(codes, [*chances, *farther], span, supports.table))
