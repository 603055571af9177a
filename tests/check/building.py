"""Chains made by hand: a mechanism as a Python function from memory to weighted outputs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import lcm

import numpy as np
from hypothesis import strategies as st

from dpcheck.chain.chain import Chain, NeighborRelation
from dpcheck.exact import as_fraction_parts, exact_quotient, whole_lcm
from dpcheck.source import SourceText, Span

STOP = ("stop",)
DIVERGE = ("diverge",)
SPAN = Span(SourceText("test.dpm", ""), 0, 0)


def fractions_to_row(probabilities):
    """Return whole numerators and a denominator for exact probabilities."""
    if all(isinstance(p, int | Fraction) for p in probabilities):
        denominator = lcm(*(Fraction(p).denominator for p in probabilities))
        return [int(p * denominator) for p in probabilities], denominator
    parts = [as_fraction_parts(p) for p in probabilities]
    denominator = 1
    for _, below in parts:
        denominator = whole_lcm(denominator, below)
    return [above * exact_quotient(denominator, below) for above, below in parts], denominator


def array_of(weights):
    """Return int64 where all weights fit, objects else."""
    if all(isinstance(w, int) and w < 2**62 for w in weights):
        return np.array(weights, np.int64)
    array = np.empty(len(weights), object)
    array[:] = weights
    return array


def mechanism_chain(inputs, pairs, step):
    """Return the chain of a mechanism, one transition per output.

    `inputs` maps the text of an initial state to its memory; `pairs` are pairs of such texts;
    `step(memory)` returns triples (probability, output, memory afterwards); the output is `STOP`
    or `DIVERGE` where the run ends instead, and the memory `None` means: stop after this output.
    """
    names, memories = list(inputs), list(inputs.values())
    index = {("input", name): i for i, name in enumerate(names)}
    outputs = [None] * len(names)
    rows, at = [], 0
    while at < len(memories):
        row = {}
        memory = memories[at]
        for probability, output, after in [(1, STOP, None)] if memory is None else step(memory):
            if probability == 0:
                continue
            key = output if output in (STOP, DIVERGE) else (output, after)
            if key not in (STOP, DIVERGE) and key not in index:
                index[key] = len(memories)
                memories.append(after)
                outputs.append(output)
            row[key] = row.get(key, 0) + probability
        rows.append(row)
        at += 1
    return _assembled(names, outputs, index, rows, pairs)


@st.composite
def random_mechanisms(draw, *, is_endless=False, stops_by=0):
    """Return a chain with hidden memory, outputs and both ways to end, all states neighbors.

    Outputs end after three at most, or may go on for ever from every memory; with `stops_by`,
    each step may stop, of so much weight.
    """
    n_memories = draw(st.integers(1, 4 if is_endless else 3))
    n_levels = 1 if is_endless else draw(st.integers(1, 3))
    memories = st.integers(0, n_memories - 1)
    shown = st.sampled_from([STOP, DIVERGE, "a", "a", "b", "b"])
    rows = {}
    for memory, level in product(range(n_memories), range(n_levels)):
        steps = draw(st.lists(st.tuples(st.integers(0, 3), shown, memories), max_size=4))
        if is_endless:
            steps.append((1, "a", draw(memories)))
        if stops_by or not any(weight for weight, _, _ in steps):
            steps.append((stops_by or 1, STOP, 0))
        total, following = sum(weight for weight, _, _ in steps), level + (not is_endless)
        rows[memory, level] = [
            (Fraction(weight, total), output, (after, following)) for weight, output, after in steps
        ]
    inputs = {f"x = {m}": (m, 0) for m in range(n_memories)}
    inputs["x = 9"] = 0, draw(st.integers(0, 0 if is_endless else 1))
    names = list(inputs)
    pairs = [(s, t) for i, s in enumerate(names) for t in names[:i]]
    last = [(Fraction(1), STOP, None)]
    return mechanism_chain(inputs, pairs, lambda memory: rows.get(memory, last))


def _assembled(names, outputs, index, rows, pairs):
    n = len(rows)
    has_diverged = any(DIVERGE in row for row in rows)
    index = {**index, STOP: n, DIVERGE: n + 1}
    rows = [*rows, {STOP: 1}, *([{DIVERGE: 1}] if has_diverged else [])]
    indptr, targets, numerators, denominators = [0], [], [], []
    for row in rows:
        ordered = sorted(row, key=index.__getitem__)
        weights, denominator = fractions_to_row([row[key] for key in ordered])
        targets += [index[key] for key in ordered]
        numerators += weights
        denominators.append(denominator)
        indptr.append(len(targets))
    shown = sorted({output for output in outputs if output is not None}, key=repr)
    codes = {output: code for code, output in enumerate(shown)}
    total = len(rows)
    observation = np.full(total, -1, np.int64)
    for s, output in enumerate(outputs):
        if output is not None:
            observation[s] = codes[output]
    labelling = {str(o): observation == codes[o] for o in shown}
    labelling["stopped"] = np.arange(total) == n
    labelling["diverged"] = np.arange(total) == n + 1
    for i, name in enumerate(names):
        labelling[name] = np.arange(total) == i
    numbers = {name: i for i, name in enumerate(names)}
    relation = sorted({tuple(sorted((numbers[s], numbers[t]))) for s, t in pairs if s != t})
    texts = [*names, *(f"after {o}" for o in outputs[len(names) :]), "stopped", "diverged"]
    return Chain(
        indptr=np.array(indptr, np.int64),
        targets=np.array(targets, np.int64),
        numerators=array_of(numerators),
        denominators=array_of(denominators),
        initial=np.arange(len(names), dtype=np.int64),
        neighbors=NeighborRelation(np.array(relation, np.int64).reshape(-1, 2)),
        observation=observation,
        labelling=labelling,
        stopped=n,
        diverged=n + 1 if has_diverged else None,
        state_text=lambda s: texts[s],
        observation_text=lambda code: str(shown[code]),
        shows_every_step=True,
    )


def release_chain(rows, pairs):
    """Return the chain of a mechanism that outputs once: input text -> {output: probability}."""
    inputs = {name: ("row", name) for name in rows}
    return mechanism_chain(
        inputs, pairs, lambda memory: [(p, o, None) for o, p in rows[memory[1]].items()]
    )


def survey_chain(answers=1):
    """Return Warner's survey with truth 3/4, answered that many times by one person."""

    def step(memory):
        x, left = memory
        if left == 0:
            return [(1, STOP, None)]
        other = {"Y": "N", "N": "Y"}[x]
        return [(Fraction(3, 4), x, (x, left - 1)), (Fraction(1, 4), other, (x, left - 1))]

    inputs = {"x = pos": ("Y", answers), "x = neg": ("N", answers)}
    return mechanism_chain(inputs, [("x = pos", "x = neg")], step)


def geometric_row(center, alpha, low, high):
    """Return two-sided geometric noise around a center, clamped to low..high."""
    alpha = Fraction(alpha)

    def tail(distance):
        return alpha**distance / (1 + alpha)

    row = {}
    for v in range(low, high + 1):
        row[v] = (1 - alpha) / (1 + alpha) * alpha ** abs(v - center)
    row[low] = tail(center - low) if center >= low else 1 - tail(low - center + 1)
    row[high] = tail(high - center) if center <= high else 1 - tail(center - high + 1)
    return row
