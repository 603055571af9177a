"""The wheel holds everything the command needs, and works away from this directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODEL = """\
import std.survey
check survey: epsilon = ln 3
refute survey: dp(ln 2)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True)
    (built,) = folder.glob("dpcheck-*.whl")
    return built


def test_the_wheel_holds_grammar_libraries_schema_and_license(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"dpcheck/grammar/dpm.lark", "dpcheck/parse/tables.txt"} <= names
    assert "dpcheck/report/schema/results-1.json" in names
    assert "dpcheck/py.typed" in names
    assert {f"dpcheck/std/{path.name}" for path in (ROOT / "dpcheck/std").glob("*.dpm")} <= names
    assert any(name.endswith("LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)


@pytest.mark.slow
def test_the_wheel_checks_a_model_from_any_directory(wheel, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    bin_folder = venv / ("Scripts" if os.name == "nt" else "bin")
    pip = [bin_folder / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.dpm").write_text(MODEL, "utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    run = subprocess.run(
        [bin_folder / "dpcheck", "check", "mine.dpm", "--format", "json"],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""
    report = json.loads(run.stdout)
    assert [result["verdict"] for result in report["results"]] == ["holds", "violated"]
    assert run.returncode == 0
    generate = [bin_folder / "python", "-m", "dpcheck.parse.generate"]
    subprocess.run(generate, cwd=elsewhere, env=environment, check=True, capture_output=True)
    (tables,) = venv.glob("**/site-packages/dpcheck/parse/tables.txt")
    assert tables.read_bytes() == (ROOT / "dpcheck/parse/tables.txt").read_bytes()
