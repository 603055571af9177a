"""Exact solutions of any `System`, by the backend that fits its shape.

- No cycle: one pass in topological order (`acyclic`).
- Entries that form trees, as in walks on a line: elimination without fill (`trees`).
- Small strong components are eliminated (`solve_linear`: sparse elimination, then flint),
  with one right-hand column for each state outside that the component enters: its rows become rows
  over the outside, and the system loses the cycle.
- A component that enters many states is solved in numbers once those states are known.
- A system with a large component is solved as a whole, digit by digit (`dixon_lifting`): digits are
  added up for the wanted states only, where the steps above would need exact numbers, thousands of
  bits each, at every state where one component enters another.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

import numpy as np

from dpcheck import exact
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.graph import Graph, reachable, strong_components, topological_layers
from dpcheck.chain.sets import distinct
from dpcheck.chain.weights.denominators import weight_array
from dpcheck.chain.weights.rows import indptr_of, ranges
from dpcheck.exact.linear import common_row, solve_linear
from dpcheck.limits import Limits, too_large
from dpcheck.solve.systems.acyclic import acyclic_solution, exact_bits
from dpcheck.solve.systems.dixon_lifting import lifted_bounds, lifted_values
from dpcheck.solve.systems.enclosures import acyclic_bounds
from dpcheck.solve.systems.float_solves import IllConditioned, fill_bound
from dpcheck.solve.systems.system import System
from dpcheck.solve.systems.trees import Forest, forest, tree_solution

MAX_COLUMN_ENTRIES = 20_000
"""Bounds a component's columns of right sides, an exact number an entry."""
LIFTING_PAYS_FROM = 700
"""From so many states in a component on, its digits are had before its elimination."""
ELIMINATION_LIMIT = 3_000
"""A larger dense matrix is not eliminated: exact numbers of so many rows squared are too many."""
ENCLOSING_PAYS_FROM = 64
"""Exact values that are so many times longer than the bits asked for are enclosed."""
ENCLOSING_CYCLES_PAYS_FROM = 4_000
"""From so many states with cycles on, bounds are had before exact values."""


def solution(system: System, wanted: IntArray, limits: Limits) -> list[exact.Number]:
    """Return x_s for the wanted states [n]."""
    if not len(wanted):
        return []
    return _solved(system, _Shape(system, wanted), wanted, limits)


def solution_bounds(
    system: System, wanted: IntArray, bits: int | None, limits: Limits
) -> list[tuple[exact.Number, exact.Number]]:
    """Return certified bounds of x_s for wanted states [n], equal where exact values are cheap.

    They differ, by at most 2^-bits, where the system is deep or has cycles and many states, and
    bits are given.
    """
    if bits is None or not len(wanted) or not system.is_rational:
        return [(value, value) for value in solution(system, wanted, limits)]
    shape = _Shape(system, wanted)
    if shape.layers is not None:
        if exact_bits(system, shape.layers) > ENCLOSING_PAYS_FROM * bits:
            return acyclic_bounds(system, shape.layers, wanted, bits, limits)
    elif shape.trees is None and (shape.is_large or system.n_states >= ENCLOSING_CYCLES_PAYS_FROM):
        with suppress(IllConditioned):
            return lifted_bounds(system, wanted, bits, limits)
    return [(value, value) for value in _solved(system, shape, wanted, limits)]


class _Shape:
    """What decides which backend fits a system, each part computed when it is first asked for."""

    def __init__(self, system: System, wanted: IntArray) -> None:
        self._system, self._wanted = system, wanted

    @cached_property
    def layers(self) -> tuple[IntArray, IntArray] | None:
        """The topological layers, None where there is a cycle."""
        return topological_layers(self._system.graph)

    @cached_property
    def components(self) -> tuple[IntArray, IntArray]:
        """Each state's strong component [n_states], and the components' sizes."""
        component, count = strong_components(self._system.graph)
        return component, np.bincount(component, minlength=count)

    @cached_property
    def is_large(self) -> bool:
        """Whether some component of integer rows is too large to be eliminated."""
        return bool(self.components[1].max() >= LIFTING_PAYS_FROM) and self._system.is_rational

    @cached_property
    def trees(self) -> Forest | None:
        """The trees that the entries form, None where they close a circle."""
        return forest(self._system, self._wanted)


