"""Floats below and above reach probabilities where every state leads on to at most one other.

As in a long run that may be broken off at each step: apart from a self-loop, the target, absorbing
states and those that are not allowed, state s has one successor f(s), and

    x_s = b_s + a_s x_f(s)        (a and b: the chances to move there, and to the target).

Two such steps are one of the same kind, so the maps of 1, 2, 4, ... steps follow from each other,
for all states at once, and after log2 of the longest path all are solved (pointer doubling: Hillis
& Steele, "Data parallel algorithms", CACM 1986).

The law is that of `float_bounds`. x_s is a sum of products along the path, none negative; each of
its at most n factors took at most m + 5 rounded steps, and one to be multiplied; each doubling adds
two more. Factors below 2^-500 count as 0: that takes less than 2^-500 from x_s in a doubling, and
what it took before from both halves, so less than 4n 2^-500 in all. Values below 2^-400 are not
answered, so that this is far within the margin.
"""

from __future__ import annotations

from math import ldexp

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain, IntArray
from dpcheck.chain.graph import graph_of
from dpcheck.exact import UNIT_ROUNDOFF
from dpcheck.records import dataclass
from dpcheck.solve.reachability.rounding import FloatBounds, left_behind, rounded
from dpcheck.solve.systems.float_solves import FloatArray

MAX_STEPS = 1 << 30
"""Bounds the steps along a line, of which pointer doubling takes only the logarithm."""
LEAST_FACTOR = ldexp(1, -500)
LEAST_VALUE = ldexp(1, -400)


@dataclass(frozen=True, eq=False)
class _Steps:
    """The map of some steps from each state, and from a last one that stands for the end.

    follow: where they lead; factor, value: x_s = value + factor x_follow; possible: the target is
    possible within them; sure: they lead nowhere but there or to `follow`. All [n_states + 1].
    """

    follow: IntArray
    factor: FloatArray
    value: FloatArray
    possible: BoolArray
    sure: BoolArray

    def doubled(self) -> _Steps:
        """Return the map of twice as many steps."""
        factor = self.factor * self.factor[self.follow]
        factor[factor < LEAST_FACTOR] = 0
        return _Steps(
            self.follow[self.follow],
            factor,
            self.value + self.factor * self.value[self.follow],
            self.possible | self.possible[self.follow],
            self.sure & self.sure[self.follow],
        )


def line_estimates(chain: Chain, target: BoolArray, allowed: BoolArray) -> FloatBounds | None:
    """Return floats below and above the probabilities of `allowed U target`, each [n_states].

    Equal ones are exact, and are 0 or 1; others lie between. None where some state has two
    successors that matter, where there is a cycle, or where numbers are out of range.
    """
    steps = _first_steps(chain, target, allowed)
    if steps is None:
        return None
    n = chain.n_states
    n_doublings = 0
    while np.any(steps.follow < n):
        if n_doublings > n.bit_length():
            return None
        steps = steps.doubled()
        n_doublings += 1
    n_entries = int(graph_of(chain).degrees.max(initial=0))
    n_steps = n * (n_entries + 6) + 2 * n_doublings
    values = steps.value[:n]
    if n_steps > MAX_STEPS or np.any(values[steps.possible[:n]] < LEAST_VALUE):
        return None
    margin = 8 * n_steps * UNIT_ROUNDOFF
    low, high = values * (1 - margin), np.minimum(values * (1 + margin), 1)
    certain = target | steps.sure[:n]
    low[certain] = high[certain] = 1
    return low, high


def _first_steps(chain: Chain, target: BoolArray, allowed: BoolArray) -> _Steps | None:
    """Return the map of one step; None where it is none, or numbers are too long."""
    graph, n = graph_of(chain), chain.n_states
    left = left_behind(chain)
    is_open = allowed & ~target & (left != 0)
    matters = is_open[graph.sources] & (graph.sources != graph.targets)
    inner = np.flatnonzero(matters & is_open[graph.targets])
    into = np.flatnonzero(matters & target[graph.targets])
    sources = graph.sources[inner]
    if np.any(sources[1:] == sources[:-1]):
        return None
    numerators, divisors = rounded(chain.numerators), rounded(left)
    if numerators is None or divisors is None:
        return None
    divisors[left == 0] = 1  # absorbing: there is nothing to divide
    follow = np.full(n + 1, n)
    follow[sources] = graph.targets[inner]
    factor, value = np.zeros(n + 1), np.zeros(n + 1)
    factor[sources] = numerators[inner] / divisors[sources]
    sums = np.bincount(graph.sources[into], numerators[into], n)
    value[:n] = sums / divisors
    kept = left * 0
    np.add.at(kept, sources, chain.numerators[inner])
    np.add.at(kept, graph.sources[into], chain.numerators[into])
    sure = np.append(is_open & (kept == left), True)
    return _Steps(follow, factor, value, value > 0, sure)
