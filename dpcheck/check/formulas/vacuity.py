"""Why a claim may say little although it is decided: no neighbors, dead atoms, sure events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.graph import graph_of, reachable
from dpcheck.chain.sets import distinct, union
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.verdicts import Vacuity
from dpcheck.logic import formulas as f
from dpcheck.logic.formula_text import formula_text
from dpcheck.model import trees
from dpcheck.records import dataclass

NO_NEIGHBORS = Vacuity("no neighbors", "no state considered has a neighbor")


@dataclass(frozen=True)
class _Use:
    """A state formula inside a claim, and whether it is looked at only after some steps."""

    formula: f.Atom | f.Private
    is_nested: bool
    is_later: bool


def formula_vacuity(
    formula: f.StateFormula | f.PathFormula, selected: IntArray, truths: Truths
) -> tuple[Vacuity, ...]:
    """Return why a formula at the selected states [n] says little, in its order, each reason once.

    State formulas of a path stand in `Holds`, as what runs meet.
    """
    found: dict[Vacuity, None] = {}
    for use in _uses(formula, is_nested=False, is_later=False):
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
    if len(truths.doubtful_at(states)):
        return
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


def _uses(node: object, *, is_nested: bool, is_later: bool) -> Iterator[_Use]:
    """Yield the atoms and D formulas of a formula, nested ones included."""
    if isinstance(node, f.Atom | f.Private):
        yield _Use(node, is_nested, is_later)
    is_nested, is_later = (
        is_nested or isinstance(node, f.Holds),
        is_later or isinstance(node, f.Next),
    )
    for part in trees.parts(node):
        yield from _uses(part, is_nested=is_nested, is_later=is_later)
