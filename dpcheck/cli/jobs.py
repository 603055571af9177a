"""Checking on several processes, with what one would tell in the same order.

Work is done in pieces: a file, or where files are few a part of its claims. What the first piece
that is not over tells is told at once, what later ones tell waits for its turn. Where pieces are
fewer than processes, what is long in one claim is spread over those that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from dpcheck.cli.workers import Over, Stopped, Tell, Work, in_order, spread, supervised
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.limits import Limit
from dpcheck.pipeline import run
from dpcheck.pipeline.options import WHOLE, Options, Part
from dpcheck.pipeline.sources.files import ModelPath, model_paths
from dpcheck.pipeline.stopped import after_limit
from dpcheck.records import dataclass, replace
from dpcheck.report.answers import Event, FileDone, FileRead, Reading

PIECES_A_JOB = 4
"""Files are taken apart until there are so many pieces for every process: they differ in length."""

Ends = tuple[
    Callable[[Sequence[Event], Stopped], tuple[Sequence[Event], bool]], Callable[[Event], bool]
]
"""What there is to tell of a worker that was stopped, and which events are a worker's last."""


def jobs_events(
    arguments: Sequence[str], options: Options, ends: Ends, tell: Tell
) -> Generator[Event, None, None]:
    """Yield what `check_paths` does, found by several processes, which share the memory."""
    share = options.limits.max_memory and options.limits.max_memory // options.jobs
    options = replace(options, limits=replace(options.limits, max_memory=share))
    paths, mistakes = model_paths(arguments, reads_input=options.standard_input is not None)
    yield from mistakes
    wrong = [*_wrong_definitions(paths, options, ends, tell)]
    yield from wrong
    if wrong:
        return
    n_parts = -(-PIECES_A_JOB * options.jobs // len(paths)) if paths else 0
    for_each = replace(options, jobs=options.jobs // max(1, len(paths)), spread=spread)
    pieces = [_Piece(path, Part(k, n_parts), for_each) for path in paths for k in range(n_parts)]
    read: dict[str, FileRead] = {}
    is_sound, n_over = not mistakes, 0
    works = [Work[Event](piece.events, *ends) for piece in pieces]
    for number, event in in_order(works, options.jobs, options.limits, tell):
        if isinstance(event, Over):
            n_over = number + 1
        for shown in pieces[number].shown(event, read):
            is_sound &= not run.is_error(shown)
            yield shown
    late = pieces[n_over:]
    for piece in late:
        yield from piece.late(read)
    not_begun = [piece.path.shown for piece in late if piece.path.shown not in read]
    if not_begun:
        yield run.not_read(list(dict.fromkeys(not_begun)), options)
    elif not late:
        known = paths, list(read.values()), run.Models.of(options)[0]
        work = Work[Event](lambda _: run.closing_events(*known, is_sound=is_sound), *ends)
        yield from supervised(work, options.limits, tell)


@dataclass(eq=False)
class _Piece:
    """A part of a file, checked by one worker after the other; what it told that is not shown."""

    path: ModelPath
    part: Part
    options: Options
    _before: tuple[Event, ...] = ()
    _is_read: bool = False

    def events(self, told: Sequence[Event]) -> Iterator[Event]:
        """Yield what is found after what was told before."""
        if told and isinstance(told[-1], FileDone):
            return
        models, _ = run.Models.of(self.options)
        part = WHOLE if self.part.of == 1 else self.part
        yield from run.known_events(self.path, models, told, part)

    def shown(self, event: Event | Over, read: dict[str, FileRead]) -> Iterator[Event]:
        """Yield what is to be shown of what it told: a file begins and ends once.

        What the first part found while it read the file, the others find again. A part that could
        not read what another could has that to tell.
        """
        is_first = self.part.number == 0
        match event:
            case Over():
                yield from () if is_first or self._is_read else self._before
            case FileRead():
                self._is_read = True
                if is_first:
                    read[event.file] = whole = replace(event, first=0, last=None)
                    yield whole
            case FileDone():
                if self.part.is_last:
                    yield event
            case _ if is_first or self._is_read:
                yield event
            case _:
                self._before += (event,)

    def late(self, read: dict[str, FileRead]) -> Iterator[Event]:
        """Yield that its claims are undecided, if the file was read before the time was over."""
        known = read.get(self.path.shown)
        if known is None:
            return
        first, last = self.part.bounds([asked.target for asked in known.asked])
        told = Reading(known.file), replace(known, first=first, last=last)
        limit = Limit("run time", self.options.limits.total_timeout or 0)
        for event in after_limit(told, limit, 0.0):
            if self.part.is_last or not isinstance(event, FileDone):
                yield event


def _wrong_definitions(
    paths: Sequence[ModelPath], options: Options, ends: Ends, tell: Tell
) -> Iterator[Mistake]:
    """Yield what is wrong with the constants of the call, for which all files are read."""

    def events(told: Sequence[Event]) -> Iterator[Event]:
        if any(isinstance(event, FileDone) for event in told):
            return  # a file was given up: its own piece says so
        models, mistakes = run.Models.of(options)
        mistakes += yield from models.undeclared(paths)
        yield from mistakes

    if options.definitions:
        for event in supervised(Work[Event](events, *ends), options.limits, tell):
            if isinstance(event, Mistake) and event.severity == "error":
                yield event
