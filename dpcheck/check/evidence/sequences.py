"""The distribution of complete output sequences from each of some states, as one table.

What an adversary sees of a run is the sequence of its outputs and whether it ended or went silent
forever. In a chain with one transition per output the probability of a sequence is a sum over the
runs that show it, so entries (departure, outputs so far, state, weight) are carried forward one
output at a time and equal ones are merged: the forward algorithm of hidden Markov models, for all
departures at once. Prefixes are interned in a tree. The weights of one departure are whole numbers
over one denominator (`chain.scales`), so no gcd is taken on the way.

Where many entries lead to few (outputs so far, state), as after a draw that departures share, the
rest of the run is followed once from each of those in place of once from each departure, and the
departures' table is a product: P(sequence) = Σ P(reach h) P(sequence from h), over these heads h.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import lcm
from typing import Literal

import numpy as np

from dpcheck.chain.arrays import differences, marked, ranked, ranked_keys
from dpcheck.chain.chain import BoolArray, Chain, IntArray, WeightArray
from dpcheck.chain.graph import Graph, graph_of, reachable, topological_layers
from dpcheck.chain.weights.denominators import (
    INT64_LIMIT,
    Scales,
    as_objects,
    concatenated,
    multiplied,
)
from dpcheck.chain.weights.rows import Entries, indptr_of, merged, ranges, shortened
from dpcheck.check.values.event_text import DIVERGED, GOES_ON, STOPPED
from dpcheck.exact import Number, Whole, number
from dpcheck.limits import Limits
from dpcheck.records import dataclass, replace

ENDS: tuple[Literal["stopped", "diverged", "goes on"], ...] = ("stopped", "diverged", "goes on")
_MANY_SCALES = 8
"""With fewer denominators, rows over one common multiple gain nothing."""
_MANY_ENTRIES = 256
"""Fewer entries are followed as they are."""
_SHARED_BY = 4
"""So many sources at least share what follows, where it is followed once for all of them."""


@dataclass(frozen=True, eq=False)
class SequenceTable:
    """For each departure the distribution of its output sequences.

    `sources` [n_sources] are chain states. Entry j, `indptr[i] <= j < indptr[i+1]`, says that
    from `sources[i]` sequence `sequences[j]` has probability `weights[j] / denominators[i]`; the
    sequences of a row strictly increase, and every weight is positive.
    Sequence k shows `prefix[k]` of the tree, then ends as `end[k]` says: `STOPPED`, `DIVERGED`,
    or `GOES_ON`: every sequence that begins so. In the tree, prefix 0 is empty, and prefix n
    shows `shown[n]` after `parent[n]`.
    """

    sources: IntArray
    indptr: IntArray
    sequences: IntArray
    weights: WeightArray
    denominators: tuple[Whole, ...]
    prefix: IntArray
    end: IntArray
    parent: IntArray
    shown: IntArray

    @property
    def n_sequences(self) -> int:
        """The number of different sequences in all rows."""
        return len(self.prefix)

    @property
    def is_complete(self) -> bool:
        """Return whether every sequence of the table is a complete one."""
        return not bool((self.end == GOES_ON).any())

    @cached_property
    def scales(self) -> tuple[list[Whole], IntArray]:
        """The different denominators, and which of them each source has, [n_sources]."""
        codes: dict[Whole, int] = {}
        found = [codes.setdefault(scale, len(codes)) for scale in self.denominators]
        return list(codes), np.array(found, np.int64)

    def row(self, i: int) -> Iterator[tuple[int, Number]]:
        """Yield the sequences from source i, with their probabilities."""
        entries = slice(*self.indptr[i : i + 2].tolist())
        weights = self.weights[entries].tolist()
        for sequence, weight in zip(self.sequences[entries].tolist(), weights, strict=True):
            yield sequence, number(weight, self.denominators[i])

    def outputs(self, sequence: int) -> tuple[int, ...]:
        """Return the observation codes a sequence shows, in order."""
        codes: list[int] = []
        node = int(self.prefix[sequence])
        while node != 0:
            codes.append(int(self.shown[node]))
            node = int(self.parent[node])
        return tuple(reversed(codes))


def sequence_table(
    chain: Chain,
    sources: IntArray,
    *,
    limits: Limits,
    depth: int | None = None,
    max_entries: int | None = None,
) -> SequenceTable | None:
    """Return the table of sources[n_sources], or None when it needs more than `max_entries`.

    The chain shows one output per transition (or ends). With `depth`, sequences are followed for
    that many outputs, and longer ones are gathered under their first `depth` outputs; without,
    the caller knows that sequences are finitely many.
    """
    ends = _ends(chain, early=depth is None)
    if depth is None and ends_at_once(chain, sources):
        return _one_output_table(chain, sources, ends, max_entries)
    for shared_by in (_SHARED_BY, None):
        search = _Search(chain, sources, limits, max_entries)
        table = search.table(ends, depth, shared_by)
        # Sums over heads take more entries while they are made: without heads a table may fit.
        if table is not None or not search.has_heads:
            return table
    return None


def ends_at_once(chain: Chain, sources: IntArray) -> bool:
    """Return whether every run from sources [n] is over after its first output, if any."""
    return bool((_ends(chain, early=True)[after_one_step(chain, sources)] >= 0).all())


def has_output_cycle(chain: Chain, sources: IntArray) -> bool:
    """Return whether runs from sources [n] may output without end: on a cycle before the ends."""
    if ends_at_once(chain, sources):
        return False
    return topological_layers(inner_graph(chain, sources)[1]) is None


def after_one_step(chain: Chain, sources: IntArray) -> IntArray:
    """Return the states that some source [n] has a transition to, sorted."""
    is_reached = np.zeros(chain.n_states, np.bool_)
    is_reached[chain.targets[graph_of(chain).edges_of(sources)]] = True
    return np.flatnonzero(is_reached)


def _with_few_scales(
    chain: Chain, sources: IntArray, scales: Scales
) -> tuple[WeightArray, IntArray]:
    """Return the numerators [n_transitions], and the scale of each state, [n_states].

    Many different denominators have many more products along the runs, each a number to look up.
    Where those after the first step are short, and their least common multiple is not much
    longer, all of them get that.
    """
    codes = scales.codes(chain.denominators)
    later = np.ones(chain.n_states, np.bool_)
    later[sources] = False
    values, counts = np.unique(codes[later], return_counts=True)
    if len(values) <= _MANY_SCALES or chain.denominators.dtype != np.int64:
        return chain.numerators, codes
    known = [int(scales.values[code]) for code in values.tolist()]
    common = lcm(*known)
    n_bits = sum(value.bit_length() * n for value, n in zip(known, counts.tolist(), strict=True))
    if common >= INT64_LIMIT or common.bit_length() * int(counts.sum()) > 3 * n_bits:
        return chain.numerators, codes
    # A numerator is at most its denominator, so its product with a factor is at most `common`.
    factors = np.where(later, common // chain.denominators, 1)
    codes[later] = scales.code(common)
    return chain.numerators * factors.repeat(differences(chain.indptr)), codes


def _one_output_table(
    chain: Chain, sources: IntArray, ends: IntArray, max_entries: int | None
) -> SequenceTable | None:
    """Return the table where every run is over after its first output: the chain's own rows.

    A sequence is then one output and how the run ends, both known from the state it leads to.
    """
    edges = graph_of(chain).edges_of(sources)
    targets = chain.targets[edges]
    if max_entries is not None and len(targets) > max_entries:
        return None
    over = after_one_step(chain, sources)
    shown = np.where(is_end(chain, over), -1, chain.observation[over])
    outputs, prefix = ranked(np.append(shown, -1))
    keys, sequence = ranked(prefix[:-1] * 3 + ends[over])
    place = np.zeros(chain.n_states, np.int64)
    place[over] = sequence
    row = np.arange(len(sources)).repeat(chain.indptr[sources + 1] - chain.indptr[sources])
    entries, weights = place[targets], chain.numerators[edges]
    if bool((differences(sequence) <= 0).any()):
        # A row has one scale, and equal sequences add up to at most that: it need not be named.
        whole = Entries(row, entries, weights, np.zeros(len(row), np.int64))
        row, entries, weights, _ = merged(whole, len(sources), len(keys), Scales())
    indptr = indptr_of(np.bincount(row, minlength=len(sources)))
    return SequenceTable(
        sources=sources,
        indptr=indptr,
        sequences=entries,
        weights=weights,
        denominators=tuple(chain.denominators[sources].tolist()),
        prefix=keys // 3,
        end=keys % 3,
        parent=np.zeros(len(outputs), np.int64),
        shown=outputs,
    )


def is_end(chain: Chain, state: IntArray) -> BoolArray:
    """Return for each state [n] whether a run is over there: † or silence forever."""
    ends: BoolArray = state == chain.stopped
    if chain.diverged is not None:
        ends = ends | (state == chain.diverged)
    return ends


def inner_graph(chain: Chain, sources: IntArray) -> tuple[IntArray, Graph]:
    """Return the states [n_inner] that runs from sources [n] visit before their ends, as a graph.

    Node k of the graph is the k-th of the states.
    """
    graph = graph_of(chain)
    states = np.arange(chain.n_states, dtype=np.int64)
    inner = reachable(graph, sources, ~is_end(chain, states))
    place = inner.cumsum() - 1
    kept = inner[graph.sources] & inner[graph.targets]
    counts = np.bincount(place[graph.sources[kept]], minlength=int(inner.sum()))
    return states[inner], Graph(indptr_of(counts), place[graph.targets[kept]])


def _ends(chain: Chain, *, early: bool) -> IntArray:
    """Return how a run that is in a state is over, [n_states], -1 if it is not.

    With `early` it counts as over one step before, where that step is certain to end it. Prefixes
    of equal length need ends of equal length: there an early end would tell apart what no
    adversary sees, whether a run is certain to stop next or only may.
    """
    ends = np.full(chain.n_states, -1, np.int64)
    states = marked(differences(chain.indptr) == 1)
    following = chain.targets[chain.indptr[states]]
    for sink, end in ((chain.stopped, STOPPED), (chain.diverged, DIVERGED)):
        if sink is not None:
            ends[states[following == sink] if early else sink] = end
    return ends


@dataclass(frozen=True)
class _Runs:
    """Entries of runs that have shown equally many outputs, or are over, each [n_entries].

    `place` is the state, or how the run is over; `scale` is the denominator's code.
    """

    source: IntArray
    prefix: IntArray
    place: IntArray
    weight: WeightArray
    scale: IntArray

    def where(self, mask: BoolArray) -> _Runs:
        """Return the entries in mask[n_entries]."""
        return _Runs(
            self.source[mask],
            self.prefix[mask],
            self.place[mask],
            self.weight[mask],
            self.scale[mask],
        )


class _Search:
    """All runs from some departures, followed one output at a time.

    What is over is seen from the departures (`over`); once runs are followed from heads, from those
    (`recent`), and `shares` says how departures reach heads: row-major entries (departure, head).
    Prefixes are a tree, grown one level at a time, by their parents and what is shown last.
    """

    def __init__(
        self, chain: Chain, sources: IntArray, limits: Limits, max_entries: int | None
    ) -> None:
        self.chain, self.sources, self.limits = chain, sources, limits
        self.max_entries = max_entries
        self.scales = Scales()
        self.numerators, self.row_scales = _with_few_scales(chain, sources, self.scales)
        self.parents, self.shown = [np.zeros(1, np.int64)], [np.full(1, -1, np.int64)]
        self.n_prefixes = 1
        self.over: list[_Runs] = []
        self.recent: list[_Runs] = []
        self.shares: Entries | None = None
        self.n_heads, self.has_heads = len(sources), False

    def table(
        self, ends: IntArray, depth: int | None, shared_by: int | None
    ) -> SequenceTable | None:
        """Follow all runs to ends[n_states], or for `depth` outputs; None for too many entries.

        They are followed from heads where there are `shared_by` times as many entries (None:
        never).
        """
        chain, n_levels = self.chain, 0
        level = _at_heads(np.zeros(len(self.sources), np.int64), self.sources)
        while True:
            end = ends[level.place]
            self.recent.append(replace(level, place=end).where(end >= 0))
            level = level.where(end < 0)
            if len(level.place) == 0:
                break
            if n_levels == depth:
                self.recent.append(replace(level, place=np.full(len(level.place), GOES_ON)))
                break
            heads, where = ranked_keys(level.prefix * chain.n_states + level.place)
            if shared_by and len(where) >= max(_MANY_ENTRIES, shared_by * len(heads)):
                if not self._follow_from(Entries(level.source, where, level.weight, level.scale)):
                    return None
                level = _at_heads(heads // chain.n_states, heads % chain.n_states)
            self.limits.check_time(f"output sequences followed for {n_levels} outputs")
            n_steps = int((chain.indptr[level.place + 1] - chain.indptr[level.place]).sum())
            if self.max_entries is not None and self._n_entries + n_steps > self.max_entries:
                return None
            level = self._step(level)
            n_levels += 1
        return self._assembled() if self._gather() else None

    @property
    def _n_entries(self) -> int:
        """The number of entries kept."""
        n_shares = 0 if self.shares is None else len(self.shares.rows)
        return n_shares + sum(len(part.source) for part in [*self.over, *self.recent])

    def _follow_from(self, reached: Entries) -> bool:
        """Let entries (present head, new head) lead to new heads; False if they are too many."""
        self.has_heads = True
        if not self._gather():
            return False
        n_heads = int(reached.targets.max()) + 1
        self.shares, self.n_heads = self._from_departures(reached, n_heads), n_heads
        return self.shares is not None

    def _gather(self) -> bool:
        """Let the departures see what is over; False if that takes too many entries."""
        if self.shares is None:
            self.over += self.recent
        elif self.recent:
            keys, entries = _by_sequence(self.recent)
            seen = self._from_departures(entries, len(keys))
            if seen is None:
                return False
            key = keys[seen.targets]
            self.over.append(_Runs(seen.rows, key // 3, key % 3, seen.numerators, seen.scales))
        self.recent = []
        return True

    def _from_departures(self, entries: Entries, n_targets: int) -> Entries | None:
        if self.shares is None:
            return entries
        from dpcheck.chain.weights.products import composed

        left = None if self.max_entries is None else self.max_entries - self._n_entries
        shape = len(self.sources), self.n_heads, n_targets
        tick = self.limits.check_time
        return composed(self.shares, entries, shape, self.scales, limit=left, tick=tick)

    def _step(self, level: _Runs) -> _Runs:
        """Return the entries after one more transition, equal ones merged.

        A weight w over D becomes w · numerator over D · (denominator of the row), which bounds it.
        """
        chain, scales = self.chain, self.scales
        widths = chain.indptr[level.place + 1] - chain.indptr[level.place]
        edge = ranges(chain.indptr[level.place], widths)
        products = scales.products(level.scale, self.row_scales[level.place])
        before = np.arange(len(level.place)).repeat(widths)
        weight = multiplied(level.weight[before], self.numerators[edge], scales.bound(products))
        prefix = level.prefix.repeat(widths)
        state = chain.targets[edge]
        ends = is_end(chain, state)
        shown = chain.observation[state]
        assert bool((ends | (shown >= 0)).all()), "every transition shows an output or ends the run"
        prefix[~ends] = self._extended(prefix[~ends], shown[~ends])
        keys, where = ranked_keys(prefix * chain.n_states + state)
        entries = Entries(level.source.repeat(widths), where, weight, products.repeat(widths))
        n_sources = int(level.source.max()) + 1
        source, key, weight, source_scales = merged(entries, n_sources, len(keys), scales)
        weight, source_scales = shortened(source, weight, source_scales, scales)
        key = keys[key]
        scale = source_scales[source]
        return _Runs(source, key // chain.n_states, key % chain.n_states, weight, scale)

    def _extended(self, prefix: IntArray, observation: IntArray) -> IntArray:
        """Return the prefixes [n] with the observations [n] after the given ones, interned."""
        base = int(observation.max()) + 1 if len(observation) else 1
        keys, index = ranked_keys(prefix * base + observation)
        self.parents.append(keys // base)
        self.shown.append(keys % base)
        first = self.n_prefixes
        self.n_prefixes += len(keys)
        return index + first

    def _assembled(self) -> SequenceTable:
        """Return the table: all entries that are over, a row over one denominator, sorted."""
        n_sources, scales = len(self.sources), self.scales
        keys, entries = _by_sequence(self.over)
        source, sequence, weight, source_scales = merged(entries, n_sources, len(keys), scales)
        denominators = tuple(scales.values[code] for code in source_scales.tolist())
        if any(not isinstance(d, int) or d >= INT64_LIMIT for d in denominators):
            weight = as_objects(weight)
        return SequenceTable(
            sources=self.sources,
            indptr=indptr_of(np.bincount(source, minlength=n_sources)),
            sequences=sequence,
            weights=weight,
            denominators=denominators,
            prefix=keys // 3,
            end=keys % 3,
            parent=np.concatenate(self.parents),
            shown=np.concatenate(self.shown),
        )


def _at_heads(prefix: IntArray, state: IntArray) -> _Runs:
    """Return entries with prefix [n], in state [n] with certainty, each its own source."""
    n = len(state)
    zero, one = np.zeros(n, np.int64), np.ones(n, np.int64)
    return _Runs(np.arange(n, dtype=np.int64), prefix, state, one, zero)


def _by_sequence(parts: Sequence[_Runs]) -> tuple[IntArray, Entries]:
    """Return different sequences [n], as 3 prefix + end in order, and entries with their places."""
    prefix = np.concatenate([part.prefix for part in parts])
    end = np.concatenate([part.place for part in parts])
    keys, where = ranked_keys(prefix * 3 + end)
    return keys, Entries(
        np.concatenate([part.source for part in parts]),
        where,
        concatenated([part.weight for part in parts]),
        np.concatenate([part.scale for part in parts]),
    )
