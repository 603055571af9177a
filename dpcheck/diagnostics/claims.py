"""Mistakes in claims and formulas, and in what states they are for (DP6xx)."""

from __future__ import annotations

from dpcheck.diagnostics.mistakes import CODE, Mistake, listed
from dpcheck.logic.quantities import QUANTITIES, words_where
from dpcheck.source import Span

_MAY_BE_INFINITE = [row.word for row in QUANTITIES.values() if row.may_be_infinite]
_LISTED = 8
"""States that a note lists."""


class PathOutsideBrackets(Mistake, code="DP601"):
    """A temporal operator that is not inside the brackets of P or D."""

    operator: str

    title_text = "`{self.operator}` speaks about runs and belongs into the brackets of P or D"
    help_text = "write `P>=1 [ ... ]` or `D{{...}} [ ... ]` around it"
    explanation = """\
`X F G U W R` speak about one run, and a claim is about states, which have many runs: P says how
likely the runs are, D compares them with the neighbor's. The brackets of P or D hold the formula
about runs.

Wrong: check m: F top
Right: check m: P>=1/2 [ F top ]
Right: check m: D{ln 2} [ F top ]
"""


class QuantityInFormula(Mistake, code="DP602"):
    """A quantity inside a formula, or combined with something.

    pairs: the comparisons of a chain of them, two sides each.
    """

    quantity: str
    pairs: tuple[str, ...] = ()

    title_text = "`{self.quantity}` cannot be part of a larger formula"
    explanation = """\
`dp(...)`, `epsilon`, `delta(...)` and `P=? [...]` are about the whole mechanism. One of them alone,
compared with a bound where it is a quantity, is a claim; they are not combined with others.

Wrong: check m: epsilon <= ln 3 & delta(0) <= 1/2
Right: check m: epsilon <= ln 3
       check m: delta(0) <= 1/2
"""

    @property
    def help(self) -> str:
        if self.pairs:
            return f"write a claim for each comparison: {' and '.join(self.pairs)}"
        return "make it a claim of its own; `refute` claims its opposite"


class NothingToCompute(Mistake, code="DP603"):
    """`compute` with something that is no quantity."""

    is_comparison: bool

    title_text = "`compute` needs a quantity, such as epsilon, delta(e) or P=? [ path ]"
    explanation = """\
`compute` reports a quantity: `epsilon`, `epsilon(delta)`, `delta(epsilon)`, `P=? [ path ]`, or one
of those that `dpcheck quantities` lists. What is true or false is a `check` or a `refute`.

Wrong: compute survey: dp(ln 3)
Right: compute survey: epsilon
Right: check survey: dp(ln 3)
"""

    @property
    def help(self) -> str:
        if self.is_comparison:
            return "write `check` or `refute` in place of `compute`, or leave the comparison out"
        return "write a quantity, such as `epsilon`, or `check` or `refute` in place of `compute`"


class QuantityWithoutBound(Mistake, code="DP604"):
    """`check` or `refute` with a bare quantity."""

    quantity: str
    kind: str

    title_text = "`{self.kind}` needs a comparison, and `{self.quantity}` alone is a quantity"
    help_text = "write `{self.quantity} <= ...`, or `compute` in place of `{self.kind}`"
    explanation = """\
A `check` is true or false, and a quantity alone is neither. Compare it with a bound, or `compute`
it.

Wrong: check survey: epsilon
Right: check survey: epsilon = ln 3
Right: compute survey: epsilon
"""


class NotABudget(Mistake, code="DP605"):
    """A budget that is none: negative, or no sum of a rational number and logarithms.

    `exponent` is the ε where e^ε is written.
    """

    value: str
    exponent: str | None = None

    title_text = "{short.value} is not a privacy budget"
    help_text = "a budget is the ε of e^ε: write `{self.exponent}`"
    help_otherwise = "a budget is at least 0, such as `ln 3` or `1/2`"
    explanation = """\
A budget is a number of the form r + m*ln a + ..., with rational r, m and a > 0, and at least 0:
`ln 3`, `1/2`, `2*ln 2 + 1`.

Wrong: dp(-1)        dp(true)
Right: dp(ln 3)
"""


