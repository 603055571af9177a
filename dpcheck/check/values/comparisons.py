"""Comparisons as claims write them: their words, their bounds, and what they say of a sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import Any

from dpcheck import exact
from dpcheck.check.values.amounts import growth_amount, number_amount
from dpcheck.check.values.verdicts import Comparison, Phrase, Sides
from dpcheck.privacy.enclosed import Enclosed, Measure, compare_measures

SIGNS: dict[Comparison, tuple[int, ...]] = {
    ">=": (0, 1), ">": (1,), "<=": (0, -1), "<": (-1,), "=": (0,), "!=": (-1, 1),
}  # fmt: skip
"""The signs of a difference of which a comparison with 0 is true."""


def holds(comparison: Comparison, sign: int) -> bool:
    """Return whether a comparison is true of a value that compares with its bound as -1, 0 or 1.

    >>> holds("<=", 0), holds("!=", -1), holds(">", 0)
    (True, True, False)
    """
    return sign in SIGNS[comparison]


def truth_between(comparison: Comparison, low: int, high: int) -> bool | None:
    """Return whether all numbers between two compare so with a bound, or none does; else None.

    The ends compare with the bound as `low` and `high`.

    >>> truth_between("<=", -1, 0), truth_between("=", -1, 1), truth_between(">", -1, 0)
    (True, None, False)
    """
    truths = {holds(comparison, sign) for sign in range(low, high + 1)}
    return truths.pop() if len(truths) == 1 else None


def as_number(bound: exact.Budget | exact.Extended) -> exact.Number:
    """Return the bound of a δ or a probability, which is a number."""
    number = bound.as_number() if isinstance(bound, exact.Budget) else bound
    assert not isinstance(number, exact.MinusInfinity | None), "no δ or probability is infinite"
    return number


def as_budget(bound: exact.Budget | exact.Extended) -> exact.Budget:
    """Return the bound of an ε, which is a budget unless it is infinite."""
    if isinstance(bound, exact.Budget):
        return bound
    assert not isinstance(bound, exact.MinusInfinity | None), "an infinite bound is no budget"
    assert not isinstance(bound, exact.ExpNumber), "an ε is compared with a budget"
    return exact.Budget.of(bound)


def order(left: exact.Extended | exact.Epsilon, right: exact.Extended | exact.Epsilon) -> int:
    """Return -1, 0 or 1 as left is less than, equal to or greater than right; None is infinite."""
    found = compare_measures(left, right)
    assert found is not None, "numbers are told apart"
    return found


by_size: Callable[[exact.Extended], Any] = cmp_to_key(order)
"""The key by which these are sorted."""


def distance(value: exact.Extended, bound: exact.Number) -> exact.Extended:
    """Return how far a value is from a bound, None for infinitely far.

    >>> from dpcheck.exact import number
    >>> str(distance(2, number(1, 3))), distance(0, 1), distance(None, 1)
    ('5/3', 1, None)
    """
    if isinstance(value, exact.MinusInfinity | None):
        return None
    return exact.subtract(*((value, bound) if exact.compare(value, bound) > 0 else (bound, value)))


def compared(value: Measure, bound: exact.Epsilon | exact.Extended) -> int | None:
    """Return -1, 0 or 1 as a value is less than, equal to or greater than its bound, if decided.

    A bound that is written is no `LogOf`; of what a window shows of ε the value may be one.
    """
    if value is None or bound is None or isinstance(value, Enclosed | exact.MinusInfinity):
        return compare_measures(value, bound)
    if isinstance(bound, exact.LogOf):
        return compare_measures(value, bound)
    is_budget = isinstance(value, exact.Budget | exact.LogOf)
    return compare_measures(value, as_budget(bound) if is_budget else as_number(bound))


def inequality(
    p: exact.Number, q: exact.Number, epsilon: exact.Budget, delta: exact.Number
) -> Phrase:
    """Return p <= e^ε q + δ with the numbers filled in.

    >>> from dpcheck.exact import number
    >>> str(inequality(number(3, 4), number(1, 4), exact.Budget.ln(2), 0))
    '3/4 <= 2 * 1/4'
    """
    plus = () if delta == 0 else (" + ", number_amount(delta))
    times = growth_amount(epsilon)
    return Phrase.of(number_amount(p), " <= ", times, " * ", number_amount(q), *plus)


def inequality_sides(
    p: exact.Number, q: exact.Number, epsilon: exact.Budget, delta: exact.Number
) -> Sides:
    """Return the values of p and e^ε q + δ."""
    return Sides(
        number_amount(p), "<=", number_amount(exact.excess(delta, exact.subtract(0, q), epsilon))
    )


def least_budget(
    chances: Iterable[tuple[exact.Number, exact.Number]], delta: exact.Number
) -> exact.Epsilon | None:
    """Return the least ε >= 0 with p <= e^ε q + δ for all (p, q); None where there is none."""
    best: exact.Epsilon = exact.Budget.of(0)
    for p, q in chances:
        over = exact.subtract(p, delta)
        if exact.compare(over, 0) <= 0:
            continue
        if q == 0:
            return None
        needed = exact.log(exact.divide(over, q))
        if exact.compare_epsilon(needed, best) > 0:
            best = needed
    return best
