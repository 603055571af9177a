"""Eliminating silent states, so that one transition per output remains.

A silent state shows nothing to the adversary. `eliminated` returns, for every other state, the
distribution of the first non-silent state after it; runs that stay silent forever go to `diverged`.

1. A strongly connected component C of silent states is replaced by its exits: with Q the steps
   within C and B those out of it, the first exit from C is distributed as (I - Q)^-1 B. A component
   without exit is left with probability 0; one with an exit is left with probability 1, since
   every state of C reaches it (the standard fact on finite absorbing chains; Kemeny and Snell,
   Finite Markov Chains, 1960, chapter 3). A self-loop alone is a division by 1 - P(s, s).
2. Where P(s, t) = 1 for a silent s, every edge to s may as well lead to t: their rows are equal.
3. What is left is acyclic. Backward: levels of silent states from the last, row(s) = Σ_t P(s,t)
   row(t). Forward: levels from the sources, the mass of each source pushed along. Backward costs
   about one output row per silent transition and is shared by all sources; forward costs one
   transition per source that gets there. Both are estimated by counting, and the cheaper is taken.
   Where all lead to few targets, backward is a few operations on columns (see `target_table`).

Everything is exact; see `denominators` for why int64 products are safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise

import numpy as np

from dpcheck.chain.arrays import differences, marked
from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.contraction.limb_table import LongTable, are_limbs_few
from dpcheck.chain.contraction.target_table import NoTable, TargetTable, are_short, few_targets
from dpcheck.chain.graph import STATES_AT_ONCE, Graph, strong_components
from dpcheck.chain.sets import distinct, in_order, without
from dpcheck.chain.weights.denominators import (
    Scales,
    as_objects,
    concatenated,
    multiplied,
    repeated,
    weight_array,
)
from dpcheck.chain.weights.products import Right, long_product
from dpcheck.chain.weights.rows import (
    Entries,
    Rows,
    Scaled,
    as_slice,
    in_lowest_terms,
    in_places,
    indptr_of,
    joined,
    merged,
    ranges,
    rows_of,
    rows_of_scaled,
)
from dpcheck.exact import (
    Number,
    Whole,
    as_fraction_parts,
    exact_quotient,
    solve_linear,
    whole_lcm,
)
from dpcheck.limits import Tick
from dpcheck.records import dataclass, replace

MAX_ENTRIES = 1 << 20
"""How many temporary entries are expanded at once where each step makes more of them."""

BLOCK_ENTRIES = 1 << 18
"""How many entries of whole rows are expanded at once: what is made on the way fits a cache."""

MANY_LEVELS = 32
"""With more levels they are counted again where paths got shorter."""


def eliminated(
    rows: Rows,
    *,
    silent: BoolArray,
    wanted: IntArray,
    diverged: int,
    tick: Tick,
    n_more: int = 0,
) -> Rows:
    """Return the rows of the `wanted` states over non-silent states and `diverged`, in that order.

    silent, [n_states]; wanted, [n_wanted] distinct states, silent or not; `diverged` is a
    state number that is not silent (it may equal n_states where no such state exists yet). Behind
    these rows come `n_more` that lead to `diverged`: they are there to become others.

    >>> half = Rows(np.array([0, 2, 4, 5]), np.array([1, 2, 1, 2, 2]),
    ...             np.array([1, 1, 1, 2, 1]), np.array([2, 3, 1]))
    >>> first = eliminated(half, silent=np.array([False, True, False]), wanted=np.array([0]),
    ...                    diverged=3, tick=lambda progress: None)
    >>> first.targets.tolist(), first.numerators.tolist(), first.denominators.tolist()
    ([2], [1], [1])
    """
    graph, level = _acyclic(SilentGraph.of(rows, silent, diverged), tick)
    tick("joining draws without output")
    direct = _without_detours(graph, wanted)
    levels = _levels(direct, level)
    del level  # as long as all states, and there may be millions
    if direct is not graph and len(levels) > MANY_LEVELS:
        levels = _levels(direct, _peeling(*_silent_edges(direct), direct.n_targets, tick))
    parts, others = _whole_rows(direct, wanted)
    first = 0
    for rows in _eliminated(direct, wanted[others], levels, tick):
        parts.append((others[first : first + rows.n_rows], rows))
        first += rows.n_rows
    return in_places(parts, len(wanted) + n_more, diverged)


def _eliminated(
    graph: SilentGraph, wanted: IntArray, levels: list[IntArray], tick: Tick
) -> list[Rows]:
    """Return the rows of the wanted states over non-silent states, some after the others."""
    if not len(wanted):
        return []
    for store in _tables(graph, levels):
        tick("summing states without output")
        try:
            return _backward(store, wanted, levels, tick)
        except NoTable:
            tick("summing large numbers")
    if _forward_is_cheaper(graph, wanted, levels):
        return _forward(graph, wanted, levels, tick)
    return _backward(_Store(graph), wanted, levels, tick)


def _whole_rows(
    graph: SilentGraph, wanted: IntArray
) -> tuple[list[tuple[IntArray | slice, Rows]], IntArray]:
    """Return rows of wanted states that are their own result, with their places, and all others.

    They lead to no silent state, and to each target once, in order: there is nothing to eliminate,
    sort or add up. They are found some at a time, so that what is made on the way fits a cache.
    """
    parts: list[tuple[IntArray | slice, Rows]] = []
    others = [np.empty(0, np.int64)]
    for first in range(0, len(wanted), STATES_AT_ONCE):
        states = wanted[first : first + STATES_AT_ONCE]
        are_whole = _are_whole(graph, as_slice(states))
        if are_whole.all():
            parts.append((slice(first, first + len(states)), _rows_at(graph, as_slice(states))))
            continue
        whole = marked(are_whole)
        if len(whole):
            parts.append((first + whole, _rows_at(graph, states[whole])))
        others.append(first + marked(~are_whole))
    return parts, np.concatenate(others)


def _are_whole(graph: SilentGraph, states: IntArray | slice) -> BoolArray:
    """Return [n_given] which rows lead to no silent state, and to each target once, in order."""
    targets = graph.targets[graph.steps.edges_of(states)]
    lengths = graph.steps.degrees[states]
    has_targets = lengths > 0
    starts = (np.cumsum(lengths) - lengths)[has_targets]
    is_good = np.ones(len(targets), np.bool_)
    np.greater(targets[1:], targets[:-1], out=is_good[1:])
    is_good[starts] = True
    is_good &= ~graph.silent[targets]
    are_whole = np.ones(len(lengths), np.bool_)
    if not is_good.all():
        are_whole[has_targets] = np.logical_and.reduceat(is_good, starts)
    return are_whole


def _rows_at(graph: SilentGraph, states: IntArray | slice) -> Rows:
    """Return the rows of some states as they are, in lowest terms."""
    edges = graph.steps.edges_of(states)
    indptr = indptr_of(graph.steps.degrees[states])
    denominators = graph.scales.weights(graph.scale[states])
    return in_lowest_terms(
        Rows(indptr, graph.targets[edges], graph.numerators[edges], denominators)
    )


@dataclass(frozen=True, eq=False)
class SilentGraph:
    """The rows, with denominators as codes of `scales` [n_states], and who is silent."""

    indptr: IntArray
    targets: IntArray
    numerators: WeightArray
    scale: IntArray
    silent: BoolArray
    diverged: int
    scales: Scales

    @staticmethod
    def of(rows: Rows, silent: BoolArray, diverged: int) -> SilentGraph:
        """Return the rows as a graph, with a place for `diverged` behind all states."""
        scales = Scales()
        scale = scales.codes(rows.denominators)
        padded = np.append(silent, np.False_)
        return SilentGraph(
            rows.indptr, rows.targets, rows.numerators, scale, padded, diverged, scales
        )

    @property
    def n_targets(self) -> int:
        """The number of states, and one more."""
        return len(self.silent)

    @cached_property
    def is_met(self) -> BoolArray:
        """The states that edges lead to, [n_targets]."""
        is_met = np.zeros(self.n_targets, np.bool_)
        is_met[self.targets] = True
        return is_met

    @cached_property
    def steps(self) -> Graph:
        """The entries as a graph."""
        return Graph(self.indptr, self.targets)


# --- cycles --------------------------------------------------------------------------------


def _acyclic(graph: SilentGraph, tick: Tick) -> tuple[SilentGraph, IntArray]:
    """Return the graph with the silent components replaced by their exits, and its levels.

    level [n_targets]: a silent state's is larger than those of all silent states it leads to.
    """
    if not graph.silent.any():
        return graph, np.zeros(graph.n_targets, np.int64)
    tick("ordering states without output")
    sources, targets = _silent_edges(graph)
    loops = sources[targets == sources]
    if len(loops):
        proper = sources != targets
        sources, targets = sources[proper], targets[proper]
    level = _peeling(sources, targets, graph.n_targets, tick)
    replaced: dict[int, _Exit] = {}
    exits = _Exits(graph)
    for states in _nontrivial(*_components(level, sources, targets)):
        tick("leaving loops without output")
        replaced |= exits.of(states)
    single = without(loops, np.fromiter(replaced, np.int64, len(replaced)))
    for s in single.tolist():
        replaced |= exits.of(np.array([s]))
    if not replaced:
        return graph, level
    graph = _with_rows(graph, replaced)
    return graph, _completed(graph, level, tick)


def _silent_edges(graph: SilentGraph) -> tuple[IntArray, IntArray]:
    """Return sources and targets of the edges between silent states."""
    states = np.flatnonzero(graph.silent[:-1])
    targets = graph.steps.successors(states)
    inner = np.flatnonzero(graph.silent[targets])
    return np.repeat(states, graph.steps.degrees[states])[inner], targets[inner]


def _components(level: IntArray, sources: IntArray, targets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the states that lead to a cycle (their level is -1), and the component of each."""
    places = marked(level < 0)
    if not len(places):
        return places, places
    among = marked((level[sources] < 0) & (level[targets] < 0))
    number = np.empty(len(level), np.int64)
    number[places] = np.arange(len(places))
    before, order = in_order(number[sources[among]], len(places))
    indptr = np.searchsorted(before, np.arange(len(places) + 1))
    labels, _ = strong_components(Graph(indptr, number[targets[among]][order]))
    return places, labels


