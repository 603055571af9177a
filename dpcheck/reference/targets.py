"""What claims are about: mechanisms and chains, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product

from dpcheck.reference.chains import Chain
from dpcheck.reference.expressions import Scope, evaluate
from dpcheck.reference.files import Loaded
from dpcheck.reference.numbers import ONE, ZERO, Number, n_terms, number, number_text
from dpcheck.reference.programs import Mechanism
from dpcheck.reference.runs import CUT, Law, Model, Point
from dpcheck.reference.syntax import Block, Tree, named, parsed
from dpcheck.reference.values import NotCovered, integer

MOST_OUTPUTS = 40
"""Bounds a run of which everything is asked."""
MADE_OF_OTHERS = ("compose", "group", "subsample")
Outcomes = list[tuple[Number, Number, int]]
"""P(o), Q(o), and the number of outcomes o that have these chances from two points."""


class Target:
    """The runs that a composition is made of (one, of anything else), and how far neighbors are."""

    def __init__(self, runs: tuple[Model, ...], distance: int = 1) -> None:
        """Take models that have the same points and neighbors."""
        self.runs, self.model, self.distance = runs, runs[0], distance
        self._are_near: dict[frozenset[Point], bool] = {}
        self._rows: dict[tuple[Model, Point], Law] = {}

    @cached_property
    def near(self) -> dict[Point, list[Point]]:
        """The neighbors of every point."""
        return {s: list(self.neighbors(s, self.model.points)) for s in self.model.points}

    def neighbors(self, s: Point, others: list[Point]) -> Iterator[Point]:
        """Yield the points at most the distance of a group away; those that far are `others`."""
        met, last = {s}, [s]
        for step in range(self.distance):
            here, last = last, []
            for t in others if step == self.distance - 1 else self.model.points:
                if t not in met and any(self.are_near(u, t) for u in here):
                    met.add(t)
                    last.append(t)
                    yield t

    def are_near(self, s: Point, t: Point) -> bool:
        """Return whether two points are neighbors of the model."""
        pair = frozenset((s, t))
        if pair not in self._are_near:
            self._are_near[pair] = self.model.are_neighbors(s, t)
        return self._are_near[pair]

    def row(self, model: Model, point: Point) -> Law:
        """Return what one of the runs shows from a point; it must have an end."""
        if (model, point) not in self._rows:
            row = model.row(model.start(point), lambda outputs: len(outputs) <= MOST_OUTPUTS)
            if any(status == CUT for _, status in row):
                raise NotCovered(f"runs of more than {MOST_OUTPUTS} outputs")
            self._rows[model, point] = row
        return self._rows[model, point]

    def outcomes(self, s: Point, t: Point) -> Outcomes:
        """Return P(o) and Q(o) of the outcomes o from two points, and how many o have both."""
        found: Outcomes = [(ONE, ONE, 1)]
        for model in self.runs:
            p_row, q_row = self.row(model, s), self.row(model, t)
            shown = [(p_row.get(key, ZERO), q_row.get(key, ZERO)) for key in p_row | q_row]
            if len(found) == 1:
                found = [(p, q, 1) for p, q in shown]
                continue
            merged: dict[tuple[str, str], tuple[Number, Number, int]] = {}
            for (p, q, n), (x, y) in product(found, shown):
                model.work.spend(max(n_terms(p) * n_terms(x), n_terms(q) * n_terms(y)))
                key = number_text(p * x), number_text(q * y)
                merged[key] = p * x, q * y, merged.get(key, (ZERO, ZERO, 0))[2] + n
            found = list(merged.values())
        return found


def target_of(text: str, loaded: Loaded) -> Target:
    """Return a target with what is known of it."""
    if text not in loaded.targets:
        loaded.targets[text] = made_of(parsed(text, "target"), loaded)
    found: Target = loaded.targets[text]
    return found


def made_of(tree: Tree, loaded: Loaded, kept: Number = ONE) -> Target:
    """Return a target; its records are a sample if they are kept with some chance only."""
    scope, (_, name, arguments) = loaded.scope, (*tree, ())[:3]
    declared = scope.of("mechanism", name) or scope.of("chain", name)
    if declared is not None:
        given = {str(key): evaluate(value, {}, scope) for key, value in map(named, arguments)}
        kind = Mechanism if declared[0] == "mechanism" else Chain
        sampled = declared if kept == 1 else (*declared[:3], sampling(declared[3], kept))
        return Target((kind(sampled, given, scope, loaded.work),))
    if name == "compose":
        return composed(arguments, loaded, kept)
    if name not in MADE_OF_OTHERS:
        raise NotCovered(f"the target {name}(...)")
    of, amount = arguments[0], evaluate(arguments[1], {}, scope)
    if name == "subsample":
        return made_of(of, loaded, kept * number(amount))
    inner = made_of(of, loaded, kept)
    return Target(inner.runs, inner.distance * integer(amount))


def composed(arguments: Block, loaded: Loaded, kept: Number) -> Target:
    """Return a composition; a number in it says how often the part before it runs."""
    parts: list[Target] = []
    for part in arguments:
        if part[0] in ("call", "name") and is_target(part[1], loaded.scope):
            parts.append(made_of(part, loaded, kept))
        else:
            parts += parts[-1:] * (integer(evaluate(part, {}, loaded.scope)) - 1)
    if len({part.distance for part in parts}) > 1:
        raise NotCovered("a composition of groups of different sizes")
    return Target(sum((part.runs for part in parts), ()), parts[0].distance)


def is_target(name: str, scope: Scope) -> bool:
    """Return whether there is a mechanism or chain of this name."""
    return name in MADE_OF_OTHERS or any(scope.of(kind, name) for kind in ("mechanism", "chain"))


def sampling(body: Block, kept: Number) -> Block:
    """Return a mechanism that first draws how many of the records of each cell it keeps."""
    drawn = []
    for _, name, indices, *_ in (part for part in body if part[0] == "input"):
        place = ("name", name) if indices is None else ("index", ("name", name), (("name", " i"),))
        draw = ("~", place, ("call", "binomial", (place, ("constant", kept))))
        drawn.append(draw if indices is None else ("for", " i", indices, (draw,)))
    return (*drawn, *body)
