"""Exact numbers, short enough to read.

Only for the eye: what is shortened or rounded here appears in full in the JSON answer. No float
is involved; decimals are cut from the correctly rounded text of an `Amount`.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

from dpcheck.check.values.verdicts import Amount

_LONG_DIGITS = re.compile(r"\d{25,}")
_RATIONAL = re.compile(r"-?\d+(/\d+)?")
_DIGITS_SHOWN = 7


def shortened(text: str) -> str:
    """Return the text with long runs of digits cut in the middle, their digits counted.

    >>> shortened("1/" + "7" * 40)
    '1/77777777…77777777 (40 digits)'
    """
    return _LONG_DIGITS.sub(_shorten, text)


def _shorten(match: re.Match[str]) -> str:
    digits = match.group()
    return f"{digits[:8]}…{digits[-8:]} ({len(digits):,} digits)"


def amount_text(amount: Amount) -> str:
    """Return an amount exactly and, where that says more, as a decimal.

    >>> amount_text(Amount("3/4", "0.75")), amount_text(Amount("1/3", "0.33333333333333333"))
    ('3/4 = 0.75', '1/3 ≈ 0.3333333')
    >>> amount_text(Amount("ln(3)", "1.0986122886681097", exp="3"))
    'ln(3) ≈ 1.098612'
    """
    exact = shortened(amount.exact)
    if amount.exact in (amount.decimal, "inf"):
        return exact
    short = _short_decimal(amount.decimal)
    sign = "=" if _is_same(amount.exact, short) else "≈"
    return f"{exact} {sign} {short}"


def _short_decimal(decimal: str) -> str:
    """Return a decimal rounded to the digits shown."""
    rounded = Context(prec=_DIGITS_SHOWN, rounding=ROUND_HALF_EVEN).create_decimal(decimal)
    if rounded == 0:
        return "0"
    if -7 <= rounded.adjusted() < 15:
        text = f"{rounded:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{rounded.normalize():e}"


def _is_same(exact: str, short: str) -> bool:
    """Tell whether a short decimal is all of a rational number, by cross-multiplication."""
    if len(exact) > 40 or not _RATIONAL.fullmatch(exact):
        return False
    numerator, _, denominator = exact.partition("/")
    sign, digits, exponent = Decimal(short).as_tuple()
    if not isinstance(exponent, int) or exponent > 0:
        return False
    scaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    return bool(scaled * int(denominator or "1") == int(numerator) * 10**-exponent)
