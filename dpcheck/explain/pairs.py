"""Pairs of neighbors: the one that is shown with its event, and those of a path formula."""

from __future__ import annotations

from dpcheck.chain.chain import IntArray
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.quantities.seen_pairs import SeenPairs
from dpcheck.check.values.exp_factor import EventGap
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import Number, compare
from dpcheck.explain.minimal import SmallestEvent, Violations
from dpcheck.logic.formulas import PathFormula
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


@dataclass(frozen=True)
class Gap:
    """The probabilities of a path formula at a pair of neighbors, the larger one first."""

    left: int
    right: int
    p: Number
    q: Number


def gaps_of(truths: Truths, path: PathFormula, pairs: IntArray) -> list[Gap]:
    """Return the gap of each pair, pairs [n_pairs, 2]."""
    chances = [truths.probabilities(path, pairs[:, k]) for k in (0, 1)]
    return [
        Gap(s, t, p, q) if compare(p, q) >= 0 else Gap(t, s, q, p)
        for (s, t), p, q in zip(pairs.tolist(), *chances, strict=True)
    ]
