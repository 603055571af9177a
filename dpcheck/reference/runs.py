"""Markov chains: what is seen of their runs, and how likely runs satisfy a path formula.

A mechanism and an explicit chain both say, of a state, how likely it is to show what, or None, and
be in which state then; at the end of a run that is empty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from random import Random
from typing import Any

from dpcheck.reference.expressions import Env, Scope, evaluate
from dpcheck.reference.formulas import Holds, forever, formula, polarities, progress
from dpcheck.reference.numbers import ONE, ZERO, Number, quotient, sign
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import FALSE, TRUE, NotCovered, Sym, Value, Work, WrongProgram

STOPPED, DIVERGED, CUT, UNKNOWN = "stopped", "diverged", "cut", "unknown"
"""The end of a run; that it goes on forever in silence; that it shows more than is followed; that
it draws what is left out."""
MOST_DRAWN = 10_000
"""Bounds the steps of a path that is drawn."""

State = Any
Outputs = tuple[str, ...]
Law = dict[Any, Number]
"""How likely is what: of a row, (outputs, how it ends: stopped, diverged or cut)."""
Point = Any
"""An input of a mechanism, or a state of a chain: hashable."""
Position = Any
"""Of a path: what was shown last with the state then, or of a chain a state; or how it ended."""


def add(law: Law, key: object, p: Number) -> None:
    """Add a probability to an entry."""
    if p:
        known = law.get(key)
        law[key] = p if known is None else known + p


class Equations:
    """The law f(s) = results(s) + Σ p f(t) of what results in the end from the node s.

    parts: returns the results of a node, and p of each next node t. From where nothing can result
    the result is `DIVERGED`. A node is eliminated when a search in depth leaves it: what remains
    in its equation are nodes that the search has entered and not left, at last none.
    """

    def __init__(self, parts: Callable[[Any], tuple[Law, Law]], work: Work) -> None:
        self.parts, self.work = parts, work
        self.found: dict[Any, tuple[Law, Law]] = {}

    def results(self, start: State) -> Law:
        """Return the law of what results from a node."""
        entered: dict[State, tuple[Law, Law]] = {}
        pending = [start]
        try:
            while pending:
                node = pending.pop()
                if node in entered:
                    self.found[node] = self._eliminated(node, *entered.pop(node))
                elif node not in self.found:
                    self.work.spend()
                    entered[node] = self.parts(node)
                    pending += [node, *(t for t in entered[node][1] if t not in entered)]
        except BaseException:
            self.found.clear()  # equations are left in which nodes occur that were not
            raise
        if self.found[start][1]:
            self.found[start] = self._eliminated(None, *self.found[start])
        return self.found[start][0]

    def _eliminated(self, node: State, results: Law, nodes: Law) -> tuple[Law, Law]:
        """Return an equation in which the node and those that were left do not occur any more."""
        results, nodes = dict(results), dict(nodes)
        while known := [t for t in nodes if t in self.found]:
            for t in known:
                p, (further, others) = nodes.pop(t), self.found[t]
                if p == 1 and not others:  # the only one: both have one law
                    return further, {}
                for key, q in further.items():
                    add(results, key, p * q)
                for other, q in others.items():
                    add(nodes, other, p * q)
        leaves = ONE - nodes.pop(node, ZERO)
        if sign(leaves) == 0:
            return {DIVERGED: ONE}, {}
        if sign(leaves - 1):
            results, nodes = (
                {key: quotient(p, leaves) for key, p in law.items()} for law in (results, nodes)
            )
        return results, nodes


class Model:
    """A mechanism or a chain: its points, which of them are neighbors, and the runs of each.

    A path formula is about the positions of a path; one without an end stays at its last one.
    An analyst may make `queries`; choices by one who adapts are draws of so many as are `offered`.
    Each kind says: of a point its text, the names that formulas read there (`env`), the state in
    which a run begins (`start`), and where a path does (`first`); the law of (what is shown, the
    state then) from a state, and of the position after another; whether an atom holds at one.
    """

    every_point: Callable[[], list[Point]]
    are_neighbors: Callable[[Point, Point], bool]
    text_of: Callable[[Point], str]
    env: Callable[[Point], Env]
    start: Callable[[Point], State]
    transitions: Callable[[State], Law]
    first: Callable[[Point], Position]
    after: Callable[[Position], Law]
    atom: Callable[[Tree, Position, Env], bool]
    queries: frozenset[str] = frozenset()
    offered: dict[str, int] = {}  # noqa: RUF012 - a mechanism has its own

    def __init__(self, scope: Scope, work: Work) -> None:
        self.scope, self.work = scope, work
        self._next_shown = Equations(self._next, work)
        self._weights: dict[Any, tuple[list[Any], list[float]]] = {}
        self._chances: dict[Any, Number] = {}

    @cached_property
    def points(self) -> list[Point]:
        """All inputs, or initial states."""
        return self.every_point()

    def point_of(self, text: str) -> Point | None:
        """Return the input, or state, that is written so."""
        return next((point for point in self.points if self.text_of(point) == text), None)

    def value(self, tree: Tree, env: Env) -> Value:
        """Return the value of an expression."""
        return evaluate(tree, env, self.scope)

    # --- what is seen ----------------------------------------------------------------------

    def _next(self, state: State) -> tuple[Law, Law]:
        """Return what is shown next, and the states that come next in silence."""
        following = self.transitions(state)
        silent = {key[1]: p for key, p in following.items() if key[0] is None}
        results = {key: p for key, p in following.items() if key[0] is not None}
        return (results, silent) if following else ({STOPPED: ONE}, {})

    def ahead(self, state: State) -> Law:
        """Return the law of what is shown next with the state then, or of how it ends."""
        return self._next_shown.results(state)

    def row(
        self, start: State, goes_on: Callable[[Outputs], bool], told: Callable[[str], str] = str
    ) -> Law:
        """Return what runs from a state show, as it is told; they are cut where that ends."""
        row: Law = {}
        shown_by: dict[Outputs, Law] = {(): {start: ONE}}
        while shown_by:
            outputs, states = shown_by.popitem()
            self.work.spend(len(states))
            for state, p in states.items():
                for seen, q in self.ahead(state).items():
                    if isinstance(seen, str):
                        add(row, (outputs, seen), p * q)
                    elif goes_on(shown := (*outputs, told(seen[0]))):
                        add(shown_by.setdefault(shown, {}), seen[1], p * q)
                    else:
                        add(row, (outputs, CUT), p * q)
        return row

    def drawn(self, point: Point, generator: Random, most: int) -> tuple[Outputs, str]:
        """Draw what a run shows, output by output; it is cut behind so many."""
        state, shown = self.start(point), list[str]()
        while len(shown) < most:
            seen = self._drawn_from(state, self.ahead, generator)
            if isinstance(seen, str):
                return tuple(shown), seen
            output, state = seen
            shown.append(output)
        return tuple(shown), CUT

    def _drawn_from(self, node: Any, law_of: Callable[[Any], Law], generator: Random) -> Any:  # noqa: ANN401 - any key of a law
        """Draw from the law of a node, which is kept."""
        if node not in self._weights:
            law = law_of(node)
            if UNKNOWN in law:
                raise NotCovered("noise without bounds")
            self._weights[node] = list(law), [float(p) for p in law.values()]
        return generator.choices(*self._weights[node])[0]

    # --- path formulas ---------------------------------------------------------------------

    def chance(self, path: Tree, point: Point, env: Env) -> Number:
        """Return the probability of the runs of a point that satisfy a path formula.

        By equations over positions of a path, and what must hold from each of them on.
        """
        key = path, point, tuple(env.items())
        if key not in self._chances:
            f = formula(path, {**self.env(point), **env}, self.scope)
            law = Equations(self._decided, self.work).results((self.first(point), f))
            found = law.get(True, ZERO)
            if DIVERGED in law:  # what is never decided is false if it waits, true if it fears
                signs = polarities(f)
                if len(signs) == 2:
                    raise NotCovered("what happens infinitely often in a cycle")
                found += law[DIVERGED] if False in signs else 0
            self._chances[key] = found
        return self._chances[key]

    def drawn_truth(self, path: Tree, env: Env, point: Point, generator: Random) -> bool:
        """Draw a path, step by step, until a formula is decided."""

        def following(node: Any) -> Law:  # noqa: ANN401 - as equations have them
            decided, nodes = self._decided(node)
            return decided or nodes

        node = self.first(point), formula(path, {**self.env(point), **env}, self.scope)
        for _ in range(MOST_DRAWN):
            node = self._drawn_from(node, following, generator)
            if isinstance(node, bool):
                return node
        raise NotCovered(f"a path is not decided in {MOST_DRAWN:,} steps")

    def _decided(self, node: tuple[Position, Any]) -> tuple[Law, Law]:
        """Return whether a formula holds from a position on, or what must hold from the next."""
        position, wanted = node
        rest = progress(wanted, self.holds_at(position))
        if isinstance(rest, bool):
            return {rest: ONE}, {}
        following = self.after(position)
        if following.keys() == {position}:
            return {forever(rest, self.holds_at(position)): ONE}, {}
        return {}, {(then, rest): p for then, p in following.items()}

    def holds_at(self, position: Position) -> Holds:
        """Return what decides atoms there."""
        ends = {("name", STOPPED), ("name", DIVERGED)}
        return lambda tree, env: (
            bool(position == tree[1]) if tree in ends else self.atom(tree, position, env)
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
