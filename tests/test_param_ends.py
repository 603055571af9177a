"""Ends of intervals of a parameter that are not rational, as claims can name them."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from dpcheck.intervals import ParamEnd, ParamInterval

NUMBERS = st.builds(
    lambda n, off, power: (Fraction(n, 10**6) + Fraction(off, 10**30)) * Fraction(10) ** power,
    st.integers(1, 10**6),
    st.integers(-9, 9).filter(bool),
    st.integers(-9, 9),
)


def end(number, *, is_exact=False):
    """Return an end, that stands for an irrational number unless it is exact."""
    digits = Context(prec=17).divide(Decimal(number.numerator), Decimal(number.denominator))
    return ParamEnd(str(number) if is_exact else None, None, str(digits.normalize()), True)


@given(NUMBERS, NUMBERS, st.booleans())
@example(Fraction(1, 2) + Fraction(1, 10**30), Fraction(2, 3), False)
@example(Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**9), True)
def test_what_is_inside_of_an_interval_is_so_exactly_and_nearly_all(first, second, is_exact):
    low, high = min(first, second), max(first, second)
    whole = ParamInterval(end(low, is_exact=is_exact), end(high))
    found = whole.inside
    if found is None:
        assert high - low < Fraction(3, 10**5) * high
        return
    least, most = Fraction(found.low.text), Fraction(found.high.text)
    assert low < least or (is_exact and low == least)
    assert least < most < high
    assert least - low + high - most < Fraction(3, 10**5) * high
    assert whole.rounded_ends == (found.low.text, found.high.text)[int(is_exact) :]
