"""Zero-concentrated differential privacy: the least ρ with D_a(P‖Q) <= ρ a for all a > 1.

Definition: Bun, Steinke (TCC 2016). With s = a - 1 and K(s) = ln Σ_o P(o) x(o)^s, the cumulant
generating function of the privacy loss, ρ is the supremum over s > 0 of

    f(s) = K(s) / (s (s + 1)).

K(0) = 0, so h(s) = K(s)/s is the mean of K' on [0, s]; K' rises, from the mean of the loss L under
P towards max L, as K'' is the variance of L under the tilted masses p x^s. So h rises, too, and
stays below max L.

The supremum is enclosed by branch and bound over intervals of s, all functions evaluated on
intervals in ball arithmetic, f' by Taylor's formula: where it has a sign, f is largest at an end;
elsewhere f(s) lies in f(m) + f'(I)(s - m) for the midpoint m. As h(s) <= max L, orders with
max L/(1 + s) below the best value so far are out of the question, so the search is finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, reduce
from itertools import pairwise
from math import factorial

from flint import arb, arb_mat, arb_series, ctx, fmpq

from dpcheck.exact import Budget, Rational
from dpcheck.privacy.enclosed import Enclosed, ball_of
from dpcheck.privacy.losses import Loss, LossDistribution
from dpcheck.privacy.renyi import Divergence, kullback_leibler
from dpcheck.records import dataclass

_ROUNDS = 4000
"""Bounds how often an interval that may hold the maximum is halved."""
_ORDER = 14
"""Terms of Taylor's formula: an enclosure of width w errs by w to this power."""
_LENGTH = _ORDER + 3
"""So many coefficients of K are computed: those of f' and of what is left are made of them."""
_FURTHER = (64, 160)
"""Where several pairs are as large as each other to 20 bits, so many bits tell more."""
_FLAT = 12
"""So many bits nearer to the supremum than is asked, f is too flat to be looked at any closer."""


@dataclass(frozen=True)
class Concentrated:
    """The least ρ (None is infinite), and the orders between which it is attained.

    `orders` are (1, 1) where the supremum is the limit at order 1: ρ is the Kullback-Leibler
    divergence then. `index` says which of the loss distributions attains it.
    """

    rho: Divergence | None
    orders: tuple[Rational, Rational]
    index: int


