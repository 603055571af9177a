"""Answers beside those of the reference interpreter, which shares no code with the engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from dpcheck.check.values.verdicts import Holds, Outcome, Undecided, Value, Violated
from dpcheck.limits import RunLimits
from dpcheck.logic.quantities import QUANTITIES
from dpcheck.pipeline.sources.files import ModelPath, os_reason
from dpcheck.records import replace
from dpcheck.reference import Loaded, NotCovered, WrongProgram, answer, load
from dpcheck.reference.claims import STEPS
from dpcheck.report.answers import Answer, Crash, Opinion


class SecondOpinions:
    """What the reference interpreter says of the answers of one file, in the time of each claim."""

    def __init__(self, path: ModelPath, definitions: Sequence[str], limits: RunLimits) -> None:
        """Read the file again; one that is not read has no opinions."""
        self._limits = limits
        self._loaded: Loaded | str
        try:
            self._loaded = load(path.real, path.root, definitions)
        except (NotCovered, WrongProgram) as reason:
            self._loaded = str(reason)
        except (OSError, ValueError) as error:
            self._loaded = os_reason(error)
        except RecursionError:
            self._loaded = "a file nested so deeply"

    def beside(self, given: Answer) -> Iterator[Answer | Crash]:
        """Yield an answer with the opinion on it; behind it a bug, if the two differ."""
        place = f"{given.file}:{given.line}"
        try:
            opinion = self._opinion(given)
        except (RecursionError, MemoryError):
            opinion = Opinion("not covered", "numbers or values of this size")
        except Exception:  # noqa: BLE001 - a bug of the interpreter costs its opinion
            import traceback

            yield given
            yield Crash(place, traceback.format_exc())
            return
        yield replace(given, opinion=opinion)
        if opinion.word == "differs":
            asked = f"{given.kind} {given.target}: {given.claim}"
            yield Crash(place, f"second opinion on {asked}\n{opinion.text}")

    def _opinion(self, given: Answer) -> Opinion:
        if isinstance(self._loaded, str):
            return Opinion("not covered", self._loaded)
        outcome = given.outcome
        if outcome.all_values is not None:
            return Opinion("not covered", "all values of a parameter")
        if isinstance(outcome.verdict, Undecided):
            return Opinion("not covered", "a claim without an answer")
        verdict, opinion = outcome.verdict, Opinion("not covered", "values known within bounds")
        named = verdict.counterexample.states if isinstance(verdict, Violated) else ()
        work = self._loaded.work
        work.steps, work.deadline = STEPS, self._deadline(given.seconds)
        asked = self._loaded, given.target, given.at, given.claim
        for value, expected in _questions(outcome):
            try:
                found = answer(*asked, value, named, QUANTITIES)
            except NotCovered as reason:
                if opinion.word != "agrees":
                    opinion = Opinion("not covered", str(reason))
                continue
            except WrongProgram as error:
                return Opinion("differs", f"engine: {_said(outcome)}; reference: mistake, {error}")
            if found.holds != expected:
                return Opinion("differs", f"engine: {_said(outcome)}; reference: {found.why}")
            opinion = Opinion("agrees", found.covered)
        return opinion

    def _deadline(self, seconds: float) -> float | None:
        """Return when the time of the claim ends, of which some [s] is gone, or that of the run."""
        limits, now = self._limits, time.monotonic()
        ends = [] if limits.deadline is None else [limits.deadline]
        if limits.timeout is not None:
            ends.append(now + limits.timeout - seconds)
        return min(ends, default=None)


def _questions(outcome: Outcome) -> list[tuple[str | None, bool]]:
    """Return values that a quantity may have, None for the claim itself, and what is true."""
    verdict, asked = outcome.verdict, list[tuple[str | None, bool]]()
    amount = verdict.amount if isinstance(verdict, Value) else outcome.value
    if amount is not None and amount.enclosure is None:
        asked.append((amount.exact, True))
    if not isinstance(verdict, Value):
        asked.append((None, isinstance(verdict, Holds)))
    return asked


def _said(outcome: Outcome) -> str:
    """Return an outcome with its numbers."""
    verdict, value, numbers = outcome.verdict, outcome.value, list[str]()
    if isinstance(verdict, Violated):
        found = verdict.counterexample
        amounts = zip(found.probabilities, found.states, strict=False)
        numbers += [f"{amount.exact} from {state}" for amount, state in amounts]
    value = verdict.amount if isinstance(verdict, Value) else value
    numbers += [] if value is None else [value.exact]
    word = {Holds: "holds", Violated: "violated"}.get(type(verdict), "value")
    return f"{word} ({', '.join(numbers)})" if numbers else word
