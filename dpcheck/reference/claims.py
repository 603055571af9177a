"""Claims, by their definitions: rows of the distributions, pairs of neighbors, and arithmetic."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dpcheck.reference.chains import Chain
from dpcheck.reference.expressions import Env, as_budget, chosen_from, evaluate
from dpcheck.reference.files import Loaded
from dpcheck.reference.formulas import Holds, forever, formula, polarities, progress
from dpcheck.reference.numbers import (
    ONE,
    ZERO,
    Budget,
    Number,
    excess_sign,
    number_text,
    quotient,
    sign,
)
from dpcheck.reference.programs import Mechanism, Program
from dpcheck.reference.runs import DIVERGED, Equations, Law, Model
from dpcheck.reference.syntax import Parser, Tree, by_place, parsed_claim
from dpcheck.reference.values import NotCovered, TooLong, Value, WrongProgram, number

STEPS = 50_000
"""Bounds the statements that are run for one answer."""
N_SAMPLED = 4
"""Inputs that are looked at where all of them are too many."""
N_NEIGHBORS = 2
"""Neighbors of each of these."""
QUANTITIES = re.compile(
    "epsilon|delta|renyi|zcdp|loss_tail|accuracy|tradeoff|total_variation|posterior_max|"
    "posterior_min|bayes_vulnerability|min_entropy_leakage|profile|losses"
)
WORDS = {-1: "{} is less", 0: "{} is equal", 1: "{} is larger"}
TESTS = {"=": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}

Point = Any
"""An input of a mechanism, or a state of a chain."""


@dataclass(frozen=True)
class Answer:
    """Whether a claim holds, what decided it in numbers, and what was looked at."""

    holds: bool
    why: str
    covered: str


def model_of(loaded: Loaded, target: Tree) -> Model:
    """Return the mechanism or chain of a target, its parameters having values."""
    scope, kept = loaded.scope, ONE
    while is_sample(target, loaded):
        (_, target), (_, share) = target[2]
        kept *= number(evaluate(share, {}, scope))
    name, arguments = target[1], target[2] if target[0] == "call" else []
    mechanism, chain = scope.of("mechanism", name), scope.of("chain", name)
    if mechanism is None and chain is None:
        raise NotCovered(f"the target {name}(...)")
    given = {key: evaluate(value, {}, scope) for key, value in arguments}
    if chain is not None:
        return Chain(chain, given, scope, loaded.work)
    return Mechanism(mechanism, given, Program(scope, loaded.work), kept)


def is_sample(target: Tree, loaded: Loaded) -> bool:
    """Return whether a target is `subsample(m, q)`, not a mechanism of that name."""
    is_word = target[0] == "call" and target[1] == "subsample" and len(target[2]) == 2
    return is_word and not is_declared("subsample", loaded)


def is_declared(name: str, loaded: Loaded) -> bool:
    """Return whether there is a mechanism or chain of this name."""
    return any(loaded.scope.of(kind, name) is not None for kind in ("mechanism", "chain"))


class Question:
    """A claim about a subject: at these points, of so many, and about these pairs.

    chances: what was computed last of a formula, by the texts of the points.
    """

    def __init__(self, model: Model, points: list[Point], pairs: list[tuple[Point, Point]]) -> None:
        self.model, self.selected, self.pairs = model, points, pairs
        self.n_points = len(points)
        self.chances: dict[str, Number] = {}
        self._known: dict[Any, Number] = {}
        self.is_sample = False

    def choose(self, condition: Tree) -> None:
        """Keep the points where a condition holds, and find their pairs."""
        everything = self.selected
        self.selected = self.where(condition, everything)
        self.n_points = len(self.selected)
        met: set[frozenset[int]] = set()
        for s in self.selected:
            for t in self.model.neighbors_of(s):
                ends = frozenset((id(s), id(t)))
                self.pairs += [] if ends in met else [(s, t)]
                met.add(ends)

    def sample(self, condition: Tree, named: Sequence[str], seed: int) -> None:
        """Keep the points that are named, and some others, with few neighbors of each."""
        drawn = random.Random(seed)
        everything = self.selected
        asked = self.where(condition, everything)
        self.n_points = len(asked)
        self.is_sample = True
        chosen = [point for point in asked if self.model.text_of(point) in named]
        drawn_points = drawn.sample(asked, min(N_SAMPLED, len(asked)))
        self.selected = chosen + [point for point in drawn_points if point not in chosen]
        ends = [point for point in everything if self.model.text_of(point) in named]
        near = self.model.are_neighbors
        pairs = [(s, t) for s in chosen for t in ends if near(s, t)]
        for s in self.selected:
            others = (t for t in drawn.sample(everything, len(everything)) if near(s, t))
            pairs += [(s, t) for t in islice(others, N_NEIGHBORS)]
        self.pairs = list({frozenset((id(s), id(t))): (s, t) for s, t in pairs}.values())

    def where(self, condition: Tree, points: list[Point]) -> list[Point]:
        """Return the points where a condition holds; a chain's `at` may name other states."""
        if condition is None:
            return points
        if isinstance(self.model, Chain) and condition[0] in ("name", "index"):
            named, indices = condition[1:] if condition[0] == "index" else (condition, [])
            return self.model.meant((named[1], indices), self.model.parameters)
        found = [point for point in points if self.truth(condition, point, {})]
        if not found:
            raise WrongProgram("`at` holds nowhere")
        return found

    @property
    def covered(self) -> str:
        """What was looked at, in words."""
        if not self.is_sample:
            points = "1 input" if self.n_points == 1 else f"all {self.n_points:,} inputs"
        else:
            points = f"{len(self.selected)} of {self.n_points:,} inputs"
        pairs = "1 pair" if len(self.pairs) == 1 else f"{len(self.pairs):,} pairs"
        return f"{points}, {pairs} of neighbors"

    def both_ways(self) -> Iterator[tuple[Point, Point]]:
        """Yield the pairs in both directions."""
        for s, t in self.pairs:
            yield s, t
            yield t, s

    # --- formulas --------------------------------------------------------------------------

    def truth(self, tree: Tree, point: Point, env: Env) -> bool:
        """Return whether a state formula holds at a point."""
        scope = self.model.scope
        match tree:
            case ("!", a):
                return not self.truth(a, point, env)
            case ("&", parts):
                return all(self.truth(part, point, env) for part in parts)
            case ("|", parts):
                return any(self.truth(part, point, env) for part in parts)
            case ("=>", a, b):
                return not self.truth(a, point, env) or self.truth(b, point, env)
            case ("binder", "forall" | "exists" as name, variable, domain, where, body):
                around = {**self.model.env(point), **env}
                chosen = chosen_from(around, scope, variable, domain, where)
                found = (self.truth(body, point, {**env, variable: e}) for e in chosen)
                return all(found) if name == "forall" else any(found)
            case ("P", bounds, path):
                p = self.chance(path, point, env)
                return all(
                    sign(p - number(self.value(bound, env))) in TESTS[word]
                    for word, bound in bounds
                )
            case ("D", epsilon, delta, path):
                return all(
                    excess_sign(
                        self.chance(path, s, env),
                        self.chance(path, t, env),
                        as_budget(self.value(epsilon, env)),
                        ZERO if delta is None else number(self.value(delta, env)),
                    )
                    <= 0
                    for s, t in self.both_ways()
                    if point in (s, t)
                )
        start = self.model.first_position(point)
        return self.model.atom(tree, start, {**self.model.env(point), **env})

    def value(self, tree: Tree, env: Env) -> Value:
        """Return a number or budget of a claim."""
        return evaluate(tree, env, self.model.scope)

    def chance(self, path: Tree, point: Point, env: Env) -> Number:
        """Return the probability of the runs of a point that satisfy a path formula.

        By equations over positions of a path, and what must hold from each of them on.
        """
        model, text = self.model, self.model.text_of(point)
        key = id(path), text, tuple(env.items())
        if key in self._known:
            return self._known[key]
        f = formula(path, {**model.env(point), **env}, model.scope)

        def parts(node: Any) -> tuple[Law, Law]:  # noqa: ANN401 - a position and a formula
            position, wanted = node
            rest = progress(wanted, self.holds_at(position))
            if isinstance(rest, bool):
                return {rest: ONE}, {}
            following = model.after(position)
            if following.keys() == {position}:
                return {forever(rest, self.holds_at(position)): ONE}, {}
            return {}, {(then, rest): p for then, p in following.items()}

        law = Equations(parts, model.runs.work).results((model.first_position(point), f))
        found = law.get(True, ZERO)
        if DIVERGED in law:  # what is never decided is false if it waits, true if it fears
            signs = polarities(f)
            if len(signs) == 2:
                raise NotCovered("what happens infinitely often in a cycle")
            found += law[DIVERGED] if False in signs else 0
        self.chances.pop(text, None)  # the last one stands last
        self.chances[text] = self._known[key] = found
        return found

    def holds_at(self, position: Any) -> Holds:  # noqa: ANN401 - positions differ by model
        """Return what decides atoms there."""
        return lambda tree, env: self.model.atom(tree, position, env)

    # --- events ----------------------------------------------------------------------------

    def excesses(self, epsilon: Budget) -> Iterator[tuple[Number, Number, str]]:
        """Yield P(S) and Q(S) of each pair, both ways, for S all sequences with p >= e^ε q."""
        for s, t in self.both_ways():
            p_row, q_row = self.model.row(s), self.model.row(t)
            p = q = ZERO
            for key, x in p_row.items():
                y = q_row.get(key, ZERO)
                if excess_sign(x, y, epsilon) >= 0:
                    p, q = p + x, q + y
            yield p, q, f"{self.model.text_of(s)} against {self.model.text_of(t)}"

    def one_sided(self) -> Iterator[Number]:
        """Yield how likely it is from one of a pair to show what is impossible from the other."""
        for s, t in self.both_ways():
            q_row = self.model.row(t)
            yield sum(p for key, p in self.model.row(s).items() if key not in q_row)

    def ratios(self) -> Iterator[tuple[Number, Number]]:
        """Yield p and q of each sequence of each pair, both ways."""
        for s, t in self.both_ways():
            q_row = self.model.row(t)
            for key, p in self.model.row(s).items():
                yield p, q_row.get(key, ZERO)


