"""The commands, their arguments and their options."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, assert_never

import click

from dpcheck import __version__
from dpcheck.cli import checking, options
from dpcheck.cli.config import Config
from dpcheck.cli.memory import available_memory
from dpcheck.limits import RunLimits
from dpcheck.records import replace
from dpcheck.report.characters import visible

if TYPE_CHECKING:
    from dpcheck.explain import Detail
    from dpcheck.pipeline.options import Options, Overviewed
    from dpcheck.report.answers import Event
    from dpcheck.report.overview import Overview

T = TypeVar("T")

EXIT_STATUS = """\
\b
Exit status:
  0    every check holds and every refute is violated
  1    one of them is not so, or says nothing and --strict-vacuity is given
  2    the input or the call is wrong (other files are still checked)
  3    something is undecided, and nothing else is wrong
  70   a bug in dpcheck
  130  interrupted (143: by SIGTERM)
"""


class _Commands(click.Group):
    """Commands, where a file alone is meant for `check`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called, and its arguments."""
        name = args[0]
        if name not in self.commands and (name.endswith(".dpm") or Path(name).exists()):
            raise click.UsageError(f"No such command {name!r}. Write: dpcheck check {name}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="dpcheck")
def dpcheck() -> None:
    """Decide exactly whether randomized programs are differentially private.

    A model file describes a mechanism and what is claimed of it; `check` proves every claim or
    shows a counterexample.
    """


# --- check ---------------------------------------------------------------------------------


def _output(text: str) -> tuple[str, str]:
    """Return the format and the file that `FORMAT=FILE` names."""
    form, _, file = text.partition("=")
    if form not in checking.OUTPUTS or not file:
        formats = ", ".join(checking.OUTPUTS)
        raise click.BadParameter(f"{text!r} is not FORMAT=FILE; a format is one of {formats}.")
    return form, file


@dpcheck.command(epilog=EXIT_STATUS, short_help="Check every claim of model files.")
@click.argument("paths", metavar="FILE_OR_DIR...", nargs=-1)
@options.definitions
@click.option(
    "--format",
    "form",
    type=click.Choice(list(checking.OUTPUTS)),
    default="text",
    show_default=True,
    help="How to write the results.",
)
@click.option(
    "--output",
    "files",
    metavar="FORMAT=FILE",
    type=_output,
    multiple=True,
    help="Write the results into a file as well, or more than one; `-` is standard output.",
)
@click.option(
    "--select", metavar="GLOB", help="Check only the claims whose name, target or claim matches."
)
@click.option(
    "--explain",
    type=click.Choice(("full", "short", "none")),
    default="full",
    show_default=True,
    help="How much to say about a claim that is violated; in full for the first five of them.",
)
@options.limits
@click.option(
    "--strict-vacuity",
    is_flag=True,
    help="Let a claim fail that says nothing: no neighbors, atoms never true, sure events.",
)
@click.option("--allow-empty", is_flag=True, help="Let a run pass that has no claims at all.")
@click.option(
    "--witness",
    "witnesses",
    metavar="DIR",
    help="Write a file of evidence for every claim into a directory; `dpcheck verify` checks it.",
)
@click.option(
    "--second-opinion",
    is_flag=True,
    help="Ask an interpreter that shares no code as well: 70 if it ever differs.",
)
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    help="Fail where a mechanism costs more than this file records, or a claim says less.",
)
@click.option(
    "--update-baseline",
    is_flag=True,
    help="Write what mechanisms cost, and what is claimed, into the file of --baseline.",
)
@click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    help="Keep results here.  [default: $XDG_CACHE_HOME/dpcheck, or ~/.cache/dpcheck]",
)
@click.option("--no-cache", is_flag=True, help="Neither read nor keep results.")
@click.option(
    "--changed-since",
    metavar="REV",
    help="Check only files that differ from this commit of git, or import one that does.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Work with so many processes, which share the memory; the output is the same.",
)
@click.option("--no-config", is_flag=True, help="Do not look at [tool.dpcheck] of pyproject.toml.")
@click.option("-q", "--quiet", is_flag=True, help="Print only what is not as claimed.")
def check(
    paths: tuple[str, ...],
    definitions: tuple[str, ...],
    form: str,
    files: tuple[tuple[str, str], ...],
    select: str | None,
    explain: Detail,
    limits: RunLimits,
    strict_vacuity: bool,
    allow_empty: bool,
    witnesses: str | None,
    second_opinion: bool,
    baseline: str | None,
    update_baseline: bool,
    cache_dir: str | None,
    no_cache: bool,
    changed_since: str | None,
    jobs: int,
    no_config: bool,
    quiet: bool,
) -> int:
    """Check every claim of model files, or of all `.dpm` files below a directory.

    `-` is standard input. What the call leaves open, [tool.dpcheck] of pyproject.toml may say.
    """
    config = Config() if no_config else _config()
    paths = _paths(paths, config)
    changed = None if changed_since is None else _changed(changed_since, config)
    settled = _settled(config, paths, definitions, limits, explain, jobs)
    how = replace(
        settled,
        select=select,
        strict_vacuity=strict_vacuity or config.strict_vacuity,
        allow_empty=allow_empty or changed is not None,
        n_explained=settled.n_explained if form == "text" and not files else None,
        has_witnesses=witnesses is not None,
        has_opinions=second_opinion,
        changed=changed,
        cache=None if no_cache else checking.trusted_cache(paths, cache_dir),
    )
    agreed = _baseline(baseline, select, config, is_written=update_baseline)
    return checking.checked(
        paths, how, checking.Report(form, files, quiet, witnesses, agreed, update_baseline)
    )


def _paths(given: tuple[str, ...], config: Config) -> tuple[str, ...]:
    """Return the files and directories to check: of the call, or of the project."""
    if not (found := given or config.paths):
        raise click.UsageError("Missing argument 'FILE_OR_DIR...'.")
    return found


def _settled(
    config: Config,
    paths: tuple[str, ...],
    definitions: tuple[str, ...],
    limits: RunLimits,
    explain: Detail,
    jobs: int,
) -> Options:
    """Return options with what is read, and what the project says where the call leaves it open."""
    from dpcheck.cli.config import limited
    from dpcheck.pipeline.options import Options
    from dpcheck.pipeline.sources.files import STANDARD_INPUT

    return Options(
        (*config.constants, *definitions),
        limits=limited(config, limits, _is_given),
        standard_input=_standard_input() if STANDARD_INPUT in paths else None,
        explain=_given_or("explain", explain, config.explain),
        jobs=_given_or("jobs", jobs, config.jobs and min(config.jobs, os.cpu_count() or 1)),
        optional=config.names - {text.partition("=")[0].strip() for text in definitions},
    )


def _baseline(
    given: str | None, select: str | None, config: Config, *, is_written: bool
) -> str | None:
    """Return the file of agreed costs, if there is one: of the call, or of the project."""
    found = config.baseline if select is None and not _is_given("baseline") else given
    if is_written and found is None:
        raise click.UsageError("--update-baseline needs the file: --baseline FILE.")
    if found is not None and select is not None:
        raise click.UsageError("--baseline is about all claims of a file: leave --select out.")
    return found


def _is_given(name: str) -> bool:
    """Return whether the call says this option itself."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def _given_or(name: str, option: T, setting: T | None) -> T:
    """Return an option as the call gives it, else as the project sets it, else its default."""
    return option if setting is None or _is_given(name) else setting


