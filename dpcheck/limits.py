"""Limits on a run and on one claim's work, and the exception that says one was reached.

A limit is never a mistake and never an answer: whoever catches `LimitReached` reports `undecided`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Final, Literal, TypeVar, assert_never

from dpcheck.records import dataclass

T = TypeVar("T")

Tick = Callable[[str], None]
"""Takes a progress report now and then, and may raise to stop the work: `Limits.check_time`."""

MAX_STATES = 10_000_000
"""Bounds the states of a claim where a call says nothing else."""
TIMEOUT = 600.0
"""What the command line allows a claim, [s]: a gate that waits longer waits for nothing."""

Kind = Literal["states", "time", "run time", "memory", "size"]
"""Which limit: all but `size`, which belongs to a method, are for the caller to choose."""


HOPELESS: Final = 10**9
"""So many states take more memory than machines have: each is a hundred bytes or more."""

SHRINK: Final = "shrink the sets: a few values show what more of them do"


@dataclass(frozen=True)
class Limit:
    """A limit that stopped the work, and what can be done about one that nobody can raise.

    `allowed` counts `unit` for states, seconds for times, and bytes for memory (0 where only the
    machine knows); for a size, `unit` is a sentence, and says everything.

    >>> Limit("states", 10, "states").text, Limit("memory", 3 << 29).text
    ('more than 10 states', 'more than 1.5 GB of memory was needed')
    """

    kind: Kind
    allowed: float = 0
    unit: str = ""
    advice: str = ""

    @property
    def text(self) -> str:
        """Which limit was reached, as a sentence."""
        match self.kind:
            case "states":
                return f"more than {self.allowed} {self.unit}"
            case "time":
                return f"the time limit of {self.allowed:g} s passed"
            case "run time":
                return f"the time limit of {self.allowed:g} s for the whole run passed"
            case "memory":
                if not self.allowed:
                    return "the memory of this machine is used up"
                return f"more than {memory_text(self.allowed)} of memory was needed"
            case "size":
                return self.unit
            case _:
                assert_never(self.kind)


def memory_text(n_bytes: float) -> str:
    """Return an amount of memory for people.

    >>> memory_text(1 << 30), memory_text(500 << 20)
    ('1 GB', '500 MB')
    """
    if n_bytes >= 1 << 30:
        return f"{n_bytes / (1 << 30):.3g} GB"
    return f"{n_bytes / (1 << 20):.3g} MB"


class LimitReached(Exception):
    """A limit stopped the work: which, and `progress`, how far the work got, if that is known."""

    def __init__(self, limit: Limit, progress: str = "") -> None:
        """Keep both for the verdict."""
        super().__init__(f"{limit.text} ({progress})" if progress else limit.text)
        self.limit = limit
        self.progress = progress


@dataclass(frozen=True)
class Limits:
    """What one claim may use; `deadline` is a value of `time.monotonic()`.

    The deadline is the claim's own, `timeout` seconds after its begin, or with `is_of_run` the end
    of the time for the whole run. `cpu_deadline` is a value of `time.process_time()`, which other
    work of the machine does not bring nearer.

    >>> Limits(max_states=10).check_states(11)
    Traceback (most recent call last):
    dpcheck.limits.LimitReached: more than 10 states (11 states)
    """

    max_states: int = MAX_STATES
    deadline: float | None = None
    timeout: float | None = None
    is_of_run: bool = False
    cpu_deadline: float | None = None

    def check_states(self, n_states: int, counted: str = "states") -> None:
        """Raise `LimitReached` when there are more states than allowed; `counted` says of what."""
        if n_states > self.max_states:
            from dpcheck.exact import exact_text

            advice = SHRINK if n_states >= HOPELESS else ""
            limit = Limit("states", self.max_states, "states", advice)
            raise LimitReached(limit, f"{exact_text(n_states)} {counted}")

    def check_time(self, progress: str) -> None:
        """Raise `LimitReached` after the deadline; `progress` says how far the work got."""
        is_late = self.deadline is not None and time.monotonic() > self.deadline
        if is_late or (self.cpu_deadline is not None and time.process_time() > self.cpu_deadline):
            limit = Limit("run time" if self.is_of_run else "time", self.timeout or 0)
            raise LimitReached(limit, progress)


@dataclass(frozen=True)
class RunLimits:
    """What a run may use: `timeout` seconds a claim, the rest in all; None is without a limit.

    The time of the run is over at `deadline`, a value of `time.monotonic()`, which is
    `total_timeout` seconds after its begin. `max_memory` is bytes.
    """

    max_states: int = MAX_STATES
    timeout: float | None = None
    total_timeout: float | None = None
    deadline: float | None = None
    max_memory: int | None = None

    def of_a_claim(self) -> Limits:
        """Return the limits of a claim, or of reading a file, that begins now.

        >>> RunLimits(timeout=9, total_timeout=3, deadline=0).of_a_claim()
        Limits(max_states=10000000, deadline=0, timeout=3, is_of_run=True, cpu_deadline=None)
        """
        own = None if self.timeout is None else time.monotonic() + self.timeout
        if self.deadline is not None and (own is None or self.deadline < own):
            return Limits(self.max_states, self.deadline, self.total_timeout, is_of_run=True)
        return Limits(self.max_states, own, self.timeout)


def run_limits(
    max_states: int = MAX_STATES,
    timeout: float = TIMEOUT,
    total_timeout: float = 0,
    max_memory: int | None = None,
) -> RunLimits:
    """Return the limits of a run that begins now; a time of 0 is without a limit."""
    deadline = time.monotonic() + total_timeout if total_timeout else None
    return RunLimits(max_states, timeout or None, total_timeout or None, deadline, max_memory)


def too_large(sentence: str, advice: str) -> LimitReached:
    """Return that a size is beyond what a method can do: which, and what to ask instead."""
    return LimitReached(Limit("size", unit=sentence, advice=advice))


# --- deep recursion ------------------------------------------------------------------------

FRAMES = 50_000
"""Calls within each other that `with_deep_stack` allows, more than limits on nesting need.

