"""Check a text as the command line does, and look at the report it prints as JSON."""

from __future__ import annotations

import io
import json
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from dpcheck.cli import run


def check_files(files, name, *options):
    """Return the JSON report of checking one of several files in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(io.StringIO()):
            run(["check", str(Path(folder, name)), "--format", "json", *options])
    return json.loads(printed.getvalue())


def check_text(text, *options):
    """Return the JSON report of checking a text."""
    return check_files({"main.dpm": text}, "main.dpm", *options)


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
