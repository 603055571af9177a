"""A witness derived again from a model: inputs, neighbors, budget, and chances of the event."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpcheck.reference.claims import Point, Question, Subject, is_sample
from dpcheck.reference.distributions import Law, distribution
from dpcheck.reference.expressions import Env, Scope, as_budget, compare, evaluate, holds
from dpcheck.reference.files import Loaded
from dpcheck.reference.formulas import forever, formula, progress
from dpcheck.reference.numbers import Budget, Exp, Number, sign
from dpcheck.reference.programs import (
    BROKEN,
    DIVERGED,
    ON,
    ONE,
    STOPPED,
    Frozen,
    Names,
    Outputs,
    Rest,
    Results,
    Runs,
    frozen,
)
from dpcheck.reference.syntax import Tree, by_place, parsed_claim, parsed_target, parsed_values
from dpcheck.reference.values import NotCovered, Work, number

MOST_ROUNDS = 10_000
"""A drawn run that takes more rounds of a loop without an output counts as one that goes on."""
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
        self.loaded, self.fields = loaded, fields
        self.claim = fields["claim"]
        self.tree = parsed_claim(self.claim["text"])
        if fields["says"] != "violated":
            raise NotCovered("only violations are, and it says that the claim holds")

    def derived(self) -> Derived:
        """Return what the text says of the two sides.

        Raises `Contradicted` where that is something else, and `NotCovered`, `WrongProgram`.
        """
        if "value" in self.fields:
            self._check_value()
        if self.fields["proof"] == "sum":
            return self._of_composition()
        subject = Subject(self.loaded, _single(parsed_target(self.claim["target"])), Work(STEPS))
        points = [_point(subject, side["input"]) for side in self.fields["sides"]]
        question = self._question(subject, points)
        if self.fields["proof"] == "event":
            self._check_budget(question)
            chances = tuple(self.chance(subject, point) for point in points)
        else:
            chances = self._of_formula(question, points)
        for side, chance in zip(self.fields["sides"], chances, strict=True):
            _same(chance, self.written(side["probability"]), f"the chance at {side['input']}")
        return Derived(tuple(subject.text_of(point) for point in points), chances)

    def _check_value(self) -> None:
        """Look whether the value of a parameter is one that it may have, and the claim is about."""
        scope, (name, _, _) = self.loaded.scope, self.fields["value"].partition(" = ")
        declared = scope.of("param", name)
        if declared is None:
            raise Contradicted(f"the model has no parameter {name}")
        asked, ends = parsed_values(self.claim["for"])
        value = scope.constant(name)
        for sign_, end in (*declared[2], *ends):
            is_finite = end != ("name", "inf", False)
            if asked != name or (is_finite and not compare(sign_, value, evaluate(end, {}, scope))):
                raise Contradicted(f"{self.fields['value']} is no value that the claim is about")

    def _question(self, subject: Subject, points: list[Point]) -> Question:
        """Return the claim about the pair of the witness alone, its `at` among the points."""
        pairs = [(points[0], points[1])] if len(points) == 2 else []
        if pairs:
            self._check_neighbors(subject, *points)
        question = Question(subject, points, pairs)
        at = self.claim.get("at")
        question.selected = question.where(None if at is None else parsed_claim(at), points)
        if not question.selected:
            raise Contradicted(f"`at {at}` holds at neither input")
        return question

    def _check_neighbors(self, subject: Subject, s: Point, t: Point) -> None:
        """Look for t at the distance of a `group`, which is 1 without one."""
        everything, reached = subject.points, [s]
        for _ in range(_distance(self.claim["target"]) - 1):
            more = [u for u in everything if any(subject.are_neighbors(v, u) for v in reached)]
            reached += [u for u in more if u not in reached]
        if not any(subject.are_neighbors(v, t) for v in reached):
            raise Contradicted(f"{subject.text_of(s)} and {subject.text_of(t)} are no neighbors")

    def _check_budget(self, question: Question) -> None:
        """Compare ε and δ of the claim with those in the file."""
        match self.tree:
            case ("call", "dp", arguments):
                values = [question.value(value, {}) for value in by_place(arguments)]
            case _:
                raise NotCovered("an event of another claim than dp")
        logs = tuple((Fraction(a), Fraction(m)) for m, a in self.fields["ln"])
        written = Budget(Fraction(self.fields["rational"]), logs)
        if as_budget(values[0]).plus(written.times(Fraction(-1))).sign() != 0:
            raise Contradicted(f"the budget is not that of {self.claim['text']}")
        delta = number(values[1]) if len(values) > 1 else Fraction(0)
        _same(delta, self.written(self.fields["delta"]), "delta")

    def _of_formula(self, question: Question, points: list[Point]) -> tuple[Number, ...]:
        """Return the chances of a P or D, or of its part of a conjunction; the claim is false."""
        if all(question.truth(self.tree, point, {}) for point in question.selected):
            raise Contradicted(f"{self.claim['text']} is true at these inputs")
        wanted = [self.written(side["probability"]) for side in self.fields["sides"]]
        for path, env in _paths(self.tree, {}, question):
            chances = tuple(question.chance(path, point, env) for point in points)
            if all(sign(p - q) == 0 for p, q in zip(chances, wanted, strict=True)):
                return chances
        raise Contradicted("no formula of the claim has these chances")

    def chance(self, subject: Subject, point: Point) -> Number:
        """Return how likely the event of the witness is at a point, by following its outputs."""
        event = [tuple(each) for each in self.fields["event"]]
        outputs = [each[:-1] if each[-1:] in ENDS else each for each in event]
        if subject.mechanism is not None:
            # A run that has shown a beginning that is asked for is cut where it shows more.
            runs = Runs(subject.scope, subject.work)
            row = subject.row_of_samples(runs, point, frozenset(outputs))
        else:
            row = subject.row(point, max(map(len, outputs)))
        return sum(
            (
                p
                for each in event
                for (seen, status), p in row.items()
                if _begins(each, seen, status)
            ),
            Fraction(0),
        )

    def _of_composition(self) -> Derived:
        """Compare the laws of all parts with those in the file; their sum is `verify`'s."""
        _, name, arguments = parsed_target(self.claim["target"])
        if name != "compose":
            raise NotCovered(f"the target {self.claim['target']}")
        parts: list[tuple[Subject, int]] = []
        for _, tree in arguments:
            if tree[0] == "name" or _is_target(tree, self.loaded.scope):
                parts.append((Subject(self.loaded, tree, Work(STEPS)), 1))
            else:
                times = evaluate(tree, {}, self.loaded.scope)
                parts[-1] = (parts[-1][0], int(number(times)))
        texts = tuple(side["input"] for side in self.fields["sides"])
        question = None
        for (subject, times), part in zip(parts, self.fields["parts"], strict=True):
            points = [_point(subject, text) for text in texts]
            question = question or self._question(subject, points)
            if times != part["times"]:
                raise Contradicted("a part runs another number of times")
            for k, point in enumerate(points):
                self._check_law(subject.row(point), part["outputs"], k)
        if question is not None:
            self._check_budget(question)
        chances = tuple(self.written(side["probability"]) for side in self.fields["sides"])
        return Derived(texts, chances)

    def _check_law(self, row: Any, outputs: list[Any], k: int) -> None:  # noqa: ANN401 - JSON
        total = sum(each[2 + k] for each in outputs)
        for shown, _, *weights in outputs:
            status = STOPPED if shown[-1:] == [None] else DIVERGED
            p = row.get((tuple(shown[:-1]), status), Fraction(0))
            _same(p, Fraction(weights[k], total), "the chance of an output of a part")

    def written(self, value: Any) -> Number:  # noqa: ANN401 - JSON
        """Return a number of the file."""
        if isinstance(value, str):
            return Fraction(value)
        unit = Fraction(self.fields.get("unit", "1"))
        over, under = (
            {unit * n: Fraction(c) for c, n in (x if isinstance(x, list) else [[x, 0]])}
            for x in value
        )
        return Exp(over, under) * Fraction(1)

    # --- drawing ---------------------------------------------------------------------------

    def frequencies(self, n: int, seed: int) -> list[int]:
        """Return in how many of n drawn runs of each side the event happens."""
        if self.fields["proof"] == "sum":
            raise NotCovered("drawing the runs of compositions")
        subject = Subject(self.loaded, _single(parsed_target(self.claim["target"])), Work(STEPS))
        if subject.mechanism is None:
            raise NotCovered("drawing the runs of an explicit chain")
        if subject.kept != 1:
            raise NotCovered("drawing the samples of `subsample`")
        points = [_point(subject, side["input"]) for side in self.fields["sides"]]
        happens = self._test(subject)
        found = []
        for k, point in enumerate(points):
            drawing = Drawn(subject.scope, random.Random(f"{seed} {k}"))
            drawing.seen = subject.runs.seen
            env = {**subject.mechanism.parameters, **point}
            hits = 0
            for _ in range(n):
                ((outputs, _, status),) = drawing.block(
                    subject.mechanism.body, env, Names(), MOST_ROUNDS
                )
                hits += happens(point, outputs, STOPPED if status == ON else status)
            found.append(hits)
        return found

    def _test(self, subject: Subject) -> Any:  # noqa: ANN401 - a function of a point and a run
        """Return what tells whether a run of a point belongs to the event."""
        if self.fields["proof"] == "event":
            event = [tuple(each) for each in self.fields["event"]]
            return lambda _, seen, status: any(_begins(each, seen, status) for each in event)
        question = self._question(
            subject, [_point(subject, s["input"]) for s in self.fields["sides"]]
        )
        if self.tree[0] not in ("P", "D"):
            raise NotCovered("drawing for a conjunction")
        path = self.tree[-1]

        def happens(point: Point, outputs: tuple[str, ...], status: str) -> bool:
            rest = formula(path, subject.env(point), subject.scope)
            for letter in (("initial", None), *(("output", shown) for shown in outputs)):
                rest = progress(rest, question.holds_at(point, letter))
            return forever(rest, question.holds_at(point, (status, None)))

        return happens


