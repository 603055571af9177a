"""The raw graph of a mechanism: its runs, cut where something random, shown or endless happens.

A *raw state* is a cut point with the values that still matter there. Cut points are the start (one
state per input value, never merged), every `~` once its distribution is known (the inputs it was
computed from are forgotten), the moment after an output, and now and then the test of a `while`
that might go on for ever without any of these. Between cut points code is deterministic and runs on
whole batches: columns of values, split by masks, joined again where paths meet. Batches are taken
in the graph's order, so that they are as large as can be, and what reaches a cut point is looked up
in one table of states, so that states merge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush
from itertools import pairwise
from typing import assert_never

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.rows import Rows
from dpcheck.chain.scales import concatenated, summed
from dpcheck.chain.sets import distinct, in_order
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.runs import IndexOutOfRange, LengthsDiffer, OutsideDeclaredSet, RunFails
from dpcheck.explore import few
from dpcheck.explore.columns import FALSE, FIRST_FAULT, TRUE, UNASSIGNED, ValueTable
from dpcheck.explore.cuts import DRAWS, MAX_PASSES, MAX_PASSING, SHOWN, STOPPED, Cut
from dpcheck.explore.distributions import Supports, distributions
from dpcheck.explore.evaluate import Frame, comparison, evaluated, truths
from dpcheck.explore.few import FewRows, Formulas, kept_at_sample, walk_draws, walk_from
from dpcheck.explore.flow import END, Flow
from dpcheck.explore.growing import Growing
from dpcheck.explore.lists import Unusual
from dpcheck.explore.mistakes import MistakeFault, MistakesFound, mistake_of
from dpcheck.explore.states import StateTable
from dpcheck.limits import Limits
from dpcheck.model.evaluation import Fault, described
from dpcheck.model.expressions import Apply, Expr, Var
from dpcheck.model.program import (
    Assign,
    AssignCell,
    Branch,
    Fail,
    Mechanism,
    Node,
    Output,
    Sample,
    Stop,
    Unpack,
)
from dpcheck.model.values import value_text
from dpcheck.records import dataclass
from dpcheck.source import Span

MAX_ROWS = 1 << 20
"""How many rows a batch has at most when it leaves a cut point."""

MAX_DEPTH = 32
"""How many views a frame may be away from its columns before they are gathered."""

MAX_MISTAKES = 20
MAX_RUN_STEPS = 12


@dataclass(frozen=True, eq=False)
class Discovered:
    """The states of one cut point: their columns by name, and their numbers among all."""

    columns: dict[str, IntArray]
    numbers: IntArray


@dataclass(frozen=True, eq=False)
class LabelledEdges:
    """Every edge with the code of what `~` gave (0 elsewhere), for the lock-step construction."""

    sources: IntArray
    labels: IntArray
    targets: IntArray


@dataclass(frozen=True, eq=False)
class RawGraph:
    """All raw states and their rows; the last state is †.

    rows over n_states targets; silent [n_states]; `cuts` maps a cut point to its states;
    `places` [n_states] is an index into `spans`: the statement a state was first made by.
    `labelled` is present where it was asked for.
    """

    rows: Rows
    silent: BoolArray
    cuts: dict[Cut, Discovered]
    places: IntArray
    spans: tuple[Span, ...]
    stopped: int
    labelled: LabelledEdges | None


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows on their way through deterministic code; `origin` counts rows of the batch.

    weight [n_rows] is present where a row stands for several of the batch.
    """

    frame: Frame
    origin: IntArray
    weight: WeightArray | None = None

    def at(self, rows: IntArray) -> _Part:
        """Return some of the rows."""
        if len(rows) == len(self.origin):
            return self
        weight = None if self.weight is None else self.weight[rows]
        return _Part(self.frame.at(rows), self.origin[rows], weight)

    def bound(self, name: str, column: IntArray) -> _Part:
        """Return the rows with a new value of a variable."""
        return _Part(self.frame.bound(name, column), self.origin, self.weight)


