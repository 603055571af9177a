"""The command line: arguments in, text or JSON out, an exit status at the end.

Only this room talks to the world. It imports no other room before a command needs it, so that
`dpcheck --help` answers at once, and click only where there are options to read, or help to show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise, takewhile
from pathlib import Path

from dpcheck.cli import checking, signals


def run(arguments: Sequence[str]) -> int:
    """Return the exit status of a call of `dpcheck`.

    Raises `OSError` where the output cannot be written; files that cannot be read are mistakes.
    """
    try:
        return _checked(arguments[1:]) if _only_names_files(arguments) else _commanded(arguments)
    except KeyboardInterrupt:
        checking.say("interrupted")
        return signals.status()
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - the one place that turns any bug into exit status 70
        return _crashed()


def _only_names_files(arguments: Sequence[str]) -> bool:
    """Return whether this is `check FILE...` without options: every option begins with a dash.

    Settings of a project count as options.
    """
    names_files = len(arguments) > 1 and arguments[0] == "check"
    has_options = any(argument.startswith("-") for argument in arguments)
    return names_files and not has_options and not _has_settings()


_SETTINGS = re.compile(rb"""tool\s*\.\s*["']?dpcheck|\[\s*tool\s*\]""")


def _has_settings() -> bool:
    """Return whether a project around here may have settings, as far as a glance tells."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        with suppress(OSError):
            if file.is_file() and _SETTINGS.search(file.read_bytes()):
                return True
        if (folder / ".git").exists():
            break
    return False


def _checked(paths: Sequence[str]) -> int:
    """Check files as `check` does without options; to import click takes 40 ms of some 290."""
    from dpcheck.cli.memory import available_memory
    from dpcheck.limits import run_limits
    from dpcheck.pipeline.options import Options

    limits = run_limits(max_memory=available_memory())
    return checking.checked(
        paths, Options(limits=limits, cache=checking.trusted_cache(paths, None)), checking.Report()
    )


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
