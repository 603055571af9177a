"""Path formulas: against the slow oracle, by the laws of the logic, and known values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dpcheck.logic import formulas as f
from tests.solve.chains import (
    Row,
    as_fraction,
    both,
    either,
    finally_,
    following,
    globally,
    make_chain,
    no,
    probabilities,
    release,
    until,
    weak,
)
from tests.solve.oracle import oracle_probabilities
from tests.solve.strategies import chains, paths

RandomChain = tuple[list[Row], list[str]]
SLOW_ORACLE = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def size(path: f.PathFormula) -> int:
    """Return how many X and U the oracle has to eliminate."""
    match path:
        case f.Holds():
            return 0
        case f.PathNot(argument) | f.Next(argument):
            return 1 + size(argument)
        case f.PathAnd(arguments) | f.PathOr(arguments):
            return sum(size(a) for a in arguments)
        case f.Finally(argument, bound) | f.Globally(argument, bound):
            return (bound or 1) + size(argument)
        case f.Until(left, right, bound):
            return (bound or 1) + size(left) + size(right)
        case f.WeakUntil(left, right) | f.Release(left, right):
            return 2 + size(left) + size(right)


def values(chain: RandomChain, path: f.PathFormula) -> list[Fraction]:
    return [as_fraction(value) for value in probabilities(make_chain(*chain), path)]


@settings(max_examples=300, suppress_health_check=SLOW_ORACLE)
@given(chains(), paths())
def test_every_formula_has_the_probability_that_the_oracle_finds(
    chain: RandomChain, path: f.PathFormula
) -> None:
    assume(size(path) <= 8)
    assert values(chain, path) == oracle_probabilities(*chain, path)


@given(chains(8), paths(8))
def test_a_formula_and_its_negation_share_the_probability_1(
    chain: RandomChain, path: f.PathFormula
) -> None:
    pairs = zip(values(chain, path), values(chain, no(path)), strict=True)
    assert all(p + q == 1 for p, q in pairs)


EQUIVALENCES = {
    "F F φ = F φ": lambda p, q: (finally_(finally_(p)), finally_(p)),
    "G G φ = G φ": lambda p, q: (globally(globally(p)), globally(p)),
    "F φ = true U φ": lambda p, q: (finally_(p), until(either(p, no(p)), p)),
    "!F φ = G !φ": lambda p, q: (no(finally_(p)), globally(no(p))),
    "!X φ = X !φ": lambda p, q: (no(following(p)), following(no(p))),
    "φ U ψ expands": lambda p, q: (until(p, q), either(q, both(p, following(until(p, q))))),
    "φ W ψ expands": lambda p, q: (weak(p, q), either(q, both(p, following(weak(p, q))))),
    "φ R ψ expands": lambda p, q: (
        release(p, q),
        both(q, either(p, following(release(p, q)))),
    ),
    "φ W ψ = φ U ψ | G φ": lambda p, q: (weak(p, q), either(until(p, q), globally(p))),
    "φ R ψ = !(!φ U !ψ)": lambda p, q: (release(p, q), no(until(no(p), no(q)))),
    "!(φ U ψ) = !ψ W (!φ & !ψ)": lambda p, q: (
        no(until(p, q)),
        weak(no(q), both(no(p), no(q))),
    ),
    "F<=2 φ unfolds": lambda p, q: (finally_(p, 2), either(p, following(finally_(p, 1)))),
    "G<=2 φ unfolds": lambda p, q: (globally(p, 2), both(p, following(globally(p, 1)))),
    "φ U<=2 ψ unfolds": lambda p, q: (
        until(p, q, 2),
        either(q, both(p, following(until(p, q, 1)))),
    ),
    "F<=1 F<=2 φ = F<=3 φ": lambda p, q: (finally_(finally_(p, 2), 1), finally_(p, 3)),
    "G F G φ = F G φ": lambda p, q: (
        globally(finally_(globally(p))),
        finally_(globally(p)),
    ),
    "G F (φ | ψ) = G F φ | G F ψ": lambda p, q: (
        globally(finally_(either(p, q))),
        either(globally(finally_(p)), globally(finally_(q))),
    ),
    "X (φ U ψ) = X φ U X ψ": lambda p, q: (
        following(until(p, q)),
        until(following(p), following(q)),
    ),
}


@pytest.mark.parametrize("law", EQUIVALENCES)
@settings(max_examples=15)
@given(chain=chains(6), first=paths(3), second=paths(3))
def test_equivalent_formulas_have_equal_probability(
    law: str, chain: RandomChain, first: f.PathFormula, second: f.PathFormula
) -> None:
    left, right = EQUIVALENCES[law](first, second)
    assert values(chain, left) == values(chain, right)


@given(chains(6), paths(4), paths(4))
def test_disjunction_and_conjunction_share_the_sum(
    chain: RandomChain, left: f.PathFormula, right: f.PathFormula
) -> None:
    parts = [values(chain, path) for path in (left, right, both(left, right), either(left, right))]
    assert all(p + q == r + s for p, q, r, s in zip(*parts, strict=True))


@given(chains(6), paths(4), st.data())
def test_states_may_be_asked_in_any_order_and_repeatedly(
    chain: RandomChain, path: f.PathFormula, data: st.DataObject
) -> None:
    built = make_chain(*chain)
    everywhere = probabilities(built, path)
    asked = data.draw(st.lists(st.integers(0, built.n_states - 1), max_size=6))
    assert probabilities(built, path, np.array(asked, np.int64)) == [everywhere[s] for s in asked]
