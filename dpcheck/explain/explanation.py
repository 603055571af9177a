"""Why a claim is violated, as frozen data: parts that a report may show or leave out.

Left and right are the two sides of a pair of neighbors, the likelier one first. Factors of a table
are left divided by right. A part that ran into its limit, or into a bug, is None, or empty, and its
name stands in `Explanation.omitted`.
"""

from __future__ import annotations

from typing import Literal, get_args

from dpcheck.check.values.verdicts import (
    Amount,
    Counterexample,
    Enough,
    OutputSequence,
    Phrase,
    ShownEvent,
    Sides,
)
from dpcheck.records import dataclass, replace
from dpcheck.source import Span


@dataclass(frozen=True)
class Difference:
    """A variable and its values on both sides, as the language's text, or on one side alone.

    `line` is that of the assignment which gave it the left value in a run, where it says more.
    """

    name: str
    left: str
    right: str = ""
    line: Line | None = None


NeighborKind = Literal["neighbors", "secrets"]


@dataclass(frozen=True)
class Neighbors:
    """Two neighbors: their inputs (or states) in full, and the cells that differ.

    `note` says what else is so: that all runs are on the same input. `between` are the inputs on a
    shortest way from one to the other, each a neighbor of the next, where the two are further apart
    (a group). Where data are drawn, the inputs are `secrets`.
    """

    left: str
    right: str
    differences: tuple[Difference, ...] = ()
    note: str = ""
    between: tuple[str, ...] = ()
    kind: NeighborKind = "neighbors"


@dataclass(frozen=True)
class Inequality:
    """Both probabilities of an event, and the inequality p <= e^ε q + δ that they violate.

    `allowed` is e^ε and `slack` δ; `ratio` is p/q. `requirement` is the inequality with its
    numbers, `sides` the values it compares. What makes no sense for a claim is None.
    """

    p: Amount | None
    q: Amount | None
    ratio: Amount | None
    allowed: Amount | None
    slack: Amount | None
    requirement: Phrase
    sides: Sides | None


@dataclass(frozen=True)
class Rule:
    """An event in words: its probabilities on both sides, and their ratio.

    With `is_optimal` it is the event with the largest excess, up to outputs that change nothing.
    """

    text: str
    p: Amount
    q: Amount
    ratio: Amount | None
    is_optimal: bool


@dataclass(frozen=True)
class Line:
    """A line of a model file, or of a library that it uses."""

    file: str
    number: int

    @classmethod
    def of(cls, span: Span) -> Line:
        """Return the line that a place in a file begins on."""
        return cls(span.source.name, span.line)

    def text(self, home: str) -> str:
        """Return the number of the line, with its file where it stands in another one.

        >>> Line("a.dpm", 7).text("a.dpm"), Line("std/survey.dpm", 7).text("a.dpm")
        ('7', 'survey:7')
        """
        return str(self.number) if self.file == home else f"{self.stem}:{self.number}"

    @property
    def stem(self) -> str:
        """The name of the file without its folders and its end."""
        return self.file.rpartition("/")[2].removesuffix(".dpm")


@dataclass(frozen=True)
class OutputStep:
    """One output of a sequence: its probabilities given the outputs before it.

    `place` counts from 1; `shown` is None for the end of the run. `lines` are those of the
    statements that show it. A `query` that an analyst has fixed has a place too, and is no output.
    """

    place: int
    shown: str | None
    lines: tuple[Line, ...]
    left: Amount
    right: Amount
    factor: Amount
    query: str | None = None


@dataclass(frozen=True)
class InputStep:
    """One input changed after the ones before it: the probability is divided by `factor`."""

    change: Difference
    factor: Amount


