"""What claims are about: mechanisms and chains, and what is made of them."""

from __future__ import annotations

from dataclasses import replace

from dpcheck.reference.chains import Chain
from dpcheck.reference.expressions import Scope, evaluate
from dpcheck.reference.files import Loaded
from dpcheck.reference.programs import Mechanism
from dpcheck.reference.runs import Model
from dpcheck.reference.syntax import Tree, named, parsed
from dpcheck.reference.values import NotCovered, integer


def target_of(text: str, loaded: Loaded, reach: int | None = None) -> tuple[Model, ...]:
    """Return a target with what is known of it, noise without bounds looked at so far out."""
    if (text, reach) not in loaded.targets:
        looking = replace(loaded, scope=loaded.scope.but(reach=reach))
        loaded.targets[text, reach] = made_of(parsed(text, "target"), looking)
    found: tuple[Model, ...] = loaded.targets[text, reach]
    return found


def made_of(tree: Tree, loaded: Loaded) -> tuple[Model, ...]:
    """Return the runs of a target: one of a mechanism or a chain, or those of a composition."""
    scope, (_, name, arguments) = loaded.scope, (*tree, ())[:3]
    declared = scope.of("mechanism", name) or scope.of("chain", name)
    if declared is not None:
        given = {str(key): evaluate(value, {}, scope) for key, value in map(named, arguments)}
        kind = Mechanism if declared[0] == "mechanism" else Chain
        return (kind(declared, given, scope, loaded.work),)
    if name != "compose":
        raise NotCovered(f"the target {name}(...)")
    runs = last = tuple[Model, ...]()
    for part in arguments:
        if part[0] in ("call", "name") and is_target(part[1], scope):
            last = made_of(part, loaded)
            runs += last
        else:  # how often the part before it runs
            runs += last * (integer(evaluate(part, {}, scope)) - 1)
    return runs


def is_target(name: str, scope: Scope) -> bool:
    """Return whether there is a mechanism or chain of this name, or a target is made by it."""
    made = ("compose", "group", "subsample")
    return name in made or any(scope.of(kind, name) for kind in ("mechanism", "chain"))
