"""The product of a chain with the formulas that a path formula turns into, built as reached.

A product state (s, φ) says: the path is in s and φ must hold of it from here on, with everything
that s decides already put in place, so φ is neither true nor false; those two are the last two
product states. The product is a Markov chain again, its paths are the chain's, and as almost all
of them come to true or false (`almost_sure` says why), the probability of φ at s is the probability
of reaching true from (s, φ).

States of one class and one formula progress alike, so the formulas are computed once per (class,
formula) and looked up for whole frontiers; narrow frontiers go state by state, as in `graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, overload

import numpy as np

from dpcheck.chain.arrays import end_to_end
from dpcheck.chain.chain import IntArray
from dpcheck.chain.graph import NARROW, Graph
from dpcheck.chain.sets import distinct
from dpcheck.chain.weights.rows import ranges
from dpcheck.limits import LimitReached, Limits
from dpcheck.records import dataclass
from dpcheck.solve.formulas.independent_parts import ALWAYS_FORMULA, NEVER_FORMULA

if TYPE_CHECKING:
    from numpy.typing import NDArray

TIME_CHECK_INTERVAL = 256
"""States between two looks at the clock."""
PRODUCT = "states of the product of chain and path formula"
"""What is counted, in the words of a verdict."""
MAX_DENSE = 1 << 28
"""So many entries of tables that are indexed by chain states; rarer formulas get dictionaries."""


@dataclass(frozen=True, eq=False)
class Product:
    """Product states 0 .. n-1, then true (n) and false (n+1), which have no successors.

    starts: the product state of each pair asked for. states [n]: where the chain is. graph
    over n+2 states; edges [n_edges]: the chain's transition behind each edge.
    """

    starts: IntArray
    states: IntArray
    graph: Graph
    edges: IntArray

    @property
    def true(self) -> int:
        """The product state where the formula has come true."""
        return len(self.states)

    @property
    def false(self) -> int:
        """The product state where the formula has become false."""
        return len(self.states) + 1


class Table:
    """A function of (formula, class), computed on demand and looked up for whole arrays.

    Values of the first formulas are kept in an array; where there are so many formulas that it
    would not fit, those of later ones are in a dictionary.
    """

    def __init__(self, function: Callable[[int, int], int], n_classes: int) -> None:
        """Know no value yet."""
        self._function = function
        self._most = max(1, MAX_DENSE // max(1, n_classes))
        self._values: NDArray[np.int32] = np.full((min(16, self._most), n_classes), -1, np.int32)
        self._later: dict[int, int] = {}

    def __getitem__(self, key: tuple[int, int]) -> int:
        """Return the value of one pair."""
        formula, state_class = key
        if formula >= self._most:
            place = formula * self._values.shape[1] + state_class
            later = self._later.get(place)
            if later is None:
                later = self._later[place] = self._function(formula, state_class)
            return later
        if formula >= len(self._values):
            self._grow(formula)
        value = int(self._values[formula, state_class])
        if value < 0:
            value = self._values[formula, state_class] = self._function(formula, state_class)
        return value

    def lookup(self, formulas: IntArray, classes: IntArray) -> IntArray:
        """Return the values for many pairs, [n_pairs]."""
        is_later = formulas >= self._most
        if is_later.any():
            found = np.empty(len(formulas), np.int64)
            pairs = zip(formulas[is_later].tolist(), classes[is_later].tolist(), strict=True)
            found[is_later] = [self[pair] for pair in pairs]
            found[~is_later] = self.lookup(formulas[~is_later], classes[~is_later])
            return found
        if len(formulas) and formulas.max() >= len(self._values):
            self._grow(int(formulas.max()))
        found = self._values[formulas, classes].astype(np.int64)
        missing = np.flatnonzero(found < 0)
        if len(missing):
            width = self._values.shape[1]
            for key in distinct(formulas[missing] * width + classes[missing]).tolist():
                self[divmod(key, width)]
            found[missing] = self._values[formulas[missing], classes[missing]]
        return found

    def _grow(self, formula: int) -> None:
        rows = min(self._most, max(formula + 1, 2 * len(self._values)))
        added = np.full((rows, self._values.shape[1]), -1, np.int32)
        added[: len(self._values)] = self._values
        self._values = added


class _Sparse:
    """A column of mostly zeros, which answers to the same indices as an array of them."""

    def __init__(self) -> None:
        self._entries: dict[int, int] = {}

    @overload
    def __getitem__(self, states: int) -> int: ...
    @overload
    def __getitem__(self, states: IntArray) -> IntArray: ...
    def __getitem__(self, states: int | IntArray) -> int | IntArray:
        if isinstance(states, int):
            return self._entries.get(states, 0)
        found = (self._entries.get(s, 0) for s in states.tolist())
        return np.fromiter(found, np.int64, len(states))

    def __setitem__(self, states: int | IntArray, numbers: int | IntArray) -> None:
        if isinstance(states, int) or isinstance(numbers, int):
            assert isinstance(states, int), "one number belongs to one state"
            assert isinstance(numbers, int), "one state has one number"
            self._entries[states] = numbers
        else:
            self._entries.update(zip(states.tolist(), numbers.tolist(), strict=True))


class Steps(Protocol):
    """How formulas, 0 false and 1 true, go on through classes of states."""

    def step(self, formula: int, state_class: int) -> int:
        """Return the formula after a first state of the class."""

    def settled(self, formula: int, state_class: int) -> int:
        """Return the formula with what the class of the first state decides put in place."""


class _ProductSearch:
    """The product under construction: states numbered as found, rows filled in that order."""

    def __init__(self, graph: Graph, classes: IntArray, progression: Steps, limits: Limits) -> None:
        n_classes = int(classes.max(initial=0)) + 1
        self.graph = graph
        self.classes = classes
        self.limits = limits
        self.step = Table(self._timed(progression.step), n_classes)
        self.settled = Table(self._timed(progression.settled), n_classes)
        # Per formula, 1 + the product state of each chain state; memory is used where not 0.
        self.numbers: dict[int, NDArray[np.int32] | _Sparse] = {}
        self.n_found = 0
        self.states: list[IntArray] = []
        self.formulas: list[IntArray] = []
        self.row_lengths: list[IntArray] = []
        self.row_targets: list[IntArray] = []
        self.row_edges: list[IntArray] = []

    def _timed(self, function: Callable[[int, int], int]) -> Callable[[int, int], int]:
        """Return a function that minds the deadline: one step may be long."""

        def timed(formula: int, state_class: int) -> int:
            self.limits.check_time(f"{self.n_found} {PRODUCT}")
            return function(formula, state_class)

        return timed

    def number(self, states: IntArray, formulas: IntArray) -> tuple[IntArray, IntArray]:
        """Return each pair's product state [n] (-1 true, -2 false), and where new ones are."""
        numbers = np.empty(len(states), np.int64)
        fresh: list[IntArray] = []
        order = np.argsort(formulas, kind="stable")
        ordered = formulas[order]
        bounds = np.flatnonzero(np.diff(ordered, prepend=-1, append=-1)).tolist()
        for k, (first, end) in enumerate(pairwise(bounds)):
            if k % TIME_CHECK_INTERVAL == 0:
                self.limits.check_states(self.n_found, PRODUCT)
                self.limits.check_time(f"{self.n_found} {PRODUCT}")
            formula, where = ordered.item(first), order[first:end]
            if formula in (NEVER_FORMULA, ALWAYS_FORMULA):
                numbers[where] = -1 if formula == ALWAYS_FORMULA else -2
                continue
            known = self._column(formula)
            here = states[where]
            new = where[known[here] == 0]
            if len(new):
                found = distinct(states[new])
                known[found] = np.arange(self.n_found + 1, self.n_found + len(found) + 1)
                fresh.append(np.arange(self.n_found, self.n_found + len(found)))
                self.n_found += len(found)
                self.states.append(found)
                self.formulas.append(np.full(len(found), formula, np.int64))
            numbers[where] = known[here] - 1
        self.limits.check_states(self.n_found, PRODUCT)
        return numbers, np.concatenate(fresh) if fresh else np.empty(0, np.int64)

    def _column(self, formula: int) -> NDArray[np.int32] | _Sparse:
        column = self.numbers.get(formula)
        if column is None:
            is_dense = (len(self.numbers) + 1) * self.graph.n_states <= MAX_DENSE
            column = np.zeros(self.graph.n_states, np.int32) if is_dense else _Sparse()
            self.numbers[formula] = column
        return column

    def expand(self, states: IntArray, formulas: IntArray) -> tuple[IntArray, IntArray]:
        """Fill the rows of new product states [n]; return the pairs found new, [n_new]."""
        lengths = self.graph.degrees[states]
        edges = ranges(self.graph.indptr[states], lengths)
        targets = self.graph.targets[edges]
        after = self.step.lookup(formulas, self.classes[states])
        arrived = self.settled.lookup(np.repeat(after, lengths), self.classes[targets])
        first = len(self.states)
        numbers, _ = self.number(targets, arrived)
        self.row_lengths.append(lengths)
        self.row_targets.append(numbers)
        self.row_edges.append(edges)
        return end_to_end(self.states[first:]), end_to_end(self.formulas[first:])

    def expand_narrow(self, states: IntArray, formulas: IntArray) -> tuple[IntArray, IntArray]:
        """Fill rows state by state until the frontier is empty or wide; return the frontier.

        `states` and `formulas` [n_frontier], as what is returned.
        """
        frontier = list(zip(states.tolist(), formulas.tolist(), strict=True))
        rows: tuple[list[int], ...] = ([], [], [], [], [])
        rounds = 0
        while frontier and len(frontier) < 2 * NARROW and rounds < TIME_CHECK_INTERVAL:
            frontier = self._narrow_round(frontier, *rows)
            rounds += 1
        self.limits.check_states(self.n_found, PRODUCT)
        kept = self.states, self.formulas, self.row_lengths, self.row_targets, self.row_edges
        for parts, values in zip(kept, rows, strict=True):
            parts.append(np.array(values, np.int64))
        return (
            np.array([s for s, _ in frontier], np.int64),
            np.array([formula for _, formula in frontier], np.int64),
        )

    def _narrow_round(
        self,
        frontier: list[tuple[int, int]],
        all_states: list[int],
        all_formulas: list[int],
        row_lengths: list[int],
        row_targets: list[int],
        row_edges: list[int],
    ) -> list[tuple[int, int]]:
        """Add the rows of a frontier to the lists; return the pairs found new."""
        indptr, targets = self.graph.indptr.data, self.graph.targets.data
        classes, step, settled = self.classes.data, self.step, self.settled
        numbers, found = self.numbers, self.n_found
        following = []
        for s, formula in frontier:
            after = step[formula, classes[s]]
            start, end = indptr[s], indptr[s + 1]
            row_lengths.append(end - start)
            row_edges.extend(range(start, end))
            for t in targets[start:end]:
                arrived = settled[after, classes[t]]
                if arrived <= ALWAYS_FORMULA:
                    row_targets.append(-1 if arrived else -2)
                    continue
                column = numbers.get(arrived)
                if column is None:
                    column = self._column(arrived)
                number = int(column[t]) - 1
                if number < 0:
                    number = found
                    found += 1
                    column[t] = found
                    following.append((t, arrived))
                    all_states.append(t)
                    all_formulas.append(arrived)
                row_targets.append(number)
        self.n_found = found
        return following

    def product(self, starts: IntArray) -> Product:
        """Return the finished product, from `starts` [n]."""
        n = self.n_found
        indptr = np.zeros(n + 3, np.int64)
        np.cumsum(end_to_end(self.row_lengths), out=indptr[1 : n + 1])
        indptr[n + 1 :] = indptr[n]
        targets = _placed(end_to_end(self.row_targets), n)
        return Product(
            _placed(starts, n),
            end_to_end(self.states),
            Graph(indptr, targets),
            end_to_end(self.row_edges),
        )


