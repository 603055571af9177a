"""Witnesses beside the model: what `verify` proves, derived again by the reference interpreter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dpcheck.check.values.amounts import bounds_amount
from dpcheck.check.values.verdicts import Amount, OutputSequence, Phrase, ShownEvent
from dpcheck.diagnostics import commands
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.exact.number import ball, number
from dpcheck.pipeline.sources.files import os_reason
from dpcheck.reference import Contradicted, Loaded, NotCovered, Replay, WrongProgram, load
from dpcheck.reference.numbers import Exp, Number
from dpcheck.reference.values import End
from dpcheck.report.evidence import Drawn, OnlyVerified, Replayed
from dpcheck.verify import verify

CONFIDENCE = 0.95
"""How often the intervals around sampled frequencies hold the probability, at least."""


def replayed(
    path: str, n_runs: int, seed: int, models: dict[str, Loaded]
) -> Replayed | OnlyVerified | Mistake:
    """Return what a witness says, derived again from its model, or why it is not.

    n_runs: draw so many runs of each side as well. models: those that were read before.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        return commands.NoWitness(None, path, os_reason(error))
    _, why = verify(text)
    if why.startswith(("rejected: ", "cannot be read: ")):
        return commands.NoWitness(None, path, why.partition(": ")[2])
    fields = json.loads(text)
    if fields["says"] != "violated":
        return OnlyVerified(path, why)
    claim = fields["claim"]
    try:
        chosen = [*fields.get("constants", []), *([fields["value"]] if "value" in fields else [])]
        key = json.dumps([claim["file"], chosen])
        if key not in models:
            models[key] = _model(claim["file"], chosen)
        changed = _changed(models[key].hashes, fields["sha256"])
        if changed is not None:
            return commands.ModelChanged(None, path, changed)
        replay = Replay(models[key], fields)
        derived = replay.derived()
        drawn, undrawn = _drawn(replay, n_runs, seed) if n_runs else ([], None)
    except Contradicted as contradiction:
        return commands.ModelSaysOtherwise(None, path, str(contradiction))
    except (NotCovered, WrongProgram) as reason:
        return commands.NotReplayed(None, path, str(reason))
    except RecursionError:
        return commands.NotReplayed(None, path, "text nested so deeply")
    except (OSError, ValueError) as error:
        return commands.NotReplayed(None, path, f"`{claim['file']}`: {os_reason(error)}")
    except (AttributeError, KeyError, TypeError, IndexError):
        return commands.NoWitness(None, path, "fields are missing")
    sides = tuple(
        (text, _amount(*bounds), each) for (text, bounds), each in zip_longest(derived, drawn)
    )
    said = f"{claim['target']}: {claim['text']}" + (f" with {', '.join(chosen)}" if chosen else "")
    return Replayed(
        path, said, f"{claim['file']}:{claim['line']}", _event(fields, replay.event), sides, undrawn
    )


def _event(fields: dict[str, Any], event: Sequence[tuple[Any, ...]]) -> ShownEvent:
    """Return the event of a witness; a formula is in the claim."""
    if fields["proof"] == "sum":
        return Phrase.of(f"the scores of the outputs add up to at least {fields['least']}")
    return tuple(
        OutputSequence(each[:-1], "diverged" if each[-1] is End.DIVERGED else "stopped")
        if each and isinstance(each[-1], End)
        else OutputSequence(each, "goes on")
        for each in event
    )


def _model(file: str, definitions: Sequence[str]) -> Loaded:
    """Read a model; its root is the working directory if that contains it, else its folder."""
    path, here = Path(file).resolve(), Path.cwd().resolve()
    return load(path, here if path.is_relative_to(here) else path.parent, definitions)


def _changed(found: dict[str, str], written: dict[str, str]) -> str | None:
    """Return a file that is not as it was."""
    names = sorted(found.keys() | written.keys())
    return next((name for name in names if found.get(name) != written.get(name)), None)


def _amount(low: Number, high: Number) -> Amount:
    """Return a chance as text, and as a decimal for the eye; or within bounds."""
    if low != high:
        ends = (Fraction(float(p)) if isinstance(p, Exp) else p for p in (low, high))
        return bounds_amount(*(ball(number(p.numerator, p.denominator), 64) for p in ends))
    if not isinstance(low, Exp):
        return Amount(str(low), str(Decimal(low.numerator) / low.denominator))
    return Amount("a number with e", repr(float(low)))


def _drawn(replay: Replay, runs: int, seed: int) -> tuple[list[Drawn], str | None]:
    """Return how often the event happens in drawn runs of each side, or why none are drawn.

    With exact confidence intervals of its chance (Clopper, Pearson, Biometrika 1934).
    """
    from scipy.special import betaincinv

    found, tail = list[Drawn](), (1 - CONFIDENCE) / 2
    try:
        for hits in replay.frequencies(runs, seed):
            low = 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, tail))
            high = 1.0 if hits == runs else float(betaincinv(hits + 1, runs - hits, 1 - tail))
            found.append(Drawn(hits, runs, low, high))
    except NotCovered as reason:
        return [], str(reason)
    return found, None
