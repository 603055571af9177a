"""Which of a tool's ways to do a job is the fastest, and which need not be tried.

Storm's way that was fastest on the last job of a family is tried first. Where it does not finish,
or no way did on that smaller job (then the default is tried), the others are not: five ways would
take half an hour to say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from benchmarks.instances import Instance
from benchmarks.processes import add_run
from benchmarks.table import Series, Timing, machine

WAYS: dict[str, tuple[str, ...]] = {
    "dpcheck": ("dpcheck",),
    "storm-exact": (
        *("storm-exact-acyclic", "storm-exact-elimination", "storm-exact-eigen", "storm-exact"),
        "storm-exact-forward",
    ),
    "storm-sound": ("storm-sound", "storm-sound-forward"),
}
FOR_CYCLES = ("storm-exact-elimination", "storm-exact-eigen")
SLACK = 2.0  # seconds over the best way so far that another way may take

Favorites = dict[tuple[str, str], str]
"""The first way to try, by family and tool."""


class Ways:
    """What is known of the ways: the favorites, and what ran into the cap before."""

    def __init__(self, cap: float, favorites: Favorites, unfinished: Path | None) -> None:
        """Read what an earlier run noted as unfinished, if it had the same cap and machine."""
        self._cap = cap
        self._favorites = favorites
        self._file = unfinished
        self._circumstances = f"{machine()}; cap {cap:g} s"
        self._unfinished: dict[str, tuple[str, bool]] = {}
        if unfinished is not None and unfinished.exists():
            record = json.loads(unfinished.read_text())
            if record["circumstances"] == self._circumstances:
                self._unfinished = {name: (p, b) for name, (p, b) in record["ways"].items()}

    def fastest(self, tool: str, instance: Instance, folder: Path) -> Series:
        """Return the way of a tool that is fastest on a job, with its first run."""
        tried: dict[str, Series] = {}
        favorite = self._favorites.get((instance.family, tool))
        for way in sorted(WAYS[tool], key=lambda way: way != favorite):
            if is_needless(way, tried, favorite, instance):
                continue
            best = min((one.median for one in tried.values() if one.runs), default=self._cap)
            tried[way] = self._first_run(way, instance.name, folder, min(self._cap, best + SLACK))
        finished = [series for series in tried.values() if series.runs]
        if not finished:
            self._favorites[instance.family, tool] = tool
            return list(tried.values())[-1]
        fastest = min(finished, key=lambda series: series.median)
        self._favorites[instance.family, tool] = fastest.way
        return fastest

    def _first_run(self, way: str, name: str, folder: Path, limit: float) -> Series:
        series = Series(way)
        key = f"{name} {way}"
        if key in self._unfinished:
            series.problem, series.is_built = self._unfinished[key]
            return series
        add_run(series, name, folder, limit)
        if limit >= self._cap and series.problem in {"time", "memory"}:
            self._unfinished[key] = series.problem, series.is_built
            self._note()
        return series

    def _note(self) -> None:
        if self._file is not None:
            record = {"circumstances": self._circumstances, "ways": self._unfinished}
            self._file.write_text(json.dumps(record, indent=1))


def is_needless(
    way: str, tried: dict[str, Series], favorite: str | None, instance: Instance
) -> bool:
    """Return whether a way cannot do a job, or need not be tried after others."""
    if way.endswith("-forward") and not instance.is_all_ends:
        return True
    stopped = [one for one in tried.values() if one.problem in {"time", "memory"}]
    if any(one.way == favorite or not one.is_built for one in stopped):
        return True  # all ways build the same model
    acyclic = tried.get("storm-exact-acyclic")
    # It took the model, and does the same without a matrix.
    return way in FOR_CYCLES and acyclic is not None and acyclic.problem != "failed"


def favorites_of(timings: Iterable[Timing]) -> Favorites:
    """Return the ways to try first, from the last job of each family."""
    return {
        (timing.family, tool): series.way if series.runs else tool
        for timing in timings
        for tool, series in timing.series.items()
    }
