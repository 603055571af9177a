"""The table of states, against a dictionary."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from dpcheck.explore.values.slots import Slots
from dpcheck.explore.values.state_table import StateTable


@pytest.mark.parametrize(
    "sizes",
    [(3, 5, 2), (700, 3, 700), (3, 700, 3, 3), (600,), (0, 4, 0, 900), (90, 90, 5, 90, 900, 5)],
)
@pytest.mark.parametrize("spread", [3, 10**18])
def test_rows_keep_their_numbers_whatever_the_batches_are(sizes, spread):
    random = np.random.default_rng(7)
    values = random.integers(-spread, spread, 9)
    table, known = StateTable(2), {}
    for size in sizes:
        columns = [random.choice(values, size), random.choice(values, size)]
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        numbers, new = table.numbers(columns, size)
        first = [rows.index(row) for row in dict.fromkeys(rows) if row not in known]
        for place in first:
            known[rows[place]] = len(known)
        assert numbers.tolist() == [known[row] for row in rows]
        assert new.tolist() == first
    assert list(zip(*(column.tolist() for column in table.columns), strict=True)) == list(known)


def test_a_first_batch_of_different_rows_in_no_order_is_numbered_as_it_stands():
    rows = np.random.default_rng(5).permutation(100)
    table = StateTable(1)
    numbers, new = table.numbers([rows])
    assert numbers.tolist() == new.tolist() == list(range(100))
    assert table.column(0).tolist() == rows.tolist()
    numbers, new = table.numbers([np.append(rows, [7, 100, 100])])
    assert numbers.tolist() == [*range(100), int(np.flatnonzero(rows == 7)[0]), 100, 100]
    assert new.tolist() == [101]


def numbered(batches, n_columns):
    """Look up batches of rows, check the answers by a dictionary, and return the table."""
    table, known = StateTable(n_columns), {}
    for rows in batches:
        columns = [np.array([row[k] for row in rows], np.int64) for k in range(n_columns)]
        numbers, new = table.numbers(columns, len(rows))
        first = [rows.index(row) for row in dict.fromkeys(rows) if row not in known]
        for place in first:
            known[rows[place]] = len(known)
        assert numbers.tolist() == [known[row] for row in rows]
        assert new.tolist() == first
    assert list(zip(*(column.tolist() for column in table.columns), strict=True)) == list(known)
    return table


@pytest.mark.parametrize("seed", range(80))
def test_tables_give_the_numbers_of_a_dictionary(seed):
    random = Random(seed)
    n_columns, low, high = random.randint(1, 3), 0, 1
    batches = []
    for _ in range(random.randint(1, 12)):
        # Ranges grow at either end, slowly or at once beyond what slots are made for.
        low -= random.choice([0, 0, 1, 3])
        high += random.choice([0, 0, 1, 3, 10**15 if random.random() < 0.05 else 0])
        values = [low, high, *(random.randint(low, high) for _ in range(4))]
        size = random.choice([1, 2, 6, 50, 200])
        batches.append([tuple(random.choices(values, k=n_columns)) for _ in range(size)])
    numbered(batches, n_columns)


def test_slots_are_used_for_small_values_alone():
    grid = [(x, y) for x in range(70) for y in range(70)]
    assert len(numbered([grid, grid], 2)._slots.numbers) == 4900
    assert len(numbered([[(x, 10**9 * y) for x, y in grid]], 2)._slots.numbers) == 0


def test_slots_that_grow_by_little_are_seldom_made_anew():
    slots, made = Slots(), 0
    known = np.arange(10_000)
    for last in range(10_000, 11_000):
        before = slots.numbers
        found = slots.of([np.array([last])], [known])
        assert found is not None
        made += slots.numbers is not before
    assert made <= 2
