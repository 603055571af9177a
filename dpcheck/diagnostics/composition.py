"""Mistakes where mechanisms, functions and files meet (DP71x)."""

from __future__ import annotations

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.source import Span


class ImportClash(Mistake, code="DP710"):
    """A name that comes from two files."""

    name: str
    first: Span

    title_text = "the name `{self.name}` comes from two files"
    label_text = "here"
    second_place = "first", "also declared here"
    explanation = """\
The names of an imported file come into the importing one, so no two of them may be the same.

Wrong: import std.survey
       mechanism survey { ... }
Right: import std.survey
       mechanism my_survey { ... }
"""


class Recursion(Mistake, code="DP711"):
    """Functions, distributions or mechanisms that call each other in a circle."""

    cycle: tuple[str, ...]

    explanation = """\
Functions, distributions and mechanisms are written out in place, so none may call itself, directly
or through others. Use a loop, or a binder such as `sum(i in 1..n : ...)`.

Wrong: fun factorial(n) = if n = 0 then 1 else n * factorial(n - 1)
"""

    @property
    def title(self) -> str:
        if len(self.cycle) == 2:
            return f"`{self.cycle[0]}` calls itself"
        return "calls go in a circle: " + " calls ".join(f"`{name}`" for name in self.cycle)


class UnknownArgument(Mistake, code="DP712"):
    """An argument for a name the target does not have.

    `of_param` is its value, where the name is that of a `param`.
    """

    name: str
    target: str
    similar: str | None
    known: tuple[str, ...]
    of_param: str | None = None

    title_text = "`{self.target}` takes no argument `{self.name}`"
    explanation = """\
The arguments of a target are its parameters; where a mechanism is run or sampled, they are its
parameters and inputs.

Wrong: check rr(n = 4): dp(ln 3)      where   mechanism rr(k = 2) { ... }
Right: check rr(k = 4): dp(ln 3)
"""

    @property
    def help(self) -> str | None:
        if self.of_param is None:
            return None if self.similar is None else f"did you mean `{self.similar}`?"
        part = f"{self.target} for {self.name} in [{self.of_param}, {self.of_param}]"
        return f"`{self.name}` is a `param`, of which a claim names values: `check {part}: ...`"

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"it takes {', '.join(self.known)}",) if self.known else ()


class MissingArgument(Mistake, code="DP713"):
    """A parameter without a default, or an input, that gets no value."""

    name: str
    target: str
    what: str

    title_text = "`{self.target}` needs a value for its {self.what} `{self.name}`"
    help_text = "write `{self.target}({self.name} = ...)`"
    explanation = """\
A parameter without a default needs a value wherever the target is used; a mechanism that is run or
sampled also needs a value for each of its inputs.

Wrong: y ~ survey()
Right: y ~ survey(x = b)
"""


class ArgumentTwice(Mistake, code="DP714"):
    """An argument given twice."""

    name: str
    first: Span

    title_text = "the argument `{self.name}` is given twice"
    label_text = "again"
    second_place = "first", "given here"
    explanation = """\
Every argument is given once.

Wrong: check rr(k = 3, k = 4): dp(ln 3)
"""


class ArgumentWithoutName(Mistake, code="DP715"):
    """A target or mechanism given an argument without a name."""

    target: str
    example: str | None

    help_text = "write `{self.example} = ...`"
    title_text = "the arguments of `{self.target}` must be given by name"
    explanation = """\
The arguments of mechanisms and chains have names, because parameters and inputs stand side by side.

Wrong: check rr(4): dp(ln 3)
Right: check rr(k = 4): dp(ln 3)
"""


class ArgumentByName(Mistake, code="DP720"):
    """A function or distribution given an argument by a name, which would be a comparison."""

    function: str
    value: str

    title_text = "the arguments of `{self.function}` have no names"
    help_text = "write `{self.value}`"
    explanation = """\
The arguments of functions and distributions are known by their order. Only mechanisms and targets
take them by name; elsewhere `n = 10` asks whether n is 10.

Wrong: y ~ binomial(n = 10, p = 1/2)
Right: y ~ binomial(10, 1/2)
"""


class InputAsParameter(Mistake, code="DP716"):
    """An input given a value in a target."""

    name: str
    target: str

    title_text = "`{self.name}` is an input of `{self.target}`, not a parameter"
    help_text = "restrict the claim with `at {self.name} = ...`"
    explanation = """\
A claim is about all values of the inputs; parameters alone are set in its target. `at` restricts a
claim to some inputs.

Wrong: check survey(x = pos): P>=3/4 [ F Y ]
Right: check survey at x = pos: P>=3/4 [ F Y ]
"""


