"""Mistakes in mechanisms and chains that show without a run (DP52x to DP54x)."""

from __future__ import annotations

from typing import Final

from dpcheck.diagnostics.mistakes import CODE, Mistake, listed
from dpcheck.diagnostics.runs import RunMistake
from dpcheck.model.distributions import DISTRIBUTIONS, POLICIES, PolicyKind
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr
from dpcheck.model.values import ArrayValue, SetValue
from dpcheck.source import Span

_WITH_TAILS = listed((row.word for row in DISTRIBUTIONS.values() if row.policies), "and")


_STREAMS: Final = """\
A stream has one value for each round of a loop that never ends; every round reads its own, and
nothing else of it. So rounds are alike, and what is proved of one holds for all of them.

Right: input q[1..] in integers
       adjacent linf(q, q') <= 1
       for i in 1.. { z ~ geometric(q[i], 1/2) unbounded   output z > 0 }
"""


class MissingAdjacent(Mistake, code="DP520"):
    """A mechanism with private inputs and without `adjacent`."""

    name: str
    suggestion: str

    title_text = "the mechanism `{self.name}` does not say which inputs are neighbors"
    help_text = "add, for example, `adjacent {self.suggestion}`"
    explanation = """\
Privacy compares neighboring databases, and which ones are neighbors is part of the claim. There is
no safe default, so every mechanism with private inputs says it.

Right: adjacent all                   (any two values)
Right: adjacent abs(x - x') <= 1      (x' is the neighbor's value)
Right: adjacent hamming(b, b') <= 1   (arrays that differ in one place)
"""


class MissingPolicy(Mistake, code="DP521"):
    """A distribution of infinite support without a policy."""

    distribution: str
    policies: tuple[PolicyKind, ...]

    title_text = "`{self.distribution}` has infinitely many values and no policy for the tails"
    explanation = """\
This distribution has infinitely many values, and a finite chain needs to know what happens outside
of some range. The policies are different mechanisms with different privacy:

clamped lo..hi      the tails fall on the bounds (the *truncated* geometric of the literature)
conditioned lo..hi  the tails are cut off and the rest renormalized
folded lo..hi       reflected: lo-1 becomes lo+1, hi+1 becomes hi-1
wrapped lo..hi      modulo hi-lo+1
unbounded           nothing happens: all integers, for numbers that are compared and shown only

Wrong: y ~ geometric(x, 1/2)
Right: y ~ geometric(x, 1/2) clamped 0..5
"""

    @property
    def help(self) -> str | None:
        exact = f"{listed(self.policies, form='`{} -20..20`')}, with bounds of your own"
        if len(self.policies) == len(POLICIES):
            return f"write after it one of {exact}, or `unbounded`"
        policies = listed(POLICIES, "and", CODE)
        return f"write after it {exact} (of {policies} the only one with exact values here)"


class PolicyWithoutValues(Mistake, code="DP522"):
    """A distribution under a policy that gives it no exact probabilities."""

    distribution: str
    policy: str
    policies: tuple[PolicyKind, ...]

    title_text = "`{self.distribution}` has no exact value when `{self.policy}`"
    explanation = """\
The tails of the discrete Gaussian sum to theta series, which have no exact value in the numbers of
the language. `conditioned` cuts the tails off, so only finitely many weights are summed.

Wrong: y ~ gaussian(x, 1/2) clamped 0..5
Right: y ~ gaussian(x, 1/2) conditioned 0..5
"""

    @property
    def help(self) -> str | None:
        span = " -20..20" if self.policy == "unbounded" else ""  # else one stands there
        known = listed(self.policies, form=f"`{{}}{span}`")
        return f"write {known} in place of `{self.policy}`"


class PolicyNotAllowed(Mistake, code="DP523"):
    """A policy behind a distribution that needs none."""

    policy: str

    title_text = "`{self.policy}` stands behind a distribution without tails"
    help_text = "leave the policy out"
    explanation = f"""\
A policy says what happens to the tails of {_WITH_TAILS},
and stands directly behind them. Other distributions have finitely many values and no tails.

Wrong: y ~ bernoulli(1/2) clamped 0..1
Right: y ~ bernoulli(1/2)
"""


class EmptyDomain(Mistake, code="DP524"):
    """The set of an input, a loop or an index has no element."""

    what: str

    title_text = "{self.what} has no element"
    explanation = """\
The set of an input, of an index, or the range of an array has no element, so there is nothing to
choose from. `5..3` is such a set: the smaller bound stands first.

Wrong: input x in 5..0
Right: input x in 0..5
"""


