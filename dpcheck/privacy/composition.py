"""Independent runs on one input: the privacy losses of a product from those of its parts.

For independent outputs likelihood ratios multiply and masses multiply, so the loss distribution of
(A, B) is the product of those of A and B, equal ratios merged *first*: k survey answers have k + 1
ratios, not 2^k outputs. Ratios are written as products of pairwise coprime integers
(`exact.factors`); then a loss distribution is a Laurent polynomial with a variable a coprime base
and masses as coefficients, composition is multiplication of polynomials over ℤ, which flint does,
and k-fold composition is one power. Where ratios lie outside ℚ, products are merged one by one.

Mass at an infinite loss needs no polynomial: it is what the finite part leaves of 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import fmpq, fmpz, fmpz_mpoly, fmpz_mpoly_ctx

from dpcheck.exact import (
    ExpNumber,
    Number,
    Rational,
    add,
    divide,
    exact_text,
    multiply,
    number,
    power,
    subtract,
)
from dpcheck.exact.factors import coprime_bases, multiplicity
from dpcheck.limits import Limits, too_large
from dpcheck.privacy.losses import (
    Loss,
    LossDistribution,
    by_falling_ratio,
    common_exponent,
    exponent_of,
)

_MAX_BITS = 1 << 33
"""Bounds the numbers of a composed distribution together: 1 GiB."""

_SHORT, _SHORT_EXP, _SHORT_BITS = 20_000, 300, 1 << 28
"""So many losses, in ℚ(e^r), and bits of masses take a second or two."""
_SHORT_RUNS = 3_000
"""So many runs have masses in ℚ(e^r) that take a second, also of a single loss."""

NO_LOSS = LossDistribution((Loss(1, 1, 1),), 0, 0)
"""The losses of a mechanism that shows nothing."""


def composed(
    parts: Sequence[tuple[LossDistribution, int]], limits: Limits | None = None
) -> LossDistribution:
    """Return the losses of independent runs, each part as often as it says.

    Raises `LimitReached` where the result would have more different losses than states allowed.

    >>> from dpcheck.exact import number
    >>> survey = LossDistribution.of([(number(3, 4), number(1, 4)),
    ...                               (number(1, 4), number(3, 4))])
    >>> [(loss.ratio, loss.p) for loss in composed([(survey, 2)]).losses]
    [(9, 9/16), (1, 3/8), (1/9, 1/16)]
    """
    limits = limits or Limits()
    used = _telling(parts)
    if _has_exp(used):
        return _composed_singly(used, limits)
    if any(not losses.losses for losses, _ in used):
        return LossDistribution((), 1, 1)
    return _composed_polynomials(used, limits)


def is_short(parts: Sequence[tuple[LossDistribution, int]]) -> bool:
    """Return whether composing exactly surely leads to few losses with short masses.

    There are at most as many as products of powers, C(n + k - 1, k) a part, and at most as many as
    combinations of exponents of the bases. Of those only few can be few, so they are sought only up
    to that number.
    """
    used = _telling(parts)
    n_terms = math.prod(math.comb(len(one.losses) + k - 1, k) for one, k in used)
    if _has_exp(used):
        n_runs = sum(times for _, times in used)
        return n_runs <= _SHORT_RUNS and min(n_terms, _n_powers(used)) <= _SHORT_EXP
    if n_terms > _SHORT:
        n_terms = _n_exponents(used)
    bits = sum(_longest(losses).bit_length() * times for losses, times in used)
    return n_terms <= _SHORT and n_terms * bits <= _SHORT_BITS


def _telling(
    parts: Sequence[tuple[LossDistribution, int]],
) -> list[tuple[LossDistribution, int]]:
    """Return the parts that tell something: runs with equal laws on both sides change no loss."""
    return [(losses, n) for losses, n in parts if n > 0 and not losses.is_certain]


def _n_powers(parts: Sequence[tuple[LossDistribution, int]]) -> int:
    """Return how many multiples of one exponent composed losses are; of other losses, many."""
    unit = common_exponent([losses for losses, _ in parts])
    if unit is None:
        return _SHORT_EXP + 1
    ends = [(exponent_of(one.losses[i].ratio), k) for one, k in parts for i in (0, -1)]
    return 1 + int(sum(abs(s) * k for s, k in ends if s is not None) / unit)


def _n_exponents(parts: Sequence[tuple[LossDistribution, int]]) -> int:
    """Return how many combinations of exponents composed ratios can have; of too many, some."""
    least = min(times for _, times in parts)
    integers = [x for losses, _ in parts for loss in losses.losses for x in _sides(loss.ratio)]
    most = math.log(_SHORT, least + 1)
    bases = coprime_bases(integers, most)
    if len(bases) > most:
        return _SHORT + 1
    spread = [1] * len(bases)
    for losses, times in parts:
        columns = zip(*(_exponents(loss.ratio, bases) for loss in losses.losses), strict=True)
        ends = [(max(column) - min(column)) * times for column in columns]
        spread = [one + other for one, other in zip(spread, ends, strict=False)]
    return math.prod(spread)


def _has_exp(parts: Sequence[tuple[LossDistribution, int]]) -> bool:
    """Return whether some number lies outside ℚ."""
    return any(
        isinstance(loss.ratio, ExpNumber) or isinstance(loss.p, ExpNumber)
        for losses, _ in parts
        for loss in losses.losses
    )


def _composed_singly(
    parts: Sequence[tuple[LossDistribution, int]], limits: Limits
) -> LossDistribution:
    """Return the product with losses multiplied one by one."""
    result = NO_LOSS
    for losses, times in parts:
        square, left = losses, times
        while left:
            if left % 2:
                result = _product(result, square, limits)
            left //= 2
            if left:
                square = _product(square, square, limits)
    return result


def _product(left: LossDistribution, right: LossDistribution, limits: Limits) -> LossDistribution:
    masses: dict[Number, Number] = {}
    for one in left.losses:
        limits.check_time(f"{len(masses)} privacy losses composed")
        limits.check_states(len(masses))
        for other in right.losses:
            ratio = multiply(one.ratio, other.ratio)
            masses[ratio] = add(masses.get(ratio, 0), multiply(one.p, other.p))
    losses = [Loss(ratio, p, divide(p, ratio)) for ratio, p in masses.items()]
    return LossDistribution(by_falling_ratio(losses), *_left_over([(left, 1), (right, 1)]))


def _left_over(parts: Sequence[tuple[LossDistribution, int]]) -> tuple[Number, Number]:
    """Return P's and Q's mass at infinite losses: 1 minus the product of the finite masses."""
    finite: list[Number] = [1, 1]
    for losses, times in parts:
        for side, infinite in enumerate((losses.p_only, losses.q_only)):
            if infinite != 0:
                part = power(subtract(1, infinite), times, _MAX_BITS)
                finite[side] = multiply(finite[side], part)
    return subtract(1, finite[0]), subtract(1, finite[1])


# --- rational ratios -----------------------------------------------------------------------


def _composed_polynomials(
    parts: Sequence[tuple[LossDistribution, int]], limits: Limits
) -> LossDistribution:
    """Return the product by multiplying polynomials."""
    bases = coprime_bases(
        [part for losses, _ in parts for loss in losses.losses for part in _sides(loss.ratio)]
    )
    context = fmpz_mpoly_ctx.get([f"b{i}" for i in range(max(1, len(bases)))], "lex")
    product = context.from_dict({(0,) * max(1, len(bases)): 1})
    lowest = [0] * max(1, len(bases))
    scale = fmpz(1)
    for losses, times in parts:
        polynomial, shift, denominator = _polynomial(losses, bases, context)
        _check_size(polynomial, times, limits)
        product = product * polynomial**times
        limits.check_states(len(product))
        limits.check_time(f"{len(product)} privacy losses composed")
        lowest = [low + step * times for low, step in zip(lowest, shift, strict=True)]
        scale *= denominator**times
    return LossDistribution(_losses(product.to_dict(), bases, lowest, scale), *_left_over(parts))


def _sides(ratio: Number) -> tuple[int, int]:
    exact = _rational(ratio)
    return int(exact.p), int(exact.q)


def _polynomial(
    losses: LossDistribution, bases: Sequence[fmpz], context: fmpz_mpoly_ctx
) -> tuple[fmpz_mpoly, list[int], fmpz]:
    """Return P's masses as a polynomial, the exponents that belong to degree 0, a denominator."""
    denominator = _denominator(losses)
    exponents = [_exponents(loss.ratio, bases) for loss in losses.losses]
    shift = [min(column) for column in zip(*exponents, strict=True)]
    terms = {
        tuple(e - s for e, s in zip(row, shift, strict=True)): int(
            (_rational(loss.p) * denominator).p
        )
        for row, loss in zip(exponents, losses.losses, strict=True)
    }
    return context.from_dict(terms), shift, fmpz(denominator)