class NeverExactlyOnce(Mistake, code="DP717"):
    """A mechanism that is sampled, and on no run outputs exactly once."""

    name: str
    outputs: str

    title_text = "`{self.name}` is sampled, but {self.outputs}"
    explanation = """\
`y ~ m(...)` takes the one output of m as the value of y, so m must output exactly once on every
run. Where only some runs do otherwise, exploring finds such a run and shows it. Use `run m(...)` to
let the outputs of m pass to the adversary.

Wrong: mechanism m { x := 1 }                 ...   y ~ m()
Right: mechanism m { x := 1   output x }      ...   y ~ m()
"""


class ChainInProgram(Mistake, code="DP718"):
    """A chain that is run or sampled."""

    name: str

    title_text = "`{self.name}` is a chain, and only mechanisms can be run or sampled"
    explanation = """\
`run` and `~` call mechanisms. An explicit chain has no inputs that a program could give it.
"""


class TooManyCalls(Mistake, code="DP719"):
    """Functions that call functions, so deep or so often that they cannot be written out."""

    name: str
    depth: int
    count: int

    title_text = (
        "calls of functions, `{self.name}` among them, go deeper than {self.depth} or are more "
        "than {self.count} in one target"
    )
    explanation = """\
Calls of functions are written out in place. A function that calls another one twice, which calls
another one twice, and so on, soon fills the memory.

Wrong: fun f1(x) = f0(x) + f0(x)    fun f2(x) = f1(x) + f1(x)    and so on
Right: fun f1(x) = 2 * f0(x)        fun f2(x) = 2 * f1(x)
"""


class PriorOfMechanism(Mistake, code="DP629"):
    """`prior x ~ m(...)` where `m` is a mechanism."""

    name: str

    title_text = "`{self.name}` is a mechanism, not a distribution of data"
    help_text = "write it as a distribution (`dist {self.name}(...) = {{value: weight, ...}}`)"
    explanation = """\
A prior says how the data are distributed: by a built-in distribution, by values with weights, or by
a `dist` of the file. A mechanism outputs; it can be sampled as noise, after the priors.

Wrong: prior others ~ coin_flip(n = 3)
Right: prior others ~ binomial(3, 1/2)
"""


class SecretWithoutWeight(Mistake, code="DP642", severity="warning"):
    """Inputs to which a prior gives no weight.

    `secrets` are their texts.
    """

    secrets: tuple[str, ...]

    help_text = "it is left out of all claims: declare the input without it, or give it a weight"
    explanation = """\
What an adversary holds impossible is no secret: Pufferfish privacy is about pairs of secrets that
both have positive probability. An input for which all weights of a `prior ... normalized` are 0 is
left out, and no claim is about it. If the adversary may hold it possible, give it some weight; if
not, declare the input without it.

Wrong: input ill in 0..2  prior n ~ {v: (if ill = 2 then 0 else 1) for v in 0..3} normalized
Right: input ill in 0..1  prior n ~ {v: 1 for v in 0..3} normalized
"""

    @property
    def title(self) -> str:
        """What is wrong, as one sentence."""
        first, *more = self.secrets
        others = f", and {len(more):,} more" if more else ""
        return f"this prior gives no weight to the secret `{first}`{others}"


class QueryOfSampled(Mistake, code="DP631"):
    """A `query` in a mechanism that is sampled by another."""

    name: str

    title_text = "nobody sees the query `{self.name}` of a mechanism that is sampled"
    help_text = "use `run` in place of `~`, so that its outputs are shown"
    explanation = """\
An analyst chooses a `query` by what was output so far. The output of a mechanism that is sampled by
`y ~ m(...)` is a value of its caller, which nobody has seen.

Wrong: y ~ adaptive(x = x)
Right: run adaptive(x = x)
"""


class QueryReadsPrivate(Mistake, code="DP632"):
    """The choices of a `query` depend on what the analyst does not know."""

    name: str
    variable: str

    title_text = (
        "the choices of `{self.name}` depend on `{self.variable}`, which the analyst does not know"
    )
    help_text = "use constants, public inputs and earlier queries only"
    explanation = """\
An analyst sees what may be chosen, so the set of a `query` may read parameters, public inputs of
the mechanism and earlier queries. Anything else would show private data before an answer is given.

Wrong: input x in 0..3   ...   query c in 0..x
Right: input x in 0..3  public n in 0..3   ...   query c in 0..n
"""


