"""`--changed-since REV`: files that differ, and those that import one that does."""

from __future__ import annotations

import json
import subprocess

import pytest

from dpcheck.cli import run

PART = """\
mechanism survey(truth = 3/4) {
  input x in {pos, neg}
  adjacent all
  y ~ bernoulli(if x = pos then truth else 1 - truth)
  output if y then Y else N
}
"""
TABLE = "row,a,Y,3/4\nrow,a,N,1/4\nrow,b,Y,1/4\nrow,b,N,3/4\npair,a,b\n"
CLAIM = "check survey: dp(ln 3)\n"


def git(*arguments):
    names = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *names, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Work in a repository with a file, one that imports it, one with a table, and another."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / "cache"))
    files = {
        "part.dpm": PART + CLAIM,
        "main.dpm": f'import "part.dpm"\n{CLAIM}',
        "table.csv": TABLE,
        "table.dpm": 'import "table.csv"\ncheck table: dp(ln 3)\n',
        "other.dpm": PART + CLAIM,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return tmp_path


def checked(capsys, *options):
    """Return the files that were checked, and the exit status."""
    status = run(["check", ".", "--format", "json", "--changed-since", "main", *options])
    report = json.loads(capsys.readouterr().out)
    return [result["file"] for result in report["results"]], status


def test_files_that_changed_and_their_importers_are_checked(checkout, capsys):
    assert checked(capsys) == ([], 0)
    git("checkout", "-b", "work")
    (checkout / "part.dpm").write_text(PART + CLAIM + "# more\n", "utf-8")
    git("commit", "-am", "more")
    assert checked(capsys) == (["main.dpm", "part.dpm"], 0)
    assert checked(capsys, "--jobs", "2") == (["main.dpm", "part.dpm"], 0)
    (checkout / "table.csv").write_text(TABLE.replace("3/4", "4/5").replace("1/4", "1/5"))
    (checkout / "new.dpm").write_text(PART + CLAIM, "utf-8")
    assert checked(capsys) == (["main.dpm", "new.dpm", "part.dpm", "table.dpm"], 1)


def test_a_branch_is_held_beside_where_it_left_the_other(checkout, capsys):
    git("checkout", "-b", "work")
    git("checkout", "main")
    (checkout / "other.dpm").write_text(PART + CLAIM + "# main goes on\n", "utf-8")
    git("commit", "-am", "later")
    git("checkout", "work")
    assert checked(capsys) == ([], 0)


def test_an_import_that_is_gone_and_settings_that_changed_are_changes(checkout, capsys):
    (checkout / "part.dpm").unlink()
    assert checked(capsys)[1] == 2
    git("checkout", "part.dpm")
    (checkout / "pyproject.toml").write_text("[tool.dpcheck]\nmax-states = 100\n", "utf-8")
    assert len(checked(capsys)[0]) == 4


@pytest.mark.parametrize("revision", ["nothing", "--all", "main:part.dpm"])
def test_a_commit_that_is_not_there_is_a_mistake(checkout, capsys, revision):
    assert run(["check", ".", f"--changed-since={revision}"]) == 2
    assert f"git knows no commit `{revision}` here" in capsys.readouterr().err


def test_without_git_or_a_checkout_it_says_so(checkout, capsys, tmp_path, monkeypatch):
    orphan = ["checkout", "--orphan", "alone"], ["commit", "-m", "alone"]
    for arguments in orphan:
        git(*arguments)
    assert run(["check", ".", "--changed-since", "main"]) == 2
    assert "have no commit in common" in capsys.readouterr().err
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert run(["check", ".", "--changed-since", "main"]) == 2
    assert "is in no checkout of git" in capsys.readouterr().err
    monkeypatch.setenv("PATH", "")
    assert run(["check", ".", "--changed-since", "main"]) == 2
    assert "git is not installed" in capsys.readouterr().err
