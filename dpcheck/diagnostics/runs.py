"""Mistakes that show only when a mechanism runs or a chain is laid out (DP2xx and DP5xx).

Codes DP2xx are about probabilities and numbers, DP5xx about mechanisms and chains. A mistake found
on a run carries `run`, the inputs and the results that lead there. Values are carried as the
language writes them.
"""

from __future__ import annotations

import re
from typing import Self

from dpcheck.diagnostics.mistakes import MAX_TEXT, Label, Mistake, shortened
from dpcheck.exact import Number, add, compare, exact_text, subtract
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.surface_text import one_line
from dpcheck.records import replace
from dpcheck.source import Span

_DOMAINS = "\n".join(
    f"  `{row.signature}` {row.domain}" for row in DISTRIBUTIONS.values() if row.domain
)


class RunMistake(Mistake):
    """A mistake some run meets."""

    run: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"on the run: {'; then '.join(self.run)}",) if self.run else ()

    def on_run(self, run: tuple[str, ...]) -> Self:
        """Return the mistake with the run that meets it."""
        return replace(self, run=run)


class WhatFails(RunMistake):
    """A mistake that is told by whoever saw it: `what` is wrong, with the values."""

    what: str

    title_text = "{self.what}"


# --- probabilities and numbers -------------------------------------------------------------


class ProbabilityOutsideUnit(RunMistake, code="DP201"):
    """A probability is negative or above 1."""

    probability: str

    title_text = "{short.probability} is not a probability (from 0 to 1)"
    explanation = """\
A probability lies between 0 and 1.

Wrong:  x ~ bernoulli(3/2)
Right:  x ~ bernoulli(1/2)"""


class _WrongSum(RunMistake):
    """Probabilities that sum to something else than 1."""

    total: Number
    branches: tuple[tuple[Span, Number], ...]

    @property
    def labels(self) -> tuple[Label, ...]:
        if not self.branches:
            return super().labels
        return tuple(Label(place, shortened(exact_text(w))) for place, w in self.branches)

    @property
    def help(self) -> str | None:
        """The last weight that can absorb the difference alone, if one can.

        What is right on one run need not be on another, so there it is 1 minus the other weights.
        """
        for i, (place, weight) in reversed([*enumerate(self.branches)]):
            needed = add(weight, subtract(1, self.total))
            if compare(needed, 0) >= 0 and compare(needed, 1) <= 0:
                others = [other for other, _ in (*self.branches[:i], *self.branches[i + 1 :])]
                text = _one_minus(others) if self.run else exact_text(needed)
                shown = f"`{text}` in place of `{one_line(place.text)}` makes the sum 1"
                return shown if len(text) <= MAX_TEXT else super().help
        return super().help


def _one_minus(places: list[Span]) -> str:
    """Return 1 minus the expressions that stand at these places."""
    terms = ["1"]
    for place in places:
        text = one_line(place.text)
        outside = re.sub(r"\([^()]*\)", "", text)
        terms.append(f"({text})" if re.search(r"[-+]|\bif\b", outside) else text)
    return " - ".join(terms)


class WeightsDoNotSumToOne(_WrongSum, code="DP202"):
    """The weights of a distribution literal sum to something else."""

    title_text = "the weights of this distribution sum to {short.total}, not 1"
    help_text = "`normalized` after `}}` divides by the sum"
    explanation = """\
The probabilities of a distribution `{value: weight, ...}` sum to exactly 1. Where they are only
proportional to the probabilities, write `normalized` after the braces.

Wrong:  x ~ {true: 3/4, false: 3/8}
Right:  x ~ {true: 3/4, false: 1/4}
Right:  x ~ {true: 2, false: 1} normalized"""


class RowDoesNotSumToOne(_WrongSum, code="DP203"):
    """The probabilities of a chain's row sum to something else."""

    title_text = "the probabilities of this row sum to {short.total}, not 1"
    explanation = """\
The probabilities of a row sum to exactly 1. A state without any row ends the run; a state with a
row says where all of its probability goes.

Wrong:  pos -> 3/4: s + 3/8: t
Right:  pos -> 3/4: s + 1/4: t"""