class NotForStrategies(Mistake, code="DP633"):
    """A claim that is not decided for an analyst who adapts."""

    what: str
    instead: str = "ask for `dp`, `epsilon`, `delta` or `profile`"

    title_text = "{self.what} is not decided for an analyst who adapts (`query`)"
    help_text = "{self.instead}, or fix the queries: `query c in S fixed`"
    explanation = """\
For a mechanism with a `query`, `dp`, `epsilon`, `epsilon(delta)`, `delta(epsilon)` and `profile`
are the worst over all strategies of the analyst. Probabilities, D and quantities of one
distribution of outputs need a strategy; where queries are fixed, they are decided for every
sequence of them. Several runs for one analyst are one mechanism whose loop asks in every round.

Wrong: check adaptive: P>=1/2 [ X output = top ]
Right: check adaptive: dp(ln 2)
"""


class FixedQueryOfSets(Mistake, code="DP636"):
    """The set of a fixed query is not one set that is known before any run."""

    name: str

    title_text = "the set of the fixed query `{self.name}` is not one set known beforehand"
    help_text = "choose from constants and parameters, or let the analyst adapt: leave `fixed` out"
    explanation = """\
Fixed queries are chosen before any run, so what may be asked is known beforehand and the same in
every round: a set of constants and parameters, without inputs and loop variables.

Wrong: for i in 1..3 { query c in 0..i fixed ... }
Right: for i in 1..3 { query c in 0..3 fixed ... }
"""


class ChoicesWithoutNumbers(Mistake, code="DP643"):
    """A claim reads all choices of a fixed query in a loop at once."""

    name: str

    title_text = "`{self.name}` is asked in a loop, so nobody knows here how many choices it has"
    help_text = "name choices one by one: `{self.name}[1]`, `{self.name}[2]` and so on"
    explanation = """\
`c[1]`, `c[2]` and so on are the choices of a fixed query, one for each length of the history at
which it is made. In a `while`, in a loop too long to be written out, or where there are more
sequences of choices than can be tried, their number is known only when runs are followed.

Wrong: while going { query c in 0..1 fixed ... }  check m at sum(c) = 0 : dp(1)
Right: while going { query c in 0..1 fixed ... }  check m at c[1] = 0 & c[2] = 0 : dp(1)
"""


class NoSuchChoice(Mistake, code="DP644"):
    """A claim names a choice of a fixed query in a loop that no run gets to."""

    name: str
    array: str
    n_choices: int

    title_text = "there is no choice `{self.name}`: `{self.array}` has {self.n_choices} of them"
    help_text = "choices are numbered from `{self.array}[1]`, one for each length of the history"
    explanation = """\
A fixed query has one choice for each length of the history (the number of outputs and queries so
far) at which some run makes it; of histories longer than 64 it has none that a claim can name.

Wrong: repeat 2 { query c in {low, high} fixed ... }  check m at c[3] = low : dp(1)
Right: repeat 2 { query c in {low, high} fixed ... }  check m at c[2] = low : dp(1)
"""


class FixedInComparison(Mistake, code="DP638"):
    """A comparison of a quantity that sees queries with one that counts outputs alone."""

    title_text = "a budget and a quantity of outputs are not compared where queries are `fixed`"
    help_text = "compare each with a number"
    explanation = """\
Whoever attacks sees that a query is made, while probabilities, errors and expected values are about
outputs, among which no query is. So the two sides would be about different sequences.

Wrong: check m: delta(1) < accuracy(x, 1/10)
Right: check m: delta(1) < 1/4
"""


class NotIndependentRuns(Mistake, code="DP645"):
    """A composition of runs that have data or queries in common.

    `shared` is what they share, `loop` how one mechanism has several runs.
    """

    shared: str
    loop: str

    title_text = "`compose` is about independent runs, and these have {self.shared} in common"
    help_text = "write the runs in one mechanism: `{self.loop}`"
    explanation = """\
A composition multiplies the distributions of its parts, as runs that draw all anew have them. Data
of a `prior` are drawn once, and every run is about these, so that two runs tell more than the
product says. Queries that are fixed beforehand may differ from run to run, of which the worst is
found in one mechanism; a composition has one choice for all runs. That is the worst where all are
runs of one mechanism, for `dp(epsilon)` and `epsilon` only, which add up.

Wrong: mechanism m { ... prior r ~ uniform(0..1) ... output k }  check compose(m, 2): dp(1)
Right: mechanism m { ... prior r ~ uniform(0..1) repeat 2 { ... output k } }  check m: dp(1)
"""
