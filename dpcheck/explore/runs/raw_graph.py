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

from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from dpcheck.chain.arrays import are_first, differences, end_to_end, marked
from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.sets import in_order
from dpcheck.chain.weights.denominators import concatenated, summed
from dpcheck.chain.weights.rows import Rows, indptr_of
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.explore.programs.liveness import END, Flow
from dpcheck.explore.runs.batches import Batch, Part
from dpcheck.explore.runs.program_points import STOPPED, Cut
from dpcheck.explore.tails.tails import Tails
from dpcheck.explore.values.codes import ValueTable
from dpcheck.explore.values.evaluate import Frame
from dpcheck.explore.values.growing import Growing
from dpcheck.explore.values.mistakes import mistake_of, spoken
from dpcheck.explore.values.state_table import StateTable
from dpcheck.limits import Limits
from dpcheck.model.evaluation import Fault
from dpcheck.model.offers import is_choice
from dpcheck.model.program import Mechanism, Sample
from dpcheck.model.values import value_text
from dpcheck.records import dataclass, replace
from dpcheck.source import Span

if TYPE_CHECKING:
    Array = TypeVar("Array", IntArray, WeightArray)

MAX_RUN_STEPS = 12
"""Steps of a run that a mistake shows."""

MAX_SHARED = 1
"""So many states for each input may be those of other slices, too: they are explored again."""


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
    """All raw states but for their rows; the last state is †.

    silent [n_states]; `cuts` maps a cut point to its states, those after an output or, where edges
    are labelled, all. `labelled` is present where it was asked for.
    """

    silent: BoolArray
    cuts: dict[Cut, Discovered]
    stopped: int
    labelled: LabelledEdges | None


@dataclass(frozen=True)
class Apart:
    """What is known of other slices of the inputs: they differ in `names`, and have `n_states`.

    A state that does not hold these variables may be one of theirs, too.
    """

    names: frozenset[str]
    n_states: int


@dataclass(frozen=True, eq=False)
class Starts:
    """Where runs of a mechanism start: one state for each row of `inputs`, columns [n_inputs].

    Edges get labels where `labelled`; `apart` is what is known of starts that are left out here.
    """

    mechanism: Mechanism
    flow: Flow
    inputs: dict[str, IntArray]
    n_inputs: int
    table: ValueTable
    limits: Limits
    tails: Tails | None
    labelled: bool
    apart: Apart | None = None

    def some(self, rows: IntArray, apart: Apart) -> Starts:
        """Return the starts of some rows [n]."""
        inputs = {name: column[rows] for name, column in self.inputs.items()}
        return replace(self, inputs=inputs, n_inputs=len(rows), apart=apart)


class SharedStates(Exception):
    """Too many states may be those of other slices, too: to part the inputs does not pay."""


class StatesAtPoint:
    """The states of one cut point, as they are discovered."""

    def __init__(self, cut: Cut, names: tuple[str, ...]) -> None:
        """Start without states."""
        self.cut = cut
        self.names = names
        self.states = StateTable(len(names))
        self._numbers = Growing()
        self.n_expanded = 0

    @property
    def numbers(self) -> IntArray:
        """The number of each state among all, [n_states]."""
        return self._numbers.values

    def extend(self, numbers: IntArray) -> None:
        """Add the numbers [n] of new states."""
        self._numbers.extend(numbers)

    def frame(self, rows: slice) -> Frame:
        """Return some of the states as columns."""
        columns = {n: self.states.column(k)[rows] for k, n in enumerate(self.names)}
        return Frame(len(self.numbers[rows]), columns)


