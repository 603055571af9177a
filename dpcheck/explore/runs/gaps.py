"""How far apart the numbers are that states remember beyond the cuts of a window.

What a cut and an order are, and why states of an order have one law, `explore.runs.orders` says.
Here states are told apart by the ranks that numbers have beyond a cut, shorter gaps included, and
come with those gaps that are as long as the law takes them to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from math import prod

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import Gap, IntArray, Order
from dpcheck.chain.sets import distinct_rows
from dpcheck.exact import Number
from dpcheck.explore.runs.raw_graph import Discovered
from dpcheck.explore.tails.laws import Levels
from dpcheck.explore.tails.tails import Tails, TailState, state_column
from dpcheck.explore.values.codes import PLAIN
from dpcheck.records import dataclass, replace

MAX_STATES = 1000
"""So many states inside of the window are looked at for one outside."""

Placed = tuple[Order, tuple[Gap, ...]]
"""The order of a state, and its gaps."""


@dataclass(frozen=True)
class Law:
    """What the law of a group's numbers beyond a cut depends on.

    Those are the products of ratios to come, how many numbers are free between the cut and the end
    of the window, and the reach: gaps that are shorter are part of an order.
    """

    products: tuple[Number, ...] = ()
    n_free: int = 0
    reach: int = 0


@dataclass(frozen=True, eq=False)
class NumbersBeyond:
    """The numbers of a group beyond one cut.

    steps [n_names, n_rows]: how far beyond the cut each is, 0 if it is not; those farther than are
    free are beyond the window, on levels of which `levels` tells for each row what is known, by the
    tail states of its column [n_rows].
    """

    law: Law
    steps: IntArray
    column: IntArray
    levels: Callable[[int], Levels]

    def ranks(self) -> IntArray:
        """Return [n_names, n_rows] which of the different numbers each is, 0 if it is none.

        Each counts as many more as it is farther than the one before, up to the reach and 1.
        """
        order = np.argsort(self.steps, axis=0)
        ordered = np.take_along_axis(self.steps, order, axis=0)
        further = np.diff(ordered, axis=0, prepend=0).clip(0, self.law.reach + 1)
        ranks = np.empty_like(ordered)
        np.put_along_axis(ranks, order, np.cumsum(further, axis=0), axis=0)
        return ranks

    def gaps(self, row: int) -> list[Gap]:
        """Return the gaps of a row, each from a number to the next one, the first from the cut."""
        steps = sorted({0, *self.steps[:, row].tolist()})
        inside = [step for step in steps if step <= self.law.n_free]
        gaps = [Gap(b - a - 1, is_known=True) for a, b in pairwise(inside)]
        if len(inside) == len(steps):
            return gaps
        levels, met = self.levels(row), self.law.n_free - inside[-1]
        beyond = [Gap(base, levels.is_known(k)) for k, base in enumerate(levels.bases)]
        return [*gaps, replace(beyond[0], length=met + beyond[0].length), *beyond[1:]]

    def has_law(self, row: int) -> bool:
        """Return whether all gaps of a row that may be shorter than the reach are known."""
        return all(gap.is_known or gap.length >= self.law.reach for gap in self.gaps(row))

    def have_law(self) -> bool:
        """Return whether all rows do, by the last number inside and what is known beyond."""
        inside = np.where(self.steps <= self.law.n_free, self.steps, 0).max(axis=0)
        first, _ = distinct_rows([inside, self.column])
        return all(map(self.has_law, first.tolist()))

    def free_gaps(self, row: int) -> list[Gap]:
        """Return by how much gaps of a row are longer than the reach, of those that are so."""
        reach = self.law.reach
        longer = (gap for gap in self.gaps(row) if gap.length >= reach)
        return [replace(gap, length=gap.length - reach) for gap in longer]


def levels_kept(states: Discovered, tails: Tails, group: int) -> int:
    """Return how many different numbers of a group states remember beyond one end, at most."""
    both = numbers_beyond(states, tails, group, Law())
    return max((int(each.ranks().max(initial=0)) for each in both), default=0)


def numbers_beyond(states: Discovered, tails: Tails, group: int, law: Law) -> list[NumbersBeyond]:
    """Return the numbers of a group beyond the upper and the lower cut."""
    codes = [states.columns[name] for name in kept_names(states, tails, group)]
    if not codes:
        return []
    high, low = tails.window.high - law.n_free, tails.window.low + law.n_free
    column, known = states.columns[state_column(group)], tails.states.states
    found = []
    for is_above in (True, False):
        steps = [
            np.where(code < PLAIN, code - high if is_above else low - code, 0).clip(0)
            for code in codes
        ]
        levels = partial(_levels_of, column, known, is_above=is_above)
        found.append(NumbersBeyond(law, np.array(steps), column, levels))
    return found


def _levels_of(column: IntArray, known: Sequence[TailState], row: int, *, is_above: bool) -> Levels:
    """Return what is known of the levels beyond one end at a row of a column of tail states."""
    return known[int(column[row])].beyond(is_above=is_above).levels


def kept_names(states: Discovered, tails: Tails, group: int) -> list[str]:
    """Return the variables of a group that states remember."""
    return [name for name in tails.wide.groups[group] if name in states.columns]


def ordered(states: Discovered, tails: Tails) -> dict[str, IntArray]:
    """Return the columns of states, where of numbers beyond the window only their order is told."""
    groups = range(len(tails.wide.groups))
    known = [group for group in groups if state_column(group) in states.columns]
    return ordered_columns(
        states, {g: numbers_beyond(states, tails, g, Law()) for g in known}, tails
    )


def ordered_columns(
    states: Discovered, beyond: Mapping[int, Sequence[NumbersBeyond]], tails: Tails
) -> dict[str, IntArray]:
    """Return the columns of states, where of some groups' numbers only the order beyond cuts is.

    beyond: by group, its numbers beyond the upper and the lower cut, if it remembers any.
    """
    columns = dict(states.columns)
    for group, both in beyond.items():
        columns[state_column(group)] = np.zeros_like(states.numbers)
        for each, end, way in zip(
            both, (tails.window.high, tails.window.low), (1, -1), strict=False
        ):
            cut = end - way * each.law.n_free
            for name, rank in zip(kept_names(states, tails, group), each.ranks(), strict=True):
                columns[name] = np.where(rank > 0, cut + way * rank, columns[name])
    return columns


def placed_states(
    states: Discovered, laws: Mapping[int, Law], tails: Tails
) -> Iterator[tuple[int, Placed]]:
    """Yield states that remember numbers beyond the window, with their order and their gaps."""
    by_group = {group: numbers_beyond(states, tails, group, law) for group, law in laws.items()}
    columns = ordered_columns(states, by_group, tails)
    beyond = [*chain.from_iterable(by_group.values())]
    nothing = np.zeros_like(states.numbers)
    tail_states = [states.columns.get(name, nothing) for name in tails.columns]
    others = [column for group, column in enumerate(tail_states) if group not in laws]
    is_known = np.all([nothing == 0, *(column == 0 for column in others)], axis=0)
    is_lumped = is_known & np.any(tail_states, axis=0)
    _, of_row = distinct_rows([*columns.values(), nothing])
    rows = marked(is_known & np.isin(of_row, of_row[is_lumped]))
    rows = rows[np.argsort(of_row[rows], kind="stable")]
    starts = marked(np.diff(of_row[rows], prepend=-1))
    for members in np.split(rows, starts[1:]) if len(rows) else ():
        yield from _of_order(states, members, beyond)


def _of_order(
    states: Discovered, rows: IntArray, beyond: Sequence[NumbersBeyond]
) -> Iterator[tuple[int, Placed]]:
    """Yield the states of one order, at some rows [n]; none where no law is known."""
    known = [row for row in rows.tolist() if all(each.has_law(row) for each in beyond)]
    ratios = tuple(
        each.law.products for row in known[:1] for each in beyond for _ in each.free_gaps(row)
    )
    n_near = prod(map(len, ratios))
    if not known or n_near > MAX_STATES:
        return
    gaps = [tuple(gap for each in beyond for gap in each.free_gaps(row)) for row in known]
    numbers, near = states.numbers[known].tolist(), dict[tuple[int, ...], int]()
    for number, each in zip(numbers, gaps, strict=True):
        if all(gap.is_known and gap.length < len(r) for gap, r in zip(each, ratios, strict=True)):
            near[tuple(gap.length for gap in each)] = number
    if len(near) == n_near:
        order = Order(tuple(near[each] for each in sorted(near)), ratios)
        yield from ((number, (order, each)) for number, each in zip(numbers, gaps, strict=True))
