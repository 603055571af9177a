"""What can still hold while cells are missing is never ruled out: against every value."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from dpcheck.explore.values.evaluate import Frame
from dpcheck.explore.values.intervals import may_hold
from dpcheck.model.evaluation import evaluate
from tests.explore.building import c, logic, op, v

MISSING = ("b", "d")


def term(choose, depth=2):
    """Return a random sum, difference, product or extreme of known and missing variables."""
    kind = choose.randrange(7)
    if kind <= 1 or not depth:
        return choose.choice([v("a"), v("b"), v("d"), c(choose.randrange(-2, 4))])
    if kind == 2:
        return op("*", c(choose.randrange(4)), term(choose, depth - 1))
    name = choose.choice(["+", "-", "-", "max", "min"])
    return op(name, term(choose, depth - 1), term(choose, depth - 1))


@pytest.mark.parametrize("seed", range(250))
def test_what_some_values_make_true_may_hold(seed):
    choose = Random(seed)
    pool = np.array(sorted(choose.sample(range(-3, 5), choose.randrange(1, 4))))
    conditions = [
        op(choose.choice(["<=", "<", ">=", ">", "="]), term(choose), term(choose)) for _ in "ab"
    ]
    condition = logic(choose.choice(["and", "or"]), *conditions)
    known = np.arange(-4, 5)
    found = may_hold(condition, Frame(len(known), {"a": known}), frozenset(MISSING), pool)
    for a, may in zip(known.tolist(), found.tolist(), strict=True):
        ways = product(pool.tolist(), repeat=len(MISSING))
        can = any(evaluate(condition, {"a": a, "b": b, "d": d}) for b, d in ways)
        assert may or not can


def test_what_no_value_makes_true_is_ruled_out():
    """Otherwise nothing would be gained: differences are bounded from both sides."""
    frame = Frame(3, {"a": np.array([0, 3, 9])})
    gap = op("-", v("a"), v("b"))
    pool = np.array([0, 2, 4])
    assert may_hold(op("<=", gap, c(1)), frame, frozenset("b"), pool).tolist() == [
        True,
        True,
        False,
    ]
    assert may_hold(op(">=", gap, c(1)), frame, frozenset("b"), pool).tolist() == [
        False,
        True,
        True,
    ]
