"""Elimination of silent states equals the textbook equations on random chains."""

import random
from fractions import Fraction
from math import gcd

import numpy as np
import pytest

from dpcheck.chain.contraction import backward, eliminate, forward, limb_table
from dpcheck.chain.contraction.cycles import acyclic
from dpcheck.chain.contraction.eliminate import eliminated
from dpcheck.chain.contraction.silent_graph import SilentGraph
from dpcheck.chain.weights.denominators import Scales
from dpcheck.chain.weights.rows import Entries, Rows, in_places, merged


def random_rows(seed, n, cyclic):
    rng = random.Random(seed)
    indptr, targets, numerators, denominators = [0], [], [], []
    for s in range(n):
        low = 0 if cyclic else s + 1
        pool = list(range(low, n)) or [s]
        chosen = sorted(rng.sample(pool, min(len(pool), rng.randint(1, 3))))
        weights = [rng.randint(1, 5) for _ in chosen]
        targets += chosen
        numerators += weights
        denominators.append(sum(weights))
        indptr.append(len(targets))
    arrays = (np.array(a, np.int64) for a in (indptr, targets, numerators, denominators))
    return Rows(*arrays)


def dense(rows, n):
    table = [[Fraction(0)] * n for _ in range(rows.n_rows)]
    for s in range(rows.n_rows):
        for j in range(rows.indptr[s], rows.indptr[s + 1]):
            table[s][rows.targets[j]] += Fraction(
                int(rows.numerators[j]), int(rows.denominators[s])
            )
    return table


def oracle(rows, silent, diverged):
    """Return rows over non-silent states by Gauss-Jordan on the full matrix."""
    n = rows.n_rows
    table = [[*row, Fraction(0)] for row in dense(rows, n)]
    reach = [set(np.flatnonzero([p > 0 for p in row])) for row in table]
    can_leave = {s for s in range(n) if not silent[s]}
    while True:
        more = {s for s in range(n) if s not in can_leave and reach[s] & can_leave}
        if not more:
            break
        can_leave |= more
    for s in range(n):
        for t in range(n):
            if silent[t] and t not in can_leave and table[s][t]:
                table[s][diverged] += table[s][t]
                table[s][t] = Fraction(0)
    for k in (s for s in range(n) if silent[s] and s in can_leave):
        loop = table[k][k]
        table[k] = [p / (1 - loop) for p in table[k]]
        table[k][k] = Fraction(0)
        for s in range(n):
            if s != k and table[s][k]:
                w, table[s][k] = table[s][k], Fraction(0)
                table[s] = [p + w * q for p, q in zip(table[s], table[k], strict=True)]
    for s in range(n):
        if silent[s] and s not in can_leave:
            table[s] = [Fraction(0)] * n + [Fraction(1)]
    return table


@pytest.mark.parametrize("direction", ["forward", "backward", "table"])
@pytest.mark.parametrize("seed", range(40))
def test_rows_are_the_distribution_of_the_first_state_that_is_not_silent(
    seed, direction, monkeypatch
):
    monkeypatch.setattr(limb_table, "MAX_WIDTH", 99 if direction == "table" else -1)
    monkeypatch.setattr(eliminate, "forward_is_cheaper", lambda *_: direction == "forward")
    if seed % 2:
        monkeypatch.setattr(forward, "MAX_ENTRIES", 7)
        monkeypatch.setattr(backward, "BLOCK_ENTRIES", 7)
        monkeypatch.setattr(eliminate, "STATES_AT_ONCE", 3)
    rows = random_rows(seed, n=3 + seed % 9, cyclic=seed % 3 != 0)
    n = rows.n_rows
    rng = random.Random(seed)
    silent = np.array([rng.random() < 0.6 for _ in range(n)])
    result = eliminated(
        rows, silent=silent, wanted=np.arange(n), diverged=n, tick=lambda progress: None
    )
    assert dense(result, n + 1) == oracle(rows, silent, n)
    check_form(result)


def check_form(rows):
    """Check that targets increase within a row, and that rows are in lowest terms."""
    for s in range(rows.n_rows):
        row = slice(rows.indptr[s], rows.indptr[s + 1])
        targets, weights = rows.targets[row].tolist(), rows.numerators[row].tolist()
        assert targets == sorted(set(targets))
        assert gcd(*weights) == 1
        assert sum(weights) == rows.denominators[s]


