"""A witness derived again from a model: the claim, inputs, neighbors, budget, and chances."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import prod
from typing import Any

from dpcheck.reference.claims import INFINITE, Question
from dpcheck.reference.expressions import TESTS, Env, combined, compare, evaluate, unrolled
from dpcheck.reference.files import Loaded, is_target
from dpcheck.reference.numbers import ONE, ZERO, Budget, Number, excess_sign, made, summed
from dpcheck.reference.runs import Equations, Law, Model, Node, Point, Result
from dpcheck.reference.syntax import Block, Tree, named, parsed
from dpcheck.reference.values import End, NotCovered, Value

MINUS_INFINITE = ("-", INFINITE)

STEPS = 2_000_000
"""Bounds the statements that are run to derive one violation again."""
REACHES = [4 << n for n in range(11)]
"""How far from its center noise without bounds is looked at, until bounds decide."""
FAR = re.compile("[<>] -?[0-9]|in -?[0-9]+[.][.]")
WORD = re.compile(r'"[^"]*"|[<>] -?\d+|in -?\d+\.\.-?\d+|-?[\d/]+|[^\W\d]\w*|.')
"""What an output is written with: symbols, numbers, numbers beyond others or in a range, signs."""
ENDS: dict[Any, End] = {None: End.STOPPED, "diverged": End.DIVERGED}


class Contradicted(Exception):
    """The model's text says something else than the witness."""


def need(is_so: object, why: str) -> None:
    """Contradict what is not so."""
    if not is_so:
        raise Contradicted(why)


def lines_of(questions: Block) -> Iterator[int]:
    """Yield the lines in which claims stand, also those in loops."""
    for each in questions:
        match each:
            case ("loop", parts) | ("if", _, parts, _) | ("for", _, _, parts):
                yield from lines_of(parts)
            case _:
                yield each[1]


