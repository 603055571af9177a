"""What claims are about: mechanisms and chains, and what is made of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import combinations

from dpcheck.reference.chains import Chain
from dpcheck.reference.expressions import Scope, evaluate
from dpcheck.reference.files import Loaded
from dpcheck.reference.numbers import ZERO, Number
from dpcheck.reference.programs import Mechanism
from dpcheck.reference.runs import CUT, Law, Model, Point
from dpcheck.reference.syntax import Tree, named, parsed
from dpcheck.reference.values import NotCovered, integer

MOST_OUTPUTS = 40
"""Bounds a run of which everything is asked."""


class Target:
    """The runs that a composition is made of; of anything else it is one."""

    def __init__(self, runs: tuple[Model, ...]) -> None:
        """Take models that have the same points and neighbors."""
        self.runs, self.model = runs, runs[0]
        self._rows: dict[tuple[Model, Point], Law] = {}

    @cached_property
    def pairs(self) -> list[tuple[Point, Point]]:
        """The neighbors among all points."""
        every = combinations(self.model.points, 2)
        return [pair for pair in every if self.model.are_neighbors(*pair)]

    def row(self, model: Model, point: Point) -> Law:
        """Return what one of the runs shows from a point; it must have an end."""
        if (model, point) not in self._rows:
            row = model.row(model.start(point), lambda outputs: len(outputs) <= MOST_OUTPUTS)
            if any(status == CUT for _, status in row):
                raise NotCovered(f"runs of more than {MOST_OUTPUTS} outputs")
            self._rows[model, point] = row
        return self._rows[model, point]

    def outcomes(self, s: Point, t: Point) -> list[tuple[Number, Number]]:
        """Return P(o) and Q(o) of each outcome o of a run from two points."""
        if len(self.runs) > 1:
            raise NotCovered("what all runs of a composition show")
        p, q = self.row(self.model, s), self.row(self.model, t)
        return [(p.get(key, ZERO), q.get(key, ZERO)) for key in p | q]


def target_of(text: str, loaded: Loaded, reach: int | None = None) -> Target:
    """Return a target with what is known of it, noise without bounds looked at so far out."""
    if (text, reach) not in loaded.targets:
        looking = replace(loaded, scope=loaded.scope.but(reach=reach))
        loaded.targets[text, reach] = made_of(parsed(text, "target"), looking)
    found: Target = loaded.targets[text, reach]
    return found


def made_of(tree: Tree, loaded: Loaded) -> Target:
    """Return a target: a mechanism, a chain, or a composition of these."""
    scope, (_, name, arguments) = loaded.scope, (*tree, ())[:3]
    declared = scope.of("mechanism", name) or scope.of("chain", name)
    if declared is not None:
        given = {str(key): evaluate(value, {}, scope) for key, value in map(named, arguments)}
        kind = Mechanism if declared[0] == "mechanism" else Chain
        return Target((kind(declared, given, scope, loaded.work),))
    if name != "compose":
        raise NotCovered(f"the target {name}(...)")
    runs = last = tuple[Model, ...]()
    for part in arguments:
        if part[0] in ("call", "name") and is_target(part[1], scope):
            last = made_of(part, loaded).runs
            runs += last
        else:  # how often the part before it runs
            runs += last * (integer(evaluate(part, {}, scope)) - 1)
    return Target(runs)


def is_target(name: str, scope: Scope) -> bool:
    """Return whether there is a mechanism or chain of this name, or a target is made by it."""
    made = ("compose", "group", "subsample")
    return name in made or any(scope.of(kind, name) for kind in ("mechanism", "chain"))
