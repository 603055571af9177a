"""What runs, parts and lists of a report say, and what they leave out by name."""

from __future__ import annotations

import json
import time

import jsonschema
import pytest

from dpcheck.check.values.verdicts import Amount
from dpcheck.cli import run as command
from dpcheck.explain import event_claims, explain
from dpcheck.explain.explanation import Line, OutputStep
from dpcheck.limits import Limit, LimitReached
from dpcheck.report.explained.attribution import by_output_rows, run_rows
from dpcheck.report.explained.lines import explanation_rows
from dpcheck.report.text import answer_text
from tests.explain.explaining import answers, exact, explained
from tests.report.test_json import SCHEMA

SURVEY = """
mechanism survey(truth = 3/4) {
  input x in {pos, neg}
  adjacent all
  y ~ if x = pos then {Y: truth, N: 1 - truth} else {Y: 1 - truth, N: truth}
  output y
}
"""
CHAIN = """
chain table(n = 5) {
  state s[k in 0..n] : start
  state t[l in 0..n] : answer
  for k in 0..n { s[k] -> l ~ geometric(k, 1/2) clamped 0..n : t[l] }
  adjacent s[k] ~ s[l] where abs(k - l) = 1
  observe t
}
"""


def told(run):
    """Return the rows of a run as text."""
    return [row for row, _ in run_rows(run, run.steps[0].line.file, 90)]


def test_a_run_from_one_input_says_what_its_draws_depend_on(tmp_path):
    text = """mechanism m {
      input x in 0..2
      adjacent abs(x - x') <= 1
      shift := 2 * x
      y ~ geometric(shift, 1/2) clamped 0..4
      z ~ {0: 1/2, 1: 1/2}
      output y + z
    }
    check m: P<=1/100 [ X output = 4 ]
    check m: E<=1/100 [ output ]"""
    for found in explained(text, tmp_path):
        depends = {step.variable: step.reads for step in found.run.steps if step.kind == "draw"}
        assert [(each.name, each.left, each.right) for each in depends["y"]] == [("shift", "4", "")]
        assert depends["z"] == ()
        assert any("shift = 4 " in row for row in told(found.run))


def test_where_the_sides_part_it_is_told_what_the_branch_reads(tmp_path):
    """Also where the branch is the last statement, and where its variable has changed since."""
    text = """mechanism m {
      input q[1..2] in 0..1
      adjacent linf(q, q') <= 1
      for i in 1..2 {
        seen := q[i] + 1
        if seen > 1 { seen := 0 output top } else { seen := 0 output bot }
      }
    }
    mechanism ends { input x in 0..1 adjacent all output first if x = 1 { output more } }
    check m: dp(1)
    check ends: dp(1)"""
    parted, ends = (found.run.steps for found in explained(text, tmp_path))
    assert [(each.name, each.left, each.right) for each in parted[-1].reads] == [("seen", "1", "2")]
    assert "goes elsewhere (line 6)" in parted[-1].note
    assert ends[-1].kind == "end"
    assert [(each.name, each.left, each.right) for each in ends[-1].reads] == [("x", "0", "1")]


def test_a_run_of_a_chain_has_both_sides_step_by_step(tmp_path):
    text = f"{CHAIN}check table: dp(ln(3/2))\ncheck table: D{{0}} [ X t[1] ]\n"
    for found in explained(text, tmp_path):
        (step,) = found.run.steps
        assert (
            exact(step.left) / exact(step.right)
            == exact(step.factor)
            == exact(found.inequality.ratio)
        )
        assert told(found.run)[0].split() == ["line", "to", "state", "left", "right", "factor"]
        assert not any("from the right" in row for row in told(found.run))


def test_parts_with_equal_factors_are_told_once(tmp_path):
    text = f"{CHAIN}check table: exists(l in 0..5 : D{{1/2}} [ X t[l] ])\n"
    (found,) = explained(text, tmp_path)
    first, *others = (each for each in found.remarks if each.label.startswith("part"))
    assert first.run is not None
    assert len(others) == 5
    assert all(each.run is None for each in others)
    assert all(each.like == "part 1" for each in others)
    rows = [row.text for row in explanation_rows(found, "model.dpm")]
    assert sum(row.endswith("; the run is like that of part 1") for row in rows) == 5
    assert not any("part 1" in row.text for row in explanation_rows(found.in_short, "model.dpm")), (
        "the run that it names is left out"
    )
    text = """mechanism m { input x in 0..1 adjacent all
      y ~ bernoulli(if x = 0 then 3/4 else 1/2) output y }
    check m: D{0} [ X output = true ] | D{0} [ X output = false ]"""
    (found,) = explained(text, tmp_path)
    assert [each.run is not None for each in found.remarks] == [False, True, True]


