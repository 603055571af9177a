"""Event-level claims on a chain: from its output sequences to an outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.graph import Graph, graph_of, reachable, topological_layers
from dpcheck.check.paired_rows import PairedRows
from dpcheck.check.privacy import (
    Decision,
    EventClaim,
    Evidence,
    Setting,
    decide_event_claim,
    undecided_sequences,
)
from dpcheck.check.sequences import is_end, sequence_table
from dpcheck.check.tables import TableEvidence
from dpcheck.check.vacuity import NO_NEIGHBORS
from dpcheck.check.verdicts import Coverage, Outcome, Vacuity
from dpcheck.limits import Limits

_MAX_PREFIX_ENTRIES = 200_000
_MAX_DEPTH = 1024

_complete: WeakKeyDictionary[Chain, dict[bytes, PairedRows]] = WeakKeyDictionary()

SURE = Vacuity(
    "trivial probability", "one and the same output sequence is certain on both sides of every pair"
)


@dataclass(frozen=True, eq=False)
class _Question:
    """A claim about the pairs of some chain with one output per transition.

    sources [n_sources] are the states in pairs, sorted; pairs [n_pairs, 2] index them.
    """

    claim: EventClaim
    chain: Chain
    sources: IntArray
    pairs: IntArray
    names: Callable[[int], tuple[str, str]]
    limits: Limits


def decide_on_sequences(
    claim: EventClaim, chain: Chain, selected: IntArray, limits: Limits
) -> Outcome:
    """Return the outcome of an event-level claim about the pairs with an end selected."""
    chosen = np.zeros(chain.n_states, np.bool_)
    chosen[selected] = True
    pairs = chain.neighbors.pairs[chosen[chain.neighbors.pairs].any(axis=1)]

    def names(pair: int) -> tuple[str, str]:
        first, second = pairs[pair].tolist()
        return chain.state_text(first), chain.state_text(second)

    sources = np.unique(pairs)
    question = _Question(claim, chain, sources, np.searchsorted(sources, pairs), names, limits)
    if _has_output_cycle(chain, sources):
        return _decided_by_prefixes(question, len(selected))
    return _decided_completely(question, len(selected))


def _has_output_cycle(chain: Chain, sources: IntArray) -> bool:
    """Tell whether runs from the sources may show outputs without end: a cycle before the ends."""
    graph = graph_of(chain)
    states = np.arange(chain.n_states, dtype=np.int64)
    inner = reachable(graph, sources, ~is_end(chain, states))
    number = np.cumsum(inner) - 1
    kept = inner[graph.sources] & inner[graph.targets]
    indptr = np.zeros(int(inner.sum()) + 1, np.int64)
    counts = np.bincount(number[graph.sources[kept]], minlength=len(indptr) - 1)
    np.cumsum(counts, out=indptr[1:])
    return topological_layers(Graph(indptr, number[graph.targets[kept]])) is None


def _decided_completely(question: _Question, n_initial: int) -> Outcome:
    """Decide a claim on all complete output sequences."""
    rows = _complete_rows(question)
    evidence = TableEvidence(rows, question.chain.observation_text, question.limits)
    decision = _decision(question, evidence, is_complete=True)
    assert decision.verdict is not None, "complete evidence decides"
    return Outcome(
        decision.verdict,
        Coverage(n_initial, len(question.pairs), evidence.n_sequences),
        _vacuity(evidence, len(question.pairs)),
        decision.value,
    )


def _complete_rows(question: _Question) -> PairedRows:
    """Return the rows of complete sequences: made once for all claims about the same pairs."""
    known = _complete.setdefault(question.chain, {})
    key = question.sources[question.pairs].tobytes()
    if key not in known:
        table = sequence_table(question.chain, question.sources, limits=question.limits)
        assert table is not None, "no number of entries is too large"
        known[key] = PairedRows(table, question.pairs)
    return known[key]


def _decided_by_prefixes(question: _Question, n_initial: int) -> Outcome:
    """Decide a claim on infinitely many sequences, as far as their first outputs do.

    The depth is doubled until the claim is decided, or prefixes become too many.
    """
    coverage = Coverage(n_initial, len(question.pairs))
    last, depth = Decision(None), 1
    while depth <= _MAX_DEPTH:
        table = sequence_table(
            question.chain,
            question.sources,
            limits=question.limits,
            depth=depth,
            max_entries=_MAX_PREFIX_ENTRIES,
        )
        if table is None:
            break
        rows = PairedRows(table, question.pairs)
        evidence = TableEvidence(rows, question.chain.observation_text, question.limits)
        last = _decision(question, evidence, is_complete=False)
        if last.verdict is not None:
            return Outcome(last.verdict, coverage, (), last.value)
        depth *= 2
    return Outcome(undecided_sequences(question.claim, last.progress, depth // 2), coverage)


def _decision(question: _Question, evidence: Evidence, *, is_complete: bool) -> Decision:
    """Return what evidence says about the claim of a question."""
    setting = Setting(evidence, len(question.pairs), question.names, is_complete)
    return decide_event_claim(question.claim, setting)


def _vacuity(evidence: Evidence, n_pairs: int) -> tuple[Vacuity, ...]:
    """Return why an event-level claim says little."""
    if n_pairs == 0:
        return (NO_NEIGHBORS,)
    return (SURE,) if evidence.has_certain_rows() else ()
