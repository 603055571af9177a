"""Events and output sequences as verdicts show them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from functools import lru_cache
from re import compile as pattern

from dpcheck.check.values.amounts import growth_amount
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.ranges import in_ranges
from dpcheck.check.values.verdicts import Ending, OutputSequence, Phrase, PhrasePart, ShownEvent
from dpcheck.exact import Number
from dpcheck.records import dataclass, replace

STOPPED, DIVERGED, GOES_ON = 0, 1, 2
"""How a sequence of outputs ends; `GOES_ON`: with anything."""

MAX_LISTED = 4096
"""Sequences that an event lists at most: nobody reads more, and reports keep them."""
N_RUNS = 3
"""Runs that a counterexample shows."""
_IN_PHRASE = 4
"""Sequences that a sentence names."""

_ENDINGS: dict[int, Ending] = {STOPPED: "stopped", DIVERGED: "diverged", GOES_ON: "goes on"}
_NUMBER = pattern(r"(-?\d+(?:/\d+)?)")
_COMPARED = Context(prec=40)


@dataclass(frozen=True)
class EventText:
    """An event to show, and the sequences in it that carry most of the difference.

    `event` lists its sequences by value, or describes it when it has more than `MAX_LISTED`
    members; then `n_sequences` is their number, if it is known. `runs` are (sequence, p, q).
    """

    event: ShownEvent
    runs: tuple[tuple[OutputSequence, Number, Number], ...]
    n_sequences: int | None = None


def output_sequence(outputs: Iterable[str], end: int) -> OutputSequence:
    """Return a sequence of outputs that ends as the code of a table's `end` says.

    Outputs are values and labels as the language writes them: outside of quotes and brackets they
    have no comma, and none is `diverged`, `...` or `(no output)`. So no two sequences are written
    alike.

    >>> str(output_sequence(["bot", "top"], STOPPED)), str(output_sequence(["bot"], GOES_ON))
    ('bot, top', 'bot, ...')
    """
    return OutputSequence(tuple(outputs), _ENDINGS[end])


def going_on(shown: OutputSequence, n_outputs: int | None) -> OutputSequence:
    """Return a sequence of the first outputs of an endless run, which goes on after so many.

    >>> [str(going_on(OutputSequence(("Y", "N")), n)) for n in (2, 3, None)]
    ['Y, N, ...', 'Y, N', 'Y, N']
    """
    is_cut = len(shown.outputs) == n_outputs and shown.ending == "stopped"
    return replace(shown, ending="goes on") if is_cut else shown


def event_parts(event: ShownEvent) -> list[PhrasePart]:
    """Return an event as parts of a phrase: a few of its sequences, and how many more there are."""
    if isinstance(event, Phrase):
        return list(event.parts)
    parts: list[PhrasePart] = []
    event = in_ranges(event)
    for k, shown in enumerate(event[:_IN_PHRASE]):
        parts += ["; " * (k > 0), shown]
    more = f"; and {len(event) - _IN_PHRASE:,} more" if len(event) > _IN_PHRASE else ""
    return [*parts, more] if len(event) == 1 else ["{ ", *parts, more, " }"]


def by_value(sequences: Iterable[OutputSequence]) -> tuple[OutputSequence, ...]:
    """Return sequences in the order of their outputs: numbers by value, other words by alphabet.

    >>> found = by_value(OutputSequence((text,)) for text in ("10", "(9, 2)", "9", "-1", "1/2"))
    >>> [str(each) for each in found]
    ['-1', '1/2', '9', '10', '(9, 2)']
    """
    return tuple(sorted(sequences, key=lambda one: ([*map(value_key, one.outputs)], one.ending)))


@lru_cache(maxsize=MAX_LISTED)
def value_key(text: str) -> list[str | Decimal]:
    """Return the words of a value and, between them, its numbers as decimals."""
    parts = _NUMBER.split(text)
    return [_approximate(part) if i % 2 else part for i, part in enumerate(parts)]


def _approximate(number: str) -> Decimal:
    above, _, below = number.partition("/")
    return _COMPARED.divide(Decimal(above), Decimal(below or "1"))


def many_sequences(n_sequences: int | None, gap: EventGap, factor: ExpFactor | None) -> Phrase:
    """Return a description of an event with too many sequences to list."""
    number = "" if n_sequences is None else f" {n_sequences:,}"
    if factor is not None:
        lead = f"the{number} output sequences more than "
        return Phrase.of(lead, growth_amount(factor.epsilon), " times as likely")
    if gap.q == 0:
        return Phrase.of(f"the{number} output sequences that are possible on one side only")
    return Phrase.of(f"the{number} output sequences with the largest ratio")
