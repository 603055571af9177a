"""Floats below and above reach probabilities, with a proved error, on chains without long cycles.

Where the only cycles are self-loops, one pass over the topological layers computes

    x_s = Σ_{t ≠ s} n_st x_t / (D_s - n_ss),       x = 1 on the target, 0 where it is not allowed,

in doubles, for all states at once; the layers and rounded weights are made once per chain. With at
most m entries in a row, a term of x_s takes at most m + 5 correctly rounded steps more than the
values it is made of: two integers (the divisor's error counts twice), a product, m sums, a
quotient. No term is negative, so nothing cancels: after l layers at most k = l (m + 5) steps
separate a value from the exact one, whose relative error is at most 2ku (`exact.floats`; u =
2^-53), and 8ku covers the steps back from the estimate to bounds.

Range. Integers are below 2^500, and afterwards every value is looked at: it is 0 or at least
2^-500. Then none left the normal range on the way: the first to do so would be at least
2^-500 / 2^500, made of values that did not. So 0 is exact. Exact ones are found by logic: a state
that is left surely, and only to states of probability 1, has probability 1.
"""

from __future__ import annotations

from math import ldexp
from weakref import WeakKeyDictionary

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain, IntArray
from dpcheck.chain.graph import Graph, graph_of, layers_from_the_top
from dpcheck.exact import UNIT_ROUNDOFF
from dpcheck.limits import Limits
from dpcheck.records import dataclass
from dpcheck.solve.reachability.float_bounds_line import line_estimates
from dpcheck.solve.reachability.rounding import MAX_BITS, FloatBounds, left_behind, rounded
from dpcheck.solve.systems.float_solves import FloatArray

MAX_LAYERS = 256
"""Bounds the depth of chains that are estimated layer by layer: errors and calls grow with it."""
MAX_STEPS = 1 << 20
"""Bounds the steps of an estimate, whose error grows with each."""


@dataclass(frozen=True, eq=False)
class _Layer:
    """Some states, and the entries of their rows without self-loops.

    states, denominators (less the self-loop) and starts, where each row begins, [n_in_layer];
    targets, numerators [n_entries].
    """

    states: IntArray
    starts: IntArray
    targets: IntArray
    numerators: FloatArray
    denominators: FloatArray


@dataclass(frozen=True, eq=False)
class _Rounded:
    """A chain in floats: its layers above the absorbing states, upwards, and the k of the law."""

    layers: tuple[_Layer, ...]
    steps: int


_rounded: WeakKeyDictionary[Graph, _Rounded | None] = WeakKeyDictionary()


def reach_estimates(
    chain: Chain, target: BoolArray, allowed: BoolArray, limits: Limits
) -> FloatBounds | None:
    """Return floats below and above the probabilities of `allowed U target`, each [n_states].

    Equal ones are exact, and are 0 or 1; others lie between. None where the chain has longer cycles
    or very many layers, or where numbers are out of range.
    """
    limits.check_time("before estimating all states")
    graph = graph_of(chain)
    if graph not in _rounded:
        _rounded[graph] = _rounded_chain(chain)
    floats = _rounded[graph]
    if floats is None:
        return line_estimates(chain, target, allowed)
    values = target.astype(np.float64)
    is_open = allowed & ~target
    for layer in floats.layers:
        terms = layer.numerators * values[layer.targets]
        means = np.add.reduceat(terms, layer.starts) / layer.denominators
        values[layer.states] = np.where(is_open[layer.states], means, values[layer.states])
    if np.any((values < ldexp(1, -MAX_BITS)) & (values > 0)):
        return None
    margin = 8 * floats.steps * UNIT_ROUNDOFF
    low, high = values * (1 - margin), np.minimum(values * (1 + margin), 1)
    sure = _sure(floats, high == 1, target, is_open)
    low[sure] = high[sure] = 1
    return low, high


def _sure(
    floats: _Rounded, candidates: BoolArray, target: BoolArray, is_open: BoolArray
) -> BoolArray:
    """Return the states of probability 1, all of which are among the candidates, [n_states]."""
    if np.array_equal(candidates, target):
        return target
    sure = target.copy()
    for layer in floats.layers:
        only = np.logical_and.reduceat(sure[layer.targets], layer.starts)
        sure[layer.states] |= only & is_open[layer.states]
    return sure


def _rounded_chain(chain: Chain) -> _Rounded | None:
    """Return a chain in floats, None where the law does not cover it."""
    graph = graph_of(chain)
    found = layers_from_the_top(graph, MAX_LAYERS)
    if found is None:
        return None
    steps = len(found) * (int(graph.degrees.max()) + 5)
    denominators = rounded(left_behind(chain))
    if denominators is None or steps > MAX_STEPS:
        return None
    has_loop = np.zeros(graph.n_states, np.bool_)
    has_loop[graph.targets[graph.loops]] = True
    layers = []
    for states in reversed(found):
        layer = _layer(chain, states, denominators, has_loop)
        if layer is None:
            return None
        if len(layer.states):
            layers.append(layer)
    return _Rounded(tuple(layers), steps)


def _layer(
    chain: Chain, states: IntArray, denominators: FloatArray, has_loop: BoolArray
) -> _Layer | None:
    """Return a layer of a chain in floats, without its absorbing states; None if out of range."""
    graph = graph_of(chain)
    edges, lengths = graph.edges_of(states), graph.degrees[states]
    targets, numerators = graph.targets[edges], rounded(chain.numerators[edges])
    if numerators is None:
        return None
    if has_loop[states].any():
        kept = targets != np.repeat(states, lengths)
        targets, numerators = targets[kept], numerators[kept]
        lengths = lengths - has_loop[states]
        states, lengths = states[lengths > 0], lengths[lengths > 0]
    starts = np.cumsum(lengths) - lengths
    return _Layer(states, starts, targets, numerators, denominators[states])
