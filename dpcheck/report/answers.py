"""What a run of dpcheck has to say: one answer a claim, and the mistakes found on the way.

These are what the pipeline hands over; the other modules of this room draw them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeVar

from dpcheck import limits
from dpcheck.check.values.verdicts import Amount, Outcome, Table, Undecided, Value
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.records import dataclass, field, fields, replace
from dpcheck.source import Span

if TYPE_CHECKING:
    from dpcheck.explain import Explanation

Kind = Literal["check", "refute", "compute"]
Standing = Literal["undecided", "wrong", "vacuous", "ok"]

T = TypeVar("T")

OPTIONS: Mapping[limits.Kind, str] = {
    "states": "--max-states",
    "time": "--timeout",
    "run time": "--total-timeout",
    "memory": "--max-memory",
}
"""The options that set the limits which are for the user to set."""


@dataclass(frozen=True)
class Region:
    """Where a claim stands on its line and where it ends, counted from 1; the end is behind it."""

    column: int
    end_line: int
    end_column: int


def region_of(span: Span) -> Region:
    """Return the region of a place in a text."""
    return Region(span.column, *span.source.position(span.end))


def advised(limit: limits.Limit, asked: Asked) -> limits.Limit:
    """Return a limit of memory with what takes less of it, where that is known of a claim."""
    if limit.kind != "memory" or not asked.less:
        return limit
    return replace(limit, advice=f"{asked.less}; or raise `{OPTIONS[limit.kind]}`")


def ended_by(limit: limits.Limit, known: Outcome) -> Outcome:
    """Return that a limit ended the work on a claim of which this was known by then."""
    assert isinstance(known.verdict, Undecided), "else the work was over"
    return replace(known, verdict=replace(known.verdict, limit=limit))


@dataclass(frozen=True)
class Witness:
    """A file of evidence for an outcome: its name, and its text."""

    name: str
    text: str


@dataclass(frozen=True)
class Stated:
    """What a check bounds from above, as it is held beside a baseline.

    `dp(ln 2)` bounds `epsilon` by `ln(2)` beside a `delta` of `0`; a bound that is not reached is
    that of `epsilon <`. `values` are those of a parameter that it is about, `p in (0, 1)`, else "".
    """

    values: str
    bounds: Mapping[str, str]


@dataclass(frozen=True)
class Asked:
    """One claim as it is asked.

    `target`, `at` and `claim` have parameters and loop variables filled in. `covers` says for which
    inputs and neighbors an outcome speaks (`for x in 0..5`, `adjacent abs(x - x') <= 1`).
    With `is_strict`, a vacuous claim is not ok, whatever its verdict. `region` is None for a claim
    that stands in no file. `witness` is there where evidence is asked for: what says that there is
    none, until there is some; `stated` where it is a check, and costs are measured. Of a claim that
    is not about pairs it says nothing how many neighbors there are. `less` is what to write where
    memory is short of its inputs, "" where these are few.
    """

    file: str
    line: int
    name: str | None
    kind: Kind
    target: str
    at: str | None
    claim: str
    covers: tuple[str, ...]
    is_strict: bool
    region: Region | None = field(default=None, kw_only=True)
    witness: Witness | None = field(default=None, kw_only=True)
    stated: Stated | None = field(default=None, kw_only=True)
    is_about_pairs: bool = field(default=True, kw_only=True)
    less: str = field(default="", kw_only=True)

    def answered(self, outcome: Outcome, sizes: tuple[int, int] | None, seconds: float) -> Answer:
        """Return the answer with this outcome; `sizes` are the states and transitions."""
        n_states, n_transitions = sizes or (None, None)
        asked = {each.name: getattr(self, each.name) for each in fields(Asked)}
        return Answer(
            **asked,
            outcome=outcome,
            n_states=n_states,
            n_transitions=n_transitions,
            seconds=seconds,
        )


@dataclass(frozen=True)
class Opinion:
    """What the reference interpreter says of an answer: `text` has what was covered.

    Of one that is not covered it says why, of one that differs both numbers.
    """

    word: Literal["agrees", "differs", "not covered"]
    text: str


@dataclass(frozen=True)
class Answer(Asked):
    """One claim and its outcome, explained if it is violated and should not be.

    States and transitions leave the sinks out; they are None where no chain was finished. `opinion`
    is there where a second opinion was asked for.
    """

    outcome: Outcome
    n_states: int | None
    n_transitions: int | None
    seconds: float
    explanation: Explanation | None = None
    opinion: Opinion | None = field(default=None, kw_only=True)

    @property
    def is_ok(self) -> bool:
        """Return whether the outcome is as claimed and, if that is asked for, says something."""
        return self.is_as_claimed and not (self.is_strict and self.outcome.is_vacuous)

    @property
    def is_as_claimed(self) -> bool:
        """Return whether the outcome is what the claim's word asks for."""
        return self.kind == self.outcome.verdict.kind

    @property
    def standing(self) -> Standing:
        """How the claim stands: `wrong` is one that is not as claimed."""
        if self.is_undecided:
            return "undecided"
        if not self.is_ok:
            return "wrong"
        return "vacuous" if self.outcome.is_vacuous else "ok"

    @property
    def neighbor_pairs(self) -> int | None:
        """The number of neighbor pairs the claim was about; None where no chain was finished."""
        return None if self.n_states is None else self.outcome.neighbor_pairs

    @property
    def table(self) -> Table | None:
        """The table that `compute` asked for, if it asked for one."""
        verdict = self.outcome.verdict
        return verdict.table if isinstance(verdict, Value) else None

    @property
    def is_undecided(self) -> bool:
        """Return whether a limit stopped the work on this claim."""
        return isinstance(self.outcome.verdict, Undecided)