A call of a function adds the nesting of its body, 50 calls of 150 levels, several frames each.
"""

BYTES_A_FRAME = 1024
"""Of the machine's stack; at most 330 were measured, for texts of nested tuples (Python 3.11)."""

ROOM = 1 << 17
"""So many words of 8 bytes has a frame of `with_room`: some thousand calls fit in beside it."""

_here = threading.local()


def with_room(work: Callable[[], T]) -> T:
    """Return what the work returns, with the frames of its calls in one piece of memory.

    Python asks the system for frames by 16 KB, and gives such a piece back at once: where a loop
    calls at the edge of one, a call takes 100 times as long as elsewhere. A frame as large as this
    one is given two megabytes, of which only what is used is ever touched, and its calls find room
    in the rest. The trace of an exception that passes here takes as much again: where memory is
    out, CPython 3.11 has none for it, and loses the exception.
    """
    return work()


with_room.__code__ = with_room.__code__.replace(co_stacksize=ROOM)


def with_deep_stack(work: Callable[[], T]) -> T:
    """Return what the work returns, done where calls may nest deeply.

    Python ends deep recursion by `RecursionError`, but only if its own limit comes before the end
    of the machine's stack, of which nobody knows how much the caller left. So the work is done in
    a thread with a stack of its own, large enough for all calls that Python then allows.
    """
    if getattr(_here, "is_deep", False):
        return work()
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        _here.is_deep = True
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised again, where it is waited for
            failed.append(error)

    before = sys.getrecursionlimit(), threading.stack_size(FRAMES * BYTES_A_FRAME)
    sys.setrecursionlimit(max(before[0], FRAMES))
    thread = threading.Thread(target=with_room, args=(run,), daemon=True)
    try:
        thread.start()
        threading.stack_size(before[1])
        thread.join()
    finally:
        threading.stack_size(before[1])
        sys.setrecursionlimit(before[0])
    for error in failed:
        raise error
    return found[0]
