"""The chain of a mechanism: its raw graph with everything silent summed into transitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from dpcheck.chain.arrays import ranked
from dpcheck.chain.chain import Chain, IntArray, NeighborRelation
from dpcheck.chain.sets import distinct_rows
from dpcheck.diagnostics.align import NotForAllIntegers
from dpcheck.diagnostics.quantities import MoreThanOneRecord
from dpcheck.explore.explored import Explored
from dpcheck.explore.inputs.adjacency import neighbor_pairs
from dpcheck.explore.inputs.universe import Columns, universe
from dpcheck.explore.programs.liveness import flow_of
from dpcheck.explore.programs.running_best import with_running_best
from dpcheck.explore.runs.program_points import SHOWN, Cut
from dpcheck.explore.runs.raw_graph import Discovered, Starts, input_text
from dpcheck.explore.runs.visible import Visible, visible_runs
from dpcheck.explore.sampling.closed_forms import MAX_SUPPORT
from dpcheck.explore.tails.carried import with_tuples_apart
from dpcheck.explore.tails.kinds_apart import with_kinds_apart
from dpcheck.explore.tails.tails import FARTHEST, TAIL_STATE, Tails, Window, WindowTooSmall
from dpcheck.explore.tails.wide import Wide, wide_uses, with_numbers_revealed, with_sums_resolved
from dpcheck.explore.values.codes import UNASSIGNED, ValueTable
from dpcheck.explore.values.mistakes import MistakesFound, spoken
from dpcheck.limits import Limits
from dpcheck.model.offers import choice_of, shown_text
from dpcheck.model.program import Mechanism
from dpcheck.model.values import stands_for_several
from dpcheck.records import Frozen, replace
from dpcheck.source import Span

MAX_WINDOWS = 200
"""How often runs are explored anew because the window of numbers without bounds was too small."""


class Given(Frozen):
    """What is known before any run: the inputs, and what is remembered of them.

    `pairs` of neighbors are found when all runs are known where they are not given. Edges get
    labels where `labelled`, for the pairs of later states.
    """

    mechanism: Mechanism
    wide: Wide
    table: ValueTable
    inputs: Columns
    n_inputs: int
    kept: frozenset[str]
    limits: Limits
    labelled: bool = False
    pairs: IntArray | None = None

    def some(self, rows: IntArray, pairs: IntArray) -> Given:
        """Return some inputs, rows [n], and pairs [n_pairs, 2] of these, with values of their own.

        So what is found of them does not hang on what was found of others before.
        """
        inputs = {name: column[rows] for name, column in self.inputs.items()}
        table = self.table.copied()
        return replace(self, table=table, inputs=inputs, n_inputs=len(rows), pairs=pairs)


def given_inputs(
    mechanism: Mechanism,
    kept_inputs: frozenset[str] = frozenset(),
    *,
    later_neighbors: bool = False,
    limits: Limits,
) -> Given:
    """Return all inputs of a mechanism; raises `MistakesFound` for a faulty declaration."""
    if mechanism.has_unbounded_inputs:
        raise MistakesFound([NotForAllIntegers(mechanism.span, "this")])
    table = ValueTable(limits)
    inputs, n_inputs = universe(mechanism, table, limits)
    if later_neighbors:
        from dpcheck.explore.runs.later_neighbors import with_results_drawn

        mechanism = with_results_drawn(mechanism)
    mechanism, wide = revealed(mechanism, are_compared=later_neighbors)
    kept = kept_variables(mechanism, kept_inputs)
    return Given(mechanism, wide, table, inputs, n_inputs, kept, limits, later_neighbors)


def mechanism_chain(given: Given, window: Window | None = None) -> Explored:
    """Return the chain: one transition per output, initial states first, then as discovered.

    Numbers without bounds are known exactly in the window at least.
    """
    return explored_of(given, followed(given, window))


def followed(given: Given, window: Window | None = None) -> Runs:
    """Return what is seen of all runs, in a window that is large enough."""
    tried = Window() if window is None else window
    for _ in range(MAX_WINDOWS):
        try:
            return _runs(given, tried)
        except WindowTooSmall as found:
            tried = found.window
    raise tried.too_far(f"{MAX_WINDOWS} windows were tried", "bounds, as by `clamped`")


def explored_of(given: Given, found: Runs) -> Explored:
    """Return the chain of all runs."""
    columns = _columns(found.seen, given.inputs, given.n_inputs, given.kept)
    codes, observation = _observation(columns["output"], found.seen.rows.n_rows)
    tails, chain = found.starts.tails, _chain(given, found, codes, observation)
    orders = None
    if tails is not None:
        from dpcheck.explore.runs.lumped import lumped_states
        from dpcheck.explore.runs.orders import Orders
        from dpcheck.explore.runs.partners import with_partners

        orders = known = Orders(found.seen.shown, found.starts, tails, chain.neighbors)
        lumped = lumped_states(found.seen.shown, known, tails)
        chain = replace(chain, lumped=lumped, orders=partial(with_partners, known))
    return Explored(
        chain,
        given.table,
        columns,
        given.inputs,
        window=tails.window if tails is not None and given.wide.revealing else None,
        orders=orders,
        has_sure_kinds=tails is None or tails.has_sure_kinds,
        shown=codes,
    )


class Runs(Frozen):
    """What is seen of all runs, and where they start."""

    seen: Visible
    starts: Starts


def _runs(given: Given, window: Window) -> Runs:
    """Return what is seen of all runs.

    Raises `WindowTooSmall` where numbers without bounds matter beyond the window, `LimitReached`
    where it is too wide for a table, or so far from 0 that its codes would be no integers.
    """
    low, high = window.shown
    if max(map(abs, window.ends)) > FARTHEST:
        raise window.beyond_codes()
    if high - low >= MAX_SUPPORT:
        limit = f"these are more than {MAX_SUPPORT:,}"
        raise window.too_far(limit, "numbers nearer to each other")
    tails = Tails(given.wide, window, given.table) if given.wide.groups else None
    flow = flow_of(given.mechanism, given.kept, tails)
    inputs, table, limits = given.inputs, given.table, given.limits
    starts = Starts(
        given.mechanism, flow, inputs, given.n_inputs, table, limits, tails, given.labelled
    )
    return Runs(visible_runs(starts), starts)


def _chain(given: Given, found: Runs, codes: IntArray, observation: IntArray) -> Chain:
    """Return the chain of what is seen; observation[n_states], an index into codes or -1."""
    mechanism, table, inputs = given.mechanism, given.table, given.inputs
    seen, tails = found.seen, found.starts.tails
    rows, stopped = seen.rows, seen.n_states
    return Chain(
        rows.indptr,
        rows.targets,
        rows.numerators,
        rows.denominators,
        initial=np.arange(given.n_inputs),
        neighbors=_neighbors(given, found),
        observation=observation,
        labelling={},
        stopped=stopped,
        diverged=stopped + 1 if rows.n_rows > stopped + 1 else None,
        state_text=_state_text(mechanism, inputs, seen.shown, stopped, table, tails),
        observation_text=lambda code: shown_text(table.value(int(codes[code]))),
        shows_every_step=True,
        shows_several=lambda code: stands_for_several(table.value(int(codes[code]))),
        known=_known(mechanism, inputs),
        offers=_offers(mechanism, codes, table),
        alike=_alike(given, seen),
    )


def _neighbors(given: Given, found: Runs) -> NeighborRelation:
    """Return which inputs are neighbors, and, where edges have labels, which states later on."""
    mechanism, table, inputs, limits = given.mechanism, given.table, given.inputs, given.limits
    pairs = given.pairs
    if pairs is None:
        pairs = neighbor_pairs(mechanism, inputs, given.n_inputs, table, limits)
    if mechanism.sampled_at is not None:
        _check_records(mechanism, pairs, inputs, table, mechanism.sampled_at)
    limits.check_time(f"{len(pairs)} neighbor pairs found")
    labelled = found.seen.labelled
    if labelled is None:
        return NeighborRelation(pairs)
    from dpcheck.explore.runs.later_neighbors import later_pairs

    tails = found.starts.tails
    later = later_pairs(mechanism, labelled.raw, pairs, tails, limits)
    sure, doubtful = labelled.number[later.sure], labelled.number[later.doubtful]
    window = Window() if tails is None else tails.window
    lock_step = partial(_lock_step, given, window)
    return NeighborRelation(pairs, sure, doubtful, lock_step, draw_alike=later.draw_alike)


def _lock_step(given: Given, window: Window, limits: Limits) -> Callable[[IntArray], IntArray]:
    """Return what finds the pairs of states [m, 2] that follow some, [n, 2], in lock step.

    All runs are followed once more, so that states have the numbers that they had: the labels of
    their edges are too many to be kept.
    """
    from dpcheck.explore.runs.later_neighbors import pairs_after

    found = _runs(replace(given, limits=limits), window)
    labelled = found.seen.labelled
    assert labelled is not None, "lock step was asked for"
    after = pairs_after(given.mechanism, labelled.raw, found.starts.tails, limits)
    raw_states = np.flatnonzero(labelled.number[:-2] >= 0)
    return lambda pairs: labelled.number[after(raw_states[pairs])]


def _check_records(
    mechanism: Mechanism, pairs: IntArray, inputs: Columns, table: ValueTable, asked: Span
) -> None:
    """Raise `MistakesFound` where neighbors, pairs[n, 2], are not one record apart."""
    private = [one for one in mechanism.inputs if not one.is_public]
    cells = [cell for one in private for cell in one.cells]
    apart = np.zeros(len(pairs), np.int64)
    for name in cells:
        apart += np.abs(np.subtract(*inputs[name][pairs].T))  # small numbers are their codes
    further = np.flatnonzero(apart != 1)
    if len(further):
        first, second = (
            input_text(mechanism, inputs, row, table) for row in pairs[further[0]].tolist()
        )
        terms = [
            f"abs({one.name} - {one.name}')" if one.lo is None else f"l1({one.name}, {one.name}')"
            for one in private
        ]
        adjacency = f"{' + '.join(terms)} <= 1"
        values, n_records = private[0].domain, len(private[0].cells)
        shown = (first, second)
        raise MistakesFound(
            [MoreThanOneRecord(asked, mechanism.title, shown, adjacency, values, n_records)]
        )


def revealed(mechanism: Mechanism, *, are_compared: bool = False) -> tuple[Mechanism, Wide]:
    """Return the mechanism where numbers without bounds are revealed before they are output.

    are_compared: whether what is drawn is. Raises `MistakesFound` where it computes with them.
    """
    nodes = with_kinds_apart(with_tuples_apart(mechanism.nodes))
    mechanism = replace(mechanism, nodes=nodes)
    wide, mistakes = wide_uses(mechanism.nodes)
    if mistakes:
        raise MistakesFound(mistakes)
    if not are_compared and (shorter := with_running_best(mechanism)) is not mechanism:
        mechanism = shorter
        wide, _ = wide_uses(mechanism.nodes)
    if wide.sums and not are_compared:
        from dpcheck.explore.programs.moved_centers import with_centers_moved

        mechanism = with_centers_moved(mechanism, wide)
        wide, _ = wide_uses(mechanism.nodes)
    if wide.showing:
        mechanism = replace(mechanism, nodes=with_numbers_revealed(mechanism.nodes, wide))
        wide, _ = wide_uses(mechanism.nodes)
    if wide.sums:
        mechanism = replace(mechanism, nodes=with_sums_resolved(mechanism.nodes, wide))
        wide, _ = wide_uses(mechanism.nodes)
    return mechanism, wide


def kept_variables(mechanism: Mechanism, names: frozenset[str]) -> frozenset[str]:
    """Return the variables of the named inputs: an array stands for its cells."""
    arrays = {one.name: one.cells for one in mechanism.inputs if one.lo is not None}
    return frozenset(cell for name in names for cell in arrays.get(name, (name,)))


def _columns(
    seen: Visible, inputs: Columns, n_inputs: int, kept: frozenset[str]
) -> dict[str, IntArray]:
    """Return `output` and the kept inputs of every state, [n_states]."""
    columns: dict[str, IntArray] = {}
    for name in ("output", *sorted(kept)):
        column = columns[name] = np.full(seen.n_states, UNASSIGNED, np.int64)
        if name in inputs:
            column[:n_inputs] = inputs[name]
        for states in seen.shown.values():
            column[states.numbers] = states.columns[SHOWN if name == "output" else name]
    return columns


def _known(mechanism: Mechanism, inputs: Columns) -> IntArray | None:
    """Return for each input the number of its public part; None without public inputs."""
    public = [inputs[cell] for one in mechanism.inputs if one.is_public for cell in one.cells]
    if not public:
        return None
    return np.unique(np.stack(public, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def _observation(shown: IntArray, n_states: int) -> tuple[IntArray, IntArray]:
    """Return the codes of the values shown, and per state an index into them or -1."""
    observation = np.full(n_states, -1, np.int64)
    is_shown = shown != UNASSIGNED
    codes, index = ranked(shown[is_shown])
    observation[: len(shown)][is_shown] = index
    return codes, observation


def _offers(
    mechanism: Mechanism, codes: IntArray, table: ValueTable
) -> dict[int, tuple[object, int]]:
    """Return which of codes[n_codes] are an analyst's choices: of what, and of how many."""
    if not mechanism.has_queries:
        return {}
    found = {i: choice_of(table.value(code)) for i, code in enumerate(codes.tolist())}
    chosen = {i: choice[0] for i, choice in found.items() if choice is not None}
    return {i: (offer, len(offer.choices.items)) for i, offer in chosen.items()}


