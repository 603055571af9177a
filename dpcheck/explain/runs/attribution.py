"""Where the ratio of an output sequence comes from: exact factors that multiply to it.

By output: forward vectors on the chain give P(o_i | o_1 .. o_(i-1)) on both sides; the quotients
multiply to the ratio, and the last one is for how the run ends. By input: the cells that differ are
changed one after the other, in the order of their declaration, and the ratios p_0/p_1, p_1/p_2, ...
telescope. Their factors depend on that order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.sets import distinct
from dpcheck.check.quantities.seen_pairs import observed
from dpcheck.check.values.amounts import INFINITE, number_amount
from dpcheck.check.values.event_text import GOES_ON, STOPPED
from dpcheck.check.values.verdicts import Amount, Ending, OutputSequence
from dpcheck.exact import Number, add, divide, multiply, number, sum_of, whole
from dpcheck.explain.atoms import output_values
from dpcheck.explain.explanation import Difference, InputStep, Line, OutputStep, TracedRun
from dpcheck.explain.inputs import InputCells
from dpcheck.explain.pairs import ShownPair
from dpcheck.explain.subject import Subject
from dpcheck.limits import Limits
from dpcheck.model.offers import fixed_choice
from dpcheck.model.values import value_text

_MAX_INPUTS = 200_000
"""Bounds the inputs among which those between two neighbors are looked for."""

_ENDS: tuple[Ending, ...] = "goes on", "stopped"

Vector = dict[int, Number]
"""The weight of each state, of those that are not 0."""


def factor_amount(left: Number, right: Number) -> Amount:
    """Return left / right, infinite over zero."""
    return INFINITE if right == 0 else number_amount(divide(left, right))


def by_output(
    shown: ShownPair, cells: InputCells, run: TracedRun | None, limits: Limits
) -> tuple[OutputStep, ...]:
    """Return the factors of the outputs of the event's first sequence, and of its end.

    They stop at the first output that is impossible on the right. Lines are those that a run with
    these outputs passes: a state does not tell, since several statements may lead to it.
    """
    chain, table = shown.seen.chain, shown.found.evidence.rows.table
    sequence = shown.event.sequences[0]
    codes, end = table.outputs(sequence), int(table.end[sequence])
    vectors: tuple[Vector, ...] = tuple({source: 1} for source in shown.sources)
    before: tuple[Number, ...] = (1, 1)
    values = output_values(cells.explored)
    passed = [] if run is None or not cells.values else output_lines(run)
    steps: list[OutputStep] = []
    for place, code in enumerate([*codes, None] if end != GOES_ON else codes, 1):
        limits.check_time(f"{place - 1} outputs attributed")
        sink = chain.stopped if end == STOPPED else chain.diverged
        vectors = tuple(reached(chain, vector, code, sink) for vector in vectors)
        masses = tuple(mass(vector) for vector in vectors)
        left, right = (divide(m, b) for m, b in zip(masses, before, strict=True))
        text = None if code is None else chain.observation_text(code)
        lines = () if code is None else tuple(passed[place - 1 : place])
        amounts = number_amount(left), number_amount(right), factor_amount(left, right)
        choice = None if code is None else fixed_choice(values[code])
        steps.append(OutputStep(place, text, lines, *amounts, choice and choice[0]))
        before = masses
        if right == 0:
            break
    return tuple(steps)


def reached(chain: Chain, vector: Vector, code: int | None, sink: int | None) -> Vector:
    """Return the weights after one more transition, which shows a code (None: goes to the sink)."""
    found: Vector = {}
    for state, weight in vector.items():
        low, high = int(chain.indptr[state]), int(chain.indptr[state + 1])
        targets = chain.targets[low:high]
        is_next = targets == sink if code is None else chain.observation[targets] == code
        for j in (low + np.flatnonzero(is_next)).tolist():
            step = step_probability(chain, state, j)
            target = int(chain.targets[j])
            found[target] = add(found.get(target, 0), multiply(weight, step))
    return found


def is_over(chain: Chain, source: int, outputs: Sequence[str]) -> bool:
    """Return whether every run from a state that shows some outputs then ends."""
    chances = [chance(chain, source, OutputSequence(tuple(outputs), end)) for end in _ENDS]
    return chances[0] != 0 and chances[0] == chances[1]


def chance(chain: Chain, source: int, shown: OutputSequence) -> Number:
    """Return the probability of outputs from a state of a chain that shows one a transition."""
    vector = after_outputs(chain, {source: 1}, shown.outputs)
    if shown.ending != "goes on":
        vector = reached(chain, vector, None, getattr(chain, shown.ending))
    return mass(vector)


def after_outputs(chain: Chain, vector: Vector, outputs: Sequence[str]) -> Vector:
    """Return the weights of the states that runs from others are in after some outputs."""
    for text in outputs:
        codes = distinct(chain.observation[_targets(chain, vector)]).tolist()
        shows = (code for code in codes if code >= 0 and chain.observation_text(code) == text)
        if (code := next(shows, None)) is None:
            return {}
        vector = reached(chain, vector, code, None)
    return vector


def _targets(chain: Chain, vector: Vector) -> IntArray:
    """Return the states that others lead to, in order."""
    edges = [chain.targets[chain.indptr[s] : chain.indptr[s + 1]] for s in vector]
    return distinct(np.concatenate(edges))


def first_impossible(subject: Subject, outputs: Sequence[str], state: int) -> int | None:
    """Return the place of the first output that no run from a state shows after those before."""
    chain, sources = observed(subject.chain, np.array([state], np.int64), subject.limits)
    after: Vector = {int(sources[0]): 1}
    for place, text in enumerate(outputs):
        after = after_outputs(chain, after, [text])
        if not after:
            return place
    return None


def chances(subject: Subject, shown: OutputSequence, states: Sequence[int]) -> list[Number]:
    """Return the probability of outputs from each of some states."""
    seen, sources = observed(subject.chain, np.array(states, np.int64), subject.limits)
    return [chance(seen, source, shown) for source in sources.tolist()]


def step_probability(chain: Chain, state: int, transition: int) -> Number:
    """Return the probability of a transition from a state."""
    return number(whole(chain.numerators[transition]), whole(chain.denominators[state]))


def mass(vector: Vector) -> Number:
    """Return the sum of all weights."""
    return sum_of(vector.values())


def output_lines(run: TracedRun) -> list[Line]:
    """Return the lines that a run passes where it outputs, or goes on to a state, in order."""
    passed = (step for step in run.steps if step.kind != "draw")
    return [step.line for step in passed if step.line is not None for _ in range(step.times)]


def by_input(shown: ShownPair, cells: InputCells) -> tuple[InputStep, ...]:
    """Return the factors of the changed cells for the event's first sequence.

    None where an input on the way is not one, or several cells do not differ; they stop where the
    sequence becomes impossible.
    """
    changed = cells.changed(shown.left, shown.right)
    if len(changed) < 2 or len(cells.explored.chain.initial) > _MAX_INPUTS:
        return ()
    columns, chain = np.stack(list(cells.values.values())), cells.explored.chain
    current, goal = (columns[:, cells.places[s]].copy() for s in (shown.left, shown.right))
    names = list(cells.values)
    p = chance(chain, shown.left, shown.sequences[0])
    steps: list[InputStep] = []
    for name in changed:
        k = names.index(name)
        before, current[k] = int(current[k]), goal[k]
        place = np.flatnonzero((columns == current[:, None]).all(axis=0))
        if not len(place):
            return ()
        q = chance(chain, int(chain.initial[place[0]]), shown.sequences[0])
        values = (value_text(cells.explored.table.value(int(c))) for c in (before, current[k]))
        steps.append(InputStep(Difference(name, next(values), next(values)), factor_amount(p, q)))
        if q == 0:
            break
        p = q
    return tuple(steps)
