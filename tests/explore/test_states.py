"""The table of states, against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.explore import states
from dpcheck.explore.states import StateTable


@pytest.mark.parametrize(
    "sizes",
    [(3, 5, 2), (700, 3, 700), (3, 700, 3, 3), (600,), (0, 4, 0, 900), (90, 90, 5, 90, 900, 5)],
)
@pytest.mark.parametrize("spread", [3, 10**18])
@pytest.mark.parametrize("as_lists", [False, True])
def test_rows_keep_their_numbers_whatever_the_batches_are(sizes, spread, as_lists):
    random = np.random.default_rng(7)
    values = random.integers(-spread, spread, 9)
    table, known = StateTable(2), {}
    for size in sizes:
        columns = [random.choice(values, size), random.choice(values, size)]
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        if as_lists and 0 < size < 10:
            numbers, new = (np.array(found) for found in table.numbers_of(rows))
        else:
            numbers, new = table.numbers(columns, size)
        first = [rows.index(row) for row in dict.fromkeys(rows) if row not in known]
        for place in first:
            known[rows[place]] = len(known)
        assert numbers.tolist() == [known[row] for row in rows]
        assert new.tolist() == first
    assert list(zip(*(column.tolist() for column in table.columns), strict=True)) == list(known)


def test_a_table_that_grew_by_small_batches_changes_its_way_of_finding_rows(monkeypatch):
    monkeypatch.setattr(states, "MANY", 20)
    table = StateTable(1)
    for start in range(0, 60, 3):
        numbers, new = table.numbers([np.arange(start, start + 4)])
        assert numbers.tolist() == list(range(start, start + 4))
        assert new.tolist() == ([1, 2, 3] if start else [0, 1, 2, 3])


def test_a_first_batch_of_different_rows_in_no_order_is_numbered_as_it_stands():
    rows = np.random.default_rng(5).permutation(100)
    table = StateTable(1)
    numbers, new = table.numbers([rows])
    assert numbers.tolist() == new.tolist() == list(range(100))
    assert table.column(0).tolist() == rows.tolist()
    numbers, new = table.numbers([np.append(rows, [7, 100, 100])])
    assert numbers.tolist() == [*range(100), int(np.flatnonzero(rows == 7)[0]), 100, 100]
    assert new.tolist() == [101]
