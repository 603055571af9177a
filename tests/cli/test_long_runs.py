"""Limits and interrupts on work that takes long, as a user meets them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

GRID = """
chain walk {
  state c[x in 0..299, y in 0..299]
  for x in 0..299 { for y in 0..299 {
    if (x = 0 | x = 299) & (y = 0 | y = 299) { c[x, y] -> 1: c[x, y] }
    else { c[x, y] -> 1/4: c[max(x - 1, 0), y] + 1/4: c[min(x + 1, 299), y]
                    + 1/4: c[x, max(y - 1, 0)] + 1/4: c[x, min(y + 1, 299)] }
  } }
  adjacent c[x, y] ~ c[z, y] where x = 150 & z = 151 & y = 150
}
compute walk at c[150, 150] : P=? [ F c[0, 0] ]
"""
DEEP = """
chain deep {
  state a[k in 0..100000]
  for k in 0..99999 { a[k] -> 99999/100000: a[k+1] + 1/100000: out }
  state out
  init a[0]
}
compute deep : P=? [ F out ]
"""
HUGE = """
mechanism huge {
  input x[1..40] in 0..9
  adjacent hamming(x, x') <= 1
  y ~ geometric(sum(x), 1/2) clamped 0..400
  output y
}
check huge: dp(9 * ln 2)
"""
QUERIES = """
mechanism queries {
  input d in 0..20
  public t in 0..20
  adjacent abs(d - d') <= 1
  noisy ~ geometric(t, 1/4) clamped 0..20
  for i in 1..5000 {
    answer ~ geometric(d, 1/2) clamped 0..20
    if answer >= noisy { output top; stop }
    output bot
  }
}
check queries: dp(ln 3)
"""
FIRST = """
mechanism first { input x in 0..1  adjacent all  output 1 }
check first: dp(0)
"""
MODELS = {"grid": GRID, "deep": DEEP, "huge": HUGE, "queries": QUERIES}


def started(folder, name, *options):
    """Return a running check of a model."""
    path = folder / f"{name}.dpm"
    path.write_text(FIRST + MODELS[name])
    command = [sys.executable, "-m", "dpcheck", "check", str(path), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", MODELS)
def test_a_time_limit_is_kept_promptly(tmp_path, name):
    start = time.monotonic()
    process = started(tmp_path, name, "--timeout", "1")
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert (
        "undecided: the time limit of 1 s passed" in stdout or "more than 10000000 states" in stdout
    )
    # Interpreter, reading and reporting included; a busy machine takes several times as long.
    assert time.monotonic() - start < 20


def test_a_limit_on_states_is_met_before_they_are_built(tmp_path):
    process = started(tmp_path, "grid", "--max-states", "1000")
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "--max-states" in stdout


@pytest.mark.skipif(os.name != "posix", reason="sends an interrupt")
@pytest.mark.parametrize("name", ["grid", "deep", "queries"])
def test_an_interrupt_ends_long_work_with_130(tmp_path, name):
    process = started(tmp_path, name)
    while "holds" not in process.stdout.readline():
        assert process.poll() is None, "the first claim is answered"
    time.sleep(1)  # into the second
    assert process.poll() is None, "the work is still going on"
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    assert time.monotonic() - start < 20  # the work itself takes minutes


@pytest.mark.skipif(os.name != "posix", reason="needs exit statuses of signals")
def test_an_interrupt_inside_of_code_from_a_string_still_ends_with_130():
    program = """
import dpcheck.cli

def run(arguments):
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 130

dpcheck.cli.run = run
from dpcheck.__main__ import main
main()
"""
    finished = subprocess.run([sys.executable, "-c", program], check=False)
    assert finished.returncode == 130