def _completed(graph: SilentGraph, level: IntArray, tick: Tick) -> IntArray:
    """Return levels for all states, where only states that led to a cycle have -1.

    The others keep theirs: where they lead to has not changed but for self-loops that are gone.
    """
    sources, targets = _silent_edges(graph)
    among = marked((level[sources] < 0) & (level[targets] < 0))
    above = _peeling(sources[among], targets[among], graph.n_targets, tick)
    return np.where(level < 0, above + int(level.max()) + 1, level)


def _peeling(sources: IntArray, targets: IntArray, n_states: int, tick: Tick) -> IntArray:
    """Return [n_states] the length of the longest path from each state; -1 where there is none.

    States without successor are removed again and again; those on the way to a cycle remain.
    """
    bits = n_states.bit_length()
    before = targets << bits
    before |= sources
    before.sort()
    before &= (1 << bits) - 1
    starts = np.zeros(n_states + 1, np.int64)
    np.cumsum(np.bincount(targets, minlength=n_states), out=starts[1:])
    remaining = np.bincount(sources, minlength=n_states)
    is_last = remaining == 0
    level = np.where(is_last, 0, -1)
    # Most states have no edge at all: there is nothing to follow from them.
    ready, depth = np.flatnonzero(is_last & (starts[1:] > starts[:-1])), 0
    while len(ready):
        tick("ordering states without output")
        level[ready] = depth
        predecessors = before[ranges(starts[ready], starts[ready + 1] - starts[ready])]
        if len(predecessors) * 8 > n_states:
            remaining -= np.bincount(predecessors, minlength=n_states)
            ready = marked((remaining == 0) & (level < 0))
        else:
            np.subtract.at(remaining, predecessors, 1)
            ready = distinct(predecessors[remaining[predecessors] == 0])
        depth += 1
    return level