class Drawn(Runs):
    """One run at a time: every draw is drawn."""

    def __init__(self, scope: Scope, generator: random.Random) -> None:
        """Draw from a seeded generator."""
        super().__init__(scope, Work(10**15))
        self.generator = generator
        self._laws: dict[tuple[int, Any], tuple[list[Any], list[float]]] = {}

    def law(self, drawn: Tree, env: Env) -> Law:
        """Return what is drawn next, with certainty."""
        key = id(drawn), frozen(env, self.names(drawn))
        if key not in self._laws:
            exact = distribution(drawn, env, self.scope)
            weights = [p.decimal() if isinstance(p, Exp) else float(p) for p in exact.values()]
            self._laws[key] = list(exact), weights
        values, weights = self._laws[key]
        return {self.generator.choices(values, weights)[0]: ONE}

    def step(self, tree: Tree, env: Frozen, after: Names, rest: Rest) -> Results:
        """Return the result of a statement, which is another one the next time."""
        return self.statement(tree, dict(env), after, rest)

    def repeated(self, tree: Tree, start: Frozen, after: Names, rest: Rest) -> Results:
        """Return the result of a `while`, round by round."""
        _, condition, block = tree
        shown, env, rounds = Outputs(), dict(start), 0
        while holds(condition, env, self.scope):
            ((outputs, then, status),) = self.block(block, env, after, rest)
            rounds = 0 if outputs else rounds + 1
            env, shown = dict(then), shown + outputs
            if status == BROKEN:
                break
            if status != ON or rounds > MOST_ROUNDS:
                return {(shown, (), DIVERGED if status == ON else status): ONE}
        return {(shown, tuple(env.items()), ON): ONE}


