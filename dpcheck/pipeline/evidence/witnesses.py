"""Which witness a claim has: the name of its file, and what that says of the claim."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os.path import relpath
from typing import TYPE_CHECKING, Any

from dpcheck.check.values.verdicts import Holds, Outcome, Violated
from dpcheck.limits import LimitReached, Limits
from dpcheck.model.program import Mechanism
from dpcheck.pipeline.claims.outcomes import Ready
from dpcheck.pipeline.sources.files import ModelPath
from dpcheck.records import dataclass, replace
from dpcheck.report.answers import Answer, Crash, Witness
from dpcheck.resolve import ResolvedCheck

if TYPE_CHECKING:
    from dpcheck.explain import Explanation

DIGITS_OF_NAMES = 100
"""A part of a name is cut to so many letters: file systems allow 255 bytes."""


@dataclass(frozen=True)
class Heading:
    """The name of a claim's witness, and what the file says of the claim."""

    name: str
    fields: Mapping[str, Any]


def headings(
    checks: Sequence[ResolvedCheck],
    path: ModelPath,
    files: Sequence[ModelPath],
    definitions: Sequence[str],
) -> list[Heading]:
    """Return the headings of all claims of a file, by place and number among those of its line."""
    from hashlib import sha256

    hashes = {}
    for file in files:
        shown = (
            file.shown if file.shown.startswith("std.") else relpath(file.real, path.real.parent)
        )
        if file.real.is_file():  # standard input is none
            hashes[shown] = sha256(file.real.read_bytes()).hexdigest()
    stem = re.sub(r"[^\w-]+", ".", path.shown.removesuffix(".dpm")).strip(".")
    seen: Counter[int] = Counter()
    found = []
    for check in checks:
        seen[check.line] += 1
        claim = {"file": path.shown, "line": check.line, "target": check.target_text}
        claim |= {} if check.at_text is None else {"at": check.at_text}
        name = f"{stem[-DIGITS_OF_NAMES:]}-{check.line}-{seen[check.line]}.json"
        fields: dict[str, object] = {"claim": {**claim, "text": check.claim_text}}
        fields |= {"constants": list(definitions)} if definitions else {}
        found.append(Heading(name, {**fields, "sha256": hashes}))
    return found


def witnessed(
    answer: Answer, ready: Ready, heading: Heading | None, why: Explanation | None, limits: Limits
) -> Iterator[Answer | Crash]:
    """Yield an answer with its witness; its verdict stands, whatever keeps evidence from it.

    Values and claims without a heading have none. `why` a violated claim is so says what the
    witness shows.
    """
    if heading is None or ready.check.kind == "compute":
        yield answer
        return
    from dpcheck.witness import lacking_text

    crash = None
    try:
        outcome = _as_explained(answer.outcome, why)
        text = _witness(outcome, ready, heading, limits)
    except (LimitReached, MemoryError, RecursionError):
        text = lacking_text(heading.fields, "a limit was reached before it was made")
    except Exception:  # noqa: BLE001 - a bug here costs the witness, and no verdict
        import traceback

        text = lacking_text(heading.fields, "a bug in dpcheck kept it from being made")
        crash = Crash(f"{answer.file}:{answer.line}", traceback.format_exc())
    yield replace(answer, witness=Witness(heading.name, text))
    if crash is not None:
        yield crash


def lacking(
    check: ResolvedCheck, heading: Heading | None, reason: str, alignment: Sequence[str] = ()
) -> Witness | None:
    """Return a witness that says why there is no evidence, as far as one is due.

    An alignment is written into it for people: how noise is moved, and what that costs.
    """
    if heading is None or check.kind == "compute":
        return None
    from dpcheck.witness import lacking_text

    fields = {**heading.fields, "alignment": list(alignment)} if alignment else heading.fields
    return Witness(heading.name, lacking_text(fields, reason))


def everywhere(check: ResolvedCheck, heading: Heading | None, outcome: Outcome) -> Witness | None:
    """Return the witness of a claim about infinitely many inputs, with its alignment if any.

    Or about more than can be listed, or more analysts, who have fixed their queries.
    """
    assert isinstance(check.target, Mechanism), "others have no inputs"
    if check.target.has_analyst:
        return lacking(check, heading, "it is about more analysts than can be listed")
    many = "infinitely many inputs"
    if not check.target.has_unbounded_inputs:
        many = "more inputs than can be listed"
    reason = f"it is about {many}"
    if not isinstance(outcome.verdict, Holds):
        return lacking(check, heading, reason)
    texts = [
        str(one.text) if one.amount is None else f"{one.text} {one.amount.exact}"
        for one in outcome.beside
    ]
    return lacking(check, heading, f"{reason}, and `alignment` is for people to read", texts)


def is_shown_by_window(check: ResolvedCheck, outcome: Outcome) -> bool:
    """Return whether a chain of some inputs is evidence of a claim about more: it is violated.

    The rows are those of these inputs. Of endless streams a window shows the first outputs only.
    """
    from dpcheck.align.windows import round_of

    assert isinstance(check.target, Mechanism), "others have no inputs"
    is_endless = round_of(check.target) is not None
    return isinstance(outcome.verdict, Violated) and not (check.target.has_analyst or is_endless)


def _as_explained(outcome: Outcome, why: Explanation | None) -> Outcome:
    """Return an outcome whose counterexample is the pair and the event that a report shows."""
    verdict = outcome.verdict
    if not isinstance(verdict, Violated) or why is None or why.neighbors is None:
        return outcome
    found = replace(verdict.counterexample, states=(why.neighbors.left, why.neighbors.right))
    if why.event and isinstance(why.event, tuple):
        found = replace(found, event=why.event, runs=())
    return replace(outcome, verdict=Violated(found))


def _witness(outcome: Outcome, ready: Ready, heading: Heading, limits: Limits) -> str:
    from dpcheck.check.arrangements import arranged
    from dpcheck.witness import Asking, lacking_text, witness_text

    check, chain = ready.check, ready.chain
    if check.for_all is not None:
        return lacking_text(heading.fields, "the claim is about all values of a `param`")
    known, fields = outcome.all_values, heading.fields
    if known is not None:
        values = known.asked
        if values.startswith("{"):
            values = f"[{values[1:-1]}, {values[1:-1]}]"  # as a claim asks for one value
        asked = {**fields["claim"], "for": f"{known.param} in {values}"}
        fields = {**fields, "claim": asked, "value": f"{known.param} = {known.sample}"}
    runs = arranged(ready.parts, limits)
    is_composed = len(runs) > 1 or any(times > 1 for _, times in runs)
    asking = Asking(
        fields,
        check.claim,
        check.at,
        runs[0][0] if runs else chain,
        tuple(runs) if is_composed else (),
    )
    return witness_text(asking, outcome, limits)