def _nontrivial(states: IntArray, component: IntArray) -> list[IntArray]:
    """Return the components with at least two states; `component` [n_states] numbers them."""
    several = np.bincount(component)[component] > 1
    states, component = states[several], component[several]
    if not len(states):
        return []
    order = np.argsort(component, kind="stable")
    return np.split(states[order], marked(differences(component[order])) + 1)


class _Exits:
    """Where runs leave silent components; components that look alike are solved once.

    Alike are those with equal weights in equal places, states and exits numbered from 0 within the
    component: their equations are the same (a loop for each of many inputs is solved for one).
    """

    def __init__(self, graph: SilentGraph) -> None:
        self._graph = graph
        self._solved: dict[tuple[object, ...], list[_Exit]] = {}

    def of(self, states: IntArray) -> dict[int, _Exit]:
        """Return for each state of a silent component where its runs leave it."""
        graph = self._graph
        place = {s: k for k, s in enumerate(states.tolist())}
        inside: list[tuple[int, int, Whole]] = []
        outside: list[tuple[int, int, Whole]] = []
        exits: dict[int, int] = {}
        for s, k in place.items():
            row = slice(graph.indptr[s], graph.indptr[s + 1])
            weights = graph.numerators[row].tolist()
            for t, weight in zip(graph.targets[row].tolist(), weights, strict=True):
                if t in place:
                    inside.append((k, place[t], weight))
                else:
                    outside.append((k, exits.setdefault(t, len(exits)), weight))
        if not exits:
            bottom = _Exit(np.array([graph.diverged]), np.ones(1, np.int64), 1)
            return dict.fromkeys(place, bottom)
        scale = tuple(graph.scale[states].tolist())
        key = scale, tuple(inside), tuple(outside)
        if key not in self._solved:
            values = [graph.scales.values[code] for code in scale]
            solution = solve_linear(values, inside, outside)
            self._solved[key] = [_exit_of(row) for row in solution]
        targets = np.array(list(exits), np.int64)
        return {
            s: found.renumbered(targets) for s, found in zip(place, self._solved[key], strict=True)
        }


