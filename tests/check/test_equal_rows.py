"""Classes of equal rows of long weights, against rows of fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from dpcheck.check.evidence.paired_rows import PairedRows
from dpcheck.check.evidence.sequences import SequenceTable


def table_of(rows, width):
    """Return a table of rows {sequence: weight}, each over the sum of its weights."""
    entries = [(k, w) for row in rows for k, w in sorted(row.items())]
    return SequenceTable(
        sources=np.arange(len(rows)),
        indptr=np.cumsum([0, *map(len, rows)]),
        sequences=np.array([k for k, _ in entries], np.int64),
        weights=np.array([w for _, w in entries], object),
        denominators=tuple(sum(row.values()) for row in rows),
        prefix=np.arange(width),
        end=np.zeros(width, np.int64),
        parent=np.zeros(width, np.int64),
        shown=np.arange(width),
    )


def classes(rows, width):
    return PairedRows(table_of(rows, width), np.array([[0, 0]]))._classes


def random_rows(rng, bits, width, n_scales):
    """Return rows that are often equal, over the same denominator or over another one."""
    scales = [2**bits + rng.choice([-1, 0, 1]) for _ in range(n_scales)]
    rows = []
    for _ in range(rng.randint(1, 30)):
        if rows and rng.random() < 0.6:
            row, stretch = rng.choice(rows), rng.choice([1, 1, 1, 2, 3])
            rows.append({k: w * stretch for k, w in row.items()})
            continue
        kept = sorted(rng.sample(range(width), rng.randint(1, width)))
        marks = [0, *sorted(rng.sample(range(1, 6), len(kept) - 1)), 6]
        scale = rng.choice(scales)
        cuts = [scale * mark // 6 for mark in marks]
        rows.append({k: b - a for k, (a, b) in zip(kept, pairwise(cuts), strict=True)})
    return rows


@pytest.mark.parametrize("bits", [8, 30, 31, 32, 61, 62, 63, 64, 93, 120])
@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("seed", range(8))
def test_rows_are_of_one_class_exactly_if_they_are_equal(bits, width, seed):
    rows = random_rows(Random(f"{bits} {width} {seed}"), bits, width, n_scales=1 + seed % 2)
    found = classes(rows, width)
    exact = [{k: Fraction(w, sum(row.values())) for k, w in row.items()} for row in rows]
    for i, row in enumerate(exact):
        assert [k == found[i] for k in found.tolist()] == [other == row for other in exact]


@pytest.mark.parametrize("seed", range(20))
def test_a_pair_of_rows_stands_for_the_pairs_with_the_same_rows(seed):
    rng = Random(seed)
    rows = random_rows(rng, 8, 3, n_scales=2)
    exact = [{k: Fraction(w, sum(row.values())) for k, w in row.items()} for row in rows]
    pairs = [(i, j) for i in range(len(rows)) for j in range(i)] or [(0, 0)]
    rng.shuffle(pairs)
    found, is_turned = PairedRows(table_of(rows, 3), np.array(pairs)).representatives()
    for (i, j), one, turned in zip(pairs, found.tolist(), is_turned.tolist(), strict=True):
        if exact[i] == exact[j]:
            assert one == -1
            continue
        first, second = pairs[one][::-1] if turned else pairs[one]
        assert (exact[first], exact[second]) == (exact[i], exact[j])


def test_rows_that_differ_in_one_unit_of_a_hundred_bits_are_told_apart():
    most = 2**100
    rows = [{0: most, 1: most}, {0: most + 1, 1: most - 1}, {0: 1, 1: 1}, {0: 2 * most}]
    found = classes(rows, 2).tolist()
    assert found[0] == found[2]
    assert len(set(found)) == 3
