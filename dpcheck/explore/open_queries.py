"""Fixed queries in loops: after which lengths of the history they are made, by exploring.

The program counts, and shows the length at each query in place of the choice; all choices are
explored at once. Lengths that come out are finitely many, or as many as are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dpcheck.diagnostics.composition import NoSuchChoice
from dpcheck.explore.mechanism import given_inputs, mechanism_chain
from dpcheck.explore.values.mistakes import MistakesFound
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.model import fixed_queries
from dpcheck.model.atoms import AtomMeaning, inputs_of
from dpcheck.model.expressions import Apply, Var
from dpcheck.model.offers import fixed_name
from dpcheck.model.program import Mechanism
from dpcheck.model.values import Symbol
from dpcheck.records import replace
from dpcheck.source import Span

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
    if fixed_queries.open_queries(mechanism.nodes):
        lengths = explored_lengths(mechanism, limits)
        if fixed_queries.n_analysts(
            mechanism, lengths
        ) > fixed_queries.MOST_ANALYSTS or is_unbounded(lengths):
            raise LimitReached(UNBOUNDED)
        mechanism = fixed_queries.with_choices(mechanism, lengths)
    return fixed_queries.outputs_alone(mechanism) if mechanism.hides_queries else mechanism


def explored_lengths(mechanism: Mechanism, limits: Limits) -> dict[int, set[int]]:
    """Return the lengths of histories after which open queries are made, by the node that draws.

    `MOST_LENGTHS` stands for all that are longer.
    """
    queries, nodes = fixed_queries.open_queries(mechanism.nodes), list(mechanism.nodes)
    for query in queries.values():
        span = query.shown.span
        told = Apply("tuple", (query.mark, Var(fixed_queries.LENGTH, span)), span)
        nodes[query.draw.next] = replace(query.shown, value=told)
    program = fixed_queries.counted(
        replace(mechanism, nodes=tuple(nodes)), fixed_queries.MOST_LENGTHS
    )
    found = mechanism_chain(given_inputs(program, limits=limits))
    by_name: dict[str | None, set[int]] = {}
    for code in found.shown.tolist():
        match found.table.value(code):
            case (Symbol(name=mark), int(length)):
                by_name.setdefault(fixed_name(mark), set()).add(length)
    return {i: by_name.get(query.name, set()) for i, query in queries.items()}


def check_named(
    atoms: Mapping[str, AtomMeaning], mechanism: Mechanism, closed: Mechanism, asked: Span
) -> None:
    """Raise `MistakesFound` where atoms name choices that are not there with queries closed.

    The claim stands at `asked`.
    """
    made = {cell for one in closed.inputs for cell in one.cells}
    read = _read(atoms)
    n_choices = {one.name: len(one.cells) for one in closed.inputs if one.is_choice}
    for name, cells in fixed_queries.open_cells(mechanism).items():
        for cell in cells:
            if cell in read - made:
                raise MistakesFound([NoSuchChoice(asked, cell, name, n_choices.get(name, 0))])


def _read(atoms: Mapping[str, AtomMeaning]) -> set[str]:
    return {name for atom in atoms.values() for name in inputs_of(atom)}


def n_named(atoms: Mapping[str, AtomMeaning], mechanism: Mechanism) -> int:
    """Return how many choices of an open query atoms name at most, counted from the first."""
    read = _read(atoms)
    numbers = (
        k
        for cells in fixed_queries.open_cells(mechanism).values()
        for k, cell in enumerate(cells, 1)
        if cell in read
    )
    return max(numbers, default=0)


def is_unbounded(lengths: fixed_queries.Lengths) -> bool:
    """Return whether some query is made after longer histories than are looked at."""
    return any(fixed_queries.MOST_LENGTHS in each for each in lengths.values())
