"""Parameters: numbers that nobody has chosen, and what depends on them.

e is transcendental (Hermite), so ℚ(e) and the rational functions ℚ(t) are one field, and a number
that depends on a parameter is known by its value where the parameter is a number like 1/e: all
arithmetic, and every row of a chain, is an identity for all values at once. What that value does
not tell is how the number compares with others. So a parameter is no number of the language: it
wears a type of its own, and only `exact.roots` says where a difference is positive.

Where a sign or a comparison of weights is taken, a parameter is kept out or proved first:

- an expression of the program: no operator but those of `model.evaluation.OF_PARAMS` takes one, and
  `resolve.expressions.params` refuses it outside of weights before any run;
- a probability, ratio or weight is proved one on the whole interval (`explore.values.weights`),
  a sum of weights is 1 as a function, and values at which a weight is 0 are asked by themselves:
  irrational ones by a chain of their own, which has no weight that is 0 there, and the others of a
  row over their sum, so that it is one of numbers beside that value, and what is asked at it;
- budgets, bounds, parts and intervals of claims: `resolve.claims.all_values`, on all that is asked;
- graphs, supports and merged states see which weights are 0, as functions: all others are positive;
- floats decide nothing: for all values, claims are decided by `check.all_values` alone, which asks
  for exact rows and probabilities; denominators, positive at the stand-in, are 0 nowhere there;
- kinds of shown numbers (`explore.tails`) are ordered at the stand-in, and proved for all values
  (`explore.sampling.reveal`), on parts where ratios have one order (`check.all_values.parts`),
  one ratio standing for those equal at the single value asked, else nothing is decided by them;
  what is beyond the window is bounded there (`explore.runs.lumped`) for formulas inside of a
  path, which are refused;
- no pairs of many inputs are left out (`pipeline.claims.sieve`), no analyst's strategy is chosen;
- for all integers, rates are multiples of one that is positive (`align.prices`), whose order is
  theirs everywhere, and what windows lose there guides the search, and is told of that value;
- tables, drawings and baselines show functions of the parameter, or want a value to be chosen.

A parameter from an interval is a rational function of one t > 1, for which e stands: a + (b - a)/t
on (a, b), a - 1 + t on (a, inf); without ends it is any t. One of which only exp(q eps) is used
stands for a rational number, 1 on (0, inf), and t = e^(q eps) lies between e^(q a) and e^(q b), q
being negative where no value of it is positive. Where values end at an irrational one, a and b are
rational ones close beside it, so that what stands for the parameter is still one of its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import fmpq

from dpcheck.exact.number import ExpNumber, Number, add, divide, exponential, subtract
from dpcheck.records import dataclass, replace

if TYPE_CHECKING:
    from dpcheck.exact.roots import Root


@dataclass(frozen=True, eq=False)
class Cut:
    """An irrational value at which the values of a parameter end: a root, the value itself.

    With a unit, exp(unit·value) is the root.
    """

    root: Root
    unit: fmpq | None


@dataclass(frozen=True)
class Param:
    """A parameter and the interval of its values; None is an end without bound.

    With `is_single` one value in it is asked, irrational: the only one at which a weight is 0 or 1,
    or two ratios of shown numbers are equal. All values are `above` one inside of the interval, or
    `below` one, where these are given; so is what stands for the parameter.
    """

    name: str
    low: int | fmpq | None
    high: int | fmpq | None
    has_low: bool = False
    has_high: bool = False
    is_single: bool = False
    above: Cut | None = None
    below: Cut | None = None

    @property
    def simplest(self) -> fmpq:
        """The simplest rational strictly between the ends.

        >>> Param("alpha", 0, fmpq(1, 2)).simplest
        1/3
        """
        from dpcheck.exact.roots import rational_between

        low, high = (None if end is None else fmpq(end) for end in self.ends)
        return rational_between(low, high)

    @property
    def exponent(self) -> fmpq:
        """The x at which e^(q x) stands for exp(q·eps): the simplest value, positive if one is."""
        low, high = self.ends
        if (low is None or low < 0) and (high is None or high > 0):
            return replace(self, low=0).simplest
        return self.simplest

    @property
    def text(self) -> str:
        """The interval as the language writes it.

        >>> Param("alpha", 0, fmpq(1, 2), has_high=True).text
        '(0, 1/2]'
        """
        low = "-inf" if self.low is None else fmpq(self.low).str()
        high = "inf" if self.high is None else fmpq(self.high).str()
        return f"{'[' if self.has_low else '('}{low}, {high}{']' if self.has_high else ')'}"

    @property
    def stand_in(self) -> ExpNumber:
        """The number that stands for the parameter."""
        value = self.value_at(exponential(1))
        assert isinstance(value, ExpNumber), "e is irrational"
        return value

    def value_at(self, t: Number) -> Number:
        """Return the value for one t."""
        if self.low is None:
            return t if self.high is None else subtract(add(self.high, 1), t)
        if self.high is None:
            return add(subtract(self.low, 1), t)
        return add(self.low, divide(subtract(self.high, self.low), t))

    @property
    def ends(self) -> tuple[int | fmpq | None, int | fmpq | None]:
        """Both ends."""
        return self.low, self.high
