"""Path formulas: against the slow oracle, by the laws of the logic, and known values."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpcheck.limits import LimitReached, Limits
from dpcheck.logic import formulas as f
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
    release,
    until,
    weak,
)
from tests.solve.oracle import oracle_probabilities
from tests.solve.strategies import SLOW_ORACLE, RandomChain, chains, paths, size


def values(chain: RandomChain, path: f.PathFormula) -> list[Fraction]:
    return [as_fraction(value) for value in probabilities(make_chain(*chain), path)]


def always_beside(rng: random.Random) -> f.PathFormula:
    """Return `G ((first | second) & third)`, mostly true, beside one of its parts."""
    letters = rng.sample("abc", 3)
    parts = [rng.choice([following, finally_])(atom(letter)) for letter in letters]
    first, second, third = parts
    always = globally(both(either(first, second), third), rng.choice([None, None, 1]))
    beside = rng.choice([*parts, no(first), always])
    return rng.choice([both, either])(always, beside)


@pytest.mark.parametrize("seed", range(150))
def test_parts_that_stand_in_several_places_are_not_taken_for_more_than_they_say(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(3, 5)
    rows = [dict.fromkeys(rng.sample(range(n), 2), Fraction(1, 2)) for _ in range(n)]
    labels = [rng.choice(["ac", "bc", "abc", "ab"]) for _ in range(n)]
    path = always_beside(rng)
    assert values((rows, labels), path) == oracle_probabilities(rows, labels, path)


@settings(suppress_health_check=SLOW_ORACLE)
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


def walk(n: int) -> RandomChain:
    """Return a walk on 0..n-1, labelled a at the left end and b at the right, that never stops."""
    rows = []
    for s in range(n):
        left, right = max(s - 1, 0), min(s + 1, n - 1)
        rows.append({left: Fraction(1, 3), right: Fraction(2, 3)})
    return rows, ["a", *[""] * (n - 2), "b"]


def test_a_thousand_steps_are_iterated_and_not_unfolded() -> None:
    rows: list[Row] = [{0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1)}]
    chain = make_chain(rows, ["", "b"])
    (within, _) = probabilities(chain, finally_(atom("b"), 1000))
    assert as_fraction(within) == 1 - Fraction(1, 2**1000)
    (nested, _) = probabilities(chain, following(finally_(both(atom("b"), atom("b")), 999)))
    assert as_fraction(nested) == 1 - Fraction(1, 2**1000)
    (counted, _) = probabilities(
        chain, both(finally_(atom("b"), 900), no(finally_(atom("b"), 500)))
    )
    assert as_fraction(counted) == Fraction(1, 2**500) - Fraction(1, 2**900)


def test_bounded_operators_count_steps_from_zero() -> None:
    rows: list[Row] = [{1: Fraction(1)}, {2: Fraction(1)}, {2: Fraction(1)}]
    chain = make_chain(rows, ["a", "a", "b"])
    assert probabilities(chain, finally_(atom("b"), 1)) == [0, 1, 1]
    assert probabilities(chain, finally_(atom("b"), 2)) == [1, 1, 1]
    assert probabilities(chain, globally(atom("a"), 1)) == [1, 0, 0]
    assert probabilities(chain, until(atom("a"), atom("b"), 1)) == [0, 1, 1]
    assert probabilities(chain, finally_(atom("b"), 0)) == [0, 0, 1]


def test_recurrence_in_a_bottom_component_is_decided_by_what_recurs() -> None:
    chain = make_chain(*walk(6))
    always_both = both(globally(finally_(atom("a"))), globally(finally_(atom("b"))))
    assert probabilities(chain, always_both) == [1] * 6
    assert probabilities(chain, finally_(globally(no(atom("a"))))) == [0] * 6
    strict = globally(either(no(atom("a")), following(no(atom("a")))))
    assert probabilities(chain, finally_(strict)) == [0] * 6


def test_recurrence_in_a_bottom_component_is_decided_by_what_is_clear_at_once() -> None:
    # 1 and 2 are where `b` always holds, so there (X c & X b) | X !c is a tautology.
    half = Fraction(1, 2)
    rows = [{1: half, 3: half}, {1: half, 2: half}, {1: half, 2: half}, {3: Fraction(1)}]
    chain = rows, ["", "bc", "b", ""]
    is_true = either(both(following(atom("c")), following(atom("b"))), following(no(atom("c"))))
    is_false = both(
        either(following(atom("c")), following(no(atom("b")))), following(no(atom("c")))
    )
    assert values(chain, finally_(both(atom("b"), is_true))) == [half, 1, 1, 0]
    assert values(chain, following(globally(is_false))) == [half, 0, 0, 1]


def test_ten_fairness_constraints_make_one_formula() -> None:
    chain = make_chain(*walk(8))
    fair = both(*(globally(finally_(following(atom(letter)))) for letter in "ab" * 5))
    limits = Limits(max_states=100)
    assert probabilities(chain, fair, limits=limits) == [1] * 8


def test_a_product_that_explodes_says_how_many_states_it_had() -> None:
    chain = make_chain(*walk(50))
    path = globally(either(no(atom("a")), finally_(atom("b"), 30)))
    with pytest.raises(LimitReached) as caught:
        probabilities(chain, path, limits=Limits(max_states=70))
    assert "70 states" in caught.value.limit.text
    assert caught.value.limit.kind == "states"


def test_a_passed_deadline_stops_the_work() -> None:
    chain = make_chain(*walk(400))
    path = either(following(atom("a")), finally_(both(atom("a"), following(atom("b"))), 300))
    with pytest.raises(LimitReached) as caught:
        probabilities(chain, path, limits=Limits(deadline=0.0, timeout=1.0))
    assert caught.value.limit.kind == "time"


def test_runs_into_the_sink_continue_there_forever() -> None:
    rows: list[Row] = [{1: Fraction(1, 4), 2: Fraction(3, 4)}, {2: Fraction(1)}, {2: Fraction(1)}]
    chain = make_chain(rows, ["a", "b", "d"])
    assert probabilities(chain, globally(finally_(atom("d")))) == [1, 1, 1]
    assert as_fraction(
        probabilities(chain, finally_(both(atom("b"), following(atom("d")))))[0]
    ) == (Fraction(1, 4))
    assert probabilities(chain, following(following(following(atom("d")))))[0] == 1
