"""Evidence for verdicts comes in; whether it holds, checked without `solve`, goes out."""

from dpcheck.certify.evidence import (
    certify_event,
    certify_reachability,
    certify_rows,
    certify_violation,
    sequence_probability,
)

__all__ = [
    "certify_event",
    "certify_reachability",
    "certify_rows",
    "certify_violation",
    "sequence_probability",
]
