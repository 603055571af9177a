"""The joint law of numbers beyond one end of a window, given their order: exact, in closed form.

A number with geometric noise of ratio r is beyond the window's end by j = 1, 2, ... with
probability (1-r) r^(j-1), wherever its center in the window is: noise has no memory. Numbers beyond
the end stand on *levels*, nearest first; equal numbers share one. Between the levels are *gaps*,
and the first gap begins at the window's end. A gap is b + g long, with a known *base* b >= 0 and

    P(g_1, g_2, ...) = Σ_k c_k Π_i ρ_ki^(g_i - 1),     a mapping from (ρ_k1, ρ_k2, ...) to c_k.

A ratio 0 says that g is 1 (0^0 is 1), so that the gap is known: in all terms, or in none. A new
number above i gaps is at j = Σ_(h<=i) (b_h + g_h), which has the probability

    (1-r) r^(j-1) = (1-r) r^(i-1+Σ b_h) · Π_(h<=i) r^(g_h-1),

so the law stays one of this form. It stands on a level, above all, or inside of a gap: at
x = 1, ..., b-1 there, and otherwise x = b-1 + x', y = y' split b + g, so that g = x' + y' - 1 and
ρ^(g-1) = ρ^(x'-1) ρ^(y'-1); where b is 0, g = x' + y' and there is another factor ρ. A level that
nobody stands on any more is forgotten: its two gaps become one, of which

    Σ_(g+h=n) ρ^(g-1) σ^(h-1) = (σ^(n-1) - ρ^(n-1)) / (σ - ρ),

or, if it is the last, its gap is summed out. Without known gaps, in every term ρ_1 < ρ_2 < ... < 1:
a new number only multiplies the ratios of gaps below it by r < 1, splits ρ into ρr < ρ, or adds r
above ρr; so σ - ρ is never 0. Different mappings are different laws: exponentials are linearly
independent.

Ways from one state that lead to states which differ in their laws alone, bases and known gaps being
equal, are one way, to the *mixture* of these laws by the probabilities of the ways: what is seen
later depends on its parts in the same shares. Where all ways end beyond the same end of the window
the shares do not depend on the new number's center, so that mixtures are few: after a number that
lost to another one it is not known whether it was equal to that.

What a number is moved by, z + x, stands x farther: in the first b of a gap, or next to its end.
So it has a place among the others where gaps are *resolved*: each is known, or b is at least x.
Levels have whole numbers as *codes*, by which they are compared as the numbers are, moved ones
too: a gap that is not known is 2b + 1 long there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import comb
from typing import Final

from dpcheck.exact import Number, Rational, add, divide, multiply, power, sign, subtract
from dpcheck.exact.exponentials import differences
from dpcheck.records import dataclass

Ratios = tuple[Number, ...]
Law = Mapping[Ratios, Number]
"""By the ratios of all gaps: the coefficient, which is never 0."""


@dataclass(frozen=True, eq=False)
class Levels:
    """What is known of the levels beyond one end: the bases of gaps, and the law of the rest."""

    bases: tuple[int, ...]
    law: Law

    def is_known(self, gap: int) -> bool:
        """Return whether the length of a gap (from 0) is known."""
        return next(iter(self.law))[gap] == 0

    @property
    def known(self) -> tuple[tuple[int, bool], ...]:
        """The bases of all gaps, and whether these are known."""
        return tuple((base, self.is_known(gap)) for gap, base in enumerate(self.bases))

    @cached_property
    def key(self) -> Hashable:
        """What levels of which the same is known have in common."""
        law = ((tuple(map(parts, r)), parts(c)) for r, c in self.law.items())
        return self.bases, frozenset(law)

    @property
    def codes(self) -> tuple[int, ...]:
        """The codes of the levels, as steps beyond the window."""
        lengths = (b + 1 if self.is_known(i) else 2 * b + 1 for i, b in enumerate(self.bases))
        return tuple(accumulate(lengths))


def parts(n: Number) -> Hashable:
    """Return what equal numbers have in common; to hash a rational takes far longer."""
    return (n.p, n.q) if isinstance(n, Rational) else n


NO_LEVELS: Final = Levels((), {(): 1})


@dataclass(frozen=True, eq=False)
class Place:
    """Where a new number may stand: on `level` (from 1), with others if `is_shared`.

    If not, levels from there on are one further away than before. `levels` are known then.
    """

    level: int
    is_shared: bool
    probability: Number
    levels: Levels


def places(levels: Levels, ratio: Number) -> Iterator[Place]:
    """Yield every place where a new number with this ratio may stand, beyond the window's end."""
    n = len(levels.bases)
    for gap, base in enumerate(levels.bases):
        ways = [_cut(levels, gap, x) for x in range(1, base)]
        terms = {
            (*r[: gap + 1], *r[gap:]): c if base else multiply(c, r[gap])
            for r, c in levels.law.items()
        }
        bases = (*levels.bases[:gap], max(base - 1, 0), 0, *levels.bases[gap + 1 :])
        for way in (*ways, Levels(bases, terms)):
            yield from _place(way, gap + 1, False, ratio)
        yield from _place(levels, gap + 1, True, ratio)
    top = Levels((*levels.bases, 0), {(*r, 1): c for r, c in levels.law.items()})
    yield from _place(top, n + 1, False, ratio)


