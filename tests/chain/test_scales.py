"""Weights gathered by index, and the denominators of rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.chain.weights.denominators import Scales, gathered

NUMBERS = st.integers(-(2**70), 2**70)


@given(st.lists(NUMBERS, min_size=1, max_size=20), st.data())
def test_gathered_weights_are_the_values_at_the_index_few_or_many(values, data):
    place = st.integers(0, len(values) - 1)
    index = data.draw(st.lists(place, max_size=40))
    found = gathered(values, np.array(index, np.int64))
    assert found.tolist() == [values[k] for k in index]


class AskedOneByOne(list):
    """Numbers that nobody may look through."""

    def __iter__(self):
        raise AssertionError("the denominators of all levels were looked through")


def test_asking_for_few_of_many_denominators_does_not_look_at_the_others():
    scales = Scales()
    codes = [scales.code(k) for k in range(1, 100)]
    scales.values = AskedOneByOne(scales.values)
    assert scales.weights(np.array([codes[3], codes[3], 0])).tolist() == [4, 4, 1]
