"""Evidence for verdicts, checked again; never imports `solve`."""

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