@dataclass(frozen=True, eq=False)
class _Exit:
    """A distribution over targets."""

    targets: IntArray
    numerators: WeightArray
    denominator: Whole

    def renumbered(self, number: IntArray) -> _Exit:
        """Return it with new numbers for the targets."""
        targets = number[self.targets]
        order = np.argsort(targets)
        return _Exit(targets[order], self.numerators[order], self.denominator)


def _exit_of(row: Mapping[int, Number]) -> _Exit:
    """Return a distribution over its least common denominator."""
    targets = sorted(row)
    parts = [as_fraction_parts(row[t]) for t in targets]
    common: Whole = 1
    for _, denominator in parts:
        common = whole_lcm(common, denominator)
    numerators = [n * exact_quotient(common, d) for n, d in parts]
    return _Exit(np.array(targets, np.int64), weight_array(numerators), common)


def _with_rows(graph: SilentGraph, replaced: dict[int, _Exit]) -> SilentGraph:
    """Return the graph with some rows replaced."""
    states = np.fromiter(sorted(replaced), np.int64, len(replaced))
    keep = ~np.isin(graph.steps.sources, states)
    new = [replaced[s] for s in states.tolist()]
    new_sources = np.repeat(states, [len(exit_.targets) for exit_ in new])
    sources = np.concatenate([graph.steps.sources[keep], new_sources])
    order = np.argsort(sources, kind="stable")
    targets = np.concatenate([graph.targets[keep], *(exit_.targets for exit_ in new)])
    numerators = concatenated([graph.numerators[keep], *(exit_.numerators for exit_ in new)])
    scale = graph.scale.copy()
    scale[states] = [graph.scales.code(exit_.denominator) for exit_ in new]
    indptr = np.searchsorted(sources[order], np.arange(len(graph.indptr)))
    return replace(
        graph, indptr=indptr, targets=targets[order], numerators=numerators[order], scale=scale
    )


# --- acyclic elimination -------------------------------------------------------------------


def _without_detours(graph: SilentGraph, wanted: IntArray) -> SilentGraph:
    """Return the graph with edges led past silent states that surely go on to one other state.

    States that no edge leads to any more are not silent but gone, unless their rows are wanted.
    """
    onward = np.arange(graph.n_targets)
    single = marked(graph.silent[:-1] & (differences(graph.indptr) == 1))
    if not len(single):
        return graph
    onward[single] = graph.targets[graph.indptr[single]]
    further = onward[onward]
    while not np.array_equal(further, onward):
        onward, further = further, further[further]
    targets = onward[graph.targets]
    is_met = np.zeros(graph.n_targets, np.bool_)
    is_met[targets] = True
    is_met[wanted] = True
    return replace(graph, targets=targets, silent=graph.silent & is_met)


