"""`query c in S fixed`: choices made beforehand, as public inputs.

An analyst who has fixed the choices sees the length of the history only: the number of outputs and
queries so far. So the choices are a function of that length, which is one public value for each
length at which c is asked, equal for neighbors, and a claim about all inputs is about all analysts.
Until it is known at which lengths c is asked, a query is *open*: a draw before an output that is
marked (`offers.fixed_symbol`). Where lengths differ between runs, the program counts.

That a query is made is seen, together with the choice; P, D and E count outputs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from dpcheck.model.expressions import Apply, Const, Expr, If, Var
from dpcheck.model.offers import fixed_name, offer_symbol
from dpcheck.model.program import (
    Assign,
    Forget,
    Input,
    Mechanism,
    Node,
    Output,
    Parametric,
    Sample,
    successors,
)
from dpcheck.model.values import SetValue, Symbol
from dpcheck.records import replace
from dpcheck.source import Span

LENGTH: Final = "length of the history"
"""The variable that counts outputs and queries; no text can spell it."""

MOST_ANALYSTS: Final = 1 << 20
"""So many sequences of queries are tried one by one."""

Lengths = Mapping[int, Collection[int]]
"""By node, the lengths of the histories that lead to it."""


class Query(NamedTuple):
    """An open query: its name, the draw that makes it, and the marked output that shows it."""

    name: str
    draw: Sample
    shown: Output
    mark: Const

    @property
    def choices(self) -> SetValue | None:
        """What may be chosen, if it is known before any run."""
        match self.draw.distribution:
            case Parametric(arguments=(Const(value=SetValue() as choices),)):
                return choices
        return None


def open_queries(nodes: Sequence[Node]) -> dict[int, Query]:
    """Return the fixed queries without inputs, by the node that draws."""
    found = {}
    for i, draw in enumerate(nodes):
        match draw:
            case Sample(next=after):
                match nodes[after]:
                    case (
                        Output(
                            query="fixed",
                            value=Apply(args=(Const(value=Symbol(name=symbol)) as mark, _)),
                        ) as shown
                    ):
                        found[i] = Query(fixed_name(symbol) or "", draw, shown, mark)
    return found


def known_lengths(nodes: Sequence[Node], entry: int) -> Lengths | None:
    """Return the lengths of the histories that lead to each node; None if a loop makes them longer.

    All ways through the program count, whatever its conditions say.
    """
    found: dict[int, set[int]] = {entry: {0}}
    waiting = [(entry, 0)]
    while waiting:
        place, length = waiting.pop()
        length += isinstance(nodes[place], Output)
        if length > len(nodes):  # some output came twice
            return None
        for following in successors(nodes[place]):
            lengths = found.setdefault(following, set())
            if length not in lengths:
                lengths.add(length)
                waiting.append((following, length))
    return found


def n_analysts(mechanism: Mechanism, lengths: Lengths) -> int:
    """Return how many analysts there are who fix open queries, made after these lengths."""
    queries, n = open_queries(mechanism.nodes), 1
    for name, known in _lengths_by_name(queries, lengths).items():
        choices = next(query.choices for query in queries.values() if query.name == name)
        assert choices is not None, "queries of other sets are mistakes"
        n *= choices.size ** len(known)
    return n


def _lengths_by_name(queries: Mapping[int, Query], lengths: Lengths) -> dict[str, set[int]]:
    """Return the lengths after which queries of each name are made, at any of their places."""
    found: dict[str, set[int]] = {}
    for i, query in queries.items():
        found.setdefault(query.name, set()).update(lengths.get(i, ()))
    return found


def with_choices(mechanism: Mechanism, lengths: Lengths, fresh: Callable[[str], str]) -> Mechanism:
    """Return the mechanism where open queries read public inputs, a cell for each length.

    `lengths` are those of open queries at least. An input is called as the query is, unless one of
    that name is declared. After longer histories than are known, the last choice is made again.
    `fresh` makes names of variables.
    """
    queries, nodes = open_queries(mechanism.nodes), list(mechanism.nodes)
    at = _lengths_by_name(queries, lengths)
    taken, made = {one.name for one in mechanism.inputs}, dict[str, Input]()
    for i, query in queries.items():
        if not lengths.get(i):
            continue  # no run gets there
        known = sorted(at[query.name])
        if query.name not in made:
            title = fresh(query.name)
            cells = tuple(f"{title}[{k}]" for k, _ in enumerate(known, 1))
            called = title if query.name in taken else query.name
            made[query.name] = _input(query, called, cells)
        cell = dict(zip(known, made[query.name].cells, strict=True))
        value = _chosen({length: cell[length] for length in sorted(lengths[i])}, query.draw.span)
        nodes[i] = Assign(query.draw.target, value, None, query.draw.next, query.draw.span)
    asked = replace(mechanism, inputs=(*mechanism.inputs, *made.values()), nodes=tuple(nodes))
    if all(len(lengths.get(i, ())) <= 1 for i in queries):
        return asked
    return counted(asked, max(length for each in at.values() for length in each))


def _input(query: Query, called: str, cells: tuple[str, ...]) -> Input:
    """Return the public input that a query reads."""
    assert query.choices is not None, "queries of other sets are mistakes"
    span = query.draw.span
    return Input(called, 1, cells, Const(query.choices, span), None, True, span, is_choice=True)


def _chosen(cells: Mapping[int, str], span: Span) -> Expr:
    """Return the cell for the length of the history; of cells by length, in increasing order."""
    *earlier, (_, last) = cells.items()
    chosen: Expr = Var(last, span)
    for length, cell in reversed(earlier):
        is_now = Apply("=", (Var(LENGTH, span), Const(length, span)), span)
        chosen = If(is_now, Var(cell, span), chosen, span)
    return chosen


def counted(mechanism: Mechanism, most: int) -> Mechanism:
    """Return the mechanism that counts outputs and queries, up to `most`."""
    span, nodes, after = mechanism.span, list(mechanism.nodes), dict[int, int]()
    more = Apply("+", (Var(LENGTH, span), Const(1, span)), span)
    longer = Apply("min", (more, Const(most, span)), span)
    for i, node in enumerate(mechanism.nodes):
        if isinstance(node, Output):
            if node.next not in after:
                after[node.next] = len(nodes)
                nodes.append(Assign(LENGTH, longer, None, node.next, span))
            nodes[i] = replace(node, next=after[node.next])
    nodes.append(Assign(LENGTH, Const(0, span), None, mechanism.entry, span))
    return replace(mechanism, nodes=tuple(nodes), entry=len(nodes) - 1)


def outputs_alone(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism whose fixed queries are no step of a run."""
    nodes = [
        Forget((), node.next, node.span)
        if isinstance(node, Output) and node.query == "fixed"
        else node
        for node in mechanism.nodes
    ]
    return replace(mechanism, nodes=tuple(nodes), hides_queries=False)


def adaptive(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism whose analyst sees the outputs, and can do what any other can."""
    nodes = list(mechanism.nodes)
    for query in open_queries(mechanism.nodes).values():
        span = query.shown.span
        assert query.choices is not None, "queries of other sets are mistakes"
        offer = Const(offer_symbol(query.name), span), Const(query.choices, span)
        value = Apply("tuple", (*offer, Var(query.draw.target, span)), span)
        nodes[query.draw.next] = replace(query.shown, value=value, query="adaptive")
    return replace(mechanism, nodes=tuple(nodes), hides_queries=False)
