"""Rows of polynomials: where they exceed a budget, and δ as pieces, against rational values."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from flint import fmpq, fmpz_poly

from dpcheck.check.all_values import deltas, ratios
from dpcheck.check.all_values.deltas import WorstSets, growing_sets, worst_sets
from dpcheck.check.all_values.pieces import envelope
from dpcheck.check.all_values.ratios import where_exceeded
from dpcheck.check.all_values.rows import ONE, ZERO, PolynomialRows, growth_on
from dpcheck.exact import Param, add, divide, multiply, roots, subtract
from dpcheck.exact.line import line_of
from dpcheck.limits import LimitReached, Limits
from tests.exact.test_roots import contains

PARAM = Param("a", 0, 1)
T = fmpz_poly([0, 1])
LINE = line_of(PARAM, [], is_exponential=False)
a = PARAM.stand_in
GROWTHS = [
    (divide(1, a), 1),
    (divide(3, multiply(2, multiply(a, a))), 1),
    (fmpq(3, 2), 1),
    (2, 1),
    (1, 1),
    (divide(add(a, 1), a), 1),
    (divide(2, add(a, 1)), 1),
    (divide(1, a), 2),
    (4, 3),
    (divide(add(a, 1), a), 2),
]
TIMES = [fmpq(k, 8) for k in range(9, 33)] + [fmpq(50), fmpq(1001, 1000), fmpq(4, 3), fmpq(5, 3)]


def some_polynomial(draw, size):
    """Return a polynomial that is at least 0 for t > 1."""
    if draw.random() < 0.15:
        return ZERO
    found = fmpz_poly([draw.randint(1, size)])
    for _ in range(draw.randint(0, 3)):
        found *= draw.choice(
            [
                fmpz_poly([draw.randint(0, size), draw.randint(1, size)]),
                fmpz_poly([-1, 1]),
                fmpz_poly([-draw.randint(3, 9), draw.randint(1, 3)]) ** 2,
            ]
        )
    return found


def some_rows(draw, n_sequences=4, n_sources=4, size=9):
    """Return rows of random polynomials, equal ones shared as in those of a table."""
    members, index = [], np.zeros((n_sequences, n_sources), np.int64)
    for s in range(n_sequences):
        found = [ZERO]
        common = some_polynomial(draw, 3) if draw.random() < 0.3 else ONE
        for source in range(n_sources):
            p = common * some_polynomial(draw, size)
            if draw.random() < 0.6:  # ratios near those of budgets
                p = draw.choice(found) * draw.choice([ONE, T, T, 2 * ONE, T + 1])
            if p not in found:
                found.append(p)
            index[s, source] = found.index(p)
        members.append(tuple(found))
    return PolynomialRows(LINE, fmpz_poly([size, 0, 0, 1]), tuple(members), index)


def row(rows, source):
    """Return the numerators of one source."""
    places = rows.index[:, source].tolist()
    return [members[k] for members, k in zip(rows.members, places, strict=True)]


def both_ways(rows, pairs):
    """Yield the rows of each pair of sources, in either order."""
    for i, j in pairs.tolist():
        yield row(rows, i), row(rows, j)
        yield row(rows, j), row(rows, i)


def factor_at(growth, t):
    """Return F at a value of t."""
    above, below, _ = growth_on(LINE, growth)
    return above(t) / below(t)


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
@pytest.mark.parametrize("size", [9, 10**12])
def test_pairs_exceed_a_budget_where_a_sequence_does(growth, size):
    draw, root = random.Random(1), growth[1]
    seen = set()
    for _ in range(12):
        rows = some_rows(draw, n_sequences=draw.randint(1, 3), size=size)
        pairs = np.array([[0, 1], [2, 3], [1, 3]][: draw.randint(1, 3)])
        more = where_exceeded(rows, pairs, growth, Limits())
        least = where_exceeded(rows, pairs, growth, Limits(), or_equal=True)
        for t in TIMES:
            factor = factor_at(growth, t)
            sides = [
                (p(t) ** root, factor * q(t) ** root)
                for left, right in both_ways(rows, pairs)
                for p, q in zip(left, right, strict=True)
            ]
            assert contains(more, t) == any(p > q for p, q in sides)
            if all(p != 0 or other(t) != 0 for p, other in positive_members(rows, pairs, t)):
                assert contains(least, t) == any(p >= q and p > 0 for p, q in sides)
            seen.add((contains(more, t), contains(least, t)))
    assert len(seen) >= 2 or growth == (1, 1)


def positive_members(rows, pairs, t):
    """Yield probabilities that are 0 at t though not everywhere: there runs are other ones."""
    for left, right in both_ways(rows, pairs):
        for p in (*left, *right):
            if p != ZERO:
                yield p(t), p


@pytest.mark.parametrize(
    ("growth", "p", "q"),
    [
        ((divide(1, a), 2), T, ONE),  # t > t^(1/2), though t <= t
        ((divide(1, multiply(2, a)), 1), T, ONE),  # t > t/2, though t <= t
        ((2, 1), 3 * ONE, ONE),  # though 3 <= 2 + 1
        ((subtract(add(divide(1, multiply(a, a)), 1), divide(1, a)), 1), T * T, ONE),
        ((divide(2, add(a, 1)), 1), 2 * T, ONE),
        ((1, 1), 2**61 * (1 + T + T**2 + T**3), 2**61 * (T + T**2 + T**3)),  # beyond 64 bits
        ((1, 1), 2**80 * (2 * T - 1), 2**80 * T),
        ((divide(1, a), 1), T + 1, ONE),
    ],
)
def test_no_sieve_lets_a_sequence_pass_that_exceeds_the_budget(growth, p, q):
    rows = PolynomialRows(LINE, fmpz_poly([9, 9, 9]), ((ZERO, p, q),), np.array([[1, 2]]))
    exceeded = where_exceeded(rows, np.array([[0, 1]]), growth, Limits())
    assert exceeded.is_everything
    assert (exceeded.low, exceeded.high) == (LINE.low, LINE.high)
    swapped = where_exceeded(rows, np.array([[1, 0]]), growth, Limits())
    assert swapped.is_everything


def test_only_roots_at_1_are_left_out():
    for other in (T, T - 2, T - 3):
        members = (ZERO, other**2 * T, 2 * other**2, other**2 * (T - 1))
        rows = PolynomialRows(LINE, fmpz_poly([9, 9, 9, 9]), (members,), np.array([[1, 2, 3]]))
        more = where_exceeded(rows, np.array([[0, 1], [2, 1]]), (2, 1), Limits())
        for t in (fmpq(3, 2), fmpq(9, 2), fmpq(6)):
            p, q, r = (each(t) for each in members[1:])
            assert contains(more, t) == (p > 2 * q or q > 2 * p or r > 2 * q or q > 2 * r)


def test_equal_rows_reach_a_budget_of_0_and_exceed_none():
    p = fmpz_poly([2, 1])
    rows = PolynomialRows(LINE, fmpz_poly([5, 1]), ((ZERO, p),), np.array([[1, 1]]))
    pair = np.array([[0, 1]])
    assert where_exceeded(rows, pair, (1, 1), Limits()).is_empty
    assert where_exceeded(rows, pair, (1, 1), Limits(), or_equal=True).is_everything
    assert where_exceeded(rows, pair, (2, 1), Limits(), or_equal=True).is_empty


def test_many_comparisons_go_through_the_sieve_in_blocks(monkeypatch):
    draw = random.Random(3)
    rows = some_rows(draw, n_sequences=3, n_sources=9)
    pairs = np.array([[i, j] for i in range(9) for j in range(i)])
    whole = where_exceeded(rows, pairs, GROWTHS[0], Limits())
    monkeypatch.setattr(ratios, "BLOCK", 2)
    parts = where_exceeded(rows, pairs, GROWTHS[0], Limits())
    assert parts.truths == whole.truths
    monkeypatch.setattr(ratios, "INT64_BITS", 0)
    long = where_exceeded(rows, pairs, GROWTHS[0], Limits())
    assert long.truths == whole.truths
    with pytest.raises(LimitReached):
        where_exceeded(rows, pairs, GROWTHS[5], Limits(deadline=0))


def delta_at(rows, pairs, growth, t):
    """Return the largest sum of max(0, p - e^ε q) over the denominator: exactly, or as a float."""
    factor, root = factor_at(growth, t), growth[1]
    if root > 1:
        factor = float(int(factor.p) / int(factor.q)) ** (1 / root)
    found = []
    for left, right in both_ways(rows, pairs):
        values = [(p(t), q(t)) for p, q in zip(left, right, strict=True)]
        if root > 1:
            values = [(int(p.p) / int(p.q), int(q.p) / int(q.q)) for p, q in values]
        found.append(sum(max(p - factor * q, p * 0) for p, q in values))
    under = rows.denominator(t)
    return max(found) / (under if root == 1 else int(under.p) / int(under.q))


def as_float(x):
    """Return a rational number as a float."""
    return int(x.p) / int(x.q)


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_deltas_are_those_of_the_worst_events_and_have_pieces(growth):
    draw = random.Random(2)
    on_line = growth_on(LINE, growth)
    bounds = [fmpq(1, 3), divide(a, 2), subtract(1, a), 0, fmpq(5)]
    for _ in range(6):
        rows = some_rows(draw, n_sequences=3)
        pairs = np.array([[0, 1], [2, 3]])
        sets = worst_sets(rows, pairs, growth, Limits())
        regions = [(b, sets.where_above(b), sets.where_above(b, or_equal=True)) for b in bounds]
        assert {(more.low, more.high) for _, more, _ in regions} == {(LINE.low, LINE.high)}
        pieces = envelope(sets.functions(), on_line, LINE, Limits())
        for t in TIMES:
            wanted = delta_at(rows, pairs, growth, t)
            for bound, more, least in regions:
                above, below = LINE.polynomials(bound)
                value = above(t) / fmpq(below(t))
                if growth[1] == 1:
                    assert contains(more, t) == (wanted > value)
                    assert contains(least, t) == (wanted >= value)
                elif abs(wanted - as_float(value)) > 1e-9:
                    assert contains(more, t) == contains(least, t) == (wanted > as_float(value))
            (own,) = [function for region, function in pieces if contains(region, t)][:1]
            p, q, d = (as_float(part(t)) for part in own)
            e = as_float(factor_at(growth, t)) ** (1 / growth[1])
            assert (p - e * q) / d == pytest.approx(
                float(as_float(wanted)) if growth[1] == 1 else wanted, rel=1e-9, abs=1e-9
            )


def test_sequences_of_one_ratio_enter_a_set_together():
    p, q = T + 2, 2 * T + 1
    members = ((ZERO, p, q),) * 8
    rows = PolynomialRows(LINE, 99 * (T + 1), members, np.array([[1, 2]] * 4 + [[2, 1]] * 4))
    found = list(growing_sets(rows, np.array([[0, 1]]), Limits()))
    own = {tuple(tuple(side.coeffs()) for side in each) for each in found}
    parts = (4 * q, 4 * p), (4 * (p + q), 4 * (p + q))  # q > p for t > 1
    assert own == {tuple(tuple(side.coeffs()) for side in each) for each in parts}


def counted(monkeypatch, place, name):
    """Return a list that comes to hold the arguments of all calls of a function."""
    calls, function = [], getattr(place, name)
    monkeypatch.setattr(place, name, lambda *a, **k: calls.append(a) or function(*a, **k))
    return calls


def test_sequences_and_pairs_that_are_alike_are_asked_once_for_their_worst_sets(monkeypatch):
    members = ((ZERO, T, 2 * T),) * 2
    rows = PolynomialRows(LINE, 9 * T, members, np.array([[1, 1, 2, 2], [1, 2, 1, 2]]))
    signs = counted(monkeypatch, roots, "where_sign")
    cells = counted(monkeypatch, deltas._Search, "cells")
    pairs = np.array([[0, 3], [1, 2], [3, 0], [0, 3]])
    found = worst_sets(rows, pairs, (1, 1), Limits())
    assert len(signs) == 2 * 2  # from 1 to 2 and from 2 to 1, by sequence
    assert len(cells) == 4
    assert list(found.sides) == [(ZERO, ZERO), (2 * T, T), (4 * T, 2 * T)]


def test_no_set_is_asked_after_one_that_loses_too_much_for_all_values(monkeypatch):
    rows = PolynomialRows(LINE, 9 * T, ((ZERO, T),), np.array([[1]]))
    sets = WorstSets(rows, (1, 1), ((ZERO, ZERO), (2 * T, T), (4 * T, 2 * T)), Limits())
    asked = counted(monkeypatch, roots, "where_above")
    assert sets.where_above(0).is_everything
    assert len(asked) == 2


def test_ratios_of_two_sequences_are_compared_once_for_all_pairs(monkeypatch):
    members = (ZERO, T, 2 * T), (ZERO, T + 1, 3 * T), (ZERO, T, 5 * T), (ZERO,)
    index = np.array([[1, 2, 2], [1, 2, 2], [1, 1, 2], [0, 0, 0]])  # the last one is impossible
    rows = PolynomialRows(LINE, 99 * T, members, index)
    asked = counted(monkeypatch, roots, "roots_between")
    found = list(growing_sets(rows, np.array([[0, 1], [0, 2], [1, 0]]), Limits()))
    n_sides, n_ratios, n_shared = 4 * 3, 4 * 3, 2
    assert len(asked) == n_sides + n_ratios - n_shared
    different = {tuple(tuple(side.coeffs()) for side in each) for each in found}
    assert len(found) == len(different)


def test_all_tangents_of_a_parabola_are_pieces_in_any_order():
    draw = random.Random(6)
    tangents = [(2 * c * T - c**2, ZERO, ONE) for c in range(1, 12)]
    for _ in range(6):
        functions = draw.sample(tangents, len(tangents))
        pieces = envelope(functions, (ONE, ONE, 1), LINE, Limits())
        assert [function for _, function in pieces] == tangents


def test_three_functions_may_meet_in_one_value():
    functions = [(p, ZERO, ONE) for p in (2 - T, T - 2, (T - 2) ** 3)]
    pieces = envelope(functions, (ONE, ONE, 1), LINE, Limits())
    assert [function[0] for _, function in pieces] == [2 - T, T - 2, (T - 2) ** 3]
    assert [end.rational for end in pieces[0][0].ends] == [2, 3]


def test_pieces_cover_the_line_and_their_functions_are_all_needed():
    draw = random.Random(4)
    for _ in range(8):
        functions = [
            (some_polynomial(draw, 9), ZERO, some_polynomial(draw, 9) + 1) for _ in range(6)
        ]
        pieces = envelope(functions, (ONE, ONE, 1), LINE, Limits())
        for t in TIMES:
            held = [function for region, function in pieces if contains(region, t)]
            assert 1 <= len(held) <= 2
            best = max(p(t) / d(t) for p, _, d in functions)
            assert all(p(t) / d(t) == best for p, _, d in held)
        for (_, left), (_, right) in pairwise(pieces):
            assert left is not right
    with pytest.raises(LimitReached):
        envelope(functions, (ONE, ONE, 1), LINE, Limits(deadline=0))
