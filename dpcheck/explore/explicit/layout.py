"""Explicit chains: families of states and rows of probabilities, laid out as whole columns.

`for` multiplies the rows of a frame, `if` splits it, and a row statement is evaluated once for all
its instances. Probabilities are turned into whole weights once per distinct tuple of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter

import numpy as np

from dpcheck import exact
from dpcheck.chain.chain import Chain, IntArray, NeighborRelation, WeightArray
from dpcheck.chain.sets import distinct, distinct_rows
from dpcheck.chain.weights.denominators import Scales, weight_array
from dpcheck.chain.weights.rows import Entries, Rows, in_places, joined, rows_of
from dpcheck.diagnostics import runs
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.explore.explicit.families import NO_STATE, Families, StateLabels, number_of_members
from dpcheck.explore.explored import Explored
from dpcheck.explore.inputs.adjacency import Side, related, symmetric
from dpcheck.explore.sampling.distributions import Supports, distributions
from dpcheck.explore.values.codes import FALSE, FIRST_FAULT, TRUE, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated, spread_frames, truths
from dpcheck.explore.values.mistakes import MistakeFault, MistakesFound, mistake_of, spoken
from dpcheck.explore.values.weights import shares, sum_for_some_values, total_of, weight_value
from dpcheck.limits import Limits
from dpcheck.model.evaluation import described
from dpcheck.model.expressions import Expr, reads
from dpcheck.model.program import (
    AdjacentStates,
    ExplicitChain,
    Row,
    RowBranch,
    RowDraw,
    RowsFor,
    RowsIf,
    RowStatement,
    StateReference,
)
from dpcheck.model.values import Value, value_text
from dpcheck.model.words import word_text
from dpcheck.records import dataclass
from dpcheck.source import Span

MAX_MISTAKES = 20
"""Mistakes after which laying out ends: nobody reads more."""

ROWS_AT_ONCE = 1 << 17
"""So many instances of a row statement are laid out together: their columns fit a cache."""


def explicit_chain(target: ExplicitChain, limits: Limits) -> Explored:
    """Return the chain as declared: states in the order of declaration, then †."""
    table = ValueTable(limits)
    limits.check_states(sum(number_of_members(family) for family in target.families))
    families = Families.of(target, table)
    n = families.n_states
    layout = _Layout(families, table, limits)
    layout.add(target.rows, Frame(1, {}), ())
    rows = layout.rows()
    pairs = _pairs(target, families, table, limits)
    initial = _initial(target, families, pairs)
    observation, texts = _observation(target, families)
    chain = Chain(
        rows.indptr,
        rows.targets,
        rows.numerators,
        rows.denominators,
        initial=initial,
        neighbors=NeighborRelation(pairs),
        observation=observation,
        labelling=StateLabels(families, n + 1),
        stopped=n,
        diverged=None,
        state_text=lambda state: "stopped" if state == n else families.text(state),
        observation_text=texts,
    )
    spans = tuple(block.family.span for block in families.blocks.values())
    sizes = [block.size for block in families.blocks.values()]
    origins = np.repeat(np.arange(len(spans)), sizes)
    for k, sources in enumerate(layout.sources, len(spans)):
        origins[sources[sources != NO_STATE]] = k
    spans = (*spans, *layout.spans)
    return Explored(chain, table, {}, {}, families.labelled, origins=origins, spans=spans)


# --- rows ----------------------------------------------------------------------------------


class _Layout:
    """The rows of the transition matrix, row statement by row statement.

    A statement gives all of a state's row, so its rows are summed up at once, some at a time: what
    is made on the way is small, and no more than a block's entries are ever sorted.
    """

    def __init__(self, families: Families, table: ValueTable, limits: Limits) -> None:
        self.families, self.table, self.limits = families, table, limits
        self.supports = Supports(table)
        self.scales = Scales()
        self.sources: list[IntArray] = []
        self.made: list[tuple[IntArray | slice, Rows]] = []
        self.n_rows = 0
        self.spans: list[Span] = []
        self.mistakes: list[Mistake] = []

    def add(self, statements: Sequence[RowStatement], frame: Frame, names: tuple[str, ...]) -> None:
        """Add the rows of some statements, once per row of the frame; `names` are its variables."""
        for statement in statements:
            if len(self.mistakes) >= MAX_MISTAKES or not frame.n_rows:
                return
            self.limits.check_time(f"{self.n_rows} rows laid out")
            match statement:
                case Row():
                    for first in range(0, frame.n_rows, ROWS_AT_ONCE):
                        last = min(first + ROWS_AT_ONCE, frame.n_rows)
                        self._row(statement, frame.at(np.arange(first, last)), names)
                case RowsFor(name=name, domain=domain, body=body):
                    faults, frames = spread_frames(name, domain, frame, self.table)
                    self._faults(faults, domain.span, frame, names)
                    for inner in frames:
                        self.add(body, inner, (*names, name))
                case RowsIf(condition=condition, then=then, orelse=orelse):
                    truth = truths(condition, frame, self.table)
                    self._faults(truth, condition.span, frame, names)
                    self.add(then, frame.at(np.flatnonzero(truth == TRUE)), names)
                    self.add(orelse, frame.at(np.flatnonzero(truth == FALSE)), names)

    def rows(self) -> Rows:
        """Return the rows of all states and of †, over these; raises `MistakesFound`."""
        self._find_second_rows()
        if self.mistakes:
            raise MistakesFound(self.mistakes[:MAX_MISTAKES])
        # A state without a row ends the run: it leads to †, which stays.
        n = self.families.n_states
        return in_places(self.made, n + 1, n)

    def _find_second_rows(self) -> None:
        has_row = np.zeros(self.families.n_states, np.bool_)
        for part in self.sources:
            has_row[part[part != NO_STATE]] = True
        if np.count_nonzero(has_row) == sum(map(len, self.sources)):
            return
        sources = np.concatenate([_NONE, *self.sources])
        made_by = np.repeat(np.arange(len(self.sources)), [len(part) for part in self.sources])
        order = np.argsort(sources, kind="stable")
        again = np.flatnonzero(sources[order][1:] == sources[order][:-1])[:MAX_MISTAKES]
        for k in again.tolist():
            first, second = self.spans[made_by[order[k]]], self.spans[made_by[order[k + 1]]]
            name = self.families.text(int(sources[order[k]]))
            self.mistakes.append(runs.TwoRowsForOneState(second, (), name, first))

    def _faults(self, codes: IntArray, span: Span, frame: Frame, names: tuple[str, ...]) -> None:
        """Add the mistakes that faults among the codes are."""
        if int(codes.max(initial=0)) >= FIRST_FAULT:
            faulty = np.flatnonzero(codes >= FIRST_FAULT)
            distinct, first = np.unique(codes[faulty], return_index=True)
            for code, k in zip(distinct.tolist(), first.tolist(), strict=True):
                run = self._where(frame, int(faulty[k]), names)
                self.mistakes.append(mistake_of(self.table.fault_of(code), span, run))

    def _where(self, frame: Frame, row: int, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return which instance of a statement a row of its frame is."""
        return tuple(
            f"{spoken(name)} = {value_text(self.table.value(int(frame[name][row])))}"
            for name in names
        )

    def _states(self, reference: StateReference, frame: Frame, names: tuple[str, ...]) -> IntArray:
        """Return the states a reference means, and report rows on which it means none."""
        columns = [evaluated(index, frame, self.table) for index in reference.indices]
        for index, column in zip(reference.indices, columns, strict=True):
            self._faults(column, index.span, frame, names)
        states = self.families.members(reference.name, columns, frame.n_rows)
        outside = np.flatnonzero(states == NO_STATE)
        if len(outside):
            row = int(outside[0])
            codes = [int(column[row]) for column in columns]
            if max(codes) < FIRST_FAULT:
                written = self.families.written(reference.name, codes)
                run = self._where(frame, row, names)
                self.mistakes.append(runs.OutsideFamily(reference.span, run, written))
        return states

    def _row(self, row: Row, frame: Frame, names: tuple[str, ...]) -> None:
        """Add the entries of one row statement, for every row of the frame."""
        n_before = len(self.mistakes)
        source = self._states(row.source, frame, names)
        weights = [
            self._probabilities(branch, frame, names)
            for branch in row.branches
            if isinstance(branch, RowBranch)
        ]
        if len(self.mistakes) > n_before:
            return
        plan = self._plan(row, weights, frame, names)
        if plan is None:
            return
        self.sources.append(source)
        self.n_rows += len(source)
        self.spans.append(row.source.span)
        parts = []
        column = 0
        for branch in row.branches:
            match branch:
                case RowBranch(target=target):
                    picked = np.flatnonzero(plan.numerators[column] != 0)
                    states = self._states(target, frame.at(picked), names)
                    numerators = plan.numerators[column][picked]
                    parts.append(Entries(picked, states, numerators, plan.scales[picked]))
                    column += 1
                case RowDraw():
                    parts += self._drawn(branch, frame, names)
        if len(self.mistakes) == n_before:
            n = self.families.n_states
            whole = rows_of(joined(parts), frame.n_rows, n + 1, self.scales)
            self.made.append((source, whole))

    def _drawn(self, draw: RowDraw, frame: Frame, names: tuple[str, ...]) -> list[Entries]:
        """Return the entries of `name ~ distribution : target`, for every row of the frame."""
        numbers = distributions(draw.distribution, frame, self.supports)
        self._faults(numbers, draw.span, frame, names)
        if int(numbers.max(initial=0)) >= FIRST_FAULT:
            return []
        scales = self.scales.codes(self.supports.denominators(numbers))
        blocks = np.cumsum(self.supports.lengths(numbers)) >> 20
        parts = []
        for rows in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(blocks)) + 1):
            self.limits.check_time(f"{self.n_rows} rows laid out")
            drawn = self.supports.drawn(numbers[rows])
            owner = rows[drawn.row]
            inner = frame.at(owner).bound(draw.name, drawn.value)
            states = self._states(draw.target, inner, (*names, draw.name))
            parts.append(Entries(owner, states, drawn.numerators, scales[owner]))
        return parts

    # --- probabilities ---

    def _probabilities(self, branch: RowBranch, frame: Frame, names: tuple[str, ...]) -> IntArray:
        """Return the codes of a branch's probability; what is none is reported."""
        codes = evaluated(branch.probability, frame, self.table)
        span = branch.probability.span
        self._faults(codes, span, frame, names)
        for k in distinct_rows([codes])[0].tolist():
            code = int(codes[k])
            if code >= FIRST_FAULT:
                continue
            mistake = _why_no_probability(self.table.value(code), span, self.table)
            if mistake is not None:
                self.mistakes.append(mistake.on_run(self._where(frame, k, names)))
        return codes

    def _plan(
        self, row: Row, weights: list[IntArray], frame: Frame, names: tuple[str, ...]
    ) -> _Plan | None:
        """Return whole weights of the plain branches, or None if some row does not sum to 1."""
        n_draws = sum(isinstance(branch, RowDraw) for branch in row.branches)
        if not weights and n_draws == 1:
            return _Plan([], np.zeros(frame.n_rows, np.int64))
        columns = weights or [np.zeros(frame.n_rows, np.int64)]
        first, group = distinct_rows(columns)
        distinct: list[list[exact.Whole]] = []
        scales = []
        is_good = True
        for k in first.tolist():
            values = [self.table.value(int(column[k])) for column in weights]
            proved = [_as_number(weight_value(v, row.span, self.table)) for v in values]
            numbers = shares(proved, self.table)
            total = exact.add(n_draws, total_of(numbers, self.table))
            if (mistake := sum_for_some_values(total, row.span, self.table)) is not None:
                self.mistakes.append(mistake.on_run(self._where(frame, k, names)))
                is_good = False
                continue
            if total != 1:
                self._wrong_sum(row, numbers, total, self._where(frame, k, names))
                is_good = False
                continue
            wholes, common = _over_common_denominator(numbers)
            distinct.append(wholes)
            scales.append(self.scales.code(common))
        if not is_good:
            return None
        numerators = [
            weight_array([wholes[j] for wholes in distinct])[group] for j in range(len(weights))
        ]
        return _Plan(numerators, np.array(scales, np.int64)[group])

    def _wrong_sum(
        self, row: Row, numbers: Sequence[exact.Number], total: exact.Number, run: tuple[str, ...]
    ) -> None:
        if len(self.mistakes) >= MAX_MISTAKES:
            return
        remaining = iter(numbers)
        branches = tuple(
            (branch.probability.span, next(remaining))
            if isinstance(branch, RowBranch)
            else (branch.span, 1)
            for branch in row.branches
        )
        self.mistakes.append(runs.RowDoesNotSumToOne(row.span, run, total, branches))


