"""What a claim ends in: a verdict with its evidence, as frozen data for `report` to draw.

A *verdict* is one of `Holds`, `Violated`, `Undecided`, `Value`; an `Outcome` puts beside it what
was looked at (pairs, states, sequences) and why the claim says little, if it does (vacuity).
Every number appears twice: exactly, and as the exact value correctly rounded to 17 digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import isinf
from typing import TYPE_CHECKING, ClassVar, Literal, assert_never

from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.limits import Limit
from dpcheck.records import dataclass, field, replace

if TYPE_CHECKING:
    import sympy

    from dpcheck.exact import Budget, Rational
    from dpcheck.privacy.enclosed import Measure


@dataclass(frozen=True)
class Amount:
    """A number for people: `exact` text, `decimal` text; for an ε also e^ε as `exp` text.

    `exact` is `"3/4"`, `"3/4 - 1/4*exp(1/2)"`, `"ln(3)"` or `"inf"`. A number without an exact form
    is known by an `enclosure`, decimals below and above; then `exact` says so: `"in [1.2, 1.3]"`.
    What depends on a `param` is no number before a value is chosen: `exact` and `decimal` are an
    expression, or say how many pieces there are.
    """

    exact: str
    decimal: str
    exp: str | None = None
    enclosure: tuple[str, str] | None = None
    param: str | None = None

    def compared(self, other: Amount | Budget | Fraction | float | str) -> int:
        """Return -1, 0 or 1 as this is less than, equal to or greater than another value, exactly.

        A text is a budget or number such as `ln 3 + 1/2`; a float is the number it stores. Raises
        `ValueError` where an enclosure contains the other value, or it depends on a `param`.

        >>> Amount("ln(9)", "2.1972245773362194").compared("2 * ln 3")
        0
        """
        from dpcheck.exact.reading import compare_texts

        self._require_value()
        own, others = self.ends, as_amount(other).ends
        signs = {compare_texts(own[0], others[1]), compare_texts(own[1], others[0])}
        if len(signs) == 1:
            return signs.pop()
        raise ValueError(f"{self.exact} and {as_amount(other).exact} cannot be told apart")

    def _require_value(self) -> None:
        """Raise `ValueError` for what depends on a `param`."""
        if self.param is not None:
            name = self.param
            raise ValueError(
                f"{self.exact}: this depends on `{name}`, so it is no number before one is chosen, "
                f"as by `load(path, {name}=...)`; `outcome.all_values.pieces` of an answer has it"
            )

    @property
    def ends(self) -> tuple[str, str]:
        """Texts of a value below and of one above, equal where the number is known exactly."""
        if not self.exact.startswith("in [") or self.enclosure is None:
            return self.exact, self.exact
        low, high = (end if end == "inf" else str(Fraction(end)) for end in self.enclosure)
        return low, high

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same amount, or the same number as one of another kind."""
        if isinstance(other, Amount):
            return self._fields() == other._fields()
        from dpcheck.exact import Budget

        if not isinstance(other, Budget | Fraction | int | float | str):
            return NotImplemented
        if self.param is not None:
            return self.exact == other
        try:
            return self.compared(other) == 0
        except ValueError:
            return False

    def _fields(self) -> tuple[object, ...]:
        return self.exact, self.decimal, self.exp, self.enclosure, self.param

    def __hash__(self) -> int:
        """Return the hash of the number where it is rational, else of its text."""
        number = self._rational
        return hash(self.exact if number is None else number)

    def __lt__(self, other: Amount | Budget | Fraction | float | str) -> bool:
        """Return whether this is less than another value; raises `ValueError` as `compared`."""
        return self.compared(other) < 0

    def __le__(self, other: Amount | Budget | Fraction | float | str) -> bool:
        """Return whether this is at most another value; raises `ValueError` as `compared`."""
        return self.compared(other) <= 0

    def __gt__(self, other: Amount | Budget | Fraction | float | str) -> bool:
        """Return whether this is greater than another value; raises `ValueError` as `compared`."""
        return self.compared(other) > 0

    def __ge__(self, other: Amount | Budget | Fraction | float | str) -> bool:
        """Return whether this is at least another value; raises `ValueError` as `compared`."""
        return self.compared(other) >= 0

    def __float__(self) -> float:
        """Return the float nearest to the decimal: no evidence, but good to plot.

        Raises `ValueError` for what depends on a `param`.
        """
        self._require_value()
        return float(self.decimal)

    @property
    def fraction(self) -> Fraction:
        """The number as a fraction; raises `ValueError` where it is not known to be rational."""
        self._require_value()
        number = self._rational
        if number is None:
            raise ValueError(f"{self.exact} is not known to be rational")
        return number

    @property
    def _rational(self) -> Fraction | None:
        from dpcheck.exact.reading import as_rational

        number = as_rational(self.exact)
        return None if number is None else Fraction(int(number.p), int(number.q))

    def sympy(self) -> sympy.Expr:
        """Return the exact number as an expression of sympy.

        Raises `ValueError` for a number that is known by an enclosure only, and for several pieces.

        >>> Amount("1/2*ln(3) + exp(-1/2)", "1.1558358141").sympy()
        log(3)/2 + exp(-1/2)
        """
        import sympy
        from flint import fmpz

        if self.exact.endswith(" pieces"):
            self._require_value()
        if self.exact.startswith("in ["):
            raise ValueError(f"no exact form is known: the number lies {self.exact}")
        # Python reads no integers of more than 4300 digits, and would divide in floats: names
        # stand for the integers until sympy has read the rest.
        integers: dict[str, sympy.Integer] = {}

        def named(digits: re.Match[str]) -> str:
            name = f"integer_{len(integers)}"
            integers[name] = sympy.Integer(int(fmpz(digits.group())))
            return name

        text = re.sub(r"\d+", named, self.exact)
        return sympy.sympify(text, locals={**integers, "inf": sympy.oo})


