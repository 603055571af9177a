"""A claim about pairs of neighbors, put to evidence about their output sequences."""

from __future__ import annotations

from dpcheck.check.evidence.sequences import ENDS
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities import privacy
from dpcheck.check.quantities.seen_pairs import SeenPairs
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import Violated
from dpcheck.records import dataclass

_MAX_CERTIFIED = 64
"""Bounds the event that is summed once more by `certify`, sequence by sequence."""


@dataclass(frozen=True, eq=False)
class Question:
    """A claim about some pairs; with `is_of_labels`, what is observed are labels of states."""

    claim: privacy.EventClaim
    seen: SeenPairs
    is_of_labels: bool


def decision_on(
    question: Question, evidence: privacy.Evidence, *, is_complete: bool
) -> privacy.Decision:
    """Return what evidence says about the claim of a question."""
    setting = privacy.Setting(evidence, len(question.seen.pairs), question.seen.names, is_complete)
    decision = privacy.decide_event_claim(question.claim, setting)
    shown = decision.shown if isinstance(decision.verdict, Violated) else None
    if shown is not None and shown.gap is not None and isinstance(evidence, TableEvidence):
        _certify(question, evidence, shown.gap, shown.factor)
    return decision


def _certify(
    question: Question, evidence: TableEvidence, gap: EventGap, factor: ExpFactor | None
) -> None:
    """Check the probabilities of a counterexample's event again, where it is short."""
    event = evidence.event(gap, factor)
    if len(event) > _MAX_CERTIFIED:
        return
    table = evidence.rows.table
    sequences = [(table.outputs(k), ENDS[int(table.end[k])]) for k in event]
    question.seen.certify(gap, sequences)
