"""Explicit chains: states with labels, rows, neighbors, and what an adversary sees of a run."""

from __future__ import annotations

from functools import cached_property
from itertools import product

from dpcheck.reference.distributions import distribution, law_of
from dpcheck.reference.expressions import Env, Scope, holds, unrolled
from dpcheck.reference.numbers import ONE, Number, number
from dpcheck.reference.programs import with_defaults
from dpcheck.reference.runs import Law, Model, Point, Position, Result, State
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import (
    End,
    NotCovered,
    Sym,
    Value,
    Work,
    WrongProgram,
    as_text,
    elements,
)

Member = tuple[str, tuple[Value, ...]]
"""A state: the name of its family, and indices in it."""


def parts_of(reference: Tree) -> tuple[str, tuple[Tree, ...]]:
    """Return the name and the indices of `s`, `"s"` or `s[i, j]`."""
    (_, name), indices = reference[1:] if reference[0] == "index" else (reference, ())
    return name, indices


class Chain(Model):
    """A chain with the values of its parameters.

    states: each with its labels, its own name and the name of its family among them; rows:
    probabilities of the next states (without a row a run ends); pairs of neighbors; the initial
    states; `observed`, what an adversary sees of some states. Points are states, and positions of
    paths too.
    """

    def __init__(self, tree: Tree, given: Env, scope: Scope, work: Work) -> None:
        """Fill in families, then rows, neighbors and what is seen."""
        super().__init__(scope, work)
        _, self.name, parameters, parts = tree
        self.parameters = with_defaults(parameters, given, scope)
        self.states: dict[Member, tuple[str, ...]] = {}
        for word, *rest in parts:
            if word == "state":
                (name, indices), labels = parts_of(rest[0]), rest[1]
                sets = [elements(self.value(each[2][1], self.parameters)) for each in indices]
                self.states |= {(name, chosen): (name, *labels) for chosen in product(*sets)}
        self.labels = {label for labels in self.states.values() for label in labels}
        self.rows: dict[Member, Law] = {}
        self.related: set[frozenset[Member]] = set()
        self.initial: list[Member] = []
        self.observed: dict[Member, dict[str, None]] = {}
        for part, env in unrolled(parts, self.parameters, scope):
            match part:
                case ("->", source, branches):
                    pairs = [pair for branch in branches for pair in self._drawn(branch, env)]
                    self.rows[self.meant(source, env)[0]] = law_of(pairs)
                case ("adjacent", (left,), right, where):
                    self._relate(left, right, where)
                case ("init", references):
                    self.initial += [s for each in references for s in self.meant(each, env)]
                case ("observe", references):
                    for each, state in ((r, s) for r in references for s in self.shown(r, env)):
                        label = parts_of(each)[0]
                        seen = self.text_of(state) if label == state[0] else as_text(Sym(label))
                        self.observed.setdefault(state, {})[seen] = None

    # --- what the text declares ------------------------------------------------------------

    def meant(self, reference: Tree, env: Env) -> list[Member]:
        """Return the states that a reference names, one or a family, whoever has it as a label."""
        name, indices = parts_of(reference)
        if not indices:
            return [state for state in self.states if state[0] == name]
        state = (name, tuple(self.value(index, env) for index in indices))
        if state not in self.states:
            raise WrongProgram(f"there is no state {self.text_of(state)}")
        return [state]

    def shown(self, reference: Tree, env: Env) -> list[Member]:
        """Return the states that are seen by a reference: one, or all with a label."""
        name, indices = parts_of(reference)
        if indices:
            return self.meant(reference, env)
        return [state for state, labels in self.states.items() if name in labels]

    def picked(self, condition: Tree) -> Member | None:
        """Return the state that is named after `at`; of a condition none."""
        match condition:
            case ("name" | "quoted", name) if (name, ()) in self.states:
                return name, ()
            case ("index", ("name" | "quoted", name), _) if name in self.labels:
                return self.meant(condition, self.parameters)[0]
        return None

    def _drawn(self, branch: Tree, env: Env) -> list[tuple[Member, Number]]:
        """Return the states of a branch `weight: target`, or `v ~ distribution: target`."""
        variable, weight, target = branch
        if variable is None:
            return [(self.meant(target, env)[0], number(self.value(weight, env)))]
        law = distribution(weight, env, self.scope).items()
        return [(self.meant(target, {**env, variable: value})[0], p) for value, p in law]

    def _relate(self, left: Tree, right: Tree, where: Tree) -> None:
        """Relate all states that two patterns with fresh names stand for."""
        (name, indices), (other, further) = parts_of(left), parts_of(right)
        families = ([each for each in self.states if each[0] == n] for n in (name, other))
        for s, t in product(*families):
            pairs = [*zip(indices, s[1], strict=False), *zip(further, t[1], strict=False)]
            fresh = {tree[1]: value for tree, value in pairs if tree[0] == "name"}
            env = {**self.parameters, **fresh}
            is_meant = s != t and all(self.value(tree, env) == value for tree, value in pairs)
            if is_meant and holds(where, env, self.scope):
                self.related.add(frozenset((s, t)))

    # --- what claims ask -------------------------------------------------------------------

    @cached_property
    def points(self) -> list[Point]:  # type: ignore[override]
        """Return the initial states, or all that have a neighbor."""
        wanted = self.initial or frozenset().union(*self.related)
        return [s for s in self.states if s in wanted]

    @cached_property
    def ends(self) -> list[Point]:
        """Return the initial states, and those that have a neighbor."""
        wanted = frozenset(self.initial).union(*self.related)
        return [s for s in self.states if s in wanted]

    def are_neighbors(self, s: Point, t: Point) -> bool:
        """Return whether two states are neighbors."""
        return frozenset((s, t)) in self.related

    def text_of(self, point: Point) -> str:
        """Write a state, in quotes where it has to be: `pos`, `s[3]`."""
        name, indices = point
        inside = ", ".join(map(as_text, indices))
        return as_text(Sym(name)) + (f"[{inside}]" if indices else "")

    def point_of(self, text: str) -> Point | None:
        """Return the state that is written so, if it is an initial one or not."""
        return next((state for state in self.states if self.text_of(state) == text), None)

    def env(self, _point: object) -> Env:
        """Return the names that a formula may read."""
        return self.parameters

    def start(self, point: Point) -> State:
        """Return the state in which a run begins."""
        if not self.observed:
            raise NotCovered("a chain without `observe`")
        return point

    def transitions(self, state: State) -> Law:
        """Return what is seen from outside of the next state."""
        row, seen = self.rows.get(state, {}), self.observed
        if row.keys() <= {state}:  # without a row, or for ever there
            return {Result(End.STOPPED): ONE}
        return {Result((" & ".join(seen[t]), t)) if t in seen else t: p for t, p in row.items()}

    def first(self, point: Point) -> Position:
        """Return where a path begins."""
        return point

    def after(self, position: Position) -> Law:
        """Return the law of the next position."""
        return self.rows.get(position, {End.STOPPED: ONE})

    def atom(self, tree: Tree, position: Position, env: Env) -> bool:
        """Return whether an atom holds at a position."""
        match tree:
            case ("name" | "quoted", label) if label in self.labels:
                return label in self.states.get(position, ())
            case ("index", ("name" | "quoted", name), indices) if name in self.labels:
                return bool(position == (name, tuple(self.value(i, env) for i in indices)))
        return self.is_true(tree, {**env, "output": None})
