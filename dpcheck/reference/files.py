"""Files: a model with all that it imports, found by the rule of imports, and targets of claims."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from os.path import relpath
from pathlib import Path
from typing import Any

from dpcheck.reference.chains import Chain
from dpcheck.reference.expressions import Scope, evaluate
from dpcheck.reference.programs import Mechanism
from dpcheck.reference.runs import Model
from dpcheck.reference.syntax import Block, Tree, named, parsed
from dpcheck.reference.values import NotCovered, Work, WrongProgram, integer

STANDARD = Path(__file__).resolve().parent.parent / "std"
QUESTIONS = ("check", "refute", "compute", "loop")


@dataclass(frozen=True)
class Loaded:
    """The declarations of a file and its imports; SHA-256 of each file, by its place.

    questions: those of the file itself; work: what may still be done; targets: those that were
    asked about, with what is known of them.
    """

    scope: Scope
    hashes: dict[str, str]
    questions: tuple[Tree, ...] = ()
    work: Work = field(default_factory=Work)
    targets: dict[Any, tuple[Model, ...]] = field(default_factory=dict)

    def target(self, text: str, reach: int | None = None) -> tuple[Model, ...]:
        """Return the runs of a target; noise without bounds is looked at so far out."""
        if (text, reach) not in self.targets:
            scope = self.scope.but(reach=reach)
            self.targets[text, reach] = runs_of(parsed(text, "target"), scope, self.work)
        return self.targets[text, reach]


def load(path: Path, root: Path, definitions: Sequence[str] = ()) -> Loaded:
    """Return a file with its imports, which must lie below the root.

    definitions: `NAME=VALUE` for constants. Raises `NotCovered` for tables, `WrongProgram` for
    files that may not be imported, and `OSError`.
    """
    place, found, hashes = path.resolve(), dict[str, Block](), dict[str, str]()
    waiting = [place]
    while waiting:
        file = waiting.pop()
        is_standard = file.parent == STANDARD and place.parent != STANDARD
        shown = f"std.{file.stem}" if is_standard else relpath(file, place.parent)
        if shown not in found:
            content = file.read_bytes()
            hashes[shown] = hashlib.sha256(content).hexdigest()
            found[shown] = parsed(content.removeprefix(b"\xef\xbb\xbf").decode("utf-8"), "file")
            imports = [item[1] for item in found[shown] if item[0] == "import"]
            waiting += [_imported(each, file, root.resolve()) for each in imports]
    items = [item for each in found.values() for item in each if item[0] not in QUESTIONS]
    values = (text.partition("=") for text in definitions)
    known = {name.strip(): parsed(value) for name, _, value in values}
    questions = tuple(item for item in found[place.name] if item[0] in QUESTIONS)
    return Loaded(Scope(items, known), hashes, questions)


def _imported(written: str | tuple[str, ...], importer: Path, root: Path) -> Path:
    """Return the file an import names."""
    if isinstance(written, tuple):
        return STANDARD / f"{written[-1]}.dpm"
    file = Path(importer.parent, written).resolve()
    bound = STANDARD if importer.parent == STANDARD else root
    is_hidden = any(part.startswith(".") for part in Path(relpath(file, bound)).parts)
    if not file.is_relative_to(bound) or is_hidden:
        raise WrongProgram(f"the import {written} leads out of the root")
    if file.suffix != ".dpm":
        raise NotCovered("tables of probabilities")
    return file


def runs_of(tree: Tree, scope: Scope, work: Work) -> tuple[Model, ...]:
    """Return the runs of a target: one of a mechanism or a chain, or those of a composition."""
    _, name, arguments = (*tree, ())[:3]
    declared = scope.of("mechanism", name) or scope.of("chain", name)
    if declared is not None:
        given = {str(key): evaluate(value, {}, scope) for key, value in map(named, arguments)}
        kind = Mechanism if declared[0] == "mechanism" else Chain
        return (kind(declared, given, scope, work),)
    if name != "compose":
        raise NotCovered(f"the target {name}(...)")
    runs = last = tuple[Model, ...]()
    for part in arguments:
        if part[0] in ("call", "name") and is_target(part[1], scope):
            last = runs_of(part, scope, work)
            runs += last
        else:  # how often the part before it runs
            runs += last * (integer(evaluate(part, {}, scope)) - 1)
    return runs


def is_target(name: str, scope: Scope) -> bool:
    """Return whether there is a mechanism or chain of this name, or a target is made by it."""
    made = ("compose", "group", "subsample")
    return name in made or any(scope.of(kind, name) for kind in ("mechanism", "chain"))