def _changed(revision: str, config: Config) -> frozenset[str] | None:
    """Return the files that changed, None for all: where the settings of the project changed."""
    from dpcheck.cli.changes import changed_since

    try:
        found = changed_since(revision, Path.cwd())
    except ValueError as wrong:
        raise click.UsageError(f"--changed-since: {wrong}.") from None
    return None if str(config.file) in found else found


def _config() -> Config:
    """Return the settings of the project; a mistake in them is one of the call."""
    from dpcheck.cli.config import WrongConfig, read_config

    try:
        return read_config(Path.cwd())
    except WrongConfig as wrong:
        raise click.UsageError(str(wrong)) from None


def _standard_input() -> bytes:
    """Return what standard input says, no more of it than shows that it is too long."""
    from dpcheck.pipeline.sources.files import MAX_BYTES

    if sys.stdin is None:
        raise click.UsageError("standard input is closed.")
    return sys.stdin.buffer.read(MAX_BYTES + 1)


# --- profile and quantities ----------------------------------------------------------------


@dpcheck.command(short_help="Show delta as a function of epsilon.")
@options.overview
@click.option("--svg", type=click.Path(dir_okay=False), help="Draw the profile into this file.")
@click.option("--csv", type=click.Path(dir_okay=False), help="Write the table into this file.")
def profile(asked: Overviewed, svg: str | None, csv: str | None) -> int:
    """Show the privacy profile of the mechanisms of a file: exact, with pairs and events."""
    from dpcheck.diagnostics.files import WrongCall
    from dpcheck.report.overview import profile_csv, profile_lines, profile_svg

    found, status = _overviews(asked, "profile")
    for each in found:
        checking.show(profile_lines(each))
    drawable = [each for each in found if each.table or each.over_parameter]
    if status and not drawable:
        return status
    if (svg or csv) and len(drawable) != 1:
        names = ", ".join(each.target for each in drawable) or "none"
        reason = f"a file is for one profile; choose one with `--target` ({names})"
        checking.complain([WrongCall(None, reason)])
        return 2
    for place, drawn in ((svg, profile_svg), (csv, profile_csv)):
        if place is not None and not checking.has_written(place, drawn(drawable[0])):
            return 2
    return status


