"""Pairs of neighbors: which rows of two tables satisfy a condition.

Candidates come from the cheapest of two plans and are then tested against the whole condition by
vectorised evaluation. *Moves*: where the condition bounds distances (see `adjacency_patterns`), the
partners of a row differ from it by one of a few vectors, found by looking up shifted keys.
*Blocks*: rows that agree on what must be equal (`l = k + 1` says so of l on one side and k + 1 on
the other) are paired with each other. So 10^5 inputs at distance 1 cost a few times 10^5 steps, not
10^10. Conjuncts that read one side only are settled on its rows before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dpcheck.chain.arrays import differences, marked
from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct, distinct_rows
from dpcheck.chain.weights.rows import ranges
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.runs import PairOutsideInput
from dpcheck.explore.inputs.adjacency_patterns import Distance, conjunctions, distances
from dpcheck.explore.inputs.certain_values import TRUTH, Shape, shape, shape_of_column
from dpcheck.explore.values.codes import FIRST_FAULT, PLAIN, TRUE, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated, truths
from dpcheck.explore.values.mistakes import MistakesFound, mistake_of
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.model.expressions import Apply, Expr, primed_name, reads
from dpcheck.model.program import AdjacentPairs, AdjacentWhere, Mechanism
from dpcheck.model.values import value_text
from dpcheck.records import dataclass

BLOCK = 1 << 20
"""Pairs that are looked at at once: bounds the memory they take."""
MOVED = 1 << 16
"""About how many keys are looked up at once."""

MAX_MOVES = 200_000
"""Bounds the differences of inputs that are tried as moves."""
MAX_KEY = 2**62
"""Bounds keys that number rows of inputs: int64 holds a sum of two."""

Columns = dict[str, IntArray]


@dataclass(frozen=True, eq=False)
class Side:
    """One of two tables: columns [n_rows] under the names that the condition uses for it."""

    columns: Columns
    n_rows: int


def neighbor_pairs(
    mechanism: Mechanism, inputs: Columns, n_inputs: int, table: ValueTable, limits: Limits
) -> IntArray:
    """Return the pairs (s, t), s < t, of neighboring inputs, sorted; [n_pairs, 2].

    Raises `MistakesFound` where a condition has no value or a listed pair no input.
    """
    public = [name for one in mechanism.inputs if one.is_public for name in one.cells]
    found: list[IntArray] = []
    for clause in mechanism.adjacency:
        if isinstance(clause, AdjacentPairs):
            found.append(_listed(mechanism, clause, inputs, table))
            continue
        condition = clause.condition if isinstance(clause, AdjacentWhere) else None
        primed = primed_names(inputs, condition)
        left = Side(inputs, n_inputs)
        right = Side({primed[name]: column for name, column in inputs.items()}, n_inputs)
        equal = [(name, primed[name]) for name in public]
        pairs = related(left, right, condition, equal, table, limits, one_table=True)
        found.append(pairs)
    return symmetric(found, n_inputs)


def check_pairs(n_found: int, limits: Limits) -> None:
    """Raise `LimitReached` where pairs of neighbors are too many."""
    if n_found > 4 * limits.max_states:
        limit = Limit("states", 4 * limits.max_states, "neighbor pairs")
        raise LimitReached(limit, f"{n_found} neighbor pairs found")


def primed_names(inputs: Mapping[str, IntArray], condition: Expr | None) -> dict[str, str]:
    """Return what a condition calls the neighbor's value of each input, a column [n_inputs]."""
    used = () if condition is None else (name for name in reads(condition) if "'" in name)
    return {name: primed_name(name) for name in inputs} | {
        name.replace("'", ""): name for name in used
    }


