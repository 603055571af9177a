"""States that remember numbers beyond the window, and so stand for one state for each such number.

From any two of these, runs have one law until another draw lands beyond the window: all else a
number is compared with lies in it. So no probability differs by more than that of such a draw,
which is at most the number of draws that are still to come times the largest of their
probabilities. Where none comes, all have equal probabilities.

Where numbers are moved, `z + x`, a draw next to the end may meet one beyond it, too: as far from it
as both are moved, and the next draw that one. If nothing else that numbers meet is as near to the
end (`Orders.n_unmet`), draws beyond that place are all that matters; one that has ratio r is so
often there as r^-k times beyond the window, k numbers farther. So it is where one number alone is
beyond each end: two that are moved differ by their gap. Of others no bound is known; nor is it of
numbers that are still shown, and are known in a wider window then. More is known of states by
`explore.runs.orders`.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpcheck.chain.arrays import marked
from dpcheck.exact import Number, add, compare, multiply, power
from dpcheck.explore.programs.liveness import END
from dpcheck.explore.runs.orders import Orders
from dpcheck.explore.runs.program_points import Cut
from dpcheck.explore.runs.raw_graph import Discovered
from dpcheck.explore.tails.tails import Tails, state_column


def lumped_states(
    shown_states: Mapping[Cut, Discovered], orders: Orders, tails: Tails
) -> dict[int, Number]:
    """Return the states after outputs that stand for several, and by how much these may differ."""
    found: dict[int, Number] = {}
    going_on = [(point, states) for (_, point), states in shown_states.items() if point != END]
    for group in range(len(tails.wide.groups)):
        for (point, states), n_levels in zip(going_on, orders.n_levels[group], strict=True):
            column = states.columns.get(state_column(group))
            if column is None:
                continue
            error = _error(group, point, n_levels, orders, tails)
            for state in states.numbers[marked(column)].tolist() if error != 0 else ():
                found[state] = add(found.get(state, 0), error)
    return found


def _error(group: int, point: int, n_levels: int, orders: Orders, tails: Tails) -> Number:
    """Return by how much probabilities differ at numbers of a group beyond the window; 1: unknown.

    n_levels of them are beyond one end, at most.
    """
    n_draws, is_shown = orders.n_draws[group][point], group in tails.wide.revealing.values()
    if n_draws is None or (is_shown and tails.window.margin):
        return 1
    error = multiply(n_draws, tails.states.most_beyond)
    if not orders.are_moved:
        return error
    if n_levels > 1 or orders.n_unmet < 0 or orders.moved[point] is None:
        return 1
    return multiply(error, power(_least_ratio(tails), -orders.reach))


def _least_ratio(tails: Tails) -> Number:
    """Return the least ratio of all draws beyond the window."""
    least: Number = 1
    for ratio in set().union(*tails.states.ratios.values()):
        least = ratio if compare(ratio, least) < 0 else least
    return least
