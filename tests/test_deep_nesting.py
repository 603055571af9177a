"""Values and calls nested deeply: an answer, a coded mistake or `undecided`, on any stack."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dpcheck import limits
from dpcheck.limits import with_deep_stack
from dpcheck.parse import parse_model
from dpcheck.resolve import resolve_model
from dpcheck.source import SourceText
from tests.checking import check_text

SURVEY = "mechanism m {{ input x in 0..1 adjacent all output {} }}\ncheck m: dp(0)\n"


def calls(level, n=25):
    """Return functions that call each other, each with many levels of its own."""
    texts = [f"fun f{i}(x) = {level * 70}f{i - 1}(x){')' * 70}\n" for i in range(1, n + 1)]
    return "fun f0(x) = x\n" + "".join(texts) + SURVEY.format(f"f{n}(x)")


def constants(n):
    lines = [f"const a{i} = (a{i - 1}, 1)\n" for i in range(1, n + 1)]
    return "const a0 = 1\n" + "".join(lines) + SURVEY.format(f"(a{n}, x)")


@pytest.mark.skipif(sys.platform == "win32", reason="needs ulimit")
@pytest.mark.parametrize(
    ("text", "stack"),
    [(calls("-("), 8192), (calls("-("), 256), (calls("(1, "), 256), (constants(600), 256)],
)
def test_deep_values_are_decided_on_any_stack(tmp_path, text, stack):
    (tmp_path / "m.dpm").write_text(text)
    command = f"ulimit -s {stack} && exec {sys.executable} -m dpcheck check m.dpm --format json"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["results"][0]["counterexample"]["ratio"] == "inf"


def test_what_is_too_deep_even_so_is_a_mistake(monkeypatch):
    monkeypatch.setattr(limits, "FRAMES", 1_100)
    found = resolve_model(parse_model(SourceText("m", calls("-("))).model)
    assert [mistake.code for mistake in found.mistakes] == ["DP113"]


def test_a_claim_about_values_too_deep_is_undecided(monkeypatch):
    monkeypatch.setattr(limits, "FRAMES", 1_100)
    loop = "var t := (x, 0) repeat 2000 { t := (t, 1) } output t"
    report = check_text("mechanism m { input x in 0..1 adjacent all " + loop + " } check m: dp(0)")
    assert [result["verdict"] for result in report["results"]] == ["undecided"]


def test_what_work_on_a_deep_stack_raises_is_raised_and_limits_are_put_back():
    before = sys.getrecursionlimit()
    with pytest.raises(KeyError):
        with_deep_stack(lambda: {}["missing"])
    assert with_deep_stack(sys.getrecursionlimit) >= limits.FRAMES
    assert sys.getrecursionlimit() == before


def test_no_depth_of_calls_costs_new_memory_for_every_call():
    resource = pytest.importorskip("resource")

    def leaf(a, b, c):
        return a

    def faults_at(depth):
        if depth:
            return faults_at(depth - 1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(2_000):
            leaf(1, 2, 3)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert max(with_deep_stack(lambda: [faults_at(depth) for depth in range(250)])) < 1_000
