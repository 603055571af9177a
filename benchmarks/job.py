"""One timed job in a process of its own: `python -m benchmarks.job TOOL INSTANCE FOLDER`.

`seconds` is from the model file to the verdicts. Imports, and a first small model of another kind
that makes the tool compile and load what it does once, are before it, for both tools; with
`--cold` there is no such first model. `prepared` is what making the instance took, which no user
does. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.instances import Instance
from benchmarks.suite import SMALL, SUITE

OTHER_MODEL = """mechanism survey {
  input x in {pos, neg}
  adjacent all
  y ~ {Y: if x = pos then 3/4 else 1/4, N: if x = pos then 1/4 else 3/4}
  output y
}
chain loop {
  state s[k in 0..2]
  state won
  state lost
  for k in 0..2 { s[k] -> 1/2: s[(k + 1) mod 3] + (1 + k)/8: won + (3 - k)/8: lost }
  adjacent s[0] ~ s[1]
}
check survey: epsilon = ln 3
check loop: D{ln 3} [ F won ]
compute loop at s[0] : P=? [ F won ]
"""


@dataclass(frozen=True)
class Tool:
    """A tool with its settings, as two functions of a folder: get warm, and do the job."""

    warm_up: Callable[[Path, Instance], None]
    job: Callable[[Path, Instance], str]


def dpcheck_answers(path: Path) -> str:
    """Return what the command's own path, from the file to the verdicts, comes to."""
    from dpcheck.check.values.verdicts import Value
    from dpcheck.pipeline.options import Options
    from dpcheck.pipeline.run import check_paths
    from dpcheck.report.answers import Answer

    answers = [e for e in check_paths([str(path)], Options()) if isinstance(e, Answer)]
    values = [a.outcome.verdict for a in answers if isinstance(a.outcome.verdict, Value)]
    if values:
        return f"{float(values[0].amount.decimal):.4f}"
    if answers and all(answer.is_ok for answer in answers):
        return "holds"
    kinds = {type(answer.outcome.verdict).__name__.lower() for answer in answers}
    return ", ".join(sorted(kinds - {"holds"})) or "no answer"


def dpcheck_tool() -> Tool:
    """Return dpcheck."""
    import dpcheck.cli

    assert dpcheck.cli, "what the command imports is imported"

    def warm_up(folder: Path, job: Instance) -> None:
        for module in job.modules:
            import_module(module)
        path = folder / "other.dpm"
        path.write_text(OTHER_MODEL)
        dpcheck_answers(path)

    return Tool(warm_up, lambda folder, job: dpcheck_answers(folder / f"{job.name}.dpm"))


def storm_tool(solver: str, *, is_exact: bool, way: str = "queries") -> Tool:
    """Return Storm on rationals or on floats."""
    from benchmarks import storm

    def job(folder: Path, instance: Instance) -> str:
        has_floats = not is_exact and instance.prism_floats is not None
        path = folder / f"{instance.name}{'.floats' if has_floats else ''}.prism"
        return storm.verdict(path, instance, solver=solver, is_exact=is_exact, way=way)

    def warm_up(folder: Path, _job: Instance) -> None:
        storm.warm_up(folder / "die.prism", is_exact=is_exact)

    return Tool(warm_up, job)


TOOLS: dict[str, Callable[[], Tool]] = {
    "dpcheck": dpcheck_tool,
    "storm-exact": lambda: storm_tool("default", is_exact=True),
    "storm-exact-acyclic": lambda: storm_tool("acyclic", is_exact=True),
    "storm-exact-elimination": lambda: storm_tool("elimination", is_exact=True),
    "storm-exact-eigen": lambda: storm_tool("eigen", is_exact=True),
    "storm-exact-forward": lambda: storm_tool("default", is_exact=True, way="forward"),
    "storm-sound": lambda: storm_tool("sound", is_exact=False),
    "storm-sound-forward": lambda: storm_tool("sound", is_exact=False, way="forward"),
}


def write_models(instance: Instance, folder: Path) -> None:
    """Write the files of a job into a folder."""
    (folder / f"{instance.name}.dpm").write_text(instance.dpm)
    (folder / f"{instance.name}.prism").write_text(instance.prism)
    if instance.prism_floats is not None:
        (folder / f"{instance.name}.floats.prism").write_text(instance.prism_floats)


def limit_memory() -> None:
    """Let a job fail when it wants nine tenths of the machine's memory, in place of the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def main() -> None:
    """Run one job and print what it took; dpcheck's in a thread as a worker of the command has."""
    limit_memory()
    if sys.argv[1] == "dpcheck":
        from dpcheck.limits import with_deep_stack

        with_deep_stack(measure)
    else:
        measure()


def measure() -> None:
    """Run one job and print what it took."""
    name, instance_name, given = sys.argv[1:4]
    folder = Path(given)
    start = time.perf_counter()
    instance = {**SUITE, **SMALL}[instance_name]()
    prepared = time.perf_counter() - start
    tool = TOOLS[name]()
    if "--cold" not in sys.argv:
        tool.warm_up(folder, instance)
    start, start_cpu = time.perf_counter(), time.process_time()
    answer = tool.job(folder, instance)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record = {"seconds": seconds, "cpu": cpu, "prepared": prepared, "peak_mib": peak / 1024}
    print(json.dumps({**record, "answer": answer}))


if __name__ == "__main__":
    main()
