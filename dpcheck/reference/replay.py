"""A witness derived again from a model: the claim, inputs, neighbors, budget, and chances."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpcheck.reference.chains import Chain
from dpcheck.reference.claims import Point, Question, is_declared, is_sample, model_of
from dpcheck.reference.expressions import (
    Env,
    Scope,
    as_budget,
    bindings,
    compare,
    evaluate,
    is_equal,
)
from dpcheck.reference.files import Loaded
from dpcheck.reference.formulas import forever, formula, progress
from dpcheck.reference.numbers import ZERO, Budget, Number, made, sign
from dpcheck.reference.programs import INITIAL, OUTPUT
from dpcheck.reference.runs import DIVERGED, STOPPED, Model, Outputs, Row
from dpcheck.reference.syntax import Parser, Tree, by_place, parsed_claim
from dpcheck.reference.values import NotCovered, number

STEPS = 2_000_000
"""Bounds the statements that are run to derive one violation again."""
ENDS = ((None,), (DIVERGED,))
Begun = tuple[str | None, ...]
"""Outputs, and in the end None or `diverged`; without one, all that begin so."""


class Contradicted(Exception):
    """The model's text says something else than the witness."""


@dataclass(frozen=True)
class Derived:
    """The two inputs (or one) of a witness, with the chances of the event, exactly."""

    inputs: tuple[str, ...]
    chances: tuple[Number, ...]


