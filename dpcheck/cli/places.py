"""Where units of work are answered: by processes `dpcheck work`, on this machine or a cluster.

Such a process answers units one after the other, each in a worker of its own with its limits, so
that one place knows how work is ended. Here as many of them as wanted are fed from one queue. On a
cluster every worker has one, and a task is a batch of units: about two seconds of work, so that the
scheduler is not what takes the time.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING

from dpcheck.diagnostics.commands import NoCluster
from dpcheck.diagnostics.mistakes import Refused
from dpcheck.records import dataclass

if TYPE_CHECKING:
    from distributed import Client, Future

COMMAND = sys.executable, "-m", "dpcheck", "work"

DASK = "dask"
"""Where `--on` has no address: workers of dask distributed on this machine."""

BATCH_SECONDS = 2.0
"""A batch of units should take so long, [s]: a task takes the scheduler some milliseconds."""

MOST_A_BATCH = 64
"""Bounds what is asked again where a worker ends before it has answered."""

Answer = tuple[int, str | None, str]
"""The number of a unit, its result as JSON, or why there is none."""


@dataclass(frozen=True)
class Place:
    """Where units are answered: by `jobs` processes; `on` a cluster, None for this machine."""

    jobs: int
    on: str | None = None


class Unreachable(Refused):
    """The cluster cannot be used; `mistake` says why."""


def answers(units: Sequence[str], place: Place) -> Generator[Answer, None, None]:
    """Yield the answer to each unit as it comes; closing ends the work. Raises `Unreachable`."""
    if place.on is None:
        return _here(units, place.jobs)
    return _on_cluster(units, place.on, place.jobs)


# --- on this machine -----------------------------------------------------------------------


class _Process:
    """A process that answers units, one line for one line; a new one in place of one that died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._is_over = False
        self._in_use = threading.Lock()

    def answer(self, unit: str) -> str | None:
        """Return the result of a unit, None if the process died of it, or was ended."""
        with self._in_use:
            if self._process is None:
                self._process = _started()
            if self._is_over:  # looked at after the process is known, as `end` kills after saying
                self._process.kill()
            assert self._process.stdin is not None, "a pipe was asked for"
            assert self._process.stdout is not None, "a pipe was asked for"
            line = ""
            with suppress(OSError):  # it died before it read all
                self._process.stdin.write(unit + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            if line.endswith("\n"):
                return line
            self._close()
            return None

    def end(self) -> None:
        """End the process, whatever it is doing; who waits for an answer hears that it died."""
        self._is_over = True
        process = self._process
        if process is not None:
            process.kill()
        with self._in_use:
            self._close()

    def _close(self) -> None:
        if self._process is not None:
            self._process.kill()
            with suppress(OSError), self._process:  # what it did not read cannot be written
                self._process = None


def _started() -> subprocess.Popen[str]:
    """Return a process of its own session: what interrupts this one is not told to it twice."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        COMMAND, stdin=pipe, stdout=pipe, encoding="utf-8", start_new_session=True
    )


DIED = "the process that was to answer it died"


def _here(units: Sequence[str], jobs: int) -> Generator[Answer, None, None]:
    processes = [_Process() for _ in range(min(jobs, len(units)))]
    idle: SimpleQueue[_Process] = SimpleQueue()
    for process in processes:
        idle.put(process)

    def answer(unit: str) -> str | None:
        process = idle.get()
        try:
            return process.answer(unit)
        finally:
            idle.put(process)

    pool = ThreadPoolExecutor(max(1, len(processes)))
    try:
        futures = {pool.submit(answer, unit): i for i, unit in enumerate(units)}
        for future in as_completed(futures):
            result = future.result()
            yield futures[future], result, "" if result else DIED
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.end()


# --- on a cluster --------------------------------------------------------------------------


_at_work: dict[int, _Process] = {}
"""The process of each thread that is a worker, until `end_processes`."""


def answered_batch(units: Sequence[str]) -> list[str | None]:
    """Return the results of some units, found by a process of this thread's; runs on a worker."""
    process = _at_work.setdefault(threading.get_ident(), _Process())
    return [process.answer(unit) for unit in units]


def end_processes() -> None:
    """End what workers in this process have started; runs on a worker."""
    while _at_work:
        _at_work.popitem()[1].end()


def _on_cluster(units: Sequence[str], on: str, jobs: int) -> Generator[Answer, None, None]:
    client = _client(on, jobs)
    try:
        yield from _by_batches(units, client)
    finally:
        cluster = client.cluster if on == DASK else None
        client.run(end_processes)
        client.close()
        if cluster is not None:
            cluster.close()


def _client(on: str, jobs: int) -> Client:
    if on != DASK and "://" not in on:
        advice = f"write `{DASK}`, or the address of a scheduler, such as tcp://127.0.0.1:8786"
        raise Unreachable(NoCluster(None, on, "it is no cluster", advice))
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        advice = "install the extra `cluster`: python -m pip install 'dpcheck[cluster]'"
        raise Unreachable(NoCluster(None, on, "dask distributed is missing", advice)) from None
    if on == DASK:
        # Threads will do, as all work is done in processes that they start.
        return Client(
            LocalCluster(
                n_workers=jobs, threads_per_worker=1, processes=False, dashboard_address=None
            )
        )
    try:
        return Client(on, timeout=10)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0] or "no answer"
        advice = "start one with `dask scheduler` and `dask worker`, and give its address"
        raise Unreachable(NoCluster(None, on, reason, advice)) from None


def _by_batches(units: Sequence[str], client: Client) -> Generator[Answer, None, None]:
    """Yield answers of a cluster; batches grow to what `BATCH_SECONDS` allow."""
    from distributed import as_completed as as_answered

    left = iter(range(len(units)))
    batches: dict[Future, tuple[list[int], float]] = {}
    waiting = as_answered()

    def submit(size: int) -> None:
        batch = list(islice(left, size))
        if batch:
            future = client.submit(answered_batch, [units[i] for i in batch], pure=False)
            batches[future] = batch, time.monotonic()
            waiting.add(future)

    n_workers = max(1, sum(client.nthreads().values()))
    for _ in range(n_workers):
        submit(1)
    for future in waiting:
        batch, begun = batches.pop(future)
        results: list[str | None] = [None for _ in batch]
        failure = DIED
        if future.status == "finished":
            results = future.result()
        else:
            failure = f"a worker of the cluster says: {future.exception()}"
        for i, result in zip(batch, results, strict=True):
            yield i, result, "" if result else failure
        share = BATCH_SECONDS / (time.monotonic() - begun)
        submit(max(1, min(MOST_A_BATCH, int(len(batch) * min(2.0, share)))))
