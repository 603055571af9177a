"""The JSON answer follows the schema that ships with it, also where things went wrong."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema

from dpcheck.check.values.verdicts import Amount, Coverage, Outcome, Phrase, Undecided, Value
from dpcheck.cli import run as call
from dpcheck.diagnostics.files import NoSuchFile
from dpcheck.diagnostics.limits import ReadingStopped
from dpcheck.limits import Limit
from dpcheck.report.answers import Answer, Crash, summary_of
from dpcheck.report.json_output import json_object, json_text

SCHEMA = json.loads((files("dpcheck.report") / "schema" / "results-1.json").read_text("utf-8"))
GOLDEN = Path(__file__).parents[1] / "golden"

UNDECIDED = Outcome(Undecided(Limit("states", 1, "states"), Phrase.of("b")), Coverage(0))


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
    events = [
        answer(UNDECIDED),
        answer(Outcome(Value(Amount("inf", "inf"), None), Coverage(1)), "compute"),
        NoSuchFile(None, "b.dpm", None),
        NoSuchFile(None, "b.dpm", None),
        ReadingStopped(None, "c.dpm", "the time limit of 1 s passed", "--timeout"),
        Crash("a.dpm:3", "Traceback"),
    ]
    report = json_object(summary_of(events, is_interrupted=True))
    jsonschema.validate(report, SCHEMA)
    assert len(report["errors"]) == 1
    assert report["interrupted"]
    assert not report["ok"]


def test_an_order_that_is_known_within_bounds_follows_the_schema(tmp_path, capsys):
    text = """mechanism m { input x in 0..1 adjacent all
      y ~ bernoulli(if x = 1 then 1/3 else 1/9)
      output y }
    compute m: zcdp"""
    (tmp_path / "m.dpm").write_text(text, "utf-8")
    call(["check", str(tmp_path / "m.dpm"), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    order = report["results"][0]["beside"][0]
    low, high = map(float, order["value"]["enclosure"])
    assert order["text"] == "attained at the order"
    assert 2.47 < low < high < 2.48


def test_a_run_that_both_sides_draw_alike_follows_the_schema(tmp_path, capsys):
    """The most probable run without output draws 1, from either neighbor with 1/4."""
    text = """mechanism m { input s in 0..1 adjacent all
      x ~ {0: 1/2 + s/4, 1: 1/4, 2: 1/4 - s/4}
      if x = 0 { output 1 } }
    check m: !(D{ln 3} [ X stopped ])"""
    (tmp_path / "m.dpm").write_text(text, "utf-8")
    call(["check", str(tmp_path / "m.dpm"), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    told = report["results"][0]["explanation"]["run"]
    assert "steps" not in told
    assert [step["value"] for step in told["same"]] == ["1"]


def test_numbers_of_any_length_stand_in_full():
    digits = "7" * 10_000
    long = answer(Outcome(Value(Amount(digits, "7.7e9999"), None), Coverage(1)), "compute")
    report = json.loads(json_text(summary_of([long])))
    assert report["results"][0]["value"]["exact"] == digits


def test_what_leaves_most_unknown_decides_the_exit_status():
    unread = ReadingStopped(None, "c.dpm", "the time limit of 1 s passed", "--timeout")
    assert summary_of([unread]).exit_status == 3
    events, statuses = [], [summary_of([]).exit_status]
    for event in (
        answer(UNDECIDED),
        answer(Outcome(Value(Amount("1", "1"), 1), Coverage(0)), "refute"),
        NoSuchFile(None, "b.dpm", None),
        Crash("a", "b"),
    ):
        events.append(event)
        statuses.append(summary_of(events).exit_status)
    assert statuses == [0, 3, 1, 2, 70]
    assert summary_of(events, is_interrupted=True).exit_status == 130
