"""The walk of a batch of a few rows, on lists: what `walk` does on arrays, step by step.

A numpy call takes as long for three rows as for a thousand, so that programs of many small batches
spent their time in calls. Here a batch is lists of Python integers, and takes the same steps in the
same order: states get the same numbers. What is not usual (see `lists`), a mistake of the user
among it, stops the walk before anything is recorded; the batch is then walked on arrays, where the
states that were met already are found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, assert_never

import numpy as np

from dpcheck.explore.lists import Formula, Lists, Unusual, booleans, formula, some_rows
from dpcheck.explore.runs.liveness import Flow
from dpcheck.explore.runs.program_points import DRAWS, MAX_PASSES, SHOWN, STOPPED, Cut
from dpcheck.explore.sampling.distributions import (
    Supports,
    distribution_reads,
    distributions,
    recipe,
)
from dpcheck.explore.values.codes import FALSE, FIRST_FAULT, TRUE
from dpcheck.explore.values.evaluate import Frame
from dpcheck.model.expressions import Apply, Expr, Var, reads
from dpcheck.model.program import (
    Assign,
    AssignCell,
    Branch,
    ChooseDistribution,
    Distribution,
    Fail,
    LetDistribution,
    Node,
    Output,
    Sample,
    Stop,
    Unpack,
    Weighted,
)
from dpcheck.records import dataclass
from dpcheck.source import Span

if TYPE_CHECKING:
    from dpcheck.explore.runs.raw_graph import Explorer

MAX_FEW = 128
"""How many rows a batch has at most that is walked on lists."""


@dataclass(frozen=True, eq=False)
class FewRows:
    """A batch: the raw state each row comes from, its weight, and what `~` gave (or 0)."""

    source: list[int]
    weight: list[int]
    drawn: list[int]


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows of a batch, by number, and their columns."""

    origin: list[int]
    columns: Lists


class Formulas:
    """What is compiled of a mechanism, each formula when it is first needed."""

    def __init__(self, flow: Flow, supports: Supports) -> None:
        """Start with nothing compiled."""
        self.flow, self.supports, self.table = flow, supports, supports.table
        self._formulas: dict[int, Formula] = {}
        self._within: dict[int, Formula] = {}
        self._draws: dict[int, Formula] = {}
        self._kept: dict[int, tuple[str, ...]] = {}

    def value(self, expr: Expr) -> Formula:
        """Return the function of an expression (of the mechanism, which keeps it alive)."""
        found = self._formulas.get(id(expr))
        if found is None:
            found = self._formulas[id(expr)] = formula(expr, self.table)
        return found

    def within(self, node: Node, domain: Expr) -> Formula:
        """Return whether the variable without a name is in the set declared at a node."""
        found = self._within.get(id(node))
        if found is None:
            test = Apply("in", (Var("", node.span), domain), node.span)
            found = self._within[id(node)] = formula(test, self.table)
        return found

    def draws(self, distribution: Distribution) -> Formula:
        """Return the function to the numbers of distributions, or codes of faults."""
        found = self._draws.get(id(distribution))
        if found is None:
            found = self._draws[id(distribution)] = _draws(distribution, self.supports)
        return found

    def kept(self, index: int, node: Sample) -> tuple[str, ...]:
        """Return the variables that still matter once the distribution of a `~` is known."""
        found = self._kept.get(index)
        if found is None:
            found = self._kept[index] = kept_at_sample(self.flow, node)
        return found


def kept_at_sample(flow: Flow, node: Sample) -> tuple[str, ...]:
    """Return the variables that still matter once the distribution of a `~` is known, sorted."""
    kept = set(flow.live[node.next]) - {node.target}
    if node.within is not None:
        kept |= set(reads(node.within))
    return tuple(sorted(kept))


