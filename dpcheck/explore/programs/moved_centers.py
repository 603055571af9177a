"""Noise that is read as one sum `z + x` only, drawn around another center in place of it.

Where x is an input or a constant, the sum is noise centered x further: fewer numbers are told apart
than where z is resolved (`tails.laws`), and all probabilities are the same. Its results are not
those of z: where runs are compared draw by draw, z has to stay. (What an analyst has fixed is known
when it is asked, which may be after the draw.) All that x may be are integers: others are mistakes
on the runs that add them alone.
"""

from __future__ import annotations

from collections.abc import Container

from dpcheck.explore.programs.liveness import flow_of, readers_of
from dpcheck.explore.tails.wide import Wide
from dpcheck.model import trees
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr, Var, reads
from dpcheck.model.program import Mechanism, Node, Parametric, Sample, Unbounded, written
from dpcheck.records import replace

Names = frozenset[str]


def with_centers_moved(mechanism: Mechanism, wide: Wide) -> Mechanism:
    """Return the mechanism where such noise is drawn around its other center."""
    flow, nodes = flow_of(mechanism, frozenset()), list(mechanism.nodes)
    given = integer_inputs(mechanism)
    for k in wide.arriving:
        match nodes[k]:
            case (
                Sample(
                    target=name, distribution=Parametric(policy=Unbounded()) as noise, within=None
                ) as draw
            ):
                readers = readers_of(k, name, flow)
            case _:
                continue
        others = [j for j in range(len(nodes)) if j != k and name in written(nodes[j])]
        added: list[Expr | None] = []
        moved: dict[int, Node] = {j: _with_sums_read(nodes[j], name, added) for j in readers}
        match list({_value(each): each for each in added}.values()):
            case [Const() | Var() as by] if _is_given(by, given):
                if not any(readers & readers_of(j, name, flow) for j in others):
                    farther = replace(noise, arguments=(*noise.arguments, by))
                    for j, node in (moved | {k: replace(draw, distribution=farther)}).items():
                        nodes[j] = node
    return replace(mechanism, nodes=tuple(nodes))


def _with_sums_read(node: Node, name: str, added: list[Expr | None]) -> Node:
    """Return a node that reads a variable in place of its sums.

    added: gets what each of these adds, None where it is read in no sum.
    """

    def moved(tree: object) -> object | None:
        match tree:
            case Apply(op="+", args=(Var(name=one) as noise, by)) if one == name:
                pass
            case Apply(op="+", args=(by, Var(name=one) as noise)) if one == name:
                pass
            case _:
                if isinstance(tree, Var | ArrayVar) and name in reads(tree):
                    added.append(None)
                return None
        added.append(by)
        return noise

    return trees.replaced(node, moved)


def integer_inputs(mechanism: Mechanism) -> Names:
    """Return the inputs, or cells of these, that are integers, and known before any draw."""
    return frozenset(
        cell
        for one in mechanism.inputs
        if not one.is_choice and one.domain.has_integers_only
        for cell in one.cells
    )


def _is_given(by: Const | Var, given: Container[str]) -> bool:
    """Return whether what is added is an integer whatever happens, one of some inputs' or known."""
    return by.name in given if isinstance(by, Var) else type(by.value) is int


def _value(expr: Expr | None) -> object:
    """Return what equal inputs and constants have in common."""
    return expr.name if isinstance(expr, Var) else expr.value if isinstance(expr, Const) else None
