"""[tool.dpcheck] of pyproject.toml, which may be a stranger's: it can be stricter, not looser."""

from __future__ import annotations

import json
import re

import pytest

from dpcheck.cli import run

MODEL = """\
const n = 2
mechanism count(k = n) {
  input x in 0..k
  adjacent abs(x - x') <= 1
  y ~ geometric(x, 1/2) clamped 0..k
  output y
}
check count: dp(ln 2)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return what writes the settings of a project to work in."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "count.dpm").write_text(MODEL, "utf-8")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "cache"))

    def write(settings):
        (tmp_path / "pyproject.toml").write_text(f"[tool.dpcheck]\n{settings}\n", "utf-8")

    return write


def results(capsys, *arguments):
    status = run(["check", *arguments, "--format", "json"])
    return json.loads(capsys.readouterr().out).get("results"), status


def test_a_project_says_what_to_check_and_with_which_constants(project, capsys, monkeypatch):
    project('paths = ["models"]\nconstants = { n = 4, other = "1/2" }')
    (found,), status = results(capsys)
    assert (found["covers"][0], status) == ("for x in 0..4", 0)
    assert results(capsys, "-D", "n=3")[0][0]["covers"][0] == "for x in 0..3"
    assert results(capsys, "--no-config", "models")[0][0]["covers"][0] == "for x in 0..2"
    assert run(["check", "models", "-D", "other=3"]) == 2
    capsys.readouterr()
    monkeypatch.chdir("models")
    assert results(capsys)[0][0]["file"] == "count.dpm"
    assert run(["check", "count.dpm"]) == 0
    assert "for x in 0..4" in capsys.readouterr().out


def test_limits_are_only_lowered_and_the_call_wins(project, capsys):
    project("max-states = 2")
    (found,), status = results(capsys, "models")
    assert (found["verdict"], status) == ("undecided", 3)
    assert results(capsys, "models", "--max-states", "99")[1] == 0
    project('max-states = 1000000000000\ntimeout = 7\nmax-memory = "900T"')
    assert run(["config"]) == 0
    rows = [re.split("  +", line) for line in capsys.readouterr().out.splitlines()]
    shown = {name: rest for name, *rest in rows}
    assert shown["max-states"] == ["10000000", "default, which pyproject.toml cannot raise"]
    assert shown["timeout"] == ["7 s", "pyproject.toml"]
    assert shown["max-memory"][1].startswith("default, which")
    assert shown["cache-dir"][1] == "$XDG_CACHE_HOME"


def test_a_baseline_and_strictness_of_a_project_hold(project, capsys, tmp_path):
    project('baseline = "privacy.lock"\nstrict-vacuity = true')
    assert run(["check", "models", "--update-baseline"]) == 0
    model = tmp_path / "models" / "count.dpm"
    model.write_text(MODEL.replace("ln 2", "ln 3"), "utf-8")
    assert run(["check", "models"]) == 1
    assert "worse than privacy.lock" in capsys.readouterr().out
    assert run(["check", "models", "--select", "dp*"]) == 0
    model.write_text(MODEL.replace("<= 1", "<= 0"), "utf-8")
    assert run(["check", "models", "--select", "dp*"]) == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('paths = ["../"]', "lies outside of"),
        ('paths = "models"', "a list of files and folders is meant"),
        ('baseline = "link/privacy.lock"', "lies outside of"),
        ('cache-dir = "cache"', "has no setting `cache-dir`"),
        ("allow-empty = true", "has no setting `allow-empty`"),
        ("strict-vacuity = false", "only `true` is meant"),
        ("timeout = 0", "a positive number is meant"),
        ("jobs = true", "a positive number is meant"),
        ('max-memory = "many"', "that is no value for it"),
        ("constants = { n = 0.5 }", "a float is not exact"),
        ('constants = { "n=1" = 2 }', "a table of names is meant"),
        ('explain = "long"', "`full`, `short` or `none` is meant"),
        ("timeout = ", "cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_is_named(project, capsys, tmp_path, settings, said):
    project(settings)
    (tmp_path / "link").symlink_to(tmp_path.parent)
    assert run(["check", "models"]) == 2
    assert said in capsys.readouterr().err
    assert run(["config"]) == 2
    assert said in capsys.readouterr().err


def test_settings_of_others_are_not_read(project, capsys, tmp_path):
    outside = tmp_path.parent / "pyproject.toml"
    outside.write_text("[tool.dpcheck]\nmax-states = 1\n", "utf-8")
    assert run(["check", "models"]) == 0
    (tmp_path / "pyproject.toml").symlink_to(outside)
    assert run(["check", "models"]) == 2
    assert "is a link that leads elsewhere" in capsys.readouterr().err
    outside.unlink()
