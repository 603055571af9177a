"""Formulas that read an output where there is none yet: at the start of a run.

Nothing is output at the initial states of a mechanism, so an atom that reads `output` is false
there. A formula that looks at the start alone, or that asks such an atom to be true from the start
on, is rarely what was meant: `X` is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dpcheck.diagnostics.claims import OutputAtStart
from dpcheck.logic import formulas as f
from dpcheck.model import trees
from dpcheck.model.atoms import Condition
from dpcheck.resolve.claims.formulas import Reader
from dpcheck.source import Span

IsOutput = Callable[[f.Atom], bool]
"""Whether an atom reads the output of its state."""


def report_outputs_at_start(formula: f.StateFormula, reader: Reader) -> None:
    """Warn of every part of a claim's formula that reads an output at the start."""
    atoms = reader.collected.atoms

    def is_output(atom: f.Atom) -> bool:
        meaning = atoms.get(atom.key)
        return isinstance(meaning, Condition) and meaning.reads_output

    found = dict(_parts_at_start(formula, is_output))
    for span, (before, after) in found.items():
        reader.scope.report(OutputAtStart(span, before, after))


Edit = tuple[str, str]
"""What to write before and after a part."""


def _parts_at_start(node: object, is_output: IsOutput) -> Iterator[tuple[Span, Edit]]:
    """Yield the parts of a formula that read an output at the start, with what to write there."""
    match node:
        case f.Atom(span=span):
            if is_output(node):
                yield span, ("P>=1 [ X ", " ]")
        case f.Holds(state=state, span=span):
            if any(_parts_at_start(state, is_output)):
                yield span, ("X ", "") if isinstance(state, f.Atom) else ("X (", ")")
        case (
            f.Globally(argument=first, span=span)
            | f.Until(left=first, span=span)
            | f.WeakUntil(left=first, span=span)
            | f.Release(right=first, span=span)
        ):
            if _at_start(first, is_output) is False:
                yield span, ("X ", "") if isinstance(node, f.Globally) else ("X (", ")")
        case f.Next() | f.Finally():
            pass
        case _:
            for part in trees.parts(node):
                yield from _parts_at_start(part, is_output)


def _at_start(formula: f.PathFormula | f.StateFormula, is_output: IsOutput) -> bool | None:
    """Return the truth of a formula at the start of every run, None where it is not known."""
    match formula:
        case f.Truth(value=value):
            return value
        case f.Atom():
            return False if is_output(formula) else None
        case f.Holds(state=state):
            return _at_start(state, is_output)
        case f.Not(argument=argument) | f.PathNot(argument=argument):
            known = _at_start(argument, is_output)
            return None if known is None else not known
        case f.And(arguments=arguments) | f.PathAnd(arguments=arguments):
            truths = [_at_start(each, is_output) for each in arguments]
            return False if False in truths else (None if None in truths else True)
        case f.Or(arguments=arguments) | f.PathOr(arguments=arguments):
            truths = [_at_start(each, is_output) for each in arguments]
            return True if True in truths else (None if None in truths else False)
        case _:
            return None
