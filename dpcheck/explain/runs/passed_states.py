"""The most probable run of an explicit chain, as the states that it passes.

A step has the probability and the line of the row that it is drawn from. The other side passes
other states, so its own most probable run stands beside it, step by step if it has as many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from dpcheck.chain.chain import Chain
from dpcheck.check.values.amounts import number_amount
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import Number, divide, subtract
from dpcheck.explain.explanation import Line, RunKind, RunStep, TracedRun
from dpcheck.explain.runs.attribution import factor_amount, step_probability
from dpcheck.explain.runs.likeliest import likeliest
from dpcheck.explain.subject import Subject
from dpcheck.logic.formulas import PathFormula
from dpcheck.records import replace

Passed = tuple[int, int, Number]
"""A state, the one after it, and the probability of that step."""

Run = tuple[list[Passed], Number]
"""The steps of a run, and its probability."""


def passed_states(
    subject: Subject, shown: OutputSequence, states: Sequence[int], p: Number
) -> TracedRun | None:
    """Return the most probable run from the first state with outputs of probability p, or None.

    Beside it, that of the second state of a pair.
    """
    left, *more = (_run(subject, state, shown) for state in states)
    return None if left is None else _told(subject, left, more, p)


def _told(
    subject: Subject, left: Run, more: Sequence[Run | None], p: Number, of: RunKind = "output"
) -> TracedRun:
    """Return a run as the states that it passes, and that of the other side of a pair, if any."""
    (steps, probability), right = left, more[0] if more else None
    return TracedRun(
        number_amount(divide(probability, p)),
        _steps(subject, steps, [] if right is None else right[0]),
        elsewhere=() if right is None else _steps(subject, right[0]),
        of=of,
    )


def _run(subject: Subject, state: int, shown: OutputSequence) -> Run | None:
    """Return the steps of the most probable run that shows just these outputs."""
    chain, outputs = subject.chain.with_one_end or subject.chain, shown.outputs
    ends, text = shown.ending == "stopped", cache(chain.observation_text)

    def following(place: tuple[int, int]) -> Iterator[tuple[Passed, Number, tuple[int, int]]]:
        n_shown, before = place
        if _is_absorbing(chain, before):
            return
        for j in range(int(chain.indptr[before]), int(chain.indptr[before + 1])):
            after = int(chain.targets[j])
            code = int(chain.observation[after])
            if code < 0 or (n_shown < len(outputs) and outputs[n_shown] == text(code)):
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
    left, *more = (
        _formula_run(subject, path, state, is_satisfying=is_satisfying) for state in states
    )
    if left is None:
        return None
    (p,) = truths.probabilities(path, np.array(states[:1], np.int64))
    return _told(subject, left, more, p if is_satisfying else subtract(1, p), of)


def _formula_run(
    subject: Subject, path: PathFormula, state: int, *, is_satisfying: bool
) -> Run | None:
    """Return the steps of the most probable run from a state until the formula is settled so."""
    from dpcheck.check.formulas.heaviest_runs import PathRests
    from dpcheck.solve.formulas.progression import ALWAYS_FORMULA, NEVER_FORMULA

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


def _steps(
    subject: Subject, run: Sequence[Passed], right: Sequence[Passed] = ()
) -> tuple[RunStep, ...]:
    """Return the steps of a run, but for the end of one in a state without a row.

    Beside them stand those of the right's own run, if these are as many.
    """
    name, made = subject.chain.state_text, []
    beside: Sequence[Passed | None] = right if len(right) == len(run) else [None] * len(run)
    for (before, after, p), other in zip(run, beside, strict=True):
        span = subject.explored.origin(before)
        line = None if span is None else Line(span.source.name, span.line)
        step = RunStep(line, "passing", "", name(after), left=number_amount(p))
        if other is not None:
            _, there, q = other
            step = replace(step, right=number_amount(q), factor=factor_amount(p, q))
            step = step if there == after else replace(step, right_value=name(there))
        if after != subject.chain.stopped or p != 1:
            made.append(step)
    return tuple(made)
