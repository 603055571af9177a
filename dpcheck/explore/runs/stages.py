"""Ways through a program in which loops that count their rounds are written out.

A *stage* is a node with what is known there of some variables: values that come from constants,
inputs and bounded draws alone, where these are read again. A condition that they decide has one way
on. So every run is a way through stages, and a loop that counts its rounds to a number, given or
drawn, is no cycle of them, whatever else may end it; one that goes on until draws have decided so
is a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, product
from typing import TypeVar

from dpcheck.chain.graph import graph_from, strong_components
from dpcheck.chain.sets import distinct_rows
from dpcheck.explore.programs.known_values import counting, steps, with_components_apart
from dpcheck.explore.programs.liveness import Flow, flow_of
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
        is_live = [not names.isdisjoint(live) for live in self.flow.live]
        following = [[k for k in each if is_live[self.nodes[k]]] for each in self.following]
        found = _collected(following, self._drawing(draws), nothing, drawn, joined)
        return self._by_node(found, nothing, joined)

    def drawn_before(
        self, names: AbstractSet[str] | None, draws: Mapping[int, int]
    ) -> list[int | None]:
        """Return how many numbers two runs drew before each node, [n_nodes].

        draws: how many both draw at a node. If they draw alike, those count since both drew where
        none of some variables was live, so that nothing of either run was kept; without names, all.
        None: endless draws.
        """
        is_live = [names is None or not names.isdisjoint(live) for live in self.flow.live]
        before: list[list[int]] = [[] for _ in self.nodes]
        for k, each in enumerate(self.following):
            for after in each:
                node = self.nodes[after]
                before[after] += [k] if is_live[node] or node not in draws else []
        found = _collected(before, self._drawing(draws), 0, lambda n, k: n + draws[k], max)
        until = [_joined((found[k] for k in each), 0, max) for each in before]
        return self._by_node(until, 0, max)

    def _drawing(self, draws: Container[int]) -> dict[int, int]:
        """Return the nodes of the stages that draw."""
        return {k: node for k, node in enumerate(self.nodes) if node in draws}

    def _by_node(
        self, found: Sequence[T | None], nothing: T, joined: Callable[[T, T], T]
    ) -> list[T | None]:
        """Return what is found of all stages of each node, [n_nodes]."""
        stages: list[list[T | None]] = [[] for _ in self.flow.live]
        for node, each in zip(self.nodes, found, strict=True):
            stages[node].append(each)
        return [_joined(each, nothing, joined) for each in stages]


def _joined(found: Iterable[T | None], nothing: T, joined: Callable[[T, T], T]) -> T | None:
    """Return all that is found; None where anything is endless."""
    result = nothing
    for each in found:
        if each is None:
            return None
        result = joined(result, each)
    return result


def _collected(
    following: Sequence[Sequence[int]],
    draws: Mapping[int, int],
    nothing: T,
    drawn: Callable[[T, int], T | None],
    joined: Callable[[T, T], T],
) -> list[T | None]:
    """Return what follows each stage, itself included; None where draws, by stage, are endless."""
    found: list[T | None] = [nothing] * len(following)
    component, count = strong_components(graph_from(following))
    members: list[list[int]] = [[] for _ in range(count)]
    for k, number in enumerate(component.tolist()):
        members[number].append(k)
    for stages in members:  # each after all that it leads to
        leaving = {after for k in stages for after in following[k]}
        here = _joined((found[k] for k in leaving.difference(stages)), nothing, joined)
        is_cycle = len(stages) > 1 or stages[0] in leaving
        if is_cycle and any(k in draws for k in stages):
            here = None
        for k in stages:
            found[k] = drawn(here, draws[k]) if here is not None and k in draws else here
    return found


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
