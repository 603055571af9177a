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
from typing import Final

from dpcheck.exact import Number, add, divide, multiply, power, sign, subtract
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

    law: of one level, P(margin + g) = Σ_k a_k ρ_k^(g-1), with ratios ρ_1 > ρ_2 > ... among the
    given ones. With S_i = a_1 + ... + a_i, w_i = 1/(1-ρ_i) - 1/(1-ρ_(i+1)), and w_n = 1/(1-ρ_n),

        P(g) = Σ_i w_i S_i K_i(g)   where   K_i(g) = (ρ_i^(g-1) - ρ_(i+1)^(g-1)) / w_i   sums to 1

    (summation by parts, ρ_(n+1)^(g-1) being 0). K does not depend on the law, so an adversary who
    is shown i, with probability w_i S_i, knows at least as much as one who is shown g. The ratio of
    S_1 between two laws is the limit for large g, and that of S_n the one at g = 1: both are
    approached or attained. None if some S_i is negative: with a wider margin none is, since a_1 has
    the least power of all.
    """
    found: list[Number] = []
    partial: Number = 0
    for k, ratio in enumerate(ratios):
        partial = add(partial, multiply(law.get((ratio,), 0), power(ratio, margin)))
        if sign(partial) < 0:
            return None
        weight = divide(1, subtract(1, ratio))
        if k + 1 < len(ratios):
            weight = subtract(weight, divide(1, subtract(1, ratios[k + 1])))
        found.append(multiply(weight, partial))
    return found


def kind_moment(ratios: Ratios, kind: int, k: int) -> Number:
    """Return E[C(g - 1, k)] where g has the law K_kind of `shown_kinds`, the first being 1.

    The sum of C(g-1, k) ρ^(g-1) over all g is ρ^k/(1-ρ)^(k+1), by which also K is normalized.
    """

    def total_of(k: int) -> Number:
        sums = [
            divide(power(r, k), power(subtract(1, r), k + 1)) for r in ratios[kind - 1 : kind + 1]
        ]
        return sums[0] if len(sums) == 1 else subtract(*sums)

    return divide(total_of(k), total_of(0))
