"""Sweeps: the same questions about a target for all combinations of some values, as units.

A name that is set is a constant of the file, or a loop variable of the questions: it may stand in
the target and in what is asked. Where the target is the name of a mechanism alone, what is set of
its parameters is handed on, so that `m` stands for `m(k = k)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from dpcheck.diagnostics import commands
from dpcheck.diagnostics.files import SeveralFiles
from dpcheck.diagnostics.mistakes import Mistake, has_errors, similar
from dpcheck.limits import RunLimits
from dpcheck.model import surface
from dpcheck.parse import parse_expression
from dpcheck.pipeline.run import read_definitions, resolved_questions, undeclared
from dpcheck.pipeline.sources.files import model_paths
from dpcheck.pipeline.sources.imports import Closure, Library
from dpcheck.pipeline.units import content_hash, model_texts, unit_text
from dpcheck.records import dataclass
from dpcheck.source import SourceText

MAX_UNITS = 20_000
"""Bounds a sweep, before any of its units is made."""


@dataclass(frozen=True)
class PlannedUnit:
    """One combination of values: these, in the order of the names, and the unit as text."""

    values: tuple[str, ...]
    text: str
    content: str


@dataclass(frozen=True)
class Plan:
    """What a sweep asks: units of `questions` about a target, for all values of the names."""

    target: str
    names: tuple[str, ...]
    questions: tuple[str, ...]
    units: tuple[PlannedUnit, ...]


@dataclass(frozen=True)
class Asked:
    """A sweep as it is asked for: texts as after `--target`, `--set`, `--compute`, `--check`, `-D`.

    The limits are those of a unit.
    """

    path: str
    target: str
    sets: tuple[str, ...]
    computes: tuple[str, ...]
    checks: tuple[str, ...]
    definitions: tuple[str, ...]
    limits: RunLimits


def planned(asked: Asked) -> tuple[Plan | None, tuple[Mistake, ...]]:
    """Return the units of a sweep, None where there is an error, and the mistakes of all texts.

    The questions are resolved for the first values; what is wrong with others alone shows when
    they are answered.
    """
    values, mistakes = read_sets(asked.sets)
    paths, found = model_paths([asked.path])
    mistakes += found
    if len(paths) > 1:
        mistakes += (SeveralFiles(None, asked.path, len(paths), paths[0].shown),)
    n_units = prod(map(len, values.values()))
    if n_units > MAX_UNITS:
        mistakes += (commands.TooManyUnits(None, n_units, MAX_UNITS),)
    if has_errors(mistakes):
        return None, mistakes
    library = Library()
    closure = library.closure(paths[0])
    mistakes += closure.of_targets
    if not closure.is_answerable:
        return None, mistakes
    scheme, found = _scheme(asked, closure, tuple(values))
    mistakes += found
    if not has_errors(mistakes):
        mistakes += _first_mistakes(closure, scheme, next(product(*values.values())))
    if has_errors(mistakes):
        return None, mistakes
    units = []
    texts = model_texts(library, paths[0])
    for combination in product(*values.values()):
        claims, constants = scheme.filled(combination)
        text = unit_text(texts, claims, constants, asked.limits)
        units.append(PlannedUnit(combination, text, content_hash(text)))
    return Plan(asked.target, tuple(values), scheme.questions, tuple(units)), mistakes


# --- values --------------------------------------------------------------------------------


def read_sets(texts: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], tuple[Mistake, ...]]:
    """Return the values that `NAME=VALUES` texts list, by name, each once, and their mistakes.

    >>> read_sets(["k=1..3,7", "p=1/2, (1, 2)"])[0]
    {'k': ('1', '2', '3', '7'), 'p': ('1/2', '(1, 2)')}
    """
    found: dict[str, tuple[str, ...]] = {}
    mistakes: list[Mistake] = []
    for text in texts:
        if colon := re.fullmatch(r"(\w+=-?\d+):(-?\d+)", text):
            mistakes.append(commands.MalformedSet(None, text, f"{colon[1]}..{colon[2]}"))
            continue
        match = re.fullmatch(r"\s*([^\W\d]\w*)\s*=(.*)", text, flags=re.DOTALL)
        if match is None or not match[2].strip():
            mistakes.append(commands.MalformedSet(None, text))
            continue
        name, pieces = match[1], [piece.strip() for piece in _pieces(match[2])]
        if name in found:
            mistakes.append(commands.SetTwice(None, name, ",".join((*found[name], *pieces))))
            continue
        values: dict[str, None] = {}
        for piece in pieces:
            listed = _values(piece, f"--set {name}")
            mistakes += [each for each in listed if isinstance(each, Mistake)]
            values.update((each, None) for each in listed if isinstance(each, str))
        found[name] = tuple(values)
    return found, tuple(mistakes)


def _pieces(text: str) -> Iterator[str]:
    """Yield what stands between commas that are in no brackets."""
    start = depth = 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def _values(piece: str, option: str) -> Sequence[str | Mistake]:
    """Return the values that one piece stands for: itself, or the integers of a range."""
    parsed = parse_expression(SourceText(option, piece))
    if parsed.mistakes or not isinstance(parsed.expression, surface.Range):
        return parsed.mistakes or (piece,)
    ends = re.fullmatch(r"\s*(-?[0-9]{1,18})\s*\.\.\s*(-?[0-9]{1,18})\s*", piece)
    low, high = (int(ends[1]), int(ends[2])) if ends else (1, 0)
    if low > high:
        return (commands.SetRangeOfNoIntegers(parsed.expression.span, piece),)
    if high - low >= MAX_UNITS:
        return (commands.TooManyUnits(None, high - low + 1, MAX_UNITS),)
    return [str(value) for value in range(low, high + 1)]


# --- questions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Scheme:
    """How values become claims: `constants` of the names are set as after `-D`, others by a loop.

    Every question stands on a line of its own, after the first.
    """

    names: tuple[str, ...]
    constants: frozenset[str]
    definitions: tuple[str, ...]
    questions: tuple[str, ...]
    target: str

    def filled(self, values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Return the claims for some values, and the constants as `NAME=VALUE`."""
        given = dict(zip(self.names, values, strict=True))
        free = [name for name in given if name not in self.constants]
        loops = [f"{name} in {{{given[name]}}}" for name in free]
        claims = [
            f"{question.partition(' ')[0]} {self.target}: {question.partition(' ')[2]}"
            for question in self.questions
        ]
        opening, closing = (f"for {', '.join(loops)} {{", "}") if loops else ("", "")
        constants = [f"{name}={value}" for name, value in given.items() if name in self.constants]
        return "\n".join([opening, *claims, closing]), (*self.definitions, *constants)


