"""The distributions of the language as finite tables of exact weights.

With α = a/b in lowest terms, every probability below is a whole number over one whole denominator;
a and b are integers, or elements of ℤ[e^r] where α is in ℚ(e^r). Sums over infinite tails and
over infinitely many windings are geometric series, summed in closed form:

    two-sided   P(Z = c+k) = (1-α)/(1+α)·α^|k|        P(Z <= c-k) = α^k/(1+α) for k >= 0
    one-sided   P(Z = k) = (1-α)·α^k, k >= 0          P(Z >= k) = α^k

    Σ_j α^|d+jN| over all integers j = (α^r + α^(N-r))/(1 - α^N),  r = d mod N
    Σ α^k over k >= 0, k ≡ d mod N    = α^r/(1 - α^N)

and (b^N - a^N)/(b - a) = Σ_{i<N} a^i b^(N-1-i). `wrapped` uses N = hi-lo+1; `folded` reflects at
both ends again and again, which has period N = 2(hi-lo): z collects the classes of z and 2lo-z,
which are one class if z is an end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from math import isqrt

import numpy as np

from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.weights.denominators import concatenated, weight_array
from dpcheck.exact import Whole, floor, number, power
from dpcheck.explore.values.codes import FALSE, TRUE
from dpcheck.model.distributions import PolicyKind
from dpcheck.records import dataclass

MAX_SUPPORT = 5_000_000
"""How many values a distribution has at most: more than any limit on states lets it be drawn."""

MAX_TABLE_BITS = 1 << 34
"""How many bits the probabilities of one distribution have at most together: 2 GiB."""

FARTHEST_BOUND = 1 << 30
"""Bounds of a policy are nearer to 0."""

_ROOM = 99
"""Integers on both sides of the numbers that noise is around, in a policy that is advised."""

_BESIDE = 3
"""Integers that a window has beside the numbers that matter."""


@dataclass(frozen=True, eq=False)
class Weights:
    """`numerators[i] / denominator` is the probability of `values[i]`; values are integers."""

    values: IntArray
    numerators: WeightArray
    denominator: Whole


class NoValueLeft(Exception):
    """A window that leaves the distribution no value."""


class TooManyDigits(Exception):
    """Probabilities that no memory holds; `advice` says what fits, where that is known."""

    def __init__(self, largest: int, advice: str | None = None) -> None:
        """Take the largest power that the table needs."""
        powers = f": powers up to {largest}" if largest > 1 else ""
        super().__init__(f"the probabilities have too many digits{powers}")
        self.advice = advice


def closed_forms(
    tick: Callable[[], None],
) -> Mapping[tuple[str, PolicyKind | None], Callable[..., Weights]]:
    """Return the closed form of each built-in distribution under each policy it takes.

    A form takes the checked arguments in the order of the row's parameters (a set as the codes of
    its elements, a probability or a ratio as numerator and denominator, a half-integer as its
    double), then the bounds of the policy. `tick` may stop long work.
    """
    return {
        ("bernoulli", None): bernoulli,
        ("uniform", None): uniform,
        ("binomial", None): partial(binomial, tick),
        ("geometric", "clamped"): geometric_clamped,
        ("geometric", "conditioned"): geometric_conditioned,
        ("geometric", "folded"): partial(folded, _windings),
        ("geometric", "wrapped"): partial(wrapped, _windings),
        ("geometric_positive", "clamped"): positive_clamped,
        ("geometric_positive", "conditioned"): positive_conditioned,
        ("geometric_positive", "folded"): partial(folded, _positive_windings, 0),
        ("geometric_positive", "wrapped"): partial(wrapped, _positive_windings, 0),
        ("gaussian", "conditioned"): gaussian_conditioned,
    }


def check_digits(n_entries: int, largest: int, *parts: Whole) -> None:
    """Raise `TooManyDigits` for tables of powers of the parts, up to `largest`, no memory holds."""
    if not fits_in_memory(n_entries, largest, *parts):
        raise TooManyDigits(largest)


def fits_in_memory(n_entries: int, largest: int, *parts: Whole) -> bool:
    """Return whether so many powers of the parts, up to `largest`, may be kept."""
    return n_entries * largest * _bits_of(*parts) <= MAX_TABLE_BITS


def _bits_of(*parts: Whole) -> int:
    return max(p.bit_length() if isinstance(p, int) else 64 for p in parts)


def too_many_digits(low: int, high: int, *parts: Whole) -> tuple[str, str]:
    """Return the limit that noise with centers from low to high is beyond, and what fits.

    parts: numerators and denominators of its ratios.

    >>> too_many_digits(0, 2, 1, 2)[1]
    'a policy with room around the centers, `clamped -99..101`'
    """
    limit = f"their probabilities have more than {MAX_TABLE_BITS:,} bits"
    clamped = f"`clamped {low - _ROOM}..{high + _ROOM}`"
    n_values = high - low + 2 * _ROOM + 1
    is_near = max(abs(low), abs(high)) + _ROOM < FARTHEST_BOUND
    if is_near and fits_in_memory(n_values, n_values, *parts):
        return limit, f"a policy with room around the centers, {clamped}"
    most = isqrt(MAX_TABLE_BITS // _bits_of(*parts))
    advice = f"numbers less than {max(1, most - _BESIDE):,} apart"
    if is_near and fits_in_memory(n_values, n_values, 1, 2):
        advice += f", or the ratio `1/2` with room around the centers, {clamped}"
    return limit, advice


def positive(codes: Sequence[int], weights: Sequence[Whole], denominator: Whole) -> Weights:
    """Return a distribution without its zeros."""
    kept = [i for i, weight in enumerate(weights) if weight != 0]
    numerators = weight_array([*(weights[i] for i in kept), denominator])[:-1]
    return Weights(np.array([codes[i] for i in kept], np.int64), numerators, denominator)


def bernoulli(a: Whole, b: Whole) -> Weights:
    """Return `true` with probability a/b."""
    return positive([TRUE, FALSE], [a, b - a], b)


def uniform(elements: IntArray) -> Weights:
    """Return every element of a set alike, given by their codes [n_elements]."""
    return Weights(elements, np.ones(len(elements), np.int64), len(elements))


@lru_cache(maxsize=256)
def _powers(a: Whole, b: Whole, n: int) -> WeightArray:
    """Return a^k·b^(n-k) for k = 0..n."""
    up: list[Whole] = [1]
    down: list[Whole] = [1]
    for _ in range(n):
        up.append(up[-1] * a)
        down.append(down[-1] * b)
    return weight_array([up[k] * down[n - k] for k in range(n + 1)])


@lru_cache(maxsize=256)
def _tables(a: Whole, b: Whole, n: int) -> tuple[WeightArray, WeightArray, Whole]:
    """Return inner probabilities [n], tails [n+1] and their denominator (a+b)·b^(n-1), n >= 1."""
    inner = weight_array([(b - a) * w for w in _powers(a, b, n - 1).tolist()])
    return inner, _powers(a, b, n), (a + b) * _power(b, n - 1)


def _power(base: Whole, exponent: int) -> Whole:
    """Return a power, of integers by fast multiplication; the caller has looked at its size."""
    if not isinstance(base, int):
        return base**exponent
    found = power(base, exponent, limit_bits=2 * exponent * base.bit_length())
    assert isinstance(found, int), "integers have integer powers"
    return found


def geometric_clamped(center: int, a: Whole, b: Whole, lo: int, hi: int) -> Weights:
    """Return the two-sided geometric distribution with its tails on the bounds.

    >>> geometric_clamped(0, 1, 2, 0, 5).numerators.tolist()
    [32, 8, 4, 2, 1, 1]
    """
    check_digits(hi - lo + 1, max(hi - lo, hi - center, center - lo), a, b)
    values = np.arange(lo, hi + 1)
    if lo == hi:
        return Weights(values, np.ones(1, np.int64), 1)
    n = hi - lo
    if not lo <= center <= hi:
        d = max(lo - center, center - hi)
        denominator = (a + b) * _power(b, n + d - 1)
        return _clamped_from_outside(values, _power(a, d + 1), a, b, denominator, center < lo)
    inner, tails, denominator = _tables(a, b, n)
    ends = weight_array([*tails[[center - lo, hi - center]].tolist(), denominator])
    between = inner[np.abs(values[1:-1] - center)]
    return Weights(values, concatenated([ends[:1], between, ends[1:2]]), denominator)


def positive_clamped(a: Whole, b: Whole, lo: int, hi: int) -> Weights:
    """Return the one-sided geometric distribution with its tail on the bounds."""
    check_digits(hi - lo + 1, max(hi, 1), a, b)
    first = max(lo, 0)
    if hi <= first:
        return Weights(np.array([hi]), np.ones(1, np.int64), 1)
    values = np.arange(first, hi + 1)
    return _clamped_from_outside(values, _power(a, first + 1), a, b, _power(b, hi), True)


def _clamped_from_outside(
    values: IntArray, factor: Whole, a: Whole, b: Whole, denominator: Whole, is_below: bool
) -> Weights:
    """Return clamped noise that falls by α from the nearer bound on, the first if it `is_below`.

    Every probability but the nearer bound's has a factor, a power of α, so only as many powers are
    made as the window has values; the nearer bound gets the rest.
    """
    n = len(values) - 1
    between = _powers(a, b, n - 2).tolist() if n > 1 else []
    away = [(b - a) * factor * w for w in between] + [factor * _power(a, n - 1)]
    nearest = denominator
    for weight in away:
        nearest = nearest - weight
    ordered = [nearest, *away] if is_below else [*reversed(away), nearest]
    return Weights(values, weight_array([*ordered, denominator])[:-1], denominator)


def conditioned(exponents: IntArray, values: IntArray, a: Whole, b: Whole) -> Weights:
    """Return weights proportional to (a/b)^exponents, [n_values]."""
    least, most = int(exponents.min()), int(exponents.max())
    numerators = _powers(a, b, most - least)[exponents - least]
    return _normalized(values, numerators.tolist())


def _normalized(values: IntArray, weights: list[Whole]) -> Weights:
    total: Whole = 0
    for weight in weights:
        total = total + weight
    return Weights(values, weight_array([*weights, total])[:-1], total)


def geometric_conditioned(center: int, a: Whole, b: Whole, lo: int, hi: int) -> Weights:
    """Return the two-sided geometric distribution restricted to the window.

    Outside of the window its weights fall by α a step, so that a center there is as good as the
    nearer bound.
    """
    check_digits(hi - lo + 1, hi - lo + 1, a, b)
    values = np.arange(lo, hi + 1)
    return conditioned(np.abs(values - min(max(center, lo), hi)), values, a, b)


def positive_conditioned(a: Whole, b: Whole, lo: int, hi: int) -> Weights:
    """Return the one-sided geometric distribution restricted to a window with hi >= 0."""
    if hi < 0:
        raise NoValueLeft(f"`conditioned {lo}..{hi}` leaves no value >= 0")
    check_digits(hi - lo + 1, hi - lo + 1, a, b)
    values = np.arange(max(lo, 0), hi + 1)
    return conditioned(values, values, a, b)


Classes = Callable[[Whole, Whole, int], tuple[WeightArray, Whole]]
"""The mass of the class of each residue r < n, [n], and the denominator."""


@lru_cache(maxsize=64)
def _positive_windings(a: Whole, b: Whole, n: int) -> tuple[WeightArray, Whole]:
    """Return the one-sided classes; their sum is (b^n - a^n)/(b - a)."""
    powers = _powers(a, b, n - 1).tolist()
    total: Whole = 0
    for term in powers:
        total = total + term
    return weight_array([*powers, total])[:-1], total


@lru_cache(maxsize=64)
def _windings(a: Whole, b: Whole, n: int) -> tuple[WeightArray, Whole]:
    """Return the two-sided classes."""
    powers = _powers(a, b, n).tolist()
    denominator = (a + b) * _positive_windings(a, b, n)[1]
    classes = weight_array([*(powers[r] + powers[n - r] for r in range(n)), denominator])
    return classes[:-1], denominator


def wrapped(classes_of: Classes, center: int, a: Whole, b: Whole, lo: int, hi: int) -> Weights:
    """Return noise modulo the window's length."""
    n = hi - lo + 1
    check_digits(n, n, a, b)
    values = np.arange(lo, hi + 1)
    classes, denominator = classes_of(a, b, n)
    return Weights(values, classes[(values - center % n) % n], denominator)


