"""Mistakes in quantities and in arrangements of targets (DP62x)."""

from __future__ import annotations

from dpcheck.diagnostics.mistakes import CODE, Mistake, listed
from dpcheck.diagnostics.runs import RunMistake
from dpcheck.logic.quantities import QUANTITIES, words_where
from dpcheck.model.values import SetValue

_TABLES = {row.word: row.one_value for row in QUANTITIES.values() if row.one_value}
_OF_OUTPUTS = words_where(of="errors") + words_where(of="channel")


class QuantityArgument(Mistake, code="DP620"):
    """An argument of a quantity outside of its range.

    `wanted` says what it is.
    """

    wanted: str
    value: str

    title_text = "{self.wanted}, not {self.value}"
    explanation = """\
`renyi(a)` needs a rational order a > 0; `renyi(a, digits)` and `zcdp(digits)` need a number of
digits from 1 to 1000. `accuracy(f, beta)` is about what a mechanism outputs first,
`accuracy(output(2), f, beta)` about its second output and `accuracy(output(2)[1], f, beta)` about
the first component of that. A tuple of outputs is compared with a tuple of as many values.

Wrong: compute survey: renyi(0)
Right: compute survey: renyi(2)
Right: compute survey: renyi(3/2, 40)
Right: check m: accuracy((output(1), output(2)), (x, y), 1/20) <= 3
"""


class TableInComparison(Mistake, code="DP621"):
    """A function compared with a bound."""

    quantity: str
    instead: str

    title_text = "`{self.quantity}` is a function, and a bound is for one of its values"
    help_text = "compare `{self.instead}`, or `compute` the table"
    explanation = f"""\
{listed(_TABLES, "and", CODE)} without arguments are functions, reported as tables. One value of
such a function is a number: {listed(_TABLES.values(), "and", CODE)}.

Wrong: check survey: profile <= 1/4
Right: check survey: delta(ln 2) <= 1/4
Right: compute survey: profile
"""


class FarNumbersInTable(Mistake, code="DP646"):
    """A table of probabilities of numbers without bounds, each of which tells something else."""

    window: tuple[int, int]

    title_text = (
        "no table has all that is told by numbers shown beyond {self.window[0]}..{self.window[1]}"
    )
    help_text = (
        "output `clamp(..., {self.window[0]}, {self.window[1]})`, with bounds of your own;"
        " `epsilon` and `profile` are of all numbers"
    )
    explanation = """\
A table has finitely many outputs. Noise without bounds that is shown is one of them beyond some
number, and so it may be: there its value tells no more of the input than that it is there. Where
it was chosen among hidden numbers, or compared with them, it does: for `max(a, b)` each number
beyond has a ratio of its own, and a table would have a smaller epsilon than the mechanism.

Wrong: output max(a, b)   ...   dpcheck pmf model.dpm m
Right: output clamp(max(a, b), -9, 9)   ...   dpcheck pmf model.dpm m
"""


class BudgetAgainstNumber(Mistake, code="DP625"):
    """A quantity that is a budget compared with one that is a number."""

    budget: str
    number: str

    title_text = "`{self.budget}` is a budget and `{self.number}` a number: they do not compare"
    help_text = "compare each with a bound of its own, in two claims"
    explanation = f"""\
{listed(words_where(value="budget"), "and", CODE)} are budgets, all other quantities are numbers
such as probabilities. Two quantities of one target can be compared where both are of one kind.

Wrong: check survey: epsilon >= delta(0)
Right: check survey: delta(1) < loss_tail(1)
Right: check survey: renyi(2) < epsilon
"""


class ArrangementUsage(Mistake, code="DP622"):
    """`compose`, `group` or `subsample` with arguments that do not fit.

    `value` is that of a number that is none of the numbers it may be, `edit` the whole as it may be
    meant.
    """

    word: str
    value: str = ""
    edit: str | None = None

    explanation = """\
`compose(m, 3)` is three independent runs of m on the same input, `compose(m1, m2)` a run of each;
`group(m, 2)` is m with inputs up to distance 2 of the neighbor graph as neighbors. Targets may have
parameters, `compose(m(k = 2), 3)`, and numbers are positive integers. `subsample(m, 1/100)` is a
mechanism m that sees each record with probability 1/100, a rational number. A sample is drawn for
each run: `compose(subsample(m, 1/100), 3)`, `group(subsample(m, 1/100), 2)`.

Wrong: check compose(3, survey): dp(ln 9)
Right: check compose(survey, 2): dp(ln 9)
"""

    @property
    def title(self) -> str:
        what = {"group": "distance", "compose": "number of runs"}.get(self.word)
        if self.value and what:
            return f"{self.value} is no {what}: that is an integer of at least 1"
        if self.value:
            return f"{self.value} is no sampling rate: that is a rational number from 0 to 1"
        if self.word == "group":
            return "`group` is written `group(target, distance)`"
        if self.word == "subsample":
            written = "`subsample` is written `subsample(mechanism, probability)`"
            return f"{written}, of a mechanism by itself"
        return "`compose` is written `compose(target, times)` or `compose(target, target, ...)`"

    @property
    def help(self) -> str | None:
        if self.edit or self.word != "subsample":
            return f"write `{self.edit}`" if self.edit else None
        sample = "`subsample(m, 1/100)`, with a rational number in 0..1"
        return f"write {sample}; a sample for each run is `compose(subsample(m, 1/100), 3)`"


