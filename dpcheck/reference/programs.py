"""Mechanisms: their inputs, which of them are neighbors, and what each statement does.

The state of a run is what is still to do, and the values of the variables that this reads. What is
to do is a list: the statements of a block come in front of it, and behind them what goes on with
the loop around them, or gives a caller its variables back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import product
from math import comb, prod
from typing import Any

from dpcheck.reference.distributions import distribution, has_no_weight
from dpcheck.reference.expressions import Env, Scope, evaluate, holds, is_equal
from dpcheck.reference.numbers import ONE, Number
from dpcheck.reference.runs import DIVERGED, STOPPED, Law, Model, Runs, State, Transitions, add
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
)

Frozen = tuple[tuple[str, Value], ...]
"""Variables with their values; the declared set of x is kept as the variable `x in`."""
INITIAL, OUTPUT = "initial", "output"


class Mechanism(Model):
    """A mechanism with the values of its parameters; its records may be a sample of the inputs'.

    points: every value of the inputs, the last input changing fastest. Positions of paths: what was
    seen last (`initial`, `output` and its text, `stopped` or `diverged`), and the state of the run.
    """

    def __init__(self, tree: Tree, given: Env, program: Program, kept: Number = ONE) -> None:
        """Give parameters their defaults; `kept` is the chance of each record to be kept."""
        super().__init__(program.scope, program.runs)
        _, self.name, parameters, parts = tree
        if asks(parts):
            raise NotCovered("an analyst who chooses")
        self.program, self.kept = program, kept
        self.parameters = with_defaults(parameters, given, self.scope)
        if given.keys() - self.parameters.keys():
            raise WrongProgram(f"{self.name} has no such parameter")
        self.inputs = [part for part in parts if part[0] in ("input", "public")]
        self.adjacency = [part[1] for part in parts if part[0] == "adjacent"]
        self.priors = [part[1][2] for part in parts if part[0] == "prior"]
        statements = [part for part in parts if part[0] not in ("input", "public", "adjacent")]
        self.body = [part[1] if part[0] == "prior" else part for part in statements]
        self._starts: dict[str, State] = {}

    def every_point(self) -> list[Env]:
        """Return every value of the inputs, or all initial states."""
        found: list[Env] = [{}]
        for _, name, indices, domain, where in self.inputs:
            found = [
                {**earlier, name: value}
                for earlier in found
                for value in self._values_of(indices, domain, self.env(earlier))
                if holds(where, {**self.env(earlier), name: value}, self.scope)
            ]
        return [inputs for inputs in found if self._is_possible(inputs)] or found

    def _is_possible(self, inputs: Env) -> bool:
        """Return whether each prior that reads inputs alone gives them some weight."""
        env = self.env(inputs)
        for drawn in self.priors:
            with suppress(WrongProgram):
                if has_no_weight(drawn, env, self.scope):
                    return False
        return True

    def _values_of(self, indices: Tree, domain: Tree, env: Env) -> Iterable[Value]:
        """Return the values of one input: elements of its set, or arrays of them."""
        items = elements(evaluate(domain, env, self.scope))
        if indices is None:
            return items
        places = elements(evaluate(indices, env, self.scope))
        first = integer(places[0]) if places else 1
        return (Arr(first, chosen) for chosen in product(items, repeat=len(places)))

    def are_neighbors(self, s: Env, t: Env) -> bool:
        """Return whether two inputs are different, agree on what is public, and are adjacent."""
        self.runs.work.spend()
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
        return holds(clause[0], {**self.env(s), **primed}, self.scope)

    def text_of(self, point: Env) -> str:
        """Write an input the way people see it: `q = [1, 0], t = 0`, wherever arrays begin."""
        plain = {k: Arr(1, v.items) if isinstance(v, Arr) else v for k, v in point.items()}
        return ", ".join(f"{name} = {as_text(value)}" for name, value in plain.items()) or "start"

    def env(self, point: Env) -> Env:
        """Return the names that a formula may read."""
        return {**self.parameters, **point}

    def start(self, point: Env) -> State:
        """Return the state in which a run begins."""
        text = self.text_of(point)
        if text not in self._starts:
            samples = [(self.env(sample), p) for sample, p in self._samples(point)]
            body = self.program.before(None, self.body)
            self._starts[text] = (Todo(("inputs", samples), (), body), ())
        return self._starts[text]

    def _samples(self, point: Env) -> Iterator[tuple[Env, Number]]:
        """Yield the inputs that a run may have, some records left out, and how likely each is."""
        kinds = [kind for kind, *_ in self.inputs]
        ways = (
            kept_of(value, self.kept) if kind == "input" and self.kept != 1 else [(value, ONE)]
            for kind, value in zip(kinds, point.values(), strict=True)
        )
        for chosen in product(*map(list, ways)):
            values = [value for value, _ in chosen]
            yield dict(zip(point, values, strict=True)), prod((p for _, p in chosen), start=ONE)

    def first_position(self, point: Env) -> Any:  # noqa: ANN401 - positions differ by model
        """Return where a path begins."""
        return INITIAL, None, self.start(point)

    def after(self, position: Any) -> Law:  # noqa: ANN401 - positions differ by model
        """Return the law of the next position."""
        state = position[2]
        if state is None:
            return {position: ONE}
        return {
            (seen, None, None) if isinstance(seen, str) else (OUTPUT, *seen): p
            for seen, p in self.runs.ahead(state).items()
        }

    def atom(self, tree: Tree, position: Any, env: Env) -> bool:  # noqa: ANN401 - see above
        """Return whether an atom holds at a position."""
        kind, shown, _ = position
        if tree in (("name", STOPPED, False), ("name", DIVERGED, False)):
            return bool(kind == tree[1])
        value = None if shown is None else self.program.seen[shown]
        return self.is_true(tree, {**env, "output": value})


class Todo:
    """A statement, and what is to do behind it; `reads` are the words that occur in all of that.

    A loop or a call that has begun stands there with its `moment`: ("head",) of a `while`; of a
    `for` ("enter", index), ("round", index, element) and ("left", index, outer variable), behind
    any loop ("left", 0, ...); behind a call ("return", variables of the caller).
    """

    def __init__(self, tree: Tree, moment: tuple[Any, ...], then: Todo | None) -> None:
        self.tree, self.moment, self.then = tree, moment, then
        self.reads: frozenset[str] = frozenset()
        if moment[:1] != ("return",):
            self.reads = words(tree) | (then.reads if then is not None else frozenset())


class Program:
    """What statements do. seen: the values of outputs by their texts."""

    def __init__(self, scope: Scope, work: Work) -> None:
        self.scope = scope
        self.runs = Runs(self.transitions, work)
        self.seen: dict[str, Value] = {}
        self._todos: dict[Any, Todo] = {}
        self._called: dict[Any, tuple[Mechanism, Env]] = {}

    def todo(self, tree: Tree, moment: tuple[Any, ...], then: Todo | None) -> Todo:
        """Return the same object for the same things to do: states are compared often."""
        key = id(tree), moment, id(then)
        if key not in self._todos:
            self._todos[key] = Todo(tree, moment, then)
        return self._todos[key]

    def before(self, then: Todo | None, block: list[Tree]) -> Todo | None:
        """Return the statements of a block with something behind them."""
        for statement in reversed(block):
            then = self.todo(statement, (), then)
        return then

    def at(self, todo: Todo | None, env: Env) -> tuple[Todo | None, Frozen]:
        """Return the state of a run that goes on there, without what is read no more."""
        reads = todo.reads if todo is not None else ()
        return todo, tuple((name, env[name]) for name in sorted(env) if name.split()[0] in reads)

    def on(self, todo: Todo | None, env: Env) -> Transitions:
        """Return the one transition of what shows nothing and draws nothing."""
        return [(ONE, None, self.at(todo, env))]

    def value(self, tree: Tree, env: Env) -> Value:
        """Return the value of an expression."""
        return evaluate(tree, env, self.scope)

    def transitions(self, state: Any) -> Transitions:  # noqa: ANN401 - what `at` returns
        """Do one statement."""
        todo, frozen = state
        if todo is None:
            return []
        then, env = todo.then, dict(frozen)
        match todo.tree:
            case ("inputs", samples):
                return [(p, None, self.at(then, sample)) for sample, p in samples]
            case ("output", value):
                return [(ONE, self.shown(self.value(value, env)), self.at(then, env))]
            case ("stop",):
                return self.on(behind_call(then), env)
            case ("break",):
                return self.broken(then, env)
            case (":=", place, value):
                return self.on(then, self.assigned(place, self.value(value, env), env))
            case ("~", place, drawn):
                return self.drawn(place, drawn, env, then)
            case ("var", name, indices, domain, value):
                return self.on(then, self.declared(name, indices, domain, value, env))
            case ("if", branches, otherwise):
                chosen = (block for c, block in branches if holds(c, env, self.scope))
                return self.on(self.before(then, next(chosen, otherwise)), env)
            case ("for", *_):
                return self.for_loop(todo, env)
            case ("while", *_):
                return self.while_loop(todo, env)
            case ("run", target):
                return self.ran(target, todo, env)
            case ("forever",):
                return [(ONE, None, state)]
        raise NotCovered(f"the statement `{todo.tree[0]}`")

    def shown(self, value: Value) -> str:
        """Return an output as text."""
        text = as_text(value)
        known = self.seen.setdefault(text, value)
        assert is_equal(known, value), "different values are written differently"
        return text

    def assigned(self, place: Tree, value: Value, env: Env) -> Env:
        """Return the environment after an assignment, declared ranges checked."""
        match place:
            case ("local", name):
                check_range(name, value, env)
                return {**env, name: value}
            case ("cell", name, index):
                check_range(name, value, env)
                return {**env, name: env[name].with_item(self.value(index, env), value)}
        _, names = place
        if not isinstance(value, tuple) or len(value) != len(names):
            raise WrongProgram(f"{as_text(value)} does not fit the pattern")
        for name, part in zip(names, value, strict=True):
            env = self.assigned(("local", name), part, env)
        return env

    def declared(self, name: str, indices: Tree, domain: Tree, value: Tree, env: Env) -> Env:
        """Return the environment after `var`."""
        env = {**env, name: None}
        env.pop(f"{name} in", None)
        if domain is not None:
            env[f"{name} in"] = self.value(domain, env)
        first = None if value is None else self.value(value, env)
        if first is not None:
            check_range(name, first, env)
        if indices is None:
            return {**env, name: first}
        places = elements(self.value(indices, env))
        return {**env, name: Arr(integer(places[0]) if places else 1, (first,) * len(places))}

    # --- loops -----------------------------------------------------------------------------

    def while_loop(self, todo: Todo, env: Env) -> Transitions:
        """Enter a loop, look whether there is another round, or leave it."""
        _, condition, block = todo.tree
        match todo.moment:
            case ():
                left = self.todo(todo.tree, ("left", 0), todo.then)
                return self.on(self.todo(todo.tree, ("head",), left), env)
            case ("head",) if holds(condition, env, self.scope):
                return self.on(self.before(todo, block), env)
        return self.on(todo.then, env)

    def for_loop(self, todo: Todo, env: Env) -> Transitions:
        """Enter a loop over one index, take a round, or give the name its outer variable back."""
        _, indices, where, block = todo.tree
        moment, level, *rest = todo.moment or ("enter", 0)
        name, domain = indices[level]
        match moment:
            case "left":
                return self.on(todo.then, given_back(todo, env))
            case "enter":
                outer = tuple(pair for pair in env.items() if pair[0] == name)
                then = self.todo(todo.tree, ("left", level, outer), todo.then)
                for element in reversed(elements(self.value(domain, env))):
                    then = self.todo(todo.tree, ("round", level, element), then)
                return self.on(then, env)
        (element,) = rest
        env = {**env, name: element}
        if level + 1 < len(indices):
            return self.on(self.todo(todo.tree, ("enter", level + 1), todo.then), env)
        return self.on(self.before(todo.then, block if holds(where, env, self.scope) else []), env)

    def broken(self, then: Todo | None, env: Env) -> Transitions:
        """Leave the innermost loop, with all of its indices."""
        while then is not None and then.moment[:2] != ("left", 0):
            env = given_back(then, env) if then.moment[:1] == ("left",) else env
            then = then.then
        return self.on(then, env)

    # --- draws and calls -------------------------------------------------------------------

    def drawn(self, place: Tree, drawn: Tree, env: Env, then: Todo | None) -> Transitions:
        """Do `place ~ distribution`, where a mechanism that is called is one."""
        is_call = drawn[0] in ("call", "name") and self.scope.of("mechanism", drawn[1]) is not None
        law = self.shown_by(drawn, env) if is_call else distribution(drawn, env, self.scope)
        silence = self.todo(FOREVER, (), None)
        return [
            (p, None, self.at(silence, {}) if value is None else self.at(then, after))
            for value, p in law.items()
            for after in [env if value is None else self.assigned(place, value, env)]
        ]

    def shown_by(self, target: Tree, env: Env) -> Law:
        """Return what a mechanism that outputs once shows to its caller alone; None if nothing."""
        mechanism, inner = self.called(target, env)
        found: Law = {}
        start = self.at(self.before(None, mechanism.body), inner)
        for (outputs, status), p in self.runs.row(start, 1).items():
            if (len(outputs), status) not in ((1, STOPPED), (0, DIVERGED), (1, DIVERGED)):
                raise WrongProgram(f"{mechanism.name} does not output exactly once")
            add(found, None if status == DIVERGED else self.seen[outputs[0]], p)
        return found

    def ran(self, target: Tree, todo: Todo, env: Env) -> Transitions:
        """Do `run other(...)`: its statements on its variables, then go on with the caller's."""
        if todo.moment:
            return self.on(todo.then, dict(todo.moment[1]))
        mechanism, inner = self.called(target, env)
        _, kept = self.at(todo.then, env)
        behind = self.todo(todo.tree, ("return", kept), todo.then)
        return self.on(self.before(behind, mechanism.body), inner)

    def called(self, target: Tree, env: Env) -> tuple[Mechanism, Env]:
        """Return a mechanism that is called, with its parameters and inputs, which must be some."""
        name, arguments = target[1], target[2] if target[0] == "call" else []
        given = {key: self.value(value, env) for key, value in arguments}
        key = name, tuple(given.items())
        if key not in self._called:
            tree = self.scope.of("mechanism", name)
            if tree is None:
                raise NotCovered(f"running {name}")
            names = [part[1] for part in tree[3] if part[0] in ("input", "public")]
            parameters = {key: value for key, value in given.items() if key not in names}
            mechanism = Mechanism(tree, parameters, self)
            inputs = {name: given[name] for name in names}
            if inputs not in mechanism.points:
                raise WrongProgram(f"{mechanism.text_of(inputs)} is no input of {mechanism.name}")
            self._called[key] = mechanism, mechanism.env(inputs)
        return self._called[key]


