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
from dpcheck.exact import Number, add, divide, multiply, number, whole
from dpcheck.explain.atoms import output_values
from dpcheck.explain.explanation import Difference, InputStep, Line, OutputStep, RunStep
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


def by_output(shown: ShownPair, cells: InputCells, limits: Limits) -> tuple[OutputStep, ...]:
    """Return the factors of the outputs of the event's first sequence, and of its end.

    They stop at the first output that is impossible on the right.
    """
    chain, table = shown.seen.chain, shown.found.evidence.rows.table
    sequence = shown.event.sequences[0]
    codes, end = table.outputs(sequence), int(table.end[sequence])
    vectors: tuple[Vector, ...] = tuple({source: 1} for source in shown.sources)
    before: tuple[Number, ...] = (1, 1)
    values = output_values(cells.explored)
    steps: list[OutputStep] = []
    for place, code in enumerate([*codes, None] if end != GOES_ON else codes, 1):
        limits.check_time(f"{place - 1} outputs attributed")
        sink = chain.stopped if end == STOPPED else chain.diverged
        vectors = tuple(reached(chain, vector, code, sink) for vector in vectors)
        masses = tuple(mass(vector) for vector in vectors)
        left, right = (divide(m, b) for m, b in zip(masses, before, strict=True))
        text = None if code is None else chain.observation_text(code)
        lines = () if code is None else _lines(vectors[0], cells)
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


def shown_instead(
    subject: Subject, outputs: Sequence[str], state: int, beside: Sequence[RunStep]
) -> str:
    """Return what a state shows, and where, in place of the first output that is impossible.

    What the right shows `beside` the left's outputs comes first: of lines that lead to the same
    states one is known.
    """
    chain, sources = observed(subject.chain, np.array([state], np.int64), subject.limits)
    after: Vector = {int(sources[0]): 1}
    for place, text in enumerate(outputs):
        before, after = after, after_outputs(chain, after, [text])
        shown = [(each.line, each.right_value) for each in beside[place : place + 1]]
        here = " here" * (place > 0)
        if not after:
            break
    else:
        return ""
    for target in _targets(chain, before).tolist():
        code, span = int(chain.observation[target]), subject.explored.origin(target)
        if code >= 0 and span is not None:
            shown.append((Line.of(span), chain.observation_text(code)))
    values: dict[Line, list[str]] = {}
    for line, value in dict.fromkeys(shown):
        if line is not None and value:
            values.setdefault(line, []).append(value)
    told = ", ".join(
        f"line {line.text(subject.claim.span.source.name)} shows {first}{' or others' * bool(more)}"
        for line, (first, *more) in values.items()
    )
    return f"the right never outputs {text}{here}: {told}"


def chances(subject: Subject, shown: OutputSequence, states: Sequence[int]) -> list[Number]:
    """Return the probability of outputs from each of some states."""
    seen, sources = observed(subject.chain, np.array(states, np.int64), subject.limits)
    return [chance(seen, source, shown) for source in sources.tolist()]


def step_probability(chain: Chain, state: int, transition: int) -> Number:
    """Return the probability of a transition from a state."""
    return number(whole(chain.numerators[transition]), whole(chain.denominators[state]))


def mass(vector: Vector) -> Number:
    """Return the sum of all weights."""
    total: Number = 0
    for weight in vector.values():
        total = add(total, weight)
    return total


def _lines(vector: Vector, cells: InputCells) -> tuple[Line, ...]:
    """Return the lines of the statements that the states come from."""
    if not cells.values:
        return ()
    lines = {Line.of(span) for span in map(cells.explored.origin, vector) if span is not None}
    return tuple(sorted(lines, key=lambda line: (line.file, line.number)))


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