def test_several_runs_outside_are_shown(tmp_path):
    text = """mechanism m { input x in 0..1 adjacent all
      y ~ {0: 1/10, 1: 2/10, 2: 3/10, 3: 4/10} output y }
    check m: P>=1/2 [ X output = 0 ]"""
    (found,) = explained(text, tmp_path)
    outside = [(each.shown.outputs, exact(each.probability)) for each in found.runs[1:]]
    assert [shown for shown, _ in outside] == [("3",), ("2",), ("1",)]
    assert sum(p for _, p in outside) > 1 / 2


def test_no_run_is_missing_where_one_is_shown(tmp_path, monkeypatch):
    def too_long(*_):
        raise LimitReached(Limit("time", 1))

    monkeypatch.setattr(explain, "first_traced", too_long)
    (found,) = explained(f"{SURVEY}check compose(survey, 20): dp(4, 1/1000)\n", tmp_path)
    assert [each.run is not None for each in found.remarks] == [False, True]
    assert not found.omitted


def test_parts_of_a_composition_have_labels_in_json(tmp_path, capsys):
    (tmp_path / "m.dpm").write_text(
        f"{SURVEY}check compose(survey, 3, survey(truth = 2/3), 2): dp(1/2, 1/100)\n", "utf-8"
    )
    command(["check", str(tmp_path / "m.dpm"), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    remarks = report["results"][0]["explanation"]["remarks"]
    assert [each["label"] for each in remarks] == ["by part", "by part"]


def test_a_long_event_is_checked_again_within_the_time_of_explaining(tmp_path, monkeypatch):
    """The clock is asked before every sequence: what is left of them may take many seconds."""
    text = f"{SURVEY.replace('output y', 'output y  output y')}check survey: dp(0, 1/4)\n"
    (found,) = explained(text, tmp_path)
    assert not found.omitted
    seen = []

    def slow(chain, source, sequences, p):
        for shown in sequences:
            seen.append(shown)
            monkeypatch.setattr(time, "process_time", lambda: float("inf"))

    several = "mechanism m { input x in 0..1 adjacent all y ~ uniform(0..9) output (x, y) }"
    monkeypatch.setattr(event_claims, "certify_event", slow)
    (found,) = [each.explanation for each in answers(f"{several} check m: dp(1, 4/5)", tmp_path)]
    assert len(seen) == 1
    assert "explanation" in found.omitted


def test_equal_outputs_in_a_row_have_one_row(tmp_path):
    text = """mechanism m { input x in 0..1 adjacent all go := true
      while go { go ~ bernoulli(if x = 0 then 2/3 else 1/2) output tick } }
    check m: dp(ln 10)"""
    (found,) = explained(text, tmp_path)
    n = len(found.by_output)
    rows = by_output_rows(found.by_output, found.by_output[0].lines[0].file, 90)
    assert n > 9
    assert len(rows) == 2
    assert f" 2..{n} = tick " in rows[1]
    assert rows[1].endswith(f"(4/3)^{n - 1}")


@pytest.mark.parametrize(("n", "more"), [(40, 0), (300, 260)])
def test_of_a_long_run_the_ends_are_shown(tmp_path, n, more):
    text = f"""chain line {{
      state s[i in 0..{n}]  state t[i in 0..{n}]  state off
      for i in 0..{n - 1} {{ s[i] -> 1/2: s[i + 1] + 1/2: off  t[i] -> 1/3: t[i + 1] + 2/3: off }}
      adjacent s[0] ~ t[0]
    }}
    check line: D{{1}} [ F s[{n}] ]"""
    (found,) = explained(text, tmp_path)
    rows = told(found.run)
    assert len(found.run.steps) == n
    assert len(rows) == (42 if more else 41)
    assert any(f"({more} more rows)" in row for row in rows) == (more > 0)
    assert rows[1].split()[1:] == ["s[1]", "1/2"]
    assert rows[-1].split()[1:] == [f"s[{n}]", "1/2"]


def test_two_equal_outputs_in_a_row_are_one_row():
    half, third = Amount("1/2", "0.5"), Amount("1/3", "0.33333333333333333")
    factor, lines = Amount("3/2", "1.5"), (Line("m.dpm", 7),)
    steps = [OutputStep(k, "bot", lines, half, third, factor) for k in (1, 2)]
    rows = by_output_rows([*steps, OutputStep(3, "top", lines, half, third, factor)], "m.dpm", 80)
    assert [row.split() for row in rows[1:]] == [
        ["7", "1..2", "=", "bot", "1/2", "1/3", "(3/2)^2"],
        ["7", "3", "=", "top", "1/2", "1/3", "3/2", "=", "1.5"],
    ]


@pytest.mark.parametrize(
    "claim", ["delta(ln 2) <= -1/10", "delta(ln 2) = -1/10", "delta(ln 2) < 0"]
)
def test_no_sequence_shows_that_a_delta_is_not_negative(claim, tmp_path):
    text = f"""mechanism m {{
      input x in 0..1
      adjacent all
      y ~ bernoulli(if x = 0 then 1/2 else 2/3)
      output y
    }}
    check m: {claim}"""
    (found,) = explained(text, tmp_path)
    assert (found.run, found.attacker, found.tight) == (None, None, None)


ALIKE = "every set of outputs is equally likely on both sides of every pair"
NO_RATIO = "no set of outputs is more than 2 times as likely on one side of a pair as on the other"
NO_DIFFERENCE = "no set of outputs is more likely on one side of a pair than on the other"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("epsilon >= ln 2", ALIKE),
        ("delta(0) > 0", ALIKE),
        ("delta(ln 2) <= -1/10", NO_RATIO),
        ("epsilon(1/10) = 1", f"{NO_DIFFERENCE} by more than 1/10"),
    ],
)
def test_a_value_of_0_says_what_no_event_shows(claim, text, tmp_path):
    model = f"""mechanism m {{
      input x in 0..1
      adjacent all
      y ~ bernoulli(1/2)
      output y
    }}
    check m: {claim}"""
    (found,) = explained(model, tmp_path)
    assert [(each.label, str(each.text)) for each in found.remarks] == [("no event", text)]
    (alone,) = explained(model.replace("0..1", "0..0"), tmp_path)
    assert alone.remarks == ()


