"""Inputs in blocks, of any size and on any number of processes: the answers of the whole chain."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcheck import loads
from dpcheck.explore import explore, parted
from dpcheck.explore.mechanism import given_inputs
from dpcheck.explore.parted import parted_inputs
from dpcheck.explore.values.codes import PLAIN
from dpcheck.limits import Limits
from dpcheck.pipeline.claims import sieve
from tests.checking import called, check_text

NOT_ANSWERS = {"file", "seconds", "version"}
FORKED = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


@contextlib.contextmanager
def blocks_of(size, most_twice=100, many=2):
    """Part inputs into blocks of at most so many; tell how many inputs each has that is made."""
    made, block = [], parted.PartedInputs.block

    def counted(self, number):
        found = block(self, number)
        made.append(len(found.inputs))
        return found

    with (
        patch.object(parted, "BLOCK", size),
        patch.object(parted, "MANY_INPUTS", many),
        patch.object(parted, "MAX_TWICE", most_twice),
        patch.object(parted.PartedInputs, "block", counted),
    ):
        yield made


def answers(report):
    """Return a report without times and places, and without the pair that explains a violation.

    The smallest of all is shown by a whole chain, by blocks the smallest of their worst pairs.
    """
    match report:
        case dict():
            left_out = NOT_ANSWERS | {"explanation"}
            return {k: answers(value) for k, value in report.items() if k not in left_out}
        case list():
            return list(map(answers, report))
        case _:
            return report


ADJACENCIES = [
    "l1((a, b), (a', b')) <= 1",
    "linf((a, b), (a', b')) <= 1",
    "abs(a - a') <= 2 & b = b'",
    "hamming((a, b), (a', b')) <= 1",
    "a = a' + 1 & b = b'",
    "a = b' & b = a'",
    "abs(a - b') <= 1 | abs(a - a') = 1 & b = b'",
    "abs(a - a') <= 1 & a + b = a' + b'",
]
NOISES = ["geometric({}, 1/2) clamped 0..4", "geometric({}, exp(-1/3)) clamped 0..3"]
NOISES += ["uniform(0..{})", "binomial({}, 1/3)"]
CENTERS = ["a", "b", "a + b", "min(a, b)", "abs(a - b)"]
OUTPUTS = ["y", "y > z", "(y, y + z)", "if y = z then tie else y", "max(y, z)", "y / (1 + z)"]
CLAIMS = ["check m: dp(ln 2)", "check m: dp(ln 2, 1/5)", "check m: epsilon <= ln 3"]
CLAIMS += ["refute m: dp(ln 4)", "compute m: epsilon", "compute m: delta(ln 2)", "check m: dp(3)"]


@st.composite
def mechanisms(draw):
    """Draw a mechanism with one output, and claims about it."""
    pick = lambda items: draw(st.sampled_from(items))  # noqa: E731
    noises = [pick(NOISES).format(f"({pick(CENTERS)})") for _ in range(2)]
    where = pick(["", " where b != 1", " where a + b != 3"])
    claims = draw(st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=3))
    early = pick(["", "if y = 1 then { output early stop }", "if a > b then { stop }"])
    return f"""mechanism m {{
  input a in {pick(["0..3", "{0, 2, 3, 7}", "-1..1"]).replace("-1..1", "0..1")}
  input b in 0..3{where}
  adjacent {pick(ADJACENCIES)}
  y ~ {noises[0]}
  {early.replace("then ", "")}
  z ~ {noises[1]}
  output {pick(OUTPUTS)}
}}
""" + "\n".join(claims)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(mechanisms(), st.integers(1, 4))
def test_reports_are_those_of_one_block(text, size):
    whole = check_text(text)
    with blocks_of(size) as made:
        parts = check_text(text)
    assert answers(parts) == answers(whole)
    assert len(made) > 1 or "errors" in whole


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(mechanisms(), st.integers(1, 7))
def test_every_pair_of_neighbors_is_in_one_block(text, size):
    (check,) = loads(text.partition("\n}\n")[0] + "\n}\ncheck m: dp(1)").claims
    inputs = given_inputs(check.target, limits=Limits())
    pairs = explore(check.target, limits=Limits()).chain.neighbors.pairs
    with blocks_of(size):
        parts = parted_inputs(inputs)
        found = [parts.block(k) for k in range(len(parts.parts))]
    rows = [block.inputs[block.explored.chain.neighbors.pairs] for block in found]
    assert Counter(map(tuple, np.concatenate(rows).tolist())) == Counter(map(tuple, pairs.tolist()))
    own = np.concatenate(parts.parts)
    assert np.array_equal(np.sort(own), np.arange(inputs.n_inputs))
    assert max(map(len, parts.parts)) <= max(size, 1)


COUNTS = """mechanism m {
  input x[1..3] in 0..5
  adjacent linf(x, x') <= 1
  best := -1
  winner := (0, 0)
  for i in 1..3 {
    noisy ~ geometric(x[i], 1/2) clamped 0..5
    if noisy > best { best := noisy winner := (i, best) }
  }
  output winner
}
"""
ASKED = "check m: dp(ln 2) check m: dp(2, 1/9) compute m: delta(1/2) compute m: epsilon(1/10)"


def test_what_is_found_of_some_inputs_hangs_on_them_alone():
    text = """mechanism m {
      input x[1..3] in 0..5
      adjacent linf(x, x') <= 1
      y ~ {x[1]: 1/2, x[2]: 1/2}
      output (y, y)
    }"""
    (check,) = loads(text + "check m: dp(1)").claims
    with blocks_of(20):
        parts, others = (
            parted_inputs(given_inputs(check.target, limits=Limits())) for _ in range(2)
        )
        others.block(len(others.parts) - 1)  # of the greatest numbers
        one, other = (each.alone(np.array([[0, 1], [0, 215]])) for each in (parts, others))
    assert min(one.shown) >= PLAIN  # codes of tuples, numbered as they are met
    assert [one.table.value(k) for k in one.shown] == [other.table.value(k) for k in other.shown]


def told(folder, text, *options):
    """Return what a call prints, but for times, in which blocks of 20 inputs are spread."""
    (folder / "m.dpm").write_text(text, "utf-8")
    done = called("check", "m.dpm", "--no-cache", *options, cwd=folder)
    return done.stdout.rsplit("(", 1)[0], done.stderr, done.returncode


@FORKED
@pytest.mark.parametrize("form", ["text", "json"])
def test_processes_tell_what_one_tells(tmp_path, form):
    work = parted.PartedInputs.block

    def late(self, number):
        """Let earlier blocks be done after later ones, and say where they are done."""
        (tmp_path / f"{os.getpid()} {number}").touch()
        time.sleep(0.02 * (number % 3 == 0))
        return work(self, number)

    with patch.object(parted.PartedInputs, "block", late), blocks_of(20):
        first, *others = (
            told(tmp_path, COUNTS + ASKED, "--format", form, "--jobs", n) for n in (1, 2, 3)
        )
    processes = Counter(path.name.split()[0] for path in tmp_path.glob("* *"))
    assert len(processes) > 20
    shown = [
        [line for line in out.splitlines() if '"seconds"' not in line]
        for out, *_ in (first, *others)
    ]
    assert shown[0] == shown[1] == shown[2]
    assert "violated" in first[0]


@FORKED
def test_mistakes_limits_and_bugs_are_told_as_by_one_process(tmp_path):
    wrong = COUNTS.replace("output winner", "output 1 / (x[2] - 4)")
    with blocks_of(20):
        for text, options, code in (
            (wrong + ASKED, (), "DP207"),
            (COUNTS + ASKED, ("--max-states", "240"), "more than 240 states"),
        ):
            first = told(tmp_path, text, *options)
            assert told(tmp_path, text, "--jobs", 2, *options) == first
            assert code in first[0] + first[1]
            assert first[2] == (2 if "DP" in code else 1)  # some inputs violate them
    with blocks_of(20), patch.object(sieve, "ends_at_once", side_effect=ArithmeticError("oh")):
        first = told(tmp_path, COUNTS + "check m: dp(1)", "--jobs", 1)
        assert told(tmp_path, COUNTS + "check m: dp(1)", "--jobs", 2)[::2] == first[::2]
        assert "ArithmeticError: oh" in first[1]


@FORKED
def test_a_process_without_memory_is_a_limit_that_was_reached(tmp_path):
    block, here = parted.PartedInputs.block, os.getpid()

    def greedy(self, number):
        assert os.getpid() != here
        return np.ones(1 << 40) if number == 3 else block(self, number)

    def killed(self, number):
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return block(self, number)

    for way in (greedy, killed):
        with blocks_of(20), patch.object(parted.PartedInputs, "block", way):
            report, _, status = told(tmp_path, COUNTS + "check m: dp(1)", "--jobs", 2)
        assert "memory" in report
        assert status == 3


def test_evidence_that_a_claim_holds_is_about_all_inputs(tmp_path):
    text = COUNTS + "check m: dp(3) check m: dp(ln 2)"
    with blocks_of(20):
        parts = told(tmp_path, text, "--witness", "parts")
    assert parts == told(tmp_path, text, "--witness", "parts")
    told(tmp_path, text, "--witness", "whole")
    for path in (tmp_path / "whole").iterdir():
        assert path.read_text("utf-8") == (tmp_path / "parts" / path.name).read_text("utf-8")


@FORKED
@pytest.mark.parametrize(
    ("most", "verdict"), [(200, "undecided"), (240, "undecided"), (3000, "holds")]
)
def test_limits_are_for_the_inputs_and_for_each_block(tmp_path, most, verdict):
    with blocks_of(60):
        found = told(tmp_path, COUNTS + "check m: dp(3)", "--max-states", most)
        assert told(tmp_path, COUNTS + "check m: dp(3)", "--max-states", most, "--jobs", 2) == found
    assert verdict in found[0]


def running(marker):
    """Return the processes whose environment has the marker."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            found += [path.parent.name] * (marker.encode() in path.read_bytes())
    return found


SLOW = """
import os, time
from dpcheck.explore import parted
parted.BLOCK, parted.MANY_INPUTS, parted.MAX_TWICE = 20, 2, 100
def slow(self, number):
    os.write(1, b"begun\\n")
    time.sleep(600)
parted.PartedInputs.block = slow
from dpcheck.__main__ import main
main()
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are seen in /proc")
@pytest.mark.parametrize("end", ["interrupt", "timeout"])
def test_no_process_is_left(tmp_path, end):
    (tmp_path / "m.dpm").write_text(COUNTS + "check m: dp(1)", "utf-8")
    marker = f"DPCHECK_TEST={tmp_path}"
    environment = {**os.environ, "DPCHECK_TEST": str(tmp_path)}
    timeout = ["--timeout", "1"] if end == "timeout" else []
    command = [sys.executable, "-c", SLOW, "check", "m.dpm", "--no-cache", "--jobs", "2", *timeout]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        if end == "interrupt":
            process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == (130 if end == "interrupt" else 3)
    assert "undecided" in out or end == "interrupt"
    deadline = time.monotonic() + 10
    while running(marker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running(marker) == []