def _alike(given: Given, seen: Visible) -> IntArray | None:
    """Return which states differ in choices alone, fixed beforehand and not kept, [n_states].

    Before a choice is made, all its values are there: a history does not depend on them. Afterwards
    the program has forgotten it, or all states of a number go on alike.
    """
    free = given.mechanism.choices - given.kept
    if not free:
        return None
    alike = np.arange(seen.rows.n_rows)
    starts = Discovered(dict(given.inputs), np.arange(given.n_inputs))
    for states in (starts, *seen.shown.values()):
        known = [column for name, column in sorted(states.columns.items()) if name not in free]
        first, group = distinct_rows([*known, np.zeros(len(states.numbers), np.int64)])
        alike[states.numbers] = states.numbers[first[group]]
    return alike


def _state_text(
    mechanism: Mechanism,
    inputs: Columns,
    shown_states: Mapping[Cut, Discovered],
    n_states: int,
    table: ValueTable,
    tails: Tails | None,
) -> Callable[[int], str]:
    """Return the writer of states: `x = pos`, or `after output Y with x = pos`."""
    n_inputs = len(next(iter(inputs.values()))) if inputs else 1

    def text(state: int) -> str:
        if state < n_inputs:
            return input_text(mechanism, inputs, state, table) or "the start"
        if state >= n_states:
            return "stopped" if state == n_states else "diverged"
        for states in shown_states.values():
            row = int(np.searchsorted(states.numbers, state))
            if row == len(states.numbers) or states.numbers[row] != state:
                continue
            codes = {name: int(column[row]) for name, column in states.columns.items()}
            values = {
                name: shown_text(table.value(code))
                for name, code in codes.items()
                if code != UNASSIGNED and not name.startswith(TAIL_STATE)
            }
            beyond = {} if tails is None else tails.texts(codes)
            values = {name: text for name, text in values.items() if name not in beyond}
            shown = f"after output {values.pop(SHOWN)}"
            known = [f"{spoken(name)} = {value}" for name, value in values.items()]
            memory = ", ".join([*known, *(f"{spoken(n)} {text}" for n, text in beyond.items())])
            return f"{shown} with {memory}" if memory else shown
        raise AssertionError("states are starts or follow an output")

    return text
