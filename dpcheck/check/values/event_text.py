"""Events and output sequences in words."""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck.check.values.exp_factor import Factor, Gap
from dpcheck.exact import Number, exp_text
from dpcheck.records import dataclass

STOPPED, DIVERGED, GOES_ON = 0, 1, 2
"""How a sequence of outputs ends; `GOES_ON`: with anything."""

MAX_LISTED = 4096
N_RUNS = 3


@dataclass(frozen=True, slots=True)
class EventText:
    """An event in words, and the sequences in it that carry most of the difference.

    `sequences` lists the event, or describes it when it has more than `MAX_LISTED` members; then
    `n_sequences` is their number, if it is known. `runs` are (sequence, p, q).
    """

    sequences: tuple[str, ...]
    runs: tuple[tuple[str, Number, Number], ...]
    n_sequences: int | None = None


def sequence_text(outputs: Sequence[str], end: int) -> str:
    """Return a sequence of outputs in words; `...` where it goes on.

    Outputs are values and labels as the language writes them: outside of quotes and brackets they
    have no comma, and none is `diverged`, `...` or `(no output)`. So no two sequences are written
    alike.

    >>> sequence_text(["bot", "top"], 0), sequence_text([], 0), sequence_text(["bot"], DIVERGED)
    ('bot, top', '(no output)', 'bot, diverged')
    """
    if end == DIVERGED:
        return ", ".join([*outputs, "diverged"])
    if end == GOES_ON:
        return ", ".join([*outputs, "..."])
    return ", ".join(outputs) if outputs else "(no output)"


def many_sequences(n_sequences: int | None, gap: Gap, factor: Factor | None) -> str:
    """Return a description of an event with too many sequences to list."""
    number = "" if n_sequences is None else f" {n_sequences}"
    if factor is not None:
        times = exp_text(factor.epsilon)
        return f"the{number} output sequences more than {times} times as likely"
    if gap.q == 0:
        return f"the{number} output sequences that are possible on one side only"
    return f"the{number} output sequences with the largest ratio"