def _place(levels: Levels, level: int, is_shared: bool, ratio: Number) -> Iterator[Place]:
    """Yield a place by the levels with it, before its probability; none if that is 0."""
    terms = {
        (*(multiply(one, ratio) for one in r[:level]), *r[level:]): c for r, c in levels.law.items()
    }
    mass = total(terms)
    if mass != 0:
        factor = power(ratio, level - 1 + sum(levels.bases[:level]))
        chance = multiply(multiply(subtract(1, ratio), factor), mass)
        yield Place(level, is_shared, chance, Levels(levels.bases, _divided(terms, mass)))


def _divided(terms: Law, mass: Number) -> Law:
    return {ratios: divide(coefficient, mass) for ratios, coefficient in terms.items()}


def _cut(levels: Levels, gap: int, low: int) -> Levels:
    """Return the levels with one more, so many steps above a gap's lower end, within its base."""
    base = levels.bases[gap]
    bases = (*levels.bases[:gap], low - 1, base - low, *levels.bases[gap + 1 :])
    return Levels(bases, {(*r[:gap], 0, *r[gap:]): c for r, c in levels.law.items()})


def with_level(levels: Levels, code: int) -> Levels:
    """Return the levels with one more, at a code where it has a place."""
    codes = (0, *levels.codes)
    gap = sum(other < code for other in codes) - 1
    low = code - codes[gap]
    if gap == len(levels.bases):
        law = {(*r, 0): c for r, c in levels.law.items()}
        return Levels((*levels.bases, low - 1), law)
    base, high = levels.bases[gap], codes[gap + 1] - code
    if low <= base:
        return _cut(levels, gap, low)
    assert 0 < high <= base, "gaps are resolved first"
    bases = (*levels.bases[:gap], base - high, high - 1, *levels.bases[gap + 1 :])
    return Levels(bases, {(*r[: gap + 1], 0, *r[gap + 1 :]): c for r, c in levels.law.items()})


def resolved(
    levels: Levels, gap: int, reach: int, step: int
) -> Iterator[tuple[Levels, Number, int]]:
    """Yield what the levels may be, with probabilities, gaps resolved one after the other.

    From a gap on, upwards or downwards, they are known as far as they are within a reach, or the
    next one's base is at least what is left of it: that stands last.
    """
    if reach <= 0 or not 0 <= gap < len(levels.bases):
        yield levels, 1, reach
        return
    for after, mass in _with_gap_known(levels, gap, reach):
        left = reach - after.bases[gap] - 1 if after.is_known(gap) else 0
        for one, chance, rest in resolved(after, gap + step, left, step):
            yield one, multiply(mass, chance), rest


