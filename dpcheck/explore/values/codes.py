"""Values as int64 codes: one column a variable, one row a state.

An integer v with |v| < 2^61 is its own code. Every other value gets a code from a `ValueTable`:
at least 2^61, with `false` and `true` fixed, and at least 2^62 for a *fault*, the value of an
expression that has none (it spreads through every operation that needs it). Equal values have
equal codes and different values different ones, so columns are compared without looking at values.
Tuples and arrays are known by the codes of their cells: a million of them are numbered at once, and
made only if somebody looks at them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from copy import deepcopy
from itertools import repeat

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.exact import ExpNumber, Number, Param, Rational
from dpcheck.explore.values.growing import Growing
from dpcheck.explore.values.state_table import StateTable
from dpcheck.limits import Limits
from dpcheck.model.evaluation import Fault
from dpcheck.model.values import ArrayValue, SetValue, Value, in_one_order, value_key
from dpcheck.records import dataclass, field

PLAIN = 2**61
"""Integers below it in size are their own codes; sums of two codes do not wrap."""
FALSE = PLAIN
TRUE = PLAIN + 1
FIRST_FAULT = 2**62
"""Codes from here on stand for faults of evaluation."""
UNASSIGNED = FIRST_FAULT
"""The code of a variable that was never assigned; reading it is a fault."""


@dataclass
class ParamWeights:
    """What the weights of one exploration depend on.

    `vanishing` are those, and what they leave to 1, that are 0 for some value of a `param`; where
    one is, the graph of runs is another. `by_unit` has one weight for each r whose e^r occurs.
    """

    param: tuple[Param, bool] | None = None
    has_exp: bool = False
    vanishing: dict[Number, None] = field(default_factory=dict)
    by_unit: dict[Rational, ExpNumber] = field(default_factory=dict)


class ValueTable:
    """The values behind the codes of one exploration.

    >>> table = ValueTable()
    >>> table.code(7), table.code(True) == TRUE, table.value(table.code((1, 2)))
    (7, True, (1, 2))
    """

    def __init__(self, limits: Limits | None = None) -> None:
        """Start with the Booleans, and the fault of reading an unassigned variable.

        Within `limits` new values are computed: see `check_time`.
        """
        self.limits = Limits() if limits is None else limits
        self._values: list[Value | None] = [False, True]
        self._codes: dict[Hashable, int] = {value_key(False): FALSE, value_key(True): TRUE}
        self._faults: list[Fault] = [Fault("empty", "a variable that was never assigned", ())]
        self._shapes: dict[tuple[int | None, int], _Shape] = {}
        self._runs: list[_Run] = []
        self.weights = ParamWeights()

    def copied(self) -> ValueTable:
        """Return a table with the same values, to which others are added than to this one."""
        made = ValueTable(self.limits)
        made._values, made._codes = self._values.copy(), self._codes.copy()
        made._faults = self._faults.copy()
        made._shapes, made._runs = deepcopy((self._shapes, self._runs))
        return made

    def check_time(self) -> None:
        """Raise `LimitReached` after the deadline: for loops that compute values one by one."""
        if self.limits.deadline is not None:
            self.limits.check_time(f"{len(self._values)} values computed")

    def code(self, value: Value) -> int:
        """Return the code of a value."""
        if type(value) is int and -PLAIN < value < PLAIN:
            return value
        if isinstance(value, tuple | ArrayValue) and (items := _items(value)):
            lo = value.lo if isinstance(value, ArrayValue) else None
            return int(self.packed(lo, [np.array([self.code(item)]) for item in items])[0])
        key = value_key(value)
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = PLAIN + len(self._values)
            # Or the order would be that of the first set with these elements that some run met.
            self._values.append(in_one_order(value) if isinstance(value, SetValue) else value)
        return found

    def packed(self, lo: int | None, cells: Sequence[IntArray]) -> IntArray:
        """Return the codes [n_rows] of tuples (`lo` is None) or of arrays that begin at `lo`.

        cells: at least one column of codes [n_rows], without faults.
        """
        shape = self._shapes.setdefault((lo, len(cells)), _Shape(lo, len(cells)))
        numbers, new = shape.rows.numbers(cells)
        if len(new):
            first = len(self._values)
            self._runs.append(_Run(first, shape, shape.rows.n_rows - len(new)))
            self._values.extend(repeat(None, len(new)))
            shape.extend(PLAIN + first + np.arange(len(new)))
        return shape.codes[numbers]

    def fault(self, fault: Fault) -> int:
        """Return a code for a fault."""
        self._faults.append(fault)
        return FIRST_FAULT + len(self._faults) - 1

    def value(self, code: int) -> Value:
        """Return the value behind a code; the caller knows that it is no fault."""
        if code < PLAIN:
            return int(code)
        assert code < FIRST_FAULT, "a fault is no value"
        place = code - PLAIN
        value = self._values[place]
        if value is None:
            run = self._runs[bisect_right(self._runs, place, key=lambda run: run.first) - 1]
            cells = run.shape.cells(run.first_row + place - run.first)
            value = self._values[place] = run.shape.made([self.value(cell) for cell in cells])
        return value

    def fault_of(self, code: int) -> Fault:
        """Return the fault behind a code."""
        return self._faults[code - FIRST_FAULT]

    def codes(self, values: Iterable[Value]) -> IntArray:
        """Return the codes of many values, [n_values]."""
        if isinstance(values, range) and -PLAIN < values.start <= values.stop <= PLAIN:
            return np.arange(values.start, values.stop, values.step, dtype=np.int64)
        return np.array([self.code(value) for value in values], np.int64)

    def values(self, codes: IntArray) -> list[Value]:
        """Return the values of many codes [n]."""
        return [self.value(code) for code in codes.tolist()]


class _Shape:
    """All tuples of one length, or arrays of one index range: their cells, and their codes."""

    def __init__(self, lo: int | None, width: int) -> None:
        self.lo = lo
        self.rows = StateTable(width)
        self._codes = Growing()

    @property
    def codes(self) -> IntArray:
        """The code of each row, [n_rows]."""
        return self._codes.values

    def extend(self, codes: IntArray) -> None:
        """Add the codes of new rows, [n]."""
        self._codes.extend(codes)

    def cells(self, row: int) -> list[int]:
        """Return the codes of a row's cells."""
        return [int(column[row]) for column in self.rows.columns]

    def made(self, items: list[Value]) -> Value:
        """Return the tuple or array of some values."""
        return tuple(items) if self.lo is None else ArrayValue(self.lo, tuple(items))


@dataclass(frozen=True)
class _Run:
    """Values from place `first` on: rows of a shape, from `first_row` on."""

    first: int
    shape: _Shape
    first_row: int


def _items(value: tuple[Value, ...] | ArrayValue) -> tuple[Value, ...]:
    return value.items if isinstance(value, ArrayValue) else value


def truth_codes(mask: BoolArray) -> IntArray:
    """Return `TRUE` where the mask [n] is set, `FALSE` elsewhere."""
    return FALSE + mask.astype(np.int64)