class FreeInput(Mistake, code="DP525", severity="warning"):
    """A private input that no `adjacent` clause mentions."""

    name: str

    title_text = "no `adjacent` clause mentions `{self.name}`, so it differs freely"
    help_text = "declare it `public`, or mention `{self.name}'` in `adjacent`"
    explanation = """\
No `adjacent` clause mentions this private input, so it may differ freely between neighbors. If
everyone knows its value, declare it `public`; if it may change only in some way, say so.

Right: public t in 0..5
Right: adjacent abs(x - x') <= 1 & t = t'
"""


class UnprimedInput(Mistake, code="DP534", severity="warning"):
    """An `adjacent` clause that reads a private input, and not its primed copy.

    `edit` is the whole `condition` with primes where it compares the input with itself.
    """

    name: str
    condition: Span
    edit: str | None

    title_text = "this clause reads `{self.name}` but not `{self.name}'`, the neighbor's value"
    help_text = "write `adjacent {self.edit}`"
    help_otherwise = "`{self.name}'` may be anything here; say how far it may be from `{self.name}`"
    explanation = """\
In `adjacent`, `x` is one input and `x'` the neighbor's. A clause that reads `x` alone says nothing
of the neighbor's value, so both may be as far apart as they like: `abs(x - x) <= 1` relates all
inputs.

Wrong: adjacent abs(x - x) <= 1
Right: adjacent abs(x - x') <= 1
"""


class PairsNeedOneInput(Mistake, code="DP526"):
    """Pairs of values in `adjacent`, for a mechanism that has not exactly one private scalar."""

    name: str
    n_inputs: int

    explanation = """\
`adjacent (v, w), ...` lists pairs of values of the one private input, which is no array. With
several inputs, say it with primed names.

Wrong: input x in {a, b}   input y in {a, b}   adjacent (a, b)
Right: adjacent x = a & x' = b & y = y'
"""

    @property
    def title(self) -> str:
        if self.n_inputs == 1:
            return f"pairs of values need a single value as input, but `{self.name}` has an array"
        return f"pairs of values need one private input, but `{self.name}` has {self.n_inputs}"


class ArrayWithoutValue(Mistake, code="DP527"):
    """`var a[1..k]` without a first value."""

    name: str

    title_text = "the array `{self.name}` has no first value"
    help_text = "write `:= 0` after it"
    explanation = """\
A local array gets a value for all of its elements where it is declared.

Wrong: var a[1..3]
Right: var a[1..3] := 0
"""


class LocalChangesShape(Mistake, code="DP528"):
    """A local declared twice: as an array and not, or with two ranges, or with values and none.

    `above` is the line that a declaration of its values belongs above.
    """

    name: str
    first: Span
    above: int | None = None

    help_text = "put the declaration above line {self.above}"

    title_text = "`{self.name}` is declared in two ways"
    label_text = "here otherwise"
    second_place = "first", "first like this"
    explanation = """\
A local is either a single value or an array with one range of indices, throughout its mechanism.
Which values it may have is declared before anything else assigns it: in a loop, what stands before
a declaration runs after it, too.

Wrong: var a[1..3] := 0   ...   var a[1..4] := 0        while w { c := 9   var c in 0..3 := 1 }
Right: var a[1..3] := 0   ...   var b[1..4] := 0        while w { var c in 0..3 := 1   c := 2 }
"""


class ProgramTooLarge(Mistake, code="DP529"):
    """A mechanism that becomes too long once everything it runs is written out."""

    name: str
    limit: int

    title_text = "`{self.name}`, written out, has more than {self.limit} statements"
    explanation = """\
Mechanisms that are run or sampled are written out in place, and so are short loops. Mechanisms
that run others twice, which run others twice, and so on, grow beyond what can be explored. Put the
repeated call into a loop whose set a run decides, or shorten the chain of calls.
"""


class BadRepeat(Mistake, code="DP530"):
    """A `repeat` whose number of times is known and is not 0, 1, 2, ..."""

    times: str

    title_text = "nothing can be repeated {self.times} times"
    explanation = """\
`repeat n { ... }` runs its block n times, so n is 0, 1, 2, ...

Wrong: repeat 3/2 { ... }
Right: repeat 3 { ... }
"""


class WrongNumberOfIndices(Mistake, code="DP531"):
    """A member of a family with too few or too many indices."""

    family: str
    needed: int
    given: int

    title_text = "`{self.family}` takes {self.needed} indices, not {self.given}"
    explanation = """\
A member of a family is named with one index for each index of its declaration; a single state has
none.

Wrong: state g[i in 0..3, j in 0..3]   ...   g[1] -> 1: t
Right: g[1, 2] -> 1: t
"""


