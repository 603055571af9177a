"""Rényi divergences of two exact distributions.

D_a(P‖Q) = ln(Σ_o P(o)^a Q(o)^(1-a)) / (a - 1) for a > 0, a ≠ 1; for a = 1 it is
Σ_o P(o) ln(P(o)/Q(o)) (Rényi 1961; van Erven, Harremoës, IEEE TIT 2014). By loss, with ratio x and
masses p = x q, a term is p x^(a-1). For an integer order the sum is a number. For a rational order
it is a sum of radicals c·(u/v)^(1/N) with c > 0. Radicals of positive rationals whose quotients are
irrational are linearly independent over ℚ (Besicovitch, J. London Math. Soc. 1940). So either all
terms are multiples of one radical, and the divergence is a budget, exactly; or, as no coefficient
is negative, the sum is no multiple of any one radical, so the divergence is no budget and
enclosures separate it from all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flint import arb, ctx, fmpq

from dpcheck import exact
from dpcheck.privacy.enclosed import Enclosed, ball_of
from dpcheck.privacy.losses import Loss, LossDistribution

LONG = 512
"""Bits of all denominators beyond which a sum is enclosed, not written out."""

Divergence = exact.Epsilon | Enclosed
"""A finite value; None stands for an infinite one."""


def renyi(losses: LossDistribution, order: int | fmpq) -> Divergence | None:
    """Return D_order(P‖Q), None if it is infinite.

    >>> from dpcheck.exact import number
    >>> survey = LossDistribution.of([(number(3, 4), number(1, 4)),
    ...                               (number(1, 4), number(3, 4))])
    >>> exact.exact_text(renyi(survey, 2)), exact.exact_text(renyi(survey, number(3, 2)))
    ('ln(7/3)', 'ln(25/12)')
    """
    if order >= 1 and losses.p_only != 0:
        return None
    if not losses.losses:
        return None
    if order == 1:
        return kullback_leibler(losses)
    if fmpq(order).q == 1:
        n = int(order) - 1
        try:
            terms = [exact.multiply(each.p, exact.power(each.ratio, n)) for each in losses.losses]
        except exact.TooLarge:
            return _enclosed(losses.losses, fmpq(order))
        return _scaled_log(exact.sum_of(terms), fmpq(1, n))
    return _rational_order(losses.losses, fmpq(order))


def kullback_leibler(losses: LossDistribution) -> Divergence:
    """Return Σ P(o) ln(P(o)/Q(o)) where it is finite: a budget of rational masses, ratios c·e^s.

    A budget with long fractions as exponents says less than an enclosure, and takes long to find:
    with more than `LONG` bits in all denominators the sum is enclosed.
    """
    enclosed = Enclosed(partial(_kullback_leibler_ball, losses.losses))
    masses = [loss.p for loss in losses.losses if not isinstance(loss.p, exact.ExpNumber)]
    n_bits = sum(int(fmpq(p).q).bit_length() for p in masses)
    if len(masses) < len(losses.losses) or n_bits > LONG:
        return enclosed
    total = exact.Budget.of(0)
    for mass, loss in zip(masses, losses.losses, strict=True):
        logarithm = exact.log(loss.ratio)
        if isinstance(logarithm, exact.LogOf):
            return enclosed
        total = total + logarithm * mass
    return total


def _kullback_leibler_ball(losses: Sequence[Loss], bits: int) -> arb:
    with ctx.workprec(bits):
        total = arb(0)
        for loss in losses:
            total += ball_of(loss.p, bits) * ball_of(loss.ratio, bits).log()
        return total


def _scaled_log(argument: exact.Number, scale: fmpq) -> Divergence:
    """Return scale · ln(argument)."""
    logarithm = exact.log(argument)
    if isinstance(logarithm, exact.Budget):
        return logarithm * scale
    if scale == 1:
        return logarithm

    def enclosure(bits: int) -> arb:
        with ctx.workprec(bits):
            return logarithm.ball(bits) * arb(scale)

    return Enclosed(enclosure, f"{exact.exact_text(scale)}*{exact.exact_text(logarithm)}")


def _rational_order(losses: Sequence[Loss], order: fmpq) -> Divergence:
    """Return D for an order that is no integer."""
    scale = 1 / (order - 1)
    if not any(
        isinstance(part, exact.ExpNumber) for loss in losses for part in (loss.p, loss.ratio)
    ):
        single = _one_radical(losses, order - 1)
        if single is not None:
            return single * scale
    return _enclosed(losses, order)


def _enclosed(losses: Sequence[Loss], order: fmpq) -> Enclosed:
    """Return D by enclosures."""
    scale = 1 / (order - 1)

    def enclosure(bits: int) -> arb:
        with ctx.workprec(bits):
            exponent = arb(order - 1)
            total = arb(0)
            for loss in losses:
                ratio = ball_of(loss.ratio, bits).log()
                total += ball_of(loss.p, bits) * (exponent * ratio).exp()
            return total.log() * arb(scale)

    return Enclosed(enclosure)


def _one_radical(losses: Sequence[Loss], exponent: fmpq) -> exact.Budget | None:
    """Return ln Σ p x^exponent where all x^exponent are rational multiples of one radical."""
    logarithms = [exact.log(loss.ratio) for loss in losses]
    first: exact.Budget | None = None
    total: exact.Number = 0
    for loss, logarithm in zip(losses, logarithms, strict=True):
        assert isinstance(logarithm, exact.Budget), "rational numbers have budgets as logarithms"
        first = first or logarithm * exponent
        try:
            factor = (logarithm * exponent - first).exp()
        except (exact.IrrationalExponential, exact.TooLarge):
            return None
        total = exact.add(total, exact.multiply(loss.p, factor))
    assert first is not None, "there is a loss"
    return first + exact.Budget.ln(_rational(total))


def _rational(value: exact.Number) -> int | exact.Rational:
    assert not isinstance(value, exact.ExpNumber), "sums of rational numbers are rational"
    return value
