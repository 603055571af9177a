"""Batches of few rows, walked on lists: the same chain as on arrays, states in the same order."""

from __future__ import annotations

import random
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from dpcheck.exact import rational
from dpcheck.explore import few
from dpcheck.explore.lists import Unusual, formula
from dpcheck.explore.mechanism import mechanism_chain
from dpcheck.explore.values.codes import FIRST_FAULT, UNASSIGNED, ValueTable
from dpcheck.explore.values.evaluate import Frame, comparison, evaluated, truths
from dpcheck.limits import Limits
from tests.chains import built_chain, chain_rows
from tests.explore.building import branches, c, mechanism, op, scalar, v
from tests.explore.test_columns import POOL, SMALL, Expressions
from tests.oracle.programs import programs

LARGE = [1, 2, 2**31, -(2**31), 2**60, -(2**60), 2**61 - 1]

random_programs = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ],
)


@contextmanager
def few_rows(most):
    """Walk batches of at most so many rows on lists."""
    before, few.MAX_FEW = few.MAX_FEW, most
    try:
        yield
    finally:
        few.MAX_FEW = before


def arrays_of(text, most):
    """Return all of a chain that a number stands in, with what it shows written out."""
    with few_rows(most):
        chain = built_chain(text, "m")
    shown = [chain.observation_text(k) for k in chain.observation.tolist() if k >= 0]
    states = [chain.state_text(s) for s in range(chain.n_states)]
    arrays = (chain.indptr, chain.targets, chain.numerators, chain.denominators, chain.observation)
    pairs = chain.neighbors.pairs.tolist()
    return [a.tolist() for a in arrays], pairs, shown, states, chain.stopped, chain.diverged


@random_programs
@given(programs())
def test_a_walk_on_lists_builds_the_chain_that_a_walk_on_arrays_builds(text):
    on_arrays = arrays_of(text, 0)
    assert arrays_of(text, few.MAX_FEW) == on_arrays
    assert arrays_of(text, 5) == on_arrays


STATEMENTS = """
mechanism m {
  input x in 0..3
  input w[1..2] in {red, green}
  adjacent all
  var a[0..2] in 0..9 := 0
  var y in 0..9 := 0
  n := 0
  (p, q) := (x, w[1])
  a[x mod 3] := x + 1
  while n < 3 {
    coin ~ if w[2] = red then bernoulli(1/2) else bernoulli(1/3)
    if coin { n := n + 1; a[n - 1] := min(a[n - 1] + p, 9) } else { n := n + 2 }
    y ~ geometric(n, 1/2) clamped 0..9
    z ~ {i: 1 + i for i in 0..n} normalized
    if y > z & !(y = 7) | q = green { output (a, y div 2) }
  }
  while a[0] > 0 { a[0] := a[0] - 1 }
  output clamp(n, 0, a[1] + 1)
}
"""


def test_every_statement_is_walked_the_same_way():
    assert arrays_of(STATEMENTS, few.MAX_FEW) == arrays_of(STATEMENTS, 0)


@pytest.mark.parametrize("most", [0, 2, 128])
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
def test_mistakes_of_runs_are_those_that_arrays_find(statement, code, most):
    from tests.checking import check_text

    text = f"""mechanism m {{
      input x in 0..3
      adjacent all
      var a[0..1] := 0
      z := 0
      {statement}
      output (y, z, a)
    }}
    check m: epsilon = 1"""
    with few_rows(most):
        report = check_text(text)
    assert code in {found["code"] for found in report["errors"]}, report["errors"]


@pytest.mark.parametrize("seed", range(300))
def test_a_formula_on_lists_has_the_codes_it_has_on_arrays_or_gives_up(seed):
    rng = random.Random(seed)
    pool = (POOL, SMALL, LARGE)[seed % 3]
    names = ["p", "q", "r", "w[0]", "w[1]", "w[2]"]
    n_rows = rng.choice([1, 2, 30])
    table = ValueTable()
    lists = {name: [table.code(rng.choice(pool)) for _ in range(n_rows)] for name in names}
    if seed % 7 == 0:
        lists["p"][0] = UNASSIGNED
    expr = Expressions(seed).expr(3)
    frame = Frame(n_rows, {name: np.array(column) for name, column in lists.items()})
    expected = evaluated(expr, frame, table).tolist()
    try:
        found = formula(expr, table)(lists, n_rows)
    except Unusual:
        return
    assert len(found) == n_rows
    for one, other in zip(found, expected, strict=True):
        assert one == other or min(one, other) >= FIRST_FAULT


@pytest.mark.parametrize("kind", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("values", [SMALL, POOL])
def test_a_comparison_without_codes_is_the_condition(kind, values):
    table = ValueTable()
    columns = {
        "p": table.codes([a for a in values for _ in values]),
        "q": table.codes([b for _ in values for b in values]),
    }
    frame = Frame(len(values) ** 2, columns)
    for expr in (op(kind, "p", "q"), op(kind, "p", 1), op(kind, 2, "q"), op(kind, "p", c(2**61))):
        mask = comparison(expr, frame)
        if mask is not None:
            assert mask.tolist() == (truths(expr, frame, table) == 2**61 + 1).tolist()
    assert (comparison(op(kind, "p", v("q")), frame) is None) == (values is POOL)


@pytest.mark.parametrize(
    "kind", ["+", "-", "*", "min", "max", "sum", "div", "mod", "=", "!=", "<", "<=", ">", ">="]
)
@pytest.mark.parametrize("a", [*LARGE, 0, True, UNASSIGNED])
@pytest.mark.parametrize("b", [*LARGE, 0, -(2**61) + 1])
def test_operators_on_lists_are_exact_or_give_up(kind, a, b):
    table = ValueTable()
    lists = {name: [x if x == UNASSIGNED else table.code(x)] for name, x in (("p", a), ("q", b))}
    frame = Frame(1, {name: np.array(column) for name, column in lists.items()})
    expected = evaluated(op(kind, "p", "q"), frame, table).tolist()
    try:
        found = formula(op(kind, "p", "q"), table)(lists, 1)
    except Unusual:
        assert expected[0] >= 2**61 or not isinstance(a, int) or a in (True, UNASSIGNED)
        return
    assert found == expected


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
    assert arrays_of(THRESHOLD, 0) == arrays_of(THRESHOLD, few.MAX_FEW)
    with few_rows(0):
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
    explored = mechanism_chain(
        mechanism([scalar("x", range(2))], body),
        kept_inputs=frozenset(),
        later_neighbors=True,
        limits=Limits(),
    )
    assert len(explored.chain.neighbors.later) == 1
