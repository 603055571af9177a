"""Claims, by their definitions: rows of the distributions, pairs of neighbors, and arithmetic."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from dpcheck.reference.chains import Chain
from dpcheck.reference.expressions import TESTS, Env, as_budget, each, evaluate
from dpcheck.reference.files import Loaded
from dpcheck.reference.numbers import (
    ONE,
    ZERO,
    Budget,
    Number,
    excess_sign,
    n_terms,
    number_text,
    quotient,
    sign,
)
from dpcheck.reference.programs import Mechanism
from dpcheck.reference.runs import CUT, MOST_OUTPUTS, Model, Point, Row
from dpcheck.reference.syntax import Tree, named, parsed_claim, parsed_target
from dpcheck.reference.values import NotCovered, TooLong, integer, number

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
OPPOSITE = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
INFINITE = ("name", "inf")


Outcomes = list[tuple[Number, Number, int]]
"""P(o), Q(o), and the number of outcomes o that have these chances from two points."""


@dataclass(frozen=True)
class Answer:
    """Whether a claim holds, what decided it in numbers, and what was looked at."""

    holds: bool
    why: str
    covered: str


# --- targets -----------------------------------------------------------------------------------


class Target:
    """The runs that a composition is made of (one, of anything else), and how far neighbors are."""

    def __init__(self, runs: tuple[Model, ...], distance: int = 1) -> None:
        """Take models that have the same points and neighbors."""
        self.runs, self.model, self.distance = runs, runs[0], distance
        self._near: dict[Point, list[Point]] = {}
        self._are_near: dict[frozenset[Point], bool] = {}
        self._rows: dict[tuple[Model, Point], Row] = {}

    def neighbors_of(self, s: Point) -> list[Point]:
        """Return all neighbors of a point."""
        if s not in self._near:
            self._near[s] = list(self.neighbors(s, self.model.points))
        return self._near[s]

    def neighbors(self, s: Point, others: list[Point]) -> Iterator[Point]:
        """Yield the points at most the distance of a group away; those that far are `others`."""
        met, last = {s}, [s]
        for step in range(self.distance):
            here, last = last, []
            for t in others if step == self.distance - 1 else self.model.points:
                if t not in met and any(self.are_near(u, t) for u in here):
                    met.add(t)
                    last.append(t)
                    yield t

    def are_near(self, s: Point, t: Point) -> bool:
        """Return whether two points are neighbors of the model."""
        pair = frozenset((s, t))
        if pair not in self._are_near:
            self._are_near[pair] = self.model.are_neighbors(s, t)
        return self._are_near[pair]

    def row(self, model: Model, point: Point) -> Row:
        """Return what one of the runs shows from a point."""
        if (model, point) not in self._rows:
            self._rows[model, point] = whole_row(model, point)
        return self._rows[model, point]

    def outcomes(self, s: Point, t: Point) -> Outcomes:
        """Return P(o) and Q(o) of the outcomes o from two points, and how many o have both."""
        found: Outcomes = [(ONE, ONE, 1)]
        for model in self.runs:
            p_row, q_row = self.row(model, s), self.row(model, t)
            shown = [(p_row.get(key, ZERO), q_row.get(key, ZERO)) for key in p_row | q_row]
            if len(found) == 1:
                found = [(p, q, 1) for p, q in shown]
                continue
            merged: dict[tuple[str, str], tuple[Number, Number, int]] = {}
            for (p, q, n), (x, y) in product(found, shown):
                model.work.spend(max(n_terms(p) * n_terms(x), n_terms(q) * n_terms(y)))
                key = number_text(p * x), number_text(q * y)
                merged[key] = p * x, q * y, merged.get(key, (ZERO, ZERO, 0))[2] + n
            found = list(merged.values())
        return found


def whole_row(model: Model, point: Point) -> Row:
    """Return what runs of a point show, which must have an end."""
    row = model.row(model.start(point), lambda outputs: len(outputs) <= MOST_OUTPUTS)
    if any(status == CUT for _, status in row):
        raise NotCovered(f"runs of more than {MOST_OUTPUTS} outputs")
    return row


def target_of(text: str, loaded: Loaded) -> Target:
    """Return a target with what is known of it."""
    if text not in loaded.targets:
        loaded.targets[text] = declared_target(parsed_target(text), loaded)
    found: Target = loaded.targets[text]
    return found


def declared_target(tree: Tree, loaded: Loaded, kept: Number = ONE) -> Target:
    """Return a target; its records are a sample if they are kept with some chance only."""
    scope, (_, name, arguments) = loaded.scope, (*tree, ())[:3]
    if not is_declared(name, loaded):
        return combined(name, arguments, loaded, kept)
    given = {str(key): evaluate(value, {}, scope) for key, value in map(named, arguments)}
    chain = scope.of("chain", name)
    if chain is not None:
        return Target((Chain(chain, given, scope, loaded.work),))
    return Target((Mechanism(scope.of("mechanism", name), given, scope, loaded.work, kept),))


def combined(name: str, arguments: Sequence[Tree], loaded: Loaded, kept: Number) -> Target:
    """Return a target that is made of others."""
    if name == "compose":
        runs: list[tuple[Model, ...]] = []
        for part in arguments:
            if is_target(part, loaded):
                runs.append(declared_target(part, loaded, kept).runs)
            else:
                runs[-1] *= integer(evaluate(part, {}, loaded.scope))
        return Target(sum(runs, ()))
    if name not in ("group", "subsample"):
        raise NotCovered(f"the target {name}(...)")
    of, amount = arguments[0], evaluate(arguments[1], {}, loaded.scope)
    if name == "subsample":
        return declared_target(of, loaded, kept * number(amount))
    inner = declared_target(of, loaded, kept)
    return Target(inner.runs, inner.distance * integer(amount))


def is_target(tree: Tree, loaded: Loaded) -> bool:
    """Return whether a part of a composition is a target, not a number of runs."""
    is_made = tree[0] == "call" and tree[1] in ("compose", "group", "subsample")
    return is_made or (tree[0] in ("call", "name") and is_declared(tree[1], loaded))


def is_declared(name: str, loaded: Loaded) -> bool:
    """Return whether there is a mechanism or chain of this name."""
    return any(loaded.scope.of(kind, name) is not None for kind in ("mechanism", "chain"))


# --- questions ---------------------------------------------------------------------------------


class Question:
    """A claim about a target: at these points, of so many, and about these pairs.

    chances: what was computed last of a formula, by the texts of the points.
    """

    def __init__(self, target: Target, at: Tree) -> None:
        """Select the points where a condition holds; a chain's `at` may name other states."""
        self.target, self.model, self.is_sample = target, target.model, False
        self.chances: dict[str, Number] = {}
        self.selected = self.where(at, self.model.points)
        self.n_points = len(self.selected)
        self.pairs: list[tuple[Point, Point]] = []

    def where(self, condition: Tree, points: list[Point]) -> list[Point]:
        """Return the points where a condition holds; a chain's `at` may name other states."""
        if condition is None:
            return points
        if isinstance(self.model, Chain) and condition[0] in ("name", "quoted", "index"):
            named, indices = condition[1:] if condition[0] == "index" else (condition, ())
            return list(self.model.meant((named[1], indices), self.model.parameters))
        return [point for point in points if self.truth(condition, point, {})]

    def pair_all(self) -> None:
        """Find the neighbors of all points."""
        if len(self.model.points) ** 2 > STEPS:
            raise TooLong("pairs of inputs are too many")
        self.add_pairs((s, t) for s in self.selected for t in self.target.neighbors_of(s))

    def sample(self, texts: Sequence[str], seed: int) -> None:
        """Keep the points that are named, and some others, with few neighbors of each."""
        drawn, everything, target = random.Random(seed), self.model.points, self.target
        self.is_sample = True
        ends = [point for point in everything if self.model.text_of(point) in texts]
        chosen = [point for point in self.selected if point in ends]
        others = drawn.sample(self.selected, min(N_SAMPLED, len(self.selected)))
        self.selected = [*chosen, *(point for point in others if point not in chosen)]
        self.add_pairs((s, t) for s in chosen for t in target.neighbors(s, ends) if t in ends)
        for s in self.selected:
            shuffled = drawn.sample(everything, len(everything))
            self.add_pairs((s, t) for t in islice(target.neighbors(s, shuffled), N_NEIGHBORS))

    def add_pairs(self, pairs: Iterable[tuple[Point, Point]]) -> None:
        """Add pairs that are not known in either direction."""
        known = set(map(frozenset, self.pairs))
        for pair in pairs:
            if frozenset(pair) not in known:
                known.add(frozenset(pair))
                self.pairs.append(pair)

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
        around = {**self.model.env(point), **env}
        match tree:
            case ("!", a):
                return not self.truth(a, point, env)
            case ("&", a, b):
                return self.truth(a, point, env) and self.truth(b, point, env)
            case ("|", a, b):
                return self.truth(a, point, env) or self.truth(b, point, env)
            case ("=>", a, b):
                return not self.truth(a, point, env) or self.truth(b, point, env)
            case ("binder", "forall" | "exists" as name, variable, *source, body):
                inners = each((variable, *source), around, self.model.scope)
                found = (
                    self.truth(body, point, {**env, variable: inner[variable]}) for inner in inners
                )
                return all(found) if name == "forall" else any(found)
            case ("P", bounds, path):
                p = self.chance(path, point, env)
                tests = ((word, self.number(bound, env)) for word, bound in bounds)
                return all(sign(p - r) in TESTS[word] for word, r in tests)
            case ("D", epsilon, delta, path):
                budget, more = self.budget(epsilon, env), self.number(delta, env)
                chances = (
                    (self.chance(path, s, env), self.chance(path, t, env))
                    for s, t in self.both_ways()
                    if point in (s, t)
                )
                return all(excess_sign(p, q, budget, more) <= 0 for p, q in chances)
        return self.model.holds_at(self.model.first(point))(tree, around)

    def number(self, tree: Tree, env: Env) -> Number:
        """Return a number of a claim."""
        return number(evaluate(tree, env, self.model.scope))

    def budget(self, tree: Tree, env: Env) -> Budget:
        """Return a budget of a claim."""
        return as_budget(evaluate(tree, env, self.model.scope))

    def chance(self, path: Tree, point: Point, env: Env) -> Number:
        """Return the probability of the runs of a point that satisfy a path formula."""
        found, text = self.model.chance(path, point, env), self.model.text_of(point)
        self.chances.pop(text, None)  # the last one stands last
        self.chances[text] = found
        return found

    # --- events ----------------------------------------------------------------------------

    def outcomes(self) -> Iterator[tuple[Outcomes, str]]:
        """Yield the outcomes of each pair, both ways."""
        for s, t in self.both_ways():
            text = f"{self.model.text_of(s)} against {self.model.text_of(t)}"
            yield self.target.outcomes(s, t), text

    def excesses(self, epsilon: Budget) -> Iterator[tuple[Number, Number, str]]:
        """Yield P(S) and Q(S) of each pair, both ways, for S all that has p >= e^ε q."""
        for outcomes, pair in self.outcomes():
            event = [(p, q, n) for p, q, n in outcomes if excess_sign(p, q, epsilon) >= 0]
            yield sum(n * p for p, _, n in event), sum(n * q for _, q, n in event), pair


