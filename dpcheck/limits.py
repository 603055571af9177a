"""Limits on one claim's work, and the exception that says one was reached.

A limit is never a mistake and never an answer: whoever catches `LimitReached` reports `undecided`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from dpcheck.exact import exact_text
from dpcheck.records import dataclass

Tick = Callable[[str], None]
"""Takes a progress report now and then, and may raise to stop the work: `Limits.check_time`."""


class LimitReached(Exception):
    """A limit stopped the work: `reason` says which and how far it got, `option` what to raise."""

    def __init__(self, reason: str, option: str) -> None:
        """Keep both sentences for the verdict."""
        super().__init__(reason)
        self.reason = reason
        self.option = option


@dataclass(frozen=True, slots=True)
class Limits:
    """What one claim may use; `deadline` is a value of `time.monotonic()`.

    >>> Limits(max_states=10).check_states(11)
    Traceback (most recent call last):
    dpcheck.limits.LimitReached: more than 10 states (11 states)
    """

    max_states: int = 10_000_000
    deadline: float | None = None
    timeout: float | None = None

    def check_states(self, n_states: int, counted: str = "states") -> None:
        """Raise `LimitReached` when there are more states than allowed; `counted` says of what."""
        if n_states > self.max_states:
            raise LimitReached(
                f"more than {self.max_states} states ({exact_text(n_states)} {counted})",
                "--max-states",
            )

    def check_time(self, progress: str) -> None:
        """Raise `LimitReached` after the deadline; `progress` says how far the work got."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise LimitReached(
                f"the time limit of {self.timeout:g} s passed ({progress})", "--timeout"
            )
