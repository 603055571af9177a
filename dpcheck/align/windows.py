"""Finite windows of a program on all integers: its first rounds, on the integers near 0.

A window is an ordinary mechanism, and what violates a claim there violates it on all integers: its
inputs are some of all, and of an endless stream's outputs it shows the first n, which is a function
of the outputs. For that every round of the loop that never ends has to show something, or end the
run: then the first n outputs are known after n rounds.

An *endless* window shows all outputs, of runs on inputs that repeat: streams have the values of the
first n rounds again and again. Those are inputs, too, so ε is infinite where it is on them.

Inputs of long windows are too many to be looked at all. A `longer` window has some: the neighbors
of a shorter one that lose most, with one of their rounds twice. A `thinned` one has those where one
number at most is unlike all others. What any of its inputs violate, some inputs of all violate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcheck.align.neighbors import Unreadable
from dpcheck.diagnostics.align import SilentRound
from dpcheck.explore.inputs.adjacency_patterns import substituted
from dpcheck.explore.programs.liveness import flow_of
from dpcheck.explore.tails.carried import with_tuples_apart
from dpcheck.explore.tails.wide import holding_numbers
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr, Logic, Var, primed_name
from dpcheck.model.postorder import postorder
from dpcheck.model.program import (
    AdjacentWhere,
    Assign,
    Branch,
    Input,
    Mechanism,
    Node,
    Output,
    Stop,
    led_to,
    numbered,
    successors,
)
from dpcheck.model.values import INTEGERS, SetValue, Value
from dpcheck.records import dataclass, replace

SHOWN = "shown#"
"""The variable that counts outputs."""

FEW_INPUTS = 250
"""So many are looked at where all are too many."""

Row = tuple[tuple[str, Value], ...]
"""An input: the values of all cells, by their names."""


@dataclass(frozen=True)
class Size:
    """How many rounds and outputs a window has, and its integers; no rounds: the program ends.

    The integers are the multiples of `step` by low..high: neighbors that may differ by much do so.
    A window has all inputs of these, or `only` some. An endless one repeats its rounds for ever.
    """

    n_rounds: int
    low: int
    high: int
    step: int = 1
    only: tuple[Row, ...] = ()
    is_endless: bool = False

    @property
    def integers(self) -> SetValue:
        """The set of the integers."""
        if self.step == 1:
            return SetValue(range(self.low, self.high + 1))
        return SetValue(tuple(self.step * i for i in range(self.low, self.high + 1)))


def round_of(mechanism: Mechanism) -> int | None:
    """Return the head of the loop that never ends; None if there is none."""
    heads = (i for i, n in enumerate(mechanism.nodes) if isinstance(n, Branch) and n.is_round)
    return next(heads, None)


def window(mechanism: Mechanism, size: Size) -> Mechanism:
    """Return a window of a mechanism; raises `Unreadable` where a round may show nothing."""
    head = round_of(mechanism)
    inputs = _restricted([_input(one, size) for one in mechanism.inputs], size.only)
    streams = {one.name: one for one in inputs if one.is_stream}
    written: dict[str, Expr] = {
        named(one.name): ArrayVar(named(one.name), 1, tuple(map(named, one.cells)), one.span)
        for one in streams.values()
        for named in (str, primed_name)
    }
    adjacency = tuple(
        replace(clause, condition=substituted(clause.condition, written))
        if isinstance(clause, AdjacentWhere)
        else clause
        for clause in mechanism.adjacency
    )
    finite = replace(mechanism, inputs=inputs, adjacency=adjacency)
    if head is None:
        return finite
    if _may_be_silent(mechanism, head):
        raise Unreadable(SilentRound(mechanism.nodes[head].span))
    cells = {f"{one.name}[i]": one.cells for one in streams.values()}
    written_out = _rounds(finite, head, cells, size)
    return written_out if size.is_endless else _first_outputs(written_out, size.n_rounds)


def on_all_integers(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism where inputs from sets of integers may be any integers."""
    wider = [
        replace(one, domain=INTEGERS, where=None) if one.domain.has_integers_only else one
        for one in mechanism.inputs
    ]
    return replace(mechanism, inputs=tuple(wider))