class RawStates:
    """The states and edges of an exploration under way, and the mistakes it met.

    States are numbered in order of discovery, the `n_inputs` starts first. `queue` holds the cut
    points with states that were not expanded yet, by their place in the program.
    """

    def __init__(self, starts: Starts) -> None:
        """Begin with the starts."""
        self.mechanism, self.flow, self.table = starts.mechanism, starts.flow, starts.table
        self.limits, self.tails, self.apart = starts.limits, starts.tails, starts.apart
        self.inputs, self.n_inputs = starts.inputs, starts.n_inputs
        self.tables: dict[Cut, StatesAtPoint] = {}
        self.queue: list[tuple[int, int, Cut]] = []
        self.n_states = self.n_inputs
        self.n_passed = 0
        self.n_shared = 0
        self.mistakes: list[Mistake] = []
        self._seen_mistakes: set[Mistake] = set()
        self.sources: list[IntArray] = []
        self.targets: list[IntArray] = []
        self.weights: list[WeightArray] = []
        self.scales: list[tuple[IntArray, WeightArray]] = []
        self.labelled_edges: list[LabelledEdges] | None = [] if starts.labelled else None
        self.parents = [np.full(self.n_inputs, -1, np.int64)]
        self.parent_drawn = [np.zeros(self.n_inputs, np.int64)]

    def next_waiting(self) -> tuple[StatesAtPoint, int, int] | None:
        """Return the first cut point with states that wait, and which they are; they wait no more.

        None where nothing is left.
        """
        if not self.queue:
            return None
        _, _, cut = heappop(self.queue)
        table = self.tables[cut]
        first, table.n_expanded = table.n_expanded, table.states.n_rows
        return table, first, table.n_expanded

    @property
    def n_counted(self) -> int:
        """The number of states that limits are for, those of slices before this one included."""
        n_before = 0 if self.apart is None else self.apart.n_states
        return n_before + self.n_states + self.n_passed

    def check_limits(self) -> None:
        """Raise `LimitReached` where there are too many states or the time is up."""
        self.limits.check_states(self.n_counted)
        self.check_time()
        if self.n_shared > MAX_SHARED * self.n_inputs:
            raise SharedStates

    # --- states and edges ------------------------------------------------------------------

    def reach(self, cut: Cut, columns: dict[str, IntArray], part: Part, batch: Batch) -> IntArray:
        """Return the raw states [n_rows] the rows are in at a cut point; new ones are queued."""
        table = self.tables.get(cut)
        if table is None:
            table = self.tables[cut] = StatesAtPoint(cut, tuple(columns))
        local, new = table.states.numbers(list(columns.values()), len(part.origin))
        if len(new):
            first_met = part.at(new)
            self._add_states(table, batch.source_of(first_met), batch.drawn_of(first_met))
        return table.numbers[local]

    def _add_states(self, table: StatesAtPoint, sources: IntArray, drawn: IntArray) -> None:
        """Add new states of a cut point, each first met after a raw state and what it drew."""
        point = table.cut[1]
        if table.n_expanded == len(table.numbers):
            place = self.flow.order[point] if point != END else len(self.flow.order)
            heappush(self.queue, (place, len(self.tables), table.cut))
        table.extend(self.n_states + np.arange(len(sources)))
        self.n_states += len(sources)
        if self.apart is not None and not self.apart.names.issubset(table.names):
            self.n_shared += len(sources)
        self.parents.append(sources)
        self.parent_drawn.append(drawn)

    def record(self, batch: Batch, ends: list[tuple[Part, IntArray]]) -> None:
        """Add the edges of finished rows, parallel ones summed up."""
        parts = []
        for part, targets in ends:
            source = batch.source_of(part)
            if self.labelled_edges is not None:
                drawn = batch.drawn_of(part)
                self.labelled_edges.append(LabelledEdges(source, drawn, targets))
            parts.append(_summed_up(source, targets, batch.weight_of(part)))
        source = end_to_end([source for source, _, _ in parts])
        target = end_to_end([target for _, target, _ in parts])
        self.add_edges(source, target, concatenated([weight for _, _, weight in parts]))

    def add_edges(self, source: IntArray, target: IntArray, weight: WeightArray) -> None:
        """Add edges (all [n_edges]), parallel ones summed up."""
        if not _are_in_order(source, target):
            first, size = int(source.min()), self.n_states + 1
            keys = (source - first) * size + (target - STOPPED)
            _, order = in_order(keys, (int(source.max()) - first + 1) * size)
            source, target, weight = _summed_up(source[order], target[order], weight[order])
        self.sources.append(source)
        self.targets.append(target)
        self.weights.append(weight)

    def graph(self) -> tuple[Rows, RawGraph]:
        """Return all of it, with † as the last state."""
        n = self.n_states
        indptr, targets, weights = self._edges()
        self.check_time()
        owners = end_to_end([source for source, _ in self.scales])
        known = concatenated([scale for _, scale in self.scales])
        scales: WeightArray = np.ones(n + 1, np.int64 if known.dtype == np.int64 else object)
        scales[owners] = known
        silent = np.zeros(n + 1, np.bool_)
        for cut, table in self.tables.items():
            silent[table.numbers] = cut[0] in ("sample", "head")
        cuts = {
            cut: Discovered(dict(zip(t.names, t.states.columns, strict=True)), t.numbers)
            for cut, t in self.tables.items()
            if cut[0] == "shown" or self.labelled_edges is not None
        }
        labelled = None
        if self.labelled_edges is not None:
            targets_of = end_to_end([e.targets for e in self.labelled_edges])
            labelled = LabelledEdges(
                end_to_end([e.sources for e in self.labelled_edges]),
                end_to_end([e.labels for e in self.labelled_edges]),
                np.where(targets_of == STOPPED, n, targets_of),
            )
        rows = Rows(indptr, targets, weights, scales)
        self.check_time()
        return rows, RawGraph(silent, cuts, n, labelled)

    def _edges(self) -> tuple[IntArray, IntArray, WeightArray]:
        """Return where each state's edges begin [n_states + 2], and all targets and weights.

        All edges of a source are of one batch, ordered. States mostly leave their cut point in
        the order of their numbers, and then all edges are in order as they are.
        """
        n = self.n_states
        indptr, order = indptr_of(self._degrees()), None
        if any(before[-1] > after[0] for before, after in pairwise(self.sources)):
            _, order = in_order(end_to_end(self.sources), n)
        self.sources = []
        self.check_time()
        targets = _emptied(self.targets)
        self.check_time()
        weights = _emptied(self.weights)
        self.check_time()
        if order is not None:
            targets, weights = targets[order], weights[order]
        targets[targets == STOPPED] = n
        return indptr, targets, weights

    def _degrees(self) -> IntArray:
        """Return [n_states + 1] how many edges leave each state."""
        degrees = np.zeros(self.n_states + 1, np.int64)
        for source in self.sources:
            starts = marked(are_first(source))
            degrees[source[starts]] += differences(np.append(starts, len(source)))
        return degrees

    def check_time(self) -> None:
        """Raise `LimitReached` after the deadline."""
        self.limits.check_time(f"{self.n_counted} states explored")

    # --- mistakes --------------------------------------------------------------------------

    def add_mistake(self, fault: Fault, span: Span, source: int, drawn: int) -> None:
        """Add the mistake that a fault is, met after a raw state (which drew that value)."""
        key = mistake_of(fault, span, ())
        if key not in self._seen_mistakes:
            self._seen_mistakes.add(key)
            self.mistakes.append(mistake_of(fault, span, self._run_to(source, drawn)))

    def _run_to(self, state: int, drawn: int) -> tuple[str, ...]:
        """Describe a run: parameters, the inputs, then what each `~` gave and what was shown."""
        parents, parent_drawn = end_to_end(self.parents), end_to_end(self.parent_drawn)
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
                if "~" not in node.target:  # what `wide` draws beside it is no `~` of the program
                    result = value_text(self.table.value(drawn))
                    steps.append(f"{spoken(node.target)} ~ {result}")
            elif cut[0] == "shown":
                value = self.table.value(int(self.tables[cut].states.column(0)[k]))
                if not is_choice(value):  # which was drawn just before
                    steps.append(f"output {value_text(value)}")
            state, drawn = int(parents[state]), int(parent_drawn[state])
        steps.reverse()
        if len(steps) > MAX_RUN_STEPS:
            steps = [f"... ({len(steps) - MAX_RUN_STEPS} steps) ...", *steps[-MAX_RUN_STEPS:]]
        given = input_text(self.mechanism, self.inputs, state, self.table)
        title = self.mechanism.title
        heads = (title if "(" in title else "", f"input {given}" if given else "")
        return (*filter(None, heads), *steps)


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