# --- answers -----------------------------------------------------------------------------------


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
    tree, at = parsed_claim(claim), None if condition is None else parsed_claim(condition)
    if value is not None:
        quantity = tree[2][0] if tree[0] == "compare" else tree
        tree = ("compare", ("=",), (quantity, parsed_claim(value)))
    try:
        question = Question(target_of(target, loaded), at)
        question.pair_all()
        return _answer(question, tree)
    except TooLong:
        loaded.work.steps = STEPS
        question = Question(target_of(target, loaded), at)
        question.sample(named, len(claim))
        return _answer(question, tree)


def _answer(question: Question, tree: Tree) -> Answer:
    match tree:
        case ("compare", _, (("call", name, _), *_)) if question.model.scope.of("fun", name):
            pass
        case ("call", "dp", (epsilon, *delta)):
            return _private(question, epsilon, delta[0] if delta else ("constant", 0))
        case ("compare", (word,), (("name", "epsilon"), bound)):
            return _least_epsilon(question, word, bound)
        case ("compare", (word,), (("call", "epsilon", (delta,)), bound)):
            return _least_epsilon_at(question, word, delta, bound)
        case ("compare", (word,), (("call", "delta", (epsilon,)), bound)):
            return _least_delta(question, word, epsilon, bound)
        case ("compare", (word,), (("call", "loss_tail", (epsilon,)), bound)):
            return _loss_tail(question, word, epsilon, question.number(bound, {}))
        case ("compare", (word,), (("call", "posterior_max", (prior,)), bound)):
            values = question.number(prior, {}), question.number(bound, {})
            return _largest_belief(question, word, *values)
        case ("compare", (word,), (("call", "posterior_min", (prior,)), bound)):
            values = 1 - question.number(prior, {}), 1 - question.number(bound, {})
            return _largest_belief(question, OPPOSITE[word], *values)
        case ("compare", (word,), (("P=?", path), bound)):
            (point,) = question.selected
            p, r = question.chance(path, point, {}), question.number(bound, {})
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


