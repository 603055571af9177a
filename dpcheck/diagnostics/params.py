"""Mistakes about parameters: values that nobody has chosen (`param`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dpcheck.diagnostics import runs
from dpcheck.diagnostics.mistakes import Label, Mistake
from dpcheck.diagnostics.runs import RunMistake, WhatFails
from dpcheck.model.evaluation import Fault, FaultKind
from dpcheck.source import Span


class ParamAsValue(WhatFails, code="DP410"):
    """What depends on a `param` stands where a value is needed, or is no function of it.

    `constant` is a declaration that gives it one.
    """

    needs_value: bool = False
    constant: str = ""
    instead: str = ""

    explanation = """\
A `param` is a value that nobody has chosen: a claim about it speaks of all its values at once. It
may stand in probabilities and weights (added, multiplied, divided, to an integer power), in
budgets, and in bounds of claims. It is no value of the program: nothing compares it, assigns it,
outputs it, or uses it as an index or a size. A divisor is 0, and the argument of `ln` at most 0,
for no value of the parameter.

Wrong: param alpha in (0, 1)   ...   if alpha > 1/2 { output Y }
Right: const alpha = 1/2   ...   if alpha > 1/2 { output Y }"""

    @property
    def help(self) -> str | None:
        if not self.needs_value:
            return self.instead or None
        named = re.search(r"`(\w+)` has none", self.what)
        if named and self.span is not None and _is_asked_at(self.span, named[1]):
            return f"write `for {named[1]} in [1/2, 1)` in place of `at {self.span.text}`"
        if named and self.what.startswith("an end of a range"):
            loop = f"for {named[1]} in 1..5 {{ check m({named[1]} = {named[1]}): ... }}"
            return f"a size is a parameter of the mechanism; a loop goes through some: `{loop}`"
        if self.constant:
            return f"give it one: `{self.constant}` in place of the `param`; `-D` may change that"
        return "a `const` has a value, which `-D` may change"


def _is_asked_at(span: Span, name: str) -> bool:
    """Return whether a place is the `at` of a claim, and begins with a name."""
    is_at = span.source.line(span.line)[: span.column - 1].rstrip().endswith(" at")
    return is_at and re.match(rf"{name}\b", span.text) is not None


def needs_value(
    span: Span, why: str, run: tuple[str, ...] = (), constant: str = ""
) -> ParamAsValue:
    """Return that a place needs a value, which a parameter has not."""
    return ParamAsValue(span, run, why, needs_value=True, constant=constant)


class ParamInterval(Mistake, code="DP411"):
    """The interval of a `param`, or the part of it that a claim is about, is none.

    `edit` is one that is near to what is written, where there is one.
    """

    name: str
    why: str
    edit: str | None = None

    title_text = "the values of `{self.name}` {self.why}"
    help_text = "write `{self.edit}`"
    explanation = """\
The values of a `param` are an interval with a first and a last end: rational numbers, or `inf`.
A parenthesis leaves an end out, a bracket takes it in, and `inf` is always left out.
The part that a claim is about, `check m for alpha in (0, 1/2]: ...`, lies within it.

Wrong: param alpha in [1, 0)
Right: param alpha in (0, 1)
Right: param eps > 0"""


class ParamNotThere(Mistake, code="DP412"):
    """`for name in ...` names no `param` of the target or claim."""

    name: str
    known: tuple[str, ...]

    explanation = """\
`check m for alpha in (0, 1/2]: ...` asks a claim for some values of a `param`, which the target or
the claim has to depend on.

Wrong: check survey for alpha in (0, 1/2]: dp(ln 3)
Right: check survey: dp(ln 3)"""

    @property
    def title(self) -> str:
        others = " and ".join(f"`{name}`" for name in self.known)
        depends = f", only on {others}" if others else ""
        return f"neither target nor claim depends on a `param` named `{self.name}`{depends}"


class LoopHidesParam(Mistake, code="DP414"):
    """A loop around claims has a variable that is called like the `param` they depend on."""

    name: str
    target: str
    variable: Span

    title_text = "this depends on the `param` named `{self.name}`, and not on the loop variable"
    label_text = "for all its values"
    second_place = "variable", "the loop variable"
    help_text = "write `{self.target} for {self.name} in [{self.name}, {self.name}]`"
    explanation = """\
A loop around claims fills its variable into their text: into arguments of the target, and into what
is claimed. A `param` that the target reads is another one, though it has the same name, and the
claim would be asked for all its values in every round.

Wrong: for alpha in {1/2, 1/3} { check m: dp(ln 3) }
Right: for alpha in {1/2, 1/3} { check m for alpha in [alpha, alpha]: dp(ln 3) }"""


class ParamOutside(Mistake, code="DP413"):
    """A value chosen by `-D` lies outside of the interval of the `param`."""

    name: str
    interval: str
    value: str

    title_text = "`{self.name}` has values in {self.interval}, and not {self.value}"
    explanation = """\
