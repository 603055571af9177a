"""Rounds of a loop: where a batch leads is found once for program points that look alike.

A loop over a known range is written out, so its rounds are code of one text. Which states of the
next cut points a batch leads to, from which rows and with which weights, follows from the code in
between, from the variables live after it, and from the columns of the batch: not from numbers of
nodes or states. So where two cut points have equal code up to the next ones, node by node, those
keep the same variables, and equal columns have come to both, the second batch leads to what the
first one led to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.explore.runs.liveness import END, Flow, successors
from dpcheck.explore.runs.program_points import STOPPED, Cut
from dpcheck.model.program import Fail, Node, Output, Sample
from dpcheck.records import dataclass, replace
from dpcheck.source import Span

if TYPE_CHECKING:
    from dpcheck.explore.runs.raw_graph import Explorer

MAX_MISSES = 3
"""After so many batches that came with other columns, a statement's batches are kept no more."""

_LINKS = frozenset({"next", "then", "orelse"})

Columns = Mapping[str, IntArray]


@dataclass(frozen=True, eq=False)
class Reached:
    """States of a cut point, in the order they were met: columns [n], numbers [n] among all.

    origin [n] is the state each was first met from (in a kept batch the row of it), drawn [n] what
    that drew.
    """

    cut: Cut
    columns: Columns
    numbers: IntArray
    origin: IntArray
    drawn: IntArray
    span: Span


@dataclass(frozen=True, eq=False)
class _Expansion:
    """What a batch led to: edges from `rows` of it to `ends`, which count the reached states.

    rows, ends, weights [n_edges]; an end is `STOPPED`, or the place in all of `reached`.
    """

    cut: Cut
    columns: Columns
    reached: tuple[Reached, ...]
    rows: IntArray
    ends: IntArray
    weights: WeightArray
    scales: WeightArray


class Rounds:
    """The last batch of each statement, as far as the code has that statement several times."""

    def __init__(self, flow: Flow, *, is_on: bool) -> None:
        """Start without batches; nothing is ever kept unless `is_on`."""
        self._flow, self._is_on = flow, is_on
        self._n_times = Counter((type(node), node.span) for node in flow.nodes)
        self._known: dict[tuple[str, Span], _Expansion] = {}
        self._n_misses: Counter[tuple[str, Span]] = Counter()
        self._met: list[Reached] | None = None

    def is_repeated(self, explorer: Explorer, cut: Cut, source: IntArray, columns: Columns) -> bool:
        """Add what states [n_rows] at a cut point lead to, if it is known; tell whether it is."""
        known = self._known.get(self._statement(cut)) if self._is_kept(cut) else None
        if known is None:
            return False
        cuts = matched(self._flow, known.cut, cut)
        if cuts is None or not _are_equal(known.columns, columns):
            self._n_misses[self._statement(cut)] += 1
            return False
        numbers = [
            explorer.entered(
                cuts[one.cut],
                one.columns,
                source[one.origin],
                one.drawn,
                one.span,
                are_different=True,
            )
            for one in known.reached
        ]
        ends = np.concatenate([*numbers, np.full(1, STOPPED, np.int64)])[known.ends]
        explorer.scales.append((source, known.scales))
        explorer.add_edges(source[known.rows], ends, known.weights)
        return True

    def begin(self, cut: Cut) -> None:
        """Keep what the next batch meets, if that may be asked for."""
        self._met = [] if self._is_kept(cut) else None

    def meet(self, found: Reached) -> None:
        """Keep the states that rows have reached, each once; origins are their sources."""
        if self._met is None:
            return
        first = np.sort(distinct_rows([found.numbers])[0])
        self._met.append(
            Reached(
                found.cut,
                {name: column[first] for name, column in found.columns.items()},
                found.numbers[first],
                found.origin[first],
                found.drawn[first],
                found.span,
            )
        )

    def end(self, explorer: Explorer, cut: Cut, source: IntArray, columns: Columns) -> None:
        """Keep the batch that was begun, with its edges: the last that the explorer has added."""
        met, self._met = self._met, None
        if met is None or explorer.mistakes:
            return
        met = [replace(one, origin=np.searchsorted(source, one.origin)) for one in met]
        numbers = np.concatenate([np.full(1, STOPPED, np.int64), *(one.numbers for one in met)])
        order = np.argsort(numbers, kind="stable")
        place = np.searchsorted(numbers[order], explorer.targets[-1])
        self._known[self._statement(cut)] = _Expansion(
            cut,
            dict(columns),
            tuple(met),
            np.searchsorted(source, explorer.sources[-1]),
            order[place] - 1,
            explorer.weights[-1],
            explorer.scales[-1][1],
        )

    def _is_kept(self, cut: Cut) -> bool:
        """Tell whether the statement at a cut point is there several times, with equal columns."""
        kind, point = cut
        if kind == "head" or point == END or not self._is_on:
            return False
        node = self._flow.nodes[point]
        is_several = self._n_times[type(node), node.span] > 1
        return is_several and self._n_misses[self._statement(cut)] < MAX_MISSES

    def _statement(self, cut: Cut) -> tuple[str, Span]:
        return cut[0], self._flow.nodes[cut[1]].span


def matched(flow: Flow, first: Cut, second: Cut) -> dict[Cut, Cut] | None:
    """Return which cut point after `second` stands for each one after `first`.

    Several may be one: what is reached twice is found again, and parallel edges are summed up.
    None where the code up to those differs, in anything but the numbers of nodes, or comes to a
    head of a loop, which may be a cut point or not.
    """
    cuts: dict[Cut, Cut] = {}
    pairs: dict[int, int] = {}
    waiting = [(first[1], second[1])]
    if first[0] == "sample":
        one, other = flow.nodes[first[1]], flow.nodes[second[1]]
        if not _is_alike(one, other):
            return None
        waiting = list(zip(successors(one), successors(other), strict=True))
    while waiting:
        a, b = waiting.pop()
        if a in pairs:
            if pairs[a] != b:
                return None
            continue
        pairs[a] = b
        one, other = flow.nodes[a], flow.nodes[b]
        if {a, b} & flow.endless or not _is_alike(one, other):
            return None
        following = list(zip(successors(one), successors(other), strict=True))
        if isinstance(one, Output):
            ((a, b),) = following
            ends: tuple[Cut, Cut] = ("shown", flow.point(a)), ("shown", flow.point(b))
            lives = flow.live_at(ends[0][1]), flow.live_at(ends[1][1])
        elif isinstance(one, Sample):
            ends = ("sample", a), ("sample", b)
            lives = flow.live[following[0][0]], flow.live[following[0][1]]
        else:
            waiting += following
            continue
        if lives[0] != lives[1] or cuts.setdefault(ends[0], ends[1]) != ends[1]:
            return None
    return cuts


def _is_alike(one: Node, other: Node) -> bool:
    """Tell whether two nodes are the same but for where they lead; a failure never is."""
    if type(one) is not type(other) or isinstance(one, Fail):
        return False
    return all(
        _is_same(getattr(one, name), getattr(other, name))
        for name in type(one).__slots__
        if name not in _LINKS
    )


def _is_same(one: object, other: object) -> bool:
    """Tell whether two parts of a program are equal; 1 and `true` are equal in Python only."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    names = getattr(type(one), "__dataclass_fields__", None)
    if names is None or isinstance(one, Span):
        return one == other
    return all(_is_same(getattr(one, name), getattr(other, name)) for name in names)


def _are_equal(one: Columns, other: Columns) -> bool:
    return list(one) == list(other) and all(np.array_equal(one[name], other[name]) for name in one)