def _private(question: Question, epsilon: Tree, delta: Tree) -> Answer:
    """Return whether P(S) <= e^ε Q(S) + δ for all pairs and sets S: by the worst S of each."""
    budget, more = question.budget(epsilon, {}), question.number(delta, {})
    for p, q, pair in question.excesses(budget):
        if excess_sign(p, q, budget, more) > 0:
            why = f"{number_text(p)} against {number_text(q)}, {pair}"
            return Answer(False, why, question.covered)
    return Answer(True, "no event exceeds the budget", question.covered)


def _least_epsilon(question: Question, word: str, bound: Tree) -> Answer:
    """Compare the largest p/q with e^bound: each p/q, and at least 1."""
    largest: tuple[Number, Number] = (ONE, ONE)
    for outcomes, _ in question.outcomes():
        for p, q, _ in outcomes:
            if p * largest[1] > largest[0] * q:
                largest = p, q
    is_infinite = largest[1] == 0
    if bound == INFINITE:
        order = 0 if is_infinite else -1
    else:
        budget = question.budget(bound, {})
        order = 1 if is_infinite else excess_sign(*largest, budget)
    why = "inf" if is_infinite else f"ln({number_text(quotient(*largest))})"
    return _compared(question, order, word, f"epsilon = {why}")


def _least_epsilon_at(question: Question, word: str, at: Tree, bound: Tree) -> Answer:
    """Compare the least ε with δ(ε) <= δ: where δ(bound) = δ, a lower ε has more if Q(S) > 0."""
    delta = question.number(at, {})
    if bound == INFINITE:
        alone = (sum(n * p for p, q, n in each if q == 0) for each, _ in question.outcomes())
        order = 0 if any(sign(p - delta) > 0 for p in alone) else -1
        return _compared(question, order, word, WORDS[order].format("epsilon"))
    budget = question.budget(bound, {})
    signs = set()
    for p, q, _ in question.excesses(budget):
        over = excess_sign(p, q, budget, delta)
        signs.add(-1 if over == 0 and sign(q) == 0 else over)
    order = max(signs, default=-1)
    order = 0 if order < 0 and budget.sign() == 0 else order
    return _compared(question, order, word, WORDS[order].format("epsilon"))


