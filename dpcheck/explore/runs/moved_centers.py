"""Bounded numbers that are added to noise without bounds, moved into its center.

`z + x` is noise as `z` is, centered where z is and x further. So where every value of a variable is
read as one sum `z + x` only, the draw is moved by x, and the sums become `z`: nothing is computed
with a number without bounds any more. The sums read values of one or several draws; each of those
is to give values to such sums alone, and x is not to change between.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import is_dataclass
from functools import partial
from typing import TypeVar

from dpcheck.explore.runs.liveness import Flow, certain_writes, flow_of, node_reads
from dpcheck.model import program
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr, Var, reads
from dpcheck.model.program import successors
from dpcheck.records import dataclass, fields, replace

Names = frozenset[str]
Tree = TypeVar("Tree")


@dataclass(frozen=True)
class _Web:
    """Nodes that give a variable values, those that read them, and all nodes in between."""

    writers: frozenset[int]
    readers: frozenset[int]
    between: frozenset[int]


def with_centers_moved(mechanism: program.Mechanism, wide: Names) -> program.Mechanism:
    """Return the mechanism where wide variables are drawn with what is added to them.

    Sums that cannot be moved stay as they are.
    """
    flow = flow_of(mechanism, frozenset())
    nodes = list(mechanism.nodes)
    for name in sorted(wide):
        for web in _webs(name, flow):
            shift = _shift(name, web, wide, mechanism, flow)
            if shift is None:
                continue
            for k in web.readers:
                nodes[k] = _without_shifts(nodes[k], name, wide)
            for k in web.writers:
                nodes[k] = _moved(nodes[k], shift)
    return replace(mechanism, nodes=tuple(nodes))


def shift_of(node: program.Node) -> Expr | None:
    """Return what the noise that a node draws was moved by; None for anything else."""
    policy = (
        program.unbounded_policy(node.distribution) if isinstance(node, program.Sample) else None
    )
    return None if policy is None else policy.moved_by


def _webs(name: str, flow: Flow) -> Iterator[_Web]:
    """Yield the webs of a variable: no two have a node in common that reads, or one that writes."""
    webs: list[_Web] = []
    for k, node in enumerate(flow.nodes):
        if name not in _writes(node):
            continue
        web = _web(k, name, flow)
        joined = [other for other in webs if other.readers & web.readers]
        webs = [other for other in webs if not other.readers & web.readers]
        every = [web, *joined]
        webs.append(
            _Web(
                frozenset().union(*(one.writers for one in every)),
                frozenset().union(*(one.readers for one in every)),
                frozenset().union(*(one.between for one in every)),
            )
        )
    yield from webs


def _web(writer: int, name: str, flow: Flow) -> _Web:
    """Return what one node's value of a variable may be read by."""
    between: set[int] = set()
    waiting = list(successors(flow.nodes[writer]))
    while waiting:
        k = waiting.pop()
        if k in between or name not in flow.live[k]:
            continue
        between.add(k)
        if name not in certain_writes(flow.nodes[k]):
            waiting += successors(flow.nodes[k])
    readers = {k for k in between if name in node_reads(flow.nodes[k])}
    return _Web(frozenset((writer,)), frozenset(readers), frozenset(between))


def _shift(
    name: str, web: _Web, wide: Names, mechanism: program.Mechanism, flow: Flow
) -> Expr | None:
    """Return what is added to a variable wherever the web reads it; None if it cannot be moved."""
    if not all(_may_move(flow.nodes[k]) for k in web.writers):
        return None
    shifts = [s for k in sorted(web.readers) for s in _reads_of(flow.nodes[k], name, wide)]
    if not shifts or shifts[0] is None or any(_key(s) != _key(shifts[0]) for s in shifts):
        return None
    variables = frozenset(reads(shifts[0]))
    given = frozenset(cell for one in mechanism.inputs for cell in (one.name, *one.cells))
    written = frozenset().union(*map(_writes, flow.nodes))
    # A local that is read without having been written is live where runs begin.
    is_known = variables <= given | (written - set(flow.live[mechanism.entry]))
    is_constant = not any(variables & _writes(flow.nodes[k]) for k in web.between)
    return shifts[0] if is_known and is_constant else None


