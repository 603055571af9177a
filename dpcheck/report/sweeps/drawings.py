"""Curves over one name and maps over two, as SVG. Floats are for the eye; the table has the rest.

Values stand evenly, in the order in which they were given: they may be words as well as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from dpcheck.report.plot import svg_text, ticks

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 56, 60
_LABELS = 20
"""Labels below an axis at most."""
_LABEL_LENGTH = 12
"""Characters of a label."""
_TEXTS = 400
"""A drawing of more cells shows colors alone."""
_CELL = 64, 26
_COLORS = {"holds": "#c8e6c9", "violated": "#ffcdd2", "undecided": "#fff3c4"}
_UNKNOWN = "#eeeeee"


def curve_svg(title: str, x_name: str, y_name: str, points: Sequence[tuple[str, float]]) -> str:
    """Return the drawing of numbers over the values of one name; infinite ones are left out."""
    finite = [y for _, y in points if isfinite(y)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    high = high if high > low else low + 1.0
    right, ground = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    step = (right - _LEFT) / max(1, len(points) - 1)

    def y_at(y: float) -> float:
        return ground - (ground - _TOP) * (y - low) / (1.08 * (high - low))

    parts = [
        svg_text(_LEFT, 24, title, size=15),
        f'<path d="M{_LEFT} {_TOP}V{ground}H{right}" fill="none" stroke="black"/>',
        svg_text((_LEFT + right) / 2, _HEIGHT - 12, x_name, anchor="middle", size=15),
        svg_text(_LEFT, _TOP - 10, y_name),
    ]
    for tick in ticks(high - low):
        y = y_at(low + tick)
        parts.append(f'<path d="M{_LEFT} {y:.2f}H{right}" stroke="#e4e4e4"/>')
        parts.append(svg_text(_LEFT - 8, y + 4, f"{low + tick:.6g}", anchor="end"))
    every = -(-len(points) // _LABELS)
    for i, (value, _) in enumerate(points):
        if i % every == 0:
            x = _LEFT + i * step
            parts.append(svg_text(x, ground + 20, value[:_LABEL_LENGTH], anchor="middle"))
    shown = [(_LEFT + i * step, y_at(y)) for i, (_, y) in enumerate(points) if isfinite(y)]
    path = " ".join(f"{x:.2f},{y:.2f}" for x, y in shown)
    parts.append(f'<polyline points="{path}" fill="none" stroke="#1f5fa8" stroke-width="2"/>')
    parts += [f'<circle cx="{x:.2f}" cy="{y:.2f}" r="3" fill="#1f5fa8"/>' for x, y in shown]
    return _svg(_WIDTH, _HEIGHT, parts)


def heat_map_svg(
    title: str, names: Sequence[str], cells: Mapping[tuple[str, str], tuple[str, float | None]]
) -> str:
    """Return a map: for each pair (column, row) a color, and the text where there is room.

    `names` are those of columns and rows; a cell has its text and, where it is one, its number.
    """
    columns = list(dict.fromkeys(column for column, _ in cells))
    rows = list(dict.fromkeys(row for _, row in cells))
    numbers = [n for _, n in cells.values() if n is not None and isfinite(n)]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    width, height = _CELL
    has_texts = len(cells) <= _TEXTS
    parts = [svg_text(_LEFT, 24, title, size=15), svg_text(_LEFT, 42, " × ".join(names))]
    for i, column in enumerate(columns):
        x = _LEFT + (i + 0.5) * width
        parts.append(svg_text(x, _TOP + 8, column[:_LABEL_LENGTH], anchor="middle"))
    for j, row in enumerate(rows):
        y = _TOP + 16 + j * height
        parts.append(svg_text(_LEFT - 8, y + 17, row[:_LABEL_LENGTH], anchor="end"))
        for i, column in enumerate(columns):
            text, number = cells.get((column, row), ("", None))
            x = _LEFT + i * width
            parts.append(
                f'<rect x="{x}" y="{y}" width="{width}" height="{height}" '
                f'fill="{_color(text, number, low, high)}"/>'
            )
            if has_texts:
                short = text if number is None else f"{number:.4g}"
                middle = x + width / 2
                parts.append(svg_text(middle, y + 17, short, anchor="middle", size=11))
    return _svg(_LEFT + len(columns) * width + _RIGHT, _TOP + 32 + len(rows) * height, parts)


def _color(text: str, number: float | None, low: float, high: float) -> str:
    """Return the color of a verdict, or of a number: from white to blue, infinity in red."""
    if number is None:
        return _COLORS.get(text, _UNKNOWN)
    if not isfinite(number):
        return _COLORS["violated"]
    share = (number - low) / (high - low) if high > low else 0.0
    return f"rgb({255 - share * 160:.0f},{255 - share * 110:.0f},255)"


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    """Return a drawing of so many pixels on white."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    ground = f'<rect width="{width}" height="{height}" fill="white"/>'
    return "\n".join([opening, ground, *parts, "</svg>"]) + "\n"
