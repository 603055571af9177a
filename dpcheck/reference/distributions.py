"""What is drawn: {value: probability} of every distribution, by its definition.

Noise with infinite support is summed where the definition says so: the tails of the two-sided
geometric distribution beyond a bound are geometric series, Σ a^z for z >= k = a^k / (1 - a).
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

from dpcheck.reference.expressions import Env, Scope, each, evaluate, holds
from dpcheck.reference.numbers import ONE, ZERO, Number, quotient, sign
from dpcheck.reference.syntax import Tree
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


class NoWeight(WrongProgram):
    """All weights of a distribution that is to be normalized are 0."""


def only_possible(weights: Law) -> Law:
    """Return a distribution without impossible values; check that it is one."""
    if any(sign(p) < 0 for p in weights.values()) or sum(weights.values(), ZERO) != 1:
        raise WrongProgram("these are no probabilities")
    return {value: p for value, p in weights.items() if sign(p) > 0}


def weighted(pairs: list[tuple[Value, Number]], *, is_normalized: bool) -> Law:
    """Return the distribution of (value, weight), weights of equal values added."""
    total: Number = sum((w for _, w in pairs), ZERO) if is_normalized else ONE
    if sign(total) == 0:
        raise NoWeight("all weights are 0")
    found: Law = {}
    for value, weight in pairs:
        found[value] = found.get(value, ZERO) + quotient(weight, total)
    return only_possible(found)


def distribution(tree: Tree, env: Env, scope: Scope) -> Law:
    """Return what a distribution draws."""

    def value(part: Tree) -> Value:
        return evaluate(part, env, scope)

    match tree:
        case ("if", condition, a, b):
            return distribution(a if holds(condition, env, scope) else b, env, scope)
        case ("branches", branches, normalized):
            pairs = [(value(v), number(value(w))) for v, w in branches]
            return weighted(pairs, is_normalized=bool(normalized))
        case ("weights", element, weight, *source, normalized):
            pairs = [
                (evaluate(element, inner, scope), number(evaluate(weight, inner, scope)))
                for inner in each(source, env, scope)
            ]
            return weighted(pairs, is_normalized=bool(normalized))
        case ("policy", "unbounded", *_):
            raise NotCovered("noise without bounds")
        case ("policy", policy, ("call", name, arguments), (_, low, high)):
            ends = integer(value(low)), integer(value(high))
            return noise(name, [value(a) for a in arguments], policy, *ends)
        case ("name", name):
            return declared(name, [], env, scope)
        case ("call", name, arguments):
            return declared(name, [value(a) for a in arguments], env, scope)
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
            return weighted([(item, ONE) for item in elements(of)], is_normalized=True)
        case "binomial", [n, p]:
            return binomial(integer(n), number(p))
    raise NotCovered(f"the distribution {name}")


def binomial(n: int, p: Number) -> Law:
    """Return the number of successes in n trials."""
    if n < 0:
        raise WrongProgram(f"{n} trials")
    return only_possible({k: comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)})


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

    def onward(first: int, step: int) -> Number:
        before = range(first, center, step)
        last = before[-1] + step if before else first
        return sum(map(mass, before), ZERO) + mass(last) / (1 - a ** abs(step))

    return under_policy(mass, onward, policy, low, high)


def one_sided(a: Number, policy: str, low: int, high: int) -> Law:
    """Return Z >= 0, P(Z = z) = (1-a) a^z, under a policy."""

    def mass(value: int) -> Number:
        return (1 - a) * a**value if value >= 0 else ZERO

    def onward(first: int, step: int) -> Number:
        if step < 0:
            return sum(map(mass, range(first, -1, step)), ZERO)
        return mass(max(first, first % step)) / (1 - a**step)

    return under_policy(mass, onward, policy, low, high)


def under_policy(
    mass: Callable[[int], Number],
    onward: Callable[[int, int], Number],
    policy: str,
    low: int,
    high: int,
) -> Law:
    """Return what becomes of an integer noise outside of low..high.

    onward: the chance of first, first + step, first + 2 step, and so on.
    """

    def repeated(place: int, period: int) -> Number:
        return onward(place, period) + onward(place - period, -period)

    inside = range(low, high + 1)
    match policy:
        case "clamped":
            law = {z: mass(z) for z in inside}
            law |= {low: onward(low, -1), high: onward(high, 1)} if low < high else {low: ONE}
        case "conditioned":
            return weighted([(z, mass(z)) for z in inside], is_normalized=True)
        case "wrapped":
            law = {z: repeated(z, high - low + 1) for z in inside}
        case _:
            # Reflecting at both ends has period 2 (high - low): z and its mirror 2 low - z meet.
            period = 2 * (high - low)
            law = {z: repeated(z, period) for z in inside}
            law |= {z: law[z] + repeated(2 * low - z, period) for z in inside[1:-1]}
    return only_possible(law)
