"""The walk of a batch through deterministic code, on arrays: from a cut point to the next ones.

An assignment is one numpy expression, a branch splits the rows by a mask, and parts that meet at a
node go on together.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import assert_never

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct
from dpcheck.diagnostics.runs import IndexOutOfRange, LengthsDiffer, OutsideDeclaredSet, RunFails
from dpcheck.explore.programs.liveness import Flow
from dpcheck.explore.runs.batches import Batch, Part
from dpcheck.explore.runs.program_points import DRAWS, MAX_PASSES, MAX_PASSING, SHOWN, STOPPED, Cut
from dpcheck.explore.runs.raw_graph import RawStates
from dpcheck.explore.sampling.distributions import Supports, distributions
from dpcheck.explore.tails.tails import TAIL_STATE, state_column
from dpcheck.explore.values.codes import FALSE, FIRST_FAULT, TRUE, UNASSIGNED, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated, truths
from dpcheck.explore.values.mistakes import MistakeFault, spoken
from dpcheck.model import program
from dpcheck.model.evaluation import Fault, described
from dpcheck.model.expressions import Apply, Expr, Var, reads
from dpcheck.model.values import value_text
from dpcheck.source import Span

MAX_DEPTH = 32
"""How many views a frame may be away from its columns before they are gathered."""


class Walk:
    """One batch on its way through deterministic code.

    `waiting` holds the parts before each node; nodes are taken in the graph's order, so that
    parts meet before they go on together.
    """

    def __init__(self, states: RawStates, supports: Supports, batch: Batch) -> None:
        """Start with nothing on its way; what is found goes to `states`."""
        self.states, self.supports, self.batch = states, supports, batch
        self.flow, self.table, self.tails = states.flow, states.table, states.tails
        self.waiting: dict[int, list[Part]] = {}
        self.queue: list[tuple[int, int]] = []
        self.ends: list[tuple[Part, IntArray]] = []
        self.n_steps = 0
        self.n_passes = 0

    def run(self, start: int, part: Part, *, leaves_head: bool = False) -> None:
        """Walk from a node to the next cut points and record the edges.

        A loop head is a cut point where code might come back to it for ever, but not at every pass:
        a state that comes back comes back to the states of every so many passes too.
        """
        node = self.flow.nodes[start]
        if isinstance(node, program.Branch) and leaves_head:
            self._branch(node, part)
        else:
            self._send(start, part)
        while self.queue:
            _, index = heappop(self.queue)
            self._step(index, self._met(index, self.waiting.pop(index)))
            self.n_steps += 1
            if self.n_steps % 64 == 0:
                self.states.check_time()
        if self.ends:
            self.states.record(self.batch, self.ends)

    def finish(self, part: Part, targets: IntArray) -> None:
        """Record that the rows have reached raw states [n_rows] (or `STOPPED`)."""
        self.ends.append((part, targets))

    def assigned(
        self, node: program.Node, target: str, within: Expr | None, value: IntArray, part: Part
    ) -> Part:
        """Return the rows with a new value [n_rows] of a variable, where it is in the set."""
        if within is None:
            return part.bound(target, value)
        rows = self._inside(node, target, within, value, part)
        return part.at(rows).bound(target, value[rows])

    def _inside(
        self, node: program.Node, target: str, within: Expr, value: IntArray, part: Part
    ) -> IntArray:
        """Return the rows whose new value lies in the declared set; others are mistakes."""
        test = Apply("in", (Var("", node.span), within), node.span)
        truth = truths(test, part.frame.bound("", value), self.table)
        bad = marked(truth == FALSE)
        if len(bad):
            domain = evaluated(within, part.frame.at(bad[:1]), self.table)
            mistake = OutsideDeclaredSet(
                node.span,
                (),
                spoken(target),
                value_text(self.table.value(int(value[bad[0]]))),
                value_text(self.table.value(int(domain[0]))),
            )
            self._met_mistake(MistakeFault(mistake), node.span, part, int(bad[0]))
        self._report(truth, node.span, part)
        return marked(truth == TRUE)

    def _send(self, index: int, part: Part) -> None:
        if not len(part.origin):
            return
        if index not in self.waiting:
            self.waiting[index] = []
            heappush(self.queue, (self.flow.order[index], index))
        self.waiting[index].append(part)

    def _met(self, index: int, parts: list[Part]) -> Part:
        """Join parts that meet at a node; only what is live there goes on."""
        live = self.flow.live[index]
        if len(parts) == 1 and parts[0].frame.depth < MAX_DEPTH:
            return parts[0]
        origin = np.concatenate([part.origin for part in parts])
        columns = {name: np.concatenate([part.frame[name] for part in parts]) for name in live}
        return Part(Frame(len(origin), columns), origin)

    def _step(self, index: int, part: Part) -> None:
        """Run one node on all its rows."""
        if self.tails is not None:
            self.tails.check(index, part.frame)
        match self.flow.nodes[index]:
            case program.Assign() as node:
                codes, part = self._valued(node.value, part, node.span)
                part = self.assigned(node, node.target, node.within, codes, part)
                self._send(node.next, part)
            case program.AssignCell() as node:
                self._assign_cell(node, part)
            case program.Unpack() as node:
                self._unpack(node, part)
            case program.Forget() as node:
                nothing = np.full(len(part.origin), UNASSIGNED, np.int64)
                for target in set(node.targets) - self.flow.kept:
                    part = part.bound(target, nothing)
                self._send(node.next, part)
            case program.Branch() as node if index in self.flow.endless and not self._may_pass(
                part
            ):
                self._arrive(("head", index), {}, index, part)
            case program.Branch() as node:
                self._branch(node, part)
            case program.Sample() as node:
                self._sample(index, node, part)
            case program.Output() as node:
                codes, part = self._valued(node.value, part, node.span)
                point = self.flow.point(node.next)
                self._arrive(("shown", point), {SHOWN: codes}, point, part)
            case program.Stop():
                self.finish(part, np.full(len(part.origin), STOPPED, np.int64))
            case program.Fail() as node:
                mistake = RunFails(node.span, (), node.reason)
                self._met_mistake(MistakeFault(mistake), node.span, part, 0)
            case never:
                assert_never(never)

    def _may_pass(self, part: Part) -> bool:
        """Return whether few rows may go on at a loop head once more; many should merge there.

        Those that do count as states: a loop that ends never is to reach that limit as soon.
        """
        self.n_passes += 1
        may_pass = self.n_passes <= MAX_PASSES and len(part.origin) <= MAX_PASSING
        if may_pass:
            self.states.n_passed += len(part.origin)
        return may_pass

    def _arrive(self, cut: Cut, extra: dict[str, IntArray], point: int, part: Part) -> None:
        """End at a cut point, with its extra column and what is live there."""
        if len(part.origin):
            part = self._settled(part, self.flow.live_at(point))
            part = self._mixed(part, self.flow.live_at(point), *extra.values())
            live = {name: part.frame[name] for name in self.flow.live_at(point)}
            states = self.states.reach(cut, extra | live, part, self.batch)
            self.finish(part, states)

    def _distributions(
        self, index: int, node: program.Sample, kept: tuple[str, ...], frame: Frame
    ) -> IntArray:
        """Return the number of each row's distribution [n_rows], or a fault's code."""
        if self.tails is not None and index in self.tails.wide.revealing:
            assert isinstance(node.distribution, program.Parametric), "it is `reveal`"
            from dpcheck.explore.sampling.reveal import revealing

            group = self.tails.wide.revealing[index]
            return revealing(node.distribution, group, frame, kept, self.tails, self.supports)
        match node.distribution:
            case program.Parametric(word="resolve") as resolve if self.tails is not None:
                from dpcheck.explore.sampling.reveal import resolving

                return resolving(resolve, index, frame, kept, self.tails, self.supports)
        return distributions(node.distribution, frame, self.supports)

    def _settled(self, part: Part, live: tuple[str, ...]) -> Part:
        """Return the rows where what was known of dead wide variables is forgotten."""
        if self.tails is not None:
            for name, column in self.tails.settled(part.frame, live).items():
                part = part.bound(name, column)
        return part

    def _mixed(self, part: Part, live: tuple[str, ...], *extra: IntArray) -> Part:
        """Return the rows where ways that differ in laws beyond the window alone are one.

        extra: columns [n_rows] that matter beside those that are live. States that are compared
        draw by draw stay apart: which of them are neighbors hangs on all that they remember.
        """
        arrived = self.batch.arrived
        if arrived is None or arrived.column not in live or self.states.labelled_edges is not None:
            return part
        assert self.tails is not None, "a number has arrived"
        others = [part.frame[name] for name in live if name != arrived.column]
        alike = [self.batch.source_of(part), arrived.side[part.origin], *extra, *others]
        states, weight = part.frame[arrived.column], self.batch.weight_of(part)
        return part.bound(arrived.column, self.tails.mixed(states, alike, weight))

    def _valued(self, expr: Expr, part: Part, span: Span) -> tuple[IntArray, Part]:
        """Return an expression's codes, and the rows where it has a value."""
        codes = evaluated(expr, part.frame, self.table)
        if self._report(codes, span, part):
            rows = marked(codes < FIRST_FAULT)
            return codes[rows], part.at(rows)
        return codes, part

    def _report(self, codes: IntArray, span: Span, part: Part) -> bool:
        """Add the mistakes that faults among the codes are, and return whether there are any."""
        faulty = marked(codes >= FIRST_FAULT)
        if not len(faulty):
            return False
        distinct, first = np.unique(codes[faulty], return_index=True)
        for code, k in zip(distinct.tolist(), first.tolist(), strict=True):
            self._met_mistake(self.table.fault_of(code), span, part, int(faulty[k]))
        return True

    def _met_mistake(self, fault: Fault, span: Span, part: Part, row: int) -> None:
        origin = int(part.origin[row])
        source, drawn = int(self.batch.source[origin]), int(self.batch.drawn[origin])
        self.states.add_mistake(fault, span, source, drawn)

    def _assign_cell(self, node: program.AssignCell, part: Part) -> None:
        index, part = self._valued(node.index, part, node.span)
        fault = _index_faults(node, index, self.table)
        if self._report(fault, node.span, part):
            rows = marked(fault < FIRST_FAULT)
            index, part = index[rows], part.at(rows)
        codes = evaluated(node.value, part.frame, self.table)
        good = marked(codes < FIRST_FAULT)
        if self._report(codes, node.span, part):
            codes, index, part = codes[good], index[good], part.at(good)
        if node.within is not None:
            rows = self._inside(node, node.array, node.within, codes, part)
            codes, index, part = codes[rows], index[rows], part.at(rows)
        live = frozenset(self.flow.live[node.next])
        for place, cell in enumerate(node.cells, start=node.lo):
            hit = index == place
            if cell in live and hit.any():
                new = codes if hit.all() else np.where(hit, codes, part.frame[cell])
                part = part.bound(cell, new)
        self._send(node.next, part)

    def _unpack(self, node: program.Unpack, part: Part) -> None:
        codes, part = self._valued(node.value, part, node.span)
        distinct, group = np.unique(codes, return_inverse=True)
        table = np.empty((len(distinct), len(node.targets)), np.int64)
        for k, code in enumerate(distinct.tolist()):
            value = self.table.value(code)
            if isinstance(value, tuple) and len(value) == len(node.targets):
                table[k] = [self.table.code(item) for item in value]
            else:
                what = f"{len(node.targets)} values are needed here, not {described(value)}"
                mistake = LengthsDiffer(node.span, (), what)
                table[k] = self.table.fault(MistakeFault(mistake))
        if self._report(table[group, 0], node.span, part):
            rows = marked(table[group, 0] < FIRST_FAULT)
            group, part = group[rows], part.at(rows)
        for k, target in enumerate(node.targets):
            part = part.bound(target, table[group, k])
        self._send(node.next, part)

    def _branch(self, node: program.Branch, part: Part) -> None:
        truth = truths(node.condition, part.frame, self.table)
        self._report(truth, node.condition.span, part)
        then, orelse = marked(truth == TRUE), marked(truth == FALSE)
        self._send(node.then, part.at(then))
        self._send(node.orelse, part.at(orelse))

    def _sample(self, index: int, node: program.Sample, part: Part) -> None:
        live, kept = self.flow.live[index], _kept_at_sample(self.flow, node)
        part = self._mixed(self._settled(part, live), live)
        frame = part.frame
        if self.tails is not None and index in self.tails.wide.arriving:
            column = state_column(self.tails.wide.arriving[index])
            frame = part.frame.bound(TAIL_STATE, part.frame[column])
        numbers = self._distributions(index, node, kept, frame)
        if self._report(numbers, node.span, part):
            rows = marked(numbers < FIRST_FAULT)
            numbers, part = numbers[rows], part.at(rows)
        if not len(part.origin):
            return
        columns = {DRAWS: numbers} | {name: part.frame[name] for name in kept}
        cut: Cut = ("sample", index)
        self.finish(part, self.states.reach(cut, columns, part, self.batch))


def _kept_at_sample(flow: Flow, node: program.Sample) -> tuple[str, ...]:
    """Return the variables that still matter once the distribution of a `~` is known, sorted."""
    kept = set(flow.live[node.next]) - {node.target}
    kept |= set() if node.within is None else set(reads(node.within))
    return tuple(sorted(kept))


def _index_faults(node: program.AssignCell, index: IntArray, table: ValueTable) -> IntArray:
    """Return a fault for each row whose index is none of the array's, 0 elsewhere."""
    last = node.lo + len(node.cells) - 1
    result = np.zeros(len(index), np.int64)
    for code in distinct(index[(index < node.lo) | (index > last)]).tolist():
        value = value_text(table.value(code))
        what = f"index {value} is outside {node.lo}..{last}, the indices of `{spoken(node.array)}`"
        mistake = IndexOutOfRange(node.index.span, (), what)
        result[index == code] = table.fault(MistakeFault(mistake))
    return result
