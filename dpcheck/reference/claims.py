"""Claims, by their definitions: rows of the distributions, pairs of neighbors, and arithmetic."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from math import comb, prod
from typing import Any

from dpcheck.reference.chains import Chain
from dpcheck.reference.expressions import Env, Scope, as_budget, chosen_from, evaluate
from dpcheck.reference.files import Loaded
from dpcheck.reference.formulas import Formula, Holds, forever, formula, polarities, progress
from dpcheck.reference.numbers import Budget, Number, excess_sign, number_text, quotient, sign
from dpcheck.reference.programs import (
    CUT,
    DIVERGED,
    STOPPED,
    Mechanism,
    Rest,
    Row,
    Runs,
    add,
    solved,
)
from dpcheck.reference.syntax import Tree, by_place, parsed_claim, parsed_target
from dpcheck.reference.values import (
    FALSE,
    TRUE,
    Arr,
    NotCovered,
    Sym,
    TooLong,
    Value,
    Work,
    WrongProgram,
    as_text,
    integer,
    number,
)

MOST_OUTPUTS = 40
"""Bounds a run that is followed, output by output."""
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


class Subject:
    """A mechanism or chain with its parameters, and how much work may be done on it."""

    def __init__(self, loaded: Loaded, target: Tree, work: Work) -> None:
        """Find the declaration and give its parameters values."""
        self.kept: Number = Fraction(1)
        while is_sample(target, loaded.scope):
            (_, target), (_, kept) = target[2]
            self.kept *= number(evaluate(kept, {}, loaded.scope))
        name, arguments = target[1], target[2] if target[0] == "call" else []
        self.scope: Scope = loaded.scope
        self.work = work
        tree, chain = self.scope.of("mechanism", name), self.scope.of("chain", name)
        if tree is None and chain is None:
            raise NotCovered(f"the target {name}(...)")
        given = {key: evaluate(value, {}, self.scope) for key, value in arguments}
        self.mechanism = None if tree is None else Mechanism(tree, given, self.scope)
        self.chain = None if chain is None else Chain(chain, given, self.scope, work)
        self.runs = Runs(self.scope, work)
        self._rows: dict[str, Row] = {}
        self._near: dict[int, list[Point]] = {}

    def begin(self, work: Work) -> None:
        """Do what follows with this work."""
        self.work = self.runs.work = work
        if self.chain is not None:
            self.chain.work = work

    @cached_property
    def points(self) -> list[Point]:
        """All inputs, or initial states."""
        if self.mechanism is not None:
            return self.mechanism.universe()
        return list(self.chain.initial) if self.chain is not None else []

    def neighbors_of(self, s: Point) -> list[Point]:
        """Return the neighbors of an input or a state."""
        if id(s) not in self._near:
            self._near[id(s)] = [t for t in self.points if self.are_neighbors(s, t)]
        return self._near[id(s)]

    def text_of(self, point: Point) -> str:
        """Write an input or a state as people see it."""
        if self.mechanism is not None:
            return self.mechanism.text_of(point)
        return self.chain.text_of(point) if self.chain is not None else ""

    def are_neighbors(self, s: Point, t: Point) -> bool:
        """Return whether two points are neighbors."""
        self.work.spend()
        if self.mechanism is not None:
            return self.mechanism.are_neighbors(s, t)
        return self.chain is not None and frozenset((s, t)) in self.chain.pairs

    def row(self, point: Point, most: int | None = None, *, is_open: bool = False) -> Row:
        """Return the distribution of what runs show; raises `NotCovered` where they go on.

        They may if that `is_open`. With `most`, for chains, they are followed for so many outputs.
        """
        if most is not None and self.chain is not None:
            return self._row_of_state(point, most)
        text = self.text_of(point)
        if text not in self._rows:
            if self.mechanism is not None:
                found = self.row_of_samples(self.runs, point, MOST_OUTPUTS)
            else:
                found = self._row_of_state(point, MOST_OUTPUTS)
            self._rows[text] = found
        if not is_open and any(status == CUT for _, status in self._rows[text]):
            raise NotCovered(f"runs of more than {MOST_OUTPUTS} outputs")
        return self._rows[text]

    def row_of_samples(self, runs: Runs, point: Point, rest: Rest) -> Row:
        """Return what runs of a mechanism show from an input, or from a sample of its records."""
        assert self.mechanism is not None, "inputs are of mechanisms"
        samples: list[tuple[Point, Number]] = [({}, Fraction(1))]
        for kind, name, *_ in self.mechanism.inputs:
            ways = [(point[name], Fraction(1))]
            if kind == "input" and self.kept != 1:
                ways = list(_samples(point[name], self.kept))
            samples = [({**env, name: v}, p * q) for env, p in samples for v, q in ways]
        found: Row = {}
        for sample, p in samples:
            for seen, q in runs.row(self.mechanism, sample, rest).items():
                add(found, seen, p * q)
        return found

    def _row_of_state(self, state: Point, most: int) -> Row:
        assert self.chain is not None, "a subject is a mechanism or a chain"
        if not self.chain.observed:
            raise NotCovered("a chain without `observe`")
        return self.chain.row(state, most)

    def env(self, point: Point) -> Env:
        """Return the names that a formula may read at a point."""
        if self.mechanism is not None:
            return {**self.mechanism.parameters, **point}
        return dict(self.chain.env) if self.chain is not None else {}


def is_sample(target: Tree, scope: Scope) -> bool:
    """Return whether a target is `subsample(m, q)`, not a mechanism of that name."""
    is_word = target[0] == "call" and target[1] == "subsample" and len(target[2]) == 2
    return is_word and all(scope.of(kind, "subsample") is None for kind in ("mechanism", "chain"))


def _samples(records: Value, kept: Number) -> Iterator[tuple[Value, Number]]:
    """Yield how many of some equal records, or of those of each cell, are kept, and how likely."""
    if isinstance(records, Arr):
        for cells in product(*(list(_samples(each, kept)) for each in records.items)):
            yield Arr(records.lo, tuple(n for n, _ in cells)), prod((p for _, p in cells), start=1)
        return
    n = integer(records)
    for k in range(n + 1):
        yield k, comb(n, k) * kept**k * (1 - kept) ** (n - k)


class Question:
    """A claim about a subject: at these points, of so many, and about these pairs.

    chances: what was computed last of a formula, by the texts of the points.
    """

    def __init__(
        self, subject: Subject, points: list[Point], pairs: list[tuple[Point, Point]]
    ) -> None:
        """Ask about all of the points."""
        self.subject, self.selected, self.pairs = subject, points, pairs
        self.n_points = len(points)
        self.chances: dict[str, Number] = {}
        self.is_sample = False

    def choose(self, condition: Tree) -> None:
        """Keep the points where a condition holds, and find their pairs."""
        everything = self.selected
        self.selected = self.where(condition, everything)
        self.n_points = len(self.selected)
        met: set[frozenset[int]] = set()
        for s in self.selected:
            for t in self.subject.neighbors_of(s):
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
        chosen = [point for point in asked if self.subject.text_of(point) in named]
        drawn_points = drawn.sample(asked, min(N_SAMPLED, len(asked)))
        self.selected = chosen + [point for point in drawn_points if point not in chosen]
        ends = [point for point in everything if self.subject.text_of(point) in named]
        near = self.subject.are_neighbors
        pairs = [(s, t) for s in chosen for t in ends if near(s, t)]
        for s in self.selected:
            others = (t for t in drawn.sample(everything, len(everything)) if near(s, t))
            pairs += [(s, t) for t in islice(others, N_NEIGHBORS)]
        self.pairs = list({frozenset((id(s), id(t))): (s, t) for s, t in pairs}.values())

    def where(self, condition: Tree, points: list[Point]) -> list[Point]:
        """Return the points where a condition holds; a chain's `at` may name other states."""
        chain = self.subject.chain
        if condition is None:
            return points
        if chain is not None and condition[0] in ("name", "index"):
            named = condition if condition[0] == "name" else condition[1]
            indices = [] if condition[0] == "name" else condition[2]
            return chain.meant((named[1], indices), chain.env)
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
        scope = self.subject.scope
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
                around = {**self.subject.env(point), **env}
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
                        Fraction(0) if delta is None else number(self.value(delta, env)),
                    )
                    <= 0
                    for s, t in self.both_ways()
                    if point in (s, t)
                )
        return self.holds_at(point, ("initial", None))(tree, env)

    def value(self, tree: Tree, env: Env) -> Value:
        """Return a number or budget of a claim."""
        return evaluate(tree, env, self.subject.scope)

    def chance(self, path: Tree, point: Point, env: Env) -> Number:
        """Return the probability of the runs of a point that satisfy a path formula."""
        found = self._chance(path, point, env)
        self.chances.pop(text := self.subject.text_of(point), None)
        self.chances[text] = found
        return found

    def _chance(self, path: Tree, point: Point, env: Env) -> Number:
        scope = self.subject.scope
        f = formula(path, {**self.subject.env(point), **env}, scope)
        if self.subject.chain is not None:
            return self._chance_in_chain(self.subject.chain, f, point)
        total: Number = Fraction(0)
        for (outputs, status), p in self.subject.row(point, is_open=True).items():
            rest = progress(f, self.holds_at(point, ("initial", None)))
            for shown in outputs:
                rest = progress(rest, self.holds_at(point, ("output", shown)))
            if status == CUT and not isinstance(rest, bool):
                raise NotCovered(f"runs of more than {MOST_OUTPUTS} outputs")
            total += p if forever(rest, self.holds_at(point, (status, None))) else 0
        return total

    def holds_at(self, point: Point, letter: tuple[str, str | None]) -> Holds:
        """Return what decides atoms at the start, behind an output, or after the end."""
        kind, shown = letter
        value = None if shown is None else self.subject.runs.seen[shown]

        def holds(tree: Tree, env: Env) -> bool:
            if tree in (("name", "stopped", False), ("name", "diverged", False)):
                return bool(kind == tree[1])
            return self._is_true(tree, {**self.subject.env(point), **env, "output": value})

        return holds

    def _is_true(self, tree: Tree, env: Env) -> bool:
        """Return whether an atom is true, or is the symbol that is output; mistakes are not.

        A Boolean is no such symbol: `F y` with a false y is not true where `false` is output.
        """
        try:
            found = evaluate(tree, env, self.subject.scope)
        except (WrongProgram, AttributeError, IndexError, TypeError):
            return False
        if found in (TRUE, FALSE):
            return bool(found == TRUE)
        return tree[0] == "name" and isinstance(found, Sym) and found == env["output"]

    def _chance_in_chain(self, chain: Chain, f: Formula, start: Point) -> Number:
        """Return the probability of a formula by equations over (state, what must hold)."""
        silent: dict[Any, dict[Any, Number]] = {}
        constant: dict[Any, dict[Any, Number]] = {}
        pending = [(start, f)]
        while pending:
            node = pending.pop()
            if node in silent:
                continue
            self.subject.work.spend()
            silent[node], constant[node] = {}, {}
            state, wanted = node
            rest = progress(wanted, self._holds_in(chain, state))
            if state not in chain.rows and not isinstance(rest, bool):
                rest = forever(rest, self._holds_in(chain, None))
            elif chain.is_end(state) and not isinstance(rest, bool):
                rest = forever(rest, self._holds_in(chain, state))
            if isinstance(rest, bool):
                add(constant[node], ((), rest, STOPPED), Fraction(1))
                continue
            for t, p in chain.rows[state].items():
                add(silent[node], (t, rest), p)
                pending.append((t, rest))
        total: Number = Fraction(0)
        found = solved(silent, constant, self.subject.work)[start, f]
        for (_, rest, status), p in found.items():
            signs = polarities(f) if status == DIVERGED else set()
            if len(signs) == 2:
                raise NotCovered("what happens infinitely often in a cycle")
            # What is never decided is false if it waits for something, true if it fears it.
            total += p if rest is True or False in signs else 0
        return total

    def _holds_in(self, chain: Chain, state: Point | None) -> Holds:
        """Return what decides atoms in a state, or, for None, after the end."""

        def holds(tree: Tree, env: Env) -> bool:
            match tree:
                case ("name", "stopped", False):
                    return state is None
                case ("name", "diverged", False):
                    return False
                case ("name", name, _) if any(name in labels for labels in chain.states.values()):
                    return state is not None and name in chain.states[state]
                case ("index", ("name", name, _), indices) if name in chain.sets:
                    wanted = tuple(evaluate(i, {**chain.env, **env}, chain.scope) for i in indices)
                    return bool(state == (name, wanted))
            return self._is_true(tree, {**chain.env, **env, "output": None})

        return holds

    # --- events ----------------------------------------------------------------------------

    def excesses(self, epsilon: Budget) -> Iterator[tuple[Number, Number, str]]:
        """Yield P(S) and Q(S) of each pair, both ways, for S all sequences with p >= e^ε q."""
        for s, t in self.both_ways():
            p_row, q_row = self.subject.row(s), self.subject.row(t)
            p = q = Fraction(0)
            for key, x in p_row.items():
                y = q_row.get(key, Fraction(0))
                if excess_sign(x, y, epsilon) >= 0:
                    p, q = p + x, q + y
            yield p, q, f"{self.subject.text_of(s)} against {self.subject.text_of(t)}"

    def one_sided(self) -> Iterator[Number]:
        """Yield how likely it is from one of a pair to show what is impossible from the other."""
        for s, t in self.both_ways():
            q_row = self.subject.row(t)
            yield sum(p for key, p in self.subject.row(s).items() if key not in q_row)

    def ratios(self) -> Iterator[tuple[Number, Number]]:
        """Yield p and q of each sequence of each pair, both ways."""
        for s, t in self.both_ways():
            q_row = self.subject.row(t)
            for key, p in self.subject.row(s).items():
                yield p, q_row.get(key, Fraction(0))


