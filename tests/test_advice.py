"""What a mistake advises to write, written in place of what it marks, makes the mistake go away."""

from __future__ import annotations

import re
import shutil

import pytest

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from tests.advice import after_advice
from tests.checking import check_text, verdicts
from tests.test_golden import CASES, GOLDEN

FOLLOWED = re.compile(
    r"write `(?![^`]*(?:\.\.\.|lo\.\.hi))[^`]*`(?! (?:or|in place|after|around))|move line"
    r"|ask about one value|declare `param[^`]*`$|`[^`]*` in place of the last one",
    re.MULTILINE,
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


def test_noise_of_other_tools_is_advised_as_the_literature_has_it(tmp_path, monkeypatch):
    """It was advised with bounds, `clamped lo..hi`, which is another mechanism."""
    monkeypatch.chdir(tmp_path)
    head = "mechanism m { input x in 0..3 adjacent abs(x - x') <= 1 y ~ "
    path = tmp_path / "m.dpm"
    path.write_text(f"{head} laplace(x, 2) output y }} check m: dp(1/2)", "utf-8")
    [mistake] = mistakes_of(path)
    [noise] = re.findall("`(.*)`", mistake.help)
    noise = noise.replace("center", "x").replace("1/b", "1/2")
    assert verdicts(check_text(f"{head} {noise} output y }} check m: epsilon = 1/2")) == ["holds"]


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        ("{a: x/3, b: 1/3}", "{a: x/3, b: 1 - x/3}"),
        ("{a: (1 + x)/8, b: (2 + x)/8}", "{a: (1 + x)/8, b: 1 - (1 + x)/8}"),
        (
            "{a: if x = 1 then 1/2 else 1/4, b: 1/8, c: 1/2}",
            "{a: if x = 1 then 1/2 else 1/4, b: 1/8, c: 1 - (if x = 1 then 1/2 else 1/4) - 1/8}",
        ),
        ("{a: 1/3, b: 1/3}", "{a: 1/3, b: 2/3}"),
    ],
)
def test_the_weight_that_is_advised_makes_the_sum_1_on_every_run(weights, wanted):
    """It was the number that is right on the run that is shown, and wrong on others."""
    model = (
        "mechanism m {{ input x in 0..3 adjacent all y ~ {} output y }} check m: P=1 [ F stopped ]"
    )
    [error] = check_text(model.format(weights))["errors"]
    new, old = re.findall("`([^`]*)`", error["help"])
    assert weights[::-1].replace(old[::-1], new[::-1], 1)[::-1] == wanted
    assert verdicts(check_text(model.format(wanted))) == ["holds"]
