"""Whatever stands in a model or a name of a file, what is written is clean text, XML or JSON."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from dpcheck.cli import run

ODD = "a\x1b[31m\x1b]0;x\x07\N{RIGHT-TO-LEFT OVERRIDE}b"
MODEL = f"""
mechanism m {{
  input x in {{"{ODD}", other}}
  adjacent all
  y ~ bernoulli(if x = other then 3/4 else 1/4)
  if y {{ output "{ODD}" }} else {{ output "\N{CJK UNIFIED IDEOGRAPH-6F22}" }}
}}
check "{ODD}" m: dp(ln 2)
check m: P>=1 [ X "{ODD}" ]
compute m: profile
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(MODEL, "utf-8")
    return tmp_path


def is_clean(text):
    return all(char.isprintable() or char == "\n" for char in text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "m.dpm"],
        ["check", "m.dpm", "--format", "json"],
        ["profile", "m.dpm", "--csv", "p.csv", "--svg", "p.svg"],
        ["quantities", "m.dpm"],
        ["pmf", "m.dpm", "m"],
        ["pmf", "m.dpm", "m", "--format", "csv"],
    ],
)
def test_no_control_character_of_a_model_is_written(model, capsys, arguments):
    run(arguments)
    assert is_clean("".join(capsys.readouterr()))
    for written in model.glob("p.*"):
        assert is_clean(written.read_text("utf-8"))


def test_a_drawing_is_xml_and_a_table_can_be_imported_whatever_the_names(model, capsys):
    assert run(["profile", "m.dpm", "--svg", "p.svg"]) == 0
    ET.parse(model / "p.svg")
    capsys.readouterr()
    assert run(["pmf", "m.dpm", "m", "--format", "csv"]) == 0
    table = capsys.readouterr().out
    rows = [row for row in csv.reader(io.StringIO(table)) if row[0] == "row"]
    assert len({row[2] for row in rows}) == 2
    (model / "t.csv").write_text(table, "utf-8")
    (model / "u.dpm").write_text('import "t.csv" check t: epsilon = ln 3', "utf-8")
    assert run(["check", "u.dpm"]) == 0


def test_names_that_become_alike_by_escapes_stay_apart():
    from dpcheck.pipeline.sources.tables import table_csv

    table = table_csv({"i": {"\x1b": "1/2", "\\x1b": "1/2"}}, [])
    assert len({row[2] for row in csv.reader(io.StringIO(table))}) == 2


def test_no_file_is_written_over_that_dpcheck_did_not_make(model, capsys):
    assert run(["profile", "m.dpm", "--svg", "m.dpm"]) == 2
    assert run(["profile", "m.dpm", "--csv", "m.dpm"]) == 2
    assert (model / "m.dpm").read_text("utf-8") == MODEL
    assert capsys.readouterr().err.count("DP011") == 2
    for _ in range(2):  # what it made itself is replaced, and so is an empty file
        assert run(["profile", "m.dpm", "--svg", "p.svg", "--csv", "p.csv"]) == 0
    (model / "empty.svg").touch()
    assert run(["profile", "m.dpm", "--svg", "empty.svg"]) == 0
    assert run(["profile", "m.dpm", "--svg", "no/p.svg"]) == 2
    assert "DP012" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes here")
def test_a_name_of_a_file_that_is_no_text_is_json_all_the_same(tmp_path, capsys):
    text = "chain c { state s state t adjacent s ~ t }\ncheck c: P>=1 [ X s ]"
    for name in (b"\xff.dpm", b"\xfe.dpm"):
        Path(tmp_path, os.fsdecode(name)).write_text(text, "utf-8")
    run(["check", str(tmp_path), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    names = {result["file"] for result in report["results"]}
    assert len(names) == 2
    assert all(name.encode("utf-8") for name in names)


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}])
def test_tables_can_be_written_to_any_terminal(model, form, environment):
    done = subprocess.run(
        [sys.executable, "-m", "dpcheck", "pmf", "m.dpm", "m", "--format", form],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"3/4" in done.stdout
