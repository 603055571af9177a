"""Graph algorithms against networkx, on narrow and wide paths of the code alike."""

from __future__ import annotations

import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.chain import graph as graphs
from dpcheck.chain.graph import (
    Graph,
    bottom_components,
    layers_from_the_top,
    reachable,
    strong_components,
    topological_layers,
)

Edges = list[tuple[int, int]]


@pytest.fixture(params=["narrow", "wide", "sparse"], autouse=True)
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with state-by-state search and Tarjan, and with numpy and scipy.

    With numpy, a few states are found among all, or (`sparse`) told apart without a look at all.
    """
    if request.param == "wide":
        monkeypatch.setattr(graphs, "NARROW", 0)
        monkeypatch.setattr(graphs, "SCIPY_PAYS_FROM", 0)
    if request.param == "sparse":
        monkeypatch.setattr(graphs, "NARROW", 0)
        monkeypatch.setattr(graphs, "MANY", 0)
        monkeypatch.setattr(graphs, "STATES_AT_ONCE", 2)


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, Edges]:
    n = draw(st.integers(1, 12))
    node = st.integers(0, n - 1)
    return n, sorted(draw(st.sets(st.tuples(node, node), max_size=24)))


def make_graph(n: int, edges: Edges) -> Graph:
    lengths = np.bincount([s for s, _ in edges], minlength=n) if edges else np.zeros(n, np.int64)
    return Graph(
        np.concatenate(([0], np.cumsum(lengths))), np.array([t for _, t in edges], np.int64)
    )


def as_networkx(n: int, edges: Edges) -> nx.DiGraph:
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(n))
    return graph


@given(edge_lists(), st.data())
def test_reachable_states_are_those_on_some_allowed_path(
    case: tuple[int, Edges], data: st.DataObject
) -> None:
    n, edges = case
    start = data.draw(st.lists(st.integers(0, n - 1), max_size=3))
    within = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    allowed = as_networkx(n, edges).subgraph(np.flatnonzero(within).tolist())
    expected = set()
    for s in start:
        if s in allowed:
            expected |= {s} | nx.descendants(allowed, s)
    found = reachable(make_graph(n, edges), np.array(start, np.int64), within)
    assert set(np.flatnonzero(found).tolist()) == expected


@given(edge_lists())
def test_turning_edges_around_twice_gives_the_graph(case: tuple[int, Edges]) -> None:
    n, edges = case
    graph = make_graph(n, edges)
    again = graph.backward.backward
    assert again.indptr.tolist() == graph.indptr.tolist()
    assert again.targets.tolist() == graph.targets.tolist()
    for t in range(n):
        into = graph.edges_into(np.array([t]))
        assert into.tolist() == [i for i, edge in enumerate(edges) if edge[1] == t]


@given(edge_lists())
def test_layers_are_longest_paths_and_exist_without_cycles_only(case: tuple[int, Edges]) -> None:
    n, edges = case
    reference = as_networkx(n, edges)
    found = topological_layers(make_graph(n, edges))
    if not nx.is_directed_acyclic_graph(reference):
        assert found is None
        return
    assert found is not None
    order, starts = found
    assert sorted(order.tolist()) == list(range(n))
    for k in range(len(starts) - 1):
        for s in order[starts[k] : starts[k + 1]].tolist():
            below = reference.subgraph({s} | nx.descendants(reference, s))
            assert nx.dag_longest_path_length(below) == k


@given(edge_lists())
def test_layers_from_the_top_are_longest_paths_to_a_state_but_for_loops(
    case: tuple[int, Edges],
) -> None:
    n, edges = case
    graph = make_graph(n, edges)
    assert graph.loops.tolist() == [i for i, (s, t) in enumerate(edges) if s == t]
    reference = as_networkx(n, [(s, t) for s, t in edges if s != t])
    found = layers_from_the_top(graph, n)
    if not nx.is_directed_acyclic_graph(reference):
        assert found is None
        return
    assert found is not None
    assert sorted(s for layer in found for s in layer.tolist()) == list(range(n))
    for k, layer in enumerate(found):
        for s in layer.tolist():
            above = reference.subgraph({s} | nx.ancestors(reference, s))
            assert nx.dag_longest_path_length(above) == k
    assert layers_from_the_top(graph, len(found) - 1) is None


@given(edge_lists(), st.data())
def test_edges_of_states_are_those_from_each_in_turn(
    case: tuple[int, Edges], data: st.DataObject
) -> None:
    n, edges = case
    states = data.draw(st.lists(st.integers(0, n - 1), max_size=4))
    run = range(states[0], min(states[0] + len(states), n)) if states else []
    graph = make_graph(n, edges)
    every = np.arange(len(edges))
    for some in (states, list(run)):
        expected = [i for s in some for i, edge in enumerate(edges) if edge[0] == s]
        assert every[graph.edges_of(np.array(some, np.int64))].tolist() == expected


@pytest.mark.parametrize("by_scipy", [False, True])
@given(edge_lists())
def test_components_are_strong_and_numbered_from_the_bottom(
    by_scipy: bool, case: tuple[int, Edges]
) -> None:
    n, edges = case
    reference = as_networkx(n, edges)
    graph = make_graph(n, edges)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SCIPY_PAYS_FROM", "IMPORTED_SCIPY_PAYS_FROM") if by_scipy else ():
            patch.setattr("dpcheck.chain.graph." + name, 0)
        component, count = strong_components(graph)
    groups = [set(np.flatnonzero(component == c).tolist()) for c in range(count)]
    assert sorted(map(sorted, groups)) == sorted(
        map(sorted, nx.strongly_connected_components(reference))
    )
    assert all(component[s] >= component[t] for s, t in edges)
    bottom = bottom_components(graph, component, count)
    for c in range(count):
        leaves = any(s in groups[c] and t not in groups[c] for s, t in edges)
        assert bottom[c] == (not leaves)


@pytest.mark.parametrize("stride", [1, 3, -7])
def test_deep_lines_with_rungs_and_gaps_are_searched_to_their_ends(stride: int) -> None:
    n = 6_000
    links = [(s, (s + stride) % n) for s in range(n) if (s * 7919) % n >= n // 500]
    edges = sorted(
        {*links, *((s, s) for s in range(n)), *((s, 4 * s % n) for s in range(0, n, 97))}
    )
    within = np.arange(n) % 1000 != 999
    start = np.flatnonzero(within)[:2]
    allowed = as_networkx(n, edges).subgraph(np.flatnonzero(within).tolist())
    expected = {t for s in start.tolist() for t in {s} | nx.descendants(allowed, s)}
    found = reachable(make_graph(n, edges), start, within)
    assert set(np.flatnonzero(found).tolist()) == expected


def test_a_line_is_searched_by_doubling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "NARROW", 48)
    n = 300_000
    line = Graph(np.minimum(np.arange(n + 1), n - 1), np.arange(1, n))
    start = time.process_time()
    assert reachable(line, np.array([0]), np.ones(n, np.bool_)).all()
    assert time.process_time() - start < 5


def test_a_deep_line_is_searched_to_its_end() -> None:
    n = 5_000
    line = Graph(np.minimum(np.arange(n + 1), n - 1), np.arange(1, n))
    assert reachable(line, np.array([0]), np.ones(n, np.bool_)).all()
    layers = topological_layers(line)
    assert layers is not None
    assert layers[0].tolist() == list(range(n))[::-1]
