"""What a mistake advises to write, written in place of what it marks, makes the mistake go away."""

from __future__ import annotations

import re
import shutil

import pytest

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from tests.advice import after_advice
from tests.test_golden import CASES, GOLDEN

FOLLOWED = re.compile(
    r"write `(?![^`]*(?:\.\.\.|lo\.\.hi))[^`]*`(?! (?:or|in place|after|around))|move line"
)
FILES = [
    case
    for case in CASES
    if case.suffix == ".dpm" and FOLLOWED.search(case.with_suffix(".txt").read_text("utf-8"))
]


def mistakes_of(path):
    found = check_paths([path.name], Options())
    return [m for m in found if isinstance(m, Mistake) and m.severity == "error" and m.span]


def signs(mistakes):
    return [(found.code, found.span.text, found.title) for found in mistakes]


def n_of_syntax(found):
    return sum(code < "DP2" for code, _, _ in found)


@pytest.mark.parametrize("case", FILES, ids=lambda case: case.stem)
def test_advice_that_is_followed_mends_the_mistake(case, tmp_path, monkeypatch):
    shutil.copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / case.name
    before = mistakes_of(path)
    text = before[0].span.source.text if before else ""
    for mistake in before:
        if mistake.help is None or not FOLLOWED.match(mistake.help):
            continue
        path.write_text(after_advice(text, mistake), "utf-8")
        n_alike = signs(before).count(signs([mistake])[0])
        after = signs(mistakes_of(path))
        assert after.count(signs([mistake])[0]) < n_alike, mistake.title
        assert n_of_syntax(after) <= n_of_syntax(signs(before)), mistake.title
