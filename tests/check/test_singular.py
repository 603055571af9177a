"""Outputs that tell both sides apart in the long run: against what very many first ones show."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.check.evidence import endless
from dpcheck.check.evidence.merged_prefixes import merged
from dpcheck.check.quantities import endless_claims
from dpcheck.check.values.verdicts import Undecided
from tests.check.building import mechanism_chain
from tests.check.claims import compute, delta, ln, outcome
from tests.checking import check_text, verdicts

N_OUTPUTS, N_RUNS = 1000, 1000
NEAR = 0.1  # six standard deviations of a mean


@st.composite
def machines(draw):
    """Return rows by (input, state) of a machine that outputs for ever, and shows its state.

    Each is {(output, next state): probability}, for some inputs the same. Weights are such that
    what differs is seen in few outputs.
    """
    n_states, n_inputs = draw(st.integers(1, 3)), draw(st.integers(2, 3))
    rows = {}
    for state in range(n_states):
        ways = draw(
            st.lists(
                st.tuples(st.sampled_from("ab"), st.integers(max(0, state - 1), n_states - 1)),
                min_size=1,
                max_size=3,
                unique=True,
            )
        )
        for x in range(n_inputs):
            if x == 0 or draw(st.booleans()):
                weights = [draw(st.sampled_from([1, 1, 1, 1, 4, 4, 4, 0])) for _ in ways]
                weights = weights if any(weights) else [1] * len(ways)
            row = zip(ways, weights, strict=True)
            rows[x, state] = {way: Fraction(weight, sum(weights)) for way, weight in row if weight}
    return rows


def chain_of(rows):
    """Return the chain of a machine, its inputs all neighbors."""
    inputs = sorted({x for x, _ in rows})
    pairs = [(f"x = {x}", f"x = {y}") for x, y in combinations(inputs, 2)]
    return mechanism_chain(
        {f"x = {x}": (x, 0) for x in inputs},
        pairs,
        lambda memory: [
            (p, f"{shown}{after}", (memory[0], after)) for (shown, after), p in rows[memory].items()
        ],
    )


def lost_by_many(rows, factor):
    """Return about δ of all outputs: the mean of max(0, 1 - E q/p) over runs of very many."""
    draw, worst = np.random.default_rng(7), 0.0
    for x, y in permutations({x for x, _ in rows}, 2):
        state, loss = np.zeros(N_RUNS, np.int64), np.zeros(N_RUNS)
        for _ in range(N_OUTPUTS):
            after = state.copy()
            for s in np.unique(state):
                at, ways = np.flatnonzero(state == s), list(rows[x, s])
                p = np.array([float(rows[x, s][way]) for way in ways])
                q = np.array([float(rows[y, s].get(way, 0)) for way in ways])
                with np.errstate(divide="ignore"):
                    ratios = np.log(p / q)
                chosen = draw.choice(len(ways), len(at), p=p / p.sum())
                loss[at] += ratios[chosen]
                after[at] = np.array([to for _, to in ways])[chosen]
            state = after
        worst = max(worst, float(np.maximum(0, 1 - factor * np.exp(-loss)).mean()))
    return worst


@settings(max_examples=15)
@given(machines(), st.sampled_from([1, 2, 5]))
def test_delta_is_the_mean_over_long_runs(rows, factor):
    verdict = outcome(chain_of(rows), compute(delta(ln(str(factor))))).verdict
    if isinstance(verdict, Undecided):
        return
    about = lost_by_many(rows, factor)
    amount = verdict.amount
    least, most = amount.enclosure or (amount.exact, amount.exact)
    assert float(Fraction(least)) - NEAR < about < float(Fraction(most)) + NEAR


COIN = """
mechanism coin {
  input x in 0..1
  adjacent x != x'
  while true { y ~ bernoulli(if x = 1 then 1/4 else 3/4)  output y }
}
mechanism ends {
  input x in 0..1
  adjacent x != x'
  f ~ bernoulli(if x = 1 then 1/3 else 1/2)
  output f
  while f { y ~ bernoulli(if x = 1 then 1/4 else 0)  output y  if y { stop } }
}
mechanism waits {
  input x in 0..1
  adjacent x != x'
  f ~ bernoulli(if x = 1 then 1/3 else 1/2)
  output f
  while true { y ~ bernoulli(if f then 1/2 else if x = 1 then 1/4 else 3/4)  output y }
}
"""


def test_what_the_long_run_tells_is_exact():
    asked = """
compute coin: delta(5)
compute coin: total_variation
compute coin: epsilon(1/2)
compute ends: delta(0)
compute ends: delta(3)
compute waits: delta(0)
compute waits: epsilon(2/3)
"""
    results = check_text(COIN + asked)["results"]
    assert [each["value"]["exact"] for each in results] == [
        "1",
        "1",
        "inf",
        "1/2",
        "1/2",
        "2/3",
        "0",
    ]


def test_first_outputs_show_what_is_violated():
    (result,) = check_text(COIN + "check waits: delta(0) <= 13/20")["results"]
    assert result["verdict"] == "violated"
    event = result["counterexample"]
    p, q = (Fraction(each) for each in event["probabilities"])
    assert Fraction(13, 20) < p - q < Fraction(2, 3)


def test_what_no_first_outputs_show_is_violated_in_the_long_run():
    (result,) = check_text(COIN + "check waits: delta(0) < 2/3")["results"]
    assert result["verdict"] == "violated"
    p, q = (Fraction(each) for each in result["counterexample"]["probabilities"])
    assert p - q == Fraction(2, 3)
    assert verdicts(check_text(COIN + "check waits: delta(0) <= 2/3")) == ["holds"]


@pytest.mark.parametrize(
    "claim", ["delta(0) < 2/3", "delta(0) >= 3/4", "delta(0) != 2/3", "epsilon(1/2) < inf"]
)
def test_first_outputs_are_not_followed_to_a_bound_that_they_never_exceed(claim, monkeypatch):
    def followed(*_):
        raise AssertionError("first outputs bound a quantity from below")

    monkeypatch.setattr(endless_claims, "_prefixes", followed)
    assert verdicts(check_text(COIN + f"check waits: {claim}")) == ["violated"]


def test_few_first_outputs_are_followed_to_tell_what_is_known(monkeypatch):
    sizes = []

    def counted(*prefixes, **how):
        graph = merged(*prefixes, **how)
        sizes.append(len(graph.edges))
        return graph

    monkeypatch.setattr(endless, "merged", counted)
    slow = COIN.replace("1/4", "499/1000").replace("3/4", "501/1000")
    assert verdicts(check_text(slow + "check coin: delta(0) <= 9/10")) == ["violated"]
    assert 2000 < max(sizes) < 8000


def test_a_composition_with_such_a_part_is_exact():
    (result,) = check_text(COIN + "compute compose(waits, waits): delta(0)")["results"]
    assert result["value"]["exact"] == "8/9"
