"""`dpcheck check -` reads a model from standard input."""

from __future__ import annotations

import io
import json

import pytest

from dpcheck.cli import run
from dpcheck.pipeline.sources.files import MAX_BYTES

MODEL = b"""\
import "coin.dpm"
mechanism m { input x in 0..1 adjacent all y ~ coin(if x = 1 then 1/3 else 2/3) output y }
check m: epsilon = ln 2
"""


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """Return the status, JSON report and standard error of `check -` of some bytes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coin.dpm").write_text("dist coin(p) = {true: p, false: 1 - p}")

    def call(content, *more):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        status = run(["check", "-", *more, "--format", "json"])
        out, err = capsys.readouterr()
        return status, json.loads(out), err

    return call


def test_standard_input_is_a_model_in_the_working_directory(checked):
    status, report, _ = checked(MODEL)
    assert status == 0
    assert [(r["file"], r["line"], r["verdict"]) for r in report["results"]] == [
        ("<stdin>", 3, "holds")
    ]


def test_it_is_checked_once_among_files(checked):
    _, report, _ = checked(MODEL, "coin.dpm", "-")
    assert [r["file"] for r in report["results"]] == ["<stdin>"]


def test_definitions_and_mistakes_are_those_of_any_file(checked):
    status, report, _ = checked(
        b"const n = 1\nmechanism m { input x in 0..n output x }", "-D", "n=2"
    )
    assert status == 2
    assert [(e["file"], e["line"]) for e in report["errors"]] == [("<stdin>", 2)]


@pytest.mark.parametrize(
    ("content", "code"), [(b"", "DP004"), (b"\xff", "DP002"), (b"a" * (MAX_BYTES + 1), "DP006")]
)
def test_what_is_no_model_is_a_mistake(checked, content, code):
    status, report, _ = checked(content)
    assert (status, [e["code"] for e in report["errors"]]) == (2, [code])


def test_a_file_named_as_standard_input_is_meant_by_a_path(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text("mechanism m { input x in 0..1 adjacent all output x }")
    assert run(["quantities", "./-"]) == 0
    assert "inf" in capsys.readouterr().out


def test_a_long_run_on_standard_input_ends_in_time(checked):
    text = b"""
mechanism m {
  input x in 0..30
  adjacent abs(x - x') <= 1
  t ~ geometric(9, 1/4) clamped 0..30
  q := 0
  while q < t {
    q ~ geometric(x, 1/2) clamped 0..30
    output q >= t
  }
}
compute m: epsilon
"""
    status, report, _ = checked(text, "--timeout", "2")
    assert (status, report["results"][0]["verdict"]) == (3, "undecided")