@dpcheck.command(short_help="Show what there is to know about the mechanisms of a file.")
@options.overview
def quantities(asked: Overviewed) -> int:
    """Show one table of exact quantities for all mechanisms of a file."""
    from dpcheck.report.overview import COLUMNS, quantity_lines

    found, status = _overviews(asked, *COLUMNS)
    checking.show(quantity_lines(found))
    return status


@dpcheck.command(short_help="Write exact output distributions as JSON or CSV.")
@click.argument("path", metavar="FILE")
@click.argument("target", metavar="TARGET")
@options.definitions
@click.option("--format", "form", type=click.Choice(["json", "csv"]), default="json")
@options.limits
def pmf(path: str, target: str, definitions: tuple[str, ...], form: str, limits: RunLimits) -> int:
    """Write the exact output distributions of a mechanism, and its neighbors, as a table.

    A model can import such a table as a mechanism.
    """
    from dpcheck.check.values.verdicts import Undecided
    from dpcheck.cli.work import pmf_events
    from dpcheck.diagnostics.mistakes import Mistake
    from dpcheck.report.answers import Crash, Reading
    from dpcheck.report.text import undecided_lines

    constants = dict(_definition(text) for text in definitions)
    status = 0
    for event in pmf_events(path, target, constants, form, limits, checking.say):
        match event:
            case str():
                encoding = sys.stdout.encoding or "utf-8"
                sys.stdout.write(event.encode(encoding, "backslashreplace").decode(encoding))
            case Undecided():
                checking.say(f"undecided: {visible(event.reason)}")
                checking.show(undecided_lines(event, 2), sys.stderr)
                status = 3
            case Crash():
                checking.complain_of_bugs([event])
                status = 70
            case Mistake():
                checking.complain([event])
                status = 2
            case Reading():
                pass
            case _ as never:
                assert_never(never)
    return status


# --- sweep and work ------------------------------------------------------------------------


