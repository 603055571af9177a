"""The most probable run with the outputs shown: what each step costs on the left and on the right.

The left's run is repeated on the right with the same draws. A draw costs there what its
distribution gives the value; the runs part where the right decides a branch otherwise, cannot draw
the value, or outputs something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice

import numpy as np

from dpcheck.chain.chain import Chain
from dpcheck.chain.graph import graph_of, reachable
from dpcheck.chain.sets import distinct
from dpcheck.check.values.amounts import number_amount
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import Budget, Number, compare, divide, excess_sign
from dpcheck.explain.explanation import Difference, Line, RunStep, TracedRun
from dpcheck.explain.inputs import input_cells
from dpcheck.explain.runs.attribution import chances, factor_amount, first_impossible
from dpcheck.explain.runs.passed_states import passed_states
from dpcheck.explain.runs.program_runs import Environment, FoundRun, Place, ProgramRuns, Step
from dpcheck.explain.subject import Subject
from dpcheck.limits import LimitReached
from dpcheck.model import program
from dpcheck.model.evaluation import Fault, evaluate
from dpcheck.model.expressions import Const
from dpcheck.model.offers import shown_text
from dpcheck.model.values import Value, value_key, value_text
from dpcheck.records import replace

_FAR = 64
"""So far beyond what is known of it noise without bounds is drawn: a run of less is likelier."""

_MAX_INSTEAD = 100
"""So many states are looked at for what is shown in place of an output; most lines have few."""


def first_traced(
    subject: Subject,
    sequences: Iterable[OutputSequence],
    states: Sequence[int],
    epsilon: Budget | None = None,
) -> TracedRun | None:
    """Return the most probable run with the first of some outputs that have one, and with these."""
    for shown in sequences:
        run = traced_run(subject, shown, states, epsilon)
        if run is not None:
            return replace(run, shown=shown)
    return None


def traced_run(
    subject: Subject, shown: OutputSequence, states: Sequence[int], epsilon: Budget | None = None
) -> TracedRun | None:
    """Return the most probable run from the first state that shows some outputs, or None.

    Of a pair of neighbors a program's is priced from the second, too; if its ratio is within e^ε,
    one that exceeds this is shown.
    """
    known = chances(subject, shown, states)
    if shown.ending == "diverged" or known[0] == 0:
        return None
    if not isinstance(subject.target, program.Mechanism):
        return passed_states(subject, shown, states, known[0])
    return _of_program(subject, subject.target, shown, states, known, epsilon)


def _of_program(
    subject: Subject,
    mechanism: program.Mechanism,
    shown: OutputSequence,
    states: Sequence[int],
    known: Sequence[Number],
    epsilon: Budget | None,
) -> TracedRun | None:
    """Return the most probable run of a program, whose outputs have the probabilities known."""
    written = mechanism.nodes
    window, cells = subject.explored.window, input_cells(subject.explored)
    low, high = (0, 0) if window is None else window.shown
    far = low - _FAR, high + _FAR
    mechanism = replace(mechanism, nodes=tuple(_with_bounds(node, *far) for node in written))
    runs = ProgramRuns(mechanism, subject.limits)
    left, right, *_ = *map(cells.environment, states), None
    chosen = _chosen(runs, shown, left, right, epsilon)
    if chosen is None:
        return None
    found, there, is_beyond = chosen
    ends_drawn = {step.node for step in found.steps if step.value in far}
    if any(runs.nodes[node] != written[node] for node in ends_drawn):
        return None  # an end stands for numbers further out, too
    begin = runs.begin(left), None if right is None else runs.begin(right)
    is_over = shown.ending == "stopped"
    steps, is_same = _priced(subject, runs, (found, found), begin, is_over=is_over)
    cut, instead, elsewhere = "", "", list[RunStep]()
    if right is not None and known[1] == 0:
        instead = _shown_instead(subject, runs, states[1], right, shown.outputs)
        cut = _cut(mechanism, runs, found, (left, right), shown)
    elif there is not None and not is_same:
        if _is_beside(found, there, epsilon):
            steps, _ = _priced(subject, runs, (found, there), begin, is_over=is_over)
        else:
            elsewhere = [_plain(runs, s) for s in there.steps if not runs.is_chosen(s.node)]
    return TracedRun(
        number_amount(divide(found.probability, known[0])),
        _folded([step for step in steps if not _is_equal(step)]),
        _folded([step for step in steps if _is_equal(step)]),
        _folded(elsewhere),
        cut,
        instead,
        is_beyond,
    )


def _chosen(
    runs: ProgramRuns,
    shown: OutputSequence,
    left: Environment,
    right: Environment | None,
    epsilon: Budget | None,
) -> tuple[FoundRun, FoundRun | None, bool] | None:
    """Return the left's run that is told, the right's most probable one, and if a likelier is not.

    The left's most probable run is not told where it does not exceed the budget, as this one does.
    """
    likeliest = runs.best(left, shown)
    if likeliest is None or not likeliest.steps:
        return None
    there = None if right is None else runs.best(right, shown)
    found = likeliest
    if there is not None and epsilon is not None:
        found = _beyond(runs.found(left, shown, right), there, epsilon) or likeliest
    return found, there, found.probability != likeliest.probability


def _beyond(found: Iterable[FoundRun], there: FoundRun, epsilon: Budget) -> FoundRun | None:
    """Return the most probable run whose ratio exceeds e^ε, of equally probable ones the largest.

    Those come first that the right's most probable run, `there`, can stand beside, or the same
    draws. None where no run was found by the limits.
    """
    chosen, other = None, None
    with suppress(LimitReached):
        for run in found:
            if chosen is not None and run.probability != chosen.probability:
                break
            if excess_sign(1, run.beside, epsilon) <= 0:
                continue
            if _nodes(there) == _nodes(run) and not _is_beside(run, there, epsilon):
                other = other or run
            elif chosen is None or compare(run.beside, chosen.beside) < 0:
                chosen = run
    return chosen or other


def _is_beside(run: FoundRun, there: FoundRun, epsilon: Budget | None) -> bool:
    """Return whether the right's own run may stand beside one: by the same lines, beyond e^ε."""
    is_beyond = epsilon is None or excess_sign(run.probability, there.probability, epsilon) > 0
    return is_beyond and _nodes(there) == _nodes(run)


