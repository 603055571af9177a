"""The command line: arguments in, text or JSON out, an exit status at the end.

Only this room talks to the world. It imports no other room before a command needs it, so that
`dpcheck --help` answers at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile

from dpcheck.cli import checking, signals


def run(arguments: Sequence[str]) -> int:
    """Return the exit status of a call of `dpcheck`.

    Raises `OSError` where the output cannot be written; files that cannot be read are mistakes.
    """
    try:
        return _commanded(arguments)
    except KeyboardInterrupt:
        checking.say("interrupted")
        return signals.status()
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - the one place that turns any bug into exit status 70
        return _crashed()


def _commanded(arguments: Sequence[str]) -> int:
    """Return the exit status of the command that the arguments name."""
    import click

    from dpcheck.cli.commands import dpcheck

    try:
        status = dpcheck.main(list(arguments), prog_name="dpcheck", standalone_mode=False)
    except click.ClickException as mistake:
        form = _output_asked(arguments)
        if form is not None:
            checking.refuse_as(form, mistake.format_message())
        else:
            mistake.show()
        return 2  # click has 1 for a file that cannot be written; 1 is a claim that is not so
    except click.Abort:
        raise KeyboardInterrupt from None
    return status if isinstance(status, int) else 0


def _output_asked(arguments: Sequence[str]) -> str | None:
    """Return which of `OUTPUTS` a call of `check` asks for, as far as a wrong call tells."""
    before = list(takewhile(lambda argument: argument != "--", arguments))
    forms = [second for first, second in pairwise(before) if first == "--format"]
    forms += [a.removeprefix("--format=") for a in before if a.startswith("--format=")]
    asked = [form for form in forms if form in checking.OUTPUTS and form != "text"]
    return asked[0] if asked and before[:1] == ["check"] else None


def _crashed() -> int:
    import traceback

    from dpcheck.report.answers import Crash

    checking.complain_of_bugs([Crash("the command line", traceback.format_exc())])
    return 70
