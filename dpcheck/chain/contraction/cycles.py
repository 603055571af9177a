"""Silent components replaced by their exits: what is left of the silent states is acyclic."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpcheck import exact
from dpcheck.chain.arrays import differences, marked
from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.contraction.silent_graph import SilentGraph, silent_edges
from dpcheck.chain.graph import Graph, levels, strong_components
from dpcheck.chain.sets import without
from dpcheck.chain.weights.denominators import concatenated, weight_array
from dpcheck.chain.weights.rows import indptr_of
from dpcheck.limits import Tick
from dpcheck.records import dataclass, replace


def acyclic(graph: SilentGraph, tick: Tick) -> tuple[SilentGraph, IntArray]:
    """Return the graph with the silent components replaced by their exits, and its levels.

    level [n_targets]: a silent state's is larger than those of all silent states it leads to.
    """
    if not graph.silent.any():
        return graph, np.zeros(graph.n_targets, np.int64)
    tick("ordering states without output")
    sources, targets = silent_edges(graph)
    loops = sources[targets == sources]
    if len(loops):
        proper = sources != targets
        sources, targets = sources[proper], targets[proper]
    level = levels(_graph(sources, targets, graph.n_targets))
    replaced: dict[int, _Exit] = {}
    exits = _Exits(graph)
    for states in _nontrivial(*_components(level, sources, targets)):
        tick("leaving loops without output")
        replaced |= exits.of(states)
    single = without(loops, np.fromiter(replaced, np.int64, len(replaced)))
    for s in single.tolist():
        replaced |= exits.of(np.array([s]))
    if not replaced:
        return graph, level
    graph = _with_rows(graph, replaced)
    return graph, _completed(graph, level)


def _components(level: IntArray, sources: IntArray, targets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the states [n] that lead to a cycle (their level is -1), and the component of each."""
    places = marked(level < 0)
    if not len(places):
        return places, places
    among = marked((level[sources] < 0) & (level[targets] < 0))
    number = np.empty(len(level), np.int64)
    number[places] = np.arange(len(places))
    graph = _graph(number[sources[among]], number[targets[among]], len(places))
    return places, strong_components(graph)[0]


def _graph(sources: IntArray, targets: IntArray, n_states: int) -> Graph:
    """Return the graph of edges [n_edges] that are ordered by their sources."""
    return Graph(indptr_of(np.bincount(sources, minlength=n_states)), targets)


def _completed(graph: SilentGraph, level: IntArray) -> IntArray:
    """Return levels [n_states], where only states that led to a cycle have -1.

    The others keep theirs: where they lead to has not changed but for self-loops that are gone.
    """
    sources, targets = silent_edges(graph)
    among = marked((level[sources] < 0) & (level[targets] < 0))
    above = levels(_graph(sources[among], targets[among], graph.n_targets))
    return np.where(level < 0, above + int(level.max()) + 1, level)


def _nontrivial(states: IntArray, component: IntArray) -> list[IntArray]:
    """Return the components with at least two states; `component` [n_states] numbers them."""
    several = np.bincount(component)[component] > 1
    states, component = states[several], component[several]
    if not len(states):
        return []
    order = np.argsort(component, kind="stable")
    return np.split(states[order], marked(differences(component[order])) + 1)


class _Exits:
    """Where runs leave silent components; components that look alike are solved once.

    Alike are those with equal weights in equal places, states and exits numbered from 0 within the
    component: their equations are the same (a loop for each of many inputs is solved for one).
    """

    def __init__(self, graph: SilentGraph) -> None:
        self._graph = graph
        self._solved: dict[tuple[object, ...], list[_Exit]] = {}

    def of(self, states: IntArray) -> dict[int, _Exit]:
        """Return for each state [n] of a silent component where its runs leave it."""
        from dpcheck.exact.linear import solve_linear

        graph = self._graph
        place = {s: k for k, s in enumerate(states.tolist())}
        inside: list[tuple[int, int, exact.Whole]] = []
        outside: list[tuple[int, int, exact.Whole]] = []
        exits: dict[int, int] = {}
        for s, k in place.items():
            row = slice(graph.indptr[s], graph.indptr[s + 1])
            weights = graph.numerators[row].tolist()
            for t, weight in zip(graph.targets[row].tolist(), weights, strict=True):
                if t in place:
                    inside.append((k, place[t], weight))
                else:
                    outside.append((k, exits.setdefault(t, len(exits)), weight))
        if not exits:
            bottom = _Exit(np.array([graph.diverged]), np.ones(1, np.int64), 1)
            return dict.fromkeys(place, bottom)
        scale = tuple(graph.scale[states].tolist())
        key = scale, tuple(inside), tuple(outside)
        if key not in self._solved:
            values = [graph.scales.values[code] for code in scale]
            solution = solve_linear(values, inside, outside)
            self._solved[key] = [_exit_of(row) for row in solution]
        targets = np.array(list(exits), np.int64)
        return {
            s: found.renumbered(targets) for s, found in zip(place, self._solved[key], strict=True)
        }


@dataclass(frozen=True, eq=False)
class _Exit:
    """A distribution over targets."""

    targets: IntArray
    numerators: WeightArray
    denominator: exact.Whole

    def renumbered(self, number: IntArray) -> _Exit:
        """Return it with a new `number` [n_states] for each target."""
        targets = number[self.targets]
        order = np.argsort(targets)
        return _Exit(targets[order], self.numerators[order], self.denominator)


def _exit_of(row: Mapping[int, exact.Number]) -> _Exit:
    """Return a distribution over its least common denominator."""
    targets = sorted(row)
    parts = [exact.as_fraction_parts(row[t]) for t in targets]
    common = exact.common_multiple(denominator for _, denominator in parts)
    numerators = [n * exact.exact_quotient(common, d) for n, d in parts]
    return _Exit(np.array(targets, np.int64), weight_array(numerators), common)


def _with_rows(graph: SilentGraph, replaced: dict[int, _Exit]) -> SilentGraph:
    """Return the graph with some rows replaced."""
    states = np.fromiter(sorted(replaced), np.int64, len(replaced))
    keep = ~np.isin(graph.steps.sources, states)
    new = [replaced[s] for s in states.tolist()]
    new_sources = np.repeat(states, [len(exit_.targets) for exit_ in new])
    sources = np.concatenate([graph.steps.sources[keep], new_sources])
    order = np.argsort(sources, kind="stable")
    targets = np.concatenate([graph.targets[keep], *(exit_.targets for exit_ in new)])
    numerators = concatenated([graph.numerators[keep], *(exit_.numerators for exit_ in new)])
    scale = graph.scale.copy()
    scale[states] = [graph.scales.code(exit_.denominator) for exit_ in new]
    indptr = np.searchsorted(sources[order], np.arange(len(graph.indptr)))
    return replace(
        graph, indptr=indptr, targets=targets[order], numerators=numerators[order], scale=scale
    )
