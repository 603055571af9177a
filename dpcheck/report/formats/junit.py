"""JUnit XML as pytest writes it: a suite a file, a case a claim, a case a mistake.

Readers agree on little but this form; some drop every attribute but the name, so the text of a
failure says everything, its place first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import PurePosixPath
from xml.etree import ElementTree as ET

from dpcheck.report.answers import Answer, Summary
from dpcheck.report.characters import visible, visible_lines
from dpcheck.report.formats.findings import Checkout, Finding, claim_text, findings
from dpcheck.report.text import quantity_text


def junit_text(summary: Summary, checkout: Checkout) -> str:
    """Return a run as JUnit XML, without a final line break."""
    wrong = list(findings(summary, checkout))
    by_answer = {id(each.answer): each for each in wrong if each.answer is not None}
    files: dict[str, list[ET.Element]] = {}
    for answer in summary.answers:
        file = checkout.name(answer.file)
        case = _claim(answer, file, by_answer.get(id(answer)))
        files.setdefault(file, []).append(case)
    for each in wrong:
        if each.answer is None and each.level != "warning":
            file = "" if each.place is None else each.place.file
            files.setdefault(file, []).append(_mistake(each))
    for crash in summary.crashes:
        case = ET.Element("testcase", classname="dpcheck", name=visible(crash.where), time="0")
        _add(case, "error", "internal error", crash.where, crash.traceback)
        files.setdefault("", []).append(case)
    root = ET.Element("testsuites", name="dpcheck")
    when = datetime.now().astimezone().isoformat()
    for file, cases in files.items():
        suite = ET.SubElement(root, "testsuite", _counts(file or "dpcheck", cases))
        suite.set("timestamp", when)
        suite.extend(cases)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode")


def _claim(answer: Answer, file: str, wrong: Finding | None) -> ET.Element:
    """Return a claim as a case that passes, fails, or, where it is undecided, is in error."""
    case = ET.Element(
        "testcase",
        classname=visible(_class_name(file, answer.target)),
        name=f"{answer.kind} {claim_text(answer)}",
        file=visible(file),
        line=str(answer.line),
        time=f"{answer.seconds:.3f}",
    )
    if answer.kind == "compute" and not answer.is_undecided:
        properties = ET.SubElement(case, "properties")
        ET.SubElement(properties, "property", name="value", value=quantity_text(answer))
    if wrong is not None and wrong.level == "warning":
        ET.SubElement(case, "system-out").text = visible_lines(wrong.text)
    elif wrong is not None:
        element = "error" if wrong.level == "open" else "failure"
        said = f"{file}:{answer.line}: {wrong.sentence}\n\n{wrong.text}"
        _add(case, element, wrong.rule, wrong.sentence, said)
    return case


def _class_name(file: str, target: str) -> str:
    """Return the name of a target as Python would name a class in that file.

    >>> _class_name("models/a.dpm", "rr(k = 4)")
    'models.a.rr(k = 4)'
    """
    folder = re.sub(r"[/\\]+", ".", str(PurePosixPath(file).with_suffix("")).strip("/"))
    return f"{folder}.{target}"


def _mistake(wrong: Finding) -> ET.Element:
    place = wrong.place
    case = ET.Element(
        "testcase",
        classname="dpcheck" if place is None else visible(_class_name(place.file, wrong.rule)),
        name=wrong.sentence,
        time="0",
    )
    if place is not None:
        case.set("file", visible(place.file))
        case.set("line", str(place.line))
    _add(case, "error", wrong.rule, wrong.sentence, wrong.text)
    return case


def _add(case: ET.Element, element: str, rule: str, message: str, text: str) -> None:
    added = ET.SubElement(case, element, type=rule, message=visible(message))
    added.text = visible_lines(text)


def _counts(name: str, cases: Iterable[ET.Element]) -> dict[str, str]:
    listed = list(cases)
    seconds = sum(float(case.get("time", "0")) for case in listed)
    return {
        "name": visible(name),
        "tests": str(len(listed)),
        "failures": str(sum(case.find("failure") is not None for case in listed)),
        "errors": str(sum(case.find("error") is not None for case in listed)),
        "skipped": "0",
        "time": f"{seconds:.3f}",
    }
