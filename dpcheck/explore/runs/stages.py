"""Ways through a program in which loops that count their rounds are written out.

A *stage* is a node with what is known there of some variables: values that come from constants and
inputs alone, where these are read again. A condition that they decide has one way on. So every run
is a way through stages, and a loop that counts its rounds to a number is no cycle of them, whatever
else may end it; one that goes on until draws have decided so is a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TypeVar

import numpy as np

from dpcheck.chain.graph import graph_from, strong_components
from dpcheck.chain.sets import distinct_rows
from dpcheck.explore.runs.liveness import Flow
from dpcheck.explore.runs.raw_graph import Starts
from dpcheck.explore.values.codes import FALSE, FIRST_FAULT, TRUE, UNASSIGNED, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated, truths
from dpcheck.model import program
from dpcheck.model.expressions import Expr, Logic, reads
from dpcheck.records import dataclass

T = TypeVar("T")

MAX_STAGES = 5000
"""With more, less is known at each; some 0.1 s."""

Known = frozenset[tuple[str, int]]
"""Variables with the codes of their values."""


@dataclass(frozen=True, eq=False)
class Stages:
    """The node of each stage, [n_stages], and the stages that runs may be in next."""

    flow: Flow
    nodes: list[int]
    following: list[list[int]]

    def to_come(
        self,
        names: AbstractSet[str],
        draws: Container[int],
        nothing: T,
        drawn: Callable[[T, int], T | None],
        joined: Callable[[T, T], T],
    ) -> list[T | None]:
        """Return what follows each node, [n_nodes], itself included, from its ends on.

        None: endless draws. Where none of some variables is live, nothing that follows depends on
        their numbers.
        """

        def either(left: T | None, right: T | None) -> T | None:
            return None if left is None or right is None else joined(left, right)

        is_live = [not names.isdisjoint(live) for live in self.flow.live]
        following = [[k for k in each if is_live[self.nodes[k]]] for each in self.following]
        found: list[T | None] = [nothing] * len(following)
        by_node: list[T | None] = [nothing] * len(is_live)
        component, count = strong_components(graph_from(following))
        members: list[list[int]] = [[] for _ in range(count)]
        for k, number in enumerate(component.tolist()):
            members[number].append(k)
        for stages in members:  # each after all that it leads to
            here: T | None = nothing
            leaving = {after for k in stages for after in following[k]}
            for after in leaving.difference(stages):
                here = either(here, found[after])
            is_cycle = len(stages) > 1 or stages[0] in leaving
            if is_cycle and any(self.nodes[k] in draws for k in stages):
                here = None
            for k in stages:
                node = self.nodes[k]
                found[k] = drawn(here, node) if here is not None and node in draws else here
                by_node[node] = either(by_node[node], found[k])
        return by_node


def stages_of(starts: Starts) -> Stages:
    """Return the stages, with what is known of variables that conditions depend on.

    Where these tell too many apart nothing is known of inputs, or of anything.
    """
    names = _counting(starts.flow.nodes)
    tried = (names, names.difference(starts.inputs), frozenset[str]())
    found = (_written_out(starts, some) for some in tried)
    return next(stages for stages in found if stages is not None)


def _counting(nodes: Sequence[program.Node]) -> frozenset[str]:
    """Return the variables that conditions read beside loops, and all they are assigned from."""
    branches = [node for node in nodes if isinstance(node, program.Branch)]
    if not any(node.is_loop_head for node in branches):
        return frozenset()
    names, before = set(reads(*(node.condition for node in branches))), set[str]()
    assigned = [node for node in nodes if isinstance(node, program.Assign)]
    while names != before:
        before = set(names)
        names.update(*(reads(node.value) for node in assigned if node.target in names))
    return frozenset(names)


def _written_out(starts: Starts, names: frozenset[str]) -> Stages | None:
    """Return the stages, with values of some variables; None where these make them too many."""
    flow, entry = starts.flow, starts.mechanism.entry
    live, most = [names.intersection(each) for each in flow.live], max(MAX_STAGES, len(flow.live))
    stages = [(entry, known) for known in islice(_given(starts, live[entry]), most + 1)]
    numbers, following = {stage: k for k, stage in enumerate(stages)}, list[list[int]]()
    for k, known in stages:  # these grow
        if len(stages) > most:
            return None
        ways, after = _step(flow.nodes[k], dict(known), names, starts.table)
        following.append([])
        for way in ways:
            later = {pair for pair in after.items() if pair[0] in live[way]}
            stage = way, frozenset(pair for pair in later if pair[1] < FIRST_FAULT)
            number = numbers.setdefault(stage, len(stages))
            stages += [stage] if number == len(stages) else []
            following[-1].append(number)
    return Stages(flow, [k for k, _ in stages], following)


def _given(starts: Starts, names: frozenset[str]) -> Iterator[Known]:
    """Yield what the inputs are, of some variables."""
    given = sorted(names.intersection(starts.inputs))
    first, _ = distinct_rows([starts.inputs[name] for name in given])
    rows = zip(*(starts.inputs[name][first].tolist() for name in given), strict=True)
    for row in rows if given else ((),):
        yield frozenset(zip(given, row, strict=True))


def _step(
    node: program.Node, known: Mapping[str, int], names: AbstractSet[str], table: ValueTable
) -> tuple[Sequence[int], Mapping[str, int]]:
    """Return the nodes that may come next, and what is known then; what is unknown is a fault."""
    ways, changed = program.successors(node), dict.fromkeys(program.written(node), UNASSIGNED)
    match node:
        case program.Branch(condition=condition) if not known.keys().isdisjoint(reads(condition)):
            truth = _truth(condition, known, table)
            ways = {TRUE: (node.then,), FALSE: (node.orelse,)}.get(truth, ways)
        case program.Assign(target=target, value=value) if target in names:
            changed[target] = int(evaluated(value, _frame(value, known), table)[0])
    return ways, {**known, **changed}


def _truth(condition: Expr, known: Mapping[str, int], table: ValueTable) -> int:
    """Return `TRUE`, `FALSE`, or a fault where what is known does not decide a condition.

    One part may decide it, wherever it stands: no run meets a fault in what stands before.
    """
    if isinstance(condition, Logic) and condition.op in ("and", "or"):
        found = [_truth(each, known, table) for each in condition.args]
        deciding = FALSE if condition.op == "and" else TRUE
        return deciding if deciding in found else max(found)
    return int(truths(condition, _frame(condition, known), table)[0])


def _frame(expr: Expr, known: Mapping[str, int]) -> Frame:
    """Return the variables that an expression reads, [1]; one that is not known has no value."""
    return Frame(1, {name: np.array([known.get(name, UNASSIGNED)]) for name in reads(expr)})
