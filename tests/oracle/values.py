"""Values of the oracle: plain Python data in which equality is the language's equality.

Numbers are `Fraction`; `true` and `false` are symbols of their own (never Python's `bool`, which
would equal a number); arrays and sets carry their items in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


class OracleError(Exception):
    """The program is wrong where the oracle stands: a mistake of its user."""


class NotCovered(Exception):
    """The oracle does not interpret this construct (it says which)."""


@dataclass(frozen=True)
class Sym:
    """A symbol."""

    name: str

    def __repr__(self):
        return self.name


TRUE = Sym("true")
FALSE = Sym("false")


@dataclass(frozen=True)
class Arr:
    """An array whose first index is `lo`."""

    lo: int
    items: tuple

    def at(self, index):
        if not isinstance(index, Fraction) or index.denominator != 1:
            raise OracleError(f"index {index} is no integer")
        place = int(index) - self.lo
        if not 0 <= place < len(self.items):
            raise OracleError(f"index {index} out of range")
        return self.items[place]

    def with_item(self, index, value):
        self.at(index)
        place = int(index) - self.lo
        return Arr(self.lo, (*self.items[:place], value, *self.items[place + 1 :]))


@dataclass(frozen=True, eq=False)
class FiniteSet:
    """A finite set; equality ignores the order, iteration does not."""

    items: tuple

    def __eq__(self, other):
        return isinstance(other, FiniteSet) and frozenset(self.items) == frozenset(other.items)

    def __hash__(self):
        return hash(frozenset(self.items))


def finite_set(items):
    """Return the set of the items, the first of equal ones kept."""
    return FiniteSet(tuple(dict.fromkeys(items)))


def boolean(value):
    """Return the language's `true` or `false`."""
    return TRUE if value else FALSE


def is_true(value):
    """Return whether a Boolean is true; anything else is a mistake."""
    if value == TRUE:
        return True
    if value == FALSE:
        return False
    raise OracleError(f"{value} is not a Boolean")


def number(value):
    """Return the value if it is a number."""
    if not isinstance(value, Fraction):
        raise OracleError(f"{value} is not a number")
    return value


def integer(value):
    """Return the value as a Python integer if it is one."""
    if not isinstance(value, Fraction) or value.denominator != 1:
        raise OracleError(f"{value} is not an integer")
    return int(value)


def as_text(value):
    """Write a value the way outputs are written: `3/4`, `(top, 2)`, `[1, 0]`.

    >>> as_text((TRUE, Fraction(3, 4)))
    '(true, 3/4)'
    """
    match value:
        case Fraction():
            return str(value)
        case Sym():
            return value.name
        case tuple():
            return "(" + ", ".join(as_text(item) for item in value) + ")"
        case Arr():
            first = "" if value.lo == 1 else f"{value.lo}: "
            return "[" + first + ", ".join(as_text(item) for item in value.items) + "]"
        case FiniteSet():
            return "{" + ", ".join(as_text(item) for item in value.items) + "}"
    raise NotCovered(f"writing {value!r}")