def answer(
    loaded: Loaded,
    target: str,
    condition: str | None,
    claim: str,
    value: str | None = None,
    *,
    named: Sequence[str] = (),
    work: Work | None = None,
) -> Answer:
    """Return the answer to a claim, or, with a value of its quantity, whether that is the value.

    Where all inputs are too much work, a sample of them is asked about, those that are `named`
    among them. Raises `NotCovered`, or `WrongProgram` for a mistake in the program.
    """
    work = Work(STEPS) if work is None else work
    if target not in loaded.subjects:
        loaded.subjects[target] = Subject(loaded, parsed_target(target), work)
    subject: Subject = loaded.subjects[target]
    subject.begin(work)
    tree = parsed_claim(claim)
    if value is not None:
        quantity = tree[2][0] if tree[0] == "compare" else tree
        tree = ("compare", ["="], [quantity, parsed_claim(value)])
    at = None if condition is None else parsed_claim(condition)
    question = Question(subject, subject.points, [])
    try:
        if len(subject.points) ** 2 > STEPS:
            raise TooLong("pairs of inputs are too many")
        question.choose(at)
        return _answer(question, tree)
    except TooLong:
        question = Question(subject, subject.points, [])
        work.steps = STEPS
        question.sample(at, named, len(claim))
        return _answer(question, tree)


def _answer(question: Question, tree: Tree) -> Answer:
    match tree:
        case ("call", "dp", arguments):
            values = [question.value(value, {}) for value in by_place(arguments)]
            delta = number(values[1]) if len(values) > 1 else Fraction(0)
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
    why = f"false at {question.subject.text_of(false[0])}" if false else "true everywhere"
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
    ratios = [(Fraction(1), Fraction(1)), *question.ratios()]
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
    largest = max(gaps, default=Fraction(0))
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


__all__ = ["Answer", "Question", "Subject", "answer", "as_text"]