def forgets_noise(mechanism: Mechanism) -> bool:
    """Return whether no noise is kept from one round of the endless loop to the next."""
    head = round_of(mechanism)
    assert head is not None, "it has such a loop"
    mechanism = replace(mechanism, nodes=with_tuples_apart(mechanism.nodes))
    kept = frozenset(flow_of(mechanism, frozenset()).live[head])
    return kept.isdisjoint(holding_numbers(mechanism.nodes))


def _input(one: Input, size: Size) -> Input:
    """Return an input with its integers in the window, a stream as an array of so many rounds."""
    if not one.is_unbounded:
        return one
    cells = one.cells
    if one.is_stream:
        cells = tuple(f"{one.name}[{i}]" for i in range(1, size.n_rounds + 1))
    return replace(one, domain=size.integers, cells=cells)


def _restricted(inputs: Sequence[Input], rows: Sequence[Row]) -> tuple[Input, ...]:
    """Return inputs that have the values of one of some rows only; all they had without rows."""
    if not rows:
        return tuple(inputs)
    restricted, known = [], list[str]()
    for one in inputs:
        known += one.cells
        span = one.span
        heads = {tuple((cell, dict(row)[cell]) for cell in known) for row in rows}
        equal = [
            tuple(Apply("=", (Var(cell, span), Const(value, span)), span) for cell, value in head)
            for head in heads
        ]
        some = Logic("or", tuple(Logic("and", each, span) for each in equal), span)
        where = some if one.where is None else Logic("and", (one.where, some), span)
        restricted.append(replace(one, where=where))
    return tuple(restricted)


