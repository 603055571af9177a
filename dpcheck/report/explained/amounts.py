"""Numbers inside of an explanation, where several stand side by side."""

from __future__ import annotations

from dpcheck.check.values.verdicts import Amount
from dpcheck.report.notation import amount_text, short_decimal


def readable(amount: Amount, longest: int = 24) -> str:
    """Return an amount exactly with its decimal, or as a decimal alone where the text is longer.

    >>> third = Amount("1/3", "0.33333333333333333")
    >>> readable(third), readable(third, 2), readable(Amount("4", "4"), 0)
    ('1/3 ≈ 0.3333333', '≈ 0.3333333', '4')
    """
    is_decimal = amount.exact == amount.decimal and len(amount.exact) < 10
    return (
        amount_text(amount) if is_decimal or len(amount.exact) <= longest else short_decimal(amount)
    )