def _scheme(
    asked: Asked, closure: Closure, names: tuple[str, ...]
) -> tuple[_Scheme, tuple[Mistake, ...]]:
    """Return how the values of some names are asked about, and the names that nothing reads."""
    models = [model for model in (*closure.imported, closure.file.model) if model is not None]
    targets = [target for model in models for target in model.targets]
    named = [target for target in targets if target.name.name == asked.target]
    parameters = [parameter.name.name for target in named for parameter in target.parameters]
    given = [name for name in names if name in parameters]
    target = asked.target
    if given:
        target = f"{target}({', '.join(f'{name} = {name}' for name in given)})"
    computes = asked.computes or (() if asked.checks else ("epsilon",))
    questions = (*(f"compute {q}" for q in computes), *(f"check {q}" for q in asked.checks))
    read = " ".join((target, *computes, *asked.checks))
    known = tuple(dict.fromkeys((*parameters, *closure.constants)))
    is_unknown = asked.target.isidentifier() and not named  # as questions tell
    mistakes = tuple(
        commands.NothingReadsSet(None, name, asked.target, similar(name, known), known)
        for name in (() if is_unknown else names)
        if name not in closure.constants and not re.search(rf"\b{re.escape(name)}\b", read)
    )
    as_constants = frozenset(closure.constants) - frozenset(given)
    return _Scheme(names, as_constants, asked.definitions, questions, target), mistakes


def _first_mistakes(
    closure: Closure, scheme: _Scheme, values: Sequence[str]
) -> tuple[Mistake, ...]:
    """Return the mistakes of the questions about the first values."""
    claims, constants = scheme.filled(values)
    definitions, mistakes = read_definitions(constants)
    mistakes += undeclared(definitions, [closure])
    return mistakes + resolved_questions(closure, SourceText("claims", claims), definitions)[1]
