"""Expected values: the mean of a number that the end of a run determines.

A run ends where it stops or goes silent for ever. Its number may read the last output, the i-th
ones, how many there were, and inputs. So a state is taken apart by the outputs that are asked for,
once they are known; one transition is one output.

Law. Let N be the number of outputs still to come and c a number that the end determines. As
C(N + 1, j) = C(N, j) + C(N, j - 1), the means B_j = E[C(N, j) c] satisfy
B_j(s) = Σ_u P(s, u) (B_j(u) + B_(j-1)(u)), the sum over the successors that show something; a
polynomial in N is Σ_j c_j C(N, j), where c_j is the j-th difference of its values at 0, 1, 2, ...
(Newton). A number that is no polynomial in N takes states apart by the number of outputs so far.

What an analyst asks is no output: there B_(j-1) is not added. The least and the greatest mean over
all analysts are those of policies which none improves (Puterman, Markov Decision Processes, 1994,
§7.2), where runs end whatever is asked and the number grows by the same with each output.

Runs that show outputs for ever have no last output. Where the number grows with their number the
mean is infinite, where it falls minus infinity, else what the first outputs determine counts. Where
some runs grow and others fall there is no mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np

from dpcheck import exact
from dpcheck.chain.chain import BoolArray, Chain, IntArray
from dpcheck.chain.graph import Graph, graph_from, strong_components
from dpcheck.chain.weights.rows import indptr_of
from dpcheck.check.evidence.sequences import has_output_cycle
from dpcheck.check.quantities.seen_pairs import observed
from dpcheck.check.values.measures import ClaimRejected, EndValue
from dpcheck.diagnostics.quantities import NoExpectedValue
from dpcheck.exact.exponentials import differences
from dpcheck.exact.linear import solve_linear
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.records import dataclass, field
from dpcheck.solve import Game, game_of
from dpcheck.source import Span

Node = tuple[int, int, int, tuple[int, ...]]
"""A state, that of the last output (~s where there was none since an initial state s), how many
there were, and the states after the outputs that are asked for, as far as there were any."""

ENDS: list[tuple[int | None, exact.Whole]] = [(None, 1)]
"""What is left to do after a node where the number is settled."""

Moments = dict[tuple[int, int], exact.Number] | exact.MinusInfinity | None
"""E[C(N, i) c_j] by (i, j), where N is the number of outputs still to come, or an infinite mean."""

ENDLESSLY_MANY = Limit(
    "size",
    unit="there is no greatest number of `outputs` (they stand inside an unbounded loop)",
    advice="use `outputs` in sums, products and powers only, or ask for a probability",
)

UNEVEN = Limit(
    "size",
    unit="some analyst may ask for ever, or the number is no sum over outputs",
    advice="a loop with fewer rounds, such as `for i in 1..3`, where every analyst is tried",
)

_SHOWN = 5
"""Outputs of a run that are told."""
STATES_BETWEEN_LOOKS = 1 << 12
"""States between two looks at the clock."""


def expectations(
    chain: Chain, end: EndValue, selected: IntArray, span: Span, limits: Limits
) -> list[exact.Extended]:
    """Return the mean from each state of selected[n_selected].

    Raises `ClaimRejected` where a run of positive probability has no value.
    """
    chain, starts = observed(chain, selected, limits)
    if end.degree is None and has_output_cycle(chain, starts):
        raise LimitReached(ENDLESSLY_MANY, "no mean was taken")
    runs = _Runs(chain, end, span, limits)
    runs.explore(starts.tolist())
    means = runs.means()
    return [means[runs.numbers[start]] for start in map(runs.start, starts.tolist())]


def extreme_means(
    chain: Chain, end: EndValue, selected: IntArray, span: Span, limits: Limits
) -> list[tuple[exact.Number, exact.Number]]:
    """Return the least and the greatest mean from selected[n_selected], whatever is asked.

    The chain has choices among offers. Raises `ClaimRejected` where a run of some analyst has no
    value, and `LimitReached` where runs need not end, or the number does not grow evenly with
    outputs.
    """
    if end.degree not in (0, 1):
        raise LimitReached(UNEVEN)
    runs = _Runs(chain.with_one_end or chain, end, span, limits)
    runs.explore(selected.tolist())
    rows, game = runs.successors, runs.game()
    growth = {tuple(runs.differences(place)[1:]) for place in runs.ending()}
    can_stay, _ = game.staying(np.arange(game.graph.n_states) < len(rows))
    if len(growth) > 1 or can_stay.any():
        raise LimitReached(UNEVEN)

    def values(_: Graph, kept: BoolArray) -> list[exact.Number]:
        edges = iter(zip(kept.tolist(), game.numerators.tolist(), strict=True))
        played = [[(t, *next(edges)) for t, _ in row or ENDS] for row in rows]
        runs.successors = [
            [(t, weight) for t, is_kept, weight in row if is_kept] if rows[place] else []
            for place, row in enumerate(played)
        ]
        means = [mean for mean in runs.means() if not isinstance(mean, exact.MinusInfinity | None)]
        assert len(means) == len(rows), "runs end whatever is asked"
        return [*means, 0]

    low, high = (game.best(sign, game.first_options(), values, limits) for sign in (-1, 1))
    places = [runs.numbers[runs.start(state)] for state in selected.tolist()]
    return [(low[place], high[place]) for place in places]


@dataclass(eq=False)
class _Runs:
    """States taken apart by what a number asks for, as nodes.

    successors: per node its (node, numerator), where None is the end of the run; a node after which
    no output changes the number has none.
    """

    chain: Chain
    end: EndValue
    span: Span
    limits: Limits
    nodes: list[Node] = field(default_factory=list)
    numbers: dict[Node, int] = field(default_factory=dict)
    parents: list[int] = field(default_factory=list)
    successors: list[list[tuple[int | None, exact.Whole]]] = field(default_factory=list)

    @property
    def counted(self) -> int:
        """How many outputs are counted: whether the last one is asked for by its number, too."""
        last = max(self.end.positions, default=0)
        return last + 1 if last and self.end.reads_last else last

    def start(self, state: int) -> Node:
        """Return the node of a run that begins."""
        return state, ~state, 0, ()

    def explore(self, states: Sequence[int]) -> None:
        """Collect all nodes that runs from the given states visit."""
        for state in states:
            self._number(self.start(state), -1)
        done = 0
        while done < len(self.nodes):
            if done % STATES_BETWEEN_LOOKS == 0:
                self.limits.check_time(f"{done} ends of runs looked for")
                self.limits.check_states(len(self.nodes))
            self.successors.append(self._row(done))
            done += 1

    def _number(self, node: Node, parent: int) -> int:
        found = self.numbers.setdefault(node, len(self.nodes))
        if found == len(self.nodes):
            self.nodes.append(node)
            self.parents.append(parent)
        return found

    def _is_settled(self, node: Node) -> bool:
        """Return whether no later output changes the number."""
        return (
            not self.end.reads_last
            and self.end.degree == 0
            and len(node[3]) == len(self.end.positions)
        )

    def _row(self, place: int) -> list[tuple[int | None, exact.Whole]]:
        node = self.nodes[place]
        if self._is_settled(node):
            return []
        state, last, count, known = node
        row: list[tuple[int | None, exact.Whole]] = []
        for target, weight in self.chain.row(state)[1]:
            if target in (self.chain.stopped, self.chain.diverged):
                row.append((None, weight))
                continue
            if self._is_choice(target):
                row.append((self._number((target, last, count, known), place), weight))
                continue
            later = count + 1
            shown = (*known, target) if later in self.end.positions else known
            if self.end.degree is not None:
                later = min(later, self.counted)
            row.append((self._number((target, target, later, shown), place), weight))
        return row

    def _is_choice(self, state: int) -> bool:
        """Return whether a state is what an analyst chose, and no output."""
        return bool(self.chain.offers) and int(self.chain.observation[state]) in self.chain.offers

    def ending(self) -> list[int]:
        """Return the nodes after which a run may end, or nothing changes the number."""
        return [
            place
            for place, row in enumerate(self.successors)
            if not row or any(target is None for target, _ in row)
        ]

    def game(self) -> Game:
        """Return the nodes with what is chosen among, and the end of the run as the last state."""
        end, rows = len(self.nodes), [row or ENDS for row in self.successors]
        edges = [edge for row in rows for edge in row]
        targets = np.array([end if t is None else t for t, _ in edges], np.int64)
        lengths = np.array([*map(len, rows), 0], np.int64)
        states = np.array([node[0] for node in self.nodes] + [self.chain.stopped], np.int64)
        shown = np.where(targets == end, -1, self.chain.observation[states[targets]])
        weights = np.array([weight for _, weight in edges], object)
        return game_of(Graph(indptr_of(lengths), targets), weights, shown, self.chain)

    def means(self) -> list[exact.Extended]:
        """Return the mean from every node."""
        following = [[t for t, _ in row if t is not None] for row in self.successors]
        component, count = strong_components(graph_from(following))
        groups: list[list[int]] = [[] for _ in range(count)]
        for place, k in enumerate(component.tolist()):
            groups[k].append(place)
        moments: dict[int, Moments] = {}
        for done, inside in enumerate(groups):  # successors come first
            if done % STATES_BETWEEN_LOOKS == 0:
                self.limits.check_time(f"{done} of {count} groups of states averaged")
            moments.update(self._moments(inside, moments))
        return [_mean(moments[place]) for place in range(len(self.nodes))]

    def _moments(self, inside: list[int], known: Mapping[int, Moments]) -> dict[int, Moments]:
        """Return the moments of strongly connected nodes from those of their successors."""
        rows = {place: self.successors[place] for place in inside}
        outside = {t for row in rows.values() for t, _ in row if t is not None and t not in rows}
        if not outside and all(t is not None for row in rows.values() for t, _ in row):
            return dict.fromkeys(inside, self._without_end(inside[0]))
        ending = [place for place, row in rows.items() if any(t is None for t, _ in row)]
        differences = {place: self.differences(place) for place in ending}
        infinite = {
            each for t in outside if isinstance(each := known[t], exact.MinusInfinity | None)
        }
        if len(infinite) > 1:
            raise self._rejected(inside[0], "some runs grow for ever, and others fall")
        if infinite:
            return dict.fromkeys(inside, infinite.pop())
        found: dict[int, dict[tuple[int, int], exact.Number]] = {place: {} for place in inside}
        degree = self.end.degree or 0
        orders = combinations_with_replacement(range(degree + 1), 2)
        for i, j in sorted(orders):
            constants: dict[int, exact.Number] = {}
            for place, row in rows.items():
                below = self._denominator(place)
                total: exact.Number = 0
                for target, weight in row:
                    if target is None:
                        share = differences[place][j] if i == 0 else 0
                    else:
                        later = found[target] if target in rows else known[target]
                        assert isinstance(later, dict), "infinite means were looked for"
                        is_shown = not self._is_choice(self.nodes[target][0])
                        share = later.get((i - 1, j), 0) if is_shown else 0
                        share = share if target in rows else exact.add(share, later.get((i, j), 0))
                    total = exact.add(total, exact.multiply(share, exact.number(weight, below)))
                constants[place] = total
            for place, value in zip(inside, self._solved(rows, constants), strict=True):
                found[place][i, j] = value
        return {**found}

    def _denominator(self, place: int) -> exact.Whole:
        return self.chain.row(self.nodes[place][0])[0]

    def _solved(
        self,
        rows: Mapping[int, Sequence[tuple[int | None, exact.Whole]]],
        constants: Mapping[int, exact.Number],
    ) -> list[exact.Number]:
        """Return the solution of x_s = Σ_j q_sj x_j + c_s, with j inside, in the rows' order."""
        order = {place: k for k, place in enumerate(rows)}
        inner = [
            (s, t, n) for s, row in rows.items() for t, n in row if t is not None and t in rows
        ]
        if not inner:
            return list(constants.values())
        tops, belows = zip(*map(exact.as_fraction_parts, constants.values()), strict=True)
        scales = [self._denominator(place) for place in rows]
        solved = solve_linear(
            [scale * below for scale, below in zip(scales, belows, strict=True)],
            [(order[s], order[t], n * belows[order[s]]) for s, t, n in inner],
            [(k, 0, scales[k] * top) for k, top in enumerate(tops)],
        )
        return [row.get(0, 0) for row in solved]

    def differences(self, place: int) -> list[exact.Number]:
        """Return c_0, c_1, ... where a run ends after a node: the value is Σ_j c_j C(N, j)."""
        _, last, count, known = self.nodes[place]
        shown = dict(zip(self.end.positions, known, strict=False))
        counts = [count] if self.end.degree is None else range(self.end.degree + 1)
        values = [self.end.value(max(last, ~last), count, shown, n) for n in counts]
        numbers = [value for value in values if value is not None]
        if len(numbers) < len(values):
            why = "the value is no number"
            if len(known) < len(self.end.positions):
                why = f"there is no output({self.end.positions[len(known)]})"
            elif self.end.reads_last and last < 0:
                why = "nothing is output"
            raise self._rejected(place, why)
        return differences(numbers, [1] * len(numbers))[::-1]

    def _without_end(self, place: int) -> Moments:
        """Return the moments of runs that show outputs for ever, or that nothing changes."""
        if self.end.reads_last:
            raise self._rejected(place, "outputs go on for ever, so there is no last one")
        first, *others = self.differences(place)
        leading = next((c for c in reversed(others) if c != 0), 0)
        if leading == 0:
            return {(0, 0): first}
        return None if exact.compare(leading, 0) > 0 else exact.MinusInfinity.VALUE

    def _rejected(self, place: int, why: str) -> ClaimRejected:
        """Return the mistake, with a run that leads to a node."""
        path = []
        while self.parents[place] >= 0:
            path.append(self.nodes[place][0])
            place = self.parents[place]
        chain, start = self.chain, self.chain.state_text(self.nodes[place][0])
        codes = chain.observation[path[::-1]].tolist()
        shown = [f"output {chain.observation_text(code)}" for code in codes[:_SHOWN]]
        more = [f"{len(codes) - _SHOWN} more"] * (len(codes) > _SHOWN)
        return ClaimRejected(NoExpectedValue(self.span, (start, *shown, *more), why))


def _mean(moments: Moments) -> exact.Extended:
    """Return the sum of E[C(N, j) c_j] from a node where no output was seen yet."""
    if not isinstance(moments, dict):
        return moments
    return exact.sum_of(m for (i, j), m in moments.items() if i == j)
