"""Mistakes about kinds of values (DP4xx): a number where a symbol is, a run where a constant is."""

from __future__ import annotations

from dpcheck.diagnostics.mistakes import Label, Mistake
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.source import Span


class WrongKind(Mistake, code="DP401"):
    """An operand whose kind is surely wrong.

    `others` are places that show why.
    `edit` is what to write, where that is known; `what` is found of the place.
    """

    needed: str
    found: str
    others: tuple[tuple[Span, str], ...] = ()
    edit: str | None = None
    what: str = "this is"

    help_text = "write `{self.edit}`"
    label_text = "{self.what} {self.found}"
    title_text = "{self.needed} is needed here, not {self.found}"
    explanation = """\
Every operation needs values of certain kinds: arithmetic and `<` need numbers or budgets, `&` and
conditions need true or false, `in` and loops need a set. `=` compares any two values; values of
different kinds are never equal.

Wrong: input x in {pos, neg}   ...   y := x + 1
Right: input x in {pos, neg}   ...   y := if x = pos then 1 else 0
"""

    @property
    def labels(self) -> tuple[Label, ...]:
        others = (Label(span, text) for span, text in self.others if span != self.span)
        return *super().labels, *others


class LoopOverArray(WrongKind):
    """A loop over the elements of an array, by the names of both."""

    array: str = ""
    variable: str = ""

    help_text = "write `{self.edit}`, and `{self.array}[{self.variable}]` for the element"


class NotConstant(Mistake, code="DP402"):
    """An expression that must be known before any run, and reads names that are not."""

    purpose: str
    names: tuple[str, ...]

    explanation = """\
Parameters, bounds, budgets, sizes of arrays and the sets of inputs are the same on every run, so
they may use numbers, constants, parameters and the variables of loops over known sets, but nothing
that a run decides.

Wrong: input x in 0..5   ...   run rr(k = x)
Right: run rr(k = 3, x = x)
"""

    @property
    def title(self) -> str:
        shown = ", ".join(f"`{name}`" for name in self.names[:3])
        more = " and more" if len(self.names) > 3 else ""
        return f"{self.purpose} must be known before any run, but this reads {shown}{more}"


class WrongNumberOfArguments(Mistake, code="DP403"):
    """A call with too few or too many arguments.

    `most` is None where any number may follow.
    """

    function: str
    least: int
    most: int | None
    given: int
    edit: str | None = None

    help_text = "{self.edit}"
    explanation = """\
A function, a distribution or a built-in takes as many arguments as it has parameters.

Wrong: y ~ geometric(1/2) clamped 0..5
Right: y ~ geometric(x, 1/2) clamped 0..5
"""

    @property
    def title(self) -> str:
        if self.most is None:
            needed = f"at least {self.least}"
        elif self.least == self.most:
            needed = str(self.least)
        else:
            needed = f"{self.least} to {self.most}"
        plural = "argument" if needed in ("1", "at least 1") else "arguments"
        return f"`{self.function}` takes {needed} {plural}, not {self.given}"


class DistributionAsValue(Mistake, code="DP404"):
    """A distribution where a value is needed."""

    title_text = "this is a distribution, not a value"
    help_text = "draw from it with `y ~ ...`, then use `y`"
    explanation = """\
A distribution is no value: draw from it first.

Wrong: y := bernoulli(1/2)
Right: y ~ bernoulli(1/2)
"""


class ValueAsDistribution(Mistake, code="DP405"):
    """A value where a distribution is needed."""

    title_text = "this is a value, not a distribution"
    help_text = "a value is assigned with `:=`"
    explanation = f"""\
After `~` stands a distribution: a literal `{{v: w, ...}}`, a `dist` of the file, another mechanism,
or one of {", ".join(DISTRIBUTIONS)}.
A value is assigned with `:=`; the distribution that always yields v is `{{v: 1}}`.

Wrong: y ~ x + 1
Right: y := x + 1
"""


class NoDistributionPassed(Mistake, code="DP409"):
    """A parameter that is drawn from, with a value that is no distribution."""

    name: str
    value: str
    declared: Span

    title_text = "`{self.name}` is {self.value} here, not a distribution"
    help_text = "give the parameter the name of a `dist`, as in `{self.name} = my_noise`"
    label_text = "drawn from here"
    second_place = "declared", "declared here"
    explanation = """\
A parameter that is called after `~` stands for a `dist`, which the use of the mechanism gives by
its name.

dist folded_noise(x, alpha, n) = geometric(x, alpha) folded 0..n
mechanism m(noise = folded_noise) { ... y ~ noise(x, 1/2, 5) ... }

Wrong: check m(noise = 1/2): epsilon = ln 2
Right: check m(noise = folded_noise): dp(ln 2)
"""


class FormulaAsValue(Mistake, code="DP406"):
    """A temporal or probability operator where a value is needed."""

    title_text = "this is a formula, not a value"
    explanation = """\
`X F G U W R`, `P` and `D` speak about runs from outside; they belong into claims, and there not
into arithmetic, comparisons or calls.

Wrong: if F top { stop }
Right: check m: P>=1/2 [ F top ]
"""


class SeveralIndices(Mistake, code="DP407"):
    """Several indices of an array or tuple."""

    n_indices: int

    title_text = "an array or tuple takes one index, not {self.n_indices}"
    explanation = """\
Arrays and tuples take one index; only families of states of a chain may take several.

Wrong: a[1, 2]
Right: a[1]
"""


class NotAnArray(Mistake, code="DP408"):
    """`a[i] := e` for something that is not declared as an array, or `a := e` that does not fit.

    `indices`: what may be its range. `is_prior`: it is `prior a[i] ~ d`, before which nothing is
    declared.
    """

    name: str
    indices: str = "1..3"
    is_prior: bool = False

    title_text = "`{self.name}` is not an array that is declared before this"
    explanation = """\
A local array is declared with its range of indices before its elements are assigned.

Wrong: a[1] := 0
Right: var a[1..3] := 0
       a[1] := 0

A `prior` stands before all declarations, and draws a tuple where an array is meant.

Wrong: prior a[1..2] ~ uniform(0..1)
Right: prior a ~ uniform((0..1) * (0..1))
"""

    @property
    def help(self) -> str:
        """What to write before it, or in its place."""
        if self.is_prior:
            drawn = f"`prior {self.name} ~ uniform((0..1) * (0..1))`"
            return f"draw a tuple, as in {drawn}, of which `{self.name}[1]` is read"
        return f"declare it first, as in `var {self.name}[{self.indices}] := 0`"
