"""A small chain as a drawing: states in columns by their distance from a start, arrows between.

Positions are for the eye, so this is one of the few places with floats.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from math import hypot

from dpcheck.report.answers import Graph
from dpcheck.report.characters import visible

_COLUMN, _ROW, _MARGIN = 260, 46, 40
_RADIUS = 7
"""The radius of a state, in pixels."""
_LONGEST = 34
"""Characters of a state's name beside its dot."""

Point = tuple[float, float]


def chain_svg(title: str, graph: Graph) -> str:
    """Return the drawing of a chain, in the colors of the page it stands on."""
    places, width, height = _places(graph)
    arrow = '<path d="M0 0L8 4L0 8z" fill="currentColor" fill-opacity="0.6"/>'
    marker = 'viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"'
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    style = 'font-family="sans-serif" font-size="12" fill="currentColor" role="img"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>',
        f"<title>{_text(title)}</title>",
        f'<defs><marker id="arrow" {marker}>{arrow}</marker></defs>',
    ]
    parts += [_edge(places[s], places[t], p) for s, t, p in graph.edges]
    for node, (x, y) in zip(graph.nodes, places, strict=True):
        fill = "currentColor" if node.is_initial else "Canvas"
        name = node.text if len(node.text) <= _LONGEST else node.text[: _LONGEST - 1] + "…"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" fill="{fill}" stroke="currentColor">'
            f'<title>{_text(node.text)}</title></circle><text x="{x:.1f}" y="{y - 11:.1f}" '
            f'text-anchor="middle">{_text(name)}</text>'
        )
    return "\n".join([*parts, "</svg>"])


def _places(graph: Graph) -> tuple[list[Point], float, float]:
    """Return where states stand, columns about one middle, and the width and height of it all."""
    layers = _layers(graph)
    sizes, n_above = Counter(layers), Counter[int]()
    tallest, places = max(sizes.values()), []
    for layer in layers:
        row = (tallest - sizes[layer]) / 2 + n_above[layer]
        n_above[layer] += 1
        places.append((_MARGIN + 70.0 + _COLUMN * layer, _MARGIN + _ROW * row))
    width = 2 * _MARGIN + 140 + _COLUMN * max(layers)
    return places, width, 2 * _MARGIN + _ROW * (tallest - 1)


def _layers(graph: Graph) -> list[int]:
    """Return for each state its distance from the nearest start; all are reached from one."""
    import networkx as nx

    states = range(len(graph.nodes))
    drawn = nx.DiGraph((source, target) for source, target, _ in graph.edges)
    drawn.add_nodes_from(states)
    starts = [state for state in states if graph.nodes[state].is_initial]
    layers = enumerate(nx.bfs_layers(drawn, starts))
    distances = {state: layer for layer, members in layers for state in members}
    return [distances.get(state, 0) for state in states]


def _edge(start: Point, end: Point, probability: str) -> str:
    """Return an arrow with its probability: a loop, or a curve that bends to its left."""
    (x, y), (u, v) = start, end
    if start == end:
        path = f"M{x - 5:.1f} {y + 5:.1f}C{x - 30:.1f} {y + 34:.1f} {x + 30:.1f} {y + 34:.1f} "
        path += f"{x + 6:.1f} {y + 7:.1f}"
        at = x, y + 36
    else:
        length = hypot(u - x, v - y)
        dx, dy = (u - x) / length, (v - y) / length
        x, y, u, v = x + 9 * dx, y + 9 * dy, u - 9 * dx, v - 9 * dy
        bend = 14.0
        middle = (x + u) / 2 + bend * dy, (y + v) / 2 - bend * dx
        path = f"M{x:.1f} {y:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {u:.1f} {v:.1f}"
        at = x + 0.28 * (u - x) + 0.6 * bend * dy, y + 0.28 * (v - y) - 0.6 * bend * dx
    shown = probability if len(probability) <= 12 else probability[:11] + "…"
    return (
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.45" '
        f'marker-end="url(#arrow)"><title>{_text(probability)}</title></path>'
        f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="10" fill-opacity="0.85">'
        f"{_text(shown)}</text>"
    )


def _text(text: str) -> str:
    return escape(visible(text), quote=False)
