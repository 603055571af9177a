"""States as conditions that a claim can name after `at`."""

from __future__ import annotations

import re

from dpcheck.explore import Explored
from dpcheck.model.program import ExplicitChain, Mechanism, Target
from dpcheck.model.values import value_text
from dpcheck.model.words import word_text


def condition_of(text: str, target: Target, explored: Explored) -> str | None:
    """Return a condition that picks the initial state which is shown as `text`, as one writes it.

    `x = 0 & q[1] = "b c"` for a mechanism, `s[1]` for a chain; None if no state is shown so.
    """
    if isinstance(target, ExplicitChain):
        families = {family.name for family in target.families if family.indices}
        is_member = text.endswith("]") and text.partition("[")[0] in families
        return text if is_member or text.startswith('"') else word_text(text)
    chain = explored.chain
    state = next((s for s in chain.initial.tolist() if chain.state_text(s) == text), None)
    return None if state is None else _inputs(target, explored, state) or None


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


_COMPARED = re.compile(r"([PE])=\? *(\[.*\]) *([<>]=?|=) *([^<>=!]+)")
_NEEDS_NO_PARENTHESES = re.compile(r"[\w.]+(/[\w.]+)?|\([^()]*\)")


def with_bound_inside(claim: str) -> str | None:
    """Return the claim about each state that compares a probability or a mean with a bound.

    >>> with_bound_inside("E=? [ output ] <= 3"), with_bound_inside("P=? [ F a ]")
    ('E<=3 [ output ]', None)
    >>> with_bound_inside("P=? [ F a ] > exp(-1) / 2")
    'P>(exp(-1) / 2) [ F a ]'
    """
    found = _COMPARED.fullmatch(claim)
    if found is None:
        return None
    word, path, relation, bound = found.groups()
    plain = _NEEDS_NO_PARENTHESES.fullmatch(bound) is not None
    return f"{word}{relation}{bound if plain else f'({bound})'} {path}"
