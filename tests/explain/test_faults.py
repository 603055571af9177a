"""Whatever happens while a claim is explained, its verdict is told, and what was left out named."""

from __future__ import annotations

import json
import os
import time

import pytest

from dpcheck.cli import run
from dpcheck.explain import event_claims, explain
from dpcheck.limits import Limit, LimitReached

MODEL = """
mechanism m { input x in {0, 1} adjacent all y ~ {x: 3/4, 1 - x: 1/4} output y }
check m: dp(1)
check m: dp(2)
"""


def report(folder, capsys, *options):
    """Return the JSON report of the model, what stood on standard error, and the exit status."""
    path = folder / "m.dpm"
    path.write_text(MODEL)
    status = run(["check", str(path), "--format", "json", *options])
    out, err = capsys.readouterr()
    return json.loads(out), err, status


def fail(*_arguments, **_options):
    raise KeyError("a bug")


def reach_a_limit(*_arguments, **_options):
    raise LimitReached(Limit("states", 5))


@pytest.mark.parametrize("part", ["attacker", "traced_run", "rules_of", "_tight", "_others"])
def test_a_bug_in_a_part_costs_that_part(part, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(event_claims, part, fail)
    found, err, status = report(tmp_path, capsys)
    assert [each["verdict"] for each in found["results"]] == ["violated", "holds"]
    explanation = found["results"][0]["explanation"]
    assert explanation["inequality"]["p"]["exact"] == "3/4"
    assert explanation["omitted"] == explanation["faulty"]
    assert "KeyError: 'a bug'" in err + json.dumps(found)
    assert status == 70


@pytest.mark.parametrize(
    ("happens", "status", "seconds"),
    [
        *((fail, 70, 60), (reach_a_limit, 1, 60), (lambda: os._exit(1), 70, 60)),
        (lambda: time.sleep(60), 1, 3),  # enough to decide on a busy machine
    ],
    ids=["a bug", "a limit", "the end of the process", "nothing"],
)
def test_no_explanation_costs_a_verdict(happens, status, seconds, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(explain, "explain_event_claim", lambda *_, **__: happens())
    found, _, ended = report(tmp_path, capsys, "--timeout", str(seconds))
    assert [each["verdict"] for each in found["results"]] == ["violated", "holds"]
    assert found["results"][0]["counterexample"]["probabilities"] == ["3/4", "1/4"]
    assert found["results"][0]["explanation"]["omitted"] == ["explanation"]
    assert ended == status


def test_without_an_explanation_there_is_the_counterexample(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(explain, "explain_event_claim", fail)
    report(tmp_path, capsys)
    run(["check", str(tmp_path / "m.dpm")])
    out, err = capsys.readouterr()
    assert "omitted      most of the explanation (a bug in dpcheck: see the end)" in out
    assert "neighbors    x = 0" in out
    assert "KeyError: 'a bug'" in err
