"""From faults of evaluation to mistakes of the user, and the exception that carries them."""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck.diagnostics import runs
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.params import of_fault
from dpcheck.model.evaluation import Fault
from dpcheck.source import Span


class Unassigned(Fault):
    """A variable was read before it had a value."""


class MistakeFault(Fault):
    """A fault that knows its mistake, all but the run."""

    def __init__(self, mistake: runs.RunMistake) -> None:
        """Keep the mistake."""
        super().__init__("wrong kind", mistake.title, (), mistake.span)
        self.mistake = mistake


class MistakesFound(Exception):
    """Exploration met mistakes of the user; there is no chain."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        """Keep them in the order of the text."""
        super().__init__("; ".join(mistake.title for mistake in mistakes))
        self.mistakes = tuple(mistakes)


def mistake_of(fault: Fault, place: Span, run: tuple[str, ...]) -> runs.RunMistake:
    """Return the mistake a fault is, at its own place or else at the statement's."""
    if isinstance(fault, MistakeFault):
        return fault.mistake.on_run(run)
    if isinstance(fault, Unassigned):
        return runs.ReadBeforeAssignment(fault.span or place, run, fault.title)
    return of_fault(fault, place, run)


def spoken(name: str) -> str:
    """Return a variable's name as the user wrote it."""
    return name.split("#", maxsplit=1)[0]
