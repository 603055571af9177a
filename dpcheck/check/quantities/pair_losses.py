"""The privacy losses of pairs of neighbors, from the distributions of their output sequences.

From a table of rows: outputs with one likelihood ratio are found by exact comparison with one of
them, p_i q_j = p_j q_i, for all pairs of a block at once; most mechanisms have few ratios. From
merged prefixes (`MergedPrefixes`): a leaf is a ratio already.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.weights.denominators import INT64_LIMIT, as_objects, weight_array
from dpcheck.check.evidence.blocks import Block
from dpcheck.check.evidence.merged_evidence import MergedEvidence
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.exact import Number, Whole, exact_quotient, number, whole, whole_gcd
from dpcheck.privacy.losses import LossDistribution

_ROUNDS = 12
"""Equal ratios of so many entries a row are summed in numpy; the rest is sorted in Python."""

NumberedLosses = tuple[int, LossDistribution]
"""A pair of neighbors by its row among the pairs asked about, and its losses forward."""


def pair_losses(evidence: TableEvidence | MergedEvidence) -> list[NumberedLosses]:
    """Return the losses of a representative of each pair of different rows."""
    found: list[NumberedLosses] = []
    if isinstance(evidence, TableEvidence):
        for block in evidence.rows.blocks(evidence.limits):
            if block.is_forward:
                found.extend(block_losses(block))
        return found
    first: dict[int, int] = {}
    for pair, root in enumerate(evidence.graph.roots):
        first.setdefault(root, pair)
    found = [(pair, evidence.graph.losses(pair)) for pair in first.values()]
    return [(pair, losses) for pair, losses in found if not losses.is_certain]


def losses_of_all(evidence: TableEvidence | MergedEvidence) -> list[LossDistribution]:
    """Return the losses of every pair, forward; pairs with equal rows share one object."""
    known: dict[object, LossDistribution] = {}
    if isinstance(evidence, MergedEvidence):
        roots = evidence.graph.roots
        for pair, root in enumerate(roots):
            evidence.limits.check_time(f"the losses of {pair} of {len(roots)} pairs")
            if root not in known:
                known[root] = evidence.graph.losses(pair)
        return [known[root] for root in roots]
    of_pairs, (chosen, is_turned) = dict(pair_losses(evidence)), evidence.rows.representatives()
    of_pairs[-1] = LossDistribution.of([(1, 1)])
    keys = list(zip(chosen.tolist(), is_turned.tolist(), strict=True))
    for key in dict.fromkeys(keys):
        known[key] = of_pairs[key[0]].reversed() if key[1] else of_pairs[key[0]]
    return [known[key] for key in keys]


def block_losses(block: Block) -> Iterator[NumberedLosses]:
    """Yield the losses of every pair of rows in a block, in its direction."""
    masses: list[list[tuple[Number, Number]]] = [[] for _ in range(len(block.pair))]
    one_sided = (block.p == 0) | (block.q == 0)
    _add_sums(block, np.flatnonzero(one_sided & (block.q == 0)), masses)
    _add_sums(block, np.flatnonzero(one_sided & (block.p == 0)), masses)
    rest = np.flatnonzero(~one_sided)
    for _ in range(_ROUNDS):
        if not len(rest):
            break
        alike = _alike(block, rest)
        _add_sums(block, rest[alike], masses)
        rest = rest[~alike]
    for k, entries in groupby(rest.tolist(), key=lambda j: int(block.segment[j])):
        masses[k].extend(_by_ratio(block, k, list(entries)))
    for pair, outputs in zip(block.pair.tolist(), masses, strict=True):
        yield pair, LossDistribution.of(outputs)


def _alike(block: Block, entries: IntArray) -> BoolArray:
    """Return which of entries [n] have the ratio of the first entry of their segment."""
    segment = block.segment[entries]
    starts = np.flatnonzero(np.diff(segment, prepend=-1))
    x: list[Whole] = [1] * len(block.pair)
    y: list[Whole] = [1] * len(block.pair)
    for j in entries[starts].tolist():
        k = int(block.segment[j])
        p, q = whole(block.p[j]), whole(block.q[j])
        divisor = whole_gcd(p, q)
        x[k], y[k] = exact_quotient(q, divisor), exact_quotient(p, divisor)
    left = _times(block.p[entries], weight_array(x), segment)
    right = _times(block.q[entries], weight_array(y), segment)
    return np.asarray(left == right, np.bool_)


def _times(weights: WeightArray, factors: WeightArray, segment: IntArray) -> WeightArray:
    """Return weights[n] times factors[segment[n]], exactly: in int64 where they fit."""
    are_short = weights.dtype == np.int64 and factors.dtype == np.int64
    if are_short and int(weights.max(initial=0)) * int(factors.max(initial=0)) < INT64_LIMIT:
        product: WeightArray = weights * factors[segment]
        return product
    return as_objects(weights) * as_objects(factors)[segment]


def _add_sums(block: Block, entries: IntArray, masses: list[list[tuple[Number, Number]]]) -> None:
    """Add the total masses of entries [n], segment by segment."""
    if not len(entries):
        return
    segment = block.segment[entries]
    starts = np.flatnonzero(np.diff(segment, prepend=-1))
    p = np.add.reduceat(block.p[entries], starts)
    q = np.add.reduceat(block.q[entries], starts)
    for i, k in enumerate(segment[starts].tolist()):
        gap = block.gap(k, p[i], q[i])
        masses[k].append((gap.p, gap.q))


def _by_ratio(block: Block, k: int, entries: list[int]) -> Iterator[tuple[Number, Number]]:
    """Yield the masses of the entries of one segment, merged by ratio."""
    sums: dict[tuple[Whole, Whole], tuple[Whole, Whole]] = {}
    for j in entries:
        p, q = whole(block.p[j]), whole(block.q[j])
        divisor = whole_gcd(p, q)
        key = exact_quotient(p, divisor), exact_quotient(q, divisor)
        known = sums.get(key, (0, 0))
        sums[key] = known[0] + p, known[1] + q
    for p, q in sums.values():
        yield number(p, block.scales[block.p_scales[k]]), number(q, block.scales[block.q_scales[k]])
