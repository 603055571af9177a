"""Wide variables while a mechanism is explored: codes of their values, and what is known of them.

Inside of the window a wide variable has its value as code. Beyond, the code is the window's end and
as many steps as the level it stands on is away: so codes are ordered as the numbers themselves, and
every comparison, choice, copy and (where gaps are resolved) sum with a number that has bounds is
what it is for other integers. A column for each group says which laws hold beyond both ends
(`TailStates`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from itertools import pairwise

import numpy as np

from dpcheck.chain.arrays import are_first, marked
from dpcheck.chain.chain import BoolArray, IntArray, WeightArray
from dpcheck.chain.sets import distinct_rows, in_order
from dpcheck.chain.weights.denominators import summed
from dpcheck.exact import (
    ExpNumber,
    Number,
    Rational,
    add,
    ceil,
    compare,
    divide,
    floor,
    multiply,
    number,
)
from dpcheck.explore.tails import laws
from dpcheck.explore.tails.wide import Wide
from dpcheck.explore.values.codes import FALSE, FIRST_FAULT, PLAIN, UNASSIGNED, ValueTable
from dpcheck.explore.values.evaluate import Frame, codes_of_all
from dpcheck.limits import LimitReached, too_large
from dpcheck.model.values import ArrayValue, Beyond, SetValue, Value, value_text
from dpcheck.records import dataclass, field, replace
from dpcheck.source import Span

FIRST_ARRIVAL = PLAIN + 2**60
"""Codes from there on, far above those of a table, are numbers of arrivals beyond the window."""

NEAR = 32
"""So far from the window numbers are shown one by one rather than in cells: people read these."""

FARTHEST = 2**58
"""No window goes farther: levels beyond it, and what they are moved by, have codes that follow."""

TAIL_STATE = "beyond~"
"""The column of tail states that a distribution reads: that of its target's group."""


