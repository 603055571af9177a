"""Limits that hold whatever is being done: the rest of the claims goes on behind each of them."""

from __future__ import annotations

import faulthandler
import json
import os
import platform
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from flint import fmpz

from dpcheck.cli import workers
from dpcheck.cli.workers import Stopped, Work, spread, supervised
from dpcheck.limits import Limit, LimitReached, RunLimits
from tests.hostile import mechanism, written

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")

QUICK = "mechanism q { input x in {0, 1} adjacent all output x }\n"
SLOW = mechanism("t := (x, x) repeat 200 { t := (t, t) } output t")
LARGE = mechanism("output len({(i, i * x) for i in 1..900000} * {i + x for i in 1..9})")


def check(folder, text, *options):
    """Return the JSON report of a check and its exit status."""
    path = folder / "m.dpm"
    path.write_text(text)
    command = [sys.executable, "-m", "dpcheck", "check", str(path), "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return json.loads(done.stdout), done.returncode


def test_claims_after_one_that_was_killed_are_decided(tmp_path):
    text = f"{QUICK}check q: true\n{SLOW}refute q: dp(1)\ncheck q: dp(1)"
    report, status = check(tmp_path, text, "--timeout", "1")
    assert [r["verdict"] for r in report["results"]] == [
        *("holds", "undecided", "violated", "violated"),
    ]
    slow = report["results"][1]
    assert slow["reason"]["text"] == "the time limit of 1 s passed"
    assert slow["reason"]["option"] == "--timeout"
    assert slow["covers"] == ["for x in {0, 1}", "adjacent all"]
    assert 1 < slow["seconds"] < 3
    assert status == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_claim_whose_work_was_ended_has_a_witness_that_says_so(jobs, tmp_path):
    text = f"{QUICK}check q: true\n{SLOW}refute q: dp(1)\ncheck q: P>=1 [ X output = 5 ]"
    place = tmp_path / "w"
    options = ("--timeout", "1", "--jobs", str(jobs), "--witness", str(place))
    report, _ = check(tmp_path, text, *options)
    told = [json.loads((place / each["witness"]).read_text()) for each in report["results"]]
    assert [each["says"] for each in told] == ["nothing", "nothing", "violated", "violated"]
    assert told[1]["lacks"] == "its work was ended before it was made"


def test_a_claim_that_needs_too_much_memory_is_undecided_and_the_rest_goes_on(tmp_path):
    text = f"{QUICK}{LARGE}check q: true"
    report, status = check(tmp_path, text, "--max-memory", "60M")
    assert [r["verdict"] for r in report["results"]] == ["undecided", "holds"]
    reason = report["results"][0]["reason"]
    assert reason["text"] == "more than 60 MB of memory was needed"
    assert reason["option"] == "--max-memory"
    assert status == 3


def test_what_is_left_at_the_end_of_the_run_is_undecided(tmp_path):
    (tmp_path / "later.dpm").write_text(QUICK + "check q: true")
    text = f"{QUICK}check q: true\n{SLOW}check q: dp(1)"
    command = str(tmp_path / "later.dpm")
    report, status = check(tmp_path, text, "--total-timeout", "6", command)
    assert [r["verdict"] for r in report["results"]] == ["holds", "undecided", "undecided"]
    assert {r["reason"]["option"] for r in report["results"][1:]} == {"--total-timeout"}
    assert [found["code"] for found in report["undecided"]] == ["DP031"]
    assert status == 3


def test_a_verdict_is_seen_in_a_pipe_while_a_later_claim_is_worked_on(tmp_path):
    path = tmp_path / "m.dpm"
    path.write_text(f"{QUICK}check q: true\n{SLOW}")
    command = [sys.executable, "-m", "dpcheck", "check", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        assert "holds" in lines[3]
        assert process.poll() is None
        process.kill()


# --- workers themselves ----------------------------------------------------------------------


def stops(limits, *steps):
    """Return what is heard of steps, each done in a worker and left out once it was begun."""

    def events(heard):
        for k, step in enumerate(steps[len(heard) :], start=len(heard)):
            step()
            yield k

    heard = []
    work = Work(events, lambda told, stopped: ((stopped,), True), lambda _event: False)
    heard.extend(supervised(work, limits, None))
    return heard


def too_long_power():
    faulthandler.disable()
    return fmpz(3) ** (1 << 33)


def segmentation_fault():
    faulthandler.disable()  # pytest's, which reports the end of any process
    signal.raise_signal(signal.SIGSEGV)


def tuples_in_tuples():
    nested = ()
    while True:  # until the last few bytes are taken
        nested = (nested,)


def no_room_for_an_error():
    raise SystemError("error return without exception set")


def no_step():
    pass


def test_a_worker_that_dies_of_a_bug_says_so_and_the_work_goes_on():
    first, second, third = stops(RunLimits(), no_step, segmentation_fault, no_step)
    assert (first, third) == (0, 2)
    assert second.limit is None
    assert "ended by SIGSEGV" in second.said


def test_an_exception_in_a_worker_is_told_with_its_trace():
    def fail():
        raise ZeroDivisionError("a bug")

    (found,) = stops(RunLimits(), fail)
    assert found.limit is None
    assert "ZeroDivisionError: a bug" in found.said


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded by the kernel")
@pytest.mark.parametrize(
    "step",
    [
        lambda: bytearray(1 << 30),
        too_long_power,
        lambda: list(range(1 << 28)),
        tuples_in_tuples,
        no_room_for_an_error,
    ],
    ids=["python", "gmp", "small objects", "to the last byte", "and no error"],
)
def test_memory_that_is_not_given_ends_python_and_c_libraries_alike(step):
    found = stops(RunLimits(max_memory=200 << 20), step, no_step)
    assert isinstance(found[0], Stopped)
    assert found[0].limit == Limit("memory", 200 << 20)
    assert found[1] == 1


def test_a_worker_that_does_not_hear_is_killed_soon_after_its_time(monkeypatch):
    monkeypatch.setattr(workers, "GRACE", 0.2)
    began = time.monotonic()
    (found,) = stops(RunLimits(timeout=0.5), lambda: fmpz(7) ** 40_000_000 % fmpz(3) ** 30_000_000)
    assert found.limit == Limit("time", 0.5)
    assert time.monotonic() - began < 20


def test_what_a_worker_imports_first_is_not_held_against_its_time(monkeypatch):
    monkeypatch.setattr(workers, "GRACE", 0.1)
    monkeypatch.setattr(workers, "LAST_WORDS", 0.3)

    def events(_heard):
        time.sleep(1)  # as an import can take
        return iter(["decided"])

    work = Work(events, lambda _told, stopped: ((stopped,), False), lambda _event: False)
    limits = RunLimits(timeout=0.1, deadline=time.monotonic() + 0.1)
    assert list(supervised(work, limits, None)) == ["decided"]


def test_the_parent_imports_nothing_that_decides(tmp_path):
    model = tmp_path / "m.dpm"
    model.write_text(f"{QUICK}check q: dp(1)\ncheck q: true\ncompute q: epsilon\n")
    code = """if True:
        import sys
        from dpcheck.cli.checking import Report, checked
        from dpcheck.pipeline.options import Options
        checked(sys.argv[1:], Options(), Report())
        print({"numpy", "flint", "dpcheck.pipeline.run"} & set(sys.modules))
    """
    command = [sys.executable, "-c", code, str(model)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "holds" in done.stdout
    assert done.stdout.endswith("set()\n")


def test_a_claim_about_a_table_of_sequences_imports_no_other_evidence(tmp_path):
    model = tmp_path / "m.dpm"
    model.write_text(f"{QUICK}refute q: dp(1)\ncompute q: epsilon\n")
    code = """if True:
        import sys
        from dpcheck.pipeline.options import Options
        from dpcheck.pipeline.run import check_paths
        print(sum(1 for _ in check_paths(sys.argv[1:], Options(explain="none"))))
        print({module for module in sys.modules if "merged_prefixes" in module})
    """
    command = [sys.executable, "-c", code, str(model)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout.split()[0]) > 4
    assert done.stdout.endswith("set()\n")


def test_long_silence_is_told_again_and_again(monkeypatch):
    monkeypatch.setattr(workers, "FIRST_WAIT", 0.1)
    heard = []
    work = Work(lambda _told: iter([time.sleep(2)]), lambda *_: ((), False), lambda _event: False)
    list(supervised(work, RunLimits(), heard.append))
    waited = [f"after {seconds} s still looking for files" for seconds in (0.1, 0.2, 0.4)]
    assert heard[:3] == waited


def test_no_worker_is_left_when_nobody_listens_any_more():
    work = Work(lambda _told: iter(os.getpid, 0), lambda *_: ((), False), lambda _e: False)
    events = supervised(work, RunLimits(), None)
    worker = next(events)
    events.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_what_is_spread_comes_in_order_and_is_done_here_if_nowhere_else():
    here = os.getpid()

    def done(number):
        time.sleep(0.3 * (number == 0))
        if number == 1 and os.getpid() != here:
            raise ValueError
        return number, os.getpid()

    found = list(spread([partial(done, number) for number in range(4)], 2, None))
    assert [number for number, _ in found] == [0, 1, 2, 3]
    places = [place for _, place in found]
    assert places[1] == here
    assert len(set(places)) == 4

    def greedy():
        return np.ones(1 << 28).sum()

    with pytest.raises(LimitReached) as reached:
        list(spread([greedy, partial(done, 0)], 2, 1 << 30))
    assert reached.value.limit == Limit("memory", 1 << 31)


# --- hostile files ---------------------------------------------------------------------------


def test_hostile_files_end_within_the_limits_of_the_run(tmp_path):
    written(tmp_path)
    command = [sys.executable, "-m", "dpcheck", "check", str(tmp_path), "--format", "json"]
    limits = ["--timeout", "0.5", "--total-timeout", "15", "--max-memory", "300M"]
    began = time.monotonic()
    done = subprocess.run([*command, *limits], capture_output=True, timeout=120, check=False)
    assert done.returncode in (1, 2, 3), done.stderr
    assert b"Traceback" not in done.stderr
    assert "crashes" not in json.loads(done.stdout)
    assert time.monotonic() - began < 15 + 2 + 20  # to start on a busy machine takes seconds


GROWING = """
import resource, sys, threading
import numpy as np
from dpcheck.cli.memory import keep_memory
if sys.argv[1] == "keeps":
    keep_memory()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def work():
    for size in range(20_000, 400_000, 20_000):
        np.ones(size)
    print(faults() - before)

before = faults()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_memory_that_is_kept_is_not_asked_for_again():
    keeps, gives = (
        int(subprocess.check_output([sys.executable, "-c", GROWING, way]))
        for way in ("keeps", "gives")
    )
    assert keeps < gives / 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
def test_a_worker_whose_parent_ended_before_it_could_ask_to_end_with_it_ends():
    code = """
import os, time
from dpcheck.cli import workers
_, complaining = os.pipe()
if os.fork() == 0:
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.01)
        workers._settle(complaining, parent)
        os.write(1, b"goes on alone")
    os._exit(0)
os.wait()
"""
    said = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60)
    assert said == ""
