"""Directed graphs as arrays: reachable sets, topological layers, strong and bottom components.

The successors of state s are `targets[indptr[s]:indptr[s+1]]`. Searches advance a whole frontier
at a time with numpy; a narrow frontier (a deep, thin chain has 10^5 of them) is advanced state by
state through memoryviews of the same arrays, which costs 0.3 µs an edge where a numpy step costs
20 µs whatever its width. scipy is imported for strong components of large cyclic graphs only (and
used where it was imported): the import costs a third of a second, more than Tarjan's algorithm
below needs for 10^5 transitions.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain, IntArray
from dpcheck.chain.weights.rows import entries_of, indptr_of, ranges
from dpcheck.records import dataclass, replace

NARROW = 48
"""A frontier of fewer states is searched one by one: a numpy step costs 20 µs (see above)."""
MANY = 16
"""Successors that are more than one in so many states are marked among all states."""
STATES_AT_ONCE = 1 << 16
"""Bounds what is made beside the edges of a graph: arrays for so many states at once."""
SCIPY_PAYS_FROM = 150_000
"""States and edges for which Tarjan's algorithm takes as long as scipy's import."""
IMPORTED_SCIPY_PAYS_FROM = 1_000
"""The same where scipy is there already."""


@dataclass(frozen=True, eq=False)
class Graph:
    """indptr [n_states+1], targets [n_edges]; repeated targets are harmless."""

    indptr: IntArray
    targets: IntArray

    @property
    def n_states(self) -> int:
        """The number of states."""
        return len(self.indptr) - 1

    @cached_property
    def degrees(self) -> IntArray:
        """The number of successors of each state, [n_states]."""
        return np.diff(self.indptr)

    @cached_property
    def sources(self) -> IntArray:
        """The source of each edge, [n_edges]."""
        return np.repeat(np.arange(self.n_states, dtype=np.int64), self.degrees)

    @cached_property
    def loops(self) -> IntArray:
        """The edges [n_loops] from a state to itself, increasing; found some states at a time."""
        found = [np.empty(0, np.int64)]
        for first in range(0, self.n_states, STATES_AT_ONCE):
            states = np.arange(first, min(first + STATES_AT_ONCE, self.n_states))
            edges = slice(self.indptr[first], self.indptr[states[-1] + 1])
            is_loop = np.repeat(states, self.degrees[states]) == self.targets[edges]
            found.append(np.flatnonzero(is_loop) + edges.start)
        return np.concatenate(found)

    @cached_property
    def backward_edges(self) -> IntArray:
        """The edges ordered by target, [n_edges]: the edge behind each edge of `backward`."""
        n_edges = len(self.targets)
        if self.n_states * n_edges >= 2**62:
            return np.argsort(self.targets, kind="stable")
        # Plain sorting of int64 is vectorized, five times faster than a stable argsort.
        return np.sort(self.targets * n_edges + np.arange(n_edges)) % max(n_edges, 1)

    @cached_property
    def backward(self) -> Graph:
        """The graph with every edge turned around."""
        indptr = np.zeros(self.n_states + 1, np.int64)
        np.cumsum(np.bincount(self.targets, minlength=self.n_states), out=indptr[1:])
        return Graph(indptr, self.sources[self.backward_edges])

    def edges_from(self, states: IntArray) -> IntArray:
        """Return the edges [n_edges] that leave the states [n], ordered by state."""
        return ranges(self.indptr[states], self.degrees[states])

    def edges_of(self, states: IntArray | slice) -> IntArray | slice:
        """Return `edges_from` the states [n]; a slice where they follow one another."""
        return entries_of(self.indptr, states)

    def edges_into(self, states: IntArray) -> IntArray:
        """Return the edges [n_edges] that lead to the states [n], in increasing order."""
        return np.sort(self.backward_edges[self.backward.edges_from(states)])

    def successors(self, states: IntArray) -> IntArray:
        """Return the successors [n_edges] of the states [n], concatenated in their order."""
        return self.targets[self.edges_of(states)]


_graphs: WeakKeyDictionary[Chain, Graph] = WeakKeyDictionary()


def graph_of(chain: Chain) -> Graph:
    """Return the graph of a chain's transitions, made once per chain, whatever its labels."""
    found = _graphs.get(chain)
    if found is None:
        found = _graphs[chain] = Graph(chain.indptr, chain.targets)
    return found


def relabelled(chain: Chain, labelling: Mapping[str, BoolArray]) -> Chain:
    """Return a chain with other labels [n_states]; it keeps its graph, and what that knows."""
    found = replace(chain, labelling=labelling)
    _graphs[found] = graph_of(chain)
    return found


