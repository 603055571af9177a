"""Neighbors that must have equal values of expressions are found without looking at all pairs."""

from __future__ import annotations

import time

import pytest

from tests.chains import built_chain


def pairs_of(condition, sets="0..5"):
    text = f"""
    chain c {{
      state s[k in {sets}]
      init s
      adjacent s[k] ~ s[l] where {condition}
    }}
    """
    pairs = built_chain(text, "c").neighbors.pairs
    return sorted(tuple(sorted(pair)) for pair in pairs.tolist())


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("l = k + 1", lambda k, l: l == k + 1),
        ("k * k = l", lambda k, l: k * k == l),
        ("2 * k = l & k != 2", lambda k, l: 2 * k == l and k != 2),
        ("k + 1 = 5 - l", lambda k, l: k + 1 == 5 - l),
        ("k = l + 1 & l = k - 1", lambda k, l: k == l + 1),
        ("abs(k - l) <= 2 & abs(k - 2) = l", lambda k, l: abs(k - l) <= 2 and abs(k - 2) == l),
        ("k + l = 5", lambda k, l: k + l == 5),
        ("l = k + 1 | l = 5 - k", lambda k, l: l in (k + 1, 5 - k)),
        ("k < 3 & l = k + 3", lambda k, l: k < 3 and l == k + 3),
        ("k = 7 & l = k - 3", lambda k, l: False),
        ("k = 7 | l = k + 3", lambda k, l: l == k + 3),
        ("k = 4 & l = 7 & abs(k - l) <= 3", lambda k, l: False),
        ("(if k > 2 then 0 else 4) = l", lambda k, l: l == (0 if k > 2 else 4)),
    ],
)
def test_pairs_are_those_that_satisfy_the_condition(condition, holds):
    members = range(6)
    expected = {(min(k, l), max(k, l)) for k in members for l in members if k != l and holds(k, l)}
    assert pairs_of(condition) == sorted(expected)


def test_a_hundred_thousand_states_are_not_paired_with_each_other():
    start = time.process_time()
    assert len(pairs_of("l = k + 1", "0..99999")) == 99_999
    assert time.process_time() - start < 20
