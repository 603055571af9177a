"""`query c in S fixed`: mistakes, and inputs in place of choices where lengths are known here."""

from __future__ import annotations

from dpcheck.diagnostics.composition import FixedQueryOfSets
from dpcheck.diagnostics.structure import EmptyDomain
from dpcheck.model import fixed_queries
from dpcheck.model.expressions import ArrayVar
from dpcheck.model.program import Mechanism
from dpcheck.model.values import SetValue, same_value
from dpcheck.resolve.names.scopes import Held, Scope


def with_known_choices(mechanism: Mechanism, scope: Scope) -> Mechanism:
    """Return the mechanism where fixed queries read public inputs.

    Where a loop makes histories longer and longer, as far as is known, or analysts are too many, it
    stays as it is. Mistakes are reported.
    """
    queries = fixed_queries.open_queries(mechanism.nodes)
    sets: dict[str, SetValue] = {}
    for query in queries.values():
        name, choices, span = query.name, query.choices, query.draw.distribution.span
        if choices is None or not same_value(sets.setdefault(name, choices), choices):
            scope.report(FixedQueryOfSets(span, name))
            return mechanism
        if choices.size == 0:
            scope.report(EmptyDomain(span, f"the set of `{name}`"))
            return mechanism
    lengths = fixed_queries.known_lengths(mechanism.nodes, mechanism.entry) if queries else None
    if (
        lengths is None
        or fixed_queries.n_analysts(mechanism, lengths) > fixed_queries.MOST_ANALYSTS
    ):
        return mechanism
    return fixed_queries.with_choices(mechanism, lengths)


def choice_bindings(mechanism: Mechanism) -> dict[str, Held]:
    """Return what the choices of fixed queries are to claims: public inputs."""
    span = mechanism.span
    return {
        name: Held(ArrayVar(name, 1, cells, span), "input", span)
        for name, cells in fixed_queries.named_cells(mechanism).items()
    }
