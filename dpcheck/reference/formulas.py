"""Path formulas: what must hold of the rest of a path once its first state is known.

Every operator is made of `! & | X U`; f progresses to what must hold from the next state on:
a U b is b | (a & X (a U b)).
"""

from __future__ import annotations

from collections.abc import Callable

from dpcheck.reference.expressions import (
    Env,
    Formula,
    Scope,
    combined,
    evaluate,
    junction,
    negation,
)
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import NotCovered, integer

Holds = Callable[[Tree, Env], bool]
"""Whether an atom holds at a state, its bound names having these values."""


def formula(tree: Tree, env: Env, scope: Scope) -> Formula:
    """Return a path formula: Booleans of ("X", f), ("U", bound, f, g), ("atom", tree, names).

    env: the names that binders around it gave values.
    """
    return combined(tree, env, scope, _temporal)


def _temporal(tree: Tree, env: Env, scope: Scope) -> Formula:
    def inner(part: Tree) -> Formula:
        return formula(part, env, scope)

    def until(bound: Tree, a: Formula, b: Formula) -> Formula:
        return ("U", None if bound is None else integer(evaluate(bound, env, scope)), a, b)

    match tree:
        case ("X", a):
            return ("X", inner(a))
        case ("F", bound, a):
            return until(bound, True, inner(a))
        case ("U", bound, a, b):
            return until(bound, inner(a), inner(b))
        case ("G", bound, a):
            return negation(until(bound, True, negation(inner(a))))
        case ("R", _, a, b):
            return negation(until(None, negation(inner(a)), negation(inner(b))))
        case ("W", _, a, b):
            return inner(("R", None, b, ("|", a, b)))
        case ("P" | "D", *_):
            raise NotCovered("P or D inside of a path")
    return ("atom", tree, tuple(env.items()))


def progress(f: Formula, holds: Holds) -> Formula:
    """Return what must hold from the next state on."""
    match f:
        case ("atom", tree, named):
            return holds(tree, dict(named))
        case ("!", a):
            return negation(progress(a, holds))
        case ("X", a):
            return a
        case ("&" | "|" as sign, parts):
            return junction(sign, (progress(part, holds) for part in parts))
        case ("U", bound, a, b):
            now = progress(b, holds)
            if bound == 0:
                return now
            rest = ("U", None if bound is None else bound - 1, a, b)
            return junction("|", [now, junction("&", [progress(a, holds), rest])])
    return f


def forever(f: Formula, holds: Holds) -> Formula:
    """Return whether f holds where all states to come are like this one."""
    match f:
        case ("!", a):
            return negation(forever(a, holds))
        case ("&" | "|" as sign, parts):
            return junction(sign, (forever(part, holds) for part in parts))
        case ("X" | "U", *_, a):
            return forever(a, holds)
    return progress(f, holds)


def polarities(f: Formula, *, is_positive: bool = True) -> set[bool]:
    """Return whether unbounded untils occur under an even, or an odd, number of negations."""
    match f:
        case ("!", a):
            return polarities(a, is_positive=not is_positive)
        case ("X", *inner) | ("&" | "|", inner) | ("U", _, *inner):
            found = {is_positive} if f[:2] == ("U", None) else set[bool]()
            return found.union(*(polarities(part, is_positive=is_positive) for part in inner))
    return set()
