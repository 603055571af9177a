"""What a `~` may give where its distribution is alike in both runs, by the engine's own code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from dpcheck.align.moves import may_fail, outside
from dpcheck.certify.moved import Mixed, is_mixed
from dpcheck.explore.sampling.distributions import Supports, checked_argument, distributions
from dpcheck.explore.values.codes import FIRST_FAULT, ValueTable
from dpcheck.explore.values.evaluate import Frame
from dpcheck.explore.values.mistakes import MistakeFault
from dpcheck.limits import Limits
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.expressions import reads
from dpcheck.model.program import Distribution
from dpcheck.model.values import Value
from dpcheck.source import Span


class Drawing:
    """Distributions made once for each tuple of their parameters."""

    def __init__(self, limits: Limits) -> None:
        """Start with none."""
        self.table = ValueTable(limits)
        self.supports = Supports(self.table)

    def values(self, distribution: Distribution, known: Mapping[str, Mixed]) -> list[Value]:
        """Return all values of positive probability; raises `Unreadable`."""
        columns = {}
        for name in set(reads(distribution)) & known.keys():
            if is_mixed(known[name]):
                raise outside(distribution.span, "a distribution that depends on inputs")
            columns[name] = np.array([self.table.code(cast("Value", known[name]))])
        numbers = distributions(distribution, Frame(1, columns), self.supports)
        if numbers[0] >= FIRST_FAULT:
            raise may_fail(distribution.span, self.table.fault_of(int(numbers[0])).title)
        return self.table.values(self.supports.drawn(numbers).value)

    def check(self, word: str, arguments: Sequence[Value], span: Span) -> None:
        """Raise `Unreadable` for arguments that noise cannot have."""
        try:
            for parameter, value in zip(DISTRIBUTIONS[word].parameters, arguments, strict=True):
                checked_argument(parameter, value, span, self.table)
        except MistakeFault as fault:
            raise may_fail(span, fault.title) from None
