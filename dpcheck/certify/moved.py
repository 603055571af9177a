"""What the evidence of an alignment is made of: numbers that are moved, and what moves them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dpcheck.model.values import Value
from dpcheck.records import dataclass

OPEN = 1 << 40
"""No shift is that large."""


class Draw(NamedTuple):
    """Noise, and the shifts low..high that are left for it; one is left if it is fixed.

    The centers differ by `change`, or by as much as `spread` more if that is not known; `ratio` is
    the number of its ratio, and `name` is drawn.
    """

    change: int
    ratio: int
    name: str
    low: int = -OPEN
    high: int = OPEN
    spread: int = 0

    @property
    def is_fixed(self) -> bool:
        """Return whether one shift is left."""
        return self.low == self.high

    @property
    def moved(self) -> int:
        """How far the noise is moved at least, beyond what its center is; negative: down.

        For whichever difference of the centers that is the farthest.
        """
        up, down = self.low - self.change, self.change + self.spread - self.high
        return max(up, 0) if up >= down else -max(down, 0)

    def at(self, shift: int) -> Draw:
        """Return the draw with its shift fixed."""
        return self._replace(low=shift, high=shift)

    def choices(self, far: int) -> range:
        """Return the shifts to choose from."""
        left = self.within(far)
        return range(left.low, left.high + 1)

    def within(self, far: int) -> Draw:
        """Return the draw without shifts beyond `far`, where there are others: none is cheaper."""
        far = max(far, abs(self.change), abs(self.change + self.spread))
        low, high = max(self.low, -far), min(self.high, far)
        if low <= high:
            return self._replace(low=low, high=high)
        return self.at(self.low if self.low > far else self.high)


@dataclass(frozen=True)
class Moved:
    """A number that differs between the two runs: by `by`, and by n times the shift of draws.

    `draws` are pairs (number of a draw whose shift is not chosen yet, n). `is_noisy` says that a
    draw is in it: other numbers are made of inputs only.
    """

    draws: tuple[tuple[int, int], ...] = ()
    by: int = 0
    is_noisy: bool = False

    def plus(self, other: Moved, times: int = 1) -> Moved:
        """Return the number that is this one and `times` another."""
        total = dict(self.draws)
        for draw, n in other.draws:
            total[draw] = total.get(draw, 0) + times * n
        draws = tuple(sorted((draw, n) for draw, n in total.items() if n != 0))
        is_noisy = self.is_noisy or other.is_noisy
        return Moved(draws, self.by + times * other.by, is_noisy)


@dataclass(frozen=True)
class Items:
    """An array with numbers that differ: item `i` has index `lo + i`."""

    lo: int
    items: tuple[Mixed, ...]


Mixed = Value | Moved | Items | tuple["Mixed", ...]
"""A value that both runs have, a number that is moved, or a collection with such numbers."""


def is_mixed(value: Mixed) -> bool:
    """Return whether a number in the value may differ between the two runs."""
    if isinstance(value, tuple):
        return any(map(is_mixed, value))
    return isinstance(value, Moved | Items)


def numbers_in(value: Mixed) -> list[Moved]:
    """Return the numbers in a value that may differ."""
    match value:
        case Moved():
            return [value]
        case Items(items=items):
            return numbers_in(items)
        case tuple():
            return [number for item in value for number in numbers_in(item)]
        case _:
            return []


def items_of(values: Sequence[Mixed]) -> Sequence[Mixed]:
    """Return the values that a function of several values, or of one collection, takes."""
    match values:
        case [Items(items=items)] | [tuple() as items]:
            return items
        case _:
            return values


def mapped(value: Mixed, change: Callable[[Moved], Moved]) -> Mixed:
    """Return a value with all numbers in it that differ changed."""
    match value:
        case Moved():
            return change(value)
        case Items(lo=lo, items=items):
            return Items(lo, tuple(mapped(item, change) for item in items))
        case tuple():
            return tuple(mapped(item, change) for item in value)
        case _:
            return value
