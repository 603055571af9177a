"""Numbers that a claim measures along runs, as functions of what the chain's states remember."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dpcheck.diagnostics.mistakes import Refused
from dpcheck.exact import Number
from dpcheck.limits import Limit
from dpcheck.records import dataclass, field

TOO_FAR: Final = Limit(
    "size",
    unit="errors of numbers without bounds reach beyond the widest window that was tried",
    advice="a larger probability of failure, or output `clamp(..., -20, 20)`",
)
"""What a wider window of shown numbers helps with."""


class ClaimRejected(Refused):
    """The claim cannot be asked of this chain: a mistake of the user."""


@dataclass(frozen=True)
class EndValue:
    """A number at the end of a run: see `explore.explored.at_end` for what `value` takes.

    `positions` are the i-th outputs it asks for; it is a polynomial of at most the given degree in
    the number of outputs, or (None) not known to be one. `value` is None where there is no number.
    """

    positions: tuple[int, ...]
    reads_last: bool
    degree: int | None
    value: Callable[[int, int, Mapping[int, int], int], Number | None]


@dataclass(frozen=True)
class Measures:
    """The numbers that a claim measures, by their keys.

    at_outputs: [n_states], the number where a state outputs one, else None; where it is not known
    exactly, the most that it may be, and at_least the least. at_ends: what the end of a run
    determines.
    """

    at_outputs: Mapping[str, Sequence[Number | None]] = field(default_factory=dict)
    at_least: Mapping[str, Sequence[Number | None]] = field(default_factory=dict)
    at_ends: Mapping[str, EndValue] = field(default_factory=dict)