def rows_from(*rows):
    """Return rows written as {target: weight}; the denominator is their sum."""
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    targets = np.array([t for row in rows for t in sorted(row)], np.int64)
    numerators = np.array([row[t] for row in rows for t in sorted(row)], np.int64)
    return Rows(indptr, targets, numerators, np.array([sum(row.values()) for row in rows]))


def check_against_the_oracle(rows, silent):
    n = rows.n_rows
    result = eliminated(
        rows, silent=np.array(silent), wanted=np.arange(n), diverged=n, tick=lambda progress: None
    )
    assert dense(result, n + 1) == oracle(rows, silent, n)
    check_form(result)


def test_rows_without_silent_targets_are_sorted_added_up_and_reduced_if_need_be():
    silent = [False, False, False, False, True, True, False, False]
    rows = rows_from({6: 2, 7: 4}, {1: 1, 4: 2, 5: 3}, {4: 1, 5: 1}, {3: 1}, {7: 1}, {1: 1}, {6: 1})
    reversed_row = [1, 0, *range(2, len(rows.targets))]
    targets = np.append(rows.targets[reversed_row], 7)
    numerators = np.append(rows.numerators[reversed_row], 1)
    indptr, denominators = np.append(rows.indptr, len(targets)), np.append(rows.denominators, 1)
    check_against_the_oracle(Rows(indptr, targets, numerators, denominators), silent)


def test_loops_with_equal_steps_inside_and_different_exits_are_told_apart():
    loops = [{0: 1, 1: 1, 4: 2}, {0: 1, 5: 3}, {2: 1, 3: 1, 4: 1, 5: 1}, {2: 1, 4: 3}]
    check_against_the_oracle(
        rows_from(*loops, {4: 1}, {5: 1}), [True, True, True, True, False, False]
    )


@pytest.mark.parametrize("bits", [10, 31, 40, 60])
def test_a_table_of_few_targets_gives_way_to_long_numbers(bits):
    large = 2**bits - 1
    levels = [{1: large, 4: 1}, {2: large - 2, 3: 3, 4: 1}, {3: large - 6, 4: 5}]
    check_against_the_oracle(rows_from(*levels, {3: 1}, {4: 1}), [True, True, True, False, False])


@pytest.mark.parametrize("bits", [4, 10, 16, 25, 31, 60])
def test_rows_asked_for_together_need_no_short_common_multiple(bits):
    """The table brings them to one scale, and gives way where that is long."""
    wanted = [{4: 2**bits - 9, 5: k} for k in (2, 4, 6, 8)]
    silent = [False, False, False, False, True, False, False]
    silent_row = {5: 2**30 - 7, 6: 6}
    check_against_the_oracle(rows_from(*wanted, silent_row, {5: 1}, {6: 1}), silent)


@pytest.mark.parametrize("place", [1, 3])
def test_a_silent_state_that_leads_nowhere_harms_no_other(place):
    """It has no row, and no other one leads there."""
    rows = rows_from({2: 1, 4: 1}, {4: 1, 5: 3}, {4: 2, 5: 1}, {4: 1}, {4: 1}, {5: 1})
    first, end = rows.indptr[place : place + 2].tolist()
    kept = np.r_[0:first, end : len(rows.targets)]
    indptr = rows.indptr - (end - first) * (np.arange(7) > place)
    rows = Rows(indptr, rows.targets[kept], rows.numerators[kept], rows.denominators)
    silent = np.array([False, True, True, True, False, False])
    asked = np.array([0, 2, 4])
    found = eliminated(rows, silent=silent, wanted=asked, diverged=6, tick=lambda progress: None)
    assert [found.targets.tolist(), found.numerators.tolist()] == [[4, 5, 4, 5, 4], [5, 1, 2, 1, 1]]


def test_rows_in_parts_stand_in_their_places_and_others_lead_to_the_end():
    weights = np.array([2**70, 1], object), np.array([2**70 + 1], object)
    long = Rows(np.array([0, 2]), np.array([1, 4]), *weights)
    short = rows_from({0: 1, 3: 2}, {2: 1})
    parts = [(np.array([3]), long), (np.array([4, 1]), short)]
    found = in_places(parts, 5, 4)
    assert found.indptr.tolist() == [0, 1, 2, 3, 5, 7]
    assert found.targets.tolist() == [4, 2, 4, 1, 4, 0, 3]
    assert found.numerators.tolist() == [1, 1, 1, 2**70, 1, 1, 2]
    assert found.denominators.tolist() == [1, 1, 1, 2**70 + 1, 3]
    assert not parts


