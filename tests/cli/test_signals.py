"""Ctrl-C and SIGTERM at any time: no stack trace, a status, and what was decided."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import pytest

MODEL = """
mechanism fast { input x in 0..1 adjacent all output x }
mechanism slow { input x in 0..1 adjacent all
  i := 0 while i < 10^9 { y ~ bernoulli(1/2) i := i + 1 output y } }
check fast: P>=1 [ X output = 1 ]
check slow: dp(0)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


def stopped(folder, number, seconds, *options):
    (folder / "m.dpm").write_text(MODEL)
    command = [sys.executable, "-m", "dpcheck", "check", "m.dpm", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, **pipes) as process:
        time.sleep(seconds)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_was_decided_before_a_signal_is_told(tmp_path, number, status):
    decided = []
    for seconds in (2, 4, 8, 16):  # a busy machine takes its time
        options = ("--format", "json", "--max-states", "100000000")
        code, out, err = stopped(tmp_path, number, seconds, *options)
        assert (code, "Traceback" in err) == (status, False)
        if not out:  # it was still importing, and there is nothing to report
            continue
        report = json.loads(out)
        assert report["interrupted"]
        decided = [result["target"] for result in report["results"]]
        if decided:
            break
    assert decided == ["fast"]


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.2, 0.4, 0.8])
def test_an_early_interrupt_shows_no_stack_trace(tmp_path, seconds):
    code, _, err = stopped(tmp_path, signal.SIGINT, seconds)
    # Python itself may still be starting, and shows a trace then; none leads into a room.
    assert not re.search(r"dpcheck.(?!__init__|__main__)\w+.*, line", err)
    assert code in (130, -signal.SIGINT) or "Traceback" in err
