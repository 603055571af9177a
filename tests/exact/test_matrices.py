"""Products of integer matrices, whichever way they are made, are the sums of products."""

import random

import pytest

from dpcheck.exact import matrices
from dpcheck.exact.matrices import integer_product


def slow_product(left, right, n_rows, n_columns):
    n = len(left) // n_rows
    return [
        sum(left[i * n + k] * right[k * n_columns + j] for k in range(n))
        for i in range(n_rows)
        for j in range(n_columns)
    ]


@pytest.mark.parametrize("n_columns", [1, 7, 8, 30])
@pytest.mark.parametrize("left_bits", [1, 62, 63, 200])
@pytest.mark.parametrize("right_bits", [1, 64, 2560, 2561])
def test_products_are_sums_of_products(n_columns, left_bits, right_bits):
    rng = random.Random(n_columns * left_bits * right_bits)
    left = [rng.getrandbits(left_bits) for _ in range(5 * 6)]
    right = [rng.getrandbits(right_bits) for _ in range(6 * n_columns)]
    expected = slow_product(left, right, 5, n_columns)
    assert integer_product(left, right, 5, n_columns) == expected


@pytest.mark.parametrize("left_bits", [1, 3, 8, 31, 62])
@pytest.mark.parametrize("right_bits", [1, 8, 57, 64, 2560])
@pytest.mark.parametrize("n", [1, 2, 3, 255, 256, 257])
def test_packed_sums_have_room_for_the_largest(left_bits, right_bits, n):
    left = [2**left_bits - 1] * n
    right = [2**right_bits - 1] * (n * 9)
    largest = n * left[0] * right[0]
    assert integer_product(left, right, 1, 9) == [largest] * 9


def test_packed_numbers_that_only_meet_zeros_have_room():
    left = [0, 0, 0, 0]
    right = [2**300 + k for k in range(16)]
    assert integer_product(left, right, 2, 8) == [0] * 16
    assert integer_product([3, 0], [*range(8), *([2**300] * 8)], 1, 8) == [
        0,
        3,
        6,
        9,
        12,
        15,
        18,
        21,
    ]
    assert integer_product([1, 2], [0] * 16, 1, 8) == [0] * 8


def test_long_rows_times_short_numbers_are_packed(monkeypatch):
    made = []
    packed = matrices._packed_product
    monkeypatch.setattr(
        matrices, "_packed_product", lambda *given: made.append(1) or packed(*given)
    )
    short, long = [2**62 - 1, 1], [2**2560 - 1] * 16
    integer_product(short, long, 1, 8)
    assert made == [1]
    integer_product([2**62, 1], long, 1, 8)
    integer_product(short, [2**2560] * 16, 1, 8)
    integer_product(short, [2**300] * 14, 1, 7)
    assert made == [1]
