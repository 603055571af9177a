"""What is known of a control-flow graph before it runs: live variables, and an order."""

from __future__ import annotations

import numpy as np

from dpcheck.chain.graph import graph_from, strong_components
from dpcheck.explore.tails.tails import Tails
from dpcheck.model import program
from dpcheck.model.expressions import Const, reads
from dpcheck.model.postorder import postorder
from dpcheck.records import dataclass

END = -1
"""The program point after which nothing happens."""


@dataclass(frozen=True)
class Flow:
    """Facts per node: the variables live before it, and its place in reverse postorder.

    `kept` are variables that stay live everywhere (inputs that claims name). `endless` are the
    loop heads that code without `~` and output may come back to for ever.
    """

    nodes: tuple[program.Node, ...]
    live: tuple[tuple[str, ...], ...]
    order: tuple[int, ...]
    kept: frozenset[str]
    endless: frozenset[int]

    def point(self, node: int) -> int:
        """Return the program point, with steps that do nothing skipped; `END` if a run ends."""
        seen: set[int] = set()
        while node not in seen:
            seen.add(node)
            match self.nodes[node]:
                case program.Stop():
                    return END
                case program.Branch(then=then, orelse=orelse, is_loop_head=False) as branch if (
                    then == orelse and isinstance(branch.condition, Const)
                ):
                    node = then
                case program.Assign(target=target, value=Const(), within=None, next=after) if (
                    target not in self.live[after]
                ):
                    node = after
                case _:
                    return node
        return node

    def live_at(self, point: int) -> tuple[str, ...]:
        """Return the variables live at a program point, in a fixed order."""
        return tuple(sorted(self.kept)) if point == END else self.live[point]


def certain_writes(node: program.Node) -> frozenset[str]:
    """Return the variables that certainly get a new value: of an array any one cell does."""
    is_one_of_many = isinstance(node, program.AssignCell)
    return frozenset(() if is_one_of_many else program.written(node))


def flow_of(mechanism: program.Mechanism, kept: frozenset[str], tails: Tails | None = None) -> Flow:
    """Return liveness by iterating backwards to the least fixed point, and the order.

    Nodes that read or write wide variables read their tail states too.
    """
    nodes = mechanism.nodes
    finished = postorder([mechanism.entry], lambda i: program.successors(nodes[i]))
    needs = [frozenset(reads(node)) for node in nodes]
    if tails is not None:
        needs = [names.union(tails.read_by(i)) for i, names in enumerate(needs)]
    kills = [certain_writes(node) for node in nodes]
    live: list[frozenset[str]] = [kept] * len(nodes)
    before: list[list[int]] = [[] for _ in nodes]
    for i in finished:
        for j in program.successors(nodes[i]):
            before[j].append(i)
    waiting, queued = finished[::-1], set(finished)
    while waiting:
        i = waiting.pop()
        queued.discard(i)
        after = frozenset().union(*(live[j] for j in program.successors(nodes[i])))
        now = (after - kills[i]) | needs[i] | kept
        if now != live[i]:
            live[i] = now
            for j in before[i]:
                if j not in queued:
                    queued.add(j)
                    waiting.append(j)
    order = [len(nodes)] * len(nodes)
    for place, i in enumerate(reversed(finished)):
        order[i] = place
    return Flow(nodes, tuple(tuple(sorted(v)) for v in live), tuple(order), kept, _endless(nodes))


def _endless(nodes: tuple[program.Node, ...]) -> frozenset[int]:
    """Return the loop heads on a cycle of nodes that neither draw nor show."""
    following = [
        () if isinstance(node, program.Sample | program.Output) else program.successors(node)
        for node in nodes
    ]
    component, count = strong_components(graph_from(following))
    sizes = np.bincount(component, minlength=count)
    return frozenset(
        i
        for i, node in enumerate(nodes)
        if isinstance(node, program.Branch)
        and node.is_loop_head
        and (sizes[component[i]] > 1 or i in following[i])
    )


def readers_of(writer: int, name: str, flow: Flow) -> frozenset[int]:
    """Return the nodes that may read the value that one gives a variable."""
    return frozenset(k for k in lasting(writer, name, flow) if name in reads(flow.nodes[k]))


def lasting(writer: int, name: str, flow: Flow) -> frozenset[int]:
    """Return the nodes before which a variable may have the value that one gives it."""
    between: set[int] = set()
    waiting = list(program.successors(flow.nodes[writer]))
    while waiting:
        k = waiting.pop()
        if k not in between and name in flow.live[k]:
            between.add(k)
            waiting += (
                () if name in certain_writes(flow.nodes[k]) else program.successors(flow.nodes[k])
            )
    return frozenset(between)


def draws_of(flow: Flow, tails: Tails, group: int) -> dict[int, program.Sample]:
    """Return the nodes that draw a number of a group."""
    nodes = {k: flow.nodes[k] for k in tails.wide.arriving}
    names = tails.wide.groups[group]
    return {k: n for k, n in nodes.items() if isinstance(n, program.Sample) and n.target in names}
