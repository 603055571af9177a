"""What an adversary sees of a chain, as a chain: one transition per observation.

Event-level privacy speaks of sequences of observations, so silent states are summed away, as in the
chain of a mechanism. A run ends in † or in an absorbing state; one that moves on forever without
showing anything goes to `diverged`.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import Chain, IntArray, NeighborRelation
from dpcheck.chain.contraction.eliminate import eliminated
from dpcheck.chain.sets import without
from dpcheck.chain.weights.rows import Rows, with_sinks, with_sorted_targets
from dpcheck.limits import Tick
from dpcheck.records import replace


def contracted(chain: Chain, starts: IntArray, tick: Tick) -> Chain:
    """Return the chain of the starts [n] and the observed states, without labels.

    The starts come first, in their order, and are the initial states; then observed states by
    number. A start that shows nothing is a start only: runs that come back to it pass silently.
    `tick` is called with a progress report now and then, and may raise to stop the work.
    """
    rows = _with_ends(chain)
    silent = chain.observation < 0
    silent[chain.stopped :] = False
    others = without(np.flatnonzero(chain.observation >= 0), starts)
    wanted = np.concatenate([starts, others])
    diverged = chain.n_states if chain.diverged is None else chain.diverged
    kept = eliminated(rows, silent=silent, wanted=wanted, diverged=diverged, tick=tick, n_more=2)
    n = len(wanted)
    number = np.full(chain.n_states + 1, -1, np.int64)
    number[wanted] = np.arange(n)
    number[chain.stopped], number[diverged] = n, n + 1
    full = with_sorted_targets(with_sinks(kept, number, has_diverged=chain.diverged is not None))
    diverges = full.n_rows > n + 1
    states = np.concatenate([wanted, [chain.stopped], [diverged] if diverges else []])
    n_states, state_text = chain.n_states, chain.state_text  # the text alone keeps no chain alive
    return replace(
        chain,
        indptr=full.indptr,
        targets=full.targets,
        numerators=full.numerators,
        denominators=full.denominators,
        initial=np.arange(len(starts)),
        neighbors=_neighbors(chain.neighbors, number),
        observation=np.concatenate([chain.observation[wanted], np.full(len(states) - n, -1)]),
        labelling={},
        stopped=n,
        diverged=n + 1 if diverges else None,
        state_text=lambda state: (
            "diverged" if states[state] == n_states else state_text(int(states[state]))
        ),
        shows_every_step=True,
    )


def _with_ends(chain: Chain) -> Rows:
    """Return the rows, where absorbing states lead to †: a run ends there."""
    lengths = np.diff(chain.indptr)
    single = np.flatnonzero(lengths == 1)
    ends = single[chain.targets[chain.indptr[single]] == single]
    targets = chain.targets.copy()
    targets[chain.indptr[ends]] = chain.stopped
    return Rows(chain.indptr, targets, chain.numerators, chain.denominators)


def _neighbors(relation: NeighborRelation, number: IntArray) -> NeighborRelation:
    """Return the relation among the states that are left, by their number[n_states] or -1."""
    return NeighborRelation(
        _renumbered(relation.pairs, number), _renumbered(relation.later, number)
    )


def _renumbered(pairs: IntArray, number: IntArray) -> IntArray:
    pairs = np.sort(number[pairs], axis=1)
    pairs = pairs[np.all(pairs >= 0, axis=1)]
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
