"""Claims, by their definitions: rows of the distributions, pairs of neighbors, and arithmetic."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from dpcheck.reference.chains import Chain
from dpcheck.reference.expressions import TESTS, Env, combined
from dpcheck.reference.files import Loaded
from dpcheck.reference.numbers import ONE, ZERO, Number, excess_sign, quotient, sign
from dpcheck.reference.runs import Model, Point
from dpcheck.reference.syntax import Tree, parsed
from dpcheck.reference.values import NotCovered, TooLong, Value

STEPS = 50_000
"""Bounds the statements that are run for one answer: a second of time or so."""
N_SAMPLED, N_NEIGHBORS = 4, 2
"""Inputs that are looked at where all of them are too many, and neighbors of each of these."""
WORDS = {-1: "less", 0: "equal", 1: "larger"}
OPPOSITE = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
INFINITE = ("name", "inf")


@dataclass(frozen=True)
class Answer:
    """Whether a claim holds, what decided it in numbers, and what was looked at."""

    holds: bool
    why: str
    covered: str


class Question:
    """A claim about a target: at these points, of so many, and about these pairs.

    chances: what was asked of formulas, and where.
    """

    def __init__(
        self, runs: tuple[Model, ...], at: Tree, points: list[Point] | None = None
    ) -> None:
        """Select of all points, or of these, those where a condition holds."""
        self.runs, self.model, self.is_sample = runs, runs[0], False
        self.chances: list[tuple[Number, Point]] = []
        self.selected = self.where(at, points)
        self.n_points = len(self.selected)
        self.pairs: list[tuple[Point, Point]] = []

    def where(self, condition: Tree, among: list[Point] | None) -> list[Point]:
        """Return the points where a condition holds, of all or these; a state's name picks it."""
        picked = self.model.picked(condition) if isinstance(self.model, Chain) else None
        if picked is not None:
            points, condition = [picked], None
        elif among is None or isinstance(self.model, Chain):
            points = self.model.points
        else:
            points = among
        return [
            point
            for point in points
            if (among is None or point in among)
            and (condition is None or self.truth(condition, point))
        ]

    def pair_all(self) -> None:
        """Find the neighbors of all points."""
        if len(self.model.ends) ** 2 > STEPS:
            raise TooLong("pairs of inputs are too many")
        selected = set(self.selected)
        self.pairs = [pair for pair in self.model.pairs if not selected.isdisjoint(pair)]

    def sample(self, texts: Sequence[str], seed: int) -> None:
        """Keep the points that are named, and some others, with few neighbors of each."""
        drawn, everything, near = random.Random(seed), self.model.ends, self.model.are_neighbors
        self.is_sample = True
        ends = [point for point in everything if self.model.text_of(point) in texts]
        chosen = [point for point in self.selected if point in ends]
        others = drawn.sample(self.selected, min(N_SAMPLED, len(self.selected)))
        self.selected = list(dict.fromkeys([*chosen, *others]))
        pairs = [(s, t) for s in chosen for t in ends if near(s, t)]
        for s in self.selected:
            shuffled = drawn.sample(everything, len(everything))
            pairs += islice(((s, t) for t in shuffled if near(s, t)), N_NEIGHBORS)
        self.pairs = list({frozenset(pair): pair for pair in pairs}.values())

    @property
    def covered(self) -> str:
        """What was looked at, in words."""
        if not self.is_sample:
            points = "1 input" if self.n_points == 1 else f"all {self.n_points:,} inputs"
        else:
            points = f"{len(self.selected)} of {self.n_points:,} inputs"
        pairs = "1 pair" if len(self.pairs) == 1 else f"{len(self.pairs):,} pairs"
        return f"{points}, {pairs} of neighbors"

    # --- formulas --------------------------------------------------------------------------

    def truth(self, tree: Tree, point: Point) -> bool:
        """Return whether a state formula holds at a point."""
        names = self.model.env(point)

        def inner(part: Tree, env: Env, _: object) -> bool:
            match part:
                case ("P", _, path):
                    p = self.chance(path, point, env)
                    return all(sign(p - r) in TESTS[word] for word, r in self.bounds(part, env))
                case ("D", *_, path):
                    budget = self.bounds(part, env)
                    chances = (
                        (self.chance(path, s, env), self.chance(path, t, env))
                        for s, t in self.both_ways()
                        if point in (s, t)
                    )
                    return all(excess_sign(p, q, *budget) <= 0 for p, q in chances)
            return self.model.holds_at(self.model.first(point))(part, {**names, **env})

        return bool(combined(tree, {}, self.model.scope.but(around=names), inner))

    def bounds(self, part: Tree, env: Env) -> Value:
        """Return what the chances in a P or D compare with: (sign, number) each, or ε and δ."""
        if part[0] == "D":
            return self.value(part[1], env), self.value(part[2], env)
        word, *numbers = part[1]
        words = (">=", "<=") if word == "in" else (word,)
        return tuple((w, self.value(r, env)) for w, r in zip(words, numbers, strict=True))

    def value(self, tree: Tree, env: Env) -> Value:
        """Return a number or a budget of a claim; 0 where it is left out."""
        return ZERO if tree is None else self.model.value(tree, env)

    def chance(self, path: Tree, point: Point, env: Env) -> Number:
        """Return the probability of the runs of a point that satisfy a path formula."""
        self.chances.append((self.model.chance(path, point, env), point))
        return self.chances[-1][0]

    # --- events ----------------------------------------------------------------------------

    def both_ways(self) -> Iterator[tuple[Point, Point]]:
        """Yield the pairs in both directions."""
        return (way for s, t in self.pairs for way in ((s, t), (t, s)))

    def outcomes(self) -> Iterator[list[tuple[Number, Number]]]:
        """Yield P(o) and Q(o) of all outcomes o of a run, for each pair both ways."""
        if self.pairs and len(self.runs) > 1:
            raise NotCovered("what all runs of a composition show")
        for s, t in self.both_ways():
            p, q = self.model.whole_row(s), self.model.whole_row(t)
            yield [(p.get(key, ZERO), q.get(key, ZERO)) for key in p | q]

    def largest_ratio(self) -> tuple[Number, Number]:
        """Return P(o) and Q(o) of the outcome that tells neighbors apart best; 1 and 1 of none."""
        largest: tuple[Number, Number] = (ONE, ONE)
        for p, q in chain.from_iterable(self.outcomes()):
            if p * largest[1] > largest[0] * q:
                largest = p, q
        return largest

    def excesses(self, epsilon: Value) -> Iterator[tuple[Number, Number]]:
        """Yield P(S) and Q(S) of each pair, both ways, for S all that has p >= e^ε q."""
        for outcomes in self.outcomes():
            event = [(p, q) for p, q in outcomes if excess_sign(p, q, epsilon) >= 0]
            yield sum(p for p, _ in event), sum(q for _, q in event)

    # --- answers ---------------------------------------------------------------------------

    def answer(self, tree: Tree, words: Collection[str]) -> Answer:
        """Return the answer to a claim; `words` are those of quantities."""
        match tree:
            case ("compare", _, (("call", name, _), *_)) if self.model.scope.of("fun", name):
                pass
            case ("call", "dp", (epsilon, *delta)):
                return self._delta("<=", epsilon, delta[0] if delta else None)
            case ("compare", (word,), (("call", "delta", (epsilon,)), bound)):
                return self._delta(word, epsilon, bound)
            case ("compare", (word,), (("name", "epsilon"), bound)):
                return self._epsilon(word, bound)
            case ("compare", (word,), (("call", "posterior_max", (prior,)), bound)):
                return self._belief(word, self.value(prior, {}), self.value(bound, {}))
            case ("compare", (word,), (("call", "posterior_min", (prior,)), bound)):
                values = [1 - self.value(each, {}) for each in (prior, bound)]
                return self._belief(OPPOSITE[word], *values)
            case ("compare", (word,), (("P", ("=", "?"), path), bound)):
                (point,) = self.selected
                p = self.chance(path, point, {})
                is_met = sign(p - self.value(bound, {})) in TESTS[word]
                return Answer(is_met, f"P = {p}", self.covered)
            case ("compare", _, (("name" | "call", name, *_), *_)) | ("call", name, _) if (
                name in words
            ):
                raise NotCovered("this quantity")
        false = [point for point in self.selected if not self.truth(tree, point)]
        last = [f"{p} from {self.model.text_of(point)}" for p, point in self.chances[-2:]]
        why = f"false at {self.model.text_of(false[0])}" if false else "true everywhere"
        return Answer(not false, f"{why} ({', '.join(last)})", self.covered)

    def _delta(self, word: str, epsilon: Tree, bound: Tree) -> Answer:
        """Compare the largest P(S) - e^ε Q(S), over all pairs and sets S, with the bound."""
        budget, delta = self.value(epsilon, {}), self.value(bound, {})
        order, why = -2, ""
        for p, q in chain(self.excesses(budget), [(ZERO, ZERO)]):  # S may be empty
            over = excess_sign(p, q, budget, delta)
            if over > order:
                order, why = over, f"{p} against {q}"
            if order > 0:
                break
        return self._compared(order, word, f"delta is {WORDS[order]}, by {why}")

    def _epsilon(self, word: str, bound: Tree) -> Answer:
        """Compare the largest p/q with e^bound."""
        p, q = self.largest_ratio()
        is_less = -int(q != 0)
        order = is_less if bound == INFINITE else excess_sign(p, q, self.value(bound, {}))
        why = "inf" if q == 0 else f"ln({quotient(p, q)})"
        return self._compared(order, word, f"epsilon = {why}")

    def _belief(self, word: str, prior: Number, bound: Number) -> Answer:
        """Compare the largest belief r p / (r p + (1 - r) q) in one of a pair with the bound."""
        p, q = self.largest_ratio()
        belief = quotient(prior * p, prior * p + (1 - prior) * q)
        return self._compared(sign(belief - bound), word, f"belief = {belief}")

    def _compared(self, order: int, word: str, why: str) -> Answer:
        """Return the answer to a comparison; of a sample, a value may be larger than was seen."""
        if not self.is_sample:
            return Answer(order in TESTS[word], why, self.covered)
        if order > 0:
            return Answer(word in (">", ">=", "!="), why, self.covered)
        if word in ("<", "<=", "="):
            return Answer(order in (*TESTS[word], -1), f"at least: {why}", self.covered)
        raise NotCovered("a value of which a sample of inputs says too little")


def answer(
    loaded: Loaded,
    target: str,
    condition: str | None,
    claim: str,
    value: str | None = None,
    named: Sequence[str] = (),
    words: Collection[str] = (),
) -> Answer:
    """Return the answer to a claim, or, with a value of its quantity, whether that is the value.

    Where all inputs are too much work, a sample of them is asked about, those that are `named`
    among them. `words` are those of all quantities, which are no symbols here. Raises `NotCovered`,
    or `WrongProgram` for a mistake in the program.
    """
    tree, at = parsed(claim), None if condition is None else parsed(condition)
    if value is not None:
        quantity = tree[2][0] if tree[0] == "compare" else tree
        tree = ("compare", ("=",), (quantity, parsed(value)))
    try:
        question = Question(loaded.target(target), at)
        question.pair_all()
        return question.answer(tree, words)
    except TooLong:
        loaded.work.steps = STEPS
        question = Question(loaded.target(target), at)
        question.sample(named, len(claim))
        return question.answer(tree, words)
