"""What is drawn: {value: probability} of every distribution, by its definition."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

from dpcheck.reference.expressions import Env, Scope, each, evaluate, held, holds
from dpcheck.reference.numbers import ONE, ZERO, Number, number, quotient, sign, summed
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import (
    FALSE,
    TRUE,
    End,
    NotCovered,
    Value,
    WrongProgram,
    elements,
    integer,
)

Law = dict[Value, Number]


def law_of(pairs: list[tuple[Value, Number]], *, is_normalized: bool = False) -> Law:
    """Return the distribution of (value, weight), weights of equal values added."""
    found = summed(pairs)
    if is_normalized:
        total = sum(found.values(), ZERO)
        if sign(total) == 0:
            raise NotCovered("weights that are all 0: a mistake, or the prior of what is no secret")
        found = {value: quotient(weight, total) for value, weight in found.items()}
    if any(sign(p) < 0 for p in found.values()) or sum(found.values(), ZERO) != 1:
        raise WrongProgram("these are no probabilities")
    return found


def distribution(tree: Tree, env: Env, scope: Scope) -> Law:
    """Return what a distribution draws."""

    def value(part: Tree) -> Value:
        return evaluate(part, env, scope)

    match tree:
        case ("if", condition, a, b):
            return distribution(a if holds(condition, env, scope) else b, env, scope)
        case ("set", branches, source, normalized):
            pairs = [
                (evaluate(branch, inner, scope), number(evaluate(weight, inner, scope)))
                for inner in ([env] if source is None else each(source, env, scope))
                for branch, weight in branches
            ]
            return law_of(pairs, is_normalized=bool(normalized))
        case ("policy", policy, ("call", name, arguments), bounds):
            if bounds is None and scope.reach is None:
                raise NotCovered("noise without bounds")
            ends = [integer(value(end)) for end in bounds[1:]] if bounds else [0, scope.reach]
            return noise(name, [value(a) for a in arguments], policy, *ends)
        case ("name", name):
            return declared(name, [], env, scope)
        case ("call", name, arguments):
            return declared(name, [held(a, env, scope) for a in arguments], env, scope)
    raise NotCovered(f"the distribution `{tree[0]}`")


def declared(name: str, values: list[Value], env: Env, scope: Scope) -> Law:
    """Return a distribution of the file, which a parameter may stand for, or a built-in one."""
    item = scope.of("dist", env.get(name, name))
    if item is not None:
        _, _, names, body = item
        return distribution(body, dict(zip(names, values, strict=True)), scope)
    match name, values:
        case "bernoulli", [p]:
            return law_of([(TRUE, number(p)), (FALSE, 1 - number(p))])
        case "uniform", [of]:
            return law_of([(item, ONE) for item in elements(of)], is_normalized=True)
        case "binomial", [n, p] if integer(n) >= 0:
            ways = range(integer(n) + 1)
            return law_of([(k, comb(n, k) * number(p) ** k * (1 - p) ** (n - k)) for k in ways])
        case "binomial", _:
            raise WrongProgram("a number of trials below 0")
    raise NotCovered(f"the distribution {name}")


def noise(name: str, values: list[Value], policy: str, low: int, high: int) -> Law:
    """Return noise of infinite support that a policy brings into low..high.

    Noise without bounds (0..reach) is all that is so near to its center, and the rest as one value.
    From the bounds and the center outward a geometric mass falls by the base a at each integer, and
    what a policy does repeats after a period: Σ a^(n period) = 1 / (1 - a^period), for n >= 0.
    """
    is_positive = name == "geometric_positive"
    center, base = -1 if is_positive else integer(values[0]), number(values[-1])
    width = high - low
    if width < 0 or (policy == "folded" and width == 0) or not 0 < base < 1:
        raise WrongProgram(f"{policy} {low}..{high}, or a base that is not between 0 and 1")
    scale = quotient(1 - base, 1 + base)
    masses: dict[str, Callable[[int], Number]] = {
        "geometric": lambda z: scale * base ** abs(z - center),
        "geometric_positive": lambda z: (1 - base) * base**z if z >= 0 else ZERO,
        "gaussian": lambda z: base ** ((z - center) ** 2),
    }
    places: dict[str, tuple[int, Callable[[int], int]]] = {
        "clamped": (1, lambda z: min(max(z, low), high)),
        "wrapped": (width + 1, lambda z: low + (z - low) % (width + 1)),
        "folded": (2 * width, lambda z: high - abs((z - low) % (2 * width) - width)),
    }
    if name not in masses or (name == "gaussian" and policy != "conditioned"):
        raise NotCovered(f"{name} {policy}")
    mass = masses[name]
    if policy == "conditioned":
        return law_of([(z, mass(z)) for z in range(low, high + 1)], is_normalized=True)
    if policy == "unbounded":
        near = [(z, mass(z)) for z in range(center - high, center + high + 1)]
        return law_of([*near, (End.UNKNOWN, 1 - sum(p for _, p in near))])
    period, place = places[policy]
    first, rest = min(low, center), 1 - base**period
    last = max(high, center + is_positive, first + 1)
    pairs = [(place(z), mass(z)) for z in range(first + 1, last)]
    for k in range(period):
        pairs += [(place(z), quotient(mass(z), rest)) for z in (first - k, last + k)]
    return law_of(pairs)
