"""Floats with a proved error enclose what exact arithmetic finds, closely, or there are none."""

from __future__ import annotations

import random
from fractions import Fraction
from math import ldexp

import numpy as np
import pytest
from hypothesis import given

from dpcheck.chain.chain import Chain
from dpcheck.chain.weights.denominators import weight_array
from dpcheck.exact import ExpPolynomial, Number, compare, float_bounds, number
from dpcheck.limits import Limits
from dpcheck.logic import formulas as f
from dpcheck.records import replace
from dpcheck.solve import path_estimates
from dpcheck.solve.reachability.float_bounds import MAX_LAYERS, reach_estimates
from dpcheck.solve.reachability.float_bounds_line import line_estimates
from tests.numbers import rational
from tests.solve.chains import (
    Row,
    atom,
    finally_,
    globally,
    make_chain,
    no,
    probabilities,
    truth,
    until,
)
from tests.solve.strategies import chains, paths


def as_number(value: float) -> Number:
    """Return a float exactly."""
    return number(*value.as_integer_ratio())


def random_chain(rng: random.Random, n: int, digits: int) -> Chain:
    """Return a chain of n states and two ends, with self-loops and no other cycle."""
    rows: list[Row] = []
    for s in range(n):
        later = rng.sample(range(s + 1, n + 2), min(n + 1 - s, rng.randint(1, 5)))
        weights = {t: rng.randint(1, 10**digits) for t in (*later, *rng.sample([s], s % 2))}
        total = sum(weights.values())
        rows.append({t: Fraction(w, total) for t, w in weights.items()})
    ends: list[Row] = [{n: Fraction(1)}, {n + 1: Fraction(1)}]
    return make_chain([*rows, *ends], [*("b" if s % 7 == 3 else "" for s in range(n)), "a", ""])


@pytest.mark.parametrize("digits", [1, 6, 40, 140])
@pytest.mark.parametrize("n", [4, 9, 100])
def test_estimates_enclose_the_probabilities_of_a_chain_with_self_loops(
    n: int, digits: int
) -> None:
    rng = random.Random(f"{n} {digits}")
    for path in (finally_(atom("a")), globally(no(atom("b")))):
        chain = random_chain(rng, n, digits)
        found = path_estimates(chain, path, satisfying=truth(chain), limits=Limits())
        assert found is not None
        for value, low, high in zip(probabilities(chain, path), *found, strict=True):
            assert compare(as_number(low), value) <= 0 <= compare(as_number(high), value)
            assert (low == high) == (value in (0, 1))
            assert high - low <= 1e-11 * (high if path == finally_(atom("a")) else 1)


def line(n: int, chance: Fraction) -> Chain:
    """Return a path of n states, each of which leads on with one probability, to a last state."""
    rows: list[Row] = [{k + 1: chance, n + 1: 1 - chance} for k in range(n)]
    return make_chain(
        [*rows, {n: Fraction(1)}, {n + 1: Fraction(1)}], [*("" for _ in range(n)), "a", ""]
    )


def ladder(n: int) -> Chain:
    """Return n states that lead to one of the next two each, the last to an end."""
    half = Fraction(1, 2)
    rows: list[Row] = [{min(k + 1, n): half, min(k + 2, n + 1): half} for k in range(n)]
    ends: list[Row] = [{n: Fraction(1)}, {n + 1: Fraction(1)}]
    return make_chain([*rows, *ends], [*("" for _ in range(n)), "a", ""])


def has_estimates(chain: Chain) -> bool:
    """Return whether F a has estimates."""
    target = chain.labelling["a"]
    return reach_estimates(chain, target, np.ones_like(target), Limits()) is not None


def test_values_below_the_range_of_floats_have_no_estimates() -> None:
    assert has_estimates(line(5, Fraction(1, 10**30)))
    assert not has_estimates(line(6, Fraction(1, 10**30)))
    assert not has_estimates(line(20, Fraction(1, 10**30)))


def test_weights_beyond_the_range_of_floats_have_no_estimates() -> None:
    for digits, expected in ((150, True), (151, False), (400, False)):
        assert has_estimates(line(2, 1 - Fraction(1, 10**digits))) == expected


def test_powers_of_e_have_no_estimates() -> None:
    chain = line(1, Fraction(1, 2))
    t = ExpPolynomial.exp(rational("1"))
    powers = replace(
        chain, numerators=weight_array([t, 1, 1, 1]), denominators=weight_array([t + 1, 1, 1])
    )
    assert has_estimates(chain)
    assert not has_estimates(powers)


def test_cycles_and_many_layers_have_no_estimates() -> None:
    half = Fraction(1, 2)
    cycle = make_chain([{1: Fraction(1)}, {0: half, 2: half}, {2: Fraction(1)}], ["", "", "a"])
    assert not has_estimates(cycle)
    assert has_estimates(ladder(MAX_LAYERS - 1))
    assert not has_estimates(ladder(MAX_LAYERS))


