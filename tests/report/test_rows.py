"""JSON has every row of the text: its field is there, with every exact number of the row."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from dpcheck.report.answers import Answer, summary_of
from dpcheck.report.explained.lines import explanation_rows
from dpcheck.report.json_output import json_text
from dpcheck.report.text import answer_text
from tests.report.test_json import GOLDEN, SCHEMA

OF_EXPLANATION = {
    "neighbors": ["neighbors"],
    "secrets": ["neighbors"],
    "event": ["event"],
    "output": ["event"],
    "outputs": ["event"],
    "probability": ["inequality"],
    "fails": ["inequality"],
    "in words": ["rule", "inequality"],
    "by output": ["by_output", "event"],
    "by input": ["by_input", "event"],
    "the run": ["run", "event"],
    "a run": ["run", "event"],
    "runs": ["runs"],
    "inside": ["runs"],
    "outside": ["runs"],
    "inner": ["inner", "remarks"],
    "  event": ["inner"],
    "  probability": ["inner"],
    "  fails": ["inner"],
    "  the run": ["inner", "remarks"],
    "  a run": ["inner", "remarks"],
    "tight": ["tight"],
    "at least": ["tight"],
    "at most": ["tight"],
    "attacker": ["attacker", "event"],
    "others": ["others"],
    "also": ["also"],
    "omitted": ["omitted"],
}
OF_RESULT = {
    "so far": "reason",
    "shown by": "bounds",
    "help": "reason",
    "strategy": "strategy",
    "for": "values",
    "where": "values",
    "shown at": "values",
    "vacuous:": "vacuity",
}
ROW = re.compile(r"^ {6}(\S+(?: \S+)*?)  (.*)$", re.MULTILINE)


def checked(case):
    options = Options(n_explained=None, definitions=())
    summary = summary_of(check_paths([case.name], options))
    report = json.loads(json_text(summary))
    jsonschema.validate(report, SCHEMA)
    answers = [each for each in summary.answers if isinstance(each, Answer)]
    return zip(answers, report["results"], strict=True)


def in_full(value):
    """Return a part of the answer as one text, without the signs of JSON."""
    return re.sub(r"[\"\\]", "", json.dumps(value, ensure_ascii=False))


def exact_numbers(text):
    """Return the fractions, logarithms and powers of e of a row: decimals are rounded ones."""
    text = text.replace("prior 1/2 becomes", "")
    return re.findall(r"(?<![\w.+])\d+/\d+|ln\([\d/]+\)|exp\([-\d/]+\)", text)


def blocks(rows):
    """Yield the label and the text of each block of rows."""
    found = []
    for row in rows:
        if row.label.strip():
            found.append([row.label, row.text])
        else:
            found[-1][1] += f"\n{row.text}"
    return found


@pytest.mark.parametrize(
    "case",
    [
        *sorted(GOLDEN.glob("report_*.dpm")),
        *(GOLDEN / f"{name}.dpm" for name in ("strategy", "verdicts", "sequences_and_numbers")),
    ],
    ids=lambda case: case.stem,
)
def test_json_has_every_row_of_the_text(case, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    n_blocks = 0
    for answer, result in checked(case):
        if answer.explanation is not None:
            explanation = result["explanation"]
            remarks = {each["label"]: each["text"] for each in explanation.get("remarks", ())}
            for label, text in blocks(explanation_rows(answer.explanation, answer.file)):
                names = OF_EXPLANATION.get(label, [])
                fields = [explanation[name] for name in names if name in explanation]
                assert fields or label in remarks, (label, text)
                shown = in_full([fields, remarks.get(label), explanation.get("remarks")])
                missing = [each for each in exact_numbers(text) if each not in shown]
                assert not missing, (label, text, shown)
                n_blocks += 1
        for label, text in ROW.findall(answer_text(answer)):
            if label in OF_RESULT:
                shown = in_full(result[OF_RESULT[label]])
                assert not [each for each in exact_numbers(text) if each not in shown]
                n_blocks += 1
        for each in answer.outcome.beside:
            assert str(each.text) in [told["text"] for told in result["beside"]]
            n_blocks += 1
    assert n_blocks > 2


def test_every_field_of_an_explanation_is_a_row():
    rows = {name for names in OF_EXPLANATION.values() for name in names}
    known = set(SCHEMA["$defs"]["explanation"]["properties"])
    assert known - rows == {"faulty"}