def _emptied(parts: list[Array]) -> Array:
    """Return one array of all parts, each let go once it is copied: they may be half the memory."""
    if len(parts) == 1:
        return parts.pop()
    is_small = all(part.dtype == np.int64 for part in parts)
    whole = np.empty(sum(map(len, parts)), np.int64 if is_small else object)
    parts.reverse()
    first = 0
    while parts:
        part = parts.pop()
        whole[first : first + len(part)] = part
        first += len(part)
    return cast("Array", whole)


def _are_in_order(source: IntArray, target: IntArray) -> bool:
    """Return whether the pairs (source, target) increase strictly.

    >>> _are_in_order(np.array([1, 1, 2]), np.array([4, 5, 3]))
    True
    >>> _are_in_order(np.array([1, 1]), np.array([4, 4]))
    False
    """
    are_later = source[1:] == source[:-1]
    are_later &= target[1:] > target[:-1]
    are_later |= source[1:] > source[:-1]
    return bool(are_later.all())


def _summed_up(
    source: IntArray, target: IntArray, weight: WeightArray
) -> tuple[IntArray, IntArray, WeightArray]:
    """Return edges with the weights of equal ones that follow each other summed up.

    The weights of one source sum to at most its denominator: below 2^62 in int64.
    """
    is_first = are_first(source)
    is_first |= are_first(target)
    if is_first.all():
        return source, target, weight
    starts = marked(is_first)
    return source[starts], target[starts], summed(weight, starts, 0)
