"""States that remember numbers beyond the window, and so stand for one state for each such number.

From any two of these, runs have one law until another draw lands beyond the window: all else a
number is compared with lies in it. So no probability differs by more than that of such a draw,
which is at most the number of draws that are still to come times the largest of their
probabilities. Where none comes, all have equal probabilities. None of that is so for numbers that
are still shown, and are known in a wider window then.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpcheck.exact import Number, add, compare, multiply
from dpcheck.explore.runs.liveness import END, Flow
from dpcheck.explore.runs.program_points import Cut
from dpcheck.explore.runs.raw_graph import Discovered
from dpcheck.explore.tails.tails import Tails, state_column
from dpcheck.model.program import Sample, successors


def lumped_states(
    shown_states: Mapping[Cut, Discovered], flow: Flow, tails: Tails
) -> dict[int, Number]:
    """Return the states after outputs that stand for several, with a bound on how these differ."""
    found: dict[int, Number] = {}
    shown = set(tails.wide.revealing.values()) if tails.window.margin else set()
    for (_, point), states in shown_states.items():
        if point == END:
            continue
        for group in range(len(tails.wide.groups)):
            column = states.columns.get(state_column(group))
            if column is None or not column.any():
                continue
            n_draws = None if group in shown else _draws_to_come(flow, tails, group)[point]
            error = 1 if n_draws is None else multiply(n_draws, tails.states.most_beyond)
            for state in states.numbers[column > 0].tolist():
                bound = add(found.get(state, 0), error)
                found[state] = bound if compare(bound, 1) < 0 else 1
    return {state: error for state, error in found.items() if error != 0}


def _draws_to_come(flow: Flow, tails: Tails, group: int) -> list[int | None]:
    """Return how many draws of a group follow each node at most, itself included; None: any number.

    In the order of the flow the nodes of a loop lie between its head and the node that goes back.
    """
    n = len(flow.nodes)
    drawing = [
        k in tails.wide.drawing
        and isinstance(node, Sample)
        and tails.wide.group_of(node.target) == group
        for k, node in enumerate(flow.nodes)
    ]
    counts: list[int | None] = [0] * n
    places = sorted((flow.order[k], k) for k in range(n) if flow.order[k] < n)
    for place, k in reversed(places):
        most: int | None = 0
        for after in successors(flow.nodes[k]):
            back = flow.order[after]
            if back <= place:
                is_drawn = any(drawing[j] for _, j in places[back : place + 1])
                count = None if is_drawn else 0
            else:
                count = counts[after]
            most = None if most is None or count is None else max(most, count)
        counts[k] = None if most is None else most + drawing[k]
    return counts
