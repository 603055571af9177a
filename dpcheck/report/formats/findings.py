"""What went wrong in a run, in the words and places that all formats share.

A finding is a claim that did not come out as written, one that says nothing, or a mistake. Rules
have names that never change: result systems keep their history by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import groupby
from os.path import normpath
from pathlib import PurePath
from typing import Final, Literal, assert_never

from dpcheck.check.values.verdicts import Counterexample, Holds, Undecided, Value, Violated
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.records import dataclass
from dpcheck.report import notation
from dpcheck.report.answers import Answer, Change, Region, Summary, region_of
from dpcheck.report.characters import visible, with_short_numbers
from dpcheck.report.drawing import draw_mistake, mistake_text
from dpcheck.report.styled import WIDTH, Line, laid_out, line, plain
from dpcheck.report.text import (
    AnswerLines,
    answer_text,
    closing_lines,
    in_short,
    quantity_text,
    values_text,
)

Level = Literal["error", "warning", "open"]
"""`open` is what a limit left undecided."""

RULES: Final[Mapping[str, str]] = {
    "dp-violated": "A claim is violated, and this is the counterexample",
    "refute-holds": "A claim that is to be refuted holds",
    "undecided": "A limit was reached before a claim was decided",
    "budget-grew": "A mechanism costs more than the baseline records",
    "budget-unknown": "Whether a mechanism costs more than the baseline records is not known",
    "cover-changed": "Claims speak about other inputs or neighbors than the baseline records",
    "claim-weakened": "A claim says less than the baseline records",
    "claim-removed": "A claim that the baseline records is gone",
    "vacuous": "A claim says nothing: no neighbors, atoms that are never true, or sure events",
}
"""The rules about claims, in a sentence each; the other rules are the codes of mistakes."""


@dataclass(frozen=True)
class Checkout:
    """Where dpcheck was called, and the folder that files are named from."""

    here: PurePath
    root: PurePath

    def name(self, file: str) -> str:
        """Return the name of a file as seen from the root, parts joined by `/`.

        >>> Checkout(PurePath("/repo/models"), PurePath("/repo")).name("../models/./a.dpm")
        'models/a.dpm'
        """
        path = PurePath(normpath(self.here / file))
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else file


@dataclass(frozen=True)
class Place:
    """A place in a file, which is named as seen from the root of the checkout."""

    file: str
    line: int
    region: Region | None


@dataclass(frozen=True)
class Finding:
    """One thing that went wrong: its rule, a sentence, and all that a report says of it.

    `identity` is the same for the same finding after lines were moved. `answer` is the claim's.
    """

    rule: str
    level: Level
    sentence: str
    text: str
    place: Place | None
    identity: str
    answer: Answer | None = None


def findings(summary: Summary, checkout: Checkout) -> Iterator[Finding]:
    """Yield what went wrong in a run: claims in their order, then mistakes in reading order."""
    met: Counter[tuple[str, ...]] = Counter()
    key: tuple[str, ...]
    place: Place | None
    for answer in summary.answers:
        rule = _rule(answer)
        file = checkout.name(answer.file)
        key = (file, answer.target, answer.at or "", answer.kind, answer.claim)
        met[key] += 1
        if rule is None:
            continue
        name, level = rule
        place = Place(file, answer.line, answer.region)
        identity = _identity(*key, str(met[key]))
        yield Finding(name, level, sentence(answer), answer_text(answer), place, identity, answer)
    for change in summary.changes:
        file = checkout.name(change.file)
        said = change_sentence(change)
        identity = _identity(file, change.rule, change.target, change.what)
        place = Place(file, change.line, None)
        level = "open" if change.rule == "budget-unknown" else "error"
        yield Finding(change.rule, level, said, said, place, identity)
    for mistake in summary.mistakes:
        place = _place(mistake, checkout)
        key = ("" if place is None else place.file, mistake.code, mistake.title)
        met[key] += 1
        level = "open" if mistake.severity == "undecided" else mistake.severity
        said = visible(with_short_numbers(mistake.title))
        identity = _identity(*key, str(met[key]))
        yield Finding(mistake.code, level, said, mistake_text(mistake), place, identity)


def change_sentence(change: Change) -> str:
    """Return what became worse since the baseline, in one sentence."""
    target, what = visible(change.target), notation.shortened(visible(change.what))
    before, after = (
        notation.shortened(visible(text or "")) for text in (change.before, change.after)
    )
    match change.rule:
        case "budget-grew":
            return f"{target}: {what} grew from {before} to {after}"
        case "budget-unknown":
            return f"{target}: whether {what} grew is not known: it was {before}, now {after}"
        case "cover-changed":
            return f"{target}: claims were about {before}, now {after}"
        case "claim-weakened":
            return f"{target}: `check {before}` was weakened to `check {after}`"
        case "claim-removed" if change.what == "target":
            return f"{target} is gone"
        case "claim-removed":
            return f"{target}: `check {before}` is gone"
        case _ as never:
            assert_never(never)


def _rule(answer: Answer) -> tuple[str, Level] | None:
    """Return the rule that an answer breaks, if it breaks one."""
    if answer.is_undecided:
        return "undecided", "open"
    if not answer.is_as_claimed:
        return ("dp-violated" if answer.kind == "check" else "refute-holds"), "error"
    if answer.outcome.is_vacuous:
        return "vacuous", "error" if answer.is_strict else "warning"
    return None


def _place(mistake: Mistake, checkout: Checkout) -> Place | None:
    if mistake.file is None:
        return None
    file, span = checkout.name(mistake.file), mistake.span
    return Place(file, 1, None) if span is None else Place(file, span.line, region_of(span))


def _identity(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def sentence(answer: Answer) -> str:
    """Return what a claim came to in one sentence that stands alone."""
    claim = claim_text(answer)
    outcome = answer.outcome
    match outcome.verdict:
        case Violated(counterexample=found):
            is_ok = ", as claimed" if answer.is_as_claimed else ""
            said = f"{claim} is violated{values_text(answer)}{is_ok}{quantity_text(answer)}"
            why = _why(answer, found)
            return f"{said}: {why}" if why else said
        case Undecided() as verdict:
            return f"{claim} is undecided: {notation.shortened(visible(verdict.reason))}"
        case Holds() if not answer.is_as_claimed:
            values = values_text(answer)
            return f"{claim} holds{values}, yet it is to be refuted{quantity_text(answer)}"
        case Holds() if outcome.vacuity:
            return f"{claim} says nothing: {visible(outcome.vacuity[0].text)}"
        case Holds():
            return f"{claim} holds{values_text(answer)}{quantity_text(answer)}"
        case Value():
            return f"{claim} is {quantity_text(answer)}"
        case _ as never:
            assert_never(never)


def _why(answer: Answer, found: Counterexample) -> str:
    """Return a counterexample in words: how much likelier an event is, or what fails."""
    states, event, probabilities, ratio = (
        found.states, found.event, found.probabilities, found.ratio
    )  # fmt: skip
    shown = answer.explanation
    if shown is not None and shown.neighbors is not None and shown.inequality is not None:
        pair, failing = shown.neighbors, shown.inequality
        states, event, ratio = (pair.left, pair.right), shown.event, failing.ratio
        probabilities = tuple(each for each in (failing.p, failing.q) if each is not None)
    if ratio is None or ratio.exact == "inf" or len(states) != 2 or len(probabilities) != 2:
        return in_short(found)
    left, right = (
        f"from {notation.shortened(visible(state))} ({notation.amount_text(amount)})"
        for state, amount in zip(states, probabilities, strict=True)
    )
    exact = notation.number_text(ratio, notation.LONGEST)
    times = exact if ratio.enclosure is None else f"at least {ratio.enclosure[0]}"
    said = f"`{notation.event_text(event)}` is {times} times as likely {left} as {right}"
    if shown is not None and shown.tight is not None:
        said += f"; {shown.tight.label}: {notation.phrase_text(shown.tight.text)}"
    return said


def claim_text(answer: Answer) -> str:
    """Return the target of a claim and what is claimed of it: `survey: dp(ln 2)`."""
    known = answer.outcome.all_values
    where = "" if known is None else f" for {known.param} in {known.asked}"
    where += "" if answer.at is None else f" at {answer.at}"
    return notation.shortened(visible(f"{answer.target}{where}: {answer.claim}"))


def report_text(summary: Summary, _: object = None) -> str:
    """Return a run as the text that is written while the work goes on, mistakes at the end."""
    lines: list[Line] = []
    for _, group in groupby(summary.answers, key=lambda answer: answer.file):
        answers = list(group)
        shown = AnswerLines(answers, only_wrong=False)
        for answer in answers:
            lines.extend(shown.add(answer))
        lines.extend(shown.end())
    for mistake in summary.mistakes:
        lines.extend((*draw_mistake(mistake), line()))
    lines.extend(closing_lines(summary))
    return "\n".join(plain(row) for each in lines for row in laid_out(each, WIDTH))