@dataclass(frozen=True, eq=False)
class _Batch:
    """Where rows of deterministic code come from.

    source [n_rows] raw state, increasing; weight [n_rows]; drawn [n_rows] the code of the result
    of `~`, 0 where the batch does not leave a `~`.
    """

    source: IntArray
    weight: WeightArray
    drawn: IntArray

    def weight_of(self, part: _Part) -> WeightArray:
        """Return the weight of each row of a part."""
        return self.weight[part.origin] if part.weight is None else part.weight


class _Table:
    """The states of one cut point, as they are discovered."""

    def __init__(self, cut: Cut, names: tuple[str, ...]) -> None:
        self.cut = cut
        self.names = names
        self.states = StateTable(len(names))
        self._numbers = Growing()
        self.n_expanded = 0

    @property
    def numbers(self) -> IntArray:
        """The number of each state among all."""
        return self._numbers.values

    def extend(self, numbers: IntArray) -> None:
        """Add the numbers of new states."""
        self._numbers.extend(numbers)

    def frame(self, rows: slice) -> Frame:
        columns = {n: self.states.column(k)[rows] for k, n in enumerate(self.names)}
        return Frame(len(self.numbers[rows]), columns)


def explore_runs(
    mechanism: Mechanism,
    flow: Flow,
    inputs: dict[str, IntArray],
    n_inputs: int,
    table: ValueTable,
    limits: Limits,
    *,
    labelled: bool,
) -> RawGraph:
    """Return the raw graph from one start per row of `inputs` (columns [n_inputs] by variable).

    Raises `MistakesFound` if some run makes a mistake of the user, `LimitReached` at a limit.
    """
    explorer = Explorer(mechanism, flow, inputs, n_inputs, table, limits, labelled=labelled)
    explorer.run()
    if explorer.mistakes:
        raise MistakesFound(explorer.mistakes)
    return explorer.graph()