def _placed(numbers: IntArray, n: int) -> IntArray:
    """Return product states with -1 (true) and -2 (false) put last."""
    return np.where(numbers < 0, n - 1 - numbers, numbers)


@contextmanager
def counting(n_states: int) -> Iterator[None]:
    """Let a limit that is reached while the finished product is solved name its size."""
    try:
        yield
    except LimitReached as limit:
        progress = f"{limit.progress}, after {n_states} {PRODUCT} were built"
        raise LimitReached(limit.limit, progress) from limit


def product(
    graph: Graph,
    classes: IntArray,
    progression: Steps,
    states: IntArray,
    formulas: IntArray,
    limits: Limits,
) -> Product:
    """Return the part of the product reachable from the pairs (states[i], formulas[i]).

    `classes` [n_states] are the classes of the chain's states, -1 where no path of interest goes.
    Raises `LimitReached` with the count when there are more product states than allowed.
    """
    search = _ProductSearch(graph, classes, progression, limits)
    first = search.settled.lookup(formulas, classes[states])
    starts, _ = search.number(states, first)
    frontier = end_to_end(search.states), end_to_end(search.formulas)
    while len(frontier[0]):
        limits.check_time(f"{search.n_found} {PRODUCT}")
        narrow = len(frontier[0]) < NARROW
        frontier = (search.expand_narrow if narrow else search.expand)(*frontier)
    return search.product(starts)
