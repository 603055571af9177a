"""Neighbor pairs equal the obvious definition: every pair of inputs, both ways."""

import random
import time

import numpy as np
import pytest

from dpcheck.explore import MistakesFound
from dpcheck.explore.inputs import adjacency
from dpcheck.explore.inputs.adjacency import neighbor_pairs
from dpcheck.explore.inputs.universe import universe
from dpcheck.explore.values.codes import ValueTable
from dpcheck.limits import Limits
from dpcheck.model.evaluation import evaluate
from dpcheck.model.expressions import ArrayVar, Binder, Let
from dpcheck.model.program import AdjacentAll, AdjacentPairs, AdjacentWhere
from dpcheck.model.values import SetValue, Symbol
from tests.explore.building import (
    SPAN,
    arr,
    array,
    c,
    cells,
    logic,
    mechanism,
    op,
    scalar,
    symbols,
    v,
)
from tests.numbers import rational


def primed(name, lo, hi):
    return ArrayVar(f"{name}'", lo, tuple(f"{cell}'" for cell in cells(name, lo, hi)), SPAN)


Q, Q_PRIMED = arr("q", 1, 3), primed("q", 1, 3)
X, X_PRIMED = v("x"), v("x'")


def conditions(rng):
    """Return a random condition over x and q[1..3]."""
    norm = op(rng.choice(["linf", "l1", "hamming"]), Q, Q_PRIMED)
    gap = op("abs", op("-", X, X_PRIMED))
    item = op("abs", op("-", op("index", Q, v("i")), op("index", Q_PRIMED, v("i"))))
    differs = op("!=", op("index", Q, v("i")), op("index", Q_PRIMED, v("i")))
    every = c(SetValue(range(1, 4)))
    atoms = [
        op(rng.choice(["<=", "<", "="]), norm, rng.randint(0, 2)),
        op(rng.choice(["<=", "<", "="]), gap, rng.choice([0, 1, 2, rational("0.5")])),
        op("=", X, X_PRIMED),
        op(">=", rng.randint(0, 2), norm),
        op("<=", Binder("i", "sum", every, None, item, SPAN), 1),
        op("<=", Binder("i", "count", every, None, differs, SPAN), 1),
        Binder("i", "forall", every, None, op("<=", item, 1), SPAN),
        op("<", op("+", X, op("sum", Q)), op("sum", Q_PRIMED)),
        op("=", op("+", gap, norm), 1),
        op("!=", X, X_PRIMED),
        op("<", op("/", 1, op("-", X, op("+", X_PRIMED, rational("0.25")))), 3),
    ]
    picked = rng.sample(atoms, rng.randint(1, 3))
    condition = picked[0]
    for other in picked[1:]:
        condition = logic(rng.choice(["and", "and", "or"]), condition, other)
    if rng.random() < 0.3:
        condition = Let("z", X, logic("and", condition, op(">=", "z", 0)), SPAN)
    return condition


def obvious_pairs(target, columns, n_inputs, table):
    rows = [
        {name: table.value(int(column[k])) for name, column in columns.items()}
        for k in range(n_inputs)
    ]
    public = [cell for one in target.inputs if one.is_public for cell in one.cells or (one.name,)]
    found = set()
    for s, first in enumerate(rows):
        for t, second in enumerate(rows):
            if s == t or any(first[name] != second[name] for name in public):
                continue
            both = first | {f"{name}'": value for name, value in second.items()}
            if any(
                isinstance(clause, AdjacentAll) or evaluate(clause.condition, both)
                for clause in target.adjacency
            ):
                found.add((min(s, t), max(s, t)))
    return sorted(found)


@pytest.mark.parametrize("seed", range(40))
def test_pairs_are_those_of_the_definition(seed, monkeypatch):
    rng = random.Random(seed)
    if seed % 4 == 0:
        monkeypatch.setattr(adjacency, "BLOCK", 5)
    values = SetValue((0, 2, 3)) if seed % 3 else SetValue((0, rational("0.5"), 1, 2))
    where = op("<=", op("sum", Q), 3) if seed % 2 else None
    inputs = [
        scalar("x", values, public=seed % 5 == 0),
        array("q", 1, 3, range(3), where=where),
    ]
    clauses = [AdjacentWhere(conditions(rng), SPAN) for _ in range(rng.choice([1, 1, 2]))]
    target = mechanism(inputs, [("output", "x")], clauses)
    table = ValueTable()
    columns, n_inputs = universe(target, table, Limits())
    found = neighbor_pairs(target, columns, n_inputs, table, Limits())
    assert [tuple(pair) for pair in found.tolist()] == obvious_pairs(
        target, columns, n_inputs, table
    )


@pytest.mark.parametrize(
    "condition",
    [
        # Moves that are no distances between a variable and itself: not symmetric.
        op("<=", op("abs", op("-", X, v("y'"))), 1),
        logic("and", op("<=", op("abs", op("-", X, X_PRIMED)), 1), op("<", v("y"), v("y'"))),
        # Conditions on one side leave the two sides with different rows.
        logic("and", op("<=", op("abs", op("-", X, X_PRIMED)), 1), op("=", v("y"), 2)),
        logic("and", op("<=", op("abs", op("-", X, X_PRIMED)), 1), op("=", v("y'"), v("y"))),
        op("<=", op("l1", *(op("array", 1, v(f"x{p}"), v(f"y{p}")) for p in ("", "'"))), 3),
    ],
)
def test_conditions_are_closed_symmetrically(condition):
    target = mechanism(
        [scalar("x", range(9)), scalar("y", range(9))],
        [("output", "x")],
        [AdjacentWhere(condition, SPAN)],
    )
    table = ValueTable()
    columns, n_inputs = universe(target, table, Limits())
    found = neighbor_pairs(target, columns, n_inputs, table, Limits())
    assert [tuple(pair) for pair in found.tolist()] == obvious_pairs(
        target, columns, n_inputs, table
    )


