"""All states of two runs, as a game: one side makes runs dear, the other moves noise to keep up.

The dearest way to go on is sought at each state, and the cheapest answer to it (`ways`).

Law (settling). Take a state at the head of the loop that never ends, and rounds that lead back
there while no noise drawn in them is moved. What they need of the noise that is kept, say a shift
of 1 at least, can be granted at once: where runs are dearest they may go through those rounds
first, which costs nothing else and leaves fewer shifts. An answer that moves noise of these rounds
is no better: again and again it costs too much, or in the end the same is left, and then that
noise need not be moved either. So numbers that are kept are settled together, not one after the
other in every order. (Whoever grants too much pays too much, and keeps all paths: a bound that is
too high is a bound.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from dpcheck.align.drawing import Drawing
from dpcheck.align.neighbors import Differences
from dpcheck.align.ways import Cost, Ratios, State, Step, Way, Ways
from dpcheck.certify.moved import Draw, Mixed
from dpcheck.limits import Limits, too_large
from dpcheck.model.evaluation import Fault, evaluate
from dpcheck.model.expressions import Expr, reads
from dpcheck.model.program import Branch, Mechanism
from dpcheck.model.values import SetValue, Value
from dpcheck.records import dataclass, field, replace

MAX_STATES = 50_000
"""Above-threshold has 15; noisy argmax of eight queries, told apart, 19,690 in twelve seconds."""


MAX_STARTS = 10**6
"""So many values of public inputs are looked at, of which a `where` may leave few: ten seconds."""


class Option(NamedTuple):
    """An answer: what it costs, the number of the state it leads to, and the shifts chosen.

    `left` is what is left of all draws, of which `kept` are those of the state, in this order.
    """

    cost: Cost
    target: int
    steps: tuple[Step, ...]
    left: tuple[Draw, ...]
    kept: tuple[int, ...]


@dataclass
class Arena:
    """States, numbered as found, and the moves from each: the options that answer a move.

    A move without options has no answer: noise cannot be moved so that the path stays.
    """

    mechanism: Mechanism
    drawing: Drawing
    ratios: Ratios = field(default_factory=Ratios)
    states: list[State] = field(default_factory=list)
    cases: list[Differences] = field(default_factory=list)
    moves: list[list[list[Option]]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


def arena(
    mechanism: Mechanism, cases: Sequence[Differences], limits: Limits, *, is_settled: bool = True
) -> Arena:
    """Return all states and moves of a mechanism; raises `Unreadable` or `LimitReached`.

    Without `is_settled` differences of inputs are left open where they can be.
    """
    found = Arena(mechanism, Drawing(limits))
    for case in cases:
        unsettled = frozenset() if is_settled else _alone(mechanism, case)
        _Game(mechanism, case, found, limits, unsettled).explore()
    return found


def n_combinations(mechanism: Mechanism, cases: Sequence[Differences]) -> int:
    """Return in how many ways inputs may differ together that can be left open, in some case."""
    counts = []
    for case in cases:
        alone = _alone(mechanism, case)
        counts.append(prod(high - low + 1 for cell, low, high in case.ranges if cell in alone))
    return max(counts, default=1)


def _alone(mechanism: Mechanism, case: Differences) -> frozenset[str]:
    """Return the cells whose differences depend on no others, but those of streams."""
    within = dict(case.within)
    cells = (cell for one in mechanism.inputs if not one.is_stream for cell in one.cells)
    return frozenset(cell for cell in cells if cell in within and not within[cell])


def _may_hold(condition: Expr, known: Mapping[str, Value]) -> bool:
    """Return whether a condition holds, or has no value: windows say what is wrong with it."""
    try:
        return evaluate(condition, known) is not False
    except Fault:
        return True


class _Game:
    """The states of one case of differences."""

    def __init__(
        self,
        mechanism: Mechanism,
        case: Differences,
        found: Arena,
        limits: Limits,
        unsettled: frozenset[str],
    ) -> None:
        self.mechanism, self.case, self.found, self.limits = mechanism, case, found, limits
        self.ways = Ways(mechanism, case, found.ratios, found.drawing, unsettled)
        self.numbers: dict[Hashable, int] = {}
        self.settled: dict[Hashable, tuple[Draw, ...]] = {}
        self.waiting: list[tuple[int, State]] = []

    def explore(self) -> None:
        """Add the states that can be reached, and their moves."""
        for known in self._starts():
            start, _ = self.ways.entered(self.mechanism.entry, known, (), self.case.limits)
            self.found.starts.append(self._option(Way((), start, (), (), ())).target)
        while self.waiting:
            number, state = self.waiting.pop()
            self.limits.check_time(f"{number} states of an alignment")
            moves = self.ways.moves(state)
            self.found.moves[number] = [[self._option(way) for way in move] for move in moves]

    def _starts(self) -> Iterator[dict[str, Mixed]]:
        """Yield what is known at the start: public inputs from finite sets.

        May be more than there are: a `where` that reads other inputs is not looked at.
        """
        cells: list[tuple[str, SetValue]] = []
        conditions = list[Expr]()
        for one in self.mechanism.inputs:
            if one.is_public and not one.is_unbounded:
                cells += [(cell, one.domain) for cell in one.cells]
                conditions += [] if one.where is None else [one.where]
        names = [cell for cell, _ in cells]
        if prod(values.size for _, values in cells) > MAX_STARTS:
            raise too_large(f"public inputs have more than {MAX_STARTS} values together", "")
        asked = [each for each in conditions if set(reads(each)) <= {*names}]
        for values in product(*(values for _, values in cells)):
            known = dict(zip(names, values, strict=True))
            if all(_may_hold(each, known) for each in asked):
                yield {**known}

    def _option(self, way: Way) -> Option:
        """Return an answer that leads to a state with a number."""
        way = self._settled(way)
        key = way.state.key
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.found.moves)
            self.found.moves.append([])
            self.found.states.append(way.state)
            self.found.cases.append(self.case)
            if number >= MAX_STATES:
                raise too_large(
                    f"runs of neighbors have more than {MAX_STATES} states together", ""
                )
            self.waiting.append((number, way.state))
        return Option(way.cost, number, way.steps, way.left, way.kept)

    # --- rounds ----------------------------------------------------------------------------

    def _settled(self, way: Way) -> Way:
        """Return a way into a round with what rounds like it need of the noise that is kept."""
        node = self.mechanism.nodes[way.state.node]
        if not (isinstance(node, Branch) and node.is_round and way.state.draws):
            return way
        before = way.state.draws
        alike = replace(
            way.state, draws=tuple(draw._replace(change=0, spread=0) for draw in before)
        )
        if alike.key not in self.settled:  # what rounds need is the same around all centers
            last, after = way.state, self._after_a_round(way.state)
            while after is not None:
                last, after = after, self._after_a_round(after)
            self.settled[alike.key] = last.draws
        left = zip(before, self.settled[alike.key], strict=True)
        narrowed = [draw._replace(low=less.low, high=less.high) for draw, less in left]
        draws = tuple(draw.within(self.ways.far) for draw in narrowed)
        return way.then(self.ways.way(replace(way.state, draws=draws), before, node.span))

    def _after_a_round(self, start: State) -> State | None:
        """Return the same state with fewer shifts left after a round that moves no other noise."""
        self.ways.is_still = True
        seen, waiting = {start.key}, [start]
        try:
            while waiting:
                self.limits.check_time(f"{len(self.numbers)} states of an alignment")
                for move in self.ways.moves(waiting.pop()):
                    if len(move) != 1:  # noise that is kept is compared with its like
                        continue
                    after = move[0].state
                    if after.key in seen:
                        continue
                    seen.add(after.key)
                    if after.node != start.node:
                        waiting.append(after)
                    elif after.key == replace(start, draws=after.draws).key:
                        return after
        finally:
            self.ways.is_still = False
        return None
