"""A model file together with everything it imports.

Every file is read and parsed once a run, however many files import it. Imports are followed
depth first, so whatever a file imports comes before it; a circle is a mistake, and so is a path
that leads outside of the root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dpcheck.diagnostics.files import EmptyFile
from dpcheck.diagnostics.imports import (
    ImportCycle,
    ImportedFileHasMistakes,
    ImportNotFound,
    ImportOutsideRoot,
    UnknownStandardModule,
)
from dpcheck.diagnostics.mistakes import Mistake, similar
from dpcheck.model import surface
from dpcheck.parse import parse_model
from dpcheck.pipeline.sources.files import (
    SUFFIX,
    TABLE_SUFFIXES,
    ModelPath,
    decoded,
    is_hidden,
    read_source,
    similar_path,
)
from dpcheck.records import dataclass, field, replace
from dpcheck.source import SourceText, Span

STANDARD = Path(__file__).resolve().parents[2] / "std"
"""Where the libraries that ship with the package are."""

Import = surface.ImportFile | surface.ImportStandard


@dataclass(frozen=True)
class ParsedFile:
    """A file as parsed; without a model if it could not be read at all.

    `lost_words` are the words of items with syntax errors, any of which they may introduce, and
    `mistaken` the claims with errors, if all errors are in claims (see `parse.Parsed`). `text` is
    that of the file: where it is a table, not the model made of it.
    """

    path: ModelPath
    model: surface.SurfaceModel | None
    mistakes: tuple[Mistake, ...]
    lost_words: frozenset[str] = frozenset()
    mistaken: tuple[Span, ...] | None = None
    text: str = ""

    @property
    def is_sound(self) -> bool:
        """Return whether there is a model, and no mistake worse than a warning."""
        return self.model is not None and all(m.severity == "warning" for m in self.mistakes)

    @property
    def imports(self) -> tuple[Import, ...]:
        """The import items, in source order."""
        if self.model is None:
            return ()
        return tuple(item for item in self.model.items if isinstance(item, Import))


@dataclass(frozen=True)
class Closure:
    """A file, the models it imports (directly or not, dependencies first), and all mistakes.

    `files` are all that were read; `links` are the paths that imports name, before links are
    followed, with where they lead.
    """

    file: ParsedFile
    imported: tuple[surface.SurfaceModel, ...]
    mistakes: tuple[Mistake, ...]
    files: tuple[ParsedFile, ...]
    links: tuple[tuple[str, str], ...] = ()

    @property
    def paths(self) -> tuple[ModelPath, ...]:
        """Where the file and what it imports were read."""
        return tuple(file.path for file in self.files)

    @property
    def constants(self) -> tuple[str, ...]:
        """The names that `-D` may give another value."""
        models = [*self.imported, self.file.model]
        items = [item for model in models if model is not None for item in model.items]
        named = [item.name.name for item in items if isinstance(item, surface.Constant)]
        return tuple(dict.fromkeys(named))

    @property
    def is_sound(self) -> bool:
        """Return whether the file and everything it imports can be given to the next stage."""
        return self.file.is_sound and all(m.severity == "warning" for m in self.mistakes)

    @property
    def is_answerable(self) -> bool:
        """Return whether there are no mistakes, but for those in the text of claims of the file."""
        n_errors = [sum(m.severity == "error" for m in each.mistakes) for each in (self, self.file)]
        return self.is_sound or (self.file.mistaken is not None and n_errors[0] == n_errors[1])

    @property
    def of_targets(self) -> tuple[Mistake, ...]:
        """The mistakes that are of importance to whom the file's own claims are of none."""
        is_all = not self.is_answerable
        return tuple(found for found in self.mistakes if is_all or found.severity != "error")

    @property
    def has_only_syntax_errors(self) -> bool:
        """Return whether the items without syntax errors can be looked at further.

        What an import that was lost would have brought in, nobody knows.
        """
        errors = [m for m in self.mistakes if m.severity == "error"]
        are_lost = "import" in self.file.lost_words
        return not are_lost and all(m.code.startswith("DP1") for m in errors)


