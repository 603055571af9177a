"""The distributions of the language by their definitions, with plain fractions.

Noise with infinite support is summed where the definition says so: the tails of the two-sided
geometric distribution beyond a bound are geometric series, `sum of a^z for z >= k = a^k/(1-a)`.
A distribution is a dict from value to probability; zero probabilities are left out.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from tests.oracle.values import FALSE, TRUE, OracleError


def only_possible(weights):
    """Return the same distribution without impossible values; check that it is one."""
    if any(p < 0 for p in weights.values()) or sum(weights.values()) != 1:
        raise OracleError(f"probabilities {weights} are none")
    return {value: p for value, p in weights.items() if p}


def bernoulli(p):
    """Return `true` with probability p."""
    if not 0 <= p <= 1:
        raise OracleError(f"probability {p}")
    return only_possible({TRUE: p, FALSE: 1 - p})


def uniform(items):
    """Return every item alike."""
    if not items:
        raise OracleError("uniform over nothing")
    return {item: Fraction(1, len(items)) for item in items}


def weighted(pairs, normalized):
    """Return the distribution of (value, weight) pairs, weights of equal values added."""
    total = sum((w for _, w in pairs), Fraction(0))
    if any(w < 0 for _, w in pairs) or (total != 1 and not normalized) or total == 0:
        raise OracleError(f"weights sum to {total}")
    result = {}
    for value, weight in pairs:
        result[value] = result.get(value, 0) + weight / total
    return only_possible(result)


def binomial(n, p):
    """Return the number of successes in n trials."""
    if n < 0 or not 0 <= p <= 1:
        raise OracleError(f"binomial({n}, {p})")
    return only_possible(
        {Fraction(k): comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}
    )


def two_sided(center, alpha, kind, lo, hi):
    """Return center + Z, P(Z = z) = (1-a)/(1+a) a^|z|, under a policy."""
    if not 0 < alpha < 1:
        raise OracleError(f"alpha {alpha}")

    def mass(value):
        return (1 - alpha) / (1 + alpha) * alpha ** abs(value - center)

    def at_least(value):
        """Return P(center + Z >= value), summing from the side that is one series."""
        if value > center:
            return alpha ** (value - center) / (1 + alpha)
        return 1 - alpha ** (center - value + 1) / (1 + alpha)

    def class_mass(residue, period):
        """Return P(center + Z = residue modulo period): two geometric series."""
        upper = residue + period * -((residue - center) // period)  # least value >= center
        lower = upper - period
        step = alpha**period
        return (mass(upper) + mass(lower)) / (1 - step)

    return under_policy(mass, at_least, class_mass, kind, lo, hi)


def one_sided(alpha, kind, lo, hi):
    """Return Z >= 0, P(Z = z) = (1-a) a^z, under a policy."""
    if not 0 < alpha < 1:
        raise OracleError(f"alpha {alpha}")

    def mass(value):
        return (1 - alpha) * alpha**value if value >= 0 else Fraction(0)

    def at_least(value):
        return alpha ** max(value, 0)

    def class_mass(residue, period):
        least = residue % period  # the least value >= 0 in the class
        return mass(least) / (1 - alpha**period)

    return under_policy(mass, at_least, class_mass, kind, lo, hi)


def under_policy(mass, at_least, class_mass, kind, lo, hi):
    """Return what becomes of an integer noise outside of lo..hi."""
    if lo > hi or (kind == "folded" and lo == hi):
        raise OracleError(f"{kind} {lo}..{hi}")
    inside = range(lo, hi + 1)
    match kind:
        case "clamped":
            result = {v: mass(v) for v in inside}
            result[lo] = 1 - at_least(lo + 1)
            result[hi] = at_least(hi) if lo < hi else Fraction(1)
        case "conditioned":
            total = sum(mass(v) for v in inside)
            if total == 0:
                raise OracleError("conditioned on an impossible range")
            result = {v: mass(v) / total for v in inside}
        case "wrapped":
            result = {v: class_mass(v, hi - lo + 1) for v in inside}
        case "folded":
            # Reflecting at both ends has period 2 (hi - lo): v and its mirror 2 lo - v land on v.
            period = 2 * (hi - lo)
            result = {}
            for v in inside:
                images = {v % period, (2 * lo - v) % period}
                result[v] = sum(class_mass(image, period) for image in images)
    return only_possible({Fraction(v): p for v, p in result.items()})


def gaussian(center, base, lo, hi):
    """Return the values of lo..hi with weights base^((z - center)^2), renormalized."""
    if not 0 < base < 1 or lo > hi:
        raise OracleError(f"gaussian base {base} on {lo}..{hi}")
    weights = {Fraction(v): base ** ((v - center) ** 2) for v in range(lo, hi + 1)}
    total = sum(weights.values())
    return {v: w / total for v, w in weights.items()}
