"""Budgets over a parameter are compared exactly, for all its values, or not at all."""

from __future__ import annotations

import pytest

from dpcheck.pipeline.budgets import are_pieces_greater, has_all, is_greater_somewhere

ANSWER = "for p in (0, 1/2): ln((1 - p)/p); for p in [1/2, 1): ln(p/(1 - p))"
CUT = "for p in (0, ≈0.61803398874989485): ln(1/p); for p in [≈0.61803398874989485, 1): ln(2)"


@pytest.mark.parametrize(
    ("now", "before", "is_greater"),
    [
        (ANSWER, ANSWER.replace("ln", "2*ln"), False),
        (ANSWER.replace("ln", "2*ln"), ANSWER, True),
        (ANSWER, "for p in (0, 1): inf", False),
        ("for p in (0, 1): inf", ANSWER, True),
        ("for p in (0, 1): ln(1/p)", ANSWER, True),  # for p < 1/2 only
        ("for p in (0, 1/2): ln(1/p)", ANSWER, None),  # not known of other values
        (CUT, CUT.replace("ln(2)", "ln(3)"), None),
        ("for p in (0, 1): 1/p", ANSWER, None),
        ("for q in (0, 1): ln(1/q)", ANSWER, None),
        ("for p in {1/2}: 0", "for p in {1/2}: ln(3/2)", False),
        ("for p in {1/2}: ln(1/p)", "for p in {1/2}: ln(3/2)", True),
        ("for p in (0, 1): ln(2)", "for p in (0, 1): ln(3)", False),
    ],
)
def test_pieces_are_compared_where_their_values_meet(now, before, is_greater):
    assert are_pieces_greater(now, before) is is_greater


@pytest.mark.parametrize(
    ("now", "before", "values", "name", "is_greater"),
    [
        ("eps", "2*eps", "eps in (0, inf)", "epsilon", False),
        ("100*eps", "eps", "eps in (0, 1/1000]", "epsilon", True),
        ("-ln(p)", "ln(2)", "p in (1/2, 1)", "epsilon", False),
        ("-ln(p)", "ln(2)", "p in (1/3, 1)", "epsilon", True),
        ("eps", "-ln(eps)", "eps in (0, 1)", "epsilon", None),  # a budget, and a number
        ("p/2", "p", "p in (0, 1)", "delta", False),
        ("1 - p", "p", "p in (0, 1)", "delta", True),
        ("1/4", "1/3", "p in (0, 1)", "delta", False),
    ],
)
def test_a_bound_is_compared_for_all_values(now, before, values, name, is_greater):
    assert is_greater_somewhere(now, before, values, name) is is_greater


@pytest.mark.parametrize(
    ("wide", "narrow", "is_all"),
    [
        ("p in (0, inf)", "p in [1/3, 1/2]", True),
        ("p in (0, ln(3))", "p in (0, ln(2)]", True),
        ("p in [0, 1]", "p in {1}", True),
        ("p in (0, 1)", "p in {1}", False),
        ("p in (0, 1)", "q in (0, 1)", False),
        ("p in (0, 1)", "p in (0, 1/2) and (1/2, 1)", False),  # not known
    ],
)
def test_values_are_among_others(wide, narrow, is_all):
    assert has_all(wide, narrow) is is_all