class NoPositiveWeight(RunMistake, code="DP204"):
    """A normalized distribution has no positive weight."""

    title_text = "no weight of this distribution is positive, so it cannot be normalized"
    explanation = """\
`normalized` divides the weights by their sum, so at least one weight must be positive.

Wrong:  x ~ {true: 0, false: 0} normalized
Right:  x ~ {true: 1, false: 3} normalized"""


class NegativeWeight(RunMistake, code="DP205"):
    """A weight is negative."""

    weight: str

    title_text = "the weight {short.weight} is negative"
    explanation = """\
Weights are at least 0.

Wrong:  x ~ {true: 2, false: -1} normalized
Right:  x ~ {true: 2, false: 1} normalized"""


class EmptyUniform(RunMistake, code="DP206"):
    """A uniform distribution over nothing, or a query that offers nothing."""

    title_text = "there is nothing to choose from: this set is empty"
    explanation = """\
A uniform distribution, or a `query`, needs a set with at least one element.

Wrong:  x ~ uniform(3..1)
Right:  x ~ uniform(1..3)"""


class DivisionByZero(WhatFails, code="DP207"):
    """A division by zero."""

    explanation = """\
Some run divides by zero. `&`, `|`, `=>` and `if` evaluate only what they need, so a test in front
of the division guards it.

Wrong:  y := 1 / x
Right:  y := if x != 0 then 1 / x else 0"""


class NumberTooLarge(WhatFails, code="DP208"):
    """A number (or set) that cannot be written down.

    `advice` says what can.
    """

    advice: str | None = None

    help_text = "{self.advice}"
    explanation = """\
Numbers are exact, so every digit is kept; this one has millions.

Wrong:  x := 2 ^ (10 ^ 10)"""


class NoExactValue(WhatFails, code="DP209"):
    """An operation without an exact value.

    `instead` is what would have one.
    """

    instead: str | None = None

    help_text = "{self.instead}"
    help_otherwise = (
        "exact are rational numbers, such as `7/10`, `exp` of them, such as `exp(-1/3)`, and"
        " budgets from `ln` of positive ones"
    )
    explanation = """\
The operation has no exact value in the rational numbers, in ℚ(e^r), or among the budgets.

Wrong:  p := 2 ^ (1/2)         p := exp(-ln(2)/2)
Right:  p := 2 ^ 3             p := exp(-1/3)          p := exp(-ln(4)/2)"""

    @property
    def title(self) -> str:
        assert self.span is not None, "operations have places"
        return f"`{shortened(' '.join(self.span.text.split()))}` has no exact value: {self.what}"


class BadParameter(WhatFails, code="DP210"):
    """A distribution's parameter is outside what it can take."""

    edit: str | None = None

    help_text = "{self.edit}"
    explanation = f"""\
The distributions take:
{_DOMAINS}
A policy `lo..hi` takes integers with lo <= hi, `folded` with lo < hi.

Wrong:  x ~ geometric(c, 2) clamped 0..5
Right:  x ~ geometric(c, 1/2) clamped 0..5"""


# --- mechanisms ----------------------------------------------------------------------------


class IndexOutOfRange(WhatFails, code="DP501"):
    """An array index outside the declared range."""

    explanation = """\
An array declared as `a[1..k]` has the indices 1 to k.

Wrong:  var a[1..3] := 0    a[4] := 1
Right:  var a[1..4] := 0    a[4] := 1"""


class OutsideDeclaredSet(RunMistake, code="DP502"):
    """A value outside the declared range of a variable or an argument."""

    target: str
    value: str
    domain: str

    title_text = "`{self.target}` becomes {short.value}, outside {short.domain}"
    explanation = """\
A variable declared with `var c in 0..9`, or an argument of a mechanism declared with
`input x in 0..9`, takes no other value.

Wrong:  var c in 0..9 := 0    c := 10
Right:  var c in 0..10 := 0   c := 10"""


