"""Products of tables of exact weights, against sums over dictionaries."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

import dpcheck
from dpcheck.chain.weights import products
from dpcheck.chain.weights.denominators import Scales, weight_array
from dpcheck.chain.weights.products import composed
from dpcheck.chain.weights.rows import Entries, merged
from dpcheck.exact import ExpPolynomial
from tests.checking import check_text, verdicts

N_ROWS, N_MIDDLES, N_TARGETS = 12, 9, 7


def product_of(left, right, shape, scales, limit=None, tick=lambda _: None):
    """Return the product without limits."""
    return composed(left, right, shape, scales, limit=limit, tick=tick)


def random_table(rng, n_rows, supports, bits, scales):
    """Return rows of sum at most 1 as entries, row-major, and as fractions by place."""
    rows, targets, numerators, codes = [], [], [], []
    for row in range(n_rows):
        support = supports[row % len(supports)]
        weights = [rng.getrandbits(bits) + 1 for _ in support]
        rows += [row] * len(support)
        targets += support
        numerators += weights
        codes += [scales.code(sum(weights) + rng.getrandbits(3))] * len(support)
    found = {
        (row, target): Fraction(weight, scales.values[code])
        for row, target, weight, code in zip(rows, targets, numerators, codes, strict=True)
    }
    entries = Entries(np.array(rows), np.array(targets), weight_array(numerators), np.array(codes))
    return entries, found


def as_fractions(entries, scales):
    """Return the entries by place; there is one for each."""
    places = list(zip(entries.rows.tolist(), entries.targets.tolist(), strict=True))
    assert places == sorted(set(places))
    values = zip(entries.numerators.tolist(), entries.scales.tolist(), strict=True)
    return {
        place: Fraction(int(weight), scales.values[code])
        for place, (weight, code) in zip(places, values, strict=True)
    }


def slow_product(p, q):
    """Return the product of two tables of fractions by place."""
    found = {}
    for (row, middle), x in p.items():
        for (other, target), y in q.items():
            if middle == other:
                found[row, target] = found.get((row, target), 0) + x * y
    return found


ALIKE_AT_BOTH_ENDS = [[0, 2, 5, 7, 8], [0, 3, 5, 7, 8], [0, 2, 5, 6, 8]]
SUPPORTS = {
    "equal": [[0, 1, 4, 6, 8]],
    "two kinds": [[0, 1, 4, 6], [2, 3, 5, 7, 8]],
    "alike at both ends": ALIKE_AT_BOTH_ENDS,
    "mostly the first": [[0, 2, 5, 7, 8]] * 9 + ALIKE_AT_BOTH_ENDS[1:],
    "each its own": [[k, *range(k + 1, 9, 2)] for k in range(8)],
    "one": [[3]],
}


@pytest.mark.parametrize("bits", [4, 30, 80])
@pytest.mark.parametrize("least_block", [1, 4])
@pytest.mark.parametrize("kind", SUPPORTS)
@pytest.mark.parametrize("right_kind", ["equal", "two kinds", "each its own", "one"])
def test_a_product_has_the_sums_over_what_lies_between(
    kind, right_kind, least_block, bits, monkeypatch
):
    monkeypatch.setattr(products, "LEAST_BLOCK", least_block)
    rng, scales = random.Random(f"{kind} {right_kind} {bits}"), Scales()
    left, p = random_table(rng, N_ROWS, SUPPORTS[kind], bits, scales)
    columns = [[k % N_TARGETS for k in s][:3] for s in SUPPORTS[right_kind]]
    right, q = random_table(rng, N_MIDDLES, [sorted(set(s)) for s in columns], bits, scales)
    shape = N_ROWS, N_MIDDLES, N_TARGETS
    found = product_of(left, right, shape, scales)
    expected = slow_product(p, q)
    assert as_fractions(found, scales) == expected


def test_a_block_may_lead_to_rows_without_entries():
    rng, scales = random.Random(5), Scales()
    left, p = random_table(rng, N_ROWS, SUPPORTS["two kinds"], 80, scales)
    first = set(SUPPORTS["two kinds"][0])
    supports = [[] if middle in first else [0, 2] for middle in range(N_MIDDLES)]
    right, q = random_table(rng, N_MIDDLES, supports, 80, scales)
    found = product_of(left, right, (N_ROWS, N_MIDDLES, N_TARGETS), scales)
    assert as_fractions(found, scales) == slow_product(p, q)


def test_runs_that_are_over_while_others_go_on_are_followed_once():
    found = check_text("""
        mechanism m {
          input x in 0..39
          adjacent abs(x - x') = 1
          if x < 20 {
            y ~ geometric(x, 1/2) clamped 0..9
            output y
            z ~ uniform(0..2)
            output z
            stop
          }
          y ~ geometric(x - 20, 1/3) clamped 0..19
          output 10
          for i in 1..3 {
            y ~ geometric(y, 1/2) clamped 0..19
            output 11
          }
          output y
        }
        check m at x < 19: epsilon = ln 2
        check m at x > 20: epsilon = ln(23493572499671491432701/13181080876030090098295)
        refute m: dp(100)
        """)
    assert verdicts(found) == ["holds", "holds", "violated"]


def test_long_numbers_with_entries_at_the_same_places_are_multiplied_as_blocks(monkeypatch):
    sizes = []
    product = products.integer_product

    def counted(left, right, n_rows, n_columns):
        sizes.append((n_rows, len(right) // n_columns, n_columns))
        return product(left, right, n_rows, n_columns)

    monkeypatch.setattr(products, "integer_product", counted)
    rng, scales = random.Random(7), Scales()
    left, _ = random_table(rng, N_ROWS, SUPPORTS["mostly the first"], 80, scales)
    right, _ = random_table(rng, N_MIDDLES, [[0, 1, 2]], 80, scales)
    assert product_of(left, right, (N_ROWS, N_MIDDLES, N_TARGETS), scales) is not None
    assert sizes == [(10, 5, 3)]


def moved_rows(rng, starts, pattern, bits, scales):
    """Return one row moved to each of some starts, as entries and as fractions by place."""
    weights = [rng.getrandbits(bits) + 1 for _ in pattern]
    code = scales.code(sum(weights) + 1)
    rows = [m for m in range(len(starts)) for _ in pattern]
    targets = [start + offset for start in starts for offset in pattern]
    entries = Entries(
        np.array(rows),
        np.array(targets),
        weight_array(weights * len(starts)),
        np.full(len(rows), code),
    )
    places = zip(rows, targets, strict=True)
    values = [Fraction(w, scales.values[code]) for w in weights] * len(starts)
    return entries, dict(zip(places, values, strict=True))


@pytest.mark.parametrize(
    ("starts", "pattern"),
    [
        (range(9), range(4)),
        ([4, 0, 1, 8, 3, 3, 2, 0, 5], [0, 2, 3]),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 5]),
        ([0, 10, 20, 30, 40, 50, 60, 70, 80], [0, 1]),
    ],
)
@pytest.mark.parametrize("bits", [80, 700])
def test_rows_that_are_one_row_moved_along_are_multiplied_as_polynomials(
    starts, pattern, bits, monkeypatch
):
    used = []
    multiply = products.convolution
    monkeypatch.setattr(products, "LEAST_OVERLAP", 0)
    monkeypatch.setattr(products, "convolution", lambda *two: used.append(1) or multiply(*two))
    rng, scales = random.Random(bits), Scales()
    left, p = random_table(rng, N_ROWS, SUPPORTS["mostly the first"], bits, scales)
    right, q = moved_rows(rng, list(starts), list(pattern), bits, scales)
    found = product_of(left, right, (N_ROWS, N_MIDDLES, 100), scales)
    expected = slow_product(p, q)
    assert as_fractions(found, scales) == expected
    assert used


def test_a_sum_of_long_draws_is_made_by_polynomials(monkeypatch):
    used = []
    multiply = products.convolution
    monkeypatch.setattr(products, "convolution", lambda *two: used.append(1) or multiply(*two))
    text = """
      mechanism m {
        input x in 149..150
        adjacent all
        truthful ~ binomial(x, 3/4)
        lying ~ binomial(300 - x, 1/4)
        output truthful + lying
      }
      check m: epsilon = ln 3
    """
    (answer,) = dpcheck.loads(text).answers()
    assert answer.is_ok
    assert used


@pytest.mark.parametrize("rows_meet", [False, True])
def test_polynomials_are_multiplied_only_where_moved_rows_meet(rows_meet, monkeypatch):
    used = []
    multiply = products.convolution
    monkeypatch.setattr(products, "convolution", lambda *two: used.append(1) or multiply(*two))
    rng, scales = random.Random(6), Scales()
    left, p = random_table(rng, N_ROWS, [list(range(N_MIDDLES))], 700, scales)
    starts = range(9) if rows_meet else range(0, 90, 10)
    right, q = moved_rows(rng, list(starts), list(range(10)), 700, scales)
    found = product_of(left, right, (N_ROWS, N_MIDDLES, 100), scales)
    assert as_fractions(found, scales) == slow_product(p, q)
    assert bool(used) == rows_meet


def test_rows_almost_moved_along_are_not_taken_for_moved(monkeypatch):
    monkeypatch.setattr(products, "LEAST_OVERLAP", 0)
    rng, scales = random.Random(2), Scales()
    left, p = random_table(rng, N_ROWS, SUPPORTS["equal"], 700, scales)
    right, q = moved_rows(rng, list(range(9)), list(range(4)), 700, scales)
    numerators = right.numerators.copy()
    numerators[6] -= 1
    q[int(right.rows[6]), int(right.targets[6])] -= Fraction(1, scales.values[right.scales[6]])
    changed = Entries(right.rows, right.targets, numerators, right.scales)
    expected = slow_product(p, q)
    found = product_of(left, changed, (N_ROWS, N_MIDDLES, 100), scales)
    assert as_fractions(found, scales) == expected


def test_rows_with_equal_weights_at_other_distances_are_not_taken_for_moved(monkeypatch):
    monkeypatch.setattr(products, "LEAST_OVERLAP", 0)
    rng, scales = random.Random(4), Scales()
    left, p = random_table(rng, N_ROWS, SUPPORTS["equal"], 700, scales)
    right, q = moved_rows(rng, list(range(9)), [0, 2, 4], 700, scales)
    targets = right.targets.copy()
    targets[4] += 1  # the middle one of row 1
    q[1, int(targets[4])] = q.pop((1, int(right.targets[4])))
    changed = Entries(right.rows, targets, right.numerators, right.scales)
    found = product_of(left, changed, (N_ROWS, N_MIDDLES, 100), scales)
    assert as_fractions(found, scales) == slow_product(p, q)


UNSORTED = {
    "moved, the last in the middle": [[m, m + 2, m + 1] for m in range(9)],
    "moved, the first in the middle": [[m + 1, m, m + 3] for m in range(9)],
    "moved, with repeats": [[m, m, m + 2, m + 2] for m in range(9)],
    "dense, with repeats": [[2, 0, 1, 0, 2] for _ in range(9)],
    "dense, moved differently": [[(m * k) % 4 for k in (3, 1, 2)] for m in range(9)],
}


@pytest.mark.parametrize("kind", UNSORTED)
def test_rows_of_steps_may_be_in_any_order_and_have_repeats(kind, monkeypatch):
    monkeypatch.setattr(products, "LEAST_OVERLAP", 0)
    monkeypatch.setattr(products, "MANY_PRODUCTS", 1)
    rng, scales = random.Random(kind), Scales()
    left, p = random_table(rng, N_ROWS, [[0, 1, 2, 3, 4]], 700, scales)
    weights, targets = [rng.getrandbits(700) for _ in range(5)], UNSORTED[kind]
    widths = [len(row) for row in targets]
    scale = scales.code(sum(weights))
    right = products.Right(
        np.cumsum([0, *widths]),
        np.array([target for row in targets for target in row]),
        weight_array([weight for width in widths for weight in weights[:width]]),
        np.full(9, scale),
    )
    q = {}
    for middle, row in enumerate(targets):
        for target, weight in zip(row, weights, strict=False):
            place = middle, target
            q[place] = q.get(place, 0) + Fraction(weight, scales.values[scale])
    found = products.long_product(left, right, (N_ROWS, 20), scales, lambda _: None)
    assert as_fractions(found, scales) == slow_product(p, q)


def test_a_long_block_is_multiplied_in_parts_with_a_look_at_the_clock(monkeypatch):
    rng, scales = random.Random(3), Scales()
    left, _ = random_table(rng, 200, [[0, 2, 3, 5, 6]], 80, scales)
    right, _ = random_table(rng, N_MIDDLES, [[0, 1, 2]], 80, scales)
    shape, reports = (200, N_MIDDLES, N_TARGETS), []
    whole = product_of(left, right, shape, scales, tick=reports.append)
    assert len(reports) == 1
    monkeypatch.setattr(products, "PRODUCTS_AT_ONCE", 10)
    in_parts = product_of(left, right, shape, scales, tick=reports.append)
    assert len(reports) == 5
    assert as_fractions(in_parts, scales) == as_fractions(whole, scales)


def test_a_product_that_needs_more_entries_than_allowed_is_not_made():
    rng, scales = random.Random(1), Scales()
    left, _ = random_table(rng, N_ROWS, SUPPORTS["two kinds"], 4, scales)
    right, _ = random_table(rng, N_MIDDLES, [[0, 1]], 4, scales)
    needed = 2 * len(left.rows)
    shape = N_ROWS, N_MIDDLES, N_TARGETS
    assert product_of(left, right, shape, scales, limit=needed) is not None
    assert product_of(left, right, shape, scales, limit=needed - 1) is None


def test_repeated_entries_of_the_right_side_add_up():
    scales = Scales()
    third = scales.code(3)
    left = Entries(np.array([0]), np.array([0]), weight_array([1]), np.array([0]))
    right = Entries(
        np.array([0, 0, 0]), np.array([1, 1, 0]), weight_array([1, 1, 1]), np.full(3, third)
    )
    found = product_of(left, right, (1, 1, 2), scales)
    assert as_fractions(found, scales) == {(0, 0): Fraction(1, 3), (0, 1): Fraction(2, 3)}
    assert merged(found, 1, 2, scales)[2].tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [np.int64, object])
@pytest.mark.parametrize(
    ("lengths", "place", "expected"),
    [
        ([2, 2], [0, 1, 0, 1], [[1, 2], [3, 4]]),
        ([2, 2], [1, 0, 0, 1], [[2, 1], [3, 4]]),
        ([2, 2], [0, 0, 0, 1], [[3, 0], [3, 4]]),
        ([0, 4], [0, 1, 2, 3], [[0, 0, 0, 0], [1, 2, 3, 4]]),
        ([1, 3], [2, 0, 1, 2], [[0, 0, 1], [2, 3, 4]]),
    ],
)
def test_rows_become_a_table(dtype, lengths, place, expected):
    weights = np.array([1, 2, 3, 4], dtype)
    dense = products._dense(np.array(lengths), np.array(place), weights, len(expected[0]))
    assert dense.tolist() == expected
    assert {type(weight) for row in dense.tolist() for weight in row} == {int}


def test_powers_of_e_over_a_long_integer_denominator_are_multiplied_one_by_one():
    """A denominator that is an integer says nothing of the numerators."""
    scales, root = Scales(), ExpPolynomial.exp(fmpq(1, 2))
    code = scales.code(2**40)
    row = [root, 2 * root, root, 2**40 - 4 * root]
    rows, places = np.arange(4).repeat(4), np.tile(np.arange(4), 4)
    left = Entries(rows, places, weight_array(row * 4), np.full(16, code))
    right = Entries(rows, rows + places, weight_array(row * 4), np.full(16, code))
    product = product_of(left, right, (4, 4, 7), scales)
    assert product.numerators[0] == root * root
    sums = [
        sum(p for k, p in enumerate(product.numerators) if product.rows[k] == r) for r in (0, 3)
    ]
    assert sums == [2**80, 2**80]


def test_a_long_sum_of_draws_with_powers_of_e_has_a_probability():
    (result,) = check_text(
        """mechanism m {
          s := 0
          for i in 1..45 { y ~ binomial(3, exp(1/2)/128)  s := s + y }
          output s
        }
        compute m: P=? [ X output = 0 ]"""
    )["results"]
    assert abs(float(result["value"]["decimal"]) - (1 - math.exp(0.5) / 128) ** 135) < 1e-9
