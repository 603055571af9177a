"""Numbers in limbs, against Python's integers, around every bound on their length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.chain.weights.limbs import LIMB_BITS, as_weights, carried, n_limbs_for, scaled

BOUNDS = [0, 1, 30, 31, 32, 61, 62, 63, 64, 92, 93, 94, 123, 124, 125, 250]


@st.composite
def wholes(draw):
    """Draw a number of about so many bits as one of the bounds has, often the first or last one."""
    bits = draw(st.sampled_from(BOUNDS))
    nearby = draw(st.sampled_from([-1, 0, 1]))
    return draw(st.sampled_from([max(0, 2**bits + nearby), draw(st.integers(0, 2**bits))]))


def limbs_of(numbers, n_limbs):
    """Return numbers in n limbs that hold them."""
    rests = [[n >> LIMB_BITS * k for n in numbers] for k in range(n_limbs)]
    lower = [[rest & 2**LIMB_BITS - 1 for rest in rests_of_limb] for rests_of_limb in rests[:-1]]
    return [np.array(limb, np.int64) for limb in [*lower, rests[-1]]]


def values(limbs):
    """Return the numbers that limbs stand for."""
    return [
        sum(int(limb) << LIMB_BITS * k for k, limb in enumerate(each))
        for each in zip(*limbs, strict=True)
    ]


def assert_are_limbs(limbs):
    """All limbs but the last are below 2^31, and the last below 2^62."""
    assert all(limb.dtype == np.int64 for limb in limbs)
    assert all(np.all((limb >= 0) & (limb < 2**LIMB_BITS)) for limb in limbs[:-1])
    assert np.all((limbs[-1] >= 0) & (limbs[-1] < 2**62))


@given(st.lists(wholes(), min_size=0, max_size=5))
def test_numbers_survive_the_way_through_limbs(numbers):
    limbs = limbs_of(numbers, n_limbs_for(max(numbers, default=0)))
    assert_are_limbs(limbs)
    assert values(limbs) == numbers
    assert as_weights(limbs).tolist() == numbers


@pytest.mark.parametrize("bits", BOUNDS)
def test_so_many_limbs_hold_a_number_and_no_fewer(bits):
    for bound in (2**bits - 1, 2**bits):
        n = n_limbs_for(bound)
        assert bound < 2 ** (62 + LIMB_BITS * (n - 1))
        assert n == 1 or bound >= 2 ** (62 + LIMB_BITS * (n - 2))


@given(st.lists(wholes(), min_size=1, max_size=4), wholes(), st.integers(0, 2))
def test_products_with_a_factor_are_those_of_integers(numbers, factor, more):
    factor += 1
    limbs = limbs_of(numbers, n_limbs_for(max(numbers)))
    n_limbs = n_limbs_for(max(numbers) * factor) + more
    found = scaled(limbs, factor, n_limbs)
    assert len(found) == n_limbs
    assert_are_limbs(found)
    assert values(found) == [number * factor for number in numbers]


@given(st.lists(wholes(), min_size=1, max_size=6), st.data())
def test_sums_by_short_weights_are_those_of_integers(numbers, data):
    # The largest weights that the proof allows: they sum to 2^31 - 1.
    left, weights = 2**LIMB_BITS - 1, []
    for _ in numbers[1:]:
        weights.append(data.draw(st.one_of(st.just(left), st.integers(0, left))))
        left -= weights[-1]
    weights.append(left)
    total = sum(w * number for w, number in zip(weights, numbers, strict=True))
    n_limbs = n_limbs_for(max(total, *numbers, 0))
    limbs = limbs_of(numbers, n_limbs)
    sums = [np.array([np.sum(limb * np.array(weights))]) for limb in limbs]
    found = carried(sums, n_limbs)
    assert_are_limbs(found)
    assert values(found) == [total]


@given(st.lists(wholes(), min_size=1, max_size=4), st.integers(1, 3))
def test_more_limbs_hold_the_same_numbers(numbers, more):
    limbs = limbs_of(numbers, n_limbs_for(max(numbers)))
    wider = carried(limbs, len(limbs) + more)
    assert_are_limbs(wider)
    assert values(wider) == numbers
