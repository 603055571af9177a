"""The privacy profile as a drawing: SVG, written by hand.

A profile is one curve with two axes. That needs forty lines of SVG and no plotting library: the
text is small, the same on every machine, and scales. The drawing is for the eye, so this is one of
the few places with floats; the numbers themselves stand in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import exp, floor, log, log10

from dpcheck.check.values.verdicts import Amount, Cell, Table
from dpcheck.records import dataclass
from dpcheck.report.characters import visible

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 56, 60
_SAMPLES = 32


@dataclass(frozen=True, slots=True)
class Budget:
    """A stated budget (ε, δ), drawn as a point."""

    epsilon: Amount
    delta: Amount


@dataclass(frozen=True, slots=True)
class _Frame:
    """The ranges of both axes."""

    x_most: float
    y_most: float

    def x(self, value: float) -> float:
        """Return where an ε lies."""
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * value / self.x_most

    def y(self, value: float) -> float:
        """Return where a δ lies."""
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / self.y_most


def profile_svg(title: str, table: Table, budgets: Sequence[Budget]) -> str:
    """Return the drawing of a profile table, δ over ε, with stated budgets as points."""
    pieces = [_numbers(row) for row in table.rows]
    stated = [(float(b.epsilon.decimal), float(b.delta.decimal)) for b in budgets]
    last = max(log(start) for start, _, _, _ in pieces)
    x_most = 1.15 * max([last, *(x for x, _ in stated)]) or 1.0
    y_most = 1.1 * max([p - start * q for start, _, p, q in pieces] + [y for _, y in stated])
    frame = _Frame(x_most, y_most or 1.0)
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 24, title, size=15),
        _text(_LEFT, 42, _worst_pair(table), color="#555"),
        *_axes(frame),
        _curve(frame, pieces),
        *(_point(frame, x, y, b) for (x, y), b in zip(stated, budgets, strict=True)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _numbers(row: Sequence[Cell]) -> tuple[float, float, float, float]:
    """Return from, to, P and Q of a piece; its end may be infinite."""
    start, end, _, p, q = (float(c.decimal) for c in row[:5] if isinstance(c, Amount))
    return start, end, p, q


def _worst_pair(table: Table) -> str:
    """Return between which states the first piece lies, in words."""
    first = table.rows[0]
    if not first[5]:
        return "no pair of neighbors can be told apart"
    return f"at ε = 0 worst between {first[5]} and {first[6]}"


def _curve(frame: _Frame, pieces: Sequence[tuple[float, float, float, float]]) -> str:
    """Return δ = P - e^ε Q of every piece: it bends between breakpoints, over ε."""
    points: list[tuple[float, float]] = []
    for start, end, p, q in pieces:
        low, high = log(start), min(log(end) if end != float("inf") else frame.x_most, frame.x_most)
        for i in range(_SAMPLES + 1):
            x = low + (high - low) * i / _SAMPLES
            points.append((x, max(0.0, p - exp(x) * q)))
    path = " ".join(f"{frame.x(x):.2f},{frame.y(y):.2f}" for x, y in points)
    marks = "".join(
        f'<circle cx="{frame.x(log(start)):.2f}" cy="{frame.y(max(0.0, p - start * q)):.2f}" '
        'r="2.5" fill="#1f5fa8"/>'
        for start, _, p, q in pieces
        if len(pieces) <= 60
    )
    return f'<polyline points="{path}" fill="none" stroke="#1f5fa8" stroke-width="2"/>{marks}'


def _axes(frame: _Frame) -> list[str]:
    """Return both axes with ticks and names."""
    low, right = frame.y(0), _WIDTH - _RIGHT
    parts = [
        f'<path d="M{_LEFT} {_TOP}V{low:.2f}H{right}" fill="none" stroke="black"/>',
        _text((_LEFT + right) / 2, _HEIGHT - 16, "ε", anchor="middle", size=15),
        _text(18, (_TOP + low) / 2, "δ", anchor="middle", size=15),
    ]
    for tick in _ticks(frame.x_most):
        x = frame.x(tick)
        parts.append(f'<path d="M{x:.2f} {low:.2f}v5" stroke="black"/>')
        parts.append(_text(x, low + 20, f"{tick:g}", anchor="middle"))
    for tick in _ticks(frame.y_most):
        y = frame.y(tick)
        parts.append(f'<path d="M{_LEFT} {y:.2f}H{right}" stroke="#e4e4e4"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{tick:g}", anchor="end"))
    return parts


def _ticks(most: float) -> list[float]:
    """Return about six round numbers from 0 to `most`.

    >>> _ticks(1.2)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2]
    """
    power = 10.0 ** floor(log10(most / 5))
    step = next(power * m for m in (1, 2, 5, 10) if most / (power * m) <= 7)
    return [round(step * i, 12) for i in range(int(most / step * (1 + 1e-9)) + 1)]


def _point(frame: _Frame, x: float, y: float, budget: Budget) -> str:
    label = f"stated: ε = {budget.epsilon.exact}, δ = {budget.delta.exact}"
    is_right = frame.x(x) > _WIDTH * 0.6
    return (
        f'<circle cx="{frame.x(x):.2f}" cy="{frame.y(y):.2f}" r="5" fill="none" '
        'stroke="#c0392b" stroke-width="2"/>'
        + _text(
            frame.x(x) + (-9 if is_right else 9),
            frame.y(y) - 9,
            label,
            anchor="end" if is_right else "start",
            color="#c0392b",
        )
    )


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 13, color: str = "black"
) -> str:
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{color}">{escape(visible(text), quote=False)}</text>'
    )
