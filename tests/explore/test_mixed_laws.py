"""Ways that differ in laws of hidden numbers alone: one way, to the mixture of the laws."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck.exact import Rational, add, multiply
from dpcheck.explore.mechanism import followed, given_inputs
from dpcheck.explore.runs.walk import Walk
from dpcheck.explore.tails import laws
from dpcheck.explore.tails.tails import FIRST_ARRIVAL, TailStates, Window
from dpcheck.limits import Limits
from dpcheck.source import SourceText, Span

NOISE = "geometric(q[1], 1/2) unbounded"
OTHER = "geometric(q[2], 1/3) unbounded"

PROGRAMS = {
    "greatest": f"t ~ {NOISE} for i in 1..3 {{ v ~ {OTHER} if v > t {{ t := v }} }} output t > 1",
    "least": f"t ~ {NOISE} for i in 1..3 {{ v ~ {OTHER} if v < t {{ t := v }} }} output t > 0",
    "counted": f"""t ~ {NOISE} var n := 0
      for i in 1..3 {{ v ~ {OTHER} if v >= t {{ n := n + 1 }} }} output n output t > 1""",
    "shown in between": f"""t ~ {NOISE}
      for i in 1..3 {{ v ~ {OTHER} if v >= t {{ output top }} else {{ output bottom }} }}""",
    "shown at last": f"""t ~ {NOISE}
      for i in 1..2 {{ v ~ {OTHER} if v > t {{ t := v }} }} output t""",
    "what is shown tells": f"""t ~ {NOISE} v ~ {OTHER}
      if v > t {{ output above }} else {{ if v = t {{ output equal }} else {{ output below }} }}
      w ~ {OTHER} output w > t""",
    "shown by one line": f"t ~ {NOISE} v ~ {OTHER} output v > t w ~ {OTHER} output w > t",
    "told by a center": f"""t ~ {NOISE} v ~ {OTHER} c := if v > t then 1 else 0
      w ~ geometric(c, 1/3) unbounded output w > t""",
    "two are kept": f"""s ~ {NOISE} t ~ {OTHER}
      for i in 1..2 {{ v ~ {OTHER} if v > t {{ s := v }} }} output s > t""",
    "two apart": f"""s ~ {NOISE} t ~ {OTHER} v ~ {OTHER} w ~ {NOISE}
      if v > t {{ t := v }} if w > s {{ s := w }} output (s > 1, t > 1)""",
    "both ends": f"""t ~ {NOISE} v ~ {OTHER} if v > t {{ t := v }} w ~ {OTHER}
      output (if w > 1 then w > t else w < t)""",
    "sums": f"""t ~ {NOISE} for i in 1..2 {{ v ~ {OTHER} if v + 1 > t {{ t := v }} }}
      w ~ {OTHER} output w - 2 > t""",
    "a place": """var v[1..3] := 0
      for i in 1..3 { v[i] ~ geometric(q[1] * (i mod 2), 1/2) unbounded } output argmax(v)""",
    "in a loop": f"""t ~ {NOISE} var goes := true while goes {{ v ~ {OTHER} goes := v < 3
      if v > t {{ output top }} goes ~ bernoulli(1/2) t ~ {NOISE} }}""",
}


def text_of(statements, more=""):
    return f"""