@dataclass(frozen=True, eq=False)
class _Plan:
    """Whole weights of a row's plain branches: numerators[j] [n_rows] over `scales` [n_rows]."""

    numerators: list[WeightArray]
    scales: IntArray


_NONE = np.empty(0, np.int64)


def _as_number(value: Value) -> exact.Number:
    assert isinstance(value, int | exact.Rational | exact.ExpNumber), (
        "probabilities are numbers by now"
    )
    return value


def _over_common_denominator(
    numbers: Sequence[exact.Number],
) -> tuple[list[exact.Whole], exact.Whole]:
    """Return the numbers as whole numerators over their least common denominator."""
    parts = [exact.as_fraction_parts(number) for number in numbers]
    common = exact.common_multiple(denominator for _, denominator in parts)
    return [n * exact.exact_quotient(common, d) for n, d in parts], common


def _why_no_probability(value: Value, span: Span, table: ValueTable) -> runs.RunMistake | None:
    try:
        value = weight_value(value, span, table)
    except MistakeFault as fault:
        return fault.mistake
    if isinstance(value, bool) or not isinstance(value, int | exact.Rational | exact.ExpNumber):
        return runs.WrongKindOnRun(span, (), f"a probability is a number, not {described(value)}")
    if exact.compare(value, 0) < 0 or exact.compare(value, 1) > 0:
        return runs.ProbabilityOutsideUnit(span, (), value_text(value))
    return None


