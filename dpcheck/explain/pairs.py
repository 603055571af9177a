"""The pair of neighbors that is shown, with its event and the evidence they come from."""

from __future__ import annotations

from dpcheck.check.quantities.seen_pairs import SeenPairs
from dpcheck.check.values.exp_factor import EventGap
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.explain.minimal import SmallestEvent, Violations
from dpcheck.records import dataclass


@dataclass(frozen=True, eq=False)
class ShownPair:
    """The pair shown, its smallest event, and the evidence they come from.

    left, right: states of the chain that was asked about; `sources` are the same ones in the chain
    that was seen, which shows one output per transition.
    """

    seen: SeenPairs
    found: Violations
    gap: EventGap
    event: SmallestEvent
    left: int
    right: int
    sources: tuple[int, int]

    @property
    def sequences(self) -> tuple[OutputSequence, ...]:
        """The sequences of the event, by falling gap."""
        return tuple(map(self.found.evidence.shown, self.event.sequences))
