"""The wheel holds everything the command needs, and works away from this directory."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
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


def test_the_wheel_checks_a_model_from_any_directory(wheel, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    bin_folder = venv / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", bin_folder / "python", "install", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    # What dpcheck depends on is used where it is; links there to this checkout are not followed.
    others = [path for path in sys.path if Path(path).name == "site-packages"]
    (installed,) = venv.glob("**/site-packages/dpcheck")
    (installed.parent / "others.pth").write_text("\n".join(others), "utf-8")
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


def test_what_is_imported_is_what_the_project_depends_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    def names(requirements):
        return {re.match(r"[\w-]+", each)[0].replace("-", "_") for each in requirements}

    texts = [path.read_text("utf-8") for path in (ROOT / "dpcheck").rglob("*.py")]
    statement = r"(?m)^ *(?:import (\w+)[\w.]*(?: as \w+)?$|from (\w+)[\w.]* import )"
    found = {a or b for text in texts for a, b in re.findall(statement, text)}
    imported = (found - sys.stdlib_module_names - {"dpcheck", "flint"}) | {"python_flint"}
    required = names(project["dependencies"])
    assert required <= imported
    optional = names(itertools.chain(*project["optional-dependencies"].values()))
    assert imported <= required | optional
