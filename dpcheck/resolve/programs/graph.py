"""Pieces of a mechanism's program, and the control-flow graph they become.

A `Step` adds its nodes to the graph itself. The graph is built backwards, from what follows: every
step is told the node that comes next, so there are no empty nodes, and two ways that go on alike go
on at the same node. One node stands for all ends of a run. Nodes are numbered from the entry, in
reverse postorder; what no run can reach is not there.

A step also knows how often runs through it have an output *captured* by a caller that samples the
mechanism: `sampled` says what becomes of these outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from dpcheck.model import program
from dpcheck.model.expressions import Apply, Const, Expr, Var
from dpcheck.model.program import Node
from dpcheck.records import Frozen, dataclass, replace
from dpcheck.source import Span

INFINITE: Final = 1 << 30
"""Stands for "any number of times"; sums of it are cut off there."""

Counts = tuple[int, int] | None
"""The least and greatest number of captured outputs on the ways to a place, None if none."""


@dataclass(frozen=True)
class Ways:
    """The counts of the ways to the end of some steps, of those into `stop` and into `break`."""

    through: Counts = None
    stopped: Counts = None
    broken: Counts = None


class Exits(Frozen):
    """The nodes that `stop` and `break` go to, and the steps that a captured output becomes."""

    stop: int
    break_: int
    captured: Callable[[Expr, Span], list[Step]] | None = None


@dataclass(frozen=True)
class Step:
    """A piece of program.

    `build` adds its nodes, given the node that follows and the exits, and returns the first of
    them. `assigns` is the variable and its declared set where the step is one assignment.
    """

    build: Callable[[Builder, int, Exits], int]
    ways: Ways = Ways(through=(0, 0))
    assigns: tuple[str, Expr | None] | None = None


class Builder:
    """The nodes made so far; a loop's head is put in its place when its body is known."""

    def __init__(self) -> None:
        """Start without nodes."""
        self.nodes: list[Node] = []

    def add(self, node: Node) -> int:
        """Append a node; return its number."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def sequence(self, body: Sequence[Step], following: int, exits: Exits) -> int:
        """Return the first node of the steps, after which `following` comes."""
        for step in reversed(body):
            following = step.build(self, following, exits)
        return following


def control_flow_graph(body: Sequence[Step], span: Span) -> tuple[tuple[Node, ...], int]:
    """Return the nodes of a mechanism's program and the number of the entry."""
    builder = Builder()
    end = builder.add(program.Stop(span))
    entry = builder.sequence(body, end, Exits(end, end))
    return program.numbered(builder.nodes, entry)


# --- steps ---------------------------------------------------------------------------------


def plain(node: Callable[..., Node], *fields: object, **named: object) -> Step:
    """Return the step of one node, given all but the node after it."""
    return Step(lambda builder, following, _: builder.add(node(*fields, next=following, **named)))


def assign(
    target: str, value: Expr, within: Expr | None, span: Span, *, is_drawn: bool = False
) -> Step:
    """Return `target := value`; `is_drawn` marks the result of a sampled mechanism."""

    def build(builder: Builder, following: int, _: Exits) -> int:
        return builder.add(program.Assign(target, value, within, following, span, is_drawn))

    return Step(build, assigns=(target, within))


def fail(reason: str, span: Span) -> Step:
    """Return the step to which no run may get."""
    return Step(lambda builder, *_: builder.add(program.Fail(reason, span)), Ways())


STOP: Final = Step(lambda _builder, _following, exits: exits.stop, Ways(stopped=(0, 0)))
"""`stop`."""

BREAK: Final = Step(lambda _builder, _following, exits: exits.break_, Ways(broken=(0, 0)))
"""`break`."""


def captured(value: Expr, span: Span) -> Step:
    """Return an output of a mechanism that is being sampled."""

    def build(builder: Builder, following: int, exits: Exits) -> int:
        assert exits.captured is not None, "a caller takes the outputs"
        return builder.sequence(exits.captured(value, span), following, exits)

    return Step(build, Ways(through=(1, 1)))


def choice(condition: Expr, then: Sequence[Step], orelse: Sequence[Step], span: Span) -> Step:
    """Return `if condition { then } else { orelse }`."""

    def build(builder: Builder, following: int, exits: Exits) -> int:
        first = builder.sequence(then, following, exits)
        second = builder.sequence(orelse, following, exits)
        return builder.add(program.Branch(condition, first, second, False, span))

    left, right = _ways(then), _ways(orelse)
    ways = Ways(
        _either(left.through, right.through),
        _either(left.stopped, right.stopped),
        _either(left.broken, right.broken),
    )
    return Step(build, ways)