def _draws(distribution: Distribution, supports: Supports) -> Formula:
    """Return the function to the numbers of distributions: as for arrays, new ones in order."""
    if isinstance(distribution, Weighted | LetDistribution | ChooseDistribution):
        names = tuple(dict.fromkeys(distribution_reads(distribution)))

        def by_arrays(columns: Lists, n_rows: int) -> list[int]:
            frame = Frame(n_rows, {name: np.array(columns[name], np.int64) for name in names})
            numbers: list[int] = distributions(distribution, frame, supports).tolist()
            return numbers

        return by_arrays
    found = recipe(distribution, supports.table)
    parameters = [formula(parameter, supports.table) for parameter in found.parameters]
    known: dict[tuple[int, ...], int] = {}

    def run(columns: Lists, n_rows: int) -> list[int]:
        rows = list(zip(*(part(columns, n_rows) for part in parameters), strict=True))
        new = sorted(set(rows) - known.keys())
        known.update(zip(new, found.numbers(new, supports), strict=True))
        return [known[codes] for codes in rows]

    return run


def walk_from(
    explorer: Explorer, point: int, source: list[int], columns: Lists, *, leaves_head: bool
) -> None:
    """Go on deterministically from states of a cut point."""
    n_rows = len(source)
    walk = _FewWalk(explorer, FewRows(source, [1] * n_rows, [0] * n_rows))
    walk.run(point, _Part(list(range(n_rows)), columns), leaves_head=leaves_head)


def walk_draws(
    explorer: Explorer,
    index: int,
    source: list[int],
    columns: Lists,
    supports: list[tuple[list[int], list[int]]],
) -> None:
    """Leave a `~` with every value of its distribution: `supports` has values and weights a row."""
    node = explorer.flow.nodes[index]
    assert isinstance(node, Sample), "samples are cut points of their own"
    owner = [row for row, (values, _) in enumerate(supports) for _ in values]
    batch = FewRows(
        [source[row] for row in owner],
        [weight for _, weights in supports for weight in weights],
        [value for values, _ in supports for value in values],
    )
    walk = _FewWalk(explorer, batch)
    kept = explorer.formulas.kept(index, node)
    inner = some_rows(columns, kept, owner)
    walk.check_within(node, node.within, batch.drawn, inner)
    part = _Part(list(range(len(owner))), {**inner, node.target: batch.drawn})
    walk.run(node.next, part, leaves_head=False)