def with_few_inputs(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with the two middle values of each set, thinned if these are many.

    In the middle all that is compared with inputs is nearest.
    """
    inputs = []
    for one in mechanism.inputs:
        first = max(one.domain.size - 2, 0) // 2
        inputs.append(replace(one, domain=SetValue(tuple(one.domain.items[first : first + 2]))))
    few = replace(mechanism, inputs=tuple(inputs))
    if 2 ** sum(len(one.cells) for one in inputs) <= FEW_INPUTS:
        return few
    return replace(few, inputs=_restricted(inputs, thinned(few, Size(1, 0, 1), FEW_INPUTS).only))


def thinned(mechanism: Mechanism, size: Size, most: int) -> Size:
    """Return a window with few inputs: all private numbers its first or its last, or all but one.

    Counts that differ in one person, and the winners of noisy counts, are neighbors there. Where
    these are more than `most`, the number that is unlike the others is one of the last or first.
    """
    private = list[str]()
    ends = dict[str, tuple[Value, Value]]()
    for one in (_input(each, size) for each in mechanism.inputs):
        private += () if one.is_public else one.cells
        first, last = one.domain.items[0], one.domain.items[-1]
        ends |= dict.fromkeys(one.cells, (first, first if one.is_public else last))
    outer = [cell for pair in zip(reversed(private), private, strict=True) for cell in pair]
    unlike = [None, *dict.fromkeys(outer)][: most // 2]
    rows = tuple(
        tuple((cell, ends[cell][which ^ (cell == other)]) for cell in ends)
        for other in unlike
        for which in (0, 1)
    )
    return replace(size, only=rows)


def longer(mechanism: Mechanism, size: Size, pair: Sequence[Row]) -> Size:
    """Return a window with one round more: its inputs are those of a pair with a round twice.

    A round is copied where another one follows: neighbors (0, 1), (0, 1), (1, 0) become four
    rounds in two ways.
    """
    names = [one.name for one in mechanism.inputs if one.is_stream]
    rounds = [
        tuple(dict(row)[f"{name}[{i}]"] for row in pair for name in names)
        for i in range(1, size.n_rounds + 1)
    ]
    copied = [
        i
        for i, (one, after) in enumerate(zip(rounds, (*rounds[1:], None), strict=True), start=1)
        if one != after
    ]
    rows = tuple(_with_copy(row, names, i, size.n_rounds) for i in copied for row in pair)
    return replace(size, n_rounds=size.n_rounds + 1, only=rows)


def _with_copy(row: Row, names: Sequence[str], copied: int, n_rounds: int) -> Row:
    """Return an input where a round of the streams with some names comes twice."""
    values = dict(row)
    after = {
        f"{name}[{i + 1}]": values[f"{name}[{i}]"]
        for name in names
        for i in range(copied, n_rounds + 1)
    }
    return tuple({**values, **after}.items())


def _may_be_silent(mechanism: Mechanism, head: int) -> bool:
    """Return whether a run may get from the head of the loop back to it without an output."""
    first = mechanism.nodes[head]
    assert isinstance(first, Branch), "a loop has a test"

    def silently_after(i: int) -> tuple[int, ...]:
        node = mechanism.nodes[i]
        return () if isinstance(node, Output) and node.query is None else successors(node)

    return head in postorder([first.then], silently_after)


def _rounds(
    mechanism: Mechanism, head: int, cells: Mapping[str, tuple[str, ...]], size: Size
) -> Mechanism:
    """Return the mechanism with its loop written out for some rounds, after which runs end.

    A round begins with its values of the streams, which are variables then. In an endless window
    the first round comes after the last.
    """
    test = mechanism.nodes[head]
    assert isinstance(test, Branch), "a loop has a test"
    in_rounds = postorder([test.then], lambda i: successors(mechanism.nodes[i]))
    inside = sorted({*in_rounds} - {head})
    copies: list[Node] = [Stop(test.span)]
    end = following = len(mechanism.nodes)
    for i in reversed(range(size.n_rounds)):
        first = len(mechanism.nodes) + len(copies)
        numbers = {old: first + k for k, old in enumerate(inside)}
        numbers[head] = following
        copies += [led_to(mechanism.nodes[old], numbers) for old in inside]
        following = numbers[test.then]
        for cell, every in cells.items():
            copies.append(Assign(cell, Var(every[i], test.span), None, following, test.span))
            following = len(mechanism.nodes) + len(copies) - 1
    numbers = {k: k for k in range(len(mechanism.nodes))} | {head: following}
    nodes = (*(led_to(node, numbers) for node in mechanism.nodes), *copies)
    if size.is_endless:
        again = {k: k for k in range(len(nodes))} | {end: following}
        nodes = tuple(led_to(node, again) for node in nodes)
    nodes, entry = numbered(nodes, numbers[mechanism.entry])
    return replace(mechanism, nodes=nodes, entry=entry)


def _first_outputs(mechanism: Mechanism, most: int) -> Mechanism:
    """Return the mechanism that ends with its last output of so many."""
    nodes = list(mechanism.nodes)
    end = len(nodes)
    nodes.append(Stop(mechanism.span))
    for k, node in enumerate(mechanism.nodes):
        if isinstance(node, Output) and node.query is None:
            shown, span = Var(SHOWN, node.span), node.span
            more = Apply("+", (shown, Const(1, span)), span)
            is_last = Apply("=", (shown, Const(most, span)), span)
            nodes.append(Branch(is_last, end, node.next, False, span))
            nodes.append(Assign(SHOWN, more, None, len(nodes) - 1, span))
            nodes[k] = replace(node, next=len(nodes) - 1)
    nodes.append(Assign(SHOWN, Const(0, mechanism.span), None, mechanism.entry, mechanism.span))
    return replace(mechanism, nodes=tuple(nodes), entry=len(nodes) - 1, n_rounds=most)
