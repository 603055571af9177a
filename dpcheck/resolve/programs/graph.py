"""Steps to a control-flow graph.

The graph is built backwards, from what follows: every step is told the node that comes next, so
there are no empty nodes, and two ways that go on alike go on at the same node. One node stands
for all ends of a run. Nodes are numbered from the entry, in reverse postorder; what no run can
reach is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, assert_never

from dpcheck.model import program
from dpcheck.model.expressions import Const
from dpcheck.model.program import Node
from dpcheck.records import replace
from dpcheck.resolve.programs import steps
from dpcheck.resolve.programs.steps import Step
from dpcheck.source import Span


def control_flow_graph(body: Sequence[Step], span: Span) -> tuple[tuple[Node, ...], int]:
    """Return the nodes of a mechanism's program and the number of the entry."""
    builder = _Builder()
    end = builder.add(program.Stop(span))
    entry = builder.sequence(body, end, _Exits(end, end))
    return _numbered(builder.nodes, entry)


class _Exits(NamedTuple):
    """The nodes that `stop` and `break` go to."""

    stop: int
    break_: int


class _Builder:
    """The nodes made so far; a loop's head is put in its place when its body is known."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(self, node: Node) -> int:
        """Append a node; return its number."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def sequence(self, body: Sequence[Step], following: int, exits: _Exits) -> int:
        """Return the first node of the steps, after which `following` comes."""
        for step in reversed(body):
            following = self.step(step, following, exits)
        return following

    def step(self, step: Step, following: int, exits: _Exits) -> int:
        """Return the node of a step after which `following` comes."""
        match step:
            case steps.Assign(target, value, within, span, is_drawn):
                return self.add(program.Assign(target, value, within, following, span, is_drawn))
            case steps.AssignCell(array, lo, cells, index, value, within, span):
                node = program.AssignCell(array, lo, cells, index, value, within, following, span)
                return self.add(node)
            case steps.Unpack(targets, value, span):
                return self.add(program.Unpack(targets, value, following, span))
            case steps.Sample(target, distribution, within, span):
                return self.add(program.Sample(target, distribution, within, following, span))
            case steps.Forget(targets, span):
                return self.add(program.Forget(targets, following, span))
            case steps.Output(value, span):
                return self.add(program.Output(value, following, span))
            case steps.Choose(condition, then, orelse, span):
                first = self.sequence(then, following, exits)
                second = self.sequence(orelse, following, exits)
                return self.add(program.Branch(condition, first, second, False, span))
            case steps.Loop():
                return self.loop(step, following, exits)
            case steps.Rounds(body=body):
                return self.sequence(body, following, exits._replace(break_=following))
            case steps.Call(body=body):
                return self.sequence(body, following, _Exits(following, following))
            case steps.Stop():
                return exits.stop
            case steps.Break():
                return exits.break_
            case steps.Fail(reason, span):
                return self.add(program.Fail(reason, span))
            case steps.Captured():
                raise AssertionError("captured outputs are replaced before the graph is built")
        assert_never(step)

    def loop(self, loop: steps.Loop, following: int, exits: _Exits) -> int:
        """Return the head of a loop, which its body leads back to."""
        head = self.add(program.Stop(loop.span))
        body = self.sequence(loop.body, head, exits)
        self.nodes[head] = program.Branch(loop.condition, body, following, True, loop.span)
        return head


def successors(node: Node) -> tuple[int, ...]:
    """Return the nodes that may come next, the way a known condition does not go left out."""
    match node:
        case program.Stop() | program.Fail():
            return ()
        case program.Branch(condition=Const(value=bool() as known)):
            return (node.then if known else node.orelse,)
        case program.Branch(then=then, orelse=orelse):
            return (then, orelse)
        case _:
            return (node.next,)


def _numbered(nodes: Sequence[Node], entry: int) -> tuple[tuple[Node, ...], int]:
    """Return the reachable nodes in reverse postorder; the entry becomes node 0."""
    order = _reverse_postorder(nodes, entry)
    numbers = {old: new for new, old in enumerate(order)}
    return tuple(_renumbered(nodes[old], numbers) for old in order), 0


def _reverse_postorder(nodes: Sequence[Node], entry: int) -> list[int]:
    finished: list[int] = []
    seen = {entry}
    waiting = [(entry, iter(successors(nodes[entry])))]
    while waiting:
        node, remaining = waiting[-1]
        following = next(remaining, None)
        if following is None:
            finished.append(node)
            waiting.pop()
        elif following not in seen:
            seen.add(following)
            waiting.append((following, iter(successors(nodes[following]))))
    return finished[::-1]


def _renumbered(node: Node, numbers: dict[int, int]) -> Node:
    match node:
        case program.Stop() | program.Fail():
            return node
        case program.Branch(then=then, orelse=orelse):
            # A way that is never taken need not exist; it may lead anywhere.
            first = numbers.get(then, numbers.get(orelse, 0))
            second = numbers.get(orelse, first)
            return replace(node, then=first, orelse=second)
        case _:
            return replace(node, next=numbers[node.next])
