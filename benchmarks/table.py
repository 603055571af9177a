"""What was measured, and the tables that are made of it."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

MARKS = "<!-- table: begin -->", "<!-- table: end -->"
STORM_TOOLS = ("storm-exact", "storm-sound")
SHOWN_AS_WHOLE = ("dpcheck", "storm-sound")
ENOUGH_RUNS = 5
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Run:
    """One finished job: seconds by the clock and of the processor, peak memory, the answer."""

    seconds: float
    cpu: float
    peak_mib: float
    answer: str


@dataclass
class Series:
    """All runs of one tool on one job; `problem` says why there are none.

    `whole` is the seconds of whole processes. `is_built` tells whether Storm's model was built.
    """

    way: str
    runs: list[Run] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    problem: str | None = None
    is_built: bool = False

    @property
    def median(self) -> float:
        """The median of the seconds of the job."""
        return statistics.median(run.seconds for run in self.runs)

    def is_short(self, limit: float) -> bool:
        """Return whether it went well, and so fast that it is repeated."""
        return self.problem is None and bool(self.runs) and self.runs[0].seconds < limit


@dataclass(frozen=True)
class Timing:
    """What all tools took for one job."""

    name: str
    family: str
    series: dict[str, Series]

    @staticmethod
    def from_record(record: dict[str, Any]) -> Timing:
        """Return the timing that `asdict` made a record of."""
        series = {
            tool: Series(**{**one, "runs": [Run(**run) for run in one["runs"]]})
            for tool, one in record["series"].items()
        }
        return Timing(record["name"], record["family"], series)

    def of(self, tool: str) -> Series:
        """Return the runs of a tool that may not have taken part."""
        return self.series.get(tool, Series(tool, problem="-"))

    def other_answers(self) -> Iterator[tuple[str, str]]:
        """Yield the tools whose answer is not that of the first tool, with theirs."""
        answers = [(t, run.answer) for t, series in self.series.items() for run in series.runs]
        for tool, answer in dict.fromkeys(answers):
            if answer != answers[0][1]:
                yield tool, answer


class Settings(Protocol):
    """How it was measured."""

    repeat: int
    cap: float


COLUMNS = (
    *("job", "dpcheck s", "MiB", "Storm exact s", "ratio", "MiB"),
    *("Storm sound s", "ratio", "MiB"),
    *("whole process: dpcheck s", "Storm sound s"),
)
HEADER = (f"| {' | '.join(COLUMNS)} |", "|---|" + "--:|" * (len(COLUMNS) - 1))


def row(timing: Timing, cap: float) -> str:
    """Return one line: medians, and ratios of the runs side by side with their spread."""
    ours, exact = timing.of("dpcheck"), timing.of("storm-exact")
    sound = timing.of("storm-sound")
    wrong = dict(timing.other_answers())
    cells = [
        timing.name,
        *(seconds_text(ours, cap, wrong.get("dpcheck")), memory_text(ours)),
        *(seconds_text(exact, cap, wrong.get("storm-exact")), ratio_text(exact, ours)),
        memory_text(exact),
        *(seconds_text(sound, cap, wrong.get("storm-sound")), ratio_text(sound, ours)),
        memory_text(sound),
        *(whole_text(timing.of(tool)) for tool in SHOWN_AS_WHOLE),
    ]
    return f"| {' | '.join(cells)} |"


def seconds_text(series: Series, cap: float, wrong: str | None = None) -> str:
    """Return the median and the way, marked where it is of fewer than five runs or says otherwise.

    Nothing is extrapolated: a job that was stopped did not finish, and where.
    """
    if not series.runs:
        match series.problem:
            case "time":
                is_storm, step = series.way != "dpcheck", "" if series.is_built else ", building"
                return f"did not finish in {cap:g} s{step if is_storm else ''}"
            case "memory":
                return "out of memory"
            case other:
                return other or "-"
    wrong = wrong or next((r.answer for r in series.runs if r.answer == UNDECIDED), None)
    way = "".join(f" {word}" for word in series.way.split("-")[2:])
    count = "" if len(series.runs) >= ENOUGH_RUNS else f" ({len(series.runs)})"
    return f"{series.median:.3g}{way}{count}" + (f", says {wrong}" if wrong else "")


def memory_text(series: Series) -> str:
    """Return the largest peak memory in MiB."""
    return f"{max(run.peak_mib for run in series.runs):.0f}" if series.runs else "-"


def whole_text(series: Series) -> str:
    """Return the median of whole processes, interpreter and imports included."""
    return f"{statistics.median(series.whole):.3g}" if series.whole else "-"


def ratio_text(theirs: Series, ours: Series) -> str:
    """Return how many times longer the other tool takes: median [least .. most]."""
    if not (theirs.runs and ours.runs):
        return "-"
    ratios = [a.seconds / b.seconds for a, b in zip(theirs.runs, ours.runs, strict=False)]
    return f"{theirs.median / ours.median:.3g} [{min(ratios):.2g} .. {max(ratios):.2g}]"


# --- a line a family -------------------------------------------------------------------------


def family_rows(timings: list[Timing]) -> list[str]:
    """Return, for each family, the least and the greatest ratio over its jobs."""
    families = dict.fromkeys(timing.family for timing in timings)
    lines = [
        "| family | jobs | exact / dpcheck | sound / dpcheck |",
        "|---|--:|--:|--:|",
    ]
    for family in families:
        jobs = [timing for timing in timings if timing.family == family]
        cells = [family_ratio(jobs, tool) for tool in STORM_TOOLS]
        lines.append(f"| {family} | {len(jobs)} | {' | '.join(cells)} |")
    return lines


def family_ratio(jobs: list[Timing], tool: str) -> str:
    """Return the spread of a tool's ratios over jobs, and how many jobs it did not finish."""
    ratios = [
        job.of(tool).median / job.of("dpcheck").median
        for job in jobs
        if job.of(tool).runs and job.of("dpcheck").runs
    ]
    unfinished = sum(1 for job in jobs if job.of(tool).problem in {"time", "memory"})
    parts = []
    if ratios:
        is_one = len(ratios) == 1
        parts.append(f"{ratios[0]:.3g}" if is_one else f"{min(ratios):.3g} .. {max(ratios):.3g}")
    if unfinished:
        parts.append(f"{unfinished} not finished")
    return ", ".join(parts) or "-"


