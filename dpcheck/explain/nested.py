"""The pair of states that makes a nested D false, and how runs from neighbors come to it.

Neighbors of later states are reached in lock step: with equal outputs and equal draws
(`Chain.neighbors.later`). A breadth-first search over pairs finds the nearest one that fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import TypeVar

import numpy as np

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.check.values.verdicts import OutputSequence, Phrase
from dpcheck.exact import Budget, Epsilon, compare, compare_epsilon, divide, log, subtract
from dpcheck.explain.event_claims import inequality_of
from dpcheck.explain.explanation import Inner
from dpcheck.explain.subject import Subject
from dpcheck.logic.formula_text import formula_text
from dpcheck.logic.formulas import PathFormula, Private
from dpcheck.records import dataclass, replace

Pair = tuple[int, int]
Tree = TypeVar("Tree")


@dataclass(frozen=True, slots=True)
class FoundInner:
    """The nested D that fails, where, and the least ε that makes it true at every pair."""

    formula: Private
    shown: Inner
    least: Epsilon | None


def inner_of(subject: Subject, path: PathFormula) -> FoundInner | None:
    """Return the first D within a path formula that fails at a pair that runs reach."""
    truths, chain = subject.truths, subject.truths.chain
    for formula in _privates(path):
        failing = {tuple(pair) for pair in truths.violating(formula, truths.pairs).tolist()}
        way = _nearest(subject, chain, failing | {(t, s) for s, t in failing})
        if way is None:
            continue
        first, last = way[0], way[-1]
        p, q = truths.probabilities(formula.path, _as_array(last))
        if compare(p, q) < 0:
            (p, q), first = (q, p), (first[1], first[0])
        return FoundInner(
            formula,
            Inner(
                _said(subject, formula, way, first),
                Phrase.of(formula_text(formula.path)),
                inequality_of(p, q, formula.epsilon, formula.delta),
            ),
            _least(subject, formula),
        )
    return None


def _privates(tree: object) -> Iterator[Private]:
    """Yield the D formulas within a formula, outer ones first."""
    if isinstance(tree, Private):
        yield tree
    if isinstance(tree, tuple):
        for each in tree:
            yield from _privates(each)
    elif is_dataclass(tree) and not isinstance(tree, type):
        for field in fields(tree):
            if field.name not in ("span", "epsilon", "delta"):
                yield from _privates(getattr(tree, field.name))


def substituted(tree: Tree, old: object, new: object) -> Tree:
    """Return a formula with another one in place of a part."""
    if tree is old:
        return new  # type: ignore[return-value]
    if isinstance(tree, tuple):
        return tuple(substituted(each, old, new) for each in tree)  # type: ignore[return-value]
    names = {"argument", "arguments", "left", "right", "path", "state"}
    if is_dataclass(tree) and not isinstance(tree, type):
        parts = {f.name: getattr(tree, f.name) for f in fields(tree) if f.name in names}
        return replace(tree, **{k: substituted(v, old, new) for k, v in parts.items()})
    return tree


def _nearest(subject: Subject, chain: Chain, failing: set[Pair]) -> list[Pair] | None:
    """Return the pairs on a shortest way from neighboring inputs to a pair that fails."""
    later = {tuple(pair) for pair in chain.neighbors.later.tolist()}
    later |= {(t, s) for s, t in later}
    starts = [tuple(pair) for pair in chain.neighbors.pairs.tolist()]
    before: dict[Pair, Pair | None] = dict.fromkeys(starts)
    waiting = deque(before)
    while waiting:
        subject.limits.check_time(f"{len(before)} pairs of states reached")
        pair = waiting.popleft()
        if pair in failing:
            way: list[Pair] = []
            step: Pair | None = pair
            while step is not None:
                way.append(step)
                step = before[step]
            return way[::-1]
        for following in _following(chain, pair):
            if following in later and following not in before:
                before[following] = pair
                waiting.append(following)
    return None


def _following(chain: Chain, pair: Pair) -> Iterator[Pair]:
    """Yield the pairs that two states lead to with equal outputs."""
    rights: dict[int, list[int]] = {}
    left, right = ((int(chain.indptr[s]), int(chain.indptr[s + 1])) for s in pair)
    for target in chain.targets[slice(*right)].tolist():
        rights.setdefault(int(chain.observation[target]), []).append(target)
    for target in chain.targets[slice(*left)].tolist():
        for other in rights.get(int(chain.observation[target]), ()):
            yield target, other


def _said(subject: Subject, formula: Private, way: list[Pair], first: Pair) -> Phrase:
    """Return where a D is false."""
    chain, name = subject.truths.chain, subject.chain.state_text
    outputs = tuple(chain.observation_text(int(chain.observation[s])) for s, _ in way[1:])
    origin = subject.explored.origin(way[-1][0])
    line = "" if origin is None or not outputs else f" (line {origin.line})"
    draws = ", equal draws" if outputs else ""
    names = f", {name(first[0])} against {name(first[1])}{draws}"
    lead = f"{formula_text(formula)} is false "
    if not outputs:
        return Phrase.of(f"{lead}at the inputs{names}")
    return Phrase.of(f"{lead}after ", OutputSequence(outputs), line + names)


def _least(subject: Subject, formula: Private) -> Epsilon | None:
    """Return the least ε at which a D is true at all pairs; None for none."""
    truths, best = subject.truths, Budget.of(0)
    found: Epsilon = best
    pairs = truths.pairs
    chances = [truths.probabilities(formula.path, pairs[:, k]) for k in (0, 1)]
    for p, q in [*zip(*chances, strict=True), *zip(*chances[::-1], strict=True)]:
        over = subtract(p, formula.delta)
        if compare(over, 0) <= 0:
            continue
        if q == 0:
            return None
        needed = log(divide(over, q))
        if compare_epsilon(needed, found) > 0:
            found = needed
    return found


def _as_array(pair: Pair) -> IntArray:
    """Return the two states, [n_ends]."""
    return np.array(pair, np.int64)
