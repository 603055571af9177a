"""What is known of files from earlier runs: plain JSON, found by all that the results depend on.

An entry belongs to a file, the text of it and of everything it imports, where imports may lead, the
options that choose and shape results, and the code of dpcheck itself. Limits are no part of it:
only files of which everything was decided are kept, and what was decided is so under any limit. An
entry that is not as expected counts as none, so a broken one costs time and never a verdict.
"""

from __future__ import annotations

import json
import os
from _blake2 import blake2b  # `hashlib`, its home, loads OpenSSL, which takes longer than all else
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from dpcheck.check.values.verdicts import Value
from dpcheck.diagnostics.mistakes import Label, Mistake
from dpcheck.pipeline.files import ModelPath
from dpcheck.records import dataclass, fields
from dpcheck.report import Answer, Crash, Event
from dpcheck.report.told import ToldMistake, told
from dpcheck.source import SourceText, Span

RESULTS = "results"
"""The folder of a cache directory that holds entries; nothing else there is touched."""


@dataclass(frozen=True, slots=True)
class Cache:
    """A directory of results; `options` is a text of all options that results depend on."""

    directory: Path
    options: str

    def events(self, path: ModelPath) -> list[Event] | None:
        """Return what is known of a file, None if that is not all there is to know."""
        try:
            entry = json.loads(self._place(path).read_bytes())
            if all(_digest(Path(file)) == digest for file, digest in entry["files"]):
                return [_decoded(event) for event in entry["events"]]
        except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
            pass
        return None

    def keep(self, path: ModelPath, read: Sequence[ModelPath], events: Sequence[Event]) -> None:
        """Keep what was found of a file, if everything was decided; nobody waits for this."""
        if not all(map(_is_final, events)):
            return
        with suppress(OSError, ValueError, TypeError, RecursionError):
            files = [(str(each.real), _digest(each.real)) for each in read]
            entry = {"files": files, "events": [_encoded(event) for event in events]}
            place = self._place(path)
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            written = place.with_suffix(f".{os.getpid()}.new")
            with written.open("x", encoding="ascii") as new:
                json.dump(entry, new, ensure_ascii=True, separators=(",", ":"))
            written.replace(place)  # readers see the old entry or the new one

    def _place(self, path: ModelPath) -> Path:
        key = json.dumps([code_digest(), self.options, path.shown, str(path.real), str(path.root)])
        name = _hash(key.encode("utf-8", "surrogatepass"))
        return self.directory / RESULTS / name[:2] / f"{name[2:]}.json"


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
    """Return a text that changes with the code of dpcheck, installed or being worked on."""
    package = Path(__file__).resolve().parent.parent
    return _hash(repr(sorted(_states(str(package)))).encode())


def _states(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield the path of every file below a folder, its size, and when it was changed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns
            elif entry.name != "__pycache__":
                yield from _states(entry.path)


def _digest(file: Path) -> str:
    return _hash(file.read_bytes())


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=32).hexdigest()


def _is_final(event: Event) -> bool:
    """Return whether another run with any limits would tell the same, or something of no matter."""
    if isinstance(event, Answer):
        explained = event.explanation
        return not event.is_undecided and (explained is None or not explained.omitted)
    if isinstance(event, Mistake):
        return event.severity == "warning"
    return not isinstance(event, Crash)


# --- events as JSON ------------------------------------------------------------------------


@cache
def _classes() -> dict[str, Any]:
    """Return the classes that events are made of, by name."""
    from dpcheck.check.values import verdicts
    from dpcheck.explain import explanation
    from dpcheck.report import answers

    homes = [vars(module) for module in (verdicts, explanation, answers)]
    known = {name: made for home in homes for name, made in home.items() if isinstance(made, type)}
    return known | {made.__name__: made for made in (ToldMistake, Label, Span, SourceText)}


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
    if isinstance(value, Mistake):
        value = told(value)
    parts = (_encoded(getattr(value, each.name)) for each in fields(value))
    return [type(value).__name__, *parts]


def _decoded(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        name, *parts = value
        if name == "":
            return tuple(map(_decoded, parts))
        made = _classes()[name]
        names = [each.name for each in fields(made)]
        return made(**dict(zip(names, map(_decoded, parts), strict=True)))
    if isinstance(value, dict):
        return {key: _decoded(inner) for key, inner in value.items()}
    return value
