"""Exact values as the amounts that verdicts show."""

from __future__ import annotations

from dpcheck.check.factors import Gap
from dpcheck.check.verdicts import Amount
from dpcheck.exact import (
    Budget,
    Epsilon,
    Excess,
    LogOf,
    Number,
    decimal,
    divide,
    exact_text,
    exp_text,
)

INFINITE = Amount("inf", "inf")
INFINITE_EPSILON = Amount("inf", "inf", "inf")


def number_amount(value: Number | Excess) -> Amount:
    """Return a probability, a δ or an excess.

    >>> from dpcheck.exact import number
    >>> number_amount(number(75, 128))
    Amount(exact='75/128', decimal='0.5859375', exp=None)
    """
    return Amount(exact_text(value), decimal(value))


def epsilon_amount(value: Epsilon | None) -> Amount:
    """Return an ε; None is infinite.

    >>> epsilon_amount(Budget.ln(3))
    Amount(exact='ln(3)', decimal='1.0986122886681097', exp='3')
    """
    if value is None:
        return INFINITE_EPSILON
    return Amount(exact_text(value), decimal(value), exp_text(value))


def ratio_amount(gap: Gap) -> Amount | None:
    """Return p/q: infinite over zero, None for 0/0."""
    if gap.q == 0:
        return None if gap.p == 0 else INFINITE
    return number_amount(divide(gap.p, gap.q))


def quantity_amount(value: Epsilon | Number | Excess | None) -> Amount:
    """Return an ε (None is infinite) or a number."""
    if value is None or isinstance(value, Budget | LogOf):
        return epsilon_amount(value)
    return number_amount(value)
