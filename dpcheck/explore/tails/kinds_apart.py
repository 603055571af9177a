"""Distributions that may be noise without bounds, copies of such numbers, or others: apart."""

from __future__ import annotations

from dpcheck.explore.tails.wide import holding_numbers, kinds_drawn
from dpcheck.model.expressions import Expr, Let
from dpcheck.model.program import (
    Branch,
    ChooseDistribution,
    Distribution,
    LetDistribution,
    Node,
    Sample,
)
from dpcheck.records import replace


def with_kinds_apart(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes where each `~` draws things of one kind.

    So `v ~ if c then {n: 1} else uniform(0..9)` is two of them, as below an `if`. Noise arrives
    among what is known beyond the window, copies are there, and all else has to lie inside.
    """
    drawn, result = holding_numbers(nodes), [*nodes]
    for k, node in enumerate(result):  # these grow
        if isinstance(node, Sample) and len(kinds_drawn(node.distribution, drawn)) > 1:
            condition, *ways = _ways(node.distribution)
            then = len(result)
            result += [replace(node, distribution=each) for each in ways]
            result[k] = Branch(condition, then, then + 1, False, node.span)
    return tuple(result)


def _ways(distribution: Distribution) -> tuple[Expr, Distribution, Distribution]:
    """Return the condition that chooses, and what is drawn if it is true, and if not."""
    match distribution:
        case LetDistribution(name=name, value=value, body=body, span=span):
            condition, then, orelse = _ways(body)
            if_true, if_false = (replace(distribution, body=each) for each in (then, orelse))
            return Let(name, value, condition, span), if_true, if_false
        case ChooseDistribution(condition=condition, then=then, orelse=orelse):
            return condition, then, orelse
    raise AssertionError("what is not chosen draws things of one kind")
