"""The most probable run of an explicit chain with the outputs shown: the states that it passes.

A step has the probability and the line of the row that it is drawn from. The other side passes
other states, so its own most probable run stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dpcheck.chain.chain import Chain
from dpcheck.check.values.amounts import number_amount
from dpcheck.check.values.event_text import DIVERGED, GOES_ON
from dpcheck.exact import Number, divide, subtract
from dpcheck.explain.explanation import Line, RunKind, RunStep, TracedRun
from dpcheck.explain.pairs import ShownPair
from dpcheck.explain.runs.attribution import chance, step_probability
from dpcheck.explain.runs.likeliest import likeliest
from dpcheck.explain.subject import Subject
from dpcheck.logic.formulas import PathFormula

Passed = tuple[int, int, Number]
"""A state, the one after it, and the probability of that step."""


def passed_states(shown: ShownPair, subject: Subject) -> TracedRun | None:
    """Return the most probable run from the left with the event's first sequence, or None."""
    table = shown.found.evidence.rows.table
    sequence = shown.event.sequences[0]
    end = int(table.end[sequence])
    if end == DIVERGED:
        return None
    outputs = table.outputs(sequence)
    left, right = (
        _run(subject, state, outputs, ends=end != GOES_ON) for state in (shown.left, shown.right)
    )
    if left is None:
        return None
    p = chance(shown.seen.chain, shown.sources[0], shown.sequences[0])
    return TracedRun(
        number_amount(divide(left[1], p)),
        _steps(subject, left[0]),
        elsewhere=() if right is None else _steps(subject, right[0]),
    )


def _run(
    subject: Subject, state: int, outputs: Sequence[int], *, ends: bool
) -> tuple[list[Passed], Number] | None:
    """Return the steps of the most probable run that shows just these outputs, by their codes."""
    chain = subject.chain.with_one_end or subject.chain

    def following(place: tuple[int, int]) -> Iterator[tuple[Passed, Number, tuple[int, int]]]:
        n_shown, before = place
        if _is_absorbing(chain, before):
            return
        for j in range(int(chain.indptr[before]), int(chain.indptr[before + 1])):
            after = int(chain.targets[j])
            code = int(chain.observation[after])
            if code < 0 or (n_shown < len(outputs) and outputs[n_shown] == code):
                p = step_probability(chain, before, j)
                yield (before, after, p), p, (n_shown + (code >= 0), after)

    return likeliest(
        (0, state),
        following,
        lambda place: place,
        lambda place: place[0] == len(outputs) and (not ends or _is_absorbing(chain, place[1])),
        subject.limits,
    )


def satisfying_run(
    subject: Subject,
    path: PathFormula,
    states: Sequence[int],
    of: RunKind,
) -> TracedRun | None:
    """Return the most probable run from the first state that satisfies a formula, or does not.

    Beside it, that of the second state of a pair.
    """
    truths, is_satisfying = subject.truths, of != "outside"
    found = [_formula_run(subject, path, state, is_satisfying=is_satisfying) for state in states]
    if found[0] is None:
        return None
    steps, probability = found[0]
    (p,) = truths.probabilities(path, np.array(states[:1], np.int64))
    elsewhere = found[1] if len(found) > 1 else None
    return TracedRun(
        number_amount(divide(probability, p if is_satisfying else subtract(1, p))),
        _steps(subject, steps),
        elsewhere=() if elsewhere is None else _steps(subject, elsewhere[0]),
        of=of,
    )


def _formula_run(
    subject: Subject, path: PathFormula, state: int, *, is_satisfying: bool
) -> tuple[list[Passed], Number] | None:
    """Return the steps of the most probable run from a state until the formula is settled so."""
    from dpcheck.check.formulas.heaviest_runs import PathRests
    from dpcheck.solve.formulas.independent_parts import ALWAYS_FORMULA, NEVER_FORMULA

    chain = subject.truths.chain
    satisfying = subject.truths.everywhere
    rests = PathRests(chain, path, satisfying=satisfying, is_satisfying=is_satisfying)

    def following(place: tuple[int, int]) -> Iterator[tuple[Passed, Number, tuple[int, int]]]:
        before, rest = place
        if rest == NEVER_FORMULA:
            return
        for j in range(int(chain.indptr[before]), int(chain.indptr[before + 1])):
            after, p = int(chain.targets[j]), step_probability(chain, before, j)
            yield (before, after, p), p, (after, rests.settled(rest, after))

    return likeliest(
        (state, rests.settled(rests.start, state)),
        following,
        lambda place: place,
        lambda place: place[1] == ALWAYS_FORMULA,
        subject.limits,
    )


def _is_absorbing(chain: Chain, state: int) -> bool:
    """Return whether a run ends in a state."""
    low, high = int(chain.indptr[state]), int(chain.indptr[state + 1])
    return high - low == 1 and int(chain.targets[low]) == state


def _steps(subject: Subject, run: Sequence[Passed]) -> tuple[RunStep, ...]:
    """Return the steps of a run, but for the end of one in a state without a row."""
    made = []
    for before, after, probability in run:
        span = subject.explored.origin(before)
        line = None if span is None else Line(span.source.name, span.line)
        if after != subject.chain.stopped or probability != 1:
            name = subject.chain.state_text(after)
            made.append(RunStep(line, "passing", "", name, left=number_amount(probability)))
    return tuple(made)