def _least_delta(question: Question, word: str, epsilon: Tree, bound: Tree) -> Answer:
    """Compare the largest P(S) - e^ε Q(S) with the bound."""
    budget, delta = question.budget(epsilon, {}), question.number(bound, {})
    excesses = list(question.excesses(budget))
    growth = budget.exp()
    if growth is not None:
        return _largest(question, word, delta, (p - growth * q for p, q, _ in excesses), "delta")
    order = max((excess_sign(p, q, budget, delta) for p, q, _ in excesses), default=-sign(delta))
    return _compared(question, order, word, WORDS[order].format("delta"))


def _loss_tail(question: Question, word: str, epsilon: Tree, bound: Number) -> Answer:
    """Compare the largest P(S) with the bound, for S all outcomes that have p > e^ε q."""
    budget = question.budget(epsilon, {})
    tails = (
        sum(n * p for p, q, n in outcomes if excess_sign(p, q, budget) > 0)
        for outcomes, _ in question.outcomes()
    )
    return _largest(question, word, bound, tails, "loss_tail")


def _largest_belief(question: Question, word: str, prior: Number, bound: Number) -> Answer:
    """Compare the largest belief r p / (r p + (1 - r) q) in one of a pair with the bound."""
    beliefs = (
        quotient(prior * p, prior * p + (1 - prior) * q)
        for outcomes, _ in question.outcomes()
        for p, q, _ in outcomes
    )
    return _largest(question, word, bound, beliefs, "belief")


def _largest(
    question: Question, word: str, bound: Number, values: Iterable[Number], name: str
) -> Answer:
    """Compare the largest of some values, at least 0, with the bound."""
    largest = max(values, default=ZERO)
    return _compared(question, sign(largest - bound), word, f"{name} = {number_text(largest)}")


def _compared(question: Question, order: int, word: str, why: str) -> Answer:
    """Return the answer to a comparison; of a sample, a value may be larger than was seen."""
    if not question.is_sample:
        return Answer(order in TESTS[word], why, question.covered)
    if order > 0:
        return Answer(word in (">", ">=", "!="), why, question.covered)
    if word in ("<", "<=", "="):
        return Answer(order in (*TESTS[word], -1), f"at least: {why}", question.covered)
    raise NotCovered("a value of which a sample of inputs says too little")