def while_loop(
    condition: Expr, body: Sequence[Step], span: Span, *, is_round: bool = False
) -> Step:
    """Return `while condition { body }`, or a `for` that is not written out, or has no end."""

    def build(builder: Builder, following: int, exits: Exits) -> int:
        head = builder.add(program.Stop(span))
        first = builder.sequence(body, head, exits)
        test = program.Branch(condition, first, following, True, span, is_round)
        builder.nodes[head] = test
        return head

    is_endless = isinstance(condition, Const) and condition.value is True
    return Step(build, _ways_of_loop(_ways(body), is_endless=is_endless))


def left_by_break(body: Sequence[Step]) -> Step:
    """Return a loop with a `break`, which goes on behind it, or its rounds written out."""

    def build(builder: Builder, following: int, exits: Exits) -> int:
        return builder.sequence(body, following, replace(exits, break_=following))

    ways = _ways(body)
    return Step(build, Ways(_either(ways.through, ways.broken), ways.stopped))


def call(body: Sequence[Step]) -> Step:
    """Return a mechanism written out: `stop` in it goes on behind it."""

    def build(builder: Builder, following: int, exits: Exits) -> int:
        return builder.sequence(body, following, Exits(following, following, exits.captured))

    return Step(build, Ways(through=captured_counts(body)))


# --- how often a mechanism outputs ---------------------------------------------------------


def sampled(body: Sequence[Step], name: str, result: str, counter: str, span: Span) -> list[Step]:
    """Return the steps of a sampled mechanism, its output assigned to `result`.

    Where the structure alone shows that every run outputs once, that is all. Otherwise a hidden
    counter sends a run that outputs twice, or ends without output, to `Fail`.
    """

    def kept(value: Expr, place: Span) -> list[Step]:
        return [assign(result, value, None, place, is_drawn=True)]

    def once(value: Expr, place: Span) -> list[Step]:
        again = fail(f"`{name}` outputs a second time, but it is sampled", place)
        count = assign(counter, Const(1, place), None, place)
        return [choice(_is(counter, 0, place), [*kept(value, place), count], [again], place)]

    if captured_counts(body) == (1, 1):
        return [_captured_by(kept, body)]
    start = assign(counter, Const(0, span), None, span)
    missing = fail(f"`{name}` ended without an output, but it is sampled", span)
    check = choice(_is(counter, 1, span), (), (missing,), span)
    return [start, _captured_by(once, body), check]


def _captured_by(taken: Callable[[Expr, Span], list[Step]], body: Sequence[Step]) -> Step:
    """Return a mechanism written out whose captured outputs become the steps of `taken`."""

    def build(builder: Builder, following: int, exits: Exits) -> int:
        del exits  # no `stop`, `break` or output of the mechanism is one of its caller's
        return builder.sequence(body, following, Exits(following, following, taken))

    return Step(build, Ways(through=None if captured_counts(body) is None else (0, 0)))


def _is(counter: str, count: int, span: Span) -> Expr:
    return Apply("=", (Var(counter, span), Const(count, span)), span)


def captured_counts(steps: Sequence[Step]) -> Counts:
    """Return how often, at least and at most, a run that ends has its outputs captured."""
    ways = _ways(steps)
    return _either(ways.through, ways.stopped)


def _ways(steps: Sequence[Step]) -> Ways:
    """Return the counts of a sequence of steps."""
    through: Counts = (0, 0)
    stopped: Counts = None
    broken: Counts = None
    for step in steps:
        if through is None:
            break
        stopped = _either(stopped, _sum(through, step.ways.stopped))
        broken = _either(broken, _sum(through, step.ways.broken))
        through = _sum(through, step.ways.through)
    return Ways(through, stopped, broken)


def _ways_of_loop(once: Ways, *, is_endless: bool) -> Ways:
    """Return the counts of any number of rounds, given those of one."""
    most = 0 if once.through is None or once.through[1] == 0 else INFINITE
    rounds = (0, most)  # full ones, before the test fails or the last round stops or breaks
    broken = _sum(rounds, once.broken)
    if not is_endless:
        return Ways(rounds, _sum(rounds, once.stopped), broken)
    # A run may stay in the loop and output again and again.
    stopped = (0, INFINITE) if most > 0 else _sum(rounds, once.stopped)
    return Ways(None, stopped, broken)


def _sum(left: Counts, right: Counts) -> Counts:
    if left is None or right is None:
        return None
    return left[0] + right[0], min(INFINITE, left[1] + right[1])


def _either(left: Counts, right: Counts) -> Counts:
    if left is None or right is None:
        return left or right
    return min(left[0], right[0]), max(left[1], right[1])