@dataclass(frozen=True)
class Crash:
    """A bug in dpcheck: where it showed, and what Python said."""

    where: str
    traceback: str


@dataclass(frozen=True)
class Reading:
    """A file, and what it imports, is being read."""

    file: str


@dataclass(frozen=True)
class FileRead:
    """These are the claims that are asked of a file, of as many as it has.

    They are its claims that make sense; mistakes in the others were told before. Who tells this
    answers those from `first` to before `last`.
    """

    file: str
    asked: tuple[Asked, ...]
    n_claims: int
    first: int = 0
    last: int | None = None

    @property
    def own(self) -> tuple[Asked, ...]:
        """The claims that are answered where this is told."""
        return self.asked[self.first : self.last]


@dataclass(frozen=True)
class Started:
    """Work on a claim begins."""

    asked: Asked


@dataclass(frozen=True)
class Known:
    """What is known of a claim that is worked on: its outcome, should the work be stopped now."""

    asked: Asked
    outcome: Outcome


@dataclass(frozen=True)
class Decided:
    """A claim is decided; its answer follows as soon as it is explained, or has its evidence.

    Whatever ends the work on that, the verdict is known.
    """

    answer: Answer


@dataclass(frozen=True)
class FileDone:
    """No more answers of this file will come."""

    file: str


@dataclass(frozen=True)
class StatedBudget:
    """A budget (ε, δ) that a claim states."""

    epsilon: Amount
    delta: Amount


@dataclass(frozen=True)
class Node:
    """A state of a chain as it is drawn; `shows` is what entering it outputs, None for nothing."""

    text: str
    shows: str | None
    is_initial: bool