def _levels(graph: SilentGraph, level: IntArray) -> list[IntArray]:
    """Return the silent states by level, so that silent edges lead to earlier parts."""
    silent = marked(graph.silent)
    if not len(silent):
        return []
    ordered, order = in_order(level[silent], int(level.max()) + 1)
    return np.split(silent[order], marked(ordered[1:] != ordered[:-1]) + 1)


def _tables(graph: SilentGraph, levels: list[IntArray]) -> Iterator[TargetTable | LongTable]:
    """Yield tables that may hold the rows, the fastest first; none if there are many targets."""
    targets = few_targets(graph) if levels else None
    if targets is not None and are_short(graph, levels):
        yield TargetTable(graph, targets)
    if targets is not None and are_limbs_few(graph, levels):
        yield LongTable(graph, targets)


def _forward_is_cheaper(graph: SilentGraph, wanted: IntArray, levels: list[IntArray]) -> bool:
    """Estimate both costs by counting paths, capped where nothing more can be met.

    The first level leads to no silent state, so each of its edges costs 1, and paths through it
    need not be followed.
    """
    if len(levels) < 2 or len(wanted) == 0:
        return False
    lengths = np.diff(graph.indptr)
    n_outputs = np.count_nonzero(graph.is_met & ~graph.silent)
    out = np.zeros(graph.n_targets)
    backward = 0.0
    for depth, states in enumerate(levels):
        costs = lengths[states].astype(float)
        if depth:
            targets = graph.targets[ranges(graph.indptr[states], lengths[states])]
            cost = np.where(graph.silent[targets], out[targets], 1.0)
            costs = np.add.reduceat(cost, lengths[states].cumsum() - lengths[states])
        backward += float(costs.sum())
        out[states] = np.minimum(costs, n_outputs)
    reach = np.bincount(wanted, minlength=graph.n_targets).astype(float)
    forward = 0.0
    starting = wanted[~graph.silent[wanted]]
    for states in [starting, *reversed(levels)]:
        if not len(states):
            continue
        many = np.minimum(reach[states], len(wanted))
        forward += float(many @ lengths[states])
        if states is not levels[0]:
            entries = ranges(graph.indptr[states], lengths[states])
            many = many.repeat(lengths[states])
            reach += np.bincount(graph.targets[entries], many, graph.n_targets)
    return forward < backward


def _backward(
    store: _Store | TargetTable | LongTable, wanted: IntArray, levels: list[IntArray], tick: Tick
) -> list[Rows]:
    """Build the rows of the silent states level by level, then return those of the wanted ones."""
    n_kept = 0
    for states in levels:
        for block in _blocks(store.costs(states)):
            tick(f"{n_kept} states without output summed")
            store.keep(states[block])
            n_kept += block.stop - block.start
    parts = []
    for block in _blocks(store.costs(wanted)):
        tick("summing what leads to the outputs")
        parts.append(store.combined(wanted[block]))
    return parts


