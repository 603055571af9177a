"""Rows of chains: their sinks, their divisors, and the ways around work that changes nothing."""

from __future__ import annotations

from itertools import pairwise
from math import gcd

import numpy as np
import pytest
from flint import fmpq, fmpz_poly
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.chain.contraction.eliminate import eliminated
from dpcheck.chain.weights import rows as rows_module
from dpcheck.chain.weights.denominators import Scales
from dpcheck.chain.weights.rows import (
    Rows,
    as_slice,
    in_lowest_terms,
    in_places,
    shortened,
    with_sinks,
)
from dpcheck.exact import ExpPolynomial, whole_bits

numerators = st.lists(
    st.lists(st.sampled_from([1, 2, 3, 4, 6, 9, 30]), max_size=4), min_size=1, max_size=6
)


def rows_of_lists(lists: list[list[int]]) -> Rows:
    """Return rows with these numerators; targets are counted."""
    indptr = np.cumsum([0, *map(len, lists)])
    weights = np.array([w for row in lists for w in row], np.int64)
    totals = np.array([sum(row) or 1 for row in lists], np.int64)
    return Rows(indptr, np.arange(len(weights)), weights, totals)


@given(numerators)
def test_rows_are_divided_by_what_divides_all_of_a_row_and_not_its_ends_alone(lists):
    found = in_lowest_terms(rows_of_lists(lists))
    divisors = [gcd(*row) or 1 for row in lists]
    pairs = zip(lists, divisors, strict=True)
    assert found.numerators.tolist() == [w // d for row, d in pairs for w in row]
    totals = [(sum(row) or 1) // d for row, d in zip(lists, divisors, strict=True)]
    assert found.denominators.tolist() == totals


LONG_POLYNOMIAL = ExpPolynomial(fmpz_poly([1, 2]) ** 60, fmpq(1, 4))


@given(numerators, st.sampled_from([1, 3**400, 3**600, LONG_POLYNOMIAL]), st.booleans())
def test_long_rows_are_shortened_where_much_is_common_to_a_row(lists, common, has_one):
    """The values stay; a scale is divided by all that it has in common with its numerators."""
    lists = [row or [1] for row in lists]
    places = np.repeat(np.arange(len(lists)), [len(row) for row in lists])
    weights = np.array([w * common for row in lists for w in row], object)
    weights[-1] += has_one
    scales = Scales()
    codes = np.array([scales.code(1000 * common) for _ in lists], np.int64)
    found, after = shortened(places, weights, codes, scales)
    totals = [scales.values[code] for code in after.tolist()]
    assert [w * 1000 * common for w in found.tolist()] == [
        w * totals[row] for w, row in zip(weights, places.tolist(), strict=True)
    ]
    if common in (3**600, LONG_POLYNOMIAL) and not (has_one and len(lists) == 1):
        rest = lists[:-1] if has_one else lists
        assert totals[: len(rest)] == [1000 // gcd(1000, *row) for row in rest]
    if common == 1:
        assert after.tolist() == codes.tolist()


def test_numbers_that_are_let_go_are_not_taken_for_others():
    """What is remembered is known by addresses, which other numbers would be given."""
    common = rows_module._remembered(gcd)
    assert [common(k * 3**50, k * 5**40) for k in range(2, 200)] == [*range(2, 200)]


def test_laws_given_what_was_seen_do_not_multiply_up():
    """P(s, t) = c Z(t) / Z(s): what leads to an end is a count of ways over Z of the start."""
    n_levels = 40
    ends = [ExpPolynomial(fmpz_poly(each), fmpq(1, 4)) for each in ([3, 1, 7], [1, 0, 2, 5])]
    totals, kinds = [ends], [(1, 2), (2, 5)]
    for _ in range(n_levels):
        totals.append([sum(c * z for c, z in zip(row, totals[-1], strict=True)) for row in kinds])
    totals.reverse()
    numerators, denominators = [], []
    for here, after in pairwise(totals):
        numerators += [c * z for row in kinds for c, z in zip(row, after, strict=True)]
        denominators += here
    n_silent = 2 * n_levels
    rows = Rows(
        np.append(np.arange(0, 4 * n_levels + 1, 2), 4 * n_levels + np.array([1, 2])),
        np.append(
            (np.arange(n_levels)[:, None] * 2 + [2, 3, 2, 3]).ravel(), [n_silent, n_silent + 1]
        ),
        np.array([*numerators, 1, 1], object),
        np.array([*denominators, 1, 1], object),
    )
    silent = np.arange(n_silent + 2) < n_silent
    found = eliminated(
        rows, silent=silent, wanted=np.array([0]), diverged=n_silent + 2, tick=lambda _: None
    )
    assert whole_bits(found.denominators[0]) < 8 * whole_bits(totals[0][0])


@pytest.mark.parametrize("at_once", [1, 2, 100])
@pytest.mark.parametrize("has_diverged", [False, True])
@pytest.mark.parametrize("target", [5, 6, 7])
def test_a_chain_has_a_place_for_divergence_if_something_leads_there(
    target, has_diverged, at_once, monkeypatch
):
    monkeypatch.setattr(rows_module, "ENTRIES_AT_ONCE", at_once)
    number = np.array([-1, -1, 0, -1, -1, 1, 2, 3])  # two states, then † and `diverged`
    ends, ones = [7, 7], [1, 1]
    rows = Rows(
        np.array([0, 2, 3, 4, 5]),
        np.array([2, target, 6, *ends]),
        np.array([1, 2, 1, *ones]),
        np.array([3, 1, *ones]),
    )
    found = with_sinks(rows, number, has_diverged=has_diverged)
    is_there = has_diverged or target == 7
    assert found.targets.tolist() == [0, target - 4, 2, 2, *([3] if is_there else [])]
    assert found.indptr.tolist() == [0, 2, 3, 4, *([5] if is_there else [])]
    assert found.numerators.tolist() == [1, 2, 1, 1, *([1] if is_there else [])]
    assert found.denominators.tolist() == [3, 1, 1, *([1] if is_there else [])]


def test_places_may_be_a_slice():
    rows = rows_of_lists([[1, 1], [2]])
    found = in_places([(slice(1, 3), rows)], 4, 9)
    assert found.indptr.tolist() == [0, 1, 3, 4, 5]
    assert found.targets.tolist() == [9, 0, 1, 2, 9]
    assert found.numerators.tolist() == [1, 1, 1, 2, 1]
    assert found.denominators.tolist() == [1, 2, 2, 1]


@given(st.lists(st.integers(0, 4), max_size=5))
def test_only_states_that_follow_one_another_are_a_slice(states):
    index = as_slice(np.array(states, np.int64))
    in_a_row = bool(states) and states == list(range(states[0], states[0] + len(states)))
    assert isinstance(index, slice) == in_a_row
    assert np.arange(9)[index].tolist() == states