@dataclass(frozen=True)
class Graph:
    """A chain small enough to be drawn; an edge is two places in `nodes` and a probability."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True)
class Portrait:
    """What a report with pictures shows of a target beside its answers, where it is small enough.

    `profile` is its privacy profile, `budgets` are those that claims state for it.
    """

    file: str
    target: str
    profile: Table | None
    budgets: tuple[StatedBudget, ...]
    graph: Graph | None


@dataclass(frozen=True)
class Measuring:
    """Work on what a target costs begins, by the text of the quantity."""

    file: str
    target: str
    quantity: str


@dataclass(frozen=True)
class Measured:
    """What a target costs, by quantity (`epsilon`, `delta(ln(2))`), None what stayed undecided."""

    file: str
    target: str
    amounts: Mapping[str, Amount | None]


ChangeRule = Literal[
    "budget-grew", "budget-unknown", "cover-changed", "claim-weakened", "claim-removed"
]


@dataclass(frozen=True)
class Change:
    """Something that is worse than the baseline records, or may be, with what was and what is.

    `what` is a quantity, `covers` (for which inputs and neighbors verdicts speak), `claim` or
    `target`. What is gone has no `after`.
    """

    rule: ChangeRule
    file: str
    line: int
    target: str
    what: str
    before: str
    after: str | None


Event = (
    Reading
    | FileRead
    | Started
    | Known
    | Decided
    | Answer
    | Mistake
    | Crash
    | Portrait
    | Measuring
    | Measured
    | FileDone
)
"""What the pipeline tells while it works, in this order for each file."""


@dataclass(frozen=True)
class Summary:
    """Everything one run found; the exit status follows from it.

    `files` are those whose claims were looked at, each with all that is asked there.
    """

    answers: tuple[Answer, ...]
    mistakes: tuple[Mistake, ...]
    crashes: tuple[Crash, ...] = ()
    is_interrupted: bool = False
    portraits: tuple[Portrait, ...] = ()
    measured: tuple[Measured, ...] = ()
    changes: tuple[Change, ...] = ()
    files: Mapping[str, tuple[Asked, ...]] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Mistake, ...]:
        """The mistakes that are not mere warnings."""
        return tuple(m for m in self.mistakes if m.severity == "error")

    @property
    def stopped(self) -> tuple[Mistake, ...]:
        """What says which files were not read to their end, or not at all: a limit was reached."""
        return tuple(m for m in self.mistakes if m.severity == "undecided")

    @property
    def worse(self) -> tuple[Change, ...]:
        """What is surely worse than the baseline records; of the other changes it is not known."""
        return tuple(each for each in self.changes if each.rule != "budget-unknown")

    @property
    def n_undecided(self) -> int:
        """The number of claims that a limit stopped, and of times it stopped the reading.

        So is a quantity of which nobody knows whether it grew.
        """
        n_unknown = len(self.changes) - len(self.worse)
        n_claims = sum(answer.is_undecided for answer in self.answers)
        return len(self.stopped) + n_claims + n_unknown

    @property
    def exit_status(self) -> int:
        """0 as claimed, 1 something is not so, 2 bad input, 3 undecided, 70 bug, 130 interrupted.

        What leaves the most unknown wins: 130, 70, 2, 1, 3, 0.
        """
        if self.is_interrupted:
            return 130
        if self.crashes:
            return 70
        if self.errors:
            return 2
        is_wrong = any(not each.is_ok and not each.is_undecided for each in self.answers)
        if is_wrong or self.worse:
            return 1
        return 3 if self.n_undecided else 0


def summary_of(events: Iterable[Event], *, is_interrupted: bool = False) -> Summary:
    """Return what events tell, mistakes in reading order; one that was met before counts once."""
    told = tuple(events)

    def of(kind: type[T]) -> tuple[T, ...]:
        return tuple(event for event in told if isinstance(event, kind))

    return Summary(
        of(Answer),
        in_reading_order(dict.fromkeys(of(Mistake))),
        of(Crash),
        is_interrupted,
        of(Portrait),
        of(Measured),
        files={event.file: event.asked for event in of(FileRead)},
    )


def in_reading_order(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Return the mistakes by file as first met, then by place."""
    found = list(mistakes)
    files: dict[str | None, int] = {}
    for mistake in found:
        files.setdefault(mistake.file, len(files))
    return tuple(
        sorted(found, key=lambda m: (files[m.file], m.span.start if m.span else -1, m.code))
    )
