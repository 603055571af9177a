"""Ways through a program in which loops that count their rounds are written out.

A *stage* is a node with what is known there of some variables: values that come from constants,
inputs and bounded draws alone, where these are read again. A condition that they decide has one way
on. So every run is a way through stages, and a loop that counts its rounds to a number, given or
drawn, is no cycle of them, whatever else may end it; one that goes on until draws have decided so
is a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from collections.abc import Set as AbstractSet
from itertools import islice, product
from typing import TypeVar

from dpcheck.chain.graph import graph_from, strong_components
from dpcheck.chain.sets import distinct_rows
from dpcheck.explore.runs.known_values import counting, steps, with_components_apart
from dpcheck.explore.runs.liveness import Flow, flow_of
from dpcheck.explore.runs.raw_graph import Starts
from dpcheck.explore.values.codes import FIRST_FAULT
from dpcheck.records import dataclass, replace

T = TypeVar("T")

MAX_STAGES = 5000
"""With more, less is known at each; some 0.1 s."""

MOST_DRAWN = (100, 10, 0)
"""Of draws with more values nothing is known: the first number of them that is not too many."""

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

    Where these tell too many apart less is known of draws, then nothing of inputs, or of anything.
    """
    nodes, tails = with_components_apart(starts.flow.nodes), starts.tails
    if nodes is not starts.flow.nodes:
        mechanism = replace(starts.mechanism, nodes=nodes)
        starts = replace(starts, flow=flow_of(mechanism, starts.flow.kept, tails))
    names = counting(nodes, frozenset() if tails is None else tails.wide.names)
    others = names.difference(starts.inputs)
    tried = dict.fromkeys([*product((names, others), MOST_DRAWN), (frozenset[str](), 0)])
    found = (_written_out(starts, *each) for each in tried)
    return next(stages for stages in found if stages is not None)


def _written_out(starts: Starts, names: frozenset[str], most_drawn: int) -> Stages | None:
    """Return the stages, with values of some variables; None where these make them too many."""
    flow, entry = starts.flow, starts.mechanism.entry
    live, most = [names.intersection(each) for each in flow.live], max(MAX_STAGES, len(flow.live))
    stages = [(entry, known) for known in islice(_given(starts, live[entry]), most + 1)]
    numbers, following = {stage: k for k, stage in enumerate(stages)}, list[list[int]]()
    for k, known in stages:  # these grow
        if len(stages) > most:
            return None
        following.append([])
        for way, after in steps(flow.nodes[k], dict(known), names, most_drawn, starts.table):
            later = ((name, code) for name, code in after.items() if name in live[way])
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
