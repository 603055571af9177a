"""Mechanisms: their inputs, which of them are neighbors, and what each statement does.

The state of a run is what is still to do, and the values of the variables that this reads. What is
to do is a list: the statements of a block come in front of it, and behind them what goes on with
the loop around them, or gives a caller its variables back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

from dpcheck.reference import runs
from dpcheck.reference.distributions import distribution
from dpcheck.reference.expressions import Env, Scope, evaluate, holds, visited, words
from dpcheck.reference.numbers import ONE, summed
from dpcheck.reference.syntax import Block, Tree, named
from dpcheck.reference.values import (
    Arr,
    End,
    NotCovered,
    Sym,
    Value,
    Work,
    WrongProgram,
    as_text,
    elements,
    in_one_order,
    integer,
)


class Todo:
    """A statement, and what is to do behind it; `reads` are the words that occur in all of that.

    Besides statements of the language there stand: behind a loop ("end",); before each round of a
    `for` ("bind", name, element), and behind them ("left", name, its outer value if any); behind a
    call ("return", variables of the caller).
    """

    def __init__(self, tree: Tree, then: Todo | None) -> None:
        self.tree, self.then = tree, then
        self.reads: frozenset[str] = frozenset()
        if tree[0] != "return":
            self.reads = words(tree) | (then.reads if then is not None else frozenset())


@dataclass(frozen=True, eq=False)
class State:
    """What is to do, and the variables that it reads with their declared sets and indices."""

    todo: Todo | None
    kept: tuple[tuple[str, Value], ...] = ()


MOST_CHOICES = 20
"""Bounds the lengths of histories after which one query is made and choices may differ."""


class Mechanism(runs.Model):
    """A mechanism with the values of its parameters.

    Points are the values of the inputs and, for each query that is `fixed`, an array of choices,
    one for each length of the history (outputs and queries) after which it is made; after longer
    ones the last is made again. A position of a path is what was shown last with the state of the
    run then, `None` at the beginning; or how the run ended.

    Where queries are ahead, the variable `query` has the length of the history as far as it counts,
    the choices (name, ((length, choice), ...)), and whether they are shown: no formula counts them.
    For an analyst who `adapts` it is a draw of what is `offered`: of so many each choice.
    Without an analyst every choice is made, and the lengths of histories then are kept in `made`.
    """

    def __init__(self, tree: Tree, given: Env, scope: Scope, work: Work) -> None:
        super().__init__(scope, work)
        _, self.name, parameters, self.body = tree
        self.parameters = with_defaults(parameters, given, scope)
        self.inputs = [part for part in self.body if part[0] in ("input", "public")]
        queries = list(queries_in(self.body))
        self.queries = frozenset(name for name, _, _ in queries)
        self.offered: dict[Any, int] = {}
        self.fixed = {name: domain for name, domain, how in queries if how}
        self.made: dict[str, set[int]] = {name: set() for name in self.fixed}
        self.names = [*(name for _, name, *_ in self.inputs), *self.fixed]
        if queries and ("run" in words(self.body) or len(set(self.names)) < len(self.names)):
            raise NotCovered("an analyst beside `run`, or a query called as an input")
        self.seen: dict[str, Value] = {}
        self.todo, self._state = cache(Todo), cache(State)  # the same ones: compared often

    # --- inputs ----------------------------------------------------------------------------

    @cached_property
    def points(self) -> list[runs.Point]:  # type: ignore[override]
        """Return every value of the inputs; analysts are too many to be listed."""
        if self.queries:
            raise NotCovered("an analyst who chooses")
        return self.every_input()

    def every_input(self) -> list[runs.Point]:
        """Return every value of the inputs, the last one changing fastest."""
        found: list[runs.Point] = [()]
        for _, _, indices, domain, where in self.inputs:
            longer = []
            for earlier in found:
                for value in self._values_of(indices, domain, self.env(earlier)):
                    self.work.spend()
                    if holds(where, self.env((*earlier, value)), self.scope):
                        longer.append((*earlier, value))
            found = longer
        return found

    def _values_of(self, indices: Tree, domain: Tree, env: Env) -> Iterable[Value]:
        """Return the values of one input: elements of its set, or arrays of them."""
        items = tuple(map(in_one_order, elements(evaluate(domain, env, self.scope))))
        if indices is None:
            return items
        places = elements(evaluate(indices, env, self.scope))
        return (array(places, chosen) for chosen in product(items, repeat=len(places)))

    def are_neighbors(self, s: runs.Point, t: runs.Point) -> bool:
        """Return whether two inputs are different, agree on what is public, and are adjacent."""
        self.work.spend()
        n = len(self.inputs)
        both = zip(self.inputs, s, t, strict=False)
        is_known = any(part[0] == "public" and a != b for part, a, b in both)
        if s == t or is_known or s[n:] != t[n:]:
            return False
        s, t = s[:n], t[:n]
        clauses = [part[1] for part in self.body if part[0] == "adjacent"]
        found = [self._relates(each, *way) for each in clauses for way in ((s, t), (t, s))]
        return any(found)  # a mistake is not hidden by another clause

    def _relates(self, clause: Block, s: runs.Point, t: runs.Point) -> bool:
        """Return whether one clause relates the input s to the input t, in this order."""
        if clause == (("name", "all"),):
            return True
        if all(tree[0] == "tuple" for tree in clause):
            pairs = [evaluate(tree, self.parameters, self.scope) for tree in clause]
            kinds = [part[0] for part in self.inputs] * 2  # s and t agree on public inputs
            private = [v for kind, v in zip(kinds, (*s, *t), strict=True) if kind == "input"]
            return tuple(private) in pairs
        primed = {f"{name}'": value for name, value in zip(self.names, t, strict=False)}
        return holds(clause[0], {**self.env(s), **primed}, self.scope)

    def text_of(self, point: runs.Point) -> str:
        """Write an input the way people see it: `q = [1, 0], t = 0`, wherever arrays begin."""
        plain = [Arr(1, value.items) if isinstance(value, Arr) else value for value in point]
        parts = zip(self.names, map(as_text, plain), strict=False)
        return ", ".join(f"{name} = {text}" for name, text in parts) or "start"

    def point_of(self, text: str) -> runs.Point | None:
        """Return the input, with the choices of an analyst, that is written so."""
        arrays = "".join(rf"(?:, |^){name} = \[(.*)\]" for name in self.fixed)
        found = re.fullmatch(f"(.*?){arrays}", text)
        inputs, *written = found.groups() if found else (None,)
        point = None if inputs is None else self._input_of(inputs)
        if point is None:
            return None
        for (name, domain), part in zip(self.fixed.items(), written, strict=True):
            known = {as_text(c): c for c in elements(self.value(domain, self.parameters))}
            longest_first = map(re.escape, sorted(known, key=len, reverse=True))
            chosen = re.findall("|".join(longest_first), part)
            if len(chosen) > len(self.lengths[name]):
                raise NotCovered("an analyst who chooses after histories of more lengths")
            point = (*point, Arr(1, tuple(known[each] for each in chosen)))
        return point if self.text_of(point) == text else None

    def _input_of(self, text: str) -> runs.Point | None:
        """Return the input that is written so: of all others only beginnings are looked at."""
        found: list[tuple[runs.Point, str]] = [((), text if self.inputs else "")]
        for k, (_, name, indices, domain, where) in enumerate(self.inputs):
            head = f", {name} = " if k else f"{name} = "
            longer = []
            for earlier, rest in found:
                env = self.env(earlier)
                if rest.startswith(head):
                    for value, after in self._begun_by(rest[len(head) :], indices, domain, env):
                        if holds(where, self.env((*earlier, value)), self.scope):
                            longer.append(((*earlier, value), after))
            found = longer
        return next((point for point, rest in found if not rest), None)

    def _begun_by(
        self, text: str, indices: Tree, domain: Tree, env: Env
    ) -> Iterator[tuple[Value, str]]:
        """Yield the values of one input that a text begins with, and the rest of the text."""
        is_any = domain == ("name", "integers") and isinstance(self.scope.named("integers"), Sym)
        known = () if is_any else elements(evaluate(domain, env, self.scope))
        texts = [(value, as_text(value)) for value in map(in_one_order, known)]

        def one(text: str) -> Iterator[tuple[Value, str]]:
            self.work.spend()
            number = re.match("-?[0-9]+", text) if is_any else None
            if number:
                yield int(number[0]), text[number.end() :]
            for value, written in texts:
                if text.startswith(written):
                    yield value, text[len(written) :]

        if indices is None:
            yield from one(text)
            return
        places = elements(evaluate(indices, env, self.scope))
        found: list[tuple[tuple[Value, ...], str]] = [((), f", {text[1:]}" if places else text[1:])]
        for _ in places:
            found = [
                ((*items, value), after)
                for items, rest in found
                if rest.startswith(", ")
                for value, after in one(rest[2:])
            ]
        for items, rest in found:
            if text.startswith("[") and rest.startswith("]"):
                yield array(places, items), rest[1:]

    def env(self, point: runs.Point) -> Env:
        """Return the names that a formula may read."""
        return {**self.parameters, **dict(zip(self.names, point, strict=False))}

    # --- runs ------------------------------------------------------------------------------

    def start(self, point: runs.Point) -> State:
        """Return the state in which a run begins."""
        return self.begun(point, self.analyst(point), is_shown=True)

    def first(self, point: runs.Point) -> runs.Position:
        """Return where a path begins."""
        return None, self.begun(point, self.analyst(point), is_shown=False)

    def begun(self, point: runs.Point, analyst: Value, *, is_shown: bool) -> State:
        """Return the state in which a run begins; without an analyst, every choice is made."""
        env = {**self.env(point[: len(self.inputs)]), "query": (0, analyst, is_shown)}
        return self.state(self.before(None, self.body), env)

    def after(self, position: runs.Position) -> runs.Law:
        """Return the law of the next position."""
        return {position: ONE} if isinstance(position, End) else self.ahead(position[1])

    def atom(self, tree: Tree, position: runs.Position, env: Env) -> bool:
        """Return whether an atom holds at a position."""
        shown = None if isinstance(position, End) else position[0]
        return self.is_true(tree, {**env, "output": None if shown is None else self.seen[shown]})

    def before(self, then: Todo | None, block: Block) -> Todo | None:
        """Return the statements of a block with something behind them."""
        for statement in reversed(block):
            then = self.todo(statement, then)
        return then

    def state(self, todo: Todo | None, env: Env) -> State:
        """Return the same object for the same variables of those that are read."""
        reads = todo.reads if todo is not None else ()
        kept = tuple(sorted(each for each in env.items() if each[0].split()[0] in reads))
        return self._state(todo, kept)

    def transitions(self, state: State) -> runs.Law:
        """Do one statement."""
        todo, env = state.todo, dict(state.kept)
        if todo is None:
            return {runs.Result(End.STOPPED): ONE}
        match todo.tree:
            case ("~" | "prior", place, drawn):

                def then(value: Value) -> runs.Node:
                    if isinstance(value, End):
                        return runs.Result(value)
                    return self.state(todo.then, self.assigned(place, value, env))

                return summed((then(value), p) for value, p in self.drawn_law(drawn, env).items())
            case ("query", (name, domain), how):
                return self.asked(name, elements(self.value(domain, env)), how, env, todo.then)
            case ("output", tree):
                value = in_one_order(self.value(tree, env))
                shown = as_text(value)
                known = self.seen.setdefault(shown, value)
                assert known == value, "different values are written differently"
                return {runs.Result((shown, self.state(todo.then, longer(env)))): ONE}
        return {self.state(*self.done(todo.tree, env, todo)): ONE}

    def done(self, statement: Tree, env: Env, todo: Todo) -> tuple[Todo | None, Env]:
        """Do a statement that neither shows nor draws: return what is to do, and the variables."""
        then = todo.then
        match statement:
            case ("input" | "public" | "adjacent" | "end", *_):
                return then, env
            case (":=", place, value):
                return then, self.assigned(place, self.value(value, env), env)
            case ("var", name, indices, domain, value):
                return then, self.declared(name, indices, domain, value, env)
            case ("if", condition, block, otherwise):
                chosen = block if holds(condition, env, self.scope) else otherwise or ()
                return self.before(then, chosen), env
            case ("loop", block):
                return self.before(self.todo(("end",), then), block), env
            case ("while", condition, block):
                return self.before(todo, block) if holds(condition, env, self.scope) else then, env
            case ("for", name, domain, block):
                outer = tuple(pair for pair in env.items() if pair[0] == name)
                then = self.todo(("left", name, outer), then)
                for element in reversed(visited(domain, env, self.scope)):
                    then = self.todo(("bind", name, element), self.before(then, block))
                return then, env
            case ("bind", name, element):
                return then, {**env, name: element}
            case ("left", *_):
                return then, given_back(statement, env)
            case ("alone", ("name", "break")):
                while then is not None and then.tree != ("end",):
                    if then.tree[0] == "left":
                        env = given_back(then.tree, env)
                    then = then.then
                return then, env
            case ("stop",):  # ends the innermost call, or the run
                while then is not None and then.tree[0] != "return":
                    then = then.then
                return then, env
            case ("run", target):
                body, inner = self.called(target, env)
                kept = self.state(then, env).kept
                return self.before(self.todo(("return", kept), then), body), inner
            case ("return", kept):
                return then, dict(kept)
        raise NotCovered(f"the statement `{statement[0]}`")

    def assigned(self, place: Tree, value: Value, env: Env) -> Env:
        """Return the environment after an assignment, declared ranges checked."""
        match place:
            case ("name", name):
                value = laid_out(env.get(f"{name} at"), value)
                return {**env, name: in_range(name, value, env)}
            case ("index", (_, name), (index,)):
                items = env[name].with_item(self.value(index, env), in_range(name, value, env))
                return {**env, name: items}
        _, names = place
        if not isinstance(value, tuple) or len(value) != len(names):
            raise WrongProgram(f"{as_text(value)} does not fit the pattern")
        return {**env, **{n: in_range(n, part, env) for n, part in zip(names, value, strict=True)}}

    def declared(self, name: str, indices: Tree, domain: Tree, value: Tree, env: Env) -> Env:
        """Return the environment after `var`, what is declared of x kept as `x in` and `x at`."""
        around = {**env, name: None}
        env = {key: known for key, known in env.items() if key != f"{name} in"}
        if domain is not None:
            env[f"{name} in"] = self.value(domain, around)
        first = None if value is None else in_range(name, self.value(value, around), env)
        if indices is None:
            return {**env, name: first}
        places = elements(self.value(indices, around))
        env[f"{name} at"] = places
        if isinstance(first, Arr):
            return {**env, name: laid_out(places, first)}
        return {**env, name: array(places, (first,) * len(places))}

    # --- analysts --------------------------------------------------------------------------

    def asked(
        self, name: str, choices: Sequence[Value], how: str | None, env: Env, then: Todo | None
    ) -> runs.Law:
        """Return what a query shows: the choice after this history, or one that is drawn."""
        if "query" not in env:
            raise NotCovered("an analyst who chooses in what is called")
        length, analyst, is_shown = env["query"]
        if how and analyst is None:
            self.made[name].add(length)
        elif how:
            choices = [[each for n, each in dict(analyst)[name] if n <= length][-1]]
        found = []
        for choice in choices:
            text = f"{name} = {as_text(choice)}"
            if not how and self.offered.setdefault(text, len(choices)) != len(choices):
                raise NotCovered("queries of one name and different sets")
            after = self.state(then, longer(self.assigned(("name", name), choice, env)))
            found.append((runs.Result((text, after)) if is_shown else after, ONE / len(choices)))
        return summed(found)

    def analyst(self, point: runs.Point) -> Value:
        """Return the choices at a point, with the lengths of histories that they are made after."""
        arrays = zip(self.fixed, point[len(self.inputs) :], strict=True)
        return tuple(
            (name, tuple(zip(self.lengths[name], a.items, strict=False))) for name, a in arrays
        )

    @cached_property
    def lengths(self) -> dict[str, list[int]]:
        """The lengths of histories after which runs make each fixed query, the first ones."""
        level = {self.begun(point, None, is_shown=True) for point in self.every_input()}
        seen = set[State]()
        while level and max(map(len, self.made.values())) < MOST_CHOICES:
            seen |= level
            ahead = (shown for state in level for shown in self.ahead(state))
            level = {shown[1] for shown in ahead if not isinstance(shown, End)} - seen
        return {name: sorted(lengths) for name, lengths in self.made.items()}

    # --- draws and calls -------------------------------------------------------------------

    def drawn_law(self, drawn: Tree, env: Env) -> runs.Law:
        """Return what is drawn; of a mechanism that is called, its only output, or its end."""
        if drawn[0] not in ("call", "name") or self.scope.of("mechanism", drawn[1]) is None:
            return distribution(drawn, env, self.scope)
        body, inner = self.called(drawn, env)
        start = self.state(self.before(None, body), inner)
        found = []
        for (outputs, end), p in self.row(start, most=1).items():
            if end is End.CUT or (end is End.STOPPED and not outputs):
                raise WrongProgram(f"{drawn[1]} does not output exactly once")
            found.append((self.seen[outputs[0]] if end is End.STOPPED else end, p))
        return summed(found)

    def called(self, target: Tree, env: Env) -> tuple[Block, Env]:
        """Return the body of a mechanism that is called, with its parameters and inputs."""
        tree = self.scope.of("mechanism", target[1])
        if tree is None:
            raise NotCovered(f"running {target[1]}")
        arguments = map(named, target[2]) if target[0] == "call" else ()
        given = {str(name): self.value(value, env) for name, value in arguments}
        inputs = given.keys() - dict(tree[2]).keys()
        given |= {name: in_one_order(given[name]) for name in inputs}
        inner = {**with_defaults(tree[2], given, self.scope), **given}
        for kind, *declared in tree[3]:
            if kind in ("input", "public") and declared[1] is not None:
                name, indices, *_ = declared
                inner[name] = laid_out(elements(evaluate(indices, inner, self.scope)), inner[name])
        return tree[3], inner


def array(places: tuple[Value, ...], items: Iterable[Value]) -> Arr:
    """Return an array with these indices."""
    return Arr(integer(places[0]) if places else 1, tuple(items))


def laid_out(places: tuple[Value, ...] | None, value: Value) -> Value:
    """Return what an array with these indices holds of another array, or a tuple: all its items."""
    if places is None:
        return value
    items = value.items if isinstance(value, Arr) else value
    if not isinstance(items, tuple) or len(items) != len(places):
        raise WrongProgram(f"{as_text(value)} does not fit the array")
    return array(places, items)


def with_defaults(parameters: Tree, given: Env, scope: Scope) -> Env:
    """Return values of parameters, of which later defaults read earlier ones."""
    env: Env = {}
    for name, default in parameters:
        env[name] = given[name] if name in given else evaluate(default, env, scope)
    return env


def queries_in(tree: Tree) -> Iterator[Tree]:
    """Yield name, set and `fixed`, or None, of the queries in a tree."""
    match tree:
        case ("query", (name, domain), how):
            yield name, domain, how
        case tuple():
            for part in tree:
                yield from queries_in(part)


def longer(env: Env) -> Env:
    """Return the environment after an output or a query, if queries are ahead."""
    if "query" not in env:
        return env
    length, analyst, is_shown = env["query"]
    ends = [pairs[-1][0] for _, pairs in analyst or () if pairs]
    counts = analyst is None or length < max(ends, default=0)
    return {**env, "query": (length + counts, analyst, is_shown)}


def given_back(left: Tree, env: Env) -> Env:
    """Return the environment in which the name of a loop means what it meant before the loop."""
    _, name, outer = left
    return {**{key: value for key, value in env.items() if key != name}, **dict(outer)}


def in_range(name: str, value: Value, env: Env) -> Value:
    """Return a value that lies in the declared set of a local; any other is a mistake."""
    allowed = env.get(f"{name} in")
    if allowed is not None and value not in allowed.items:
        raise WrongProgram(f"{name} := {as_text(value)} leaves its range")
    return in_one_order(value)
