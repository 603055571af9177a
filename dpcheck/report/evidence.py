"""What was derived again from the text of a model, for people."""

from __future__ import annotations

from collections.abc import Iterator

from dpcheck.check.values.verdicts import Amount, ShownEvent
from dpcheck.records import dataclass
from dpcheck.report.notation import amount_text, event_text

_EVENT_ROOM = 240
"""Characters of a set of sequences."""


@dataclass(frozen=True)
class Drawn:
    """How often an event happened in drawn runs, and its exact confidence interval at 95 %."""

    hits: int
    runs: int
    low: float
    high: float


@dataclass(frozen=True)
class Replayed:
    """A witness that is true of the model's text; its `event` is empty if the claim names it.

    sides: each input, the chance of the event from there, and drawn runs; or why none are.
    """

    path: str
    claim: str
    place: str
    event: ShownEvent
    sides: tuple[tuple[str, Amount, Drawn | None], ...]
    undrawn: str | None


@dataclass(frozen=True)
class OnlyVerified:
    """A witness that shows no violation: `told` is what `verify` says of it."""

    path: str
    told: str


def replay_lines(found: Replayed | OnlyVerified) -> Iterator[str]:
    """Yield that a claim is violated, and the chance of the event from each side."""
    if isinstance(found, OnlyVerified):
        yield f"{found.path}: {found.told}; only violations are derived from the model's text"
        return
    yield f"{found.path}: {found.claim} is violated by the text of {found.place}"
    if found.event:
        is_one = isinstance(found.event, tuple) and len(found.event) == 1
        yield f"  {'output' if is_one else 'event'}  {event_text(found.event, _EVENT_ROOM)}"
    for text, chance, drawn in found.sides:
        bounds = "at least {} and at most {}".format(*chance.enclosure or ("", ""))
        yield f"  {text}  {amount_text(chance) if chance.enclosure is None else bounds}"
        if drawn is not None:
            yield (
                f"    drawn {drawn.hits:,} of {drawn.runs:,} = {drawn.hits / drawn.runs:.6g},"
                f" 95 % confidence from {drawn.low:.6g} to {drawn.high:.6g}"
            )
    if found.undrawn is not None:
        yield f"  no runs were drawn: {found.undrawn}"
