"""Overviews: the same questions about all targets of a file, or about one that is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpcheck.diagnostics.mistakes import Mistake, has_errors
from dpcheck.diagnostics.params import NotForAllValues, ParamsTogether
from dpcheck.logic.quantities import words_where
from dpcheck.model import surface
from dpcheck.parse import parse_expression
from dpcheck.pipeline import run
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.options import Overviewed
from dpcheck.pipeline.portraits import stated_budgets
from dpcheck.pipeline.questions import answered, asked_of
from dpcheck.pipeline.sources.files import model_paths
from dpcheck.pipeline.sources.imports import Closure
from dpcheck.records import dataclass, replace
from dpcheck.report.answers import Answer, Crash, Decided, Event, FileDone, Known, Reading, Started
from dpcheck.report.overview import Overview
from dpcheck.resolve import ResolvedCheck
from dpcheck.source import SourceText, Span

OF_WHOLE_CHANNELS = frozenset(words_where(of="channel"))
"""Quantities that a composition, which is known by its losses, does not have."""


def overview_events(
    asked: Overviewed, after: Sequence[Event | Overview] = ()
) -> Iterator[Event | Overview]:
    """Yield what is known of each target: of one that is named, or of all of a file.

    All are the file's own targets whose parameters have defaults, and those that its claims name
    without parameters. A target that none of the quantities is about has no answers. Work that was
    cut short goes on `after` what it told.
    """
    n_told = sum(isinstance(event, Overview) for event in after)
    for event in _all_events(asked, _known(after)):
        if isinstance(event, Overview) and n_told:
            n_told -= 1
        else:
            yield event


def _known(after: Sequence[Event | Overview]) -> _Known:
    """Return the files that were given up, and what each claim begun came to, in their order."""
    found: list[list[Result]] = []
    for event in after:
        if isinstance(event, Started):
            found.append([])
        elif isinstance(event, Answer | Mistake | Crash) and found:
            found[-1].append(event)
    done = frozenset(event.file for event in after if isinstance(event, FileDone))
    return _Known(done, iter(found))


Result = Answer | Mistake | Crash


@dataclass(frozen=True)
class _Known:
    """What is known from work that was cut short."""

    done: frozenset[str]
    results: Iterator[list[Result]]


def _all_events(asked: Overviewed, known: _Known) -> Iterator[Event | Overview]:
    paths, mistakes = model_paths([asked.path])
    models, found = run.Models.of(asked.options)
    definitions = models.definitions
    mistakes += found
    left = [path for path in paths if path.shown not in known.done]
    closures = yield from models.closures(left)
    mistakes += run.undeclared(definitions, closures) if definitions and not known.done else ()
    if mistakes:
        yield Overview(asked.path, {}, (), mistakes)
    if has_errors(mistakes):
        return
    for closure in closures:
        yield Reading(closure.file.path.shown)
        yield from _of_file(closure, asked, definitions, known)


def _of_file(
    closure: Closure, asked: Overviewed, definitions: run.Definitions, known: _Known
) -> Iterator[Event | Overview]:
    found = run.resolved(closure, definitions)
    checks = found.checks
    if found.mistakes:
        yield Overview(closure.file.path.shown, {}, (), found.mistakes)
    if closure.file.model is None or not found.is_answerable:
        return
    explorations = Explorations()
    named = _targets(closure.file.model, checks) if asked.target is None else [asked.target]
    for name in named:
        shown = name if asked.distance == 1 else f"group({name}, {asked.distance})"
        questions, mistakes, impossible = _questions(closure, shown, asked.quantities, definitions)
        answers: dict[str, Answer] = {}
        for quantity, check in questions.items():
            results = next(known.results, None)
            if results is None:
                results = []
                for event in answered(check, asked_of(check), explorations, asked.options.limits):
                    yield event
                    if not isinstance(event, Started | Known | Decided):
                        results.append(event)
            answers.update((quantity, each) for each in results if isinstance(each, Answer))
        declared = _declared(closure.file.model, name) if asked.target is None else None
        place = declared or text_span("--target", shown)
        told = dict.fromkeys(at_target(mistake, shown, place) for mistake in mistakes)
        budgets = stated_budgets(checks, name) if asked.distance == 1 else ()
        placed = {quantity: at_target(m, shown, place) for quantity, m in impossible.items()}
        yield Overview(shown, answers, budgets, tuple(told), placed)


def _questions(
    closure: Closure, shown: str, quantities: Sequence[str], definitions: run.Definitions
) -> tuple[Mapping[str, ResolvedCheck], tuple[Mistake, ...], Mapping[str, Mistake]]:
    """Return the questions about a target by quantity, and the mistakes in them.

    Beside them those of single quantities among several, which are not asked then.
    """
    wanted = [q for q in quantities if "compose(" not in shown or q not in OF_WHOLE_CHANNELS]
    checks, mistakes = _asked(closure, shown, wanted, definitions)
    if wanted == ["profile"] and any(isinstance(m, NotForAllValues) for m in mistakes):
        checks, mistakes = _asked(closure, shown, ["epsilon"], definitions)
    impossible: dict[str, Mistake] = {}
    if len(wanted) > 1:
        impossible = _of_single_quantities(mistakes, shown, wanted)
        if impossible:
            wanted = [quantity for quantity in wanted if quantity not in impossible]
            checks, mistakes = _asked(closure, shown, wanted, definitions)
    return dict(zip(wanted, checks, strict=False)), mistakes, impossible


def _declared(model: surface.SurfaceModel, name: str) -> Span | None:
    """Return where a file names a target of its own."""
    return next((each.name.span for each in model.targets if each.name.name == name), None)


def text_span(name: str, text: str) -> Span:
    """Return the whole of a text that stands in no file."""
    return Span(SourceText(name, text), 0, len(text))


def at_target(mistake: Mistake, target: str, place: Span) -> Mistake:
    """Return a mistake in a question `KIND TARGET: CLAIM` that nobody wrote at its target's place.

    Mistakes in other texts stay where they are.
    """
    span = mistake.span
    if isinstance(mistake, NotForAllValues | ParamsTogether):
        mistake = replace(mistake, part=None)  # nobody wrote the claim that it stands in
    if span is None or span.source.name not in ("--target", "<question>"):
        return mistake
    line = span.source.line(span.line)
    start = span.column - 1 - len(line.partition(" ")[0]) - 1
    if not line.partition(" ")[2].startswith(f"{target}: "):
        return mistake
    if not 0 <= start < len(target) or place.text != target:
        return replace(mistake, span=place)
    end = min(start + span.end - span.start, len(target))
    return replace(mistake, span=Span(place.source, place.start + start, place.start + end))


def _of_single_quantities(
    mistakes: Sequence[Mistake], target: str, quantities: Sequence[str]
) -> dict[str, Mistake]:
    """Return the mistakes that stand in the questions about single quantities, by quantity."""
    formula = len(f"compute {target}: ")
    return {
        quantities[mistake.span.line - 1]: mistake
        for mistake in mistakes
        if mistake.span is not None
        and mistake.span.source.name == "--target"
        and mistake.span.column > formula
    }


def _targets(model: surface.SurfaceModel, checks: Sequence[ResolvedCheck]) -> list[str]:
    """Return the targets of a file that can be asked about as they are."""
    names: dict[str, None] = {}
    for item in model.targets:
        is_complete = all(parameter.default is not None for parameter in item.parameters)
        if is_complete and (isinstance(item, surface.Mechanism) or item.observes):
            names[item.name.name] = None
    plain = [check.target_text for check in checks if "(" not in check.target_text]
    chains = {item.name.name for item in model.targets if isinstance(item, surface.Chain)}
    names.update(dict.fromkeys(name for name in plain if name not in chains))
    return list(names or dict.fromkeys(check.target_text for check in checks))


def _asked(
    closure: Closure, target: str, quantities: Sequence[str], definitions: run.Definitions
) -> tuple[Sequence[ResolvedCheck], tuple[Mistake, ...]]:
    """Return the questions about a target; a mistake in its name stands in the user's own text."""
    alone = parse_expression(SourceText("--target", target))
    if alone.mistakes:
        return (), alone.mistakes
    text = "\n".join(f"compute {target}: {quantity}" for quantity in quantities)
    checks, mistakes = run.resolved_questions(closure, SourceText("--target", text), definitions)
    return checks, tuple(m for m in mistakes if m.severity == "error")
