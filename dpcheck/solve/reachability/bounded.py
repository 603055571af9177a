"""Step-bounded reachability by iterating one vector.

x_j(s) = Pr_s(allowed U<=j target) satisfies x_0 = 1[target] and x_{j+1} = P x_j on allowed states.
With L the lcm of the row denominators in play, L^j x_j is whole, so the iteration needs no gcd: in
int64 while L^j < 2^62 (x_j <= 1), over Python integers after.
"""

from __future__ import annotations

import numpy as np

from dpcheck import exact
from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.graph import topological_layers
from dpcheck.chain.weights.denominators import INT64_LIMIT
from dpcheck.limits import Limits
from dpcheck.solve.systems.solution import solution
from dpcheck.solve.systems.system import System


def bounded_solution(
    system: System, wanted: IntArray, bound: int, limits: Limits
) -> list[exact.Number]:
    """Return x_bound(s) for the wanted states of x_{j+1} = Q x_j + b, x_0 = 0.

    >>> from dpcheck.chain.graph import Graph
    >>> coin = Graph(np.array([0, 1, 2]), np.array([1, 0]))
    >>> one, two = np.array([1, 1]), np.array([2, 2])
    >>> bounded_solution(System(coin, one, two, one), np.array([0]), 3, Limits())
    [7/8]
    """
    layers = topological_layers(system.graph)
    if layers is not None and len(layers[1]) - 1 <= bound:
        return solution(system, wanted, limits)
    scale = exact.common_multiple(set(system.denominators.tolist()))
    factors = np.array(
        [exact.exact_quotient(scale, d) for d in system.denominators.tolist()], object
    )
    weights = system.numerators.astype(object) * factors[system.graph.sources]
    constants = system.constants.astype(object) * factors
    small = isinstance(scale, int) and scale < INT64_LIMIT
    values: WeightArray = np.zeros(system.n_states, object)
    if small:
        weights, constants = weights.astype(np.int64), constants.astype(np.int64)
        values = values.astype(np.int64)
    power: exact.Whole = 1
    nonempty = np.flatnonzero(system.graph.degrees)
    starts = system.graph.indptr[nonempty]
    for step in range(bound):
        if values.dtype == np.int64 and power * scale >= INT64_LIMIT:
            values, weights, constants = (
                values.astype(object),
                weights.astype(object),
                constants.astype(object),
            )
        limits.check_time(f"{step} of {exact.exact_text(bound)} steps")
        following = constants * power
        if len(starts):
            terms = weights * values[system.graph.targets]
            following[nonempty] += np.add.reduceat(terms, starts)
        values = following
        power = power * scale
    return [exact.number(exact.whole(values.item(s)), power) for s in wanted.tolist()]