def _solved(system: System, shape: _Shape, wanted: IntArray, limits: Limits) -> list[exact.Number]:
    """Return x_s for the wanted states [n], at least one."""
    if shape.layers is not None:
        return acyclic_solution(system, shape.layers, wanted, limits)
    component, sizes = shape.components
    if shape.is_large:
        if shape.trees is not None:
            return tree_solution(system, shape.trees, wanted, limits)
        try:
            return lifted_values(system, wanted, limits)
        except IllConditioned:
            _check_elimination_is_possible(system, int(sizes.max()))
    system = _without_cycles(system, component, sizes, wanted, limits)
    layers = topological_layers(system.graph)
    assert layers is not None, "solved components leave no cycle"
    return acyclic_solution(system, layers, wanted, limits)


def _check_elimination_is_possible(system: System, largest: int) -> None:
    """Raise `LimitReached` where elimination would fill a large dense matrix."""
    if largest > ELIMINATION_LIMIT and fill_bound(system.graph) > ELIMINATION_LIMIT**2:
        raise too_large(
            f"a cycle of {largest} states is left so rarely that floats cannot guide"
            " its exact solution",
            "a smaller model",
        )


def _without_cycles(
    system: System, component: IntArray, sizes: IntArray, wanted: IntArray, limits: Limits
) -> System:
    """Return an acyclic system with the same solution at the wanted states [n]."""
    count = len(sizes)
    inner = component[system.graph.sources] == component[system.graph.targets]
    exits = np.bincount(component[system.graph.sources[~inner]], minlength=count)
    cyclic = sizes > 1
    in_numbers = cyclic & (sizes * exits > MAX_COLUMN_ENTRIES)
    rows = _eliminated(system, (cyclic & ~in_numbers)[component], inner, limits)
    needed = np.zeros(system.n_states, np.bool_)
    needed[wanted] = True
    needed[system.graph.targets[~inner]] = True
    for number_of_component in np.flatnonzero(in_numbers).tolist():
        members = np.flatnonzero(component == number_of_component)
        rows = _solved_in_numbers(rows, members, needed, limits)
    return rows


def _eliminated(system: System, chosen: BoolArray, inner: BoolArray, limits: Limits) -> System:
    """Return the system with the chosen states' rows leading outside their components only."""
    if not np.any(chosen):
        return system
    limits.check_time("before elimination of cycles")
    graph = system.graph
    members = np.flatnonzero(chosen)
    place = np.full(graph.n_states, -1, np.int64)
    place[members] = np.arange(len(members))
    here = chosen[graph.sources]
    numerators = system.numerators
    within, leaving = np.flatnonzero(here & inner), np.flatnonzero(here & ~inner)
    right: list[tuple[int, int, exact.Whole]] = [
        (i, 0, b) for i, b in enumerate(system.constants[members].tolist()) if b != 0
    ]
    right.extend(_entries(place[graph.sources], graph.targets + 1, numerators, leaving))
    solved = solve_linear(
        system.denominators[members].tolist(),
        _entries(place[graph.sources], place[graph.targets], numerators, within),
        right,
    )
    return _with_rows(system, members, solved)


def _entries(
    sources: IntArray, targets: IntArray, numerators: object, chosen: IntArray
) -> list[tuple[int, int, exact.Whole]]:
    weights = numerators[chosen].tolist()  # type: ignore[index]
    return list(zip(sources[chosen].tolist(), targets[chosen].tolist(), weights, strict=True))


def _with_rows(system: System, members: IntArray, rows: list[dict[int, exact.Number]]) -> System:
    """Return the system with new rows: column 0 is the constant, column t + 1 is state t."""
    graph = system.graph
    lengths = graph.degrees.copy()
    targets: list[IntArray] = []
    fresh: list[exact.Whole] = []
    denominators = system.denominators.astype(object)
    constants = system.constants.astype(object)
    for s, row in zip(members.tolist(), rows, strict=True):
        numerators, denominators[s] = common_row(row)
        constants[s] = numerators.pop(0, 0)
        lengths[s] = len(numerators)
        targets.append(np.array(list(numerators), np.int64) - 1)
        fresh.extend(numerators.values())
    indptr = indptr_of(lengths)
    all_targets = np.empty(indptr[-1], np.int64)
    all_numerators = np.empty(indptr[-1], object)
    is_new = np.zeros(graph.n_states, np.bool_)
    is_new[members] = True
    kept = ~is_new[graph.sources]
    old = ranges(indptr[:-1][~is_new], lengths[~is_new])
    all_targets[old], all_numerators[old] = graph.targets[kept], system.numerators[kept]
    new = ranges(indptr[members], lengths[members])
    if len(new):
        all_targets[new] = np.concatenate(targets)
        all_numerators[new] = fresh
    return System(
        Graph(indptr, all_targets),
        weight_array(all_numerators.tolist()),
        weight_array(denominators.tolist()),
        weight_array(constants.tolist()),
    )