def as_amount(value: Amount | Budget | Fraction | float | str) -> Amount:
    """Return a number, a budget or the text of one as an amount; its decimal is left out."""
    if isinstance(value, Amount):
        return value
    from dpcheck.exact import Budget, exact_text

    if isinstance(value, Budget):
        return Amount(exact_text(value), "")
    if isinstance(value, float):
        return Amount(str(value) if isinf(value) else str(Fraction(value)), "")
    return Amount(value if isinstance(value, str) else str(Fraction(value)), "")


@dataclass(frozen=True)
class Enough:
    """A number to write into a claim, which is true with it and with every number on its `side`.

    So a report may round it to that side. `name` is the quantity that it is the least value of, or
    a lower bound of, which stands after `>=`. A claim takes no chance, nor a δ, above 1.

    >>> str(Enough(Amount("ln(3)", "1.0986122886681097", "3"), "<=", "epsilon"))
    'epsilon = ln(3)'
    >>> str(Enough(Amount("in [1.2, 1.3]", "1.3", enclosure=("1.2", "1.3")), "<="))
    '1.3'
    """

    amount: Amount
    side: Literal["<=", ">="]
    name: str = ""
    is_chance: bool = False

    def __str__(self) -> str:
        """Return the number in full, or the end of its enclosure."""
        end = self.end or self.amount.exact
        sign = self.side if self.end or self.side == ">=" else "="
        return f"{self.name} {sign} {end}" if self.name else end

    @property
    def end(self) -> str:
        """The end of the enclosure on the side, if an enclosure is all that is known."""
        if self.amount.enclosure is None or not self.amount.exact.startswith("in ["):
            return ""
        return self.amount.enclosure[self.side == "<="]


@dataclass(frozen=True)
class Phrase:
    """Words with numbers and output sequences in them, which a report may shorten.

    >>> str(Phrase.of("it is at least ", Amount("ln(3)", "1.0986122886681097", "3")))
    'it is at least ln(3)'
    >>> str(Phrase.of("epsilon = ", Amount("in [1.2, 1.3]", "1.3", enclosure=("1.2", "1.3"))))
    'epsilon in [1.2, 1.3]'
    """

    parts: tuple[PhrasePart, ...]

    @classmethod
    def of(cls, *parts: PhrasePart) -> Phrase:
        """Return a phrase of these parts."""
        return cls(parts)

    def __str__(self) -> str:
        """Return the phrase with every number in full."""
        return self.written(lambda part: part.exact if isinstance(part, Amount) else str(part))

    def written(self, text_of: Callable[[PhrasePart], str]) -> str:
        """Return the parts as texts; `≈ 1/3` or `in [a, b]` stands in place of a `=` before it.

        What the words around an amount multiply or subtract has the brackets it needs.

        >>> half = Amount("1/2 - 1/2*exp(-1)", "0.31606027941427884")
        >>> str(Phrase.of("19/20 <= exp(1) * ", half, " + ", half))
        '19/20 <= exp(1) * (1/2 - 1/2*exp(-1)) + 1/2 - 1/2*exp(-1)'
        """
        text = ""
        for part, after in pairwise((*self.parts, "")):
            said = text_of(part)
            if isinstance(part, Amount):
                if said.startswith(("≈ ", "in [")):
                    text = text.removesuffix("= ") if text.endswith(" = ") else text
                elif _needs_brackets(said, text, after):
                    said = f"({said})"
            text += said
        return text


def _needs_brackets(said: str, before: str, after: PhrasePart) -> bool:
    """Return whether an expression would be read otherwise between the words around it.

    A sum is no factor and is not subtracted, and no minus sign follows another one.
    """
    is_factor = before.endswith((" * ", " - ")) or (
        isinstance(after, str) and after.startswith(" * ")
    )
    if said.startswith("-"):
        return is_factor or before.endswith(" + ")
    return is_factor and " " in _outside_brackets(said)


