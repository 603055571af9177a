"""What replaces numpy's wrappers gives what they give."""

from itertools import accumulate, groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.chain import arrays
from dpcheck.chain.arrays import differences, marked, ranked
from dpcheck.chain.contraction.backward import BLOCK_ENTRIES, _blocks
from dpcheck.chain.weights.denominators import Scales
from dpcheck.exact import ExpPolynomial

integers = st.lists(st.integers(-(2**62), 2**62), max_size=12) | st.lists(
    st.integers(-2, 2), max_size=12
)


@given(integers)
def test_marked_and_differences_are_numpys(values: list[int]):
    array = np.array([value % 2**40 for value in values], np.int64)
    assert marked(array % 2).tolist() == np.flatnonzero(array % 2).tolist()
    assert differences(array).tolist() == np.diff(array).tolist()


@pytest.mark.parametrize("few", [0, 4, 4096])
@given(integers)
def test_ranked_is_unique_with_its_inverse(few: int, values: list[int]):
    array = np.array(values, np.int64)
    different, inverse = np.unique(array, return_inverse=True)
    before, arrays.FEW = arrays.FEW, few
    try:
        found, rank = ranked(array)
    finally:
        arrays.FEW = before
    assert found.tolist() == different.tolist()
    assert rank.tolist() == inverse.tolist()


@given(
    st.lists(st.sampled_from([1, BLOCK_ENTRIES // 2, BLOCK_ENTRIES - 1, BLOCK_ENTRIES]), max_size=6)
)
def test_a_block_ends_where_the_costs_pass_a_multiple_of_the_limit(costs: list[int]):
    marks = [total // BLOCK_ENTRIES for total in accumulate(costs)]
    slow = [list(rows) for _, rows in groupby(range(len(costs)), marks.__getitem__)]
    blocks = _blocks(np.array(costs, np.int64))
    assert [list(range(block.start, block.stop)) for block in blocks] == slow


@given(st.lists(st.sampled_from([1, 6, 4, 2**70]), max_size=6))
def test_the_bound_of_scales_is_the_largest(values: list[int]):
    scales = Scales()
    scales.code(2**80)
    codes = np.array([scales.code(value) for value in values], np.int64)
    assert scales.bound(codes) == max(values, default=1)


def test_scales_with_powers_of_e_have_no_bound():
    scales = Scales()
    codes = np.array([scales.code(3), scales.code(ExpPolynomial.exp(1)), scales.code(3)])
    assert scales.bound(codes) is None
    assert scales.bound(codes[1:2]) is None
    assert scales.bound(codes[::2]) == 3