mechanism m {{
  input q[1..2] in 0..1
  adjacent linf(q, q') <= 1
  {statements}
}}
{more}
"""


def apart(self, part, live, *extra):
    return part


@pytest.mark.parametrize("statements", PROGRAMS.values(), ids=PROGRAMS)
def test_outputs_are_as_where_all_ways_stay_apart(statements, monkeypatch):
    questions = "compute m: delta(ln 2)\ncompute m: epsilon"
    text = text_of(statements, questions)
    found = [str(answer.outcome.verdict) for answer in dpcheck.loads(text).answers()]
    monkeypatch.setattr(Walk, "_mixed", apart)
    assert found == [str(answer.outcome.verdict) for answer in dpcheck.loads(text).answers()]


def n_tails(statements, *, later_neighbors=False):
    """Return how many states of tails are met, those of numbers not yet forgotten too."""
    (check,) = dpcheck.loads(text_of(statements, "check m: dp(1)")).claims
    given = given_inputs(check.target, later_neighbors=later_neighbors, limits=Limits())
    found = followed(given)
    return len(found.starts.tails.states.states)


@pytest.mark.parametrize("n", [8, 16])
def test_of_the_greatest_it_is_known_how_many_came_beyond(n):
    """And not which of them was greater than those before it: that were 3^n states."""
    drawn = "v ~ geometric(q[2], 1/2) unbounded"
    statements = f"t ~ {NOISE} for i in 1..{n} {{ {drawn} if v > t {{ t := v }} }} output t > 1"
    assert n_tails(statements) < 20 * n


def test_mixtures_do_not_depend_on_inputs():
    """What came beyond the window lost to what is there with one chance, whatever its center."""
    kept = [
        n_tails(
            f"t ~ {NOISE} for i in 1..4 {{ v ~ geometric({c}, 1/2) unbounded"
            " if v > t { t := v } } output t > 1"
        )
        for c in ("q[2]", "0")
    ]
    assert kept[0] == kept[1]


def test_mixed_laws_have_the_shares_of_their_parts():
    levels, _ = next(iter(laws.with_gaps_known(laws.NO_LEVELS, 0)))
    (top,) = (p for p in laws.places(levels, Rational(1, 2)))
    one = top.levels
    lower = [p.levels for p in laws.places(one, Rational(1, 3))]
    parts = [laws.without(each, 1) for each in lower if len(each.bases) == 2]
    shares = [Rational(1, 4), Rational(3, 4)]
    both = laws.mixed(list(zip(parts, shares, strict=True)))
    for step in range(1, 6):
        expected = 0
        for part, share in zip(parts, shares, strict=True):
            expected = add(expected, multiply(share, laws.chance(part, step)))
        assert laws.chance(both, step) == expected


def test_states_that_are_compared_draw_by_draw_stay_apart(monkeypatch):
    """Which of them are neighbors hangs on all that they remember."""
    mixed = [n_tails(PROGRAMS["counted"], later_neighbors=later) for later in (False, True)]
    monkeypatch.setattr(Walk, "_mixed", apart)
    told = [n_tails(PROGRAMS["counted"], later_neighbors=later) for later in (False, True)]
    assert mixed[0] != told[0]
    assert mixed[1] == told[1]


def test_states_are_mixed_by_their_weights_where_they_know_the_same_gaps():
    """With apart = 1 it is known of each whether it is next to the window."""
    span = Span(SourceText("test.dpm", "v"), 0, 1)
    tails = TailStates(Window(0, 1, apart=1))

    def arrived(ratio):
        ways = tails.arriving(0, ratio, span, is_above=True)
        return [tails.arrivals[code - FIRST_ARRIVAL].state for code, _ in ways]

    next_one, far = arrived(Rational(1, 2))
    _, other_far = arrived(Rational(1, 3))
    assert tails.mixed([next_one, far], [1, 1]) == (next_one, far)
    evenly, otherwise = (tails.mixed([far, other_far], [1, n]) for n in (1, 3))
    assert evenly[0] == evenly[1] not in (far, other_far, *otherwise)
    assert tails.mixed([far, other_far], [2, 2]) == evenly


@pytest.mark.parametrize(
    "loop",
    [
        "{ v ~ NOISE  n := if v > t then 1 else 2  n := 0  goes ~ bernoulli(1/2) }",
        "{ v ~ NOISE  goes := !(v in 1..2 | v > t & v in 1..2) }",
        "{ v ~ NOISE  if v > t { n := 1 } else { n := 1 }  goes ~ bernoulli(1/2) }",
    ],
    ids=["forgets", "reads the window", "goes on alike"],
)
def test_loops_that_learn_nothing_of_a_number_may_compare_it_for_ever(loop):
    """A mixture of all that a comparison may come to is what was known before it."""
    statements = f"""t ~ {NOISE} n := 0 goes := true
      while goes {loop.replace("NOISE", "geometric(0, 1/2) unbounded")}
      output t > 1"""
    claims = "check m: epsilon = ln 2"
    assert [answer.is_ok for answer in dpcheck.loads(text_of(statements, claims)).answers()] == [
        True
    ]