class Replay:
    """A witness of a violation beside the text of the model."""

    def __init__(self, loaded: Loaded, fields: dict[str, Any]) -> None:
        """Read the claim; raises `NotCovered` for evidence of another kind."""
        self.loaded, self.fields, self.claim = loaded, fields, fields["claim"]
        if fields["says"] != "violated":
            raise NotCovered("only violations are, and it says that the claim holds")
        loaded.work.steps = STEPS
        self.tree = parsed_claim(self.claim["text"])
        self.at = parsed_claim(self.claim["at"]) if "at" in self.claim else None
        self.target = Parser(self.claim["target"]).target()
        self.distance = 1
        while self.target[1] == "group" and self.target[0] == "call":
            (_, target), (_, distance) = self.target[2]
            self.distance *= int(number(evaluate(distance, {}, loaded.scope)))
            self.target = target
        self.sides = [side["input"] for side in fields["sides"]]
        self.wanted = [self.written(side["probability"]) for side in fields["sides"]]

    def derived(self) -> Derived:
        """Return what the text says of the two sides.

        Raises `Contradicted` where that is something else, and `NotCovered`, `WrongProgram`.
        """
        self._check_claim()
        if "value" in self.fields:
            self._check_value()
        if self.fields["proof"] == "sum":
            return Derived(tuple(self.sides), self._of_composition())
        question, points = self._question(self.target)
        if self.fields["proof"] == "event":
            self._check_budget(question)
            chances = tuple(self.chance(question.model, point) for point in points)
            for side, chance, wanted in zip(self.sides, chances, self.wanted, strict=True):
                _same(chance, wanted, f"the chance at {side}")
        else:
            chances = self._of_formula(question, points)
        return Derived(tuple(self.sides), chances)

    def _check_claim(self) -> None:
        """Look for the claim in its line of the model; names of a `for` around it have values."""
        line, scope = self.claim["line"], self.loaded.scope
        asked = Parser(self.claim["for"]).values() if "for" in self.claim else None
        declared = None if asked is None else scope.of("param", asked[0])
        written, target = (self.at, self.tree), Parser(self.claim["target"]).target()
        for question, env in _questions(self.loaded.questions, {}, scope):
            _, _, asked_target, values, *parts, begins = question
            is_asked = begins == line and asked in (values, declared and declared[1:])
            is_claim = is_asked and _is_written(tuple(parts), written, env, scope)
            if is_claim and _is_target(asked_target, target, env, scope):
                return
        raise Contradicted(f"line {line} of the model has no such claim")

    def _check_value(self) -> None:
        """Look whether the value of a parameter is one that it may have, and the claim is about."""
        scope, (name, _, _) = self.loaded.scope, self.fields["value"].partition(" = ")
        declared = scope.of("param", name)
        if declared is None:
            raise Contradicted(f"the model has no parameter {name}")
        asked, ends = Parser(self.claim["for"]).values()
        value = scope.constant(name)
        for sign_, end in (*declared[2], *ends):
            is_finite = end != ("name", "inf", False)
            if asked != name or (is_finite and not compare(sign_, value, evaluate(end, {}, scope))):
                raise Contradicted(f"{self.fields['value']} is no value that the claim is about")

    def _question(self, target: Tree) -> tuple[Question, list[Point]]:
        """Return the claim about the pair of the witness alone, its `at` among the points."""
        model = model_of(self.loaded, target)
        points = [_point(model, text) for text in self.sides]
        pairs = [(points[0], points[1])] if len(points) == 2 else []
        for pair in pairs:
            self._check_neighbors(model, *pair)
        question = Question(model, points, pairs)
        question.selected = question.where(self.at, points)
        if not question.selected:
            raise Contradicted(f"`at {self.claim['at']}` holds at neither input")
        return question, points

    def _check_neighbors(self, model: Model, s: Point, t: Point) -> None:
        """Look for t at the distance of a `group`, which is 1 without one."""
        reached = [s]
        for _ in range(self.distance - 1):
            reached += [u for v in list(reached) for u in model.neighbors_of(v) if u not in reached]
        if not any(model.are_neighbors(v, t) for v in reached):
            raise Contradicted(f"{model.text_of(s)} and {model.text_of(t)} are no neighbors")

    def _check_budget(self, question: Question) -> None:
        """Compare ε and δ of the claim with those in the file."""
        if self.tree[:2] != ("call", "dp"):
            raise NotCovered("an event of another claim than dp")
        epsilon, *delta = (question.value(value, {}) for value in by_place(self.tree[2]))
        logs = tuple((Fraction(a), Fraction(m)) for m, a in self.fields["ln"])
        written = Budget(Fraction(self.fields["rational"]), logs)
        if (as_budget(epsilon) - written).sign() != 0:
            raise Contradicted(f"the budget is not that of {self.claim['text']}")
        _same(number(delta[0]) if delta else ZERO, self.written(self.fields["delta"]), "delta")

    def _of_formula(self, question: Question, points: list[Point]) -> tuple[Number, ...]:
        """Return the chances of a P or D, or of its part of a conjunction; the claim is false."""
        if all(question.truth(self.tree, point, {}) for point in question.selected):
            raise Contradicted(f"{self.claim['text']} is true at these inputs")
        for path, env in _paths(self.tree, {}, question):
            chances = tuple(question.chance(path, point, env) for point in points)
            if all(sign(p - q) == 0 for p, q in zip(chances, self.wanted, strict=True)):
                return chances
        raise Contradicted("no formula of the claim has these chances")

    def _event(self) -> list[Begun]:
        return [tuple(each) for each in self.fields["event"]]

    def chance(self, model: Model, point: Point) -> Number:
        """Return how likely the event of the witness is at a point, by following its outputs."""
        event = self._event()
        shown: Any = frozenset(each[:-1] if each[-1:] in ENDS else each for each in event)
        row = model.row(point, shown)  # a run that has shown one of them is cut where it shows more
        chances = (p for each in event for key, p in row.items() if _begins(each, *key))
        return sum(chances, ZERO)

    def _of_composition(self) -> tuple[Number, ...]:
        """Compare the laws of all parts with those in the file; their sum is `verify`'s."""
        _, name, arguments = self.target
        if name != "compose":
            raise NotCovered(f"the target {self.claim['target']}")
        parts: list[tuple[Tree, int]] = []
        for _, tree in arguments:
            is_part = tree[0] == "name" or is_sample(tree, self.loaded)
            if is_part or (tree[0] == "call" and is_declared(tree[1], self.loaded)):
                parts.append((tree, 1))
            else:
                times = int(number(evaluate(tree, {}, self.loaded.scope)))
                parts[-1] = (parts[-1][0], times)
        for (tree, times), part in zip(parts, self.fields["parts"], strict=True):
            question, points = self._question(tree)
            if times != part["times"]:
                raise Contradicted("a part runs another number of times")
            for k, point in enumerate(points):
                self._check_law(question.model.row(point), part["outputs"], k)
            self._check_budget(question)
        return tuple(self.wanted)

    def _check_law(self, row: Row, outputs: list[Any], k: int) -> None:
        total = sum(each[2 + k] for each in outputs)
        for shown, _, *weights in outputs:
            status = STOPPED if shown[-1:] == [None] else DIVERGED
            p = row.get((tuple(shown[:-1]), status), ZERO)
            _same(p, Fraction(weights[k], total), "the chance of an output of a part")

    def written(self, value: Any) -> Number:  # noqa: ANN401 - JSON
        """Return a number of the file."""
        if isinstance(value, str):
            return Fraction(value)
        unit = Fraction(self.fields.get("unit", "1"))
        over, under = (
            {unit * n: Fraction(c) for c, n in (x if isinstance(x, list) else [[x, 0]]) if c}
            for x in value
        )
        return made(over, under)

    # --- drawing ---------------------------------------------------------------------------

    def frequencies(self, n: int, seed: int) -> list[int]:
        """Return in how many of n drawn runs of each side the event happens."""
        if self.fields["proof"] == "sum":
            raise NotCovered("drawing the runs of compositions")
        question, points = self._question(self.target)
        happens = self._happens(question)
        found = []
        for k, point in enumerate(points):
            generator, start = random.Random(f"{seed} {k}"), question.model.start(point)
            runs = (question.model.runs.drawn(start, generator) for _ in range(n))
            found.append(sum(happens(point, *run) for run in runs))
        return found

    def _happens(self, question: Question) -> Callable[[Point, Outputs, str], bool]:
        """Return what tells whether a run of a point belongs to the event."""
        if self.fields["proof"] == "event":
            event = self._event()
            return lambda _, *seen: any(_begins(each, *seen) for each in event)
        if self.tree[0] not in ("P", "D"):
            raise NotCovered("drawing for a conjunction")
        if isinstance(question.model, Chain):
            raise NotCovered("drawing the paths of an explicit chain")

        def happens(point: Point, outputs: Outputs, status: str) -> bool:
            rest = formula(self.tree[-1], question.model.env(point), question.model.scope)
            for seen in ((INITIAL, None), *((OUTPUT, shown) for shown in outputs)):
                rest = progress(rest, question.holds_at((*seen, None)))
            return forever(rest, question.holds_at((status, None, None)))

        return happens