def answer(
    loaded: Loaded,
    target: str,
    condition: str | None,
    claim: str,
    value: str | None = None,
    named: Sequence[str] = (),
) -> Answer:
    """Return the answer to a claim, or, with a value of its quantity, whether that is the value.

    Where all inputs are too much work, a sample of them is asked about, those that are `named`
    among them. Raises `NotCovered`, or `WrongProgram` for a mistake in the program.
    """
    if target not in loaded.models:
        loaded.models[target] = model_of(loaded, Parser(target).target())
    model: Model = loaded.models[target]
    tree = parsed_claim(claim)
    if value is not None:
        quantity = tree[2][0] if tree[0] == "compare" else tree
        tree = ("compare", ["="], [quantity, parsed_claim(value)])
    at = None if condition is None else parsed_claim(condition)
    question = Question(model, model.points, [])
    try:
        if len(model.points) ** 2 > STEPS:
            raise TooLong("pairs of inputs are too many")
        question.choose(at)
        return _answer(question, tree)
    except TooLong:
        question = Question(model, model.points, [])
        loaded.work.steps = STEPS
        question.sample(at, named, len(claim))
        return _answer(question, tree)


def _answer(question: Question, tree: Tree) -> Answer:
    match tree:
        case ("call", "dp", arguments):
            values = [question.value(value, {}) for value in by_place(arguments)]
            delta = number(values[1]) if len(values) > 1 else ZERO
            return _private(question, as_budget(values[0]), delta)
        case ("compare", [word], [("name", "epsilon", False), bound]):
            return _least_epsilon(question, word, bound)
        case ("compare", [word], [("call", "epsilon", [(None, delta)]), bound]):
            return _least_epsilon_at(question, word, delta, bound)
        case ("compare", [word], [("call", "delta", [(None, epsilon)]), bound]):
            return _least_delta(question, word, epsilon, bound)
        case ("compare", [word], [("P=?", path), bound]):
            (point,) = question.selected
            p, r = question.chance(path, point, {}), number(question.value(bound, {}))
            return Answer(sign(p - r) in TESTS[word], f"P = {number_text(p)}", question.covered)
        case ("compare" | "call", *_) if _is_quantity(tree):
            raise NotCovered("this quantity")
    false = [point for point in question.selected if not question.truth(tree, point, {})]
    last = [f"{number_text(p)} from {text}" for text, p in question.chances.items()][-2:]
    why = f"false at {question.model.text_of(false[0])}" if false else "true everywhere"
    return Answer(not false, f"{why} ({', '.join(last)})", question.covered)


