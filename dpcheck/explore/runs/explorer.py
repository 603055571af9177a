"""The exploration of a mechanism's runs: from all its inputs to its raw graph, batch by batch.

States wait at their cut points. The point that comes first in the program's order is taken with all
its states, so that batches are as large as can be; each batch walks to the next cut points, and the
states it finds there wait in turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from dpcheck.chain.arrays import differences, marked
from dpcheck.chain.chain import IntArray
from dpcheck.chain.weights.rows import Rows
from dpcheck.explore.programs.liveness import END
from dpcheck.explore.runs.batches import Arrived, Batch, Part
from dpcheck.explore.runs.endless_memory import FIRST_LOOK, endless_memory
from dpcheck.explore.runs.program_points import DRAWS, STOPPED
from dpcheck.explore.runs.raw_graph import RawGraph, RawStates, StatesAtPoint
from dpcheck.explore.runs.walk import Walk
from dpcheck.explore.sampling.distributions import Supports
from dpcheck.explore.tails.tails import state_column
from dpcheck.explore.values.codes import UNASSIGNED
from dpcheck.explore.values.evaluate import Frame
from dpcheck.explore.values.mistakes import MistakesFound
from dpcheck.model.program import Sample

MAX_ROWS = 1 << 20
"""How many rows a batch has at most when it leaves a cut point."""

MAX_MISTAKES = 20
"""Mistakes after which exploring ends: nobody reads more."""


def explored_runs(states: RawStates, supports: Supports) -> tuple[Rows, RawGraph]:
    """Return the raw graph from some starts; what is known of distributions stays in `supports`.

    Its rows, over all raw states, come first: they are long, and of no use once they are summed up.
    Raises `MistakesFound` if some run makes a mistake of the user, `LimitReached` at a limit,
    `WindowTooSmall` where a wide variable meets a number outside of the window of tails.
    """
    Explorer(states, supports).run()
    if states.mistakes:
        raise MistakesFound(states.mistakes)
    return states.graph()


class Explorer:
    """The loop over cut points."""

    def __init__(self, states: RawStates, supports: Supports) -> None:
        """Start before the first batch."""
        self.states, self.flow, self.limits = states, states.flow, states.limits
        self.tails, self.supports = states.tails, supports
        self.next_look = FIRST_LOOK

    def run(self) -> None:
        """Expand states until none is left, in the program's order."""
        self._expand_start()
        while len(self.states.mistakes) < MAX_MISTAKES and (waiting := self.states.next_waiting()):
            table, first, last = waiting
            for rows in self._blocks(table, first, last):
                self.states.check_limits()
                self._check_memory()
                self._expand(table, rows)

    def _check_memory(self) -> None:
        """Raise `MistakesFound` where ever more is known of numbers beyond the window."""
        if self.tails is None or len(self.tails.states.states) < self.next_look:
            return
        self.next_look *= 2
        mistake = endless_memory(self.states, self.tails)
        if mistake is not None:
            raise MistakesFound([mistake])

    def _blocks(self, table: StatesAtPoint, first: int, last: int) -> Iterable[slice]:
        """Cut states into blocks that lead to at most `MAX_ROWS` rows, one state at least."""
        n_most = (last - first) * (self.supports.largest if table.cut[0] == "sample" else 1)
        if n_most <= MAX_ROWS:
            return [slice(first, last)] if first < last else []
        if table.cut[0] == "sample":
            costs = self.supports.lengths(table.states.column(0)[first:last])
        else:
            costs = np.ones(last - first, np.int64)
        cuts = marked(differences(costs.cumsum() // MAX_ROWS)) + 1 + first
        return [slice(a, b) for a, b in pairwise([first, *cuts.tolist(), last])]

    def _expand_start(self) -> None:
        entry, inputs = self.states.mechanism.entry, self.states.inputs
        no_tails = () if self.tails is None else self.tails.columns
        for first in range(0, self.states.n_inputs, MAX_ROWS):
            source = np.arange(first, min(first + MAX_ROWS, self.states.n_inputs))
            columns = {
                name: inputs[name][source]
                if name in inputs
                else np.full(len(source), 0 if name in no_tails else UNASSIGNED, np.int64)
                for name in self.flow.live[entry]
            }
            self.states.check_limits()
            self._leave(entry, source, Frame(len(source), columns))

    def _expand(self, table: StatesAtPoint, rows: slice) -> None:
        """Run the code after some states of a cut point, up to the next cut points."""
        kind, node_index = table.cut
        source, frame = table.numbers[rows], table.frame(rows)
        if kind == "sample":
            self._draw(node_index, source, frame)
        else:
            self._leave(node_index, source, frame, leaves_head=kind == "head")

    def _draw(self, index: int, source: IntArray, frame: Frame) -> None:
        """Leave a `~` with every value of its distribution."""
        node = self.flow.nodes[index]
        assert isinstance(node, Sample), "samples are cut points of their own"
        numbers = frame[DRAWS]
        drawn = self.supports.drawn(numbers)
        self.states.scales.append((source, self.supports.denominators(numbers)))
        value, label, arrived = drawn.value, drawn.value, None
        changed: dict[str, IntArray] = {}
        rows = frame.at(drawn.row)
        if self.tails is not None and index in self.tails.wide.arriving:
            value, label, side, changed = self.tails.arrived(
                index, node.target, drawn.value, rows, self.flow.live[node.next]
            )
            arrived = Arrived(state_column(self.tails.wide.arriving[index]), side)
        batch = Batch(source[drawn.row], drawn.numerators, label, arrived)
        walk = Walk(self.states, self.supports, batch)
        part = Part(rows, batch.every)
        for name, column in changed.items():
            part = part.bound(name, column)
        walk.run(node.next, walk.assigned(node, node.target, node.within, value, part))

    def _leave(
        self, point: int, source: IntArray, frame: Frame, *, leaves_head: bool = False
    ) -> None:
        """Go on deterministically from states of a cut point."""
        ones = np.ones(len(source), np.int64)
        self.states.scales.append((source, ones))
        batch = Batch(source, ones, np.zeros(len(source), np.int64))
        part = Part(frame, batch.every)
        if point == END:
            self.states.record(batch, [(part, np.full(len(source), STOPPED, np.int64))])
        else:
            Walk(self.states, self.supports, batch).run(point, part, leaves_head=leaves_head)
