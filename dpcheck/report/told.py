"""Mistakes as they are told: texts and places, without the values they were made from."""

from __future__ import annotations

from dpcheck.diagnostics.mistakes import Label, Mistake
from dpcheck.records import dataclass, fields


@dataclass(frozen=True)
class ToldMistake(Mistake):
    """What one mistake says, ready to be drawn: no text is made from values any more."""

    __slots__ = ("code", "file", "help", "labels", "notes", "severity", "title")  # no properties

    code: str  # type: ignore[misc]  # of the instance here, of the class elsewhere
    severity: str  # type: ignore[assignment,misc]
    title: str
    file: str | None
    labels: tuple[Label, ...]
    notes: tuple[str, ...]
    help: str | None


def told(mistake: Mistake) -> ToldMistake:
    """Return a mistake as it is told. Its texts may take long to make, and much memory."""
    return ToldMistake(*(getattr(mistake, each.name) for each in fields(ToldMistake)))
