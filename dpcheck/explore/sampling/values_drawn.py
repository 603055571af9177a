"""Which values a `~` can draw, whatever their weights."""

from __future__ import annotations

from dpcheck.model.expressions import Apply, Binder, Const, Expr, If, Let
from dpcheck.model.program import (
    Branches,
    ChooseDistribution,
    Distribution,
    LetDistribution,
    Parametric,
    Policy,
    Weighted,
)
from dpcheck.model.values import SetValue


def values_drawn(distribution: Distribution) -> Expr | None:
    """Return a set in which all values are, as an expression; None where these have no bounds.

    It reads no weights: those that are 0 are in it, too.
    """
    match distribution:
        case Parametric(policy=Policy(lo=lo, hi=hi), span=span):
            return Apply("range", (lo, hi), span)
        case Parametric(word="uniform", arguments=(values,)):
            return values
        case Parametric(word="bernoulli", span=span):
            return Const(SetValue((False, True)), span)
        case Parametric(word="binomial", arguments=(n, _), span=span):
            return Apply("range", (Const(0, span), n), span)
        case Branches(branches=branches, span=span):
            return Apply("set", tuple(value for value, _ in branches), span)
        case Weighted(name=name, domain=domain, where=where, value=value, span=span):
            return Binder(name, "set", domain, where, value, span)
        case LetDistribution(name=name, value=value, body=body, span=span):
            inner = values_drawn(body)
            return None if inner is None else Let(name, value, inner, span)
        case ChooseDistribution(condition=condition, then=then, orelse=orelse, span=span):
            first, second = values_drawn(then), values_drawn(orelse)
            if first is None or second is None:
                return None
            return If(condition, first, second, span)
        case _:
            return None
