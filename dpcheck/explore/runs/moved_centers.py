"""Noise that is read as one sum `z + x` only, drawn around another center in place of it.

Where x is an input or a constant, the sum is noise centered x further: fewer numbers are told apart
than where z is resolved (`tails.laws`), and all probabilities are the same. Its results are not
those of z: where runs are compared draw by draw, z has to stay.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import TypeVar

from dpcheck.explore.runs.liveness import Flow, certain_writes, flow_of, node_reads
from dpcheck.explore.tails.wide import Wide
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr, Var, reads
from dpcheck.model.program import AssignCell, Mechanism, Node, Parametric, Sample, successors
from dpcheck.records import fields, replace

Names = frozenset[str]
Tree = TypeVar("Tree")


def with_centers_moved(mechanism: Mechanism, wide: Wide) -> Mechanism:
    """Return the mechanism where such noise is drawn around its other center."""
    flow, nodes = flow_of(mechanism, frozenset()), list(mechanism.nodes)
    given = frozenset(cell for one in mechanism.inputs for cell in (one.name, *one.cells))
    for k in wide.arriving:
        match nodes[k]:
            case Sample(target=name, distribution=Parametric() as noise, within=None) as draw:
                readers = _readers(k, name, flow)
            case _:
                continue
        others = [j for j in range(len(nodes)) if j != k and name in _writes(nodes[j])]
        added: list[Expr | None] = []
        moved: dict[int, Node] = {j: _with_sums_read(nodes[j], name, added) for j in readers}
        match list({_value(each): each for each in added}.values()):
            case [Const() | Var() as by] if isinstance(by, Const) or by.name in given:
                if not any(readers & _readers(j, name, flow) for j in others):
                    farther = replace(noise, arguments=(*noise.arguments, by))
                    for j, node in (moved | {k: replace(draw, distribution=farther)}).items():
                        nodes[j] = node
    return replace(mechanism, nodes=tuple(nodes))


def _readers(writer: int, name: str, flow: Flow) -> frozenset[int]:
    """Return the nodes that may read the value that one gives a variable."""
    between: set[int] = set()
    waiting = list(successors(flow.nodes[writer]))
    while waiting:
        k = waiting.pop()
        if k not in between and name in flow.live[k]:
            between.add(k)
            waiting += () if name in certain_writes(flow.nodes[k]) else successors(flow.nodes[k])
    return frozenset(k for k in between if name in node_reads(flow.nodes[k]))


def _with_sums_read(tree: Tree, name: str, added: list[Expr | None]) -> Tree:
    """Return a tree that reads a variable in place of its sums.

    added: gets what each of these adds, None where it is read in no sum.
    """
    match tree:
        case Apply(op="+", args=(Var(name=one) as moved, by)) if one == name:
            pass
        case Apply(op="+", args=(by, Var(name=one) as moved)) if one == name:
            pass
        case tuple():
            return tuple(_with_sums_read(each, name, added) for each in tree)  # type: ignore[return-value]
        case _ if not is_dataclass(tree) or isinstance(tree, type):
            return tree
        case _:
            if isinstance(tree, Var | ArrayVar) and name in reads(tree):
                added.append(None)
            parts = {f.name: getattr(tree, f.name) for f in fields(tree) if f.name != "span"}
            new = {key: _with_sums_read(part, name, added) for key, part in parts.items()}
            return replace(tree, **new)
    added.append(by)
    return moved  # type: ignore[return-value]


def _value(expr: Expr | None) -> object:
    """Return what equal inputs and constants have in common."""
    return expr.name if isinstance(expr, Var) else expr.value if isinstance(expr, Const) else None


def _writes(node: Node) -> Names:
    """Return the variables that may get a new value."""
    return frozenset(node.cells) if isinstance(node, AssignCell) else certain_writes(node)
