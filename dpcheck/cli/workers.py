"""Work in a process of its own, which is ended at a limit whatever it does.

Python hears nothing while one long call into C goes on, and the kernel ends a process that takes
too much memory. So the work is done in a child, a *worker*, that tells what it finds through a
pipe; the parent waits, and draws. A worker can look at the clock itself. If it does not answer for
a while after a limit, it is killed, what it was at is undecided, and a fresh one goes on. Memory is
bounded by the operating system: a worker that asks for too much is refused, which Python reports,
and C libraries die of.

The parent has not imported what decides when it forks: a page that both have is copied when one of
them writes into it, be it a count of references, and that took a tenth of a short check. A worker
imports what it needs, then says that it is ready; until then no limit of time is held against it.

Without `os.fork` (Windows) the work is done here: then limits hold where the work looks at them.
"""

from __future__ import annotations

import gc
import io
import os
import pickle
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from math import inf
from typing import Any, Generic, NoReturn, TypeVar

from dpcheck.check.values.verdicts import Value
from dpcheck.cli.memory import data_size, keep_memory, limit_memory
from dpcheck.cli.signals import interrupt_work
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.limits import Limit, LimitReached, RunLimits, with_deep_stack
from dpcheck.records import dataclass, replace
from dpcheck.report.answers import Known
from dpcheck.report.characters import visible
from dpcheck.report.live import Begun, work_text
from dpcheck.report.told import ToldMistake, told
from dpcheck.source import SourceText

T = TypeVar("T")

GRACE = 1.0
"""So long after a limit a worker is killed, [s]; before, it may say itself how far it got."""

LAST_WORDS = 0.5
"""So long a worker has that begins when the time of the run is over, [s]: to say what is left."""

FIRST_WAIT = 10.0
"""After so much silence, and whenever it has doubled, people are told what is going on, [s]."""

_FAILED, _OUT_OF_MEMORY = 1, 2
_LENGTH = 8  # bytes in front of every message


Tell = Callable[[str], None] | None
"""Takes a line now and then where one thing takes long."""


@dataclass(frozen=True)
class Stopped:
    """A worker came to its end before its work: by a limit, or by a bug, with what it said.

    The last piece of its work had so many seconds.
    """

    limit: Limit | None
    seconds: float = 0.0
    said: str = ""


@dataclass(frozen=True)
class Work(Generic[T]):
    """Work that can be taken up where it was stopped.

    events: imports what the work needs, and returns what is found, after what was told before;
    stopped: returns what there is to tell of an end by a limit or bug, and whether to go on;
    is_last: whether a worker that told this is of no more use.
    """

    events: Callable[[Sequence[T]], Iterator[T]]
    stopped: Callable[[Sequence[T], Stopped], tuple[Sequence[T], bool]]
    is_last: Callable[[T], bool]


@dataclass(frozen=True)
class Over:
    """A piece of work has nothing more to tell."""


OVER = Over()


def supervised(work: Work[T], limits: RunLimits, tell: Tell) -> Generator[T, None, None]:
    """Yield what the work finds; it is done by workers, one after the other."""
    found = in_order([work], 1, limits, tell)
    with closing(found):
        for _, event in found:
            if not isinstance(event, Over):
                yield event


def in_order(
    works: Sequence[Work[T]], jobs: int, limits: RunLimits, tell: Tell
) -> Generator[tuple[int, T | Over], None, None]:
    """Yield what pieces of work find, one piece after the other, and where one is over.

    Where nothing is found for a while, `tell` what goes on.
    """
    held: defaultdict[int, list[T | Over]] = defaultdict(list)
    current, at = 0, "looking for files"

    def waiting(number: int, seconds: float) -> None:
        if tell is not None and number == current:
            tell(f"after {seconds:g} s still {visible(at)}")

    found = pooled(works, jobs, limits, waiting)
    with closing(found):
        for number, event in found:
            held[number].append(event)
            while held[current]:
                first = held[current].pop(0)
                if isinstance(first, Begun):
                    at = work_text(first)
                yield current, first
                current += isinstance(first, Over)


def pooled(
    works: Sequence[Work[T]], jobs: int, limits: RunLimits, waiting: Callable[[int, float], None]
) -> Generator[tuple[int, T | Over], None, None]:
    """Yield what several pieces of work find, so many at a time, and where one is over.

    Each comes with the number of its piece. They begin in their order, none after the end of the
    time of the run but the first. `waiting` hears which one told nothing for how long, [s].
    """
    interrupt_work()
    if not hasattr(os, "fork"):
        for number, work in enumerate(works):
            yield from ((number, event) for event in work.events(()))
            yield number, OVER
        return
    begun = 0
    active: dict[int, _Watched[T]] = {}
    try:
        while True:
            is_late = limits.deadline is not None and time.monotonic() > limits.deadline
            while begun < len(works) and len(active) < jobs and not (is_late and begun):
                active[begun] = _Watched(works[begun], limits, partial(waiting, begun))
                begun += 1
            if not active:
                return
            patience = min(each.patience for each in active.values()) - time.monotonic()
            waited = None if patience == inf else max(0.0, patience)
            ready = select.select([each.worker.told for each in active.values()], [], [], waited)[0]
            for number, watched in list(active.items()):
                yield from (
                    (number, event) for event in watched.heard_now(watched.worker.told in ready)
                )
                if watched.is_over:
                    del active[number]
                    yield number, OVER
    finally:
        for watched in active.values():
            watched.worker.end()