@dataclass(frozen=True)
class RunStep:
    """A step of a run: a draw, an output, its end where the right goes on, or a chain's state.

    A `query` is what an analyst asks, who chooses it as the strategy says.

    `reads` are the variables whose different values the step depends on, or the right's way to
    another one; of one state, all that a draw depends on. `left` and `right` are its
    probabilities, None where there is nothing to draw, and the right one where the run got
    elsewhere. `times` equal steps stand in a row. `note` says where the right side goes instead,
    `right_value` what it outputs there, or draws, or which state of a chain it passes, on the most
    probable way to the same outputs.
    """

    line: Line | None
    kind: Literal["draw", "output", "query", "end", "passing"]
    variable: str
    value: str
    reads: tuple[Difference, ...] = ()
    left: Amount | None = None
    right: Amount | None = None
    factor: Amount | None = None
    times: int = 1
    note: str = ""
    right_value: str = ""


RunKind = Literal["output", "event", "inside", "outside", "input"]


@dataclass(frozen=True)
class TracedRun:
    """The most probable run from the left with the outputs shown, priced on the right.

    `share` of the sequence's probability is this run's, 1 if it is the only one. `same` are draws
    with equal probabilities on both sides. Where the same draws lead to other outputs on the right,
    `elsewhere` are the draws of the right's own most probable run. `cut` is the range at whose end
    a draw is, where the outputs are impossible on the right, and `instead` says what the right
    shows in their place. The most probable run of all does not exceed the budget where it
    `is_beyond`, as this one does.

    It may be a run that satisfies a path formula: `event` of two neighbors, of one state `inside`,
    or `outside` if it does not; or one from an `input` alone. `shown` are its outputs where the
    event does not say them first.
    """

    share: Amount
    steps: tuple[RunStep, ...]
    same: tuple[RunStep, ...] = ()
    elsewhere: tuple[RunStep, ...] = ()
    cut: str = ""
    instead: str = ""
    is_beyond: bool = False
    of: RunKind = "output"
    shown: OutputSequence | None = None


@dataclass(frozen=True)
class Tight:
    """What would make the claim true, in words with numbers, and the numbers.

    `epsilon` is the least one at the claim's δ, `delta` the least one at its ε.
    """

    text: Phrase
    epsilon: Amount | None = None
    delta: Amount | None = None

    @property
    def label(self) -> str:
        """What it is called: where only bounds on one side are told, none of them is tight."""
        known = [part for part in self.text.parts if isinstance(part, Enough) and part.name]
        sides = {part.side if part.end or part.side == ">=" else "=" for part in known}
        return "tight" if len(sides) != 1 else _SIDES[sides.pop()]


_SIDES = {">=": "at least", "<=": "at most", "=": "tight"}


@dataclass(frozen=True)
class Attacker:
    """What one output tells somebody who held both neighbors for equally likely.

    `posterior` is the probability of the left one after the output; so many independent runs on the
    one input as `n_runs` says (at least, at most) let the better guess be right with 99 %.
    """

    posterior: Amount
    n_runs: tuple[int, int] | None = None


@dataclass(frozen=True)
class Others:
    """How many pairs violate the claim, and the worst of them.

    Unless `is_complete`, not all pairs were looked at, or not all of their outputs. Of a `window`
    the pairs are some of infinitely many.

    `worst` has the largest excess; None where it is the pair shown, with the same event. Its event
    has the probabilities `chances`; `outputs` are its heaviest sequences, of `n_outputs`. A short
    `rule`, if one has the same excess, may have more outputs, and so its own probabilities.
    """

    n_violating: int
    n_pairs: int
    is_complete: bool
    excess: Amount | None = None
    worst: Neighbors | None = None
    rule: Rule | None = None
    outputs: tuple[OutputSequence, ...] = ()
    n_outputs: int = 0
    chances: tuple[Amount, ...] = ()
    is_window: bool = False


@dataclass(frozen=True)
class Remark:
    """A labelled line: `inputs`, `inside`, `carried by`; of a part of a claim with its run.

    Of a list the `items` are what its sentence says, one by one. A run that is `like` that of
    another part, named here, is not told again.
    """

    label: str
    text: Phrase
    run: TracedRun | None = None
    items: tuple[Phrase, ...] = ()
    like: str = ""


@dataclass(frozen=True)
class WeightedRun:
    """Runs that look alike, and their probability: `is_inside` if they satisfy the formula.

    `right` is their probability from the right side of a pair.
    """

    shown: OutputSequence
    probability: Amount
    is_inside: bool
    right: Amount | None = None


