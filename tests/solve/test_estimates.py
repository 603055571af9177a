"""Floats with a proved error enclose what exact arithmetic finds, closely, or there are none."""

from __future__ import annotations

import random
from fractions import Fraction
from math import ldexp

import numpy as np
import pytest
from hypothesis import given

from dpcheck.chain.graph import Graph
from dpcheck.chain.scales import weight_array
from dpcheck.exact import ExpPolynomial, compare, float_bounds, number, rational
from dpcheck.limits import Limits
from dpcheck.logic import formulas as f
from dpcheck.solve import path_estimates
from dpcheck.solve.estimates import MAX_LAYERS, acyclic_estimates
from dpcheck.solve.system import System, indptr_of
from tests.solve.chains import Row, atom, globally, make_chain, no, probabilities, truth
from tests.solve.strategies import chains, paths
from tests.solve.test_backends import eliminated, random_system


def as_number(value: float):
    """Return a float exactly."""
    return number(*value.as_integer_ratio())


@pytest.mark.parametrize("digits", [1, 6, 40, 250])
@pytest.mark.parametrize("n", [1, 2, 9, 200])
def test_estimates_enclose_the_solution_of_an_acyclic_system(n: int, digits: int) -> None:
    rng = random.Random(f"{n} {digits}")
    for _ in range(3):
        system = random_system(rng, n, "acyclic", digits)
        found = acyclic_estimates(system, Limits())
        values = eliminated(system)
        if any(value == 0 for value in values):
            assert found is None
            continue
        assert found is not None
        for value, low, high in zip(values, *(x.tolist() for x in found), strict=True):
            assert 0 < low < high <= low * (1 + 1e-11)
            assert compare(as_number(low), value) <= 0 <= compare(as_number(high), value)


def line(n: int, numerator: int, denominator: int) -> System:
    """Return the path of n states in which each leads on with one probability, the last to b."""
    lengths = np.ones(n, np.int64)
    lengths[-1] = 0
    graph = Graph(indptr_of(lengths), np.arange(1, n))
    constants = [0] * (n - 1) + [numerator]
    return System(
        graph,
        weight_array([numerator] * (n - 1)),
        weight_array([denominator] * n),
        weight_array(constants),
    )


def test_values_below_the_range_of_floats_have_no_estimates() -> None:
    assert acyclic_estimates(line(9, 1, 10**30), Limits()) is not None
    assert acyclic_estimates(line(11, 1, 10**30), Limits()) is None


def test_weights_beyond_the_range_of_floats_have_no_estimates() -> None:
    assert acyclic_estimates(line(2, 10**299, 10**300), Limits()) is not None
    assert acyclic_estimates(line(2, 10**302, 10**303), Limits()) is None
    assert acyclic_estimates(line(2, 10**399, 10**400), Limits()) is None


def test_powers_of_e_have_no_estimates() -> None:
    system = line(2, 1, 2)
    t = ExpPolynomial.exp(rational("1"))
    powers = System(system.graph, weight_array([t]), weight_array([t + 1, 2]), system.constants)
    assert acyclic_estimates(powers, Limits()) is None


def test_cycles_and_many_layers_have_no_estimates() -> None:
    cycle = System(Graph(np.array([0, 1, 2]), np.array([1, 0])), *(np.array([1, 1]),) * 3)
    assert acyclic_estimates(cycle, Limits()) is None
    assert acyclic_estimates(line(MAX_LAYERS, 9, 10), Limits()) is not None
    assert acyclic_estimates(line(MAX_LAYERS + 1, 9, 10), Limits()) is None


@given(chains(6), paths(3))
def test_estimates_enclose_the_probabilities_of_a_path_formula(
    drawn: tuple[list[Row], list[str]], path: f.PathFormula
) -> None:
    chain = make_chain(*drawn)
    states = np.arange(chain.n_states)[::-1]
    found = path_estimates(chain, path, satisfying=truth(chain), states=states, limits=Limits())
    if found is None:
        return
    exact = probabilities(chain, path, states)
    for value, low, high in zip(exact, *(x.tolist() for x in found), strict=True):
        assert (low == high) == (value in (0, 1))
        assert high - low <= 1e-12
        assert compare(as_number(low), value) <= 0 <= compare(as_number(high), value)


@pytest.mark.parametrize("chance", [Fraction(1, 10**16), Fraction(1, 10**20), Fraction(2, 3)])
def test_estimates_of_a_complement_enclose_it_beside_1(chance: Fraction) -> None:
    chain = make_chain(
        [{1: chance, 2: 1 - chance}, {1: Fraction(1)}, {2: Fraction(1)}], ["", "a", ""]
    )
    path = globally(no(atom("a")))
    states = np.array([0])
    found = path_estimates(chain, path, satisfying=truth(chain), states=states, limits=Limits())
    assert found is not None
    low, high = (as_number(x[0]) for x in found)
    assert low < number((1 - chance).numerator, chance.denominator) < high


@pytest.mark.parametrize("text", ["0", "1", "0.1", "1e-300", "1e-330", "123456789123456789123e280"])
def test_float_bounds_enclose_a_rational_by_neighboring_floats(text: str) -> None:
    value = rational(text)
    found = float_bounds(value)
    assert found is not None
    low, high = found
    assert compare(as_number(low), value) <= 0 <= compare(as_number(high), value)
    assert high - low <= max(high * ldexp(1, -50), ldexp(1, -1070))


def test_float_bounds_of_what_floats_do_not_reach_are_none() -> None:
    assert float_bounds(10**309) is None
