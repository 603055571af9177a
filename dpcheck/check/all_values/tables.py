"""Tables of what all sequences of pairs show, for claims about all values of a parameter.

They list the sequences where these are few, and where they are many have one for each loss of a
pair: prefixes are merged that are proportional for all values. Of outputs without end they have,
for claims about ratios, one sequence for each ratio (`steady_ratios`), of p against q whatever its
weight; for others, one for each loss, as prefixes that are merged at all values show it. Where
outputs tell all in the long run, they may not do so at single values, which have tables of their
own (`singular`). Where prefixes do not merge, two tables have what the first outputs show, and with
the state after them: at each value ε and δ lie between those of both (see `merged_prefixes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import repeat

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.weights.rows import indptr_of
from dpcheck.check.evidence.growth import Sides
from dpcheck.check.evidence.hidden import HiddenPair, HiddenPairs
from dpcheck.check.evidence.merged_prefixes import MergedPrefixes
from dpcheck.check.evidence.paired_rows import PairedRows
from dpcheck.check.evidence.sequences import SequenceTable
from dpcheck.check.evidence.singular import SingularPart
from dpcheck.check.quantities.seen_pairs import SeenPairs, endless_prefixes, finite_outputs
from dpcheck.exact import Number
from dpcheck.exact.linear import common_row
from dpcheck.privacy.losses import LossDistribution
from dpcheck.records import dataclass

_MAX_DEPTH = 32
"""Bounds the first outputs that are merged, doubled each time."""

_MAX_ENTRIES = 1000
"""Bounds the probabilities in a table of first outputs: functions of a high degree."""


@dataclass(frozen=True, eq=False)
class PairsTable:
    """A table, the pairs [n_pairs, 2] of its sources, and numbers that are 0 where ε is finite.

    Sequences `are_listed`, or there is one for each loss or ratio.
    """

    table: SequenceTable
    pairs: IntArray
    changes: tuple[Number, ...] = ()
    are_listed: bool = False


def pairs_table(
    seen: SeenPairs, *, is_pure: bool, are_apart: bool, steady: AbstractSet[SingularPart]
) -> PairsTable | None:
    """Return the table of pairs; it `is_pure` if it is asked about ratios alone.

    These are those of all pairs together, where outputs are endless, unless they `are_apart`.
    None where prefixes of outputs without end do not merge for all values. `steady` are parts which
    have no cycle that changes a ratio at the values that the table is for.
    """
    if seen.are_finite:
        outputs = finite_outputs(seen, is_for_all=True)
        if isinstance(outputs, PairedRows):
            return PairsTable(outputs.table, seen.pairs, are_listed=True)
        return _of_losses(outputs)
    prefixes = endless_prefixes(seen)
    if not is_pure:
        graph = prefixes.complete(seen.limits, steady)
        return None if graph is None else _of_losses(graph)
    found = prefixes.steady(seen.limits, are_apart=are_apart)
    if found is None:
        return None
    places, ratios = found
    table, pairs = _by_number([each.sides for each in ratios])
    changes = tuple(x for each in ratios for x in each.changes)
    return PairsTable(table, pairs[places], changes)


def singular_parts_of(seen: SeenPairs, *, is_pure: bool) -> tuple[SingularPart, ...]:
    """Return the parts of which a table depends on whether they are `steady`."""
    if is_pure or seen.are_finite:
        return ()
    return endless_prefixes(seen).singular(seen.limits) or ()


def table_of_hidden(
    seen: SeenPairs, alike: HiddenPairs, doubtful: HiddenPairs
) -> PairsTable | None:
    """Return the table of pairs where outputs tell of all states in the long run.

    At the values that it is for, states of `alike` pairs show the same, and others are told apart
    that are not `doubtful`. None where merged prefixes are too large.
    """
    graph = endless_prefixes(seen).identifying(seen.limits, alike, doubtful)
    return None if graph is None else _of_losses(graph)


def hidden_pairs_of(seen: SeenPairs, doubtful: HiddenPairs) -> tuple[HiddenPair, ...]:
    """Return the pairs of states that outputs tell apart but for some values; none for no table."""
    return () if seen.are_finite else endless_prefixes(seen).hidden_pairs(seen.limits, doubtful)


def tables_of_prefixes(seen: SeenPairs) -> Iterator[tuple[PairsTable, PairsTable]]:
    """Yield what more and more first outputs show, without and with the state after them.

    Nothing where an analyst chooses: strategies for all values at once are not compared.
    """
    if seen.are_finite:  # a part of runs of which others are not
        table = pairs_table(seen, is_pure=False, are_apart=True, steady=frozenset())
        assert table is not None, "sequences are finitely many"
        yield from repeat((table, table))
    prefixes, depth = endless_prefixes(seen), 1
    while not seen.chain.offers and depth <= _MAX_DEPTH:
        cut = partial(prefixes.cut, depth, seen.limits)
        graphs = cut(shows_state=False), cut(shows_state=True)
        if graphs[0] is None or graphs[1] is None:
            break
        tables = _of_losses(graphs[0]), _of_losses(graphs[1])
        if max(len(each.table.weights) for each in tables) > _MAX_ENTRIES:
            break
        yield tables
        depth *= 2


def _of_losses(graph: MergedPrefixes) -> PairsTable:
    """Return a table of the losses of all pairs; those that begin alike are one."""
    first = dict(zip(graph.roots, range(len(graph.roots)), strict=True))
    numbers = dict(zip(first, range(len(first)), strict=True))
    table, pairs = _by_number([_masses(graph.losses(pair)) for pair in first.values()])
    return PairsTable(table, pairs[[numbers[root] for root in graph.roots]])


def _masses(losses: LossDistribution) -> list[Sides]:
    """Return p and q of all sequences of one ratio, for each."""
    masses = [(loss.p, loss.q) for loss in losses.losses]
    return [*masses, (losses.p_only, 0), (0, losses.q_only)]


def _by_number(pairs: Sequence[Sequence[Sides]]) -> tuple[SequenceTable, IntArray]:
    """Return a table of pairs of sources, each with sequences of its own: the first, the second...

    pairs: for each p and q of its sequences.
    """
    sides = [side for pair in pairs for side in zip(*pair, strict=True)]
    rows = [common_row({k: p for k, p in enumerate(side) if p != 0}) for side in sides]
    entries = [each for row, _ in rows for each in row.items()]
    weights = np.empty(len(entries), object)
    weights[:] = [weight for _, weight in entries]
    none = np.zeros(max(map(len, pairs), default=0), np.int64)
    table = SequenceTable(
        sources=np.arange(len(rows)),
        indptr=indptr_of(np.array([len(row) for row, _ in rows])),
        sequences=np.array([k for k, _ in entries]),
        weights=weights,
        denominators=tuple(below for _, below in rows),
        prefix=none,  # what they show is not asked
        end=none,
        parent=none[:1],
        shown=none[:1],
    )
    return table, np.arange(len(rows)).reshape(-1, 2)
