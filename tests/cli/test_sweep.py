"""`dpcheck sweep`: units here and on a cluster, what is written, what is kept."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import dpcheck
from dpcheck.cli import places, run
from dpcheck.limits import RunLimits
from dpcheck.pipeline.sweep import Asked, planned

COUNT = """\
import "noise.dpm"
const n = 2
mechanism count(alpha = 1/2) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  y ~ noise(x, alpha)
  output y
}
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Return the directory of a model that imports a file through a link in another folder."""
    (tmp_path / "count.dpm").write_text(COUNT)
    (tmp_path / "noises").mkdir()
    noise = "dist noise(x, alpha) = geometric(x, alpha) clamped 0..4\n"
    (tmp_path / "noises" / "geometric.dpm").write_text(noise)
    (tmp_path / "noise.dpm").symlink_to(tmp_path / "noises" / "geometric.dpm")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def units_of(*sets: str, target: str = "count", computes: tuple[str, ...] = ()) -> list[str]:
    plan, mistakes = planned(Asked("count.dpm", target, sets, computes, (), (), RunLimits()))
    assert not mistakes
    assert plan is not None
    return [unit.text for unit in plan.units]


def values(result: str) -> list[str]:
    return [each["value"]["exact"] for each in json.loads(result)["results"]]


def test_a_unit_has_all_that_an_answer_needs(model):
    units = units_of("n=1..2", "alpha=1/2,1/3", computes=("epsilon", "delta(0)"))
    for path in ("noise.dpm", "noises/geometric.dpm", "count.dpm"):
        (model / path).unlink()
    wanted = [["ln(2)", "1/3"], ["ln(3)", "1/2"]]
    assert [values(dpcheck.work(unit)) for unit in units] == wanted * 2


def test_a_mistake_in_a_claim_of_the_file_is_of_no_importance(model):
    (model / "count.dpm").write_text(f"{COUNT}check count: dp(oops)\ncheck count: epsilon == 1\n")
    (unit,) = units_of("n=1")
    assert values(dpcheck.work(unit)) == ["ln(2)"]


def test_names_may_stand_in_the_target_and_in_questions(model):
    units = units_of("k=1..2", "e=0,1", target="compose(count, k)", computes=("delta(e * ln 2)",))
    found = [float(json.loads(dpcheck.work(u))["results"][0]["value"]["decimal"]) for u in units]
    assert found[0] == pytest.approx(1 / 3)
    assert found[1] == 0
    assert found[2] > found[3] > 0


def test_units_are_the_same_wherever_the_model_is(model, tmp_path_factory, monkeypatch):
    before = units_of("n=1..2")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for path in ("noises/geometric.dpm", "count.dpm"):
        (elsewhere / path).parent.mkdir(exist_ok=True)
        (elsewhere / path).write_text((model / path).read_text())
    (elsewhere / "noise.dpm").symlink_to(elsewhere / "noises" / "geometric.dpm")
    monkeypatch.chdir(elsewhere)
    assert units_of("n=1..2") == before


def test_answers_are_kept_and_a_longer_sweep_asks_only_for_the_rest(model, monkeypatch, capsys):
    call = ["sweep", "count.dpm", "--target", "count", "-o", "found.csv", "--set"]
    assert run([*call, "alpha=1/2,1/3"]) == 0
    assert len((model / "found.csv.units").read_text().splitlines()) == 2
    with (model / "found.csv.units").open("a") as kept:
        kept.write('{"unit": "cut sho')  # as a process that was killed leaves it
    monkeypatch.setattr(places, "COMMAND", [sys.executable, "-c", "pass"])
    assert run([*call, "alpha=1/3,1/2,1/4"]) == 70
    rows = list(csv.reader((model / "found.csv").read_text().splitlines()))
    assert rows[0] == ["alpha", "epsilon", "epsilon (decimal)", "failure"]
    assert [row[:2] for row in rows[1:]] == [["1/3", "ln(3)"], ["1/2", "ln(2)"], ["1/4", "failed"]]
    assert rows[3][3] == places.DIED
    assert len((model / "found.csv.units").read_text().splitlines()) == 2
    assert "alpha = 1/4: the process" in capsys.readouterr().out


def test_a_reason_that_a_unit_has_twice_is_told_once(model, capsys):
    (model / "s.dpm").write_text("import std.survey\n")
    call = ["sweep", "s.dpm", "--target", "survey", "--compute", "epsilon", "-o", "found.csv"]
    assert run([*call, "--set", "truth=2"]) == 2
    reason = "error[DP205]: the weight -1 is negative"
    assert f"\ntruth = 2: {reason}\n" in capsys.readouterr().out
    (_, row) = csv.reader((model / "found.csv").read_text().splitlines())
    assert row[-1] == reason


def test_a_target_that_is_not_there_is_said_to_be_none(model, capsys):
    call = ["sweep", "count.dpm", "--target", "cuont", "--set", "alpha=1/2"]
    assert run(call) == 2
    told = capsys.readouterr().err
    assert "there is no mechanism or chain `cuont`" in told
    assert "did you mean `count`?" in told
    assert "reads" not in told


def test_a_file_that_is_not_a_sweeps_is_left_as_it_is(model, capsys):
    call = ["sweep", "count.dpm", "--target", "count", "--set", "alpha=1/2", "-o", "found.json"]
    (model / "found.json.units").write_text("mine\n")
    assert run(call) == 2
    (model / "found.json.units").unlink()
    (model / "found.json").write_text("mine\n")
    assert run(call) == 2
    assert capsys.readouterr().err.count("DP011") == 2
    assert (model / "found.json").read_text() == "mine\n"


def test_two_processes_find_what_one_finds_and_write_a_page(model, capsys):
    call = ["sweep", "count.dpm", "--target", "count", "--set", "n=1..3", "--set", "alpha=1/2,2/3"]
    assert run([*call, "--check", "dp(1/2)", "--jobs", "2", "-o", "found.html"]) == 1
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()[1:]] == [
        [str(n), alpha, verdict]
        for n in (1, 2, 3)
        for alpha, verdict in (("1/2", "violated"), ("2/3", "holds"))
    ]
    page = (model / "found.html").read_text()
    assert page.count("<rect") == 7
    assert page.count("<td>holds</td>") == 3


def test_an_interrupt_keeps_what_was_found(model):
    call = [sys.executable, "-m", "dpcheck", "sweep", "count.dpm", "-o", "found.csv"]
    call += ["--target", "compose(count(alpha = exp(-1/7)), k)", "--set", "k=1,400000"]
    call += ["--compute", "epsilon(1/99)"]
    process = subprocess.Popen(call, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not (model / "found.csv.units").exists() or not (model / "found.csv.units").read_text():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "not asked" in out
    assert (model / "found.csv").read_text().count("not asked") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_said_at_once(model, capsys):
    model.chmod(0o500)
    try:
        call = ["sweep", "count.dpm", "--target", "count", "--set", "n=1..2", "-o", "found.csv"]
        assert run(call) == 2
    finally:
        model.chmod(0o700)
    assert "found.csv.units" in capsys.readouterr().err


def test_two_workers_of_dask_find_what_this_machine_finds(model, capsys):
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    call = ["sweep", "count.dpm", "--target", "count", "--set", "n=1..2", "--set", "alpha=1/2,2"]
    assert run(call) == 2
    here = capsys.readouterr().out
    assert run([*call, "--on", "dask", "--jobs", "2"]) == 2
    assert capsys.readouterr().out == here


def test_without_dask_the_extra_is_named(model, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    call = ["sweep", "count.dpm", "--target", "count", "--set", "n=1..2", "--on", "dask"]
    assert run(call) == 2
    assert "pip install 'dpcheck[cluster]'" in capsys.readouterr().err
