"""Loops: long ones, endless ones, and what they cost."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from tests.chains import built_chain, chain_rows
from tests.checking import check_text


def rows_of(body, inputs="0..1"):
    text = f"mechanism m {{ input x in {inputs} adjacent all {body} }}"
    return chain_rows(built_chain(text, "m"), 3)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 129, 3000])
def test_a_silent_loop_ends_after_its_steps_however_many(n):
    rows = rows_of(f"i := 0 while i < {n} + x {{ i := i + 1 }} output i")
    assert rows == [{((str(n + x),), "stopped"): 1} for x in (0, 1)]


@pytest.mark.parametrize("period", [1, 2, 7, 64, 65, 100])
def test_a_silent_loop_that_comes_back_diverges_whatever_its_period(period):
    body = f"i := 0 while i != {period} * x - 1 {{ i := (i + 1) mod {period} }} output i"
    first, second = rows_of(body)
    assert first == {((), "diverged"): 1}
    assert second == {((str(period - 1),), "stopped"): 1}


def test_loops_in_loops_end_or_diverge_run_by_run():
    body = """
      total := 0 i := 0
      while i < 40 {
        j := 0
        while j < i | (x = 2 & j >= 20) { j := j + 1 - (if x = 2 & j = 30 then 1 else 0)
                                          total := if x = 2 then 0 else total + j }
        i := i + 1
      }
      output total
    """
    total = sum(sum(range(1, i + 1)) for i in range(40))
    ended = {((str(total),), "stopped"): 1}
    assert rows_of(body, "0..2") == [ended, ended, {((), "diverged"): 1}]


def test_a_loop_that_draws_needs_no_state_at_its_test():
    body = """
      i := 0
      c := true
      while c & i < 3 { c ~ bernoulli(1/3) i := i + 1 }
      output i
    """
    expected = {
        (("1",), "stopped"): Fraction(2, 3),
        (("2",), "stopped"): Fraction(2, 9),
        (("3",), "stopped"): Fraction(1, 9),
    }
    assert rows_of(body) == [expected, expected]


def test_a_loop_that_draws_only_sometimes_diverges_where_it_does_not():
    body = """
      c := true
      while c { if x = 0 { c ~ bernoulli(1/2) } }
      output 5
    """
    drawing, silent = rows_of(body)
    assert drawing == {(("5",), "stopped"): 1}
    assert silent == {((), "diverged"): 1}


def test_many_inputs_that_meet_in_a_loop_end_as_each_alone():
    text = """
      mechanism m {
        input x in 0..2999
        adjacent abs(x - x') <= 1
        y := x
        while y > 1 { y := y - 2 }
        output y
      }
    """
    rows = chain_rows(built_chain(text, "m"), 3)
    assert rows == [{((str(x % 2),), "stopped"): 1} for x in range(3000)]


def test_a_loop_that_grows_for_ever_reaches_the_limit_on_states():
    text = """
      mechanism m {
        input x in 0..1
        adjacent all
        i := x
        while i >= 0 { i := i + 1 }
        output i
      }
      check m: epsilon = 0
    """
    start = time.process_time()
    (result,) = check_text(text, "--max-states", "3000")["results"]
    # Steps that pass a head count as states; if they did not, there would be 64 times as many.
    assert time.process_time() - start < 5
    assert result["verdict"] == "undecided"
    assert "3000 states" in str(result)
