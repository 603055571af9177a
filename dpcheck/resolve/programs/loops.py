"""The head of a `for`: `for i in S, j in T where condition`."""

from __future__ import annotations

from collections.abc import Iterable

from dpcheck.diagnostics.kinds import WrongKind
from dpcheck.diagnostics.names import NameTaken
from dpcheck.model import surface
from dpcheck.model.evaluation import described, set_of
from dpcheck.model.values import SetValue
from dpcheck.resolve.expressions.expressions import argument_value, constant
from dpcheck.resolve.names.scopes import Scope


def report_second_variables(indices: Iterable[surface.LoopIndex], scope: Scope) -> None:
    """Report a variable that one head binds twice: the second would hide the first."""
    report_second_names((index.variable for index in indices), "a loop variable", scope)


def report_second_names(names: Iterable[surface.Identifier], what: str, scope: Scope) -> None:
    """Report a name that stands twice among those that get values at once: one would be lost."""
    seen: dict[str, surface.Identifier] = {}
    for name in names:
        first = seen.setdefault(name.name, name)
        if first is not name:
            scope.report(NameTaken(name.span, name.name, what, first.span))


def guarded(loop: surface.For) -> tuple[surface.Statement, ...]:
    """Return the body of a loop under its `where`, as the `if` that it abbreviates."""
    if loop.where is None:
        return loop.body
    return (surface.If(((loop.where, loop.body),), (), span=loop.where.span),)


def known_domain(tree: surface.Expression, scope: Scope) -> SetValue | None:
    """Return the set of a loop around claims; None, with a mistake, if it is none.

    A set that is written out may hold distributions by their names.
    """
    purpose = "the set of this loop"
    if isinstance(tree, surface.SetLiteral):
        values = [argument_value(item, scope, purpose) for item in tree.items]
        return None if None in values else set_of(v for v in values if v is not None)
    domain = constant(tree, scope, purpose)
    if domain is None or isinstance(domain, SetValue):
        return domain
    scope.report(WrongKind(tree.span, "a set", described(domain), ()))
    return None


def known_condition(tree: surface.Expression | None, scope: Scope) -> bool:
    """Return whether the `where` of a loop around claims holds; false, with a mistake, if none.

    Without a `where` everything is kept.
    """
    if tree is None:
        return True
    value = constant(tree, scope, "the `where` of this loop")
    if value is None or isinstance(value, bool):
        return value is True
    scope.report(WrongKind(tree.span, "a Boolean", described(value), ()))
    return False