# --- the whole text --------------------------------------------------------------------------


def printed_table(timings: list[Timing], names: list[str], settings: Settings) -> str:
    """Return the tables, with the machine that made them and how much of the suite they are."""
    missing = [name for name in names if name not in {timing.name for timing in timings}]
    settings_line = (
        f"Medians of {settings.repeat} runs of jobs under 20 s, one run of others; "
        f"cap {settings.cap:g} s; {len(timings)} of {len(names)} jobs."
    )
    lines = [
        f"{machine()}. {settings_line}",
        "",
        *family_rows(timings),
        "",
        *HEADER,
        *(row(timing, settings.cap) for timing in timings),
    ]
    if missing:
        lines += ["", f"Not started: {', '.join(missing)}."]
    return "\n".join(lines)


def machine() -> str:
    """Return what made the table: processor, memory and versions."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ("dpcheck", "stormpy", "numpy", "python-flint")
    versions = ", ".join(f"{name} {installed(name)}" for name in packages)
    return (
        f"{processor()}, {os.cpu_count()} cores ({platform.machine()}), {pages:.0f} GiB, "
        f"Python {platform.python_version()}, {versions}"
    )


def processor() -> str:
    """Return the processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown processor")


def installed(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def replace_table(path: Path, text: str) -> None:
    """Replace what stands between the marks of a file, and nothing else."""
    before, _, rest = path.read_text().partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    path.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}")
