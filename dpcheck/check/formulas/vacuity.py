"""Why a claim may say little although it is decided: no neighbors, dead atoms, sure events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.graph import graph_of, reachable
from dpcheck.chain.sets import distinct, union
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.verdicts import Vacuity
from dpcheck.logic import formulas as f
from dpcheck.logic.formula_text import formula_text
from dpcheck.records import dataclass

NO_NEIGHBORS = Vacuity("no neighbors", "no state considered has a neighbor")


@dataclass(frozen=True)
class _Use:
    """A state formula inside a claim, and whether it is looked at only after some steps."""

    formula: f.StateFormula
    is_nested: bool
    is_later: bool


def formula_vacuity(
    formula: f.StateFormula, selected: IntArray, truths: Truths
) -> tuple[Vacuity, ...]:
    """Return the reasons why a state formula at the selected states [n] says little."""
    return _vacuity(list(_uses(formula, _Use(formula, False, False))), selected, truths)


def path_vacuity(path: f.PathFormula, selected: IntArray, truths: Truths) -> tuple[Vacuity, ...]:
    """Return the reasons why a path formula says little about the selected states [n]."""
    return _vacuity(list(_path_uses(path, is_later=False)), selected, truths)


def _vacuity(uses: list[_Use], selected: IntArray, truths: Truths) -> tuple[Vacuity, ...]:
    """Return the reasons, each once, in the order of the formula."""
    found: dict[Vacuity, None] = {}
    for use in uses:
        match use.formula:
            case f.Atom(key=key):
                if not _is_met(truths.chain.labelling[key], selected, truths):
                    text = f"no reachable state satisfies `{key}`"
                    found[Vacuity("unsatisfied atom", text)] = None
            case f.Private():
                for reason in _private_vacuity(use.formula, use, selected, truths):
                    found[reason] = None
    return tuple(found)


def _private_vacuity(
    formula: f.Private, use: _Use, selected: IntArray, truths: Truths
) -> Iterator[Vacuity]:
    """Yield why a D formula says little where it is looked at."""
    states = selected
    if use.is_nested:
        states = marked(_visited(selected, truths, is_later=use.is_later))
    pairs = truths.pairs_at(states)
    if len(pairs) == 0:
        where = f" where `{formula_text(formula)}` is asked" if use.is_nested else ""
        yield Vacuity("no neighbors", NO_NEIGHBORS.text + where)
        return
    ends = truths.sure_ends(formula.path, pairs)
    if ends is not None:
        sure = " or ".join(str(p) for p in sorted(ends))
        path = formula_text(formula.path)
        text = f"`{path}` has probability {sure} on both sides of every pair"
        yield Vacuity("trivial probability", text)


def _is_met(label: BoolArray, selected: IntArray, truths: Truths) -> bool:
    """Return whether runs from selected [n] or their neighbors visit a state of a label.

    They visit the states they start from and those next to them; if need be, all are searched.
    """
    graph = graph_of(truths.chain)
    start = union(selected, truths.pairs_at(selected).ravel())
    if label[start].any() or label[graph.successors(start)].any():
        return True
    return bool((label & _visited(selected, truths, is_later=False)).any())


def _visited(selected: IntArray, truths: Truths, *, is_later: bool) -> BoolArray:
    """Return the states [n_states] that runs from selected [n] or their neighbors visit.

    With `is_later`, only states that are visited after at least one step.
    """
    graph = graph_of(truths.chain)
    start = union(selected, truths.pairs_at(selected).ravel())
    if is_later:
        start = distinct(graph.successors(start))
    return reachable(graph, start, np.ones(truths.chain.n_states, np.bool_))


def _uses(formula: f.StateFormula, use: _Use) -> Iterator[_Use]:
    """Yield the atoms and D formulas of a state formula, nested ones included."""
    match formula:
        case f.Truth():
            return
        case f.Atom():
            yield _Use(formula, use.is_nested, use.is_later)
        case f.Not(argument=argument):
            yield from _uses(argument, use)
        case f.And(arguments=arguments) | f.Or(arguments=arguments):
            for argument in arguments:
                yield from _uses(argument, use)
        case f.ProbabilityIs(path=path):
            yield from _path_uses(path, is_later=use.is_later)
        case f.Private(path=path):
            yield _Use(formula, use.is_nested, use.is_later)
            yield from _path_uses(path, is_later=use.is_later)
        case _:
            assert_never(formula)


def _path_uses(path: f.PathFormula, *, is_later: bool) -> Iterator[_Use]:
    """Yield the atoms and D formulas inside a path formula."""
    match path:
        case f.Holds(state=state):
            yield from _uses(state, _Use(state, True, is_later))
        case f.PathNot(argument=argument):
            yield from _path_uses(argument, is_later=is_later)
        case f.Finally(argument=argument) | f.Globally(argument=argument):
            yield from _path_uses(argument, is_later=is_later)
        case f.Next(argument=argument):
            yield from _path_uses(argument, is_later=True)
        case f.PathAnd(arguments=arguments) | f.PathOr(arguments=arguments):
            for argument in arguments:
                yield from _path_uses(argument, is_later=is_later)
        case (
            f.Until(left=left, right=right)
            | f.WeakUntil(left=left, right=right)
            | f.Release(left=left, right=right)
        ):
            yield from _path_uses(left, is_later=is_later)
            yield from _path_uses(right, is_later=is_later)
        case _:
            assert_never(path)
