"""Cycles of outputs that change a ratio and are repeated: exact sums of geometric series."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.check.evidence.endless import EndlessPrefixes
from dpcheck.check.quantities import turns
from dpcheck.check.values.verdicts import Value
from dpcheck.limits import Limits
from tests.check.building import STOP, mechanism_chain
from tests.check.claims import compute, delta, fraction, ln, outcome
from tests.checking import check_text

INPUTS = ("x = 0", "x = 1")
FACTORS = [Fraction(1), Fraction(6, 5), Fraction(3)]


@st.composite
def waiting(draw):
    """Return rows by (input, phase): weights of going on by two outputs, and of three that end.

    The phases are a lead and then a cycle: its first phase is returned, too.
    """
    n_phases = draw(st.integers(1, 3))
    first = draw(st.integers(0, n_phases - 1))
    share = draw(st.lists(st.integers(0, 2), min_size=n_phases, max_size=n_phases))
    rows = {}
    for x in (0, 1):
        for phase in range(n_phases):
            on = draw(st.integers(2, 12))
            ends = draw(st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any))
            weights = [on * share[phase], on, *ends]
            rows[x, phase] = [Fraction(w, sum(weights)) for w in weights]
    return rows, first


def chain_of(rows, first):
    """Return the chain of two neighbors that go through the phases in lock step."""

    def row(state):
        if state == "end":
            return [(Fraction(1), STOP, None)]
        x, phase = state
        after = x, phase + 1 if (x, phase + 1) in rows else first
        ways = zip(rows[state], ["a", "b", "c", "d", "e"], [after] * 2 + ["end"] * 3, strict=True)
        return [way for way in ways if way[0]]

    return mechanism_chain({INPUTS[x]: (x, 0) for x in (0, 1)}, [INPUTS], row)


def slow_gap(rows, first, factor):
    """Return bounds of δ, turn by turn: what has not ended counts as equal, or as different."""
    best = Fraction(0), Fraction(0)
    for one, other in ((0, 1), (1, 0)):
        p, q, phase, found = Fraction(1), Fraction(1), 0, Fraction(0)
        while p > Fraction(1, 10**9):
            mine, theirs = rows[one, phase], rows[other, phase]
            found += sum(
                max(0, p * a - factor * q * b) for a, b in zip(mine[2:], theirs[2:], strict=True)
            )
            p, q = (side * sum(row[:2]) for side, row in ((p, mine), (q, theirs)))
            p, q = (Fraction(round(side * 10**40), 10**40) for side in (p, q))
            phase = phase + 1 if (0, phase + 1) in rows else first
        best = max(best[0], found), max(best[1], found + p)
    return best


@settings(max_examples=40)
@given(waiting(), st.sampled_from(FACTORS))
def test_delta_is_what_slow_sums_of_turns_come_to(drawn, factor):
    low, high = slow_gap(*drawn, factor)
    found = outcome(chain_of(*drawn), compute(delta(ln(str(factor))))).verdict
    assert isinstance(found, Value)
    assert low - Fraction(1, 10**20) <= Fraction(found.amount.exact) <= high + Fraction(1, 10**20)


LOOP = """
mechanism m {
  input x in 0..1
  adjacent all
  while true {
    s ~ STEP
    if s > 0 { output s stop }
    output bot
  }
}
"""
RARELY = LOOP.replace("STEP", "{0: (99 - x)/100, 1: (1 + x)/100}")
"""Of all runs 0.99^n and 0.98^n go on for n turns; then x = 1 stops twice as likely."""


@pytest.mark.parametrize("factor", [1, 3])
def test_a_loop_that_rarely_stops_is_summed_from_the_turn_on_where_it_counts(factor):
    (result,) = check_text(f"{RARELY} compute m: delta(ln {factor})")["results"]
    n = next(k for k in range(1000) if 99**k > factor * 2 * 98**k)
    tail = Fraction(99, 100) ** n - factor * Fraction(98, 100) ** n
    assert Fraction(result["value"]["exact"]) == tail


def test_from_the_other_side_turns_count_before_one():
    # From x = 1: 2 after any number of turns, 0.2/(1 - 0.5), and 1 after none, 0.3 - 1.1 * 0.2.
    # From x = 0: 1 after two turns and more, 0.8^2 - 1.1 * 0.6 * 0.5^2 = 0.475.
    text = LOOP.replace("STEP", "{0: (8 - 3*x)/10, 1: (2 + x)/10, 2: x/5}")
    claims = "check m: delta(ln(11/10)) = 12/25 check m at x = 0: delta(ln(11/10)) = 12/25"
    assert check_text(f"{text} {claims}")["ok"]


def test_outputs_of_one_turn_that_say_the_same_are_one_way():
    text = LOOP.replace("output bot", "y ~ uniform(0..9) output (y, go)")
    text = text.replace("STEP", "{0: (8 - 3*x)/10, 1: (2 + x)/10, 2: x/5}")
    assert check_text(f"{text} check m: delta(ln(11/10)) = 12/25")["ok"]


NESTED = """
mechanism m {
  input x in 0..1
  adjacent all
  go := true
  while go {
    s ~ {0: (3 - x)/4, 1: (1 + x)/4}
    if s > 0 { go := false }
    output s
  }
  while true {
    t ~ {0: (5 - x)/6, 1: (1 + x)/6}
    if t > 0 { output done stop }
    output bot
  }
}
"""


@pytest.mark.parametrize(
    "text",
    [
        NESTED,
        LOOP.replace("output bot", "y ~ {0: (1 + x)/4, 1: (3 - x)/4} output (y, go)").replace(
            "STEP", "{0: (3 - x)/4, 1: (1 + x)/4}"
        ),
    ],
)
def test_cycles_after_others_and_cycles_that_meet_are_left_to_bounds(text):
    (result,) = check_text(text + "compute m: delta(0)")["results"]
    low, high = map(Fraction, result["value"]["enclosure"])
    assert 0 < high - low < Fraction(1, 10**10)


def test_a_side_that_never_stops_leaves_all_pairs_to_bounds():
    text = LOOP.replace("0..1", "0..2").replace("adjacent all", "adjacent abs(x - x') <= 1")
    text = text.replace("STEP", "{0: 1 - x/4, 1: x/4}")
    (result,) = check_text(text + "compute m: delta(0)")["results"]
    assert Fraction(result["value"]["enclosure"][1]) == 1


SMALL = LOOP.replace("STEP", "{0: (3 - x)/4, 1: (1 + x)/4}")


def test_more_ways_than_are_followed_are_left_to_bounds(monkeypatch):
    exact = Fraction(check_text(SMALL + "compute m: delta(0)")["results"][0]["value"]["exact"])
    monkeypatch.setattr(turns, "_MAX_WAYS", 0)
    (result,) = check_text(SMALL + "compute m: delta(0)")["results"]
    low, high = map(Fraction, result["value"]["enclosure"])
    assert low <= exact <= high


@settings(max_examples=20)
@given(waiting(), st.sampled_from(FACTORS))
def test_long_powers_are_rounded_on_both_sides(drawn, factor):
    chain = chain_of(*drawn)
    exact = outcome(chain, compute(delta(ln(str(factor))))).verdict.exact
    graph, (root,) = EndlessPrefixes(chain, chain.neighbors.pairs, Limits()).graph(Limits())
    rows = [turns.series_from(graph, root)]
    with patch.object(turns, "_MAX_BITS", 0), patch.object(turns, "_BITS", 4):
        low, high = (turns.worst_gap(rows, ln(str(factor)), side) for side in (-1, 1))
    bounds = [0 if gap is None else gap.p - fraction(str(factor)) * gap.q for gap in (low, high)]
    assert bounds[0] <= exact <= bounds[1]


def test_what_is_rounded_is_told_as_no_probability(monkeypatch):
    monkeypatch.setattr(turns, "_MAX_BITS", 10)
    report = check_text(
        f"{RARELY} refute m: dp(ln 4, 1/1000) check m: dp(ln 4, 1/10) compute m: delta(ln 4)"
    )
    violated, holds, value = report["results"]
    assert violated["counterexample"]["probabilities"] == []
    assert holds["verdict"] == "holds"
    low, high = map(Fraction, value["value"]["enclosure"])
    assert 0 < high - low < Fraction(1, 10**14)
