"""From a target to its chain: the structure once, labels for the atoms of each claim after it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, assert_never

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain, IntArray
from dpcheck.chain.graph import relabelled
from dpcheck.exact import ExpNumber, Number, Rational
from dpcheck.explore.runs.ends import split_ends
from dpcheck.explore.tails.tails import Window
from dpcheck.explore.values.codes import FIRST_FAULT, TRUE, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated
from dpcheck.model.atoms import AtEnd, AtomMeaning, Condition, Label, Measure, Sink
from dpcheck.model.expressions import Apply, Expr
from dpcheck.model.far_numbers import FarNumber
from dpcheck.model.offers import shown_text
from dpcheck.model.values import Beyond, stands_for_several
from dpcheck.records import dataclass, field, replace
from dpcheck.source import Span

if TYPE_CHECKING:
    from dpcheck.explore.runs.orders import Orders

NO_STATE = -1
"""Stands for a state that a chain has not."""


@dataclass(frozen=True)
class Sizes:
    """How large a chain is: its inputs, pairs of neighbors, states and transitions.

    Both are counted as they are reported, without the sinks.
    """

    n_initial: int
    n_pairs: int
    n_states: int
    n_transitions: int


@dataclass(frozen=True, eq=False)
class Explored:
    """A chain without the labels of atoms, and what labels are computed from.

    columns: variable -> codes [n_reported_states] of `table`: the inputs that were kept, and
    `output`, where a state that shows nothing has a fault. inputs: variable -> codes
    [n_initial], all inputs of the initial states (empty for explicit chains). An explicit chain
    has `states_of`, which returns the states with a label, and origins: [n_reported_states] index
    into `spans`, the row or declaration of a state. window: where shown numbers without
    bounds are known; None where none is shown. orders: what is known of hidden ones beyond
    their window; None without any. has_sure_kinds: whether kinds of shown ones are so for all
    values of a parameter. shown: the codes [n_values] of what is observed. whole: where the chain
    has only some inputs and pairs, which decide the claims it is for, the sizes of that of all.
    """

    chain: Chain
    table: ValueTable
    columns: Mapping[str, IntArray]
    inputs: Mapping[str, IntArray]
    states_of: Callable[[Label], IntArray] | None = None
    window: Window | None = None
    orders: Orders | None = None
    has_sure_kinds: bool = True
    shown: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    whole: Sizes | None = None
    origins: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    spans: tuple[Span, ...] = ()

    @property
    def tells_kinds(self) -> bool:
        """Whether more is shown of some numbers beyond the window than that they are beyond it."""
        is_shown = self.window is not None
        return is_shown and not np.array_equal(self.told_less(self.chain).shown, self.shown)

    def told_less(self, chain: Chain, *, keeps_far: bool = False) -> Explored:
        """Return this with a chain that tells less of shown numbers beyond the window."""
        from dpcheck.explore.tails import claims

        shown = claims.with_less_told(self.shown, self.table, keeps_far=keeps_far)
        _, first, kind = np.unique(shown, return_index=True, return_inverse=True)
        observation, is_seen = chain.observation.copy(), chain.observation >= 0
        observation[is_seen] = first[kind][observation[is_seen]]
        told = replace(
            chain,
            observation=observation,
            observation_text=lambda code: shown_text(self.table.value(int(shown[code]))),
            shows_several=lambda code: stands_for_several(self.table.value(int(shown[code]))),
        )
        return replace(self, chain=told, shown=shown)

    @property
    def sizes(self) -> Sizes:
        """The sizes of the chain of all inputs."""
        if self.whole is not None:
            return self.whole
        chain, pairs = self.chain, self.chain.neighbors.pairs
        states, transitions = chain.n_reported_states, chain.n_reported_transitions
        return Sizes(len(chain.initial), len(pairs), states, transitions)

    def origin(self, state: int) -> Span | None:
        """Return the row, or declaration, of a state of an explicit chain; else None."""
        if state >= len(self.origins):
            return None
        return self.spans[int(self.origins[state])]


def labelled(explored: Explored, atoms: Mapping[str, AtomMeaning]) -> Chain:
    """Return the chain with a label for each atom, by its key.

    A condition is false where nothing is output and where its operation does not apply to the
    value. Where it reads inputs that were not kept, it is known at the initial states only, and
    false elsewhere. Labels that the chain has already stay. Where an atom reads kept inputs and no
    output, the sinks are split by their values (see `ends`).

    Raises `WindowTooSmall` where an atom compares a number without bounds with one outside of the
    window, `MistakesFound` where it does anything else with it.
    """
    chain, columns = explored.chain, explored.columns
    origin = np.arange(chain.n_states)
    remembered = _remembered(explored, atoms)
    if remembered:
        chain, columns, origin = split_ends(chain, columns, remembered)
    added: dict[str, BoolArray] = {}
    for key, atom in atoms.items():
        match atom:
            case Condition():
                holds = _condition_holds(explored, atom, columns, chain.n_states)
            case Sink(name="stopped"):
                holds = origin == explored.chain.stopped
            case Sink():
                diverged = explored.chain.diverged
                holds = origin == (NO_STATE if diverged is None else diverged)
            case Label():
                assert explored.states_of is not None, "only explicit chains have labels"
                holds = np.zeros(chain.n_states, np.bool_)
                holds[explored.states_of(atom)] = True
            case Measure() | AtEnd():
                continue
            case _ as never:
                assert_never(never)
        holds.flags.writeable = False
        added[key] = holds
    labels = ChainMap(added, chain.labelling)  # type: ignore[arg-type]
    return relabelled(chain, labels)


def _remembered(explored: Explored, atoms: Mapping[str, AtomMeaning]) -> list[str]:
    """Return the kept inputs that some atom reads without reading the output.

    Such an atom keeps its truth after the run has ended, so the ends have to be told apart.
    """
    names = {
        name
        for atom in atoms.values()
        if isinstance(atom, Condition) and not atom.reads_output
        for name in atom.inputs
    }
    return sorted(names & set(explored.columns))


def measured(
    explored: Explored, measure: Measure
) -> tuple[list[Number | None], list[Number | None]]:
    """Return what a measure is at least, and at most, where a state outputs what it applies to.

    Both are [n_states], None elsewhere. They differ where a number beyond the window is output: its
    error is at least that of the integer next to the window, and may be any larger one (None); in a
    cell with an end it may be 0. The inputs that the measure reads were kept.
    """
    columns, window = explored.columns, explored.window
    most = _measured_on(columns, measure, explored)
    if window is None:
        return most, most
    from dpcheck.explore.tails import claims

    for expression in measure.values:
        match expression:
            case Apply(args=(Apply(op="-", args=(read, goal)),), span=span):
                claims.values_beyond(
                    Apply("=", (read, goal), span), columns, explored.table, window
                )
    least = _measured_on(claims.with_integers(columns, explored.table), measure, explored)
    for state in claims.rows_in_cells(columns, explored.table):
        least[state] = None if least[state] is None else 0  # any of its numbers may be the nearest
    return least, most


def _measured_on(
    columns: Mapping[str, IntArray], measure: Measure, explored: Explored
) -> list[Number | None]:
    """Return [n_states] the first of a measure's values that is a number, on columns [n_states]."""
    values: list[Number | None] = [None] * explored.chain.n_states
    frame = Frame(len(columns["output"]), columns)  # ends that were split have no row, and no value
    for expression in measure.values:
        codes = evaluated(expression, frame, explored.table).tolist()
        for state, code in enumerate(codes):
            value = None if code >= FIRST_FAULT else explored.table.value(code)
            if values[state] is None and isinstance(value, int | Rational | ExpNumber):
                values[state] = None if isinstance(value, bool) else value
    return values


