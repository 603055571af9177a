"""Event-level claims on a chain: from its output sequences to an outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from dpcheck.certify import certify_event
from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.contraction.contract import contracted
from dpcheck.check.evidence.paired_rows import PairedRows
from dpcheck.check.evidence.sequences import ENDS, has_output_cycle, sequence_table
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.formulas.vacuity import NO_NEIGHBORS
from dpcheck.check.quantities.privacy import (
    Decision,
    EventClaim,
    Evidence,
    Setting,
    closest_text,
    decide_event_claim,
    undecided_sequences,
)
from dpcheck.check.values.amounts import number_amount
from dpcheck.check.values.event_text import event_parts
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import (
    Beside,
    Coverage,
    Outcome,
    OutputSequence,
    Phrase,
    Strategy,
    Vacuity,
    Violated,
)
from dpcheck.exact import TooLarge
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic.claims import PrivacyClaim
from dpcheck.records import dataclass, replace

if TYPE_CHECKING:
    from dpcheck.check.evidence.merged_prefixes import MergedEvidence, MergedPrefixes

_MAX_PREFIX_ENTRIES = 200_000
"""Bounds a table of first outputs, beyond which they are merged."""
_MAX_DEPTH = 256
"""Bounds the first outputs that are listed, doubled each time."""
_MAX_MERGED_DEPTH = 4096
"""Bounds the first outputs that are merged, doubled each time."""
_MAX_DEPTH_TOLD = 16
"""So many outputs a run are cut down to the fewest that show a bound: more are not read anyway."""
_SHARE_FOR_PREFIXES = 50
"""Merged prefixes may take one in so many of the states allowed: they may be of no use."""
_ASKED_OUTPUTS = 2
"""Outputs of the path formula that advice suggests."""
_MAX_CERTIFIED = 64
"""Bounds the event that is summed once more by `certify`, sequence by sequence."""
_MAX_ENTRIES = 1 << 18
"""Bounds a table of complete sequences, beyond which prefixes are merged."""

_ENTRIES_A_PAIR = 4
"""A table may have so many entries for each pair: merged prefixes have a node a pair at least,
which takes several times their memory."""

_complete: WeakKeyDictionary[Chain, list[tuple[IntArray, PairedRows | MergedPrefixes]]] = (
    WeakKeyDictionary()
)

_prefix_graphs: WeakKeyDictionary[Chain, dict[tuple[bytes, int, int], MergedPrefixes | None]] = (
    WeakKeyDictionary()
)

_contracted: WeakKeyDictionary[Chain, dict[bytes, Chain]] = WeakKeyDictionary()

SURE = Vacuity(
    "trivial probability", "one and the same output sequence is certain on both sides of every pair"
)


@dataclass(frozen=True, eq=False)
class SeenPairs:
    """Pairs of neighbors in a chain with one output per transition.

    sources [n_sources] are the states in pairs; pairs [n_pairs, 2] index them. `names` describes
    both states of a pair; `states` [n_pairs, 2] are their numbers in the chain that was asked.
    """

    chain: Chain
    sources: IntArray
    pairs: IntArray
    names: Callable[[int], tuple[str, str]]
    states: IntArray
    limits: Limits

    @property
    def are_finite(self) -> bool:
        """Return whether there are finitely many complete output sequences."""
        return not has_output_cycle(self.chain, self.sources)


@dataclass(frozen=True, eq=False)
class _Question:
    """A claim about some pairs; with `is_of_labels`, what is observed are labels of states."""

    claim: EventClaim
    seen: SeenPairs
    is_of_labels: bool


def decide_on_sequences(
    claim: EventClaim, chain: Chain, selected: IntArray, limits: Limits
) -> Outcome:
    """Return the outcome of an event-level claim about the pairs with an end selected."""
    own = chain if chain.with_one_end is None else chain.with_one_end
    seen = seen_pairs(chain, selected, limits)
    question = _Question(claim, seen, is_of_labels=not own.shows_every_step)
    if question.seen.are_finite:
        return _decided_completely(question, len(selected))
    return _decided_by_prefixes(question, len(selected))


def seen_pairs(chain: Chain, selected: IntArray, limits: Limits) -> SeenPairs:
    """Return the pairs of neighbors with an end selected, and how they are seen."""
    chosen = np.zeros(chain.n_states, np.bool_)
    chosen[selected] = True
    pairs = chain.neighbors.pairs
    is_asked = chosen[pairs[:, 0]] | chosen[pairs[:, 1]]
    if not np.all(is_asked):
        pairs = pairs[is_asked]

    def names(pair: int) -> tuple[str, str]:
        first, second = pairs[pair].tolist()
        return chain.state_text(first), chain.state_text(second)

    chosen = np.zeros(chain.n_states, np.bool_)
    chosen[pairs] = True
    states = marked(chosen)
    seen, sources = observed(chain, states, limits)
    ends = pairs if _are_first(states) else (np.cumsum(chosen) - 1)[pairs]
    return SeenPairs(seen, sources, ends, names, pairs, limits)


def _are_first(states: IntArray) -> bool:
    """Return whether states, in increasing order, are 0, 1, ..., so that each is its own index."""
    return len(states) == 0 or bool(states[-1] == len(states) - 1)


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
        (
            *_closest(question, decision, evidence),
            *_why_infinite(question, decision, evidence),
        ),
        strategy=_strategy(decision, evidence),
    )


def _why_infinite(
    question: _Question, decision: Decision, evidence: Evidence
) -> tuple[Beside, ...]:
    """Return an output that is possible on one side only, where that makes an ε infinite."""
    shown, value = decision.shown, decision.value
    if isinstance(decision.verdict, Violated) or value is None or value.exact != "inf":
        return ()
    if shown is None or shown.gap is None or not isinstance(evidence, TableEvidence):
        return ()
    names = question.seen.names(shown.gap.pair)
    left, right = names if shown.gap.is_forward else names[::-1]
    (outputs, _, _), *_ = evidence.event_text(shown.gap, shown.factor).runs
    said = f" is possible from {left}, and not from {right}"
    return (Beside(Phrase.of("output " * (len(outputs.outputs) == 1), outputs, said)),)


def _closest(question: _Question, decision: Decision, evidence: Evidence) -> tuple[Beside, ...]:
    """Return the pair that comes closest to the budget of a claim that holds, with an output."""
    claim, found = question.claim, decision.closest
    if found is None or found.gap is None or not isinstance(claim, PrivacyClaim):
        return ()
    left, right = question.seen.names(found.gap.pair)
    pair = (left, right) if found.gap.is_forward else (right, left)
    shown: OutputSequence | None = None
    try:
        if isinstance(evidence, TableEvidence):
            (shown, _, _), *_ = evidence.event_text(found.gap, found.factor).runs
        return (Beside(closest_text(claim, found.gap, pair, shown)),)
    except (LimitReached, TooLarge):  # which costs the words, and no verdict
        return ()


def _strategy(decision: Decision, evidence: Evidence) -> Strategy | None:
    """Return what the worst analyst asks, where one adapts and the decision shows an event."""
    from dpcheck.check.evidence.strategies import StrategyEvidence

    shown = decision.shown
    if not isinstance(evidence, StrategyEvidence) or shown is None or shown.gap is None:
        return None
    return evidence.strategy(shown.gap, shown.factor)


def evidence_against(
    claim: EventClaim, chain: Chain, selected: IntArray, limits: Limits
) -> tuple[SeenPairs, Evidence]:
    """Return pairs and the evidence about them by which a claim is violated: it is known to be.

    selected [n_selected] are the states that it is about.
    """
    seen = seen_pairs(chain, selected, limits)
    if seen.are_finite:
        return seen, complete_evidence(seen)
    for _, evidence in _prefixes(seen):
        setting = Setting(evidence, len(seen.pairs), seen.names, is_complete=False)
        if decide_event_claim(claim, setting).verdict is not None:
            return seen, evidence
    raise AssertionError("some prefixes violate the claim")


def complete_evidence(seen: SeenPairs) -> TableEvidence | MergedEvidence:
    """Return evidence about complete sequences: a table, or merged prefixes if that is too large.

    Tables and graphs are made once for all claims about the same pairs.
    """
    chain, limits = seen.chain, seen.limits
    known = _complete.setdefault(chain, [])
    pairs = seen.pairs if _are_first(seen.sources) else seen.sources[seen.pairs]
    found = next((made for asked, made in known if np.array_equal(asked, pairs)), None)
    if found is None:
        entries = max(_MAX_ENTRIES, 4 * len(chain.targets), _ENTRIES_A_PAIR * len(pairs))
        table = (
            None
            if chain.offers
            else sequence_table(chain, seen.sources, limits=limits, max_entries=entries)
        )
        if table is None:
            from dpcheck.check.evidence.merged_prefixes import merge_prefixes

            found = merge_prefixes(chain, pairs, limits)
        else:
            found = PairedRows(table, seen.pairs)
        limits.check_time("the outputs are listed")
        known.append((pairs, found))
    if isinstance(found, PairedRows):
        return TableEvidence(found, chain.observation_text, limits)
    return _merged_evidence(seen, found)


def _merged_evidence(seen: SeenPairs, graph: MergedPrefixes) -> MergedEvidence:
    """Return what merged prefixes say, to an analyst who adapts if there are choices."""
    from dpcheck.check.evidence.merged_prefixes import MergedEvidence
    from dpcheck.check.evidence.strategies import StrategyEvidence

    chain = seen.chain
    if chain.offers:
        return StrategyEvidence(graph, chain.observation_text, seen.limits, offers=chain.offers)
    return MergedEvidence(graph, chain.observation_text, seen.limits)


def _decided_by_prefixes(question: _Question, n_initial: int) -> Outcome:
    """Decide a claim on infinitely many sequences, as far as their first outputs do."""
    coverage = Coverage(n_initial, len(question.seen.pairs))
    last, depth, shown_by = Decision(None), 0, Phrase(())
    for depth, evidence in _prefixes(question.seen):
        before, last = last, _decision(question, evidence, is_complete=False)
        if last.verdict is not None:
            beside = () if last.at_least is None else (Beside("it is at least", last.at_least),)
            return Outcome(last.verdict, coverage, (), last.value, beside)
        if last.at_least != before.at_least:
            shown_by = _shown_by(question, *_fewest_outputs(question, depth, evidence, last))
    path = _path_of_outputs(question)
    undecided = undecided_sequences(question.claim, last.at_least, depth, path, shown_by)
    return Outcome(undecided, coverage)


def _fewest_outputs(
    question: _Question, depth: int, evidence: Evidence, decision: Decision
) -> tuple[Evidence, Decision]:
    """Return evidence about fewer outputs that shows the same lower bound, if it is soon found."""
    is_short = depth <= _MAX_DEPTH_TOLD and isinstance(evidence, TableEvidence)
    for length in range(depth // 2 + 1, depth) if is_short else ():
        shorter = _prefix_table(question.seen, length)
        if shorter is not None:
            found = _decision(question, shorter, is_complete=False)
            if found.at_least == decision.at_least:
                return shorter, found
    return evidence, decision


def _shown_by(question: _Question, evidence: Evidence, decision: Decision) -> Phrase:
    """Return the event behind a lower bound, with its probabilities from both sides."""
    found = decision.shown
    if found is None or found.gap is None:
        return Phrase(())
    try:
        event = evidence.event_text(found.gap, found.factor)
    except LimitReached:  # which costs the words, and no bound
        return Phrase(())
    gap, names = found.gap, question.seen.names(found.gap.pair)
    left, right = names if gap.is_forward else names[::-1]
    shown = event_parts(event.event)
    sides = number_amount(gap.p), f" from {left}, ", number_amount(gap.q), f" from {right}"
    return Phrase.of(*shown, ": ", *sides)


def _prefixes(seen: SeenPairs) -> Iterator[tuple[int, Evidence]]:
    """Yield evidence about the first outputs, twice as many each time, and their number.

    As tables first, then, as these become too large, merged: long prefixes are many, but often few
    of them differ in what they say about the pair.
    """
    chain, depth = seen.chain, 1
    while depth <= _MAX_DEPTH and not chain.offers:
        evidence = _prefix_table(seen, depth)
        if evidence is None:
            break
        yield depth, evidence
        depth *= 2
    yield from _merged_prefixes(seen, depth)


def _prefix_table(seen: SeenPairs, depth: int) -> TableEvidence | None:
    """Return evidence about the first outputs, so many, as a table; None if that is too large."""
    chain, limits = seen.chain, seen.limits
    table = sequence_table(
        chain, seen.sources, limits=limits, depth=depth, max_entries=_MAX_PREFIX_ENTRIES
    )
    if table is None:
        return None
    return TableEvidence(PairedRows(table, seen.pairs), chain.observation_text, limits)


def _merged_prefixes(seen: SeenPairs, depth: int) -> Iterator[tuple[int, Evidence]]:
    """Yield merged evidence, from a number of outputs on, until the graph becomes too large."""
    while depth <= _MAX_MERGED_DEPTH and (graph := _prefix_graph(seen, depth)) is not None:
        yield depth, _merged_evidence(seen, graph)
        depth *= 2


def _prefix_graph(seen: SeenPairs, depth: int) -> MergedPrefixes | None:
    """Return the graph of the first outputs, made once for all claims about the same pairs.

    None where it takes more than its share of the states allowed.
    """
    from dpcheck.check.evidence.merged_prefixes import merge_prefixes

    pairs, n_allowed = seen.sources[seen.pairs], seen.limits.max_states // _SHARE_FOR_PREFIXES
    known = _prefix_graphs.setdefault(seen.chain, {})
    key = pairs.tobytes(), depth, n_allowed
    if key not in known:
        some = replace(seen.limits, max_states=n_allowed)
        try:
            known[key] = merge_prefixes(seen.chain, pairs, some, depth=depth)
        except LimitReached as reached:
            if reached.limit.kind != "states":
                raise
            known[key] = None
    return known[key]


def _path_of_outputs(question: _Question) -> str:
    """Return a path formula about the likeliest first outputs, to ask in place of all sequences."""
    chain = question.seen.chain
    shown: list[str] = []
    state = int(question.seen.sources[0]) if len(question.seen.sources) else chain.stopped
    while len(shown) < _ASKED_OUTPUTS:
        row = slice(int(chain.indptr[state]), int(chain.indptr[state + 1]))
        showing = np.flatnonzero(chain.observation[chain.targets[row]] >= 0)
        if not len(showing):
            break
        likeliest = max(showing.tolist(), key=chain.numerators[row].tolist().__getitem__)
        state = int(chain.targets[row][likeliest])
        shown.append(chain.observation_text(int(chain.observation[state])))
    if not shown:
        return "X stopped"
    if question.is_of_labels:
        return (
            f"F<={_ASKED_OUTPUTS} ({shown[0]})"
            if " & " in shown[0]
            else f"F<={_ASKED_OUTPUTS} {shown[0]}"
        )
    *before, last = (f"output = {text}" for text in shown)
    return f"X ({before[0]} & X {last})" if before else f"X {last}"


def _decision(question: _Question, evidence: Evidence, *, is_complete: bool) -> Decision:
    """Return what evidence says about the claim of a question."""
    setting = Setting(evidence, len(question.seen.pairs), question.seen.names, is_complete)
    decision = decide_event_claim(question.claim, setting)
    shown = decision.shown if isinstance(decision.verdict, Violated) else None
    if shown is not None and shown.gap is not None and isinstance(evidence, TableEvidence):
        _certify(question, evidence, shown.gap, shown.factor)
    return decision


def _certify(
    question: _Question, evidence: TableEvidence, gap: EventGap, factor: ExpFactor | None
) -> None:
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
