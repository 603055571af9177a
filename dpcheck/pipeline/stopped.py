"""What there is to tell of work that was stopped from outside, so that it can go on behind it.

The work may have been stopped at any point, and what it told until then is all that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from dpcheck.check.values.verdicts import Coverage, Outcome, Undecided, Violated
from dpcheck.diagnostics.limits import ReadingStopped, RunStopped
from dpcheck.limits import Limit
from dpcheck.records import replace
from dpcheck.report import answers

T = TypeVar("T")


def after_limit(told: Sequence[object], limit: Limit, seconds: float) -> tuple[answers.Event, ...]:
    """Return what is undecided because of a limit, after the last piece of work had so long.

    That is a claim or the reading of a file; at the end of the time of the run also what is left of
    the file. Empty where no file was looked at: there is nothing to go on with.
    """
    last = told[-1] if told else None

    def undecided(asked: answers.Asked) -> answers.Answer:
        reached = answers.advised(limit, asked)
        outcome = Outcome(Undecided(reached), Coverage(0))
        if isinstance(last, answers.Known) and last.asked == asked:
            outcome = answers.ended_by(reached, last.outcome)
        return asked.answered(outcome, None, seconds)

    stopped = ReadingStopped
    return _after(
        told,
        undecided,
        lambda file: stopped(None, file, limit.text, answers.OPTIONS[limit.kind]),
        is_all=limit.kind == "run time",
    )


def after_crash(told: Sequence[object], said: str) -> tuple[answers.Event, ...]:
    """Return where a bug ended the work, with what was said; empty as for a limit."""

    def crash(asked: answers.Asked) -> answers.Crash:
        return answers.Crash(f"{asked.file}:{asked.line}", said)

    found = _after(told, crash, lambda file: answers.Crash(file, said), is_all=False)
    last = told[-1] if told else None
    return (*found, crash(last.answer)) if isinstance(last, answers.Decided) else found


def _after(
    told: Sequence[object],
    of_claim: Callable[[answers.Asked], answers.Event],
    of_file: Callable[[str], answers.Event],
    *,
    is_all: bool,
) -> tuple[answers.Event, ...]:
    """Return the end of the claim, or of the file, that was worked on; `is_all`, of all its claims.

    A claim that was decided keeps its verdict: what is lost is why, or its evidence. A file that
    was read before and cannot be read again has no more answers either.
    """
    recent = [each for each in since_last_file(told) if not isinstance(each, answers.Known)]
    reading = next((event for event in recent if isinstance(event, answers.Reading)), None)
    if reading is None:
        return ()
    read = next((event for event in recent if isinstance(event, answers.FileRead)), None)
    last = recent[-1]
    known = (_unexplained(last.answer),) if isinstance(last, answers.Decided) else ()
    if isinstance(last, answers.Started) and not (is_all and read):
        return (of_claim(last.asked),)
    if known and not is_all:
        return known
    if read is None:
        return of_file(reading.file), answers.FileDone(reading.file)
    n_started = sum(isinstance(event, answers.Started) for event in recent)
    rest = read.own[n_started - isinstance(last, answers.Started) :]
    if is_all or not rest or isinstance(last, answers.Reading):
        return *known, *map(of_claim, rest), answers.FileDone(read.file)
    return answers.Started(rest[0]), of_claim(rest[0])


def _unexplained(answer: answers.Answer) -> answers.Answer:
    """Return an answer whose explanation was stopped."""
    verdict = answer.outcome.verdict
    if answer.is_as_claimed or not isinstance(verdict, Violated):
        return answer
    from dpcheck.explain.explanation import as_found

    found = replace(as_found(verdict.counterexample), omitted=("explanation",))
    return replace(answer, explanation=found)


def since_last_file(told: Sequence[T]) -> Sequence[T]:
    """Return the events after the last file that was done."""
    done = [k for k, event in enumerate(told) if isinstance(event, answers.FileDone)]
    return told[done[-1] + 1 :] if done else told


def run_stopped(limit: Limit) -> RunStopped:
    """Return that a limit was reached before all files were found."""
    return RunStopped(None, limit.text, answers.OPTIONS[limit.kind], None, None)
