"""The README tells the truth: CI runs its commands, and its examples print what it says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpcheck.cli.checking import OUTPUTS
from tests.checking import check_text

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
FORMATS = (ROOT / "docs" / "ci.md").read_text("utf-8")


def blocks(language, text=README):
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def marked(name):
    """Return the command after `<!-- run: name -->`."""
    found = re.search(rf"<!-- run: {name} -->\n```sh\n(.*?)\n```", README, flags=re.DOTALL)
    assert found, f"the README has no command marked {name}"
    return found[1]


def test_ci_runs_the_two_commands_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert "readme_command first" in script
    assert "readme_command tests" in script
    assert blocks("console")[0].startswith(f"$ dpcheck check {marked('first').split()[-1]}\n")
    assert "pytest" in marked("tests")


def test_the_two_commands_need_no_activated_environment():
    for name in ("first", "tests"):
        command = marked(name)
        assert "\n" not in command
        assert "activate" not in command
        for part in command.split("&&")[1:]:
            assert shlex.split(part)[0].startswith(".venv/bin/")


def test_the_documents_name_every_format():
    (named,) = re.findall(r"^ +\[--format ([a-z|]+)\]$", README, flags=re.MULTILINE)
    (table,) = re.findall(r"^\| format \| for \|\n((?:\|.*\n)+)", FORMATS, flags=re.MULTILINE)
    assert named.split("|") == re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE) == [*OUTPUTS]


def test_sessions_print_what_the_readme_shows(tmp_path):
    """A `console` block is a session: `$ command`, then what it prints; `dpm` blocks are files."""
    for text in blocks("dpm"):
        name = re.match(r"# (\S+\.dpm)", text)
        if name:
            (tmp_path / name[1]).write_text(text, "utf-8")
    shutil.copytree(ROOT / "models", tmp_path / "models")
    sessions = blocks("console")
    assert sessions
    for session in sessions:
        for call in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
            command, _, expected = call.partition("\n")
            words = shlex.split(command)
            assert words[0] == "dpcheck"
            run = subprocess.run(
                [sys.executable, "-m", "dpcheck", *words[1:]],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            shown = re.sub(r"\(\d+\.\d\d s\)", "(0.00 s)", run.stderr + run.stdout)
            expected = re.sub(r"\(\d+\.\d\d s\)", "(0.00 s)", expected)
            assert shown.strip() == expected.strip(), command


@pytest.mark.parametrize("text", blocks("python"))
def test_python_examples_run(text, tmp_path, monkeypatch):
    for model in blocks("dpm"):
        name = re.match(r"# (\S+\.dpm)", model)
        if name:
            (tmp_path / name[1]).write_text(model, "utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(text, "README.md", "exec"), {})  # the example asserts what it shows


PAGES = [path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize(
    "text", [block for page in (README, *PAGES) for block in blocks("dpm", page)]
)
def test_models_in_the_documents_come_out_as_written(text):
    report = check_text(text)
    assert "errors" not in report, report
    assert report["ok"] is not ("(one claim is false)" in text), report
