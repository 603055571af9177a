"""What is known of files from earlier runs: plain JSON, used where nothing it depends on changed.

An entry belongs to a file and the options that choose and shape results. It depends on the texts of
the file and of everything it imports, on where imports lead, and on the code of dpcheck. Limits are
no part of it: only files of which everything was decided are kept, and what was decided is so under
any limit. An entry that is not as expected counts as none, so a broken one costs time and never a
verdict.
"""

from __future__ import annotations

import os
import sys
from _blake2 import blake2b  # `hashlib`, its home, loads OpenSSL, which takes longer than all else
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.check.values.verdicts import AllValues, Value
from dpcheck.diagnostics.mistakes import Label, Mistake
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.pipeline.options import Options
from dpcheck.pipeline.sources.files import ORDER_MARK, ModelPath, model_paths, read_content
from dpcheck.records import dataclass, fields, replace
from dpcheck.report.answers import Answer, Crash, Event, FileRead, Measured
from dpcheck.report.told import ToldMistake, told
from dpcheck.source import SourceText, Span

if TYPE_CHECKING:
    from dpcheck.pipeline.sources.imports import Closure

RESULTS = "results"
"""The folder of a cache directory that holds entries; nothing else there is touched."""


@dataclass(frozen=True)
class Entry:
    """What is known of a file: its events, and the constants that `-D` may give another value."""

    events: list[Event]
    constants: list[str]


@dataclass(frozen=True)
class Cache:
    """A directory of results of runs with some options."""

    directory: Path
    options: Options

    def entry(self, path: ModelPath) -> Entry | None:
        """Return what is known of a file, None if that is not all there is to know."""
        try:
            content = self._place(path).read_bytes()
            import json  # 1 ms, which a run without results does not need

            found = json.loads(content)
            is_same = all(os.path.realpath(link) == real for link, real in found["links"])
            is_same = is_same and all(_digest(Path(f)) == digest for f, digest in found["files"])
            if is_same and found["code"] == code_digest():
                return Entry([_decoded(event) for event in found["events"]], found["constants"])
        except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
            pass
        return None

    def keep(self, path: ModelPath, closure: Closure, events: Sequence[Event]) -> None:
        """Keep what was found of a file; nobody waits for this.

        The texts are those that were read: a file may have been changed since then.
        """
        with suppress(OSError, ValueError, RecursionError, KeyError):
            place = self._place(path)
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            import json

            found = {
                "code": code_digest(),
                "files": [(str(f.path.real), _hash(f.text.encode())) for f in closure.files],
                "links": closure.links,
                "constants": closure.constants,
                "events": [_encoded(event) for event in events],
            }
            written = place.with_suffix(f".{os.urandom(8).hex()}.new")
            with written.open("x", encoding="ascii") as new:
                json.dump(found, new, ensure_ascii=True, separators=(",", ":"))
            written.replace(place)  # readers see the old entry or the new one

    def _place(self, path: ModelPath) -> Path:
        places = [path.shown, str(path.real), str(path.root)]
        key = repr([self.options.shaping(path), places])
        name = _hash(key.encode("utf-8", "surrogatepass"))
        return self.directory / RESULTS / name[:2] / f"{name[2:]}.json"


def known_run(arguments: Sequence[str], options: Options) -> list[Event] | None:
    """Return all that there is to tell of a run if it is known of every file; else None."""
    has_more = options.has_witnesses or options.has_opinions or options.changed is not None
    if options.cache is None or has_more or options.standard_input is not None:
        return None
    paths, mistakes = model_paths(arguments)
    if mistakes:
        return None
    cache = Cache(options.cache, options)
    entries = []
    for path in paths:
        entry = cache.entry(path)
        if entry is None:
            return None
        entries.append(entry)
    declared = {name for entry in entries for name in entry.constants}
    events = [event for entry in entries for event in entry.events]
    is_asked = any(isinstance(event, FileRead) and event.asked for event in events)
    names = {text.partition("=")[0].strip() for text in options.definitions}
    return events if is_asked and names <= declared | options.optional else None


def clear(directory: Path) -> int:
    """Remove all entries of a cache directory and return how many there were."""
    n_removed = 0
    for entry in sorted((directory / RESULTS).glob("??/*")):
        if entry.suffix in (".json", ".new"):
            entry.unlink()
            n_removed += 1
    return n_removed


