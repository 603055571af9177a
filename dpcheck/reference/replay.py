"""A witness derived again from a model: the claim, inputs, neighbors, as_budget, and chances."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpcheck.reference.chains import Chain
from dpcheck.reference.claims import INFINITE, Question, target_of, whole_row
from dpcheck.reference.expressions import (
    Env,
    compare,
    each,
    evaluate,
    is_equal,
    unrolled,
)
from dpcheck.reference.files import Loaded
from dpcheck.reference.formulas import forever, formula, progress
from dpcheck.reference.numbers import ZERO, Budget, Number, made, sign
from dpcheck.reference.runs import DIVERGED, STOPPED, Model, Outputs, Point, Row
from dpcheck.reference.syntax import Tree, named, parsed_claim, parsed_part, parsed_target
from dpcheck.reference.values import NotCovered

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
        self.target = target_of(self.claim["target"], loaded)
        self.sides = tuple(side["input"] for side in fields["sides"])
        self.wanted = [self.written(side["probability"]) for side in fields["sides"]]

    def derived(self) -> Derived:
        """Return what the text says of the two sides.

        Raises `Contradicted` where that is something else, and `NotCovered`, `WrongProgram`.
        """
        self._check_claim()
        if "value" in self.fields:
            self._check_value()
        question, points = self._question()
        if self.fields["proof"] not in ("event", "sum"):
            return Derived(self.sides, self._of_formula(question, points))
        self._check_budget(question)
        if self.fields["proof"] == "sum":
            self._check_parts(points)
            return Derived(self.sides, tuple(self.wanted))
        chances = tuple(self.chance(question.model, point) for point in points)
        for side, chance, wanted in zip(self.sides, chances, self.wanted, strict=True):
            _same(chance, wanted, f"the chance at {side}")
        return Derived(self.sides, chances)

    # --- what is asked ---------------------------------------------------------------------

    def _check_claim(self) -> None:
        """Look for the claim in its line of the model; names of a `for` around it have values."""
        line, scope = self.claim["line"], self.loaded.scope
        written = parsed_target(self.claim["target"])
        part = parsed_part(self.claim["for"]) if "for" in self.claim else None
        declared = None if part is None else scope.of("param", part[0])
        for question, env in unrolled(self.loaded.questions, {}, scope):
            _, _, target, values, at, claim, begins = question
            is_there = begins == line and part in (values, declared and declared[1:])
            if (
                is_there
                and self._is_target(target, written, env)
                and self._is_written((at, claim), (self.at, self.tree), env)
            ):
                return
        raise Contradicted(f"line {line} of the model has no such claim")

    def _is_written(self, tree: Tree, written: Tree, env: Env) -> bool:
        """Return whether a witness has a part of a claim, with values for names."""
        if not isinstance(tree, tuple):
            return bool(tree == written)
        if tree[:1] == ("name",) and tree[1] in env:
            return is_equal(env[tree[1]], evaluate(written, {}, self.loaded.scope))
        if not isinstance(written, tuple) or len(tree) != len(written):
            return False
        return all(self._is_written(a, b, env) for a, b in zip(tree, written, strict=True))

    def _is_target(self, tree: Tree, written: Tree, env: Env) -> bool:
        """Return whether a witness has a target, in whose arguments values are computed."""
        (name, value), (other, known) = named(tree), named(written)
        if value[0] != "call" or known[0] != "call":
            scope = self.loaded.scope
            return name == other and is_equal(
                evaluate(value, env, scope), evaluate(known, {}, scope)
            )
        (_, of, parts), (_, also, others) = value, known
        return (name, of, len(parts)) == (other, also, len(others)) and all(
            self._is_target(a, b, env) for a, b in zip(parts, others, strict=True)
        )

    def _check_value(self) -> None:
        """Look whether the value of a parameter is one that it may have, and the claim is about."""
        scope, (name, _, _) = self.loaded.scope, self.fields["value"].partition(" = ")
        declared = scope.of("param", name)
        if declared is None:
            raise Contradicted(f"the model has no parameter {name}")
        asked, ends = parsed_part(self.claim["for"])
        value = scope.constant(name)
        for word, end in (*declared[2], *ends):
            is_finite = end != INFINITE
            if asked != name or (is_finite and not compare(word, value, evaluate(end, {}, scope))):
                raise Contradicted(f"{self.fields['value']} is no value that the claim is about")

    def _question(self) -> tuple[Question, list[Point]]:
        """Return the claim about the sides of the witness alone, and their points."""
        question = Question(self.target, None)
        points = [_point(question.model, text) for text in self.sides]
        if len(points) == 2:
            s, t = points
            if t not in self.target.neighbors(s, [t]):
                raise Contradicted(f"{self.sides[0]} and {self.sides[1]} are no neighbors")
            question.pairs = [(s, t)]
        question.selected = question.where(self.at, points)
        if not question.selected:
            raise Contradicted(f"`at {self.claim['at']}` holds at neither input")
        return question, points

    def _check_budget(self, question: Question) -> None:
        """Compare ε and δ of the claim with those in the file."""
        if self.tree[:2] != ("call", "dp"):
            raise NotCovered("an event of another claim than dp")
        epsilon, *delta = self.tree[2]
        logs = tuple((Fraction(a), Fraction(m)) for m, a in self.fields["ln"])
        written = Budget(Fraction(self.fields["rational"]), logs)
        if (question.budget(epsilon, {}) - written).sign() != 0:
            raise Contradicted(f"the budget is not that of {self.claim['text']}")
        _same(
            question.number(delta[0], {}) if delta else ZERO,
            self.written(self.fields["delta"]),
            "delta",
        )

    # --- chances ---------------------------------------------------------------------------

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
        return [tuple(sequence) for sequence in self.fields["event"]]

    def chance(self, model: Model, point: Point) -> Number:
        """Return how likely the event of the witness is at a point, by following its outputs."""
        event = self._event()
        shown = {each[:-1] if each[-1:] in ENDS else each for each in event}
        begun = {outputs[:n] for outputs in shown for n in range(len(outputs) + 1)}
        row = model.row(model.start(point), lambda outputs: outputs in begun)
        return sum((p for each in event for key, p in row.items() if _begins(each, *key)), ZERO)

    def _check_parts(self, points: list[Point]) -> None:
        """Compare the laws of the parts of a composition with those in the file."""
        parts, runs = self.fields["parts"], self.target.runs
        times = [k for k, part in enumerate(parts) for _ in range(part["times"])]
        if len(times) != len(runs):
            raise Contradicted("a part runs another number of times")
        for model, k in dict.fromkeys(zip(runs, times, strict=True)):
            for side, point in enumerate(points):
                self._check_law(whole_row(model, point), parts[k]["outputs"], side)

    def _check_law(self, row: Row, outputs: list[Any], side: int) -> None:
        """Compare the law of a part, as far as it is in the file."""
        total = sum(each[2 + side] for each in outputs)
        for shown, _, *weights in outputs:
            status = STOPPED if shown[-1:] == [None] else DIVERGED
            p = row.get((tuple(shown[:-1]), status), ZERO)
            _same(p, Fraction(weights[side], total), "the chance of an output of a part")

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
        question, points = self._question()
        happens = self._happens(question)
        found = []
        for k, point in enumerate(points):
            generator = random.Random(f"{seed} {k}")
            runs = (question.model.drawn(point, generator) for _ in range(n))
            found.append(sum(happens(point, *run) for run in runs))
        return found

    def _happens(self, question: Question) -> Callable[[Point, Outputs, str], bool]:
        """Return what tells whether a run of a point belongs to the event."""
        if self.fields["proof"] == "event":
            event = self._event()
            return lambda _, *seen: any(_begins(each, *seen) for each in event)
        if self.tree[0] not in ("P", "D"):
            raise NotCovered("drawing for a conjunction")
        model = question.model
        if isinstance(model, Chain):
            raise NotCovered("drawing the paths of an explicit chain")

        def happens(point: Point, outputs: Outputs, status: str) -> bool:
            rest = formula(self.tree[-1], model.env(point), model.scope)
            for shown in (None, *outputs):
                rest = progress(rest, model.holds_at((shown, None)))
            return forever(rest, model.holds_at(status))

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


def _paths(tree: Tree, env: Env, question: Question) -> Iterator[tuple[Tree, Env]]:
    """Yield the path formulas of a claim, with the values of the names that bind them."""
    match tree:
        case ("P" | "D", *_, path):
            yield path, env
        case ("&" | "|", left, right):
            yield from _paths(left, env, question)
            yield from _paths(right, env, question)
        case ("binder", _, *source, body):
            for inner in each(source, env, question.model.scope):
                yield from _paths(body, inner, question)


def _same(found: Number, written: Number, what: str) -> None:
    if sign(found - written) != 0:
        raise Contradicted(f"{what} is another one")