def _denominator(losses: LossDistribution) -> int:
    return math.lcm(*(int(_rational(loss.p).q) for loss in losses.losses))


def _longest(losses: LossDistribution) -> int:
    """Return the largest integer that masses and ratios are written with."""
    sides = (side for loss in losses.losses for side in _sides(loss.ratio))
    return max(_denominator(losses), *sides, 1)


def _exponents(ratio: Number, bases: Sequence[fmpz]) -> tuple[int, ...]:
    """Return the exponents of the bases in a ratio (one 0 if there are no bases)."""
    exact = _rational(ratio)
    return tuple(multiplicity(exact.p, b)[0] - multiplicity(exact.q, b)[0] for b in bases) or (0,)


def _check_size(polynomial: fmpz_mpoly, times: int, limits: Limits) -> None:
    """Refuse a power that surely has too many terms before it is computed.

    It has at most C(n + k - 1, k) terms, and at most one a combination of degrees.
    """
    box = math.prod(degree * times + 1 for degree in polynomial.degrees())
    n_terms = min(box, math.comb(len(polynomial) + times - 1, times))
    limits.check_states(n_terms)
    bits = sum(abs(coefficient) for coefficient in polynomial.coeffs()).bit_length() * times
    if n_terms * bits > _MAX_BITS:
        gigabytes = n_terms * bits >> 33
        raise too_large(f"the composed losses would need {exact_text(gigabytes)} GB", "fewer runs")


def _losses(
    terms: dict[tuple[int, ...], fmpz], bases: Sequence[fmpz], lowest: Sequence[int], scale: fmpz
) -> tuple[Loss, ...]:
    found = []
    for exponents, mass in terms.items():
        ratio = fmpq(1)
        for base, exponent, low in zip(bases, exponents, lowest, strict=False):
            ratio *= fmpq(base) ** (int(exponent) + low)
        p = fmpq(mass, scale)
        found.append(Loss(_normal(ratio), _normal(p), _normal(p / ratio)))
    return by_falling_ratio(found)


def _rational(value: Number) -> Rational:
    assert not isinstance(value, ExpNumber), "parts outside of ℚ are composed one by one"
    return fmpq(value)


def _normal(value: Rational) -> Number:
    return number(int(value.p), int(value.q))
