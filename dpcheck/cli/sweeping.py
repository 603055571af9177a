"""Sweeps: what is asked is planned, answered somewhere, kept as it comes, and written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from dpcheck import __version__
from dpcheck.cli.checking import complain, say, show
from dpcheck.cli.memory import available_memory
from dpcheck.cli.places import Place, Unreachable, answers
from dpcheck.cli.signals import interrupt_work, status
from dpcheck.diagnostics.commands import UnknownKindOfOutput
from dpcheck.diagnostics.files import AlreadyExists, CannotWrite
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.pipeline.sources.files import os_reason
from dpcheck.pipeline.sources.library import written_over_own
from dpcheck.pipeline.sweep import Asked, Plan, planned
from dpcheck.records import dataclass, replace
from dpcheck.report.sweeps.found import (
    Sweep,
    SweepRow,
    exit_status,
    is_decided,
    sweep_csv,
    sweep_html,
    sweep_json,
    sweep_lines,
)

WRITERS: Final = {".csv": sweep_csv, ".json": sweep_json, ".html": sweep_html}
"""What the end of a file's name says is written into it."""


def sweep(asked: Asked, output: str | None, place: Place) -> int:
    """Answer a sweep; write its table, and the file that is asked for. Return the exit status."""
    if output is not None and Path(output).suffix not in WRITERS:
        return _refused(UnknownKindOfOutput(None, output))
    n_bytes = asked.limits.max_memory
    free = available_memory()
    if place.on is None and n_bytes is not None and free is not None:
        n_bytes = min(n_bytes, free // place.jobs)
    plan, mistakes = planned(replace(asked, limits=replace(asked.limits, max_memory=n_bytes)))
    complain(mistakes)
    if plan is None:
        return 2
    kept = None if output is None else _Kept.of(f"{output}.units")
    if isinstance(kept, Mistake):
        return _refused(kept)
    known = {} if kept is None else kept.results
    rows = [SweepRow(unit.values, unit.content, known.get(unit.content)) for unit in plan.units]
    if (refused := _written(plan, rows, output)) is not None:
        return _refused(refused)
    try:
        is_complete = _answered(plan, rows, kept, place)
    except Unreachable as reason:
        return _refused(reason.mistake)
    show(sweep_lines(_sweep(plan, rows)))
    if (refused := _written(plan, rows, output)) is not None:
        return _refused(refused)
    if not is_complete:
        say("interrupted; the answers above are complete as far as they go")
        return status()
    return exit_status(_sweep(plan, rows))


def _sweep(plan: Plan, rows: Sequence[SweepRow]) -> Sweep:
    return Sweep(plan.target, plan.names, plan.questions, tuple(rows))


def _written(plan: Plan, rows: Sequence[SweepRow], output: str | None) -> Mistake | None:
    """Write the file that was asked for, or return why not."""
    if output is None:
        return None
    write = WRITERS[Path(output).suffix]
    return written_over_own(output, write(_sweep(plan, rows), __version__))


def _refused(mistake: Mistake) -> int:
    complain([mistake])
    return 2


def _answered(plan: Plan, rows: list[SweepRow], kept: _Kept | None, place: Place) -> bool:
    """Fill in the rows that have no result; return whether all of them were answered."""
    left = [i for i, row in enumerate(rows) if row.result is None]
    texts = [plan.units[i].text for i in left]
    interrupt_work()
    try:
        with _progress(len(rows), len(left)) as advance, closing(answers(texts, place)) as found:
            for k, text, failure in found:
                rows[left[k]] = _filled(rows[left[k]], text, failure, kept)
                advance()
    except KeyboardInterrupt:
        return False
    return True


def _filled(row: SweepRow, text: str | None, failure: str, kept: _Kept | None) -> SweepRow:
    """Return a row with what its unit was answered; keep it if there is nothing to add."""
    if text is None:
        return replace(row, failure=failure)
    result = json.loads(text)
    if result["dpcheck"] != __version__:
        reason = f"it was answered by dpcheck {result['dpcheck']}, and this is {__version__}"
        return replace(row, failure=reason)
    if kept is not None and is_decided(result):
        kept.add(row.content, result)
    return replace(row, result=result)


@contextmanager
def _progress(n_units: int, n_left: int) -> Iterator[Callable[[], None]]:
    """Show how many units are answered, and the time that is left, to a person who is looking."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(compact=True)
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=n_units, completed=n_units - n_left)
        yield lambda: bar.advance(task)


# --- what is kept --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kept:
    """Results in a file, a line each, by the hash of their units: an interrupted sweep goes on."""

    path: Path
    results: dict[str, Any]

    @staticmethod
    def of(path: str) -> _Kept | Mistake:
        """Return what a file keeps, nothing if there is none yet; or why it cannot be used."""
        results: dict[str, Any] = {}
        try:
            Path(path).touch()
            lines = Path(path).read_bytes().splitlines(keepends=True)
        except (OSError, ValueError) as error:
            return CannotWrite(None, path, os_reason(error))
        for line in lines:
            try:
                found = json.loads(line)
                results[found["unit"]] = found["result"]
            except (ValueError, KeyError, TypeError):
                if line.endswith(b"\n"):
                    return AlreadyExists(None, path)
        if lines and not lines[-1].endswith(b"\n"):  # it was cut short
            Path(path).write_bytes(b"".join(lines[:-1]))
        return _Kept(Path(path), results)

    def add(self, content: str, result: Any) -> None:  # noqa: ANN401
        """Keep a result, at once."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"unit": content, "result": result}) + "\n")