def _solved_in_numbers(
    system: System, members: IntArray, needed: BoolArray, limits: Limits
) -> System:
    """Return the system with the values of one component, and of the states it enters, as rows.

    Components that come earlier in reverse topological order are solved already, so the states
    that the component enters have acyclic rows. Members nobody needs get the value 0.
    """
    graph = system.graph
    inside = np.zeros(graph.n_states, np.bool_)
    inside[members] = True
    lengths = graph.degrees[members]
    entries = ranges(graph.indptr[members], lengths)
    sources = np.repeat(members, lengths)
    leaving = ~inside[graph.targets[entries]]
    exits = distinct(graph.targets[entries[leaving]])
    known = _acyclic_values(system, exits, limits)
    constants, scale = _constants_over_one_scale(
        system,
        members,
        zip(
            sources[leaving].tolist(),
            graph.targets[entries[leaving]].tolist(),
            system.numerators[entries[leaving]].tolist(),
            strict=True,
        ),
        known,
    )
    place = np.full(graph.n_states, -1, np.int64)
    place[members] = np.arange(len(members))
    inner = entries[~leaving]
    part = System(
        Graph(
            indptr_of(np.bincount(place[sources[~leaving]], minlength=len(members))),
            place[graph.targets[inner]],
        ),
        system.numerators[inner],
        system.denominators[members],
        weight_array(constants),
    )
    asked = np.flatnonzero(needed[members])
    values = _component_values(part, asked, limits)
    for s, value in zip(members[asked].tolist(), values, strict=True):
        known[s] = exact.divide(value, exact.number(scale))
    rows = [{0: known[s]} if s in known else {} for s in [*members.tolist(), *exits.tolist()]]
    return _with_rows(system, np.concatenate((members, exits)), rows)


def _acyclic_values(system: System, states: IntArray, limits: Limits) -> dict[int, exact.Number]:
    """Return the values of states [n] whose rows lead to acyclic parts only."""
    below = np.flatnonzero(reachable(system.graph, states, np.ones(system.n_states, np.bool_)))
    part = system.restricted(below)
    values = solution(part, np.searchsorted(below, states), limits)
    return dict(zip(states.tolist(), values, strict=True))


def _constants_over_one_scale(
    system: System,
    members: IntArray,
    leaving: object,
    known: dict[int, exact.Number],
) -> tuple[list[exact.Whole], exact.Whole]:
    """Return b_s + Σ n_st x_t over the entries that leave, times one scale, and the scale."""
    fractions = {t: exact.as_fraction_parts(value) for t, value in known.items()}
    scale = exact.common_multiple(below for _, below in fractions.values())
    whole = {
        t: above * exact.exact_quotient(scale, below) for t, (above, below) in fractions.items()
    }
    constants = {
        s: b * scale
        for s, b in zip(members.tolist(), system.constants[members].tolist(), strict=True)
    }
    for s, t, n in leaving:  # type: ignore[attr-defined]
        constants[s] = constants[s] + n * whole[t]
    return [constants[s] for s in members.tolist()], scale


def _component_values(part: System, asked: IntArray, limits: Limits) -> list[exact.Number]:
    """Return the asked values [n] of one strongly connected system."""
    limits.check_time(f"before solving a component of {part.n_states} states")
    everything = np.arange(len(part.graph.targets))
    solved = solve_linear(
        part.denominators.tolist(),
        _entries(part.graph.sources, part.graph.targets, part.numerators, everything),
        [(s, 0, b) for s, b in enumerate(part.constants.tolist()) if b != 0],
    )
    return [solved[s].get(0, 0) for s in asked.tolist()]
