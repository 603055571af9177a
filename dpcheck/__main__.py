"""The `dpcheck` command, and `python -m dpcheck`."""

from __future__ import annotations

import signal

# An interrupt while Python imports shows a stack trace: until `main` knows better, it just ends.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

CANNOT_WRITE = 2
"""The exit status of a run that cannot write, that of a wrong call."""


def main() -> None:
    """Run the command line and end the process with its exit status.

    A reader that goes away (`dpcheck ... | head`) ends the process as it ends other Unix tools.
    """
    # Imports alone make some 70,000 objects that stay, and the collector looked at them a hundred
    # times. Cycles are rare here: what waits longer to be found is a few megabytes at most.
    gc.set_threshold(100_000, 10, 10)
    from dpcheck.cli import signals

    signals.end_at_once()
    # numpy's BLAS starts a thread a core when it is loaded, and nothing here has work for them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: `dpcheck ... >&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
    try:
        from dpcheck.cli import run
        from dpcheck.limits import with_room

        status = with_room(lambda: run(sys.argv[1:]))
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as failure:
        _say(f"cannot write the output: {failure.strerror}")
        os._exit(CANNOT_WRITE)  # what is still buffered cannot be written either
    except KeyboardInterrupt:
        _say("interrupted")
        status = signals.status()
    _leave(status)


def _say(text: str) -> None:
    """Write a line to standard error, if it can be written to."""
    with suppress(OSError):
        sys.stderr.write(f"dpcheck: {text}\n")


def _leave(status: int) -> NoReturn:
    """End the process with this status, whatever an interrupt or a limit cut short.

    CPython remembers a `KeyboardInterrupt` that left code compiled from a string, as imports of
    scientific packages run it, and would end the process by SIGINT although it was handled. And a
    thread given up at a deadline may still be at work, and fail while the interpreter goes away.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
