"""Values of the language: what a variable holds, what an output shows.

Numbers are `int`, non-integral rationals (`fmpq`), or elements of ℚ(e^r) outside ℚ (`ExpNumber`);
`dpcheck.exact` makes them and keeps them in this normal form, so equal numbers are equal objects.
What depends on a `param` is a `ParamNumber` or a `ParamBudget`: weights, budgets and bounds take
it, everything else refuses it.
Python's `True == 1` must never leak: compare values with `same_value` and key them by `value_key`.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator
from typing import Any

from dpcheck import exact
from dpcheck.model.far_numbers import FarNumber, NotForAll, order
from dpcheck.model.words import word_text
from dpcheck.records import dataclass


@dataclass(frozen=True)
class Symbol:
    """A name that stands for itself, such as `Y` or `top`."""

    name: str


@dataclass(frozen=True)
class DistributionName:
    """A `dist` by its name: what a parameter may stand for. No run ever holds one."""

    name: str


@dataclass(frozen=True)
class ArrayValue:
    """An array with a declared index range: item `i` has index `lo + i`."""

    lo: int
    items: tuple[Value, ...]


@dataclass(frozen=True)
class SetValue:
    """A finite set in a fixed order without repeats; integer ranges stay `range` objects."""

    items: tuple[Value, ...] | range

    def __iter__(self) -> Iterator[Value]:
        """Iterate in order."""
        return iter(self.items)

    def __len__(self) -> int:
        """Return the number of elements; for the longest ranges only `size` can."""
        return len(self.items)

    @property
    def size(self) -> int:
        """The number of elements, of any size.

        >>> SetValue(range(10**30)).size == 10**30
        True
        """
        items = self.items
        return items.stop - items.start if isinstance(items, range) else len(items)

    @property
    def has_integers_only(self) -> bool:
        """Whether all elements are integers, and no Booleans."""
        return isinstance(self.items, range) or all(type(each) is int for each in self.items)


INTEGERS = SetValue(range(-(2**62), 2**62 + 1))
"""All integers: the set of an input without bounds. It is too large for any run to list."""


@dataclass(frozen=True)
class Beyond:
    """A number without bounds of which little is known but that it is above, or below, a bound.

    A result of `~` stands on a `level` beyond the bound, `is_shared` with others or not, with what
    is known of the gaps between all levels: a least length, and whether it is that. A number that
    is shown is one of `n_kinds`: far from the bound (1), nearer, or next to it (the last). Or it is
    in a cell that ends with a `last` number. No operator takes such a value: claims compute with a
    `FarNumber` in its place.
    """

    is_above: bool
    bound: int
    level: int = 1
    is_shared: bool = False
    n_kinds: int = 1
    last: int | None = None
    gaps: tuple[tuple[int, bool], ...] = ()

    @property
    def first(self) -> int:
        """The integer next to the bound."""
        return self.bound + (1 if self.is_above else -1)


Number = int | exact.Rational | exact.ExpNumber
Value = (
    bool
    | int
    | exact.Rational
    | exact.ExpNumber
    | exact.ParamNumber
    | exact.Budget
    | Symbol
    | DistributionName
    | tuple["Value", ...]
    | ArrayValue
    | SetValue
    | Beyond
    | FarNumber
)


def stands_for_several(value: Value) -> bool:
    """Return whether a value that is shown stands for several numbers, of which it is one.

    >>> stands_for_several((1, Beyond(True, 5))), stands_for_several(Beyond(True, 5, last=6))
    (True, False)
    """
    match value:
        case tuple(items) | ArrayValue(items=items):
            return any(map(stands_for_several, items))
        case Beyond(first=first, last=last):
            return first != last
        case _:
            return False


def value_key(value: Value) -> Hashable:
    """Return a key that is equal exactly for equal values, Booleans kept apart from numbers.

    >>> value_key(True) == value_key(1), value_key((1, 2)) == value_key((1, 2))
    (False, True)
    """
    match value:
        case bool():
            return (bool, value)
        case tuple():
            return (tuple, tuple(value_key(item) for item in value))
        case ArrayValue():
            return (ArrayValue, value.lo, tuple(value_key(item) for item in value.items))
        case FarNumber():
            raise NotForAll
        case SetValue(items=items):
            return (SetValue, _interval(items) or frozenset(value_key(item) for item in items))
        case _:
            return value


def _interval(items: tuple[Value, ...] | range) -> tuple[int, int] | None:
    """Return the first and last of a set of consecutive integers, None for any other set.

    So `0..10^9` has a short key, and `{1, 0}` the key of `0..1`. Items are distinct, hence they
    are consecutive exactly when their extremes are `len - 1` apart.

    >>> value_key(SetValue((1, 0))) == value_key(SetValue(range(2)))
    True
    """
    if isinstance(items, range):
        return (items.start, items.stop - 1) if items.start < items.stop else None
    if not items or any(type(item) is not int for item in items):
        return None
    low, high = min(items), max(items)  # type: ignore[type-var]
    return (low, high) if high - low == len(items) - 1 else None  # type: ignore[operator,return-value]


def in_one_order(value: SetValue) -> SetValue:
    """Return the set in the order that all equal sets have: numbers first, in ascending order.

    Several consecutive integers are a range, whichever way they were written.

    >>> value_text(in_one_order(SetValue((Symbol("a"), 10, (2, 1), 9))))
    '{9, 10, a, (2, 1)}'
    >>> value_text(in_one_order(SetValue((2, 1)))), value_text(in_one_order(SetValue(range(1))))
    ('1..2', '{0}')
    """
    first, last = _interval(value.items) or (0, 0)
    if first < last:
        return SetValue(range(first, last + 1))
    return SetValue(tuple(sorted(map(as_held, value.items), key=_place)))


def as_held(value: Value) -> Value:
    """Return a value, the sets in it in the order that all equal sets have."""
    match value:
        case SetValue():
            return in_one_order(value)
        case tuple():
            return tuple(map(as_held, value))
        case ArrayValue(lo=lo, items=items):
            return ArrayValue(lo, tuple(map(as_held, items)))
        case _:
            return value


def _place(value: Value) -> tuple[Any, ...]:
    """Return what sorts the elements of a set: the rank of the kind, then the value."""
    match value:
        case bool():
            return 1, value
        case int() | exact.Rational():
            return 0, value
        case tuple():
            return 3, *map(_place, value)
        case ArrayValue(lo=lo, items=items):
            return 4, lo, *map(_place, items)
        case _:
            return 2, value_text(value)


def same_value(left: Value, right: Value) -> bool:
    """Return whether two values are equal; values of different kinds never are.

    Items are all compared, so that each integer beyond a window differs for all its steps.
    """
    match left, right:
        case (tuple(), tuple()):
            return len(left) == len(right) and all([*map(same_value, left, right)])
        case ArrayValue(lo=lo, items=items), ArrayValue(lo=other, items=others):
            return lo == other and same_value(items, others)
        case (tuple() | ArrayValue(), _) | (_, tuple() | ArrayValue()):
            return False
        case (FarNumber(), _) | (_, FarNumber()):
            return _is_number(left) and _is_number(right) and order(left, right) == 0
        case _:
            return value_key(left) == value_key(right)


def _is_number(value: Value) -> bool:
    return isinstance(value, Number | FarNumber) and not isinstance(value, bool)


def value_text(value: Value, taken: Container[str] = ()) -> str:
    """Return a value as the language writes it; no two values are written alike.

    Symbols that are among the names `taken` by something else stand in quotes.

    >>> value_text((Symbol("top"), True)), value_text(SetValue(range(0, 4)))
    ('(top, true)', '0..3')
    >>> value_text(ArrayValue(1, (4, 5))), value_text(ArrayValue(0, (4, 5)))
    ('[4, 5]', '[0: 4, 5]')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case Symbol(name=name):
            return f'"{name}"' if name in taken else word_text(name)
        case DistributionName(name=name):
            return name
        case tuple():
            return f"({_listed(value, taken)})"
        case ArrayValue(lo=lo, items=items):
            first = "" if lo == 1 else f"{lo}: "  # arrays with other indices are other values
            return f"[{first}{_listed(items, taken)}]"
        case SetValue() if value == INTEGERS:
            return "integers"
        case SetValue(items=range() as items) if items:
            return f"{value_text(items[0])}..{value_text(items[-1])}"
        case SetValue(items=items):
            return f"{{{_listed(items, taken)}}}"
        case exact.ParamNumber() | exact.ParamBudget():
            return exact.param_text(value)
        case Beyond(first=first, last=int() as last):
            return f"in {min(first, last)}..{max(first, last)}"
        case Beyond(is_above=is_above, bound=bound, n_kinds=1):
            return f"{'>' if is_above else '<'} {bound}"
        case Beyond(is_above=is_above, bound=bound, level=level, n_kinds=n):
            place = "far" if level == 1 else "just" if level == n else f"{level} of {n}"
            return f"{place} {'above' if is_above else 'below'} {bound}"
        case FarNumber():
            return "a number without bounds"
        case _:
            return exact.exact_text(value)


def _listed(values: Iterable[Value], taken: Container[str]) -> str:
    return ", ".join(value_text(value, taken) for value in values)