def _shown_instead(
    subject: Subject, runs: ProgramRuns, state: int, right: Environment, outputs: Sequence[str]
) -> str:
    """Return what the right shows, and on which lines, in place of the first output it cannot."""
    place = first_impossible(subject, outputs, state)
    if place is None:
        return ""
    *before, never = outputs[: place + 1]
    values: dict[Line, list[str]] = {}
    with suppress(LimitReached):  # what is known by then is true
        for step in islice(runs.shown_after(right, before), _MAX_INSTEAD):
            line, text = Line.of(runs.nodes[step.node].span), shown_text(step.value)
            if text not in values.setdefault(line, []):
                values[line].append(text)
    told = ", ".join(
        f"line {line.text(subject.claim.span.source.name)} shows {first}{' or others' * bool(more)}"
        for line, (first, *more) in values.items()
    )
    where = " here" if before else " first" * _shows(subject.chain, state, never)
    return told and f"the right never outputs {never}{where}: {told}"


def _shows(chain: Chain, state: int, text: str) -> bool:
    """Return whether some run from a state shows an output, early or late."""
    everywhere = np.ones(chain.n_states, np.bool_)
    met = reachable(graph_of(chain), np.array([state], np.int64), everywhere)
    codes = distinct(chain.observation[met]).tolist()
    return any(code >= 0 and chain.observation_text(code) == text for code in codes)


def _between(noise: program.Parametric, low: int, high: int) -> program.Parametric:
    """Return noise with other ends, clamped to them if it had none: as likely between these."""
    policy = noise.policy
    assert policy is not None, "only noise has ends"
    kind = policy.kind if isinstance(policy, program.Policy) else "clamped"
    ends = Const(low, policy.span), Const(high, policy.span)
    return replace(noise, policy=program.Policy(kind, *ends, policy.span))


def _with_bounds(node: program.Node, low: int, high: int) -> program.Node:
    """Return a node whose noise has bounds, those given if it had none."""
    if not isinstance(node, program.Sample) or program.unbounded_policy(node.distribution) is None:
        return node

    def bounded(noise: program.Parametric) -> program.Parametric:
        return _between(noise, low, high) if isinstance(noise.policy, program.Unbounded) else noise

    return replace(node, distribution=program.with_noise(node.distribution, bounded))


def _cut(
    mechanism: program.Mechanism,
    runs: ProgramRuns,
    found: FoundRun,
    sides: tuple[Environment, Environment],
    shown: OutputSequence,
) -> str:
    """Return the range of a draw that keeps the right from showing these outputs, if there is one.

    The left draws an end of the range; with one three times as wide, all else the same, the outputs
    are possible on the right.
    """
    left, right = sides
    place = runs.begin(left)
    with suppress(Fault):  # of a program that is not made for other noise
        for step in found.steps:
            assert place is not None, "the left's own run is followed"
            wider, text = _widened(runs.nodes[step.node], place, step.value)
            if wider is not None:
                nodes = (*mechanism.nodes[: step.node], wider, *mechanism.nodes[step.node + 1 :])
                own = ProgramRuns(replace(mechanism, nodes=nodes), runs.limits)
                if own.best(right, shown) is not None:
                    return text
            place = runs.after(place, step.value)
    return ""


def _widened(node: program.Node, place: Place, value: Value) -> tuple[program.Node | None, str]:
    """Return a draw with a range three times as wide, and that at whose end a value is, if any."""
    match node:
        case program.Sample(
            distribution=program.Parametric(policy=program.Policy(lo=first, hi=last)) as noise
        ):
            lo, hi = (evaluate(end, place.environment) for end in (first, last))
            if isinstance(lo, int) and isinstance(hi, int) and value in (lo, hi):
                more = hi - lo + 1
                wider = _between(noise, lo - more, hi + more)
                return replace(node, distribution=wider), f"{lo}..{hi}"
    return None, ""