class NotAState(Mistake, code="DP532"):
    """A label, or a whole family, where one state is needed."""

    name: str
    what: str

    title_text = "`{self.name}` is {self.what}, not a state"
    explanation = """\
Rows and neighbors are about single states: a state, or a member of a family with its indices.

Wrong: s -> 1/2: t + 1/2: Y
Right: state y : Y   ...   s -> 1/2: t + 1/2: y
"""


class RatioByName(Mistake, code="DP535", severity="warning"):
    """The ratio of noise, given by the name of a scale or a budget.

    `advice` is how to write the ratio that they make.
    """

    name: str
    parameter: str
    advice: str

    title_text = "`{self.name}` is taken for {self.parameter}, a ratio, and for no scale or budget"
    help_text = "{self.advice}; or call it otherwise"
    explanation = """\
Noise is given by a ratio between 0 and 1: `geometric(center, alpha)` has probabilities that fall by
alpha at each step, `gaussian(center, base)` weights base^((z - center)^2). A budget eps, a scale or
a standard deviation sigma is another number, of which such a ratio is made.

Unclear: geometric(x, eps)           gaussian(x, sigma)
Clear:   geometric(x, exp(-eps))     gaussian(x, exp(-1/(2 * sigma^2)))
"""


class UnequalLengths(Mistake, code="DP533"):
    """Two arrays that must have the same length, or an unpacking that surely does not fit."""

    what: str
    needed: int
    given: int

    title_text = "{self.what} needs {self.needed} values, not {self.given}"
    explanation = """\
An array is assigned, or given as an argument, to one of the same length; `(a, b) := t` needs as
many names as the tuple has components.

Wrong: input b[1..3] in 0..1   ...   var a[1..2] := b
Right: input b[1..3] in 0..1   ...   var a[1..3] := b
"""


# --- noise without bounds ---------------------------------------------------------------------

_OTHER_POLICIES: Final = f" (or {listed(POLICIES[1:], form='`{}`')}; with bounds of your own)"


class ComputedWithUnbounded(Mistake, code="DP540"):
    """A number without bounds in an operation whose results are too many to tell apart.

    moved: the text of what the operation takes, where that is a sum with the number, or an argument
    of a function. instead: what says the same with comparisons. is_shown: the number is output too,
    so that nothing may be computed with it later. is_everywhere: inputs are all integers, around
    which noise has no bounds.
    """

    operation: str
    name: str
    drawn: Span | None
    among: Expr | range | None = None
    moved: str | None = None
    instead: str | None = None
    is_shown: bool = False
    is_everywhere: bool = False

    title_text = "{self.operation} needs a number with bounds, and `{self.name}` may be any integer"
    second_place = "drawn", "drawn without bounds"
    explanation = """\
Noise without bounds has infinitely many values. What a program finds out about such a number by
comparing it has finitely many cases, and so the chain stays finite: it may be compared with numbers
and with other such numbers, copied, taken `max min argmax argmin` of, clamped, and be output.
Anything else (sums of two, products, indices, sizes, centers of other noise) has infinitely many
results, each with its own consequences.

A number with bounds may be added: `z + x` and `z - x` are the noise, moved by x. Two draws are not
added or subtracted; `y - z > 0` is `y > z`, and `x - z > 0` is `z < x`.

A claim computes with a shown number what is a polynomial of it: `abs(output - x) <= 3` and
`(output - x)^2`, but not `output mod 2`. No window tells which of two shown numbers is the larger.

A policy makes the noise finite. It is another mechanism, with other privacy.

Wrong: z ~ geometric(0, 1/2) unbounded   output x - z > 3
Right: z ~ geometric(0, 1/2) unbounded   output z < x - 3
"""

    @property
    def help(self) -> str | None:
        low, high = self.bounds
        if self.instead is not None:
            return f"write `{self.instead}`"
        here = f"use `clamp({self.moved or self.name}, {low}, {high})` here"
        drawn = f"draw it `clamped {low}..{high}` in place of `unbounded`{_OTHER_POLICIES}"
        if self.is_everywhere and self.is_shown:
            bounded = f"`bounded := clamp({self.name}, {low}, {high})`"
            return f"put {bounded} right after its draw, and read `bounded` from there on"
        if self.is_shown:
            return drawn
        if self.is_everywhere or self.moved is not None:
            return f"{here}, with bounds of your own"
        shown = "; or output every such number: their sum tells no more"
        return f"{drawn}, or {here}{shown if self.operation == '`+`' else ''}"

    @property
    def bounds(self) -> tuple[int, int]:
        """Bounds that would do: of the array or range that the number has to be among."""
        match self.among:
            case range() as numbers if numbers:
                return numbers[0], numbers[-1]
            case Const(value=tuple() as items) | Apply(op="tuple", args=items):
                return 1, len(items)
            case ArrayVar(lo=lo, cells=items) | Const(value=ArrayValue(lo=lo, items=items)):
                return lo, lo + len(items) - 1
            case Const(value=SetValue(items=range() as numbers)) if numbers:
                return numbers[0], numbers[-1]
        return -20, 20


