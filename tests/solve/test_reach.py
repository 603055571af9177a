"""Reachability, by every backend, against Gaussian elimination over `Fraction`."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.chain.graph import Graph, graph_of
from dpcheck.limits import Limits
from dpcheck.solve import reach_probabilities
from dpcheck.solve.reachability.reach import reach_bounds
from tests.solve.chains import Row, as_fraction, make_chain
from tests.solve.oracle import until_probabilities
from tests.solve.strategies import chains


def reach(rows: list[Row], target: list[bool], allowed: list[bool]) -> list[Fraction]:
    chain = make_chain(rows, [""] * len(rows))
    found = reach_probabilities(
        graph_of(chain),
        (chain.numerators, chain.denominators),
        np.array(target),
        np.array(allowed),
        np.arange(len(rows)),
        Limits(),
    )
    return [as_fraction(value) for value in found]


def random_rows(rng: random.Random, n: int, kind: str) -> list[Row]:
    """Return rows whose graph is acyclic, a chain of small cycles, or anything."""
    rows = []
    for s in range(n):
        if s >= n - 2:
            rows.append({s: Fraction(1)})
            continue
        low = {"acyclic": s + 1, "small cycles": s // 3 * 3, "any": 0}[kind]
        high = n - 1 if kind != "small cycles" else min(n - 1, s // 3 * 3 + 5)
        successors = sorted({rng.randint(low, high) for _ in range(rng.randint(1, 4))})
        weights = [rng.randint(1, 9) for _ in successors]
        rows.append(
            {t: Fraction(w, sum(weights)) for t, w in zip(successors, weights, strict=True)}
        )
    return rows


@given(chains(8), st.data())
def test_reachability_solves_the_equations_of_small_chains(
    chain: tuple[list[Row], list[str]], data: st.DataObject
) -> None:
    rows, _ = chain
    masks = st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))
    target, allowed = data.draw(masks), data.draw(masks)
    assert reach(rows, target, allowed) == until_probabilities(rows, allowed, target)


@pytest.mark.parametrize("kind", ["acyclic", "small cycles", "any"])
@pytest.mark.parametrize("n", [12, 50])
def test_reachability_solves_the_equations_of_larger_chains(kind: str, n: int) -> None:
    rng = random.Random(f"{kind} {n}")
    for _ in range(3):
        rows = random_rows(rng, n, kind)
        target = [s == n - 1 for s in range(n)]
        allowed = [True] * n
        assert reach(rows, target, allowed) == until_probabilities(rows, allowed, target)


@pytest.mark.parametrize("scale", [2, 3, 10, 2**20, 2**31, 2**61 - 1])
def test_steps_are_counted_exactly_where_numbers_outgrow_a_word(scale: int) -> None:
    """The target is missed with 1/scale a step: after j steps all is over scale^j."""
    coin = Graph(np.array([0, 2, 3]), np.array([0, 1, 1]))
    weights = np.array([1, scale - 1, 1]), np.array([scale, 1])
    target, everywhere = np.array([False, True]), np.ones(2, np.bool_)
    for bound in range(1, 70):
        asked = *(target, everywhere, bound, np.array([0]), None), Limits()
        ((low, high),) = reach_bounds(coin, weights, *asked)
        assert as_fraction(low) == as_fraction(high) == 1 - Fraction(1, scale**bound)
