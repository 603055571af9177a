"""Units of work: a model and claims about it as one text, which any process answers alone.

A unit is a JSON object, so that queues and clusters can carry it:

    file, files     the model's path, and the text of it and of all it imports, by path; imports
                    are looked up there (`links` are other names of these paths)
    claims          what is asked, as a model file would
    constants       `NAME=VALUE`, as after `-D` (may be left out)
    limits          `max_states`, `timeout` [s] and `max_memory` [bytes] (may be left out)

The answer is the JSON object of `dpcheck check --format json`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from dpcheck.diagnostics.commands import MalformedUnit
from dpcheck.diagnostics.mistakes import Mistake, has_errors
from dpcheck.limits import MAX_STATES, RunLimits, with_deep_stack
from dpcheck.model import surface
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.questions import answered, asked_of
from dpcheck.pipeline.run import read_definitions, resolved_questions, undeclared
from dpcheck.pipeline.sources.files import ModelPath
from dpcheck.pipeline.sources.imports import Library, named_path
from dpcheck.report.answers import Event, FileDone, FileRead, Reading, Started, summary_of
from dpcheck.report.json_output import json_text
from dpcheck.source import SourceText
from dpcheck.version import __version__


class Unit(TypedDict):
    """What one process needs to know to answer some claims."""

    file: str
    files: dict[str, str]
    claims: str
    links: NotRequired[dict[str, str]]
    constants: NotRequired[list[str]]
    limits: NotRequired[dict[str, Any]]


def work(unit: str) -> str:
    r"""Return the answers to a unit, JSON for JSON, found in this process.

    What is wrong with the unit or its model stands in the answer's `errors`. Time and states are
    limited; memory is not, unless `dpcheck work` does the work.

    >>> model = "import std.survey"
    >>> unit = {"file": "m.dpm", "files": {"m.dpm": model}, "claims": "compute survey: epsilon"}
    >>> json.loads(work(json.dumps(unit)))["results"][0]["value"]["exact"]
    'ln(3)'
    """
    return json_text(with_deep_stack(lambda: summary_of(unit_events(unit))))


def unit_events(text: str, after: Sequence[Event] = ()) -> Iterator[Event]:
    """Yield what is found while a unit is answered; a unit cut short goes on after what it told."""
    unit = read_unit(text)
    if isinstance(unit, Mistake):
        yield unit
        return
    yield Reading(unit["file"])
    library = Library()
    closure = library.closure(_held(unit, library))
    definitions, mistakes = read_definitions(unit.get("constants", ()))
    mistakes += closure.of_targets + undeclared(definitions, [closure])
    yield from mistakes
    if has_errors(mistakes):
        return
    claims = SourceText("claims", unit["claims"])
    checks, found = resolved_questions(closure, claims, definitions)
    yield from found
    n_started = sum(isinstance(event, Started) for event in after)
    shown = tuple(map(asked_of, checks))
    yield FileRead(unit["file"], shown, len(shown))
    explorations = Explorations(checks)
    for check, each in islice(zip(checks, shown, strict=True), n_started, None):
        yield from answered(check, each, explorations, limits_of(unit))
    yield FileDone(unit["file"])


def _held(unit: Unit, library: Library) -> ModelPath:
    """Let a library hold the files of a unit; return where its model is."""
    top = Path("/")
    paths = {name: ModelPath(name, top / name, top) for name in unit["files"]}
    for name, content in unit["files"].items():
        library.hold(paths[name], content.encode())
    for named, name in {**dict(zip(paths, paths, strict=True)), **unit.get("links", {})}.items():
        library.place(Path(os.path.normpath(top / named)), paths[name])
    return paths[unit["file"]]


def read_unit(text: str) -> Unit | MalformedUnit:
    """Return the unit that a text describes, or what it lacks."""
    try:
        unit = json.loads(text)
    except ValueError as wrong:
        return MalformedUnit(None, f"it is not JSON: {wrong}")
    texts = isinstance(unit, dict) and unit.get("files")
    if not isinstance(texts, dict) or not all(isinstance(each, str) for each in texts.values()):
        return MalformedUnit(None, "`files` is not an object of texts")
    if not isinstance(unit.get("claims"), str):
        return MalformedUnit(None, "`claims` is not a text")
    links = unit.get("links", {})
    if not isinstance(links, dict) or any(name not in texts for name in links.values()):
        return MalformedUnit(None, "`links` does not lead to `files`")
    if unit.get("file") not in texts:
        return MalformedUnit(None, "`file` is none of `files`")
    constants, limits = unit.get("constants", []), unit.get("limits", {})
    if not isinstance(constants, list) or not all(isinstance(each, str) for each in constants):
        return MalformedUnit(None, "`constants` is not a list of texts")
    numbers = (int, float, type(None))
    if not isinstance(limits, dict) or not all(isinstance(n, numbers) for n in limits.values()):
        return MalformedUnit(None, "`limits` is not an object of numbers")
    return cast(Unit, unit)


def limits_of(unit: Unit) -> RunLimits:
    """Return what a unit may use."""
    given = unit.get("limits", {})
    return RunLimits(
        given.get("max_states", MAX_STATES),
        given.get("timeout"),
        max_memory=given.get("max_memory"),
    )


def model_texts(library: Library, path: ModelPath) -> Unit:
    """Return a unit that asks nothing of a sound model: the texts of all its files.

    Files are named from the root, so that the unit is the same wherever the root is.
    """
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    waiting = [path]
    while waiting:
        importer = waiting.pop()
        parsed = library.parsed(importer)
        assert parsed.model is not None, "a sound file was parsed"
        files[_name(importer.real, path.root)] = parsed.model.source.text
        for item in parsed.imports:
            if not isinstance(item, surface.ImportFile):
                continue
            found, named = library.place_of(importer, item), named_path(importer, item)
            assert isinstance(found, ModelPath), "the imports of a sound file were found"
            if named != found.real:
                links[_name(named, path.root)] = _name(found.real, path.root)
            if _name(found.real, path.root) not in files:
                waiting.append(found)
    return {"file": _name(path.real, path.root), "files": files, "links": links, "claims": ""}


def unit_text(texts: Unit, claims: str, constants: Sequence[str], limits: RunLimits) -> str:
    """Return claims about the model of a unit as a unit."""
    allowed = {
        "max_states": limits.max_states,
        "timeout": limits.timeout,
        "max_memory": limits.max_memory,
    }
    unit = {**texts, "claims": claims, "constants": list(constants), "limits": allowed}
    return json.dumps(unit, sort_keys=True)


def _name(real: Path, root: Path) -> str:
    return os.path.relpath(real, root).replace(os.sep, "/")


def content_hash(text: str) -> str:
    """Return what stands for a unit and this version of dpcheck, limits apart, in 64 digits."""
    unit = {key: value for key, value in json.loads(text).items() if key != "limits"}
    content = json.dumps([__version__, unit], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
