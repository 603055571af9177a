"""The walk of batches through deterministic code: mistakes, masks, and rows that become one."""

from __future__ import annotations

import pytest

from dpcheck.explore import explore
from dpcheck.limits import Limits
from tests.chains import built_chain, chain_rows
from tests.checking import check_text
from tests.explore.building import branches, mechanism, op, scalar
from tests.numbers import rational


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("var k in 0..2 := 0 k := x y := k", "DP502"),
        ("var k in 0..2 := 0 k ~ {x: 1/2, 0: 1/2} y := k", "DP502"),
        ("a[x] := 1 y := a[1]", "DP501"),
        ("y := 1 / x", "DP207"),
        ("y ~ bernoulli(x)", "DP201"),
        ("y := (if x > 1 then true else x) + 1", "DP504"),
        ("(y, z) := if x > 2 then (1, 2) else (1, 2, 3)", "DP506"),
    ],
)
def test_mistakes_of_runs_are_found_at_every_statement(statement, code):
    text = f"""mechanism m {{
      input x in 0..3
      adjacent all
      var a[0..1] := 0
      z := 0
      {statement}
      output (y, z, a)
    }}
    check m: epsilon = 1"""
    report = check_text(text)
    assert code in {found["code"] for found in report["errors"]}, report["errors"]


THRESHOLD = """
mechanism m {
  input d in 0..1
  adjacent all
  noisy ~ uniform(0..2)
  answer ~ geometric(d, 1/3) clamped -3..3
  if answer >= noisy { output top; stop }
  output bot
}
"""


def test_rows_that_agree_in_all_that_matters_keep_their_weights():
    for row in chain_rows(built_chain(THRESHOLD, "m"), 3):
        assert sum(row.values()) == 1


def test_results_that_are_forgotten_still_keep_runs_in_lock_step():
    """Of the results of the first `~`, both inputs may give 3 only; the rest forgets it."""
    quarter = rational("0.25")
    results = [(op("+", op("*", 3, "x"), k), quarter) for k in range(4)]
    body = [
        ("~", "y", branches(*results)),
        ("output", 1),
        ("~", "z", branches((0, op("/", op("+", "x", 1), 4)), (1, op("/", op("-", 3, "x"), 4)))),
        ("output", "z"),
    ]
    made = mechanism([scalar("x", range(2))], body)
    explored = explore(made, later_neighbors=True, limits=Limits())
    assert len(explored.chain.neighbors.later) == 1
