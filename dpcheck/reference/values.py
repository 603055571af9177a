"""Values of the language, as Python has them: numbers, symbols, tuples, arrays and finite sets."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

Value = Any


class WrongProgram(Exception):
    """The program is wrong where the interpreter stands: a mistake of its user."""


class NotCovered(Exception):
    """The interpreter has no meaning for this; the text says what it is."""


class TooLong(NotCovered):
    """It takes more steps, or time, than there is."""


class Work:
    """How many steps may still be done, and until when: a value of `time.monotonic()`."""

    def __init__(self, steps: int = 50_000, deadline: float | None = None) -> None:
        self.steps, self.deadline = steps, deadline

    def spend(self) -> None:
        """Count a step; raises `TooLong` behind the last one."""
        self.steps -= 1
        if self.steps < 0 or (self.deadline is not None and time.monotonic() > self.deadline):
            raise TooLong("it takes too long")


class Sym(str):
    """A symbol, by its name."""

    __slots__ = ()


TRUE, FALSE = Sym("true"), Sym("false")


class End(Enum):
    """How a run ends, or what is drawn for one that does not.

    That it goes on forever in silence; that it shows more than is followed; that it draws noise
    without bounds that is farther from its center than is looked at.
    """

    STOPPED, DIVERGED, CUT, UNKNOWN = "stopped", "diverged", "cut", "unknown"


@dataclass(frozen=True)
class Arr:
    """An array whose first index is `lo`."""

    lo: int
    items: tuple[Value, ...]

    def place(self, index: Value) -> int:
        """Return where an index stands among the items."""
        found = integer(index) - self.lo
        if not 0 <= found < len(self.items):
            raise WrongProgram(f"index {index} out of range")
        return found

    def with_item(self, index: Value, value: Value) -> Arr:
        """Return the array with another item."""
        k = self.place(index)
        return Arr(self.lo, (*self.items[:k], value, *self.items[k + 1 :]))


@dataclass(frozen=True, eq=False)
class FiniteSet:
    """A finite set; equality ignores the order, iteration does not."""

    items: tuple[Value, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FiniteSet) and frozenset(self.items) == frozenset(other.items)

    def __hash__(self) -> int:
        return hash(frozenset(self.items))


def finite_set(items: Iterable[Value]) -> FiniteSet:
    """Return the set of the items, the first of equal ones kept."""
    return FiniteSet(tuple(dict.fromkeys(items)))


def elements(value: Value) -> tuple[Value, ...]:
    """Return the elements of a set."""
    if not isinstance(value, FiniteSet):
        raise WrongProgram(f"{as_text(value)} is no set")
    return value.items


def in_one_order(value: Value) -> Value:
    """Return a value in which equal sets have one order, that of a set which a run holds."""
    match value:
        case FiniteSet(items):
            return FiniteSet(tuple(sorted(map(in_one_order, items), key=_place)))
        case tuple():
            return tuple(map(in_one_order, value))
        case Arr(lo, items):
            return Arr(lo, tuple(map(in_one_order, items)))
    return value


def _place(value: Value) -> tuple[Any, ...]:
    """Return what sorts the elements of a set: numbers, Booleans, symbols, tuples, arrays."""
    match value:
        case int() | Fraction():
            return 0, value
        case tuple():
            return 3, *map(_place, value)
        case Arr(lo, items):
            return 4, lo, *map(_place, items)
    return (1 if value in (TRUE, FALSE) else 2), as_text(value)


def boolean(value: bool) -> Sym:
    """Return the language's `true` or `false`."""
    return TRUE if value else FALSE


def is_true(value: Value) -> bool:
    """Return whether a Boolean is true; anything else is a mistake."""
    if value not in (TRUE, FALSE):
        raise WrongProgram(f"{as_text(value)} is no Boolean")
    return bool(value == TRUE)


def integer(value: Value) -> int:
    """Return the value as an integer if it is one."""
    if not isinstance(value, int | Fraction) or value.denominator != 1:
        raise WrongProgram(f"{as_text(value)} is no integer")
    return int(value)


_WORDS = """import const fun dist mechanism chain check refute compute input public adjacent var
while repeat run stop output state init observe if then else for in where ln div mod
forall exists normalized clamped conditioned folded wrapped param query prior unbounded"""
KEYWORDS = frozenset(_WORDS.split())
QUOTED = KEYWORDS | {*"PDXFGUWRE", "stopped", "diverged"}
"""Symbols that are written in quotes."""


def as_text(value: Value) -> str:
    """Write a value the way outputs are written: `3/4`, `(top, 2)`, `[1, 0]`.

    >>> as_text((TRUE, Fraction(3, 4))), as_text(Sym("a b"))
    ('(true, 3/4)', '"a b"')
    """
    match value:
        case int() | Fraction():
            return str(value)
        case Sym():
            is_plain = re.fullmatch(r"[^\W\d]\w*", value) and value not in QUOTED
            return str(value) if is_plain else f'"{value}"'
        case tuple():
            return "(" + ", ".join(map(as_text, value)) + ")"
        case Arr(lo, items):
            return "[" + ("" if lo == 1 else f"{lo}: ") + ", ".join(map(as_text, items)) + "]"
        case FiniteSet(items):
            known = {x for x in items if isinstance(x, int | Fraction) and x.denominator == 1}
            if 1 < len(items) == len(known) == max(known) - min(known) + 1:
                return f"{min(known)}..{max(known)}"
            return "{" + ", ".join(map(as_text, items)) + "}"
    raise NotCovered("writing a number with e or ln")
