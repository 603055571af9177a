"""What is shown of a number without bounds: its value in the window, else that it is beyond.

Beyond the window a number that was never compared with hidden ones has one law, whatever the
input; then that it is beyond says as much about the input as its value does, or in which cell it is
(`explore.tails.tails.Window`). Otherwise what is shown is one of several kinds
(`explore.tails.laws.shown_kinds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, pairwise

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.diagnostics.structure import ShownStillInUse
from dpcheck.exact import Number, as_fraction_parts, subtract
from dpcheck.explore.sampling.closed_forms import MAX_SUPPORT, fits_in_memory, too_many_digits
from dpcheck.explore.sampling.distributions import Supports, move_of, whole_weights
from dpcheck.explore.tails.laws import Levels, cell_chance, chance, shown_kinds
from dpcheck.explore.tails.tails import TAIL_STATE, Tails, Window, WindowTooSmall
from dpcheck.explore.values.codes import FIRST_FAULT, PLAIN, TRUE, ValueTable
from dpcheck.explore.values.evaluate import Frame, codes_of_all, evaluated
from dpcheck.explore.values.mistakes import MistakeFault, spoken
from dpcheck.explore.values.weights import are_positive, is_zero, told_apart
from dpcheck.model.evaluation import Fault
from dpcheck.model.expressions import Const, Expr, If, Var, reads
from dpcheck.model.program import Parametric
from dpcheck.model.values import Beyond, Value, value_text
from dpcheck.source import Span

AS_LONG = 1 << 12
"""So many numbers as long as those of a cell fit in memory: of 2 * 10^6 bits, some 3 s of work."""


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
    value, *behind = distribution.arguments
    codes = evaluated(value, frame, supports.table)
    result = np.where(codes >= FIRST_FAULT, codes, -1)
    known = supports.known("reveal", distribution.span)
    shown = tails.shown_laws(group, codes, frame, live)
    needed = _with_ratios(tails.window, [law for _, _, law in shown if law], supports.table)
    if needed != tails.window:
        raise WindowTooSmall(needed)
    for rows, beyond, law in shown:
        if beyond not in known and law is None:
            mistake = _in_use(value, tails.window, is_beside=bool(behind))
            known[beyond] = supports.table.fault(MistakeFault(mistake))
        elif beyond not in known and law is not None:
            known[beyond] = _shown(law, beyond[1] > 0, tails, supports, value.span)
        result[rows] = known[beyond]
    for code in np.unique(codes[result < 0]).tolist():
        if (code,) not in known:
            known[code,] = supports.add(whole_weights([code], [1], value.span, supports.table))
        result[(result < 0) & (codes == code)] = known[code,]
    return result


def _in_use(value: Expr, window: Window, *, is_beside: bool) -> ShownStillInUse:
    """Return that a number is shown on which others depend, which may be shown beside it."""
    number = _number_in(value)
    text = spoken(number.name) if isinstance(number, Var) else number.span.text
    bounds = window.low - 1, window.high + 1
    return ShownStillInUse(number.span, (), text, bounds, is_beside)


def _shown(law: Levels, is_above: bool, tails: Tails, supports: Supports, span: Span) -> int:
    """Return the distribution of what is shown of a number beyond the window."""
    window = tails.window
    _check_digits(window)
    end, sign = (window.high, 1) if is_above else (window.low, -1)
    codes = [end + sign * step for step in range(1, window.margin + 1)]
    chances = [chance(law, step) for step in range(1, window.margin + 1)]
    is_nothing = partial(is_zero, table=supports.table)
    farther = shown_kinds(law, window.ratios, window.margin, is_nothing)
    if farther is None:
        raise WindowTooSmall(window.widened())
    weights = [subtract(a, b) for a, b in pairwise(window.ratios)]
    weights += [chance for chance in farther if chance != 0]
    tails.has_sure_kinds &= all(are_positive(weights, supports.table))
    bound, n = end + sign * window.margin, len(farther)
    if window.breaks:
        told = _in_cells(law, window, is_above=is_above)
    else:
        kinds = [Beyond(is_above, bound, k, False, n) for k in range(1, n + 1)]
        told = list(zip(kinds, farther, strict=True))
    codes += [supports.table.code(value) for value, _ in told]
    chances += [each for _, each in told]
    return supports.add(whole_weights(codes, chances, span, supports.table))


def _number_in(value: Expr) -> Expr:
    """Return what is shown of a value that is a symbol, or another constant, in other cases.

    That is what can be clamped: `z` of `if z > t then z else none`.
    """
    while isinstance(value, If):
        if isinstance(value.orelse, Const):
            value = value.then
        elif isinstance(value.then, Const):
            value = value.orelse
        else:
            break
    return value


def _with_ratios(window: Window, shown: Iterable[Levels], table: ValueTable) -> Window:
    """Return the window with the ratios of laws that numbers have beyond it."""
    every = chain.from_iterable(law.law for law in shown)
    ratios = dict.fromkeys(ratio for (ratio,) in every if ratio != 0)
    return window.with_ratios(told_apart(ratios, window.ratios, table))


def _in_cells(law: Levels, window: Window, *, is_above: bool) -> list[tuple[Value, Number]]:
    """Return what may be told of a number beyond the margin, with probabilities."""
    end, way = (window.high, 1) if is_above else (window.low, -1)
    found: list[tuple[Value, Number]] = []
    for first, last in window.cells(is_above=is_above):
        steps = way * (first - end), None if last is None else way * (last - end)
        cell = first if first == last else Beyond(is_above, first - way, last=last)
        found.append((cell, cell_chance(law, *steps)))
    return found


def _check_digits(window: Window) -> None:
    """Raise `LimitReached` for a window whose probabilities have too many digits."""
    parts = [1, *(part for ratio in window.ratios for part in as_fraction_parts(ratio))]
    farthest = window.without_cells().margin
    n_far = AS_LONG * len(window.breaks)
    fits = fits_in_memory(2 * window.margin, window.margin, *parts)
    if not (fits and fits_in_memory(n_far, farthest, *parts)):
        raise window.too_far(*too_many_digits(window.low, window.high, *parts))


def resolving(
    distribution: Parametric,
    node: int,
    frame: Frame,
    live: tuple[str, ...],
    tails: Tails,
    supports: Supports,
) -> IntArray:
    """Return the number of each row's distribution [n_rows] of how far wide numbers are apart.

    From each that is moved that matters, up to how far any is, for others on that side, and for
    itself where it stays in a variable. So it is drawn alike where runs are compared.
    """
    group, (moved, stays, *added) = tails.wide.arriving[node], distribution.arguments
    stay = bool((evaluated(stays, frame, supports.table) == TRUE).all())
    try:
        low, high = _added(added, frame, supports.table)
    except Fault as mistake:
        return np.full(frame.n_rows, supports.table.fault(mistake))
    tails.farthest = max(high - low, tails.farthest)
    if stay:
        tails.moved[node] = max(high - low, tails.moved.get(node, 0))
    names = [name for name in tails.wide.groups[group] if name in live]
    is_moved = [name in set(reads(moved)) for name in names]
    columns = [frame[name] for name in (TAIL_STATE, *names)]
    first, of_row = distinct_rows(columns)
    known, found = supports.known("resolve", distribution.span), []
    for state, *codes in zip(*(column[first].tolist() for column in columns), strict=True):
        starts = {
            (code, way)
            for code, is_one in zip(codes, is_moved, strict=True)
            for way, far in ((1, high), (-1, -low))
            if is_one and far and code < PLAIN
            if stay or any(way * (other - code) > 0 for other in codes if other < PLAIN)
        }
        key = (state, high - low, *(each for start in sorted(starts) for each in start))
        if key not in known:
            _check_ways(high - low if starts and state else 0, tails.window)
            ways = tails.states.resolving(state, high - low, sorted(starts))
            drawn, chances = zip(*ways, strict=True)
            weights = whole_weights(list(drawn), chances, distribution.span, supports.table)
            known[key] = supports.add(weights)
        found.append(known[key])
    return np.array(found, np.int64)[of_row]


def _check_ways(reach: int, window: Window) -> None:
    """Raise `LimitReached` where gaps up to a reach are more values than a distribution may have.

    Each length is a way of its own (`explore.tails.laws.resolved`).
    """
    if reach > MAX_SUPPORT:
        told = f"one is moved by {value_text(reach)}, more than {MAX_SUPPORT:,}"
        raise window.too_far(told, "smaller numbers in sums")


def _added(added: Sequence[Expr], frame: Frame, table: ValueTable) -> tuple[int, int]:
    """Return the least and the greatest sum of some numbers that are added to wide ones, or 0.

    Raises a `Fault` where one is no integer.
    """
    low = high = 0
    for expr in added:
        ends = [0]
        for code in np.unique(codes_of_all(expr, frame, table)).tolist():
            ends += [move_of(table.value(code), expr.span)] if code < FIRST_FAULT else []
        low, high = low + min(ends), high + max(ends)
    return low, high
