"""Secrets that a prior gives no weight: they are left out, and the user is told.

What the adversary holds impossible is no secret: pairs of secrets count where both have positive
probability (Kifer, Machanavajjhala, TODS 2014). A prior written as weights, `{v: w for v in S}
normalized`, says so of an input for which all its weights are 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from operator import mul

from dpcheck.diagnostics.composition import SecretWithoutWeight
from dpcheck.exact import ParamError
from dpcheck.model import program
from dpcheck.model.evaluation import Fault, apply, evaluate
from dpcheck.model.expressions import Apply, Binder, Const, Expr, If, Let, Logic, reads
from dpcheck.model.values import SetValue, Value, value_text
from dpcheck.records import replace
from dpcheck.resolve.names.scopes import Scope

MOST_TRIED = 10_000
"""Inputs that are tried; of more, one without weight is a mistake of the run that meets it."""


def with_possible_secrets(mechanism: program.Mechanism, scope: Scope) -> program.Mechanism:
    """Return the mechanism without inputs that a prior gives no weight; each is warned about.

    Where all inputs have none, or there are too many to try, it stays as it is.
    """
    node = mechanism.nodes[mechanism.entry]
    while isinstance(node, program.Sample) and node.is_prior:
        possible = _has_weight(node.distribution)
        if possible is not None:
            mechanism = _without_impossible(mechanism, possible, scope)
        node = mechanism.nodes[node.next]
    return mechanism


def _has_weight(distribution: program.Distribution) -> Expr | None:
    """Return the condition that some weight is not 0; None where none can be missing."""
    match distribution:
        case program.Branches(branches=branches, normalized=True, span=span):
            weights = tuple(Apply("!=", (w, Const(0, span)), span) for _, w in branches)
            return Logic("or", weights, span)
        case program.Weighted(
            name=name, domain=domain, where=where, weight=weight, normalized=True
        ):
            span = distribution.span
            is_some = Apply("!=", (weight, Const(0, span)), span)
            return Binder(name, "exists", domain, where, is_some, span)
        case program.LetDistribution(name=name, value=value, body=body, span=span):
            inner = _has_weight(body)
            return None if inner is None else Let(name, value, inner, span)
        case program.ChooseDistribution(condition=condition, then=then, orelse=orelse, span=span):
            first, second = _has_weight(then), _has_weight(orelse)
            if first is None and second is None:
                return None
            sure = Const(True, span)
            return If(condition, first or sure, second or sure, span)
    return None


def _without_impossible(
    mechanism: program.Mechanism, possible: Expr, scope: Scope
) -> program.Mechanism:
    """Return the mechanism with inputs alone of which a condition is true."""
    read = set(reads(possible))
    asked = [one for one in mechanism.inputs if read.intersection(one.cells)]
    domains = {cell: one.domain for one in asked for cell in one.cells}
    if not read or not read.issubset(domains):
        return mechanism  # it reads nothing, or data that are drawn
    if reduce(mul, (domain.size for domain in domains.values()), 1) > MOST_TRIED:
        return mechanism
    wheres = [one.where for one in asked if one.where is not None]
    known = [where for where in wheres if domains.keys() >= set(reads(where))]
    secrets = [dict(zip(domains, each, strict=True)) for each in product(*domains.values())]
    secrets = [each for each in secrets if all(_is_possible(where, each) for where in known)]
    missing = [secret for secret in secrets if not _is_possible(possible, secret)]
    if not missing or len(missing) == len(secrets):
        return mechanism
    texts = [", ".join(f"{k} = {value_text(v)}" for k, v in secret.items()) for secret in missing]
    scope.report(SecretWithoutWeight(possible.span, tuple(texts)))
    inputs = _restricted(mechanism.inputs, asked, possible)
    kept = [each for each in secrets if _is_possible(possible, each)]
    return replace(mechanism, inputs=inputs, adjacency=_listed(mechanism, kept))


def _listed(
    mechanism: program.Mechanism, kept: Sequence[Mapping[str, Value]]
) -> tuple[program.Adjacency, ...]:
    """Return the clauses without listed pairs of a value that no secret has any more."""
    private = [one.name for one in mechanism.inputs if not one.is_public]
    if len(private) != 1 or not kept or private[0] not in kept[0]:
        return mechanism.adjacency
    values = SetValue(tuple(each[private[0]] for each in kept))
    clauses: list[program.Adjacency] = []
    for clause in mechanism.adjacency:
        if isinstance(clause, program.AdjacentPairs):
            pairs = [pair for pair in clause.pairs if all(apply("in", (v, values)) for v in pair)]
            clauses += [replace(clause, pairs=tuple(pairs))] if pairs else []
        else:
            clauses.append(clause)
    return tuple(clauses)


def _is_possible(possible: Expr, secret: Mapping[str, Value]) -> bool:
    """Return whether a secret has weight; what has no value is a mistake of the run."""
    try:
        return evaluate(possible, secret) is not False
    except (Fault, ParamError):
        return True


def _restricted(
    inputs: tuple[program.Input, ...],
    asked: list[program.Input],
    possible: Expr,
) -> tuple[program.Input, ...]:
    """Return inputs that are possible alone: one by its values, several by a condition."""
    last = asked[-1]
    if len(asked) == 1 and last.lo is None:
        kept = tuple(v for v in last.domain if _is_possible(possible, {last.name: v}))
        changed = replace(last, domain=SetValue(kept))
    else:
        both = (
            possible if last.where is None else Logic("and", (last.where, possible), possible.span)
        )
        changed = replace(last, where=both)
    return tuple(changed if one is last else one for one in inputs)
