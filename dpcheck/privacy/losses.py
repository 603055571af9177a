"""The privacy losses of two distributions, exactly.

For distributions P and Q of what an adversary sees, output o has the likelihood ratio P(o)/Q(o) and
the *privacy loss* ln of it (Dwork, Roth, 2014, section 3.5.1). Outputs with equal ratios are never
told apart by the best test (Neyman, Pearson, 1933), so the masses of both distributions by ratio,

    for each ratio x: (P{o : P(o)/Q(o) = x}, Q{o : P(o)/Q(o) = x}),

determine the privacy profile, divergences, trade-off curve and composition. They are kept here by
falling ratio; P's mass where Q is zero is its mass at an infinite loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from itertools import accumulate
from math import comb
from operator import mul

from flint import arb, ctx, fmpq

from dpcheck.exact import ExpNumber, Number, add, by_size, compare, divide, multiply, subtract
from dpcheck.exact.number import ball
from dpcheck.records import dataclass

_BITS = 160
"""Of sums of roots, and their logarithms."""


@dataclass(frozen=True)
class Loss:
    """All outputs with one likelihood ratio: p = ratio · q, both positive."""

    ratio: Number
    p: Number
    q: Number

    def reversed(self) -> Loss:
        """Return the same outputs with P and Q exchanged."""
        return Loss(divide(1, self.ratio), self.q, self.p)


@dataclass(frozen=True)
class LossDistribution:
    """The masses of P and Q by falling likelihood ratio.

    `p_only` is P's mass where Q is zero (an infinite loss), `q_only` Q's mass where P is zero.
    Both sides sum to 1.

    >>> from dpcheck.exact import number
    >>> survey = LossDistribution.of([(number(3, 4), number(1, 4)),
    ...                               (number(1, 4), number(3, 4))])
    >>> [(loss.ratio, loss.p) for loss in survey.losses]
    [(3, 3/4), (1/3, 1/4)]
    """

    losses: tuple[Loss, ...]
    p_only: Number
    q_only: Number

    @cached_property
    def _hash(self) -> int:
        """Long numbers are not hashed again each time that losses are looked up."""
        return hash((self.losses, self.p_only, self.q_only))

    def __hash__(self) -> int:
        """Return a number that equal losses share."""
        return self._hash

    @staticmethod
    def of(outputs: Iterable[tuple[Number, Number]]) -> LossDistribution:
        """Return the losses of outputs, each given as (P(o), Q(o))."""
        masses: dict[Number, tuple[Number, Number]] = {}
        p_only: Number = 0
        q_only: Number = 0
        for p, q in outputs:
            if q == 0:
                p_only = add(p_only, p)
            elif p == 0:
                q_only = add(q_only, q)
            else:
                ratio = divide(p, q)
                known = masses.get(ratio)
                masses[ratio] = (p, q) if known is None else (add(known[0], p), add(known[1], q))
        losses = (Loss(ratio, p, q) for ratio, (p, q) in masses.items())
        return LossDistribution(by_falling_ratio(losses), p_only, q_only)

    def reversed(self) -> LossDistribution:
        """Return the losses with P and Q exchanged."""
        losses = tuple(loss.reversed() for loss in reversed(self.losses))
        return LossDistribution(losses, self.q_only, self.p_only)

    @property
    def is_certain(self) -> bool:
        """Return whether P and Q are equal."""
        return self.p_only == 0 and self.q_only == 0 and len(self.losses) == 1

    @property
    def largest_ratio(self) -> Number | None:
        """The largest P(o)/Q(o), None for an infinite one."""
        return None if self.p_only != 0 or not self.losses else self.losses[0].ratio

    def exceeds(self, other: LossDistribution) -> bool:
        """Return whether the largest loss is larger; of infinite ones the likelier counts."""
        mine, others = self.largest_ratio, other.largest_ratio
        if mine is None or others is None:
            return compare(self.p_only, other.p_only) > 0
        return compare(mine, others) > 0

    @cached_property
    def corners(self) -> tuple[tuple[Number, Number], ...]:
        """(P(S), Q(S)) of the sets S of all outputs above a ratio: from ∅ to all of P's outputs.

        For every E the largest P(S) - E Q(S) is reached at one of them.
        """
        masses = [(self.p_only, 0), *((loss.p, loss.q) for loss in self.losses)]
        sums = accumulate(masses, lambda sum_, each: (add(sum_[0], each[0]), add(sum_[1], each[1])))
        reached = list(sums)
        return tuple(reached) if self.p_only == 0 else ((0, 0), *reached)

    def delta(self, factor: Number) -> Number:
        """Return max over S of P(S) - E Q(S) for a factor E >= 0 (the hockey-stick divergence).

        >>> from dpcheck.exact import number
        >>> half = number(1, 2)
        >>> LossDistribution.of([(1, half), (0, half)]).delta(1)
        1/2
        """
        total = self.p_only
        for loss in self.losses:
            if compare(loss.ratio, factor) <= 0:
                break
            total = add(total, subtract(loss.p, multiply(factor, loss.q)))
        return total


def exponent_of(ratio: Number) -> fmpq | None:
    """Return s where the ratio is e^s with a rational s, else None."""
    if isinstance(ratio, ExpNumber):
        term = ratio.monomial()
        return term[1] if term is not None and term[0] == 1 else None
    return fmpq(0) if ratio == 1 else None


def common_exponent(parts: Iterable[LossDistribution]) -> fmpq | None:
    """Return the largest u > 0 of which all losses are multiples; None if there is none."""
    exponents = [exponent_of(loss.ratio) for losses in parts for loss in losses.losses]
    known = [each for each in exponents if each is not None]
    unit = reduce(fmpq.gcd, known, fmpq(0))
    return unit if len(known) == len(exponents) and unit != 0 else None


def by_falling_ratio(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Return losses with different ratios, the largest ratio first."""
    listed = list(losses)
    if any(isinstance(loss.ratio, ExpNumber) for loss in listed):
        return tuple(sorted(listed, key=lambda loss: by_size(loss.ratio), reverse=True))
    return tuple(sorted(listed, key=lambda loss: loss.ratio, reverse=True))