@dataclass(frozen=True)
class Window:
    """All integers from `low` to `high`; none if it is empty.

    Numbers that are shown are known in a wider window, by `margin` at each end; `ratios` are those
    of the laws that they have beyond it, the greatest first. With one ratio they are told in cells
    there, that begin at `breaks`, as seen from the window: where claims change. P(x) = c ρ^x for
    all numbers beyond, and c alone depends on the run so far. So the probabilities of all numbers
    in a cell have one ratio between two inputs, that of the cell: who is told the number learns no
    more. With more ratios there are no breaks. Where there are breaks there is a margin, so that
    numbers that are still hidden count as told apart when they are shown (`explore.runs.lumped`).
    Hidden ones beyond the window are known to be `apart` numbers or fewer from the next, or more.

    >>> Window().with_values(3, 5).with_values(4, 7).shown
    (3, 7)
    """

    low: int = 1
    high: int = 0
    margin: int = 0
    ratios: laws.Ratios = ()
    breaks: tuple[int, ...] = ()
    apart: int = 0

    @property
    def shown(self) -> tuple[int, int]:
        """The least and the greatest number that is shown as it is, those between cells aside."""
        return self.low - self.margin, self.high + self.margin

    @property
    def has_kinds(self) -> bool:
        """Whether the laws of numbers beyond have several ratios, so that these are of kinds."""
        return len(self.ratios) > 1

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest number that matters."""
        low, high = self.shown
        return min(low, *self.breaks, high), max(low, *self.breaks, high)

    def cells(self, *, is_above: bool) -> list[tuple[int, int | None]]:
        """Return the first and last numbers of cells beyond one end, from there on; the last None.

        >>> window = Window(0, 5).with_breaks([8, 100, 101])
        >>> window.shown, window.cells(is_above=True), window.cells(is_above=False)
        ((-2, 7), [(8, 99), (100, 100), (101, None)], [(-3, None)])
        """
        low, high = self.shown
        first, way = (high + 1, 1) if is_above else (low - 1, -1)
        starts = sorted(n * way for n in self.breaks if n * way > first * way)
        firsts = [first, *(n * way for n in starts)]
        return [*((a, b - way) for a, b in pairwise(firsts)), (firsts[-1], None)]

    def with_values(self, low: int, high: int) -> Window:
        """Return the smallest window that holds these too."""
        if self.low > self.high:
            return replace(self, low=low, high=high)
        return replace(self, low=min(self.low, low), high=max(self.high, high))

    def with_ratios(self, ratios: Iterable[Number]) -> Window:
        """Return the window with these ratios too."""
        every = sorted({*self.ratios, *ratios}, key=cmp_to_key(compare), reverse=True)
        known = self if len(every) < 2 else self.without_cells()
        return replace(known, ratios=tuple(every))

    def with_breaks(self, places: Iterable[int]) -> Window:
        """Return the window where claims change at these places: near ones are all in the margin.

        A place is the first number, as seen from the window, of those that follow it.
        """
        window = self
        for place in sorted(places, key=lambda n: max(n - self.high, self.low - n)):
            low, high = window.shown
            more = max(place - high, low - place) - 1
            if more <= 0:
                continue
            if self.has_kinds or more <= NEAR:
                window = replace(window, margin=window.margin + more)
            else:
                breaks = tuple(sorted({*window.breaks, place}))
                window = replace(window, margin=max(window.margin, 1), breaks=breaks)
        return window

    def without_cells(self) -> Window:
        """Return the window where numbers are known one by one as far as cells are."""
        low, high = self.ends
        margin = max(self.low - low, high - self.high)
        return replace(self, margin=margin, breaks=())

    def joined(self, other: Window) -> Window:
        """Return the window with all that another one of the same low and high tells."""
        breaks = tuple(sorted({*self.breaks, *other.breaks}))
        return replace(self, margin=max(self.margin, other.margin), breaks=breaks)

    def too_far(self, limit: str, advice: str) -> LimitReached:
        """Return that this window is beyond a limit that no option raises, and what is not."""
        low, high = map(value_text, self.ends)
        told = f"numbers without bounds matter in {low}..{high}, at least, and {limit}"
        return too_large(f"{told}, a fixed limit", advice)

    def beyond_codes(self) -> LimitReached:
        """Return that codes of numbers this far from 0 would be no integers of 64 bits."""
        return self.too_far(f"they lie beyond {FARTHEST:,}", "numbers nearer to 0")

    def wider(self, more: int) -> Window:
        """Return a window with more integers at each end, and all that are shown one by one."""
        more += self.without_cells().margin
        return replace(self, low=self.low - more, high=self.high + more, margin=0, breaks=())

    def widened(self, least: int = 0) -> Window:
        """Return a window with more than twice the margin, and at least so much."""
        return replace(self, margin=max(2 * self.margin + 2, least))


class WindowTooSmall(Exception):
    """A number that a wide one is compared with lies outside of the window."""

    def __init__(self, window: Window) -> None:
        """Keep the window that would hold it."""
        super().__init__(f"a window {window.low}..{window.high} is needed")
        self.window = window


Seen = tuple[int, int] | None
"""How many other numbers were seen nearer to the window than one, and how many were not."""


@dataclass(frozen=True, eq=False)
class Tail:
    """What is known of the numbers of a group beyond one end of the window.

    `seen` says for each level what was seen beside it, on some run that leads there; it is for
    people, and None where it cannot be told. Tails with equal levels are one tail: so are those of
    t after w = t, and after w > t, since w has no memory.
    """

    levels: laws.Levels = field(default_factory=lambda: laws.NO_LEVELS)
    seen: tuple[Seen, ...] = ()

    def after(self, place: laws.Place) -> Tail:
        """Return the tail when a new number has come to a place."""
        k, n = place.level - 1, len(self.seen)
        seen = [
            None if one is None else (one[0] + (k < at), one[1] + (k >= at))
            for at, one in enumerate(self.seen, start=not place.is_shared)
        ]
        if not place.is_shared:
            are_all_live = all(one is not None and sum(one) == n - 1 for one in self.seen)
            seen.insert(k, (k, n - k) if are_all_live else None)
        return Tail(place.levels, tuple(seen))

    def with_levels(self, kept: Sequence[int]) -> Tail:
        """Return the tail with levels at some codes, ascending, and no others."""
        levels, seen = self.levels, dict(zip(self.levels.codes, self.seen, strict=True))
        for code in reversed(kept):  # those below keep their codes
            levels = levels if code in seen else laws.with_level(levels, code)
        every = sorted({*seen, *kept})
        for level in range(len(every), 0, -1):
            if every[level - 1] not in kept:
                levels = laws.without(levels, level)
        return Tail(levels, tuple(seen.get(code) for code in kept))


@dataclass(frozen=True, eq=False)
class TailState:
    """What is known of the numbers of a group beyond both ends of the window."""

    above: Tail
    below: Tail

    def beyond(self, *, is_above: bool) -> Tail:
        """Return the tail beyond one end."""
        return self.above if is_above else self.below


@dataclass(frozen=True, eq=False)
class Arrival:
    """A new number beyond the window, so many `steps`, and the number of the state after it.

    Others stand so many steps beyond as `moved` says; all are negative below. No steps: nothing
    is new but what is known.
    """

    steps: int
    is_shared: bool
    state: int
    moved: Mapping[int, int]


class TailStates:
    """All tail states of an exploration, by number; 0 is the one where nobody is beyond."""

    def __init__(self, window: Window) -> None:
        """Start with nobody beyond."""
        self.window = window
        self.states: list[TailState] = []
        self.arrivals: list[Arrival] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._settled: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._mixed: dict[tuple[Hashable, ...], tuple[int, ...]] = {}
        self.most_beyond: Number = 0  # the largest probability of a draw to lie beyond
        self.ratios: dict[Span, set[Number]] = {}  # of what is drawn at a place
        self.met = Window()  # what the guards of the last node were: of a draw its centers
        self._number(TailState(Tail(), Tail()))

    def _number(self, state: TailState) -> int:
        key = state.above.levels.key, state.below.levels.key
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.states)
            self.states.append(state)
        return found

    def shown(self, state: int, step: int, others: Sequence[int]) -> laws.Levels | None:
        """Return the law of a number that is so many steps beyond the window.

        None if others that are still live are beyond the same end.
        """
        if any(other * step > 0 for other in others):
            return None
        return self.states[state].beyond(is_above=step > 0).with_levels((abs(step),)).levels

    def arriving(
        self, state: int, ratio: Number, span: Span, *, is_above: bool
    ) -> list[tuple[int, Number]]:
        """Return the codes of all ways to arrive beyond one end, with their probabilities."""
        before = self.states[state]
        self.ratios.setdefault(span, set()).add(ratio)
        tail, found, sign = before.beyond(is_above=is_above), [], 1 if is_above else -1
        for place in laws.places(tail.levels, ratio):
            seen = tail.after(place).seen
            for levels, chance in laws.with_gaps_known(place.levels, self.window.apart):
                after, codes = Tail(levels, seen), list(levels.codes)
                code = codes[place.level - 1] if place.is_shared else codes.pop(place.level - 1)
                moved = _moved(tail.levels.codes, codes, sign)
                ends = TailState(*((after, before.below) if is_above else (before.above, after)))
                arrival = self._arrival(ends, sign * code, moved, is_shared=place.is_shared)
                found.append((arrival, multiply(place.probability, chance)))
        return found

    def resolving(
        self, state: int, reach: int, starts: Iterable[tuple[int, int]]
    ) -> list[tuple[int, Number]]:
        """Return the codes of all that is known where gaps are resolved, with probabilities.

        starts: codes of numbers, and which way gaps from there matter, as far as `reach`. Where
        nothing changes the code is no arrival.
        """
        before = (self.states[state].above, self.states[state].below)
        found: list[tuple[tuple[laws.Levels, laws.Levels], Number]] = [
            ((before[0].levels, before[1].levels), 1)
        ]
        for code, way in starts:
            found = [
                (after, multiply(chance, mass))
                for ends, chance in found
                for after, mass in self._resolved(before, ends, code, way, reach)
            ]
        ways = []
        for ends, chance in found:
            after = TailState(
                *(Tail(one, tail.seen) for one, tail in zip(ends, before, strict=True))
            )
            if len(found) == 1 and self._number(after) == state:
                return [(FALSE, 1)]
            moved = _moved(before[0].levels.codes, ends[0].codes, 1)
            moved |= _moved(before[1].levels.codes, ends[1].codes, -1)
            ways.append((self._arrival(after, 0, moved), chance))
        return ways

    def _resolved(
        self,
        before: tuple[Tail, Tail],
        ends: tuple[laws.Levels, laws.Levels],
        code: int,
        way: int,
        reach: int,
    ) -> Iterator[tuple[tuple[laws.Levels, laws.Levels], Number]]:
        """Yield what both ends may be, with probabilities, as seen from one number."""
        low, high = self.window.low, self.window.high
        side, step = (0 if way > 0 else 1), 1
        if low <= code <= high:
            gap, reach = 0, reach - (high - code if way > 0 else code - low)
        else:
            side = 0 if code > high else 1
            level = before[side].levels.codes.index(code - high if code > high else low - code)
            step = way if code > high else -way
            gap = level + (step > 0)
        for one, chance, rest in laws.resolved(ends[side], gap, reach, step):
            others = laws.resolved(ends[1 - side], 0, rest - (high - low) if step < 0 else 0, 1)
            for other, mass, _ in others:
                yield (other, one) if side else (one, other), multiply(chance, mass)

    def _arrival(
        self, after: TailState, steps: int, moved: Mapping[int, int], *, is_shared: bool = False
    ) -> int:
        """Return the code of a new arrival."""
        self.arrivals.append(Arrival(steps, is_shared, self._number(after), moved))
        return FIRST_ARRIVAL + len(self.arrivals) - 1

    def settled(self, state: int, steps: Sequence[int]) -> tuple[int, ...]:
        """Return the state where only some numbers are live, and their steps in it.

        steps: how many levels each is beyond the window, below it negative, 0 inside.
        """
        key = (state, *steps)
        found = self._settled.get(key)
        if found is None:
            before = self.states[state]
            up = sorted({step for step in steps if step > 0})
            down = sorted({-step for step in steps if step < 0})
            above, below = before.above.with_levels(up), before.below.with_levels(down)
            moved = _moved(up, above.levels.codes, 1) | _moved(down, below.levels.codes, -1)
            number = self._number(TailState(above, below))
            found = self._settled[key] = (number, *(moved.get(step, step) for step in steps))
        return found

    def mixed(self, states: Sequence[int], weights: Sequence[Number]) -> tuple[int, ...]:
        """Return for each of some states the one that stands for it, and for others of them.

        weights: of each, among all that one state may become. They are mixed where they know the
        same gaps, and the same of the other end.
        """
        shares = [divide(weight, weights[0]) for weight in weights]
        key = (*states, *map(laws.parts, shares))
        found = self._mixed.get(key)
        if found is None:
            known = [
                (self.states[state], share) for state, share in zip(states, shares, strict=True)
            ]
            for is_above in (True, False):
                known = _mixed_beyond(known, is_above=is_above)
            found = self._mixed[key] = tuple(self._number(state) for state, _ in known)
        return found

    def text(self, state: int, step: int) -> str:
        """Return what is known of a number so many levels beyond the window: `> 5, ...`."""
        is_above, sign = step > 0, 1 if step > 0 else -1
        tail = self.states[state].beyond(is_above=is_above)
        level = tail.levels.codes.index(abs(step))
        seen, end = tail.seen[level], self.window.high if is_above else self.window.low
        bound = end + sign * sum(tail.levels.bases[: level + 1])
        if all(map(tail.levels.is_known, range(level + 1))):
            return f"= {value_text(bound + sign * (level + 1))}"
        parts = [value_text(Beyond(is_above, bound))]
        sides = ("below", "at or above") if is_above else ("above", "at or below")
        for count, where in zip(seen or (), sides, strict=False):
            parts += [f"{count} {'draw' if count == 1 else 'draws'} {where} it"] if count else []
        return ", ".join(parts)


class Tails:
    """The wide variables of one exploration: columns of codes, and a column of states a group."""

    def __init__(self, wide: Wide, window: Window, table: ValueTable) -> None:
        """Start where nobody is beyond the window."""
        self.wide, self.window, self.table = wide, window, table
        self.states = TailStates(window)
        self.met = Window()  # all that wide numbers may meet
        self.farthest = 0  # that any is moved at once
        self.moved: dict[int, int] = {}  # by node, how far those are that stay in variables
        self.has_sure_kinds = True  # positive for all values of a parameter: see `reveal`

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of all groups."""
        return tuple(map(state_column, range(len(self.wide.groups))))

    def read_by(self, node: int) -> tuple[str, ...]:
        """Return the columns of the groups that a node reads or writes."""
        return tuple(map(state_column, self.wide.touching.get(node, ())))

    def check(self, node: int, frame: Frame) -> None:
        """Raise `WindowTooSmall` where wide numbers may meet others outside of the window."""
        met = Window()
        for guard in self.wide.guards.get(node, ()):
            met = with_codes(met, codes_of_all(guard, frame, self.table), self.table)
        if met.low <= met.high:
            self.states.met = met
            self.met = self.met.with_values(met.low - self.farthest, met.high + self.farthest)
            needed = self.window.with_values(self.met.low, self.met.high)
            if needed != self.window:
                raise WindowTooSmall(needed)

    def is_beyond(self, codes: IntArray) -> BoolArray:
        """Return [n_rows], where the codes of a wide variable are beyond the window."""
        outside: BoolArray = (codes > self.window.high) | (codes < self.window.low)
        return outside & (codes < PLAIN)

    def settled(self, frame: Frame, live: Sequence[str]) -> Mapping[str, IntArray]:
        """Return the columns, [n_rows] each, that change where only some variables are live."""
        changed: dict[str, IntArray] = {}
        for group, names in enumerate(self.wide.groups):
            column = state_column(group)
            if column not in live:
                continue
            states, kept = frame[column], [name for name in names if name in live]
            codes = [frame[name] for name in kept]
            steps = [self._steps(column) for column in codes]
            if not (states.any() or np.any(steps)):
                continue
            first, of_row = distinct_rows([states, *steps])
            rows = zip(states[first].tolist(), *(s[first].tolist() for s in steps), strict=True)
            found = []
            for state, *after in rows:
                self.table.check_time()
                found.append(self.states.settled(state, after))
            settled = np.array(found, np.int64)[of_row]
            changed[column] = settled[:, 0]
            for k, name in enumerate(kept):
                changed[name] = codes[k] + settled[:, k + 1] - steps[k]
        return changed

    def mixed(self, states: IntArray, alike: Sequence[IntArray], weight: WeightArray) -> IntArray:
        """Return tail states [n_rows] where those of rows that are alike are mixed by weight."""
        if not states.any():
            return states
        _, way = distinct_rows(alike)
        first, of_row = distinct_rows([way, states])
        starts = marked(are_first(way[first]))
        if len(starts) == len(first):
            return states
        _, order = in_order(of_row, len(first))
        weights = summed(weight[order], marked(are_first(of_row[order])), None)
        found, ends = states[first], [*starts[1:].tolist(), len(first)]
        for i, j in zip(starts.tolist(), ends, strict=True):
            if j > i + 1:
                shares = [number(each, 1) for each in weights[i:j].tolist()]
                found[i:j] = self.states.mixed(found[i:j].tolist(), shares)
        return found[of_row]

    def memory(self, columns: Mapping[str, IntArray]) -> list[IntArray]:
        """Return the tail states and levels, [n_rows] each, that states remember; 0 inside."""
        states = [columns[name] for name in self.columns if name in columns]
        wide = [columns[name] for name in sorted(self.wide.names) if name in columns]
        return [*states, *map(self._steps, wide)] if states else []

    def texts(self, codes: Mapping[str, int]) -> dict[str, str]:
        """Return what is known of the wide variables of a state that are beyond the window."""
        found = {}
        for group, names in enumerate(self.wide.groups):
            for name in names:
                (step,) = self._steps(np.array([codes.get(name, UNASSIGNED)])).tolist()
                if step:
                    found[name] = self.states.text(codes[state_column(group)], step)
        return found

    def _steps(self, codes: IntArray) -> IntArray:
        """Return [n_rows], how many levels beyond the window codes are, below it negative."""
        low, high = self.window.low, self.window.high
        steps = codes - codes.clip(low, high)
        return np.where(codes < PLAIN, steps, 0)

    def shown_laws(
        self, group: int, codes: IntArray, frame: Frame, live: Sequence[str]
    ) -> list[tuple[IntArray, tuple[int, ...], laws.Levels | None]]:
        """Return rows that show numbers beyond the window: what is known of them, and their law.

        That is their tail state, how many steps they are beyond, and others. codes [n_rows] are
        those of the numbers; the law is None where live ones depend on it.
        """
        beyond = marked(self.is_beyond(codes))
        others = [name for name in self.wide.groups[group] if name in live]
        steps = [self._steps(column[beyond]) for column in (codes, *map(frame.__getitem__, others))]
        first, of_row = distinct_rows([frame[state_column(group)][beyond], *steps])
        found = []
        for k, row in enumerate(first.tolist()):
            state = int(frame[state_column(group)][beyond[row]])
            step, *rest = (int(column[row]) for column in steps)
            law = self.states.shown(state, step, rest)
            found.append((beyond[of_row == k], (state, step, *rest), law))
        return found

    def arrived(
        self, node: int, target: str, drawn: IntArray, frame: Frame, live: Sequence[str]
    ) -> tuple[IntArray, IntArray, IntArray, dict[str, IntArray]]:
        """Return the target's codes after a draw, what was drawn, where, and columns that change.

        All columns are of the shape [n_rows]. A number above the window is at 1, one below at -1.

        What was drawn is the same for two states if their numbers may be equal from there on: a
        value in the window, or the level it stands on and whether others do.
        """
        group = self.wide.arriving[node]
        column = state_column(group)
        others = [n for n in self.wide.groups[group] if n in live and n != target]
        beyond = marked(drawn >= FIRST_ARRIVAL)
        beyond = beyond[drawn[beyond] < FIRST_FAULT]
        read = [column, *others] if column in live else []
        changed = {name: frame[name].copy() for name in read}
        codes, results = drawn.copy(), drawn.copy()
        known = codes[codes < FIRST_ARRIVAL]
        needed = with_codes(self.window, known, self.table)
        if needed != self.window:
            raise WindowTooSmall(needed)
        numbers, of_row = np.unique(drawn[beyond] - FIRST_ARRIVAL, return_inverse=True)
        arrivals = [self.states.arrivals[number] for number in numbers.tolist()]
        steps = np.array([arrival.steps for arrival in arrivals], np.int64)[of_row]
        far = beyond[steps != 0]
        codes[far] = (np.where(steps > 0, self.window.high, self.window.low) + steps)[steps != 0]
        told = np.array([self._result(arrival) for arrival in arrivals], np.int64)[of_row]
        results[far] = told[steps != 0]
        sides = np.zeros(len(drawn), np.int64)
        sides[beyond] = np.sign(steps)
        if read:
            changed[column][beyond] = np.array([each.state for each in arrivals], np.int64)[of_row]
        for name in read[1:]:
            here = changed[name][beyond]
            before = self._steps(here)
            first, which = distinct_rows([of_row, before])
            pairs = zip(of_row[first].tolist(), before[first].tolist(), strict=True)
            after = np.array([arrivals[k].moved.get(step, step) for k, step in pairs], np.int64)
            changed[name][beyond] = here + after[which] - before
        return codes, results, sides, changed

    def _result(self, arrival: Arrival) -> int:
        """Return the code of what is drawn by an arrival beyond the window; 0 of none."""
        if not arrival.steps:
            return 0
        is_above, level = arrival.steps > 0, abs(arrival.steps)
        end = self.window.high if is_above else self.window.low
        known = self.states.states[arrival.state].beyond(is_above=is_above).levels.known
        return self.table.code(Beyond(is_above, end, level, arrival.is_shared, gaps=known))


