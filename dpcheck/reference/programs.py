"""All runs of a mechanism with their exact probabilities, by recursion on its text.

A result of a statement is (outputs, environment, status), where the status says how it goes on:

    on        the statement is done and what follows runs
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

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any

from dpcheck.reference.distributions import Law, distribution, has_no_weight
from dpcheck.reference.expressions import Env, Scope, evaluate, is_equal
from dpcheck.reference.numbers import Number, sign
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import (
    Arr,
    NotCovered,
    Value,
    Work,
    WrongProgram,
    as_text,
    elements,
    integer,
    is_true,
)

ON, STOPPED, DIVERGED, CUT, BROKEN = "on", "stopped", "diverged", "cut", "broken"
ONE = Fraction(1)

Outputs = tuple[str, ...]
Frozen = tuple[tuple[str, Value], ...]
Results = dict[tuple[Outputs, Frozen, str], Number]
Row = dict[tuple[Outputs, str], Number]
"""How likely it is to show these outputs and then be stopped, diverged or cut."""
Rest = int | frozenset[Outputs]
"""How many more outputs are followed, or which sequences: a run that shows others is cut."""
Names = frozenset[str]


class Mechanism:
    """A mechanism with the values of its parameters."""

    def __init__(self, tree: Tree, given: Env, scope: Scope) -> None:
        """Give parameters their defaults in the scope of those before them."""
        _, self.name, parameters, parts = tree
        if asks(parts):
            raise NotCovered("an analyst who chooses")
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
        self.priors = [part[1][2] for part in parts if part[0] == "prior"]
        statements = [part for part in parts if part[0] not in ("input", "public", "adjacent")]
        self.body = [part[1] if part[0] == "prior" else part for part in statements]

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
        return [inputs for inputs in found if self._is_possible(inputs)] or found

    def _is_possible(self, inputs: Env) -> bool:
        """Return whether each prior that reads inputs alone gives them some weight."""
        env = {**self.parameters, **inputs}
        for drawn in self.priors:
            with suppress(WrongProgram):
                if has_no_weight(drawn, env, self.scope):
                    return False
        return True

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
        found = [self._relates(clause, *way) for clause in self.adjacency for way in ways]
        return any(found)  # a mistake is not hidden by another clause

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
    """The runs of a program, and how much work may still be done.

    seen: the values of outputs by their texts. Statements that are met again in an environment that
    is equal, as far as they and what follows read it, are not run again.
    """

    def __init__(self, scope: Scope, work: Work) -> None:
        """Know nothing yet."""
        self.scope, self.work = scope, work
        self.seen: dict[str, Value] = {}
        self._known: dict[Any, Any] = {}
        self._names: dict[int, tuple[Tree, Names]] = {}

    def row(self, mechanism: Mechanism, inputs: Env, rest: Rest) -> Row:
        """Return what a run of one input shows; a body that is done has stopped."""
        row: Row = {}
        env = {**mechanism.parameters, **inputs}
        for (outputs, _, status), p in self.block(mechanism.body, env, Names(), rest).items():
            add(row, (outputs, STOPPED if status == ON else status), p)
        return row

    def block(self, block: list[Tree], env: Env, after: Names, rest: Rest) -> Results:
        """Return the results of statements; `after` are names that are read behind them."""
        needed = [after]
        for statement in reversed(block):
            needed.append(needed[-1] | self.names(statement))
        results: Results = {((), frozen(env, needed.pop()), ON): ONE}
        for statement in block:
            results = self.then(results, self.step, statement, needed.pop(), rest)
        return results

    def then(
        self, results: Results, step: Callable[..., Results], tree: Tree, after: Names, rest: Rest
    ) -> Results:
        """Return what becomes of results of which those that go on take one more step."""
        found: Results = {}
        for (outputs, env, status), p in results.items():
            if status != ON:
                add(found, (outputs, env, status), p)
                continue
            following = step(tree, env, after, behind(rest, outputs))
            self.work.spend(len(following))
            for (more, now, goes), q in following.items():
                add(found, (outputs + more, now, goes), p * q)
        return found

    def step(self, tree: Tree, env: Frozen, after: Names, rest: Rest) -> Results:
        """Return the results of a statement, with what is read behind it."""
        key = id(tree), env, after, rest if self.names(tree) & {"output", "run"} else 0
        if key not in self._known:
            self.work.spend(10)
            found: Results = {}
            for (outputs, now, goes), p in self.statement(tree, dict(env), after, rest).items():
                add(found, (outputs, frozen(dict(now), after), goes), p)
            self._known[key] = found
        known: Results = self._known[key]
        return known

    def names(self, tree: Tree) -> Names:
        """Return the words that occur in a tree."""
        if isinstance(tree, str):
            return frozenset((tree,))
        if not isinstance(tree, list | tuple):
            return Names()
        known = self._names.get(id(tree))
        if known is None:
            found = Names().union(*map(self.names, tree))
            known = self._names[id(tree)] = tree, found  # the tree is kept, and so is its id
        return known[1]

    # --- statements ------------------------------------------------------------------------

    def statement(self, tree: Tree, env: Env, after: Names, rest: Rest) -> Results:
        """Return the results of one statement."""
        match tree:
            case ("output", value):
                return self.output(evaluate(value, env, self.scope), env, rest)
            case ("stop",):
                return {((), (), STOPPED): ONE}
            case ("break",):
                return {((), tuple(env.items()), BROKEN): ONE}
            case (":=", place, value):
                return on(self.assigned(place, evaluate(value, env, self.scope), env))
            case ("~", place, drawn):
                return self.sample(place, drawn, env)
            case ("var", name, indices, domain, value):
                return on(self.declared(name, indices, domain, value, env))
            case ("if", branches, otherwise):
                truths = (block for c, block in branches if is_true(evaluate(c, env, self.scope)))
                return self.block(next(truths, otherwise), env, after, rest)
            case ("repeat", times, block):
                return self.repeat(
                    integer(evaluate(times, env, self.scope)), block, env, after, rest
                )
            case ("for", indices, where, block):
                needed = after | self.names(tree)
                return behind_loop(self.loop((indices, where, block), env, needed, rest))
            case ("while", *_):
                needed = after | self.names(tree)
                return self.repeated(tree, frozen(env, needed), needed, rest)
            case ("run", target):
                return self.ran(target, env, rest)
        raise NotCovered(f"the statement `{tree[0]}`")

    def output(self, value: Value, env: Env, rest: Rest) -> Results:
        """Return the result of showing a value."""
        text = as_text(value)
        known = self.seen.setdefault(text, value)
        assert is_equal(known, value), "different values are written differently"
        is_cut = rest == 0 or (not isinstance(rest, int) and not behind(rest, (text,)))
        return {((), (), CUT): ONE} if is_cut else {((text,), tuple(env.items()), ON): ONE}

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

    def repeat(self, n: int, block: list[Tree], env: Env, after: Names, rest: Rest) -> Results:
        """Return the results of so many rounds."""
        needed = after | self.names(block)
        results = on(env)
        for _ in range(n):
            results = self.then(results, self.round, block, needed, rest)
        return behind_loop(results)

    def round(self, block: list[Tree], env: Frozen, after: Names, rest: Rest) -> Results:
        """Return the results of a block."""
        return self.block(block, dict(env), after, rest)

    def loop(self, tree: Tree, env: Env, needed: Names, rest: Rest) -> Results:
        """Return the results of the rounds over the indices that are left; some are broken off."""
        indices, where, block = tree
        if not indices:
            if where is not None and not is_true(evaluate(where, env, self.scope)):
                return on(env)
            return self.block(block, env, needed, rest)
        (name, domain), *inner = indices

        def turn(element: Value, now: Frozen, after: Names, rest: Rest) -> Results:
            return self.loop((inner, where, block), {**dict(now), name: element}, after, rest)

        results = on(env)
        for element in elements(evaluate(domain, env, self.scope)):
            results = self.then(results, turn, element, needed, rest)
        outer = {name: env[name]} if name in env else {}
        restored: Results = {}
        for (outputs, now, status), p in results.items():
            kept = {key: value for key, value in now if key != name}
            add(restored, (outputs, tuple({**kept, **outer}.items()), status), p)
        return restored

    def repeated(self, tree: Tree, start: Frozen, after: Names, rest: Rest) -> Results:
        """Return the results of a `while` by linear equations over what stands at its head."""
        _, condition, block = tree
        silent: dict[Frozen, dict[Frozen, Number]] = {}
        constant: dict[Frozen, Results] = {}
        pending = [start]
        while pending:
            head = pending.pop()
            if head in silent:
                continue
            silent[head], constant[head] = {}, {}
            if not is_true(evaluate(condition, dict(head), self.scope)):
                add(constant[head], ((), head, ON), ONE)
                continue
            for (outputs, then, status), p in self.block(block, dict(head), after, rest).items():
                if status != ON:
                    goes = ON if status == BROKEN else status
                    add(constant[head], (outputs, then, goes), p)
                elif not outputs:
                    add(silent[head], then, p)
                    pending.append(then)
                else:
                    found = {(outputs, then, ON): p}
                    further = self.then(found, self.step, tree, after, rest)
                    for key, q in further.items():
                        add(constant[head], key, q)
        return solved(silent, constant, self.work)[start]

    # --- draws and calls -------------------------------------------------------------------

    def law(self, drawn: Tree, env: Env) -> Law:
        """Return what may be drawn next."""
        return distribution(drawn, env, self.scope)

    def sample(self, place: Tree, drawn: Tree, env: Env) -> Results:
        """Return the results of `place ~ distribution`, a called mechanism included."""
        found: Results = {}
        is_call = drawn[0] in ("call", "name") and self.scope.of("mechanism", drawn[1]) is not None
        law = self.shown_by(drawn, env) if is_call else self.law(drawn, env)
        for value, p in law.items():
            if value is None:
                add(found, ((), (), DIVERGED), p)
            else:
                add(found, ((), tuple(self.assigned(place, value, env).items()), ON), p)
        return found

    def shown_by(self, target: Tree, env: Env) -> Law:
        """Return what a mechanism that outputs once shows to its caller alone; None if nothing."""
        mechanism, inner = self.called(target, env)
        found: Law = {}
        for (outputs, _, status), p in self.block(mechanism.body, inner, Names(), 1).items():
            if status == CUT or (len(outputs) != 1 and status != DIVERGED):
                raise WrongProgram(f"{mechanism.name} does not output exactly once")
            add(found, None if status == DIVERGED else self.seen[outputs[0]], p)
        return found

    def ran(self, target: Tree, env: Env, rest: Rest) -> Results:
        """Return the results of `run other(...)`: its outputs, and the caller's environment."""
        mechanism, inner = self.called(target, env)
        found: Results = {}
        for (outputs, _, status), p in self.block(mechanism.body, inner, Names(), rest).items():
            goes = ON if status == STOPPED else status
            add(found, (outputs, tuple(env.items()), goes), p)
        return found

    def called(self, target: Tree, env: Env) -> tuple[Mechanism, Env]:
        """Return a mechanism that is called, with its parameters and inputs, which must be some."""
        name, arguments = target[1], target[2] if target[0] == "call" else []
        given = {key: evaluate(value, env, self.scope) for key, value in arguments}
        key = name, tuple(given.items())
        if key not in self._known:
            tree = self.scope.of("mechanism", name)
            if tree is None:
                raise NotCovered(f"running {name}")
            names = [part[1] for part in tree[3] if part[0] in ("input", "public")]
            parameters = {key: value for key, value in given.items() if key not in names}
            mechanism = Mechanism(tree, parameters, self.scope)
            inputs = {name: given[name] for name in names}
            if inputs not in mechanism.universe():
                raise WrongProgram(f"{mechanism.text_of(inputs)} is no input of {mechanism.name}")
            self._known[key] = mechanism, {**mechanism.parameters, **inputs}
        mechanism, inner = self._known[key]
        return mechanism, inner


