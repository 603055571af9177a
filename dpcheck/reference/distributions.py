"""What is drawn: {value: probability} of every distribution, by its definition.

Noise with infinite support is summed where the definition says so: the tails of the two-sided
geometric distribution beyond a bound are geometric series, Σ a^z for z >= k = a^k / (1 - a).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

from dpcheck.reference.expressions import Env, Scope, chosen_from, evaluate, holds
from dpcheck.reference.numbers import Number, quotient, sign
from dpcheck.reference.syntax import Tree, by_place
from dpcheck.reference.values import (
    FALSE,
    TRUE,
    Dist,
    NotCovered,
    Value,
    WrongProgram,
    elements,
    integer,
    number,
)

Law = dict[Value, Number]


def only_possible(weights: Law) -> Law:
    """Return a distribution without impossible values; check that it is one."""
    if any(sign(p) < 0 for p in weights.values()) or sum(weights.values(), Fraction(0)) != 1:
        raise WrongProgram("these are no probabilities")
    return {value: p for value, p in weights.items() if sign(p) > 0}


def weighted(pairs: list[tuple[Value, Number]], *, is_normalized: bool) -> Law:
    """Return the distribution of (value, weight), weights of equal values added."""
    total: Number = sum((w for _, w in pairs), Fraction(0))
    if sign(total) == 0 or any(sign(w) < 0 for _, w in pairs):
        raise WrongProgram("weights sum to 0, or one is negative")
    found: Law = {}
    for value, weight in pairs:
        found[value] = found.get(value, Fraction(0)) + (
            quotient(weight, total) if is_normalized else weight
        )
    return only_possible(found)


def has_no_weight(tree: Tree, env: Env, scope: Scope) -> bool:
    """Return whether a distribution is to be normalized, and all its weights are 0."""
    match tree:
        case ("if", condition, a, b):
            return has_no_weight(a if holds(condition, env, scope) else b, env, scope)
        case ("branches", branches, True):
            weights = [evaluate(weight, env, scope) for _, weight in branches]
        case ("weights", _, weight, variable, domain, where, True):
            chosen = chosen_from(env, scope, variable, domain, where)
            weights = [evaluate(weight, {**env, variable: each}, scope) for each in chosen]
        case _:
            return False
    return all(sign(number(weight)) == 0 for weight in weights)


def distribution(tree: Tree, env: Env, scope: Scope) -> Law:
    """Return what a distribution draws."""

    def value(inner: Tree, more: Env | None = None) -> Value:
        return evaluate(inner, {**env, **more} if more else env, scope)

    match tree:
        case ("if", condition, a, b):
            return distribution(a if holds(condition, env, scope) else b, env, scope)
        case ("branches", branches, is_normalized):
            pairs = [(value(v), number(value(w))) for v, w in branches]
            return weighted(pairs, is_normalized=is_normalized)
        case ("weights", element, weight, variable, domain, where, is_normalized):
            chosen = [{variable: e} for e in chosen_from(env, scope, variable, domain, where)]
            pairs = [(value(element, each), number(value(weight, each))) for each in chosen]
            return weighted(pairs, is_normalized=is_normalized)
        case ("policy", policy, ("call", name, arguments), (_, low, high)):
            values = [value(a) for a in by_place(arguments)]
            return noise(name, values, policy, integer(value(low)), integer(value(high)))
        case ("policy", *_):
            raise NotCovered("noise without bounds")
        case ("name", name, False):
            return declared(name, [], env, scope)
        case ("call", name, arguments):
            return declared(name, [value(a) for a in by_place(arguments)], env, scope)
    raise NotCovered(f"the distribution `{tree[0]}`")


def declared(name: str, values: list[Value], env: Env, scope: Scope) -> Law:
    """Return a distribution of the file, which a parameter may stand for, or a built-in one."""
    meant = env.get(name)
    item = scope.of("dist", meant if isinstance(meant, Dist) else name)
    if item is not None:
        return distribution(item[3], dict(zip(item[2], values, strict=True)), scope)
    match name, values:
        case "bernoulli", [p]:
            return only_possible({TRUE: number(p), FALSE: 1 - number(p)})
        case "uniform", [of]:
            items = elements(of)
            return only_possible({item: Fraction(1, len(items)) for item in items})
        case "binomial", [n, p]:
            return binomial(integer(n), number(p))
    raise NotCovered(f"the distribution {name}")


def binomial(n: int, p: Number) -> Law:
    """Return the number of successes in n trials."""
    if n < 0:
        raise WrongProgram(f"{n} trials")
    powers: list[tuple[Number, Number]] = [(Fraction(1), Fraction(1))]
    for _ in range(n):
        powers.append((powers[-1][0] * p, powers[-1][1] * (1 - p)))
    law = {k: comb(n, k) * powers[k][0] * powers[n - k][1] for k in range(n + 1)}
    return only_possible(law)


def noise(name: str, values: list[Value], policy: str, low: int, high: int) -> Law:
    """Return noise of infinite support under a policy."""
    if low > high or (policy == "folded" and low == high):
        raise WrongProgram(f"{policy} {low}..{high}")
    base = number(values[-1])
    if not 0 < base < 1:
        raise WrongProgram("a base must lie between 0 and 1")
    match name:
        case "geometric":
            return two_sided(integer(values[0]), base, policy, low, high)
        case "geometric_positive":
            return one_sided(base, policy, low, high)
        case "gaussian" if policy == "conditioned":
            center = integer(values[0])
            pairs = [(z, base ** ((z - center) ** 2)) for z in range(low, high + 1)]
            return weighted(pairs, is_normalized=True)
    raise NotCovered(f"{name} {policy}")


def two_sided(center: int, a: Number, policy: str, low: int, high: int) -> Law:
    """Return center + Z, P(Z = z) = (1-a)/(1+a) a^|z|, under a policy."""

    def mass(value: int) -> Number:
        return (1 - a) / (1 + a) * a ** abs(value - center)

    def at_least(value: int) -> Number:
        if value > center:
            return a ** (value - center) / (1 + a)
        return 1 - a ** (center - value + 1) / (1 + a)

    def in_class(residue: int, period: int) -> Number:
        upper = residue + period * -((residue - center) // period)  # the least value >= center
        return (mass(upper) + mass(upper - period)) / (1 - a**period)

    return under_policy(mass, at_least, in_class, policy, low, high)


def one_sided(a: Number, policy: str, low: int, high: int) -> Law:
    """Return Z >= 0, P(Z = z) = (1-a) a^z, under a policy."""

    def mass(value: int) -> Number:
        return (1 - a) * a**value if value >= 0 else Fraction(0)

    def at_least(value: int) -> Number:
        return a ** max(value, 0)

    def in_class(residue: int, period: int) -> Number:
        return mass(residue % period) / (1 - a**period)

    return under_policy(mass, at_least, in_class, policy, low, high)


def under_policy(
    mass: Callable[[int], Number],
    at_least: Callable[[int], Number],
    in_class: Callable[[int, int], Number],
    policy: str,
    low: int,
    high: int,
) -> Law:
    """Return what becomes of an integer noise outside of low..high."""
    inside = range(low, high + 1)
    match policy:
        case "clamped":
            law = {z: mass(z) for z in inside}
            law[low] = 1 - at_least(low + 1)
            law[high] = at_least(high) if low < high else Fraction(1)
        case "conditioned":
            return weighted([(z, mass(z)) for z in inside], is_normalized=True)
        case "wrapped":
            law = {z: in_class(z, high - low + 1) for z in inside}
        case _:
            # Reflecting at both ends has period 2 (high - low): z and its mirror 2 low - z meet.
            period = 2 * (high - low)
            law = {}
            for z in inside:
                images = {z % period, (2 * low - z) % period}
                law[z] = sum((in_class(image, period) for image in images), Fraction(0))
    return only_possible(law)
