"""Explicit chains: states with labels, rows, neighbors, and what an adversary sees of a run."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from dpcheck.reference.distributions import distribution
from dpcheck.reference.expressions import Env, Scope, bindings, evaluate, holds
from dpcheck.reference.numbers import ONE, sign
from dpcheck.reference.programs import with_defaults
from dpcheck.reference.runs import Law, Model, Runs, State, Transitions, add
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import (
    NotCovered,
    Sym,
    Value,
    Work,
    WrongProgram,
    as_text,
    elements,
    number,
)

Point = tuple[str, tuple[Value, ...]]
"""A state: the name of its family, and indices in it."""


class Chain(Model):
    """A chain with the values of its parameters.

    states: each with its labels, its own name and the name of its family among them; rows:
    probabilities of the next states (without a row a run ends); pairs of neighbors; the initial
    states; `observed`, what an adversary sees of some states. Positions of paths: states, and None
    behind the end.
    """

    def __init__(self, tree: Tree, given: Env, scope: Scope, work: Work) -> None:
        """Fill in families, then rows, neighbors and what is seen."""
        super().__init__(scope, Runs(self.transitions, work))
        _, self.name, parameters, parts = tree
        self.parameters = with_defaults(parameters, given, scope)
        self.states: dict[Point, list[str]] = {}
        self.sets: dict[str, list[tuple[Value, ...]]] = {}
        for part in parts:
            if part[0] == "state":
                self._add_family(*part[1:])
        self.labels = {label for labels in self.states.values() for label in labels}
        self.rows: dict[Point, Law] = {}
        self.pairs: set[frozenset[Point]] = set()
        self.initial: list[Point] = []
        self.observed: dict[Point, list[str]] = {}
        for part in parts:
            match part:
                case ("adjacent", left, right, where):
                    self._relate(left, right, where)
                case ("init", references):
                    self.initial += [
                        s for each in references for s in self.meant(each, self.parameters)
                    ]
                case ("observe", references):
                    for reference in references:
                        self._observe(reference)
                case ("row" | "for" | "if", *_):
                    self._fill(part, self.parameters)

    def every_point(self) -> list[Point]:
        """Return every value of the inputs, or all initial states."""
        paired = {s for pair in self.pairs for s in pair}
        return [s for s in self.states if s in (self.initial or paired)]

    def are_neighbors(self, s: Point, t: Point) -> bool:
        """Return whether two states are neighbors."""
        return frozenset((s, t)) in self.pairs

    def env(self, _point: Point) -> Env:
        """Return the names that a formula may read."""
        return dict(self.parameters)

    def start(self, point: Point) -> State:
        """Return the state in which a run begins."""
        if not self.observed:
            raise NotCovered("a chain without `observe`")
        return point

    def transitions(self, state: Any) -> Transitions:  # noqa: ANN401 - what `start` returns
        """Return the transitions of a state that is seen from outside."""
        if self.rows.get(state, {}).keys() <= {state}:  # without a row, or for ever there
            return []
        return [
            (p, " & ".join(self.observed[t]) if t in self.observed else None, t)
            for t, p in self.rows[state].items()
        ]

    def first_position(self, point: Point) -> Point:
        """Return where a path begins."""
        return point

    def after(self, position: Any) -> Law:  # noqa: ANN401 - positions differ by model
        """Return the law of the next position."""
        if position is None:
            return {None: ONE}
        return self.rows.get(position, {None: ONE})

    def atom(self, tree: Tree, position: Any, env: Env) -> bool:  # noqa: ANN401 - see above
        """Return whether an atom holds at a position."""
        match tree:
            case ("name", "stopped", False):
                return position is None
            case ("name", "diverged", False):
                return False
            case ("name", name, _) if name in self.labels:
                return position is not None and name in self.states[position]
            case ("index", ("name", name, _), indices) if name in self.sets:
                return bool(
                    position == (name, tuple(evaluate(i, env, self.scope) for i in indices))
                )
        return self.is_true(tree, {**env, "output": None})

    def _add_family(self, name: str, indices: list[tuple[str, Tree]], labels: list[str]) -> None:
        self.sets[name] = []
        domains = [elements(evaluate(domain, self.parameters, self.scope)) for _, domain in indices]
        for chosen in product(*domains):
            self.states[name, chosen] = [name, *labels]
            self.sets[name].append(chosen)

    def _relate(self, left: Tree, right: Tree, where: Tree) -> None:
        """Relate all states that two patterns with fresh names stand for."""
        for s, bound in self._matches(left, {}):
            for t, both in self._matches(right, bound):
                if s != t and holds(where, both, self.scope):
                    self.pairs.add(frozenset((s, t)))

    def _matches(self, reference: Tree, env: Env) -> list[tuple[Point, Env]]:
        """Return the states of a pattern, with what its names stand for then."""
        name, indices = reference
        found = []
        for chosen in self.sets.get(name, []):
            bound: Env | None = {**self.parameters, **env}
            for tree, value in zip(indices, chosen, strict=bool(indices)):
                is_fresh = tree[0] == "name" and tree[1] not in env and not tree[2]
                if bound is not None and is_fresh:
                    bound = {**bound, tree[1]: value}
                elif bound is not None and evaluate(tree, bound, self.scope) != value:
                    bound = None
            if bound is not None:
                found.append(((name, chosen), bound))
        return found

    def meant(self, reference: Tree, env: Env) -> list[Point]:
        """Return the states that a reference names: one, a family, or all with a label."""
        name, indices = reference
        if indices:
            state = (name, tuple(evaluate(index, env, self.scope) for index in indices))
            if state not in self.states:
                raise WrongProgram(f"there is no state {self.text_of(state)}")
            return [state]
        return [s for s, labels in self.states.items() if name in labels]

    def _observe(self, reference: Tree) -> None:
        for state in self.meant(reference, self.parameters):
            is_family = reference[0] == state[0]
            seen = self.text_of(state) if is_family else as_label(reference[0])
            known = self.observed.setdefault(state, [])
            known += [seen] if seen not in known else []

    def _fill(self, part: Tree, env: Env) -> None:
        """Add the rows that a part of the text writes."""
        match part:
            case ("row", source, branches):
                (state,) = self.meant(source, env)
                if state in self.rows:
                    raise WrongProgram(f"{self.text_of(state)} has two rows")
                row: Law = {}
                for variable, weight, target in branches:
                    self._branch(row, variable, weight, target, env)
                if sum(row.values(), Fraction(0)) != 1 or any(sign(p) < 0 for p in row.values()):
                    raise WrongProgram(f"the row of {self.text_of(state)} does not sum to 1")
                self.rows[state] = row
            case ("for", indices, where, parts):
                for inner in bindings(indices, where, env, self.scope):
                    for each in parts:
                        self._fill(each, inner)
            case ("if", branches, otherwise):
                chosen = (
                    parts for condition, parts in branches if holds(condition, env, self.scope)
                )
                for each in next(chosen, otherwise):
                    self._fill(each, env)

    def _branch(self, row: Law, variable: str | None, weight: Tree, target: Tree, env: Env) -> None:
        """Add one branch of a row: `weight: target`, or `v ~ distribution: target`."""
        drawn = {} if variable is None else distribution(weight, env, self.scope)
        for value, p in drawn.items():
            (state,) = self.meant(target, {**env, str(variable): value})
            add(row, state, p)
        if variable is None:
            (state,) = self.meant(target, env)
            add(row, state, number(evaluate(weight, env, self.scope)))

    def text_of(self, state: Point) -> str:
        """Write a state: `pos`, `s[3]`."""
        name, indices = state
        return as_label(name) + ("[" + ", ".join(map(as_text, indices)) + "]" if indices else "")


def as_label(name: str) -> str:
    """Write the name of a state or a label, in quotes where it has to be."""
    return as_text(Sym(name))