# --- neighbors, initial states, observations -----------------------------------------------


def _pairs(
    target: ExplicitChain, families: Families, table: ValueTable, limits: Limits
) -> IntArray:
    """Return the unordered pairs of neighboring states."""
    found = [_related_states(clause, families, table, limits) for clause in target.adjacency]
    return symmetric(found, families.n_states)


def _related_states(
    clause: AdjacentStates, families: Families, table: ValueTable, limits: Limits
) -> IntArray:
    """Return the pairs of states that one clause relates."""
    domains = dict(clause.fresh)
    left_names = _index_names(clause.left, domains)
    right_names = _index_names(clause.right, domains)
    elsewhere = [name for name in domains if name not in {*left_names, *right_names}]
    left = _product([*left_names, *elsewhere], domains, table, limits)
    right = _product(right_names, domains, table, limits)
    shared = [name for name in right_names if name in left_names]
    renamed = {
        (f"{name}'" if name in shared else name): right.columns[name] for name in right_names
    }
    equal = [(name, f"{name}'") for name in shared]
    pairs = related(left, Side(renamed, right.n_rows), clause.where, equal, table, limits)
    ends = []
    for reference, side, rows in (
        (clause.left, left, pairs[:, 0]),
        (clause.right, right, pairs[:, 1]),
    ):
        frame = Frame(len(rows), {name: column[rows] for name, column in side.columns.items()})
        ends.append(_existing(reference, frame, families, table))
    return np.stack(ends, axis=1)


