"""The codes of values: equal exactly for equal values, and turned back into them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.explore.values.codes import ValueTable
from dpcheck.model.values import ArrayValue, SetValue, Symbol, value_key
from tests.numbers import rational

ATOMS = st.sampled_from(
    [0, 1, 2, -1, 2**60, 2**61, -(2**70), True, False, rational("0.5"), Symbol("a"), Symbol("b")]
)


def composites(items):
    some = st.lists(items, max_size=3)
    return st.one_of(
        some.map(tuple),
        st.builds(ArrayValue, st.integers(0, 1), some.map(tuple)),
        st.lists(items, max_size=2, unique_by=value_key).map(lambda each: SetValue(tuple(each))),
    )


VALUES = st.recursive(ATOMS, composites, max_leaves=6)


@given(st.lists(VALUES, max_size=12))
def test_codes_are_equal_exactly_for_equal_values(values):
    table = ValueTable()
    codes = [table.code(value) for value in values]
    for value, code in zip(values, codes, strict=True):
        assert value_key(table.value(code)) == value_key(value)
        assert type(table.value(code)) is type(value)
    for one, first in zip(values, codes, strict=True):
        for other, second in zip(values, codes, strict=True):
            assert (first == second) == (value_key(one) == value_key(other))


@given(
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8),
    st.lists(st.tuples(VALUES, VALUES), max_size=4),
    st.sampled_from([None, 0, 1]),
)
def test_values_packed_by_columns_have_the_codes_of_the_values(rows, before, lo):
    table = ValueTable()

    def made(row):
        return row if lo is None else ArrayValue(lo, row)

    for row in before:
        table.code(made(row))
    columns = [np.array([table.code(row[k]) for row in rows], np.int64) for k in (0, 1)]
    packed = table.packed(lo, columns).tolist()
    assert packed == [table.code(made(row)) for row in rows]
    for row, code in zip(rows, packed, strict=True):
        assert value_key(table.value(code)) == value_key(made(row))


def test_a_million_tuples_are_numbered_without_being_made():
    table = ValueTable()
    columns = [np.arange(10**6) // 1000, np.arange(10**6) % 1000]
    codes = table.packed(None, columns)
    assert len(np.unique(codes)) == 10**6
    assert table.value(int(codes[123_456])) == (123, 456)
    assert table.code((123, 456)) == codes[123_456]
    assert sum(value is not None for value in table._values) == 3
