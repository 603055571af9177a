"""Explicit chains: states with labels, rows, neighbors, and what an adversary sees of a run."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from dpcheck.reference.distributions import distribution
from dpcheck.reference.expressions import Env, Scope, evaluate
from dpcheck.reference.numbers import Number, sign
from dpcheck.reference.programs import CUT, STOPPED, Row, add, solved
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import (
    Sym,
    Value,
    Work,
    WrongProgram,
    as_text,
    elements,
    is_true,
    number,
)

State = tuple[str, tuple[Value, ...]]
"""The name of a family, and indices in it."""


class Chain:
    """A chain with the values of its parameters.

    states: each with its labels, its own name and the name of its family among them; rows:
    probabilities of the next states (without a row a run ends); pairs of neighbors; the initial
    states; `observed`, what an adversary sees of some states.
    """

    def __init__(self, tree: Tree, given: Env, scope: Scope, work: Work) -> None:
        """Fill in families, then rows, neighbors and what is seen."""
        _, self.name, parameters, parts = tree
        self.scope, self.work = scope, work
        self.env: Env = {}
        for name, default in parameters:
            self.env[name] = given[name] if name in given else evaluate(default, self.env, scope)
        self.states: dict[State, list[str]] = {}
        self.sets: dict[str, list[tuple[Value, ...]]] = {}
        for part in parts:
            if part[0] == "state":
                self._add_family(*part[1:])
        self.rows: dict[State, dict[State, Number]] = {}
        self.pairs: set[frozenset[State]] = set()
        initial: list[State] = []
        self.observed: dict[State, list[str]] = {}
        for part in parts:
            match part:
                case ("adjacent", left, right, where):
                    self._relate(left, right, where)
                case ("init", references):
                    initial += [s for each in references for s in self.meant(each, self.env)]
                case ("observe", references):
                    for reference in references:
                        self._observe(reference)
                case ("row" | "for" | "if", *_):
                    self._fill(part, self.env)
        paired = [s for s in self.states if any(s in pair for pair in self.pairs)]
        self.initial = [s for s in self.states if s in initial] if initial else paired

    def _add_family(self, name: str, indices: list[tuple[str, Tree]], labels: list[str]) -> None:
        self.sets[name] = []
        domains = [elements(evaluate(domain, self.env, self.scope)) for _, domain in indices]
        for chosen in product(*domains):
            self.states[name, chosen] = [name, *labels]
            self.sets[name].append(chosen)

    def _relate(self, left: Tree, right: Tree, where: Tree) -> None:
        """Relate all states that two patterns with fresh names stand for."""
        for s, bound in self._matches(left, {}):
            for t, both in self._matches(right, bound):
                if s != t and (where is None or is_true(evaluate(where, both, self.scope))):
                    self.pairs.add(frozenset((s, t)))

    def _matches(self, reference: Tree, env: Env) -> list[tuple[State, Env]]:
        """Return the states of a pattern, with what its names stand for then."""
        name, indices = reference
        found = []
        for chosen in self.sets.get(name, []):
            bound: Env | None = {**self.env, **env}
            for tree, value in zip(indices, chosen, strict=bool(indices)):
                is_fresh = tree[0] == "name" and tree[1] not in env and not tree[2]
                if bound is not None and is_fresh:
                    bound = {**bound, tree[1]: value}
                elif bound is not None and evaluate(tree, bound, self.scope) != value:
                    bound = None
            if bound is not None:
                found.append(((name, chosen), bound))
        return found

    def meant(self, reference: Tree, env: Env) -> list[State]:
        """Return the states that a reference names: one, a family, or all with a label."""
        name, indices = reference
        if indices:
            state = (name, tuple(evaluate(index, env, self.scope) for index in indices))
            if state not in self.states:
                raise WrongProgram(f"there is no state {self.text_of(state)}")
            return [state]
        return [s for s, labels in self.states.items() if name in labels]

    def _observe(self, reference: Tree) -> None:
        for state in self.meant(reference, self.env):
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
                row: dict[State, Number] = {}
                for variable, weight, target in branches:
                    self._branch(row, variable, weight, target, env)
                if sum(row.values(), Fraction(0)) != 1 or any(sign(p) < 0 for p in row.values()):
                    raise WrongProgram(f"the row of {self.text_of(state)} does not sum to 1")
                self.rows[state] = row
            case ("for", indices, where, parts):
                for inner in self._bindings(indices, env):
                    if where is None or is_true(evaluate(where, inner, self.scope)):
                        for each in parts:
                            self._fill(each, inner)
            case ("if", branches, otherwise):
                chosen = otherwise
                for condition, parts in branches:
                    if is_true(evaluate(condition, env, self.scope)):
                        chosen = parts
                        break
                for each in chosen:
                    self._fill(each, env)

    def _branch(
        self, row: dict[State, Number], variable: str | None, weight: Tree, target: Tree, env: Env
    ) -> None:
        """Add one branch of a row: `weight: target`, or `v ~ distribution: target`."""
        drawn = {} if variable is None else distribution(weight, env, self.scope)
        for value, p in drawn.items():
            (state,) = self.meant(target, {**env, str(variable): value})
            add(row, state, p)
        if variable is None:
            (state,) = self.meant(target, env)
            add(row, state, number(evaluate(weight, env, self.scope)))

    def _bindings(self, indices: list[tuple[str, Tree]], env: Env) -> list[Env]:
        found = [env]
        for name, domain in indices:
            found = [
                {**each, name: value}
                for each in found
                for value in elements(evaluate(domain, each, self.scope))
            ]
        return found

    def text_of(self, state: State) -> str:
        """Write a state: `pos`, `s[3]`."""
        name, indices = state
        return as_label(name) + ("[" + ", ".join(map(as_text, indices)) + "]" if indices else "")

    def is_end(self, state: State) -> bool:
        """Return whether a run ends in a state: it has no row, or never leaves."""
        return self.rows.get(state, {}).keys() <= {state}

    def row(self, start: State, most: int, known: dict[Any, Row] | None = None) -> Row:
        """Return what is seen of the runs of a state, for at most `most` outputs."""
        known = {} if known is None else known
        if (start, most) in known:
            return known[start, most]
        silent: dict[Any, dict[Any, Number]] = {}
        constant: dict[Any, dict[Any, Number]] = {}
        pending = [start]
        while pending:
            s = pending.pop()
            if s in silent:
                continue
            self.work.spend()
            silent[s], constant[s] = {}, {}
            if self.is_end(s):
                add(constant[s], ((), (), STOPPED), Fraction(1))
                continue
            for t, p in self.rows[s].items():
                if t not in self.observed:
                    add(silent[s], t, p)
                    pending.append(t)
                elif most == 0:
                    add(constant[s], ((), (), CUT), p)
                else:
                    seen = " & ".join(self.observed[t])
                    for (outputs, status), q in self.row(t, most - 1, known).items():
                        add(constant[s], ((seen, *outputs), (), status), p * q)
        row: Row = {}
        for (outputs, _, status), p in solved(silent, constant, self.work)[start].items():
            add(row, (outputs, status), p)
        known[start, most] = row
        return row


def as_label(name: str) -> str:
    """Write the name of a state or a label, in quotes where it has to be."""
    return as_text(Sym(name))
