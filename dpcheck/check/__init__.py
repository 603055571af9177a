"""Claims on explored chains come in; verdicts with evidence go out."""

from dpcheck.check.decide import ClaimRejected, decide, decide_arranged, nothing_asked
from dpcheck.check.values.verdicts import (
    Amount,
    Counterexample,
    Coverage,
    Holds,
    Outcome,
    Run,
    Undecided,
    Vacuity,
    Value,
    Verdict,
    Violated,
)

__all__ = [
    "Amount",
    "ClaimRejected",
    "Counterexample",
    "Coverage",
    "Holds",
    "Outcome",
    "Run",
    "Undecided",
    "Vacuity",
    "Value",
    "Verdict",
    "Violated",
    "decide",
    "decide_arranged",
    "nothing_asked",
]
