"""Exact values as the amounts that verdicts show."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from flint import arb, ctx

from dpcheck import exact
from dpcheck.check.values.verdicts import Amount
from dpcheck.privacy.enclosed import Enclosed, Measure, ball_of

ENCLOSED_DIGITS = 15
"""Significant digits at most of the ends of an interval."""
_BARE = 9
"""A shorter exact text needs no decimal beside it."""
INFINITE = Amount("inf", "inf")
INFINITE_EPSILON = Amount("inf", "inf", "inf")


def number_amount(value: exact.Number | exact.Excess) -> Amount:
    """Return a probability, a δ or an excess.

    >>> from dpcheck.exact import number
    >>> amount = number_amount(number(75, 128))
    >>> amount.exact, amount.decimal
    ('75/128', '0.5859375')
    """
    return Amount(exact.exact_text(value), exact.decimal(value))


def bare(value: exact.Extended) -> Amount | str:
    """Return a number, or infinity, as text that needs no decimal beside it where it is short.

    >>> from dpcheck.exact import number
    >>> bare(number(2, 27))
    '2/27'
    """
    amount = bound_amount(value)
    return amount.exact if len(amount.exact) <= _BARE else amount


def between_amount(low: exact.Number | exact.Excess, high: exact.Number | exact.Excess) -> Amount:
    """Return a number known to lie between two others, exactly if they are equal.

    >>> from dpcheck.exact import number
    >>> between_amount(number(1, 3), number(2, 3)).exact
    'in [0.333333333333333, 0.666666666666667]'
    """
    if low == high:
        return number_amount(low)
    below, above = _rounded(low, ROUND_FLOOR), _rounded(high, ROUND_CEILING)
    return Amount(f"in [{below}, {above}]", exact.decimal(low), enclosure=(below, above))


def _rounded(value: exact.Number | exact.Excess, direction: str) -> str:
    """Return a decimal of `ENCLOSED_DIGITS` digits on the given side of a value."""
    return _decimal_end(
        exact.enclosure(value)[direction == ROUND_CEILING], ENCLOSED_DIGITS, direction
    )


def _decimal_end(end: exact.Rational, digits: int, direction: str) -> str:
    """Return a decimal on the given side of an end, without trailing zeros."""
    context = Context(prec=digits, rounding=direction)
    text = str(context.divide(Decimal(int(end.p)), Decimal(int(end.q)))).lower()
    mantissa, e, exponent = text.partition("e")
    shortest = mantissa.rstrip("0").removesuffix(".") if "." in mantissa else mantissa
    return f"{shortest}{e}{exponent}"


def bounds_amount(low: arb, high: arb) -> Amount:
    """Return a number >= 0 that is known to lie between the ends of two balls.

    The bounds have a digit more than they share; the decimal is the upper one.

    >>> bounds_amount(arb("0.64899924"), arb("0.64914754")).exact
    'in [0.648999, 0.649148]'
    >>> bounds_amount(arb(1), arb(1)).exact
    '1'
    """
    if not low.is_finite():
        return INFINITE
    if low == high and low.is_integer():
        return number_amount(int(low.fmpq().p))
    width = ((high - low) / high).abs_upper() if high.is_finite() else arb(1)
    shared = -width.log_base(10).lower() if width > 0 else arb(ENCLOSED_DIGITS)
    digits = min(ENCLOSED_DIGITS, max(3, int(shared.floor().fmpq().p) + 3))
    below = _decimal_end(low.lower().fmpq(), digits, ROUND_FLOOR) if low > 0 else "0"
    finite = high.is_finite()
    above = _decimal_end(high.upper().fmpq(), digits, ROUND_CEILING) if finite else "inf"
    return Amount(f"in [{below}, {above}]", above, enclosure=(below, above))


def epsilon_amount(value: exact.Epsilon | None) -> Amount:
    """Return an ε; None is infinite.

    >>> amount = epsilon_amount(exact.Budget.ln(3))
    >>> amount.exact, amount.exp, amount.decimal
    ('ln(3)', '3', '1.0986122886681097')
    """
    if value is None:
        return INFINITE_EPSILON
    return Amount(exact.exact_text(value), exact.decimal(value), exact.exp_text(value))


def epsilon_between(low: exact.Epsilon, high: exact.Epsilon | None) -> Amount:
    """Return an ε that is known to lie between two; None is infinite.

    >>> epsilon_between(exact.Budget.ln(2), exact.Budget.ln(4)).exact
    'in [0.693, 1.39]'
    """
    if high is not None and exact.compare_epsilon(low, high) == 0:
        return epsilon_amount(low)
    return bounds_amount(low.ball(128), arb("inf") if high is None else high.ball(128))


def growth_amount(epsilon: exact.Epsilon) -> Amount:
    """Return e^ε.

    >>> growth_amount(exact.Budget.ln(3)).exact, growth_amount(exact.Budget.of(1)).decimal
    ('3', '2.7182818284590452')
    """
    return Amount(exact.exp_text(epsilon), exact.decimal(exact.excess(0, -1, epsilon)))


def bound_amount(bound: exact.Epsilon | exact.Excess | exact.Extended) -> Amount:
    """Return a budget, a number or infinity as itself: nothing about e to it."""
    if isinstance(bound, exact.MinusInfinity):
        return Amount(bound.value, bound.value)
    return INFINITE if bound is None else Amount(exact.exact_text(bound), exact.decimal(bound))


def ratio_amount(p: exact.Number, q: exact.Number) -> Amount | None:
    """Return p/q: infinite over zero, None for 0/0."""
    if q == 0:
        return None if p == 0 else INFINITE
    return number_amount(exact.divide(p, q))


def enclosed_amount(value: Enclosed, digits: int) -> Amount:
    """Return a number that is known by enclosures, to so many digits."""
    low, high = value.decimals(digits)
    text = f"in [{low}, {high}]" if value.text is None else value.text
    return Amount(text, value.decimal(digits), enclosure=(low, high))


def enclosed_between(low: Measure, high: Measure) -> Enclosed:
    """Return a number that lies between two others, of which no more is known."""

    def enclosure(bits: int) -> arb:
        with ctx.workprec(bits):
            return ball_of(low, bits).union(ball_of(high, bits))

    return Enclosed(enclosure)


def quantity_amount(value: exact.Epsilon | exact.Number | exact.Excess | None) -> Amount:
    """Return an ε (None is infinite) or a number."""
    if value is None or isinstance(value, exact.Budget | exact.LogOf):
        return epsilon_amount(value)
    return number_amount(value)
