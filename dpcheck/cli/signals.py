"""Ctrl-C and SIGTERM: before there are results they end the process, later they interrupt the work.

Imports must not be interrupted: some packages turn an interrupt within them into errors of others.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_received = [signal.SIGINT]


def end_at_once() -> None:
    """Let a signal end the process, with the status that shells have for it (130, 143)."""
    for number in _NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def interrupt_work() -> None:
    """Let a signal raise `KeyboardInterrupt` from now on, where it would have ended the process."""
    for number in _NUMBERS:
        if signal.getsignal(number) is _end:
            signal.signal(number, _interrupt)


def status() -> int:
    """Return the exit status after an interrupt."""
    return 128 + _received[-1]


def _end(number: int, _: FrameType | None) -> NoReturn:
    os.write(2, b"dpcheck: interrupted\n")
    os._exit(128 + number)


def _interrupt(number: int, _: FrameType | None) -> NoReturn:
    _received.append(signal.Signals(number))
    raise KeyboardInterrupt
