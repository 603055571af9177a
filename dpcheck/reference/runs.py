"""What is seen of the runs of a Markov chain: what comes next, whole sequences, or one draw.

A program and an explicit chain both say, of a state, its transitions: (probability, what is shown
or None, next state); at the end of a run there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from random import Random
from typing import Any

from dpcheck.reference.expressions import Env, Scope, evaluate
from dpcheck.reference.numbers import ONE, ZERO, Number, sign
from dpcheck.reference.syntax import Tree
from dpcheck.reference.values import FALSE, TRUE, NotCovered, Sym, Work, WrongProgram

STOPPED, DIVERGED, CUT = "stopped", "diverged", "cut"
"""The end of a run; that it goes on forever in silence; that it shows more than is followed."""
MOST_OUTPUTS = 40
"""Bounds a run that is followed, output by output."""
MOST_DRAWN = 10_000
"""Bounds the outputs of a run that is drawn."""
PATIENCE = 1_000
"""After so many silent steps of a drawn run it is seen whether it can ever show anything more."""

State = Hashable
Transitions = list[tuple[Number, str | None, State]]
Outputs = tuple[str, ...]
Row = dict[tuple[Outputs, str], Number]
"""How likely it is to show these outputs and then be stopped, diverged or cut."""
Rest = int | frozenset[Outputs]
"""How many more outputs are followed, or which sequences: runs that show others are left out."""
Law = dict[Any, Number]


def add(law: dict[Any, Number], key: object, p: Number) -> None:
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
                {key: p / leaves for key, p in law.items()} for law in (results, nodes)
            )
        return results, nodes


class Runs:
    """The runs of a program or a chain, how much work may still be done on them, and on what."""

    def __init__(self, transitions: Callable[[Any], Transitions], work: Work) -> None:
        self.transitions, self.work = transitions, work
        self._next_shown = Equations(self._parts, work)
        self._rows: dict[Any, Row] = {}
        self._weighted: dict[Any, tuple[Transitions, list[float]]] = {}

    def _parts(self, node: Any) -> tuple[Law, Law]:  # noqa: ANN401 - a state, what is followed
        state, followed = node
        results: Law = {}
        silent: Law = {}
        following = self.transitions(state)
        for p, shown, then in following:
            if shown is None:
                add(silent, (then, followed), p)
            else:
                is_followed = followed is None or shown in followed
                add(results, (shown, then) if is_followed else CUT, p)
        return (results, silent) if following else ({STOPPED: ONE}, {})

    def ahead(self, state: State, followed: frozenset[str] | None = None) -> Law:
        """Return what is shown next with the state behind it; or STOPPED, DIVERGED, or CUT.

        followed: the only outputs that are told apart.
        """
        return self._next_shown.results((state, followed))

    def row(self, state: State, rest: Rest) -> Row:
        """Return all that a run from a state shows, as far as it is followed."""
        if (state, rest) in self._rows:
            return self._rows[state, rest]
        row: Row = {}
        for seen, p in self.ahead(state, first_of(rest)).items():
            if seen == CUT and isinstance(rest, frozenset) and () not in rest:
                continue
            if isinstance(seen, str):
                add(row, ((), seen), p)
                continue
            shown, then = seen
            for (outputs, status), q in self.row(then, behind(rest, shown)).items():
                add(row, ((shown, *outputs), status), p * q)
        self.work.spend(len(row))
        self._rows[state, rest] = row
        return row

    def drawn(self, state: State, generator: Random, most: int = MOST_DRAWN) -> tuple[Outputs, str]:
        """Draw a run, transition by transition; it is cut behind so many outputs."""
        outputs, silent = Outputs(), 0
        while True:
            if state not in self._weighted:
                following = self.transitions(state)
                self._weighted[state] = following, [float(p) for p, _, _ in following]
            following, weights = self._weighted[state]
            if not following:
                return outputs, STOPPED
            ((_, shown, state),) = generator.choices(following, weights)
            silent = silent + 1 if shown is None else 0
            if shown is not None:
                outputs += (shown,)
            if len(outputs) >= most:
                return outputs, CUT
            if silent % PATIENCE == PATIENCE - 1 and self.ahead(state) == {DIVERGED: ONE}:
                return outputs, DIVERGED


def first_of(rest: Rest) -> frozenset[str] | None:
    """Return the next outputs that are followed; None for all."""
    if isinstance(rest, int):
        return None if rest else frozenset()
    return frozenset(each[0] for each in rest if each)


def behind(rest: Rest, shown: str) -> Rest:
    """Return what is still followed behind an output."""
    if isinstance(rest, int):
        return rest - 1
    return frozenset(each[1:] for each in rest if each[:1] == (shown,))


class Model:
    """A mechanism or a chain: points, pairs of neighbors, and the runs of each point.

    A path formula is about the positions of a path; one without an end stays at its last one.
    """

    def __init__(self, scope: Scope, runs: Runs) -> None:
        self.scope, self.runs = scope, runs
        self._near: dict[str, list[Any]] = {}

    @cached_property
    def points(self) -> list[Any]:
        """All inputs, or initial states."""
        return self.every_point()

    def neighbors_of(self, s: Any) -> list[Any]:  # noqa: ANN401 - points differ by model
        """Return the neighbors of a point."""
        text = self.text_of(s)
        if text not in self._near:
            self._near[text] = [t for t in self.points if self.are_neighbors(s, t)]
        return self._near[text]

    def row(self, point: Any, rest: Rest | None = None) -> Row:  # noqa: ANN401 - see above
        """Return what runs of a point show; without a `rest` all of it, if that has an end."""
        found = self.runs.row(self.start(point), MOST_OUTPUTS if rest is None else rest)
        if rest is None and any(status == CUT for _, status in found):
            raise NotCovered(f"runs of more than {MOST_OUTPUTS} outputs")
        return found

    def is_true(self, tree: Tree, env: Env) -> bool:
        """Return whether an atom is true, or is the symbol that is output; mistakes are not.

        A Boolean is no such symbol: `F y` with a false y is not true where `false` is output.
        """
        try:
            found = evaluate(tree, env, self.scope)
        except (WrongProgram, AttributeError, IndexError, TypeError):
            return False
        if found in (TRUE, FALSE):
            return bool(found == TRUE)
        return tree[0] == "name" and isinstance(found, Sym) and found == env["output"]

    every_point: Callable[[], list[Any]]
    text_of: Callable[[Any], str]
    are_neighbors: Callable[[Any, Any], bool]
    env: Callable[[Any], Env]
    """The names that a formula may read."""
    start: Callable[[Any], State]
    first_position: Callable[[Any], Any]
    after: Callable[[Any], Law]
    """The law of the next position."""
    atom: Callable[[Tree, Any, Env], bool]
    """Whether an atom holds at a position."""