def _mixed_beyond(
    known: Sequence[tuple[TailState, Number]], *, is_above: bool
) -> list[tuple[TailState, Number]]:
    """Return states with their weights where those that differ beyond one end alone are one.

    Its weight is the sum of theirs.
    """
    alike: dict[object, dict[object, tuple[Tail, Number]]] = {}
    keys = []
    for state, weight in known:
        tail, other = state.beyond(is_above=is_above), state.beyond(is_above=not is_above)
        keys.append((tail.levels.known, other.levels.key))
        alike.setdefault(keys[-1], {})[tail.levels.key] = tail, weight
    found = {key: _mixed_tails([*tails.values()]) for key, tails in alike.items()}
    result = []
    for key, (state, _) in zip(keys, known, strict=True):
        tail, weight = found[key]
        ends = (tail, state.below) if is_above else (state.above, tail)
        result.append((TailState(*ends), weight))
    return result


def _mixed_tails(every: Sequence[tuple[Tail, Number]]) -> tuple[Tail, Number]:
    """Return a tail that is one of some with these weights, and their sum."""
    if len(every) == 1:
        return every[0]
    total: Number = 0
    for _, weight in every:
        total = add(total, weight)
    levels = laws.mixed([(tail.levels, divide(weight, total)) for tail, weight in every])
    seen = zip(*(tail.seen for tail, _ in every), strict=True)
    return Tail(levels, tuple(one[0] if len({*one}) == 1 else None for one in seen)), total


