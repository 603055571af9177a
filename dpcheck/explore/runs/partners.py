"""Which states are neighbors that remember different numbers beyond the window.

A pair of such states is doubtful (`explore.runs.later_neighbors`) where both stand for one state
for each such number. Which of these are neighbors is told as follows.

Two runs in lock step draw equal numbers, but for those of a `prior`, which are two. A number that
either keeps is one of these and what it was moved by since, at most m in all; each run compares it
with others, moved by f more at once, and with what lies inside of a cut. So what both do depends on
draws beyond the cut only by their order, and by differences up to c = max(m + f, 2m): where two
that follow each other are more than c apart, all that lie farther out may be shifted together,
farther or nearer, if they stay more than c apart.

Let both runs come to states that keep one number each, T and T', after k draws at most, and let T
be farther beyond the cut than the *depth* E = k(c+1) + 6m + 2. Then two draws between the cut and T
are c + 2 apart. If |T' - T| <= 2m these numbers are *tied*: the states that keep T + 1 and T' + 1,
or both 1 less, are neighbors, too. So for each offset all so far out are, or none. If T' lies
inside of the cut the same is so of all T and this T'. Else nothing is told of neighbors at this
place in the program: they may be any distance apart.

Draws more than c + 1 apart may all be shifted nearer. So where the window goes 2E beyond the cut,
all this is seen of T = cut + E + 1, after runs all of whose draws lie inside of the window: the
farthest is no more than (k-1)(c+1) + 5m + 1 beyond T, also where T and T' stay 2m + 1 apart. After
such runs one sees, too, whether states are neighbors that remember nothing beyond the window.

It is so where both runs draw at the same places of a program (`NeighborRelation.draw_alike`): then
the numbers of each group are told alone, and only draws since both kept none of a group count; k is
the most of them at any place before, as what is known of those that both forgot is seen in such a
window, too. If not, all numbers are on one line, and all draws count. What is drawn with bounds by
one run, and by the other without, lies inside of the cut, as numbers beyond are no equal ones; so
does what is drawn with bounds and kept where other runs keep what has none. No number without
bounds may be shown, as states differ then in more than what they keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial

import numpy as np

from dpcheck.chain.chain import Gap, IntArray, Order, Ordered, Partner, Partners
from dpcheck.explore.runs.gaps import Placed
from dpcheck.explore.runs.orders import Orders
from dpcheck.records import dataclass, replace


def with_partners(orders: Orders, level: int) -> Ordered | None:
    """Return what is told of numbers beyond the window on a level, neighbors included."""
    ordered = orders.ordered(level)
    if ordered is None:
        return None
    return replace(ordered, partners=cache(partial(partners_of, orders, level)))


def partners_of(orders: Orders, level: int) -> Partners | None:
    """Return the neighbors of states as far as these are told."""
    ordered = orders.ordered(level)
    if ordered is None or not orders.tells_partners(level):
        return None
    told, sure = [np.empty(0, np.int64)], orders.relation.later
    both = np.concatenate([sure, sure[:, ::-1]])
    of_orders, of_states = dict[Order, set[Partner]](), dict[int, set[Order]]()
    for states, kept in orders.with_one_kept(level):
        numbers = np.zeros_like(states.numbers) if kept is None else kept
        by_state = dict(zip(states.numbers.tolist(), numbers.tolist(), strict=True))
        known = _Kept(ordered.placed(), by_state, orders)
        try:
            found = set(known.seen(both[np.isin(both[:, 0], states.numbers)]))
        except _Untied:
            continue
        told.append(states.numbers)
        for order, partner in found:
            of_orders.setdefault(order, set()).add(partner)
            if partner.order is None:
                of_states.setdefault(partner.state, set()).add(order)
    return Partners(np.concatenate(told), orders.depth, of_orders, of_states)


class _Untied(Exception):
    """Neighbors may keep numbers that are any distance apart."""


@dataclass(frozen=True, eq=False)
class _Kept:
    """What states of one point keep, one number at most: by state, the number, 0 for none.

    And the orders of states beyond a cut, with their gaps.
    """

    placed: Mapping[int, Placed]
    numbers: Mapping[int, int]
    orders: Orders

    def seen(self, pairs: IntArray) -> Iterator[tuple[Order, Partner]]:
        """Yield what partners are seen in pairs [n, 2] of states whose first is far beyond a cut.

        Raises `_Untied`.
        """
        for s, t in pairs.tolist():
            order, (gap, *_) = self.placed.get(s, (None, (Gap(0, is_known=False),)))
            if order is None or not gap.is_known or gap.length < self.orders.depth:
                continue
            if t not in self.placed:
                yield order, Partner(None, state=t)
            elif abs(self.numbers[t] - self.numbers[s]) > self.orders.farthest_made:
                raise _Untied
            else:
                other, (there,) = self.placed[t]
                yield order, Partner(other, there.length - gap.length)
