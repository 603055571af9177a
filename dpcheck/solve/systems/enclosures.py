"""Certified bounds for acyclic systems by one pass of fixed-point numbers.

With scale 2^T and values of later layers known as L_t <= 2^T x_t <= U_t,

    L_s = ⌊(2^T b_s + Σ n_st L_t) / D_s⌋,      U_s = ⌈(2^T b_s + Σ n_st U_t) / D_s⌉

are bounds too, as all weights are non-negative. A row's weights sum to at most D_s, so U_s - L_s is
at most the largest difference among its successors plus 2: after l layers at most 2 l, and T = bits
+ log2(2 l) is enough. Numbers keep T bits where exact ones grow with every layer: a chain of
100,000 steps over 17-bit denominators needs 145 bits a number instead of 1.7 million.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.exact import Number, number
from dpcheck.limits import Limits
from dpcheck.solve.systems.system import System

TIME_CHECK_INTERVAL = 1024
"""States between two looks at the clock."""


def acyclic_bounds(
    system: System, layers: tuple[IntArray, IntArray], wanted: IntArray, bits: int, limits: Limits
) -> list[tuple[Number, Number]]:
    """Return lower and upper bounds of x_s for the wanted states, at most 2^-bits apart.

    `layers` are the topological layers of the system, whose weights are integers.

    >>> from dpcheck.chain.graph import Graph
    >>> line = Graph(np.array([0, 1, 1]), np.array([1]))
    >>> thirds = System(line, np.array([1]), np.array([3, 3]), np.array([1, 1]))
    >>> layers = np.array([1, 0]), np.array([0, 1, 2])
    >>> acyclic_bounds(thirds, layers, np.array([0]), 1, Limits())
    [(7/16, 1/2)]
    """
    order, starts = layers
    total = bits + (2 * len(starts)).bit_length()
    ordered = system.restricted(order)
    indptr, targets = ordered.graph.indptr.tolist(), ordered.graph.targets.tolist()
    numerators, denominators = ordered.numerators.tolist(), ordered.denominators.tolist()
    constants = ordered.constants.tolist()
    lows: list[int] = []
    highs: list[int] = []
    for s in range(system.n_states):
        if s % TIME_CHECK_INTERVAL == 0:
            limits.check_time(f"{s} of {system.n_states} states enclosed")
        low = high = constants[s] << total
        for j in range(indptr[s], indptr[s + 1]):
            low += numerators[j] * lows[targets[j]]
            high += numerators[j] * highs[targets[j]]
        lows.append(low // denominators[s])
        highs.append(-(-high // denominators[s]))
    place = np.empty(system.n_states, np.int64)
    place[order] = np.arange(system.n_states)
    scale = 1 << total
    return [
        (number(lows[s], scale), number(min(scale, highs[s]), scale))
        for s in place[wanted].tolist()
    ]
