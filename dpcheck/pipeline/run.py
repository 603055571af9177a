"""The whole way from paths to answers: read, parse, resolve, explore, check, file by file."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from dpcheck.diagnostics.files import (
    MalformedDefinition,
    NoClaims,
    NothingSelected,
    UndeclaredDefinition,
)
from dpcheck.diagnostics.limits import RunStopped
from dpcheck.diagnostics.mistakes import Mistake, has_errors
from dpcheck.limits import Limit
from dpcheck.model import surface
from dpcheck.parse import parse_expression, parse_model
from dpcheck.pipeline.claims.explorations import Explorations, seconds_left
from dpcheck.pipeline.evidence.witnesses import Heading, headings
from dpcheck.pipeline.options import WHOLE, Options, Part
from dpcheck.pipeline.questions import answered, asked_of, is_selected
from dpcheck.pipeline.sources.files import ModelPath, input_path, model_paths
from dpcheck.pipeline.sources.imports import Closure, Library
from dpcheck.pipeline.stopped import since_last_file
from dpcheck.records import Frozen, dataclass, replace
from dpcheck.report.answers import (
    OPTIONS,
    Answer,
    Asked,
    Crash,
    Decided,
    Event,
    FileDone,
    FileRead,
    Known,
    Measuring,
    Reading,
    Started,
)
from dpcheck.resolve import Resolved, ResolvedCheck, resolve_model
from dpcheck.source import SourceText, Span

Definitions = Mapping[str, surface.Expression]


@dataclass(frozen=True)
class Models:
    """The models of a run: where they are read, what `-D` says in them, how they are checked."""

    options: Options
    library: Library
    definitions: Definitions

    @staticmethod
    def of(options: Options) -> tuple[Models, tuple[Mistake, ...]]:
        """Return models of which none is read, and what is wrong with the texts of `-D`.

        There is nothing but what stands on standard input, if that is asked for.
        """
        library = Library()
        if options.standard_input is not None:
            library.hold(input_path(), options.standard_input)
        definitions, mistakes = read_definitions(options.definitions)
        return Models(options, library, definitions), mistakes

    def closures(self, paths: Sequence[ModelPath]) -> Generator[Reading, None, list[Closure]]:
        """Return files with everything they import, and tell which one is being read."""
        closures = []
        for path in paths:
            yield Reading(path.shown)
            closures.append(self.library.closure(path))
        return closures

    def undeclared(self, paths: Sequence[ModelPath]) -> Generator[Event, None, tuple[Mistake, ...]]:
        """Return a mistake for every name of `-D` that no file declares, all of which are read."""
        closures = yield from self.closures(paths)
        return undeclared(self.definitions, closures, self.options.optional)


def check_paths(
    arguments: Sequence[str], options: Options, after: Sequence[Event] = ()
) -> Iterator[Event]:
    """Yield what is found while every claim of every file is answered.

    A mistake or a bug costs the claim, or at most the file, it shows in; all else goes on. A run
    that was cut short goes on `after` what it told, and may tell mistakes once more.
    """
    paths, mistakes = model_paths(arguments, reads_input=options.standard_input is not None)
    yield from mistakes
    is_sound = not mistakes and not any(map(is_error, after))
    done = {event.file for event in after if isinstance(event, FileDone)}
    models, mistakes = Models.of(options)
    if models.definitions and not done:  # else they were seen to be declared, or one was given up
        mistakes += yield from models.undeclared(paths)
    yield from mistakes
    if has_errors(mistakes):
        return
    read = [event for event in after if isinstance(event, FileRead) and event.file in done]
    for path in paths:
        if path.shown in done:
            continue
        if seconds_left(options.limits.deadline) < 0:
            yield not_read([path.shown for path in paths if path.shown not in done], options)
            return
        for event in known_events(path, models, after):
            if isinstance(event, FileRead):
                read.append(event)
            is_sound &= not is_error(event)
            yield event
        done.add(path.shown)
        after = ()
    yield from closing_events(paths, read, models, is_sound=is_sound)


def closing_events(
    paths: Sequence[ModelPath], read: Sequence[FileRead], models: Models, *, is_sound: bool
) -> Iterator[Mistake]:
    """Yield what is wrong with a run as a whole: nothing was asked."""
    options = models.options
    n_claims = sum(event.n_claims for event in read)
    if options.select is not None and n_claims and not any(event.asked for event in read):
        yield NothingSelected(None, options.select, n_claims)
    if not n_claims and is_sound and not options.allow_empty:
        target = _first_target(models.library.closure(paths[0])) if len(paths) == 1 else None
        yield NoClaims(None, len(paths), target)


def is_error(event: Event) -> bool:
    """Return whether something was found that may have cost claims."""
    return isinstance(event, Crash) or (isinstance(event, Mistake) and event.severity != "warning")


def _first_target(closure: Closure) -> str | None:
    """Return a mechanism or chain of a file that can be asked about as it is."""
    targets = closure.file.model.targets if closure.file.model is not None else ()
    asked = (each for each in targets if all(p.default is not None for p in each.parameters))
    return next((target.name.name for target in asked), None)


def not_read(files: Sequence[str], options: Options) -> RunStopped:
    """Return that the time was over before these files were read."""
    limit = Limit("run time", options.limits.total_timeout or 0)
    return RunStopped(None, limit.text, OPTIONS[limit.kind], len(files), files[0])


def known_events(
    path: ModelPath, models: Models, after: Sequence[Event], part: Part = WHOLE
) -> Iterator[Event]:
    """Yield what is found in a part of one file, or was found in it by an earlier run."""
    told, options, library = since_last_file(after), models.options, models.library
    if options.changed is not None:
        yield Reading(path.shown)
        if not _has_changed(path, library, options.changed):
            yield FileDone(path.shown)
            return
    is_kept = part is WHOLE and options.cache is not None and path.shown != input_path().shown
    is_kept = is_kept and not options.has_witnesses and not options.has_opinions
    if not is_kept or told or options.cache is None:
        yield from file_events(path, models, told, part)
        return
    from dpcheck.pipeline.cache import Cache, is_final

    cache = Cache(options.cache, options)
    known = cache.entry(path)
    if known is not None:
        yield from known.events
        return
    found: list[Event] = []
    for event in file_events(path, models, ()):
        if not isinstance(event, Decided | Known | Measuring):
            found.append(event)
        yield event
    if is_final(found):
        cache.keep(path, library.closure(path), found)


def _has_changed(path: ModelPath, library: Library, changed: frozenset[str]) -> bool:
    """Return whether a file, or something it imports, is among those that changed.

    So is one whose imports cannot be followed, and one behind a link that changed.
    """
    try:
        closure = library.closure(path)
    except Exception:  # noqa: BLE001 - a bug costs this file, which says so when it is checked
        return True
    places = [Path(os.path.abspath(path.shown)), *(file.real for file in closure.paths)]  # noqa: PTH100
    places += [Path(os.path.normpath(name)) for name, _ in closure.links]
    known = (str(each) for place in places for each in (place, *place.parents))
    return not closure.is_sound or not changed.isdisjoint(known)


def file_events(
    path: ModelPath, models: Models, told: Sequence[Event], part: Part = WHOLE
) -> Iterator[Event]:
    """Yield what is found in a part of one file, of which some may have been told before."""
    options = models.options
    yield Reading(path.shown)
    checks, found = _checks_of(path, models)
    yield from found
    witnesses: Sequence[Heading | None] = [None] * len(checks)
    if options.has_witnesses and checks:
        witnesses = headings(checks, path, models.library.closure(path).paths, options.definitions)
    questions = [
        _Question(check, _asked_of(check, heading, options), heading)
        for check, heading in zip(checks, witnesses, strict=True)
        if is_selected(check, options.select)
    ]
    targets = [question.asked.target for question in questions]
    first, last = part.bounds(targets)
    asked = tuple(question.asked for question in questions)
    yield FileRead(path.shown, asked, len(checks), first, last)
    start = first + sum(isinstance(event, Started) for event in told)
    # Evidence that a claim holds, pictures and costs are of whole chains.
    is_whole = options.has_witnesses or options.has_portraits or options.measures is not None
    to_answer = () if is_whole else [question.check for question in questions[first:last]]
    explorations = Explorations(to_answer, options.spread_over(part.n_busy(targets)))
    events = _answers(questions[start:last], explorations, options, told)
    yield from _with_opinions(events, path, options) if options.has_opinions else events
    if part.is_last:
        selected = [question.check for question in questions]
        yield from _of_targets(selected, explorations, path, models)
    yield FileDone(path.shown)


class _Question(Frozen):
    """A claim, as people see it, and the heading of its witness where one is wanted."""

    check: ResolvedCheck
    asked: Asked
    heading: Heading | None


def _asked_of(check: ResolvedCheck, heading: Heading | None, options: Options) -> Asked:
    """Return a claim as people see it, with what it bounds where that is to be compared."""
    asked = asked_of(check, heading, is_strict=options.strict_vacuity)
    if options.measures is None or check.kind != "check":
        return asked
    from dpcheck.pipeline.measures import stated

    return replace(asked, stated=stated(check))


def _answers(
    questions: Sequence[_Question],
    explorations: Explorations,
    options: Options,
    told: Sequence[Event],
) -> Iterator[Event]:
    """Yield answers in turn; of each target the first few are explained in full."""
    target, n_explained = _latest(told)
    for question in questions:
        asked = question.asked
        if asked.target != target:
            target, n_explained = asked.target, 0
        detail = options.detail(n_explained)
        for event in answered(
            question.check, asked, explorations, options.limits, detail, question.heading
        ):
            n_explained += isinstance(event, Answer) and event.explanation is not None
            yield event


def _with_opinions(events: Iterator[Event], path: ModelPath, options: Options) -> Iterator[Event]:
    """Yield what is told, beside every answer what the reference interpreter says of it."""
    from dpcheck.pipeline.evidence.second_opinion import SecondOpinions

    opinions = SecondOpinions(path, options.definitions, options.limits)
    for event in events:
        if isinstance(event, Answer):
            yield Decided(event)
            yield from opinions.beside(event)
        else:
            yield event


def _of_targets(
    selected: Sequence[ResolvedCheck], explorations: Explorations, path: ModelPath, models: Models
) -> Iterator[Event]:
    """Yield what a run asks of every target by itself: what it costs, its pictures."""
    options, library = models.options, models.library
    if options.measures is not None:
        from dpcheck.pipeline.measures import measured

        def asking(text: str) -> Sequence[ResolvedCheck]:
            question, closure = SourceText(path.shown, text), library.closure(path)
            return resolved_questions(closure, question, models.definitions)[0]

        recorded = options.measures.get(str(path.real), {})
        yield from measured(selected, explorations, options.limits, recorded, asking)
    if options.has_portraits:
        from dpcheck.pipeline.portraits import portraits

        yield from portraits(selected, explorations, options.limits)


def _latest(told: Sequence[Event]) -> tuple[str | None, int]:
    """Return the target of the last answers, and how many of them are explained."""
    answers = [event for event in told if isinstance(event, Answer)]
    if not answers:
        return None, 0
    target = answers[-1].target
    latest = takewhile(lambda answer: answer.target == target, reversed(answers))
    return target, sum(answer.explanation is not None for answer in latest)


def _checks_of(
    path: ModelPath, models: Models
) -> tuple[Sequence[ResolvedCheck], tuple[Mistake | Crash, ...]]:
    """Return the claims of a file that make sense, and the mistakes of all its text."""
    try:
        found = resolved(models.library.closure(path), models.definitions)
    except Exception:  # noqa: BLE001 - a bug costs this file and no other
        import traceback

        return (), (Crash(path.shown, traceback.format_exc()),)
    return found.checks, found.mistakes


def resolved(closure: Closure, definitions: Definitions) -> Resolved:
    """Return the claims of a file with everything it imports, and the mistakes of all its text."""
    file = closure.file
    if file.model is None or not (closure.is_sound or closure.has_only_syntax_errors):
        return Resolved((), closure.mistakes)
    n_in_claims = 0 if closure.is_sound else 1
    found = resolve_model(
        file.model, closure.imported, definitions, file.lost_words, n_in_claims=n_in_claims
    )
    mistakes = (*closure.mistakes, *found.mistakes)
    if not closure.is_answerable:
        return Resolved((), mistakes)
    mistaken = file.mistaken or ()
    checks = tuple(c for c in found.checks if not any(c.span in span for span in mistaken))
    return Resolved(checks, mistakes, found.is_answerable)


def resolved_questions(
    closure: Closure, questions: SourceText, definitions: Definitions
) -> tuple[Sequence[ResolvedCheck], tuple[Mistake, ...]]:
    """Return claims as if they stood at the end of a file, and the mistakes of all its text.

    It is sound but for its own claims, which are left out. None is returned where one has a
    mistake: callers know them by their order.
    """
    parsed, model = parse_model(questions), closure.file.model
    if has_errors(parsed.mistakes):
        return (), parsed.mistakes
    assert model is not None, "the file was parsed"
    claims = surface.Question | surface.QuestionsFor
    kept = tuple(item for item in model.items if not isinstance(item, claims))
    asked = surface.SurfaceModel(questions, (*kept, *parsed.model.items))
    found = resolve_model(asked, closure.imported, definitions)
    checks = () if has_errors(found.mistakes) else found.checks
    return checks, parsed.mistakes + found.mistakes


# --- constants from the command line -------------------------------------------------------


def read_definitions(
    texts: Sequence[str],
) -> tuple[dict[str, surface.Expression], tuple[Mistake, ...]]:
    """Return the expressions that `NAME=VALUE` texts give to names; a later one wins."""
    found: dict[str, surface.Expression] = {}
    mistakes: list[Mistake] = []
    for text in texts:
        match = re.fullmatch(r"\s*([^\W\d]\w*)\s*=(.*)", text, flags=re.DOTALL)
        if match is None or not match[2].strip():
            source = SourceText("-D", text)
            mistakes.append(MalformedDefinition(Span(source, 0, len(text)), text))
            continue
        parsed = parse_expression(SourceText(f"-D {match[1]}", match[2].strip()))
        mistakes.extend(parsed.mistakes)
        if parsed.expression is not None:
            found[match[1]] = parsed.expression
    return found, tuple(mistakes)


def undeclared(
    definitions: Definitions, closures: Sequence[Closure], optional: frozenset[str] = frozenset()
) -> tuple[Mistake, ...]:
    """Return a mistake for every name that no file, given or imported, declares as a constant.

    Names that are optional need not be declared.
    """
    from difflib import get_close_matches

    declared = [name for closure in closures for name in closure.constants]
    mistakes = []
    by_letters = {name.lower(): name for name in declared}
    for name in definitions:
        if name not in declared and name not in optional:
            close = get_close_matches(name.lower(), by_letters, n=1)
            meant = by_letters[close[0]] if close else None
            mistakes.append(UndeclaredDefinition(None, name, meant))
    return tuple(mistakes)
