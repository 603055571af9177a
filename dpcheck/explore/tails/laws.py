"""The joint law of numbers beyond one end of a window, given their order: exact, in closed form.

A number with geometric noise of ratio r is beyond the window's end by j = 1, 2, ... with
probability (1-r) r^(j-1), wherever its center in the window is: noise has no memory. Numbers beyond
the end stand on *levels*, nearest first; equal numbers share one. Between the levels are *gaps*,
which are at least 1, and the first gap begins at the window's end. A law is

    P(gaps = g) = Σ_k c_k Π_i ρ_ki^(g_i - 1),        a mapping from (ρ_k1, ρ_k2, ...) to c_k.

A new number X goes up gap by gap. With j = g_1 + ... + g_(i-1) + x in gap i of length x + y,

    (1-r) r^(j-1) ρ_i^(x+y-1) Π_(h<i) ρ_h^(g_h-1)
        = (1-r) r^(i-1) ρ_i · Π_(h<i) (ρ_h r)^(g_h-1) · (ρ_i r)^(x-1) · ρ_i^(y-1),

so the law stays one of this form; likewise where X stands on a level or above all. A level that
nobody stands on any more is forgotten: its two gaps become one, of which

    Σ_(g+h=n) ρ^(g-1) σ^(h-1) = (σ^(n-1) - ρ^(n-1)) / (σ - ρ),

or, if it is the last, its gap is summed out. In every term ρ_1 < ρ_2 < ... < 1: a new number only
multiplies the ratios of gaps below it by r < 1, splits ρ into ρr < ρ, or adds r above ρr; so
σ - ρ is never 0. Different mappings are different laws: exponentials are linearly independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import comb
from typing import Final

from dpcheck.exact import Number, add, differences, divide, multiply, power, sign, subtract
from dpcheck.records import dataclass

Ratios = tuple[Number, ...]
Law = Mapping[Ratios, Number]
"""By the ratios of all gaps: the coefficient, which is never 0."""

NO_LEVELS: Final[Law] = {(): 1}


@dataclass(frozen=True, eq=False)
class Place:
    """Where a new number may stand: on `level` (from 1), with others if `is_shared`.

    If not, levels from there on are one further away than before. `law` is what is known then.
    """

    level: int
    is_shared: bool
    probability: Number
    law: Law


def n_levels(law: Law) -> int:
    """Return the number of levels."""
    return len(next(iter(law)))


def places(law: Law, ratio: Number) -> Iterator[Place]:
    """Yield every place where a new number with this ratio may stand, beyond the window's end."""
    n = n_levels(law)
    for gap in range(n):
        inside = {_split(r, gap, ratio): multiply(c, r[gap]) for r, c in law.items()}
        yield _place(gap, False, inside, ratio)
        yield _place(gap, True, {_thinned(r, gap + 1, ratio): c for r, c in law.items()}, ratio)
    yield _place(n, False, {(*_thinned(r, n, ratio), ratio): c for r, c in law.items()}, ratio)


def _thinned(ratios: Ratios, n: int, ratio: Number) -> Ratios:
    """Return the ratios with the first n of them multiplied by that of a number beyond them."""
    return (*(multiply(one, ratio) for one in ratios[:n]), *ratios[n:])


def _split(ratios: Ratios, gap: int, ratio: Number) -> Ratios:
    """Return the ratios of the gaps where a new number stands inside of one."""
    return (*_thinned(ratios[: gap + 1], gap + 1, ratio), *ratios[gap:])


def _place(gaps_below: int, is_shared: bool, terms: Law, ratio: Number) -> Place:
    """Return a place by its terms, up to their common factor (1-r) r^gaps_below."""
    mass = total(terms)
    factor = multiply(subtract(1, ratio), power(ratio, gaps_below))
    law = {ratios: divide(coefficient, mass) for ratios, coefficient in terms.items()}
    return Place(gaps_below + 1, is_shared, multiply(factor, mass), law)


def total(law: Law) -> Number:
    """Return the sum over all gaps."""
    result: Number = 0
    for ratios, coefficient in law.items():
        mass = coefficient
        for ratio in ratios:
            mass = divide(mass, subtract(1, ratio))
        result = add(result, mass)
    return result


def without(law: Law, level: int) -> Law:
    """Return the law of the other levels, where nobody stands on this one (from 1) any more."""
    result: dict[Ratios, Number] = {}
    for ratios, coefficient in law.items():
        below, own, above = ratios[: level - 1], ratios[level - 1], ratios[level:]
        if not above:
            _enter(result, below, divide(coefficient, subtract(1, own)))
            continue
        share = divide(coefficient, subtract(above[0], own))
        _enter(result, (*below, *above), share)
        _enter(result, (*below, own, *above[1:]), multiply(-1, share))
    return result


def _enter(law: dict[Ratios, Number], ratios: Ratios, coefficient: Number) -> None:
    """Add a term to a law under way."""
    found = add(law.pop(ratios, 0), coefficient)
    if found != 0:
        law[ratios] = found


def chance(law: Law, step: int) -> Number:
    """Return the probability that a number, alone beyond the end, is so many steps beyond it."""
    result: Number = 0
    for (ratio,), coefficient in law.items():
        result = add(result, multiply(coefficient, power(ratio, step - 1)))
    return result


def shown_kinds(law: Law, ratios: Ratios, margin: int) -> list[Number] | None:
    """Return the probabilities of the kinds of a shown number, far from the window to next to it.

    law: of one level, f(s) = P(margin + 1 + s) = Σ_k a_k ρ_k^s, with ρ_1 > ... > ρ_N the given
    ratios. In the terms of `exact.exponentials`, D_k being those of f at 0,

        f(s) = Σ_k w_k D_k K_k(s)   where   K_k(s) = h_(s-N+k)(ρ_k, ..., ρ_N) / w_k   sums to 1

    with w_k = Π_(l>=k) 1/(1-ρ_l). K does not depend on the law, so an adversary who is shown k,
    with probability w_k D_k, knows at least as much as one who is shown s. The ratio of D_1 between
    two laws is the limit for large s, and that of D_N the one at s = 0: both are approached or
    attained. None if some D_k is negative: with a wider margin none is, since a_1 has the least
    power of all.
    """
    values = [chance(law, margin + step) for step in range(1, len(ratios) + 1)]
    found: list[Number] = []
    weight: Number = 1
    for ratio, each in zip(reversed(ratios), reversed(differences(values, ratios)), strict=True):
        if sign(each) < 0:
            return None
        weight = divide(weight, subtract(1, ratio))
        found.insert(0, multiply(weight, each))
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
