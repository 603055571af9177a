"""What a mechanism with many inputs can be given in their place, where memory was short of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import log10, prod

from dpcheck.diagnostics.mistakes import CODE, listed
from dpcheck.model.expressions import Apply, Const
from dpcheck.model.program import AdjacentWhere, Input, Mechanism, Target
from dpcheck.model.surface_text import one_line

MANY_INPUTS = 10_000
"""Fewer take little memory beside what a program does with them."""
MANY_DIGITS = 15
"""Longer numbers are shown as a power of 10."""
MANY_VALUES = 3
"""Of more values a change of one step is rarer than any change."""


def fewer_inputs(target: Target, parameters: Iterable[str]) -> str:
    """Return what to write for fewer inputs and neighbors, "" where these are not too many.

    `parameters` are names of those that are integers.
    """
    if not isinstance(target, Mechanism) or target.has_unbounded_inputs:
        return ""
    digits = sum(map(_digits, target.inputs))
    if digits < log10(MANY_INPUTS):
        return ""
    counts = (each.domain.size ** len(each.cells) for each in target.inputs)
    n_inputs = f"{prod(counts):,}" if digits < MANY_DIGITS else f"10^{int(digits)}"
    most = max(target.inputs, key=_digits)
    text = one_line(most.span.text)
    names = [each for each in parameters if re.search(rf"\b{each}\b", text)]
    smaller = f"a smaller {listed(names, form=CODE)}, or " if names else ""
    steps = _one_step(target)
    parts = f"take fewer inputs than {n_inputs}: {smaller}fewer values in `{text}`", steps
    return "; ".join(filter(None, parts))


def _digits(given: Input) -> float:
    """Return the common logarithm of how many values an input has."""
    return len(given.cells) * log10(max(given.domain.size, 1))


def _one_step(mechanism: Mechanism) -> str:
    """Return an adjacency with fewer neighbors, in place of one where a value changes to any other.

    `hamming(x, y) <= 1` has n m neighbors of n values in 0..m, `l1(x, y) <= 1` at most 2n.
    """
    for clause in mechanism.adjacency:
        match clause:
            case AdjacentWhere(
                condition=Apply(op="<=" | "=", args=(Apply(op="hamming"), Const(value=1)))
            ) if all(_is_long_range(each) for each in mechanism.inputs if not each.is_public):
                text = one_line(clause.condition.span.text).replace("hamming", "l1", 1)
                return f"`adjacent {text}` has fewer neighbors"
            case _:
                continue
    return ""


def _is_long_range(given: Input) -> bool:
    return isinstance(given.domain.items, range) and given.domain.size > MANY_VALUES
