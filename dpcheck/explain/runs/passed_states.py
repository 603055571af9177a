"""The most probable run of an explicit chain, as the states that it passes.

A step has the probability and the line of the row that it is drawn from. The other side passes
other states, so its own most probable run stands beside it, step by step if it has as many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from dpcheck.chain.chain import Chain
from dpcheck.check.values.amounts import number_amount
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import Number, divide, subtract
from dpcheck.explain.explanation import Line, RunKind, RunStep, TracedRun
from dpcheck.explain.runs.attribution import factor_amount, step_probability
from dpcheck.explain.runs.likeliest import ways
from dpcheck.explain.subject import Subject
from dpcheck.logic.formulas import PathFormula
from dpcheck.records import replace

Passed = tuple[int, int, Number]
"""A state, the one after it, and the probability of that step."""

Place = tuple[int, int]
"""What is known of a run so far, and its state."""

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
) -> TracedRun | None:
    """Return a run as the states that it passes, and that of the other side of a pair, if any.

    None where it passes none after the first: that decides a formula alone.
    """
    (passed, probability), right = left, more[0] if more else None
    steps = _steps(subject, passed, [] if right is None else right[0])
    if not steps:
        return None
    return TracedRun(
        number_amount(divide(probability, p)),
        steps,
        elsewhere=() if right is None else _steps(subject, right[0]),
        of=of,
    )


def _likeliest(
    subject: Subject,
    chain: Chain,
    start: Place,
    after: Callable[[int, int, int], int | None],
    is_end: Callable[[Place], bool],
) -> Run | None:
    """Return the likeliest run from a place to an end.

    Beside a state stands a number: `after` gives the next one for two states, None for no way.
    """

    def following(place: Place) -> Iterator[tuple[Passed, Number]]:
        _, s = place
        for j in range(int(chain.indptr[s]), int(chain.indptr[s + 1])):
            p = step_probability(chain, s, j)
            yield (s, int(chain.targets[j]), p), p

    def led(place: Place, passed: Passed) -> Place | None:
        s, t, _ = passed
        then = after(place[0], s, t)
        return None if then is None else (then, t)

    found = next(ways(start, following, led, lambda place: place, is_end, subject.limits), None)
    return None if found is None else found[1:]


def _run(subject: Subject, state: int, shown: OutputSequence) -> Run | None:
    """Return the steps of the most probable run that shows just these outputs."""
    chain, outputs = subject.chain.with_one_end or subject.chain, shown.outputs
    ends, text = shown.ending == "stopped", cache(chain.observation_text)

    def after(n_shown: int, s: int, t: int) -> int | None:
        code = int(chain.observation[t])
        is_next = code < 0 or (n_shown < len(outputs) and outputs[n_shown] == text(code))
        return n_shown + (code >= 0) if is_next and not _is_absorbing(chain, s) else None

    def is_end(place: Place) -> bool:
        return place[0] == len(outputs) and (not ends or _is_absorbing(chain, place[1]))

    return _likeliest(subject, chain, (0, state), after, is_end)


def satisfying_run(
    subject: Subject, path: PathFormula, states: Sequence[int], of: RunKind
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
    from dpcheck.solve.formulas.independent_parts import ALWAYS_FORMULA, NEVER_FORMULA

    chain, satisfying = subject.truths.chain, subject.truths.everywhere
    rests = PathRests(chain, path, satisfying=satisfying, is_satisfying=is_satisfying)

    def after(rest: int, _: int, t: int) -> int | None:
        return None if rest == NEVER_FORMULA else rests.settled(rest, t)

    start = rests.settled(rests.start, state), state
    return _likeliest(subject, chain, start, after, lambda place: place[0] == ALWAYS_FORMULA)


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
        line = None if span is None else Line.of(span)
        step = RunStep(line, "passing", "", name(after), left=number_amount(p))
        if other is not None:
            _, there, q = other
            step = replace(step, right=number_amount(q), factor=factor_amount(p, q))
            step = step if there == after else replace(step, right_value=name(there))
        if after != subject.chain.stopped or p != 1:
            made.append(step)
    return tuple(made)
