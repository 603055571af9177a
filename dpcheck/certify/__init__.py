"""Evidence for verdicts comes in; whether it holds, checked without `solve`, goes out."""

from dpcheck.certify.alignments import certify_alignment
from dpcheck.certify.evidence import (
    certify_event,
    certify_violation,
    sequence_probability,
)
from dpcheck.certify.scores import ScoredRun, certify_score_event

__all__ = [
    "ScoredRun",
    "certify_alignment",
    "certify_event",
    "certify_score_event",
    "certify_violation",
    "sequence_probability",
]