@dataclass(frozen=True)
class Inner:
    """The pair that makes a nested D false: where it is, its own inequality, and its run.

    The run of a program begins at the inputs, so that it has the outputs and draws before the D,
    too.
    """

    text: Phrase
    event: ShownEvent
    inequality: Inequality
    run: TracedRun | None = None


@dataclass(frozen=True)
class Setting:
    """A parameter of the target with another value."""

    name: str
    value: int


Detail = Literal["full", "short", "none"]
"""How much of an explanation is wanted; `none`: the evidence, `short`: and what is tight."""

Omission = Literal[
    "explanation",
    "runs",
    "between",
    "others",
    "rule",
    "by_output",
    "by_input",
    "run",
    "tight",
    "attacker",
    "inner",
    "also",
]

WANTED: dict[Detail, frozenset[Omission]] = {
    "none": frozenset({"explanation", "between"}),
    "short": frozenset({"explanation", "between", "tight", "inner"}),
    "full": frozenset(get_args(Omission)),
}
"""The parts that are made. In `short` a nested D is looked for: it says what is tight."""


@dataclass(frozen=True)
class Explanation:
    """Why a claim is violated; `event` is the smallest that violates it for these neighbors.

    `also`: with these parameters together, in a smaller model, it is violated, too.
    Of the parts that were left out, those that ran into a bug are `faulty`.
    """

    neighbors: Neighbors | None = None
    event: ShownEvent = ()
    inequality: Inequality | None = None
    rule: Rule | None = None
    by_output: tuple[OutputStep, ...] = ()
    by_input: tuple[InputStep, ...] = ()
    run: TracedRun | None = None
    remarks: tuple[Remark, ...] = ()
    runs: tuple[WeightedRun, ...] = ()
    inner: Inner | None = None
    tight: Tight | None = None
    attacker: Attacker | None = None
    others: Others | None = None
    also: tuple[Setting, ...] = ()
    omitted: tuple[Omission, ...] = ()
    faulty: tuple[Omission, ...] = ()

    @property
    def all_runs(self) -> tuple[TracedRun, ...]:
        """The run of the claim, of a nested D, and of parts, as far as there are any."""
        inner = None if self.inner is None else self.inner.run
        runs = (self.run, inner, *(remark.run for remark in self.remarks))
        return tuple(run for run in runs if run is not None)

    @property
    def in_short(self) -> Explanation:
        """What stays in `short`: neighbors, event, numbers, what is tight."""
        return Explanation(
            *(self.neighbors, self.event, self.inequality),
            rule=None if self.event else self.rule,
            remarks=tuple(replace(remark, run=None, like="") for remark in self.remarks),
            tight=self.tight,
            omitted=self.omitted,
            faulty=self.faulty,
        )


def as_found(
    example: Counterexample, allowed: Amount | None = None, slack: Amount | None = None
) -> Explanation:
    """Return what a counterexample says by itself; of dp(ε, δ) e^ε is allowed, and δ more."""
    if len(example.states) == len(example.probabilities) == 2:
        return Explanation(
            neighbors=Neighbors(*example.states),
            event=example.event,
            inequality=Inequality(
                *(*example.probabilities, example.ratio, allowed, slack),
                *(example.requirement, example.sides),
            ),
            runs=_known_runs(example),
        )
    chances = [*example.probabilities, *[None] * len(example.states)]
    remarks = [
        Remark("from", Phrase.of(state) if chance is None else Phrase.of(f"{state}: ", chance))
        for state, chance in zip(example.states, chances, strict=False)
    ]
    failing = Inequality(None, None, None, None, None, example.requirement, example.sides)
    return Explanation(event=example.event, inequality=failing, remarks=tuple(remarks))


def _known_runs(example: Counterexample) -> tuple[WeightedRun, ...]:
    """Return the runs that carry most of the difference, if they say more than the event."""
    is_told = example.runs and example.event == (example.runs[0].shown,)
    return tuple(
        WeightedRun(run.shown, run.probabilities[0], True, run.probabilities[1])
        for run in example.runs[: 0 if is_told else None]
    )
