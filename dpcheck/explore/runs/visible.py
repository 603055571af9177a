"""What is seen of a mechanism's runs: rows of its inputs and of the states after outputs.

From many inputs, runs are followed slice by slice: some inputs at a time are explored, what is
silent is summed up, and their raw graph, which takes most of the memory, is let go. The law is that
a raw state is a cut point with its values, and its row depends on these alone. So the raw graph
from a set of starts is the union of those from its parts, the first visible state after a start has
the same distribution in each, and states after outputs that have equal values are one state: all
claims are decided on the chain of all slices together, which has the rows of one exploration,
though its states after outputs may be numbered in another order.

Only a state that several slices reach is work done twice. Slices are of inputs that agree in the
variables that the program remembers longest: a state that holds these is of one slice. Where the
others become many, all inputs are explored at once, and so they are where a first draw or output
forgets them: there are hardly more states than inputs then.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpcheck.chain.arrays import differences, marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.contraction.eliminate import eliminated
from dpcheck.chain.sets import distinct_rows, in_order, is_increasing
from dpcheck.chain.weights.rows import (
    Rows,
    entries_of,
    in_places,
    indptr_of,
    with_sinks,
    with_sorted_targets,
)
from dpcheck.explore.programs.liveness import Flow
from dpcheck.explore.runs import raw_graph
from dpcheck.explore.runs.explorer import explored_runs
from dpcheck.explore.runs.program_points import Cut
from dpcheck.explore.sampling.distributions import Supports
from dpcheck.limits import Limits
from dpcheck.model.program import Output, Sample
from dpcheck.records import Frozen, dataclass

SLICE = 1 << 16
"""About how many inputs are explored together; noisy max 4x20 in three slices takes 0.82 of the CPU
time and 0.63 of the memory."""

MANY_INPUTS = 2 * SLICE
"""So many inputs are explored in slices, where the program remembers some of them."""

_GROUPS = 4
"""A slice is made of several groups of inputs that agree, so that slices are of about one size."""


class Labelled(Frozen):
    """A raw graph with labels, and which state each raw state is, [n_raw_states + 1]."""

    raw: raw_graph.RawGraph
    number: IntArray


@dataclass(frozen=True, eq=False)
class Visible:
    """The states of a chain: inputs first, then those after outputs.

    rows: of all n_states, then †, then `diverged` if some run gets there. shown: the states after
    outputs by their cut points, in increasing order.
    """

    rows: Rows
    n_states: int
    shown: dict[Cut, raw_graph.Discovered]
    labelled: Labelled | None = None


def visible_runs(starts: raw_graph.Starts) -> Visible:
    """Return what is seen of the runs from all starts.

    Raises what `explored_runs` does; where inputs are explored slice by slice, the mistakes of the
    first slice that has some.
    """
    supports = Supports(starts.table, None if starts.tails is None else starts.tails.states)
    if starts.n_inputs >= MANY_INPUTS and not starts.labelled and _are_remembered(starts):
        try:
            return _in_slices(starts, supports)
        except raw_graph.SharedStates:
            pass
    return _contracted(*explored_runs(raw_graph.RawStates(starts), supports), starts.limits)


def _are_remembered(starts: raw_graph.Starts) -> bool:
    """Return whether some input matters after a draw or an output; else raw states are few."""
    flow = starts.flow
    after = (node.next for node in flow.nodes if isinstance(node, Sample | Output))
    return any(not set(flow.live[point]).isdisjoint(starts.inputs) for point in after)


def input_slices(
    flow: Flow, inputs: Mapping[str, IntArray], n_inputs: int
) -> tuple[list[IntArray], frozenset[str]]:
    """Return slices of the inputs, rows [n] in order, and variables that slices differ in.

    Those are the ones that are live longest, so many that few inputs agree in all of them.
    """
    last = {
        name: max((flow.order[k] for k, live in enumerate(flow.live) if name in live), default=-1)
        for name in inputs
    }
    code, apart = np.zeros(n_inputs, np.int64), list[str]()
    sizes = np.array([n_inputs])
    for name in sorted(inputs, key=last.__getitem__, reverse=True):
        if int(sizes.max()) <= SLICE // _GROUPS:
            break
        apart.append(name)
        _, code = distinct_rows([code, inputs[name]])
        sizes = np.bincount(code)
    _, order = in_order(code, len(sizes))
    starts = sizes.cumsum() - sizes
    cuts = starts[marked(differences(starts // SLICE)) + 1]
    return [np.sort(some) for some in np.split(order, cuts)], frozenset(apart)


def _in_slices(starts: raw_graph.Starts, supports: Supports) -> Visible:
    """Return what is seen from all inputs, explored slice by slice.

    Raises `SharedStates` where slices have many states in common.
    """
    slices, names = input_slices(starts.flow, starts.inputs, starts.n_inputs)
    joined, n_known = _Joined(starts.n_inputs), 0
    for some in slices:
        states = raw_graph.RawStates(starts.some(some, raw_graph.Apart(names, n_known)))
        joined.add(some, _contracted(*explored_runs(states, supports), starts.limits))
        n_known = states.n_counted - states.n_shared
    return joined.whole()


def _contracted(raw_rows: Rows, raw: raw_graph.RawGraph, limits: Limits) -> Visible:
    """Return what is seen of a raw graph: states that are not silent."""
    visible = np.flatnonzero(~raw.silent[:-1])
    rows = eliminated(
        raw_rows,
        silent=raw.silent,
        wanted=visible,
        diverged=raw.stopped + 1,
        tick=limits.check_time,
        n_more=2,
    )
    number = np.full(raw.stopped + 2, -1, np.int64)
    number[visible] = np.arange(len(visible))
    number[raw.stopped :] = len(visible) + np.arange(2)
    shown = {
        cut: raw_graph.Discovered(states.columns, number[states.numbers])
        for cut, states in raw.cuts.items()
        if cut[0] == "shown"
    }
    labelled = None if raw.labelled is None else Labelled(raw, number)
    return Visible(with_sinks(rows, number), len(visible), shown, labelled)


class _Joined:
    """What is seen from the inputs of several slices, as they come."""

    def __init__(self, n_inputs: int) -> None:
        """Start with the inputs, of which no rows are known."""
        self.n_states = n_inputs
        self.tables: dict[Cut, raw_graph.StatesAtPoint] = {}
        self.parts: list[_Slice] = []

    def add(self, inputs: IntArray, seen: Visible) -> None:
        """Add a slice, rows [n] of the inputs; a state that is known keeps the row it has."""
        number, is_new = np.empty(seen.n_states, np.int64), np.ones(seen.n_states, np.bool_)
        number[: len(inputs)] = inputs
        for cut, states in seen.shown.items():
            table = self.tables.setdefault(cut, raw_graph.StatesAtPoint(cut, tuple(states.columns)))
            columns = [states.columns[name] for name in table.names]
            local, new = table.states.numbers(columns, len(states.numbers))
            table.extend(self.n_states + np.arange(len(new)))
            self.n_states += len(new)
            number[states.numbers] = table.numbers[local]
            is_new[states.numbers] = False
            is_new[states.numbers[new]] = True
        self.parts.append(_Slice(seen.rows, len(inputs), number, is_new))

    def whole(self) -> Visible:
        """Return all slices as one; they are let go."""
        n = self.n_states
        parts: list[tuple[IntArray | slice, Rows]] = []
        self.parts.reverse()
        while self.parts:
            parts.append(self.parts.pop().renumbered(n))
        rows = with_sinks(in_places(parts, n + 2, n + 1), np.arange(n + 2))
        shown = {
            cut: raw_graph.Discovered(
                dict(zip(table.names, table.states.columns, strict=True)), table.numbers
            )
            for cut, table in self.tables.items()
        }
        return Visible(rows, n, shown)


@dataclass(frozen=True, eq=False)
class _Slice:
    """Rows of a slice, the number of each state among all, and which are new; [n_states] each.

    The first `n_inputs` are inputs.
    """

    rows: Rows
    n_inputs: int
    number: IntArray
    is_new: BoolArray

    def renumbered(self, n_states: int) -> tuple[IntArray, Rows]:
        """Return the new states and their rows, where the sinks follow all n_states."""
        new, number = marked(self.is_new), np.append(self.number, n_states + np.arange(2))
        entries = entries_of(self.rows.indptr, new)
        rows = Rows(
            indptr_of(differences(self.rows.indptr)[new]),
            number[self.rows.targets[entries]],
            self.rows.numerators[entries],
            self.rows.denominators[new],
        )
        # No run leads to an input: their numbers need no order.
        are_sorted = is_increasing(number[self.n_inputs :])
        return self.number[new], rows if are_sorted else with_sorted_targets(rows)
