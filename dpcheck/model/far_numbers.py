"""Integers beyond a window's end, all at once: polynomials in how many steps farther each is.

With s_i = 0, 1, 2, ... steps an expression has one polynomial p(s) as its value as long as all it
compares has one sign for all steps. That is sure where all coefficients have one sign and the one
without steps is not 0. In a window that is wider by m it is p(m + s), and there the sign of each
coefficient is, for large m, that of the terms that divide no other term. So where these have one
sign some window is wide enough, `x^2 - 9 x`; else no window is sure to be: `x - y`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial, reduce
from typing import Final, Literal

from dpcheck.exact import Number, add, divide, floor, multiply, negate, sign
from dpcheck.exact.exponentials import differences
from dpcheck.records import dataclass

MAX_POWER: Final = 64
"""Moments of powers up to this one take less than a second."""

Steps = tuple[int, ...]
"""The numbers of the steps that are multiplied with each other, sorted: (0, 0, 1) is s_0^2 s_1."""


class NotForAll(Exception):
    """An operation has no result, or not one polynomial as its result, for all steps."""


class NotFarEnough(Exception):
    """A comparison has not one result from this end on: a wider window is needed."""

    def __init__(self, steps: int | None) -> None:
        """Keep by how much, where it is known."""
        super().__init__("a wider window is needed")
        self.steps = steps


@dataclass(frozen=True, eq=False)
class FarNumber:
    """A polynomial in steps that is no constant: its coefficients, none of which is 0."""

    terms: Mapping[Steps, Number]


def far_integer(step: int, first: int, way: int) -> FarNumber:
    """Return the integers first, first + way, ..., by a number of steps of their own."""
    return FarNumber({(): first, (step,): way} if first else {(step,): way})


def combined(symbol: Literal["+", "-", "*"], a: object, b: object) -> FarNumber | Number:
    """Return a sum, difference or product; raises `NotForAll` where one of both is no number."""
    left, right = _terms(a), _terms(b)
    if symbol == "*":
        return _made(
            (tuple(sorted((*s, *t))), multiply(c, d))
            for s, c in left.items()
            for t, d in right.items()
        )
    if symbol == "-":
        right = {steps: negate(c) for steps, c in right.items()}
    return _made([*left.items(), *right.items()])


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


def _made(terms: Iterable[tuple[Steps, Number]]) -> FarNumber | Number:
    """Return a sum of terms."""
    result: dict[Steps, Number] = {}
    for steps, c in terms:
        result[steps] = add(result.get(steps, 0), c)
    result = {steps: c for steps, c in result.items() if c != 0}
    return FarNumber(result) if any(result) else result.get((), 0)


def sign_of(number: FarNumber) -> int:
    """Return the sign that a number has for all steps.

    Raises `NotFarEnough` where a wider window is needed, `NotForAll` where none is known to do.

    >>> sign_of(combined("-", far_integer(0, 5, 1), 4))
    1
    """
    terms = number.terms
    signs = {sign(c) for c in terms.values()}
    if len(signs) == 1 and () in terms:
        return signs.pop()
    last = [s for s in terms if not any(s != t and Counter(s) <= Counter(t) for t in terms)]
    if len({sign(terms[s]) for s in last}) > 1:
        raise NotForAll
    if [len(s) for s in terms if s] != [1]:
        raise NotFarEnough(None)
    zero = divide(negate(terms.get((), 0)), terms[last[0]])
    raise NotFarEnough(floor(zero) + 1)


def order(a: object, b: object) -> int:
    """Return the sign of a - b for all steps; raises as `sign_of` does."""
    difference = combined("-", a, b)
    return sign_of(difference) if isinstance(difference, FarNumber) else sign(difference)


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
    total: Number = 0
    for k, c in enumerate(reversed(differences(values, [1] * len(values)))):
        total = add(total, multiply(c, moment(k)))
    return total
