"""What dpcheck prints, word for word: a golden file a mistake, and a few verdicts.

`tests/golden/NAME.dpm` is checked as `dpcheck check NAME.dpm` from within that directory; a
first line `# args: ...` adds arguments. `NAME.args` holds the arguments of any other call. What
was printed, and the exit status, stand in `NAME.txt`. To write them anew:

    python -m pytest tests/test_golden.py --update-golden
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from dpcheck.cli import run
from dpcheck.diagnostics.registry import mistakes_by_code
from tests.checking import check_text

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted([*GOLDEN.glob("*.dpm"), *GOLDEN.glob("*.args")])


def arguments_of(case: Path) -> list[str]:
    if case.suffix == ".args":
        return shlex.split(case.read_text("utf-8"))
    first = case.read_bytes().split(b"\n", 1)[0].decode("utf-8", "replace")
    extra = re.match(r"# args: (.*)", first)
    return ["check", case.name, *shlex.split(extra[1] if extra else "")]


def printed(case: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the call, both streams and the exit status, with times left out."""
    arguments = arguments_of(case)
    status = run(arguments)
    out, err = capsys.readouterr()
    text = f"$ dpcheck {shlex.join(arguments)}\n{out}--- stderr\n{err}--- exit {status}\n"
    text = re.sub(r"\(\d+\.\d\d s\)", "(0.00 s)", text)
    text = re.sub(r"^dpcheck: after \d+ s still .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r'"seconds": [0-9.]+', '"seconds": 0', text)
    text = re.sub(r"<(svg|style)\b.*?</\1>", r"<\1></\1>", text, flags=re.DOTALL)
    text = re.sub(r' time="[0-9.]+"', ' time="0.000"', text)
    text = re.sub(r' timestamp="[^"]+"', ' timestamp="2026-01-01T00:00:00+00:00"', text)
    return text.replace(str(GOLDEN), "GOLDEN")


@pytest.fixture(autouse=True, scope="module")
def everything_is_imported():
    """Check a text here, so that the workers of all cases find ready what it needs."""
    check_text((GOLDEN / "verdicts.dpm").read_text("utf-8"))
    check_text("mechanism {")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_prints_what_the_golden_file_says(case, capsys, monkeypatch, pytestconfig):
    monkeypatch.chdir(GOLDEN)
    for name in [name for name in os.environ if name.startswith("GITHUB_")]:
        monkeypatch.delenv(name)
    text = printed(case, capsys)
    golden = case.with_suffix(".txt")
    if pytestconfig.getoption("update_golden"):
        golden.write_text(text, "utf-8")
    assert golden.exists(), "no golden file yet; --update-golden writes it"
    assert text == golden.read_text("utf-8")


def test_every_code_of_a_mistake_has_a_golden_file():
    shown = {
        code
        for golden in GOLDEN.glob("*.txt")
        for code in re.findall(r"(?:error|warning|undecided)\[(DP\d+)\]", golden.read_text("utf-8"))
    }
    assert sorted(set(mistakes_by_code()) - shown) == []


def test_every_golden_file_belongs_to_a_case():
    stems = {case.stem for case in CASES}
    assert len(stems) == len(CASES)
    assert {golden.stem for golden in GOLDEN.glob("*.txt")} == stems


def test_golden_files_show_no_stack_trace():
    for golden in GOLDEN.glob("*.txt"):
        assert "Traceback" not in golden.read_text("utf-8"), golden.name
