"""The runs that decide a path formula: the heaviest by what they show, and the likeliest one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dpcheck.check.formulas.heaviest_runs import heavy_runs
from dpcheck.check.values.amounts import number_amount
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import Budget
from dpcheck.explain.explanation import RunKind, TracedRun, WeightedRun
from dpcheck.explain.runs.attribution import chances
from dpcheck.explain.runs.passed_states import satisfying_run
from dpcheck.explain.runs.traced_run import first_traced
from dpcheck.explain.subject import Subject
from dpcheck.logic.formulas import PathFormula
from dpcheck.model.program import Mechanism
from dpcheck.records import replace


def deciding_runs(
    subject: Subject,
    path: PathFormula,
    states: tuple[int, ...],
    of: RunKind,
    *,
    before: tuple[str, ...] = (),
    starts: tuple[int, ...] | None = None,
    epsilon: Budget | None = None,
) -> tuple[tuple[WeightedRun, ...], TracedRun | None]:
    """Return the heaviest runs from a state that satisfy a path formula, or are `outside` of it.

    Of two neighbors they carry most of the difference, and have both probabilities. Beside runs
    `outside` stand those that satisfy it. The most probable run, of two neighbors one that exceeds
    ε, is told row by row or line by line; that of a program begins at the inputs `starts`, which
    come to the states with some outputs.
    """
    weighted = told = _heavy(subject, path, states)
    if of == "outside":
        told = _heavy(subject, path, states, is_inside=False)
        weighted += told
    if not isinstance(subject.target, Mechanism):
        return weighted, subject.part("run", lambda: satisfying_run(subject, path, states, of))
    shown = decided(subject, told, states)
    whole = (replace(each, outputs=(*before, *each.outputs)) for each in shown)
    run = subject.part("run", lambda: first_traced(subject, whole, starts or states, epsilon))
    return weighted, None if run is None else replace(run, of=of)


def decided(
    subject: Subject, runs: Iterable[WeightedRun], states: Sequence[int]
) -> Iterator[OutputSequence]:
    """Yield the outputs of runs from states that have no other probability than these runs.

    Where a formula reads more than outputs, these do not decide it.
    """
    for run in runs:
        known = [*map(number_amount, chances(subject, run.shown, states))]
        if known == [run.probability, run.right][: len(known)]:
            yield run.shown


def _heavy(
    subject: Subject, path: PathFormula, states: tuple[int, ...], *, is_inside: bool = True
) -> tuple[WeightedRun, ...]:
    truths = subject.truths
    found = subject.part(
        "runs",
        lambda: heavy_runs(
            *(truths.chain, path, states),
            surely=truths.surely,
            possibly=truths.possibly,
            is_satisfying=is_inside,
        ),
    )
    return tuple(
        WeightedRun(shown, number_amount(p), is_inside, *map(number_amount, more))
        for shown, (p, *more) in found or ()
    )
