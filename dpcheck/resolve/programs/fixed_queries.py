"""`query c in S fixed`: choices made beforehand, as public inputs.

An analyst who has fixed the choices sees the length of the history only: the number of outputs and
queries so far. So the choices are a function of that length, which is one public value for each
length at which c is asked, equal for neighbors, and a claim about all inputs is about all analysts.
The length must be known at each query, and the set be the same for all.

That a query is made is seen, together with the choice; P, D and E count outputs alone.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from dpcheck.diagnostics.composition import FixedQueryAnyTime, FixedQueryOfSets
from dpcheck.diagnostics.structure import EmptyDomain
from dpcheck.model.expressions import Apply, ArrayVar, Const, Var
from dpcheck.model.offers import fixed_name
from dpcheck.model.program import Assign, Forget, Input, Mechanism, Node, Output, Parametric, Sample
from dpcheck.model.values import SetValue, Symbol
from dpcheck.records import dataclass, replace
from dpcheck.resolve.expressions.signatures import cell_names
from dpcheck.resolve.names.scopes import Held, Scope
from dpcheck.resolve.programs.graph import successors

VARIES: Final = -1
"""Stands for a length that is not the same on all runs."""


@dataclass(frozen=True, slots=True)
class _Query:
    """A query's draw: the number of its node, and the length of the history there."""

    node: int
    length: int
    draw: Sample

    @property
    def choices(self) -> SetValue | None:
        """The set, if it is known before any run."""
        match self.draw.distribution:
            case Parametric(arguments=(Const(value=SetValue() as choices),)):
                return choices
        return None


def with_choices_as_inputs(
    nodes: Sequence[Node], entry: int, declared: Sequence[Input], scope: Scope
) -> tuple[tuple[Node, ...], tuple[Input, ...]]:
    """Return the nodes where fixed queries read public inputs, and these inputs.

    They are called as the queries are, unless a declared input is. In nodes[n_nodes] such queries
    are draws before outputs that are marked. Mistakes are reported.
    """
    lengths = history_lengths(nodes, entry)
    queries: dict[str, list[_Query]] = {}
    for i, node in enumerate(nodes):
        name = _asked_by(node, nodes)
        if name is not None:
            assert isinstance(node, Sample), "a query is a draw"
            queries.setdefault(name, []).append(_Query(i, lengths[i], node))
    changed = list(nodes)
    taken = {one.name for one in declared}
    inputs = []
    for name, asked in queries.items():
        if not _is_sound(asked, name, scope):
            continue
        inputs.append(_input(name, asked, taken, scope))
        cells = dict(zip(sorted({one.length for one in asked}), inputs[-1].cells, strict=True))
        for one in asked:
            draw = one.draw
            value = Var(cells[one.length], draw.span)
            changed[one.node] = Assign(draw.target, value, None, draw.next, draw.span)
    return tuple(changed), tuple(inputs)


def choice_bindings(mechanism: Mechanism) -> dict[str, Held]:
    """Return what the choices of fixed queries are to claims: public inputs."""
    return {
        one.name: Held(ArrayVar(one.name, one.lo or 0, one.cells, one.span), "input", one.span)
        for one in mechanism.inputs
        if one.is_choice
    }


def outputs_alone(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism whose fixed queries are no step of a run."""
    nodes = [
        Forget((), node.next, node.span)
        if isinstance(node, Output) and node.query == "fixed"
        else node
        for node in mechanism.nodes
    ]
    return replace(mechanism, nodes=tuple(nodes))


def history_lengths(nodes: Sequence[Node], entry: int) -> list[int]:
    """Return per node how many outputs and queries come before it, or `VARIES`."""
    found: dict[int, int] = {entry: 0}
    waiting = [entry]
    while waiting:
        place = waiting.pop()
        length = found[place]
        if isinstance(nodes[place], Output) and length != VARIES:
            length += 1
        for following in successors(nodes[place]):
            known = found.get(following)
            if known not in (length, VARIES):
                found[following] = length if known is None else VARIES
                waiting.append(following)
    return [found.get(place, 0) for place in range(len(nodes))]


def _asked_by(node: Node, nodes: Sequence[Node]) -> str | None:
    """Return the name of the fixed query that a node draws for; None if it does not."""
    if not isinstance(node, Sample):
        return None
    match nodes[node.next]:
        case Output(query="fixed", value=Apply(args=(Const(value=Symbol() as mark), _))):
            return fixed_name(mark)
    return None


def _is_sound(asked: Sequence[_Query], name: str, scope: Scope) -> bool:
    """Return whether all queries of one name have a known length and the same set; else report."""
    for one in asked:
        span = one.draw.distribution.span
        if one.length == VARIES:
            scope.report(FixedQueryAnyTime(one.draw.span, name))
            return False
        if one.choices is None or one.choices != asked[0].choices:
            scope.report(FixedQueryOfSets(span, name))
            return False
        if one.choices.size == 0:
            scope.report(EmptyDomain(span, f"the set of `{name}`"))
            return False
    return True


def _input(name: str, asked: Sequence[_Query], taken: Container[str], scope: Scope) -> Input:
    """Return the public input: a cell for each length at which the query is made."""
    first = asked[0].draw
    indices = range(1, 1 + len({one.length for one in asked}))
    free = scope.names.fresh(name)
    cells = cell_names(free, indices)
    assert asked[0].choices is not None, "the set is known"
    domain = Const(asked[0].choices, first.distribution.span)
    title = free if name in taken else name
    return Input(title, 1, cells, domain, None, True, first.span, is_choice=True)
