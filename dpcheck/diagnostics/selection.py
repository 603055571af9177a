"""Mistakes about the states a claim is for, seen once the chain is there (DP69x)."""

from __future__ import annotations

from typing import ClassVar

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.records import dataclass

_LISTED = 8


@dataclass(frozen=True)
class AtSelectsNothing(Mistake):
    """The condition after `at` holds at no initial state."""

    condition: str

    code: ClassVar[str] = "DP691"
    title_text: ClassVar[str] = "no initial state satisfies `{self.condition}`"
    explanation: ClassVar[str] = """\
`at` restricts a claim to the initial states where a condition holds. Here it holds at none, so the
claim would be about nothing.

Wrong: check survey at x = pos & x = neg : P>=3/4 [ F Y ]
Right: check survey at x = pos : P>=3/4 [ F Y ]
"""


@dataclass(frozen=True)
class SeveralStates(Mistake):
    """`P=?` or `E=?` is asked where several states are possible.

    `word` is which of the two, and `states` lists them.
    `condition` picks the first of them, as one writes it after `at`, where that is known.
    """

    states: tuple[str, ...]
    word: str
    condition: str | None = None

    code: ClassVar[str] = "DP692"
    help_text: ClassVar[str] = "say which one, such as `at {self.condition}`"
    explanation: ClassVar[str] = """\
`P=? [ path ]` and `E=? [ value ]` are about the runs from one state. Where several states are
initial, `at` says which one is meant.

Wrong: compute survey: P=? [ F Y ]
Right: compute survey at x = pos : P=? [ F Y ]
"""

    @property
    def title(self) -> str:
        """How many states."""
        return f"`{self.word}` needs one state, but {len(self.states)} are possible"

    @property
    def notes(self) -> tuple[str, ...]:
        """The states."""
        listed = [f"`{state}`" for state in self.states[:_LISTED]]
        if len(self.states) > _LISTED:
            listed.append(f"and {len(self.states) - _LISTED} more")
        return (f"the states: {', '.join(listed)}",)