def _index_names(reference: StateReference, domains: dict[str, Expr]) -> list[str]:
    names = [name for index in reference.indices for name in reads(index)]
    return list(dict.fromkeys(name for name in names if name in domains))


def _product(
    names: Sequence[str], domains: dict[str, Expr], table: ValueTable, limits: Limits
) -> Side:
    """Return one row for each combination of values of some index names."""
    frame = Frame(1, {})
    for bound, name in enumerate(names, start=1):
        faults, frames = spread_frames(name, domains[name], frame, table)
        if int(faults.max(initial=0)) >= FIRST_FAULT:
            fault = table.fault_of(int(faults.max()))
            raise MistakesFound([mistake_of(fault, domains[name].span, ())])
        parts = list(frames)
        columns = {
            known: np.concatenate([_NONE, *(part[known] for part in parts)])
            for known in names[:bound]
        }
        n_rows = sum(part.n_rows for part in parts)
        limits.check_states(n_rows)
        frame = Frame(n_rows, columns)
    return Side({name: frame[name] for name in names}, frame.n_rows)


def _existing(
    reference: StateReference, frame: Frame, families: Families, table: ValueTable
) -> IntArray:
    """Return the states a reference means; one that does not exist is a mistake."""
    states = families.states(reference, frame)
    outside = np.flatnonzero(states == NO_STATE)
    if len(outside):
        codes = [int(evaluated(i, frame, table)[outside[0]]) for i in reference.indices]
        for code, index in zip(codes, reference.indices, strict=True):
            if code >= FIRST_FAULT:
                raise MistakesFound([mistake_of(table.fault_of(code), index.span, ())])
        written = families.written(reference.name, codes)
        raise MistakesFound([runs.OutsideFamily(reference.span, (), written)])
    return states


