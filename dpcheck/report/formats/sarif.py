"""SARIF 2.1.0, which code scanning reads: a result for whatever did not come out as written.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0" (2020, with
errata 01). Fingerprints do not contain lines, so that an alert stays the same alert when lines
above it are moved. What is undecided is `open` and what says nothing is up for `review`: the
standard gives no level to such results (§3.27.10).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from dpcheck.check.values.verdicts import Amount, Undecided, Violated
from dpcheck.diagnostics.registry import mistakes_by_code
from dpcheck.explain.explanation import Neighbors, RunStep, TracedRun
from dpcheck.records import replace
from dpcheck.report.answers import Answer, Summary
from dpcheck.report.characters import visible, visible_lines
from dpcheck.report.formats.findings import (
    RULES,
    Checkout,
    Finding,
    Level,
    Place,
    claim_text,
    findings,
)
from dpcheck.report.notation import amount_text
from dpcheck.version import __version__

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_STEPS = 200
"""Of a run; GitHub takes 10,000 steps a result and shows 1,000."""
_KINDS: Final[Mapping[Level, tuple[str, str]]] = {
    "error": ("fail", "error"),
    "warning": ("fail", "warning"),
    "open": ("open", "none"),
}


def sarif_text(summary: Summary, checkout: Checkout) -> str:
    """Return a run as a SARIF log in ASCII, without a final line break."""
    return json.dumps(sarif_log(summary, checkout), indent=2)


def sarif_log(summary: Summary, checkout: Checkout) -> dict[str, Any]:
    """Return a run as a SARIF log of dictionaries and lists."""
    found = list(findings(summary, checkout))
    rules = list(dict.fromkeys([*RULES, *(each.rule for each in found)]))
    driver = {
        "name": "dpcheck",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(summary)],
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the checkout"}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, rules) for each in found],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: str) -> dict[str, Any]:
    """Return what is known of a rule: a code of a mistake is explained as `explain` does."""
    said = RULES.get(rule)
    made: dict[str, Any] = {"id": rule}
    if said is not None:
        made["shortDescription"] = {"text": said}
        made["properties"] = {"tags": ["differential-privacy"], "precision": "very-high"}
    else:
        explanation = mistakes_by_code()[rule].explanation.strip()
        made["shortDescription"] = {"text": explanation.split("\n\n", 1)[0].replace("\n", " ")}
        made["help"] = {"text": explanation}
    return made


def _invocation(summary: Summary) -> dict[str, Any]:
    """Return how the run ended; a claim that is violated is no failure of the tool."""
    status = summary.exit_status
    made: dict[str, Any] = {
        "executionSuccessful": not (summary.crashes or summary.is_interrupted),
        "exitCode": status,
    }
    if summary.crashes:
        made["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": visible_lines(f"{c.where}\n{c.traceback}")}}
            for c in summary.crashes
        ]
    return made


def _result(found: Finding, rules: Sequence[str]) -> dict[str, Any]:
    kind, level = _KINDS[found.level]
    if found.rule == "vacuous" and found.level == "warning":
        kind, level = "review", "none"
    result: dict[str, Any] = {
        "ruleId": found.rule,
        "ruleIndex": rules.index(found.rule),
        "kind": kind,
        "level": level,
        "message": {"text": visible_lines(f"{found.sentence}\n\n{found.text}")},
        "partialFingerprints": {"dpcheck/v1": found.identity},
    }
    if found.place is not None:
        result["locations"] = [_location(found.place, found.answer)]
    if found.answer is not None:
        result["properties"] = _properties(found.answer)
        why, place = found.answer.explanation, found.place
        if why is not None and why.all_runs and place is not None:
            flows = (_code_flow(each, why.neighbors, place) for each in why.all_runs)
            told = [flow for flow in flows if flow["threadFlows"]]
            result |= {"codeFlows": told} if told else {}
    return result


def _code_flow(run: TracedRun, pair: Neighbors | None, place: Place) -> dict[str, Any]:
    """Return the steps of the most probable run, and from either of two neighbors.

    A side without steps of its own has no thread: SARIF knows none without a location.
    """
    sides: list[tuple[str, str, list[tuple[RunStep, Amount | None]]]]
    sides, both = [(run.of, "", _own_steps(run.steps))], ""
    if pair is not None:
        right = _own_steps(run.elsewhere) if run.elsewhere else _followed(run.steps)
        sides = [("left", pair.left, _own_steps(run.steps)), ("right", pair.right, right)]
        both = ", from both neighbors"
    threads: list[dict[str, Any]] = [
        {
            "id": name,
            **({"initialState": {"input": {"text": visible(state)}}} if state else {}),
            "locations": [
                _flow_step(step, amount, order, place, is_left=name != "right")
                for order, (step, amount) in enumerate(steps[:_STEPS], start=1)
                if step.line is not None
            ],
        }
        for name, state, steps in sides
    ]
    return {
        "message": {"text": f"The most probable run with these outputs{both}"},
        "threadFlows": [thread for thread in threads if thread["locations"]],
    }


def _own_steps(steps: Sequence[RunStep]) -> list[tuple[RunStep, Amount | None]]:
    """Return the steps of a run with their probabilities."""
    return [(step, step.left) for step in steps]


def _followed(steps: Sequence[RunStep]) -> list[tuple[RunStep, Amount | None]]:
    """Return the steps that the right side takes as well, up to another output."""
    found: list[tuple[RunStep, Amount | None]] = []
    for step in steps:
        own = replace(step, value=step.right_value or step.value)
        if step.right_value and step.right is None:
            return [*found, (own, None)]
        if step.note or (step.factor is not None and step.factor.exact == "inf"):
            break
        found.append((own, step.right))
    return found


def _flow_step(
    step: RunStep, amount: Amount | None, order: int, place: Place, *, is_left: bool
) -> dict[str, Any]:
    said = f"{step.variable} = {step.value}" if step.kind == "draw" else f"{step.kind} {step.value}"
    if amount is not None:
        said += f" with probability {amount_text(amount)}"
    line = step.line
    if line is not None and not line.file.startswith("std."):  # which are no files of the user's
        place = Place(line.file, line.number, None)
    at = _location(place, None)
    made: dict[str, Any] = {
        "location": {**at, "message": {"text": visible(said)}},
        "executionOrder": order,
        "kinds": ["value"] if step.kind == "draw" else ["return"],
        "importance": "essential" if step.factor and step.factor.exact != "1" else "important",
    }
    if step.reads:
        reads = ((each.name, each.left if is_left else each.right) for each in step.reads)
        made["state"] = {visible(name): {"text": visible(value)} for name, value in reads}
    return made


def _location(place: Place, answer: Answer | None) -> dict[str, Any]:
    region = {"startLine": place.line}
    if place.region is not None:
        region["startColumn"] = place.region.column
        region["endLine"] = place.region.end_line
        region["endColumn"] = place.region.end_column
    artifact = {"uri": uri(place.file)}
    if not place.file.startswith("/"):
        artifact["uriBaseId"] = "SRCROOT"
    made: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    if answer is not None:
        name = visible(answer.target)
        made["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "function"}]
    return made


def uri(file: str) -> str:
    """Return the name of a file as a URI, whatever bytes it holds.

    >>> uri("a b/ü#1.dpm")
    'a%20b/%C3%BC%231.dpm'
    """
    return quote(file.encode("utf-8", "surrogateescape"))


def _properties(answer: Answer) -> dict[str, Any]:
    """Return facts about a claim for programs to read."""
    made: dict[str, Any] = {"kind": answer.kind, "claim": claim_text(answer)}
    match answer.outcome.verdict:
        case Violated(counterexample=found):
            made["states"] = [visible(state) for state in found.states]
            made["probabilities"] = [amount.exact for amount in found.probabilities]
            made["requirement"] = str(found.requirement)
            if found.ratio is not None:
                made["ratio"] = found.ratio.exact
            tight = answer.explanation and answer.explanation.tight
            if tight and tight.epsilon is not None:
                made["tightEpsilon"] = tight.epsilon.exact
                made["tightEpsilonDecimal"] = tight.epsilon.decimal
        case Undecided(progress=progress):
            made["progress"] = visible(str(progress))
    if answer.outcome.value is not None:
        made["value"] = answer.outcome.value.exact
    return made