@cache
def code_digest() -> str:
    """Return a text that changes with dpcheck, Python, and the packages that compute.

    It is the same wherever the same versions are installed, so that a cache can be moved there. It
    reads some 400 files in 7 ms: only a run that finds or keeps an entry has use for it.
    """
    package = Path(__file__).resolve().parent.parent
    contents = blake2b(digest_size=32)
    for name in _code(package):
        with open(name, "rb", buffering=0) as file:  # noqa: PTH123 - a path takes as long again
            content = file.read()
        contents.update(f"{name[len(str(package)) :]} {len(content)}\n".encode())
        contents.update(content)
    places = {path for path in sys.path if path}
    packages = sorted(
        name
        for place in places
        if os.path.isdir(place)  # noqa: PTH112 - a handful of long listings
        for name in os.listdir(place)  # noqa: PTH208
        if name.endswith(".dist-info") and name.startswith(_PACKAGES)
    )
    return _hash(repr((contents.hexdigest(), packages, sys.version)).encode())


_PACKAGES = ("numpy-", "scipy-", "python_flint-", "networkx-", "sympy-", "lark-")


def _code(package: Path) -> list[str]:
    """Return the files of dpcheck."""
    found = []
    for folder, folders, names in os.walk(package):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [os.path.join(folder, name) for name in names]  # noqa: PTH118 - 400 of them
    return sorted(found)


def _digest(file: Path) -> str | None:
    """Return the digest of the text of a file, None where it cannot be read."""
    content = read_content(str(file), file)
    return None if isinstance(content, Mistake) else _hash(content.removeprefix(ORDER_MARK))


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=32).hexdigest()


def is_final(events: Sequence[Event]) -> bool:
    """Return whether other runs with any limits would tell the same, as far as it matters."""
    return all(map(_is_final, events))


def _is_final(event: Event) -> bool:
    match event:
        case Answer(explanation=explained):
            return not event.is_undecided and (explained is None or not explained.omitted)
        case Measured(amounts=amounts):
            return None not in amounts.values()
        case Mistake():
            return event.severity == "warning"
        case _:
            return not isinstance(event, Crash)


# --- events as JSON ------------------------------------------------------------------------


_OTHERS = ToldMistake, Label, Span, SourceText, ParamInterval, ParamEnd


@cache
def _classes() -> dict[str, Any]:
    """Return the classes that events are made of, by name."""
    from dpcheck.check.values import verdicts
    from dpcheck.explain import explanation
    from dpcheck.report import answers

    homes = [vars(module) for module in (verdicts, explanation, answers)]
    known = {name: made for home in homes for name, made in home.items() if isinstance(made, type)}
    return known | {made.__name__: made for made in _OTHERS}


def _encoded(value: Any) -> Any:  # noqa: ANN401
    """Return a value of these classes as JSON has it: a class by its name, then its fields."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple):
        return ["", *map(_encoded, value)]
    if isinstance(value, Mapping):
        return {key: _encoded(inner) for key, inner in value.items()}
    if isinstance(value, Value):
        return ["Value", _encoded(value.amount), None, _encoded(value.table)]
    if isinstance(value, AllValues):
        value = replace(value, shown_at=None)
    if isinstance(value, Mistake):
        value = told(value)
    name = type(value).__name__
    return [name, *(_encoded(getattr(value, field)) for field in _made_of(name)[1])]


@cache
def _made_of(name: str) -> tuple[Any, tuple[str, ...]]:
    """Return a class by its name, and the names of its fields."""
    made = _classes()[name]
    return made, tuple(each.name for each in fields(made))


def _decoded(value: Any) -> Any:  # noqa: ANN401
    """Return what `_encoded` has written; most of it is texts, which need no call of their own."""
    if type(value) is list:
        parts = [_decoded(part) if type(part) in _NESTED else part for part in value[1:]]
        if value[0] == "":
            return tuple(parts)
        made, names = _made_of(value[0])
        return made(**dict(zip(names, parts, strict=True)))
    if type(value) is dict:
        return {key: _decoded(inner) for key, inner in value.items()}
    return value


_NESTED = (list, dict)
