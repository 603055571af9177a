"""Files: a model with all that it imports, found by the rule of imports."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from os.path import relpath
from pathlib import Path
from typing import Any

from dpcheck.reference.expressions import Scope
from dpcheck.reference.syntax import Tree, parsed
from dpcheck.reference.values import NotCovered, Work, WrongProgram

STANDARD = Path(__file__).resolve().parent.parent / "std"
QUESTIONS = ("check", "refute", "compute", "loop")


@dataclass(frozen=True)
class Loaded:
    """The declarations of a file and its imports; SHA-256 of each file, by its place.

    questions: those of the file itself; work: what may still be done; targets: those
    that were asked about, with what is known of them.
    """

    scope: Scope
    hashes: dict[str, str]
    questions: tuple[Tree, ...] = ()
    work: Work = field(default_factory=Work)
    targets: dict[Any, Any] = field(default_factory=dict)


def load(path: Path, root: Path, definitions: Sequence[str] = ()) -> Loaded:
    """Return a file with its imports, which must lie below the root.

    definitions: `NAME=VALUE` for constants. Raises `NotCovered` for tables, `WrongProgram` for
    files that may not be imported, and `OSError`.
    """
    place, items, hashes = path.resolve(), list[Tree](), dict[str, str]()
    questions: tuple[Tree, ...] = ()
    waiting = [place]
    while waiting:
        file = waiting.pop()
        content = file.read_bytes()
        is_standard = file.parent == STANDARD and place.parent != STANDARD
        shown = f"std.{file.stem}" if is_standard else relpath(file, place.parent)
        if shown in hashes:
            continue
        hashes[shown] = hashlib.sha256(content).hexdigest()
        found = parsed(content.removeprefix(b"\xef\xbb\xbf").decode("utf-8"), "file")
        waiting += [
            _imported(item[1], file, root.resolve()) for item in found if item[0] == "import"
        ]
        items += [item for item in found if item[0] not in (*QUESTIONS, "import")]
        if file == place:
            questions = tuple(item for item in found if item[0] in QUESTIONS)
    values = (text.partition("=") for text in definitions)
    known = {name.strip(): parsed(value) for name, _, value in values}
    return Loaded(Scope(items, known), hashes, questions)


def _imported(named: str | tuple[str, ...], importer: Path, root: Path) -> Path:
    """Return the file an import names."""
    if isinstance(named, tuple):
        return STANDARD / f"{named[-1]}.dpm"
    file = Path(importer.parent, named).resolve()
    bound = STANDARD if importer.parent == STANDARD else root
    is_hidden = any(part.startswith(".") for part in Path(relpath(file, bound)).parts)
    if not file.is_relative_to(bound) or is_hidden:
        raise WrongProgram(f"the import {named} leads out of the root")
    if file.suffix != ".dpm":
        raise NotCovered("tables of probabilities")
    return file
