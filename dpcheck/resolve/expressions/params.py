"""Parameters that nobody has chosen: their intervals, and where an expression may use them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeGuard

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.params import ParamInterval, needs_value
from dpcheck.exact import Budget, ExpNumber, Param, ParamBudget, ParamNumber, Rational, decimal
from dpcheck.exact.parametric import as_budget
from dpcheck.model import surface
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.evaluation import OF_PARAMS
from dpcheck.model.expressions import Apply, Binder, Const, Expr, If, Let, Logic, Var
from dpcheck.model.program import Branches, LetDistribution, Parametric, RowBranch, Weighted
from dpcheck.model.values import Value, value_text
from dpcheck.records import fields
from dpcheck.resolve.names.scopes import Scope
from dpcheck.source import Span

ParamValue = ParamNumber | ParamBudget

NEAR_DIGITS = 6
"""Digits of an end that is suggested."""
OF_RATIONALS = "lie between rational numbers or `inf`"


def param_of(
    name: str, low: Value | None, high: Value | None, interval: surface.Interval, scope: Scope
) -> Param | None:
    """Return a parameter with the values of an interval; else report why it has none.

    `low` and `high` are its ends, None for infinity.
    """
    has_low, has_high = interval.has_low, interval.has_high
    if not _is_end(low) or not _is_end(high):
        why = OF_RATIONALS
    elif (low is None and has_low) or (high is None and has_high):
        why = "do not take in `inf`: `(` in place of `[`, `)` in place of `]`"
    elif not (low is None or high is None or low < high or (low == high and has_low and has_high)):
        first, last = map(value_text, (low, high))
        why = f"have no room between {first} and {last}"
    else:
        return Param(name, low, high, has_low, has_high)
    scope.report(ParamInterval(interval.span, name, why, near_interval(low, high, interval)))
    return None


def near_interval(low: Value | None, high: Value | None, interval: surface.Interval) -> str | None:
    """Return an interval as it may be written, with ends near those of one that may not be."""
    ends = [
        ("-inf" if low is None else _near(low), interval.has_low and low is not None),
        ("inf" if high is None else _near(high), interval.has_high and high is not None),
    ]
    if isinstance(low, int | Rational) and isinstance(high, int | Rational) and high < low:
        ends.reverse()
    (first, has_first), (last, has_last) = ends
    if first is None or last is None or first == last:
        return None
    return f"{'[' if has_first else '('}{first}, {last}{']' if has_last else ')'}"


def _near(end: Value) -> str | None:
    """Return a rational end near one."""
    if isinstance(end, Budget):
        return decimal(end, NEAR_DIGITS)
    if isinstance(end, bool) or not isinstance(end, int | Rational):
        return None
    return value_text(end)


def _is_end(value: Value | None) -> TypeGuard[int | Rational | None]:
    return value is None or (isinstance(value, int | Rational) and not isinstance(value, bool))


def as_param(value: Param) -> ParamNumber | int | Rational:
    """Return the parameter itself as a value, or the only one that it has."""
    if value.low is not None and value.low == value.high:
        return value.low
    return ParamNumber(value.stand_in, value)


def params_in(
    node: object, bound: Mapping[str, Expr] | None = None, *, in_exponent: bool = False
) -> Iterator[ParamValue | ExpNumber]:
    """Yield the constants below a node of the core that depend on a parameter, or on e.

    A multiple of a parameter `in_exponent` is its budget. `bound` are arguments of a `dist`, which
    are where their names stand.
    """
    match node:
        case ParamNumber() if in_exponent and node.exponent() is not None:
            budget = as_budget(node)
            assert isinstance(budget, ParamBudget), "it is a multiple of the parameter"
            yield budget
        case ParamNumber() | ParamBudget() | ExpNumber():
            yield node
        case Span() | Budget():
            pass
        case Const(value=value):
            if not isinstance(value, int):
                yield from params_in(value, bound, in_exponent=in_exponent)
        case Var(name=name) if bound and name in bound:
            yield from params_in(bound[name], bound, in_exponent=in_exponent)
        case (
            Let(name=name, value=value, body=body)
            | LetDistribution(name=name, value=value, body=body)
        ):
            yield from params_in(body, {**(bound or {}), name: value}, in_exponent=in_exponent)
        case Apply(op="exp", args=args):
            yield from params_in(args, bound, in_exponent=True)
        case tuple() | list():
            for part in node:
                yield from params_in(part, bound, in_exponent=in_exponent)
        case _ if hasattr(node, "__dataclass_fields__"):
            for each in fields(node):  # type: ignore[arg-type]
                part = getattr(node, each.name)
                yield from params_in(part, bound, in_exponent=in_exponent)


def place_of(node: object, value: ParamValue | ExpNumber) -> Span | None:
    """Return where a value that `params_in` yields stands below a node of the core, if it is known.

    A budget that was made of a number in an exponent stands nowhere as it is.
    """
    match node:
        case Const(value=found, span=span):
            return span if found == value else None
        case Span():
            return None
        case tuple() | list():
            parts: Iterable[object] = node
        case _ if hasattr(node, "__dataclass_fields__"):
            parts = (getattr(node, each.name) for each in fields(node))  # type: ignore[arg-type]
        case _:
            return None
    places = (place_of(part, value) for part in parts)
    return next((place for place in places if place is not None), None)


def report_misuse(node: object, scope: Scope, tainted: frozenset[str] = frozenset()) -> None:
    """Report where what depends on a parameter stands below a node, but in a weight.

    Weights are the probabilities of branches, rows and built-in distributions. `tainted` are names
    bound to what depends on a parameter: arguments of a `dist`.
    """
    match node:
        case Const() | Var() | Apply() | Logic() | If() | Let() | Binder():
            if _depends(node, tainted, scope):
                _report(node, scope)
        case Parametric(word=word, arguments=arguments, policy=policy):
            for parameter, arg in zip(DISTRIBUTIONS[word].parameters, arguments, strict=True):
                if parameter.kind in ("probability", "ratio"):
                    _depends(arg, tainted, scope)
                else:
                    report_misuse(arg, scope, tainted)
            report_misuse(policy, scope, tainted)
        case Branches(branches=branches):
            for value, weight in branches:
                report_misuse(value, scope, tainted)
                _depends(weight, tainted, scope)
        case Weighted(domain=domain, where=where, value=value, weight=weight):
            report_misuse((domain, where, value), scope, tainted)
            _depends(weight, tainted, scope)
        case LetDistribution(name=name, value=value, body=body):
            inner = tainted | {name} if _depends(value, tainted, scope) else tainted
            report_misuse(body, scope, inner)
        case RowBranch(probability=probability, target=target):
            _depends(probability, tainted, scope)
            report_misuse(target, scope, tainted)
        case tuple() | list():
            for part in node:
                report_misuse(part, scope, tainted)
        case Span() | Budget() | ParamNumber():
            pass
        case _ if hasattr(node, "__dataclass_fields__"):
            for each in fields(node):  # type: ignore[arg-type]
                report_misuse(getattr(node, each.name), scope, tainted)


def _depends(expr: Expr, tainted: frozenset[str], scope: Scope) -> bool:
    """Return whether an expression depends on a parameter; report operations that may not.

    Of what is reported nothing more is said: where it stands it is not taken to depend on one.
    """
    match expr:
        case Const(value=value):
            return isinstance(value, ParamNumber | ParamBudget)
        case Var(name=name):
            return name in tainted
        case Apply(op=op, args=args):
            found = [arg for arg in args if _depends(arg, tainted, scope)]
            if found and op not in OF_PARAMS:
                _report(expr, scope)
                return False
            return bool(found)
        case Logic(args=args):
            for arg in args:
                report_misuse(arg, scope, tainted)
            return False
        case If(condition=condition, then=then, orelse=orelse):
            report_misuse(condition, scope, tainted)
            found = [arg for arg in (then, orelse) if _depends(arg, tainted, scope)]
            return bool(found)
        case Let(name=name, value=value, body=body):
            inner = tainted | {name} if _depends(value, tainted, scope) else tainted
            return _depends(body, inner, scope)
        case Binder(kind=kind, domain=domain, where=where, body=body):
            report_misuse((domain, where), scope, tainted)
            is_found = _depends(body, tainted, scope)
            if is_found and kind not in ("sum", "product"):
                _report(expr, scope)
                return False
            return is_found
        case _:
            return False


def _report(expr: Expr, scope: Scope) -> None:
    known = (value.param for value in params_in(expr) if not isinstance(value, ExpNumber))
    param = next(known, None)
    if param is not None:
        scope.report(_without_value(expr.span, param))
        return
    scope.report(
        needs_value(expr.span, "this needs a value, and a `param` has none before one is chosen")
    )


def wrong_value(value: Value, span: Span, mistake: Mistake) -> Mistake:
    """Return what is wrong with a constant: it depends on a parameter, or what a place says."""
    if not isinstance(value, ParamNumber | ParamBudget):
        return mistake
    return _without_value(span, value.param)


def _without_value(span: Span, param: Param) -> Mistake:
    why = f"this needs a value, and `{param.name}` has none before one is chosen"
    return needs_value(span, why, constant=f"const {param.name} = {value_text(param.simplest)}")