class BoundOutsideUnit(Mistake, code="DP606"):
    """A probability or δ that is not between 0 and 1.

    It bounds `what`; `has_logarithm` if it is a budget that is no number at all. `swapped` is the
    claim with its two numbers the other way round, where these may be an ε and a δ.
    """

    what: str
    value: str
    has_logarithm: bool = False
    swapped: str | None = None

    help_text = "ε stands before δ: if the two were swapped, write `{self.swapped}`"
    explanation = """\
The bound of P and the delta of a privacy claim are probabilities, from 0 to 1, and written without
`ln`. Where there are two numbers, epsilon stands before delta.

Wrong: P>=3/2 [ F top ]      dp(ln 3, 2)         dp(1/100, ln 3)
Right: P>=1/2 [ F top ]      dp(ln 3, 1/100)
"""

    @property
    def title(self) -> str:
        if self.has_logarithm:
            return f"{self.what} is a probability, a number without `ln`, and {self.value} is none"
        return f"{self.what} lies between 0 and 1, and {self.value} does not"


class BadStepBound(Mistake, code="DP607"):
    """A bound of steps that is not 0, 1, 2, ..."""

    value: str

    title_text = "a bound of steps is 0, 1, 2, ..., not {self.value}"
    explanation = """\
`F<=k`, `G<=k` and `U<=k` count steps, so k is 0, 1, 2, ...

Wrong: P>=1/2 [ F<=3/2 top ]
Right: P>=1/2 [ F<=2 top ]
"""


class NothingObserved(Mistake, code="DP608"):
    """A whole-mechanism claim about a chain without `observe`."""

    chain: str
    quantity: str
    declared: Span

    title_text = "`{self.quantity}` needs `observe`, and the chain `{self.chain}` has none"
    help_text = "add `observe` and the labels an adversary sees to the chain"
    label_text = "this claim"
    second_place = "declared", "observes nothing"
    explanation = """\
`dp`, `epsilon` and `delta` are about what an adversary sees of a run. For an explicit chain
`observe` says it: the labels, families or states that are shown when they are entered.

Right: observe Y, N
"""


class TooManyClaims(Mistake, code="DP609"):
    """Loops that make more claims, or a longer formula, than anyone reads."""

    what: str
    count: int
    limit: int

    title_text = "{self.what}: {short.count}, more than {self.limit}"
    explanation = """\
A `for` around claims, or a `forall` in a formula, is written out for every element of its set. This
one is longer than can be meant.
"""


class NothingAsked(Mistake, code="DP614", severity="warning"):
    """A loop around claims that makes none."""

    title_text = "this loop makes no claim"
    explanation = """\
A `for` around claims asks them for every element of its set that satisfies its `where`. Here there
is no such element, or no claim in the loop, so the loop holds whatever it says.

Wrong: for k in 1..5 where k > 5 { check rr(k = k): epsilon = ln 3 }
Right: for k in 1..9 where k > 5 { check rr(k = k): epsilon = ln 3 }
"""


class NotABound(Mistake, code="DP610"):
    """A bound of a quantity that it cannot be compared with."""

    quantity: str
    value: str

    title_text = "`{self.quantity}` cannot be compared with {self.value}"
    explanation = f"""\
{listed(words_where(value="budget"), "and", CODE)} are compared with budgets such as `ln 3`,
all other quantities with numbers, {listed(_MAY_BE_INFINITE, "and", CODE)} also with `inf`.

Wrong: check survey: epsilon = Y
Right: check survey: epsilon = ln 3
"""


class NotAClaim(Mistake, code="DP611"):
    """A claim, or a part of a formula, that is surely neither true nor false."""

    found: str

    title_text = "a formula is true or false, and this is {self.found}"
    explanation = """\
A claim, and every part of a formula, is true or false at a state: a label, an output symbol, a
comparison, or P and D with their brackets.

Wrong: check m: P>=1/2 [ F (output + 1) ]
Right: check m: P>=1/2 [ F output = 1 ]
"""