def _may_move(node: program.Node) -> bool:
    """Return whether the value that a node gives a variable can be moved."""
    match node:
        case program.Sample(distribution=distribution, within=None):
            return noises_of(distribution) is not None
        case program.Assign(within=None):
            return True
        case _:
            return False


def noises_of(distribution: program.Distribution) -> tuple[program.Parametric, ...] | None:
    """Return which noise without bounds may be drawn, None where anything else may be."""
    found = tuple(program.alternatives(distribution))
    noises = [each for each in found if isinstance(each, program.Parametric)]
    is_all = all(isinstance(each.policy, program.Unbounded) for each in noises)
    return tuple(noises) if is_all and len(noises) == len(found) else None


def _moved(node: program.Node, shift: Expr) -> program.Node:
    """Return a node that gives a variable a value, moved."""
    match node:
        case program.Sample(distribution=distribution):
            moved = partial(_moved_noise, shift=shift)
            return replace(node, distribution=program.with_noise(distribution, moved))
        case program.Assign(value=value):
            return replace(node, value=Apply("+", (value, shift), value.span))
        case _:
            raise AssertionError("only draws and assignments are moved")


def _moved_noise(noise: program.Parametric, shift: Expr) -> program.Parametric:
    policy = noise.policy
    assert isinstance(policy, program.Unbounded), "only noise without bounds is moved"
    before = policy.moved_by
    both = shift if before is None else Apply("+", (before, shift), shift.span)
    return replace(noise, policy=replace(policy, moved_by=both))


# --- sums ----------------------------------------------------------------------------------------


def _sum(tree: object, name: str, wide: Names) -> Expr | None:
    """Return what a sum adds to a variable, or None if the tree is no such sum."""
    match tree:
        case Apply(op="+" | "-" as op, args=(left, right)):
            if op == "+" and not wide & set(reads(left)):
                left, right = right, left
            is_moved = _is(left, name)
            inner = None if is_moved else _sum(left, name, wide)
            if not (is_moved or inner is not None) or wide & set(reads(right)):
                return None
            first = Const(0, right.span) if inner is None else inner
            return right if (inner, op) == (None, "+") else Apply(op, (first, right), right.span)
        case _:
            return None


def _is(expr: Expr, name: str) -> bool:
    return isinstance(expr, Var) and expr.name == name


def _reads_of(tree: object, name: str, wide: Names) -> Iterator[Expr | None]:
    """Yield for each place that reads a variable what is added to it there, None for nothing."""
    shift = _sum(tree, name, wide)
    if shift is not None:
        yield shift
    elif isinstance(tree, Var | ArrayVar):
        if name in reads(tree):
            yield None
    else:
        for part in _parts(tree):
            yield from _reads_of(part, name, wide)


def _parts(tree: object) -> Iterable[object]:
    if isinstance(tree, tuple):
        return tree
    if is_dataclass(tree) and not isinstance(tree, type):
        return [getattr(tree, f.name) for f in fields(tree) if f.name != "span"]
    return ()


def _without_shifts(tree: Tree, name: str, wide: Names) -> Tree:
    """Return a node, or a part of one, where sums with a variable are the variable."""
    if isinstance(tree, Apply) and _sum(tree, name, wide) is not None:
        return Var(name, tree.span)  # type: ignore[return-value]
    if isinstance(tree, tuple):
        return tuple(_without_shifts(each, name, wide) for each in tree)  # type: ignore[return-value]
    if not is_dataclass(tree) or isinstance(tree, type):
        return tree
    parts = {f.name: getattr(tree, f.name) for f in fields(tree) if f.name != "span"}
    return replace(tree, **{key: _without_shifts(part, name, wide) for key, part in parts.items()})


def _key(tree: object) -> Hashable:
    """Return what two expressions have in common that are alike but for their places."""
    if isinstance(tree, tuple):
        return tuple(map(_key, tree))
    if is_dataclass(tree) and not isinstance(tree, type):
        return type(tree), tuple(map(_key, _parts(tree)))
    return type(tree), tree


def _writes(node: program.Node) -> Names:
    """Return the variables that may get a new value."""
    return frozenset(node.cells) if isinstance(node, program.AssignCell) else certain_writes(node)