def with_gaps_known(levels: Levels, reach: int) -> Iterator[tuple[Levels, Number]]:
    """Yield what the levels may be, with probabilities, all gaps known within a reach."""
    ways: list[tuple[Levels, Number]] = [(levels, 1)]
    for gap in range(len(levels.bases)):
        ways = [
            (after, multiply(chance, mass))
            for before, chance in ways
            for after, mass in _with_gap_known(before, gap, reach)
        ]
    yield from ways


def _with_gap_known(levels: Levels, gap: int, reach: int) -> Iterator[tuple[Levels, Number]]:
    """Yield what the levels may be, with probabilities: a gap is known, or its base the reach."""
    base = levels.bases[gap]
    if base >= reach or levels.is_known(gap):
        yield levels, 1
        return
    for b, terms, mass in _lengths(levels.law, gap, base, reach):
        yield Levels((*levels.bases[:gap], b, *levels.bases[gap + 1 :]), terms), mass


def _lengths(law: Law, gap: int, base: int, reach: int) -> Iterator[tuple[int, Law, Number]]:
    """Yield the base of a gap, the law and the probability, if it is known or not below a reach."""
    for b in range(base, reach + 1):
        terms: dict[Ratios, Number] = {}
        for r, c in law.items():
            ratio = r[gap] if b == reach else 0
            _enter(terms, (*r[:gap], ratio, *r[gap + 1 :]), multiply(c, power(r[gap], b - base)))
        mass = total(terms)
        if mass != 0:
            yield b, _divided(terms, mass), mass


def total(law: Law) -> Number:
    """Return the sum over all gaps."""
    result: Number = 0
    for ratios, coefficient in law.items():
        mass = coefficient
        for ratio in ratios:
            mass = divide(mass, subtract(1, ratio))
        result = add(result, mass)
    return result


def without(levels: Levels, level: int) -> Levels:
    """Return the other levels, where nobody stands on this one (from 1) any more."""
    result: dict[Ratios, Number] = {}
    bases, is_last = levels.bases, level == len(levels.bases)
    is_known = levels.is_known(level - 1) or (not is_last and levels.is_known(level))
    for ratios, coefficient in levels.law.items():
        below, own, above = ratios[: level - 1], ratios[level - 1], ratios[level:]
        if is_last:
            _enter(result, below, divide(coefficient, subtract(1, own)))
        elif is_known:
            _enter(result, (*below, add(own, above[0]), *above[1:]), coefficient)
        else:
            share = divide(coefficient, subtract(above[0], own))
            _enter(result, (*below, *above), share)
            _enter(result, (*below, own, *above[1:]), multiply(-1, share))
    if is_last:
        return Levels(bases[:-1], result)
    base = bases[level - 1] + bases[level] + is_known
    return Levels((*bases[: level - 1], base, *bases[level + 1 :]), result)


def _enter(law: dict[Ratios, Number], ratios: Ratios, coefficient: Number) -> None:
    """Add a term to a law under way."""
    found = add(law.pop(ratios, 0), coefficient)
    if found != 0:
        law[ratios] = found


def mixed(every: Sequence[tuple[Levels, Number]]) -> Levels:
    """Return what is known of levels that are one of some, which know the same gaps, by shares."""
    law: dict[Ratios, Number] = {}
    for levels, share in every:
        for ratios, coefficient in levels.law.items():
            _enter(law, ratios, multiply(share, coefficient))
    return Levels(every[0][0].bases, law)


def chance(levels: Levels, step: int) -> Number:
    """Return the probability that a number, alone beyond the end, is so many steps beyond it."""
    result: Number = 0
    (base,) = levels.bases
    for (ratio,), coefficient in levels.law.items() if step > base else ():
        result = add(result, multiply(coefficient, power(ratio, step - base - 1)))
    return result