def _outside_brackets(expression: str) -> str:
    """Return an expression without what stands in its brackets.

    >>> _outside_brackets("(1 + exp(1))/(2 + exp(1/2)) - exp(1)")
    '/ - exp'
    """
    depth, outside = 0, []
    for piece in re.split(r"([()])", expression):
        depth += {"(": 1, ")": -1}.get(piece, 0)
        outside += [piece] * (depth == 0 and piece != ")")
    return "".join(outside)


Ending = Literal["stopped", "diverged", "goes on"]


@dataclass(frozen=True)
class OutputSequence:
    """What is seen of a run: outputs as the language writes them, and how it ends.

    A run that `goes on` is known by its first outputs only. The runs of a path formula name the
    states they pass where these output nothing. It `has_all_beyond` where `> 5` is sure to stand
    for all numbers above 5 that are output: the program writes no other ones there.
    """

    outputs: tuple[str, ...]
    ending: Ending = "stopped"
    has_all_beyond: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Return the sequence as the keys of tables and the JSON answer write it.

        >>> str(OutputSequence(("bot", "top"))), str(OutputSequence(("bot",), "diverged"))
        ('bot, top', 'bot, diverged')
        >>> str(OutputSequence(())), str(OutputSequence((), "goes on"))
        ('(no output)', '...')
        """
        match self.ending:
            case "stopped":
                return ", ".join(self.outputs) or "(no output)"
            case "diverged":
                return ", ".join((*self.outputs, "diverged"))
            case "goes on":
                return ", ".join((*self.outputs, "..."))
            case _ as never:
                assert_never(never)


PhrasePart = str | Amount | Enough | OutputSequence

ShownEvent = tuple[OutputSequence, ...] | Phrase
"""A set of output sequences, one by one or in words; or a path formula."""


@dataclass(frozen=True)
class Run:
    """Runs that look alike: what was seen or passed, and how likely that is on each side.

    `probabilities` stand in the order of the counterexample's states.
    """

    shown: OutputSequence
    probabilities: tuple[Amount, ...]


Comparison = Literal["=", "!=", "<", "<=", ">", ">="]

OPPOSITE: dict[Comparison, Comparison] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
"""What is so where a comparison is not."""


@dataclass(frozen=True)
class Sides:
    """A comparison that is false, with the values of its sides."""

    left: Amount
    comparison: Comparison
    right: Amount


@dataclass(frozen=True)
class Counterexample:
    """Why a claim is violated: states, an event, its probability from each of the states.

    `states` are two neighbors, the one with the larger probability first, or one state.
    `event` is a set of output sequences (event-level claims), or one path formula.
    `requirement` is what fails, in numbers: `3/4 <= 2 * 1/4`; `sides` are the values that it
    compares, if it compares two.
    `ratio` (`"inf"` over zero) and `excess` (over the budget: p - e^ε q - δ) are for pairs;
    they are None where there is no second probability or no budget to exceed.
    `n_sequences` counts the event's sequences when they are too many to list; then `event` says
    in words which they are.
    `beyond` says more where the value is a limit of outputs, of which this one is the closest.
    """

    states: tuple[str, ...]
    event: ShownEvent
    probabilities: tuple[Amount, ...]
    requirement: Phrase
    sides: Sides | None = None
    ratio: Amount | None = None
    excess: Amount | None = None
    runs: tuple[Run, ...] = ()
    n_sequences: int | None = None
    beyond: Beyond | None = None


@dataclass(frozen=True)
class Beyond:
    """What is so of outputs further out than those that are shown; some violate if it `has_event`.

    The value is a limit that these come closer to, and no output here attains.
    """

    text: Phrase
    has_event: bool


@dataclass(frozen=True)
class Holds:
    """The claim is true.

    A verdict has a `word` that programs read, and the `kind` of claim that asks for it.
    """

    word: ClassVar = "holds"
    kind: ClassVar = "check"


@dataclass(frozen=True)
class Violated:
    """The claim is false, and this is why."""

    word: ClassVar = "violated"
    kind: ClassVar = "refute"
    counterexample: Counterexample


@dataclass(frozen=True)
class Bounds:
    """What is known of a quantity that stayed unknown, and the event that shows the lower bound."""

    quantity: str
    low: Amount
    high: Amount
    shown_by: Phrase = Phrase(())


@dataclass(frozen=True)
class Undecided:
    """A limit was reached: which, with what can be done about it, and how far the work got."""

    word: ClassVar = "undecided"
    kind: ClassVar = None
    limit: Limit
    progress: Phrase = Phrase(())
    bounds: Bounds | None = None

    @property
    def reason(self) -> str:
        """Which limit was reached, as a sentence."""
        return self.limit.text


Cell = Amount | str | ShownEvent


@dataclass(frozen=True)
class Table:
    """A function as a table: the privacy profile, a loss distribution, a trade-off curve.

    A cell is an amount, an event, or words; `columns` name them.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Value:
    """What `compute` asked for, as text and as the number `exact`; of a table how many rows."""

    word: ClassVar = "value"
    kind: ClassVar = "compute"
    amount: Amount
    exact: Measure
    table: Table | None = None