def asks(tree: Tree) -> bool:
    """Return whether there is a `query` among statements."""
    if not isinstance(tree, list | tuple):
        return False
    return tuple(tree[:1]) == ("query",) or any(map(asks, tree))


def on(env: Env) -> Results:
    """Return the result of a statement that shows nothing and draws nothing."""
    return {((), tuple(env.items()), ON): ONE}


def behind(rest: Rest, outputs: Outputs) -> Rest:
    """Return what is still followed after some outputs."""
    if isinstance(rest, int):
        return rest - len(outputs)
    n = len(outputs)
    return frozenset(each[n:] for each in rest if each[:n] == outputs) if n else rest


def frozen(env: Env, needed: Names) -> Frozen:
    """Return an environment as something hashable, without what nobody reads any more."""
    return tuple((name, env[name]) for name in sorted(env) if name.split()[0] in needed)


def check_range(name: str, value: Value, env: Env) -> None:
    """Raise unless the value lies in the declared set of a local."""
    allowed = env.get(f"{name} in")
    if allowed is not None and value not in allowed.items:
        raise WrongProgram(f"{name} := {as_text(value)} leaves its range")


def add(results: dict[Any, Number], key: object, p: Number) -> None:
    """Add a probability to an entry."""
    if p:
        known = results.get(key)
        results[key] = p if known is None else known + p


def behind_loop(results: Results) -> Results:
    """Return the results of a loop, in which those that left it go on."""
    joined: Results = {}
    for (outputs, now, status), p in results.items():
        add(joined, (outputs, now, ON if status == BROKEN else status), p)
    return joined


def solved(
    silent: dict[Any, dict[Any, Number]],
    constant: dict[Any, dict[Any, Number]],
    work: Work,
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
            f[head], rows[head] = {((), (), DIVERGED): ONE}, {}
    # Eliminate one head after another from all rows: e = c + q e + ... gives (c + ...)/(1 - q).
    for head in silent:
        work.spend(len(silent))
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