def _is_quantity(tree: Tree) -> bool:
    """Return whether a claim compares or names a quantity."""
    parts = tree[2] if tree[0] == "compare" else [tree]
    names = [part[1] for part in parts if part[0] in ("call", "name")]
    return any(map(QUANTITIES.fullmatch, names)) or any(part[0] == "P=?" for part in parts)


def _private(question: Question, epsilon: Budget, delta: Number) -> Answer:
    """Return whether P(S) <= e^ε Q(S) + δ for all pairs and sets S: by the worst S of each."""
    for p, q, pair in question.excesses(epsilon):
        if excess_sign(p, q, epsilon, delta) > 0:
            why = f"{number_text(p)} against {number_text(q)}, {pair}"
            return Answer(False, why, question.covered)
    return Answer(True, "no event exceeds the budget", question.covered)


def _least_epsilon(question: Question, word: str, bound: Tree) -> Answer:
    """Compare the largest p/q with e^bound: each p/q, and at least 1."""
    ratios = [(ONE, ONE), *question.ratios()]
    largest = ratios[0]
    for p, q in ratios:
        if q == 0 or sign(p * largest[1] - largest[0] * q) > 0:
            largest = p, q
            if q == 0:
                break
    is_infinite = largest[1] == 0
    if bound == ("name", "inf", False):
        order = 0 if is_infinite else -1
    else:
        budget = as_budget(question.value(bound, {}))
        order = 1 if is_infinite else excess_sign(*largest, budget)
    why = "inf" if is_infinite else f"ln({number_text(quotient(*largest))})"
    return _compared(question, order, word, f"epsilon = {why}")


