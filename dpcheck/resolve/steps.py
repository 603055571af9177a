"""Steps: a mechanism's program as a tree, names resolved, before it becomes a graph.

Loops over known sets are unrolled and called mechanisms written out by now; what remains is
structure. `Call` is a region that `stop` leaves. `Captured` is an output that a sampling caller
takes, until `exactly_one_output` says what it becomes.
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
    """`target := value`, within a set if there is one."""

    target: str
    value: Expr
    within: Expr | None
    span: Span


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
class Choose:
    """`if condition { then } else { orelse }`."""

    condition: Expr
    then: tuple[Step, ...]
    orelse: tuple[Step, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Loop:
    """`while condition { body }`."""

    condition: Expr
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
class Fail:
    """No run may get here."""

    reason: str
    span: Span


Step = (
    Assign | AssignCell | Unpack | Sample | Choose | Loop | Call | Output | Captured | Stop | Fail
)


# --- how often a mechanism outputs ---------------------------------------------------------

INFINITE = 1 << 30
"""Stands for "any number of times"; sums of it are cut off there."""

Counts = tuple[int, int] | None
"""The least and greatest number of captured outputs on the ways to a place, None if none."""


def captured_counts(steps: Sequence[Step]) -> Counts:
    """Return how often, at least and at most, a run that ends has its outputs captured."""
    through, stopped = _counts(steps)
    return _either(through, stopped)


def _counts(steps: Sequence[Step]) -> tuple[Counts, Counts]:
    """Return the counts of the ways to the end of the steps, and of those into `stop`."""
    through: Counts = (0, 0)
    stopped: Counts = None
    for step in steps:
        if through is None:
            break
        further, ended = _counts_of(step)
        stopped = _either(stopped, _sum(through, ended))
        through = _sum(through, further)
    return through, stopped


def _counts_of(step: Step) -> tuple[Counts, Counts]:
    match step:
        case Captured():
            return (1, 1), None
        case Stop():
            return None, (0, 0)
        case Fail():
            return None, None
        case Choose(then=then, orelse=orelse):
            first, second = _counts(then), _counts(orelse)
            return _either(first[0], second[0]), _either(first[1], second[1])
        case Call(body=body):
            return captured_counts(body), None
        case Loop():
            return _counts_of_loop(step)
        case Assign() | AssignCell() | Unpack() | Sample() | Output():
            return (0, 0), None
    assert_never(step)


def _counts_of_loop(loop: Loop) -> tuple[Counts, Counts]:
    """Return the counts of any number of rounds."""
    once, stopped = _counts(loop.body)
    most = 0 if once is None or once[1] == 0 else INFINITE
    is_endless = isinstance(loop.condition, Const) and loop.condition.value is True
    if is_endless and most > 0:
        return None, (0, INFINITE)  # a run may stay in the loop and output again and again
    if stopped is not None:
        stopped = (stopped[0], min(INFINITE, stopped[1] + most))
    return (None if is_endless else (0, most)), stopped


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
    return Assign(result, step.value, None, step.span)


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
            case Call(body, span):
                result.append(Call(_replaced(body, replacement), span))
            case _:
                result.append(step)
    return tuple(result)
