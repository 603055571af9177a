"""`query c in S fixed`: choices made beforehand, as public inputs.

An analyst who has fixed the choices sees the length of the history only: the number of outputs and
queries so far. So the choices are a function of that length, which is one public value for each
length at which c is asked, equal for neighbors, and a claim about all inputs is about all analysts.
Until it is known at which lengths c is asked, a query is *open*: a draw before an output that is
marked (`offers.fixed_symbol`). Where lengths differ between runs, the program counts.

That a query is made is seen, together with the choice; P, D and E count outputs alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Final, Literal

from dpcheck.model import program
from dpcheck.model.expressions import Apply, Const, Var
from dpcheck.model.offers import fixed_name, offer_symbol
from dpcheck.model.values import SetValue, Symbol
from dpcheck.records import Frozen, replace

LENGTH: Final = "length of the history"
"""The variable that counts outputs and queries; no text can spell it."""

MOST_ANALYSTS: Final = 1 << 20
"""So many sequences of queries are tried one by one."""

MOST_LENGTHS: Final = 64
"""Histories in loops are followed up to so many outputs and queries: twenty queries of two choices
are a million analysts."""

Lengths = Mapping[int, Collection[int]]
"""By node, the lengths of the histories that lead to it."""

Beyond = Literal["never", "again", "open"]
"""What is asked after histories longer than are known: there are none, the last choice is made
again, or nobody knows."""


class Query(Frozen):
    """An open query: its name, the draw that makes it, and the marked output that shows it."""

    name: str
    draw: program.Sample
    shown: program.Output
    mark: Const

    @property
    def choices(self) -> SetValue | None:
        """What may be chosen, if it is known before any run."""
        match self.draw.distribution:
            case program.Parametric(arguments=(Const(value=SetValue() as choices),)):
                return choices
        return None


def open_queries(nodes: Sequence[program.Node]) -> dict[int, Query]:
    """Return the fixed queries without inputs, by the node that draws."""
    found = {}
    for i, draw in enumerate(nodes):
        match draw:
            case program.Sample(next=after):
                match nodes[after]:
                    case (
                        program.Output(
                            query="fixed",
                            value=Apply(args=(Const(value=Symbol(name=symbol)) as mark, _)),
                        ) as shown
                    ):
                        found[i] = Query(fixed_name(symbol) or "", draw, shown, mark)
    return found


def known_lengths(nodes: Sequence[program.Node], entry: int) -> Lengths | None:
    """Return the lengths of the histories that lead to each node; None if a loop makes them longer.

    All ways through the program count, whatever its conditions say.
    """
    found: dict[int, set[int]] = {entry: {0}}
    waiting = [(entry, 0)]
    while waiting:
        place, length = waiting.pop()
        length += isinstance(nodes[place], program.Output)
        if length > len(nodes):  # some output came twice
            return None
        for following in program.successors(nodes[place]):
            lengths = found.setdefault(following, set())
            if length not in lengths:
                lengths.add(length)
                waiting.append((following, length))
    return found


def n_analysts(mechanism: program.Mechanism, lengths: Lengths) -> int:
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


def open_cells(mechanism: program.Mechanism) -> dict[str, tuple[str, ...]]:
    """Return the variables of the choices of open queries, in order, by what the query is called.

    That is its name, unless an input has it. There is one cell more than claims can name: what
    reads it reads the whole array, of which nobody knows yet how long it is.
    """
    inputs = {one.name for one in mechanism.inputs}
    numbers = range(1, MOST_LENGTHS + 2)
    return {
        title if name in inputs else name: tuple(f"{title}[{k}]" for k in numbers)
        for name, title in _titles(mechanism).items()
    }


def named_cells(mechanism: program.Mechanism) -> dict[str, tuple[str, ...]]:
    """Return the variables of the choices of all fixed queries, in order, by their names."""
    known = {one.name: one.cells for one in mechanism.inputs if one.is_choice}
    return {**known, **open_cells(mechanism)}


def _titles(mechanism: program.Mechanism) -> dict[str, str]:
    """Return names of arrays whose cells are no variables yet, by the names of open queries."""
    taken = {cell for one in mechanism.inputs for cell in one.cells}
    for node in mechanism.nodes:
        taken.update(getattr(node, "cells", ()), (getattr(node, "target", ""),))
    arrays = {cell.partition("[")[0] for cell in taken if "[" in cell}
    titles = {}
    for name in dict.fromkeys(query.name for query in open_queries(mechanism.nodes).values()):
        numbered = (name if k == 1 else f"{name}#{k}" for k in count(1))
        titles[name] = next(each for each in numbered if each not in arrays)
    return titles


def with_choices(
    mechanism: program.Mechanism, lengths: Lengths, beyond: Beyond = "never"
) -> program.Mechanism:
    """Return the mechanism where open queries read public inputs, a cell for each length.

    `lengths` are those of open queries at least, and `beyond` says what is asked after longer
    histories. An input is called as the query is, unless one of that name is declared. Histories
    only get longer, so choices for those that are over are not read again: they are forgotten.
    """
    queries, nodes = open_queries(mechanism.nodes), list(mechanism.nodes)
    inputs, cells = _inputs(mechanism, lengths)
    last = {max(of_name) for of_name in cells.values() if of_name} if beyond == "again" else set()
    past = sorted((n, cell) for of_name in cells.values() for n, cell in of_name.items())

    def added(node: program.Node) -> int:
        nodes.append(node)
        return len(nodes) - 1

    def reading(query: Query, length: int) -> program.Assign:
        span, following = query.draw.span, query.draw.next
        over = tuple(cell for n, cell in past if n <= length and n not in last)
        following = added(program.Forget(over, following, span)) if is_counted else following
        return program.Assign(
            query.draw.target, Var(cells[query.name][length], span), None, following, span
        )

    is_open = beyond == "open"
    is_counted = is_open or any(len(lengths.get(i, ())) > 1 for i in queries)
    for i, query in queries.items():
        known, span = sorted(lengths.get(i, ())), query.draw.span
        if not known and not is_open:
            continue  # no run gets there
        if is_open:
            way: program.Node = replace(query.draw, next=added(query.shown))
        else:
            way = reading(query, known.pop())
        for length in reversed(known):
            is_now = Apply("=", (Var(LENGTH, span), Const(length, span)), span)
            way = program.Branch(is_now, added(reading(query, length)), added(way), False, span)
        nodes[i] = way
    asked = replace(mechanism, inputs=(*mechanism.inputs, *inputs), nodes=tuple(nodes))
    longest = max((n for n, _ in past), default=0)
    return counted(asked, longest + is_open) if is_counted else asked


def _inputs(
    mechanism: program.Mechanism, lengths: Lengths
) -> tuple[list[program.Input], dict[str, dict[int, str]]]:
    """Return the public inputs that open queries read, and their cells by name and length."""
    queries, titles = open_queries(mechanism.nodes), _titles(mechanism)
    taken = {one.name for one in mechanism.inputs}
    of_names = {query.name: query for query in queries.values()}
    inputs, cells = [], dict[str, dict[int, str]]()
    for name, known in _lengths_by_name(queries, lengths).items():
        title, query = titles[name], of_names[name]
        cells[name] = {length: f"{title}[{k}]" for k, length in enumerate(sorted(known), 1)}
        if known:
            assert query.choices is not None, "queries of other sets are mistakes"
            called, span = title if name in taken else name, query.draw.span
            names, choices = tuple(cells[name].values()), query.choices
            inputs.append(
                program.Input(called, 1, names, choices, None, True, span, is_choice=True)
            )
    return inputs, cells


def counted(mechanism: program.Mechanism, most: int) -> program.Mechanism:
    """Return the mechanism that counts outputs and queries, up to `most`."""
    span, nodes, after = mechanism.span, list(mechanism.nodes), dict[int, int]()
    more = Apply("+", (Var(LENGTH, span), Const(1, span)), span)
    longer = Apply("min", (more, Const(most, span)), span)
    for i, node in enumerate(mechanism.nodes):
        if isinstance(node, program.Output):
            if node.next not in after:
                after[node.next] = len(nodes)
                nodes.append(program.Assign(LENGTH, longer, None, node.next, span))
            nodes[i] = replace(node, next=after[node.next])
    nodes.append(program.Assign(LENGTH, Const(0, span), None, mechanism.entry, span))
    return replace(mechanism, nodes=tuple(nodes), entry=len(nodes) - 1)


def outputs_alone(mechanism: program.Mechanism) -> program.Mechanism:
    """Return a mechanism whose fixed queries are no step of a run."""
    nodes = [
        program.Forget((), node.next, node.span)
        if isinstance(node, program.Output) and node.query == "fixed"
        else node
        for node in mechanism.nodes
    ]
    return replace(mechanism, nodes=tuple(nodes), hides_queries=False)


def adaptive(mechanism: program.Mechanism) -> program.Mechanism:
    """Return a mechanism whose analyst sees the outputs, and can do what any other can.

    Choices that are public inputs are given, and no step where the mechanism hides them.
    """
    nodes = list(mechanism.nodes)
    for query in open_queries(mechanism.nodes).values():
        span = query.shown.span
        assert query.choices is not None, "queries of other sets are mistakes"
        offer = Const(offer_symbol(query.name), span), Const(query.choices, span)
        value = Apply("tuple", (*offer, Var(query.draw.target, span)), span)
        nodes[query.draw.next] = replace(query.shown, value=value, query="adaptive")
    chosen = replace(mechanism, nodes=tuple(nodes))
    return outputs_alone(chosen) if chosen.hides_queries else chosen
