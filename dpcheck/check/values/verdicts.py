"""What a claim ends in: a verdict with its evidence, as frozen data for `report` to draw.

A *verdict* is one of `Holds`, `Violated`, `Undecided`, `Value`; an `Outcome` puts beside it what
was looked at (pairs, states, sequences) and why the claim says little, if it does (vacuity).
Every number appears twice: exactly, and as the exact value correctly rounded to 17 digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dpcheck.records import dataclass

if TYPE_CHECKING:
    from dpcheck.privacy.enclosed import Measure


@dataclass(frozen=True, slots=True)
class Amount:
    """A number for people: `exact` text, `decimal` text; for an ε also e^ε as `exp` text.

    `exact` is `"3/4"`, `"3/4 - 1/4*exp(1/2)"`, `"ln(3)"` or `"inf"`. A number without an exact form
    is known by an `enclosure`, decimals below and above; then `exact` says so: `"in [1.2, 1.3]"`.
    """

    exact: str
    decimal: str
    exp: str | None = None
    enclosure: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Runs that look alike: what was seen or passed, and how likely that is on each side.

    `text` lists outputs (`bot, top`) or states; it ends in `...` when the run goes on from there.
    `probabilities` stand in the order of the counterexample's states.
    """

    text: str
    probabilities: tuple[Amount, ...]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Why a claim is violated: states, an event, its probability from each of the states.

    `states` are two neighbors, the one with the larger probability first, or one state.
    `event` is a set of output sequences (event-level claims), or one path formula.
    `requirement` is the inequality that fails, in numbers: `3/4 <= 2 * 1/4`.
    `ratio` (`"inf"` over zero) and `excess` (over the budget: p - e^ε q - δ) are for pairs;
    they are None where there is no second probability or no budget to exceed.
    `n_sequences` counts the event's sequences when they are too many to list; then `event` says
    in words which they are.
    """

    states: tuple[str, ...]
    event: tuple[str, ...]
    probabilities: tuple[Amount, ...]
    requirement: str
    ratio: Amount | None = None
    excess: Amount | None = None
    runs: tuple[Run, ...] = ()
    n_sequences: int | None = None


@dataclass(frozen=True, slots=True)
class Holds:
    """The claim is true."""


@dataclass(frozen=True, slots=True)
class Violated:
    """The claim is false, and this is why."""

    counterexample: Counterexample


@dataclass(frozen=True, slots=True)
class Undecided:
    """A limit was reached: which, how far the work got, what to raise or ask instead."""

    reason: str
    progress: str
    option: str


@dataclass(frozen=True, slots=True)
class Table:
    """A function as a table: the privacy profile, a loss distribution, a trade-off curve.

    A cell is an amount, or words; `columns` name them.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Amount | str, ...], ...]


@dataclass(frozen=True, slots=True)
class Value:
    """What `compute` asked for, as text and as the number `exact`; of a table how many rows."""

    amount: Amount
    exact: Measure
    table: Table | None = None


Verdict = Holds | Violated | Undecided | Value

VacuityKind = Literal["no neighbors", "unsatisfied atom", "trivial probability"]


@dataclass(frozen=True, slots=True)
class Vacuity:
    """A reason why the claim says little, whatever its verdict; `text` is a full sentence."""

    kind: VacuityKind
    text: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was looked at: so many initial states, neighbor pairs, and output sequences.

    `n_sequences` is None where sequences were not listed one by one.
    """

    n_initial: int
    n_pairs: int
    n_sequences: int | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """What is worth knowing beside a value: the pair it belongs to, what a rule promises."""

    text: str
    amount: Amount | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict and what stands beside it.

    `value` is the quantity a claim such as `epsilon = ln 3` compares, whatever the verdict; None
    for other claims and where it stayed unknown.
    """

    verdict: Verdict
    coverage: Coverage
    vacuity: tuple[Vacuity, ...] = ()
    value: Amount | None = None
    beside: tuple[Beside, ...] = ()

    @property
    def neighbor_pairs(self) -> int:
        """The number of neighbor pairs the claim was about."""
        return self.coverage.n_pairs

    @property
    def is_vacuous(self) -> bool:
        """Tell whether some reason for vacuity was found."""
        return bool(self.vacuity)