def folded(classes_of: Classes, center: int, a: Whole, b: Whole, lo: int, hi: int) -> Weights:
    """Return noise reflected at both ends, lo < hi: the classes of z and of its mirror image."""
    values, n = np.arange(lo, hi + 1), 2 * (hi - lo)
    check_digits(hi - lo + 1, n, a, b)
    classes, denominator = classes_of(a, b, n)
    numerators = classes[(values - center % n) % n].copy()
    inside = values[1:-1]
    numerators[1:-1] += classes[(2 * lo - inside - center % n) % n]
    return Weights(values, numerators, denominator)


def gaussian_conditioned(twice_center: int, a: Whole, b: Whole, lo: int, hi: int) -> Weights:
    """Return weights proportional to (a/b)^((z-c)²) on the window, where 2c is an integer.

    (z-c)² - (y-c)² = z² - y² - 2c(z - y) is an integer then, and the common part cancels.
    """
    reach = _gaussian_reach(twice_center, lo, hi)
    if not fits_in_memory(hi - lo + 1, reach + 1, a, b):
        middle = max(lo, min(hi, twice_center // 2))
        raise TooManyDigits(reach + 1, _narrower(twice_center, middle, a, b))
    values = np.arange(lo, hi + 1)
    if lo == hi:
        return Weights(values, np.ones(1, np.int64), 1)  # wherever the center is
    exponents = values * values - twice_center * values
    exponents -= exponents.min()
    most = int(exponents.max())
    powers = [_power(a, k) * _power(b, most - k) for k in exponents.tolist()]
    return _normalized(values, powers)


def _gaussian_reach(twice_center: int, lo: int, hi: int) -> int:
    """Return a bound of how far the exponents of a window lie apart."""
    return (hi - lo) * max(abs(2 * hi - twice_center), abs(2 * lo - twice_center))


def _narrower(twice_center: int, middle: int, a: Whole, b: Whole) -> str | None:
    """Return which window fits, with this base and, if it is not rational, with one near it."""
    window = _widest_window(twice_center, middle, a, b)
    if window is None:
        return None
    advice = f"the widest that fits is `conditioned {window}`"
    if not isinstance(a, int) or not isinstance(b, int):
        n = max(2, floor(number(b, b - a)))
        wider = _widest_window(twice_center, middle, n - 1, n)
        advice += f", or `conditioned {wider}` with the rational base {n - 1}/{n}"
    return advice


def _widest_window(twice_center: int, middle: int, a: Whole, b: Whole) -> str | None:
    """Return the widest window around a middle that fits, whatever center it has in the window."""

    def fits(half: int) -> bool:
        lo, hi = middle - half, middle + half
        reach = max(_gaussian_reach(twice, lo, hi) for twice in (2 * lo, twice_center))
        return fits_in_memory(2 * half + 1, reach + 1, a, b)

    half = bisect_left(range(1, MAX_SUPPORT), True, key=lambda half: not fits(half))
    return f"{middle - half}..{middle + half}" if half else None


def binomial(tick: Callable[[], None], n: int, a: Whole, b: Whole) -> Weights:
    """Return the number of successes in n trials of probability a/b; `tick` may stop the work."""
    check_digits(n + 1, n + 1, a, b)
    hits = _powers(a, b - a, n).tolist()
    denominator = _power(b, n)
    weights: list[Whole] = []
    ways = 1
    for k in range(n + 1):
        tick()
        weights.append(ways * hits[k])
        ways = ways * (n - k) // (k + 1)  # C(n, k + 1), an integer: C(n, k) (n - k) / (k + 1)
    return positive(range(n + 1), weights, denominator)