def zcdp(directed: Sequence[LossDistribution]) -> Concentrated | None:
    """Return the least ρ over all given directed loss distributions; None without any.

    >>> from dpcheck.exact import number
    >>> survey = LossDistribution.of([(number(3, 4), number(1, 4)),
    ...                               (number(1, 4), number(3, 4))])
    >>> found = zcdp([survey])
    >>> str(found.rho), found.orders
    ('Budget(1/2*ln(3) + 0)', (1, 1))
    """
    if not directed:
        return None
    for index, losses in enumerate(directed):
        if losses.p_only != 0:
            return Concentrated(None, (fmpq(1), fmpq(1)), index)
    if all(losses.is_certain for losses in directed):
        return Concentrated(Budget.of(0), (fmpq(1), fmpq(1)), 0)
    found, open_ = _supremum(directed, 20, None)
    for bits in _FURTHER:
        if found.high != 0 or len({each.index for each in open_}) == 1:
            break
        found, open_ = _supremum(directed, bits, open_)
    if found.high == 0 and all(each.high == 0 for each in open_):
        exact = _greatest_at_one(directed, sorted({each.index for each in open_}))
        if exact is not None:
            return exact

    @cache
    def enclosed(words: int) -> arb:
        return _supremum(directed, 32 * words, open_)[0].value

    orders = 1 + found.low, 1 + found.high
    return Concentrated(Enclosed(lambda bits: enclosed(bits // 32 + 1)), orders, found.index)


def _greatest_at_one(
    directed: Sequence[LossDistribution], indices: Sequence[int]
) -> Concentrated | None:
    """Return the greatest Kullback-Leibler divergence, None where that is not decided."""
    best: Concentrated | None = None
    for index in indices:
        divergence = kullback_leibler(directed[index])
        if best is not None:
            if not isinstance(divergence, Budget) or not isinstance(best.rho, Budget):
                return None
            if divergence <= best.rho:
                continue
        best = Concentrated(divergence, (fmpq(1), fmpq(1)), index)
    return best


@dataclass(frozen=True)
class _Interval:
    """An interval [low, high] of s for one distribution, and an enclosure of max f on it."""

    low: fmpq
    high: fmpq
    value: arb
    index: int


def _supremum(
    directed: Sequence[LossDistribution], bits: int, known: Sequence[_Interval] | None
) -> tuple[_Interval, list[_Interval]]:
    """Return where the supremum is attained, its value known to about `bits` bits.

    Also returned are the intervals that may attain it; given as `known`, they are all that is
    searched.

    `value` encloses the supremum; [low, high] is the hull of the intervals that may attain it for
    the distribution that attains it surely within the precision.
    """
    precision = 2 * bits + _needed(directed)
    with ctx.workprec(precision):
        functions = [_Functions(each.losses, precision) for each in directed]
        open_: list[_Interval] = []
        best = max((f.at(fmpq(0)) for f in functions), key=lambda ball: ball.lower()).lower()
        open_ += [functions[i.index].interval(i.low, i.high, i.index) for i in known or ()]
        if known is None:
            # At orders 1, 2, 4, ... more is known, and f is no larger than that from some order on.
            starts = [(f, list(_powers(f, best))) for f in functions]
            best = max([best, *(f.at(s).lower() for f, points in starts for s in points)])
            for index, (function, points) in enumerate(starts):
                for low, high in pairwise([fmpq(0), *points]):
                    if not function.ceiling(low, high) < best:
                        open_.append(function.interval(low, high, index))
        for _ in range(_ROUNDS):
            best = max([best, *(f.value.lower() for f in open_)])
            open_ = [each for each in open_ if not each.value.upper() < best]
            top = max(each.value.upper() for each in open_)
            if best >= 0 and _is_near(best, top, bits):
                break
            open_ = [half for each in open_ for half in _halves(each, functions, best, bits)]
        index = max(open_, key=lambda each: each.value.lower()).index
        mine = [each for each in open_ if each.index == index]
        low, high = min(each.low for each in mine), max(each.high for each in mine)
        return _Interval(low, high, arb(best).union(arb(top)), index), open_


def _is_near(low: arb, high: arb, bits: int) -> bool:
    """Return whether two bounds agree to so many bits."""
    return bool((high - low) * arb(2) ** bits <= high) or bool(high == 0)


def _needed(directed: Sequence[LossDistribution]) -> int:
    """Return a precision at which all f(0) that are positive are seen to be so."""
    bits, different = 64, [each.losses for each in directed if len(each.losses) > 1]
    while True:
        with ctx.workprec(bits):
            if all(_Functions(losses, bits).at(fmpq(0)) > 0 for losses in different):
                return bits
        bits *= 2


def _powers(function: _Functions, best: arb) -> Iterator[fmpq]:
    """Yield s = 1, 2, 4, ... up to one from which on f is below the best value known."""
    s = fmpq(1)
    while True:
        yield s
        best = best.max(function.at(s).lower())
        if function.largest / (1 + arb(s)) < best:
            return
        s *= 2


def _halves(
    interval: _Interval, functions: Sequence[_Functions], best: arb, bits: int
) -> Iterator[_Interval]:
    """Yield both halves of an interval; an end where f is largest is kept alone, a flat one whole.

    A half where f is surely below the best value known is left out.
    """
    is_flat = _is_near(best, interval.value.upper(), bits + _FLAT)
    if interval.low == interval.high or is_flat:
        yield interval
        return
    middle = (interval.low + interval.high) / 2
    function = functions[interval.index]
    for low, high in ((interval.low, middle), (middle, interval.high)):
        if not function.ceiling(low, high) < best:
            yield function.interval(low, high, interval.index)


class _Functions:
    """f and its derivative for one distribution, on points and intervals."""

    def __init__(self, losses: Sequence[Loss], bits: int) -> None:
        self.terms = [(ball_of(loss.p, bits), ball_of(loss.ratio, bits).log()) for loss in losses]
        self.largest = reduce(arb.max, (loss for _, loss in self.terms))
        self.loss_powers = arb_mat(
            [[loss**k / factorial(k) for _, loss in self.terms] for k in range(_LENGTH)]
        )

    def interval(self, low: fmpq, high: fmpq, index: int) -> _Interval:
        """Return an interval with an enclosure of max f on it; one end alone if f is monotone."""
        if low == high:
            return _Interval(low, high, self.at(low), index)
        around = arb(low).union(arb(high))
        slope = self._slope(low, high)
        if slope <= 0:
            return _Interval(low, low, self.at(low), index)
        if slope >= 0:
            return _Interval(high, high, self.at(high), index)
        middle = (low + high) / 2
        above = self.at(middle) + slope * (around - arb(middle))
        least = self.at(middle).lower().max(self.at(low).lower()).max(self.at(high).lower())
        return _Interval(low, high, least.union(above.upper().max(least)), index)

    def ceiling(self, low: fmpq, high: fmpq) -> arb:
        """Return a bound of f on an interval: h rises, as K is convex and 0 at 0."""
        return self.at(high) * (1 + arb(high)) / (1 + arb(low))

    def at(self, s: fmpq) -> arb:
        """Return f(s) for s >= 0."""
        weights = [p * (arb(s) * loss).exp() for p, loss in self.terms]
        total = sum(weights, arb(0))
        if s != 0:
            return total.log() / (arb(s) * (1 + arb(s)))
        return (
            sum((w * loss for w, (_, loss) in zip(weights, self.terms, strict=True)), arb(0))
            / total
        )

    def _slope(self, low: fmpq, high: fmpq) -> arb:
        """Return an enclosure of f' on [low, high] by Taylor's formula of order `_ORDER`.

        With m the midpoint, f' = Σ_(k<n) (k+1) c_(k+1) (s-m)^k + (n+1) r (s-m)^n, where c_k are
        the Taylor coefficients of f at m and r encloses coefficient n+1 at all of the interval.
        """
        middle = arb((low + high) / 2)
        around = arb(low).union(arb(high))
        distance = around - middle
        rest = self._coefficients(around, arb(0).union(arb(high)))[_ORDER + 1]
        found = rest * (_ORDER + 1)
        at_middle = self._coefficients(middle, None)
        for k in reversed(range(_ORDER)):
            found = found * distance + at_middle[k + 1] * (k + 1)
        return found

    def _coefficients(self, s: arb, up_to: arb | None) -> list[arb]:
        """Return the Taylor coefficients of f at s, or at all of an interval.

        For an interval that contains 0, coefficient k of h is coefficient k + 1 of K somewhere
        in [0, s], by h(s) = ∫ K'(u s) du over u in [0, 1]; `up_to` is that.
        """
        before, ctx.cap = ctx.cap, _LENGTH
        try:
            if s > 0:
                h = self._cumulants(s) / arb_series([s, 1], _LENGTH)
            else:
                assert up_to is not None, "only intervals contain 0"
                h = arb_series(list(self._cumulants(up_to))[1:], _LENGTH - 1)
            coefficients = list(h / arb_series([s + 1, 1], _LENGTH))
        finally:
            ctx.cap = before
        return coefficients + [arb(0)] * (_LENGTH - len(coefficients))

    def _cumulants(self, s: arb) -> arb_series:
        """Return the Taylor series of K at s."""
        masses = arb_mat([[p * (s * loss).exp()] for p, loss in self.terms])
        return arb_series((self.loss_powers * masses).entries(), _LENGTH).log()