class EndlessHere(Mistake, code="DP550"):
    """A range without an end where a set is needed."""

    title_text = "a range without an end stands only behind `input` and `for`"
    help_text = "write the last number: `1..10`"
    explanation = _STREAMS


class EndlessFrom(Mistake, code="DP551"):
    """A range without an end that does not begin with 1."""

    first: str

    title_text = "a range without an end begins with 1, not with {self.first}"
    help_text = "write `1`"
    explanation = _STREAMS


class EndlessInside(Mistake, code="DP552"):
    """A loop that never ends inside of another loop or mechanism, or a second one."""

    title_text = (
        "a mechanism has one loop that never ends, in no other loop, and is not run by others"
    )
    help_text = "give this loop a last round: `for j in 1..10`"
    explanation = _STREAMS


class RoundAsValue(Mistake, code="DP553"):
    """The number of a round of a loop that never ends, used for more than reading a stream."""

    name: str

    title_text = "the round `{self.name}` only tells which value of a stream is read"
    help_text = "count in a variable of your own, which may have finitely many values"
    explanation = _STREAMS


class StreamMisused(Mistake, code="DP554"):
    """A stream, or an input of all integers, that is declared or read as it cannot be."""

    name: str
    wanted: str
    advice: str = ""

    help_text = "{self.advice}"
    title_text = "`{self.name}` {self.wanted}"
    explanation = _STREAMS


class ShownStillInUse(RunMistake, code="DP541"):
    """A number without bounds is output while it, or what it was compared with, is still read.

    `is_beside`: by a number that the same output shows.
    """

    shown: str
    bounds: tuple[int, int]
    is_beside: bool

    explanation = """\
Noise without bounds has infinitely many values. A number that is output may be any of them, and
whatever it was compared with, and the program still reads, then depends on which one it was: there
are infinitely many ways to go on. Output it clamped, or draw a fresh number for the output, as the
sparse vector technique with numbers does: comparing and releasing one and the same noise is its
best-known mistake. Whether a number is read later is told from the text: end runs by `stop`.

Wrong: if z >= noisy_t { output z }   ...   if w >= noisy_t { output w }
Right: if z >= noisy_t { y ~ geometric(q, 1/2) unbounded   output y }
"""

    @property
    def title(self) -> str:
        others = "one that is output beside it" if self.is_beside else "numbers that are read later"
        return f"`{self.shown}` is output without bounds, and may tell about {others}"

    @property
    def help(self) -> str:
        clamped = f"output `clamp({self.shown}, {self.bounds[0]}, {self.bounds[1]})`"
        if self.is_beside:
            return f"{clamped}; or output a number that is drawn anew"
        return (
            f"{clamped}; or put that in a variable before the output, and read it later; or output"
            " a number that is drawn anew; if nothing follows on this run, write `stop` right after"
            " the output"
        )


class EndlessMemory(Mistake, code="DP542"):
    """A loop that may go on for ever compares a number without bounds with new ones."""

    name: str
    is_moved: bool

    title_text = (
        "`{self.name}` may be moved, or compared with one new number without bounds after the"
        " other, for ever"
    )
    explanation = """\
What is known of a number without bounds, by what it was compared with, is a law: it lies above 5,
and two draws were below it. Each comparison with a new draw makes another law. A loop that keeps
such a number, compares it with a new draw each time, and may go on for ever, leads to infinitely
many laws, and so to a chain of infinitely many states. So does one that moves it, `z := z + 1`.
Where the loop runs so many times at most, or the number has bounds, there are finitely many.

Wrong: while y <= t { y ~ geometric(0, 1/2) unbounded }
Right: for i in 1..20 { if y > t { break }   y ~ geometric(0, 1/2) unbounded }
"""

    @property
    def help(self) -> str:
        otherwise = f"draw `{self.name}` `clamped -20..20` in place of `unbounded`{_OTHER_POLICIES}"
        if self.is_moved:
            otherwise = f"stop moving it somewhere: `{self.name} := clamp({self.name}, -20, 20)`"
        return f"bound the loop, `for i in 1..20 {{ if ... {{ break }} ... }}`, or {otherwise}"