@given(chains(6), paths(3))
def test_estimates_enclose_the_probabilities_of_a_path_formula(
    drawn: tuple[list[Row], list[str]], path: f.PathFormula
) -> None:
    chain = make_chain(*drawn)
    found = path_estimates(chain, path, satisfying=truth(chain), limits=Limits())
    if found is None:
        return
    for value, low, high in zip(probabilities(chain, path), *found, strict=True):
        assert (low == high) == (value in (0, 1))
        assert high - low <= 1e-12
        assert compare(as_number(low), value) <= 0 <= compare(as_number(high), value)


@pytest.mark.parametrize("chance", [Fraction(1, 10**16), Fraction(1, 10**20), Fraction(2, 3)])
def test_estimates_of_a_complement_enclose_it_beside_1(chance: Fraction) -> None:
    chain = make_chain(
        [{1: chance, 2: 1 - chance}, {1: Fraction(1)}, {2: Fraction(1)}], ["", "a", ""]
    )
    path = globally(no(atom("a")))
    found = path_estimates(chain, path, satisfying=truth(chain), limits=Limits())
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


def random_line(rng: random.Random, n: int, digits: int, ends: int) -> Chain:
    """Return states that lead on to one other each, in any order, or end; some lead nowhere."""
    order = rng.sample(range(n), n)
    rows: list[Row] = [{} for _ in range(n)]
    for place, s in enumerate(order):
        weights = {}
        if place + 1 < n and rng.random() > ends / n:
            weights[order[rng.randint(place + 1, min(n - 1, place + 3))]] = rng.randint(
                1, 10**digits
            )
        for t in (s, n, n + 1):
            if rng.random() < 0.3:
                weights[t] = rng.randint(1, 10**digits)
        weights = weights or {s: 1}
        total = sum(weights.values())
        rows[s] = {t: Fraction(w, total) for t, w in weights.items()}
    labels = ["b" if rng.random() < 0.02 else "" for _ in range(n)]
    return make_chain([*rows, {n: Fraction(1)}, {n + 1: Fraction(1)}], [*labels, "a", "b"])


@pytest.mark.parametrize("digits", [1, 6, 60])
@pytest.mark.parametrize("n", [1, 2, 9, 100, 700])
def test_estimates_along_lines_enclose_the_probabilities(n: int, digits: int) -> None:
    rng = random.Random(f"{n} {digits}")
    for ends in (0, 3, n):
        chain = random_line(rng, n, digits, ends)
        target, allowed = chain.labelling["a"], ~chain.labelling["b"]
        found = line_estimates(chain, target, allowed)
        assert found is not None
        path = until(no(atom("b")), atom("a"))
        for value, low, high in zip(probabilities(chain, path), *found, strict=True):
            assert compare(as_number(low), value) <= 0 <= compare(as_number(high), value)
            assert (low == high) == (value in (0, 1))
            assert high - low <= 1e-9 * high


def test_a_long_line_is_estimated_where_layers_are_too_many() -> None:
    n = 2 * MAX_LAYERS
    chain = line(n, Fraction(n, n + 1))
    target = chain.labelling["a"]
    found = reach_estimates(chain, target, np.ones_like(target), Limits())
    assert found is not None
    exact = number(n**n, (n + 1) ** n)
    assert compare(as_number(found[0][0]), exact) < 0 < compare(as_number(found[1][0]), exact)
    assert found[1][0] - found[0][0] < 1e-9


def test_lines_with_vanishing_values_cycles_or_branches_have_no_estimates() -> None:
    half = Fraction(1, 2)
    vanishing = line(2_000, half)
    circle = make_chain([{1: half, 2: half}, {0: half, 2: half}, {2: Fraction(1)}], ["", "", "a"])
    branching = make_chain(
        [{1: half, 2: half}, {3: Fraction(1)}, {3: Fraction(1)}, {3: Fraction(1)}],
        ["", "", "", "a"],
    )
    for chain in (vanishing, circle, branching):
        target = chain.labelling["a"]
        assert line_estimates(chain, target, np.ones_like(target)) is None


def test_what_is_lost_with_vanishing_factors_is_within_the_margin() -> None:
    n = 3_000
    rows: list[Row] = [
        {k + 1: Fraction(1, 2), n: Fraction(1, 4), n + 1: Fraction(1, 4)} for k in range(n - 1)
    ]
    ends: list[Row] = [{n: Fraction(1)}, {n: Fraction(1)}, {n + 1: Fraction(1)}]
    chain = make_chain([*rows, *ends], [*("" for _ in range(n)), "a", ""])
    target = chain.labelling["a"]
    found = line_estimates(chain, target, np.ones_like(target))
    assert found is not None
    low, high = found
    exact = number(2 ** (n - 1) + 1, 2**n)
    assert compare(as_number(low[0]), exact) < 0 < compare(as_number(high[0]), exact)
    assert low[n - 1] == high[n - 1] == 1