def spread(pieces: Sequence[Callable[[], T]], jobs: int, max_memory: int | None) -> Iterator[T]:
    """Yield what pieces of work return, in their order; so many processes have `max_memory` each.

    A worker calls this for what takes it long, and its own memory counts. What came to no end in a
    process of its own for another reason than memory is done here: a bug shows itself where it is
    looked for. Raises `LimitReached` where memory did not suffice.
    """
    share = max_memory and max(1, max_memory - data_size() // jobs)
    works = [Work(partial(_returned, piece), _given_up, lambda _: False) for piece in pieces]
    held: dict[int, T | Stopped] = {}
    current = 0
    found = pooled(works, jobs, RunLimits(max_memory=share), lambda _, __: None)
    with closing(found):
        for number, event in found:
            if not isinstance(event, Over):
                held[number] = event
            while current in held:
                result = held.pop(current)
                if isinstance(result, Stopped):
                    if result.limit is not None:
                        raise LimitReached(Limit("memory", jobs * (max_memory or 0)))
                    result = pieces[current]()
                yield result
                current += 1


def _returned(piece: Callable[[], T], _told: object) -> Iterator[T | Stopped]:
    yield piece()


def _given_up(_told: object, stopped: Stopped) -> tuple[Sequence[Stopped], bool]:
    return (stopped,), False


class _Watched(Generic[T]):
    """Work in progress: its worker, what it told, and until when there is patience with it."""

    def __init__(self, work: Work[T], limits: RunLimits, waiting: Callable[[float], None]) -> None:
        """Begin the work."""
        self.is_over = False
        self._work, self._limits, self._waiting = work, limits, waiting
        self._heard: list[T] = []
        self._begin()

    def _begin(self) -> None:
        """Begin, or go on after what was heard, with a fresh worker."""
        self.worker = _Worker(self._work, self._heard, self._limits)
        self._last, self._wait, self._ready = time.monotonic(), FIRST_WAIT, inf

    @property
    def _late(self) -> float:
        timeout = self._limits.timeout
        return inf if timeout is None or self._ready == inf else self._last + timeout + GRACE

    @property
    def _end(self) -> float:
        deadline = self._limits.deadline
        return inf if deadline is None else max(deadline + GRACE, self._ready + LAST_WORDS)

    @property
    def patience(self) -> float:
        """When to look at it again although it tells nothing, as `time.monotonic()`."""
        return min(self._end, self._late, self._last + self._wait)

    def heard_now(self, has_told: bool) -> Iterator[T]:
        """Yield what the worker told, or what there is to tell of its end."""
        found = self.worker.messages() if has_told else []
        for event in found:
            if isinstance(event, _Ready):
                self._ready = time.monotonic()
                continue
            if isinstance(event, Over):
                self.worker.end()
                self.is_over = True
                return
            if isinstance(event, Stopped):
                self.worker.end()
                yield from self._stopped(replace(event, seconds=time.monotonic() - self._last))
                return
            self._heard.append(event)
            yield event
            if self._work.is_last(event):
                self.worker.end()
                self._begin()
                return
        now = time.monotonic()
        if now >= self._end:
            limit = Limit("run time", self._limits.total_timeout or 0)
        elif any(not isinstance(event, Known) for event in found):
            self._last, self._wait = now, FIRST_WAIT
            return
        elif now >= self._late:
            limit = Limit("time", self._limits.timeout or 0)
        else:
            if now >= self._last + self._wait:
                self._waiting(self._wait)
                self._wait *= 2
            return
        self.worker.end()
        yield from self._stopped(Stopped(limit, now - self._last))

    def _stopped(self, stopped: Stopped) -> Iterator[T]:
        """Yield what there is to tell of an end by a limit or bug, and go on if there is a rest."""
        rest, goes_on = self._work.stopped(self._heard, stopped)
        self._heard.extend(rest)
        yield from rest
        if goes_on:
            self._begin()
        else:
            self.is_over = True


@dataclass(frozen=True)
class _Ready:
    """The worker has imported what it needs, and begins."""


class _Worker(Generic[T]):
    """A child process at work, seen from its parent."""

    def __init__(self, work: Work[T], heard: Sequence[T], limits: RunLimits) -> None:
        """Fork a worker that goes on after what was heard."""
        self._limits = limits
        self.told, telling = os.pipe()
        self._errors, complaining = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _work(work, heard, limits, (telling, complaining, parent))
        os.close(telling)
        os.close(complaining)
        os.set_blocking(self._errors, False)
        self._buffer = bytearray()
        self._is_closed = False
        self._sources: list[SourceText] = []

    def messages(self) -> list[T | _Ready | Over | Stopped]:
        """Return what the worker told; waits for more where that is not a whole message."""
        received = os.read(self.told, 1 << 20)
        if not received:
            return [self._how_it_ended()]
        self._buffer += received
        return list(self._unpacked())

    def _unpacked(self) -> Iterator[T | _Ready | Over]:
        """Yield the messages that are complete."""
        start = 0
        while len(self._buffer) >= start + _LENGTH:
            begin = start + _LENGTH
            length = int.from_bytes(self._buffer[start:begin], "big")
            if len(self._buffer) < begin + length:
                break
            yield _Unpickler(bytes(self._buffer[begin : begin + length]), self._sources).load()
            start = begin + length
        del self._buffer[:start]

    def _how_it_ended(self) -> Stopped:
        """Return why a worker died that did not come to the end of its work."""
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        said = ""
        with suppress(OSError):  # it said nothing
            said = os.read(self._errors, 1 << 16).decode("utf-8", "replace")
        code = os.waitstatus_to_exitcode(status)
        # GMP and flint abort where they get no memory, and the kernel kills who takes it all.
        no_memory = code == -signal.SIGABRT and "alloc" in said
        if code in (_OUT_OF_MEMORY, -signal.SIGKILL) or no_memory:
            return Stopped(Limit("memory", self._limits.max_memory or 0))
        ended = f"ended by {signal.Signals(-code).name}" if code < 0 else "ended early"
        return Stopped(None, said=f"{said}a worker {ended}\n")

    def end(self) -> None:
        """End the worker, whatever it is doing; once is enough."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self.told)
        os.close(self._errors)


# --- in the worker -------------------------------------------------------------------------


_NOT_EVEN_AN_ERROR = "error return without exception set"
"""What Python says, as a `SystemError`, where the last bytes are taken and an error finds none."""


def _work(
    work: Work[T], heard: Sequence[T], limits: RunLimits, ends: tuple[int, int, int]
) -> NoReturn:
    """Do the work and end the process; the ends are two pipes, and the parent's number."""
    telling, complaining, parent = ends
    status = _FAILED
    try:
        _settle(complaining, parent)
        events = work.events(heard)  # what it imports goes into the memory of the main thread
        with_deep_stack(lambda: _tell_all(events, limits.max_memory, telling))
        status = 0
    except MemoryError:
        status = _OUT_OF_MEMORY
    except BaseException as error:  # noqa: BLE001 - it must not go on as a second parent
        if limits.max_memory is not None and str(error) == _NOT_EVEN_AN_ERROR:
            status = _OUT_OF_MEMORY
        else:
            import traceback

            os.write(complaining, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _tell_all(events: Iterator[T], max_memory: int | None, telling: int) -> None:
    """Write every event to the parent, and that there are no more.

    Memory is limited from here on: what the stack and imports take is not the work's.
    """
    _tell(telling, _Ready(), {})
    if max_memory is not None:
        limit_memory(max_memory)
    sources: dict[SourceText, int] = {}
    for event in events:
        _tell(telling, event, sources)
    _tell(telling, OVER, sources)


def _settle(complaining: int, parent: int) -> None:
    """Let the process be a worker: leave signals to the parent, and end with it.

    What C libraries say on standard error goes to the parent, who reads it if the worker dies.
    """
    keep_memory()
    gc.freeze()  # what is there stays, and is not looked at: pages stay shared with the parent
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.set_blocking(complaining, False)
    os.dup2(complaining, 2)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(_FAILED)  # it was ended before it could be asked for


_PR_SET_PDEATHSIG = 1
"""Linux's number of the request to be killed with the parent (prctl(2))."""


def _tell(telling: int, event: object, sources: dict[SourceText, int]) -> None:
    """Write a message to the parent."""
    stream = io.BytesIO()
    _Pickler(stream, sources).dump(event)
    content = stream.getbuffer()
    for part in (len(content).to_bytes(_LENGTH, "big"), content):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(telling, rest) :]


# --- messages ------------------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Writes a text of the user's in full where it comes up first, and as a number after that."""

    def __init__(self, stream: io.BytesIO, sources: dict[SourceText, int]) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self._sources = sources

    def persistent_id(self, value: object) -> object:
        """Return what stands for a text, None for all else."""
        if type(value) is not SourceText:  # one that is made of a table is told in full each time
            return None
        if value in self._sources:
            return self._sources[value]
        self._sources[value] = len(self._sources)
        return value.name, value.text

    def reducer_override(self, value: object) -> Any:  # noqa: ANN401
        """Return values without their numbers, and mistakes, as they are told: as texts."""
        if isinstance(value, Value):
            return Value, (value.amount, None, value.table)
        if isinstance(value, Mistake) and not isinstance(value, ToldMistake):
            return told(value).__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    """Reads what the pickler of the same worker wrote."""

    def __init__(self, message: bytes, sources: list[SourceText]) -> None:
        super().__init__(io.BytesIO(message))
        self._sources = sources

    def persistent_load(self, told: object) -> SourceText:
        """Return the text that is told, or known by its number."""
        if isinstance(told, int):
            return self._sources[told]
        assert isinstance(told, tuple), "a text is told by its name and content"
        self._sources.append(SourceText(*told))
        return self._sources[-1]
