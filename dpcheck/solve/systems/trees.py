"""Exact solutions of systems whose entries form trees: walks on a line, birth and death, ruin.

Call s and t linked when n_st or n_ts is not zero. Where the links form trees, elimination from the
leaves to the wanted states fills in nothing. Over the children c of s, with every number whole,

    P_s = Π_c Δ_c,      Δ_s = D_s P_s - Σ_c n_sc n_cs P_c P_s/Δ_c,
    N_s = b_s P_s + Σ_c n_sc N_c P_s/Δ_c,      x_s = (N_s + n_sp P_s x_p) / Δ_s   (p the parent),

by induction: the child's x_c put into the row of s. Δ_s is the determinant of the rows below and at
s (for a line: a continuant), positive as they form a non-singular M-matrix, so Δ_s and N_s stay
below the product of the D: no gcd is taken before the end, and each number is as long as its part
of the tree.

Along a path, where each state has one child, the triple is mapped by a matrix,

    (Δ_s, P_s, N_s) = ((D_s - n_ss, -n_sc n_cs, 0), (1, 0, 0), (b_s, 0, n_sc)) (Δ_c, P_c, N_c),

and products of matrices may be taken in any order: in halves, so that long numbers are multiplied
by long ones (binary splitting: Brent, "The complexity of multiple-precision arithmetic", 1976). One
after the other, n states of a line cost n² bit operations; in halves little more than n.
Measured: a check of gambler's ruin at 2/5 with 10^6 states (answers of 2.3 million bits) takes 8 s,
one after the other 39 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from flint import fmpz

from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.sets import distinct
from dpcheck.chain.weights.denominators import as_objects
from dpcheck.chain.weights.rows import ranges
from dpcheck.exact import Number, number
from dpcheck.limits import Limits
from dpcheck.records import dataclass
from dpcheck.solve.systems.system import System

TIME_CHECK_INTERVAL = 256
"""States between two looks at the clock."""
SHORTEST_PATH = 16
"""A shorter path is eliminated state by state: halves do not pay for numpy's calls."""
WORD_BITS = 62
"""Bits that products and sums may have in int64."""

_Triple = tuple[Any, Any, Any]
"""Δ_s, N_s and P_s of a state."""

_Matrices = tuple[WeightArray, ...]
"""The seven entries that are not zero of some matrices, an array each."""


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees that hold the wanted states, rooted at some of these.

    order: every state after its parent; parent [n_states]: -1 for roots and states not in order.
    """

    order: list[int]
    parent: list[int]


def forest(system: System, wanted: IntArray) -> Forest | None:
    """Return the trees that hold the wanted states [n]; None if links close a circle there."""
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
    done: dict[int, _Triple] = {}
    for count, (states, children) in enumerate(_steps(trees, kept)):
        if count % TIME_CHECK_INTERVAL == 0 or len(states) > TIME_CHECK_INTERVAL:
            limits.check_time(f"{len(done)} states of a tree to be used, {count} steps")
        if len(states) == 1:
            done[states[0]] = _eliminated(rows, states[0], children, done)
        else:
            done[states[-1]] = _along_path(system, states, children[0], done[children[0]], limits)
        for c in children:
            if c not in kept:
                del done[c]
    values: dict[int, tuple[Any, Any]] = {}
    for s in trees.order:
        if s in kept:
            values[s] = _value(rows, s, trees.parent[s], done[s], values)
    return [number(int(values[s][0]), int(values[s][1])) for s in wanted.tolist()]


def _steps(trees: Forest, kept: set[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the states in the order of elimination, each with its children; paths in one piece.

    A path goes from a state up to parents with no other child, of which none but the last is kept:
    (states, children of the first).
    """
    below: dict[int, list[int]] = {}
    for s in trees.order:
        if trees.parent[s] >= 0:
            below.setdefault(trees.parent[s], []).append(s)
    taken: set[int] = set()
    for s in reversed(trees.order):
        if s in taken:
            continue
        path = [s]
        if len(below.get(s, ())) == 1:
            while path[-1] not in kept and len(below.get(trees.parent[path[-1]], ())) == 1:
                path.append(trees.parent[path[-1]])
            if len(path) < SHORTEST_PATH:
                path = [s]
            taken.update(path)
        yield path, below.get(s, [])


