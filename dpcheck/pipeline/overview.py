"""Overviews: the same questions about all targets of a file, or about one that is named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpcheck.check.values.amounts import epsilon_amount, number_amount
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.logic.claims import PrivacyClaim
from dpcheck.model import surface
from dpcheck.parse import parse_expression, parse_model
from dpcheck.pipeline.files import model_paths
from dpcheck.pipeline.imports import Closure, Library
from dpcheck.pipeline.questions import Explorations, answered, asked_of
from dpcheck.pipeline.run import Definitions, Options, read_definitions, resolved, undeclared
from dpcheck.report.answers import Answer, Crash
from dpcheck.report.overview import Overview
from dpcheck.report.plot import Budget
from dpcheck.resolve import ResolvedCheck, resolve_model
from dpcheck.source import SourceText

OF_WHOLE_CHANNELS = ("bayes_vulnerability", "min_entropy_leakage")
"""Quantities that a composition, which is known by its losses, does not have."""


def overviews(
    argument: str, quantities: Sequence[str], target: str | None, distance: int, options: Options
) -> Iterator[Overview]:
    """Yield what is known of each target: of one that is named, or of all of a file.

    All are the file's own targets whose parameters have defaults, and those that its claims name
    without parameters. A target that none of the quantities is about has no answers.
    """
    paths, mistakes = model_paths([argument])
    definitions, found = read_definitions(options.definitions)
    mistakes += found
    library = Library()
    closures = [library.closure(path) for path in paths]
    mistakes += undeclared(definitions, closures) if definitions else ()
    if mistakes:
        yield Overview(argument, {}, (), mistakes)
    if any(mistake.severity == "error" for mistake in mistakes):
        return
    for closure in closures:
        yield from _of_file(closure, quantities, target, distance, definitions, options)


def _of_file(
    closure: Closure,
    quantities: Sequence[str],
    target: str | None,
    distance: int,
    definitions: Definitions,
    options: Options,
) -> Iterator[Overview]:
    checks, mistakes = resolved(closure, definitions)
    if mistakes:
        yield Overview(closure.file.path.shown, {}, (), tuple(mistakes))
    if closure.file.model is None or any(m.severity == "error" for m in mistakes):
        return
    explorations = Explorations()
    for name in [target] if target is not None else _targets(closure.file.model, checks):
        shown = name if distance == 1 else f"group({name}, {distance})"
        known = [q for q in quantities if "compose(" not in shown or q not in OF_WHOLE_CHANNELS]
        asked, mistakes = _asked(closure, shown, known, definitions)
        budgets = _budgets(checks, name) if distance == 1 else ()
        answers: dict[str, Answer] = {}
        events: list[Answer | Mistake | Crash] = list(mistakes)
        for quantity, check in zip(known, asked, strict=False):
            for event in answered(check, asked_of(check), explorations, options.limits):
                if isinstance(event, Answer):
                    answers[quantity] = event
                if isinstance(event, Answer | Mistake | Crash):
                    events.append(event)
        yield Overview(shown, answers, budgets, tuple(events))


def _targets(model: surface.SurfaceModel, checks: Sequence[ResolvedCheck]) -> list[str]:
    """Return the targets of a file that can be asked about as they are."""
    names: dict[str, None] = {}
    for item in model.items:
        if isinstance(item, surface.Mechanism | surface.Chain):
            is_complete = all(parameter.default is not None for parameter in item.parameters)
            if is_complete and (isinstance(item, surface.Mechanism) or item.observes):
                names[item.name.name] = None
    plain = [check.target_text for check in checks if "(" not in check.target_text]
    chains = {item.name.name for item in model.items if isinstance(item, surface.Chain)}
    names.update(dict.fromkeys(name for name in plain if name not in chains))
    return list(names or dict.fromkeys(check.target_text for check in checks))


def _asked(
    closure: Closure, target: str, quantities: Sequence[str], definitions: Definitions
) -> tuple[Sequence[ResolvedCheck], tuple[Mistake, ...]]:
    """Return the questions about a target; a mistake in its name stands in the user's own text."""
    alone = parse_expression(SourceText("--target", target))
    if alone.mistakes:
        return (), alone.mistakes
    text = "\n".join(f"compute {target}: {quantity}" for quantity in quantities)
    parsed = parse_model(SourceText("--target", text))
    if parsed.mistakes:
        return (), parsed.mistakes
    model = closure.file.model
    assert model is not None, "a file with checks was parsed"
    kept = (i for i in model.items if not isinstance(i, surface.Question | surface.QuestionsFor))
    asked = surface.SurfaceModel(parsed.model.source, (*kept, *parsed.model.items))
    found = resolve_model(asked, closure.imported, definitions)
    errors = tuple(m for m in found.mistakes if m.severity == "error")
    return found.checks, errors


def _budgets(checks: Sequence[ResolvedCheck], target: str) -> tuple[Budget, ...]:
    """Return the budgets that the file's checks state for a target."""
    stated = [
        check.claim
        for check in checks
        if check.kind == "check" and check.target_text == target and check.at is None
    ]
    return tuple(
        Budget(epsilon_amount(claim.epsilon), number_amount(claim.delta))
        for claim in stated
        if isinstance(claim, PrivacyClaim)
    )
