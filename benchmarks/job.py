"""One timed job in a process of its own: `python -m benchmarks.job TOOL INSTANCE FOLDER`.

Interpreter start and imports are left out of `seconds` for both tools; everything from the model
file to the verdict is in. Prints one JSON object.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.families import Instance
from benchmarks.suite import SUITE

Job = Callable[[], str]


def dpcheck_job(folder: Path, instance: Instance) -> Job:
    """Return the job of dpcheck: the command's own path from the file to the verdicts."""
    import dpcheck.cli
    from dpcheck.pipeline import Options, check_paths
    from dpcheck.report import Answer

    assert dpcheck.cli, "what the command imports is imported"
    path = str(folder / f"{instance.name}.dpm")

    def job() -> str:
        answers = [event for event in check_paths([path], Options()) if isinstance(event, Answer)]
        if not answers:
            return "no answer"
        kinds = {type(answer.outcome.verdict).__name__ for answer in answers}
        return "holds" if kinds == {"Holds"} else ", ".join(sorted(kinds)).lower()

    return job


def storm_job(folder: Path, instance: Instance, *, solver: str, is_exact: bool) -> Job:
    """Return Storm's job: parse, build, one query an output, the comparisons over all pairs."""
    import stormpy

    def job() -> str:
        program = stormpy.parse_prism_program(str(folder / f"{instance.name}.prism"))
        properties = stormpy.parse_properties("; ".join(instance.properties()), program)
        options = stormpy.BuilderOptions(properties)
        options.set_build_state_valuations()
        number = stormpy.Rational if is_exact else float
        model = stormpy.build_model[number](program, options=options)
        environment = storm_environment(model, solver)
        state_of = initial_states(model, instance.variables)
        pairs = [(state_of[a], state_of[b]) for a, b in instance.neighbors()]
        bound = number(str(instance.bound)) if is_exact else float(instance.bound)
        slack = number(0) if is_exact else 1e-6
        holds = True
        for prop in properties:
            values = stormpy.model_checking(model, prop, environment=environment)
            holds &= is_within(values.get_value_vector(), pairs, bound, slack)
        return "holds" if holds else "violated"

    return job


def storm_environment(model: Any, solver: str) -> Any:
    """Return Storm's settings: its default, its sound ones, or a named equation solver."""
    import stormpy

    if solver == "default":
        return stormpy.environments.default(model)
    if solver == "sound":
        return stormpy.environments.sound()
    environment = stormpy.environments.exact()
    kind = getattr(stormpy.environments.EquationSolverType, solver.upper())
    environment.solver().set_linear_equation_solver_type(kind)
    return environment


def initial_states(model: Any, variables: tuple[str, ...]) -> dict[tuple[int, ...], int]:
    """Return the initial state of each valuation of the variables that tell them apart."""
    valuations = model.state_valuations
    by_name = {variable.name: variable for variable in valuations.get_all_variables()}
    chosen = [by_name[name] for name in variables]
    found = {}
    for state in model.initial_states:
        key = tuple(valuations.get_int64_value(state, variable) for variable in chosen)
        found[key] = state
    return found


def is_within(values: Sequence[Any], pairs: list[tuple[int, int]], bound: Any, slack: Any) -> bool:
    """Tell whether p <= E q both ways for every pair (floats: up to Storm's default precision)."""
    return all(
        values[s] <= bound * values[t] + slack and values[t] <= bound * values[s] + slack
        for s, t in pairs
    )


TOOLS: dict[str, Callable[[Path, Instance], Job]] = {
    "dpcheck": dpcheck_job,
    "storm-exact": lambda f, i: storm_job(f, i, solver="default", is_exact=True),
    "storm-exact-elimination": lambda f, i: storm_job(f, i, solver="elimination", is_exact=True),
    "storm-exact-eigen": lambda f, i: storm_job(f, i, solver="eigen", is_exact=True),
    "storm-exact-topological": lambda f, i: storm_job(f, i, solver="topological", is_exact=True),
    "storm-float": lambda f, i: storm_job(f, i, solver="default", is_exact=False),
    "storm-sound": lambda f, i: storm_job(f, i, solver="sound", is_exact=False),
}


def main() -> None:
    """Run one job and print what it took."""
    tool, name, folder = sys.argv[1:4]
    job = TOOLS[tool](Path(folder), SUITE[name]())
    start = time.perf_counter()
    answer = job()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "peak_mib": peak / 1024, "answer": answer}))


if __name__ == "__main__":
    main()