@dpcheck.command(short_help="Ask the same for all combinations of some values.")
@click.argument("path", metavar="FILE")
@click.option("--target", metavar="TARGET", required=True, help="What is asked about.")
@click.option(
    "--set",
    "sets",
    metavar="NAME=VALUES",
    multiple=True,
    required=True,
    help="Values of a parameter, a constant, or a name in the target or a question: `k=1..20`,"
    " `alpha=1/2,2/3`.",
)
@click.option(
    "--compute", "computes", metavar="QUANTITY", multiple=True, help="A column of values."
)
@click.option("--check", "checks", metavar="CLAIM", multiple=True, help="A column of verdicts.")
@click.option("-o", "output", metavar="FILE", help="Write a file too: .csv, .json or .html.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N")
@click.option(
    "--on",
    metavar="CLUSTER",
    help="Work on dask distributed: `dask` for N workers here, or the address of a scheduler.",
)
@options.definitions
@options.limits
def sweep(
    path: str,
    target: str,
    sets: tuple[str, ...],
    computes: tuple[str, ...],
    checks: tuple[str, ...],
    output: str | None,
    jobs: int,
    on: str | None,
    definitions: tuple[str, ...],
    limits: RunLimits,
) -> int:
    """Ask for all combinations of the values that are set, by N processes.

    Without --compute and --check, epsilon is asked for. With -o, answers are kept beside the file,
    in FILE.units: the same sweep, or a longer one, goes on where it was interrupted.
    """
    from dpcheck.cli.places import Place
    from dpcheck.cli.sweeping import sweep as answer_sweep
    from dpcheck.pipeline.sweep import Asked

    asked = Asked(path, target, sets, computes, checks, definitions, limits)
    return answer_sweep(asked, output, Place(jobs, on))


@dpcheck.command(short_help="Answer units of work, a line each.")
@click.argument("units", metavar="[FILE]", type=click.File("r", "utf-8"), default="-")
def work(units: Iterable[str]) -> int:
    """Answer units of work, JSON objects, one a line: each line comes to a line of results.

    Without FILE, units are read from standard input as they come. `dpcheck sweep` hands its units
    to such processes; `dpcheck.work` is the same from Python.
    """
    from dpcheck.cli.work import unit_answer
    from dpcheck.diagnostics.mistakes import Mistake
    from dpcheck.pipeline.units import read_unit

    status = 0
    for line in units:
        unit = read_unit(line)
        if isinstance(unit, Mistake):
            checking.complain([unit])
            status = 2
        sys.stdout.write(" ".join(unit_answer(line).split("\n")) + "\n")
        sys.stdout.flush()
    return status


def _definition(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value.strip()):
        raise click.BadParameter(f"{text!r} is not NAME=VALUE.", param_hint="'-D'")
    return name.strip(), value.strip()


def _overviews(asked: Overviewed, *quantities: str) -> tuple[list[Overview], int]:
    """Return what is found about targets, and the exit status; complain about what went wrong."""
    from dpcheck.cli.work import overviews
    from dpcheck.report.answers import summary_of
    from dpcheck.report.overview import Overview

    found: list[Overview] = []
    others: list[Event] = []
    for event in overviews(replace(asked, quantities=quantities), checking.say):
        if isinstance(event, Overview):
            found.append(event)
            others += event.mistakes
        else:
            others.append(event)
    summary = summary_of(others)
    checking.complain(summary.mistakes)
    checking.complain_of_bugs(summary.crashes)
    return found, summary.exit_status


# --- evidence ------------------------------------------------------------------------------


@dpcheck.command(short_help="Check files of evidence, with nothing but arithmetic.")
@click.argument("witnesses", metavar="WITNESS...", nargs=-1, required=True)
def verify(witnesses: tuple[str, ...]) -> int:
    """Check the evidence that `check --witness DIR` wrote, without the model.

    Exit status: 0 every file proves what it says, 1 one is rejected, 2 one cannot be read or says
    which evidence it lacks. The code is one file, dpcheck/verify.py, that runs on its own.
    """
    from dpcheck.verify import main

    return main(list(witnesses))