def cell_chance(levels: Levels, first: int, last: int | None) -> Number:
    """Return the probability that a number, alone beyond the end, is in a cell of steps.

    From there on its law is Σ c_k ρ_k^s, and Σ_(first<=s<=last) ρ^s = (ρ^first - ρ^(last+1))/(1-ρ).
    """
    (base,) = levels.bases
    result: Number = 0
    for (ratio,), coefficient in levels.law.items():
        above = 0 if last is None else power(ratio, last - base)
        part = divide(subtract(power(ratio, first - base - 1), above), subtract(1, ratio))
        result = add(result, multiply(coefficient, part))
    return result


def cell_moment(ratio: Number, length: int, k: int) -> Number:
    """Return E[C(s, k)] where s has the law of one ratio in a cell, the first number being 0.

    Without an end the moments are M_j = (ρ/(1-ρ))^j. There s >= n has probability ρ^n, and s - n
    then has the same law: C(n + t, k) = Σ_j C(n, k-j) C(t, j). So for a length n this is

        (M_k - ρ^n Σ_j C(n, k-j) M_j) / (1 - ρ^n).
    """
    moments = [kind_moment((ratio,), 1, j) for j in range(k + 1)]
    rest = power(ratio, length)
    after: Number = 0
    for j, moment in enumerate(moments):
        after = add(after, multiply(comb(length, k - j), moment))
    return divide(subtract(moments[k], multiply(rest, after)), subtract(1, rest))


def shown_kinds(
    levels: Levels, ratios: Ratios, margin: int, is_zero: Callable[[Number], bool]
) -> list[Number] | None:
    """Return the probabilities of the kinds of a shown number, far from the window to next to it.

    levels: a single one, f(s) = P(margin + 1 + s) = Σ_k a_k ρ_k^s, with ρ_1 > ... > ρ_N the given
    ratios. In the terms of `exact.exponentials`, D_k being those of f at 0,

        f(s) = Σ_k w_k D_k K_k(s)   where   K_k(s) = h_(s-N+k)(ρ_k, ..., ρ_N) / w_k   sums to 1

    with w_k = Π_(l>=k) 1/(1-ρ_l). K does not depend on the law, so an adversary who is shown k,
    with probability w_k D_k, knows at least as much as one who is shown s. Between two laws the
    ratio of the first D_k that is not 0 for both is the limit for large s, and that of D_N the one
    at s = 0: K_k(s) is 0 for s < N - k. None if some D_k is negative: with a wider margin none is,
    since a_1 has the least power of all. So it is where the number may be known, or not yet have
    this law, next to the margin. At the single value asked of a parameter some other ratios of the
    law equal given ones, so that f is this sum there, and D_k may be 0 there alone, as `is_zero`
    says.
    """
    if margin < levels.bases[0] + levels.is_known(0):
        return None
    values = [chance(levels, margin + step) for step in range(1, len(ratios) + 1)]
    found: list[Number] = []
    weight: Number = 1
    for ratio, each in zip(reversed(ratios), reversed(differences(values, ratios)), strict=True):
        is_none = is_zero(each)
        if not is_none and sign(each) < 0:
            return None
        weight = divide(weight, subtract(1, ratio))
        found.insert(0, 0 if is_none else multiply(weight, each))
    return found


def kind_moment(ratios: Ratios, kind: int, k: int) -> Number:
    """Return E[C(s, k)] where s has the law K_kind of `shown_kinds`, the first being 1.

    There s is N - kind more than a sum of independent numbers with P(j) = (1-ρ_l) ρ_l^j, l >= kind.
    So E[(1+t)^s] is (1+t)^(N-kind) Π_l 1/(1 - t ρ_l/(1-ρ_l)), of which this is the part at t^k.
    """
    found: list[Number] = [comb(len(ratios) - kind, j) for j in range(k + 1)]
    for ratio in ratios[kind - 1 :]:
        odds = divide(ratio, subtract(1, ratio))
        for j in range(k):
            found[j + 1] = add(found[j + 1], multiply(odds, found[j]))
    return found[k]
