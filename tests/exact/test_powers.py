"""Powers of elements of ℤ[e^r]."""

from __future__ import annotations

from functools import reduce
from operator import mul

import pytest
from flint import fmpq, fmpz_poly

from dpcheck.exact.polynomial import ExpPolynomial


@pytest.mark.parametrize("coefficients", [[], [3], [0, 1], [0, 0, -2], [1, 0, 2], [0, 5, 1]])
@pytest.mark.parametrize("exponent", [0, 1, 2, 5])
def test_a_power_is_the_repeated_product(coefficients, exponent):
    base = ExpPolynomial(fmpz_poly(coefficients), fmpq(1, 3))
    one = ExpPolynomial(fmpz_poly([1]), base.unit)
    found = base**exponent
    assert found.coefficients == reduce(mul, [base] * exponent, one).coefficients
    assert found.unit == base.unit