def _of_values(values: SetValue, n_records: int) -> str:
    """Return how so many records with values are counted."""
    items = values.items
    kinds = f"{items[0]}..{items[-1]}" if isinstance(items, range) else f"1..{len(items)}"
    declared = f"`input n[{kinds}] in 0..{n_records}`"
    return f"count the records with each value, {declared} with `adjacent l1(n, n') <= 1`"


class NotCountsOfRecords(Mistake, code="DP639"):
    """`subsample` of a mechanism with an input that is not 0..n.

    instead: the declaration with such a set, where the input may count records. values: what
    `n_records` of them may have, if that is a finite set.
    """

    mechanism: str
    name: str
    domain: str
    instead: str | None
    values: SetValue | None
    n_records: int

    title_text = "`{self.name}` of `{self.mechanism}` counts no records: it is in {self.domain}"
    explanation = """\
`subsample(m, q)` is m on a sample of the records, in which each stands with probability q (Poisson
subsampling). So m says what it does without a record: each private input, or element of one, is in
0..n and counts equal records, of which binomially many are kept. For one record that is there or
not, 0..1 is enough. Values of a record that cannot be absent have no law without it: count the
records with each value, so that a neighbor has one record more or less. Other samples are drawn in
the mechanism: `there ~ bernoulli(q)`, then `if there then ... else ...`.

Wrong: mechanism m { input x in {no, yes} adjacent all ... }
       check subsample(m, 1/100): dp(1/50)
Right: mechanism m { input n[1..2] in 0..1 adjacent l1(n, n') <= 1 ... }
       check subsample(m, 1/100): dp(1/50)
"""

    @property
    def help(self) -> str:
        ways: list[str] = []
        if self.instead is not None:
            ways.append(f"if it counts records, write `{self.instead}`")
        if self.values is not None:
            counted = _of_values(self.values, self.n_records)
            ways.append(f"if it has values of records, {counted}")
        return "; ".join(ways)


class MoreThanOneRecord(Mistake, code="DP641"):
    """`subsample` of a mechanism with neighbors that differ by more than one record."""

    mechanism: str
    inputs: tuple[str, str]
    adjacency: str
    values: SetValue
    n_records: int

    title_text = (
        "{self.inputs[0]} and {self.inputs[1]}, neighbors of `{self.mechanism}`, are not one record"
        " apart"
    )
    explanation = """\
`subsample(m, q)` takes m's inputs for counts of records, and neighbors differ by one that is added
or removed. Where they are further apart the numbers may be values, not counts, and the sample would
be a wrong one: then count the records with each value. Inputs that are several records apart are
`group(subsample(m, q), k)`; samples and neighbors of other kinds are written in the mechanism:
`kept ~ binomial(x, q)`.

Wrong: mechanism m { input x in 0..3 adjacent all ... }
       check subsample(m, 1/100): dp(1/50)
Right: mechanism m { input x in 0..3 adjacent abs(x - x') <= 1 ... }
       check subsample(m, 1/100): dp(1/50)
"""

    @property
    def help(self) -> str:
        counts = f"if the inputs count records, declare `adjacent {self.adjacency}`"
        return f"{counts}; if they are values of records, {_of_values(self.values, self.n_records)}"


class NotOfArrangement(Mistake, code="DP623"):
    """A claim about an arrangement that only the runs of one mechanism could answer."""

    claim: str
    word: str

    title_text = "{self.claim} cannot be asked about `{self.word}(...)`"
    explanation = f"""\
A composition is computed from the output distributions of its parts, without building its chain.
It has privacy losses (`dp`, `epsilon`, `delta`, `renyi`, `profile`, ...), but no runs for formulas,
and no outputs for {listed(_OF_OUTPUTS, "or", CODE)}.
A nested D in a `group` would need neighbors of later states, which are known for neighboring inputs
only.

Wrong: check compose(survey, 2): D{{ln 9}} [ X (Y & X Y) ]
Right: check compose(survey, 2): dp(ln 9)
Right: mechanism twice {{ ... repeat 2 {{ run survey(x = x) }} }}
"""

    @property
    def help(self) -> str | None:
        if self.word == "group":
            return "ask without nesting D"
        return "write a mechanism that runs the parts, and ask about it"


class DifferentInputs(Mistake, code="DP624"):
    """Parts of a composition that do not have the same inputs and neighbors."""

    first: str
    second: str
    difference: str

    title_text = (
        "`{self.first}` and `{self.second}` cannot run on the same input: {self.difference}"
    )
    explanation = """\
`compose(m1, m2)` runs both on the same input. So both need the same inputs (names and values) and
the same neighbors.

Right: mechanisms with `input x in 0..5` and `adjacent abs(x - x') <= 1`, both
"""


class NoExpectedValue(RunMistake, code="DP630"):
    """Some run has no value of which `E` could be the mean."""

    why: str

    title_text = "there is no expected value: {self.why}"
    explanation = """\
`E=? [ value ]` is the mean over all runs from a state, so every run (but for some of probability 0)
needs a value: a number, computed from the last `output`, `output(i)`, the number of `outputs` and
inputs. Runs that stop before output(i) do not have it; there is no last one where nothing is shown,
or outputs go on for ever. A mean may be `inf` or `-inf`; there is none where some runs make it grow
for ever, and others fall.

Wrong: compute above_threshold at q = [0, 0] : E=? [ output ]        top and bot are no numbers
Right: compute above_threshold at q = [0, 0] : E=? [ outputs ]
Right: compute above_threshold at q = [0, 0] : E=? [ if output = top then 1 else 0 ]
"""
