"""States alike but for how far apart numbers near the ends of the window, and beyond it, are.

Where the numbers of draws to come are bounded, probabilities at all of them are known from some
inside of the window. Let all centers and all else that numbers meet lie between two *cuts*,
wherever these are moved, and let T_1 < T_2 < ... be the different numbers kept above the upper cut.
Runs depend on how draws are ordered among these, and P(X_i = x) is a multiple of r_i^x for x above
the cut. Sums over draws between two numbers, or beyond all, nested in each other, give products of
powers: Σ_(a < x < b) ρ^x is a multiple of ρ^(a+1) - ρ^b for b > a, as all ρ are products of ratios,
below 1. So the probability of whatever happens is Σ c Π_i ρ_i^(T_i), where ρ_i is a product of
ratios r_j over some of the draws, 1 over none; so it is below the lower cut, and for numbers of
different groups, which never meet. As a function of the *gaps* T_1 - cut, T_2 - T_1, ... it is
Σ c Π_j σ_j^(gap_j), with a product σ_j, too: its values where each gap is one of the first N, as
many as there are products, are all of it. Where the window goes so far beyond the cuts, those are
states inside of it. All states that hold all the same but for gaps, so that numbers are ordered
alike, are an *order*.

Where numbers are moved, z + x, a draw may meet a number from some way off, the next draw that one,
and so on; cuts are farther than this *reach* from all else that numbers meet. Two numbers that are
kept and no farther apart may be tied by draws: such a gap is known, and part of the order, also one
from the cut, next to which numbers may stand inside. If it is longer, draws are near one of both or
between them, where the sums above have as many terms as they say, or none. So the probability has
this form for gaps from the reach on.

Formulas inside of a path may tell how near numbers are at later states, that are kept or drawn on
the way. If these tell gaps shorter than t, and nothing else beyond the cut, numbers are tied that
are no more than t apart, as if they met: a draw by one of them, the next draw by that, and so on up
to another number that is kept, or down to the cut. So gaps have this form from a reach on that is t
for each draw to come, and t, as far as it is more than what numbers are moved. How much is told is
seen at all states, those of the window too: formulas must be alike at all that differ in gaps from
t on alone. It may be far more than one draw meets: that w is by s and by v, and another w by v and
by t, ties s and t by three draws of which a run has two.

A number that is shown later is known then: it adds no draw. But what is claimed of it must be alike
for all numbers beyond the cut; what follows does not read it. States after outputs that differ in
which of these numbers they show are *alike but for what they show*.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property, cmp_to_key
from itertools import chain

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import IntArray, NeighborRelation, Ordered
from dpcheck.chain.graph import graph_from, reachable
from dpcheck.chain.sets import distinct_rows
from dpcheck.exact import Number, compare, multiply
from dpcheck.explore.programs.liveness import END, draws_of
from dpcheck.explore.runs.gaps import (
    Law,
    Placed,
    kept_names,
    levels_kept,
    numbers_beyond,
    ordered_columns,
    placed_states,
)
from dpcheck.explore.runs.lock_step import with_ends
from dpcheck.explore.runs.program_points import SHOWN, Cut
from dpcheck.explore.runs.raw_graph import Discovered, Starts
from dpcheck.explore.runs.stages import Stages, stages_of
from dpcheck.explore.tails.tails import Tails, Window, state_column
from dpcheck.model.program import Unbounded, alternatives, successors
from dpcheck.records import replace

MAX_FREE = 40
"""So many numbers at most are left free between a cut and the end of the window."""

MANY_STATES = 20_000
"""Where several numbers are kept, no wider window than that of so many states is tried."""

MANY_TIED = 14_000
"""The same where sums of them matter; some 10 s of work, or 80 s where neighbors differ."""

MANY_BOUNDED = 400_000
"""The same where no window tells laws, and bounds are closer with every one; 3 s of work."""


class Orders:
    """The orders of an exploration, found when they are first asked for."""

    def __init__(
        self,
        shown_states: Mapping[Cut, Discovered],
        starts: Starts,
        tails: Tails,
        relation: NeighborRelation,
    ) -> None:
        """Keep the states after outputs, where runs start, and which states are neighbors."""
        self.relation = relation
        self.tails = tails
        self.shown = shown_states.values()
        self.going_on = [(p, states) for (_, p), states in shown_states.items() if p != END]
        self._groups = range(len(tails.wide.groups))
        self._starts = starts
        self._n_states = sum(len(states.numbers) for _, states in self.going_on)
        self._levels: list[_Told] = []

    def ordered(self, level: int) -> Ordered | None:
        """Return what is told on a level (see `_Told`); None for more than the window tells."""
        told = self._told(level)
        return None if told.alike is None else Ordered(told.alike, lambda: told.placed)

    def _told(self, level: int) -> _Told:
        """Return what is told on a level."""
        while len(self._levels) <= level:
            self._levels.append(_Told(self, len(self._levels)))
        return self._levels[level]

    def with_one_kept(self, level: int) -> Iterator[tuple[Discovered, IntArray | None]]:
        """Yield the states of each point that keep one number at most, and these numbers, [n].

        Of points where the orders of all that are beyond the window are known on a level.
        """
        placed = self._told(level).placed
        for _, states in self.going_on:
            kept = [
                name for group in self._groups for name in kept_names(states, self.tails, group)
            ]
            beyond = [states.columns[c] for c in self.tails.columns if c in states.columns]
            far = states.numbers[np.any(beyond, axis=0)] if beyond else ()
            if len(kept) <= 1 and all(state in placed for state in far):
                yield states, states.columns[kept[0]] if kept else None

    @cached_property
    def depth(self) -> int:
        """How far beyond a cut neighbors are alike for all numbers (see `partners`); 0: unknown."""
        if not len(self.relation.doubtful) or self.tails.wide.revealing or None in self.moved:
            return 0
        draws = [each[node] for each in self._drawn_before for node in self._until_last]
        known = [n for n in draws if n is not None]
        if len(known) < len(draws):
            return 0
        apart = max(self.tails.farthest + self.farthest_made // 2, self.farthest_made)
        return max(known, default=0) * (apart + 1) + 3 * self.farthest_made + 2

    @property
    def _drawn_before(self) -> list[list[int | None]]:
        """How many numbers two runs drew before each node, by group; None for endlessly many.

        Those of a `prior` may be two. Where they draw at different places, those of all groups
        count together.
        """
        groups = self.tails.wide.groups
        draws = [draws_of(self._starts.flow, self.tails, group) for group in self._groups]
        counts = [{k: 2 if n.is_prior else 1 for k, n in each.items()} for each in draws]
        if not self.relation.draw_alike:
            return [
                self._stages.drawn_before(
                    None, dict(chain.from_iterable(d.items() for d in counts))
                )
            ]
        return [
            self._stages.drawn_before(set(names), each)
            for names, each in zip(groups, counts, strict=True)
        ]

    @property
    def _until_last(self) -> list[int]:
        """The nodes after which runs may still come to states that go on.

        What is known of numbers that both forgot came of as many draws as were before that.
        """
        nodes = self._stages.flow.nodes
        graph = graph_from([successors(node) for node in nodes]).backward
        points = np.array([point for point, _ in self.going_on], np.int64)
        found: list[int] = marked(reachable(graph, points, np.ones(len(nodes), np.bool_))).tolist()
        return found

    @property
    def farthest_made(self) -> int:
        """How far apart two numbers may be that runs made of one; the same as 0."""
        return 2 * max(each or 0 for each in self.moved)

    def tells_partners(self, level: int) -> bool:
        """Return whether the window is wide enough for the law of `partners_of`."""
        told = self._told(level)
        return told.room > 0 and max(*told.n_free, told.room) <= self.n_unmet

    def knows_more(self, level: int) -> bool:
        """Return whether laws are known in the window to try next that are not in this one."""
        told = self._told(min(level, self.most_levels))
        is_resolved = not self.tells_gaps or self.tails.window.apart >= told.reach
        return max(told.n_free) > self.n_unmet or not is_resolved

    def wider(self, level: int) -> Window | None:
        """Return the window to try next: where all is told of a level, or a wider one.

        None where that is too wide.
        """
        window, told = self.tails.window, self._told(min(level, self.most_levels))
        more = max(told.n_free) - self.n_unmet if max(told.n_free) > 0 else 0
        if (more <= 0 or level > 1) and self.tells_gaps and self._n_states > MANY_STATES:
            return None
        wider = window.wider(more if more > 0 else 3 + (window.high - window.low) // 2)
        if not self.tells_gaps:
            is_many = self.most_levels > 1 and self.n_states_in(wider) > MANY_BOUNDED
            return None if is_many else wider
        return replace(wider, apart=max(2 * window.apart + 1, told.reach))

    @cached_property
    def tells_gaps(self) -> bool:
        """Whether gaps between several numbers are to be known.

        If sums of them matter that takes a window so wide that states are not too many.
        """
        if self.most_levels < 2 or not self.are_moved:
            return self.most_levels > 1
        needed = [n for each in self._told(0).needed for n in each if n <= MAX_FREE]
        more = max(max(needed, default=0) - self.n_unmet, 0)
        return self.n_states_in(self.tails.window.wider(more)) <= MANY_TIED

    @cached_property
    def most_levels(self) -> int:
        """How many different numbers some state keeps beyond an end."""
        return max((n for each in self.n_levels for n in each), default=0)

    def n_states_in(self, wider: Window) -> int:
        """Return about how many states a wider window has."""
        n, more = (max(each.high - each.low + 1, 1) for each in (self.tails.window, wider))
        return int(self._n_states * more**self.most_levels // n**self.most_levels)

    @cached_property
    def n_unmet(self) -> int:
        """How many numbers next to each end of the window are not reached from what numbers meet.

        A draw may meet a number from as far as both are moved, and the next draw that one.
        """
        window, met = self.tails.window, self.tails.met
        return min(window.high - met.high, met.low - window.low) - self.reach

    @cached_property
    def reach(self) -> int:
        """How far numbers may be apart at most that meet as they are moved, one by one."""
        return self.tied(self.tails.farthest)

    def tied(self, meeting: int) -> int:
        """Return how far numbers may be apart at most that are tied where draws meet so far off."""
        points = [point for point, _ in self.going_on]
        n_draws = max((each[point] or 0 for each in self.n_draws for point in points), default=0)
        moved = max((self.moved[point] or 0 for point in points), default=0)
        return (meeting + moved) * (n_draws + 1)

    @cached_property
    def n_draws(self) -> list[list[int | None]]:
        """How many draws are to come, by group and node; None for infinitely many."""
        groups = self.tails.wide.groups
        draws = (draws_of(self._starts.flow, self.tails, group) for group in self._groups)
        return [
            self._stages.to_come(set(names), each, 0, lambda n, _: n + 1, max)
            for names, each in zip(groups, draws, strict=True)
        ]

    @cached_property
    def moved(self) -> list[int | None]:
        """How far numbers that stay in variables are moved from a node on, at most; None: ever."""
        moved, names = self.tails.moved, self.tails.wide.names
        return self._stages.to_come(names, moved, 0, lambda n, k: n + moved[k], max)

    @cached_property
    def _stages(self) -> Stages:
        """The ways through the program."""
        return stages_of(self._starts)

    @cached_property
    def products(self) -> list[list[tuple[Number, ...]]]:
        """The products of ratios to come, by group and node; none where numbers move for ever."""
        every = [_products_to_come(self._stages, self.tails, group) for group in self._groups]
        return [
            [() if n is None else products for n, products in zip(self.moved, each, strict=True)]
            for each in every
        ]

    @property
    def are_moved(self) -> bool:
        """Whether sums of numbers matter."""
        return bool(self.tails.farthest or self.tails.moved)

    @cached_property
    def n_levels(self) -> list[list[int]]:
        """By group, how many different numbers states of each point keep beyond an end, at most."""
        return [
            [levels_kept(states, self.tails, group) for _, states in self.going_on]
            for group in self._groups
        ]


class _Told:
    """What is told of numbers beyond the cuts, on a level.

    On level 0 no formula is inside of a path: draws that meet tie numbers. From level 1 on such
    formulas tell of gaps how long they are, if they are shorter than `told`.
    """

    def __init__(self, orders: Orders, level: int) -> None:
        """Take as much as the least that draws tell, and one more with every level above 1."""
        self._orders, self._tails, self._level = orders, orders.tails, level
        self._told = orders.tails.farthest + level - 1 if level > 0 else 0

    @cached_property
    def reach(self) -> int:
        """How far numbers may be apart at most that are tied."""
        return self._orders.tied(max(self._told, self._tails.farthest))

    @cached_property
    def needed(self) -> list[list[int]]:
        """By group and point, how many numbers tell the laws of states there; 0 for no law."""
        orders = self._orders
        return [
            [
                n * (len(products[point]) + self._reach(states, group)) if products[point] else 0
                for (point, states), n in zip(orders.going_on, levels, strict=True)
            ]
            for group, (products, levels) in enumerate(
                zip(orders.products, orders.n_levels, strict=True)
            )
        ]

    @cached_property
    def n_free(self) -> list[int]:
        """By group, how many numbers between a cut and the end of the window are left free."""
        return [n + self.room if n else 0 for n in self.least_free]

    @cached_property
    def room(self) -> int:
        """How many of these show which neighbors keep which numbers; 0 for too many states."""
        orders, room = self._orders, 2 * self._orders.depth
        wider = self._tails.window.wider(max(self.least_free) + room - orders.n_unmet)
        return room if orders.n_states_in(wider) <= MANY_TIED else 0

    @cached_property
    def least_free(self) -> list[int]:
        """By group, how many of these tell the laws of its states.

        Those of states that have no law, or more than `MAX_FREE`, are left out.
        """
        orders = self._orders
        most = 1 if orders.are_moved and not orders.tells_gaps else MAX_FREE
        return [
            max(
                (n for n, k in zip(each, levels, strict=True) if k <= most and n <= MAX_FREE),
                default=0,
            )
            for each, levels in zip(self.needed, orders.n_levels, strict=True)
        ]

    @cached_property
    def alike(self) -> list[IntArray] | None:
        """States that differ in gaps that are not told alone, [n_alike] each.

        And in which numbers beyond the cuts they show. On level 0 that is all, if any do so. None
        where more is told than the window tells.
        """
        tails, revealing = self._tails, set(self._tails.wide.revealing.values())
        if self._level == 0 and not revealing:
            return []
        most = max(self.n_free)
        if self._level > 0 and (most > self._orders.n_unmet or (most == 0 and self._level > 1)):
            return None
        window, n_free = tails.window, max((self.n_free[group] for group in revealing), default=0)
        ends = window.low + n_free, window.high - n_free
        found: list[IntArray] = []
        for states in self._orders.shown:
            known = {
                group: numbers_beyond(states, tails, group, Law(n_free=n, reach=self._told))
                for group, n in enumerate(self.n_free)
                if state_column(group) in states.columns
            }
            if not all(each.have_law() for each in chain.from_iterable(known.values())):
                return None
            columns = ordered_columns(states, known, tails)
            if revealing:
                columns[SHOWN] = _shown_alike(states.columns[SHOWN], ends, tails)
            _, of_row = distinct_rows([*columns.values(), np.zeros_like(states.numbers)])
            order = np.argsort(of_row, kind="stable")
            starts = marked(np.diff(of_row[order], prepend=-1))
            members = np.split(states.numbers[order], starts[1:])
            found += [each for each in members if len(each) > 1]
        return found

    @cached_property
    def placed(self) -> dict[int, Placed]:
        """By state that remembers numbers beyond the window: its order, and its gaps."""
        found: dict[int, Placed] = {}
        for point, states in self._orders.going_on:
            known = {
                group: Law(products[point], self.n_free[group], self._reach(states, group))
                for group, products in enumerate(self._orders.products)
                if products[point]
                and state_column(group) in states.columns
                and self.n_free[group] <= self._orders.n_unmet
            }
            found.update(placed_states(states, known, self._tails))
        return found

    def _reach(self, states: Discovered, group: int) -> int:
        """Return how far two numbers of a group that states keep may be tied by draws.

        Of one number draws tell nothing on level 0, as the cut is far from all else they meet.
        """
        return self.reach if self._level or len(kept_names(states, self._tails, group)) > 1 else 0


def _products_to_come(stages: Stages, tails: Tails, group: int) -> list[tuple[Number, ...]]:
    """Return for each node all products of ratios of draws that follow, 1 first, [n_nodes].

    None where these are too many, or numbers are drawn from anything else.
    """
    draws = draws_of(stages.flow, tails, group)
    drawn_from = {k: tuple(alternatives(node.distribution)) for k, node in draws.items()}

    def drawn(products: frozenset[Number], k: int) -> frozenset[Number] | None:
        spans = [one.span for one in drawn_from[k]]
        ratios = set().union(*(tails.states.ratios.get(span, ()) for span in spans))
        found = products | {multiply(product, ratio) for product in products for ratio in ratios}
        policies = (getattr(one, "policy", None) for one in drawn_from[k])
        are_noise = all(isinstance(policy, Unbounded) for policy in policies)
        return found if are_noise and len(found) <= MAX_FREE else None

    one: frozenset[Number] = frozenset({1})
    names = set(tails.wide.groups[group])
    products = stages.to_come(names, draws, one, drawn, frozenset.union)
    key = cmp_to_key(compare)
    return [tuple(sorted(each or (), key=key, reverse=True)) for each in products]


def _shown_alike(codes: IntArray, ends: tuple[int, int], tails: Tails) -> IntArray:
    """Return numbers [n_codes], equal where codes show the same but for numbers beyond ends."""
    distinct_codes, of_row = np.unique(codes, return_inverse=True)
    known: dict[Hashable, int] = {}
    alike = [
        known.setdefault(with_ends(tails.table.value(code), ends), len(known))
        for code in distinct_codes.tolist()
    ]
    return np.array(alike, np.int64)[of_row]