def both_directions(losses: LossDistribution) -> Iterator[tuple[LossDistribution, bool]]:
    """Yield the losses forward (True) and with P and Q exchanged (False)."""
    yield losses, True
    yield losses.reversed(), False


def total_variation(losses: LossDistribution) -> Number:
    """Return max over S of |P(S) - Q(S)|, which is the same in both directions."""
    return losses.delta(1)


def total_variation_of_runs(losses: LossDistribution, n: int) -> arb:
    """Return an enclosure of the total variation of the n-fold product.

    It sums C(n + k - 1, k) terms, of k losses: how often each one comes.
    """
    with ctx.workprec(_BITS):
        never = ball(subtract(1, losses.p_only), _BITS) ** n
        terms = [(n, arb(1), arb(1))]  # runs that are left, and both probabilities so far
        for k, loss in enumerate(losses.losses, 1):
            powers = [_powers(side, n) for side in (loss.p, loss.q)]
            is_last = k == len(losses.losses)
            terms = [
                (left - times, p * ways * powers[0][times], q * ways * powers[1][times])
                for left, p, q in terms
                for times in (range(left, left + 1) if is_last else range(left + 1))
                for ways in (comb(left, times),)
            ]
        excesses = (p - q for left, p, q in terms if left == 0)
        return 1 - never + sum(((each + abs(each)) / 2 for each in excesses), arb(0))


def do_runs_reach(goal: Number, losses: LossDistribution, n: int) -> bool | None:
    """Return whether the n-fold product has a total variation >= goal; None where that is close."""
    with ctx.workprec(_BITS):
        excess = total_variation_of_runs(losses, n) - ball(goal, _BITS)
        return bool(excess > 0) if excess > 0 or excess < 0 else None


def _powers(base: Number, most: int) -> list[arb]:
    """Return enclosures of the powers of a number from 0 to `most`."""
    return list(accumulate([ball(base, _BITS)] * most, mul, initial=arb(1)))


def runs_to_reach(goal: Number, losses: LossDistribution) -> tuple[int, int] | None:
    """Return bounds of the least n whose n-fold product has a total variation TV_n >= goal < 1.

    They come from the Bhattacharyya coefficient B = Σ √(p q): 1 - B^n <= TV_n <= √(1 - B^(2n)) (Le
    Cam; Tsybakov, Introduction to Nonparametric Estimation, 2009, section 2.4). None where B is
    hardly less than 1.
    """
    with ctx.workprec(_BITS):
        products = (ball(multiply(loss.p, loss.q), _BITS) for loss in losses.losses)
        total, wanted = sum((each.sqrt() for each in products), arb(0)), ball(goal, _BITS)
        if total == 0:
            return 1, 1
        if not total < 1:
            return None
        needed = (1 - wanted**2).log() / (2 * total.log())
        enough = (1 - wanted).log() / total.log()
        fewest, most = (int(end.ceil().fmpq()) for end in (needed.lower(), enough.upper()))
    return max(fewest, 1), max(most, 1)
