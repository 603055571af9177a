"""States that remember numbers beyond the window, and so stand for one state for each such number.

From any two of these, runs have one law until another draw lands beyond the window: all else a
number is compared with lies in it. So no probability differs by more than that of such a draw,
which is at most the number of draws that are still to come times the largest of their
probabilities. Where none comes, all have equal probabilities. (Where numbers are moved, `z + x`,
those next to the end matter, too, and no such bound is known.)

Where one number is kept, T, and n draws at most are still to come, more is known. Let all centers
and all else numbers meet be at most u, wherever these are moved. How n draws and T > u are ordered
has the probability Σ c_S Π_(i in S) r_i^T, over sets S of draws with ratios r_i: P(X_i = x) is a
multiple of r_i^x for x > u, draws beyond T give Π r_i^T, and sums over u < x < T of ρ^x, ρ < 1, are
a - b ρ^T. So the probability of whatever happens is such a sum, and its values at as many T as
there are products are all of it; where the window is wide enough, those are states inside of it.
The same holds below.

None of that is so for numbers that are still shown, and are known in a wider window then.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import cmp_to_key
from typing import TypeVar

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray, Lumped
from dpcheck.chain.sets import distinct_rows
from dpcheck.exact import Number, add, compare, multiply
from dpcheck.explore.runs.liveness import END, Flow
from dpcheck.explore.runs.program_points import Cut
from dpcheck.explore.runs.raw_graph import Discovered
from dpcheck.explore.tails.tails import Tails, state_column
from dpcheck.explore.values.codes import PLAIN, UNASSIGNED
from dpcheck.model.program import Sample, Unbounded, alternatives, successors

T = TypeVar("T")

MAX_RATIOS = 40
"""So many states inside of the window are looked at for one outside; a window is seldom wider."""


def lumped_states(
    shown_states: Mapping[Cut, Discovered], flow: Flow, tails: Tails
) -> dict[int, Lumped]:
    """Return the states after outputs that stand for several, with what is known of these."""
    found: dict[int, Lumped] = {}
    for group in range(len(tails.wide.groups)):
        draws = _draws(flow, tails, group)
        n_draws = _to_come(flow, draws, 0, lambda count, _: count + 1, max)
        ratios = _ratios_to_come(flow, draws, tails, group)
        is_shown = group in tails.wide.revealing.values()
        for (_, point), states in shown_states.items():
            column = states.columns.get(state_column(group))
            if point == END or column is None or not column.any():
                continue
            is_known = not (is_shown and tails.window.margin) and tails.farthest == 0
            count = n_draws[point] if is_known else None
            error = 1 if count is None else multiply(count, tails.states.most_beyond)
            near = _near(states, tails, group, _n_free(tails), len(ratios[point]))
            for state in states.numbers[column > 0].tolist():
                known = Lumped(error, near.get(state, ()), ratios[point])
                before = found.get(state)  # numbers of another group are beyond, too
                found[state] = known if before is None else Lumped(add(before.error, error))
    return {state: each for state, each in found.items() if each.error != 0}


def _draws(flow: Flow, tails: Tails, group: int) -> dict[int, Sample]:
    """Return the nodes that draw a number of a group."""
    nodes = {k: flow.nodes[k] for k in tails.wide.arriving}
    names = tails.wide.groups[group]
    return {k: n for k, n in nodes.items() if isinstance(n, Sample) and n.target in names}


def _ratios_to_come(
    flow: Flow, draws: Mapping[int, Sample], tails: Tails, group: int
) -> list[tuple[Number, ...]]:
    """Return for each node all products of ratios of draws that follow, 1 first, [n_nodes].

    None where these are too many for the window, or numbers are shown or drawn from anything else.
    """
    most = min(MAX_RATIOS, max(_n_free(tails)))
    if most <= 0 or group in tails.wide.revealing.values():
        return [()] * len(flow.nodes)
    drawn_from = {k: tuple(alternatives(node.distribution)) for k, node in draws.items()}

    def drawn(products: frozenset[Number], k: int) -> frozenset[Number] | None:
        spans = [one.span for one in drawn_from[k]]
        ratios = set().union(*(tails.states.ratios.get(span, ()) for span in spans))
        found = products | {multiply(product, ratio) for product in products for ratio in ratios}
        policies = (getattr(one, "policy", None) for one in drawn_from[k])
        are_noise = all(isinstance(policy, Unbounded) for policy in policies)
        return found if are_noise and len(found) <= most else None

    one: frozenset[Number] = frozenset({1})
    products = _to_come(flow, draws, one, drawn, frozenset.union)
    key = cmp_to_key(compare)
    return [tuple(sorted(each or (), key=key, reverse=True)) for each in products]


def _n_free(tails: Tails) -> tuple[int, int]:
    """Return how many numbers next to each end of the window, high and low, no other meets.

    Where a sum stays in a variable, it may be moved again.
    """
    moved = tails.farthest + sum(tails.moved.values())
    return tails.window.high - tails.met.high - moved, tails.met.low - tails.window.low - moved


def _near(
    states: Discovered, tails: Tails, group: int, free: tuple[int, int], n: int
) -> dict[int, tuple[int, ...]]:
    """Return for states that remember one number beyond the window n that remember it inside.

    Those are the states of a point that hold all the same but for that number, which has the n
    values next to the window's end; all that it may meet has to lie on the other side of these.
    """
    found: dict[int, tuple[int, ...]] = {}
    n_above, n_below = free
    for end, way, n_free in ((tails.window.high, 1, n_above), (tails.window.low, -1, n_below)):
        if not 0 < n <= n_free:
            continue
        rows, moving = _with_one_beyond(states, tails, group, (end, way, n))
        columns = []
        for name, column in states.columns.items():
            tried = [column[rows]] * n
            if name in moving:
                tried = [
                    np.where(moving[name], end - way * (n - 1 - k), tried[k]) for k in range(n)
                ]
            elif name == state_column(group):
                tried = [np.zeros_like(rows)] * n
            columns.append(np.concatenate([column, *tried]))
        _, same = distinct_rows(columns)
        number = np.full(int(same.max()) + 1, -1)
        number[same[: len(states.numbers)]] = states.numbers
        near = number[same[len(states.numbers) :]].reshape(n, len(rows)).T
        for state, each in zip(states.numbers[rows].tolist(), near.tolist(), strict=True):
            if -1 not in each:
                found[state] = tuple(each)
    return found


def _with_one_beyond(
    states: Discovered, tails: Tails, group: int, place: tuple[int, int, int]
) -> tuple[IntArray, dict[str, BoolArray]]:
    """Return the rows of states that remember one number beyond an end, and who has it, [n_rows].

    place: the end, the way out from there, and how many numbers inside are left free.
    """
    end, way, n = place
    names = [name for name in tails.wide.groups[group] if name in states.columns]
    is_one: BoolArray = states.columns[state_column(group)] > 0
    for other in range(len(tails.wide.groups)):
        column = states.columns.get(state_column(other))
        if other != group and column is not None:
            is_one = is_one & (column == 0)
    columns = {name: states.columns[name] for name in names}
    out = {name: np.where(c < PLAIN, way * (c - end), -n) for name, c in columns.items()}
    farthest = np.max([*out.values()], axis=0)
    for name, codes in columns.items():
        is_inside = (out[name] <= -n) & ~tails.is_beyond(codes) & (codes < PLAIN)
        is_one = is_one & ((out[name] == farthest) | is_inside | (codes == UNASSIGNED))
    rows = marked(is_one & (farthest >= 1))
    return rows, {name: out[name][rows] == farthest[rows] for name in names}


def _to_come(
    flow: Flow,
    draws: Container[int],
    nothing: T,
    drawn: Callable[[T, int], T | None],
    joined: Callable[[T, T], T],
) -> list[T | None]:
    """Return what follows each node, itself included, from its ends on; None: endless draws.

    In the order of the flow the nodes of a loop lie between its head and the node that goes back.
    """
    n = len(flow.nodes)
    found: list[T | None] = [nothing] * n
    places = sorted((flow.order[k], k) for k in range(n) if flow.order[k] < n)
    for place, k in reversed(places):
        here: T | None = nothing
        for after in successors(flow.nodes[k]):
            back = flow.order[after]
            if back > place:
                there = found[after]
            else:
                is_drawn = any(j in draws for _, j in places[back : place + 1])
                there = None if is_drawn else nothing
            here = None if here is None or there is None else joined(here, there)
        found[k] = drawn(here, k) if here is not None and k in draws else here
    return found
