"""Exact numbers from their texts."""

from __future__ import annotations

from fractions import Fraction

from dpcheck.exact import number


def rational(text):
    """Return the number that `3/4`, `0.1` or `1e-40` writes; no float is involved."""
    value = Fraction(text)
    return number(value.numerator, value.denominator)
