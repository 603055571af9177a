"""The best of an array, kept while it is drawn: as where all cells are told apart."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import accumulate

import pytest

import dpcheck
from dpcheck.explore import mechanism
from dpcheck.explore.programs import running_best
from dpcheck.explore.programs.running_best import with_running_best

DRAWS = "for i in 1..3 { v[i] ~ NOISE(q[i]) }"

KEPT = {
    "argmax": f"{DRAWS} output argmax(v)",
    "argmin": f"{DRAWS} output argmin(v)",
    "bound": f"{DRAWS} output argmax(i in 1..3 : v[i])",
    "some": f"{DRAWS} output argmin(i in 2..3 : v[i])",
    "greatest": f"{DRAWS} output max(v)",
    "of three": f"{DRAWS} output min(v[3], v[1], v[2])",
    "chosen": f"{DRAWS} output v[argmax(v)]",
    "at its place": f"{DRAWS} a := argmax(v) output a output v[a] > 1",
    "at its place from 0 on": """var w[0..2] := 0 for i in 0..2 { w[i] ~ NOISE(q[i + 1]) }
      a := argmin(w) output a output w[a] > 1""",
    "at one of two places": f"""{DRAWS} if q[1] = 0 {{ a := argmax(v) output v[a] > 1 }} else
      {{ a := argmin(v) output v[a] > 1 }}""",
    "not always drawn": f"if q[1] = 0 {{ {DRAWS} }} output argmax(v)",
    "uniform": "for i in 1..3 { v[i] ~ uniform(q[i]..3) } output argmax(v)",
    "binomial": "for i in 1..3 { v[i] ~ binomial(2, 1/3) } output argmax(i in 1..3 : q[i] + v[i])",
    "listed": """for i in 1..3 {
      v[i] ~ if q[i] = 0 then {0: 1/2, 2: 1/2} else {k: k/6 for k in 1..3}
    } output argmin(v)""",
    "compared": f"{DRAWS} if max(v) > 1 {{ output argmax(v) }} else {{ output 0 }}",
    "both ways": f"{DRAWS} output (argmax(v), argmin(v))",
    "backwards": "v[3] ~ NOISE(q[3]) v[2] ~ NOISE(q[2]) v[1] ~ NOISE(q[1]) output argmax(v)",
    "backwards, least": "v[3] ~ NOISE(q[3]) v[2] ~ NOISE(1) v[1] ~ NOISE(1) output argmin(v)",
    "moved": "for i in 1..3 { z ~ NOISE(0) v[i] := q[i] + z } output argmax(v)",
    "added": f"{DRAWS} output argmax(i in 1..3 : q[i] + v[i])",
    "index added": f"{DRAWS} output argmin(i in 2..3 : v[i] + i)",
    "input added, twice": f"""{DRAWS} if max(i in 1..3 : v[i] + q[1]) > 1
      {{ output argmax(j in 1..3 : v[j] + q[1]) }} else {{ output 0 }}""",
    "twice": f"{DRAWS} output argmax(v) {DRAWS} output argmax(v)",
    "asked twice": f"{DRAWS} output argmax(v) output argmax(v) = argmin(v)",
    "in a loop": f"var n := 0 while n < 2 {{ {DRAWS} output argmax(v) n := n + 1 }}",
    "if not stopped": f"{DRAWS} if q[1] = 0 {{ output 0 stop }} output argmax(v)",
    "of another": f"""var w[1..3] := 0 {DRAWS} for i in 1..3 {{ w[i] ~ NOISE(0) }}
      output v[argmax(w)] > 1""",
    "two arrays": f"""var w[0..1] := 0 {DRAWS} for i in 0..1 {{ w[i] ~ NOISE(q[i + 1]) }}
      output (argmax(v), argmax(w))""",
    "side by side": """var w[1..3] := 0 for i in 1..3 { v[i] ~ NOISE(q[i]) w[i] ~ NOISE(0) }
      output (argmax(v), argmax(w))""",
}

TOLD_APART = {
    "another reader": f"{DRAWS} output argmax(v) output v[1] > 0",
    "two questions": f"{DRAWS} output (argmax(v), argmax(i in 1..2 : v[i]))",
    "two sums": f"{DRAWS} output (argmax(i in 1..3 : v[i] + q[i]), argmax(i in 1..3 : v[i] + i))",
    "chosen by a sum": f"{DRAWS} output v[argmax(i in 1..3 : v[i] + q[i])]",
    "added what is drawn": f"b ~ bernoulli(1/2) a := if b then 1 else 0 {DRAWS} "
    "output argmax(i in 1..3 : v[i] + (if i = 2 then a else 0))",
    "added what changes": f"a := q[1] {DRAWS} a := q[2] output argmax(i in 1..3 : v[i] + a)",
    "some of a range": f"{DRAWS} output argmax(i in 1..3 where i != 2 : v[i])",
    "out of order": "v[2] ~ NOISE(1) v[1] ~ NOISE(1) v[3] ~ NOISE(q[3]) output argmax(v)",
    "asked in between": """v[1] ~ NOISE(q[1]) v[2] ~ NOISE(q[2]) v[3] ~ NOISE(q[3]) output argmax(v)
      v[1] ~ NOISE(q[2]) v[2] ~ NOISE(q[3]) output argmax(v) v[3] ~ NOISE(1) output argmax(v)""",
    "drawn anew in part": f"{DRAWS} v[2] ~ NOISE(q[3]) output argmax(v)",
    "drawn anew in part on some ways": f"{DRAWS} output argmax(v) "
    "if q[1] = 0 { v[2] ~ NOISE(q[3]) } output argmax(v)",
    "drawn on some ways": "for i in 1..3 { if q[i] > 0 { v[i] ~ NOISE(q[i]) } } output argmax(v)",
    "drawn in part by a loop": """v[1] ~ NOISE(q[1]) v[2] ~ NOISE(q[2]) v[3] ~ NOISE(1) var n := 0
      while n < 2 { v[1] ~ NOISE(q[3]) output argmax(v) n := n + 1 }""",
    "entered in between": f"""{DRAWS} output argmax(v) var n := 0
      while n < 2 {{ if n = 1 {{ v[1] ~ NOISE(q[3]) }}
      v[2] ~ NOISE(q[2]) v[3] ~ NOISE(1) output argmax(v) n := n + 1 }}""",
    "left in between": """v[1] ~ NOISE(q[1]) if q[2] > 0 { output 0 }
      v[2] ~ NOISE(q[2]) v[3] ~ NOISE(q[3]) if q[1] > 0 { output 0 } output argmax(v)""",
    "drawn anew before it is read": f"{DRAWS} a := argmax(v) {DRAWS} output v[a] > 1",
    "at a place given twice": f"{DRAWS} a := argmax(v) if q[2] = 0 {{ a := 2 }} output v[a] > 1",
    "none of a range": f"""{DRAWS} if q[1] > 1 {{ output max(i in 3..2 : v[i]) }}
      output argmax(v)""",
    "cells chosen": f"{DRAWS} v[q[1] + 1] ~ NOISE(q[3]) output argmax(v)",
    "inputs": "output argmax(q)",
}


def text_of(statements, policy="unbounded"):
    noise = re.sub(r"NOISE\((.*?)\)(?= |$)", rf"geometric(\1, 1/3) {policy}", statements)
    return f"""