def test_a_long_sequence_that_factors_are_for_is_folded(tmp_path):
    text = """mechanism m { input x in 0..1 adjacent all
      s ~ bernoulli(1/2)
      repeat 9 { y ~ bernoulli(if x = 1 then 2/3 else 1/3)
        s := if s then y else !y
        output s } }
    check m: dp(ln 2, 1/2)"""
    (answer,) = answers(text, tmp_path)
    lines = answer_text(answer).splitlines()
    assert any("by output    for " in each for each in lines)
    assert max(map(len, lines)) <= 100


def test_a_state_that_decides_a_formula_alone_is_no_run(tmp_path, capsys):
    text = """chain c { state s  state t : Y
      s -> 1: t
      adjacent s ~ t
      init s }
    check c: P>=1/3 [ G Y ]
    check c at t: P<=1/3 [ X stopped ]"""
    (tmp_path / "model.dpm").write_text(text, "utf-8")
    command(["check", str(tmp_path), "--format", "json"])
    jsonschema.validate(json.loads(capsys.readouterr().out), SCHEMA)


def test_what_is_tight_is_told_where_there_is_no_time_for_more(tmp_path, monkeypatch):
    def too_long(*_):
        raise LimitReached(Limit("time", 1))

    monkeypatch.setattr(event_claims, "_of_smallest_pair", too_long)
    (found,) = explained(f"{SURVEY}check survey: dp(ln 2)\n", tmp_path)
    assert str(found.tight.text) == "epsilon = ln(3); delta(ln(2)) = 1/4"
    assert found.omitted == ("explanation",)
    assert found.neighbors.left == "x = pos"


def test_what_is_tight_leaves_time_for_the_rest(tmp_path, monkeypatch):
    def late(subject, *_):
        monkeypatch.setattr(time, "process_time", lambda: subject.limits.cpu_deadline + 1e-3)
        subject.limits.check_time("what is tight")

    monkeypatch.setattr(event_claims, "_tight", late)
    (found,) = explained(f"{SURVEY}check survey: dp(ln 2)\n", tmp_path)
    assert found.omitted == ("tight",)
    assert found.run is not None
