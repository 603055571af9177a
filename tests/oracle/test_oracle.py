"""The reference interpreter alone, against sums by hand and known truths."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.reference import distributions
from tests.oracle import privacy
from tests.oracle.reference import DIVERGED, STOPPED, Program

HALF = Fraction(1, 2)


def quantities(text, target="m"):
    """Return the rows in order, and the neighbor pairs."""
    program = Program(text, target)
    return dict(enumerate(program.rows())), program.pairs()


def noise_by_brute_force(center, alpha, kind, lo, hi, reach=60):
    """Return the policy applied value by value to the noise cut off far away."""

    def folded(v):
        while not lo <= v <= hi:
            v = 2 * lo - v if v < lo else 2 * hi - v
        return v

    place = {
        "clamped": lambda v: min(max(v, lo), hi),
        "wrapped": lambda v: lo + (v - lo) % (hi - lo + 1),
        "folded": folded,
    }[kind]
    result = dict.fromkeys(range(lo, hi + 1), Fraction(0))
    for z in range(-reach, reach + 1):
        result[place(center + z)] += (1 - alpha) / (1 + alpha) * alpha ** abs(z)
    return result


@pytest.mark.parametrize("kind", ["clamped", "folded", "wrapped"])
@pytest.mark.parametrize(("center", "lo", "hi"), [(0, 0, 3), (5, 0, 2), (-4, -1, 1), (1, 1, 2)])
def test_two_sided_noise_sums_its_tails(kind, center, lo, hi):
    exact = distributions.noise("geometric", [center, Fraction(1, 3)], kind, lo, hi)
    near = noise_by_brute_force(center, Fraction(1, 3), kind, lo, hi)
    assert all(0 <= exact[v] - near[v] < Fraction(1, 10**25) for v in near)


@pytest.mark.parametrize("kind", ["clamped", "conditioned", "folded", "wrapped"])
@pytest.mark.parametrize(("lo", "hi"), [(0, 2), (-3, 1), (2, 4)])
def test_one_sided_noise_under_a_policy_is_a_distribution(kind, lo, hi):
    assert sum(distributions.noise("geometric_positive", [HALF], kind, lo, hi).values()) == 1


rows = st.lists(st.integers(0, 4), min_size=3, max_size=6).filter(any)


@given(rows, rows, st.fractions(min_value=1, max_value=4))
def test_the_worst_event_is_the_worst_of_all_events(p, q, e_epsilon):
    p = {i: Fraction(w, sum(p)) for i, w in enumerate(p) if w}
    q = {i: Fraction(w, sum(q)) for i, w in enumerate(q) if w}
    assert privacy.excess(p, q, e_epsilon) == privacy.excess_over_all_events(p, q, e_epsilon)


def test_the_survey():
    text = """mechanism m { input x in {pos, neg} adjacent all
      y ~ if x = pos then {Y: 3/4, N: 1/4} else {Y: 1/4, N: 3/4}  output y }"""
    rows, pairs = quantities(text)
    assert rows[0] == {
        (("Y",), STOPPED): Fraction(3, 4),
        (("N",), STOPPED): Fraction(1, 4),
    }
    assert pairs == [(0, 1)]
    assert privacy.e_epsilon(rows, pairs) == 3
    assert privacy.delta(rows, pairs, 2) == Fraction(1, 4)


@pytest.mark.parametrize(
    ("k", "delta"), [(1, 0), (2, "3/8"), (3, "3/8"), (4, "75/128"), (5, "75/128"), (6, "735/1024")]
)
def test_k_answers(k, delta):
    text = """
    mechanism survey { input x in {pos, neg} adjacent all
      y ~ if x = pos then {Y: 3/4, N: 1/4} else {Y: 1/4, N: 3/4}  output y }
    mechanism m(k = 2) { input x in {pos, neg} adjacent all repeat k { run survey(x = x) } }
    """
    rows, pairs = quantities(text, f"m(k = {k})")
    assert privacy.delta(rows, pairs, 3) == Fraction(delta)
    assert privacy.e_epsilon(rows, pairs) == 3**k


def test_the_truncated_geometric_mechanism():
    text = """mechanism m(d = 1) { input x in 0..5 adjacent abs(x - x') <= d
      y ~ geometric(x, 1/2) clamped 0..5  output y }"""
    rows, pairs = quantities(text)
    table = ["2/3 1/6 1/12 1/24 1/48 1/48", "1/3 1/3 1/6 1/12 1/24 1/24"]
    for x, row in enumerate(table):
        assert [rows[x][((str(y),), STOPPED)] for y in range(6)] == [
            Fraction(p) for p in row.split()
        ]
    assert privacy.e_epsilon(rows, pairs) == 2
    assert privacy.delta(rows, pairs, 1) == Fraction(1, 3)
    assert privacy.e_epsilon(*quantities(text, "m(d = 5)")) == 32


def test_clamped_above_threshold_needs_two_to_the_k():
    text = """
    mechanism m(k = 2) {
      input q[1..k] in 0..5
      public t in 0..5
      adjacent linf(q, q') <= 1
      noisy_t ~ geometric(t, 1/4) clamped 0..5
      for i in 1..k {
        noisy_q ~ geometric(q[i], 1/2) clamped 0..5
        if noisy_q >= noisy_t { output top; stop }
        output bot
      }
    }
    """
    rows, pairs = quantities(text, "m(k = 1)")
    assert privacy.e_epsilon(rows, pairs) == 2
    assert privacy.delta(rows, pairs, 1) == Fraction(18139, 61440)
    rows, pairs = quantities(text)
    assert privacy.e_epsilon(rows, pairs) == 4
    assert privacy.delta(rows, pairs, 1) == Fraction(9947, 30720)


def test_loops_are_solved_by_their_equations():
    text = """mechanism m { input x in 0..5 adjacent abs(x - x') <= 1
      y := 0  while y = 0 { y ~ geometric(x, 1/2) clamped 0..5 }  output y }"""
    rows, pairs = quantities(text)
    assert privacy.e_epsilon(rows, pairs) == Fraction(5, 2)


def test_a_loop_that_may_never_end_diverges_with_the_rest_of_the_probability():
    text = """mechanism m { input x in 0..1 adjacent all
      y := 0  while y != 2 { if y = 0 { y ~ uniform(0..2) } }  output y }"""
    rows, _ = quantities(text)
    assert rows[0] == {(("2",), STOPPED): HALF, ((), DIVERGED): HALF}


def test_outputs_in_a_loop_are_followed_as_far_as_asked():
    text = """mechanism m { input x in 0..1 adjacent all
      go := true  while go { output 1  go ~ bernoulli(1/2) } }"""
    assert Program(text).rows(most=2)[0] == {
        (("1",), STOPPED): HALF,
        (("1", "1"), STOPPED): HALF**2,
        (("1", "1"), "cut"): HALF**2,
    }


def test_neighbors_are_the_symmetric_closure_of_all_clauses():
    text = """mechanism m { input x in 0..2 public y in 0..1 adjacent x' = x + 1
      adjacent x = 2 & x' = 0  output x }"""
    _, pairs = quantities(text)
    inputs = list(product(range(3), range(2)))
    assert pairs == [
        (i, j)
        for i, s in enumerate(inputs)
        for j, t in enumerate(inputs)
        if i < j and s[1] == t[1] and s[0] != t[0]
    ]


def test_booleans_are_no_numbers():
    rows, _ = quantities("mechanism m { input x in {1, true} adjacent all output x = 1 }")
    assert [
        row[((value,), STOPPED)]
        for row, value in zip(rows.values(), ["true", "false"], strict=True)
    ] == [1, 1]