class Replay:
    """A witness of a violation beside the text of the model."""

    def __init__(self, loaded: Loaded, fields: dict[str, Any]) -> None:
        """Read the claim; raises `NotCovered` for evidence of another kind."""
        self.loaded, self.fields, self.claim = loaded, fields, fields["claim"]
        if fields["says"] != "violated":
            raise NotCovered("only violations are, and it says that the claim holds")
        loaded.work.steps = STEPS
        self.tree = parsed(self.claim["text"])
        self.at = parsed(self.claim["at"]) if "at" in self.claim else None
        self.runs = loaded.target(self.claim["target"])
        self.sides = tuple(side["input"] for side in fields["sides"])
        self.wanted = tuple(self.written(side["probability"]) for side in fields["sides"])
        self.event = [*map(spelled, fields.get("event", []))]

    def derived(self) -> list[tuple[str, tuple[Number, Number]]]:
        """Return both inputs (or one), and how likely the event is by the text: least and most.

        Raises `Contradicted` where it says something else, and `NotCovered`, `WrongProgram`.
        """
        self._check_claim()
        question, points = self._question()
        chances = [(p, p) for p in self.wanted]
        if self.fields["proof"] == "path":
            self._check_formula(question, points)
        else:
            self._check_budget(question)
        if self.fields["proof"] == "sum":
            self._check_parts(points)
        if self.fields["proof"] == "event":
            chances = self._followed()
        return list(zip(self.sides, chances, strict=True))

    # --- what is asked ---------------------------------------------------------------------

    def _check_claim(self) -> None:
        """Look for the claim in its line of the model; names of a `for` around it have values."""
        line, scope = self.claim["line"], self.loaded.scope
        target = self._meant(parsed(self.claim["target"], "target"), {})
        about = parsed(self.claim["for"], "about") if "for" in self.claim else None
        declared = None if about is None else scope.of("param", about[0])
        # Other lines may have loops that make no sense.
        questions = tuple(item for item in self.loaded.questions if line in lines_of((item,)))
        for (_, begins, _, of, values, at, claim), env in unrolled(questions, {}, scope):
            if (
                begins == line
                and self._is_about(about, values or (declared and declared[1:]), env)
                and (about is None) == ("value" not in self.fields)
                and self._meant(of, env) == target
                and self._is_written((at, claim), (self.at, self.tree), env)
            ):
                return None if about is None else self._check_value(*about)
        raise Contradicted(f"line {line} of the model has no such claim")

    def _meant(self, target: Tree, env: Env) -> Value:
        """Return a target as a value: its name and the values of its arguments."""
        scope = self.loaded.scope
        if target[0] != "call" or not is_target(target[1], scope):
            return evaluate(target, env, scope)
        arguments = map(named, target[2])
        return target[1], tuple((name, self._meant(part, env)) for name, part in arguments)

    def _is_about(self, about: Tree | None, asked: Tree | None, env: Env) -> bool:
        """Return whether a witness is about the values that a claim asks for, however written."""
        if not about or not asked:
            return not about and not asked
        (name, ends), (own_name, own_ends) = about, asked
        return name == own_name and all(
            word == own_word and (end == own or self._are_equal(end, own, env))
            for (word, end), (own_word, own) in zip(ends, own_ends, strict=True)
        )

    def _are_equal(self, end: Tree, own: Tree, env: Env) -> bool:
        if INFINITE in (end, own) or MINUS_INFINITE in (end, own):
            return False
        scope = self.loaded.scope
        a, b = evaluate(end, {}, scope), evaluate(own, env, scope)
        return compare("<=", a, b) and compare(">=", a, b)

    def _is_written(self, tree: Tree, written: Tree, env: Env) -> bool:
        """Return whether a witness has a part of a claim, with values for names."""
        match tree, written:
            case ("name", name), _ if name in env:
                return bool(env[name] == evaluate(written, {}, self.loaded.scope))
            case tuple(), tuple() if len(tree) == len(written):
                return all(self._is_written(a, b, env) for a, b in zip(tree, written, strict=True))
        return bool(tree == written)

    def _check_value(self, name: str, ends: Tree) -> None:
        """Look whether the value of a parameter is one that it may have, and the claim is about."""
        scope, declared = self.loaded.scope, self.loaded.scope.of("param", name)
        written = self.fields["value"]
        is_its_own = declared is not None and written.partition(" = ")[0] == name
        need(is_its_own, f"the model has no parameter {written}")
        for word, end in (*declared[2], *ends):
            is_so = end in (INFINITE, MINUS_INFINITE) or compare(
                word, scope.named(name), evaluate(end, {}, scope)
            )
            need(is_so, f"{written} is no value that the claim is about")

    def _question(self) -> tuple[Question, list[Point]]:
        """Return the claim about the sides of the witness alone, and their points."""
        points = [self.runs[0].point_of(text) for text in self.sides]
        for text, point in zip(self.sides, points, strict=True):
            need(point is not None, f"the model has no input {text}")
        question = Question(self.runs, None, points)
        if len(points) == 2:
            are_near = question.model.are_neighbors(*points)
            need(are_near, f"{self.sides[0]} and {self.sides[1]} are no neighbors")
            question.pairs = [(points[0], points[1])]
        question.selected = question.where(self.at, points)
        need(question.selected, "the claim asks about none of these inputs")
        return question, points

    def _check_budget(self, question: Question) -> None:
        """Compare ε and δ of the claim with those in the file."""
        if self.tree[:2] != ("call", "dp"):
            raise NotCovered("an event of another claim than dp")
        asked = question.bounds(("D", *self.tree[2], None), {})
        need(asked == self._bounds(), "epsilon or delta is another one")

    def _bounds(self) -> Value:
        """Return what the file compares its chances with, as `Question.bounds` does."""
        if "bounds" in self.fields:
            return tuple((word, self.written(bound)) for word, bound in self.fields["bounds"])
        logs = tuple((Fraction(a), Fraction(m)) for m, a in self.fields["ln"])
        epsilon = Budget(Fraction(self.fields["rational"]), logs)
        return epsilon, self.written(self.fields["delta"])

    # --- chances ---------------------------------------------------------------------------

    def _check_formula(self, question: Question, points: list[Point]) -> None:
        """Look for the chances in a P or D of the claim, which is false."""
        is_true = all(question.truth(self.tree, point) for point in question.selected)
        need(not is_true, f"{self.claim['text']} is true at these inputs")
        found = []

        def collected(part: Tree, env: Env, _: object) -> Tree:
            if part[0] in ("P", "D"):
                chances = tuple(question.chance(part[-1], point, env) for point in points)
                if (chances, question.bounds(part, env)) == (self.wanted, self._bounds()):
                    found.append((part[-1], env))
            return part

        scope = question.model.scope.but(around=question.model.env(points[0]))
        combined(self.tree, {}, scope, collected)
        need(found, "no formula of the claim has these chances and these bounds")
        self.path = found[0]

    def _followed(self) -> list[tuple[Number, Number]]:
        """Return bounds of both chances of the event that violate the budget."""
        for a, b in combinations(self.event, 2):
            asked = [pair for pair in zip(a, b, strict=False) if pair[0] != pair[1]][:1]
            names = {str(text).partition(" = ")[0] for pair in asked for text in pair}
            if len(names) == 1 and names <= self.runs[0].queries:
                raise NotCovered("an event of more than one strategy")
        for reach in REACHES:
            self.runs = self.loaded.target(self.claim["target"], reach)
            question, points = self._question()
            chances = [self.chance(question.model, point) for point in points]
            for side, (low, high), wanted in zip(self.sides, chances, self.wanted, strict=True):
                need(low <= wanted <= high, f"the chance at {side} is another one")
            (low, _), (_, high) = chances
            if excess_sign(low, high, *self._bounds()) > 0:
                return chances
        raise NotCovered(f"noise more than {REACHES[-1]:,} from its center")

    def chance(self, model: Model, point: Point) -> tuple[Number, Number]:
        """Return how likely the event is at a point: without, and with, all that is left out."""
        node, following = self._asked(model, point)
        law = Equations(following, model.work).results(node)
        low = law.get(True, ZERO)
        return low, low + law.get(End.UNKNOWN, ZERO)

    def _asked(self, model: Model, point: Point) -> tuple[Node, Callable[[Node], Law]]:
        """Return where runs begin, and what follows, until the event or the path is decided."""
        if self.fields["proof"] == "path":
            path, env = self.path
            return model.asked_at(path, point, env), model.decided
        return (0, frozenset(self.event), model.start(point)), partial(self._follows, model)

    def _follows(self, model: Model, node: Node) -> Law:
        """Return what follows where so much was shown, as these sequences of the event begin.

        One without an end has happened then. An analyst who adapts makes the choices in it for
        sure: neither side has another chance.
        """
        n, begun, state = node
        if not begun or any(len(each) == n for each in begun):
            return {Result(bool(begun)): ONE}
        law = []
        for seen, p in model.ahead(state).items():
            shown, then = (seen, None) if isinstance(seen, End) else seen
            rest = frozenset(each for each in begun if _tells(each[n], shown))
            node = Result(shown) if shown is End.UNKNOWN else (n + 1, rest, then)
            law.append((node, p * model.offered.get(shown, 1)))
        return summed(law)

    def _check_parts(self, points: list[Point]) -> None:
        """Compare the laws of the parts of a composition with those in the file."""
        parts, runs = self.fields["parts"], self.runs
        times = [k for k, part in enumerate(parts) for _ in range(part["times"])]
        need(len(times) == len(runs), "a part runs another number of times")
        for model, k in dict.fromkeys(zip(runs, times, strict=True)):
            outputs = parts[k]["outputs"]
            for side, point in enumerate(points, start=2):
                row, total = model.whole_row(point), sum(each[side] for each in outputs)
                for (*shown, end), *weights in outputs:
                    p = row.get((tuple(shown), ENDS.get(end)), ZERO)
                    is_so = p == Fraction(weights[side - 1], total)
                    need(is_so, "the chance of an output of a part is another one")

    def written(self, value: Any) -> Number:  # noqa: ANN401 - JSON
        """Return a number of the file."""
        if isinstance(value, str):
            powers = (each.partition("^") for each in value.split("*"))
            return prod((Fraction(base) ** int(n or 1) for base, _, n in powers), start=Fraction(1))
        unit = Fraction(self.fields.get("unit", "1"))
        over, under = (
            {unit * n: Fraction(c) for c, n in (x if isinstance(x, list) else [[x, 0]]) if c}
            for x in value
        )
        return made(over, under)

    # --- drawing ---------------------------------------------------------------------------

    def frequencies(self, n: int, seed: int) -> list[int]:
        """Return in how many of n drawn runs of each side the event that was derived happens."""
        if self.fields["proof"] == "sum":
            raise NotCovered("they are those of a composition")
        question, points = self._question()
        if question.model.offered:
            raise NotCovered("they are those of a strategy")
        found = []
        for k, point in enumerate(points):
            asked, generator = self._asked(question.model, point), random.Random(f"{seed} {k}")
            found.append(sum(question.model.drawn(*asked, generator) for _ in range(n)))
        return found


def spelled(written: list[Any]) -> tuple[Any, ...]:
    """Return the outputs of a sequence, in which [output, n] is n times that output in a row."""
    runs = (each if isinstance(each, list) else [each, 1] for each in written)
    return tuple(ENDS.get(output, output) for output, n in runs for _ in range(n))


def _tells(wanted: str | End, shown: str | End) -> bool:
    """Return whether an output is meant by a text with `> 5` or `in 6..9` in place of integers."""
    if isinstance(wanted, End) or isinstance(shown, End) or not FAR.search(wanted):
        return wanted == shown
    told, parts = WORD.findall(wanted), WORD.findall(shown)
    return len(told) == len(parts) and all(
        a == b or (re.fullmatch(r"-?\d+", b) is not None and _is_among(int(b), a))
        for a, b in zip(told, parts, strict=True)
    )


def _is_among(number: int, told: str) -> bool:
    """Return whether an integer is among those of `> 5` or `in 6..9`, which another word is not."""
    if told.startswith("in "):
        low, high = map(int, told[3:].split(".."))
        return low <= number <= high
    return told[0] in TESTS and " " in told and compare(told[0], number, int(told[2:]))
