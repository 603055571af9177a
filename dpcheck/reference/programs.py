"""All runs of a mechanism with their exact probabilities, by recursion on its text.

A result of a block is (outputs, environment, status), where the status says how it goes on:

    on        the block is done and what follows runs
    stopped   the run has ended
    diverged  the run goes on forever without showing anything more
    broken    the innermost loop is left
    cut       the run shows more than is asked for, or something else

A `while` loop is a system of linear equations: the distribution f(e) of the results from an
environment e at its head satisfies f(e) = c(e) + sum over e' of Q(e, e') f(e'), where Q collects
the rounds that output nothing and c everything else. Environments that cannot reach any c(e) > 0
diverge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from dpcheck.reference.distributions import Law, distribution
from dpcheck.reference.expressions import Env, Scope, evaluate, is_equal
from dpcheck.reference.numbers import Number, sign
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import (
    Arr,
    NotCovered,
    Value,
    WrongProgram,
    as_text,
    elements,
    integer,
    is_true,
    kept,
)

ON, STOPPED, DIVERGED, CUT, BROKEN = "on", "stopped", "diverged", "cut", "broken"
ONE = Fraction(1)

Frozen = tuple[tuple[str, Value], ...]
Results = dict[tuple[tuple[str, ...], Frozen, str], Number]
Row = dict[tuple[tuple[str, ...], str], Number]
"""How likely it is to show these outputs and then be stopped, diverged or cut."""
Prefixes = frozenset[tuple[str, ...]]


class Mechanism:
    """A mechanism with the values of its parameters."""

    def __init__(self, tree: Tree, given: Env, scope: Scope) -> None:
        """Give parameters their defaults in the scope of those before them."""
        _, self.name, parameters, parts = tree
        self.scope = scope
        self.parameters: Env = {}
        for name, default in parameters:
            if name in given:
                self.parameters[name] = given[name]
            elif default is None:
                raise WrongProgram(f"{name} has no value")
            else:
                self.parameters[name] = evaluate(default, self.parameters, scope)
        if given.keys() - self.parameters.keys():
            raise WrongProgram(f"{self.name} has no such parameter")
        self.inputs = [part for part in parts if part[0] in ("input", "public")]
        self.adjacency = [part[1] for part in parts if part[0] == "adjacent"]
        self.body = [part for part in parts if part[0] not in ("input", "public", "adjacent")]

    def universe(self) -> list[Env]:
        """Return every value of the inputs, the last input changing fastest."""
        found: list[Env] = [{}]
        for _, name, indices, domain, where in self.inputs:
            found = [
                {**earlier, name: value}
                for earlier in found
                for value in self._values_of(indices, domain, {**self.parameters, **earlier})
                if where is None
                or is_true(evaluate(where, {**self.parameters, **earlier, name: value}, self.scope))
            ]
        return found

    def _values_of(self, indices: Tree, domain: Tree, env: Env) -> Iterator[Value]:
        """Yield the values of one input: elements of its set, or arrays of them."""
        items = elements(evaluate(domain, env, self.scope))
        if indices is None:
            yield from items
            return
        places = elements(evaluate(indices, env, self.scope))
        for chosen in product(items, repeat=len(places)):
            yield Arr(integer(places[0]) if places else 1, chosen)

    def are_neighbors(self, s: Env, t: Env) -> bool:
        """Return whether two inputs are different, agree on what is public, and are adjacent."""
        if s == t or any(s[name] != t[name] for kind, name, *_ in self.inputs if kind == "public"):
            return False
        ways = ((s, t), (t, s))
        return any(self._relates(clause, *way) for clause in self.adjacency for way in ways)

    def _relates(self, clause: list[Tree], s: Env, t: Env) -> bool:
        """Return whether one clause relates the input s to the input t, in this order."""
        if clause == [("name", "all", False)]:
            return True
        if all(tree[0] == "tuple" for tree in clause):
            pairs = [evaluate(tree, self.parameters, self.scope) for tree in clause]
            return (*s.values(), *t.values()) in pairs
        primed = {f"{name}'": value for name, value in t.items()}
        return is_true(evaluate(clause[0], {**self.parameters, **s, **primed}, self.scope))

    def text_of(self, inputs: Env) -> str:
        """Write an input the way people see it: `q = [1, 0], t = 0`, wherever arrays begin."""
        plain = {k: Arr(1, v.items) if isinstance(v, Arr) else v for k, v in inputs.items()}
        return ", ".join(f"{name} = {as_text(value)}" for name, value in plain.items()) or "start"


class Runs:
    """The runs that begin as asked, and how much work may still be done.

    most: so many outputs of a run are followed. wanted: with it, only runs whose outputs begin one
    of these sequences are; all others are cut. seen: the values of outputs by their texts.
    """

    def __init__(
        self, scope: Scope, work: int, most: int = 10**6, wanted: Iterable[tuple[str, ...]] = ()
    ) -> None:
        """Know every beginning of what is wanted."""
        self.scope = scope
        self.work = work
        self.most = most
        begun = frozenset(each[:k] for each in wanted for k in range(len(each) + 1))
        self.wanted: Prefixes | None = begun or None
        self.seen: dict[str, Value] = {}
        self._called: dict[Any, tuple[Mechanism, Env]] = {}
        self._names: dict[int, tuple[Any, frozenset[str]]] = {}

    def row(self, mechanism: Mechanism, inputs: Env) -> Row:
        """Return what a run of one input shows; a body that is done has stopped."""
        row: Row = {}
        env = {**mechanism.parameters, **inputs}
        for (outputs, _, status), p in self.block(mechanism.body, env, (), frozenset()).items():
            add(row, (outputs, STOPPED if status == ON else status), p)
        return row

    def block(
        self, block: list[Tree], env: Env, shown: tuple[str, ...], after: frozenset[str]
    ) -> Results:
        """Return the results of statements behind `shown`; `after` are names read behind them."""
        results: Results = {(shown, self.frozen(env, self.names(block) | after), ON): ONE}
        for k, statement in enumerate(block):
            later = self.names(block[k + 1 :]) | after
            following: Results = {}
            for (outputs, now, status), p in results.items():
                if status != ON:
                    add(following, (outputs, now, status), p)
                    continue
                found = self.statement(statement, dict(now), outputs, later)
                for (more, then, goes), q in found.items():
                    add(following, (more, self.frozen(dict(then), later), goes), p * q)
            results = following
        return results

    def names(self, tree: Tree) -> frozenset[str]:
        """Return the words that occur in a tree."""
        if isinstance(tree, str):
            return frozenset((tree,))
        if not isinstance(tree, list | tuple):
            return frozenset()
        known = self._names.get(id(tree))
        if known is None:
            found = frozenset[str]().union(*map(self.names, tree))
            known = self._names[id(tree)] = tree, found  # the tree is kept, and so is its id
        return known[1]

    def frozen(self, env: Env, needed: frozenset[str]) -> Frozen:
        """Return an environment as something hashable, without what nobody reads any more."""
        read = ((name, kept(env[name])) for name in env if name.split()[0] in needed)
        return tuple(sorted(read, key=lambda item: item[0]))

    def statement(
        self, tree: Tree, env: Env, shown: tuple[str, ...], after: frozenset[str]
    ) -> Results:
        """Return the results of one statement."""
        self.work -= 1
        if self.work < 0:
            raise NotCovered("it takes too long")

        def on(then: Env) -> Results:
            return {(shown, tuple(then.items()), ON): ONE}

        match tree:
            case ("output", value):
                found = evaluate(value, env, self.scope)
                longer = (*shown, as_text(found))
                known = self.seen.setdefault(longer[-1], found)
                assert is_equal(known, found), "different values are written differently"
                is_cut = len(shown) == self.most
                if is_cut or (self.wanted is not None and longer not in self.wanted):
                    return {(shown, (), CUT): ONE}
                return {(longer, tuple(env.items()), ON): ONE}
            case ("stop",):
                return {(shown, (), STOPPED): ONE}
            case ("break",):
                return {(shown, tuple(env.items()), BROKEN): ONE}
            case (":=", place, value):
                return on(self.assigned(place, evaluate(value, env, self.scope), env))
            case ("~", place, drawn):
                return self.sample(place, drawn, env, shown)
            case ("var", name, indices, domain, value):
                return on(self.declared(name, indices, domain, value, env))
            case ("if", branches, otherwise):
                for condition, block in branches:
                    if is_true(evaluate(condition, env, self.scope)):
                        return self.block(block, env, shown, after)
                return self.block(otherwise, env, shown, after)
            case ("repeat", times, block):
                n = integer(evaluate(times, env, self.scope))
                return behind_loop(self.block(block * n, env, shown, after))
            case ("for", indices, where, block):
                return behind_loop(self.loop(tree, indices, where, block, env, shown, after))
            case ("while", condition, block):
                inner = after | self.names(tree)
                return self.repeated(condition, block, env, shown, inner)
            case ("run", target):
                return self.ran(target, env, shown)
        raise NotCovered(f"the statement `{tree[0]}`")

    def assigned(self, place: Tree, value: Value, env: Env) -> Env:
        """Return the environment after an assignment, declared ranges checked."""
        match place:
            case ("local", name):
                check_range(name, value, env)
                return {**env, name: value}
            case ("cell", name, index):
                check_range(name, value, env)
                return {**env, name: env[name].with_item(evaluate(index, env, self.scope), value)}
            case (_, names):
                if not isinstance(value, tuple) or len(value) != len(names):
                    raise WrongProgram(f"{as_text(value)} does not fit the pattern")
                for name, part in zip(names, value, strict=True):
                    env = self.assigned(("local", name), part, env)
                return env
        raise NotCovered("an assignment")

    def declared(self, name: str, indices: Tree, domain: Tree, value: Tree, env: Env) -> Env:
        """Return the environment after `var`: the set is kept under the key `NAME in`."""
        env = {**env, name: None}
        env.pop(f"{name} in", None)
        if domain is not None:
            env[f"{name} in"] = evaluate(domain, env, self.scope)
        first = None if value is None else evaluate(value, env, self.scope)
        if first is not None:
            check_range(name, first, env)
        if indices is None:
            return {**env, name: first}
        places = elements(evaluate(indices, env, self.scope))
        return {**env, name: Arr(integer(places[0]) if places else 1, (first,) * len(places))}

    def loop(
        self,
        tree: Tree,
        indices: list[tuple[str, Tree]],
        where: Tree,
        block: list[Tree],
        env: Env,
        shown: tuple[str, ...],
        after: frozenset[str],
    ) -> Results:
        """Return the results of the rounds over the indices that are left; some are broken off."""
        if not indices:
            if where is not None and not is_true(evaluate(where, env, self.scope)):
                return {(shown, tuple(env.items()), ON): ONE}
            return self.block(block, env, shown, after)
        (name, domain), *rest = indices
        needed = after | self.names(tree)
        results: Results = {(shown, tuple(env.items()), ON): ONE}
        for element in elements(evaluate(domain, env, self.scope)):
            following: Results = {}
            for (outputs, now, status), p in results.items():
                if status != ON:
                    add(following, (outputs, now, status), p)
                    continue
                inner = {**dict(now), name: element}
                found = self.loop(tree, rest, where, block, inner, outputs, needed)
                for (more, then, goes), q in found.items():
                    add(following, (more, self.frozen(dict(then), needed), goes), p * q)
            results = following
        restored: Results = {}
        for (outputs, now, status), p in results.items():
            then_env = {key: value for key, value in now if key != name}
            if name in env:
                then_env[name] = env[name]
            add(restored, (outputs, tuple(then_env.items()), status), p)
        return restored

    def repeated(
        self,
        condition: Tree,
        block: list[Tree],
        env: Env,
        shown: tuple[str, ...],
        after: frozenset[str],
    ) -> Results:
        """Return the results of a `while` by linear equations over what stands at its head."""
        silent: dict[Frozen, dict[Frozen, Number]] = {}
        constant: dict[Frozen, Results] = {}
        start = self.frozen(env, after)
        pending = [start]
        while pending:
            head = pending.pop()
            if head in silent:
                continue
            silent[head], constant[head] = {}, {}
            if not is_true(evaluate(condition, dict(head), self.scope)):
                add(constant[head], (shown, head, ON), ONE)
                continue
            for (outputs, then, status), p in self.block(block, dict(head), shown, after).items():
                if status == BROKEN:
                    add(constant[head], (outputs, then, ON), p)
                elif status != ON:
                    add(constant[head], (outputs, then, status), p)
                elif outputs == shown:
                    add(silent[head], then, p)
                    pending.append(then)
                else:
                    rest = self.repeated(condition, block, dict(then), outputs, after)
                    for key, q in rest.items():
                        add(constant[head], key, p * q)
        return solved(silent, constant, shown)[start]

    def law(self, drawn: Tree, env: Env) -> Law:
        """Return what may be drawn next."""
        return distribution(drawn, env, self.scope)

    def called(self, target: Tree, env: Env) -> tuple[Mechanism, Env]:
        """Return a mechanism that is called, and its inputs, which must lie in their sets."""
        _, name, arguments = target
        tree = self.scope.of("mechanism", name)
        if tree is None:
            raise NotCovered(f"running {name}")
        given = {key: kept(evaluate(value, env, self.scope)) for key, value in arguments}
        key = name, tuple(given.items())
        if key not in self._called:
            self._called[key] = self._instance(tree, given)
        return self._called[key]

    def _instance(self, tree: Tree, given: Env) -> tuple[Mechanism, Env]:
        """Return a mechanism with these parameters and inputs."""
        names = [part[1] for part in tree[3] if part[0] in ("input", "public")]
        parameters = {key: value for key, value in given.items() if key not in names}
        mechanism = Mechanism(tree, parameters, self.scope)
        inputs = {name: given[name] for name in names}
        if inputs not in mechanism.universe():
            raise WrongProgram(f"{mechanism.text_of(inputs)} is no input of {mechanism.name}")
        return mechanism, inputs

    def ran(self, target: Tree, env: Env, shown: tuple[str, ...]) -> Results:
        """Return the results of `run other(...)`: its outputs, and the caller's environment."""
        mechanism, inputs = self.called(target, env)
        inner = {**mechanism.parameters, **inputs}
        found: Results = {}
        for (outputs, _, status), p in self.block(
            mechanism.body, inner, shown, frozenset()
        ).items():
            goes = ON if status == STOPPED else status
            add(found, (outputs, tuple(env.items()), goes), p)
        return found

    def sample(self, place: Tree, drawn: Tree, env: Env, shown: tuple[str, ...]) -> Results:
        """Return the results of `place ~ distribution`, a called mechanism included."""
        found: Results = {}
        is_call = drawn[0] in ("call", "name") and self.scope.of("mechanism", drawn[1]) is not None
        if not is_call:
            for value, p in self.law(drawn, env).items():
                add(found, (shown, tuple(self.assigned(place, value, env).items()), ON), p)
            return found
        mechanism, inputs = self.called(
            ("call", drawn[1], drawn[2] if drawn[0] == "call" else []), env
        )
        for (value, status), p in Drawing(self).values(mechanism, inputs).items():
            if status == DIVERGED:
                add(found, (shown, (), DIVERGED), p)
            else:
                add(found, (shown, tuple(self.assigned(place, value, env).items()), ON), p)
        return found


