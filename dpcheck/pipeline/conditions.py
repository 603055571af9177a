"""States as conditions that a claim can name after `at`."""

from __future__ import annotations

from math import prod

from dpcheck.explore import Explored
from dpcheck.model.expressions import Const, Expr
from dpcheck.model.program import ExplicitChain, Mechanism, Target
from dpcheck.model.values import SetValue, value_text
from dpcheck.model.words import word_text


def condition_of(text: str, target: Target, explored: Explored) -> str | None:
    """Return a condition that picks the initial state which is shown as `text`, as one writes it.

    `x = 0 & q[1] = "b c"` for a mechanism, `s[1]` for a chain; None if no state is shown so.
    """
    chain = explored.chain
    state = next((s for s in chain.initial.tolist() if chain.state_text(s) == text), None)
    if state is None:
        return None
    if isinstance(target, ExplicitChain):
        return _member(target, state)
    return _inputs(target, explored, state) or None


def _inputs(mechanism: Mechanism, explored: Explored, state: int) -> str:
    """Return what the inputs of a start are, arrays cell by cell."""
    taken = frozenset(one.name for one in mechanism.inputs)
    parts = []
    for one in mechanism.inputs:
        written = word_text(one.name)
        names = [written]
        if one.lo is not None:
            names = [f"{written}[{k}]" for k, _ in enumerate(one.cells, start=one.lo)]
        for name, column in zip(names, one.cells, strict=True):
            value = explored.table.value(int(explored.inputs[column][state]))
            parts.append(f"{name} = {value_text(value, taken)}")
    return " & ".join(parts)


def _member(chain: ExplicitChain, state: int) -> str:
    """Return a state of a chain: numbered family by family, the last index varying fastest."""
    place = state
    for family in chain.families:
        sets = [_elements(domain) for _, domain in family.indices]
        size = prod(map(len, sets))
        if place >= size:
            place -= size
            continue
        indices: list[str] = []
        for elements in reversed(sets):
            place, digit = divmod(place, len(elements))
            indices.insert(0, value_text(elements.items[digit]))
        name = word_text(family.name)
        return f"{name}[{', '.join(indices)}]" if indices else name
    raise AssertionError("every state belongs to a family")


def _elements(domain: Expr) -> SetValue:
    assert isinstance(domain, Const), "index sets are known"
    assert isinstance(domain.value, SetValue), "index sets are sets"
    return domain.value
