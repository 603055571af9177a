"""Expected values: the mean of a number that the end of a run determines.

A run ends where it stops or goes silent for ever. Its number may read the last output, the i-th
ones, how many there were, and inputs. So a state is taken apart by the outputs that are asked for,
once they are known; one transition is one output.

Law. Let N be the number of outputs still to come and c a number that the end determines. As
C(N + 1, j) = C(N, j) + C(N, j - 1), the means B_j = E[C(N, j) c] satisfy
B_j(s) = Σ_u P(s, u) (B_j(u) + B_(j-1)(u)), the sum over the successors that show something; a
polynomial in N is Σ_j c_j C(N, j), where c_j is the j-th difference of its values at 0, 1, 2, ...
(Newton). A number that is no polynomial in N takes states apart by the number of outputs so far.

Runs that show outputs for ever have no last output; where the number grows with their number the
mean is infinite, else what the first outputs determine counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from math import comb

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.graph import graph_from, strong_components
from dpcheck.check.evidence.sequences import has_output_cycle
from dpcheck.check.values.measures import EndValue
from dpcheck.diagnostics.quantities import NoExpectedValue
from dpcheck.exact import (
    Number,
    Whole,
    add,
    as_fraction_parts,
    compare,
    multiply,
    number,
    solve_linear,
)
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.privacy.losses import sum_of
from dpcheck.records import dataclass, field
from dpcheck.source import Span

Known = tuple[int, ...]
"""The states after the outputs that are asked for, as far as there were any."""

Moments = dict[tuple[int, int], Number]
"""E[C(N, i) c_j] by (i, j), where N is the number of outputs still to come."""

ENDLESSLY_MANY = Limit(
    "size",
    unit="there is no greatest number of `outputs` (they stand inside an unbounded loop)",
    advice="use `outputs` in sums, products and powers only, or ask for a probability",
)

STATES_BETWEEN_LOOKS = 1 << 12
"""States between two looks at the clock."""


class Rejected(Exception):
    """Some run has no value: a mistake of the user."""

    def __init__(self, mistake: NoExpectedValue) -> None:
        """Keep the mistake."""
        super().__init__(mistake.title)
        self.mistake = mistake


def expectations(
    chain: Chain, end: EndValue, selected: IntArray, span: Span, limits: Limits
) -> list[Number | None]:
    """Return the mean from each state of selected[n_selected]; None for an infinite one.

    Raises `Rejected` where a run of positive probability has no value.
    """
    chain = chain.with_one_end or chain
    if end.degree is None and has_output_cycle(chain, selected):
        raise LimitReached(ENDLESSLY_MANY, "no mean was taken")
    runs = _Runs(chain, end, span, limits)
    runs.explore(selected.tolist())
    means = runs.means()
    return [means[runs.numbers[start]] for start in map(runs.start, selected.tolist())]


@dataclass(eq=False)
class _Runs:
    """States taken apart by what a number asks for: (state, outputs so far, known states).

    successors: per node its (node, numerator), where None is the end of the run; a node after which
    no output changes the number has none.
    """

    chain: Chain
    end: EndValue
    span: Span
    limits: Limits
    nodes: list[tuple[int, int, Known]] = field(default_factory=list)
    numbers: dict[tuple[int, int, Known], int] = field(default_factory=dict)
    parents: list[int] = field(default_factory=list)
    successors: list[list[tuple[int | None, Whole]]] = field(default_factory=list)

    @property
    def counted(self) -> int:
        """How many outputs are counted: whether the last one is asked for by its number, too."""
        last = max(self.end.positions, default=0)
        return last + 1 if last and self.end.reads_last else last

    def start(self, state: int) -> tuple[int, int, Known]:
        """Return the node of a run that begins."""
        return state, 0, ()

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

    def _number(self, node: tuple[int, int, Known], parent: int) -> int:
        found = self.numbers.setdefault(node, len(self.nodes))
        if found == len(self.nodes):
            self.nodes.append(node)
            self.parents.append(parent)
        return found

    def _is_settled(self, node: tuple[int, int, Known]) -> bool:
        """Return whether no later output changes the number."""
        return (
            not self.end.reads_last
            and self.end.degree == 0
            and len(node[2]) == len(self.end.positions)
        )

    def _row(self, place: int) -> list[tuple[int | None, Whole]]:
        node = self.nodes[place]
        if self._is_settled(node):
            return []
        state, count, known = node
        chain = self.chain
        edges = slice(int(chain.indptr[state]), int(chain.indptr[state + 1]))
        row: list[tuple[int | None, Whole]] = []
        for target, weight in zip(
            chain.targets[edges].tolist(), chain.numerators[edges].tolist(), strict=True
        ):
            if target in (chain.stopped, chain.diverged):
                row.append((None, weight))
                continue
            later = count + 1
            shown = (*known, target) if later in self.end.positions else known
            if self.end.degree is not None:
                later = min(later, self.counted)
            row.append((self._number((target, later, shown), place), weight))
        return row

    def means(self) -> list[Number | None]:
        """Return the mean from every node, None for an infinite one."""
        following = [[t for t, _ in row if t is not None] for row in self.successors]
        component, count = strong_components(graph_from(following))
        groups: list[list[int]] = [[] for _ in range(count)]
        for place, k in enumerate(component.tolist()):
            groups[k].append(place)
        moments: dict[int, Moments | None] = {}
        for done, inside in enumerate(groups):  # successors come first
            if done % STATES_BETWEEN_LOOKS == 0:
                self.limits.check_time(f"{done} of {count} groups of states averaged")
            moments.update(self._moments(inside, moments))
        return [_mean(moments[place]) for place in range(len(self.nodes))]

    def _moments(
        self, inside: list[int], known: Mapping[int, Moments | None]
    ) -> dict[int, Moments | None]:
        """Return the moments of strongly connected nodes from those of their successors."""
        rows = {place: self.successors[place] for place in inside}
        outside = {t for row in rows.values() for t, _ in row if t is not None and t not in rows}
        if not outside and all(t is not None for row in rows.values() for t, _ in row):
            return dict.fromkeys(inside, self._without_end(inside[0]))
        ending = [place for place, row in rows.items() if any(t is None for t, _ in row)]
        differences = {place: self._differences(place) for place in ending}
        if any(known[t] is None for t in outside):
            return dict.fromkeys(inside)
        found: dict[int, Moments] = {place: {} for place in inside}
        degree = self.end.degree or 0
        orders = combinations_with_replacement(range(degree + 1), 2)
        for i, j in sorted(orders):
            constants: dict[int, Number] = {}
            for place, row in rows.items():
                total: Number = 0
                for target, weight in row:
                    if target is None:
                        share = differences[place][j] if i == 0 else 0
                    else:
                        later = found[target] if target in rows else known[target]
                        assert later is not None, "infinite means were looked for"
                        share = later.get((i - 1, j), 0)
                        share = share if target in rows else add(share, later.get((i, j), 0))
                    total = add(total, multiply(share, self._chance(place, weight)))
                constants[place] = total
            for place, value in zip(inside, self._solved(rows, constants), strict=True):
                found[place][i, j] = value
        return {**found}

    def _chance(self, place: int, weight: Whole) -> Number:
        return number(weight, self._denominator(place))

    def _denominator(self, place: int) -> Whole:
        state = self.nodes[place][0]
        found: list[Whole] = self.chain.denominators[state : state + 1].tolist()
        return found[0]

    def _solved(
        self,
        rows: Mapping[int, Sequence[tuple[int | None, Whole]]],
        constants: Mapping[int, Number],
    ) -> list[Number]:
        """Return the solution of x_s = Σ_j q_sj x_j + c_s, with j inside, in the rows' order."""
        order = {place: k for k, place in enumerate(rows)}
        inner = [
            (s, t, n) for s, row in rows.items() for t, n in row if t is not None and t in rows
        ]
        if not inner:
            return list(constants.values())
        tops, belows = zip(*map(as_fraction_parts, constants.values()), strict=True)
        scales = [self._denominator(place) for place in rows]
        solved = solve_linear(
            [scale * below for scale, below in zip(scales, belows, strict=True)],
            [(order[s], order[t], n * belows[order[s]]) for s, t, n in inner],
            [(k, 0, scales[k] * top) for k, top in enumerate(tops)],
        )
        return [row.get(0, 0) for row in solved]

    def _differences(self, place: int) -> list[Number]:
        """Return c_0, c_1, ... where a run ends after a node: the value is Σ_j c_j C(N, j)."""
        state, count, known = self.nodes[place]
        if len(known) < len(self.end.positions):
            at = self.end.positions[len(known)]
            raise self._rejected(place, f"there is no output({at})")
        if self.end.reads_last and count == 0 and self.parents[place] < 0:
            raise self._rejected(place, "nothing is output")
        shown = dict(zip(self.end.positions, known, strict=True))
        counts = [count] if self.end.degree is None else range(self.end.degree + 1)
        values = [self.end.value(state, count, shown, n) for n in counts]
        numbers = [value for value in values if value is not None]
        if len(numbers) < len(values):
            raise self._rejected(place, "the value is no number")
        return [
            sum_of(multiply((-1) ** (j - i) * comb(j, i), numbers[i]) for i in range(j + 1))
            for j in range(len(numbers))
        ]

    def _without_end(self, place: int) -> Moments | None:
        """Return the moments of runs that show outputs for ever, or that nothing changes."""
        if self.end.reads_last:
            raise self._rejected(place, "outputs go on for ever, so there is no last one")
        first, *others = self._differences(place)
        leading = next((c for c in reversed(others) if c != 0), 0)
        if compare(leading, 0) < 0:
            raise self._rejected(place, "the value falls for ever: ask for its negative")
        return None if leading != 0 else {(0, 0): first}

    def _rejected(self, place: int, why: str) -> Rejected:
        """Return the mistake, with a run that leads to a node."""
        path = []
        while self.parents[place] >= 0:
            path.append(self.nodes[place][0])
            place = self.parents[place]
        chain = self.chain
        start = chain.state_text(self.nodes[place][0])
        shown = tuple(chain.observation_text(int(chain.observation[s])) for s in reversed(path))
        return Rejected(NoExpectedValue(self.span, start, shown, why))


def _mean(moments: Moments | None) -> Number | None:
    """Return the sum of E[C(N, j) c_j] from a node where no output was seen yet."""
    return None if moments is None else sum_of(m for (i, j), m in moments.items() if i == j)