def symmetric(found: Sequence[IntArray], n_states: int) -> IntArray:
    """Return the pairs [n, 2] of all parts as unordered pairs without self-pairs, sorted."""
    pairs = np.concatenate([part.T for part in found] or [np.empty((2, 0), np.int64)], axis=1)
    low, high = np.minimum(*pairs), np.maximum(*pairs)
    keys = low * n_states + high
    if np.array_equal(low, pairs[0]) and np.all(low < high) and np.all(keys[1:] > keys[:-1]):
        return pairs.T
    keys = distinct(keys[low != high])
    return np.stack([keys // n_states, keys % n_states]).T


def _listed(
    mechanism: Mechanism, clause: AdjacentPairs, inputs: Columns, table: ValueTable
) -> IntArray:
    """Return the pairs [n_pairs, 2] that are listed by value, for the one private input.

    Neighbors agree on all others: these are public, what an analyst has chosen among them.
    """
    (one,) = (each for each in mechanism.inputs if not each.is_public)  # which is no array
    column, pairs = inputs[one.name], [np.empty((0, 2), np.int64)]
    rest = (codes for name, codes in inputs.items() if name != one.name)
    _, agreeing = distinct_rows([np.zeros_like(column), *rest])
    for pair in clause.pairs:
        ends = [np.flatnonzero(column == table.code(value)) for value in pair]
        for value, end in zip(pair, ends, strict=True):
            if not len(end):
                raise MistakesFound([PairOutsideInput(clause.span, one.name, value_text(value))])
        left, right = ends
        _, here, there = np.intersect1d(agreeing[left], agreeing[right], return_indices=True)
        pairs.append(np.stack([left[here], right[there]], axis=1))
    return np.concatenate(pairs)


# --- pairs that satisfy a condition --------------------------------------------------------


def related(
    left: Side,
    right: Side,
    condition: Expr | None,
    equal: Sequence[tuple[str, str]],
    table: ValueTable,
    limits: Limits,
    *,
    one_table: bool = False,
) -> IntArray:
    """Return the pairs (row of left, row of right) [n, 2] that satisfy the condition.

    `equal` lists columns that have to agree. With `one_table`, both sides are the same rows, all
    different: none is paired with itself, and one of (s, t) and (t, s) stands for both.
    Raises `MistakesFound` if the condition has no value on some pair of the search,
    `LimitReached` when the pairs get too many.
    """
    if not left.n_rows or not right.n_rows:
        return np.empty((0, 2), np.int64)
    search = _PairSearch(left, right, tuple(equal), (), table, limits, one_table)
    if condition is None:
        return search.satisfying(search.blocks(()), ()).pairs
    names = frozenset(left.columns), frozenset(right.columns)
    found = []
    used = frozenset(reads(condition))
    shapes = {
        name: shape_of_column(codes, table)
        for side in (left, right)
        for name, codes in side.columns.items()
        if name in used
    }
    for conjuncts in conjunctions(condition):
        narrow = _narrowed(search, conjuncts, shapes)
        # A bound of a later conjunct would hide the pairs on which one before it has no value.
        bounds = distances(narrow.conjuncts[: narrow.n_certain], names)
        candidates, settled = narrow.search.candidates(bounds, len(narrow.conjuncts))
        open_ = [conjunct for conjunct in narrow.conjuncts if id(conjunct) not in settled]
        part = narrow.search.satisfying(candidates, open_)
        found.append(_Found(narrow.widened(part.pairs), narrow.widened(part.unsure)))
    # A part of a union without a value is a mistake only if no earlier part is true.
    unsure = np.concatenate([part.unsure for part in found])
    if not len(unsure):
        return np.concatenate([part.pairs for part in found])
    unsure = unsure[distinct_rows(list(unsure.T))[0]]
    decided = search.satisfying(iter([(unsure[:, 0], unsure[:, 1])]), (condition,))
    if len(decided.unsure):
        raise MistakesFound([search.mistake(condition, decided.unsure[0])])
    return np.concatenate([*(part.pairs for part in found), decided.pairs])


@dataclass(frozen=True, eq=False)
class _Found:
    """Pairs [n, 2] that satisfy some conjuncts, and pairs on which they have no value."""

    pairs: IntArray
    unsure: IntArray


@dataclass(frozen=True, eq=False)
class _Coordinate:
    """A pair of columns as small integers; `is_metric` if differences mean distances."""

    left: IntArray
    right: IntArray
    width: int
    is_metric: bool


@dataclass(frozen=True, eq=False)
class _Plan:
    """Coordinates, the moves between rows, and the `id`s of conjuncts true of all they meet.

    With a move there is the opposite one.
    """

    coordinates: list[_Coordinate]
    moves: list[tuple[int, ...]]
    settled: frozenset[int]


@dataclass(frozen=True, eq=False)
class _PairSearch:
    """Two sides; `equal` columns of them, and further values [n_rows] that have to be equal."""

    left: Side
    right: Side
    equal: tuple[tuple[str, str], ...]
    equal_values: tuple[tuple[IntArray, IntArray], ...]
    table: ValueTable
    limits: Limits
    one_table: bool

    def satisfying(
        self, candidates: Iterator[tuple[IntArray, IntArray]], conjuncts: Sequence[Expr]
    ) -> _Found:
        """Return the candidate pairs (left [n], right [n]) that satisfy every conjunct."""
        nothing = np.empty((2, 0), np.int64)
        found, unsure, n_found = [nothing], [nothing], 0
        for rows, others in candidates:
            self.limits.check_time(f"{n_found} neighbor pairs found")
            pairs = np.stack([rows, others])
            if self.one_table and np.any(rows == others):
                pairs = pairs[:, rows != others]
            if conjuncts:
                truth = self._truth(pairs[0], pairs[1], conjuncts)
                unsure.append(pairs[:, truth >= FIRST_FAULT])
                pairs = pairs[:, truth == TRUE]
            found.append(pairs)
            n_found += pairs.shape[1]
            check_pairs(n_found, self.limits)
        return _Found(np.concatenate(found, axis=1).T, np.concatenate(unsure, axis=1).T)

    def _truth(self, rows: IntArray, others: IntArray, conjuncts: Sequence[Expr]) -> IntArray:
        """Return the truth of the conjunction on pairs of rows [n], from left to right."""
        truth = np.full(len(rows), TRUE, np.int64)
        for conjunct in conjuncts:
            good = marked(truth == TRUE)
            if not len(good):
                break
            columns = _gathered(self.left.columns, rows[good], conjunct)
            columns |= _gathered(self.right.columns, others[good], conjunct)
            truth[good] = truths(conjunct, Frame(len(good), columns), self.table)
        return truth

    def mistake(self, condition: Expr, pair: IntArray) -> Mistake:
        """Return why the condition has no value on a pair [2]."""
        (code,) = self._truth(pair[:1], pair[1:], (condition,)).tolist()
        run = tuple(
            f"{name} = {value_text(self.table.value(int(side.columns[name][row])))}"
            for side, row in ((self.left, pair[0]), (self.right, pair[1]))
            for name in sorted(set(reads(condition)) & set(side.columns))
        )
        return mistake_of(self.table.fault_of(code), condition.span, run)

    # --- plans ---

    def candidates(
        self, bounds: Sequence[Distance], n_conjuncts: int
    ) -> tuple[Iterator[tuple[IntArray, IntArray]], frozenset[int]]:
        """Return candidate pairs by the cheaper plan: a superset of what the bounds allow.

        The second result are the `id`s of conjuncts that are true of every candidate: moves make
        no steps but those that a bound allows, so it holds where differences mean distances.
        """
        fixed = [pair for d in bounds if d.bound <= 0 for pair in d.pairs]
        if any(d.bound < 0 for d in bounds) or not (self.left.n_rows and self.right.n_rows):
            return iter(()), frozenset()
        blocks = self._block_cost(fixed)
        if blocks > 2 * (self.left.n_rows + self.right.n_rows):
            plan = self._plan(bounds, blocks)
            if plan is not None:
                is_whole = len(plan.settled) == n_conjuncts
                return self.moves(plan, is_whole=is_whole), plan.settled
        return self.blocks(fixed), frozenset()

    def _groups(self, fixed: Sequence[tuple[str, str]]) -> tuple[IntArray, IntArray]:
        """Return group numbers [n_rows] of both sides, equal where rows agree on fixed columns."""
        pairs = dict.fromkeys([*self.equal, *fixed])
        columns = [np.concatenate([self.left.columns[a], self.right.columns[b]]) for a, b in pairs]
        columns.extend(np.concatenate(values) for values in self.equal_values)
        if not columns:
            return np.zeros(self.left.n_rows, np.int64), np.zeros(self.right.n_rows, np.int64)
        _, group = distinct_rows(columns)
        return group[: self.left.n_rows], group[self.left.n_rows :]

    def _block_cost(self, fixed: Sequence[tuple[str, str]]) -> float:
        left, right = self._groups(fixed)
        n_groups = max(int(left.max()), int(right.max())) + 1
        sizes = np.bincount(left, minlength=n_groups).astype(float)
        return float(sizes @ np.bincount(right, minlength=n_groups))

    def blocks(self, fixed: Sequence[tuple[str, str]]) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield all pairs (left [n], right [n]) equal on fixed columns, about `BLOCK` at a time."""
        left, right = self._groups(fixed)
        order = np.argsort(right, kind="stable")
        starts = np.searchsorted(right[order], left)
        sizes = np.searchsorted(right[order], left, side="right") - starts
        parts = [np.arange(self.left.n_rows)]
        if sizes.sum() >= BLOCK:
            parts = np.split(parts[0], marked(differences(sizes.cumsum() // BLOCK)) + 1)
        for rows in parts:
            counts = sizes[rows]
            yield rows.repeat(counts), order[ranges(starts[rows], counts)]

    def _plan(self, bounds: Sequence[Distance], budget: float) -> _Plan | None:
        """Return coordinates that tell rows apart and moves between them, if cheaper."""
        pairs = self._all_pairs(bounds)
        if pairs is None:
            return None
        coordinates = [self._coordinate(*pair) for pair in pairs]
        size = 1
        for coordinate in coordinates:
            size *= 2 * coordinate.width
        if size >= MAX_KEY:
            return None
        # Where a pair is to be tested, a move costs as much again.
        cost = 1 if all(d.is_exact for d in bounds) else 2
        most = min(MAX_MOVES, int(budget / (cost * self.left.n_rows)))
        moves = _moves(pairs, coordinates, self.equal, bounds, most)
        if moves is None:
            return None
        metric = {pair for pair, c in zip(pairs, coordinates, strict=True) if c.is_metric}
        settled = frozenset(
            id(d.conjunct)
            for d in bounds
            if d.is_exact and (d.norm == "hamming" or metric.issuperset(d.pairs))
        )
        return _Plan(coordinates, moves, settled)

    def _all_pairs(self, bounds: Sequence[Distance]) -> list[tuple[str, str]] | None:
        """Pair every left column with one right column: as bounded, or else by position."""
        pairs = list(dict.fromkeys([*self.equal, *(p for d in bounds for p in d.pairs)]))
        used_left, used_right = {a for a, _ in pairs}, {b for _, b in pairs}
        if len(used_left) != len(pairs) or len(used_right) != len(pairs):
            return None
        rest_left = [name for name in self.left.columns if name not in used_left]
        rest_right = [name for name in self.right.columns if name not in used_right]
        if len(rest_left) != len(rest_right):
            return None
        pairs += zip(rest_left, rest_right, strict=True)
        place = {name: k for k, name in enumerate(self.left.columns)}
        return sorted(pairs, key=lambda pair: place[pair[0]])

    def _coordinate(self, name: str, other: str) -> _Coordinate:
        left, right = self.left.columns[name], self.right.columns[other]
        both = np.concatenate([left, right])
        low, high = int(both.min()), int(both.max())
        if high < PLAIN and high - low < 1 << 20:
            return _Coordinate(left - low, right - low, high - low + 1, is_metric=True)
        distinct, rank = np.unique(both, return_inverse=True)
        return _Coordinate(rank[: len(left)], rank[len(left) :], len(distinct), is_metric=False)

    def moves(self, plan: _Plan, *, is_whole: bool) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows [n] that moves lead from and the rows they lead to, many rows at a time.

        A digit of a key has room for the width w and the longest step r < w. A digit that leaves
        its range comes, from the last one on, to a digit from w to w + r - 1 (with a borrow or
        without), which no key of the right side has: equal keys mean that all steps are as in
        the move.

        Where moves are the whole condition (`is_whole`) and both sides have the same keys, (s, t)
        is found by a move exactly if (t, s) is by the opposite one: positive shifts are enough.
        No shift is 0 but that of no move, as 2 r < w + r, and the rows of one table are
        different. Where keys grow from row to row, pairs come in order.
        """
        key = np.zeros(self.left.n_rows, np.int64)
        target = np.zeros(self.right.n_rows, np.int64)
        shifts = np.zeros(len(plan.moves), np.int64)
        for c, steps in zip(plan.coordinates, np.array(plan.moves, np.int64).T, strict=True):
            room = c.width + int(steps.max())
            key, target = key * room + c.left, target * room + c.right
            shifts = shifts * room + steps
        shifts = np.sort(shifts)
        if self.one_table and is_whole and np.array_equal(key, target):
            shifts = shifts[shifts > 0]
        if not len(shifts):
            return
        order = np.argsort(target, kind="stable")
        target = target[order]
        at_once = max(1, MOVED // len(shifts))
        for first in range(0, len(key), at_once):
            moved = (key[first : first + at_once, np.newaxis] + shifts).ravel()
            place = np.searchsorted(target, moved).clip(max=len(target) - 1)
            hit = marked(target[place] == moved)
            yield first + hit // len(shifts), order[place[hit]]


@dataclass(frozen=True, eq=False)
class _Narrowed:
    """What is left to search where some conjuncts, which read one side only, are settled.

    whole: the search among all rows; left, right: the rows of its sides that are left; conjuncts:
    those not settled, of which the first `n_certain` have a value on every pair.
    """

    whole: _PairSearch
    search: _PairSearch
    left: IntArray
    right: IntArray
    conjuncts: Sequence[Expr]
    n_certain: int

    def widened(self, pairs: IntArray) -> IntArray:
        """Return pairs of rows [n_pairs, 2] of the whole sides."""
        if len(self.left) == self.whole.left.n_rows and len(self.right) == self.whole.right.n_rows:
            return pairs
        rows, others = self.left[pairs[:, 0]], self.right[pairs[:, 1]]
        if self.whole.one_table:
            apart = np.flatnonzero(rows != others)
            rows, others = rows[apart], others[apart]
        return np.stack([rows, others]).T


def _narrowed(
    search: _PairSearch, conjuncts: Sequence[Expr], shapes: Mapping[str, Shape]
) -> _Narrowed:
    """Return the search among the rows on which conjuncts that read one side are true.

    A row that makes such a conjunct false makes the conjunction false in all pairs, provided that
    no conjunct before it is without a value on any pair: conjunctions are evaluated from left to
    right. (`k = 5 & l = 6` then looks at n + n rows, not at n * n pairs.)
    """
    rows = {id(side): np.arange(side.n_rows) for side in (search.left, search.right)}
    left_over: list[Expr] = []
    equalities: list[tuple[Expr, Expr]] = []
    n_certain = 0
    for place, conjunct in enumerate(conjuncts):
        used = set(reads(conjunct))
        sides = [s for s in (search.left, search.right) if used & set(s.columns)]
        side = sides[0] if sides else search.left
        kept = rows[id(side)]
        if len(sides) > 1:
            if shape(conjunct, shapes) != TRUTH:
                left_over.extend(conjuncts[place:])
                break
            left_over.append(conjunct)
            n_certain += 1
            equalities.extend(_across(conjunct, search))
            continue
        frame = Frame(len(kept), _gathered(side.columns, kept, conjunct))
        truth = truths(conjunct, frame, search.table)
        if int(truth.max(initial=0)) >= FIRST_FAULT:
            left_over.extend(conjuncts[place:])
            break
        rows[id(side)] = kept[truth == TRUE]
    left, right = rows[id(search.left)], rows[id(search.right)]
    inner = _PairSearch(
        _side_rows(search.left, left),
        _side_rows(search.right, right),
        search.equal,
        tuple(
            (
                _values(one, search.left, left, search.table),
                _values(other, search.right, right, search.table),
            )
            for one, other in equalities
        ),
        search.table,
        search.limits,
        one_table=search.one_table and np.array_equal(left, right),
    )
    return _Narrowed(search, inner, left, right, left_over, n_certain)


def _across(conjunct: Expr, search: _PairSearch) -> Iterator[tuple[Expr, Expr]]:
    """Yield (e, f) where the conjunct says e = f, e reads the left side only and f the right."""
    match conjunct:
        case Apply("=", (one, other)):
            for first, second in ((one, other), (other, one)):
                of_left, of_right = set(reads(first)), set(reads(second))
                if of_left <= set(search.left.columns) and of_right <= set(search.right.columns):
                    yield first, second
                    return


def _values(expr: Expr, side: Side, rows: IntArray, table: ValueTable) -> IntArray:
    """Return the codes [n] of an expression that always has a value, on some rows of a side."""
    return evaluated(expr, Frame(len(rows), _gathered(side.columns, rows, expr)), table)


def _side_rows(side: Side, rows: IntArray) -> Side:
    """Return some rows [n] of a side."""
    if len(rows) == side.n_rows:
        return side
    return Side({name: column[rows] for name, column in side.columns.items()}, len(rows))


def _gathered(columns: Columns, rows: IntArray, conjunct: Expr) -> Columns:
    return {name: columns[name][rows] for name in set(reads(conjunct)) if name in columns}


def _moves(
    pairs: Sequence[tuple[str, str]],
    coordinates: Sequence[_Coordinate],
    equal: Sequence[tuple[str, str]],
    bounds: Sequence[Distance],
    most: int,
) -> list[tuple[int, ...]] | None:
    """Return the vectors of differences that the bounds allow, or None if there are too many."""
    steps: list[range] = []
    for pair, coordinate in zip(pairs, coordinates, strict=True):
        reach = coordinate.width - 1
        for distance in bounds:
            if pair not in distance.pairs:
                continue
            if distance.bound == 0 or (coordinate.is_metric and distance.norm != "hamming"):
                reach = min(reach, distance.bound)
        if pair in equal:
            reach = 0
        steps.append(range(-reach, reach + 1))
    place = {pair: k for k, pair in enumerate(pairs)}
    limits = [
        (d.norm, {place[pair] for pair in d.pairs}, d.bound)
        for d in bounds
        if d.norm == "hamming"
        or (d.norm == "l1" and all(coordinates[place[pair]].is_metric for pair in d.pairs))
    ]
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), tuple(0 for _ in limits))]
    for k, choices in enumerate(steps):
        longer = []
        for move, spent in found:
            for step in choices:
                now = tuple(
                    used + (0 if k not in where else abs(step) if norm == "l1" else step != 0)
                    for used, (norm, where, _) in zip(spent, limits, strict=True)
                )
                if all(used <= bound for used, (_, _, bound) in zip(now, limits, strict=True)):
                    longer.append(((*move, step), now))
            if len(longer) > most:
                return None
        found = longer
    return [move for move, _ in found]