def reachable(graph: Graph, start: IntArray, within: BoolArray) -> BoolArray:
    """Return the states that some path from `start` visits while it stays `within`, [n_states].

    A start state that is not `within` does not count. With `graph.backward` these are the states
    from which a path within `within` leads to `start`.

    >>> line = Graph(np.array([0, 1, 2, 2]), np.array([1, 2]))
    >>> reachable(line, np.array([1]), np.ones(3, np.bool_)).tolist()
    [False, True, True]
    """
    seen = np.zeros(graph.n_states, np.bool_)
    place = np.empty(graph.n_states, np.int64)
    frontier = distinct(start[within[start]], place)
    seen[frontier] = True
    while len(frontier):
        if _is_narrow(graph, frontier):
            frontier = _narrow_search(graph, frontier, within, seen)
        else:
            found = graph.successors(frontier)
            if len(found) * MANY > graph.n_states:
                # So many that it is cheaper to look at all states than to tell repeats apart.
                is_new = np.zeros(graph.n_states, np.bool_)
                is_new[found] = True
                is_new &= within & ~seen
                frontier = np.flatnonzero(is_new)
            else:
                frontier = distinct(found[within[found] & ~seen[found]], place)
            seen[frontier] = True
    return seen


def distinct(states: IntArray, place: IntArray) -> IntArray:
    """Return the states without repeats; `place` [n_states] is scratch space.

    Of equal states the one written last stays. (`np.unique` sorts or hashes: ten times slower.)
    """
    index = np.arange(len(states))
    place[states] = index
    kept: IntArray = states[place[states] == index]
    return kept


def _is_narrow(graph: Graph, frontier: IntArray) -> bool:
    """Return whether frontier[n] has so few states and successors that numpy does not pay."""
    return len(frontier) < NARROW and int(graph.degrees[frontier].sum()) < 8 * NARROW


def _narrow_search(
    graph: Graph, frontier: IntArray, within: BoolArray, seen: BoolArray
) -> IntArray:
    """Search on from frontier[n], depth first, until there are none or many, or one leads to many.

    Marks `seen`; returns the states whose successors have not been looked at.
    """
    indptr, targets = graph.indptr.data, graph.targets.data
    allowed, marks = within.data, seen.data
    states: list[int] = frontier.tolist()
    while states and len(states) < 2 * NARROW:
        s = states.pop()
        start, end = indptr[s], indptr[s + 1]
        if end - start > 8 * NARROW:
            states.append(s)
            break
        for t in targets[start:end]:
            if allowed[t] and not marks[t]:
                marks[t] = True
                states.append(t)
    return np.array(states, np.int64)


def topological_layers(graph: Graph) -> tuple[IntArray, IntArray] | None:
    """Return the states of an acyclic graph by layers, last first; None if there is a cycle.

    Layer 0 holds the states without successors, layer k those whose longest path has k edges.
    The result is `order` [n_states] and `starts` [n_layers+1]: layer k is
    `order[starts[k]:starts[k+1]]` (Kahn, CACM 1962, from the sinks upwards).

    >>> order, starts = topological_layers(Graph(np.array([0, 2, 3, 3]), np.array([1, 2, 2])))
    >>> order.tolist(), starts.tolist()
    ([2, 1, 0], [0, 1, 2, 3])
    """
    order, starts = _peeled(graph)
    return None if starts[-1] < graph.n_states else (order, starts)


def levels(graph: Graph) -> IntArray:
    """Return [n_states] the length of the longest path from each state; -1 where there is none.

    >>> levels(Graph(np.array([0, 2, 3, 3, 4]), np.array([1, 2, 2, 3]))).tolist()
    [2, 1, 0, -1]
    """
    order, starts = _peeled(graph)
    found = np.full(graph.n_states, -1, np.int64)
    lengths = starts[1:] - starts[:-1]
    found[order[: starts[-1]]] = np.arange(len(lengths)).repeat(lengths)
    return found


def _peeled(graph: Graph) -> tuple[IntArray, IntArray]:
    """Return `topological_layers` of the states that lead to no cycle: order's first ones."""
    pending = graph.degrees.copy()
    backward = graph.backward
    order = np.empty(graph.n_states, np.int64)
    place = np.empty(graph.n_states, np.int64)
    starts = [0]
    frontier = np.flatnonzero(pending == 0)
    while len(frontier):
        if _is_narrow(backward, frontier):
            frontier = _narrow_layers(backward, frontier, pending, order, starts)
        else:
            order[starts[-1] : starts[-1] + len(frontier)] = frontier
            starts.append(starts[-1] + len(frontier))
            frontier = _freed(backward.successors(frontier), pending, place)
    return order, np.array(starts, np.int64)


def _freed(found: IntArray, pending: IntArray, place: IntArray) -> IntArray:
    """Count each of some states once less, as often as it was found; return those that reach 0.

    pending [n_states]; `place` [n_states] is scratch space.
    """
    if not len(found):
        return found
    low = int(found.min())
    width = int(found.max()) - low + 1
    if width > MANY * len(found):
        np.subtract.at(pending, found, 1)
        return distinct(found[pending[found] == 0], place)
    counts = np.bincount(found - low, minlength=width)
    pending[low : low + width] -= counts
    return np.flatnonzero((counts > 0) & (pending[low : low + width] == 0)) + low