FOREVER = ("forever",)
"""What remains where a mechanism that is called never shows its output."""


def with_defaults(parameters: Tree, given: Env, scope: Scope) -> Env:
    """Return values of parameters, of which later defaults read earlier ones."""
    env: Env = {}
    for name, default in parameters:
        if name not in given and default is None:
            raise WrongProgram(f"{name} has no value")
        env[name] = given[name] if name in given else evaluate(default, env, scope)
    return env


def kept_of(records: Value, kept: Number) -> Iterator[tuple[Value, Number]]:
    """Yield how many of some equal records, or of those of each cell, are kept, and how likely."""
    if isinstance(records, Arr):
        for cells in product(*(list(kept_of(each, kept)) for each in records.items)):
            yield Arr(records.lo, tuple(n for n, _ in cells)), prod((p for _, p in cells), start=1)
        return
    n = integer(records)
    for k in range(n + 1):
        yield k, comb(n, k) * kept**k * (1 - kept) ** (n - k)


def words(tree: Tree) -> frozenset[str]:
    """Return the words that occur in a tree."""
    if isinstance(tree, str):
        return frozenset((tree,))
    return frozenset().union(*map(words, tree)) if isinstance(tree, list | tuple) else frozenset()


def asks(tree: Tree) -> bool:
    """Return whether there is a `query` among statements."""
    if not isinstance(tree, list | tuple):
        return False
    return tuple(tree[:1]) == ("query",) or any(map(asks, tree))


def behind_call(todo: Todo | None) -> Todo | None:
    """Return what is to do where `stop` ends the innermost call, or the run."""
    while todo is not None and todo.moment[:1] != ("return",):
        todo = todo.then
    return todo


def given_back(left: Todo, env: Env) -> Env:
    """Return the environment in which the name of a loop means what it meant before the loop."""
    _, level, outer = left.moment
    name, _ = left.tree[1][level]
    return {**{key: value for key, value in env.items() if key != name}, **dict(outer)}


def check_range(name: str, value: Value, env: Env) -> None:
    """Raise unless the value lies in the declared set of a local."""
    allowed = env.get(f"{name} in")
    if allowed is not None and value not in allowed.items:
        raise WrongProgram(f"{name} := {as_text(value)} leaves its range")
