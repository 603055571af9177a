"""Claims that say nothing are flagged in every format, and fail where that is asked for."""

from __future__ import annotations

import json

import pytest

from dpcheck.check.formulas import vacuity
from dpcheck.cli import run

MODEL = """\
mechanism m {
  input x in 0..1
  adjacent all
  y ~ {0: if x = 0 then 1/3 else 2/3, 1: if x = 0 then 2/3 else 1/3}
  output y
}
mechanism alone { input x in 0..0 adjacent all; output x }
chain c {
  state s; state t; state u : a; state unreached : b
  s -> 1/2: u + 1/2: t
  t -> 1: u
  adjacent s ~ t
}
mechanism constant { input x in 0..1 adjacent all; output (1, 5) }
mechanism late {
  input x in 0..3
  adjacent x div 2 = x' div 2
  if x <= 1 { output (1, 5); stop }
  y := 0
  while y <= 3 { y ~ geometric(x, 1/2) unbounded }
  output (1, y)
}
mechanism cut {
  input x in 0..1
  adjacent all
  y := 0
  while y <= 3 { y ~ geometric(x, 1/2) unbounded }
  output if y >= 4 then 1 else 0
}
chain far { state s; state t; state w : a; state v; s -> 1: t; t -> 1: w; adjacent s ~ v }
"""
CLAIMS = {
    "check m: D{ln 2} [ X output = 0 ]": None,
    "check m: dp(ln 2)": None,
    "check m: P=1 [ F stopped ]": None,
    "check m: D{0} [ F stopped ]": "trivial probability",
    "check m: D{0} [ X output = 0 & X output = 1 ]": "trivial probability",
    "refute m: D{0} [ F (output = 0 | output = 5) ]": "unsatisfied atom",
    "check m: P>=0 [ F diverged ]": "unsatisfied atom",
    "check m: P=1 [ X D{0} [ X stopped ] ]": "no neighbors",
    "check alone: D{0} [ X output = 0 ]": "no neighbors",
    "check alone: dp(0)": "no neighbors",
    "compute alone: epsilon": "no neighbors",
    "compute m at x = 0 : P=? [ F output = 7 ]": "unsatisfied atom",
    "check c: P<=1 [ F b ]": "unsatisfied atom",
    "check c: P<=1 [ F a ]": None,
    "check c: D{0} [ F a ]": "trivial probability",
    "check constant: dp(0)": "trivial probability",
    "check late: dp(ln 2)": None,  # `> 3` stands for many numbers
    "check late at x <= 1 : dp(ln 2)": "trivial probability",
    "check cut: dp(0)": "trivial probability",
    "check far at s : P=1 [ F a ]": None,
}


def checked(folder, capsys, claim, *options):
    """Return the exit status and what was printed."""
    path = folder / "model.dpm"
    path.write_text(MODEL + claim, encoding="utf-8")
    status = run(["check", str(path), *options])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_says_nothing_is_flagged_in_every_format(tmp_path, capsys, claim):
    status, text = checked(tmp_path, capsys, claim)
    assert status == 0
    status, printed = checked(tmp_path, capsys, claim, "--format", "json")
    (result,) = json.loads(printed)["results"]
    assert status == 0
    assert result["vacuous"] == (CLAIMS[claim] is not None) == ("vacuous: " in text)
    reasons = result.get("vacuity", [])
    assert {reason["kind"] for reason in reasons} == {CLAIMS[claim]} - {None}
    assert all(f"vacuous: {reason['text']}" in text for reason in reasons)


@pytest.mark.parametrize("claim", CLAIMS)
def test_strict_vacuity_lets_it_fail(tmp_path, capsys, claim):
    expected = 0 if CLAIMS[claim] is None else 1
    status, text = checked(tmp_path, capsys, claim, "--strict-vacuity")
    assert status == expected
    assert ("✗" in text) == (expected == 1)
    status, printed = checked(tmp_path, capsys, claim, "--strict-vacuity", "--format", "json")
    report = json.loads(printed)
    assert status == expected
    assert report["ok"] == report["results"][0]["ok"] == (expected == 0)


def test_strict_vacuity_is_shown_when_only_failures_are(tmp_path, capsys):
    _, text = checked(tmp_path, capsys, "check m: D{0} [ F stopped ]", "-q")
    assert not text
    _, text = checked(tmp_path, capsys, "check m: D{0} [ F stopped ]", "-q", "--strict-vacuity")
    assert "vacuous: " in text


def test_an_atom_that_is_met_after_one_step_needs_no_search(tmp_path, capsys, monkeypatch):
    def search(*_args, **_options):
        raise AssertionError("states are searched")

    monkeypatch.setattr(vacuity, "_visited", search)
    for claim in ("check m: D{ln 2} [ X output = 0 ]", "check c: P<=1 [ F a ]"):
        assert checked(tmp_path, capsys, claim)[0] == 0
    assert checked(tmp_path, capsys, "check far at s : P=1 [ F a ]")[0] not in (0, 1)
