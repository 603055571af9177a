"""Advice about noise around numbers that are too far apart for their probabilities."""

from __future__ import annotations

import re

import pytest

from dpcheck.explore.sampling.closed_forms import fits_in_memory, too_many_digits


@pytest.mark.parametrize("parts", [(99, 100), (1, 2), (999_999, 1_000_000)])
@pytest.mark.parametrize("low", [0, -700, 40_000])
@pytest.mark.parametrize("apart", [50_000, 60_000, 10**7, 10**10])
def test_a_policy_that_is_advised_has_room_around_all_numbers_and_fits(low, apart, parts):
    _, advice = too_many_digits(low, low + apart, *parts)
    for first, last in re.findall(r"clamped (-?\d+)\.\.(-?\d+)", advice):
        assert int(first) < low - 90 < low + apart + 90 < int(last)
        size = int(last) - int(first)
        ratio = (1, 2) if "`1/2`" in advice else parts
        assert fits_in_memory(size + 1, size, *ratio)
    for most in re.findall(r"less than ([\d,]+) apart", advice):
        inside = int(most.replace(",", "")) - 1
        assert fits_in_memory(inside + 3, inside + 2, *parts)
        assert not fits_in_memory(inside + 6, inside + 6, *parts)
