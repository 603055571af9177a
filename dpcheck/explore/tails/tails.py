"""Wide variables while a mechanism is explored: codes of their values, and what is known of them.

Inside of the window a wide variable has its value as code. Beyond, the code is the window's end and
as many steps as the level it stands on is away: so codes are ordered as the numbers themselves, and
every comparison, choice and copy is what it is for other integers. A column for each group says
which laws hold beyond both ends (`TailStates`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cmp_to_key

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.exact import ExpNumber, Number, Rational, ceil, compare, floor
from dpcheck.explore.tails.laws import NO_LEVELS, Law, Place, Ratios, places, without
from dpcheck.explore.tails.wide import Wide
from dpcheck.explore.values.codes import FIRST_FAULT, PLAIN, UNASSIGNED, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated
from dpcheck.model.values import ArrayValue, Beyond, SetValue, Value, value_text
from dpcheck.records import dataclass, field, replace
from dpcheck.source import Span

FIRST_ARRIVAL = 2**60
"""Codes from there on are no values, but numbers of arrivals beyond the window."""

TAIL_STATE = "beyond~"
"""The column of tail states that a distribution reads: that of its target's group."""


@dataclass(frozen=True)
class Window:
    """All integers from `low` to `high`; none if it is empty.

    Numbers that are shown are known in a wider window, by `margin` at each end; `ratios` are those
    of the laws that they have beyond it, the greatest first.

    >>> Window().with_values(3, 5).with_values(4, 7).shown
    (3, 7)
    """

    low: int = 1
    high: int = 0
    margin: int = 0
    ratios: Ratios = ()

    @property
    def shown(self) -> tuple[int, int]:
        """The least and the greatest number that is shown as it is."""
        return self.low - self.margin, self.high + self.margin

    def with_values(self, low: int, high: int) -> Window:
        """Return the smallest window that holds these too."""
        if self.low > self.high:
            return replace(self, low=low, high=high)
        return replace(self, low=min(self.low, low), high=max(self.high, high))

    def with_values_of(self, other: Window) -> Window:
        """Return the smallest window that holds those of another one, too."""
        return self if other.low > other.high else self.with_values(other.low, other.high)

    def with_ratios(self, ratios: Iterable[Number]) -> Window:
        """Return the window with these ratios too."""
        every = sorted({*self.ratios, *ratios}, key=cmp_to_key(compare), reverse=True)
        return replace(self, ratios=tuple(every))

    def with_shown(self, low: int, high: int) -> Window:
        """Return the window that shows these too."""
        return replace(self, margin=max(self.margin, self.low - low, high - self.high))

    def wider(self) -> Window:
        """Return a window that is about twice as wide, and holds all that is shown."""
        more = 3 + (self.high - self.low) // 2 + self.margin
        return replace(self, low=self.low - more, high=self.high + more, margin=0)

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
    people, and None where it cannot be told. Tails with one law are one tail.
    """

    law: Law = field(default_factory=lambda: NO_LEVELS)
    seen: tuple[Seen, ...] = ()

    def after(self, place: Place) -> Tail:
        """Return the tail when a new number has come to a place."""
        k, n = place.level - 1, len(self.seen)
        seen = [
            None if one is None else (one[0] + (k < at), one[1] + (k >= at))
            for at, one in enumerate(self.seen, start=not place.is_shared)
        ]
        if not place.is_shared:
            are_all_live = all(one is not None and sum(one) == n - 1 for one in self.seen)
            seen.insert(k, (k, n - k) if are_all_live else None)
        return Tail(place.law, tuple(seen))

    def with_levels(self, kept: set[int]) -> Tail:
        """Return the tail where nobody stands on the other levels any more."""
        law = self.law
        for level in range(len(self.seen), 0, -1):
            if level not in kept:
                law = without(law, level)
        return Tail(law, tuple(self.seen[level - 1] for level in sorted(kept)))


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
    """A new number beyond the window: on which level, and the number of the state after it.

    Numbers on levels from there on move one level away, unless the level is shared.
    """

    is_above: bool
    level: int
    is_shared: bool
    state: int


class TailStates:
    """All tail states of an exploration, by number; 0 is the one where nobody is beyond."""

    def __init__(self, window: Window) -> None:
        """Start with nobody beyond."""
        self.window = window
        self.states: list[TailState] = []
        self.arrivals: list[Arrival] = []
        self._numbers: dict[tuple[frozenset[object], frozenset[object]], int] = {}
        self._settled: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.most_beyond: Number = 0  # the largest probability of a draw to lie beyond
        self.ratios: dict[Span, set[Number]] = {}  # of what is drawn at a place
        self._number(TailState(Tail(), Tail()))

    def _number(self, state: TailState) -> int:
        key = frozenset(state.above.law.items()), frozenset(state.below.law.items())
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.states)
            self.states.append(state)
        return found

    def shown(self, state: int, step: int, others: Sequence[int]) -> Law | None:
        """Return the law of a number that is so many levels beyond the window.

        None if others that are still live are beyond the same end.
        """
        if any(other * step > 0 for other in others):
            return None
        return self.states[state].beyond(is_above=step > 0).with_levels({abs(step)}).law

    def arriving(
        self, state: int, ratio: Number, span: Span, *, is_above: bool
    ) -> list[tuple[int, Number]]:
        """Return the codes of all ways to arrive beyond one end, with their probabilities."""
        before = self.states[state]
        self.ratios.setdefault(span, set()).add(ratio)
        tail, found = before.beyond(is_above=is_above), []
        for place in places(tail.law, ratio):
            after = tail.after(place)
            number = self._number(
                TailState(after, before.below) if is_above else TailState(before.above, after)
            )
            arrival = Arrival(is_above, place.level, place.is_shared, number)
            found.append((FIRST_ARRIVAL + len(self.arrivals), place.probability))
            self.arrivals.append(arrival)
        return found

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
            number = self._number(
                TailState(before.above.with_levels(set(up)), before.below.with_levels(set(down)))
            )
            rank = {step: k for k, step in enumerate(up, start=1)} | {0: 0}
            rank |= {-step: -k for k, step in enumerate(down, start=1)}
            found = self._settled[key] = (number, *(rank[step] for step in steps))
        return found

    def text(self, state: int, step: int) -> str:
        """Return what is known of a number so many levels beyond the window: `> 5, ...`."""
        is_above = step > 0
        seen = self.states[state].beyond(is_above=is_above).seen[abs(step) - 1]
        bound = self.window.high if is_above else self.window.low
        parts = [value_text(Beyond(is_above, bound))]
        for count, side in zip(seen or (), ("below", "above"), strict=False):
            where = side if is_above else {"below": "above", "above": "below"}[side]
            parts += [f"{count} {'draw' if count == 1 else 'draws'} {where} it"] if count else []
        return ", ".join(parts)


class Tails:
    """The wide variables of one exploration: columns of codes, and a column of states a group."""

    def __init__(self, wide: Wide, window: Window, table: ValueTable) -> None:
        """Start where nobody is beyond the window."""
        self.wide, self.window, self.table = wide, window, table
        self.states = TailStates(window)
        self.met = Window()  # all that wide numbers may meet
        self.has_sure_kinds = True  # positive for all values of a parameter: see `reveal`

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of all groups."""
        return tuple(map(state_column, range(len(self.wide.groups))))

    def read_by(self, node: int) -> tuple[str, ...]:
        """Return the columns of the groups that a node reads or writes."""
        return tuple(map(state_column, self.wide.touching.get(node, ())))

    def column_of(self, name: str) -> str:
        """Return the column of the group of a wide variable."""
        return state_column(self.wide.group_of(name))

    def check(self, node: int, frame: Frame) -> None:
        """Raise `WindowTooSmall` where wide numbers may meet others outside of the window."""
        for guard in self.wide.guards.get(node, ()):
            self.met = with_codes(self.met, evaluated(guard, frame, self.table), self.table)
        needed = self.window.with_values_of(self.met)
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
            if column not in live or not (states := frame[column]).any():
                continue
            kept = [name for name in names if name in live]
            codes = [frame[name] for name in kept]
            steps = [self._steps(column) for column in codes]
            first, of_row = distinct_rows([states, *steps])
            rows = zip(states[first].tolist(), *(s[first].tolist() for s in steps), strict=True)
            found = [self.states.settled(state, after) for state, *after in rows]
            settled = np.array(found, np.int64)[of_row]
            changed[column] = settled[:, 0]
            for k, name in enumerate(kept):
                changed[name] = codes[k] + settled[:, k + 1] - steps[k]
        return changed

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
    ) -> list[tuple[IntArray, bool, Law | None]]:
        """Return rows that show numbers beyond the window: whether above, and their law there.

        codes [n_rows] are those of the numbers; the law is None where live ones depend on it.
        """
        beyond = marked(self.is_beyond(codes))
        others = [name for name in self.wide.groups[group] if name in live]
        steps = [self._steps(column[beyond]) for column in (codes, *map(frame.__getitem__, others))]
        first, of_row = distinct_rows([frame[state_column(group)][beyond], *steps])
        found = []
        for k, row in enumerate(first.tolist()):
            state = int(frame[state_column(group)][beyond[row]])
            step, *rest = (int(column[row]) for column in steps)
            found.append((beyond[of_row == k], step > 0, self.states.shown(state, step, rest)))
        return found

    def arrived(
        self, target: str, drawn: IntArray, frame: Frame, live: Sequence[str]
    ) -> tuple[IntArray, IntArray, dict[str, IntArray]]:
        """Return the target's codes after a draw, what was drawn, and the columns that change.

        All columns are of the shape [n_rows].

        What was drawn is the same for two states if their numbers may be equal from there on: a
        value in the window, or the level it stands on and whether others do.
        """
        group = self.wide.group_of(target)
        column = state_column(group)
        others = [n for n in self.wide.groups[group] if n in live and n != target]
        beyond = marked(drawn >= FIRST_ARRIVAL)
        beyond = beyond[drawn[beyond] < PLAIN]
        read = [column, *others] if column in live else []
        changed = {name: frame[name].copy() for name in read}
        codes, results = drawn.copy(), drawn.copy()
        known = codes[(codes < FIRST_ARRIVAL) | (codes >= PLAIN)]
        needed = with_codes(self.window, known, self.table)
        if needed != self.window:
            raise WindowTooSmall(needed)
        numbers, of_row = np.unique(drawn[beyond] - FIRST_ARRIVAL, return_inverse=True)
        for k, number in enumerate(numbers.tolist()):
            arrival, rows = self.states.arrivals[number], beyond[of_row == k]
            end, sign = (self.window.high, 1) if arrival.is_above else (self.window.low, -1)
            place = end + sign * arrival.level
            codes[rows] = place
            result = Beyond(arrival.is_above, end, arrival.level, arrival.is_shared)
            results[rows] = self.table.code(result)
            if read:
                changed[column][rows] = arrival.state
            for name in () if arrival.is_shared else read[1:]:
                here = changed[name][rows]
                moves = (sign * here >= sign * place) & (here < PLAIN)
                changed[name][rows] = here + sign * moves
        return codes, results, changed


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
