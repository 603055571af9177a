"""Mistakes about files of evidence (DP05x): what is no witness, or says what the model does not."""

from __future__ import annotations

from typing import ClassVar

from dpcheck.diagnostics.files import FileMistake
from dpcheck.records import dataclass


@dataclass(frozen=True)
class NoWitness(FileMistake):
    """A file is no witness that proves what it says."""

    reason: str

    code: ClassVar[str] = "DP050"
    title_text: ClassVar[str] = "`{self.path}` proves nothing: {self.reason}"
    help_text: ClassVar[str] = "write it again with `dpcheck check FILE --witness DIR`"
    explanation: ClassVar[str] = """\
`dpcheck replay` first does what `dpcheck verify` does, and this file does not prove what it says
about the chain in it: it was changed, or cut off, or is no witness at all.

Right: dpcheck check survey.dpm --witness evidence
"""


@dataclass(frozen=True)
class ModelChanged(FileMistake):
    """The model of a witness is another text now."""

    model: str

    code: ClassVar[str] = "DP051"
    title_text: ClassVar[str] = "`{self.model}` is not the text that `{self.path}` was written for"
    help_text: ClassVar[str] = (
        "check the model again with `--witness`, or replay an earlier version"
    )
    explanation: ClassVar[str] = """\
A witness has the SHA-256 of its model and of all files that this imports. One of them has changed
since, so that the claim may be another one. Files are looked for from the working directory, as
`dpcheck check` found them.
"""


@dataclass(frozen=True)
class NotReplayed(FileMistake):
    """A witness is not derived again from the model's text."""

    reason: str

    code: ClassVar[str] = "DP052"
    title_text: ClassVar[str] = "`{self.path}` is not derived again: {self.reason}"
    explanation: ClassVar[str] = """\
`dpcheck replay` derives violations from the model's text by an interpreter of its own. It does not
cover evidence that a claim holds, tables of probabilities, claims other than `dp`, P and D, and
programs whose runs take it too long. `dpcheck verify` still checks the evidence itself.
"""


@dataclass(frozen=True)
class ModelSaysOtherwise(FileMistake):
    """What a witness says is not what the model's text says."""

    reason: str

    code: ClassVar[str] = "DP053"
    title_text: ClassVar[str] = "the model's text contradicts `{self.path}`: {self.reason}"
    explanation: ClassVar[str] = """\
The evidence proves a violation for the chain in the file, but by the model's text its inputs are
no neighbors, the budget is another one, or the event has other probabilities. Somebody made the
file up, or dpcheck has a bug.
"""