def layered_rows(rng, bits, n_levels, width):
    """Return rows of levels of two states; all but the last `width` states are silent."""
    n = 2 * n_levels + width
    rows = []
    for s in range(2 * n_levels):
        later = list(range(s - s % 2 + 2, n))
        targets = sorted(rng.sample(later, min(len(later), rng.randint(1, 4))))
        # The most a denominator may be, or a divisor of it: levels have short common multiples.
        left = rng.choice([2**bits, 2**bits, 2 ** rng.randint(3, bits)])
        weights = []
        for _ in targets[1:]:
            weights.append(rng.choice([1, rng.randint(1, max(1, left // 2))]))
            left -= weights[-1]
        rows.append(dict(zip(targets, [*weights, left], strict=True)))
    return rows_from(*rows, *({s: 1} for s in range(2 * n_levels, n)))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize(
    ("bits", "n_levels"), [(5, 6), (10, 6), (21, 3), (30, 1), (30, 2), (30, 3), (30, 6), (31, 2)]
)
def test_long_sums_of_few_targets_are_exact(seed, bits, n_levels, monkeypatch):
    rng = random.Random(f"{seed} {bits} {n_levels}")
    monkeypatch.setattr(forward, "MAX_ENTRIES", 3 if seed % 2 else 1 << 22)
    monkeypatch.setattr(eliminate, "RowStore", None if bits < 31 else eliminate.RowStore)
    width = rng.choice([1, 2, 5])
    rows = layered_rows(rng, bits, n_levels, width)
    monkeypatch.setattr(eliminate, "forward_is_cheaper", lambda *_: False)
    check_against_the_oracle(rows, [True] * (2 * n_levels) + [False] * width)


def test_sums_beyond_int64_are_python_integers():
    scales = Scales()
    n = 12
    code = scales.code(n * 2**61)
    entries = Entries(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, 2**61), np.full(n, code)
    )
    _, _, sums, _ = merged(entries, 1, 1, scales)
    assert [int(w) for w in sums] == [n * 2**61]


def estimated(graph, wanted, levels):
    """Return what forward and backward cost, by walking along every edge."""
    indptr, targets, silent = graph.indptr.tolist(), graph.targets.tolist(), graph.silent.tolist()
    row = [targets[indptr[s] : indptr[s + 1]] for s in range(len(indptr) - 1)]
    n_outputs = len({t for t in targets if not silent[t]})
    out, backward = {}, 0
    for s in (s for states in levels for s in states.tolist()):
        cost = sum(out[t] if silent[t] else 1 for t in row[s])
        backward, out[s] = backward + cost, min(cost, n_outputs)
    reach, forward = dict.fromkeys(range(len(silent)), 0), 0
    for s in wanted.tolist():
        reach[s] += 1
    starting = [s for s in wanted.tolist() if not silent[s]]
    for states in [starting, *(level.tolist() for level in reversed(levels))]:
        many = {s: min(reach[s], len(wanted)) for s in states}
        forward += sum(many[s] * len(row[s]) for s in states)
        for s in states:
            for t in row[s]:
                reach[t] += many[s]
    return forward, backward


def test_the_cheaper_direction_is_the_one_that_counting_every_edge_finds():
    seen = set()
    for seed in range(300):
        rng = random.Random(seed)
        rows = random_rows(seed, n=4 + seed % 12, cyclic=False)
        silent = np.array([rng.random() < 0.7 for _ in range(rows.n_rows)])
        silent[-1] = False
        graph = SilentGraph.of(rows, silent, rows.n_rows)
        graph, level = acyclic(graph, lambda progress: None)
        levels = eliminate._levels(graph, level)
        wanted = np.array(sorted(rng.sample(range(rows.n_rows), rng.randint(1, 3))))
        if len(levels) > 1:
            forward, backward = estimated(graph, wanted, levels)
            found = eliminate.forward_is_cheaper(graph, wanted, levels)
            assert found == (forward < backward)
            seen.add(found)
    assert seen == {True, False}