class _FewWalk:
    """One batch on its way through deterministic code; see `raw_graph` for the same on arrays."""

    def __init__(self, explorer: Explorer, batch: FewRows) -> None:
        self.explorer, self.batch = explorer, batch
        self.flow, self.formulas = explorer.flow, explorer.formulas
        self.waiting: dict[int, list[_Part]] = {}
        self.queue: list[tuple[int, int]] = []
        self.origins: list[int] = []
        self.targets: list[int] = []
        self.n_steps = 0
        self.n_passes = 0

    def run(self, start: int, part: _Part, *, leaves_head: bool) -> None:
        """Walk from a node to the next cut points and record the edges."""
        node = self.flow.nodes[start]
        if isinstance(node, Branch) and leaves_head:
            self._branch(node, part)
        else:
            self._send(start, part)
        while self.queue:
            _, index = heappop(self.queue)
            self._step(index, self._met(index, self.waiting.pop(index)))
            self.n_steps += 1
            if self.n_steps % 64 == 0:
                explorer = self.explorer
                explorer.limits.check_time(f"{explorer.n_states} states explored")
        self.explorer.record_few(self.batch, self.origins, self.targets)

    def check_within(
        self, node: Node, within: Expr | None, values: list[int], columns: Lists
    ) -> None:
        """Give up where a new value lies outside of the declared set."""
        if within is not None:
            test = self.formulas.within(node, within)
            if min(booleans(test({**columns, "": values}, len(values)))) != TRUE:
                raise Unusual

    def _send(self, index: int, part: _Part) -> None:
        if index not in self.waiting:
            self.waiting[index] = []
            heappush(self.queue, (self.flow.order[index], index))
        self.waiting[index].append(part)

    def _met(self, index: int, parts: list[_Part]) -> _Part:
        """Join parts that meet at a node; only what is live there goes on."""
        if len(parts) == 1:
            return parts[0]
        columns = {
            name: [code for part in parts for code in part.columns[name]]
            for name in self.flow.live[index]
        }
        return _Part([row for part in parts for row in part.origin], columns)

    def _step(self, index: int, part: _Part) -> None:
        """Run one node on all its rows."""
        match self.flow.nodes[index]:
            case Assign() as node:
                codes = self._valued(self.formulas.value(node.value), part)
                self.check_within(node, node.within, codes, part.columns)
                self._go_on(node.next, part, {node.target: codes})
            case AssignCell() as node:
                self._assign_cell(node, part)
            case Unpack() as node:
                self._unpack(node, part)
            case Branch() as node if index in self.flow.endless and not self._may_pass(part):
                self._arrive(("head", index), {}, index, part, node.span)
            case Branch() as node:
                self._branch(node, part)
            case Sample() as node:
                numbers = self._valued(self.formulas.draws(node.distribution), part)
                names = self.formulas.kept(index, node)
                columns = {DRAWS: numbers} | {name: part.columns[name] for name in names}
                self._finish(part, ("sample", index), columns, node.span)
            case Output() as node:
                codes = self._valued(self.formulas.value(node.value), part)
                point = self.flow.point(node.next)
                self._arrive(("shown", point), {SHOWN: codes}, point, part, node.span)
            case Stop():
                self.origins += part.origin
                self.targets += [STOPPED] * len(part.origin)
            case Fail():
                raise Unusual
            case never:
                assert_never(never)

    def _may_pass(self, part: _Part) -> bool:
        """Tell whether rows may go on at a loop head once more; they count as states."""
        self.n_passes += 1
        if self.n_passes > MAX_PASSES:
            return False
        self.explorer.n_passed += len(part.origin)
        return True

    def _valued(self, run: Formula, part: _Part) -> list[int]:
        """Return codes of values, none a fault."""
        codes = run(part.columns, len(part.origin))
        if max(codes) >= FIRST_FAULT:
            raise Unusual
        return codes

    def _go_on(self, index: int, part: _Part, new: Lists) -> None:
        self._send(index, _Part(part.origin, {**part.columns, **new}))

    def _arrive(
        self, cut: Cut, extra: dict[str, list[int]], point: int, part: _Part, span: Span
    ) -> None:
        """End at a cut point, with its extra column and what is live there."""
        live = {name: part.columns[name] for name in self.flow.live_at(point)}
        self._finish(part, cut, extra | live, span)

    def _finish(self, part: _Part, cut: Cut, columns: dict[str, list[int]], span: Span) -> None:
        self.origins += part.origin
        self.targets += self.explorer.reach_few(cut, columns, part.origin, self.batch, span)

    def _branch(self, node: Branch, part: _Part) -> None:
        condition = self.formulas.value(node.condition)
        truth = booleans(condition(part.columns, len(part.origin)))
        for code, target in ((TRUE, node.then), (FALSE, node.orelse)):
            rows = [row for row, found in enumerate(truth) if found == code]
            if len(rows) == len(truth):
                self._send(target, part)
            elif rows:
                columns = some_rows(part.columns, self.flow.live[target], rows)
                self._send(target, _Part([part.origin[row] for row in rows], columns))

    def _assign_cell(self, node: AssignCell, part: _Part) -> None:
        index = self._valued(self.formulas.value(node.index), part)
        if min(index) < node.lo or max(index) >= node.lo + len(node.cells):
            raise Unusual
        codes = self._valued(self.formulas.value(node.value), part)
        self.check_within(node, node.within, codes, part.columns)
        live = frozenset(self.flow.live[node.next])
        new: dict[str, list[int]] = {}
        for place in sorted(set(index)):
            cell = node.cells[place - node.lo]
            if cell in live:
                old = part.columns.get(cell, codes)
                new[cell] = [
                    code if at == place else before
                    for at, code, before in zip(index, codes, old, strict=True)
                ]
        self._go_on(node.next, part, new)

    def _unpack(self, node: Unpack, part: _Part) -> None:
        codes = self._valued(self.formulas.value(node.value), part)
        items: dict[int, Sequence[int]] = {}
        for code in sorted(set(codes)):
            value = self.formulas.table.value(code)
            if not isinstance(value, tuple) or len(value) != len(node.targets):
                raise Unusual
            items[code] = [self.formulas.table.code(item) for item in value]
        rows = [items[code] for code in codes]
        new = {target: [row[k] for row in rows] for k, target in enumerate(node.targets)}
        self._go_on(node.next, part, new)
