"""All ways a program may go on, as moves of a game: one side makes runs dear, one moves noise.

A *state* is a program point with what is known there: values that both runs have, and by how much
all other numbers are moved. The neighbors' differences, the outcomes of comparisons and all draws
but noise are chosen by whoever wants the run to be dear; then the shifts of the noise that was
looked at, by whoever wants it to be cheap. A shift is chosen as late as can be (`answers`), and by
then the path tells it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, assert_never, cast

from dpcheck.align.answers import OPEN, Draw, answers
from dpcheck.align.drawing import Drawing
from dpcheck.align.moves import (
    Items,
    Mixed,
    Moved,
    Need,
    Reader,
    is_mixed,
    may_fail,
    numbers_in,
    outside,
)
from dpcheck.align.neighbors import Differences
from dpcheck.diagnostics.runs import OutsideDeclaredSet
from dpcheck.exact import Number, ParamNumber, log
from dpcheck.explore.runs.liveness import Flow, flow_of, node_reads
from dpcheck.explore.values.mistakes import spoken
from dpcheck.limits import Limits, too_large
from dpcheck.model.evaluation import apply
from dpcheck.model.expressions import Const, Expr
from dpcheck.model.program import (
    Assign,
    AssignCell,
    Branch,
    ChooseDistribution,
    Distribution,
    Fail,
    Forget,
    LetDistribution,
    Mechanism,
    Output,
    Parametric,
    Sample,
    Stop,
    Unbounded,
    Unpack,
)
from dpcheck.model.values import INTEGERS, SetValue, Value, value_key, value_text
from dpcheck.records import dataclass, field
from dpcheck.source import Span

MAX_STATES = 50_000
"""Above-threshold has 71, noisy argmax of seven queries 6,567, in seven seconds."""

Cost = tuple[tuple[int, int], ...]
"""Pairs (number of a ratio r, n): such noise is moved by n in all, at the price of r^-n."""


class Step(NamedTuple):
    """A shift that was chosen: of which variable, where, on what outcome, and by how much.

    `moved` is how far the noise itself is moved, beyond what its center is.
    """

    name: str
    span: Span
    outcome: str
    moved: int


class Option(NamedTuple):
    """A choice of shifts: what it costs, the state it leads to, and the shifts."""

    cost: Cost
    target: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class State:
    """A place of the program, what is known there, and the differences still to be chosen."""

    node: int
    known: Mapping[str, Mixed]
    draws: tuple[Draw, ...]
    left: tuple[int, ...]

    @property
    def key(self) -> Hashable:
        """What tells states apart."""
        known = tuple((name, _key(value)) for name, value in self.known.items())
        return self.node, known, self.draws, self.left


def _key(value: Mixed) -> Hashable:
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return value if isinstance(value, Moved | Items) else value_key(value)


@dataclass
class Arena:
    """States, numbered as found, and the moves from each: the options that answer a move.

    A move without options has no answer: noise cannot be moved so that the path stays.
    """

    ratios: list[Value] = field(default_factory=list)
    moves: list[list[list[Option]]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def number_of(self, ratio: Value, span: Span) -> int:
        """Return the number of a ratio; `rates` are -ln r as floats, to choose by."""
        if ratio not in self.ratios:
            self.ratios.append(ratio)
            self.spans.append(span)
            number = ratio.value if isinstance(ratio, ParamNumber) else ratio
            self.rates.append(-float(log(cast("Number", number)).ball(64)))
        return self.ratios.index(ratio)


def arena(mechanism: Mechanism, cases: Sequence[Differences], limits: Limits) -> Arena:
    """Return all states and moves of a mechanism; raises `Unreadable` or `LimitReached`."""
    found = Arena()
    for case in cases:
        _Game(mechanism, case, found, limits).explore()
    return found


class _Game:
    """The states of one case of differences."""

    def __init__(
        self, mechanism: Mechanism, case: Differences, found: Arena, limits: Limits
    ) -> None:
        self.mechanism, self.found, self.limits = mechanism, found, limits
        self.flow: Flow = flow_of(mechanism, frozenset())
        self.ranges = {cell: (low, high) for cell, low, high in case.ranges}
        self.within = dict(case.within)
        self.limits_of_sums = case.limits
        self.streams = {c for one in mechanism.inputs if one.is_stream for c in one.cells}
        self.span = max([1, *(max(-low, high) for low, high in self.ranges.values())])
        self.drawing = Drawing(limits)
        self.numbers: dict[Hashable, int] = {}
        self.waiting: list[tuple[int, State]] = []

    def explore(self) -> None:
        """Add the states that can be reached, and their moves."""
        for known in self._starts():
            start = self._entered(self.mechanism.entry, known, (), self.limits_of_sums)
            self.found.starts.append(self._number(start))
        while self.waiting:
            number, state = self.waiting.pop()
            self.found.moves[number] = list(self._moves(state))
            if number % 1000 == 0:
                self.limits.check_time(f"{number} states of an alignment")

    def _starts(self) -> Iterator[dict[str, Mixed]]:
        """Yield what is known at the start: public inputs from finite sets.

        More values than there are: a `where` is not looked at.
        """
        cells: list[tuple[str, Sequence[Mixed]]] = []
        for one in self.mechanism.inputs:
            if one.is_public and not one.is_unbounded:
                assert isinstance(one.domain, Const), "sets of inputs are known"
                assert isinstance(one.domain.value, SetValue), "sets of inputs are sets"
                cells += [(cell, list(one.domain.value)) for cell in one.cells]
        for values in product(*(values for _, values in cells)):
            yield dict(zip((cell for cell, _ in cells), values, strict=True))

    def _number(self, state: State) -> int:
        key = state.key
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.found.moves)
            self.found.moves.append([])
            if number >= MAX_STATES:
                raise too_large(
                    f"runs of neighbors have more than {MAX_STATES} states together", ""
                )
            self.waiting.append((number, state))
        return number

    def _entered(
        self, node: int, known: Mapping[str, Mixed], draws: Sequence[Draw], left: tuple[int, ...]
    ) -> State:
        """Return the state at a node: what is not read any more is forgotten, draws renumbered."""
        live = set(self.flow.live[node])
        if getattr(self.mechanism.nodes[node], "is_round", False):
            live -= self.streams  # the round reads its own values
        kept = {name: known[name] for name in sorted(known) if name in live}
        reading = {d for v in kept.values() for number in numbers_in(v) for d, _ in number.draws}
        order = {draw: i for i, draw in enumerate(sorted(reading))}
        renumbered = {name: _renumbered(value, order) for name, value in kept.items()}
        return State(node, renumbered, tuple(draws[draw] for draw in order), left)

    # --- moves -----------------------------------------------------------------------------

    def _moves(self, state: State) -> Iterator[list[Option]]:
        """Yield the answers to each way to go on."""
        node, known = self.mechanism.nodes[state.node], dict(state.known)
        for cell in node_reads(node):
            if cell in self.ranges and cell not in known:
                yield from self._differences(state, cell)
                return
        read = Reader(known)
        match node:
            case Stop():
                pass
            case Fail(reason=reason):
                raise may_fail(node.span, reason)
            case Assign(target=target, value=value):
                for result, needs in read.cases(value):
                    check_declared(result, node.within, target, read)
                    after = {**known, target: result}
                    yield self._goes_on(state, node.next, after, needs, node.span)
            case AssignCell():
                yield from self._cell_assigned(state, node, read)
            case Unpack(targets=targets, value=value):
                for result, needs in read.cases(value):
                    if not isinstance(result, tuple) or len(result) != len(targets):
                        raise outside(node.span, "taking this apart")
                    after = {**known, **dict(zip(targets, result, strict=True))}
                    yield self._goes_on(state, node.next, after, needs, node.span)
            case Forget(targets=targets):
                after = {name: value for name, value in known.items() if name not in targets}
                yield self._goes_on(state, node.next, after, (), node.span)
            case Branch(condition=condition, then=then, orelse=orelse):
                for truth, needs in read.truths(condition):
                    following, text = (then, "true") if truth else (orelse, "false")
                    yield self._goes_on(state, following, known, needs, node.span, text)
            case Output(value=value):
                for result, needs in read.cases(value):
                    shown = [(number, sign) for number in numbers_in(result) for sign in (1, -1)]
                    yield self._goes_on(
                        state, node.next, known, (*needs, *shown), node.span, "shown"
                    )
            case Sample(target=target, distribution=distribution):
                yield from self._drawn(state, node, target, distribution, read, ())
            case _:
                assert_never(node)

    def _differences(self, state: State, cell: str) -> Iterator[list[Option]]:
        """Yield the differences that a cell may have, where no sum of them grows too large."""
        low, high = self.ranges[cell]
        groups = self.within[cell]
        for change in range(low, high + 1):
            left = list(state.left)
            for group in groups:
                left[group] -= abs(change)
            if min(left, default=0) < 0:
                continue
            known = {**state.known, cell: Moved((), change)}
            after = State(state.node, dict(sorted(known.items())), state.draws, tuple(left))
            yield [Option((), self._number(after), ())]

    def _cell_assigned(
        self, state: State, node: AssignCell, read: Reader
    ) -> Iterator[list[Option]]:
        for index, needs in read.cases(node.index):
            if not isinstance(index, int) or not 0 <= index - node.lo < len(node.cells):
                raise outside(node.index.span, "this index")
            for result, more in read.cases(node.value):
                check_declared(result, node.within, node.array, read)
                after = {**state.known, node.cells[index - node.lo]: result}
                yield self._goes_on(state, node.next, after, (*needs, *more), node.span)

    def _drawn(
        self,
        state: State,
        node: Sample,
        target: str,
        distribution: Distribution,
        read: Reader,
        needs: tuple[Need, ...],
    ) -> Iterator[list[Option]]:
        """Yield the ways on after `target ~ distribution`."""
        match distribution:
            case Parametric(policy=Unbounded(), word=word, arguments=arguments):
                *centers, ratio = arguments
                for values, more in read.each((*centers, ratio)):
                    *center, r = values
                    check_declared(Moved(), node.within, target, read)
                    draw = self._noise(center, r, word, target, distribution.span)
                    noise = Moved(((len(state.draws), 1),), 0, True)
                    after = {**state.known, target: noise}
                    draws = (*state.draws, draw)
                    state_with = State(state.node, state.known, draws, state.left)
                    yield self._goes_on(state_with, node.next, after, (*needs, *more), node.span)
            case LetDistribution(name=name, value=value, body=body):
                for bound, more in read.cases(value):
                    inner = read.where(name, bound)
                    yield from self._drawn(state, node, target, body, inner, (*needs, *more))
            case ChooseDistribution(condition=condition, then=then, orelse=orelse):
                for truth, more in read.truths(condition):
                    body = then if truth else orelse
                    yield from self._drawn(state, node, target, body, read, (*needs, *more))
            case _:
                for result in self.drawing.values(distribution, read.environment):
                    check_declared(result, node.within, target, read)
                    after = {**state.known, target: result}
                    yield self._goes_on(state, node.next, after, needs, node.span)

    def _noise(
        self, center: Sequence[Mixed], ratio: Mixed, word: str, target: str, span: Span
    ) -> Draw:
        """Return a draw of noise, centered at what is made of inputs, or alike in both runs."""
        change = 0
        for part in center:
            if isinstance(part, Moved):
                if part.is_noisy:
                    raise outside(span, "noise around noise")
                change = part.by
            elif is_mixed(part):
                raise outside(span, "this center")
        if is_mixed(ratio):
            raise outside(span, "noise with this ratio")
        known = [0 if isinstance(part, Moved) else part for part in (*center, ratio)]
        self.drawing.check(word, cast("list[Value]", known), span)
        low = change if word == "geometric_positive" else -OPEN  # no values below its center
        return Draw(change, self.found.number_of(cast("Value", ratio), span), target, low)

    # --- answers ---------------------------------------------------------------------------

    def _goes_on(
        self,
        state: State,
        node: int,
        known: Mapping[str, Mixed],
        needs: Sequence[Need],
        span: Span,
        outcome: str = "",
    ) -> list[Option]:
        """Return the choices of shifts after which a path is kept, each with the state after it."""
        live = set(self.flow.live[node])
        kept = {
            draw
            for name, value in known.items()
            if name in live
            for number in numbers_in(value)
            for draw, _ in number.draws
        }
        options = []
        for left in answers(state.draws, needs, kept, self.span, self.found.rates):
            fixed = {i: draw.low for i, draw in enumerate(left) if draw.is_fixed}
            after = {name: _shifted(value, fixed) for name, value in known.items()}
            target = self._number(self._entered(node, after, left, state.left))
            changed = [pair for pair in zip(left, state.draws, strict=True) if pair[0] != pair[1]]
            cost = _cost((d.ratio, abs(d.moved) - abs(before.moved)) for d, before in changed)
            steps = tuple(Step(draw.name, span, outcome, draw.moved) for draw, _ in changed)
            options.append(Option(cost, target, steps))
        return options


def _renumbered(value: Mixed, order: Mapping[int, int]) -> Mixed:
    """Return a value with its draws numbered anew."""
    match value:
        case Moved():
            draws = tuple(sorted((order[draw], n) for draw, n in value.draws))
            return Moved(draws, value.by, value.is_noisy)
        case tuple() if is_mixed(value):
            return tuple(_renumbered(item, order) for item in value)
        case Items(lo=lo, items=items):
            return Items(lo, tuple(_renumbered(item, order) for item in items))
        case _:
            return value


def _shifted(value: Mixed, shifts: Mapping[int, int]) -> Mixed:
    """Return a value where the shifts of some draws are known."""
    match value:
        case Moved():
            by = value.by + sum(n * shifts[draw] for draw, n in value.draws if draw in shifts)
            draws = tuple(pair for pair in value.draws if pair[0] not in shifts)
            return Moved(draws, by, value.is_noisy)
        case tuple() if is_mixed(value):
            return tuple(_shifted(item, shifts) for item in value)
        case Items(lo=lo, items=items):
            return Items(lo, tuple(_shifted(item, shifts) for item in items))
        case _:
            return value


def _cost(parts: Iterable[tuple[int, int]]) -> Cost:
    total: dict[int, int] = {}
    for ratio, far in parts:
        total[ratio] = total.get(ratio, 0) + far
    return tuple(sorted((ratio, far) for ratio, far in total.items() if far))


def check_declared(value: Mixed, within: Expr | None, name: str, read: Reader) -> None:
    """Raise `Unreadable` for a value that is not in the set declared for its variable."""
    if within is None:
        return
    declared = read.alike(within)
    if is_mixed(value):
        if declared != INTEGERS:
            raise outside(within.span, "a declared set for what depends on inputs")
    elif apply("in", (cast("Value", value), declared)) is not True:
        texts = value_text(cast("Value", value)), value_text(declared)
        raise may_fail(within.span, OutsideDeclaredSet(within.span, (), spoken(name), *texts).title)