mechanism m {{
  input q[1..3] in 0..1
  adjacent linf(q, q') <= 1
  var v[1..3] := 0
  {noise}
}}
check m: dp(1)
"""


def rows(text):
    return dpcheck.loads(text).target("m").output_distributions()


@pytest.mark.parametrize("policy", ["unbounded", "clamped -2..3"])
@pytest.mark.parametrize("statements", [*KEPT.values(), *TOLD_APART.values()])
def test_outputs_are_as_where_cells_are_told_apart(statements, policy, monkeypatch):
    text = text_of(statements, policy)
    kept = rows(text)
    monkeypatch.setattr(mechanism, "with_running_best", lambda program: program)
    assert kept == rows(text)


def target_of(statements, policy="unbounded"):
    (check,) = dpcheck.loads(text_of(statements, policy)).claims
    return check.target


@pytest.mark.parametrize("statements", KEPT.values(), ids=KEPT)
def test_best_is_kept(statements):
    target = target_of(statements)
    assert with_running_best(target) is not target


@pytest.mark.parametrize("statements", TOLD_APART.values(), ids=TOLD_APART)
def test_cells_are_told_apart_where_more_may_be_read(statements):
    target = target_of(statements)
    assert with_running_best(target) is target


@pytest.mark.parametrize("asked", ["sum(v)", "sum(i in 2..3 : v[i])"])
def test_sum_is_kept(asked, monkeypatch):
    statements, policy = f"{DRAWS} output {asked}", "clamped -2..3"
    target = target_of(statements, policy)
    assert with_running_best(target) is not target
    kept = rows(text_of(statements, policy))
    monkeypatch.setattr(mechanism, "with_running_best", lambda program: program)
    assert kept == rows(text_of(statements, policy))


def test_many_questions_take_one_look_at_the_program(monkeypatch):
    looks = []
    found = running_best.flow_of
    monkeypatch.setattr(running_best, "flow_of", lambda *of: looks.append(of) or found(*of))
    many = "".join(f"a{k} ~ NOISE(1) b{k} ~ NOISE(1) output max(a{k}, b{k}) " for k in range(20))
    target = target_of(many)
    assert with_running_best(target) is not target
    assert len(looks) == 1


def test_memory_says_of_which_cells_the_best_is():
    """A state is told as what it is: a cell that is not drawn is no part of a maximum."""
    draws = """v[1] ~ NOISE(q[1]) output 1 v[2] ~ NOISE(q[2]) v[3] ~ NOISE(q[3]) output 2
      if max(v) > 1 { output argmax(v) } else { output sum(v) > 0 }"""
    text = text_of(draws, "clamped -1..2")
    told = [
        str(dpcheck.loads(f"{text}check m: P>0 [ {'X ' * k}P<0 [ X output > 0 ] ]").answers()[-1])
        for k in (1, 2)
    ]
    kept = ("argmax(v)", "max(v)", "sum(v)")
    for text, so_far in zip(told, (" so far", ""), strict=True):
        for each in kept:
            assert f" {each}{so_far} = " in " ".join(text.split())


def test_mistake_is_about_a_number_that_is_drawn():
    """Nobody can draw `max(v)` with bounds."""
    endless = f"{DRAWS} var goes := true while goes {{ w ~ NOISE(1) goes := max(v) > w }} output 1"
    with pytest.raises(dpcheck.ModelError, match=r"draw `v\[1\]` `clamped") as found:
        rows(text_of(endless))
    assert "`max(v)`" not in str(found.value)


@pytest.mark.parametrize(
    "drawn",
    [
        "{top: 1/2, 1: 1/2}",
        'uniform({"top", 1})',
        '{if k = 1 then "top" else k: k/6 for k in 1..3}',
        'if q[i] = 0 then uniform(0..1) else uniform({"top", 1})',
    ],
)
def test_what_may_be_no_number_is_told_apart(drawn):
    """Mistakes of `argmax` name what it was asked of."""
    with pytest.raises(dpcheck.ModelError, match=r"`argmax` needs a number, not the symbol top"):
        rows(text_of(f"for i in 1..3 {{ v[i] ~ {drawn} }} output argmax(v)"))


def test_cell_that_an_array_does_not_have_is_a_mistake():
    with pytest.raises(dpcheck.ModelError, match=r"index 4 is outside 1\.\.3"):
        rows(text_of(f"{DRAWS} output argmax(i in 1..4 : v[i])"))


def test_twenty_numbers_are_not_told_apart():
    """There are 9^20 tuples; the last is the first greatest if all others are less."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  var v[1..20] := 0
  for i in 1..20 { v[i] ~ geometric(0, 1/2) clamped -4..4 }
  output argmax(v)
}
"""
    (at_zero, _) = rows(text).values()
    chances = [Fraction(1, 3 * 2 ** abs(j)) * (2 if abs(j) == 4 else 1) for j in range(-4, 5)]
    below = accumulate(chances, initial=Fraction(0))
    expected = sum(chance * less**19 for chance, less in zip(chances, below, strict=False))
    assert sum(chances) == 1
    assert at_zero["20"] == expected


def test_loop_without_end_that_begins_the_program():
    """Above 1 is a number with probability 1/6, one of two with 1 - (5/6)^2."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  while true {
    a ~ geometric(0, 1/2) unbounded
    b ~ geometric(0, 1/2) unbounded
    output max(a, b) > 1
  }
}
check m: P>=11/36 [ X X output = true ]
check m: P<=11/36 [ X X output = true ]
"""
    assert [answer.is_ok for answer in dpcheck.loads(text).answers()] == [True, True]
