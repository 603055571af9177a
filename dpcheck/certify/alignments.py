"""Alignments checked again: no run costs more than is said, in exact arithmetic.

By induction over its steps a run costs at most what its first state does, if every state costs at
least as much as each of its moves and the state after it together. Then P(S) <= e^cost P'(S).
"""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck.exact import Budget

Cost = Sequence[tuple[int, int]]
"""Pairs (number of a rate, how often it is paid)."""

ZERO = Budget.of(0)


def certify_alignment(
    costs: Sequence[Cost | None],
    moves: Sequence[Sequence[tuple[Cost, int]]],
    starts: Sequence[int],
    rates: Sequence[Budget],
) -> bool:
    """Return whether costs[n_states] bound what runs from the states of `starts` cost.

    moves[state] has the step's own cost and the state after it, for every move; rates are positive.
    """
    if not all(rate > ZERO for rate in rates):
        return False
    seen, waiting = set(starts), list(starts)
    while waiting:
        state = waiting.pop()
        own = costs[state]
        if own is None:
            return False
        for step, target in moves[state]:
            after = costs[target]
            if after is None or not _is_enough(own, step, after, rates):
                return False
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return True


def _is_enough(own: Cost, step: Cost, after: Cost, rates: Sequence[Budget]) -> bool:
    """Return whether a cost is at least that of a step and of the state after it."""
    left: dict[int, int] = dict(own)
    for rate, n in (*step, *after):
        left[rate] = left.get(rate, 0) - n
    if min(left.values(), default=0) >= 0:
        return True
    return sum((rates[rate] * n for rate, n in left.items()), ZERO) >= ZERO