def _begins(begun: Begun, seen: tuple[str, ...], status: str) -> bool:
    """Return whether a run that was seen is, or begins as, a sequence of the event."""
    if begun[-1:] in ENDS:
        end = STOPPED if begun[-1] is None else DIVERGED
        return begun[:-1] == seen and status == end
    return seen[: len(begun)] == begun


def _point(subject: Subject, text: str) -> Point:
    """Return the input or state that is written so."""
    for point in [*subject.points, *(subject.chain.states if subject.chain else ())]:
        if subject.text_of(point) == text:
            return point
    raise Contradicted(f"the model has no input {text}")


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


def _is_target(tree: Tree, scope: Scope) -> bool:
    is_declared = any(scope.of(kind, tree[1]) is not None for kind in ("mechanism", "chain"))
    return tree[0] == "call" and (is_declared or is_sample(tree, scope))


def _single(target: Tree) -> Tree:
    """Return the target inside of `group(target, k)`."""
    is_group = target[0] == "call" and target[1] == "group"
    return _single(target[2][0][1]) if is_group else target


def _distance(target: str) -> int:
    tree = parsed_target(target)
    found = 1
    while tree[0] == "call" and tree[1] == "group":
        found *= int(tree[2][1][1][1])
        tree = tree[2][0][1]
    return found


def _same(found: Number, written: Number, what: str) -> None:
    if sign(found - written) != 0:
        raise Contradicted(f"{what} is another one")
