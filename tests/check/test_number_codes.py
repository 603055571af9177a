"""Tables over ℤ[e^r]: comparisons come out as exact numbers say; each number is read once."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from dpcheck.chain.weights.denominators import multiplied, summed, weight_array
from dpcheck.check.evidence.number_codes import number_codes
from dpcheck.check.evidence.paired_rows import PairedRows
from dpcheck.check.evidence.sequences import SequenceTable
from dpcheck.exact import ExpPolynomial, compare, multiply, number
from dpcheck.limits import Limits

T = ExpPolynomial.exp(fmpq(1, 4))
HUGE = 10**40


def table_of(rows):
    """Return a table of rows of equal width; each is over its sum."""
    width = len(rows[0])
    return SequenceTable(
        sources=np.arange(len(rows)),
        indptr=np.arange(len(rows) + 1) * width,
        sequences=np.tile(np.arange(width), len(rows)),
        weights=weight_array([weight for row in rows for weight in row]),
        denominators=tuple(sum(row[1:], row[0]) for row in rows),
        prefix=np.arange(width),
        end=np.zeros(width, np.int64),
        parent=np.zeros(width, np.int64),
        shown=np.arange(width),
    )


def random_row(drawn, width):
    """Return weights of which some are monomials, some long, some next to others."""
    kinds = [
        lambda: T ** drawn.randrange(4) * drawn.randrange(1, 4),
        lambda: T ** drawn.randrange(4) * HUGE + drawn.randrange(2),
        lambda: T**2 - T * drawn.randrange(1, 2) + drawn.randrange(3),
        lambda: drawn.randrange(1, 5),
    ]
    return [drawn.choice(kinds)() for _ in range(width)]


@pytest.mark.parametrize("seed", range(25))
def test_every_comparison_is_that_of_the_exact_numbers(seed):
    drawn, width = Random(seed), 6
    first = random_row(drawn, width)
    shuffled = drawn.sample(first, width)
    rows = [first, shuffled, [weight * T for weight in first], random_row(drawn, width)]
    table = table_of(rows)
    pairs = np.array([(i, j) for i in range(4) for j in range(i)])
    values = [number(T**k, 1) for k in range(-2, 3) if k >= 0] + [number(1, T), number(2, 1)]
    for block in PairedRows(table, pairs).blocks_of(np.arange(len(pairs)), Limits()):
        entries = np.arange(len(block.p))
        exact = [block.probabilities(j) for j in entries.tolist()]
        for value in [*values, *(number(p, q) for p, q in ((HUGE, HUGE + 1), (HUGE + 1, HUGE)))]:
            signs = [compare(p, multiply(value, q)) for p, q in exact]
            assert block._exceeding_at(value, None).tolist() == [sign > 0 for sign in signs]
            assert block.equal_ratio(value, entries).tolist() == [
                j for j, sign in enumerate(signs) if sign == 0
            ]


def test_rows_of_equal_numbers_are_one_class_and_of_nearly_equal_ones_two():
    row = [T * HUGE, T**2, 3]
    near = [T * HUGE + 1, T**2, 2]
    table = table_of([row, near, [T * HUGE, T**2, 3]])
    paired = PairedRows(table, np.array([[0, 1], [0, 2]]))
    assert len(set(paired._classes[paired.pairs[0]].tolist())) == 2
    assert len(set(paired._classes[paired.pairs[1]].tolist())) == 1


def test_equal_codes_are_equal_numbers_also_where_there_is_no_float():
    tiny = T**5000 + 1
    table = table_of([[tiny, T + 0, tiny + 1, 1, T**6000, ExpPolynomial.exp(fmpq(1, 4))]])
    found = number_codes(table, list(table.denominators), np.zeros(1, np.int64))
    codes = found.codes.tolist()
    assert codes[1] == codes[5]
    assert len(set(codes)) == 5
    chances = found.chances[found.codes].tolist()
    assert [math.isnan(chance) for chance in chances] == [False, True, False, True, False, True]


def test_a_table_of_integers_has_no_codes():
    table = table_of([[2**70, 2**71]])
    assert number_codes(table, list(table.denominators), np.zeros(1, np.int64)) is None


def test_a_factor_of_one_keeps_the_element_itself():
    weights, ones = weight_array([T, T * T, 2**80]), weight_array([1, T, 1])
    product = multiplied(weights, ones, None)
    assert product[0] is weights[0]
    assert product[1] == T**3
    assert product[2] == weights[2]
    assert multiplied(ones, weights, None)[0] is weights[0]


def test_a_number_whose_digits_cancel_has_no_float():
    large = 10**33
    with ctx.workprec(300):
        below = int(arb(large * arb(fmpq(1, 4)).exp()).floor().unique_fmpz())
    table = table_of([[T * large - below, 1]])
    found = number_codes(table, [1], np.zeros(1, np.int64))
    assert math.isnan(found.chances[found.codes[0]])
    assert found.chances[found.codes[1]] == 1


@pytest.mark.parametrize("seed", range(5))
def test_segments_of_equal_numbers_share_one_sum(seed):
    drawn = Random(seed)
    numbers = [T, T**3, 2 * T + 1, HUGE, 0]
    lengths = [drawn.choice([1, 2, 3, 300]) for _ in range(40)]
    drawn_numbers = [drawn.choice(numbers) for _ in range(sum(lengths))]
    # Equal numbers are not one object.
    weights = weight_array([n + T - T if drawn.random() < 0.5 else n for n in drawn_numbers])
    starts = np.cumsum([0, *lengths[:-1]])
    found = summed(weights, starts, None)
    expected = np.add.reduceat(weights, starts)
    assert all(one == other for one, other in zip(found, expected, strict=True))
    chosen = [k for k, length in enumerate(lengths) if length == 2]
    segments = {tuple(sorted(map(hash, weights[starts[k] : starts[k] + 2]))) for k in chosen}
    assert len({id(found[k]) for k in chosen}) == len(segments)
    left, right = weights[:60], weights[60:120]
    products = multiplied(left, right, None)
    assert all(p == a * b for p, a, b in zip(products, left, right, strict=True))
    assert len({id(p) for p in products}) <= len(numbers) ** 2