def layers_from_the_top(graph: Graph, most: int) -> list[IntArray] | None:
    """Return the states by layers, first ones first, None if there are more than `most`.

    Layer k holds the states to which the longest path has k edges, self-loops aside: an edge leads
    to the state itself or to a later layer. None too where there is another cycle. No edge is
    turned around for it, unlike for `topological_layers`.

    >>> line = Graph(np.array([0, 2, 4, 5]), np.array([0, 1, 1, 2, 2]))
    >>> [layer.tolist() for layer in layers_from_the_top(line, 3)], layers_from_the_top(line, 2)
    ([[0], [1], [2]], None)
    """
    pending = np.bincount(graph.targets, minlength=graph.n_states)
    # A loop's own edge does not count. When its state is placed it is counted off all the same, and
    # the state, which had 0, never has 0 again.
    np.subtract.at(pending, graph.targets[graph.loops], 1)
    place = np.empty(graph.n_states, np.int64)
    layers: list[IntArray] = []
    frontier = np.flatnonzero(pending == 0)
    while len(frontier):
        if len(layers) == most:
            return None
        layers.append(frontier)
        frontier = _freed(graph.successors(frontier), pending, place)
    return layers if sum(map(len, layers)) == graph.n_states else None


def _narrow_layers(
    backward: Graph, frontier: IntArray, pending: IntArray, order: IntArray, starts: list[int]
) -> IntArray:
    """Place narrow layers from frontier[n] on until there is none, or a wide one: return that."""
    indptr, targets = backward.indptr.data, backward.targets.data
    left, placed = pending.data, order.data
    states: list[int] = frontier.tolist()
    end = starts[-1]
    n_edges = 0
    while states and len(states) < 2 * NARROW and n_edges < 16 * NARROW:
        following = []
        n_edges = 0
        for t in states:
            placed[end] = t
            end += 1
            start, stop = indptr[t], indptr[t + 1]
            n_edges += stop - start
            for s in targets[start:stop]:
                left[s] -= 1
                if left[s] == 0:
                    following.append(s)
        starts.append(end)
        states = following
    return np.array(states, np.int64)


def graph_from(successors: Sequence[Sequence[int]]) -> Graph:
    """Return the graph of which each state's successors are listed, [n_states] lists."""
    lengths = np.fromiter(map(len, successors), np.int64, len(successors))
    targets = np.array([target for each in successors for target in each], np.int64)
    return Graph(indptr_of(lengths), targets)


def strong_components(graph: Graph) -> tuple[IntArray, int]:
    """Return each state's strong component, [n_states], and their number.

    Components are numbered so that an edge never leads to a component with a larger number:
    counting up is a reverse topological order of the condensation.

    >>> strong_components(Graph(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 2])))[0].tolist()
    [1, 1, 0]
    """
    is_imported = "scipy.sparse.csgraph" in sys.modules
    pays_from = IMPORTED_SCIPY_PAYS_FROM if is_imported else SCIPY_PAYS_FROM
    if len(graph.targets) + graph.n_states < pays_from:
        return _tarjan(graph)
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(graph.targets), np.int8)
    matrix = csr_matrix((ones, graph.targets, graph.indptr), (graph.n_states, graph.n_states))
    count, labels = connected_components(matrix, directed=True, connection="strong")
    component = labels.astype(np.int64)
    # Pearce's algorithm numbers a component when it leaves it, after all that it leads to.
    assert not np.any(component[graph.sources] < component[graph.targets]), "sinks come first"
    return component, int(count)


def _tarjan(graph: Graph) -> tuple[IntArray, int]:
    """Tarjan's algorithm (SIAM J. Computing 1972) without recursion; sinks are numbered first."""
    indptr: list[int] = graph.indptr.tolist()
    targets: list[int] = graph.targets.tolist()
    n = graph.n_states
    component, index, low = [-1] * n, [-1] * n, [0] * n
    position = indptr[:n]
    stack: list[int] = []
    clock = count = 0
    for root in range(n):
        if index[root] >= 0:
            continue
        path = [root]
        while path:
            s = path[-1]
            if index[s] < 0:
                index[s] = low[s] = clock
                clock += 1
                stack.append(s)
            descended = False
            for j in range(position[s], indptr[s + 1]):
                t = targets[j]
                if index[t] < 0:
                    # The edge is looked at again when t is finished: then low[t] counts.
                    position[s] = j
                    path.append(t)
                    descended = True
                    break
                if component[t] < 0 and low[t] < low[s]:
                    low[s] = low[t]
            if descended:
                continue
            path.pop()
            if low[s] == index[s]:
                while component[s] < 0:
                    component[stack.pop()] = count
                count += 1
    return np.array(component, np.int64), count


def bottom_components(graph: Graph, component: IntArray, count: int) -> BoolArray:
    """Return which strong components no edge leaves, [n_components]."""
    sources, targets = component[graph.sources], component[graph.targets]
    bottom = np.ones(count, np.bool_)
    bottom[sources[sources != targets]] = False
    return bottom
