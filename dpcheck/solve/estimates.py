"""Floats below and above the solution of an acyclic system, with a proved error.

One pass over the layers computes x_s = (b_s + Σ_j n_sj x_j) / D_s in doubles. With at most m
entries in a row, every term of it takes at most m + 6 correctly rounded steps more than the values
it is made of: three integers (the divisor's error counts twice), a product, m sums, a quotient. All
terms are non-negative, so nothing cancels: after l layers at most k = l (m + 6) steps separate a
value from the exact one, whose relative error is at most 2ku (`exact.floats`; u = 2^-53), and 8ku
covers the steps back from the estimate to bounds. Nothing leaves the normal range while integers
are below 2^1000 and values above 2^-1000, which is looked at.
"""

from __future__ import annotations

from math import ldexp

import numpy as np

from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.graph import topological_layers
from dpcheck.chain.rows import ranges
from dpcheck.exact import MAX_FLOAT_BITS, UNIT_ROUNDOFF
from dpcheck.limits import Limits
from dpcheck.solve.guesses import FloatArray
from dpcheck.solve.system import System

FloatBounds = tuple[FloatArray, FloatArray]

MAX_LAYERS = 256
MAX_STEPS = 1 << 20


def acyclic_estimates(system: System, limits: Limits) -> FloatBounds | None:
    """Return floats below and above every x_s > 0, each [n_states]; None where there are none.

    There are none where the system has a cycle or very many layers, or numbers out of range.

    >>> from dpcheck.chain.graph import Graph
    >>> line = Graph(np.array([0, 1, 1]), np.array([1]))
    >>> thirds = System(line, np.array([1]), np.array([3, 3]), np.array([1, 1]))
    >>> low, high = acyclic_estimates(thirds, Limits())
    >>> bool(low[0] < 4 / 9 < high[0] < low[0] + 1e-13)
    True
    """
    layers = topological_layers(system.graph)
    if layers is None:
        return None
    n_layers, width = len(layers[1]) - 1, int(system.graph.degrees.max())
    steps = n_layers * (width + 6)
    if n_layers > MAX_LAYERS or steps > MAX_STEPS:
        return None
    limits.check_time(f"before estimating {system.n_states} states")
    values = _values(system, layers)
    if values is None or values.min() < ldexp(1, -MAX_FLOAT_BITS):
        return None
    margin = 8 * steps * UNIT_ROUNDOFF
    return values * (1 - margin), np.minimum(values * (1 + margin), 1)


def _values(system: System, layers: tuple[IntArray, IntArray]) -> FloatArray | None:
    """Return the estimates of all states, layer by layer; None where integers are too long."""
    numerators, denominators = _rounded(system.numerators), _rounded(system.denominators)
    constants = _rounded(system.constants)
    if numerators is None or denominators is None or constants is None:
        return None
    graph, (order, starts) = system.graph, layers
    values: FloatArray = constants / denominators
    for k in range(1, len(starts) - 1):
        states = order[starts[k] : starts[k + 1]]
        lengths = graph.degrees[states]
        entries = ranges(graph.indptr[states], lengths)
        terms = numerators[entries] * values[graph.targets[entries]]
        sums = np.add.reduceat(terms, np.cumsum(lengths) - lengths)
        values[states] = (constants[states] + sums) / denominators[states]
    return values


def _rounded(weights: WeightArray) -> FloatArray | None:
    """Return integers, rounded; None where one is too long, or a weight is no integer."""
    try:
        floats: FloatArray = weights.astype(np.float64)
    except (TypeError, OverflowError):
        return None
    if weights.dtype == object and floats.max(initial=0) > ldexp(1, MAX_FLOAT_BITS):
        return None
    return floats
