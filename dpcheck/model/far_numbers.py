"""Integers beyond a window's end, all at once: polynomials in how many steps farther each is.

With s_i = 0, 1, 2, ... steps an expression has one polynomial p(s) as its value as long as all it
compares has one sign for all steps. That is sure where all coefficients have one sign and the one
without steps is not 0. In a window that is wider by m it is p(m + s), and there the sign of each
coefficient is, for large m, that of the terms that divide no other term. So where these have one
sign some window is wide enough, `x^2 - 9 x`; else no window is sure to be: `x - y`.

There may be a most of steps, too, where the integers are those of a cell (`explore.tails.tails`).
Then p(s) has one sign also where terms of the other one are too small to change it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial, reduce
from math import prod
from typing import Final, Literal

from dpcheck.exact import Number, add, ceil, divide, floor, multiply, negate, sign, sum_of
from dpcheck.exact.exponentials import differences
from dpcheck.records import dataclass, field

MAX_POWER: Final = 64
"""Moments of powers up to this one take less than a second."""

Steps = tuple[int, ...]
"""The numbers of the steps that are multiplied with each other, sorted: (0, 0, 1) is s_0^2 s_1."""


class NotForAll(Exception):
    """An operation has no result, or not one polynomial as its result, for all steps."""


class NotFarEnough(Exception):
    """A comparison has not one result from this end on: a wider window is needed, or cells."""

    def __init__(self, steps: int | None, step: int = 0, breaks: Iterable[int] = ()) -> None:
        """Keep by how much, where it is known, and at which steps of a number results change."""
        super().__init__("a wider window is needed")
        self.steps = steps
        self.step = step
        self.breaks = tuple(breaks)


@dataclass(frozen=True, eq=False)
class FarNumber:
    """A polynomial in steps that is no constant: its coefficients, none of which is 0.

    most: how many steps there are at most, of those that have no infinite number.
    """

    terms: Mapping[Steps, Number]
    most: Mapping[int, int] = field(default_factory=dict)


def far_integer(step: int, first: int, way: int, most: int | None = None) -> FarNumber:
    """Return the integers first, first + way, ..., by a number of steps of their own."""
    terms: Mapping[Steps, Number] = {(): first, (step,): way} if first else {(step,): way}
    return FarNumber(terms, {} if most is None else {step: most})


def combined(symbol: Literal["+", "-", "*"], a: object, b: object) -> FarNumber | Number:
    """Return a sum, difference or product; raises `NotForAll` where one of both is no number."""
    left, right = _terms(a), _terms(b)
    most = {**getattr(a, "most", {}), **getattr(b, "most", {})}
    if symbol == "*":
        products = (
            (tuple(sorted((*s, *t))), multiply(c, d))
            for s, c in left.items()
            for t, d in right.items()
        )
        return _made(products, most)
    if symbol == "-":
        right = {steps: negate(c) for steps, c in right.items()}
    return _made([*left.items(), *right.items()], most)


def raised(base: FarNumber, exponent: int) -> FarNumber | Number:
    """Return a power; raises `NotForAll` where it is no polynomial, or a very long one."""
    if not 0 <= exponent <= MAX_POWER:
        raise NotForAll
    one: FarNumber | Number = 1
    return reduce(partial(combined, "*"), [base] * exponent, one)


def _terms(number: object) -> Mapping[Steps, Number]:
    if isinstance(number, FarNumber):
        return number.terms
    if not isinstance(number, Number):
        raise NotForAll
    return {(): number}


def _made(terms: Iterable[tuple[Steps, Number]], most: Mapping[int, int]) -> FarNumber | Number:
    """Return a sum of terms."""
    result: dict[Steps, Number] = {}
    for steps, c in terms:
        result[steps] = add(result.get(steps, 0), c)
    result = {steps: c for steps, c in result.items() if c != 0}
    return FarNumber(result, most) if any(result) else result.get((), 0)


def sign_of(number: FarNumber) -> int:
    """Return the sign that a number has for all steps.

    Raises `NotFarEnough` where a wider window is needed, `NotForAll` where none is known to do.

    >>> sign_of(combined("-", far_integer(0, 5, 1), 4))
    1
    >>> sign_of(combined("-", far_integer(0, 5, 1, most=3), 9))
    -1
    """
    terms = number.terms
    for way in (1, -1):
        least = _least(number, way)
        if least is not None and sign(least) > 0:
            return way
    last = [s for s in terms if not any(s != t and Counter(s) <= Counter(t) for t in terms)]
    if len({sign(terms[s]) for s in last}) > 1:
        raise NotForAll
    if [len(s) for s in terms if s] != [1]:
        raise NotFarEnough(None)
    zero = divide(negate(terms.get((), 0)), terms[last[0]])
    (step,), after = last[0], floor(zero) + 1
    most = number.most.get(step, after)
    raise NotFarEnough(after, step, sorted({n for n in (ceil(zero), after) if 0 < n <= most}))


def _least(number: FarNumber, way: int) -> Number | None:
    """Return a bound that a number, or for -1 its negative, is never below; None if none is known.

    Of a number of steps, not multiplied with others, it is attained.
    """
    least: Number = 0
    for steps, c in number.terms.items():
        part = multiply(way, c)
        if not steps:
            least = add(least, part)
        elif sign(part) < 0:
            if not all(step in number.most for step in steps):
                return None
            least = add(least, multiply(part, prod(number.most[step] for step in steps)))
    return least


def order(a: object, b: object) -> int:
    """Return the sign of a - b for all steps; raises as `sign_of` does."""
    difference = combined("-", a, b)
    return sign_of(difference) if isinstance(difference, FarNumber) else sign(difference)


def is_between(number: FarNumber, low: int, high: int) -> bool:
    """Return whether a number is one of some integers for all steps; raises as `sign_of` does.

    That may be so of a cell with an end, and where coefficients are no integers it is not looked at
    whether only numbers between these are there: then all are told one by one.
    """
    if not order(number, low) >= 0 >= order(number, high):
        return False
    if not all(isinstance(c, int) for c in number.terms.values()):
        raise NotFarEnough(None)
    return True


def mean(number: FarNumber, moment: Callable[[int, int], Number]) -> Number:
    """Return the mean over independent numbers of steps s_i with E[C(s_i, k)] = moment(i, k)."""
    total: Number = 0
    for steps, c in number.terms.items():
        part = c
        for step, power in Counter(steps).items():
            part = multiply(part, _power_mean(power, partial(moment, step)))
        total = add(total, part)
    return total


def _power_mean(power: int, moment: Callable[[int], Number]) -> Number:
    """Return E[s^power], where moment(k) is E[C(s, k)]: by Newton, from differences of s^power."""
    values = [n**power for n in range(power + 1)]
    coefficients = reversed(differences(values, [1] * len(values)))
    return sum_of(multiply(c, moment(k)) for k, c in enumerate(coefficients))