@dataclass
class Library:
    """The files parsed in this run, by where they really are."""

    _parsed: dict[Path, ParsedFile] = field(default_factory=dict)
    _places: dict[Path, ModelPath] = field(default_factory=dict)

    def parsed(self, path: ModelPath) -> ParsedFile:
        """Return the file as parsed, reading it the first time."""
        known = self._parsed.get(path.real)
        if known is None:
            known = self._parsed[path.real] = _parse(path)
        return known

    def closure_of_text(self, path: ModelPath, source: SourceText) -> Closure:
        """Return a text, as if it stood in a file at `path`, with everything it imports."""
        self._parsed[path.real] = _parsed(path, source)
        return self.closure(path)

    def hold(self, path: ModelPath, content: bytes) -> None:
        """Take a content for that of a file, which is then not read."""
        source = decoded(path.shown, content)
        if isinstance(source, Mistake):
            self._parsed[path.real] = ParsedFile(path, None, (source,))
        else:
            self._parsed[path.real] = _parsed(path, source)

    def place(self, named: Path, path: ModelPath) -> None:
        """Let imports that name a path lead to a text that is held, whatever the disk has there."""
        self._places[named] = path

    def place_of(self, importer: ModelPath, item: Import) -> ModelPath | Mistake:
        """Return the file an import names, or why it names none."""
        if isinstance(item, surface.ImportFile):
            held = self._places.get(named_path(importer, item))
            if held is not None:
                return held
        return _imported_path(importer, item)

    def closure(self, path: ModelPath) -> Closure:
        """Return the file with everything it imports."""
        walk = _Walk(self)
        file = walk.visit(path)
        imported = tuple(model for model in walk.models if model is not file.model)
        links = tuple(walk.links.items())
        return Closure(file, imported, tuple(walk.mistakes), tuple(walk.files), links)


def _parse(path: ModelPath) -> ParsedFile:
    source = read_source(path.shown, path.real)
    if isinstance(source, Mistake):
        return ParsedFile(path, None, (source,))
    text = source.text
    if path.real.suffix in TABLE_SUFFIXES:
        from dpcheck.pipeline.sources.tables import table_model

        source = table_model(source)
        if isinstance(source, Mistake):
            return ParsedFile(path, None, (source,))
    return replace(_parsed(path, source), text=text)


def _parsed(path: ModelPath, source: SourceText) -> ParsedFile:
    parsed = parse_model(source)
    if not parsed.model.items and not parsed.mistakes:
        return ParsedFile(path, parsed.model, (EmptyFile(None, path.shown),))
    return ParsedFile(path, parsed.model, parsed.mistakes, parsed.lost_words, parsed.mistaken)


@dataclass
class _Step:
    """A file whose imports are being followed: what is left of them, and whether all were sound.

    `item` is the import that led here; the first file has none.
    """

    path: ModelPath
    file: ParsedFile
    item: Import | None
    waiting: Iterator[Import]
    is_sound: bool


@dataclass
class _Walk:
    """One depth-first walk over imports; `trail` is the way from the first file to this one.

    No recursion: a chain of imports may be as long as it likes.
    """

    library: Library
    models: list[surface.SurfaceModel] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    files: list[ParsedFile] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    trail: dict[Path, _Step] = field(default_factory=dict)
    done: dict[Path, bool] = field(default_factory=dict)

    def visit(self, path: ModelPath) -> ParsedFile:
        """Add the models that a file needs, then its own; `done` says whether all were sound."""
        first = self._open(path, None)
        while self.trail:
            step = next(reversed(self.trail.values()))
            item = next(step.waiting, None)
            if item is None:
                self._close(step)
            else:
                self._follow(step, item)
        return first.file

    def _open(self, path: ModelPath, item: Import | None) -> _Step:
        """Go on with a file, whose imports come first.

        Mistakes in claims are none of an importer's, which takes no claims.
        """
        file = self.library.parsed(path)
        is_sound = file.is_sound or (item is not None and file.mistaken is not None)
        self.mistakes.extend(m for m in file.mistakes if not is_sound or m.severity == "warning")
        self.files.append(file)
        step = _Step(path, file, item, iter(file.imports), is_sound)
        self.trail[path.real] = step
        return step

    def _close(self, step: _Step) -> None:
        """Add a file's own model after those it needs, and go back to its importer."""
        del self.trail[step.path.real]
        if step.file.model is not None:
            self.models.append(step.file.model)
        self.done[step.path.real] = step.is_sound
        if step.item is not None:
            self._settle(next(reversed(self.trail.values())), step.item, step.path)

    def _follow(self, importer: _Step, item: Import) -> None:
        """Go to the file that an import names, if it may and nobody was there."""
        path = self.library.place_of(importer.path, item)
        if isinstance(path, ModelPath) and isinstance(item, surface.ImportFile):
            self.links[str(importer.path.real.parent / item.path)] = str(path.real)
        if isinstance(path, Mistake):
            self.mistakes.append(path)
            importer.is_sound = False
        elif path.real in self.trail:
            steps = list(self.trail.values())
            position = list(self.trail).index(path.real)
            names = [step.path.shown for step in steps[position:]]
            self.mistakes.append(ImportCycle(item.span, (*names, names[0])))
            importer.is_sound = False
        elif path.real in self.done:
            self._settle(importer, item, path)
        else:
            self._open(path, item)

    def _settle(self, importer: _Step, item: Import, path: ModelPath) -> None:
        """Note in the importer whether a file that was visited is sound."""
        if self.done[path.real]:
            return
        importer.is_sound = False
        if len(self.trail) == 1:
            self.mistakes.append(ImportedFileHasMistakes(item.span, path.shown))


