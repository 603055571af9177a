"""What is too large to be written down is not written down in the message either."""

from __future__ import annotations

import pytest
from flint import fmpq

from dpcheck.exact import Budget, ExpNumber, TooLarge, add, exp_bounds, exponential, multiply, power


@pytest.mark.parametrize(
    "make",
    [
        lambda: add(exponential(fmpq(1, 3**10_000)), exponential(1)),
        lambda: multiply(exponential(fmpq(1, 3**10_000)), add(exponential(1), 1)),
        lambda: power(3, 10**5000),
    ],
)
def test_the_message_is_short(make):
    with pytest.raises(TooLarge) as found:
        make()
    assert len(str(found.value)) < 120


def test_a_number_that_helps_is_told():
    with pytest.raises(TooLarge, match="degree 1000000007"):
        add(exponential(fmpq(1, 1_000_000_007)), exponential(1))
    assert isinstance(exponential(1), ExpNumber)


def test_powers_of_e_that_nobody_can_write_down_have_no_bounds():
    for budget in (Budget.of(2**31), -Budget.of(2**31), 2**31 * Budget.ln(3)):
        with pytest.raises(TooLarge):
            exp_bounds(budget)
