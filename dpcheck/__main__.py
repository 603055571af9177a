"""The `dpcheck` command, and `python -m dpcheck`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line and end the process with its exit status.

    A reader that goes away (`dpcheck ... | head`) ends the process as it ends other Unix tools.
    """
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        from dpcheck.cli import run

        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("dpcheck: interrupted\n")
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    main()