class Explorer:
    """The tables and edges of an exploration under way."""

    def __init__(
        self,
        mechanism: Mechanism,
        flow: Flow,
        inputs: dict[str, IntArray],
        n_inputs: int,
        table: ValueTable,
        limits: Limits,
        *,
        labelled: bool,
    ) -> None:
        """Start before the first batch."""
        self.mechanism, self.flow, self.table, self.limits = mechanism, flow, table, limits
        self.inputs, self.n_inputs = inputs, n_inputs
        self.supports = Supports(table)
        self.formulas = Formulas(flow, self.supports)
        self.tables: dict[Cut, _Table] = {}
        self.queue: list[tuple[int, int, Cut]] = []
        self.n_states = n_inputs
        self.n_passed = 0
        self.mistakes: list[Mistake] = []
        self._seen_mistakes: set[Mistake] = set()
        self.sources: list[IntArray] = []
        self.targets: list[IntArray] = []
        self.weights: list[WeightArray] = []
        self.scales: list[tuple[IntArray, WeightArray]] = []
        self.labelled_edges: list[LabelledEdges] | None = [] if labelled else None
        self.parents = [np.full(n_inputs, -1, np.int64)]
        self.parent_drawn = [np.zeros(n_inputs, np.int64)]
        self.made_by = [np.zeros(n_inputs, np.int64)]
        self.spans: dict[Span, int] = {mechanism.span: 0}

    # --- the loop over cut points ----------------------------------------------------------

    def run(self) -> None:
        """Expand states until none is left, in the graph's order."""
        self._expand_start()
        while self.queue and len(self.mistakes) < MAX_MISTAKES:
            _, _, cut = heappop(self.queue)
            table = self.tables[cut]
            first, last = table.n_expanded, table.states.n_rows
            table.n_expanded = last
            for rows in self._blocks(table, first, last):
                self.limits.check_states(self.n_states + self.n_passed)
                self.limits.check_time(f"{self.n_states} states explored")
                self._expand(table, rows)

    def _blocks(self, table: _Table, first: int, last: int) -> Iterable[slice]:
        n_most = (last - first) * (self.supports.largest if table.cut[0] == "sample" else 1)
        if n_most <= MAX_ROWS:
            return [slice(first, last)] if first < last else []
        if table.cut[0] == "sample":
            costs = self.supports.lengths(table.states.column(0)[first:last])
        else:
            costs = np.ones(last - first, np.int64)
        cuts = np.flatnonzero(np.diff(np.cumsum(costs) // MAX_ROWS)) + 1 + first
        return [slice(a, b) for a, b in pairwise([first, *cuts.tolist(), last])]

    def _expand_start(self) -> None:
        entry = self.mechanism.entry
        for first in range(0, self.n_inputs, MAX_ROWS):
            source = np.arange(first, min(first + MAX_ROWS, self.n_inputs))
            columns = {
                name: self.inputs[name][source]
                if name in self.inputs
                else np.full(len(source), UNASSIGNED, np.int64)
                for name in self.flow.live[entry]
            }
            self.limits.check_states(self.n_states)
            frame = Frame(len(source), columns)
            if not self._leave_few(entry, source, columns, leaves_head=False):
                self._leave(entry, source, frame)

    def _expand(self, table: _Table, rows: slice) -> None:
        """Run the code after some states of a cut point, up to the next cut points."""
        kind, node_index = table.cut
        source, frame = table.numbers[rows], table.frame(rows)
        if kind == "sample":
            if not self._draw_few(node_index, source, frame):
                self._draw(node_index, source, frame)
        elif not self._leave_few(node_index, source, frame.columns, leaves_head=kind == "head"):
            self._leave(node_index, source, frame, leaves_head=kind == "head")

    # --- few rows --------------------------------------------------------------------------

    def _leave_few(
        self, point: int, source: IntArray, columns: dict[str, IntArray], *, leaves_head: bool
    ) -> bool:
        """Do what `_leave` does on lists, if there are few rows; tell whether it is done."""
        if len(source) > few.MAX_FEW or point == END or self.labelled_edges is not None:
            return False
        lists = {name: column.tolist() for name, column in columns.items()}
        walk = partial(walk_from, self, point, source.tolist(), lists, leaves_head=leaves_head)
        if self._is_walked(walk):
            self.scales.append((source, np.ones(len(source), np.int64)))
            return True
        return False

    def _draw_few(self, index: int, source: IntArray, frame: Frame) -> bool:
        """Do what `_draw` does on lists, if there are few rows; tell whether it is done."""
        if len(source) > few.MAX_FEW or self.labelled_edges is not None:
            return False
        numbers = frame[DRAWS]
        supports = self.supports.listed(numbers.tolist())
        if supports is None or sum(len(values) for values, _ in supports) > few.MAX_FEW:
            return False
        lists = {name: column.tolist() for name, column in frame.columns.items()}
        walk = partial(walk_draws, self, index, source.tolist(), lists, supports)
        if self._is_walked(walk):
            self.scales.append((source, self.supports.denominators(numbers)))
            return True
        return False

    def _is_walked(self, walk: Callable[[], None]) -> bool:
        """Tell whether a walk on lists came to its end; if not, nothing of it is recorded.

        What it has met are states that the walk on arrays meets too, in the same order.
        """
        n_passed = self.n_passed
        try:
            walk()
        except Unusual:
            self.n_passed = n_passed
            return False
        return True

    def reach_few(
        self,
        cut: Cut,
        columns: dict[str, list[int]],
        origin: list[int],
        batch: FewRows,
        span: Span,
    ) -> list[int]:
        """Return the raw states that rows are in at a cut point; new ones are queued."""
        table = self.tables.get(cut)
        if table is None:
            table = self.tables[cut] = _Table(cut, tuple(columns))
        if not columns:
            found, first = table.states.numbers([], len(origin))
            local, new = found.tolist(), first.tolist()
        else:
            local, new = table.states.numbers_of(list(zip(*columns.values(), strict=True)))
        if new:
            rows = [origin[place] for place in new]
            sources = np.array([batch.source[row] for row in rows], np.int64)
            drawn = np.array([batch.drawn[row] for row in rows], np.int64)
            self._add_states(table, sources, drawn, span)
        numbers: list[int] = table.numbers[local].tolist()
        return numbers

    def record_few(self, batch: FewRows, origins: list[int], targets: list[int]) -> None:
        """Add the edges of finished rows, parallel ones summed up."""
        size = self.n_states + 1
        sums: dict[int, int] = {}
        for row, target in zip(origins, targets, strict=True):
            edge = batch.source[row] * size + (target - STOPPED)
            sums[edge] = sums.get(edge, 0) + batch.weight[row]
        if sums:
            edges = sorted(sums)
            keys = np.array(edges, np.int64)
            sources = keys // size
            self.sources.append(sources)
            self.targets.append(keys - sources * size + STOPPED)
            self.weights.append(np.array([sums[edge] for edge in edges], np.int64))

    # --- many rows -------------------------------------------------------------------------

    def _draw(self, index: int, source: IntArray, frame: Frame) -> None:
        """Leave a `~` with every value of its distribution."""
        node = self.flow.nodes[index]
        assert isinstance(node, Sample), "samples are cut points of their own"
        numbers = frame[DRAWS]
        drawn = self.supports.drawn(numbers)
        self.scales.append((source, self.supports.denominators(numbers)))
        batch = _Batch(source[drawn.row], drawn.numerators, drawn.value)
        walk = _Walk(self, batch)
        part = _Part(frame.at(drawn.row), np.arange(len(drawn.row)))
        walk.run(node.next, walk.assigned(node, node.target, node.within, drawn.value, part))

    def _leave(
        self, point: int, source: IntArray, frame: Frame, *, leaves_head: bool = False
    ) -> None:
        """Go on deterministically from states of a cut point."""
        ones = np.ones(len(source), np.int64)
        self.scales.append((source, ones))
        walk = _Walk(self, _Batch(source, ones, np.zeros(len(source), np.int64)))
        part = _Part(frame, np.arange(len(source)))
        if point == END:
            self.record(walk.batch, [(part, np.full(len(source), STOPPED, np.int64))])
        else:
            walk.run(point, part, leaves_head=leaves_head)

    # --- states and edges ------------------------------------------------------------------

    def reach(
        self, cut: Cut, columns: dict[str, IntArray], part: _Part, batch: _Batch, span: Span
    ) -> IntArray:
        """Return the raw states the rows are in at a cut point; new ones are queued."""
        table = self.tables.get(cut)
        if table is None:
            table = self.tables[cut] = _Table(cut, tuple(columns))
        local, new = table.states.numbers(list(columns.values()), len(part.origin))
        if len(new):
            origin = part.origin[new]
            self._add_states(table, batch.source[origin], batch.drawn[origin], span)
        return table.numbers[local]

    def _add_states(self, table: _Table, sources: IntArray, drawn: IntArray, span: Span) -> None:
        """Add new states of a cut point, each first met after a raw state and what it drew."""
        point = table.cut[1]
        if table.n_expanded == len(table.numbers):
            place = self.flow.order[point] if point != END else len(self.flow.order)
            heappush(self.queue, (place, len(self.tables), table.cut))
        table.extend(self.n_states + np.arange(len(sources)))
        self.n_states += len(sources)
        self.parents.append(sources)
        self.parent_drawn.append(drawn)
        place = self.spans.setdefault(span, len(self.spans))
        self.made_by.append(np.full(len(sources), place, np.int64))

    def record(self, batch: _Batch, ends: list[tuple[_Part, IntArray]]) -> None:
        """Add the edges of finished rows, parallel ones summed up."""
        parts = []
        for part, targets in ends:
            source = batch.source[part.origin]
            if self.labelled_edges is not None:
                drawn = batch.drawn[part.origin]
                self.labelled_edges.append(LabelledEdges(source, drawn, targets))
            parts.append(_summed_up(source, targets, batch.weight_of(part)))
        source = _joined([source for source, _, _ in parts])
        target = _joined([target for _, target, _ in parts])
        weight = concatenated([weight for _, _, weight in parts])
        first, size = int(source.min()), self.n_states + 1
        keys = (source - first) * size + (target - STOPPED)
        if not np.all(keys[1:] > keys[:-1]):
            _, order = in_order(keys, (int(source.max()) - first + 1) * size)
            source, target, weight = _summed_up(source[order], target[order], weight[order])
        self.sources.append(source)
        self.targets.append(target)
        self.weights.append(weight)

    def graph(self) -> RawGraph:
        """Return all of it, with † as the last state."""
        n = self.n_states
        sources = _joined(self.sources)
        _, order = in_order(sources, n)
        indptr = np.zeros(n + 2, np.int64)
        np.cumsum(np.bincount(sources, minlength=n + 1), out=indptr[1:])
        targets = _joined(self.targets)[order]
        weights = concatenated(self.weights)[order]
        owners = _joined([source for source, _ in self.scales])
        known = concatenated([scale for _, scale in self.scales])
        scales = concatenated([known[:0], np.ones(n + 1, np.int64)])
        scales[owners] = known
        silent = np.zeros(n + 1, np.bool_)
        for cut, table in self.tables.items():
            silent[table.numbers] = cut[0] in ("sample", "head")
        cuts = {
            cut: Discovered(dict(zip(t.names, t.states.columns, strict=True)), t.numbers)
            for cut, t in self.tables.items()
        }
        labelled = None
        if self.labelled_edges is not None:
            labelled = LabelledEdges(
                _joined([e.sources for e in self.labelled_edges]),
                _joined([e.labels for e in self.labelled_edges]),
                _stopped_at(n, _joined([e.targets for e in self.labelled_edges])),
            )
        rows = Rows(indptr, _stopped_at(n, targets), weights, scales)
        places = np.concatenate([*self.made_by, np.zeros(1, np.int64)])
        return RawGraph(rows, silent, cuts, places, tuple(self.spans), n, labelled)

    # --- mistakes --------------------------------------------------------------------------

    def met(self, fault: Fault, span: Span, source: int, drawn: int) -> None:
        """Add the mistake that a fault is, met after a raw state (which drew that value)."""
        key = mistake_of(fault, span, ())
        if key not in self._seen_mistakes:
            self._seen_mistakes.add(key)
            self.mistakes.append(mistake_of(fault, span, self._run_to(source, drawn)))

    def _run_to(self, state: int, drawn: int) -> tuple[str, ...]:
        """Describe a run: the inputs, then what each `~` gave and what was shown."""
        parents, parent_drawn = _joined(self.parents), _joined(self.parent_drawn)
        at = {
            int(number): (cut, k)
            for cut, table in self.tables.items()
            for k, number in enumerate(table.numbers.tolist())
        }
        steps: list[str] = []
        while state >= self.n_inputs:
            cut, k = at[state]
            if cut[0] == "sample":
                node = self.flow.nodes[cut[1]]
                assert isinstance(node, Sample), "samples are cut points of their own"
                value = value_text(self.table.value(drawn))
                steps.append(f"{spoken(node.target)} ~ {value}")
            elif cut[0] == "shown":
                shown = int(self.tables[cut].states.column(0)[k])
                steps.append(f"output {value_text(self.table.value(shown))}")
            state, drawn = int(parents[state]), int(parent_drawn[state])
        steps.reverse()
        if len(steps) > MAX_RUN_STEPS:
            steps = [f"... ({len(steps) - MAX_RUN_STEPS} steps) ...", *steps[-MAX_RUN_STEPS:]]
        given = input_text(self.mechanism, self.inputs, state, self.table)
        return (*((f"input {given}",) if given else ()), *steps)


def input_text(
    mechanism: Mechanism, inputs: dict[str, IntArray], row: int, table: ValueTable
) -> str:
    """Return the inputs of a start as text: `x = pos, q = [1, 2]`."""
    parts = []
    for one in mechanism.inputs:
        if one.lo is None:
            text = value_text(table.value(int(inputs[one.name][row])))
        else:
            cells = (value_text(table.value(int(inputs[cell][row]))) for cell in one.cells)
            text = f"[{', '.join(cells)}]"
        parts.append(f"{one.name} = {text}")
    return ", ".join(parts)


def _stopped_at(n: int, targets: IntArray) -> IntArray:
    return np.where(targets == STOPPED, n, targets)


def _joined(arrays: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, np.int64), *arrays])


