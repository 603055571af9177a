"""Loops that count their rounds: how many draws a number may meet there."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck import loads
from dpcheck.chain.chain import NeighborRelation
from dpcheck.explore.mechanism import followed, given_inputs
from dpcheck.explore.programs.liveness import draws_of, flow_of
from dpcheck.explore.runs import stages
from dpcheck.explore.runs.orders import Orders
from dpcheck.explore.runs.raw_graph import Starts
from dpcheck.explore.tails.tails import Tails, Window
from dpcheck.limits import Limits
from dpcheck.model.program import Output

DRAW = "y ~ geometric(0, 1/4) unbounded"
COIN = "b ~ bernoulli(1/2)"
NOBODY = NeighborRelation(np.empty((0, 2), np.int64))
HIT = "if y > t { c := c + 1 }"


def given(body):
    """Return a program with a number that it keeps to its end."""
    text = f"""
mechanism m {{
  input x in 0..1
  public k in 2..4
  adjacent all
  t ~ geometric(x, 1/2) unbounded
  y := 0  c := 0  n := 0  {body}
  output y > t
}}
check m: dp(1)
"""
    (check,) = loads(text).claims
    return given_inputs(check.target, limits=Limits())


def starts_of(body):
    """Return where runs of the program start, without a run."""
    known = given(body)
    tails = Tails(known.wide, Window(), known.table)
    flow, sizes = flow_of(known.mechanism, known.kept, tails), (known.n_inputs, known.table)
    return Starts(known.mechanism, flow, known.inputs, *sizes, known.limits, tails, labelled=False)


def n_draws(body):
    """Return how many draws follow the one that is kept; None: endless ones."""
    starts = starts_of(body)
    (found,) = Orders({}, starts, starts.tails, NOBODY).n_draws
    total = found[starts.mechanism.entry]
    return None if total is None else total - 1


def n_drawn(body, names):
    """Return how many numbers were drawn before the end, the one that is kept too."""
    starts = starts_of(body)
    found = stages.stages_of(starts)
    draws = dict.fromkeys(draws_of(starts.flow, starts.tails, 0), 1)
    nodes = starts.mechanism.nodes
    end = next(k for k, node in enumerate(nodes) if isinstance(node, Output))
    return found.drawn_before(names, draws)[end]


LOOPS = {
    f"for i in 1..5 {{ {DRAW} }}": 5,
    f"while n < 3 {{ {DRAW}  n := n + 1 }}": 3,
    f"while true {{ {DRAW}  n := n + 1  if n > 3 {{ break }} }}": 4,
    f"while y > t & n < 3 {{ {DRAW}  n := n + 1 }}": 3,
    f"{COIN}  while (b | n < 2) & n < 6 {{ {DRAW}  n := n + 1 }}": 6,
    f"{COIN}  while b | n < 2 {{ {DRAW}  {COIN}  n := min(n + 1, 2) }}": None,
    f"while n < 3 & c < 2 {{ {DRAW}  {HIT}  n := n + 1 }}": 3,
    f"while c < 2 {{ {DRAW}  {HIT} }}": None,
    f"while y > t {{ {DRAW} }}": None,
    f"while n < 3 {{ c := 0  while c < 2 {{ {DRAW}  c := c + 1 }}  n := n + 1 }}": 6,
    f"last := false  while !last {{ {DRAW}  n := n + 1  last := n = 4 }}": 4,
    f"while n < k {{ {DRAW}  n := n + 1 }}": 4,
    f"n := k  m := k  while n < m + 3 {{ {DRAW}  n := n + 1 }}": 3,
    f"n := k  while n < 4 {{ {DRAW}  n := n + 1 }}": 2,
    f"for i in 1..k {{ {DRAW} }}": 4,
    f"b := false  b ~ bernoulli(if b then 1/2 else 1/3)  while b {{ {DRAW} }}": None,
    f"{COIN}  while b {{ {COIN}  c := if b then c else 1 }}"
    f"  while n < 3 & c < 2 {{ {DRAW}  n := n + 1 }}": 3,
}

ROUNDS = f"for i in 1..n {{ {DRAW} }}"

DRAWN = {
    f"n ~ uniform(1..3)  {ROUNDS}": 3,
    f"n ~ uniform(1..3)  repeat n {{ {DRAW} }}": 3,
    f"n ~ uniform(1..3)  i := 1  while i <= n {{ {DRAW}  i := i + 1 }}": 3,
    f"n ~ uniform(1..k)  {ROUNDS}": 4,
    f"n ~ {{2: 1/2, 5: 1/2}}  {ROUNDS}": 5,
    f"n ~ {{2 * i: 1/3 for i in 0..5 where i mod 2 = 0}}  {ROUNDS}": 8,
    f"n ~ binomial(3, 1/2)  {ROUNDS}": 3,
    f"n ~ geometric(x, 1/2) clamped -1..4  {ROUNDS}": 4,
    f"n ~ geometric_positive(1/2) conditioned 0..k  {ROUNDS}": 4,
    f"{COIN}  n := if b then 2 else 5  {ROUNDS}": 5,
    f"{COIN}  n ~ if b then uniform(1..2) else uniform({{4, 6}})  {ROUNDS}": 6,
    f"b := y > t  n ~ {{1: if b then 1/2 else 1/3, 2: if b then 1/2 else 2/3}}  {ROUNDS}": 2,
    f"b := y > t  n ~ if b then uniform(1..2) else uniform({{4, 6}})  {ROUNDS}": None,
    f"n ~ uniform(1..3)  m ~ uniform(0..n)  for i in 1..m {{ {DRAW} }}": 3,
    f"n ~ uniform(1..3)  while c < n {{ {DRAW}  n ~ uniform(1..3)  c := c + 1 }}": 3,
    f"n ~ uniform(1..3)  while c != n {{ {DRAW}  n ~ uniform(1..3)  c := c + 1 }}": None,
    f"n ~ uniform(1..3)  while c != n {{ {DRAW}  c := c + 1 }}": 3,
}


@pytest.mark.parametrize(("body", "n"), DRAWN.items(), ids=DRAWN)
def test_rounds_that_are_drawn_are_at_most_the_greatest_number_of_these(body, n):
    assert n_draws(body) == n


ARRAY, PAIR = "var v[0..2] := 0", "s := (0, 0)"

PARTS = {
    f"{ARRAY}  while v[1] < 3 {{ {DRAW}  v[1] := v[1] + 1 }}": 3,
    f"{ARRAY}  i := 0  while v[i] < 3 {{ {DRAW}  v[i] := v[i] + 1  i := 1 - i }}": 6,
    f"{ARRAY}  while sum(v) < 3 {{ {DRAW}  i ~ uniform(0..2)  v[i] := v[i] + 1 }}": 3,
    f"{ARRAY}  while v[0] < 3 {{ {DRAW}  i ~ uniform(0..1)  v[i] := v[i] + 1 }}": None,
    f"{ARRAY}  i := 1  while v[i] < 3 {{ {DRAW}  v[2 * i] := if y > t then 1 else 2"
    f"  v[i] := v[i] + 1 }}": 3,
    f"{ARRAY}  i := if y > t then 1 else 0  while v[2] < 3 {{ {DRAW}  v[i] := 5"
    f"  v[2] := v[2] + 1 }}": None,
    f"{PAIR}  while s[1] < 3 {{ {DRAW}  s := (s[1] + 1, s[2]) }}": 3,
    f"{PAIR}  while s[1] < 3 {{ {DRAW}  s := (s[1] + 1, if y > t then 1 else 0) }}": 3,
    f"{PAIR}  while s[1] < 3 {{ {DRAW}  s := (s[2] + 1, s[1]) }}": 5,
    f"{PAIR}  while s[1] < 3 {{ {DRAW}  (c, d) := s  s := (c + 1, y > t) }}": 3,
    f"{PAIR}  r := s  while r[1] < 3 {{ {DRAW}  s := (s[1] + 1, y > t)  r := s }}": 3,
    f"(c, d) := (0, y > t)  while c < 3 {{ {DRAW}  (c, d) := (c + 1, y > t) }}": 3,
    f"s ~ {{(1, 2): 1/2, (2, 4): 1/2}}  while c < s[2] {{ {DRAW}  c := c + s[1] }}": 2,
    f"{PAIR}  while s != (2, 2) {{ {DRAW}  s := (s[1] + 1, s[2] + 1) }}": 2,
    f"{PAIR}  while s[1] < 3 {{ {DRAW}  s := if y > t then (s[1] + 1, 0) else (s[1], 1) }}": None,
}


@pytest.mark.parametrize(("body", "n"), PARTS.items(), ids=PARTS)
def test_cells_and_components_count_rounds(body, n):
    assert n_draws(body) == n


@pytest.mark.parametrize(("body", "n"), LOOPS.items(), ids=LOOPS)
def test_draws_are_counted_along_rounds_that_variables_count(body, n):
    assert n_draws(body) == n
    assert n is None or n_drawn(body, {"t", "y"}) == n + 1


@pytest.mark.parametrize(
    ("body", "kept", "total"),
    [
        (f"for i in 1..3 {{ t ~ geometric(0, 1/2) unbounded  {DRAW}  c := y > t }}", 2, 7),
        (f"while n < 3 {{ n := n + 1  t ~ geometric(0, 1/2) unbounded  {DRAW} }}", 2, 7),
        (f"{COIN}  while b {{ {COIN}  t ~ geometric(0, 1/2) unbounded  {DRAW} }}", 2, None),
        (f"if x = 0 {{ t ~ geometric(0, 1/2) unbounded }}  {DRAW}", 2, 3),
    ],
)
def test_draws_count_from_where_two_runs_keep_none_if_they_draw_alike(body, kept, total):
    assert n_drawn(body, {"t", "y"}) == kept
    assert n_drawn(body, None) == total


def test_moves_are_counted_along_rounds():
    found = followed(given(f"while n < 7 {{ t := t - 1  n := n + 1 }}  output t > 3  {DRAW}"))
    assert found.starts.tails is not None
    orders = Orders(found.seen.shown, found.starts, found.starts.tails, NOBODY)
    assert orders.moved[found.starts.mechanism.entry] == 7


@pytest.mark.parametrize(("most", "wanted"), [(1000, 3), (25, 4), (1, None)])
def test_where_stages_are_many_less_is_known(most, wanted, monkeypatch):
    """Of k nothing is known first, and then of n, too."""
    monkeypatch.setattr(stages, "MAX_STAGES", most)
    assert n_draws(f"while n < 4 & n < k - 1 {{ {DRAW}  n := n + 1 }}") == wanted


A, B, D = (f"{name} ~ geometric(0, 1/2) clamped -20..20" for name in "abd")
DIGITS = "var v[1..4] := 0  for i in 1..4 { v[i] ~ uniform(1..9) }"

CROWDED = {
    f"n ~ uniform(1..3)  {ROUNDS}": 3,
    f"n ~ uniform(1..3)  for i in 1..n {{ {DRAW}  {A}  {B}  if a < b {{ stop }} }}": 3,
    f"{A}  {B}  {D}  if a < b & b < d {{ c := 1 }}  n ~ uniform(1..3)  {ROUNDS}": 3,
    f"{DIGITS}  n ~ uniform(1..3)  for i in 1..n {{ {DRAW}  if v[i] > 3 {{ stop }} }}": None,
}


@pytest.mark.parametrize(("body", "wanted"), CROWDED.items(), ids=CROWDED)
def test_of_draws_with_many_values_less_is_known_where_stages_are_many(body, wanted):
    assert n_draws(body) == wanted


def test_without_loops_nothing_is_told_apart():
    starts = starts_of(f"if k > 2 {{ {DRAW} }}  if k > 3 {{ {DRAW} }}")
    assert sorted(stages.stages_of(starts).nodes) == list(range(len(starts.flow.nodes)))