def _moved(before: Iterable[int], after: Iterable[int], sign: int) -> dict[int, int]:
    """Return the new steps beyond an end, for those that changed."""
    pairs = zip(before, after, strict=True)
    return {sign * old: sign * new for old, new in pairs if old != new}


def state_column(group: int) -> str:
    """Return the name of the column with a group's tail states."""
    return f"{TAIL_STATE}{group}"


def with_codes(window: Window, codes: IntArray, table: ValueTable) -> Window:
    """Return the window with all numbers among some codes [n_codes], those in sets too."""
    plain = codes[codes < PLAIN]
    if len(plain):
        window = window.with_values(int(plain.min()), int(plain.max()))
    for code in np.unique(codes[(codes >= PLAIN) & (codes < FIRST_FAULT)]).tolist():
        window = _with_value(window, table.value(code))
    return window


def _with_value(window: Window, value: Value) -> Window:
    match value:
        case bool():
            return window
        case int() | Rational() | ExpNumber():
            return window.with_values(floor(value), ceil(value))
        case SetValue(items=range() as items) if items:
            return window.with_values(items[0], items[-1])
        case SetValue(items=items) | ArrayValue(items=items) | (tuple() as items):
            for item in items:
                window = _with_value(window, item)
            return window
        case _:
            return window