class ReadBeforeAssignment(WhatFails, code="DP503"):
    """A variable is read before it has a value."""

    explanation = """\
A local variable has no value before its first assignment.

Wrong:  if c { x := 1 }    output x
Right:  x := 0    if c { x := 1 }    output x"""


class WrongKindOnRun(WhatFails, code="DP504"):
    """An operation meets a value of the wrong kind."""

    explanation = """\
Arithmetic needs numbers, a condition needs true or false, `in` needs a set on its right.

Wrong:  input x in {pos, neg}    y := x + 1
Right:  input x in {pos, neg}    y := if x = pos then 1 else 0"""


class NothingToTake(WhatFails, code="DP505"):
    """`max` of nothing and its like."""

    explanation = """\
`max`, `min`, `argmax` and `argmin` need at least one value; `clamp(x, lo, hi)` needs lo <= hi.

Wrong:  y := max(i in 3..1 : a[i])
Right:  y := max(i in 1..3 : a[i])"""


class LengthsDiffer(WhatFails, code="DP506"):
    """Two arrays or tuples of different lengths, or an unpacking that does not fit."""

    explanation = """\
`hamming`, `l1` and `linf` compare arrays of one length; `(a, b) := t` needs a pair.

Wrong:  (a, b) := (1, 2, 3)
Right:  (a, b, c) := (1, 2, 3)"""


class RunFails(WhatFails, code="DP507"):
    """A run reaches a place that no run may reach."""

    explanation = """\
A mechanism that is sampled, as in `y ~ survey(x = b)`, must output exactly once on every run.

Wrong:  mechanism m { ... if c { output 1 } }      y ~ m()
Right:  mechanism m { ... if c { output 1 } else { output 0 } }      y ~ m()"""


class EmptyUniverse(Mistake, code="DP508"):
    """No input value satisfies the declarations."""

    name: str

    title_text = "no value of `{self.name}` satisfies its declaration: the universe is empty"
    explanation = """\
A mechanism needs at least one database: the product of its inputs' sets, restricted by `where`.

Wrong:  input h[1..3] in 0..1 where sum(h) = 9
Right:  input h[1..3] in 0..3 where sum(h) = 9"""


class PairOutsideInput(Mistake, code="DP509"):
    """A pair of `adjacent` names a value the input cannot have."""

    name: str
    value: str

    title_text = "{short.value} is not a value of the input `{self.name}`"
    explanation = """\
`adjacent (v, w)` lists pairs of values of the input.

Wrong:  input x in {pos, neg}    adjacent (pos, zero)
Right:  input x in {pos, neg}    adjacent (pos, neg)"""


# --- chains --------------------------------------------------------------------------------


class OutsideFamily(RunMistake, code="DP510"):
    """A reference to a state that its family does not have."""

    reference: str

    title_text = "there is no state `{self.reference}`"
    explanation = """\
A family `state t[l in 0..n]` has a member for each element of its set and no other.

Wrong:  state t[l in 0..3]    s -> 1: t[4]
Right:  state t[l in 0..4]    s -> 1: t[4]"""


class TwoRowsForOneState(RunMistake, code="DP511"):
    """A state has two rows."""

    state: str
    other: Span

    title_text = "the state `{self.state}` has two rows"
    explanation = """\
A state has at most one row; all its branches stand in it.

Wrong:  pos -> 1: s    pos -> 1: t
Right:  pos -> 1/2: s + 1/2: t"""

    @property
    def labels(self) -> tuple[Label, ...]:
        assert self.span is not None, "rows have places"
        if self.span == self.other:
            return (Label(self.span, "this row is made twice"),)
        return (Label(self.span, "the second row"), Label(self.other, "the first row"))


class NowhereToStart(Mistake, code="DP512"):
    """A chain with neither initial states nor neighbors."""

    name: str

    title_text = "the chain `{self.name}` has neither `init` nor neighbors: no run can start"
    explanation = """\
The initial states of a chain are those `init` names, or else every state that has a neighbor.

Right:  init start
Right:  adjacent pos ~ neg"""
