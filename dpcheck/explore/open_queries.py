"""Fixed queries in loops: after which lengths of the history they are made, by exploring.

The program counts, and shows the length at each query in place of the choice; all choices are
explored at once. Lengths that come out are finitely many, or as many as are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final

from dpcheck.explore.mechanism import given_inputs, mechanism_chain
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.model.expressions import Apply, Var
from dpcheck.model.fixed_queries import (
    LENGTH,
    MOST_ANALYSTS,
    Lengths,
    counted,
    n_analysts,
    open_queries,
    outputs_alone,
    with_choices,
)
from dpcheck.model.offers import fixed_name
from dpcheck.model.program import Mechanism
from dpcheck.model.values import Symbol
from dpcheck.records import replace

MOST_LENGTHS: Final = 64
"""Histories are followed up to so many outputs and queries: twenty queries of two choices are a
million analysts."""

UNBOUNDED: Final = Limit(
    "size",
    unit="queries are `fixed` after histories that are too many, or as long as runs go on",
    advice="a loop with fewer rounds, such as `for i in 1..3`",
)


def with_queries_closed(mechanism: Mechanism, limits: Limits) -> Mechanism:
    """Return the mechanism where what an analyst has fixed are public inputs, if it is not yet.

    Fixed queries are no steps where it hides them. Raises `LimitReached` with `UNBOUNDED` where
    they are made after histories of too many lengths.
    """
    if open_queries(mechanism.nodes):
        lengths = explored_lengths(mechanism, limits)
        if n_analysts(mechanism, lengths) > MOST_ANALYSTS or is_unbounded(lengths):
            raise LimitReached(UNBOUNDED)
        mechanism = with_choices(mechanism, lengths, fresh_names(mechanism))
    return outputs_alone(mechanism) if mechanism.hides_queries else mechanism


def explored_lengths(mechanism: Mechanism, limits: Limits) -> Lengths:
    """Return the lengths of histories after which open queries are made, by the node that draws.

    `MOST_LENGTHS` stands for all that are longer.
    """
    queries, nodes = open_queries(mechanism.nodes), list(mechanism.nodes)
    for query in queries.values():
        span = query.shown.span
        told = Apply("tuple", (query.mark, Var(LENGTH, span)), span)
        nodes[query.draw.next] = replace(query.shown, value=told)
    program = counted(replace(mechanism, nodes=tuple(nodes)), MOST_LENGTHS)
    found = mechanism_chain(given_inputs(program, limits=limits))
    by_name: dict[str | None, set[int]] = {}
    for code in found.shown.tolist():
        match found.table.value(code):
            case (Symbol(name=mark), int(length)):
                by_name.setdefault(fixed_name(mark), set()).add(length)
    return {i: sorted(by_name.get(query.name, ())) for i, query in queries.items()}


def is_unbounded(lengths: Lengths) -> bool:
    """Return whether some query is made after longer histories than are looked at."""
    return any(MOST_LENGTHS in each for each in lengths.values())


def fresh_names(mechanism: Mechanism) -> Callable[[str], str]:
    """Return a maker of names for arrays whose cells are no variables yet."""
    taken = {cell for one in mechanism.inputs for cell in one.cells}
    for node in mechanism.nodes:
        taken.update(getattr(node, "cells", ()), (getattr(node, "target", ""),))

    def fresh(base: str) -> str:
        names = (base if k == 1 else f"{base}#{k}" for k in count(1))
        return next(
            name for name in names if not any(each.startswith(f"{name}[") for each in taken)
        )

    return fresh
