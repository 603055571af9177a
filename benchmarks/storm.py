"""Storm's side of a job, as a user of stormpy 2.0 writes it who knows what is fast.

What was measured, and taken because it is faster for Storm:

- states to ask from are marked with a label, not found by an `init` construct;
- values of variables come as one list for all states, not state by state;
- where there are many queries, a state gets the label of its query from its values: Storm would
  evaluate the expression of every query in every state;
- values of a result are read for the states of a pair only, unless those are most states;
- where all ends of a model are absorbing, one steady state a start may be asked instead of one
  query an output (`is_forward`).
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import stormpy

from benchmarks.instances import Instance

# Said on the way, so that a job that was stopped tells how far it came.
BUILT = "the model is built"
MANY_QUERIES = 32
FLOAT_SLACK = 1e-6  # Storm's default precision


def verdict(path: Path, instance: Instance, *, solver: str, is_exact: bool, way: str) -> str:
    """Return what a job comes to: parse, build, all queries, all comparisons."""
    program = stormpy.parse_prism_program(str(path))
    is_forward = way == "forward"
    model, properties = built(program, instance, is_exact=is_exact, is_forward=is_forward)
    print(BUILT, file=sys.stderr, flush=True)
    environment = chosen_environment(model, solver)
    states = start_states(model, instance.variables)
    pairs = np.array([(states[a], states[b]) for a, b in instance.neighbors()])
    if is_forward:
        rows = end_probabilities(model, environment, list(states.values()))
        holds = all(is_row_within(rows[s], rows[t], instance.bound) for s, t in pairs.tolist())
        return "holds" if holds else "violated"
    asked = np.unique(pairs).tolist()
    holds = True
    for query in properties:
        result = stormpy.model_checking(model, query, environment=environment)
        if instance.is_value:
            return f"{float(Fraction(str(result.get_value(int(pairs[0, 0]))))):.4f}"
        if is_exact:
            holds &= is_within(exact_values(result, asked, model), pairs, instance.bound)
        else:
            floats = np.array(result.get_value_vector())
            p, q = floats[pairs[:, 0]], floats[pairs[:, 1]]
            holds &= is_close_within(p, q, float(instance.bound))
    return "holds" if holds else "violated"


def built(
    program: Any, instance: Instance, *, is_exact: bool, is_forward: bool = False
) -> tuple[Any, list[Any]]:
    """Return the model with what its properties need, and the properties, one a query."""
    queries = [] if is_forward else list(instance.queries())
    is_labelled = len(queries) > MANY_QUERIES
    if is_labelled:
        properties = stormpy.parse_properties(
            "; ".join(f'P=? [ F "query{j}" ]' for j in range(len(queries)))
        )
    else:
        properties = stormpy.parse_properties("; ".join(q.prism for q in queries), program)
    options = stormpy.BuilderOptions([] if is_labelled else properties)
    options.set_build_all_labels()  # the program has one: `start`
    options.set_build_state_valuations()
    number = stormpy.Rational if is_exact else float
    model = stormpy.build_model[number](program, options=options)
    if is_labelled:
        names = tuple(queries[0].target)
        label_of = {tuple(q.target.values()): f"query{j}" for j, q in enumerate(queries)}
        for label in label_of.values():
            model.labeling.add_label(label)
        for state, values in enumerate(zip(*columns(model, names), strict=True)):
            if values in label_of:
                model.labeling.add_label_to_state(label_of[values], state)
    return model, properties


def chosen_environment(model: Any, solver: str) -> Any:
    """Return stormpy's settings for a solver.

    For floats `default` is what the command line of Storm does by itself, and `sound` what
    stormpy does.
    """
    if solver == "sound" or (solver == "default" and model.is_exact):
        return stormpy.environments.default(model)
    if solver == "default":
        return stormpy.Environment()
    environment = stormpy.environments.default(model)
    kind = getattr(stormpy.environments.EquationSolverType, solver.upper())
    environment.solver().set_linear_equation_solver_type(kind)
    return environment


def columns(model: Any, names: tuple[str, ...]) -> list[list[int]]:
    """Return the values of variables, one list a variable, in the order of states."""
    valuations = model.state_valuations
    by_name = {variable.name: variable for variable in valuations.get_all_variables()}
    return [valuations.get_int64_values(by_name[name]) for name in names]


def start_states(model: Any, variables: tuple[str, ...]) -> dict[tuple[int, ...], int]:
    """Return the state labelled `start` of each valuation of the variables."""
    values = columns(model, variables)
    return {
        tuple(column[state] for column in values): state
        for state in model.labeling.get_states("start")
    }


def exact_values(result: Any, asked: list[int], model: Any) -> Any:
    """Return what gives a state's value: reading few of them is faster than reading all."""
    if len(asked) * 4 > model.nr_states:
        return result.get_value_vector()
    return {state: result.get_value(state) for state in asked}


def is_within(values: Any, pairs: np.ndarray, bound: Fraction) -> bool:
    """Return whether p <= E q both ways for every pair, on rationals."""
    limit = stormpy.Rational(str(bound))
    return all(
        values[s] <= limit * values[t] and values[t] <= limit * values[s] for s, t in pairs.tolist()
    )


def is_close_within(p: np.ndarray, q: np.ndarray, bound: float) -> bool:
    """Return whether p <= E q both ways, on floats up to Storm's precision."""
    return bool((p <= bound * q + FLOAT_SLACK).all() and (q <= bound * p + FLOAT_SLACK).all())


# --- one steady state a start, in place of one query an output -------------------------------


def end_probabilities(model: Any, environment: Any, starts: list[int]) -> dict[int, list[Any]]:
    """Return the probabilities to end in each absorbing state, from each start."""
    ends = [state for state in range(model.nr_states) if model.is_sink_state(state)]
    rows = {}
    for start in starts:
        only = stormpy.developer.storage.BitVector(model.nr_states, [start])
        model.set_initial_states(only)
        result = stormpy.analysis.compute_steady_state_distribution(model, environment=environment)
        values = result.get_value_vector()
        rows[start] = [values[end] for end in ends]
    return rows


def is_row_within(p: list[Any], q: list[Any], bound: Fraction) -> bool:
    """Return whether p <= E q both ways for every end."""
    if isinstance(p[0], float):
        return is_close_within(np.array(p), np.array(q), float(bound))
    limit = stormpy.Rational(str(bound))
    return all(x <= limit * y and y <= limit * x for x, y in zip(p, q, strict=True))


def warm_up(path: Path, *, is_exact: bool) -> None:
    """Answer one query about a die from a coin, so that first-use costs are not in the job."""
    path.write_text(
        "dtmc\nmodule die\n  s : [0..3];\n  [] s=0 -> 1/4:(s'=0) + 1/4:(s'=1) + 1/2:(s'=2);\n"
        "  [] s>0 -> true;\nendmodule\n"
    )
    program = stormpy.parse_prism_program(str(path))
    properties = stormpy.parse_properties("P=? [ F s=1 ]", program)
    number = stormpy.Rational if is_exact else float
    options = stormpy.BuilderOptions(properties)
    options.set_build_state_valuations()
    model = stormpy.build_model[number](program, options=options)
    stormpy.model_checking(model, properties[0])
