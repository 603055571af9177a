"""Values as int64 codes: one column a variable, one row a state.

An integer v with |v| < 2^61 is its own code. Every other value gets a code from a `ValueTable`:
at least 2^61, with `false` and `true` fixed, and at least 2^62 for a *fault*, the value of an
expression that has none (it spreads through every operation that needs it). Equal values have
equal codes and different values different ones, so columns are compared without looking at values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.model.evaluation import Fault
from dpcheck.model.values import Value, value_key

PLAIN = 2**61
FALSE = PLAIN
TRUE = PLAIN + 1
FIRST_FAULT = 2**62
UNASSIGNED = FIRST_FAULT
"""The code of a variable that was never assigned; reading it is a fault."""


class ValueTable:
    """The values behind the codes of one exploration.

    >>> table = ValueTable()
    >>> table.code(7), table.code(True) == TRUE, table.value(table.code((1, 2)))
    (7, True, (1, 2))
    """

    def __init__(self) -> None:
        """Start with the Booleans, and the fault of reading an unassigned variable."""
        self._values: list[Value] = [False, True]
        self._codes: dict[Hashable, int] = {value_key(False): FALSE, value_key(True): TRUE}
        self._faults: list[Fault] = [Fault("empty", "a variable that was never assigned", ())]

    def code(self, value: Value) -> int:
        """Return the code of a value."""
        if type(value) is int and -PLAIN < value < PLAIN:
            return value
        key = value_key(value)
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = PLAIN + len(self._values)
            self._values.append(value)
        return found

    def fault(self, fault: Fault) -> int:
        """Return a code for a fault."""
        self._faults.append(fault)
        return FIRST_FAULT + len(self._faults) - 1

    def value(self, code: int) -> Value:
        """Return the value behind a code; the caller knows that it is no fault."""
        if code < PLAIN:
            return int(code)
        assert code < FIRST_FAULT, "a fault is no value"
        return self._values[code - PLAIN]

    def fault_of(self, code: int) -> Fault:
        """Return the fault behind a code."""
        return self._faults[code - FIRST_FAULT]

    def codes(self, values: Iterable[Value]) -> IntArray:
        """Return the codes of many values."""
        if isinstance(values, range) and -PLAIN < values.start <= values.stop <= PLAIN:
            return np.arange(values.start, values.stop, values.step, dtype=np.int64)
        return np.array([self.code(value) for value in values], np.int64)

    def values(self, codes: IntArray) -> list[Value]:
        """Return the values of many codes."""
        return [self.value(code) for code in codes.tolist()]


def truth_codes(mask: BoolArray) -> IntArray:
    """Return `TRUE` where the mask is set, `FALSE` elsewhere."""
    return FALSE + mask.astype(np.int64)
