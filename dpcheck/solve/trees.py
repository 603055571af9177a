"""Exact solutions of systems whose entries form trees: walks on a line, birth and death, ruin.

Call s and t linked when n_st or n_ts is not zero. Where the links form trees, elimination from the
leaves to the wanted states fills in nothing. Over the children c of s, with every number whole,

    P_s = Π_c Δ_c,      Δ_s = D_s P_s - Σ_c n_sc n_cs P_c P_s/Δ_c,
    N_s = b_s P_s + Σ_c n_sc N_c P_s/Δ_c,      x_s = (N_s + n_sp P_s x_p) / Δ_s   (p the parent),

by induction: the child's x_c put into the row of s. Δ_s is the determinant of the rows below and at
s (for a line: a continuant), positive as they form a non-singular M-matrix, so Δ_s and N_s stay
below the product of the D: no gcd is taken before the end, and each number is as long as its part
of the tree. Measured: gambler's ruin at 2/5 with 10,000 states (answers of 23,000 bits) 0.1 s,
where digit lifting takes 6 s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpz

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct
from dpcheck.exact import Number, number
from dpcheck.limits import Limits
from dpcheck.records import dataclass
from dpcheck.solve.system import System

TIME_CHECK_INTERVAL = 256


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees that hold the wanted states, rooted at some of these.

    order: every state after its parent; parent [n_states]: -1 for roots and states not in order.
    """

    order: list[int]
    parent: list[int]


def forest(system: System, wanted: IntArray) -> Forest | None:
    """Return the trees that hold the wanted states; None if links close a circle there."""
    graph, n = system.graph, system.n_states
    ends = np.stack((graph.sources, graph.targets))
    ends = ends[:, ends[0] != ends[1]]
    links = distinct(ends.min(axis=0) * n + ends.max(axis=0))
    first, second = links // n, links % n
    if len(links) >= n:
        return None
    linked = np.argsort(np.concatenate((first, second)), kind="stable")
    others = np.concatenate((second, first))[linked].tolist()
    starts = np.searchsorted(np.sort(np.concatenate((first, second))), np.arange(n + 1)).tolist()
    parent, seen = [-1] * n, bytearray(n)
    order: list[int] = []
    for root in wanted.tolist():
        if seen[root]:
            continue
        seen[root] = 1
        place = len(order)
        order.append(root)
        while place < len(order):
            s = order[place]
            place += 1
            for t in others[starts[s] : starts[s + 1]]:
                if t == parent[s]:
                    continue
                if seen[t]:
                    return None
                seen[t], parent[t] = 1, s
                order.append(t)
    return Forest(order, parent)


def tree_solution(system: System, trees: Forest, wanted: IntArray, limits: Limits) -> list[Number]:
    """Return x_s for the wanted states, which `trees` must hold; weights are integers.

    >>> from dpcheck.chain.graph import Graph
    >>> line = Graph(np.array([0, 1, 2]), np.array([1, 0]))
    >>> ruin = System(line, np.array([1, 1]), np.array([2, 2]), np.array([0, 1]))
    >>> tree_solution(ruin, forest(ruin, np.array([0])), np.array([0, 1]), Limits())
    [1/3, 2/3]
    """
    kept = _ancestors(trees, wanted)
    rows = _Rows(system)
    # Δ_s, N_s, P_s until the parent has used them, or for good where x_s is needed.
    done: dict[int, tuple[Any, Any, Any]] = {}
    below: dict[int, list[int]] = {}
    for count, s in enumerate(reversed(trees.order)):
        if count % TIME_CHECK_INTERVAL == 0:
            limits.check_time(f"{count} of {len(trees.order)} states of a tree eliminated")
        children = below.pop(s, [])
        done[s] = _eliminated(rows, s, children, done)
        for c in children:
            if c not in kept:
                del done[c]
        if trees.parent[s] >= 0:
            below.setdefault(trees.parent[s], []).append(s)
    values: dict[int, tuple[Any, Any]] = {}
    for s in trees.order:
        if s in kept:
            values[s] = _value(rows, s, trees.parent[s], done[s], values)
    return [number(int(values[s][0]), int(values[s][1])) for s in wanted.tolist()]


def _ancestors(trees: Forest, wanted: IntArray) -> set[int]:
    """Return the wanted states and all states above them."""
    found: set[int] = set()
    for state in wanted.tolist():
        s = state
        while s >= 0 and s not in found:
            found.add(s)
            s = trees.parent[s]
    return found


class _Rows:
    """The system for look-up: n_st, D_s and b_s as Python integers."""

    def __init__(self, system: System) -> None:
        self.indptr = system.graph.indptr.tolist()
        self.targets = system.graph.targets.tolist()
        self.numerators = system.numerators.tolist()
        self.denominators = system.denominators.tolist()
        self.constants = system.constants.tolist()

    def weights(self, s: int) -> dict[int, int]:
        """Return n_st by t; parallel entries are added."""
        found: dict[int, int] = {}
        for j in range(self.indptr[s], self.indptr[s + 1]):
            found[self.targets[j]] = found.get(self.targets[j], 0) + self.numerators[j]
        return found


def _eliminated(
    rows: _Rows, s: int, children: list[int], done: dict[int, tuple[Any, Any, Any]]
) -> tuple[Any, Any, Any]:
    """Return Δ_s, N_s, P_s from those of the children."""
    weights = rows.weights(s)
    product = fmpz(1)
    for c in children:
        product *= done[c][0]
    determinant = (rows.denominators[s] - weights.get(s, 0)) * product
    constant = rows.constants[s] * product
    for c in children:
        weight = weights.get(c, 0)
        if weight:
            below, above, inner = done[c]
            others = product // below if len(children) > 1 else 1
            determinant -= weight * rows.weights(c).get(s, 0) * inner * others
            constant += weight * above * others
    return determinant, constant, product


def _value(
    rows: _Rows,
    s: int,
    parent: int,
    eliminated: tuple[Any, Any, Any],
    values: dict[int, tuple[Any, Any]],
) -> tuple[Any, Any]:
    """Return x_s as a numerator and a denominator in lowest terms."""
    determinant, constant, product = eliminated
    weight = rows.weights(s).get(parent, 0) if parent >= 0 else 0
    if weight:
        above, below = values[parent]
        constant = constant * below + weight * product * above
        determinant *= below
    common = constant.gcd(determinant)
    return constant // common, determinant // common