def named_path(importer: ModelPath, item: surface.ImportFile) -> Path:
    """Return the path an import names, before links are followed."""
    return Path(os.path.normpath(importer.real.parent / item.path))


def _common_folder(importer: ModelPath, named: Path) -> str | None:
    """Return the folder that holds a root and a file named outside of it, from where we work.

    None for a link in the root: nobody is told where that leads. None for a whole disk, too.
    """
    if named.is_relative_to(importer.root):
        return None
    try:
        common = Path(os.path.commonpath([importer.root, named]))
        return None if common == common.parent else os.path.relpath(common)
    except ValueError:  # on another disk
        return None


def _imported_path(importer: ModelPath, item: Import) -> ModelPath | Mistake:
    """Return the file an import names, or why it names none."""
    if isinstance(item, surface.ImportStandard):
        return _standard_path(item)
    shown = os.path.normpath(Path(importer.shown).parent / item.path)
    try:
        real = (importer.real.parent / item.path).resolve()
        if not real.is_relative_to(importer.root):
            common = _common_folder(importer, named_path(importer, item))
            return ImportOutsideRoot(item.path_span, item.path, str(importer.root), common)
        if is_hidden(real, importer.real.parent):
            return ImportNotFound(item.path_span, item.path, "hidden files are not read", None)
        if real.is_file() and real.suffix not in (SUFFIX, *TABLE_SUFFIXES):
            reason = "the name of a model ends in .dpm, that of a table in .csv or .json"
            return ImportNotFound(item.path_span, item.path, reason, None)
        if real.is_file():
            return ModelPath(shown, real, importer.root)
        if real.is_dir():
            return ImportNotFound(item.path_span, item.path, "it is a directory", None)
        reason = "it is not a file" if real.exists() else "there is no such file"
    except (OSError, ValueError, RuntimeError):
        return ImportNotFound(item.path_span, item.path, "it cannot be read", None)
    return ImportNotFound(item.path_span, item.path, reason, _similar_import(importer, item.path))


def _similar_import(importer: ModelPath, path: str) -> str | None:
    """Return a path as it would be written in the import, to a file with a similar name."""
    close = similar_path(importer.real.parent / path, but=importer.real)
    if close is None or not Path(close).resolve().is_relative_to(importer.root):
        return None
    return Path(os.path.relpath(close, importer.real.parent)).as_posix()


def _standard_path(item: surface.ImportStandard) -> ModelPath | Mistake:
    known = standard_modules()
    if item.module in known:
        return standard_path(item.module)
    return UnknownStandardModule(item.module_span, item.module, similar(item.module, known), known)


def standard_modules() -> tuple[str, ...]:
    """Return the names of the libraries that ship with the package.

    >>> "survey" in standard_modules()
    True
    """
    return tuple(sorted(path.stem for path in STANDARD.glob(f"*{SUFFIX}")))


def standard_path(module: str) -> ModelPath:
    """Return where the library `std.module` is."""
    return ModelPath(f"std.{module}", (STANDARD / f"{module}{SUFFIX}").resolve(), STANDARD)
