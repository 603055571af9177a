"""Check a text as the command line does, and look at the report it prints as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from unittest.mock import patch

import jsonschema

from dpcheck.cli import run
from dpcheck.limits import with_deep_stack

SCHEMA = json.loads((resources("dpcheck.report") / "schema" / "results-1.json").read_text("utf-8"))
VALID = jsonschema.Draft202012Validator(SCHEMA)


def _done_here(work, limits, waiting):
    """Yield what the work finds, without a worker: each would import and compile all anew.

    That took 140 ms a text, and takes 14 ms. Workers have tests in `tests/cli`, and every golden
    file comes from one.
    """
    yield from with_deep_stack(lambda: list(work.events(())))


def check_files(files, name, *options):
    """Return the JSON report, as its schema wants it, of one of several files in their folder."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        printed = io.StringIO()
        here = patch("dpcheck.cli.work.supervised", _done_here)
        inside = contextlib.chdir(Path(folder, name).parent)  # no settings: reading ours takes 4 ms
        with inside, here, redirect_stdout(printed), redirect_stderr(io.StringIO()):
            run(["check", str(Path(folder, name)), "--format", "json", *options])
    report = json.loads(printed.getvalue())
    VALID.validate(report)
    return report


def check_text(text, *options):
    """Return the JSON report of checking a text."""
    return check_files({"main.dpm": text}, "main.dpm", *options)


@dataclass(frozen=True)
class Run:
    """What a call of the command printed, and its exit status."""

    returncode: int
    stdout: str
    stderr: str


def called(*arguments, cwd="."):
    """Call the command with workers of its own, but in this process: nothing is imported anew."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        status = run([str(argument) for argument in arguments])
    return Run(status, out.getvalue(), err.getvalue())


def outcome(report):
    """Return (kind, target, claim, verdict) of every result."""
    keys = ("kind", "target", "claim", "verdict")
    return [tuple(result[key] for key in keys) for result in report["results"]]


def verdicts(report):
    """Return the verdict of every result."""
    return [result["verdict"] for result in report["results"]]


def error_codes(report):
    """Return the codes of the mistakes that the report lists."""
    return [error["code"] for error in report.get("errors", [])]