def _begins(begun: Begun, seen: Outputs, status: str) -> bool:
    """Return whether a run that was seen is, or begins as, a sequence of the event."""
    if begun[-1:] in ENDS:
        return begun[:-1] == seen and status == (begun[-1] or STOPPED)
    return seen[: len(begun)] == begun


def _point(model: Model, text: str) -> Point:
    """Return the input or state that is written so."""
    for point in [*model.points, *(model.states if isinstance(model, Chain) else ())]:
        if model.text_of(point) == text:
            return point
    raise Contradicted(f"the model has no input {text}")


def _questions(items: Sequence[Tree], env: Env, scope: Scope) -> Iterator[tuple[Tree, Env]]:
    """Yield all questions of a file, with the values of names that a `for` around them has."""
    for item in items:
        if item[0] == "question":
            yield item, env
        else:
            _, indices, where, inner = item
            for each in bindings(indices, where, env, scope):
                yield from _questions(inner, each, scope)


def _is_written(tree: Tree, written: Tree, env: Env, scope: Scope) -> bool:
    """Return whether a witness has a part of a claim, with its value for a name that has one."""
    if not isinstance(tree, list | tuple):
        return bool(tree == written)
    if tree[:1] == ("name",) and not tree[2] and tree[1] in env:
        return is_equal(env[tree[1]], evaluate(written, {}, scope))
    if not isinstance(written, list | tuple) or len(tree) != len(written):
        return False
    return all(_is_written(*parts, env, scope) for parts in zip(tree, written, strict=True))


def _is_target(tree: Tree, written: Tree, env: Env, scope: Scope) -> bool:
    """Return whether a witness has a target, or an argument of it, in which values are computed."""
    if tree[0] != "call" or written[0] != "call":
        return is_equal(evaluate(tree, env, scope), evaluate(written, {}, scope))
    (_, name, arguments), (_, other, others) = tree, written
    return (name, [key for key, _ in arguments]) == (other, [key for key, _ in others]) and all(
        _is_target(a, b, env, scope) for (_, a), (_, b) in zip(arguments, others, strict=True)
    )


def _paths(tree: Tree, env: Env, question: Question) -> list[tuple[Tree, Env]]:
    """Return the path formulas of a claim, with the values of the names that bind them."""
    match tree:
        case ("P" | "D", *_, path):
            return [(path, env)]
        case ("&" | "|", parts):
            return [found for part in parts for found in _paths(part, env, question)]
        case ("binder", _, variable, domain, _, body):
            values = question.value(domain, env).items
            return [found for e in values for found in _paths(body, {**env, variable: e}, question)]
    return []


def _same(found: Number, written: Number, what: str) -> None:
    if sign(found - written) != 0:
        raise Contradicted(f"{what} is another one")
