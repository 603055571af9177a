"""Weights of a chain as floats, for estimates with a proved error."""

from __future__ import annotations

from math import ldexp

import numpy as np

from dpcheck.chain.chain import Chain, WeightArray
from dpcheck.chain.graph import graph_of
from dpcheck.solve.systems.float_solves import FloatArray

FloatBounds = tuple[FloatArray, FloatArray]

MAX_BITS = 500
"""Weights within 2^±500 have products of two that floats hold."""


def left_behind(chain: Chain) -> WeightArray:
    """Return D_s - n_ss of every state, [n_states]."""
    loops = graph_of(chain).loops
    divisors = chain.denominators.copy()
    divisors[chain.targets[loops]] -= chain.numerators[loops]
    return divisors


def rounded(weights: WeightArray) -> FloatArray | None:
    """Return integers [n], rounded; None where one is too long, or a weight is no integer."""
    try:
        floats: FloatArray = weights.astype(np.float64)
    except (TypeError, OverflowError):
        return None
    return floats if floats.max(initial=0) < ldexp(1, MAX_BITS) else None
