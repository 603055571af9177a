"""How to check: what a run is asked to do, and the options that the results of a file depend on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.limits import RunLimits
from dpcheck.pipeline.files import ModelPath
from dpcheck.records import dataclass

if TYPE_CHECKING:
    from dpcheck.explain import Detail

EXPLAINED_IN_FULL = 5
"""So many violated claims are explained in full for people: whoever reads more runs a selection."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to check: `definitions` are texts `NAME=VALUE`; `limits` are those of the run.

    With `strict_vacuity`, a claim that says nothing counts as one that is not as claimed; without
    `allow_empty`, a run without claims is a mistake. `standard_input` is what `-` stands for.
    Violated claims are explained as `explain` says, in full the first `n_explained` (None: all).
    With `has_portraits`, every target is told with its pictures; with `has_witnesses`, answers come
    with evidence, with `has_opinions` with what the reference interpreter says; with `measures`,
    every target with what it costs, the quantities among it that are named for a file, by where it
    really is, and a target. `cache` is the directory of results.
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

    def shaping(self, path: ModelPath) -> str:
        """Return the options that the results of a file depend on."""
        measures = None if self.measures is None else self.measures.get(str(path.real), {})
        chosen = self.definitions, self.select, self.strict_vacuity
        explained = self.explain, self.n_explained
        return repr((*chosen, *explained, self.has_portraits, measures))

    def detail(self, n_explained: int) -> Detail:
        """Return in which detail to explain a claim after so many others about its target.

        Of a whole run fewer are shown in full, but none depends on what other targets came to.
        """
        is_late = self.n_explained is not None and n_explained >= self.n_explained
        return "short" if self.explain == "full" and is_late else self.explain
