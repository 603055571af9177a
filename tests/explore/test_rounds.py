"""Rounds of a loop: a batch that is known is what exploring it would give."""

import re

import pytest

from dpcheck.explore import few
from dpcheck.explore.rounds import Rounds, _is_same
from dpcheck.explore.runs import walk
from dpcheck.explore.runs.raw_graph import Explorer
from tests.checking import check_text
from tests.explore.building import c

BODIES = {
    "the same": "a ~ geometric(d, 1/2) clamped 0..3  output a >= 2",
    "a number of the round": "a ~ geometric(d, 1/2) clamped 0..3  output a >= i",
    "one round is another": "a ~ geometric(if i = 3 then 1 else d, 1/2) clamped 0..3  output a",
    "what came before": "a ~ geometric(d, 1/2) clamped 0..3  n := (n + a) mod 3  output n",
    "two draws": "a ~ bernoulli(1/4)  b ~ geometric(d, 1/2) clamped 0..3  output (a, b > 1)",
    "two outputs": "a ~ geometric(d, 1/2) clamped 0..3  output a > n  n := min(n + a, 3)  output n",
    "a stop": "a ~ geometric(d, 1/2) clamped 0..3  if a > 2 { output a; stop }  output 0",
    "silence": "a ~ geometric(d, 1/2) clamped 0..3  if a > 2 { n := (n + 1) mod 2 }",
    "two ways to one output": "a ~ bernoulli(1/2)  if a { output d > 1 } else { output 0 }",
    "an output that another round follows": (
        "a ~ bernoulli(1/2)  if a { output d > 1  if i = 1 { b ~ bernoulli(1/3)  output b } }"
        " else { output d > 1 }"
    ),
    "outputs that other rounds follow": (
        "a ~ bernoulli(1/2)  if a { output d > 1  if i = 4 { b ~ bernoulli(1/3)  output b } }"
        " else { output d > 1 }"
    ),
    "ways that meet in some rounds": (
        "a ~ geometric(d, 1/2) clamped 0..3"
        "  if a > 1 { n := 1  if i = 4 { n := 0 } } else { n := 0 }  output n  n := 0"
    ),
    "a loop without end": (
        "a ~ bernoulli(1/2)  while n < 3 { n := n + 1 }  n := n - 3  output (a, d > 1)"
    ),
    "a loop that draws again": "b := 1  while b = 1 { b ~ {0: 1/2, 1: 1/2} }  output b + d",
    "loops that draw again, one in the other": (
        "b := 1  while b = 1 { b ~ {0: 1/2, 1: 1/2}  while n > 0 { n ~ {0: 1/3, 2: 2/3} } }"
        "  output n + d"
    ),
    "an array": "a ~ geometric(d, 1/2) clamped 0..3  q[i] := a  q[1] := 1  output sum(q) > 2",
    "a tuple": "a ~ geometric(d, 1/2) clamped 0..3  (n, b) := (a mod 2, a)  output b > 1",
    "a mistake": "a ~ geometric(d, 1/2) clamped 0..3  n := n + 1  output 1 div (3 - n)",
}


def text_of(body, last):
    """Return a mechanism that runs the body in five rounds, and claims about it."""
    return f"""mechanism m {{
  input d in 0..3
  adjacent abs(d - d') <= 1
  n := 0
  var q[1..5] := 0
  for i in 1..5 {{
    {body.replace("  ", chr(10))}
  }}
  output {last}
}}
compute m: epsilon
compute m: delta(ln 2)
check m: dp(ln 3)
"""


def report_of(body, last="n"):
    """Return what is reported, without times and places."""
    return re.sub(r"'seconds': [0-9.e-]+|/tmp/[^':]*", "", str(check_text(text_of(body, last))))


@pytest.mark.parametrize("last", ["n", "0"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_known_batch_leads_to_what_exploring_it_leads_to(body, last, monkeypatch):
    monkeypatch.setattr(few, "MAX_FEW", 0)
    monkeypatch.setattr(walk, "MAX_PASSING", 0)
    known = report_of(body, last)
    monkeypatch.setattr(Rounds, "_is_kept", lambda *_: False)
    assert known == report_of(body, last)


@pytest.mark.parametrize(
    ("kind", "n_draws"), [("the same", 2), ("a number of the round", 5), ("silence", 4)]
)
def test_rounds_that_look_alike_are_explored_once_they_differ_no_more(kind, n_draws, monkeypatch):
    monkeypatch.setattr(few, "MAX_FEW", 0)
    draws = []
    draw = Explorer._draw
    monkeypatch.setattr(Explorer, "_draw", lambda *given: draws.append(1) or draw(*given))
    report_of(BODIES[kind])
    assert len(draws) == n_draws


def test_constants_that_are_equal_in_python_only_are_different():
    assert _is_same(c(1), c(1))
    assert not _is_same(c(1), c(True))
    assert not _is_same(c((1, 2)), c((True, 2)))
