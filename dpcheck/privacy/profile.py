"""The privacy profile: δ as a function of E = e^ε, for one pair of neighbors and for all.

For one pair and direction δ(E) = max over S of P(S) - E Q(S): a maximum of affine functions of E,
so convex, falling and piecewise linear, with breakpoints at the likelihood ratios (Balle, Barthe,
Gaboardi, NeurIPS 2018). For all pairs it is the maximum over all those functions, that is the upper
envelope of finitely many lines on E >= 1, found by sorting slopes and dropping lines that lie below
(the convex hull trick). Everything is exact, and each piece keeps the pair and the event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from dpcheck.exact import Number, by_size, compare, divide, multiply, subtract
from dpcheck.privacy.losses import LossDistribution, both_directions
from dpcheck.records import dataclass


@dataclass(frozen=True)
class Line:
    """p - E q: the gap of one event of one pair (`is_forward`: p belongs to the pair's first)."""

    p: Number
    q: Number
    pair: int
    is_forward: bool

    def at(self, factor: Number) -> Number:
        """Return p - E q."""
        return subtract(self.p, multiply(factor, self.q))


@dataclass(frozen=True)
class Piece:
    """δ(E) = line for start <= E <= end; `end` is None for a piece without end."""

    start: Number
    end: Number | None
    line: Line


NOTHING = Line(0, 0, -1, True)
"""The empty event, whose gap is 0 everywhere; it belongs to no pair."""


def profile(pairs: Iterable[tuple[int, LossDistribution]]) -> tuple[Piece, ...]:
    """Return the pieces of max δ(E) over pairs and directions for E >= 1, by rising E.

    Each pair comes with its number. Together the pieces cover [1, ∞); from the largest ratio on the
    piece is `NOTHING`, unless a pair has an output that its neighbor never shows.

    >>> from dpcheck.exact import number
    >>> survey = LossDistribution.of([(number(3, 4), number(1, 4)),
    ...                               (number(1, 4), number(3, 4))])
    >>> [(piece.start, piece.line.at(piece.start)) for piece in profile([(0, survey)])]
    [(1, 1/2), (3, 0)]
    """
    lines = [NOTHING]
    for pair, losses in pairs:
        for directed, is_forward in both_directions(losses):
            lines.extend(_lines(pair, directed, is_forward=is_forward))
    return tuple(_pieces(_envelope(lines)))


def profile_of_maximum(line_at: Callable[[Number], Line], last: Line) -> tuple[Piece, ...]:
    """Return the pieces of a maximum of finitely many lines, which is known where it is asked for.

    `line_at` returns a line that is largest at E, `last` is the largest without end. Of two lines
    of the envelope either none is larger where they cross, and they are neighbors, or that one lies
    between them (Eisner and Severance, Journal of the ACM 1976): two questions a piece.
    """
    hull, waiting = [line_at(1)], [last]
    while waiting:
        left, right = hull[-1], waiting[-1]
        if compare(left.q, right.q) == 0:  # one line
            waiting.pop()
            continue
        crossing = _crossing(left, right)
        middle = line_at(crossing)
        if compare(middle.at(crossing), left.at(crossing)) > 0:
            waiting.append(middle)
        else:
            hull.append(waiting.pop())
    return tuple(piece for piece in _pieces(hull) if piece.end is None or piece.start != piece.end)


def _lines(pair: int, losses: LossDistribution, *, is_forward: bool) -> Iterator[Line]:
    """Yield the gaps of the events that are best for some E >= 1."""
    n_above = sum(compare(loss.ratio, 1) > 0 for loss in losses.losses)
    n_corners = n_above + (1 if losses.p_only == 0 else 2)
    for p, q in losses.corners[:n_corners]:
        if p != 0:
            yield Line(p, q, pair, is_forward)


def _envelope(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of the upper envelope on E >= 1 by falling q, the best at E = 1 first.

    Of equal lines the first pair's stays. Going to flatter lines (smaller q), a line is dropped
    when the next one overtakes its predecessor before it does.
    """
    best: dict[Number, Line] = {}
    for line in lines:
        known = best.get(line.q)
        if known is None or compare(line.p, known.p) > 0:
            best[line.q] = line
    hull: list[Line] = []
    for line in sorted(best.values(), key=lambda line: by_size(line.q), reverse=True):
        while hull and compare(line.at(1), hull[-1].at(1)) >= 0:
            hull.pop()
        while len(hull) >= 2 and compare(_crossing(hull[-1], line), _crossing(*hull[-2:])) <= 0:
            hull.pop()
        hull.append(line)
    return hull


def _crossing(steep: Line, flat: Line) -> Number:
    """Return the E at which the flatter line reaches the steeper one."""
    return divide(subtract(steep.p, flat.p), subtract(steep.q, flat.q))


def _pieces(hull: Sequence[Line]) -> Iterator[Piece]:
    start: Number = 1
    for line, following in pairwise(hull):
        end = _crossing(line, following)
        yield Piece(start, end, line)
        start = end
    yield Piece(start, None, hull[-1])