def at_end(
    explored: Explored, meaning: AtEnd
) -> Callable[[int, int, Mapping[int, int], int], Number | None]:
    """Return what a number at the end of a run is, from states and the number of outputs.

    The arguments are the last state, how many outputs came before it as far as that is among the i
    that the number asks for, the state after the i-th output for each of these that there is, and
    how many outputs there were; the result is None where the value is no number, and the mean where
    numbers beyond the window were shown. The inputs it reads were kept. It raises as `labelled`.
    """
    from dpcheck.explore.tails import claims

    table, columns, window = explored.table, explored.columns, explored.window or Window()
    last_name = ("output",) if meaning.reads_last else ()
    names = (*last_name, *(f"output({i})" for i in meaning.positions))

    @cache
    def value(codes: tuple[int, ...], last: str, n_outputs: int) -> Number | None:
        beyond: list[Beyond] = []
        environment = {
            name: claims.as_far(table.value(code), beyond)
            for name, code in zip((*meaning.inputs, *names), codes, strict=True)
            if code < FIRST_FAULT
        }
        if meaning.reads_last and last in environment:
            environment["output"] = environment[last]  # one number may be read by two names
        try:
            found = claims.value_beyond(
                meaning.value, {**environment, "outputs": n_outputs}, window
            )
        except KeyError:  # it reads an output that the run has not
            return None
        if isinstance(found, FarNumber):
            return claims.mean_beyond(found, beyond, window)
        if isinstance(found, bool) or not isinstance(found, int | Rational | ExpNumber):
            return None
        return found

    def at(state: int, count: int, after: Mapping[int, int], n_outputs: int) -> Number | None:
        shown = (*(state for _ in last_name), *map(after.get, meaning.positions))
        inputs = (columns[name].item(state) for name in meaning.inputs)
        last = f"output({count})" if count in after else "output"
        outputs = (FIRST_FAULT if s is None else columns["output"].item(s) for s in shown)
        return value((*inputs, *outputs), last, n_outputs)

    return at


def _condition_holds(
    explored: Explored, atom: Condition, columns: Mapping[str, IntArray], n_states: int
) -> BoolArray:
    """Return [n_states], where a condition over `output` and inputs holds."""
    chain = explored.chain
    holds = np.zeros(n_states, np.bool_)
    if all(name in columns for name in atom.inputs):
        n_known = len(columns["output"])
        holds[:n_known] = _truth(atom.condition, Frame(n_known, columns), explored)
        if explored.window is not None:
            from dpcheck.explore.tails import claims

            table, window = explored.table, explored.window
            rows, values = claims.values_beyond(atom.condition, columns, table, window)
            holds[rows] = [value is True for value in values]
    elif not atom.reads_output:
        frame = Frame(len(chain.initial), explored.inputs)
        holds[chain.initial] = _truth(atom.condition, frame, explored)
    return holds


def _truth(condition: Expr, frame: Frame, explored: Explored) -> BoolArray:
    """Return [n_rows], where a condition is true; a fault is not."""
    truth: BoolArray = evaluated(condition, frame, explored.table) == TRUE
    return truth