class Drawing(Runs):
    """Runs of a mechanism that is sampled: it outputs one value, which nobody else sees."""

    def __init__(self, caller: Runs) -> None:
        """Share the caller's work."""
        super().__init__(caller.scope, caller.work, 1)
        self.caller = caller

    def values(self, mechanism: Mechanism, inputs: Env) -> dict[tuple[Value, str], Number]:
        """Return how likely each value is drawn."""
        found: dict[tuple[Value, str], Number] = {}
        for (outputs, status), p in self.row(mechanism, inputs).items():
            if status == DIVERGED:
                add(found, (None, DIVERGED), p)
            elif status == CUT or len(outputs) != 1:
                raise WrongProgram(f"{mechanism.name} does not output exactly once")
            else:
                add(found, (self.seen[outputs[0]], ON), p)
        self.caller.work = self.work
        return found


def check_range(name: str, value: Value, env: Env) -> None:
    """Raise unless the value lies in the declared set of a local."""
    allowed = env.get(f"{name} in")
    if allowed is not None and value not in allowed.items:
        raise WrongProgram(f"{name} := {as_text(value)} leaves its range")


def add(results: dict[Any, Number], key: object, p: Number) -> None:
    """Add a probability to an entry."""
    if p != 0:
        results[key] = results.get(key, Fraction(0)) + p


