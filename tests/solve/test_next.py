"""The probability of the next state, against a sum edge by edge."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.chain.graph import Graph
from dpcheck.solve.reachability.reach import next_probabilities


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=3, unique=True), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.lists(st.integers(0, 3), max_size=5),
)
def test_the_edges_of_a_state_are_its_own(rows, is_target, wanted):
    targets = np.array([t for row in rows for t in sorted(row)], np.int64)
    graph = Graph(np.cumsum([0, *map(len, rows)]), targets)
    weights = np.arange(1, len(targets) + 1), np.full(4, 100)
    found = next_probabilities(graph, weights, np.array(is_target), np.array(wanted, np.int64))
    edges = [range(graph.indptr[s], graph.indptr[s + 1]) for s in range(4)]
    assert [Fraction(str(p)) for p in found] == [
        Fraction(sum(e + 1 for e in edges[s] if is_target[targets[e]]), 100) for s in wanted
    ]