class EmptyInterval(Mistake, code="DP613"):
    """`P in [a, b]` with a > b."""

    low: str
    high: str

    title_text = "no number lies between {self.low} and {self.high}"
    help_text = "write `{self.high}, {self.low}`"
    explanation = """\
`P in [a, b]` asks for a probability from a to b, both included, so a is at most b.

Wrong: check m: P in [1/2, 1/3] [ F top ]
Right: check m: P in [1/3, 1/2] [ F top ]
"""


class WordTaken(Mistake, code="DP612"):
    """A quantity used with arguments that do not fit."""

    quantity: str
    usage: str
    example: str | None = None

    title_text = "`{self.quantity}` is written {self.usage}"
    help_text = "write `{self.example}`"
    explanation = """\
The whole-mechanism claims and quantities are `dp(e)`, `dp(e, d)`, `epsilon`, `epsilon(d)` and
`delta(e)`.

Wrong: check m: delta <= 1/8
Right: check m: delta(ln 2) <= 1/8
"""


class OutputAtStart(Mistake, code="DP615", severity="warning"):
    """A formula that reads an output at the start, where nothing was output yet.

    `before` and `after` are what to write around the place.
    """

    before: str
    after: str

    title_text = "nothing is output at the start of a run, and this reads an output there"
    explanation = """\
A path begins at an initial state, where nothing was output, so `output = 3` is false there. `X` is
the state of the first output, `X X` that of the second; `F` is some output. `G` and the left side
of `U` and `W` include the start.

Wrong: P>=1/2 [ output = x ]        P>=1/2 [ G output = x ]
Right: P>=1/2 [ X output = x ]      P>=1/2 [ X G output = x ]
"""

    @property
    def help(self) -> str | None:
        assert self.span is not None, "a formula has a place"
        text = " ".join(self.span.text.split())
        return f"did you mean the first output? `{self.before}{text}{self.after}`"


class AtSelectsNothing(Mistake, code="DP691"):
    """The condition after `at` holds at no initial state.

    `member` is a state of the family that is named in its place.
    """

    condition: str
    member: str | None = None

    help_text = "ask at one state, which need not be initial: `at {self.member}`"
    title_text = "no initial state satisfies `{self.condition}`"
    explanation = """\
`at` restricts a claim to the initial states where a condition holds. Here it holds at none, so the
claim would be about nothing.

Wrong: check survey at x = pos & x = neg : P>=3/4 [ F Y ]
Right: check survey at x = pos : P>=3/4 [ F Y ]
"""


class SeveralStates(Mistake, code="DP692"):
    """`P=?` or `E=?` is asked where several states are possible.

    `word` is which of the two, and `states` lists them.
    `condition` picks the first of them, as one writes it after `at`, where that is known.
    `for_each` is the claim about each of them, if the number is compared with a bound.
    """

    states: tuple[str, ...]
    word: str
    condition: str | None = None
    for_each: str | None = None

    explanation = """\
`P=? [ path ]` and `E=? [ value ]` are about the runs from one state. Where several states are
initial, `at` says which one is meant. A claim about each of them has its bound in place of `?`.

Wrong: compute survey: P=? [ F Y ]                Wrong: check survey: P=? [ F Y ] <= 3/4
Right: compute survey at x = pos : P=? [ F Y ]    Right: check survey: P<=3/4 [ F Y ]
"""

    @property
    def help(self) -> str | None:
        one = None if self.condition is None else f"say which one, such as `at {self.condition}`"
        if self.for_each is None:
            return one
        each = f"write `{self.for_each}`, for each of them"
        return each if one is None else f"{each}; or {one}"

    @property
    def title(self) -> str:
        return f"`{self.word}` needs one state, but {len(self.states)} are possible"

    @property
    def notes(self) -> tuple[str, ...]:
        listed = [f"`{state}`" for state in self.states[:_LISTED]]
        if len(self.states) > _LISTED:
            listed.append(f"and {len(self.states) - _LISTED} more")
        return (f"the states: {', '.join(listed)}",)
