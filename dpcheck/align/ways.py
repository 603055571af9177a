"""All ways a program may go on from what is known of two runs: moves, and their answers.

A *state* is a program point with what is known there: values that both runs have, and by how much
all other numbers are moved. The neighbors' differences, the outcomes of comparisons and all draws
but noise are a *move*; its answers are the shifts of the noise that was looked at. A shift is
chosen as late as can be (`answers`), and by then the path tells it.

Law (differences left open). A shift may depend on what the neighbors differ by, and need not. Where
noise is centered at an input that differs by low..high and no more is known, a shift of s costs
r^-max(s - low, high - s) at most, and so pays for every difference; the same input read again may
differ by anything once more. So the differences of many inputs are `unsettled`, in place of a state
for each of their combinations. What is proved so may be dearer than by shifts that know them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import product
from typing import NamedTuple, assert_never, cast

from dpcheck.align.answers import answers
from dpcheck.align.drawing import Drawing
from dpcheck.align.moves import Need, Reader, may_fail, outside
from dpcheck.align.neighbors import Differences
from dpcheck.certify.moved import OPEN, Draw, Items, Mixed, Moved, is_mixed, mapped, numbers_in
from dpcheck.diagnostics.runs import OutsideDeclaredSet
from dpcheck.exact import Number, ParamNumber, log
from dpcheck.explore.programs.liveness import Flow, flow_of
from dpcheck.explore.values.mistakes import spoken
from dpcheck.model import program
from dpcheck.model.evaluation import apply
from dpcheck.model.expressions import Expr, reads
from dpcheck.model.values import INTEGERS, Value, value_key, value_text
from dpcheck.records import dataclass, field
from dpcheck.source import Span

MOST_OPEN = 8
"""So many inputs in a center may have differences that are left open: there are 2^n ends."""

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
    match value:
        case tuple():
            return tuple(map(_key, value))
        case Items(lo=lo, items=items):
            return Items, lo, tuple(map(_key, items))  # `true` is not 1
        case Moved():
            return value
        case _:
            return value_key(value)


class Way(NamedTuple):
    """An answer: what it costs, the state it leads to, and the shifts that were chosen.

    `left` is what is left of all draws, of which `kept` are those of the state, in this order.
    """

    cost: Cost
    state: State
    steps: tuple[Step, ...]
    left: tuple[Draw, ...]
    kept: tuple[int, ...]

    def then(self, rest: Way) -> Way:
        """Return the way that goes on with another one from its state."""
        left = list(self.left)
        for draw, after in zip(self.kept, rest.left, strict=True):
            left[draw] = after
        kept = tuple(self.kept[draw] for draw in rest.kept)
        steps = (*self.steps, *rest.steps)
        return Way(plus(self.cost, rest.cost), rest.state, steps, tuple(left), kept)


def plus(left: Cost, right: Cost) -> Cost:
    """Return the sum of two costs.

    >>> plus(((0, 1),), ((0, 2), (3, 1)))
    ((0, 3), (3, 1))
    """
    return cost_of((*left, *right)) if left and right else left or right


@dataclass
class Ratios:
    """The ratios of all noise, numbered as found; `rates` are -ln r as floats, to choose by."""

    values: list[Value] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def number_of(self, ratio: Value, span: Span) -> int:
        """Return the number of a ratio."""
        if ratio not in self.values:
            self.values.append(ratio)
            self.spans.append(span)
            number = ratio.value if isinstance(ratio, ParamNumber) else ratio
            self.rates.append(-float(log(cast("Number", number)).ball(64)))
        return self.values.index(ratio)


class Ways:
    """The moves and answers of a mechanism, for one case of differences."""

    def __init__(
        self,
        mechanism: program.Mechanism,
        case: Differences,
        ratios: Ratios,
        drawing: Drawing,
        unsettled: AbstractSet[str] = frozenset(),
    ) -> None:
        """With `is_still` no noise that is drawn from now on is moved.

        Differences of the `unsettled` cells are left open where noise is centered at them.
        """
        self.mechanism, self.ratios = mechanism, ratios
        self.flow: Flow = flow_of(mechanism, frozenset())
        self.ranges = {cell: (low, high) for cell, low, high in case.ranges}
        self.within = dict(case.within)
        self.streams = {c for one in mechanism.inputs if one.is_stream for c in one.cells}
        self.span = max([1, *(max(-low, high) for low, high in self.ranges.values())])
        inputs = self.ranges.keys()
        self.adds_inputs = any(
            not isinstance(node, program.Sample) and inputs & set(reads(node))
            for node in mechanism.nodes
        )
        self.drawing, self.unsettled = drawing, unsettled
        self.is_still = False

    def entered(
        self, node: int, known: Mapping[str, Mixed], draws: Sequence[Draw], left: tuple[int, ...]
    ) -> tuple[State, tuple[int, ...]]:
        """Return the state at a node: what is not read any more is forgotten, draws renumbered.

        Beside it the old numbers of its draws.
        """
        live = set(self.flow.live[node])
        if getattr(self.mechanism.nodes[node], "is_round", False):
            live -= self.streams  # the round reads its own values
        kept = {name: known[name] for name in sorted(known) if name in live}
        reading = {d for v in kept.values() for number in numbers_in(v) for d, _ in number.draws}
        order = {draw: i for i, draw in enumerate(sorted(reading))}
        renumbered = {
            name: mapped(value, lambda number: _renumbered(number, order))
            for name, value in kept.items()
        }
        return State(node, renumbered, tuple(draws[draw] for draw in order), left), tuple(order)

    @property
    def far(self) -> int:
        """How far noise is moved at most where several numbers may give way to each other.

        Noise around an input that went down by `span` is best moved from there to at most as far
        up: that is by `span` from the center of its own run, and by twice as much where the input
        is added to noise that has no center.
        """
        return 2 * self.span if self.adds_inputs else self.span

    # --- moves -----------------------------------------------------------------------------

    def moves(self, state: State) -> Iterator[list[Way]]:
        """Yield the answers to each move: how the run goes on, and what is paid for it."""
        node, known = self.mechanism.nodes[state.node], dict(state.known)
        read = Reader(known)
        cell = next(
            (each for each in reads(node) if each in self.ranges and each not in known), None
        )
        if cell is not None:
            yield from self._first_read(state, node, cell, read)
            return
        match node:
            case program.Stop():
                pass
            case program.Fail(reason=reason):
                raise may_fail(node.span, reason)
            case program.Assign(target=target, value=value):
                for result, needs in read.cases(value):
                    check_declared(result, node.within, target, read)
                    after = {**known, target: result}
                    yield self._goes_on(state, node.next, after, needs, node.span)
            case program.AssignCell():
                yield from self._cell_assigned(state, node, read)
            case program.Unpack(targets=targets, value=value):
                for result, needs in read.cases(value):
                    if not isinstance(result, tuple) or len(result) != len(targets):
                        raise outside(node.span, "taking this apart")
                    after = {**known, **dict(zip(targets, result, strict=True))}
                    yield self._goes_on(state, node.next, after, needs, node.span)
            case program.Forget(targets=targets):
                after = {name: value for name, value in known.items() if name not in targets}
                yield self._goes_on(state, node.next, after, (), node.span)
            case program.Branch(condition=condition, then=then, orelse=orelse):
                for truth, needs in read.truths(condition):
                    following, text = (then, "true") if truth else (orelse, "false")
                    yield self._goes_on(state, following, known, needs, node.span, text)
            case program.Output(value=value):
                for result, needs in read.cases(value):
                    shown = [(number, sign) for number in numbers_in(result) for sign in (1, -1)]
                    yield self._goes_on(
                        state, node.next, known, (*needs, *shown), node.span, "shown"
                    )
            case program.Sample(target=target, distribution=distribution):
                yield from self._drawn(state, node, target, distribution, read, ())
            case _:
                assert_never(node)

    def _first_read(
        self, state: State, node: program.Node, cell: str, read: Reader
    ) -> Iterator[list[Way]]:
        """Yield the differences of a cell that is read, but where noise is added whatever it is."""
        draw = self._open_draw(node, read)
        if isinstance(node, program.Sample) and draw is not None:
            yield self._with_noise(state, node, draw, ())
        else:
            yield from self._differences(state, cell)

    def _differences(self, state: State, cell: str) -> Iterator[list[Way]]:
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
            yield [Way((), after, (), state.draws, tuple(range(len(state.draws))))]

    def _cell_assigned(
        self, state: State, node: program.AssignCell, read: Reader
    ) -> Iterator[list[Way]]:
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
        node: program.Sample,
        target: str,
        distribution: program.Distribution,
        read: Reader,
        needs: tuple[Need, ...],
    ) -> Iterator[list[Way]]:
        """Yield the ways on after `target ~ distribution`."""
        match distribution:
            case program.Parametric(policy=program.Unbounded(), word=word, arguments=arguments):
                *centers, ratio = arguments
                for values, more in read.each((*centers, ratio)):
                    *center, r = values
                    check_declared(Moved(), node.within, target, read)
                    draw = self._noise(center, r, word, target, distribution.span)
                    yield self._with_noise(state, node, draw, (*needs, *more))
            case program.LetDistribution(name=name, value=value, body=body):
                for bound, more in read.cases(value):
                    inner = read.where(name, bound)
                    yield from self._drawn(state, node, target, body, inner, (*needs, *more))
            case program.ChooseDistribution(condition=condition, then=then, orelse=orelse):
                for truth, more in read.truths(condition):
                    body = then if truth else orelse
                    yield from self._drawn(state, node, target, body, read, (*needs, *more))
            case _:
                for result in self.drawing.values(distribution, read.environment):
                    check_declared(result, node.within, target, read)
                    after = {**state.known, target: result}
                    yield self._goes_on(state, node.next, after, needs, node.span)

    def _with_noise(
        self, state: State, node: program.Sample, draw: Draw, needs: Sequence[Need]
    ) -> list[Way]:
        """Return the ways on after noise was drawn."""
        noise = Moved(((len(state.draws), 1),), 0, True)
        draws = (*state.draws, draw)
        if self.is_still:
            noise, draws = Moved((), draw.change, True), state.draws
        state_with = State(state.node, state.known, draws, state.left)
        after = {**state.known, node.target: noise}
        return self._goes_on(state_with, node.next, after, needs, node.span)

    def _open_draw(self, node: program.Node, read: Reader) -> Draw | None:
        """Return noise around inputs whose differences stay open; None where that is not so.

        A sum of inputs differs by least and most where each of them is at one of its ends.
        """
        match node:
            case program.Sample(
                distribution=program.Parametric(policy=program.Unbounded()) as noise
            ):
                pass
            case _:
                return None
        missing = [c for c in reads(node) if c in self.ranges and c not in read.environment]
        if self.is_still or not self.unsettled >= set(missing) or len(missing) > MOST_OPEN:
            return None
        check_declared(Moved(), node.within, node.target, read)
        draws = []
        for ends in product(*(self.ranges[cell] for cell in missing)):
            differing = (Moved((), by) for by in ends)
            inner = Reader({**read.environment, **dict(zip(missing, differing, strict=True))})
            ((values, needs), *others) = inner.each(noise.arguments)
            if others or needs:
                return None
            draws.append(self._noise(values[:-1], values[-1], noise.word, node.target, noise.span))
        low, high = min(draw.change for draw in draws), max(draw.change for draw in draws)
        return draws[0]._replace(change=low, spread=high - low, low=max(draw.low for draw in draws))

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
        self.span = max(self.span, abs(change))
        low = change if word == "geometric_positive" else -OPEN  # no values below its center
        return Draw(change, self.ratios.number_of(cast("Value", ratio), span), target, low)

    # --- answers ---------------------------------------------------------------------------

    def _goes_on(
        self,
        state: State,
        node: int,
        known: Mapping[str, Mixed],
        needs: Sequence[Need],
        span: Span,
        outcome: str = "",
    ) -> list[Way]:
        """Return the choices of shifts after which a path is kept, each with the state after it."""
        live = set(self.flow.live[node])
        kept = {
            draw
            for name, value in known.items()
            if name in live
            for number in numbers_in(value)
            for draw, _ in number.draws
        }
        return [
            self.way(State(node, known, left, state.left), state.draws, span, outcome)
            for left in answers(state.draws, needs, kept, self.far, self.ratios.rates)
        ]

    def way(self, state: State, before: Sequence[Draw], span: Span, outcome: str = "") -> Way:
        """Return the way to a state with what is left of draws, of which more was left before."""
        fixed = {i: draw.low for i, draw in enumerate(state.draws) if draw.is_fixed}
        if self.is_still:
            fixed = {}  # draws keep their places
        known = {
            name: mapped(value, lambda number: _shifted(number, fixed))
            for name, value in state.known.items()
        }
        changed = [pair for pair in zip(state.draws, before, strict=True) if pair[0] != pair[1]]
        cost = cost_of((d.ratio, abs(d.moved) - abs(old.moved)) for d, old in changed)
        steps = tuple(Step(draw.name, span, outcome, draw.moved) for draw, _ in changed)
        after, kept = self.entered(state.node, known, state.draws, state.left)
        return Way(cost, after, steps, tuple(state.draws), kept)


def _renumbered(number: Moved, order: Mapping[int, int]) -> Moved:
    """Return a number with its draws numbered anew."""
    draws = tuple(sorted((order[draw], n) for draw, n in number.draws))
    return Moved(draws, number.by, number.is_noisy)


def _shifted(number: Moved, shifts: Mapping[int, int]) -> Moved:
    """Return a number where the shifts of some draws are known."""
    by = number.by + sum(n * shifts[draw] for draw, n in number.draws if draw in shifts)
    draws = tuple(pair for pair in number.draws if pair[0] not in shifts)
    return Moved(draws, by, number.is_noisy)


def cost_of(parts: Iterable[tuple[int, int]]) -> Cost:
    """Return shifts by so much of noise of some ratios, added up."""
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
