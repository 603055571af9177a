"""Path formulas: what must hold of the rest of a path once its first state is known.

Every operator is made of `! & | X U`; f progresses to what must hold from the next state on:
a U b is b | (a & X (a U b)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpcheck.reference.expressions import Env, Scope, each, evaluate
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import FALSE, TRUE, NotCovered, integer

Formula = Any
"""True, False, ("!", f), ("&" or "|", set), ("X", f), ("U", f, g, bound),
("atom", tree, names with their values)."""
Holds = Callable[[Tree, Env], bool]
"""Whether an atom holds at a state, its bound names having these values."""


def formula(tree: Tree, env: Env, scope: Scope) -> Formula:
    """Return a path formula; `env` has the names that binders around it gave values."""

    def inner(part: Tree) -> Formula:
        return formula(part, env, scope)

    match tree:
        case ("!", a):
            return negation(inner(a))
        case ("&" | "|" as sign, a, b):
            return junction(sign, [inner(a), inner(b)])
        case ("=>", a, b):
            return junction("|", [negation(inner(a)), inner(b)])
        case ("X", a):
            return ("X", inner(a))
        case ("F", a, bound):
            return ("U", True, inner(a), steps(bound, env, scope))
        case ("G", a, bound):
            return negation(("U", True, negation(inner(a)), steps(bound, env, scope)))
        case ("U", a, b, bound):
            return ("U", inner(a), inner(b), steps(bound, env, scope))
        case ("W", a, b, _):  # not (b stays away until a and b both fail)
            fails = junction("&", [negation(inner(a)), negation(inner(b))])
            return negation(("U", negation(inner(b)), fails, None))
        case ("R", a, b, _):
            return negation(("U", negation(inner(a)), negation(inner(b)), None))
        case ("binder", "forall" | "exists" as name, *source, body):
            parts = [formula(body, around, scope) for around in each(source, env, scope)]
            return junction("&" if name == "forall" else "|", parts)
        case ("P" | "D" | "P=?", *_):
            raise NotCovered("P or D inside of a path")
        case ("constant", truth) if truth in (TRUE, FALSE):
            return bool(truth == TRUE)
    return ("atom", tree, tuple(env.items()))


def steps(bound: Tree, env: Env, scope: Scope) -> int | None:
    """Return the bound of an operator."""
    return None if bound is None else integer(evaluate(bound, env, scope))


def negation(f: Formula) -> Formula:
    """Return not f."""
    if isinstance(f, bool):
        return not f
    return f[1] if f[0] == "!" else ("!", f)


def junction(sign: str, parts: list[Formula]) -> Formula:
    """Return a conjunction or disjunction, without what is true or false."""
    strong = sign == "|"
    flat: set[Formula] = set()
    for part in parts:
        flat |= part[1] if isinstance(part, tuple) and part[0] == sign else {part}
    kept = frozenset(part for part in flat if not isinstance(part, bool))
    if strong in flat - kept:
        return strong
    return (sign, kept) if len(kept) > 1 else next(iter(kept), not strong)


def progress(f: Formula, holds: Holds) -> Formula:
    """Return what must hold from the next state on."""
    match f:
        case bool():
            return f
        case ("atom", tree, named):
            return holds(tree, dict(named))
        case ("!", a):
            return negation(progress(a, holds))
        case ("X", a):
            return a
        case ("&" | "|" as sign, parts):
            return junction(sign, [progress(part, holds) for part in parts])
        case (_, a, b, bound):
            now = progress(b, holds)
            if bound == 0:
                return now
            rest = ("U", a, b, None if bound is None else bound - 1)
            return junction("|", [now, junction("&", [progress(a, holds), rest])])
    raise AssertionError(f"{f} is a formula")


def forever(f: Formula, holds: Holds) -> bool:
    """Return whether f holds where all states to come are like this one."""
    match f:
        case bool():
            return f
        case ("atom", tree, named):
            return holds(tree, dict(named))
        case ("!", a):
            return not forever(a, holds)
        case ("X", a):
            return forever(a, holds)
        case ("&", parts):
            return all(forever(part, holds) for part in parts)
        case ("|", parts):
            return any(forever(part, holds) for part in parts)
        case (_, _, b, _):
            return forever(b, holds)
    raise AssertionError(f"{f} is a formula")


def polarities(f: Formula, *, is_positive: bool = True) -> set[bool]:
    """Return whether unbounded untils occur under an even, or an odd, number of negations."""
    match f:
        case ("!", a):
            return polarities(a, is_positive=not is_positive)
        case ("X", a):
            return polarities(a, is_positive=is_positive)
        case ("&" | "|", parts):
            return set().union(*(polarities(part, is_positive=is_positive) for part in parts))
        case ("U", a, b, bound):
            inner = polarities(a, is_positive=is_positive) | polarities(b, is_positive=is_positive)
            return inner | ({is_positive} if bound is None else set())
    return set()