`-D alpha=1/2` chooses a value of a `param`, from the interval that the file declares.

Wrong: dpcheck check noise.dpm -D alpha=2
Right: dpcheck check noise.dpm -D alpha=1/2"""


class WeightOutsideUnit(RunMistake, code="DP211"):
    """A probability or weight that depends on a `param` is none for some value of it."""

    weight: str
    wrong: str
    place: str
    edit: str | None = None

    title_text = "{self.weight} is {self.wrong} {self.place}"
    help_text = "{self.edit}"
    explanation = """\
What depends on a `param` must be a probability for every value of it: bounds of its interval that
leave the others out belong into its declaration.

Wrong: param p in (0, 1)     ...   x ~ bernoulli(2 * p - 1)
Right: param p in (1/2, 1)   ...   x ~ bernoulli(2 * p - 1)"""


class ParamsTogether(Mistake, code="DP626"):
    """A target with its claim depends on what has no place beside its `param`.

    `part` is the edit that asks about one value, where that is enough: else `-D` chooses it.
    `beside` is where in the target the number stands that does not fit, where that is known.
    """

    why: str
    chosen: str
    part: str | None = None
    beside: Label | None = None

    title_text = "{self.why}"
    help_text = "ask about one value: {self.part}"
    help_otherwise = "choose a value, `-D {self.chosen}`"
    explanation = """\
A claim is decided for all values of one `param`, as polynomials in it. Beside it, all numbers are
rational, and budgets are sums of logarithms. A parameter of which `exp(eps)` is used, in
probabilities or as a budget `dp(eps)`, stands inside of `exp` and of budgets only.

Wrong: param eps > 0   ...   check m: dp(eps + 1)
Right: param eps > 0   ...   check m: dp(2 * eps)"""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The claim, and what does not fit in its target."""
        return super().labels if self.beside is None else (*super().labels, self.beside)


class NotForAllValues(Mistake, code="DP627"):
    """A claim that is not decided for all values of a `param` at once.

    `part` is the edit that asks about one value, where that is enough: else `-D` chooses it.
    """

    what: str
    name: str
    chosen: str
    part: str | None = None
    instead: str = ""

    title_text = "{self.what} is not decided for all values of `{self.name}`"
    help_text = "{self.instead}ask about one value: {self.part}"
    help_otherwise = "{self.instead}choose a value with `-D {self.name}={self.chosen}`"
    explanation = """\
For all values of a `param` at once dpcheck decides `dp`, comparisons of `epsilon`, `delta(..)` and
`P=?` with a bound, and Boolean combinations of P and D whose brackets hold no further P or D; it
computes these. Of a `compose` it decides `dp`, `epsilon` and `delta(..)`. Where a D
stands inside of a D, the states at which the inner one holds change with the value.

Wrong: param p in (0, 1)   ...   check m: D{ln 2} [ F D{ln 2} [ X Y ] ]
Right: param p in (0, 1)   ...   check m: D{ln 2} [ F Y ]"""


class BoundForSomeValues(Mistake, code="DP628"):
    """A budget or a bound that depends on a `param` is none for some value of it."""

    bound: str
    needed: str
    is_there: str
    place: str
    edit: str | None = None

    help_text = "write `{self.edit}`"
    title_text = "{self.bound} is {self.is_there} {self.place}, and {self.rule}"
    explanation = """\
A budget is at least 0, and a probability or δ lies between 0 and 1, for every value of the `param`
that a claim is about. `for` after the target asks about a part.

Wrong: param p in (0, 1)   ...   check rr: dp(ln(p / (1 - p)))
Right: check rr for p in [1/2, 1): dp(ln(p / (1 - p)))"""

    @property
    def rule(self) -> str:
        """What has to be so for all values."""
        return {
            "budget": "a budget is at least 0",
            "probability": "a probability lies between 0 and 1",
        }.get(self.needed, "its first end is at most the last")


_KINDS: Final[Mapping[FaultKind, type[WhatFails]]] = {
    "division by zero": runs.DivisionByZero,
    "not an integer exponent": runs.NoExactValue,
    "index out of range": runs.IndexOutOfRange,
    "wrong kind": runs.WrongKindOnRun,
    "empty": runs.NothingToTake,
    "lengths differ": runs.LengthsDiffer,
    "too large": runs.NumberTooLarge,
}


def of_fault(fault: Fault, place: Span, run: tuple[str, ...] = ()) -> RunMistake:
    """Return the mistake that a fault is, at its own place or else at that of the whole."""
    if fault.kind == "parameter":
        return needs_value(fault.span or place, fault.title, run, fault.help or "")
    if fault.kind == "no function of a parameter":
        return ParamAsValue(fault.span or place, run, fault.title, instead=fault.help)
    if fault.kind == "no exact value":
        return runs.NoExactValue(fault.span or place, run, fault.title, fault.help or None)
    return _KINDS[fault.kind](fault.span or place, run, fault.title)
