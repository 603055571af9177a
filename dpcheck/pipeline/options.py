"""How to check: what a run is asked to do, and the options that the results of a file depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.limits import RunLimits
from dpcheck.pipeline.sources.files import ModelPath
from dpcheck.records import dataclass

if TYPE_CHECKING:
    from dpcheck.explain import Detail

EXPLAINED_IN_FULL = 5
"""So many violated claims are explained in full for people: whoever reads more runs a selection."""


Piece = Callable[[], Any]
"""Work that can be done in any process: what it returns can be told."""

Spread = Callable[[Sequence[Piece]], Iterator[Any]]
"""Does pieces of work anywhere and in any order, and yields what they return in their own order."""


def in_place(pieces: Sequence[Piece]) -> Iterator[Any]:
    """Yield what pieces of work return, done here and one after the other."""
    return (piece() for piece in pieces)


@dataclass(frozen=True)
class Options:
    """How to check: `definitions` are texts `NAME=VALUE`; `limits` are those of the run.

    Every name that is defined must be declared in some file, but for those of `optional`.

    With `strict_vacuity`, a claim that says nothing counts as one that is not as claimed; without
    `allow_empty`, a run without claims is a mistake. `standard_input` is what `-` stands for.
    Violated claims are explained as `explain` says, in full the first `n_explained` (None: all).
    With `has_portraits`, every target is told with its pictures; with `has_witnesses`, answers come
    with evidence, with `has_opinions` with what the reference interpreter says; with `measures`,
    every target with what it costs, the quantities among it that are named for a file, by where it
    really is, and a target. `cache` is the directory of results.
    The command line works with so many processes as there are `jobs`; `spread` does pieces of one
    claim's work in so many of them, each with so much memory. Of files that are not among
    those `changed`, and import none of them, nothing is told.
    """

    definitions: tuple[str, ...] = ()
    select: str | None = None
    limits: RunLimits = RunLimits()
    strict_vacuity: bool = False
    allow_empty: bool = False
    standard_input: bytes | None = None
    explain: Detail = "full"
    n_explained: int | None = EXPLAINED_IN_FULL
    has_portraits: bool = False
    has_witnesses: bool = False
    has_opinions: bool = False
    measures: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None
    cache: Path | None = None
    jobs: int = 1
    spread: Callable[[Sequence[Piece], int, int | None], Iterator[Any]] | None = None
    changed: frozenset[str] | None = None
    optional: frozenset[str] = frozenset()

    def shaping(self, path: ModelPath) -> str:
        """Return the options that the results of a file depend on."""
        measures = None if self.measures is None else self.measures.get(str(path.real), {})
        chosen = self.definitions, self.select, self.strict_vacuity
        explained = self.explain, self.n_explained
        return repr((*chosen, *explained, self.has_portraits, measures))

    def spread_over(self, n_parts: int) -> Spread:
        """Return how to do pieces of work beside so many parts that are checked side by side."""
        jobs = self.jobs // max(1, n_parts)
        if self.spread is None or jobs < 2:
            return in_place
        spread, max_memory = self.spread, self.limits.max_memory
        return lambda pieces: spread(pieces, jobs, max_memory)

    def detail(self, n_explained: int) -> Detail:
        """Return in which detail to explain a claim after so many others about its target.

        Of a whole run fewer are shown in full, but none depends on what other targets came to.
        """
        is_late = self.n_explained is not None and n_explained >= self.n_explained
        return "short" if self.explain == "full" and is_late else self.explain


@dataclass(frozen=True)
class Overviewed:
    """Which overview is asked for: some quantities of one `target` of a file, or of all of them.

    Inputs are compared up to a `distance` of the neighbor graph.
    """

    path: str
    target: str | None
    distance: int
    options: Options
    quantities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """One of several parts of a file that are checked side by side: from 0, of so many.

    The last one tells what is to be told of whole targets.
    """

    number: int = 0
    of: int = 1

    @property
    def is_last(self) -> bool:
        """Return whether no part is behind it."""
        return self.number == self.of - 1

    def bounds(self, targets: Sequence[str]) -> tuple[int, int]:
        """Return the first claim of this part and the one behind its last, by all their targets.

        Claims about a target that stand together stay together: its chain is explored once.

        >>> [Part(k, 3).bounds(["a", "a", "a", "b", "c", "c"]) for k in range(3)]
        [(0, 3), (3, 4), (4, 6)]
        """
        return self._begin(self.number, targets), self._begin(self.number + 1, targets)

    def n_busy(self, targets: Sequence[str]) -> int:
        """Return how many parts have claims, by the targets of all claims.

        >>> Part(0, 8).n_busy(["a", "a", "a", "b"])
        2
        """
        bounds = [Part(k, self.of).bounds(targets) for k in range(self.of)]
        return sum(first < last for first, last in bounds)

    def _begin(self, number: int, targets: Sequence[str]) -> int:
        place = len(targets) * number // self.of
        while 0 < place < len(targets) and targets[place] == targets[place - 1]:
            place += 1
        return place


WHOLE = Part()
"""A file that is not taken apart."""