def _ancestors(trees: Forest, wanted: IntArray) -> set[int]:
    """Return the wanted states [n] and all states above them."""
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


def _eliminated(rows: _Rows, s: int, children: list[int], done: dict[int, _Triple]) -> _Triple:
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


def _along_path(
    system: System, states: list[int], child: int, below: _Triple, limits: Limits
) -> _Triple:
    """Return Δ, N, P of the last of the states from those of the first one's child."""
    path = np.array([child, *states])
    down, up = _weights(system, path[1:], path[:-1]), _weights(system, path[:-1], path[1:])
    here = path[1:]
    diagonal = system.denominators[here] - _weights(system, here, here)
    constants = system.constants[here]
    none, one = np.zeros(len(here), np.int64), np.ones(len(here), np.int64)
    largest = int(max(system.denominators[path].max(), constants.max()))
    # An entry of the first row is a product of two weights.
    bits = 2 * (largest.bit_length() + 1)
    if bits > WORD_BITS:
        down, up, diagonal, constants = (_as_long(part) for part in (down, up, diagonal, constants))
    steps = (diagonal, -down * up, one, none, constants, none, down)
    matrix = _in_halves(steps, bits, limits)
    a, b, c, d, e, f, g = (part[0] for part in matrix)
    determinant, constant, inner = below
    return (
        a * determinant + b * inner,
        e * determinant + f * inner + g * constant,
        c * determinant + d * inner,
    )


def _in_halves(steps: _Matrices, bits: int, limits: Limits) -> _Matrices:
    """Return the product of the matrices, the last one leftmost.

    Matrix i is ((a_i, b_i, 0), (c_i, d_i, 0), (e_i, f_i, g_i)). The sum of the sizes in a row is
    below 2^bits, so in a product of two it is below 2^(2 bits): that proves what fits a word.
    """
    while len(steps[0]) > 1:
        limits.check_time(f"a path of a tree in {len(steps[0])} pieces")
        bits *= 2
        if bits > WORD_BITS:
            steps = tuple(_as_long(p) if p.dtype == np.int64 else p for p in steps)
        even = len(steps[0]) // 2 * 2
        a, b, c, d, e, f, g = (part[0:even:2] for part in steps)
        h, i, j, k, m, n, o = (part[1:even:2] for part in steps)
        pairs = (
            *(h * a + i * c, h * b + i * d),
            *(j * a + k * c, j * b + k * d),
            *(m * a + n * c + o * e, m * b + n * d + o * f, o * g),
        )
        steps = tuple(
            np.concatenate([pair, part[even:]]) for pair, part in zip(pairs, steps, strict=True)
        )
    return steps


def _as_long(values: WeightArray) -> WeightArray:
    """Return integers [n] as flint's, which multiply long numbers fast."""
    long = np.empty(len(values), np.object_)
    long[:] = [fmpz(value) for value in values.tolist()]
    return long


def _weights(system: System, states: IntArray, others: IntArray) -> WeightArray:
    """Return n_st [n] for each state and its other one; parallel entries are added."""
    indptr = system.graph.indptr
    lengths = indptr[states + 1] - indptr[states]
    edges = ranges(indptr[states], lengths)
    row = np.repeat(np.arange(len(states)), lengths)
    hits = system.graph.targets[edges] == others[row]
    found: WeightArray = np.zeros(len(states), np.int64)
    if system.numerators.dtype != np.int64:
        found = as_objects(found)
    np.add.at(found, row[hits], system.numerators[edges[hits]])
    return found


def _value(
    rows: _Rows, s: int, parent: int, eliminated: _Triple, values: dict[int, tuple[Any, Any]]
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
