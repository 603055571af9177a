"""Markov chains: what is seen of their runs, and how likely runs satisfy a path formula.

A mechanism and an explicit chain both say, of a state, how likely it is to show what, and be in
which state then, to go on in silence, or to end. Every operator of a path formula is made of
`! & | X U`; a formula progresses to what must hold from the next state on: a U b is b | (a & X (a U
b)).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

from dpcheck.reference.expressions import (
    Env,
    Formula,
    Scope,
    combined,
    evaluate,
    junction,
    negation,
)
from dpcheck.reference.numbers import ONE, ZERO, Number, quotient, summed
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import (
    FALSE,
    TRUE,
    End,
    NotCovered,
    Sym,
    Value,
    Work,
    WrongProgram,
    integer,
)


class Result(NamedTuple):
    """What is found in the end, in a law of nodes that are next."""

    value: Any


MOST_OUTPUTS = 40
"""Bounds a run of which everything is asked."""
MOST_DRAWN = 10_000
"""Bounds the steps of a path that is drawn."""

Holds = Callable[[Tree, Env], bool]
"""Whether an atom holds at a state, its bound names having these values."""
State = Any
Node = Any
Law = dict[Any, Number]
"""How likely is what; of a row, (outputs, `End`)."""
Point = Any
"""An input of a mechanism, or a state of a chain: hashable."""
Position = Any
"""Of a path: what was shown last with the state then, or of a chain a state; or an `End`."""


class Equations:
    """The law of what results in the end, f(s) = Σ p f(t), from the node s.

    following: returns p of each next node t, or `Result`. From where nothing can result the result
    is `End.DIVERGED`. A node is eliminated when a search in depth leaves it: what remains in its
    equation are nodes that the search has entered and not left, at last none.
    """

    def __init__(self, following: Callable[[Any], Law], work: Work) -> None:
        self.following, self.work = following, work
        self.found: dict[Node, Law] = {}

    def results(self, start: Node) -> Law:
        """Return the law of what results from a node."""
        entered: dict[Node, Law] = {}
        pending = [start]
        try:
            while pending:
                node = pending.pop()
                if node in entered:
                    self.found[node] = self._eliminated(node, entered.pop(node))
                elif node not in self.found and not isinstance(node, Result):
                    self.work.spend()
                    entered[node] = self.following(node)
                    pending += [node, *(t for t in entered[node] if t not in entered)]
        except BaseException:
            self.found.clear()  # equations are left in which nodes occur that were not
            raise
        self.found[start] = self._eliminated(None, self.found[start])
        return {result.value: p for result, p in self.found[start].items()}

    def _eliminated(self, node: Node, law: Law) -> Law:
        """Return an equation in which the node and those that were left do not occur any more."""
        while not self.found.keys().isdisjoint(law):
            law = summed(
                (other, p * q)
                for t, p in law.items()
                for other, q in self.found.get(t, {t: ONE}).items()
            )
        stays = law.pop(node, ZERO)
        if stays == 1:
            return {Result(End.DIVERGED): ONE}
        return {key: quotient(p, 1 - stays) for key, p in law.items()} if stays else law


class Model:
    """A mechanism or a chain: its points, which of them are neighbors, and the runs of each.

    A path formula is about the positions of a path; one without an end stays at its last one.
    An analyst may make `queries`; choices by one who adapts are draws of so many as are `offered`.
    Each kind says: of a point its text, and the point of a text; the names that formulas read there
    (`env`), the state in which a run begins (`start`), and where a path does (`first`); the law of
    the next state, or `Result` of an `End` or (what is shown, the state then), and of the position
    after another; whether an atom holds at one.
    """

    points: list[Point]
    are_neighbors: Callable[[Point, Point], bool]
    text_of: Callable[[Point], str]
    point_of: Callable[[str], Point | None]
    env: Callable[[Point], Env]
    start: Callable[[Point], State]
    transitions: Callable[[State], Law]
    first: Callable[[Point], Position]
    after: Callable[[Position], Law]
    atom: Callable[[Tree, Position, Env], bool]
    queries: frozenset[str] = frozenset()
    offered: dict[Any, int] = {}  # noqa: RUF012 - a mechanism has its own

    def __init__(self, scope: Scope, work: Work) -> None:
        self.scope, self.work = scope, work
        self._shown = Equations(self.transitions, work)
        self._rows: dict[Point, Law] = {}
        self._weights: dict[Node, tuple[list[Node], list[float]]] = {}
        self._chances: dict[Any, Number] = {}

    @property
    def ends(self) -> list[Point]:
        """The points, and others that are neighbors, of which claims ask as such only."""
        return self.points

    @cached_property
    def pairs(self) -> list[tuple[Point, Point]]:
        """All neighbors."""
        return [pair for pair in combinations(self.ends, 2) if self.are_neighbors(*pair)]

    def value(self, tree: Tree, env: Env) -> Value:
        """Return the value of an expression."""
        return evaluate(tree, env, self.scope)

    # --- what is seen ----------------------------------------------------------------------

    def ahead(self, state: State) -> Law:
        """Return the law of what is shown next with the state then, or of how it ends."""
        return self._shown.results(state)

    def row(self, start: State, most: int) -> Law:
        """Return what runs from a state show; they are cut behind so many outputs."""

        def following(node: Node) -> Law:
            outputs, state = node
            if len(outputs) > most:
                return {Result((outputs[:most], End.CUT)): ONE}
            law: Law = {}
            for seen, p in self.ahead(state).items():
                is_end = isinstance(seen, End)
                law[Result((outputs, seen)) if is_end else ((*outputs, seen[0]), seen[1])] = p
            return law

        return Equations(following, self.work).results(((), start))

    def whole_row(self, point: Point) -> Law:
        """Return what runs from a point show, which must have an end."""
        if point not in self._rows:
            row = self.row(self.start(point), MOST_OUTPUTS)
            if any(end is End.CUT for _, end in row):
                raise NotCovered(f"runs of more than {MOST_OUTPUTS} outputs")
            self._rows[point] = row
        return self._rows[point]

    def drawn(self, node: Node, following: Callable[[Node], Law], generator: Random) -> Any:  # noqa: ANN401 - any result
        """Draw what results from a node, step by step; laws are kept."""
        for _ in range(MOST_DRAWN):
            if node not in self._weights:
                law = following(node)
                if Result(End.UNKNOWN) in law:
                    raise NotCovered("noise without bounds")
                self._weights[node] = list(law), [float(p) for p in law.values()]
            (node,) = generator.choices(*self._weights[node])
            if isinstance(node, Result):
                return node.value
        raise NotCovered(f"a path is not decided in {MOST_DRAWN:,} steps")

    # --- path formulas ---------------------------------------------------------------------

    def asked_at(self, path: Tree, point: Point, env: Env) -> Node:
        """Return where a path begins, with what must hold from there on."""
        return self.first(point), formula(path, {**self.env(point), **env}, self.scope)

    def decided(self, node: Node) -> Law:
        """Return whether a formula holds from a position on, or what must hold from the next."""
        position, wanted = node
        rest = progress(wanted, self.holds_at(position))
        if not isinstance(rest, bool):
            following = self.after(position)
            if following.keys() != {position}:
                return {(then, rest): p for then, p in following.items()}
            rest = forever(rest, self.holds_at(position))
        return {Result(rest): ONE}

    def chance(self, path: Tree, point: Point, env: Env) -> Number:
        """Return the probability of the runs of a point that satisfy a path formula."""
        key = path, point, tuple(env.items())
        if key not in self._chances:
            node = self.asked_at(path, point, env)
            law = Equations(self.decided, self.work).results(node)
            found = law.get(True, ZERO)
            if End.DIVERGED in law:  # what is never decided is false if it waits, true if it fears
                signs = polarities(node[1])
                if len(signs) == 2:
                    raise NotCovered("what happens infinitely often in a cycle")
                found += law[End.DIVERGED] if False in signs else 0
            self._chances[key] = found
        return self._chances[key]

    def holds_at(self, position: Position) -> Holds:
        """Return what decides atoms there."""
        ends = {("name", end.value): end for end in (End.STOPPED, End.DIVERGED)}
        return lambda tree, env: (
            position == ends[tree] if tree in ends else self.atom(tree, position, env)
        )

    def is_true(self, tree: Tree, env: Env) -> bool:
        """Return whether an atom is true, or is the symbol that is output; mistakes are not.

        A Boolean is no such symbol: `F y` with a false y is not true where `false` is output.
        """
        try:
            found = self.value(tree, env)
        except (WrongProgram, AttributeError, IndexError, TypeError):
            return False
        if found in (TRUE, FALSE):
            return bool(found == TRUE)
        is_name = tree[0] in ("name", "quoted")
        return is_name and isinstance(found, Sym) and found == env["output"]


# --- path formulas: what must hold once the first state of a path is known ------------------------


def formula(tree: Tree, env: Env, scope: Scope) -> Formula:
    """Return a path formula: Booleans of ("X", f), ("U", bound, f, g), ("atom", tree, names).

    env: the names that binders around it gave values.
    """
    return combined(tree, env, scope, _temporal)


def _temporal(tree: Tree, env: Env, scope: Scope) -> Formula:
    inner = partial(formula, env=env, scope=scope)

    def until(bound: Tree, a: Formula, b: Formula) -> Formula:
        return ("U", None if bound is None else integer(evaluate(bound, env, scope)), a, b)

    match tree:
        case ("X", a):
            return ("X", inner(a))
        case ("F", bound, a):
            return until(bound, True, inner(a))
        case ("U", bound, a, b):
            return until(bound, inner(a), inner(b))
        case ("G", bound, a):
            return negation(until(bound, True, negation(inner(a))))
        case ("R", _, a, b):
            return negation(until(None, negation(inner(a)), negation(inner(b))))
        case ("W", _, a, b):
            return inner(("R", None, b, ("|", a, b)))
        case ("P" | "D", *_):
            raise NotCovered("P or D inside of a path")
    return ("atom", tree, tuple(env.items()))


def progress(f: Formula, holds: Holds) -> Formula:
    """Return what must hold from the next state on."""
    match f:
        case ("atom", tree, named):
            return holds(tree, dict(named))
        case ("!", a):
            return negation(progress(a, holds))
        case ("X", a):
            return a
        case ("&" | "|" as sign, parts):
            return junction(sign, (progress(part, holds) for part in parts))
        case ("U", bound, a, b):
            now = progress(b, holds)
            if bound == 0:
                return now
            rest = ("U", None if bound is None else bound - 1, a, b)
            return junction("|", [now, junction("&", [progress(a, holds), rest])])
    return f


def forever(f: Formula, holds: Holds) -> Formula:
    """Return whether f holds where all states to come are like this one."""
    match f:
        case ("!", a):
            return negation(forever(a, holds))
        case ("&" | "|" as sign, parts):
            return junction(sign, (forever(part, holds) for part in parts))
        case ("X" | "U", *_, a):
            return forever(a, holds)
    return progress(f, holds)


def polarities(f: Formula, *, is_positive: bool = True) -> set[bool]:
    """Return whether unbounded untils occur under an even, or an odd, number of negations."""
    match f:
        case ("!", a):
            return polarities(a, is_positive=not is_positive)
        case ("X", *inner) | ("&" | "|", inner) | ("U", _, *inner):
            found = {is_positive} if f[:2] == ("U", None) else set[bool]()
            return found.union(*(polarities(part, is_positive=is_positive) for part in inner))
    return set()