def _is_equal(step: RunStep) -> bool:
    """Return whether a draw has equal values, and probabilities, on both sides."""
    is_one = step.factor is not None and step.factor.exact == "1"
    return step.kind == "draw" and is_one and not step.right_value


def _folded(steps: list[RunStep]) -> tuple[RunStep, ...]:
    """Return equal steps in a row as one, with their number."""
    return tuple(replace(step, times=sum(1 for _ in group)) for step, group in groupby(steps))


def _plain(runs: ProgramRuns, step: Step) -> RunStep:
    node = runs.nodes[step.node]
    value, line = shown_text(step.value), Line.of(node.span)
    if isinstance(node, program.Sample):
        price = number_amount(step.probability)
        place = _as_written(node.target) or node.span.text.partition("~")[0].strip()
        return RunStep(line, "draw", place, value, left=price)
    is_query = isinstance(node, program.Output) and node.query is not None
    return RunStep(line, "query" if is_query else "output", "", value)


def _as_written(name: str) -> str:
    """Return the name of a variable as it stands on its line, "" for one that nobody wrote.

    >>> _as_written("survey.y#2"), _as_written("b#2[1]"), _as_written("drawn##2")
    ('y', 'b[1]', '')
    """
    return re.sub(r"^.*\.|.*#(#\d+)?$|#\d+", "", name)


def _nodes(found: FoundRun) -> list[int]:
    return [step.node for step in found.steps]


def _priced(
    subject: Subject,
    runs: ProgramRuns,
    found: tuple[FoundRun, FoundRun],
    begin: tuple[Place | None, Place | None],
    *,
    is_over: bool,
) -> tuple[list[RunStep], bool]:
    """Return the steps with what they cost on both sides, and whether the right takes them all.

    On the right the values are those of the second run found. If runs are to be over, it ends.
    """
    left, right = begin
    is_same, steps = False, list[RunStep]()
    for step, own in zip(*(each.steps for each in found), strict=True):
        assert left is not None, "the left's own run is followed"
        made, is_same = _plain(runs, step), False
        if right is not None and right.node != left.node:
            note, read = _parting(subject, runs, left, right)
            made, right = replace(made, reads=read, note=note), None
        elif begin[1] is None and made.kind == "draw":
            made = replace(made, reads=_different(runs.told(left)))
        elif right is not None:
            made = _step(runs, made, (step, own), left, right)
            is_same = made.factor is None or made.factor.exact != "inf"
            right = runs.after(right, own.value) if is_same else None
        steps += [] if runs.is_chosen(step.node) else [made]
        left = runs.after(left, step.value)
    if not is_over:
        return steps, is_same
    if left is None or right is None or runs.kind(left) != "end" or runs.kind(right) == "end":
        return steps, right is not None
    note, read = _parting(subject, runs, left, right)
    return [*steps, RunStep(None, "end", "", "the end", reads=read, note=note)], False


def _parting(
    subject: Subject, runs: ProgramRuns, left: Place, right: Place
) -> tuple[str, tuple[Difference, ...]]:
    """Return where the right side went another way, and what that depends on."""
    for (node, on_left, known), (_, on_right, there) in zip(
        left.branches, right.branches, strict=False
    ):
        if on_left != on_right:
            line = subject.in_brackets(Line.of(runs.nodes[node].span))
            return f"right goes elsewhere{line}", _different(known, there)
    return "right goes elsewhere", ()


def _different(
    left: Environment, right: Environment | None = None, lines: Mapping[str, Line] | None = None
) -> tuple[Difference, ...]:
    """Return the variables that were written with other values on the right, or without one all.

    `lines` are those of the assignments on the left.
    """
    lines = lines or {}
    return tuple(
        Difference(
            _as_written(name),
            value_text(value),
            "" if right is None else value_text(there),
            lines.get(name),
        )
        for name, value in left.items()
        for there in [value if right is None else right.get(name, value)]
        if _as_written(name) and (right is None or value_key(value) != value_key(there))
    )


def _step(
    runs: ProgramRuns, made: RunStep, steps: tuple[Step, Step], left: Place, right: Place
) -> RunStep:
    """Return a step of the left's run at a place where the right is as well."""
    reads, (step, own) = _different(runs.told(left), runs.told(right)), steps
    if isinstance(runs.nodes[step.node], program.Output):
        there = shown_text(runs.shown(right))
        if there == made.value:
            return made
        lines = {name: Line.of(runs.nodes[node].span) for name, node in left.written.items()}
        lines = {name: line for name, line in lines.items() if line != made.line}
        reads = _different(runs.told(left), runs.told(right), lines)
        infinite = factor_amount(1, 0)
        return replace(made, reads=reads, factor=infinite, right_value=there)
    price = runs.price(right, own)
    there = value_text(own.value)
    return replace(
        made,
        reads=reads,
        right=number_amount(price),
        factor=factor_amount(step.probability, price),
        right_value="" if there == made.value else there,
    )