def _least_epsilon_at(question: Question, word: str, at: Tree, bound: Tree) -> Answer:
    """Compare the least ε with δ(ε) <= δ: where δ(bound) = δ, a lower ε has more if Q(S) > 0."""
    delta = number(question.value(at, {}))
    if bound == ("name", "inf", False):
        sums = question.one_sided()
        order = 0 if any(sign(p - delta) > 0 for p in sums) else -1
        return _compared(question, order, word, WORDS[order].format("epsilon"))
    budget = as_budget(question.value(bound, {}))
    signs = set()
    for p, q, _ in question.excesses(budget):
        over = excess_sign(p, q, budget, delta)
        signs.add(-1 if over == 0 and sign(q) == 0 else over)
    order = max(signs, default=-1)
    order = 0 if order < 0 and budget.sign() == 0 else order
    return _compared(question, order, word, WORDS[order].format("epsilon"))


def _least_delta(question: Question, word: str, epsilon: Tree, bound: Tree) -> Answer:
    """Compare the largest P(S) - e^ε Q(S) with the bound."""
    budget, delta = as_budget(question.value(epsilon, {})), number(question.value(bound, {}))
    found = {excess_sign(p, q, budget, delta) for p, q, _ in question.excesses(budget)}
    order = max(found, default=-sign(delta))
    growth = budget.exp()
    if growth is None:
        return _compared(question, order, word, WORDS[order].format("delta"))
    gaps = [p - growth * q for p, q, _ in question.excesses(budget)]
    largest = max(gaps, default=ZERO)
    return _compared(question, order, word, f"delta = {number_text(largest)}")


def _compared(question: Question, order: int, word: str, why: str) -> Answer:
    """Return the answer to a comparison; of a sample, a value may be larger than was seen."""
    if not question.is_sample:
        return Answer(order in TESTS[word], why, question.covered)
    if order > 0:
        return Answer(word in (">", ">=", "!="), why, question.covered)
    if word in ("<", "<=", "="):
        return Answer(order in (*TESTS[word], -1), f"at least: {why}", question.covered)
    raise NotCovered("a value of which a sample of inputs says too little")
