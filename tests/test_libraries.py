"""Answers handed to networkx and sympy: the same numbers, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import networkx as nx
import pytest
import sympy

import dpcheck
from dpcheck.check.values.amounts import between_amount, epsilon_amount, number_amount
from dpcheck.exact import Budget, ExpNumber, exponential, number
from dpcheck.front import loads
from tests.numbers import rational

MODEL = """\
mechanism m { input x in 0..3 adjacent abs(x - x') <= 1
  y ~ geometric(x, 1/2) clamped 0..3
  output y
}
mechanism smooth { input x in 0..1 adjacent all
  y ~ {0: exp(-x), 1: 1} normalized
  output y
}
"""


@pytest.mark.parametrize("name", ["m", "smooth"])
def test_the_graph_of_a_chain_has_its_rows_and_neighbors(name):
    target = loads(MODEL).target(name)
    chain, rows = target.chain(), target.output_distributions()
    graph = chain.to_networkx()
    assert len(graph) == chain.n_states
    assert graph.number_of_edges() == len(chain.targets)
    starts = [s for s, state in graph.nodes(data=True) if state["is_initial"]]
    assert starts == chain.initial.tolist()
    for start in starts:
        shown = {graph.nodes[t]["shows"]: edge["probability"] for t, edge in graph[start].items()}
        assert shown == rows[graph.nodes[start]["text"]]
        assert all(isinstance(p, Fraction | ExpNumber) for p in shown.values())
    assert graph.nodes[chain.stopped]["shows"] is None


def test_the_graph_of_neighbors_has_the_distances_of_groups():
    graph = loads(MODEL).target("m").chain().neighbors.to_networkx()
    assert dict(nx.single_source_shortest_path_length(graph, 0)) == {0: 0, 1: 1, 2: 2, 3: 3}


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (number_amount(number(-75, 128)), sympy.Rational(-75, 128)),
        (number_amount(number(10**5000 + 1, 3)), sympy.Rational(10**5000 + 1, 3)),
        (number_amount(1 / (exponential(rational("0.5")) + 2)), 1 / (sympy.exp("1/2") + 2)),
        (epsilon_amount(Budget.ln(3) + 2), sympy.log(3) + 2),
        (epsilon_amount(Budget.ln(2) / 2), sympy.log(2) / 2),
        (epsilon_amount(None), sympy.oo),
    ],
)
def test_an_amount_is_the_number_that_sympy_has(amount, expected):
    found = amount.sympy()
    assert found == expected or sympy.simplify(found - expected) == 0
    if len(amount.exact) < 99:
        assert math.isclose(float(found), float(amount.decimal))


def test_every_quantity_of_a_survey_is_an_expression():
    survey = dpcheck.mechanisms.survey()
    assert survey.epsilon().sympy() == sympy.log(3)
    assert survey.delta("1/2").sympy() == sympy.Rational(3, 4) - sympy.exp("1/2") / 4


def test_a_number_without_an_exact_form_is_no_expression():
    with pytest.raises(ValueError, match=r"in \[0\.333333333333333, "):
        between_amount(number(1, 3), number(2, 3)).sympy()