Verdict = Holds | Violated | Undecided | Value

VacuityKind = Literal["no neighbors", "unsatisfied atom", "trivial probability", "no value"]


@dataclass(frozen=True)
class Vacuity:
    """A reason why the claim says little, whatever its verdict; `text` is a full sentence."""

    kind: VacuityKind
    text: str


@dataclass(frozen=True)
class Coverage:
    """What was looked at: so many neighbor pairs, and output sequences.

    `n_sequences` is None where sequences were not listed one by one.
    """

    n_pairs: int
    n_sequences: int | None = None


@dataclass(frozen=True)
class Beside:
    """What is worth knowing beside a value: the states it belongs to, what a rule promises."""

    text: str | Phrase
    amount: Amount | None = None
    names_states: bool = False


@dataclass(frozen=True)
class Situation:
    """What an analyst asks after some outputs; `goes_on`: the same again and again from there on.

    Among the outputs stands what was asked before only where that is not known from them.
    """

    seen: tuple[str, ...]
    asks: str
    goes_on: bool


@dataclass(frozen=True)
class Switch:
    """What an analyst asks from some outputs on, where something else was asked before.

    So it is after `n_alike` sequences of outputs, of which `seen` is a shortest: they tell the
    analyst the same.
    """

    seen: tuple[str, ...]
    asks: str
    goes_on: bool
    n_alike: int


@dataclass(frozen=True)
class Strategy:
    """What the worst analyst asks, and the number of situations that are left out.

    `switches` are all situations in which something else is asked than before, `n_more_switches` of
    them left out.
    """

    situations: tuple[Situation, ...]
    n_more: int
    switches: tuple[Switch, ...] = ()
    n_more_switches: int = 0


AT_LEAST = "at least "
"""Before the lower one of two bounds in a table, where other rows have a value."""


@dataclass(frozen=True)
class Piece:
    """A value of `compute` for some values of a parameter: an expression over it.

    Where it is known within bounds only, `exact` is the lower one, and `most` the upper one.
    """

    interval: ParamInterval
    exact: str
    most: str | None = None

    @property
    def text(self) -> str:
        """The expression, or both bounds."""
        return self.exact if self.most is None else f"in [{self.exact}, {self.most}]"


@dataclass(frozen=True)
class AllValues:
    """What is known of a claim for all values of a parameter.

    `asked` are the values it is about, with `is_part` some of the parameter's; a claim fails for
    exactly those of `fails_for`, of which `sample` is a simple one (None where all are irrational),
    as a value `shown_at`, and holds for those of `holds_for`. It may fail for more if `is_exact` is
    false: where `some` inputs of infinitely many show it. `pieces` are what `compute` asked for;
    `at_cuts` says of irrational ends of all values, beyond which others are asked, what
    expressions are there.
    """

    param: str
    asked: str
    fails_for: tuple[ParamInterval, ...] = ()
    sample: str | None = None
    pieces: tuple[Piece, ...] = ()
    shown_at: int | Rational | Budget | None = None
    is_exact: bool = True
    holds_for: tuple[ParamInterval, ...] = ()
    is_part: bool = False
    at_cuts: tuple[tuple[ParamEnd, tuple[tuple[str, str], ...]], ...] = ()

    @property
    def some(self) -> AllValues:
        """What is known of a claim that fails for these values on some inputs of infinitely many.

        For others it may fail on other inputs.
        """
        return replace(self, is_exact=self.is_exact and not self.holds_for, holds_for=())


@dataclass(frozen=True)
class Outcome:
    """A verdict and what stands beside it.

    `value` is the quantity a claim such as `epsilon = ln 3` compares, whatever the verdict; None
    for other claims and where it stayed unknown. `all_values` is there for a claim with a `param`,
    `strategy` where an analyst adapts and the verdict or value shows an event.
    """

    verdict: Verdict
    coverage: Coverage
    vacuity: tuple[Vacuity, ...] = ()
    value: Amount | None = None
    beside: tuple[Beside, ...] = ()
    all_values: AllValues | None = None
    strategy: Strategy | None = None

    @property
    def neighbor_pairs(self) -> int:
        """The number of neighbor pairs the claim was about."""
        return self.coverage.n_pairs

    @property
    def is_vacuous(self) -> bool:
        """Return whether some reason for vacuity was found."""
        return bool(self.vacuity)
