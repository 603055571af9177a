"""States that remember numbers beyond the window, and so stand for one state for each such number.

From any two of these, runs have one law until another draw lands beyond the window: all else a
number is compared with lies in it. So no probability differs by more than that of such a draw,
which is at most the number of draws that are still to come times the largest of their
probabilities. Where none comes, all have equal probabilities. (Where numbers are moved, `z + x`,
those next to the end matter, too, and no such bound is known; nor is it for numbers that are still
shown, and are known in a wider window then.) More is known of them by `explore.runs.orders`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import TypeVar

from dpcheck.chain.arrays import marked
from dpcheck.chain.graph import graph_from, strong_components
from dpcheck.exact import Number, add, multiply
from dpcheck.explore.runs.liveness import END, Flow
from dpcheck.explore.runs.program_points import Cut
from dpcheck.explore.runs.raw_graph import Discovered
from dpcheck.explore.tails.tails import Tails, state_column
from dpcheck.model.program import Sample, successors

T = TypeVar("T")


def lumped_states(
    shown_states: Mapping[Cut, Discovered], flow: Flow, tails: Tails
) -> dict[int, Number]:
    """Return the states after outputs that stand for several, and by how much these may differ."""
    found: dict[int, Number] = {}
    for group in range(len(tails.wide.groups)):
        n_draws = to_come(flow, draws_of(flow, tails, group), 0, lambda count, _: count + 1, max)
        is_shown = group in tails.wide.revealing.values()
        is_known = not (is_shown and tails.window.margin) and tails.farthest == 0
        for (_, point), states in shown_states.items():
            column = states.columns.get(state_column(group))
            if point == END or column is None:
                continue
            count = n_draws[point] if is_known else None
            error = 1 if count is None else multiply(count, tails.states.most_beyond)
            for state in states.numbers[marked(column)].tolist() if error != 0 else ():
                found[state] = add(found.get(state, 0), error)
    return found


def draws_of(flow: Flow, tails: Tails, group: int) -> dict[int, Sample]:
    """Return the nodes that draw a number of a group."""
    nodes = {k: flow.nodes[k] for k in tails.wide.arriving}
    names = tails.wide.groups[group]
    return {k: n for k, n in nodes.items() if isinstance(n, Sample) and n.target in names}


def to_come(
    flow: Flow,
    draws: Container[int],
    nothing: T,
    drawn: Callable[[T, int], T | None],
    joined: Callable[[T, T], T],
) -> list[T | None]:
    """Return what follows each node, itself included, from its ends on; None: endless draws."""
    following = [successors(node) for node in flow.nodes]
    component, count = strong_components(graph_from(following))
    members: list[list[int]] = [[] for _ in range(count)]
    for k, number in enumerate(component.tolist()):
        members[number].append(k)
    found: list[T | None] = [nothing] * len(following)
    for nodes in members:  # each after all that it leads to
        here: T | None = nothing
        leaving = {after for k in nodes for after in following[k]}
        for there in (found[after] for after in leaving.difference(nodes)):
            here = None if here is None or there is None else joined(here, there)
        is_cycle = len(nodes) > 1 or nodes[0] in leaving
        if is_cycle and any(k in draws for k in nodes):
            here = None
        for k in nodes:
            found[k] = drawn(here, k) if here is not None and k in draws else here
    return found