def _initial(target: ExplicitChain, families: Families, pairs: IntArray) -> IntArray:
    """Return the declared initial states in their order, or else every state with a neighbor."""
    if target.initial is None:
        initial = distinct(pairs)
    else:
        parts = []
        for reference in target.initial:
            states = families.all_of(reference)
            if np.any(states == NO_STATE):
                written = reference.span.text
                raise MistakesFound([runs.OutsideFamily(reference.span, (), written)])
            parts.append(states)
        named = np.concatenate([_NONE, *parts])
        _, first = np.unique(named, return_index=True)
        initial = named[np.sort(first)]
    if not len(initial):
        raise MistakesFound([runs.NowhereToStart(target.span, target.title)])
    return initial


def _observation(
    target: ExplicitChain, families: Families
) -> tuple[IntArray, Callable[[int], str]]:
    """Return what entering each state shows, as codes, and the writer of codes.

    A state shows the set of its observed labels, among which are its name, and for a member of an
    observed family, or an observed member, which member it is.
    """
    observation = np.full(families.n_states + 1, -1, np.int64)
    observed = target.observed or ()
    whole = tuple(label.name for label in observed if label.indices is None)
    members = [families.labelled(label) for label in observed if label.indices is not None]
    singled_out = distinct(np.concatenate([_NONE, *members]))
    sets: dict[tuple[str, ...], int] = {}
    parts: list[tuple[int, tuple[str, ...], IntArray]] = []  # first code, labels, members
    n_codes = 0
    for block in families.blocks.values():
        names = (*block.family.labels, *(() if block.sets else (block.family.name,)))
        labels = tuple(word_text(name) for name in dict.fromkeys(whole) if name in names)
        states = block.first + np.arange(block.size)
        if labels and labels not in sets:
            sets[labels] = n_codes
            parts.append((n_codes, labels, np.array([NO_STATE])))
            n_codes += 1
        if labels:
            observation[states] = sets[labels]
        if not block.sets:
            continue
        shown = states if block.family.name in whole else states[np.isin(states, singled_out)]
        observation[shown] = n_codes + np.arange(len(shown))
        parts.append((n_codes, labels, shown))
        n_codes += len(shown)

    def text(code: int) -> str:
        first, labels, states = parts[bisect_right(parts, code, key=itemgetter(0)) - 1]
        state = int(states[code - first])
        return " & ".join((*(() if state == NO_STATE else (families.text(state),)), *labels))

    return observation, text
