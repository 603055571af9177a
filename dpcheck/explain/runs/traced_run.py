"""The most probable run with the outputs shown: what each step costs on the left and on the right.

The left's run is repeated on the right with the same draws. A draw costs there what its
distribution gives the value; the runs part where the right decides a branch otherwise, cannot draw
the value, or outputs something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby

from dpcheck.check.values.amounts import number_amount
from dpcheck.exact import Number, divide
from dpcheck.explain.explanation import Difference, Line, RunStep, TracedRun
from dpcheck.explain.inputs import InputCells
from dpcheck.explain.pairs import Sought
from dpcheck.explain.runs.attribution import factor_amount
from dpcheck.explain.runs.program_runs import Environment, FoundRun, Place, ProgramRuns, Step
from dpcheck.limits import Limits
from dpcheck.model.evaluation import Fault, evaluate
from dpcheck.model.expressions import Const
from dpcheck.model.program import Mechanism, Node, Output, Parametric, Policy, Sample, Unbounded
from dpcheck.model.values import value_key, value_text
from dpcheck.records import replace


def traced_run(
    sought: Sought, cells: InputCells, mechanism: Mechanism, limits: Limits
) -> TracedRun | None:
    """Return the most probable run from the left that shows some outputs, or None."""
    if any(map(_draws_without_bounds, mechanism.nodes)):
        return None  # whose draws are intervals, known by what the program asks of them
    outputs, ends = sought.shown.outputs, sought.shown.ending == "stopped"
    if sought.shown.ending == "diverged":
        return None
    runs = ProgramRuns(mechanism, limits)
    left = cells.environment(sought.left)
    right = None if sought.right is None else cells.environment(sought.right)
    found = runs.best(left, outputs, ends=ends)
    if found is None or not found.steps:
        return None
    if right is not None and sought.q == 0 and runs.best(right, outputs, ends=ends) is not None:
        return None  # a formula reads more than outputs, which are possible on the right
    begin = runs.begin(left), None if right is None else runs.begin(right)
    steps, is_same = _priced(runs, found, begin, ends=ends)
    elsewhere, cut = None, ""
    if right is not None and sought.q == 0:
        with suppress(Fault):  # of a program that is not made for other noise
            cut = _cut(mechanism, runs, found, (left, right), outputs, ends=ends)
    elif right is not None and not is_same:
        elsewhere = runs.best(right, outputs, ends=ends)
    return TracedRun(
        number_amount(divide(found.probability, sought.p)),
        _folded([step for step in steps if not _is_equal(step)]),
        _folded([step for step in steps if _is_equal(step)]),
        () if elsewhere is None else _folded([_plain(runs, step) for step in elsewhere.steps]),
        cut,
    )


def _draws_without_bounds(node: Node) -> bool:
    distribution = node.distribution if isinstance(node, Sample) else None
    return isinstance(distribution, Parametric) and isinstance(distribution.policy, Unbounded)


def _cut(
    mechanism: Mechanism,
    runs: ProgramRuns,
    found: FoundRun,
    sides: tuple[Environment, Environment],
    outputs: Sequence[str],
    *,
    ends: bool,
) -> str:
    """Return the range of a draw that keeps the right from showing these outputs, if there is one.

    The left draws an end of the range; with one three times as wide, all else the same, the outputs
    are possible on the right.
    """
    left, right = sides
    place = runs.begin(left)
    for step in found.steps:
        assert place is not None, "the left's own run is followed"
        values = _range_of(runs, place)
        if values is not None and step.value in values:
            nodes = list(mechanism.nodes)
            nodes[step.node] = _widened(runs.nodes[step.node], *values)
            wider = ProgramRuns(replace(mechanism, nodes=tuple(nodes)), runs.limits)
            if wider.best(right, outputs, ends=ends) is not None:
                return f"{values[0]}..{values[1]}"
        place = runs.after(place, step.value)
    return ""


def _range_of(runs: ProgramRuns, place: Place) -> tuple[int, int] | None:
    """Return the ends of the range of the noise that is drawn at a place, if it has one."""
    node = runs.nodes[place.node]
    if not isinstance(node, Sample) or not isinstance(node.distribution, Parametric):
        return None
    policy = node.distribution.policy
    if not isinstance(policy, Policy):
        return None
    lo, hi = (evaluate(end, place.environment) for end in (policy.lo, policy.hi))
    return (lo, hi) if isinstance(lo, int) and isinstance(hi, int) else None


def _widened(node: Node, lo: int, hi: int) -> Node:
    """Return a draw of noise with a range three times as wide."""
    assert isinstance(node, Sample), "only a draw has a range"
    distribution = node.distribution
    assert isinstance(distribution, Parametric), "only noise has a range"
    policy, more = distribution.policy, hi - lo + 1
    assert isinstance(policy, Policy), "only noise has a range"
    low, high = Const(lo - more, policy.span), Const(hi + more, policy.span)
    wider = replace(distribution, policy=replace(policy, lo=low, hi=high))
    return replace(node, distribution=wider)


def _is_equal(step: RunStep) -> bool:
    """Return whether a draw has equal probabilities on both sides."""
    return step.kind == "draw" and step.factor is not None and step.factor.exact == "1"


def _folded(steps: list[RunStep]) -> tuple[RunStep, ...]:
    """Return equal steps in a row as one, with their number."""
    return tuple(replace(step, times=sum(1 for _ in group)) for step, group in groupby(steps))


def _plain(runs: ProgramRuns, step: Step) -> RunStep:
    node = runs.nodes[step.node]
    value, line = value_text(step.value), Line(node.span.source.name, node.span.line)
    if isinstance(node, Sample):
        price = number_amount(step.probability)
        place = _as_written(node.target) or node.span.text.partition("~")[0].strip()
        return RunStep(line, "draw", place, value, left=price)
    return RunStep(line, "output", "", value)


def _as_written(name: str) -> str:
    """Return the name of a variable as it stands on its line, "" for one that nobody wrote.

    >>> _as_written("survey.y#2"), _as_written("b#2[1]"), _as_written("drawn##2")
    ('y', 'b[1]', '')
    """
    return re.sub(r"^.*\.|.*#(#\d+)?$|#\d+", "", name)


def _priced(
    runs: ProgramRuns, found: FoundRun, begin: tuple[Place | None, Place | None], *, ends: bool
) -> tuple[list[RunStep], bool]:
    """Return the steps with what they cost on both sides, and whether the right takes them all.

    With `ends`, it also ends after them.
    """
    left, right = begin
    steps: list[RunStep] = []
    for step in found.steps:
        assert left is not None, "the left's own run is followed"
        made = _plain(runs, step)
        if right is not None and right.node != left.node:
            note = _parting(runs, left, right)
            made, right = replace(made, reads=_different(runs, left, right), note=note), None
        elif right is not None:
            made = _step(runs, made, step, left, right)
            is_over = made.factor is not None and made.factor.exact == "inf"
            right = None if is_over else runs.after(right, step.value)
        steps.append(made)
        left = runs.after(left, step.value)
    return steps, right is not None and (not ends or runs.kind(right) == "end")


def _parting(runs: ProgramRuns, left: Place, right: Place) -> str:
    """Return where the right side went another way."""
    for (node, on_left), (_, on_right) in zip(left.branches, right.branches, strict=False):
        if on_left != on_right:
            return f"right never gets here (line {runs.nodes[node].span.line})"
    return "right never gets here"


def _different(runs: ProgramRuns, left: Place, right: Place) -> tuple[Difference, ...]:
    """Return the variables that the left reads next and that have other values on the right."""
    return tuple(
        Difference(
            _as_written(name), *(value_text(side.environment[name]) for side in (left, right))
        )
        for name in runs.reads(left)
        if _as_written(name)
        and name in right.environment
        and value_key(left.environment[name]) != value_key(right.environment[name])
    )


def _step(runs: ProgramRuns, made: RunStep, step: Step, left: Place, right: Place) -> RunStep:
    """Return a step of the left's run at a place where the right is as well."""
    reads = _different(runs, left, right)
    if isinstance(runs.nodes[step.node], Output):
        there = value_text(runs.shown(right))
        if there == made.value:
            return made
        infinite = factor_amount(1, 0)
        return replace(made, reads=reads, factor=infinite, right_value=there)
    nothing: tuple[None, Number] = None, 0
    _, price = runs.draws(right).get(value_key(step.value), nothing)
    return replace(
        made,
        reads=reads,
        right=number_amount(price),
        factor=factor_amount(step.probability, price),
    )
