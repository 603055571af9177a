"""What workers do for the commands, and how it goes on where a limit or a bug ended one of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dpcheck.check.values.verdicts import Phrase, Undecided
from dpcheck.cli.workers import Stopped, Tell, Work, supervised
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.limits import LimitReached, RunLimits
from dpcheck.pipeline.options import Options, Overviewed
from dpcheck.pipeline.stopped import after_crash, after_limit, run_stopped
from dpcheck.records import replace
from dpcheck.report.answers import Answer, Crash, Event, Reading

if TYPE_CHECKING:
    from dpcheck.report.overview import Overview

T = TypeVar("T")

Found: TypeAlias = "Event | Overview"
PmfEvent = str | Reading | Mistake | Crash | Undecided


def check_events(
    paths: Sequence[str], options: Options, tell: Tell
) -> Generator[Event, None, None]:
    """Return what is found in model files, as it is found."""
    if options.jobs > 1:
        from dpcheck.cli.jobs import jobs_events

        return jobs_events(paths, options, (_after, _is_short_of_memory), tell)

    def found(told: Sequence[Event]) -> Iterator[Event]:
        from dpcheck.pipeline.run import check_paths

        return check_paths(paths, options, told)

    return supervised(Work(found, _after, _is_short_of_memory), options.limits, tell)


def overviews(asked: Overviewed, tell: Tell) -> Generator[Found, None, None]:
    """Return what is found out about targets of a file: events, and an overview of each."""

    def found(told: Sequence[Found]) -> Iterator[Found]:
        from dpcheck.pipeline.overview import overview_events

        return overview_events(asked, told)

    return supervised(Work(found, _after, _is_short_of_memory), asked.options.limits, tell)


def pmf_events(
    path: str, target: str, constants: dict[str, str], form: str, limits: RunLimits, tell: Tell
) -> Generator[PmfEvent, None, None]:
    """Return a table of output distributions as text, or why there is none."""
    from dpcheck.front import ModelError, load
    from dpcheck.pipeline.overview import at_target, text_span

    def table(_told: object) -> Iterator[PmfEvent]:
        yield Reading(path)
        try:
            chosen = load(path, **constants).target(target)
            allowed = limits.of_a_claim()
            yield replace(chosen, max_states=allowed.max_states, timeout=allowed.timeout).pmf(form)
        except ModelError as wrong:
            place = text_span("TARGET", target)
            yield from (at_target(mistake, target, place) for mistake in wrong.mistakes)
        except LimitReached as reached:
            yield Undecided(reached.limit, Phrase.of(reached.progress))

    def stopped(_told: object, end: Stopped) -> tuple[Sequence[Crash | Undecided], bool]:
        found = Crash(path, end.said) if end.limit is None else Undecided(end.limit)
        return (found,), False

    return supervised(Work(table, stopped, lambda _event: False), limits, tell)


def unit_answer(unit: str) -> str:
    """Return the answers to a unit of work, JSON for JSON, found by workers with its limits."""
    from dpcheck.pipeline.units import limits_of, read_unit, unit_events
    from dpcheck.report.answers import summary_of
    from dpcheck.report.json_output import json_text

    found = read_unit(unit)
    limits = RunLimits() if isinstance(found, Mistake) else limits_of(found)
    work = Work[Event](lambda told: unit_events(unit, told), _after, _is_short_of_memory)
    return json_text(summary_of(supervised(work, limits, None)))


def _after(told: Sequence[Found], stopped: Stopped) -> tuple[Sequence[Event], bool]:
    """Return what a worker left undone, and whether there is something to go on with."""
    found: Sequence[Event]
    if stopped.limit is None:
        found = after_crash(told, stopped.said)
        return found or (Crash("the command line", stopped.said),), bool(found)
    found = after_limit(told, stopped.limit, stopped.seconds)
    return found or (run_stopped(stopped.limit),), bool(found)


def _is_short_of_memory(event: Found) -> bool:
    """Return whether a worker got no more memory: what is free now may be in small pieces."""
    verdict = event.outcome.verdict if isinstance(event, Answer) else None
    return isinstance(verdict, Undecided) and verdict.limit.kind == "memory"
