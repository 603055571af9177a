"""Steps: a mechanism's program as a tree, names resolved, before it becomes a graph.

Loops over known sets are unrolled and called mechanisms written out by now; what remains is
structure. `Call` is a region that `stop` leaves, `Rounds` one that `break` leaves. `Captured` is an
output that a sampling caller takes, until `exactly_one_output` says what it becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from dpcheck.model.expressions import Apply, Const, Expr, Var
from dpcheck.model.program import Distribution
from dpcheck.records import dataclass
from dpcheck.source import Span


@dataclass(frozen=True, slots=True)
class Assign:
    """`target := value`, within a set if there is one; `is_drawn` for the result of a mechanism."""

    target: str
    value: Expr
    within: Expr | None
    span: Span
    is_drawn: bool = False


@dataclass(frozen=True, slots=True)
class AssignCell:
    """`array[index] := value`."""

    array: str
    lo: int
    cells: tuple[str, ...]
    index: Expr
    value: Expr
    within: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Unpack:
    """`(a, b) := value`."""

    targets: tuple[str, ...]
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Sample:
    """`target ~ distribution`."""

    target: str
    distribution: Distribution
    within: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Forget:
    """The targets have no value any more."""

    targets: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Choose:
    """`if condition { then } else { orelse }`."""

    condition: Expr
    then: tuple[Step, ...]
    orelse: tuple[Step, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Loop:
    """`while condition { body }`, or a `for` that is not written out."""

    condition: Expr
    body: tuple[Step, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Rounds:
    """A loop with a `break`, which goes on behind it: a `Loop`, or the rounds written out."""

    body: tuple[Step, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """A mechanism written out: `stop` in it goes on behind it."""

    body: tuple[Step, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Output:
    """`output value`."""

    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Captured:
    """An output of a mechanism that is being sampled."""

    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Stop:
    """`stop`."""

    span: Span


@dataclass(frozen=True, slots=True)
class Break:
    """`break`: go on behind the innermost `Rounds`."""

    span: Span


@dataclass(frozen=True, slots=True)
class Fail:
    """No run may get here."""

    reason: str
    span: Span


Step = (
    Assign
    | AssignCell
    | Unpack
    | Sample
    | Forget
    | Choose
    | Loop
    | Rounds
    | Call
    | Output
    | Captured
    | Stop
    | Break
    | Fail
)


# --- how often a mechanism outputs ---------------------------------------------------------

INFINITE = 1 << 30
"""Stands for "any number of times"; sums of it are cut off there."""

Counts = tuple[int, int] | None
"""The least and greatest number of captured outputs on the ways to a place, None if none."""


@dataclass(frozen=True, slots=True)
class _Ways:
    """The counts of the ways to the end of some steps, of those into `stop` and into `break`."""

    through: Counts = None
    stopped: Counts = None
    broken: Counts = None


def captured_counts(steps: Sequence[Step]) -> Counts:
    """Return how often, at least and at most, a run that ends has its outputs captured."""
    ways = _counts(steps)
    return _either(ways.through, ways.stopped)


def _counts(steps: Sequence[Step]) -> _Ways:
    """Return the counts of a sequence of steps."""
    through: Counts = (0, 0)
    stopped: Counts = None
    broken: Counts = None
    for step in steps:
        if through is None:
            break
        ways = _counts_of(step)
        stopped = _either(stopped, _sum(through, ways.stopped))
        broken = _either(broken, _sum(through, ways.broken))
        through = _sum(through, ways.through)
    return _Ways(through, stopped, broken)


def _counts_of(step: Step) -> _Ways:
    match step:
        case Captured():
            return _Ways(through=(1, 1))
        case Stop():
            return _Ways(stopped=(0, 0))
        case Break():
            return _Ways(broken=(0, 0))
        case Fail():
            return _Ways()
        case Choose(then=then, orelse=orelse):
            first, second = _counts(then), _counts(orelse)
            return _Ways(
                _either(first.through, second.through),
                _either(first.stopped, second.stopped),
                _either(first.broken, second.broken),
            )
        case Call(body=body):
            return _Ways(through=captured_counts(body))
        case Rounds(body=body):
            ways = _counts(body)
            return _Ways(_either(ways.through, ways.broken), ways.stopped)
        case Loop():
            return _counts_of_loop(step)
        case Assign() | AssignCell() | Unpack() | Sample() | Forget() | Output():
            return _Ways(through=(0, 0))
    assert_never(step)


def _counts_of_loop(loop: Loop) -> _Ways:
    """Return the counts of any number of rounds."""
    once = _counts(loop.body)
    most = 0 if once.through is None or once.through[1] == 0 else INFINITE
    rounds = (0, most)  # full ones, before the test fails or the last round stops or breaks
    broken = _sum(rounds, once.broken)
    if not isinstance(loop.condition, Const) or loop.condition.value is not True:
        return _Ways(rounds, _sum(rounds, once.stopped), broken)
    # A run may stay in the loop and output again and again.
    endless = (0, INFINITE) if most > 0 else _sum(rounds, once.stopped)
    return _Ways(None, endless, broken)


def _sum(left: Counts, right: Counts) -> Counts:
    if left is None or right is None:
        return None
    return left[0] + right[0], min(INFINITE, left[1] + right[1])


def _either(left: Counts, right: Counts) -> Counts:
    if left is None or right is None:
        return left or right
    return min(left[0], right[0]), max(left[1], right[1])


def exactly_one_output(
    body: tuple[Step, ...], name: str, result: str, counter: str, span: Span
) -> tuple[Step, ...]:
    """Return a sampled mechanism's steps with its output assigned to `result`.

    Where the structure alone shows that every run outputs once, that is all. Otherwise a hidden
    counter sends a run that outputs twice, or ends without output, to `Fail`.
    """
    if captured_counts(body) == (1, 1):
        return (Call(_replaced(body, lambda step: (_kept(result, step),)), span),)
    start = Assign(counter, Const(0, span), None, span)
    counted = _replaced(body, lambda step: (_once(result, counter, name, step),))
    missing = Fail(f"`{name}` ended without an output, but it is sampled", span)
    check = Choose(_is(counter, 1, span), (), (missing,), span)
    return (start, Call(counted, span), check)


def _kept(result: str, step: Captured) -> Step:
    return Assign(result, step.value, None, step.span, is_drawn=True)


def _once(result: str, counter: str, name: str, step: Captured) -> Step:
    again = Fail(f"`{name}` outputs a second time, but it is sampled", step.span)
    count = Assign(counter, Const(1, step.span), None, step.span)
    return Choose(_is(counter, 0, step.span), (_kept(result, step), count), (again,), step.span)


def _is(counter: str, count: int, span: Span) -> Expr:
    return Apply("=", (Var(counter, span), Const(count, span)), span)


def _replaced(
    steps: Sequence[Step], replacement: Callable[[Captured], tuple[Step, ...]]
) -> tuple[Step, ...]:
    """Return the steps with every captured output replaced."""
    result: list[Step] = []
    for step in steps:
        match step:
            case Captured():
                result.extend(replacement(step))
            case Choose(condition, then, orelse, span):
                branches = _replaced(then, replacement), _replaced(orelse, replacement)
                result.append(Choose(condition, *branches, span))
            case Loop(condition, body, span):
                result.append(Loop(condition, _replaced(body, replacement), span))
            case Rounds(body, span):
                result.append(Rounds(_replaced(body, replacement), span))
            case Call(body, span):
                result.append(Call(_replaced(body, replacement), span))
            case _:
                result.append(step)
    return tuple(result)
