"""Numbers for the eye: rounded correctly, `=` only where nothing is lost."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpcheck.check.values.verdicts import Amount
from dpcheck.report.numbers import amount_text, shortened


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6))
def test_an_equals_sign_means_that_the_decimal_is_exact(numerator, denominator):
    value = Fraction(numerator, denominator)
    decimal = format(float(value), ".12f").rstrip("0").rstrip(".")
    text = amount_text(Amount(str(value), decimal))
    if " = " in text:
        assert Fraction(text.split(" = ")[1]) == value


def test_long_numbers_are_cut_and_counted():
    assert shortened("9" * 24) == "9" * 24
    assert shortened("12345678" * 100) == "12345678…12345678 (800 digits)"


def test_almost_one_is_not_one():
    almost = Amount(f"{10**30 - 1}/{10**30}", "1")
    assert "≈ 1" in amount_text(almost)


def test_tiny_and_huge_decimals_keep_their_exponent():
    assert amount_text(Amount("exp(-100)", "3.7200759760208360e-44")) == "exp(-100) ≈ 3.720076e-44"
    assert amount_text(Amount("inf", "inf")) == "inf"
