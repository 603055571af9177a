"""Ends that remember inputs: an input keeps its value along a run, also after the run has ended.

A chain has one † (and one `diverged`), where all runs meet, so a formula such as `G x = pos` could
not see whose run ended there. For formulas that read inputs by themselves the sinks are split, one
copy for each value of those inputs; states that are no sinks keep their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.chain.weights.denominators import concatenated
from dpcheck.explore.values.codes import UNASSIGNED
from dpcheck.records import replace


def split_ends(
    chain: Chain, columns: Mapping[str, IntArray], names: Sequence[str]
) -> tuple[Chain, dict[str, IntArray], IntArray]:
    """Return the chain with a copy of each sink per value of the named inputs.

    `columns`, [n_reported_states] each, come back with the copies at their ends, where nothing is
    output. The third result [n_states] says which state of the old chain each state is. The old
    sinks stay, unreachable, and the old chain stands in `with_one_end`.
    """
    n, k = chain.n_reported_states, chain.n_sinks
    first, group = distinct_rows([columns[name] for name in names])
    m = len(first)
    sources = np.repeat(np.arange(chain.n_states), np.diff(chain.indptr))
    into_sink = (chain.targets >= n) & (sources < n)
    targets = chain.targets.copy()
    sink = chain.targets[into_sink] - n
    targets[into_sink] = n + sink * m + group[sources[into_sink]]
    targets[sources >= n] += m * k
    loops = n + np.arange(m * k)
    end = int(chain.indptr[n])
    ones = np.ones(m * k, np.int64)
    numerators = [chain.numerators[:end], ones, chain.numerators[end:]]
    denominators = [chain.denominators[:n], ones, chain.denominators[n:]]
    origin = np.concatenate([np.arange(n), n + np.repeat(np.arange(k), m), n + np.arange(k)])
    split = replace(
        chain,
        indptr=np.concatenate([chain.indptr[:n], end + np.arange(m * k), chain.indptr[n:] + m * k]),
        targets=np.concatenate([targets[:end], loops, targets[end:]]),
        numerators=concatenated(numerators),
        denominators=concatenated(denominators),
        observation=chain.observation[origin],
        labelling={},
        alike=None if chain.alike is None else _alike(chain.alike, n, m * k),
        stopped=chain.stopped + m * k,
        diverged=None if chain.diverged is None else chain.diverged + m * k,
        state_text=lambda state: chain.state_text(int(origin[state])),
        with_one_end=chain,
    )
    owners = np.concatenate([np.arange(n), np.tile(first, k)])
    longer = {name: column[owners] for name, column in columns.items()}
    longer["output"] = np.concatenate([columns["output"], np.full(m * k, UNASSIGNED, np.int64)])
    return split, longer, origin


def _alike(alike: IntArray, n: int, n_copies: int) -> IntArray:
    """Return which states are alike, where copies of sinks, each like no other, follow n states."""
    fresh = int(alike.max()) + 1 + np.arange(n_copies)
    return np.concatenate([alike[:n], fresh, alike[n:]])
