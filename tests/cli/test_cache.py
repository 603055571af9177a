"""Results are kept by all that they depend on, and found only where nobody else can put them."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpcheck.check.values.verdicts import Coverage, Holds, Outcome
from dpcheck.cli import run
from dpcheck.cli.checking import trusted_cache
from dpcheck.pipeline.cache import _decoded, _encoded, known_run
from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from dpcheck.report.answers import Answer, Decided, Summary
from dpcheck.report.json_output import json_object

PART = """\
const p = 3/4
mechanism survey(truth = p) {
  input x in {pos, neg}
  adjacent all
  y ~ bernoulli(if x = pos then truth else 1 - truth)
  output if y then Y else N
}
"""
MAIN = (
    'import "part.dpm"\ncheck survey: dp(ln 3)\ncheck survey: dp(ln 2)\ncompute survey: profile\n'
)


@pytest.fixture
def models(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "part.dpm").write_text(PART, "utf-8")
    (folder / "main.dpm").write_text(MAIN, "utf-8")
    monkeypatch.chdir(folder)
    return folder


def verdicts(cache, capsys, *options):
    run(["check", "main.dpm", "--cache-dir", str(cache), "--format", "json", *options])
    report = json.loads(capsys.readouterr().out)
    return [result["verdict"] for result in report["results"]], report


def test_a_second_run_says_the_same_and_takes_nothing_but_reading(
    models, tmp_path, capsys, monkeypatch
):
    cache = tmp_path / "cache"
    first = verdicts(cache, capsys)
    assert first[0] == ["holds", "violated", "value"]
    monkeypatch.setattr("dpcheck.cli.work.check_events", None)
    assert verdicts(cache, capsys) == first


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            lambda folder: (folder / "part.dpm").write_text(PART.replace("3/4", "1/2"), "utf-8"),
            "holds",
        ),
        (
            lambda folder: (folder / "main.dpm").write_text(MAIN.replace("ln 2", "ln 4"), "utf-8"),
            "holds",
        ),
        (lambda folder: (folder / "main.dpm").write_text(f"\n{MAIN}", "utf-8"), "violated"),
    ],
)
def test_a_change_of_a_file_or_of_an_import_is_seen(models, tmp_path, capsys, change, found):
    cache = tmp_path / "cache"
    verdicts(cache, capsys)
    change(models)
    answers, report = verdicts(cache, capsys)
    assert answers[1] == found
    assert report["results"][1]["line"] == 3 + (found == "violated")


def test_options_that_shape_results_are_seen(models, tmp_path, capsys):
    cache = tmp_path / "cache"
    verdicts(cache, capsys)
    assert verdicts(cache, capsys, "-D", "p = 2/3")[0] == ["holds", "holds", "value"]
    assert len(verdicts(cache, capsys, "--select", "dp*")[0]) == 2
    explanation = verdicts(cache, capsys, "--explain", "none")[1]["results"][1]["explanation"]
    assert "neighbors" in explanation
    assert "tight" not in explanation


def test_an_import_that_leads_elsewhere_now_is_seen(models, tmp_path, capsys):
    (models / "part.dpm").rename(models / "three.dpm")
    (models / "two.dpm").write_text(PART.replace("3/4", "2/3"), "utf-8")
    (models / "part.dpm").symlink_to("three.dpm")
    cache = tmp_path / "cache"
    assert verdicts(cache, capsys)[0] == ["holds", "violated", "value"]
    (models / "part.dpm").unlink()
    (models / "part.dpm").symlink_to("two.dpm")
    assert verdicts(cache, capsys)[0] == ["holds", "holds", "value"]


def test_a_file_that_changes_while_it_is_checked_is_read_again(models, tmp_path, capsys):
    options = Options(cache=tmp_path / "cache")
    for event in check_paths(["main.dpm"], options):
        if isinstance(event, Answer):
            (models / "part.dpm").write_text(PART.replace("3/4", "1/2"), "utf-8")
    assert verdicts(tmp_path / "cache", capsys)[0] == ["holds", "holds", "value"]


def test_a_table_that_is_imported_is_seen(models, tmp_path, capsys):
    (models / "t.csv").write_text("row,a,Y,3/4\nrow,a,N,1/4\nrow,b,Y,1/4\nrow,b,N,3/4\npair,a,b\n")
    (models / "main.dpm").write_text('import "t.csv"\ncheck t: dp(ln 2)\n', "utf-8")
    cache = tmp_path / "cache"
    assert verdicts(cache, capsys)[0] == ["violated"]
    text = (models / "t.csv").read_text("utf-8")
    (models / "t.csv").write_text(text.replace("3/4", "2/3").replace("1/4", "1/3"), "utf-8")
    assert verdicts(cache, capsys)[0] == ["holds"]


def test_what_another_dpcheck_found_is_not_used_but_replaced(models, tmp_path, monkeypatch):
    options = Options(cache=tmp_path / "cache")
    list(check_paths(["main.dpm"], options))
    [entry] = options.cache.glob("results/*/*.json")
    assert known_run(["main.dpm"], options) is not None
    monkeypatch.setattr("dpcheck.pipeline.cache.code_digest", lambda: "another")
    assert known_run(["main.dpm"], options) is None
    list(check_paths(["main.dpm"], options))
    assert json.loads(entry.read_bytes())["code"] == "another"
    assert list(options.cache.glob("results/*/*.json")) == [entry]


def test_code_is_read_only_for_a_run_that_finds_or_keeps_an_entry(models, tmp_path, monkeypatch):
    monkeypatch.setattr("dpcheck.pipeline.cache.code_digest", lambda: pytest.fail("it was read"))
    assert known_run(["main.dpm"], Options(cache=tmp_path)) is None


def test_constants_of_the_call_are_looked_for_without_reading_models(models, tmp_path, capsys):
    cache = tmp_path / "cache"
    verdicts(cache, capsys)
    assert run(["check", "main.dpm", "--cache-dir", str(cache), "-D", "q=1/2"]) == 2
    assert "DP007" in capsys.readouterr().err


PARAM = """\
param p in (1/2, 1)
mechanism survey {
  input x in {yes, no}
  adjacent all
  y ~ bernoulli(if x = yes then p else 1 - p)
  output y
}
check survey: dp(ln 2)
compute survey: epsilon
"""


def test_claims_for_all_values_are_kept(models, tmp_path, capsys):
    (models / "main.dpm").write_text(PARAM, "utf-8")
    cache = tmp_path / "cache"
    first = verdicts(cache, capsys)
    assert first[0] == ["violated", "value"]
    assert len(list(cache.glob("results/*/*.json"))) == 1
    assert verdicts(cache, capsys) == first


MODELS = Path(__file__).parents[2] / "models"
KINDS = (
    "analysts/adaptive", "secrets/flu", "all_values/geometric", "beliefs/privacy_loss",
    "building_blocks/exponential_utility",
)  # fmt: skip


def test_answers_of_every_kind_are_kept(tmp_path):
    files = [str(MODELS / f"{name}.dpm") for name in KINDS]
    options = Options(cache=tmp_path)
    told = [event for event in check_paths(files, options) if not isinstance(event, Decided)]
    assert len(list(tmp_path.glob("results/*/*.json"))) == len(files)
    known = known_run(files, options)
    assert known is not None
    answers = [json_result(event) for event in told if isinstance(event, Answer)]
    assert [json_result(event) for event in known if isinstance(event, Answer)] == answers


def json_result(answer):
    return json_object(Summary((answer,), ()))


def test_what_is_known_does_not_depend_on_the_files_before_it(models, tmp_path, capsys):
    """Only the first few violated claims of a run are shown in full, known or not."""
    wrong = "check survey: dp(ln 2)\n"
    (models / "part.dpm").write_text(f"{PART}{wrong * 3}", "utf-8")
    (models / "main.dpm").write_text(f"{PART}{wrong * 4}", "utf-8")
    printed = []
    for files in (["main.dpm"], ["part.dpm", "main.dpm"], ["part.dpm", "main.dpm"]):
        run(["check", *files, "--cache-dir", str(tmp_path / "cache")])
        printed.append(capsys.readouterr().out.rsplit("(", 1)[0])
    assert printed[1] == printed[2]
    assert printed[1].count("attacker") == 5


def test_what_a_limit_left_undecided_is_not_kept(models, tmp_path, capsys):
    cache = tmp_path / "cache"
    assert verdicts(cache, capsys, "--max-states", "1")[0] == ["undecided"] * 3
    assert list(cache.glob("**/*.json")) == []
    assert verdicts(cache, capsys)[0] == ["holds", "violated", "value"]


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", '{"files": [], "events": [["Forged"]]}', "[" * 9999]
)
def test_an_entry_that_is_broken_costs_no_verdict(models, tmp_path, capsys, broken):
    cache = tmp_path / "cache"
    first = verdicts(cache, capsys)
    for entry in cache.glob("results/*/*.json"):
        entry.write_text(broken, "utf-8")
    assert verdicts(cache, capsys)[0] == first[0]


def test_nothing_is_kept_with_no_cache_or_where_nothing_can_be_written(models, tmp_path, capsys):
    cache = tmp_path / "cache"
    assert run(["check", "main.dpm", "--cache-dir", str(cache), "--no-cache"]) == 1
    assert not cache.exists()
    capsys.readouterr()
    cache.write_text("a file", "utf-8")
    assert verdicts(cache / "inside", capsys)[0] == ["holds", "violated", "value"]


def test_a_cache_in_the_checked_tree_is_never_read_unless_it_is_named(models, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(models / "cache"))
    assert trusted_cache(["main.dpm"], None) is None
    assert trusted_cache(["main.dpm"], "cache") == models / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(models.parent / "cache"))
    assert trusted_cache(["main.dpm"], None) == models.parent / "cache" / "dpcheck"
    (models.parent / ".git").mkdir()
    assert trusted_cache(["main.dpm"], None) is None
    assert trusted_cache([str(models.parent / "elsewhere")], None) is None
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert str(trusted_cache([], None)) == "/home/somebody/.cache/dpcheck"


def test_parallel_runs_share_a_cache(models, tmp_path):
    command = [
        sys.executable,
        "-m",
        "dpcheck",
        "check",
        "main.dpm",
        "--cache-dir",
        str(tmp_path / "c"),
    ]
    with ThreadPoolExecutor(3) as pool:
        runs = [
            pool.submit(subprocess.run, command, capture_output=True, text=True) for _ in range(3)
        ]
    printed = {each.result().stdout.rsplit("(", 1)[0] for each in runs}
    assert len(printed) == 1
    assert [entry.suffix for entry in (tmp_path / "c").glob("results/*/*")] == [".json"]


def test_clear_removes_entries_and_nothing_else(models, tmp_path, capsys):
    cache = tmp_path / "cache"
    verdicts(cache, capsys)
    (cache / "mine.json").write_text("{}", "utf-8")
    assert run(["cache", "clear", "--cache-dir", str(cache)]) == 0
    assert f"removed 1 results from {cache}" in capsys.readouterr().out
    assert list(cache.glob("**/*.json")) == [cache / "mine.json"]


def test_every_event_of_models_is_read_as_it_was_kept(models):
    told = list(check_paths(["main.dpm"], Options(has_portraits=True, measures={})))
    assert len(told) > 8
    for event in told:
        if not isinstance(event, Answer):
            assert _decoded(_encoded(event)) == event
    asked = ("a.dpm", 1, None, "check", "m", None, "dp(0)", (), False)
    answer = Answer(*asked, Outcome(Holds(), Coverage(1)), 1, 1, 0.5)
    assert _decoded(json.loads(json.dumps(_encoded(answer)))) == answer