def behind_loop(results: Results) -> Results:
    """Return the results of a loop, in which those that left it go on."""
    joined: Results = {}
    for (outputs, now, status), p in results.items():
        add(joined, (outputs, now, ON if status == BROKEN else status), p)
    return joined


def solved(
    silent: dict[Any, dict[Any, Number]],
    constant: dict[Any, dict[Any, Number]],
    shown: tuple[str, ...],
) -> dict[Any, dict[Any, Number]]:
    """Return f with f(e) = constant(e) + Σ silent(e, e') f(e'), by elimination."""
    leaves = {head for head, results in constant.items() if results}
    while True:
        more = {head for head in silent if head not in leaves and leaves & silent[head].keys()}
        if not more:
            break
        leaves |= more
    f = {head: dict(results) for head, results in constant.items()}
    rows = {head: dict(row) for head, row in silent.items()}
    for head in silent:
        if head not in leaves:
            f[head], rows[head] = {(shown, (), DIVERGED): ONE}, {}
    # Eliminate one head after another from all rows: e = c + q e + ... gives (c + ...)/(1 - q).
    for head in silent:
        stays = 1 - rows[head].pop(head, Fraction(0))
        if sign(stays - 1):
            f[head] = {key: p / stays for key, p in f[head].items()}
            rows[head] = {then: p / stays for then, p in rows[head].items()}
        for other in silent:
            weight = rows[other].pop(head, None) if other != head else None
            if weight is not None:
                for key, p in f[head].items():
                    add(f[other], key, weight * p)
                for then, p in rows[head].items():
                    add(rows[other], then, weight * p)
    return f
