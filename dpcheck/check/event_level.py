"""Event-level claims on a chain: from its output sequences to an outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from dpcheck.certify import certify_event
from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.contract import contracted
from dpcheck.check.factors import Factor, Gap
from dpcheck.check.paired_rows import PairedRows
from dpcheck.check.privacy import (
    Decision,
    EventClaim,
    Evidence,
    Setting,
    decide_event_claim,
    undecided_sequences,
)
from dpcheck.check.sequences import ENDS, has_output_cycle, sequence_table
from dpcheck.check.tables import TableEvidence
from dpcheck.check.vacuity import NO_NEIGHBORS
from dpcheck.check.verdicts import Coverage, Outcome, Vacuity
from dpcheck.limits import Limits
from dpcheck.records import dataclass

if TYPE_CHECKING:
    from dpcheck.check.merging import LossGraph, MergedEvidence

_MAX_PREFIX_ENTRIES = 200_000
_MAX_DEPTH = 256
_MAX_CERTIFIED = 64
_MAX_ENTRIES = 1 << 18

_complete: WeakKeyDictionary[Chain, dict[bytes, PairedRows | LossGraph]] = WeakKeyDictionary()

_contracted: WeakKeyDictionary[Chain, dict[bytes, Chain]] = WeakKeyDictionary()

SURE = Vacuity(
    "trivial probability", "one and the same output sequence is certain on both sides of every pair"
)


@dataclass(frozen=True, eq=False)
class SeenPairs:
    """Pairs of neighbors in a chain with one output per transition.

    sources [n_sources] are the states in pairs; pairs [n_pairs, 2] index them. `names` describes
    both states of a pair.
    """

    chain: Chain
    sources: IntArray
    pairs: IntArray
    names: Callable[[int], tuple[str, str]]
    limits: Limits

    @property
    def are_finite(self) -> bool:
        """Tell whether there are finitely many complete output sequences."""
        return not has_output_cycle(self.chain, self.sources)


@dataclass(frozen=True, eq=False)
class _Question:
    """A claim about some pairs."""

    claim: EventClaim
    seen: SeenPairs


def decide_on_sequences(
    claim: EventClaim, chain: Chain, selected: IntArray, limits: Limits
) -> Outcome:
    """Return the outcome of an event-level claim about the pairs with an end selected."""
    question = _Question(claim, seen_pairs(chain, selected, limits))
    if question.seen.are_finite:
        return _decided_completely(question, len(selected))
    return _decided_by_prefixes(question, len(selected))


def seen_pairs(chain: Chain, selected: IntArray, limits: Limits) -> SeenPairs:
    """Return the pairs of neighbors with an end selected, and how they are seen."""
    chosen = np.zeros(chain.n_states, np.bool_)
    chosen[selected] = True
    pairs = chain.neighbors.pairs[chosen[chain.neighbors.pairs].any(axis=1)]

    def names(pair: int) -> tuple[str, str]:
        first, second = pairs[pair].tolist()
        return chain.state_text(first), chain.state_text(second)

    chosen = np.zeros(chain.n_states, np.bool_)
    chosen[pairs] = True
    states = marked(chosen)
    seen, sources = observed(chain, states, limits)
    return SeenPairs(seen, sources, (chosen.cumsum() - 1)[pairs], names, limits)


def observed(chain: Chain, states: IntArray, limits: Limits) -> tuple[Chain, IntArray]:
    """Return a chain with one output per transition, and the given states in it.

    The chain of a mechanism is one; a chain with `observe` is contracted, once for all claims
    about the same states.
    """
    if chain.with_one_end is not None:
        return observed(chain.with_one_end, states, limits)
    if chain.shows_every_step:
        return chain, states
    known = _contracted.setdefault(chain, {})
    key = states.tobytes()
    if key not in known:
        known[key] = contracted(chain, states, limits.check_time)
    return known[key], np.arange(len(states), dtype=np.int64)


def _decided_completely(question: _Question, n_initial: int) -> Outcome:
    """Decide a claim on all complete output sequences."""
    evidence = complete_evidence(question.seen)
    decision = _decision(question, evidence, is_complete=True)
    assert decision.verdict is not None, "complete evidence decides"
    return Outcome(
        decision.verdict,
        Coverage(n_initial, len(question.seen.pairs), evidence.n_sequences),
        _vacuity(evidence, len(question.seen.pairs)),
        decision.value,
    )


def complete_evidence(seen: SeenPairs) -> TableEvidence | MergedEvidence:
    """Return evidence about complete sequences: a table, or merged prefixes if that is too large.

    Tables and graphs are made once for all claims about the same pairs.
    """
    chain, limits = seen.chain, seen.limits
    known = _complete.setdefault(chain, {})
    key = seen.sources[seen.pairs].tobytes()
    if key not in known:
        entries = max(_MAX_ENTRIES, 4 * len(chain.targets))
        table = sequence_table(chain, seen.sources, limits=limits, max_entries=entries)
        if table is None:
            from dpcheck.check.merging import loss_graph

            known[key] = loss_graph(chain, seen.sources[seen.pairs], limits)
        else:
            known[key] = PairedRows(table, seen.pairs)
    found = known[key]
    if isinstance(found, PairedRows):
        return TableEvidence(found, chain.observation_text, limits)
    from dpcheck.check.merging import MergedEvidence

    return MergedEvidence(found, chain.observation_text, limits)


def _decided_by_prefixes(question: _Question, n_initial: int) -> Outcome:
    """Decide a claim on infinitely many sequences, as far as their first outputs do.

    The depth is doubled until the claim is decided, or prefixes become too many.
    """
    coverage = Coverage(n_initial, len(question.seen.pairs))
    last, depth = Decision(None), 1
    while depth <= _MAX_DEPTH:
        table = sequence_table(
            question.seen.chain,
            question.seen.sources,
            limits=question.seen.limits,
            depth=depth,
            max_entries=_MAX_PREFIX_ENTRIES,
        )
        if table is None:
            break
        rows = PairedRows(table, question.seen.pairs)
        evidence = TableEvidence(rows, question.seen.chain.observation_text, question.seen.limits)
        last = _decision(question, evidence, is_complete=False)
        if last.verdict is not None:
            return Outcome(last.verdict, coverage, (), last.value)
        depth *= 2
    return Outcome(undecided_sequences(question.claim, last.progress, depth // 2), coverage)


def _decision(question: _Question, evidence: Evidence, *, is_complete: bool) -> Decision:
    """Return what evidence says about the claim of a question."""
    setting = Setting(evidence, len(question.seen.pairs), question.seen.names, is_complete)
    decision = decide_event_claim(question.claim, setting)
    shown = decision.shown
    if shown is not None and shown.gap is not None and isinstance(evidence, TableEvidence):
        _certify(question, evidence, shown.gap, shown.factor)
    return decision


def _certify(question: _Question, evidence: TableEvidence, gap: Gap, factor: Factor | None) -> None:
    """Check the probabilities of a counterexample's event again, where it is short."""
    event = evidence.event(gap, factor)
    if len(event) > _MAX_CERTIFIED:
        return
    table = evidence.rows.table
    sequences = [(table.outputs(k), ENDS[int(table.end[k])]) for k in event]
    first, second = question.seen.sources[question.seen.pairs[gap.pair]].tolist()
    if not gap.is_forward:
        first, second = second, first
    certify_event(question.seen.chain, first, sequences, gap.p)
    certify_event(question.seen.chain, second, sequences, gap.q)


def _vacuity(evidence: Evidence, n_pairs: int) -> tuple[Vacuity, ...]:
    """Return why an event-level claim says little."""
    if n_pairs == 0:
        return (NO_NEIGHBORS,)
    return (SURE,) if evidence.has_certain_rows() else ()