def test_listed_pairs_are_closed_symmetrically_without_self_pairs():
    pos, neg, unknown = (Symbol(name) for name in ("pos", "neg", "unknown"))
    clause = AdjacentPairs(((neg, pos), (pos, neg), (neg, unknown), (pos, pos)), SPAN)
    target = mechanism([scalar("x", symbols("pos", "neg", "unknown"))], [], [clause])
    table = ValueTable()
    columns, n_inputs = universe(target, table, Limits())
    assert neighbor_pairs(target, columns, n_inputs, table, Limits()).tolist() == [[0, 1], [1, 2]]


def test_a_listed_pair_outside_the_input_is_a_mistake():
    clause = AdjacentPairs(((1, 5),), SPAN)
    target = mechanism([scalar("x", range(3))], [], [clause])
    table = ValueTable()
    columns, n_inputs = universe(target, table, Limits())
    with pytest.raises(MistakesFound, match="5 is not a value of the input"):
        neighbor_pairs(target, columns, n_inputs, table, Limits())


def test_a_condition_without_a_value_is_a_mistake_that_names_the_pair():
    clause = AdjacentWhere(op("<", op("div", 1, op("-", X, 1)), X_PRIMED), SPAN)
    target = mechanism([scalar("x", range(3))], [], [clause])
    table = ValueTable()
    columns, n_inputs = universe(target, table, Limits())
    with pytest.raises(MistakesFound) as caught:
        neighbor_pairs(target, columns, n_inputs, table, Limits())
    assert caught.value.mistakes[0].code == "DP207"
    assert caught.value.mistakes[0].notes == ("on the run: x = 1; then x' = 0",)


def test_a_hundred_thousand_inputs_have_their_neighbors_in_seconds():
    near = AdjacentWhere(op("<=", op("abs", op("-", X, X_PRIMED)), 1), SPAN)
    target = mechanism([scalar("x", range(100_000))], [], [near])
    table = ValueTable()
    columns, n_inputs = universe(target, table, Limits())
    start = time.process_time()
    pairs = neighbor_pairs(target, columns, n_inputs, table, Limits())
    assert np.array_equal(pairs[:, 1] - pairs[:, 0], np.ones(99_999))
    assert time.process_time() - start < 5


def test_conditions_on_one_side_are_settled_before_pairs_are_formed():
    picked = logic("and", op("=", X, 7), op("=", X_PRIMED, 90_000))
    target = mechanism([scalar("x", range(100_000))], [], [AdjacentWhere(picked, SPAN)])
    table = ValueTable()
    columns, n_inputs = universe(target, table, Limits())
    start = time.process_time()
    pairs = neighbor_pairs(target, columns, n_inputs, table, Limits())
    assert pairs.tolist() == [[7, 90_000]]
    assert time.process_time() - start < 5


def test_a_condition_without_a_value_on_one_side_is_not_hidden_by_the_other():
    clause = logic("and", op(">", op("/", 1, X), 0), op("=", X_PRIMED, 1))
    target = mechanism([scalar("x", range(3))], [], [AdjacentWhere(clause, SPAN)])
    table = ValueTable()
    columns, n_inputs = universe(target, table, Limits())
    with pytest.raises(MistakesFound):
        neighbor_pairs(target, columns, n_inputs, table, Limits())
    guarded = logic("and", op("=", X_PRIMED, 1), op("!=", X, 0), op(">", op("/", 1, X), 0))
    target = mechanism([scalar("x", range(3))], [], [AdjacentWhere(guarded, SPAN)])
    assert neighbor_pairs(target, columns, n_inputs, table, Limits()).tolist() == [[1, 2]]


def test_a_condition_on_a_sum_prunes_before_the_product_is_built():
    where = op("=", op("sum", arr("h", 1, 12)), 2)
    target = mechanism([array("h", 1, 12, range(10), where=where)], [])
    columns, n_inputs = universe(target, ValueTable(), Limits(max_states=10_000))
    assert n_inputs == 78
    assert all(sum(row) == 2 for row in np.stack(list(columns.values()), axis=1))


def test_inputs_come_in_the_order_of_their_sets():
    inputs = [scalar("x", symbols("b", "a")), scalar("y", SetValue((5, 1)))]
    table = ValueTable()
    columns, _ = universe(mechanism(inputs, []), table, Limits())
    found = list(zip(table.values(columns["x"]), columns["y"].tolist(), strict=True))
    assert found == [(Symbol(name), y) for name in ("b", "a") for y in (5, 1)]


def test_an_empty_universe_is_a_mistake():
    inputs = [scalar("x", range(3), where=op(">", "x", 5))]
    with pytest.raises(MistakesFound, match="the universe is empty"):
        universe(mechanism(inputs, []), ValueTable(), Limits())


@pytest.mark.parametrize("word", ["sum", "min", "max"])
def test_what_is_one_number_has_no_sum_and_hides_no_such_mistake(word):
    clause = logic("and", op(">=", op(word, X), X_PRIMED), op("=", X_PRIMED, op("+", X, 9)))
    target = mechanism([scalar("x", range(3))], [], [AdjacentWhere(clause, SPAN)])
    table = ValueTable()
    columns, n_inputs = universe(target, table, Limits())
    with pytest.raises(MistakesFound):
        neighbor_pairs(target, columns, n_inputs, table, Limits())
