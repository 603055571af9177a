"""Privacy profiles, and ε over a parameter, as a drawing: SVG, written by hand.

A drawing is some curves with two axes. That needs some lines of SVG and no plotting library: the
text is small, the same on every machine, and scales. The drawing is for the eye, so this is one of
the few places with floats; the numbers themselves stand in the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from html import escape
from math import ceil, exp, floor, inf, isfinite, log, log10

from dpcheck.check.values.verdicts import AllValues, Amount, Cell, Table
from dpcheck.exact.reading import ball_of_text
from dpcheck.intervals import ParamInterval
from dpcheck.records import dataclass
from dpcheck.report.answers import StatedBudget
from dpcheck.report.characters import visible

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 56, 60
_STYLE = 'font-family="sans-serif" stroke="none" role="img"'
_SAMPLES = 800
"""Points of a curve, for all its pieces together; a piece has at least its ends."""
_LEAST = 1e-12
"""No logarithmic axis goes below."""
_COLORS = ("#1f77c9", "#c2571a", "#3c9a4f", "#9b59c4", "#b3446c", "#4f8f8f", "#8a7a1f", "#777777")
"""They can be read on white and on black; each goes with a dash pattern of its own."""
_DASHES = ("", "8 3", "2 3", "8 3 2 3", "14 4", "4 4", "1 5", "10 2 1 2 1 2")


@dataclass(frozen=True)
class Profile:
    """The profile of a mechanism, and the budgets stated for it, drawn as points."""

    name: str
    table: Table
    budgets: Sequence[StatedBudget] = ()


Piece = tuple[float, float, float, float]
"""From e^ε to e^ε, and P and Q there: δ = P - e^ε Q."""


@dataclass(frozen=True)
class _Frame:
    """The ranges of both axes; that of y is logarithmic where it begins above 0."""

    x_most: float
    y_least: float
    y_most: float
    x_least: float = 0.0

    def x(self, value: float) -> float:
        """Return where a value lies from left to right."""
        share = (value - self.x_least) / (self.x_most - self.x_least)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share

    def y(self, value: float) -> float:
        """Return where a value lies upwards; what is below the axis lies on it."""
        share = value / self.y_most
        if self.y_least:
            shown = max(value, self.y_least)
            share = log(shown / self.y_least) / log(self.y_most / self.y_least)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share


def profiles_svg(
    title: str, profiles: Sequence[Profile], *, is_log: bool = False, on_page: bool = False
) -> str:
    """Return a drawing of profiles, δ over ε, with stated budgets as points.

    With `is_log` the axis of δ is logarithmic. A drawing `on_page` takes the page's colors; one
    that is a file of its own is black on white.
    """
    curves = [[_numbers(row) for row in each.table.rows] for each in profiles]
    frame = _frame(profiles, curves, is_log=is_log)
    below = _worst_pair(profiles[0].table) if len(profiles) == 1 else ""
    parts = _start(title, below, frame, ("ε", "δ"), on_page=on_page)
    for i, (each, pieces) in enumerate(zip(profiles, curves, strict=True)):
        parts.append(_curve(frame, pieces, i))
        parts.extend(_point(frame, budget, i) for budget in _drawable(each.budgets))
    if len(profiles) > 1:
        parts.extend(_legend([each.name for each in profiles]))
    return "\n".join([*parts, "</svg>"]) + "\n"


def parameter_svg(title: str, known: AllValues) -> str:
    """Return a drawing of ε over a parameter, by its pieces; infinite values are left out."""
    n_samples = max(2, _SAMPLES // len(known.pieces))
    ends = [float(end.decimal) for p in known.pieces for end in (p.interval.low, p.interval.high)]
    far = 1.5 * max([*map(abs, filter(isfinite, ends)), 2.0])
    curves = [
        [
            (x, y)
            for x in _inside(each.interval, far, n_samples)
            if isfinite(y := _at(x, known.param, each.exact))
        ]
        for each in known.pieces
    ]
    y_most = max((y for points in curves for _, y in points), default=0.0)
    x_most = min(far, max(ends)) if max(ends) > 0 else far  # ticks count up from 0
    frame = _Frame(x_most, 0.0, 1.1 * y_most or 1.0, max(-far, min(0.0, *ends)))
    parts = _start(title, "", frame, (known.param, "ε"), on_page=False)
    for points in curves:
        path = " ".join(f"{frame.x(x):.2f},{frame.y(y):.2f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" {_stroke(0)}/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _inside(interval: ParamInterval, far: float, n_samples: int) -> list[float]:
    """Return values strictly inside of an interval, none beyond ±far; a single one is itself."""
    low, high = max(float(interval.low.decimal), -far), min(float(interval.high.decimal), far)
    step = (high - low) / n_samples
    return [low + step * (i + 0.5) for i in range(n_samples)] if step > 0 else [low]


def _at(x: float, name: str, expression: str) -> float:
    """Return what an expression over a parameter is for a value of it, `inf` where it is that."""
    if expression == "inf":
        return inf
    value = Fraction(x).limit_denominator(10**9)
    return float(ball_of_text(re.sub(rf"\b{name}\b", f"({value})", expression), 64).mid())


def _start(
    title: str, below: str, frame: _Frame, names: tuple[str, str], *, on_page: bool
) -> list[str]:
    """Return the begin of a drawing: its titles and axes with their names."""
    ink = "currentColor" if on_page else "black"
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    size += "" if on_page else f' width="{_WIDTH}" height="{_HEIGHT}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_STYLE} fill="{ink}">',
        f"<title>{escape(visible(title), quote=False)}</title>",
        *([] if on_page else [f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>']),
        svg_text(_LEFT, 24, title, size=15),
        *([svg_text(_LEFT, 42, below)] if below else []),
        *_axes(frame, ink, names),
    ]


def _frame(
    profiles: Sequence[Profile], curves: Sequence[Sequence[Piece]], *, is_log: bool
) -> _Frame:
    stated = [_place(budget) for each in profiles for budget in _drawable(each.budgets)]
    last = max(log(pieces[-1][0]) for pieces in curves)
    x_most = 1.15 * max([last, *(x for x, _ in stated)]) or 1.0
    heights = [p - start * q for pieces in curves for start, _, p, q in pieces]
    heights += [y for _, y in stated]
    y_most = max(heights)
    if not is_log or y_most < _LEAST:
        return _Frame(x_most, 0.0, 1.1 * y_most or 1.0)
    top = ceil(log10(y_most))
    least = max(_LEAST, min(height for height in heights if height > 0))
    return _Frame(x_most, 10.0 ** min(floor(log10(least)), top - 2), 10.0**top)


def _drawable(budgets: Sequence[StatedBudget]) -> Iterator[StatedBudget]:
    """Yield the budgets that have a place on paper."""
    return (each for each in budgets if isfinite(sum(_place(each))))


def _place(budget: StatedBudget) -> tuple[float, float]:
    return float(budget.epsilon.decimal), float(budget.delta.decimal)


def _numbers(row: Sequence[Cell]) -> Piece:
    """Return a piece of a profile; its end may be infinite."""
    start, end, _, p, q = (float(c.decimal) for c in row[:5] if isinstance(c, Amount))
    return start, end, p, q


def _worst_pair(table: Table) -> str:
    """Return between which states the first piece lies, in words."""
    first = table.rows[0]
    if not first[5]:
        return "no pair of neighbors can be told apart"
    return f"at ε = 0 worst between {first[5]} and {first[6]}"


def _curve(frame: _Frame, pieces: Sequence[Piece], place: int) -> str:
    """Return δ = P - e^ε Q of every piece: it bends between breakpoints, over ε."""
    points = _sampled(pieces, frame.x_most)
    path = " ".join(f"{frame.x(x):.2f},{frame.y(y):.2f}" for x, y in points)
    marks = "".join(
        f'<circle cx="{frame.x(log(start)):.2f}" cy="{frame.y(max(0.0, p - start * q)):.2f}" '
        f'r="2.5" fill="{_COLORS[place % len(_COLORS)]}"/>'
        for start, _, p, q in pieces
        if len(pieces) <= 60
    )
    return f'<polyline points="{path}" fill="none" {_stroke(place)}/>{marks}'


def profile_points(table: Table) -> list[tuple[float, float]]:
    """Return points (ε, δ) of a profile, from 0 to a little behind the last ε where it bends."""
    pieces = [_numbers(row) for row in table.rows]
    return _sampled(pieces, 1.15 * log(pieces[-1][0]) or 1.0)


def _sampled(pieces: Sequence[Piece], x_most: float) -> list[tuple[float, float]]:
    """Return points of all pieces, up to an ε."""
    n_samples = max(1, _SAMPLES // len(pieces))
    points = []
    for start, end, p, q in pieces:
        low, high = log(start), min(log(end) if end != float("inf") else x_most, x_most)
        for i in range(n_samples + 1):
            x = low + (high - low) * i / n_samples
            points.append((x, max(0.0, p - exp(x) * q)))
    return points


def _stroke(place: int) -> str:
    """Return how the curve at a place of the list is drawn."""
    dash = _DASHES[place % len(_DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{_COLORS[place % len(_COLORS)]}" stroke-width="2"{dashes}'


def _legend(names: Sequence[str]) -> Iterator[str]:
    """Yield a line and a name for each curve, at the right above."""
    for i, name in enumerate(names):
        y = _TOP + 12 + 18 * i
        yield f'<path d="M{_WIDTH - _RIGHT - 40} {y}h40" {_stroke(i)}/>'
        yield svg_text(_WIDTH - _RIGHT - 48, y + 4, name, anchor="end", size=12)


def _axes(frame: _Frame, ink: str, names: tuple[str, str]) -> list[str]:
    """Return both axes with ticks and names."""
    low, right = frame.y(0), _WIDTH - _RIGHT
    parts = [
        f'<path d="M{_LEFT} {_TOP}V{low:.2f}H{right}" fill="none" stroke="{ink}"/>',
        svg_text((_LEFT + right) / 2, _HEIGHT - 16, names[0], anchor="middle", size=15),
        svg_text(18, (_TOP + low) / 2, names[1], anchor="middle", size=15),
    ]
    for tick in ticks(frame.x_most):
        x = frame.x(tick)
        parts.append(f'<path d="M{x:.2f} {low:.2f}v5" stroke="{ink}"/>')
        parts.append(svg_text(x, low + 20, f"{tick:g}", anchor="middle"))
    for tick in _powers(frame) if frame.y_least else ticks(frame.y_most):
        y = frame.y(tick)
        parts.append(f'<path d="M{_LEFT} {y:.2f}H{right}" stroke="{ink}" stroke-opacity="0.15"/>')
        parts.append(svg_text(_LEFT - 8, y + 4, f"{tick:g}", anchor="end"))
    return parts


def _powers(frame: _Frame) -> list[float]:
    """Return powers of ten on a logarithmic axis, eight at most."""
    low, high = round(log10(frame.y_least)), round(log10(frame.y_most))
    return [10.0**k for k in range(low, high + 1, 1 + (high - low) // 8)]


def ticks(most: float) -> list[float]:
    """Return about six round numbers from 0 to `most`.

    >>> ticks(1.2)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2]
    """
    power = 10.0 ** floor(log10(most / 5))
    step = next(power * m for m in (1, 2, 5, 10) if most / (power * m) <= 7)
    return [round(step * i, 12) for i in range(int(most / step * (1 + 1e-9)) + 1)]


def _point(frame: _Frame, budget: StatedBudget, place: int) -> str:
    epsilon, delta = _place(budget)
    x, y = frame.x(epsilon), frame.y(delta)
    label = f"stated: ε = {budget.epsilon.exact}, δ = {budget.delta.exact}"
    is_right = x > _WIDTH * 0.6
    color = _COLORS[place % len(_COLORS)]
    ring = (
        f'<circle cx="{x:.2f}" cy="{y:.2f}" r="5" fill="none" stroke="{color}" stroke-width="2"/>'
    )
    at = x + (-9 if is_right else 9)
    return ring + svg_text(at, y - 9, label, anchor="end" if is_right else "start", size=12)


def svg_text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 13) -> str:
    """Return a text that begins, ends or has its middle at a place."""
    shown = escape(visible(text), quote=False)
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" font-size="{size}">{shown}</text>'