def _summed_up(
    source: IntArray, target: IntArray, weight: WeightArray
) -> tuple[IntArray, IntArray, WeightArray]:
    """Return edges with the weights of equal ones that follow each other summed up.

    The weights of one source sum to at most its denominator: below 2^62 in int64.
    """
    starts = np.flatnonzero(_are_first(source) | _are_first(target))
    return source[starts], target[starts], summed(weight, starts, 0)


def _are_first(values: IntArray) -> BoolArray:
    """Return which values differ from the one before."""
    is_first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return is_first


class _Walk:
    """One batch on its way through deterministic code.

    `waiting` holds the parts before each node; nodes are taken in the graph's order, so that
    parts meet before they go on together.
    """

    def __init__(self, explorer: Explorer, batch: _Batch) -> None:
        self.explorer, self.batch = explorer, batch
        self.flow, self.table = explorer.flow, explorer.table
        self.waiting: dict[int, list[_Part]] = {}
        self.queue: list[tuple[int, int]] = []
        self.ends: list[tuple[_Part, IntArray]] = []
        self.n_steps = 0
        self.n_passes = 0

    def run(self, start: int, part: _Part, *, leaves_head: bool = False) -> None:
        """Walk from a node to the next cut points and record the edges.

        A loop head is a cut point where code might come back to it for ever, but not at every pass:
        a state that comes back comes back to the states of every so many passes too.
        """
        node = self.flow.nodes[start]
        if isinstance(node, Branch) and leaves_head:
            self._branch(node, part)
        else:
            self._send(start, part)
        while self.queue:
            _, index = heappop(self.queue)
            self._step(index, self._met(index, self.waiting.pop(index)))
            self.n_steps += 1
            if self.n_steps % 64 == 0:
                self.explorer.limits.check_time(f"{self.explorer.n_states} states explored")
        if self.ends:
            self.explorer.record(self.batch, self.ends)

    def finish(self, part: _Part, targets: IntArray) -> None:
        """Record that the rows have reached raw states (or `STOPPED`)."""
        self.ends.append((part, targets))

    def assigned(
        self, node: Node, target: str, within: Expr | None, value: IntArray, part: _Part
    ) -> _Part:
        """Return the rows with a new value of a variable, where it lies in the declared set."""
        if within is None:
            return part.bound(target, value)
        rows = self._inside(node, target, within, value, part)
        return part.at(rows).bound(target, value[rows])

    def _inside(
        self, node: Node, target: str, within: Expr, value: IntArray, part: _Part
    ) -> IntArray:
        """Return the rows whose new value lies in the declared set; others are mistakes."""
        test = Apply("in", (Var("", node.span), within), node.span)
        truth = truths(test, part.frame.bound("", value), self.table)
        bad = np.flatnonzero(truth == FALSE)
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
        return np.flatnonzero(truth == TRUE)

    def _send(self, index: int, part: _Part) -> None:
        if not len(part.origin):
            return
        if index not in self.waiting:
            self.waiting[index] = []
            heappush(self.queue, (self.flow.order[index], index))
        self.waiting[index].append(part)

    def _met(self, index: int, parts: list[_Part]) -> _Part:
        """Join parts that meet at a node; only what is live there goes on."""
        live = self.flow.live[index]
        if len(parts) == 1 and parts[0].frame.depth < MAX_DEPTH:
            return self._without_repeats(parts[0], live)
        origin = np.concatenate([part.origin for part in parts])
        columns = {name: np.concatenate([part.frame[name] for part in parts]) for name in live}
        weight = None
        if any(part.weight is not None for part in parts):
            weight = concatenated([self.batch.weight_of(part) for part in parts])
        return _Part(Frame(len(origin), columns), origin, weight)

    def _without_repeats(self, part: _Part, live: tuple[str, ...]) -> _Part:
        """Return rows that are copies of one, in all that is live, as one row.

        After a `~` whose result does not matter any more, they come from one state. (What it gave
        matters where edges are labelled with it.)
        """
        frame, rows = part.frame.below(live)
        if rows is None or 2 * frame.n_rows > len(rows) or self.explorer.labelled_edges is not None:
            return part
        starts = np.flatnonzero(_are_first(rows))
        kept = rows[starts]
        if 2 * len(starts) > len(rows):
            return part
        weight = summed(self.batch.weight_of(part), starts, 0)
        whole = len(starts) == frame.n_rows  # views keep the order of rows
        return _Part(frame if whole else frame.at(kept), part.origin[starts], weight)

    def _step(self, index: int, part: _Part) -> None:
        """Run one node on all its rows."""
        match self.flow.nodes[index]:
            case Assign() as node:
                codes, part = self._valued(node.value, part, node.span)
                part = self.assigned(node, node.target, node.within, codes, part)
                self._send(node.next, part)
            case AssignCell() as node:
                self._assign_cell(node, part)
            case Unpack() as node:
                self._unpack(node, part)
            case Branch() as node if index in self.flow.endless and not self._may_pass(part):
                self._arrive(("head", index), {}, index, part, node.span)
            case Branch() as node:
                self._branch(node, part)
            case Sample() as node:
                self._sample(index, node, part)
            case Output() as node:
                codes, part = self._valued(node.value, part, node.span)
                point = self.flow.point(node.next)
                self._arrive(("shown", point), {SHOWN: codes}, point, part, node.span)
            case Stop():
                self.finish(part, np.full(len(part.origin), STOPPED, np.int64))
            case Fail() as node:
                mistake = RunFails(node.span, (), node.reason)
                self._met_mistake(MistakeFault(mistake), node.span, part, 0)
            case never:
                assert_never(never)

    def _may_pass(self, part: _Part) -> bool:
        """Tell whether few rows may go on at a loop head once more; many should merge there.

        Those that do count as states: a loop that ends never is to reach that limit as soon.
        """
        self.n_passes += 1
        may_pass = self.n_passes <= MAX_PASSES and len(part.origin) <= MAX_PASSING
        if may_pass:
            self.explorer.n_passed += len(part.origin)
        return may_pass

    def _arrive(
        self, cut: Cut, extra: dict[str, IntArray], point: int, part: _Part, span: Span
    ) -> None:
        """End at a cut point, with its extra column and what is live there."""
        if len(part.origin):
            live = {name: part.frame[name] for name in self.flow.live_at(point)}
            states = self.explorer.reach(cut, extra | live, part, self.batch, span)
            self.finish(part, states)

    def _valued(self, expr: Expr, part: _Part, span: Span) -> tuple[IntArray, _Part]:
        """Return an expression's codes, and the rows where it has a value."""
        codes = evaluated(expr, part.frame, self.table)
        if self._report(codes, span, part):
            rows = np.flatnonzero(codes < FIRST_FAULT)
            return codes[rows], part.at(rows)
        return codes, part

    def _report(self, codes: IntArray, span: Span, part: _Part) -> bool:
        """Add the mistakes that faults among the codes are, and tell whether there are any."""
        faulty = np.flatnonzero(codes >= FIRST_FAULT)
        if not len(faulty):
            return False
        distinct, first = np.unique(codes[faulty], return_index=True)
        for code, k in zip(distinct.tolist(), first.tolist(), strict=True):
            self._met_mistake(self.table.fault_of(code), span, part, int(faulty[k]))
        return True

    def _met_mistake(self, fault: Fault, span: Span, part: _Part, row: int) -> None:
        origin = int(part.origin[row])
        source, drawn = int(self.batch.source[origin]), int(self.batch.drawn[origin])
        self.explorer.met(fault, span, source, drawn)

    def _assign_cell(self, node: AssignCell, part: _Part) -> None:
        index, part = self._valued(node.index, part, node.span)
        fault = _index_faults(node, index, self.table)
        if self._report(fault, node.span, part):
            rows = np.flatnonzero(fault < FIRST_FAULT)
            index, part = index[rows], part.at(rows)
        codes = evaluated(node.value, part.frame, self.table)
        good = np.flatnonzero(codes < FIRST_FAULT)
        if self._report(codes, node.span, part):
            codes, index, part = codes[good], index[good], part.at(good)
        if node.within is not None:
            rows = self._inside(node, node.array, node.within, codes, part)
            codes, index, part = codes[rows], index[rows], part.at(rows)
        live = frozenset(self.flow.live[node.next])
        for place, cell in enumerate(node.cells, start=node.lo):
            hit = index == place
            if cell in live and np.any(hit):
                new = codes if np.all(hit) else np.where(hit, codes, part.frame[cell])
                part = part.bound(cell, new)
        self._send(node.next, part)

    def _unpack(self, node: Unpack, part: _Part) -> None:
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
            rows = np.flatnonzero(table[group, 0] < FIRST_FAULT)
            group, part = group[rows], part.at(rows)
        for k, target in enumerate(node.targets):
            part = part.bound(target, table[group, k])
        self._send(node.next, part)

    def _branch(self, node: Branch, part: _Part) -> None:
        mask = comparison(node.condition, part.frame)
        if mask is None:
            truth = truths(node.condition, part.frame, self.table)
            self._report(truth, node.condition.span, part)
            then, orelse = np.flatnonzero(truth == TRUE), np.flatnonzero(truth == FALSE)
        else:
            then, orelse = np.flatnonzero(mask), np.flatnonzero(~mask)
        self._send(node.then, part.at(then))
        self._send(node.orelse, part.at(orelse))

    def _sample(self, index: int, node: Sample, part: _Part) -> None:
        numbers = distributions(node.distribution, part.frame, self.explorer.supports)
        if self._report(numbers, node.span, part):
            rows = np.flatnonzero(numbers < FIRST_FAULT)
            numbers, part = numbers[rows], part.at(rows)
        if not len(part.origin):
            return
        kept = kept_at_sample(self.flow, node)
        columns = {DRAWS: numbers} | {name: part.frame[name] for name in kept}
        cut: Cut = ("sample", index)
        self.finish(part, self.explorer.reach(cut, columns, part, self.batch, node.span))


def _index_faults(node: AssignCell, index: IntArray, table: ValueTable) -> IntArray:
    """Return a fault for each row whose index is none of the array's, 0 elsewhere."""
    last = node.lo + len(node.cells) - 1
    result = np.zeros(len(index), np.int64)
    for code in distinct(index[(index < node.lo) | (index > last)]).tolist():
        value = value_text(table.value(code))
        what = f"index {value} is outside {node.lo}..{last}, the indices of `{spoken(node.array)}`"
        mistake = IndexOutOfRange(node.index.span, (), what)
        result[index == code] = table.fault(MistakeFault(mistake))
    return result


def spoken(name: str) -> str:
    """Return a variable's name as the user wrote it."""
    return name.split("#", maxsplit=1)[0]