def _blocks(costs: IntArray) -> list[slice]:
    """Cut rows of the given costs into runs of at most `BLOCK_ENTRIES`, one row at least."""
    if costs.sum() < BLOCK_ENTRIES:
        return [slice(0, len(costs))] if len(costs) else []
    marks = marked(differences(costs.cumsum() // BLOCK_ENTRIES)) + 1
    edges = [0, *marks.tolist(), len(costs)]
    return [slice(a, b) for a, b in pairwise(edges)]


class _Store:
    """Rows of silent states found so far: `length`, `start` [n] index one growing table."""

    def __init__(self, graph: SilentGraph) -> None:
        self.graph = graph
        self.length = np.zeros(graph.n_targets, np.int64)
        self.start = np.zeros(graph.n_targets, np.int64)
        self.scale = np.zeros(graph.n_targets, np.int64)
        self.targets = np.empty(0, np.int64)
        self.numerators: WeightArray = np.empty(0, np.int64)
        self.n_entries = 0

    def costs(self, states: IntArray) -> IntArray:
        """Return how many entries each state's row expands to."""
        graph = self.graph
        lengths = graph.indptr[states + 1] - graph.indptr[states]
        targets = graph.targets[ranges(graph.indptr[states], lengths)]
        each = np.where(graph.silent[targets], self.length[targets], 1)
        total = np.concatenate(([0], each.cumsum()))
        ends = lengths.cumsum()
        return np.asarray(total[ends] - total[ends - lengths], np.int64)

    def combined(self, states: IntArray) -> Rows:
        """Return the rows of the states with silent targets replaced by their rows.

        Steps are brought to the scale of their row before they are multiplied along: there are
        fewer steps than entries, and no numerator then exceeds its row's scale.
        """
        graph, scales = self.graph, self.graph.scales
        lengths = graph.indptr[states + 1] - graph.indptr[states]
        steps = ranges(graph.indptr[states], lengths)
        rows = np.arange(len(states)).repeat(lengths)
        targets, weights = graph.targets[steps], graph.numerators[steps]
        is_inner = graph.silent[targets]
        inner = marked(is_inner)
        if not len(inner):
            own = Scaled(rows, targets, weights, graph.scale[states])
            return rows_of_scaled(own, graph.n_targets, scales)
        via = targets[inner]
        scale = graph.scale[states][rows]
        scale[inner] = scales.products(scale[inner], self.scale[via])
        row_scales = scales.segment_lcms(rows, scale, len(states))
        bound = scales.bound(row_scales)
        weights = multiplied(weights, scales.quotients(row_scales[rows], scale), bound)
        reach = self.length[via]
        picked = ranges(self.start[via], reach)
        product = multiplied(self.numerators[picked], repeated(weights[inner], reach), bound)
        entries = rows[inner].repeat(reach), self.targets[picked], product
        if len(inner) < len(rows):
            ends = marked(~is_inner)
            entries = (
                np.concatenate([rows[ends], entries[0]]),
                np.concatenate([targets[ends], entries[1]]),
                concatenated([weights[ends], product]),
            )
        return rows_of_scaled(Scaled(*entries, row_scales), graph.n_targets, scales)

    def keep(self, states: IntArray) -> None:
        """Add the rows of silent states whose silent successors are there already."""
        rows = self.combined(states)
        n_new = len(rows.targets)
        if self.n_entries + n_new > len(self.targets):
            self._grow(self.n_entries + n_new)
        if rows.numerators.dtype != np.int64:
            self.numerators = as_objects(self.numerators)
        place = slice(self.n_entries, self.n_entries + n_new)
        self.targets[place] = rows.targets
        self.numerators[place] = rows.numerators
        self.length[states] = differences(rows.indptr)
        self.start[states] = rows.indptr[:-1] + self.n_entries
        self.scale[states] = self.graph.scales.codes(rows.denominators)
        self.n_entries += n_new

    def _grow(self, n_entries: int) -> None:
        size = max(1024, 2 * len(self.targets), n_entries)
        targets = np.empty(size, np.int64)
        numerators = np.empty_like(self.numerators, shape=size)
        targets[: self.n_entries] = self.targets[: self.n_entries]
        numerators[: self.n_entries] = self.numerators[: self.n_entries]
        self.targets, self.numerators = targets, numerators


def _forward(
    graph: SilentGraph, wanted: IntArray, levels: list[IntArray], tick: Tick
) -> list[Rows]:
    """Push the mass of every wanted state along, level by level, many sources at a time."""
    parts: list[Rows] = []
    pending = [slice(0, len(wanted))]
    while pending:
        block = pending.pop()
        part = _pushed(graph, wanted[block], levels, tick)
        if part is None:
            middle = (block.start + block.stop) // 2
            pending += [slice(middle, block.stop), slice(block.start, middle)]
        else:
            parts.append(part)
    return parts


def _pushed(
    graph: SilentGraph, wanted: IntArray, levels: list[IntArray], tick: Tick
) -> Rows | None:
    """Return the rows of the wanted states, or None if they should be pushed in smaller groups."""
    level = np.full(graph.n_targets, -1, np.int64)
    for depth, states in enumerate(levels):
        level[states] = depth
    waiting: list[list[Entries]] = [[] for _ in levels]
    done = _Finished(graph, len(wanted))
    start = Entries(
        np.arange(len(wanted)),
        wanted,
        np.ones(len(wanted), np.int64),
        np.zeros(len(wanted), np.int64),
    )
    _sort_in(_steps(graph, start), level, waiting, done)
    n_entries = 0
    for depth in reversed(range(len(levels))):
        if not waiting[depth]:
            continue
        tick("pushing probabilities along states without output")
        here = _one_scale_per_target(joined(waiting[depth]), len(wanted), graph)
        waiting[depth] = []
        cost = int((graph.indptr[here.targets + 1] - graph.indptr[here.targets]).sum())
        n_entries += cost
        if max(cost, n_entries // 16) > MAX_ENTRIES and len(wanted) > 1:
            return None
        _sort_in(_next(graph, here, len(wanted), tick), level, waiting, done)
    return rows_of(joined(done.parts), len(wanted), graph.n_targets, graph.scales)


class _Finished:
    """Entries at states that are not silent.

    Large numbers are added up in pairs of parts that took equally many levels, as a binary counter
    carries: each is then multiplied along few times, by numbers as long as its own part of the way.
    """

    def __init__(self, graph: SilentGraph, n_rows: int) -> None:
        self._graph, self._n_rows = graph, n_rows
        self.parts: list[Entries] = []
        self._n_levels: list[int] = []

    def append(self, part: Entries) -> None:
        """Add the entries of one level."""
        n_levels = 1
        if part.numerators.dtype != np.int64:
            while self._n_levels and self._n_levels[-1] <= n_levels:
                n_levels += self._n_levels.pop()
                part = self._added_up(joined([self.parts.pop(), part]))
        self.parts.append(part)
        self._n_levels.append(n_levels)

    def _added_up(self, entries: Entries) -> Entries:
        rows, targets, numerators, scales = merged(
            entries, self._n_rows, self._graph.n_targets, self._graph.scales
        )
        return Entries(rows, targets, numerators, scales[rows])


def _one_scale_per_target(entries: Entries, n_rows: int, graph: SilentGraph) -> Entries:
    """Add up entries at equal (row, target); equal targets get equal scales."""
    places, inverse = np.unique(entries.targets, return_inverse=True)
    turned = Entries(inverse, entries.rows, entries.numerators, entries.scales)
    targets, rows, numerators, scale = merged(turned, len(places), n_rows, graph.scales)
    return Entries(rows, places[targets], numerators, scale[targets])


def _next(graph: SilentGraph, entries: Entries, n_rows: int, tick: Tick) -> Entries:
    """Return where one step leads from the entries' targets; long numbers are added up."""
    rows = Right(graph.indptr, graph.targets, graph.numerators, graph.scale)
    return long_product(entries, rows, (n_rows, graph.n_targets), graph.scales, tick) or _steps(
        graph, entries
    )


def _steps(graph: SilentGraph, entries: Entries) -> Entries:
    """Return where one step leads from the entries' targets."""
    at = entries.targets
    lengths = graph.indptr[at + 1] - graph.indptr[at]
    picked = ranges(graph.indptr[at], lengths)
    total = graph.scales.products(entries.scales, graph.scale[at])
    weights = multiplied(
        graph.numerators[picked], repeated(entries.numerators, lengths), graph.scales.bound(total)
    )
    return Entries(
        entries.rows.repeat(lengths), graph.targets[picked], weights, total.repeat(lengths)
    )


def _sort_in(
    entries: Entries, level: IntArray, waiting: list[list[Entries]], done: _Finished
) -> None:
    """Put entries at silent states where their level is, the others with the finished ones."""
    levels = level[entries.targets]
    levels += 1
    depths = marked(np.bincount(levels)).tolist()
    for depth in depths:
        part = entries
        if len(depths) > 1:
            chosen = marked(levels == depth)
            part = Entries(
                entries.rows[chosen],
                entries.targets[chosen],
                entries.numerators[chosen],
                entries.scales[chosen],
            )
        (waiting[depth - 1] if depth else done).append(part)
