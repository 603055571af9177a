"""Whole columns mean what the values mean, row by row; tables find equal rows and only those."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.chain.sets import distinct_rows
from dpcheck.explore.values.codes import FIRST_FAULT, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated
from dpcheck.explore.values.state_table import StateTable
from dpcheck.model.evaluation import Fault, evaluate
from dpcheck.model.expressions import Binder
from dpcheck.model.values import ArrayValue, SetValue, Symbol, value_key
from tests.explore.building import SPAN, arr, c, if_, logic, op, v
from tests.numbers import rational

HALF = rational("0.5")
POOL = [0, 1, 2, -3, 7, 2**60, 2**61, -(2**61), 2**70, HALF, True, False, Symbol("s"), (1, 2)]
SMALL = [0, 1, 2, -3, 5]
UNARY = ["neg", "abs", "floor", "ceil", "not", "len", "sum", "max", "count"]
BINARY = [
    "+", "-", "*", "/", "div", "mod", "=", "!=", "<", "<=", ">", ">=", "min", "max", "sum", "^",
    "tuple", "range", "argmax", "element", "set",
]  # fmt: skip


class Expressions:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.n_bound = 0

    def expr(self, depth, names=("p", "q", "r")):
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return v(rng.choice(names)) if rng.random() < 0.7 else c(rng.choice(SMALL))
        match rng.randint(0, 9):
            case 0:
                return op(rng.choice(UNARY), self.expr(depth - 1, names))
            case 1 | 2 | 3:
                left, right = self.expr(depth - 1, names), self.expr(depth - 1, names)
                kind = rng.choice(BINARY)
                return self.small_range(names) if kind == "range" else op(kind, left, right)
            case 4:
                kind = rng.choice(["and", "or", "implies"])
                return logic(kind, self.test(depth - 1, names), self.test(depth - 1, names))
            case 5:
                parts = (self.expr(depth - 1, names), self.expr(depth - 1, names))
                return if_(self.test(depth - 1, names), *parts)
            case 6:
                kind = rng.choice(["sum", "max", "min", "argmax", "argmin", "count", "len"])
                return op(kind, arr("w", 0, 2))
            case 7:
                return op("index", arr("w", 0, 2), self.expr(depth - 1, names))
            case 8:
                other = op("array", 0, *(self.expr(0, names) for _ in range(3)))
                return op(rng.choice(["hamming", "l1", "linf"]), arr("w", 0, 2), other)
            case _:
                return self.binder(depth - 1, names)

    def test(self, depth, names):
        if self.rng.random() < 0.15:
            return self.expr(depth, names)
        kind = self.rng.choice(["=", "<", "<=", "!="])
        left = self.expr(depth, names)
        if self.rng.random() < 0.2:
            return op("in", left, self.small_range(names))
        return op(kind, left, self.expr(depth, names))

    def small_range(self, names):
        return op("range", 0, op("mod", self.expr(0, names), 4))

    def binder(self, depth, names):
        self.n_bound += 1
        name = f"i{self.n_bound}"
        kind = self.rng.choice(
            ["forall", "exists", "sum", "product", "max", "min", "count", "argmax", "argmin", "set"]
        )
        inner = (*names, name)
        is_test = kind in ("forall", "exists", "count")
        body = self.test(depth, inner) if is_test else self.expr(depth, inner)
        where = self.test(0, inner) if self.rng.random() < 0.4 else None
        domain = self.small_range(names) if self.rng.random() < 0.7 else c(SetValue((2, 0, HALF)))
        return Binder(name, kind, domain, where, body, SPAN)


@pytest.mark.parametrize("seed", range(400))
def test_an_expression_on_columns_is_the_expression_on_each_row(seed):
    rng = random.Random(seed)
    pool = POOL if seed % 2 else SMALL
    names = ["p", "q", "r", "w[0]", "w[1]", "w[2]"]
    rows = [{name: rng.choice(pool) for name in names} for _ in range(rng.choice([1, 2, 30]))]
    table = ValueTable()
    columns = {name: np.array([table.code(row[name]) for row in rows]) for name in names}
    expr = Expressions(seed).expr(3)
    codes = evaluated(expr, Frame(len(rows), columns), table)
    for code, row in zip(codes.tolist(), rows, strict=True):
        try:
            expected = evaluate(expr, row)
        except Fault as fault:
            expected = fault
        if isinstance(expected, Fault):
            assert code >= FIRST_FAULT, expected.title
            if "set" not in expected.title:  # equal sets may be written in another order
                assert table.fault_of(code).title == expected.title
            assert table.fault_of(code).kind == expected.kind
        else:
            assert code < FIRST_FAULT, table.fault_of(code).title
            assert value_key(table.value(code)) == value_key(expected)


@pytest.mark.parametrize(
    "factors",
    [
        (2**30, 2**30, -2),  # -2^61 is the first that is not below 2^61 in size
        (2**30, 2**30),
        (2**31, -(2**31)),
        (2**40, 2**40, 0),
        (2**60 + 1, 1, -1),
        (2**53 + 1, 2**7, 3),
        (1,) * 100,
        (),
    ],
)
def test_a_product_of_integers_never_wraps(factors):
    table = ValueTable()
    column = np.array([0, len(factors), 0], np.int64)
    body = v("i")
    for i, factor in enumerate(factors):
        body = if_(op("=", v("i"), i), c(factor), body)
    domain = op("range", 0, op("-", v("n"), 1))
    expr = Binder("i", "product", domain, None, body, SPAN)
    codes = evaluated(expr, Frame(3, {"n": column}), table)
    assert [table.value(code) for code in codes.tolist()] == [1, math.prod(factors), 1]


def test_codes_are_equal_exactly_for_equal_values():
    table = ValueTable()
    values = [*POOL, 1, SetValue(range(1, 3)), SetValue((2, 1)), ArrayValue(0, (1,)), (True, 2)]
    for a in values:
        for b in values:
            assert (table.code(a) == table.code(b)) == (value_key(a) == value_key(b))


small_rows = st.lists(
    st.tuples(st.integers(-2, 2), st.sampled_from([0, 1, 2**61, 2**62 + 5, -(2**60)])), max_size=30
)


@given(small_rows)
def test_distinct_rows_groups_equal_rows(rows):
    columns = [np.array([row[k] for row in rows], np.int64) for k in range(2)]
    first, group = distinct_rows(columns)
    assert [rows[first[g]] for g in group] == rows
    assert len(first) == len(set(rows))
    assert all(rows.index(rows[f]) == f for f in first.tolist())


@given(st.lists(small_rows, max_size=6))
def test_a_state_table_numbers_rows_in_order_of_discovery(batches):
    check_numbers(batches)


@given(st.lists(small_rows, max_size=6))
def test_hash_collisions_cost_time_only(batches):
    def hashes(self, rows):
        bits = np.uint64(1 if self._seed < 4 else 2**64 - 1)
        return original(self, rows) & bits

    original = StateTable._hashes
    StateTable._hashes = hashes
    try:
        check_numbers(batches)
    finally:
        StateTable._hashes = original


def check_numbers(batches):
    table, known = StateTable(2), {}
    for rows in batches:
        columns = [np.array([row[k] for row in rows], np.int64) for k in range(2)]
        numbers, new = table.numbers(columns, len(rows))
        fresh = []
        for k, row in enumerate(rows):
            if row not in known:
                known[row] = len(known)
                fresh.append(k)
        assert numbers.tolist() == [known[row] for row in rows]
        assert new.tolist() == fresh
    assert list(zip(*(column.tolist() for column in table.columns), strict=True)) == list(known)
