"""The JSON answer follows the schema that ships with it, also where things went wrong."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema

from dpcheck.check.values.verdicts import Amount, Coverage, Outcome, Phrase, Undecided, Value
from dpcheck.diagnostics.files import NoSuchFile
from dpcheck.diagnostics.limits import ReadingStopped
from dpcheck.limits import Limit
from dpcheck.report import Answer, Collector, Crash
from dpcheck.report.json_output import json_object, json_text

SCHEMA = json.loads((files("dpcheck.report") / "schema" / "results-1.json").read_text("utf-8"))
GOLDEN = Path(__file__).parents[1] / "golden"

UNDECIDED = Outcome(Undecided(Limit("states", 1, "states"), Phrase.of("b")), Coverage(0, 0))


def answer(outcome, kind="check"):
    return Answer("a.dpm", 1, None, kind, "m", None, "dp(0)", (), False, outcome, 1, 1, 0.5)


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_kind_of_verdict_follows_the_schema():
    text = (GOLDEN / "verdicts_json.txt").read_text("utf-8")
    report = json.loads(text.split("\n", 1)[1].split("--- stderr")[0])
    jsonschema.validate(report, SCHEMA)
    assert {result["verdict"] for result in report["results"]} == {
        "holds",
        "violated",
        "undecided",
        "value",
    }


def test_an_interrupted_run_with_bugs_and_mistakes_follows_the_schema():
    collector = Collector(is_interrupted=True)
    collector.add(answer(UNDECIDED))
    collector.add(answer(Outcome(Value(Amount("inf", "inf"), None), Coverage(1, 1)), "compute"))
    collector.add(NoSuchFile(None, "b.dpm", None))
    collector.add(NoSuchFile(None, "b.dpm", None))
    collector.add(ReadingStopped(None, "c.dpm", "the time limit of 1 s passed", "--timeout"))
    collector.add(Crash("a.dpm:3", "Traceback"))
    report = json_object(collector.summary())
    jsonschema.validate(report, SCHEMA)
    assert len(report["errors"]) == 1
    assert report["interrupted"]
    assert not report["ok"]


def test_numbers_of_any_length_stand_in_full():
    digits = "7" * 10_000
    collector = Collector()
    collector.add(
        answer(Outcome(Value(Amount(digits, "7.7e9999"), None), Coverage(1, 1)), "compute")
    )
    report = json.loads(json_text(collector.summary()))
    assert report["results"][0]["value"]["exact"] == digits


def test_what_leaves_most_unknown_decides_the_exit_status():
    held = Collector()
    assert held.summary().exit_status == 0
    held.add(answer(UNDECIDED))
    assert held.summary().exit_status == 3
    unread = Collector()
    unread.add(ReadingStopped(None, "c.dpm", "the time limit of 1 s passed", "--timeout"))
    assert unread.summary().exit_status == 3
    held.add(answer(Outcome(Value(Amount("1", "1"), 1), Coverage(0, 0)), "refute"))
    assert held.summary().exit_status == 1
    held.add(NoSuchFile(None, "b.dpm", None))
    assert held.summary().exit_status == 2
    held.add(Crash("a", "b"))
    assert held.summary().exit_status == 70
    held.is_interrupted = True
    assert held.summary().exit_status == 130
