"""Pairs of neighbors as an adversary sees them, and the evidence about their output sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from dpcheck.certify.evidence import Shown, certify_event
from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.contraction.contract import contracted
from dpcheck.check.evidence.paired_rows import PairedRows
from dpcheck.check.evidence.sequences import has_output_cycle, sequence_table
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.values.exp_factor import EventGap
from dpcheck.check.values.verdicts import Coverage, OutputSequence
from dpcheck.limits import Limits
from dpcheck.records import dataclass, replace

if TYPE_CHECKING:
    from dpcheck.check.evidence.endless import EndlessPrefixes
    from dpcheck.check.evidence.merged_evidence import MergedEvidence
    from dpcheck.check.evidence.merged_prefixes import MergedPrefixes

_MAX_PREFIX_ENTRIES = 200_000
"""Bounds a table of first outputs, beyond which they are merged."""
_MAX_ENTRIES = 1 << 18
"""Bounds a table of complete sequences, beyond which prefixes are merged."""
_MAX_ENTRIES_FOR_ALL = 1000
"""The same for all values of a parameter. Twelve randomized answers: 1.6 s as a table, 0.1 s
merged; mechanisms with one output, such as noisy argmax, are seven times slower if merged."""

_ENTRIES_A_PAIR = 4
"""A table may have so many entries for each pair: merged prefixes have a node a pair at least,
which takes several times their memory."""

_MAX_ENTRIES_OF_MANY_PAIRS = 1 << 20
"""Bounds that table where pairs are many."""
_PREFIXES_A_PAIR = 128
"""Where pairs are many, so many entries for each: a state has rows once, each of its pairs has its
own prefixes. Seven rounds that share noise, 8,128 pairs: 4 s, not 180."""

Known = TypeVar("Known")
Memo = WeakKeyDictionary[Chain, dict[bytes, Known]]
"""What is known of states, or pairs of states, of a chain, by their numbers."""

_complete: Memo[PairedRows | MergedPrefixes] = WeakKeyDictionary()
_endless: Memo[EndlessPrefixes] = WeakKeyDictionary()
_contracted: Memo[Chain] = WeakKeyDictionary()

_MAX_NAMED = 100_000
"""Pairs whose names are compared, in a second."""


@dataclass(frozen=True, eq=False)
class SeenPairs:
    """Pairs of neighbors in a chain with one output per transition.

    sources [n_sources] are the states in pairs; pairs [n_pairs, 2] index them. `states`
    [n_pairs, 2] are their numbers in the chain that was `asked`, about the states selected[n].
    """

    chain: Chain
    sources: IntArray
    pairs: IntArray
    asked: Chain
    states: IntArray
    selected: IntArray
    limits: Limits

    def names(self, pair: int, *, is_forward: bool = True) -> tuple[str, str]:
        """Return the texts of both states of a pair, the second first if it is not forward."""
        first, second = map(self.asked.state_text, self.states[pair].tolist())
        return (first, second) if is_forward else (second, first)

    def coverage(self, n_sequences: int | None = None) -> Coverage:
        """Return what is looked at, with so many sequences where they are listed."""
        return Coverage(len(self.pairs), n_sequences)

    @property
    def is_of_labels(self) -> bool:
        """Return whether what is seen are labels of states, not outputs."""
        own = self.asked if self.asked.with_one_end is None else self.asked.with_one_end
        return not own.shows_every_step

    @property
    def are_finite(self) -> bool:
        """Return whether there are finitely many complete output sequences."""
        return not has_output_cycle(self.chain, self.sources)

    def certify(self, gap: EventGap, sequences: Sequence[Shown]) -> None:
        """Check the probabilities of an event of a pair again, sequence by sequence."""
        first, second = self.sources[self.pairs[gap.pair]].tolist()
        if not gap.is_forward:
            first, second = second, first
        certify_event(self.chain, first, sequences, gap.p)
        certify_event(self.chain, second, sequences, gap.q)

    def ended(self, pair: int) -> Callable[[OutputSequence], OutputSequence]:
        """Return what ends outputs of a pair where all runs that show them then stop.

        Prefixes that are merged do not tell: what follows them has one ratio.
        """
        walks = [
            RunsAfter(self.chain, source) for source in self.sources[self.pairs[pair]].tolist()
        ]

        def ended(shown: OutputSequence) -> OutputSequence:
            if shown.ending != "goes on":
                return shown
            possible = [walk for walk in walks if walk.states(shown.outputs)]
            are_over = possible and all(walk.is_over(shown.outputs) for walk in possible)
            return replace(shown, ending="stopped") if are_over else shown

        return ended

    def named(self, names: tuple[str, ...]) -> int | None:
        """Return the pair of states with these names, in any order, None where that takes long."""
        places = range(min(len(self.pairs), _MAX_NAMED))
        return next((k for k in places if set(self.names(k)) == set(names)), None)


class RunsAfter:
    """Where runs from a state are after some outputs, in a chain that shows one a transition."""

    def __init__(self, chain: Chain, source: int) -> None:
        """Begin without any output."""
        self.chain = chain
        self._source = frozenset([source])
        self._known: dict[frozenset[int], dict[str | None, frozenset[int]]] = {}

    def states(self, outputs: tuple[str, ...]) -> frozenset[int]:
        """Return the states that runs may be in after outputs, none where these are impossible."""
        states = self._source
        for shown in outputs:
            states = self._following(states).get(shown, frozenset())
        return states

    def is_over(self, outputs: tuple[str, ...]) -> bool:
        """Return whether all runs stop after outputs."""
        after = self._following(self.states(outputs))
        return set(after) == {None} and after[None] == {self.chain.stopped}

    def _following(self, states: frozenset[int]) -> dict[str | None, frozenset[int]]:
        """Return the states of the transition from there, by what is shown at it."""
        if states not in self._known:
            chain, found = self.chain, dict[str | None, set[int]]()
            for s in states:
                for t in chain.targets[chain.indptr[s] : chain.indptr[s + 1]].tolist():
                    code = int(chain.observation[t])
                    is_end = code < 0 or t in (chain.stopped, chain.diverged)
                    found.setdefault(None if is_end else chain.observation_text(code), set()).add(t)
            self._known[states] = {shown: frozenset(after) for shown, after in found.items()}
        return self._known[states]


def seen_pairs(chain: Chain, selected: IntArray, limits: Limits) -> SeenPairs:
    """Return the pairs of neighbors with an end in selected[n], and how they are seen."""
    chosen = np.zeros(chain.n_states, np.bool_)
    chosen[selected] = True
    pairs = chain.neighbors.pairs
    is_asked = chosen[pairs[:, 0]] | chosen[pairs[:, 1]]
    if not np.all(is_asked):
        pairs = pairs[is_asked]
    chosen = np.zeros(chain.n_states, np.bool_)
    chosen[pairs] = True
    states = marked(chosen)
    seen, sources = observed(chain, states, limits)
    ends = pairs if _are_first(states) else (np.cumsum(chosen) - 1)[pairs]
    return SeenPairs(seen, sources, ends, chain, pairs, selected, limits)


def _are_first(states: IntArray) -> bool:
    """Return whether states [n], in increasing order, are 0, 1, ...: each is its own index."""
    return len(states) == 0 or bool(states[-1] == len(states) - 1)


def observed(chain: Chain, states: IntArray, limits: Limits) -> tuple[Chain, IntArray]:
    """Return a chain with one output per transition, and states [n] in it.

    The chain of a mechanism is one; a chain with `observe` is contracted, once for all claims
    about the same states.
    """
    if chain.with_one_end is not None:
        return observed(chain.with_one_end, states, limits)
    if chain.shows_every_step:
        return chain, states
    made = _kept(_contracted, chain, states, lambda: contracted(chain, states, limits.check_time))
    return made, np.arange(len(states), dtype=np.int64)


def _kept(memo: Memo[Known], chain: Chain, states: IntArray, make: Callable[[], Known]) -> Known:
    """Return what is known of states of a chain, made if need be."""
    known, key = memo.setdefault(chain, {}), states.tobytes()
    if key not in known:
        known[key] = make()
    return known[key]


def complete_evidence(seen: SeenPairs) -> TableEvidence | MergedEvidence | None:
    """Return evidence about all sequences: a table, or merged prefixes if that is too large.

    None for endless outputs whose prefixes do not merge into finitely many.
    """
    if not seen.are_finite:
        prefixes, limits = endless_prefixes(seen), seen.limits
        graph = prefixes.complete(limits) or prefixes.identifying(limits)
        return None if graph is None else merged_evidence(seen, graph)
    found = finite_outputs(seen)
    seen.limits.check_time("the outputs are listed")
    if isinstance(found, PairedRows):
        return _table_evidence(seen, found)
    return merged_evidence(seen, found)


def finite_outputs(seen: SeenPairs, *, is_for_all: bool = False) -> PairedRows | MergedPrefixes:
    """Return all sequences of pairs whose outputs are finite, or merged prefixes if too many.

    They are made once for all claims about the same pairs. Probabilities for all values of a
    parameter are polynomials: `is_for_all` of them fewer are too many.
    """
    pairs = seen.pairs if _are_first(seen.sources) else seen.sources[seen.pairs]
    most = _MAX_ENTRIES_FOR_ALL if is_for_all else _MAX_ENTRIES
    return _kept(
        _complete, seen.chain, pairs, lambda: _paired_rows(seen, most) or _merged_prefixes(seen)
    )


def _paired_rows(seen: SeenPairs, most: int) -> PairedRows | None:
    """Return the table of all sequences; None if that is too large, or an analyst chooses.

    It may have `most` entries, or more where pairs are many.
    """
    chain, limits = seen.chain, seen.limits
    if chain.offers:
        return None
    n_pairs = len(seen.pairs)
    of_many = min(_MAX_ENTRIES_OF_MANY_PAIRS, _PREFIXES_A_PAIR * n_pairs)
    entries = max(most, 4 * len(chain.targets), _ENTRIES_A_PAIR * n_pairs, of_many)
    table = sequence_table(chain, seen.sources, limits=limits, max_entries=entries)
    return None if table is None else PairedRows(table, seen.pairs)


def _merged_prefixes(seen: SeenPairs) -> MergedPrefixes:
    from dpcheck.check.evidence.merged_prefixes import merge_prefixes

    return merge_prefixes(seen.chain, seen.sources[seen.pairs], seen.limits)


def merged_evidence(seen: SeenPairs, graph: MergedPrefixes) -> MergedEvidence:
    """Return what merged prefixes say, to an analyst who adapts if there are choices."""
    from dpcheck.check.evidence.merged_evidence import MergedEvidence
    from dpcheck.check.evidence.strategies import StrategyEvidence

    chain = seen.chain
    if chain.offers:
        return StrategyEvidence(graph, chain.observation_text, seen.limits, offers=chain.offers)
    return MergedEvidence(graph, chain.observation_text, seen.limits)


def endless_prefixes(seen: SeenPairs) -> EndlessPrefixes:
    """Return the prefixes of endless outputs, kept for all claims about the same pairs."""
    from dpcheck.check.evidence.endless import EndlessPrefixes

    pairs = seen.sources[seen.pairs]
    return _kept(
        _endless, seen.chain, pairs, lambda: EndlessPrefixes(seen.chain, pairs, seen.limits)
    )


def prefix_table(seen: SeenPairs, depth: int) -> TableEvidence | None:
    """Return evidence about the first outputs, so many, as a table; None if that is too large."""
    chain, limits = seen.chain, seen.limits
    table = sequence_table(
        chain, seen.sources, limits=limits, depth=depth, max_entries=_MAX_PREFIX_ENTRIES
    )
    if table is None:
        return None
    return _table_evidence(seen, PairedRows(table, seen.pairs))


def _table_evidence(seen: SeenPairs, rows: PairedRows) -> TableEvidence:
    """Return what rows of a table say."""
    chain = seen.chain
    return TableEvidence(rows, chain.observation_text, seen.limits, chain.shows_several)
