"""What an attacker gains who held both neighbors for equally likely before.

After output o the left one has the probability p/(p + q). Of n independent runs on one input the
better guess is right with probability (1 + TV_n)/2, where TV_n is the total variation of the n-fold
product. Where composing the losses is short, the least n is exact, by bisection: TV_n never falls.
"""

from __future__ import annotations

from math import comb

from dpcheck.check.quantities.pair_losses import block_losses
from dpcheck.check.values.amounts import number_amount
from dpcheck.exact import add, compare, divide, number
from dpcheck.explain.explanation import Attacker
from dpcheck.explain.pairs import ShownPair
from dpcheck.explain.subject import Subject
from dpcheck.limits import LimitReached, Limits
from dpcheck.privacy.composition import composed
from dpcheck.privacy.losses import LossDistribution, do_runs_reach, runs_to_reach, total_variation

_WANTED = number(98, 100)
"""The total variation at which a guess is right with 99 %."""

_MOST_RUNS = 1_000_000
"""More runs than this are "more than a million"."""
_MAX_LOSSES = 2000
"""Bounds the losses whose mean is summed."""
_MAX_COMPOSED = 3000
"""So many losses of all runs are composed in a few milliseconds; a dozen times, to count runs."""


def attacker(shown: ShownPair, subject: Subject) -> Attacker:
    """Return the posterior after the event's first sequence, and how many runs give it away."""
    window = subject.explored.window
    tells_all = window is None or not window.has_kinds
    tells_all &= shown.found.evidence.rows.table.is_complete
    block = shown.found.evidence.rows.block_of(shown.gap)
    place = block.sequence.tolist().index(shown.event.sequences[0])
    p, q = block.probabilities(place)
    ((_, losses),) = block_losses(block)
    n_runs = None if losses.is_certain else _n_runs(losses, subject.limits)
    if n_runs is not None and not tells_all:
        n_runs = 1, n_runs[1]  # who sees all outputs, and all of each, may know it earlier
    return Attacker(number_amount(divide(p, add(p, q))), n_runs)


def _n_runs(losses: LossDistribution, limits: Limits) -> tuple[int, int] | None:
    """Return the least number of runs, or numbers that it lies between; None for very many."""
    if len(losses.losses) > _MAX_LOSSES:
        return None
    fewest, most = runs_to_reach(_WANTED, losses) or (1, _MOST_RUNS + 1)
    if most > _MOST_RUNS:
        return None
    if comb(len(losses.losses) + most - 1, most) > _MAX_COMPOSED:
        return fewest, most
    try:
        while fewest < most:
            limits.check_time("runs counted")
            middle = (fewest + most) // 2
            is_enough = _are_enough(middle, losses, limits)
            fewest, most = (fewest, middle) if is_enough else (middle + 1, most)
    except LimitReached:
        pass
    return fewest, most


def _are_enough(n: int, losses: LossDistribution, limits: Limits) -> bool:
    """Return whether so many runs give the input away; only a tie takes exact numbers."""
    known = do_runs_reach(_WANTED, losses, n)
    if known is not None:
        return known
    return compare(total_variation(composed([(losses, n)], limits)), _WANTED) >= 0
