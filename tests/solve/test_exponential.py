"""Chains over ℚ(e^r): a probability is the rational function that plain fractions give at any t."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.chain.chain import Chain, NeighborRelation
from dpcheck.exact import ExpNumber, ExpPolynomial, Number
from dpcheck.limits import Limits
from dpcheck.solve import path_bounds
from dpcheck.solve.systems import solution
from tests.solve.chains import as_fraction, atom, finally_, following, probabilities, truth, until
from tests.solve.oracle import oracle_probabilities

T = ExpPolynomial.exp(fmpq(1))
AT = 5
Polynomial = tuple[int, int, int]


def at_five(value: Number) -> Fraction:
    """Return a number of ℚ(e) with 5 in place of e."""
    if not isinstance(value, ExpNumber):
        return as_fraction(value)
    power = int(value.unit.p)
    assert value.unit.q == 1
    above, below = value.numerator(fmpq(AT) ** power), value.denominator(fmpq(AT) ** power)
    return as_fraction(above / below)


@st.composite
def exponential_chains(draw: st.DrawFn) -> tuple[list[dict[int, Polynomial]], list[str]]:
    n = draw(st.integers(2, 6))
    rows = []
    for _ in range(n):
        successors = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True))
        coefficients = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 2))
        rows.append({t: draw(coefficients) for t in sorted(successors)})
    labels = [draw(st.sampled_from(["", "a", "b", "ab"])) for _ in range(n)]
    return rows, labels


def over_the_ring(rows: list[dict[int, Polynomial]], labels: list[str]) -> Chain:
    """Return the chain whose weights are c0 + c1 t + c2 t² over the sum of the row."""
    weights = [[T * T * c2 + T * c1 + c0 for c0, c1, c2 in row.values()] for row in rows]
    n = len(rows)
    numerators = np.empty(sum(len(row) for row in rows), object)
    numerators[:] = [weight for row in weights for weight in row]
    denominators = np.empty(n, object)
    denominators[:] = [sum(row[1:], row[0]) for row in weights]
    return Chain(
        np.cumsum([0, *(len(row) for row in rows)]),
        np.array([t for row in rows for t in row], np.int64),
        numerators,
        denominators,
        np.arange(n),
        NeighborRelation(np.empty((0, 2), np.int64)),
        np.full(n, -1, np.int64),
        {letter: np.array([letter in label for label in labels]) for letter in "ab"},
        n - 1,
        None,
        str,
        str,
    )


@settings(max_examples=60)
@given(
    exponential_chains(),
    st.sampled_from(
        [
            until(atom("a"), atom("b")),
            finally_(atom("a"), 3),
            finally_(following(atom("a"))),
            until(atom("a"), following(atom("b")), 2),
        ]
    ),
)
def test_probabilities_over_the_ring_are_those_of_any_base(
    chain: tuple[list[dict[int, Polynomial]], list[str]], path: object
) -> None:
    rows, labels = chain
    found = [at_five(value) for value in probabilities(over_the_ring(rows, labels), path)]
    values = [
        {t: Fraction(c2 * AT * AT + c1 * AT + c0) for t, (c0, c1, c2) in row.items()}
        for row in rows
    ]
    numeric = [{t: w / sum(row.values()) for t, w in row.items()} for row in values]
    assert found == oracle_probabilities(numeric, labels, path)


@pytest.mark.parametrize("n_back", [0, 1])
def test_values_over_the_ring_have_no_bounds_but_themselves(
    n_back: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However deep a chain is, with or without a cycle, and however few bits are asked for."""
    monkeypatch.setattr(solution, "ENCLOSING_PAYS_FROM", 0)
    monkeypatch.setattr(solution, "ENCLOSING_CYCLES_PAYS_FROM", 0)
    last: list[dict[int, Polynomial]] = [{4: (1, 0, 0)}, {5: (1, 0, 0)}]
    steps: list[dict[int, Polynomial]] = [
        {s + 1: (0, 1, 0), 5: (1, 0, 0), max(0, s - n_back): (1, 0, 0)} for s in range(4)
    ]
    chain = over_the_ring(steps + last, ["a"] * 4 + ["b", ""])
    path, states = until(atom("a"), atom("b")), np.arange(6)
    found = path_bounds(
        chain, path, satisfying=truth(chain), states=states, bits=2, limits=Limits()
    )
    assert found == [(p, p) for p in probabilities(chain, path)]
