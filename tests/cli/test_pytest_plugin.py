"""`pytest models/` runs every claim as a test, and failures read like the terminal's report."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dpcheck
from dpcheck.testing import assert_budget, assert_dp

ROOT = Path(__file__).resolve().parents[2]
SURVEY = """\
mechanism survey(truth = 3/4) {
  input x in {pos, neg}
  adjacent all
  y ~ bernoulli(if x = pos then truth else 1 - truth)
  output if y then Y else N
}
check survey: dp(ln 3)
check survey: dp(ln 2)
refute survey: dp(ln 3)
compute survey: epsilon
"""


def pytest_in(folder, *options):
    """Run pytest with the plugin once, whether or not the installed package offers it."""
    command = [sys.executable, "-m", "pytest", "-p", "no:dpcheck"]
    command += [
        "-p",
        "dpcheck.cli.pytest_plugin",
        "-rA",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        *options,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_every_claim_is_a_test_and_the_counterexample_its_failure(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    (models / "survey.dpm").write_text(SURVEY, "utf-8")
    (models / "broken.dpm").write_text("check nobody: dp(1)\n", "utf-8")
    run = pytest_in(tmp_path, "models")
    assert run.returncode == 2
    assert "error[DP305]: there is no mechanism or chain `nobody`" in run.stdout
    (models / "broken.dpm").unlink()
    run = pytest_in(tmp_path, "models")
    assert run.returncode == 1
    assert "2 failed, 2 passed" in run.stdout
    assert "PASSED models/survey.dpm::7: check survey: dp(ln 3)" in run.stdout
    assert "✗ check   dp(ln 2)  violated" in run.stdout
    assert "survey.dpm:8\n" in run.stdout
    assert "fails        3/4 <= 2 * 1/4" in run.stdout
    assert "Traceback" not in run.stdout


def test_assertions_in_python_say_what_the_terminal_says():
    survey = dpcheck.mechanisms.survey()
    assert_dp(survey, "dp(ln 3)")
    assert_budget(survey, epsilon="ln 2", delta="1/4")
    with pytest.raises(AssertionError) as failure:
        assert_budget(survey, epsilon="ln 2")
    assert "✗ check   dp(ln 2, 0)  violated" in str(failure.value)
    assert "3/4 <= 2 * 1/4" in str(failure.value)
    with pytest.raises(AssertionError, match="accuracy"):
        assert_dp(survey, "accuracy(0, 1/10) <= 1")


def test_the_plugin_is_an_entry_point_and_the_hook_calls_the_command():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"dpcheck": "dpcheck.cli.pytest_plugin"}
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    assert "entry: dpcheck check\n" in hook
