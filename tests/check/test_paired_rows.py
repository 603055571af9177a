"""Comparisons of pairs of rows: what floats make clear, and what only exact numbers tell."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.chain.weights.denominators import weight_array
from dpcheck.check.evidence import paired_rows
from dpcheck.check.evidence.paired_rows import PairedRows
from dpcheck.check.evidence.sequences import SequenceTable
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities.pair_losses import losses_of_all
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.exact import number
from dpcheck.limits import Limits
from dpcheck.privacy.losses import LossDistribution

TINY = Fraction(1, 10**40)


def table_of(rows):
    """Return a table with the given rows of fractions, each over a denominator of its own."""
    denominators, weights, sequences, lengths = [], [], [], []
    for row, stretch in rows:
        scale = stretch * int(np.lcm.reduce([p.denominator for p in row], dtype=object))
        kept = [k for k, p in enumerate(row) if p]
        denominators.append(scale)
        weights.extend(int(row[k] * scale) for k in kept)
        sequences.extend(kept)
        lengths.append(len(kept))
    width = len(rows[0][0])
    return SequenceTable(
        sources=np.arange(len(rows)),
        indptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        sequences=np.array(sequences, np.int64),
        weights=weight_array(weights),
        denominators=tuple(denominators),
        prefix=np.arange(width),
        end=np.zeros(width, np.int64),
        parent=np.zeros(width, np.int64),
        shown=np.arange(width),
    )


def block_of(p, q, stretch=1):
    """Return two rows side by side."""
    rows = PairedRows(table_of([(p, stretch), (q, 1)]), np.array([[0, 1]]))
    return rows.block_of(EventGap(1, 1, 0, True))


def exact(value):
    return number(value.numerator, value.denominator)


@pytest.mark.parametrize("off", [-TINY, Fraction(0), TINY])
def test_a_ratio_is_told_from_a_bound_in_the_fortieth_digit(off):
    p, q = [Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]
    block = block_of(p, q)
    assert block._exceeding_at(exact(2 + off), None).tolist() == [off < 0, False]
    assert block.equal_ratio(exact(2 + off), np.arange(2)).tolist() == ([0] if off == 0 else [])


def test_the_larger_of_two_ratios_is_found_that_differ_in_the_fortieth_digit():
    q = [Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)]
    for first, second in ((0, TINY), (TINY, 0)):
        p = [Fraction(2, 5) + first, Fraction(2, 5) + second]
        found = block_of([*p, 1 - sum(p)], q).largest_ratio(1)
        assert found is not None
        assert found == exact((Fraction(2, 5) + TINY) * 5)


def test_pairs_whose_floats_are_no_numbers_are_compared():
    tiny = Fraction(1, 3**3000)
    rows = [([tiny, 1 - tiny], 1), ([5 * tiny, 1 - 5 * tiny], 1)]
    rows += [([Fraction(1, 2), Fraction(1, 2)], 1), ([Fraction(1, 6), Fraction(5, 6)], 1)]
    paired = PairedRows(table_of(rows), np.array([[0, 1], [2, 3]]))
    found = [block.largest_ratio(1) for block in paired.blocks(Limits())]
    assert max(filter(None, found)) == 5


def test_rows_that_differ_in_the_fortieth_digit_are_different_classes():
    half = Fraction(1, 2)
    rows = [([half, half], 1), ([half, half], 3), ([half + TINY, half - TINY], 1)]
    paired = PairedRows(table_of(rows), np.array([[0, 1], [0, 2], [1, 2]]))
    same, one, two = (paired._classes[paired.pairs[k]].tolist() for k in range(3))
    assert same[0] == same[1] == one[0]
    assert one == two
    assert one[0] != one[1]


@pytest.mark.parametrize("power", [600, 640, 700, 3000])
def test_beside_a_denominator_beyond_the_range_of_floats_small_weights_are_compared_exactly(power):
    tiny = Fraction(1, 3**power)
    p, q = [2 * tiny, Fraction(2, 3) - 2 * tiny, Fraction(1, 3)], [tiny, 1 - 2 * tiny, tiny]
    block = block_of(p, q)
    assert block._exceeding_at(2, None).tolist() == [False, False, True]
    assert block._exceeding_at(exact(2 - TINY), None).tolist() == [True, False, True]
    assert block.equal_ratio(2, np.arange(3)).tolist() == [0]


@pytest.mark.parametrize("kept", [2, 40])
def test_weights_that_keep_few_bits_are_compared_exactly(kept):
    large = 3**3000
    lost = large.bit_length() - 1000
    weight = 2 ** (lost + kept) + 2 ** (lost - 1)
    weight += weight % 3 == 0
    p, q = Fraction(2 * weight, large), Fraction(weight, large)
    assert block_of([p, 1 - p], [q, 1 - q]).equal_ratio(2, np.arange(2)).tolist() == [0]


def test_long_weights_of_large_probability_are_decided_by_floats():
    large = 3**3000
    p, q = [Fraction(2 * large // 3, large)], [Fraction(large // 3 - 1, large)]
    block = block_of([*p, 1 - p[0]], [*q, 1 - q[0]])
    assert block._clearly_above(1, None)[1].tolist() == []
    assert block._clearly_above(2, None)[1].tolist() == [0]
    assert block._exceeding_at(2, None).tolist() == [True, False]


def test_an_equal_ratio_is_found_however_its_float_is_rounded():
    drawn = Random(7)
    for _ in range(200):
        p, q = ([drawn.randrange(1, 2**70) for _ in range(6)] for _ in range(2))
        first, second = ([Fraction(k, sum(row)) for k in row] for row in (p, q))
        block = block_of(first, second, drawn.randrange(1, 2**70))
        for j in range(6):
            ratio = exact(first[j] / second[j])
            assert block.equal_ratio(ratio, np.arange(6)).tolist() == [j]
            assert not block._exceeding_at(ratio, np.array([j])).any()


@st.composite
def distributions(draw, width):
    """Draw a distribution, often with zeros and with values that are alike."""
    sizes = st.sampled_from([0, 1, 1, 2, 3, 10**9, 2**70, 10**40, 10**40 + 1])
    weights = draw(st.lists(sizes, min_size=width, max_size=width))
    weights[draw(st.integers(0, width - 1))] += 1
    return [Fraction(weight, sum(weights)) for weight in weights]


@given(st.data())
def test_floats_change_no_comparison(data):
    p, q = data.draw(distributions(4)), data.draw(distributions(4))
    block = block_of(p, q, data.draw(st.sampled_from([1, 7, 2**65])))
    listed = block.sequence.tolist()
    ratios = [p[k] / q[k] for k in listed if q[k]]
    value = data.draw(st.sampled_from([Fraction(1), *ratios]))
    value = max(value + data.draw(st.sampled_from([-TINY, Fraction(0), TINY])), Fraction(0))
    above = [p[k] > value * q[k] for k in listed]
    equal = [j for j, k in enumerate(listed) if p[k] == value * q[k] and p[k]]
    entries = np.arange(len(listed))
    assert block._exceeding_at(exact(value), None).tolist() == above
    assert block._exceeding_at(exact(value), entries[::-1]).tolist() == above[::-1]
    assert block.equal_ratio(exact(value), entries).tolist() == equal
    found = block.largest_ratio(1)
    largest = max(ratios, default=Fraction(0))
    assert (found is None) if largest <= 1 else (found is not None and found == exact(largest))


def first_of_the_largest(values):
    """Return the least pair, forward before back, among those of a largest value above 0."""
    largest = max(values.values())
    return min(key for key, value in values.items() if value == largest) if largest > 0 else None


SYMMETRIC = [*permutations([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])]


@given(
    st.lists(st.sampled_from(SYMMETRIC) | distributions(3), min_size=2, max_size=6),
    st.sampled_from([1, 20, 1 << 20]),
)
def test_of_equal_ratios_and_gaps_the_first_pair_shows_it(rows, size):
    pairs = [(i, j) for i in range(len(rows)) for j in range(i)]
    ways = [(k, turned) for k in range(len(pairs)) for turned in (False, True)]
    sides = {(k, turned): pairs[k][::-1] if turned else pairs[k] for k, turned in ways}
    both = {way: [*zip(rows[i], rows[j], strict=True)] for way, (i, j) in sides.items()}
    alone = {way: sum(p for p, q in row if not q) for way, row in both.items()}
    ratios = {way: max([p / q - 1 for p, q in row if q]) for way, row in both.items()}
    gaps = {way: sum(max(p - 2 * q, Fraction(0)) for p, q in row) for way, row in both.items()}
    with patch.object(paired_rows, "_BLOCK", size):
        evidence = TableEvidence(PairedRows(table_of([(r, 1) for r in rows]), np.array(pairs)), str)
        ratio, gap = evidence.worst_ratio(), evidence.worst_gap(ExpFactor.of_number(2))
    shown = [found and (found.pair, not found.is_forward) for found in (ratio, gap)]
    assert shown == [
        first_of_the_largest(alone) or first_of_the_largest(ratios),
        first_of_the_largest(gaps),
    ]


def test_the_losses_of_every_pair_are_those_of_its_rows_in_its_direction():
    first, second = [Fraction(1, 4), Fraction(3, 4)], [Fraction(2, 3), Fraction(1, 3)]
    rows = [first, second, first, second, [Fraction(1, 2)] * 2]
    pairs = [[0, 1], [1, 2], [0, 2], [4, 3], [2, 3], [1, 4]]
    paired = PairedRows(table_of([(row, k + 1) for k, row in enumerate(rows)]), np.array(pairs))
    numbers = [[number(p.numerator, p.denominator) for p in row] for row in rows]
    wanted = [LossDistribution.of(zip(numbers[s], numbers[t], strict=True)) for s, t in pairs]
    assert losses_of_all(TableEvidence(paired, str)) == wanted


def test_rows_over_one_denominator_are_compared_as_they_are_written():
    width = 12
    even = [Fraction(1, width)] * width
    late = [*even[:-2], Fraction(3, 2 * width), Fraction(1, 2 * width)]
    rows = [(late, 1), (even, 2), (late, 1), (even, 2)]
    paired = PairedRows(table_of(rows), np.array([[0, 1], [1, 2], [0, 2], [1, 3]]))
    classes = [paired._classes[paired.pairs[k]].tolist() for k in range(4)]
    assert len(paired.table.scales[0]) == 1
    assert [first == second for first, second in classes] == [False, False, True, True]


def test_equal_rows_over_different_denominators_are_one_class():
    row = [Fraction(1, 12)] * 12
    paired = PairedRows(table_of([(row, 1), (row, 5)]), np.array([[0, 1]]))
    assert len(paired.table.scales[0]) == 2
    assert not list(paired.blocks(Limits()))


@pytest.mark.parametrize("value", [Fraction(2), Fraction(3), Fraction(1, 3), Fraction(7, 5)])
def test_rows_that_share_a_scale_are_compared_in_integers(value):
    p, q = [Fraction(k, 10) for k in (1, 2, 3, 4)], [Fraction(k, 10) for k in (4, 1, 1, 4)]
    block = block_of(p, q)
    assert block._shared_products(exact(value), None) is not None
    above = [a > value * b for a, b in zip(p, q, strict=True)]
    assert block._exceeding_at(exact(value), None).tolist() == above
    assert block._exceeding_at(exact(value), np.array([3, 1])).tolist() == [above[3], above[1]]
    equal = [k for k in (0, 1, 2, 3) if p[k] == value * q[k]]
    assert block.equal_ratio(exact(value), np.arange(4)).tolist() == equal
    assert "_ratios" not in vars(block), "no floats are made where integers are as fast"


def test_products_beyond_64_bits_are_not_taken_for_integers():
    large = 2**61 - 1
    block = block_of([Fraction(large - 1, large), Fraction(1, large)], [Fraction(1, large)] * 2)
    for value in (Fraction(large - 1), Fraction(large - 2), Fraction(large, 7)):
        expected = [large - 1 > value, False]
        assert block._exceeding_at(exact(value), None).tolist() == expected


@pytest.mark.parametrize("width", [2, 20])
def test_equal_rows_of_long_weights_are_one_class_however_wide_they_are(width):
    random = Random(width)
    rows = []
    for k in range(80):
        cuts = sorted(random.randrange(1, 2**70) for _ in range(width - 1))
        row = [Fraction(b - a, 2**70) for a, b in zip([0, *cuts], [*cuts, 2**70], strict=True)]
        rows.append((row, 1) if k % 2 else (random.choice(rows)[0] if rows else row, 3))
    classes = PairedRows(table_of(rows), np.array([[0, 1]]))._classes.tolist()
    for i, (row, _) in enumerate(rows):
        assert [c == classes[i] for c in classes] == [other == row for other, _ in rows]
