"""`dpcheck list` and `dpcheck new`: what ships, and a file to start from."""

from __future__ import annotations

import os
import stat

import pytest

from dpcheck.cli import run
from dpcheck.pipeline.sources.library import STARTING_FILE, library
from tests.checking import check_text


def test_list_prints_a_line_for_every_library(capsys):
    assert run(["list"]) == 0
    out, err = capsys.readouterr()
    assert not err
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == [f"std.{file.name}" for file in library()]
    assert all(line.endswith(file.title) for line, file in zip(lines, library(), strict=True))


def test_new_writes_a_commented_file_that_checks_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["new", "visits"]) == 0
    assert "dpcheck check visits.dpm" in capsys.readouterr().out
    text = (tmp_path / "visits.dpm").read_text("utf-8")
    assert "mechanism visits(" in text
    assert "NAME" not in text.replace("std.NAME", "")
    assert run(["check", "visits.dpm"]) == 0
    report = check_text(text)
    assert report["ok"]
    assert {result["kind"] for result in report["results"]} == {"check", "refute", "compute"}
    assert not any(result["vacuous"] for result in report["results"])


def test_new_takes_a_path_and_the_suffix(tmp_path):
    (tmp_path / "models").mkdir()
    assert run(["new", str(tmp_path / "models" / "visits.dpm")]) == 0
    assert (tmp_path / "models" / "visits.dpm").exists()


def test_new_never_touches_a_file_that_exists(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.dpm").write_text("mine", "utf-8")
    assert run(["new", "visits"]) == 2
    assert "DP011" in capsys.readouterr().err
    assert (tmp_path / "visits.dpm").read_text("utf-8") == "mine"


def test_new_does_not_follow_a_dangling_link(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.dpm").symlink_to(tmp_path / "elsewhere")
    assert run(["new", "visits"]) == 2
    assert "DP011" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_new_in_a_read_only_directory_is_a_clean_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert run(["new", "visits"]) == 2
    finally:
        tmp_path.chmod(stat.S_IRWXU)
    assert "DP012" in capsys.readouterr().err


def test_new_where_the_system_refuses_is_a_clean_error(capsys):
    assert run(["new", "/dev/null/visits"]) == 2
    err = capsys.readouterr().err
    assert "DP012" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "name",
    ["", ".dpm", "my-survey", "2nd", "while", "mechanism", "geometric", "a b", "é!"],
)
def test_new_refuses_what_cannot_name_a_mechanism(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["new", name]) == 2
    assert "DP013" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["survey", "x", "P", "k", "n", "alpha", "delta", "epsilon", "dp"])
def test_the_starting_file_checks_under_any_name_it_may_have(name):
    assert check_text(STARTING_FILE.replace("NAME", name))["ok"]


# --- overviews -----------------------------------------------------------------------------

LARGE = "mechanism m { input x in 1..10^12 adjacent abs(x - x') <= 1 output x }"
SMALL = """
mechanism m { input x in 0..1 adjacent all y ~ geometric(x, 1/2) clamped 0..1 output y }
mechanism n { input x in 0..1 adjacent all output x }
"""


@pytest.mark.parametrize("command", ["profile", "quantities"])
@pytest.mark.parametrize(
    ("text", "options", "reason", "advice"),
    [
        (LARGE, [], "more than 10000000 states", "shrink the sets"),
        (SMALL, ["--max-states", "1"], "more than 1 states", "raise `--max-states`"),
        (SMALL, ["--timeout", "0.0001"], "the time limit of 0.0001 s passed", "raise `--timeout`"),
    ],
)
def test_an_overview_says_which_limit_was_reached_and_what_to_raise(
    tmp_path, capsys, command, text, options, reason, advice
):
    (tmp_path / "m.dpm").write_text(text)
    assert run([command, str(tmp_path / "m.dpm"), *options]) == 3
    out, _ = capsys.readouterr()
    assert f"undecided: {reason}" in out
    assert advice in out


def test_an_overview_gives_a_reason_once_for_all_quantities(tmp_path, capsys):
    (tmp_path / "m.dpm").write_text(LARGE)
    assert run(["quantities", str(tmp_path / "m.dpm")]) == 3
    assert capsys.readouterr().out.count("undecided: more than") == 1


def test_a_drawing_of_a_profile_that_is_undecided_is_not_the_fault_of_the_call(tmp_path, capsys):
    (tmp_path / "m.dpm").write_text(LARGE)
    svg = tmp_path / "m.svg"
    assert run(["profile", str(tmp_path / "m.dpm"), "--svg", str(svg)]) == 3
    assert "undecided" in capsys.readouterr().out
    assert not svg.exists()


ADAPTIVE = """
mechanism m { input x in 0..1 adjacent all query c in 0..1
  y ~ bernoulli(if x = c then 3/4 else 1/4) output y }
"""
FOR_ALL = """
param p in (1/2, 1)
mechanism m { input x in 0..1 adjacent all
  y ~ {0: if x = 0 then p else 1 - p, 1: if x = 1 then p else 1 - p} output y }
"""


@pytest.mark.parametrize(
    ("text", "epsilon", "code"),
    [(ADAPTIVE, "ln(3)", "DP633"), (FOR_ALL, "ln(p/(1 - p))", "DP627")],
)
def test_a_table_of_quantities_has_the_row_of_a_target_that_lacks_some(
    tmp_path, capsys, text, epsilon, code
):
    (tmp_path / "m.dpm").write_text(text)
    assert run(["quantities", str(tmp_path / "m.dpm"), "--target", "m"]) == 0
    out, err = capsys.readouterr()
    row = next(line for line in out.splitlines() if line.startswith("m "))
    assert epsilon in row
    assert row.split()[-5:] == ["-"] * 5
    assert out.count(code) == 1
    assert not err
