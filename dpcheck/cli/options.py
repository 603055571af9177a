"""Options that several commands have: constants, targets, and what a run may use."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce, wraps
from math import nan

import click

from dpcheck.cli.memory import available_memory, memory_of
from dpcheck.limits import MAX_STATES, TIMEOUT, RunLimits, run_limits

Command = Callable[..., int]


def _states(text: str | int) -> int:
    """Return a number of states that an option says, also as `10^8` or `1e8`."""
    match = re.fullmatch(r"(\d{1,18})(?:(\^|e)(\d{1,2}))?", str(text).replace("_", ""))
    if match is not None:
        number, sign, exponent = int(match[1]), match[2], int(match[3] or 1)
        found: int = number * 10**exponent if sign == "e" else number**exponent
        if 0 < found < 10**18:
            return found
    raise click.BadParameter(f"{text!r} is not a number of states, such as 10000000 or 10^8.")


def _seconds(text: str | float) -> float:
    """Return a number of seconds that an option says, 0 for no limit."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = nan
    if not seconds >= 0:
        raise click.BadParameter(f"{text!r} is not a number of seconds, or 0 for no limit.")
    return seconds


def _memory(text: str | int) -> int:
    """Return an amount of memory that an option says, in bytes."""
    try:
        return memory_of(str(text))
    except (ValueError, KeyError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is not an amount of memory, such as 1G or 500M."
        ) from None


_LIMITS = (
    click.option(
        "--max-states",
        type=_states,
        default=MAX_STATES,
        show_default=True,
        metavar="N",
        help="Stop a claim that needs more states: it is undecided.",
    ),
    click.option(
        "--timeout",
        type=_seconds,
        default=TIMEOUT,
        show_default=True,
        metavar="S",
        help="Stop each claim after so many seconds: it is undecided; 0 is never.",
    ),
    click.option(
        "--total-timeout",
        type=_seconds,
        default=0,
        metavar="S",
        help="Stop the whole run after so many seconds: what is left is undecided; 0 is never."
        "  [default: 0]",
    ),
    click.option(
        "--max-memory",
        type=_memory,
        default=available_memory,
        metavar="SIZE",
        help="Stop a claim that needs more memory, such as 500M or 2G: it is undecided."
        "  [default: three quarters of what there is]",
    ),
)

definitions = click.option(
    "-D",
    "definitions",
    metavar="NAME=VALUE",
    multiple=True,
    help="Give a constant another value; an expression of the language.",
)

_TARGETS = (
    click.option("--target", metavar="TARGET", help="Only this one, `rr(k = 4)` for example."),
    click.option(
        "--at-distance",
        "distance",
        type=click.IntRange(min=1),
        default=1,
        metavar="K",
        help="Compare inputs up to distance K of the neighbor graph.",
    ),
)


def limits(command: Command) -> Command:
    """Add the options that say what a run may use; the command takes them as `limits`."""

    @wraps(command)
    def limited(
        *arguments: object,
        max_states: int,
        timeout: float,
        total_timeout: float,
        max_memory: int | None,
        **options: object,
    ) -> int:
        allowed = run_limits(max_states, timeout, total_timeout, max_memory)
        return command(*arguments, limits=allowed, **options)

    return _with(_LIMITS, limited)


def overview(command: Command) -> Command:
    """Add the file and the options of commands about its targets, which take them as `asked`."""

    @wraps(command)
    def about(
        *,
        path: str,
        target: str | None,
        distance: int,
        definitions: tuple[str, ...],
        limits: RunLimits,
        **options: object,
    ) -> int:
        from dpcheck.pipeline.options import Options, Overviewed

        how = Options(definitions, limits=limits)
        return command(Overviewed(path, target, distance, how), **options)

    return _with((click.argument("path", metavar="FILE"), definitions, *_TARGETS), limits(about))


def _with(options: tuple[Callable[[Command], Command], ...], command: Command) -> Command:
    """Return a command with options, which its help shows in this order."""
    return reduce(lambda made, option: option(made), reversed(options), command)
