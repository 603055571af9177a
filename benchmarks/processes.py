"""Runs of jobs, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.table import Run, Series

ROOT = Path(__file__).resolve().parent.parent
OUT_OF_MEMORY = (b"bad_alloc", b"MemoryError", b"GNU MP: Cannot")


def add_run(series: Series, name: str, folder: Path, cap: float) -> None:
    """Run one job and add what it took, or what went wrong."""
    command = [sys.executable, "-m", "benchmarks.job", series.way, name, str(folder)]
    ended = process(command, cap + 20)
    series.is_built = b"the model is built" in ended.errors
    if ended.code is None:
        series.problem = "time"
        return
    lines = ended.output.decode().splitlines()
    if ended.code or not lines:
        is_memory = any(sign in ended.errors for sign in OUT_OF_MEMORY)
        series.problem = "memory" if is_memory else "failed"
        if b"not acyclic" not in ended.errors:
            print(f"{name}: {series.way}: {ended.errors.decode()[-300:]}", file=sys.stderr)
        return
    record = json.loads(lines[-1])
    if record["seconds"] > cap:
        series.problem = "time"
        return
    series.runs.append(Run(record["seconds"], record["cpu"], record["peak_mib"], record["answer"]))


def add_whole_process(series: Series, name: str, folder: Path, cap: float) -> None:
    """Run a job as a user does, from nothing, and add how long the process took."""
    if series.way == "dpcheck":
        command = [sys.executable, "-m", "dpcheck", "check", str(folder / f"{name}.dpm")]
        ended = process(command, cap + 20)
        prepared = 0.0
    else:
        command = [sys.executable, "-m", "benchmarks.job", series.way, name, str(folder), "--cold"]
        ended = process(command, cap + 20)
        lines = ended.output.decode().splitlines()
        prepared = json.loads(lines[-1])["prepared"] if lines and not ended.code else 0.0
    if ended.code is not None:
        series.whole.append(ended.seconds - prepared)


@dataclass
class Ended:
    """How a process ended; the code is None where it was stopped."""

    code: int | None
    seconds: float
    output: bytes
    errors: bytes = field(repr=False)


def process(command: list[str], limit: float) -> Ended:
    """Run a process from the root, for no longer than the limit.

    Compiled modules are kept, as they are of an installed package.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["XDG_CACHE_HOME"] = os.devnull  # what is timed is done, not looked up
    start = time.perf_counter()
    job = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = job.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        output, errors = job.communicate()
        return Ended(None, time.perf_counter() - start, output, errors)
    finally:
        if job.poll() is None:  # this process is being interrupted
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    return Ended(job.returncode, time.perf_counter() - start, output, errors)
