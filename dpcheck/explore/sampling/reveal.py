"""What is shown of a number without bounds: its value in the window, else that it is beyond.

Beyond the window a number that was never compared with hidden ones has one law, whatever the
input; then that it is beyond says as much about the input as its value does. Otherwise what is
shown is one of several kinds (`explore.tails.laws.shown_kinds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.diagnostics.structure import ShownStillInUse
from dpcheck.exact import subtract
from dpcheck.explore.sampling.distributions import Supports, integer_of, whole_weights
from dpcheck.explore.tails.laws import Levels, chance, shown_kinds
from dpcheck.explore.tails.tails import TAIL_STATE, Tails, WindowTooSmall
from dpcheck.explore.values.codes import FIRST_FAULT, PLAIN, TRUE, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated
from dpcheck.explore.values.mistakes import MistakeFault
from dpcheck.explore.values.weights import are_positive
from dpcheck.model.evaluation import Fault
from dpcheck.model.expressions import Expr, reads
from dpcheck.model.program import Parametric
from dpcheck.model.values import Beyond, SetValue
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


def _shown(law: Levels | None, is_above: bool, tails: Tails, supports: Supports, span: Span) -> int:
    """Return the distribution of what is shown of a number beyond the window, or a fault."""
    window = tails.window
    if law is None:
        return supports.table.fault(MistakeFault(ShownStillInUse(span, (), span.text)))
    needed = window.with_ratios(ratio for (ratio,) in law.law if ratio != 0)
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


def resolving(
    distribution: Parametric,
    node: int,
    frame: Frame,
    live: tuple[str, ...],
    tails: Tails,
    supports: Supports,
) -> IntArray:
    """Return the number of each row's distribution [n_rows] of how far wide numbers are apart.

    From each that is moved that matters, up to how far it is, for others on that side, and for
    itself where it stays in a variable.
    """
    group, (moved, stays, *added) = tails.wide.arriving[node], distribution.arguments
    stay = bool((evaluated(stays, frame, supports.table) == TRUE).all())
    try:
        low, high = _added(added, frame, supports.table)
    except Fault as mistake:
        return np.full(frame.n_rows, supports.table.fault(mistake))
    farthest = int((high - low).max(initial=0))
    tails.farthest = max(farthest, tails.farthest)
    if stay:
        tails.moved[node] = max(farthest, tails.moved.get(node, 0))
    names = [name for name in tails.wide.groups[group] if name in live]
    first, of_row = distinct_rows([frame[TAIL_STATE], low, high, *(frame[name] for name in names)])
    rows = (
        c[first].tolist() for c in (frame[TAIL_STATE], low, high, *map(frame.__getitem__, names))
    )
    known, found = supports.known("resolve", distribution.span), []
    is_moved = [name in set(reads(moved)) for name in names]
    for state, least, most, *codes in zip(*rows, strict=True):
        reach, others = most - least, [code for code in codes if code < PLAIN]
        starts = {
            (code, way)
            for code, is_one in zip(codes, is_moved, strict=True)
            for way, far in ((1, most), (-1, -least))
            if is_one and far and code < PLAIN
            if stay or any(way * (other - code) > 0 for other in others)
        }
        key = (state, reach, *(each for start in sorted(starts) for each in start))
        if key not in known:
            drawn, chances = zip(*tails.states.resolving(state, reach, sorted(starts)), strict=True)
            weights = whole_weights(list(drawn), chances, distribution.span, supports.table)
            known[key] = supports.add(weights)
        found.append(known[key])
    return np.array(found, np.int64)[of_row]


def _added(added: Sequence[Expr], frame: Frame, table: ValueTable) -> tuple[IntArray, IntArray]:
    """Return the least and the greatest sum of some numbers added to wide ones, each [n_rows].

    Raises a `Fault` where one is no integer.
    """
    low, high = np.zeros((2, frame.n_rows), np.int64)
    for expr in added:
        codes = evaluated(expr, frame, table)
        for code in np.unique(codes[codes < FIRST_FAULT]).tolist():
            value = table.value(code)
            items = value.items if isinstance(value, SetValue) else (value,)
            ends = [integer_of(each, "what is added to noise", expr.span) for each in items]
            rows = codes == code
            low[rows] += min([0, *ends])
            high[rows] += max([0, *ends])
    return low, high
