"""Formulas followed step by step: the same numbers as from the product, without its size."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpcheck.exact import compare, number, subtract
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic import formulas as f
from dpcheck.solve import path_bounds
from dpcheck.solve.formulas import bounded_formulas
from dpcheck.solve.formulas.bounded_formulas import horizon
from dpcheck.solve.formulas.terms import Terms
from dpcheck.solve.reachability import reach
from tests.solve.chains import (
    Row,
    as_fraction,
    atom,
    both,
    either,
    finally_,
    following,
    globally,
    make_chain,
    no,
    probabilities,
    truth,
    until,
)
from tests.solve.oracle import oracle_probabilities
from tests.solve.strategies import SLOW_ORACLE, RandomChain, chains, size
from tests.solve.strategies import paths as any_path


def bounded_paths() -> st.SearchStrategy[f.PathFormula]:
    """Draw bounded operators around any formula."""
    bounds = st.integers(1, 5)
    return st.one_of(
        st.builds(finally_, any_path(3), bounds),
        st.builds(globally, any_path(3), bounds),
        st.builds(until, any_path(2), any_path(2), bounds),
    )


@settings(suppress_health_check=SLOW_ORACLE)
@given(chains(), bounded_paths())
def test_step_by_step_gives_what_the_oracle_finds(chain: RandomChain, path: f.PathFormula) -> None:
    assume(size(path) <= 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_formulas, "COUNTING_PAYS_FROM", 1)
        found = [as_fraction(value) for value in probabilities(make_chain(*chain), path)]
        assert found == oracle_probabilities(*chain, path)
        bounds = path_bounds(
            make_chain(*chain),
            path,
            satisfying=truth(make_chain(*chain)),
            states=np.arange(len(found)),
            bits=20,
            limits=Limits(),
        )
    for exact, (low, high) in zip(found, bounds, strict=True):
        assert as_fraction(low) <= exact <= as_fraction(high)
        assert as_fraction(high) - as_fraction(low) <= Fraction(1, 2**20)


def test_bounds_allow_for_how_far_apart_those_of_the_rest_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is left after all steps may be known from below alone, and 2^-bits away."""

    def from_below(*question: Any) -> list[reach.Bounds]:
        *_, bits, _ = question
        exact = reach_bounds(*question)
        assert all(low == high for low, high in exact)
        lows = [(subtract(p, number(1, 2**bits)), p) for p, _ in exact]
        return [(low if compare(low, 0) > 0 else 0, p) for low, p in lows]

    rows, labels = mixed_chain(12)
    chain, bits = make_chain(rows, labels), 10
    path = finally_(both(atom("c"), following(until(no(atom("a")), atom("b")))), 3)
    expected = [as_fraction(p) for p in probabilities(chain, path)]
    reach_bounds = reach.reach_bounds
    monkeypatch.setattr(bounded_formulas, "COUNTING_PAYS_FROM", 1)
    monkeypatch.setattr(reach, "reach_bounds", from_below)
    found = path_bounds(
        chain,
        path,
        satisfying=truth(chain),
        states=np.arange(len(rows)),
        bits=bits,
        limits=Limits(),
    )
    for p, (low, high) in zip(expected, found, strict=True):
        assert as_fraction(low) <= p <= as_fraction(high)
        assert as_fraction(high) - as_fraction(low) <= Fraction(1, 2**bits)


def mixed_chain(n: int) -> RandomChain:
    """Return a chain without period, in which every state has three successors and two letters."""
    rng = random.Random(3)
    rows = [dict.fromkeys({s, (s + 1) % n, rng.randrange(n)}, 0) for s in range(n)]
    return (
        [{t: Fraction(1, len(row)) for t in row} for row in rows],
        ["".join(x for x in "abc" if rng.random() < 0.2) for _ in range(n)],
    )


def test_a_hundred_steps_with_a_path_inside_hold_one_step_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, labels = mixed_chain(200)
    path = finally_(both(atom("a"), following(both(atom("b"), following(atom("c"))))), 100)
    limits = Limits(max_states=15_000)
    (p,) = probabilities(make_chain(rows, labels), path, np.array([0]), limits)
    assert as_fraction(p) == by_iteration(rows, labels, 100)
    monkeypatch.setattr(bounded_formulas, "COUNTING_PAYS_FROM", 10_000)
    with pytest.raises(LimitReached, match="states of the product"):
        probabilities(make_chain(rows, labels), path, np.array([0]), limits)


def by_iteration(rows: list[Row], labels: list[str], steps: int) -> Fraction:
    """Return Pr_0(F<=steps (a & X (b & X c))) over the states of the pattern's own automaton."""
    n = len(rows)

    def following_progress(progress: int, s: int, still: bool) -> int | None:
        """Return the bits: 1 b is next, 2 c is next; None when the pattern is complete."""
        if progress & 2 and "c" in labels[s]:
            return None
        later = 2 if progress & 1 and "b" in labels[s] else 0
        return later | (1 if still and "a" in labels[s] else 0)

    # After the last start has been looked at, two more steps can complete the pattern.
    exact = [[Fraction(0)] * 4 for _ in range(n)]
    for step in range(steps + 2, -1, -1):
        earlier = []
        for s in range(n):
            line = []
            for progress in range(4):
                after = following_progress(progress, s, step <= steps)
                line.append(
                    Fraction(1)
                    if after is None
                    else sum((w * exact[t][after] for t, w in rows[s].items()), Fraction(0))
                )
            earlier.append(line)
        exact = earlier
    return exact[0][0]


def test_formulas_that_count_in_many_ways_end_with_their_number() -> None:
    rows, labels = mixed_chain(30)
    inner = globally(either(no(atom("b")), finally_(atom("c"), 12)), 40)
    path = finally_(both(atom("a"), inner), 60)
    with pytest.raises(LimitReached, match=r"more than 500 formulas \(\d+ formulas") as limit:
        probabilities(make_chain(rows, labels), path, limits=Limits(max_states=10_000))
    assert limit.value.limit.kind == "states"


def test_a_step_with_more_pairs_than_allowed_says_how_many() -> None:
    rows, labels = mixed_chain(300)
    path = finally_(both(atom("a"), following(atom("b"))), 60)
    with pytest.raises(LimitReached, match=r"more than 200 states \(\d+ states of the product"):
        probabilities(make_chain(rows, labels), path, limits=Limits(max_states=200))


def test_the_horizon_of_a_hundred_nested_operators_is_found_at_once() -> None:
    """Their terms share parts, and each is looked at once."""
    terms = Terms()
    inner = terms.until(0, terms.literal(0), 5)
    for depth in range(100):
        inner = terms.until(terms.both(terms.literal(depth % 2), inner), inner, 1)
    assert horizon(terms, inner) == 105
