"""Several processes tell what one tells, in the same order, and within the same limits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.hostile import mechanism

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")

MANY = """\
const n = 2
mechanism rr(k = 1, p = 3/4) {
  input x in 0..n
  adjacent all
  repeat k { y ~ bernoulli(if x = 0 then p else 1 - p)  output y }
}
for k in 1..4 { check rr(k = k): dp(k * ln 3)  check rr(k = k): dp(k * ln 2) }
for k in 1..4 { refute rr(k = k): dp(0)  compute rr(k = k): epsilon }
check rr: dp(ln 3)
"""
SLOW = mechanism("t := (x, x) repeat 200 { t := (t, t) } output t")


def call(folder, *options):
    command = [sys.executable, "-m", "dpcheck", "check", ".", "--no-cache", *options]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def told(folder, *options):
    """Return what is printed but for times, what is complained, and the exit status."""
    done = call(folder, *options)
    return done.stdout.rsplit("(", 1)[0], done.stderr, done.returncode


@pytest.fixture
def models(tmp_path):
    (tmp_path / "a.dpm").write_text(MANY, "utf-8")
    (tmp_path / "b.dpm").write_text("check nobody: dp(1)", "utf-8")
    (tmp_path / "c.dpm").write_text('import "a.dpm"\nrefute rr: dp(ln 2)\n', "utf-8")
    return tmp_path


def test_the_output_is_that_of_one_process(models):
    first = told(models)
    assert "not as claimed" in first[0]
    assert "DP305" in first[1]
    assert first[2] == 2
    assert told(models, "--jobs", "3") == first
    assert told(models, "--jobs", "3", "-D", "n=3") == told(models, "-D", "n=3")
    wrong = told(models, "--jobs", "3", "-D", "m=3")
    assert wrong == told(models, "-D", "m=3")
    assert "DP007" in wrong[1]


def test_one_file_is_taken_apart_and_told_in_order(models):
    (models / "b.dpm").unlink()
    (models / "c.dpm").unlink()
    first = told(models, "--baseline", "b", "--update-baseline")
    written = (models / "b").read_text("utf-8")
    (models / "b").unlink()
    assert told(models, "--jobs", "3", "--baseline", "b", "--update-baseline") == first
    assert (models / "b").read_text("utf-8") == written
    assert told(models, "--jobs", "2", "--select", "x") == told(models, "--select", "x")
    (models / "a.dpm").write_text("mechanism m { input x in {0, 1} adjacent all output x }")
    assert told(models, "--jobs", "2") == told(models)


def test_limits_hold_in_every_process(models):
    for name in ("b", "c", "d", "e"):
        (models / f"{name}.dpm").write_text(SLOW, "utf-8")
    (models / "f.dpm").write_text('import "a.dpm"\ncheck rr: dp(ln 3)\n', "utf-8")
    began = time.monotonic()
    done = call(models, "--jobs", "2", "--timeout", "1", "--format", "json")
    report = json.loads(done.stdout)
    assert [r["verdict"] for r in report["results"]][-5:] == ["undecided"] * 4 + ["holds"]
    assert time.monotonic() - began < 40
    done = call(models, "--jobs", "2", "--total-timeout", "4", "--format", "json")
    report = json.loads(done.stdout)
    assert {r["reason"]["option"] for r in report["results"] if "reason" in r} == {
        "--total-timeout"
    }
    assert [found["code"] for found in report["undecided"]][-1] == "DP031"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_processes_and_keeps_what_was_told(models, number):
    (models / "b.dpm").write_text(SLOW, "utf-8")
    (models / "c.dpm").write_text(SLOW, "utf-8")
    command = [sys.executable, "-m", "dpcheck", "check", ".", "--no-cache", "--jobs", "3"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=models, **pipes) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "check   dp(ln 3)  holds" in line and "rr" not in line:
                break
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "interrupted" in err
