"""The runs that carry most of a path formula's probability, found best first.

Runs are grouped by what they show: outputs, and names of states that show nothing. A group is a
belief, the weights of (state, what the rest of the run must satisfy), once per departure, so that
neighbors are compared on equal observations. The rest formula is progressed state by state
(`solve.formulas.progression`); a group is reported when the formula has come true in it. The
search follows the heaviest group first, of equally heavy ones what shows less, and gives up after a
while: it explains, it proves nothing.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

from dpcheck.chain.chain import Chain
from dpcheck.chain.graph import graph_of
from dpcheck.check.values.event_text import (
    DIVERGED,
    GOES_ON,
    N_RUNS,
    STOPPED,
    output_sequence,
    value_key,
)
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import Number, add, by_size, compare, multiply, number, subtract, sum_of, whole
from dpcheck.logic import formulas as f
from dpcheck.solve.formulas.almost_sure import progression_of_runs
from dpcheck.solve.formulas.independent_parts import ALWAYS_FORMULA, NEVER_FORMULA
from dpcheck.solve.paths import Satisfying, term_of

_MAX_GROUPS = 400
"""Bounds the search for runs to show: groups of runs that are taken up."""
_MAX_EDGES = 50_000
"""Bounds the same search: transitions that are looked at."""
_MAX_FOUND = 32
"""Complete runs after which the search ends: a few of them are shown."""

_Shown = tuple[int, str]
"""What entering a state shows, by code; -1 and its name if it is silent."""

Belief = dict[tuple[int, int], Number]
"""Weights by state and what the rest of a run must satisfy, by its number."""

HeavyRun = tuple[OutputSequence, tuple[Number, ...]]


def heavy_runs(
    chain: Chain,
    path: f.PathFormula,
    states: tuple[int, ...],
    *,
    surely: Satisfying,
    possibly: Satisfying,
    is_satisfying: bool,
) -> list[HeavyRun]:
    """Return up to three groups of runs that surely satisfy the path formula (or surely do not).

    The truth of state formulas is known within bounds, each [n_states].

    Each comes with its probability from every one of the states: one state, or two neighbors; then
    groups that are likelier from the first are wanted, by falling difference.
    """
    truth, below = (surely, possibly) if is_satisfying else (possibly, surely)
    rests = PathRests(
        chain, path, satisfying=truth, below_negations=below, is_satisfying=is_satisfying
    )
    return _Search(chain, rests).found(states)


class PathRests:
    """What is left of a path formula after the states of a run, numbered; `start` is all of it.

    A run is to satisfy the path formula, or not to.
    """

    def __init__(
        self,
        chain: Chain,
        path: f.PathFormula,
        *,
        satisfying: Satisfying,
        is_satisfying: bool,
        below_negations: Satisfying | None = None,
    ) -> None:
        """Begin with a path formula; `satisfying` has the truth of state formulas, [n_states].

        It may be another one of those below negations: see `solve.paths.path_bounds`.
        """
        literals, term = term_of(path, satisfying, below_negations)
        terms, graph = literals.terms, graph_of(chain)
        term = term if is_satisfying else terms.negation(term)
        states = np.arange(chain.n_states)
        ends = (graph.degrees == 1) & (graph.targets[graph.indptr[:-1]] == states)
        self._progression, self._classes = progression_of_runs(
            graph, terms, literals.arrays, term, ends
        )
        self.start = self._progression.root()

    def settled(self, rest: int, state: int) -> int:
        """Return what is left of a formula after a state; where a run stays in it, all is known."""
        return self._progression.step(rest, int(self._classes[state]))


class _Search:
    """The groups found."""

    def __init__(self, chain: Chain, rests: PathRests) -> None:
        self.chain, self.rests = chain, rests
        self.n_edges = 0

    def found(self, states: tuple[int, ...]) -> list[HeavyRun]:
        """Return the heaviest groups in which the formula has come true."""
        order = count()
        beliefs: list[Belief] = [{(s, self.rests.start): 1} for s in states]
        waiting: list[tuple[Any, int, tuple[_Shown, ...], list[Belief]]] = []
        heappush(waiting, (by_size(-1), next(order), (), beliefs))
        runs: dict[OutputSequence, tuple[Number, ...]] = {}
        for _ in range(_MAX_GROUPS):
            if not waiting or len(runs) >= _MAX_FOUND or self.n_edges > _MAX_EDGES:
                break
            _, _, shown, beliefs = heappop(waiting)
            true, open_beliefs, is_over = self._settled(beliefs)
            if compare(true[0], 0) > 0:
                sequence = self._sequence(shown, is_over=is_over)
                known = runs.get(sequence, (0,) * len(true))
                runs[sequence] = tuple(add(a, b) for a, b in zip(known, true, strict=True))
            for label, following in self._following(open_beliefs).items():
                mass = sum_of(following[0].values())
                if mass != 0:
                    group = (*shown, label)
                    heappush(waiting, (by_size(multiply(-1, mass)), next(order), group, following))
        return _heaviest(list(runs.items()))

    def _settled(self, beliefs: list[Belief]) -> tuple[tuple[Number, ...], list[Belief], bool]:
        """Return the weight for which the formula is true now, and the beliefs still open.

        Also whether all runs for which it is true show nothing more, and end.
        """
        true: list[Number] = []
        rests: list[Belief] = []
        is_over = True
        for belief in beliefs:
            total: Number = 0
            left: Belief = {}
            for (s, rest), weight in belief.items():
                after = self.rests.settled(rest, s)
                if after == ALWAYS_FORMULA:
                    total = add(total, weight)
                    is_over = is_over and self._ends(s)
                elif after != NEVER_FORMULA:
                    left[s, after] = add(left.get((s, after), 0), weight)
            true.append(total)
            rests.append(left)
        return tuple(true), rests, is_over

    def _following(self, beliefs: list[Belief]) -> dict[_Shown, list[Belief]]:
        """Return the beliefs after one more transition, by what it shows, in the order of that."""
        chain = self.chain
        found: dict[_Shown, list[Belief]] = {}
        for side, belief in enumerate(beliefs):
            for (s, rest), weight in belief.items():
                low, high = int(chain.indptr[s]), int(chain.indptr[s + 1])
                self.n_edges += high - low
                below = whole(chain.denominators[s])
                for j in range(low, high):
                    t = int(chain.targets[j])
                    label = self._label(t)
                    group = found.setdefault(label, [{} for _ in beliefs])[side]
                    step = multiply(weight, number(whole(chain.numerators[j]), below))
                    group[t, rest] = add(group.get((t, rest), 0), step)
        return dict(sorted(found.items(), key=lambda item: value_key(self._text(item[0]))))

    def _label(self, state: int) -> _Shown:
        """Return what entering a state shows: its output, or its name if it is silent."""
        code = int(self.chain.observation[state])
        return (code, "") if code >= 0 else (code, self.chain.state_text(state))

    def _text(self, shown: _Shown) -> str:
        code, name = shown
        return self.chain.observation_text(code) if code >= 0 else name

    def _sequence(self, shown: tuple[_Shown, ...], *, is_over: bool) -> OutputSequence:
        """Return what the runs of a group show, and how they end."""
        for end, sink in ((STOPPED, (-1, "stopped")), (DIVERGED, (-1, "diverged"))):
            if shown and shown[-1] == sink:  # a formula may wait there for its bound: `F<=3 top`
                return output_sequence([self._text(each) for each in shown if each != sink], end)
        return output_sequence(map(self._text, shown), STOPPED if is_over else GOES_ON)

    def _ends(self, state: int) -> bool:
        """Return whether a run ends in a state: the next one is the end."""
        low, high = self.chain.indptr[state], self.chain.indptr[state + 1]
        return bool(high - low == 1 and self.chain.targets[low] == self.chain.stopped)


def _heaviest(runs: list[HeavyRun]) -> list[HeavyRun]:
    """Return the groups with the largest positive difference (or probability, for one state)."""

    def weight(run: HeavyRun) -> Number:
        first, *second = run[1]
        return subtract(first, second[0]) if second else first

    heavy = [run for run in runs if compare(weight(run), 0) > 0]
    return sorted(heavy, key=lambda run: by_size(weight(run)), reverse=True)[:N_RUNS]
