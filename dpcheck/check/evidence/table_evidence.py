"""Event-level evidence from a table of all output sequences, or of all prefixes up to a length."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpcheck.certify.evidence import Shown
from dpcheck.chain.arrays import differences, marked
from dpcheck.chain.chain import BoolArray
from dpcheck.chain.sets import distinct
from dpcheck.check.evidence.paired_rows import PairedRows
from dpcheck.check.evidence.sequences import ENDS
from dpcheck.check.values.event_text import (
    MAX_LISTED,
    N_RUNS,
    EventText,
    by_value,
    many_sequences,
    output_sequence,
)
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.ranges import are_all_beyond, is_range
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import Number
from dpcheck.limits import Limits
from dpcheck.records import dataclass, field, replace

_MAX_CERTIFIED = 64
"""Bounds the event that is summed once more by `certify`, sequence by sequence."""


@dataclass(frozen=True, eq=False)
class TableEvidence:
    """Rows of a sequence table, those of neighbors side by side.

    shows_several: whether an output's code stands for several outputs.
    """

    rows: PairedRows
    output_text: Callable[[int], str]
    limits: Limits = field(default_factory=Limits)
    shows_several: Callable[[int], bool] = lambda _: False
    tells_in_the_long_run: ClassVar = False

    def worst_ratio(self) -> EventGap | None:
        """Return (p, q) of an event with the largest p/q over all pairs and directions.

        The event is a set of sequences with one and the same ratio: all of them. With q = 0 it is
        the one with the largest p. None where no pair has different rows.
        """
        without = self._largest_without_counterpart()
        return self._largest_ratio() if without is None else without

    def worst_gap(self, factor: ExpFactor) -> EventGap | None:
        """Return p - E q, the largest over all events, pairs and directions; None without pairs.

        Pairs whose gap is surely below that of another one are left out: floats with their errors
        tell. The others are compared exactly, and of equal gaps the first is returned.
        """
        best: EventGap | None = None
        least = 0
        for block in self.rows.blocks(self.limits):
            mask = block.exceeding(factor)
            low, high = block.excess_bounds(mask, factor)
            least = max(least, low.max(initial=0))
            segments, p_sums, q_sums = block.sums_of(mask, high >= least)
            for k, p, q in zip(segments.tolist(), p_sums, q_sums, strict=True):
                gap = block.gap(k, p, q)
                if best is None or _is_worse(gap, best, factor):
                    best = gap
        return best

    def event(self, gap: EventGap, factor: ExpFactor | None) -> tuple[int, ...]:
        """Return the sequences of a gap's event, in its pair and direction.

        They are those with p > E q; without a factor, those with the gap's own ratio.
        """
        block = self.rows.block_of(gap)
        return tuple(block.sequence[block.event(gap, factor)].tolist())

    def short_event(self, gap: EventGap, factor: ExpFactor | None) -> list[Shown] | None:
        """Return the outputs and ends of a gap's event; None where they are many."""
        event = self.event(gap, factor)
        table = self.rows.table
        if len(event) > _MAX_CERTIFIED:
            return None
        return [(table.outputs(k), ENDS[int(table.end[k])]) for k in event]

    def event_text(self, gap: EventGap, factor: ExpFactor | None) -> EventText:
        """Return a gap's event in words, and the sequences that carry most of p - q."""
        block = self.rows.block_of(gap)
        entries = marked(block.event(gap, factor))
        runs = tuple(
            (self.shown(int(block.sequence[j])), *block.probabilities(j))
            for j in block.heaviest(entries)[:N_RUNS]
        )
        if len(entries) > MAX_LISTED:
            return EventText(many_sequences(len(entries), gap, factor), runs, len(entries))
        return EventText(by_value(map(self.shown, block.sequence[entries].tolist())), runs)

    def shown(self, sequence: int) -> OutputSequence:
        """Return the outputs of a sequence, and how it ends."""
        outputs = map(self.output_text, self.rows.table.outputs(sequence))
        shown = output_sequence(outputs, int(self.rows.table.end[sequence]))
        # All outputs are looked at for it, so only where it says something.
        ends_beyond = bool(shown.outputs) and is_range(shown.outputs[-1])
        return replace(shown, has_all_beyond=ends_beyond and self._have_all_beyond)

    def stands_for_several(self, sequence: int) -> bool:
        """Return whether a sequence has an output that stands for several, as `> 3` may."""
        outputs = self.rows.table.outputs(sequence)
        return any(code >= 0 and self.shows_several(code) for code in outputs)

    @cached_property
    def _have_all_beyond(self) -> bool:
        """Whether numbers beyond a window are all that are output there, in any sequence."""
        codes = np.unique(self.rows.table.shown).tolist()
        return are_all_beyond([self.output_text(code) for code in codes if code >= 0])

    def _largest_without_counterpart(self) -> EventGap | None:
        """Return the largest p of an event with q = 0."""
        best, any_factor = None, ExpFactor.of_number(1)  # by p alone, where q is 0
        if self.rows.have_one_support:
            return None
        for block in self.rows.blocks(self.limits):
            every = np.ones(len(block.pair), np.bool_)
            for k, p, q in zip(*block.sums_of(block.without_counterpart(), every), strict=True):
                gap = block.gap(k, p, q)
                if best is None or _is_worse(gap, best, any_factor):
                    best = gap
        return best

    def _largest_ratio(self) -> EventGap | None:
        """Return the event of all sequences with the largest ratio, where q is never 0.

        Different rows have a ratio above 1 in some direction, since both sum to 1.
        """
        ratio: Number = 1
        best: EventGap | None = None
        for block in self.rows.blocks(self.limits):
            larger = block.largest_ratio(ratio)
            if larger is not None:
                ratio, best = larger, block.ratio_gap(larger)
            elif best is not None and not block.is_forward and best.pair >= block.pair[0]:
                gap = block.ratio_gap(ratio)
                best = gap if gap is not None and gap.is_before(best) else best
        return best

    def certain(self) -> BoolArray:
        """Return which pairs have one and the same sequence, certain on both sides, [n_pairs].

        One that ends in `> 3`, for all numbers above 3, stands for as many sequences.
        """
        table, pairs = self.rows.table, self.rows.pairs
        found: BoolArray = (differences(table.indptr)[pairs] == 1).all(axis=1)
        # A row of one sequence has it with certainty, however its weight is written.
        sequences = table.sequences[table.indptr[pairs]]
        found &= sequences[:, 0] == sequences[:, 1]
        kept = distinct(sequences[found]).tolist()
        return found & ~np.isin(sequences[:, 0], list(filter(self.stands_for_several, kept)))


def n_listed(evidence: object) -> int | None:
    """Return the number of different sequences where evidence lists them."""
    return evidence.rows.table.n_sequences if isinstance(evidence, TableEvidence) else None


def _is_worse(gap: EventGap, best: EventGap, factor: ExpFactor) -> bool:
    """Return whether p - E q is greater for a gap than for the best so far, or as great before it.

    So what is found does not hang on the parts in which pairs are compared.
    """
    if gap.exceeds(best, factor):
        return True
    return gap.is_before(best) and not best.exceeds(gap, factor)
