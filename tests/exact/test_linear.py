"""Exact solutions: the residual is zero, against Gauss-Jordan elimination over fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.exact import (
    ExpPolynomial,
    Rational,
    add,
    exponential,
    linear,
    multiply,
    number,
    subtract,
)
from dpcheck.exact.linear import common_row, solve_linear

T = ExpPolynomial.exp(Rational(1, 2))


@st.composite
def systems(draw, *, weights, n_max):
    """Chains in which every state leaves with positive weight, or has a successor that can."""
    n = draw(st.integers(1, n_max))
    entries, right, denominators = [], [], []
    for state in range(n):
        successors = draw(st.lists(st.integers(0, n - 1), max_size=4))
        row = [(state, successor, draw(weights)) for successor in successors]
        if state > 0:
            row.append((state, draw(st.integers(0, state - 1)), draw(weights)))
        exits = (
            [(state, draw(st.integers(0, 2)), draw(weights))]
            if state == 0 or draw(st.booleans())
            else []
        )
        entries += row
        right += exits
        total = 0
        for _, _, weight in row + exits:
            total = weight + total
        denominators.append(total)
    return denominators, entries, right


def residual(denominators, entries, right, rows):
    """D_s x_s - Σ n_sj x_j - b_s for every s."""
    left = [
        {c: multiply(number(d), v) for c, v in row.items()}
        for d, row in zip(denominators, rows, strict=True)
    ]
    for state, successor, weight in entries:
        for column, value in rows[successor].items():
            left[state][column] = subtract(
                left[state].get(column, 0), multiply(number(weight), value)
            )
    for state, column, value in right:
        left[state][column] = subtract(left[state].get(column, 0), number(value))
    return left


def gauss_jordan(denominators, entries, right):
    n = len(denominators)
    table = [[Fraction(0)] * (n + 3) for _ in range(n)]
    for state, denominator in enumerate(denominators):
        table[state][state] += denominator
    for state, successor, weight in entries:
        table[state][successor] -= weight
    for state, column, value in right:
        table[state][n + column] += value
    for pivot in range(n):
        chosen = next(row for row in range(pivot, n) if table[row][pivot] != 0)
        table[pivot], table[chosen] = table[chosen], table[pivot]
        table[pivot] = [value / table[pivot][pivot] for value in table[pivot]]
        for row in range(n):
            if row != pivot and table[row][pivot] != 0:
                factor = table[row][pivot]
                table[row] = [a - factor * b for a, b in zip(table[row], table[pivot], strict=True)]
    return [
        {c: number(v.numerator, v.denominator) for c, v in enumerate(row[n:]) if v != 0}
        for row in table
    ]


@pytest.mark.parametrize("dense_from", [1, 8, 10**9])
@given(systems(weights=st.integers(1, 9), n_max=12))
def test_rational_systems_agree_with_gauss_jordan(dense_from, system):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "DENSE_FROM", dense_from)
        assert solve_linear(*system) == gauss_jordan(*system)


@pytest.mark.parametrize("dense_from", [1, 10**9])
@settings(max_examples=40)
@given(
    systems(
        weights=st.integers(1, 3) | st.sampled_from([T, T + 1, ExpPolynomial.exp(Rational(1, 3))]),
        n_max=5,
    )
)
def test_exponential_systems_leave_no_residual(dense_from, system):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "DENSE_FROM", dense_from)
        rows = solve_linear(*system)
    assert all(value == 0 for row in residual(*system, rows) for value in row.values())
    for row in rows:
        total = 0
        for value in row.values():
            total = add(total, value)
        assert total == 1


def test_gamblers_ruin_with_ten_thousand_states():
    n = 10_000
    entries = [(s, s + d, 1) for s in range(n) for d in (-1, 1) if 0 <= s + d < n]
    rows = solve_linear([2] * n, entries, [(0, 0, 1), (n - 1, 1, 1)])
    assert rows[2499] == {0: number(7501, 10001), 1: number(2500, 10001)}


def test_a_loop_with_probability_e_to_the_minus_one_half():
    """x = x/√e + (1 - 1/√e), over the denominator √e."""
    assert solve_linear([T], [(0, 0, 1)], [(0, 0, T - 1)]) == [{0: 1}]
    assert solve_linear([T], [(0, 0, 1)], [(0, 0, 1)]) == [{0: number(1, T - 1)}]


def test_a_system_without_exit_has_no_solution():
    with pytest.raises(ZeroDivisionError):
        solve_linear([1, 1], [(0, 1, 1), (1, 0, 1)], [])


def test_an_empty_system_and_a_system_without_right_hand_side():
    assert solve_linear([], [], []) == []
    assert solve_linear([2], [(0, 0, 1)], []) == [{}]


def test_common_rows_are_whole_and_least():
    assert common_row({}) == ({}, 1)
    assert common_row({2: number(1, 6), 5: number(1, 4)}) == ({2: 2, 5: 3}, 12)
    numerators, denominator = common_row({0: exponential(number(-1, 2)), 1: number(1, 2)})
    assert numerators == {0: 2, 1: T}
    assert denominator == 2 * T


HADAMARD = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]


@pytest.mark.parametrize("n_bits", range(2, 67))
def test_digits_of_a_packed_solution_have_room_for_the_largest_coefficient(n_bits):
    """One equation attains the bound of its coefficients, of every length modulo a byte."""
    large = 2**n_bits - 2
    for a, b in ((large * T, ExpPolynomial.exp(Rational(3, 2))), (-large * T, T)):
        ((x,),) = linear._kronecker_solution([[a, b]], 1)
        assert x == number(b, a)


@pytest.mark.parametrize("n_bits", range(1, 17))
def test_a_determinant_that_is_larger_than_the_product_of_its_entries_is_read_off(n_bits):
    """The determinant of 4 x 4 signs is 16 (Hadamard): four bits more than its entries have."""
    large = 2**n_bits - 1
    rows = [[*(sign * large * T for sign in row), T] for row in HADAMARD]
    xs = [x for (x,) in linear._kronecker_solution(rows, 4)]
    for row in HADAMARD:
        left = 0
        for sign, x in zip(row, xs, strict=True):
            left = add(left, multiply(number(sign * large * T), x))
        assert left == number(T)
