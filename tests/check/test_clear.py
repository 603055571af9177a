"""Pairs that floats decide are decided as exact numbers do, and what is near is left to these."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.check.formulas import truths
from dpcheck.check.formulas.float_verdicts import OPEN, SATISFIED, VIOLATED, clear_verdicts
from dpcheck.check.formulas.truths import Truths
from dpcheck.exact import Budget, excess_sign, exponential, float_bounds, number
from dpcheck.limits import Limits
from tests.check.building import release_chain
from tests.check.claims import eventually, formula, here, outcome, private, verdict
from tests.solve.chains import make_chain
from tests.solve.strategies import LETTERS, chains

TINY = Fraction(1, 10**40)


def exact(value):
    return number(value.numerator, value.denominator)


def bounds_of(values):
    """Return floats below and above some fractions, as arrays."""
    found = [float_bounds(exact(value)) for value in values]
    return tuple(np.array(side) for side in zip(*found, strict=True))


def fractions():
    """Draw probabilities, often 0, 1, tiny ones and some that differ by nearly nothing."""
    common = [Fraction(0), Fraction(1), Fraction(1, 3), Fraction(2, 3), Fraction(1, 2), TINY**7]
    near = st.builds(
        lambda p, sign: min(max(p + sign * TINY, Fraction(0)), Fraction(1)),
        st.sampled_from(common),
        st.sampled_from([-1, 1]),
    )
    return st.one_of(st.sampled_from(common), near, st.fractions(0, 1))


BUDGETS = {
    "0": Budget.of(0),
    "ln 2": Budget.ln(2),
    "1/3": Budget.of(number(1, 3)),
    "(ln 2)/2": number(1, 2) * Budget.ln(2),
    "-ln 3": Budget.ln(number(1, 3)),
    "10^9": Budget.of(10**9),
    "10^12": Budget.of(10**12),
}


@pytest.mark.parametrize("name", BUDGETS)
@given(data=st.data())
def test_floats_decide_only_what_exact_numbers_do(name, data):
    pairs = data.draw(st.lists(st.tuples(fractions(), fractions()), min_size=1, max_size=6))
    delta = data.draw(st.sampled_from([Fraction(0), Fraction(1, 3), TINY]))
    asked = private(BUDGETS[name], here("a"), exact(delta))
    p, q = zip(*pairs, strict=True)
    for found, (x, y) in zip(
        clear_verdicts(asked.epsilon, asked.delta, bounds_of(p), bounds_of(q)), pairs, strict=True
    ):
        signs = [
            excess_sign(exact(a), exact(b), asked.epsilon, asked.delta) for a, b in ((x, y), (y, x))
        ]
        assert found == OPEN or found == (VIOLATED if max(signs) > 0 else SATISFIED)


def test_the_roundings_of_the_right_side_are_covered():
    drawn = Random(3)
    epsilon, factor = Budget.ln(exact(Fraction(199, 100))), Fraction(199, 100)
    for _ in range(3000):
        q, delta = (Fraction(drawn.getrandbits(53), 2**55) for _ in range(2))
        p = factor * q + delta
        low = math.floor(p * 2**53) / 2**53
        known = (np.array([low]), np.array([low])), (np.array([float(q)]), np.array([float(q)]))
        assert clear_verdicts(epsilon, exact(delta), *known)[0] != VIOLATED


def test_a_difference_in_the_fortieth_digit_is_left_to_exact_numbers():
    p, q = bounds_of([Fraction(2, 3) + TINY, Fraction(3, 4)]), bounds_of([Fraction(1, 3)] * 2)
    asked = private(Budget.ln(2), here("a"))
    assert clear_verdicts(asked.epsilon, asked.delta, p, q).tolist() == [OPEN, VIOLATED]


def test_a_delta_that_is_a_power_of_e_is_enclosed():
    asked = private(Budget.of(0), here("a"), exponential(-1))
    p, q = bounds_of([Fraction(9, 10), Fraction(1, 2)]), bounds_of([Fraction(1, 2)] * 2)
    assert clear_verdicts(asked.epsilon, asked.delta, p, q).tolist() == [VIOLATED, SATISFIED]


def many_inputs(last):
    """Return a mechanism with 20 inputs in a row, of which the last has its own P(yes)."""
    shares = [Fraction(1, 3)] * 19 + [last]
    rows = {f"x = {k}": {"yes": p, "no": 1 - p} for k, p in enumerate(shares)}
    names = list(rows)
    return release_chain(rows, list(pairwise(names)))


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (Fraction(2, 3), "holds"),
        (Fraction(2, 3) + TINY, "violated"),
        (Fraction(2, 3) - TINY, "holds"),
        (Fraction(7, 8), "violated"),
        (Fraction(1, 2), "holds"),
    ],
)
def test_one_pair_of_many_in_the_fortieth_digit_decides_the_verdict(last, expected):
    chain = many_inputs(last)
    claim = formula(private(Budget.ln(2), eventually(here("yes"))))
    assert verdict(chain, claim) == expected
    found = outcome(chain, claim)
    if expected == "violated":
        assert found.verdict.counterexample.probabilities[0].exact == str(last)


def test_sure_events_of_many_pairs_are_reported():
    chain = many_inputs(Fraction(1, 2))
    for path, text in ((eventually(here("maybe")), "0"), (eventually(here("yes")), None)):
        chain.labelling.setdefault("maybe", np.zeros(chain.n_states, np.bool_))
        found = [each.text for each in outcome(chain, formula(private(Budget.of(0), path))).vacuity]
        kept = [each for each in found if "both sides" in each]
        assert (kept == []) if text is None else (f"has probability {text} on" in kept[0])


@given(
    chains(6),
    st.sampled_from(LETTERS),
    st.sampled_from([Budget.of(0), Budget.ln(2), Budget.ln(number(4, 3)), Budget.ln(3)]),
    st.sampled_from([0, number(1, 3), number(1, 4)]),
)
def test_estimates_change_no_violation_and_no_sure_event(drawn, letter, budget, delta):
    chain = make_chain(*drawn)
    pairs = np.array([(s, t) for t in range(chain.n_states) for s in range(t)]).reshape(-1, 2)
    asked = private(budget, eventually(here(letter)), delta)
    chain.labelling.setdefault(letter, np.zeros(chain.n_states, np.bool_))
    found = []
    for pays_from in (1, 10**9):
        with patch.object(truths, "ESTIMATING_PAYS_FROM", pays_from):
            one = Truths(chain, Limits())
            found.append((one.violating(asked, pairs).tolist(), one.sure_ends(asked.path, pairs)))
    assert found[0] == found[1]


def test_margins_hold_between_the_exact_and_the_rounded_bound():
    """With e^ε and δ known as floats, p runs through the floats around the exact E q + δ."""
    choose = Random(7)
    place = "dpcheck.check.formulas.float_verdicts"
    n_near = 0
    for _ in range(3000):
        factor, q, delta = 1 + choose.random() * 3, choose.random(), choose.random() / 4
        exactly = Fraction(factor) * Fraction(q) + Fraction(delta)
        near = float(exactly)
        p = [near]
        for _ in range(9):
            p = [math.nextafter(p[0], 0), *p, math.nextafter(p[-1], 9)]
        ps, qs = np.array(p), np.full(len(p), q)
        with (
            patch(f"{place}.exp_float_bounds", return_value=(factor, factor)),
            patch(f"{place}.float_bounds", return_value=(delta, delta)),
        ):
            found = clear_verdicts(Budget.ln(2), 0, (ps, ps), (qs, qs)).tolist()
        for one, verdict_ in zip(p, found, strict=True):
            n_near += verdict_ == OPEN
            if verdict_ == VIOLATED:
                assert Fraction(one) > exactly or Fraction(q) > Fraction(factor) * Fraction(one)
            if verdict_ == SATISFIED:
                assert Fraction(one) <= exactly
    assert n_near > 3000
