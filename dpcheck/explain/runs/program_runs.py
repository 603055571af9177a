"""The most probable run of a program with given outputs, as statements with drawn values.

Runs are followed in the program's own control-flow graph with its own evaluator and distributions.
A state is (how many outputs were shown, node, live variables), and the likeliest way to the end is
looked for. Draws and outputs are the steps;
what is computed between them is silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import Number, divide, multiply, number
from dpcheck.explain.runs.likeliest import ways
from dpcheck.explore.programs.liveness import flow_of
from dpcheck.explore.sampling.distributions import Supports, distributions
from dpcheck.explore.values.codes import ValueTable
from dpcheck.explore.values.evaluate import Frame
from dpcheck.limits import Limits
from dpcheck.model import program
from dpcheck.model.evaluation import evaluate, truth
from dpcheck.model.expressions import Var, reads
from dpcheck.model.offers import shown_text
from dpcheck.model.values import ArrayValue, Value, value_key
from dpcheck.records import dataclass, field, replace

Environment = Mapping[str, Value]
Kind = Literal["draw", "output", "end", "failure"]
_KINDS: dict[type, Kind] = {
    program.Sample: "draw", program.Output: "output", program.Fail: "failure"
}  # fmt: skip

_MAX_SILENT = 100_000
"""Statements between two draws or outputs; a run that needs more of them is not followed."""


_MAX_BESIDE = 5_000
"""States of runs that are followed on two inputs: they differ in their ratios, too."""


@dataclass(frozen=True)
class Step:
    """A draw or an output: its node, the value, and its probability (1 for an output)."""

    node: int
    value: Value
    probability: Number


@dataclass(frozen=True)
class FoundRun:
    """Draws and outputs in order, and the product of their probabilities.

    `beside` is how likely the same draws are on another input, over that; 0 if they show another
    output there.
    """

    steps: tuple[Step, ...]
    probability: Number
    beside: Number = 0


@dataclass(frozen=True)
class Place:
    """A draw, an output or an end that a run has come to.

    `branches` were decided on the way: nodes, decisions, and what they read. `written` are the
    nodes that assigned to variables last.
    """

    node: int
    environment: Environment
    branches: tuple[tuple[int, bool, Environment], ...] = ()
    written: Mapping[str, int] = field(default_factory=dict)


class _At(NamedTuple):
    """How far a run is: so many outputs, its place, that of the same draws on another input.

    ratio: how likely they are there, over how likely here.
    """

    n_shown: int
    place: Place
    there: Place | None
    ratio: Number


class ProgramRuns:
    """The runs of one mechanism."""

    def __init__(self, mechanism: program.Mechanism, limits: Limits) -> None:
        """Know which variables are live at each node."""
        self.nodes, self.entry, self.limits = mechanism.nodes, mechanism.entry, limits
        self._live = flow_of(mechanism, frozenset()).live
        self._supports = Supports(ValueTable(limits))
        self._draws: dict[tuple[object, ...], dict[object, tuple[Value, Number]]] = {}
        self._read: dict[int, tuple[str, ...]] = {}

    def begin(self, inputs: Environment) -> Place | None:
        """Return the first draw, output or end of a run on an input."""
        return self._silent(self.entry, inputs, {})

    def after(self, place: Place, value: Value) -> Place | None:
        """Return where a run comes to next when a draw gives, or an output shows, the value.

        None where it goes on silently, as far as it is followed.
        """
        node = self.nodes[place.node]
        assert isinstance(node, program.Sample | program.Output), "a run stays at an end"
        environment, written = place.environment, dict(place.written)
        if isinstance(node, program.Sample):
            environment = {**environment, node.target: value}
        return self._silent(node.next, environment, written)

    def draws(self, place: Place) -> dict[object, tuple[Value, Number]]:
        """Return what a draw can give, by the keys of values, with probabilities."""
        node = self.nodes[place.node]
        assert isinstance(node, program.Sample), "only a draw draws"
        known = self.known(place)
        key = (place.node, *map(value_key, known.values()))
        if key not in self._draws:
            table = self._supports.table
            columns = {name: np.array([table.code(value)]) for name, value in known.items()}
            found = distributions(node.distribution, Frame(1, columns), self._supports)
            drawn = self._supports.drawn(found)
            below = self._supports.denominators(found).tolist()[0]
            self._draws[key] = {
                value_key(value): (value, number(weight, below))
                for value, weight in zip(
                    table.values(drawn.value), drawn.numerators.tolist(), strict=True
                )
            }
        return self._draws[key]

    def is_chosen(self, node: int) -> bool:
        """Return whether a draw is what an analyst chooses to ask: it is shown as that next."""
        draw = self.nodes[node]
        shown = self.nodes[draw.next] if isinstance(draw, program.Sample) else None
        return isinstance(shown, program.Output) and shown.query == "adaptive"

    def shown(self, place: Place) -> Value:
        """Return the value that an output shows."""
        node = self.nodes[place.node]
        assert isinstance(node, program.Output), "only an output shows a value"
        return evaluate(node.value, place.environment)

    def known(self, place: Place) -> Environment:
        """Return the variables that a draw's distribution, or an output, reads."""
        return self._known(place.node, place.environment)

    def told(self, place: Place) -> Environment:
        """Return what is read there by the names for people."""
        return self._told(self.known(place), place.written)

    def _told(self, known: Environment, written: Mapping[str, int]) -> Environment:
        """Return values by names; what a round reads of a stream, `q[i]`, is the cell of that."""
        nodes = {name: self.nodes[written[name]] for name in known if name.endswith("[i]")}
        return {
            made.value.name
            if isinstance(made := nodes.get(name), program.Assign) and isinstance(made.value, Var)
            else name: value
            for name, value in known.items()
        }

    def _known(self, node: int, environment: Environment) -> Environment:
        """Return the variables that a node reads."""
        if node not in self._read:
            read = self.nodes[node]
            part = read.distribution if isinstance(read, program.Sample) else read
            self._read[node] = tuple(dict.fromkeys(reads(part)))
        return {name: environment[name] for name in self._read[node] if name in environment}

    def kind(self, place: Place) -> Kind:
        """Return what a run has come to."""
        return _KINDS.get(type(self.nodes[place.node]), "end")

    def best(self, inputs: Environment, wanted: OutputSequence) -> FoundRun | None:
        """Return the most probable run that shows just these outputs, and ends if they do.

        None where there is none, but for runs that go on silently. Raises `LimitReached`.
        """
        return next(self.found(inputs, wanted), None)

    def found(
        self, inputs: Environment, wanted: OutputSequence, other: Environment | None = None
    ) -> Iterator[FoundRun]:
        """Yield the likeliest run to each state with these outputs, beside those on another input.

        Raises `LimitReached`.
        """
        there = None if other is None else self.begin(other)
        return self._found(inputs, wanted.outputs, there, is_over=wanted.ending == "stopped")

    def shown_after(self, inputs: Environment, outputs: Sequence[str]) -> Iterator[Step]:
        """Yield what runs show next after some outputs, the likeliest first.

        It is told of each node and all values that count there, so that no statement is left out
        for another that leads to the same state. Raises `LimitReached`.
        """
        for found in self._found(inputs, [*outputs, None], None, is_over=False):
            yield found.steps[-1]

    def _found(
        self,
        inputs: Environment,
        outputs: Sequence[str | None],
        there: Place | None,
        *,
        is_over: bool,
    ) -> Iterator[FoundRun]:
        """Yield the likeliest run to each state after the outputs, None is any, or with the last.

        What follows them counts where runs are to end.
        """

        def following(at: _At) -> Iterator[tuple[Step, Number]]:
            for step in self._steps(at.place, outputs[at.n_shown :]):
                yield step, step.probability

        def led(at: _At, step: Step) -> _At | None:
            is_output = self.kind(at.place) == "output"
            # What comes after the last output, perhaps nothing for ever, is not asked.
            stays = is_output and not is_over and at.n_shown + 1 == len(outputs)
            after = at.place if stays else self.after(at.place, step.value)
            if after is None:
                return None
            return _At(at.n_shown + is_output, after, *self._beside(at, step, stays=stays))

        def is_end(at: _At) -> bool:
            return at.n_shown == len(outputs) and (not is_over or self.kind(at.place) == "end")

        first, limits = self.begin(inputs), self.limits
        if first is None:
            return
        if there is not None:
            limits = replace(limits, max_states=min(limits.max_states, _MAX_BESIDE))
        begun = _At(0, first, there, 0 if there is None else 1)
        for end, steps, probability in ways(begun, following, led, self._key, is_end, limits):
            is_left = is_over and end.there is not None and self.kind(end.there) != "end"
            yield FoundRun(tuple(steps), probability, 0 if is_left else end.ratio)

    def _beside(self, at: _At, step: Step, *, stays: bool) -> tuple[Place | None, Number]:
        """Return where a step leads on the other input, and its ratio; None, 0 if nowhere."""
        if at.there is None or at.there.node != step.node:
            return None, 0
        price = self.price(at.there, step)
        if price == 0:
            return None, 0
        after = at.there if stays else self.after(at.there, step.value)
        return after, 0 if after is None else divide(multiply(at.ratio, price), step.probability)

    def price(self, place: Place, step: Step) -> Number:
        """Return how likely a step's value is at another place with the same node."""
        if self.kind(place) == "output":
            return int(shown_text(self.shown(place)) == shown_text(step.value))
        nothing: tuple[None, Number] = None, 0
        return self.draws(place).get(value_key(step.value), nothing)[1]

    def _key(self, at: _At) -> tuple[object, ...]:
        """Return what the rest of a run, and its ratio, depend on."""
        places = [(each.node, *self._live_values(each)) for each in (at.place, at.there) if each]
        return (at.n_shown, at.ratio, *places)

    def _steps(self, place: Place, wanted: Sequence[str | None]) -> Iterator[Step]:
        """Yield the draws, or the output if it is the next one wanted."""
        match self.kind(place):
            case "draw":
                for value, probability in self.draws(place).values():
                    yield Step(place.node, value, probability)
            case "output" if wanted and _is_told(shown := self.shown(place), wanted[0]):
                yield Step(place.node, shown, 1)
            case _:
                pass

    def _live_values(self, place: Place) -> Iterator[object]:
        for name in self._live[place.node]:
            if name in place.environment:
                yield value_key(place.environment[name])
            else:
                yield None

    def _silent(self, node: int, environment: Environment, written: dict[str, int]) -> Place | None:
        """Return the next draw, output or end, and what was decided and `written` on the way."""
        known = dict(environment)
        branches: list[tuple[int, bool, Environment]] = []
        met: tuple[int, dict[str, Value]] = node, {}
        for n in range(_MAX_SILENT):
            if n & (n - 1) == 0:
                met = node, dict(known)
            elif node == met[0] and _are_equal(known, met[1]):
                return None  # nothing is drawn: what comes again does so for ever
            match self.nodes[node]:
                case program.Sample() | program.Output() | program.Stop() | program.Fail():
                    return Place(node, known, tuple(branches), written)
                case program.Branch() as branch:
                    is_true = truth(branch.condition, known)
                    read = self._told(self._known(node, known), written)
                    branches.append((node, is_true, read))
                    node = branch.then if is_true else branch.orelse
                    continue
                case program.Assign() as made:
                    known[made.target] = evaluate(made.value, known)
                    written[made.target] = node
                case program.AssignCell() as made:
                    index = evaluate(made.index, known)
                    assert isinstance(index, int), "an index was checked"
                    known[made.cells[index - made.lo]] = evaluate(made.value, known)
                    written[made.cells[index - made.lo]] = node
                case program.Unpack() as made:
                    parts = evaluate(made.value, known)
                    items = parts.items if isinstance(parts, ArrayValue) else parts
                    assert isinstance(items, tuple), "what is unpacked was checked"
                    known.update(zip(made.targets, items, strict=True))
                    written.update(dict.fromkeys(made.targets, node))
                case program.Forget() as made:
                    for name in made.targets:
                        known.pop(name, None)
            node = made.next
        return None


def _are_equal(some: Mapping[str, Value], others: Mapping[str, Value]) -> bool:
    """Return whether variables are the same, 1 and `true` told apart.

    >>> _are_equal({"x": 1}, {"x": 1}), _are_equal({"x": 1}, {"x": True})
    (True, False)
    """
    return some == others and all(value_key(some[x]) == value_key(others[x]) for x in some)


def _is_told(shown: Value, text: str | None) -> bool:
    """Return whether a value is shown as a text, that of a number far out as `> 5`; None is any.

    >>> _is_told(7, "> 5"), _is_told(5, "> 5"), _is_told(5, "5"), _is_told(7, "in 6..99")
    (True, False, True, True)
    """
    if text is None:
        return True
    far = re.fullmatch(r"([<>]) (-?\d+)", text)
    cell = re.fullmatch(r"in (-?\d+)\.\.(-?\d+)", text)
    if cell is not None and type(shown) is int:
        return int(cell[1]) <= shown <= int(cell[2])
    if far is None or not isinstance(shown, int):
        return shown_text(shown) == text
    return shown > int(far[2]) if far[1] == ">" else shown < int(far[2])