@dpcheck.command(short_help="Derive evidence again from the text of its model.")
@click.argument("witnesses", metavar="WITNESS...", nargs=-1, required=True)
@click.option(
    "--simulate",
    "n_runs",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Draw N runs of each side as well, and show how often the event happens.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Draw other runs.")
def replay(witnesses: tuple[str, ...], n_runs: int, seed: int) -> int:
    """Derive violations again from the models' text, by an interpreter that shares no code.

    Exit status: 0 all are true of their models, 1 one is not, 2 one is not derived again, such as
    evidence that a claim holds, which `dpcheck verify` checks.
    """
    from dpcheck.diagnostics.commands import ModelSaysOtherwise, NoWitness
    from dpcheck.diagnostics.mistakes import Mistake
    from dpcheck.pipeline.evidence.replay import replayed
    from dpcheck.reference import Loaded
    from dpcheck.report.evidence import Replayed, replay_lines

    models: dict[str, Loaded] = {}
    status = 0
    for path in witnesses:
        found = replayed(path, n_runs, seed, models)
        if isinstance(found, Mistake):
            checking.complain([found])
        else:
            for line in replay_lines(found):
                click.echo(visible(line))
        if isinstance(found, ModelSaysOtherwise | NoWitness):
            status = 1
        elif not isinstance(found, Replayed):
            status = status or 2
    return status


# --- list and new --------------------------------------------------------------------------


@dpcheck.command("list", short_help="List the mechanisms that ship with dpcheck.")
def list_library() -> int:
    """List the libraries that ship with dpcheck; `import std.NAME` brings one into a file."""
    from dpcheck.pipeline.sources.library import library
    from dpcheck.report.library import library_lines

    checking.show(library_lines((file.name, file.title) for file in library()))
    return 0


@dpcheck.command(short_help="Write a commented model file to start from.")
@click.argument("name")
def new(name: str) -> int:
    """Write NAME.dpm, a commented model that checks; an existing file is never overwritten."""
    from dpcheck.pipeline.sources.library import write_new_file

    written = write_new_file(name)
    if not isinstance(written, Path):
        checking.complain([written])
        return 2
    click.echo(f"wrote {written}; now: dpcheck check {written}")
    return 0


# --- settings ---------------------------------------------------------------------------------


@dpcheck.command("config", short_help="Show the settings of this project, and where they stand.")
def show_config() -> int:
    """Show what `check` does here where a call says nothing else, and where that comes from."""
    from dpcheck.cli.config import settings

    rows = [*settings(_config(), available_memory()), ("cache-dir", *_cache_setting())]
    widths = [max(len(row[k]) for row in rows) for k in (0, 1)]
    for name, value, origin in rows:
        click.echo(visible(f"{name:{widths[0]}}  {value:{widths[1]}}  {origin}"))
    return 0


def _cache_setting() -> tuple[str, str]:
    """Return where results are kept, and who says so."""
    place = str(checking.cache_directory())
    if checking.trusted_cache([], None) is None:
        return "none", f"{place} lies in what is checked: only --cache-dir names it"
    return place, "$XDG_CACHE_HOME" if os.environ.get("XDG_CACHE_HOME") else "default"


# --- cache ---------------------------------------------------------------------------------


@dpcheck.group(short_help="Look after the results that were kept.")
def cache() -> None:
    """Look after the results that `check` keeps, to be quick the next time."""


@cache.command(short_help="Remove all results that were kept.")
@click.option("--cache-dir", type=click.Path(file_okay=False), help="Results are kept here.")
def clear(cache_dir: str | None) -> int:
    """Remove all results that were kept."""
    from dpcheck.pipeline.cache import clear as cleared

    directory = checking.cache_directory(cache_dir)
    click.echo(f"removed {cleared(directory):,} results from {directory}")
    return 0


# --- explain -------------------------------------------------------------------------------


@dpcheck.command(short_help="Explain the code of a mistake.")
@click.argument("code", required=False)
def explain(code: str | None) -> int:
    """Explain the code of a mistake, such as DP203; without a code, list them all."""
    from dpcheck.diagnostics.files import NoSuchCode
    from dpcheck.diagnostics.mistakes import similar
    from dpcheck.diagnostics.registry import mistakes_by_code
    from dpcheck.report.explanations import explanation_lines, index_lines

    known = mistakes_by_code()
    if code is None:
        checking.show(index_lines(known))
        return 0
    kind = known.get(code.upper())
    if kind is None:
        checking.complain([NoSuchCode(None, code, similar(code.upper(), known))])
        return 2
    checking.show(explanation_lines(kind))
    return 0
